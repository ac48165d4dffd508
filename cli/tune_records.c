/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tune_records: tilejit tune --export, --import and --merge.
 */
#include "tune.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The text so far is in *text, also after a failure. */
static tj_status read_stream(FILE *file, const char *path, char **text, tj_error *err)
{
    size_t capacity = 1 << 16, size = 0;

    for (;; capacity *= 2) {
        char *larger = realloc(*text, capacity);

        if (!larger)
            return cli_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for %.200s", path);
        *text = larger;
        size += fread(larger + size, 1, capacity - 1 - size, file);
        if (ferror(file))
            return cli_fail(err, TJ_ERR_IO, "cannot read %.200s: %s", path, strerror(errno));
        if (size == capacity - 1)
            continue;
        larger[size] = '\0';
        if (strlen(larger) == size)
            return TJ_OK;
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "%.200s is no text: there is a NUL after %zu bytes", path,
                        strlen(larger));
    }
}

tj_status tune_read_text(const char *path, char **text, tj_error *err)
{
    FILE *file = fopen(path, "re");
    tj_status status;

    *text = NULL;
    if (!file)
        return cli_fail(err, TJ_ERR_IO, "cannot open %.200s: %s", path, strerror(errno));
    status = read_stream(file, path, text, err);
    (void)fclose(file);
    if (status != TJ_OK) {
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
        char path[1024], *text = NULL;
        tj_error why;

        (void)snprintf(path, sizeof path, "%.*s", (int)length, list);
        list += length + (list[length] != '\0');
        status = tune_read_text(path, &text, err);
        if (status == TJ_OK && tj_records_parse(text, problem, device, records, NULL, &why) != TJ_OK)
            status = cli_fail(err, why.status, "%.120s: %.300s", path, why.message);
        free(text);
    }
    return status;
}

static tj_status write_records(const cli_words *words, const tj_records *records, const char *path, tj_error *err)
{
    char *text = tj_records_print(records, words->is_t4);
    tj_status status;

    if (!text)
        return cli_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for %zu records", tj_records_count(records));
    status = cli_write_file(path, text, strlen(text), err);
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

static tj_status export_records(const cli_words *words, tj_context *context, tj_records *records, json_t *answer, tj_error *err)
{
    FILE *out = strcmp(words->export_to, "-") == 0 ? stderr : stdout;
    int64_t passed_over = 0;
    tj_status status = *tj_store_path(context) ? tj_records_load_all(context, records, &passed_over, err)
                                               : cli_fail(err, TJ_ERR_IO, "nothing to export: %s", tj_store_trouble(context));

    if (status == TJ_OK)
        status = write_records(words, records, words->export_to, err);
    if (status != TJ_OK)
        return status;
    cli_set_int(answer, "written", (int64_t)tj_records_count(records));
    cli_set_int(answer, "passed_over", passed_over);
    if (words->is_json || (out == stderr && passed_over == 0))
        return TJ_OK;
    fprintf(out, "%zu records written to %s", tj_records_count(records), words->export_to);
    if (passed_over > 0)
        fprintf(out, "; passed over: %" PRId64 ", --log warning says why", passed_over);
    fputc('\n', out);
    return TJ_OK;
}

cli_exit tune_move_records(const cli_words *words, const tune_shapes *all, json_t *answer, tj_error *err)
{
    tj_records *records = tj_records_create();
    tj_context *context = NULL;
    tj_status status;

    if (!records) {
        (void)cli_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for records");
        return CLI_FAILED;
    }
    if (words->merge) {
        status = parse_files(words->merge, NULL, NULL, records, err);
        if (status == TJ_OK)
            status = write_records(words, records, words->output, err);
        cli_set_int(answer, "written", (int64_t)tj_records_count(records));
    } else {
        status = all->count > 0 ? cli_context_create_to_run(words, &context, err) : cli_context_create(words, &context, err);
        if (status == TJ_OK)
            status = words->import_from ? import_records(words, all, context, records, answer, err)
                                        : export_records(words, context, records, answer, err);
    }
    tj_records_free(records);
    tj_context_free(context);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}
