/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shape: a row of the operand table, for tools.
 */
#include <tilejit/shape.h>

#include "error.h"
#include "request.h"
#include "sized.h"

static tj_layout layout_of(const tj_problem *problem, int which, const tj_operand_row *row)
{
    const bool is_vector = row->rows.of == 0;

    if (is_vector)
        return row->width.of == 'j' ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
    return which < TJ_MATRICES ? (tj_layout)tj_problem_matrix(problem, (tj_which)which)->layout
           : which >= TJ_WITH  ? (tj_layout)problem->p.layout
                               : TJ_ROW_MAJOR;
}

tj_status tj_operand_get_shape(const tj_problem *problem, int which, tj_operand_shape *shape, tj_error *err)
{
    if (TJ_HAS_NULL(err, problem, shape))
        return TJ_ERR_INVALID_ARGUMENT;
    if (which < 0 || which >= TJ_ADDRESSES)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "which is %d: use 0 to %d", which, TJ_ADDRESSES - 1);
    tj_request request;
    const tj_status status = tj_request_make(problem, &request, err);

    if (status != TJ_OK)
        return status;
    const tj_problem *const p = &request.problem;
    const tj_operand_row *const row = &request.operand[which];
    const tj_extents extents = tj_extents_of(p);

    tj_operand_shape own = TJ_OPERAND_SHAPE_INIT;

    if (!row->is_taken)
        return TJ_FILL(shape, &own, TJ_OPERAND_SHAPE_INIT, err);
    const tj_layout layout = layout_of(p, which, row);
    const int64_t stored = tj_extent_at(row->rows, &extents), width = tj_extent_at(row->width, &extents);

    own.is_taken = 1;
    own.is_written = row->is_written;
    own.is_array = row->is_array;
    own.type = (int32_t)row->type;
    own.layout = (int32_t)layout;
    own.rows = layout == TJ_ROW_MAJOR ? stored : width;
    own.cols = layout == TJ_ROW_MAJOR ? width : stored;
    own.ld = row->ld;
    own.stride = row->stride;
    own.count = tj_operand_copies(p, row, p->batch);
    own.span = own.count == TJ_ANY ? -1 : tj_operand_span(p, row);
    return TJ_FILL(shape, &own, TJ_OPERAND_SHAPE_INIT, err);
}
