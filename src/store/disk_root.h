/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_root: the folders that a store lies in, and whether they may be trusted. For the disk_*.c files alone.
 */
#ifndef TJ_SRC_DISK_ROOT_H
#define TJ_SRC_DISK_ROOT_H

#include <pthread.h>
#include <stdatomic.h>

#include "disk_store.h"

enum { TJ_DISK_MAX_ROOTS = 16, TJ_DISK_TROUBLE_BYTES = 512 };

struct tj_disk_store {
    /* Absolute; root[0] is the own one, NULL: none. One more than MAX for a reader, which has all of another's behind that. */
    char *root[TJ_DISK_MAX_ROOTS + 1];
    size_t root_count;
    const char *no_root; /* why there is no own one; NULL: nobody asked for it */
    int64_t max_bytes;
    tj_log log;
    pthread_mutex_t lock; /* of what follows; not held across file work but for eviction */
    pthread_mutex_t index_lock;
    struct tj_disk_index *index; /* under index_lock; one block, of disk_find.c; NULL: not needed yet */
    int64_t total_bytes;         /* of the own root, approximate; -1: not counted yet */
    unsigned refusals;           /* publishes left to skip */
    char trouble[TJ_DISK_TROUBLE_BYTES];
    atomic_flag has_warned;
};

/** Log a warning, the first of this store only. format takes what and why. */
void tj_disk_warn_once(tj_disk_store *store, const char *format, const char *what, const char *why);

/** An open, trusted root, or -1 with *why (NULL: it does not exist, or there is no own one). */
int tj_disk_open_root(const tj_disk_store *store, size_t index, const char **why);

/** The own root, made if need be, with its inner folders; or -1 with *why. */
int tj_disk_make_root(tj_disk_store *store, const char **why);

/** "v1/ab" and "cdef..." of a key "abcdef...". */
void tj_disk_entry_names(const char *hex, char parent[8], char name[32]);

/** A path within a root that no other thread or process uses: what is filled there is then renamed into its place. */
void tj_disk_temporary(char path[80]);

/**
 * Remove an entry: out of the way in one step, so that no reader meets half of it; then gone. True: so it is, perhaps by another
 * process; false: errno says why not.
 */
bool tj_disk_remove_entry(int root, const char *parent, const char *name);

/** The open folder of the entry of that key in a root; -1: there is none, or the root cannot be used. */
int tj_disk_open_entry(const tj_disk_store *store, size_t index, const char *hex);

#endif
