/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/*
 * Floats of 16 bits by f32, as a router multiplies activations by its weights, on the emulator: in either order, by every family
 * that takes them, within the bound of f32.
 */
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
    cr_expect(eq(int, problem.compute, TJ_COMPUTE_F32));
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        tj_config config = TJ_CONFIG_INIT;

        config.family = tj_family_find(families[i]);
        cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT));
        expect_said("takes M and N of one type, and they are bf16 and f32: use the family tiled");
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        problem = (tj_problem)TJ_PROBLEM_INIT(8, 64, 64, wrong[i].m);
        problem.n.type = wrong[i].n;
        problem.compute = (int16_t)wrong[i].compute;
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
