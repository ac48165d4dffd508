/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_cublas: a fake libcublas and libcublasLt, with a simple kernel of its own that the emulator runs: one thread per element,
 * column-major. It uses the arguments without checks, as the real ones do, so a wrong transpose, leading dimension or stride in bench/
 * gives a wrong product.
 *
 * TILEJIT_EMULATOR names the driver. FAKE_CUBLAS_WRONG=cublas: the scale is 1.01, or 2 for integers, where 1 was asked for, in the default
 * call; =cublaslt: in cublasLtMatmul; =idle: cublasLtMatmul reports success and computes nothing.
 * cuBLASLt offers four algorithms: one is refused by the heuristic, one by cublasLtMatmul, two work.
 *
 * It refuses the same products as the real ones: u8; sums of s8 in other than s32, and unaligned ones; e4m3 and e5m2 but by
 * cuBLASLt, M stored by rows and N by columns. tf32 is f32 with its lower bits dropped.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7, NOT_SUPPORTED = 15 };
enum { BLOCK = 64, MATH_MODE = 16 /* DISALLOW_REDUCED_PRECISION_REDUCTION */ };
enum { COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32I = 72, COMPUTE_32F_FAST_TF32 = 77 };
enum { REDUCTIONS_IN_COMPUTE_TYPE = 2, REDUCTIONS = 7 };

/* cudaDataType_t */
enum {
    R_32F = 0,
    R_64F = 1,
    R_16F = 2,
    R_8I = 3,
    C_32F = 4,
    C_64F = 5,
    R_32I = 10,
    R_16BF = 14,
    R_8F_E4M3 = 28,
    R_8F_E5M2 = 29
};

/* How sums and scales are computed in PTX. */
typedef enum number { IN_F32, IN_F64, IN_S32, IN_C32F, IN_C64F } number;

#define ADD_COMPLEX(type)                                                                                                      \
    "fma.rn." type " %sum, %x, %v, %sum; fma.rn." type " %sum_i, %x, %v_i, %sum_i; fma.rn." type " %sum_i, %x_i, %v, %sum_i; " \
    "neg." type " %x_i, %x_i; fma.rn." type " %sum, %x_i, %v_i, %sum;"
#define SCALE_COMPLEX(type)                                                                 \
    "mul." type " %x, %y, %scale_i; mul." type " %v, %y_i, %scale_i; neg." type " %v, %v; " \
    "fma.rn." type " %y, %y, %scale, %v; fma.rn." type " %y_i, %y_i, %scale, %x;"
/* The part of a number, the parts, and the data type of a scale that is such a number. */
static const struct {
    const char *type, *zero, *add_product, *multiply;
    int parts, bytes, id;
} math[] = {{"f32", "0f00000000", "fma.rn.f32 %sum, %x, %v, %sum;", "mul.f32 %y, %y, %scale;", 1, 4, R_32F},
            {"f64", "0d0000000000000000", "fma.rn.f64 %sum, %x, %v, %sum;", "mul.f64 %y, %y, %scale;", 1, 8, R_64F},
            {"s32", "0", "mad.lo.s32 %sum, %x, %v, %sum;", "mul.lo.s32 %y, %y, %scale;", 1, 4, R_32I},
            {"f32", "0f00000000", ADD_COMPLEX("f32"), SCALE_COMPLEX("f32"), 2, 4, C_32F},
            {"f64", "0d0000000000000000", ADD_COMPLEX("f64"), SCALE_COMPLEX("f64"), 2, 8, C_64F}};

/* An element type: how a %v that is summed is loaded, and a %y that was scaled is stored; %v_i and %y_i: the imaginary part. */
typedef enum element { F32, F64, F16, BF16, S8, E4M3, E5M2, S32, C32F, C64F, TF32, ELEMENTS } element;

#define LOAD_FP8(name) "ld.global.u8 %h, [%at]; cvt.rn.f16x2." name "x2 %t0, %h; mov.b32 {%h, %g}, %t0; cvt.f32.f16 %v, %h;"
#define STORE_FP8(name) "cvt.rn.satfinite." name "x2.f32 %h, 0f00000000, %y; st.global.u8 [%at], %h;"
static const struct {
    int id, bytes;
    number sum;
    const char *load, *store;
} type[ELEMENTS] = {[F32] = {R_32F, 4, IN_F32, "ld.global.f32 %v, [%at];", "st.global.f32 [%at], %y;"},
                    [F64] = {R_64F, 8, IN_F64, "ld.global.f64 %v, [%at];", "st.global.f64 [%at], %y;"},
                    [F16] = {R_16F, 2, IN_F32, "ld.global.b16 %h, [%at]; cvt.f32.f16 %v, %h;",
                             "cvt.rn.f16.f32 %h, %y; st.global.b16 [%at], %h;"},
                    [BF16] = {R_16BF, 2, IN_F32, "ld.global.b16 %h, [%at]; mov.b32 %v, {0, %h};",
                              "cvt.rn.bf16.f32 %h, %y; st.global.b16 [%at], %h;"},
                    [S8] = {R_8I, 1, IN_S32, "ld.global.s8 %v, [%at];", "cvt.rni.sat.s8.f32 %t0, %y; st.global.u8 [%at], %t0;"},
                    [E4M3] = {R_8F_E4M3, 1, IN_F32, LOAD_FP8("e4m3"), STORE_FP8("e4m3")},
                    [E5M2] = {R_8F_E5M2, 1, IN_F32, LOAD_FP8("e5m2"), STORE_FP8("e5m2")},
                    [S32] = {R_32I, 4, IN_S32, "", "st.global.s32 [%at], %y;"},
                    [C32F] = {C_32F, 8, IN_C32F, "ld.global.v2.f32 {%v, %v_i}, [%at];", "st.global.v2.f32 [%at], {%y, %y_i};"},
                    [C64F] = {C_64F, 16, IN_C64F, "ld.global.v2.f64 {%v, %v_i}, [%at];", "st.global.v2.f64 [%at], {%y, %y_i};"},
                    [TF32] = {-1, 4, IN_F32, "ld.global.b32 %t0, [%at]; and.b32 %t0, %t0, 0xffffe000; mov.b32 %v, %t0;", ""}};

static struct {
    int (*load)(void **module, const void *image);
    int (*find)(void **function, void *module, const char *name);
    int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                  void *stream, void **arguments, void **extra);
    void *kernel[ELEMENTS][ELEMENTS][ELEMENTS]; /* by the types of A, B and C */
    void *stream;
} fake;

/* ---- the kernel ------------------------------------------------------------------------------------------------------ */

/*
 * Arguments: a, b, c, scale, its imaginary part, m, n, k, and for each of A and B the elements between its rows and between its columns, ldc, and the strides
 * of the batch, all 64 bits. Element number x of a product is row x % m, column x / m; block y is the product.
 *
 * 1: the load of A's element; 2: of B's; 3: the store; 4: the type of the sum; 5, 6, 7: the bytes of an element of A, B and C; 8: zero;
 * 9: multiply and add; 10: the type of the scale; 11: a sum becomes that; 12: multiply. Of real numbers imaginary parts are 0.
 */
static const char text[] =
    ".version 8.1\n.target sm_89\n.address_size 64\n"
    ".visible .entry gemm(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .%10$s ps, .param .%10$s psi, .param .u64 pm, "
    ".param .u64 pn, "
    ".param .u64 pk, .param .u64 par, .param .u64 pac, .param .u64 pbr, .param .u64 pbc, .param .u64 pldc, "
    ".param .u64 psa, .param .u64 psb, .param .u64 psc)\n{\n"
    ".reg .pred %%p; .reg .b16 %%h, %%g; .reg .b32 %%t<4>; .reg .%4$s %%v, %%x, %%sum, %%v_i, %%x_i, %%sum_i; "
    ".reg .%10$s %%y, %%scale, %%y_i, %%scale_i;\n"
    ".reg .b64 %%a, %%b, %%c, %%m, %%n, %%k, %%ar, %%ac, %%br, %%bc, %%ldc, %%s, %%i, %%row, %%col, %%at, %%z;\n"
    "ld.param.u64 %%a, [pa]; ld.param.u64 %%b, [pb]; ld.param.u64 %%c, [pc]; ld.param.%10$s %%scale, [ps]; "
    "ld.param.%10$s %%scale_i, [psi];\n"
    "ld.param.u64 %%m, [pm]; ld.param.u64 %%n, [pn]; ld.param.u64 %%k, [pk]; ld.param.u64 %%ar, [par];\n"
    "ld.param.u64 %%ac, [pac]; ld.param.u64 %%br, [pbr]; ld.param.u64 %%bc, [pbc]; ld.param.u64 %%ldc, [pldc];\n"
    "mov.u32 %%t0, %%ctaid.x; mov.u32 %%t1, %%ntid.x; mov.u32 %%t2, %%tid.x; mov.u32 %%t3, %%ctaid.y;\n"
    "mad.lo.u32 %%t0, %%t0, %%t1, %%t2; cvt.u64.u32 %%i, %%t0; cvt.u64.u32 %%z, %%t3;\n"
    "mul.lo.u64 %%s, %%m, %%n; setp.ge.u64 %%p, %%i, %%s; @%%p ret;\n"
    "rem.u64 %%row, %%i, %%m; div.u64 %%col, %%i, %%m;\n"
    /* A at its row, B at its column, C at its element; from here on in bytes */
    "ld.param.u64 %%s, [psa]; mul.lo.u64 %%s, %%s, %%z; mad.lo.u64 %%s, %%row, %%ar, %%s; mad.lo.u64 %%a, %%s, %5$d, %%a;\n"
    "ld.param.u64 %%s, [psb]; mul.lo.u64 %%s, %%s, %%z; mad.lo.u64 %%s, %%col, %%bc, %%s; mad.lo.u64 %%b, %%s, %6$d, %%b;\n"
    "ld.param.u64 %%s, [psc]; mul.lo.u64 %%s, %%s, %%z; mad.lo.u64 %%s, %%col, %%ldc, %%s; add.u64 %%s, %%s, %%row;\n"
    "mad.lo.u64 %%c, %%s, %7$d, %%c;\n"
    "mul.lo.u64 %%ac, %%ac, %5$d; mul.lo.u64 %%br, %%br, %6$d; mov.u64 %%i, 0;\n"
    "mov.%4$s %%sum, %8$s; mov.%4$s %%sum_i, %8$s; mov.%4$s %%v_i, %8$s;\n"
    "next: setp.ge.u64 %%p, %%i, %%k; @%%p bra done;\n"
    "mov.u64 %%at, %%a; %1$s mov.%4$s %%x, %%v; mov.%4$s %%x_i, %%v_i;\n"
    "mov.u64 %%at, %%b; %2$s %9$s\n"
    "add.u64 %%a, %%a, %%ac; add.u64 %%b, %%b, %%br; add.u64 %%i, %%i, 1; bra next;\n"
    "done: %11$s %%y, %%sum; %11$s %%y_i, %%sum_i; %12$s mov.u64 %%at, %%c; %3$s ret;\n}\n";

typedef struct gemm {
    int op_a, op_b, type_a, type_b, type_c, compute;
    int64_t m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c, batch;
    const void *a, *b;
    void *c;
} gemm;

static element element_of(int id)
{
    element e = F32;

    while (e < ELEMENTS && type[e].id != id)
        e++;
    return e;
}

static int is_fp8(int id)
{
    return id == R_8F_E4M3 || id == R_8F_E5M2;
}

/* alpha and beta are of the sum's type, which is complex for such elements, but f32 where integers do not stay integers of 32 bits. */
static number scale_of(const gemm *g)
{
    if (g->type_a == C_32F || g->type_a == C_64F)
        return g->type_a == C_32F ? IN_C32F : IN_C64F;
    return g->compute == COMPUTE_64F ? IN_F64 : g->compute == COMPUTE_32I && g->type_c == R_32I ? IN_S32 : IN_F32;
}

static int is_offered(const gemm *g)
{
    switch (g->type_a) {
    case R_32F:
        return g->type_b == R_32F && g->type_c == R_32F && (g->compute == COMPUTE_32F || g->compute == COMPUTE_32F_FAST_TF32);
    case R_64F:
        return g->type_b == R_64F && g->type_c == R_64F && g->compute == COMPUTE_64F;
    case C_32F:
    case C_64F:
        return g->type_b == g->type_a && g->type_c == g->type_a &&
               g->compute == (g->type_a == C_32F ? COMPUTE_32F : COMPUTE_64F);
    case R_16F:
    case R_16BF:
        return g->type_b == g->type_a && (g->type_c == g->type_a || g->type_c == R_32F) && g->compute == COMPUTE_32F;
    case R_8I:
        return g->type_b == R_8I && (g->type_c == R_32I || g->type_c == R_8I) && g->compute == COMPUTE_32I && g->lda % 4 == 0 &&
               g->ldb % 4 == 0;
    case R_8F_E4M3:
    case R_8F_E5M2:
        return is_fp8(g->type_b) && (g->type_a != R_8F_E5M2 || g->type_b != R_8F_E5M2) && g->type_c != R_32I &&
               g->compute == COMPUTE_32F && g->op_a == 1 && g->op_b == 0 && (g->m | g->n | g->k) % 16 == 0;
    default:
        return 0;
    }
}

static void *kernel_for(const gemm *g)
{
    const int is_tf32 = g->compute == COMPUTE_32F_FAST_TF32;
    const element a = is_tf32 ? TF32 : element_of(g->type_a), b = is_tf32 ? TF32 : element_of(g->type_b);
    const element c = element_of(g->type_c);
    const number sum = type[a].sum, scale = scale_of(g);
    void **kernel = &fake.kernel[a][b][c], *module;
    char ptx[8192], scaled[16];

    if (*kernel)
        return *kernel;
    (void)snprintf(scaled, sizeof scaled, sum == scale ? "mov.%s" : "cvt.rn.f32.%s", math[sum].type);
    (void)snprintf(ptx, sizeof ptx, text, type[a].load, type[b].load, type[c].store, math[sum].type, type[a].bytes,
                   type[b].bytes, type[c].bytes, math[sum].zero, math[sum].add_product, math[scale].type, scaled,
                   math[scale].multiply);
    return fake.load(&module, ptx) == 0 && fake.find(kernel, module, "gemm") == 0 ? *kernel : NULL;
}

static int is_wrong(const char *way)
{
    const char *asked = getenv("FAKE_CUBLAS_WRONG");

    return asked && strcmp(asked, way) == 0;
}

/* who: whose scale may be wrong. */
static int run(const char *who, gemm g, const void *alpha, const void *beta, void *stream)
{
    static const float wrong32[2] = {1.01F};
    static const double wrong64[2] = {1.01};
    static const int wrong_whole = 2;
    const void *const wrong[] = {wrong32, wrong64, &wrong_whole, wrong32, wrong64};
    const number scale = scale_of(&g);
    const size_t part = (size_t)math[scale].bytes, bytes = part * (size_t)math[scale].parts;
    static const char zeros[16];
    char alpha_copy[16] = {0};
    int64_t a_row = g.op_a ? g.lda : 1, a_col = g.op_a ? 1 : g.lda, b_row = g.op_b ? g.ldb : 1, b_col = g.op_b ? 1 : g.ldb;
    void *kernel;

    if (!is_offered(&g))
        return NOT_SUPPORTED;
    if (memcmp(beta, zeros, bytes) != 0)
        return NOT_SUPPORTED;
    if (g.lda < (g.op_a ? g.k : g.m) || g.ldb < (g.op_b ? g.n : g.k) || g.ldc < g.m)
        return INVALID_VALUE;
    memcpy(alpha_copy, is_wrong(who) ? wrong[scale] : alpha, bytes);
    kernel = kernel_for(&g);
    if (!kernel)
        return NOT_INITIALIZED;
    {
        void *arguments[] = {&g.a,   &g.b,   &g.c,   alpha_copy, alpha_copy + part, &g.m,        &g.n,       &g.k, &a_row,
                             &a_col, &b_row, &b_col, &g.ldc,     &g.stride_a,       &g.stride_b, &g.stride_c};

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
    return handle == &fake && mode == MATH_MODE ? SUCCESS : INVALID_VALUE;
}

/* All default calls end here: a call between exported functions could reach the other library's copy of this file. */
static int run_default(void *handle, gemm g, const void *alpha, const void *beta)
{
    if (handle != &fake || element_of(g.type_a) == ELEMENTS)
        return INVALID_VALUE;
    if (is_fp8(g.type_a) || (g.type_a == R_8I && g.type_c != R_32I))
        return NOT_SUPPORTED;
    return run("cublas", g, alpha, beta, fake.stream);
}

int cublasGemmStridedBatchedEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a,
                               int type_a, int lda, long long stride_a, const void *b, int type_b, int ldb, long long stride_b,
                               const void *beta, void *c, int type_c, int ldc, long long stride_c, int batch, int compute,
                               int algo)
{
    if (algo != -1)
        return INVALID_VALUE;
    return run_default(handle,
                       (gemm){op_a, op_b, type_a, type_b, type_c, compute, m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c,
                              batch, a, b, c},
                       alpha, beta);
}

int cublasGemmEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int type_a, int lda,
                 const void *b, int type_b, int ldb, const void *beta, void *c, int type_c, int ldc, int compute, int algo)
{
    if (algo != -1)
        return INVALID_VALUE;
    return run_default(handle, (gemm){op_a, op_b, type_a, type_b, type_c, compute, m, n, k, lda, ldb, ldc, 0, 0, 0, 1, a, b, c},
                       alpha, beta);
}

int cublasSgemmStridedBatched(void *handle, int op_a, int op_b, int m, int n, int k, const float *alpha, const float *a,
                              int lda, long long stride_a, const float *b, int ldb, long long stride_b, const float *beta,
                              float *c, int ldc, long long stride_c, int batch)
{
    return run_default(handle,
                       (gemm){op_a, op_b, R_32F, R_32F, R_32F, COMPUTE_32F, m, n, k, lda, ldb, ldc, stride_a, stride_b,
                              stride_c, batch, a, b, c},
                       alpha, beta);
}

int cublasSgemm_v2(void *handle, int op_a, int op_b, int m, int n, int k, const float *alpha, const float *a, int lda,
                   const float *b, int ldb, const float *beta, float *c, int ldc)
{
    return run_default(
        handle, (gemm){op_a, op_b, R_32F, R_32F, R_32F, COMPUTE_32F, m, n, k, lda, ldb, ldc, 0, 0, 0, 1, a, b, c}, alpha, beta);
}

/* ---- libcublasLt ----------------------------------------------------------------------------------------------------- */

/* In the order of the attributes that the caller sets: 3 and 4 follow what a description is made with. */
typedef struct lt_desc {
    int compute, scale_type, op_a, op_b;
} lt_desc;

typedef struct lt_preference {
    size_t workspace_bytes;
    uint32_t reductions;
} lt_preference;

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

int cublasLtMatmulDescCreate(void **desc, int compute, int scale_type)
{
    lt_desc *made = calloc(1, sizeof *made);

    *desc = made;
    if (!made)
        return NOT_INITIALIZED;
    *made = (lt_desc){.compute = compute, .scale_type = scale_type};
    return SUCCESS;
}

int cublasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value, size_t bytes)
{
    lt_desc *of = desc;

    if (bytes != sizeof(int) || (attribute != 3 && attribute != 4))
        return INVALID_VALUE;
    memcpy(attribute == 3 ? &of->op_a : &of->op_b, value, bytes);
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
    *preference = calloc(1, sizeof(lt_preference));
    return *preference ? SUCCESS : NOT_INITIALIZED;
}

int cublasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value, size_t bytes)
{
    lt_preference *of = preference;

    if (attribute == 1 && bytes == sizeof of->workspace_bytes)
        memcpy(&of->workspace_bytes, value, bytes);
    else if (attribute == 3 && bytes == sizeof of->reductions)
        memcpy(&of->reductions, value, bytes);
    else
        return INVALID_VALUE;
    return SUCCESS;
}

int cublasLtMatmulPreferenceDestroy(void *preference)
{
    free(preference);
    return SUCCESS;
}

/* The product that layouts describe. C, which a beta of 0 leaves unread, lies like D, and is bf16 where D has 8-bit floats. */
static int read_product(const lt_desc *desc, const lt_layout *a, const lt_layout *b, const lt_layout *c, const lt_layout *d,
                        gemm *g)
{
    *g = (gemm){
        .op_a = desc->op_a,
        .op_b = desc->op_b,
        .type_a = a->type,
        .type_b = b->type,
        .type_c = d->type,
        .compute = desc->compute,
        .m = desc->op_a ? a->cols : a->rows,
        .n = desc->op_b ? b->rows : b->cols,
        .k = desc->op_a ? a->rows : a->cols,
        .lda = a->ld,
        .ldb = b->ld,
        .ldc = d->ld,
        .stride_a = a->stride,
        .stride_b = b->stride,
        .stride_c = d->stride,
        .batch = d->batch,
    };
    return g->k == (g->op_b ? b->cols : b->rows) && g->m == d->rows && g->n == d->cols && a->batch == d->batch &&
           b->batch == d->batch && c->rows == d->rows && c->cols == d->cols && c->ld == d->ld && c->stride == d->stride &&
           c->batch == d->batch && c->type == (is_fp8(d->type) ? R_16BF : d->type) && desc->scale_type == math[scale_of(g)].id;
}

int cublasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, int wanted,
                                   lt_idea *idea, int *count)
{
    const lt_preference *asked = preference;
    gemm g;

    if (handle != &fake || wanted != 32 || asked->workspace_bytes != (size_t)64 << 20 || !read_product(desc, a, b, c, d, &g))
        return INVALID_VALUE;
    if (!is_offered(&g))
        return NOT_SUPPORTED;
    /* No sum may pass through a type that is narrower than its own. */
    if (asked->reductions != (g.type_c == math[type[element_of(g.type_a)].sum].id ? REDUCTIONS : REDUCTIONS_IN_COMPUTE_TYPE))
        return INVALID_VALUE;
    memset(idea, 0, 4 * sizeof *idea);
    for (uint64_t i = 0; i < 4; i++)
        idea[i].algo[0] = i;
    idea[1].status = NOT_SUPPORTED;
    *count = 4;
    return SUCCESS;
}

/* The shapes of the matrices and the flags must agree, as the real one demands. */
int cublasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *layout_a, const void *b, void *layout_b,
                   const void *beta, const void *c, void *layout_c, void *d, void *layout_d, const uint64_t *algo,
                   void *workspace, size_t workspace_bytes, void *stream)
{
    gemm g;

    if (handle != &fake || c != d || (workspace_bytes && !workspace) ||
        !read_product(desc, layout_a, layout_b, layout_c, layout_d, &g))
        return INVALID_VALUE;
    if (algo[0] == 2)
        return NOT_SUPPORTED;
    if (is_wrong("idle"))
        return SUCCESS;
    g.a = a;
    g.b = b;
    g.c = d;
    return run("cublaslt", g, alpha, beta, stream);
}
