/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tune_records: tilejit tune --export, --import and --merge.
 */
#include "tune.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RECORD_BYTES = 64 << 20 }; /* some 30 000 records; as JSON in memory it is twenty times that */

tj_status tune_read_text(const char *path, size_t max_bytes, char **text, tj_error *err)
{
    size_t size;
    tj_status status;

    *text = NULL;
    status = tj_input_read_whole(path, max_bytes, text, &size, err);
    if (status == TJ_OK && strlen(*text) < size) {
        status =
            cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "%.200s is no text: there is a NUL after %zu bytes", path, strlen(*text));
        free(*text);
        *text = NULL;
    }
    return status;
}

/* All files of a comma-separated list. problem and device: for T4 files that do not say theirs. */
static tj_status parse_files(const char *list, const tj_problem *problem, const tj_device_facts *device, tj_records *records,
                             tj_error *err)
{
    tj_status status = TJ_OK;

    while (status == TJ_OK && *list) {
        const size_t length = strcspn(list, ",");
        char path[PATH_MAX], *text = NULL;
        tj_error why;

        if (length >= sizeof path)
            return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "%.60s... is longer than a path can be", list);
        (void)snprintf(path, sizeof path, "%.*s", (int)length, list);
        list += length + (list[length] != '\0');
        status = tune_read_text(path, MOST_RECORD_BYTES, &text, err);
        if (status == TJ_OK && tj_records_parse(text, problem, device, records, NULL, &why) != TJ_OK)
            status = cli_fail(err, why.status, "%.120s: %.300s", path, why.message);
        free(text);
    }
    return status;
}

static tj_status write_records(const cli_words *words, const tj_records *records, const tj_output *file, tj_error *err)
{
    char *text = tj_records_print(records, words->is_t4);
    tj_status status;

    if (!text)
        return cli_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for %zu records", tj_records_count(records));
    status = cli_write_output(file, text, strlen(text), err);
    free(text);
    return status;
}

static tj_status import_records(const cli_words *words, const tune_shapes *all, tj_context *context, tj_records *records,
                                json_t *answer, tj_error *err)
{
    const tj_problem *problem = all->count > 0 ? &all->item[0].problem : NULL;
    tj_device_facts device;
    int64_t kept = 0;
    tj_status status = problem ? tj_device_get(context, cli_device_ordinal(words), &device, err) : TJ_OK;

    if (status == TJ_OK)
        status = parse_files(words->import_from, problem, problem ? &device : NULL, records, err);
    if (status == TJ_OK)
        status = tj_records_keep(context, records, &kept, err);
    if (status != TJ_OK)
        return status;
    cli_set_int(answer, "read", (int64_t)tj_records_count(records));
    cli_set_int(answer, "kept", kept);
    if (!words->is_json)
        printf("%zu records read, %" PRId64 " of them new or better founded\n", tj_records_count(records), kept);
    return TJ_OK;
}

static tj_status export_records(const cli_words *words, tj_context *context, const tj_output *file, tj_records *records,
                                json_t *answer, tj_error *err)
{
    int64_t passed_over = 0;
    tj_status status = *tj_store_path(context) ? tj_records_load_all(context, records, &passed_over, err)
                                               : cli_fail(err, TJ_ERR_IO, "nothing to export: %s", tj_store_trouble(context));

    if (status == TJ_OK)
        status = write_records(words, records, file, err);
    if (status != TJ_OK)
        return status;
    cli_set_int(answer, "written", (int64_t)tj_records_count(records));
    cli_set_int(answer, "passed_over", passed_over);
    if (words->is_json || (file->is_stdout && passed_over == 0))
        return TJ_OK;
    printf("%zu records written to %s", tj_records_count(records), words->export_to);
    if (passed_over > 0)
        printf("; passed over: %" PRId64 ", --log warning says why", passed_over);
    putchar('\n');
    return TJ_OK;
}

cli_exit tune_move_records(const cli_words *words, const tune_shapes *all, json_t *answer, tj_error *err)
{
    tj_records *records = tj_records_create();
    tj_context *context = NULL;
    tj_output file;
    tj_status status = cli_open_output(words->merge ? words->output : words->export_to, &file, err);

    if (status == TJ_OK && !records)
        status = cli_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for records");
    if (status != TJ_OK)
        goto done;
    if (words->merge) {
        status = parse_files(words->merge, NULL, NULL, records, err);
        if (status == TJ_OK)
            status = write_records(words, records, &file, err);
        cli_set_int(answer, "written", (int64_t)tj_records_count(records));
    } else {
        status = all->count > 0 ? cli_context_create_to_run(words, &context, err) : cli_context_create(words, &context, err);
        if (status == TJ_OK)
            status = words->import_from ? import_records(words, all, context, records, answer, err)
                                        : export_records(words, context, &file, records, answer, err);
    }
done:
    tj_output_close(&file);
    tj_records_free(records);
    tj_context_free(context);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}
