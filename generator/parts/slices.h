/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slices: the traffic of templates/parts/slices.cuh, where the sums of a block's slices of k become one, as a tree in shared
 * memory, and threads finish the elements of P one after the other.
 */
#ifndef TJ_GENERATOR_SLICES_H
#define TJ_GENERATOR_SLICES_H

#include "traffic.h"

typedef struct tj_slices {
    int32_t count, rows, cols; /* slices; rows that lie in shared memory at once, and columns of a block */
    int32_t tm, pitch;         /* rows of a block; sums from one slice to the next */
} tj_slices;

/** Count additions, barriers, and the traffic of sums, P or the workspace, C and the scales of the whole sum. */
void tj_slices_count(const tj_problem *view, const tj_slices *slices, tj_counts *counts);

#endif
