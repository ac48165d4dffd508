/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multiply: compute one product on the device, time, check and report it. Shared by matmul and run.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "product.h"

static const double DEFAULT_CHECK_FLOP = 2e10;

static const cli_option own[] = {
    {"no-check", CLI_FLAG, offsetof(cli_check_options, no_check), "Do not compare P with the product in float64.", .low = 1},
    {"check", CLI_FLAG, offsetof(cli_check_options, no_check), "Compare P with the product in float64 (the default)."},
    {"check-budget", CLI_REAL, offsetof(cli_check_options, budget),
     "Limit of the work of the comparison, in FLOP; above it, whole rows of P are sampled. Default 2e10.", "flop", 1},
    {NULL},
};

const cli_group cli_check_group = {"Check", own};

/* Without a driver: do all other work, and say that it ends there. */
static void compile_instead(const cli_call *call, const cli_machine_options *machine, const cli_request *request, tj_error *err)
{
    const char *path = tj_store_path(call->context);
    const bool is_stored = *path && !tj_store_trouble(call->context);
    const tj_error why = *err;

    if (cli_compile_only(call, machine, request, err) == CLI_DONE)
        (void)tj_fail(err, TJ_ERR_NO_DRIVER,
                      "the kernel was generated, compiled%s%s, but there was nothing here to run it on: %s",
                      is_stored ? " and stored in " : "", is_stored ? path : "", why.message);
}

static void tell_time(const cli_call *call, const cli_product *product, double median, double least)
{
    tj_problem known = tj_problem_canonical(&product->request->known);
    double elements = known.symmetric ? (double)known.j.extent * ((double)known.j.extent + 1) / 2
                                      : (double)known.j.extent * (double)known.l.extent;
    double flop = 2.0 * elements * (double)known.k.extent * (double)known.batch;
    double gflops = median > 0 ? flop / median / 1e3 : 0;
    tj_json *time = cli_add_object(call->answer, "time");

    cli_set_real(time, "median_us", median);
    cli_set_real(time, "min_us", least);
    cli_set_int(time, "repeat", product->timing.repeat);
    cli_set_int(time, "warmup", product->timing.warmup);
    cli_set_real(call->answer, "gflops", gflops);
    cli_say(call, "time       %.2f us median, %.2f us least of %d launches, %.1f GFLOP/s\n", median, least,
            (int)product->timing.repeat, gflops);
}

/* Add an answer member and a line about the comparison. */
static void tell_check(const cli_call *call, const tj_check_report *report)
{
    tj_json *check = cli_add_object(call->answer, "check");

    cli_set_bool(check, "passed", report->passed);
    cli_set_int(check, "elements", report->elements);
    cli_set_int(check, "elements_total", report->elements_total);
    cli_set_real(check, "max_error", report->max_error);
    cli_set_real(check, "max_ratio", report->max_ratio);
    cli_set_real(check, "max_relative", report->max_relative);
    cli_set_real(check, "norm", report->norm);
    cli_set_text(check, "reason", report->reason);
    if (report->passed)
        cli_say(call,
                "check      passed: %" PRId64 " of %" PRId64
                " elements against float64, largest error %.3g, %.3g of its bound\n",
                report->elements, report->elements_total, report->max_error, report->max_ratio);
    else
        cli_say(call, "check      NOT PASSED: %s\n", report->reason);
}

static cli_exit check_product(const cli_call *call, const cli_product *product, const tj_workbench *bench, tj_error *err)
{
    const cli_real *budget = &product->check->budget;
    tj_check_report report = TJ_CHECK_REPORT_INIT;

    if (tj_workbench_check(bench, product->p, budget->is_given ? budget->value : DEFAULT_CHECK_FLOP, 0, &report, err) != TJ_OK)
        return CLI_FAILED;
    tell_check(call, &report);
    if (report.passed)
        return CLI_DONE;
    (void)tj_fail(err, TJ_ERR_CHECK_FAILED, "the product was computed and did not pass its check: %s", report.reason);
    return CLI_CHECK_FAILED;
}

/* Report the plan and the device. The plan's image names the target, the driver the device. */
static void tell_plan(const cli_call *call, const cli_machine_options *machine, const tj_plan *plan)
{
    const int ordinal = cli_device_ordinal(machine);
    const tj_image *image = tj_plan_image(plan);
    const tj_source *source = tj_plan_source(plan);
    char config[TJ_CONFIG_TEXT_BYTES];
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
    tj_error ignored;

    cli_answer_kernel(call->answer, source, image);
    cli_set_bool(call->answer, "was_run", true);
    tj_config_print(tj_source_config(source), config);
    cli_say(call, "kernel     %s\nconfig     %s\n", tj_source_kernel(source), config);
    cli_tell_chosen(call, stdout, tj_plan_chosen_by(plan));
    if (tj_device_get(call->context, ordinal, &facts, &ignored) != TJ_OK)
        (void)snprintf(facts.name, sizeof facts.name, "device %d", ordinal);
    cli_set_text(call->answer, "device", facts.name);
    cli_set_int(call->answer, "device_ordinal", ordinal);
    cli_say(call, "device     %d: %s, as %s; image from %s\n", ordinal, facts.name, tj_image_target(image),
            tj_image_origin(image) == TJ_FROM_COMPILER ? "the compiler"
            : tj_image_origin(image) == TJ_FROM_REMOTE ? "another machine"
                                                       : cli_origin(tj_image_origin(image)));
}

/* Report the path that the device chose, if the source has several; for a batch, the number of products on each. */
static tj_status tell_paths(const cli_call *call, const tj_plan *plan, const tj_operands *x, tj_error *err)
{
    const tj_kernel *const kernel = tj_plan_kernel(plan);
    const int64_t count = tj_kernel_path_count(kernel);
    int64_t products[TJ_PATH_F32 + 1] = {0};
    tj_status status;
    tj_json *object;
    int32_t *paths;

    if (count == 0 || !x->workspace)
        return TJ_OK;
    paths = malloc((size_t)count * sizeof *paths);
    if (!paths)
        return tj_fail_memory(err, "the paths of a product");
    status = tj_kernel_copy_paths(kernel, x->workspace, paths, (size_t)count, NULL, err);
    if (status == TJ_OK)
        status = tj_synchronize(call->context, NULL, err);
    for (int64_t i = 0; status == TJ_OK && i < count; i++)
        products[paths[i] >= TJ_PATH_F16 && paths[i] <= TJ_PATH_F32 ? paths[i] : 0]++;
    free(paths);
    if (status != TJ_OK)
        return status;
    object = cli_add_object(call->answer, "paths");
    cli_say(call, "path      ");
    for (int path = TJ_PATH_F16; path <= TJ_PATH_F32; path++) {
        cli_set_int(object, tj_path_name((tj_path)path), products[path]);
        if (products[path] > 0 && count > 1)
            cli_say(call, " %s: %" PRId64, tj_path_name((tj_path)path), products[path]);
        else if (products[path] > 0)
            cli_say(call, " %s", tj_path_name((tj_path)path));
    }
    cli_say(call, "\n");
    return TJ_OK;
}

cli_exit cli_multiply(const cli_call *call, const cli_machine_options *machine, const cli_product *product, tj_error *err)
{
    tj_context *context = call->context;
    const cli_request *request = product->request;
    const bool by_line = product->counts == CLI_COUNT_LINES;
    tj_workbench_options options = TJ_WORKBENCH_INIT;
    tj_workbench *bench = NULL;
    const tj_plan *plan = NULL;
    const tj_emulator *emulator = NULL;
    double median = 0, least = 0;
    cli_exit code = CLI_FAILED;
    tj_status status;

    status = tj_plan_prepare(context, &request->problem, request->has_config ? &request->config : NULL, &plan, err);
    if (status == TJ_ERR_NO_DRIVER)
        compile_instead(call, machine, request, err);
    memcpy(options.host, product->host, sizeof options.host);
    options.offsets = product->offsets;
    memcpy(options.number, request->number, sizeof options.number);
    options.numbers_given = request->numbers_given;
    options.seed = product->seed;
    options.alpha = request->alpha;
    options.beta = request->beta;
    options.alpha_im = request->alpha_im;
    options.beta_im = request->beta_im;
    if (status != TJ_OK || tj_workbench_create(context, &request->known, &options, &bench, err) != TJ_OK ||
        tj_workbench_fit(bench, tj_plan_workspace_bytes(plan), err) != TJ_OK ||
        tj_emulator_get(context, &emulator, err) != TJ_OK ||
        (product->counts && cli_count_begin(call, by_line, plan, err) != TJ_OK) ||
        cli_launch(context, emulator, plan, tj_workbench_operands(bench), err) != TJ_OK ||
        tj_workbench_read(bench, 0, product->p, err) != TJ_OK ||
        (product->scale_p &&
         tj_workbench_read_operand(bench, 0, TJ_OPERAND_SCALE + TJ_MATRIX_P, product->scale_p, err) != TJ_OK))
        goto done;
    /* The emulator's clock is a model, not a measurement. */
    if (!emulator && cli_time(context, plan, tj_workbench_operands(bench), product->timing, &median, &least, err) != TJ_OK)
        goto done;
    tell_plan(call, machine, plan);
    if (tell_paths(call, plan, tj_workbench_operands(bench), err) != TJ_OK)
        goto done;
    if (product->counts && cli_count_end(call, by_line, plan, tj_workbench_operands(bench), err) != TJ_OK)
        goto done;
    if (emulator)
        cli_say(call, "time       not measured: the emulator runs on the CPU, and its clock tells nothing of a GPU\n");
    else
        tell_time(call, product, median, least);
    code = product->check->no_check ? CLI_DONE : check_product(call, product, bench, err);
done:
    tj_workbench_free(bench);
    return code;
}
