/* SPDX-License-Identifier: Apache-2.0 */
#include "parts/boxes.h"

#include "checked.h"
#include "parts/lanes.h"

enum { SECTOR = 32, HALF_SECTOR = 16 };

/*
 * Pieces of lines, all of one length. They begin at multiples of 16 bytes, `in_middle` of them in the middle of a sector, and
 * at multiples of `step` within a cache line of 128 bytes.
 */
typedef struct pieces {
    int64_t count, in_middle, step;
} pieces;

static pieces pieces_of(int64_t count, int64_t step)
{
    const int64_t within = step % TJ_LINE;

    return (pieces){count, step / HALF_SECTOR % 2 != 0 ? count / 2 : 0, within ? within & -within : TJ_LINE};
}

/* Combine every piece of one set with every piece of the other. */
static pieces combine(pieces a, pieces b)
{
    return (pieces){a.count * b.count, a.in_middle * (b.count - b.in_middle) + (a.count - a.in_middle) * b.in_middle,
                    a.step < b.step ? a.step : b.step};
}

/* Return the mean number of cache lines: a piece touches one more line than it fills, unless it begins at a line. */
static int64_t lines_of(pieces p, int64_t bytes)
{
    return p.count * (tj_ceil_div(bytes, p.step) * p.step + TJ_LINE - p.step) / TJ_LINE;
}

static void add_pieces(pieces p, int64_t bytes, int64_t element_bytes, tj_traffic *traffic)
{
    traffic->elements += p.count * bytes / element_bytes;
    traffic->bytes += p.count * bytes;
    traffic->requests += p.count;
    traffic->sectors +=
        (p.count - p.in_middle) * tj_ceil_div(bytes, SECTOR) + p.in_middle * tj_ceil_div(bytes + HALF_SECTOR, SECTOR);
    traffic->wavefronts += p.count;
    traffic->merged += lines_of(p, bytes);
}

/* Elements outside the matrix are filled with zeros and move no bytes. */
void tj_boxes_count(const tj_boxes *b, tj_traffic *traffic)
{
    const int64_t bytes = b->element_bytes, reach = b->boxes * b->box;
    const pieces products = pieces_of(b->products, b->stride > 0 ? b->stride * bytes : 0);
    const pieces all = combine(combine(pieces_of(b->repeat, 0), products), pieces_of(b->lines, b->ld * bytes));
    const int64_t whole = b->width >= reach ? (b->width - reach) / b->tile + 1 : 0;
    const int64_t step = b->tile * bytes;

    /* Tiles begin at whole sectors of a line, and the boxes of one tile may reach into the next. */
    add_pieces(combine(all, pieces_of(whole * b->boxes, step)), b->box * bytes, bytes, traffic);
    for (int64_t first = whole * b->tile; first < b->width; first += b->tile)
        for (int64_t begin = first; begin < first + reach && begin < b->width; begin += b->box)
            add_pieces(combine(all, pieces_of(1, step)), (b->width - begin < b->box ? b->width - begin : b->box) * bytes, bytes,
                       traffic);
}
