/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tune_records: tilejit tune --export, --import and --merge.
 */
#include "tune.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static tj_status read_file(const char *path, char **text, tj_error *err)
{
    FILE *file = fopen(path, "re");
    size_t size = 0, capacity = 1 << 16;
    bool is_read = false;

    *text = NULL;
    if (!file)
        return cli_fail(err, TJ_ERR_IO, "cannot open %.200s: %s", path, strerror(errno));
    for (;; capacity *= 2) {
        char *larger = realloc(*text, capacity);

        if (!larger)
            break;
        *text = larger;
        size += fread(*text + size, 1, capacity - 1 - size, file);
        if (size < capacity - 1) {
            is_read = !ferror(file);
            break;
        }
    }
    (void)fclose(file);
    if (is_read) {
        (*text)[size] = '\0';
        return TJ_OK;
    }
    free(*text);
    *text = NULL;
    return cli_fail(err, TJ_ERR_IO, "cannot read %.200s", path);
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
        status = read_file(path, &text, err);
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
    tj_device_facts device;
    tj_error ignored;
    const bool has_device = all->count > 0 && tj_device_current(context, &device, &ignored) == TJ_OK;
    int64_t kept = 0;
    tj_status status =
        parse_files(words->import_from, has_device ? &all->item[0].problem : NULL, has_device ? &device : NULL, records, err);

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
    tj_status status = tj_records_load(context, records, err);

    if (status == TJ_OK)
        status = write_records(words, records, words->export_to, err);
    if (status != TJ_OK)
        return status;
    cli_set_int(answer, "written", (int64_t)tj_records_count(records));
    if (!words->is_json && strcmp(words->export_to, "-") != 0)
        printf("%zu records written to %s\n", tj_records_count(records), words->export_to);
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
