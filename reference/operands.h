/* SPDX-License-Identifier: Apache-2.0 */
/* operands: random numbers for each operand of a problem, and scalars to go with them. */
#ifndef TJ_REFERENCE_OPERANDS_H
#define TJ_REFERENCE_OPERANDS_H

#include <tilejit/reference.h>

#include "canonical.h"

/** Return one of the operands after the matrices, by its number in the operand table. */
static inline const tj_host_operand *tj_host_operand_at(const tj_host_operands *x, int which)
{
    return which < TJ_ZEROS    ? &x->scale[which - TJ_SCALES]
           : which < TJ_WHOLES ? &x->zero[which - TJ_ZEROS]
           : which < TJ_WITH   ? &x->whole[which - TJ_WHOLES]
                               : &x->with[which - TJ_WITH];
}

/** Return one of them, to be changed. */
static inline tj_host_operand *tj_host_operand_in(tj_host_operands *x, int which)
{
    return (tj_host_operand *)tj_host_operand_at(x, which);
}

/**
 * As tj_fill_random, for one of the TJ_ADDRESSES of a problem, whose numbers are all known. Canonical. Keeps products of integers within
 * the range of P, because a P that is saturated everywhere shows little: M and N are then -1, 0 and 1, or scales are small.
 */
void tj_fill_operand(const tj_problem *problem, int which, void *destination, size_t count, uint64_t seed);

/** Draw the index of a problem whose rows of M are gathered: a row of M for each row, and now and then none. Canonical. */
void tj_draw_index(const tj_problem *problem, int32_t *index, uint64_t seed);

/**
 * Draw offsets of a problem with groups. Every row is in a group, and sizes are about the mean; some groups may be empty.
 * Canonical.
 */
void tj_draw_offsets(const tj_problem *problem, void *offsets, uint64_t seed);

/** Return the largest possible product of such an element of M and one of N. Canonical. */
double tj_largest_product(const tj_problem *problem);

/** Return an alpha and a beta that have an effect, if the problem has them. Integers if it takes integers. Canonical. */
double tj_trial_alpha(const tj_problem *problem);
double tj_trial_beta(const tj_problem *problem);

/** Return a different number for each numeric operand of an expression. */
double tj_trial_number(int operand);

#endif
