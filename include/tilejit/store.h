/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h: look into the on-disk store, and look after it.
 *
 * These calls are the only ones that report store trouble as failures: for everything else any trouble is a miss.
 */
#ifndef TILEJIT_STORE_H
#define TILEJIT_STORE_H

#include <tilejit/context.h>
#include <tilejit/image.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One stored image. Text is valid during the visit only. */
typedef struct tj_store_entry {
    const char *key;           /**< 32 hex digits */
    const char *path;          /**< its folder */
    const char *kernel;        /**< name of the kernel, "?" if the manifest cannot be read */
    const char *problem;       /**< the request in one line: "j512 k300 l700 f32 ..." */
    const char *config;        /**< one-line form */
    const char *target;        /**< "sm_90" */
    const char *compiler;      /**< NVRTC version and build */
    int64_t bytes;             /**< of all its files */
    int64_t hits;              /**< times it was read for a request */
    int64_t created_s, used_s; /**< seconds since 1970 */
    int is_read_only;          /**< from a read-only root */
    const char *damage;        /**< NULL: sound (as far as looked at); else what is wrong */
} tj_store_entry;

/** Return 0 to go on, anything else to stop. */
typedef int (*tj_store_visit)(const tj_store_entry *entry, void *payload);

/**
 * Visit every entry of the own store and the read-only roots, most recently used first. With verify, every file is
 * read and its checksum compared. Changes nothing.
 * NULL: context and visit must not be NULL. Threads: any; also beside other processes.
 * Errors: TJ_ERR_IO: the folder exists but cannot be listed (it and the reason are named). A missing folder is empty.
 */
TJ_API TJ_MUST_CHECK tj_status tj_store_list(tj_context *context, int verify, tj_store_visit visit, void *payload,
                                             tj_error *err);

/**
 * Remove entries of the own store: all, or (only_damaged) those that verification refuses; leftovers of killed
 * processes older than an hour go as well. Sound entries that another process is reading stay readable to it.
 * NULL: removed (a count) may be NULL.
 * Errors: TJ_ERR_IO: some could not be removed: how many, the first, and why. *removed counts those that are gone all the same.
 */
TJ_API TJ_MUST_CHECK tj_status tj_store_clear(tj_context *context, int only_damaged, int64_t *removed, tj_error *err);

/** The own store's folder; "" when the disk is off. Owned: borrowed from context. */
TJ_API const char *tj_store_path(const tj_context *context);

/** Why the own store is not in use ("folder is writable by others"), or NULL when it is. Owned: borrowed from context. */
TJ_API const char *tj_store_trouble(tj_context *context);

/** The size limit in bytes. */
TJ_API int64_t tj_store_max_bytes(const tj_context *context);

/** One field of the key: what the request has, and what the nearest entry has (NULL: there is no entry). */
typedef struct tj_store_field {
    const char *name; /**< "source", "options", "target", "compiler", "backend", "schema" */
    const char *wanted;
    const char *found;
    int is_equal;
} tj_store_field;

typedef void (*tj_store_explain_visit)(const tj_store_field *field, void *payload);

/**
 * Would this request hit, and if not, why? Visits every field of the key beside the entry that shares most of it.
 * Generates but compiles nothing. Without an NVRTC, whose version is part of the key, it answers for the image that would be taken
 * (tj_image_obtain); where there is none, it fails.
 * key receives 33 bytes; hit 1 or 0. NULL: only err may be NULL.
 * Errors: TJ_ERR_NO_COMPILER, TJ_ERR_IO.
 */
TJ_API TJ_MUST_CHECK tj_status tj_store_explain(tj_context *context, const tj_source *source, const char *target, char *key,
                                                int *hit, tj_store_explain_visit visit, void *payload, tj_error *err);

/**
 * Keep an image that another context compiled, a scratch one say, in the own store, as if it had been compiled in this one, which
 * has the same compiler. source: what it was compiled from. One that is there already stays. As with every image, trouble is logged
 * and is no error. NULL: none may be NULL. Threads: any.
 */
TJ_API void tj_store_put_image(tj_context *context, const tj_source *source, const tj_image *image);

/* ---- tuning records ----------------------------------------------------------------------------------------------- */

/** Return 0 to go on, anything else to stop. Both texts are valid during the visit only. */
typedef int (*tj_store_text_visit)(const char *name, const char *text, void *payload);

/**
 * Keep a tuning record: one file of the own store, published by renaming, in a folder that only its owner can write. It
 * is not subject to the size limit. Programs use tuner.h, which says what is in a record; this is what it stands on.
 * NULL: only err may be NULL. Threads: any; also beside other processes: the last writer of a name wins.
 * Errors: TJ_ERR_IO (no store, or what the file system said), TJ_ERR_INVALID_ARGUMENT (a name that is none).
 */
TJ_API TJ_MUST_CHECK tj_status tj_store_put_record(tj_context *context, const char *name, const char *text, tj_error *err);

/** Is the text of that name to be read? */
typedef int (*tj_store_name_filter)(const char *name, void *payload);

/**
 * Visit every record of the own store and the read-only roots whose name the filter lets pass, in no order. A file that others could
 * have written, or that cannot be read, is passed over with one warning; *passed_over counts them.
 * NULL: filter (all), passed_over and err may be NULL. Threads: any.
 * Errors: TJ_ERR_IO: a store is there and cannot be used (it and the reason are named); the others were visited all the same.
 */
TJ_API tj_status tj_store_visit_records(tj_context *context, tj_store_name_filter filter, tj_store_text_visit visit,
                                        void *payload, int64_t *passed_over, tj_error *err);

/** Forget one record of the own store; a missing one is fine. NULL: neither may be NULL. Threads: any. */
TJ_API void tj_store_remove_record(tj_context *context, const char *name);

/** Say, as a warning and every time, that a tuning's record was not kept and why. NULL: neither may be NULL. Threads: any. */
TJ_API void tj_store_warn_lost_record(tj_context *context, const char *reason);

/** Say once, as a warning, that a record is not used and why. NULL: none may be NULL. Threads: any. */
TJ_API void tj_store_warn_record(tj_context *context, const char *name, const char *reason);

#ifdef __cplusplus
}
#endif
#endif
