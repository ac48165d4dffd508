/* SPDX-License-Identifier: Apache-2.0 */
/* records_text: sets of records as one text, in JSON of their own or in Kernel Tuner's T4. */
#include "record.h"

#include <string.h>

#include "error.h"

static tj_status parse_list(const tj_json *list, tj_records *parsed, tj_error *err)
{
    tj_status status = TJ_OK;
    size_t number = 1;

    if (tj_json_kind_of(list) != TJ_JSON_LIST)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "\"tilejit_records\" is not a list");
    for (tj_json *one = tj_json_first(list); one && status == TJ_OK; one = tj_json_next(one), number++) {
        tj_record *record = NULL;
        tj_error why;

        status = tj_record_from_json(one, &record, &why);
        if (status != TJ_OK)
            (void)tj_fail(err, status, "record %zu of the file: %.300s", number, why.message);
        else
            status = tj_records_add(parsed, record, err);
    }
    return status;
}

static tj_status parse_text(const char *text, const tj_problem *problem, const tj_device_facts *device, tj_records *parsed,
                            tj_error *err)
{
    tj_json *root;
    tj_status status = tj_json_read(text, strlen(text), &root, err);

    if (status != TJ_OK)
        return status;
    if (tj_json_get(root, "tilejit_records"))
        status = parse_list(tj_json_get(root, "tilejit_records"), parsed, err);
    else if (tj_json_get(root, "results") && tj_json_get(root, "schema_version"))
        status = tj_t4_to_records(root, problem, device, parsed, err);
    else
        status = tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                         "neither TileJIT's records (\"tilejit_records\") nor T4 results (\"results\", \"schema_version\")");
    tj_json_free(root);
    return status;
}

tj_status tj_records_parse(const char *text, const tj_problem *problem, const tj_device_facts *device, tj_records *records,
                           int64_t *added, tj_error *err)
{
    if (TJ_HAS_NULL(err, text, records))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_records *parsed = tj_records_create();
    tj_status status = parsed ? parse_text(text, problem, device, parsed, err) : tj_fail_memory(err, "a set of records");

    if (added)
        *added = status == TJ_OK ? (int64_t)tj_records_count(parsed) : 0;
    if (status == TJ_OK)
        status = tj_records_move(parsed, records, err);
    tj_records_free(parsed);
    return status;
}

char *tj_records_print(const tj_records *records, int is_t4)
{
    if (!records)
        return NULL;
    tj_json *root = tj_json_new(), *list;
    char *text;

    if (is_t4) {
        tj_t4_from_records(records, root);
    } else {
        list = tj_json_add_list(root, "tilejit_records");
        for (size_t i = 0; i < tj_records_count(records); i++)
            tj_record_to_json(tj_records_at(records, i), tj_json_add_object(list, NULL));
    }
    text = tj_json_print_lines(root, TJ_RECORD_DIGITS);
    tj_json_free(root);
    return text;
}
