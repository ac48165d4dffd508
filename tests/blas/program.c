/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: only; run: blas/inside random 6 1 wait; env: TILEJIT_BLAS=with:always; labels: threads */
/* tier: change; sanitizers: only; run: blas/inside_often often; env: TILEJIT_BLAS=with; labels: threads */
/* tier: change; sanitizers: only; run: blas/inside_threads threads; env: TILEJIT_BLAS=with; labels: threads */
/* tier: change; sanitizers: only; run: blas/inside_edges edges; env: TILEJIT_BLAS=with:always */
/* tier: change; sanitizers: only; run: blas/inside_workspace workspace; env: TILEJIT_BLAS=with:always */
/* tier: change; sanitizers: only; run: blas/inside_graphs graphs; env: TILEJIT_BLAS=with:always */
/*
 * program: a program that multiplies by cuBLAS, checks each product, and knows nothing of TileJIT.
 *
 *     program random COUNT SEED [wait]   COUNT products of all kinds, each 4 times; wait: until the library is no longer asked,
 *                                        and then as often again, with other operands; of NVIDIA's library, which does not say
 *                                        that: the seconds to wait once
 *     program edges                      calls that are refused, do nothing, or are unusual
 *     program often                      one product until it is first taken, and 40 times more
 *     program zeros                      factors of 0 in device memory
 *     program again [patient]          is the first call taken, a moment after the handle was made, or within 10 s? Then calls
 *                                        until 80 were taken, or 300 were made
 *     program contexts [patient]         the same on two devices, and then on the first one after a reset
 *     program idle LIBRARY               a library is opened, and nothing is called
 *     program exit MS                    a child that ends MS milliseconds after it asked for kernels, and how long its end takes
 *     program refused                    a product that the library does not compute
 *     program threads | fork | share | capture | expected | workspace | graphs | both | symbols | two LIBRARY | stub LIBRARY
 *
 * It is built three times: linked with the libraries; as a plugin that is; and to open them itself (OPENS).
 */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "drawn_product.h"

/* clang-format off */
#define GEMM(T) int op_a, int op_b, T m, T n, T k, const void *alpha, const void *a, T lda
#define FUNCTIONS(X)                                                                                                        \
    X(cublasCreate_v2, (void **handle))                                                                                     \
    X(cublasDestroy_v2, (void *handle))                                                                                     \
    X(cublasSetStream_v2, (void *handle, void *stream))                                                                     \
    X(cublasSetWorkspace_v2, (void *handle, void *workspace, size_t bytes))                                                 \
    X(cublasSetMathMode, (void *handle, int mode))                                                                          \
    X(cublasSetPointerMode_v2, (void *handle, int mode))                                                                    \
    BLAS(X, , int)                                                                                                          \
    X(cublasLtCreate, (void **handle))                                                                                      \
    X(cublasLtMatmulDescCreate, (void **desc, int compute, int type))                                                       \
    X(cublasLtMatmulDescSetAttribute, (void *desc, int attribute, const void *value, size_t bytes))                         \
    X(cublasLtMatmulDescDestroy, (void *desc))                                                                              \
    X(cublasLtMatrixLayoutCreate, (void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld))                      \
    X(cublasLtMatrixLayoutSetAttribute, (void *layout, int attribute, const void *value, size_t bytes))                     \
    X(cublasLtMatrixLayoutDestroy, (void *layout))                                                                          \
    X(cublasLtMatmul, (void *handle, void *desc, const void *alpha, const void *a, void *layout_a, const void *b,           \
       void *layout_b, const void *beta, const void *c, void *layout_c, void *d, void *layout_d, const void *algo,          \
       void *workspace, size_t workspace_bytes, void *stream))
#define FROM_12(X)                                                                                                          \
    BLAS(X, _64, int64_t)                                                                                                   \
    X(cublasSetSmCountTarget, (void *handle, int count))                                                                    \
    X(cublasSgemmGroupedBatched, (void *handle, const int *op_a, const int *op_b, const int *m, const int *n, const int *k, \
       const float *alpha, const float *const *a, const int *lda, const float *const *b, const int *ldb, const float *beta, \
       float *const *c, const int *ldc, int groups, const int *in_group))                                                   \
    X(cublasGemmGroupedBatchedEx, (void *handle, const int *op_a, const int *op_b, const int *m, const int *n, const int *k,\
       const void *alpha, const void *const *a, int type_a, const int *lda, const void *const *b, int type_b, const int *ldb,\
       const void *beta, void *const *c, int type_c, const int *ldc, int groups, const int *in_group, int compute))
#define COUNTS(X)                                                                                                           \
    X(fake_cublas_count, (void))                                                                                            \
    X(fake_cublaslt_count, (void))
#define OF(X, name, v, s, T)                                                                                                \
    X(name##v##s, (void *h, GEMM(T), const void *b, T ldb, const void *beta, void *c, T ldc))                               \
    X(name##StridedBatched##s, (void *h, GEMM(T), long long stride_a, const void *b, T ldb, long long stride_b,             \
       const void *beta, void *c, T ldc, long long stride_c, T batch))                                                      \
    X(name##Batched##s, (void *h, GEMM(T), const void *b, T ldb, const void *beta, void *c, T ldc, T batch))
#define SYRK_OF(X, name, T)                                                                                                \
    X(name, (void *h, int uplo, int op, T n, T k, const void *alpha, const void *a, T lda, const void *beta, void *c, T ldc))
#define TRIANGLES(X, L, s, T)                                                                                               \
    SYRK_OF(X, cublas##L##syrk_v2##s, T)                                                                                    \
    X(cublas##L##syrkx##s, (void *h, int uplo, int op, T n, T k, const void *alpha, const void *a, T lda, const void *b,    \
       T ldb, const void *beta, void *c, T ldc))
#define BLAS(X, s, T)                                                                                                       \
    OF(X, cublasSgemm, _v2, s, T) OF(X, cublasDgemm, _v2, s, T) OF(X, cublasHgemm, , s, T)                                  \
    OF(X, cublasCgemm, _v2, s, T) OF(X, cublasZgemm, _v2, s, T) OF(X, cublasCgemm3m, , s, T)                                \
    TRIANGLES(X, S, s, T) TRIANGLES(X, D, s, T) TRIANGLES(X, C, s, T) TRIANGLES(X, Z, s, T)                                 \
    SYRK_OF(X, cublasCherk_v2##s, T) SYRK_OF(X, cublasZherk_v2##s, T)                                                       \
    X(cublasZgemm3m##s, (void *h, GEMM(T), const void *b, T ldb, const void *beta, void *c, T ldc))                         \
    X(cublasCgemmEx##s, (void *h, GEMM2(T), const void *b, int type_b, T ldb, const void *beta, void *c, int type_c, T ldc))\
    X(cublasCgemm3mEx##s, (void *h, GEMM2(T), const void *b, int type_b, T ldb, const void *beta, void *c, int type_c, T ldc))\
    X(cublasGemmEx##s, (void *h, GEMM2(T), const void *b, int type_b, T ldb, const void *beta, void *c, int type_c, T ldc,  \
       int compute, int algo))                                                                                              \
    X(cublasSgemmEx##s, (void *h, GEMM2(T), const void *b, int type_b, T ldb, const void *beta, void *c, int type_c, T ldc))\
    X(cublasGemmStridedBatchedEx##s, (void *h, GEMM2(T), long long stride_a, const void *b, int type_b, T ldb,              \
       long long stride_b, const void *beta, void *c, int type_c, T ldc, long long stride_c, T batch, int compute, int algo))\
    X(cublasGemmBatchedEx##s, (void *h, GEMM2(T), const void *b, int type_b, T ldb, const void *beta, void *c, int type_c,  \
       T ldc, T batch, int compute, int algo))
#define GEMM2(T) int op_a, int op_b, T m, T n, T k, const void *alpha, const void *a, int type_a, T lda

static struct {
#define MEMBER(name, parameters) int(*name) parameters;
    FUNCTIONS(MEMBER)
    FROM_12(MEMBER) /* NULL: the library is older */
    COUNTS(MEMBER) /* NULL: the library is NVIDIA's */
#undef MEMBER
} lib;

static struct {
    int (*init)(unsigned), (*device_get)(int *, int), (*primary_retain)(void **, int), (*set_current)(void *);
    int (*primary_reset)(int), (*mem_alloc)(uint64_t *, size_t), (*mem_info)(size_t *, size_t *);
    int (*to_host)(void *, uint64_t, size_t), (*copy)(uint64_t, const void *, size_t);
    int (*stream_create)(void **, unsigned), (*stream_wait)(void *), (*begin_capture)(void *, int);
    int (*end_capture)(void *, void **), (*instantiate)(void **, void *, unsigned long long), (*graph_launch)(void *, void *);
    int (*graph_destroy)(void *), (*executable_destroy)(void *), (*event_create)(void **, unsigned);
    int (*event_record)(void *, void *), (*stream_wait_event)(void *, void *, unsigned);
} cu;
/* clang-format on */

#ifndef OPENS
#define DECLARE(name, parameters) extern int name parameters;
FUNCTIONS(DECLARE)
FROM_12(DECLARE)
COUNTS(DECLARE)
extern void *fake_cublas_next(void);
#endif

static void *context;

static void die(const char *why)
{
    printf("cannot run: %s\n", why);
    exit(9);
}

static void find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);

    if (!symbol)
        die(name);
    memcpy(function, &symbol, sizeof symbol);
}

#ifdef OPENS
static void *open_one(const char *name)
{
    const char *version = getenv("VERSION");
    char file[32];

    snprintf(file, sizeof file, "%s%s", name, version ? version : "13");
    return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

static void open_libraries(const char *blas, const char *lt)
{
    void *handle[2] = {open_one(blas), open_one(lt)};

    if (!handle[0] || !handle[1])
        die(dlerror());
#define FIND(name, parameters) find(handle[strncmp(#name, "cublasLt", 8) == 0], #name, &lib.name);
    FUNCTIONS(FIND)
#undef FIND
#define FIND(name, parameters)   \
    if (dlsym(handle[0], #name)) \
        find(handle[0], #name, &lib.name);
    FROM_12(FIND)
#undef FIND
    if (dlsym(handle[0], "fake_cublas_count")) {
        find(handle[0], "fake_cublas_count", &lib.fake_cublas_count);
        find(handle[1], "fake_cublaslt_count", &lib.fake_cublaslt_count);
    }
}
#else
static void open_libraries(const char *blas, const char *lt)
{
    (void)blas, (void)lt;
#define FIND(name, parameters) lib.name = name;
    FUNCTIONS(FIND)
    FROM_12(FIND)
    COUNTS(FIND)
#undef FIND
}
#endif

static void use_device(int number)
{
    int device;

    if (cu.device_get(&device, number) != 0 || cu.primary_retain(&context, device) != 0 || cu.set_current(context) != 0)
        die("no device");
}

static void open_driver(void)
{
    const char *emulator = getenv("TILEJIT_EMULATOR");
    void *driver = dlopen(emulator ? emulator : "libcuda.so.1", RTLD_NOW);

    if (!driver)
        die("no driver");
    find(driver, "cuInit", &cu.init);
    find(driver, "cuDeviceGet", &cu.device_get);
    find(driver, "cuDevicePrimaryCtxRetain", &cu.primary_retain);
    find(driver, "cuDevicePrimaryCtxReset_v2", &cu.primary_reset);
    find(driver, "cuCtxSetCurrent", &cu.set_current);
    find(driver, "cuMemAlloc_v2", &cu.mem_alloc);
    find(driver, "cuMemGetInfo_v2", &cu.mem_info);
    find(driver, "cuMemcpyDtoH_v2", &cu.to_host);
    find(driver, "cuMemcpyHtoD_v2", &cu.copy);
    find(driver, "cuStreamCreate", &cu.stream_create);
    find(driver, "cuStreamSynchronize", &cu.stream_wait);
    find(driver, "cuStreamBeginCapture_v2", &cu.begin_capture);
    find(driver, "cuStreamEndCapture", &cu.end_capture);
    find(driver, "cuGraphInstantiateWithFlags", &cu.instantiate);
    find(driver, "cuGraphLaunch", &cu.graph_launch);
    find(driver, "cuGraphDestroy", &cu.graph_destroy);
    find(driver, "cuGraphExecDestroy", &cu.executable_destroy);
    find(driver, "cuEventCreate", &cu.event_create);
    find(driver, "cuEventRecord", &cu.event_record);
    find(driver, "cuStreamWaitEvent", &cu.stream_wait_event);
    if (cu.init(0) != 0)
        die("no driver");
    use_device(0);
}

/* ---- a product ------------------------------------------------------------------------------------------------------- */

/* The operands on the host and on the device. */
typedef struct job {
    drawn_product one;
    char *host[PARTS];
    uint64_t device[PARTS], arrays[MATRICES];
    void *handle, *lt, *stream;
    int attribute; /* of a description, which is set too; 0: none is */
} job;

/* Copy, and wait: a short copy returns before its end, and a stream of its own does not wait for it. */
static int to_device(uint64_t to, const void *from, size_t bytes)
{
    const int status = cu.copy(to, from, bytes);

    return status != 0 ? status : cu.stream_wait(NULL);
}

static uint64_t allocate(size_t bytes)
{
    uint64_t address = 0;

    if (cu.mem_alloc(&address, bytes + 16) != 0)
        die("out of device memory");
    return address;
}

/* Memory that lives as long as the process. */
static void *keep(void *memory)
{
    static _Atomic(void *) kept[1 << 17];
    static atomic_size_t count;
    const size_t at = atomic_fetch_add(&count, 1);

    if (!memory || at >= sizeof kept / sizeof kept[0])
        die("out of memory");
    atomic_store(&kept[at], memory);
    return memory;
}

static size_t bytes_of(const job *j, int which)
{
    const drawn_part is = part_of(&j->one, (part)which);

    return (size_t)is.elements * fake_bytes(is.type);
}

/* Draw operands. Factors on the host stay, as the product is another one if they become 0 or 1. */
static void fill_job(job *j, bool is_first)
{
    for (int i = 0; i < PARTS; i++) {
        if (bytes_of(j, i) == 0 || (!is_first && is_of_host(&j->one.p, (part)i)))
            continue;
        fill_part(&j->one, (part)i, j->host[i]);
        if (to_device(j->device[i], j->host[i], bytes_of(j, i)) != 0)
            die("cannot copy");
    }
}

static void make_job(job *j, const drawn_product *one)
{
    j->one = *one;
    for (int i = 0; i < PARTS; i++) {
        j->host[i] = keep(calloc(1, bytes_of(j, i) + 8));
        j->device[i] = allocate(bytes_of(j, i));
    }
    for (int i = 0; i < MATRICES; i++) {
        const size_t step = (size_t)one->p.stride[i] * fake_bytes(one->p.type[i]);

        j->arrays[i] = allocate(8 * (size_t)one->p.batch);
        for (int64_t k = 0; k < one->p.batch; k++)
            if (to_device(j->arrays[i] + 8 * (uint64_t)k, &(const uint64_t){j->device[i] + (uint64_t)k * step}, 8) != 0)
                die("cannot copy");
    }
    fill_job(j, true);
}
/* The product with addresses for a call: on the device, but for factors that the host reads. */
static fake_product called(const job *j)
{
    void *at[PARTS], *arrays[MATRICES];

    for (int i = 0; i < PARTS; i++)
        at[i] = is_of_host(&j->one.p, (part)i) ? j->host[i] : (void *)(uintptr_t)j->device[i];
    for (int i = 0; i < MATRICES; i++)
        arrays[i] = (void *)(uintptr_t)j->arrays[i];
    return placed(&j->one, at, arrays);
}

static void describe(void *desc, const fake_product *p)
{
    const struct {
        int attribute;
        size_t bytes;
        const void *value;
        bool is_set;
    } all[] = {{2, 4, &p->scalars, p->scalars != ON_HOST},
               {3, 4, &p->op_a, true},
               {4, 4, &p->op_b, true},
               {7, 4, &p->epilogue, true},
               {8, 8, &p->bias, p->epilogue & (BIAS | BIAS_GRADIENT)},
               {10, 8, &p->bias_stride, p->bias_stride != 0},
               {11, 8, &p->aux, p->epilogue & AUX},
               {12, 8, &p->aux_ld, p->epilogue & AUX},
               {13, 8, &p->aux_stride, p->epilogue & AUX},
               {14, 8, &p->alpha_stride, p->alpha_stride != 0},
               {15, 4, &p->processors, p->processors != 0},
               {26, 4, &p->bias_type, p->epilogue & BIAS && p->bias_type != p->type[D]}};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].is_set)
            lib.cublasLtMatmulDescSetAttribute(desc, all[i].attribute, all[i].value, all[i].bytes);
    for (int i = 0; i < MATRICES; i++) {
        if (p->scale[i])
            lib.cublasLtMatmulDescSetAttribute(desc, 17 + i, &p->scale[i], 8);
        if (p->scale[i] && p->scale_mode[i])
            lib.cublasLtMatmulDescSetAttribute(desc, 31 + i, &p->scale_mode[i], 4);
    }
}

static int call_lt(const job *j, const fake_product *p)
{
    const int64_t rows[] = {p->op_a ? p->k : p->m, p->op_b ? p->n : p->k, p->m, p->m},
                  cols[] = {p->op_a ? p->m : p->k, p->op_b ? p->k : p->n, p->n, p->n};
    const int32_t batch = (int32_t)p->batch;
    void *desc, *layout[MATRICES];
    int status;

    lib.cublasLtMatmulDescCreate(&desc, p->compute, p->scalar_type);
    describe(desc, p);
    if (j->attribute)
        lib.cublasLtMatmulDescSetAttribute(desc, j->attribute, &(const int64_t){1 << 20}, 8);
    for (int i = 0; i < MATRICES; i++) {
        lib.cublasLtMatrixLayoutCreate(&layout[i], p->type[i], (uint64_t)rows[i], (uint64_t)cols[i], p->ld[i]);
        lib.cublasLtMatrixLayoutSetAttribute(layout[i], 1, &p->by_rows[i], 4);
        lib.cublasLtMatrixLayoutSetAttribute(layout[i], 5, &batch, 4);
        lib.cublasLtMatrixLayoutSetAttribute(layout[i], 6, &p->stride[i], 8);
    }
    status = lib.cublasLtMatmul(j->lt, desc, p->alpha, p->at[A], layout[A], p->at[B], layout[B], p->beta, p->at[C], layout[C],
                                p->at[D], layout[D], NULL, NULL, 0, j->stream);
    for (int i = 0; i < MATRICES; i++)
        lib.cublasLtMatrixLayoutDestroy(layout[i]);
    lib.cublasLtMatmulDescDestroy(desc);
    return status;
}

#define SIZES(T) p->op_a, p->op_b, (T)p->m, (T)p->n, (T)p->k, p->alpha
#define AT(x, T) p->at[x], (T)p->ld[x]
#define TYPED(x, T) p->at[x], p->type[x], (T)p->ld[x]
#define CALL_OF(name, v, s, T)                                                                                             \
    (kind == PLAIN     ? lib.name##v##s(h, SIZES(T), AT(A, T), AT(B, T), p->beta, AT(C, T))                                \
     : kind == STRIDED ? lib.name##StridedBatched##s(h, SIZES(T), AT(A, T), p->stride[A], AT(B, T), p->stride[B], p->beta, \
                                                     AT(C, T), p->stride[C], (T)p->batch)                                  \
                       : lib.name##Batched##s(h, SIZES(T), AT(A, T), AT(B, T), p->beta, AT(C, T), (T)p->batch))
#define CALL_SYRK(name, T) lib.name(h, p->triangle - 1, p->op_a, (T)p->n, (T)p->k, p->alpha, AT(A, T), p->beta, AT(C, T))
#define CALL_TRIANGLE(L, s, T)                                                                                           \
    (kind == SYRK ? CALL_SYRK(cublas##L##syrk_v2##s, T)                                                                  \
                  : lib.cublas##L##syrkx##s(h, p->triangle - 1, p->op_a, (T)p->n, (T)p->k, p->alpha, AT(A, T), AT(B, T), \
                                            p->beta, AT(C, T)))
#define CALL_IN_F32(name, T) lib.name(h, SIZES(T), TYPED(A, T), TYPED(B, T), p->beta, TYPED(C, T))

/* The calls with sizes of one width. */
#define CALLS(width, s, T)                                                                                              \
    static int call_ex_##width(void *h, const fake_product *p, kind kind, bool is_3m)                                   \
    {                                                                                                                   \
        if (kind == EX)                                                                                                 \
            return lib.cublasGemmEx##s(h, SIZES(T), TYPED(A, T), TYPED(B, T), p->beta, TYPED(C, T), p->compute, -1);    \
        if (kind == EX_STRIDED)                                                                                         \
            return lib.cublasGemmStridedBatchedEx##s(h, SIZES(T), TYPED(A, T), p->stride[A], TYPED(B, T), p->stride[B], \
                                                     p->beta, TYPED(C, T), p->stride[C], (T)p->batch, p->compute, -1);  \
        if (kind == SEX)                                                                                                \
            return p->type[A] != C_32F ? CALL_IN_F32(cublasSgemmEx##s, T)                                               \
                   : is_3m             ? CALL_IN_F32(cublasCgemm3mEx##s, T)                                             \
                                       : CALL_IN_F32(cublasCgemmEx##s, T);                                                          \
        return lib.cublasGemmBatchedEx##s(h, SIZES(T), TYPED(A, T), TYPED(B, T), p->beta, TYPED(C, T), (T)p->batch,     \
                                          p->compute, -1);                                                              \
    }                                                                                                                   \
    static int call_triangle_##width(void *h, const fake_product *p, kind kind)                                         \
    {                                                                                                                   \
        if (kind == HERK)                                                                                               \
            return p->type[A] == C_32F ? CALL_SYRK(cublasCherk_v2##s, T) : CALL_SYRK(cublasZherk_v2##s, T);             \
        return p->type[A] == R_32F   ? CALL_TRIANGLE(S, s, T)                                                           \
               : p->type[A] == R_64F ? CALL_TRIANGLE(D, s, T)                                                           \
               : p->type[A] == C_32F ? CALL_TRIANGLE(C, s, T)                                                           \
                                     : CALL_TRIANGLE(Z, s, T);                                                          \
    }                                                                                                                   \
    static int call_##width(void *h, const fake_product *p, kind kind, bool is_3m)                                      \
    {                                                                                                                   \
        if (kind >= EX)                                                                                                 \
            return call_ex_##width(h, p, kind, is_3m);                                                                  \
        if (p->triangle)                                                                                                \
            return call_triangle_##width(h, p, kind);                                                                   \
        if (is_3m && kind == PLAIN && p->type[A] == C_64F)                                                              \
            return lib.cublasZgemm3m##s(h, SIZES(T), AT(A, T), AT(B, T), p->beta, AT(C, T));                            \
        return p->type[A] == R_32F   ? CALL_OF(cublasSgemm, _v2, s, T)                                                  \
               : p->type[A] == R_64F ? CALL_OF(cublasDgemm, _v2, s, T)                                                  \
               : p->type[A] == R_16F ? CALL_OF(cublasHgemm, , s, T)                                                     \
               : p->type[A] == C_64F ? CALL_OF(cublasZgemm, _v2, s, T)                                                  \
               : is_3m               ? CALL_OF(cublasCgemm3m, , s, T)                                                   \
                                     : CALL_OF(cublasCgemm, _v2, s, T);                                                               \
    }

CALLS(narrow, , int)
CALLS(wide, _64, int64_t)

/* A batch as groups of one product each. */
static int call_groups(void *h, const fake_product *p)
{
    enum { MOST_GROUPS = 8 };
    int op_a[MOST_GROUPS], op_b[MOST_GROUPS], m[MOST_GROUPS], n[MOST_GROUPS], k[MOST_GROUPS], ld[MATRICES][MOST_GROUPS],
        ones[MOST_GROUPS];
    const size_t scalar = fake_bytes(p->scalar_type);
    char alpha[8 * MOST_GROUPS], beta[8 * MOST_GROUPS];

    for (int i = 0; i < (int)p->batch; i++) {
        op_a[i] = p->op_a, op_b[i] = p->op_b, m[i] = (int)p->m, n[i] = (int)p->n, k[i] = (int)p->k, ones[i] = 1;
        for (int which = 0; which < MATRICES; which++)
            ld[which][i] = (int)p->ld[which];
        memcpy(alpha + (size_t)i * scalar, p->alpha, scalar);
        memcpy(beta + (size_t)i * scalar, p->beta, scalar);
    }
    return lib.cublasGemmGroupedBatchedEx(h, op_a, op_b, m, n, k, alpha, p->at[A], p->type[A], ld[A], p->at[B], p->type[B],
                                          ld[B], beta, p->at[C], p->type[C], ld[C], (int)p->batch, ones, p->compute);
}

static int call(job *j)
{
    const fake_product placed_there = called(j), *const p = &placed_there;
    const bool is_wide = j->one.is_64 && lib.cublasSgemm_v2_64, has_share = p->processors && lib.cublasSetSmCountTarget;
    void *const h = j->handle;
    int status;

    if (j->one.kind == LT)
        return call_lt(j, p);
    if (j->one.kind == GROUPED && lib.cublasGemmGroupedBatchedEx)
        return call_groups(h, p);
    if (p->scalars != ON_HOST) /* a mode of the handle, which other threads may use */
        lib.cublasSetPointerMode_v2(h, p->scalars);
    if (has_share)
        lib.cublasSetSmCountTarget(h, p->processors);
    status = (is_wide ? call_wide : call_narrow)(h, p, j->one.kind, j->one.is_3m);
    if (p->scalars != ON_HOST)
        lib.cublasSetPointerMode_v2(h, ON_HOST);
    if (has_share)
        lib.cublasSetSmCountTarget(h, 0);
    return status;
}

/* The number of elements that are wrong after the call, gaps included. */
static int count_wrong(const job *j)
{
    void *at[PARTS], *arrays[MATRICES];
    fake_product p;
    int wrong = 0;

    for (int i = 0; i < PARTS; i++)
        at[i] = memcpy(malloc(bytes_of(j, i) + 8), j->host[i], bytes_of(j, i));
    for (int i = 0; i < MATRICES; i++) {
        arrays[i] = malloc(8 * (size_t)j->one.p.batch);
        for (int64_t k = 0; k < j->one.p.batch; k++)
            ((char **)arrays[i])[k] = (char *)at[i] + (size_t)(k * j->one.p.stride[i]) * fake_bytes(j->one.p.type[i]);
    }
    p = placed(&j->one, at, arrays);
    if (fake_evaluate(&p) != SUCCESS || cu.stream_wait(j->stream) != 0)
        die("cannot compute what to expect");
    for (int i = 0; i < PARTS; i++) {
        char *got = malloc(bytes_of(j, i) + 8);

        if (is_result(&j->one, (part)i) && cu.to_host(got, j->device[i], bytes_of(j, i)) != 0)
            die("cannot copy back");
        wrong += is_result(&j->one, (part)i) ? count_different(&j->one, (part)i, got, at[i]) : 0;
        free(got);
    }
    for (int i = 0; i < PARTS; i++)
        free(at[i]);
    for (int i = 0; i < MATRICES; i++)
        free(arrays[i]);
    return wrong;
}

static int count(void)
{
    return lib.fake_cublas_count ? lib.fake_cublas_count() + lib.fake_cublaslt_count() : 0;
}

static void tell(const drawn_product *one)
{
    const fake_product *const p = &one->p;

    printf("kind %d%s%s types %d %d %d op %d%d by rows %d%d%d m%d n%d k%d ld %d %d %d batch %d scalars %d epilogue %d scales "
           "%d%d%d "
           "triangle %d",
           (int)one->kind, one->is_64 ? " 64" : "", one->is_3m ? " 3m" : "", p->type[A], p->type[C], p->type[D], p->op_a,
           p->op_b, p->by_rows[A], p->by_rows[B], p->by_rows[D], (int)p->m, (int)p->n, (int)p->k, (int)p->ld[A], (int)p->ld[B],
           (int)p->ld[C], (int)p->batch, p->scalars, p->epilogue, p->scale_mode[A], p->scale_mode[B], p->scale[D] != NULL,
           p->triangle);
}

/* One call with results as they were, checked; true: the library was not asked. */
static bool once(job *j, int *wrong)
{
    const int before = count();
    int status, bad;

    for (int i = 0; i < PARTS; i++)
        if (is_result(&j->one, (part)i) && to_device(j->device[i], j->host[i], bytes_of(j, i)) != 0)
            die("cannot copy");
    status = call(j);
    if (status != 0 && !lib.fake_cublas_count) /* NVIDIA's does not do it */
        return false;
    bad = status == 0 ? count_wrong(j) : -1;
    if (bad != 0) {
        printf("WRONG: status %d, %d elements: ", status, bad);
        tell(&j->one);
        printf("\n");
        ++*wrong;
    }
    return count() == before;
}

static void open_handles(job *j)
{
    if (lib.cublasCreate_v2(&j->handle) != 0 || lib.cublasLtCreate(&j->lt) != 0)
        die("no handle");
    if (cu.stream_create(&j->stream, 1) != 0 || lib.cublasSetStream_v2(j->handle, j->stream) != 0)
        die("no stream");
}

/* Call until the library is not asked any more, 20 s at most. */
static bool await(job *j, int *wrong)
{
    const struct timespec moment = {0, 10000000};

    for (int i = 0; i < 2000; i++) {
        if (once(j, wrong))
            return true;
        if (i >= 3)
            nanosleep(&moment, NULL);
    }
    return false;
}

/* Calls of a product with other operands each. */
static bool repeat(job *j, int times, int *wrong)
{
    bool is_taken = false;

    for (int i = 0; i < times; i++) {
        if (i > 0)
            fill_job(j, false);
        is_taken = once(j, wrong);
    }
    return is_taken;
}

enum { CALLS = 4, CALLS_OF_TAKEN = 20 };

static int run_random(int number, bool must_wait)
{
    int wrong = 0, taken = 0;
    job j = {0};

    open_handles(&j);
    for (int i = 0; i < number; i++) {
        const drawn_product one = draw();
        bool is_taken;

        make_job(&j, &one);
        is_taken = must_wait ? await(&j, &wrong) && repeat(&j, CALLS_OF_TAKEN, &wrong) : repeat(&j, CALLS, &wrong);
        if (must_wait && !is_taken) {
            printf("never taken: ");
            tell(&one);
            printf("\n");
        }
        taken += is_taken;
    }
    printf("%d products, %d taken, %d wrong\n", number, taken, wrong);
    return wrong;
}

/*
 * NVIDIA's library does not say whether it was asked, so all products are called, their kernels are given time, and all are
 * called again. TILEJIT_CAPTURE counts the calls that were taken.
 */
static int run_real(int number, int pause)
{
    job *all = calloc((size_t)number, sizeof *all);
    int wrong = 0, calls = 0;

    for (int i = 0; i < number; i++) {
        const drawn_product one = draw();

        if (i == 0)
            open_handles(&all[0]);
        all[i] = all[0];
        make_job(&all[i], &one);
        (void)repeat(&all[i], CALLS, &wrong);
    }
    sleep((unsigned)pause);
    for (int i = 0; i < number; i++) {
        (void)repeat(&all[i], CALLS_OF_TAKEN, &wrong);
        calls += CALLS + CALLS_OF_TAKEN;
    }
    free(all);
    printf("%d products, %d calls, %d wrong\n", number, calls, wrong);
    return wrong;
}

/* 24 x 32 by 32 x 16, of f32; alpha is 1 and beta 0. */
static drawn_product usual(void)
{
    return (drawn_product){.kind = PLAIN,
                           .p = {.m = 24,
                                 .n = 16,
                                 .k = 32,
                                 .ld = {24, 32, 24, 24},
                                 .batch = 1,
                                 .epilogue = 1,
                                 .compute = COMPUTE_32F,
                                 .stride = {24 * MOST, 32 * MOST, 24 * MOST, 24 * MOST}}};
}

static void make_usual(job *j, drawn_product one, float alpha, float beta)
{
    make_job(j, &one);
    memcpy(j->host[OF_ALPHA], &alpha, sizeof alpha);
    memcpy(j->host[OF_BETA], &beta, sizeof beta);
}

static void expect(bool holds, const char *what, int *wrong)
{
    printf("%s %s\n", holds ? "ok" : "WRONG", what);
    *wrong += !holds;
}

/* Leading dimensions that are not used, because there is one column, may be anything. */
static void expect_long_leads(job *j, int *wrong)
{
    static const int64_t beyond = ((int64_t)1 << 31) + 8;
    drawn_product one = usual(), two = usual();
    int64_t ld[MATRICES];

    one.p.n = 1, one.is_64 = true;
    two.p.k = 1, two.is_64 = true;
    for (int i = 0; i < 2; i++) {
        make_usual(j, i ? two : one, 1, 0);
        memcpy(ld, j->one.p.ld, sizeof ld);
        if (i)
            j->one.p.ld[A] = beyond;
        else
            j->one.p.ld[B] = j->one.p.ld[C] = j->one.p.ld[D] = beyond;
        for (int n = 0; n < 8; n++) /* more than a product needs to be taken */
            *wrong += call(j) != 0;
        memcpy(j->one.p.ld, ld, sizeof ld);
        expect(count_wrong(j) == 0, "leading dimensions beyond 2^31", wrong);
    }
}

/* Attributes that TileJIT does not have: the largest magnitude of D, counters to wait for, and others. */
static void expect_attributes_left(job *j, int *wrong)
{
    static const int attributes[] = {21, 27, 28, 29, 30, 36, 38};
    const int count_before = count(), number = (int)(sizeof attributes / sizeof attributes[0]);

    j->one.kind = LT;
    for (int i = 0; i < number; i++) {
        j->attribute = attributes[i];
        *wrong += call(j) != 0;
    }
    j->attribute = 0;
    j->one.kind = PLAIN;
    expect(count() == count_before + number && count_wrong(j) == 0, "attributes of a description", wrong);
}

/* Two groups of unlike sizes; the products of the first one are those of the job. */
static int call_unlike_groups(job *j)
{
    const int op[] = {0, 0}, m[] = {24, 8}, n[] = {16, 8}, k[] = {32, 8}, ldb[] = {32, 8}, in_group[] = {1, 1};
    const float alpha[] = {1, 1}, beta[] = {0, 0};
    uint64_t pointers[MATRICES][2];
    void *at[MATRICES];

    for (int i = A; i <= C; i++) {
        pointers[i][0] = j->device[i];
        pointers[i][1] = allocate(8 * 8 * sizeof(float));
        at[i] = (void *)(uintptr_t)allocate(sizeof pointers[i]);
        if (to_device((uint64_t)(uintptr_t)at[i], pointers[i], sizeof pointers[i]) != 0)
            die("cannot copy");
    }
    return lib.cublasSgemmGroupedBatched(j->handle, op, op, m, n, k, alpha, at[A], m, at[B], ldb, beta, at[C], m, 2, in_group);
}

/* Calls that are counted, and left to the library. */
static void expect_left(job *j, int *wrong)
{
    const int before = count();

    lib.cublasSetMathMode(j->handle, 4);
    *wrong += call(j) != 0;
    lib.cublasSetMathMode(j->handle, 0);
    expect(count_wrong(j) == 0, "emulated types", wrong);
    expect(call_unlike_groups(j) == 0 && count_wrong(j) == 0, "groups of unlike batches", wrong);
    lib.cublasSetPointerMode_v2(j->handle, ON_DEVICE);
    expect(lib.cublasCgemm_v2(j->handle, 0, 0, 2, 2, 2, (void *)(uintptr_t)j->device[OF_A], (void *)(uintptr_t)j->device[OF_A],
                              2, (void *)(uintptr_t)j->device[OF_B], 2, (void *)(uintptr_t)j->device[OF_A],
                              (void *)(uintptr_t)j->device[OF_C], 2) == 0 &&
               count() == before + 4,
           "complex factors on the device", wrong);
    lib.cublasSetPointerMode_v2(j->handle, ON_HOST);
}

/* A factor of 0 on the device, which the host does not see: the library need not read A and B. */
static void expect_device_factor(job *j, int *wrong)
{
    drawn_product one = usual();
    const int before = *wrong;

    one.p.scalars = ON_DEVICE;
    make_usual(j, one, 0, 3);
    for (int i = OF_ALPHA; i <= OF_BETA; i++)
        (void)to_device(j->device[i], j->host[i], sizeof(float));
    j->device[OF_A] = j->device[OF_B] = 0;
    for (int i = 0; i < 8; i++)
        (void)once(j, wrong);
    expect(*wrong == before, "alpha = 0 on the device, without A and B", wrong);
}

/* One triangle of a product without a sum, of none, and of an unknown triangle; no group at all. */
static void expect_other_kinds(job *j, int *wrong)
{
    drawn_product one = usual();
    const int before = *wrong;

    one.kind = SYRK;
    one.p.m = one.p.n = 16, one.p.k = 0, one.p.ld[A] = one.p.ld[B] = 16, one.p.op_b = 1, one.p.triangle = UPPER;
    make_usual(j, one, 1, 3);
    for (int i = 0; i < 8; i++)
        (void)once(j, wrong);
    one.p.k = 32;
    make_usual(j, one, 0, 2);
    j->device[OF_A] = 0;
    for (int i = 0; i < 8; i++)
        (void)once(j, wrong);
    expect(*wrong == before, "a triangle with k = 0, and with alpha = 0 and without A", wrong);
    j->one.p.triangle = 3;
    for (int i = 0; i < 8; i++)
        *wrong += call(j) != INVALID_VALUE;
    expect(*wrong == before, "an unknown triangle is refused by the library", wrong);
    expect(lib.cublasSgemmGroupedBatched(j->handle, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                         NULL, 0, NULL) == 0,
           "no group at all", wrong);
}

static int run_edges(void)
{
    drawn_product one = usual();
    int wrong = 0;
    job j = {0};
    void *other;

    open_handles(&j);
    one.p.k = 0, one.p.ld[B] = 1;
    make_usual(&j, one, 1, 3);
    for (int i = 0; i < 8; i++)
        (void)once(&j, &wrong);
    expect(wrong == 0, "k = 0", &wrong);
    make_usual(&j, usual(), 0, 2);
    j.device[OF_A] = j.device[OF_B] = 0;
    for (int i = 0; i < 8; i++)
        (void)once(&j, &wrong);
    expect(wrong == 0, "alpha = 0, without A and B", &wrong);
    expect_device_factor(&j, &wrong);
    expect_other_kinds(&j, &wrong);
    expect_long_leads(&j, &wrong);
    make_usual(&j, usual(), 1, 0);
    expect_left(&j, &wrong);
    expect_attributes_left(&j, &wrong);
    j.device[OF_A] = j.device[OF_B] = 0;
    for (int i = 0; i < 8; i++)
        expect(call(&j) == 7, "matrices without an address are refused by the library", &wrong);
    if (lib.cublasCreate_v2(&other) != 0)
        die("no second handle");
    lib.cublasDestroy_v2(other);
    j.handle = other;
    expect(call(&j) == 1, "a destroyed handle is refused by the library", &wrong);
    return wrong;
}

/* Factors of 0 on the device, where nothing but the kernel sees them, make terms 0, even of numbers that are none. */
static int run_zeros(void)
{
    const float none = NAN, zeros[2] = {0, 0};
    drawn_product one = usual();
    int wrong = 0;
    float got = 1;
    job j = {0};

    open_handles(&j);
    one.p.scalars = ON_DEVICE;
    make_usual(&j, one, 0, 0);
    (void)to_device(j.device[OF_ALPHA], &zeros[0], 4);
    (void)to_device(j.device[OF_BETA], &zeros[1], 4);
    expect(await(&j, &wrong), "factors on the device are taken", &wrong);
    (void)to_device(j.device[OF_A], &none, sizeof none);
    (void)to_device(j.device[OF_C], &none, sizeof none);
    expect(call(&j) == 0 && cu.stream_wait(j.stream) == 0 && cu.to_host(&got, j.device[OF_C], sizeof got) == 0 && got == 0,
           "factors of 0 hide what is no number", &wrong);
    return wrong;
}

/* All but one multiprocessor are for other kernels: a kernel of several blocks is not launched, and one of one block is. */
static int run_share(void)
{
    drawn_product large = usual(), small = usual();
    int wrong = 0, taken = 0;
    job j = {0}, k;

    large.p.m = large.p.n = 256, large.p.k = 8, large.p.processors = small.p.processors = 1;
    large.p.ld[A] = large.p.ld[C] = large.p.ld[D] = 256, large.p.ld[B] = 8;
    open_handles(&j);
    k = j;
    make_usual(&j, large, 1, 0);
    make_usual(&k, small, 1, 0);
    for (int i = 0; i < 4; i++)
        taken += once(&j, &wrong);
    expect(await(&k, &wrong), "a small product for one multiprocessor", &wrong);
    for (int i = 0; i < 4; i++)
        taken += once(&j, &wrong);
    expect(taken == 0, "a large one is left to the library", &wrong);
    return wrong;
}

/* TileJIT has scales of e8m0, and this library refuses them. */
static int run_refused(void)
{
    drawn_product one = usual();
    int wrong = 0, refused = 0;
    unsigned char ones[512];
    job j = {0};

    memset(ones, 127, sizeof ones);
    open_handles(&j);
    one.kind = LT;
    one.p.type[A] = one.p.type[B] = R_8F_E4M3;
    one.p.type[C] = one.p.type[D] = R_16BF;
    one.p.op_a = 1;
    one.p.ld[A] = one.p.ld[B] = 32;
    make_job(&j, &one);
    for (int i = A; i <= B; i++) {
        j.device[OF_SCALES + i] = allocate(sizeof ones);
        (void)to_device(j.device[OF_SCALES + i], ones, sizeof ones);
        j.one.p.scale[i] = j.host; /* there is one */
        j.one.p.scale_mode[i] = 2;
    }
    for (int i = 0; i < 30; i++) {
        refused += call(&j) == NOT_SUPPORTED;
        nanosleep(&(struct timespec){0, 50000000}, NULL);
    }
    expect(refused == 30, "a product that the library refuses is refused for ever", &wrong);
    return wrong;
}

static int run_often(void)
{
    int wrong = 0;
    job j = {0};

    open_handles(&j);
    make_usual(&j, usual(), 1, 0);
    expect(await(&j, &wrong), "the product is taken", &wrong);
    (void)repeat(&j, 40, &wrong);
    return wrong;
}

/* Threads of even numbers share a handle. */
static job shared;

static void *run_thread(void *payload)
{
    static atomic_int number;
    int *wrong = payload;
    int mine = atomic_fetch_add(&number, 1);
    job j = shared;

    seed = (unsigned long long)mine + 1;
    cu.set_current(context);
    if (mine % 2)
        open_handles(&j);
    make_usual(&j, usual(), 1, 0);
    for (int i = 0; i < 40; i++)
        (void)once(&j, wrong);
    return NULL;
}

/* Another library of cuBLAS comes and goes, whose functions are its own. */
static void *run_opener(void *payload)
{
    for (int i = 0; i < 100; i++) {
        void *library = dlopen("libcublas.so.12", RTLD_NOW | RTLD_LOCAL), *handle;
        int (*create)(void **handle), (*destroy)(void *handle);

        if (!library)
            die(dlerror());
        find(library, "cublasCreate_v2", &create);
        find(library, "cublasDestroy_v2", &destroy);
        *(int *)payload += create(&handle) != 0 || destroy(handle) != 0;
        dlclose(library);
    }
    return NULL;
}

static int run_threads(void)
{
    int wrong[4] = {0}, sum = 0, other = 0;
    pthread_t thread[4], opener;

    open_handles(&shared);
    if (pthread_create(&opener, NULL, run_opener, &other) != 0)
        die("no thread");
    for (int i = 0; i < 4; i++)
        if (pthread_create(&thread[i], NULL, run_thread, &wrong[i]) != 0)
            die("no thread");
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], NULL);
        sum += wrong[i];
    }
    pthread_join(opener, NULL);
    sum += other;
    printf("4 threads, %d wrong\n", sum);
    return sum;
}

/* A child that was forked before the program used CUDA multiplies; one that was forked after it ends by exit(). */
static int run_fork(void)
{
    int wrong = 0, status = 0;
    pid_t child = fork();

    if (child == 0) {
        seed = 3;
        open_driver();
        exit(run_random(2, false));
    }
    expect(waitpid(child, &status, 0) == child && status == 0, "a child that multiplies", &wrong);
    open_driver();
    wrong += run_random(2, false);
    child = fork();
    if (child == 0)
        exit(0);
    expect(waitpid(child, &status, 0) == child && status == 0, "a child that does not", &wrong);
    return wrong;
}

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* The end of a process whose kernels are being compiled. */
static int run_exit(int pause_ms)
{
    int wrong = 0, status = 0, ends[2];
    double begun = 0, ended;
    pid_t child = -1;

    if (pipe(ends) != 0 || (child = fork()) < 0)
        die("no child");
    if (child == 0) {
        open_driver();
        wrong = run_random(6, false);
        nanosleep(&(struct timespec){pause_ms / 1000, pause_ms % 1000 * 1000000L}, NULL);
        begun = now_ms();
        if (write(ends[1], &begun, sizeof begun) != sizeof begun)
            die("no pipe");
        exit(wrong);
    }
    if (waitpid(child, &status, 0) != child || read(ends[0], &begun, sizeof begun) != sizeof begun)
        die("no child");
    ended = now_ms();
    printf("%.0f ms\n", ended - begun);
    expect(status == 0, "the child", &wrong);
    return wrong;
}

/* With few calls, a capture gets the kernel that is expected to be faster. */
static int run_expected(void)
{
    void *graph = NULL, *executable = NULL;
    int wrong = 0, taken = 0;
    job j = {0};

    open_handles(&j);
    make_usual(&j, usual(), 1, 0);
    for (int i = 0; i < 4; i++)
        (void)once(&j, &wrong);
    for (int i = 0; i < 200 && !taken; i++) {
        const int before = count();

        nanosleep(&(struct timespec){0, 50000000}, NULL);
        expect(cu.begin_capture(j.stream, 0) == 0 && call(&j) == 0 && cu.end_capture(j.stream, &graph) == 0, "a capture",
               &wrong);
        taken = count() == before;
    }
    expect(taken, "the capture has the kernel", &wrong);
    (void)to_device(j.device[OF_C], j.host[OF_C], bytes_of(&j, OF_C));
    expect(cu.instantiate(&executable, graph, 0) == 0 && cu.graph_launch(executable, j.stream) == 0 && count_wrong(&j) == 0,
           "the graph multiplies", &wrong);
    return wrong;
}

/* In a capture a product is recorded if its kernel is there, and else left to the library; the capture stays valid. */
static int run_capture(void)
{
    void *graph = NULL, *executable = NULL;
    int wrong = 0, before;
    job j = {0};

    open_handles(&j);
    make_usual(&j, usual(), 1, 0);
    before = count();
    for (int i = 0; i < 6; i++)
        expect(cu.begin_capture(j.stream, 0) == 0 && call(&j) == 0 && cu.end_capture(j.stream, &graph) == 0,
               "a capture before the kernel is there", &wrong);
    expect(count() == before + 6, "it is left to the library", &wrong);
    expect(await(&j, &wrong), "the product is taken", &wrong);
    before = count();
    expect(cu.begin_capture(j.stream, 0) == 0 && call(&j) == 0 && cu.end_capture(j.stream, &graph) == 0 && count() == before,
           "a capture of the kernel", &wrong);
    (void)to_device(j.device[OF_C], j.host[OF_C], bytes_of(&j, OF_C));
    expect(cu.instantiate(&executable, graph, 0) == 0 && cu.graph_launch(executable, j.stream) == 0 && count_wrong(&j) == 0,
           "the graph multiplies", &wrong);
    return wrong;
}

static bool is_captured(job *j, void **graph)
{
    const int before = count();

    return cu.begin_capture(j->stream, 0) == 0 && call(j) == 0 && cu.end_capture(j->stream, graph) == 0 && count() == before;
}

/* A kernel that splits k, and needs a workspace. */
static void make_split(job *j, int *wrong)
{
    drawn_product one = usual();

    one.p.m = one.p.n = 16, one.p.k = 2048, one.p.ld[A] = one.p.ld[C] = one.p.ld[D] = 16, one.p.ld[B] = 2048;
    open_handles(j);
    make_usual(j, one, 1, 0);
    expect(await(j, wrong), "the product is taken", wrong);
}

/* A large product and a small one until both are taken, and 40 times more. */
static int run_both(void)
{
    drawn_product large = usual();
    int wrong = 0;
    job j = {0};

    large.p.m = large.p.n = large.p.k = large.p.ld[A] = large.p.ld[B] = large.p.ld[C] = large.p.ld[D] = 64;
    open_handles(&j);
    make_usual(&j, large, 1, 0);
    expect(await(&j, &wrong), "the large one is taken", &wrong);
    (void)repeat(&j, 40, &wrong);
    make_usual(&j, usual(), 1, 0);
    expect(await(&j, &wrong), "the small one is taken", &wrong);
    (void)repeat(&j, 40, &wrong);
    return wrong;
}

static size_t free_memory(void)
{
    size_t bytes = 0, total;

    if (cu.mem_info(&bytes, &total) != 0)
        die("no memory info");
    return bytes;
}

/* Launch the graph with other operands. */
static void expect_replay(job *j, void *executable, int *wrong)
{
    fill_job(j, false);
    expect(cu.graph_launch(executable, j->stream) == 0 && count_wrong(j) == 0, "the graph multiplies", wrong);
}

/* A capture takes the workspace of the handle, if it is large enough, and nobody else's. */
static int run_workspace(void)
{
    void *graph = NULL, *executable = NULL;
    size_t before;
    int wrong = 0;
    job j = {0};

    make_split(&j, &wrong);
    expect(lib.cublasSetWorkspace_v2(j.handle, (void *)allocate(1 << 20), 1 << 20) == 0, "a workspace", &wrong);
    before = free_memory();
    expect(is_captured(&j, &graph) && free_memory() == before, "a capture takes it", &wrong);
    expect(cu.instantiate(&executable, graph, 0) == 0, "an executable", &wrong);
    expect_replay(&j, executable, &wrong);
    expect(lib.cublasSetStream_v2(j.handle, j.stream) == 0 && is_captured(&j, &graph) && free_memory() < before,
           "a new stream takes it away", &wrong);
    return wrong;
}

/* Capture two calls each on two streams, of which the second one joins again, or does not. */
static bool is_captured_twice(job *j, bool joins, void **graph)
{
    void *const stream = j->stream, *side, *forks, *is_joined;
    const int before = count();
    bool is_done;

    if (cu.stream_create(&side, 1) != 0 || cu.event_create(&forks, 0) != 0 || cu.event_create(&is_joined, 0) != 0)
        die("no stream");
    is_done = cu.begin_capture(stream, 0) == 0 && call(j) == 0 && call(j) == 0 && cu.event_record(forks, stream) == 0 &&
              cu.stream_wait_event(side, forks, 0) == 0 && lib.cublasSetStream_v2(j->handle, side) == 0 && call(j) == 0 &&
              call(j) == 0 && cu.event_record(is_joined, side) == 0 &&
              (!joins || cu.stream_wait_event(stream, is_joined, 0) == 0) && lib.cublasSetStream_v2(j->handle, stream) == 0;
    return (cu.end_capture(stream, graph) == 0) == joins && is_done && count() == before;
}

/* Without a workspace of the handle, the memory that a captured kernel needs lives as long as the graph. */
static int run_graphs(void)
{
    void *graph = NULL, *executable = NULL;
    size_t before, one;
    int wrong = 0;
    job j = {0};

    make_split(&j, &wrong);
    before = free_memory();
    expect(is_captured(&j, &graph), "a capture is taken", &wrong);
    one = before - free_memory();
    expect(one > 0 && one < before, "it has memory of its own", &wrong);
    expect(cu.instantiate(&executable, graph, 0) == 0 && cu.graph_destroy(graph) == 0 && once(&j, &wrong), "an executable",
           &wrong);
    for (int i = 0; i < 2; i++)
        expect_replay(&j, executable, &wrong);
    expect(before - free_memory() == one, "the memory stays for the executable", &wrong);
    expect(cu.executable_destroy(executable) == 0 && once(&j, &wrong) && free_memory() == before, "it is free again", &wrong);
    expect(is_captured_twice(&j, true, &graph) && before - free_memory() == 2 * one, "each stream has its memory", &wrong);
    expect(cu.instantiate(&executable, graph, 0) == 0, "an executable", &wrong);
    expect_replay(&j, executable, &wrong);
    expect(cu.graph_destroy(graph) == 0 && cu.executable_destroy(executable) == 0 && once(&j, &wrong) &&
               free_memory() == before,
           "both are free again", &wrong);
    expect(is_captured_twice(&j, false, &graph), "a capture that fails", &wrong);
    expect(once(&j, &wrong) && free_memory() == before, "its memory is free again", &wrong);
    return wrong;
}

/* In the second run the kernel of the first comes while the program prepares itself. */
static int run_again(bool is_patient)
{
    int wrong = 0, taken = 0, calls = 0;
    bool is_first = false;
    void *graph = NULL;
    job j = {0};

    open_handles(&j);
    make_usual(&j, usual(), 1, 0);
    for (int i = 0; !is_first && i < (is_patient ? 40 : 1); i++) {
        nanosleep(&(struct timespec){0, 250000000}, NULL);
        is_first = is_captured(&j, &graph);
    }
    printf("the first call is %s\n", is_first ? "taken" : "left");
    for (; calls < 300 && taken < 80; calls++) {
        const bool is_taken = once(&j, &wrong);

        taken += is_taken;
        if (!is_taken && calls > 30)
            nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    printf("%d calls, %s taken, %d wrong\n", calls, taken == 80 ? "80" : taken > 0 ? "some" : "none", wrong);
    return wrong;
}

static int run_contexts(bool is_patient)
{
    int wrong = run_again(is_patient);

    use_device(1);
    wrong += run_again(is_patient);
    if (cu.primary_reset(0) != 0)
        die("no reset");
    use_device(0);
    return wrong + run_again(is_patient);
}

#ifdef OPENS
/* Two libraries at once, or one twice: each call reaches the library whose function the program asked for. */
static int run_two(const char *path)
{
    int (*sgemm)(void *h, GEMM(int), const void *b, int ldb, const void *beta, void *c, int ldc);
    int (*create)(void **handle), (*counted)(void), wrong = 0, before, before_second;
    void *second = dlopen(path, RTLD_NOW | RTLD_LOCAL), *handle;
    bool is_same;
    job j = {0};

    if (!second)
        die(dlerror());
    find(second, "cublasCreate_v2", &create);
    find(second, "cublasSgemm_v2", &sgemm);
    find(second, "fake_cublas_count", &counted);
    is_same = counted == lib.fake_cublas_count;
    open_handles(&j);
    make_usual(&j, usual(), 1, 0);
    before = count();
    before_second = counted();
    (void)once(&j, &wrong);
    expect(count() == before + 1 && counted() == before_second + is_same, "a call of the first", &wrong);
    expect(create(&handle) == 0 &&
               sgemm(handle, 0, 0, 24, 16, 32, j.host[OF_ALPHA], (void *)j.device[OF_A], 24, (void *)j.device[OF_B], 32,
                     j.host[OF_BETA], (void *)j.device[OF_C], 24) == 0 &&
               count() == before + 1 + is_same && counted() == before_second + 1 + is_same && count_wrong(&j) == 0,
           "a call of the second", &wrong);
    return wrong;
}
/* A library of functions that open cuBLAS, which nothing has opened before, at their first call. */
static int run_stub(const char *path)
{
    int (*sgemm)(void *h, GEMM(int), const void *b, int ldb, const void *beta, void *c, int ldc), wrong = 0;
    int (*create)(void **handle), (*set_stream)(void *handle, void *stream);
    void *stub = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    job j = {0};

    if (!stub)
        die(dlerror());
    find(stub, "stub_cublasSetStream_v2", &set_stream);
    find(stub, "stub_cublasCreate_v2", &create);
    find(stub, "stub_cublasSgemm_v2", &sgemm);
    expect(set_stream(NULL, NULL) == 1, "the first call opens the library, which refuses it", &wrong);
    open_libraries("libcublas.so.", "libcublasLt.so."); /* to count */
    make_usual(&j, usual(), 1, 0);
    expect(create(&j.handle) == 0 && cu.stream_create(&j.stream, 1) == 0 && set_stream(j.handle, j.stream) == 0, "a handle",
           &wrong);
    for (int i = 0; i < 8; i++)
        expect(to_device(j.device[OF_C], j.host[OF_C], bytes_of(&j, OF_C)) == 0 &&
                   sgemm(j.handle, 0, 0, 24, 16, 32, j.host[OF_ALPHA], (void *)j.device[OF_A], 24, (void *)j.device[OF_B], 32,
                         j.host[OF_BETA], (void *)j.device[OF_C], 24) == 0 &&
                   count_wrong(&j) == 0,
               "a product through the stub", &wrong);
    return wrong;
}
#endif

int main(int argc, char **argv)
{
    const char *const what = argc > 1 ? argv[1] : "";
    int wrong = 0;

    compute_on_host();
#ifdef OPENS
    if (strcmp(what, "plugin") == 0 && argc > 2) {
        void *plugin = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
        int (*run)(int argc, char **argv);

        if (!plugin)
            die(dlerror());
        find(plugin, "run_plugin", &run);
        return run(argc - 2, argv + 2);
    }
    if (strcmp(what, "stub") == 0 && argc > 2) {
        open_driver();
        return run_stub(argv[2]) != 0;
    }
    if (strcmp(what, "idle") == 0 && argc > 2)
        return dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) == NULL;
#endif
    open_libraries("libcublas.so.", "libcublasLt.so.");
    if (strcmp(what, "fork") == 0)
        return run_fork() != 0;
    if (strcmp(what, "exit") == 0 && argc > 2)
        return run_exit(atoi(argv[2])) != 0;
    open_driver();
    seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    if (strcmp(what, "random") == 0 && argc > 3)
        wrong =
            lib.fake_cublas_count ? run_random(atoi(argv[2]), argc > 4) : run_real(atoi(argv[2]), argc > 4 ? atoi(argv[4]) : 0);
    else if (strcmp(what, "edges") == 0)
        wrong = run_edges();
    else if (strcmp(what, "zeros") == 0)
        wrong = run_zeros();
    else if (strcmp(what, "share") == 0)
        wrong = run_share();
    else if (strcmp(what, "refused") == 0)
        wrong = run_refused();
    else if (strcmp(what, "often") == 0)
        wrong = run_often();
    else if (strcmp(what, "threads") == 0)
        wrong = run_threads();
    else if (strcmp(what, "capture") == 0)
        wrong = run_capture();
    else if (strcmp(what, "expected") == 0)
        wrong = run_expected();
    else if (strcmp(what, "workspace") == 0)
        wrong = run_workspace();
    else if (strcmp(what, "both") == 0)
        wrong = run_both();
    else if (strcmp(what, "graphs") == 0)
        wrong = run_graphs();
    else if (strcmp(what, "again") == 0)
        wrong = run_again(argc > 2);
    else if (strcmp(what, "contexts") == 0)
        wrong = run_contexts(argc > 2);
#ifdef OPENS
    else if (strcmp(what, "two") == 0 && argc > 2)
        wrong = run_two(argv[2]);
#else
    else if (strcmp(what, "symbols") == 0)
        expect(fake_cublas_next() == NULL, "RTLD_NEXT means the caller's next", &wrong);
#endif
    else
        die("no such task");
    return wrong != 0;
}
