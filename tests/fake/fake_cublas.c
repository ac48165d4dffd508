/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_cublas: stands in for libcublas and libcublasLt, by a kernel of its own that the emulator runs: one thread an element, column-major,
 * nothing clever. It takes the arguments at their word, as the real ones do, so a wrong transpose, leading dimension or stride in bench/
 * comes out as a wrong product.
 *
 * TILEJIT_EMULATOR names the driver. FAKE_CUBLAS_WRONG=cublas: the scale is 1.01 where 1 was asked for, in the default call; =cublaslt: in
 * cublasLtMatmul; =idle: cublasLtMatmul reports success and computes nothing.
 * cuBLASLt offers four ideas: one is refused by the heuristic, one by cublasLtMatmul, two work.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7, NOT_SUPPORTED = 15 };
enum { TYPES = 3, BLOCK = 64 };

/* f32, f64 and f16: what PTX calls the type, what it computes in, and the element's bytes. */
static const struct {
    int id, bytes;
    const char *load, *store, *math, *zero;
} type[TYPES] = {{0, 4, "ld.global.f32 %v, [%at];", "st.global.f32 [%at], %sum;", "f32", "0f00000000"},
                 {1, 8, "ld.global.f64 %v, [%at];", "st.global.f64 [%at], %sum;", "f64", "0d0000000000000000"},
                 {2, 2, "ld.global.b16 %h, [%at]; cvt.f32.f16 %v, %h;", "cvt.rn.f16.f32 %h, %sum; st.global.b16 [%at], %h;",
                  "f32", "0f00000000"}};

static struct {
    int (*load)(void **module, const void *image);
    int (*find)(void **function, void *module, const char *name);
    int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                  void *stream, void **arguments, void **extra);
    void *kernel[TYPES][TYPES]; /* by the types of A and B, and of C */
    void *stream;
} fake;

/* ---- the kernel ------------------------------------------------------------------------------------------------------ */

/*
 * Arguments: a, b, c, scale (in the math type), m, n, k, and for each of A and B the elements between its rows and between its columns,
 * ldc, and the strides of the batch, all 64 bits. Element number x of a product is row x % m, column x / m; block y is the product.
 */
static const char text[] =
    ".version 8.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry gemm(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .%3$s ps, .param .u64 pm, .param .u64 pn, "
    ".param .u64 pk, .param .u64 par, .param .u64 pac, .param .u64 pbr, .param .u64 pbc, .param .u64 pldc, "
    ".param .u64 psa, .param .u64 psb, .param .u64 psc)\n{\n"
    ".reg .pred %%p; .reg .b16 %%h; .reg .b32 %%t<4>; .reg .%3$s %%v, %%x, %%sum, %%scale;\n"
    ".reg .b64 %%a, %%b, %%c, %%m, %%n, %%k, %%ar, %%ac, %%br, %%bc, %%ldc, %%s, %%i, %%row, %%col, %%at, %%z;\n"
    "ld.param.u64 %%a, [pa]; ld.param.u64 %%b, [pb]; ld.param.u64 %%c, [pc]; ld.param.%3$s %%scale, [ps];\n"
    "ld.param.u64 %%m, [pm]; ld.param.u64 %%n, [pn]; ld.param.u64 %%k, [pk]; ld.param.u64 %%ar, [par];\n"
    "ld.param.u64 %%ac, [pac]; ld.param.u64 %%br, [pbr]; ld.param.u64 %%bc, [pbc]; ld.param.u64 %%ldc, [pldc];\n"
    "mov.u32 %%t0, %%ctaid.x; mov.u32 %%t1, %%ntid.x; mov.u32 %%t2, %%tid.x; mov.u32 %%t3, %%ctaid.y;\n"
    "mad.lo.u32 %%t0, %%t0, %%t1, %%t2; cvt.u64.u32 %%i, %%t0; cvt.u64.u32 %%z, %%t3;\n"
    "mul.lo.u64 %%s, %%m, %%n; setp.ge.u64 %%p, %%i, %%s; @%%p ret;\n"
    "rem.u64 %%row, %%i, %%m; div.u64 %%col, %%i, %%m;\n"
    /* A at its row, B at its column, C at its element; from here on in bytes */
    "ld.param.u64 %%s, [psa]; mul.lo.u64 %%s, %%s, %%z; mad.lo.u64 %%s, %%row, %%ar, %%s; mad.lo.u64 %%a, %%s, %4$d, %%a;\n"
    "ld.param.u64 %%s, [psb]; mul.lo.u64 %%s, %%s, %%z; mad.lo.u64 %%s, %%col, %%bc, %%s; mad.lo.u64 %%b, %%s, %4$d, %%b;\n"
    "ld.param.u64 %%s, [psc]; mul.lo.u64 %%s, %%s, %%z; mad.lo.u64 %%s, %%col, %%ldc, %%s; add.u64 %%s, %%s, %%row;\n"
    "mad.lo.u64 %%c, %%s, %5$d, %%c;\n"
    "mul.lo.u64 %%ac, %%ac, %4$d; mul.lo.u64 %%br, %%br, %4$d; mov.%3$s %%sum, %6$s; mov.u64 %%i, 0;\n"
    "next: setp.ge.u64 %%p, %%i, %%k; @%%p bra done;\n"
    "mov.u64 %%at, %%a; %1$s mov.%3$s %%x, %%v;\n"
    "mov.u64 %%at, %%b; %1$s fma.rn.%3$s %%sum, %%x, %%v, %%sum;\n"
    "add.u64 %%a, %%a, %%ac; add.u64 %%b, %%b, %%br; add.u64 %%i, %%i, 1; bra next;\n"
    "done: mul.%3$s %%sum, %%sum, %%scale; mov.u64 %%at, %%c; %2$s ret;\n}\n";

static int type_of(int id)
{
    for (int i = 0; i < TYPES; i++)
        if (type[i].id == id)
            return i;
    return -1;
}

static void *kernel_for(int ab, int c)
{
    char ptx[8192];
    void *module;

    if (fake.kernel[ab][c])
        return fake.kernel[ab][c];
    (void)snprintf(ptx, sizeof ptx, text, type[ab].load, type[c].store, type[ab].math, type[ab].bytes, type[c].bytes,
                   type[ab].zero);
    if (fake.load(&module, ptx) != 0 || fake.find(&fake.kernel[ab][c], module, "gemm") != 0)
        return NULL;
    return fake.kernel[ab][c];
}

typedef struct gemm {
    int op_a, op_b, type_ab, type_c;
    int64_t m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c, batch;
    const void *a, *b;
    void *c;
} gemm;

static int run(gemm g, const void *alpha, const void *beta, void *stream)
{
    const int ab = type_of(g.type_ab), c = type_of(g.type_c);
    int64_t a_row = g.op_a ? g.lda : 1, a_col = g.op_a ? 1 : g.lda, b_row = g.op_b ? g.ldb : 1, b_col = g.op_b ? 1 : g.ldb;
    float scale32;
    double scale64;
    void *kernel;

    if (ab < 0 || c < 0 || (ab == 1) != (c == 1))
        return NOT_SUPPORTED;
    scale32 = ab == 1 ? 0 : *(const float *)alpha;
    scale64 = ab == 1 ? *(const double *)alpha : 0;
    if ((ab == 1 ? *(const double *)beta : (double)*(const float *)beta) != 0)
        return NOT_SUPPORTED;
    if (g.lda < (g.op_a ? g.k : g.m) || g.ldb < (g.op_b ? g.n : g.k) || g.ldc < g.m)
        return INVALID_VALUE;
    kernel = kernel_for(ab, c);
    if (!kernel)
        return NOT_INITIALIZED;
    {
        void *arguments[] = {&g.a,        &g.b,        &g.c,       ab == 1 ? (void *)&scale64 : &scale32,
                             &g.m,        &g.n,        &g.k,       &a_row,
                             &a_col,      &b_row,      &b_col,     &g.ldc,
                             &g.stride_a, &g.stride_b, &g.stride_c};

        return fake.launch(kernel, (unsigned)((g.m * g.n + BLOCK - 1) / BLOCK), (unsigned)g.batch, 1, BLOCK, 1, 1, 0, stream,
                           arguments, NULL);
    }
}

/* ---- libcublas ------------------------------------------------------------------------------------------------------- */

static void *look_up(void *driver, const char *name, void *function)
{
    void *symbol = dlsym(driver, name);

    memcpy(function, &symbol, sizeof symbol);
    return symbol;
}

static int open_driver(void **handle)
{
    const char *path = getenv("TILEJIT_EMULATOR");
    void *driver = path ? dlopen(path, RTLD_NOW) : NULL;

    *handle = &fake;
    return driver && look_up(driver, "cuModuleLoadData", &fake.load) && look_up(driver, "cuModuleGetFunction", &fake.find) &&
                   look_up(driver, "cuLaunchKernel", &fake.launch)
               ? SUCCESS
               : NOT_INITIALIZED;
}

int cublasCreate_v2(void **handle)
{
    return open_driver(handle);
}

int cublasDestroy_v2(void *handle)
{
    return handle == &fake ? SUCCESS : INVALID_VALUE;
}

int cublasGetVersion_v2(void *handle, int *version)
{
    *version = 130102;
    return handle == &fake ? SUCCESS : INVALID_VALUE;
}

int cublasSetStream_v2(void *handle, void *stream)
{
    fake.stream = stream;
    return handle == &fake ? SUCCESS : INVALID_VALUE;
}

int cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes)
{
    return handle == &fake && workspace && bytes == (size_t)64 << 20 ? SUCCESS : INVALID_VALUE;
}

int cublasSetMathMode(void *handle, int mode)
{
    return handle == &fake && mode == 0 ? SUCCESS : INVALID_VALUE;
}

static int is_wrong(const char *way)
{
    const char *asked = getenv("FAKE_CUBLAS_WRONG");

    return asked && strcmp(asked, way) == 0;
}

/* alpha, unless it shall be wrong. */
static const void *scale(const char *who, int type_ab, const void *alpha)
{
    static const float wrong32 = 1.01F;
    static const double wrong64 = 1.01;

    if (!is_wrong(who))
        return alpha;
    return type_ab == 1 ? (const void *)&wrong64 : &wrong32;
}

/* All default calls end here: a call between exported functions could reach the other library's copy of this file. */
static int run_default(void *handle, gemm g, const void *alpha, const void *beta)
{
    if (handle != &fake)
        return INVALID_VALUE;
    return run(g, scale("cublas", g.type_ab, alpha), beta, fake.stream);
}

int cublasGemmStridedBatchedEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a,
                               int type_a, int lda, long long stride_a, const void *b, int type_b, int ldb, long long stride_b,
                               const void *beta, void *c, int type_c, int ldc, long long stride_c, int batch, int compute,
                               int algo)
{
    if (type_a != type_b || compute != (type_a == 1 ? 70 : 68) || algo != -1)
        return INVALID_VALUE;
    return run_default(handle,
                       (gemm){op_a, op_b, type_a, type_c, m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c, batch, a, b, c},
                       alpha, beta);
}

int cublasGemmEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int type_a, int lda,
                 const void *b, int type_b, int ldb, const void *beta, void *c, int type_c, int ldc, int compute, int algo)
{
    if (type_a != type_b || compute != (type_a == 1 ? 70 : 68) || algo != -1)
        return INVALID_VALUE;
    return run_default(handle, (gemm){op_a, op_b, type_a, type_c, m, n, k, lda, ldb, ldc, 0, 0, 0, 1, a, b, c}, alpha, beta);
}

int cublasSgemmStridedBatched(void *handle, int op_a, int op_b, int m, int n, int k, const float *alpha, const float *a,
                              int lda, long long stride_a, const float *b, int ldb, long long stride_b, const float *beta,
                              float *c, int ldc, long long stride_c, int batch)
{
    return run_default(handle, (gemm){op_a, op_b, 0, 0, m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c, batch, a, b, c},
                       alpha, beta);
}

int cublasSgemm_v2(void *handle, int op_a, int op_b, int m, int n, int k, const float *alpha, const float *a, int lda,
                   const float *b, int ldb, const float *beta, float *c, int ldc)
{
    return run_default(handle, (gemm){op_a, op_b, 0, 0, m, n, k, lda, ldb, ldc, 0, 0, 0, 1, a, b, c}, alpha, beta);
}

/* ---- libcublasLt ----------------------------------------------------------------------------------------------------- */

typedef struct lt_layout {
    int type, batch;
    int64_t rows, cols, ld, stride;
} lt_layout;

typedef struct lt_idea {
    uint64_t algo[8];
    size_t workspace_bytes;
    int status;
    float waves;
    int reserved[4];
} lt_idea;

int cublasLtCreate(void **handle)
{
    return open_driver(handle);
}

int cublasLtDestroy(void *handle)
{
    return handle == &fake ? SUCCESS : INVALID_VALUE;
}

/* compute, scale type, TRANSA, TRANSB */
int cublasLtMatmulDescCreate(void **desc, int compute, int scale_type)
{
    int *made = calloc(4, sizeof *made);

    *desc = made;
    if (!made)
        return NOT_INITIALIZED;
    made[0] = compute;
    made[1] = scale_type;
    return (compute == 68 && scale_type == 0) || (compute == 70 && scale_type == 1) ? SUCCESS : INVALID_VALUE;
}

int cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value, size_t bytes)
{
    if (bytes != sizeof(int) || (attribute != 3 && attribute != 4))
        return INVALID_VALUE;
    memcpy((int *)desc + attribute - 1, value, bytes);
    return SUCCESS;
}

int cublasLtMatmulDescDestroy(void *desc)
{
    free(desc);
    return SUCCESS;
}

int cublasLtMatrixLayoutCreate(void **layout, int id, uint64_t rows, uint64_t cols, int64_t ld)
{
    lt_layout *made = calloc(1, sizeof *made);

    *layout = made;
    if (!made)
        return NOT_INITIALIZED;
    *made = (lt_layout){id, 1, (int64_t)rows, (int64_t)cols, ld, 0};
    return SUCCESS;
}

int cublasLtMatrixLayoutSetAttribute(void *layout, int attribute, const void *value, size_t bytes)
{
    lt_layout *of = layout;

    if (attribute == 5 && bytes == sizeof of->batch)
        memcpy(&of->batch, value, bytes);
    else if (attribute == 6 && bytes == sizeof of->stride)
        memcpy(&of->stride, value, bytes);
    else
        return INVALID_VALUE;
    return SUCCESS;
}

int cublasLtMatrixLayoutDestroy(void *layout)
{
    free(layout);
    return SUCCESS;
}

int cublasLtMatmulPreferenceCreate(void **preference)
{
    *preference = calloc(1, sizeof(size_t));
    return *preference ? SUCCESS : NOT_INITIALIZED;
}

int cublasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value, size_t bytes)
{
    if (attribute != 1 || bytes != sizeof(size_t))
        return INVALID_VALUE;
    memcpy(preference, value, bytes);
    return SUCCESS;
}

int cublasLtMatmulPreferenceDestroy(void *preference)
{
    free(preference);
    return SUCCESS;
}

int cublasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, int wanted,
                                   lt_idea *idea, int *count)
{
    if (handle != &fake || !desc || !a || !b || c != d || wanted != 32 || *(size_t *)preference != (size_t)64 << 20)
        return INVALID_VALUE;
    memset(idea, 0, 4 * sizeof *idea);
    for (uint64_t i = 0; i < 4; i++)
        idea[i].algo[0] = i;
    idea[1].status = NOT_SUPPORTED;
    *count = 4;
    return SUCCESS;
}

/* The shapes of the three matrices and the flags must agree, as the real one demands. */
int cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *layout_a, const void *b, void *layout_b,
                   const void *beta, const void *c, void *layout_c, void *d, void *layout_d, const uint64_t *algo,
                   void *workspace, size_t workspace_bytes, void *stream)
{
    const lt_layout *la = layout_a, *lb = layout_b, *lc = layout_c;
    const int op_a = ((int *)desc)[2], op_b = ((int *)desc)[3];
    const int64_t m = op_a ? la->cols : la->rows, k = op_a ? la->rows : la->cols, n = op_b ? lb->rows : lb->cols;

    if (handle != &fake || layout_c != layout_d || c != d || (workspace_bytes && !workspace) || la->type != lb->type)
        return INVALID_VALUE;
    if (k != (op_b ? lb->cols : lb->rows) || m != lc->rows || n != lc->cols || la->batch != lc->batch || lb->batch != lc->batch)
        return INVALID_VALUE;
    if (algo[0] == 2)
        return NOT_SUPPORTED;
    if (is_wrong("idle"))
        return SUCCESS;
    return run((gemm){op_a, op_b, la->type, lc->type, m, n, k, la->ld, lb->ld, lc->ld, la->stride, lb->stride, lc->stride,
                      lc->batch, a, b, d},
               scale("cublaslt", la->type, alpha), beta, stream);
}
