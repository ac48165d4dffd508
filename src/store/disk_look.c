/* SPDX-License-Identifier: Apache-2.0 */
/* disk_look: inspect a store for people: its entries, whether they are sound, why a key misses; and clear it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "disk_root.h"
#include "disk_scan.h"
#include "error.h"
#include "fs.h"
#include "store_entry.h"

enum { EXPLAIN_MAX = 4096 }; /* manifests read to find the nearest entry */

static int open_entry(const tj_disk_store *store, const tj_scanned *one)
{
    return tj_disk_open_entry(store, one->root, one->hex);
}

static const char *fact(const tj_json *manifest, const char *name)
{
    const char *text = tj_json_text(tj_json_get(tj_json_get(manifest, "facts"), name));

    return text ? text : "?";
}

/* Does the entry's name still refer to the open folder? */
static bool is_in_place(const tj_disk_store *store, const tj_scanned *one, int entry)
{
    const int now = open_entry(store, one);
    const bool is_same = now >= 0 && tj_fs_names(now, ".", entry);

    if (now >= 0)
        close(now);
    return is_same;
}

/* -1: the entry was removed meanwhile. */
static int show(const tj_disk_store *store, const tj_scanned *one, bool verify, tj_store_visit visit, void *payload)
{
    tj_store_entry shown = {.struct_size = sizeof shown,
                            .key = one->hex,
                            .bytes = one->bytes,
                            .hits = one->hits,
                            .used_s = one->used_s,
                            .is_read_only = one->root > 0};
    const char *damage = NULL;
    tj_stored stored;
    tj_json *manifest;
    char *path;
    int folder = open_entry(store, one), answer;

    if (folder < 0)
        return -1;
    manifest = tj_entry_manifest(folder, &damage);
    if (manifest && verify) {
        damage = tj_entry_read(folder, NULL, &stored);
        if (!damage)
            tj_stored_drop(&stored);
    }
    if (damage && damage != tj_entry_unknown && !is_in_place(store, one, folder)) {
        tj_json_free(manifest);
        close(folder);
        return -1;
    }
    close(folder);
    if (asprintf(&path, "%s/v1/%.2s/%s", store->root[one->root], one->hex, one->hex + 2) < 0)
        path = NULL;
    shown.path = path ? path : "?";
    shown.kernel = fact(manifest, "kernel");
    shown.problem = fact(manifest, "problem");
    shown.config = fact(manifest, "config");
    shown.target = fact(manifest, "target");
    shown.compiler = fact(manifest, "compiler");
    shown.created_s = tj_json_int(tj_json_get(manifest, "created"));
    shown.damage = damage;
    answer = visit(&shown, payload) != 0;
    free(path);
    tj_json_free(manifest);
    return answer;
}

static tj_status scan_all(const tj_disk_store *store, tj_scan *all, tj_error *err)
{
    for (size_t i = 0; i < store->root_count; i++) {
        const tj_status status = tj_disk_scan_root(store, i, all, err);
        if (status != TJ_OK)
            return status;
    }
    tj_scan_sort(all);
    return TJ_OK;
}

tj_status tj_disk_store_list(tj_disk_store *store, bool verify, tj_store_visit visit, void *payload, tj_error *err)
{
    tj_scan all = {0};
    tj_status status = scan_all(store, &all, err);

    for (size_t i = 0; status == TJ_OK && i < all.count; i++)
        if (show(store, &all.entry[i], verify, visit, payload) == 1)
            break;
    free(all.entry);
    return status;
}

/* Would verification refuse it now? */
static bool is_damaged(const tj_disk_store *store, const tj_scanned *one)
{
    const int entry = open_entry(store, one);
    tj_stored stored;
    const char *damage = entry >= 0 ? tj_entry_read(entry, NULL, &stored) : tj_entry_unknown;
    const bool is_refused = damage && damage != tj_entry_unknown && is_in_place(store, one, entry);

    if (!damage)
        tj_stored_drop(&stored);
    if (entry >= 0)
        close(entry);
    return is_refused;
}

/* The entries that could not be removed; the first is named. */
typedef struct staying {
    int64_t count;
    char first[TJ_HASH_HEX_BYTES + 8];
    int cause;
} staying;

static tj_status tell_staying(const tj_disk_store *store, const staying *stayed, tj_error *err)
{
    return tj_fail(err, TJ_ERR_IO, "%lld %s could not be removed; the first is %s/%s: %s", (long long)stayed->count,
                   stayed->count == 1 ? "entry" : "entries", store->root[0], stayed->first, strerror(stayed->cause));
}

tj_status tj_disk_store_clear(tj_disk_store *store, bool only_damaged, int64_t *removed, tj_error *err)
{
    tj_scan all = {0};
    staying stayed = {0};
    char parent[8], name[32];
    const char *why;
    int64_t count = 0;
    tj_status status = tj_disk_scan_root(store, 0, &all, err);
    int root = status == TJ_OK ? tj_disk_open_root(store, 0, &why) : -1;

    for (size_t i = 0; root >= 0 && i < all.count; i++) {
        if (only_damaged && !is_damaged(store, &all.entry[i]))
            continue;
        tj_disk_entry_names(all.entry[i].hex, parent, name);
        if (tj_disk_remove_entry(root, parent, name)) {
            count++;
        } else if (stayed.count++ == 0) {
            stayed.cause = errno;
            (void)snprintf(stayed.first, sizeof stayed.first, "%s/%s", parent, name);
        }
    }
    if (root >= 0) {
        tj_disk_sweep(root);
        close(root);
    }
    if (stayed.count > 0)
        status = tell_staying(store, &stayed, err);
    else if (status == TJ_OK && all.unlisted[0])
        status = tj_fail(err, TJ_ERR_IO, "the entries in %s/%s cannot be listed, and so not removed: %s", store->root[0],
                         all.unlisted, strerror(all.cause));
    free(all.entry);
    pthread_mutex_lock(&store->lock);
    store->total_bytes = -1;
    pthread_mutex_unlock(&store->lock);
    if (removed)
        *removed = count;
    return status;
}

static size_t shared_fields(const tj_json *manifest, const tj_key *key)
{
    size_t shared = 0;

    for (size_t i = 0; i < key->count; i++) {
        const char *found = tj_entry_key_field(manifest, key->field[i].name);
        shared += found && strcmp(found, key->field[i].value) == 0;
    }
    return shared;
}

/* Would a fetch hit? Does not count as a use. */
static bool is_stored(const tj_disk_store *store, const tj_key *key)
{
    bool is_hit = false;

    for (size_t i = 0; i < store->root_count && !is_hit; i++) {
        const int entry = tj_disk_open_entry(store, i, key->hex);
        tj_stored stored;

        if (entry < 0)
            continue;
        is_hit = !tj_entry_read(entry, key, &stored);
        if (is_hit)
            tj_stored_drop(&stored);
        close(entry);
    }
    return is_hit;
}

tj_status tj_disk_store_explain(tj_disk_store *store, const tj_key *key, int *hit, tj_store_explain_visit visit, void *payload,
                                tj_error *err)
{
    tj_scan all = {0};
    tj_json *nearest = NULL;
    size_t most = 0;
    const bool is_hit = is_stored(store, key);
    tj_status status = is_hit ? TJ_OK : scan_all(store, &all, err);

    for (size_t i = 0; status == TJ_OK && i < all.count && i < EXPLAIN_MAX; i++) {
        const int entry = open_entry(store, &all.entry[i]);
        const char *damage;
        tj_json *manifest = entry >= 0 ? tj_entry_manifest(entry, &damage) : NULL;
        const size_t shared = manifest ? shared_fields(manifest, key) : 0;

        if (manifest && (!nearest || shared > most)) {
            tj_json_free(nearest);
            nearest = manifest;
            manifest = NULL;
            most = shared;
        }
        tj_json_free(manifest);
        if (entry >= 0)
            close(entry);
    }
    free(all.entry);
    if (status != TJ_OK)
        return status;
    *hit = is_hit;
    for (size_t i = 0; i < key->count; i++) {
        tj_store_field field = {.struct_size = sizeof field, .name = key->field[i].name, .wanted = key->field[i].value};
        if (is_hit)
            field.found = field.wanted;
        else if (nearest)
            field.found = tj_entry_key_field(nearest, field.name);
        field.is_equal = field.found && strcmp(field.found, field.wanted) == 0;
        visit(&field, payload);
    }
    tj_json_free(nearest);
    return TJ_OK;
}
