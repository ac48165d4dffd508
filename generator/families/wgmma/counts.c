/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counts: what a launch of family wgmma moves and computes. The copy engine moves M and N by whole boxes, of which one thread asks for
 * each; the tensor cores read shared memory themselves. Threads touch memory for P alone.
 */
#include "form.h"

#include "checked.h"
#include "parts/lanes.h"
#include "parts/registers.h"
#include "parts/split.h"
#include "parts/traffic.h"

enum { SECTOR = 32 };

static int32_t pipe_of(const tj_problem *view)
{
    return view->m.type == TJ_F16         ? TJ_PIPE_TENSOR_F16
           : view->m.type == TJ_BF16      ? TJ_PIPE_TENSOR_BF16
           : view->m.type == TJ_F32       ? TJ_PIPE_TENSOR_TF32
           : tj_type_is_fp8(view->m.type) ? TJ_PIPE_TENSOR_FP8
                                          : TJ_PIPE_TENSOR_S8;
}

/* What lies outside the matrix is filled with zeros, and moves nothing. */
static void count_boxes(const tj_problem *view, const tj_wgmma_shape *s, bool is_m, int64_t repeat, tj_counts *counts)
{
    const tj_which which = is_m ? TJ_MATRIX_M : TJ_MATRIX_N;
    const tj_lines lines = tj_problem_lines(view, which);
    const tj_wgmma_tile t = tj_wgmma_tile_of(view, s, is_m);
    const int64_t across = is_m ? counts->row_blocks : counts->col_blocks, phases = tj_ceil_div(view->k.extent, s->bk);
    tj_traffic *const traffic = is_m ? &counts->load_m : &counts->load_n;
    const int64_t elements = lines.width->extent * lines.count->extent * view->batch * repeat;
    const int64_t line_sectors = tj_ceil_div(lines.width->extent * s->element_bytes, SECTOR);

    traffic->elements += elements;
    traffic->bytes += elements * s->element_bytes;
    traffic->requests += across * phases * t.blocks * view->batch * repeat;
    traffic->sectors += line_sectors * lines.count->extent * view->batch * repeat;
    traffic->wavefronts += tj_ceil_div(elements * s->element_bytes, TJ_WGMMA_LINE);
    traffic->merged = traffic->wavefronts;
    counts->async_bytes += elements * s->element_bytes;
}

/* The lanes of a warp store neighbours of a row, and then of the next, in slices of the tile. */
static void count_lines(const tj_problem *view, const tj_wgmma_output *out, int64_t bytes, int64_t ld, int64_t stride,
                        int64_t matrices, tj_traffic *traffic)
{
    const int32_t lanes = tj_least(out->slice / out->vector, TJ_WARP);
    tj_access access = tj_tiled_access(lanes, TJ_WARP / lanes, tj_ceil_div(view->l.extent, out->vector), view->j.extent,
                                       out->vector * bytes, ld * bytes);

    access.element_bytes = (int32_t)bytes;
    access.width = out->vector;
    access.axis[2] = tj_batch_axis(matrices, stride, bytes);
    tj_traffic_add(traffic, &access);
}

/* The copy engine stores what of a slice lies inside P, a line of it after the other. */
static void count_stored_boxes(const tj_problem *view, const tj_wgmma_output *out, tj_traffic *traffic)
{
    const int64_t bytes = tj_facts_of(view->p.type)->bytes, elements = view->j.extent * view->l.extent * view->batch;

    traffic->elements += elements;
    traffic->bytes += elements * bytes;
    traffic->requests +=
        tj_ceil_div(view->j.extent, TJ_WGMMA_SLICE_ROWS) * tj_ceil_div(view->l.extent, out->slice) * view->batch;
    traffic->sectors += tj_ceil_div(view->l.extent * bytes, SECTOR) * view->j.extent * view->batch;
    traffic->wavefronts += tj_ceil_div(elements * bytes, TJ_WGMMA_LINE);
    traffic->merged = traffic->wavefronts;
}

static void count_outputs(const tj_problem *view, const tj_wgmma_shape *s, tj_counts *counts)
{
    const tj_wgmma_output out = tj_wgmma_output_of(view, s);
    const int64_t p_bytes = tj_facts_of(view->p.type)->bytes;

    if (s->splits > 1) {
        count_lines(view, &out, counts->sum_bytes, view->l.extent, view->j.extent * view->l.extent, view->batch * s->splits,
                    &counts->store_w);
        tj_split_count(view, s->splits, counts);
    } else if (out.boxes > 0) {
        count_stored_boxes(view, &out, &counts->store_p);
    } else {
        count_lines(view, &out, p_bytes, view->p.ld, view->p.stride, view->batch, &counts->store_p);
        if (view->epilogue.has_beta)
            count_lines(view, &out, p_bytes, view->c.ld, view->c.stride, view->batch, &counts->load_c);
    }
}

void tj_wgmma_count(const tj_problem *view, const tj_config *config, tj_counts *counts)
{
    const tj_wgmma_shape s = tj_wgmma_shape_of(view, config);
    const tj_pack pack = tj_wgmma_pack_of(view, &s);
    const tj_problem packed = tj_pack_moved(view, &pack);
    const int64_t phases = tj_ceil_div(view->k.extent, s.bk), tiles = counts->blocks / s.splits, tile_phases = tiles * phases;
    const tj_split_phases share = tj_split_share(phases, s.splits);
    const int64_t tile = (int64_t)s.bm * s.bn;
    const int32_t wanted = tj_registers_left(s.blocks, s.threads);

    counts->pipe = pipe_of(view);
    counts->phase = (tj_phase_counts){.depth = s.bk, .loads = (int64_t)(s.bm + s.bn) * s.bk, .flop = 2 * tile * s.bk};
    counts->phases = share.most;
    counts->work[counts->pipe] = 2 * tile_phases * tile * s.bk;
    counts->chain = share.most;
    counts->chain_fma = s.bm / s.multipliers * s.bn * s.bk / 128;
    counts->streams = 1;
    counts->ahead = s.stages - 1;
    counts->waits = 1;
    (void)tj_guess_registers(counts, wanted, 0, wanted, s.blocks, s.threads);
    if (phases > 0) {
        count_boxes(&packed, &s, true, counts->col_blocks, counts);
        count_boxes(&packed, &s, false, counts->row_blocks, counts);
    }
    tj_pack_count(view, &pack, counts);
    count_outputs(view, &s, counts);
}
