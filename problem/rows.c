/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows: the rows that a problem can have, and the offsets of their groups.
 */
#include "rows.h"

#include "canonical.h"
#include "checked.h"
#include "error.h"

/* An index leads to the scales of a row of M, if each row has its own. */
static tj_status check_gathered_scales(const tj_problem *words, tj_error *err)
{
    const tj_scale *const scale = &words->scale[TJ_MATRIX_M];

    if (!words->rows.gathered || (scale->rows <= 1 && scale->layout != TJ_SCALES_IN_TILES && scale->zero == 0))
        return TJ_OK;
    return tj_fail(
        err, TJ_ERR_INVALID_ARGUMENT,
        "rows.gathered is 1, and the scales of M are for %d rows each%s: use one for each row or one for all of M, part "
        "by part or row by row",
        scale->rows,
        scale->zero                           ? ", with zero points"
        : scale->layout == TJ_SCALES_IN_TILES ? ", in tiles"
                                              : "");
}

/* Groups and gathered rows are whole rows, so that a tile can begin at any row and be clipped. */
static tj_status check_matrices(const tj_problem *words, tj_error *err)
{
    const bool keeps_m = !tj_is_grouped(words) && !words->rows.gathered; /* its rows are found as they lie */

    for (tj_which which = keeps_m ? TJ_MATRIX_P : TJ_MATRIX_M; which <= TJ_MATRIX_C; which++) {
        const tj_matrix *m = tj_problem_matrix(words, which);

        if (which == TJ_MATRIX_N || (which == TJ_MATRIX_C && !words->epilogue.has_beta))
            continue;
        if (m->layout != TJ_ROW_MAJOR)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%c is column-major, and %s: store it row-major",
                           tj_which_letter(which),
                           tj_is_grouped(words)    ? "groups are rows that follow each other"
                           : words->rows.scattered ? "rows are scattered to P"
                           : words->rows.combined  ? "rows of P add up rows of the product"
                                                   : "rows of M are gathered");
        if (tj_stride_is_pointers(m->stride))
            return tj_fail(
                err, TJ_ERR_INVALID_ARGUMENT,
                "stride_%c is pointers, and a problem with groups or an index has one %c: make only N an array of pointers",
                tj_which_letter(which) + ('a' - 'A'), tj_which_letter(which));
    }
    return TJ_OK;
}

/* The rows of the product lie in the workspace until a kernel adds them up. */
static tj_status check_combined(const tj_problem *words, tj_error *err)
{
    const uint32_t floats = 1u << TJ_F32 | 1u << TJ_F64 | 1u << TJ_F16 | 1u << TJ_BF16;
    const int8_t combined = words->rows.combined;
    char list[TJ_NAME_LIST_BYTES];

    if (combined < 0 || combined > TJ_COMBINED_MOST)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "rows.combined is %d: use 1 to %d rows of the product for each row of P, or 0 for none", combined,
                       TJ_COMBINED_MOST);
    if (combined == 0)
        return TJ_OK;
    if (words->rows.scattered)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "rows.combined is %d and rows.scattered 1: both say which rows P has; leave one of them 0", combined);
    if (!(floats >> words->p.type & 1))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "rows.combined is %d, and P is %s: sums with factors are of %s", combined,
                       tj_type_name((tj_type)words->p.type), tj_type_list(floats, false, list));
    if (words->epilogue.has_beta && words->epilogue.expression.nodes > 0)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "rows.combined is %d, and the expression reads c, which has the rows of P: add an operand of the rows of "
            "the product, such as residual:bf16[row, col]",
            combined);
    if (words->j.mode != TJ_DIM_FIXED || words->l.mode != TJ_DIM_FIXED)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "rows.combined is %d, and %s is known only at launch: fix j and l, which make the size of the workspace",
                       combined, words->j.mode != TJ_DIM_FIXED ? "j" : "l");
    return TJ_OK;
}

/* A product of the batch for each group, of the same M and N. */
static tj_status check_along_k(const tj_problem *words, tj_error *err)
{
    if (words->batch != words->rows.groups)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "batch is %lld and rows.groups %d: groups along k are the products of a batch; leave batch 0",
                       (long long)words->batch, words->rows.groups);
    if (tj_has_index(&words->rows))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "rows.gathered is %d, rows.scattered %d and rows.combined %d, and groups along k have no index of rows: "
                       "leave them 0",
                       words->rows.gathered, words->rows.scattered, words->rows.combined);
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_N; which++) {
        const tj_matrix *const m = tj_problem_matrix(words, which);

        if (m->stride != TJ_BROADCAST && m->stride != TJ_TIGHT && m->stride != TJ_ANY)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "stride_%c is %lld, and groups along k share one %c: leave it 0",
                           "mn"[which], (long long)m -> stride, "MN"[which]);
        if (tj_type_is_pair(m->type))
            return tj_fail(
                err, TJ_ERR_INVALID_ARGUMENT,
                "%c is of %s, of which two share a byte, and groups along k may begin at any element: use another type",
                "MN"[which], tj_type_name((tj_type)m->type));
        if (tj_scale_of(words, which)->k > 0)
            return tj_fail(
                err, TJ_ERR_INVALID_ARGUMENT,
                "the scales of %c are for %d elements of k, and groups along k may begin at any element: use scales of "
                "all of k",
                "MN"[which], tj_scale_of(words, which) -> k);
    }
    return TJ_OK;
}

tj_status tj_rows_check(const tj_problem *words, tj_error *err)
{
    const tj_rows rows = tj_rows_canonical(&words->rows);
    const bool is_masked = rows.kind == TJ_ROWS_MASKED;
    const int64_t all = (rows.groups + (is_masked ? INT64_C(0) : 1)) * rows.offset_bytes;

    if (rows.kind < TJ_ROWS_AS_THEY_LIE || rows.kind > TJ_ROWS_ALONG_K)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "rows.kind is %d: use TJ_ROWS_AS_THEY_LIE, TJ_ROWS_IN_GROUPS, TJ_ROWS_MASKED or TJ_ROWS_ALONG_K",
                       rows.kind);
    if (rows.kind == TJ_ROWS_AS_THEY_LIE && words->rows.groups != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "rows.groups is %d and rows.kind TJ_ROWS_AS_THEY_LIE: use TJ_ROWS_IN_GROUPS, or no groups",
                       words->rows.groups);
    if (rows.gathered != 0 && rows.gathered != 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "rows.gathered is %d: use 0 or 1", rows.gathered);
    if (rows.scattered != 0 && rows.scattered != 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "rows.scattered is %d: use 0 or 1", rows.scattered);
    if (rows.kind != TJ_ROWS_ALONG_K && tj_has_index(&rows) && words->batch != 0 && words->batch != 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "batch is %lld, and an index of rows is for one product or for groups: leave batch 0",
                       (long long)words->batch);
    if (rows.scattered && words->epilogue.has_beta)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "rows.scattered is 1, and the epilogue reads C, which lies as P does: leave out beta and c");
    if (check_gathered_scales(words, err) != TJ_OK || check_combined(words, err) != TJ_OK)
        return TJ_ERR_INVALID_ARGUMENT;
    if (rows.kind == TJ_ROWS_AS_THEY_LIE)
        return tj_has_index(&rows) ? check_matrices(words, err) : TJ_OK;
    if (rows.groups < 1 || rows.groups > TJ_GROUPS_MOST)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "rows.groups is %d: use 1 to %d, or rows.kind TJ_ROWS_AS_THEY_LIE",
                       rows.groups, TJ_GROUPS_MOST);
    if (rows.offset_bytes != 4 && rows.offset_bytes != 8)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "rows.offset_bytes is %d: use 4 or 8", rows.offset_bytes);
    if (rows.on_host != 0 && rows.on_host != 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "rows.on_host is %d: use 0 or 1", rows.on_host);
    if (rows.on_host && all > TJ_GROUPS_MOST_HOST_BYTES)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%d groups have %lld bytes of %s, and a launch takes %d of them from the host: leave them on the "
                       "device%s",
                       rows.groups, (long long)all, tj_offsets_word(words), TJ_GROUPS_MOST_HOST_BYTES,
                       rows.offset_bytes == 8 ? ", or use 4 bytes for each" : "");
    if (rows.kind == TJ_ROWS_ALONG_K)
        return check_along_k(words, err);
    if (words->batch != 0 && words->batch != 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "batch is %lld and rows.groups %d: a problem has a batch or groups, not both; leave batch 0",
                       (long long)words->batch, rows.groups);
    if (is_masked && words->j.extent % rows.groups != 0)
        return tj_rows_refuse_j(words, words->j.extent, err);
    if (rows.expected < 0 || (rows.expected > 0 && !is_masked))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "rows.expected is %d: use 0 or, with TJ_ROWS_MASKED, 1 to %d",
                       rows.expected, INT16_MAX);
    return check_matrices(words, err);
}

tj_status tj_rows_refuse_j(const tj_problem *problem, int64_t j, tj_error *err)
{
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "j is %lld, which is not a multiple of the %d masked groups: all have room for as many rows", (long long)j,
                   problem->rows.groups);
}

tj_rows tj_rows_canonical(const tj_rows *rows)
{
    tj_rows c = *rows;

    if (rows->kind == TJ_ROWS_AS_THEY_LIE) {
        c.groups = 0;
        c.offset_bytes = c.on_host = 0;
        c.expected = 0;
    } else if (c.offset_bytes == 0)
        c.offset_bytes = (int16_t)sizeof(int32_t);
    return c;
}

int64_t tj_usual_rows(const tj_problem *problem)
{
    const int64_t mean = tj_ceil_div(problem->j.extent, tj_group_count(problem));

    return problem->rows.expected > 0 && problem->rows.expected < mean ? problem->rows.expected : mean;
}

/* Return number i of the offsets or counts. */
static int64_t offset_at(const tj_problem *problem, const void *offsets, int64_t i)
{
    return problem->rows.offset_bytes == 8 ? ((const int64_t *)offsets)[i] : ((const int32_t *)offsets)[i];
}

tj_group_rows tj_rows_of_group(const tj_problem *problem, int64_t j, const void *offsets, int64_t group)
{
    if (!tj_is_masked(problem))
        return (tj_group_rows){offset_at(problem, offsets, group), offset_at(problem, offsets, group + 1)};
    const int64_t room = j / tj_group_count(problem);

    return (tj_group_rows){group * room, group * room + offset_at(problem, offsets, group)};
}

/* Masked groups have equal room; others follow each other without a gap. */
bool tj_row_has_group(const tj_problem *problem, int64_t j, const void *offsets, int64_t row)
{
    if (!tj_is_grouped(problem))
        return true;
    const int64_t last = tj_group_count(problem) - 1, at = tj_is_masked(problem) ? row / (j / (last + 1)) : 0;
    const tj_group_rows from = tj_rows_of_group(problem, j, offsets, at),
                        to = tj_is_masked(problem) ? from : tj_rows_of_group(problem, j, offsets, last);

    return row >= from.begin && row < to.end;
}

static tj_status check_counts(const tj_problem *problem, int64_t rows, const void *counts, tj_error *err)
{
    const int64_t room = rows / tj_group_count(problem);

    for (int64_t group = 0; group < tj_group_count(problem); group++) {
        const int64_t count = offset_at(problem, counts, group);

        if (count < 0 || count > room)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                           "group %lld has %lld rows, and room for 0 to %lld of them (j / groups): correct its count, or "
                           "raise j",
                           (long long)group, (long long)count, (long long)room);
    }
    return TJ_OK;
}

static tj_status check_offsets(const tj_problem *problem, int64_t all, const void *offsets, tj_error *err)
{
    const char *const what = tj_divides_k(problem) ? "elements of k" : "rows",
                      *const one = tj_divides_k(problem) ? "element" : "row", *const name = tj_divides_k(problem) ? "k" : "j";

    for (int64_t group = 0; group < problem->rows.groups; group++) {
        const tj_group_rows of = tj_rows_of_group(problem, all, offsets, group);

        if (of.begin < 0 || of.end > all)
            return tj_fail(
                err, TJ_ERR_INVALID_ARGUMENT,
                "group %lld has the %s from %lld up to %lld, and there are only those from 0 up to %s = %lld: correct "
                "its offsets, or raise %s",
                (long long)group, what, (long long)of.begin, (long long)of.end, name, (long long)all, name);
        if (of.end < of.begin)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                           "group %lld begins at %s %lld and ends before %s %lld: offsets never fall, and those of an empty "
                           "group are equal",
                           (long long)group, one, (long long)of.begin, one, (long long)of.end);
    }
    return TJ_OK;
}

tj_status tj_groups_check(const tj_problem *problem, int64_t j, const void *offsets, tj_error *err)
{
    if (TJ_HAS_NULL(err, problem, offsets))
        return TJ_ERR_INVALID_ARGUMENT;
    const int64_t rows = j > 0 ? j : tj_offset_bound(problem, problem->j.extent, problem->k.extent);

    if (!tj_has_offsets(problem) || problem->rows.groups < 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "the problem has no groups (rows.kind is %d), and takes no offsets: use TJ_ROWS_IN_GROUPS, or pass none",
                       problem->rows.kind);
    return tj_is_masked(problem) ? check_counts(problem, rows, offsets, err) : check_offsets(problem, rows, offsets, err);
}
