/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reference.h: the oracle: a cache-blocked product on the CPU, and the test that a computed P must pass.
 *
 * The same idea as the tiled kernel, on the other machine: blocks of M and N that fit the cache take the place of Mds
 * and Nds.
 */
#ifndef TILEJIT_REFERENCE_H
#define TILEJIT_REFERENCE_H

#include <tilejit/problem.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Host matrices, laid out as the problem says; for TJ_POINTERS and TJ_POINTERS_16, an array of host addresses. So is P. */
typedef struct tj_host_operands {
    const void *m, *n, *c; /**< c: read if the problem has_beta and beta is not 0 */
    double alpha, beta;
} tj_host_operands;

/** What a check found. */
typedef struct tj_check_report {
    int passed;             /**< 1: every checked element within its bound, of the reference's class; see below */
    int64_t elements;       /**< checked */
    int64_t elements_total; /**< of P, batch included */
    double max_error;       /**< largest |P - reference| */
    double max_ratio;       /**< largest error / bound: passes up to 1 */
    double max_relative;    /**< largest error / |reference| over elements where the reference is not 0 */
    double norm;            /**< Frobenius norm of the checked part of the reference */
    int64_t worst_batch, worst_row, worst_col; /**< where max_ratio is */
    double worst_value, worst_reference;
    char reason[160]; /**< "" if passed; else a sentence */
} tj_check_report;

/**
 * Compare a computed P with the product in float64 (for f64: a compensated sum, about twice that precision).
 *
 * Pass criterion, per element:  |P - R| <= gamma(k + 2) * (|alpha| * |M| . |N| + |beta| * |C|) + u_p * |R| + the smallest
 * subnormal of P's type, with gamma(n) = n * u / (1 - n * u), u the unit roundoff of the accumulation (2^-24, f64: 2^-53) and
 * u_p that of P's type: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1 and 3.5. (Two terms of no
 * other effect are added: half a subnormal number for every rounding, and u_p of the first term.) Where the operands force a zero
 * (a zero factor, k = 0), only a zero passes. NaN and infinity must be where the reference has them, with its sign; without any in
 * the operands, an element that may overflow on the way to its sum, but need not, may also be infinite or NaN.
 *
 * The bound grows with k, for f32 past the elements themselves at k of about 10^5. Whatever k is, a P that is zero everywhere, or
 * the same number everywhere, does not pass where the product is not.
 *
 * max_flop bounds the work: beyond it whole rows of P are sampled, evenly spread, first and last included, and
 * report->elements says how many elements that was. 0 means 2e11.
 *
 * NULL:    only err may be NULL. All dimensions, leading dimensions and strides must be known (no TJ_ANY, no TJ_DIM_ANY).
 * Threads: any; uses up to threads threads of its own (0: one per processor).
 * Errors:  TJ_ERR_INVALID_ARGUMENT, TJ_ERR_OUT_OF_MEMORY. A product that fails the check is no error: see passed.
 */
TJ_API TJ_MUST_CHECK tj_status tj_reference_check(const tj_problem *problem, const tj_host_operands *operands, const void *p,
                                                  double max_flop, int threads, tj_check_report *report, tj_error *err);

/**
 * The product itself, rounded once to P's type, written to p (padding between rows is left alone). What a machine with
 * neither GPU nor emulator can still compute, and what tests compare with.
 * NULL, Threads, Errors: as tj_reference_check.
 */
TJ_API TJ_MUST_CHECK tj_status tj_reference_product(const tj_problem *problem, const tj_host_operands *operands, void *p,
                                                    int threads, tj_error *err);

/**
 * Compare count elements of one product, in P's type, with those of another that was computed from the same operands, all drawn by
 * tj_fill_random, in whatever order of sums. The index of the first pair that no order explains, -1 if there is none. Much tighter than
 * the bound of tj_reference_check for a long k, and for such operands alone.
 *
 * The error of a sum of k terms from [-1, 1] stays below u * k whatever its order, and far below for most elements: four times that
 * leaves room for both products, and is still much less than one term.
 * NULL: none may be NULL unless count is 0. Threads: any; pure.
 */
TJ_API int64_t tj_compare_random_products(const tj_problem *problem, double alpha, const void *p, const void *other,
                                          int64_t count);

/** Elements that a stored matrix spans, first to last, batch included (not where pointers lead to each, see
 * tj_problem_strided): what a buffer must hold. which: 'M', 'N', 'P', 'C'
 * (0 without has_beta). An extent that is an argument counts as the one to launch with. -1: a leading dimension, a stride or the
 * batch it depends on is TJ_ANY, extents of a launch give a span that 63 bits do not count, or which is no matrix. The problem must have passed tj_problem_check. NULL: not problem. */
TJ_API int64_t tj_problem_span(const tj_problem *problem, char which);

/** Convert count elements between types, rounding once to nearest even, as the GPU does; the same type is copied bit for bit.
 * NULL: neither may be NULL unless count is 0. */
TJ_API void tj_convert(tj_dtype to, void *destination, tj_dtype from, const void *source, size_t count);

/** Fill with reproducible values in [-1, 1], uniform, from a seed (splitmix64). */
TJ_API void tj_fill_random(tj_dtype dtype, void *destination, size_t count, uint64_t seed);

#ifdef __cplusplus
}
#endif
#endif
