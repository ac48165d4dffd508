/* SPDX-License-Identifier: Apache-2.0 */
/*
 * planes: what the form of the family (form.c), its counts (counts.c), and the kernels around its product (steps.c) know. The last are
 * those of family wgmma_planes too.
 */
#ifndef TJ_GENERATOR_PLANES_H
#define TJ_GENERATOR_PLANES_H

#include "family.h"
#include "parts/reductions.h"

enum { TJ_PLANES_CHUNK = 16 };  /* bytes that ldmatrix reads of a line */
enum { TJ_PLANES_K_STEP = 16 }; /* elements along k of one product of the tensor cores */
enum { TJ_PLANES_BYTES = 2 };   /* of an element of a plane */
enum { TJ_PLANES_OF_F16 = 2 };  /* which the product reads */
enum { TJ_PLANES_MOST = 3 };    /* which the workspace has room for: those of bf16 */
enum { TJ_PLANES_STORE_ROWS = 8, TJ_PLANES_STORE_LANES = 4, TJ_PLANES_STORE_COLS = 2 }; /* of P that lanes store side by side */
enum { TJ_PLANES_PLAIN_EDGE = 64, TJ_PLANES_PLAIN_WARP_EDGE = 32 }; /* of the tiles of plain, and of a warp in them */
enum { TJ_PLANES_LINE_BYTES = 16 };                                 /* line_t: what is known of a line, beside its exponent */
enum { TJ_PLANES_LINE_GROUP = 8 };                                  /* lines that a block takes apart */
enum { TJ_PLANES_K_GROUP = 64 }; /* elements of a line that a warp takes apart; lines are filled up to a multiple */
enum { TJ_PLANES_LINE_THREADS = 512 };

/** The parameters by name, and what follows from them. */
typedef struct tj_planes_shape {
    int32_t bm, bn, steps, wm, wn, stages, blocks, group, vector, rows;
    int32_t bk, threads;
} tj_planes_shape;

tj_planes_shape tj_planes_shape_of(const tj_config *config);

/** Lines of the text's M, and of its N, are filled up to multiples of these. */
typedef struct tj_planes_units {
    int32_t rows, cols;
} tj_planes_units;

/** Elements of a line in the planes, and lines of the text's M, or N. */
int64_t tj_planes_k_line(const tj_problem *view);
int64_t tj_planes_lines(const tj_problem *view, tj_planes_units units, bool is_m);

/** How many matrices are taken apart for so many products: of one that is broadcast, one. */
int64_t tj_planes_matrices(const tj_problem *view, bool is_m, int64_t products);

/** Products of one launch: a larger batch takes several, which use the same workspace one after the other. */
int64_t tj_planes_products(const tj_problem *view);

/** May the problem be taken apart by this family? Errors: TJ_ERR_INVALID_ARGUMENT: other types, open extents, too large a workspace. */
tj_status tj_planes_check(const tj_problem *view, tj_planes_units units, const char *family, tj_error *err);

/**
 * The slices of the workspace: the path of each product, what is known of lines, the planes of M and of N, and what is found of rows and
 * columns that the epilogue reduces.
 */
enum { TJ_PLANES_WORDS, TJ_PLANES_LINES, TJ_PLANES_OF_M, TJ_PLANES_OF_N, TJ_PLANES_RESULTS };

/** A tile of P, and what a warp has of it. */
typedef struct tj_planes_tile {
    int32_t rows, cols, warp_rows, warp_cols;
} tj_planes_tile;

/** Slots for reductions, by the tiles of the kernel of each path (tj_path - 1). */
tj_reduction_slots tj_planes_slots(const tj_problem *view, const tj_planes_tile tile[TJ_REDUCTION_PATHS]);

/**
 * The workspace, and the steps ahead of the one that multiplies planes of f16: one takes the operands apart, one decides. Then those
 * behind it: widen takes them apart into bf16, wide multiplies that, plain multiplies in f32, and what the epilogue reduces is combined.
 * What is returned is the step of wide, of which grid, block and shared memory are left to the caller. vector: 1 asks for no alignment of
 * M and N. fill may be NULL.
 */
tj_launch_step *tj_planes_describe(const tj_problem *view, const tj_config *config, tj_planes_units units,
                                   const tj_reduction_slots *slots, int32_t vector, tj_template_params *fill,
                                   tj_launch_form *form);

/** An argument more. */
static inline void tj_planes_add_arg(tj_launch_step *step, tj_argument_kind kind, int32_t index)
{
    step->arg[step->arg_count++] = (tj_argument){(int32_t)kind, index};
}

/** Those of templates/planes/parameters.cuh. */
void tj_planes_add_parameters(const tj_problem *view, bool is_swapped, tj_launch_step *step);

/**
 * What split moves, and what the product reads: the path of the product in all warps, and the exponents of lines in those of them that
 * multiply tiles of rows x cols elements.
 */
void tj_planes_count_around(const tj_problem *view, tj_planes_units units, int64_t warps, int64_t multiply, int32_t rows,
                            int32_t cols, tj_counts *counts);

/** What storing P moves, or loading C, so many elements at once. */
void tj_planes_count_output(const tj_problem *view, int32_t vector, const tj_matrix *matrix, tj_traffic *traffic);

/** Lines are filled up to whole tiles. */
tj_planes_units tj_planes_units_of(const tj_planes_shape *s);

/** Elements of P that one store writes. */
int32_t tj_planes_p_vector(const tj_problem *view, const tj_planes_shape *s);

/** Registers of a thread: its sums, those of one step, and its fragments. */
int32_t tj_planes_registers(const tj_planes_shape *s);

/** Where a search begins (tj_family). */
extern const tj_family_values tj_planes_start;

/** The family's count (tj_family). */
void tj_planes_count(const tj_problem *view, const tj_config *config, tj_counts *counts);

#endif
