/* SPDX-License-Identifier: Apache-2.0 */
#include "widen.h"

#include <stdio.h>

#include "error.h"

static int32_t weights_of(const tj_problem *view)
{
    return tj_is_weights(view, TJ_MATRIX_M) ? view->m.type : view->n.type;
}

/* Where two of e2m1 are alone in their half of a word, a product brings their bits to both places in a bfloat16. */
static bool is_by_product(const tj_problem *view)
{
    return tj_has_repacked(view) && weights_of(view) == TJ_E2M1 && tj_leading_type(view->m.type, view->n.type) == TJ_BF16;
}

tj_widening tj_widening_of(const tj_problem *view)
{
    static const tj_widening to_f16[] = {
        [TJ_S4] = {1, 7, 1}, [TJ_U4] = {1, 7, 1},   [TJ_E2M1] = {4, 15, 1}, [TJ_S8] = {2, 3, 1},
        [TJ_U8] = {1, 2, 1}, [TJ_E4M3] = {2, 4, 0}, [TJ_E5M2] = {1, 2, 0}};
    static const tj_widening to_bf16[] = {
        [TJ_S4] = {1, 7, 1}, [TJ_U4] = {1, 7, 1},    [TJ_E2M1] = {4, 15, 1}, [TJ_S8] = {2, 5, 1},
        [TJ_U8] = {2, 5, 2}, [TJ_E4M3] = {7, 13, 1}, [TJ_E5M2] = {7, 13, 1}};
    static const tj_widening to_fp8 = {5, 5, 0}; /* three permutations, a shift, and its bits among those of a number */

    static const tj_widening e2m1_by_product = {3, 13, 1};

    if (tj_widens_to_fp8(view))
        return to_fp8;
    if (is_by_product(view))
        return e2m1_by_product;
    return tj_leading_type(view->m.type, view->n.type) == TJ_F16 ? to_f16[weights_of(view)] : to_bf16[weights_of(view)];
}

int32_t tj_widening_adds(const tj_problem *view)
{
    static const int32_t to_f16[] = {[TJ_S4] = -1032, [TJ_U4] = -1024, [TJ_S8] = -1152, [TJ_U8] = -1024},
                         to_bf16[] = {[TJ_S4] = -136, [TJ_U4] = -128, [TJ_S8] = 0, [TJ_U8] = 128};

    return tj_leading_type(view->m.type, view->n.type) == TJ_F16 ? to_f16[weights_of(view)] : to_bf16[weights_of(view)];
}

/* bf16 has the whole numbers up to 256, f16 those up to 2048. */
bool tj_widening_takes_zero(const tj_problem *view, int32_t zero)
{
    return tj_facts_of(zero)->is_integer && !tj_widens_to_fp8(view) &&
           (tj_leading_type(view->m.type, view->n.type) == TJ_F16 || zero == TJ_U4 || zero == weights_of(view));
}

tj_status tj_widen_check(const tj_problem *view, const char *family, tj_error *err)
{
    const int32_t leading = tj_leading_type(view->m.type, view->n.type);

    if (!tj_widens_weights(view->m.type, view->n.type) || leading == TJ_F16 || leading == TJ_BF16 || leading == TJ_E4M3)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "family %s multiplies weights by f16, bf16 or e4m3, not by %s: convert what is %s, or use the family skinny "
                   "or tiled",
                   family, tj_facts_of(leading)->name, tj_facts_of(leading)->name);
}

void tj_widen_describe(const tj_problem *view, tj_widen_copies copies, bool steps, tj_template_params *fill)
{
    const int32_t leading = tj_leading_type(view->m.type, view->n.type);
    const bool loads = copies.whole || copies.or_zero || copies.elements, pairs = tj_holds_pairs(view),
               by_product = is_by_product(view);
    char widen[TJ_TEMPLATE_VALUE_BYTES] = "";

    if (tj_widens_weights(view->m.type, view->n.type) && leading != TJ_F32)
        (void)snprintf(widen, sizeof widen, "weights/%s%s_to_%s.cuh", by_product ? "repacked_" : "",
                       tj_facts_of(weights_of(view))->name, tj_facts_of(leading)->name);
    tj_template_set(fill, "widen_neighbour", widen);
    tj_template_set(fill, "e2m1_places", by_product ? "weights/repacked_e2m1_places.cuh" : "weights/e2m1_places.cuh");
    tj_template_set(fill, "two_t", leading == TJ_F16 ? "f16x2" : "bf16x2");
    tj_template_set(fill, "two_ones", leading == TJ_F16 ? "0x3c003c00u" : "0x3f803f80u");
    tj_template_set(fill, "widen_words", loads || steps ? "parts/widen.cuh" : "");
    tj_template_set(fill, "widen",
                    tj_widens_to_fp8(view) ? "weights/widen_fours.cuh"
                    : pairs                ? "weights/widen_pairs.cuh"
                                           : "weights/widen_bytes.cuh");
    tj_template_set(fill, "pairs_t", tj_widens_to_fp8(view) ? "unsigned long long" : "unsigned int");
    tj_template_set(fill, "half_byte", tj_widens_to_fp8(view) ? "0xfull" : "0xfu");
    tj_template_set(fill, "widened_bits", tj_widens_to_fp8(view) ? "8" : "16");
    tj_template_set(fill, "weights_loaded",
                    copies.whole      ? "weights/load_whole.cuh"
                    : copies.or_zero  ? "weights/load_or_zero.cuh"
                    : copies.elements ? "weights/load_one_by_one.cuh"
                                      : "");
    tj_template_set(fill, "store_widened", loads ? "weights/store_widened.cuh" : "");
}

/* widen spreads and converts each two weights. */
void tj_widen_count(const tj_problem *view, int64_t weights, tj_counts *counts)
{
    enum { WARP = 32, TWO = 2 };
    const tj_widening w = tj_widening_of(view);

    counts->conversions += weights / (WARP * TWO) * (1 + w.first);
    counts->work[TJ_PIPE_F16] += 2 * weights * w.multiply_adds;
}
