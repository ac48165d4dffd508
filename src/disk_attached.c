/* SPDX-License-Identifier: Apache-2.0 */
/* disk_attached: small texts in the folders of entries. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "disk_root.h"
#include "fs.h"

enum { MAX_ATTACHED_BYTES = 16 * 1024 };

/* The open folder of an entry; -1: there is none. */
static int open_entry(tj_disk_store *store, size_t index, const tj_key *key, int *root)
{
    char parent[8], name[32];
    const char *why;
    int folder, entry = -1;

    *root = store->root[index] ? tj_disk_open_root(store, index, &why) : -1;
    if (*root < 0)
        return -1;
    tj_disk_entry_names(key->hex, parent, name);
    folder = tj_fs_open_folder(*root, parent);
    if (folder >= 0) {
        entry = tj_fs_open_folder(folder, name);
        close(folder);
    }
    if (entry < 0)
        close(*root);
    return entry;
}

bool tj_disk_store_attach(tj_disk_store *store, const tj_key *key, const char *name, const char *text)
{
    char temporary[80];
    int root, entry = store->root[0] ? open_entry(store, 0, key, &root) : -1;
    bool is_attached;

    if (entry < 0)
        return false;
    tj_disk_temporary(temporary);
    is_attached = tj_fs_write_new(root, temporary, text, strlen(text)) && renameat(root, temporary, entry, name) == 0;
    if (!is_attached)
        (void)unlinkat(root, temporary, 0);
    close(entry);
    close(root);
    return is_attached;
}

char *tj_disk_store_read_attached(tj_disk_store *store, const tj_key *key, const char *name)
{
    char *text = NULL;
    size_t size;

    for (size_t i = 0; i < store->root_count && !text; i++) {
        int root, entry = open_entry(store, i, key, &root);

        if (entry < 0)
            continue;
        if (!tj_fs_read(entry, name, MAX_ATTACHED_BYTES, &text, &size))
            text = NULL;
        close(entry);
        close(root);
    }
    return text;
}
