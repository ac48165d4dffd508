/* SPDX-License-Identifier: Apache-2.0 */
/*
 * small_batch: declarations that the form of the family (form.c) and its counts (counts.c) share.
 */
#ifndef TJ_GENERATOR_SMALL_BATCH_H
#define TJ_GENERATOR_SMALL_BATCH_H

#include "family.h"

typedef struct tj_small_batch_shape {
    int32_t tm, tn, products;
    int32_t vec;              /* elements of a 16-byte access to shared memory */
    int32_t k_padded;         /* a multiple of vec */
    int32_t m_pitch, n_pitch; /* of a line in shared memory */
    int64_t m_bytes, bytes;   /* shared memory for M, and for all operands of a product */
    int32_t team_rows, team_cols, team;
} tj_small_batch_shape;

tj_small_batch_shape tj_small_batch_shape_of(const tj_problem *view, const tj_config *config);

/** Elements of one access to each matrix in global memory, and neighbouring rows and columns of P of a thread. */
typedef struct tj_small_batch_widths {
    int32_t m, n, p;
    int32_t rows, cols;
} tj_small_batch_widths;

tj_small_batch_widths tj_small_batch_widths_of(const tj_problem *view, const tj_config *config);

/** Does a team wait for its warp only, without a barrier of the block? */
bool tj_small_batch_in_warp(const tj_small_batch_shape *s);

/** Configs from which a search begins (tj_family). */
extern const tj_family_values tj_small_batch_start;

/** The family's count (tj_family). */
void tj_small_batch_count(const tj_problem *view, const tj_config *config, tj_counts *counts);

#endif
