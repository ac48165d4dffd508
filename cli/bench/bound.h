/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bound: the largest rounding error by the way a product is summed. A larger error means that the product is wrong.
 *
 * Two marks, both of which a product must meet:
 *   - per element, the worst case of rounding error: the criterion of tj_reference_check. It grows with k, and means
 *     little beyond k of 10^5;
 *   - over all, the rounding errors of random operands, relative to the root mean square of P.
 */
#ifndef TJ_CLI_BOUND_H
#define TJ_CLI_BOUND_H

#include <tilejit/tools.h>

/** The way of summing, as far as errors show it. */
typedef enum adder {
    ADDER_FMA,    /* FMAs, each rounded to nearest */
    ADDER_TENSOR, /* tensor cores */
    ADDER_PEER    /* likewise, but M and N may be truncated to tf32 instead of rounded */
} adder;

typedef struct bound {
    /* The ratio of tj_reference_check: the largest error / its bound. Above 1 if sums keep fewer bits than it assumes. */
    double elements;
    double rms; /* the largest error / the root mean square of P */
} bound;

/** Return the bound of a canonical problem. */
bound bound_of(const tj_problem *problem, adder who);

/** Is P within the bound? rms_error: its largest error / its root mean square. If not, why receives a sentence. */
int bound_is_kept(const bound *b, const tj_check_report *check, double rms_error, char why[TJ_ERROR_MESSAGE_BYTES]);

#endif
