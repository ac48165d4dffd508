/* SPDX-License-Identifier: Apache-2.0 */
/* compare: compare two products of the same random operands, summed in different orders. */
#ifndef TJ_REFERENCE_COMPARE_H
#define TJ_REFERENCE_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include <tilejit/problem.h>

/**
 * Compare count elements of two products, in P's type, that were computed from the same operands of tj_fill_operand but may
 * have been summed in different orders. problem: every number known. Products of integers that stay integers must be equal.
 * Returns the index of the first pair that no order explains, or -1. For a long k this is much tighter than the bound of
 * tj_reference_check; it holds for such operands only.
 *
 * The error of a sum of k terms from [-1, 1] stays below u * k in any order, and far below for most elements. Four times that
 * leaves room for both products, and is still much less than one term. For tf32, which one product may round and the other not,
 * it is sixteen standard deviations of the effect of rounding M and N on a sum of random terms; for f32_fp8, whose other
 * product may keep all bits of f32, sixteen deviations of the effect of truncation.
 */
int64_t tj_compare_random_products(const tj_problem *problem, double alpha, const void *p, const void *other, int64_t count);

/** Return the allowed difference of two such sums, times alpha, without rounding to P's type; the same holds for products. Canonical. */
double tj_allowed_error(const tj_problem *problem, double alpha);

#endif
