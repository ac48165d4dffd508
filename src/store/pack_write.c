/* SPDX-License-Identifier: Apache-2.0 */
/* pack_write: write the bytes of a pack from its items. */
#include <stdlib.h>
#include <string.h>

#include "compress.h"
#include "error.h"
#include "pack.h"

typedef struct draft_item {
    tj_pack_row row;
    unsigned char *bytes;
} draft_item;

struct tj_pack_draft {
    draft_item *item; /* sorted */
    size_t count, capacity;
    bool is_compressing;
};

static void put(unsigned char *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++, value >>= 8)
        at[i] = (unsigned char)value;
}

static void put_hash(unsigned char *at, tj_hash128 hash)
{
    put(at, hash.high, 8);
    put(at + 8, hash.low, 8);
}

tj_pack_draft *tj_pack_draft_create(void)
{
    return calloc(1, sizeof(tj_pack_draft));
}

void tj_pack_draft_compress(tj_pack_draft *draft, bool is_wanted)
{
    draft->is_compressing = is_wanted;
}

void tj_pack_draft_free(tj_pack_draft *draft)
{
    if (!draft)
        return;
    for (size_t i = 0; i < draft->count; i++)
        free(draft->item[i].bytes);
    free(draft->item);
    free(draft);
}

static unsigned char *put_text(unsigned char *at, const void *text, size_t size)
{
    memcpy(at, text, size);
    at[size] = '\0';
    return at + size + 1;
}

static bool make_item(const tj_pack_part *part, size_t count, draft_item *item)
{
    unsigned char *at;

    for (size_t i = 0; i < count; i++)
        item->row.size += 12 + strlen(part[i].name) + 1 + part[i].size + 1;
    at = item->bytes = malloc((size_t)item->row.size + 1);
    for (size_t i = 0; at && i < count; i++) {
        put(at, strlen(part[i].name), 4);
        put(at + 4, part[i].size, 8);
        at = put_text(at + 12, part[i].name, strlen(part[i].name));
        at = put_text(at, part[i].value, part[i].size);
    }
    return at != NULL;
}

/* Keep an item as it is unless it gets smaller. */
static void compress_item(draft_item *item)
{
    size_t size;
    void *smaller = item->row.size > TJ_PACK_MAX_ITEM_BYTES ? NULL : tj_compress(item->bytes, (size_t)item->row.size, &size);

    if (!smaller)
        return;
    free(item->bytes);
    item->bytes = smaller;
    item->row.whole = (uint32_t)item->row.size;
    item->row.size = size;
}

tj_status tj_pack_draft_add(tj_pack_draft *draft, uint32_t kind, tj_hash128 request, const char *target,
                            const tj_pack_part *part, size_t count, tj_error *err)
{
    draft_item made = {.row = {.kind = kind, .request = request}};
    size_t at = draft->count;

    if (strlen(target) >= sizeof made.row.target || count > TJ_PACK_MAX_PARTS || draft->count == TJ_PACK_MAX_ITEMS)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "a pack holds at most %d items, of targets such as sm_90",
                       TJ_PACK_MAX_ITEMS);
    memcpy(made.row.target, target, strlen(target));
    while (at > 0 && tj_pack_row_compare(&draft->item[at - 1].row, &made.row, false) > 0)
        at--;
    if (at > 0 && tj_pack_row_compare(&draft->item[at - 1].row, &made.row, false) == 0)
        return TJ_OK;
    if (draft->count == draft->capacity) {
        const size_t capacity = draft->capacity ? 2 * draft->capacity : 64;
        draft_item *larger = realloc(draft->item, capacity * sizeof *larger);

        if (!larger)
            return tj_fail_memory(err, "a pack");
        draft->item = larger;
        draft->capacity = capacity;
    }
    if (!make_item(part, count, &made))
        return tj_fail_memory(err, "a pack");
    if (draft->is_compressing)
        compress_item(&made);
    made.row.checksum = tj_hash_bytes(made.bytes, (size_t)made.row.size);
    memmove(&draft->item[at + 1], &draft->item[at], (draft->count - at) * sizeof made);
    draft->item[at] = made;
    draft->count++;
    return TJ_OK;
}

static void put_row(unsigned char *at, const tj_pack_row *row)
{
    put(at, row->kind, 4);
    put(at + 4, row->whole, 4);
    put_hash(at + 8, row->request);
    memcpy(at + 24, row->target, sizeof row->target);
    put(at + 40, row->offset, 8);
    put(at + 48, row->size, 8);
    put_hash(at + 56, row->checksum);
}

tj_status tj_pack_draft_print(tj_pack_draft *draft, void **bytes, size_t *size, tj_error *err)
{
    const size_t index_bytes = draft->count * TJ_PACK_ROW_BYTES;
    size_t total = TJ_PACK_HEADER_BYTES + index_bytes;
    int version = TJ_PACK_VERSION;
    unsigned char *at;

    for (size_t i = 0; i < draft->count; i++) {
        draft->item[i].row.offset = total;
        total += (size_t)draft->item[i].row.size;
        if (draft->item[i].row.whole)
            version = TJ_PACK_COMPRESSED_VERSION;
    }
    *bytes = at = malloc(total);
    *size = at ? total : 0;
    if (!at)
        return tj_fail_memory(err, "a pack");
    for (size_t i = 0; i < draft->count; i++) {
        const draft_item *item = &draft->item[i];

        put_row(at + TJ_PACK_HEADER_BYTES + i * TJ_PACK_ROW_BYTES, &item->row);
        memcpy(at + item->row.offset, item->bytes, (size_t)item->row.size);
    }
    memcpy(at, tj_pack_magic, sizeof tj_pack_magic);
    put(at + 8, (uint64_t)version, 4);
    put(at + 12, draft->count, 4);
    put(at + 16, total, 8);
    put_hash(at + 24, tj_hash_bytes(at + TJ_PACK_HEADER_BYTES, index_bytes));
    put_hash(at + 40, tj_hash_bytes(at, 40));
    return TJ_OK;
}
