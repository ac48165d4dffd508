/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h: inspect and maintain the on-disk store.
 *
 * Only these calls report trouble with the store as a failure. All other calls treat it as a miss.
 */
#ifndef TILEJIT_STORE_H
#define TILEJIT_STORE_H

#include <tilejit/context.h>
#include <tilejit/image.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One stored image. Its text is valid during the visit only. */
typedef struct tj_store_entry {
    size_t struct_size;        /**< the library's: read no field beyond it */
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
    const char *damage;        /**< the defect; NULL: none was found */
} tj_store_entry;

/** Called for each entry. Return 0 to go on, anything else to stop. */
typedef int (*tj_store_visit)(const tj_store_entry *entry, void *payload);

/**
 * Visit every entry of the context's own store and of the read-only roots, most recently used first. With verify, every file is
 * read and its checksum compared. Changes nothing.
 * NULL: context and visit must not be NULL. Threads: any; other processes may use the store meanwhile.
 * Errors: TJ_ERR_IO: the folder exists and cannot be listed (the message names it and the reason). If the folder does not
 * exist, there are no entries.
 */
TJ_API TJ_MUST_CHECK tj_status tj_store_list(tj_context *context, int verify, tj_store_visit visit, void *payload,
                                             tj_error *err);

/**
 * Remove entries of the context's own store: all of them, or with only_damaged those that fail verification. Leftovers of
 * killed processes older than an hour are removed too. An entry that another process is reading stays readable for it.
 * NULL: removed (a count) and err may be NULL.
 * Errors: TJ_ERR_IO: some could not be removed; the message names their number, the first of them, and the reason. *removed
 * receives the number of entries that were removed.
 */
TJ_API TJ_MUST_CHECK tj_status tj_store_clear(tj_context *context, int only_damaged, int64_t *removed, tj_error *err);

/** Return the folder of the context's own store; "" if the disk is switched off. Owned: borrowed from context. */
TJ_API const char *tj_store_path(const tj_context *context);

/**
 * Return the reason why the context's own store is not in use ("folder is writable by others"), or NULL if it is in use. Owned:
 * borrowed from context.
 */
TJ_API const char *tj_store_trouble(tj_context *context);

/** Return the limit of the store's size, in bytes. */
TJ_API int64_t tj_store_max_bytes(const tj_context *context);

/** One field of the key: its value in the request, and in the nearest entry (NULL: there is no entry). */
typedef struct tj_store_field {
    size_t struct_size; /**< the library's: read no field beyond it */
    const char *name;   /**< "source", "options", "target", "compiler", "backend", "schema" */
    const char *wanted;
    const char *found;
    int is_equal;
} tj_store_field;

/** Possible results of tj_store_explain. */
enum { TJ_HIT_NONE = 0, TJ_HIT_STORE = 1, TJ_HIT_PACK = 2 };

typedef void (*tj_store_explain_visit)(const tj_store_field *field, void *payload);

/**
 * Find out whether a request would hit, and if not, why. Visits every field of the key, compared with the entry that shares the
 * most fields. Compiles nothing. The version of NVRTC is part of the key: without an NVRTC, the result is for the image that
 * tj_image_obtain would take. If there is none, the request is a miss whose options and compiler are not known: key is then "",
 * and a field "packs" states for each pack of the context why it does not fit. key points to 33 bytes, which receive the key;
 * *hit receives one of TJ_HIT_*. An image from a pack needs no NVRTC.
 * NULL: only err may be NULL.
 * Errors: those of tj_target_for, TJ_ERR_UNSUPPORTED (the target lacks what the source needs), TJ_ERR_IO.
 */
TJ_API TJ_MUST_CHECK tj_status tj_store_explain(tj_context *context, const tj_source *source, const char *target, char *key,
                                                int *hit, tj_store_explain_visit visit, void *payload, tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
