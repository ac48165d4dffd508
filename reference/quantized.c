/* SPDX-License-Identifier: Apache-2.0 */
#include "quantized.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "canonical.h"
#include "checked.h"
#include "error.h"
#include "number.h"
#include "operand_table.h"
#include "tree.h"

enum { LOCKS = 64 };

/* The division by the scale rounds three times: in the scale, in its inverse and in the product with it. */
static const long double ROUNDINGS = 0x1p-22L;

typedef struct block {
    long double largest, least, most; /* the largest magnitude, and its bounds */
    int64_t count;
    bool has_nan, has_infinity, is_unknown;
} block;

struct tj_blocks {
    const tj_problem *problem;
    const tj_scale *form;                 /* of the scales */
    void *scale;                          /* the first of them, of product 0 */
    int64_t ld, stride;                   /* of the scales */
    int64_t first, products, cols, width; /* width: columns of a block */
    int64_t parts, of_product;            /* blocks of a row, and of a product */
    const tj_number_limits *limits;       /* of P's type */
    block *block;
    pthread_mutex_t lock[LOCKS];
};

tj_status tj_blocks_create(const tj_problem *problem, const tj_host_operand *scales, int64_t first, int64_t products,
                           tj_blocks **out, tj_error *err)
{
    const tj_scale *const form = tj_scale_of(problem, TJ_MATRIX_P);
    const tj_operand_row row = tj_operand_row_of(problem, TJ_SCALES + TJ_MATRIX_P);
    const tj_extents extents = tj_extents_of(problem);
    tj_blocks *b;

    *out = NULL;
    if (!tj_is_scaled(problem, TJ_MATRIX_P))
        return TJ_OK;
    if (!scales->address)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "scale_p is NULL: the reference needs the scales of P in host memory");
    b = calloc(1, sizeof *b);
    if (!b)
        return tj_fail_memory(err, "the scales of the reference");
    b->problem = problem;
    b->form = form;
    b->scale = (void *)(uintptr_t)scales->address;
    b->ld = scales->ld ? scales->ld : tj_extent_at(row.width, &extents);
    b->stride = scales->stride ? scales->stride : tj_operand_elements(problem, TJ_SCALES + TJ_MATRIX_P);
    b->first = first;
    b->products = products;
    b->cols = tj_problem_p_cols(problem);
    b->width = form->k > 0 ? form->k : b->cols;
    b->parts = tj_ceil_div(b->cols, b->width);
    b->of_product = b->parts * problem->j.extent;
    b->limits = tj_number_limits_of((tj_type)problem->p.type);
    b->block = calloc((size_t)(b->of_product * products), sizeof *b->block);
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&b->lock[i], NULL);
    *out = b;
    if (b->block)
        return TJ_OK;
    tj_blocks_free(b);
    *out = NULL;
    return tj_fail_memory(err, "the scales of the reference");
}

void tj_blocks_free(tj_blocks *b)
{
    if (!b)
        return;
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_destroy(&b->lock[i]);
    free(b->block);
    free(b);
}

static int64_t block_at(const tj_blocks *b, int64_t product, int64_t row, int64_t col)
{
    return (product - b->first) * b->of_product + row * b->parts + col / b->width;
}

static void take(block *to, tj_bounded x)
{
    const long double size = fabsl(x.value);

    to->count++;
    to->has_nan |= isnan(x.value);
    to->has_infinity |= isinf(x.value);
    to->is_unknown |= isinf(x.error);
    if (!isfinite(x.value))
        return;
    to->largest = fmaxl(to->largest, size);
    if (isinf(x.error))
        return;
    to->least = fmaxl(to->least, size - x.error);
    to->most = fmaxl(to->most, size + x.error);
}

void tj_blocks_take(tj_blocks *b, int64_t product, int64_t row, int64_t col, tj_bounded value)
{
    const int64_t at = b ? block_at(b, product, row, col) : 0;

    if (!b)
        return;
    pthread_mutex_lock(&b->lock[at % LOCKS]);
    take(&b->block[at], value);
    pthread_mutex_unlock(&b->lock[at % LOCKS]);
}

/* ---- scales ------------------------------------------------------------------------------------------------------- */

static bool is_power(const tj_blocks *b)
{
    return b->form->type == TJ_E8M0;
}

/* Return the scale of a finite largest magnitude, as a kernel computes it in f32 (templates/parts/scale_of.cuh). */
static float scale_of(const tj_blocks *b, float largest)
{
    const float limit = (float)b->limits->largest;
    int of_largest, of_limit;
    float scale;

    if (largest == 0)
        return 1;
    if (is_power(b))
        scale = frexpf(largest, &of_largest) > frexpf(limit, &of_limit) ? ldexpf(1, of_largest - of_limit + 1)
                                                                        : ldexpf(1, of_largest - of_limit);
    else
        scale = largest / limit;
    return fmaxf(scale, 0x1p-126F);
}

/* Return the place of a block's scale, in elements from the first. */
static int64_t place_of(const tj_blocks *b, int64_t at)
{
    const int64_t product = b->first + at / b->of_product, in = at % b->of_product;

    return product * b->stride + tj_scale_place(b->form, b->ld, in / b->parts, in % b->parts);
}

/* Return the stored scale of a block; NaN: it has none. */
static float stored(const tj_blocks *b, int64_t at)
{
    return (float)tj_read_number((tj_type)b->form->type, b->scale, place_of(b, at));
}

/* Return the error of a stored scale over its bound. */
static double judge_scale(const tj_blocks *b, const block *of, float scale)
{
    const float expected = scale_of(b, (float)of->largest), least = scale_of(b, (float)fmaxl(of->least, 0)),
                most = scale_of(b, (float)of->most);
    const bool may_be_zero = of->least <= 0;
    const long double slack = is_power(b) ? 0 : ROUNDINGS;

    if (of->is_unknown)
        return 0;
    if (of->has_nan || of->has_infinity)
        return is_power(b) || of->has_nan ? (isnan(scale) ? 0 : INFINITY) : isinf(scale) ? 0 : INFINITY;
    if (scale == expected || (may_be_zero && (scale == 1 || (scale > 0 && scale <= most))))
        return 0;
    if (scale >= least * (1 - slack) && scale <= most * (1 + slack))
        return 0.5;
    return isfinite(scale) ? 2 : INFINITY;
}

double tj_blocks_judge(const tj_blocks *b, char why[TJ_BLOCKS_WHY_BYTES])
{
    double worst = 0;

    for (int64_t at = 0; b && at < b->of_product * b->products; at++) {
        const int64_t row = at % b->of_product / b->parts, product = b->first + at / b->of_product,
                      col = at % b->parts * b->width;
        const int64_t left = b->cols - col, width = left < b->width ? left : b->width;
        const double ratio = b->block[at].count == width ? judge_scale(b, &b->block[at], stored(b, at)) : 0;

        if (ratio > 1 && worst <= 1)
            (void)snprintf(why, TJ_BLOCKS_WHY_BYTES,
                           "the scale of row %lld from column %lld on, product %lld, is %.9g, not %.9g", (long long)row,
                           (long long)col, (long long)product, (double)stored(b, at),
                           (double)scale_of(b, (float)b->block[at].largest));
        worst = ratio > worst ? ratio : worst;
    }
    return worst;
}

void tj_blocks_store(const tj_blocks *b)
{
    for (int64_t at = 0; b && at < b->of_product * b->products; at++) {
        const block *const of = &b->block[at];
        const float scale = of->has_nan ? NAN : of->has_infinity ? INFINITY : scale_of(b, (float)of->largest);

        if (of->count > 0) /* not the rows of no group */
            tj_write_number((tj_type)b->form->type, b->scale, place_of(b, at),
                            is_power(b) && isinf(scale) ? (long double)NAN : scale);
    }
}

/* ---- elements ----------------------------------------------------------------------------------------------------- */

double tj_blocks_quantize(const tj_blocks *b, int64_t product, int64_t row, int64_t col, long double value)
{
    const float scale = stored(b, block_at(b, product, row, col)), inverse = 1 / scale;

    return (float)value * inverse;
}

double tj_blocks_scale(const tj_blocks *b, int64_t product, int64_t row, int64_t col)
{
    return b ? (double)stored(b, block_at(b, product, row, col)) : 1;
}

double tj_blocks_judge_element(const tj_blocks *b, int64_t product, int64_t row, int64_t col, tj_bounded value, double p)
{
    const bool is_integer = tj_facts_of(b->problem->p.type)->is_integer;
    const long double scale = stored(b, block_at(b, product, row, col));
    const long double size = fabsl(value.value) + value.error;
    const long double rounding =
        is_integer ? 0.5L * scale : b->limits->unit_roundoff * size + 0.5L * b->limits->smallest_subnormal * scale;
    const long double bound = value.error + rounding * (1 + ROUNDINGS) + ROUNDINGS * size;
    const long double error = fabsl((long double)p - value.value);

    if (!isfinite(scale) || isinf(value.error)) /* the scale is judged by itself */
        return 0;
    if (!isfinite(value.value) || !isfinite(p))
        return INFINITY;
    return error == 0 ? 0 : (double)(error / bound);
}
