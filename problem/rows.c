/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows: the rows that a problem can have, and the offsets of their groups.
 */
#include "rows.h"

#include "canonical.h"
#include "error.h"

/* Groups are whole rows, so that a tile can begin at any row and be clipped. */
static tj_status check_matrices(const tj_problem *words, tj_error *err)
{
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_C; which++) {
        const tj_matrix *m = tj_problem_matrix(words, which);

        if (which == TJ_MATRIX_N || (which == TJ_MATRIX_C && !words->epilogue.has_beta))
            continue;
        if (m->layout != TJ_ROW_MAJOR)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                           "%c is column-major, and groups are rows that follow each other: store it row-major",
                           tj_which_letter(which));
        if (tj_stride_is_pointers(m->stride))
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                           "stride_%c is pointers, and with groups there is one %c: only N may be an array of pointers",
                           tj_which_letter(which) + ('a' - 'A'), tj_which_letter(which));
    }
    return TJ_OK;
}

tj_status tj_rows_check(const tj_problem *words, tj_error *err)
{
    const tj_rows rows = tj_rows_canonical(&words->rows);
    const int64_t all = (rows.groups + INT64_C(1)) * rows.offset_bytes;

    if (rows.kind != TJ_ROWS_AS_THEY_LIE && rows.kind != TJ_ROWS_IN_GROUPS)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "rows.kind is %d: use TJ_ROWS_AS_THEY_LIE or TJ_ROWS_IN_GROUPS",
                       rows.kind);
    if (rows.kind == TJ_ROWS_AS_THEY_LIE && words->rows.groups != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "rows.groups is %d and rows.kind TJ_ROWS_AS_THEY_LIE: use TJ_ROWS_IN_GROUPS, or no groups",
                       words->rows.groups);
    if (rows.kind == TJ_ROWS_AS_THEY_LIE)
        return TJ_OK;
    if (rows.groups < 1 || rows.groups > TJ_GROUPS_MOST)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "rows.groups is %d: use 1 to %d, or rows.kind TJ_ROWS_AS_THEY_LIE",
                       rows.groups, TJ_GROUPS_MOST);
    if (rows.offset_bytes != 4 && rows.offset_bytes != 8)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "rows.offset_bytes is %d: use 4 or 8", rows.offset_bytes);
    if (rows.on_host != 0 && rows.on_host != 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "rows.on_host is %d: use 0 or 1", rows.on_host);
    if (rows.on_host && all > TJ_GROUPS_MOST_HOST_BYTES)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%d groups have %lld bytes of offsets, and a launch takes %d of them from the host: leave them on the "
                       "device%s",
                       rows.groups, (long long)all, TJ_GROUPS_MOST_HOST_BYTES,
                       rows.offset_bytes == 8 ? ", or use offsets of 4 bytes" : "");
    if (words->batch != 0 && words->batch != 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "batch is %lld and rows.groups %d: a problem has a batch or groups, not both; leave batch 0",
                       (long long)words->batch, rows.groups);
    return check_matrices(words, err);
}

tj_rows tj_rows_canonical(const tj_rows *rows)
{
    tj_rows c = *rows;

    if (rows->kind == TJ_ROWS_AS_THEY_LIE)
        return (tj_rows){0};
    if (c.offset_bytes == 0)
        c.offset_bytes = (int16_t)sizeof(int32_t);
    return c;
}

tj_status tj_groups_check(const tj_problem *problem, int64_t j, const void *offsets, tj_error *err)
{
    if (TJ_HAS_NULL(err, problem, offsets))
        return TJ_ERR_INVALID_ARGUMENT;
    const int64_t rows = j > 0 ? j : problem->j.extent, count = tj_group_count(problem);
    int64_t begin, end;

    if (count < 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the problem has no groups (rows.kind is %d), and so no offsets",
                       problem->rows.kind);
    end = tj_group_offset(problem, offsets, 0);
    for (int64_t group = 0; group < count; group++) {
        begin = end;
        end = tj_group_offset(problem, offsets, group + 1);
        if (begin < 0 || end > rows)
            return tj_fail(
                err, TJ_ERR_INVALID_ARGUMENT,
                "group %lld has the rows from %lld up to %lld, and there are only those from 0 up to j = %lld: correct its "
                "offsets, or raise j",
                (long long)group, (long long)begin, (long long)end, (long long)rows);
        if (end < begin)
            return tj_fail(
                err, TJ_ERR_INVALID_ARGUMENT,
                "group %lld begins at row %lld and ends before row %lld: offsets never fall, and those of an empty group "
                "are equal",
                (long long)group, (long long)begin, (long long)end);
    }
    return TJ_OK;
}
