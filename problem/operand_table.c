/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operand_table: problem -> a row for each address of a launch.
 */
#include "operand_table.h"

#include <string.h>

#include "checked.h"
#include "tree.h"

static const tj_extent_rule ONE = {0, true, 1, 1}, J = {'j', true, 1, 1}, K = {'k', true, 1, 1}, L = {'l', true, 1, 1};

/* An epilogue of pairs takes two columns of the sum for each column of P. */
static tj_extent_rule p_cols(const tj_problem *problem)
{
    return (tj_extent_rule){'l', true, tj_sums_per_column(problem), 1};
}

/* Both fit: the longest title is "the scale of all of M". */
static void entitle(tj_operand_row *row, const char *name, const char *title)
{
    strcpy(row->name, name);
    strcpy(row->title, title);
}

/* P and C have a row for each sum of rows of the product. */
static tj_extent_rule p_rows(const tj_problem *problem)
{
    return (tj_extent_rule){'j', !tj_is_combined(problem), tj_rows_of_sum(problem), 1};
}

static tj_operand_row matrix_row(const tj_problem *problem, tj_which which)
{
    static const char *const name[TJ_MATRICES] = {"m", "n", "p", "c"}, *const title[TJ_MATRICES] = {"M", "N", "P", "C"};
    const tj_matrix *const m = tj_problem_matrix(problem, which);
    const tj_extent_rule rows = which == TJ_MATRIX_N   ? K
                                : which == TJ_MATRIX_M ? J
                                                       : p_rows(problem),
                         cols = which == TJ_MATRIX_M   ? K
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

enum { TILE_ROWS = 128, TILE_PARTS = 4, TILE_BYTES = 512 };

/* The number of the blocks of `each` elements, or of all of them, that `of` has. */
static tj_extent_rule blocks_of(char of, int32_t each)
{
    return each == 0 ? ONE : (tj_extent_rule){of, each == 1, each, 1};
}

/* The rows and the width of scales, or of their zero points. */
static void lay_out_scales(const tj_scale *scale, char rows_of, char parts_of, tj_operand_row *row)
{
    const tj_extent_rule blocks = blocks_of(rows_of, scale->rows), parts = blocks_of(parts_of, scale->k);
    const bool by_rows = scale->layout == TJ_SCALES_ROW_BY_ROW;

    row->rows = by_rows ? blocks : parts;
    row->width = by_rows ? parts : blocks;
    if (scale->layout == TJ_SCALES_IN_TILES) {
        row->rows = (tj_extent_rule){rows_of, false, TILE_ROWS, 1};
        row->width = (tj_extent_rule){parts_of, false, scale->k * TILE_PARTS, TILE_BYTES};
    }
    if (tj_type_is_pair((int32_t)row->type))
        row->width = (tj_extent_rule){row->width.of, false, row->width.per * 2, 1};
    row->ld = scale->k > 0 ? TJ_ANY : TJ_TIGHT;
    row->stride = TJ_ANY;
}

/* The scales of a matrix, one for each block of its rows and of k; those of P, of its rows and columns. */
static tj_operand_row scale_row(const tj_problem *problem, tj_which of)
{
    static const char *const title[TJ_SCALED] = {"the scales of M", "the scales of N", "the scales of P"};
    tj_scale scale = *tj_scale_of(problem, of);
    tj_operand_row row = {.is_taken = tj_is_scaled(problem, of),
                          .is_written = of == TJ_MATRIX_P,
                          .is_each_group = of == TJ_MATRIX_N && tj_is_grouped(problem),
                          .type = (tj_type)scale.type};

    if (of == TJ_MATRIX_P) /* k counts columns of P */
        scale.k *= tj_sums_per_column(problem);
    lay_out_scales(&scale, of == TJ_MATRIX_N ? 'l' : 'j', of == TJ_MATRIX_P ? 'l' : 'k', &row);
    entitle(&row, tj_scale_name(of), title[of]);
    return row;
}

/* Zero points lie as the scales do. */
static tj_operand_row zero_row(const tj_problem *problem, tj_which of)
{
    static const char *const name[TJ_FACTORS] = {"zero_m", "zero_n"}, *const title[TJ_FACTORS] = {"the zero points of M",
                                                                                                  "the zero points of N"};
    const tj_scale *const scale = tj_scale_of(problem, of);
    tj_operand_row row = scale_row(problem, of);

    row.is_taken = scale->zero != 0;
    row.type = (tj_type)scale->zero;
    lay_out_scales(scale, of == TJ_MATRIX_N ? 'l' : 'j', 'k', &row);
    entitle(&row, name[of], title[of]);
    return row;
}

/* The one number of a whole matrix. */
static tj_operand_row whole_row(const tj_problem *problem, tj_which of)
{
    static const char *const name[TJ_FACTORS] = {"whole_m", "whole_n"}, *const title[TJ_FACTORS] = {"the scale of all of M",
                                                                                                    "the scale of all of N"};
    tj_operand_row row = scale_row(problem, of);

    row.is_taken = tj_scale_of(problem, of)->whole != 0;
    row.type = TJ_F32;
    row.rows = row.width = ONE;
    row.ld = TJ_TIGHT;
    entitle(&row, name[of], title[of]);
    return row;
}

/* An operand of the epilogue: a vector, or a matrix of the product's rows that is stored as P is. */
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
    if (tj_is_combined(problem)) /* P is row-major, and has other rows */
        row.rows = J;
    row.type = tj_operand_type(problem, i);
    row.ld = row.stride = TJ_ANY;
    if (operand->indexed != TJ_BY_BOTH) {
        row.rows = ONE;
        row.width = operand->indexed == TJ_BY_PRODUCT ? ONE : operand->indexed == TJ_BY_ROW ? J : p_cols(problem);
        row.ld = TJ_TIGHT;
    }
    return row;
}

tj_operand_row tj_operand_row_of(const tj_problem *problem, int which)
{
    return which < TJ_MATRICES ? matrix_row(problem, (tj_which)which)
           : which < TJ_ZEROS  ? scale_row(problem, (tj_which)(which - TJ_SCALES))
           : which < TJ_WHOLES ? zero_row(problem, (tj_which)(which - TJ_ZEROS))
           : which < TJ_WITH   ? whole_row(problem, (tj_which)(which - TJ_WHOLES))
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

    return (rule.per == 1 ? extent : tj_ceil_div(extent, rule.per)) * rule.times;
}

tj_dim tj_extent_dim(tj_extent_rule rule, const tj_problem *problem)
{
    tj_dim dim = rule.of == 'j'   ? problem->j
                 : rule.of == 'k' ? problem->k
                 : rule.of == 'l' ? problem->l
                                  : (tj_dim){1, TJ_DIM_FIXED, 0};

    if (rule.per == 1)
        return dim;
    dim.extent = tj_extent_at(rule, &(tj_extents){problem->j.extent, problem->k.extent, problem->l.extent});
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
