/* SPDX-License-Identifier: Apache-2.0 */
/*
 * combine_rows: a P whose rows add up rows of the product (tj_rows.combined). The product leaves its rows in the workspace
 * (after.h). In the kernel after it a block owns a part of one row of P, and adds up what that row's index names, in its order
 * (templates/parts/combine_rows.cuh). So no two threads add to one element: the sum needs no atomic operation, no zeros before it,
 * and has the same bits every time. That is why the index says which rows a row of P takes, and not where a row of the product goes.
 */
#ifndef TJ_GENERATOR_COMBINE_ROWS_H
#define TJ_GENERATOR_COMBINE_ROWS_H

#include "family.h"
#include "template.h"

/** Add the kernel that adds up rows of the P in the workspace (after.h). */
void tj_combine_rows_describe(const tj_problem *problem, const tj_problem *view, tj_template_params *fill,
                              tj_launch_form *form);

/** Count its traffic, for rows of P that are j / combined: an estimate. */
void tj_combine_rows_count(const tj_problem *problem, tj_counts *counts);

#endif
