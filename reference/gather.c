/* SPDX-License-Identifier: Apache-2.0 */
#include "gather.h"

#include <stdlib.h>
#include <string.h>

#include <tilejit/repack.h>

#include "error.h"
#include "list_table.h"

/*
 * The part of an operand that one row of the product has: `parts` pieces of `bytes` bytes, which lie `apart` bytes from each
 * other, and `step` bytes from those of the next row; and likewise in a copy.
 */
typedef struct pieces {
    size_t parts, bytes, apart, step, apart_in_copy, step_in_copy;
} pieces;

/* Return a copy in the order of the product; rows that M does not have are zeros. NULL: memory ran out. Owned: the caller. */
static void *copy_rows(const tj_gathered *of, int64_t m_rows, const void *from, const pieces *p)
{
    const int64_t j = of->request.problem.j.extent;
    char *const copy = calloc((size_t)j * p->parts + 1, p->step_in_copy > p->bytes ? p->step_in_copy : p->bytes);

    for (int64_t row = 0; row < j && copy; row++) {
        const int64_t source = of->operands.m_index[row];

        for (size_t part = 0; part < p->parts && source >= 0 && source < m_rows; part++)
            memcpy(copy + part * p->apart_in_copy + (size_t)row * p->step_in_copy,
                   (const char *)from + part * p->apart + (size_t)source * p->step, p->bytes);
    }
    return copy;
}

static pieces pieces_of_m(const tj_request *request)
{
    const tj_operand_row *const m = &request->operand[TJ_MATRIX_M];
    const tj_extents extents = tj_extents_of(&request->problem);
    const size_t bytes = tj_type_bytes(m->type), line = (size_t)m->ld * bytes;

    return (pieces){1, (size_t)tj_extent_at(m->width, &extents) * bytes, 0, line, 0, line};
}

/* One number for each row and part of k. */
static pieces pieces_of_scales(const tj_request *request, int64_t m_rows, int64_t ld)
{
    const tj_operand_row *const scales = &request->operand[TJ_SCALES + TJ_MATRIX_M];
    const tj_extents extents = tj_extents_of(&request->problem);
    const bool by_rows = scales->rows.of == 'j';
    const size_t bytes = tj_type_bytes(scales->type), rows = (size_t)request->problem.j.extent,
                 parts = (size_t)tj_extent_at(by_rows ? scales->width : scales->rows, &extents);
    const size_t apart = ld > 0 ? (size_t)ld : by_rows ? parts : (size_t)m_rows;

    return by_rows ? (pieces){1, parts * bytes, 0, apart * bytes, 0, parts * bytes}
                   : (pieces){parts, bytes, apart * bytes, bytes, rows * bytes, bytes};
}

/* Repack the lines of a matrix to their natural order. */
static tj_status unpack_lines(char *to, const char *from, int64_t lines, size_t line, size_t bytes, tj_error *err)
{
    tj_status status = TJ_OK;

    for (int64_t i = 0; i < lines && status == TJ_OK; i++)
        status = tj_repack_host(to + (size_t)i * line, from + (size_t)i * line, (int64_t)bytes, TJ_ORDER_NATURAL, err);
    return status;
}

/*
 * Replace repacked weights by a copy in their natural order: one matrix after the other, or those of an array of pointers,
 * which come after a new array.
 */
static tj_status unpack(tj_gathered *to, tj_which which, tj_error *err)
{
    const tj_problem *const problem = &to->request.problem;
    const tj_operand_row *const row = &to->request.operand[which];
    const tj_extents extents = tj_extents_of(problem);
    const void **const operand = which == TJ_MATRIX_M ? &to->operands.m : &to->operands.n;
    const size_t line = (size_t)row->ld * tj_type_bytes(row->type);
    const size_t bytes = (size_t)tj_extent_at(row->width, &extents) * tj_type_bytes(row->type);
    const int64_t lines = tj_extent_at(row->rows, &extents), span = tj_operand_span(problem, row);
    const int64_t matrices = row->stride == TJ_BROADCAST ? 1 : tj_operand_copies(problem, row, problem->batch);
    const size_t addresses = row->is_array ? (size_t)matrices * sizeof(void *) : 0;
    const size_t size = addresses + (size_t)span * (row->is_array ? (size_t)matrices : 1);
    const size_t step = row->is_array ? (size_t)span : row->stride > 0 ? (size_t)row->stride : 0;
    char *const copy = to->natural[which] = *operand && span > 0 ? malloc(size) : NULL;
    tj_status status = TJ_OK;

    tj_matrix_of(&to->request.problem, which)->order = tj_matrix_of(&to->request.given, which)->order = TJ_ORDER_NATURAL;
    if (!*operand || span < 1)
        return TJ_OK;
    if (!copy)
        return tj_fail_memory(err, "weights in their natural order");
    for (int64_t i = 0; i < matrices && status == TJ_OK; i++) {
        const char *const from = row->is_array ? ((const char *const *)*operand)[i] : (const char *)*operand + (size_t)i * step;
        char *const at = copy + addresses + (size_t)i * step;

        if (row->is_array)
            ((void **)(void *)copy)[i] = at;
        status = unpack_lines(at, from, lines, line, bytes, err);
    }
    *operand = copy;
    return status;
}

static tj_status gather_m(const tj_request *asked, const tj_host_operands *given, tj_gathered *to, tj_error *err)
{
    const tj_host_operand *const scales = &given->scale[TJ_MATRIX_M];
    const bool copies_scales = scales->address && asked->problem.scale[TJ_MATRIX_M].rows == 1;
    const int64_t m_rows = given->m_rows > 0 ? given->m_rows : asked->problem.j.extent;
    pieces p;

    p = pieces_of_m(asked);
    if (given->m && p.bytes > 0)
        to->operands.m = to->m = copy_rows(to, m_rows, given->m, &p);
    p = pieces_of_scales(asked, m_rows, scales->ld);
    if (copies_scales) {
        to->scale_m = copy_rows(to, m_rows, scales->address, &p);
        to->operands.scale[TJ_MATRIX_M] = (tj_host_operand){to->scale_m, 0, 0};
    }
    if ((given->m && p.bytes > 0 && !to->operands.m) || (copies_scales && !to->scale_m))
        return tj_fail_memory(err, "the gathered rows of M");
    to->request.problem.rows.gathered = to->request.given.rows.gathered = 0;
    return TJ_OK;
}

tj_status tj_gather(const tj_request *asked, const tj_host_operands *given, tj_gathered *to, tj_error *err)
{
    tj_status status = TJ_OK;

    *to = (tj_gathered){.request = *asked, .operands = *given};
    if (tj_lists_check_host(&asked->problem, given, err) != TJ_OK)
        return TJ_ERR_INVALID_ARGUMENT;
    to->request.problem.rows.scattered = to->request.given.rows.scattered = 0;
    if (tj_is_gathered(&asked->problem))
        status = gather_m(asked, given, to, err);
    for (tj_which which = TJ_MATRIX_M; which < TJ_FACTORS && status == TJ_OK; which++)
        if (tj_is_repacked(&asked->problem, which))
            status = unpack(to, which, err);
    return status;
}

int64_t tj_row_of_p(const tj_request *asked, const tj_host_operands *given, int64_t row)
{
    const int64_t p_rows = given->p_rows > 0 ? given->p_rows : asked->problem.j.extent;

    if (!tj_is_scattered(&asked->problem))
        return row;
    return given->p_index[row] < p_rows ? given->p_index[row] : -1;
}

void tj_gathered_drop(tj_gathered *gathered)
{
    for (tj_which which = TJ_MATRIX_M; which < TJ_FACTORS; which++)
        free(gathered->natural[which]);
    free(gathered->m);
    free(gathered->scale_m);
}
