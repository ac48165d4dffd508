/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counts: the traffic and work of a launch of family wgmma_planes on the path of f16, which most matrices take. Kernels of the
 * other paths cost only their launch.
 */
#include "form.h"

#include "checked.h"
#include "parts/registers.h"
#include "parts/scales.h"
#include "parts/traffic.h"

enum { STORE_ROWS = TJ_PLANES_STORE_ROWS, STORE_LANES = TJ_PLANES_STORE_LANES, STORE_COLS = TJ_PLANES_STORE_COLS };
enum { PRODUCTS = 3 /* for one of f32 */, LINE = 128, SECTOR = 32, K_STEP = TJ_WPLANES_K_STEP };

/* Boxes of whole lines of both planes, none of which is clipped. */
static void count_boxes(const tj_problem *view, const tj_wplanes_shape *s, bool is_m, int64_t phases, tj_counts *counts)
{
    tj_traffic *const traffic = is_m ? &counts->load_m : &counts->load_n;
    const int64_t boxes = counts->blocks * phases * TJ_PLANES_OF_F16, lines = boxes * (is_m ? s->bm : s->bn);

    (void)view;
    traffic->elements += lines * TJ_WPLANES_BK;
    traffic->bytes += lines * LINE;
    traffic->requests += lines;
    traffic->sectors += lines * (LINE / SECTOR);
    traffic->wavefronts += lines;
    traffic->merged = traffic->wavefronts;
    counts->async_bytes += lines * LINE;
}

void tj_wplanes_count(const tj_problem *view, const tj_config *config, tj_counts *counts)
{
    const tj_wplanes_shape s = tj_wplanes_shape_of(config);
    const int64_t phases = tj_ceil_div(view->k.extent, TJ_WPLANES_BK), tiles = counts->blocks, tile_phases = tiles * phases;
    const int64_t tile = (int64_t)s.bm * s.bn;
    const tj_scales_side rows = {STORE_ROWS, 1, s.bm, false, counts->col_blocks};
    const tj_scales_side cols = {STORE_LANES, STORE_COLS, s.bn, false, counts->row_blocks * (s.bm / 16)};
    const int32_t wanted = tj_registers_left(s.blocks, s.threads);

    counts->pipe = TJ_PIPE_TENSOR_F16;
    counts->phase = (tj_phase_counts){
        .depth = TJ_WPLANES_BK, .loads = (int64_t)(s.bm + s.bn) * TJ_WPLANES_BK, .flop = 2 * tile * TJ_WPLANES_BK};
    counts->phases = phases;
    counts->barriers = tiles; /* as if every tile had its own block */
    counts->work[counts->pipe] = PRODUCTS * 2 * tile_phases * tile * TJ_WPLANES_BK;
    /*
     * Each phase scales the small products and adds their accumulators to those of all of k; at the end the scales of the lines
     * are undone.
     */
    counts->sums = 2 * tile_phases * tile + 2 * tiles * tile;
    counts->chain = phases;
    counts->chain_fma = PRODUCTS * TJ_WPLANES_ROWS * s.bn * TJ_WPLANES_BK / 128;
    counts->ahead = s.stages - 1;
    counts->waits = 2;
    (void)tj_guess_registers(counts, wanted, 0, wanted, s.blocks, s.threads);
    if (phases > 0) {
        count_boxes(view, &s, true, phases, counts);
        count_boxes(view, &s, false, phases, counts);
    }
    tj_planes_count_around(view, tj_wplanes_units_of(&s), tiles * (s.threads / 32), tiles * s.multipliers * 4, 16, s.bn,
                           counts);
    tj_scales_count_ahead(view, &rows, &cols, tiles * s.multipliers * 128, &counts->load_scales);
    tj_planes_count_output(view, tj_wplanes_p_vector(view, &s), &view->p, &counts->store_p);
    if (view->epilogue.has_beta)
        tj_planes_count_output(view, tj_wplanes_p_vector(view, &s), &view->c, &counts->load_c);
}
