/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_scales: scales along k by which tensor cores multiply themselves: of MXFP8, MXFP4 and NVFP4. Lanes read those of four
 * neighbours along k of a row at once, as a word.
 */
#ifndef TJ_GENERATOR_BLOCK_SCALES_H
#define TJ_GENERATOR_BLOCK_SCALES_H

#include "scale.h"
#include "template.h"

/** Are M and N both of e2m1? Tensor cores multiply these only with scales in the instruction. */
static inline bool tj_is_fp4(const tj_problem *view)
{
    return view->m.type == TJ_E2M1 && view->n.type == TJ_E2M1;
}

/**
 * Return the scales that the instruction takes for a row of M or column of N, in one step: 1 of e8m0 for each 32 elements of k, of
 * e2m1 2 of these or 4 of e4m3 for each 16.
 */
static inline int32_t tj_block_scales_of_step(const tj_problem *view)
{
    return !tj_is_fp4(view) ? 1 : tj_scale_k(view) == 16 ? 4 : 2;
}

/** Can tensor cores multiply M and N by the scales in the instruction, which takes ones where there are none along k? */
bool tj_suits_block_scales(const tj_problem *view);

/** Return the word of four ones. */
const char *tj_block_scales_ones(const tj_problem *view);

/**
 * Describe where the scales of M, or of N, along k lie: "m_scale_at", that of element kk of row `row` (column `col`), and
 * "m_scale_step", from it to the next along k.
 */
void tj_block_scales_describe_read(const tj_problem *view, bool is_m, tj_template_params *fill);

#endif
