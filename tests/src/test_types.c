/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/*
 * Every type, compute mode and scale, from the problem to a checked product, on the emulator; and the requests that are
 * refused, with their messages.
 */
#include <math.h>
#include <stdio.h>

#include "product_test.h"
#include "scales.h"

TestSuite(types, .fini = stop, .timeout = 300);

static const struct inputs {
    tj_type m, n;
    tj_compute compute;
} inputs[] = {{TJ_E4M3, TJ_E4M3, 0},
              {TJ_E5M2, TJ_E5M2, 0},
              {TJ_E4M3, TJ_E5M2, 0},
              {TJ_E5M2, TJ_E4M3, 0},
              {TJ_S8, TJ_S8, 0},
              {TJ_U8, TJ_U8, 0},
              {TJ_S8, TJ_U8, 0},
              {TJ_U8, TJ_S8, 0},
              {TJ_F16, TJ_F16, 0},
              {TJ_BF16, TJ_BF16, 0},
              {TJ_F32, TJ_F32, TJ_COMPUTE_TF32},
              {TJ_F32, TJ_F32, TJ_COMPUTE_F32_SPLIT}};

/* Each pair of inputs with each type of P, in another mixture of families, layouts, scales, alpha, beta and batch. */
Test(types, each_pair_of_inputs_goes_to_each_type_of_p)
{
    static const char *const configs[] = {"naive", "tiled", "tiled:shared=dynamic", "tiled:tile_width=8,rows=x"};
    unsigned count = 0;

    open_context("sm_90", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++)
        for (int p = TJ_F32; p <= tj_type_count(); p++) {
            tj_problem problem = TJ_PROBLEM_INIT(21, 35, 18, inputs[i].m);
            tj_workbench_options options = TJ_WORKBENCH_INIT;
            char label[160];

            problem.n.type = inputs[i].n;
            problem.p.type = p;
            problem.compute = inputs[i].compute;
            if (tj_problem_check(&problem, &err) != TJ_OK) {
                cr_expect(says("such a P may be") || says("which only scales may be"), "%s", err.message);
                continue;
            }
            problem.m.layout = count % 2;
            problem.n.layout = count / 2 % 2;
            problem.p.layout = count / 3 % 2;
            problem.batch = count % 4 == 1 ? 3 : 1;
            problem.epilogue.has_alpha = count % 3 == 1;
            problem.epilogue.has_beta = count % 5 < 2;
            problem.scale[TJ_MATRIX_M] = nth_scale(count % 7);
            problem.scale[TJ_MATRIX_N] = nth_scale(count % 11);
            if (count % 6 == 5)
                problem.j.mode = problem.k.mode = problem.l.mode = TJ_DIM_ANY;
            options.alpha = 2;
            options.beta = 3;
            options.guard_bytes = 256;
            snprintf(label, sizeof label, "%s.%s -> %s, %s, variant %u", tj_type_name(inputs[i].m), tj_type_name(inputs[i].n),
                     tj_type_name((tj_type)p), configs[count % 4], count);
            expect_right_product(&problem, configs[count % 4], &options, label);
            count++;
        }
    cr_expect(eq(uint, count, 4 * 5 + 4 * 6 + 4 * 5));
}

/* The other families keep to floats of 16 bits and more, scale them, and leave the rest to those that can. */
Test(types, scales_go_with_every_family)
{
    static const char *const configs[] = {"simt:copy=registers,bm=32,bn=32,bk=8,tm=4,tn=4",
                                          "simt:copy=registers,bm=32,bn=32,bk=8,tm=4,tn=4,splits=2", "skinny:stream=n",
                                          "skinny:stream=m,splits=3", "small_batch:copy=registers"};

    open_context("sm_90", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    for (unsigned i = 0; i < 20; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(13, 64, 36, i % 2 ? TJ_F16 : TJ_F32);
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        char label[160];

        problem.scale[TJ_MATRIX_M] = nth_scale(1 + i % 2);
        problem.scale[TJ_MATRIX_N] = nth_scale(2 - i / 2 % 2);
        problem.epilogue.has_alpha = problem.epilogue.has_beta = i / 4 % 2;
        problem.batch = i / 5 % 2 ? 3 : 1;
        problem.p.layout = i / 10;
        options.alpha = 1.5;
        options.beta = -0.5;
        snprintf(label, sizeof label, "%s, variant %u", configs[i % 5], i);
        expect_right_product(&problem, configs[i % 5], &options, label);
    }
}

/* More products than grid.z counts: scales advance from one launch to the next, as matrices do. */
Test(types, scales_go_with_a_batch_of_several_launches)
{
    tj_problem problem = TJ_PROBLEM_INIT(2, 1, 2, TJ_S8);
    tj_workbench_options options = TJ_WORKBENCH_INIT;

    open_context("sm_90", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    problem.p.type = TJ_F32;
    problem.batch = 66000;
    problem.scale[TJ_MATRIX_M] = (tj_scale)SCALE_EACH;
    problem.scale[TJ_MATRIX_N] = (tj_scale)ONE_SCALE;
    expect_right_product(&problem, "naive:tile_width=4", &options, "66 000 products");
}

Test(types, are_chosen_a_family_and_proven)
{
    open_context("sm_90", TJ_PROVE_BEFORE);
    if (!has_nvrtc())
        return;
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(40, 72, 24, inputs[i].m);
        tj_workbench_options options = TJ_WORKBENCH_INIT;

        problem.n.type = inputs[i].n;
        problem.compute = inputs[i].compute;
        problem.scale[TJ_MATRIX_M] = nth_scale(i);
        problem.p.type = i % 4 == 1 ? inputs[i].m : 0;
        expect_right_product(&problem, NULL, &options, tj_type_name(inputs[i].m));
    }
}

/* A column of chosen numbers, times 1, in each type of 8 bits. */
Test(types, of_8_bits_saturate_and_keep_nan)
{
    enum { COUNT = 16 };
    static const float m[COUNT] = {0,     -0.0f, 1e9f,     -1e9f,    INFINITY, -INFINITY, 448, 464,
                                   57344, 61440, 0x1p-10f, 0x1p-17f, 2.5f,     3.5f,      NAN, -300};
    static const float one = 1;
    static const tj_type types[] = {TJ_E4M3, TJ_E5M2};

    open_context("sm_90", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    for (size_t i = 0; i < 2; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(COUNT, 1, 1, TJ_F32);
        tj_workbench_options options = TJ_WORKBENCH_INIT;

        problem.p.type = types[i];
        options.host[TJ_MATRIX_M] = m;
        options.host[TJ_MATRIX_N] = &one;
        expect_right_product(&problem, "naive", &options, tj_type_name(types[i]));
    }
}

/* All 256 patterns of a type as M, times 1 in f32: read as the reference reads them, NaN and infinity too. */
Test(types, of_8_bits_are_read_as_they_are)
{
    static uint8_t all[256], one[1];

    open_context("sm_90", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    for (int i = 0; i < 256; i++)
        all[i] = (uint8_t)i;
    for (int type = TJ_E4M3; type <= TJ_U8; type++) {
        tj_problem problem = TJ_PROBLEM_INIT(256, 1, 1, type);
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        const double unit = 1;

        problem.p.type = TJ_F32;
        tj_convert((tj_type)type, one, TJ_F64, &unit, 1);
        options.host[TJ_MATRIX_M] = all;
        options.host[TJ_MATRIX_N] = one;
        expect_right_product(&problem, "tiled", &options, tj_type_name((tj_type)type));
    }
}

/* ---- refusals ----------------------------------------------------------------------------------------------------- */

Test(types, that_a_family_lacks_are_refused_in_words)
{
    static const char *const families[] = {"simt", "skinny", "small_batch"};

    open_context("sm_90", TJ_PROVE_NEVER);
    for (size_t f = 0; f < 3; f++)
        for (int type = TJ_E4M3; type <= TJ_U8; type++)
            for (int is_p = 0; is_p < 2; is_p++) {
                tj_problem problem = TJ_PROBLEM_INIT(64, 64, 64, is_p ? TJ_F16 : type);
                tj_config config = TJ_CONFIG_INIT;
                char words[80];

                problem.p.type = is_p && type <= TJ_E5M2 ? type : TJ_F32;
                if (is_p && type > TJ_E5M2)
                    continue;
                config.family = tj_family_find(families[f]);
                cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT));
                snprintf(words, sizeof words, "family %s takes matrices of f32, f64, f16 or bf16, and %c is %s", families[f],
                         is_p ? 'P' : 'M', tj_type_name((tj_type)type));
                cr_expect(says(words), "%s", err.message);
                cr_expect(says("use the family tiled"), "%s", err.message);
            }
}

/* Weights of 8 bits next to floats: correct where they are widened, refused with a message elsewhere. */
Test(types, of_weights_are_widened_or_refused)
{
    static const struct {
        int32_t m, n;
    } right[] = {{TJ_BF16, TJ_S8}, {TJ_F16, TJ_U8}, {TJ_S8, TJ_F32}},
      wrong[] = {{TJ_F64, TJ_S8}, {TJ_E4M3, TJ_U8}, {TJ_S8, TJ_E5M2}};
    static const char *const widen[] = {"naive", "tiled", "skinny"}, *const refuse[] = {"simt", "small_batch", "strip", "mma",
                                                                                        "wgmma"};
    static const size_t tensor_cores = 3; /* of refuse: they widen to 16 bits */

    open_context("sm_90", TJ_PROVE_NEVER);
    for (size_t i = 0; i < 3; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(6, 70, 40, TJ_F32);
        tj_config config = TJ_CONFIG_INIT;

        problem.m.type = wrong[i].m;
        problem.n.type = wrong[i].n;
        cr_expect(eq(int, tj_problem_check(&problem, &err), TJ_ERR_INVALID_ARGUMENT));
        cr_expect(says("one of them weights of e4m3, e5m2, s8, u8, s4, e2m1 or u4, and the other f32, f16 or bf16"), "%s",
                  err.message);
        problem.m.type = right[i].m;
        problem.n.type = right[i].n;
        problem.scale[TJ_MATRIX_N] = (tj_scale)SCALE_EACH;
        for (size_t f = 0; f < sizeof refuse / sizeof refuse[0]; f++) {
            config = (tj_config)TJ_CONFIG_INIT;
            config.family = tj_family_find(refuse[f]);
            if (f >= tensor_cores && right[i].n != TJ_F32)
                continue;
            cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT), "%s", refuse[f]);
            cr_expect(says(refuse[f]), "%s", err.message);
            if (f >= tensor_cores)
                cr_expect(says("multiplies weights by f16, bf16 or e4m3, not by f32"), "%s", err.message);
        }
        for (size_t f = 0; f < 3 && has_nvrtc(); f++)
            expect_right_product(&problem, widen[f], NULL, widen[f]);
        problem.compute = TJ_COMPUTE_TF32;
        cr_expect(eq(int, tj_problem_check(&problem, &err), TJ_ERR_INVALID_ARGUMENT));
        cr_expect(says("use f32"), "%s", err.message);
    }
}

/* In every layout, with lines that 8, 4 and no bytes at once divide, as M and as N, on the way to shared memory and in a step ahead. */
Test(types, of_weights_are_widened_for_tensor_cores)
{
    static const struct {
        const char *config;
        tj_type m, n;
        int32_t j, k, l, m_layout, n_layout, batch;
    } row[] = {
        {"mma:bm=32,bn=32,wm=16,wn=16", TJ_BF16, TJ_S8, 32, 64, 64, 0, 0, 1},
        {"mma:bm=32,bn=32,wm=16,wn=16,pack=none", TJ_F16, TJ_U8, 33, 70, 44, 0, 0, 2},
        {"mma:bm=32,bn=32,wm=16,wn=16,pack=none", TJ_F16, TJ_S8, 33, 70, 47, 1, 1, 1},
        {"mma:bm=32,bn=32,wm=16,wn=16,pack=none", TJ_U8, TJ_BF16, 34, 72, 40, 1, 0, 1},
        {"mma:bm=32,bn=32,wm=16,wn=16,steps=4,pack=n,splits=2", TJ_BF16, TJ_U8, 33, 171, 47, 0, 0, 1},
        {"mma:bm=32,bn=32,wm=16,wn=16,pack=both", TJ_S8, TJ_F16, 33, 71, 47, 0, 1, 2},
        {"mma:bm=32,bn=32,wm=16,wn=16,copy=registers,width=8", TJ_F16, TJ_S8, 40, 72, 40, 1, 1, 1},
        {"mma:bm=32,bn=32,wm=16,wn=16,width=1", TJ_S8, TJ_BF16, 32, 64, 32, 0, 0, 1},
        {"wgmma:bm=64,bn=32", TJ_BF16, TJ_S8, 65, 72, 48, 0, 0, 1},
        {"wgmma:bm=64,bn=32", TJ_U8, TJ_F16, 65, 71, 47, 1, 1, 2},
    };

    open_context("sm_90", TJ_PROVE_NEVER);
    for (size_t i = 0; i < sizeof row / sizeof row[0] && has_nvrtc(); i++) {
        tj_problem problem = TJ_PROBLEM_INIT(row[i].j, row[i].k, row[i].l, row[i].m);
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        char label[160];

        problem.n.type = row[i].n;
        problem.m.layout = (int8_t)row[i].m_layout;
        problem.n.layout = (int8_t)row[i].n_layout;
        problem.p.layout = (int8_t)(i % 3 == 2);
        problem.batch = row[i].batch;
        problem.scale[TJ_MATRIX_M] = nth_scale(row[i].m == TJ_S8 || row[i].m == TJ_U8 ? 2 : 0);
        problem.scale[TJ_MATRIX_N] = nth_scale(row[i].n == TJ_S8 || row[i].n == TJ_U8 ? 2 : 0);
        problem.p.type = TJ_F32;
        options.guard_bytes = 256;
        snprintf(label, sizeof label, "%s, variant %zu", row[i].config, i);
        expect_right_product(&problem, row[i].config, &options, label);
    }
}

/* Weights with scales, by families that load them to registers. */
typedef struct scaled_weights {
    const char *config;
    tj_type m, n;
    int32_t j, k, l;
    tj_scale scale;
} scaled_weights;

static void expect_right_weights(const scaled_weights *row, size_t rows, bool turns_m)
{
    open_context("sm_90", TJ_PROVE_NEVER);
    for (size_t i = 0; i < rows && has_nvrtc(); i++) {
        tj_problem problem = TJ_PROBLEM_INIT(row[i].j, row[i].k, row[i].l, row[i].m);
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        char label[160];

        problem.n.type = row[i].n;
        problem.n.layout = TJ_COL_MAJOR;
        problem.m.layout = (int8_t)(turns_m && i % 3 == 1);
        problem.scale[TJ_MATRIX_N] = row[i].scale;
        problem.p.type = TJ_F32;
        if (row[i].m == TJ_E4M3) {
            problem.compute = TJ_COMPUTE_F32_FP8;
            problem.m.layout = TJ_ROW_MAJOR;
        }
        options.guard_bytes = 256;
        snprintf(label, sizeof label, "%s, variant %zu", row[i].config, i);
        expect_right_product(&problem, row[i].config, &options, label);
    }
}

/* wgmma loads weights to registers: scales of each type and layout, zero points, and factors that are multiplied themselves. */
Test(types, weights_from_registers_have_scales)
{
    static const scaled_weights row[] = {
        {"wgmma:swap=yes,bm=64,bn=40", TJ_BF16, TJ_E2M1, 40, 416, 72, {TJ_E8M0, TJ_SCALES_ROW_BY_ROW, 0, 0, 1, 32}},
        {"wgmma:swap=yes,bm=128,bn=24", TJ_F16, TJ_E2M1, 24, 416, 72, {TJ_E8M0, TJ_SCALES_IN_TILES, 0, 0, 1, 32}},
        {"wgmma:swap=yes,bm=64,bn=24,cluster=k2", TJ_F16, TJ_E2M1, 17, 416, 72, {TJ_E4M3, TJ_SCALES_ROW_BY_ROW, 0, 1, 1, 16}},
        {"wgmma:swap=yes,bm=64,bn=24", TJ_BF16, TJ_S4, 24, 416, 72, {TJ_E4M3, TJ_SCALES_IN_TILES, 0, 0, 1, 16}},
        {"wgmma:swap=yes,bm=128,bn=24", TJ_BF16, TJ_U4, 17, 416, 72, {TJ_BF16, TJ_SCALES_ROW_BY_ROW, TJ_U4, 0, 1, 32}},
        {"wgmma:swap=yes,bm=64,bn=24,splits=2", TJ_F16, TJ_U4, 24, 544, 72, {TJ_F16, TJ_SCALES_PART_BY_PART, TJ_U4, 0, 1, 128}},
        {"wgmma:swap=yes,bm=64,bn=24", TJ_BF16, TJ_U4, 24, 416, 72, {TJ_E4M3, TJ_SCALES_ROW_BY_ROW, TJ_U4, 0, 1, 64}},
        {"wgmma:swap=yes,bm=64,bn=24", TJ_BF16, TJ_S8, 24, 416, 72, {TJ_F32, TJ_SCALES_PART_BY_PART, TJ_S8, 0, 1, 0}},
        {"wgmma:swap=yes,bm=64,bn=24", TJ_BF16, TJ_E4M3, 24, 416, 200, {TJ_F32, TJ_SCALES_ROW_BY_ROW, 0, 0, 128, 128}},
        {"wgmma:swap=yes,bm=128,bn=24", TJ_E4M3, TJ_S4, 17, 416, 72, {0}},
        {"wgmma:swap=yes,bm=64,bn=24,cluster=k2", TJ_E4M3, TJ_U4, 24, 416, 72, {TJ_F16, TJ_SCALES_ROW_BY_ROW, 0, 0, 1, 32}},
        {"wgmma:swap=yes,bm=64,bn=24", TJ_E4M3, TJ_E2M1, 24, 416, 72, {TJ_E8M0, TJ_SCALES_IN_TILES, 0, 0, 1, 32}},
        {"wgmma:swap=yes,bm=64,bn=24,splits=2", TJ_E4M3, TJ_S4, 24, 800, 72, {TJ_BF16, TJ_SCALES_PART_BY_PART, 0, 0, 1, 256}},
        /* slices: rounds of two and three phases that k does not fill, with and without clusters, and parts longer than a phase */
        {"wgmma:swap=yes,bm=64,bn=24,multipliers=2",
         TJ_BF16,
         TJ_E2M1,
         24,
         416,
         72,
         {TJ_E8M0, TJ_SCALES_ROW_BY_ROW, 0, 0, 1, 32}},
        {"wgmma:swap=yes,bm=64,bn=24,multipliers=3,cluster=k2",
         TJ_BF16,
         TJ_S4,
         17,
         1184,
         72,
         {TJ_BF16, TJ_SCALES_ROW_BY_ROW, 0, 0, 1, 384}},
        {"wgmma:swap=yes,bm=64,bn=24,multipliers=2,cluster=m2",
         TJ_BF16,
         TJ_U4,
         24,
         416,
         136,
         {TJ_BF16, TJ_SCALES_ROW_BY_ROW, TJ_U4, 0, 1, 32}},
        {"wgmma:swap=yes,bm=64,bn=24,multipliers=2,splits=2,stages=3",
         TJ_F16,
         TJ_S8,
         24,
         416,
         72,
         {TJ_F32, TJ_SCALES_PART_BY_PART, 0, 0, 1, 128}},
        /* a wide tile, whose phases are short */
        {"wgmma:swap=yes,bm=64,bn=256", TJ_BF16, TJ_E2M1, 40, 160, 72, {TJ_E8M0, TJ_SCALES_ROW_BY_ROW, 0, 0, 1, 32}},
    };

    expect_right_weights(row, sizeof row / sizeof row[0], true);
}

/*
 * thin: each type of weights, by the widest loads and narrower ones; scales that are multiplied by weights, and by sums; zero points;
 * rows and columns that hang over an edge, slices without a unit, splits.
 */
Test(types, weights_of_few_rows_have_scales)
{
    static const scaled_weights row[] = {
        {"thin", TJ_BF16, TJ_E2M1, 7, 1152, 72, {TJ_E8M0, TJ_SCALES_ROW_BY_ROW, 0, 0, 1, 32}},
        {"thin:slices=2,ahead=4", TJ_BF16, TJ_E2M1, 17, 384, 40, {TJ_E8M0, TJ_SCALES_IN_TILES, 0, 0, 1, 32}},
        {"thin:width=8,splits=3", TJ_BF16, TJ_E2M1, 9, 1600, 33, {TJ_E8M0, TJ_SCALES_PART_BY_PART, 0, 0, 1, 64}},
        {"thin:tn=16", TJ_BF16, TJ_E2M1, 3, 320, 48, {TJ_E4M3, TJ_SCALES_ROW_BY_ROW, 0, 1, 1, 16}},
        {"thin:slices=4", TJ_F16, TJ_E2M1, 16, 416, 72, {TJ_E8M0, TJ_SCALES_ROW_BY_ROW, 0, 0, 1, 32}},
        {"thin:slices=1,tn=64", TJ_BF16, TJ_S4, 1, 512, 100, {TJ_BF16, TJ_SCALES_ROW_BY_ROW, 0, 0, 1, 128}},
        {"thin:tm=8", TJ_F16, TJ_S4, 13, 1536, 72, {TJ_F32, TJ_SCALES_PART_BY_PART, 0, 0, 1, 256}},
        {"thin:width=4", TJ_BF16, TJ_U4, 16, 416, 72, {TJ_F16, TJ_SCALES_ROW_BY_ROW, TJ_U4, 0, 1, 32}},
        {"thin:slices=2", TJ_F16, TJ_U4, 8, 544, 33, {TJ_F16, TJ_SCALES_ROW_BY_ROW, TJ_U8, 0, 1, 32}},
        {"thin", TJ_BF16, TJ_S8, 5, 512, 72, {TJ_F16, TJ_SCALES_ROW_BY_ROW, TJ_S8, 0, 1, 128}},
        {"thin:width=8", TJ_F16, TJ_U8, 5, 416, 72, {TJ_F32, TJ_SCALES_ROW_BY_ROW, TJ_U8, 0, 1, 32}},
        {"thin", TJ_BF16, TJ_E4M3, 24, 512, 200, {TJ_F32, TJ_SCALES_ROW_BY_ROW, 0, 0, 128, 128}},
        {"thin:splits=2", TJ_F16, TJ_E5M2, 32, 640, 72, {TJ_F32, TJ_SCALES_PART_BY_PART, 0, 0, 1, 0}},
    };

    expect_right_weights(row, sizeof row / sizeof row[0], false);
}

/* In mma: a whole number near a zero point is taken from the weights, and the rest from the sum. Weights that are 7 less 7 are 0. */
Test(types, weights_have_zero_points_of_floats)
{
    static const struct {
        const char *config;
        tj_type m, n;
        int32_t n_layout;
        tj_scale scale;
    } row[] = {
        {"mma:bm=32,bn=64,wm=16,wn=32,steps=4", TJ_F16, TJ_U4, TJ_COL_MAJOR, {TJ_F16, TJ_SCALES_ROW_BY_ROW, TJ_F16, 0, 1, 32}},
        {"mma:bm=32,bn=32,wm=16,wn=16,steps=4,slices=2",
         TJ_BF16,
         TJ_S4,
         TJ_COL_MAJOR,
         {TJ_F32, TJ_SCALES_PART_BY_PART, TJ_F32, 0, 1, 128}},
        {"mma:bm=32,bn=64,wm=16,wn=32,splits=2",
         TJ_BF16,
         TJ_U4,
         TJ_ROW_MAJOR,
         {TJ_BF16, TJ_SCALES_PART_BY_PART, TJ_BF16, 0, 1, 64}},
        {"mma:bm=32,bn=32,wm=16,wn=16,steps=4", TJ_U8, TJ_F16, TJ_COL_MAJOR, {TJ_F16, TJ_SCALES_ROW_BY_ROW, TJ_F16, 0, 1, 32}},
        {"mma:bm=32,bn=64,wm=16,wn=32,steps=4", TJ_BF16, TJ_S8, TJ_COL_MAJOR, {TJ_F16, TJ_SCALES_ROW_BY_ROW, TJ_F16, 0, 1, 32}},
    };
    static uint8_t sevens[64 * 128 / 2];
    static uint16_t zeros[4 * 64];

    open_context("sm_90", TJ_PROVE_NEVER);
    for (size_t i = 0; i < sizeof row / sizeof row[0] && has_nvrtc(); i++) {
        tj_problem problem = TJ_PROBLEM_INIT(37, 416, 72, row[i].m);
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        char label[160];

        problem.n.type = row[i].n;
        problem.n.layout = (int8_t)row[i].n_layout;
        problem.scale[row[i].m == TJ_U8 ? TJ_MATRIX_M : TJ_MATRIX_N] = row[i].scale;
        problem.p.type = TJ_F32;
        options.guard_bytes = 256;
        snprintf(label, sizeof label, "%s, variant %zu", row[i].config, i);
        expect_right_product(&problem, row[i].config, &options, label);
        if (i > 0)
            continue;
        problem.k.extent = 128;
        problem.l.extent = 64;
        memset(sevens, 0x77, sizeof sevens);
        for (size_t z = 0; z < sizeof zeros / sizeof zeros[0]; z++)
            zeros[z] = 0x4700;
        options.host[TJ_MATRIX_N] = sevens;
        options.host[TJ_OPERAND_ZERO + TJ_MATRIX_N] = zeros;
        expect_right_product(&problem, row[i].config, &options, "weights that are zero");
    }
}

/* Parts of k of several phases, the last of which the second slice of warps has nothing of: it still has products of the part. */
Test(types, slices_scale_parts_that_end_before_they_do)
{
    static const struct {
        const char *config;
        tj_type m, n;
        int64_t k;
        tj_scale of_m, of_n;
    } row[] = {
        {"mma:bm=32,bn=32,steps=2,wm=32,wn=32,slices=2",
         TJ_BF16,
         TJ_S8,
         88,
         {0},
         {TJ_E8M0, TJ_SCALES_ROW_BY_ROW, 0, 0, 16, 128}},
        {"mma:bm=32,bn=32,steps=2,wm=16,wn=16,slices=4",
         TJ_E4M3,
         TJ_E4M3,
         288,
         {TJ_F32, TJ_SCALES_PART_BY_PART, 0, 0, 1, 256},
         {TJ_F32, TJ_SCALES_PART_BY_PART, 0, 0, 1, 256}},
        {"mma:bm=32,bn=32,steps=4,wm=16,wn=32,slices=2",
         TJ_BF16,
         TJ_U4,
         160,
         {0},
         {TJ_F32, TJ_SCALES_PART_BY_PART, TJ_F32, 0, 1, 256}},
    };

    open_context("sm_90", TJ_PROVE_NEVER);
    for (size_t i = 0; i < sizeof row / sizeof row[0] && has_nvrtc(); i++) {
        tj_problem problem = TJ_PROBLEM_INIT(9, row[i].k, 40, row[i].m);
        tj_workbench_options options = TJ_WORKBENCH_INIT;

        problem.n.type = row[i].n;
        problem.p.type = TJ_F32;
        problem.scale[TJ_MATRIX_M] = row[i].of_m;
        problem.scale[TJ_MATRIX_N] = row[i].of_n;
        options.guard_bytes = 256;
        expect_right_product(&problem, row[i].config, &options, row[i].config);
    }
}

/* Weights of 4 bits by e4m3 on tensor cores, with scales of both: as they lie, and packed as e4m3. */
Test(types, weights_of_4_bits_meet_e4m3)
{
    static const struct {
        const char *config;
        tj_type n;
        int32_t n_layout, compute;
        tj_scale m, of_n;
    } row[] = {
        {"mma:bm=32,bn=32,wm=16,wn=16", TJ_S4, TJ_COL_MAJOR, TJ_COMPUTE_F32, {0}, {0}},
        {"mma:bm=32,bn=32,wm=16,wn=16,splits=2", TJ_U4, TJ_COL_MAJOR, TJ_COMPUTE_F32_FP8, {0}, SCALE_ALONG_K(64)},
        {"mma:bm=32,bn=32,wm=16,wn=16", TJ_E2M1, TJ_COL_MAJOR, TJ_COMPUTE_F32, SCALE_ALONG_K(32), SCALE_ALONG_K(32)},
        {"mma:bm=64,bn=64,wm=64,wn=32,pack=n", TJ_S4, TJ_COL_MAJOR, TJ_COMPUTE_F32_FP8, SCALE_ALONG_K(128), SCALE_ALONG_K(64)},
        {"mma:bm=32,bn=32,wm=16,wn=16", TJ_E2M1, TJ_ROW_MAJOR, TJ_COMPUTE_F32, {0}, SCALE_ALONG_K(32)},
        {"wgmma:bm=64,bn=32", TJ_U4, TJ_COL_MAJOR, TJ_COMPUTE_F32_FP8, SCALE_EACH, SCALE_ALONG_K(32)},
        {"wgmma:bm=64,bn=32", TJ_S4, TJ_COL_MAJOR, TJ_COMPUTE_F32_FP8, SCALE_ALONG_K(128), SCALE_ALONG_K(64)},
        {"wgmma:swap=yes,bm=64,bn=24", TJ_E2M1, TJ_COL_MAJOR, TJ_COMPUTE_F32_FP8, SCALE_ALONG_K(32), SCALE_ALONG_K(32)},
    };

    open_context("sm_90", TJ_PROVE_NEVER);
    for (size_t i = 0; i < sizeof row / sizeof row[0] && has_nvrtc(); i++) {
        tj_problem problem = TJ_PROBLEM_INIT(37, 224, 72, TJ_E4M3);
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        char label[160];

        problem.n.type = row[i].n;
        problem.n.layout = (int8_t)row[i].n_layout;
        problem.compute = row[i].compute;
        problem.scale[TJ_MATRIX_M] = row[i].m;
        problem.scale[TJ_MATRIX_N] = row[i].of_n;
        problem.p.type = TJ_BF16;
        options.guard_bytes = 256;
        snprintf(label, sizeof label, "%s, variant %zu", row[i].config, i);
        expect_right_product(&problem, row[i].config, &options, label);
    }
}

/* Tensor cores take e4m3 along k, in which two neighbours across k of a byte do not lie; they have no zero points. */
Test(types, weights_of_4_bits_that_e4m3_cannot_meet_are_refused)
{
    static const struct {
        const char *config, *words;
        int32_t n_layout, compute, zero;
    } row[] = {
        {"wgmma:bm=64,bn=32,pack=n", "would transpose weights of u4, of which two share a byte", TJ_ROW_MAJOR,
         TJ_COMPUTE_F32_FP8, 0},
        {"wgmma", "ask for compute f32_fp8", TJ_COL_MAJOR, TJ_COMPUTE_F32, 0},
        {"wgmma:swap=yes,transpose=registers", "what they are multiplied by has such scales too", TJ_COL_MAJOR,
         TJ_COMPUTE_F32_FP8, -1},
        {"mma", "family mma does not multiply by the scales of this problem", TJ_COL_MAJOR, TJ_COMPUTE_F32, TJ_U4},
        {"wgmma", "family wgmma does not multiply by the scales of this problem", TJ_COL_MAJOR, TJ_COMPUTE_F32_FP8, TJ_U4},
    };

    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(64, 256, 64, TJ_E4M3);
        tj_config config = TJ_CONFIG_INIT;

        problem.n.type = TJ_U4;
        problem.n.layout = (int8_t)row[i].n_layout;
        problem.compute = row[i].compute;
        if (row[i].zero > 0)
            problem.scale[TJ_MATRIX_N] = (tj_scale){TJ_F16, TJ_SCALES_ROW_BY_ROW, TJ_U4, 0, 1, 32};
        if (row[i].zero < 0)
            problem.scale[TJ_MATRIX_M] = (tj_scale)SCALE_ALONG_K(32);
        cr_assert(eq(int, tj_config_parse(row[i].config, &config, &err), TJ_OK));
        cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT), "%s", row[i].config);
        cr_expect(says(row[i].words), "%s", err.message);
    }
}

/* In every family that takes them: parts that phases divide, a short last one, splits, batches, groups, and weights as M. */
Test(types, scales_along_k_multiply_parts)
{
    static const struct {
        const char *config;
        tj_type m, n;
        int32_t j, k, l, scale_k, m_layout, n_layout, batch, groups;
    } row[] = {
        {"naive", TJ_F32, TJ_S8, 5, 70, 18, 9, 0, 0, 1, 0},
        {"naive", TJ_U8, TJ_BF16, 5, 70, 18, 100, 1, 1, 2, 0},
        {"tiled", TJ_F16, TJ_U8, 21, 70, 18, 24, 0, 0, 2, 0},
        {"tiled:shared=dynamic", TJ_S8, TJ_F32, 21, 70, 18, 1, 1, 1, 1, 0},
        {"tiled", TJ_BF16, TJ_S8, 33, 64, 18, 16, 0, 1, 1, 3},
        {"skinny", TJ_BF16, TJ_S8, 5, 200, 36, 64, 0, 0, 2, 0},
        {"skinny:splits=2", TJ_F32, TJ_U8, 5, 200, 36, 32, 0, 1, 1, 0},
        {"mma:bm=32,bn=32,wm=16,wn=16", TJ_BF16, TJ_S8, 33, 200, 47, 64, 0, 0, 1, 0},
        {"mma:bm=32,bn=32,wm=16,wn=16,steps=4,splits=2", TJ_F16, TJ_U8, 33, 200, 48, 128, 1, 1, 2, 0},
        {"mma:bm=32,bn=32,wm=16,wn=16,pack=m", TJ_S8, TJ_F16, 34, 100, 40, 32, 1, 0, 1, 0},
        {"mma:bm=32,bn=32,wm=16,wn=16", TJ_BF16, TJ_U8, 70, 96, 32, 32, 0, 0, 1, 3},
        {"wgmma:swap=yes,bm=64,bn=48", TJ_U8, TJ_F16, 70, 528, 48, 256, 0, 0, 1, 0},
        {"wgmma:swap=yes,bm=64,bn=40,cluster=k2", TJ_BF16, TJ_S8, 40, 336, 96, 32, 0, 1, 1, 0},
    };

    open_context("sm_90", TJ_PROVE_NEVER);
    for (size_t i = 0; i < sizeof row / sizeof row[0] && has_nvrtc(); i++) {
        const bool is_m = row[i].m == TJ_S8 || row[i].m == TJ_U8;
        const tj_scale along_k = SCALE_ALONG_K(row[i].scale_k);
        tj_problem problem = TJ_PROBLEM_INIT(row[i].j, row[i].k, row[i].l, row[i].m);
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        char label[160];

        problem.n.type = row[i].n;
        problem.m.layout = (int8_t)row[i].m_layout;
        problem.n.layout = (int8_t)row[i].n_layout;
        problem.p.layout = (int8_t)(row[i].groups == 0 && i % 4 == 3);
        problem.batch = row[i].batch;
        problem.rows = rows_in_groups(row[i].groups);
        problem.scale[TJ_MATRIX_M] = is_m ? along_k : (tj_scale)SCALE_EACH; /* those of a sum go on as they are */
        problem.scale[TJ_MATRIX_N] = is_m ? (tj_scale)ONE_SCALE : along_k;
        problem.p.type = TJ_F32;
        options.guard_bytes = 256;
        snprintf(label, sizeof label, "%s, variant %zu", row[i].config, i);
        expect_right_product(&problem, row[i].config, &options, label);
    }
}

Test(types, scales_along_k_are_refused_in_words)
{
    static const struct {
        const char *config, *words;
        int32_t m, n, scale_k;
    } row[] = {
        {"mma", "family mma does not multiply by the scales of this problem (scale_n:along_k scale_k=32)", TJ_BF16, TJ_BF16,
         32},
        {"mma", "family mma does not multiply by the scales of this problem", TJ_S8, TJ_BF16, 32},
        {"tiled", "scale_n.k is -2: scales along k are for 1 or more elements each", TJ_BF16, TJ_S8, -2},
        {"wgmma", "family wgmma takes scales along k and zero points where weights come from registers", TJ_BF16, TJ_S8, 32},
        {"mma", "family mma takes scales along k for multiples of 32 elements", TJ_BF16, TJ_S8, 48},
        {"mma:steps=4", "use steps=2", TJ_BF16, TJ_S8, 96},
        {"mma:wm=64,wn=64", "a warp tile of 64 x 64 sums does not fit the registers: 2048 are the most", TJ_BF16, TJ_S8, 32},
        {"skinny:stream=m", "N has scales along k", TJ_BF16, TJ_S8, 32},
    };
    tj_config config;

    open_context("sm_90", TJ_PROVE_NEVER);
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(16, 64, 16, row[i].m);

        problem.n.type = row[i].n;
        problem.scale[TJ_MATRIX_N] = (tj_scale)SCALE_ALONG_K(row[i].scale_k);
        cr_assert(eq(int, tj_config_parse(row[i].config, &config, &err), TJ_OK));
        cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT), "%s", row[i].config);
        cr_expect(says(row[i].words), "%s", err.message);
    }
}

/* A launch says how far the scales of one part of k are from those of the next, and may not bring too few. */
Test(types, scales_along_k_have_a_leading_dimension)
{
    static const float m[4] = {1, 2, 3, 4}, scale[] = {1, 10, 100, -1, -1, 2, 20, 200};
    static const int8_t n[4 * 3] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    static const float wanted[3] = {(1 + 2 * 4) * 1 + (3 * 7 + 4 * 10) * 2, (2 + 2 * 5) * 10 + (3 * 8 + 4 * 11) * 20,
                                    (3 + 2 * 6) * 100 + (3 * 9 + 4 * 12) * 200};
    tj_problem problem = TJ_PROBLEM_INIT(1, 4, 3, TJ_F32);
    const void *const host[] = {m, n, scale, NULL};
    const size_t bytes[] = {sizeof m, sizeof n, sizeof scale, sizeof wanted};
    tj_operands x = TJ_OPERANDS_INIT;
    tj_buffer *buffer[4];
    float p[3];

    open_context("sm_90", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    problem.n.type = TJ_S8;
    problem.scale[TJ_MATRIX_N] = (tj_scale)SCALE_ALONG_K(2);
    for (int i = 0; i < 4; i++) {
        cr_assert(eq(int, tj_buffer_create(context, bytes[i], &buffer[i], &err), TJ_OK), "%s", err.message);
        if (host[i])
            cr_assert(eq(int, tj_buffer_write(buffer[i], 0, host[i], bytes[i], &err), TJ_OK), "%s", err.message);
    }
    x.m.address = tj_buffer_address(buffer[0]);
    x.n.address = tj_buffer_address(buffer[1]);
    x.scale[TJ_MATRIX_N].address = tj_buffer_address(buffer[2]);
    x.scale[TJ_MATRIX_N].ld = 5;
    x.p.address = tj_buffer_address(buffer[3]);
    cr_assert(eq(int, tj_matmul(context, &problem, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_buffer_read(buffer[3], 0, p, sizeof p, &err), TJ_OK), "%s", err.message);
    for (int i = 0; i < 3; i++)
        cr_expect(eq(flt, p[i], wanted[i]));
    x.scale[TJ_MATRIX_N].ld = 2;
    cr_expect(eq(int, tj_matmul(context, &problem, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("scale_n.ld is 2, and a stored row of the scales of N has 3 elements"), "%s", err.message);
    for (int i = 0; i < 4; i++)
        tj_buffer_free(buffer[i]);
}

/* As a proof compares it, a part of whose columns the simple kernel computes at a time; and a record of it says so. */
Test(types, scales_along_k_are_proven)
{
    tj_problem problem = TJ_PROBLEM_INIT(40, 100, 36, TJ_BF16);
    tj_config config = TJ_CONFIG_INIT;
    const tj_plan *plan;
    tj_proof proof = TJ_PROOF_INIT;
    char *json;

    problem.n.type = TJ_S8;
    problem.scale[TJ_MATRIX_N] = (tj_scale)SCALE_ALONG_K(32);
    problem.p.layout = TJ_COL_MAJOR;
    open_context("sm_90", TJ_PROVE_NEVER);
    json = tj_problem_to_json(&problem);
    cr_expect(strstr(json, "\"scale_k\":32") && strstr(json, "\"scale_n\":3"), "%s", json);
    free(json);
    if (!has_nvrtc())
        return;
    config.family = tj_family_find("mma");
    cr_assert(eq(int, tj_plan_prepare(context, &problem, &config, &plan, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, tj_plan_prove(context, plan, &problem, 1, &proof, &err), TJ_OK), "%s", err.message);
    cr_expect(proof.passed && proof.elements == 40 * 36, "%s", proof.reason);
}

/*
 * Tensor cores of sm_89 add products of 8-bit floats with 13 bits. Those of 1 after one of 16 384 would be lost, but for the parts
 * of 128 with compute f32_fp8; and none is lost with f32.
 */
Test(types, of_8_bit_floats_are_multiplied_on_sm_89)
{
    static const char *const configs[] = {"mma:bm=32,bn=32,wm=16,wn=16", "mma:bm=32,bn=32,wm=16,wn=16,steps=4,load=needed",
                                          "mma:bm=16,bn=64,wm=16,wn=32,steps=8,splits=3", NULL};
    static const tj_type types[] = {TJ_E4M3, TJ_E5M2};
    enum { K = 1600, ROWS = 20 };
    static uint8_t m[ROWS * K], n[K * ROWS];

    open_context("sm_89", TJ_PROVE_NEVER);
    for (int i = 0; i < 4 * 4 * 2 && has_nvrtc(); i++) {
        tj_problem problem = TJ_PROBLEM_INIT(ROWS, K, ROWS, types[i % 2]);
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        const char *const config = configs[i / 4 % 4];
        const double one = 1, many = 128;
        char label[160];

        problem.n.type = types[i / 2 % 2];
        problem.n.layout = i / 8 % 2;
        problem.compute = i < 16 ? TJ_COMPUTE_F32 : TJ_COMPUTE_F32_FP8;
        problem.p.type = i % 3 == 0 ? TJ_BF16 : TJ_F32;
        for (int e = 0; e < ROWS * K; e++) {
            tj_convert((tj_type)problem.m.type, &m[e], TJ_F64, e % K == 0 ? &many : &one, 1);
            tj_convert((tj_type)problem.n.type, &n[e], TJ_F64, (problem.n.layout ? e % K : e / ROWS) == 0 ? &many : &one, 1);
        }
        snprintf(label, sizeof label, "variant %d, %s", i, config ? config : "the library's choice");
        expect_right_product(&problem, config, &options, label);
        options.host[TJ_MATRIX_M] = m;
        options.host[TJ_MATRIX_N] = n;
        expect_right_product(&problem, config, &options, label);
    }
}

/* Scales of blocks of M and of N, of each type and layout: some are for all rows of a warp's tile, some for parts of two lengths. */
Test(types, of_8_bit_floats_have_scales_of_blocks)
{
    static const struct {
        const char *config;
        tj_scale of_m, of_n;
        int32_t j, k, l, layouts, batch, groups;
    } row[] = {
        {"mma:bm=32,bn=64,wm=16,wn=32,steps=4", BY_ROW(1, 128), BY_ROW(128, 128), 70, 400, 132, 1, 1, 0},
        {"mma:bm=64,bn=64,wm=64,wn=16,splits=2", BY_ROW(1, 128), BY_PART(1, 128), 97, 500, 70, 0, 2, 0},
        {"mma:bm=32,bn=32,wm=16,wn=16,steps=8", SCALES_OF(TJ_E8M0, TJ_SCALES_ROW_BY_ROW, 1, 32),
         SCALES_OF(TJ_E8M0, TJ_SCALES_IN_TILES, 1, 32), 40, 330, 33, 2, 1, 0},
        {"mma:bm=32,bn=64,wm=32,wn=16", BY_PART(128, 64), SCALES_OF(TJ_BF16, TJ_SCALES_ROW_BY_ROW, 1, 192), 140, 390, 64, 3, 1,
         0},
        {"mma:bm=16,bn=64,wm=16,wn=32,load=needed", {0}, {TJ_E4M3, .whole = 1, .rows = 64, .k = 64}, 9, 256, 130, 1, 1, 0},
        {"mma:bm=32,bn=32,wm=16,wn=16,pack=both", BY_PART(0, 128), SCALES_OF(TJ_F16, TJ_SCALES_PART_BY_PART, 1, 256), 33, 300,
         40, 2, 1, 0},
        {"mma:bm=32,bn=64,wm=16,wn=32,steps=4", BY_ROW(1, 128), BY_ROW(128, 128), 90, 256, 130, 1, 1, 3},
        {NULL, BY_ROW(1, 128), BY_ROW(128, 128), 130, 384, 200, 1, 1, 0},
    };

    for (size_t i = 0; i < 4 * sizeof row / sizeof row[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(row[i / 4].j, row[i / 4].k, row[i / 4].l, TJ_E4M3);
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        char label[160];

        if (i > 0)
            tj_context_free(context);
        open_context(i % 2 ? "sm_89" : "sm_90", TJ_PROVE_NEVER);
        if (!has_nvrtc())
            return;
        problem.compute = i % 4 < 2 ? TJ_COMPUTE_F32 : TJ_COMPUTE_F32_FP8;
        problem.n.type = i / 4 % 3 == 2 ? TJ_E5M2 : TJ_E4M3;
        problem.m.layout = row[i / 4].layouts / 2;
        problem.n.layout = row[i / 4].layouts % 2;
        problem.p.type = i / 4 % 2 ? TJ_BF16 : TJ_F32;
        problem.scale[TJ_MATRIX_M] = row[i / 4].of_m;
        problem.scale[TJ_MATRIX_N] = row[i / 4].of_n;
        problem.batch = row[i / 4].batch;
        problem.rows = rows_in_groups(row[i / 4].groups);
        options.guard_bytes = 256;
        snprintf(label, sizeof label, "variant %zu, %s", i, row[i / 4].config ? row[i / 4].config : "the library's choice");
        expect_right_product(&problem, row[i / 4].config, &options, label);
    }
}

/* Is this byte infinity or a NaN? */
static bool is_special(tj_type type, int byte)
{
    const uint8_t bits = (uint8_t)byte;
    double value;

    tj_convert(TJ_F64, &value, type, &bits, 1);
    return !isfinite(value);
}

/*
 * Every weight that there is, times 1: a bound of f32 leaves no room for another one. First at each place of a fragment: a
 * square of ones, so without infinities, which would spread. Then in one row, each for itself.
 */
Test(types, of_weights_are_widened_exactly)
{
    static const tj_type weights[] = {TJ_S8, TJ_U8, TJ_E4M3, TJ_E5M2, TJ_S4, TJ_U4, TJ_E2M1},
                         numbers[] = {TJ_F16, TJ_BF16, TJ_F32, TJ_E4M3};
    static const char *const configs[] = {"mma:bm=16,bn=64,wm=16,wn=64",
                                          "mma:bm=16,bn=64,wm=16,wn=16,pack=n",
                                          "mma:bm=16,bn=64,wm=16,wn=16,copy=registers",
                                          "wgmma:bm=64,bn=64,pack=both",
                                          "skinny",
                                          "tiled",
                                          "naive"};
    enum { WEIGHTS = sizeof weights / sizeof weights[0], CONFIGS = sizeof configs / sizeof configs[0], NUMBERS = 4 };

    open_context("sm_90", TJ_PROVE_NEVER);
    for (size_t i = 0; i < WEIGHTS * NUMBERS * CONFIGS * 2 * 2 && has_nvrtc(); i++) {
        const tj_type weight = weights[i % WEIGHTS], number = numbers[i / WEIGHTS % NUMBERS];
        const char *const config = configs[i / WEIGHTS / NUMBERS % CONFIGS];
        const bool is_pair = tj_type_get_facts(weight)->numbers == 2, is_row = i / WEIGHTS / NUMBERS / CONFIGS % 2,
                   is_along_k = i / WEIGHTS / NUMBERS / CONFIGS / 2;
        const int32_t k = is_row ? 1 : 16, l = is_row && is_pair && !is_along_k ? 512 : 256;
        tj_problem problem = TJ_PROBLEM_INIT(16, k, l, number);
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        static uint8_t all[16 * 256], ones[16 * 16 * 4];
        const double unit = 1;
        char label[160];

        if ((number == TJ_F32 && strstr(config, "mma")) || (is_pair && strstr(config, "registers")))
            continue; /* refused */
        if (number == TJ_E4M3 && (!is_pair || strcmp(config, "skinny") == 0 || (strstr(config, "wgmma") && !is_along_k)))
            continue;
        if (number == TJ_E4M3 && strstr(config, "wgmma"))
            problem.compute = TJ_COMPUTE_F32_FP8;
        problem.n.type = weight;
        problem.n.layout = is_along_k;
        problem.p.type = TJ_F32;
        for (int e = 0; e < 16 * 256; e++)
            all[e] = (uint8_t)(e + e / 256);
        for (int e = 0; e < 16 * 256 && !is_row; e++)
            all[e] = is_special(weight, all[e]) ? 0 : all[e];
        memset(ones, 0, sizeof ones);
        for (int e = 0; e < 16; e++)
            tj_convert(number, ones + tj_type_bytes(number) * (size_t)(is_row ? e : 17 * e), TJ_F64, &unit, 1);
        options.host[TJ_MATRIX_M] = ones;
        options.host[TJ_MATRIX_N] = all;
        snprintf(label, sizeof label, "%s of %s by %s, %s, %s", is_row ? "a row" : "a square", tj_type_name(weight),
                 tj_type_name(number), is_along_k ? "along k" : "across k", config);
        expect_right_product(&problem, config, &options, label);
    }
}

/* ---- weights of 4 bits -------------------------------------------------------------------------------------------- */

/*
 * Two in a byte, the first in its lower half, rows begin at a byte; the half left by an odd row is full of other bits. By hand.
 */
Test(types, of_4_bits_lie_as_they_are_said_to)
{
    static const float m[3] = {1, 10, 100};
    static const uint8_t by_rows[3 * 3] = {0x21, 0xa3, 0xee, 0x7f, 0x58, 0xee, 0xdc, 0x96, 0xee}, /* 3 lines of 4, ld 3 */
        by_cols[3 * 2] = {0xf1, 0xac, 0x72, 0x9d, 0x83, 0x56};                                    /* 3 lines of 3 */
    static const float wanted[3] = {1 + 10 * -1 + 100 * -4, 2 + 10 * 7 + 100 * -3, 3 + 10 * -8 + 100 * 6};

    open_context("sm_90", TJ_PROVE_NEVER);
    for (int i = 0; i < 4 && has_nvrtc(); i++) {
        const bool is_by_rows = i % 2 == 0;
        tj_problem problem = TJ_PROBLEM_INIT(1, 3, 3, TJ_F32);
        const void *const host[] = {m, is_by_rows ? by_rows : by_cols, NULL};
        const size_t bytes[] = {sizeof m, is_by_rows ? sizeof by_rows : sizeof by_cols, sizeof wanted};
        tj_operands x = TJ_OPERANDS_INIT;
        tj_host_operands known = {.struct_size = sizeof known, .m = m, .n = host[1]};
        tj_buffer *buffer[3];
        float p[3];

        problem.n.type = TJ_S4;
        problem.n.layout = is_by_rows ? TJ_ROW_MAJOR : TJ_COL_MAJOR;
        problem.n.ld = is_by_rows ? 3 : 0;
        if (i >= 2) {
            problem.k.mode = problem.l.mode = TJ_DIM_ANY;
            problem.n.ld = TJ_ANY;
            x.n.ld = is_by_rows ? 3 : 2;
        }
        for (int b = 0; b < 3; b++) {
            cr_assert(eq(int, tj_buffer_create(context, bytes[b], &buffer[b], &err), TJ_OK), "%s", err.message);
            if (host[b])
                cr_assert(eq(int, tj_buffer_write(buffer[b], 0, host[b], bytes[b], &err), TJ_OK), "%s", err.message);
        }
        x.m.address = tj_buffer_address(buffer[0]);
        x.n.address = tj_buffer_address(buffer[1]);
        x.p.address = tj_buffer_address(buffer[2]);
        x.k = x.l = 3;
        cr_assert(eq(int, tj_matmul(context, &problem, &x, NULL, &err), TJ_OK), "%s", err.message);
        cr_assert(eq(int, tj_buffer_read(buffer[2], 0, p, sizeof p, &err), TJ_OK), "%s", err.message);
        for (int e = 0; e < 3; e++)
            cr_expect(eq(flt, p[e], wanted[e]), "variant %d, element %d", i, e);
        if (i < 2) {
            cr_assert(eq(int, tj_reference_product(&problem, &known, p, 1, &err), TJ_OK), "%s", err.message);
            for (int e = 0; e < 3; e++)
                cr_expect(eq(flt, p[e], wanted[e]), "the reference, variant %d, element %d", i, e);
        } else {
            x.n.ld = 1;
            cr_expect(eq(int, tj_matmul(context, &problem, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
            cr_expect(says("ld_n is 1"), "%s", err.message);
        }
        for (int b = 0; b < 3; b++)
            tj_buffer_free(buffer[b]);
    }
}

/* In every layout, of odd and even lines, as M and as N, with scales of each kind, batches, groups, and extents of the launch. */
Test(types, of_4_bits_are_widened)
{
    static const struct {
        const char *config;
        tj_type m, n;
        int32_t j, k, l, scale_k, m_layout, n_layout, p_layout, batch, groups;
    } row[] = {
        {"naive", TJ_F32, TJ_S4, 5, 71, 19, 0, 0, 0, 0, 1, 0},
        {"naive", TJ_BF16, TJ_S4, 5, 71, 19, 9, 1, 1, 0, 2, 0},
        {"naive", TJ_S4, TJ_F16, 19, 70, 5, 0, 1, 0, 1, 2, 0},
        {"naive", TJ_S4, TJ_BF16, 19, 71, 5, 30, 0, 1, 0, 1, 0},
        {"tiled", TJ_F16, TJ_S4, 21, 71, 19, 24, 0, 0, 0, 2, 0},
        {"tiled", TJ_BF16, TJ_S4, 21, 71, 19, 0, 0, 1, 1, 1, 0},
        {"tiled", TJ_S4, TJ_F32, 21, 71, 19, 1, 1, 1, 0, 2, 0},
        {"tiled:shared=dynamic", TJ_S4, TJ_BF16, 21, 70, 19, 0, 0, 0, 0, 1, 0},
        {"tiled:shared=dynamic", TJ_F32, TJ_S4, 21, 71, 19, 16, 0, 0, 1, 1, 0},
        {"tiled", TJ_BF16, TJ_S4, 33, 64, 19, 16, 0, 1, 0, 1, 3},
        {"skinny", TJ_BF16, TJ_S4, 5, 201, 70, 0, 0, 0, 0, 2, 0},
        {"skinny:splits=2", TJ_F16, TJ_S4, 5, 201, 71, 0, 1, 1, 0, 1, 0},
        {"skinny", TJ_F32, TJ_S4, 2, 200, 64, 64, 0, 0, 1, 1, 0},
        {"skinny:splits=3", TJ_BF16, TJ_S4, 5, 200, 37, 32, 0, 1, 0, 2, 0},
        {"skinny:stream=m", TJ_S4, TJ_F16, 70, 201, 3, 67, 1, 0, 0, 1, 0},
        {"skinny:vector=1", TJ_BF16, TJ_S4, 1, 256, 128, 0, 0, 1, 0, 1, 0},
        {"skinny:stream=m", TJ_S4, TJ_BF16, 71, 200, 3, 16, 0, 0, 1, 1, 0},
        {"mma:bm=32,bn=32,wm=16,wn=16", TJ_BF16, TJ_S4, 33, 64, 64, 64, 0, 0, 0, 2, 0},
        {"mma:bm=32,bn=32,wm=16,wn=16", TJ_F16, TJ_S4, 33, 71, 47, 32, 1, 1, 0, 1, 0},
        {"mma:bm=32,bn=32,wm=16,wn=16,pack=both,splits=2", TJ_S4, TJ_F16, 35, 171, 40, 0, 1, 0, 0, 2, 0},
        {"mma:bm=32,bn=32,wm=16,wn=16", TJ_S4, TJ_BF16, 33, 72, 40, 0, 0, 0, 1, 1, 0},
        {"wgmma:bm=64,bn=32", TJ_BF16, TJ_S4, 65, 71, 49, 0, 0, 0, 0, 2, 0},
        {"wgmma:bm=64,bn=32", TJ_F16, TJ_S4, 65, 72, 48, 0, 0, 1, 0, 1, 0},
        {"wgmma:bm=64,bn=32", TJ_S4, TJ_F16, 65, 71, 48, 0, 1, 1, 1, 1, 0},
        {"naive", TJ_BF16, TJ_E2M1, 5, 71, 19, 9, 1, 1, 0, 2, 0},
        {"tiled", TJ_U4, TJ_F32, 21, 71, 19, 1, 1, 1, 0, 2, 0},
        {"tiled", TJ_E2M1, TJ_E2M1, 21, 71, 19, 24, 0, 1, 0, 2, 0},
        {"naive", TJ_E2M1, TJ_E2M1, 21, 71, 19, 0, 1, 0, 0, 1, 0},
        {"tiled", TJ_E2M1, TJ_E2M1, 33, 64, 20, 32, 0, 1, 0, 1, 3},
        {"tiled", TJ_E4M3, TJ_E2M1, 21, 71, 19, 24, 0, 0, 0, 2, 0},
        {"tiled", TJ_U4, TJ_E4M3, 21, 71, 19, 24, 0, 0, 0, 2, 0},
        {"skinny:splits=2", TJ_F16, TJ_E2M1, 5, 201, 71, 0, 1, 1, 0, 1, 0},
        {"skinny:stream=m", TJ_U4, TJ_BF16, 71, 200, 3, 16, 0, 0, 1, 1, 0},
        {"mma:bm=32,bn=32,wm=16,wn=16", TJ_F16, TJ_E2M1, 33, 71, 47, 32, 1, 1, 0, 1, 0},
        {"mma:bm=32,bn=32,wm=16,wn=16", TJ_U4, TJ_BF16, 33, 72, 40, 0, 0, 0, 1, 1, 0},
        {"mma:bm=32,bn=32,wm=16,wn=16,pack=both,splits=2", TJ_E2M1, TJ_F16, 35, 171, 40, 0, 1, 0, 0, 2, 0},
        {"wgmma:bm=64,bn=32", TJ_BF16, TJ_U4, 65, 71, 49, 0, 0, 0, 0, 2, 0},
    };

    open_context("sm_90", TJ_PROVE_NEVER);
    for (size_t i = 0; i < sizeof row / sizeof row[0] && has_nvrtc(); i++) {
        const bool is_m = tj_type_get_facts(row[i].m)->numbers == 2;
        tj_problem problem = TJ_PROBLEM_INIT(row[i].j, row[i].k, row[i].l, row[i].m);
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        char label[160];

        problem.n.type = row[i].n;
        problem.m.layout = (int8_t)row[i].m_layout;
        problem.n.layout = (int8_t)row[i].n_layout;
        problem.p.layout = (int8_t)row[i].p_layout;
        problem.batch = row[i].batch;
        problem.rows = rows_in_groups(row[i].groups);
        if (row[i].scale_k) {
            *(is_m ? &problem.scale[TJ_MATRIX_M] : &problem.scale[TJ_MATRIX_N]) = (tj_scale)SCALE_ALONG_K(row[i].scale_k);
        } else {
            *(is_m ? &problem.scale[TJ_MATRIX_M] : &problem.scale[TJ_MATRIX_N]) = (tj_scale)SCALE_EACH;
        }
        problem.p.type = i % 3 == 1 ? TJ_BF16 : TJ_F32;
        if (i % 4 == 3 && !strstr(row[i].config, "splits") && !strstr(row[i].config, "mma"))
            problem.j.mode = problem.k.mode = problem.l.mode = TJ_DIM_ANY;
        options.guard_bytes = 256;
        snprintf(label, sizeof label, "%s, variant %zu", row[i].config, i);
        expect_right_product(&problem, row[i].config, &options, label);
    }
}

/* They are weights and nothing else, and of the families that take them none is chosen but those. */
Test(types, of_4_bits_are_refused_in_words)
{
    static const struct {
        int32_t m, n, p;
        const char *words;
    } row[] = {
        {TJ_S4, 0, 0, "M is s4 but N is s4: give both one type"},
        {TJ_S4, TJ_S8, 0, "one of them weights of e4m3, e5m2, s8, u8, s4, e2m1 or u4, and the other f32, f16 or bf16"},
        {TJ_E5M2, TJ_S4, 0, "M is e5m2 but N is s4"},
        {TJ_E2M1, TJ_S4, 0, "M is e2m1 but N is s4"},
        {TJ_E8M0, TJ_F16, 0, "M is e8m0, which only scales may be: use f32,"},
        {TJ_F16, TJ_E8M0, 0, "N is e8m0, which only scales may be: use f32,"},
        {TJ_F64, TJ_S4, 0, "M is f64 but N is s4"},
        {TJ_BF16, TJ_S4, TJ_S4, "M is bf16 and N is s4 but P is s4: such a P may be f32, f16, bf16, e4m3 or e5m2"},
    };
    static const char *const families[] = {"simt", "strip", "small_batch", "planes", "wgmma_planes"};
    tj_problem problem = TJ_PROBLEM_INIT(16, 64, 32, TJ_BF16);
    const tj_plan *plan;
    tj_epilogue epilogue = {0};
    tj_config config;
    tj_proof proof = TJ_PROOF_INIT;

    open_context("sm_90", TJ_PROVE_NEVER);
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        problem.m.type = row[i].m;
        problem.n.type = row[i].n;
        problem.p.type = row[i].p;
        cr_expect(eq(int, tj_problem_check(&problem, &err), TJ_ERR_INVALID_ARGUMENT));
        cr_expect(says(row[i].words), "%s", err.message);
    }
    cr_expect(eq(int, tj_epilogue_parse("acc + x:s4[row, col]", &epilogue, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("no element type has this name"), "%s", err.message);
    cr_expect(eq(int, tj_epilogue_parse("acc * s4[col]", &epilogue, &err), TJ_OK), "a name that operands had before");
    problem = (tj_problem)TJ_PROBLEM_INIT(40, 101, 37, TJ_BF16);
    problem.n.type = TJ_S4;
    problem.scale[TJ_MATRIX_N] = (tj_scale)SCALE_EACH;
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
        config = (tj_config)TJ_CONFIG_INIT;
        config.family = tj_family_find(families[f]);
        cr_assert(config.family != NULL);
        cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT), "%s", families[f]);
        cr_expect(says("takes no weights of 4 bits, and N is s4"), "%s", err.message);
    }
    cr_assert(eq(int, tj_config_parse("mma:pack=m", &config, &err), TJ_OK));
    cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("N is s4, and family mma takes lines of it that begin at multiples of 4 bytes"), "%s", err.message);
    cr_expect(says("use pack=n"), "%s", err.message);
    cr_assert(eq(int, tj_config_parse("wgmma:pack=none", &config, &err), TJ_OK));
    cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("pack it (pack="), "%s", err.message);
    problem.scale[TJ_MATRIX_N] = (tj_scale)SCALE_ALONG_K(32);
    problem.n.layout = TJ_COL_MAJOR;
    cr_assert(eq(int, tj_config_parse("skinny:stream=n", &config, &err), TJ_OK));
    cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("k may be odd, and half of a line's last byte would be multiplied by a scale"), "%s", err.message);
    cr_assert(eq(int, tj_config_parse("skinny:stream=m", &config, &err), TJ_OK));
    cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("N is s4, and family skinny takes that of the matrix that it streams, which is M"), "%s", err.message);
    problem.scale[TJ_MATRIX_N] = (tj_scale)SCALE_EACH;
    for (int i = 0; i < 4 && has_nvrtc(); i++) { /* the library's choice, right and proven */
        problem.n.layout = (int8_t)(i % 2);
        problem.p.layout = (int8_t)(i / 2);
        expect_right_product(&problem, NULL, NULL, "the library's choice");
        cr_assert(eq(int, tj_plan_prepare(context, &problem, NULL, &plan, &err), TJ_OK), "%s", err.message);
        cr_expect(eq(int, tj_plan_prove(context, plan, &problem, 1, &proof, &err), TJ_OK), "%s", err.message);
        cr_expect(proof.passed && proof.elements == 40 * 37, "%s", proof.reason);
    }
}

Test(types, of_fp8_need_a_target_that_has_them)
{
    tj_problem problem = TJ_PROBLEM_INIT(64, 64, 64, TJ_E4M3);
    tj_source *source;
    tj_image *image;
    const tj_plan *plan;

    open_context("sm_80", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    cr_assert(eq(int, tj_generate(&problem, NULL, &source, &err), TJ_OK));
    cr_expect(eq(int, tj_compile(context, source, "sm_80", &image, &err), TJ_ERR_UNSUPPORTED));
    cr_expect(says("needs fp8, which sm_89"), "%s", err.message);
    cr_expect(says("sm_80 does not"), "%s", err.message);
    cr_expect(says("convert M, N or P to f16 or bf16"), "%s", err.message);
    tj_source_free(source);
    cr_expect(eq(int, tj_plan_prepare(context, &problem, NULL, &plan, &err), TJ_ERR_UNSUPPORTED));
    cr_expect(says("needs fp8"), "%s", err.message);
}

Test(types, refuse_scalars_and_scales_that_cannot_be)
{
    tj_problem problem = TJ_PROBLEM_INIT(8, 8, 8, TJ_S8);
    tj_workbench_options options = TJ_WORKBENCH_INIT;
    tj_workbench *bench;
    const tj_plan *plan;
    tj_operands x;

    open_context("sm_90", TJ_PROVE_NEVER);
    if (!has_nvrtc())
        return;
    problem.epilogue.has_alpha = 1;
    cr_assert(eq(int, tj_workbench_create(context, &problem, &options, &bench, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_plan_prepare(context, &problem, NULL, &plan, &err), TJ_OK), "%s", err.message);
    x = *tj_workbench_operands(bench);
    x.alpha = 0.5;
    cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("alpha is 5.000e-1"), "%s", err.message);
    cr_expect(says("use a P of f32, or a scale"), "%s", err.message);
    x.alpha = -3;
    cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_synchronize(context, NULL, &err), TJ_OK), "%s", err.message);
    tj_workbench_free(bench);

    problem.scale[TJ_MATRIX_M] = (tj_scale)SCALE_EACH;
    problem.batch = 2;
    cr_assert(eq(int, tj_workbench_create(context, &problem, &options, &bench, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_plan_prepare(context, &problem, NULL, &plan, &err), TJ_OK), "%s", err.message);
    const tj_operands good = *tj_workbench_operands(bench);
    const struct {
        const char *words;
        tj_operand scale;
    } rows[] = {{"scale_m is NULL: give the device address of the scales of M", {NULL, 0, 0}},
                {"which is not aligned to its elements of 4 bytes", {(const char *)good.scale[TJ_MATRIX_M].address + 2, 0, 0}},
                {"scale_m.stride is -7: use elements from one to the next, 0 for 8, or TJ_BROADCAST",
                 {good.scale[TJ_MATRIX_M].address, 0, -7}},
                {"P is at the address of the scales of M", {good.p.address, 0, 0}},
                {"and the scales of M at", {(const char *)good.p.address + 4, 0, 0}}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        x = good;
        x.scale[TJ_MATRIX_M] = rows[i].scale;
        cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT), "%s", rows[i].words);
        cr_expect(says(rows[i].words), "%s: %s", rows[i].words, err.message);
    }
    cr_expect(eq(int, tj_plan_launch(plan, &good, NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_synchronize(context, NULL, &err), TJ_OK), "%s", err.message);
    tj_workbench_free(bench);
}
