/* SPDX-License-Identifier: Apache-2.0 */
#include "operands.h"

#include <math.h>
#include <string.h>

#include "canonical.h"
#include "checked.h"
#include "number.h"
#include "operand_table.h"
#include "tree.h"

/* Do sums of integers go to a type that hardly holds them: 8 bits, or f16? */
static bool needs_small_numbers(const tj_problem *c)
{
    return c->compute == TJ_COMPUTE_S32 && !tj_has_scales(c) && (tj_type_is_int8(c->p.type) || c->p.type == TJ_F16);
}

/* Return the factor that makes a sum of integers about a hundred, times a scale from [-1, 1]. */
static float factor_of(const tj_problem *c, int which)
{
    const double k = (double)c->k.extent + 1;
    const bool has_sign = c->m.type == TJ_S8 || c->n.type == TJ_S8;
    const double sum = has_sign ? 8192 * sqrt(k) : 16384 * k; /* unsigned numbers all add up */
    const bool is_first = which == TJ_SCALES || !tj_is_scaled(c, TJ_MATRIX_M);

    return c->compute == TJ_COMPUTE_S32 && is_first ? (float)(100 / sum) : 1;
}

void tj_fill_operand(const tj_problem *problem, int which, void *destination, size_t count, uint64_t seed)
{
    const bool is_scale = which >= TJ_SCALES && which < TJ_ZEROS;
    const tj_type type = tj_operand_row_of(problem, which).type;
    const float factor = is_scale ? factor_of(problem, which) : 1;

    tj_fill_random(type, destination, count, seed);
    for (size_t i = 0; factor != 1 && i < count; i++)
        tj_write_number(type, destination, (int64_t)i,
                        (long double)(factor * (float)tj_read_number(type, destination, (int64_t)i)));
    for (size_t i = 0; which <= TJ_MATRIX_N && needs_small_numbers(problem) && i < count; i++) {
        int8_t *number = (int8_t *)destination + i;

        *number = type == TJ_U8 ? (int8_t)((uint8_t)*number % 2) : (int8_t)(*number % 2);
    }
}

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static void set_offset(const tj_problem *problem, void *offsets, int64_t i, int64_t value)
{
    if (tj_offset_bytes(problem) == (int32_t)sizeof(int64_t))
        ((int64_t *)offsets)[i] = value;
    else
        ((int32_t *)offsets)[i] = (int32_t)value;
}

/* Counts of masked groups are up to a quarter above and below the expected one; some are 0 where all of the room is expected. */
static void draw_counts(const tj_problem *problem, void *counts, uint64_t seed)
{
    const int64_t room = tj_room_of_group(problem), usual = tj_usual_rows(problem);
    const int64_t spread = usual < room ? usual / 4 : room;
    uint64_t state = seed;

    for (int64_t i = 0; i < tj_group_count(problem); i++) {
        const int64_t drawn = usual - spread + (int64_t)(next_random(&state) % (uint64_t)(2 * spread + 1));

        set_offset(problem, counts, i, drawn < room ? drawn : room);
    }
}

/* Every row is in a group, and sizes are about the mean; some groups may be empty. */
static void draw_offsets(const tj_problem *problem, void *offsets, uint64_t seed)
{
    const int64_t count = problem->rows.groups, rows = tj_offset_bound(problem, problem->j.extent, problem->k.extent),
                  mean = rows / count;
    uint64_t state = seed;
    int64_t at = 0;

    if (tj_is_masked(problem)) {
        draw_counts(problem, offsets, seed);
        return;
    }
    for (int64_t i = 0; i <= count; i++) {
        const int64_t even = (int64_t)((double)rows * (double)i / (double)count);
        const int64_t drawn = even + (int64_t)(next_random(&state) % (uint64_t)(2 * mean + 2)) - mean;

        at = i == count ? rows : i == 0 ? 0 : drawn < at ? at : drawn > rows ? rows : drawn;
        set_offset(problem, offsets, i, at);
    }
}

/* A row of M for each row, and now and then none. */
static void draw_m_index(const tj_problem *problem, int32_t *index, uint64_t seed)
{
    const int64_t rows = problem->j.extent;
    uint64_t state = ~seed;

    for (int64_t i = 0; i < rows; i++) {
        const uint64_t drawn = next_random(&state);

        index[i] = drawn % 32 ? (int32_t)(drawn / 32 % (uint64_t)rows) : drawn / 32 % 2 ? -1 : (int32_t)rows;
    }
}

int64_t tj_drawn_row_of_p(const tj_problem *problem, int64_t row)
{
    const int32_t combined = tj_rows_of_sum(problem);

    return tj_is_scattered(problem) || tj_is_combined(problem) ? tj_ceil_div(problem->j.extent, combined) - 1 - row / combined
                                                               : row;
}

int64_t tj_drawn_place_in_sum(const tj_problem *problem, int64_t row)
{
    const int32_t combined = tj_rows_of_sum(problem);

    return tj_drawn_row_of_p(problem, row) * combined + combined - 1 - row % combined;
}

/* Scattered rows, and rows that sums take; the entries that the last row leaves name none. */
static void draw_p_index(const tj_problem *problem, int32_t *index, size_t bytes)
{
    const bool is_combined = tj_is_combined(problem);

    memset(index, 0xff, bytes);
    for (int64_t row = 0; row < problem->j.extent; row++)
        if (is_combined)
            index[tj_drawn_place_in_sum(problem, row)] = (int32_t)row;
        else
            index[row] = (int32_t)tj_drawn_row_of_p(problem, row);
}

void tj_draw_list(const tj_problem *problem, tj_list list, void *numbers, uint64_t seed)
{
    const tj_list_row row = tj_list_row_of(problem, list);
    const size_t bytes = tj_list_bytes(problem, &row);

    if (list == TJ_LIST_OFFSETS)
        draw_offsets(problem, numbers, seed);
    else if (list == TJ_LIST_M_INDEX)
        draw_m_index(problem, numbers, seed);
    else if (list == TJ_LIST_P_INDEX)
        draw_p_index(problem, numbers, bytes);
    else
        tj_fill_random(TJ_F32, numbers, bytes / sizeof(float), seed + TJ_ADDRESSES);
}

/* Return how many times its largest number an element may become: random e8m0 reaches 8, and a zero point is of 8 bits at most. */
static double largest_factor(const tj_problem *problem, tj_which which)
{
    const tj_scale *const scale = tj_scale_of(problem, which);

    return (scale->type == TJ_E8M0 ? 8 : 1) * (scale->zero == 0                                           ? 1
                                               : tj_type_is_pair(tj_problem_matrix(problem, which)->type) ? 33
                                                                                                          : 3);
}

/* The largest number of a matrix of random numbers: floats of 8 bits and more are drawn from -1 to 1, others from all that there are. */
static double largest_of(int32_t type)
{
    const tj_number_limits *const limits = tj_number_limits_of((tj_type)type);

    return tj_type_is_int8(type) || tj_type_is_pair(type) ? (double)fmaxl(limits->largest, -limits->least) : 1;
}

static double largest_unscaled(const tj_problem *problem)
{
    return needs_small_numbers(problem) ? 1 : largest_of(problem->m.type) * largest_of(problem->n.type);
}

double tj_largest_product(const tj_problem *problem)
{
    return largest_unscaled(problem) * largest_factor(problem, TJ_MATRIX_M) * largest_factor(problem, TJ_MATRIX_N);
}

double tj_trial_number(int operand)
{
    return 0.75 + 0.5 * operand;
}

double tj_trial_alpha(const tj_problem *problem)
{
    return !problem->epilogue.has_alpha ? 1 : tj_scalar_type(problem) == TJ_S32 ? 2 : 1.25;
}

double tj_trial_beta(const tj_problem *problem)
{
    return !problem->epilogue.has_beta ? 0 : tj_scalar_type(problem) == TJ_S32 ? 3 : 0.5;
}
