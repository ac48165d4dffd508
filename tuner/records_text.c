/* SPDX-License-Identifier: Apache-2.0 */
/* records_text: sets of records as one text, in JSON of their own or in Kernel Tuner's T4. */
#include "record.h"

#include "error.h"

static tj_status parse_list(const json_t *list, tj_records *parsed, tj_error *err)
{
    tj_status status = TJ_OK;

    if (!json_is_array(list))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "\"tilejit_records\" is no list");
    for (size_t i = 0; i < json_array_size(list) && status == TJ_OK; i++) {
        tj_record *record = NULL;
        tj_error why;

        status = tj_record_from_json(json_array_get(list, i), &record, &why);
        if (status != TJ_OK)
            (void)tj_fail(err, status, "record %zu of the file: %.300s", i + 1, why.message);
        else
            status = tj_records_add(parsed, record, err);
    }
    return status;
}

static tj_status parse_text(const char *text, const tj_problem *problem, const tj_device_facts *device, tj_records *parsed,
                            tj_error *err)
{
    json_error_t why;
    json_t *root = json_loads(text, 0, &why);
    tj_status status;

    if (!root)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "not JSON: line %d, column %d: %.120s", why.line, why.column, why.text);
    if (json_object_get(root, "tilejit_records"))
        status = parse_list(json_object_get(root, "tilejit_records"), parsed, err);
    else if (json_object_get(root, "results") && json_object_get(root, "schema_version"))
        status = tj_t4_to_records(root, problem, device, parsed, err);
    else
        status = tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                         "neither TileJIT's records (\"tilejit_records\") nor T4 results (\"results\", \"schema_version\")");
    json_decref(root);
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
    json_t *root, *list;
    char *text;

    if (is_t4) {
        root = tj_t4_from_records(records);
    } else {
        root = json_object();
        list = json_array();
        for (size_t i = 0; i < tj_records_count(records); i++)
            (void)json_array_append_new(list, tj_record_to_json(tj_records_at(records, i)));
        (void)json_object_set_new(root, "tilejit_records", list);
    }
    text = json_dumps(root, TJ_RECORD_JSON_FLAGS);
    json_decref(root);
    return text;
}
