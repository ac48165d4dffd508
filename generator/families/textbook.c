/* SPDX-License-Identifier: Apache-2.0 */
#include "textbook.h"

tj_tile tj_textbook_tile(const tj_config *config)
{
    const int32_t width = tj_config_get(config, "tile_width");

    return (tj_tile){width, width, width, "TILE_WIDTH", "TILE_WIDTH", "TILE_WIDTH"};
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
