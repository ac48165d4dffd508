/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simt: declarations that the form of the family (form.c) and its counts (counts.c) share.
 */
#ifndef TJ_GENERATOR_SIMT_H
#define TJ_GENERATOR_SIMT_H

#include "family.h"

enum { TJ_SIMT_LANE_ROWS = 4, TJ_SIMT_LANE_COLS = 8 }; /* arrangement of the lanes of a warp */
enum { TJ_SIMT_TOGETHER = 1, TJ_SIMT_SPREAD = 2 };     /* values of parameter start */
enum { TJ_SIMT_PIECE_STEPS = 4 };                      /* steps of a phase for each piece of its copies, with start=spread */
enum { TJ_SIMT_RUN = 8 };                              /* divides the length of a phase of asynchronous copies */

/** The parameters by name. tile_threads: of one slice; threads: of the block. */
typedef struct tj_simt_shape {
    int32_t bm, bn, bk, tm, tn, slices, splits, stages, copy, vector, start, tile_threads, threads;
} tj_simt_shape;

tj_simt_shape tj_simt_shape_of(const tj_config *config);

/** Where this dimension is checked: are tiles that reach beyond its end moved back, rather than their copies clipped? */
bool tj_simt_moves(const tj_dim *dim, int32_t tile);

/** Return VEC, the elements of one 16-byte access to shared memory. */
int32_t tj_simt_vec(const tj_problem *view);

/** Is a side of the thread tile below 4? Such tiles are for few rows whose sums are not divided. */
static inline bool tj_simt_is_small(const tj_simt_shape *s)
{
    return s->tm < 4 || s->tn < 4;
}

/**
 * Do tiles lie in shared memory line by line along k, as M and N do, so that copies and loads take VEC elements along k? This is so
 * if thread tiles are small, as loads of one step would be many, and both operands lie along k, in lines that are aligned to it.
 */
bool tj_simt_keeps_lines(const tj_problem *view, const tj_simt_shape *s);

/**
 * Return the rows (columns) of a thread that are neighbours, and that one access to shared memory loads: VEC, or all if fewer; 1 if
 * tiles keep lines.
 */
int32_t tj_simt_row_vec(const tj_problem *view, const tj_simt_shape *s);
int32_t tj_simt_col_vec(const tj_problem *view, const tj_simt_shape *s);

/** How the threads copy the tiles of M, or of N. */
typedef struct tj_simt_copy {
    bool along_k;  /* neighbours in memory are neighbours along k */
    int32_t tile;  /* BM or BN */
    int32_t width; /* elements of one copy: the most that 16 bytes, the alignment and the threads' shares allow */
    int32_t run;   /* along k: neighbouring threads that copy neighbours; else 0 */
    int32_t line;  /* else: elements of a row that neighbouring threads copy; the other threads copy further rows */
    int32_t goes;  /* copies of a thread in a phase; 0: the threads do not divide the tile evenly */
    int32_t
        skew; /* copy=registers: length of the gaps in shared memory that make a warp's lanes store to different banks, one */
              /* after every `width` steps along k, or after every 8 * VEC elements of a row */
} tj_simt_copy;

/** Parameters except blocks must be settled, and check_thread_tile must have accepted the number of threads. */
tj_simt_copy tj_simt_copy_of(const tj_problem *view, const tj_simt_shape *s, bool is_m);

/** Return the bytes of shared memory of a block. */
int64_t tj_simt_shared_bytes(const tj_problem *view, const tj_simt_shape *s);

/** Return the registers of a thread's accumulators, the operands of two steps, and the elements in flight. */
int32_t tj_simt_registers(const tj_problem *view, const tj_simt_shape *s);

/** Return the number of elements of P whose accumulators are neighbours in a thread. */
int32_t tj_simt_p_width(const tj_problem *view, const tj_simt_shape *s);

/** Are P and C written and read VEC elements at a time? */
bool tj_simt_has_vector_p(const tj_problem *view, const tj_simt_shape *s);

/**
 * Return the number of neighbouring columns of P of a thread: as many as one access loads, unless these are VEC, rows of P are not
 * aligned, and every element is stored alone. Then neighbouring lanes have neighbouring columns, and N is copied to shared memory in the order that this takes.
 */
int32_t tj_simt_col_run(const tj_problem *view, const tj_simt_shape *s);

/** Configs from which a search begins (tj_family). */
extern const tj_family_values tj_simt_start;

/** The family's count (tj_family). */
void tj_simt_count(const tj_problem *view, const tj_config *config, tj_counts *counts);

#endif
