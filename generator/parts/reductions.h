/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reductions: outputs of an epilogue for each row or column of P. What one warp (in the textbook's families: one block) finds of a row
 * or a column goes into the workspace, in a slot of its own; a kernel behind the product (templates/parts/combine.cuh) combines the
 * slots, always in the same order.
 */
#ifndef TJ_GENERATOR_REDUCTIONS_H
#define TJ_GENERATOR_REDUCTIONS_H

#include "family.h"
#include "template.h"
#include "text.h"

enum { TJ_REDUCTION_PATHS = 3 };

/** How a family's text divides rows and columns. */
typedef struct tj_reduction_slots {
    int64_t of_row, of_col;          /* results that come together to that of a row, of a column */
    int32_t lane_cols;               /* TJ_REDUCES_BY_WARP and _PATH: lanes of a warp that stand along a row */
    const char *row_slot, *col_slot; /* and the numbers of its results, in the words of the text */
    int32_t slice;                   /* of the workspace, where the results lie */
    /* TJ_REDUCES_BY_PATH: how many are filled, by path (tj_path - 1), of which of_row and of_col are the most; and the slice that says
     * which path each product took. */
    int64_t of_row_by_path[TJ_REDUCTION_PATHS], of_col_by_path[TJ_REDUCTION_PATHS];
    int32_t path_slice;
} tj_reduction_slots;

/** How many outputs reduce rows or columns. */
int tj_reductions_of(const tj_problem *view);

/** Bytes of the workspace for the results of one launch: a larger batch takes several, which use them one after the other. -1: too many. */
int64_t tj_reductions_bytes(const tj_problem *view, const tj_reduction_slots *slots);

/** Refuses a workspace that is larger than any. */
tj_status tj_reductions_check(const tj_problem *view, const tj_reduction_slots *slots, tj_error *err);

/**
 * The template's parameters, the step behind the product, and the workspace, which begins with the results; one that has begun
 * already is the family's, with a slice for them. Nothing where the epilogue reduces nothing.
 */
void tj_reductions_describe(const tj_problem *view, const tj_reduction_slots *slots, tj_template_params *fill,
                            tj_launch_form *form);

/** The lines that templates take; free each. */
enum { TJ_REDUCTION_LINES = 13 };
typedef struct tj_reduction_lines {
    char *text[TJ_REDUCTION_LINES];
} tj_reduction_lines;

/** Print them, and set whether there are any: for every family. */
tj_status tj_reductions_print(const tj_problem *view, const tj_family *family, tj_template_params *fill,
                              tj_reduction_lines *lines, tj_error *err);

void tj_reductions_drop(tj_reduction_lines *lines);

/** Count what passes through the workspace: an estimate. */
void tj_reductions_count(const tj_problem *view, const tj_launch_form *form, tj_counts *counts);

#endif
