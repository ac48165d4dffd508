/* SPDX-License-Identifier: Apache-2.0 */
#include "gather.h"

#include <stdlib.h>
#include <string.h>

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

tj_status tj_gather(const tj_request *asked, const tj_host_operands *given, tj_gathered *to, tj_error *err)
{
    const tj_host_operand *const scales = &given->scale[TJ_MATRIX_M];
    const bool copies_scales = scales->address && asked->problem.scale[TJ_MATRIX_M].rows == 1;
    const int64_t m_rows = given->m_rows > 0 ? given->m_rows : asked->problem.j.extent;
    pieces p;

    *to = (tj_gathered){.request = *asked, .operands = *given};
    if (tj_lists_check_host(&asked->problem, given, err) != TJ_OK)
        return TJ_ERR_INVALID_ARGUMENT;
    to->request.problem.rows.scattered = to->request.given.rows.scattered = 0;
    if (!tj_is_gathered(&asked->problem))
        return TJ_OK;
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

int64_t tj_row_of_p(const tj_request *asked, const tj_host_operands *given, int64_t row)
{
    const int64_t p_rows = given->p_rows > 0 ? given->p_rows : asked->problem.j.extent;

    if (!tj_is_scattered(&asked->problem))
        return row;
    return given->p_index[row] < p_rows ? given->p_index[row] : -1;
}

void tj_gathered_drop(tj_gathered *gathered)
{
    free(gathered->m);
    free(gathered->scale_m);
}
