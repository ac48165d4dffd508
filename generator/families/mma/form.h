/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mma: what the form of the family (form.c) and its counts (counts.c) both know.
 */
#ifndef TJ_GENERATOR_MMA_H
#define TJ_GENERATOR_MMA_H

#include "parts/pack.h"

enum { TJ_MMA_ROWS = 16, TJ_MMA_COLS = 8 }; /* of one product of the tensor cores */
enum { TJ_MMA_CHUNK = 16 };                 /* bytes that ldmatrix reads of a line */

/** Values of parameter pack: which operands are copied to the workspace first. As bits, less 1: M, N. */
enum { TJ_MMA_PACK_NONE = 1, TJ_MMA_PACK_M = 2, TJ_MMA_PACK_N = 3, TJ_MMA_PACK_BOTH = 4 };

/** Values of parameter load: when fragments are loaded. */
enum { TJ_MMA_AHEAD = 1, TJ_MMA_NEEDED = 2 };

/** Values of parameter transpose. */
enum { TJ_MMA_TRANSPOSE_NO = 1, TJ_MMA_TRANSPOSE_YES = 2 };

/** The parameters by name, and what follows from them and the type of M and N. */
typedef struct tj_mma_shape {
    int32_t bm, bn, steps, wm, wn, splits, stages, blocks, copy, pack, load, width, vector, group, rows, transpose;
    int32_t element_bytes, k_step, bk, threads;
} tj_mma_shape;

tj_mma_shape tj_mma_shape_of(const tj_problem *view, const tj_config *config);

/** How fragments of an operand come from shared memory. */
typedef enum tj_mma_load {
    TJ_MMA_WHOLE,   /* ldmatrix, as lines lie along k */
    TJ_MMA_HALVES,  /* ldmatrix transposes elements of 2 bytes */
    TJ_MMA_BYTES,   /* it transposes pairs of elements of 1 byte, which are parted after that */
    TJ_MMA_WEIGHTS, /* so it does weights of 8 or 4 bits, 2 or 4 at once, which are widened after that */
    TJ_MMA_UNITS,   /* weights that lie along k come two by two, and are widened after that */
    TJ_MMA_ELEMENTS /* one by one */
} tj_mma_load;

/** How the elements of one copy come to shared memory. */
typedef enum tj_mma_pass {
    TJ_MMA_PAST,    /* the registers: cp.async */
    TJ_MMA_THROUGH, /* the registers, by one load */
    TJ_MMA_GATHERED /* by a load for each element, where no wider one is aligned */
} tj_mma_pass;

/** How a tile lies in shared memory, and how the threads copy it. The text's M, or its N. */
typedef struct tj_mma_tile {
    int32_t lines, line; /* lines, and stored elements of one */
    int32_t pitch;       /* elements from one line to the next */
    int32_t bytes;       /* of an element */
    int32_t neighbours;  /* rows of M, or columns of N, that a lane has side by side where others have one */
    int32_t width;       /* elements of one copy */
    int32_t go;          /* lines that the block copies in one go; 0: the threads cannot share a line alike */
    int32_t goes;        /* copies of a thread, in a phase */
    tj_mma_load load;
    tj_mma_pass pass;
} tj_mma_tile;

tj_mma_tile tj_mma_tile_of(const tj_problem *view, const tj_mma_shape *s, bool is_m);

/** Copies through registers that a thread has on their way at once, of those that it makes of a tile in a phase. */
int32_t tj_mma_copies_at_once(const tj_problem *view, const tj_mma_shape *s, bool is_m);

/** Is the text's M, or its N, packed? */
bool tj_mma_packs(const tj_mma_shape *s, bool is_m);

/** Is the text's M, or its N, the weights, and widened by the product itself? */
bool tj_mma_widens(const tj_problem *view, const tj_mma_shape *s, bool is_m);

/** Do they lie in shared memory as they come? */
static inline bool tj_mma_keeps_weights(const tj_mma_tile *t)
{
    return t->load == TJ_MMA_WEIGHTS || t->load == TJ_MMA_UNITS;
}

/** Are they widened where copies store them to shared memory? */
static inline bool tj_mma_widens_copies(const tj_problem *view, const tj_mma_shape *s, const tj_mma_tile *t, bool is_m)
{
    return tj_mma_widens(view, s, is_m) && !tj_mma_keeps_weights(t);
}

/** How both are packed. */
tj_pack tj_mma_pack_of(const tj_problem *view, const tj_mma_shape *s);

/** Elements of P, or of the workspace, that one store writes. */
int32_t tj_mma_p_vector(const tj_problem *view, const tj_mma_shape *s);

/** Of a block. */
int64_t tj_mma_shared_bytes(const tj_problem *view, const tj_mma_shape *s);

/** Sums of a thread; with scales along k those of a part of k count too. */
int32_t tj_mma_sums(const tj_problem *view, const tj_mma_shape *s);

/** Registers of a thread's sums, and of the fragments that it has at once. */
int32_t tj_mma_registers(const tj_problem *view, const tj_mma_shape *s);

/** tj_pipe: the tensor cores that multiply elements of this problem. */
int32_t tj_mma_pipe(const tj_problem *view);

/** Where a search begins (tj_family). */
extern const tj_family_values tj_mma_start;

/**
 * Does the last phase wait and load as the others do? In f64, where ptxas puts a condition's barrier and loads behind the loop, and no
 * product beside them.
 */
static inline bool tj_mma_walks_evenly(const tj_mma_shape *s)
{
    return s->element_bytes == 8 && s->load == TJ_MMA_AHEAD;
}

/** The family's count (tj_family). */
void tj_mma_count(const tj_problem *view, const tj_config *config, tj_counts *counts);

#endif
