/* SPDX-License-Identifier: Apache-2.0 */
/*
 * invariant: the one order in which the products of an element are added if the rows of P are invariant (tj_invariant). It is
 * a function of the types and of what a problem computes, never of j, the batch or the rows. Families state the order of each
 * of their configs (tj_family.sum_order), and the generator refuses those with another one.
 */
#ifndef TJ_PROBLEM_INVARIANT_H
#define TJ_PROBLEM_INVARIANT_H

#include <stdbool.h>

#include <tilejit/problem.h>

typedef enum tj_sum_order {
    TJ_SUMS_OWN,      /* of a config: an order of its own. Of a problem: any order will do */
    TJ_SUMS_EXACT,    /* integers, of which every order gives the same sum */
    TJ_SUMS_IN_CHAIN, /* one fused multiply-add after the other, from the first element of k to the last, in the compute type; of
                         complex numbers first the real part of M times both parts of N, then the imaginary part */
    TJ_SUMS_IN_PARTS, /* 8-bit floats by wgmma: one accumulator of few bits for each part of k (of 128, or with scales of its own),
                         which is then added in f32 */
    TJ_SUMS_BY_TENSOR_CORES /* 32 bytes of k of the wider operand at once (8-bit floats as f16), in order, by one accumulator; with
                               scales along k, by one for each part, which are then added in order */
} tj_sum_order;

/** Return the order that kernels of a canonical problem must keep. */
tj_sum_order tj_sum_order_of(const tj_problem *problem);

/** Must kernels of this problem be invariant, so that no choice of a compiler may change a bit? */
static inline bool tj_is_invariant(const tj_problem *problem)
{
    return problem->invariant != TJ_INVARIANT_NOTHING;
}

/** Refuse an invariant that no kernel can keep. words: types, compute and scales are named (tj_problem_words). */
tj_status tj_invariant_check(const tj_problem *words, tj_error *err);

#endif
