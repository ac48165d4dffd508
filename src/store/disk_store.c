/* SPDX-License-Identifier: Apache-2.0 */
#include "disk_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "disk_root.h"
#include "disk_scan.h"
#include "fs.h"
#include "store_entry.h"

enum { RETRY_AFTER = 64 }; /* publishes skipped after the disk refused one: space may come back */

/* ---- fetch -------------------------------------------------------------------------------------------------------- */

static bool fetch_from(tj_disk_store *store, size_t index, const tj_key *key, tj_stored *stored)
{
    char parent[8], name[32];
    const char *why, *damage;
    int root, folder, entry;

    root = tj_disk_open_root(store, index, &why);
    if (root < 0) {
        if (why)
            tj_disk_warn_once(store, "the store %s is not used: %s", store->root[index], why);
        return false;
    }
    tj_disk_entry_names(key->hex, parent, name);
    folder = tj_fs_open_folder(root, parent);
    entry = folder >= 0 ? tj_fs_open_folder(folder, name) : -1;
    damage = entry >= 0 ? tj_entry_read(entry, key, stored) : NULL;
    if (entry >= 0 && !damage && index == 0)
        tj_fs_append_byte(entry, "used");
    /* An entry that another process removed meanwhile is not damaged, and its replacement may be sound. */
    if (damage && damage != tj_entry_unknown && tj_fs_names(folder, name, entry)) {
        tj_disk_warn_once(store, "a stored kernel (%s) is not used and will be compiled again: %s", key->hex, damage);
        if (index == 0)
            tj_disk_remove_entry(root, parent, name);
    }
    if (folder >= 0)
        close(folder);
    close(root);
    if (entry < 0)
        return false;
    close(entry);
    return !damage;
}

bool tj_disk_store_fetch(tj_disk_store *store, const tj_key *key, tj_stored *stored)
{
    memset(stored, 0, sizeof *stored);
    for (size_t i = 0; i < store->root_count; i++)
        if (fetch_from(store, i, key, stored))
            return true;
    return false;
}

void tj_disk_store_reject(tj_disk_store *store, const tj_key *key, const char *reason)
{
    char parent[8], name[32];
    const char *why;
    int root = tj_disk_open_root(store, 0, &why);

    tj_disk_warn_once(store, "a stored kernel (%s) is thrown away: %s", key->hex, reason);
    if (root < 0)
        return;
    tj_disk_entry_names(key->hex, parent, name);
    tj_disk_remove_entry(root, parent, name);
    close(root);
}

/* ---- publish ------------------------------------------------------------------------------------------------------ */

/* Sum the entries; above the limit, evict the least recently used until a tenth of it is free. Call under the lock. */
static void evict(tj_disk_store *store, int root)
{
    tj_scan all = {0};
    char parent[8], name[32];

    tj_disk_sweep(root);
    if (tj_disk_scan_root(store, 0, &all, NULL) == TJ_OK) {
        store->total_bytes = all.bytes;
        if (all.bytes > store->max_bytes) {
            tj_scan_sort(&all);
            for (size_t i = all.count; i-- > 0 && store->total_bytes > store->max_bytes / 10 * 9;) {
                tj_disk_entry_names(all.entry[i].hex, parent, name);
                tj_disk_remove_entry(root, parent, name);
                store->total_bytes -= all.entry[i].bytes;
            }
        }
    }
    free(all.entry);
}

static bool publish(int root, const tj_key *key, const tj_blob *file, size_t count, const tj_json *facts)
{
    char temporary[80], parent[8], name[32];
    int folder, cause;
    bool is_published = false;

    tj_disk_temporary(temporary);
    tj_disk_entry_names(key->hex, parent, name);
    if (tj_fs_make_folder(root, temporary) != 0)
        return false;
    folder = tj_fs_open_folder(root, temporary);
    if (folder >= 0) {
        is_published = tj_entry_write(folder, key, file, count, facts);
        cause = errno;
        close(folder);
        errno = cause;
    }
    if (is_published) {
        is_published = tj_fs_make_folder(root, parent) == 0 && (folder = tj_fs_open_folder(root, parent)) >= 0;
        if (is_published) {
            /* Another process's entry of that name serves as well as ours. */
            is_published = renameat(root, temporary, folder, name) == 0 || errno == ENOTEMPTY || errno == EEXIST;
            cause = errno;
            fsync(folder);
            close(folder);
            errno = cause;
        }
    }
    cause = errno;
    tj_fs_remove_tree(root, temporary); /* the loser's copy, or leftovers of a failure; nothing after a rename */
    errno = cause;
    return is_published;
}

void tj_disk_store_publish(tj_disk_store *store, const tj_key *key, const tj_blob *file, size_t count, const tj_json *facts)
{
    const char *why = NULL;
    int64_t bytes = 0;
    int root;

    if (!store->root[0])
        return;
    for (size_t i = 0; i < count; i++)
        bytes += (int64_t)file[i].size;
    for (size_t i = 0; i < key->count; i++) /* the manifest repeats the key */
        bytes += (int64_t)strlen(key->field[i].value);
    if (bytes > store->max_bytes) {
        tj_disk_warn_once(store, "kernel %s is not stored: %s", key->hex, "it is larger than the store's limit");
        return;
    }
    pthread_mutex_lock(&store->lock);
    if (store->refusals > 0) {
        store->refusals--;
        pthread_mutex_unlock(&store->lock);
        return;
    }
    pthread_mutex_unlock(&store->lock);

    root = tj_disk_make_root(store, &why);
    if (root < 0 || !publish(root, key, file, count, facts)) {
        tj_disk_warn_once(store, "kernels are not stored in %s: %s", store->root[0], root < 0 && why ? why : strerror(errno));
        pthread_mutex_lock(&store->lock);
        store->refusals = RETRY_AFTER;
        pthread_mutex_unlock(&store->lock);
    } else {
        pthread_mutex_lock(&store->lock);
        if (store->total_bytes >= 0)
            store->total_bytes += bytes;
        if (store->total_bytes < 0 || store->total_bytes > store->max_bytes)
            evict(store, root);
        pthread_mutex_unlock(&store->lock);
    }
    if (root >= 0)
        close(root);
}

/* ---- lock --------------------------------------------------------------------------------------------------------- */

int tj_disk_store_lock(tj_disk_store *store, const tj_key *key, int wait_ms)
{
    char name[32] = "v1/locks/";
    const char *why;
    int root, fd, step_ms = 2;

    root = store->root[0] ? tj_disk_make_root(store, &why) : -1;
    if (root < 0)
        return -1;
    /*
     * 256 files for all keys, created once and never unlinked: two processes could hold an unlinked lock file and its
     * successor.
     */
    memcpy(name + 9, key->hex, 2);
    tj_fs_make_folder(root, "v1/locks");
    fd = tj_fs_open_lock(root, name);
    close(root);
    while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK || wait_ms <= 0) {
            close(fd);
            return -1;
        }
        nanosleep(&(struct timespec){0, step_ms * 1000000L}, NULL);
        wait_ms -= step_ms;
        step_ms = step_ms < 50 ? 2 * step_ms : 50;
    }
    return fd;
}

void tj_disk_store_unlock(int lock)
{
    if (lock >= 0)
        close(lock);
}
