/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/*
 * tcgen05 with block scales in the instruction, on the emulator's sm_100 with all checks: every type, layout and place of scales, next
 * to swaps, splits, batches, groups, epilogues and short last parts; what is refused; and what ptxas makes of it for each target.
 */
#include <stdio.h>

#include "product_test.h"
#include "scales.h"

static void start(void)
{
    open_context("sm_100", TJ_PROVE_NEVER);
}

TestSuite(tcgen05_scales, .init = start, .fini = stop, .timeout = 300);

#define MX(layout_) SCALES_OF(TJ_E8M0, layout_, 1, 32)
#define NV(layout_) SCALES_OF(TJ_E4M3, layout_, 1, 16)
#define BY_ROWS TJ_SCALES_ROW_BY_ROW
#define BY_PARTS TJ_SCALES_PART_BY_PART
#define IN_TILES TJ_SCALES_IN_TILES
#define WHOLE(layout_)                                                                 \
    {                                                                                  \
        .type = TJ_E4M3, .layout = (layout_), .rows = 1, .k = 16, .whole = 1 /* f32 */ \
    }
#define ACROSS 1 /* of row.across: bits of M, N and P */
#define N_ACROSS 2
#define P_ACROSS 4

static const struct row {
    const char *config;
    int64_t j, k, l, batch;
    tj_type type, p;
    tj_scale scale_m, scale_n;
    int32_t groups, across;
} rows[] = {
    /* MXFP8: rows and columns of one copy, of two and of less, parts that end early, more phases than stages, more tiles than one */
    {"tcgen05:bn=64", 130, 384, 96, 1, TJ_E4M3, TJ_BF16, MX(IN_TILES), MX(IN_TILES), 0, 0},
    {"tcgen05:bn=32,stages=2", 70, 1040, 72, 1, TJ_E5M2, TJ_F32, MX(BY_ROWS), MX(BY_ROWS), 0, 0},
    {"tcgen05:bn=208", 40, 272, 300, 1, TJ_E4M3, TJ_BF16, MX(BY_PARTS), MX(BY_ROWS), 0, 0},
    {"tcgen05:bn=240", 140, 128, 500, 1, TJ_E4M3, TJ_F16, MX(IN_TILES), MX(BY_PARTS), 0, 0},
    {"tcgen05:bn=16", 33, 500, 17, 2, TJ_E4M3, TJ_F32, MX(BY_ROWS), MX(IN_TILES), 0, 0},
    {"tcgen05:bn=64", 64, 256, 64, 3, TJ_E4M3, TJ_BF16, MX(BY_ROWS), MX(BY_ROWS), 0, ACROSS | N_ACROSS},
    {"tcgen05:bn=48", 96, 208, 80, 1, TJ_E4M3, TJ_F32, MX(BY_ROWS), MX(IN_TILES), 0, N_ACROSS | P_ACROSS},
    {"tcgen05:bn=64,splits=3", 64, 640, 64, 2, TJ_E4M3, TJ_F32, MX(IN_TILES), MX(BY_ROWS), 0, 0},
    {"tcgen05:swap=yes,bn=16", 5, 304, 140, 1, TJ_E4M3, TJ_BF16, MX(BY_ROWS), MX(IN_TILES), 0, 0},
    {"tcgen05:swap=yes,bn=32,splits=2", 30, 512, 64, 2, TJ_E5M2, TJ_F32, MX(IN_TILES), MX(BY_ROWS), 0, 0},
    {"tcgen05:bn=64,pack=both", 65, 130, 40, 1, TJ_E4M3, TJ_BF16, MX(BY_ROWS), MX(BY_ROWS), 0, 0},
    {"tcgen05:bn=64", 90, 256, 64, 1, TJ_E4M3, TJ_BF16, MX(BY_ROWS), MX(BY_ROWS), 3, 0},
    {"tcgen05:bn=64", 90, 256, 64, 1, TJ_E4M3, TJ_BF16, MX(BY_ROWS), SCALE_EACH, 3, 0},
    {"tcgen05:bn=64", 64, 256, 64, 1, TJ_E4M3, TJ_BF16, SCALES_OF(TJ_E8M0, BY_ROWS, 8, 32), SCALES_OF(TJ_E8M0, BY_ROWS, 32, 32),
     0, 0},
    {"tcgen05:bn=64", 90, 256, 64, 1, TJ_BF16, TJ_BF16, ONE_SCALE, SCALE_EACH, 3, 0},
    /* two blocks together, the second with rows or without, and one half of N each */
    {"tcgen05:pair=yes,bn=64,stages=2", 300, 400, 140, 1, TJ_E4M3, TJ_BF16, MX(BY_ROWS), MX(IN_TILES), 0, 0},
    {"tcgen05:pair=yes,bn=224", 100, 256, 300, 2, TJ_E4M3, TJ_F32, MX(IN_TILES), MX(BY_PARTS), 0, N_ACROSS},
    {"tcgen05:pair=yes,bn=32,splits=2", 200, 512, 64, 1, TJ_E4M3, TJ_F32, MX(BY_ROWS), MX(BY_ROWS), 0, 0},
    {"tcgen05:pair=yes,bn=64", 300, 416, 140, 1, TJ_E2M1, TJ_BF16, MX(BY_ROWS), MX(BY_ROWS), 0, 0},
    {"tcgen05:pair=yes,bn=96,stages=2", 300, 800, 200, 2, TJ_E2M1, TJ_BF16, NV(BY_ROWS), NV(IN_TILES), 0, 0},
    {"tcgen05:pair=yes,swap=yes,bn=32", 30, 416, 300, 1, TJ_E2M1, TJ_F32, NV(BY_ROWS), WHOLE(BY_ROWS), 0, 0},
    /* scales of one side and of rows: ones take the place of those along k */
    {"tcgen05:bn=64", 64, 256, 64, 1, TJ_E4M3, TJ_BF16, MX(BY_ROWS), SCALE_EACH, 0, 0},
    {"tcgen05:bn=64", 64, 256, 64, 1, TJ_E4M3, TJ_BF16, ONE_SCALE, MX(BY_ROWS), 0, 0},
    /* e2m1: MXFP4 and NVFP4 */
    {"tcgen05:bn=64", 130, 384, 96, 1, TJ_E2M1, TJ_BF16, MX(BY_ROWS), MX(BY_ROWS), 0, 0},
    {"tcgen05:bn=176,stages=2", 70, 1056, 200, 2, TJ_E2M1, TJ_F32, MX(IN_TILES), MX(IN_TILES), 0, 0},
    {"tcgen05:swap=yes,bn=16", 7, 544, 130, 1, TJ_E2M1, TJ_F16, MX(BY_PARTS), MX(BY_ROWS), 0, 0},
    {"tcgen05:bn=32,splits=3", 64, 1600, 64, 1, TJ_E2M1, TJ_F32, MX(BY_ROWS), NO_SCALE, 0, 0},
    {"tcgen05:bn=64", 64, 256, 64, 1, TJ_E2M1, TJ_F32, NO_SCALE, NO_SCALE, 0, 0},
    {"tcgen05:bn=64", 130, 416, 96, 1, TJ_E2M1, TJ_BF16, NV(BY_ROWS), NV(BY_ROWS), 0, 0},
    {"tcgen05:bn=224,stages=2", 140, 800, 300, 1, TJ_E2M1, TJ_F32, NV(IN_TILES), NV(IN_TILES), 0, 0},
    {"tcgen05:swap=yes,bn=32,splits=2", 16, 736, 64, 2, TJ_E2M1, TJ_F32, NV(BY_PARTS), WHOLE(BY_ROWS), 0, 0},
    {"tcgen05:bn=32", 90, 256, 64, 1, TJ_E2M1, TJ_BF16, WHOLE(BY_ROWS), WHOLE(BY_ROWS), 3, 0},
    {"tcgen05:bn=64", 64, 128, 64, 1, TJ_E2M1, TJ_F32, NO_SCALE, NV(BY_ROWS), 0, P_ACROSS},
};

static tj_problem problem_of(const struct row *row)
{
    tj_problem problem = TJ_PROBLEM_INIT(row->j, row->k, row->l, row->type);

    problem.n.type = (int16_t)row->type;
    problem.p.type = (int16_t)row->p;
    problem.m.layout = row->across & ACROSS ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
    problem.n.layout = row->across & N_ACROSS ? TJ_ROW_MAJOR : TJ_COL_MAJOR;
    problem.p.layout = row->across & P_ACROSS ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
    problem.batch = row->batch;
    problem.rows = rows_in_groups(row->groups);
    problem.scale[TJ_MATRIX_M] = row->scale_m;
    problem.scale[TJ_MATRIX_N] = row->scale_n;
    return problem;
}

Test(tcgen05_scales, products_are_multiplied_by_their_scales)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && has_nvrtc(); i++) {
        const tj_problem problem = problem_of(&rows[i]);
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        char label[160];

        options.guard_bytes = 256;
        (void)snprintf(label, sizeof label, "row %zu, %s", i, rows[i].config);
        expect_right_product(&problem, rows[i].config, &options, label);
    }
}

/* The library chooses the family where tensor cores multiply by the scales, and no other way multiplies e2m1 there. */
Test(tcgen05_scales, are_chosen_where_the_device_has_them)
{
    static const struct {
        const char *device;
        tj_type type;
        tj_scale scale;
    } cases[] = {{"sm_100", TJ_E4M3, MX(BY_ROWS)}, {"sm_103", TJ_E2M1, NV(BY_ROWS)}, {"sm_100", TJ_E2M1, MX(IN_TILES)}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(2048, 2048, 2048, cases[i].type);
        tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
        tj_config config = TJ_CONFIG_INIT;
        char text[TJ_CONFIG_TEXT_BYTES];

        problem.n.layout = TJ_COL_MAJOR;
        problem.n.type = (int16_t)cases[i].type;
        problem.p.type = TJ_BF16;
        problem.scale[TJ_MATRIX_M] = problem.scale[TJ_MATRIX_N] = cases[i].scale;
        cr_assert(eq(int, tj_device_named(cases[i].device, &facts, &err), TJ_OK), "%s", err.message);
        cr_assert(eq(int, tj_choose(NULL, &problem, &facts, &config, NULL, &err), TJ_OK), "%s", err.message);
        tj_config_print(&config, text);
        cr_expect(strncmp(text, "tcgen05:", 8) == 0, "%s: %s", cases[i].device, text);
    }
}

/* A search meets tiles of 128 rows for few rows, too: scales have no others. */
Test(tcgen05_scales, are_in_the_space_of_few_rows)
{
    tj_problem problem = TJ_PROBLEM_INIT(16, 512, 512, TJ_E4M3);
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
    tj_config config = TJ_CONFIG_INIT;
    tj_space *space;

    problem.n.layout = TJ_COL_MAJOR;
    problem.p.type = TJ_BF16;
    problem.scale[TJ_MATRIX_M] = problem.scale[TJ_MATRIX_N] = (tj_scale)MX(BY_ROWS);
    cr_assert(eq(int, tj_device_named("sm_100", &facts, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_space_create(&problem, &facts, tj_family_find("tcgen05"), &space, &err), TJ_OK), "%s", err.message);
    cr_expect(tj_space_next(space, &config));
    cr_expect(eq(int, tj_config_get(&config, "bm"), 128));
    tj_space_free(space);
}

Test(tcgen05_scales, says_which_problem_or_config_has_none)
{
    static const struct {
        const char *config, *message;
        tj_type type;
        int32_t n_layout;
        int64_t k;
        tj_scale scale;
    } cases[] = {
        {"tcgen05", "does not multiply by the scales of this problem", TJ_E4M3, 1, 256, BY_ROW(1, 128)},
        {"tcgen05", "does not multiply by the scales of this problem", TJ_BF16, 1, 256, MX(BY_ROWS)},
        {"tcgen05", "does not multiply by the scales of this problem", TJ_E2M1, 1, 256, SCALES_OF(TJ_E4M3, BY_ROWS, 1, 32)},
        {"tcgen05", "does not multiply by the scales of this problem", TJ_E2M1, 0, 256, MX(BY_ROWS)},
        {"tcgen05:pack=both", "pack=both is not for e2m1 by e2m1", TJ_E2M1, 1, 256, NO_SCALE},
        {"tcgen05", "must begin at multiples of 16 bytes", TJ_E2M1, 1, 254, NO_SCALE},
        {"tcgen05", "multiplies by scales in the instruction e2m1 along k", TJ_E2M1, 0, 256, NO_SCALE},
        {"tcgen05:bm=64", "bm is 64: the tensor cores multiply by scales in 128 rows", TJ_E4M3, 1, 256, MX(BY_ROWS)},
        {"tcgen05:bn=256", "need 1024 columns of tensor memory, which has 512: use a smaller bn", TJ_E4M3, 1, 256, MX(BY_ROWS)},
        {"tcgen05:bn=240", "need 1024 columns of tensor memory, which has 512: use a smaller bn", TJ_E2M1, 1, 256, NV(BY_ROWS)},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(256, cases[i].k, 256, cases[i].type);
        tj_config config = TJ_CONFIG_INIT;

        problem.n.layout = cases[i].n_layout ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
        problem.n.type = (int16_t)cases[i].type;
        problem.p.type = TJ_F32;
        problem.scale[TJ_MATRIX_M] = problem.scale[TJ_MATRIX_N] = cases[i].scale;
        cr_assert(eq(int, tj_config_parse(cases[i].config, &config, &err), TJ_OK), "%s", err.message);
        cr_expect(eq(int, tj_config_resolve(&problem, &config, &err), TJ_ERR_INVALID_ARGUMENT), "%s, case %zu", cases[i].config,
                  i);
        expect_said(cases[i].message);
    }
}

/* ptxas takes the text for all chips, and keeps everything in registers. */
Test(tcgen05_scales, ptxas_spills_nothing)
{
    static const char *const targets[] = {"sm_100a", "sm_103a", "sm_110a"};
    static const struct {
        const char *config;
        tj_type type;
        tj_scale scale;
    } cases[] = {{"tcgen05:bn=240", TJ_E4M3, MX(BY_ROWS)},  {"tcgen05:pair=yes,bn=224", TJ_E2M1, NV(BY_ROWS)},
                 {"tcgen05:bn=128", TJ_E4M3, MX(IN_TILES)}, {"tcgen05:bn=224", TJ_E2M1, MX(BY_PARTS)},
                 {"tcgen05:bn=224", TJ_E2M1, NV(IN_TILES)}, {"tcgen05:swap=yes,bn=32,splits=4", TJ_E2M1, NV(BY_ROWS)}};

    for (size_t i = 0; i < 3 * sizeof cases / sizeof cases[0] && has_nvrtc(); i++) {
        tj_problem problem = TJ_PROBLEM_INIT(1000, 4096, 1024, cases[i / 3].type);
        const char *const text = cases[i / 3].config, *const target = targets[i % 3];
        tj_resources used;
        tj_config config = TJ_CONFIG_INIT;
        tj_source *source = NULL;
        tj_image *image = NULL;

        problem.n.layout = TJ_COL_MAJOR;
        problem.n.type = (int16_t)cases[i / 3].type;
        problem.p.type = TJ_BF16;
        problem.scale[TJ_MATRIX_M] = problem.scale[TJ_MATRIX_N] = cases[i / 3].scale;
        cr_assert(eq(int, tj_config_parse(text, &config, &err), TJ_OK), "%s", err.message);
        cr_assert(eq(int, tj_generate(&problem, &config, &source, &err), TJ_OK), "%s", err.message);
        cr_assert(eq(int, tj_compile(context, source, target, &image, &err), TJ_OK), "%s for %s: %s", text, target,
                  err.message);
        used = tj_image_resources(image);
        cr_expect(used.registers > 0 && used.spill_stores == 0 && used.spill_loads == 0, "%s for %s: %d registers, %d bytes",
                  text, target, used.registers, used.spill_stores);
        tj_image_free(image);
        tj_source_free(source);
    }
}
