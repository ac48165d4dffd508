/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_entry: one entry of the store: its files, its manifest, and whether to trust them.
 */
#ifndef TJ_SRC_STORE_ENTRY_H
#define TJ_SRC_STORE_ENTRY_H

#include "disk_store.h"

enum { TJ_STORE_SCHEMA = 1 };

/** The result of a read when this process lacks memory or descriptors: it says nothing about the entry, which must stay. */
extern const char tj_entry_unknown[];

/** Write all files of an entry and its manifest into the open, empty folder, and fsync them. On failure errno is set. */
bool tj_entry_write(int folder, const tj_key *key, const tj_blob *file, size_t count, const tj_json *facts);

/**
 * Read and verify the entry in the open folder. key NULL: any key. NULL on success; else a sentence with the defect, and
 * *stored is empty.
 */
const char *tj_entry_read(int folder, const tj_key *key, tj_stored *stored);

/** Read the manifest alone; the caller frees it. NULL: *damage is set. The checksum was verified and removed. */
tj_json *tj_entry_manifest(int folder, const char **damage);

/** Return the value of a key field in a manifest; NULL if it has none. Borrowed. */
const char *tj_entry_key_field(const tj_json *manifest, const char *name);

#endif
