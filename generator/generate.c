/* SPDX-License-Identifier: Apache-2.0 */
/*
 * generate: problem + config -> CUDA source. Pure: the same request gives the same bytes everywhere.
 */
#include <tilejit/source.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "error.h"
#include "parts/after.h"
#include "parts/expression.h"
#include "parts/reductions.h"
#include "parts/signature.h"
#include "sources.h"
#include "steps.h"
#include "text.h"
#include "tree.h"
#include "settle.h"

enum { MAX_SOURCE_BYTES = 256 * 1024, MAX_CHECKS_TEXT = 1024 };

struct tj_source {
    tj_request request; /* zero where line is set */
    tj_config config;
    tj_launch_form launch;
    char *text;
    char *checks_text;
    char *line; /* of an own family, which has no request; else NULL */
};

/* ---- parameters of every family's template ------------------------------------------------------------------------ */

/*
 * Do int indexes suffice? They are the readable default. They suffice if the last tile, including its part beyond the edge,
 * stays below 2^31, and so does k rounded up to whole phases of all splits. Numbers that are known only at launch get 64 bits.
 */
static bool fits_int(const tj_problem *view, int32_t tile, int32_t splits)
{
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_C; which++) {
        const tj_lines lines = tj_problem_lines(view, which);
        const int64_t ld = tj_problem_matrix(view, which)->ld;
        int64_t last;

        if (lines.width.mode == TJ_DIM_ANY || lines.count.mode == TJ_DIM_ANY || ld < 0)
            return false;
        if (!tj_mul(lines.count.extent + tile, ld, &last) || last + lines.width.extent + tile > INT32_MAX)
            return false;
    }
    return view->k.extent + (int64_t)splits * tile <= INT32_MAX && view->k.extent + (int64_t)tj_scale_k(view) <= INT32_MAX;
}

/* Set the part that declares a type. In the part, whose words say `self`, place is the type. */
static void set_part(tj_template_params *params, const char *place, const char *file, bool is_read, bool is_written)
{
    char name[TJ_TEMPLATE_NAME_BYTES];

    (void)snprintf(name, sizeof name, "%s_part", place);
    tj_template_set(params, name, file);
    (void)snprintf(name, sizeof name, "%s_read", place);
    tj_template_set_flag(params, name, is_read);
    (void)snprintf(name, sizeof name, "%s_written", place);
    tj_template_set_flag(params, name, is_written);
}

/* Set an extent: "" unless it is a constant of the source. */
static void set_dim(tj_template_params *params, const char *name, const tj_dim *dim)
{
    tj_template_set(params, name, "");
    if (dim->mode == TJ_DIM_FIXED)
        tj_format_int(params->param[params->count - 1].value, dim->extent);
}

/*
 * Set the leading dimension and the stride of a matrix, each "" unless it is a constant of the source. A tight leading dimension
 * that is fixed reads better by the dimension's name than by its number.
 */
static void set_matrix(tj_template_params *params, const tj_problem *view, tj_which which)
{
    const char letter = "mnpc"[which];
    const tj_matrix *const matrix = tj_problem_matrix(view, which);
    const tj_lines lines = tj_problem_lines(view, which);
    const bool is_used = which != TJ_MATRIX_C || view->epilogue.has_beta,
               has_stride = is_used && tj_matrix_count(view, which) != 1;
    char name[TJ_TEMPLATE_NAME_BYTES], number[24] = "";

    if (is_used && matrix->ld > 0)
        tj_format_int(number, matrix->ld);
    (void)snprintf(name, sizeof name, "ld_%c", letter);
    tj_template_set(params, name,
                    *number && lines.width.mode == TJ_DIM_FIXED && matrix->ld == lines.width.extent ? lines.width_name
                                                                                                    : number);
    number[0] = '\0';
    if (has_stride && (matrix->stride > 0 || matrix->stride == TJ_BROADCAST))
        tj_format_int(number, matrix->stride == TJ_BROADCAST ? 0 : matrix->stride);
    (void)snprintf(name, sizeof name, "stride_%c", letter);
    tj_template_set(params, name, number);
}

/*
 * If M and N differ, the source calls each type by its name. Weights that meet wider numbers have the wider type in shared
 * memory.
 */
static void set_type_names(tj_template_params *params, const tj_problem *callers, const tj_problem *view)
{
    const bool is_mixed = view->m.type != view->n.type;
    const char *const m = is_mixed ? tj_facts_of(view->m.type)->cuda : "input_t";
    const char *const n = is_mixed ? tj_facts_of(view->n.type)->cuda : "input_t";
    const bool widens = tj_widens_weights(view->m.type, view->n.type);
    const char *const leading = tj_facts_of(tj_leading_type(view->m.type, view->n.type))->cuda;

    tj_template_set_flag(params, "widens_weights", tj_widens_weights(callers->m.type, callers->n.type));
    tj_template_set(params, "input_t", is_mixed ? "" : tj_facts_of(view->m.type)->cuda);
    tj_template_set(params, "m_t", m);
    tj_template_set(params, "n_t", n);
    tj_template_set(params, "m_tile_t", widens ? leading : m);
    tj_template_set(params, "n_tile_t", widens ? leading : n);
    tj_template_set(params, "m_begin",
                    view->m.layout != TJ_ROW_MAJOR  ? "k_begin * ld_m"
                    : tj_type_is_pair(view->m.type) ? "k_begin / 2" /* in stored elements */
                                                    : "k_begin");
    tj_template_set(params, "n_begin",
                    view->n.layout == TJ_ROW_MAJOR  ? "k_begin * ld_n"
                    : tj_type_is_pair(view->n.type) ? "k_begin / 2"
                                                    : "k_begin");
    tj_template_set(params, "m_from_t", callers->m.type != view->m.type ? tj_facts_of(callers->m.type)->cuda : m);
    tj_template_set(params, "n_from_t", callers->n.type != view->n.type ? tj_facts_of(callers->n.type)->cuda : n);
}

/*
 * Set the terms of a complex product, with their signs (parts/c64.cuh). With an invariant those of the imaginary part are added in
 * one order, whether or not M and N have changed places.
 */
static void set_terms(tj_template_params *params, const tj_problem *view, bool is_swapped)
{
    const bool by_m = view->m.conjugated, by_n = view->n.conjugated, n_first = tj_is_invariant(view) && is_swapped;
    const char *const m_im = by_m ? "-m.im" : "m.im", *const n_im = by_n ? "-n.im" : "n.im";

    tj_template_set_flag(params, "complex", tj_is_complex(view));
    tj_template_set(params, "m_im", m_im);
    tj_template_set(params, "n_im", n_im);
    tj_template_set(params, "first_re", n_first ? "n.re" : "m.re");
    tj_template_set(params, "first_im", n_first ? m_im : n_im);
    tj_template_set(params, "second_re", n_first ? "m.re" : "n.re");
    tj_template_set(params, "second_im", n_first ? n_im : m_im);
    tj_template_set(params, "square", by_m == by_n ? "-m.im" : "m.im");
}

/*
 * A type that CUDA does not have is declared by the part of its name, with the conversions that the source uses. Integers
 * convert to integers by way of 64 bits. problem: the caller's, whose P a kernel after the product may finish; callers: operands as
 * the caller has them; view: as the product reads them.
 */
static void set_types(tj_template_params *params, const tj_problem *problem, const tj_problem *callers, const tj_problem *view)
{
    static const char *const place[] = {"first", "second",  "third",  "fourth", "fifth",
                                        "sixth", "seventh", "eighth", "ninth",  "tenth"};
    const uint32_t operands = tj_expression_types(&view->epilogue.expression, TJ_OP_OPERAND);
    const uint32_t conversions = tj_expression_types(&view->epilogue.expression, TJ_OP_CONVERT);
    const tj_type sum = tj_sum_type(view), scalar = tj_scalar_type(view);
    char file[TJ_TEMPLATE_VALUE_BYTES];
    int parts = 0;

    set_type_names(params, callers, view);
    tj_template_set(params, "output_t", tj_facts_of(view->p.type)->cuda);
    tj_template_set(params, "sum_t", sum == TJ_S32 ? "int" : tj_type_get_facts(sum)->cuda);
    tj_template_set(params, "scalar_t",
                    scalar == TJ_S32 ? "long long"
                    : scalar == sum  ? "sum_t"
                                     : tj_type_get_facts(scalar)->cuda);
    tj_template_set_flag(params, "whole", scalar == TJ_S32);
    tj_template_set_flag(params, "widens", view->m.type != (int32_t)sum || view->n.type != (int32_t)sum);
    for (int32_t type = 1; type <= tj_type_count(); type++) {
        const bool converts = conversions >> type & 1, writes = view->p.type == type || problem->p.type == type || converts,
                   reads = view->m.type == type || view->n.type == type || callers->m.type == type || callers->n.type == type ||
                           (operands >> type & 1) || converts ||
                           (view->p.type == type && (view->epilogue.has_beta || tj_is_combined(problem))) ||
                           tj_scales_have_type(view, type);

        if ((!reads && !writes) || type == TJ_F32 || type == TJ_F64)
            continue;
        (void)snprintf(file, sizeof file, "parts/%s.cuh", tj_facts_of(type)->cuda);
        set_part(params, place[parts++], file, reads, writes);
    }
    while (parts < (int)(sizeof place / sizeof place[0]))
        set_part(params, place[parts++], "", false, false);
}

/* With groups, j is the end of a block's group in the source, and all_rows are the rows of all groups. */
static void set_groups(tj_template_params *params, const tj_problem *view, bool by_warp)
{
    const bool has_groups = tj_is_grouped(view);
    const tj_dim none = {0, -1, 0};

    set_dim(params, "j", has_groups ? &none : &view->j);
    set_dim(params, "all_rows", has_groups ? &view->j : &none);
    tj_template_set_flag(params, "has_groups", has_groups);
    tj_template_set_flag(params, "divides_k", tj_divides_k(view));
    tj_template_set_int(params, "GROUPS", view->rows.groups);
    tj_template_set_flag(params, "masked", tj_is_masked(view));
    tj_template_set_flag(params, "gathers_m", tj_is_gathered(view));
    tj_template_set_flag(params, "scatters_p", tj_is_scattered(view));
    tj_template_set(params, "numbers_of_groups", tj_is_masked(view) ? "parts/counts.cuh" : "parts/offsets.cuh");
    tj_template_set(params, tj_is_masked(view) ? "count_t" : "offset_t", tj_offset_bytes(view) == 8 ? "long long" : "int");
    tj_template_set_flag(params, "offsets_by_value", tj_offsets_on_host(view));
    tj_template_set(params, "offset_rows",
                    tj_is_masked(view) ? (tj_offsets_on_host(view) ? "counts.of" : "counts")
                                       : (tj_offsets_on_host(view) ? "offsets.row" : "offsets"));
    tj_template_set(params, "find_group", by_warp ? "parts/find_group_by_warp.cuh" : "parts/find_group.cuh");
    tj_template_set(params, "tile_height", by_warp ? "BM" : "TILE_WIDTH");
}

static void fill_common(const tj_problem *problem, const tj_problem *callers, const tj_problem *view, const tj_config *config,
                        bool is_swapped, tj_template_params *params)
{
    const tj_checks checks = tj_checks_of(config, is_swapped);

    set_types(params, problem, callers, view);
    set_terms(params, view, is_swapped);
    set_groups(params, view, config->family->sums_in_registers);
    set_dim(params, "k", &view->k);
    set_dim(params, "l", &view->l);
    tj_template_set(params, "k_index", view->k.mode == TJ_DIM_FIXED ? "k" : "static_cast<index_t>(k)");
    tj_template_set_flag(params, "m_row_major", view->m.layout == TJ_ROW_MAJOR);
    tj_template_set_flag(params, "n_row_major", view->n.layout == TJ_ROW_MAJOR);
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_C; which++)
        set_matrix(params, view, which);
    tj_template_set_flag(params, "batched", view->batch != 1);
    tj_template_set_flag(params, "check_j", checks.j);
    tj_template_set_flag(params, "check_k", checks.k);
    tj_template_set_flag(params, "check_l", checks.l);
}

/* Does the expression have outputs besides P? */
static bool has_outputs(const tj_expression *e)
{
    for (int32_t i = 0; i < e->operands; i++)
        if (e->operand[i].is_output)
            return true;
    return false;
}

/*
 * Print the multiplication of a sum by its scale. With an invariant no compiler may make one operation of it and a later addition,
 * as it does in the sources of some configs.
 */
static void print_scaling(const tj_problem *view, const char *sum, const char *scale, tj_text *out)
{
    if (tj_is_invariant(view))
        tj_text_print(out, "%s = __fmul_rn(%s, %s);\n", sum, sum, scale);
    else
        tj_text_print(out, "%s *= %s;\n", sum, scale);
}

/* Print the addition of C: with an invariant one fused multiply-add, whatever else a compiler could make of it. */
static void describe_c(const tj_problem *view, const char *sum, bool is_wide, tj_template_params *params)
{
    const char *const c = is_wide ? "before.element[i]" : tj_template_get(params, "c_place");
    const tj_type scalar = tj_scalar_type(view);
    char line[TJ_TEMPLATE_VALUE_BYTES];

    if (tj_is_invariant(view) && (scalar == TJ_F32 || scalar == TJ_F64))
        (void)snprintf(line, sizeof line, "%s = __fma%s_rn(beta, %s, %s)", sum, scalar == TJ_F64 ? "" : "f", c, sum);
    else
        (void)snprintf(line, sizeof line, "%s += beta * %s", sum, c);
    tj_template_set(params, "add_c", line);
}

/* Print the conversion of a sum that goes on in another type, and the scales that multiply it, at the end of out. */
static void print_scaled_sum(const tj_problem *view, const tj_expression_sums *sums, bool converts, bool is_swapped,
                             const tj_template_params *params, tj_text *out)
{
    const bool pairs = tj_epilogue_pairs(&view->epilogue);
    const char *const sum[] = {sums->first, sums->second}, *const name[] = {"total", "total_beside"};
    const char *const n_scale[] = {tj_template_get(params, sums->by_vector ? "n_scale_of_vector" : "n_scale"),
                                   tj_template_get(params, sums->by_vector ? "n_scale_beside_of_vector" : "n_scale_beside")};
    static const char *const whole[] = {"*whole_m", "*whole_n"};
    const char *const factor[][2] = {{tj_template_get(params, "m_scale"), tj_template_get(params, "m_scale")},
                                     {n_scale[0], n_scale[1]}};

    for (int i = 0; converts && i < 1 + pairs; i++)
        tj_text_print(out, "%s %s = %s;\n", tj_template_get(params, "scalar_t"), name[i], sum[i]);
    for (int i = 0; tj_sum_order_of(view) == TJ_SUMS_IN_CHAIN && i < 1 + pairs; i++)
        if (tj_is_complex(view))
            tj_text_print(out, "%s = {%s.re + 0, %s.im + 0};  // never -0, whether or not zeros fill a tile\n", sum[i], sum[i],
                          sum[i]);
        else
            tj_text_print(out, "%s += 0;  // never -0, whether or not zeros fill a tile\n", sum[i]);
    for (int turn = 0; turn < TJ_FACTORS; turn++) {
        /* M's first, or with an invariant the caller's M. */
        const tj_which which = (tj_which)(tj_is_invariant(view) && is_swapped ? (int)TJ_MATRIX_N - turn : turn);

        for (int i = 0; tj_scales_sum(view, which) && i < 1 + pairs; i++)
            print_scaling(view, converts ? name[i] : sum[i], factor[which][i], out);
    }
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_N; which++)
        for (int i = 0; tj_scale_of(view, which)->whole && i < 1 + pairs; i++)
            print_scaling(view, converts ? name[i] : sum[i], whole[which], out);
}

/* Describe how the source turns its sums into values of P that it quantises, before it stores them. */
static tj_status describe_quantized(const tj_problem *view, tj_checks checks, bool is_swapped, tj_template_params *params,
                                    tj_error *err)
{
    const bool pairs = tj_epilogue_pairs(&view->epilogue);
    const tj_expression_sums sums = {
        .first = "Pvalue",
        .second = "beside",
        .may_be_outside = (checks.j || checks.l) && has_outputs(&view->epilogue.expression),
        .value = "Pvalue",
        .place = NULL,
    };
    tj_text out = TJ_TEXT_INIT(1024);

    print_scaled_sum(view, &sums, false, is_swapped, params, &out);
    if (view->epilogue.has_alpha && view->epilogue.expression.nodes == 0)
        tj_text_append(&out, "Pvalue *= alpha;\n");
    tj_template_take_lines(params, "quantized_sum", &out);
    tj_template_set(params, "value_of_sums", pairs ? "parts/sum_of_pair.cuh" : "parts/sum_of_one.cuh");
    tj_template_set_int(params, "sums_of_value", 1 + pairs);
    tj_template_set_int(params, "SCALE_SUMS", tj_scale_of(view, TJ_MATRIX_P)->k * (1 + pairs));
    return tj_expression_describe(view, &sums, params, err);
}

/* Does the copy engine store P, from boxes in shared memory? */
static bool has_map_of_p(const tj_launch_form *form)
{
    bool has_map = false;

    for (int i = 0; i < TJ_LAUNCH_MAX_MAPS; i++)
        has_map |= form->tensor_map[i].rank > 0 && form->tensor_map[i].lines == 0 && form->tensor_map[i].matrix == TJ_MATRIX_P;
    return has_map;
}

/* Describe the epilogue, parts/epilogue.cuh, for neighbours at once if the form states an alignment of P. */
static tj_status describe_epilogue(const tj_problem *view, const tj_config *config, const tj_launch_form *form,
                                   tj_template_params *params, tj_error *err)
{
    const bool has_map = has_map_of_p(form), is_wide = form->align[TJ_MATRIX_P] > 0 && (has_map || !tj_is_symmetric(view));
    const char *const finished = tj_template_get(params, "finished"); /* where a family finishes an element */
    const bool pairs = tj_epilogue_pairs(&view->epilogue), by_cols = view->p.layout != TJ_ROW_MAJOR;
    const bool scales_rows = tj_scales_sum_by_each(view, TJ_MATRIX_M), scales_cols = tj_scales_sum_by_each(view, TJ_MATRIX_N);
    const bool quantizes = tj_is_scaled(view, TJ_MATRIX_P); /* values of P are made of the sums before, in place */
    const tj_checks checks = tj_checks_of(config, form->is_swapped);
    tj_text scaled_sum = TJ_TEXT_INIT(1024);
    tj_expression_sums sums = {is_wide ? "sum[r][c + i]" : "Pvalue",
                               is_wide ? "sum[r][c + 2 * i + 1]" : "beside",
                               is_wide,
                               tj_reduces_by_thread(config->family),
                               false,
                               NULL,
                               *finished != '\0'                                 ? finished
                               : tj_stores_twice(view) && !tj_is_hermitian(view) ? "P[Col * ld_p + Row] = P[Row * ld_p + Col]"
                                                                                 : NULL};
    const bool scatters = tj_is_scattered(view);
    /* Integers continue as floats, or as 64-bit integers, if there is more to compute. */
    const bool converts =
        tj_sum_type(view) == TJ_S32 && tj_scale_k(view) == 0 &&
        (tj_has_scales(view) || view->epilogue.has_alpha || view->epilogue.has_beta || view->epilogue.expression.nodes > 0);

    tj_template_set(params, "quantized", quantizes ? "parts/quantized.cuh" : "");
    tj_template_set(params, "quantize_tile", quantizes ? "parts/quantize_tile.cuh" : "");
    tj_template_set_flag(params, "has_alpha", view->epilogue.has_alpha && !quantizes);
    tj_template_set_flag(params, "has_beta", view->epilogue.has_beta);
    tj_template_set_flag(params, "n_scales_k", tj_scales_along_k(view, TJ_MATRIX_N));
    tj_template_set(params, "SCALE_K", "");
    if (tj_scale_k(view) > 0)
        tj_format_int(params->param[params->count - 1].value, tj_scale_k(view));
    if (is_wide && pairs)
        sums.first = "sum[r][c + 2 * i]";
    if (!quantizes)
        print_scaled_sum(view, &sums, converts, form->is_swapped, params, &scaled_sum);
    tj_template_take_lines(params, "scaled_sum", &scaled_sum);
    if (converts) {
        sums.first = "total";
        sums.second = "total_beside";
    }
    tj_template_set(params, "first_row", "thread_row"); /* as each family sets first_col */
    tj_template_set(params, "total", sums.first);
    tj_template_set(params, "p_value", sums.first);
    tj_template_set(params, "epilogue", is_wide ? "parts/epilogue_vector.cuh" : "parts/epilogue.cuh");
    tj_template_set(params, "finish",
                    tj_product_step(form)->splits > 1 ? "parts/partial.cuh"
                    : is_wide                         ? "parts/epilogue_vector.cuh"
                                                      : "parts/epilogue.cuh");
    tj_template_set_flag(params, "symmetric", tj_is_symmetric(view));
    tj_template_set_flag(params, "stores_twice", tj_stores_twice(view));
    tj_template_set(params, "hermitian", tj_is_hermitian(view) ? "parts/hermitian.cuh" : "");
    tj_template_set(params, "beyond_diagonal", tj_computes_upper(view) ? "Row > Col" : "Col > Row");
    tj_template_set(params, "row_of_triangle", tj_computes_upper(view) ? "tile_x" : "tile_y");
    tj_template_set(params, "col_of_triangle", tj_computes_upper(view) ? "tile_y" : "tile_x");
    tj_template_set(params, "tile_beyond_diagonal",
                    tj_computes_upper(view) ? "block_row > block_col" : "block_col > block_row");
    tj_template_set_flag(params, "pairs", pairs);
    tj_template_set_flag(params, "names_sum", !is_wide && tj_product_step(form)->splits <= 1);
    tj_template_set(params, "sum_of_element", is_wide ? "" : pairs ? "parts/sum_of_pair.cuh" : "parts/sum_of_one.cuh");
    tj_template_set(params, "elements", pairs ? "j * (l / 2)" : "j * l");
    tj_template_set(params, "p_sums", pairs && tj_product_step(form)->splits <= 1 ? "2 * P_VECTOR" : "P_VECTOR");
    sums.may_be_outside = has_map && !quantizes && (checks.j || checks.l) && has_outputs(&view->epilogue.expression);
    tj_template_set_flag(params, "p_map", has_map);
    tj_template_set_flag(params, "guards_outputs", sums.may_be_outside);
    tj_template_set(params, "p_place",
                    *finished          ? finished
                    : has_map && pairs ? "in_box(box, row, col / 2)"
                    : has_map          ? "in_box(box, row, col)"
                    : sums.place       ? sums.place
                    : scatters         ? (pairs ? "P[to * ld_p + Col / 2]" : "P[to * ld_p + Col]")
                    : by_cols          ? "P[Col * ld_p + Row]"
                    : pairs            ? "P[Row * ld_p + Col / 2]"
                                       : "P[Row * ld_p + Col]");
    tj_template_set(params, "c_place",
                    by_cols ? "C[Col * ld_c + Row]"
                    : pairs ? "C[Row * ld_c + Col / 2]"
                            : "C[Row * ld_c + Col]");
    describe_c(view, sums.first, is_wide, params);
    tj_template_set_flag(params, "names_row",
                         !quantizes && (scales_rows || tj_epilogue_reduces(&view->epilogue) ||
                                        tj_expression_names(&view->epilogue.expression, TJ_BY_ROW)));
    tj_template_set_flag(params, "names_col",
                         !quantizes && (scales_cols || tj_epilogue_reduces(&view->epilogue) ||
                                        tj_expression_names(&view->epilogue.expression, TJ_BY_COL)));
    return quantizes ? describe_quantized(view, checks, form->is_swapped, params, err)
                     : tj_expression_describe(view, &sums, params, err);
}

/*
 * Print the product's parameters, unless its family has, what follows from them, and those of the kernel that adds up splits.
 * moved: the operands as the product reads them.
 */
static void print_signature(const tj_problem *view, const tj_problem *moved, const tj_launch_form *form,
                            tj_template_params *params)
{
    const bool has_maps = (form->needs & TJ_FEATURE_TMA) != 0;
    const int maps = !has_maps ? 0 : tj_is_gathered(moved) ? 1 : 2; /* of M and N; M has none if an index gathers its rows */
    const tj_launch_step *const product = tj_product_step(form);
    char workspace[96];

    (void)snprintf(workspace, sizeof workspace, "%s *__restrict__ W,  // what is found of rows and columns: see RESULTS",
                   tj_scalar_type(moved) == TJ_F64 ? "double" : "float");
    if (!tj_template_has_lines(params, "parameters"))
        tj_signature_print(
            moved, form, product, maps, tj_signature_reads(form, TJ_MATRIX_M) + tj_signature_reads(form, TJ_MATRIX_N),
            product->splits > 1 ? "sum_t *__restrict__ W)  // the partial sums: a j x l matrix for each split of each product"
                                : workspace,
            params, "parameters");
    tj_signature_print_body(moved, form, params);
    if (product->splits > 1)
        tj_signature_print_reduce(view, form, product + 1, params);
}

/* ---- comments around the kernel ----------------------------------------------------------------------------------- */

static void append_extents(tj_text *out, const char *matrix, const tj_dim *rows, const char *r, const tj_dim *cols,
                           const char *c)
{
    const tj_dim *const dim[] = {rows, cols};
    const char *const name[] = {r, c};

    tj_text_append(out, matrix);
    tj_text_append(out, " (");
    for (int i = 0; i < 2; i++) {
        tj_text_append(out, i == 0 ? "" : " x ");
        if (dim[i]->mode == TJ_DIM_FIXED)
            tj_text_append_int(out, dim[i]->extent);
        else
            tj_text_append(out, name[i]);
    }
    tj_text_append(out, ")");
}

/* Is this dimension the longer one? If only one is known, that is the short one. */
static bool is_longer(const tj_dim *dim, const tj_dim *other)
{
    return other->mode == TJ_DIM_FIXED && (dim->mode != TJ_DIM_FIXED || dim->extent > other->extent);
}

/* Append the expression's outputs besides P, a line each. Return the rest of its text, which is the value of P, in room. */
static const char *append_outputs(tj_text *out, const tj_epilogue *epilogue, char room[TJ_EPILOGUE_TEXT_BYTES])
{
    char *rest = room;

    tj_epilogue_print(epilogue, room);
    for (char *end; (end = strstr(rest, "; ")) != NULL; rest = end + 2) {
        *end = '\0';
        tj_text_append(out, rest);
        tj_text_append(out, "\n//     ");
    }
    return rest;
}

enum { FACTOR_BYTES = 16 };

/* Return the name of M or N in the formula: "M", "conj(N_g)". */
static const char *factor_name(const tj_problem *view, tj_which which, const char *const *name, char text[FACTOR_BYTES])
{
    if (!tj_problem_matrix(view, which)->conjugated)
        return name[which];
    (void)snprintf(text, FACTOR_BYTES, "conj(%s)", name[which]);
    return text;
}

/* Append the request in one line, and the formula with its numbers. */
static void append_head(tj_text *out, const tj_problem *problem, const tj_problem *view, bool is_swapped)
{
    static const char *const of_one[] = {"M", "N", "P"}, *const of_group[] = {"M_g", "N_g", "P_g"};
    const bool has_groups = tj_is_grouped(view);
    const tj_dim open = {0, TJ_DIM_ANY, 0}, *const j = has_groups ? &open : &view->j;
    const char *const *const name = has_groups ? of_group : of_one;
    const bool has_expression = view->epilogue.expression.nodes > 0, p_by_rows = view->p.layout == TJ_ROW_MAJOR;
    const tj_lines p = tj_problem_lines(view, TJ_MATRIX_P);
    char line[TJ_PROBLEM_TEXT_BYTES], text[FACTOR_BYTES];
    tj_problem printed = *problem;
    const char *value;

    printed.multiprocessors = 0; /* of launches, which change nothing here */
    tj_problem_print(&printed, line);
    tj_text_append(out, "// ");
    tj_text_append(out, line);
    tj_text_append(out, "\n//\n//     ");
    value = has_expression ? append_outputs(out, &view->epilogue, line) : NULL;
    append_extents(out, name[TJ_MATRIX_P],
                   has_groups  ? j
                   : p_by_rows ? &p.count
                               : &p.width,
                   has_groups  ? "j_g"
                   : p_by_rows ? p.count_name
                               : p.width_name,
                   p_by_rows ? &p.width : &p.count, p_by_rows ? p.width_name : p.count_name);
    tj_text_append(out, tj_is_scaled(problem, TJ_MATRIX_P) ? " * scale_p = " : " = ");
    if (has_expression) {
        tj_text_append(out, value);
        tj_text_append(out, ", where acc = ");
    }
    for (size_t i = tj_operation_count; i-- > 0;)
        tj_text_append(out, tj_operation_is_in_formula(view, &tj_operations[i]) ? tj_operations[i].before : "");
    append_extents(out, factor_name(view, TJ_MATRIX_M, name, text), j, has_groups ? "j_g" : "j", &view->k, "k");
    tj_text_append(out, " . ");
    append_extents(out, factor_name(view, TJ_MATRIX_N, name, text), &view->k, "k", &view->l, "l");
    for (size_t i = 0; i < tj_operation_count; i++)
        tj_text_append(out, tj_operation_is_in_formula(view, &tj_operations[i]) ? tj_operations[i].after : "");
    tj_text_append(out, "\n//\n");
    if (tj_is_combined(problem))
        tj_text_print(out, "// The last kernel adds up %d rows of this product for each row of the caller's P.\n//\n",
                      problem->rows.combined);
    if (is_swapped && problem->p.layout == TJ_ROW_MAJOR) {
        tj_text_append(out, "// This text computes the transpose, P^T = N^T . M^T, so that ");
        tj_text_append(out, is_longer(&view->j, &view->l) ? "l" : "j");
        tj_text_append(out, " is the shorter side: its M is the caller's N, its\n"
                            "// N the caller's M, and j and l have changed places.\n//\n");
    } else if (is_swapped)
        tj_text_append(
            out, "// The caller's P is column-major. In memory that is its transpose, row-major, so this text computes the "
                 "product of\n"
                 "// the transposes: its M is the caller's N, its N the caller's M, and j and l have changed places.\n//\n");
}

static void append_check(tj_text *out, char letter, const tj_dim *dim, int32_t check, int32_t tile, const char *tile_name)
{
    tj_text_append_bytes(out, &letter, 1);
    tj_text_append(out, check == TJ_CHECK_ON ? ": checked, " : ": not checked, ");
    if (dim->mode == TJ_DIM_FIXED) {
        tj_text_append_int(out, dim->extent);
        tj_text_append(out, dim->extent % tile == 0 ? " is" : " is not");
        tj_text_append(out, " a multiple of ");
        tj_text_append(out, tile_name);
        tj_text_append(out, " ");
        tj_text_append_int(out, tile);
    } else if (dim->multiple_of > 1) {
        tj_text_append(out, "known only at launch, promised to be a multiple of ");
        tj_text_append_int(out, dim->multiple_of);
    } else {
        tj_text_append(out, "known only at launch");
    }
}

/* Describe the checks, in the caller's dimensions. */
static tj_status describe_checks(const tj_source *source, bool is_swapped, char **out, tj_error *err)
{
    const tj_problem *problem = &source->request.problem;
    const tj_config *config = &source->config;
    tj_text text = TJ_TEXT_INIT(MAX_CHECKS_TEXT);
    tj_tile tile;

    if (tj_product_step(&source->launch)->grid == TJ_GRID_PRODUCTS) {
        tj_text_append(&text, "j, k, l: not checked, a block computes whole products");
        return tj_text_take(&text, out, err);
    }
    tile = config->family->tile(problem, config);
    if (is_swapped)
        tile = (tj_tile){tile.cols, tile.k, tile.rows, tile.cols_name, tile.k_name, tile.rows_name};
    if (tj_is_grouped(problem))
        tj_text_append(&text, "j: checked, groups may end at any row");
    else
        append_check(&text, 'j', &problem->j, config->check_j, tile.rows, tile.rows_name);
    tj_text_append(&text, "; ");
    if (!config->family->checks_k)
        tj_text_append(&text, "k: not checked, one thread walks all of it");
    else
        append_check(&text, 'k', &problem->k, config->check_k, tile.k, tile.k_name);
    tj_text_append(&text, "; ");
    append_check(&text, 'l', &problem->l, config->check_l, tile.cols, tile.cols_name);
    return tj_text_take(&text, out, err);
}

/* ---- public ------------------------------------------------------------------------------------------------------- */

/* problem: the caller's. params NULL: only the launch form is wanted. */
static const char *describe(const tj_problem *problem, const tj_problem *view, bool is_swapped, const tj_config *config,
                            tj_template_params *params, tj_launch_form *form)
{
    const tj_expression *e = &view->epilogue.expression;
    tj_launch_step *product;
    const char *name;

    memset(form, 0, sizeof *form);
    form->steps = 1;
    form->checks =
        (config->check_j == TJ_CHECK_ON) | (config->check_k == TJ_CHECK_ON) << 1 | (config->check_l == TJ_CHECK_ON) << 2;
    form->is_swapped = is_swapped;
    form->step[0].grid = TJ_GRID_TILES;
    form->step[0].sums_in_registers = config->family->sums_in_registers;
    if (params)
        tj_step_name(view, config->family->name, params, form, &form->step[0]);
    const bool reads_fp8 = tj_type_is_fp8(view->m.type) || tj_type_is_fp8(view->n.type) || tj_scales_have_type(view, TJ_E4M3);

    if ((reads_fp8 && !tj_widens_weights(view->m.type, view->n.type)) || tj_type_is_fp8(problem->p.type) ||
        ((tj_expression_types(e, TJ_OP_OPERAND) | tj_expression_types(e, TJ_OP_CONVERT)) & (1u << TJ_E4M3 | 1u << TJ_E5M2)))
        form->needs = TJ_FEATURE_FP8;
    name = config->family->describe(view, config, params, form);
    product = tj_step_product(form);
    product->is_folded = tj_is_symmetric(view) && config->family->sums_in_registers;
    if (product->splits > 1) /* an int k is rounded up to whole phases of all splits */
        form->most_k = INT32_MAX - product->splits * config->family->tile(view, config).k;
    if (params && product->arg_count == 0)
        tj_step_list_args(view, is_swapped, true, product->splits <= 1, product);
    tj_after_describe(problem, view, params, form);
    return name;
}

void tj_family_launch(const tj_request *request, const tj_config *config, tj_launch_form *form)
{
    bool is_swapped;
    const tj_problem *const view = tj_request_view(request, config, &is_swapped);

    (void)describe(&request->problem, view, is_swapped, config, NULL, form);
    tj_after_redirect(&request->problem, view, form);
}

tj_status tj_request_generate(const tj_request *request, const tj_config *config, tj_source **out, tj_error *err)
{
    bool is_swapped;
    const tj_problem *const view = tj_request_view(request, config, &is_swapped);
    const tj_problem moved = config->family->moved ? config->family->moved(view, config) : *view;
    tj_text body = TJ_TEXT_INIT(MAX_SOURCE_BYTES);
    tj_template_params *const params = calloc(1, sizeof *params); /* too large for a caller's small stack */
    tj_source *source = calloc(1, sizeof *source);
    const tj_launch_step *product;
    const char *template_name, *which_place;
    tj_status status;

    *out = NULL;
    if (!source || !params) {
        free(source);
        free(params);
        return tj_fail_memory(err, "a source");
    }
    source->request = *request;
    source->config = *config;
    fill_common(&request->problem, view, &moved, config, is_swapped, params);
    template_name = describe(&request->problem, view, is_swapped, config, params, &source->launch);
    status = describe_epilogue(view, config, &source->launch, params, err);
    product = tj_product_step(&source->launch);
    tj_reductions_print(view, config->family, product, params);
    tj_template_set_flag(params, "int_fits", fits_int(&moved, config->family->widest, product->splits));
    tj_template_set_flag(params, "splits_k", product->splits > 1);
    tj_template_set_flag(params, "walks", product->grid == TJ_GRID_WALK);
    tj_template_set(params, "row_of_tiles",
                    config->family->sums_in_registers ? "tile_y"
                    : product->rows_on_x              ? "blockIdx.x"
                                                      : "blockIdx.y");
    which_place = *tj_template_get(params, "grouped") != '\0' ? "parts/tiles_together.cuh"
                  : product->rows_on_x                        ? "parts/tile_x.cuh"
                                                              : "parts/tile_y.cuh";
    tj_template_set(params, "which_place", which_place);
    tj_template_set(params, "which_tile", product->is_folded ? "parts/tile_of_triangle.cuh" : which_place);
    tj_template_set_flag(params, "rows_on_y", !product->rows_on_x);
    tj_template_set(params, "rows_axis", product->rows_on_x ? "x" : "y");
    tj_template_set(params, "cols_axis", product->rows_on_x ? "y" : "x");

    print_signature(view, &moved, &source->launch, params);

    append_head(&body, &request->problem, view, is_swapped);
    if (status == TJ_OK)
        status = tj_template_fill(template_name, params, &body, err);
    if (status == TJ_OK && tj_after_follows(&request->problem, view))
        status = tj_template_fill(tj_after_template(&request->problem), params, &body, err);
    tj_after_redirect(&request->problem, view, &source->launch);
    tj_template_drop(params);
    free(params);
    if (status == TJ_OK)
        status = tj_text_take(&body, &source->text, err);
    if (status == TJ_OK)
        status = describe_checks(source, is_swapped, &source->checks_text, err);
    tj_text_drop(&body);
    if (status != TJ_OK) {
        tj_source_free(source);
        return status;
    }
    *out = source;
    return TJ_OK;
}

tj_status tj_generate(const tj_problem *problem, const tj_config *config, tj_source **source, tj_error *err)
{
    if (source)
        *source = NULL;
    if (TJ_HAS_NULL(err, source, problem))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_config resolved = TJ_CONFIG_INIT;
    tj_request request;
    tj_status status = tj_request_make(problem, &request, err);

    if (config)
        resolved = *config;
    if (status == TJ_OK)
        status = tj_request_resolve(&request, &resolved, err);
    return status == TJ_OK ? tj_request_generate(&request, &resolved, source, err) : status;
}

tj_status tj_request_preview(const tj_request *request, tj_config *config, tj_launch_form *form, tj_error *err)
{
    const tj_status status = tj_request_resolve(request, config, err);

    memset(form, 0, sizeof *form);
    if (status == TJ_OK)
        tj_family_launch(request, config, form);
    return status;
}

tj_status tj_source_of_text(const tj_config *config, const tj_launch_form *launch, char *text, const char *request,
                            tj_source **out, tj_error *err)
{
    tj_source *source = calloc(1, sizeof *source);

    *out = NULL;
    if (source) {
        source->config = *config;
        source->launch = *launch;
        source->text = text;
        source->line = strdup(request);
        source->checks_text = strdup("");
    }
    if (source && source->line && source->checks_text) {
        *out = source;
        return TJ_OK;
    }
    if (source)
        tj_source_free(source);
    else
        free(text);
    return tj_fail_memory(err, "a source");
}

void tj_source_print_request(const tj_source *source, char *line, size_t bytes)
{
    char problem[TJ_PROBLEM_TEXT_BYTES];

    if (!source->line)
        tj_problem_print(&source->request.problem, problem);
    (void)snprintf(line, bytes, "%s", source->line ? source->line : problem);
}

void tj_source_free(tj_source *source)
{
    if (!source)
        return;
    free(source->text);
    free(source->checks_text);
    free(source->line);
    free(source);
}

const char *tj_source_text(const tj_source *source)
{
    return source ? source->text : NULL;
}

const tj_launch_form *tj_source_launch(const tj_source *source)
{
    return source ? &source->launch : NULL;
}

const tj_problem *tj_source_problem(const tj_source *source)
{
    return source && !source->line ? &source->request.problem : NULL;
}

const tj_request *tj_source_request(const tj_source *source)
{
    return source->line ? NULL : &source->request;
}

const tj_config *tj_source_config(const tj_source *source)
{
    return source ? &source->config : NULL;
}

const char *tj_source_checks_text(const tj_source *source)
{
    return source ? source->checks_text : NULL;
}
