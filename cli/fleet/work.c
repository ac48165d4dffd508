/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit fleet work: a worker. One with a GPU tunes a shape; a helper compiles the first kernels of a tuning and puts the
 * images where workers look before they compile.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fleet_cli.h"

typedef struct work_options {
    cli_machine_options machine;
    const char *family, *budget, *name, *lease, *spool, *compile;
    int64_t evaluations, threads, seed;
    int32_t strategy, until_empty;
} work_options;

#define AT(field) offsetof(work_options, field)

static const cli_option own[] = {
    {"strategy", CLI_CHOICE, AT(strategy), "How to search, as for tilejit tune: search (default), model or exhaustive.", "name",
     .names = tune_strategies},
    {"budget", CLI_TEXT, AT(budget), TUNE_BUDGET_SUMMARY, "time"},
    {"evaluations", CLI_INT, AT(evaluations), TUNE_EVALUATIONS_SUMMARY, "count", 1, INT64_C(1) << 40},
    {"family", CLI_TEXT, AT(family), "Search only this family; default: all. See tilejit families.", "name",
     .offered = cli_family_at},
    {"threads", CLI_INT, AT(threads), "Threads that compile; default: a thread for each processor.", "count", 1, 64},
    {"seed", CLI_INT, AT(seed), "Seed of operands and search; default 1.", "number", 0, INT64_MAX - 8, .initial = 1},
    {"until-empty", CLI_FLAG, AT(until_empty), "End when the queue is empty; default: wait for more.", .low = 1},
    {"name", CLI_TEXT, AT(name), "The unique name of this worker; default: host, process and a number.", "name"},
    {"lease", CLI_TEXT, AT(lease),
     "A worker that is silent for this time counts as dead, and another gets its shape; "
     "default 15s.",
     "time"},
    {"spool", CLI_TEXT, AT(spool), "The folder for records until the server has them; default: fleet-spool next to the store.",
     "folder"},
    {"compile", CLI_TEXT, AT(compile),
     "Do not measure: compile in advance for the workers of a class, given by the first digits of its id; needs no GPU.",
     "class"},
    {NULL},
};

enum { COMPILED_AHEAD = 64, LEASE_S = 15, USUAL_SECONDS = 30 };

typedef struct doing {
    cli_call *call;
    const work_options *words;
    tj_tune_options options;
    tj_device_facts device;
    tj_records *known; /* records of the store when the worker began */
    char target[16];   /* of a helper */
} doing;

static int is_cancelled(void *payload)
{
    (void)payload;
    return cli_noted_signal() != 0;
}

static void print_shape(const char *json, char text[CLI_SHAPE_BYTES])
{
    tj_problem problem;

    text[0] = '\0';
    if (json && tj_problem_from_json(json, &problem, NULL) == TJ_OK)
        cli_print_shape(&problem, text);
}

static void tell(void *payload, const char *problem, const char *line)
{
    char shape[CLI_SHAPE_BYTES];

    (void)payload;
    print_shape(problem, shape);
    cli_print(stderr, "tilejit: %s%s%s\n", shape, *shape ? ": " : "", line);
}

static tj_status merge(void *payload, const char *present, const char *found, char **better, tj_error *err)
{
    tj_records *both = tj_records_create();
    tj_record *a = NULL, *b = NULL;
    tj_status status =
        both ? tj_record_parse(present, &a, err) : tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for records");

    (void)payload;
    *better = NULL;
    if (status == TJ_OK)
        status = tj_record_parse(found, &b, err);
    if (status == TJ_OK)
        status = tj_records_add(both, a, err);
    if (status == TJ_OK)
        status = tj_records_add(both, b, err);
    if (status == TJ_OK && tj_records_count(both) == 1) {
        *better = tj_record_print(tj_records_at(both, 0));
        if (*better && strcmp(*better, present) == 0) {
            free(*better);
            *better = NULL;
        }
    }
    tj_records_free(both);
    return status;
}

/* ---- measuring ---------------------------------------------------------------------------------------------------- */

static tj_status tune(void *payload, const char *json, char **record, tj_error *err)
{
    doing *d = payload;
    char shape[CLI_SHAPE_BYTES], config[TJ_CONFIG_TEXT_BYTES];
    tj_tune_options options = d->options;
    const tj_record *known;
    tj_tune_result result = TJ_TUNE_RESULT_INIT;
    tj_problem problem;
    tj_status status;

    *record = NULL;
    status = tj_problem_from_json(json, &problem, err);
    if (status != TJ_OK)
        return status;
    cli_print_shape(&problem, shape);
    known = strncmp(json, "{\"again\":", 9) == 0 ? NULL : tune_find_record(d->known, &problem, &d->device, &options);
    if (known) { /* found before, and lost by the server */
        *record = tj_record_print(known);
        cli_say(d->call, "%s: has a record here already\n", shape);
        return *record ? TJ_OK : tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for a record");
    }
    options.is_cancelled = is_cancelled;
    options.records = tj_records_create();
    if (!options.records)
        return tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for a record");
    status = tj_tune(d->call->context, &problem, &options, &result, err);
    if (status == TJ_OK && result.was_cancelled) /* results of an interrupted tuning stay here; another worker does the whole */
        status = tj_fail(err, TJ_ERR_CANCELLED, "the worker was ended");
    if (status == TJ_OK && tj_records_count(options.records) > 0) {
        *record = tj_record_print(tj_records_at(options.records, 0));
        tj_config_print(&result.config, config);
        cli_say(d->call, "%s: %.2f us: %s (%" PRId64 " tried, %.1f s)\n", shape, result.us, config, result.evaluations,
                result.seconds);
        (void)fflush(stdout);
    } else if (status == TJ_OK) {
        status = tj_fail(err, TJ_ERR_UNSUPPORTED, "there is no record, because the emulator measures no time");
    }
    if (status != TJ_OK && status != TJ_ERR_CANCELLED)
        cli_print(stderr, "tilejit: %s: %s\n", shape, err->message);
    tj_records_free(options.records);
    return status;
}

/* ---- compiling ahead ---------------------------------------------------------------------------------------------- */

typedef struct ahead {
    const doing *d;
    const tj_problem *problem;
    int64_t made;
} ahead;

static double predict(void *payload, const tj_config *config)
{
    const ahead *a = payload;
    double us;

    return tj_estimate(&a->d->device, a->problem, config, &us, NULL) == TJ_OK ? us : 0;
}

/* Instead of measuring, make the image, which sends it to the server; the time is the model's. */
static tj_status compile_one(void *payload, double best_us, tj_trial *trial, tj_error *err)
{
    ahead *a = payload;
    tj_config config = trial->config;
    tj_source *source = NULL;
    tj_image *image = NULL;
    tj_status status = tj_config_adapt(&a->d->device, a->problem, &config, err);

    (void)best_us;
    if (status == TJ_OK)
        status = tj_generate(a->problem, &config, &source, err);
    if (status == TJ_OK)
        status = tj_image_obtain(a->d->call->context, source, a->d->target, &image, err);
    trial->us = predict(payload, &trial->config);
    trial->state = status == TJ_OK && trial->us > 0 ? TJ_TRIAL_TIMED : TJ_TRIAL_REFUSED;
    a->made += status == TJ_OK && tj_image_origin(image) == TJ_FROM_COMPILER;
    tj_image_free(image);
    tj_source_free(source);
    return status == TJ_ERR_OUT_OF_MEMORY || status == TJ_ERR_NO_COMPILER ? status : TJ_OK;
}

static tj_status compile_ahead(void *payload, const char *json, char **record, tj_error *err)
{
    doing *d = payload;
    tj_problem problem;
    ahead a = {d, &problem, 0};
    const tj_measurer measurer = {
        .struct_size = sizeof measurer, .payload = &a, .measure = compile_one, .predict = predict, .device = &d->device};
    tj_tune_options options = d->options;
    tj_search_result found = TJ_SEARCH_RESULT_INIT;
    char shape[CLI_SHAPE_BYTES];
    tj_config first;
    tj_status status = tj_problem_from_json(json, &problem, err);

    *record = NULL;
    options.evaluations = options.evaluations > 0 ? options.evaluations : COMPILED_AHEAD;
    options.seconds = -1;
    options.is_cancelled = is_cancelled;
    if (status == TJ_OK)
        status = tj_choose(NULL, &problem, &d->device, &first, NULL, err);
    if (status == TJ_OK)
        status = tj_search(&problem, &options, &first, 1, &measurer, &found, err);
    if (status == TJ_OK) {
        cli_print_shape(&problem, shape);
        cli_say(d->call, "%s: %" PRId64 " candidates compiled\n", shape, a.made);
        (void)fflush(stdout);
        if (found.was_cancelled)
            status = tj_fail(err, TJ_ERR_CANCELLED, "the worker was ended");
    }
    free(found.trial);
    return status;
}

/* Choose the class to help. It needs the same NVRTC and sources, or images compiled here would be useless there. */
static tj_status choose_helped(doing *d, const char *word, const char *address, const fleet_table *table, fleet_chosen *chosen,
                               tj_error *err)
{
    fleet *connection;
    tj_tuning_class here = TJ_TUNING_CLASS_INIT;
    tj_json *root = NULL, *class;
    bool is_known = false;
    tj_status status = table->open(address, true, &connection, err);

    if (status != TJ_OK)
        return status;
    status = fleet_choose_classes(d->call, &d->words->machine, word, table, connection, chosen, NULL, err);
    if (status == TJ_OK && chosen->count > 1)
        status = tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--compile helps one class: name it by its digits");
    if (status == TJ_OK)
        status = fleet_ask_status(table, connection, &root, err);
    for (class = tj_json_first(tj_json_get(root, "classes")); class; class = tj_json_next(class)) {
        const char *id = tj_json_text(tj_json_get(class, "class"));

        is_known |= chosen->count == 1 && id && strcmp(id, chosen->id[0]) == 0 && fleet_read_device(class, &d->device);
    }
    tj_json_free(root);
    table->close(connection);
    if (status == TJ_OK && !is_known)
        return tj_fail(err, TJ_ERR_NOT_FOUND, "the server has no facts of the devices of class %s: start a worker there first",
                       chosen->id[0]);
    if (status == TJ_OK)
        status = tj_tuning_class_of(d->call->context, &d->device, &here, err);
    if (status == TJ_OK && strcmp(here.id, chosen->id[0]) != 0)
        return tj_fail(
            err, TJ_ERR_UNSUPPORTED,
            "what is compiled here would be of no use to class %s: here it is \"%.260s\"; install the same tilejit and NVRTC",
            chosen->id[0], here.text);
    return status == TJ_OK ? tj_target_for(d->call->context, d->device.cc_major, d->device.cc_minor, d->target, err) : status;
}

/* ---- the command -------------------------------------------------------------------------------------------------- */

static tj_status read_options(const work_options *words, doing *d, double *lease_s, tj_error *err)
{
    d->options = (tj_tune_options)TJ_TUNE_OPTIONS_INIT;
    d->options.strategy = words->strategy;
    d->options.evaluations = words->evaluations;
    d->options.threads = (int32_t)words->threads;
    d->options.seed = words->seed;
    d->options.family = tj_family_find(words->family);
    if (words->family && !d->options.family)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "no family is named \"%.40s\": tilejit families lists them",
                       words->family);
    if (tune_read_budget(words->budget, &d->options.seconds, err) != TJ_OK)
        return err->status;
    if (words->lease && (tune_read_budget(words->lease, lease_s, NULL) != TJ_OK || *lease_s < 0.3 || *lease_s > 86400))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--lease is \"%.40s\": write 15s, 2m or the like, from 0.3s to a day",
                       words->lease);
    if (words->name && (!*words->name || strlen(words->name) > 100 || strpbrk(words->name, " \t\r\n")))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--name is \"%.60s\": use 1 to 100 characters without blanks",
                       words->name);
    return TJ_OK;
}

static tj_status choose_spool(const doing *d, char **spool, tj_error *err)
{
    const char *store = tj_store_path(d->call->context);

    if (d->words->spool || d->words->compile)
        *spool = strdup(d->words->spool ? d->words->spool : "");
    else if (!*store)
        return tj_fail(err, TJ_ERR_IO, "there is no store to keep records until the server has them: give --spool FOLDER");
    else if (asprintf(spool, "%s/fleet-spool", store) < 0)
        *spool = NULL;
    return *spool ? TJ_OK : tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for a path");
}

static tj_status open_device(doing *d, tj_tuning_class *of, char **facts, tj_error *err)
{
    const tj_emulator *emulator;
    tj_status status;

    d->device = (tj_device_facts)TJ_DEVICE_FACTS_INIT;
    status = tj_device_get(d->call->context, cli_device_ordinal(&d->words->machine), &d->device, err);

    if (status == TJ_OK)
        status = tj_emulator_get(d->call->context, &emulator, err);
    if (status == TJ_OK && emulator)
        status = tj_fail(err, TJ_ERR_UNSUPPORTED,
                         "the emulator measures no time: work needs a GPU, or --compile CLASS to compile for others");
    if (status == TJ_OK)
        status = fleet_class_of(d->call->context, &d->device, of, facts, err);
    if (status == TJ_OK && !(d->known = tj_records_create()))
        status = tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for records");
    return status == TJ_OK ? tj_records_load(d->call->context, d->known, err) : status;
}

static cli_exit work(cli_call *call, tj_error *err)
{
    const work_options *words = call->options;
    doing d = {.call = call, .words = words};
    cli_machine_options machine = words->machine;
    double lease_s = LEASE_S;
    fleet_chosen chosen = {.count = 0};
    fleet_worked worked = {0, 0, 0, 0};
    tj_tuning_class of = TJ_TUNING_CLASS_INIT;
    const fleet_table *table;
    char *facts = NULL, *spool = NULL;
    fleet_work how;
    tj_status status;

    if (cli_refuse_arch(call, &words->machine, err) != TJ_OK || read_options(words, &d, &lease_s, err) != TJ_OK)
        return CLI_WORDS;
    status = fleet_address(&words->machine, &machine.remote, err);
    if (status == TJ_OK)
        status = fleet_table_open(&table, err);
    if (status == TJ_OK)
        status = cli_context_create(call, &machine, &call->context, err);
    if (status == TJ_OK)
        status = words->compile ? choose_helped(&d, words->compile, machine.remote, table, &chosen, err)
                                : open_device(&d, &of, &facts, err);
    if (status == TJ_OK)
        status = choose_spool(&d, &spool, err);
    if (status == TJ_OK) {
        const bool is_unbounded = d.options.seconds <= 0 && d.options.strategy == TJ_EXHAUSTIVE;
        const double budget_s = d.options.seconds > 0 ? d.options.seconds : is_unbounded ? (double)INFINITY : USUAL_SECONDS;

        how = (fleet_work){
            .url = machine.remote,
            .of = {words->compile ? chosen.id[0] : of.id, facts},
            .name = words->name,
            .spool = spool,
            .lease_ms = (int)(1e3 * lease_s),
            .patience_ms = (int)fmin(1e3 * (3 * budget_s + 120), 2e9),
            .until_empty = words->until_empty,
            .compiles = words->compile != NULL,
            .payload = &d,
            .is_cancelled = is_cancelled,
            .tune = words->compile ? compile_ahead : tune,
            .merge = merge,
            .tell = tell,
        };
        cli_print(stderr, "tilejit: class %s: %s\n", how.of.id, words->compile ? "compiling for those that measure" : of.text);
        cli_note_signals();
        status = table->work(&how, &worked, err);
    }
    cli_set_text(call->answer, "class", words->compile ? chosen.id[0] : of.id);
    cli_set_int(call->answer, "done", worked.done);
    cli_set_int(call->answer, "failed", worked.failed);
    cli_set_int(call->answer, "improved", worked.improved);
    cli_set_int(call->answer, "spooled", worked.spooled);
    if (status == TJ_OK || worked.done > 0)
        cli_say(call, "shapes done: %" PRId64 ", failed: %" PRId64 "%s\n", worked.done, worked.failed,
                worked.spooled > 0 ? "; records wait in the spool for the server" : "");
    tj_records_free(d.known);
    free(facts);
    free(spool);
    if (status == TJ_OK && cli_noted_signal()) {
        (void)tj_fail(err, TJ_ERR_CANCELLED, "ended by a signal: the shape in hand went back to the queue");
        return (cli_exit)(CLI_INTERRUPTED + cli_noted_signal());
    }
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}

const cli_command cli_fleet_work = {
    .name = "fleet work",
    .summary = "tune the shapes that others queued, on one device",
    .text = "Takes one shape after the other from the queue of this device's class (its kind, NVRTC, and this version's "
            "templates), tunes it as tilejit tune does, and keeps the record here and on the server. Start one process for "
            "each GPU, with its --device.\n\nIf the server is lost, the worker finishes its shape, keeps the record in the "
            "spool, and continues when the server is back. A shape that fails three times, or whose worker dies three times, "
            "is poisoned: tilejit fleet status lists it. Ctrl-C returns the current shape to the queue.",
    .example = "tilejit fleet work --device 0 --remote 'redis://head:6379?sign=/etc/tilejit/fleet.key'\n"
               "tilejit fleet work --until-empty --budget 10s\n"
               "tilejit fleet work --compile 3f2a",
    .takes = {{&(const cli_group){"fleet work", own}}, {&cli_machine_group, offsetof(work_options, machine)}},
    .option_bytes = sizeof(work_options),
    .run = work,
};
