/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mma: every constraint with its words, what the problem settles, how copies, loads and stores follow from layouts, and packing.
 */
#include "family.h"
#include "generator_test.h"
#include "worth.h"

#define BF16(j_, k_, l_, ...) PROBLEM(.j = {FIXED(j_)}, .k = {FIXED(k_)}, .l = {FIXED(l_)}, .m.type = TJ_BF16, __VA_ARGS__)
#define OPEN .mode = TJ_DIM_ANY

Test(mma, says_which_constraint_does_not_hold)
{
    const request rows[] = {
        {CUBES(256, .m.type = TJ_BF16), "mma", NULL},
        {CUBES(256, .m.type = TJ_F16), "mma", NULL},
        {CUBES(256, .m.type = TJ_F64), "mma", NULL},
        {CUBES(255, .m.type = TJ_F64), "mma", NULL},
        {CUBES(1, .m.type = TJ_F16), "mma", NULL},
        {BF16(64, 0, 64), "mma:pack=both", NULL},
        {PROBLEM(.j = {OPEN}, .k = {OPEN, .multiple_of = 2}, .l = {OPEN, .multiple_of = 2}, .m.type = TJ_BF16), "mma", NULL},
        {CUBES(256), "mma", "family mma has no tensor cores for f32 as IEEE has it: ask for compute tf32"},
        {BF16(1, 2147483647, 2147483647, .batch = 1), "mma:pack=both,bm=256", "pack=both needs more bytes of workspace"},
        {CUBES(256, .m.type = TJ_BF16), "mma:bm=48", "bm is 48: it must be a power of two"},
        {CUBES(256, .m.type = TJ_BF16), "mma:bn=96", "bn is 96: it must be a power of two"},
        {CUBES(256, .m.type = TJ_BF16), "mma:wm=24", "wm is 24: it must be a power of two"},
        {CUBES(256, .m.type = TJ_BF16), "mma:wn=48", "wn is 48: it must be a power of two"},
        {CUBES(256, .m.type = TJ_BF16), "mma:bm=32,wm=64", "a warp tile of 64 x 64 does not fit a block tile of 32 x 128"},
        {CUBES(256, .m.type = TJ_BF16), "mma:steps=3", "steps is 3: it must be even"},
        {CUBES(256, .m.type = TJ_BF16), "mma:bm=256,bn=256,wm=32,wn=32",
         "a block of 256 x 256 with warp tiles of 32 x 32 has 64 warps: 32 are the most"},
        {CUBES(256, .m.type = TJ_BF16), "mma:wm=128,wn=64",
         "a warp tile of 128 x 64 sums does not fit the registers: 4096 are the most"},
        {CUBES(256, .m.type = TJ_F64), "mma:wm=64,wn=64", "2048 are the most"},
        {CUBES(256, .m.type = TJ_BF16), "mma:vector=3", "vector is 3: it must be 1, 2 or 4"},
        {CUBES(256, .m.type = TJ_BF16), "mma:stages=8,steps=8",
         "8 stages of tiles of 128 x 128 and 128 x 128 need 524288 bytes of shared memory: 232448 are the most"},
        {CUBES(256, .m.type = TJ_BF16), "mma:blocks=4",
         "4 blocks of 128 threads leave each thread 128 registers, and a warp tile of 64 x 64 takes "},
        {CUBES(256, .m.type = TJ_BF16), "mma:bm=16,bn=16,wm=16,wn=16,steps=6",
         "32 threads cannot share the copies of 16 lines of 96 elements, 8 at a time: change steps"},
        {CUBES(256, .m.type = TJ_BF16), "mma:group=8,rows=x",
         "group is 8, which walks rows of blocks on y: use group=1 with rows=x"},
        /* lines that begin anywhere, and what packing needs; the caller's letters where P is column-major */
        {CUBES(255, .m.type = TJ_BF16), "mma:pack=none",
         "lines of M, of bf16 with a leading dimension of 255, do not begin at multiples of 4 bytes: use pack=m or pack=both"},
        {BF16(255, 256, 255), "mma:pack=m", "lines of N, of bf16 with a leading dimension of 255"},
        {BF16(255, 256, 255, .m.layout = TJ_COL_MAJOR, .n.layout = TJ_COL_MAJOR, .p.layout = TJ_COL_MAJOR), "mma:pack=none",
         "lines of M, of bf16 with a leading dimension of 255, do not begin at multiples of 4 bytes: use pack=n or pack=both"},
        {PROBLEM(.j = {OPEN}, .k = {FIXED(256)}, .l = {FIXED(256)}, .m.type = TJ_BF16), "mma:pack=m",
         "pack=m needs a workspace and strides that are known when the text is made: fix j, k, l"},
        {CUBES(256, .m.type = TJ_BF16, .m.ld = TJ_ANY), "mma:pack=both", "pack=both needs a workspace"},
        {CUBES(256, .m.type = TJ_BF16, .batch = TJ_ANY), "mma:pack=n", "pack=n needs a workspace"},
        {CUBES(256, .m.type = TJ_BF16, .m.stride = TJ_POINTERS), "mma:pack=m", "without arrays of pointers"},
        {PROBLEM(.j = {OPEN}, .k = {OPEN}, .l = {FIXED(64)}, .m.type = TJ_BF16), "mma", "do not begin at multiples of 4 bytes"},
        {PROBLEM(.j = {OPEN}, .k = {FIXED(64)}, .l = {FIXED(64)}, .m.type = TJ_BF16), "mma:splits=2", "splits is 2"},
    };

    expect_answers(rows, sizeof rows / sizeof rows[0]);
}

Test(mma, copies_and_stores_as_wide_as_lines_let_it)
{
    static const alignment rows[] = {
        {CUBES(256, .m.type = TJ_BF16), "mma", 16, 16, 4},
        {CUBES(256, .m.type = TJ_BF16, .p.type = TJ_F32), "mma", 16, 16, 8},
        {CUBES(256, .m.type = TJ_BF16), "mma:vector=1", 16, 16, 0},
        {CUBES(256, .m.type = TJ_F64), "mma", 16, 16, 16},
        {BF16(64, 68, 66), "mma:pack=none", 8, 4, 4},
        {BF16(64, 68, 66, .p.layout = TJ_COL_MAJOR), "mma:pack=none", 8, 4, 4},
        {BF16(66, 64, 64, .m.layout = TJ_COL_MAJOR), "mma:pack=none", 4, 16, 4},
        {BF16(64, 64, 64, .m.ld = 66, .n.ld = 68, .p.ld = 65), "mma:pack=none", 4, 8, 0},
        {BF16(64, 64, 65), "mma:splits=2", 16, 0, 0},            /* N is packed */
        {BF16(64, 65, 64), "mma:pack=both", 0, 0, 4},            /* both are, and P is not */
        {CUBES(63, .m.type = TJ_F64), "mma:pack=none", 8, 8, 0}, /* an element is a copy */
        {BF16(64, 64, 64, .m.stride = TJ_POINTERS_16, .n.stride = TJ_POINTERS_16, .batch = 3), "mma", 16, 16, 4},
    };

    expect_alignments(rows, sizeof rows / sizeof rows[0]);
}

typedef struct settled {
    tj_problem problem;
    const char *config, *name;
    int value;
} settled;

/* What a config leaves open. */
Test(mma, settles_warps_and_packing_by_the_problem)
{
    static const settled rows[] = {
        {CUBES(256, .m.type = TJ_BF16), "mma", "wm", 64},
        {CUBES(256, .m.type = TJ_F64), "mma", "wn", 32},
        {CUBES(256, .m.type = TJ_BF16), "mma:bm=16", "wm", 16},
        {CUBES(256, .m.type = TJ_BF16), "mma", "pack", 1},
        {BF16(64, 64, 65), "mma", "pack", 3},
        {BF16(64, 65, 64), "mma", "pack", 2},
        {BF16(64, 65, 65), "mma", "pack", 4},
        {BF16(64, 68, 68), "mma", "pack", 1},                           /* copied 8 bytes at a time, once */
        {BF16(4096, 68, 4100), "mma", "pack", 4},                       /* so often that packing pays */
        {BF16(64, 65, 64, .p.layout = TJ_COL_MAJOR), "mma", "pack", 3}, /* the text's N */
        {BF16(64, 68, 68, .batch = TJ_ANY), "mma", "pack", 1},          /* nothing else can be */
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_config config = parse(rows[i].config);
        tj_error err = {0};

        cr_assert(eq(int, tj_config_resolve(&rows[i].problem, &config, &err), TJ_OK), "row %zu: %s", i, err.message);
        cr_expect(eq(int, tj_config_get(&config, rows[i].name), rows[i].value), "row %zu, %s", i, rows[i].name);
    }
}

/* One kernel, or one ahead, or one behind, or both; what is packed begins at a multiple of 128 bytes, behind the sums of splits. */
Test(mma, packs_ahead_of_the_product)
{
    static const struct {
        const char *config;
        int steps, product;
        int64_t m, n, bytes;
    } rows[] = {
        {"mma:pack=none", 1, 0, 0, 0, 0},
        {"mma:pack=m", 2, 1, 0, 0, 3 * 128 * 96 * 2}, /* in whole tiles of 128 x 32 */
        {"mma:pack=both", 2, 1, 0, 3 * 128 * 96 * 2, 2 * 3 * 128 * 96 * 2},
        {"mma:pack=n,splits=2", 3, 1, 0, 2 * 3 * 40 * 50 * 4, 2 * 3 * 40 * 50 * 4 + 3 * 96 * 128 * 2},
        {"mma:pack=none,splits=2", 2, 0, 0, 0, 2 * 3 * 40 * 50 * 4},
    };
    const tj_problem problem = BF16(40, 66, 50, .batch = 3);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_config config = parse(rows[i].config);
        const tj_launch_form *form;
        tj_source *source = NULL;
        tj_error err = {0};

        cr_assert(eq(int, tj_generate(&problem, &config, &source, &err), TJ_OK), "%s: %s", rows[i].config, err.message);
        form = tj_source_launch(source);
        cr_expect(eq(int, form->steps, rows[i].steps), "%s", rows[i].config);
        cr_expect(eq(int, form->product, rows[i].product), "%s", rows[i].config);
        cr_expect(eq(i64, form->slice[1], rows[i].m), "%s", rows[i].config);
        cr_expect(eq(i64, form->slice[2], rows[i].n), "%s", rows[i].config);
        cr_expect(eq(i64, form->workspace_bytes, rows[i].bytes), "%s", rows[i].config);
        cr_expect(rows[i].product == 0 || strncmp(form->step[0].kernel, "pack", 4) == 0, "%s", form->step[0].kernel);
        tj_source_free(source);
    }
}

/* What src/session/fallback.c relies on: with a workspace it asks nothing of the operands, and without one it says that it cannot. */
Test(mma, takes_any_operands_with_a_workspace)
{
    static const tj_problem problems[] = {CUBES(64, .m.type = TJ_BF16), CUBES(64, .m.type = TJ_F64, .batch = 2),
                                          BF16(64, 65, 66, .p.layout = TJ_COL_MAJOR, .epilogue.has_beta = 1)};

    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
        tj_config config = parse("mma:pack=none,splits=2"), other = config;
        const tj_launch_form *form;
        tj_source *source = NULL;
        tj_error err = {0};

        if (i == 2) /* lines that only packing serves */
            config = parse("mma");
        cr_assert(eq(int, tj_config_resolve(&problems[i], &config, &err), TJ_OK), "%zu: %s", i, err.message);
        other = config;
        cr_expect(eq(int, config.family->for_any_operands(false, &other), false), "%zu", i);
        cr_assert(config.family->for_any_operands(true, &config), "%zu", i);
        cr_assert(eq(int, tj_generate(&problems[i], &config, &source, &err), TJ_OK), "%zu: %s", i, err.message);
        form = tj_source_launch(source);
        for (int which = 0; which < TJ_MATRICES; which++)
            cr_expect(eq(int, form->align[which], 0), "%zu", i);
        tj_source_free(source);
    }
}

/* Of its target it needs copies past the registers, ldmatrix, and the tensor cores of its type. */
Test(mma, needs_the_tensor_cores_of_its_type)
{
    static const uint32_t wanted[] = {
        [TJ_F64] = TJ_FEATURE_MMA_F64, [TJ_F16] = TJ_FEATURE_MMA_F16, [TJ_BF16] = TJ_FEATURE_MMA_BF16};

    for (int type = TJ_F64; type <= TJ_BF16; type++) {
        const tj_problem problem = CUBES(64, .m.type = type);
        const tj_config config = parse("mma");
        tj_source *source = NULL;

        cr_assert(eq(int, tj_generate(&problem, &config, &source, NULL), TJ_OK));
        cr_expect(eq(u32, tj_source_launch(source)->needs, TJ_FEATURE_CP_ASYNC | TJ_FEATURE_LDMATRIX | wanted[type]));
        tj_source_free(source);
    }
}

/* What a tuner leaves out: tiles of which half would do, groups as high as the grid, splits of a full GPU. */
Test(mma, knows_what_is_not_worth_trying)
{
    static const struct {
        tj_problem problem;
        const char *config;
        bool is_worth;
    } rows[] = {
        {CUBES(1024, .m.type = TJ_BF16), "mma", true},
        {CUBES(1024, .m.type = TJ_BF16), "mma:group=8", false},
        {CUBES(2048, .m.type = TJ_BF16), "mma:group=8", true},
        {BF16(64, 1024, 1024), "mma", false},
        {BF16(65, 1024, 1024), "mma", true},
        {BF16(1024, 1024, 32), "mma:bn=64", false},
        {BF16(128, 8192, 128), "mma:splits=4", true},
        {BF16(128, 128, 128), "mma:splits=4", false},
        {CUBES(8192, .m.type = TJ_BF16), "mma:splits=2", false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_config config = parse(rows[i].config);

        cr_assert(eq(int, tj_config_resolve(&rows[i].problem, &config, NULL), TJ_OK), "row %zu", i);
        cr_expect(eq(int, tj_config_is_worth_trying(&rows[i].problem, &config), rows[i].is_worth), "row %zu", i);
    }
}
