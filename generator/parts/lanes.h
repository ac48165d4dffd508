/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lanes: what one request of one warp moves, lane by lane, and where in a line of 128 bytes such requests begin.
 */
#ifndef TJ_GENERATOR_LANES_H
#define TJ_GENERATOR_LANES_H

#include <stdbool.h>

#include <tilejit/analysis.h>

enum { TJ_WARP = 32, TJ_LINE = 128 };

/** The lanes at work, in ascending order, and where each of them begins. */
typedef struct tj_lanes {
    int count;
    int32_t lane[TJ_WARP];
    int64_t address[TJ_WARP]; /* bytes, from anywhere; aligned to an access */
    int32_t element_bytes;
    int32_t width;  /* elements of one access; 0: as 1 */
    int32_t merges; /* so many wavefronts become one when ptxas merges neighbours; 0: none */
    bool is_shared; /* shared memory: banks decide; else global memory */
} tj_lanes;

/** Add to *traffic what so many requests move that begin so many bytes further on. */
void tj_lanes_add(tj_traffic *traffic, const tj_lanes *lanes, int64_t begin, int64_t times);

/** How many begin at each place within a line: nothing else matters of where a request begins. */
typedef struct tj_places {
    int64_t count[TJ_LINE];
} tj_places;

int32_t tj_place_of(int64_t address);

/** `count` of them, `step` bytes apart, from number `first` on. */
tj_places tj_places_of(int64_t first, int64_t count, int64_t step);

/** All of one at each of the other. */
tj_places tj_places_combine(const tj_places *a, const tj_places *b);

/** tj_lanes_add at each of these places, `times` as often. */
void tj_lanes_add_at(tj_traffic *traffic, const tj_lanes *lanes, const tj_places *places, int64_t times);

/** The same lanes, seen from the first of them, in the same places? */
bool tj_lanes_are_alike(const tj_lanes *a, const tj_lanes *b);

#endif
