/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/* Products of complex numbers on the emulator: families, layouts, conjugates, complex alpha and beta, and requests that are refused. */
#include <math.h>
#include <stdio.h>

#include "product_test.h"

TestSuite(complex_numbers, .fini = stop, .timeout = 300);

static const char *const families[] = {
    "naive",
    "tiled",
    "tiled:shared=dynamic",
    "simt:bm=32,bn=64,bk=8,tm=4,tn=4",
    "simt:bm=32,bn=64,bk=8,tm=4,tn=4,splits=2",
    "simt:bm=16,bn=32,bk=8,tm=4,tn=4,slices=2,vector=1",
    "simt:bm=32,bn=32,bk=8,tm=4,tn=4,copy=registers",
    NULL,
};

enum { FAMILIES = sizeof families / sizeof families[0] };

Test(complex_numbers, each_family_multiplies_conjugates_in_any_layout)
{
    open_context("sm_90", TJ_PROVE_NEVER);
    for (unsigned i = 0; i < 8 * FAMILIES && has_nvrtc(); i++) {
        tj_problem problem = TJ_PROBLEM_INIT(i % 5 == 4 ? 32 : 33, 37, i % 7 == 6 ? 64 : 45, i % 3 == 2 ? TJ_C128 : TJ_C64);
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        const char *const config = families[i % FAMILIES];
        char label[160];

        problem.m.conjugated = i / 2 % 2;
        problem.n.conjugated = i / 3 % 2;
        problem.m.layout = i % 2;
        problem.n.layout = i / 4 % 2;
        problem.p.layout = i / 5 % 2;
        problem.m.ld = i % 6 == 1 ? 51 : TJ_TIGHT;
        problem.batch = i % 4 == 3 ? 3 : 1;
        problem.epilogue.has_alpha = i % 5 < 3;
        problem.epilogue.has_beta = i % 7 < 4;
        if (i % 11 == 5 && i % FAMILIES != 4) /* a split needs a workspace of known size */
            problem.j.mode = problem.k.mode = problem.l.mode = TJ_DIM_ANY;
        options.alpha = 0.5, options.alpha_im = -1.5;
        options.beta = i % 2 ? 0 : 2, options.beta_im = 0.75;
        options.guard_bytes = 256;
        snprintf(label, sizeof label, "%s, variant %u", config ? config : "chosen", i);
        expect_right_product(&problem, config, &options, label);
    }
}

/* Invariant rows: a sum has one right value, whichever of M and N a kernel multiplies first, and with alpha and beta. */
Test(complex_numbers, invariant_rows_have_the_bits_of_the_reference)
{
    static const char *const configs[] = {
        "naive", "tiled", "simt:bm=32,bn=64,bk=8,tm=4,tn=4", "simt:bm=8,bn=32,bk=16,tm=2,tn=1", "small_batch", NULL};

    open_context("sm_90", TJ_PROVE_NEVER);
    for (unsigned i = 0; i < 40 && has_nvrtc(); i++) {
        tj_problem problem = TJ_PROBLEM_INIT(33, 37, 45, i % 3 == 2 ? TJ_C128 : TJ_C64);
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        char label[160];

        problem.invariant = TJ_INVARIANT_ROWS;
        problem.m.conjugated = i / 2 % 2;
        problem.n.conjugated = i / 3 % 2;
        problem.n.layout = i / 4 % 2;
        problem.p.layout = i / 5 % 2;
        problem.epilogue.has_alpha = i % 7 < 3;
        problem.epilogue.has_beta = i % 8 < 4;
        options.alpha = 0.7, options.alpha_im = -1.3;
        options.beta = 1.9, options.beta_im = 0.3;
        snprintf(label, sizeof label, "%s, variant %u", configs[i % 6] ? configs[i % 6] : "chosen", i);
        expect_right_product(&problem, configs[i % 6], &options, label);
    }
}

/* Few rows, few columns, and many small products, each by the families for them. */
Test(complex_numbers, of_few_rows_are_streamed)
{
    static const struct {
        const char *config;
        int32_t j, k, l, batch;
    } row[] = {{"skinny", 5, 170, 61, 1},
               {"skinny:splits=2", 130, 171, 7, 1},
               {"skinny", 1, 333, 77, 3},
               {"strip", 150, 172, 16, 1},
               {"strip:splits=2", 101, 72, 7, 1},
               {"strip", 33, 640, 1, 1},
               {"strip:copies=boxes", 90, 96, 12, 1},
               {"small_batch", 16, 16, 16, 30},
               {"small_batch:vector=1,copy=registers", 13, 7, 10, 9},
               {"small_batch", 32, 33, 31, 3}};
    enum { ROWS = sizeof row / sizeof row[0] };

    open_context("sm_90", TJ_PROVE_NEVER);
    for (unsigned i = 0; i < 4 * ROWS && has_nvrtc(); i++) {
        const char *const config = row[i % ROWS].config;
        const bool boxes = strstr(config, "boxes"), strip = strncmp(config, "strip", 5) == 0;
        tj_problem problem =
            TJ_PROBLEM_INIT(row[i % ROWS].j, row[i % ROWS].k, row[i % ROWS].l, i / ROWS % 2 && !boxes ? TJ_C128 : TJ_C64);
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        char label[160];

        problem.batch = row[i % ROWS].batch;
        problem.m.conjugated = i / ROWS == 0;
        problem.n.conjugated = i % 3 == 0;
        problem.m.layout = !strip && i / ROWS == 2;
        problem.n.layout = !strip && i / ROWS > 1;
        problem.p.layout = i / ROWS == 3;
        problem.epilogue.has_alpha = problem.epilogue.has_beta = i / ROWS % 3 == 1;
        options.alpha_im = options.beta_im = 1;
        options.guard_bytes = 256;
        snprintf(label, sizeof label, "%s, variant %u", config, i);
        expect_right_product(&problem, config, &options, label);
    }
}

/* c128 by tensor cores for f64, c64 by those for tf32 where the problem names them: four products of the parts of fragments. */
Test(complex_numbers, tensor_cores_multiply_parts)
{
    static const struct {
        int32_t type, compute;
    } ways[] = {{TJ_C128, TJ_COMPUTE_DEFAULT}, {TJ_C64, TJ_COMPUTE_TF32}, {TJ_C64, TJ_COMPUTE_F32_SPLIT}};
    static const char *const configs[] = {"mma:bm=32,bn=32,wm=16,wn=16",
                                          "mma:bm=32,bn=32,wm=16,wn=16,splits=2",
                                          "mma:bm=32,bn=32,wm=32,wn=16,load=needed",
                                          "mma:bm=32,bn=32,wm=16,wn=16,slices=2",
                                          "mma:bm=32,bn=32,wm=16,wn=16,copy=registers,width=1",
                                          "mma"};

    open_context("sm_90", TJ_PROVE_NEVER);
    for (unsigned i = 0; i < 48 && has_nvrtc(); i++) {
        const unsigned way = i / 6 % 3;
        tj_problem problem = TJ_PROBLEM_INIT(i % 4 == 3 ? 64 : 33, 70, i % 4 == 3 ? 64 : 45, ways[way].type);
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        char label[160];

        problem.compute = (int8_t)ways[way].compute;
        problem.m.conjugated = i / 2 % 2;
        problem.n.conjugated = i / 3 % 2;
        problem.m.layout = i % 2;
        problem.n.layout = i / 4 % 2;
        problem.p.layout = i / 5 % 2;
        problem.batch = i % 7 == 3 ? 3 : 1;
        problem.epilogue.has_alpha = problem.epilogue.has_beta = i % 3 == 0;
        options.alpha_im = options.beta_im = 1;
        options.guard_bytes = 256;
        snprintf(label, sizeof label, "%s, %s, variant %u", configs[i % 6], tj_compute_name(problem.compute), i);
        expect_right_product(&problem, configs[i % 6], &options, label);
    }
    tj_problem packed = TJ_PROBLEM_INIT(33, 70, 45, TJ_C64);

    packed.compute = TJ_COMPUTE_TF32;
    packed.n.conjugated = 1;
    if (has_nvrtc())
        expect_right_product(&packed, "mma:bm=32,bn=32,wm=16,wn=16,pack=both", NULL, "both packed");
}

/* Numbers at the ends of the range, in places where they count. */
static float with_infinity(int64_t line, int64_t k)
{
    return line == 3 && k == 17 ? -INFINITY : (float)((line * 7 + k * 3) % 11 - 5);
}

static float with_nan(int64_t line, int64_t k)
{
    const uint32_t all_ones = 0x7fffffff;
    float nan;

    memcpy(&nan, &all_ones, sizeof nan);
    return line == 5 && k == 20 ? nan : (float)((line * 5 + k * 3) % 13 - 6);
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

/* f32_split: a thread whose sums are infinite or NaN computes them again in f32; tf32 has the range of f32. */
Test(complex_numbers, of_any_size_are_as_those_of_f32)
{
    static const struct {
        const char *name;
        float (*of_m)(int64_t line, int64_t k), (*of_n)(int64_t line, int64_t k);
        bool as_tf32;
    } row[] = {{"an infinity", that_is_one, with_infinity, true},
               {"a NaN", that_is_one, with_nan, true},
               {"infinities in both", with_infinity, with_infinity, true},
               {"sums that overflow", that_is_one, that_overflows, false},
               {"sums that would overflow in planes", that_is_one, that_is_large, true},
               {"subnormal numbers", that_is_one, that_is_subnormal, false},
               {"numbers of any size", that_is_one, that_spans_much, true},
               {"numbers of any size by small ones", that_is_small, that_spans_much, false}};
    static const char *const configs[] = {"mma:bm=16,bn=32,wm=16,wn=16", "mma:bm=16,bn=32,wm=16,wn=32,splits=2"};
    enum { J = 12, K = 200, L = 36 };
    static float m[J * K * 2], n[L * K * 2];

    open_context("sm_80", TJ_PROVE_NEVER);
    for (size_t i = 0; i < 2 * sizeof row / sizeof row[0] && has_nvrtc(); i++) {
        const bool splits = i % 2 || !row[i / 2].as_tf32;
        tj_problem problem = TJ_PROBLEM_INIT(J, K, L, TJ_C64);
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        char label[160];

        for (int64_t line = 0; line < L; line++)
            for (int64_t k = 0; k < 2 * K; k++) {
                if (line < J)
                    m[line * 2 * K + k] = row[i / 2].of_m(line, k / 2) * (k % 2 ? 0.5F : 1);
                n[line * 2 * K + k] = row[i / 2].of_n(line, k / 2) * (k % 2 ? 0.25F : 1);
            }
        problem.compute = splits ? TJ_COMPUTE_F32_SPLIT : TJ_COMPUTE_TF32;
        problem.n.layout = TJ_COL_MAJOR;
        problem.m.conjugated = i / 2 % 2;
        options.host[TJ_MATRIX_M] = m;
        options.host[TJ_MATRIX_N] = n;
        snprintf(label, sizeof label, "%s, %s, %s", row[i / 2].name, configs[i / 2 % 2], tj_compute_name(problem.compute));
        expect_right_product(&problem, configs[i / 2 % 2], &options, label);
    }
}

/* Groups, rows by an index, and rows that are scattered: whatever moves elements whole. */
Test(complex_numbers, rows_lie_as_those_of_real_products)
{
    open_context("sm_90", TJ_PROVE_NEVER);
    for (unsigned i = 0; i < 24 && has_nvrtc(); i++) {
        tj_problem problem = TJ_PROBLEM_INIT(40, 24, 36, i % 2 ? TJ_C128 : TJ_C64);
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        const unsigned kind = i / 2 % 6;
        char label[160];

        const char *config = families[i % 2];

        if (i / 12 > 0) {
            problem.m.type = TJ_C64;
            problem.compute = i % 2 ? TJ_COMPUTE_TF32 : TJ_COMPUTE_F32_SPLIT;
            config = "mma:bm=16,bn=32,wm=16,wn=16";
        }
        problem.n.conjugated = 1;
        problem.rows.kind = kind < 4 ? (int8_t)kind : TJ_ROWS_AS_THEY_LIE;
        problem.rows.groups = problem.rows.kind == TJ_ROWS_AS_THEY_LIE ? 0 : 4;
        problem.rows.gathered = kind == 4;
        problem.rows.scattered = kind == 5;
        snprintf(label, sizeof label, "%s, variant %u", config, i);
        expect_right_product(&problem, config, &options, label);
    }
}

/* A symmetric P is one without conjugates: its two halves have the same bits. */
Test(complex_numbers, products_may_be_symmetric)
{
    open_context("sm_90", TJ_PROVE_NEVER);
    for (unsigned i = 0; i < 12 && has_nvrtc(); i++) {
        tj_problem problem = TJ_PROBLEM_INIT(70, 21, 70, i % 4 == 3 ? TJ_C128 : TJ_C64);
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        char label[160];

        problem.symmetric = (int8_t)(TJ_SYMMETRIC_BOTH + i % 3);
        problem.m.conjugated = problem.n.conjugated = i / 2 % 2;
        problem.p.layout = i / 3 % 2;
        problem.epilogue.has_alpha = problem.epilogue.has_beta = i % 2;
        options.alpha_im = options.beta_im = 1;
        snprintf(label, sizeof label, "variant %u", i);
        expect_right_product(&problem, i % 4 == 3 ? "simt:bm=32,bn=32,bk=8,tm=4,tn=4" : families[i % 4], &options, label);
    }
}

/* X . X^H: the halves are conjugates to the last bit, the diagonal is real, and alpha and beta are. The rest goes as for others. */
Test(complex_numbers, products_may_be_hermitian)
{
    static const char *const configs[] = {"naive",
                                          "tiled",
                                          "tiled:shared=dynamic",
                                          "simt:bm=32,bn=32,bk=8,tm=4,tn=4",
                                          "simt:bm=32,bn=32,bk=8,tm=4,tn=4,splits=2",
                                          "mma:bm=32,bn=32,wm=16,wn=16",
                                          "mma:bm=16,bn=16,splits=2"};

    open_context("sm_90", TJ_PROVE_BEFORE);
    for (unsigned i = 0; i < 21 && has_nvrtc(); i++) {
        tj_problem problem =
            TJ_PROBLEM_INIT(i % 8 == 6 ? 64 : 70, 21, i % 8 == 6 ? 64 : 70, i % 2 || i % 7 > 4 ? TJ_C128 : TJ_C64);
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        char label[160];

        problem.symmetric = (int8_t)(TJ_HERMITIAN_BOTH + i / 7);
        problem.m.conjugated = i / 2 % 2;
        problem.n.conjugated = i / 3 % 2; /* any product may be Hermitian: the caller knows */
        problem.n.transposed = i / 5 % 2;
        problem.p.layout = i / 3 % 2;
        problem.batch = i % 5 == 3 ? 2 : 1;
        problem.epilogue.has_alpha = problem.epilogue.has_beta = i % 3 == 1;
        options.alpha = -2, options.beta = 0.5;
        options.guard_bytes = 256;
        snprintf(label, sizeof label, "%s, variant %u", configs[i % 7], i);
        expect_right_product(&problem, configs[i % 7], &options, label);
    }
}

Test(complex_numbers, kernels_are_chosen_and_proven)
{
    open_context("sm_90", TJ_PROVE_BEFORE);
    static const int8_t computes[] = {TJ_COMPUTE_DEFAULT, TJ_COMPUTE_TF32, TJ_COMPUTE_F32_SPLIT};

    for (unsigned i = 0; i < 8 && has_nvrtc(); i++) {
        tj_problem problem = TJ_PROBLEM_INIT(i % 2 ? 150 : 70, 64, 130, i < 6 ? TJ_C64 : TJ_C128);
        tj_workbench_options options = TJ_WORKBENCH_INIT;

        problem.compute = computes[i / 2 % 3];
        problem.m.conjugated = i % 2;
        problem.epilogue.has_alpha = problem.epilogue.has_beta = i % 2;
        options.alpha_im = options.beta_im = 1;
        expect_right_product(&problem, NULL, &options, "proven");
    }
}

Test(complex_numbers, other_families_refuse_them)
{
    static const char *const others[] = {"thin", "wgmma", "planes", "wgmma_planes"};

    open_context("sm_90", TJ_PROVE_NEVER);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const tj_problem problem = TJ_PROBLEM_INIT(64, 64, 64, TJ_C64);
        tj_config config = TJ_CONFIG_INIT;

        cr_assert(eq(int, tj_config_parse(others[i], &config, &err), TJ_OK));
        cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT), "%s", others[i]);
        expect_said("takes no complex numbers, and M is c64: use the family tiled");
    }
    const tj_problem problem = TJ_PROBLEM_INIT(64, 64, 64, TJ_C64);
    tj_config config = TJ_CONFIG_INIT;

    cr_assert(eq(int, tj_config_parse("mma", &config, &err), TJ_OK));
    cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT));
    expect_said("mma has no tensor cores for c64 as IEEE has it: ask for compute tf32, which rounds M and N, or f32_split, or");

    const tj_problem few = TJ_PROBLEM_INIT(64, 64, 8, TJ_C128);
    tj_problem splits = problem;

    cr_assert(eq(int, tj_config_parse("strip:copies=boxes", &config, &err), TJ_OK));
    cr_expect(eq(int, tj_config_resolve(&few, &config, &err), TJ_ERR_INVALID_ARGUMENT));
    expect_said("tensor maps, whose elements have 8 bytes at most, and they are c128: use copies=lanes");

    splits.compute = TJ_COMPUTE_F32_SPLIT;
    cr_assert(eq(int, tj_config_parse("mma:pack=both", &config, &err), TJ_OK));
    cr_expect(eq(int, tj_config_resolve(&splits, &config, &err), TJ_ERR_INVALID_ARGUMENT));
    expect_said("pack=both is not for compute f32_split, whose kernel may have to read M and N again: use pack=none");
    for (int32_t type = 0; type < 3; type++) {
        static const char *const says[] = {"compute is tf32 but M and N are c128: use f64",
                                           "compute is f64 but M and N are c64: use f32, tf32 or f32_split",
                                           "compute is f32_fp8 but M and N are c64: use f32, tf32 or f32_split"};
        tj_problem wrong = TJ_PROBLEM_INIT(8, 8, 8, type == 0 ? TJ_C128 : TJ_C64);

        wrong.compute = type == 0 ? TJ_COMPUTE_TF32 : type == 1 ? TJ_COMPUTE_F64 : TJ_COMPUTE_F32_FP8;
        cr_expect(eq(int, tj_problem_check(&wrong, &err), TJ_ERR_INVALID_ARGUMENT));
        expect_said(says[type]);
    }
}

/* beta is 0 only if both of its parts are: then C is not read. */
Test(complex_numbers, beta_without_a_real_part_reads_c)
{
    tj_problem problem = TJ_PROBLEM_INIT(17, 9, 19, TJ_C64);
    tj_workbench_options options = TJ_WORKBENCH_INIT;

    open_context("sm_90", TJ_PROVE_NEVER);
    problem.epilogue.has_beta = 1;
    for (int i = 0; i < 2 && has_nvrtc(); i++) {
        options.beta_im = i;
        expect_right_product(&problem, "tiled", &options, i ? "beta = i" : "beta = 0");
    }
}
