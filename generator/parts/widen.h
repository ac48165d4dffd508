/* SPDX-License-Identifier: Apache-2.0 */
/*
 * widen: weights of 8 and 4 bits become numbers of the 16 bits that they are multiplied by, before tensor cores take them
 * (templates/parts/widen.cuh): where a copy stores them to shared memory, or in a step ahead (pack.h).
 */
#ifndef TJ_GENERATOR_WIDEN_H
#define TJ_GENERATOR_WIDEN_H

#include "family.h"

/** The copies of a text that widen: all that is loaded at once is there, or it is checked, or each element is loaded alone. */
typedef struct tj_widen_copies {
    bool whole, or_zero, elements;
} tj_widen_copies;

/** The type of M or N where tensor cores take it: of weights that of the numbers which they are multiplied by. */
static inline int32_t tj_widened_type(const tj_problem *view, tj_which which)
{
    return tj_widens_weights(view->m.type, view->n.type) ? tj_leading_type(view->m.type, view->n.type)
                                                         : tj_problem_matrix(view, which)->type;
}

/** Do tensor cores of 16 bits multiply M and N once weights are widened? Errors: TJ_ERR_INVALID_ARGUMENT: no. */
tj_status tj_widen_check(const tj_problem *view, const char *family, tj_error *err);

/** The template's parameters, whether or not view has weights. steps: some are widened ahead, in a step. */
void tj_widen_describe(const tj_problem *view, tj_widen_copies copies, bool steps, tj_template_params *fill);

/** What a launch does that widens so many weights on their way to shared memory. */
void tj_widen_count(const tj_problem *view, int64_t weights, tj_counts *counts);

#endif
