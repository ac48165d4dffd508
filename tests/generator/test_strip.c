/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * strip: every constraint with its message, properties that the problem settles, and the launch form.
 */
#include "family.h"
#include "generator_test.h"
#include "of_problem.h"

#define STRIP(...) PROBLEM(.j = {FIXED(400)}, .k = {FIXED(512)}, .l = {FIXED(16)}, __VA_ARGS__)
#define FLAT(...) PROBLEM(.j = {FIXED(16)}, .k = {FIXED(512)}, .l = {FIXED(400)}, .n.layout = TJ_COL_MAJOR, __VA_ARGS__)

Test(strip, says_which_constraint_does_not_hold)
{
    const request rows[] = {
        {STRIP(), "strip", NULL},
        {FLAT(.m.layout = TJ_COL_MAJOR), "strip", NULL},
        {CUBES(256), "strip", "l is 256, and family strip is for a j or l of 16 at most: use another family"},
        {PROBLEM(.j = {FIXED(400)}, .k = {FIXED(512)}, .l = {FIXED(17)}), "strip", "l is 17"},
        {PROBLEM(.j = {FIXED(400)}, .k = {FIXED(512)}, .l = {.mode = TJ_DIM_ANY}), "strip",
         "neither j nor l is fixed at 16 or less, and family strip is for such: fix it, or use another family"},
        {PROBLEM(.j = {.mode = TJ_DIM_ANY}, .k = {.mode = TJ_DIM_ANY, .multiple_of = 4}, .l = {FIXED(3)}), "strip:splits=1",
         NULL},
        {PROBLEM(.j = {.mode = TJ_DIM_ANY}, .k = {FIXED(64)}, .l = {FIXED(3)}), "strip:splits=2",
         "splits is 2, and the workspace it takes is known only for a fixed j, l and batch: fix them, or use splits=1"},
        {STRIP(.m.layout = TJ_COL_MAJOR), "strip",
         "M is column-major, and family strip reads its lines along k: use a row-major M, or another family"},
        {STRIP(.n.layout = TJ_COL_MAJOR), "strip",
         "the rows of N do not follow each other without a gap: family strip needs a row-major N with the leading dimension "
         "16"},
        {STRIP(.n.ld = 20), "strip", "the rows of N do not follow each other"},
        {STRIP(.n.ld = TJ_ANY), "strip", "the rows of N do not follow each other"},
        {PROBLEM(.j = {FIXED(16)}, .k = {FIXED(512)}, .l = {FIXED(400)}, .m.layout = TJ_COL_MAJOR), "strip",
         "N is row-major, and family strip reads its lines along k: use a column-major N, or another family"},
        {FLAT(), "strip",
         "the columns of M do not follow each other without a gap: family strip needs a column-major M with the leading "
         "dimension 16"},
        {PROBLEM(.j = {FIXED(400)}, .k = {FIXED(510)}, .l = {FIXED(16)}), "strip",
         "the lines of M are aligned to 2 elements only, and family strip copies 4: make k, its leading dimension and its "
         "stride multiples of 4, or use another family"},
        {PROBLEM(.j = {FIXED(400)}, .k = {FIXED(510)}, .l = {FIXED(16)}, .m.type = TJ_F64), "strip", NULL},
        {STRIP(.m.ld = 513), "strip", "the lines of M are aligned to 1 elements only"},
        {STRIP(.batch = 2, .m.stride = 204802), "strip", "the lines of M are aligned to 2 elements only"},
        {STRIP(.batch = 2, .n.stride = 8194), "strip",
         "the products of N may begin anywhere, and family strip copies 4 elements: give it a stride that is a multiple of 4"},
        {STRIP(.batch = 2, .n.stride = TJ_POINTERS), "strip", "the products of N may begin anywhere"},
        {STRIP(.batch = 2, .m.stride = TJ_POINTERS_16, .n.stride = TJ_POINTERS_16), "strip", NULL},
        {STRIP(.batch = 2, .n.stride = TJ_BROADCAST), "strip", NULL},
        {STRIP(.m.type = TJ_F16), "strip", NULL},
        {STRIP(.m.type = TJ_BF16, .m.ld = 516), "strip", "aligned to 4 elements only, and family strip copies 8"},
        {STRIP(.m.type = TJ_S8), "strip", "family strip takes matrices of f32, f64, f16 or bf16, and M is s8"},
        {STRIP(), "strip:row_lanes=3",
         "row_lanes is 3 and col_lanes 2: both must be powers of 2, and their product 32 at most"},
        {STRIP(), "strip:row_lanes=32,col_lanes=2", "row_lanes is 32 and col_lanes 2"},
        {STRIP(), "strip:row_lanes=8,col_lanes=4", NULL},
        {STRIP(), "strip:tn=4,col_lanes=2", "tn 4 x col_lanes 2 makes 8 columns, and P has 16: use tn=16,col_lanes=1"},
        {STRIP(), "strip:tn=3", "tn 3 x col_lanes 1 makes 3 columns"},
        {PROBLEM(.j = {FIXED(400)}, .k = {FIXED(512)}, .l = {FIXED(6)}), "strip:col_lanes=2",
         "tn is 3, and with several col_lanes it must be a multiple of 4: use tn=6,col_lanes=1"},
        {STRIP(), "strip:steps=3", "steps is 3: it must be a power of 2, and with 2 lanes along k at least 4"},
        {STRIP(), "strip:steps=2", "steps is 2"},
        {STRIP(), "strip:tm=17", "tm 17 x tn 8 makes 136 sums a thread: 128 of 4 bytes are the most"},
        {STRIP(.m.type = TJ_F64), "strip:tm=9", "72 sums a thread: 64 of 8 bytes are the most"},
        {STRIP(), "strip:warps=8,stages=5",
         "8 warps with 5 stages each need 291840 bytes of shared memory: 232448 are the most"},
        {STRIP(), "strip:copies=boxes", NULL},
        {FLAT(.m.layout = TJ_COL_MAJOR), "strip:copies=boxes", NULL},
        {STRIP(.batch = 2, .n.stride = TJ_BROADCAST), "strip:copies=boxes", NULL},
        {STRIP(.batch = 2, .m.stride = TJ_POINTERS_16, .n.stride = TJ_BROADCAST), "strip:copies=boxes",
         "copies=boxes takes M by a tensor map, which arrays of pointers do not have: use copies=lanes"},
        {FLAT(.m.layout = TJ_COL_MAJOR, .batch = 2, .m.stride = TJ_POINTERS_16), "strip:copies=boxes",
         "copies=boxes takes M by a tensor map"},
        {STRIP(), "strip:copies=boxes,row_lanes=4,col_lanes=2",
         "row_lanes is 4 and col_lanes 2, and with copies=boxes their product is 4 at most: the lanes along k read 128 bytes"},
        {STRIP(), "strip:copies=boxes,warps=8,steps=2",
         "8 warps of 2 steps multiply 512 elements along k in a phase, and a box has at most 256: use fewer warps or steps"},
        {STRIP(.m.type = TJ_F64), "strip:copies=boxes,warps=8,steps=2", NULL},
        {PROBLEM(.j = {FIXED(400)}, .k = {FIXED(512)}, .l = {FIXED(13)}), "strip:copies=boxes",
         "l is 13, and copies=boxes takes an even one"},
        {PROBLEM(.j = {FIXED(400)}, .k = {FIXED(0)}, .l = {FIXED(16)}, .m.ld = TJ_ANY), "strip", NULL},
        {PROBLEM(.j = {FIXED(400)}, .k = {FIXED(0)}, .l = {FIXED(16)}, .m.ld = TJ_ANY), "strip:copies=boxes",
         "copies=boxes takes M by a tensor map, and its leading dimension or stride is left to the launch: fix it"},
        {PROBLEM(.j = {FIXED(400)}, .k = {FIXED(512)}, .l = {FIXED(2)}), "strip:copies=boxes,tm=32,row_lanes=16",
         "row_lanes is 16 and col_lanes 1"},
        {STRIP(), "strip:copies=boxes,tm=10,stages=6,steps=2", NULL},
        {STRIP(), "strip:copies=boxes,tm=16,stages=8,steps=2",
         "4 warps with 8 stages need 402432 bytes of shared memory: 232448 are the most"},
        {STRIP(), "strip:boundary=none,tm=7", "the boundary check of j is switched off"},
    };

    expect_answers(rows, sizeof rows / sizeof rows[0]);
}

/* The long operand along k, whichever side is short; splits where one GPU would otherwise idle, and no more than phases. */
Test(strip, settles_where_lanes_stand_and_how_far_to_split)
{
    static const struct {
        int64_t j, k, l;
        const char *config;
    } rows[] = {
        {1760, 1760, 16, "strip:tm=5,tn=8,row_lanes=8,col_lanes=2,steps=4,warps=4,stages=3,splits=3,blocks=1,copies=lanes"},
        {7, 300000, 13, "strip:tm=4,tn=13,row_lanes=2,col_lanes=1,steps=1,warps=4,stages=3,splits=132,blocks=1,copies=lanes"},
        {100000, 64, 16, "strip:tm=5,tn=8,row_lanes=8,col_lanes=2,steps=4,warps=4,stages=3,splits=1,blocks=1,copies=lanes"},
        {400, 128, 3, "strip:tm=7,tn=3,row_lanes=8,col_lanes=1,steps=2,warps=4,stages=3,splits=1,blocks=1,copies=lanes"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int flat = 0; flat < 2; flat++) {
            tj_problem problem = TJ_PROBLEM_INIT(rows[i].j, rows[i].k, rows[i].l, TJ_F32);
            tj_config config = parse("strip"), expected = parse(rows[i].config);

            if (flat) {
                const tj_dim j = problem.j;

                problem.j = problem.l, problem.l = j;
                problem.m.layout = problem.n.layout = TJ_COL_MAJOR;
            }
            cr_assert(eq(int, tj_config_resolve(&problem, &config, NULL), TJ_OK), "row %zu", i);
            for (size_t p = 0; p + 1 < tj_family_param_count(config.family); p++) /* all but rows */
                cr_expect(eq(int, config.value[p], expected.value[p]), "row %zu: %s", i,
                          tj_family_param(config.family, p)->name);
        }
}

Test(strip, says_what_a_launch_needs)
{
    const tj_problem problem = STRIP(.epilogue.has_beta = 1);
    const tj_config config = parse("strip:splits=8");
    const tj_launch_form *form;
    const tj_launch_step *product;
    tj_source *source = NULL;

    cr_assert(eq(int, tj_generate(&problem, &config, &source, NULL), TJ_OK));
    form = tj_source_launch(source);
    product = tj_product_step(form);
    cr_expect(eq(int, form->steps, 2));
    cr_expect(eq(i64, form->workspace_bytes, 4 * 400 * 16 * 8));
    cr_expect(form->align[TJ_MATRIX_M] == 16 && form->align[TJ_MATRIX_N] == 16 && form->align[TJ_MATRIX_P] == 0);
    cr_expect(eq(int, form->needs, TJ_FEATURE_CP_ASYNC));
    cr_expect(eq(int, product->block_x, 128));
    cr_expect(eq(i64, product->dynamic_shared_bytes, 4 * 3 * 8 * (40 + 17) * 16), "40 rows of M, and 16 | 1 chunks of N");
    cr_expect(product->sums_in_registers);
    tj_source_free(source);
}

/* The map of N has lines of as many rows as a chunk has elements. */
Test(strip, says_what_boxes_need)
{
    const tj_problem problem = FLAT(.m.layout = TJ_COL_MAJOR, .batch = 3, .m.stride = TJ_BROADCAST);
    const tj_config config = parse("strip:copies=boxes,splits=1,tm=10,stages=5");
    const tj_tensor_map *m, *n;
    const tj_launch_form *form;
    tj_source *source = NULL;

    cr_assert(eq(int, tj_generate(&problem, &config, &source, NULL), TJ_OK));
    form = tj_source_launch(source);
    m = &form->tensor_map[0], n = &form->tensor_map[1]; /* the text's, whose M is the caller's N */
    cr_expect(eq(int, form->needs, TJ_FEATURE_TMA));
    cr_expect(eq(int, tj_product_step(form)->block_x, 160), "four warps, and one that brings");
    cr_expect(eq(i64, tj_product_step(form)->dynamic_shared_bytes,
                 (5 * ((20 + 16) * 512 + 16) + 4 * 10 * 33 * 4 + 1023) / 1024 * 1024));
    cr_expect(m->matrix == TJ_MATRIX_N && m->rank == 3 && m->box[0] == 128 && m->box[1] == 20 && m->swizzle == 0);
    cr_expect(n->matrix == TJ_MATRIX_M && n->rank == 2 && n->box[0] == 32 && n->box[1] == 32 && n->swizzle == 128);
    cr_expect(eq(int, m->joins, 0));
    cr_expect(eq(int, n->joins, 4));
    tj_source_free(source);
}

/* Blocks that make whole waves of a large GPU, in phases of 128 elements, with as many stages as there is room for. */
Test(strip, settles_the_rows_of_boxes)
{
    static const struct {
        int64_t j, l;
        int32_t tm, stages;
    } rows[] = {{1760, 16, 7, 7}, {2560, 16, 10, 5}, {8192, 16, 11, 5}, {100, 16, 1, 8}, {2560, 14, 5, 6}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_problem problem = TJ_PROBLEM_INIT(rows[i].j, 2048, rows[i].l, TJ_F32);
        tj_config config = parse("strip:copies=boxes");

        cr_assert(eq(int, tj_config_resolve(&problem, &config, NULL), TJ_OK), "row %zu", i);
        cr_expect(eq(int, tj_config_get(&config, "tm"), rows[i].tm), "row %zu", i);
        cr_expect(eq(int, tj_config_get(&config, "stages"), rows[i].stages), "row %zu", i);
    }
}

/*
 * If the compiler has too few registers, or takes the stack: fewer blocks, then copies by lanes, and then nothing is left to
 * do.
 */
Test(strip, gives_way_to_lanes)
{
    const tj_problem problem = STRIP();
    tj_config config = parse("strip:copies=boxes,blocks=2,tm=16");

    cr_expect(tj_config_relax(&problem, &config) && tj_config_get(&config, "blocks") == 1);
    cr_expect(eq(int, tj_config_get(&config, "tm"), 16));
    cr_expect(tj_config_relax(&problem, &config));
    cr_assert(eq(int, tj_config_resolve(&problem, &config, NULL), TJ_OK));
    cr_expect(tj_config_get(&config, "copies") == 1 && tj_config_get(&config, "tm") == 5 &&
              tj_config_get(&config, "stages") == 3);
    cr_expect(not(tj_config_relax(&problem, &config)));
}

/* Operands that are aligned to less make the library take another family, for this one cannot do without. */
Test(strip, cannot_do_without_alignment)
{
    const tj_problem problem = STRIP();
    tj_config config = parse("strip");

    cr_assert(eq(int, tj_config_resolve(&problem, &config, NULL), TJ_OK));
    cr_expect(config.family->for_any_operands && !config.family->for_any_operands(true, &config));
}
