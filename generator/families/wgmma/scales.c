/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scales: those along k, by which promoted parts of a sum are multiplied. Warps of the warpgroup that starts the copies bring
 * them to the ring, as floats, whatever their type and their layout: the warps that multiply read them where they read the rest.
 *
 * N of the source has a scale for each column, or one for a block of columns, of which a thread reads the few that its tile
 * touches.
 */
#include "form.h"

#include <stdio.h>
#include <string.h>

#include "checked.h"
#include "operand_table.h"
#include "parts/scales.h"
#include "steps.h"

enum { FLOAT_BYTES = 4, LEAST_BLOCK = 8, UNUSED = 2, MOST_BYTES = 256 };
enum { SCALERS = 3, PARTS_AT_ONCE = 4 };

static bool is_along_k(const tj_problem *view, bool is_m)
{
    return tj_scales_along_k(view, is_m ? TJ_MATRIX_M : TJ_MATRIX_N);
}

static int32_t rows_of(const tj_problem *view, bool is_m)
{
    return tj_scale_of(view, is_m ? TJ_MATRIX_M : TJ_MATRIX_N)->rows;
}

/* Does a whole number of blocks of columns end where 8 columns do, which a thread's accumulators are in groups of? */
static bool is_in_blocks(const tj_problem *view)
{
    return rows_of(view, false) % LEAST_BLOCK == 0; /* 0: one block */
}

bool tj_wgmma_scales_cols(const tj_problem *view)
{
    return is_along_k(view, false) && !is_in_blocks(view);
}

int32_t tj_wgmma_part_k(const tj_problem *view, const tj_wgmma_shape *s)
{
    const int32_t k = tj_scale_k(view);

    return s->promotes && k > 0 && k < s->bk ? k : s->bk;
}

bool tj_wgmma_takes_scales(const tj_problem *view)
{
    for (int is_m = 0; is_m < 2; is_m++) {
        const tj_which which = is_m ? TJ_MATRIX_M : TJ_MATRIX_N;
        const tj_scale *const s = tj_scale_of(view, which);
        const bool is_along = tj_scales_along_k(view, which);

        if (is_along ? s->zero != 0 || (s->k != 32 && s->k != 64 && s->k % TJ_WGMMA_LINE != 0)
                     : tj_scale_form(view, which) == TJ_SCALE_OF_ANY_FORM)
            return false;
    }
    return view->compute == TJ_COMPUTE_F32_FP8;
}

/* Return the rows (columns) of a tile from one of its scales to the next. Tiles begin at multiples of their height (width). */
static int32_t step_of(const tj_problem *view, const tj_wgmma_shape *s, bool is_m)
{
    return is_m || !is_in_blocks(view) ? 1 : tj_greatest_divisor(s->bn, rows_of(view, false));
}

/* Return the scales of one part that a place of the ring has, or has room for. */
static int32_t scales_of(const tj_problem *view, const tj_wgmma_shape *s, bool is_m)
{
    return is_along_k(view, is_m) ? (is_m ? s->bm : s->bn) / step_of(view, s, is_m) : UNUSED;
}

int32_t tj_wgmma_phase_scales(const tj_problem *view, const tj_wgmma_shape *s)
{
    return s->scales_parts ? s->bk / tj_wgmma_part_k(view, s) * (scales_of(view, s, true) + scales_of(view, s, false)) : 0;
}

int64_t tj_wgmma_scale_bytes(const tj_problem *view, const tj_wgmma_shape *s)
{
    return (int64_t)s->stages * tj_wgmma_phase_scales(view, s) * FLOAT_BYTES;
}

/* Return the parts whose scales are loaded at once. A phase has `parts`: one, two or four. */
static int32_t parts_at_once(const tj_wgmma_shape *s, int32_t parts)
{
    return s->gathers ? parts : PARTS_AT_ONCE;
}

/* ---- source ------------------------------------------------------------------------------------------------------- */

/* Describe how the scale of row (column) `at` is read, of the part of k with number `of_k` that begins at element `along`. */
static void describe_read(const tj_problem *view, bool is_m, bool ends_in_parts, tj_template_params *fill)
{
    const tj_which which = is_m ? TJ_MATRIX_M : TJ_MATRIX_N;
    const bool gathers = is_m && tj_is_gathered(view);
    char read[TJ_TEMPLATE_VALUE_BYTES], text[2 * TJ_TEMPLATE_VALUE_BYTES];

    tj_scales_print_read(view, (int)which, "of_k", "at", read);
    (void)snprintf(text, sizeof text, "%s%s%s%s%s", gathers ? "at >= 0" : "", gathers && ends_in_parts ? " && " : "",
                   ends_in_parts ? "along < k" : "", gathers || ends_in_parts ? " ? " : "", read);
    if (gathers || ends_in_parts)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), " : 0.0f");
    tj_template_set(fill, is_m ? "m_scale_read" : "n_scale_read", text);
    if (gathers)
        (void)snprintf(text, sizeof text, "from[i / LINES]");
    else
        (void)snprintf(text, sizeof text, "min(block_%s + (i + line) * %c_STEP, static_cast<index_t>(%s) - 1)",
                       is_m ? "row" : "col", is_m ? 'M' : 'N',
                       !is_m                 ? "l"
                       : tj_is_grouped(view) ? "all_rows"
                                             : "j");
    tj_template_set(fill, is_m ? "m_scale_at" : "n_scale_at", text);
    tj_template_set_int(fill, is_m ? "m_scale_k" : "n_scale_k", tj_scale_of(view, which)->k);
}

/* Print pointers to the scales of all products or groups, and to those of a tile's. */
static void print_pointers(const tj_problem *view, const char *product, tj_template_params *fill)
{
    tj_text all = TJ_TEXT_INIT(MOST_BYTES), one = TJ_TEXT_INIT(MOST_BYTES);

    for (int is_m = 0; is_m < 2; is_m++) {
        const tj_which which = is_m ? TJ_MATRIX_M : TJ_MATRIX_N;
        const bool by_group = tj_is_grouped(view) && !is_m;
        const char letter = is_m ? 'm' : 'n';
        const char *type;

        if (!is_along_k(view, is_m) || (by_group ? tj_group_count(view) : tj_matrix_count(view, which)) == 1)
            continue;
        type = tj_type_get_facts((tj_type)tj_scale_of(view, which)->type)->cuda;
        tj_text_print(&all, "const %s *const all_scales_%c = scale_%c;\n", type, letter, letter);
        tj_text_print(&one, "const %s *const scale_%c = all_scales_%c + %s * stride_scale_%c;\n", type, letter, letter,
                      by_group ? "group.number" : product, letter);
    }
    tj_template_take_lines(fill, "all_scales", &all);
    tj_template_take_lines(fill, "scales_of_product", &one);
}

/* Print pointers to what multiplies whole sums and belongs to N, of all groups, and of a tile's. */
static void print_pointers_of_groups(const tj_problem *view, tj_template_params *fill)
{
    tj_text all = TJ_TEXT_INIT(MOST_BYTES), one = TJ_TEXT_INIT(MOST_BYTES);

    for (int i = 0; i < TJ_SCALE_OPERANDS && tj_group_count(view) > 1; i++) {
        const tj_operand_row row = tj_operand_row_of(view, TJ_SCALES + i);

        if (tj_scale_operand_of(i) != TJ_MATRIX_N || !row.is_taken || tj_scale_operand_goes_along_k(view, i))
            continue;
        tj_text_print(&all, "const %s *const all_%s = %s;\n", tj_type_get_facts(row.type)->cuda, row.name, row.name);
        tj_text_print(&one, "%s = all_%s + group.number * stride_%s;\n", row.name, row.name, row.name);
    }
    tj_template_take_lines(fill, "all_of_groups", &all);
    tj_template_take_lines(fill, "those_of_group", &one);
}

void tj_wgmma_describe_pointers(const tj_problem *view, const char *product, tj_template_params *fill)
{
    print_pointers(view, product, fill);
    print_pointers_of_groups(view, fill);
}

/* Describe how many scales of M, or of N, a place of the ring has, and how they are brought. */
static void describe_side(const tj_problem *view, const tj_wgmma_shape *s, bool is_m, bool ends_in_parts,
                          tj_template_params *fill)
{
    const bool is_along = is_along_k(view, is_m);

    tj_template_set_int(fill, is_m ? "M_SCALES" : "N_SCALES", scales_of(view, s, is_m));
    tj_template_set_int(fill, is_m ? "M_STEP" : "N_STEP", is_along ? step_of(view, s, is_m) : 1);
    tj_template_set_of(fill, is_m, "load_m_scales", is_along ? "wgmma/load_scales.cuh" : "");
    tj_template_set_of(fill, is_m, "put_m_scales", is_along ? "wgmma/put_scales.cuh" : "");
    if (is_along)
        describe_read(view, is_m, ends_in_parts, fill);
}

/* Describe which warps bring scales, and of how many parts at once: of one phase, where others gather rows and registers are few. */
static void describe_bringers(const tj_wgmma_shape *s, int32_t parts, tj_template_params *fill)
{
    if (!s->scales_parts) {
        tj_template_set(fill, "SCALERS", "");
        tj_template_set(fill, "AT_ONCE", "");
        return;
    }
    tj_template_set_int(fill, "SCALERS", s->gathers ? 1 : SCALERS);
    tj_template_set_int(fill, "AT_ONCE", parts_at_once(s, parts));
}

void tj_wgmma_describe_scales(const tj_problem *view, const tj_wgmma_shape *s, tj_checks checks, const char *product,
                              tj_template_params *fill)
{
    const bool m = s->scales_parts && is_along_k(view, true), n = s->scales_parts && is_along_k(view, false);
    const int32_t part = tj_wgmma_part_k(view, s);
    char scaled[TJ_TEMPLATE_VALUE_BYTES];

    tj_template_set_flag(fill, "scales_parts", s->scales_parts);
    describe_bringers(s, s->bk / part, fill);
    tj_template_set(fill, "rows_of_scales", m && s->gathers ? "wgmma/rows_of_scales.cuh" : "");
    (void)snprintf(scaled, sizeof scaled, "%s%spart[i][%s]", m ? "m_scale[r + i] * " : "",
                   !n               ? ""
                   : s->scales_cols ? "n_scale[c] * "
                                    : "n_scale[c / (N_STEP / 4)] * ",
                   s->halves ? "c % (TN / 2)" : "c");
    tj_template_set(fill, "scaled_part", scaled);
    tj_template_set(fill, "m_scales", m ? "wgmma/scales_of_rows.cuh" : "");
    tj_template_set(fill, "n_scales", !n ? "" : s->scales_cols ? "wgmma/scales_of_cols.cuh" : "wgmma/scales_of_blocks.cuh");
    tj_template_set(fill, "unequal_zeros", part == s->k_step ? "wgmma/unequal_zeros.cuh" : "");
    if (s->promotes)
        tj_template_set_int(fill, "PART", part);
    else
        tj_template_set(fill, "PART", "");
    tj_wgmma_describe_pointers(view, product, fill);
    for (int is_m = 0; is_m < 2 && s->scales_parts; is_m++)
        describe_side(view, s, is_m, parts_at_once(s, s->bk / part) > s->bk / part || (checks.k && part < s->bk), fill);
}
