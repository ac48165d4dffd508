/* SPDX-License-Identifier: Apache-2.0 */
#include "reason.h"

#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "executable.h"
#include "functions.h"

enum { PATH_BYTES = 512 };

static int find_shared(struct dl_phdr_info *object, size_t bytes, void *payload)
{
    char *found = payload;

    (void)bytes;
    if (object->dlpi_name && blas_is_library(object->dlpi_name))
        (void)snprintf(found, PATH_BYTES, "%s", object->dlpi_name);
    return *found != '\0';
}

/* An object with functions of cuBLAS in it. */
static int find_inside(struct dl_phdr_info *object, size_t bytes, void *payload)
{
    static const char *const functions[] = {"cublasSgemm_v2", "cublasGemmEx", "cublasLtMatmul", NULL};
    const char *path = object->dlpi_name;
    char own[PATH_BYTES], *found = payload;
    const ssize_t length = path && *path ? 0 : readlink("/proc/self/exe", own, sizeof own - 1); /* the program has no name */

    (void)bytes;
    if (!path || !*path) {
        own[length > 0 ? length : 0] = '\0';
        path = own;
    }
    if (!strstr(path, "/libtilejit_blas.so") && tj_executable_defines(path, functions))
        (void)snprintf(found, PATH_BYTES, "%s", path);
    return *found != '\0';
}

bool blas_reason(char text[BLAS_REASON_BYTES])
{
    char found[PATH_BYTES] = "";

    if (dl_iterate_phdr(find_shared, found))
        (void)snprintf(text, BLAS_REASON_BYTES,
                       "%s was loaded, but none of its products that can be taken was called with a CUDA context", found);
    else if (dl_iterate_phdr(find_inside, found))
        (void)snprintf(text, BLAS_REASON_BYTES,
                       "%s has functions of cuBLAS inside, whose calls cannot be reached: link it with the shared libcublas",
                       found);
    else
        (void)snprintf(text, BLAS_REASON_BYTES, "it loaded no cuBLAS");
    return *found != '\0';
}
