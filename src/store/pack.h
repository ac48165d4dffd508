/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack: one read-only file of items, written once and never changed. Its bytes depend on the items alone.
 *
 *     header   8 bytes "TJPACK\r\n", version (4), count of items (4), bytes of the file (8), checksum of the index (16),
 *              checksum of the header as far as here (16)
 *     index    for each item: kind (4), its bytes if it is compressed, else 0 (4), request (16), target (16), offset (8), bytes
 *              in the file (8), checksum of those (16)
 *     items    one after the other, in the order of the index, without gaps
 *
 * Numbers are little-endian, checksums XXH3-128. The index is sorted by kind, request, target and checksum. An item is a list
 * of parts, each: bytes of its name (4), bytes of its value (8), name, NUL, value, NUL. So a checksum covers every byte, and no
 * byte is trusted or decompressed before its checksum was compared, nor decompressed into more bytes than the index says.
 *
 * A pack with a compressed item (compress.h) has version 2, so that older readers refuse it as a whole; else it has version 1.
 *
 *     pack.c        read the bytes of a pack
 *     pack_write.c  write the bytes of a pack
 *     packs.c       the packs of a context
 *     compress.c    compress items
 *
 * Knows files; does not know the meaning of items.
 */
#ifndef TJ_SRC_PACK_H
#define TJ_SRC_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tilejit/status.h>

#include "hash.h"

enum {
    TJ_PACK_VERSION = 1,
    TJ_PACK_COMPRESSED_VERSION = 2,
    TJ_PACK_HEADER_BYTES = 56,
    TJ_PACK_ROW_BYTES = 72, /* of the index, per item */
    TJ_PACK_TARGET_BYTES = 16,
    TJ_PACK_MAX_ITEMS = 1 << 20,
    TJ_PACK_MAX_ITEM_BYTES = 256 << 20,
    TJ_PACK_MAX_PARTS = 16
};

extern const char tj_pack_magic[8];

/** The key of an item. Several items may share a request, for different targets. */
typedef struct tj_pack_row {
    uint32_t kind;
    tj_hash128 request;
    char target[TJ_PACK_TARGET_BYTES]; /* "sm_90"; "" if the target does not matter */
    uint32_t whole;                    /* bytes of a compressed item after decompression; 0: it is not compressed */
    uint64_t offset, size;             /* in the file */
    tj_hash128 checksum;
} tj_pack_row;

/** A part of an item. The value is followed by a NUL that size does not count. */
typedef struct tj_pack_part {
    const char *name;
    const void *value;
    size_t size;
} tj_pack_part;

/** An item, read and verified. Free with tj_pack_item_drop. */
typedef struct tj_pack_item {
    char *bytes; /* the parts point into it */
    tj_pack_part part[TJ_PACK_MAX_PARTS];
    size_t count;
} tj_pack_item;

void tj_pack_item_drop(tj_pack_item *item);

/** Return the part of a name; NULL: there is none. */
const tj_pack_part *tj_pack_item_part(const tj_pack_item *item, const char *name);

/** Return the value of a part as text without a NUL; NULL: it is not text, or there is none. */
const char *tj_pack_item_text(const tj_pack_item *item, const char *name);

/* ---- read --------------------------------------------------------------------------------------------------------- */

/** An open pack, of a file, which stays open, or of bytes. It never changes: all threads may share it. */
typedef struct tj_pack_file {
    int fd; /* -1: a pack of bytes */
    const unsigned char *bytes;
    uint64_t size;
    tj_pack_row *row;
    size_t count;
} tj_pack_file;

/** Open the bytes, which are borrowed. False: *why is the defect, a static sentence, and there is nothing to close. */
bool tj_pack_open_bytes(tj_pack_file *pack, const void *bytes, size_t size, const char **why);

/** Open a file. Links are followed; it must be a regular file of this user or root that nobody else can write. */
bool tj_pack_open_path(tj_pack_file *pack, const char *path, const char **why);

void tj_pack_close(tj_pack_file *pack);

/** Read and verify an item. NULL: *item is filled; else the defect, a static sentence. */
const char *tj_pack_read(const tj_pack_file *pack, const tj_pack_row *row, tj_pack_item *item);

/** Return the first row of a kind and a request; the others follow it. The number of rows: there is none. */
size_t tj_pack_first(const tj_pack_file *pack, uint32_t kind, tj_hash128 request);

/** Does the row have this kind and request? index may be past the last one. */
bool tj_pack_is_row(const tj_pack_file *pack, size_t index, uint32_t kind, tj_hash128 request);

/* ---- write -------------------------------------------------------------------------------------------------------- */

/** A pack under construction. */
typedef struct tj_pack_draft tj_pack_draft;

tj_pack_draft *tj_pack_draft_create(void);

/** Compress the items added from now on, if that makes them smaller. Requires tj_compress_is_there. */
void tj_pack_draft_compress(tj_pack_draft *draft, bool is_wanted);

void tj_pack_draft_free(tj_pack_draft *draft);

/** Add an item, unless one with the same kind, request and target exists. Everything is copied. */
tj_status tj_pack_draft_add(tj_pack_draft *draft, uint32_t kind, tj_hash128 request, const char *target,
                            const tj_pack_part *part, size_t count, tj_error *err);

/** Return the bytes of the pack, malloc'ed. */
tj_status tj_pack_draft_print(tj_pack_draft *draft, void **bytes, size_t *size, tj_error *err);

/** Compare in the order of the index (three-way); with_checksum: also by checksum. */
int tj_pack_row_compare(const tj_pack_row *a, const tj_pack_row *b, bool with_checksum);

#endif
