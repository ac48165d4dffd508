/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * planes: every constraint with its message, properties that the problem settles, and how stores follow from layouts.
 */
#include "family.h"
#include "generator_test.h"
#include "of_problem.h"

#define SPLIT(j_, k_, l_, ...) \
    PROBLEM(.j = {FIXED(j_)}, .k = {FIXED(k_)}, .l = {FIXED(l_)}, .compute = TJ_COMPUTE_F32_SPLIT, __VA_ARGS__)
#define OPEN .mode = TJ_DIM_ANY

Test(planes, says_which_constraint_does_not_hold)
{
    const request rows[] = {
        {SPLIT(256, 256, 256, .batch = 1), "planes", NULL},
        {SPLIT(255, 1, 3, .batch = 3), "planes", NULL},
        {SPLIT(64, 0, 64, .n.layout = TJ_COL_MAJOR), "planes", NULL},
        {SPLIT(64, 64, 64, .batch = 100000), "planes", NULL},
        {SPLIT(64, 64, 64, .p.type = TJ_BF16), "planes:bm=64,bn=64,wm=32,wn=64", NULL},
        {SPLIT(1, 2147483647, 536870912, .batch = 1), "planes", "need more bytes of workspace than 62 bits count"},
        {CUBES(256), "planes", "multiplies f32 with compute f32_split, and compute is f32"},
        {CUBES(256, .m.type = TJ_BF16), "planes", "and compute is f32"},
        {CUBES(256, .compute = TJ_COMPUTE_TF32), "planes", "and compute is tf32"},
        {PROBLEM(.j = {OPEN}, .k = {FIXED(64)}, .l = {FIXED(64)}, .compute = TJ_COMPUTE_F32_SPLIT), "planes",
         "family planes needs a workspace and strides that are known"},
        {SPLIT(64, 64, 64, .m.ld = TJ_ANY), "planes", "fix j, k, l, the batch, leading dimensions and strides"},
        {SPLIT(64, 64, 64, .batch = TJ_ANY), "planes", "fix j, k, l, the batch"},
        {SPLIT(64, 64, 64, .batch = 2, .n.stride = TJ_POINTERS_16), "planes", "without arrays of pointers"},
        {SPLIT(64, 64, 64, .batch = 2, .epilogue.has_beta = 1, .c.stride = TJ_ANY), "planes", "fix j, k, l"},
        {SPLIT(64, 64, 64, .batch = 1), "planes:bm=96", "bm is 96: it must be a power of two"},
        {SPLIT(64, 64, 64, .batch = 1), "planes:bn=200", "bn is 200: it must be a power of two"},
        {SPLIT(64, 64, 64, .batch = 1), "planes:wm=48", "wm is 48: it must be a power of two"},
        {SPLIT(64, 64, 64, .batch = 1), "planes:steps=3", "steps is 3: it must be a power of two"},
        {SPLIT(64, 64, 64, .batch = 1), "planes:bm=64,bn=256,wm=32",
         "512 threads cannot share the copies of 64 and 256 lines of 32 elements"},
        {SPLIT(64, 64, 64, .batch = 1), "planes:bm=256,bn=256,wm=64,wn=64,stages=4", "need 262144 bytes of shared memory"},
        {SPLIT(64, 64, 64, .batch = 1), "planes:wm=64,wn=64,blocks=4", "use a smaller warp tile, or fewer blocks"},
        {SPLIT(64, 64, 64, .batch = 1), "planes:group=8,rows=x", "group is 8, which walks rows of blocks on y"},
    };

    expect_answers(rows, sizeof rows / sizeof rows[0]);
}

Test(planes, says_which_constraint_of_wgmma_does_not_hold)
{
    const request rows[] = {
        {SPLIT(256, 256, 256, .batch = 1), "wgmma_planes", NULL},
        {SPLIT(255, 1, 3, .batch = 3), "wgmma_planes:bn=160", NULL},
        {SPLIT(64, 0, 64, .n.layout = TJ_COL_MAJOR), "wgmma_planes:multipliers=3,bn=96", NULL},
        {SPLIT(64, 64, 64, .batch = 100000), "wgmma_planes:multipliers=1,bn=208", NULL},
        {SPLIT(64, 64, 64, .p.type = TJ_BF16), "wgmma_planes:multipliers=1,bn=80,blocks=2", NULL},
        {SPLIT(1, 2147483647, 536870912, .batch = 1), "wgmma_planes", "need more bytes of workspace than 62 bits count"},
        {SPLIT(1, 2147483647, 1, .batch = 1), "wgmma_planes",
         "the planes of M have 384 lines of 2147483648 elements, and a tensor map counts 2147483647 of either"},
        {SPLIT(1, 1, 2000000000, .batch = 1), "wgmma_planes", "the planes of N have 6000000000 lines of 64 elements"},
        {CUBES(256), "wgmma_planes", "family wgmma_planes multiplies f32 with compute f32_split, and compute is f32"},
        {SPLIT(64, 64, 64, .m.ld = TJ_ANY), "wgmma_planes", "family wgmma_planes needs a workspace and strides that are known"},
        {SPLIT(64, 64, 64, .batch = 1), "wgmma_planes:bn=72", "bn is 72: it must be a multiple of 16"},
        {SPLIT(64, 64, 64, .batch = 1), "wgmma_planes:bn=208",
         "1 blocks with 2 multipliers leave a thread 232 registers, and block tiles of 128 x 208 take 248"},
        {SPLIT(64, 64, 64, .batch = 1), "wgmma_planes:bn=192",
         "2 stages of 3 planes of 128 x 64 and 64 x 192 need 246784 bytes of shared memory"},
        {SPLIT(64, 64, 64, .batch = 1), "wgmma_planes:stages=4", "4 stages of 2 planes of 128 x 64 and 64 x 128 need"},
        {SPLIT(64, 64, 64, .batch = 1), "wgmma_planes:multipliers=1,bn=96,blocks=2", "each of 2 blocks may have 116224"},
    };

    expect_answers(rows, sizeof rows / sizeof rows[0]);
}

Test(planes, stores_as_wide_as_lines_let_it)
{
    static const alignment rows[] = {
        {SPLIT(64, 63, 64, .batch = 1), "planes", 0, 0, 8},
        {SPLIT(64, 64, 63, .batch = 1), "planes", 16, 0, 0}, /* lines that lie along k are loaded 16 bytes at a time */
        {SPLIT(64, 64, 63, .n.layout = TJ_COL_MAJOR, .m.ld = 66), "planes", 0, 16, 0},
        {SPLIT(64, 64, 64, .m.layout = TJ_COL_MAJOR), "wgmma_planes", 0, 0, 8},
        {SPLIT(64, 64, 64, .p.layout = TJ_COL_MAJOR), "wgmma_planes", 16, 0, 8},
        {SPLIT(64, 63, 64, .p.type = TJ_F16), "planes", 0, 0, 4},
        {SPLIT(64, 63, 63, .batch = 1), "planes", 0, 0, 0},
        {SPLIT(64, 63, 63, .p.layout = TJ_COL_MAJOR), "planes", 0, 0, 8},
        {SPLIT(64, 64, 64, .batch = 1), "planes:vector=1", 0, 0, 0},
        {SPLIT(64, 64, 64, .batch = 1), "wgmma_planes:vector=1", 0, 0, 0},
    };

    expect_alignments(rows, sizeof rows / sizeof rows[0]);
}

/*
 * The workspace begins with a word for each product of a launch; after it come 20 bytes for each line, and three planes of
 * each.
 */
Test(planes, lays_out_its_workspace)
{
    static const struct {
        tj_problem problem;
        int32_t paths;
        int64_t workspace;
    } rows[] = {
        {SPLIT(100, 65, 200, .batch = 1), 1, 128 + 20 * (128 + 256) + 6 * 128 * (128 + 256)},
        {SPLIT(100, 65, 200, .batch = 3), 3, 128 + 20 * 3 * (128 + 256) + 6 * 128 * 3 * (128 + 256)},
        {SPLIT(100, 65, 200, .batch = 3, .m.stride = TJ_BROADCAST), 3, 128 + 20 * (128 + 3 * 256) + 6 * 128 * (128 + 3 * 256)},
        {SPLIT(100, 0, 200, .batch = 1), 1, 128 + 20 * (128 + 256) + 6 * 64 * (128 + 256)},
        {SPLIT(1, 1, 1, .batch = 100000), 65535, 2048 * 128 + 20 * 65535LL * (128 + 128) + 6 * 64 * 65535LL * (128 + 128)},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_config config = parse("planes");
        tj_launch_form form;
        tj_error err = {0};

        cr_assert(eq(int, tj_preview_launch(&rows[i].problem, &config, &form, &err), TJ_OK), "row %zu: %s", i, err.message);
        cr_expect(eq(i32, form.paths, rows[i].paths), "row %zu", i);
        cr_expect(eq(i64, form.workspace_bytes, rows[i].workspace), "row %zu", i);
        cr_expect(eq(i32, form.steps, 6), "row %zu", i);
        cr_expect(eq(i32, form.product, 2), "row %zu", i);
    }
}

/* A kernel that sums in plain f32 is as accurate: with compute f32_split it is the same kernel, so the bits of P are those of f32. */
Test(planes, leaves_the_kernels_of_f32_as_they_are)
{
    static const char *const configs[] = {"naive", "tiled", "simt", "simt:splits=4", "skinny", "strip", "small_batch"};

    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        tj_problem problem = PROBLEM(.j = {FIXED(100)}, .k = {FIXED(64)}, .l = {FIXED(8)}, .batch = 1);
        tj_source *source[2];
        tj_config config;
        tj_error err;

        for (int split = 0; split < 2; split++) {
            problem.compute = split ? TJ_COMPUTE_F32_SPLIT : TJ_COMPUTE_F32;
            cr_assert(eq(int, tj_config_parse(configs[i], &config, &err), TJ_OK));
            cr_assert(eq(int, tj_generate(&problem, &config, &source[split], &err), TJ_OK), "%s", err.message);
        }
        cr_expect(eq(str, strchr(tj_source_text(source[0]), '\n'), strchr(tj_source_text(source[1]), '\n')), "%s", configs[i]);
        tj_source_free(source[0]);
        tj_source_free(source[1]);
    }
}
