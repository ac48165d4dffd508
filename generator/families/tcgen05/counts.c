/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counts: the traffic and work of a launch of family tcgen05. As of wgmma: the copy engine moves whole boxes, tensor cores read
 * shared memory themselves, and threads access memory for P only.
 */
#include "form.h"

#include "checked.h"
#include "parts/block_scales.h"
#include "parts/lanes.h"
#include "parts/registers.h"
#include "parts/scales.h"
#include "parts/split.h"
#include "parts/traffic.h"

enum { OTHER_REGISTERS = 64 };

/*
 * Each thread loads the address of tensor memory. Of a pair's blocks as many are launched as there are tiles, rounded up to whole pairs,
 * although the tiles are rounded up in each column.
 */
static void count_addresses(const tj_problem *view, const tj_tcgen05_shape *s, tj_counts *counts)
{
    const int64_t batch = s->w.splits > 1 ? 1 : view->batch, tiles = counts->row_blocks * counts->col_blocks * batch,
                  blocks = tj_ceil_div(tiles, s->w.cluster_rows) * s->w.cluster_rows * (counts->blocks / tiles);
    tj_lanes address = {.count = TJ_WARP, .element_bytes = 4, .width = 1, .is_shared = true};

    for (int i = 0; i < TJ_WARP; i++)
        address.lane[i] = i;
    tj_lanes_add(&counts->shared_load, &address, 0, blocks * s->w.threads / TJ_WARP);
}

void tj_tcgen05_count(const tj_problem *view, const tj_config *config, tj_counts *counts)
{
    const tj_tcgen05_shape s = tj_tcgen05_shape_of(view, config);
    const tj_pack pack = tj_wgmma_pack_of(view, &s.w);
    const tj_problem packed = tj_pack_moved(view, &pack);
    const int32_t cols = s.w.paired ? s.w.bn / 2 : s.w.bn; /* of N in a block */
    const int64_t phases = tj_ceil_div(view->k.extent, s.w.bk), tile = (int64_t)s.w.bm * s.w.bn;
    const tj_split_phases share = tj_split_share(phases, s.w.splits);
    const int32_t sums = s.w.bm * s.strip / 128;
    int64_t tile_phases;

    count_addresses(view, &s, counts);
    tile_phases = tj_wgmma_fill_clusters(view, &s.w, counts) * phases;

    counts->pipe = s.words == 0      ? tj_tcgen05_type_of(view, TJ_MATRIX_M)->pipe
                   : tj_is_fp4(view) ? TJ_PIPE_TENSOR_FP4
                                     : TJ_PIPE_TENSOR_MXFP8;
    counts->phase = (tj_phase_counts){.depth = s.w.bk, .loads = (int64_t)(s.w.bm + cols) * s.w.bk, .flop = 2 * tile * s.w.bk};
    counts->phases = share.most;
    counts->work[counts->pipe] = 2 * tile_phases * tile * s.w.bk;
    counts->chain = share.most;
    counts->chain_fma = (int32_t)(tile * s.w.bk / 128);
    counts->walkers = 1;
    counts->alternates = 1; /* four warps store a tile while the next is multiplied */
    counts->ahead = s.w.stages - 1;
    counts->waits = 1;
    (void)tj_guess_registers(counts, sums + OTHER_REGISTERS, 25, sums, 1, s.w.threads);
    if (phases > 0)
        tj_wgmma_count_boxes(&packed, &s.w, counts);
    tj_scales_count_along_k(view, tile_phases * s.words * (s.w.bm + s.w.bn), &counts->load_scales);
    tj_pack_count(view, &pack, counts);
    tj_wgmma_count_outputs(view, &s.w, counts);
    /* Copies write to shared memory, and for each product the tensor cores read all rows of M and columns of N that the block has. */
    counts->work[TJ_PIPE_SHARED] = (counts->async_bytes + tile_phases * (s.w.bm + cols) * TJ_WGMMA_LINE) / TJ_LINE;
    counts->barriers = s.w.paired ? 0 : 2 * counts->blocks; /* as if every tile had its own block */
}
