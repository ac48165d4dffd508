/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strip: what the form of the family (form.c) and its counts (counts.c) both know.
 */
#ifndef TJ_GENERATOR_STRIP_H
#define TJ_GENERATOR_STRIP_H

#include "family.h"

enum { TJ_STRIP_CHUNK = 16 /* bytes of a copy, and of a load from shared memory */, TJ_STRIP_WARP = 32 };
enum { TJ_STRIP_LINE_CHUNKS = 8 }; /* of 128 bytes: a line of the cache, of all banks, and of what the copy engine swizzles */
enum { TJ_STRIP_LANES = 1, TJ_STRIP_BOXES = 2 }; /* what copies M and N */

/** The parameters by name, and what the text derives from them. */
typedef struct tj_strip_shape {
    int32_t tm, tn, row_lanes, col_lanes, steps, warps, stages, splits;
    int32_t vector;  /* elements of a chunk */
    int32_t k_lanes; /* lanes along k */
    int32_t rows;    /* of a block */
    int32_t cols;    /* l */
    int32_t chunks;  /* of a row of M in a phase, which is a warp's own, or with boxes that of all warps */
    int32_t turn;    /* elements along k that all warps of a block multiply until it is the first one's turn again */
    int32_t pitch;   /* chunks from one line of N to the next */
    int32_t boxes;   /* of N in a phase, which are eight chunks wide; 0: lanes copy it */
    int32_t threads; /* of a block */
    int32_t share;   /* sums of a lane when the lanes along k have folded theirs */
    int32_t sum_bytes;
} tj_strip_shape;

tj_strip_shape tj_strip_shape_of(const tj_problem *view, const tj_config *config);

/** Bytes of shared memory of a block: the tiles of all stages, and the sums of its warps. */
int64_t tj_strip_rings_bytes(const tj_strip_shape *s);

/** The chunk of its row where a chunk of M lies in shared memory. */
int32_t tj_strip_place_of(const tj_strip_shape *s, int32_t row, int32_t chunk);

/** Where a chunk of N lies in the tile, in chunks: of the lines, each of as many rows of N as a chunk has elements. */
int64_t tj_strip_n_place(const tj_strip_shape *s, int32_t line, int32_t chunk);

/** Where a search begins (tj_family). */
extern const tj_family_values tj_strip_start;

/** The family's count (tj_family). */
void tj_strip_count(const tj_problem *view, const tj_config *config, tj_counts *counts);

#endif
