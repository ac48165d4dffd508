/* SPDX-License-Identifier: Apache-2.0 */
/*
 * planes: what the form of the family (form.c) and its counts (counts.c) both know.
 */
#ifndef TJ_GENERATOR_PLANES_H
#define TJ_GENERATOR_PLANES_H

#include "family.h"

enum { TJ_PLANES_CHUNK = 16 };      /* bytes that ldmatrix reads of a line */
enum { TJ_PLANES_K_STEP = 16 };     /* elements along k of one product of the tensor cores */
enum { TJ_PLANES_BYTES = 2 };       /* of an element of a plane */
enum { TJ_PLANES_OF_F16 = 2 };      /* which the product reads */
enum { TJ_PLANES_MOST = 3 };        /* which the workspace has room for: those of bf16 */
enum { TJ_PLANES_LINE_BYTES = 16 }; /* line_t: what is known of a line, beside its exponent */
enum { TJ_PLANES_LINE_GROUP = 32 }; /* lines that a block takes apart */
enum { TJ_PLANES_K_GROUP = 64 };    /* elements of a line that a warp takes apart; lines are filled up to a multiple */
enum { TJ_PLANES_LINE_THREADS = 512 };

/** The parameters by name, and what follows from them. */
typedef struct tj_planes_shape {
    int32_t bm, bn, steps, wm, wn, stages, blocks, group, vector, rows;
    int32_t bk, threads;
} tj_planes_shape;

tj_planes_shape tj_planes_shape_of(const tj_config *config);

/** Elements of a line in the planes, and lines of the text's M, or N, in whole tiles. */
int64_t tj_planes_k_line(const tj_problem *view);
int64_t tj_planes_lines(const tj_problem *view, const tj_planes_shape *s, bool is_m);

/** How many matrices are taken apart for so many products: of one that is broadcast, one. */
int64_t tj_planes_matrices(const tj_problem *view, bool is_m, int64_t products);

/** Elements of P that one store writes. */
int32_t tj_planes_p_vector(const tj_problem *view, const tj_planes_shape *s);

/** Registers of a thread: its sums, those of one step, and its fragments. */
int32_t tj_planes_registers(const tj_planes_shape *s);

/** Where a search begins (tj_family). */
extern const tj_family_values tj_planes_start;

/** The family's count (tj_family). */
void tj_planes_count(const tj_problem *view, const tj_config *config, tj_counts *counts);

#endif
