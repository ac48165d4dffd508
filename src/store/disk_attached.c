/* SPDX-License-Identifier: Apache-2.0 */
/* disk_attached: small texts in the folders of entries. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "disk_root.h"
#include "fs.h"

enum { MAX_ATTACHED_BYTES = 16 * 1024 };

bool tj_disk_store_attach(tj_disk_store *store, const tj_key *key, const char *name, const char *text)
{
    char temporary[80];
    const char *why;
    const int entry = tj_disk_open_entry(store, 0, key->hex), root = entry >= 0 ? tj_disk_open_root(store, 0, &why) : -1;
    bool is_attached;

    if (root < 0) {
        if (entry >= 0)
            close(entry);
        return false;
    }
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
        const int entry = tj_disk_open_entry(store, i, key->hex);

        if (entry < 0)
            continue;
        if (!tj_fs_read(entry, name, MAX_ATTACHED_BYTES, &text, &size))
            text = NULL;
        close(entry);
    }
    return text;
}
