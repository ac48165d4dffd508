/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cublas: a row-major product through a column-major library.
 *
 * A row-major matrix is its own transpose read column by column, so P = M . N, row-major, is the column-major product
 *
 *     P^T (l x j) = N^T (l x k) . M^T (k x j)
 *
 * with the same storage and no transposing: N is cuBLAS's A, M its B. Only an operand that is stored by columns already needs the flag
 * to transpose. A column-major P is computed without the swap, and the flags swap their meaning.
 */
#include "cublas.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/shape.h>

#include "error.h"

/* ---- facts of cuBLAS's documentation, only those used here ----------------------------------------------------------- */

enum { STATUS_INVALID_VALUE = 7, STATUS_NOT_SUPPORTED = 15 };              /* cublasStatus_t */
enum { OP_N = 0, OP_T = 1 };                                               /* cublasOperation_t */
enum { GEMM_DEFAULT = -1 };                                                /* cublasGemmAlgo_t */
enum { DEFAULT_MATH = 0, MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16 }; /* cublasMath_t */
enum { LAYOUT_BATCH_COUNT = 5, LAYOUT_BATCH_OFFSET = 6 };                  /* cublasLtMatrixLayoutAttribute_t */
/* cublasLtMatmulDescAttributes_t */
enum { DESC_TRANSA = 3, DESC_TRANSB = 4, DESC_EPILOGUE = 7, DESC_BIAS_POINTER = 8, DESC_BIAS_TYPE = 26 };
enum { EPILOGUE_GELU_BIAS = 36 };                                      /* cublasLtEpilogue_t */
enum { PREF_WORKSPACE_BYTES = 1, PREF_REDUCTION_SCHEME_MASK = 3 };     /* cublasLtMatmulPreferenceAttributes_t */
enum { REDUCTION_SCHEME_COMPUTE_TYPE = 2, REDUCTION_SCHEME_MASK = 7 }; /* cublasLtReductionScheme_t */

/* cudaDataType_t: CUDA_R_32F and so on */
enum {
    R_32F = 0,
    R_64F = 1,
    R_16F = 2,
    R_8I = 3,
    C_32F = 4,
    C_64F = 5,
    R_8U = 8,
    R_32I = 10,
    R_16BF = 14,
    R_8F_E4M3 = 28,
    R_8F_E5M2 = 29
};

static const int data_type[] = {
    [TJ_F32] = R_32F,      [TJ_F64] = R_64F,      [TJ_F16] = R_16F, [TJ_BF16] = R_16BF, [TJ_S8] = R_8I,   [TJ_U8] = R_8U,
    [TJ_E4M3] = R_8F_E4M3, [TJ_E5M2] = R_8F_E5M2, [TJ_S32] = R_32I, [TJ_C64] = C_32F,   [TJ_C128] = C_64F};

/* cublasComputeType_t: CUBLAS_COMPUTE_32F, _64F, _32F_FAST_TF32, _32I; compute types as accurate as f32 race against f32 */
static const int compute_type[] = {[TJ_COMPUTE_F32] = 68, [TJ_COMPUTE_F64] = 70,       [TJ_COMPUTE_TF32] = 77,
                                   [TJ_COMPUTE_S32] = 72, [TJ_COMPUTE_F32_SPLIT] = 68, [TJ_COMPUTE_F32_FP8] = 68};

/* cublasLtMatmulAlgo_t, cublasLtMatmulHeuristicResult_t */
typedef struct lt_algo {
    uint64_t data[8];
} lt_algo;

typedef struct lt_idea {
    lt_algo algo;
    size_t workspace_bytes;
    int status;
    float waves;
    int reserved[4];
} lt_idea;

_Static_assert(sizeof(lt_algo) == 64 && sizeof(lt_idea) == 96, "cuBLASLt's layout");

/* X(member, symbol, arguments) */
#define BLAS_FUNCTIONS(X)                                                                                                      \
    X(create, cublasCreate_v2, (void **handle))                                                                                \
    X(destroy, cublasDestroy_v2, (void *handle))                                                                               \
    X(get_version, cublasGetVersion_v2, (void *handle, int *version))                                                          \
    X(set_stream, cublasSetStream_v2, (void *handle, void *stream))                                                            \
    X(set_workspace, cublasSetWorkspace_v2, (void *handle, void *workspace, size_t bytes))                                     \
    X(set_math_mode, cublasSetMathMode, (void *handle, int mode))                                                              \
    X(sgemm, cublasSgemm_v2,                                                                                                   \
      (void *handle, int op_a, int op_b, int m, int n, int k, const float *alpha, const float *a, int lda, const float *b,     \
       int ldb, const float *beta, float *c, int ldc))                                                                         \
    X(sgemm_batched, cublasSgemmStridedBatched,                                                                                \
      (void *handle, int op_a, int op_b, int m, int n, int k, const float *alpha, const float *a, int lda, long long stride_a, \
       const float *b, int ldb, long long stride_b, const float *beta, float *c, int ldc, long long stride_c, int batch))      \
    X(gemm_ex, cublasGemmEx,                                                                                                   \
      (void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int type_a, int lda,           \
       const void *b, int type_b, int ldb, const void *beta, void *c, int type_c, int ldc, int compute, int algo))             \
    X(gemm_ex_batched, cublasGemmStridedBatchedEx,                                                                             \
      (void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int type_a, int lda,           \
       long long stride_a, const void *b, int type_b, int ldb, long long stride_b, const void *beta, void *c, int type_c,      \
       int ldc, long long stride_c, int batch, int compute, int algo))

#define LT_FUNCTIONS(X)                                                                                                        \
    X(lt_create, cublasLtCreate, (void **handle))                                                                              \
    X(lt_destroy, cublasLtDestroy, (void *handle))                                                                             \
    X(desc_create, cublasLtMatmulDescCreate, (void **desc, int compute, int scale_type))                                       \
    X(desc_set, cublasLtMatmulDescSetAttribute, (void *desc, int attribute, const void *value, size_t bytes))                  \
    X(desc_destroy, cublasLtMatmulDescDestroy, (void *desc))                                                                   \
    X(layout_create, cublasLtMatrixLayoutCreate, (void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld))          \
    X(layout_set, cublasLtMatrixLayoutSetAttribute, (void *layout, int attribute, const void *value, size_t bytes))            \
    X(layout_destroy, cublasLtMatrixLayoutDestroy, (void *layout))                                                             \
    X(preference_create, cublasLtMatmulPreferenceCreate, (void **preference))                                                  \
    X(preference_set, cublasLtMatmulPreferenceSetAttribute,                                                                    \
      (void *preference, int attribute, const void *value, size_t bytes))                                                      \
    X(preference_destroy, cublasLtMatmulPreferenceDestroy, (void *preference))                                                 \
    X(get_heuristic, cublasLtMatmulAlgoGetHeuristic,                                                                           \
      (void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, int wanted, lt_idea *idea, int *count)) \
    X(matmul, cublasLtMatmul,                                                                                                  \
      (void *handle, void *desc, const void *alpha, const void *a, void *layout_a, const void *b, void *layout_b,              \
       const void *beta, const void *c, void *layout_c, void *d, void *layout_d, const lt_algo *algo, void *workspace,         \
       size_t workspace_bytes, void *stream))

struct cublas {
#define MEMBER(member, symbol, arguments) int(*member) arguments;
    BLAS_FUNCTIONS(MEMBER)
    LT_FUNCTIONS(MEMBER)
#undef MEMBER
    void *handle, *lt_handle, *stream, *workspace;
    size_t workspace_bytes;
    char version[24];
};

/* One operand as cuBLAS describes it. rows and cols are those of the stored matrix, column-major. */
typedef struct operand {
    int op, type;
    int64_t rows, cols, ld, stride;
    void *layout;
} operand;

struct cublas_problem {
    const cublas *library;
    int m, n, k, batch, compute, is_f32, is_swapped; /* is_swapped: A is N, B is M */
    int is_narrow;                                   /* M and N have 8-bit elements */
    const void *one, *zero;                          /* alpha and beta, in the type of the scalars */
    operand a, b, c, added;                          /* added: cuBLASLt's C, not read with a beta of 0; c: its D */
    void *desc;
    lt_idea idea[CUBLAS_IDEAS];
    int ideas;
    char no_idea[192];
};

static int check(int result, const char *what, tj_error *err)
{
    if (result == 0)
        return 1;
    return tj_fail(err, result == STATUS_NOT_SUPPORTED ? TJ_ERR_UNSUPPORTED : TJ_ERR_DRIVER, "%s answers cublasStatus_t %d",
                   what, result) == TJ_OK;
}

/* Convert the status of a product. For 8-bit elements, cuBLAS reports an unsupported product as an invalid value. */
static int check_product(const cublas_problem *p, int result, const char *what, tj_error *err)
{
    const int is_done = check(result, what, err);

    if (!is_done && p->is_narrow && result == STATUS_INVALID_VALUE)
        err->status = TJ_ERR_UNSUPPORTED;
    return is_done;
}

/* ---- opening --------------------------------------------------------------------------------------------------------- */

/* libcublas makes the loader find libcublasLt by its name, so open that first. */
static int open_pair(const char *folder, int major, void **lt, void **blas)
{
    char path[512];
    const char *slash = *folder ? "/" : "";

    (void)snprintf(path, sizeof path, "%s%slibcublasLt.so.%d", folder, slash, major);
    *lt = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!*lt)
        return 0;
    (void)snprintf(path, sizeof path, "%s%slibcublas.so.%d", folder, slash, major);
    *blas = dlopen(path, RTLD_NOW);
    if (!*blas)
        dlclose(*lt);
    return *blas != NULL;
}

static int open_libraries(void **lt, void **blas, tj_error *err)
{
    const char *home = secure_getenv("CUDA_HOME");
    char in_home[300];
    const char *places[] = {"", "/usr/local/cuda/lib64", in_home};

    (void)snprintf(in_home, sizeof in_home, "%s/lib64", home ? home : "");
    for (size_t i = 0; i < (home && *home ? 3 : 2); i++)
        for (int major = 13; major >= 12; major--)
            if (open_pair(places[i], major, lt, blas))
                return 1;
    return tj_fail(err, TJ_ERR_NOT_FOUND,
                   "no libcublas.so.13 or .12, with its libcublasLt, on the loader's path, in /usr/local/cuda/lib64 or "
                   "$CUDA_HOME/lib64: set LD_LIBRARY_PATH to its folder") == TJ_OK;
}

static int fill_table(cublas *library, void *lt, void *blas, tj_error *err)
{
    void *home = blas, *symbol;

#define MEMBER(member, name, arguments)                                                                         \
    symbol = dlsym(home, #name);                                                                                \
    if (!symbol)                                                                                                \
        return tj_fail(err, TJ_ERR_UNSUPPORTED, "cuBLAS has no " #name ": use version 12.0 or newer") == TJ_OK; \
    memcpy(&library->member, &symbol, sizeof symbol);
    BLAS_FUNCTIONS(MEMBER)
    home = lt;
    LT_FUNCTIONS(MEMBER)
#undef MEMBER
    return 1;
}

cublas *cublas_open(struct CUstream_st *stream, void *workspace, size_t workspace_bytes, tj_error *err)
{
    cublas *library = calloc(1, sizeof *library);
    void *lt = NULL, *blas = NULL;
    int version = 0;

    if (!library) {
        (void)tj_fail_memory(err, "cuBLAS");
        return NULL;
    }
    library->stream = stream;
    library->workspace = workspace;
    library->workspace_bytes = workspace_bytes;
    /* Setting the stream resets the workspace, so set the workspace after it. */
    if (open_libraries(&lt, &blas, err) && fill_table(library, lt, blas, err) &&
        check(library->create(&library->handle), "cublasCreate", err) &&
        check(library->get_version(library->handle, &version), "cublasGetVersion", err) &&
        check(library->set_stream(library->handle, stream), "cublasSetStream", err) &&
        check(library->set_workspace(library->handle, workspace, workspace_bytes), "cublasSetWorkspace", err) &&
        check(library->set_math_mode(library->handle, DEFAULT_MATH | MATH_DISALLOW_REDUCED_PRECISION_REDUCTION),
              "cublasSetMathMode", err) &&
        check(library->lt_create(&library->lt_handle), "cublasLtCreate", err)) {
        (void)snprintf(library->version, sizeof library->version, "%d.%d.%d", version / 10000, version / 100 % 100,
                       version % 100);
        return library;
    }
    cublas_close(library);
    return NULL;
}

void cublas_close(cublas *library)
{
    if (!library)
        return;
    if (library->lt_handle)
        (void)library->lt_destroy(library->lt_handle);
    if (library->handle)
        (void)library->destroy(library->handle);
    free(library);
}

const char *cublas_version(const cublas *library)
{
    return library->version;
}

/* ---- a problem ------------------------------------------------------------------------------------------------------- */

/* The product reads rows x cols; column-major storage holds it so, row-major storage its transpose. */
static operand read_operand(const tj_matrix *matrix, int64_t rows, int64_t cols, int is_swapped)
{
    const int is_col = matrix->layout == TJ_COL_MAJOR;
    operand x = {
        .type = data_type[matrix->type], .ld = matrix->ld, .stride = matrix->stride == TJ_BROADCAST ? 0 : matrix->stride};

    x.op = is_col != is_swapped ? OP_N : OP_T;
    x.rows = is_col ? rows : cols;
    x.cols = is_col ? cols : rows;
    return x;
}

static int make_layout(const cublas_problem *p, operand *x, tj_error *err)
{
    const cublas *l = p->library;

    return check(l->layout_create(&x->layout, x->type, (uint64_t)x->rows, (uint64_t)x->cols, x->ld),
                 "cublasLtMatrixLayoutCreate", err) &&
           (p->batch == 1 ||
            (check(l->layout_set(x->layout, LAYOUT_BATCH_COUNT, &p->batch, sizeof p->batch), "setting the batch", err) &&
             check(l->layout_set(x->layout, LAYOUT_BATCH_OFFSET, &x->stride, sizeof x->stride), "setting the stride", err)));
}

/* Name the demands of cuBLASLt on a product of such elements, for users who wonder why it offers nothing. */
static const char *demand_on(const tj_problem *problem)
{
    switch (problem->m.type) {
    case TJ_E4M3:
    case TJ_E5M2:
        return "; it takes e4m3 and e5m2 (not both e5m2) where M is stored by rows, N by columns, and j, k and l are multiples "
               "of 16";
    case TJ_S8:
        return "; it takes s8, not with u8, where leading dimensions are multiples of 4 and P is s32 or s8";
    case TJ_U8:
        return "; it has no products of u8";
    default:
        return "";
    }
}

/*
 * Sums of splits of k stay in the type that products are summed in. With a narrower P that excludes two ways of reducing them:
 * in P itself, and in a workspace of P's type.
 */
static uint32_t reductions_for(const tj_problem *problem)
{
    const tj_type_facts *const p = tj_type_get_facts((tj_type)problem->p.type);
    const int32_t part = p->part ? p->part : problem->p.type;

    return tj_compute_get_facts((tj_compute)problem->compute)->sum == part ? REDUCTION_SCHEME_MASK
                                                                           : REDUCTION_SCHEME_COMPUTE_TYPE;
}

static int ask_heuristic(cublas_problem *p, const tj_problem *problem, tj_error *err)
{
    const cublas *l = p->library;
    const uint32_t reductions = reductions_for(problem);
    lt_idea idea[CUBLAS_IDEAS];
    void *preference = NULL;
    int count = 0, status;

    if (!check(l->preference_create(&preference), "cublasLtMatmulPreferenceCreate", err))
        return 0;
    status = l->preference_set(preference, PREF_WORKSPACE_BYTES, &l->workspace_bytes, sizeof l->workspace_bytes);
    if (status == 0)
        status = l->preference_set(preference, PREF_REDUCTION_SCHEME_MASK, &reductions, sizeof reductions);
    if (status == 0)
        status = l->get_heuristic(l->lt_handle, p->desc, p->a.layout, p->b.layout, p->added.layout, p->c.layout, preference,
                                  CUBLAS_IDEAS, idea, &count);
    (void)l->preference_destroy(preference);
    for (int i = 0; status == 0 && i < count; i++)
        if (idea[i].status == 0)
            p->idea[p->ideas++] = idea[i];
    (void)snprintf(p->no_idea, sizeof p->no_idea, "the heuristic offers nothing (cublasStatus_t %d)%s", status,
                   demand_on(problem));
    return 1;
}

static int is_complex(const tj_problem *problem)
{
    return tj_type_get_facts((tj_type)problem->m.type)->part != 0;
}

/* alpha and beta have the type of the sum, or f32 if integers are summed and P is not the sum itself. */
static int settle_scalars(cublas_problem *p, const tj_problem *problem)
{
    /* 0 and 1, each with an imaginary part that real products do not read. */
    static const float f32[][2] = {{0, 0}, {1, 0}};
    static const double f64[][2] = {{0, 0}, {1, 0}};
    static const int32_t s32[] = {0, 1};
    const int is_s32 = problem->compute == TJ_COMPUTE_S32 && problem->p.type == TJ_S32;
    const int is_f64 = problem->compute == TJ_COMPUTE_F64;

    p->zero = is_s32 ? (const void *)&s32[0] : is_f64 ? (const void *)f64[0] : f32[0];
    p->one = is_s32 ? (const void *)&s32[1] : is_f64 ? (const void *)f64[1] : f32[1];
    return is_complex(problem) ? data_type[problem->m.type] : is_s32 ? R_32I : is_f64 ? R_64F : R_32F;
}

/* The bias is one value for each row of the column-major product: for each column of a row-major P. */
static int set_gelu_bias(const cublas_problem *p, const void *bias, tj_error *err)
{
    const int epilogue = EPILOGUE_GELU_BIAS;

    return check(p->library->desc_set(p->desc, DESC_EPILOGUE, &epilogue, sizeof epilogue), "setting the epilogue", err) &&
           check(p->library->desc_set(p->desc, DESC_BIAS_POINTER, &bias, sizeof bias), "setting the bias", err) &&
           check(p->library->desc_set(p->desc, DESC_BIAS_TYPE, &p->c.type, sizeof p->c.type), "setting the bias's type", err);
}

/* Does a launch take operands that are neither M, N or P nor scales and what belongs to them? */
static bool takes_more(const tj_problem *problem)
{
    bool takes = false;

    for (int which = TJ_MATRIX_C; which < TJ_OPERANDS_MOST; which++) {
        tj_operand_shape shape = TJ_OPERAND_SHAPE_INIT;

        if (which >= TJ_OPERAND_SCALE && which < TJ_OPERAND_WITH)
            continue;
        takes |= tj_operand_get_shape(problem, which, &shape, NULL) == TJ_OK && shape.is_taken;
    }
    return takes;
}

/* Name what a problem needs beyond M . N; NULL: nothing. */
static const char *find_beyond(const tj_problem *problem)
{
    const tj_epilogue *e = &problem->epilogue;

    if (problem->rows.kind != TJ_ROWS_AS_THEY_LIE)
        return "groups of rows";
    if (problem->symmetric)
        return "one triangle";
    if (problem->m.conjugated || problem->n.conjugated)
        return "conjugates";
    if (e->has_alpha || takes_more(problem) || e->expression.nodes > 0)
        return "an epilogue";
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_N; which++)
        if (tj_type_get_facts((tj_type)tj_problem_matrix(problem, which)->type)->numbers > 1)
            return "elements of 4 bits";
    if (tj_type_bytes((tj_type)problem->m.type) != tj_type_bytes((tj_type)problem->n.type))
        return "M and N of two sizes";
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_P; which++)
        if (tj_stride_is_pointers(tj_problem_matrix(problem, which)->stride))
            return "arrays of pointers";
    return NULL;
}

bool cublas_is_asked(const tj_problem *problem, tj_error *err)
{
    const char *const beyond = find_beyond(problem);

    return !beyond || tj_fail(err, TJ_ERR_UNSUPPORTED, "cuBLAS is not asked for products with %s", beyond) == TJ_OK;
}

cublas_problem *cublas_describe(cublas *library, const tj_problem *problem, tj_error *err)
{
    return cublas_describe_gelu_bias(library, problem, NULL, err);
}

cublas_problem *cublas_describe_gelu_bias(cublas *library, const tj_problem *problem, const void *bias, tj_error *err)
{
    cublas_problem *p = calloc(1, sizeof *p);
    const int is_swapped = problem->p.layout == TJ_ROW_MAJOR;
    const int64_t j = problem->j.extent, k = problem->k.extent, l = problem->l.extent;
    operand m, n;
    int scale_type;

    if (!p) {
        (void)tj_fail_memory(err, "cuBLAS");
        return NULL;
    }
    m = read_operand(&problem->m, j, k, is_swapped);
    n = read_operand(&problem->n, k, l, is_swapped);
    p->library = library;
    p->is_swapped = is_swapped;
    p->m = (int)(is_swapped ? l : j);
    p->n = (int)(is_swapped ? j : l);
    p->k = (int)k;
    p->batch = (int)problem->batch;
    p->compute = compute_type[problem->compute];
    p->is_f32 = problem->compute == TJ_COMPUTE_F32 && problem->m.type == TJ_F32 && problem->p.type == TJ_F32;
    p->is_narrow = tj_type_bytes((tj_type)problem->m.type) == 1;
    p->a = is_swapped ? n : m;
    p->b = is_swapped ? m : n;
    p->c = (operand){OP_N, data_type[problem->p.type], p->m, p->n, problem->p.ld, problem->p.stride, NULL};
    p->added = p->c;
    if (p->c.type == R_8F_E4M3 || p->c.type == R_8F_E5M2)
        p->added.type = R_16BF; /* such a P cannot have a C of its own type */
    scale_type = settle_scalars(p, problem);
    if (check(library->desc_create(&p->desc, p->compute, scale_type), "cublasLtMatmulDescCreate", err) &&
        check(library->desc_set(p->desc, DESC_TRANSA, &p->a.op, sizeof p->a.op), "setting A's transpose", err) &&
        check(library->desc_set(p->desc, DESC_TRANSB, &p->b.op, sizeof p->b.op), "setting B's transpose", err) &&
        (!bias || set_gelu_bias(p, bias, err)) && make_layout(p, &p->a, err) && make_layout(p, &p->b, err) &&
        make_layout(p, &p->c, err) && make_layout(p, &p->added, err) && ask_heuristic(p, problem, err))
        return p;
    cublas_forget(p);
    return NULL;
}

void cublas_forget(cublas_problem *problem)
{
    if (!problem)
        return;
    void *const layout[] = {problem->a.layout, problem->b.layout, problem->c.layout, problem->added.layout};

    for (size_t i = 0; i < sizeof layout / sizeof layout[0]; i++)
        if (layout[i])
            (void)problem->library->layout_destroy(layout[i]);
    if (problem->desc)
        (void)problem->library->desc_destroy(problem->desc);
    free(problem);
}

int cublas_idea_count(const cublas_problem *problem)
{
    return problem->ideas;
}

const char *cublas_no_idea(const cublas_problem *problem)
{
    return problem->no_idea;
}

/* ---- launches -------------------------------------------------------------------------------------------------------- */

int cublas_queue_default(const cublas_problem *p, const tj_operands *x, tj_error *err)
{
    const cublas *l = p->library;
    const void *a = p->is_swapped ? x->n.address : x->m.address, *b = p->is_swapped ? x->m.address : x->n.address;
    void *const c = (void *)(uintptr_t)x->p.address;
    const int lda = (int)p->a.ld, ldb = (int)p->b.ld, ldc = (int)p->c.ld;

    if (p->is_f32 && p->batch == 1)
        return check_product(p,
                             l->sgemm(l->handle, p->a.op, p->b.op, p->m, p->n, p->k, p->one, a, lda, b, ldb, p->zero, c, ldc),
                             "cublasSgemm", err);
    if (p->is_f32)
        return check_product(p,
                             l->sgemm_batched(l->handle, p->a.op, p->b.op, p->m, p->n, p->k, p->one, a, lda, p->a.stride, b,
                                              ldb, p->b.stride, p->zero, c, ldc, p->c.stride, p->batch),
                             "cublasSgemmStridedBatched", err);
    if (p->batch == 1)
        return check_product(p,
                             l->gemm_ex(l->handle, p->a.op, p->b.op, p->m, p->n, p->k, p->one, a, p->a.type, lda, b, p->b.type,
                                        ldb, p->zero, c, p->c.type, ldc, p->compute, GEMM_DEFAULT),
                             "cublasGemmEx", err);
    return check_product(p,
                         l->gemm_ex_batched(l->handle, p->a.op, p->b.op, p->m, p->n, p->k, p->one, a, p->a.type, lda,
                                            p->a.stride, b, p->b.type, ldb, p->b.stride, p->zero, c, p->c.type, ldc,
                                            p->c.stride, p->batch, p->compute, GEMM_DEFAULT),
                         "cublasGemmStridedBatchedEx", err);
}

int cublas_queue_idea(const cublas_problem *p, int index, const tj_operands *x, tj_error *err)
{
    const cublas *l = p->library;
    const void *a = p->is_swapped ? x->n.address : x->m.address, *b = p->is_swapped ? x->m.address : x->n.address;
    void *const c = (void *)(uintptr_t)x->p.address;

    return check_product(p,
                         l->matmul(l->lt_handle, p->desc, p->one, a, p->a.layout, b, p->b.layout, p->zero, c, p->added.layout,
                                   c, p->c.layout, &p->idea[index].algo, l->workspace, l->workspace_bytes, l->stream),
                         "cublasLtMatmul", err);
}
