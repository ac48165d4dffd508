/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cublas_library: a libcublas for programs that tilejit with and tilejit trace run. */
#include "fake_product.h"

enum { HANDLES = 64, USED = 0x5eed };

typedef struct handle {
    int used, math, pointer_mode;
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
    p.is_on_device = h->pointer_mode;
    p.d = (void *)(uintptr_t)p.c;
    p.ldd = p.ldc;
    p.stride_d = p.stride_c;
    return fake_compute(&p);
}

static int scalar_of(int compute)
{
    return compute == COMPUTE_16F ? R_16F : compute == COMPUTE_64F ? R_64F : compute == COMPUTE_32I ? R_32I : R_32F;
}

#define PLAIN                                                                                                             \
    .op_a = op_a, .op_b = op_b, .m = m, .n = n, .k = k, .alpha = alpha, .beta = beta, .a = a, .b = b, .c = c, .lda = lda, \
    .ldb = ldb, .ldc = ldc
#define STRIDES .stride_a = stride_a, .stride_b = stride_b, .stride_c = stride_c, .batch = batch
#define OF(type, how) .type_a = type, .type_b = type, .type_c = type, .compute = how, .scalar_type = type
#define GIVEN .type_a = type_a, .type_b = type_b, .type_c = type_c, .compute = compute, .scalar_type = scalar_of(compute)

#define FUNCTIONS(INT, suffix, letter, type, how)                                                                             \
    EXPORT int cublas##letter##gemmStridedBatched##suffix(                                                                    \
        void *h, int op_a, int op_b, INT m, INT n, INT k, const void *alpha, const void *a, INT lda, long long stride_a,      \
        const void *b, INT ldb, long long stride_b, const void *beta, void *c, INT ldc, long long stride_c, INT batch)        \
    {                                                                                                                         \
        return run(h, (fake_product){PLAIN, STRIDES, OF(type, how)});                                                         \
    }                                                                                                                         \
    EXPORT int cublas##letter##gemmBatched##suffix(void *h, int op_a, int op_b, INT m, INT n, INT k, const void *alpha,       \
                                                   const void *a, INT lda, const void *b, INT ldb, const void *beta, void *c, \
                                                   INT ldc, INT batch)                                                        \
    {                                                                                                                         \
        return run(h, (fake_product){PLAIN, .batch = batch, .is_pointers = 1, OF(type, how)});                                \
    }

#define PRODUCT(INT, name, type, how)                                                                            \
    EXPORT int name(void *h, int op_a, int op_b, INT m, INT n, INT k, const void *alpha, const void *a, INT lda, \
                    const void *b, INT ldb, const void *beta, void *c, INT ldc)                                  \
    {                                                                                                            \
        return run(h, (fake_product){PLAIN, .batch = 1, OF(type, how)});                                         \
    }

#define ALL(INT, suffix)                                                                                                       \
    FUNCTIONS(INT, suffix, S, R_32F, COMPUTE_32F)                                                                              \
    FUNCTIONS(INT, suffix, D, R_64F, COMPUTE_64F)                                                                              \
    FUNCTIONS(INT, suffix, H, R_16F, COMPUTE_16F)                                                                              \
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
    EXPORT int cublasSgemmEx##suffix(void *h, int op_a, int op_b, INT m, INT n, INT k, const void *alpha, const void *a,       \
                                     int type_a, INT lda, const void *b, int type_b, INT ldb, const void *beta, void *c,       \
                                     int type_c, INT ldc)                                                                      \
    {                                                                                                                          \
        const int compute = COMPUTE_32F;                                                                                       \
                                                                                                                               \
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
ALL(int64_t, _64)

/* The next library after this one that has this library's own function: there is none. */
EXPORT void *fake_cublas_next(void)
{
    void *volatile next = dlsym(RTLD_NEXT, "fake_cublas_count");

    return next;
}
