/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcgen05: the tensor cores of Blackwell's data-center devices multiply tiles of shared memory and add to sums in tensor memory. One
 * warp starts the copies, one asks for the products, and four store P; mbarriers synchronise them. Blocks are persistent and walk the
 * tiles of P. Tensor memory has the sums of two tiles, so that one is stored while the next is multiplied.
 *
 * Tiles lie in shared memory as those of wgmma do, and a warp that stores has its sums as the lanes of a wgmma have them. So this
 * family shares with wgmma how tiles are copied and packed, and how P is stored; swap=yes has the same meaning, too.
 *
 * A type of M and N is a row of data: the kind of the instruction, and the type's number in its descriptor.
 */
#include "form.h"

#include <stdio.h>
#include <string.h>

#include "checked.h"
#include "error.h"
#include "parts/access.h"
#include "parts/block_scales.h"
#include "parts/maps.h"
#include "parts/quantize.h"
#include "parts/reductions.h"
#include "parts/scales.h"
#include "parts/split.h"
#include "parts/tile.h"
#include "parts/widen.h"
#include "steps.h"

enum { THREADS = 256, MAX_SHARED = 227 * 1024, CHUNK = 16, MAP_P = 2, STEP_BYTES = 32, ASKED_BYTES = 16 };
enum {
    LEAST_COLUMNS = 32, /* of tensor memory that a block can have */
    TILES = 2,          /* whose sums tensor memory has */
    USUAL_STRIP = 64,
    MOST_LOADED = 64, /* columns of one load */
    MOST_COLUMNS = 512,
    SCALERS = 2, /* warps that bring scales */
    WORD_SCALES = 4,
    SCALES_ALIGNMENT = 128,
    BARRIER_BYTES = 8,
    MOST_STAGES = 16,
    USUAL_STAGES = 8,
    USUAL_GROUP = 8,
    USUAL_ROWS = 128,
    USUAL_COLS = 128,
    BARRIERS_BYTES = 2 * TILES * 8 + 8 /* of both tiles, and the address of tensor memory */
};

static const char *const operand_choices[] = {"none", "m", "n", "both", NULL}, *const swap_choices[] = {"no", "yes", NULL},
                         *const pair_choices[] = {"no", "yes", NULL},
                         *const store_choices[] = {"boxes", "lines", "elements", NULL};

/* The values that a tuner tries. */
static const int32_t swaps_tried[] = {TJ_WGMMA_AS_P, TJ_WGMMA_SWAPPED, 0},
                     pairs_tried[] = {TJ_TCGEN05_ALONE, TJ_TCGEN05_PAIR, 0}, rows_tried[] = {64, 128, 0},
                     cols_tried[] = {16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 0},
                     splits_tried[] = {1, 2, 3, 4, 6, 8, 12, 16, 0}, stages_tried[] = {3, 4, 6, 8, 12, 16, 0},
                     groups_tried[] = {4, 8, 16, 0}, stores_tried[] = {TJ_WGMMA_BOXES, TJ_WGMMA_LINES, 0},
                     operands_tried[] = {TJ_WGMMA_NONE, TJ_WGMMA_M, TJ_WGMMA_N, TJ_WGMMA_BOTH, 0};

enum { SWAP, PAIR, BM, BN, SPLITS, STAGES, STORE, GROUP, PACK }; /* in this order: */

static const tj_param params[] = {
    {"swap",
     "yes: the tensor cores multiply P^T = N^T . M^T, so that bm counts columns of P, and bn its rows, in steps of 8 or 16: "
     "for a "
     "P of few rows",
     1, 2, TJ_WGMMA_AS_P, swap_choices, swaps_tried},
    {"pair",
     "yes: two blocks multiply together, tiles that lie one above the other: each brings its own rows of M, and one half of "
     "the "
     "columns of N",
     1, 2, TJ_TCGEN05_ALONE, pair_choices, pairs_tried},
    {"bm", "rows of the block tile of P", 64, 128, 0, NULL, rows_tried},
    {"bn", "columns of the block tile of P", 8, 256, 0, NULL, cols_tried},
    TJ_SPLITS(1, splits_tried),
    {"stages", "phases whose tiles shared memory holds; by default as many as it has room for", 2, MOST_STAGES, 0, NULL,
     stages_tried, TJ_PARAM_ORDER},
    {"store",
     "what writes P: the copy engine, boxes of it, whose lines begin at multiples of 16 bytes; or lanes, lines of up to 16 "
     "bytes "
     "each, or elements, which ask for no alignment of P; by default the first that is possible",
     1, 3, 0, store_choices, stores_tried, TJ_PARAM_ORDER},
    {"group", "rows of tiles that are walked together, column by column, to meet in the L2", 1, 16, USUAL_GROUP, NULL,
     groups_tried, TJ_PARAM_HINT},
    {"pack",
     "operands that are first copied to a workspace, where lines begin at multiples of 16 bytes, tf32 lies along k, and "
     "weights "
     "are widened",
     1, 4, 0, operand_choices, operands_tried, TJ_PARAM_ORDER},
};

static const char *const constraints[] = {
    "f16, bf16, e4m3, e5m2; s8, u8, not on sm_103a; f32 with compute tf32",
    "tf32 lies along k, or is packed",
    "M and N of 16 bits have the same type, or one is weights of 8 or 4 bits, which are packed",
    "sm_100a, sm_103a, sm_110a; what is not packed begins each line, and each product of a batch, at a multiple of 16 bytes",
    "no operand is an array of pointers; pack: j, k, l, leading dimensions, strides and the batch are fixed",
    "store=boxes: so it is with P, whose columns are whole 16 bytes; no beta, no splits, no groups",
    "BM is 64 or 128; BN is a multiple of 16, with swap=yes and a BM of 64 of 8, of integers then 8, 24 or a multiple of 16",
    "pair=yes: BM is 128, BN a multiple of 32; no groups, not one triangle",
    "one triangle: BM is BN; store=lines or elements",
    "e2m1 by e2m1, along k, with an even k, not packed",
    "scales along k: of e8m0 for 32 elements of e4m3, e5m2 and e2m1 by the same, of e4m3 for 16 of e2m1",
    "such scales, and e2m1: BM is 128; the sums of two tiles, and scales, fit the 512 columns of tensor memory",
    "swap=yes: no groups, no pairs of columns in the epilogue",
    "the stages fit the 227 KiB of shared memory that a multiprocessor has for its blocks",
    TJ_SPLITS_CONSTRAINT,
    NULL,
};

const tj_tcgen05_type *tj_tcgen05_type_of(const tj_problem *view, tj_which which)
{
    static const tj_tcgen05_type rows[] = {
        {TJ_F16, "f16", "f16", 0, TJ_PIPE_TENSOR_F16, 0},
        {TJ_BF16, "f16", "bf16", 1, TJ_PIPE_TENSOR_BF16, 0},
        {TJ_F32, "tf32", "tf32", 2, TJ_PIPE_TENSOR_TF32, 0},
        {TJ_E4M3, "f8f6f4", "e4m3", 0, TJ_PIPE_TENSOR_FP8, 0},
        {TJ_E5M2, "f8f6f4", "e5m2", 1, TJ_PIPE_TENSOR_FP8, 0},
        {TJ_E2M1, "mxf4", "e2m1", 1, TJ_PIPE_TENSOR_FP4, 0},
        {TJ_U8, "i8", "u8", 0, TJ_PIPE_TENSOR_S8, TJ_FEATURE_TCGEN05_S8},
        {TJ_S8, "i8", "s8", 1, TJ_PIPE_TENSOR_S8, TJ_FEATURE_TCGEN05_S8},
    };
    const int32_t type = tj_wgmma_type(view, which);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].type == type && (type != TJ_F32 || view->compute == TJ_COMPUTE_TF32))
            return &rows[i];
    return NULL;
}

/*
 * Return the columns of sums that a warp reads at once: whole slices of a store; with these, whole blocks of a P that has scales, and
 * what four lanes exchange.
 */
static int32_t strip_of(const tj_problem *view, const tj_wgmma_shape *w)
{
    const tj_wgmma_output out = tj_wgmma_output_of(view, w);
    const int32_t sums = tj_is_scaled(view, TJ_MATRIX_P) ? tj_scale_of(view, TJ_MATRIX_P)->k * tj_sums_per_column(view) : 1,
                  least = out.quads && sums < TJ_WGMMA_QUAD_SUMS ? TJ_WGMMA_QUAD_SUMS : sums;
    int32_t strip = out.slice;

    while (w->bn % (2 * strip) == 0 && (2 * strip <= USUAL_STRIP || strip % least != 0))
        strip *= 2;
    return strip;
}

/* Return the columns of tensor memory: a power of two. */
static int32_t columns_of(const tj_tcgen05_shape *s)
{
    int32_t columns = LEAST_COLUMNS;

    while (columns < TILES * s->w.bn + tj_tcgen05_scale_columns(s))
        columns *= 2;
    return columns;
}

/* Return the elements of k in a phase: those of a line of a tile. */
static int32_t depth_of(const tj_problem *view)
{
    return TJ_WGMMA_LINE / tj_facts_of(tj_wgmma_type(view, TJ_MATRIX_M))->bytes * (tj_is_fp4(view) ? 2 : 1);
}

tj_tcgen05_shape tj_tcgen05_shape_of(const tj_problem *view, const tj_config *config)
{
    const int32_t *v = config->value, bytes = tj_facts_of(tj_wgmma_type(view, TJ_MATRIX_M))->bytes,
                  numbers = tj_is_fp4(view) ? 2 : 1;
    const tj_wgmma_shape w = {
        .bm = v[BM],
        .bn = v[BN],
        .multipliers = 1,
        .pingpong = TJ_WGMMA_TOGETHER,
        .splits = v[SPLITS],
        .stages = v[STAGES],
        .blocks = 1,
        .store = v[STORE],
        .group = v[GROUP],
        .pack = v[PACK],
        .transpose = TJ_WGMMA_NONE,
        .element_bytes = bytes,
        .numbers = numbers,
        .k_step = STEP_BYTES / bytes * numbers,
        .bk = depth_of(view),
        .threads = THREADS,
        .wm = v[BM],
        .cluster_rows = v[PAIR] == TJ_TCGEN05_PAIR ? 2 : 1,
        .cluster_cols = 1,
        .parts = 1,
        .slices = 1,
        .planes = 1,
        .finds_groups = tj_is_grouped(view),
        .swapped = v[SWAP] == TJ_WGMMA_SWAPPED,
        .paired = v[PAIR] == TJ_TCGEN05_PAIR,
        .in_strips = true,
        .takes_across = bytes <= 2, /* tf32 would need a swizzle of its own */
        .other_bytes = BARRIERS_BYTES,
        .family = "tcgen05",
    };

    tj_tcgen05_shape s = {.w = w, .strip = v[BN] > 0 ? strip_of(view, &w) : 0};

    if (tj_tcgen05_scales_products(view))
        s.words = w.bk / w.k_step * tj_block_scales_of_step(view) / WORD_SCALES;
    if (s.words > 0) {
        s.w.other_bytes += SCALES_ALIGNMENT;
        s.w.stage_bytes = (int32_t)tj_tcgen05_scale_bytes(&s) + tj_tcgen05_turns_signs(view) * BARRIER_BYTES;
    }
    s.columns = columns_of(&s);
    return s;
}

static bool is_swapped(const tj_problem *problem, const tj_config *config)
{
    return (problem->p.layout != TJ_ROW_MAJOR) != (config->value[SWAP] == TJ_WGMMA_SWAPPED);
}

static bool quantizes(const tj_problem *problem, const tj_config *config)
{
    const int32_t *const v = config->value;

    return v[SWAP] != TJ_WGMMA_SWAPPED && tj_quantize_fits(problem, v[BN] > 0 ? v[BN] : USUAL_COLS, v[SPLITS]);
}

static tj_tile tile(const tj_problem *problem, const tj_config *config)
{
    const int32_t *const v = config->value;

    return (tj_tile){v[BM] * (v[PAIR] == TJ_TCGEN05_PAIR ? 2 : 1), depth_of(problem), v[BN], "BM", "BK", "BN"};
}

static tj_problem moved(const tj_problem *view, const tj_config *config)
{
    const tj_tcgen05_shape s = tj_tcgen05_shape_of(view, config);
    const tj_pack pack = tj_wgmma_pack_of(view, &s.w);

    return tj_pack_moved(view, &pack);
}

static int32_t pack_default(const tj_problem *view, const tj_tcgen05_shape *s)
{
    return tj_is_fp4(view) ? TJ_WGMMA_NONE : tj_wgmma_pack_default(view, s->w);
}

/* ---- constraints -------------------------------------------------------------------------------------------------- */

static tj_status check_types(const tj_problem *view, tj_error *err)
{
    const tj_tcgen05_type *const m = tj_tcgen05_type_of(view, TJ_MATRIX_M), *const n = tj_tcgen05_type_of(view, TJ_MATRIX_N);

    if (!tj_meets_f32(view) && tj_widen_check(view, "tcgen05", err) != TJ_OK)
        return TJ_ERR_INVALID_ARGUMENT;
    if (!tj_meets_f32(view) && m && n && (m == n || (strcmp(m->kind, n->kind) == 0 && tj_facts_of(m->type)->bytes == 1)))
        return TJ_OK;
    if (view->m.type == TJ_F32 && view->n.type == TJ_F32)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "family tcgen05 has no tensor cores for f32 as IEEE has it: ask for compute tf32, which rounds M and N, or "
            "use another family");
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "family tcgen05 multiplies f16, bf16, e4m3, e5m2, s8, u8 and tf32, and M is of %s, N of %s: use family mma",
                   tj_facts_of(view->m.type)->name, tj_facts_of(view->n.type)->name);
}

static tj_status check_tile(const tj_problem *view, const tj_tcgen05_shape *s, tj_error *err)
{
    const int32_t step = s->w.swapped && s->w.bm == TJ_WGMMA_ROWS ? 8 : 16;

    if (s->w.bm != TJ_WGMMA_ROWS && s->w.bm != USUAL_ROWS)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "bm is %d: the tensor cores take 64 or 128 rows", s->w.bm);
    if (s->w.bn % step != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "bn is %d: with bm=%d it must be a multiple of %d", s->w.bn, s->w.bm,
                       step);
    if (tj_sum_type(view) == TJ_S32 && s->w.bn > 32 && s->w.bn % 16 != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "bn is %d, and tensor cores take 8, 16, 24, 32 columns of integers, or a multiple of 16", s->w.bn);
    return TJ_OK;
}

static tj_status check_pair(const tj_problem *view, const tj_tcgen05_shape *s, tj_error *err)
{
    if (!s->w.paired)
        return TJ_OK;
    if (tj_is_grouped(view))
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "the tiles of a pair of blocks lie one above the other, and groups of rows end within them: use pair=no");
    if (tj_is_symmetric(view))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "the tiles of one triangle are walked in an order of their own, which pairs of blocks do not have: use "
                       "pair=no");
    if (s->w.bm != USUAL_ROWS || s->w.bn % 32 != 0)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "bm is %d and bn %d: with pair=yes bm is %d, and bn a multiple of 32, of which each block brings one half", s->w.bm,
            s->w.bn, USUAL_ROWS);
    return TJ_OK;
}

/* Scales in the instruction multiply 128 rows, and need columns of tensor memory next to the sums. */
static tj_status check_scales(const tj_problem *view, const tj_tcgen05_shape *s, tj_error *err)
{
    if (s->words == 0)
        return TJ_OK;
    if (!tj_suits_block_scales(view))
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "family tcgen05 multiplies by scales in the instruction e2m1 along k, with an even k, and 8-bit floats, with "
            "scales of e8m0 for 32 elements (e2m1: also of e4m3 for 16) or none: use the family %s",
            TJ_SAFE_FAMILY->name);
    if (s->w.pack > TJ_WGMMA_NONE && tj_is_fp4(view))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "pack=%s is not for e2m1 by e2m1: begin their lines at multiples of 16 bytes, and use pack=none",
                       operand_choices[s->w.pack - 1]);
    if (s->w.bm != USUAL_ROWS)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "bm is %d: the tensor cores multiply by scales in 128 rows", s->w.bm);
    if (s->columns > MOST_COLUMNS)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "the sums of two tiles of %d columns, and scales in %d more, need %d columns of tensor memory, which has %d: "
            "use a smaller bn",
            s->w.bn, tj_tcgen05_scale_columns(s), s->columns, MOST_COLUMNS);
    return TJ_OK;
}

static tj_status check_room(const tj_problem *view, const tj_tcgen05_shape *s, tj_error *err)
{
    const int64_t bytes = tj_wgmma_shared_bytes(view, &s->w);

    if (bytes <= MAX_SHARED)
        return TJ_OK;
    return tj_fail(
        err, TJ_ERR_INVALID_ARGUMENT,
        "%d stages of tiles of %d x %d and %d x %d need %lld bytes of shared memory, and a block may have %d: use fewer "
        "stages",
        s->w.stages, s->w.bm, s->w.bk, s->w.bk, s->w.bn, (long long)bytes, MAX_SHARED);
}

static int32_t stages_that_fit(const tj_problem *view, tj_tcgen05_shape s)
{
    for (s.w.stages = s.w.swapped ? MOST_STAGES : USUAL_STAGES; s.w.stages > 2; s.w.stages--)
        if (check_room(view, &s, NULL) == TJ_OK)
            break;
    return s.w.stages;
}

/* Return the columns of a tile, in such steps, so that as few as possible of at most 128 each share them. */
static int32_t even_columns(const tj_dim *l, int32_t step)
{
    const int64_t all = l->mode == TJ_DIM_FIXED && l->extent > 0 ? l->extent : USUAL_COLS, tiles = tj_ceil_div(all, USUAL_COLS);

    return (int32_t)tj_ceil_div(tj_ceil_div(all, tiles), step) * step;
}

static void settle_tile(const tj_problem *view, int32_t *v)
{
    const bool is_low = view->j.mode == TJ_DIM_FIXED && view->j.extent <= TJ_WGMMA_ROWS && v[PAIR] != TJ_TCGEN05_PAIR;

    if (v[BM] == 0)
        v[BM] = is_low && !tj_tcgen05_scales_products(view) ? TJ_WGMMA_ROWS : USUAL_ROWS;
    if (v[BN] == 0)
        v[BN] = tj_is_symmetric(view)         ? v[BM]
                : v[SWAP] == TJ_WGMMA_SWAPPED ? even_columns(&view->l, v[PAIR] == TJ_TCGEN05_PAIR ? 32 : 16)
                                              : USUAL_COLS;
}

/* A warp writes what it found in a strip of a row, and in its rows of a column. */
static tj_reduction_slots slots_of(const tj_problem *view, const tj_tcgen05_shape *s)
{
    return (tj_reduction_slots){
        .of_row = tj_ceil_div(view->l.extent, s->w.bn) * (s->w.bn / s->strip),
        .of_col = tj_ceil_div(view->j.extent, s->w.bm * s->w.cluster_rows) * s->w.cluster_rows * 4,
        .lane_cols = 4,
        .row_slot = "block_col / STRIP",
        .col_slot = "block_row / BM * 4 + warp",
    };
}

static tj_status check_reductions(const tj_problem *view, const tj_tcgen05_shape *s, tj_error *err)
{
    const tj_reduction_slots slots = slots_of(view, s);

    return tj_reductions_check(view, &slots, err);
}

static tj_status resolve(const tj_problem *view, bool is_swapped, tj_config *config, tj_error *err)
{
    int32_t *const v = config->value;
    tj_status status = check_types(view, err);
    tj_tcgen05_shape s;

    if (status != TJ_OK)
        return status;
    settle_tile(view, v);
    s = tj_tcgen05_shape_of(view, config);
    status = tj_wgmma_check_swap(view, &s.w, err);
    if (status == TJ_OK)
        status = check_tile(view, &s, err);
    if (status == TJ_OK)
        status = check_pair(view, &s, err);
    if (status == TJ_OK)
        status = check_scales(view, &s, err);
    if (status != TJ_OK)
        return status;
    if (v[PACK] == 0)
        v[PACK] = s.w.pack = pack_default(view, &s);
    status = tj_wgmma_check_store(view, &s.w, err);
    if (status == TJ_OK && v[STORE] == 0)
        v[STORE] = s.w.store = tj_wgmma_has_boxes(view, &s.w) ? TJ_WGMMA_BOXES : TJ_WGMMA_LINES;
    if (status == TJ_OK && v[STAGES] == 0)
        v[STAGES] = s.w.stages = stages_that_fit(view, s);
    if (status == TJ_OK)
        status = tj_wgmma_check_operand(view, &s.w, true, err);
    if (status == TJ_OK)
        status = tj_wgmma_check_operand(view, &s.w, false, err);
    if (status == TJ_OK)
        status = tj_wgmma_check_pack(view, &s.w, err);
    if (status == TJ_OK)
        status = check_room(view, &s, err);
    if (status == TJ_OK)
        status = tj_split_check(view, s.w.splits, err);
    if (status == TJ_OK)
        status = check_reductions(view, &s, err);
    return status == TJ_OK ? tj_tile_settle_checks(view, is_swapped, config, err) : status;
}

static bool for_any_operands(bool has_workspace, tj_config *config)
{
    config->value[STORE] = TJ_WGMMA_ELEMENTS;
    config->value[PACK] = TJ_WGMMA_BOTH;
    return has_workspace; /* a tensor map needs multiples of 16 bytes: without a workspace to pack to, nothing helps */
}

/* ---- tuning ------------------------------------------------------------------------------------------------------- */

enum {
    FULL_GPU = 296,
    MOST_SWAPPED_ROWS = 256
}; /* blocks that occupy any GPU; rows of P that are better columns of a product */

static bool is_hopeless(const tj_problem *view, const tj_config *config, size_t known)
{
    tj_tcgen05_shape s = tj_tcgen05_shape_of(view, config);
    const int64_t tiles =
        tj_ceil_div(view->j.extent, s.w.bm) * tj_ceil_div(view->l.extent, s.w.bn) * (view->batch > 1 ? view->batch : 1);

    if (known <= PACK || s.w.pack == 0)
        s.w.pack = pack_default(view, &s);
    return check_types(view, NULL) != TJ_OK || tj_wgmma_check_swap(view, &s.w, NULL) != TJ_OK ||
           tj_wgmma_check_operand(view, &s.w, true, NULL) != TJ_OK ||
           tj_wgmma_check_operand(view, &s.w, false, NULL) != TJ_OK || (s.w.swapped && view->l.extent > MOST_SWAPPED_ROWS) ||
           (known > BM && s.words == 0 && s.w.bm > 64 && s.w.bm - 64 >= view->j.extent) ||
           (known > PAIR && s.w.paired && view->j.extent <= USUAL_ROWS) ||
           (known > BN && (check_tile(view, &s, NULL) != TJ_OK || check_pair(view, &s, NULL) != TJ_OK ||
                           check_scales(view, &s, NULL) != TJ_OK || (s.w.bn > 16 && s.w.bn / 2 >= view->l.extent))) ||
           (known > SPLITS && s.w.splits > 1 &&
            (tiles * s.w.splits > FULL_GPU || view->k.extent < (int64_t)s.w.splits * 4 * s.w.bk)) ||
           (known > STAGES && s.w.stages > 0 && check_room(view, &s, NULL) != TJ_OK);
}

static bool is_worth_trying(const tj_problem *view, const tj_config *config)
{
    const tj_tcgen05_shape s = tj_tcgen05_shape_of(view, config);

    return !is_hopeless(view, config, TJ_CONFIG_MAX_PARAMS) && s.w.pack == pack_default(view, &s) &&
           !(s.w.store == TJ_WGMMA_LINES && tj_wgmma_has_boxes(view, &s.w));
}

/* ---- source ------------------------------------------------------------------------------------------------------- */

/* Describe the instruction: its kind, the descriptor's fields, and the loads of the sums. */
static void describe_product(const tj_problem *view, const tj_tcgen05_shape *s, tj_template_params *fill)
{
    const tj_tcgen05_type *const m = tj_tcgen05_type_of(view, TJ_MATRIX_M), *const n = tj_tcgen05_type_of(view, TJ_MATRIX_N);
    const bool whole = tj_sum_type(view) == TJ_S32;
    int32_t load = MOST_LOADED;
    char text[TJ_TEMPLATE_VALUE_BYTES];

    while (s->strip % load != 0)
        load /= 2;
    if (s->words == 0) {
        (void)snprintf(text, sizeof text, "tcgen05.mma.cta_group::%d.kind::%s", s->w.paired ? 2 : 1, m->kind);
        tj_template_set(fill, "mma_name", text);
        tj_template_set_int(fill, "SUM_TYPE", whole ? 2 : 1);
    }
    tj_template_set(fill, "sum_type_name", tj_type_get_facts(tj_sum_type(view))->name);
    tj_template_set_int(fill, "M_TYPE", m->code);
    tj_template_set(fill, "m_type_name", m->name);
    tj_template_set_int(fill, "N_TYPE", n->code);
    tj_template_set(fill, "n_type_name", n->name);
    tj_template_set_int(fill, "M_ACROSS", !tj_wgmma_tile_of(view, &s->w, true).along_k);
    tj_template_set_int(fill, "N_ACROSS", !tj_wgmma_tile_of(view, &s->w, false).along_k);
    (void)snprintf(text, sizeof text, "tcgen05.ld.sync.aligned.16x256b.x%d.b32", load / 8);
    tj_template_set(fill, "load_name", text);
    tj_template_set_int(fill, "more_loads", load / 8 - 1);
    tj_template_set_int(fill, "load_operand", load / 2);
    tj_template_set(fill, "load_constraint", whole ? "\"=r\"" : "\"=f\"");
    tj_template_set(fill, "sum_constraint", whole ? "\"+r\"" : "\"+f\"");
    tj_template_set_int(fill, "LOAD", load);
    tj_template_set_int(fill, "STRIP", s->strip);
    tj_template_set_int(fill, "COLUMNS", s->columns);
    tj_template_set_flag(fill, "may_be_empty", s->w.splits > 1 || view->k.mode != TJ_DIM_FIXED || view->k.extent == 0);
}

/* Do blocks walk the tiles of all products of a batch? */
static bool walks_products(const tj_problem *view, const tj_tcgen05_shape *s)
{
    return view->batch != 1 && s->w.splits <= 1;
}

/* Describe the two blocks of a pair, or one that is alone. */
static void describe_pair(const tj_problem *view, const tj_tcgen05_shape *s, tj_template_params *fill, tj_launch_form *form)
{
    const bool paired = s->w.paired, turns_signs = tj_tcgen05_turns_signs(view);
    const bool counts_both = paired && !turns_signs; /* the first block's barriers count the bytes of both */
    const int32_t of_copies = turns_signs ? 0 : 1, of_scales = s->words > 0 ? SCALERS : 0;

    if (paired) {
        tj_step_product(form)->cluster[0] = 2;
        form->needs |= TJ_FEATURE_CLUSTER;
    }
    tj_template_set_flag(fill, "clusters", paired);
    tj_template_set(fill, "half_of_n", paired ? "tcgen05/half_of_n.cuh" : "");
    tj_template_set(fill, "arrivals_of_products", paired ? "tcgen05/pair.cuh" : "tcgen05/arrive.cuh");
    tj_template_set(fill, "cta_group", paired ? "cta_group::2" : "cta_group::1");
    tj_template_set(fill, "rows_of_product", paired ? "2 * BM" : "BM");
    tj_template_set(fill, "m_edge", "BM");
    tj_template_set(fill, "n_edge", paired ? "(BN / 2)" : "BN");
    tj_template_set(fill, "m_copy", counts_both ? "copy_box_of_pair" : "copy_box");
    tj_template_set(fill, "n_copy", counts_both ? "copy_box_of_pair" : "copy_box");
    tj_template_set(fill, "expect", counts_both ? "arrive_at_first_and_expect" : "arrive_and_expect");
    tj_template_set(fill, "take", paired ? "arrive_at_first" : "arrive");
    tj_template_set(fill, "elects", paired ? "rank == 0 && is_elected()" : "is_elected()");
    tj_template_set_int(fill, "arrivals", (paired ? 2 : 1) * (of_copies + of_scales));
    tj_template_set(fill, "takers", paired ? "8" : "4");
    tj_template_set(fill, "meet", paired ? "meet_in_cluster" : "__syncthreads");
    tj_template_set(fill, "first_brought", paired ? "blockIdx.x / 2" : "blockIdx.x");
    tj_template_set(fill, "next_brought", paired ? "gridDim.x / 2" : "gridDim.x");
}

/* Describe which tiles a block walks, and how one is brought. */
static void describe_walk(const tj_problem *view, const tj_tcgen05_shape *s, tj_template_params *fill)
{
    const bool has_groups = tj_is_grouped(view), walks = walks_products(view, s);

    tj_template_set(fill, "place",
                    has_groups              ? "wgmma/place_in_group.cuh"
                    : s->w.paired           ? "tcgen05/place_in_pair.cuh"
                    : tj_is_symmetric(view) ? "wgmma/place_in_triangle.cuh"
                                            : "wgmma/place.cuh");
    tj_template_set(fill, "tile", has_groups ? "wgmma/tile_of_group.cuh" : "wgmma/tile.cuh");
    tj_template_set(fill, "scale", walks ? "" : !has_groups ? "parts/scale.cuh" : "wgmma/all_scales.cuh");
    tj_template_set_flag(fill, "walks_products", walks);
    tj_template_set(fill, "tiles", walks ? "batch * rows * cols" : "rows * cols");
    tj_template_set(fill, "bring", has_groups ? "wgmma/bring_in_groups.cuh" : "wgmma/bring.cuh");

    tj_template_set(fill, "first_k", s->w.splits > 1 ? "k_begin + phase" : "phase");
    tj_template_set(fill, "round_k", "BK");
    tj_template_set(fill, "phases_of", "BK");
    tj_template_set(fill, "k_parts", "SPLITS");
    tj_template_set(fill, "part_of_k", "blockIdx.z % SPLITS");
    tj_template_set(fill, "brought", "sizeof(phase_t)");
    tj_template_set(fill, "came", tj_tcgen05_turns_signs(view) ? "came" : "full");
    tj_template_set(fill, "when_full", s->words > 0 ? "its tiles and scales have come" : "its tiles have come");
    tj_template_set(fill, "line_t", tj_template_get(fill, "m_t"));
    tj_template_set(fill, "kept", "");
    tj_template_set(fill, "MULTIPLIERS", "");
    tj_template_set(fill, "storers", "4");
    tj_template_set(fill, "storer", "warp");
    tj_template_set(fill, "end_of_rows", has_groups ? "group.end" : "j");
    tj_template_set(fill, "sum_barriers", "tcgen05/barriers.cuh");
}

static const char *describe(const tj_problem *view, const tj_config *config, tj_template_params *fill, tj_launch_form *form)
{
    const tj_tcgen05_shape s = tj_tcgen05_shape_of(view, config);
    const tj_pack pack = tj_wgmma_pack_of(view, &s.w);
    const tj_reduction_slots slots = slots_of(view, &s);
    tj_launch_step *const product = tj_step_product(form); /* until tj_pack_describe adds one ahead of it */

    product->grid = walks_products(view, &s) ? TJ_GRID_WALK_ALL : TJ_GRID_WALK;
    product->resident = 1;
    tj_step_set_blocks(product, THREADS, s.w.bm, s.w.bn);
    product->dynamic_shared_bytes = tj_wgmma_shared_bytes(view, &s.w);
    form->needs |= TJ_FEATURE_TMA | TJ_FEATURE_TCGEN05 | tj_tcgen05_type_of(view, TJ_MATRIX_M)->needs;
    for (int is_m = 0; is_m < 2; is_m++)
        if (!pack.operand[is_m ? TJ_MATRIX_M : TJ_MATRIX_N].is_packed)
            form->align[is_m != form->is_swapped ? TJ_MATRIX_M : TJ_MATRIX_N] = CHUNK;
    tj_scales_describe(view, TJ_SCALES_IN_TURN, s.w.splits, fill);
    tj_wgmma_describe_output(view, &s.w, fill, form);
    tj_split_describe(view, s.w.splits, fill, form);
    tj_reductions_describe(view, &slots, fill, form);
    tj_pack_describe(view, &pack, fill, form);
    tj_step_describe_order(view, fill, form);
    tj_widen_describe(view, (tj_widen_copies){0}, tj_widens_weights(view->m.type, view->n.type), fill);
    tj_wgmma_describe_map(view, &s.w, &pack, true, fill, form);
    tj_wgmma_describe_map(view, &s.w, &pack, false, fill, form);
    describe_pair(view, &s, fill, form);
    if (!fill)
        return NULL;
    tj_maps_describe(view, tj_step_product(form), tj_tcgen05_turns_signs(view) ? "came" : "full", fill);
    tj_maps_list_args(view, form->is_swapped, false, s.w.splits <= 1, form->tensor_map[MAP_P].rank > 0 ? MAP_P : -1,
                      tj_step_product(form));
    tj_template_set_int(fill, "BM", s.w.bm);
    tj_template_set_int(fill, "BN", s.w.bn);
    tj_template_set_int(fill, "BK", s.w.bk);
    tj_template_set_int(fill, "K_STEP", s.w.k_step);
    tj_template_set_int(fill, "STAGES", s.w.stages);
    tj_template_set_int(fill, "GROUP", s.w.group);
    tj_template_set(fill, "rows_above", "top * 8");
    tj_template_set(fill, "row_of", "r / 2 * 16 + r % 2 * 8");
    tj_template_set(fill, "col_of", "c / 2 * 8 + c % 2");
    tj_template_set(fill, "first_col", "thread_col");
    describe_walk(view, &s, fill);
    tj_wgmma_describe_edges(view, tj_checks_of(config, form->is_swapped), tj_wgmma_output_of(view, &s.w).slice, fill);
    describe_product(view, &s, fill);
    tj_tcgen05_describe_scales(view, &s, tj_checks_of(config, form->is_swapped).k, fill);
    tj_wgmma_describe_pointers(view, tj_step_product_name(tj_step_product(form)), fill);
    return "tcgen05/tcgen05.cu";
}

const tj_family tj_family_tcgen05 = {
    .name = "tcgen05",
    .summary =
        "Blackwell's tensor cores multiply tiles of shared memory, and keep the sums in tensor memory; blocks walk the tiles "
        "of P",
    .takes_pairs = TJ_PAIRS,
    .param = params,
    .param_count = sizeof params / sizeof params[0],
    .constraint = constraints,
    .start = &tj_tcgen05_start,
    .sums_in_registers = true,
    .takes_scales = tj_tcgen05_takes_scales,
    .takes_groups = true,
    .takes_scattered = true,
    .takes_symmetric = true,
    .model = &tj_model_wgmma,
    .reduces = TJ_REDUCES_BY_WARP,
    .checks_k = true,
    .widest = 256,
    .is_swapped = is_swapped,
    .tile = tile,
    .resolve = resolve,
    .quantizes = quantizes,
    .for_any_operands = for_any_operands,
    .moved = moved,
    .describe = describe,
    .count = tj_tcgen05_count,
    .is_worth_trying = is_worth_trying,
    .is_hopeless = is_hopeless,
};
