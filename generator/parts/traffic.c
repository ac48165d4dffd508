/* SPDX-License-Identifier: Apache-2.0 */
#include "traffic.h"

#include <math.h>
#include <string.h>

#include "checked.h"
#include "lanes.h"

static int64_t instances(const tj_axis *axis)
{
    return axis->count > 0 ? axis->count : 1;
}

/* Set the instances of an axis without (0) or with only (1) the last, if that is clipped. */
static bool part_of(const tj_axis *axis, int part, tj_places *at, int32_t *live)
{
    const int64_t count = instances(axis);
    const bool is_clipped = axis->last != axis->full;

    *live = part == 0 ? axis->full : axis->last;
    if (part == 0)
        *at = tj_places_of(0, count - is_clipped, axis->step);
    else
        *at = tj_places_of(count - 1, 1, axis->step);
    return part == 0 ? count > is_clipped : is_clipped;
}

tj_axis tj_tile_axis(int64_t extent, int32_t tile, int64_t step)
{
    const int32_t rest = (int32_t)(extent % tile);

    return (tj_axis){tj_ceil_div(extent, tile), step, tile, rest ? rest : tile};
}

tj_access tj_tiled_access(int32_t x, int32_t y, int64_t extent_x, int64_t extent_y, int64_t step_x, int64_t step_y)
{
    return (tj_access){.threads_x = x,
                       .threads_y = y,
                       .step_x = step_x,
                       .step_y = step_y,
                       .axis = {tj_tile_axis(extent_x, x, x * step_x), tj_tile_axis(extent_y, y, y * step_y)},
                       .repeat = 1};
}

tj_access tj_shared_access(int32_t x, int32_t y, int64_t step_x, int64_t step_y, int32_t bytes, int32_t width, int64_t repeat)
{
    tj_access access = tj_tiled_access(x, y, x, y, step_x * bytes, step_y * bytes);

    access.element_bytes = bytes;
    access.width = width;
    access.is_shared = true;
    access.repeat = repeat;
    return access;
}

enum { PATTERNS = 8 };

/* Warps whose active lanes have the same relative addresses, and the places where they begin. */
typedef struct pattern {
    tj_lanes lanes; /* relative to the first lane */
    tj_places begin;
} pattern;

static void count_patterns(const tj_access *access, const tj_places *at, const pattern *seen, int *count, tj_traffic *out)
{
    for (int i = 0; i < *count; i++) {
        const tj_places begin = tj_places_combine(&seen[i].begin, at);

        tj_lanes_add_at(out, &seen[i].lanes, &begin, access->repeat);
    }
    *count = 0;
}

/* Begin a list of lanes, empty. */
static void begin_lanes(const tj_access *access, tj_lanes *lanes)
{
    lanes->count = 0;
    lanes->element_bytes = access->element_bytes;
    lanes->width = access->width;
    lanes->merges = access->merges;
    lanes->is_shared = access->is_shared;
}

/* Count one instance at each of these places. Its threads form warps of 32, x first. */
static void count_instance(const tj_access *access, int32_t live_x, int32_t live_y, const tj_places *at, tj_traffic *out)
{
    const int32_t threads = access->threads_x * access->threads_y;
    pattern seen[PATTERNS];
    int count = 0;

    for (int32_t first = 0; first < threads; first += TJ_WARP) {
        tj_lanes lanes;
        int64_t begin = 0;
        int i = 0;

        begin_lanes(access, &lanes);
        for (int32_t t = first; t < first + TJ_WARP && t < threads; t++) {
            const int32_t tx = t % access->threads_x, ty = t / access->threads_x;
            const int64_t address = access->base + tx * access->step_x + ty * access->step_y;

            if (tx >= live_x || ty >= live_y)
                continue;
            begin = lanes.count > 0 ? begin : address;
            lanes.lane[lanes.count] = t - first;
            lanes.address[lanes.count++] = address - begin;
        }
        if (lanes.count == 0)
            continue;
        while (i < count && !tj_lanes_are_alike(&seen[i].lanes, &lanes))
            i++;
        if (i == PATTERNS) {
            count_patterns(access, at, seen, &count, out);
            i = 0;
        }
        if (i == count)
            seen[count++] = (pattern){.lanes = lanes};
        seen[i].begin.count[tj_place_of(begin)]++;
    }
    count_patterns(access, at, seen, &count, out);
}

/* ---- an estimate -------------------------------------------------------------------------------------------------- */

/* Return the number of warps of one instance that have an active thread. */
static int64_t warps_at_work(const tj_access *access, int32_t live_x, int32_t live_y)
{
    if (access->threads_x % TJ_WARP == 0)
        return tj_ceil_div(live_x, TJ_WARP) * live_y;
    if (TJ_WARP % access->threads_x == 0)
        return tj_ceil_div(live_y, TJ_WARP / access->threads_x);
    return tj_ceil_div((int64_t)access->threads_x * live_y, TJ_WARP);
}

/* Return the place of the bases: 0 if all of them begin at a line, else the place of the first that does not. */
static int64_t usual_place(const tj_access *access)
{
    int64_t place = tj_place_of(access->base);

    for (size_t i = 0; place == 0 && i < TJ_ACCESS_AXES; i++)
        if (access->axis[i].count > 1)
            place = tj_place_of(access->axis[i].step);
    return place;
}

/* Count the first warp of a whole instance. */
static int first_warp(const tj_access *access, tj_traffic *one)
{
    const bool is_whole_x = access->axis[0].count > 1, is_whole_y = access->axis[1].count > 1;
    const int32_t live_x = is_whole_x ? access->axis[0].full : access->axis[0].last,
                  live_y = is_whole_y ? access->axis[1].full : access->axis[1].last;
    tj_lanes lanes;

    begin_lanes(access, &lanes);
    for (int32_t t = 0, tx = 0, ty = 0; t < TJ_WARP && ty < live_y; t++) {
        if (tx < live_x) {
            lanes.lane[lanes.count] = t;
            lanes.address[lanes.count++] = tx * access->step_x + ty * access->step_y;
        }
        ty += ++tx == access->threads_x;
        tx = tx == access->threads_x ? 0 : tx;
    }
    memset(one, 0, sizeof *one);
    tj_lanes_add(one, &lanes, usual_place(access), 1);
    return lanes.count;
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

void tj_traffic_add_in_order(int64_t elements, int64_t bytes, tj_traffic *traffic)
{
    const int64_t requests = tj_ceil_div(elements, TJ_WARP);

    traffic->elements += elements;
    traffic->bytes += elements * bytes;
    traffic->requests += requests;
    traffic->wavefronts += requests;
    traffic->merged += requests;
    traffic->sectors += requests * bytes;
    traffic->is_estimate = 1;
}

/* ---- exact and estimated ------------------------------------------------------------------------------------------ */

static void count_all(tj_traffic *traffic, const tj_access *access)
{
    const tj_places free_a = tj_places_of(0, instances(&access->axis[2]), access->axis[2].step);
    const tj_places free_b = tj_places_of(0, instances(&access->axis[3]), access->axis[3].step);
    const tj_places free_axes = tj_places_combine(&free_a, &free_b);

    for (int part = 0; part < 4; part++) {
        tj_places x, y, at;
        int32_t live_x, live_y;

        if (!part_of(&access->axis[0], part & 1, &x, &live_x) || !part_of(&access->axis[1], part >> 1, &y, &live_y))
            continue;
        at = tj_places_combine(&x, &y);
        at = tj_places_combine(&at, &free_axes);
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
