/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counts: the traffic and work of a launch of family mma. Each loop of the template is one access here. Fragments are counted
 * lane by lane, at their places after swizzle.cuh.
 */
#include "form.h"

#include "checked.h"
#include "parts/lanes.h"
#include "parts/pointers.h"
#include "parts/registers.h"
#include "parts/scales.h"
#include "parts/split.h"
#include "parts/traffic.h"
#include "parts/widen.h"

/*
 * FRAGMENT: rows of M or columns of N of one ldmatrix; STORE_ROWS, STORE_LANES: lanes of a warp along the rows and columns of P
 * when it stores.
 */
enum { FRAGMENT = 16, STORE_ROWS = 8, STORE_LANES = 4 };

int32_t tj_mma_pipe(const tj_problem *view, const tj_mma_shape *s)
{
    static const int32_t by_bytes[] = {
        [1] = TJ_PIPE_TENSOR_S8, [4] = TJ_PIPE_TENSOR_TF32, [8] = TJ_PIPE_TENSOR_F64, [16] = TJ_PIPE_TENSOR_F64};

    const int32_t type = tj_leading_type(view->m.type, view->n.type);

    if (tj_mma_scales_products(s))
        return tj_is_fp4(view) ? TJ_PIPE_TENSOR_FP4 : TJ_PIPE_TENSOR_MXFP8;
    if (type == TJ_C64)
        return TJ_PIPE_TENSOR_TF32;
    return type == TJ_F16         ? TJ_PIPE_TENSOR_F16
           : type == TJ_BF16      ? TJ_PIPE_TENSOR_BF16
           : tj_type_is_fp8(type) ? TJ_PIPE_TENSOR_FP8
                                  : by_bytes[tj_facts_of(type)->bytes];
}

/* An operand of the source. */
typedef struct operand {
    const tj_matrix *matrix;
    tj_mma_tile tile;
    int64_t count, width;  /* number of lines, and elements of one */
    int64_t batch, repeat; /* repeat: blocks that load the same tile */
    int32_t unit;          /* neighbours along k that a register of a fragment has */
    int32_t stored_bytes;  /* of an element in global memory; smaller than in the tile where copies widen weights */
    bool is_m, along_k;
} operand;

static operand operand_of(const tj_problem *view, const tj_problem *packed, const tj_pack *pack, const tj_mma_shape *s,
                          const tj_counts *counts, bool is_m)
{
    const tj_which which = is_m ? TJ_MATRIX_M : TJ_MATRIX_N;
    const tj_matrix *const matrix = tj_problem_matrix(packed, which);
    const tj_lines lines = tj_problem_lines(packed, which);
    const bool is_packed = pack->operand[which].is_packed; /* padded to whole tiles, and copied as such */

    return (operand){
        .matrix = matrix,
        .tile = tj_mma_tile_of(packed, s, is_m),
        .count = is_packed ? tj_pack_lines(view, pack, which) : lines.count.extent,
        .width = is_packed ? matrix->ld : lines.width.extent,
        .batch = packed->batch,
        .repeat = is_m ? counts->col_blocks : counts->row_blocks,
        .unit = 4 / s->element_bytes,
        .stored_bytes = tj_facts_of(matrix->type)->bytes,
        .is_m = is_m,
        .along_k = is_m == (matrix->layout == TJ_ROW_MAJOR),
    };
}

/* Count `elements` elements of each copy, beginning at its element number `first`. */
static void count_loads(const operand *o, int32_t first, int32_t elements, tj_traffic *traffic)
{
    const tj_mma_tile *const t = &o->tile;
    tj_access access = tj_tiled_access(t->line / t->width, tj_least(t->go, t->lines), tj_ceil_div(o->width - first, t->width),
                                       o->count, (int64_t)t->width * o->stored_bytes, o->matrix->ld * o->stored_bytes);

    access.base = (int64_t)first * o->stored_bytes;
    access.element_bytes = o->stored_bytes;
    access.width = elements;
    access.axis[2] = tj_batch_axis(o->batch, o->matrix->stride, o->stored_bytes);
    access.repeat = o->repeat;
    tj_traffic_add(traffic, &access);
}

/* copy: the last copy of a line reads only the elements that exist. */
static void count_copies(const operand *o, tj_traffic *traffic, int64_t *gathered)
{
    const tj_mma_tile *const t = &o->tile;
    const int64_t missing = (tj_ceil_div(o->width, t->width) * t->width - o->width) * o->count * o->batch * o->repeat;

    for (int32_t e = 0; t->pass == TJ_MMA_GATHERED && e < t->width && e < o->width; e++)
        count_loads(o, e, 1, traffic);
    if (t->pass == TJ_MMA_GATHERED) {
        *gathered += traffic->requests;
        return;
    }
    count_loads(o, 0, t->width, traffic);
    traffic->elements -= missing;
    traffic->bytes -= missing * o->stored_bytes;
}

/* ---- fragments ---------------------------------------------------------------------------------------------------- */

/* m_place, n_place: return the offset of a line's element in its tile, in bytes. */
static int64_t place_of(const tj_mma_tile *t, int32_t bytes, int32_t line, int32_t element)
{
    const int32_t chunk = TJ_MMA_CHUNK / bytes, chunks = t->line / chunk, turns = tj_least(chunks, 8);
    const int32_t reader = t->load == TJ_MMA_BYTES ? line % 2 + line / 4 % 4 * 2
                           : tj_mma_loads_words(t) ? line % 2 * 4 + line / 2 % 2 * 2 + line / 4 % 2
                                                   : line % 8;

    if (t->load == TJ_MMA_ELEMENTS)
        return (int64_t)(line * t->pitch + (bytes >= 8 ? element ^ line % 4 * 4 : element)) * bytes;
    return (int64_t)(line * chunks + (element / chunk ^ reader / (8 / turns) % turns)) * TJ_MMA_CHUNK + element % chunk * bytes;
}

/* copy, through registers: every copy of a tile is stored as words of 4 bytes, whether or not it lies inside the matrix. */
static void count_tile_stores(const operand *o, const tj_mma_shape *s, int64_t times, tj_traffic *traffic)
{
    enum { WORD = 4 };
    const tj_mma_tile *const t = &o->tile;
    const int32_t x = t->line / t->width, threads = tj_least(s->threads, x * t->lines);
    tj_lanes lanes = {.element_bytes = WORD, .width = t->width * t->bytes / WORD, .is_shared = true};
    const int32_t warps = threads / TJ_WARP * t->goes;

    for (int32_t go = 0; go < (traffic->is_estimate ? 1 : t->goes); go++)
        for (int32_t first = 0; first < (traffic->is_estimate ? 1 : threads); first += TJ_WARP) {
            for (lanes.count = 0; lanes.count < TJ_WARP && first + lanes.count < threads; lanes.count++) {
                const int32_t thread = first + lanes.count;

                lanes.lane[lanes.count] = lanes.count;
                lanes.address[lanes.count] = place_of(t, t->bytes, go * t->go + thread / x, thread % x * t->width);
            }
            tj_lanes_add(traffic, &lanes, 0, traffic->is_estimate ? times * warps : times);
        }
}

/*
 * Return how often a thread waits for loads to registers in a phase: once if all loads of the phase are in flight together,
 * else once for each batch.
 */
static int64_t waits_of_phase(const tj_problem *view, const tj_mma_shape *s, const operand *m, const operand *n)
{
    const int32_t m_once = tj_mma_copies_at_once(view, s, true), n_once = tj_mma_copies_at_once(view, s, false);
    const bool m_waits = m->tile.pass != TJ_MMA_PAST, n_waits = n->tile.pass != TJ_MMA_PAST;

    if (m_once == m->tile.goes && n_once == n->tile.goes)
        return m_waits || n_waits;
    return (m_waits ? tj_ceil_div(m->tile.goes, m_once) : 0) + (n_waits ? tj_ceil_div(n->tile.goes, n_once) : 0);
}

/* Count how the tiles of `times` phases get to shared memory. */
static void count_passing(const operand *o, const tj_mma_shape *s, int64_t times, const tj_traffic *loads, tj_counts *counts)
{
    if (o->tile.pass != TJ_MMA_PAST) {
        counts->phase.shared_stores += (int64_t)o->tile.lines * o->tile.line;
        count_tile_stores(o, s, times, &counts->shared_store);
        return;
    }
    counts->async_bytes += loads->bytes;
    if (o->tile.width * o->stored_bytes < TJ_MMA_CHUNK)
        counts->narrow += loads->requests;
    counts->work[TJ_PIPE_SHARED] += loads->requests * o->tile.width * o->tile.bytes / 4;
}

/* The row of M or column of N that a lane asks for, among 16, and its k within a step. */
typedef struct element {
    int32_t across, k;
} element;

static element element_of(const operand *o, int32_t lane, int32_t part)
{
    const int32_t chunk = TJ_MMA_CHUNK / o->tile.bytes;

    switch (o->tile.load) {
    case TJ_MMA_WHOLE:
        return o->is_m ? (element){lane % 16, lane / 16 * chunk} : (element){lane / 16 * 8 + lane % 8, lane / 8 % 2 * chunk};
    case TJ_MMA_HALVES:
        return o->is_m ? (element){lane / 8 % 2 * 8, lane / 16 * 8 + lane % 8} : (element){lane / 16 * 8, lane % 16};
    case TJ_MMA_WEIGHTS: /* 16 lines */
        return (element){0, lane % 16};
    case TJ_MMA_UNITS: /* k in stored elements */
        return (element){lane / 4 + (o->is_m ? part % 2 : part / 2) * 8,
                         (lane % 4 * o->unit + (o->is_m ? part / 2 : part % 2) * 4 * o->unit) /
                             tj_type_numbers(o->matrix->type)};
    case TJ_MMA_WORDS: /* the same; two of 8 lines each */
    case TJ_MMA_RUNS:
        return (element){lane / 4 + part * 8, lane % 4 * 8 / tj_type_numbers(o->matrix->type)};
    case TJ_MMA_BYTES: /* as line_of_bytes of the template */
        return (element){0, lane / 16 * 16 + lane / 8 % 2 * 2 + lane % 8 / 2 * 4 + lane % 2};
    default:
        return o->is_m ? (element){lane / 4 + part % 2 * 8, lane % 4 + part / 2 * 4}
                       : (element){lane / 4 + part / 2 * 8, lane % 4 + part % 2 * 4};
    }
}

/* load: one warp loads 16 rows of M or columns of N for one step; with neighbours in pairs, 32. */
static void count_fragment(const operand *o, int32_t first_across, int32_t first_k, int64_t times, tj_traffic *traffic)
{
    const bool is_unit = o->tile.load == TJ_MMA_UNITS, is_word = tj_mma_loads_words(&o->tile),
               by_element = o->tile.load == TJ_MMA_ELEMENTS || is_unit;
    const int32_t numbers = tj_type_numbers(o->matrix->type), loads = o->tile.bytes > 8 ? 2 : 1; /* c128: of each part */
    /* ldmatrix handles units of 2 bytes only; 8 neighbours are loaded as words of 4. */
    tj_lanes lanes = {.count = o->tile.load == TJ_MMA_WEIGHTS ? TJ_WARP / 2 : TJ_WARP,
                      .element_bytes = is_unit      ? o->unit / numbers
                                       : by_element ? o->tile.bytes / loads
                                       : is_word    ? 4
                                                    : 2,
                      .width = is_word      ? 8 * o->tile.bytes / numbers / 4
                               : by_element ? 1
                                            : TJ_MMA_CHUNK / 2,
                      .is_shared = true};

    for (int32_t i = 0; i < loads * (by_element ? 4 : is_word ? 2 : 1); i++) {
        for (int32_t lane = 0; lane < lanes.count; lane++) {
            const element e = element_of(o, lane, i / loads);
            const int32_t across = first_across + e.across, k = first_k + e.k;

            lanes.lane[lane] = lane;
            lanes.address[lane] =
                (o->along_k ? place_of(&o->tile, o->tile.bytes, across, k) : place_of(&o->tile, o->tile.bytes, k, across)) +
                i % loads * (o->tile.bytes / loads);
        }
        tj_lanes_add(traffic, &lanes, 0, times);
    }
}

/*
 * Count the fragments of the first `steps` steps of a tile. times: phases of all blocks, times warps that load the same rows or
 * columns.
 */
static void count_fragments(const operand *o, const tj_mma_shape *s, int32_t steps, int64_t times, tj_traffic *traffic)
{
    const int32_t across = o->along_k ? o->tile.lines : o->tile.line; /* in stored elements */
    const int32_t at_once = tj_mma_loads_words(&o->tile) ? 2 : 1;     /* steps of one load */

    if (traffic->is_estimate) { /* the first stands for all */
        count_fragment(o, 0, 0, times * (across / FRAGMENT) * (steps / at_once), traffic);
        return;
    }
    for (int32_t first = 0; first < across; first += FRAGMENT)
        for (int32_t step = 0; step < steps; step += at_once)
            count_fragment(o, first, step * s->k_step / (o->along_k ? tj_type_numbers(o->matrix->type) : 1), times, traffic);
}

/*
 * weights.cuh: instructions that widen the two registers of load_weights, or four units along k, each of which is spread if it
 * becomes 16 bits, or words; a word of pairs serves two steps.
 */
static int32_t widening_of(const tj_problem *view, const tj_mma_tile *tile)
{
    const tj_widening w = tj_widening_of(view);

    if (tile->load == TJ_MMA_UNITS)
        return 4 * (!tj_widens_to_fp8(view) + w.first);
    return (tile->load == TJ_MMA_WORDS && tj_holds_pairs(view) ? 1 : 2) * w.all;
}

/* weights.cuh: number of multiply-adds. */
static int64_t widened_of(const tj_problem *view, const operand *o, const tj_mma_shape *s, int64_t times)
{
    return tj_mma_keeps_weights(&o->tile) ? times * (o->is_m ? s->bm : s->bn) * s->bk * tj_widening_of(view).multiply_adds : 0;
}

/* Conversion instructions of a warp for its fragments: separate neighbours of one byte, round to tf32, or widen weights. */
static int64_t conversions_of(const tj_problem *view, const operand *o, const tj_mma_shape *s, bool is_tf32, int64_t times)
{
    const int32_t instructions = tj_mma_keeps_weights(&o->tile) ? widening_of(view, &o->tile)
                                 : tj_mma_splits_c64(view)      ? 4 * 8
                                 : view->m.type == TJ_C64       ? 4 * 2
                                 : is_tf32 || o->tile.load == TJ_MMA_BYTES || o->tile.load == TJ_MMA_RUNS ? 4
                                                                                                          : 0;

    return instructions * times * ((o->along_k ? o->tile.lines : o->tile.line) / FRAGMENT) * (s->bk / s->k_step);
}

/*
 * Up to sm_110 8-bit floats are multiplied as halves: two instructions convert each register of a fragment to two, and two
 * products take the place of one. Those of ptxas begin at zero, and each lane adds their four accumulators to its own.
 */
static int64_t halves_of(const operand *o, const tj_mma_shape *s, int64_t times)
{
    return 2 * 4 * times * ((o->along_k ? o->tile.lines : o->tile.line) / FRAGMENT) * (s->bk / s->k_step);
}

/* ---- P and C ------------------------------------------------------------------------------------------------------ */

/* The place of P, C or the workspace, in bytes, and a lane's neighbouring rows and columns. */
typedef struct output {
    int64_t bytes, ld, stride, matrices;
    int32_t vector, rows, cols;
} output;

/* store: 8 x 4 lanes, for row r and column c of a lane's neighbouring rows and columns. */
static void count_output(const tj_problem *view, const output *o, tj_traffic *traffic)
{
    const int32_t r_end = traffic->is_estimate ? 1 : o->rows, c_end = traffic->is_estimate ? o->vector : o->cols;
    const int64_t step_x = o->cols * o->bytes, step_y = o->rows * o->ld * o->bytes;

    for (int32_t r = 0; r < r_end && r < view->j.extent; r++)
        for (int32_t c = 0; c < c_end && c < view->l.extent; c += o->vector) {
            tj_access access = tj_tiled_access(STORE_LANES, STORE_ROWS, tj_ceil_div(view->l.extent - c, o->cols),
                                               tj_ceil_div(view->j.extent - r, o->rows), step_x, step_y);

            access.base = (r * o->ld + c) * o->bytes;
            access.element_bytes = (int32_t)o->bytes;
            access.width = o->vector;
            access.axis[2] = tj_batch_axis(o->matrices, o->stride, o->bytes);
            access.repeat = (int64_t)(o->rows / r_end) * (o->cols / c_end);
            tj_traffic_add(traffic, &access);
        }
}

static void count_scales(const tj_problem *view, const tj_mma_shape *s, const output *o, tj_counts *counts)
{
    const tj_scales_side rows = {STORE_ROWS, o->rows, s->bm, false, counts->col_blocks * (s->bn / s->wn)};
    const tj_scales_side cols = {STORE_LANES, o->cols, s->bn, false, counts->row_blocks * (s->bm / s->wm)};

    tj_scales_count_ahead(view, &rows, &cols, counts->blocks * s->threads, &counts->load_scales);
}

static void count_outputs(const tj_problem *view, const tj_mma_shape *s, const operand *m, const operand *n, tj_counts *counts)
{
    output o = {.vector = tj_mma_p_vector(view, s), .rows = m->tile.neighbours, .cols = 2 * n->tile.neighbours};

    if (s->splits > 1) {
        o.bytes = counts->sum_bytes;
        o.ld = view->l.extent;
        o.stride = view->j.extent * view->l.extent;
        o.matrices = view->batch * s->splits;
        count_output(view, &o, &counts->store_w);
        tj_split_count(view, s->splits, counts);
        return;
    }
    o.bytes = tj_facts_of(view->p.type)->bytes;
    o.ld = view->p.ld;
    o.stride = view->p.stride;
    o.matrices = view->batch;
    count_output(view, &o, &counts->store_p);
    o.ld = view->c.ld;
    o.stride = view->c.stride;
    if (view->epilogue.has_beta)
        count_output(view, &o, &counts->load_c);
    count_scales(view, s, &o, counts);
}

/* ---- all counts --------------------------------------------------------------------------------------------------- */

/*
 * Registers beyond the general estimate: loading tf32 element by element keeps addresses of the steps; sm_90 widens 8-bit
 * floats to halves, twice as many.
 */
static int32_t more_registers(const tj_problem *view, const tj_mma_shape *s, const operand *o)
{
    if (tj_mma_pipe(view, s) == TJ_PIPE_TENSOR_FP8)
        return s->wm * s->wn / 128;
    return view->compute == TJ_COMPUTE_TF32 && o->tile.load == TJ_MMA_ELEMENTS ? 2 * s->steps : 0;
}

/* Registers of copies: addresses for cp.async; for copies through registers, the elements in flight. */
static int32_t registers_of_copies(const tj_problem *view, const tj_mma_shape *s, const operand *m, const operand *n)
{
    const operand *const both[] = {m, n};
    int32_t copies = 0, loaded = 0;

    for (int i = 0; i < 2; i++) {
        const tj_mma_tile *const t = &both[i]->tile;
        const int32_t elements = tj_mma_copies_at_once(view, s, both[i]->is_m) * t->width;

        if (t->pass == TJ_MMA_PAST)
            copies += t->lines * t->line / t->width;
        else
            loaded += t->pass == TJ_MMA_THROUGH ? elements * both[i]->tile.bytes / 8 : elements;
    }
    return copies / s->threads * (view->compute == TJ_COMPUTE_TF32 ? 10 : 13) / 10 + loaded;
}

/*
 * Fitted to the registers of 64 configs for sm_90, with a mean error of 5 %: ptxas keeps an address for each copy of a thread
 * and each step of a phase. For tf32 the error is 9 % on 163 other configs.
 */
static void estimate_registers(const tj_problem *view, const tj_mma_shape *s, const operand *m, const operand *n,
                               tj_counts *counts)
{
    const int32_t slack = 12; /* registers that ptxas can save before it spills */
    const int32_t wanted = tj_mma_registers(view, s) + 22 + 5 * s->steps + registers_of_copies(view, s, m, n) +
                           more_registers(view, s, m) + more_registers(view, s, n);

    (void)tj_guess_registers(counts, wanted, 6, wanted - slack, s->blocks, s->threads);
}

/*
 * add_part: one multiply-add for each accumulator, and its scale from another lane. read_scales: whole warps, each for the rows or
 * columns of its tile. parts: of all blocks together.
 */
static void count_parts(const tj_problem *view, const tj_mma_shape *s, int64_t parts, tj_counts *counts)
{
    const int64_t warps = parts * (s->threads / TJ_WARP);

    counts->sums += parts * s->slices * s->bm * s->bn;
    for (int is_m = 0; is_m < 2; is_m++) {
        const int32_t of_warp = is_m ? s->wm : s->wn;

        if (!tj_scales_along_k(view, is_m ? TJ_MATRIX_M : TJ_MATRIX_N))
            continue;
        if (!tj_mma_has_one_scale(view, s, is_m))
            counts->conversions += warps * of_warp / (is_m ? TJ_MMA_ROWS / 2 : TJ_MMA_COLS / 2);
        tj_scales_count_along_k(view, warps * (of_warp > TJ_WARP ? of_warp : TJ_WARP), &counts->load_scales);
    }
}

/* read_words: of each warp, for the rows or columns of its tile. phases: of all blocks together. */
static void count_block_scales(const tj_problem *view, const tj_mma_shape *s, int64_t phases, tj_counts *counts)
{
    const int64_t words = phases * (s->threads / TJ_WARP) * tj_mma_scale_words(view, s);

    for (int is_m = 0; is_m < 2; is_m++)
        if (tj_scales_along_k(view, is_m ? TJ_MATRIX_M : TJ_MATRIX_N))
            tj_scales_count_along_k(view, words * ((is_m ? s->wm : s->wn) > TJ_WARP ? is_m ? s->wm : s->wn : TJ_WARP),
                                    &counts->load_scales);
}

/* sum_m, sum_n: the fragments of what has no zero points, by ones: of each warp, for one step. */
static int64_t products_with_ones(const tj_problem *view, const tj_mma_shape *s, int64_t block_phases)
{
    return block_phases * ((tj_mma_has_float_zeros(view, false) ? s->bm / TJ_MMA_ROWS * (s->bn / s->wn) : 0) +
                           (tj_mma_has_float_zeros(view, true) ? s->bn / TJ_MMA_COLS * (s->bm / s->wm) : 0));
}

enum { SLICE_EXCHANGES = 4 }; /* two barriers, a store, and loads that overlap */

static void count_sums(int32_t bytes, int64_t requests, tj_traffic *traffic)
{
    const tj_access access = tj_shared_access(TJ_WARP, 1, 1, 0, bytes, 1, requests);

    tj_traffic_add(traffic, &access);
}

/* add_slices: the sums of all slices but the first go through shared memory. */
static void count_slices(const tj_mma_shape *s, tj_counts *counts)
{
    const int64_t requests = counts->blocks * (s->slices - 1) * s->bm * s->bn / TJ_WARP;

    count_sums(counts->sum_bytes, requests, &counts->shared_store);
    count_sums(counts->sum_bytes, requests, &counts->shared_load);
    counts->sums += requests * TJ_WARP;
    counts->barriers += 2 * counts->blocks;
    counts->exchanged = SLICE_EXCHANGES;
}

void tj_mma_count(const tj_problem *view, const tj_config *config, tj_counts *counts)
{
    const tj_mma_shape s = tj_mma_shape_of(view, config);
    const tj_pack pack = tj_mma_pack_of(view, &s);
    const tj_problem packed = tj_pack_moved(view, &pack);
    const operand m = operand_of(view, &packed, &pack, &s, counts, true),
                  n = operand_of(view, &packed, &pack, &s, counts, false);
    const int64_t phases = tj_ceil_div(view->k.extent, s.bk), tiles = counts->blocks / s.splits, block_phases = tiles * phases;
    const int64_t m_times = block_phases * (s.bn / s.wn), n_times = block_phases * (s.bm / s.wm);
    const tj_split_phases share = tj_split_share(phases, s.splits);
    const int64_t tile = (int64_t)s.bm * s.bn, loads = (int64_t)(s.bm + s.bn) * s.bk;
    const bool is_tf32 = view->compute == TJ_COMPUTE_TF32;
    const int32_t planes = tj_mma_splits_c64(view) ? 3 : 1; /* products of them in place of one */
    const bool is_async = m.tile.pass == TJ_MMA_PAST || n.tile.pass == TJ_MMA_PAST;

    counts->pipe = tj_mma_pipe(view, &s);
    if (counts->pipe == TJ_PIPE_TENSOR_F64)
        counts->model = &tj_model_mma_f64;
    else if (tj_is_complex(view))
        counts->model = &tj_model_mma_c64;
    counts->phase =
        (tj_phase_counts){.depth = s.bk,
                          .loads = loads,
                          .flop = 2 * tile * s.bk,
                          .shared_loads = (int64_t)s.bk * ((int64_t)s.bm * (s.bn / s.wn) + (int64_t)s.bn * (s.bm / s.wm))};
    counts->phases = share.most;
    /*
     * One barrier at the start of a block, and one before each phase except the first of a split; if the last phase is like the
     * others, one more.
     */
    counts->barriers = counts->blocks + tiles * (phases - (tj_mma_walks_evenly(&s) ? 0 : share.splits));
    counts->work[counts->pipe] = 2 * block_phases * tile * s.bk * planes;
    counts->mma = (block_phases * tile / (TJ_MMA_ROWS * TJ_MMA_COLS) + products_with_ones(view, &s, block_phases)) *
                  (s.bk / s.k_step) * planes;
    counts->conversions = conversions_of(view, &m, &s, is_tf32 && !tj_mma_packs(&s, true), m_times) +
                          conversions_of(view, &n, &s, is_tf32 && !tj_mma_packs(&s, false), n_times);
    counts->sums += (planes - 1) / 2 * block_phases * tile * (s.bk / s.k_step);
    counts->truncates = view->compute == TJ_COMPUTE_F32_FP8 && !tj_mma_scales_products(&s);
    if (counts->pipe == TJ_PIPE_TENSOR_FP8)
        counts->halves =
            halves_of(&m, &s, m_times) + halves_of(&n, &s, n_times) + (tj_mma_writes_halves(view, &s) ? 1 : 4) * counts->mma;
    counts->work[TJ_PIPE_F16] = 2 * (widened_of(view, &m, &s, m_times) + widened_of(view, &n, &s, n_times));
    counts->chain = share.most * s.steps;
    counts->chain_fma = planes * s.wm * s.wn * s.k_step / TJ_WARP;
    counts->ahead = is_async ? s.stages - 1 : 0;
    counts->waits = is_async + share.most * waits_of_phase(view, &s, &m, &n);
    estimate_registers(view, &s, &m, &n, counts);
    if (phases > 0) {
        count_copies(&m, &counts->load_m, &counts->gathered);
        count_copies(&n, &counts->load_n, &counts->gathered);
        count_fragments(&m, &s, s.bk / s.k_step, m_times, &counts->shared_load);
        count_fragments(&n, &s, s.bk / s.k_step, n_times, &counts->shared_load);
        if (tj_mma_walks_evenly(&s)) {
            count_fragments(&m, &s, s.slices, tiles * share.splits * (s.bn / s.wn), &counts->shared_load);
            count_fragments(&n, &s, s.slices, tiles * share.splits * (s.bm / s.wm), &counts->shared_load);
        }
        count_passing(&m, &s, block_phases, &counts->load_m, counts);
        count_passing(&n, &s, block_phases, &counts->load_n, counts);
        for (int is_m = 0; is_m < 2; is_m++) /* the whole tile, zeros included */
            if (tj_mma_widens_copies(view, &s, &(is_m ? &m : &n)->tile, is_m))
                tj_widen_count(view, block_phases * (is_m ? m : n).tile.lines * (is_m ? m : n).tile.line, counts);
    }
    if (tj_mma_scales_products(&s))
        count_block_scales(view, &s, block_phases, counts);
    if (tj_mma_part_k(view, &s) > 0)
        count_parts(view, &s, block_phases * tj_mma_parts(view, &s), counts);
    if (s.slices > 1)
        count_slices(&s, counts);
    tj_pack_count(view, &pack, counts);
    count_outputs(view, &s, &m, &n, counts);
    tj_pointers_count(view, NULL, counts);
}
