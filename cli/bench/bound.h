/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bound: how large errors may be, by how a product was summed. What is larger is no rounding error: the product is wrong.
 *
 * Two marks, both of which a product must meet:
 *   - per element, the worst case of rounding error: the criterion of tj_reference_check. It grows with k, and beyond
 *     k of 10^5 says little;
 *   - over all, what rounding errors of random operands come to, by the root mean square of P.
 */
#ifndef TJ_CLI_BOUND_H
#define TJ_CLI_BOUND_H

#include <tilejit/tilejit.h>

/** Who sums, as far as errors show it. */
typedef enum adder {
    ADDER_FMA,    /* multiply-adds, each rounded to nearest */
    ADDER_TENSOR, /* tensor cores */
    ADDER_PEER    /* the same, and what M and N lose on the way to tf32 may be cut off, not rounded */
} adder;

typedef struct bound {
    /* Of tj_reference_check: the largest error / its bound. More than 1 where fewer bits are summed than that counts. */
    double elements;
    double rms; /* the largest error / the root mean square of P */
} bound;

/** Of a canonical problem. */
bound bound_of(const tj_problem *problem, adder who);

/** Is P within it? rms_error: its largest error / its root mean square. If not, why receives a sentence. */
int bound_is_kept(const bound *b, const tj_check_report *check, double rms_error, char why[TJ_ERROR_MESSAGE_BYTES]);

#endif
