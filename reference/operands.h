/* SPDX-License-Identifier: Apache-2.0 */
/* operands: random numbers for each operand of a problem, and scalars to go with them. */
#ifndef TJ_REFERENCE_OPERANDS_H
#define TJ_REFERENCE_OPERANDS_H

#include <tilejit/reference.h>

/**
 * As tj_fill_random, for one of the TJ_ADDRESSES of a problem, whose numbers are all known. Products of integers are kept within what
 * P holds, because a P that is saturated everywhere says little: M and N are -1, 0 and 1 then, or scales are small.
 */
void tj_fill_operand(const tj_problem *problem, int which, void *destination, size_t count, uint64_t seed);

/** Offsets of a problem with groups, so that every row is of some group, of about the mean size; some groups may be empty. Canonical. */
void tj_draw_offsets(const tj_problem *problem, void *offsets, uint64_t seed);

/** The largest that a product of two such elements of M and N can be. */
double tj_largest_product(const tj_problem *problem);

/** An alpha and a beta that change something, if the problem has them. Integers where it takes these. */
double tj_trial_alpha(const tj_problem *problem);
double tj_trial_beta(const tj_problem *problem);

/** So many different ones for numbers of an expression. */
double tj_trial_number(int operand);

#endif
