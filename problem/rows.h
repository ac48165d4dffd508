/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows: how the rows of M and P are found, and the products that they belong to.
 */
#ifndef TJ_PROBLEM_ROWS_H
#define TJ_PROBLEM_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include <tilejit/problem.h>

/** Do the rows belong to groups, each with its own N? */
static inline bool tj_is_grouped(const tj_problem *problem)
{
    return problem->rows.kind == TJ_ROWS_IN_GROUPS || problem->rows.kind == TJ_ROWS_MASKED;
}

/** Do groups divide k, one product of the batch for each? */
static inline bool tj_divides_k(const tj_problem *problem)
{
    return problem->rows.kind == TJ_ROWS_ALONG_K;
}

/** Does each launch bring offsets, or counts, of groups? */
static inline bool tj_has_offsets(const tj_problem *problem)
{
    return problem->rows.kind != TJ_ROWS_AS_THEY_LIE;
}

/** Has each group room for as many rows, and a count of those that are there? */
static inline bool tj_is_masked(const tj_problem *problem)
{
    return problem->rows.kind == TJ_ROWS_MASKED;
}

/** Are the rows of M gathered by an index? */
static inline bool tj_is_gathered(const tj_problem *problem)
{
    return problem->rows.gathered != 0;
}

/** Is each row of the product stored to a row of P that an index names? */
static inline bool tj_is_scattered(const tj_problem *problem)
{
    return problem->rows.scattered != 0;
}

/** Does each row of P add up rows of the product? */
static inline bool tj_is_combined(const tj_problem *problem)
{
    return problem->rows.combined != 0;
}

/** Return the rows of the product that each row of P adds up; 1 if it is one of them. */
static inline int32_t tj_rows_of_sum(const tj_problem *problem)
{
    return tj_is_combined(problem) ? problem->rows.combined : 1;
}

/** Does each launch bring an index of rows of M or P? */
static inline bool tj_has_index(const tj_rows *rows)
{
    return rows->gathered || rows->scattered || rows->combined;
}

/** Return the number of groups; 0: the rows are in none. */
static inline int64_t tj_group_count(const tj_problem *problem)
{
    return tj_is_grouped(problem) ? problem->rows.groups : 0;
}

/** Does each launch bring the offsets of the groups in host memory? */
static inline bool tj_offsets_on_host(const tj_problem *problem)
{
    return tj_has_offsets(problem) && problem->rows.on_host;
}

/** Return the bytes of one offset or count. Canonical, grouped. */
static inline int32_t tj_offset_bytes(const tj_problem *problem)
{
    return problem->rows.offset_bytes;
}

/** Return "offsets" or, of masked groups, "counts". */
static inline const char *tj_offsets_word(const tj_problem *problem)
{
    return tj_is_masked(problem) ? "counts" : "offsets";
}

/** Return the number of offsets, of which the last is the end of the last group, or of counts; 0: there are no groups. */
static inline int64_t tj_offset_count(const tj_problem *problem)
{
    return problem->rows.groups + (tj_has_offsets(problem) && !tj_is_masked(problem));
}

/** Rows of a group: from `begin` on and before `end`. */
typedef struct tj_group_rows {
    int64_t begin, end;
} tj_group_rows;

/** Return the rows that each masked group has room for. */
static inline int64_t tj_room_of_group(const tj_problem *problem)
{
    return problem->j.extent / tj_group_count(problem);
}

/**
 * Return the rows of a group, or its elements of k, as its offsets or its count say. j: the rows of all masked groups. Canonical,
 * with offsets.
 */
tj_group_rows tj_rows_of_group(const tj_problem *problem, int64_t j, const void *offsets, int64_t group);

/** Does a row of the product belong to a group? Its arguments are as for tj_rows_of_group; without groups every row belongs. */
bool tj_row_has_group(const tj_problem *problem, int64_t j, const void *offsets, int64_t row);

/** Return the number of rows of a group for which configs are chosen: the mean or, of masked groups, the expected one. */
int64_t tj_usual_rows(const tj_problem *problem);

/** Return the most tiles of `height` rows that `rows` rows of P take: the last tile of each group may be short. */
static inline int64_t tj_row_tiles(const tj_problem *problem, int64_t rows, int64_t height)
{
    return (rows + height - 1) / height + (tj_is_grouped(problem) ? tj_group_count(problem) - 1 : 0);
}

/** Can the problem have these rows? The message names the first wrong number. Types and layouts are spelled out. */
tj_status tj_rows_check(const tj_problem *words, tj_error *err);

/** Return the number that bounds offsets: j, or k where groups divide it. */
static inline int64_t tj_offset_bound(const tj_problem *problem, int64_t j, int64_t k)
{
    return tj_divides_k(problem) ? k : j;
}

/** Say that j rows are not the same number for each masked group. */
tj_status tj_rows_refuse_j(const tj_problem *problem, int64_t j, tj_error *err);

/** Spell out what the rows leave to its default, and forget what does not count. */
tj_rows tj_rows_canonical(const tj_rows *rows);

#endif
