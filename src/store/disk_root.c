/* SPDX-License-Identifier: Apache-2.0 */
#include "disk_root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs.h"

void tj_disk_warn_once(tj_disk_store *store, const char *format, const char *what, const char *why)
{
    if (!atomic_flag_test_and_set(&store->has_warned))
        tj_log_line(&store->log, TJ_LOG_WARNING, format, what, why);
}

void tj_disk_entry_names(const char *hex, char parent[8], char name[32])
{
    memcpy(parent, "v1/", 3);
    memcpy(parent + 3, hex, 2);
    parent[5] = '\0';
    memcpy(name, hex + 2, 31);
}

void tj_disk_temporary(char path[80])
{
    char unique[64];

    tj_fs_unique_name(unique);
    (void)snprintf(path, 80, "v1/tmp/%s", unique);
}

/* ---- trust -------------------------------------------------------------------------------------------------------- */

/* CUBINs are code: a folder that others own or can write is refused, and so is a link, which others may redirect. */
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

int tj_disk_open_root(const tj_disk_store *store, size_t index, const char **why)
{
    int root;

    *why = NULL;
    if (!store->root[index])
        return -1;
    root = tj_fs_open_folder(AT_FDCWD, store->root[index]);
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

int tj_disk_make_root(tj_disk_store *store, const char **why)
{
    int root = tj_disk_open_root(store, 0, why);

    if (root < 0 && !*why) {
        if (tj_fs_make_path(store->root[0]) != 0) {
            *why = open_trouble(errno);
            return -1;
        }
        root = tj_disk_open_root(store, 0, why);
    }
    if (root >= 0 && (tj_fs_make_folder(root, "v1") != 0 || tj_fs_make_folder(root, "v1/tmp") != 0)) {
        *why = strerror(errno);
        close(root);
        root = -1;
    }
    return root;
}

bool tj_disk_remove_entry(int root, const char *parent, const char *name)
{
    char temporary[80];
    const int folder = tj_fs_open_folder(root, parent);
    bool is_gone;
    int cause;

    if (folder < 0)
        return errno == ENOENT;
    tj_disk_temporary(temporary);
    tj_fs_make_folder(root, "v1/tmp");
    is_gone = renameat(folder, name, root, temporary) == 0 ? tj_fs_remove_tree(root, temporary)
                                                           : errno == ENOENT && faccessat(root, "v1/tmp", F_OK, 0) == 0;
    cause = errno;
    close(folder);
    errno = cause;
    return is_gone;
}

/* ---- the store ---------------------------------------------------------------------------------------------------- */

/*
 * Make path absolute, and drop trailing slashes, which would follow a link. NULL with errno: ENOMEM, or the error of getcwd:
 * the working folder was removed, say.
 */
static char *absolute(const char *path)
{
    char here[PATH_MAX], *joined;
    size_t length;

    if (path[0] == '/')
        joined = strdup(path);
    else if (!getcwd(here, sizeof here))
        return NULL;
    else if (asprintf(&joined, "%s/%s", here, path) < 0)
        joined = NULL;
    if (!joined)
        errno = ENOMEM;
    for (length = joined ? strlen(joined) : 0; length > 1 && joined[length - 1] == '/'; length--)
        joined[length - 1] = '\0';
    return joined;
}

static tj_disk_store *make_store(int64_t max_bytes, const tj_log *log)
{
    tj_disk_store *store = calloc(1, sizeof *store);

    if (!store)
        return NULL;
    pthread_mutex_init(&store->lock, NULL);
    pthread_mutex_init(&store->index_lock, NULL);
    atomic_flag_clear(&store->has_warned);
    store->max_bytes = max_bytes;
    store->total_bytes = -1;
    if (log)
        store->log = *log;
    store->root_count = 1;
    return store;
}

tj_disk_store *tj_disk_store_create(const char *root, const char *const *read_only_roots, int64_t max_bytes, const tj_log *log)
{
    tj_disk_store *store = make_store(max_bytes, log);

    if (!store)
        goto fail;
    if (root && *root && !(store->root[0] = absolute(root))) {
        if (errno == ENOMEM)
            goto fail;
        store->no_root = "it is relative to a working folder that is gone: set TILEJIT_CACHE_DIR to an absolute path";
        tj_disk_warn_once(store, "the store %s is not used: %s", root, store->no_root);
    }
    for (size_t i = 0; read_only_roots && read_only_roots[i]; i++) {
        if (store->root_count == TJ_DISK_MAX_ROOTS) {
            tj_log_line(&store->log, TJ_LOG_WARNING, "only %d read-only stores are searched", TJ_DISK_MAX_ROOTS - 1);
            break;
        }
        if ((store->root[store->root_count] = absolute(read_only_roots[i])))
            store->root_count++;
        else if (errno == ENOMEM)
            goto fail;
        else
            tj_disk_warn_once(store, "the store %s is not used: %s", read_only_roots[i], "the working folder is gone");
    }
    return store;

fail:
    tj_disk_store_free(store);
    return NULL;
}

tj_disk_store *tj_disk_store_create_reader(const tj_disk_store *other)
{
    tj_disk_store *store = make_store(other->max_bytes, &other->log);

    for (size_t i = 0; store && i < other->root_count; i++) {
        if (!other->root[i])
            continue;
        if (!(store->root[store->root_count] = strdup(other->root[i]))) {
            tj_disk_store_free(store);
            return NULL;
        }
        store->root_count++;
    }
    return store;
}

void tj_disk_store_free(tj_disk_store *store)
{
    if (!store)
        return;
    for (size_t i = 0; i < store->root_count; i++)
        free(store->root[i]);
    pthread_mutex_destroy(&store->lock);
    pthread_mutex_destroy(&store->index_lock);
    free(store->index);
    free(store);
}

/* Return why a missing folder cannot be created, judged by its nearest existing parent. */
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

const char *tj_disk_store_path(const tj_disk_store *store)
{
    return store->root[0] ? store->root[0] : "";
}

const char *tj_disk_store_trouble(tj_disk_store *store)
{
    const char *why = NULL;
    char reason[TJ_DISK_TROUBLE_BYTES] = "";
    int root;

    if (!store->root[0] && store->no_root)
        return store->no_root;
    if (!store->root[0])
        return "the disk is switched off, or no folder for it is known: set TILEJIT_CACHE_DIR";
    root = tj_disk_open_root(store, 0, &why);
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
    if (strcmp(store->trouble, reason) != 0) /* another thread that has the text may go on reading it */
        memcpy(store->trouble, reason, sizeof reason);
    pthread_mutex_unlock(&store->lock);
    return store->trouble;
}

int64_t tj_disk_store_max_bytes(const tj_disk_store *store)
{
    return store->max_bytes;
}

int tj_disk_open_entry(const tj_disk_store *store, size_t index, const char *hex)
{
    char parent[8], name[32];
    const char *why;
    const int root = tj_disk_open_root(store, index, &why);
    int folder, entry;

    if (root < 0)
        return -1;
    tj_disk_entry_names(hex, parent, name);
    folder = tj_fs_open_folder(root, parent);
    close(root);
    if (folder < 0)
        return -1;
    entry = tj_fs_open_folder(folder, name);
    close(folder);
    return entry;
}
