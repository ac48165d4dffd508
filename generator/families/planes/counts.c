/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counts: the traffic and work of a launch of family planes on the path of f16, which most matrices take. Kernels of the other
 * paths cost only their launch.
 */
#include "form.h"

#include "checked.h"
#include "parts/lanes.h"
#include "parts/registers.h"
#include "parts/scales.h"
#include "parts/traffic.h"

/* Rows of M or columns of N of one ldmatrix; lanes along P when a warp stores; products of planes for one product of f32. */
enum {
    FRAGMENT = 16,
    STORE_ROWS = TJ_PLANES_STORE_ROWS,
    STORE_LANES = TJ_PLANES_STORE_LANES,
    STORE_COLS = TJ_PLANES_STORE_COLS
};
enum { CHUNK_ELEMENTS = TJ_PLANES_CHUNK / TJ_PLANES_BYTES, PRODUCTS = 3 };

/* copy: tiles of whole lines, none of which is clipped. */
static void count_copies(const tj_problem *view, const tj_planes_shape *s, bool is_m, int64_t repeat, tj_counts *counts)
{
    tj_traffic *const traffic = is_m ? &counts->load_m : &counts->load_n;
    const int64_t lines = tj_planes_lines(view, tj_planes_units_of(s), is_m), k_line = tj_planes_k_line(view);
    const int32_t chunks = s->bk / CHUNK_ELEMENTS;
    tj_access access = tj_tiled_access(chunks, s->threads / chunks, tj_ceil_div(view->k.extent, s->bk) * chunks, lines,
                                       TJ_PLANES_CHUNK, k_line * TJ_PLANES_BYTES);

    access.element_bytes = TJ_PLANES_BYTES;
    access.width = CHUNK_ELEMENTS;
    access.axis[2] = tj_batch_axis(view->batch, TJ_PLANES_MOST * lines * k_line, TJ_PLANES_BYTES);
    access.repeat = repeat * TJ_PLANES_OF_F16;
    tj_traffic_add(traffic, &access);
    counts->async_bytes += traffic->bytes;
    counts->work[TJ_PIPE_SHARED] += traffic->requests * TJ_PLANES_CHUNK / 4;
}

/* load: one warp loads 16 rows of M or columns of N of one plane for one step. */
static void count_fragment(const tj_planes_shape *s, bool is_m, int32_t first, int32_t step, int64_t times, tj_traffic *traffic)
{
    const int32_t chunks = s->bk / CHUNK_ELEMENTS, lines = chunks < 8 ? 8 / chunks : 1; /* swizzle.cuh */
    tj_lanes lanes = {.count = TJ_WARP, .element_bytes = TJ_PLANES_BYTES, .width = CHUNK_ELEMENTS, .is_shared = true};

    for (int32_t lane = 0; lane < TJ_WARP; lane++) {
        const int32_t line = first + (is_m ? lane % 16 : lane / 16 * 8 + lane % 8);
        const int32_t chunk = step * 2 + (is_m ? lane / 16 : lane / 8 % 2);

        lanes.lane[lane] = lane;
        lanes.address[lane] = (int64_t)(line * chunks + (chunk ^ line % 8 / lines % tj_least(chunks, 8))) * TJ_PLANES_CHUNK;
    }
    tj_lanes_add(traffic, &lanes, 0, times);
}

static void count_fragments(const tj_planes_shape *s, bool is_m, int64_t times, tj_traffic *traffic)
{
    const int32_t across = is_m ? s->bm : s->bn;

    if (traffic->is_estimate) { /* the first stands for all */
        count_fragment(s, is_m, 0, 0, times * (across / FRAGMENT) * s->steps, traffic);
        return;
    }
    for (int32_t first = 0; first < across; first += FRAGMENT)
        for (int32_t step = 0; step < s->steps; step++)
            count_fragment(s, is_m, first, step, times, traffic);
}

/* store: 8 x 4 lanes, each with two neighbouring columns. */
void tj_planes_count_output(const tj_problem *view, int32_t vector, const tj_matrix *matrix, tj_traffic *traffic)
{
    const int32_t bytes = tj_facts_of(view->p.type)->bytes;

    for (int32_t c = 0; c < STORE_COLS && c < view->l.extent; c += vector) {
        tj_access access = tj_tiled_access(STORE_LANES, STORE_ROWS, tj_ceil_div(view->l.extent - c, STORE_COLS), view->j.extent,
                                           STORE_COLS * bytes, matrix->ld * bytes);

        access.base = (int64_t)c * bytes;
        access.element_bytes = bytes;
        access.width = vector;
        access.axis[2] = tj_batch_axis(view->batch, matrix->stride, bytes);
        access.repeat = 1;
        tj_traffic_add(traffic, &access);
    }
}

static void count_scales(const tj_problem *view, const tj_planes_shape *s, tj_counts *counts)
{
    const tj_scales_side rows = {STORE_ROWS, 1, s->bm, false, counts->col_blocks * (s->bn / s->wn)};
    const tj_scales_side cols = {STORE_LANES, STORE_COLS, s->bn, false, counts->row_blocks * (s->bm / s->wm)};

    tj_scales_count_ahead(view, &rows, &cols, counts->blocks * s->threads, &counts->load_scales);
}

void tj_planes_count(const tj_problem *view, const tj_config *config, tj_counts *counts)
{
    const tj_planes_shape s = tj_planes_shape_of(config);
    const int64_t phases = tj_ceil_div(view->k.extent, s.bk), tiles = counts->blocks, block_phases = tiles * phases;
    const int64_t tile = (int64_t)s.bm * s.bn, warps = tiles * (s.threads / TJ_WARP), wanted = tj_planes_registers(&s) + 30;

    counts->pipe = TJ_PIPE_TENSOR_F16;
    counts->phase = (tj_phase_counts){
        .depth = s.bk,
        .loads = (int64_t)(s.bm + s.bn) * s.bk,
        .flop = 2 * tile * s.bk,
        .shared_loads = (int64_t)s.bk * TJ_PLANES_OF_F16 * ((int64_t)s.bm * (s.bn / s.wn) + (int64_t)s.bn * (s.bm / s.wm)),
    };
    counts->phases = phases;
    counts->barriers = block_phases;
    counts->work[counts->pipe] = PRODUCTS * 2 * block_phases * tile * s.bk;
    counts->mma = PRODUCTS * block_phases * tile / (FRAGMENT * 8) * s.steps;
    /*
     * Each step scales the small products and adds their accumulators to those of all of k; at the end the scales of the lines
     * are undone.
     */
    counts->sums = 2 * block_phases * tile * s.steps + 2 * tiles * tile;
    counts->chain = phases * s.steps;
    counts->chain_fma = PRODUCTS * s.wm * s.wn * TJ_PLANES_K_STEP / TJ_WARP;
    counts->ahead = s.stages - 1;
    counts->waits = 2;
    (void)tj_guess_registers(counts, (int32_t)wanted, 8, (int32_t)wanted - 12, s.blocks, s.threads);
    if (phases > 0) {
        count_copies(view, &s, true, counts->col_blocks, counts);
        count_copies(view, &s, false, counts->row_blocks, counts);
        count_fragments(&s, true, block_phases * (s.bn / s.wn) * TJ_PLANES_OF_F16, &counts->shared_load);
        count_fragments(&s, false, block_phases * (s.bm / s.wm) * TJ_PLANES_OF_F16, &counts->shared_load);
    }
    tj_planes_count_around(view, tj_planes_units_of(&s), warps, warps, s.wm, s.wn, counts);
    count_scales(view, &s, counts);
    tj_planes_count_output(view, tj_planes_p_vector(view, &s), &view->p, &counts->store_p);
    if (view->epilogue.has_beta)
        tj_planes_count_output(view, tj_planes_p_vector(view, &s), &view->c, &counts->load_c);
}
