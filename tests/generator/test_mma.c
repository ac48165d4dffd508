/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * mma: every constraint with its message, properties that the problem settles, how copies, loads and stores follow from
 * layouts, and packing.
 */
#include "family.h"
#include "generator_test.h"
#include "settle.h"

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
        {CUBES(256, .m.type = TJ_BF16), "mma:width=12", "width is 12: it must be 1, 2, 4, 8 or 16"},
        {CUBES(256, .m.type = TJ_BF16), "mma:stages=8,steps=8",
         "8 stages of tiles of 128 x 128 and 128 x 128 need 524288 bytes of shared memory: 232448 are the most"},
        {CUBES(256, .m.type = TJ_BF16), "mma:blocks=4",
         "4 blocks of 128 threads leave each thread 128 registers, and a warp tile of 64 x 64 takes "},
        {CUBES(256, .m.type = TJ_BF16), "mma:wn=32,blocks=2",
         "2 blocks of 256 threads leave each thread 128 registers, and a warp tile of 64 x 32 takes 140"},
        {CUBES(256, .m.type = TJ_BF16), "mma:wn=32,blocks=2,load=needed", NULL},
        {CUBES(256, .m.type = TJ_BF16), "mma:bm=16,bn=16,wm=16,wn=16,steps=6",
         "32 threads cannot share the copies of 16 lines of 96 elements, 8 at a time: change steps"},
        {CUBES(256, .m.type = TJ_BF16), "mma:group=8,rows=x",
         "group is 8, which walks rows of blocks on y: use group=1 with rows=x"},
        /* lines that begin anywhere, and what packing needs */
        {CUBES(255, .m.type = TJ_BF16), "mma:pack=none", NULL},
        {BF16(255, 256, 255), "mma:pack=m", NULL},
        {PROBLEM(.j = {OPEN}, .k = {OPEN}, .l = {OPEN}, .m.type = TJ_S8, .m.ld = TJ_ANY, .batch = TJ_ANY), "mma", NULL},
        {PROBLEM(.j = {OPEN}, .k = {OPEN}, .l = {OPEN}, .m.type = TJ_F64, .n.ld = TJ_ANY), "mma", NULL},
        {CUBES(255, .m.type = TJ_BF16, .n.stride = TJ_POINTERS, .batch = 3), "mma", NULL},
        {CUBES(255, .m.type = TJ_BF16), "mma:pack=none,bm=16,bn=256,wm=16,wn=128",
         "64 threads cannot share the copies of 32 lines of 256 elements, 2 at a time: change steps"},
        {PROBLEM(.j = {OPEN}, .k = {FIXED(256)}, .l = {FIXED(256)}, .m.type = TJ_BF16), "mma:pack=m",
         "pack=m needs a workspace and strides that are known when the text is made: fix j, k, l"},
        {CUBES(256, .m.type = TJ_BF16, .m.ld = TJ_ANY), "mma:pack=both", "pack=both needs a workspace"},
        {CUBES(256, .m.type = TJ_BF16, .batch = TJ_ANY), "mma:pack=n", "pack=n needs a workspace"},
        {CUBES(256, .m.type = TJ_BF16, .m.stride = TJ_POINTERS), "mma:pack=m", "without arrays of pointers"},
        {PROBLEM(.j = {OPEN}, .k = {OPEN}, .l = {FIXED(64)}, .m.type = TJ_BF16), "mma", NULL},
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
        {BF16(64, 64, 65), "mma:splits=2,pack=n", 16, 0, 0}, /* N is packed */
        {BF16(64, 65, 64), "mma:pack=both", 0, 16, 4},       /* both are: N by 16 bytes at once, and P is not */
        {BF16(64, 64, 64), "mma:pack=both,width=4", 0, 0, 4},
        {CUBES(256, .m.type = TJ_S8, .p.layout = TJ_COL_MAJOR), "mma:pack=both,transpose=yes", 16, 16, 8},
        {CUBES(250, .m.type = TJ_S8, .n.ld = 256), "mma:pack=both,transpose=yes", 0, 0, 8}, /* no chunk hangs over the end */
        {CUBES(63, .m.type = TJ_F64), "mma:pack=none", 0, 0, 0},                            /* an element is a copy */
        {CUBES(64, .m.type = TJ_F64, .m.ld = TJ_ANY), "mma", 0, 16, 16},
        {BF16(64, 65, 66), "mma:pack=none", 0, 4, 4}, /* elements are gathered */
        {CUBES(256, .m.type = TJ_BF16), "mma:width=4,pack=none", 8, 8, 4},
        {CUBES(256, .m.type = TJ_BF16), "mma:width=1,pack=none", 0, 0, 4},
        {CUBES(256, .m.type = TJ_F64), "mma:width=1,pack=none", 0, 0, 16},
        {CUBES(66, .m.type = TJ_S8, .p.type = TJ_S8, .m.ld = 68), "mma:pack=none", 4, 0, 2},
        {BF16(64, 64, 64, .m.stride = TJ_POINTERS, .n.stride = TJ_POINTERS_16, .batch = 3), "mma", 0, 16, 4},
        /* loads take whole copies: those that hang over the end of a line past the registers, they cannot */
        {BF16(64, 68, 64), "mma:copy=registers,pack=none", 8, 16, 4},
        {BF16(64, 60, 64, .m.ld = 64), "mma:pack=none", 16, 16, 4},
        {BF16(64, 60, 64, .m.ld = 64), "mma:copy=registers,pack=none", 8, 16, 4},
        {BF16(64, 61, 64, .m.ld = 64), "mma:copy=registers,pack=none", 0, 16, 4},
        {BF16(64, 64, 64, .m.stride = TJ_POINTERS_16, .n.stride = TJ_POINTERS_16, .batch = 3), "mma", 16, 16, 4},
    };

    expect_alignments(rows, sizeof rows / sizeof rows[0]);
}

typedef struct settled {
    tj_problem problem;
    const char *config, *name;
    int value;
} settled;

/* Properties that a config leaves open. */
Test(mma, settles_warps_and_packing_by_the_problem)
{
    static const settled rows[] = {
        {CUBES(256, .m.type = TJ_BF16), "mma", "wm", 64},
        {CUBES(256, .m.type = TJ_F64), "mma", "wn", 32},
        {CUBES(256, .m.type = TJ_BF16), "mma:bm=16", "wm", 16},
        {CUBES(256, .m.type = TJ_BF16), "mma", "pack", 1},
        {BF16(64, 65, 65), "mma", "pack", 1},     /* gathered, once */
        {BF16(64, 68, 68), "mma", "pack", 1},     /* copied 8 bytes at a time, once */
        {BF16(4096, 68, 4100), "mma", "pack", 4}, /* so often that packing pays */
        {BF16(512, 68, 512), "mma", "pack", 1},
        {BF16(512, 64, 513), "mma", "pack", 3}, /* and sooner where elements are loaded one by one */
        {BF16(512, 65, 512), "mma", "pack", 2},
        {BF16(512, 65, 513), "mma", "pack", 4},
        {BF16(512, 65, 512, .p.layout = TJ_COL_MAJOR), "mma", "pack", 3}, /* the text's N */
        {BF16(512, 65, 513, .batch = TJ_ANY), "mma", "pack", 1},          /* nothing else can be */
        {BF16(64, 64, 64), "mma", "copy", 1},
        {CUBES(256, .m.type = TJ_BF16), "mma", "load", 1},
        {BF16(64, 65, 65), "mma", "load", 1},
        {CUBES(256, .compute = TJ_COMPUTE_TF32), "mma", "load", 1},
        {CUBES(255, .compute = TJ_COMPUTE_TF32), "mma:pack=none", "load", 2}, /* rounded where it is loaded */
        {CUBES(256, .compute = TJ_COMPUTE_TF32, .n.ld = 258), "mma:pack=none", "load", 2},
        {CUBES(255, .compute = TJ_COMPUTE_TF32), "mma:pack=both", "load", 1},
        {CUBES(255, .compute = TJ_COMPUTE_TF32), "mma:pack=none,load=ahead", "load", 1},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_config config = parse(rows[i].config);
        tj_error err = {0};

        cr_assert(eq(int, tj_config_resolve(&rows[i].problem, &config, &err), TJ_OK), "row %zu: %s", i, err.message);
        cr_expect(eq(int, tj_config_get(&config, rows[i].name), rows[i].value), "row %zu, %s", i, rows[i].name);
    }
}

/*
 * One kernel, or one before, or one after, or both; packed operands begin at a multiple of 128 bytes, after the sums of splits.
 */
Test(mma, packs_ahead_of_the_product)
{
    static const struct {
        const char *config;
        int steps, product;
        int64_t m, n, bytes;
        int64_t stride_m, stride_n;
        int32_t grid; /* of the kernel ahead, if that is not for each product */
    } rows[] = {
        {"mma:pack=none", 1, 0, 0, 0, 0},
        {"mma:pack=m", 2, 1, 0, 0, 3 * 128 * 96 * 2}, /* in whole tiles of 128 x 32 */
        {"mma:pack=both", 2, 1, 0, 3 * 128 * 96 * 2, 2 * 3 * 128 * 96 * 2},
        {"mma:pack=n,splits=2", 3, 1, 0, 2 * 3 * 40 * 50 * 4, 2 * 3 * 40 * 50 * 4 + 3 * 96 * 128 * 2},
        {"mma:pack=none,splits=2", 2, 0, 0, 0, 2 * 3 * 40 * 50 * 4},
        /* what all products share is packed once */
        {"mma:pack=m", 2, 1, 0, 0, 128 * 96 * 2, .stride_m = TJ_BROADCAST, .grid = TJ_GRID_ONCE},
        {"mma:pack=both", 2, 1, 0, 128 * 96 * 2, 4 * 128 * 96 * 2, .stride_m = TJ_BROADCAST},
        {"mma:pack=both", 2, 1, 0, 3 * 128 * 96 * 2, 4 * 128 * 96 * 2, .stride_n = TJ_BROADCAST},
        {"mma:pack=both", 2, 1, 0, 128 * 96 * 2, 2 * 128 * 96 * 2, .stride_m = TJ_BROADCAST, .stride_n = TJ_BROADCAST,
         .grid = TJ_GRID_ONCE},
        {"mma:pack=n,splits=2", 3, 1, 0, 2 * 3 * 40 * 50 * 4, 2 * 3 * 40 * 50 * 4 + 96 * 128 * 2, .stride_n = TJ_BROADCAST,
         .grid = TJ_GRID_ONCE},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_problem problem = BF16(40, 66, 50, .batch = 3, .m.stride = rows[i].stride_m, .n.stride = rows[i].stride_n);
        const tj_config config = parse(rows[i].config);
        const tj_launch_form *form;
        tj_source *source = NULL;
        tj_error err = {0};

        cr_assert(eq(int, tj_generate(&problem, &config, &source, &err), TJ_OK), "%s: %s", rows[i].config, err.message);
        form = tj_source_launch(source);
        if (rows[i].product > 0)
            cr_expect(eq(int, form->step[0].grid, rows[i].grid ? rows[i].grid : TJ_GRID_ELEMENTS), "%s", rows[i].config);
        cr_expect(eq(int, form->steps, rows[i].steps), "%s", rows[i].config);
        cr_expect(eq(int, form->product, rows[i].product), "%s", rows[i].config);
        cr_expect(eq(i64, form->slice[1], rows[i].m), "%s", rows[i].config);
        cr_expect(eq(i64, form->slice[2], rows[i].n), "%s", rows[i].config);
        cr_expect(eq(i64, form->workspace_bytes, rows[i].bytes), "%s", rows[i].config);
        cr_expect(rows[i].product == 0 || strncmp(form->step[0].kernel, "pack", 4) == 0, "%s", form->step[0].kernel);
        tj_source_free(source);
    }
}

/*
 * Transposes either operand if its lines lie across k and ldmatrix could not take it as it lies: then they lie along k, in
 * whole tiles.
 */
Test(mma, transposes_on_the_way_to_the_workspace)
{
    static const struct {
        const char *config;
        int type, m_layout, n_layout;
        const char *with, *without; /* in the text */
        int64_t shared, bytes;
    } rows[] = {
        {"mma:pack=n,transpose=yes", TJ_S8, 0, 0, "transpose_lines(tile, N", "load_bytes(pairs", 128 * 129, 128 * 128},
        {"mma:pack=both,transpose=yes", TJ_U8, 1, 0, "transpose_lines(tile, M", "load_bytes(fragment", 128 * 129,
         2 * 128 * 128},
        {"mma:pack=both,transpose=yes", TJ_F32, 1, 1, "transpose_lines(tile, M", "transpose_lines(tile, N", 128 * 33,
         2 * 128 * 80 * 4},
        {"mma:pack=both,transpose=yes", TJ_F32, 1, 0, "transpose_lines(tile, N", "pack_lines(", 128 * 33, 2 * 128 * 80 * 4},
        {"mma:pack=both", TJ_F32, 1, 0, "pack_lines(N", "transpose_lines(", 0, 2 * 128 * 80 * 4},
        {"mma:pack=both,transpose=yes", TJ_BF16, 1, 0, "pack_lines(N", "transpose_lines(", 0, 2 * 128 * 96 * 2},
        {"mma:pack=n,transpose=yes", TJ_F64, 0, 0, "pack_lines(N", "transpose_lines(", 0, 80 * 64 * 8},
        {"mma:pack=m,transpose=yes", TJ_S8, 0, 0, "pack_lines(M", "transpose_lines(", 0, 128 * 128},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_problem problem =
            PROBLEM(.j = {FIXED(41)}, .k = {FIXED(67)}, .l = {FIXED(51)}, .m.type = rows[i].type, .m.layout = rows[i].m_layout,
                    .n.layout = rows[i].n_layout, .compute = rows[i].type == TJ_F32 ? TJ_COMPUTE_TF32 : TJ_COMPUTE_DEFAULT);
        const tj_config config = parse(rows[i].config);
        const tj_launch_form *form;
        tj_source *source = NULL;
        tj_error err = {0};

        cr_assert(eq(int, tj_generate(&problem, &config, &source, &err), TJ_OK), "row %zu: %s", i, err.message);
        form = tj_source_launch(source);
        cr_expect(eq(i64, form->step[0].static_shared_bytes, rows[i].shared), "row %zu", i);
        cr_expect(eq(i64, form->workspace_bytes, rows[i].bytes), "row %zu", i);
        cr_expect(strstr(tj_source_text(source), rows[i].with) != NULL, "row %zu: no %s", i, rows[i].with);
        cr_expect(strstr(tj_source_text(source), rows[i].without) == NULL, "row %zu: %s", i, rows[i].without);
        tj_source_free(source);
    }
}

/* src/session/fallback.c relies on this: it asks nothing of the operands, and without a workspace needs none. */
Test(mma, takes_any_operands)
{
    static const tj_problem problems[] = {
        CUBES(64, .m.type = TJ_BF16),
        CUBES(64, .m.type = TJ_F64, .batch = 2),
        BF16(64, 65, 66, .p.layout = TJ_COL_MAJOR, .epilogue.has_beta = 1),
        CUBES(1024, .m.type = TJ_S8),
        PROBLEM(.j = {OPEN, .multiple_of = 8}, .k = {FIXED(512)}, .l = {OPEN, .multiple_of = 8}, .m.type = TJ_F16),
    };

    for (size_t i = 0; i < 2 * sizeof problems / sizeof problems[0]; i++) {
        const bool has_workspace = i % 2, is_open = problems[i / 2].j.mode == TJ_DIM_ANY;
        const tj_problem *const problem = &problems[i / 2];
        tj_config config = parse(is_open ? "mma:bm=64,bn=64" : "mma:bm=64,bn=64,pack=none,splits=2");
        const tj_launch_form *form;
        tj_source *source = NULL;
        tj_error err = {0};

        cr_assert(eq(int, tj_config_resolve(problem, &config, &err), TJ_OK), "%zu: %s", i, err.message);
        cr_assert(config.family->for_any_operands(has_workspace, &config), "%zu", i);
        cr_assert(eq(int, tj_generate(problem, &config, &source, &err), TJ_OK), "%zu: %s", i, err.message);
        form = tj_source_launch(source);
        for (int which = 0; which < TJ_MATRICES; which++)
            cr_expect(eq(int, form->align[which], 0), "%zu", i);
        cr_expect(eq(int, form->workspace_bytes > 0, has_workspace && !is_open), "%zu", i);
        cr_expect(eq(int, form->step[0].grid == TJ_GRID_ELEMENTS, has_workspace && problem->j.extent == 1024), "%zu: packs", i);
        tj_source_free(source);
    }
}

static int count_of(const char *text, const char *word)
{
    int count = 0;

    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word))
        count++;
    return count;
}

/* The target needs ldmatrix, the tensor cores of its type and, for asynchronous copies, those. */
Test(mma, needs_the_tensor_cores_of_its_type)
{
    static const struct {
        tj_problem problem;
        const char *config;
        uint32_t needs;
    } rows[] = {
        {CUBES(64, .m.type = TJ_F64), "mma", TJ_FEATURE_CP_ASYNC | TJ_FEATURE_MMA_F64},
        {CUBES(64, .m.type = TJ_F16), "mma", TJ_FEATURE_CP_ASYNC | TJ_FEATURE_MMA_F16},
        {CUBES(64, .m.type = TJ_BF16), "mma", TJ_FEATURE_CP_ASYNC | TJ_FEATURE_MMA_BF16},
        {CUBES(64, .m.type = TJ_F16), "mma:copy=registers", TJ_FEATURE_MMA_F16},
        {CUBES(64, .m.type = TJ_F16, .m.ld = 65), "mma", TJ_FEATURE_CP_ASYNC | TJ_FEATURE_MMA_F16},
        {CUBES(65, .m.type = TJ_F16), "mma:pack=none", TJ_FEATURE_MMA_F16},
        {CUBES(65, .m.type = TJ_F16), "mma:pack=m", TJ_FEATURE_CP_ASYNC | TJ_FEATURE_MMA_F16},
        {CUBES(65, .m.type = TJ_F16), "mma:pack=m,copy=registers", TJ_FEATURE_MMA_F16},
        {CUBES(64, .m.type = TJ_U8), "mma:copy=registers", TJ_FEATURE_MMA_S8},
        {CUBES(65, .m.type = TJ_BF16), "mma:pack=none", TJ_FEATURE_MMA_BF16},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_config config = parse(rows[i].config);
        tj_source *source = NULL;

        cr_assert(eq(int, tj_generate(&rows[i].problem, &config, &source, NULL), TJ_OK), "row %zu", i);
        cr_expect(eq(u32, tj_source_launch(source)->needs, TJ_FEATURE_LDMATRIX | rows[i].needs), "row %zu", i);
        /* Products that sm_75 has too are in what may get there, and in nothing else. */
        cr_expect(
            eq(int,
               count_of(tj_source_text(source), "m16n8k8.row.col.f32.f16") + count_of(tj_source_text(source), "m8n8k16.row") >
                   0,
               rows[i].needs == TJ_FEATURE_MMA_F16 || rows[i].needs == TJ_FEATURE_MMA_S8),
            "row %zu", i);
        tj_source_free(source);
    }
}

/* If all copies of a phase through registers would not fit, only those that fit are in flight at once. */
Test(mma, gathers_as_many_at_once_as_fit_the_registers)
{
    static const struct {
        const char *config;
        int loops;
    } rows[] = {
        {"mma:bm=32,bn=32,pack=none", 0},          {"mma:bm=64,bn=64,pack=none,blocks=1", 0},
        {"mma:bm=64,bn=64,pack=none,blocks=5", 2}, {"mma:bm=128,bn=128,pack=none", 2},
        {"mma:bm=128,bn=128,pack=n", 1},           {"mma:bm=128,bn=128,pack=both", 0},
    };
    const tj_problem problem = CUBES(4095, .m.type = TJ_F16);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_config config = parse(rows[i].config);
        tj_source *source = NULL;
        tj_error err = {0};

        cr_assert(eq(int, tj_generate(&problem, &config, &source, &err), TJ_OK), "row %zu: %s", i, err.message);
        cr_expect(eq(int, count_of(tj_source_text(source), "more at once would not fit"), rows[i].loops), "row %zu", i);
        tj_source_free(source);
    }
}

/* Configs that a tuner leaves out: tiles of which half would do, groups as high as the grid, splits of a full GPU. */
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
        /* for sm_75, with as many stages as can be of use */
        {CUBES(1024, .m.type = TJ_F16), "mma:copy=registers,stages=2", true},
        {CUBES(1024, .m.type = TJ_F16), "mma:copy=registers,stages=3", false},
        {CUBES(1024, .m.type = TJ_BF16), "mma:copy=registers,stages=2", false},
        {CUBES(1023, .m.type = TJ_F16), "mma:copy=registers,stages=2,pack=n", true},
        {CUBES(1023, .m.type = TJ_F16), "mma:copy=registers,stages=2,pack=none", false}, /* the text is that of copy=async */
        {CUBES(1023, .m.type = TJ_F16), "mma:stages=2,pack=none", true},
        {CUBES(1023, .m.type = TJ_F16), "mma:stages=3,pack=none", false},
        {CUBES(1023, .m.type = TJ_F16), "mma:stages=3,pack=m", true},
        /* what is gathered, or loaded in many narrow pieces, may be packed as well; what is not, may not */
        {CUBES(1024, .m.type = TJ_BF16), "mma:pack=both", false},
        {BF16(4096, 68, 4100), "mma:pack=none", true},
        {BF16(4096, 68, 4100), "mma:pack=both", true},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_config config = parse(rows[i].config);
        tj_request request;

        cr_assert(eq(int, tj_request_make(&rows[i].problem, &request, NULL), TJ_OK), "row %zu", i);
        cr_assert(eq(int, tj_request_resolve(&request, &config, NULL), TJ_OK), "row %zu", i);
        cr_expect(eq(int, tj_request_worth_trying(&request, &config), rows[i].is_worth), "row %zu", i);
    }
}
