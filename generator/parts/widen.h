/* SPDX-License-Identifier: Apache-2.0 */
/*
 * widen: convert weights of 8 and 4 bits to the type that they are multiplied by, before tensor cores read them
 * (templates/parts/widen.cuh): where a copy stores them to shared memory, or in a kernel before the product (pack.h).
 */
#ifndef TJ_GENERATOR_WIDEN_H
#define TJ_GENERATOR_WIDEN_H

#include "family.h"

/** The copies that widen, by how they load: unchecked, checked, or each element alone. */
typedef struct tj_widen_copies {
    bool whole, or_zero, elements;
} tj_widen_copies;

/** Return the type of M or N as tensor cores read it: for weights, the type of the other operand. */
static inline int32_t tj_widened_type(const tj_problem *view, tj_which which)
{
    return tj_widens_weights(view->m.type, view->n.type) ? tj_leading_type(view->m.type, view->n.type)
                                                         : tj_problem_matrix(view, which)->type;
}

/** Are weights multiplied by e4m3? Those have 4 bits, and four of them become a register of e4m3 (widen_four). */
static inline bool tj_widens_to_fp8(const tj_problem *view)
{
    return tj_widens_weights(view->m.type, view->n.type) && tj_leading_type(view->m.type, view->n.type) == TJ_E4M3;
}

/**
 * The instructions of widen_neighbour (templates/weights), which makes two numbers of 16 bits of a register with weights, or of
 * widen_four.
 */
typedef struct tj_widening {
    int32_t first, all;    /* for the first neighbours of a register, and for all that it holds, without multiply-adds */
    int32_t multiply_adds; /* for each two numbers */
} tj_widening;

/** Return those of the weights of view, which must hold some. */
tj_widening tj_widening_of(const tj_problem *view);

/** Return the number that widen_neighbour adds last, and a caller may name instead, less a zero point; 0: it adds none. */
int32_t tj_widening_adds(const tj_problem *view);

/** Can widen_neighbour take off any zero point of this type exactly, with the number that it adds last or after it? */
bool tj_widening_takes_zero(const tj_problem *view, int32_t zero);

/** Do tensor cores multiply M and N once weights are widened? Errors: TJ_ERR_INVALID_ARGUMENT: they do not. */
tj_status tj_widen_check(const tj_problem *view, const char *family, tj_error *err);

/** Set the template's parameters, whether or not view has weights. steps: a kernel before the product widens some of them. */
void tj_widen_describe(const tj_problem *view, tj_widen_copies copies, bool steps, tj_template_params *fill);

/** Count the work of widening `weights` weights on their way to shared memory. */
void tj_widen_count(const tj_problem *view, int64_t weights, tj_counts *counts);

#endif
