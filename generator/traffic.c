/* SPDX-License-Identifier: Apache-2.0 */
#include "traffic.h"

#include <string.h>

#include "checked.h"

enum { WARP = 32, SECTOR = 32, LINE = 128, BANKS = 32, BANK_BYTES = 4, WORDS = 2 * WARP };

/* ---- one request -------------------------------------------------------------------------------------------------- */

/* A set of numbers of one request, in the order they came; most often they only grow. */
typedef struct small_set {
    int64_t value[WORDS];
    int64_t greatest;
    int count;
} small_set;

static bool set_add(small_set *set, int64_t value)
{
    for (int i = set->count - 1; i >= 0 && value <= set->greatest; i--) /* neighbours are near: from the end */
        if (set->value[i] == value)
            return false;
    set->greatest = set->count == 0 || value > set->greatest ? value : set->greatest;
    set->value[set->count++] = value;
    return true;
}

/* Passes that lanes take: as many as different words want the same bank. Global memory lies in the L1 in the same banks,
 * which also looks two lines up at a time. */
static int64_t passes(const small_set *words, int64_t lines)
{
    int in_bank[BANKS] = {0}, most = 1;

    for (int i = 0; i < words->count; i++) {
        int *count = &in_bank[(uint64_t)words->value[i] % BANKS];

        ++*count;
        most = *count > most ? *count : most;
    }
    return (lines + 1) / 2 > most ? (lines + 1) / 2 : most;
}

/* Lanes of one request, or of the part of one, whose addresses are looked at together. */
static int64_t count_passes(const tj_access *access, int32_t bytes, const int64_t *address, int lanes)
{
    small_set words, lines;

    words.count = lines.count = 0;
    for (int i = 0; i < lanes; i++) {
        for (int64_t word = address[i] / BANK_BYTES; word <= (address[i] + bytes - 1) / BANK_BYTES; word++)
            (void)set_add(&words, word);
        if (!access->is_shared)
            (void)set_add(&lines, address[i] / LINE);
    }
    return lanes > 0 ? passes(&words, lines.count) : 0;
}

/* The lanes of a warp that are at work, and where, seen from the first of them. Many warps of many instances are alike but for
 * where they begin, and only the place within a line matters of that. */
typedef struct pattern {
    int64_t address[WARP];
    int32_t lane[WARP];
    int lanes;
    int64_t warps[LINE]; /* that begin at each place within a line */
} pattern;

static void count_request(const tj_access *access, const pattern *p, int64_t begin, int64_t times, tj_traffic *out)
{
    const int32_t width = access->width > 1 ? access->width : 1, bytes = access->element_bytes * width;
    /* 8 bytes a lane go in two halves of the warp, 16 in four quarters. */
    const int32_t part = bytes <= BANK_BYTES ? WARP : WARP * BANK_BYTES / bytes;
    int64_t address[WARP], wavefronts = 0;
    small_set sectors;

    sectors.count = 0;
    for (int i = 0; i < p->lanes; i++) {
        address[i] = begin + p->address[i];
        if (!access->is_shared)
            (void)set_add(&sectors, address[i] / SECTOR);
    }
    for (int first = 0, end = 0; first < p->lanes; first = end) {
        while (end < p->lanes && p->lane[end] / part == p->lane[first] / part)
            end++;
        wavefronts += count_passes(access, bytes, address + first, end - first);
    }
    out->elements += times * p->lanes * width;
    out->bytes += times * p->lanes * bytes;
    out->requests += times;
    out->wavefronts += times * wavefronts;
    out->sectors += times * sectors.count;
    out->merged += times * wavefronts / (access->merges > 1 ? access->merges : 1);
}

static int64_t place_of(int64_t address)
{
    return ((address % LINE) + LINE) % LINE;
}

/* Negative addresses would divide towards zero: every request begins this far on. */
static const int64_t FAR = INT64_C(1) << 62;

/* ---- all instances ------------------------------------------------------------------------------------------------ */

/* How many instances have their base at each place within a line. */
typedef struct places {
    int64_t count[LINE];
} places;

static places places_of(int64_t first, int64_t count, int64_t step)
{
    int64_t period = 1; /* so many steps lead back to where they began */
    places result;

    memset(&result, 0, sizeof result);
    while (place_of(period * place_of(step)) != 0)
        period *= 2;
    for (int64_t i = 0; i < period && i < count; i++)
        result.count[place_of((first + i) % period * place_of(step))] += count / period + (i < count % period);
    return result;
}

static places combine(const places *a, const places *b)
{
    places result;
    int taken[LINE], count = 0;

    memset(&result, 0, sizeof result);
    for (int k = 0; k < LINE; k++)
        if (b->count[k])
            taken[count++] = k;
    for (int i = 0; i < LINE; i++)
        for (int k = 0; a->count[i] && k < count; k++)
            result.count[(i + taken[k]) % LINE] += a->count[i] * b->count[taken[k]];
    return result;
}

static int64_t instances(const tj_axis *axis)
{
    return axis->count > 0 ? axis->count : 1;
}

/* An axis without (0) or with only (1) its last instance, if that one is clipped. */
static bool part_of(const tj_axis *axis, int part, places *at, int32_t *live)
{
    const int64_t count = instances(axis);
    const bool is_clipped = axis->last != axis->full;

    *live = part == 0 ? axis->full : axis->last;
    if (part == 0)
        *at = places_of(0, count - is_clipped, axis->step);
    else
        *at = places_of(count - 1, 1, axis->step);
    return part == 0 ? count > is_clipped : is_clipped;
}

tj_axis tj_tile_axis(int64_t extent, int32_t tile, int64_t step)
{
    const int32_t rest = (int32_t)(extent % tile);

    return (tj_axis){tj_ceil_div(extent, tile), step, tile, rest ? rest : tile};
}

enum { PATTERNS = 8 };

static void count_patterns(const tj_access *access, const places *at, pattern *seen, int *count, tj_traffic *out)
{
    for (int i = 0; i < *count; i++) {
        places begin = {{0}};

        memcpy(begin.count, seen[i].warps, sizeof begin.count);
        begin = combine(&begin, at);
        for (int64_t place = 0; place < LINE; place++)
            if (begin.count[place] > 0)
                count_request(access, &seen[i], FAR + place, begin.count[place] * access->repeat, out);
    }
    *count = 0;
}

/* One instance at each of these places: its threads come in warps of 32, x first. */
static void count_instance(const tj_access *access, int32_t live_x, int32_t live_y, const places *at, tj_traffic *out)
{
    const int32_t threads = access->threads_x * access->threads_y;
    pattern seen[PATTERNS];
    int count = 0;

    for (int32_t first = 0; first < threads; first += WARP) {
        pattern p = {.lanes = 0};
        int64_t begin = 0;
        int i = 0;

        for (int32_t t = first; t < first + WARP && t < threads; t++) {
            const int32_t tx = t % access->threads_x, ty = t / access->threads_x;
            const int64_t address = access->base + tx * access->step_x + ty * access->step_y;

            if (tx >= live_x || ty >= live_y)
                continue;
            begin = p.lanes > 0 ? begin : address;
            p.lane[p.lanes] = t - first;
            p.address[p.lanes++] = address - begin;
        }
        if (p.lanes == 0)
            continue;
        while (i < count && (seen[i].lanes != p.lanes || memcmp(seen[i].address, p.address, sizeof p.address) != 0 ||
                             memcmp(seen[i].lane, p.lane, sizeof p.lane) != 0))
            i++;
        if (i == PATTERNS) {
            count_patterns(access, at, seen, &count, out);
            i = 0;
        }
        if (i == count)
            seen[count++] = p;
        seen[i].warps[place_of(begin)]++;
    }
    count_patterns(access, at, seen, &count, out);
}

void tj_traffic_add(tj_traffic *traffic, const tj_access *access)
{
    const places free_a = places_of(0, instances(&access->axis[2]), access->axis[2].step);
    const places free_b = places_of(0, instances(&access->axis[3]), access->axis[3].step);
    const places free_axes = combine(&free_a, &free_b);

    for (int part = 0; part < 4; part++) {
        places x, y, at;
        int32_t live_x, live_y;

        if (!part_of(&access->axis[0], part & 1, &x, &live_x) || !part_of(&access->axis[1], part >> 1, &y, &live_y))
            continue;
        at = combine(&x, &y);
        at = combine(&at, &free_axes);
        count_instance(access, live_x, live_y, &at, traffic);
    }
}
