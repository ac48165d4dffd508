/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look_run: the configs of a look run on the GPU for their times, or executed on the emulator for its counters.
 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const double MOST_FMA_TO_EXECUTE = 2e9; /* minutes on the emulator */
enum { DEFAULT_WARMUP = 5, DEFAULT_REPEAT = 21 };

/* A buffer of a matrix, filled with the same few random numbers again and again. */
static tj_status make_matrix(tj_context *context, const tj_problem *known, tj_which which, tj_buffer **buffer, tj_error *err)
{
    enum { CHUNK = 1 << 16 };
    const tj_problem p = tj_problem_strided(known);
    const tj_type dtype = (tj_type)(tj_problem_matrix(&p, which)->type);
    const size_t bytes = (size_t)tj_problem_span(&p, which) * tj_type_bytes(dtype);
    const size_t chunk = CHUNK * tj_type_bytes(dtype);
    void *values = malloc(chunk);
    tj_status status;

    if (!values)
        return cli_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for a part of %c", "MNPC"[which]);
    tj_fill_random(dtype, values, CHUNK, (uint64_t) "MNPC"[which]);
    status = tj_buffer_create(context, bytes, buffer, err);
    for (size_t at = 0; at < bytes && status == TJ_OK; at += chunk)
        status = tj_buffer_write(*buffer, at, values, bytes - at < chunk ? bytes - at : chunk, err);
    free(values);
    return status;
}

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static tj_status time_case(const cli_words *words, tj_context *context, const tj_plan *plan, const tj_operands *x,
                           cli_case *one, tj_error *err)
{
    const int repeat = words->repeat > 0 ? (int)words->repeat : DEFAULT_REPEAT;
    double *us = calloc((size_t)repeat, sizeof *us);
    tj_status status;

    if (!us)
        return cli_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for %d durations", repeat);
    status =
        tj_time_launches(context, plan, x, NULL, words->warmup >= 0 ? (int)words->warmup : DEFAULT_WARMUP, repeat, us, err);
    if (status == TJ_OK) {
        qsort(us, (size_t)repeat, sizeof *us, by_value);
        one->least_us = us[0];
        one->median_us = (us[(repeat - 1) / 2] + us[repeat / 2]) / 2;
        one->is_measured = true;
    }
    free(us);
    return status;
}

static tj_status count_case(tj_context *context, const tj_plan *plan, const tj_operands *x, cli_case *one, tj_error *err)
{
    const tj_emulator *emulator;
    cuEmuLaunch launch, second;
    tj_status status = tj_emulator_get(context, &emulator, err);

    if (status == TJ_OK)
        status = cli_count_kernel(context, emulator, plan, x, true, &launch, err);
    if (status != TJ_OK)
        return status;
    one->counted = launch.total;
    if (one->analysis.counts.splits > 1) {
        status = cli_count_kernel(context, emulator, plan, x, false, &second, err);
        if (status != TJ_OK)
            return status;
        cli_counters_add(&one->counted, &second.total);
    }
    one->is_counted = true;
    return TJ_OK;
}

static tj_status run_case(const cli_words *words, tj_context *context, const cli_request *request, cli_case *one, tj_operands x,
                          bool is_emulated, tj_error *err)
{
    tj_buffer *workspace = NULL;
    const tj_plan *plan = NULL;
    tj_status status = tj_plan_prepare(context, &request->problem, &one->config, &plan, err);

    if (status == TJ_OK && tj_plan_workspace_bytes(plan) > 0) {
        x.workspace_bytes = tj_plan_workspace_bytes(plan);
        status = tj_buffer_create(context, x.workspace_bytes, &workspace, err);
        x.workspace = status == TJ_OK ? tj_buffer_address(workspace) : NULL;
    }
    if (status == TJ_OK)
        status = is_emulated ? count_case(context, plan, &x, one, err) : time_case(words, context, plan, &x, one, err);
    tj_buffer_free(workspace);
    return status;
}

static tj_status run_cases(const cli_words *words, cli_look *look, tj_context *context, bool is_emulated, tj_error *err)
{
    const cli_request *request = &look->request;
    tj_buffer *m = NULL, *n = NULL, *c = NULL, *p = NULL, *array[4] = {NULL, NULL, NULL, NULL};
    tj_operands x;
    tj_status status = make_matrix(context, &request->known, TJ_MATRIX_M, &m, err);

    if (status == TJ_OK)
        status = make_matrix(context, &request->known, TJ_MATRIX_N, &n, err);
    if (status == TJ_OK)
        status = make_matrix(context, &request->known, TJ_MATRIX_P, &p, err);
    if (status == TJ_OK && request->known.epilogue.has_beta)
        status = make_matrix(context, &request->known, TJ_MATRIX_C, &c, err);
    if (status == TJ_OK) {
        x = cli_operands(request, m, n, c, p);
        status = cli_scatter_operands(context, &request->known, &x, array, err);
    }
    for (size_t i = 0; i < look->count && status == TJ_OK; i++)
        status = run_case(words, context, request, &look->cases[i], x, is_emulated, err);
    tj_buffer_free(m);
    tj_buffer_free(n);
    tj_buffer_free(c);
    tj_buffer_free(p);
    cli_drop_arrays(array);
    return status;
}

tj_status cli_look_count(const cli_words *words, cli_look *look, tj_error *err)
{
    double fma = 0;

    if (!look->machine.is_emulator)
        return cli_fail(err, TJ_ERR_UNSUPPORTED, "--count needs the emulator, and this is %s: add --device emulator",
                        look->machine.has_device ? "a GPU" : "no device at all");
    for (size_t i = 0; i < look->count; i++)
        fma += (double)look->cases[i].analysis.counts.fma;
    if (fma > MOST_FMA_TO_EXECUTE)
        return cli_fail(err, TJ_ERR_UNSUPPORTED,
                        "--count executes every multiply-add on the CPU, and these are %.2g: use a shape of at most %.2g", fma,
                        MOST_FMA_TO_EXECUTE);
    return run_cases(words, look, look->machine.context, true, err);
}

tj_status cli_look_measure(const cli_words *words, cli_look *look, tj_error *err)
{
    if (!look->machine.has_device || look->machine.is_emulator)
        return cli_fail(err, TJ_ERR_UNSUPPORTED, "--measure needs a GPU, and here is %s: leave it out",
                        look->machine.is_emulator ? "the emulator, whose times are a model" : "none");
    return run_cases(words, look, look->machine.context, false, err);
}
