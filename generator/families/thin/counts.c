/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counts: the traffic and work of a launch of family thin. Each loop of the template is one access here. Rows and columns beyond
 * an edge, which are those of the edge again, count as if they were not loaded.
 */
#include "form.h"

#include "checked.h"
#include "parts/lanes.h"
#include "parts/pointers.h"
#include "parts/registers.h"
#include "parts/scales.h"
#include "parts/slices.h"
#include "parts/split.h"
#include "parts/traffic.h"
#include "parts/widen.h"

enum { CHUNK = 8, WORD = 4 };      /* elements of M in 16 bytes; bytes of a bank */
enum { LANES_X = 4, LANES_Y = 8 }; /* of a warp along k, and across */
enum {
    TABLE_INSTRUCTIONS = 13,
    FACTOR_INSTRUCTIONS = 8,
    PAIR_INSTRUCTIONS = 4,
    POWER_INSTRUCTIONS = 1
}; /* for 8 elements of k; for a scale */

/* load_n: a run of each lane. */
static void count_n(const tj_problem *view, const tj_thin_shape *s, tj_counts *counts)
{
    const int64_t line = view->n.ld, runs = view->k.extent / s->run;
    tj_access access = {.threads_x = LANES_X,
                        .threads_y = LANES_Y,
                        .step_x = s->width,
                        .step_y = line,
                        .element_bytes = 1,
                        .width = s->width,
                        .repeat = counts->row_blocks};

    access.axis[0] = tj_tile_axis(runs, LANES_X, (int64_t)LANES_X * s->width);
    access.axis[1] = tj_tile_axis(view->l.extent, LANES_Y, LANES_Y * line);
    access.axis[2] = tj_batch_axis(view->batch, view->n.stride, 1);
    tj_traffic_add(&counts->load_n, &access);
}

/* copy_m: chunks of 16 bytes. */
static void count_m(const tj_problem *view, const tj_thin_shape *s, tj_counts *counts)
{
    const int64_t bytes = counts->element_bytes, line = view->m.ld * bytes;
    const int32_t chunks = s->unit / CHUNK;
    tj_access access = tj_tiled_access(chunks, TJ_WARP / chunks, view->k.extent / CHUNK, view->j.extent, CHUNK * bytes, line);

    access.element_bytes = (int32_t)bytes;
    access.width = CHUNK;
    access.axis[2] = tj_batch_axis(view->batch, view->m.stride, bytes);
    access.repeat = counts->col_blocks;
    tj_traffic_add(&counts->load_m, &access);
    counts->async_bytes += counts->load_m.bytes;
    counts->work[TJ_PIPE_SHARED] += counts->load_m.requests * CHUNK * bytes / WORD;
}

/* A lane takes 8 elements of a row at a time from the unit of M; the last 8 rows stand for all. times: units of all slices. */
static void count_fragments(const tj_problem *view, const tj_thin_shape *s, int64_t times, tj_counts *counts)
{
    const int32_t chunks = s->unit / CHUNK, of_run = s->run / CHUNK, bytes = tj_facts_of(view->m.type)->bytes;
    tj_lanes lanes = {.count = TJ_WARP, .element_bytes = WORD, .width = CHUNK * bytes / WORD, .is_shared = true};

    for (int32_t lane = 0; lane < TJ_WARP; lane++) {
        const int32_t row = lane / LANES_X, chunk = lane % LANES_X * of_run;

        lanes.lane[lane] = lane;
        lanes.address[lane] = (int64_t)(row * chunks + (chunk ^ chunk / 8 ^ row % 2 * (s->run / 16))) * CHUNK * bytes;
    }
    tj_lanes_add(&counts->shared_load, &lanes, 0, times * (s->tm / TJ_THIN_ROWS) * of_run);
}

/* Instructions of a warp for a unit, besides products and multiply-adds: weights and elements of M become fragments. */
static int64_t conversions_of(const tj_problem *view, const tj_thin_shape *s)
{
    const int64_t eights = s->run / 8, columns = s->tn / 8, rows = s->tm / TJ_THIN_ROWS;
    const int32_t words = tj_type_is_pair(view->n.type) ? 1 : 2;

    if (tj_thin_has_powers(view))
        return columns * (eights * (tj_widening_of(view).all + POWER_INSTRUCTIONS) + 2 * POWER_INSTRUCTIONS);
    if (tj_is_repacked(view, TJ_MATRIX_N))
        return columns * eights * tj_widening_of(view).all;
    if (tj_thin_folds(view))
        return columns * (eights * TABLE_INSTRUCTIONS + FACTOR_INSTRUCTIONS);
    return eights * (columns * words * tj_widening_of(view).all + rows * PAIR_INSTRUCTIONS);
}

/* Fitted to the registers of 36 configs for sm_90, with an error of 5 %: ptxas keeps addresses of columns and of rows. */
static void estimate_registers(const tj_problem *view, const tj_thin_shape *s, tj_counts *counts)
{
    const int32_t held = tj_thin_registers(view, s), wanted = held + 14 + s->tn * 3 / 8 + s->tm;

    (void)tj_guess_registers(counts, wanted, 8, held + TJ_THIN_OTHER_REGISTERS, s->blocks, s->threads);
}

void tj_thin_count(const tj_problem *view, const tj_config *config, tj_counts *counts)
{
    const tj_thin_shape s = tj_thin_shape_of(view, config);
    const int64_t units = view->k.extent / s.unit, phases = tj_ceil_div(view->k.extent, s.phase),
                  tiles = counts->blocks / s.splits, slice_units = tiles * units, columns = (int64_t)s.tn / 8,
                  rows = s.tm / TJ_THIN_ROWS;
    const tj_split_phases share = tj_split_share(phases, s.splits);
    tj_access stored =
        tj_shared_access(LANES_X, LANES_Y, 2 * s.tn, 1, counts->sum_bytes, 1, counts->blocks * s.slices * rows * columns * 2);

    counts->pipe = view->m.type == TJ_F16 ? TJ_PIPE_TENSOR_F16 : TJ_PIPE_TENSOR_BF16;
    counts->phase = (tj_phase_counts){
        .depth = s.phase, .loads = (int64_t)(s.tm + s.tn) * s.phase, .flop = (int64_t)2 * s.tm * s.tn * s.phase};
    counts->phases = share.most;
    counts->work[counts->pipe] = 2 * slice_units * s.unit * s.tm * s.tn;
    counts->mma = slice_units * (s.tn / TJ_THIN_COLS) * rows * (s.run / 4);
    counts->conversions = slice_units * conversions_of(view, &s);
    counts->work[TJ_PIPE_F16] =
        2 * slice_units * s.unit * s.tn * (tj_thin_folds(view) ? 1 : tj_widening_of(view).multiply_adds);
    counts->chain = share.most * (s.run / 4);
    counts->chain_fma = s.tm * s.tn / 2;
    counts->waits = tj_ceil_div(share.most, s.ahead);
    estimate_registers(view, &s, counts);
    if (units > 0) {
        count_m(view, &s, counts);
        count_fragments(view, &s, slice_units, counts);
        count_n(view, &s, counts);
    }
    if (tj_scales_along_k(view, TJ_MATRIX_N)) {
        tj_scales_count_along_k(view, slice_units * columns * TJ_WARP, &counts->load_scales);
        if (!tj_thin_folds(view))
            counts->sums += slice_units * s.tm * s.tn;
    }
    tj_traffic_add(&counts->shared_store, &stored);
    tj_slices_count(view, &(tj_slices){s.slices, TJ_THIN_ROWS, s.tn, s.tm, TJ_THIN_ROWS * s.tn}, counts);
    tj_pointers_count(view, NULL, counts);
}
