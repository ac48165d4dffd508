/* SPDX-License-Identifier: Apache-2.0 */
/*
 * after: the kernel that finishes P (tj_is_finished), if the product's own kernel does not. The product leaves its P in the
 * workspace (tj_problem_unfinished), and the kernel after it quantises that (quantize.h) or adds up rows of it (combine_rows.h).
 */
#ifndef TJ_GENERATOR_AFTER_H
#define TJ_GENERATOR_AFTER_H

#include "family.h"
#include "template.h"

/** Does a kernel after the product finish P? problem: the caller's; view: as the source sees it. */
bool tj_after_follows(const tj_problem *problem, const tj_problem *view);

/** Refuse a P in the workspace whose size 63 bits do not hold, or more products than the kernel after the family's counts. */
tj_status tj_after_check(const tj_problem *problem, const tj_problem *view, const tj_family *family, tj_error *err);

/**
 * Add the kernel after the product, with its part of the workspace, and describe the scales of P whichever kernel finds them. Do
 * nothing if nothing is left to finish. form: described by the family.
 */
void tj_after_describe(const tj_problem *problem, const tj_problem *view, tj_template_params *fill, tj_launch_form *form);

/** Return the template of the kernel after the product. */
const char *tj_after_template(const tj_problem *problem);

/** Let the kernels before the last store P to the workspace. Last, when parameters are printed: the source calls both P. */
void tj_after_redirect(const tj_problem *problem, const tj_problem *view, tj_launch_form *form);

/** Count the traffic of the kernel after the product, and of P's scales: an estimate. */
void tj_after_count(const tj_problem *problem, const tj_problem *view, tj_counts *counts);

/* ---- for the kernels after the product ---------------------------------------------------------------------------- */

/** The part of the workspace with the product's P: an index of tj_launch_form.slice. */
enum { TJ_AFTER_SLICE = TJ_LAUNCH_MAX_SLICES - 1 };

#endif
