/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image.h: source -> PTX and CUBIN, by NVRTC, with or without the store.
 */
#ifndef TILEJIT_IMAGE_H
#define TILEJIT_IMAGE_H

#include <tilejit/context.h>
#include <tilejit/source.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A compiled source. Immutable; share it freely between threads. */
typedef struct tj_image tj_image;

/** Where an image came from. */
typedef enum tj_origin { TJ_FROM_MEMORY = 1, TJ_FROM_STORE = 2, TJ_FROM_COMPILER = 3 } tj_origin;

/** What ptxas said. -1: not known (PTX only). */
typedef struct tj_resources {
    int32_t registers;                 /**< per thread */
    int32_t shared_bytes;              /**< static, per block */
    int32_t stack_bytes;               /**< local memory frame, per thread */
    int32_t spill_stores, spill_loads; /**< bytes, per thread */
    int32_t constant_bytes;            /**< bank 0, parameters included */
} tj_resources;

/**
 * Compile for a target, without looking into any store. Needs NVRTC; needs no GPU and no driver.
 *
 * target is "sm_90", "sm_90a" and so on: PTX and CUBIN come back; or "compute_90": PTX alone.
 * Runs on a thread of the library's own with a 16 MiB stack; the caller waits. A child that is forked while any thread of
 * its parent compiles cannot compile any more, with a context of its own neither: it gets TJ_ERR_FORKED.
 *
 * Owned:   *image belongs to the caller; tj_image_free().
 * NULL:    only err may be NULL.
 * Threads: any; compiles of different threads run in parallel.
 * Errors:  TJ_ERR_NO_COMPILER (what was tried, and the remedy), TJ_ERR_INVALID_ARGUMENT (a target this NVRTC does not
 *          know; the message lists those it does), TJ_ERR_UNSUPPORTED (the text copies asynchronously, and the
 *          target is before sm_80), TJ_ERR_COMPILE (the first error of the log is in the message), TJ_ERR_FORKED,
 *          TJ_ERR_CANCELLED (the process is exiting), TJ_ERR_OUT_OF_MEMORY. On failure *image is NULL, but for TJ_ERR_COMPILE: then it is an image
 *          that holds the log only.
 */
TJ_API TJ_MUST_CHECK tj_status tj_compile(tj_context *context, const tj_source *source, const char *target, tj_image **image,
                                          tj_error *err);

/**
 * The same through memory and the stores: compiled at most once per process for a key, at most once per store if it
 * can be written. Trouble with a store never fails the call.
 * Without an NVRTC an image that any NVRTC stored for the same source and target is taken.
 * Owned, NULL, Threads, Errors: as tj_compile. A second thread that asks for a key being compiled waits for the first.
 */
TJ_API TJ_MUST_CHECK tj_status tj_image_obtain(tj_context *context, const tj_source *source, const char *target,
                                               tj_image **image, tj_error *err);

/** Drop one reference. NULL: accepted. */
TJ_API void tj_image_free(tj_image *image);

/** PTX text, NUL-terminated, and its length without the NUL. Owned: borrowed. NULL: bytes may be NULL. */
TJ_API const char *tj_image_ptx(const tj_image *image, size_t *bytes);

/** CUBIN; NULL for a "compute_" target. Owned: borrowed. NULL: bytes may be NULL. */
TJ_API const void *tj_image_cubin(const tj_image *image, size_t *bytes);

/** The compiler's log, possibly "". Owned: borrowed. */
TJ_API const char *tj_image_log(const tj_image *image);

/** "sm_90". Owned: borrowed. */
TJ_API const char *tj_image_target(const tj_image *image);

/** The key as 32 hex digits. Owned: borrowed. */
TJ_API const char *tj_image_key(const tj_image *image);

/** NVRTC that made it, "13.0" and its build, such as "13.0 V13.0.88". Owned: borrowed. */
TJ_API const char *tj_image_compiler(const tj_image *image);

TJ_API tj_origin tj_image_origin(const tj_image *image);
TJ_API tj_resources tj_image_resources(const tj_image *image);

/**
 * The best target for a device: its own sm_XX if this NVRTC knows it (on the emulator, which reads PTX alone, compute_XX), else
 * the newest "compute_XX" below it. Without an NVRTC it is the device's own: images that are stored for it run. target takes 16 bytes. NULL: only err may be NULL.
 * Errors: TJ_ERR_INVALID_ARGUMENT (no compute capability), TJ_ERR_UNSUPPORTED (a device older than all
 * that this NVRTC serves, or one so new that it needs PTX, which is newer than the driver; the message names both),
 * TJ_ERR_FORKED.
 */
TJ_API TJ_MUST_CHECK tj_status tj_target_for(tj_context *context, int cc_major, int cc_minor, char *target, tj_error *err);

/**
 * The targets NVRTC knows ("sm_75", ...), as one NULL-terminated array. Owned: borrowed from context.
 * NULL: only err may be NULL. Errors: TJ_ERR_NO_COMPILER, TJ_ERR_FORKED.
 */
TJ_API TJ_MUST_CHECK tj_status tj_targets(tj_context *context, const char *const **targets, tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
