/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack: read the bytes of a pack.
 *
 * A file is read with pread and not mapped: truncating a mapped file would kill the process, while here it is a miss.
 */
#include "pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compress.h"
#include "fs.h"

const char tj_pack_magic[8] = {'T', 'J', 'P', 'A', 'C', 'K', '\r', '\n'};

static const char CUT[] = "it is cut, or has changed since it was made";
static const char NO_MEMORY[] = "out of memory";

/* ---- numbers ------------------------------------------------------------------------------------------------------ */

static uint64_t get(const unsigned char *at, int bytes)
{
    uint64_t value = 0;

    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | at[i];
    return value;
}

static tj_hash128 get_hash(const unsigned char *at)
{
    return (tj_hash128){.high = get(at, 8), .low = get(at + 8, 8)};
}

static bool is_same_hash(tj_hash128 a, tj_hash128 b)
{
    return a.high == b.high && a.low == b.low;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_hashes(tj_hash128 a, tj_hash128 b)
{
    return a.high != b.high ? compare_numbers(a.high, b.high) : compare_numbers(a.low, b.low);
}

int tj_pack_row_compare(const tj_pack_row *a, const tj_pack_row *b, bool with_checksum)
{
    int order = compare_numbers(a->kind, b->kind);

    if (order == 0)
        order = compare_hashes(a->request, b->request);
    if (order == 0)
        order = memcmp(a->target, b->target, sizeof a->target);
    return order == 0 && with_checksum ? compare_hashes(a->checksum, b->checksum) : order;
}

/* ---- open --------------------------------------------------------------------------------------------------------- */

static bool read_at(const tj_pack_file *pack, uint64_t offset, void *to, size_t size)
{
    char *at = to;

    if (offset > pack->size || size > pack->size - offset)
        return false;
    if (pack->fd < 0) {
        memcpy(at, pack->bytes + offset, size);
        return true;
    }
    while (size > 0) {
        const ssize_t got = pread(pack->fd, at, size, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return true;
}

static void read_row(const unsigned char *at, tj_pack_row *row)
{
    row->kind = (uint32_t)get(at, 4);
    row->whole = (uint32_t)get(at + 4, 4);
    row->request = get_hash(at + 8);
    memcpy(row->target, at + 24, TJ_PACK_TARGET_BYTES);
    row->offset = get(at + 40, 8);
    row->size = get(at + 48, 8);
    row->checksum = get_hash(at + 56);
}

/* Is the index sorted, with items without gaps up to the end, as this version writes it? */
static bool is_index(const tj_pack_file *pack)
{
    uint64_t end = TJ_PACK_HEADER_BYTES + pack->count * (uint64_t)TJ_PACK_ROW_BYTES;

    for (size_t i = 0; i < pack->count; i++) {
        const tj_pack_row *row = &pack->row[i];

        if (row->offset != end || row->size > TJ_PACK_MAX_ITEM_BYTES || row->size > pack->size - end ||
            row->whole > TJ_PACK_MAX_ITEM_BYTES || row->target[TJ_PACK_TARGET_BYTES - 1] ||
            (i > 0 && tj_pack_row_compare(row - 1, row, false) >= 0))
            return false;
        end += row->size;
    }
    return end == pack->size;
}

/* NULL: the file matches its header. */
static const char *read_index(tj_pack_file *pack)
{
    unsigned char header[TJ_PACK_HEADER_BYTES], *index;
    const char *why = NULL;
    uint64_t version;
    size_t bytes;

    if (!read_at(pack, 0, header, sizeof header) || memcmp(header, tj_pack_magic, sizeof tj_pack_magic) != 0)
        return "it is not a pack";
    version = get(header + 8, 4);
    if (version != TJ_PACK_VERSION && version != TJ_PACK_COMPRESSED_VERSION)
        return "it is a pack of another version: make it again with the tilejit that uses it";
    if (!is_same_hash(tj_hash_bytes(header, 40), get_hash(header + 40)))
        return "its header has changed since it was made";
    if (version == TJ_PACK_COMPRESSED_VERSION && !tj_compress_is_there())
        return "it is compressed, and zlib (libz.so.1) is not on this machine: install it (zlib1g), or make the pack without "
               "--compress";
    pack->count = (size_t)get(header + 12, 4);
    bytes = pack->count * TJ_PACK_ROW_BYTES;
    if (get(header + 16, 8) != pack->size || pack->count > TJ_PACK_MAX_ITEMS || bytes > pack->size - sizeof header)
        return CUT;
    index = malloc(bytes + 1);
    pack->row = calloc(pack->count + 1, sizeof *pack->row);
    if (!index || !pack->row)
        why = NO_MEMORY;
    else if (!read_at(pack, sizeof header, index, bytes) || !is_same_hash(tj_hash_bytes(index, bytes), get_hash(header + 24)))
        why = "its index has changed since it was made";
    for (size_t i = 0; !why && i < pack->count; i++) {
        read_row(index + i * TJ_PACK_ROW_BYTES, &pack->row[i]);
        if (version == TJ_PACK_VERSION && pack->row[i].whole)
            why = CUT;
    }
    if (!why && !is_index(pack))
        why = CUT;
    free(index);
    return why;
}

bool tj_pack_open_bytes(tj_pack_file *pack, const void *bytes, size_t size, const char **why)
{
    *pack = (tj_pack_file){.fd = -1, .bytes = bytes, .size = size};
    *why = read_index(pack);
    if (*why)
        tj_pack_close(pack);
    return !*why;
}

bool tj_pack_open_path(tj_pack_file *pack, const char *path, const char **why)
{
    int64_t size;

    *pack = (tj_pack_file){.fd = tj_fs_open_believed(path, false, &size, why)};
    if (pack->fd < 0)
        return false;
    pack->size = (uint64_t)size;
    *why = read_index(pack);
    if (*why)
        tj_pack_close(pack);
    return !*why;
}

void tj_pack_close(tj_pack_file *pack)
{
    if (pack->fd >= 0)
        close(pack->fd);
    free(pack->row);
    *pack = (tj_pack_file){.fd = -1};
}

/* ---- items -------------------------------------------------------------------------------------------------------- */

void tj_pack_item_drop(tj_pack_item *item)
{
    free(item->bytes);
    *item = (tj_pack_item){NULL};
}

const tj_pack_part *tj_pack_item_part(const tj_pack_item *item, const char *name)
{
    for (size_t i = 0; i < item->count; i++)
        if (strcmp(item->part[i].name, name) == 0)
            return &item->part[i];
    return NULL;
}

const char *tj_pack_item_text(const tj_pack_item *item, const char *name)
{
    const tj_pack_part *part = tj_pack_item_part(item, name);

    return part && strlen(part->value) == part->size ? part->value : NULL;
}

/* The checksum proves that a writer made these bytes; the bounds are checked all the same. */
static bool take_apart(tj_pack_item *item, size_t size)
{
    const char *at = item->bytes, *const end = at + size;

    while (at < end) {
        uint64_t name_bytes, value_bytes;

        if (end - at < 12 || item->count == TJ_PACK_MAX_PARTS)
            return false;
        name_bytes = get((const unsigned char *)at, 4);
        value_bytes = get((const unsigned char *)at + 4, 8);
        at += 12;
        if (name_bytes >= (uint64_t)(end - at) || at[name_bytes] || strlen(at) != name_bytes)
            return false;
        item->part[item->count].name = at;
        at += name_bytes + 1;
        if (value_bytes >= (uint64_t)(end - at) || at[value_bytes])
            return false;
        item->part[item->count].value = at;
        item->part[item->count++].size = (size_t)value_bytes;
        at += value_bytes + 1;
    }
    return true;
}

/* Replace the bytes read, whose checksum was right, by the decompressed ones. NULL: done. */
static const char *decompress(const tj_pack_row *row, tj_pack_item *item)
{
    char *whole = malloc((size_t)row->whole + 1);

    if (!whole)
        return NO_MEMORY;
    if (!tj_decompress(item->bytes, (size_t)row->size, whole, row->whole)) {
        free(whole);
        return "an item in it cannot be decompressed to what it should be";
    }
    free(item->bytes);
    item->bytes = whole;
    return NULL;
}

const char *tj_pack_read(const tj_pack_file *pack, const tj_pack_row *row, tj_pack_item *item)
{
    const size_t size = (size_t)row->size;
    const char *why = NULL;

    *item = (tj_pack_item){.bytes = malloc(size + 1)};
    if (!item->bytes)
        return NO_MEMORY;
    if (!read_at(pack, row->offset, item->bytes, size))
        why = CUT;
    else if (!is_same_hash(tj_hash_bytes(item->bytes, size), row->checksum))
        why = "an item in it has changed since it was made";
    else if (row->whole)
        why = decompress(row, item);
    if (!why && !take_apart(item, row->whole ? row->whole : size))
        why = "an item in it is not a list of parts";
    if (why)
        tj_pack_item_drop(item);
    return why;
}

bool tj_pack_is_row(const tj_pack_file *pack, size_t index, uint32_t kind, tj_hash128 request)
{
    return index < pack->count && pack->row[index].kind == kind && is_same_hash(pack->row[index].request, request);
}

size_t tj_pack_first(const tj_pack_file *pack, uint32_t kind, tj_hash128 request)
{
    const tj_pack_row wanted = {.kind = kind, .request = request};
    size_t low = 0, high = pack->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (tj_pack_row_compare(&pack->row[middle], &wanted, false) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return tj_pack_is_row(pack, low, kind, request) ? low : pack->count;
}
