/* SPDX-License-Identifier: Apache-2.0 */
#include "textbook.h"

#include "checked.h"

static const int32_t widths[][TJ_FAMILY_START_PARAMS] = {{32}, {16}, {8}};

const tj_family_values tj_textbook_widths = {sizeof widths / sizeof widths[0], widths};

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

/* ---- counts ------------------------------------------------------------------------------------------------------- */

/* One element of P or C for each thread whose element exists. */
static void count_output(const tj_problem *view, int32_t tile_width, int64_t ld, int64_t stride, tj_traffic *traffic)
{
    const int64_t bytes = tj_facts_of(view->p.type)->bytes;
    const tj_access access = {
        .threads_x = tile_width,
        .threads_y = tile_width,
        .step_x = bytes,
        .step_y = ld * bytes,
        .element_bytes = (int32_t)bytes,
        .axis = {tj_tile_axis(view->l.extent, tile_width, tile_width * bytes),
                 tj_tile_axis(view->j.extent, tile_width, tile_width * ld * bytes),
                 {view->batch, (stride > 0 ? stride : 0) * bytes, 0, 0}},
        .repeat = 1,
    };

    tj_traffic_add(traffic, &access);
}

void tj_textbook_count(const tj_problem *view, int32_t tile_width, tj_counts *counts)
{
    count_output(view, tile_width, view->p.ld, view->p.stride, &counts->store_p);
    if (view->epilogue.has_beta) {
        count_output(view, tile_width, view->c.ld, view->c.stride, &counts->load_c);
        counts->fma += view->j.extent * view->l.extent * view->batch;
        counts->waits++;
    }
    counts->registers = counts->registers_least = counts->registers_most = 32;
    counts->chain_fma = 1;
    counts->l2_bytes = counts->element_bytes * view->batch * view->k.extent *
                           (view->j.extent * counts->col_blocks + view->l.extent * counts->row_blocks) +
                       counts->store_p.bytes + counts->load_c.bytes;
}
