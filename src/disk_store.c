/* SPDX-License-Identifier: Apache-2.0 */
#include "disk_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "error.h"
#include "fs.h"
#include "store_entry.h"

enum {
    MAX_ROOTS = 16,
    STALE_SECONDS = 3600, /* a temporary folder this old belongs to nobody who lives */
    RETRY_AFTER = 64,     /* publishes skipped after the disk refused one: space may come back */
    EXPLAIN_MAX = 4096,   /* manifests read to find the nearest entry */
    TROUBLE_BYTES = 512,
    MAX_NOTE_BYTES = 64 * 1024,
    MAX_TEXT_NAME = 96
};

struct tj_disk_store {
    char *root[MAX_ROOTS]; /* absolute; root[0] is the own one, NULL: the disk is off */
    size_t root_count;
    int64_t max_bytes;
    tj_log log;
    pthread_mutex_t lock; /* of what follows; not held across file work but for eviction */
    int64_t total_bytes;  /* of the own root, approximate; -1: not counted yet */
    unsigned refusals;    /* publishes left to skip */
    char trouble[TROUBLE_BYTES];
    atomic_flag has_warned;
};

/* ---- small things ------------------------------------------------------------------------------------------------- */

static void warn_once(tj_disk_store *store, const char *format, const char *what, const char *why)
{
    if (!atomic_flag_test_and_set(&store->has_warned))
        tj_log_line(&store->log, TJ_LOG_WARNING, format, what, why);
}

/* Also without slashes at the end, which would have a link followed. */
static char *absolute(const char *path)
{
    char here[PATH_MAX], *joined;
    size_t length;

    if (path[0] == '/')
        joined = strdup(path);
    else if (!getcwd(here, sizeof here) || asprintf(&joined, "%s/%s", here, path) < 0)
        joined = NULL;
    for (length = joined ? strlen(joined) : 0; length > 1 && joined[length - 1] == '/'; length--)
        joined[length - 1] = '\0';
    return joined;
}

/* "v1/ab" and "cdef..." of a key "abcdef...". */
static void entry_names(const char *hex, char parent[8], char name[32])
{
    memcpy(parent, "v1/", 3);
    memcpy(parent + 3, hex, 2);
    parent[5] = '\0';
    memcpy(name, hex + 2, 31);
}

static bool is_hex(const char *name, size_t length)
{
    return strlen(name) == length && strspn(name, "0123456789abcdef") == length;
}

/* ---- the root ----------------------------------------------------------------------------------------------------- */

/* CUBINs are code: a folder that others own or can write is refused, and so is a link, which others may turn. */
static const char *root_trouble(int root, bool is_own)
{
    struct stat facts;

    if (fstat(root, &facts) != 0)
        return strerror(errno);
    if (facts.st_uid != geteuid() && (is_own || facts.st_uid != 0))
        return "it belongs to another user: set TILEJIT_CACHE_DIR to a folder of your own";
    if (facts.st_mode & (S_IWGRP | S_IWOTH))
        return "others can write to it: chmod go-w";
    return NULL;
}

static const char *open_trouble(int cause)
{
    if (cause == ELOOP)
        return "it is a symbolic link: name the folder itself";
    if (cause == ENOTDIR)
        return "it is not a folder, or a link";
    return strerror(cause);
}

/* Why a folder that does not exist cannot be made: asked of the nearest folder above it that does. */
static const char *parent_trouble(const char *path)
{
    char part[PATH_MAX];
    size_t length = strlen(path);

    if (length >= sizeof part)
        return strerror(ENAMETOOLONG);
    memcpy(part, path, length + 1);
    do {
        while (length > 1 && part[length - 1] != '/')
            length--;
        while (length > 1 && part[length - 1] == '/')
            length--;
        part[length] = '\0';
        if (faccessat(AT_FDCWD, part, W_OK | X_OK, AT_EACCESS) == 0)
            return NULL;
    } while (errno == ENOENT && length > 1);
    return strerror(errno);
}

/* An open, trusted root, or -1 with *why (NULL: it does not exist). */
static int open_root(const tj_disk_store *store, size_t index, const char **why)
{
    const int root = tj_fs_open_folder(AT_FDCWD, store->root[index]);

    *why = NULL;
    if (root < 0) {
        if (errno != ENOENT)
            *why = open_trouble(errno);
        return -1;
    }
    *why = root_trouble(root, index == 0);
    if (!*why)
        return root;
    close(root);
    return -1;
}

/* The own root, made if need be, with its inner folders. */
static int make_root(tj_disk_store *store, const char **why)
{
    int root = open_root(store, 0, why);

    if (root < 0 && !*why) {
        if (tj_fs_make_path(store->root[0]) != 0) {
            *why = open_trouble(errno);
            return -1;
        }
        root = open_root(store, 0, why);
    }
    if (root >= 0 && (tj_fs_make_folder(root, "v1") != 0 || tj_fs_make_folder(root, "v1/tmp") != 0)) {
        *why = strerror(errno);
        close(root);
        root = -1;
    }
    return root;
}

tj_disk_store *tj_disk_store_create(const char *root, const char *const *read_only_roots, int64_t max_bytes, const tj_log *log)
{
    tj_disk_store *store = calloc(1, sizeof *store);

    if (!store)
        return NULL;
    pthread_mutex_init(&store->lock, NULL);
    atomic_flag_clear(&store->has_warned);
    store->max_bytes = max_bytes;
    store->total_bytes = -1;
    if (log)
        store->log = *log;
    store->root_count = 1;
    if (root && *root && !(store->root[0] = absolute(root)))
        goto fail;
    for (size_t i = 0; read_only_roots && read_only_roots[i]; i++) {
        if (store->root_count == MAX_ROOTS) {
            tj_log_line(&store->log, TJ_LOG_WARNING, "only %d read-only stores are searched", MAX_ROOTS - 1);
            break;
        }
        if (!(store->root[store->root_count] = absolute(read_only_roots[i])))
            goto fail;
        store->root_count++;
    }
    return store;

fail:
    tj_disk_store_free(store);
    return NULL;
}

void tj_disk_store_free(tj_disk_store *store)
{
    if (!store)
        return;
    for (size_t i = 0; i < store->root_count; i++)
        free(store->root[i]);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

/* ---- removing ----------------------------------------------------------------------------------------------------- */

/* Out of the way in one step, so that no reader meets half an entry; then gone. */
static void remove_entry(int root, const char *parent, const char *name)
{
    char unique[64], temporary[80] = "v1/tmp/";
    const int folder = tj_fs_open_folder(root, parent);

    if (folder < 0)
        return;
    tj_fs_unique_name(unique);
    strcat(temporary, unique);
    tj_fs_make_folder(root, "v1/tmp");
    if (renameat(folder, name, root, temporary) == 0)
        tj_fs_remove_tree(root, temporary);
    close(folder);
}

/* ---- fetch -------------------------------------------------------------------------------------------------------- */

static bool fetch_from(tj_disk_store *store, size_t index, const tj_key *key, tj_stored *stored)
{
    char parent[8], name[32];
    const char *why, *damage;
    int root, folder, entry;

    if (!store->root[index])
        return false;
    root = open_root(store, index, &why);
    if (root < 0) {
        if (why)
            warn_once(store, "the store %s is not used: %s", store->root[index], why);
        return false;
    }
    entry_names(key->hex, parent, name);
    folder = tj_fs_open_folder(root, parent);
    entry = folder >= 0 ? tj_fs_open_folder(folder, name) : -1;
    damage = entry >= 0 ? tj_entry_read(entry, key, stored) : NULL;
    if (entry >= 0 && !damage && index == 0)
        tj_fs_append_byte(entry, "used");
    /* An entry that another process removed under our hands is no damage, and what is there now may be sound. */
    if (damage && damage != tj_entry_unknown && tj_fs_names(folder, name, entry)) {
        warn_once(store, "a stored kernel (%s) is not used and will be compiled again: %s", key->hex, damage);
        if (index == 0)
            remove_entry(root, parent, name);
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
    int root = store->root[0] ? open_root(store, 0, &why) : -1;

    warn_once(store, "a stored kernel (%s) is thrown away: %s", key->hex, reason);
    if (root < 0)
        return;
    entry_names(key->hex, parent, name);
    remove_entry(root, parent, name);
    close(root);
}

/* ---- scanning ----------------------------------------------------------------------------------------------------- */

typedef struct scanned {
    char hex[TJ_HASH_HEX_BYTES];
    size_t root;
    int64_t bytes, hits, used_s;
    long used_ns; /* of that second: many kernels may be used within one */
} scanned;

typedef struct scan {
    scanned *entry;
    size_t count, capacity;
    int64_t bytes;
} scan;

static bool scan_add(scan *all, const scanned *one)
{
    if (all->count == all->capacity) {
        const size_t capacity = all->capacity ? 2 * all->capacity : 64;
        scanned *larger = realloc(all->entry, capacity * sizeof *larger);
        if (!larger)
            return false;
        all->entry = larger;
        all->capacity = capacity;
    }
    all->entry[all->count++] = *one;
    all->bytes += one->bytes;
    return true;
}

static void scan_entry(int parent, const char *name, scanned *out)
{
    const int fd = tj_fs_open_folder(parent, name);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *file;
    struct stat facts;

    if (!folder) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while ((file = readdir(folder))) {
        if (fstatat(fd, file->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(facts.st_mode))
            continue;
        out->bytes += facts.st_size;
        if (strcmp(file->d_name, "used") == 0) {
            out->hits = facts.st_size;
            out->used_s = facts.st_mtim.tv_sec;
            out->used_ns = facts.st_mtim.tv_nsec;
        }
    }
    closedir(folder);
}

/* Every folder of the form v1/<2 hex>/<30 hex>: nothing else in a root is ours. Errors: what cannot be listed. */
static tj_status scan_root(const tj_disk_store *store, size_t index, scan *all, tj_error *err)
{
    const struct dirent *outer, *inner;
    const char *why;
    int root, v1;
    DIR *folder;

    if (!store->root[index])
        return TJ_OK;
    root = open_root(store, index, &why);
    if (root < 0)
        return why ? tj_fail(err, TJ_ERR_IO, "cannot use the store %s: %s", store->root[index], why) : TJ_OK;
    v1 = tj_fs_open_folder(root, "v1");
    close(root);
    if (v1 < 0)
        return errno == ENOENT ? TJ_OK : tj_fail(err, TJ_ERR_IO, "cannot list %s/v1: %s", store->root[index], strerror(errno));
    folder = fdopendir(v1);
    if (!folder) {
        close(v1);
        return tj_fail_memory(err, "a folder listing");
    }
    while ((outer = readdir(folder))) {
        const int fd = is_hex(outer->d_name, 2) ? tj_fs_open_folder(v1, outer->d_name) : -1;
        DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;

        if (fd >= 0 && !entries)
            close(fd);
        while (entries && (inner = readdir(entries))) {
            scanned one = {.root = index};
            if (!is_hex(inner->d_name, 30))
                continue;
            memcpy(one.hex, outer->d_name, 2);
            memcpy(one.hex + 2, inner->d_name, 31);
            scan_entry(fd, inner->d_name, &one);
            if (!scan_add(all, &one)) {
                closedir(entries);
                closedir(folder);
                return tj_fail_memory(err, "the list of entries");
            }
        }
        if (entries)
            closedir(entries);
    }
    closedir(folder);
    return TJ_OK;
}

static int by_use(const void *a, const void *b)
{
    const scanned *x = a, *y = b;

    if (x->used_s != y->used_s)
        return x->used_s < y->used_s ? 1 : -1;
    if (x->used_ns != y->used_ns)
        return x->used_ns < y->used_ns ? 1 : -1;
    return strcmp(x->hex, y->hex);
}

/* What killed processes left behind. */
static void sweep(int root)
{
    const int tmp = tj_fs_open_folder(root, "v1/tmp");
    DIR *folder = tmp >= 0 ? fdopendir(tmp) : NULL;
    const struct dirent *entry;
    struct stat facts;

    if (!folder) {
        if (tmp >= 0)
            close(tmp);
        return;
    }
    while ((entry = readdir(folder)))
        if (entry->d_name[0] != '.' && fstatat(tmp, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
            facts.st_mtime < time(NULL) - STALE_SECONDS)
            tj_fs_remove_tree(tmp, entry->d_name);
    closedir(folder);
}

/* Count what is there; beyond the limit, the least recently used go until a tenth of it is free. Under the lock. */
static void evict(tj_disk_store *store, int root)
{
    scan all = {0};
    char parent[8], name[32];

    sweep(root);
    if (scan_root(store, 0, &all, NULL) == TJ_OK) {
        store->total_bytes = all.bytes;
        if (all.bytes > store->max_bytes) {
            qsort(all.entry, all.count, sizeof *all.entry, by_use);
            for (size_t i = all.count; i-- > 0 && store->total_bytes > store->max_bytes / 10 * 9;) {
                entry_names(all.entry[i].hex, parent, name);
                remove_entry(root, parent, name);
                store->total_bytes -= all.entry[i].bytes;
            }
        }
    }
    free(all.entry);
}

/* ---- publish ------------------------------------------------------------------------------------------------------ */

static bool publish(int root, const tj_key *key, const tj_blob *file, size_t count, const json_t *facts)
{
    char unique[64], temporary[80] = "v1/tmp/", parent[8], name[32];
    int folder, cause;
    bool is_published = false;

    tj_fs_unique_name(unique);
    strcat(temporary, unique);
    entry_names(key->hex, parent, name);
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
            /* Somebody else's entry under that name is as good as ours. */
            is_published = renameat(root, temporary, folder, name) == 0 || errno == ENOTEMPTY || errno == EEXIST;
            cause = errno;
            fsync(folder);
            close(folder);
            errno = cause;
        }
    }
    cause = errno;
    tj_fs_remove_tree(root, temporary); /* the loser's copy, or what a failure left; nothing after a rename */
    errno = cause;
    return is_published;
}

void tj_disk_store_publish(tj_disk_store *store, const tj_key *key, const tj_blob *file, size_t count, const json_t *facts)
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
        warn_once(store, "kernel %s is not stored: %s", key->hex, "it is larger than the store's limit");
        return;
    }
    pthread_mutex_lock(&store->lock);
    if (store->refusals > 0) {
        store->refusals--;
        pthread_mutex_unlock(&store->lock);
        return;
    }
    pthread_mutex_unlock(&store->lock);

    root = make_root(store, &why);
    if (root < 0 || !publish(root, key, file, count, facts)) {
        warn_once(store, "kernels are not stored in %s: %s", store->root[0], root < 0 && why ? why : strerror(errno));
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

/* ---- notes -------------------------------------------------------------------------------------------------------- */

char *tj_disk_store_read_note(tj_disk_store *store, const char *name)
{
    char path[128], *text = NULL;
    const char *why;
    size_t size;
    int root = store->root[0] ? open_root(store, 0, &why) : -1;

    if (root < 0)
        return NULL;
    if (snprintf(path, sizeof path, "v1/%s", name) >= (int)sizeof path || !tj_fs_read(root, path, MAX_NOTE_BYTES, &text, &size))
        text = NULL;
    close(root);
    return text;
}

void tj_disk_store_write_note(tj_disk_store *store, const char *name, const char *text)
{
    char unique[64], temporary[80] = "v1/tmp/", path[128];
    const char *why;
    int root = store->root[0] ? make_root(store, &why) : -1;

    if (root < 0)
        return;
    tj_fs_unique_name(unique);
    strcat(temporary, unique);
    if (snprintf(path, sizeof path, "v1/%s", name) < (int)sizeof path && tj_fs_write_new(root, temporary, text, strlen(text)) &&
        renameat(root, temporary, root, path) == 0) {
        close(root);
        return;
    }
    tj_fs_remove_tree(root, temporary);
    close(root);
}

/* ---- texts -------------------------------------------------------------------------------------------------------- */

static bool is_text_name(const char *name)
{
    const size_t length = strlen(name);

    return length > 0 && length < MAX_TEXT_NAME && name[0] != '.' &&
           strspn(name, "0123456789abcdefghijklmnopqrstuvwxyz-_.") == length;
}

tj_status tj_disk_store_put_text(tj_disk_store *store, const char *folder, const char *name, const char *text, tj_error *err)
{
    char unique[64], temporary[80] = "v1/tmp/", parent[64], path[64 + MAX_TEXT_NAME];
    const char *why = "the disk is switched off: name a folder by option cache_dir or TILEJIT_CACHE_DIR";
    int root;

    if (!is_text_name(name))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "\"%.80s\" is no name for a stored text: use lower-case letters, digits, - . _", name);
    root = store->root[0] ? make_root(store, &why) : -1;
    if (root < 0)
        return tj_fail(err, TJ_ERR_IO, "cannot keep %s: %s", name, why);
    (void)snprintf(parent, sizeof parent, "v1/%s", folder);
    (void)snprintf(path, sizeof path, "v1/%s/%s", folder, name);
    tj_fs_unique_name(unique);
    strcat(temporary, unique);
    if (tj_fs_make_folder(root, parent) == 0 && tj_fs_write_new(root, temporary, text, strlen(text)) &&
        renameat(root, temporary, root, path) == 0) {
        close(root);
        return TJ_OK;
    }
    (void)tj_fail(err, TJ_ERR_IO, "cannot keep %s in %s: %s", name, store->root[0], strerror(errno));
    (void)unlinkat(root, temporary, 0);
    close(root);
    return TJ_ERR_IO;
}

/* All texts of one folder; true to go on with the next root. */
static bool visit_texts(tj_disk_store *store, int folder, tj_store_text_visit visit, void *payload)
{
    DIR *list = fdopendir(folder);
    const struct dirent *file;
    bool goes_on = true;

    if (!list) {
        close(folder);
        return true;
    }
    while (goes_on && (file = readdir(list))) {
        char *text = NULL;
        size_t size;

        if (!is_text_name(file->d_name))
            continue;
        if (!tj_fs_read(dirfd(list), file->d_name, MAX_NOTE_BYTES, &text, &size)) {
            if (errno != ENOENT)
                tj_disk_store_warn_text(store, file->d_name, strerror(errno));
            continue;
        }
        goes_on = visit(file->d_name, text, payload) == 0;
        free(text);
    }
    closedir(list);
    return goes_on;
}

void tj_disk_store_each_text(tj_disk_store *store, const char *folder, tj_store_text_visit visit, void *payload)
{
    bool goes_on = true;
    char path[64];

    (void)snprintf(path, sizeof path, "v1/%s", folder);
    for (size_t i = 0; goes_on && i < store->root_count; i++) {
        const char *why = NULL;
        int root = store->root[i] ? open_root(store, i, &why) : -1, fd;

        if (why)
            warn_once(store, "the store %s is not used: %s", store->root[i], why);
        if (root < 0)
            continue;
        fd = tj_fs_open_folder(root, path);
        close(root);
        if (fd >= 0)
            goes_on = visit_texts(store, fd, visit, payload);
    }
}

void tj_disk_store_remove_text(tj_disk_store *store, const char *folder, const char *name)
{
    char path[64 + MAX_TEXT_NAME];
    const char *why;
    int root = store->root[0] && is_text_name(name) ? open_root(store, 0, &why) : -1;

    if (root < 0)
        return;
    (void)snprintf(path, sizeof path, "v1/%s/%s", folder, name);
    (void)unlinkat(root, path, 0);
    close(root);
}

void tj_disk_store_warn_text(tj_disk_store *store, const char *name, const char *reason)
{
    warn_once(store, "the stored text %s is not used: %s", name, reason);
}

/* ---- lock --------------------------------------------------------------------------------------------------------- */

int tj_disk_store_lock(tj_disk_store *store, const tj_key *key, int wait_ms)
{
    char name[32] = "v1/locks/";
    const char *why;
    int root, fd, step_ms = 2;

    root = store->root[0] ? make_root(store, &why) : -1;
    if (root < 0)
        return -1;
    /* 256 files for all keys, made once and never unlinked: an unlinked lock file would let two in. */
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

/* ---- looking in --------------------------------------------------------------------------------------------------- */

static int open_entry(const tj_disk_store *store, const scanned *one)
{
    char parent[8], name[32];
    const char *why;
    int root = open_root(store, one->root, &why), folder, entry;

    if (root < 0)
        return -1;
    entry_names(one->hex, parent, name);
    folder = tj_fs_open_folder(root, parent);
    close(root);
    if (folder < 0)
        return -1;
    entry = tj_fs_open_folder(folder, name);
    close(folder);
    return entry;
}

static const char *fact(const json_t *manifest, const char *name)
{
    const char *text = json_string_value(json_object_get(json_object_get(manifest, "facts"), name));

    return text ? text : "?";
}

/* Does the name of an entry still stand for the open folder? */
static bool is_in_place(const tj_disk_store *store, const scanned *one, int entry)
{
    const int now = open_entry(store, one);
    const bool is_same = now >= 0 && tj_fs_names(now, ".", entry);

    if (now >= 0)
        close(now);
    return is_same;
}

/* -1: the entry went away meanwhile. */
static int show(const tj_disk_store *store, const scanned *one, bool verify, tj_store_visit visit, void *payload)
{
    tj_store_entry shown = {
        .key = one->hex, .bytes = one->bytes, .hits = one->hits, .used_s = one->used_s, .is_read_only = one->root > 0};
    const char *damage = NULL;
    tj_stored stored;
    json_t *manifest;
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
        json_decref(manifest);
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
    shown.created_s = json_integer_value(json_object_get(manifest, "created"));
    shown.damage = damage;
    answer = visit(&shown, payload) != 0;
    free(path);
    json_decref(manifest);
    return answer;
}

static tj_status scan_all(const tj_disk_store *store, scan *all, tj_error *err)
{
    for (size_t i = 0; i < store->root_count; i++) {
        const tj_status status = scan_root(store, i, all, err);
        if (status != TJ_OK)
            return status;
    }
    if (all->count > 0)
        qsort(all->entry, all->count, sizeof *all->entry, by_use);
    return TJ_OK;
}

tj_status tj_disk_store_list(tj_disk_store *store, bool verify, tj_store_visit visit, void *payload, tj_error *err)
{
    scan all = {0};
    tj_status status = scan_all(store, &all, err);

    for (size_t i = 0; status == TJ_OK && i < all.count; i++)
        if (show(store, &all.entry[i], verify, visit, payload) == 1)
            break;
    free(all.entry);
    return status;
}

tj_status tj_disk_store_clear(tj_disk_store *store, bool only_damaged, int64_t *removed, tj_error *err)
{
    scan all = {0};
    char parent[8], name[32];
    const char *why;
    int64_t count = 0;
    tj_status status = scan_root(store, 0, &all, err);
    int root = status == TJ_OK && store->root[0] ? open_root(store, 0, &why) : -1;

    for (size_t i = 0; root >= 0 && i < all.count; i++) {
        if (only_damaged) {
            const int entry = open_entry(store, &all.entry[i]);
            tj_stored stored;
            const char *damage = entry >= 0 ? tj_entry_read(entry, NULL, &stored) : tj_entry_unknown;
            const bool stays = !damage || damage == tj_entry_unknown || !is_in_place(store, &all.entry[i], entry);
            if (!damage)
                tj_stored_drop(&stored);
            if (entry >= 0)
                close(entry);
            if (stays)
                continue;
        }
        entry_names(all.entry[i].hex, parent, name);
        remove_entry(root, parent, name);
        count++;
    }
    if (root >= 0) {
        sweep(root);
        close(root);
    }
    free(all.entry);
    pthread_mutex_lock(&store->lock);
    store->total_bytes = -1;
    pthread_mutex_unlock(&store->lock);
    if (removed)
        *removed = count;
    return status;
}

const char *tj_disk_store_path(const tj_disk_store *store)
{
    return store->root[0] ? store->root[0] : "";
}

const char *tj_disk_store_trouble(tj_disk_store *store)
{
    const char *why = NULL;
    char reason[TROUBLE_BYTES] = "";
    int root;

    if (!store->root[0])
        return "the disk is switched off, or no folder for it is known: set TILEJIT_CACHE_DIR";
    root = open_root(store, 0, &why);
    if (root >= 0) {
        if (faccessat(root, ".", W_OK | X_OK, AT_EACCESS) != 0)
            why = strerror(errno);
        close(root);
    } else if (!why) {
        why = parent_trouble(store->root[0]);
    }
    if (!why)
        return NULL;
    strncat(reason, store->root[0], 300);
    strcat(reason, ": ");
    strncat(reason, why, 150);
    pthread_mutex_lock(&store->lock);
    if (strcmp(store->trouble, reason) != 0) /* whoever has the text already may go on reading it */
        memcpy(store->trouble, reason, sizeof reason);
    pthread_mutex_unlock(&store->lock);
    return store->trouble;
}

int64_t tj_disk_store_max_bytes(const tj_disk_store *store)
{
    return store->max_bytes;
}

static size_t shared_fields(const json_t *manifest, const tj_key *key)
{
    size_t shared = 0;

    for (size_t i = 0; i < key->count; i++) {
        const char *found = tj_entry_key_field(manifest, key->field[i].name);
        shared += found && strcmp(found, key->field[i].value) == 0;
    }
    return shared;
}

/* Would a fetch hit? Whatever else is stored, and without counting as a use. */
static bool is_stored(const tj_disk_store *store, const tj_key *key)
{
    bool is_hit = false;

    for (size_t i = 0; i < store->root_count && !is_hit; i++) {
        scanned one = {.root = i};
        tj_stored stored;
        int entry;

        memcpy(one.hex, key->hex, sizeof one.hex);
        entry = store->root[i] ? open_entry(store, &one) : -1;
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
    scan all = {0};
    json_t *nearest = NULL;
    size_t most = 0;
    const bool is_hit = is_stored(store, key);
    tj_status status = is_hit ? TJ_OK : scan_all(store, &all, err);

    for (size_t i = 0; status == TJ_OK && i < all.count && i < EXPLAIN_MAX; i++) {
        const int entry = open_entry(store, &all.entry[i]);
        const char *damage;
        json_t *manifest = entry >= 0 ? tj_entry_manifest(entry, &damage) : NULL;
        const size_t shared = manifest ? shared_fields(manifest, key) : 0;

        if (manifest && (!nearest || shared > most)) {
            json_decref(nearest);
            nearest = json_incref(manifest);
            most = shared;
        }
        json_decref(manifest);
        if (entry >= 0)
            close(entry);
    }
    free(all.entry);
    if (status != TJ_OK)
        return status;
    *hit = is_hit;
    for (size_t i = 0; i < key->count; i++) {
        tj_store_field field = {.name = key->field[i].name, .wanted = key->field[i].value};
        if (is_hit)
            field.found = field.wanted;
        else if (nearest)
            field.found = tj_entry_key_field(nearest, field.name);
        field.is_equal = field.found && strcmp(field.found, field.wanted) == 0;
        visit(&field, payload);
    }
    json_decref(nearest);
    return TJ_OK;
}
