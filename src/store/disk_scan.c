/* SPDX-License-Identifier: Apache-2.0 */
#include "disk_scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "disk_root.h"
#include "error.h"
#include "fs.h"

enum { STALE_SECONDS = 3600 }; /* the creator of a temporary folder this old is dead */

static bool is_hex(const char *name, size_t length)
{
    return strlen(name) == length && strspn(name, "0123456789abcdef") == length;
}

static bool scan_add(tj_scan *all, const tj_scanned *one)
{
    if (all->count == all->capacity) {
        const size_t capacity = all->capacity ? 2 * all->capacity : 64;
        tj_scanned *larger = realloc(all->entry, capacity * sizeof *larger);
        if (!larger)
            return false;
        all->entry = larger;
        all->capacity = capacity;
    }
    all->entry[all->count++] = *one;
    all->bytes += one->bytes;
    return true;
}

/* NULL: it does not exist, or cannot be listed. */
static DIR *list_folder(int parent, const char *name)
{
    const int fd = tj_fs_open_folder(parent, name);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    const int cause = errno;

    if (fd >= 0 && !folder)
        close(fd);
    errno = cause;
    return folder;
}

static void scan_entry(int parent, const char *name, tj_scanned *out)
{
    DIR *folder = list_folder(parent, name);
    const struct dirent *file;
    struct stat facts;

    if (!folder)
        return;
    while ((file = readdir(folder))) {
        if (fstatat(dirfd(folder), file->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(facts.st_mode))
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

/* Every folder of the form v1/<2 hex>/<30 hex>: nothing else in a root is ours. */
tj_status tj_disk_scan_root(const tj_disk_store *store, size_t index, tj_scan *all, tj_error *err)
{
    const struct dirent *outer, *inner;
    const char *why;
    int root, v1;
    DIR *folder;

    root = tj_disk_open_root(store, index, &why);
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
        DIR *entries = is_hex(outer->d_name, 2) ? list_folder(v1, outer->d_name) : NULL;

        if (!entries && is_hex(outer->d_name, 2) && errno != ENOENT && errno != ENOTDIR && !all->unlisted[0]) {
            all->cause = errno;
            (void)snprintf(all->unlisted, sizeof all->unlisted, "v1/%.2s", outer->d_name);
        }
        while (entries && (inner = readdir(entries))) {
            tj_scanned one = {.root = index};
            if (!is_hex(inner->d_name, 30))
                continue;
            memcpy(one.hex, outer->d_name, 2);
            memcpy(one.hex + 2, inner->d_name, 31);
            scan_entry(dirfd(entries), inner->d_name, &one);
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
    const tj_scanned *x = a, *y = b;

    if (x->used_s != y->used_s)
        return x->used_s < y->used_s ? 1 : -1;
    if (x->used_ns != y->used_ns)
        return x->used_ns < y->used_ns ? 1 : -1;
    return strcmp(x->hex, y->hex);
}

void tj_scan_sort(tj_scan *all)
{
    if (all->count > 0)
        qsort(all->entry, all->count, sizeof *all->entry, by_use);
}

void tj_disk_sweep(int root)
{
    DIR *folder = list_folder(root, "v1/tmp");
    const struct dirent *entry;
    struct stat facts;

    if (!folder)
        return;
    while ((entry = readdir(folder)))
        if (entry->d_name[0] != '.' && fstatat(dirfd(folder), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
            facts.st_mtime < time(NULL) - STALE_SECONDS)
            tj_fs_remove_tree(dirfd(folder), entry->d_name);
    closedir(folder);
}
