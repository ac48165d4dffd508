/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cublas_library: a libcublas for programs that tilejit with and tilejit trace run. */
#include "fake_library.h"

enum { HANDLES = 64, USED = 0x5eed };

typedef struct handle {
    int used, math, pointer_mode, processors;
    void *stream;
} handle;

static handle handles[HANDLES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static handle *find(void *given)
{
    handle *found = NULL;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < HANDLES; i++)
        if (given == &handles[i] && handles[i].used == USED)
            found = &handles[i];
    pthread_mutex_unlock(&lock);
    return found;
}

/* How many products this library was asked for. */
EXPORT int fake_cublas_count(void)
{
    return atomic_load(&fake_computed);
}

EXPORT int cublasCreate_v2(void **made)
{
    int i = 0;

    if (!fake_open_driver())
        return NOT_INITIALIZED;
    pthread_mutex_lock(&lock);
    while (i < HANDLES && handles[i].used == USED)
        i++;
    if (i < HANDLES)
        handles[i] = (handle){.used = USED};
    pthread_mutex_unlock(&lock);
    *made = i < HANDLES ? &handles[i] : NULL;
    return i < HANDLES ? SUCCESS : NOT_INITIALIZED;
}

EXPORT int cublasDestroy_v2(void *given)
{
    handle *h = find(given);

    pthread_mutex_lock(&lock);
    if (h)
        h->used = 0;
    pthread_mutex_unlock(&lock);
    return h ? SUCCESS : NOT_INITIALIZED;
}

#define SETTER(set, get, type, member)        \
    EXPORT int set(void *given, type value)   \
    {                                         \
        handle *h = find(given);              \
                                              \
        if (h)                                \
            h->member = value;                \
        return h ? SUCCESS : NOT_INITIALIZED; \
    }                                         \
    EXPORT int get(void *given, type *value)  \
    {                                         \
        const handle *h = find(given);        \
                                              \
        if (h)                                \
            *value = h->member;               \
        return h ? SUCCESS : NOT_INITIALIZED; \
    }

SETTER(cublasSetStream_v2, cublasGetStream_v2, void *, stream)
SETTER(cublasSetMathMode, cublasGetMathMode, int, math)
SETTER(cublasSetPointerMode_v2, cublasGetPointerMode_v2, int, pointer_mode)
#if VERSION > 11 /* some releases of 11 have it */
SETTER(cublasSetSmCountTarget, cublasGetSmCountTarget, int, processors)
#endif

EXPORT int cublasSetWorkspace_v2(void *given, void *workspace, size_t bytes)
{
    (void)workspace, (void)bytes;
    return find(given) ? SUCCESS : NOT_INITIALIZED;
}

static int run(void *given, fake_product p)
{
    const handle *h = find(given);

    if (!h)
        return NOT_INITIALIZED;
    p.stream = h->stream;
    p.scalars = h->pointer_mode;
    p.at[D] = p.at[C];
    p.ld[D] = p.ld[C];
    p.stride[D] = p.stride[C];
    p.type[D] = p.type[C];
    return fake_compute(&p);
}

static int scalar_of(int compute, int type)
{
    return fake_is_complex(type)    ? type
           : compute == COMPUTE_16F ? R_16F
           : compute == COMPUTE_64F ? R_64F
           : compute == COMPUTE_32I ? R_32I
                                    : R_32F;
}

#define PLAIN                                                                                                \
    .op_a = op_a, .op_b = op_b, .m = m, .n = n, .k = k, .alpha = alpha, .beta = beta, .ld = {lda, ldb, ldc}, \
    .at = {(void *)(uintptr_t)a, (void *)(uintptr_t)b, c}
#define STRIDES .stride = {stride_a, stride_b, stride_c}, .batch = batch
#define OF(a, how) .type = {a, a, a}, .compute = how, .scalar_type = a
#define GIVEN .type = {type_a, type_b, type_c}, .compute = compute, .scalar_type = scalar_of(compute, type_c)

#define FUNCTIONS(INT, suffix, name, type, how)                                                                          \
    EXPORT int name##StridedBatched##suffix(                                                                             \
        void *h, int op_a, int op_b, INT m, INT n, INT k, const void *alpha, const void *a, INT lda, long long stride_a, \
        const void *b, INT ldb, long long stride_b, const void *beta, void *c, INT ldc, long long stride_c, INT batch)   \
    {                                                                                                                    \
        return run(h, (fake_product){PLAIN, STRIDES, OF(type, how)});                                                    \
    }                                                                                                                    \
    EXPORT int name##Batched##suffix(void *h, int op_a, int op_b, INT m, INT n, INT k, const void *alpha, const void *a, \
                                     INT lda, const void *b, INT ldb, const void *beta, void *c, INT ldc, INT batch)     \
    {                                                                                                                    \
        return run(h, (fake_product){PLAIN, .batch = batch, .is_pointers = 1, OF(type, how)});                           \
    }

#define PRODUCT(INT, name, type, how)                                                                            \
    EXPORT int name(void *h, int op_a, int op_b, INT m, INT n, INT k, const void *alpha, const void *a, INT lda, \
                    const void *b, INT ldb, const void *beta, void *c, INT ldc)                                  \
    {                                                                                                            \
        return run(h, (fake_product){PLAIN, .batch = 1, OF(type, how)});                                         \
    }

#define SUMMED_IN_F32(INT, name)                                                                                             \
    EXPORT int name(void *h, int op_a, int op_b, INT m, INT n, INT k, const void *alpha, const void *a, int type_a, INT lda, \
                    const void *b, int type_b, INT ldb, const void *beta, void *c, int type_c, INT ldc)                      \
    {                                                                                                                        \
        const int compute = COMPUTE_32F;                                                                                     \
                                                                                                                             \
        return run(h, (fake_product){PLAIN, .batch = 1, GIVEN});                                                             \
    }

/* One triangle of A . A^T, or of A . B^T, or of these with the transposes first. */
#define TRIANGLES(INT, suffix, letter, type, how)                                                                         \
    EXPORT int cublas##letter##syrkx##suffix(void *h, int uplo, int op_a, INT n, INT k, const void *alpha, const void *a, \
                                             INT lda, const void *b, INT ldb, const void *beta, void *c, INT ldc)         \
    {                                                                                                                     \
        const int op_b = !op_a;                                                                                           \
        const INT m = n;                                                                                                  \
                                                                                                                          \
        if (uplo < 0 || uplo > 1 || (op_a == 2 && fake_is_complex(type)))                                                 \
            return INVALID_VALUE;                                                                                         \
        return run(h, (fake_product){PLAIN, .batch = 1, .triangle = uplo + 1, OF(type, how)});                            \
    }                                                                                                                     \
    EXPORT int cublas##letter##syrk_v2##suffix(void *h, int uplo, int op, INT n, INT k, const void *alpha, const void *a, \
                                               INT lda, const void *beta, void *c, INT ldc)                               \
    {                                                                                                                     \
        return cublas##letter##syrkx##suffix(h, uplo, op, n, k, alpha, a, lda, a, lda, beta, c, ldc);                     \
    }

/* One triangle of A . A^H or A^H . A. */
#define HERK(INT, name, element, scalar, how)                                                                               \
    EXPORT int name(void *h, int uplo, int op_a, INT n, INT k, const void *alpha, const void *a, INT lda, const void *beta, \
                    void *c, INT ldc)                                                                                       \
    {                                                                                                                       \
        const int op_b = op_a ? 0 : 2;                                                                                      \
        const INT m = n, ldb = lda;                                                                                         \
        const void *const b = a;                                                                                            \
                                                                                                                            \
        if (uplo < 0 || uplo > 1 || op_a == 1)                                                                              \
            return INVALID_VALUE;                                                                                           \
        return run(h, (fake_product){PLAIN, .batch = 1, .triangle = uplo + 1, .is_hermitian = 1,                            \
                                     .type = {element, element, element}, .compute = how, .scalar_type = scalar});          \
    }

#define ALL(INT, suffix)                                                                                                       \
    FUNCTIONS(INT, suffix, cublasSgemm, R_32F, COMPUTE_32F)                                                                    \
    FUNCTIONS(INT, suffix, cublasDgemm, R_64F, COMPUTE_64F)                                                                    \
    FUNCTIONS(INT, suffix, cublasHgemm, R_16F, COMPUTE_16F)                                                                    \
    FUNCTIONS(INT, suffix, cublasCgemm, C_32F, COMPUTE_32F)                                                                    \
    FUNCTIONS(INT, suffix, cublasZgemm, C_64F, COMPUTE_64F)                                                                    \
    FUNCTIONS(INT, suffix, cublasCgemm3m, C_32F, COMPUTE_32F)                                                                  \
    PRODUCT(INT, cublasCgemm_v2##suffix, C_32F, COMPUTE_32F)                                                                   \
    PRODUCT(INT, cublasZgemm_v2##suffix, C_64F, COMPUTE_64F)                                                                   \
    PRODUCT(INT, cublasCgemm3m##suffix, C_32F, COMPUTE_32F)                                                                    \
    PRODUCT(INT, cublasZgemm3m##suffix, C_64F, COMPUTE_64F)                                                                    \
    TRIANGLES(INT, suffix, S, R_32F, COMPUTE_32F)                                                                              \
    TRIANGLES(INT, suffix, D, R_64F, COMPUTE_64F)                                                                              \
    TRIANGLES(INT, suffix, C, C_32F, COMPUTE_32F)                                                                              \
    TRIANGLES(INT, suffix, Z, C_64F, COMPUTE_64F)                                                                              \
    HERK(INT, cublasCherk_v2##suffix, C_32F, R_32F, COMPUTE_32F)                                                               \
    HERK(INT, cublasZherk_v2##suffix, C_64F, R_64F, COMPUTE_64F)                                                               \
    SUMMED_IN_F32(INT, cublasSgemmEx##suffix)                                                                                  \
    SUMMED_IN_F32(INT, cublasCgemmEx##suffix)                                                                                  \
    SUMMED_IN_F32(INT, cublasCgemm3mEx##suffix)                                                                                \
    PRODUCT(INT, cublasSgemm_v2##suffix, R_32F, COMPUTE_32F)                                                                   \
    PRODUCT(INT, cublasDgemm_v2##suffix, R_64F, COMPUTE_64F)                                                                   \
    PRODUCT(INT, cublasHgemm##suffix, R_16F, COMPUTE_16F)                                                                      \
    EXPORT int cublasGemmEx##suffix(void *h, int op_a, int op_b, INT m, INT n, INT k, const void *alpha, const void *a,        \
                                    int type_a, INT lda, const void *b, int type_b, INT ldb, const void *beta, void *c,        \
                                    int type_c, INT ldc, int compute, int algo)                                                \
    {                                                                                                                          \
        (void)algo;                                                                                                            \
        return run(h, (fake_product){PLAIN, .batch = 1, GIVEN});                                                               \
    }                                                                                                                          \
    EXPORT int cublasGemmStridedBatchedEx##suffix(void *h, int op_a, int op_b, INT m, INT n, INT k, const void *alpha,         \
                                                  const void *a, int type_a, INT lda, long long stride_a, const void *b,       \
                                                  int type_b, INT ldb, long long stride_b, const void *beta, void *c,          \
                                                  int type_c, INT ldc, long long stride_c, INT batch, int compute, int algo)   \
    {                                                                                                                          \
        (void)algo;                                                                                                            \
        return run(h, (fake_product){PLAIN, STRIDES, GIVEN});                                                                  \
    }                                                                                                                          \
    EXPORT int cublasGemmBatchedEx##suffix(void *h, int op_a, int op_b, INT m, INT n, INT k, const void *alpha, const void *a, \
                                           int type_a, INT lda, const void *b, int type_b, INT ldb, const void *beta, void *c, \
                                           int type_c, INT ldc, INT batch, int compute, int algo)                              \
    {                                                                                                                          \
        (void)algo;                                                                                                            \
        return run(h, (fake_product){PLAIN, .batch = batch, .is_pointers = 1, GIVEN});                                         \
    }

ALL(int, )
#if VERSION > 11 /* as the sizes of 64 bits and the groups */
ALL(int64_t, _64)

/* Groups of batches. */
EXPORT int cublasGemmGroupedBatchedEx(void *h, const int *op_a, const int *op_b, const int *m, const int *n, const int *k,
                                      const void *alpha, const void *const *a, int type_a, const int *lda, const void *const *b,
                                      int type_b, const int *ldb, const void *beta, void *const *c, int type_c, const int *ldc,
                                      int groups, const int *in_group, int compute)
{
    const size_t scalar = fake_bytes(scalar_of(compute, type_c));
    int status = SUCCESS;
    size_t first = 0;

    for (int i = 0; status == SUCCESS && i < groups; i++) {
        status = run(
            h, (fake_product){.op_a = op_a[i],
                              .op_b = op_b[i],
                              .m = m[i],
                              .n = n[i],
                              .k = k[i],
                              .alpha = (const char *)alpha + (size_t)i * scalar,
                              .beta = (const char *)beta + (size_t)i * scalar,
                              .ld = {lda[i], ldb[i], ldc[i]},
                              .at = {(void *)(uintptr_t)&a[first], (void *)(uintptr_t)&b[first], (void *)(uintptr_t)&c[first]},
                              .batch = in_group[i],
                              .is_pointers = 1,
                              GIVEN});
        first += (size_t)in_group[i];
    }
    return status;
}

EXPORT int cublasSgemmGroupedBatched(void *h, const int *op_a, const int *op_b, const int *m, const int *n, const int *k,
                                     const float *alpha, const float *const *a, const int *lda, const float *const *b,
                                     const int *ldb, const float *beta, float *const *c, const int *ldc, int groups,
                                     const int *in_group)
{
    return cublasGemmGroupedBatchedEx(h, op_a, op_b, m, n, k, alpha, (const void *const *)a, R_32F, lda, (const void *const *)b,
                                      R_32F, ldb, beta, (void *const *)c, R_32F, ldc, groups, in_group, COMPUTE_32F);
}
#endif

/* The next library after this one that has this library's own function: there is none. */
EXPORT void *fake_cublas_next(void)
{
    void *volatile next = dlsym(RTLD_NEXT, "fake_cublas_count");

    return next;
}
