/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context: options resolved once, and what all stages share.
 */
#ifndef TJ_SRC_CONTEXT_H
#define TJ_SRC_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include <tilejit/tilejit.h>

#include "disk_store.h"
#include "driver.h"
#include "log.h"
#include "nvrtc.h"

struct tj_image_table; /* image_table.c */
struct tj_plan_table;  /* plan_table.c */
struct tj_chooser;     /* choose.c */
struct tj_background;  /* background.c */

struct tj_context {
    tj_log log;
    char *nvrtc_path, *driver_path, *dump_dir; /* NULL: default */
    int device;
    tj_specialize specialize;
    bool check_pointers;
    tj_prove prove;
    pid_t pid; /* of the process that made it */
    tj_disk_store *store;
    const char *why_no_store; /* of its own, in words; NULL: there is one */
    bool is_disk_off;         /* because the caller or the environment wants none */
    struct tj_image_table *images;
    struct tj_plan_table *plans;
    struct tj_chooser *chooser;
    struct tj_background *background; /* NULL: not asked for */
    pthread_mutex_t libraries;        /* held while a library is opened, never on a hit */
    _Atomic(const tj_nvrtc *) nvrtc;  /* NULL until first needed */
    _Atomic(const tj_driver *) driver;
    atomic_bool has_card;       /* of that NVRTC, in the store */
    _Atomic(CUcontext) primary; /* of device, retained by scope.c; NULL until needed */
    struct {
        _Atomic uint64_t memory_hits, store_hits, compiles, failures, loads, plans;
    } stats;
};

/** The library, opened on first use. A failure is not remembered: installing it and calling again works. */
tj_status tj_context_nvrtc(tj_context *context, const tj_nvrtc **nvrtc, tj_error *err);
tj_status tj_context_driver(tj_context *context, const tj_driver **driver, tj_error *err);

/** Do its kernels run on the emulator? Asked after the driver was, if it could be, opened. */
bool tj_context_is_emulated(const tj_context *context);

/** Write down what is known of the NVRTC that just compiled, so that the next process need not open it for a stored kernel. */
void tj_context_remember_nvrtc(tj_context *context);

/** TJ_ERR_FORKED if this is not the process that made the context. */
tj_status tj_context_check_process(const tj_context *context, tj_error *err);

struct tj_image_table *tj_image_table_create(void);
void tj_image_table_free(struct tj_image_table *table);
struct tj_plan_table *tj_plan_table_create(void);
void tj_plan_table_free(struct tj_plan_table *table);

/** Remove the image from memory and store: the driver refused it. */
void tj_image_reject(tj_context *context, const tj_image *image, const char *reason);

#endif
