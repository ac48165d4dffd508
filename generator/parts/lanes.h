/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lanes: what one request of one warp moves, lane by lane: for threads that do not stand in the rows and columns of traffic.h.
 */
#ifndef TJ_GENERATOR_LANES_H
#define TJ_GENERATOR_LANES_H

#include <stdbool.h>

#include <tilejit/analysis.h>

enum { TJ_WARP = 32 };

/** The lanes at work, in ascending order, and where each of them begins. */
typedef struct tj_lanes {
    int count;
    int32_t lane[TJ_WARP];
    int64_t address[TJ_WARP]; /* bytes; aligned to an access */
    int32_t element_bytes, width;
    bool is_shared; /* shared memory: banks decide; else global memory */
} tj_lanes;

/** Add to *traffic what so many requests move that begin so many bytes further on. begin is not negative. */
void tj_lanes_add(tj_traffic *traffic, const tj_lanes *lanes, int64_t begin, int64_t times);

#endif
