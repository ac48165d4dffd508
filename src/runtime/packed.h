/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed: the meaning of the items of a pack.
 *
 *     image    found by its source, for a target; all fields of its key, its files and facts. A stripped one has neither its
 *              source nor its PTX: it is found by the hash of the one, and has a CUBIN
 *     record   found by the key of a tuning record
 *     choice   found by a problem, for a target: the config that was chosen when the pack was made
 */
#ifndef TJ_RUNTIME_PACKED_H
#define TJ_RUNTIME_PACKED_H

#include "image.h"

enum { TJ_PACKED_IMAGE = 1, TJ_PACKED_RECORD = 2, TJ_PACKED_CHOICE = 3 };

/** The requests (keys) of an image of a source, of a record, and of the choice for a problem. */
tj_hash128 tj_packed_image_request(const char *source_text);
tj_hash128 tj_packed_record_request(const char *key);
tj_hash128 tj_packed_choice_request(const tj_problem *problem);

/** The device that an image of a pack must serve. On the emulator any PTX for its compute capability does. */
typedef struct tj_packed_reader {
    int number; /* 90 */
    bool is_emulated;
} tj_packed_reader;

tj_packed_reader tj_packed_reader_of(const tj_host *host, const tj_device_facts *device);

/** A tj_pack_rank; payload is a tj_packed_reader. First its own target, then that of its family, then PTX for older ones, the newest first. */
int tj_packed_serves(const char *target, const void *payload);

/** The target of the best sound image of a source in the packs, for a device. False: there is none. Opens no library. */
bool tj_packed_target(tj_host *host, const tj_source *source, const tj_packed_reader *reader, char target[16]);

/**
 * The key of the image of a source for this target in the packs; on the emulator sm_90 will do for compute_90. False: there is
 * none. Opens no library.
 */
bool tj_packed_key(tj_host *host, const tj_source *source, const char *target, tj_image_key_text *text, tj_key *key);

/** Is there an image of this very key? */
bool tj_packed_has(tj_host *host, const tj_source *source, const tj_key *key);

/** Read the image of a key; NULL: a miss. */
tj_image_body *tj_packed_fetch(tj_host *host, const tj_source *source, const tj_key *key);

/** The image of a key in the bytes of a pack; NULL: *trouble says why not, or is NULL for want of memory. */
tj_image_body *tj_packed_read(const void *bytes, size_t size, const tj_source *source, const tj_key *key, const char **trouble);

/** Report that the image of that key is unusable. */
void tj_packed_reject(tj_host *host, const tj_key *key, const char *reason);

/**
 * Add an image; strip: its CUBIN alone. Errors: TJ_ERR_INVALID_ARGUMENT: it is not of that source; TJ_ERR_UNSUPPORTED: it has
 * no CUBIN, or is stripped already and should not be.
 */
tj_status tj_packed_add_image(tj_pack_draft *draft, const tj_source *source, const tj_image *image, bool strip, tj_error *err);

/** Is it an image that was stripped? */
bool tj_packed_is_stripped(const tj_pack_item *item);

/** Return the alignment in bytes of an image's operands; 0: that of their elements. -1: the item does not say. */
int tj_packed_alignment(const tj_pack_item *item);

/**
 * Put the image of an item into a store, where it is as if it had been compiled here. False: it cannot be written, or is
 * stripped.
 */
bool tj_packed_unpack(tj_host *host, const tj_pack_item *item);

#endif
