/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mma: declarations that the form of the family (form.c) and its counts (counts.c) share.
 */
#ifndef TJ_GENERATOR_MMA_H
#define TJ_GENERATOR_MMA_H

#include "invariant.h"
#include "parts/block_scales.h"
#include "parts/pack.h"

enum { TJ_MMA_ROWS = 16, TJ_MMA_COLS = 8 }; /* of one product of the tensor cores */
enum { TJ_MMA_CHUNK = 16 };                 /* bytes of a line that ldmatrix reads at once */

/** Values of parameter pack: the operands that are copied to the workspace first. Minus 1, they are bits: M, N. */
enum { TJ_MMA_PACK_NONE = 1, TJ_MMA_PACK_M = 2, TJ_MMA_PACK_N = 3, TJ_MMA_PACK_BOTH = 4 };

/** Values of parameter load: whether fragments are loaded a step ahead or when needed. */
enum { TJ_MMA_AHEAD = 1, TJ_MMA_NEEDED = 2 };

/** Values of parameter transpose. */
enum { TJ_MMA_TRANSPOSE_NO = 1, TJ_MMA_TRANSPOSE_YES = 2 };

/** Values of parameter scales: whether scales along k multiply sums of a part, or the products in the instruction. */
enum { TJ_MMA_SCALES_OF_SUMS = 1, TJ_MMA_SCALES_IN_INSTRUCTION = 2 };

/** The parameters by name, and numbers derived from them and from the types of M and N. */
typedef struct tj_mma_shape {
    int32_t bm, bn, steps, wm, wn, splits, stages, blocks, copy, pack, load, slices, scales, width, vector, group, rows,
        transpose;
    int32_t element_bytes, k_step, slice_k, bk, threads; /* slice_k: elements of k of a slice of a phase */
} tj_mma_shape;

tj_mma_shape tj_mma_shape_of(const tj_problem *view, const tj_config *config);

/** How fragments of an operand are loaded from shared memory. */
typedef enum tj_mma_load {
    TJ_MMA_WHOLE,   /* ldmatrix: lines lie along k */
    TJ_MMA_HALVES,  /* ldmatrix transposes elements of 2 bytes */
    TJ_MMA_BYTES,   /* ldmatrix transposes pairs of elements of 1 byte; the warp then separates them */
    TJ_MMA_WEIGHTS, /* ldmatrix transposes 2 or 4 weights of 8 or 4 bits at once; the warp then widens them */
    TJ_MMA_UNITS,   /* two weights along k at a time; the warp then widens them */
    TJ_MMA_WORDS,   /* 8 weights along k, of two steps; the warp then widens them */
    TJ_MMA_RUNS,    /* the 8 elements along k that those are multiplied by */
    TJ_MMA_ELEMENTS /* one element at a time */
} tj_mma_load;

/** How the elements of one copy get to shared memory. */
typedef enum tj_mma_pass {
    TJ_MMA_PAST,    /* past the registers: cp.async */
    TJ_MMA_THROUGH, /* through registers, by one load */
    TJ_MMA_GATHERED /* by a load for each element, where a wider one is not aligned */
} tj_mma_pass;

/** How a tile of the source's M or N lies in shared memory, and how the threads copy it. */
typedef struct tj_mma_tile {
    int32_t lines, line; /* number of lines, and stored elements of one */
    int32_t pitch;       /* elements from one line to the next */
    int32_t bytes;       /* of an element */
    int32_t neighbours;  /* neighbouring rows of M, or columns of N, of one lane */
    int32_t width;       /* elements of one copy */
    int32_t go;          /* lines that the block copies at once; 0: the threads do not divide a line evenly */
    int32_t goes;        /* copies of a thread in a phase */
    tj_mma_load load;
    tj_mma_pass pass;
} tj_mma_tile;

tj_mma_tile tj_mma_tile_of(const tj_problem *view, const tj_mma_shape *s, bool is_m);

static inline bool tj_mma_scales_products(const tj_mma_shape *s)
{
    return s->scales == TJ_MMA_SCALES_IN_INSTRUCTION;
}

/** Return the words of scales that a lane holds for a row or column of a phase, with scales in the instruction. */
static inline int32_t tj_mma_scale_words(const tj_problem *view, const tj_mma_shape *s)
{
    return s->steps * tj_block_scales_of_step(view) / 4;
}

/**
 * Return the elements of k whose products have a sum of their own, which is added to that of all: those that have one scale, unless
 * the instruction multiplies by it; and with compute f32_fp8, where tensor cores may add them with 13 bits, 128 at most. 0: there is
 * one sum.
 */
int32_t tj_mma_part_k(const tj_problem *view, const tj_mma_shape *s);

/**
 * Does the source multiply 8-bit floats as halves where only sm_120 and newer add their products with all bits? If not, it does so
 * on sm_89 alone, and ptxas up to sm_110: with a sum for each product that begins at 0, so with more registers and additions.
 * On an H200 warp tiles of 64 x 32 take 0.84 times as long with halves in the source, those of 16 x 32 1.02 to 1.15 times. With
 * an invariant the size of a tile must not change the sum.
 */
static inline bool tj_mma_writes_halves(const tj_problem *view, const tj_mma_shape *s)
{
    return s->wm * s->wn >= 64 * 32 || tj_is_invariant(view);
}

/** Do all rows of M, or columns of N, in the tile of a warp share one scale of a part of k? */
bool tj_mma_has_one_scale(const tj_problem *view, const tj_mma_shape *s, bool is_m);

/** Return the number of a thread's copies through registers that are in flight at once, among those of a tile in a phase. */
int32_t tj_mma_copies_at_once(const tj_problem *view, const tj_mma_shape *s, bool is_m);

/** Is the source's M, or its N, packed? */
bool tj_mma_packs(const tj_mma_shape *s, bool is_m);

/** Is the source's M, or its N, weights that the product itself widens? */
bool tj_mma_widens(const tj_problem *view, const tj_mma_shape *s, bool is_m);

/** Do the weights lie unchanged in shared memory? */
static inline bool tj_mma_keeps_weights(const tj_mma_tile *t)
{
    return t->load == TJ_MMA_WEIGHTS || t->load == TJ_MMA_UNITS || t->load == TJ_MMA_WORDS;
}

/** Are elements of two steps loaded at once, 8 neighbours along k? */
static inline bool tj_mma_loads_words(const tj_mma_tile *t)
{
    return t->load == TJ_MMA_WORDS || t->load == TJ_MMA_RUNS;
}

/** Do the copies to shared memory widen the weights? */
static inline bool tj_mma_widens_copies(const tj_problem *view, const tj_mma_shape *s, const tj_mma_tile *t, bool is_m)
{
    return tj_mma_widens(view, s, is_m) && !tj_mma_keeps_weights(t);
}

/** Return how both operands are packed. */
tj_pack tj_mma_pack_of(const tj_problem *view, const tj_mma_shape *s);

/** Return the number of elements of P, or of the workspace, that one store writes. */
int32_t tj_mma_p_vector(const tj_problem *view, const tj_mma_shape *s);

/** Return the bytes of shared memory of a block. */
int64_t tj_mma_shared_bytes(const tj_problem *view, const tj_mma_shape *s);

/**
 * Has the source's M, or its N, weights with zero points of floats? A whole number near each is taken from its weights, in 16 bits
 * and exactly. The rest, times the sum of what they are multiplied by, is taken from the sum of a part, in f32. So the error is at
 * most three times that of weights less zero points.
 */
bool tj_mma_has_float_zeros(const tj_problem *view, bool is_m);

/**
 * Is each part of an element of c64 the sum of two numbers of tf32 (compute f32_split)? Three products of these take the place of
 * one, and the sum of each step is added in f32.
 */
static inline bool tj_mma_splits_c64(const tj_problem *view)
{
    return view->compute == TJ_COMPUTE_F32_SPLIT;
}

/** Return the number of a thread's accumulators; with scales along k, including those of a part of k. */
int32_t tj_mma_sums(const tj_problem *view, const tj_mma_shape *s);

/** Return the parts of a slice of a phase that have scales of their own; 1 without scales along k. */
int32_t tj_mma_parts(const tj_problem *view, const tj_mma_shape *s);

/** Return the registers of a thread's accumulators and of the fragments that it holds at once. */
int32_t tj_mma_registers(const tj_problem *view, const tj_mma_shape *s);

/** Return the tj_pipe of the tensor cores that multiply this problem's elements. */
int32_t tj_mma_pipe(const tj_problem *view, const tj_mma_shape *s);

/** Configs from which a search begins (tj_family). */
extern const tj_family_values tj_mma_start;

/**
 * Does the last phase wait and load as the others do? It does in f64, where ptxas would move a conditional barrier and its
 * loads after the loop, with no product to overlap them.
 */
static inline bool tj_mma_walks_evenly(const tj_mma_shape *s)
{
    return s->element_bytes >= 8 && s->load == TJ_MMA_AHEAD;
}

/** The family's count (tj_family). */
void tj_mma_count(const tj_problem *view, const tj_config *config, tj_counts *counts);

#endif
