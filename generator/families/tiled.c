/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tiled: a block shares its loads: tiles of M and N pass through shared memory, phase by phase.
 */
#include "textbook.h"

enum { SHARED_STATIC = 1, SHARED_DYNAMIC = 2 };

static const char *const shared_choices[] = {"static", "dynamic", NULL};

static const tj_param params[] = {
    TJ_TEXTBOOK_TILE_WIDTH,
    {"shared", "static: tiles declared in the text; dynamic: one array sized at launch, any width", 1, 2, SHARED_STATIC,
     shared_choices},
    TJ_TILE_ROWS,
};

static const char *const constraints[] = {
    "TILE_WIDTH * TILE_WIDTH <= 1024 threads",
    "both tiles fit a block's shared memory: 2 * TILE_WIDTH * TILE_WIDTH * 8 bytes is at most 16 KiB",
    "each grid axis holds the blocks it counts: 65 535 on y, 2 147 483 647 on x",
    NULL,
};

static const char *describe(const tj_problem *text, const tj_config *config, tj_template_params *fill, tj_launch_form *form)
{
    /* Tiles hold the type of the sum: 16-bit elements are converted once per load, not once per use. */
    const int64_t element_bytes = text->dtype == TJ_F64 ? 8 : 4;
    int64_t tile;

    tj_textbook_describe(config, fill, form);
    tile = (int64_t)form->tile_width * form->tile_width;
    if (tj_config_get(config, "shared") == SHARED_DYNAMIC) {
        form->tile_width_is_any = 1;
        form->dynamic_shared_bytes = 2 * tile * element_bytes;
        return "tiled_dynamic.cu";
    }
    /* A column-major N is transposed on its way in. Without padding its stores would all meet in one or two banks. */
    form->static_shared_bytes = (2 * tile + (text->n_layout == TJ_COL_MAJOR ? form->tile_width : 0)) * element_bytes;
    return "tiled.cu";
}

const tj_family tj_family_tiled = {
    .name = "tiled",
    .summary = "a block of threads loads tiles of M and N into shared memory and uses each element TILE_WIDTH times",
    .param = params,
    .param_count = sizeof params / sizeof params[0],
    .constraint = constraints,
    .checks_k = true,
    .widest = 32,
    .tile = tj_textbook_tile,
    .resolve = tj_tile_resolve,
    .describe = describe,
};
