/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work: compile a request, or compute it on the device, and tell about it. What matmul, run and compile share.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "progress.h"

static const double DEFAULT_CHECK_FLOP = 2e10;

const char *cli_origin(tj_origin origin)
{
    return origin == TJ_FROM_COMPILER ? "compiled" : origin == TJ_FROM_STORE ? "store" : "memory";
}

bool cli_spills(const tj_source *source, const tj_image *image)
{
    const tj_resources used = tj_image_resources(image);

    return tj_product_step(tj_source_launch(source))->sums_in_registers &&
           (used.stack_bytes > 0 || used.spill_stores > 0 || used.spill_loads > 0);
}

void cli_answer_kernel(json_t *answer, const tj_source *source, const tj_image *image)
{
    char config[TJ_CONFIG_TEXT_BYTES];

    tj_config_print(tj_source_config(source), config);
    cli_set_text(answer, "kernel", tj_source_kernel(source));
    cli_set_text(answer, "config", config);
    cli_set_text(answer, "checks", tj_source_checks_text(source));
    (void)json_object_set_new(answer, "problem", cli_problem_json(tj_source_problem(source)));
    if (image) {
        tj_resources used = tj_image_resources(image);
        json_t *resources = json_object();
        size_t ptx = 0, cubin = 0;

        (void)tj_image_ptx(image, &ptx);
        if (tj_image_cubin(image, &cubin) == NULL)
            cubin = 0;
        cli_set_text(answer, "target", tj_image_target(image));
        cli_set_text(answer, "origin", cli_origin(tj_image_origin(image)));
        cli_set_text(answer, "key", tj_image_key(image));
        cli_set_text(answer, "compiler", tj_image_compiler(image));
        cli_set_int(answer, "ptx_bytes", (int64_t)ptx);
        cli_set_int(answer, "cubin_bytes", (int64_t)cubin);
        cli_set_int(resources, "registers", used.registers);
        cli_set_int(resources, "shared_bytes", used.shared_bytes);
        cli_set_int(resources, "dynamic_shared_bytes", tj_product_step(tj_source_launch(source))->dynamic_shared_bytes);
        cli_set_int(resources, "stack_bytes", used.stack_bytes);
        cli_set_int(resources, "spill_stores", used.spill_stores);
        cli_set_int(resources, "spill_loads", used.spill_loads);
        cli_set_int(resources, "constant_bytes", used.constant_bytes);
        cli_set_bool(resources, "spilled", cli_spills(source, image));
        (void)json_object_set_new(answer, "resources", resources);
    }
}

void cli_print_kernel(FILE *out, const tj_source *source, const tj_image *image)
{
    const tj_launch_step *launch = tj_product_step(tj_source_launch(source));
    tj_resources used = tj_image_resources(image);
    char config[TJ_CONFIG_TEXT_BYTES];
    size_t ptx = 0, cubin = 0;

    (void)tj_image_ptx(image, &ptx);
    if (tj_image_cubin(image, &cubin) == NULL)
        cubin = 0;
    tj_config_print(tj_source_config(source), config);
    fprintf(out, "kernel     %s\nconfig     %s\nchecks     %s\n", launch->kernel, config, tj_source_checks_text(source));
    fprintf(out, "target     %s, by NVRTC %s\n", tj_image_target(image), tj_image_compiler(image));
    fprintf(out, "origin     %s, key %s\n", cli_origin(tj_image_origin(image)), tj_image_key(image));
    fprintf(out, "image      %zu bytes of PTX, %zu bytes of CUBIN\n", ptx, cubin);
    if (used.registers >= 0)
        fprintf(out,
                "resources  %d registers per thread, %d bytes of shared memory per block, %" PRId64
                " more at launch, %d bytes of stack, spills %d/%d bytes\n",
                (int)used.registers, (int)used.shared_bytes, launch->dynamic_shared_bytes, (int)used.stack_bytes,
                (int)used.spill_stores, (int)used.spill_loads);
    else
        fputs("resources  not known before the driver has compiled the PTX\n", out);
    if (cli_spills(source, image))
        fputs("note       a kernel that spills its sums is never launched: a run would say so, or take another config\n", out);
}

/* ---- without a device --------------------------------------------------------------------------------------------- */

static tj_status make_image(const cli_words *words, tj_context *context, cli_request *request, tj_source **source,
                            tj_image **image, tj_error *err)
{
    char target[16];
    tj_status status = cli_target(context, words, target, err);

    if (status == TJ_OK)
        status = cli_adapt(context, words, target, request, err);
    if (status == TJ_OK)
        status = tj_generate(&request->problem, &request->config, source, err);
    if (status == TJ_OK)
        status = tj_image_obtain(context, *source, target, image, err);
    return status;
}

cli_exit cli_compile_only(const cli_words *words, tj_context *context, const cli_request *request, json_t *answer,
                          tj_error *err)
{
    cli_request adapted = *request;
    tj_source *source = NULL;
    tj_image *image = NULL;
    tj_status status = make_image(words, context, &adapted, &source, &image, err);

    if (status == TJ_OK) {
        cli_answer_kernel(answer, source, image);
        cli_answer_chosen(answer, &adapted);
        cli_set_bool(answer, "was_run", false);
        if (!words->is_json) {
            cli_print_kernel(stdout, source, image);
            cli_print_chosen(stdout, &adapted);
        }
    }
    tj_image_free(image);
    tj_source_free(source);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}

/* No driver: do all that can be done without one, and say that it ends there. */
static tj_status compile_instead(const cli_words *words, tj_context *context, const cli_request *request, json_t *answer,
                                 tj_error *err)
{
    const char *path = tj_store_path(context);
    bool is_stored = *path && !tj_store_trouble(context);
    tj_error why = *err;

    if (cli_compile_only(words, context, request, answer, err) != CLI_DONE)
        return err->status;
    return cli_fail(err, TJ_ERR_NO_DRIVER,
                    "the kernel was generated, compiled%s%s, but there was nothing here to run it on: %s",
                    is_stored ? " and stored in " : "", is_stored ? path : "", why.message);
}

/* ---- with one ----------------------------------------------------------------------------------------------------- */

typedef struct buffers {
    tj_buffer *m, *n, *p, *c, *workspace;
    tj_buffer *array[4]; /* of pointers into them */
} buffers;

static size_t span_bytes(const tj_problem *problem, tj_which which)
{
    tj_problem known = tj_problem_strided(problem);
    const int32_t dtype = tj_problem_matrix(&known, which)->type;

    return (size_t)tj_problem_span(&known, which) * tj_type_bytes((tj_type)dtype);
}

static tj_status copy_in(tj_context *context, const void *host, size_t bytes, tj_buffer **buffer, tj_error *err)
{
    tj_status status = tj_buffer_create(context, bytes, buffer, err);

    return status == TJ_OK ? tj_buffer_write(*buffer, 0, host, bytes, err) : status;
}

/* P starts as all ones bits, which is NaN in every type: an element that no thread writes cannot pass for a result. */
static tj_status place_operands(tj_context *context, const cli_product *product, size_t workspace_bytes, buffers *on_device,
                                tj_error *err)
{
    const tj_problem *known = &product->request->known;
    tj_status status = copy_in(context, product->host.m, span_bytes(known, TJ_MATRIX_M), &on_device->m, err);

    if (status == TJ_OK)
        status = copy_in(context, product->host.n, span_bytes(known, TJ_MATRIX_N), &on_device->n, err);
    if (status == TJ_OK && known->epilogue.has_beta && product->host.c)
        status = copy_in(context, product->host.c, span_bytes(known, TJ_MATRIX_C), &on_device->c, err);
    if (status == TJ_OK)
        status = tj_buffer_create(context, span_bytes(known, TJ_MATRIX_P), &on_device->p, err);
    if (status == TJ_OK)
        status = tj_buffer_fill(on_device->p, 0xff, err);
    if (status == TJ_OK && workspace_bytes > 0)
        status = tj_buffer_create(context, workspace_bytes, &on_device->workspace, err);
    return status;
}

tj_operands cli_operands(const cli_request *request, const tj_buffer *m, const tj_buffer *n, const tj_buffer *c,
                         const tj_buffer *p)
{
    tj_problem known = tj_problem_canonical(&request->known);
    tj_operands operands = TJ_OPERANDS_INIT;

    operands.m.address = tj_buffer_address(m);
    operands.n.address = tj_buffer_address(n);
    operands.p.address = tj_buffer_address(p);
    operands.c.address = c ? tj_buffer_address(c) : NULL;
    operands.alpha = request->alpha;
    operands.beta = request->beta;
    operands.j = known.j.extent;
    operands.k = known.k.extent;
    operands.l = known.l.extent;
    operands.m.ld = known.m.ld;
    operands.n.ld = known.n.ld;
    operands.p.ld = known.p.ld;
    operands.c.ld = known.c.ld;
    operands.batch = known.batch;
    operands.m.stride = known.m.stride;
    operands.n.stride = known.n.stride;
    operands.p.stride = known.p.stride;
    operands.c.stride = known.c.stride;
    return operands;
}

static int compare_durations(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* Median and minimum of the timed launches. */
static tj_status measure(tj_context *context, const tj_plan *plan, const tj_operands *operands, const cli_product *product,
                         double *median, double *least, tj_error *err)
{
    double *duration = calloc((size_t)product->repeat, sizeof *duration);
    tj_status status;

    if (!duration)
        return cli_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for %d durations", product->repeat);
    status = tj_time_launches(context, plan, operands, NULL, product->warmup, product->repeat, duration, err);
    if (status == TJ_OK) {
        size_t count = (size_t)product->repeat;

        qsort(duration, count, sizeof *duration, compare_durations);
        *least = duration[0];
        *median = (duration[(count - 1) / 2] + duration[count / 2]) / 2;
    }
    free(duration);
    return status;
}

static void tell_time(const cli_words *words, const cli_product *product, double median, double least, json_t *answer)
{
    tj_problem known = tj_problem_canonical(&product->request->known);
    double flop = 2.0 * (double)known.j.extent * (double)known.k.extent * (double)known.l.extent * (double)known.batch;
    double gflops = median > 0 ? flop / median / 1e3 : 0;
    json_t *time = json_object();

    cli_set_real(time, "median_us", median);
    cli_set_real(time, "min_us", least);
    cli_set_int(time, "repeat", product->repeat);
    cli_set_int(time, "warmup", product->warmup);
    (void)json_object_set_new(answer, "time", time);
    cli_set_real(answer, "gflops", gflops);
    if (!words->is_json)
        printf("time       %.2f us median, %.2f us least of %d launches, %.1f GFLOP/s\n", median, least, product->repeat,
               gflops);
}

/* In JSON there is no member of it. */
static void tell_no_time(const cli_words *words)
{
    if (!words->is_json)
        puts("time       not measured: the emulator runs on the CPU, and its clock tells nothing of a GPU");
}

/* Launch and wait. */
static tj_status launch(tj_context *context, const tj_emulator *emulator, const tj_plan *plan, const tj_operands *operands,
                        tj_error *err)
{
    cli_progress progress;
    tj_status status;

    cli_progress_begin(&progress, emulator);
    status = tj_plan_launch(plan, operands, NULL, err);
    if (status == TJ_OK)
        status = tj_synchronize(context, NULL, err);
    cli_progress_end(&progress);
    return status;
}

/* An answer member and a line about the comparison. */
static void tell_check(const cli_words *words, const tj_check_report *report, json_t *answer)
{
    json_t *check = json_object();

    cli_set_bool(check, "passed", report->passed);
    cli_set_int(check, "elements", report->elements);
    cli_set_int(check, "elements_total", report->elements_total);
    cli_set_real(check, "max_error", report->max_error);
    cli_set_real(check, "max_ratio", report->max_ratio);
    cli_set_real(check, "max_relative", report->max_relative);
    cli_set_real(check, "norm", report->norm);
    cli_set_text(check, "reason", report->reason);
    (void)json_object_set_new(answer, "check", check);
    if (words->is_json)
        return;
    if (report->passed)
        printf("check      passed: %" PRId64 " of %" PRId64
               " elements against float64, largest error %.3g, %.3g of its bound\n",
               report->elements, report->elements_total, report->max_error, report->max_ratio);
    else
        printf("check      NOT PASSED: %s\n", report->reason);
}

/* The reference takes pointers where the kernel does, in the same order. */
static tj_status refer(const cli_product *product, double flop, tj_check_report *report, tj_error *err)
{
    static const tj_which which[4] = {TJ_MATRIX_M, TJ_MATRIX_N, TJ_MATRIX_P, TJ_MATRIX_C};
    const tj_problem *known = &product->request->known;
    const void *operand[4] = {product->host.m, product->host.n, product->p, product->host.c};
    void **array[4] = {NULL, NULL, NULL, NULL};
    tj_status status = TJ_OK;

    for (int i = 0; i < 4 && status == TJ_OK; i++)
        if (operand[i] && cli_is_scattered(known, which[i])) {
            status = cli_scatter(known, which[i], operand[i], &array[i], err);
            operand[i] = array[i];
        }
    if (status == TJ_OK) {
        const tj_host_operands host = {operand[0], operand[1], operand[3], product->host.alpha, product->host.beta};

        status = tj_reference_check(known, &host, operand[2], flop, 0, report, err);
    }
    for (int i = 0; i < 4; i++)
        free(array[i]);
    return status;
}

static cli_exit check_product(const cli_words *words, const cli_product *product, json_t *answer, tj_error *err)
{
    double flop = words->check_budget.is_given ? words->check_budget.value : DEFAULT_CHECK_FLOP;
    tj_check_report report;

    if (refer(product, flop, &report, err) != TJ_OK)
        return CLI_FAILED;
    tell_check(words, &report, answer);
    if (report.passed)
        return CLI_DONE;
    (void)cli_fail(err, TJ_ERR_CHECK_FAILED, "the product was computed and did not pass its check: %s", report.reason);
    return CLI_CHECK_FAILED;
}

/* Which device ran it. The plan's image names the target, the driver the device. */
static void tell_device(const cli_words *words, tj_context *context, const tj_plan *plan, json_t *answer)
{
    int ordinal = cli_device_ordinal(words);
    const tj_image *image = tj_plan_image(plan);
    tj_device_facts facts;
    tj_error ignored;

    if (tj_device_get(context, ordinal, &facts, &ignored) != TJ_OK)
        (void)snprintf(facts.name, sizeof facts.name, "device %d", ordinal);
    cli_set_text(answer, "device", facts.name);
    cli_set_int(answer, "device_ordinal", ordinal);
    if (!words->is_json)
        printf("device     %d: %s, as %s; image from %s\n", ordinal, facts.name, tj_image_target(image),
               tj_image_origin(image) == TJ_FROM_COMPILER ? "the compiler" : cli_origin(tj_image_origin(image)));
}

cli_exit cli_multiply(const cli_words *words, tj_context *context, const cli_product *product, json_t *answer, tj_error *err)
{
    const cli_request *request = product->request;
    cli_request chosen = *request;
    buffers on_device = {.m = NULL};
    const tj_plan *plan = NULL;
    tj_operands operands;
    const tj_emulator *emulator = NULL;
    double median = 0, least = 0;
    cli_exit code = CLI_FAILED;
    bool timed = false;
    tj_status status;

    status = tj_plan_prepare(context, &request->problem, request->has_config ? &request->config : NULL, &plan, err);
    if (status == TJ_ERR_NO_DRIVER) {
        (void)compile_instead(words, context, request, answer, err);
        return CLI_FAILED;
    }
    if (status != TJ_OK)
        return CLI_FAILED;
    chosen.chosen_by = tj_plan_chosen_by(plan);
    status = place_operands(context, product, tj_plan_workspace_bytes(plan), &on_device, err);
    if (status != TJ_OK)
        goto done;
    operands = cli_operands(product->request, on_device.m, on_device.n, on_device.c, on_device.p);
    status = cli_scatter_operands(context, &request->known, &operands, on_device.array, err);
    if (status != TJ_OK)
        goto done;
    operands.workspace = on_device.workspace ? tj_buffer_address(on_device.workspace) : NULL;
    operands.workspace_bytes = tj_plan_workspace_bytes(plan);
    status = tj_emulator_get(context, &emulator, err);
    if (status == TJ_OK && words->counts)
        status = cli_count_begin(words, context, plan, err);
    if (status == TJ_OK)
        status = launch(context, emulator, plan, &operands, err);
    if (status == TJ_OK)
        status = tj_buffer_read(on_device.p, 0, product->p, span_bytes(&request->known, TJ_MATRIX_P), err);
    timed = product->repeat > 0 && !emulator; /* the emulator's clock is a model, and no measure of anything */
    if (status == TJ_OK && timed)
        status = measure(context, plan, &operands, product, &median, &least, err);
    if (status != TJ_OK)
        goto done;
    cli_answer_kernel(answer, tj_plan_source(plan), tj_plan_image(plan));
    cli_set_bool(answer, "was_run", true);
    cli_answer_chosen(answer, &chosen);
    if (!words->is_json) {
        char config[TJ_CONFIG_TEXT_BYTES];

        tj_config_print(tj_source_config(tj_plan_source(plan)), config);
        printf("kernel     %s\nconfig     %s\n", tj_source_kernel(tj_plan_source(plan)), config);
        cli_print_chosen(stdout, &chosen);
    }
    tell_device(words, context, plan, answer);
    if (words->counts && cli_count_end(words, context, plan, &operands, answer, err) != TJ_OK)
        goto done;
    if (timed)
        tell_time(words, product, median, least, answer);
    else if (emulator)
        tell_no_time(words);
    code = product->with_check ? check_product(words, product, answer, err) : CLI_DONE;
done:
    tj_buffer_free(on_device.m);
    tj_buffer_free(on_device.n);
    tj_buffer_free(on_device.p);
    tj_buffer_free(on_device.c);
    tj_buffer_free(on_device.workspace);
    cli_drop_arrays(on_device.array);
    return code;
}
