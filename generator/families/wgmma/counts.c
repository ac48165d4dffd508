/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counts: the traffic and work of a launch of family wgmma. The copy engine moves whole boxes of M and N; one thread asks for
 * each. The tensor cores read shared memory themselves. Threads access memory for P only.
 */
#include "form.h"

#include "checked.h"
#include "parts/boxes.h"
#include "parts/lanes.h"
#include "parts/registers.h"
#include "parts/scales.h"
#include "parts/split.h"
#include "parts/traffic.h"
#include "parts/widen.h"

enum { CHUNK = 16, SCALE_BYTES = 4, WARPGROUP = 128 };

static int32_t pipe_of(const tj_problem *view)
{
    const int32_t type = tj_wgmma_type(view, TJ_MATRIX_M);

    return type == TJ_F16         ? TJ_PIPE_TENSOR_F16
           : type == TJ_BF16      ? TJ_PIPE_TENSOR_BF16
           : type == TJ_F32       ? TJ_PIPE_TENSOR_TF32
           : tj_type_is_fp8(type) ? TJ_PIPE_TENSOR_FP8
                                  : TJ_PIPE_TENSOR_S8;
}

/* ---- traffic of the copy engine ----------------------------------------------------------------------------------- */

static void count_boxes_of(const tj_problem *view, const tj_wgmma_shape *s, bool is_m, tj_counts *counts)
{
    const tj_which which = is_m ? TJ_MATRIX_M : TJ_MATRIX_N;
    const tj_matrix *const x = tj_problem_matrix(view, which);
    const tj_lines lines = tj_problem_lines(view, which);
    const tj_wgmma_tile t = tj_wgmma_tile_of(view, s, is_m);
    const int32_t across = is_m ? s->bm : s->paired ? s->bn / 2 : s->bn;
    const tj_boxes boxes = {
        .element_bytes = tj_facts_of(x->type)->bytes,
        .width = lines.width.extent,
        .lines = lines.count.extent,
        .ld = x->ld,
        .products = view->batch,
        .stride = x->stride,
        .repeat = is_m ? counts->col_blocks / s->cluster_cols : counts->row_blocks / s->cluster_rows,
        .tile = t.along_k && !t.squares ? t.blocks * t.line : across,
        .boxes = t.squares ? across / t.line : t.blocks,
        .box = t.line,
    };
    tj_traffic *const traffic = is_m ? &counts->load_m : &counts->load_n;

    tj_boxes_count(&boxes, traffic);
    counts->async_bytes += traffic->bytes;
}

void tj_wgmma_count_boxes(const tj_problem *packed, const tj_wgmma_shape *s, tj_counts *counts)
{
    count_boxes_of(packed, s, true, counts);
    count_boxes_of(packed, s, false, counts);
}

/* templates/wgmma/squares.cuh: a warp loads each chunk of half a square from one line, and stores a chunk to another. */
static void count_squares(int64_t squares, int32_t element_bytes, tj_counts *counts)
{
    const int32_t chunk = CHUNK / element_bytes;
    tj_lanes lanes = {.count = TJ_WARP, .element_bytes = CHUNK / 4, .width = 4, .is_shared = true};

    counts->transposed = 2 * chunk * squares;
    for (int32_t half = 0; half < 2; half++)
        for (int32_t i = 0; i < chunk; i++)
            for (int put = 0; put < 2; put++) {
                for (int lane = 0; lane < TJ_WARP; lane++) {
                    const int32_t a = lane % 8, c = a ^ (lane / 8 + half * 4), line = chunk * (put ? c : a) + i;

                    lanes.lane[lane] = lane;
                    lanes.address[lane] = line * TJ_WGMMA_LINE + ((put ? a : c) ^ line % 8) * CHUNK;
                }
                tj_lanes_add(put ? &counts->shared_store : &counts->shared_load, &lanes, 0, squares);
            }
}

/* templates/wgmma/factors.cuh: a warp loads 8 rows of 4 lines of M. */
static void count_factors(int64_t phases, const tj_wgmma_shape *s, tj_counts *counts)
{
    tj_lanes lanes = {.count = TJ_WARP, .element_bytes = s->element_bytes, .width = 1, .is_shared = true};

    for (int lane = 0; lane < TJ_WARP; lane++) {
        lanes.lane[lane] = lane;
        lanes.address[lane] = lane % 4 * TJ_WGMMA_LINE + ((lane / 16) ^ (lane % 4)) * CHUNK + lane / 4 % 4 * s->element_bytes;
    }
    counts->factors = phases * (s->bm / TJ_WGMMA_SLICE_ROWS) * s->bk / 2;
    tj_lanes_add(&counts->shared_load, &lanes, 0, counts->factors);
}

/* templates/wgmma/factors_of_weights.cuh: the four lanes of a row load the same chunk, of which each takes a word if the weights were repacked, and those of a warp 8 rows. */
static void count_weights(const tj_problem *view, int64_t phases, const tj_wgmma_shape *s, tj_counts *counts)
{
    const tj_widening widening = tj_widening_of(view);
    const bool fours = tj_widens_to_fp8(view);
    const bool repacked = tj_is_repacked(view, TJ_MATRIX_M);
    const int32_t line = s->bk * s->weight_bits / 8, picks = s->weight_bits == 4 && !fours ? 2 : 1;
    tj_lanes lanes = {.count = TJ_WARP, .element_bytes = CHUNK / 4, .width = repacked ? 1 : 4, .is_shared = true};

    for (int lane = 0; lane < TJ_WARP; lane++) {
        lanes.lane[lane] = lane;
        lanes.address[lane] = lane / 4 * line + (lane / 4 * line / TJ_WGMMA_LINE) % (line / CHUNK) * CHUNK +
                              (repacked ? lane % 4 * CHUNK / 4 : 0);
    }
    counts->factors = phases * (s->bm / 8) * (line / CHUNK);
    tj_lanes_add(&counts->shared_load, &lanes, 0, counts->factors);
    counts->conversions = repacked ? phases * s->bm * s->bk / (8 * TJ_WARP) * widening.all
                                   : phases * s->bm * s->bk / ((fours ? 4 : 2) * TJ_WARP) * (picks + widening.first);
    counts->work[TJ_PIPE_F16] = 2 * phases * s->bm * s->bk * widening.multiply_adds;
}

/*
 * templates/wgmma/take_f32.cuh: a lane loads two neighbours along k at once, or one element across k, from another bank than the others, and takes each element apart: it
 * chooses, scales, masks and subtracts it, and moves its halves.
 */
static void count_planes(int64_t tiles, int64_t phases, const tj_wgmma_shape *s, int32_t neighbours, tj_counts *counts)
{
    enum { MOVES_OF_TWO = 9, SUMS = 3, UNIT = 32 }; /* 2 choices, 4 masks and 3 permutations; a product and two differences */
    const int64_t elements = tiles * phases * s->bm * s->bk;
    tj_lanes lanes = {.count = TJ_WARP, .element_bytes = 4, .width = neighbours, .is_shared = true};

    for (int lane = 0; lane < TJ_WARP; lane++) {
        lanes.lane[lane] = lane;
        lanes.address[lane] = lane * 4 * neighbours;
    }
    counts->factors = elements / (neighbours * TJ_WARP);
    tj_lanes_add(&counts->shared_load, &lanes, 0, counts->factors);
    counts->conversions = elements / (2 * TJ_WARP) * MOVES_OF_TWO;
    counts->sums += elements * SUMS;
    counts->work[TJ_PIPE_F32] += 2 * tiles * phases * (s->bk / UNIT) * s->bm * s->bn; /* each unit of k is scaled and added */
}

/*
 * Count the scales and zero points of weights: for each accumulator a multiply-add for each part of k (of a phase at most, if
 * tensor cores add with 13 bits) or, if factors are multiplied, for each factor; and what is read for the rows of each thread.
 */
static void count_scales_of_weights(const tj_problem *view, const tj_wgmma_shape *s, int64_t tiles, int64_t phases,
                                    tj_counts *counts)
{
    const tj_scale *const scale = tj_scale_of(view, TJ_MATRIX_M);
    const int32_t k = scale->k;
    const int64_t of_phase = k == 0 || k > s->bk ? 1 : tj_ceil_div(s->bk, k),
                  parts = k > 0 && k > s->bk && !tj_widens_to_fp8(view) ? tj_ceil_div(view->k.extent, k) : phases * of_phase,
                  factors = (k > 0 && !s->adds_parts) + (scale->zero != 0);

    counts->work[TJ_PIPE_F32] += s->adds_parts && k > 0 ? 2 * tiles * parts * s->bm * s->bn : 0;
    counts->sums += s->adds_parts && k == 0 ? tiles * parts * s->bm * s->bn : 0;
    counts->work[TJ_PIPE_F16] += 2 * tiles * phases * s->bm * s->bk * factors;
    counts->conversions += tiles * phases * s->bm * s->bk / (2 * TJ_WARP) * factors;
    tj_scales_count_along_k(view, tiles * phases * of_phase * s->bm / TJ_WGMMA_ROWS * WARPGROUP * 2, &counts->load_scales);
}

/* Count the boxes that store P. */
static void count_stored_boxes(const tj_problem *view, const tj_wgmma_shape *s, const tj_wgmma_output *out, tj_traffic *traffic)
{
    const int32_t line = s->swapped ? TJ_WGMMA_SLICE_ROWS : out->slice;
    const tj_boxes boxes = {
        .element_bytes = tj_facts_of(view->p.type)->bytes,
        .width = s->swapped ? view->j.extent : view->l.extent,
        .lines = s->swapped ? view->l.extent : view->j.extent,
        .ld = view->p.ld,
        .products = view->batch,
        .stride = view->p.stride,
        .repeat = 1,
        .tile = line,
        .boxes = 1,
        .box = line,
    };

    tj_boxes_count(&boxes, traffic);
}

/* ---- traffic of threads ------------------------------------------------------------------------------------------- */

/* Return the lanes of a warp that take elements of one line of P, a row or, if P lies so, a column. */
static int32_t lanes_of_line(const tj_wgmma_shape *s, const tj_wgmma_output *out)
{
    return tj_least((s->swapped ? TJ_WGMMA_SLICE_ROWS : out->slice) / out->vector, TJ_WARP);
}

/* The lanes of a warp store neighbours of a line, then of the next line, in slices of the tile. */
static void count_lines(const tj_problem *view, const tj_wgmma_shape *s, const tj_wgmma_output *out, int64_t bytes, int64_t ld,
                        int64_t stride, int64_t matrices, tj_traffic *traffic)
{
    const int32_t lanes = lanes_of_line(s, out);
    const int64_t width = s->swapped ? view->j.extent : view->l.extent, lines = s->swapped ? view->l.extent : view->j.extent;
    tj_access access =
        tj_tiled_access(lanes, TJ_WARP / lanes, tj_ceil_div(width, out->vector), lines, out->vector * bytes, ld * bytes);

    access.element_bytes = (int32_t)bytes;
    access.width = out->vector;
    access.axis[2] = tj_batch_axis(matrices, stride, bytes);
    tj_traffic_add(traffic, &access);
}

/* As in_box() and in_lines() of templates/wgmma/tiles.cuh. */
static int64_t place_in(const tj_wgmma_shape *s, const tj_wgmma_output *out, int32_t bytes, int64_t row, int64_t col)
{
    const int64_t width = s->swapped ? TJ_WGMMA_SLICE_ROWS : out->slice, line = s->swapped ? col : row,
                  place = s->swapped ? row : col, at = (line * width + place) * bytes;

    if (out->boxes > 0)
        return at ^ at / TJ_WGMMA_LINE % tj_ceil_div(width * bytes, CHUNK) * CHUNK;
    return (line * width + (place ^ (s->swapped ? line / 2 % 2 : line % (out->slice / 8)) * 8)) * bytes;
}

/* Every lane stores its pairs of a slice to shared memory, one by one if these are of two lines. */
static void count_laid(const tj_wgmma_shape *s, const tj_wgmma_output *out, int32_t bytes, int64_t slices, tj_traffic *traffic)
{
    const int32_t width = s->swapped ? 1 : 2;
    tj_lanes lanes = {.count = TJ_WARP, .element_bytes = bytes, .width = width, .is_shared = true};

    for (int32_t row = 0; row < TJ_WGMMA_SLICE_ROWS; row += 8)
        for (int32_t col = 0; col < out->slice; col += 8)
            for (int32_t part = 0; part < 2; part += width) {
                for (int i = 0; i < TJ_WARP; i++) {
                    lanes.lane[i] = i;
                    lanes.address[i] = place_in(s, out, bytes, row + i / 4, col + i % 4 * 2 + part);
                }
                tj_lanes_add(traffic, &lanes, 0, slices);
            }
}

/*
 * The lanes load neighbours from there, at most 16 bytes at once, as far as they lie in P: `rows` x `cols` of each of `slices`
 * slices.
 */
static void count_taken(const tj_wgmma_shape *s, const tj_wgmma_output *out, int32_t bytes, int64_t rows, int64_t cols,
                        int64_t slices, tj_traffic *traffic)
{
    const int32_t width = tj_least(out->vector, CHUNK / bytes);

    for (int32_t first = 0; first < TJ_WGMMA_SLICE_ROWS * out->slice; first += TJ_WARP * out->vector)
        for (int32_t part = 0; part < out->vector; part += width) {
            tj_lanes lanes = {.element_bytes = bytes, .width = width, .is_shared = true};

            for (int i = 0; i < TJ_WARP; i++) {
                const int32_t place = first + i * out->vector + part,
                              row = s->swapped ? place % TJ_WGMMA_SLICE_ROWS : place / out->slice,
                              col = s->swapped ? place / TJ_WGMMA_SLICE_ROWS : place % out->slice;

                if (row >= rows || col >= cols)
                    continue;
                lanes.lane[lanes.count] = i;
                lanes.address[lanes.count++] = place_in(s, out, bytes, row, col);
            }
            tj_lanes_add(traffic, &lanes, 0, slices);
        }
}

/* Count the traffic through shared memory. Slices outside P are stored to it, too. */
static void count_slices(const tj_problem *view, const tj_wgmma_shape *s, const tj_wgmma_output *out, int32_t bytes,
                         tj_counts *counts)
{
    const int64_t down = view->j.extent / TJ_WGMMA_SLICE_ROWS, along = view->l.extent / out->slice,
                  rest_down = view->j.extent % TJ_WGMMA_SLICE_ROWS, rest_along = view->l.extent % out->slice,
                  products = view->batch * s->splits;

    count_laid(s, out, bytes, counts->blocks / s->parts * (s->bm / TJ_WGMMA_SLICE_ROWS) * (s->bn / out->slice),
               &counts->shared_store);
    if (out->boxes > 0)
        return;
    count_taken(s, out, bytes, TJ_WGMMA_SLICE_ROWS, out->slice, down * along * products, &counts->shared_load);
    count_taken(s, out, bytes, rest_down, out->slice, along * products, &counts->shared_load);
    count_taken(s, out, bytes, TJ_WGMMA_SLICE_ROWS, rest_along, down * products, &counts->shared_load);
    count_taken(s, out, bytes, rest_down, rest_along, products, &counts->shared_load);
}

/*
 * If a lane finishes neighbours of a row, it reads the scale of the row, and those of the columns one after the other. For
 * boxes it finishes all its pairs of a row, and then those of another row in the same columns, whose scales it keeps.
 */
static void count_scales(const tj_problem *view, const tj_wgmma_shape *s, const tj_wgmma_output *out, tj_counts *counts)
{
    const bool each_row = tj_scales_sum_by_each(view, TJ_MATRIX_M), each_col = tj_scales_sum_by_each(view, TJ_MATRIX_N);
    const int32_t lanes = out->boxes > 0 ? 4 : lanes_of_line(s, out), others = TJ_WARP / lanes,
                  neighbours = out->boxes > 0 && s->swapped ? 2 : out->vector;
    const bool by_cols = s->swapped && out->boxes == 0; /* x counts rows */
    const int64_t slices = tj_ceil_div(view->l.extent, out->slice), halves = tj_ceil_div(view->j.extent, TJ_WGMMA_SLICE_ROWS);
    tj_access access;

    tj_scales_count_one(view, counts->blocks * WARPGROUP * s->multipliers, &counts->load_scales);
    for (int32_t i = 0; i < each_row + each_col * neighbours; i++) {
        const bool is_row = each_row && i == 0;
        const int32_t step = neighbours * SCALE_BYTES;
        const int64_t cols = tj_ceil_div(view->l.extent, neighbours), rows = view->j.extent;
        const int64_t along = is_row && out->boxes > 0 ? slices * lanes : cols,
                      down = !is_row && out->boxes > 0 ? halves * others : rows;

        access = by_cols ? tj_tiled_access(lanes, others, rows, cols, is_row ? SCALE_BYTES : 0, is_row ? 0 : step)
                         : tj_tiled_access(lanes, others, along, down, is_row ? 0 : step, is_row ? SCALE_BYTES : 0);
        access.base = is_row ? 0 : (i - each_row) * SCALE_BYTES;
        access.element_bytes = SCALE_BYTES;
        access.axis[2] = tj_batch_axis(view->batch, is_row ? view->j.extent : view->l.extent, SCALE_BYTES);
        tj_traffic_add(&counts->load_scales, &access);
    }
}

void tj_wgmma_count_outputs(const tj_problem *view, const tj_wgmma_shape *s, tj_counts *counts)
{
    const tj_wgmma_output out = tj_wgmma_output_of(view, s);
    const int32_t p_bytes = tj_facts_of(view->p.type)->bytes;

    if (!out.quads && !out.halves)
        count_slices(view, s, &out, out.boxes > 0 ? p_bytes : counts->sum_bytes, counts);
    if (s->splits > 1) {
        count_lines(view, s, &out, counts->sum_bytes, s->swapped ? view->j.extent : view->l.extent,
                    view->j.extent * view->l.extent, view->batch * s->splits, &counts->store_w);
        tj_split_count(view, s->splits, counts);
        return;
    }
    count_scales(view, s, &out, counts);
    if (out.boxes > 0) {
        count_stored_boxes(view, s, &out, &counts->store_p);
    } else {
        count_lines(view, s, &out, p_bytes, view->p.ld, view->p.stride, view->batch, &counts->store_p);
        if (view->epilogue.has_beta)
            count_lines(view, s, &out, p_bytes, view->c.ld, view->c.stride, view->batch, &counts->load_c);
    }
}

int64_t tj_wgmma_fill_clusters(const tj_problem *view, const tj_wgmma_shape *s, tj_counts *counts)
{
    counts->row_blocks = tj_ceil_div(counts->row_blocks, s->cluster_rows) * s->cluster_rows;
    counts->col_blocks = tj_ceil_div(counts->col_blocks, s->cluster_cols) * s->cluster_cols;
    if (s->cluster_rows * s->cluster_cols * s->parts > 1)
        counts->blocks = counts->row_blocks * counts->col_blocks * view->batch * s->splits * s->parts;
    return counts->blocks / s->splits / s->parts;
}

/* The first slice, of the first block of a cluster, that shares the k of a tile loads the sums of the others, in pairs, and adds them. */
static void count_parts(const tj_wgmma_shape *s, int64_t tiles, tj_counts *counts)
{
    const int64_t sums = tiles * s->bm * s->bn * (s->parts * s->slices - 1);
    const tj_access access = tj_shared_access(TJ_WARP, 1, 2, 0, counts->sum_bytes, 2, sums / (2 * TJ_WARP));

    if (sums > 0)
        tj_traffic_add(&counts->shared_load, &access);
    counts->sums += sums;
}

/* Return the bytes that copies write to shared memory: in a cluster those of the shared operand once for each block. */
static int64_t brought_bytes(const tj_wgmma_shape *s, const tj_counts *counts)
{
    return counts->load_m.bytes * s->cluster_cols + counts->load_n.bytes * s->cluster_rows;
}

void tj_wgmma_count(const tj_problem *view, const tj_config *config, tj_counts *counts)
{
    const tj_wgmma_shape s = tj_wgmma_shape_of(view, config);
    const tj_pack pack = tj_wgmma_pack_of(view, &s);
    const tj_problem packed = tj_pack_moved(view, &pack);
    const bool is_alone = s.cluster_rows * s.cluster_cols * s.parts == 1;
    const int64_t phases = tj_ceil_div(view->k.extent, s.bk), tiles = tj_wgmma_fill_clusters(view, &s, counts),
                  tile_phases = tiles * phases;
    const tj_split_phases share = tj_split_share(phases, s.splits * s.parts);
    const int64_t tile = (int64_t)s.bm * s.bn;
    const tj_wgmma_tile m = tj_wgmma_tile_of(view, &s, true), n = tj_wgmma_tile_of(view, &s, false);
    const int32_t wanted = tj_registers_left(s.blocks, s.threads),
                  m_rows = s.transpose == TJ_WGMMA_REGISTERS ? 0 : TJ_WGMMA_ROWS;

    counts->pipe = pipe_of(view);
    counts->phase =
        (tj_phase_counts){.depth = s.bk, .loads = (int64_t)(s.bm + s.bn) * s.bk, .flop = 2 * tile * s.bk * s.planes};
    counts->phases = share.most;
    counts->work[counts->pipe] = 2 * tile_phases * tile * s.bk * s.planes;
    counts->copied = s.gathers ? tile_phases * s.bm * (TJ_WGMMA_LINE / CHUNK) / TJ_WARP : 0;
    counts->promotions = s.promotes ? s.bk / tj_wgmma_part_k(view, &s) : 0;
    counts->sums = tile_phases * counts->promotions * tile; /* those of parts, added to all */
    tj_scales_count_along_k(view, tile_phases * tj_wgmma_phase_scales(view, &s), &counts->load_scales);
    counts->chain = tj_ceil_div(share.most, s.slices);
    counts->chain_fma = s.wm * s.bn * s.bk / WARPGROUP;
    counts->walkers = s.blocks;
    counts->alternates = s.pingpong == TJ_WGMMA_PINGPONG;
    counts->ahead = s.stages - s.slices; /* each slice multiplies one */
    counts->waits = 1;
    (void)tj_guess_registers(counts, wanted, 0, wanted, s.blocks, s.threads);
    if (phases > 0) {
        tj_wgmma_count_boxes(&packed, &s, counts);
        if (s.planes > 1)
            count_planes(tiles, phases, &s, m.along_k ? 2 : 1, counts);
        else if (s.weight_bits > 0)
            count_weights(view, tile_phases, &s, counts);
        else if (s.transpose == TJ_WGMMA_REGISTERS)
            count_factors(tile_phases, &s, counts);
        count_squares(tile_phases * ((m.squares ? s.bm / m.line : 0) + (n.squares ? s.bn / n.line : 0)), s.element_bytes,
                      counts);
    }
    if (s.weight_bits > 0 && s.planes == 1)
        count_scales_of_weights(view, &s, tiles, phases, counts);
    count_parts(&s, tiles, counts);
    tj_pack_count(view, &pack, counts);
    tj_wgmma_count_outputs(view, &s, counts);
    /* For each instruction the tensor cores read 64 rows of M, if lanes do not load them, and all columns of N. */
    counts->work[TJ_PIPE_SHARED] = (brought_bytes(&s, counts) + tile_phases * (s.bm / TJ_WGMMA_ROWS) *
                                                                    (m_rows + s.planes * s.bn) * s.bk * s.element_bytes) /
                                   TJ_LINE;
    counts->barriers = is_alone ? counts->blocks : 0; /* as if every tile had its own block; clusters meet at their own */
}
