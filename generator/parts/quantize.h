/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize: a P with scales that the kernel finds (tj_problem.scale[TJ_MATRIX_P]). A family whose threads hold whole blocks of P
 * between them quantises what it stores (tj_family.quantizes). For all others the product leaves P in f32 in the workspace
 * (tj_problem_unquantized), and a kernel after it quantises it (templates/parts/quantize.cuh).
 */
#ifndef TJ_GENERATOR_QUANTIZE_H
#define TJ_GENERATOR_QUANTIZE_H

#include "family.h"
#include "template.h"

/** Does a kernel after the product quantise P? problem: the caller's; view: as the source sees it. */
bool tj_quantizes_later(const tj_problem *problem, const tj_problem *view);

/** Refuse a P in the workspace whose size 63 bits do not hold, or more products than the kernel after the family's counts. */
tj_status tj_quantize_check(const tj_problem *problem, const tj_problem *view, const tj_family *family, tj_error *err);

/**
 * Can the kernel that multiplies quantise P, because the four lanes that share a row of `cols` sums have whole blocks of it,
 * each with one scale? problem: the caller's, with such scales; cols: 0 if they are open.
 */
bool tj_quantize_fits(const tj_problem *problem, int32_t cols, int32_t splits);

/**
 * Describe the numbers of P's scales, and add the kernel after the product if it quantises, with its part of the workspace. Do
 * nothing if P has no scales. form: described by the family.
 */
void tj_quantize_describe(const tj_problem *problem, const tj_problem *view, tj_template_params *fill, tj_launch_form *form);

/**
 * Let the kernels before the one that quantises store P to the workspace. Last, when parameters are printed: the source calls
 * both P.
 */
void tj_quantize_redirect(const tj_problem *problem, const tj_problem *view, tj_launch_form *form);

/** Count the traffic of the kernel after the product: an estimate. */
void tj_quantize_count(const tj_problem *problem, const tj_problem *view, tj_counts *counts);

#endif
