/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_find: find entries by a part of their key, for a caller that cannot know all of it.
 *
 * Entries are stored by the hash of the whole key. Here every manifest is read once, and a table of the hashes of the wanted
 * fields is kept in memory. To find entries that other processes stored since, the manifests are read again, at most once a
 * second.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "disk_root.h"
#include "disk_scan.h"
#include "hash.h"
#include "store_entry.h"

typedef struct indexed {
    uint64_t hash; /* of the wanted fields */
    size_t root;
    char hex[TJ_HASH_HEX_BYTES];
} indexed;

struct tj_disk_index {
    size_t count;
    int64_t read_at_s;
    indexed entry[]; /* most recently used first */
};

static uint64_t hash_value(uint64_t hash, const char *name, const char *value)
{
    hash = hash * UINT64_C(0x9e3779b97f4a7c15) + tj_hash_bytes64(name, strlen(name) + 1);
    return hash * UINT64_C(0x9e3779b97f4a7c15) + tj_hash_bytes64(value, strlen(value) + 1);
}

static uint64_t hash_wanted(const tj_key *wanted)
{
    uint64_t hash = 0;

    for (size_t i = 0; i < wanted->count; i++)
        hash = hash_value(hash, wanted->field[i].name, wanted->field[i].value);
    return hash;
}

static tj_json *read_manifest(const tj_disk_store *store, size_t index, const char *hex)
{
    const int entry = tj_disk_open_entry(store, index, hex);
    const char *damage;
    tj_json *manifest;

    if (entry < 0)
        return NULL;
    manifest = tj_entry_manifest(entry, &damage);
    close(entry);
    return manifest;
}

/* Hash the same fields of a stored key; false: it lacks one. */
static bool hash_stored(const tj_json *manifest, const tj_key *wanted, uint64_t *hash)
{
    *hash = 0;
    for (size_t i = 0; i < wanted->count; i++) {
        const char *value = tj_entry_key_field(manifest, wanted->field[i].name);

        if (!value)
            return false;
        *hash = hash_value(*hash, wanted->field[i].name, value);
    }
    return true;
}

static bool is_wanted(const tj_json *manifest, const tj_key *wanted)
{
    for (size_t i = 0; i < wanted->count; i++) {
        const char *value = tj_entry_key_field(manifest, wanted->field[i].name);

        if (!value || strcmp(value, wanted->field[i].value) != 0)
            return false;
    }
    return true;
}

static int64_t now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* NULL: out of memory. A root that cannot be listed or read counts as empty. */
static struct tj_disk_index *read_index(const tj_disk_store *store, const tj_key *wanted)
{
    struct tj_disk_index *index;
    tj_scan all = {0};

    for (size_t i = 0; i < store->root_count; i++)
        (void)tj_disk_scan_root(store, i, &all, NULL);
    tj_scan_sort(&all);
    index = calloc(1, sizeof *index + all.count * sizeof index->entry[0]);
    for (size_t i = 0; index && i < all.count; i++) {
        indexed *one = &index->entry[index->count];
        tj_json *manifest = read_manifest(store, all.entry[i].root, all.entry[i].hex);

        if (manifest && hash_stored(manifest, wanted, &one->hash)) {
            one->root = all.entry[i].root;
            memcpy(one->hex, all.entry[i].hex, sizeof one->hex);
            index->count++;
        }
        tj_json_free(manifest);
    }
    if (index)
        index->read_at_s = now_s();
    free(all.entry);
    return index;
}

/* Call under the lock. */
static tj_json *look_up(const tj_disk_store *store, const tj_key *wanted)
{
    const uint64_t hash = hash_wanted(wanted);

    for (size_t i = 0; store->index && i < store->index->count; i++) {
        const indexed *one = &store->index->entry[i];
        tj_json *manifest = one->hash == hash ? read_manifest(store, one->root, one->hex) : NULL;

        if (manifest && is_wanted(manifest, wanted))
            return manifest;
        tj_json_free(manifest);
    }
    return NULL;
}

tj_json *tj_disk_store_find(tj_disk_store *store, const tj_key *wanted)
{
    tj_json *manifest;

    pthread_mutex_lock(&store->index_lock);
    manifest = look_up(store, wanted);
    if (!manifest && (!store->index || now_s() > store->index->read_at_s)) {
        struct tj_disk_index *index = read_index(store, wanted);

        if (index) {
            free(store->index);
            store->index = index;
            manifest = look_up(store, wanted);
        }
    }
    pthread_mutex_unlock(&store->index_lock);
    return manifest;
}
