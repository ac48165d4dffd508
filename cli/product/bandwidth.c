/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bandwidth: the memory bandwidth that a kernel of this library reaches on a device, measured once and remembered by the
 * device's uuid in the store's folder. It is not part of the store: the file may be removed at any time.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "product.h"

static const char FILE_NAME[] = "bandwidth.json";

enum { PATH_BYTES = 4200, MOST_BYTES = 1 << 20 };

static bool find_file(tj_context *context, char path[PATH_BYTES])
{
    const char *folder = tj_store_path(context);

    return *folder && !tj_store_trouble(context) && snprintf(path, PATH_BYTES, "%s/%s", folder, FILE_NAME) < PATH_BYTES;
}

/* Load all remembered values; NULL: none. The folder is the user's own, but never wait for a pipe in it. */
static tj_json *load(const char *path)
{
    tj_json *all = NULL;
    char *text;
    size_t size;
    tj_input in;
    tj_error ignored;

    if (tj_input_open(path, &in, &ignored) == TJ_OK && in.size >= 0 &&
        tj_input_read_rest(&in, MOST_BYTES, &text, &size, &ignored) == TJ_OK) {
        (void)tj_json_read(text, size, &all, NULL);
        free(text);
    }
    tj_input_close(&in);
    return all;
}

double cli_read_bandwidth(tj_context *context, const tj_device_facts *facts)
{
    char path[PATH_BYTES];
    double bytes_per_s = 0;
    tj_json *all;

    if (!facts->uuid[0] || !find_file(context, path) || !(all = load(path)))
        return 0;
    bytes_per_s = tj_json_number(tj_json_get(tj_json_get(all, facts->uuid), "bytes_per_s"));
    tj_json_free(all);
    return bytes_per_s > 1e9 && bytes_per_s < 1e15 ? bytes_per_s : 0; /* an edited file is not a measurement */
}

/* A value that cannot be remembered is measured again: not a failure. */
static void remember(tj_context *context, const tj_device_facts *facts, double bytes_per_s)
{
    char path[PATH_BYTES];
    tj_json *all, *one;
    tj_output file;
    tj_error ignored;
    char *text;

    if (!facts->uuid[0] || !find_file(context, path))
        return;
    all = load(path);
    if (tj_json_kind_of(all) != TJ_JSON_OBJECT) {
        tj_json_free(all);
        all = tj_json_new();
    }
    one = cli_add_object(all, facts->uuid);
    cli_set_text(one, "name", facts->name);
    cli_set_real(one, "bytes_per_s", bytes_per_s);
    text = tj_json_print_lines(all, TJ_JSON_EXACT);
    if (tj_output_open(path, &file, &ignored) == TJ_OK && file.folder >= 0 && text) /* otherwise it is not a regular file */
        (void)cli_write_output(&file, text, strlen(text), &ignored);
    tj_output_close(&file);
    free(text);
    tj_json_free(all);
}

/* P = beta * C with k = 0 reads one matrix and writes another: STREAM's "scale". Keep the best rate. */
static tj_status time_scale(tj_context *context, int64_t extent, const char *text, tj_operands *x, double *bytes_per_s,
                            tj_error *err)
{
    tj_problem problem = TJ_PROBLEM_INIT(extent, 0, extent, TJ_F64);
    const double moved = 16.0 * (double)extent * (double)extent;
    double us, least_us;
    const tj_plan *plan;
    tj_config config;

    problem.epilogue.has_beta = 1;
    if (tj_config_parse(text, &config, err) != TJ_OK || tj_plan_prepare(context, &problem, &config, &plan, err) != TJ_OK ||
        cli_time(context, plan, x, (cli_timing){3, 9}, &us, &least_us, err) != TJ_OK)
        return err->status;
    *bytes_per_s = fmax(*bytes_per_s, moved / us * 1e6);
    return TJ_OK;
}

tj_status cli_measure_bandwidth(tj_context *context, const tj_device_facts *facts, double *bytes_per_s, tj_error *err)
{
    static const char *const configs[] = {"naive:tile_width=16", "naive:tile_width=32"};
    tj_buffer *from = NULL, *to = NULL;
    tj_operands x = TJ_OPERANDS_INIT;
    const tj_emulator *emulator;
    size_t free_bytes, total_bytes;
    int64_t extent = 16384; /* 2 GiB each */
    tj_status status;

    *bytes_per_s = 0;
    if (tj_emulator_get(context, &emulator, err) != TJ_OK)
        return err->status;
    if (emulator)
        return tj_fail(err, TJ_ERR_UNSUPPORTED, "the emulator has no bandwidth to measure: --measure needs a GPU");
    if (tj_device_memory(context, &free_bytes, &total_bytes, err) != TJ_OK)
        return err->status;
    while (extent > 2048 && (size_t)(16 * extent * extent) > free_bytes / 2)
        extent /= 2;
    status = tj_buffer_create(context, (size_t)(8 * extent * extent), &from, err);
    if (status == TJ_OK)
        status = tj_buffer_create(context, (size_t)(8 * extent * extent), &to, err);
    if (status == TJ_OK)
        status = tj_buffer_fill(from, 0, err);
    x.c.address = tj_buffer_address(from);
    x.p.address = tj_buffer_address(to);
    x.beta = 1;
    for (size_t i = 0; i < sizeof configs / sizeof configs[0] && status == TJ_OK; i++)
        status = time_scale(context, extent, configs[i], &x, bytes_per_s, err);
    tj_buffer_free(from);
    tj_buffer_free(to);
    if (status == TJ_OK)
        remember(context, facts, *bytes_per_s);
    return status;
}
