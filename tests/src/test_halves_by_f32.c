/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/*
 * Floats of 16 bits by f32, as a router multiplies activations by its weights, on the emulator: in either order, by every family
 * that takes them, within the bound of f32. wgmma takes each f32 apart into three bf16.
 */
#include <math.h>
#include <stdio.h>

#include "product_test.h"

TestSuite(halves_by_f32, .fini = stop, .timeout = 300);

/* In either order, in every layout, with a P of either type. */
Test(halves_by_f32, are_multiplied_in_f32)
{
    static const char *const configs[] = {"naive", "tiled", "tiled:shared=dynamic,tile_width=8", "skinny:stream=n",
                                          "skinny:stream=m,splits=2"};

    open_context("sm_80", TJ_PROVE_NEVER);
    for (unsigned i = 0; i < 20 && has_nvrtc(); i++) {
        tj_problem problem = TJ_PROBLEM_INIT(i % 3 ? 5 : 19, 70, 40, i / 2 % 2 ? TJ_F16 : TJ_BF16);
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        char label[160];

        problem.n.type = TJ_F32;
        if (i % 2) {
            problem.n.type = problem.m.type;
            problem.m.type = TJ_F32;
        }
        problem.m.layout = (int16_t)(i / 5 % 2);
        problem.n.layout = (int16_t)(i / 10);
        problem.p.type = i % 4 == 3 ? TJ_BF16 : TJ_TYPE_DEFAULT;
        problem.batch = i % 7 == 6 ? 3 : 1;
        options.guard_bytes = 256;
        snprintf(label, sizeof label, "%s, variant %u", configs[i % 5], i);
        expect_right_product(&problem, configs[i % 5], &options, label);
    }
}

/* Tensor cores multiply the f32, which comes from registers: tiles beyond each edge, shared k, clusters, turns, and what follows the sum. */
Test(halves_by_f32, are_multiplied_by_tensor_cores)
{
    static const struct {
        const char *config;
        int32_t j, k, l;
        bool turned; /* M is f32 */
        int16_t across, p_layout, p_type;
        bool has_beta, f32_across; /* the f32 lies across k */
    } row[] = {
        {"wgmma:swap=yes,bm=64,bn=32", 70, 152, 72, false, 0, 0, TJ_F32, false},
        {"wgmma:swap=yes,bm=128,bn=64,cluster=m2", 90, 200, 200, false, 1, 0, TJ_F32, true},
        {"wgmma:swap=yes,bm=256,bn=64,multipliers=2", 40, 72, 250, false, 0, 0, TJ_BF16, false},
        {"wgmma:swap=yes,bm=64,bn=24,cluster=k2", 17, 328, 64, false, 0, 0, TJ_F32, false},
        {"wgmma:swap=yes,bm=64,bn=16,splits=3", 9, 520, 72, false, 0, 0, TJ_F32, true},
        {"wgmma:swap=yes,bm=128,bn=32,pingpong=yes,multipliers=2", 130, 136, 130, false, 1, 0, TJ_F16, false},
        {"wgmma:swap=no,bm=64,bn=32", 70, 152, 72, true, 0, 0, TJ_F32, false},
        {"wgmma:swap=no,bm=128,bn=64,cluster=n2,store=lines", 140, 104, 72, true, 1, 0, TJ_F32, true},
        {"wgmma:swap=no,bm=64,bn=32,blocks=2,stages=2", 64, 64, 64, false, 0, 1, TJ_F32, false},
        {NULL, 300, 512, 128, false, 0, 0, TJ_F32, false},
        {"wgmma:swap=yes,bm=64,bn=32", 70, 152, 72, false, 0, 0, TJ_F32, false, true},
        {"wgmma:swap=yes,bm=128,bn=64,cluster=m2", 90, 200, 200, false, 1, 0, TJ_F32, true, true},
        {"wgmma:swap=yes,bm=256,bn=64,multipliers=2", 40, 72, 252, false, 0, 0, TJ_BF16, false, true},
        {"wgmma:swap=yes,bm=64,bn=24,cluster=k2", 17, 336, 64, false, 0, 0, TJ_F32, false, true},
        {"wgmma:swap=yes,bm=64,bn=16,splits=3", 9, 520, 72, false, 0, 0, TJ_F32, true, true},
        {"wgmma:swap=no,bm=128,bn=64,cluster=n2,store=lines", 140, 104, 72, true, 1, 0, TJ_F32, true, true},
    };

    open_context("sm_90", TJ_PROVE_NEVER);
    for (size_t i = 0; i < sizeof row / sizeof row[0] && has_nvrtc(); i++) {
        tj_problem problem = TJ_PROBLEM_INIT(row[i].j, row[i].k, row[i].l, row[i].turned ? TJ_F32 : TJ_BF16);
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        char label[160];

        problem.n.type = row[i].turned ? TJ_BF16 : TJ_F32;
        problem.m.layout = row[i].turned ? (int16_t)row[i].f32_across : row[i].across;
        problem.n.layout = row[i].turned ? row[i].across : (int16_t)!row[i].f32_across;
        if ((row[i].turned ? row[i].l : row[i].j) % 8 != 0 && row[i].across)
            *(row[i].turned ? &problem.n.ld : &problem.m.ld) = (row[i].turned ? row[i].l : row[i].j) / 8 * 8 + 8;
        problem.p.layout = row[i].p_layout;
        problem.p.type = row[i].p_type;
        problem.epilogue.has_alpha = problem.epilogue.has_beta = row[i].has_beta;
        options.alpha = 1.5;
        options.beta = -0.5;
        options.guard_bytes = 256;
        snprintf(label, sizeof label, "%s, variant %zu", row[i].config ? row[i].config : "the choice", i);
        expect_right_product(&problem, row[i].config, &options, label);
    }
    tj_problem problem = TJ_PROBLEM_INIT(24, 136, 72, TJ_BF16);

    problem.n = (tj_matrix){.type = TJ_F32, .layout = TJ_COL_MAJOR};
    problem.j.mode = problem.k.mode = problem.l.mode = TJ_DIM_ANY;
    problem.k.multiple_of = 8;
    if (has_nvrtc())
        expect_right_product(&problem, "wgmma:swap=yes,bm=64,bn=16", NULL, "any extents");
}

/* Numbers at the ends of the range, in places where they count. */
static float with_infinity(int64_t line, int64_t k)
{
    return line == 3 && k == 17 ? -INFINITY : (float)((line * 7 + k * 3) % 11 - 5);
}

static float with_nan(int64_t line, int64_t k)
{
    return line == 5 && k == 20 ? NAN : (float)((line * 5 + k * 3) % 13 - 6);
}

static float with_opposite_infinities(int64_t line, int64_t k)
{
    return line == 1 && k < 2 ? (k ? INFINITY : -INFINITY) : 1;
}

static float that_overflows(int64_t line, int64_t k)
{
    return ldexpf((float)((line + k) % 5 - 2), 125);
}

static float that_is_large(int64_t line, int64_t k)
{
    return line % 2 ? ldexpf(1.0F + (float)(k % 9) / 512, 113) : (float)(k % 3);
}

static float that_is_subnormal(int64_t line, int64_t k)
{
    return ldexpf((float)(((line * 8191 + k * 127) % 8388607) | 1), -149);
}

static float that_spans_much(int64_t line, int64_t k)
{
    return ldexpf(1.0F + (float)((line * 8191 + k * 127) % 8388607) * 0x1p-23F, (int)(k % 200) - 126);
}

static float that_is_one(int64_t line, int64_t k)
{
    (void)line, (void)k;
    return 1;
}

static float that_is_small(int64_t line, int64_t k)
{
    return ldexpf(1 + (float)(line % 3) / 8, k % 200 < 100 ? -60 : -100);
}

static float that_has_infinity(int64_t line, int64_t k)
{
    return line == 2 && k == 9 ? INFINITY : (float)((line + k) % 3 - 1);
}

/* A thread whose sums are infinite or NaN computes them again in f32; for all other sums, no bit of an operand is lost. */
Test(halves_by_f32, of_any_size_are_as_those_of_f32)
{
    static const struct {
        const char *name;
        float (*half)(int64_t line, int64_t k), (*whole)(int64_t line, int64_t k);
    } row[] = {{"an infinity", that_is_one, with_infinity},
               {"a NaN", that_is_one, with_nan},
               {"two infinities", that_is_one, with_opposite_infinities},
               {"an infinity among the halves", that_has_infinity, that_is_one},
               {"an infinity by zeros", that_has_infinity, that_has_infinity},
               {"sums that overflow", that_is_one, that_overflows},
               {"sums that would overflow in planes", that_is_one, that_is_large},
               {"subnormal numbers", that_is_one, that_is_subnormal},
               {"numbers of any size", that_is_one, that_spans_much},
               {"numbers of any size by small ones", that_is_small, that_spans_much}};
    static const char *const configs[] = {"wgmma:swap=yes,bm=64,bn=16", "wgmma:swap=yes,bm=64,bn=16,splits=2",
                                          "skinny:stream=n"};
    enum { J = 12, K = 200, L = 68 };
    static uint16_t m[J * K];
    static float n[L * K];

    open_context("sm_90", TJ_PROVE_NEVER);
    for (size_t i = 0; i < sizeof row / sizeof row[0] && has_nvrtc(); i++)
        for (size_t c = 0; c < sizeof configs / sizeof configs[0]; c++) {
            tj_problem problem = TJ_PROBLEM_INIT(J, K, L, TJ_BF16);
            tj_workbench_options options = TJ_WORKBENCH_INIT;
            char label[160];

            for (int64_t line = 0; line < L; line++)
                for (int64_t k = 0; k < K; k++) {
                    const float half = row[i].half(line, k), whole = row[i].whole(line, k);

                    if (line < J)
                        tj_convert(TJ_BF16, &m[line * K + k], TJ_F32, &half, 1);
                    n[line * K + k] = whole;
                }
            problem.n.type = TJ_F32;
            problem.n.layout = TJ_COL_MAJOR;
            options.host[TJ_MATRIX_M] = m;
            options.host[TJ_MATRIX_N] = n;
            snprintf(label, sizeof label, "%s, %s", row[i].name, configs[c]);
            expect_right_product(&problem, configs[c], &options, label);
        }
}

/* Messages say which types, layouts and parameters the tensor cores take. */
Test(halves_by_f32, are_refused_in_words)
{
    static const struct {
        int32_t m, n;
        int16_t n_layout;
        int32_t batch;
        const char *config, *says;
    } wrong[] = {
        {TJ_F16, TJ_F32, TJ_COL_MAJOR, 1, "wgmma:swap=yes",
         "multiplies f32 by bf16, which has its exponents, and M is f32, N f16"},
        {TJ_BF16, TJ_F32, TJ_COL_MAJOR, 1, "wgmma:swap=no", "from registers as M of the source: use swap=yes"},
        {TJ_F32, TJ_BF16, TJ_COL_MAJOR, 1, "wgmma:swap=yes", "from registers as M of the source: use swap=no"},
        {TJ_BF16, TJ_F32, TJ_ROW_MAJOR, 1, "wgmma:swap=yes,transpose=none",
         "use transpose=registers, pack=none and a smaller tile, for an f32 whose lines begin at multiples of 16 bytes"},
        {TJ_BF16, TJ_F32, TJ_COL_MAJOR, 1, "wgmma:swap=yes,pack=n", "and pack is for others"},
        {TJ_BF16, TJ_F32, TJ_COL_MAJOR, 2, "wgmma:swap=yes", "and the problem has a batch"},
        {TJ_BF16, TJ_F32, TJ_COL_MAJOR, 1, "mma", "multiplies weights by f16, bf16 or e4m3, not by f32"},
    };

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(64, 128, 64, wrong[i].m);
        tj_config config;

        problem.n.type = wrong[i].n;
        problem.n.layout = wrong[i].n_layout;
        problem.batch = wrong[i].batch;
        cr_assert(eq(int, tj_config_parse(wrong[i].config, &config, &err), TJ_OK), "%s", err.message);
        cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT), "%s", wrong[i].config);
        expect_said(wrong[i].says);
    }
}

/* P is f32 unless the problem says otherwise, and sums are f32: other ways to compute are refused, as are other mixtures. */
Test(halves_by_f32, have_the_types_of_f32)
{
    static const struct {
        int32_t m, n, compute;
        const char *says;
    } wrong[] = {
        {TJ_BF16, TJ_F32, TJ_COMPUTE_TF32, "compute is tf32 but M is bf16 and N is f32: use f32"},
        {TJ_F32, TJ_F16, TJ_COMPUTE_F32_SPLIT, "compute is f32_split but M is f32 and N is f16: use f32"},
        {TJ_F16, TJ_BF16, 0, "M is f16 but N is bf16: give both one type, e4m3 and e5m2, s8 and u8, f32 and f16 or bf16"},
        {TJ_F64, TJ_F32, 0, "M is f64 but N is f32: give both one type"},
        {TJ_BF16, TJ_F64, 0, "M is bf16 but N is f64: give both one type"}};
    static const char *const families[] = {"simt", "small_batch", "strip"};
    tj_problem problem = TJ_PROBLEM_INIT(8, 64, 64, TJ_BF16);

    problem.n.type = TJ_F32;
    problem = tj_problem_canonical(&problem);
    cr_expect(eq(int, problem.p.type, TJ_F32));
    cr_expect(problem.compute == TJ_COMPUTE_F32);
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        tj_config config = TJ_CONFIG_INIT;

        config.family = tj_family_find(families[i]);
        cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT));
        expect_said("takes M and N of one type, and they are bf16 and f32: use the family tiled");
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        problem = (tj_problem)TJ_PROBLEM_INIT(8, 64, 64, wrong[i].m);
        problem.n.type = wrong[i].n;
        problem.compute = (int8_t)wrong[i].compute;
        cr_expect(eq(int, tj_problem_check(&problem, &err), TJ_ERR_INVALID_ARGUMENT));
        expect_said(wrong[i].says);
    }
}

/* The reference's bound is that of f32, and two roundings more, whichever operand has 16 bits: not the doubled one of halves. */
Test(halves_by_f32, are_as_accurate_as_f32)
{
    enum { K = 1000 };
    static uint16_t halves[K];
    static float whole[K];
    const double u = 0x1p-24, sum = K;

    for (int i = 0; i < K; i++) {
        halves[i] = 0x3f80; /* 1 of bf16 */
        whole[i] = 1;
    }
    for (int turned = 0; turned < 2; turned++)
        for (int passes = 0; passes < 2; passes++) {
            tj_problem problem = TJ_PROBLEM_INIT(1, K, 1, turned ? TJ_F32 : TJ_BF16);
            tj_check_report report = TJ_CHECK_REPORT_INIT;
            const tj_host_operands operands =
                TJ_HOST_OPERANDS(turned ? (const void *)whole : halves, turned ? (const void *)halves : whole);
            const float p = (float)(sum * (1 + (passes ? K + 3.5 : K + 6) * u));

            problem.n.type = turned ? TJ_BF16 : TJ_F32;
            cr_assert(eq(int, tj_reference_check(&problem, &operands, &p, 0, 1, &report, &err), TJ_OK), "%s", err.message);
            cr_expect(eq(int, report.passed, passes), "%g of the bound", report.max_ratio);
        }
}
