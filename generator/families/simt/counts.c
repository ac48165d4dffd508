/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counts: the traffic and work of a launch of family simt. Each loop of the two templates is one access here, under the
 * template's name.
 */
#include "form.h"

#include "checked.h"
#include "parts/copy.h"
#include "parts/pointers.h"
#include "parts/registers.h"
#include "parts/scales.h"
#include "parts/split.h"
#include "parts/traffic.h"

/* An operand of the source: its extent across (the block tile's dimension) and along k, and its strides. */
typedef struct operand {
    tj_simt_copy copy;
    int64_t across, k;           /* extents */
    int64_t step_across, step_k; /* bytes */
    int64_t batch, stride;       /* elements */
    int64_t repeat;              /* blocks that load the same tile */
    int32_t element_bytes;
    bool moves;      /* the last tile is moved back to end at the edge */
    int64_t k_begin; /* of the last split, if its first copies do not fill a BK; -1: they do */
} operand;

/* A range of a dimension whose tiles are alike. */
typedef struct part {
    int64_t begin, extent;
} part;

/* Is the last tile moved back? If all tiles are whole it makes no difference. */
static bool is_moved(const tj_problem *view, int32_t tile, bool is_j)
{
    const tj_dim *dim = is_j ? &view->j : &view->l;

    return dim->extent % tile != 0 && tj_simt_moves(dim, tile);
}

static operand operand_of(const tj_problem *view, const tj_simt_shape *s, const tj_counts *counts, bool is_m)
{
    const tj_matrix *const matrix = is_m ? &view->m : &view->n;
    const tj_simt_copy copy = tj_simt_copy_of(view, s, is_m);
    const int64_t bytes = counts->element_bytes, line = matrix->ld * bytes;
    const tj_split_phases share = tj_split_share(tj_ceil_div(view->k.extent, s->bk), (int32_t)counts->splits);

    return (operand){
        .copy = copy,
        .across = is_m ? view->j.extent : view->l.extent,
        .k = view->k.extent,
        .step_across = copy.along_k ? line : bytes,
        .step_k = copy.along_k ? bytes : line,
        .batch = view->batch,
        .stride = matrix->stride,
        .repeat = is_m ? counts->col_blocks : counts->row_blocks,
        .element_bytes = (int32_t)bytes,
        .moves = is_moved(view, copy.tile, is_m),
        .k_begin = view->k.extent % s->bk != 0 ? (share.splits - 1) * share.most * s->bk : -1,
    };
}

/* Divide the dimension across into at most 2 parts, and k into at most 3, and return the number of parts. */
static int parts_across(const operand *o, part parts[2])
{
    parts[0] = (part){0, o->across};
    if (!o->moves)
        return 1;
    parts[0].extent = o->across / o->copy.tile * o->copy.tile;
    parts[1] = (part){o->across - o->copy.tile, o->copy.tile};
    return 2;
}

static int parts_along_k(const operand *o, int32_t bk, part parts[3])
{
    const int64_t first = o->k % bk;
    int count = 0;

    parts[0] = (part){0, o->k};
    if (o->k_begin < 0)
        return 1;
    if (o->k_begin > 0)
        parts[count++] = (part){0, o->k_begin};
    parts[count++] = (part){o->k_begin, first};
    if (o->k > o->k_begin + first)
        parts[count++] = (part){o->k_begin + first, o->k - o->k_begin - first};
    return count;
}

/* x by y threads, x along the direction of memory; their tiles cover a part of the matrix. */
static void count_part(const operand *o, const part *across, const part *k, int32_t x, int32_t y, int32_t width,
                       tj_traffic *traffic)
{
    tj_access access = o->copy.along_k
                           ? tj_tiled_access(x, y, k->extent / width, across->extent, o->step_k * width, o->step_across)
                           : tj_tiled_access(x, y, across->extent / width, k->extent, o->step_across * width, o->step_k);

    access.base = across->begin * o->step_across + k->begin * o->step_k;
    access.element_bytes = o->element_bytes;
    access.width = width;
    access.axis[2] = tj_batch_axis(o->batch, o->stride, o->element_bytes);
    access.repeat = o->repeat;
    tj_traffic_add(traffic, &access);
}

static void count_tiles(const operand *o, int32_t bk, int32_t x, int32_t y, int32_t width, tj_traffic *traffic)
{
    part across[2], k[3];
    int across_count, k_count;

    if (traffic->is_estimate) { /* as if no tile were moved: count the last one as whole */
        across[0] = (part){0, o->moves ? tj_ceil_div(o->across, o->copy.tile) * o->copy.tile : o->across};
        k[0] = (part){0, o->k};
        count_part(o, &across[0], &k[0], x, y, width, traffic);
        return;
    }
    across_count = parts_across(o, across);
    k_count = parts_along_k(o, bk, k);

    for (int a = 0; a < across_count; a++)
        for (int i = 0; i < k_count; i++)
            count_part(o, &across[a], &k[i], x, y, width, traffic);
}

/* The threads that copy, x along the direction of memory: at once M_ROWS x M_STEPS elements (N_STEPS x N_COLS). */
typedef struct threads {
    int32_t x, y;
} threads;

static threads threads_of(const tj_simt_copy *c, const tj_simt_shape *s)
{
    if (!c->along_k)
        return (threads){c->line / c->width, s->threads * c->width / c->line};
    return (threads){c->run, s->threads / c->run < c->tile ? s->threads / c->run : c->tile};
}

/* copy, fetch */
static void count_copies(const operand *o, const tj_simt_shape *s, tj_traffic *traffic)
{
    const threads t = threads_of(&o->copy, s);

    count_tiles(o, s->bk, t.x, t.y, o->copy.width, traffic);
}

/* ---- shared memory ------------------------------------------------------------------------------------------------ */

/* x by y threads access `width` elements each, `repeat` times. */
static void count_shared(int32_t x, int32_t y, int64_t step_x, int64_t step_y, int32_t width, int32_t bytes, int64_t repeat,
                         int32_t merges, tj_traffic *traffic)
{
    tj_access access = tj_shared_access(x, y, step_x, step_y, bytes, width, repeat);

    access.merges = merges;
    tj_traffic_add(traffic, &access);
}

/* load: the lanes of a row read the same elements of M, those of a column the same of N, VEC at a time. */
static void count_fragments(const tj_problem *view, const tj_simt_shape *s, int64_t warp_steps, tj_counts *counts)
{
    const int32_t rows = tj_simt_row_vec(view, s), cols = tj_simt_col_vec(view, s), bytes = counts->sum_bytes;
    /* Lanes that read the same words halve the passes of a request. */
    const int32_t merges = 2;

    if (tj_simt_keeps_lines(view, s)) {
        const int32_t vec = tj_simt_vec(view), line = s->bk + vec;

        count_shared(TJ_SIMT_LANE_COLS, TJ_SIMT_LANE_ROWS, 0, line, vec, bytes, warp_steps / vec * s->tm, merges,
                     &counts->shared_load);
        count_shared(TJ_SIMT_LANE_COLS, TJ_SIMT_LANE_ROWS, line, 0, vec, bytes, warp_steps / vec * s->tn, merges,
                     &counts->shared_load);
        return;
    }
    count_shared(TJ_SIMT_LANE_COLS, TJ_SIMT_LANE_ROWS, 0, rows, rows, bytes, warp_steps * (s->tm / rows), merges,
                 &counts->shared_load);
    count_shared(TJ_SIMT_LANE_COLS, TJ_SIMT_LANE_ROWS, cols, 0, cols, bytes, warp_steps * (s->tn / cols), merges,
                 &counts->shared_load);
}

/*
 * store: neighbours in memory go to different rows of the tile (along k), or to neighbours in a row, at most 16 bytes at a
 * time.
 */
static void count_tile_stores(const tj_simt_copy *c, const tj_simt_shape *s, int32_t vec, int32_t bytes, int64_t block_phases,
                              tj_traffic *traffic)
{
    const int32_t piece = c->width < vec ? c->width : vec, unbroken = 8 * vec / c->width; /* threads between gaps */
    const threads t = threads_of(c, s);
    const int64_t goes = block_phases * c->goes;

    if (c->along_k)
        count_shared(t.x, s->threads / t.x, c->width * c->tile + c->skew, 1, 1, bytes, goes * c->width, 0, traffic);
    else if (c->skew > 0)
        count_shared(unbroken, s->threads / unbroken, c->width, 8 * vec + c->skew, piece, bytes, goes * (c->width / piece), 0,
                     traffic);
    else
        count_shared(t.x, t.y, c->width, c->tile, piece, bytes, goes * (c->width / piece), 0, traffic);
}

/* The accumulators of the other slices: each is written by one slice and read by the first. */
static void count_partial_sums(const tj_simt_shape *s, tj_counts *counts)
{
    const int64_t times = counts->blocks * (s->slices - 1) * s->tm * s->tn;

    if (times == 0)
        return;
    count_shared(s->tile_threads, 1, 1, 0, 1, counts->sum_bytes, times, 0, &counts->shared_store);
    count_shared(s->tile_threads, 1, 1, 0, 1, counts->sum_bytes, times, 0, &counts->shared_load);
}

/* ---- P and C ------------------------------------------------------------------------------------------------------ */

/* The place of P or C, in bytes. */
typedef struct output {
    int64_t bytes, ld, stride, matrices;
    int32_t rows, cols, run; /* neighbouring rows and columns of a thread; columns that lie together in P */
    bool is_wide;
} output;

/*
 * The stored rows or columns: from the first one on or, if the last tile is moved back, from the last one backwards, because
 * that tile ends at the edge.
 */
typedef struct stored {
    int64_t first, extent;
    int32_t direction;
} stored;

static int stored_parts(int64_t extent, int32_t tile, bool moves, stored parts[2])
{
    const int64_t whole = extent / tile * tile;

    parts[0] = (stored){0, moves ? whole : extent, 1};
    parts[1] = (stored){extent - 1, extent - whole, -1};
    return moves ? 2 : 1;
}

/* A thread stores pieces of neighbouring rows and of COL_RUN columns: count the element in row r and column c of a piece, or its row r. */
static void count_output_part(const output *o, const stored *rows, const stored *cols, tj_traffic *traffic)
{
    const int32_t run = o->run;
    /* In an estimate, the first stands for all. */
    const int32_t r_end = traffic->is_estimate ? 1 : o->rows, c_end = traffic->is_estimate || o->is_wide ? 1 : run;
    const int64_t alike = traffic->is_estimate ? (o->is_wide ? o->rows : (int64_t)o->rows * run) : 1;

    for (int32_t r = 0; r < r_end && r < rows->extent; r++)
        for (int32_t c = 0; c < c_end && c < cols->extent; c++) {
            const int64_t row = rows->first + rows->direction * r;
            /* The base of a wide access is its lowest column. */
            const int64_t col = cols->first + cols->direction * c - (o->is_wide && cols->direction < 0 ? o->cols - 1 : 0);
            const int64_t step_x = cols->direction * run * o->bytes, step_y = rows->direction * o->rows * o->ld * o->bytes;
            const tj_access access = {
                .threads_x = TJ_SIMT_LANE_COLS,
                .threads_y = TJ_SIMT_LANE_ROWS,
                .step_x = step_x,
                .step_y = step_y,
                .base = (row * o->ld + col) * o->bytes,
                .element_bytes = (int32_t)o->bytes,
                .width = o->is_wide ? o->cols : 1,
                .axis = {tj_tile_axis(tj_ceil_div(cols->extent - c, run), TJ_SIMT_LANE_COLS, TJ_SIMT_LANE_COLS * step_x),
                         tj_tile_axis(tj_ceil_div(rows->extent - r, o->rows), TJ_SIMT_LANE_ROWS, TJ_SIMT_LANE_ROWS * step_y),
                         tj_batch_axis(o->matrices, o->stride, o->bytes)},
                .repeat = alike,
            };

            tj_traffic_add(traffic, &access);
        }
}

static void count_output(const tj_problem *view, const tj_simt_shape *s, const output *o, tj_traffic *traffic)
{
    stored rows[2], cols[2];
    const bool is_exact = !traffic->is_estimate;
    const int row_parts = stored_parts(view->j.extent, s->bm, is_exact && is_moved(view, s->bm, true), rows),
              col_parts = stored_parts(view->l.extent, s->bn, is_exact && is_moved(view, s->bn, false), cols);

    for (int r = 0; r < row_parts; r++)
        for (int c = 0; c < col_parts; c++)
            count_output_part(o, &rows[r], &cols[c], traffic);
}

/* One of the slices that share a tile of P stores it. */
static void count_scales(const tj_problem *view, const tj_simt_shape *s, tj_counts *counts)
{
    const tj_scales_side rows = {TJ_SIMT_LANE_ROWS, tj_simt_row_vec(view, s), s->bm, is_moved(view, s->bm, true),
                                 counts->col_blocks * (s->bn / s->tn / TJ_SIMT_LANE_COLS)};
    const tj_scales_side cols = {TJ_SIMT_LANE_COLS, tj_simt_col_run(view, s), s->bn, is_moved(view, s->bn, false),
                                 counts->row_blocks * (s->bm / s->tm / TJ_SIMT_LANE_ROWS)};

    tj_scales_count_ahead(view, &rows, &cols, counts->blocks * s->tile_threads, &counts->load_scales);
}

/* ---- all counts --------------------------------------------------------------------------------------------------- */

/*
 * Fitted to the registers of 40 configs for sm_90, with an error below 6 % for most. A bound by `blocks` makes ptxas spill the
 * excess.
 */
static void estimate_registers(const tj_problem *view, const tj_simt_shape *s, int32_t blocks, tj_counts *counts)
{
    const int32_t slack = 8; /* registers that ptxas can save before it spills */
    const int32_t wanted = tj_simt_registers(view, s) + 32;

    (void)tj_guess_registers(counts, wanted, 6, wanted - slack, blocks, s->threads);
}

void tj_simt_count(const tj_problem *view, const tj_config *config, tj_counts *counts)
{
    const tj_simt_shape s = tj_simt_shape_of(config);
    const int32_t vec = tj_simt_vec(view), run = tj_simt_col_run(view, &s), row_vec = tj_simt_row_vec(view, &s),
                  col_vec = tj_simt_col_vec(view, &s);
    const operand m = operand_of(view, &s, counts, true), n = operand_of(view, &s, counts, false);
    const int32_t splits = (int32_t)counts->splits;
    const int64_t phases = tj_ceil_div(view->k.extent, s.bk), tiles = counts->blocks / splits, block_phases = tiles * phases;
    const tj_split_phases share = tj_split_share(phases, splits);
    const int64_t p_bytes = tj_facts_of(view->p.type)->bytes, rows = view->j.extent, cols = view->l.extent;
    const int64_t tile = (int64_t)s.bm * s.bn, loads = (int64_t)(s.bm + s.bn) * s.bk;
    const bool is_async = s.copy == TJ_COPY_ASYNC, is_wide = tj_simt_has_vector_p(view, &s);

    counts->phase = (tj_phase_counts){.depth = s.bk,
                                      .loads = loads,
                                      .flop = 2 * tile * s.bk,
                                      .shared_stores = is_async ? 0 : loads,
                                      .shared_loads = (int64_t)s.threads * (s.bk / s.slices) * (s.tm + s.tn)};
    counts->phases = share.most;
    /*
     * Asynchronous copies: one barrier at the start of a block, one before each phase except the first of a split, two for each
     * partial sum.
     */
    counts->barriers = is_async ? counts->blocks * (2 * s.slices - 1) + tiles * (phases - share.splits) : tiles * phases;
    counts->work[counts->pipe] = 2 * block_phases * tile * s.bk;
    counts->sums = counts->blocks * (s.slices - 1) * tile;
    counts->chain = share.most * (s.bk / s.slices);
    counts->chain_fma = s.tm * s.tn;
    counts->exchanged = (s.slices - 1) * s.tm * s.tn;
    counts->waits = 1;
    counts->ahead = s.stages - 1;
    counts->pieces = s.start == TJ_SIMT_SPREAD ? s.bk / s.slices / TJ_SIMT_PIECE_STEPS : 0;
    estimate_registers(view, &s, tj_config_get(config, "blocks"), counts);
    if (phases > 0) {
        count_copies(&m, &s, &counts->load_m);
        count_copies(&n, &s, &counts->load_n);
        count_fragments(view, &s, block_phases * s.bk * (s.tile_threads / 32), counts);
    }
    if (phases > 0 && is_async) {
        counts->async_bytes = counts->load_m.bytes + counts->load_n.bytes;
        counts->work[TJ_PIPE_SHARED] = counts->load_m.requests * m.copy.width * tj_sum_bytes(view) / 4 +
                                       counts->load_n.requests * n.copy.width * tj_sum_bytes(view) / 4;
    } else if (phases > 0) {
        count_tile_stores(&m.copy, &s, vec, counts->sum_bytes, block_phases, &counts->shared_store);
        count_tile_stores(&n.copy, &s, vec, counts->sum_bytes, block_phases, &counts->shared_store);
    }
    count_partial_sums(&s, counts);
    if (splits > 1) {
        const output w = {counts->sum_bytes, cols, rows * cols, view->batch * splits, row_vec, col_vec, run, is_wide};
        count_output(view, &s, &w, &counts->store_w);
        tj_split_count(view, splits, counts);
    } else {
        const output p = {p_bytes, view->p.ld, view->p.stride, view->batch, row_vec, col_vec, run, is_wide};
        const output c = {p_bytes, view->c.ld, view->c.stride, view->batch, row_vec, col_vec, run, is_wide};
        count_output(view, &s, &p, &counts->store_p);
        if (view->epilogue.has_beta)
            count_output(view, &s, &c, &counts->load_c);
        count_scales(view, &s, counts);
    }
    tj_pointers_count(view, NULL, counts);
}
