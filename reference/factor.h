/* SPDX-License-Identifier: Apache-2.0 */
/*
 * factor: the scales and zero points of M or N in host memory, as numbers of float64: value = scale * (q - zero) * whole.
 */
#ifndef TJ_REFERENCE_FACTOR_H
#define TJ_REFERENCE_FACTOR_H

#include <tilejit/reference.h>

#include "canonical.h"

/** Numbers that lie as scales do. ld and stride count numbers, of which a byte may hold two. */
typedef struct tj_factor_numbers {
    const void *base; /* NULL: none */
    tj_type type;
    int64_t ld, stride;
} tj_factor_numbers;

/** The scales of one matrix. All zero: none. */
typedef struct tj_factor {
    tj_scale form;
    tj_factor_numbers scale, zero, whole;
} tj_factor;

/**
 * Find the scales of M or N. Canonical, and all extents are known.
 * Errors: TJ_ERR_INVALID_ARGUMENT: the problem has some that the operands do not bring.
 */
tj_status tj_factor_find(const tj_problem *problem, const tj_host_operands *operands, tj_which which, tj_factor *factor,
                         tj_error *err);

/** Continue with those of a group: of N, whose scales are those of each group's N. */
void tj_factor_move(tj_factor *factor, int64_t group);

/** Does anything change elements before they are multiplied? */
static inline bool tj_factor_changes_elements(const tj_factor *factor)
{
    return factor->zero.base || (factor->scale.base && factor->form.k > 0);
}

/**
 * Change `count` elements along k, from `first` on, of a row of M or column of N: take the zero point off and multiply by the
 * scale along k. Numbers are `step` apart.
 */
void tj_factor_apply(const tj_factor *factor, int64_t product, int64_t other, int64_t first, int count, double *number,
                     int step);

/** Return what multiplies the whole sum of a row or column: 1 where nothing does. */
long double tj_factor_of_sum(const tj_factor *factor, int64_t product, int64_t other);

/** The least size of a scale along k that is not 0, the largest, and whether some is infinite; 1, 1 and false without any. */
typedef struct tj_factor_range {
    long double least, most;
    bool has_infinite;
} tj_factor_range;

tj_factor_range tj_factor_range_along_k(const tj_factor *factor, const tj_problem *problem, tj_which which);

#endif
