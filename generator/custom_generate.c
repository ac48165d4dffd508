/* SPDX-License-Identifier: Apache-2.0 */
/*
 * custom_generate: compute numbers, geometry and source of a request for a family of the application. Pure.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "custom.h"
#include "error.h"
#include "sources.h"
#include "text.h"

enum { MAX_SOURCE_BYTES = 256 * 1024, MAX_THREADS = 1024, MAX_BLOCK_Z = 64, REQUEST_BYTES = TJ_PROBLEM_TEXT_BYTES };

/* ---- numbers ------------------------------------------------------------------------------------------------------ */

tj_status tj_custom_resolve(tj_config *config, tj_error *err)
{
    const tj_custom *custom;
    tj_status status = tj_custom_of(config->family, &custom, err);

    if (status == TJ_OK)
        status = tj_config_check(config, err);
    if (status == TJ_OK && (config->check_j | config->check_k | config->check_l) != 0)
        status = tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "a config of family %s has no boundary: it knows no j, k and l",
                         custom->spec.name);
    for (size_t i = 0; status == TJ_OK && i < custom->family.param_count; i++)
        if (config->value[i] == 0)
            config->value[i] = custom->family.param[i].standard;
    return status;
}

/* Print the values that a formula uses: " (tile_width is 64, radius is 3)". */
static void list_values(const tj_custom *c, const tj_formula *formula, const int64_t *value, char *out, size_t bytes)
{
    tj_text text = TJ_TEXT_INIT(bytes - 1);
    bool is_listed[TJ_CUSTOM_MAX_VALUES] = {false};
    char *line = NULL;

    for (int i = 0; i < formula->steps; i++) {
        const int name = tj_formula_name_at(formula, i);

        if (name < 0 || is_listed[name])
            continue;
        is_listed[name] = true;
        tj_text_append(&text, text.length == 0 ? " (" : ", ");
        tj_text_append(&text, c->name[name]);
        tj_text_append(&text, " is ");
        tj_text_append_int(&text, value[name]);
    }
    if (text.length > 0)
        tj_text_append(&text, ")");
    out[0] = '\0';
    if (tj_text_take(&text, &line, NULL) == TJ_OK && line)
        (void)snprintf(out, bytes, "%s", line);
    free(line);
}

static tj_status fail_formula(const tj_custom *c, const char *what, const tj_formula *formula, const int64_t *value,
                              const char *trouble, tj_error *err)
{
    char values[160];

    list_values(c, formula, value, values, sizeof values);
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "family %s: %.200s %s%s", c->spec.name, what, trouble, values);
}

/* Compute one axis of the grid or of a block. name: "grid[0]". */
static tj_status measure(const tj_custom *c, const char *name, const tj_formula *formula, const int64_t *value, int64_t most,
                         unsigned int *out, tj_error *err)
{
    char trouble[64];
    int64_t result = 0;

    if (tj_formula_value(formula, value, &result) && result >= 1 && result <= most) {
        *out = (unsigned int)result;
        return TJ_OK;
    }
    (void)snprintf(trouble, sizeof trouble, "is %lld, and must be 1 to %lld", (long long)result, (long long)most);
    return fail_formula(c, name, formula, value, trouble, err);
}

static tj_status settle_geometry(const tj_custom *c, tj_custom_request *r, tj_error *err)
{
    static const char *const grid[] = {"grid[0]", "grid[1]", "grid[2]"}, *const block[] = {"block[0]", "block[1]", "block[2]"};
    static const int64_t most_blocks[] = {INT32_MAX, TJ_GRID_LIMIT, TJ_GRID_LIMIT},
                         most_threads[] = {MAX_THREADS, MAX_THREADS, MAX_BLOCK_Z};
    tj_status status = TJ_OK;

    for (int i = 0; status == TJ_OK && i < 3; i++) {
        status = measure(c, grid[i], &c->grid[i], r->value, most_blocks[i], &r->grid[i], err);
        if (status == TJ_OK)
            status = measure(c, block[i], &c->block[i], r->value, most_threads[i], &r->block[i], err);
    }
    if (status != TJ_OK)
        return status;
    if (r->block[0] * r->block[1] * r->block[2] > MAX_THREADS)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "family %s: a block of %u x %u x %u has more than %d threads",
                       c->spec.name, r->block[0], r->block[1], r->block[2], MAX_THREADS);
    if (!tj_formula_value(&c->shared, r->value, &r->shared_bytes) || r->shared_bytes < 0 || r->shared_bytes > INT32_MAX)
        return fail_formula(c, "shared_bytes", &c->shared, r->value, "is not a number of bytes", err);
    return TJ_OK;
}

tj_status tj_custom_settle(const tj_custom *c, const tj_config *config, const int64_t *extent, tj_custom_request *r,
                           tj_error *err)
{
    const size_t extents = c->spec.extent_count, params = c->family.param_count;

    for (size_t i = 0; i < extents; i++) {
        const int64_t most = c->is_passed[i] ? INT32_MAX : INT64_MAX;

        if (extent[i] < 1 || extent[i] > most)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "family %s: extent %s is %lld, and must be 1 to %lld", c->spec.name,
                           c->name[i], (long long)extent[i], (long long)most);
        r->value[i] = extent[i];
    }
    for (size_t i = 0; i < params; i++)
        r->value[extents + i] = config->value[i];
    for (size_t i = 0; i < c->spec.derived_count; i++)
        if (!tj_formula_value(&c->derived[i], r->value, &r->value[extents + params + i]))
            return fail_formula(c, c->name[extents + params + i], &c->derived[i], r->value,
                                "divides by 0, or does not fit 64 bits", err);
    for (size_t i = 0; i < c->constraints; i++) {
        int64_t holds = 0;

        if (!tj_formula_value(&c->constraint[i], r->value, &holds) || !holds)
            return fail_formula(c, c->family.constraint[i], &c->constraint[i], r->value, "does not hold", err);
    }
    return settle_geometry(c, r, err);
}

tj_status tj_custom_count(const tj_custom *c, size_t argument, const int64_t *extent, int64_t *count, tj_error *err)
{
    const tj_custom_argument *a = &c->spec.argument[argument];
    const int64_t bytes = (int64_t)tj_type_bytes((tj_type)a->type);

    if (tj_formula_value(&c->count[argument], extent, count) && *count >= 1 && *count <= INT64_MAX / 2 / bytes)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "family %s: the count of argument %s, %.100s, is not a number of elements",
                   c->spec.name, a->name, a->count);
}

tj_status tj_custom_evaluate(const tj_family *family, const char *formula, const int64_t *extent, int64_t *value, tj_error *err)
{
    if (TJ_HAS_NULL(err, value, family, formula, extent))
        return TJ_ERR_INVALID_ARGUMENT;
    const tj_custom *custom;
    tj_formula read;
    int64_t result;
    tj_status status = tj_custom_of(family, &custom, err);

    if (status == TJ_OK)
        status = tj_formula_read(formula, "formula", custom->name, custom->spec.extent_count, &read, err);
    if (status == TJ_OK && !tj_formula_value(&read, extent, &result))
        status = fail_formula(custom, formula, &read, extent, "divides by 0, or does not fit 64 bits", err);
    if (status == TJ_OK)
        *value = result;
    return status;
}

void tj_custom_print_request(const tj_custom *c, const int64_t *extent, char *line, size_t bytes)
{
    size_t length = (size_t)snprintf(line, bytes, "%s", c->spec.name);

    for (size_t i = 0; i < c->spec.extent_count && length < bytes; i++) {
        char number[24] = "any";

        if (!c->is_passed[i])
            (void)tj_format_int(number, extent[i]);
        length += (size_t)snprintf(line + length, bytes - length, " %s=%s", c->name[i], number);
    }
}

/* ---- source ------------------------------------------------------------------------------------------------------- */

/* Print the kernel's name, "convolution_512x512x3": the extents that are numbers in the source, up to the length of a name. */
static void name_kernel(const tj_custom *c, const int64_t *extent, char name[TJ_KERNEL_NAME_BYTES])
{
    size_t length = (size_t)snprintf(name, TJ_KERNEL_NAME_BYTES, "%s", c->spec.name);
    char number[24], sign = '_';

    for (size_t i = 0; i < c->spec.extent_count; i++) {
        if (c->is_passed[i])
            continue;
        if (length + 1 + tj_format_int(number, extent[i]) >= TJ_KERNEL_NAME_BYTES)
            return;
        length += (size_t)snprintf(name + length, TJ_KERNEL_NAME_BYTES - length, "%c%s", sign, number);
        sign = 'x';
    }
}

static void set_choice(tj_template_params *params, const tj_param *param, int64_t value)
{
    char name[TJ_TEMPLATE_NAME_BYTES];

    tj_template_set(params, param->name, param->choice[value - 1]);
    for (int32_t i = 0; i < param->maximum; i++) {
        (void)snprintf(name, sizeof name, "%s_%s", param->name, param->choice[i]);
        tj_template_set_flag(params, name, value == i + 1);
    }
}

static void set_parameters(const tj_custom *c, const tj_custom_request *r, const char *kernel, tj_template_params *params)
{
    const size_t extents = c->spec.extent_count, settled = extents + c->family.param_count;

    for (size_t i = 0; i < c->names; i++) {
        const tj_param *param = i >= extents && i < settled ? &c->family.param[i - extents] : NULL;

        if (i < extents && c->is_passed[i])
            continue;
        if (param && param->choice)
            set_choice(params, param, r->value[i]);
        else if (i >= settled && c->derived[i - settled].is_condition)
            tj_template_set_flag(params, c->name[i], r->value[i] != 0);
        else
            tj_template_set_int(params, c->name[i], r->value[i]);
    }
    tj_template_set(params, c->spec.name, kernel);
}

/* Describe the launch: one kernel with the request's blocks and grid, and the sizes of its parameters. */
static void describe_launch(const tj_custom *c, const tj_custom_request *r, const char *kernel, tj_launch_form *form)
{
    tj_launch_step *step = &form->step[0];

    memset(form, 0, sizeof *form);
    form->steps = 1;
    form->needs = c->spec.needs;
    memcpy(step->kernel, kernel, strlen(kernel) + 1);
    step->grid = TJ_GRID_ONCE;
    step->block_x = (int32_t)(r->block[0] * r->block[1] * r->block[2]);
    step->block_y = step->block_rows = step->block_cols = 1;
    step->dynamic_shared_bytes = r->shared_bytes;
    for (size_t i = 0; i < c->spec.argument_count; i++) {
        const tj_custom_argument *a = &c->spec.argument[i];
        const bool is_int = a->kind == TJ_CUSTOM_EXTENT || (a->kind == TJ_CUSTOM_SCALAR && a->type != TJ_F64);

        if (a->kind != TJ_CUSTOM_CONSTANT)
            step->arg[step->arg_count++] = (tj_argument){TJ_ARG_CUSTOM, is_int ? 4 : 8};
    }
}

static bool is_in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Does the name occur with a bracket after it? A quick look, not a parse. */
static bool declares(const char *text, const char *kernel)
{
    const size_t length = strlen(kernel);

    for (const char *at = text; (at = strstr(at, kernel)); at += length)
        if ((at == text || !is_in_word(at[-1])) && at[length + strspn(at + length, " \t\n")] == '(')
            return true;
    return false;
}

tj_status tj_custom_generate(const tj_config *config, const int64_t *extent, tj_source **source, tj_error *err)
{
    if (source)
        *source = NULL;
    if (TJ_HAS_NULL(err, source, config, extent))
        return TJ_ERR_INVALID_ARGUMENT;
    char kernel[TJ_KERNEL_NAME_BYTES], request[REQUEST_BYTES], *text = NULL;
    tj_text body = TJ_TEXT_INIT(MAX_SOURCE_BYTES);
    tj_config resolved = *config;
    tj_template_params *params;
    tj_custom_request numbers;
    const tj_custom *custom;
    tj_launch_form form;
    tj_status status = tj_custom_resolve(&resolved, err);

    if (status == TJ_OK)
        status = tj_custom_of(resolved.family, &custom, err);
    if (status == TJ_OK)
        status = tj_custom_settle(custom, &resolved, extent, &numbers, err);
    if (status != TJ_OK)
        return status;
    params = calloc(1, sizeof *params);
    if (!params)
        return tj_fail_memory(err, "a source");
    name_kernel(custom, extent, kernel);
    set_parameters(custom, &numbers, kernel, params);
    status = tj_template_fill_own(custom->file, custom->spec.part_count, params, &body, err);
    free(params);
    if (status == TJ_OK)
        status = tj_text_take(&body, &text, err);
    tj_text_drop(&body);
    if (status != TJ_OK)
        return status;
    if (!text || !declares(text, kernel)) {
        free(text);
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%.80s declares no kernel %s: declare it as extern \"C\" __global__ void %s(...), with no other name",
                       custom->file[0].name, kernel, custom->spec.name);
    }
    describe_launch(custom, &numbers, kernel, &form);
    tj_custom_print_request(custom, extent, request, sizeof request);
    return tj_source_of_text(&resolved, &form, text, request, source, err);
}
