/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look_run: run the configs of a look on the GPU for their times, or execute them on the emulator for its counters.
 */
#include "look.h"

static const double MOST_FMA_TO_EXECUTE = 2e9; /* takes minutes on the emulator */

/* Count each kernel by a launch of its own. */
static tj_status count_case(tj_context *context, const tj_plan *plan, const tj_operands *x, cli_case *one, tj_error *err)
{
    const int32_t kernels = tj_source_launch(tj_plan_source(plan))->steps;
    const tj_emulator *emulator;
    cuEmuLaunch launch;
    tj_status status = tj_emulator_get(context, &emulator, err);

    for (int32_t step = 0; step < kernels && status == TJ_OK; step++) {
        status = cli_count_kernel(context, emulator, plan, x, step, &launch, err);
        if (status == TJ_OK)
            cli_counters_add(&one->counted, &launch.total);
    }
    one->is_counted = status == TJ_OK;
    return status;
}

/* timing NULL: on the emulator, count. */
static tj_status run_cases(cli_look *look, const cli_timing *timing, tj_error *err)
{
    tj_context *context = look->call->context;
    tj_workbench_options options = TJ_WORKBENCH_INIT;
    tj_workbench *bench = NULL;
    tj_status status;

    options.period = 1 << 16;
    options.alpha = look->request.alpha;
    options.beta = look->request.beta;
    options.alpha_im = look->request.alpha_im;
    options.beta_im = look->request.beta_im;
    status = tj_workbench_create(context, &look->request.known, &options, &bench, err);

    for (size_t i = 0; i < look->count && status == TJ_OK; i++) {
        cli_case *one = &look->cases[i];
        const tj_plan *plan = NULL;

        status = tj_plan_prepare(context, &look->request.problem, &one->config, &plan, err);
        if (status == TJ_OK)
            status = tj_workbench_fit(bench, tj_plan_workspace_bytes(plan), err);
        if (status == TJ_OK && !timing)
            status = count_case(context, plan, tj_workbench_operands(bench), one, err);
        else if (status == TJ_OK)
            status = cli_time(context, plan, tj_workbench_operands(bench), *timing, &one->median_us, &one->least_us, err);
        one->is_measured = timing && status == TJ_OK;
    }
    tj_workbench_free(bench);
    return status;
}

int64_t cli_fma(const cli_case *one)
{
    int64_t flop = 0; /* of every pipe of arithmetic: beta's are not where tensor cores add up */

    for (int p = 0; p < TJ_PIPE_ISSUE; p++)
        flop += one->analysis.work.pipe_work[p];
    return flop / 2;
}

tj_status cli_look_count(cli_look *look, tj_error *err)
{
    double fma = 0;

    if (!look->machine.is_emulator)
        return tj_fail(err, TJ_ERR_UNSUPPORTED, "--count needs the emulator, and this is %s: add --device emulator",
                       look->machine.has_device ? "a GPU" : "no device at all");
    for (size_t i = 0; i < look->count; i++)
        fma += (double)cli_fma(&look->cases[i]);
    if (fma > MOST_FMA_TO_EXECUTE)
        return tj_fail(err, TJ_ERR_UNSUPPORTED,
                       "--count executes every multiply-add on the CPU, and these are %.2g: use a shape of at most %.2g", fma,
                       MOST_FMA_TO_EXECUTE);
    return run_cases(look, NULL, err);
}

tj_status cli_look_measure(cli_timing timing, cli_look *look, tj_error *err)
{
    const cli_timing settled = cli_timing_or(timing, 5, 21);

    if (!look->machine.has_device || look->machine.is_emulator)
        return tj_fail(err, TJ_ERR_UNSUPPORTED, "--measure needs a GPU, and here is %s: leave it out",
                       look->machine.is_emulator ? "the emulator, whose times are a model" : "none");
    return run_cases(look, &settled, err);
}
