/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps: the kernels of a launch: how they are added, what they are called, and what their parameters receive.
 */
#ifndef TJ_GENERATOR_STEPS_H
#define TJ_GENERATOR_STEPS_H

#include "family.h"

/** The step that multiplies, to be filled in. */
static inline tj_launch_step *tj_step_product(tj_launch_form *form)
{
    return &form->step[form->product];
}

/**
 * One more kernel: directly ahead of the product, or behind all that there are. what ("reduce") is static text: it names the kernel,
 * and the template's parameter that has this name. Other steps may move. fill may be NULL, as in tj_family.describe.
 */
tj_launch_step *tj_step_add(const tj_problem *view, const char *what, bool is_ahead, tj_template_params *fill,
                            tj_launch_form *form);

/** tiled_f32_512x300x700, in the caller's dimensions; one that is passed keeps its letter. param receives it in the template. */
void tj_step_name(const tj_problem *view, const char *what, const char *param, tj_template_params *fill,
                  const tj_launch_form *form, tj_launch_step *step);

/**
 * The arguments of a step in the order of templates/parts/parameters.cuh. reads: M and N; writes: P. What does not do both has the
 * workspace between. The text's M is the caller's N where the two have changed places.
 */
void tj_step_list_args(const tj_problem *view, bool is_swapped, bool reads, bool writes, tj_launch_step *step);

/**
 * Say, when all steps are there, whether the product waits for a kernel ahead before it touches an operand (`awaits`), and then lets one
 * behind start (`has_dependents`). A short product that is the first kernel does both: it may start beside whatever is ahead in the
 * stream.
 */
void tj_step_describe_order(const tj_problem *view, tj_template_params *fill, tj_launch_form *form);

/** The outputs that the epilogue reduces rows or columns to, for the step that finishes them. */
void tj_step_list_results(const tj_problem *view, tj_launch_step *step);

#endif
