/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reductions: outputs of an expression for each row or column of P, from the values of its elements, as they come in any order from
 * any thread.
 *
 * A sum of n values, each off by e, is off by all e together and by n roundings of the sum of magnitudes, whatever its order. The largest
 * lies between the largest of what the values are at least, and of what they are at most.
 */
#ifndef TJ_REFERENCE_REDUCTIONS_H
#define TJ_REFERENCE_REDUCTIONS_H

#include "expression.h"

typedef struct tj_reductions tj_reductions;

/**
 * For so many products, from `first` on. evaluation: with its operands, which outlive it. *out is NULL where the expression reduces
 * nothing. Errors: TJ_ERR_OUT_OF_MEMORY.
 */
tj_status tj_reductions_create(const tj_evaluation *evaluation, int64_t first, int64_t products, tj_reductions **out,
                               tj_error *err);

/** NULL: accepted. */
void tj_reductions_free(tj_reductions *reductions);

/** The values of all nodes of an element, each element once. NULL: accepted. Threads: any. */
void tj_reductions_take(tj_reductions *reductions, int64_t batch, int64_t row, int64_t col,
                        const tj_bounded value[TJ_EPILOGUE_NODES]);

/**
 * Compare what a kernel stored with those results of which all elements came. The worst error over its bound is returned, as by
 * tj_judge_stored, and why receives words if that is above 1. NULL reductions: returns 0.
 */
enum { TJ_REDUCTION_WHY_BYTES = 160 };
double tj_reductions_judge(const tj_reductions *reductions, int again, char why[TJ_REDUCTION_WHY_BYTES]);

/** Store them in its place, as the reference does. NULL: accepted. */
void tj_reductions_store(const tj_reductions *reductions);

#endif
