/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scales: how the threads read the scales of M and N, and the traffic of that. The scales of a product directly follow those of
 * the product before.
 */
#ifndef TJ_GENERATOR_SCALES_H
#define TJ_GENERATOR_SCALES_H

#include "template.h"
#include "traffic.h"

typedef enum tj_scales_read {
    TJ_SCALES_BY_ELEMENT, /* for each element of P, of which a thread has one */
    TJ_SCALES_IN_TURN,    /* for one element after the other; but a single scale of all of M or N is read before the elements */
    TJ_SCALES_AHEAD       /* all scales of a thread's rows and columns, before its elements (templates/parts/scales.cuh) */
} tj_scales_read;

/** Describe the factors of the epilogue. A product that splits k leaves scales to the last kernel. fill may be NULL. */
void tj_scales_describe(const tj_problem *view, tj_scales_read how, int32_t splits, tj_template_params *fill);

/**
 * Print how the source reads scales, zero points or the number of the whole matrix (TJ_SCALE_OPERANDS), and stores the scales of
 * P: "scale_n[part * ld_scale_n + Col]". part: the name of the part of k of this matrix (of P: of columns); other: that of the row
 * of M or P, or of the column of N.
 */
void tj_scales_print_read(const tj_problem *view, int index, const char *part, const char *other,
                          char text[TJ_TEMPLATE_VALUE_BYTES]);

/** The source's names for the k, and for the row of M or column of N, of an element that a thread reads. */
typedef struct tj_scales_place {
    const char *k, *other;
} tj_scales_place;

/** Count `loads` scales along k, read by threads of whole warps: an estimate. */
void tj_scales_count_along_k(const tj_problem *view, int64_t loads, tj_traffic *traffic);

/** Count blocks of x by y threads (or turns of a loop) that map to rows and columns of P as the block does. */
void tj_scales_count_tiles(const tj_problem *view, int32_t x, int32_t y, tj_scales_read how, tj_counts *counts);

/** Count whole warps, whose threads take the elements of P in order, line after line. */
void tj_scales_count_in_order(const tj_problem *view, tj_traffic *traffic);

/** Count one scale of all of M or N, which each of `threads` threads in whole warps reads once. */
void tj_scales_count_one(const tj_problem *view, int64_t threads, tj_traffic *traffic);

/** The rows, or the columns, of the threads that read scales ahead. */
typedef struct tj_scales_side {
    int32_t lanes; /* lanes of a warp along this side */
    int32_t run;   /* neighbouring rows or columns of one lane */
    int32_t tile;  /* rows or columns of a block */
    bool moves;    /* the last tile is moved back to end at the edge */
    int64_t again; /* groups of lanes along the other side, in all blocks, which read the same scales */
} tj_scales_side;

/** Count TJ_SCALES_AHEAD. threads: the threads of all blocks that store. */
void tj_scales_count_ahead(const tj_problem *view, const tj_scales_side *rows, const tj_scales_side *cols, int64_t threads,
                           tj_traffic *traffic);

#endif
