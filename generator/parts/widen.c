/* SPDX-License-Identifier: Apache-2.0 */
#include "widen.h"

#include "error.h"

static bool has_sign(const tj_problem *view)
{
    return view->m.type != TJ_U8 && view->n.type != TJ_U8;
}

tj_status tj_widen_check(const tj_problem *view, const char *family, tj_error *err)
{
    const int32_t leading = tj_leading_type(view->m.type, view->n.type);

    if (!tj_widens_weights(view->m.type, view->n.type) || leading == TJ_F16 || leading == TJ_BF16)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "family %s multiplies weights by f16 or bf16, not by %s: convert what is %s, or use the family skinny "
                   "or tiled",
                   family, tj_facts_of(leading)->name, tj_facts_of(leading)->name);
}

void tj_widen_describe(const tj_problem *view, tj_widen_copies copies, bool steps, tj_template_params *fill)
{
    const bool loads = copies.whole || copies.or_zero || copies.elements;

    tj_template_set(fill, "widen_words", loads || steps ? "parts/widen.cuh" : "");
    tj_template_set(fill, "weights_loaded",
                    copies.whole      ? "weights/load_whole.cuh"
                    : copies.or_zero  ? "weights/load_or_zero.cuh"
                    : copies.elements ? "weights/load_one_by_one.cuh"
                                      : "");
    tj_template_set(fill, "widen_two",
                    tj_leading_type(view->m.type, view->n.type) == TJ_F16 ? "weights/widen_to_f16.cuh"
                                                                          : "weights/widen_to_bf16.cuh");
    tj_template_set(fill, "store_widened", loads ? "weights/store_widened.cuh" : "");
    tj_template_set(fill, "unpack",
                    steps && (tj_type_is_pair(view->m.type) || tj_type_is_pair(view->n.type)) ? "weights/unpack.cuh" : "");
    tj_template_set(fill, "widened_word",
                    has_sign(view) ? "weights.element[word] ^ 0x80808080u;  // each 128 more" : "weights.element[word];");
    tj_template_set(fill, "f16_excess", has_sign(view) ? "0x64806480u));  // 1024 + 128" : "0x64006400u));");
    tj_template_set(fill, "bf16_excess", has_sign(view) ? "8388736.0f;  // 2^23 + 128" : "8388608.0f;");
}

/* widen converts a word of four weights; widen_two converts two, and for bf16 subtracts in f32. */
void tj_widen_count(const tj_problem *view, int64_t weights, tj_counts *counts)
{
    enum { WARP = 32, WORD = 4 };
    const bool is_f16 = tj_leading_type(view->m.type, view->n.type) == TJ_F16;

    counts->conversions += weights / (WARP * WORD) * (2 * (is_f16 ? 2 : 3) + has_sign(view));
    counts->sums += is_f16 ? 0 : weights;
}
