/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantized: a P whose scales the kernel finds (tj_problem.scale[TJ_MATRIX_P]). An element is right if, times the scale that was
 * stored for it, it is close to the value; a scale is right if it follows from a largest magnitude that the values may have.
 */
#ifndef TJ_REFERENCE_QUANTIZED_H
#define TJ_REFERENCE_QUANTIZED_H

#include "expression.h"

/** The largest magnitudes of the blocks of P, each with a scale of its own. Threads may take values at the same time. */
typedef struct tj_blocks tj_blocks;

enum { TJ_BLOCKS_WHY_BYTES = 160 };

/**
 * Begin with no values. scales: those that a kernel stored, or, for tj_reference_product, their destination. first: the first of
 * `products` products whose values come. *out is NULL if P has no scales. Errors: TJ_ERR_INVALID_ARGUMENT: scales are missing;
 * TJ_ERR_OUT_OF_MEMORY. problem must outlive *out.
 */
tj_status tj_blocks_create(const tj_problem *problem, const tj_host_operand *scales, int64_t first, int64_t products,
                           tj_blocks **out, tj_error *err);

/** NULL: accepted. */
void tj_blocks_free(tj_blocks *blocks);

/** Take the value of an element of P, before it is quantised. blocks NULL: nothing happens. */
void tj_blocks_take(tj_blocks *blocks, int64_t product, int64_t row, int64_t col, tj_bounded value);

/** Return the stored scale of an element's block; blocks NULL: 1. */
double tj_blocks_scale(const tj_blocks *blocks, int64_t product, int64_t row, int64_t col);

/** Return the error of an element p, times its scale, over its bound: up to 1 passes. */
double tj_blocks_judge_element(const tj_blocks *blocks, int64_t product, int64_t row, int64_t col, tj_bounded value, double p);

/**
 * Return the same for the worst scale of the blocks all of whose values were taken. Above 1: why says which. blocks NULL: 0.
 */
double tj_blocks_judge(const tj_blocks *blocks, char why[TJ_BLOCKS_WHY_BYTES]);

/** Store the scales that follow from the values. blocks NULL: nothing happens. */
void tj_blocks_store(const tj_blocks *blocks);

/** Return the number of P's type that a kernel stores for a value, by the stored scale. */
double tj_blocks_quantize(const tj_blocks *blocks, int64_t product, int64_t row, int64_t col, long double value);

#endif
