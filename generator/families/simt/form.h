/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simt: what the form of the family (form.c) and its counts (counts.c) both know.
 */
#ifndef TJ_GENERATOR_SIMT_H
#define TJ_GENERATOR_SIMT_H

#include "family.h"

enum { TJ_SIMT_LANE_ROWS = 4, TJ_SIMT_LANE_COLS = 8 }; /* how the lanes of a warp stand */
enum { TJ_SIMT_TOGETHER = 1, TJ_SIMT_SPREAD = 2 };     /* values of parameter start */
enum { TJ_SIMT_PIECE_STEPS = 4 };                      /* of a phase, for each piece of its copies that start=spread makes */
enum { TJ_SIMT_RUN = 8 };                              /* a phase of asynchronous copies is a multiple of it */

/** The parameters by name. tile_threads: of one slice; threads: of the block. */
typedef struct tj_simt_shape {
    int32_t bm, bn, bk, tm, tn, slices, splits, stages, copy, vector, start, tile_threads, threads;
} tj_simt_shape;

tj_simt_shape tj_simt_shape_of(const tj_config *config);

/** Where this dimension is checked, are tiles that reach beyond its end moved back, rather than their copies clipped? */
bool tj_simt_moves(const tj_dim *dim, int32_t tile);

/** Elements of one 16-byte access to shared memory: VEC. */
int32_t tj_simt_vec(const tj_problem *view);

/** How the threads copy the tiles of M, or of N. */
typedef struct tj_simt_copy {
    bool along_k;  /* neighbours in memory are neighbours along k */
    int32_t tile;  /* BM or BN */
    int32_t width; /* elements of one copy: as many as 16 bytes hold, or as alignment and the threads' shares allow */
    int32_t run;   /* along k: threads side by side that copy neighbours; else 0 */
    int32_t line;  /* else: elements of a row that threads side by side copy; threads to spare take further rows */
    int32_t goes;  /* copies of a thread for each phase; 0: the threads cannot share the tile alike */
    int32_t
        skew; /* copy=registers: places in shared memory that stay empty, so that the lanes of a warp store to different banks: */
              /* after every `width` steps along k, else after every 8 * VEC elements of a row */
} tj_simt_copy;

/** The parameters are settled but for blocks, and the threads are as many as check_thread_tile wants. */
tj_simt_copy tj_simt_copy_of(const tj_problem *view, const tj_simt_shape *s, bool is_m);

/** Of a block. */
int64_t tj_simt_shared_bytes(const tj_problem *view, const tj_simt_shape *s);

/** Those that the sums of a thread take, the operands of two steps, and what is on its way through registers. */
int32_t tj_simt_registers(const tj_problem *view, const tj_simt_shape *s);

/** Elements of P whose sums lie side by side in a thread. */
int32_t tj_simt_p_width(const tj_problem *view, const tj_simt_shape *s);

/** Are P and C written and read VEC elements at a time? */
bool tj_simt_has_vector_p(const tj_problem *view, const tj_simt_shape *s);

/**
 * Columns of P that a thread has side by side. VEC, but where rows of P are not aligned and every element is stored by itself:
 * then neighbouring lanes had better have neighbouring columns. N is copied to shared memory in an order that makes it so.
 */
int32_t tj_simt_col_run(const tj_problem *view, const tj_simt_shape *s);

/** Where a search begins (tj_family). */
extern const tj_family_values tj_simt_start;

/** The family's count (tj_family). */
void tj_simt_count(const tj_problem *view, const tj_config *config, tj_counts *counts);

#endif
