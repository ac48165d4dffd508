/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit tune: find the fastest config of shapes on the devices of this machine, and look after the records: what the words
 * ask for, and what came of it.
 */
#include "tune.h"

#include <stdlib.h>
#include <string.h>

/* ---- words -------------------------------------------------------------------------------------------------------- */

/* "30", "30s", "2m", "1h". */
static tj_status read_budget(const char *text, double *seconds, tj_error *err)
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
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "--budget is \"%.40s\": write 30s, 5m or 1h", text);
    *seconds *= unit;
    return TJ_OK;
}

static tj_status read_tune_options(const cli_words *words, tj_tune_options *options, tj_error *err)
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
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "no family is named \"%.40s\": tilejit families lists them",
                        words->family);
    return read_budget(words->budget, &options->seconds, err);
}

static bool is_listed(const tune_devices *devices, int number)
{
    for (size_t i = 0; i < devices->count; i++)
        if (devices->number[i] == number)
            return true;
    return false;
}

/* "0,1": the devices that share the work. Without it the one that --device names. */
static tj_status read_devices(const cli_words *words, tune_devices *devices, tj_error *err)
{
    const char *rest = words->devices;

    devices->count = 0;
    while (rest && *rest) {
        const size_t length = strcspn(rest, ",");
        char number[16] = "";
        int64_t value = 0;

        memcpy(number, rest, length < sizeof number ? length : 0);
        if (cli_parse_int("--devices", number, 0, 1023, &value, err) != TJ_OK || devices->count == TUNE_MAX_DEVICES ||
            is_listed(devices, (int)value))
            return cli_fail(err, TJ_ERR_INVALID_ARGUMENT,
                            "--devices is \"%.60s\": write at most %d different device numbers, such as 0,1", words->devices,
                            TUNE_MAX_DEVICES);
        devices->number[devices->count++] = (int)value;
        rest += length + (rest[length] != '\0');
    }
    if (devices->count > 0 && words->device)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "--device and --devices both say where to run: give one");
    return TJ_OK;
}

/* ---- what came of it ---------------------------------------------------------------------------------------------- */

static cli_exit tell_interruption(const tune_shapes *all, tj_error *err)
{
    size_t tuned = 0, skipped = 0, recorded = 0;

    for (size_t i = 0; i < all->count; i++) {
        tuned += all->item[i].is_done && !all->item[i].is_skipped;
        skipped += all->item[i].is_skipped;
        recorded += all->item[i].result.has_record != 0;
    }
    (void)cli_fail(err, TJ_ERR_CANCELLED, "interrupted: shapes tuned: %zu of %zu, passed over: %zu, records kept: %zu", tuned,
                   all->count, skipped, recorded);
    return (cli_exit)(CLI_INTERRUPTED + cli_noted_signal());
}

/* What was found is in the answer, and yet the next call will not know it. */
static tj_status tell_lost_records(const tune_shapes *all, tj_error *err)
{
    const tune_shape *first = NULL;
    size_t lost = 0;

    for (size_t i = all->count; i-- > 0;)
        if (all->item[i].unrecorded[0]) {
            first = &all->item[i];
            lost++;
        }
    return first ? cli_fail(err, TJ_ERR_IO, "records that could not be kept: %zu; that of %s: %s", lost, first->text,
                            first->unrecorded)
                 : TJ_OK;
}

/* status: of the devices; *err says why it failed. */
static cli_exit sum_up(const tune_shapes *all, tj_status status, json_t *answer, tj_error *err)
{
    json_t *list = json_array();
    size_t done = 0;

    for (size_t i = 0; i < all->count; i++) {
        (void)json_array_append_new(list, tune_shape_json(&all->item[i]));
        done += all->item[i].is_done;
    }
    (void)json_object_set_new(answer, "shapes", list);
    if (cli_noted_signal())
        return tell_interruption(all, err);
    for (size_t i = 0; i < all->count; i++)
        if (all->item[i].status != TJ_OK) {
            *err = all->item[i].err;
            return CLI_FAILED;
        }
    if (status == TJ_OK && done < all->count)
        status = cli_fail(err, TJ_ERR_DEVICE_LOST, "%zu of %zu shapes were tuned: no device was left for the others", done,
                          all->count);
    if (status == TJ_OK)
        status = tell_lost_records(all, err);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}

static cli_exit tune_all(const cli_words *words, const tune_devices *devices, const tj_tune_options *options, tune_shapes *all,
                         json_t *answer, tj_error *err)
{
    cli_note_signals();
    return sum_up(all, tune_on_devices(words, devices, options, all, err), answer, err);
}

/* ---- the command -------------------------------------------------------------------------------------------------- */

/* --export, --import and --merge tune nothing, and refuse what only says how to. */
static tj_status check_move(const cli_words *words, tj_error *err)
{
    const char *move = words->merge ? "--merge" : words->import_from ? "--import" : "--export";
    const size_t shapes = words->import_from ? 1 : 0; /* that of T4 results */

    if (words->operand_count > shapes)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s takes %s; given: %zu", move,
                        shapes ? "one shape at most" : "no shape", words->operand_count);
    if (words->shapes)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "--shapes says what to tune, and %s tunes nothing", move);
    if (words->devices)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "--devices is for tuning, and %s tunes nothing: use --device", move);
    return TJ_OK;
}

static tj_status check_words(const cli_words *words, tj_error *err)
{
    const int moves = (words->merge != NULL) + (words->import_from != NULL) + (words->export_to != NULL);

    if (moves > 1)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "--import, --export and --merge are three things to do: give one");
    if (words->merge && !words->output)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "--merge needs -o: where to write the merged records");
    if (words->output && !words->merge)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "-o names the file of --merge; --export takes its own");
    if (words->is_t4 && !words->merge && !words->export_to)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "--t4 is the format of --export and --merge: give one of them");
    if (moves == 0 && words->operand_count == 0 && !words->shapes)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT,
                        "tune what? write a shape such as 512x300x700, or --shapes with a file of them");
    if (cli_check_stdout(words, "-o", words->output, err) != TJ_OK ||
        cli_check_stdout(words, "--export", words->export_to, err) != TJ_OK ||
        cli_check_stdout(words, "--trials", words->trials, err) != TJ_OK)
        return err->status;
    return moves > 0 ? check_move(words, err) : TJ_OK;
}

cli_exit cmd_tune(const cli_words *words, json_t *answer, tj_error *err)
{
    const bool moves = words->merge || words->import_from || words->export_to;
    tune_shapes all = {NULL, 0};
    tune_devices devices;
    tj_tune_options options;
    cli_exit code = CLI_WORDS;
    tj_status status = cli_check_arch(words, err);

    if (status == TJ_OK)
        status = read_tune_options(words, &options, err);
    if (status == TJ_OK)
        status = read_devices(words, &devices, err);
    if (status == TJ_OK)
        status = check_words(words, err);
    if (status == TJ_OK)
        status = tune_read_words(words, &all, err);
    if (status == TJ_OK && moves)
        code = tune_move_records(words, &all, answer, err);
    else if (status == TJ_OK && words->shapes && tune_read_file(words, &all, err) != TJ_OK)
        code = CLI_FAILED;
    else if (status == TJ_OK)
        code = tune_all(words, &devices, &options, &all, answer, err);
    free(all.item);
    return code;
}
