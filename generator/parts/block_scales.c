/* SPDX-License-Identifier: Apache-2.0 */
/* block_scales: which scales along k the tensor cores take, and where the source reads them. */
#include "parts/block_scales.h"

#include "canonical.h"
#include "parts/scales.h"

/* Does the instruction take the scales of M, or of N? k: the elements of k of those of the other, or 0. */
static bool suits_scale(const tj_problem *view, const tj_scale *scale)
{
    if (scale->k == 0)
        return scale->rows <= 1 && scale->zero == 0;
    return scale->k == tj_scale_k(view) && scale->zero == 0 &&
           (scale->type == TJ_E8M0 ? scale->k == 32 : scale->type == TJ_E4M3 && scale->k == 16 && tj_is_fp4(view));
}

static bool is_even(tj_dim dim)
{
    return dim.mode == TJ_DIM_FIXED ? dim.extent % 2 == 0 : dim.multiple_of > 1 && dim.multiple_of % 2 == 0;
}

bool tj_suits_block_scales(const tj_problem *view)
{
    const bool are_fp8 = tj_type_is_fp8(view->m.type) && tj_type_is_fp8(view->n.type),
               are_fp4 =
                   tj_is_fp4(view) && is_even(view->k) && view->m.layout == TJ_ROW_MAJOR && view->n.layout == TJ_COL_MAJOR;

    return (are_fp8 || are_fp4) && suits_scale(view, tj_scale_of(view, TJ_MATRIX_M)) &&
           suits_scale(view, tj_scale_of(view, TJ_MATRIX_N));
}

const char *tj_block_scales_ones(const tj_problem *view)
{
    return tj_block_scales_of_step(view) == 4 ? "0x38383838u" : "0x7f7f7f7fu";
}

void tj_block_scales_describe_read(const tj_problem *view, bool is_m, tj_template_params *fill)
{
    const tj_which which = is_m ? TJ_MATRIX_M : TJ_MATRIX_N;
    char text[TJ_TEMPLATE_VALUE_BYTES];

    tj_scales_print_read(view, (int)which, "kk / SCALE_K", is_m ? "row" : "col", text);
    tj_template_set_of(fill, is_m, "m_scale_at", text);
    tj_template_set_of(fill, is_m, "m_scale_step",
                       tj_scale_of(view, which)->layout != TJ_SCALES_PART_BY_PART ? "1"
                       : is_m                                                     ? "ld_scale_m"
                                                                                  : "ld_scale_n");
}
