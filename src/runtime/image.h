/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image: the parts of an image and its key. Declarations for this layer beyond <tilejit/image.h>.
 *
 *     image.c        in memory; store entry <-> image; accessors
 *     packed.c       images of packs
 *     shared.c       images of other machines
 *     image_make.c   the key of a request; its image from packs, stores and the remote, or compiled
 *     image_dump.c   files for people
 *     target.c       which target fits a device
 */
#ifndef TJ_SRC_IMAGE_H
#define TJ_SRC_IMAGE_H

#include <tilejit/image.h>
#include <tilejit/prove.h>

#include "host.h"

/** The result of a proof on one device (proof.c); never changed once it is published. */
typedef struct tj_proof_note {
    struct tj_proof_note *next;
    uint64_t device;
    tj_proof proof;
} tj_proof_note;

#define TJ_IMAGE_SCHEMA "1"

/** Storage for the text that a key borrows. */
typedef struct tj_image_key_text {
    char options[512], compiler[128], backend[16];
    char own_target[16]; /* "sm_90a" in place of "sm_90", if the source needs its features */
} tj_image_key_text;

/**
 * The key of a request: schema, backend, source, options, target, compiler. Launch facts are not in it: they follow from
 * the source's text. *key borrows from source, target, *text and the opened NVRTC: it must not outlive them.
 * Compiler and options are those of an image that a pack has for source and target, and NVRTC is not opened then; without an
 * NVRTC those of an image that is stored for the rest of the key.
 * Errors: TJ_ERR_NO_COMPILER (and nothing is stored), TJ_ERR_INVALID_ARGUMENT (a target this NVRTC does not know),
 * TJ_ERR_UNSUPPORTED (one that lacks what the text needs), TJ_ERR_FORKED.
 */
tj_status tj_image_make_key(tj_host *host, const tj_source *source, const char *target, tj_image_key_text *text, tj_key *key,
                            tj_error *err);

/**
 * For display alone: the fields of a key that are known without an NVRTC and without a stored image. It is not a key of any
 * image.
 */
void tj_image_make_key_without_compiler(const tj_host *host, const tj_source *source, const char *target,
                                        tj_image_key_text *text, tj_key *key);

/** As tj_image_obtain, for an image that is not in memory; past_stores: as tj_compile. */
tj_status tj_image_build(tj_host *host, const tj_source *source, const char *target, bool past_stores, tj_image **image,
                         tj_error *err);

/** Whether a load that ended so may be the fault of the image: of one that was compiled elsewhere, or long ago. */
bool tj_image_is_suspect(const tj_image *image, tj_status of_load);

/** Remove the image from memory and store: the driver refused it. */
void tj_image_reject(tj_host *host, const tj_image *image, const char *reason);

/* ---- between the files of image ---------------------------------------------------------------------------------- */

/** The part that all handles of one image share. Immutable once made, except the count, the mark and the chain. */
typedef struct tj_image_body {
    atomic_uint references;
    atomic_bool is_rejected;                /* the driver refused it: not to be found again */
    _Atomic(struct tj_proof_note *) proofs; /* of its kernel, by device; proof.c */
    struct tj_image_body *next;             /* in its bucket; next and used belong to the table of images */
    uint64_t used;                          /* time of the last hit there */
    tj_key key;                             /* borrows from key_text */
    char *key_text;
    size_t key_bytes;
    const char *target, *compiler; /* of the key */
    char *ptx;                     /* never NULL; "" in an image of a failed compile, and in a stripped one */
    size_t ptx_bytes;
    void *cubin; /* NULL: none */
    size_t cubin_bytes;
    char *log;  /* never NULL */
    char *pack; /* the pack it was read from; NULL: from elsewhere */
    tj_resources resources;
} tj_image_body;

struct tj_image {
    tj_image_body *body; /* one reference */
    tj_origin origin;    /* of this handle: an image that was compiled for one caller comes from memory for the next */
};

/** An image of a key with nothing in it yet; copies the key. NULL: out of memory. */
tj_image_body *tj_image_body_create(const tj_key *key);
void tj_image_body_release(tj_image_body *body);

/** Does PTX define this entry function? */
bool tj_image_has_entry(const char *ptx, const char *kernel);

/**
 * Make an image of a stored entry; may_be_stripped: a CUBIN alone is enough. NULL: *trouble is its defect, or NULL if memory
 * ran out.
 */
tj_image_body *tj_image_body_of(const tj_stored *stored, const tj_source *source, const tj_key *key, bool may_be_stripped,
                                const char **trouble);

/** Is it a CUBIN alone, of a pack that was stripped? */
static inline bool tj_image_is_stripped(const tj_image_body *body)
{
    return body->ptx_bytes == 0;
}

/** Return the facts stored next to an image, for people, with the report of ptxas: the caller frees them. */
tj_json *tj_image_facts(const tj_source *source, const tj_image_body *body);

/** Store a body that was compiled from source. Trouble is logged. */
void tj_image_publish(tj_host *host, const tj_source *source, const tj_image_body *body);

/** A handle of its own for a body; takes over one reference, also on failure. body NULL: *image is NULL, TJ_OK. */
tj_status tj_image_wrap(tj_image_body *body, tj_origin origin, tj_image **image, tj_error *err);

/**
 * Fetch from packs, stores and the remote, else compile and publish. One reference is the caller's. On TJ_ERR_COMPILE *body
 * holds the log; on any other failure it is NULL. It is also NULL, with TJ_OK, if it could be compiled but may not.
 */
tj_status tj_image_produce(tj_host *host, const tj_source *source, const tj_key *key, bool may_compile, tj_image_body **body,
                           tj_origin *origin, tj_error *err);

/** Write <dir>/<kernel>-<8 digits of the key>.cu, .ptx, .cubin, .log; what there is of them. Trouble: one line of text. */
bool tj_image_dump(const char *dir, const tj_source *source, const tj_image_body *body, char *trouble, size_t size);

#endif
