/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simt: what the form of the family (simt.c) and its counts (simt_count.c) both know.
 */
#ifndef TJ_GENERATOR_SIMT_H
#define TJ_GENERATOR_SIMT_H

#include "../family.h"

enum { TJ_SIMT_LANE_ROWS = 4, TJ_SIMT_LANE_COLS = 8 }; /* how the lanes of a warp stand */
enum { TJ_SIMT_ASYNC = 1, TJ_SIMT_REGISTERS = 2 };     /* values of parameter copy */
enum { TJ_SIMT_TOGETHER = 1, TJ_SIMT_SPREAD = 2 };     /* and of start */
enum { TJ_SIMT_PIECE_STEPS = 4 };                      /* of a phase, for each piece of its copies that start=spread makes */

/** The parameters by name. tile_threads: of one slice; threads: of the block. */
typedef struct tj_simt_shape {
    int32_t bm, bn, bk, tm, tn, slices, stages, copy, start, tile_threads, threads;
} tj_simt_shape;

tj_simt_shape tj_simt_shape_of(const tj_config *config);

/** Where this dimension is checked, are tiles that reach beyond its end moved back, rather than their copies clipped? */
bool tj_simt_moves(const tj_dim *dim, int32_t tile);

/**
 * Threads side by side that copy neighbours along k, `width` elements each; 0: so wide, the threads cannot share the tile alike.
 * across: BM or BN.
 */
int32_t tj_simt_run(const tj_simt_shape *s, int32_t width, int32_t across);

/** Of an element in shared memory and in registers. */
int32_t tj_simt_sum_bytes(const tj_problem *text);

/** Elements of one 16-byte access to shared memory: VEC. */
int32_t tj_simt_vec(const tj_problem *text);

/**
 * Elements of a row of a tile (across of them) that the threads copy in one go, width at a time; threads to spare take further rows.
 * Narrow copies are many: a warp takes a short line of a row, then its next copies are in reach of the same address.
 */
int32_t tj_simt_line(const tj_simt_shape *s, int32_t width, int32_t across);

/**
 * Elements of one copy from M, and from N: as many as 16 bytes hold, or as alignment and the threads' shares allow. An asynchronous
 * copy cannot transpose, so what lies along k it takes one by one.
 */
int32_t tj_simt_m_width(const tj_problem *text, const tj_config *config);
int32_t tj_simt_n_width(const tj_problem *text, const tj_config *config);

/**
 * copy=registers: how many places stay empty in a tile in shared memory, so that the lanes of a warp store to different banks: after
 * every `width` steps where the operand lies along k, else after every 8 * VEC elements of a row. is_m: of M's tile.
 */
int32_t tj_simt_skew(const tj_simt_shape *s, bool is_m, bool along_k, int32_t width, int32_t vec);

/** Those that the sums of a thread take, the operands of two steps, and what is on its way through registers. */
int32_t tj_simt_registers(const tj_problem *text, const tj_config *config);

/** Are P and C written and read VEC elements at a time? */
bool tj_simt_has_vector_p(const tj_problem *text, const tj_config *config);

/**
 * Columns of P that a thread has side by side. VEC, but where rows of P are not aligned and every element is stored by itself:
 * then neighbouring lanes had better have neighbouring columns. N is copied to shared memory in an order that makes it so.
 */
int32_t tj_simt_col_run(const tj_problem *text, const tj_config *config);

/** The family's count (tj_family). */
void tj_simt_count(const tj_problem *text, const tj_config *config, tj_counts *counts);

#endif
