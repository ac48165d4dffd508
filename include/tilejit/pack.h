/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack.h: kernels that an application ships, in one read-only file.
 *
 * A pack holds images for given problems and targets, the tuning records that chose them, and the config that was chosen for
 * each problem. A context with a pack (tj_context_options.packs, pack_bytes) searches it before the store and before it opens
 * NVRTC: kernels in the pack need no NVRTC at all, whichever build of NVRTC compiled them. The same input gives the same bytes:
 * a pack holds no date and no path.
 *
 * tilejit pack makes packs with these calls.
 */
#ifndef TILEJIT_PACK_H
#define TILEJIT_PACK_H

#include <tilejit/config.h>
#include <tilejit/context.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tj_records; /* tuner.h */

/** A pack under construction. */
typedef struct tj_pack tj_pack;

/**
 * Begin a pack. Kernels are taken from the context's store, or compiled, which needs NVRTC and no GPU.
 *
 * records decide the configs of their problems, and are added to the pack; NULL: the records of the context's store.
 * Owned:   *pack belongs to the caller; tj_pack_free(). It borrows context and copies records.
 * NULL:    records and err may be NULL.
 * Threads: any.
 * Errors:  TJ_ERR_OUT_OF_MEMORY.
 */
TJ_API TJ_MUST_CHECK tj_status tj_pack_create(tj_context *context, const struct tj_records *records, tj_pack **pack,
                                              tj_error *err);

/** The form of packed kernels. The flags may be combined. */
enum {
    /**
     * Only machine code, without the source, the PTX and NVRTC's log, which are three quarters of the bytes. Such an image
     * serves only devices of exactly its target's compute capability; newer devices and the emulator, which need PTX, cannot
     * use it. The kernel's source stays private; the image is found by the 128-bit hash of the source, and the source itself is
     * not compared. No store accepts such an image.
     */
    TJ_PACK_STRIP = 1,
    /**
     * Without the kernels for operands that the chosen kernels cannot take, such as pointers that are aligned to one element. A
     * call with such operands is a miss, as without a pack, and fails if there is no NVRTC.
     */
    TJ_PACK_ALIGNED = 2,
    /**
     * Compressed by zlib, item by item, to a quarter of the bytes. libz.so.1 is opened to write and to read such a pack, and
     * reading a kernel takes a fraction of a millisecond more. The bytes are the same for the same zlib.
     */
    TJ_PACK_COMPRESS = 4
};

/**
 * Set the form of items added from then on: 0, the default, or a sum of these flags.
 * NULL:    only err may be NULL.
 * Threads: one, while no other thread adds to the pack.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: no such sum; TJ_ERR_UNSUPPORTED: there is no zlib on this machine.
 */
TJ_API TJ_MUST_CHECK tj_status tj_pack_set_form(tj_pack *pack, int32_t form, tj_error *err);

/** Free a pack under construction. NULL: accepted. */
TJ_API void tj_pack_free(tj_pack *pack);

/**
 * Add the kernels that a problem needs on a target such as "sm_90", or "compute_90" for newer devices and for the emulator: the
 * chosen kernel, those named by records of devices that the target serves, and for each of them the fallback for operands that
 * it cannot take, such as pointers aligned to one element (tj_pack_set_form). An item that the pack already holds is not added
 * again.
 *
 * config: a config that the application names; then only its kernel is added. NULL: the library's choice: a record of the GPU
 * model that the target stands for (tj_device_named), else one of another device that the target serves, else tj_choose
 * (tuner.h) for that model. A config whose kernel spills is replaced by another.
 * NULL:    config and err may be NULL.
 * Threads: any, several at once: then several kernels are compiled at a time, and the pack is the same.
 * Errors:  those of tj_generate and tj_image_obtain; TJ_ERR_INVALID_ARGUMENT also: not a target; TJ_ERR_UNSUPPORTED also: a
 *          target whose kernels are PTX alone cannot be stripped. On failure the pack is unchanged, or holds some of the
 *          kernels of this problem.
 */
TJ_API TJ_MUST_CHECK tj_status tj_pack_add(tj_pack *pack, const tj_problem *problem, const tj_config *config,
                                           const char *target, tj_error *err);

/**
 * Get the current bytes of the pack. Write them to a file, or keep them in the program (tj_context_options.pack_bytes).
 * Owned: *bytes belongs to the caller; free(). NULL: only err may be NULL. Threads: as tj_pack_add. Errors:
 *        TJ_ERR_OUT_OF_MEMORY.
 */
TJ_API TJ_MUST_CHECK tj_status tj_pack_print(tj_pack *pack, void **bytes, size_t *size, tj_error *err);

/** The kind of an item. */
typedef enum tj_pack_kind {
    TJ_PACK_IMAGE = 1,  /**< a compiled kernel */
    TJ_PACK_RECORD = 2, /**< a tuning record */
    TJ_PACK_CHOICE = 3  /**< the config that was chosen for a problem on a target */
} tj_pack_kind;

/** One item of a pack. Its text is valid during the visit only; "" if the item has none. */
typedef struct tj_pack_entry {
    size_t struct_size; /**< the library's: read no field beyond it */
    tj_pack_kind kind;
    const char *target;   /**< "sm_90"; "" for a record */
    const char *kernel;   /**< of an image */
    const char *problem;  /**< in one line */
    const char *config;   /**< in one line */
    const char *compiler; /**< of an image: version and build of NVRTC */
    const char *device;   /**< of a record */
    int64_t bytes;        /**< in the file */
    const char *request;  /**< 32 hex digits: with target, the key of the item; an item has the same request in every pack */
    const char *checksum; /**< 32 hex digits: two items with equal request and target are equal if their checksums are */
    const char *damage;   /**< the defect; NULL: none, every byte was read and compared */
    int32_t align; /**< of an image: required alignment of the operands in bytes; 0: that of their elements; -1: not stated, in
                        a pack of an older version. It distinguishes two kernels with the same name */
    int32_t is_stripped; /**< of an image: 1: machine code alone (TJ_PACK_STRIP) */
} tj_pack_entry;

/** Called for each item. Return 0 to go on, anything else to stop. */
typedef int (*tj_pack_visit)(const tj_pack_entry *entry, void *payload);

/**
 * Visit every item of a pack, in the order of the pack. Each item is read and verified.
 * NULL:    payload and err may be NULL.
 * Threads: any.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: the bytes are not a pack of this version, are compressed while there is no zlib, or are
 *          truncated or altered so that every item is in doubt; the message names the defect. TJ_ERR_OUT_OF_MEMORY.
 */
TJ_API TJ_MUST_CHECK tj_status tj_pack_list(const void *bytes, size_t size, tj_pack_visit visit, void *payload, tj_error *err);

/**
 * Put the images and records of a pack into the context's own store, as if they had been compiled and tuned here. Damaged items
 * are left out, with a warning to the log.
 * NULL:    unpacked (the number of items stored) and err may be NULL.
 * Threads: any.
 * Errors:  as tj_pack_list; TJ_ERR_IO: the store could not keep one of them; TJ_ERR_UNSUPPORTED: some are machine code alone
 *          (TJ_PACK_STRIP), which no store accepts; *unpacked receives the number of items that were stored.
 */
TJ_API TJ_MUST_CHECK tj_status tj_pack_unpack(tj_context *context, const void *bytes, size_t size, int64_t *unpacked,
                                              tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
