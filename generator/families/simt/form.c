/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simt: a thread computes TM x TN elements in registers, so that one load from shared memory serves several multiply-adds.
 *
 * The lanes of a warp stand 4 x 8. They load 16 bytes at a time, and all lanes of a row or column load the same bytes. A warp
 * thus covers 4 TM x 8 TN elements, and warps cover the block tile. Several slices of threads may share a tile, each with its
 * part of every phase.
 *
 * There are two templates: one copies tiles past the registers (cp.async, sm_80 and newer); the other copies through registers,
 * for older devices and for 16-bit elements, which it converts on the way.
 */
#include "form.h"

#include <stdio.h>

#include "checked.h"
#include "error.h"
#include "parts/copy.h"
#include "parts/reductions.h"
#include "parts/registers.h"
#include "parts/scales.h"
#include "parts/split.h"
#include "parts/tile.h"
#include "steps.h"

enum { OTHER_REGISTERS = 30, FEWEST_OTHERS = 16, REGISTER_UNIT = 8, PARTS = 4, MOST_BLOCKS = 8 };
enum { ALL_STAGES = 6 };
enum { OTHERS_WITH_LINES = 62 }; /* ptxas loads several steps ahead */
enum { QUAD = 4, WARP = 32, MOST_SUM_BYTES = 512, MAX_STATIC_SHARED = 48 * 1024, MAX_SHARED = 227 * 1024 };

static const char *const start_choices[] = {"together", "spread", NULL};

/* The values that a tuner tries where powers of two would be too many or too few. */
static const int32_t cols_tried[] = {16, 32, 64, 128, 256, 0}, phases_tried[] = {8, 16, 32, 64, 0},
                     stages_tried[] = {2, 3, 4, ALL_STAGES, 0}, starts_tried[] = {1, 2, 0},
                     blocks_tried[] = {1, 2, 3, 4, 6, 8, 0}, groups_tried[] = {1, 8, 0}, vectors_tried[] = {4, 8, 0};

/*
 * Thread tiles with a side of 16 are four times as long as wide, or have 128 elements, whose phases exceed the instruction
 * cache: in 2 868 of 15 257 trials of 165 tunings on an H200, none won by one percent.
 */
static const int32_t thread_tile_tried[] = {1, 2, 4, 8, 0};

enum { BM, BN, BK, TM, TN, SLICES, SPLITS, STAGES, COPY, BLOCKS, GROUP, VECTOR, START, ROWS }; /* in this order: */

static const tj_param params[] = {
    {"bm", "rows of the block tile of P", 4, 256, 64, NULL},
    {"bn", "columns of the block tile of P", 8, 256, 128, NULL, cols_tried},
    {"bk", "length of a phase along k", 4, 64, 16, NULL, phases_tried},
    {"tm", "rows of the thread tile", 1, 16, 8, NULL, thread_tile_tried},
    {"tn", "columns of the thread tile", 1, 16, 0, NULL, thread_tile_tried},
    {"slices", "groups of threads that share a block tile, each with its part of every phase", 1, 8, 1, NULL},
    TJ_SPLITS(1, tj_splits_tried),
    {"stages", "phases whose tiles shared memory holds", 2, ALL_STAGES, 0, NULL, stages_tried, TJ_PARAM_ORDER},
    TJ_COPY,
    TJ_BLOCKS(8, 0, blocks_tried, TJ_PARAM_HINT),
    TJ_TILE_GROUP(groups_tried),
    {"vector", "most elements of one access to global memory, as far as 16 bytes go; 1 asks for no alignment", 1, 8, 0, NULL,
     vectors_tried, TJ_PARAM_ORDER},
    {"start", "together: a phase's copies are started as one; spread: a piece every second step, for few warps on an SM", 1, 2,
     1, start_choices, starts_tried, TJ_PARAM_ORDER},
    TJ_TILE_ROWS,
};

static const char *const constraints[] = {
    "M, N and P are f32, f64, f16, bf16, c64 or c128",
    "TM and TN are 1, 2 or multiples of 4, which they must be with copy=registers; TN is not 1 if the epilogue takes pairs",
    "BM is a multiple of the warp tile's 4 * TM rows, BN of its 8 * TN columns",
    "32 to 1024 threads: one warp for each warp tile of each slice",
    "a thread tile of at most 128 elements of 4 bytes, 64 of 8 or 32 of 16: it stays in registers",
    "copy=async: neither f16 nor bf16; BK is a multiple of 8, and of 2 * SLICES",
    "copy=registers: 2 stages and 1 slice, both stages of both tiles in 48 KiB; BK is even",
    "start=spread: copy=async, and a slice has at least 8 steps of a phase",
    "all threads copy alike: their number divides each tile, in whole rows or in parts of one",
    "a thread has registers for its sums, a step of operands, the next step or the copies on their way, and 16 more",
    "the stages, and one block tile of sums where there are slices, fit the 227 KiB of shared memory that a block may have",
    "vector is 1, 2, 4 or 8",
    "group needs rows=y",
    TJ_SPLITS_CONSTRAINT,
    "each grid axis holds the blocks it counts: 65 535 on y, 2 147 483 647 on x",
    NULL,
};

/* Read the values by index, not by name, because a tuner asks for very many configs. */
tj_simt_shape tj_simt_shape_of(const tj_config *config)
{
    const int32_t *v = config->value;
    tj_simt_shape s = {v[BM], v[BN], v[BK], v[TM], v[TN], v[SLICES], v[SPLITS], v[STAGES], v[COPY], v[VECTOR], v[START], 0, 0};

    s.tile_threads =
        s.bm / (TJ_SIMT_LANE_ROWS * s.tm) * (s.bn / (TJ_SIMT_LANE_COLS * s.tn)) * TJ_SIMT_LANE_ROWS * TJ_SIMT_LANE_COLS;
    s.threads = s.slices * s.tile_threads;
    return s;
}

static tj_tile tile(const tj_problem *problem, const tj_config *config)
{
    const tj_simt_shape s = tj_simt_shape_of(config);

    (void)problem;
    return (tj_tile){s.bm, s.bk, s.bn, "BM", "BK", "BN"};
}

/* Return VEC, the elements of a 16-byte access to shared memory. */
int32_t tj_simt_vec(const tj_problem *view)
{
    return 16 / tj_sum_bytes(view);
}

int32_t tj_simt_row_vec(const tj_problem *view, const tj_simt_shape *s)
{
    return tj_simt_keeps_lines(view, s) ? 1 : tj_least(s->tm, tj_simt_vec(view));
}

int32_t tj_simt_col_vec(const tj_problem *view, const tj_simt_shape *s)
{
    return tj_simt_keeps_lines(view, s) ? 1 : tj_least(s->tn, tj_simt_vec(view));
}

/* ---- constraints -------------------------------------------------------------------------------------------------- */

bool tj_simt_moves(const tj_dim *dim, int32_t tile)
{
    return dim->mode == TJ_DIM_FIXED && dim->extent >= tile;
}

static tj_status check_async(const tj_problem *view, const tj_simt_shape *s, tj_error *err)
{
    const tj_status status = tj_copy_check(view, s->copy, err);

    if (status != TJ_OK)
        return status;
    if (s->bk % TJ_SIMT_RUN != 0 || s->bk % (2 * s->slices) != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "bk is %d: with copy=async and slices=%d it must be a multiple of %d",
                       s->bk, s->slices, TJ_SIMT_RUN > 2 * s->slices ? TJ_SIMT_RUN : 2 * s->slices);
    if (s->start == TJ_SIMT_SPREAD && s->bk / s->slices < 2 * TJ_SIMT_PIECE_STEPS)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "bk is %d: with start=spread and slices=%d it must be at least %d", s->bk,
                       s->slices, 2 * TJ_SIMT_PIECE_STEPS * s->slices);
    return TJ_OK;
}

static tj_status check_registers(const tj_simt_shape *s, tj_error *err)
{
    if (s->start != TJ_SIMT_TOGETHER)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "copy=registers starts its copies together: use copy=async with start=spread");
    if (s->stages != 2 || s->slices != 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "copy=registers has 2 stages and 1 slice, not %d and %d: use copy=async for more", s->stages, s->slices);
    if (s->tm < QUAD || s->tn < QUAD)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "tm is %d and tn is %d: with copy=registers both must be multiples of 4",
                       s->tm, s->tn);
    if (s->bk % 2 != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "bk is %d: with copy=registers it must be even, for steps take turns in two halves of registers", s->bk);
    return TJ_OK;
}

static tj_status check_copy(const tj_problem *view, const tj_simt_shape *s, tj_error *err)
{
    return s->copy == TJ_COPY_ASYNC ? check_async(view, s, err) : check_registers(s, err);
}

static tj_status check_shares(const tj_problem *view, const tj_simt_shape *s, tj_error *err)
{
    const char *const hint = "%d threads cannot share the copies of a tile of %d x %d alike: change bk, or bm, bn, tm "
                             "and tn, which make that number";

    if (tj_simt_copy_of(view, s, true).goes == 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, hint, s->threads, s->bm, s->bk);
    if (tj_simt_copy_of(view, s, false).goes == 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, hint, s->threads, s->bk, s->bn);
    return TJ_OK;
}

/* Is this a length of a thread tile's side? 1 and 2 are for few rows whose sums are not divided (is_too_small). */
static bool is_side(int32_t elements)
{
    return elements == 1 || elements == 2 || elements % QUAD == 0;
}

static tj_status check_thread_tile(const tj_problem *view, const tj_simt_shape *s, tj_error *err)
{
    const int warp_rows = TJ_SIMT_LANE_ROWS * s->tm, warp_cols = TJ_SIMT_LANE_COLS * s->tn,
              most = MOST_SUM_BYTES / tj_sum_bytes(view);

    if (!is_side(s->tm) || !is_side(s->tn))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "tm is %d and tn is %d: both must be 1, 2 or multiples of 4", s->tm,
                       s->tn);
    if (s->tn == 1 && tj_epilogue_pairs(&view->epilogue))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "tn is 1, and a thread needs both columns of a pair that the epilogue names: use tn=2");
    if (s->tm * s->tn > most)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "a thread tile of %d x %d does not fit the registers: %d elements are the most", s->tm, s->tn, most);
    if (s->bm % warp_rows != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "bm is %d: with tm %d it must be a multiple of %d", s->bm, s->tm,
                       warp_rows);
    if (s->bn % warp_cols != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "bn is %d: with tn %d it must be a multiple of %d", s->bn, s->tn,
                       warp_cols);
    if (s->threads > 1024)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "a block of %d x %d with thread tiles of %d x %d and %d slices has %d threads: 1024 is the most", s->bm,
                       s->bn, s->tm, s->tn, s->slices, s->threads);
    return TJ_OK;
}

static tj_status check_shared(const tj_problem *view, const tj_simt_shape *s, tj_error *err)
{
    const int64_t bytes = tj_simt_shared_bytes(view, s), most = s->copy == TJ_COPY_REGISTERS ? MAX_STATIC_SHARED : MAX_SHARED;

    if (bytes <= most)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "%d stages of tiles of %d x %d and %d x %d need %lld bytes of shared memory: %lld are the most", s->stages,
                   s->bm, s->bk, s->bk, s->bn, (long long)bytes, (long long)most);
}

/* Registers for one operand's elements in flight. Two elements of 16 bits share one if they were loaded together. */
static int32_t next_words(const tj_problem *view, const tj_simt_shape *s, bool is_m)
{
    const tj_simt_copy c = tj_simt_copy_of(view, s, is_m);
    const int32_t elements = c.goes * c.width, bytes = tj_facts_of(view->m.type)->bytes;

    return bytes == 2 && c.width == 1 ? elements : elements * bytes / 4;
}

/* Registers for all copies of a thread in flight. */
static int32_t copy_words(const tj_problem *view, const tj_simt_shape *s)
{
    return s->copy == TJ_COPY_ASYNC ? 0 : next_words(view, s, true) + next_words(view, s, false);
}

int32_t tj_simt_registers(const tj_problem *view, const tj_simt_shape *s)
{
    const int32_t step = (s->tm + s->tn) * (tj_simt_keeps_lines(view, s) ? tj_simt_vec(view) : 1);

    return tj_sum_bytes(view) / 4 * (s->tm * s->tn + 2 * step) + copy_words(view, s);
}

/*
 * Return about the fewest registers with which ptxas does not spill: accumulators, one step, and either the next step or the
 * copies.
 */
static int32_t fewest_registers(const tj_problem *view, const tj_simt_shape *s)
{
    const int32_t words = tj_sum_bytes(view) / 4, step = words * (s->tm + s->tn), copies = copy_words(view, s);

    return words * s->tm * s->tn + step + (copies > step ? copies : step) + FEWEST_OTHERS;
}

/*
 * Return the most blocks that leave a thread the registers of its tile. Asking for them pays even if they would fit anyway:
 * ptxas then uses all registers, and reads fewer operands twice (5 % at 4096 cubed on an H200).
 */
static int32_t blocks_for(const tj_problem *view, const tj_simt_shape *s)
{
    const int32_t others = tj_simt_keeps_lines(view, s) ? OTHERS_WITH_LINES : OTHER_REGISTERS,
                  registers = (int32_t)tj_ceil_div(tj_simt_registers(view, s) + others, REGISTER_UNIT) * REGISTER_UNIT;
    /* A warp takes its registers from one of the four partitions of a multiprocessor. */
    const int32_t warps = PARTS * (TJ_SM_REGISTERS / PARTS / (WARP * registers));
    const int32_t blocks = warps * WARP / s->threads;

    return blocks < 1 ? 1 : blocks > MOST_BLOCKS ? MOST_BLOCKS : blocks;
}

/*
 * With fewer registers ptxas spills accumulators and addresses to local memory, and such a kernel is never launched
 * (src/runtime/spills.h). This estimate saves compiling configs that are certain to spill; the report of ptxas decides about
 * the rest.
 */
static tj_status check_budget(const tj_problem *view, const tj_simt_shape *s, int32_t blocks, tj_error *err)
{
    const int32_t needed = fewest_registers(view, s), left = tj_registers_left(blocks, s->threads);
    int32_t most = blocks;

    if (needed <= left)
        return TJ_OK;
    while (most > 0 && tj_registers_left(most, s->threads) < needed)
        most--;
    if (most == 0)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "%d threads leave each %d registers, and a thread tile of %d x %d takes %d: use fewer threads (smaller bm "
            "or bn, or fewer slices) or a smaller thread tile",
            s->threads, tj_registers_left(1, s->threads), s->tm, s->tn, needed);
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "blocks is %d: so many, of %d threads, leave a thread %d registers, and its tile of %d x %d takes %d: use "
                   "blocks=%d",
                   blocks, s->threads, left, s->tm, s->tn, needed, most);
}

/* Return the widest vector parameter that makes a difference. */
static int32_t widest_asked(const tj_problem *view)
{
    return tj_facts_of(view->m.type)->bytes == 2 ? 8 : 4;
}

static tj_reduction_slots slots_of(const tj_problem *view, const tj_simt_shape *s)
{
    return (tj_reduction_slots){
        .of_row = tj_ceil_div(view->l.extent, s->bn) * (s->bn / (TJ_SIMT_LANE_COLS * s->tn)),
        .of_col = tj_ceil_div(view->j.extent, s->bm) * (s->bm / (TJ_SIMT_LANE_ROWS * s->tm)),
        .lane_cols = TJ_SIMT_LANE_COLS,
        .row_slot = "tile_x * (BN / WARP_COLS) + warp % (BN / WARP_COLS)",
        .col_slot = "tile_y * (BM / WARP_ROWS) + warp / (BN / WARP_COLS)",
    };
}

static tj_status check_reductions(const tj_problem *view, const tj_simt_shape *s, tj_error *err)
{
    const tj_reduction_slots slots = slots_of(view, s);

    return tj_reductions_check(view, &slots, err);
}

static tj_status resolve(const tj_problem *view, bool is_swapped, tj_config *config, tj_error *err)
{
    int32_t *const copy = &config->value[COPY], *const stages = &config->value[STAGES];
    int32_t *const vector = &config->value[VECTOR];
    tj_status status;
    tj_simt_shape s;

    if (config->value[TN] == 0) /* 8 of the widest sums have no room next to 8 rows */
        config->value[TN] = tj_sum_bytes(view) > 8 ? 4 : 8;
    if (*copy == 0)
        *copy = tj_copy_default(view);
    if (*stages == 0)
        *stages = *copy != TJ_COPY_ASYNC ? 2 : config->value[TM] < QUAD || config->value[TN] < QUAD ? ALL_STAGES : 3;
    if (*vector == 0)
        *vector = widest_asked(view);
    s = tj_simt_shape_of(config);
    if ((*vector & (*vector - 1)) != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "vector is %d: it must be 1, 2, 4 or 8", *vector);
    status = check_thread_tile(view, &s, err);
    if (status == TJ_OK)
        status = check_copy(view, &s, err);
    if (status == TJ_OK)
        status = check_shares(view, &s, err);
    if (status == TJ_OK)
        status = check_shared(view, &s, err);
    if (status == TJ_OK && config->value[BLOCKS] == 0)
        config->value[BLOCKS] = blocks_for(view, &s);
    if (status == TJ_OK)
        status = check_budget(view, &s, config->value[BLOCKS], err);
    if (status == TJ_OK)
        status = tj_split_check(view, config->value[SPLITS], err);
    if (status == TJ_OK)
        status = check_reductions(view, &s, err);
    if (status == TJ_OK)
        status = tj_tile_resolve(view, is_swapped, config, err);
    return status == TJ_OK ? tj_tile_settle_group(view, config->value[BM], config->value[SPLITS], config->value[ROWS],
                                                  &config->value[GROUP], err)
                           : status;
}

static bool for_any_operands(bool has_workspace, tj_config *config)
{
    config->value[VECTOR] = 1;
    if (!has_workspace)
        config->value[SPLITS] = 1;
    return true;
}

static tj_sum_order sum_order(const tj_problem *view, const tj_config *config)
{
    const tj_simt_shape s = tj_simt_shape_of(config);

    (void)view;
    return s.slices == 1 && s.splits == 1 ? TJ_SUMS_IN_CHAIN : TJ_SUMS_OWN;
}

/* ---- tuning ------------------------------------------------------------------------------------------------------- */

enum {
    FULL_GPU = 1024, /* blocks that occupy any GPU */
    FEW_TILES = 32,  /* with at most this many tiles, both splits and slices are useful */
    SMALL_ROWS = 16, /* tiles with fewer rows or columns have thread tiles with a side below 4 */
    SMALL_COLS = 32
};

/* Does this number of blocks change the kernel, and does it fit? */
static bool blocks_matter(const tj_problem *view, const tj_simt_shape *s, int32_t blocks)
{
    return blocks == 1 || (tj_limits_registers(blocks, s->threads) && blocks * tj_simt_shared_bytes(view, s) <= MAX_SHARED);
}

/* Does any copy become as wide as parameter vector allows? */
static bool vector_matters(const tj_problem *view, const tj_simt_shape *s)
{
    return s->vector <= QUAD || (s->vector <= widest_asked(view) && (tj_simt_copy_of(view, s, true).width == s->vector ||
                                                                     tj_simt_copy_of(view, s, false).width == s->vector));
}

/* With small blocks a multiprocessor has many of them, which hide each other's waits, so start makes no difference. */
static bool start_matters(const tj_simt_shape *s)
{
    return s->start == TJ_SIMT_TOGETHER || s->threads >= 256;
}

/* Splits pay if the tiles are too few for the device, and every part of k has several phases. */
static bool splits_matter(const tj_problem *view, const tj_simt_shape *s, int64_t tiles, int32_t splits)
{
    return splits == 1 || (tiles * splits <= FULL_GPU && view->k.extent >= (int64_t)splits * 4 * s->bk &&
                           (s->slices == 1 || tiles <= FEW_TILES));
}

static int64_t tiles_of(const tj_problem *view, const tj_simt_shape *s)
{
    return tj_ceil_div(view->j.extent, s->bm) * tj_ceil_div(view->l.extent, s->bn) * (view->batch > 1 ? view->batch : 1);
}

/*
 * Small tiles occupy the device if its blocks are few and may not share a sum. Where they may, splits and slices do so with larger
 * thread tiles, which load less.
 */
static bool is_too_small(const tj_problem *view, const tj_simt_shape *s, size_t known)
{
    const bool is_small = (known > BM && s->bm < SMALL_ROWS) || (known > BN && s->bn < SMALL_COLS) ||
                          (known > TM && s->tm < QUAD) || (known > TN && s->tn < QUAD);

    return is_small && (tj_sum_order_of(view) != TJ_SUMS_IN_CHAIN || (known > BN && tiles_of(view, s) > FULL_GPU));
}

/* The few warps of small tiles keep the memory busy if they are far ahead. */
static bool stages_matter(const tj_simt_shape *s)
{
    return tj_simt_is_small(s) ? s->stages == ALL_STAGES : s->stages < ALL_STAGES;
}

static bool is_hopeless(const tj_problem *view, const tj_config *config, size_t known)
{
    tj_simt_shape s;
    tj_config least = *config;
    size_t last; /* of those that decide shared memory: copies through registers have gaps by their width */

    if (known <= SLICES)
        least.value[SLICES] = 1;
    if (known <= START)
        least.value[START] = TJ_SIMT_TOGETHER;
    s = tj_simt_shape_of(&least);
    last = s.copy == TJ_COPY_ASYNC ? BLOCKS : VECTOR;
    return is_too_small(view, &s, known) || (known > BM && tj_tile_is_oversized(s.bm, SMALL_ROWS, view->j.extent)) ||
           (known > BN && tj_tile_is_oversized(s.bn, SMALL_COLS, view->l.extent)) ||
           (known > BK && tj_tile_is_oversized(s.bk, 8, view->k.extent)) ||
           (known > TN && check_thread_tile(view, &s, NULL) != TJ_OK) ||
           (known > SLICES && (s.threads < 64 || (s.slices > 1 && tiles_of(view, &s) > FULL_GPU))) ||
           (known > SPLITS && !splits_matter(view, &s, tiles_of(view, &s), config->value[SPLITS])) ||
           (known > STAGES && !stages_matter(&s)) || (known > COPY && check_copy(view, &s, NULL) != TJ_OK) ||
           (known > last &&
            (check_shared(view, &s, NULL) != TJ_OK || check_budget(view, &s, config->value[BLOCKS], NULL) != TJ_OK ||
             !blocks_matter(view, &s, config->value[BLOCKS])));
}

static bool is_worth_trying(const tj_problem *view, const tj_config *config)
{
    const tj_simt_shape s = tj_simt_shape_of(config);
    const int64_t rows = tj_ceil_div(view->j.extent, s.bm), cols = tj_ceil_div(view->l.extent, s.bn);
    const int32_t group = config->value[GROUP];

    return !is_hopeless(view, config, TJ_CONFIG_MAX_PARAMS) &&
           tj_tile_group_matters(view, config->value[SPLITS], group, rows, cols) && vector_matters(view, &s) &&
           start_matters(&s);
}

/* ---- source ------------------------------------------------------------------------------------------------------- */

/* Set the alignment of the pointers, in bytes. */
static void describe_alignment(const tj_problem *view, const tj_simt_shape *s, tj_launch_form *form)
{
    const int32_t in = tj_facts_of(view->m.type)->bytes;
    const bool writes_vectors = tj_simt_has_vector_p(view, s) && s->splits == 1;
    const int32_t out = writes_vectors ? tj_simt_p_width(view, s) * tj_facts_of(view->p.type)->bytes : 0;

    form->align[form->is_swapped ? TJ_MATRIX_N : TJ_MATRIX_M] = in * tj_simt_copy_of(view, s, true).width;
    form->align[form->is_swapped ? TJ_MATRIX_M : TJ_MATRIX_N] = in * tj_simt_copy_of(view, s, false).width;
    form->align[TJ_MATRIX_P] = out;
    form->align[TJ_MATRIX_C] = view->epilogue.has_beta ? out : 0;
}

/*
 * Describe tiles that reach beyond an edge. If the extent is known and holds a whole tile, the last tile is moved back;
 * otherwise every copy is clipped, and a copy outside the matrix stores zeros.
 */
static void describe_edges(const tj_problem *view, const tj_config *config, const tj_simt_shape *s, bool is_swapped,
                           tj_template_params *fill)
{
    const tj_checks checks = tj_checks_of(config, is_swapped);
    const bool clips_rows = checks.j && (tj_is_grouped(view) || !tj_simt_moves(&view->j, s->bm)),
               clips_cols = checks.l && !tj_simt_moves(&view->l, s->bn), moves_rows = checks.j && !clips_rows,
               moves_cols = checks.l && !clips_cols;

    tj_template_set_flag(fill, "moves_rows", moves_rows);
    tj_template_set_flag(fill, "moves_cols", moves_cols);
    tj_template_set(fill, "begin",
                    moves_cols && tj_is_grouped(view) ? "simt/begin_moved_in_group.cuh"
                    : moves_rows || moves_cols        ? "simt/begin_moved.cuh"
                    : tj_is_grouped(view)             ? "parts/begin_in_group.cuh"
                                                      : "parts/begin.cuh");
    tj_template_set(fill, "begin_row", moves_rows ? "simt/moved.cuh" : "simt/unmoved.cuh");
    tj_template_set(fill, "begin_col", moves_cols ? "simt/moved.cuh" : "simt/unmoved.cuh");
    tj_template_set_flag(fill, "clips_rows", clips_rows);
    tj_template_set_flag(fill, "clips_cols", clips_cols);
    tj_template_set_flag(fill, "checks_phases", checks.k);
    tj_template_set_flag(fill, "copies_async", true);
    tj_template_set_flag(fill, "copies_or_zero", checks.k || clips_rows || clips_cols);
    tj_template_set_flag(fill, "copies_whole", !checks.k && !(clips_rows && clips_cols));
}

static void describe_slices(const tj_simt_shape *s, tj_template_params *fill)
{
    const bool is_sliced = s->slices > 1;

    tj_template_set_flag(fill, "sliced", is_sliced);
    tj_template_set(fill, "thread_of_tile", is_sliced ? "thread % TILE_THREADS" : "thread");
    if (is_sliced)
        tj_template_set_int(fill, "SLICES", s->slices);
    else
        tj_template_set(fill, "SLICES", "");
    tj_template_set(fill, "THREADS", is_sliced ? "SLICES * TILE_THREADS" : "TILE_THREADS");
}

/* Describe where a thread's elements lie in tiles that keep lines. */
static void describe_lines(tj_template_params *fill)
{
    tj_template_set(fill, "phase", "simt/phase_lines.cuh");
    tj_template_set(fill, "steps", "BK / VEC");
    tj_template_set(fill, "m_stored", "m_row + row][m_kk + kk");
    tj_template_set(fill, "n_stored", "n_col + col][n_kk + kk");
    tj_template_set(fill, "piece", "one");
    tj_template_set(fill, "rows_further", "4");
    tj_template_set(fill, "cols_further", "8");
    tj_template_set(fill, "load", "simt/load_lines.cuh");
    tj_template_set(fill, "multiply", "simt/multiply_lines.cuh");
    tj_template_set(fill, "row_lane", "lane / 8");
    tj_template_set(fill, "col_lane", "lane % 8");
    tj_template_set(fill, "row_of", "4 * r");
    tj_template_set(fill, "col_of", "8 * c");
}

/* Describe the neighbouring rows (columns) of a thread, which one access loads: VEC, or all TM (TN) of them. */
static void describe_pieces(const tj_problem *view, const tj_simt_shape *s, bool spreads_cols, tj_template_params *fill)
{
    const bool whole_rows = s->tm < tj_simt_vec(view), whole_cols = s->tn < tj_simt_vec(view);

    tj_template_set(fill, "phase", "simt/phase.cuh");
    tj_template_set(fill, "steps", "BK");
    tj_template_set(fill, "m_stored", "m_kk + kk][m_row + row");
    tj_template_set(fill, "n_stored", spreads_cols ? "n_kk + kk][n_place + col" : "n_kk + kk][n_col + col");
    tj_template_set(fill, "load", "simt/load.cuh");
    tj_template_set(fill, "multiply", "simt/multiply.cuh");
    tj_template_set(fill, "row_lane", whole_rows ? "lane / 8 * TM" : "lane / 8 * VEC");
    tj_template_set(fill, "col_lane", whole_cols ? "lane % 8 * TN" : "lane % 8 * VEC");
    tj_template_set(fill, "row_vec", whole_rows ? "TM" : "VEC");
    tj_template_set(fill, "col_vec", whole_cols ? "TN" : "VEC");
    tj_template_set(fill, "piece", whole_rows ? (whole_cols ? "TM x TN" : "TM x VEC") : whole_cols ? "VEC x TN" : "VEC x VEC");
    tj_template_set(fill, "rows_further", whole_rows ? "4 * TM" : "4 * VEC");
    tj_template_set(fill, "cols_further", whole_cols ? "8 * TN" : "8 * VEC");
    tj_template_set(fill, "row_at", whole_rows ? "thread_row" : "thread_row + r / VEC * (4 * VEC)");
    tj_template_set(fill, "col_at", whole_cols ? "thread_col" : "thread_col + c / VEC * (8 * VEC)");
    tj_template_set(fill, "row_of", whole_rows ? "r" : "r / VEC * (4 * VEC) + r % VEC");
    tj_template_set(fill, "col_of",
                    whole_cols     ? "c"
                    : spreads_cols ? "c / COL_RUN * (8 * COL_RUN) + c % COL_RUN"
                                   : "c / VEC * (8 * VEC) + c % VEC");
}

/* Describe how a thread copies its share of M (is_m) or of N, and where the elements lie in shared memory. */
static void describe_copy(const tj_problem *view, const tj_simt_shape *s, bool is_m, bool checks_k, tj_template_params *fill)
{
    const tj_simt_copy copy = tj_simt_copy_of(view, s, is_m);
    const bool along_k = is_m ? view->m.layout == TJ_ROW_MAJOR : view->n.layout == TJ_COL_MAJOR;
    const char *const steps = checks_k ? "steps" : "BK";
    char advance[TJ_TEMPLATE_VALUE_BYTES];

    (void)snprintf(advance, sizeof advance, along_k ? "%s" : is_m ? "%s * ld_m" : "%s * ld_n", steps);
    tj_template_set(fill, is_m ? "m_advance" : "n_advance", advance);
    tj_template_set_flag(fill, is_m ? "m_along_k" : "n_along_k", along_k);
    tj_template_set(fill, is_m ? "m_share" : "n_share", along_k ? "simt/share_along.cuh" : "simt/share_across.cuh");
    tj_template_set(fill, is_m ? "m_places" : "n_places",
                    along_k         ? "simt/place_along.cuh"
                    : copy.skew > 0 ? "simt/place_skewed.cuh"
                                    : "simt/place_across.cuh");
    tj_template_set_int(fill, is_m ? "M_WIDTH" : "N_WIDTH", copy.width);
    tj_template_set_int(fill, is_m ? "M_SKEW" : "N_SKEW", copy.skew);
    tj_template_set_int(fill, is_m ? "M_RUN" : "N_RUN", copy.run);
    if (!along_k)
        tj_template_set_int(fill, is_m ? "M_ROWS" : "N_COLS", copy.line);
}

static const char *describe(const tj_problem *view, const tj_config *config, tj_template_params *fill, tj_launch_form *form)
{
    const tj_simt_shape s = tj_simt_shape_of(config);
    const tj_checks checks = tj_checks_of(config, form->is_swapped);
    const bool spreads_cols = tj_simt_col_run(view, &s) != tj_simt_col_vec(view, &s);
    const tj_reduction_slots slots = slots_of(view, &s);

    tj_template_set_int(fill, "BM", s.bm);
    tj_template_set_int(fill, "BN", s.bn);
    tj_template_set_int(fill, "BK", s.bk);
    tj_template_set_int(fill, "TM", s.tm);
    tj_template_set_int(fill, "TN", s.tn);
    describe_slices(&s, fill);
    tj_template_set_int(fill, "STAGES", s.stages);
    tj_split_describe_walk(&view->k, s.splits, s.bk, s.stages, s.start == TJ_SIMT_SPREAD, fill);
    tj_template_set(fill, "copy_next", s.start == TJ_SIMT_SPREAD ? "simt/copy_next_spread.cuh" : "parts/copy_next.cuh");
    tj_template_set(fill, "next_stage", "parts/next_stage.cuh");
    tj_template_set(fill, "loads_next", "else if (phase + 1 < phases)");
    tj_template_set(fill, "kk", s.slices > 1 ? "kk" : "step");
    tj_template_set_flag(fill, "spreads_copies", s.start == TJ_SIMT_SPREAD);
    tj_template_set_int(fill, "BLOCKS", config->value[BLOCKS]);
    tj_tile_describe_group(config->value[GROUP], fill);
    describe_edges(view, config, &s, form->is_swapped, fill);
    describe_copy(view, &s, true, checks.k, fill);
    describe_copy(view, &s, false, checks.k, fill);
    tj_template_set_flag(fill, "vector_p", tj_simt_has_vector_p(view, &s));
    tj_template_set_int(fill, "P_VECTOR", tj_simt_has_vector_p(view, &s) ? tj_simt_p_width(view, &s) : 1);
    tj_template_set_int(fill, "COL_RUN", tj_simt_col_run(view, &s));
    tj_template_set(fill, "spread_cols", spreads_cols ? "simt/spread_cols.cuh" : "");
    tj_template_set(fill, "spread_place", spreads_cols ? "simt/spread_place.cuh" : "");
    tj_template_set(fill, "first_phase", checks.k ? "simt/first_phase.cuh" : "");
    if (tj_simt_keeps_lines(view, &s))
        describe_lines(fill);
    else
        describe_pieces(view, &s, spreads_cols, fill);
    tj_template_set(fill, "first_col", spreads_cols ? "first_col" : "thread_col");
    tj_split_describe(view, config->value[SPLITS], fill, form);
    tj_reductions_describe(view, &slots, fill, form);
    tj_step_describe_order(view, fill, form);
    tj_scales_describe(view, TJ_SCALES_AHEAD, s.splits, fill);
    tj_step_set_blocks(&form->step[0], s.threads, s.bm, s.bn);
    form->step[0].rows_on_x = config->value[ROWS] == TJ_ROWS_ON_X;
    tj_tile_describe_grid(view, form->step[0].rows_on_x, fill);
    describe_alignment(view, &s, form);
    if (s.copy == TJ_COPY_REGISTERS) {
        form->step[0].static_shared_bytes = tj_simt_shared_bytes(view, &s);
        return "simt/registers.cu";
    }
    form->step[0].dynamic_shared_bytes = tj_simt_shared_bytes(view, &s);
    form->needs = TJ_FEATURE_CP_ASYNC;
    return "simt/async.cu";
}

const tj_family tj_family_simt = {
    .name = "simt",
    .summary = "a thread computes a tile of P in registers; tiles of M and N pass through shared memory, phases ahead",
    .types = TJ_FLOAT_TYPES,
    .takes_complex = true,
    .param = params,
    .param_count = sizeof params / sizeof params[0],
    .constraint = constraints,
    .start = &tj_simt_start,
    .sums_in_registers = true,
    .takes_groups = true,
    .takes_groups_along_k = true,
    .takes_scattered = true,
    .takes_symmetric = true,
    .model = &tj_model_simt,
    .reduces = TJ_REDUCES_BY_WARP,
    .checks_k = true,
    .widest = 256,
    .tile = tile,
    .resolve = resolve,
    .sum_order = sum_order,
    .relax = tj_relax_blocks,
    .for_tall = tj_tile_for_tall,
    .for_any_operands = for_any_operands,
    .for_target = tj_copy_for_target,
    .describe = describe,
    .count = tj_simt_count,
    .is_worth_trying = is_worth_trying,
    .is_hopeless = is_hopeless,
};
