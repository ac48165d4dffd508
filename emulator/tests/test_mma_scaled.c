/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * mma.sync of 8, 6 and 4-bit floats on sm_120a, with block scales and without, against float64. Fragments and scales lie as the
 * PTX manual says; the test computes the places on its own.
 */
#include "emulator_test.h"

#include <math.h>

enum { M = 16, N = 8, MOST_K = 64, LANES = 32 };

static void open_device(void)
{
    open_emulator("sm_120");
}

TestSuite(mma_scaled, .init = open_device, .timeout = 120);

/* A format by its bits of exponent and fraction. */
typedef struct format {
    const char *name;
    int exponent, fraction;
} format;

static const format e4m3 = {"e4m3", 4, 3}, e5m2 = {"e5m2", 5, 2}, e2m3 = {"e2m3", 2, 3}, e3m2 = {"e3m2", 3, 2},
                    e2m1 = {"e2m1", 2, 1};

typedef struct instruction {
    const char *modifiers; /* after the shape; the types of A and B come between the two of .f32 */
    const format *a, *b;
    int k, scales;      /* of a row: 0, 1, 2 or 4 */
    const char *ending; /* ".ue8m0" */
    int selector[2][2]; /* byte-id and thread-id of A, and of B */
} instruction;

static const instruction instructions[] = {
    {".kind::f8f6f4", &e4m3, &e5m2, 32, 0, "", {{0}}},
    {".kind::f8f6f4", &e2m1, &e3m2, 32, 0, "", {{0}}},
    {".kind::f8f6f4", &e2m3, &e2m1, 32, 0, "", {{0}}},
    {".kind::mxf8f6f4.block_scale", &e4m3, &e4m3, 32, 1, ".ue8m0", {{0, 0}, {0, 0}}},
    {".kind::mxf8f6f4.block_scale.scale_vec::1X", &e5m2, &e4m3, 32, 1, ".ue8m0", {{3, 1}, {2, 3}}},
    {".kind::mxf8f6f4.block_scale.scale_vec::1X", &e4m3, &e2m1, 32, 1, ".ue8m0", {{1, 0}, {1, 2}}},
    {".kind::mxf8f6f4.block_scale.scale_vec::1X", &e3m2, &e2m3, 32, 1, ".ue8m0", {{2, 1}, {0, 1}}},
    {".kind::mxf4.block_scale", &e2m1, &e2m1, 64, 2, ".ue8m0", {{0, 0}, {2, 1}}},
    {".kind::mxf4nvf4.block_scale.scale_vec::2X", &e2m1, &e2m1, 64, 2, ".ue8m0", {{2, 1}, {0, 3}}},
    {".kind::mxf4nvf4.block_scale.scale_vec::4X", &e2m1, &e2m1, 64, 4, ".ue4m3", {{0, 1}, {0, 2}}},
};

enum { INSTRUCTIONS = sizeof instructions / sizeof instructions[0] };

/* Registers of each lane, in the order in which the kernel loads them. */
typedef struct lane {
    uint32_t a[4], b[2], scale[2];
    float c[4];
} lane;

/* The elements and scales of a product as codes. */
typedef struct operands {
    uint8_t a[M][MOST_K], b[N][MOST_K], scale_a[M][4], scale_b[N][4];
    float c[M][N];
} operands;

/* Append kernel "k<n>" with an instruction. */
static void append_kernel(char *text, size_t bytes, const instruction *one, int n)
{
    char scales[128] = "";
    const int(*s)[2] = one->selector;

    if (one->scales)
        snprintf(scales, sizeof scales, ", %%10, {%d, %d}, %%11, {%d, %d}", s[0][0], s[0][1], s[1][0], s[1][1]);
    snprintf(text + strlen(text), bytes - strlen(text),
             "extern \"C\" __global__ void k%d(const lane *in, float4 *out) {\n"
             "    lane x = in[threadIdx.x];\n"
             "    asm(\"mma.sync.aligned.m16n8k%d.row.col%s.f32.%s.%s.f32%s \"\n"
             "        \"{%%0, %%1, %%2, %%3}, {%%4, %%5, %%6, %%7}, {%%8, %%9}, {%%0, %%1, %%2, %%3}%s;\"\n"
             "        : \"+f\"(x.c.x), \"+f\"(x.c.y), \"+f\"(x.c.z), \"+f\"(x.c.w)\n"
             "        : \"r\"(x.a.x), \"r\"(x.a.y), \"r\"(x.a.z), \"r\"(x.a.w), \"r\"(x.b.x), \"r\"(x.b.y), \"r\"(x.sa), "
             "\"r\"(x.sb));\n"
             "    out[threadIdx.x] = x.c;\n}\n",
             n, one->k, one->modifiers, one->a->name, one->b->name, one->ending, scales);
}

static char *compile_all(const nvrtc *by, const char *target)
{
    static char text[32768];

    snprintf(text, sizeof text, "struct lane { uint4 a; uint2 b; unsigned sa, sb; float4 c; };\n");
    for (int n = 0; n < INSTRUCTIONS; n++)
        append_kernel(text, sizeof text, &instructions[n], n);
    return compile_text(by, text, target, "the instructions");
}

static double value_of(const format *f, unsigned code)
{
    const int bias = (1 << (f->exponent - 1)) - 1, exponent = (int)(code >> f->fraction) & ((1 << f->exponent) - 1);
    const int fraction = (int)code & ((1 << f->fraction) - 1);
    const double size =
        exponent ? ldexp(1 + ldexp(fraction, -f->fraction), exponent - bias) : ldexp(fraction, 1 - bias - f->fraction);

    return code >> (f->exponent + f->fraction) & 1 ? -size : size;
}

static double scale_of(const instruction *one, unsigned code)
{
    if (!one->scales)
        return 1;
    return one->scales == 4 ? value_of(&e4m3, code & 127) : ldexp(1, (int)code - 127);
}

/* A code that is a number: no NaN and no infinity. */
static uint8_t random_code(const format *f)
{
    const unsigned bits = (unsigned)(1 + f->exponent + f->fraction);
    const unsigned code = (unsigned)rand() & ((1u << bits) - 1);
    const bool has_others = bits == 8, is_high = (code & 0x7f) >= (f->fraction == 3 ? 0x7fu : 0x7cu);

    return (uint8_t)(has_others && is_high ? code - 16 : code);
}

static operands random_operands(const instruction *one)
{
    operands x = {0};

    for (int k = 0; k < one->k; k++) {
        for (int row = 0; row < M; row++)
            x.a[row][k] = random_code(one->a);
        for (int column = 0; column < N; column++)
            x.b[column][k] = random_code(one->b);
    }
    for (int row = 0; row < M; row++)
        for (int i = 0; i < N; i++) {
            x.scale_a[row][i % 4] = (uint8_t)(one->scales == 4 ? rand() % 127 : 120 + rand() % 14);
            x.scale_b[row % N][i % 4] = (uint8_t)(one->scales == 4 ? rand() % 127 : 120 + rand() % 14);
            x.c[row][i] = (float)(rand() % 2001 - 1000) / 8;
        }
    return x;
}

/* Put an element into a lane's registers: 4 bits at k = 64; else a byte, in which e2m1 has two empty bits below. */
static void put(uint32_t *registers, const instruction *one, const format *f, int element, unsigned code)
{
    const int bits = one->k == 64 ? 4 : 8;
    const unsigned placed = bits == 8 && f == &e2m1 ? code << 2 : code;

    registers[element * bits / 32] |= placed << element * bits % 32;
}

static void fill_lanes(const instruction *one, const operands *x, lane lanes[LANES])
{
    const int packed = one->k == 64 ? 8 : 4; /* elements in a register */

    memset(lanes, 0, LANES * sizeof *lanes);
    for (int l = 0; l < LANES; l++) {
        const int group = l / 4, in_group = l % 4;
        for (int i = 0; i < 4 * packed; i++) {
            const int row = group + i / packed % 2 * 8;
            const int k = in_group * packed + i % packed + i / (2 * packed) * 4 * packed;
            put(lanes[l].a, one, one->a, i, x->a[row][k]);
        }
        for (int i = 0; i < 2 * packed; i++)
            put(lanes[l].b, one, one->b, i, x->b[group][in_group * packed + i % packed + i / packed * 4 * packed]);
        for (int i = 0; i < 4; i++)
            lanes[l].c[i] = x->c[group + i / 2 * 8][in_group * 2 + i % 2];
        lanes[l].scale[0] = lanes[l].scale[1] = 0xffffffff; /* NaN, where no scale is read */
    }
    for (int n = 0; n < one->scales; n++) {
        const int(*s)[2] = one->selector;
        for (int row = 0; row < M; row++) {
            uint32_t *word = &lanes[4 * (row % 8) + 2 * s[0][1] + row / 8].scale[0];
            *word &= ~(0xffu << 8 * (s[0][0] + n));
            *word |= (uint32_t)x->scale_a[row][n] << 8 * (s[0][0] + n);
        }
        for (int column = 0; column < N; column++) {
            uint32_t *word = &lanes[4 * column + s[1][1]].scale[1];
            *word &= ~(0xffu << 8 * (s[1][0] + n));
            *word |= (uint32_t)x->scale_b[column][n] << 8 * (s[1][0] + n);
        }
    }
}

/* Run kernel n of a module; out[lane][i] as the accumulators lie. Returns the findings. */
static findings run(void *module, int n, const lane lanes[LANES], float out[LANES][4], int *result)
{
    uint64_t in = device_memory(LANES * sizeof *lanes, lanes), to = device_memory(LANES * sizeof out[0], NULL);
    void *function = NULL, *parameters[] = {&in, &to};
    char name[8];
    findings found;

    snprintf(name, sizeof name, "k%d", n);
    cr_assert(eq(int, cu.function(&function, module, name), 0));
    *result = launch_and_wait(function, 1, LANES, 0, parameters);
    found = take_findings();
    if (*result == 0)
        cr_assert(eq(int, cu.read(out, to, LANES * sizeof out[0]), 0));
    cr_assert(eq(int, cu.free(in), 0));
    cr_assert(eq(int, cu.free(to), 0));
    return found;
}

static void expect_product(void *module, int n, const operands *x)
{
    const instruction *one = &instructions[n];
    lane lanes[LANES];
    float out[LANES][4];
    int result;
    findings found;

    fill_lanes(one, x, lanes);
    found = run(module, n, lanes, out, &result);
    cr_assert(eq(sz, found.count, 0), "%s: %s", one->modifiers, found.first[0].text);
    cr_assert(eq(int, result, 0));
    for (int l = 0; l < LANES; l++)
        for (int i = 0; i < 4; i++) {
            const int row = l / 4 + i / 2 * 8, column = l % 4 * 2 + i % 2, parts = one->scales ? one->scales : 1;
            double sum = (double)x->c[row][column], size = fabs(sum);
            for (int k = 0; k < one->k; k++) {
                const int part = k * parts / one->k;
                const double term = value_of(one->a, x->a[row][k]) * value_of(one->b, x->b[column][k]) *
                                    scale_of(one, x->scale_a[row][part]) * scale_of(one, x->scale_b[column][part]);
                sum += term;
                size += fabs(term);
            }
            cr_assert(le(dbl, fabs((double)out[l][i] - sum), ldexp(size, -21)), "%s %s %s, row %d, column %d: %.9g for %.9g",
                      one->modifiers, one->a->name, one->b->name, row, column, (double)out[l][i], sum);
        }
}

static void *load(const char *ptx)
{
    char log[2048];
    void *module = load_ptx(ptx, log, sizeof log);

    cr_assert(ne(ptr, module, NULL), "%s", log);
    return module;
}

Test(mma_scaled, products_are_those_of_float64)
{
    char *ptx = compile_all(nvrtc_or_skip("products_are_those_of_float64"), "sm_120a");
    void *module = load(ptx);

    srand(1);
    for (int n = 0; n < INSTRUCTIONS; n++)
        for (int i = 0; i < 20; i++) {
            const operands x = random_operands(&instructions[n]);
            expect_product(module, n, &x);
        }
    cr_assert(eq(int, cu.unload(module), 0));
    free(ptx);
}

/* Ones times ones with scales: k times both scales, exactly, and C. */
static float sum_of_ones(void *module, int n, uint8_t scale_a, uint8_t scale_b, uint8_t first, float c)
{
    const instruction *one = &instructions[n];
    const unsigned unit_a = ((1u << (one->a->exponent - 1)) - 1) << one->a->fraction,
                   unit_b = ((1u << (one->b->exponent - 1)) - 1) << one->b->fraction;
    operands x;
    lane lanes[LANES];
    float out[LANES][4];
    int result;

    memset(x.a, (int)unit_a, sizeof x.a);
    memset(x.b, (int)unit_b, sizeof x.b);
    memset(x.scale_a, scale_a, sizeof x.scale_a);
    memset(x.scale_b, scale_b, sizeof x.scale_b);
    x.a[0][0] = first;
    for (int row = 0; row < M; row++)
        for (int i = 0; i < N; i++)
            x.c[row][i] = c;
    fill_lanes(one, &x, lanes);
    run(module, n, lanes, out, &result);
    cr_assert(eq(int, result, 0));
    return out[0][0];
}

Test(mma_scaled, scales_of_zero_of_the_ends_of_the_range_and_nan)
{
    enum { MX8 = 3, NV4 = 9, E4M3_ONE = 0x38, E2M1_ONE = 2 };
    char *ptx = compile_all(nvrtc_or_skip("scales_of_zero_of_the_ends_of_the_range_and_nan"), "sm_120f");
    void *module = load(ptx);

    cr_expect(eq(flt, sum_of_ones(module, MX8, 127, 127, E4M3_ONE, 1), 33));
    cr_expect(eq(flt, sum_of_ones(module, MX8, 0, 254, E4M3_ONE, 0), 32), "2^-127 times 2^127");
    cr_expect(eq(flt, sum_of_ones(module, MX8, 0, 127, E4M3_ONE, 0), 0x1p-122f));
    cr_expect(eq(flt, sum_of_ones(module, MX8, 254, 127, E4M3_ONE, 0), INFINITY), "2^132 is beyond f32");
    cr_expect(isnan(sum_of_ones(module, MX8, 255, 127, E4M3_ONE, 0)));
    cr_expect(isnan(sum_of_ones(module, MX8, 127, 255, E4M3_ONE, 0)));
    cr_expect(isnan(sum_of_ones(module, MX8, 127, 127, 0x7f, 0)), "an element that is NaN");
    cr_expect(eq(flt, sum_of_ones(module, NV4, 0x38, 0x38, E2M1_ONE, 1), 65));
    cr_expect(eq(flt, sum_of_ones(module, NV4, 0, 0x38, E2M1_ONE, 3), 3), "a scale of zero");
    cr_expect(eq(flt, sum_of_ones(module, NV4, 0xb8, 0x38, E2M1_ONE, 0), 64), "the sign of ue4m3 is not read");
    cr_expect(isnan(sum_of_ones(module, NV4, 0x7f, 0x38, E2M1_ONE, 0)));
    cr_assert(eq(int, cu.unload(module), 0));
    free(ptx);
}

/* The model that the emulator assumes: bits far below the largest exponent are lost, at depth 64 after exact sums of 16. */
Test(mma_scaled, small_terms_next_to_a_large_one_are_cut)
{
    enum { MX8 = 3, MX4 = 7, E4M3_ONE = 0x38, E2M1_ONE = 2 };
    char *ptx = compile_all(nvrtc_or_skip("small_terms_next_to_a_large_one_are_cut"), "sm_120a");
    void *module = load(ptx);

    cr_expect(eq(flt, sum_of_ones(module, MX8, 127, 127, E4M3_ONE, 0x1p24f), 0x1p24f + 32));
    cr_expect(eq(flt, sum_of_ones(module, MX8, 127, 127, E4M3_ONE, 0x1p26f), 0x1p26f), "a one is below 2^26 - 25");
    cr_expect(eq(flt, sum_of_ones(module, MX4, 127, 127, E2M1_ONE, 0x1p26f), 0x1p26f + 64), "a one is not below 2^26 - 35");
    cr_assert(eq(int, cu.unload(module), 0));
    free(ptx);
}

/* Load PTX with the instruction of MXFP8 and these operands of scales for a target; NULL: refused, and log says why. */
static void *load_scaled(const char *target, const char *scales, char *log, size_t log_bytes)
{
    char text[2048];

    snprintf(text, sizeof text,
             ".version 9.0\n.target %s\n.address_size 64\n.visible .entry k0(.param .u64 in, .param .u64 out)\n{\n"
             ".reg .b32 %%r<32>;\n.reg .b64 %%d<4>;\n.reg .f32 %%f<4>;\n.reg .b16 %%h<4>;\n"
             "mov.b16 %%h1, 1;\nmov.b32 %%r8, 2139062143;\nmov.u32 %%r1, %%tid.x;\nld.param.u64 %%d1, [out];\n"
             "mul.wide.u32 %%d2, %%r1, 16;\nadd.u64 %%d1, %%d1, %%d2;\n"
             "mov.f32 %%f0, 0f00000000;\nmov.f32 %%f1, %%f0;\nmov.f32 %%f2, %%f0;\nmov.f32 %%f3, %%f0;\n"
             "mov.b32 %%r2, 943208504;\n" /* four times 1 */
             "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0 {%%f0, %%f1, %%f2, %%f3}, "
             "{%%r2, %%r2, %%r2, %%r2}, {%%r2, %%r2}, {%%f0, %%f1, %%f2, %%f3}, %s;\n"
             "st.global.v4.f32 [%%d1], {%%f0, %%f1, %%f2, %%f3};\nret;\n}\n",
             target, scales);
    return load_ptx(text, log, log_bytes);
}

/* The finding of a launch of the kernel with these operands of scales; NULL: none. */
static const char *finding_of(const char *scales)
{
    static findings found;
    static lane lanes[LANES];
    char log[1024];
    float out[LANES][4];
    void *module = load_scaled("sm_120a", scales, log, sizeof log);
    int result;

    cr_assert(ne(ptr, module, NULL), "%s", log);
    found = run(module, 0, lanes, out, &result);
    cr_assert(eq(int, cu.unload(module), 0));
    cr_expect(eq(int, result != 0, found.count > 0));
    if (result == 0)
        cr_expect(eq(flt, out[5][2], 32));
    return found.count ? found.first[0].text : NULL;
}

Test(mma_scaled, selectors_may_be_registers_and_must_be_in_range)
{
    cr_expect(eq(ptr, (void *)finding_of("%r8, {3, 1}, %r8, {3, 3}"), NULL));
    cr_expect(eq(ptr, (void *)finding_of("%r8, {%h1, %h1}, %r8, {%h1, %h1}"), NULL));
    cr_expect(ne(ptr, strstr(finding_of("%r8, {0, 2}, %r8, {0, 0}"), "thread-id 2 of the scales of A"), NULL));
    cr_expect(ne(ptr, strstr(finding_of("%r8, {0, 0}, %r8, {4, 0}"), "byte-id 4 and thread-id 0 of the scales of B"), NULL));
}

Test(mma_scaled, a_scale_that_nothing_wrote_is_a_finding)
{
    cr_expect(ne(ptr, strstr(finding_of("%r9, {0, 0}, %r8, {0, 0}"), "scales of a matrix product"), NULL));
    cr_expect(ne(ptr, strstr(finding_of("%r8, {0, 0}, %r9, {0, 0}"), "scales of a matrix product"), NULL));
}

Test(mma_scaled, only_sm_120a_and_its_family_have_the_instruction)
{
    static const struct {
        const char *target;
        bool has_it;
    } cases[] = {{"sm_120a", true}, {"sm_120f", true}, {"sm_120", false}};
    char log[1024];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        void *function = NULL, *module = load_scaled(cases[i].target, "%r8, {0, 0}, %r8, {0, 0}", log, sizeof log);
        cr_assert(ne(ptr, module, NULL), "%s", log);
        cr_expect(eq(int, cu.function(&function, module, "k0") == 0, cases[i].has_it), "%s: %s", cases[i].target, log);
        cr_assert(eq(int, cu.unload(module), 0));
    }
}
