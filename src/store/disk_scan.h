/* SPDX-License-Identifier: Apache-2.0 */
/* disk_scan: list the contents of a root. For the disk_*.c files alone. */
#ifndef TJ_SRC_DISK_SCAN_H
#define TJ_SRC_DISK_SCAN_H

#include "disk_store.h"

typedef struct tj_scanned {
    char hex[TJ_HASH_HEX_BYTES];
    size_t root;
    int64_t bytes, hits, used_s;
    long used_ns; /* nanoseconds of that second: many kernels may be used within one */
} tj_scanned;

typedef struct tj_scan {
    tj_scanned *entry; /* the caller frees it */
    size_t count, capacity;
    int64_t bytes;
    char unlisted[8]; /* the first folder of entries that could not be listed: "v1/ab"; "": none */
    int cause;        /* its errno */
} tj_scan;

/**
 * Add the entries of a root; a missing root has none. Errors: a folder cannot be listed; the caller must free all->entry then
 * too.
 */
tj_status tj_disk_scan_root(const tj_disk_store *store, size_t index, tj_scan *all, tj_error *err);

/** Sort the most recently used first. */
void tj_scan_sort(tj_scan *all);

/** Remove leftovers of killed processes from an open root. */
void tj_disk_sweep(int root);

#endif
