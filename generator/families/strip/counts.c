/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counts: the traffic and work of a launch of family strip. Each loop of the template is one function here. Loads from shared
 * memory are counted lane by lane.
 */
#include "form.h"

#include "checked.h"
#include "parts/boxes.h"
#include "parts/lanes.h"
#include "parts/pointers.h"
#include "parts/registers.h"
#include "parts/scales.h"
#include "parts/split.h"
#include "parts/traffic.h"

/* copy: lanes copy neighbouring chunks, s->chunks of a line. */
static void count_copies(const tj_problem *view, const tj_strip_shape *s, bool is_m, int64_t repeat, tj_traffic *traffic)
{
    const tj_matrix *const matrix = is_m ? &view->m : &view->n;
    const int64_t bytes = TJ_STRIP_CHUNK / s->vector, chunks = view->k.extent / s->vector;
    tj_access access = is_m ? tj_tiled_access(s->chunks, s->rows, chunks, view->j.extent, TJ_STRIP_CHUNK, matrix->ld * bytes)
                            : tj_tiled_access(s->chunks * s->cols, 1, chunks * s->cols, 1, TJ_STRIP_CHUNK, 0);

    access.element_bytes = (int32_t)bytes;
    access.width = s->vector;
    access.axis[2] = tj_batch_axis(view->batch, matrix->stride, bytes);
    access.repeat = repeat;
    tj_traffic_add(traffic, &access);
}

/*
 * The copy engine copies boxes; a line of a box of N has as many rows of N as a chunk has elements. Parts of a box beyond the
 * edge move no bytes.
 */
static void count_boxes(const tj_problem *view, const tj_strip_shape *s, bool is_m, int64_t repeat, tj_traffic *traffic)
{
    const tj_matrix *const matrix = is_m ? &view->m : &view->n;
    const int64_t line = (int64_t)s->cols * s->vector;
    const tj_boxes boxes = {
        .element_bytes = TJ_STRIP_CHUNK / s->vector,
        .width = is_m ? view->k.extent : line,
        .lines = is_m ? view->j.extent : view->k.extent / s->vector,
        .ld = is_m ? matrix->ld : line,
        .products = view->batch,
        .stride = matrix->stride,
        .repeat = repeat,
        .tile = is_m ? s->turn : line,
        .boxes = is_m ? 1 : s->boxes,
        .box = is_m ? s->turn : TJ_STRIP_LINE_CHUNKS * s->vector,
    };

    tj_boxes_count(&boxes, traffic);
}

/* The position of a lane in its warp. */
typedef struct place {
    int32_t k, row, col;
} place;

static place place_of(const tj_strip_shape *s, int32_t lane)
{
    return (place){lane % s->k_lanes, lane / s->k_lanes % s->row_lanes, lane / (s->k_lanes * s->row_lanes)};
}

/* Each lane loads a chunk. Two elements of 16 bits are loaded as one word. */
static tj_lanes chunks_of_a_warp(const tj_strip_shape *s)
{
    const int32_t width = tj_least(s->vector, TJ_STRIP_CHUNK / 4);

    return (tj_lanes){.count = TJ_WARP, .element_bytes = TJ_STRIP_CHUNK / width, .width = width, .is_shared = true};
}

/* multiply: load the chunks of M of one step, for all TM rows, which are whole lines apart. */
static void count_rows(const tj_strip_shape *s, int32_t step, int64_t times, tj_traffic *traffic)
{
    tj_lanes lanes = chunks_of_a_warp(s);

    for (int32_t lane = 0; lane < TJ_WARP; lane++) {
        const place at = place_of(s, lane);

        lanes.lane[lane] = lane;
        lanes.address[lane] =
            (int64_t)(at.row * s->chunks + tj_strip_place_of(s, at.row, step * s->k_lanes + at.k)) * TJ_STRIP_CHUNK;
    }
    tj_lanes_add(traffic, &lanes, 0, times * s->tm);
}

/* multiply: load chunk q of N of one step. */
static void count_columns(const tj_strip_shape *s, int32_t step, int32_t q, int64_t times, tj_traffic *traffic)
{
    const int32_t wide = s->tn / s->vector;
    tj_lanes lanes = chunks_of_a_warp(s);

    for (int32_t lane = 0; lane < TJ_WARP; lane++) {
        const place at = place_of(s, lane);
        const int32_t chunk = s->col_lanes == 1 ? q : q / wide * (s->cols / s->vector) + at.col * wide + q % wide;

        lanes.lane[lane] = lane;
        lanes.address[lane] = tj_strip_n_place(s, step * s->k_lanes + at.k, chunk) * TJ_STRIP_CHUNK;
    }
    tj_lanes_add(traffic, &lanes, 0, times);
}

/* Count the loads of one warp in each of `times` phases. */
static void count_loads(const tj_strip_shape *s, int64_t times, tj_traffic *traffic)
{
    if (traffic->is_estimate) { /* the first stands for all */
        count_rows(s, 0, times * s->steps, traffic);
        count_columns(s, 0, 0, times * s->steps * s->tn, traffic);
        return;
    }
    for (int32_t step = 0; step < s->steps; step++) {
        count_rows(s, step, times, traffic);
        for (int32_t q = 0; q < s->tn; q++)
            count_columns(s, step, q, times, traffic);
    }
}

/* A block adds the accumulators of its warps: `rows` rows of a block, `blocks` times. */
static void count_sums(const tj_strip_shape *s, int64_t rows, int64_t blocks, tj_traffic *traffic)
{
    const int32_t bytes = s->sum_bytes, elements = (int32_t)rows * s->cols;
    const int32_t end = traffic->is_estimate ? tj_least(elements, TJ_WARP) : elements;
    const int64_t times = blocks * s->warps * (traffic->is_estimate ? tj_ceil_div(elements, TJ_WARP) : 1);

    for (int32_t first = 0; first < end; first += TJ_WARP) {
        tj_lanes lanes = {.count = tj_least(TJ_WARP, end - first), .element_bytes = bytes, .width = 1, .is_shared = true};

        for (int32_t lane = 0; lane < lanes.count; lane++) {
            const int32_t row = (first + lane) / s->cols, col = (first + lane) % s->cols;
            const int32_t at = row / s->row_lanes * s->tn + col % s->tn;
            const int32_t owner = (col / s->tn * s->row_lanes + row % s->row_lanes) * s->k_lanes + at / s->share;

            lanes.lane[lane] = lane;
            lanes.address[lane] = (int64_t)(at % s->share * (TJ_WARP + 1) + owner) * bytes;
        }
        tj_lanes_add(traffic, &lanes, 0, times);
    }
}

/* P, C or the workspace: neighbouring threads have neighbouring elements. */
static void count_output(const tj_problem *view, const tj_strip_shape *s, int64_t bytes, int64_t ld, int64_t stride,
                         int64_t matrices, tj_traffic *traffic)
{
    const bool p_rows = view->p.layout == TJ_ROW_MAJOR;
    tj_access access = tj_tiled_access(s->cols, s->rows, view->l.extent, view->j.extent, p_rows ? bytes : ld * bytes,
                                       p_rows ? ld * bytes : bytes);

    access.element_bytes = (int32_t)bytes;
    access.axis[2] = tj_batch_axis(matrices, stride, bytes);
    tj_traffic_add(traffic, &access);
}

/*
 * Fitted to the registers of 70 configs for sm_90, with an error of 11 %: ptxas keeps an address for each copy of M besides the
 * accumulators. In 16 bits, fitted to 46 configs with an error of 9 %: ptxas converts elements ahead, which takes more
 * registers than the accumulators. With boxes, fitted to 1 900 configs with an error of 12 %.
 */
static void estimate_registers(const tj_strip_shape *s, int32_t blocks, tj_counts *counts)
{
    const int32_t words = counts->sum_bytes / 4, sums = words * s->tm * s->tn, rows = s->tm * TJ_STRIP_CHUNK / 4;
    const int32_t copies = s->rows * s->chunks / TJ_WARP;
    const bool converts = s->vector * s->sum_bytes > TJ_STRIP_CHUNK;
    const int32_t of_boxes = converts ? 36 + sums * 9 / 4 : 32 + sums * 3 / 2 + s->tm;
    const int32_t of_lanes = converts ? 44 + sums * 5 / 2 + copies : 56 + sums * 6 / 5 + 5 * copies;
    const int32_t wanted = s->boxes > 0 ? of_boxes : of_lanes;

    (void)tj_guess_registers(counts, wanted, 11, sums + rows + 32, blocks, s->threads);
}

void tj_strip_count(const tj_problem *view, const tj_config *config, tj_counts *counts)
{
    const tj_strip_shape s = tj_strip_shape_of(view, config);
    const int32_t own = s.turn / s.warps, bytes = counts->sum_bytes; /* own: a warp's part of a turn */
    const bool p_rows = view->p.layout == TJ_ROW_MAJOR;
    const int64_t turns = tj_ceil_div(view->k.extent, s.turn), strips = counts->blocks / s.splits,
                  phases = s.boxes > 0 ? turns : tj_ceil_div(view->k.extent, own),
                  warp_phases = strips * (s.boxes > 0 ? turns * s.warps : phases);
    const int64_t p_bytes = tj_facts_of(view->p.type)->bytes, last = view->j.extent % s.rows;
    const int64_t bottoms = last > 0 ? counts->blocks / counts->row_blocks : 0; /* blocks that reach beyond the last row */
    tj_access store;

    counts->phase = (tj_phase_counts){.depth = s.turn,
                                      .loads = (int64_t)(s.rows + s.cols) * s.turn,
                                      .flop = (int64_t)2 * s.rows * s.cols * s.turn,
                                      .shared_loads = (int64_t)(s.tm + s.tn) * s.steps * s.vector * s.warps * TJ_WARP};
    counts->phases = tj_split_share(phases, s.splits).most;
    counts->phases = s.boxes > 0 ? counts->phases : tj_ceil_div(counts->phases, s.warps);
    counts->barriers = counts->blocks * (s.boxes > 0 ? 2 : 1);
    counts->work[counts->pipe] = 2 * warp_phases * TJ_WARP * s.steps * s.vector * s.tm * s.tn;
    counts->chain = counts->phases * s.steps;
    counts->chain_fma = s.tm * s.tn * s.vector;
    counts->waits = 1;
    counts->producers = s.boxes > 0;
    if (s.boxes > 0)
        counts->model = &tj_model_strip_boxes;
    counts->ahead = s.stages - 1;
    estimate_registers(&s, tj_config_get(config, "blocks"), counts);
    if (phases > 0) {
        if (s.boxes > 0) {
            count_boxes(view, &s, true, 1, &counts->load_m);
            count_boxes(view, &s, false, counts->row_blocks, &counts->load_n);
        } else {
            count_copies(view, &s, true, 1, &counts->load_m);
            count_copies(view, &s, false, counts->row_blocks, &counts->load_n);
        }
        count_loads(&s, warp_phases, &counts->shared_load);
        counts->async_bytes = counts->load_m.bytes + counts->load_n.bytes;
        counts->work[TJ_PIPE_SHARED] = s.boxes > 0 ? counts->async_bytes / TJ_LINE
                                                   : (counts->load_m.requests + counts->load_n.requests) * (TJ_STRIP_CHUNK / 4);
    }
    /* additions when lanes along k fold their accumulators, and when the block adds those of its warps */
    counts->sums = counts->blocks * s.warps * TJ_WARP * (s.k_lanes - 1) * s.share +
                   view->j.extent * s.cols * view->batch * s.splits * (s.warps - 1);
    counts->exchanged = (s.k_lanes - 1) * s.share;
    store = tj_shared_access(TJ_WARP, 1, 1, 0, bytes, 1, counts->blocks * s.warps * s.share);
    tj_traffic_add(&counts->shared_store, &store);
    count_sums(&s, s.rows, counts->blocks - bottoms, &counts->shared_load);
    count_sums(&s, last, bottoms, &counts->shared_load);
    if (s.splits > 1) {
        count_output(view, &s, bytes, p_rows ? view->l.extent : view->j.extent, view->j.extent * view->l.extent,
                     view->batch * s.splits, &counts->store_w);
        tj_split_count(view, s.splits, counts);
    } else {
        count_output(view, &s, p_bytes, view->p.ld, view->p.stride, view->batch, &counts->store_p);
        if (view->epilogue.has_beta)
            count_output(view, &s, p_bytes, view->c.ld, view->c.stride, view->batch, &counts->load_c);
        tj_scales_count_tiles(view, s.cols, s.rows, TJ_SCALES_IN_TURN, counts);
    }
    tj_pointers_count(view, NULL, counts);
}
