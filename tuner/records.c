/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records: sets of records, in memory and in the store.
 *
 * A set holds the best record of each key. The order of records is total, and the best of a union is the best of the bests;
 * therefore merging is commutative, associative and idempotent, between threads, processes and machines alike. In the store
 * each record is a file of its own, so writers need no lock.
 */
#include "record.h"

#include <stdlib.h>
#include <string.h>

#include "disk_store.h"
#include "error.h"

enum { MOST_TABLES = 16 };

struct tj_records {
    tj_record **item; /* sorted by key */
    size_t count, capacity;
    const tj_trials *table[MOST_TABLES];
    size_t tables;
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

/* Return the index where the key is, or belongs. */
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
    if (!record || tj_record_is_emulated(record)) {
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

tj_status tj_records_move(tj_records *from, tj_records *to, tj_error *err)
{
    tj_status status = TJ_OK;

    for (size_t i = 0; i < from->count && status == TJ_OK; i++) {
        status = tj_records_add(to, from->item[i], err);
        from->item[i] = NULL; /* moved */
    }
    return status;
}

tj_status tj_records_add_trials(tj_records *records, const tj_trials *trials, tj_error *err)
{
    if (TJ_HAS_NULL(err, records, trials))
        return TJ_ERR_INVALID_ARGUMENT;
    if (records->tables == MOST_TABLES)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "a set of records has at most %d tables of trials", MOST_TABLES);
    records->table[records->tables++] = trials;
    return TJ_OK;
}

const tj_trials *tj_records_table(const tj_records *records, size_t index)
{
    return records && index < records->tables ? records->table[index] : NULL;
}

size_t tj_records_count(const tj_records *records)
{
    return records ? records->count : 0;
}

const tj_record *tj_records_at(const tj_records *records, size_t index)
{
    return records && index < records->count ? records->item[index] : NULL;
}

const tj_record *tj_records_get(const tj_records *records, const tj_problem *canonical, const tj_device_facts *device)
{
    const tj_device_kind kind = tj_device_kind_of(device);
    char key[TJ_RECORD_KEY_BYTES];

    if (records->count == 0)
        return NULL;
    tj_record_key(&kind, canonical, key);
    return find_key(records, key);
}

const tj_record *tj_records_find(const tj_records *records, const tj_problem *problem, const tj_device_facts *device)
{
    if (!records || !problem || !device)
        return NULL;
    const tj_problem canonical = tj_problem_canonical(problem);

    return tj_records_get(records, &canonical, device);
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
    const char *trouble = NULL;
    tj_record *record;
    tj_error why;

    if (tj_record_parse(text, &record, &why) != TJ_OK)
        trouble = why.message;
    else if (strncmp(name, record->key, strlen(record->key)) != 0)
        trouble = "its name is not that of its content";
    else if (tj_record_is_emulated(record))
        trouble = "its times are the emulator's, and mean nothing";
    if (trouble) {
        tj_disk_store_warn_text(all->store, name, trouble);
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

/* Records to keep, and the store's records of the same keys: no other file need be read. */
typedef struct keeping {
    loading present; /* first, because load_one takes it */
    const tj_records *wanted;
} keeping;

/* Return the record of a set whose key begins a file's name. */
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

/* Remove a file if the record just kept beats it; another process may have kept a better one meanwhile. */
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
                                      NULL); /* an unusable store has none */
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
