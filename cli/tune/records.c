/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records: tilejit tune --export, --import, --merge and --pack-trials; and -o of a tuning.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "tune.h"

enum { MOST_TRIALS_BYTES = 256 << 20 };

static tj_status write_records(const tj_output *out, const tj_records *records, bool is_t4, tj_error *err)
{
    char *text = tj_records_print(records, is_t4);
    tj_status status;

    if (!text)
        return tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for %zu records", tj_records_count(records));
    status = cli_write_output(out, text, strlen(text), err);
    free(text);
    return status;
}

static tj_status import_records(const cli_call *call, const cli_shapes *shapes, tj_records *records, tj_error *err)
{
    const tune_options *options = call->options;
    const tj_problem *problem = shapes->count > 0 ? &shapes->item[0].problem : NULL;
    tj_device_facts device = TJ_DEVICE_FACTS_INIT;
    int64_t kept = 0;

    if ((problem && tj_device_get(call->context, cli_device_ordinal(&options->machine), &device, err) != TJ_OK) ||
        cli_read_records(options->import_from, problem, problem ? &device : NULL, records, err) != TJ_OK ||
        tj_records_keep(call->context, records, &kept, err) != TJ_OK)
        return err->status;
    cli_set_int(call->answer, "read", (int64_t)tj_records_count(records));
    cli_set_int(call->answer, "kept", kept);
    cli_say(call, "%zu records read, %" PRId64 " of them new or better founded\n", tj_records_count(records), kept);
    return TJ_OK;
}

static tj_status export_records(const cli_call *call, tj_records *records, tj_error *err)
{
    const tune_options *options = call->options;
    int64_t passed_over = 0;

    if (!*tj_store_path(call->context))
        return tj_fail(err, TJ_ERR_IO, "nothing to export: %s", tj_store_trouble(call->context));
    if (tj_records_load_all(call->context, records, &passed_over, err) != TJ_OK ||
        write_records(&call->file, records, options->is_t4, err) != TJ_OK)
        return err->status;
    cli_set_int(call->answer, "written", (int64_t)tj_records_count(records));
    cli_set_int(call->answer, "passed_over", passed_over);
    if (call->file.is_stdout && passed_over == 0)
        return TJ_OK;
    cli_say(call, "%zu records written to %s", tj_records_count(records), options->export_to);
    if (passed_over > 0)
        cli_say(call, "; passed over: %" PRId64 ", --log warning says why", passed_over);
    cli_say(call, "\n");
    return TJ_OK;
}

tj_status tune_write_found(const tj_output *out, const tune_jobs *all, tj_error *err)
{
    tj_records *records = tj_records_create();
    tj_status status = records ? TJ_OK : tj_fail_memory(err, "records");

    for (size_t i = 0; i < all->count && status == TJ_OK; i++) {
        char *text = all->item[i].found ? tj_records_print(all->item[i].found, 0) : NULL;

        if (all->item[i].found)
            status = text ? tj_records_parse(text, NULL, NULL, records, NULL, err) : tj_fail_memory(err, "records");
        free(text);
    }
    if (status == TJ_OK)
        status = write_records(out, records, false, err);
    tj_records_free(records);
    return status;
}

/* Add the files of --pack-trials, later ones last: their trials replace those before. */
static tj_status add_trials(const cli_call *call, tj_trials *trials, tj_error *err)
{
    const char *rest = ((const tune_options *)call->options)->pack_trials, *item;
    size_t length;

    while ((item = cli_next_item(&rest, &length))) {
        char *path = strndup(item, length), *text = NULL;
        int64_t passed_over = 0;
        size_t size;
        tj_error why;
        tj_status status =
            path ? tj_input_read_whole(path, MOST_TRIALS_BYTES, &text, &size, err) : tj_fail_memory(err, "a path");

        if (status == TJ_OK && tj_trials_add(trials, text, &passed_over, &why) != TJ_OK)
            status = tj_fail(err, why.status, "%.200s: %.300s", path, why.message);
        if (passed_over > 0)
            cli_say(call, "%s: passed over, as tables do not hold such problems: %" PRId64 " trials\n", path, passed_over);
        free(text);
        free(path);
        if (status != TJ_OK)
            return status;
    }
    return TJ_OK;
}

static tj_status pack_trials(const cli_call *call, tj_error *err)
{
    const tune_options *options = call->options;
    tj_trials *trials = tj_trials_create();
    char *text = NULL;
    tj_status status = trials ? add_trials(call, trials, err) : tj_fail_memory(err, "trials");

    if (status == TJ_OK)
        status = tj_trials_print(trials, &text, err);
    if (status == TJ_OK)
        status = cli_write_output(&call->file, text, strlen(text), err);
    if (status == TJ_OK) {
        cli_set_text(call->answer, "device", tj_trials_device_name(trials));
        cli_set_int(call->answer, "problems", (int64_t)tj_trials_count(trials));
        cli_set_int(call->answer, "bytes", (int64_t)strlen(text));
        if (!call->file.is_stdout)
            cli_say(call, "%s: trials of %zu problems, %zu bytes written to %s\n", tj_trials_device_name(trials),
                    tj_trials_count(trials), strlen(text), options->output);
    }
    free(text);
    tj_trials_free(trials);
    return status;
}

cli_exit tune_move_records(cli_call *call, const cli_shapes *shapes, tj_error *err)
{
    const tune_options *options = call->options;
    tj_records *records = tj_records_create();
    tj_status status = cli_open_output(call, options->output ? options->output : options->export_to, err);

    if (status == TJ_OK && !records)
        status = tj_fail_memory(err, "records");
    if (status == TJ_OK && options->pack_trials) {
        status = pack_trials(call, err);
    } else if (status == TJ_OK && options->merge) {
        status = cli_read_records(options->merge, NULL, NULL, records, err);
        if (status == TJ_OK)
            status = write_records(&call->file, records, options->is_t4, err);
        cli_set_int(call->answer, "written", (int64_t)tj_records_count(records));
    } else if (status == TJ_OK) {
        status = cli_open(call, &options->machine, shapes->count > 0, err);
        if (status == TJ_OK)
            status = options->import_from ? import_records(call, shapes, records, err) : export_records(call, records, err);
    }
    tj_records_free(records);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}
