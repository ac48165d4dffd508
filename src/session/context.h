/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context: a host, and its tables.
 */
#ifndef TJ_SESSION_CONTEXT_H
#define TJ_SESSION_CONTEXT_H

#include <tilejit/tools.h>

#include "host.h"
#include "pool.h"

struct tj_image_table; /* image_table.c */
struct tj_varying;     /* varying.c */
struct tj_missing;     /* missing.c */
struct tj_readers;     /* readers.h */
struct tj_plan_table;  /* plan_table.c */
struct tj_chooser;     /* chooser.c */
struct tj_background;  /* background.c */
struct tj_capture;     /* capture.c */

struct tj_context {
    tj_host host;
    tj_pool_rest pools; /* of tunings */
    tj_specialize specialize;
    bool check_pointers;
    tj_prove prove;
    const char *why_no_store; /* of its own, in words; NULL: there is one */
    bool is_disk_off;         /* because the caller or the environment wants none */
    struct tj_image_table *images;
    struct tj_plan_table *plans;
    struct tj_readers *readers; /* of those plans */
    struct tj_varying *varying;
    struct tj_missing *missing;
    tj_first_call first_call;
    struct tj_chooser *chooser;
    struct tj_background *background; /* NULL: not asked for */
    struct tj_capture *capture;       /* so too */
    struct {
        _Atomic uint64_t memory_hits, misses, replaced, evictions;
    } stats;
};

/**
 * The textbook's kernels for all shapes, in the pack that a build with NVRTC puts next to the library. *textbook belongs to the
 * caller, tj_packs_free(); NULL: there is no such pack. False: out of memory.
 */
bool tj_textbook_open(const tj_log *log, tj_packs **textbook);

/** most_bytes: of images; those that nobody uses leave when there are more. */
struct tj_image_table *tj_image_table_create(int64_t most_bytes);
void tj_image_table_free(struct tj_image_table *table);

/** As tj_image_obtain, but nothing is compiled: then *image is NULL, with TJ_OK. */
tj_status tj_image_recall(tj_context *context, const tj_source *source, const char *target, tj_image **image, tj_error *err);

/** Free a handle whose image leaves memory if nobody else has one; *image is then NULL. It stays in the store. */
void tj_image_let_go(tj_context *context, tj_image **image);

#endif
