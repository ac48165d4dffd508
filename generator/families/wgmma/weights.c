/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weights: M of weights of 8 and 4 bits, whose factors come from registers (templates/wgmma/factors_of_weights.cuh).
 */
#include "form.h"

#include "checked.h"
#include "error.h"

enum { UNIT = 32 }; /* elements of k whose factors a lane makes at once */

tj_status tj_wgmma_check_parts(const tj_problem *view, const tj_wgmma_shape *s, tj_error *err)
{
    const int32_t k = tj_scale_k(view);

    if (k == 0 || !tj_widens_weights(view->m.type, view->n.type))
        return TJ_OK;
    if (s->weight_bits == 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "family wgmma multiplies weights by scales along k where these weights come from registers as M of the "
                       "source, which %s: use %s, or family mma",
                       tj_wgmma_has_weights(view) ? "transpose and pack decide" : "they are with the other swap",
                       tj_wgmma_has_weights(view)
                           ? "pack=none, transpose=registers and a tile whose sums fit the registers twice"
                       : s->swapped ? "swap=no"
                                    : "swap=yes");
    if (view->batch != 1)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "family wgmma multiplies weights by scales along k in one product, and the problem has a batch: use family "
            "mma or tiled");
    if (k % UNIT == 0 && (k % s->bk == 0 || s->bk % k == 0))
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "scales are for %d elements of k each, and family wgmma takes 32, 64, or a multiple of 128: use family mma "
                   "or tiled",
                   k);
}

/* Describe the parts of k that have one scale: several of a phase, or some phases. */
static void describe_parts(const tj_problem *view, const tj_wgmma_shape *s, tj_template_params *fill)
{
    const bool is_long = tj_scale_k(view) > s->bk;
    const bool whole = view->k.mode == TJ_DIM_FIXED && view->k.extent % s->bk == 0;

    tj_template_set_flag(fill, "ends_in_phase", !whole);
    tj_template_set(fill, "has_begun",
                    !is_long                        ? "unit * UNIT % SCALE_K > 0"
                    : s->splits > 1 || s->parts > 1 ? "unit > 0 || (phase > 0 && (k_begin + phase * BK) % SCALE_K > 0)"
                                                    : "unit > 0 || phase * BK % SCALE_K > 0");
    tj_template_set(fill, "ends_part",
                    !is_long ? "(unit + 1) * UNIT % SCALE_K == 0"
                    : s->splits > 1 || s->parts > 1
                        ? "unit + 1 == UNITS && ((k_begin + (phase + 1) * BK) % SCALE_K == 0 || phase + 1 == phases)"
                        : "unit + 1 == UNITS && ((phase + 1) * BK % SCALE_K == 0 || phase + 1 == phases)");
    tj_template_set(fill, "scale_at", "kk / SCALE_K * ld_scale_m + Row");
}

void tj_wgmma_describe_weights(const tj_problem *view, const tj_wgmma_shape *s, tj_template_params *fill)
{
    const bool pairs = s->weight_bits == 4;

    tj_template_set_flag(fill, "m_weights", s->weight_bits > 0);
    tj_template_set(fill, "line_t", tj_template_get(fill, s->weight_bits > 0 ? "n_t" : "m_t"));
    tj_template_set_flag(fill, "adds_parts", s->adds_parts);
    if (s->weight_bits == 0)
        return;
    describe_parts(view, s, fill);
    tj_template_set(fill, "take_factors", pairs ? "wgmma/take_4.cuh" : "wgmma/take_8.cuh");
    tj_template_set(fill, "m_line", pairs ? "BK / 2" : "BK");
    tj_template_set_int(fill, "m_bytes", s->bk * s->weight_bits / 8);
    tj_template_set(fill, "UNIT_BYTES", pairs ? "UNIT / 2" : "UNIT");
    tj_template_set(fill, "stored_k", pairs ? "kk / 2" : "kk");
    tj_template_set(fill, "first_chunk", pairs ? "m_row / 2 % 4" : "m_row % 8");
    tj_template_set(fill, "select",
                    pairs ? "lane % 4 * 0x11 + (lane % 4 + 4) * 0x1100" : "lane % 4 * 0x22 + (lane % 4 * 2 + 1) * 0x1100");
}
