/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naive: one thread per element of P; it sums over k straight from global memory.
 */
#include "parts/pointers.h"
#include "parts/textbook.h"

static const tj_param params[] = {TJ_TEXTBOOK_TILE_WIDTH, TJ_TILE_ROWS};

static const char *const constraints[] = {
    "TILE_WIDTH * TILE_WIDTH <= 1024 threads",
    "each grid axis holds the blocks it counts: 65 535 on y, 2 147 483 647 on x",
    NULL,
};

static const char *describe(const tj_problem *view, const tj_config *config, tj_template_params *fill, tj_launch_form *form)
{
    const bool names_elements =
        tj_scale_of(view, TJ_MATRIX_M)->zero || tj_scale_of(view, TJ_MATRIX_N)->zero || tj_holds_pairs(view);

    tj_template_set(fill, "multiply", names_elements ? "naive/multiply_named.cuh" : "naive/multiply.cuh");
    tj_textbook_describe(view, config, (tj_scales_place){"i", "Row"}, (tj_scales_place){"i", "Col"}, fill, form);
    return "naive/naive.cu";
}

/* Each thread whose element exists loads one element of M and one of N at every step of k. */
static void count_loads(const tj_problem *view, int32_t tile_width, bool is_m, int64_t element_bytes, tj_traffic *traffic)
{
    const tj_matrix *const matrix = is_m ? &view->m : &view->n;
    /* Bytes from one row of M (column of N) to the next, and from one step of k to the next. */
    const bool rows_of_k = matrix->layout == (is_m ? TJ_ROW_MAJOR : TJ_COL_MAJOR);
    const int64_t across = (rows_of_k ? matrix->ld : 1) * element_bytes, along = (rows_of_k ? 1 : matrix->ld) * element_bytes;
    const tj_access access = {
        .threads_x = tile_width,
        .threads_y = tile_width,
        .step_x = is_m ? 0 : across,
        .step_y = is_m ? across : 0,
        .element_bytes = (int32_t)element_bytes,
        .axis = {tj_tile_axis(view->l.extent, tile_width, is_m ? 0 : tile_width * across),
                 tj_tile_axis(view->j.extent, tile_width, is_m ? tile_width * across : 0),
                 {view->k.extent, along, 0, 0},
                 tj_batch_axis(view->batch, matrix->stride, element_bytes)},
        .repeat = 1,
    };

    tj_traffic_add(traffic, &access);
}

static void count(const tj_problem *view, const tj_config *config, tj_counts *counts)
{
    const int32_t tile_width = tj_config_get(config, "tile_width");
    const int64_t threads = (int64_t)tile_width * tile_width;
    const int64_t loads_in_flight = 6; /* steps of k whose loads the compiler's unrolled loop issues before it waits */

    counts->phase = (tj_phase_counts){.depth = 1, .loads = 2 * threads, .flop = 2 * threads};
    counts->work[counts->pipe] = 2 * view->j.extent * view->k.extent * view->l.extent * view->batch;
    counts->chain = view->k.extent;
    counts->waits = (view->k.extent + loads_in_flight - 1) / loads_in_flight;
    if (view->k.extent > 0) {
        count_loads(view, tile_width, true, counts->element_bytes, &counts->load_m);
        count_loads(view, tile_width, false, counts->n_element_bytes, &counts->load_n);
    }
    tj_textbook_count(view, tile_width, counts);
    /* Threads beyond the edge have returned before. */
    tj_pointers_count(view,
                      &(tj_access){.threads_x = tile_width,
                                   .threads_y = tile_width,
                                   .axis = {tj_tile_axis(view->l.extent, tile_width, 0),
                                            tj_tile_axis(view->j.extent, tile_width, 0),
                                            {view->batch, 0, 0, 0}}},
                      counts);
}

const tj_family tj_family_naive = {
    .name = "naive",
    .summary = "one thread computes one element of P and reads all it needs from global memory",
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
    .checks_k = false,
    .widest = 32,
    .weighed = &tj_textbook_widths,
    .tile = tj_textbook_tile,
    .resolve = tj_textbook_resolve,
    .sum_order = tj_textbook_sum_order,
    .for_tall = tj_tile_for_tall,
    .describe = describe,
    .count = count,
};
