/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_root: the folders of a store, and whether they can be trusted. For the disk_*.c files alone.
 */
#ifndef TJ_SRC_DISK_ROOT_H
#define TJ_SRC_DISK_ROOT_H

#include <pthread.h>
#include <stdatomic.h>

#include "disk_store.h"

enum { TJ_DISK_MAX_ROOTS = 16, TJ_DISK_TROUBLE_BYTES = 512 };

struct tj_disk_store {
    /* Absolute; root[0] is the store's own, NULL: none. One more than MAX for a reader: all roots of another store follow. */
    char *root[TJ_DISK_MAX_ROOTS + 1];
    size_t root_count;
    const char *no_root; /* why there is no own root; NULL: none was requested */
    int64_t max_bytes;
    tj_log log;
    pthread_mutex_t lock; /* guards the members below; not held during file work, except eviction */
    pthread_mutex_t index_lock;
    struct tj_disk_index *index; /* guarded by index_lock; one block, of disk_find.c; NULL: not needed yet */
    int64_t total_bytes;         /* of the own root, approximate; -1: not counted yet */
    unsigned refusals;           /* publishes left to skip */
    char trouble[TJ_DISK_TROUBLE_BYTES];
    atomic_flag has_warned;
};

/** Log a warning, only the first of this store. format takes what and why. */
void tj_disk_warn_once(tj_disk_store *store, const char *format, const char *what, const char *why);

/** Open a trusted root; -1 with *why (NULL: it does not exist, or there is no own root). */
int tj_disk_open_root(const tj_disk_store *store, size_t index, const char **why);

/** Open the own root, created if needed with its inner folders; -1 with *why. */
int tj_disk_make_root(tj_disk_store *store, const char **why);

/** Split a key "abcdef..." into "v1/ab" and "cdef...". */
void tj_disk_entry_names(const char *hex, char parent[8], char name[32]);

/** Make a path within a root that no other thread or process uses, to fill a folder there and rename it into place. */
void tj_disk_temporary(char path[80]);

/**
 * Remove an entry: rename it away first, so that no reader sees half of it. True: it is gone, perhaps removed by another
 * process; false: errno says why not.
 */
bool tj_disk_remove_entry(int root, const char *parent, const char *name);

/** Open the folder of a key's entry in a root; -1: there is none, or the root cannot be used. */
int tj_disk_open_entry(const tj_disk_store *store, size_t index, const char *hex);

#endif
