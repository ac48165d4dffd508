/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_entry: one entry of the store: its files, its manifest, and whether to believe them.
 */
#ifndef TJ_SRC_STORE_ENTRY_H
#define TJ_SRC_STORE_ENTRY_H

#include "disk_store.h"

enum { TJ_STORE_SCHEMA = 1 };

/** What a read answers when this process lacks memory or descriptors: it says nothing about the entry, which must stay. */
extern const char tj_entry_unknown[];

/** Write all files of an entry and its manifest into the open, empty folder, and fsync them. errno says why not. */
bool tj_entry_write(int folder, const tj_key *key, const tj_blob *file, size_t count, const tj_json *facts);

/**
 * Read and verify the entry in the open folder. key NULL: whatever key it has. NULL on success; else a sentence on what is wrong,
 * and *stored is empty.
 */
const char *tj_entry_read(int folder, const tj_key *key, tj_stored *stored);

/** Read the manifest alone: to be freed; NULL with *damage set. The checksum, which fits, is taken out of it. */
tj_json *tj_entry_manifest(int folder, const char **damage);

/** The value of a key field in a manifest; NULL if it has none. Borrowed. */
const char *tj_entry_key_field(const tj_json *manifest, const char *name);

#endif
