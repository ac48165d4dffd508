/* SPDX-License-Identifier: Apache-2.0 */
/*
 * planes: declarations that the form of the family (form.c), its counts (counts.c) and the kernels around its product (steps.c)
 * share. Family wgmma_planes uses the kernels, too.
 */
#ifndef TJ_GENERATOR_PLANES_H
#define TJ_GENERATOR_PLANES_H

#include "family.h"
#include "parts/reductions.h"

enum { TJ_PLANES_CHUNK = 16 };  /* bytes of a line that ldmatrix reads at once */
enum { TJ_PLANES_K_STEP = 16 }; /* elements along k of one product of the tensor cores */
enum { TJ_PLANES_BYTES = 2 };   /* of an element of a plane */
enum { TJ_PLANES_OF_F16 = 2 };  /* planes that the product of f16 reads */
enum { TJ_PLANES_MOST = 3 };    /* planes that the workspace has room for: those of bf16 */
enum { TJ_PLANES_STORE_ROWS = 8, TJ_PLANES_STORE_LANES = 4, TJ_PLANES_STORE_COLS = 2 }; /* of P, in one store of a warp */
enum { TJ_PLANES_PLAIN_EDGE = 64, TJ_PLANES_PLAIN_WARP_EDGE = 32 }; /* edge of the tiles of plain, and of a warp's part */
enum { TJ_PLANES_LINE_BYTES = 16 };                                 /* line_t: what is known of a line besides its exponent */
enum { TJ_PLANES_LINE_GROUP = 8 };                                  /* lines that a block splits */
enum { TJ_PLANES_K_GROUP = 64 }; /* elements of a line that a warp splits; lines are padded to a multiple */
enum { TJ_PLANES_LINE_THREADS = 512 };

/** The parameters by name, and numbers derived from them. */
typedef struct tj_planes_shape {
    int32_t bm, bn, steps, wm, wn, stages, blocks, group, vector, rows;
    int32_t bk, threads;
} tj_planes_shape;

tj_planes_shape tj_planes_shape_of(const tj_config *config);

/** Lines of the source's M, and of its N, are padded to multiples of these. */
typedef struct tj_planes_units {
    int32_t rows, cols;
} tj_planes_units;

/** Elements of a line in the planes, and number of lines of the source's M, or N. */
int64_t tj_planes_k_line(const tj_problem *view);
int64_t tj_planes_lines(const tj_problem *view, tj_planes_units units, bool is_m);

/** Return the number of matrices that are split for a number of products: one if the matrix is broadcast. */
int64_t tj_planes_matrices(const tj_problem *view, bool is_m, int64_t products);

/**
 * Return the number of products of one launch. A larger batch takes several launches, which reuse the workspace one after the
 * other.
 */
int64_t tj_planes_products(const tj_problem *view);

/**
 * May this family split the operands of the problem? Errors: TJ_ERR_INVALID_ARGUMENT: other types, open extents, too large a
 * workspace.
 */
tj_status tj_planes_check(const tj_problem *view, tj_planes_units units, const char *family, tj_error *err);

/**
 * The slices of the workspace: the path of each product, the facts about lines, the planes of M and of N, and the results of
 * rows and columns that the epilogue reduces.
 */
enum { TJ_PLANES_WORDS, TJ_PLANES_LINES, TJ_PLANES_OF_M, TJ_PLANES_OF_N, TJ_PLANES_RESULTS };

/** A tile of P, and a warp's part of it. */
typedef struct tj_planes_tile {
    int32_t rows, cols, warp_rows, warp_cols;
} tj_planes_tile;

/** Return the slots for reductions, by the tiles of the kernel of each path (tj_path - 1). */
tj_reduction_slots tj_planes_slots(const tj_problem *view, const tj_planes_tile tile[TJ_REDUCTION_PATHS]);

/**
 * Describe the workspace and the kernels around the product of f16 planes. Before it: one kernel splits the operands, one
 * selects the path. After it: widen splits the operands to bf16, wide multiplies those, plain multiplies in f32, and the
 * epilogue's reductions are combined. Return the launch of wide, whose grid, block and shared memory the caller fills in.
 * vector: 1 asks for no alignment of M and N. fill may be NULL.
 */
tj_launch_step *tj_planes_describe(const tj_problem *view, const tj_config *config, tj_planes_units units,
                                   const tj_reduction_slots *slots, int32_t vector, tj_template_params *fill,
                                   tj_launch_form *form);

/** Append the arguments of a kernel that writes P, as templates/planes/parameters.cuh has them. */
void tj_planes_add_parameters(const tj_problem *view, bool is_swapped, tj_launch_step *step);

/**
 * Count the traffic of split, and of the product around its planes: all warps read the path, and the `multiply` warps that
 * multiply tiles of rows x cols elements read the exponents of lines.
 */
void tj_planes_count_around(const tj_problem *view, tj_planes_units units, int64_t warps, int64_t multiply, int32_t rows,
                            int32_t cols, tj_counts *counts);

/** Count storing P, or loading C, `vector` elements at a time. */
void tj_planes_count_output(const tj_problem *view, int32_t vector, const tj_matrix *matrix, tj_traffic *traffic);

/** Return the multiples to which lines are padded: whole tiles. */
tj_planes_units tj_planes_units_of(const tj_planes_shape *s);

/** Return the number of elements of P that one store writes. */
int32_t tj_planes_p_vector(const tj_problem *view, const tj_planes_shape *s);

/** Return the registers of a thread: its accumulators, those of one step, and its fragments. */
int32_t tj_planes_registers(const tj_planes_shape *s);

/** Configs from which a search begins (tj_family). */
extern const tj_family_values tj_planes_start;

/** The family's count (tj_family). */
void tj_planes_count(const tj_problem *view, const tj_config *config, tj_counts *counts);

#endif
