/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tile: shared parts of all families of block tiles: boundary checks of each dimension, and the grid axis that counts rows.
 */
#ifndef TJ_GENERATOR_TILE_H
#define TJ_GENERATOR_TILE_H

#include "family.h"

extern const char *const tj_row_choices[];

/* A parameter of every such form. A macro, because an initialiser cannot name another constant. */
#define TJ_TILE_ROWS                                                                                               \
    {                                                                                                              \
        "rows", "grid axis that counts the rows of blocks: y, or x where P has more than 65 535 of them", 1, 2, 0, \
            tj_row_choices, NULL, TJ_PARAM_ORDER                                                                   \
    }

enum { TJ_ROWS_ON_Y = 1, TJ_ROWS_ON_X = 2 };

/** tj_family.for_tall of a form with TJ_TILE_ROWS: count the rows of blocks on grid.x where they exceed the limit of grid.y. */
bool tj_tile_for_tall(const tj_problem *problem, int64_t rows, tj_config *config);

/** Would half of a tile's edge, which is at least `smallest`, still cover the extent? An extent of 0 is not known. */
static inline bool tj_tile_is_oversized(int32_t edge, int32_t smallest, int64_t extent)
{
    return edge > smallest && extent > 0 && edge / 2 >= extent;
}

/* A parameter of forms whose blocks may be walked in groups of rows. */
#define TJ_TILE_GROUP(tried)                                                                                                  \
    {                                                                                                                         \
        "group",                                                                                                              \
            "rows of blocks that are walked together, column by column, to meet in the L2; by default 8 where N is large", 1, \
            16, 0, NULL, tried, TJ_PARAM_HINT                                                                                 \
    }

/** Settle a group of 0 once rows are settled, and refuse a group without rows on y. bm: height of the block tile. */
tj_status tj_tile_settle_group(const tj_problem *view, int32_t bm, int32_t splits, int32_t rows, int32_t *group, tj_error *err);

/** Describe a group: GROUP, and whether there is one. */
static inline void tj_tile_describe_group(int32_t group, tj_template_params *fill)
{
    tj_template_set_int(fill, "GROUP", group);
    tj_template_set_flag(fill, "grouped", group > 1);
}

/** Describe how many neighbours of P a thread stores at once: P_VECTOR, and whether they are more than one. */
static inline void tj_tile_describe_p_vector(int32_t p_vector, tj_template_params *fill)
{
    tj_template_set_int(fill, "P_VECTOR", p_vector);
    tj_template_set_flag(fill, "vector_p", p_vector > 1);
}

/** Does a group change the order of these blocks, and should a tuner try it? */
bool tj_tile_group_matters(const tj_problem *view, int32_t splits, int32_t group, int64_t rows, int64_t cols);

/** Print the comment that tells the grid of tiles of BM x BN: //@ lines blocks_in_grid. */
void tj_tile_describe_grid(const tj_problem *view, bool rows_on_x, tj_template_params *fill);

/** Settle the checks for the family's tile. */
tj_status tj_tile_settle_checks(const tj_problem *view, bool is_swapped, tj_config *config, tj_error *err);

/** Settle rows and checks for the family's tile. */
tj_status tj_tile_resolve(const tj_problem *view, bool is_swapped, tj_config *config, tj_error *err);

#endif
