/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/*
 * compute f32_split on the emulator: products as accurate as those of f32, by the path that the operands ask for; what becomes of
 * infinities, NaN, subnormal numbers and spans; and which path ran.
 */
#include <math.h>
#include <stdio.h>

#include "product_test.h"

TestSuite(f32_split, .fini = stop, .timeout = 300);

/* ---- operands ----------------------------------------------------------------------------------------------------- */

/* One element of M, or of N, at a line (row of M, column of N) and k. */
typedef float (*element_fn)(bool is_m, int64_t line, int64_t k);

static uint64_t state;

static double uniform(void) /* in (0, 1) */
{
    state = state * 6364136223846793005U + 1442695040888963407U;
    return ((double)(state >> 12) + 0.5) * 0x1p-52;
}

static double normal(void)
{
    const double size = sqrt(-2 * log(uniform()));

    return size * cos(6.283185307179586 * uniform());
}

static float is_uniform(bool is_m, int64_t line, int64_t k)
{
    (void)is_m, (void)line, (void)k;
    return (float)(2 * uniform() - 1);
}

static float is_normal(bool is_m, int64_t line, int64_t k)
{
    (void)is_m, (void)line, (void)k;
    return (float)normal();
}

static float is_lognormal(bool is_m, int64_t line, int64_t k)
{
    (void)is_m, (void)line, (void)k;
    return (float)exp(normal());
}

static float is_lognormal_2(bool is_m, int64_t line, int64_t k)
{
    (void)is_m, (void)line, (void)k;
    return (float)(exp(2 * normal()) * (uniform() < 0.5 ? -1 : 1));
}

static float is_lognormal_6(bool is_m, int64_t line, int64_t k)
{
    (void)is_m, (void)line, (void)k;
    return (float)exp(6 * normal());
}

/* Each line is scaled in a way of its own, which planes of f16 take back. */
static float is_uniform_in_scaled_lines(bool is_m, int64_t line, int64_t k)
{
    (void)k;
    return (float)ldexp(2 * uniform() - 1, (int)(line * 37 % 81) - 40 + (is_m ? 5 : -5));
}

static float spans_2_200(bool is_m, int64_t line, int64_t k)
{
    return (float)ldexp(1 + uniform(), is_m ? (int)((line + k) * 29 % 201) - 100 : 0);
}

/* And a column meets one element of a row, whatever its size. */
static float spans_2_200_and_is_picked(bool is_m, int64_t line, int64_t k)
{
    return is_m ? spans_2_200(is_m, line, k) : k == line * 11 % 203 ? -1.25F : 0.0F;
}

static float is_anticorrelated(bool is_m, int64_t line, int64_t k)
{
    (void)line;
    return (float)ldexp(2 * uniform() - 1, (is_m ? 1 : -1) * ((int)(k * 13 % 61) - 30));
}

/* Elements far below the largest of their row of M are all that a column of N meets. */
static float hides_small_ones(bool is_m, int64_t line, int64_t k)
{
    if (is_m)
        return (float)ldexp(1 + uniform(), (line + k) % 7 == 0 ? -45 : 0);
    return k == line * 7 % 64 ? 1.5F : 0.0F;
}

static float has_infinity(bool is_m, int64_t line, int64_t k)
{
    return is_m && line == 3 && k == 17 ? -INFINITY : is_uniform(is_m, line, k);
}

static float has_nan(bool is_m, int64_t line, int64_t k)
{
    return !is_m && line == 5 && k == 20 ? NAN : is_uniform(is_m, line, k);
}

static float is_subnormal(bool is_m, int64_t line, int64_t k)
{
    (void)line, (void)k;
    return (float)ldexp(2 * uniform() - 1, is_m ? -128 : 30);
}

/* Sums of subnormal products alone: half of M is large, where N is 0. */
static float has_subnormals_that_count(bool is_m, int64_t line, int64_t k)
{
    (void)line;
    if (is_m)
        return (float)ldexp(1 + uniform(), k % 2 ? -140 : 0);
    return k % 2 ? (float)ldexp(1 + uniform(), 10) : 0.0F;
}

static float may_overflow(bool is_m, int64_t line, int64_t k)
{
    return (float)ldexp(is_uniform(is_m, line, k), is_m ? 100 : 24);
}

static float is_zero_in_m(bool is_m, int64_t line, int64_t k)
{
    return is_m ? 0.0F : is_uniform(is_m, line, k);
}

/* As the problem lays it out, product after product. */
static float *fill(const tj_problem *problem, tj_which which, const element_fn *of_product)
{
    const tj_problem c = tj_problem_canonical(problem);
    const tj_matrix *const x = tj_problem_matrix(&c, which);
    const bool is_m = which == TJ_MATRIX_M, along_k = is_m == (x->layout == TJ_ROW_MAJOR);
    const int64_t lines = is_m ? c.j.extent : c.l.extent, span = tj_problem_span(&c, which);
    float *const element = calloc((size_t)span + 1, sizeof *element);

    cr_assert(ne(ptr, element, NULL));
    for (int64_t b = 0; b < (x->stride == TJ_BROADCAST ? 1 : c.batch); b++)
        for (int64_t line = 0; line < lines; line++)
            for (int64_t k = 0; k < c.k.extent; k++)
                element[(x->stride > 0 ? b * x->stride : 0) + (along_k ? line * x->ld + k : k * x->ld + line)] =
                    of_product[b](is_m, line, k);
    return element;
}

/* ---- products ----------------------------------------------------------------------------------------------------- */

/* Multiply and check, by the bound of plain f32; paths: of each product. */
static void multiply(const tj_problem *problem, const char *config_text, const element_fn *of_product, const int32_t *paths,
                     const char *label)
{
    const size_t batch = problem->batch > 1 ? (size_t)problem->batch : 1;
    tj_workbench_options options = TJ_WORKBENCH_INIT;
    tj_host_operands host = {.struct_size = sizeof host, .alpha = 1.5, .beta = -0.5};
    tj_problem plain = *problem;
    float *const m = fill(problem, TJ_MATRIX_M, of_product), *const n = fill(problem, TJ_MATRIX_N, of_product);
    float *const c = malloc((size_t)tj_problem_span(problem, TJ_MATRIX_P) * sizeof *c);
    const tj_operands *x;
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    tj_workbench *bench;
    tj_config config;
    const tj_plan *plan;
    int32_t found[8];
    char damage[160];
    void *p;

    tj_fill_random((tj_type)tj_problem_canonical(problem).p.type, c, (size_t)tj_problem_span(problem, TJ_MATRIX_P), 7);
    options.host[TJ_MATRIX_M] = host.m = m;
    options.host[TJ_MATRIX_N] = host.n = n;
    if (problem->epilogue.has_beta)
        options.host[TJ_MATRIX_C] = host.c = c;
    options.alpha = host.alpha;
    options.beta = host.beta;
    options.guard_bytes = 256;
    cr_assert(eq(int, tj_config_parse(config_text, &config, &err), TJ_OK), "%s: %s", label, err.message);
    cr_assert(eq(int, tj_plan_prepare(context, problem, &config, &plan, &err), TJ_OK), "%s: %s", label, err.message);
    cr_assert(eq(int, tj_workbench_create(context, problem, &options, &bench, &err), TJ_OK), "%s: %s", label, err.message);
    p = malloc(tj_workbench_bytes(bench, TJ_MATRIX_P));
    cr_assert(eq(int, tj_workbench_fit(bench, tj_plan_workspace_bytes(plan), &err), TJ_OK), "%s: %s", label, err.message);
    x = tj_workbench_operands(bench);
    cr_assert(eq(int, tj_plan_launch(plan, x, NULL, &err), TJ_OK), "%s: %s", label, err.message);
    cr_assert(eq(int, tj_kernel_copy_paths(tj_plan_kernel(plan), x->workspace, found, batch, NULL, &err), TJ_OK), "%s: %s",
              label, err.message);
    cr_assert(eq(int, tj_synchronize(context, NULL, &err), TJ_OK), "%s: %s", label, err.message);
    for (size_t i = 0; i < batch; i++)
        cr_expect(eq(i32, found[i], paths[i]), "%s: product %zu went by %s", label, i, tj_path_name((tj_path)found[i]));
    cr_assert(eq(int, tj_workbench_read(bench, 0, p, &err), TJ_OK), "%s: %s", label, err.message);
    plain.compute = TJ_COMPUTE_F32;
    cr_assert(eq(int, tj_reference_check(&plain, &host, p, 0, 1, &report, &err), TJ_OK), "%s: %s", label, err.message);
    cr_expect(report.passed, "%s: %s; %g is %g", label, report.reason, report.worst_value, report.worst_reference);
    cr_assert(eq(int, tj_workbench_find_damage(bench, 0, p, damage, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(str, damage, ""), "%s", label);
    free(p);
    tj_workbench_free(bench);
    free(m);
    free(n);
    free(c);
}

static const struct kind {
    const char *name;
    element_fn element;
    int32_t path;
} kinds[] = {
    {"uniform", is_uniform, TJ_PATH_F16},
    {"normal", is_normal, TJ_PATH_F16},
    {"log-normal", is_lognormal, TJ_PATH_F16},
    {"log-normal of sigma 2, signed", is_lognormal_2, TJ_PATH_F16},
    {"log-normal of sigma 6", is_lognormal_6, TJ_PATH_BF16},
    {"uniform, each line scaled", is_uniform_in_scaled_lines, TJ_PATH_F16},
    {"rows that span 2^200", spans_2_200, TJ_PATH_F16}, /* each meets a large element of a column: small ones do not show */
    {"rows that span 2^200, picked", spans_2_200_and_is_picked, TJ_PATH_BF16},
    {"anti-correlated along k", is_anticorrelated, TJ_PATH_BF16},
    {"small elements that matter", hides_small_ones, TJ_PATH_BF16},
    {"an infinity", has_infinity, TJ_PATH_F32},
    {"a NaN", has_nan, TJ_PATH_F32},
    {"M all subnormal", is_subnormal, TJ_PATH_F16},
    {"subnormal numbers that matter", has_subnormals_that_count, TJ_PATH_F32},
    {"sums that may overflow", may_overflow, TJ_PATH_F32},
    {"M all zero", is_zero_in_m, TJ_PATH_F16},
};

static void multiply_kinds(const char *config, size_t apart)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i += apart) {
        tj_problem problem = TJ_PROBLEM_INIT(66, 203, 70, TJ_F32);

        state = i + 1;
        problem.compute = TJ_COMPUTE_F32_SPLIT;
        problem.m.layout = i & 1;
        problem.n.layout = i >> 1 & 1;
        problem.p.layout = i >> 2 & 1;
        problem.m.ld = problem.n.ld = (IS_NIGHTLY ? i : i % 8) % 3 ? 0 : 204; /* eight sources for the sixteen */
        multiply(&problem, config, &kinds[i].element, &kinds[i].path, kinds[i].name);
    }
}

Test(f32_split, is_as_accurate_as_f32_whatever_the_operands_are)
{
    open_context("sm_90", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    multiply_kinds("planes:bm=64,bn=64", 1);
}

Test(f32_split, is_as_accurate_by_wgmma)
{
    open_context("sm_90", TJ_PROVE_NEVER);
    if (has_nvrtc())
        multiply_kinds("wgmma_planes:multipliers=1,bn=48", 7); /* each path */
}

/* The largest elements of a batch do not decide for its other products. */
Test(f32_split, decides_for_each_product_of_a_batch)
{
    static const element_fn each[] = {is_uniform, has_infinity, hides_small_ones, is_normal};
    static const int32_t paths[] = {TJ_PATH_F16, TJ_PATH_F32, TJ_PATH_BF16, TJ_PATH_F16};
    /* An N that all share is that of the first product, and so is what it meets of small elements. */
    static const element_fn shared[] = {hides_small_ones, has_infinity, is_normal, is_lognormal};
    static const int32_t paths_of_shared[] = {TJ_PATH_BF16, TJ_PATH_F32, TJ_PATH_F16, TJ_PATH_F16};

    open_context("sm_90", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    for (int i = 0; i < 4; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(33, 64, 65, TJ_F32);

        state = 100;
        problem.compute = TJ_COMPUTE_F32_SPLIT;
        problem.batch = 4;
        problem.n.stride = i & 1 ? TJ_BROADCAST : TJ_TIGHT;
        problem.p.layout = i >> 1;
        problem.m.layout = i == 2;
        problem.epilogue.has_alpha = problem.epilogue.has_beta = i > 1;
        multiply(&problem, "planes:bm=64,bn=64", i & 1 ? shared : each, i & 1 ? paths_of_shared : paths,
                 i & 1 ? "one N" : "four N");
        if (i == 1 || i == 2)
            multiply(&problem, "wgmma_planes:multipliers=1,bn=32", i & 1 ? shared : each, i & 1 ? paths_of_shared : paths,
                     "by wgmma");
    }
}

/* Tiles, edges, paddings, types of P, the epilogue, no k. */
static void multiply_shapes(const char *const configs[4], unsigned count)
{
    static const int64_t extents[][3] = {{128, 64, 128}, {1, 1, 1}, {65, 33, 130}, {200, 17, 3}, {63, 0, 64}, {5, 129, 66}};
    static const int32_t types[] = {TJ_F32, TJ_F16, TJ_BF16, TJ_F32};

    for (unsigned n = 0; n < count; n++) {
        const unsigned i = 5 * n % 24; /* of as many variants, in an order that soon has each value of each */
        const int64_t *extent = extents[i % 6];
        tj_problem problem = TJ_PROBLEM_INIT(extent[0], extent[1], extent[2], TJ_F32);
        const struct kind *const kind = &kinds[i % 3];
        const int32_t path = extent[1] == 0 ? TJ_PATH_F16 : kind->path;
        char label[80];

        state = i;
        problem.compute = TJ_COMPUTE_F32_SPLIT;
        problem.p.type = types[i % 4];
        problem.m.layout = i / 2 % 2;
        problem.n.layout = i / 3 % 2;
        problem.p.layout = i / 5 % 2;
        problem.m.ld = i % 5 == 0 ? 211 : 0;
        problem.n.ld = i % 4 == 0 ? 207 : 0;
        problem.epilogue.has_alpha = i % 3 != 1;
        problem.epilogue.has_beta = i % 4 == 1;
        snprintf(label, sizeof label, "variant %u: %s", i, kind->name);
        multiply(&problem, configs[n % 4], &kind->element, &path, label);
    }
}

/* On the oldest target too. */
Test(f32_split, takes_every_shape_and_epilogue)
{
    static const char *const configs[4] = {"planes:bm=64,bn=64", "planes:bm=128,bn=64,wm=64,wn=64,stages=2,vector=1",
                                           "planes:bm=64,bn=128,wm=32,wn=32,steps=4,rows=x", "planes:group=2,bm=64,bn=64"};

    open_context("sm_80", TJ_PROVE_NEVER);
    if (has_nvrtc())
        multiply_shapes(configs, IS_NIGHTLY ? 24 : 8);
}

Test(f32_split, takes_every_shape_and_epilogue_by_wgmma)
{
    static const char *const configs[4] = {"wgmma_planes:multipliers=1,bn=64,blocks=2", "wgmma_planes:bn=48,stages=2,vector=1",
                                           "wgmma_planes:multipliers=3,bn=16", "wgmma_planes:multipliers=1,bn=80,group=2"};

    open_context("sm_90", TJ_PROVE_NEVER);
    if (has_nvrtc())
        multiply_shapes(configs, IS_NIGHTLY ? 24 : 5);
}

/* A problem that no kernel of planes serves is multiplied in f32; and all of it is proven as every kernel is. */
Test(f32_split, is_chosen_a_family_and_proven)
{
    open_context("sm_90", TJ_PROVE_BEFORE);
    if (!has_nvrtc())
        return;
    for (int i = 0; i < 3; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(1024, 40, 1024, TJ_F32);
        const tj_plan *plan;
        tj_config config;

        problem.compute = TJ_COMPUTE_F32_SPLIT;
        if (i == 0)
            problem.k.mode = TJ_DIM_ANY;
        if (i == 1)
            problem.j.extent = 12, problem.l.extent = 20;
        cr_assert(eq(int, tj_config_parse("planes:bm=64,bn=64", &config, &err), TJ_OK));
        if (i < 2)
            cr_assert(eq(int, tj_plan_prepare(context, &problem, NULL, &plan, &err), TJ_OK), "%s", err.message);
        else {
            problem.j.extent = problem.l.extent = 70;
            cr_assert(eq(int, tj_plan_prepare(context, &problem, &config, &plan, &err), TJ_OK), "%s", err.message);
        }
        cr_expect(eq(i64, tj_kernel_path_count(tj_plan_kernel(plan)), i < 2 ? 0 : 1));
    }
}

Test(f32_split, says_what_is_wrong_with_a_question_about_paths)
{
    tj_problem problem = TJ_PROBLEM_INIT(16, 16, 16, TJ_F32);
    tj_buffer *buffer;
    const tj_plan *plan;
    tj_config config;
    int32_t path = 0;

    open_context("sm_90", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    cr_assert(eq(int, tj_buffer_create(context, 1024, &buffer, &err), TJ_OK));
    cr_assert(eq(int, tj_config_parse("naive", &config, &err), TJ_OK));
    cr_assert(eq(int, tj_plan_prepare(context, &problem, &config, &plan, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, tj_kernel_copy_paths(tj_plan_kernel(plan), tj_buffer_address(buffer), &path, 1, NULL, &err),
                 TJ_ERR_INVALID_ARGUMENT));
    cr_expect(ne(ptr, strstr(err.message, "has one way to multiply"), NULL), "%s", err.message);
    problem.compute = TJ_COMPUTE_F32_SPLIT;
    cr_assert(eq(int, tj_config_parse("planes:bm=64,bn=64", &config, &err), TJ_OK));
    cr_assert(eq(int, tj_plan_prepare(context, &problem, &config, &plan, &err), TJ_OK), "%s", err.message);
    for (size_t count = 0; count <= 2; count += 2) {
        cr_expect(eq(int, tj_kernel_copy_paths(tj_plan_kernel(plan), tj_buffer_address(buffer), &path, count, NULL, &err),
                     TJ_ERR_INVALID_ARGUMENT));
        cr_expect(ne(ptr, strstr(err.message, "chooses for 1 products, ask for 1 to 1"), NULL), "%s", err.message);
    }
    tj_buffer_free(buffer);
}
