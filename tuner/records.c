/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records: sets of records, in memory and in the store.
 *
 * A set holds the best founded record of each key. "Better founded" is a total order, and the best of a union is the best of
 * the bests: that is all that makes merging commutative, associative and idempotent, between threads, processes and
 * machines alike. In the store each record is a file of its own, so writers need no lock.
 */
#include "record.h"

#include <stdlib.h>
#include <string.h>

#include "disk_store.h"
#include "error.h"

struct tj_records {
    tj_record **item; /* by key */
    size_t count, capacity;
};

tj_records *tj_records_create(void)
{
    return calloc(1, sizeof(tj_records));
}

void tj_records_free(tj_records *records)
{
    if (!records)
        return;
    for (size_t i = 0; i < records->count; i++)
        tj_record_free(records->item[i]);
    free(records->item);
    free(records);
}

/* Where the key is, or belongs. */
static size_t place_of(const tj_records *records, const char *key)
{
    size_t low = 0, high = records->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (strcmp(records->item[middle]->key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const tj_record *find_key(const tj_records *records, const char *key)
{
    const size_t at = place_of(records, key);

    return at < records->count && strcmp(records->item[at]->key, key) == 0 ? records->item[at] : NULL;
}

tj_status tj_records_add(tj_records *records, tj_record *record, tj_error *err)
{
    size_t at;

    if (!records) {
        tj_record_free(record);
        return tj_fail_null(err, __func__, "records");
    }
    if (!record)
        return TJ_OK;
    if (tj_record_is_emulated(record)) {
        tj_record_free(record);
        return TJ_OK;
    }
    at = place_of(records, record->key);
    if (at < records->count && strcmp(records->item[at]->key, record->key) == 0) {
        tj_record **present = &records->item[at];
        tj_record *worse = record;

        if (tj_record_compare(record, *present) < 0) {
            worse = *present;
            *present = record;
        }
        tj_record_free(worse);
        return TJ_OK;
    }
    if (records->count == records->capacity) {
        const size_t capacity = records->capacity ? 2 * records->capacity : 16;
        tj_record **larger = realloc(records->item, capacity * sizeof(tj_record *));

        if (!larger) {
            tj_record_free(record);
            return tj_fail_memory(err, "a set of records");
        }
        records->item = larger;
        records->capacity = capacity;
    }
    memmove(&records->item[at + 1], &records->item[at], (records->count - at) * sizeof(tj_record *));
    records->item[at] = record;
    records->count++;
    return TJ_OK;
}

size_t tj_records_count(const tj_records *records)
{
    if (!records)
        return 0;
    return records->count;
}

const tj_record *tj_records_at(const tj_records *records, size_t index)
{
    if (!records)
        return NULL;
    return index < records->count ? records->item[index] : NULL;
}

const tj_record *tj_records_find(const tj_records *records, const tj_problem *problem, const tj_device_facts *device)
{
    if (!records || !problem || !device)
        return NULL;
    const tj_device_kind kind = tj_device_kind_of(device);
    char key[TJ_RECORD_KEY_BYTES];

    if (records->count == 0)
        return NULL;
    tj_record_key(&kind, problem, key);
    return find_key(records, key);
}

/* ---- store -------------------------------------------------------------------------------------------------------- */

static const char FOLDER[] = "records";

typedef struct loading {
    tj_disk_store *store;
    tj_records *records;
    int64_t useless;
    tj_status status;
    tj_error *err;
} loading;

static int load_one(const char *name, const char *text, void *payload)
{
    loading *all = payload;
    tj_record *record;
    tj_error why;

    if (tj_record_parse(text, &record, &why) != TJ_OK) {
        tj_disk_store_warn_text(all->store, name, why.message);
        all->useless++;
    } else if (strncmp(name, record->key, strlen(record->key)) != 0) {
        tj_disk_store_warn_text(all->store, name, "its name is not that of its content");
        tj_record_free(record);
        all->useless++;
    } else if (tj_record_is_emulated(record)) {
        tj_disk_store_warn_text(all->store, name, "its times are the emulator's, and mean nothing");
        tj_record_free(record);
        all->useless++;
    } else
        all->status = tj_records_add(all->records, record, all->err);
    return all->status != TJ_OK;
}

tj_status tj_records_read(tj_disk_store *store, tj_records *records, int64_t *passed_over, tj_error *err)
{
    loading all = {store, records, 0, TJ_OK, err};
    const tj_status status = tj_disk_store_each_text(store, FOLDER, NULL, load_one, &all, passed_over, err);

    *passed_over += all.useless;
    return all.status == TJ_OK ? status : all.status;
}

/* Records to be kept, and what the store has of the same keys: no other file need be read. */
typedef struct keeping {
    loading present; /* first: load_one takes it */
    const tj_records *wanted;
} keeping;

/* The record of a set whose key a file's name begins with. */
static const tj_record *named_by(const tj_records *records, const char *name)
{
    char key[TJ_RECORD_KEY_BYTES] = "";

    if (strlen(name) <= sizeof key)
        return NULL;
    memcpy(key, name, sizeof key - 1);
    return find_key(records, key);
}

static int is_wanted(const char *name, void *payload)
{
    const keeping *all = payload;

    return named_by(all->wanted, name) != NULL;
}

/* A file that a record which was just kept beats; another process may have kept a better one meanwhile. */
static int remove_beaten(const char *name, const char *text, void *payload)
{
    const keeping *all = payload;
    const tj_record *record = named_by(all->wanted, name);
    char own[TJ_RECORD_NAME_BYTES];
    tj_record *other;

    tj_record_name(record, own);
    if (strcmp(name, own) == 0 || tj_record_parse(text, &other, NULL) != TJ_OK)
        return 0;
    if (tj_record_compare(record, other) < 0)
        tj_disk_store_remove_text(all->present.store, FOLDER, name);
    tj_record_free(other);
    return 0;
}

tj_status tj_records_write(tj_disk_store *store, const tj_records *records, int64_t *kept, tj_error *err)
{
    tj_records *present = tj_records_create(), *won = tj_records_create();
    keeping all = {{store, present, 0, TJ_OK, err}, records};
    int64_t uncounted;
    tj_status status = present && won ? TJ_OK : tj_fail_memory(err, "a set of records");

    *kept = 0;
    if (status == TJ_OK) {
        (void)tj_disk_store_each_text(store, FOLDER, is_wanted, load_one, &all, &uncounted,
                                      NULL); /* one that cannot be used has none */
        status = all.present.status;
    }
    for (size_t i = 0; i < records->count && status == TJ_OK; i++) {
        const tj_record *record = records->item[i], *other = find_key(present, record->key);
        char name[TJ_RECORD_NAME_BYTES];

        if (other && tj_record_compare(other, record) <= 0)
            continue;
        tj_record_name(record, name);
        status = tj_disk_store_put_text(store, FOLDER, name, record->json, err);
        if (status == TJ_OK)
            status = tj_records_add(won, tj_record_copy(record), err);
        *kept += status == TJ_OK;
    }
    all.wanted = won;
    if (status == TJ_OK && *kept > 0)
        (void)tj_disk_store_each_text(store, FOLDER, is_wanted, remove_beaten, &all, &uncounted, NULL);
    tj_records_free(present);
    tj_records_free(won);
    return status;
}

/* ---- texts -------------------------------------------------------------------------------------------------------- */

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
    if (!text)
        return tj_fail_null(err, __func__, "text");
    if (!records)
        return tj_fail_null(err, __func__, "records");
    tj_records *parsed = tj_records_create();
    tj_status status = parsed ? parse_text(text, problem, device, parsed, err) : tj_fail_memory(err, "a set of records");

    if (added)
        *added = status == TJ_OK ? (int64_t)parsed->count : 0;
    for (size_t i = 0; status == TJ_OK && i < parsed->count; i++) {
        status = tj_records_add(records, parsed->item[i], err);
        parsed->item[i] = NULL; /* taken */
    }
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
        for (size_t i = 0; i < records->count; i++)
            (void)json_array_append_new(list, tj_record_to_json(records->item[i]));
        (void)json_object_set_new(root, "tilejit_records", list);
    }
    text = json_dumps(root, TJ_RECORD_JSON_FLAGS);
    json_decref(root);
    return text;
}
