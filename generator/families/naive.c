/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naive: one thread per element of P, the sum over k straight from global memory.
 */
#include "textbook.h"

static const tj_param params[] = {TJ_TEXTBOOK_TILE_WIDTH, TJ_TILE_ROWS};

static const char *const constraints[] = {
    "TILE_WIDTH * TILE_WIDTH <= 1024 threads",
    "each grid axis holds the blocks it counts: 65 535 on y, 2 147 483 647 on x",
    NULL,
};

static const char *describe(const tj_problem *text, const tj_config *config, tj_template_params *fill, tj_launch_form *form)
{
    (void)text;
    tj_textbook_describe(config, fill, form);
    return "naive.cu";
}

const tj_family tj_family_naive = {
    .name = "naive",
    .summary = "one thread computes one element of P and reads all it needs from global memory",
    .param = params,
    .param_count = sizeof params / sizeof params[0],
    .constraint = constraints,
    .checks_k = false,
    .widest = 32,
    .tile = tj_textbook_tile,
    .resolve = tj_tile_resolve,
    .describe = describe,
};
