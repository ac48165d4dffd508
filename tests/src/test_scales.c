/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/*
 * Scales of blocks, from the arrays of a launch to the product: every value that a scale may have, what is wrong with an array, and
 * proofs, whose runs begin where blocks do. The requests that are refused: tests/generator/test_requests.c.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "product_test.h"

static void start(void)
{
    open_context("sm_90", TJ_PROVE_NEVER);
}

TestSuite(scales, .init = start, .fini = stop, .timeout = 300);

/* Launch with these arrays, NULL for random ones, into p of f32, and let the reference judge it. */
static void multiply(const tj_problem *problem, const char *family, const void *const host[TJ_OPERANDS_MOST], float *p)
{
    tj_workbench_options options = TJ_WORKBENCH_INIT;
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    tj_config config = TJ_CONFIG_INIT;
    tj_workbench *bench;
    const tj_plan *plan;

    memcpy(options.host, host, sizeof options.host);
    config.family = tj_family_find(family);
    cr_assert(eq(int, tj_plan_prepare(context, problem, &config, &plan, &err), TJ_OK), "%s: %s", family, err.message);
    cr_assert(eq(int, tj_workbench_create(context, problem, &options, &bench, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_plan_launch(plan, tj_workbench_operands(bench), NULL, &err), TJ_OK), "%s: %s", family, err.message);
    cr_assert(eq(int, tj_synchronize(context, NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_workbench_read(bench, 0, p, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_workbench_check(bench, p, 0, 1, &report, &err), TJ_OK), "%s", err.message);
    cr_expect(report.passed, "%s: %s", family, report.reason);
    tj_workbench_free(bench);
    tj_plan_release(plan);
}

static const char *const families[] = {"naive", "tiled"};

/* Scales are the numbers they are: each part of k of a row is multiplied by its own. M and N are 1. */
Test(scales, may_have_any_value)
{
    enum { ROWS = 6, K = 70, COLS = 3, PARTS = 3 }; /* parts of 32, 32 and 6 */
    static float m[ROWS * K], n[K * COLS], p[ROWS * COLS];
    static const float scale[ROWS][PARTS] = {{1, 1, 1},  {1, NAN, 1}, {INFINITY, 1, 1},
                                             {-1, 0, 2}, {0, 0, 0},   {INFINITY, -INFINITY, 1}};
    static const float wanted[ROWS] = {70, NAN, INFINITY, -32 + 12, 0, NAN};
    const void *host[TJ_OPERANDS_MOST] = {[TJ_MATRIX_M] = m, [TJ_MATRIX_N] = n, [TJ_OPERAND_SCALE + TJ_MATRIX_M] = scale};
    tj_problem problem = TJ_PROBLEM_INIT(ROWS, K, COLS, TJ_F32);

    for (size_t i = 0; i < sizeof m / sizeof m[0]; i++)
        m[i] = 1;
    for (size_t i = 0; i < sizeof n / sizeof n[0]; i++)
        n[i] = 1;
    problem.scale[TJ_MATRIX_M] = (tj_scale){TJ_F32, TJ_SCALES_ROW_BY_ROW, .rows = 1, .k = 32};
    for (size_t f = 0; f < sizeof families / sizeof families[0] && has_nvrtc(); f++) {
        multiply(&problem, families[f], host, p);
        for (int r = 0; r < ROWS; r++)
            cr_expect(p[r * COLS] == wanted[r] || (isnan(p[r * COLS]) && isnan(wanted[r])), "%s: row %d is %g, not %g",
                      families[f], r, (double)p[r * COLS], (double)wanted[r]);
    }
}

/* The powers of e8m0, from the least, a subnormal float, to the largest; and 255, which is NaN. */
Test(scales, of_e8m0_are_powers_of_two)
{
    enum { COLS = 5 };
    static const float m[1] = {1}, n[COLS] = {1, 1, 1, 1, 1};
    static const uint8_t scale[COLS] = {0, 1, 127, 254, 255};
    static const float wanted[COLS] = {0x1p-127F, 0x1p-126F, 1, 0x1p127F, NAN};
    const void *host[TJ_OPERANDS_MOST] = {[TJ_MATRIX_M] = m, [TJ_MATRIX_N] = n, [TJ_OPERAND_SCALE + TJ_MATRIX_N] = scale};
    tj_problem problem = TJ_PROBLEM_INIT(1, 1, COLS, TJ_F32);
    float p[COLS];

    problem.scale[TJ_MATRIX_N] = (tj_scale)TJ_SCALE_INIT(TJ_E8M0, 1, 32);
    for (size_t f = 0; f < sizeof families / sizeof families[0] && has_nvrtc(); f++) {
        multiply(&problem, families[f], host, p);
        for (int c = 0; c < COLS; c++)
            cr_expect(p[c] == wanted[c] || (isnan(p[c]) && isnan(wanted[c])), "%s: column %d is %g", families[f], c,
                      (double)p[c]);
    }
}

/*
 * Each power of e8m0 next to each number of e2m1, where wgmma multiplies one by the other in bf16. A column has one scale and one
 * number that is not zero; where the product is infinite in f32, so is P.
 */
Test(scales, of_e8m0_multiply_weights_exactly)
{
    enum { K = 32, SCALES = 256, NUMBERS = 16, COLS = SCALES * NUMBERS };
    static const float magnitudes[NUMBERS / 2] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
    static uint8_t n[COLS][K / 2], scale[COLS];
    static uint16_t m[8][K];
    tj_workbench_options options = TJ_WORKBENCH_INIT;
    tj_problem problem = TJ_PROBLEM_INIT(8, K, COLS, TJ_BF16);
    tj_config config = TJ_CONFIG_INIT;
    static float p[8 * COLS];
    tj_workbench *bench;
    const tj_plan *plan;

    if (!has_nvrtc())
        return;
    for (int c = 0; c < COLS; c++) {
        n[c][c % (K / 2)] = (uint8_t)(c / SCALES);
        scale[c] = (uint8_t)(c % SCALES);
    }
    for (int k = 0; k < K; k++)
        m[0][k] = 0x3f80; /* 1; other rows are 0 */
    problem.n.type = TJ_E2M1;
    problem.n.layout = TJ_COL_MAJOR;
    problem.p.type = TJ_F32;
    problem.scale[TJ_MATRIX_N] = (tj_scale){TJ_E8M0, TJ_SCALES_ROW_BY_ROW, .rows = 1, .k = K};
    options.host[TJ_MATRIX_M] = m;
    options.host[TJ_MATRIX_N] = n;
    options.host[TJ_OPERAND_SCALE + TJ_MATRIX_N] = scale;
    cr_assert(eq(int, tj_config_parse("wgmma:swap=yes,bm=64,bn=8", &config, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_plan_prepare(context, &problem, &config, &plan, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_workbench_create(context, &problem, &options, &bench, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_plan_launch(plan, tj_workbench_operands(bench), NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_synchronize(context, NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_workbench_read(bench, 0, p, &err), TJ_OK), "%s", err.message);
    for (int c = 0; c < COLS; c++) {
        const int number = c / SCALES;
        const float wanted =
            c % SCALES == 255 ? NAN : ldexpf(number < 8 ? magnitudes[number] : -magnitudes[number - 8], c % SCALES - 127);

        cr_expect(p[c] == wanted || (isnan(p[c]) && isnan(wanted)), "%d times 2^(%d - 127) is %g, not %g", number, c % SCALES,
                  (double)p[c], (double)wanted);
    }
    tj_workbench_free(bench);
    tj_plan_release(plan);
}

/* Each weight of 4 bits times each scale of 8 bits that there is: rows of M pick the weights one by one. */
Test(scales, of_weights_of_4_bits_are_multiplied_exactly)
{
    enum { WEIGHTS = 16, K = 128, COLS = 256 };
    static const char *const takers[] = {"naive", "tiled", "thin"};
    static const float value[WEIGHTS] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6, 0, -0.5F, -1, -1.5F, -2, -3, -4, -6};
    static uint16_t m[WEIGHTS * K];
    static uint8_t n[COLS * K / 2], scale[COLS * K / 16];
    static float p[WEIGHTS * COLS];
    const void *host[TJ_OPERANDS_MOST] = {[TJ_MATRIX_M] = m, [TJ_MATRIX_N] = n, [TJ_OPERAND_SCALE + TJ_MATRIX_N] = scale};

    for (int i = 0; i < WEIGHTS; i++)
        m[i * K + 7 * i] = 0x3f80; /* 1, in bf16 */
    for (int c = 0; c < COLS; c++)
        for (int i = 0; i < WEIGHTS; i++)
            n[(c * K + 7 * i) / 2] |= (uint8_t)(i << 4 * (i % 2));
    for (int is_e4m3 = 0; is_e4m3 < 2; is_e4m3++) {
        const int parts = is_e4m3 ? K / 16 : K / 32;
        tj_problem problem = TJ_PROBLEM_INIT(WEIGHTS, K, COLS, TJ_BF16);

        for (int i = 0; i < COLS * parts; i++)
            scale[i] = (uint8_t)(i / parts);
        problem.n.type = TJ_E2M1;
        problem.n.layout = TJ_COL_MAJOR;
        problem.p.type = TJ_F32;
        problem.scale[TJ_MATRIX_N] = (tj_scale){is_e4m3 ? TJ_E4M3 : TJ_E8M0, TJ_SCALES_ROW_BY_ROW, .rows = 1, .k = K / parts};
        for (size_t f = 0; f < sizeof takers / sizeof takers[0] && has_nvrtc(); f++) {
            multiply(&problem, takers[f], host, p);
            for (int i = 0; i < WEIGHTS * COLS; i++) {
                const int bits = i % COLS, fraction = bits & 7, exponent = bits >> 3 & 15;
                const float of_e4m3 = (bits & 127) == 127 ? NAN
                                      : exponent == 0     ? ldexpf((float)fraction, -9)
                                                          : ldexpf((float)(8 + fraction), exponent - 10);
                const float factor = !is_e4m3 ? bits == 255 ? NAN : ldexpf(1, bits - 127) : bits >= 128 ? -of_e4m3 : of_e4m3;
                const float wanted = value[i / COLS] * factor;

                cr_expect(p[i] == wanted || (isnan(p[i]) && isnan(wanted)), "%s: %g times scale %d is %g", takers[f],
                          (double)value[i / COLS], bits, (double)p[i]);
            }
        }
    }
}

/* Scales of the whole sum that are fractions, of every type, where tiles hang over the edges of P. */
Test(scales, of_sums_may_be_fractions)
{
    enum { ROWS = 52, K = 64, COLS = 176 };
    static const char *const takers[] = {"naive", "tiled", "mma", "wgmma"};
    static const int8_t types[] = {TJ_F32, TJ_F16, TJ_BF16, TJ_E8M0, TJ_E4M3};
    static float p[ROWS * COLS];

    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
        for (size_t f = 0; f < sizeof takers / sizeof takers[0] && has_nvrtc(); f++) {
            const void *host[TJ_OPERANDS_MOST] = {NULL};
            tj_problem problem = TJ_PROBLEM_INIT(ROWS, K, COLS, TJ_BF16);

            problem.n.type = TJ_S8;
            problem.p.type = TJ_F32;
            problem.scale[TJ_MATRIX_M] = (tj_scale)TJ_SCALE_INIT(types[t], 1, 0);
            problem.scale[TJ_MATRIX_N] = (tj_scale)TJ_SCALE_INIT(types[t], 1, 0);
            multiply(&problem, takers[f], host, p);
        }
}

/* A zero point is any number of its type, whatever the weights can be. An odd number of them leaves half of a byte unused. */
Test(scales, have_zero_points_of_any_value)
{
    enum { COLS = 3 };
    static const float m[1] = {1};
    static const uint8_t n[2] = {0x7f, 0x08}; /* s4: -1, 7, -8 */
    static const float scale[COLS] = {1, 2, 0.5F}, floats[COLS] = {0.25F, -1000, 1e6F};
    static const uint8_t bytes[COLS] = {0, 200, 255}, pairs[2] = {0xf3, 0x59}; /* u4: 3, 15, 9 */
    static const struct {
        int8_t type;
        const void *zero;
        float wanted[COLS];
    } row[] = {{TJ_U8, bytes, {-1, 2 * (7 - 200), 0.5F * (-8 - 255)}},
               {TJ_U4, pairs, {-1 - 3, 2 * (7 - 15), 0.5F * (-8 - 9)}},
               {TJ_F32, floats, {-1.25F, 2014, 0.5F * (-8 - 1e6F)}}};

    for (size_t i = 0; i < sizeof row / sizeof row[0] && has_nvrtc(); i++)
        for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
            const void *host[TJ_OPERANDS_MOST] = {[TJ_MATRIX_M] = m,
                                                  [TJ_MATRIX_N] = n,
                                                  [TJ_OPERAND_SCALE + TJ_MATRIX_N] = scale,
                                                  [TJ_OPERAND_ZERO + TJ_MATRIX_N] = row[i].zero};
            tj_problem problem = TJ_PROBLEM_INIT(1, 1, COLS, TJ_F32);
            float p[COLS];

            problem.n.type = TJ_S4;
            problem.scale[TJ_MATRIX_N] = (tj_scale){TJ_F32, .zero = row[i].type, .rows = 1, .k = i == 1 ? 0 : 32};
            multiply(&problem, families[f], host, p);
            for (int c = 0; c < COLS; c++)
                cr_expect(p[c] == row[i].wanted[c], "%s: zero points %zu, column %d: %g", families[f], i, c, (double)p[c]);
        }
}

/* An array that is not there, not aligned, too narrow, or in P. */
Test(scales, of_a_launch_are_named_if_they_are_wrong)
{
    tj_problem problem = TJ_PROBLEM_INIT(8, 64, 12, TJ_F16);
    tj_workbench_options options = TJ_WORKBENCH_INIT;
    tj_config config = TJ_CONFIG_INIT;
    tj_workbench *bench;
    const tj_plan *plan;

    problem.n.type = TJ_S8;
    problem.p.type = TJ_F32;
    problem.scale[TJ_MATRIX_N] = (tj_scale){TJ_BF16, .zero = TJ_U4, .whole = 1, .rows = 1, .k = 32};
    config.family = tj_family_find("tiled");
    if (!has_nvrtc())
        return;
    cr_assert(eq(int, tj_plan_prepare(context, &problem, &config, &plan, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_workbench_create(context, &problem, &options, &bench, &err), TJ_OK), "%s", err.message);
    const tj_operands good = *tj_workbench_operands(bench);
    const char *const p = good.p.address;
    const tj_operand scale = good.scale[TJ_MATRIX_N], zero = good.zero[TJ_MATRIX_N];
    const struct {
        const char *words;
        tj_operand scale, zero, whole;
    } row[] = {
        {"scale_n is NULL: give the device address of the scales of N", {NULL, 0, 0}, zero, good.whole[TJ_MATRIX_N]},
        {"zero_n is NULL: give the device address of the zero points of N", scale, {NULL, 0, 0}, good.whole[TJ_MATRIX_N]},
        {"whole_n is NULL: give the device address of the scale of all of N", scale, zero, {NULL, 0, 0}},
        {"which is not aligned to its elements of 2 bytes",
         {(const char *)scale.address + 1, 0, 0},
         zero,
         good.whole[TJ_MATRIX_N]},
        {"which is not aligned to its elements of 4 bytes",
         scale,
         zero,
         {(const char *)good.whole[TJ_MATRIX_N].address + 2, 0, 0}},
        {"scale_n.ld is 11, and a stored row of the scales of N has 12 elements",
         {scale.address, 11, 0},
         zero,
         good.whole[TJ_MATRIX_N]},
        {"zero_n.ld is 5, and a stored row of the zero points of N has 6 elements",
         scale,
         {zero.address, 5, 0},
         good.whole[TJ_MATRIX_N]},
        {"and the scales of N at", {p + 4, 0, 0}, zero, good.whole[TJ_MATRIX_N]},
        {"and the zero points of N at", scale, {p + 1, 0, 0}, good.whole[TJ_MATRIX_N]},
        {"P is at the address of the scale of all of N", scale, zero, {p, 0, 0}},
    };

    cr_expect(eq(int, tj_plan_launch(plan, &good, NULL, &err), TJ_OK), "%s", err.message);
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        tj_operands x = good;

        x.scale[TJ_MATRIX_N] = row[i].scale;
        x.zero[TJ_MATRIX_N] = row[i].zero;
        x.whole[TJ_MATRIX_N] = row[i].whole;
        cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT), "%s", row[i].words);
        cr_expect(says(row[i].words), "%s: %s", row[i].words, err.message);
    }
    cr_expect(eq(int, tj_synchronize(context, NULL, &err), TJ_OK), "%s", err.message);
    tj_workbench_free(bench);
    tj_plan_release(plan);
}

/* Samples of lines begin where a block, a tile of scales or a byte does. */
Test(scales, of_blocks_are_proven)
{
    static const struct {
        tj_scale m, n;
        int16_t p_layout;
    } row[] = {
        {{TJ_F32, TJ_SCALES_ROW_BY_ROW, .rows = 128, .k = 32}, {TJ_F16, .rows = 5, .k = 64}, TJ_ROW_MAJOR},
        {{TJ_E8M0, TJ_SCALES_IN_TILES, .rows = 1, .k = 32}, {TJ_E8M0, TJ_SCALES_IN_TILES, .rows = 1, .k = 32}, TJ_ROW_MAJOR},
        {{TJ_F32, .rows = 1, .k = 32}, {TJ_BF16, .zero = TJ_U4, .whole = 1, .rows = 3, .k = 32}, TJ_COL_MAJOR}};

    for (size_t i = 0; i < sizeof row / sizeof row[0] && has_nvrtc(); i++) {
        tj_problem problem = TJ_PROBLEM_INIT(601, 100, 403, TJ_F16);
        tj_config config = TJ_CONFIG_INIT;
        tj_proof proof = TJ_PROOF_INIT;
        const tj_plan *plan;

        problem.n.type = row[i].n.zero ? TJ_S8 : TJ_F16;
        problem.scale[TJ_MATRIX_M] = row[i].m;
        problem.scale[TJ_MATRIX_N] = row[i].n;
        problem.p.layout = row[i].p_layout;
        problem.p.type = TJ_F32;
        config.family = tj_family_find("tiled");
        cr_assert(eq(int, tj_plan_prepare(context, &problem, &config, &plan, &err), TJ_OK), "%s", err.message);
        cr_expect(eq(int, tj_plan_prove(context, plan, &problem, 1, &proof, &err), TJ_OK), "%s", err.message);
        cr_expect(proof.passed && proof.elements > 0 && proof.elements < 601 * 403, "%zu: %s", i, proof.reason);
        tj_plan_release(plan);
    }
}

/* A scale of a block of rows or columns multiplies their whole sums, of threads that store elements, vectors and boxes. */
Test(scales, of_blocks_multiply_whole_sums)
{
    static const char *const configs[] = {"wgmma:bm=64,bn=32", "wgmma:bm=64,bn=32,splits=2",
                                          "wgmma:bm=64,bn=32,store=elements"};

    for (unsigned i = 0; i < 12 && has_nvrtc(); i++) {
        tj_problem problem = TJ_PROBLEM_INIT(15, 135, 96, TJ_U8);
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        const bool turns = i / 3 % 2;
        char label[160];

        problem.n.type = TJ_BF16;
        problem.m.transposed = 1;
        problem.n.transposed = 1;
        if (turns) { /* what is loaded as M is the caller's N */
            problem.j.extent = 96;
            problem.l.extent = 15;
            problem.m.type = TJ_BF16;
            problem.n.type = TJ_U8;
        }
        problem.scale[i / 6 == 0 ? TJ_MATRIX_M : TJ_MATRIX_N] = (tj_scale){TJ_F32, .rows = 5};
        options.guard_bytes = 256;
        snprintf(label, sizeof label, "%s, variant %u", configs[i % 3], i);
        expect_right_product(&problem, configs[i % 3], &options, label);
    }
}
