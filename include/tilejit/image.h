/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image.h: compile a source to PTX and CUBIN with NVRTC, with or without the store.
 */
#ifndef TILEJIT_IMAGE_H
#define TILEJIT_IMAGE_H

#include <tilejit/context.h>
#include <tilejit/source.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A compiled source. It never changes, and threads may share it. */
typedef struct tj_image tj_image;

/** The origin of an image. */
typedef enum tj_origin {
    TJ_FROM_MEMORY = 1,
    TJ_FROM_STORE = 2,
    TJ_FROM_COMPILER = 3,
    TJ_FROM_PACK = 4,
    TJ_FROM_REMOTE = 5
} tj_origin;

/** The report of ptxas. -1: unknown (PTX only). */
typedef struct tj_resources {
    int32_t registers;                 /**< per thread */
    int32_t shared_bytes;              /**< static, per block */
    int32_t stack_bytes;               /**< local memory frame, per thread */
    int32_t spill_stores, spill_loads; /**< bytes, per thread */
    int32_t constant_bytes;            /**< bank 0, parameters included */
} tj_resources;

/**
 * Compile a source for a target, without searching any store. This needs NVRTC, but neither a GPU nor a driver.
 *
 * target names a real architecture, such as "sm_90" or "sm_90a", which gives PTX and CUBIN, or a virtual one, such as
 * "compute_90", which gives PTX alone. A source that needs features that only "sm_90a" has is compiled for "sm_90a" instead of
 * "sm_90". The compile runs on a thread of the library, with a stack of 16 MiB, while the caller waits. A child that was forked
 * while a thread of its parent was compiling can never compile, not even in a context of its own: it gets TJ_ERR_FORKED.
 *
 * Owned:   *image belongs to the caller; tj_image_free().
 * NULL:    only err may be NULL.
 * Threads: any; compiles of different threads run in parallel.
 * Errors:  TJ_ERR_NO_COMPILER (the places tried, and the remedy), TJ_ERR_INVALID_ARGUMENT (a target that this NVRTC does not
 *          know; the message lists the known targets), TJ_ERR_UNSUPPORTED (the target lacks a feature that the source needs),
 *          TJ_ERR_COMPILE (the first error of the log is in the message), TJ_ERR_FORKED, TJ_ERR_CANCELLED (the process is
 *          exiting), TJ_ERR_OUT_OF_MEMORY. On failure *image is NULL, except after TJ_ERR_COMPILE: then *image is an image that
 *          holds only the log.
 */
TJ_API TJ_MUST_CHECK tj_status tj_compile(tj_context *context, const tj_source *source, const char *target, tj_image **image,
                                          tj_error *err);

/**
 * Get the image of a source for a target: search memory, the packs and the stores, and compile it if they do not have it. For
 * an image in a pack NVRTC is not even opened. A key is compiled at most once per process, and at most once per store if the
 * store can be written; a thread that requests a key that another thread is compiling waits for that compile. Trouble with a
 * store never fails the call. Without an NVRTC, the call takes an image that any NVRTC stored for the same source and target.
 * Owned, NULL, Threads, Errors: as tj_compile.
 */
TJ_API TJ_MUST_CHECK tj_status tj_image_obtain(tj_context *context, const tj_source *source, const char *target,
                                               tj_image **image, tj_error *err);

/**
 * Serialise an image, for an application that stores its images itself. The bytes hold the source, its key, PTX, CUBIN, log and
 * resources, under checksums, and are a pack of one image: tilejit pack list shows them. The same image gives the same bytes.
 * Owned:   *bytes belongs to the caller; free().
 * NULL:    only err may be NULL.
 * Threads: any.
 * Errors:  TJ_ERR_INVALID_ARGUMENT (the image was compiled from another source), TJ_ERR_OUT_OF_MEMORY.
 */
TJ_API TJ_MUST_CHECK tj_status tj_image_to_bytes(const tj_source *source, const tj_image *image, void **bytes, size_t *size,
                                                 tj_error *err);

/**
 * Restore the image of this source for the named target, such as "sm_90", from bytes of tj_image_to_bytes or tilejit pack,
 * compiled by any NVRTC. Nothing is compiled, opened or stored. The bytes are verified: truncated or altered bytes are refused.
 * They are not needed after the call. They are code, so keep them in a place where nobody else can write.
 * Owned:   *image belongs to the caller; tj_image_free().
 * NULL:    only err may be NULL.
 * Threads: any.
 * Errors:  TJ_ERR_INVALID_ARGUMENT (the defect of the bytes), TJ_ERR_NOT_FOUND (no image of this source and target is in them),
 *          TJ_ERR_OUT_OF_MEMORY. On failure *image is NULL.
 */
TJ_API TJ_MUST_CHECK tj_status tj_image_from_bytes(const tj_source *source, const char *target, const void *bytes, size_t size,
                                                   tj_image **image, tj_error *err);

/** Release the caller's reference to an image. NULL: accepted. */
TJ_API void tj_image_free(tj_image *image);

/**
 * Return the PTX, NUL-terminated; *bytes receives its length without the NUL. "" for an image of a stripped pack (pack.h).
 * Owned: borrowed. NULL: bytes may be NULL.
 */
TJ_API const char *tj_image_ptx(const tj_image *image, size_t *bytes);

/** Return the CUBIN; NULL for a "compute_" target. Owned: borrowed. NULL: bytes may be NULL. */
TJ_API const void *tj_image_cubin(const tj_image *image, size_t *bytes);

/** Return the compiler's log; "" if it is empty, and for an image of a stripped pack. Owned: borrowed. */
TJ_API const char *tj_image_log(const tj_image *image);

/** The target, such as "sm_90". Owned: borrowed. */
TJ_API const char *tj_image_target(const tj_image *image);

/** The key as 32 hex digits. Owned: borrowed. */
TJ_API const char *tj_image_key(const tj_image *image);

/** The version and build of the NVRTC that made it, such as "13.0 V13.0.88". Owned: borrowed. */
TJ_API const char *tj_image_compiler(const tj_image *image);

/** Return the pack that the image is from: a path, or "pack in memory"; NULL: it is not from a pack. Owned: borrowed. */
TJ_API const char *tj_image_pack(const tj_image *image);

TJ_API tj_origin tj_image_origin(const tj_image *image);
TJ_API tj_resources tj_image_resources(const tj_image *image);

/**
 * Get the best target for a device: its own "sm_XX" if this NVRTC knows it ("compute_XX" on the emulator, which reads PTX
 * alone), or else the newest "compute_XX" below it. Without an NVRTC it is the device's own target, for which stored images may
 * exist. target points to 16 bytes, which receive the name.
 * NULL: only err may be NULL.
 * Errors: TJ_ERR_INVALID_ARGUMENT (not a compute capability), TJ_ERR_FORKED, TJ_ERR_UNSUPPORTED: the device is older than all
 * targets of this NVRTC; or it is so new that it needs PTX, and this NVRTC's PTX is newer than the driver (the message names
 * both versions).
 */
TJ_API TJ_MUST_CHECK tj_status tj_target_for(tj_context *context, int cc_major, int cc_minor, char *target, tj_error *err);

/**
 * List the targets that NVRTC knows ("sm_75", ...), as one NULL-terminated array. Owned: borrowed from context.
 * NULL: only err may be NULL. Errors: TJ_ERR_NO_COMPILER, TJ_ERR_FORKED.
 */
TJ_API TJ_MUST_CHECK tj_status tj_targets(tj_context *context, const char *const **targets, tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
