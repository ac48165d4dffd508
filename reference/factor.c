/* SPDX-License-Identifier: Apache-2.0 */
#include "factor.h"

#include <math.h>

#include "error.h"
#include "number.h"
#include "operand_table.h"
#include "operands.h"

static tj_status find_numbers(const tj_problem *problem, const tj_host_operands *operands, int which,
                              tj_factor_numbers *numbers, tj_error *err)
{
    const tj_operand_row row = tj_operand_row_of(problem, which);
    const tj_host_operand *const given = tj_host_operand_at(operands, which);
    const int64_t count = tj_operand_elements(problem, which);
    const tj_extents extents = tj_extents_of(problem);

    *numbers = (tj_factor_numbers){0};
    if (count == 0)
        return TJ_OK;
    if (!given->address)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is NULL: the reference needs %s in host memory", row.name, row.title);
    const int64_t in_element = tj_type_numbers((int32_t)row.type);

    *numbers = (tj_factor_numbers){given->address, row.type, tj_extent_at(row.width, &extents) * in_element,
                                   (given->stride == TJ_BROADCAST ? 0
                                    : given->stride               ? given->stride
                                                                  : count) *
                                       in_element};
    return TJ_OK;
}

tj_status tj_factor_find(const tj_problem *problem, const tj_host_operands *operands, tj_which which, tj_factor *factor,
                         tj_error *err)
{
    tj_status status;

    *factor = (tj_factor){.form = *tj_scale_of(problem, which)};
    status = find_numbers(problem, operands, TJ_SCALES + (int)which, &factor->scale, err);
    if (status == TJ_OK)
        status = find_numbers(problem, operands, TJ_ZEROS + (int)which, &factor->zero, err);
    return status == TJ_OK ? find_numbers(problem, operands, TJ_WHOLES + (int)which, &factor->whole, err) : status;
}

static void move(tj_factor_numbers *numbers, int64_t group)
{
    if (numbers->base)
        numbers->base =
            (const char *)numbers->base +
            (size_t)(group * numbers->stride / tj_type_numbers((int32_t)numbers->type)) * tj_type_bytes(numbers->type);
}

void tj_factor_move(tj_factor *factor, int64_t group)
{
    move(&factor->scale, group);
    move(&factor->zero, group);
    move(&factor->whole, group);
}

/* Return the number of row or column `other` and part number `part` of k. */
static double number_at(const tj_scale *form, const tj_factor_numbers *numbers, int64_t product, int64_t other, int64_t part)
{
    const int64_t at = product * numbers->stride + tj_scale_place(form, numbers->ld, other, part);

    return numbers->type == TJ_F32 ? (double)((const float *)numbers->base)[at]
                                   : tj_read_number(numbers->type, numbers->base, at);
}

void tj_factor_apply(const tj_factor *factor, int64_t product, int64_t other, int64_t first, int count, double *number,
                     int step)
{
    const bool along_k = factor->scale.base && factor->form.k > 0;
    const int64_t each = factor->form.k > 0 ? factor->form.k : INT64_MAX;

    for (int i = 0; i < count;) {
        const int64_t part = (first + i) / each, end = each == INT64_MAX ? count : (part + 1) * each - first;
        const double zero = factor->zero.base ? number_at(&factor->form, &factor->zero, product, other, part) : 0;
        const double scale = along_k ? number_at(&factor->form, &factor->scale, product, other, part) : 1;

        for (; i < count && i < end; i++)
            number[i * step] = (number[i * step] - zero) * scale;
    }
}

long double tj_factor_of_sum(const tj_factor *factor, int64_t product, int64_t other)
{
    const bool scales_sum = factor->scale.base && factor->form.k == 0;

    return (scales_sum ? (long double)number_at(&factor->form, &factor->scale, product, other, 0) : 1.0L) *
           (factor->whole.base ? (long double)((const float *)factor->whole.base)[product * factor->whole.stride] : 1.0L);
}

tj_factor_range tj_factor_range_along_k(const tj_factor *factor, const tj_problem *problem, tj_which which)
{
    const int64_t count = tj_operand_elements(problem, TJ_SCALES + (int)which);
    const int64_t products = factor->scale.stride > 0 ? tj_matrix_count(problem, which) : 1;
    tj_factor_range range = {1.0L, 1.0L, false};

    if (!factor->scale.base || factor->form.k == 0)
        return range;
    for (int64_t product = 0; product < products; product++)
        for (int64_t i = 0; i < count; i++) {
            const long double scale =
                fabsl((long double)tj_read_number(factor->scale.type, factor->scale.base, product * factor->scale.stride + i));

            range.has_infinite |= isinf(scale);
            range.least = scale > 0.0L && scale < range.least ? scale : range.least;
            range.most = scale > range.most && isfinite(scale) ? scale : range.most;
        }
    return range;
}
