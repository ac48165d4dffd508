/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scales: how the threads of a text read the scales of M and N, and what that moves. The scales of one product follow those of the one
 * before.
 */
#ifndef TJ_GENERATOR_SCALES_H
#define TJ_GENERATOR_SCALES_H

#include "template.h"
#include "traffic.h"

typedef enum tj_scales_read {
    TJ_SCALES_BY_ELEMENT, /* for each element of P anew, of which a thread has one */
    TJ_SCALES_IN_TURN,    /* so, for one element after the other; but one scale for all of M, or of N, ahead of them */
    TJ_SCALES_AHEAD       /* those of all rows and columns of a thread, ahead of its elements (templates/parts/scales.cuh) */
} tj_scales_read;

/** What the epilogue multiplies by. A product that splits k leaves scales to the last kernel. fill may be NULL. */
void tj_scales_describe(const tj_problem *view, tj_scales_read how, int32_t splits, tj_template_params *fill);

/** What the text calls the step of k, and the row of M or the column of N, of an element that a thread reads. */
typedef struct tj_scales_place {
    const char *k, *other;
} tj_scales_place;

/**
 * The parameters m_element and n_element, with which a text reads elements of M and N: where scales are along k, each is multiplied by
 * its own as it is read.
 */
void tj_scales_describe_elements(const tj_problem *view, tj_scales_place m, tj_scales_place n, tj_template_params *fill);

/** Scales along k, of which threads of whole warps read so many: an estimate. */
void tj_scales_count_along_k(const tj_problem *view, int64_t loads, tj_traffic *traffic);

/** Blocks of x by y threads, or of turns, that stand on P as they do in the block. */
void tj_scales_count_tiles(const tj_problem *view, int32_t x, int32_t y, tj_scales_read how, tj_counts *counts);

/** Whole warps, whose threads take the elements of P in turn, line after line. */
void tj_scales_count_in_order(const tj_problem *view, tj_traffic *traffic);

/** One scale for all of M, or of N, which so many threads of whole warps read once. */
void tj_scales_count_one(const tj_problem *view, int64_t threads, tj_traffic *traffic);

/** The rows, or the columns, of the threads that read scales ahead. */
typedef struct tj_scales_side {
    int32_t lanes; /* of a warp that stand along them */
    int32_t run;   /* that a lane has side by side, before those of the next lane */
    int32_t tile;  /* of a block */
    bool moves;    /* the last tile is moved back to end where they end */
    int64_t again; /* groups of lanes that stand along the other side, in all blocks, and so read the same */
} tj_scales_side;

/** TJ_SCALES_AHEAD. threads: of all blocks, those that store. */
void tj_scales_count_ahead(const tj_problem *view, const tj_scales_side *rows, const tj_scales_side *cols, int64_t threads,
                           tj_traffic *traffic);

#endif
