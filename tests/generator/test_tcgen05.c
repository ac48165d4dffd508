/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * tcgen05: which requests it takes, what it says of the others, and the features that they need.
 */
#include <stdio.h>

#include "family.h"
#include "generator_test.h"
#include "of_problem.h"
#include "scales.h"

#define BF16(j_, k_, l_, ...) PROBLEM(.j = {FIXED(j_)}, .k = {FIXED(k_)}, .l = {FIXED(l_)}, .m.type = TJ_BF16, __VA_ARGS__)
#define ALONG_K .n.layout = TJ_COL_MAJOR

Test(tcgen05, says_which_constraint_does_not_hold)
{
    const request rows[] = {
        {CUBES(256, .m.type = TJ_BF16), "tcgen05", NULL},
        {CUBES(256, .m.type = TJ_F16, .m.layout = TJ_COL_MAJOR), "tcgen05:bm=64,bn=256", NULL},
        {CUBES(256, .m.type = TJ_F16, .n.type = TJ_S8, ALONG_K), "tcgen05", NULL}, /* packed */
        {BF16(64, 0, 64, .m.ld = 8), "tcgen05", NULL},
        {PROBLEM(.j = {.mode = TJ_DIM_ANY}, .k = {.mode = TJ_DIM_ANY, .multiple_of = 8},
                 .l = {.mode = TJ_DIM_ANY, .multiple_of = 8}, .m.type = TJ_BF16),
         "tcgen05", NULL},
        {CUBES(256, .compute = TJ_COMPUTE_TF32, ALONG_K), "tcgen05", NULL},
        {CUBES(256, .compute = TJ_COMPUTE_TF32), "tcgen05", NULL}, /* packed */
        {CUBES(256, .m.type = TJ_S8, .n.type = TJ_U8), "tcgen05", NULL},
        {CUBES(256, .m.type = TJ_E4M3, .n.type = TJ_E5M2), "tcgen05", NULL},
        {CUBES(256, .m.type = TJ_E4M3, .m.layout = TJ_COL_MAJOR, .compute = TJ_COMPUTE_F32_FP8), "tcgen05", NULL},
        {CUBES(256, .compute = TJ_COMPUTE_TF32), "tcgen05:pack=none",
         "family tcgen05 takes tf32 along k alone, and neighbours of N in memory lie across it"},
        {CUBES(256), "tcgen05", "has no tensor cores for f32 as IEEE has it: ask for compute tf32"},
        {CUBES(256, .m.type = TJ_F64), "tcgen05", "M is of f64, N of f64: use family mma"},
        {CUBES(256, .m.type = TJ_S8), "tcgen05:swap=yes,bm=64,bn=40", "take 8, 16, 24, 32 columns of integers"},
        {CUBES(256, .m.type = TJ_BF16, .n.type = TJ_F32), "tcgen05", "M is of bf16, N of f32"},
        {BF16(255, 255, 255, .batch = 2), "tcgen05", NULL}, /* packed */
        {BF16(256, 255, 256), "tcgen05:pack=none",
         "family tcgen05 copies M by a tensor map, so its lines and the products of a batch must begin"},
        {BF16(256, 256, 252), "tcgen05:pack=m", "pad its leading dimension and stride to multiples of 8"},
        {CUBES(256, .m.type = TJ_BF16, .batch = 2, .n.stride = TJ_POINTERS_16), "tcgen05",
         "which arrays of pointers do not have"},
        {CUBES(256, .m.type = TJ_BF16), "tcgen05:bm=96", "bm is 96: the tensor cores take 64 or 128 rows"},
        {CUBES(256, .m.type = TJ_BF16), "tcgen05:bn=24", "bn is 24: with bm=128 it must be a multiple of 16"},
        {CUBES(256, .m.type = TJ_BF16), "tcgen05:swap=yes,bm=64,bn=24", NULL},
        {CUBES(256, .m.type = TJ_BF16), "tcgen05:pair=yes,bn=256,stages=6", NULL}, /* half of N in each block */
        {CUBES(256, .m.type = TJ_BF16), "tcgen05:pair=yes,bn=48", "bn 48: with pair=yes bm is 128, and bn a multiple of 32"},
        {CUBES(256, .m.type = TJ_BF16), "tcgen05:pair=yes,bm=64", "bm is 64 and bn 128: with pair=yes bm is 128"},
        {CUBES(256, .m.type = TJ_BF16, .rows = {TJ_ROWS_IN_GROUPS, 0, 0, 0, 3, 0, 0}), "tcgen05:pair=yes",
         "groups of rows end within them: use pair=no"},
        {CUBES(256, .m.type = TJ_BF16), "tcgen05:swap=yes,bm=128,bn=24", "bn is 24: with bm=128 it must be a multiple of 16"},
        {CUBES(256, .m.type = TJ_BF16, .rows = {TJ_ROWS_IN_GROUPS, 0, 0, 0, 3, 0, 0}), "tcgen05:swap=yes",
         "rows in groups are rows of P: use swap=no"},
        {CUBES(256, .m.type = TJ_BF16), "tcgen05:bn=256,stages=8",
         "8 stages of tiles of 128 x 64 and 64 x 256 need 402432 bytes of shared memory, and a block may have 232448"},
        {CUBES(256, .m.type = TJ_BF16, .symmetric = TJ_SYMMETRIC_BOTH), "tcgen05:bm=64", NULL},
        {CUBES(256, .m.type = TJ_BF16, .symmetric = TJ_SYMMETRIC_LOWER), "tcgen05:bm=64,bn=128", "make BM and BN equal"},
        {CUBES(256, .m.type = TJ_BF16, .symmetric = TJ_SYMMETRIC_UPPER), "tcgen05:pair=yes,bm=128",
         "which pairs of blocks do not have"},
        {CUBES(256, .m.type = TJ_BF16, .epilogue.has_beta = 1), "tcgen05:store=boxes", "store=boxes writes P by a tensor map"},
    };

    expect_answers(rows, sizeof rows / sizeof rows[0]);
}

Test(tcgen05, needs_a_feature_of_its_own_for_integers)
{
    static const struct {
        tj_problem problem;
        uint32_t needs;
    } rows[] = {
        {CUBES(256, .m.type = TJ_BF16), TJ_FEATURE_TMA | TJ_FEATURE_TCGEN05 | TJ_FEATURE_DEPENDENTS},
        {CUBES(256, .m.type = TJ_U8), TJ_FEATURE_TMA | TJ_FEATURE_TCGEN05 | TJ_FEATURE_DEPENDENTS | TJ_FEATURE_TCGEN05_S8},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_config config = parse("tcgen05");
        tj_source *source = NULL;
        tj_error err = {0};

        cr_assert(eq(int, tj_generate(&rows[i].problem, &config, &source, &err), TJ_OK), "%s", err.message);
        cr_expect(eq(u32, tj_source_launch(source)->needs | TJ_FEATURE_DEPENDENTS, rows[i].needs), "row %zu", i);
        tj_source_free(source);
    }
}
