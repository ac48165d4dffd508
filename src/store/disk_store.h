/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_store: store and fetch files by key.
 *
 * An entry is a folder named after its key, so that a person can open it:
 *
 *     <root>/v1/<2 hex>/<30 hex>/kernel.cu  kernel.ptx  kernel.cubin  build.log  manifest.json  used
 *
 * A folder is filled under <root>/v1/tmp, fsynced, and renamed into place: readers see all of it or none. The loser of a race
 * keeps its own bytes. Every read compares the full key and the checksums; any mismatch is a miss, and removes the entry.
 * `used` is the one file that changes: a byte is appended per hit, so its size is the number of hits and its mtime the last
 * one, which the byte-bounded LRU uses.
 *
 * Nothing here can fail a request. Knows files; does not know CUDA, or the meaning of the bytes.
 */
#ifndef TJ_SRC_DISK_STORE_H
#define TJ_SRC_DISK_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tilejit/store.h>

#include "hash.h"
#include "json.h"
#include "log.h"

typedef struct tj_disk_store tj_disk_store;

/** One field of a key. Identity is all fields, names and values, in order, length-prefixed. */
typedef struct tj_key_field {
    const char *name, *value;
} tj_key_field;

enum { TJ_KEY_MAX_FIELDS = 12, TJ_STORE_MAX_FILES = 6 };

typedef struct tj_key {
    tj_key_field field[TJ_KEY_MAX_FIELDS]; /* borrowed text */
    size_t count;
    tj_hash128 hash;
    char hex[TJ_HASH_HEX_BYTES];
} tj_key;

/** Add one field. The text is borrowed and must live as long as the key. */
void tj_key_add(tj_key *key, const char *name, const char *value);

/** Compute hash and hex once all fields are in. */
void tj_key_seal(tj_key *key);

/** One file of an entry. */
typedef struct tj_blob {
    const char *name; /* "kernel.ptx" */
    const void *bytes;
    size_t size;
} tj_blob;

/** The result of a fetch: all files, each followed by a NUL that size does not count, and the facts stored with them. */
typedef struct tj_stored {
    tj_blob file[TJ_STORE_MAX_FILES];
    size_t count;
    const tj_json *facts;
    tj_json *document; /* owns the facts */
} tj_stored;

/**
 * Open a store over root (NULL or "": no disk, all fetches miss) and the read-only roots (NULL-terminated, may be NULL).
 * Creates nothing yet. Text is copied. NULL only when out of memory.
 */
tj_disk_store *tj_disk_store_create(const char *root, const char *const *read_only_roots, int64_t max_bytes, const tj_log *log);

/**
 * A store without a root of its own that reads all roots of another. It may outlive the other. NULL only when out of memory.
 */
tj_disk_store *tj_disk_store_create_reader(const tj_disk_store *other);
void tj_disk_store_free(tj_disk_store *store);

/** true: *stored is filled, release it with tj_stored_drop. false: a miss, whatever the reason. */
bool tj_disk_store_fetch(tj_disk_store *store, const tj_key *key, tj_stored *stored);
void tj_stored_drop(tj_stored *stored);

/** Publish an entry. facts is borrowed. Trouble is logged once and forgotten: the caller has the bytes anyway. */
void tj_disk_store_publish(tj_disk_store *store, const tj_key *key, const tj_blob *file, size_t count, const tj_json *facts);

/**
 * A small text in the folder of an entry, removed with it, such as a proof; the manifest's checksums do not cover it. attach:
 * replaces atomically, in the own root; false: there is no such entry, or it cannot be written. read_attached: malloc'ed, of
 * the first root that has it; NULL: none.
 */
bool tj_disk_store_attach(tj_disk_store *store, const tj_key *key, const char *name, const char *text);
char *tj_disk_store_read_attached(tj_disk_store *store, const tj_key *key, const char *name);

/** The entry was fetched but turned out to be unusable (the driver refused it): remove it, with one warning. */
void tj_disk_store_reject(tj_disk_store *store, const tj_key *key, const char *reason);

/**
 * Return the manifest of the most recently used entry whose key has the fields of wanted, whatever its other fields; NULL:
 * there is none. For callers that cannot know all of a key. All calls on one store must want fields of the same names. The
 * first one reads every manifest.
 */
tj_json *tj_disk_store_find(tj_disk_store *store, const tj_key *wanted);

/**
 * Advisory lock of one key across processes, so that one compiles while the others wait. Never needed for correctness:
 * waits at most wait_ms, and on any trouble answers -1, which is fine. Kernel-released (flock), never unlinked while
 * held. Unlock with tj_disk_store_unlock(the answer), -1 accepted.
 */
int tj_disk_store_lock(tj_disk_store *store, const tj_key *key, int wait_ms);
void tj_disk_store_unlock(int lock);

/**
 * Small texts next to the entries, such as facts about a compiler: disposable like them, in the own root only. read: malloc'ed,
 * NULL if there is none or the root is not to be trusted. write: replaces atomically; failures are ignored.
 */
char *tj_disk_store_read_note(tj_disk_store *store, const char *name);
void tj_disk_store_write_note(tj_disk_store *store, const char *name, const char *text);

/** Called for each text. Return 0 to go on, anything else to stop. Both are valid during the visit only. */
typedef int (*tj_text_visit)(const char *name, const char *text, void *payload);

/** Should the text of that name be read? Return anything but 0 for yes. */
typedef int (*tj_name_filter)(const char *name, void *payload);

/**
 * Texts kept next to the entries, each a file v1/<folder>/<name>, complete or absent. Unlike entries and notes they are not
 * disposable: the LRU does not see them. put: replaces atomically; on failure gives the reason. each: of the own root and the
 * read-only ones, in no order; stops when visit answers non-zero; a file that cannot be trusted or read is skipped with one
 * warning, and counted; TJ_ERR_IO: a root cannot be used, the others were visited. remove: of the own root; missing is fine.
 */
tj_status tj_disk_store_put_text(tj_disk_store *store, const char *folder, const char *name, const char *text, tj_error *err);
tj_status tj_disk_store_each_text(tj_disk_store *store, const char *folder, tj_name_filter filter, tj_text_visit visit,
                                  void *payload, int64_t *passed_over, tj_error *err);
void tj_disk_store_remove_text(tj_disk_store *store, const char *folder, const char *name);

/** Warn once about a text that was read and is malformed. */
void tj_disk_store_warn_text(tj_disk_store *store, const char *name, const char *reason);

/* The implementation of the public calls of <tilejit/store.h>. */
tj_status tj_disk_store_list(tj_disk_store *store, bool verify, tj_store_visit visit, void *payload, tj_error *err);
tj_status tj_disk_store_clear(tj_disk_store *store, bool only_damaged, int64_t *removed, tj_error *err);
const char *tj_disk_store_path(const tj_disk_store *store);
const char *tj_disk_store_trouble(tj_disk_store *store);
int64_t tj_disk_store_max_bytes(const tj_disk_store *store);

/** Compare key with the stored entry that shares the most fields (all: a hit). Visits every field. */
tj_status tj_disk_store_explain(tj_disk_store *store, const tj_key *key, int *hit, tj_store_explain_visit visit, void *payload,
                                tj_error *err);

#endif
