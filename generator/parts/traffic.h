/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traffic: what the warps of a block touch in memory, counted exactly (or estimated): what the families' forms count with.
 *
 * threads_x by threads_y threads touch `width` neighbouring elements each, at base + tx * step_x + ty * step_y bytes, those
 * with tx < live_x and ty < live_y. Which instances there are (blocks, phases, steps of k, products of a batch) is a set of
 * axes: each moves the base on by a step, and may leave fewer threads at work in its last instance.
 */
#ifndef TJ_GENERATOR_TRAFFIC_H
#define TJ_GENERATOR_TRAFFIC_H

#include <stdbool.h>

#include <tilejit/analysis.h>

/** One loop around an access. */
typedef struct tj_axis {
    int64_t count; /* instances */
    int64_t step;  /* bytes from one to the next; 0: none */
    int32_t full;  /* threads at work in each, along x or y; for the first two axes of an access only */
    int32_t last;  /* the same in the last instance */
} tj_axis;

enum { TJ_ACCESS_AXES = 4 };

typedef struct tj_access {
    int32_t threads_x, threads_y;
    int64_t step_x, step_y; /* bytes */
    int64_t base;           /* bytes */
    int32_t element_bytes;
    int32_t width;                /* elements of one access, aligned to all of them; 0: as 1 */
    bool is_shared;               /* shared memory: banks decide; else global memory */
    tj_axis axis[TJ_ACCESS_AXES]; /* axis[0] clips tx, axis[1] clips ty, the others clip nothing; count 0: as 1 */
    int64_t repeat;               /* the whole, so often */
    int32_t merges;               /* so many wavefronts become one when ptxas merges neighbours; 0: none */
} tj_access;

/** One axis over the tiles of a dimension: `tile` places each (elements, or vectors of them), `step` bytes from tile to tile. */
tj_axis tj_tile_axis(int64_t extent, int32_t tile, int64_t step);

/** One axis over the products of a batch. stride: of a matrix, in elements; of a broadcast one they are all the same. */
static inline tj_axis tj_batch_axis(int64_t batch, int64_t stride, int64_t element_bytes)
{
    return (tj_axis){batch, stride > 0 ? stride * element_bytes : 0, 0, 0};
}

/** One access of x by y threads, tile by tile, to so many places that lie so many bytes apart. Once; what a place takes is left open. */
tj_access tj_tiled_access(int32_t x, int32_t y, int64_t extent_x, int64_t extent_y, int64_t step_x, int64_t step_y);

/** One access of x by y threads to shared memory, so often. Steps are elements. */
tj_access tj_shared_access(int32_t x, int32_t y, int64_t step_x, int64_t step_y, int32_t bytes, int32_t width, int64_t repeat);

/**
 * Add what an access moves to *traffic: exactly, or, if that is an estimate, as if all warps were like the first of an instance.
 * Matrices are aligned to 128 bytes.
 */
void tj_traffic_add(tj_traffic *traffic, const tj_access *access);

#endif
