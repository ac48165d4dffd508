/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: only; run: blas/inside random 6 1 wait; env: TILEJIT_BLAS=with:always; labels: threads */
/* tier: change; sanitizers: only; run: blas/inside_often often; env: TILEJIT_BLAS=with; labels: threads */
/* tier: change; sanitizers: only; run: blas/inside_threads threads; env: TILEJIT_BLAS=with; labels: threads */
/* tier: change; sanitizers: only; run: blas/inside_edges edges; env: TILEJIT_BLAS=with:always */
/* tier: change; sanitizers: only; run: blas/inside_workspace workspace; env: TILEJIT_BLAS=with:always */
/*
 * program: a program that multiplies by cuBLAS, checks each product, and knows nothing of TileJIT. Operands are small integers,
 * so that all products but those of gelu are exact.
 *
 *     program random COUNT SEED [wait]   COUNT products of all kinds, each 4 times; wait: until the library is no longer asked;
 *                                        of NVIDIA's library, which does not say that: the seconds to wait once
 *     program edges                      calls that are refused, do nothing, or are unusual
 *     program often                      one product until it is first taken, and 40 times more
 *     program again                      is the first call taken, a second after the handle was made? Then calls until 80 were taken,
 *                                        or 300 were made
 *     program idle LIBRARY               a library is opened, and nothing is called
 *     program exit MS                    a child that ends MS milliseconds after it asked for kernels, and how long its end takes
 *     program threads | fork | capture | expected | workspace | symbols | two LIBRARY | stub LIBRARY
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

#include "number.h"

enum { R_32F = 0, R_64F = 1, R_16F = 2, R_8I = 3, R_32I = 10, R_16BF = 14, R_8F_E4M3 = 28 };
enum { COMPUTE_16F = 64, COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32I = 72 };
enum { POOL_BYTES = 1 << 22, MOST = 40 };

/* clang-format off */
#define GEMM(T) int op_a, int op_b, T m, T n, T k, const void *alpha, const void *a, T lda
#define FUNCTIONS(X)                                                                                                        \
    X(cublasCreate_v2, (void **handle))                                                                                     \
    X(cublasDestroy_v2, (void *handle))                                                                                     \
    X(cublasSetStream_v2, (void *handle, void *stream))                                                                     \
    X(cublasSetWorkspace_v2, (void *handle, void *workspace, size_t bytes))                                                 \
    X(cublasSetMathMode, (void *handle, int mode))                                                                          \
    X(cublasSetPointerMode_v2, (void *handle, int mode))                                                                    \
    BLAS(X, , int) BLAS(X, _64, int64_t)                                                                                    \
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
#define COUNTS(X)                                                                                                           \
    X(fake_cublas_count, (void))                                                                                            \
    X(fake_cublaslt_count, (void))
#define OF(X, L, s, T)                                                                                                      \
    X(cublas##L##gemmStridedBatched##s, (void *h, GEMM(T), long long stride_a, const void *b, T ldb, long long stride_b,    \
       const void *beta, void *c, T ldc, long long stride_c, T batch))                                                      \
    X(cublas##L##gemmBatched##s, (void *h, GEMM(T), const void *b, T ldb, const void *beta, void *c, T ldc, T batch))
#define BLAS(X, s, T)                                                                                                       \
    OF(X, S, s, T) OF(X, D, s, T) OF(X, H, s, T)                                                                            \
    X(cublasSgemm_v2##s, (void *h, GEMM(T), const void *b, T ldb, const void *beta, void *c, T ldc))                        \
    X(cublasDgemm_v2##s, (void *h, GEMM(T), const void *b, T ldb, const void *beta, void *c, T ldc))                        \
    X(cublasHgemm##s, (void *h, GEMM(T), const void *b, T ldb, const void *beta, void *c, T ldc))                           \
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
    COUNTS(MEMBER) /* NULL: the library is NVIDIA's */
#undef MEMBER
} lib;

static struct {
    int (*init)(unsigned), (*device_get)(int *, int), (*primary_retain)(void **, int), (*set_current)(void *);
    int (*mem_alloc)(uint64_t *, size_t), (*to_host)(void *, uint64_t, size_t), (*to_device)(uint64_t, const void *, size_t);
    int (*stream_create)(void **, unsigned), (*stream_wait)(void *), (*begin_capture)(void *, int);
    int (*end_capture)(void *, void **), (*instantiate)(void **, void *, unsigned long long), (*graph_launch)(void *, void *);
} cu;
/* clang-format on */

#ifndef OPENS
#define DECLARE(name, parameters) extern int name parameters;
FUNCTIONS(DECLARE)
COUNTS(DECLARE)
extern void *fake_cublas_next(void);
#endif

static void *context;
static _Thread_local unsigned long long seed = 1;

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
static void open_libraries(const char *blas, const char *lt)
{
    void *handle[2] = {dlopen(blas, RTLD_NOW | RTLD_LOCAL), dlopen(lt, RTLD_NOW | RTLD_LOCAL)};

    if (!handle[0] || !handle[1])
        die(dlerror());
#define FIND(name, parameters) find(handle[strncmp(#name, "cublasLt", 8) == 0], #name, &lib.name);
    FUNCTIONS(FIND)
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
    COUNTS(FIND)
#undef FIND
}
#endif

static void open_driver(void)
{
    const char *emulator = getenv("TILEJIT_EMULATOR");
    void *driver = dlopen(emulator ? emulator : "libcuda.so.1", RTLD_NOW);
    int device;

    if (!driver)
        die("no driver");
    find(driver, "cuInit", &cu.init);
    find(driver, "cuDeviceGet", &cu.device_get);
    find(driver, "cuDevicePrimaryCtxRetain", &cu.primary_retain);
    find(driver, "cuCtxSetCurrent", &cu.set_current);
    find(driver, "cuMemAlloc_v2", &cu.mem_alloc);
    find(driver, "cuMemcpyDtoH_v2", &cu.to_host);
    find(driver, "cuMemcpyHtoD_v2", &cu.to_device);
    find(driver, "cuStreamCreate", &cu.stream_create);
    find(driver, "cuStreamSynchronize", &cu.stream_wait);
    find(driver, "cuStreamBeginCapture_v2", &cu.begin_capture);
    find(driver, "cuStreamEndCapture", &cu.end_capture);
    find(driver, "cuGraphInstantiateWithFlags", &cu.instantiate);
    find(driver, "cuGraphLaunch", &cu.graph_launch);
    if (cu.init(0) != 0 || cu.device_get(&device, 0) != 0 || cu.primary_retain(&context, device) != 0 ||
        cu.set_current(context) != 0)
        die("no device");
}

static int drawn(int from, int to)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return from + (int)((seed >> 33) % (unsigned long long)(to - from + 1));
}

/* ---- a product ------------------------------------------------------------------------------------------------------- */

typedef enum kind { PLAIN, STRIDED, BATCHED, EX, EX_STRIDED, EX_BATCHED, SEX, LT, KINDS } kind;

typedef struct product {
    kind kind;
    bool is_64, has_bias, has_scales, is_apart;                     /* is_apart: D is not C */
    int op_a, op_b, type_a, type_c, compute, scalar_type, function; /* function: 0, relu 2, gelu 32 */
    int64_t m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c, batch;
    double alpha, beta;
} product;

/* A matrix for each product of the batch: its values on the host, and where they are on the device. */
typedef struct buffer {
    char *host;
    uint64_t device, pointers;
    size_t elements, bytes;
    int type;
} buffer;

typedef struct job {
    product p;
    buffer a, b, c, d, bias; /* d: c itself, unless they are apart */
    uint64_t scales;
    char alpha[8], beta[8];
    void *handle, *lt, *stream;
} job;

static tj_type type_of(int id)
{
    return id == R_64F       ? TJ_F64
           : id == R_16F     ? TJ_F16
           : id == R_8I      ? TJ_S8
           : id == R_32I     ? TJ_S32
           : id == R_16BF    ? TJ_BF16
           : id == R_8F_E4M3 ? TJ_E4M3
                             : TJ_F32;
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
    static _Atomic(void *) kept[8192];
    static atomic_size_t count;
    const size_t at = atomic_fetch_add(&count, 1);

    if (!memory || at >= sizeof kept / sizeof kept[0])
        die("out of memory");
    atomic_store(&kept[at], memory);
    return memory;
}

static void make_buffer(buffer *to, int type, size_t elements, int64_t stride, int64_t batch)
{
    const size_t size = tj_type_bytes(type_of(type));
    uint64_t *addresses = calloc((size_t)batch, sizeof *addresses);

    *to = (buffer){
        keep(calloc(elements, size)), allocate(elements * size), allocate(8 * (size_t)batch), elements, elements * size, type};
    for (size_t i = 0; i < elements; i++)
        tj_write_number(type_of(type), to->host, (int64_t)i, drawn(-2, 2));
    for (int64_t i = 0; i < batch; i++)
        addresses[i] = to->device + (uint64_t)(i * stride) * size;
    if (cu.to_device(to->device, to->host, to->bytes) != 0 || cu.to_device(to->pointers, addresses, 8 * (size_t)batch) != 0)
        die("cannot copy");
    free(addresses);
}

static product draw(void)
{
    static const int of_ex[][4] = {
        {R_32F, R_32F, COMPUTE_32F, R_32F}, {R_64F, R_64F, COMPUTE_64F, R_64F},   {R_16F, R_16F, COMPUTE_32F, R_32F},
        {R_16F, R_32F, COMPUTE_32F, R_32F}, {R_16BF, R_16BF, COMPUTE_32F, R_32F}, {R_16BF, R_32F, COMPUTE_32F, R_32F},
        {R_8I, R_32I, COMPUTE_32I, R_32I},  {R_16F, R_16F, COMPUTE_16F, R_16F},   {R_8F_E4M3, R_16BF, COMPUTE_32F, R_32F}};
    static const int of_letter[][4] = {
        {R_32F, R_32F, COMPUTE_32F, R_32F}, {R_64F, R_64F, COMPUTE_64F, R_64F}, {R_16F, R_16F, COMPUTE_16F, R_16F}};
    product p = {.kind = (kind)drawn(0, KINDS - 1), .is_64 = drawn(0, 1), .op_a = drawn(0, 1), .op_b = drawn(0, 1)};
    const int *types = p.kind < EX     ? of_letter[drawn(0, 2)]
                       : p.kind == SEX ? of_ex[(const int[]){0, 3, 5}[drawn(0, 2)]]
                                       : of_ex[p.kind != LT ? drawn(0, 7) : (const int[]){0, 1, 2, 3, 4, 5, 6, 8}[drawn(0, 7)]];
    const bool is_batch = p.kind == STRIDED || p.kind == BATCHED || p.kind == EX_STRIDED || p.kind == EX_BATCHED;

    p.type_a = types[0], p.type_c = types[1], p.compute = types[2], p.scalar_type = types[3];
    p.m = drawn(1, MOST), p.n = drawn(1, MOST), p.k = drawn(1, MOST);
    p.lda = (p.op_a ? p.k : p.m) + drawn(0, 1) * drawn(0, 9);
    p.ldb = (p.op_b ? p.n : p.k) + drawn(0, 1) * drawn(0, 9);
    p.ldc = p.m + drawn(0, 1) * drawn(0, 9);
    p.batch = is_batch || (p.kind == LT && drawn(0, 3) == 0) ? drawn(1, 3) : 1;
    p.stride_a = p.lda * MOST + drawn(0, 9);
    p.stride_b = drawn(0, 2) == 0 && p.kind != BATCHED && p.kind != EX_BATCHED ? 0 : p.ldb * MOST + drawn(0, 9);
    p.stride_c = p.ldc * MOST + drawn(0, 9);
    if (p.kind == BATCHED || p.kind == EX_BATCHED) /* NVIDIA's library asks for addresses that are multiples of 16 */
        p.stride_a = (p.stride_a + 15) / 16 * 16, p.stride_b = (p.stride_b + 15) / 16 * 16,
        p.stride_c = (p.stride_c + 15) / 16 * 16;
    p.alpha = (const double[]){1, 1, 2, -1}[drawn(0, 3)];
    p.beta = (const double[]){0, 0, 1, 3}[drawn(0, 3)];
    p.is_apart = p.kind == LT && drawn(0, 1);
    p.has_scales = p.type_a == R_8F_E4M3;
    if (p.has_scales) { /* the only way of NVIDIA's library */
        p.op_a = 1, p.op_b = 0;
        p.m = 16 * drawn(1, 2), p.n = 16 * drawn(1, 2), p.k = 16 * drawn(1, 2);
        p.lda = p.ldb = 32, p.ldc = 32, p.stride_a = p.stride_b = p.stride_c = 32 * MOST;
    }
    if (p.kind == LT && p.type_a != R_8I) {
        p.has_bias = drawn(0, 1);
        p.function = (const int[]){0, 2, 32}[drawn(0, 2)];
    }
    return p;
}

static void make_job(job *j, const product *p)
{
    j->p = *p;
    make_buffer(&j->a, p->type_a, (size_t)(p->stride_a * p->batch + p->lda * MOST), p->stride_a, p->batch);
    make_buffer(&j->b, p->type_a, (size_t)(p->stride_b * p->batch + p->ldb * MOST), p->stride_b, p->batch);
    make_buffer(&j->c, p->type_c, (size_t)(p->stride_c * p->batch + p->ldc * MOST), p->stride_c, p->batch);
    j->d = j->c;
    if (p->is_apart)
        make_buffer(&j->d, p->type_c, (size_t)(p->stride_c * p->batch + p->ldc * MOST), p->stride_c, p->batch);
    make_buffer(&j->bias, p->type_c, MOST, 0, 1);
    j->scales = allocate(32);
    if (cu.to_device(j->scales, (const float[]){2}, 4) != 0 || cu.to_device(j->scales + 16, (const float[]){4}, 4) != 0)
        die("cannot copy");
    tj_write_number(type_of(p->scalar_type), j->alpha, 0, p->alpha);
    tj_write_number(type_of(p->scalar_type), j->beta, 0, p->beta);
}

static int call_lt(job *j)
{
    const product *p = &j->p;
    const int64_t rows[] = {p->op_a ? p->k : p->m, p->op_b ? p->n : p->k, p->m},
                  cols[] = {p->op_a ? p->m : p->k, p->op_b ? p->k : p->n, p->n};
    const int64_t ld[] = {p->lda, p->ldb, p->ldc}, stride[] = {p->stride_a, p->stride_b, p->stride_c};
    const int type[] = {p->type_a, p->type_a, p->type_c}, epilogue = (p->function   ? p->function
                                                                      : p->has_bias ? 0
                                                                                    : 1) |
                                                                     (p->has_bias ? 4 : 0);
    const int32_t batch = (int32_t)p->batch;
    void *desc, *layout[3];
    int status;

    lib.cublasLtMatmulDescCreate(&desc, p->compute, p->scalar_type);
    lib.cublasLtMatmulDescSetAttribute(desc, 3, &p->op_a, 4);
    lib.cublasLtMatmulDescSetAttribute(desc, 4, &p->op_b, 4);
    lib.cublasLtMatmulDescSetAttribute(desc, 7, &epilogue, 4);
    if (p->has_bias)
        lib.cublasLtMatmulDescSetAttribute(desc, 8, &j->bias.device, 8);
    for (int i = 0; p->has_scales && i < 2; i++)
        lib.cublasLtMatmulDescSetAttribute(desc, 17 + i, &(const uint64_t){j->scales + 16 * (uint64_t)i}, 8);
    for (int i = 0; i < 3; i++) {
        lib.cublasLtMatrixLayoutCreate(&layout[i], type[i], (uint64_t)rows[i], (uint64_t)cols[i], ld[i]);
        lib.cublasLtMatrixLayoutSetAttribute(layout[i], 5, &batch, 4);
        lib.cublasLtMatrixLayoutSetAttribute(layout[i], 6, &stride[i], 8);
    }
    status = lib.cublasLtMatmul(j->lt, desc, j->alpha, (void *)j->a.device, layout[0], (void *)j->b.device, layout[1], j->beta,
                                (void *)j->c.device, layout[2], (void *)j->d.device, layout[2], NULL, NULL, 0, j->stream);
    for (int i = 0; i < 3; i++)
        lib.cublasLtMatrixLayoutDestroy(layout[i]);
    lib.cublasLtMatmulDescDestroy(desc);
    return status;
}

#define SIZES(T) p->op_a, p->op_b, (T)p->m, (T)p->n, (T)p->k, j->alpha
#define A(x) (const void *)j->a.x
#define B(x) (const void *)j->b.x
#define C(x) (void *)j->c.x
#define CALL_OF(L, v, s, T)                                                                                                  \
    (p->kind == PLAIN                                                                                                        \
         ? lib.cublas##L##gemm##v##s(h, SIZES(T), A(device), (T)p->lda, B(device), (T)p->ldb, j->beta, C(device), (T)p->ldc) \
     : p->kind == STRIDED                                                                                                    \
         ? lib.cublas##L##gemmStridedBatched##s(h, SIZES(T), A(device), (T)p->lda, p->stride_a, B(device), (T)p->ldb,        \
                                                p->stride_b, j->beta, C(device), (T)p->ldc, p->stride_c, (T)p->batch)        \
         : lib.cublas##L##gemmBatched##s(h, SIZES(T), A(pointers), (T)p->lda, B(pointers), (T)p->ldb, j->beta, C(pointers),  \
                                         (T)p->ldc, (T)p->batch))
#define CALL(s, T)                                                                                                            \
    (p->kind == EX    ? lib.cublasGemmEx##s(h, SIZES(T), A(device), p->type_a, (T)p->lda, B(device), p->type_a, (T)p->ldb,    \
                                            j->beta, C(device), p->type_c, (T)p->ldc, p->compute, -1)                         \
     : p->kind == SEX ? lib.cublasSgemmEx##s(h, SIZES(T), A(device), p->type_a, (T)p->lda, B(device), p->type_a, (T)p->ldb,   \
                                             j->beta, C(device), p->type_c, (T)p->ldc)                                        \
     : p->kind == EX_STRIDED                                                                                                  \
         ? lib.cublasGemmStridedBatchedEx##s(h, SIZES(T), A(device), p->type_a, (T)p->lda, p->stride_a, B(device), p->type_a, \
                                             (T)p->ldb, p->stride_b, j->beta, C(device), p->type_c, (T)p->ldc, p->stride_c,   \
                                             (T)p->batch, p->compute, -1)                                                     \
     : p->kind == EX_BATCHED                                                                                                  \
         ? lib.cublasGemmBatchedEx##s(h, SIZES(T), A(pointers), p->type_a, (T)p->lda, B(pointers), p->type_a, (T)p->ldb,      \
                                      j->beta, C(pointers), p->type_c, (T)p->ldc, (T)p->batch, p->compute, -1)                \
     : p->type_a == R_32F ? CALL_OF(S, _v2, s, T)                                                                             \
     : p->type_a == R_64F ? CALL_OF(D, _v2, s, T)                                                                             \
                          : CALL_OF(H, , s, T))

static int call(job *j)
{
    const product *p = &j->p;
    void *const h = j->handle;

    return p->kind == LT ? call_lt(j) : p->is_64 ? CALL(_64, int64_t) : CALL(, int);
}

/* C after the call: the elements outside stay. Returns the number of wrong elements. */
static int count_wrong(const job *j)
{
    const product *p = &j->p;
    const tj_type ta = type_of(p->type_a), tc = type_of(p->type_c);
    char *got = malloc(j->c.bytes), *expected = malloc(j->c.bytes);
    int wrong = 0;

    memcpy(expected, j->d.host, j->d.bytes);
    for (int64_t i = 0; i < p->batch; i++)
        for (int64_t col = 0; col < p->n; col++)
            for (int64_t row = 0; row < p->m; row++) {
                const int64_t at = i * p->stride_c + col * p->ldc + row;
                double sum = 0, value;

                for (int64_t k = 0; k < p->k; k++)
                    sum += tj_read_number(ta, j->a.host, i * p->stride_a + (p->op_a ? row * p->lda + k : k * p->lda + row)) *
                           tj_read_number(ta, j->b.host, i * p->stride_b + (p->op_b ? k * p->ldb + col : col * p->ldb + k));
                value = p->alpha * sum * (p->has_scales ? 8 : 1) + p->beta * tj_read_number(tc, j->c.host, at);
                value += p->has_bias ? tj_read_number(tc, j->bias.host, row) : 0;
                if (p->function == 2)
                    value = value > 0 ? value : 0;
                if (p->function == 32)
                    value = value / 2 * (1 + tanh(sqrt(2 / M_PI) * (value + 0.044715 * value * value * value)));
                tj_write_number(tc, expected, at, value);
            }
    if (cu.stream_wait(j->stream) != 0 || cu.to_host(got, j->d.device, j->d.bytes) != 0)
        die("cannot copy back");
    for (size_t i = 0; i < j->c.elements; i++) {
        const double x = tj_read_number(tc, got, (int64_t)i), y = tj_read_number(tc, expected, (int64_t)i);

        wrong += p->function == 32 ? !(fabs(x - y) <= 0.01 + 0.01 * fabs(y)) : !(x == y);
    }
    free(got);
    free(expected);
    return wrong;
}

static int count(void)
{
    return lib.fake_cublas_count ? lib.fake_cublas_count() + lib.fake_cublaslt_count() : 0;
}

static void tell(const product *p)
{
    printf("kind %d%s type %d to %d op %d%d m%d n%d k%d ld %d %d %d batch %d alpha %g beta %g%s function %d", (int)p->kind,
           p->is_64 ? " 64" : "", p->type_a, p->type_c, p->op_a, p->op_b, (int)p->m, (int)p->n, (int)p->k, (int)p->lda,
           (int)p->ldb, (int)p->ldc, (int)p->batch, p->alpha, p->beta, p->has_bias ? " bias" : "", p->function);
}

/* One call with a fresh C, checked; true: the library was not asked. */
static bool once(job *j, int *wrong)
{
    const int before = count();
    int status, bad;

    if (cu.to_device(j->d.device, j->d.host, j->d.bytes) != 0)
        die("cannot copy");
    status = call(j);
    if (status == 15 && !lib.fake_cublas_count) /* NVIDIA's does not do it */
        return false;
    bad = status == 0 ? count_wrong(j) : -1;
    if (bad != 0) {
        printf("WRONG: status %d, %d elements: ", status, bad);
        tell(&j->p);
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

static int run_random(int number, bool must_wait)
{
    int wrong = 0, taken = 0;
    job j = {0};

    open_handles(&j);
    for (int i = 0; i < number; i++) {
        product p = draw();
        bool is_taken = false;

        make_job(&j, &p);
        for (int n = 0; n < 4 && !must_wait; n++)
            is_taken = once(&j, &wrong);
        if (must_wait && !(is_taken = await(&j, &wrong))) {
            printf("never taken: ");
            tell(&p);
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
    int wrong = 0;

    for (int i = 0; i < number; i++) {
        const product p = draw();

        if (i == 0)
            open_handles(&all[0]);
        all[i] = all[0];
        make_job(&all[i], &p);
        for (int n = 0; n < 4; n++)
            (void)once(&all[i], &wrong);
    }
    sleep((unsigned)pause);
    for (int n = 0; n < 4; n++)
        for (int i = 0; i < number; i++)
            (void)once(&all[i], &wrong);
    free(all);
    printf("%d products, %d wrong\n", number, wrong);
    return wrong;
}

static product usual(void)
{
    return (product){.kind = PLAIN,
                     .m = 24,
                     .n = 16,
                     .k = 32,
                     .lda = 24,
                     .ldb = 32,
                     .ldc = 24,
                     .batch = 1,
                     .alpha = 1,
                     .stride_a = 24 * MOST,
                     .stride_b = 32 * MOST,
                     .stride_c = 24 * MOST,
                     .compute = COMPUTE_32F};
}

static void expect(bool holds, const char *what, int *wrong)
{
    printf("%s %s\n", holds ? "ok" : "WRONG", what);
    *wrong += !holds;
}

static int run_edges(void)
{
    int wrong = 0, before;
    product p = usual();
    uint64_t scalar;
    job j = {0};
    void *other;

    open_handles(&j);
    for (int i = 0; i < 8; i++) { /* more than a product needs to be taken */
        p = usual();
        p.k = 0, p.beta = 3;
        make_job(&j, &p);
        (void)once(&j, &wrong);
        p = usual();
        p.alpha = 0, p.beta = 2;
        make_job(&j, &p);
        (void)once(&j, &wrong);
        p = usual();
        p.is_64 = true, p.n = 1, p.ldb = p.k,
        p.ldc = ((int64_t)1 << 31) + 8; /* one column: the leading dimension is not used */
        p.stride_c = 24 * MOST;
        j.p = p;
        make_buffer(&j.a, R_32F, 4096, 0, 1);
        make_buffer(&j.b, R_32F, 4096, 0, 1);
        make_buffer(&j.c, R_32F, 4096, 0, 1);
        j.d = j.c;
        tj_write_number(TJ_F32, j.alpha, 0, 1);
        tj_write_number(TJ_F32, j.beta, 0, 0);
        (void)once(&j, &wrong);
    }
    expect(wrong == 0, "k = 0, alpha = 0 and a leading dimension beyond 2^31", &wrong);
    p = usual();
    make_job(&j, &p);
    before = count();
    for (int i = 0; i < 8; i++) {
        lib.cublasSetPointerMode_v2(j.handle, 1);
        scalar = allocate(16);
        (void)cu.to_device(scalar, j.alpha, 4);
        (void)cu.to_device(scalar + 4, j.beta, 4);
        (void)cu.to_device(j.c.device, j.c.host, j.c.bytes);
        expect(lib.cublasSgemm_v2(j.handle, 0, 0, 24, 16, 32, (void *)scalar, (void *)j.a.device, 24, (void *)j.b.device, 32,
                                  (void *)(scalar + 4), (void *)j.c.device, 24) == 0 &&
                   count_wrong(&j) == 0,
               "scalars on the device", &wrong);
        lib.cublasSetPointerMode_v2(j.handle, 0);
    }
    expect(count() == before + 8, "they are left to the library", &wrong);
    for (int i = 0; i < 8; i++)
        expect(lib.cublasSgemm_v2(j.handle, 0, 0, 24, 16, 32, j.alpha, NULL, 24, NULL, 32, j.beta, (void *)j.c.device, 24) == 7,
               "matrices without an address are refused by the library", &wrong);
    if (lib.cublasCreate_v2(&other) != 0)
        die("no second handle");
    lib.cublasDestroy_v2(other);
    expect(lib.cublasSgemm_v2(other, 0, 0, 24, 16, 32, j.alpha, (void *)j.a.device, 24, (void *)j.b.device, 32, j.beta,
                              (void *)j.c.device, 24) == 1,
           "a destroyed handle is refused by the library", &wrong);
    return wrong;
}

static int run_often(void)
{
    product p = usual();
    int wrong = 0;
    job j = {0};

    open_handles(&j);
    make_job(&j, &p);
    expect(await(&j, &wrong), "the product is taken", &wrong);
    for (int i = 0; i < 40; i++)
        (void)once(&j, &wrong);
    return wrong;
}

/* Threads of even numbers share a handle. */
static job shared;

static void *run_thread(void *payload)
{
    static atomic_int number;
    int *wrong = payload;
    int mine = atomic_fetch_add(&number, 1);
    product p = usual();
    job j = shared;

    seed = (unsigned long long)mine + 1;
    cu.set_current(context);
    if (mine % 2)
        open_handles(&j);
    make_job(&j, &p);
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
    pid_t child;

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
    product p = usual();
    job j = {0};

    open_handles(&j);
    make_job(&j, &p);
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
    (void)cu.to_device(j.c.device, j.c.host, j.c.bytes);
    expect(cu.instantiate(&executable, graph, 0) == 0 && cu.graph_launch(executable, j.stream) == 0 && count_wrong(&j) == 0,
           "the graph multiplies", &wrong);
    return wrong;
}

/* In a capture a product is recorded if its kernel is there, and else left to the library; the capture stays valid. */
static int run_capture(void)
{
    void *graph = NULL, *executable = NULL;
    int wrong = 0, before;
    product p = usual();
    job j = {0};

    open_handles(&j);
    make_job(&j, &p);
    before = count();
    for (int i = 0; i < 6; i++)
        expect(cu.begin_capture(j.stream, 0) == 0 && call(&j) == 0 && cu.end_capture(j.stream, &graph) == 0,
               "a capture before the kernel is there", &wrong);
    expect(count() == before + 6, "it is left to the library", &wrong);
    expect(await(&j, &wrong), "the product is taken", &wrong);
    before = count();
    expect(cu.begin_capture(j.stream, 0) == 0 && call(&j) == 0 && cu.end_capture(j.stream, &graph) == 0 && count() == before,
           "a capture of the kernel", &wrong);
    (void)cu.to_device(j.c.device, j.c.host, j.c.bytes);
    expect(cu.instantiate(&executable, graph, 0) == 0 && cu.graph_launch(executable, j.stream) == 0 && count_wrong(&j) == 0,
           "the graph multiplies", &wrong);
    return wrong;
}

static bool is_captured(job *j, void **graph)
{
    const int before = count();

    return cu.begin_capture(j->stream, 0) == 0 && call(j) == 0 && cu.end_capture(j->stream, graph) == 0 && count() == before;
}

/* A kernel that splits k needs a workspace: a capture takes that of the handle, and nobody else's. */
static int run_workspace(void)
{
    void *graph = NULL, *executable = NULL;
    product p = usual();
    int wrong = 0;
    job j = {0};

    p.m = p.n = 16, p.k = 2048, p.lda = p.ldc = 16, p.ldb = 2048;
    p.stride_a = p.stride_b = 16 * 2048;
    open_handles(&j);
    make_job(&j, &p);
    expect(await(&j, &wrong), "the product is taken", &wrong);
    expect(!is_captured(&j, &graph), "a capture without a workspace is left to the library", &wrong);
    expect(lib.cublasSetWorkspace_v2(j.handle, (void *)allocate(1 << 20), 1 << 20) == 0 && is_captured(&j, &graph),
           "one with a workspace is not", &wrong);
    (void)cu.to_device(j.c.device, j.c.host, j.c.bytes);
    expect(cu.instantiate(&executable, graph, 0) == 0 && cu.graph_launch(executable, j.stream) == 0 && count_wrong(&j) == 0,
           "the graph multiplies", &wrong);
    expect(lib.cublasSetStream_v2(j.handle, j.stream) == 0 && !is_captured(&j, &graph), "a new stream takes it away", &wrong);
    return wrong;
}

/* In the second run the kernel of the first comes while the program prepares itself. */
static int run_again(void)
{
    int wrong = 0, taken = 0, calls = 0;
    product p = usual();
    void *graph = NULL;
    job j = {0};

    open_handles(&j);
    make_job(&j, &p);
    sleep(1);
    printf("the first call is %s\n", is_captured(&j, &graph) ? "taken" : "left");
    for (; calls < 300 && taken < 80; calls++) {
        const bool is_taken = once(&j, &wrong);

        taken += is_taken;
        if (!is_taken && calls > 30)
            nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    printf("%d calls, %s taken, %d wrong\n", calls, taken == 80 ? "80" : taken > 0 ? "some" : "none", wrong);
    return wrong;
}

#ifdef OPENS
/* Two libraries at once: each call reaches the library whose function the program asked for. */
static int run_two(const char *path)
{
    int (*sgemm)(void *h, GEMM(int), const void *b, int ldb, const void *beta, void *c, int ldc);
    int (*create)(void **handle), (*counted)(void), wrong = 0, before, before_second;
    void *second = dlopen(path, RTLD_NOW | RTLD_LOCAL), *handle;
    product p = usual();
    job j = {0};

    if (!second)
        die(dlerror());
    find(second, "cublasCreate_v2", &create);
    find(second, "cublasSgemm_v2", &sgemm);
    find(second, "fake_cublas_count", &counted);
    open_handles(&j);
    make_job(&j, &p);
    before = count();
    before_second = counted();
    (void)once(&j, &wrong);
    expect(count() == before + 1 && counted() == before_second, "a call of the first", &wrong);
    expect(create(&handle) == 0 &&
               sgemm(handle, 0, 0, 24, 16, 32, j.alpha, (void *)j.a.device, 24, (void *)j.b.device, 32, j.beta,
                     (void *)j.c.device, 24) == 0 &&
               count() == before + 1 && counted() == before_second + 1 && count_wrong(&j) == 0,
           "a call of the second", &wrong);
    return wrong;
}
/* A library of functions that open cuBLAS, which nothing has opened before, at their first call. */
static int run_stub(const char *path)
{
    int (*sgemm)(void *h, GEMM(int), const void *b, int ldb, const void *beta, void *c, int ldc), wrong = 0;
    int (*create)(void **handle), (*set_stream)(void *handle, void *stream);
    void *stub = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    product p = usual();
    job j = {0};

    if (!stub)
        die(dlerror());
    find(stub, "stub_cublasSetStream_v2", &set_stream);
    find(stub, "stub_cublasCreate_v2", &create);
    find(stub, "stub_cublasSgemm_v2", &sgemm);
    expect(set_stream(NULL, NULL) == 1, "the first call opens the library, which refuses it", &wrong);
    open_libraries("libcublas.so.13", "libcublasLt.so.13"); /* to count */
    make_job(&j, &p);
    expect(create(&j.handle) == 0 && cu.stream_create(&j.stream, 1) == 0 && set_stream(j.handle, j.stream) == 0, "a handle",
           &wrong);
    for (int i = 0; i < 8; i++)
        expect(cu.to_device(j.c.device, j.c.host, j.c.bytes) == 0 &&
                   sgemm(j.handle, 0, 0, 24, 16, 32, j.alpha, (void *)j.a.device, 24, (void *)j.b.device, 32, j.beta,
                         (void *)j.c.device, 24) == 0 &&
                   count_wrong(&j) == 0,
               "a product through the stub", &wrong);
    return wrong;
}
#endif

int main(int argc, char **argv)
{
    const char *const what = argc > 1 ? argv[1] : "";
    int wrong = 0;

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
    open_libraries("libcublas.so.13", "libcublasLt.so.13");
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
    else if (strcmp(what, "again") == 0)
        wrong = run_again();
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
