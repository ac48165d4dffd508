/* SPDX-License-Identifier: Apache-2.0 */
#include "textbook.h"

#include <stdio.h>
#include <string.h>

#include "checked.h"
#include "reductions.h"
#include "scales.h"
#include "steps.h"

static const int32_t widths[][TJ_FAMILY_START_PARAMS] = {{32}, {16}, {8}};

const tj_family_values tj_textbook_widths = {sizeof widths / sizeof widths[0], widths};

tj_tile tj_textbook_tile(const tj_problem *problem, const tj_config *config)
{
    (void)problem;
    const int32_t width = tj_config_get(config, "tile_width");

    return (tj_tile){width, width, width, "TILE_WIDTH", "TILE_WIDTH", "TILE_WIDTH"};
}

static tj_reduction_slots slots_of(const tj_problem *view, int32_t tile_width)
{
    return (tj_reduction_slots){.of_row = tj_ceil_div(view->l.extent, tile_width),
                                .of_col = tj_ceil_div(view->j.extent, tile_width)};
}

/* Print the number of the part of k that has element k, of a matrix whose scales are for `each` elements. */
static void print_part(const tj_problem *view, int32_t each, const char *k, char part[TJ_TEMPLATE_NAME_BYTES])
{
    if (each == tj_scale_k(view))
        (void)snprintf(part, TJ_TEMPLATE_NAME_BYTES, "%s / SCALE_K", k);
    else
        (void)snprintf(part, TJ_TEMPLATE_NAME_BYTES, "%s / %d", k, each);
}

/* Set how an element is read: "M[Row * ld_m + k_tx]", less its zero point. */
static void describe_element(const tj_problem *view, tj_which which, tj_scales_place at, const char *name,
                             tj_template_params *params)
{
    const tj_matrix *const matrix = tj_problem_matrix(view, which);
    const tj_scale *const scale = tj_scale_of(view, which);
    const bool along_k = (matrix->layout == TJ_ROW_MAJOR) == (which == TJ_MATRIX_M);
    const char *const line = along_k ? at.other : at.k, *const index = along_k ? at.k : at.other;
    const char letter = "mn"[which], matrix_letter = "MN"[which];
    char zero[TJ_TEMPLATE_VALUE_BYTES] = "", part[TJ_TEMPLATE_NAME_BYTES], value[3 * TJ_TEMPLATE_VALUE_BYTES];

    if (scale->zero != 0) {
        print_part(view, scale->k, at.k, part);
        tj_scales_print_read(view, TJ_ZEROS - TJ_SCALES + (int)which, part, at.other, zero);
    }
    if (tj_is_repacked(view, which)) /* templates/parts/repacked.cuh */
        (void)snprintf(value, sizeof value, "%c[%s * ld_%c + place_of(%s) / 2][place_of(%s) %% 2]%s%s", matrix_letter, line,
                       letter, index, index, *zero ? " - " : "", zero);
    else if (tj_type_is_pair(matrix->type))
        (void)snprintf(value, sizeof value, "%c[%s * ld_%c + %s / 2][%s %% 2]%s%s", matrix_letter, line, letter, index, index,
                       *zero ? " - " : "", zero);
    else
        (void)snprintf(value, sizeof value, "%c[%s * ld_%c + %s]%s%s", matrix_letter, line, letter, index, *zero ? " - " : "",
                       zero);
    tj_template_set(params, name, value);
}

/*
 * Print how the sum of a part of k is scaled, and added. In a family that shares loads, threads beyond the edge of P come here
 * too, and have no scales.
 */
static void print_scaled_part(const tj_problem *view, const tj_config *config, tj_checks checks, tj_template_params *params)
{
    static const char *const inside[][4] = {
        {"", "if (Row < j) {\n", "if (Col < l) {\n", "if (Row < j && Col < l) {\n"},
        {"if (from >= 0) {\n", "if (from >= 0) {\n", "if (from >= 0 && Col < l) {\n", "if (from >= 0 && Col < l) {\n"}};
    const char *const other[] = {tj_is_gathered(view) ? "from" : "Row", "Col"};
    const char *const guard = config->family->checks_k ? inside[tj_is_gathered(view)][checks.j + 2 * checks.l] : "";
    const char *const indent = *guard ? "    " : "";
    char read[TJ_TEMPLATE_VALUE_BYTES], part[TJ_TEMPLATE_NAME_BYTES], product[64] = "Pvalue += partial";
    tj_text out = TJ_TEXT_INIT(1024);

    tj_text_append(&out, guard);
    for (tj_which which = TJ_MATRIX_M; which < TJ_FACTORS; which++) {
        const int32_t each = tj_scale_of(view, which)->k;

        if (each == 0)
            continue;
        (void)snprintf(part, sizeof part, each == tj_scale_k(view) ? "part" : "part / %d", each / tj_scale_k(view));
        tj_scales_print_read(view, (int)which, part, other[which], read);
        tj_text_print(&out, "%sconst float %c_scale = %s;\n", indent, "mn"[which], read);
        strcat(product, which == TJ_MATRIX_M ? " * m_scale" : " * n_scale");
    }
    tj_text_print(&out, "%s%s;\n%s", indent, product, *guard ? "}\n" : "");
    tj_template_take_lines(params, "scaled_part", &out);
}

/* Set where the walk along k begins and ends, in each part of k if parts have scales. */
static void describe_parts(const tj_problem *view, const char *terms, tj_template_params *params)
{
    const bool adds_parts = tj_scale_k(view) > 0;

    tj_template_set_flag(params, "adds_parts", adds_parts);
    tj_template_set(params, "total_t", adds_parts && tj_sum_type(view) == TJ_S32 ? "float" : "sum_t");
    tj_template_set(params, "terms", terms);
    tj_template_set(params, "first_k", adds_parts ? "part * SCALE_K" : "0");
    tj_template_set(params, "end_of_k", adds_parts ? "part_end" : terms);
    tj_template_set(params, "k_phase", adds_parts ? "part * SCALE_K + phase * TILE_WIDTH" : "phase * TILE_WIDTH");
}

/* Set the grid in the comment on the launch. */
static void describe_grid(const tj_problem *view, bool rows_on_x, tj_template_params *params)
{
    static const char cols[] = "ceil(l / TILE_WIDTH)";
    const bool has_groups = tj_is_grouped(view);
    const char *const rows = has_groups ? "ceil(all_rows / TILE_WIDTH) + GROUPS - 1" : "ceil(j / TILE_WIDTH)";

    tj_template_set(params, "grid_x", rows_on_x ? rows : cols);
    tj_template_set(params, "grid_y", rows_on_x ? cols : rows);
    tj_template_set(params, "in_grid", has_groups ? "in the grid: as many as all groups may have tiles." : "in the grid.");
    tj_template_set(params, "col_of_tiles", rows_on_x ? "blockIdx.y" : "blockIdx.x");
}

void tj_textbook_describe(const tj_problem *view, const tj_config *config, tj_scales_place m, tj_scales_place n,
                          tj_template_params *params, tj_launch_form *form)
{
    const int32_t tile_width = tj_config_get(config, "tile_width");
    const tj_checks checks = tj_checks_of(config, form->is_swapped);
    const bool reduces = tj_epilogue_reduces(&view->epilogue);
    tj_launch_step *const product = tj_step_product(form);
    const bool names_terms = !config->family->checks_k && ((reduces && (checks.j || checks.l)) || tj_is_gathered(view));
    char inside[TJ_TEMPLATE_VALUE_BYTES];

    if (tj_is_gathered(view))
        m.other = "from";
    tj_template_set_int(params, "TILE_WIDTH", tile_width);
    product->block_x = product->block_y = product->block_rows = product->block_cols = tile_width;
    tj_scales_describe(view, TJ_SCALES_BY_ELEMENT, 1, params);
    describe_element(view, TJ_MATRIX_M, m, "m_read", params);
    describe_element(view, TJ_MATRIX_N, n, "n_read", params);
    tj_template_set(params, "repacked", tj_has_repacked(view) ? "parts/repacked.cuh" : "");
    tj_template_set(params, "m_k", m.k);
    (void)snprintf(inside, sizeof inside, tj_is_gathered(view) ? "%s >= 0" : "%s < j", m.other);
    tj_template_set(params, "m_inside", inside);
    tj_template_set(params, "n_k", n.k);
    tj_template_set(params, "n_col", n.other);
    product->rows_on_x = tj_config_get(config, "rows") == TJ_ROWS_ON_X;
    describe_grid(view, product->rows_on_x, params);
    tj_template_set_flag(params, "reduces_at_edge", reduces && (checks.j || checks.l));
    tj_template_set_flag(params, "returns_at_edge", !reduces && (checks.j || checks.l));
    print_scaled_part(view, config, checks, params);
    describe_parts(view, names_terms ? "terms" : "k", params);
    tj_template_set(params, "beside", !reduces && tj_epilogue_pairs(&view->epilogue) ? "parts/beside.cuh" : "");
    tj_template_set(params, "ending", reduces ? "parts/reduce_block.cuh" : "parts/epilogue.cuh");
    if (reduces) {
        const tj_reduction_slots slots = slots_of(view, tile_width);

        product->static_shared_bytes += (int64_t)tile_width * (tile_width + 1) * (int64_t)tj_type_bytes(tj_scalar_type(view));
        tj_reductions_describe(view, &slots, params, form);
    }
}

tj_status tj_textbook_resolve(const tj_problem *view, bool is_swapped, tj_config *config, tj_error *err)
{
    const tj_reduction_slots slots = slots_of(view, tj_config_get(config, "tile_width"));
    tj_status status = tj_reductions_check(view, &slots, err);

    if (status == TJ_OK)
        status = tj_tile_resolve(view, is_swapped, config, err);
    /* A part of k may end within a tile. */
    if (status == TJ_OK && config->family->checks_k && tj_scale_k(view) % tj_config_get(config, "tile_width") != 0)
        config->check_k = TJ_CHECK_ON;
    return status;
}

bool tj_textbook_takes_scales(const tj_problem *view)
{
    (void)view;
    return true;
}

tj_sum_order tj_textbook_sum_order(const tj_problem *view, const tj_config *config)
{
    (void)view;
    (void)config;
    return TJ_SUMS_IN_CHAIN;
}

/* ---- counts ------------------------------------------------------------------------------------------------------- */

void tj_textbook_count_lines(const tj_problem *view, tj_which which, int32_t tile_width, int64_t repeat, tj_traffic *traffic)
{
    const tj_matrix *const matrix = tj_problem_matrix(view, which);
    const bool is_pair = tj_type_is_pair(matrix->type);
    const int64_t bytes = tj_facts_of(matrix->type)->bytes;
    /* Each thread loads the byte that holds its number. Counting a byte for each thread overestimates the sectors. */
    const tj_lines lines = tj_problem_number_lines(view, which);
    tj_access access =
        tj_tiled_access(tile_width, tile_width, lines.width.extent, lines.count.extent, bytes, matrix->ld * bytes);

    access.element_bytes = (int32_t)bytes;
    access.axis[2] = tj_batch_axis(view->batch, matrix->stride, bytes);
    access.repeat = repeat;
    tj_traffic_add(traffic, &access);
    traffic->is_estimate |= is_pair;
}

void tj_textbook_count(const tj_problem *view, int32_t tile_width, tj_counts *counts)
{
    const int64_t weights = tj_is_weights(view, TJ_MATRIX_M) ? counts->load_m.elements : counts->load_n.elements;

    tj_textbook_count_lines(view, TJ_MATRIX_P, tile_width, 1, &counts->store_p);
    if (view->epilogue.has_beta)
        tj_textbook_count_lines(view, TJ_MATRIX_C, tile_width, 1, &counts->load_c);
    tj_scales_count_tiles(view, tile_width, tile_width, TJ_SCALES_BY_ELEMENT, counts);
    counts->registers = counts->registers_least = counts->registers_most = 32;
    counts->chain_fma = 1;
    if (tj_widens_weights(view->m.type, view->n.type)) /* each is converted by a subtraction where it is loaded */
        counts->sums += weights;
    if (tj_scale_of(view, TJ_MATRIX_M)->zero || tj_scale_of(view, TJ_MATRIX_N)->zero) /* and loses its zero point */
        counts->sums += weights;
    if (tj_scale_k(view) > 0) { /* each thread scales the sum of each part */
        const int64_t parts = tj_ceil_div(view->k.extent, tj_scale_k(view)) * view->j.extent * view->l.extent * view->batch;
        const int along_k = tj_scales_along_k(view, TJ_MATRIX_M) + tj_scales_along_k(view, TJ_MATRIX_N);

        counts->sums += along_k * parts;
        tj_scales_count_along_k(view, along_k * parts, &counts->load_scales);
    }
    counts->work[TJ_PIPE_L2] = view->batch * view->k.extent *
                                   (counts->element_bytes * view->j.extent * counts->col_blocks +
                                    counts->n_element_bytes * view->l.extent * counts->row_blocks) +
                               counts->store_p.bytes + counts->load_c.bytes;
}
