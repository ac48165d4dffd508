/* SPDX-License-Identifier: Apache-2.0 */
#include "traffic.h"

#include <math.h>
#include <string.h>

#include "checked.h"

enum { WARP = 32, SECTOR = 32, LINE = 128, BANKS = 32, BANK_BYTES = 4 };

/* ---- one request -------------------------------------------------------------------------------------------------- */

/* The different numbers of one request, by the bank that each falls in. */
typedef struct number_set {
    int64_t value[WARP];
    uint8_t next[WARP], first[BANKS], in_bank[BANKS]; /* next, first: places in value, counted from 1; 0: none */
    int count, most;                                  /* most: in one bank */
} number_set;

static void clear(number_set *set)
{
    memset(set->first, 0, sizeof set->first);
    memset(set->in_bank, 0, sizeof set->in_bank);
    set->count = set->most = 0;
}

/* banks: a power of two. */
static void add(number_set *set, int64_t value, int32_t banks)
{
    const uint64_t bank = (uint64_t)value & (uint64_t)(banks - 1);

    for (int i = set->first[bank]; i > 0; i = set->next[i - 1])
        if (set->value[i - 1] == value)
            return;
    set->value[set->count] = value;
    set->next[set->count] = set->first[bank];
    set->first[bank] = (uint8_t)++set->count;
    set->most = ++set->in_bank[bank] > set->most ? set->in_bank[bank] : set->most;
}

/* Of a power of two: a shift costs nothing, and there are very many addresses to divide. */
static int log2_of(int32_t power)
{
    int shift = 0;

    while (power >> shift > 1)
        shift++;
    return shift;
}

/*
 * Lanes of one request, or of the part of one, whose addresses are looked at together: passes that they take, as many as different
 * words want the same bank. Global memory lies in the L1 in the same banks, which also looks two lines up at a time.
 */
static int64_t count_passes(const tj_access *access, int32_t bytes, const int64_t *address, int lanes)
{
    /* Wide accesses are aligned to all they take: each is as one wide word in one of fewer, wider banks. */
    const int32_t word_bytes = bytes > BANK_BYTES ? bytes : BANK_BYTES, banks = BANKS * BANK_BYTES / word_bytes;
    const int word_shift = log2_of(word_bytes);
    number_set words, lines;

    clear(&words);
    clear(&lines);
    for (int i = 0; i < lanes; i++) {
        add(&words, address[i] >> word_shift, banks);
        if (!access->is_shared)
            add(&lines, address[i] / LINE, BANKS);
    }
    return (lines.count + 1) / 2 > words.most ? (lines.count + 1) / 2 : words.most;
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
    const int part_shift = log2_of(bytes <= BANK_BYTES ? WARP : WARP * BANK_BYTES / bytes);
    int64_t address[WARP], wavefronts = 0;
    number_set sectors;

    clear(&sectors);
    for (int i = 0; i < p->lanes; i++) {
        address[i] = begin + p->address[i];
        if (!access->is_shared)
            add(&sectors, address[i] / SECTOR, BANKS);
    }
    for (int first = 0, end = 0; first < p->lanes; first = end) {
        while (end < p->lanes && p->lane[end] >> part_shift == p->lane[first] >> part_shift)
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

/* ---- an estimate -------------------------------------------------------------------------------------------------- */

/* Warps of one instance that have a thread at work. */
static int64_t warps_at_work(const tj_access *access, int32_t live_x, int32_t live_y)
{
    if (access->threads_x % WARP == 0)
        return tj_ceil_div(live_x, WARP) * live_y;
    if (WARP % access->threads_x == 0)
        return tj_ceil_div(live_y, WARP / access->threads_x);
    return tj_ceil_div((int64_t)access->threads_x * live_y, WARP);
}

/* Where bases lie: at the start of a line if all of them do, else where the first that does not lies. */
static int64_t usual_place(const tj_access *access)
{
    int64_t place = place_of(access->base);

    for (size_t i = 0; place == 0 && i < TJ_ACCESS_AXES; i++)
        if (access->axis[i].count > 1)
            place = place_of(access->axis[i].step);
    return place;
}

/* What the first warp of a whole instance does. */
static int first_warp(const tj_access *access, tj_traffic *one)
{
    const bool is_whole_x = access->axis[0].count > 1, is_whole_y = access->axis[1].count > 1;
    const int32_t live_x = is_whole_x ? access->axis[0].full : access->axis[0].last,
                  live_y = is_whole_y ? access->axis[1].full : access->axis[1].last;
    pattern p;

    p.lanes = 0;
    for (int32_t t = 0, tx = 0, ty = 0; t < WARP && ty < live_y; t++) {
        if (tx < live_x) {
            p.lane[p.lanes] = t;
            p.address[p.lanes++] = tx * access->step_x + ty * access->step_y;
        }
        ty += ++tx == access->threads_x;
        tx = tx == access->threads_x ? 0 : tx;
    }
    memset(one, 0, sizeof *one);
    count_request(access, &p, FAR + usual_place(access), 1, one);
    return p.lanes;
}

static void estimate_instances(const tj_access *access, const tj_traffic *one, int lanes, int32_t live_x, int32_t live_y,
                               int64_t times, tj_traffic *out)
{
    const int64_t warps = warps_at_work(access, live_x, live_y), threads = (int64_t)live_x * live_y;
    const double alike = (double)times * fmin((double)threads / lanes, (double)warps);

    out->elements += times * threads * (one->elements / lanes);
    out->bytes += times * threads * (one->bytes / lanes);
    out->requests += times * warps;
    out->wavefronts += (int64_t)(alike * (double)one->wavefronts);
    out->sectors += (int64_t)(alike * (double)one->sectors);
    out->merged += (int64_t)(alike * (double)one->wavefronts / (access->merges > 1 ? access->merges : 1));
}

static void estimate(tj_traffic *traffic, const tj_access *access)
{
    const tj_axis *x = &access->axis[0], *y = &access->axis[1];
    const int64_t times = instances(&access->axis[2]) * instances(&access->axis[3]) * access->repeat;
    const int64_t clipped_x = x->last != x->full, clipped_y = y->last != y->full;
    const int64_t whole_x = instances(x) - clipped_x, whole_y = instances(y) - clipped_y;
    tj_traffic one;
    const int lanes = times > 0 ? first_warp(access, &one) : 0;

    if (lanes == 0)
        return;
    if (whole_x > 0 && whole_y > 0)
        estimate_instances(access, &one, lanes, x->full, y->full, times * whole_x * whole_y, traffic);
    if (clipped_x > 0 && whole_y > 0)
        estimate_instances(access, &one, lanes, x->last, y->full, times * whole_y, traffic);
    if (whole_x > 0 && clipped_y > 0)
        estimate_instances(access, &one, lanes, x->full, y->last, times * whole_x, traffic);
    if (clipped_x > 0 && clipped_y > 0)
        estimate_instances(access, &one, lanes, x->last, y->last, times, traffic);
}

/* ---- both --------------------------------------------------------------------------------------------------------- */

static void count_all(tj_traffic *traffic, const tj_access *access)
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

void tj_traffic_add(tj_traffic *traffic, const tj_access *access)
{
    if (traffic->is_estimate)
        estimate(traffic, access);
    else
        count_all(traffic, access);
}
