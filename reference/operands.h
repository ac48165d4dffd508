/* SPDX-License-Identifier: Apache-2.0 */
/* operands: random numbers for each operand and list of a problem, and scalars to go with them. */
#ifndef TJ_REFERENCE_OPERANDS_H
#define TJ_REFERENCE_OPERANDS_H

#include <tilejit/reference.h>

#include "canonical.h"
#include "list_table.h"

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

/** Draw one of the lists of a problem, whose numbers are all known: tj_list_bytes. Canonical. */
void tj_draw_list(const tj_problem *problem, tj_list list, void *numbers, uint64_t seed);

/**
 * Return the row of P for a row of the product, as a drawn p_index says. The last one comes first: the row itself if rows are
 * scattered, or the `combined` neighbours that a row of P adds up, the last of them first. Without an index it is the row.
 */
int64_t tj_drawn_row_of_p(const tj_problem *problem, int64_t row);

/** Return the place of a row of the product in a drawn p_index of combined rows, and in p_factor. */
int64_t tj_drawn_place_in_sum(const tj_problem *problem, int64_t row);

/** Return the largest possible product of such an element of M and one of N. Canonical. */
double tj_largest_product(const tj_problem *problem);

/** Return an alpha and a beta that have an effect, if the problem has them. Integers if it takes integers. Canonical. */
double tj_trial_alpha(const tj_problem *problem);
double tj_trial_beta(const tj_problem *problem);

/** Return a different number for each numeric operand of an expression. */
double tj_trial_number(int operand);

#endif
