/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * wgmma: which requests it takes, what it says of the others, and how its blocks are launched.
 */
#include <stdio.h>

#include "family.h"
#include "generator_test.h"
#include "of_problem.h"
#include "scales.h"

#define BF16(j_, k_, l_, ...) PROBLEM(.j = {FIXED(j_)}, .k = {FIXED(k_)}, .l = {FIXED(l_)}, .m.type = TJ_BF16, __VA_ARGS__)
#define ALONG_K .n.layout = TJ_COL_MAJOR
#define GROUPS_ALONG_K .rows = {TJ_ROWS_ALONG_K, 0, 0, 0, 3, 0, 0}
#define WEIGHTS(type_, ...) .n.type = (type_), ALONG_K, ##__VA_ARGS__

Test(wgmma, says_which_constraint_does_not_hold)
{
    const request rows[] = {
        {CUBES(256, .m.type = TJ_BF16), "wgmma", NULL},
        {CUBES(256, .m.type = TJ_F16, .m.layout = TJ_COL_MAJOR), "wgmma:bm=256,bn=128", NULL},
        {CUBES(256, .m.type = TJ_S8, .n.type = TJ_U8, ALONG_K), "wgmma", NULL},
        {CUBES(256, .compute = TJ_COMPUTE_TF32, ALONG_K), "wgmma", NULL},
        {BF16(64, 0, 64, .m.ld = 8), "wgmma", NULL},
        {PROBLEM(.j = {.mode = TJ_DIM_ANY}, .k = {.mode = TJ_DIM_ANY, .multiple_of = 8},
                 .l = {.mode = TJ_DIM_ANY, .multiple_of = 8}, .m.type = TJ_BF16),
         "wgmma", NULL},
        {CUBES(256), "wgmma", "family wgmma has no tensor cores for f32 as IEEE has it: ask for compute tf32"},
        {CUBES(256, .m.type = TJ_F64), "wgmma", "M is of f64, N of f64: use family mma"},
        {CUBES(256, .m.type = TJ_E4M3, .n.type = TJ_E5M2, .compute = TJ_COMPUTE_F32_FP8), "wgmma", NULL},
        {CUBES(256, .m.type = TJ_S8), "wgmma", NULL}, /* packed: row-major N, and odd leading dimensions */
        {BF16(255, 255, 255, .batch = 2), "wgmma", NULL},
        {CUBES(256, .m.type = TJ_E4M3), "wgmma", "add products of e4m3 with all bits of f32: ask for compute f32_fp8"},
        {CUBES(256, .m.type = TJ_E4M3, .compute = TJ_COMPUTE_F32_FP8), "wgmma:release=late", "are waited for"},
        {CUBES(256, .m.type = TJ_E4M3, .compute = TJ_COMPUTE_F32_FP8), "wgmma:bm=128,bn=224",
         "take 256, with the sums of a phase next to those of all"},
        {CUBES(256, .m.type = TJ_E4M3, .compute = TJ_COMPUTE_F32_FP8), "wgmma:bm=128,bn=256", NULL},
        {CUBES(256, .m.type = TJ_S8), "wgmma:pack=none,transpose=none",
         "takes elements of 8 bits along k alone, and neighbours of N in memory lie across it"},
        {PROBLEM(.j = {.mode = TJ_DIM_ANY}, .k = {FIXED(256)}, .l = {FIXED(256)}, .m.type = TJ_S8), "wgmma:pack=n",
         "pack=n needs a workspace and strides that are known"},
        {CUBES(256, .compute = TJ_COMPUTE_TF32, .m.layout = TJ_COL_MAJOR, ALONG_K), "wgmma:pack=n,transpose=none",
         "takes tf32 along k alone"},
        {CUBES(256, .compute = TJ_COMPUTE_TF32, .m.layout = TJ_COL_MAJOR), "wgmma:transpose=both", NULL},
        {CUBES(256, .compute = TJ_COMPUTE_TF32), "wgmma:pack=n", NULL},
        {CUBES(256, .compute = TJ_COMPUTE_TF32), "wgmma:bn=48", NULL}, /* packed: 48 columns are not whole squares */
        {CUBES(256, .compute = TJ_COMPUTE_TF32), "wgmma:transpose=both", "lie across k, and M does not"},
        {CUBES(256, .m.type = TJ_BF16), "wgmma:transpose=n", "transpose=n is for operands of tf32"},
        {CUBES(256, .m.type = TJ_S8, ALONG_K), "wgmma:transpose=n", "transpose=n is for operands of tf32 or 8 bits"},
        {CUBES(256, .m.type = TJ_S8, .m.layout = TJ_COL_MAJOR), "wgmma:bm=128,bn=256,transpose=both", NULL},
        {CUBES(256, .compute = TJ_COMPUTE_TF32, .m.layout = TJ_COL_MAJOR), "wgmma:pack=n,transpose=registers", NULL},
        {CUBES(256, .compute = TJ_COMPUTE_TF32, .m.layout = TJ_COL_MAJOR), "wgmma:transpose=registers", NULL}, /* N packed */
        {CUBES(256, .compute = TJ_COMPUTE_TF32), "wgmma:transpose=registers", "lie across k, and M does not"},
        {CUBES(256, .m.type = TJ_S8, .m.layout = TJ_COL_MAJOR), "wgmma:transpose=registers",
         "M of tf32 or of weights, and M of this source is of s8"},
        {CUBES(256, .compute = TJ_COMPUTE_TF32, .m.layout = TJ_COL_MAJOR), "wgmma:transpose=registers,pack=both",
         "pack=both and transpose=registers both name M"},
        {CUBES(256, .compute = TJ_COMPUTE_TF32, .m.layout = TJ_COL_MAJOR, ALONG_K), "wgmma:transpose=registers,release=now",
         "use release=late"},
        {CUBES(256, .compute = TJ_COMPUTE_TF32, .m.layout = TJ_COL_MAJOR, ALONG_K), "wgmma:bm=256,bn=176,transpose=registers",
         "leave a thread 232 registers, and block tiles of 256 x 176 take"},
        {CUBES(256, .m.type = TJ_S8), "wgmma:bn=64,transpose=n", "squares of 128 x 128: use a multiple of 128, or pack=n"},
        {CUBES(256, .m.type = TJ_E4M3, .compute = TJ_COMPUTE_F32_FP8), "wgmma:bm=64,bn=128,blocks=2", NULL}, /* packed */
        {CUBES(256, .compute = TJ_COMPUTE_TF32), "wgmma:pack=n,transpose=n", "pack=n and transpose=n both name N"},
        {CUBES(256, .m.type = TJ_S8, .m.layout = TJ_COL_MAJOR), "wgmma:bm=256,bn=16,blocks=2,pack=n,transpose=m",
         "2 blocks with 2 multipliers leave a thread 80 registers, and one that transposes takes 104: use fewer blocks"},
        {CUBES(256, .compute = TJ_COMPUTE_TF32), "wgmma:bn=48,transpose=n", "use a multiple of 32, or pack=n"},
        {PROBLEM(.j = {FIXED(256)}, .k = {FIXED(256)}, .l = {FIXED(255)}, .compute = TJ_COMPUTE_TF32), "wgmma:transpose=n",
         "copies N by a tensor map"},
        {PROBLEM(.j = {.mode = TJ_DIM_ANY}, .k = {FIXED(256)}, .l = {FIXED(256)}, .compute = TJ_COMPUTE_TF32), "wgmma", NULL},
        {BF16(256, 255, 256), "wgmma:pack=none",
         "copies M by a tensor map, so its lines and the products of a batch must begin"},
        {BF16(256, 256, 252), "wgmma:pack=m", "pad its leading dimension and stride to multiples of 8"},
        {CUBES(256, .m.type = TJ_BF16, .batch = 2, .n.stride = TJ_POINTERS_16), "wgmma",
         "which arrays of pointers do not have"},
        {CUBES(256, .m.type = TJ_BF16), "wgmma:bm=96", "bm is 96: it must be a multiple of 64 times multipliers, which is 2"},
        {CUBES(256, .m.type = TJ_BF16), "wgmma:bn=24", "bn is 24: it must be a multiple of 16"},
        {CUBES(256, .m.type = TJ_BF16), "wgmma:swap=yes,bn=24", NULL},
        {CUBES(256, .m.type = TJ_BF16, .p.layout = TJ_COL_MAJOR), "wgmma:swap=yes,bn=200", NULL},
        {CUBES(256, .m.type = TJ_BF16), "wgmma:cluster=n4", NULL},
        {CUBES(256, .m.type = TJ_BF16), "wgmma:cluster=m2,pingpong=yes", "and pingpong=yes is not for them: use cluster=none"},
        {CUBES(256, .m.type = TJ_BF16, .rows = {TJ_ROWS_IN_GROUPS, 0, 0, 0, 2, 0, 0}), "wgmma:cluster=n2",
         "and groups of rows is not"},
        {CUBES(256, .compute = TJ_COMPUTE_TF32), "wgmma:cluster=m2,transpose=n", "and transpose is not for them"},
        {CUBES(256, .m.type = TJ_BF16), "wgmma:cluster=k2", NULL},
        {CUBES(256, .m.type = TJ_BF16, .symmetric = TJ_SYMMETRIC_UPPER), "wgmma:bm=128,bn=32,cluster=m4",
         "and one triangle of P is not for them"},
        {CUBES(256, .m.type = TJ_BF16), "wgmma:cluster=k2,splits=2", "a second way to share k, splits, is not for them"},
        {BF16(256, 256, 192), "wgmma:cluster=m2,bn=64,boundary=none", "l = 192 is not a multiple of BN 128"},
        {CUBES(256, .m.type = TJ_BF16), "wgmma:swap=yes,bn=12", "bn is 12: it must be a multiple of 8"},
        {CUBES(256, .m.type = TJ_S8, ALONG_K), "wgmma:swap=yes,bn=40", "bn is 40, and tensor cores take 8, 16, 24, 32 columns"},
        {CUBES(256, .m.type = TJ_BF16, .rows = {TJ_ROWS_IN_GROUPS, 0, 0, 0, 2, 0, 0}), "wgmma:swap=yes",
         "rows in groups are rows of P"},
        {CUBES(256, .m.type = TJ_BF16), "wgmma:bm=192,bn=208", "bn is 208, and the 104 sums of one product do not fit the 128"},
        {CUBES(256, .m.type = TJ_BF16), "wgmma:bm=256,bn=256",
         "leave a thread 232 registers, and block tiles of 256 x 256 take 288"},
        {CUBES(256, .m.type = TJ_BF16), "wgmma:bm=128,bn=192,pingpong=yes", NULL},
        {CUBES(256, .m.type = TJ_BF16), "wgmma:bm=96,pingpong=yes", "bm is 96: it must be a multiple of 64"},
        {CUBES(256, .m.type = TJ_BF16), "wgmma:multipliers=1,pingpong=yes", "takes two multipliers or more"},
        {CUBES(256, .m.type = TJ_BF16), "wgmma:bm=128,bn=256,pingpong=yes", "block tiles of 128 x 256 take 288"},
        {BF16(256, 256, 264), "wgmma:store=boxes", NULL},
        {CUBES(256, .m.type = TJ_BF16, .epilogue.has_beta = 1), "wgmma:store=boxes", "store=boxes writes P by a tensor map"},
        {CUBES(256, .m.type = TJ_BF16), "wgmma:store=boxes,splits=2", "without beta and without splits"},
        {BF16(256, 256, 256, .p.ld = 260), "wgmma:store=boxes", "begin at multiples of 16 bytes"},
        {BF16(256, 256, 180, .p.ld = 192), "wgmma:store=boxes", "columns are whole 16 bytes"},
        {BF16(64, 256, 256, WEIGHTS(TJ_S4)), "wgmma:swap=yes,bm=256,bn=64", NULL},
        {BF16(64, 256, 256, WEIGHTS(TJ_U8)), "wgmma:swap=yes,cluster=n2", NULL},
        {BF16(64, 256, 256, WEIGHTS(TJ_S4)), "wgmma", NULL}, /* packed: as N they do not come from registers */
        {BF16(64, 256, 256, WEIGHTS(TJ_S4)), "wgmma:swap=yes,transpose=registers,release=now", "use release=late"},
        {BF16(64, 256, 256, WEIGHTS(TJ_S4)), "wgmma:swap=yes,bm=64,multipliers=2", NULL}, /* they share k */
        {BF16(64, 256, 256, WEIGHTS(TJ_S4)), "wgmma:swap=yes,bm=64,multipliers=2,stages=2", "use 3 or more"},
        {BF16(64, 256, 256, WEIGHTS(TJ_S4)), "wgmma:swap=yes,bm=128,multipliers=3", "a multiple of 64 times multipliers"},
        {BF16(64, 256, 256, .n.type = TJ_S4), "wgmma:swap=yes,transpose=registers", "takes weights that lie along k"},
        {BF16(64, 200, 256, WEIGHTS(TJ_S4)), "wgmma:swap=yes,pack=none", "rows that begin at multiples of 16 bytes"},
        {BF16(64, 256, 256, WEIGHTS(TJ_S4, .scale[TJ_MATRIX_N] = SCALE_ALONG_K(32))), "wgmma:swap=yes", NULL},
        {BF16(64, 512, 256, WEIGHTS(TJ_S4, .scale[TJ_MATRIX_N] = SCALE_ALONG_K(256))), "wgmma:swap=yes", NULL},
        {BF16(64, 256, 256, WEIGHTS(TJ_S4, .scale[TJ_MATRIX_N] = SCALE_ALONG_K(48))), "wgmma:swap=yes",
         "for 48 elements of k each, and family wgmma takes 32, 64, or a multiple of 128"},
        {BF16(64, 256, 256, WEIGHTS(TJ_S4, .scale[TJ_MATRIX_N] = SCALE_ALONG_K(32))), "wgmma", "use swap=yes"},
        {BF16(64, 256, 256, WEIGHTS(TJ_S4, .scale[TJ_MATRIX_N] = SCALE_ALONG_K(32), .batch = 2)), "wgmma:swap=yes",
         "in one product, and the problem has a batch"},
        {BF16(64, 256, 256, WEIGHTS(TJ_E2M1, .scale[TJ_MATRIX_N] = {TJ_E4M3, TJ_SCALES_ROW_BY_ROW, 0, 1, 1, 16})),
         "wgmma:swap=yes,bm=128,bn=256", NULL}, /* factors times scales are exact */
        {BF16(64, 256, 256, WEIGHTS(TJ_E2M1, .scale[TJ_MATRIX_N] = {TJ_F32, 0, 0, 0, 1, 16})), "wgmma:swap=yes",
         "for 16 elements of k each, and family wgmma takes 32"},
        {BF16(64, 256, 256, WEIGHTS(TJ_U4, .scale[TJ_MATRIX_N] = {TJ_BF16, TJ_SCALES_ROW_BY_ROW, TJ_U4, 0, 1, 32})),
         "wgmma:swap=yes", NULL},
        {BF16(64, 256, 256, WEIGHTS(TJ_U4, .scale[TJ_MATRIX_N] = {TJ_BF16, 0, TJ_U4, 0, 1, 0})), "wgmma:swap=yes", NULL},
        {BF16(64, 256, 256, WEIGHTS(TJ_U8, .scale[TJ_MATRIX_N] = {TJ_F32, 0, TJ_S8, 0, 1, 64})), "wgmma:swap=yes",
         "does not multiply by the scales"}, /* bf16 does not have 255 + 127 */
        {BF16(64, 256, 256, WEIGHTS(TJ_U4, .scale[TJ_MATRIX_N] = {TJ_F32, 0, TJ_F32, 0, 1, 64})), "wgmma:swap=yes",
         "does not multiply by the scales"},
        {BF16(256, 256, 256, WEIGHTS(TJ_S4, .scale[TJ_MATRIX_N] = SCALE_ALONG_K(32))), "wgmma:swap=yes,bm=128,bn=256",
         "and a smaller tile"},
        {BF16(256, 256, 256, GROUPS_ALONG_K), "wgmma:swap=yes,bn=64", NULL},
        {BF16(256, 250, 256, .m.ld = 256, GROUPS_ALONG_K), "wgmma", NULL},
        {BF16(256, 250, 256, .m.ld = 250, GROUPS_ALONG_K), "wgmma", "must begin at multiples of 16 bytes"},
        {BF16(256, 256, 256, GROUPS_ALONG_K), "wgmma:cluster=n2", "groups along k is not for them: use cluster=none"},
        {BF16(256, 256, 256, GROUPS_ALONG_K), "wgmma:splits=2", "groups divide k already: use splits=1"},
        {BF16(256, 256, 256, GROUPS_ALONG_K), "wgmma:pack=m", "before the product, and does not copy groups"},
        {BF16(64, 256, 256, WEIGHTS(TJ_S8, GROUPS_ALONG_K)), "wgmma:swap=yes,transpose=registers", "of whole phases"},
        {CUBES(256, .m.type = TJ_BF16), "wgmma:bn=256,stages=5", "5 stages of tiles of 128 x 64 and 64 x 256 need "},
    };

    expect_answers(rows, sizeof rows / sizeof rows[0]);
}

/* Weights from registers with scales, activations that are packed, and a P that a kernel after the product quantises. */
Test(wgmma, has_room_for_the_parameters_of_much_at_once)
{
    tj_problem problem = BF16(8, 32, 48, WEIGHTS(TJ_U4, .scale[TJ_MATRIX_N] = {TJ_E8M0, TJ_SCALES_IN_TILES, 0, 0, 1, 16}));
    tj_config config = TJ_CONFIG_INIT;
    tj_source *source = NULL;
    tj_error err;

    problem.p.type = TJ_E4M3;
    problem.scale[TJ_MATRIX_P] = (tj_scale){TJ_E8M0, TJ_SCALES_IN_TILES, 0, 0, 1, 32};
    cr_assert(
        eq(int, tj_config_parse("wgmma:swap=yes,bm=128,bn=16,pack=n,cluster=k4,transpose=registers", &config, &err), TJ_OK));
    cr_expect(eq(int, tj_generate(&problem, &config, &source, &err), TJ_OK), "%s", err.message);
    tj_source_free(source);
}

Test(wgmma, walks_with_blocks_that_stay)
{
    const tj_problem problem = BF16(1000, 1024, 520, .batch = 2);
    tj_config config = TJ_CONFIG_INIT;
    const tj_launch_step *product;
    tj_launch_form form;

    cr_assert(eq(int, tj_config_parse("wgmma:bm=128,bn=256", &config, NULL), TJ_OK));
    cr_assert(eq(int, tj_preview_launch(&problem, &config, &form, NULL), TJ_OK));
    product = tj_product_step(&form);
    cr_expect(eq(int, product->grid, TJ_GRID_WALK_ALL));
    cr_expect(eq(int, product->resident, 1));
    cr_expect(eq(int, product->block_x, 384));
    cr_expect(eq(i64, product->dynamic_shared_bytes,
                 4 * (128 + 256) * 128 + 8 * 4096 + 1024)); /* 4 stages, what 8 warps store, barriers */
    cr_expect(eq(int, form.tensor_map[0].rank, 3));
    cr_expect(eq(int, form.tensor_map[0].box[1], 128));
    cr_expect(eq(int, form.tensor_map[1].box[0], 64)); /* row-major N, in blocks of 64 columns */
    cr_expect(eq(int, form.align[TJ_MATRIX_M], 16));
}

Test(wgmma, counts_columns_of_p_by_64_if_swapped)
{
    const tj_problem problem = BF16(72, 4096, 4096, ALONG_K);
    tj_config config = TJ_CONFIG_INIT;
    const tj_launch_step *product;
    tj_launch_form form;

    cr_assert(eq(int, tj_config_parse("wgmma:swap=yes,bn=40", &config, NULL), TJ_OK));
    cr_assert(eq(int, tj_preview_launch(&problem, &config, &form, NULL), TJ_OK));
    product = tj_product_step(&form);
    cr_expect(eq(int, form.is_swapped, 1));
    cr_expect(eq(int, product->block_rows, 64)); /* of the source's P: columns of the caller's */
    cr_expect(eq(int, product->block_cols, 40));
    cr_expect(eq(int, form.tensor_map[0].matrix, TJ_MATRIX_N));
    cr_expect(form.tensor_map[0].box[0] == 64 && form.tensor_map[0].box[1] == 64);
    cr_expect(form.tensor_map[1].box[0] == 64 && form.tensor_map[1].box[1] == 40);
    cr_expect(form.tensor_map[2].box[0] == 16 && form.tensor_map[2].box[1] == 40);
}

Test(wgmma, launches_clusters_that_share_an_operand)
{
    static const struct {
        const char *config;
        int32_t x, y;
    } rows[] = {
        {"wgmma:cluster=none", 0, 0}, {"wgmma:cluster=m2", 2, 0}, {"wgmma:cluster=n4,bm=64", 4, 0}, {"wgmma:cluster=k2", 0, 2}};
    const tj_problem problem = BF16(1024, 1024, 1024);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_config config = TJ_CONFIG_INIT;
        tj_launch_form form;

        cr_assert(eq(int, tj_config_parse(rows[i].config, &config, NULL), TJ_OK));
        cr_assert(eq(int, tj_preview_launch(&problem, &config, &form, NULL), TJ_OK));
        cr_expect(eq(int, tj_product_step(&form)->cluster[0], rows[i].x));
        cr_expect(eq(int, tj_product_step(&form)->cluster[1], rows[i].y)); /* blocks that share the k of a tile */
        cr_expect(eq(int, (form.needs & TJ_FEATURE_CLUSTER) != 0, rows[i].x + rows[i].y > 0));
        cr_expect(eq(int, form.steps, 1));
    }
}

Test(wgmma, tries_to_swap_for_few_rows_only)
{
    static const struct {
        int64_t j;
        const char *config;
        bool is_tried;
    } rows[] = {
        {72, "wgmma:swap=yes,bm=64,bn=72,stages=12", true},
        {72, "wgmma:swap=yes,bm=64,bn=40,stages=16", true},
        {72, "wgmma:swap=yes,bm=64,bn=72,stages=6", false},  /* a ring that could be deeper */
        {72, "wgmma:swap=yes,bm=64,bn=64,stages=12", false}, /* 128 rows for 72 */
        {72, "wgmma:swap=yes,bm=128,bn=72,multipliers=1", false},
        {17, "wgmma:swap=yes,bn=24,stages=16", true},
        {200, "wgmma:swap=yes,bm=128,bn=104,stages=6", true},
        {257, "wgmma:swap=yes,bm=64,bn=96,stages=8", false},
        {72, "wgmma:bm=64,bn=80", true}, /* a step between those of more rows */
        {257, "wgmma:bm=64,bn=80", false},
        {72, "wgmma:swap=yes,cluster=m2,bm=64,bn=40,stages=16", true},
        {72, "wgmma:swap=yes,cluster=m2,bm=64,bn=72,stages=12", false}, /* one tile has all rows */
        {72, "wgmma:swap=yes,cluster=k2,bm=64,bn=72,stages=8", true},
        {256, "wgmma:cluster=m2,bm=64,bn=64,stages=8", false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_problem problem = BF16(rows[i].j, 4096, 4096, ALONG_K);
        tj_config config = TJ_CONFIG_INIT;
        tj_request request;

        cr_assert(eq(int, tj_config_parse(rows[i].config, &config, NULL), TJ_OK));
        cr_assert(eq(int, tj_request_make(&problem, &request, NULL), TJ_OK));
        cr_assert(eq(int, tj_request_resolve(&request, &config, NULL), TJ_OK), "row %zu", i);
        cr_expect(eq(int, tj_request_worth_trying(&request, &config), rows[i].is_tried), "row %zu", i);
    }
}

Test(wgmma, maps_what_it_has_packed)
{
    const tj_problem problem = PROBLEM(.j = {FIXED(100)}, .k = {FIXED(300)}, .l = {FIXED(70)}, .m.type = TJ_S8);
    tj_config config = TJ_CONFIG_INIT;
    const tj_tensor_map *m, *n;
    tj_launch_form form;

    cr_assert(eq(int, tj_config_parse("wgmma:bm=64,bn=64", &config, NULL), TJ_OK));
    cr_assert(eq(int, tj_preview_launch(&problem, &config, &form, NULL), TJ_OK));
    cr_expect(eq(int, form.steps, 2));
    cr_expect(eq(int, form.product, 1));
    cr_expect(eq(int, form.align[TJ_MATRIX_M], 0));
    m = &form.tensor_map[0];
    n = &form.tensor_map[1];
    cr_expect(m->lines == 100 && m->width == 300 && m->ld == 384 && m->box[0] == 128 && m->box[1] == 64);
    cr_expect(n->lines == 70 && n->width == 300 && n->ld == 384 && n->box[1] == 64); /* lines along k, as in M */
    cr_expect(eq(i64, form.slice[n->matrix] - form.slice[m->matrix], 100 * 384));
}

/* The stores of P: by the copy engine, with rows as wide as it takes, or by lanes, with accesses as wide as the alignment. */
Test(wgmma, stores_by_what_p_allows)
{
    const struct {
        tj_problem problem;
        const char *config, *store;
        int32_t box, align;
    } rows[] = {
        {BF16(256, 256, 256), "wgmma:bn=128", "boxes", 64, 16},
        {BF16(256, 256, 256), "wgmma:bn=96", "boxes", 32, 16},
        {BF16(256, 256, 256), "wgmma:bn=112", "boxes", 16, 16},
        {BF16(256, 256, 256, .p.type = TJ_F32), "wgmma:bn=128", "boxes", 32, 16},
        {BF16(256, 256, 256), "wgmma:bn=128,store=lines", "lines", 0, 16},
        {BF16(256, 256, 256), "wgmma:bn=96,store=lines", "lines", 0, 16},
        {BF16(256, 256, 256), "wgmma:bn=112,store=lines", "lines", 0, 8},
        {BF16(256, 256, 256), "wgmma:store=elements", "elements", 0, 0},
        {BF16(256, 256, 256, .p.ld = 260), "wgmma", "lines", 0, 8},
        {BF16(256, 256, 256, .p.ld = 261), "wgmma", "lines", 0, 0},
        {BF16(256, 256, 256, .epilogue.has_beta = 1), "wgmma", "lines", 0, 16},
        {BF16(256, 256, 256, .batch = 2, .p.stride = TJ_POINTERS_16), "wgmma", "lines", 0, 16},
        {BF16(256, 256, 256), "wgmma:splits=2", "lines", 0, 0},
        {BF16(72, 256, 256), "wgmma:swap=yes,bn=72", "boxes", 16, 16}, /* 16 columns of P, 72 rows */
        {BF16(72, 256, 250), "wgmma:swap=yes,bn=72", "lines", 0, 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_config config = TJ_CONFIG_INIT;
        tj_launch_form form;
        tj_error err = {0};
        char text[TJ_CONFIG_TEXT_BYTES], word[32];

        cr_assert(eq(int, tj_config_parse(rows[i].config, &config, NULL), TJ_OK));
        cr_assert(eq(int, tj_preview_launch(&rows[i].problem, &config, &form, &err), TJ_OK), "row %zu: %s", i, err.message);
        tj_config_print(&config, text);
        (void)snprintf(word, sizeof word, "store=%s", rows[i].store);
        cr_expect(strstr(text, word) != NULL, "row %zu: %s", i, text);
        cr_expect(eq(int, form.tensor_map[2].box[0], rows[i].box), "row %zu", i);
        cr_expect(eq(int, form.align[TJ_MATRIX_P], rows[i].align), "row %zu", i);
    }
}

/* If P has one column of tiles, one block alone reads a tile of M, and if it has one row, a tile of N: the L2 keeps the other. */
Test(wgmma, tells_the_l2_what_is_read_once)
{
    const struct {
        tj_problem problem;
        const char *config;
        bool m, n;
    } rows[] = {
        {BF16(2048, 2048, 128), "wgmma:bn=128", true, false},
        {BF16(2048, 2048, 128, .batch = 32), "wgmma:bn=128", true, false},
        {BF16(2048, 2048, 128, .batch = 32, .m.stride = TJ_BROADCAST), "wgmma:bn=128", false, false},
        {BF16(64, 4096, 4096, ALONG_K), "wgmma:bm=64,splits=4", false, true},
        {BF16(64, 4096, 4096, ALONG_K), "wgmma:swap=yes,bn=64", true, false}, /* M of the source */
        {BF16(64, 4096, 4096, ALONG_K), "wgmma:bm=64,cluster=n2", false, false},
        {BF16(64, 4096, 4096), "wgmma:bm=64,pack=n", false, false},
        {BF16(256, 256, 256), "wgmma", false, false},
        {BF16(64, 256, 64), "wgmma:bm=64,bn=64", false, false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_config config = TJ_CONFIG_INIT;
        tj_source *source = NULL;
        tj_error err = {0};

        cr_assert(eq(int, tj_config_parse(rows[i].config, &config, NULL), TJ_OK));
        cr_assert(eq(int, tj_generate(&rows[i].problem, &config, &source, &err), TJ_OK), "row %zu: %s", i, err.message);
        cr_expect(eq(int, strstr(tj_source_text(source), "copy_box_once(&tiles[stage].M") != NULL, rows[i].m), "row %zu", i);
        cr_expect(eq(int, strstr(tj_source_text(source), "copy_box_once(&tiles[stage].N") != NULL, rows[i].n), "row %zu", i);
        tj_source_free(source);
    }
}
