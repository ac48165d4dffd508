/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strip: what the form of the family (form.c) and its counts (counts.c) both know.
 */
#ifndef TJ_GENERATOR_STRIP_H
#define TJ_GENERATOR_STRIP_H

#include "family.h"

enum { TJ_STRIP_CHUNK = 16 /* bytes of a copy, and of a load from shared memory */, TJ_STRIP_WARP = 32 };

/** The parameters by name, and what the text derives from them. */
typedef struct tj_strip_shape {
    int32_t tm, tn, row_lanes, col_lanes, steps, warps, stages, splits;
    int32_t vector;  /* elements of a chunk */
    int32_t k_lanes; /* lanes along k */
    int32_t rows;    /* of a block */
    int32_t cols;    /* l */
    int32_t chunks;  /* of a row of M in a phase */
    int32_t pitch;   /* chunks from one group of rows of N to the next */
    int32_t share;   /* sums of a lane when the lanes along k have folded theirs */
    int32_t sum_bytes;
} tj_strip_shape;

tj_strip_shape tj_strip_shape_of(const tj_problem *view, const tj_config *config);

/** Bytes of what a warp has in shared memory. */
int64_t tj_strip_ring_bytes(const tj_strip_shape *s);

/** The chunk of its row where a chunk of M lies in shared memory. */
int32_t tj_strip_place_of(const tj_strip_shape *s, int32_t row, int32_t chunk);

/** Where a search begins (tj_family). */
extern const tj_family_values tj_strip_start;

/** The family's count (tj_family). */
void tj_strip_count(const tj_problem *view, const tj_config *config, tj_counts *counts);

#endif
