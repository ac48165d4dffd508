/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/*
 * mma with block scales in the instruction, on the emulator's sm_120 with all checks: every type, layout and place of scales, next to
 * splits, slices, batches, groups, indexes and short last parts; what is refused; and what ptxas makes of it for each target.
 */
#include <stdio.h>

#include "product_test.h"
#include "scales.h"

static void start(void)
{
    open_context("sm_120", TJ_PROVE_NEVER);
}

TestSuite(block_scales, .init = start, .fini = stop, .timeout = 300);

#define MX(layout_) SCALES_OF(TJ_E8M0, layout_, 1, 32)
#define NV(layout_) SCALES_OF(TJ_E4M3, layout_, 1, 16)
#define BY_ROWS TJ_SCALES_ROW_BY_ROW
#define BY_PARTS TJ_SCALES_PART_BY_PART
#define IN_TILES TJ_SCALES_IN_TILES
#define WHOLE(layout_)                                                                 \
    {                                                                                  \
        .type = TJ_E4M3, .layout = (layout_), .rows = 1, .k = 16, .whole = 1 /* f32 */ \
    }

static const struct row {
    const char *config;
    int64_t j, k, l, batch;
    tj_type m, n, p;
    tj_scale scale_m, scale_n;
    int32_t groups;
    int16_t m_layout, n_layout; /* n_layout: 0 is row-major too */
} rows[] = {
    /* 8-bit floats: phases of 128 and 256, warps of all sizes, parts that end early */
    {"mma:bm=64,bn=64,wm=32,wn=32,steps=4", 130, 384, 96, 1, TJ_E4M3, TJ_E4M3, TJ_BF16, MX(BY_ROWS), MX(BY_ROWS), 0, 0, 1},
    {"mma:bm=128,bn=64,wm=64,wn=32,steps=4,stages=2", 70, 272, 72, 1, TJ_E4M3, TJ_E5M2, TJ_F32, MX(IN_TILES), MX(IN_TILES), 0,
     0, 1},
    {"mma:bm=32,bn=32,wm=16,wn=16,steps=8,stages=2", 33, 500, 17, 2, TJ_E5M2, TJ_E4M3, TJ_F16, MX(BY_PARTS), MX(BY_ROWS), 0, 0,
     1},
    {"mma:bm=64,bn=64,wm=32,wn=32,steps=4", 40, 256, 64, 1, TJ_E4M3, TJ_E4M3, TJ_BF16, MX(BY_ROWS), MX(BY_PARTS), 0, 1, 0},
    {"mma:bm=64,bn=64,wm=32,wn=64,steps=4,stages=2", 96, 200, 80, 1, TJ_E4M3, TJ_E4M3, TJ_F32, MX(BY_ROWS), MX(IN_TILES), 0, 0,
     0},
    {"mma:bm=32,bn=64,wm=32,wn=32,steps=4,splits=3", 64, 640, 64, 1, TJ_E4M3, TJ_E4M3, TJ_F32, MX(IN_TILES), MX(BY_ROWS), 0, 0,
     1},
    {"mma:bm=16,bn=32,wm=16,wn=32,steps=4,slices=4,stages=2", 16, 700, 64, 1, TJ_E4M3, TJ_E4M3, TJ_BF16, MX(BY_ROWS),
     MX(BY_ROWS), 0, 0, 1},
    {"mma:bm=32,bn=32,wm=32,wn=16,steps=4,width=1", 70, 200, 40, 1, TJ_E4M3, TJ_E4M3, TJ_BF16, MX(BY_ROWS), MX(BY_ROWS), 0, 0,
     1},
    {"mma:bm=64,bn=32,wm=32,wn=32,steps=4,pack=both", 65, 130, 40, 1, TJ_E4M3, TJ_E4M3, TJ_BF16, MX(BY_ROWS), MX(BY_ROWS), 0, 1,
     0},
    {"mma:bm=32,bn=32,wm=16,wn=32,steps=4", 90, 256, 64, 1, TJ_E4M3, TJ_E4M3, TJ_BF16, MX(BY_ROWS), MX(BY_ROWS), 3, 0, 1},
    {"mma:bm=32,bn=64,wm=32,wn=32,steps=4", 64, 256, 64, 1, TJ_E4M3, TJ_E4M3, TJ_BF16, SCALES_OF(TJ_E8M0, BY_ROWS, 8, 32),
     SCALES_OF(TJ_E8M0, BY_ROWS, 32, 32), 0, 0, 1},
    /* scales of one side, of rows, and none: ones take their place */
    {"mma:bm=64,bn=64,wm=32,wn=32,steps=4", 64, 256, 64, 1, TJ_E4M3, TJ_E4M3, TJ_BF16, MX(BY_ROWS), SCALE_EACH, 0, 0, 1},
    {"mma:bm=64,bn=64,wm=32,wn=32,steps=4", 64, 256, 64, 1, TJ_E4M3, TJ_E4M3, TJ_BF16, ONE_SCALE, MX(BY_ROWS), 0, 0, 1},
    {"mma:bm=64,bn=64,wm=32,wn=32,steps=4", 66, 260, 68, 1, TJ_E4M3, TJ_E5M2, TJ_F32, NO_SCALE, NO_SCALE, 0, 0, 1},
    /* e2m1: MXFP4 and NVFP4 */
    {"mma:bm=64,bn=64,wm=32,wn=32", 130, 384, 96, 1, TJ_E2M1, TJ_E2M1, TJ_BF16, MX(BY_ROWS), MX(BY_ROWS), 0, 0, 1},
    {"mma:bm=128,bn=64,wm=64,wn=32,steps=4,stages=2", 70, 496, 72, 2, TJ_E2M1, TJ_E2M1, TJ_F32, MX(IN_TILES), MX(IN_TILES), 0,
     0, 1},
    {"mma:bm=32,bn=32,wm=16,wn=16,steps=8,stages=2", 33, 520, 17, 1, TJ_E2M1, TJ_E2M1, TJ_F16, MX(BY_PARTS), MX(BY_ROWS), 0, 0,
     1},
    {"mma:bm=32,bn=64,wm=32,wn=32,splits=3", 64, 640, 64, 1, TJ_E2M1, TJ_E2M1, TJ_F32, MX(BY_ROWS), NO_SCALE, 0, 0, 1},
    {"mma:bm=64,bn=64,wm=32,wn=32", 64, 256, 64, 1, TJ_E2M1, TJ_E2M1, TJ_F32, NO_SCALE, NO_SCALE, 0, 0, 1},
    {"mma:bm=64,bn=64,wm=32,wn=32", 130, 400, 96, 1, TJ_E2M1, TJ_E2M1, TJ_BF16, NV(BY_ROWS), NV(BY_ROWS), 0, 0, 1},
    {"mma:bm=128,bn=64,wm=64,wn=32,steps=4,stages=2", 70, 496, 72, 2, TJ_E2M1, TJ_E2M1, TJ_F32, NV(IN_TILES), NV(IN_TILES), 0,
     0, 1},
    {"mma:bm=16,bn=32,wm=16,wn=32,steps=4,slices=2", 16, 722, 64, 1, TJ_E2M1, TJ_E2M1, TJ_BF16, NV(BY_PARTS), WHOLE(BY_ROWS), 0,
     0, 1},
    {"mma:bm=32,bn=32,wm=16,wn=32,width=1", 90, 250, 64, 1, TJ_E2M1, TJ_E2M1, TJ_BF16, WHOLE(BY_ROWS), WHOLE(BY_ROWS), 3, 0, 1},
    {"mma:bm=32,bn=32,wm=16,wn=32", 64, 128, 64, 1, TJ_E2M1, TJ_E2M1, TJ_F32, NO_SCALE, NV(BY_ROWS), 0, 0, 1},
};

static tj_problem problem_of(const struct row *row)
{
    tj_problem problem = TJ_PROBLEM_INIT(row->j, row->k, row->l, row->m);

    problem.n.type = (int16_t)row->n;
    problem.p.type = (int16_t)row->p;
    problem.m.layout = row->m_layout ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
    problem.n.layout = row->n_layout ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
    problem.batch = row->batch;
    problem.rows = rows_in_groups(row->groups);
    problem.scale[TJ_MATRIX_M] = row->scale_m;
    problem.scale[TJ_MATRIX_N] = row->scale_n;
    return problem;
}

Test(block_scales, products_are_multiplied_by_their_scales)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && has_nvrtc(); i++) {
        const tj_problem problem = problem_of(&rows[i]);
        tj_workbench_options options = TJ_WORKBENCH_INIT;
        char config[160];

        options.guard_bytes = 256;
        (void)snprintf(config, sizeof config, "%s,scales=instruction", rows[i].config);
        expect_right_product(&problem, config, &options, config);
    }
}

/* Rows that an index names bring their scales along. */
Test(block_scales, of_gathered_rows)
{
    tj_problem problem = TJ_PROBLEM_INIT(48, 256, 64, TJ_E4M3);
    tj_workbench_options options = TJ_WORKBENCH_INIT;

    if (!has_nvrtc())
        return;
    problem.n.layout = TJ_COL_MAJOR;
    problem.rows.gathered = 1;
    problem.scale[TJ_MATRIX_M] = problem.scale[TJ_MATRIX_N] = (tj_scale)MX(BY_ROWS);
    expect_right_product(&problem, "mma:bm=32,bn=32,wm=32,wn=16,steps=4,scales=instruction", &options, "gathered");
}

/* The library asks for the instruction where the device has it, and only there. */
Test(block_scales, are_chosen_where_the_device_has_them)
{
    static const struct {
        const char *device;
        tj_type type;
        int32_t k;
        const char *family, *scales; /* NULL: of no matter */
    } cases[] = {{"sm_120", TJ_E4M3, 32, "mma", "instruction"},
                 {"sm_121", TJ_E2M1, 16, "mma", "instruction"},
                 {"sm_120", TJ_E4M3, 0, "mma", "instruction"},
                 {"sm_89", TJ_E4M3, 32, "mma", "sums"},
                 {"sm_90", TJ_E2M1, 32, NULL, NULL}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(512, 1024, 512, cases[i].type);
        tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
        tj_config config = TJ_CONFIG_INIT;
        char text[TJ_CONFIG_TEXT_BYTES], wanted[40];

        problem.n.layout = TJ_COL_MAJOR;
        problem.n.type = (int16_t)cases[i].type;
        problem.p.type = TJ_BF16;
        if (cases[i].k)
            problem.scale[TJ_MATRIX_M] = problem.scale[TJ_MATRIX_N] =
                cases[i].k == 32 ? (tj_scale)MX(BY_ROWS) : (tj_scale)NV(BY_ROWS);
        cr_assert(eq(int, tj_device_named(cases[i].device, &facts, &err), TJ_OK), "%s", err.message);
        cr_assert(eq(int, tj_choose(NULL, &problem, &facts, &config, NULL, &err), TJ_OK), "%s", err.message);
        cr_assert(eq(int, tj_config_resolve(&problem, &config, &err), TJ_OK), "%s", err.message);
        tj_config_print(&config, text);
        (void)snprintf(wanted, sizeof wanted, "scales=%s", cases[i].scales ? cases[i].scales : "");
        if (cases[i].family)
            cr_expect(strncmp(text, "mma:", 4) == 0 && strstr(text, wanted), "%s: %s", cases[i].device, text);
        else
            cr_expect(strncmp(text, "mma", 3) != 0, "%s: %s", cases[i].device, text);
    }
}

/* A search meets the tiles that only the instruction leaves registers for. */
Test(block_scales, are_in_the_space_with_large_tiles)
{
    static const struct {
        tj_type type;
        tj_scale scale;
    } cases[] = {{TJ_E4M3, MX(BY_ROWS)}, {TJ_E2M1, MX(BY_ROWS)}, {TJ_E2M1, NV(BY_ROWS)}};
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;

    cr_assert(eq(int, tj_device_named("sm_120", &facts, &err), TJ_OK), "%s", err.message);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(4096, 4096, 4096, cases[i].type);
        tj_config config = TJ_CONFIG_INIT;
        tj_space *space;
        bool is_met = false;

        problem.n.layout = TJ_COL_MAJOR;
        problem.n.type = (int16_t)cases[i].type;
        problem.p.type = TJ_BF16;
        problem.scale[TJ_MATRIX_M] = problem.scale[TJ_MATRIX_N] = cases[i].scale;
        cr_assert(eq(int, tj_space_create(&problem, &facts, tj_family_find("mma"), &space, &err), TJ_OK), "%s", err.message);
        while (!is_met && tj_space_next(space, &config)) {
            cr_assert(eq(int, tj_config_resolve(&problem, &config, &err), TJ_OK), "%s", err.message);
            is_met = tj_config_get(&config, "scales") == 2 && tj_config_get(&config, "wm") == 64 &&
                     tj_config_get(&config, "wn") == 64;
        }
        cr_expect(is_met, "case %zu", i);
        tj_space_free(space);
    }
}

Test(block_scales, says_which_problem_or_config_has_none)
{
    static const struct {
        const char *config, *message;
        tj_type type;
        int32_t n_layout;
        int64_t k;
        tj_scale scale;
    } cases[] = {
        {"mma:scales=instruction", "scales=instruction is for 8-bit floats and e2m1", TJ_BF16, 1, 256, NO_SCALE},
        {"mma:scales=instruction", "and not for this problem: use scales=sums", TJ_E4M3, 1, 256, BY_ROW(1, 128)},
        {"mma:scales=instruction,steps=2", "steps is 2, and scales=instruction reads the scales", TJ_E4M3, 1, 256, MX(BY_ROWS)},
        {"mma:scales=instruction,steps=4,load=needed", "use load=ahead", TJ_E4M3, 1, 256, MX(BY_ROWS)},
        {"mma:scales=sums", "M and N are e2m1, which tensor cores multiply with scales=instruction alone", TJ_E2M1, 1, 256,
         MX(BY_ROWS)},
        {"mma:pack=both", "pack=both is not for e2m1 by e2m1", TJ_E2M1, 1, 256, NO_SCALE},
        {"mma", "does not multiply by the scales of this problem", TJ_E2M1, 1, 255, MX(BY_ROWS)},
        {"mma", "does not multiply by the scales of this problem", TJ_E2M1, 0, 256, MX(BY_ROWS)},
        {"mma", "does not multiply by the scales of this problem", TJ_E2M1, 1, 256, SCALES_OF(TJ_E4M3, BY_ROWS, 1, 32)},
        {"mma", "family mma multiplies 4 bits by 4 bits for e2m1, both along k", TJ_E2M1, 0, 256, NO_SCALE},
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

/* ptxas takes the text for both chips, and keeps everything in registers. */
Test(block_scales, ptxas_spills_nothing)
{
    static const char *const targets[] = {"sm_120a", "sm_121a"};
    static const struct {
        const char *config;
        tj_type type;
        tj_scale scale;
    } cases[] = {{"mma:bm=128,bn=128,wm=64,wn=64,steps=4,stages=3", TJ_E4M3, MX(BY_ROWS)},
                 {"mma:bm=128,bn=128,wm=64,wn=32,steps=4,stages=3", TJ_E4M3, NO_SCALE},
                 {"mma:bm=128,bn=128,wm=64,wn=32,steps=4,stages=3", TJ_E2M1, MX(IN_TILES)},
                 {"mma:bm=128,bn=128,wm=64,wn=32,steps=4,stages=3", TJ_E2M1, NV(IN_TILES)},
                 {"mma:bm=16,bn=64,wm=16,wn=16,steps=8,stages=4", TJ_E2M1, NV(BY_ROWS)}};

    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0] && has_nvrtc(); i++) {
        tj_problem problem = TJ_PROBLEM_INIT(1000, 4096, 1024, cases[i / 2].type);
        tj_resources used;
        tj_config config = TJ_CONFIG_INIT;
        tj_source *source = NULL;
        tj_image *image = NULL;
        char text[160];

        problem.n.layout = TJ_COL_MAJOR;
        problem.n.type = (int16_t)cases[i / 2].type;
        problem.p.type = TJ_BF16;
        problem.scale[TJ_MATRIX_M] = problem.scale[TJ_MATRIX_N] = cases[i / 2].scale;
        (void)snprintf(text, sizeof text, "%s,scales=instruction", cases[i / 2].config);
        cr_assert(eq(int, tj_config_parse(text, &config, &err), TJ_OK), "%s", err.message);
        cr_assert(eq(int, tj_generate(&problem, &config, &source, &err), TJ_OK), "%s", err.message);
        cr_assert(eq(int, tj_compile(context, source, targets[i % 2], &image, &err), TJ_OK), "%s", err.message);
        used = tj_image_resources(image);
        cr_expect(used.registers > 0 && used.spill_stores == 0 && used.spill_loads == 0, "%s for %s: %d registers, %d bytes",
                  text, targets[i % 2], used.registers, used.spill_stores);
        tj_image_free(image);
        tj_source_free(source);
    }
}
