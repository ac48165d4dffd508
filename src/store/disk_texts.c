/* SPDX-License-Identifier: Apache-2.0 */
/* disk_texts: notes and texts, small files next to the entries. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk_root.h"
#include "error.h"
#include "fs.h"

enum { MAX_TEXT_BYTES = 64 * 1024, MAX_NOTE_BYTES = 256 << 20, MAX_TEXT_NAME = 96 };

/* Replace a file atomically: readers see the old file or the new one. On failure errno is set. */
static bool replace_file(int root, const char *path, const char *text)
{
    char temporary[80];
    int cause;

    tj_disk_temporary(temporary);
    if (tj_fs_write_new(root, temporary, text, strlen(text)) && renameat(root, temporary, root, path) == 0)
        return true;
    cause = errno;
    (void)unlinkat(root, temporary, 0);
    errno = cause;
    return false;
}

/* ---- notes -------------------------------------------------------------------------------------------------------- */

char *tj_disk_store_read_note(tj_disk_store *store, const char *name)
{
    char path[128], *text = NULL;
    const char *why;
    size_t size;
    int root = tj_disk_open_root(store, 0, &why);

    if (root < 0)
        return NULL;
    if (snprintf(path, sizeof path, "v1/%s", name) >= (int)sizeof path || !tj_fs_read(root, path, MAX_NOTE_BYTES, &text, &size))
        text = NULL;
    close(root);
    return text;
}

void tj_disk_store_write_note(tj_disk_store *store, const char *name, const char *text)
{
    char path[128];
    const char *why;
    int root = store->root[0] ? tj_disk_make_root(store, &why) : -1;

    if (root < 0)
        return;
    if (snprintf(path, sizeof path, "v1/%s", name) < (int)sizeof path)
        (void)replace_file(root, path, text);
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
    char parent[64], path[64 + MAX_TEXT_NAME];
    const char *why = "the disk is switched off: name a folder by option cache_dir or TILEJIT_CACHE_DIR";
    int root;

    if (!is_text_name(name))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "\"%.80s\" is not a name for a stored text: use lower-case letters, digits, - . _", name);
    root = store->root[0] ? tj_disk_make_root(store, &why) : -1;
    if (root < 0)
        return tj_fail(err, TJ_ERR_IO, "cannot keep %s: %s", name, why);
    (void)snprintf(parent, sizeof parent, "v1/%s", folder);
    (void)snprintf(path, sizeof path, "v1/%s/%s", folder, name);
    if (tj_fs_make_folder(root, parent) == 0 && replace_file(root, path, text)) {
        close(root);
        return TJ_OK;
    }
    (void)tj_fail(err, TJ_ERR_IO, "cannot keep %s in %s: %s", name, store->root[0], strerror(errno));
    close(root);
    return TJ_ERR_IO;
}

/*
 * Warn why tj_fs_read refused a file, with the remedy: path is the store's folder. cause: its errno; EINVAL says "not to be
 * trusted".
 */
static void warn_refused(tj_disk_store *store, const char *path, int folder, const char *name, int cause)
{
    char reason[PATH_MAX + 512];
    struct stat facts;

    if (cause != EINVAL || fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) != 0)
        (void)snprintf(reason, sizeof reason, "%s", strerror(cause));
    else if (facts.st_uid != geteuid() && facts.st_uid != 0)
        (void)snprintf(reason, sizeof reason, "it belongs to another user: chown or remove %s/%s", path, name);
    else if (facts.st_mode & (S_IWGRP | S_IWOTH))
        (void)snprintf(reason, sizeof reason, "its mode is %o, so others can write to it: chmod go-w %s/%s",
                       facts.st_mode & 07777U, path, name);
    else
        (void)snprintf(reason, sizeof reason, "it is not a regular file of at most %d bytes", MAX_TEXT_BYTES);
    tj_disk_store_warn_text(store, name, reason);
}

/* Visit all texts of one folder; true: go on with the next root. */
static bool visit_texts(tj_disk_store *store, const char *path, int folder, tj_name_filter filter, tj_text_visit visit,
                        void *payload, int64_t *passed_over)
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

        if (!is_text_name(file->d_name) || (filter && !filter(file->d_name, payload)))
            continue;
        if (!tj_fs_read(dirfd(list), file->d_name, MAX_TEXT_BYTES, &text, &size)) {
            if (errno == ENOENT) /* removed since it was listed */
                continue;
            warn_refused(store, path, dirfd(list), file->d_name, errno);
            (*passed_over)++;
            continue;
        }
        goes_on = visit(file->d_name, text, payload) == 0;
        free(text);
    }
    closedir(list);
    return goes_on;
}

/* Open the folder of texts of one root; -1 without *why: there is none. */
static int open_texts(const tj_disk_store *store, size_t index, const char *path, const char **why)
{
    const int root = tj_disk_open_root(store, index, why);
    int folder;

    if (root < 0)
        return -1;
    folder = tj_fs_open_folder(root, path);
    if (folder < 0 && errno != ENOENT)
        *why = strerror(errno);
    close(root);
    return folder;
}

tj_status tj_disk_store_each_text(tj_disk_store *store, const char *folder, tj_name_filter filter, tj_text_visit visit,
                                  void *payload, int64_t *passed_over, tj_error *err)
{
    tj_status status = TJ_OK;
    bool goes_on = true;
    char path[64], whole[PATH_MAX];

    *passed_over = 0;
    (void)snprintf(path, sizeof path, "v1/%s", folder);
    for (size_t i = 0; goes_on && i < store->root_count; i++) {
        const char *why = NULL;
        const int fd = open_texts(store, i, path, &why);

        if (why) {
            tj_disk_warn_once(store, "the store %s is not used: %s", store->root[i], why);
            status = tj_fail(err, TJ_ERR_IO, "the store %s is not used: %s", store->root[i], why);
        }
        if (fd < 0)
            continue;
        (void)snprintf(whole, sizeof whole, "%s/%s", store->root[i], path);
        goes_on = visit_texts(store, whole, fd, filter, visit, payload, passed_over);
    }
    return status;
}

void tj_disk_store_remove_text(tj_disk_store *store, const char *folder, const char *name)
{
    char path[64 + MAX_TEXT_NAME];
    const char *why;
    int root = is_text_name(name) ? tj_disk_open_root(store, 0, &why) : -1;

    if (root < 0)
        return;
    (void)snprintf(path, sizeof path, "v1/%s/%s", folder, name);
    (void)unlinkat(root, path, 0);
    close(root);
}

void tj_disk_store_warn_text(tj_disk_store *store, const char *name, const char *reason)
{
    tj_disk_warn_once(store, "the stored text %s is not used: %s", name, reason);
}
