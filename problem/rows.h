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
    return problem->rows.kind == TJ_ROWS_IN_GROUPS;
}

/** Return the number of groups; 0: the rows are in none. */
static inline int64_t tj_group_count(const tj_problem *problem)
{
    return tj_is_grouped(problem) ? problem->rows.groups : 0;
}

/** Does each launch bring the offsets of the groups in host memory? */
static inline bool tj_offsets_on_host(const tj_problem *problem)
{
    return tj_is_grouped(problem) && problem->rows.on_host;
}

/** Return the bytes of one offset. Canonical, grouped. */
static inline int32_t tj_offset_bytes(const tj_problem *problem)
{
    return problem->rows.offset_bytes;
}

/** Return the bytes of all offsets: the first row of each group, and the end of the last. Canonical; 0: there are no groups. */
static inline int64_t tj_offsets_bytes(const tj_problem *problem)
{
    return tj_is_grouped(problem) ? (tj_group_count(problem) + 1) * tj_offset_bytes(problem) : 0;
}

/** Return number i of the offsets of a problem with groups. Canonical. */
static inline int64_t tj_group_offset(const tj_problem *problem, const void *offsets, int64_t i)
{
    return tj_offset_bytes(problem) == (int32_t)sizeof(int64_t) ? ((const int64_t *)offsets)[i] : ((const int32_t *)offsets)[i];
}

/** Return the most tiles of `height` rows that `rows` rows of P take: the last tile of each group may be short. */
static inline int64_t tj_row_tiles(const tj_problem *problem, int64_t rows, int64_t height)
{
    return (rows + height - 1) / height + (tj_is_grouped(problem) ? tj_group_count(problem) - 1 : 0);
}

/** Can the problem have these rows? The message names the first wrong number. Types and layouts are spelled out. */
tj_status tj_rows_check(const tj_problem *words, tj_error *err);

/** Spell out what the rows leave to its default, and forget what does not count. */
tj_rows tj_rows_canonical(const tj_rows *rows);

#endif
