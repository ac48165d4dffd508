/* SPDX-License-Identifier: Apache-2.0 */
/*
 * product: M . N and |M| . |N| in float64, a tile of P at a time, spread over threads.
 *
 * A visitor decides what to do with a tile: check it, or store it to a matrix.
 */
#ifndef TJ_REFERENCE_PRODUCT_H
#define TJ_REFERENCE_PRODUCT_H

#include <stdbool.h>

#include <tilejit/reference.h>

#include "factor.h"

enum {
    TJ_TILE_ROWS = 64,  /* of P; a multiple of 4 */
    TJ_TILE_COLS = 128, /* of P; a multiple of 4 */
    TJ_TILE_STEP = 128  /* of k at a time: the packed blocks of M and N fill half of a usual L2 */
};

/**
 * The place of a matrix's elements: base[batch * stride + row * row_step + col * col_step]; see tj_view_base. A complex matrix is
 * seen as a real one with two columns for each of its own, the real and the imaginary part.
 */
typedef struct tj_matrix_view {
    const void *base;
    tj_type type; /* of a part */
    int64_t row_step, col_step, stride;
    int32_t parts;      /* of an element: 2 if it is complex */
    double sign_of_odd; /* of imaginary parts: -1 if the conjugate is multiplied */
    bool is_array;      /* base is an array of pointers to the matrices, and stride is 0 */
} tj_matrix_view;

static inline const void *tj_view_base(const tj_matrix_view *view, int64_t batch)
{
    return view->is_array ? ((const void *const *)view->base)[batch] : view->base;
}

static inline int64_t tj_view_index(const tj_matrix_view *view, int64_t batch, int64_t row, int64_t col)
{
    return (batch * view->stride + row * view->row_step + col / view->parts * view->col_step) * view->parts + col % view->parts;
}

/** Some rows and some columns of one product of the batch. Arrays are TJ_TILE_COLS wide. */
typedef struct tj_tile {
    int64_t batch, first_col;
    int row_count, col_count;
    const int64_t *rows;     /* row_count rows of P */
    const double *sum;       /* M . N */
    const double *rest;      /* the compensation of sum, f64 only, else NULL */
    const double *magnitude; /* |M| . |N|, or NULL if not wanted */
    const double *chain;     /* M . N by one multiply-add of the sum's type after the other, or NULL if not wanted */
    const bool *row_special; /* the row of M has a NaN or an infinity */
    const bool *col_special; /* the column of N has one */
} tj_tile;

/** Called from several threads, but never from two at once with the same worker. */
typedef void (*tj_tile_fn)(const tj_tile *tile, int worker, void *payload);

typedef struct tj_product {
    tj_matrix_view m, n;
    const tj_factor *factor[TJ_FACTORS]; /* zero points and scales along k of M and of N */
    int64_t j, k, l, batch;              /* of real numbers: k and l are twice those of complex matrices */
    const int64_t *k_offsets; /* where the elements of k of each product of the batch begin, and one more; NULL: all of k */
    int64_t first_row;        /* of M and P, where the product's j rows begin */
    int64_t row_count;        /* rows of P to compute, batch included: all, or evenly spread ones */
    const int64_t *rows;      /* of the one product: the row_count rows to compute, counted as first_row is; NULL: as above */
    bool with_magnitude;
    tj_type chain; /* TJ_F32 or TJ_F64: the type in which the sums of a chain are rounded; 0: there are none */
    int workers;   /* at least 1; the number of distinct `worker` arguments */
    tj_tile_fn visit;
    void *payload;
} tj_product;

/** Run the product. Fails with TJ_ERR_OUT_OF_MEMORY only, before the first visit. */
tj_status tj_product_run(const tj_product *product, tj_error *err);

#endif
