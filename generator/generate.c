/* SPDX-License-Identifier: Apache-2.0 */
/*
 * generate: problem + config -> CUDA text. Pure: the same request gives the same bytes everywhere.
 */
#include <tilejit/source.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "error.h"
#include "steps.h"
#include "text.h"

enum { MAX_SOURCE_BYTES = 256 * 1024, MAX_CHECKS_TEXT = 1024 };

struct tj_source {
    tj_problem problem;
    tj_config config;
    tj_launch_form launch;
    char *text;
    char *checks_text;
};

/* ---- what every family's template is filled with ------------------------------------------------------------------ */

/*
 * int indexes are the readable default. They hold if even the last tile, hanging over the edge, stays below 2^31, and k rounded up to
 * whole phases of all its splits; what is known only at launch gets 64 bits.
 */
static bool fits_int(const tj_problem *view, int32_t tile, int32_t splits)
{
    const bool p_rows = view->p.layout == TJ_ROW_MAJOR;
    const struct {
        const tj_dim *width, *count;
        int64_t ld;
    } matrix[] = {
        {view->m.layout == TJ_ROW_MAJOR ? &view->k : &view->j, view->m.layout == TJ_ROW_MAJOR ? &view->j : &view->k,
         view->m.ld},
        {view->n.layout == TJ_ROW_MAJOR ? &view->l : &view->k, view->n.layout == TJ_ROW_MAJOR ? &view->k : &view->l,
         view->n.ld},
        {p_rows ? &view->l : &view->j, p_rows ? &view->j : &view->l, view->p.ld},
        {p_rows ? &view->l : &view->j, p_rows ? &view->j : &view->l, view->c.ld},
    };

    for (size_t i = 0; i < sizeof matrix / sizeof matrix[0]; i++) {
        int64_t last;
        if (matrix[i].width->mode == TJ_DIM_ANY || matrix[i].count->mode == TJ_DIM_ANY || matrix[i].ld < 0)
            return false;
        if (!tj_mul(matrix[i].count->extent + tile, matrix[i].ld, &last) || last + matrix[i].width->extent + tile > INT32_MAX)
            return false;
    }
    return view->k.extent + (int64_t)splits * tile <= INT32_MAX;
}

static void set_dim(tj_template_params *params, const char *name, const char *fixed, const char *any, const tj_dim *dim)
{
    tj_template_set_flag(params, fixed, dim->mode == TJ_DIM_FIXED);
    tj_template_set_flag(params, any, dim->mode == TJ_DIM_ANY);
    if (dim->mode == TJ_DIM_FIXED)
        tj_template_set_int(params, name, dim->extent);
}

/* Names of one leading dimension or stride in the templates. */
typedef struct number_names {
    const char *name, *fixed, *any, *derived;
} number_names;

static void set_number(tj_template_params *params, const number_names *names, int64_t value, bool is_used, const char *tight)
{
    tj_template_set_flag(params, names->fixed, is_used && (value > 0 || value == TJ_BROADCAST));
    tj_template_set_flag(params, names->any, is_used && value == TJ_ANY);
    tj_template_set_flag(params, names->derived, is_used && value == TJ_TIGHT);
    if (value == TJ_TIGHT)
        tj_template_set(params, names->name, tight);
    else
        tj_template_set_int(params, names->name, value == TJ_BROADCAST ? 0 : value);
}

static void set_ld(tj_template_params *params, const number_names *names, int64_t ld, bool is_used, const char *width_name,
                   const tj_dim *width)
{
    set_number(params, names, ld, is_used, width_name);
    /* A tight fixed one reads better as the dimension's name than as its number. */
    if (ld > 0 && width->mode == TJ_DIM_FIXED && ld == width->extent)
        memcpy(params->param[params->count - 1].value, width_name, strlen(width_name) + 1);
}

static void set_conversion(tj_template_params *params, const char *direction, const char *cuda, bool value)
{
    char name[TJ_TEMPLATE_NAME_BYTES];

    snprintf(name, sizeof name, "%s_%s", direction, cuda);
    tj_template_set_flag(params, name, value);
}

/* A type that is not summed as it is stored is declared by the part of its name, with the conversions that the text makes. */
static void set_types(tj_template_params *params, const tj_problem *view)
{
    static const char *const part[] = {"first_part", "second_part"};
    const tj_type sum = tj_sum_type(view);
    int parts = 0;

    tj_template_set(params, "input_t", tj_facts_of(view->m.type)->cuda);
    tj_template_set(params, "output_t", tj_facts_of(view->p.type)->cuda);
    tj_template_set(params, "sum_t", tj_type_get_facts(sum)->cuda);
    tj_template_set_flag(params, "widens", view->m.type != (int32_t)sum);
    for (int32_t type = 1; type <= tj_type_count(); type++) {
        const bool writes = view->p.type == type, reads = view->m.type == type || (writes && view->epilogue.has_beta);

        if ((!reads && !writes) || type == (int32_t)sum)
            continue;
        tj_template_set(params, part[parts++], tj_facts_of(type)->cuda);
        set_conversion(params, "reads", tj_facts_of(type)->cuda, reads);
        set_conversion(params, "writes", tj_facts_of(type)->cuda, writes);
    }
    for (; parts < 2; parts++)
        tj_template_set(params, part[parts], "");
}

static void fill_common(const tj_problem *view, const tj_config *config, bool is_swapped, tj_template_params *params)
{
    static const number_names ld_m = {"ld_m", "fixed_ld_m", "any_ld_m", "derived_ld_m"},
                              ld_n = {"ld_n", "fixed_ld_n", "any_ld_n", "derived_ld_n"},
                              ld_p = {"ld_p", "fixed_ld_p", "any_ld_p", "derived_ld_p"},
                              ld_c = {"ld_c", "fixed_ld_c", "any_ld_c", "derived_ld_c"},
                              stride_m = {"stride_m", "fixed_stride_m", "any_stride_m", "derived_stride_m"},
                              stride_n = {"stride_n", "fixed_stride_n", "any_stride_n", "derived_stride_n"},
                              stride_p = {"stride_p", "fixed_stride_p", "any_stride_p", "derived_stride_p"},
                              stride_c = {"stride_c", "fixed_stride_c", "any_stride_c", "derived_stride_c"};
    const bool is_batched = view->batch != 1, has_c = view->epilogue.has_beta;
    const bool m_rows = view->m.layout == TJ_ROW_MAJOR, n_rows = view->n.layout == TJ_ROW_MAJOR,
               p_rows = view->p.layout == TJ_ROW_MAJOR;

    set_types(params, view);
    set_dim(params, "j", "fixed_j", "any_j", &view->j);
    set_dim(params, "k", "fixed_k", "any_k", &view->k);
    set_dim(params, "l", "fixed_l", "any_l", &view->l);
    tj_template_set_flag(params, "m_row_major", m_rows);
    tj_template_set_flag(params, "n_row_major", n_rows);
    tj_template_set_flag(params, "p_row_major", p_rows);
    set_ld(params, &ld_m, view->m.ld, true, m_rows ? "k" : "j", m_rows ? &view->k : &view->j);
    set_ld(params, &ld_n, view->n.ld, true, n_rows ? "l" : "k", n_rows ? &view->l : &view->k);
    set_ld(params, &ld_p, view->p.ld, true, p_rows ? "l" : "j", p_rows ? &view->l : &view->j);
    set_ld(params, &ld_c, view->c.ld, has_c, p_rows ? "l" : "j", p_rows ? &view->l : &view->j);
    set_number(params, &stride_m, view->m.stride, is_batched, m_rows ? "ld_m * j" : "ld_m * k");
    set_number(params, &stride_n, view->n.stride, is_batched, n_rows ? "ld_n * k" : "ld_n * l");
    set_number(params, &stride_p, view->p.stride, is_batched, p_rows ? "ld_p * j" : "ld_p * l");
    set_number(params, &stride_c, view->c.stride, is_batched && has_c, p_rows ? "ld_c * j" : "ld_c * l");
    tj_template_set_flag(params, "derives",
                         view->m.ld == TJ_TIGHT || view->n.ld == TJ_TIGHT || view->p.ld == TJ_TIGHT ||
                             (has_c && view->c.ld == TJ_TIGHT) ||
                             (is_batched && (view->m.stride == TJ_TIGHT || view->n.stride == TJ_TIGHT ||
                                             view->p.stride == TJ_TIGHT || (has_c && view->c.stride == TJ_TIGHT))));
    tj_template_set_flag(params, "batched", is_batched);
    tj_template_set_flag(params, "points", tj_problem_points(view));
    tj_template_set_flag(params, "m_array", tj_stride_is_pointers(view->m.stride));
    tj_template_set_flag(params, "n_array", tj_stride_is_pointers(view->n.stride));
    tj_template_set_flag(params, "p_array", tj_stride_is_pointers(view->p.stride));
    tj_template_set_flag(params, "c_array", tj_stride_is_pointers(view->c.stride));
    tj_template_set_flag(params, "check_j", (is_swapped ? config->check_l : config->check_j) == TJ_CHECK_ON);
    tj_template_set_flag(params, "check_k", config->check_k == TJ_CHECK_ON);
    tj_template_set_flag(params, "check_l", (is_swapped ? config->check_j : config->check_l) == TJ_CHECK_ON);
}

/* What becomes of a sum: parts/epilogue.cuh, of neighbours at once where the form says what P is aligned to. */
static void describe_epilogue(const tj_problem *view, const tj_launch_form *form, tj_template_params *params)
{
    for (size_t i = 0; i < tj_operation_count; i++)
        tj_template_set_flag(params, tj_operations[i].flag, tj_operation_flag(view, &tj_operations[i]));
    tj_template_set_flag(params, "wide_p", form->align[TJ_MATRIX_P] > 0);
}

/* ---- the words around the kernel ---------------------------------------------------------------------------------- */

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

/* The request in one line, and the formula with this request's numbers. */
static void append_head(tj_text *out, const tj_problem *problem, const tj_problem *view, bool is_swapped)
{
    char line[TJ_PROBLEM_TEXT_BYTES];

    tj_problem_print(problem, line);
    tj_text_append(out, "// ");
    tj_text_append(out, line);
    tj_text_append(out, "\n//\n//     ");
    append_extents(out, "P", &view->j, "j", &view->l, "l");
    tj_text_append(out, " = ");
    for (size_t i = tj_operation_count; i-- > 0;)
        tj_text_append(out, tj_operation_flag(view, &tj_operations[i]) ? tj_operations[i].before : "");
    append_extents(out, "M", &view->j, "j", &view->k, "k");
    tj_text_append(out, " . ");
    append_extents(out, "N", &view->k, "k", &view->l, "l");
    for (size_t i = 0; i < tj_operation_count; i++)
        tj_text_append(out, tj_operation_flag(view, &tj_operations[i]) ? tj_operations[i].after : "");
    tj_text_append(out, "\n//\n");
    if (is_swapped && problem->p.layout == TJ_ROW_MAJOR)
        tj_text_append(out, "// This text computes the transpose, P^T = N^T . M^T, so that j is the shorter side: its M is the "
                            "caller's N, its\n"
                            "// N the caller's M, and j and l have changed places.\n//\n");
    else if (is_swapped)
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

/* In the caller's dimensions. */
static tj_status describe_checks(const tj_source *source, bool is_swapped, char **out, tj_error *err)
{
    const tj_problem *problem = &source->problem;
    const tj_config *config = &source->config;
    tj_text text = TJ_TEXT_INIT(MAX_CHECKS_TEXT);
    tj_tile tile;

    if (tj_product_step(&source->launch)->grid == TJ_GRID_PRODUCTS) {
        tj_text_append(&text, "j, k, l: not checked, a block computes whole products");
        return tj_text_take(&text, out, err);
    }
    tile = config->family->tile(config);
    if (is_swapped)
        tile = (tj_tile){tile.cols, tile.k, tile.rows, tile.cols_name, tile.k_name, tile.rows_name};
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

/* params NULL: nobody wants the text. */
static const char *describe(const tj_problem *view, bool is_swapped, const tj_config *config, tj_template_params *params,
                            tj_launch_form *form)
{
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
        tj_step_name(view, config->family->name, "kernel", params, form, &form->step[0]);
    name = config->family->describe(view, config, params, form);
    product = tj_step_product(form);
    if (product->splits > 1) /* an int k is rounded up to whole phases of all of them */
        form->most_k = INT32_MAX - product->splits * config->family->tile(config).k;
    if (params && product->arg_count == 0)
        tj_step_list_args(view, is_swapped, true, product->splits <= 1, product);
    return name;
}

void tj_family_launch(const tj_problem *view, bool is_swapped, const tj_config *config, tj_launch_form *form)
{
    (void)describe(view, is_swapped, config, NULL, form);
}

tj_status tj_generate(const tj_problem *problem, const tj_config *config, tj_source **out, tj_error *err)
{
    if (!out)
        return tj_fail_null(err, __func__, "source");
    *out = NULL;
    if (!problem)
        return tj_fail_null(err, __func__, "problem");
    const tj_config standard = TJ_CONFIG_INIT;
    tj_config resolved = config ? *config : standard;
    tj_template_params params = {0};
    tj_text body = TJ_TEXT_INIT(MAX_SOURCE_BYTES);
    tj_source *source = NULL;
    const tj_launch_step *product;
    const char *template_name;
    tj_problem view;
    bool is_swapped;
    tj_status status;

    status = tj_config_resolve(problem, &resolved, err);
    if (status != TJ_OK)
        return status;
    source = calloc(1, sizeof *source);
    if (!source)
        return tj_fail_memory(err, "a source");

    source->problem = tj_problem_canonical(problem);
    source->config = resolved;
    view = tj_family_view(&resolved, problem, &is_swapped);
    fill_common(&view, &resolved, is_swapped, &params);
    template_name = describe(&view, is_swapped, &resolved, &params, &source->launch);
    describe_epilogue(&view, &source->launch, &params);
    product = tj_product_step(&source->launch);
    tj_template_set_flag(&params, "int_fits", fits_int(&view, resolved.family->widest, product->splits));
    tj_template_set_flag(&params, "splits_k", product->splits > 1);
    tj_template_set_flag(&params, "whole_products", product->grid == TJ_GRID_PRODUCTS);
    tj_template_set_flag(&params, "any_batch", product->grid == TJ_GRID_PRODUCTS && view.batch == TJ_ANY);
    tj_template_set_flag(&params, "rows_on_x", product->rows_on_x);
    tj_template_set_flag(&params, "rows_on_y", !product->rows_on_x);

    append_head(&body, &source->problem, &view, is_swapped);
    status = tj_template_fill(template_name, &params, &body, err);
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

tj_status tj_preview_launch(const tj_problem *problem, tj_config *config, tj_launch_form *form, tj_error *err)
{
    if (!form)
        return tj_fail_null(err, __func__, "form");
    memset(form, 0, sizeof *form);
    if (!problem)
        return tj_fail_null(err, __func__, "problem");
    if (!config)
        return tj_fail_null(err, __func__, "config");
    bool is_swapped;
    tj_problem view;
    tj_status status = tj_config_resolve(problem, config, err);

    if (status != TJ_OK)
        return status;
    view = tj_family_view(config, problem, &is_swapped);
    tj_family_launch(&view, is_swapped, config, form);
    return TJ_OK;
}

void tj_source_free(tj_source *source)
{
    if (!source)
        return;
    free(source->text);
    free(source->checks_text);
    free(source);
}

const char *tj_source_text(const tj_source *source)
{
    if (!source)
        return NULL;
    return source->text;
}

const tj_launch_form *tj_source_launch(const tj_source *source)
{
    if (!source)
        return NULL;
    return &source->launch;
}

const tj_problem *tj_source_problem(const tj_source *source)
{
    if (!source)
        return NULL;
    return &source->problem;
}

const tj_config *tj_source_config(const tj_source *source)
{
    if (!source)
        return NULL;
    return &source->config;
}

const char *tj_source_checks_text(const tj_source *source)
{
    if (!source)
        return NULL;
    return source->checks_text;
}
