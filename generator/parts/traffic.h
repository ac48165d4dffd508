/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traffic: count the memory traffic of a block's warps, exactly or as an estimate, for the counts of the families' forms.
 *
 * threads_x by threads_y threads access `width` neighbouring elements each, at base + tx * step_x + ty * step_y bytes, if tx <
 * live_x and ty < live_y. A set of axes enumerates the instances (blocks, phases, steps of k, products of a batch): each axis
 * moves the base by a step, and may have fewer active threads in its last instance.
 */
#ifndef TJ_GENERATOR_TRAFFIC_H
#define TJ_GENERATOR_TRAFFIC_H

#include <stdbool.h>

#include "counts.h"

/** One loop around an access. */
typedef struct tj_axis {
    int64_t count; /* instances */
    int64_t step;  /* bytes from one to the next; 0: none */
    int32_t full;  /* active threads along x or y in each instance; for the first two axes of an access only */
    int32_t last;  /* active threads in the last instance */
} tj_axis;

enum { TJ_ACCESS_AXES = 4 };

typedef struct tj_access {
    int32_t threads_x, threads_y;
    int64_t step_x, step_y; /* bytes */
    int64_t base;           /* bytes */
    int32_t element_bytes;
    int32_t width;                /* elements of one access, aligned to all of them; 0: as 1 */
    bool is_shared;               /* true: shared memory, served by banks; false: global memory */
    tj_axis axis[TJ_ACCESS_AXES]; /* axis[0] clips tx, axis[1] clips ty, the others clip nothing; count 0: as 1 */
    int64_t repeat;               /* how often all of this happens */
    int32_t merges;               /* wavefronts that become one when ptxas merges neighbouring accesses; 0: none */
} tj_access;

/**
 * Return the axis over the tiles of a dimension: `tile` places (elements or vectors) per tile, `step` bytes from tile to tile.
 */
tj_axis tj_tile_axis(int64_t extent, int32_t tile, int64_t step);

/** Return the axis over the products of a batch. stride: of a matrix, in elements; 0 or less: one matrix is shared by all. */
static inline tj_axis tj_batch_axis(int64_t batch, int64_t stride, int64_t element_bytes)
{
    return (tj_axis){batch, stride > 0 ? stride * element_bytes : 0, 0, 0};
}

/**
 * Return an access of x by y threads, tile by tile, to extent_x by extent_y places, step_x and step_y bytes apart. The caller
 * sets the size of a place; repeat is 1.
 */
tj_access tj_tiled_access(int32_t x, int32_t y, int64_t extent_x, int64_t extent_y, int64_t step_x, int64_t step_y);

/** Return an access of x by y threads to shared memory, repeated. Steps are in elements. */
tj_access tj_shared_access(int32_t x, int32_t y, int64_t step_x, int64_t step_y, int32_t bytes, int32_t width, int64_t repeat);

/**
 * Add the traffic of an access to *traffic: exactly or, if *traffic is an estimate, as if all warps were like the first of an
 * instance. Matrices are aligned to 128 bytes.
 */
void tj_traffic_add(tj_traffic *traffic, const tj_access *access);

/** Add accesses of whole warps to neighbouring elements, one after the other: an estimate. */
void tj_traffic_add_in_order(int64_t elements, int64_t bytes, tj_traffic *traffic);

#endif
