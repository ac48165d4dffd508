/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * thin: every constraint with its message, and parameters that the problem settles.
 */
#include "generator_test.h"
#include "of_problem.h"

#define WEIGHTS(type_n, of_j, of_k, of_l, ...)                                                                 \
    PROBLEM(.j = {FIXED(of_j)}, .k = {FIXED(of_k)}, .l = {FIXED(of_l)}, .m.type = TJ_BF16, .n.type = (type_n), \
            .n.layout = TJ_COL_MAJOR, __VA_ARGS__)
#define BY_128                                             \
    {                                                      \
        TJ_BF16, TJ_SCALES_ROW_BY_ROW, .rows = 1, .k = 128 \
    }

Test(thin, says_which_constraint_does_not_hold)
{
    const request rows[] = {
        {WEIGHTS(TJ_S4, 1, 4096, 4096, .batch = 1), "thin", NULL},
        {WEIGHTS(TJ_S4, 16, 4096, 4096, .scale[TJ_MATRIX_N] = BY_128), "thin", NULL},
        {WEIGHTS(TJ_S4, 40, 4096, 4096, .batch = 2), "thin:tm=32", NULL},
        {CUBES(64, .m.type = TJ_BF16), "thin", "family thin multiplies f16 or bf16 by weights of 8 or 4 bits"},
        {WEIGHTS(TJ_S4, 1, 4096, 4096, .p.layout = TJ_COL_MAJOR), "thin", "and M is s4, N bf16: use family mma"},
        {PROBLEM(.j = {FIXED(8)}, .k = {FIXED(128)}, .l = {FIXED(64)}, .m.type = TJ_BF16, .n.type = TJ_S8), "thin",
         "N lies across k, and family thin reads both along k: use family mma"},
        {WEIGHTS(TJ_S4, 8, 128, 64, .m.layout = TJ_COL_MAJOR), "thin", "M lies across k"},
        {WEIGHTS(TJ_S4, 8, 128, 64, .m.ld = 132), "thin", "family thin reads M by 16 bytes"},
        {WEIGHTS(TJ_S4, 8, 128, 64, .batch = 1), "thin:width=5", "width is 5: it must be 4, 8 or 16"},
        {WEIGHTS(TJ_S8, 8, 128, 64, .batch = 1), "thin:width=4", "width is 4: it must be 8 or 16"},
        {WEIGHTS(TJ_S4, 8, 128, 64, .n.ld = 72), "thin:width=16", "width is 16, and lines of N do not begin at multiples"},
        {WEIGHTS(TJ_S4, 8, 192, 64, .batch = 1), "thin:width=16",
         "width=16 takes 128 elements of k at a time, which must divide k"},
        {PROBLEM(.j = {FIXED(8)}, .k = {.mode = TJ_DIM_ANY, .multiple_of = 8}, .l = {FIXED(64)}, .m.type = TJ_BF16,
                 .n.type = TJ_S4, .n.layout = TJ_COL_MAJOR),
         "thin", "which must divide k"},
        {WEIGHTS(TJ_S4, 8, 256, 64, .scale[TJ_MATRIX_N] = {TJ_F16, TJ_SCALES_ROW_BY_ROW, .rows = 1, .k = 32}), "thin:width=16",
         "width=16 takes 128 elements of k with one scale, and scale_k is 32: use a smaller width"},
        {WEIGHTS(TJ_S4, 8, 128, 64, .batch = 1), "thin:tm=12", "tm is 12 and tn 32: they must be multiples of 8 and of 16"},
        {WEIGHTS(TJ_S4, 8, 128, 64, .batch = 1), "thin:slices=3", "slices is 3: it must be a power of 2"},
        {WEIGHTS(TJ_S4, 8, 128, 64, .batch = 1), "thin:slices=32,tn=16,tm=16,ahead=1",
         "32 slices of 16 rows and 16 columns need 262144 bytes of shared memory: 227 KiB is the most"},
        {WEIGHTS(TJ_S4, 8, 128, 64, .batch = 1), "thin:blocks=8", "8 blocks of 256 threads leave each thread 32 registers"},
    };

    expect_answers(rows, sizeof rows / sizeof rows[0]);
}

/* The widest loads that lines, k and parts with scales allow; a tile of 8 rows where they are enough. */
Test(thin, settles_what_the_problem_allows)
{
    const struct {
        tj_problem problem;
        int width, tm;
    } rows[] = {
        {WEIGHTS(TJ_S4, 1, 4096, 4096, .batch = 1), 16, 8},
        {WEIGHTS(TJ_S4, 9, 4096, 4096, .scale[TJ_MATRIX_N] = BY_128), 16, 16},
        {WEIGHTS(TJ_S4, 8, 192, 64, .batch = 1), 8, 8},
        {WEIGHTS(TJ_S4, 8, 256, 64, .scale[TJ_MATRIX_N] = {TJ_F16, TJ_SCALES_ROW_BY_ROW, .rows = 1, .k = 32}), 4, 8},
        {WEIGHTS(TJ_E2M1, 8, 256, 64, .scale[TJ_MATRIX_N] = {TJ_E8M0, TJ_SCALES_ROW_BY_ROW, .rows = 1, .k = 32}), 16, 8},
        {WEIGHTS(TJ_E2M1, 8, 256, 64, .scale[TJ_MATRIX_N] = {TJ_E4M3, TJ_SCALES_ROW_BY_ROW, .rows = 1, .k = 16}), 8, 8},
        {WEIGHTS(TJ_S8, 8, 256, 64, .scale[TJ_MATRIX_N] = BY_128), 16, 8},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_config config = parse("thin");
        tj_error err = {0};

        cr_assert(eq(int, tj_config_resolve(&rows[i].problem, &config, &err), TJ_OK), "%zu: %s", i, err.message);
        cr_expect(eq(int, tj_config_get(&config, "width"), rows[i].width), "row %zu", i);
        cr_expect(eq(int, tj_config_get(&config, "tm"), rows[i].tm), "row %zu", i);
    }
}
