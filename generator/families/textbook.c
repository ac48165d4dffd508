/* SPDX-License-Identifier: Apache-2.0 */
#include "textbook.h"

#include "checked.h"
#include "error.h"

static const int64_t GRID_Y_LIMIT = 65535; /* blocks; grid.x takes 2^31 - 1 */

const char *const tj_textbook_row_choices[] = {"y", "x", NULL};

/* Does the last block hang over the edge of this dimension? */
static bool needs_check(const tj_dim *dim, int32_t tile_width)
{
    if (dim->mode == TJ_DIM_FIXED)
        return dim->extent % tile_width != 0;
    return dim->multiple_of == 0 || dim->multiple_of % tile_width != 0;
}

static tj_status settle_check(char name, const tj_dim *dim, int32_t tile_width, int32_t *check, tj_error *err)
{
    const bool is_needed = needs_check(dim, tile_width);

    if (*check == TJ_CHECK_AUTO)
        *check = is_needed ? TJ_CHECK_ON : TJ_CHECK_OFF;
    if (*check != TJ_CHECK_OFF || !is_needed)
        return TJ_OK;
    if (dim->mode == TJ_DIM_ANY)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "the boundary check of %c is switched off, but %c is known only at launch: promise that it is a multiple "
            "of TILE_WIDTH %d, or leave the check on",
            name, name, tile_width);
    return tj_fail(
        err, TJ_ERR_INVALID_ARGUMENT,
        "the boundary check of %c is switched off, but %c = %lld is not a multiple of TILE_WIDTH %d: use boundary=auto, "
        "or a TILE_WIDTH that divides it",
        name, name, (long long)dim->extent, tile_width);
}

static int64_t fixed_blocks(const tj_dim *dim, int32_t tile_width)
{
    return dim->mode == TJ_DIM_FIXED ? tj_ceil_div(dim->extent, tile_width) : 0;
}

tj_status tj_textbook_resolve(const tj_problem *text, bool is_swapped, tj_config *config, tj_error *err)
{
    const int32_t tile_width = tj_config_get(config, "tile_width");
    int32_t *const rows = &config->value[tj_family_param_index(config->family, "rows")];
    const tj_dim *const j = is_swapped ? &text->l : &text->j, *const l = is_swapped ? &text->j : &text->l;
    const int64_t row_blocks = fixed_blocks(&text->j, tile_width), col_blocks = fixed_blocks(&text->l, tile_width);
    tj_status status;

    if (*rows == 0)
        *rows = row_blocks > GRID_Y_LIMIT ? TJ_ROWS_ON_X : TJ_ROWS_ON_Y;
    if ((*rows == TJ_ROWS_ON_Y ? row_blocks : col_blocks) > GRID_Y_LIMIT)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "P takes %lld x %lld blocks of TILE_WIDTH %d, and grid.y holds 65535: %s",
                       (long long)row_blocks, (long long)col_blocks, tile_width,
                       row_blocks > GRID_Y_LIMIT && col_blocks > GRID_Y_LIMIT ? "raise TILE_WIDTH or split the product"
                       : *rows == TJ_ROWS_ON_Y                                ? "use rows=x"
                                                                              : "use rows=y");
    status = settle_check('j', j, tile_width, &config->check_j, err);
    if (status == TJ_OK && config->family->checks_k)
        status = settle_check('k', &text->k, tile_width, &config->check_k, err);
    if (status == TJ_OK)
        status = settle_check('l', l, tile_width, &config->check_l, err);
    if (!config->family->checks_k)
        config->check_k = TJ_CHECK_OFF;
    return status;
}

void tj_textbook_describe(const tj_config *config, tj_template_params *params, tj_launch_form *form)
{
    const int32_t tile_width = tj_config_get(config, "tile_width");

    tj_template_set_int(params, "tile_width", tile_width);
    form->tile_width = tile_width;
    form->block_x = form->block_y = tile_width;
    form->block_rows = form->block_cols = tile_width;
    form->rows_on_x = tj_config_get(config, "rows") == TJ_ROWS_ON_X;
}
