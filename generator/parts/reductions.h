/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reductions: outputs of an epilogue for each row or column of P. Each warp (in the textbook's families: each block) writes its
 * partial result of a row or column to its own slot of the workspace. A kernel after the product (templates/parts/combine.cuh)
 * combines the slots, always in the same order.
 */
#ifndef TJ_GENERATOR_REDUCTIONS_H
#define TJ_GENERATOR_REDUCTIONS_H

#include "family.h"
#include "template.h"
#include "text.h"

enum { TJ_REDUCTION_PATHS = 3 };

/** How a family's source divides rows and columns. */
typedef struct tj_reduction_slots {
    int64_t of_row, of_col;          /* slots, whose results are combined, per row and per column */
    int32_t lane_cols;               /* TJ_REDUCES_BY_WARP and _PATH: lanes of a warp along a row */
    const char *row_slot, *col_slot; /* the expressions for the number of a slot, in the source */
    int32_t slice;                   /* of the workspace, where the results lie */
    /*
     * TJ_REDUCES_BY_PATH: slots that each path (tj_path - 1) fills, with the maxima in of_row and of_col; and the slice with
     * the path of each product.
     */
    int64_t of_row_by_path[TJ_REDUCTION_PATHS], of_col_by_path[TJ_REDUCTION_PATHS];
    int32_t path_slice;
} tj_reduction_slots;

/** Return the number of outputs that reduce rows or columns. */
int tj_reductions_of(const tj_problem *view);

/**
 * Return the bytes of the workspace for one launch's results; -1: too many. A larger batch takes several launches, which reuse
 * them.
 */
int64_t tj_reductions_bytes(const tj_problem *view, const tj_reduction_slots *slots);

/** Refuse a workspace whose size 63 bits do not hold. */
tj_status tj_reductions_check(const tj_problem *view, const tj_reduction_slots *slots, tj_error *err);

/**
 * Set the template's parameters, add the kernel after the product, and begin the workspace with the results. If the family has
 * begun a workspace, the family reserves the slice. Do nothing if the epilogue reduces nothing.
 */
void tj_reductions_describe(const tj_problem *view, const tj_reduction_slots *slots, tj_template_params *fill,
                            tj_launch_form *form);

/** Print the lines that templates take, and set whether there are any. For every family. step: the one that multiplies. */
void tj_reductions_print(const tj_problem *view, const tj_family *family, const tj_launch_step *step, tj_template_params *fill);

/** Count the traffic of the workspace: an estimate. */
void tj_reductions_count(const tj_problem *view, const tj_launch_form *form, tj_counts *counts);

#endif
