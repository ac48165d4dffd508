/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operand_table: problem -> a row for each address of a launch.
 */
#include "operand_table.h"

#include <stdio.h>
#include <string.h>

#include "checked.h"
#include "tree.h"

static const tj_extent_rule ONE = {0, true, 1}, J = {'j', true, 1}, K = {'k', true, 1}, L = {'l', true, 1};

/* An epilogue of pairs takes two columns of the sum for each column of P. */
static tj_extent_rule p_cols(const tj_problem *problem)
{
    return (tj_extent_rule){'l', true, tj_sums_per_column(problem)};
}

/* Both fit: the longest title is "the scales of M". */
static void entitle(tj_operand_row *row, const char *name, const char *title)
{
    strcpy(row->name, name);
    strcpy(row->title, title);
}

static tj_operand_row matrix_row(const tj_problem *problem, tj_which which)
{
    static const char *const name[TJ_MATRICES] = {"m", "n", "p", "c"}, *const title[TJ_MATRICES] = {"M", "N", "P", "C"};
    const tj_matrix *const m = tj_problem_matrix(problem, which);
    const tj_extent_rule rows = which == TJ_MATRIX_N ? K : J, cols = which == TJ_MATRIX_M   ? K
                                                                     : which == TJ_MATRIX_N ? L
                                                                                            : p_cols(problem);
    const bool is_row_major = m->layout == TJ_ROW_MAJOR;
    tj_operand_row row = {.is_taken = which != TJ_MATRIX_C || problem->epilogue.has_beta,
                          .is_written = which == TJ_MATRIX_P,
                          .is_array = tj_stride_is_pointers(m->stride),
                          .is_each_group = which == TJ_MATRIX_N && tj_is_grouped(problem),
                          .type = (tj_type)m->type,
                          .rows = is_row_major ? rows : cols,
                          .width = is_row_major ? cols : rows,
                          .ld = m->ld,
                          .stride = m->stride};

    if (tj_type_is_pair(m->type)) /* an element holds two numbers, and the last of a row may hold one */
        row.width.per *= 2, row.width.is_even = false;
    entitle(&row, name[which], title[which]);
    return row;
}

/* Scales: a row of them for each part of k, with one number for each row of M or column of N, or one for all. */
static tj_operand_row scale_row(const tj_problem *problem, tj_which of)
{
    const tj_scale *const scale = tj_scale_of(problem, of);
    const bool is_of_m = of == TJ_MATRIX_M;
    char title[TJ_EPILOGUE_NAME_BYTES];

    tj_operand_row row = {.is_taken = tj_is_scaled(problem, of),
                          .is_each_group = !is_of_m && tj_is_grouped(problem),
                          .type = (tj_type)scale->type,
                          .rows = scale->k > 0 ? (tj_extent_rule){'k', false, scale->k} : ONE,
                          .width = scale->rows > 0 ? (tj_extent_rule){is_of_m ? 'j' : 'l', scale->rows == 1, scale->rows} : ONE,
                          .ld = scale->k > 0 ? TJ_ANY : TJ_TIGHT,
                          .stride = TJ_ANY};

    (void)snprintf(title, sizeof title, "the scales of %c", tj_which_letter(of));
    entitle(&row, tj_scale_name(of), title);
    return row;
}

/* An operand of the epilogue: a vector, or a matrix that is stored as P is. */
static tj_operand_row with_row(const tj_problem *problem, int i)
{
    const tj_epilogue_operand *const operand = &problem->epilogue.expression.operand[i];

    const bool is_number = i >= problem->epilogue.expression.operands || operand->indexed == TJ_BY_NOTHING;
    tj_operand_row row = is_number ? (tj_operand_row){0} : matrix_row(problem, TJ_MATRIX_P);

    entitle(&row, operand->name, operand->name);
    if (is_number)
        return row;
    row.is_written = operand->is_output;
    row.is_array = false;
    row.type = tj_operand_type(problem, i);
    row.ld = row.stride = TJ_ANY;
    if (operand->indexed != TJ_BY_BOTH) {
        row.rows = ONE;
        row.width = operand->indexed == TJ_BY_ROW ? J : p_cols(problem);
        row.ld = TJ_TIGHT;
    }
    return row;
}

tj_operand_row tj_operand_row_of(const tj_problem *problem, int which)
{
    return which < TJ_MATRICES ? matrix_row(problem, (tj_which)which)
           : which < TJ_WITH   ? scale_row(problem, (tj_which)(which - TJ_SCALES))
                               : with_row(problem, which - TJ_WITH);
}

void tj_operand_table(const tj_problem *problem, tj_operand_row row[TJ_ADDRESSES])
{
    const int count = TJ_WITH + problem->epilogue.expression.operands;

    memset(row, 0, TJ_ADDRESSES * sizeof *row);
    for (int which = 0; which < count; which++)
        row[which] = tj_operand_row_of(problem, which);
}

int64_t tj_extent_at(tj_extent_rule rule, const tj_extents *extents)
{
    const int64_t extent = rule.of == 'j' ? extents->j : rule.of == 'k' ? extents->k : rule.of == 'l' ? extents->l : 1;

    return rule.per == 1 ? extent : tj_ceil_div(extent, rule.per);
}

tj_dim tj_extent_dim(tj_extent_rule rule, const tj_problem *problem)
{
    tj_dim dim = rule.of == 'j'   ? problem->j
                 : rule.of == 'k' ? problem->k
                 : rule.of == 'l' ? problem->l
                                  : (tj_dim){1, TJ_DIM_FIXED, 0};

    if (rule.per == 1)
        return dim;
    dim.extent = tj_ceil_div(dim.extent, rule.per);
    dim.multiple_of = dim.multiple_of % rule.per == 0 || rule.is_even ? dim.multiple_of / rule.per : 1;
    return dim;
}

int64_t tj_operand_elements(const tj_problem *problem, int which)
{
    const tj_operand_row row = tj_operand_row_of(problem, which);
    const tj_extents extents = tj_extents_of(problem);

    return row.is_taken ? tj_extent_at(row.rows, &extents) * tj_extent_at(row.width, &extents) : 0;
}

int64_t tj_operand_span(const tj_problem *problem, const tj_operand_row *row)
{
    if (!row->is_taken)
        return 0;
    const tj_extents extents = tj_extents_of(problem);
    const int64_t rows = tj_extent_at(row->rows, &extents), width = tj_extent_at(row->width, &extents);
    const int64_t ld = row->ld == TJ_TIGHT ? width : row->ld, copies = tj_operand_copies(problem, row, problem->batch);
    int64_t stride = row->stride < 0 ? 0 : row->stride, between, within, span;

    if (rows < 1 || width < 1)
        return 0;
    if (row->ld == TJ_ANY || row->stride == TJ_ANY || (row->stride == TJ_TIGHT && !tj_mul(rows, ld, &stride)))
        return -1;
    return tj_mul(copies - 1, stride, &between) && tj_mul(rows - 1, ld, &within) && tj_add(between, within, &span) &&
                   tj_add(span, width, &span)
               ? span
               : -1;
}
