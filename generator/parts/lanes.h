/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lanes: the traffic of one request of one warp, lane by lane, and the places within a line of 128 bytes where such requests
 * begin.
 */
#ifndef TJ_GENERATOR_LANES_H
#define TJ_GENERATOR_LANES_H

#include <stdbool.h>

#include "counts.h"

enum { TJ_WARP = 32, TJ_LINE = 128 };

/** The active lanes, in ascending order, and the address of each. */
typedef struct tj_lanes {
    int count;
    int32_t lane[TJ_WARP];
    int64_t address[TJ_WARP]; /* bytes from an arbitrary origin; aligned to an access */
    int32_t element_bytes;
    int32_t width;  /* elements of one access; 0: as 1 */
    int32_t merges; /* wavefronts that become one when ptxas merges neighbouring accesses; 0: none */
    bool is_shared; /* true: shared memory, served by banks; false: global memory */
} tj_lanes;

/** Add to *traffic `times` requests of these lanes, each shifted by `begin` bytes. */
void tj_lanes_add(tj_traffic *traffic, const tj_lanes *lanes, int64_t begin, int64_t times);

/** Number of requests by the place within a line at which they begin; traffic depends on nothing else of their addresses. */
typedef struct tj_places {
    int64_t count[TJ_LINE];
} tj_places;

int32_t tj_place_of(int64_t address);

/** Return the places of `count` requests, `step` bytes apart, beginning at number `first`. */
tj_places tj_places_of(int64_t first, int64_t count, int64_t step);

/** Return the places of every request of a at every request of b. */
tj_places tj_places_combine(const tj_places *a, const tj_places *b);

/** Call tj_lanes_add for each of these places, and count the traffic `times` times. */
void tj_lanes_add_at(tj_traffic *traffic, const tj_lanes *lanes, const tj_places *places, int64_t times);

/** Do both have the same lanes at the same addresses relative to the first lane? */
bool tj_lanes_are_alike(const tj_lanes *a, const tj_lanes *b);

#endif
