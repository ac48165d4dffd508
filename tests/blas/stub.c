/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stub: a library with functions of cuBLAS's names, which open the real library when they are first called, as some programs do
 * instead of linking it.
 */
#include <dlfcn.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static void find(const char *name, void *function)
{
    void *library = dlopen("libcublas.so.13", RTLD_NOW | RTLD_LOCAL), *symbol = library ? dlsym(library, name) : NULL;

    memcpy(function, &symbol, sizeof symbol);
}

#define STUB(name, parameters, arguments)          \
    EXPORT int name parameters;                    \
    EXPORT int name parameters                     \
    {                                              \
        static int(*real) parameters;              \
                                                   \
        if (!real)                                 \
            find(#name, &real);                    \
        return real arguments;                     \
    }                                              \
    EXPORT int stub_##name parameters;             \
    EXPORT int stub_##name parameters              \
    {                                              \
        return name arguments; /* by the loader */ \
    }

STUB(cublasCreate_v2, (void **handle), (handle))
STUB(cublasSetStream_v2, (void *handle, void *stream), (handle, stream))
STUB(cublasSgemm_v2,
     (void *h, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int lda, const void *b, int ldb,
      const void *beta, void *c, int ldc),
     (h, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc))
