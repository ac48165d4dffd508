/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simt_count: what a launch of family simt moves and computes. Every loop of the two templates is one access here; the names are
 * theirs.
 */
#include "../traffic.h"
#include "checked.h"
#include "simt.h"
#include "split.h"

/* A matrix as the text sees it: elements `across` its block tile, along k, and how far apart they lie. */
typedef struct operand {
    int64_t across, k;           /* extents */
    int64_t step_across, step_k; /* bytes */
    int64_t batch, stride;       /* bytes */
    int64_t repeat;              /* blocks that load the same tile */
    int32_t tile, element_bytes; /* BM or BN */
    int32_t width;               /* elements of a copy; 0: neighbours along k are copied one by one */
    bool along_k;                /* neighbours in memory are neighbours along k */
} operand;

static operand operand_of(const tj_problem *text, const tj_config *config, const tj_counts *counts, bool is_m)
{
    const tj_simt_shape s = tj_simt_shape_of(config);
    const bool along_k = is_m ? text->m_layout == TJ_ROW_MAJOR : text->n_layout == TJ_COL_MAJOR;
    const int64_t bytes = counts->element_bytes, line = (is_m ? text->ld_m : text->ld_n) * bytes;
    const int64_t stride = is_m ? text->stride_m : text->stride_n;

    return (operand){
        .across = is_m ? text->j.extent : text->l.extent,
        .k = text->k.extent,
        .step_across = along_k ? line : bytes,
        .step_k = along_k ? bytes : line,
        .batch = text->batch,
        .stride = stride > 0 ? stride * bytes : 0,
        .repeat = is_m ? counts->col_blocks : counts->row_blocks,
        .tile = is_m ? s.bm : s.bn,
        .element_bytes = (int32_t)bytes,
        .width = is_m ? tj_simt_m_width(text, config) : tj_simt_n_width(text, config),
        .along_k = along_k,
    };
}

/* Threads x by y, x along what neighbours in memory are neighbours of; tiles of them cover the matrix. */
static void count_tiles(const operand *o, int32_t x, int32_t y, int32_t width, tj_traffic *traffic)
{
    const int64_t near_extent = (o->along_k ? o->k : o->across) / width, far_extent = o->along_k ? o->across : o->k;
    const int64_t near_step = (o->along_k ? o->step_k : o->step_across) * width,
                  far_step = o->along_k ? o->step_across : o->step_k;
    const tj_access access = {
        .threads_x = x,
        .threads_y = y,
        .step_x = near_step,
        .step_y = far_step,
        .element_bytes = o->element_bytes,
        .width = width,
        .axis = {tj_tile_axis(near_extent, x, x * near_step),
                 tj_tile_axis(far_extent, y, y * far_step),
                 {o->batch, o->stride, 0, 0}},
        .repeat = o->repeat,
    };

    tj_traffic_add(traffic, &access);
}

/* start_copies: in one go the threads copy M_ROWS x M_STEPS elements (N_STEPS x N_COLS). */
static void count_copies(const operand *o, const tj_simt_shape *s, tj_traffic *traffic)
{
    const int32_t threads = s->threads;

    if (o->along_k) {
        const int32_t run = tj_simt_run(s, o->tile), rows = threads / run < o->tile ? threads / run : o->tile;

        count_tiles(o, run, rows, 1, traffic);
    } else {
        const int32_t line = threads * o->width < o->tile ? threads * o->width : o->tile;

        count_tiles(o, line / o->width, threads * o->width / line, o->width, traffic);
    }
}

/* ---- shared memory ------------------------------------------------------------------------------------------------ */

/* Threads x by y touch `width` elements each, so often. */
static void count_shared(int32_t x, int32_t y, int64_t step_x, int64_t step_y, int32_t width, int32_t bytes, int64_t repeat,
                         int32_t merges, tj_traffic *traffic)
{
    const tj_access access = {
        .threads_x = x,
        .threads_y = y,
        .step_x = step_x * bytes,
        .step_y = step_y * bytes,
        .element_bytes = bytes,
        .width = width,
        .is_shared = true,
        .axis = {{1, 0, x, x}, {1, 0, y, y}},
        .repeat = repeat,
        .merges = merges,
    };

    tj_traffic_add(traffic, &access);
}

/* load: the lanes of a row read the same elements of M, those of a column the same of N, VEC at a time. */
static void count_fragments(const tj_simt_shape *s, int32_t vec, int64_t warp_steps, tj_counts *counts)
{
    /* A request of 16 bytes a lane, of which so many are the same, takes half the passes that its bytes would. */
    const int32_t merges = 2;

    count_shared(TJ_SIMT_LANE_COLS, TJ_SIMT_LANE_ROWS, 0, vec, vec, counts->sum_bytes, warp_steps * (s->tm / vec), merges,
                 &counts->shared_load);
    count_shared(TJ_SIMT_LANE_COLS, TJ_SIMT_LANE_ROWS, vec, 0, vec, counts->sum_bytes, warp_steps * (s->tn / vec), merges,
                 &counts->shared_load);
}

/* copy=registers: neighbours in memory go to rows of the tile (along k) or to neighbours in a row. */
static void count_tile_stores(const operand *o, const tj_simt_shape *s, int32_t bytes, int64_t block_phases,
                              tj_traffic *traffic)
{
    const int32_t padding = 4, pitch = o->tile + padding;

    if (o->along_k)
        count_shared(s->bk, o->tile, pitch, 1, 1, bytes, block_phases, 0, traffic);
    else
        count_shared(o->tile, s->bk, 1, pitch, 1, bytes, block_phases, 0, traffic);
}

/* The sums of the other slices, each written by one slice and read by the first. */
static void count_partial_sums(const tj_simt_shape *s, tj_counts *counts)
{
    const int64_t times = counts->blocks * (s->slices - 1) * s->tm * s->tn;

    if (times == 0)
        return;
    count_shared(s->tile_threads, 1, 1, 0, 1, counts->sum_bytes, times, 0, &counts->shared_store);
    count_shared(s->tile_threads, 1, 1, 0, 1, counts->sum_bytes, times, 0, &counts->shared_load);
}

/* ---- P and C ------------------------------------------------------------------------------------------------------ */

/* A thread's elements come VEC x VEC at a time; here are the one in row r and column c of such a square, or the row r of it. */
static void count_output(const tj_problem *text, int32_t vec, bool is_wide, int64_t bytes, int64_t ld, int64_t stride,
                         int64_t matrices, tj_traffic *traffic)
{
    const int64_t rows = text->j.extent, cols = text->l.extent;

    for (int32_t r = 0; r < vec && r < rows; r++)
        for (int32_t c = 0; c < (is_wide ? 1 : vec) && c < cols; c++) {
            const tj_access access = {
                .threads_x = TJ_SIMT_LANE_COLS,
                .threads_y = TJ_SIMT_LANE_ROWS,
                .step_x = vec * bytes,
                .step_y = vec * ld * bytes,
                .base = (r * ld + c) * bytes,
                .element_bytes = (int32_t)bytes,
                .width = is_wide ? vec : 1,
                .axis = {tj_tile_axis(tj_ceil_div(cols - c, vec), TJ_SIMT_LANE_COLS, TJ_SIMT_LANE_COLS * vec * bytes),
                         tj_tile_axis(tj_ceil_div(rows - r, vec), TJ_SIMT_LANE_ROWS, TJ_SIMT_LANE_ROWS * vec * ld * bytes),
                         {matrices, (stride > 0 ? stride : 0) * bytes, 0, 0}},
                .repeat = 1,
            };

            tj_traffic_add(traffic, &access);
        }
}

/* ---- all of it ---------------------------------------------------------------------------------------------------- */

/* Fitted to what ptxas gave 13 configs for sm_90; a bound by `blocks` makes it spill what does not fit. */
static void estimate_registers(const tj_simt_shape *s, int32_t blocks, tj_counts *counts)
{
    const int32_t words = counts->sum_bytes / 4, fragments = s->tm + s->tn;
    const int32_t slack = 8; /* so much less ptxas makes do with */
    const int32_t wanted = s->copy == TJ_SIMT_ASYNC
                               ? words * (s->tm * s->tn + 2 * fragments) + 32
                               : words * (s->tm * s->tn + 2 * fragments + (s->bm + s->bn) * s->bk / s->threads) + 72;
    const int32_t room = 65536 / (blocks * s->threads) / 8 * 8, most = room < 255 ? room : 255;

    counts->registers = wanted < most ? wanted : most;
    counts->spilled = wanted - counts->registers > slack ? wanted - counts->registers - slack : 0;
}

void tj_simt_count(const tj_problem *text, const tj_config *config, tj_counts *counts)
{
    const tj_simt_shape s = tj_simt_shape_of(config);
    const int32_t vec = tj_simt_vec(text);
    const operand m = operand_of(text, config, counts, true), n = operand_of(text, config, counts, false);
    const int32_t splits = (int32_t)counts->splits;
    const int64_t phases = tj_ceil_div(text->k.extent, s.bk), tiles = counts->blocks / splits, block_phases = tiles * phases;
    const tj_split_phases share = tj_split_share(phases, splits);
    const int64_t p_bytes = (int64_t)tj_dtype_bytes((tj_dtype)text->p_dtype), rows = text->j.extent, cols = text->l.extent;
    const int64_t tile = (int64_t)s.bm * s.bn, loads = (int64_t)(s.bm + s.bn) * s.bk;
    const bool is_async = s.copy == TJ_SIMT_ASYNC, is_wide = tj_simt_has_vector_p(text, config);

    counts->phase = (tj_phase_counts){.depth = s.bk,
                                      .loads = loads,
                                      .flop = 2 * tile * s.bk,
                                      .shared_stores = is_async ? 0 : loads,
                                      .shared_loads = (int64_t)s.threads * (s.bk / s.slices) * (s.tm + s.tn)};
    counts->phases = share.most;
    /* Asynchronous: none before the first phase of a split, one before any, two for each partial sum. */
    counts->barriers = is_async ? counts->blocks * (2 * s.slices - 1) + tiles * (phases - share.splits) : tiles * phases;
    counts->fma = block_phases * tile * s.bk;
    counts->sums = counts->blocks * (s.slices - 1) * tile;
    counts->chain = share.most * (s.bk / s.slices);
    counts->chain_fma = s.tm * s.tn;
    counts->waits = 1;
    counts->ahead = s.stages - 1;
    estimate_registers(&s, tj_config_get(config, "blocks"), counts);
    if (phases > 0 && is_async) {
        count_copies(&m, &s, &counts->load_m);
        count_copies(&n, &s, &counts->load_n);
        counts->async_bytes = counts->load_m.bytes + counts->load_n.bytes;
        counts->async_wavefronts = counts->load_m.requests * m.width * tj_simt_sum_bytes(text) / 4 +
                                   counts->load_n.requests * n.width * tj_simt_sum_bytes(text) / 4;
    } else if (phases > 0) {
        count_tiles(&m, m.along_k ? s.bk : s.bm, m.along_k ? s.bm : s.bk, 1, &counts->load_m);
        count_tiles(&n, n.along_k ? s.bk : s.bn, n.along_k ? s.bn : s.bk, 1, &counts->load_n);
        count_tile_stores(&m, &s, counts->sum_bytes, block_phases, &counts->shared_store);
        count_tile_stores(&n, &s, counts->sum_bytes, block_phases, &counts->shared_store);
    }
    if (phases > 0)
        count_fragments(&s, vec, block_phases * s.bk * (s.tile_threads / 32), counts);
    count_partial_sums(&s, counts);
    if (splits > 1) {
        count_output(text, vec, is_wide, counts->sum_bytes, cols, rows * cols, text->batch * splits, &counts->store_w);
        tj_split_count(text, splits, counts);
    } else {
        count_output(text, vec, is_wide, p_bytes, text->ld_p, text->stride_p, text->batch, &counts->store_p);
        if (text->has_beta) {
            count_output(text, vec, is_wide, p_bytes, text->ld_c, text->stride_c, text->batch, &counts->load_c);
            counts->fma += rows * cols * text->batch;
            counts->waits++;
        }
    }
    counts->l2_bytes = counts->load_m.bytes + counts->load_n.bytes + counts->store_p.bytes + counts->load_c.bytes +
                       counts->store_w.bytes + counts->load_w.bytes;
}
