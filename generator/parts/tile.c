/* SPDX-License-Identifier: Apache-2.0 */
#include "tile.h"

#include <stdio.h>

#include "checked.h"
#include "error.h"

enum { LARGE_N = 32 << 20, GROUP_OF_LARGE_N = 8 }; /* bytes that an L2 of 40 to 60 MB evicts between rows of blocks; rows */

const char *const tj_row_choices[] = {"y", "x", NULL};

/* Does the last block reach beyond the edge of this dimension? */
static bool needs_check(const tj_dim *dim, int32_t tile_width)
{
    if (dim->mode == TJ_DIM_FIXED)
        return dim->extent % tile_width != 0;
    return dim->multiple_of == 0 || dim->multiple_of % tile_width != 0;
}

/* why: the check is needed whatever the extent is; NULL: it depends on that. */
static tj_status settle_check(char name, const tj_dim *dim, int32_t tile, const char *tile_name, const char *why,
                              int32_t *check, tj_error *err)
{
    const bool is_needed = why || needs_check(dim, tile);

    if (*check == TJ_CHECK_AUTO)
        *check = is_needed ? TJ_CHECK_ON : TJ_CHECK_OFF;
    if (*check != TJ_CHECK_OFF || !is_needed)
        return TJ_OK;
    if (why)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the boundary check of %c is switched off, but %s: leave the check on",
                       name, why);
    if (dim->mode == TJ_DIM_ANY)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "the boundary check of %c is switched off, but %c is known only at launch: promise that it is a multiple "
            "of %s %d, or leave the check on",
            name, name, tile_name, tile);
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "the boundary check of %c is switched off, but %c = %lld is not a multiple of %s %d: use boundary=auto, "
                   "or a %s that divides it",
                   name, name, (long long)dim->extent, tile_name, tile, tile_name);
}

static int64_t fixed_blocks(const tj_dim *dim, int32_t tile_width)
{
    return dim->mode == TJ_DIM_FIXED ? tj_ceil_div(dim->extent, tile_width) : 0;
}

static int32_t *rows_of(tj_config *config)
{
    return &config->value[tj_family_param_index(config->family, "rows")];
}

bool tj_tile_for_tall(const tj_problem *problem, int64_t rows, tj_config *config)
{
    if (rows <= (int64_t)TJ_GRID_LIMIT * config->family->tile(problem, config).rows)
        return false;
    *rows_of(config) = TJ_ROWS_ON_X;
    return true;
}

void tj_tile_describe_grid(const tj_problem *view, bool rows_on_x, tj_template_params *fill)
{
    const bool has_groups = tj_is_grouped(view);
    const bool is_symmetric = tj_is_symmetric(view);
    const char *const rows = has_groups     ? "ceil(all_rows / BM) + GROUPS - 1"
                             : is_symmetric ? "ceil(side / 2)"
                                            : "ceil(j / BM)",
                      *const cols = is_symmetric ? "floor(side / 2) * 2 + 1" : "ceil(l / BN)";
    char lines[256];

    (void)snprintf(lines, sizeof lines, "//         (%s, %s) blocks in the grid%s.\n%s", rows_on_x ? rows : cols,
                   rows_on_x ? cols : rows,
                   has_groups     ? ": as many as all groups may have tiles"
                   : is_symmetric ? ", where side is ceil(j / BM)"
                                  : "",
                   view->batch != 1 ? "//         blockIdx.z counts the products of the batch.\n" : "");
    tj_template_set_lines(fill, "blocks_in_grid", lines);
}

tj_status tj_tile_settle_checks(const tj_problem *view, bool is_swapped, tj_config *config, tj_error *err)
{
    const tj_tile tile = config->family->tile(view, config);
    /* Tiles of two squares may have columns outside P wherever they have rows there. */
    const int32_t cols = tj_is_symmetric(view) && tile.rows > tile.cols ? tile.rows : tile.cols;
    int32_t *const check_rows = is_swapped ? &config->check_l : &config->check_j;
    int32_t *const check_cols = is_swapped ? &config->check_j : &config->check_l;
    const char *const why = tj_is_grouped(view)    ? "groups may end at any row"
                            : tj_is_gathered(view) ? "an index may lead to no row of M"
                                                   : NULL;
    tj_status status = settle_check(is_swapped ? 'l' : 'j', &view->j, tile.rows, tile.rows_name, why, check_rows, err);

    if (status == TJ_OK && config->family->checks_k)
        status = settle_check('k', &view->k, tile.k, tile.k_name, tj_divides_k(view) ? "groups may end at any element" : NULL,
                              &config->check_k, err);
    if (status == TJ_OK)
        status = settle_check(is_swapped ? 'j' : 'l', &view->l, cols, tile.cols_name, NULL, check_cols, err);
    if (!config->family->checks_k)
        config->check_k = TJ_CHECK_OFF;
    return status;
}

tj_status tj_tile_resolve(const tj_problem *view, bool is_swapped, tj_config *config, tj_error *err)
{
    const tj_tile tile = config->family->tile(view, config);
    int32_t *const rows = rows_of(config);
    const int64_t more = tj_row_tiles(view, 0, tile.rows); /* with groups, the last tile of each group may be short */
    const int64_t row_blocks = fixed_blocks(&view->j, tile.rows) + more, col_blocks = fixed_blocks(&view->l, tile.cols);

    if (*rows == 0)
        *rows = row_blocks > TJ_GRID_LIMIT ? TJ_ROWS_ON_X : TJ_ROWS_ON_Y;
    if ((*rows == TJ_ROWS_ON_Y ? row_blocks : col_blocks) > TJ_GRID_LIMIT)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "P takes %lld x %lld blocks of %s %d, and grid.y holds 65535: %s %s or split the product",
                       (long long)row_blocks, (long long)col_blocks, tile.rows_name, tile.rows,
                       row_blocks > TJ_GRID_LIMIT && col_blocks > TJ_GRID_LIMIT ? "raise"
                       : *rows == TJ_ROWS_ON_Y                                  ? "use rows=x, raise"
                                                                                : "use rows=y, raise",
                       tile.rows_name);
    return tj_tile_settle_checks(view, is_swapped, config, err);
}

/* Is a split's part of N too large for the L2 to keep until the next row of blocks reads it? */
static bool has_large_n(const tj_problem *view, int32_t splits)
{
    int64_t elements;

    return view->k.mode == TJ_DIM_FIXED && view->l.mode == TJ_DIM_FIXED &&
           (!tj_mul(view->k.extent, view->l.extent, &elements) ||
            elements / splits > LARGE_N / tj_facts_of(view->n.type)->bytes);
}

/*
 * Each group of rows of blocks reads all of N; the part that the L2 evicts before the next group comes from memory again.
 * Groups of 8 rows are 0.5 to 3 % faster from 35 MB of N on (simt, set h200_graph of analysis/fit), and 3 to 8 % in f64 from
 * 100 MB on.
 */
tj_status tj_tile_settle_group(const tj_problem *view, int32_t bm, int32_t splits, int32_t rows, int32_t *group, tj_error *err)
{
    if (*group == 0)
        *group = rows == TJ_ROWS_ON_Y && view->j.mode == TJ_DIM_FIXED && view->j.extent > bm && !tj_is_grouped(view) &&
                         has_large_n(view, splits)
                     ? GROUP_OF_LARGE_N
                     : 1;
    if (*group == 1 || rows != TJ_ROWS_ON_X)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "group is %d, which walks rows of blocks on y: use group=1 with rows=x",
                   *group);
}

bool tj_tile_group_matters(const tj_problem *view, int32_t splits, int32_t group, int64_t rows, int64_t cols)
{
    return group == 1 || (rows > group && cols > group) || (group == GROUP_OF_LARGE_N && rows > 1 && has_large_n(view, splits));
}
