/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantize: a P with scales that the kernel finds (tj_problem.scale[TJ_MATRIX_P]). A family whose threads hold whole blocks of P
 * between them quantises what it stores (tj_family.quantizes). For all others the product leaves P in f32 in the workspace
 * (after.h), and a kernel after it quantises it (templates/parts/quantize.cuh).
 */
#ifndef TJ_GENERATOR_QUANTIZE_H
#define TJ_GENERATOR_QUANTIZE_H

#include "family.h"
#include "template.h"

/**
 * Can the kernel that multiplies quantise P, because the four lanes that share a row of `cols` sums have whole blocks of it,
 * each with one scale? problem: the caller's, with such scales; cols: 0 if they are open. Two values of 4 bits that share a byte
 * are those of one lane, unless the epilogue takes pairs.
 */
bool tj_quantize_fits(const tj_problem *problem, int32_t cols, int32_t splits);

/** Describe the numbers of P's scales, whichever kernel finds them. */
void tj_quantize_describe_scale(const tj_problem *problem, tj_template_params *fill);

/** Add the kernel that quantises the P in the workspace (after.h). */
void tj_quantize_describe(const tj_problem *problem, const tj_problem *view, tj_template_params *fill, tj_launch_form *form);

/** Count the traffic of P's scales and, if a kernel after the product quantises, of that kernel: an estimate. */
void tj_quantize_count(const tj_problem *problem, bool is_after, tj_counts *counts);

#endif
