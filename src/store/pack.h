/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack: one read-only file of items, made once and never changed. Its bytes follow from the items alone.
 *
 *     header   8 bytes "TJPACK\r\n", version (4), count of items (4), bytes of the file (8), checksum of the index (16),
 *              checksum of the header as far as here (16)
 *     index    for each item: kind (4), its bytes if it is compressed, else 0 (4), request (16), target (16), offset (8), bytes
 *              in the file (8), checksum of those (16)
 *     items    one behind the other, in the order of the index, without gaps
 *
 * Numbers are little-endian, checksums XXH3-128. The index is sorted by kind, request, target and checksum. An item is a list of
 * parts, each: bytes of its name (4), bytes of its value (8), name, NUL, value, NUL. So every byte is under a checksum, and nothing is
 * believed before its checksum was compared; nor is anything decompressed before, nor into more bytes than the index says.
 *
 * A pack is of version 2 if it has a compressed item (compress.h), so that older readers refuse it as a whole, else of version
 * 1.
 *
 *     pack.c        the bytes of a pack, read
 *     pack_write.c  the bytes of a pack, made
 *     packs.c       the packs of a context
 *     compress.c    items made smaller
 *
 * Knows files; does not know what items mean.
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
    TJ_PACK_ROW_BYTES = 72, /* of the index, for an item */
    TJ_PACK_TARGET_BYTES = 16,
    TJ_PACK_MAX_ITEMS = 1 << 20,
    TJ_PACK_MAX_ITEM_BYTES = 256 << 20,
    TJ_PACK_MAX_PARTS = 16
};

extern const char tj_pack_magic[8];

/** What an item is found by. Several may have one request, for different targets. */
typedef struct tj_pack_row {
    uint32_t kind;
    tj_hash128 request;
    char target[TJ_PACK_TARGET_BYTES]; /* "sm_90"; "" where none matters */
    uint32_t whole;                    /* bytes of a compressed item when it is read; 0: it is not compressed */
    uint64_t offset, size;             /* in the file */
    tj_hash128 checksum;
} tj_pack_row;

/** A part of an item. The value is followed by a NUL that size does not count. */
typedef struct tj_pack_part {
    const char *name;
    const void *value;
    size_t size;
} tj_pack_part;

/** An item, read and sound. Free with tj_pack_item_drop. */
typedef struct tj_pack_item {
    char *bytes; /* that the parts point into */
    tj_pack_part part[TJ_PACK_MAX_PARTS];
    size_t count;
} tj_pack_item;

void tj_pack_item_drop(tj_pack_item *item);

/** The part of a name; NULL: there is none. */
const tj_pack_part *tj_pack_item_part(const tj_pack_item *item, const char *name);

/** Its value, where that is text without a NUL; NULL: it is not, or there is none. */
const char *tj_pack_item_text(const tj_pack_item *item, const char *name);

/* ---- read --------------------------------------------------------------------------------------------------------- */

/** A pack that is open: of a file, which stays open, or of bytes. Not changed once it is open: all threads may share it. */
typedef struct tj_pack_file {
    int fd; /* -1: of bytes */
    const unsigned char *bytes;
    uint64_t size;
    tj_pack_row *row;
    size_t count;
} tj_pack_file;

/** Open the bytes, which are borrowed. *why: what is wrong, a static sentence; then there is nothing to close. False: something is. */
bool tj_pack_open_bytes(tj_pack_file *pack, const void *bytes, size_t size, const char **why);

/** Open a file. Links are followed; it must be a regular file of this user or root that nobody else can write. */
bool tj_pack_open_path(tj_pack_file *pack, const char *path, const char **why);

void tj_pack_close(tj_pack_file *pack);

/** Read and verify an item. NULL: *item is filled; else what is wrong, a static sentence. */
const char *tj_pack_read(const tj_pack_file *pack, const tj_pack_row *row, tj_pack_item *item);

/** The first row of a kind and a request; the others follow. Behind the last row: there is none. */
size_t tj_pack_first(const tj_pack_file *pack, uint32_t kind, tj_hash128 request);

/** Has a row this kind and request? index may be behind the last one. */
bool tj_pack_is_row(const tj_pack_file *pack, size_t index, uint32_t kind, tj_hash128 request);

/* ---- write -------------------------------------------------------------------------------------------------------- */

/** A pack that is being made. */
typedef struct tj_pack_draft tj_pack_draft;

tj_pack_draft *tj_pack_draft_create(void);

/** Compress what is added from now on, where that makes it smaller. It needs tj_compress_is_there. */
void tj_pack_draft_compress(tj_pack_draft *draft, bool is_wanted);

void tj_pack_draft_free(tj_pack_draft *draft);

/** Add an item; one that is there already with the same kind, request and target stays. Everything is copied. */
tj_status tj_pack_draft_add(tj_pack_draft *draft, uint32_t kind, tj_hash128 request, const char *target,
                            const tj_pack_part *part, size_t count, tj_error *err);

/** The bytes of the pack, malloc'ed. */
tj_status tj_pack_draft_print(tj_pack_draft *draft, void **bytes, size_t *size, tj_error *err);

/** Three-way, in the order of the index; with_checksum: by that too. */
int tj_pack_row_compare(const tj_pack_row *a, const tj_pack_row *b, bool with_checksum);

#endif
