/* SPDX-License-Identifier: Apache-2.0 */
#include "reason.h"

#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "executable.h"
#include "functions.h"

/* The objects of the process that have something to do with cuBLAS. */
typedef struct objects {
    char shared[512]; /* a cuBLAS; "": none */
    char inside[512]; /* an object with functions of cuBLAS in it */
} objects;

static void copy(char to[512], const char *path)
{
    if (!*to)
        (void)snprintf(to, 512, "%s", path);
}

static int look_at_object(struct dl_phdr_info *object, size_t bytes, void *payload)
{
    static const char *const functions[] = {"cublasSgemm_v2", "cublasGemmEx", "cublasLtMatmul", NULL};
    char own[512];
    const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    const char *path = object->dlpi_name;
    objects *all = payload;

    (void)bytes;
    if (!path || !*path) { /* the program itself comes first */
        own[length > 0 ? length : 0] = '\0';
        path = own;
    }
    if (blas_is_library(path))
        copy(all->shared, path);
    else if (!strstr(path, "/libtilejit_blas.so") && tj_executable_defines(path, functions))
        copy(all->inside, path);
    return 0;
}

void blas_reason(char text[BLAS_REASON_BYTES])
{
    objects all = {"", ""};

    (void)dl_iterate_phdr(look_at_object, &all);
    if (*all.shared)
        (void)snprintf(text, BLAS_REASON_BYTES,
                       "%s was loaded, but none of its products that can be taken was called with a CUDA context", all.shared);
    else if (*all.inside)
        (void)snprintf(text, BLAS_REASON_BYTES,
                       "%s has functions of cuBLAS inside, whose calls cannot be reached: link it with the shared libcublas",
                       all.inside);
    else
        (void)snprintf(text, BLAS_REASON_BYTES, "it loaded no cuBLAS");
}
