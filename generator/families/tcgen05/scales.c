/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scales: those along k, by which the tensor cores multiply, of MXFP8, MXFP4 and NVFP4. Two warps read them, however they lie, and lay
 * them in shared memory as tensor memory takes them, to which the thread that multiplies has them copied.
 */
#include "form.h"

#include <stdio.h>

#include "checked.h"
#include "parts/block_scales.h"
#include "steps.h"

enum { WORD_BYTES = 4, COPIED_ROWS = 128, COPIED_COLUMNS = 4 };

bool tj_tcgen05_scales_products(const tj_problem *view)
{
    return tj_is_fp4(view) || tj_scale_k(view) > 0;
}

bool tj_tcgen05_takes_scales(const tj_problem *view)
{
    return tj_suits_block_scales(view);
}

bool tj_tcgen05_turns_signs(const tj_problem *view)
{
    return tj_is_fp4(view) && tj_scale_k(view) == 16;
}

/* Return the copies of a phase's scales to tensor memory. */
static int32_t copies_of(const tj_tcgen05_shape *s)
{
    return s->words * (int32_t)(tj_ceil_div(s->w.bm, COPIED_ROWS) + tj_ceil_div(s->w.bn, COPIED_ROWS));
}

int32_t tj_tcgen05_scale_columns(const tj_tcgen05_shape *s)
{
    return copies_of(s) * COPIED_COLUMNS;
}

int64_t tj_tcgen05_scale_bytes(const tj_tcgen05_shape *s)
{
    return (int64_t)copies_of(s) * COPIED_ROWS * WORD_BYTES;
}

/* Describe how threads read the scales of M, or of N; without scales they are ones. */
static void describe_side(const tj_problem *view, const tj_tcgen05_shape *s, bool is_m, tj_template_params *fill)
{
    const bool is_along = tj_scales_along_k(view, is_m ? TJ_MATRIX_M : TJ_MATRIX_N);

    tj_template_set_of(fill, is_m, "m_read_scales", is_along ? "tcgen05/read_scales.cuh" : "tcgen05/ones.cuh");
    tj_template_set_of(fill, is_m, "m_end",
                       !is_m                 ? "static_cast<index_t>(l)"
                       : tj_is_grouped(view) ? "static_cast<index_t>(all_rows)"
                                             : "static_cast<index_t>(j)");
    tj_template_set_of(fill, is_m, "m_in_tile",
                       !is_m && s->w.paired ? "i * SCALERS + own - rank * (BN / 2)" : "i * SCALERS + own");
    if (is_along)
        tj_block_scales_describe_read(view, is_m, fill);
}

void tj_tcgen05_describe_scales(const tj_problem *view, const tj_tcgen05_shape *s, bool checks_k, tj_template_params *fill)
{
    const int32_t of_step = tj_block_scales_of_step(view);
    const bool has_scales = s->words > 0;
    char text[TJ_TEMPLATE_VALUE_BYTES];

    tj_template_set_flag(fill, "scales_products", has_scales);
    tj_template_set(fill, "multiply", has_scales ? "tcgen05/multiply_scaled.cuh" : "tcgen05/multiply_unscaled.cuh");
    tj_template_set(fill, "columns_of", has_scales ? "twice BN and those of scales" : "twice BN");
    tj_template_set(fill, "own_field", has_scales ? "SCALE_TYPE << 23" : "SUM_TYPE << 4");
    if (!has_scales)
        return;
    tj_template_set_int(fill, "SCALE_TYPE", of_step == 4 ? 0 : 1);
    tj_template_set(fill, "scale_type_name", of_step == 4 ? "e4m3" : "e8m0");
    tj_template_set_int(fill, "SCALES_OF_STEP", of_step);
    tj_template_set_int(fill, "SCALE_WORDS", s->words);
    tj_template_set_flag(fill, "reads_scales", tj_scale_k(view) > 0);
    tj_template_set_flag(fill, "turns_signs", tj_tcgen05_turns_signs(view));
    tj_template_set(fill, "stored_k", "kk / 2");
    tj_template_set(fill, "ones", tj_block_scales_ones(view));
    (void)snprintf(text, sizeof text, "tcgen05.mma.cta_group::%d.kind::%s", s->w.paired ? 2 : 1,
                   !tj_is_fp4(view) ? "mxf8f6f4.block_scale"
                   : of_step == 4   ? "mxf4nvf4.block_scale.scale_vec::4X"
                                    : "mxf4.block_scale.scale_vec::2X");
    tj_template_set(fill, "mma_name", text);
    for (int is_m = 0; is_m < 2; is_m++)
        describe_side(view, s, is_m, fill);
    tj_template_set(fill, "scales_left", checks_k ? "k - kk" : "4 * SCALE_K");
}
