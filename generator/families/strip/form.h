/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strip: declarations that the form of the family (form.c) and its counts (counts.c) share.
 */
#ifndef TJ_GENERATOR_STRIP_H
#define TJ_GENERATOR_STRIP_H

#include "family.h"

enum { TJ_STRIP_CHUNK = 16 /* bytes of a copy, and of a load from shared memory */, TJ_STRIP_WARP = 32 };
enum { TJ_STRIP_LINE_CHUNKS = 8 }; /* 128 bytes: a cache line, all banks, and the width of the copy engine's swizzle */
enum { TJ_STRIP_LANES = 1, TJ_STRIP_BOXES = 2 }; /* what copies M and N: lanes, or the copy engine */

/** The parameters by name, and numbers that the source derives from them. */
typedef struct tj_strip_shape {
    int32_t tm, tn, row_lanes, col_lanes, steps, warps, stages, splits;
    int32_t vector;  /* elements of a chunk */
    int32_t k_lanes; /* lanes along k */
    int32_t rows;    /* of a block */
    int32_t cols;    /* l */
    int32_t chunks;  /* of a row of M in a phase: those of a warp or, with boxes, of all warps */
    int32_t turn;    /* elements along k that all warps of a block multiply in one turn */
    int32_t pitch;   /* chunks from one line of N to the next */
    int32_t boxes;   /* boxes of N in a phase, each eight chunks wide; 0: lanes copy N */
    int32_t threads; /* of a block */
    int32_t share;   /* accumulators of a lane after the lanes along k have folded theirs */
    int32_t sum_bytes;
} tj_strip_shape;

tj_strip_shape tj_strip_shape_of(const tj_problem *view, const tj_config *config);

/** Return the bytes of shared memory of a block: the tiles of all stages, and the accumulators of its warps. */
int64_t tj_strip_rings_bytes(const tj_strip_shape *s);

/** Return the place of a chunk of M within its row in shared memory. */
int32_t tj_strip_place_of(const tj_strip_shape *s, int32_t row, int32_t chunk);

/** Return the place of a chunk of N in the tile, in chunks. A line has as many rows of N as a chunk has elements. */
int64_t tj_strip_n_place(const tj_strip_shape *s, int32_t line, int32_t chunk);

/** Configs from which a search begins (tj_family). */
extern const tj_family_values tj_strip_start;

/** The family's count (tj_family). */
void tj_strip_count(const tj_problem *view, const tj_config *config, tj_counts *counts);

#endif
