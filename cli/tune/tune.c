/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit tune: find the fastest config of shapes on the devices of this machine, and maintain the records: options and
 * outcome.
 */
#include <stdlib.h>
#include <string.h>

#include "tune.h"

/* ---- words -------------------------------------------------------------------------------------------------------- */

#define AT(field) offsetof(tune_options, field)

const cli_name tune_strategies[] = {{"search", TJ_SEARCH}, {"model", TJ_MODEL}, {"exhaustive", TJ_EXHAUSTIVE}, {NULL}};

static const cli_option own[] = {
    {"family", CLI_TEXT, AT(family), "Search only this family; default: all. See tilejit families.", "name",
     .offered = cli_family_at},
    {"strategy", CLI_CHOICE, AT(strategy),
     "search (default): configs with the largest expected improvement; model: only those that the model ranks highest; "
     "exhaustive: every config.",
     "name", .names = tune_strategies},
    {"budget", CLI_TEXT, AT(budget), TUNE_BUDGET_SUMMARY, "time"},
    {"evaluations", CLI_INT, AT(evaluations), TUNE_EVALUATIONS_SUMMARY, "count", 1, INT64_C(1) << 40},
    {"shapes", CLI_TEXT, AT(shapes), CLI_SHAPES_SUMMARY, "file.csv"},
    {"shard", CLI_TEXT, AT(shard),
     "Tune only every n-th shape, beginning with number i: 0/4 to 3/4 are four parts that together are all shapes.", "i/n"},
    {"devices", CLI_TEXT, AT(devices), "GPUs that share the shapes, at most 16, such as 0,1; default: the one of --device.",
     "list"},
    {"resume", CLI_FLAG, AT(resume),
     "Skip shapes that have a record of a tuning that was not cancelled, or, with --evaluations, that tried at least this "
     "number of configs.",
     .low = 1},
    {"threads", CLI_INT, AT(threads), "Threads that compile, for each device; default: a thread for each processor in all.",
     "count", 1, 64},
    {"seed", CLI_INT, AT(seed), "Seed of operands and search; default 1.", "number", 0, INT64_MAX - 8, .initial = 1},
    {"warm", CLI_FLAG, AT(is_warm), "Time with the operands in the L2; default: they rotate, and are not in the L2.", .low = 1},
    {"no-record", CLI_FLAG, AT(no_record), "Keep no record of the result.", .low = 1},
    {"trials", CLI_TEXT, AT(trials),
     "Write every config that was tried here, one per line, as input of bench_tuner; - is "
     "stdout.",
     "file"},
    {"export", CLI_TEXT, AT(export_to), "Write all records of the store to a file; - is stdout. Tunes nothing.", "file"},
    {"import", CLI_TEXT, AT(import_from),
     "Keep the records of files, separated by commas, if their evidence is better than that of the store's records; T4 files "
     "of other tools need a shape.",
     "files"},
    {"merge", CLI_TEXT, AT(merge),
     "Merge the records of files, separated by commas, into the file of -o; of a folder, its *.json. Tunes nothing.", "files"},
    {"pack-trials", CLI_TEXT, AT(pack_trials),
     "Write to the file of -o a table of one device's trials, by which configs of similar problems are chosen. Reads files "
     "of --trials and tables, separated by commas, the oldest first. Tunes nothing.",
     "files"},
    {"t4", CLI_FLAG, AT(is_t4), "--export and --merge write Kernel Tuner's T4 format.", .low = 1},
    {NULL},
};

/* "30", "30s", "2m", "1h". */
tj_status tune_read_budget(const char *text, double *seconds, tj_error *err)
{
    char number[32] = "";
    size_t length = text ? strlen(text) : 0;
    double unit = 1;

    if (!text)
        return TJ_OK;
    if (length > 0 && length < sizeof number) {
        memcpy(number, text, length + 1);
        unit = number[length - 1] == 'm' ? 60 : number[length - 1] == 'h' ? 3600 : 1;
        if (strchr("smh", number[length - 1]))
            number[length - 1] = '\0';
    }
    if (cli_parse_real("--budget", number, seconds, err) != TJ_OK || !(*seconds * unit > 0) || *seconds * unit > 1e7)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--budget is \"%.40s\": write 30s, 5m or 1h", text);
    *seconds *= unit;
    return TJ_OK;
}

static tj_status read_tune_options(const tune_options *words, tj_tune_options *options, tj_error *err)
{
    *options = (tj_tune_options)TJ_TUNE_OPTIONS_INIT;
    options->strategy = words->strategy;
    options->evaluations = words->evaluations;
    options->threads = (int32_t)words->threads;
    options->seed = words->seed;
    options->is_warm = words->is_warm;
    options->no_record = words->no_record;
    options->family = tj_family_find(words->family);
    if (words->family && !options->family)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "no family is named \"%.40s\": tilejit families lists them",
                       words->family);
    return tune_read_budget(words->budget, &options->seconds, err);
}

/* Read "0,1": the devices that share the work. Without it, the device of --device. */
static tj_status read_devices(const tune_options *words, tune_devices *devices, tj_error *err)
{
    bool is_listed[1024] = {false};
    const char *rest = words->devices, *item;
    size_t length;

    devices->count = 0;
    while ((item = cli_next_item(&rest, &length))) {
        char number[16] = "";
        int64_t value = 0;

        memcpy(number, item, length < sizeof number ? length : 0);
        if (cli_parse_int("--devices", number, 0, 1023, &value, err) != TJ_OK || devices->count == TUNE_MAX_DEVICES ||
            is_listed[value])
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                           "--devices is \"%.60s\": write at most %d different device numbers, such as 0,1", words->devices,
                           TUNE_MAX_DEVICES);
        is_listed[value] = true;
        devices->number[devices->count++] = (int)value;
    }
    if (devices->count > 0 && words->machine.device)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--device and --devices both choose devices: give one of them");
    return TJ_OK;
}

/* Take "0/4": shapes number 0, 4, 8 ... of all. */
static tj_status take_shard(const char *text, cli_shapes *shapes, tj_error *err)
{
    const char *slash = text ? strchr(text, '/') : NULL;
    int64_t number = 0, parts = 1;
    char first[16] = "";
    size_t kept = 0;

    if (!text)
        return TJ_OK;
    if (slash && (size_t)(slash - text) < sizeof first)
        memcpy(first, text, (size_t)(slash - text));
    if (!slash || cli_parse_int("--shard", slash + 1, 1, 1 << 20, &parts, err) != TJ_OK ||
        cli_parse_int("--shard", first, 0, parts - 1, &number, err) != TJ_OK)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "--shard is \"%.40s\": write i/n, with i from 0 to n - 1, such as 0/4 to 3/4 for four parts", text);
    for (size_t i = (size_t)number; i < shapes->count; i += (size_t)parts)
        shapes->item[kept++] = shapes->item[i];
    shapes->count = kept;
    return TJ_OK;
}

/* ---- outcome ------------------------------------------------------------------------------------------------------ */

static cli_exit tell_interruption(const tune_jobs *all, tj_error *err)
{
    size_t tuned = 0, skipped = 0, recorded = 0;

    for (size_t i = 0; i < all->count; i++) {
        tuned += all->item[i].is_done && !all->item[i].is_skipped;
        skipped += all->item[i].is_skipped;
        recorded += all->item[i].result.has_record != 0;
    }
    (void)tj_fail(err, TJ_ERR_CANCELLED, "interrupted: shapes tuned: %zu of %zu, passed over: %zu, records kept: %zu", tuned,
                  all->count, skipped, recorded);
    return (cli_exit)(CLI_INTERRUPTED + cli_noted_signal());
}

/* The results are in the answer, but the next call will not know them. */
static tj_status tell_lost_records(const tune_jobs *all, tj_error *err)
{
    const tune_job *first = NULL;
    size_t lost = 0;

    for (size_t i = all->count; i-- > 0;)
        if (all->item[i].unrecorded[0]) {
            first = &all->item[i];
            lost++;
        }
    return first ? tj_fail(err, TJ_ERR_IO, "records that could not be kept: %zu; that of %s: %s", lost, first->shape->text,
                           first->unrecorded)
                 : TJ_OK;
}

/* Say what the time of several tunings went to. */
static void tell_shares(const cli_call *call, const tune_jobs *all)
{
    tj_tune_shares sum = {0};
    size_t tuned = 0, noisy = 0;
    char what[64];

    for (size_t i = 0; i < all->count; i++) {
        tuned += all->item[i].is_done && !all->item[i].is_skipped;
        noisy += all->item[i].result.noise > TJ_TUNE_NOISE;
        tune_add_shares(&sum, &all->item[i].result.spent);
    }
    if (tuned < 2 || call->is_json)
        return;
    (void)snprintf(what, sizeof what, "%zu shapes", tuned);
    tune_print_shares(stdout, what, &sum);
    if (noisy > 0)
        cli_print(stdout, "%zu of %zu NOISY: was the device in use? Tune them again when it is idle\n", noisy, tuned);
}

/* status: of the devices; *err says why it failed. */
static cli_exit sum_up(const cli_call *call, const tune_jobs *all, tj_status status, tj_error *err)
{
    tj_json *list = cli_add_list(call->answer, "shapes");
    size_t done = 0;

    for (size_t i = 0; i < all->count; i++) {
        tune_set_job(cli_append_object(list), &all->item[i]);
        done += all->item[i].is_done;
    }
    tell_shares(call, all);
    if (cli_noted_signal())
        return tell_interruption(all, err);
    for (size_t i = 0; i < all->count; i++)
        if (all->item[i].status != TJ_OK) {
            *err = all->item[i].err;
            return CLI_FAILED;
        }
    if (status == TJ_OK && done < all->count)
        status = tj_fail(err, TJ_ERR_DEVICE_LOST, "%zu of %zu shapes were tuned: no device was left for the others", done,
                         all->count);
    if (status == TJ_OK)
        status = tell_lost_records(all, err);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}

static cli_exit tune_all(cli_call *call, const cli_shapes *shapes, const tune_devices *devices, const tj_tune_options *options,
                         tj_error *err)
{
    const tune_options *words = call->options;
    tj_output out = {.folder = -1, .stream = -1}; /* --trials uses the call's file */
    tune_jobs all = {calloc(shapes->count + 1, sizeof *all.item), shapes->count};
    cli_exit code = CLI_FAILED;

    if (!all.item) {
        (void)tj_fail_memory(err, "a list of shapes");
        return CLI_FAILED;
    }
    for (size_t i = 0; i < all.count; i++) {
        all.item[i].shape = &shapes->item[i];
        all.item[i].found = words->output ? tj_records_create() : NULL;
    }
    if (!words->output || tj_output_open(words->output, &out, err) == TJ_OK) {
        tj_error unwritten;

        cli_note_signals();
        code = sum_up(call, &all, tune_on_devices(call, devices, options, &all, err), err);
        if (words->output && tune_write_found(&out, &all, &unwritten) != TJ_OK && code == CLI_DONE) {
            *err = unwritten;
            code = CLI_FAILED;
        }
    }
    tj_output_close(&out);
    for (size_t i = 0; i < all.count; i++)
        tj_records_free(all.item[i].found);
    free(all.item);
    return code;
}

/* ---- the command -------------------------------------------------------------------------------------------------- */

/* Options of a tuning are refused next to --export, --import, --merge and --pack-trials, which tune nothing. */
static tj_status check_move(const cli_call *call, tj_error *err)
{
    const tune_options *words = call->options;
    const char *move = words->merge         ? "--merge"
                       : words->pack_trials ? "--pack-trials"
                       : words->import_from ? "--import"
                                            : "--export";
    const size_t shapes = words->import_from ? 1 : 0; /* the shape of T4 results */

    if (call->operand_count > shapes)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s takes %s; given: %zu", move, shapes ? "one shape at most" : "no shape",
                       call->operand_count);
    if (words->shapes)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--shapes cannot be used with %s, which does not tune", move);
    if (words->shard)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--shard cannot be used with %s, which does not tune", move);
    if (words->devices)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--devices cannot be used with %s, which does not tune: use --device",
                       move);
    return TJ_OK;
}

static tj_status check_words(const cli_call *call, tj_error *err)
{
    const tune_options *words = call->options;
    const int moves =
        (words->merge != NULL) + (words->import_from != NULL) + (words->export_to != NULL) + (words->pack_trials != NULL);

    if (moves > 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "--import, --export, --merge and --pack-trials exclude each other: give one");
    if ((words->merge || words->pack_trials) && !words->output)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s needs -o: where to write the %s",
                       words->merge ? "--merge" : "--pack-trials", words->merge ? "merged records" : "table");
    if (words->output && moves > 0 && !words->merge && !words->pack_trials)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "-o names the file of --merge, of --pack-trials or of a tuning; --export takes its own");
    if (words->output && moves == 0 && tj_output_is_stdout(words->output))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "stdout gets the lines of a tuning: name a file for -o");
    if (words->output && moves == 0 && words->no_record && words->resume)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--resume reads records, and --no-record keeps none: give one of them");
    if (words->is_t4 && !words->merge && !words->export_to)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--t4 is the format of --export and --merge: give one of them");
    if (moves == 0 && call->operand_count == 0 && !words->shapes)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "there is no shape to tune: write one such as 512x300x700, or --shapes with a file of them");
    if (cli_check_stdout(call, "-o", words->output, err) != TJ_OK ||
        cli_check_stdout(call, "--export", words->export_to, err) != TJ_OK ||
        cli_check_stdout(call, "--trials", words->trials, err) != TJ_OK)
        return err->status;
    return moves > 0 ? check_move(call, err) : TJ_OK;
}

static cli_exit tune(cli_call *call, tj_error *err)
{
    const tune_options *words = call->options;
    const bool moves = words->merge || words->import_from || words->export_to || words->pack_trials;
    cli_shapes shapes = {NULL, 0};
    tune_devices devices;
    tj_tune_options options;
    cli_exit code;

    if (cli_refuse_arch(call, &words->machine, err) != TJ_OK || read_tune_options(words, &options, err) != TJ_OK ||
        read_devices(words, &devices, err) != TJ_OK || check_words(call, err) != TJ_OK)
        return CLI_WORDS;
    code = cli_read_shapes(call, &words->request, moves ? NULL : words->shapes, &shapes, err);
    if (code == CLI_DONE && take_shard(words->shard, &shapes, err) != TJ_OK)
        code = CLI_WORDS;
    if (code == CLI_DONE)
        code = moves ? tune_move_records(call, &shapes, err) : tune_all(call, &shapes, &devices, &options, err);
    free(shapes.item);
    return code;
}

const cli_command cli_tune = {
    .name = "tune",
    .operands = "[jxkxl ...]",
    .operand_count = {0, CLI_MAX_OPERANDS},
    .summary = "find the fastest config of shapes by measuring, and keep it",
    .text = "Tries configs of all families on the device, verifies those that take the lead against float64, compares the "
            "fastest few in interleaved rounds, and keeps the winner as a record: from then on tilejit and the library "
            "choose it for that shape on that kind of device. The default is always among the finalists, so nothing gets "
            "slower.\n\nIt needs a GPU. --device emulator only checks that configs compute the product: it measures no time "
            "and keeps no record.\n\nCtrl-C ends the tuning soon and keeps its findings. With a terminal on stderr, progress "
            "is shown there.",
    .example = "tilejit tune 4096x4096x4096\n"
               "tilejit tune 16x4096x4096 --budget 60s --evaluations 200\n"
               "tilejit tune --shapes shapes.csv --devices 0,1 --resume\n"
               "tilejit tune --shapes shapes.csv --shard 0/4 -o part-0.json\n"
               "tilejit tune --merge parts/ -o all.json\n"
               "tilejit tune --export records.json\n"
               "tilejit tune --shapes grid.csv --budget 1s --trials trials.tsv\n"
               "tilejit tune --pack-trials trials.tsv -o device.tjtrials",
    .takes = {{&(const cli_group){"tune", own}},
              {&cli_output_group, offsetof(tune_options, output)},
              {cli_request_groups, offsetof(tune_options, request), CLI_SCALARS},
              {&cli_machine_group, offsetof(tune_options, machine)}},
    .option_bytes = sizeof(tune_options),
    .run = tune,
};
