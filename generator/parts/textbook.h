/* SPDX-License-Identifier: Apache-2.0 */
/*
 * textbook: shared parts of the textbook's families: square blocks of TILE_WIDTH x TILE_WIDTH threads, one element of P each.
 */
#ifndef TJ_GENERATOR_TEXTBOOK_H
#define TJ_GENERATOR_TEXTBOOK_H

#include "scales.h"
#include "traffic.h"
#include "tile.h"

/* A parameter of every such form. A macro, because an initialiser cannot name another constant. */
#define TJ_TEXTBOOK_TILE_WIDTH                                                                     \
    {                                                                                              \
        "tile_width", "edge of the square block of threads, and of its tile of P", 4, 32, 16, NULL \
    }

/** tj_family.weighed of a form whose first parameter is TJ_TEXTBOOK_TILE_WIDTH. */
extern const tj_family_values tj_textbook_widths;

/** Return TILE_WIDTH for every dimension. */
tj_tile tj_textbook_tile(const tj_problem *problem, const tj_config *config);

/** tj_family.resolve of such a form. */
tj_status tj_textbook_resolve(const tj_problem *view, bool is_swapped, tj_config *config, tj_error *err);

/** tj_family.takes_scales of such a form: all. */
bool tj_textbook_takes_scales(const tj_problem *view);

/** tj_family.sum_order of such a form: a thread adds one product after the other. */
tj_sum_order tj_textbook_sum_order(const tj_problem *view, const tj_config *config);

/**
 * Describe tile, block, axis, the epilogue's reductions, and how elements are read: m and n locate them
 * in the source.
 */
void tj_textbook_describe(const tj_problem *view, const tj_config *config, tj_scales_place m, tj_scales_place n,
                          tj_template_params *params, tj_launch_form *form);

/**
 * Count the loads of a matrix: each thread loads one element of each tile, along x neighbours in memory; all of it `repeat`
 * times.
 */
void tj_textbook_count_lines(const tj_problem *view, tj_which which, int32_t tile_width, int64_t repeat, tj_traffic *traffic);

/** Count the stores of P, the loads of C, and the other work that every such kernel has. */
void tj_textbook_count(const tj_problem *view, int32_t tile_width, tj_counts *counts);

#endif
