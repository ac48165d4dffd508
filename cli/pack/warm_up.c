/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit warm-up: compile the kernels of a list of shapes for the device at hand, on several threads, into the store.
 */
#include <stdlib.h>

#include "pack.h"

typedef struct warm_up_options {
    cli_request_options request;
    cli_machine_options machine;
    const char *shapes;
    int64_t threads;
} warm_up_options;

#define AT(field) offsetof(warm_up_options, field)

static const cli_option own[] = {
    {"shapes", CLI_TEXT, AT(shapes), CLI_SHAPES_SUMMARY, "file.csv"},
    {"threads", CLI_INT, AT(threads),
     "Number of kernels that are compiled at once; default: the number of processors, at "
     "most 8.",
     "count", .low = 1, .high = 64},
    {NULL},
};

typedef struct warming {
    const cli_call *call;
    const cli_shapes *shapes;
    tj_json *failures;
} warming;

/* Report failures at once, and successes with --log-level info. */
static int tell(const tj_warm_up_step *step, void *payload)
{
    const warming *w = payload;
    const char *shape = w->shapes->item[step->index].text;
    tj_json *failure;

    if (step->status != TJ_OK) {
        cli_print(stderr, "tilejit: %s: %s\n", shape, step->message);
        failure = cli_append_object(w->failures);
        cli_set_text(failure, "shape", shape);
        cli_set_text(failure, "message", step->message);
    } else if (w->call->log_level >= TJ_LOG_INFO) {
        cli_print(stderr, "tilejit: %s is ready, %zu of %zu\n", shape, step->done, step->count);
    }
    return 0;
}

static tj_status run(cli_call *call, const cli_shapes *shapes, tj_error *err)
{
    const warm_up_options *options = call->options;
    warming w = {call, shapes, NULL};
    tj_warm_up_options how = TJ_WARM_UP_OPTIONS_INIT;
    tj_problem *problem = calloc(shapes->count, sizeof *problem);
    tj_context_stats stats = TJ_CONTEXT_STATS_INIT;
    size_t made = 0;
    tj_status status = problem ? cli_open(call, &options->machine, true, err)
                               : tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for a list of shapes");

    for (size_t i = 0; problem && i < shapes->count; i++)
        problem[i] = shapes->item[i].problem;
    how.threads = (int32_t)options->threads;
    how.on_step = tell;
    how.payload = &w;
    if (status == TJ_OK) {
        w.failures = cli_add_list(call->answer, "failures");
        status = tj_warm_up(call->context, problem, shapes->count, &how, &made, err);
        tj_context_get_stats(call->context, &stats);
        cli_set_int(call->answer, "shapes", (int64_t)shapes->count);
        cli_set_int(call->answer, "ready", (int64_t)made);
        cli_set_int(call->answer, "compiled", (int64_t)stats.compiles);
        cli_say(call, "%zu of %zu shapes are ready: %lld kernels compiled, %lld from the store, %lld from packs\n", made,
                shapes->count, (long long)stats.compiles, (long long)stats.store_hits, (long long)stats.pack_hits);
    }
    free(problem);
    return status;
}

static cli_exit warm_up(cli_call *call, tj_error *err)
{
    const warm_up_options *options = call->options;
    cli_shapes shapes = {NULL, 0};
    cli_exit code;

    if (call->operand_count == 0 && !options->shapes) {
        (void)tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                      "there is no shape to warm up: write one such as 512x300x700, or --shapes with a file of them");
        return CLI_WORDS;
    }
    if (cli_refuse_arch(call, &options->machine, err) != TJ_OK)
        return CLI_WORDS;
    code = cli_read_shapes(call, &options->request, options->shapes, &shapes, err);
    if (code == CLI_DONE && run(call, &shapes, err) != TJ_OK)
        code = CLI_FAILED;
    free(shapes.item);
    return code;
}

const cli_command cli_warm_up = {
    .name = "warm-up",
    .operands = "[jxkxl ...]",
    .operand_count = {0, CLI_MAX_OPERANDS},
    .summary = "compile the kernels of shapes for this device into the store",
    .text = "Chooses a config for each shape, as a program's first call does, compiles and loads its kernel, several at "
            "once, and keeps it in the store, where a program that starts afterwards finds it. For a machine without a GPU, "
            "or for one file to ship, see tilejit pack.",
    .example = "tilejit warm-up 512x300x700 64x64x64\n"
               "tilejit warm-up --shapes captured.csv --threads 4",
    .takes = {{&(const cli_group){"warm-up", own}},
              {cli_request_groups, AT(request), CLI_SCALARS},
              {&cli_machine_group, AT(machine)}},
    .option_bytes = sizeof(warm_up_options),
    .run = warm_up,
};
