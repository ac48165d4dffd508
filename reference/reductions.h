/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reductions: outputs of an expression for each row or column of P, from the values of its elements, which arrive in any order
 * from any thread.
 *
 * The error of a sum of n values is the sum of their errors plus n roundings of the sum of magnitudes, whatever the order. The
 * maximum lies in [max of lower bounds, max of upper bounds].
 */
#ifndef TJ_REFERENCE_REDUCTIONS_H
#define TJ_REFERENCE_REDUCTIONS_H

#include "expression.h"

typedef struct tj_reductions tj_reductions;

/**
 * Create the reductions of `products` products, from `first` on. evaluation: must have operands, and is borrowed. *out is NULL
 * if the expression reduces nothing.
 * Errors: TJ_ERR_OUT_OF_MEMORY.
 */
tj_status tj_reductions_create(const tj_evaluation *evaluation, int64_t first, int64_t products, tj_reductions **out,
                               tj_error *err);

/** Free the reductions. NULL: accepted. */
void tj_reductions_free(tj_reductions *reductions);

/** Fold in the values of all nodes of an element; each element once. NULL: accepted. Threads: any. */
void tj_reductions_take(tj_reductions *reductions, int64_t batch, int64_t row, int64_t col, const tj_bounded value[TJ_VALUES]);

/**
 * Compare a kernel's stored outputs with those results whose elements have all arrived. Return the worst error over its bound,
 * as tj_judge_stored; if it is above 1, why receives an explanation. NULL reductions: returns 0.
 */
enum { TJ_REDUCTION_WHY_BYTES = 160 };
double tj_reductions_judge(const tj_reductions *reductions, int again, char why[TJ_REDUCTION_WHY_BYTES]);

/** Store the results in the outputs, as the reference does. NULL: accepted. */
void tj_reductions_store(const tj_reductions *reductions);

#endif
