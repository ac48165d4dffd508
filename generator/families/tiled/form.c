/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tiled: the threads of a block share their loads: tiles of M and N pass through shared memory, phase by phase.
 */
#include "checked.h"
#include "error.h"
#include "parts/pointers.h"
#include "parts/textbook.h"

enum { SHARED_STATIC = 1, SHARED_DYNAMIC = 2 };

static const char *const shared_choices[] = {"static", "dynamic", NULL};

static const tj_param params[] = {
    TJ_TEXTBOOK_TILE_WIDTH,
    {"shared", "static: tiles declared in the text; dynamic: one array sized at launch, any width", 1, 2, SHARED_STATIC,
     shared_choices, NULL, TJ_PARAM_ORDER},
    TJ_TILE_ROWS,
};

static const char *const constraints[] = {
    "TILE_WIDTH * TILE_WIDTH <= 1024 threads",
    "both tiles fit a block's shared memory: 2 * TILE_WIDTH * TILE_WIDTH * 16 bytes is at most 32 KiB",
    "each grid axis holds the blocks it counts: 65 535 on y, 2 147 483 647 on x",
    NULL,
};

/* Refuse an open width if the epilogue reduces P, because the launch would then choose the number of results. */
static tj_status resolve(const tj_problem *view, bool is_swapped, tj_config *config, tj_error *err)
{
    if (tj_epilogue_reduces(&view->epilogue) && tj_config_get(config, "shared") == SHARED_DYNAMIC)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "shared is dynamic, and the epilogue reduces rows or columns, for which the width of tiles is in the text: "
            "use shared=static");
    const tj_status status = tj_textbook_resolve(view, is_swapped, config, err);

    if (tj_scale_k(view) > 0 && tj_config_get(config, "shared") == SHARED_DYNAMIC)
        config->check_k = TJ_CHECK_ON; /* a part of k may end within a tile of the launch */
    return status;
}

static const char *describe(const tj_problem *view, const tj_config *config, tj_template_params *fill, tj_launch_form *form)
{
    /* Tiles hold the accumulator's type: 16-bit elements are converted once per load, not once per use. */
    const int64_t element_bytes = tj_sum_bytes(view);
    const int64_t tile_width = tj_config_get(config, "tile_width"), tile = tile_width * tile_width;

    /* The thread that loads an element of a tile. */
    const tj_scales_place m =
        view->m.layout == TJ_ROW_MAJOR ? (tj_scales_place){"k_tx", "Row"} : (tj_scales_place){"k_ty", "m_row"};
    const tj_scales_place n =
        view->n.layout == TJ_ROW_MAJOR ? (tj_scales_place){"k_ty", "Col"} : (tj_scales_place){"k_tx", "n_col"};

    tj_textbook_describe(view, config, m, n, fill, form);
    /* A tile that is loaded across its lines is stored across them, so that multiplying reads it the same way. */
    if (tj_config_get(config, "shared") == SHARED_DYNAMIC) {
        tj_template_set(fill, "m_element",
                        view->m.layout == TJ_ROW_MAJOR ? "Mds[ty * TILE_WIDTH + i]" : "Mds[i * TILE_WIDTH + ty]");
        tj_template_set(fill, "n_place",
                        view->n.layout == TJ_ROW_MAJOR ? "Nds[ty * TILE_WIDTH + tx]" : "Nds[tx * TILE_WIDTH + ty]");
        form->least_tile_width = params[0].minimum;
        form->most_tile_width = params[0].maximum;
        form->step[0].dynamic_shared_bytes = 2 * tile * element_bytes;
        tj_template_set(fill, "multiply", "tiled/multiply_dynamic.cuh");
        return "tiled/dynamic.cu";
    }
    tj_template_set(fill, "m_element", view->m.layout == TJ_ROW_MAJOR ? "Mds[ty][i]" : "Mds[i][ty]");
    tj_template_set(fill, "n_place", view->n.layout == TJ_ROW_MAJOR ? "Nds[ty][tx]" : "Nds[tx][ty]");
    /* A column-major N is transposed as it is stored. Without padding all stores would fall in one or two banks. */
    form->step[0].static_shared_bytes += (2 * tile + (view->n.layout == TJ_COL_MAJOR ? tile_width : 0)) * element_bytes;
    tj_template_set(fill, "multiply", "tiled/multiply.cuh");
    return "tiled/tiled.cu";
}

/* ---- counts ------------------------------------------------------------------------------------------------------- */

/*
 * Every thread of the block accesses its place of a tile, `repeat` times. along: the step of a loop of TILE_WIDTH turns; 0: no
 * loop.
 */
static void count_shared(int32_t tile_width, int64_t bytes, int64_t step_x, int64_t step_y, int64_t along, int64_t repeat,
                         int32_t merges, tj_traffic *traffic)
{
    tj_access access = tj_shared_access(tile_width, tile_width, step_x, step_y, (int32_t)bytes, 1, repeat);

    if (along)
        access.axis[2] = (tj_axis){tile_width, along * bytes, 0, 0};
    access.merges = merges;
    tj_traffic_add(traffic, &access);
}

static void count(const tj_problem *view, const tj_config *config, tj_counts *counts)
{
    const int32_t tile_width = tj_config_get(config, "tile_width");
    const bool is_static = tj_config_get(config, "shared") == SHARED_STATIC;
    const bool m_rows = view->m.layout == TJ_ROW_MAJOR, n_rows = view->n.layout == TJ_ROW_MAJOR;
    const int64_t width = tile_width, threads = width * width;
    const int64_t phases = tj_ceil_div(view->k.extent, width), block_phases = counts->blocks * phases;
    const int64_t pitch = is_static && !n_rows ? width + 1 : width; /* of Nds */
    /* Four neighbours of a row of Mds (two in f64) are one wide load, which halves the passes. */
    const int32_t merges = is_static && m_rows && tile_width % 4 == 0 ? 2 : 0;

    counts->phase = (tj_phase_counts){.depth = width,
                                      .loads = 2 * threads,
                                      .flop = 2 * threads * width,
                                      .shared_stores = 2 * threads,
                                      .shared_loads = 2 * threads * width};
    counts->phases = phases;
    counts->barriers = 2 * block_phases;
    counts->work[counts->pipe] = 2 * block_phases * threads * width;
    counts->chain = phases * width;
    counts->waits = phases;
    if (phases > 0) {
        tj_textbook_count_lines(view, TJ_MATRIX_M, tile_width, counts->col_blocks, &counts->load_m);
        tj_textbook_count_lines(view, TJ_MATRIX_N, tile_width, counts->row_blocks, &counts->load_n);
        count_shared(tile_width, counts->sum_bytes, 1, width, 0, block_phases, 0, &counts->shared_store);
        count_shared(tile_width, counts->sum_bytes, n_rows ? 1 : pitch, n_rows ? pitch : 1, 0, block_phases, 0,
                     &counts->shared_store);
        count_shared(tile_width, counts->sum_bytes, 0, m_rows ? width : 1, m_rows ? 1 : width, block_phases, merges,
                     &counts->shared_load);
        count_shared(tile_width, counts->sum_bytes, 1, 0, pitch, block_phases, 0, &counts->shared_load);
    }
    tj_textbook_count(view, tile_width, counts);
    tj_pointers_count(view, NULL, counts);
}

const tj_family tj_family_tiled = {
    .name = "tiled",
    .summary = "a block of threads loads tiles of M and N into shared memory and uses each element TILE_WIDTH times",
    .param = params,
    .param_count = sizeof params / sizeof params[0],
    .constraint = constraints,
    .scales_along_k = true,
    .takes_scales = tj_textbook_takes_scales,
    .takes_pairs = TJ_PAIRS,
    .takes_complex = true,
    .takes_repacked = true,
    .takes_groups = true,
    .takes_groups_along_k = true,
    .takes_scattered = true,
    .takes_symmetric = true,
    .takes_gathered = true,
    .model = &tj_model_textbook,
    .reduces = TJ_REDUCES_BY_TILE,
    .checks_k = true,
    .widest = 32,
    .weighed = &tj_textbook_widths,
    .tile = tj_textbook_tile,
    .resolve = resolve,
    .sum_order = tj_textbook_sum_order,
    .for_tall = tj_tile_for_tall,
    .describe = describe,
    .count = count,
};
