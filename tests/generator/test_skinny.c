/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * skinny and split k: every constraint with its message, properties that the problem settles, and the launch form.
 */
#include "family.h"
#include "generator_test.h"
#include "settle.h"

#define DECODE PROBLEM(.j = {FIXED(16)}, .k = {FIXED(4096)}, .l = {FIXED(4096)})
#define SQUARE PROBLEM(.j = {FIXED(256)}, .k = {FIXED(64)}, .l = {FIXED(256)})

Test(skinny, says_which_constraint_does_not_hold)
{
    const request rows[] = {
        {SQUARE, "skinny", "j is 256, and family skinny is for 64 at most: another family, or stream=m if l is short"},
        {SQUARE, "skinny:stream=m", "l is 256, and family skinny is for 64 at most: another family, or stream=n if j is short"},
        {PROBLEM(.j = {FIXED(65)}, .k = {FIXED(9)}, .l = {FIXED(900)}), "skinny", "j is 65"},
        {PROBLEM(.j = {FIXED(64)}, .k = {FIXED(9)}, .l = {FIXED(900)}), "skinny", NULL},
        {PROBLEM(.j = {FIXED(900)}, .k = {FIXED(9)}, .l = {FIXED(64)}), "skinny", NULL},
        {DECODE, "skinny:stream=m", "l is 4096"},
        {DECODE, "skinny:lanes=3", "lanes is 3, slices "},
        {DECODE, "skinny:slices=24", "slices 24"},
        {DECODE, "skinny:vector=3", "vector 3"},
        {DECODE, "skinny:k_thread=6", "k_thread 6: all must be powers of 2"},
        {DECODE, "skinny:lanes=4,slices=4", "lanes 4 x slices 4 makes 16 threads: use 32 to 1024"},
        {DECODE, "skinny:lanes=64,slices=32", "makes 2048 threads"},
        {DECODE, "skinny:lanes=32,slices=32,tm=4,k_thread=4", NULL},
        {DECODE, "skinny:vector=8,tn=8", "vector is 8, and one load takes 4 elements of f32: use that at most"},
        {PROBLEM(.j = {FIXED(4)}, .k = {FIXED(64)}, .l = {FIXED(64)}, .m.type = TJ_F64), "skinny:vector=4,tn=4",
         "one load takes 2 elements of f64"},
        {PROBLEM(.j = {FIXED(4)}, .k = {FIXED(64)}, .l = {FIXED(64)}, .m.type = TJ_F16), "skinny:vector=8,tn=8", NULL},
        {PROBLEM(.j = {FIXED(4)}, .k = {FIXED(64)}, .l = {FIXED(70)}), "skinny:vector=4",
         "vector is 4, and the lines of the streamed matrix are aligned to 2 elements only: use vector=2"},
        {PROBLEM(.j = {FIXED(4)}, .k = {FIXED(64)}, .l = {FIXED(64)}, .n.ld = 65), "skinny:vector=2", "use vector=1"},
        {PROBLEM(.j = {FIXED(4)}, .k = {FIXED(64)}, .l = {FIXED(64)}, .n.ld = TJ_ANY), "skinny:vector=4", "use vector=1"},
        {PROBLEM(.j = {FIXED(4)}, .k = {FIXED(3)}, .l = {FIXED(64)}, .batch = 2, .n.stride = 193), "skinny:vector=4",
         "use vector=1"},
        {PROBLEM(.j = {FIXED(4)}, .k = {FIXED(3)}, .l = {FIXED(64)}, .batch = 2, .n.stride = TJ_BROADCAST), "skinny:vector=4",
         NULL},
        {PROBLEM(.j = {FIXED(4)}, .k = {FIXED(64)}, .l = {.mode = TJ_DIM_ANY, .multiple_of = 2}), "skinny:vector=4",
         "use vector=2"},
        {DECODE, "skinny:vector=4,tn=6", "tn is 6: it must be a multiple of vector 4"},
        {PROBLEM(.j = {FIXED(4)}, .k = {FIXED(64)}, .l = {FIXED(64)}, .n.layout = TJ_COL_MAJOR), "skinny:vector=4,k_thread=2",
         "k_thread is 2: it must be a multiple of vector 4"},
        {DECODE, "skinny:tm=32,tn=8", "tm 32 x tn 8 makes 256 sums a thread: 128 of 4 bytes are the most"},
        {PROBLEM(.j = {FIXED(16)}, .k = {FIXED(64)}, .l = {FIXED(64)}, .m.type = TJ_F64), "skinny:tm=16,tn=8",
         "128 sums a thread: 64 of 8 bytes are the most"},
        {DECODE, "skinny:tm=16,lanes=1,slices=1024,k_thread=8",
         "tm 16, slices 1024 and k_thread 8 need 1049088 bytes of shared memory: 48 KiB is the most"},
        {PROBLEM(.j = {FIXED(16)}, .k = {FIXED(64)}, .l = {.mode = TJ_DIM_ANY}), "skinny:splits=4",
         "splits is 4, and the workspace it takes is known only for a fixed j, l and batch: fix them, or use splits=1"},
        {PROBLEM(.j = {FIXED(16)}, .k = {FIXED(64)}, .l = {FIXED(64)}, .batch = TJ_ANY), "skinny:splits=2", "splits is 2"},
        {PROBLEM(.j = {FIXED(16)}, .k = {.mode = TJ_DIM_ANY}, .l = {FIXED(64)}), "skinny:splits=2", NULL},
    };

    expect_answers(rows, sizeof rows / sizeof rows[0]);
}

/* A short side, the operand along the long one, and splits where one GPU would otherwise idle. */
Test(skinny, settles_what_to_stream_and_how_far_to_split)
{
    static const struct {
        int64_t j, k, l;
        bool streams_m;
        int least_splits, most_splits;
    } rows[] = {{1, 4096, 4096, false, 1, 64},     {16, 4096, 14336, false, 1, 4},  {4096, 4096, 16, true, 1, 64},
                {32, 100000, 32, false, 32, 1024}, {512, 500000, 8, true, 8, 1024}, {64, 100, 64, false, 1, 1},
                {64, 1216, 1, true, 1, 1}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_problem problem = TJ_PROBLEM_INIT(rows[i].j, rows[i].k, rows[i].l, TJ_F32);
        tj_config config = parse("skinny");
        int32_t splits;

        cr_assert(eq(int, tj_config_resolve(&problem, &config, NULL), TJ_OK), "row %zu", i);
        splits = tj_config_get(&config, "splits");
        cr_expect(eq(int, tj_config_get(&config, "stream"), rows[i].streams_m ? 2 : 1), "row %zu", i);
        cr_expect(splits >= rows[i].least_splits && splits <= rows[i].most_splits, "row %zu: %d splits", i, splits);
    }
}

/* A row of known length is unrolled, and a long text compiles for seconds. In 16 bits such a row is a loop. */
Test(skinny, long_rows_of_32_bits_are_not_worth_a_trial)
{
    static const struct {
        const char *config;
        tj_type dtype;
        int is_worth;
    } rows[] = {
        {"skinny:tn=4,lanes=8,slices=32,k_thread=8", TJ_F32, 1},          /* 512 elements a thread */
        {"skinny:tn=8,lanes=8,slices=32,k_thread=8", TJ_F32, 1},          /* 1 024 */
        {"skinny:tn=4,lanes=8,slices=8,k_thread=16", TJ_F32, 0},          /* 2 048, unrolled */
        {"skinny:tn=8,lanes=16,slices=8,k_thread=16", TJ_F32, 0},         /* 4 096, a loop */
        {"skinny:tn=8,lanes=16,slices=8,k_thread=16", TJ_F16, 1},         /* the same */
        {"skinny:tn=4,lanes=8,slices=8,k_thread=16,splits=8", TJ_F32, 1}, /* the phases of a split are not known */
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_problem problem = TJ_PROBLEM_INIT(1, 4096, 28672, rows[i].dtype);
        tj_config config = parse(rows[i].config);
        tj_request request;

        cr_assert(eq(int, tj_request_make(&problem, &request, NULL), TJ_OK), "row %zu", i);
        cr_assert(eq(int, tj_request_resolve(&request, &config, NULL), TJ_OK), "row %zu", i);
        cr_expect(eq(int, tj_request_worth_trying(&request, &config), rows[i].is_worth), "row %zu", i);
    }
}

Test(skinny, says_what_a_launch_of_splits_needs)
{
    const tj_problem problem =
        PROBLEM(.j = {FIXED(16)}, .k = {FIXED(4096)}, .l = {FIXED(300)}, .batch = 70000, .epilogue.has_beta = 1);
    const tj_config config = parse("skinny:splits=8");
    const tj_launch_form *form;
    const tj_launch_step *product, *reduce;
    tj_source *source = NULL;

    cr_assert(eq(int, tj_generate(&problem, &config, &source, NULL), TJ_OK));
    form = tj_source_launch(source);
    cr_assert(eq(int, form->steps, 2));
    product = &form->step[0], reduce = &form->step[1];
    cr_expect(eq(ptr, (void *)(uintptr_t)tj_product_step(form), (void *)(uintptr_t)product));
    cr_expect(eq(int, product->splits, 8));
    cr_expect(eq(i64, form->workspace_bytes, 4 * 16 * 300 * 8 * (65535 / 8)), "of as many products as one launch takes");
    cr_expect(eq(int, form->align[TJ_MATRIX_N], 16));
    cr_expect(eq(int, form->align[TJ_MATRIX_M], 0));
    cr_expect(strstr(tj_source_text(source), product->kernel) && strstr(tj_source_text(source), reduce->kernel));
    cr_expect(eq(int, product->arg[product->arg_count - 1].kind, TJ_ARG_WORKSPACE));
    cr_expect(eq(int, reduce->arg[reduce->arg_count - 1].index, TJ_MATRIX_P));
    cr_expect(eq(int, reduce->block_x % reduce->block_cols, 0));
    cr_expect(product->sums_in_registers && !reduce->sums_in_registers && reduce->overlaps && !product->overlaps);
    tj_source_free(source);
}

/* src/session/fallback.c relies on this: a config for any operands takes any pointer and no workspace. */
Test(families, can_do_without_alignment_and_workspace)
{
    static const tj_problem problems[] = {
        PROBLEM(.j = {FIXED(64)}, .k = {FIXED(64)}, .l = {FIXED(64)}),
        PROBLEM(.j = {FIXED(32)}, .k = {FIXED(64)}, .l = {FIXED(128)}, .batch = 3, .epilogue.has_beta = 1),
        PROBLEM(.j = {FIXED(64)}, .k = {FIXED(32)}, .l = {FIXED(64)}, .m.type = TJ_F64, .n.layout = TJ_COL_MAJOR, .batch = 2),
        PROBLEM(.j = {FIXED(64)}, .k = {FIXED(64)}, .l = {FIXED(64)}, .m.type = TJ_F16, .m.layout = TJ_COL_MAJOR),
    };
    int aligned = 0;

    for (size_t f = 0; f < tj_family_count(); f++)
        for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++)
            for (int is_plain = 0; is_plain <= 1; is_plain++) {
                tj_config config = TJ_CONFIG_INIT;
                const tj_launch_form *form;
                tj_source *source = NULL;
                int32_t most;

                config.family = tj_family_at(f);
                if (is_plain && (tj_config_resolve(&problems[i], &config, NULL) != TJ_OK ||
                                 (config.family->for_any_operands && !config.family->for_any_operands(false, &config))))
                    continue;
                if (tj_generate(&problems[i], &config, &source, NULL) != TJ_OK)
                    continue;
                form = tj_source_launch(source);
                most = form->align[0] | form->align[1] | form->align[2] | form->align[3];
                aligned += most > 8;
                if (is_plain)
                    cr_expect(most <= (int32_t)tj_type_bytes((tj_type)tj_source_problem(source)->m.type) &&
                                  form->workspace_bytes == 0,
                              "family %s, problem %zu: %d", tj_family_name(config.family), i, most);
                tj_source_free(source);
            }
    cr_expect(aligned >= 4, "only %d texts want alignment", aligned);
}
