/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thin: P has few rows, and N holds weights of 8 or 4 bits along k. The tensor cores of sm_80 and newer multiply. Lanes load
 * weights from global memory straight into registers, units ahead, and widen them there; no shared memory and no barrier stand
 * between. Columns of N are the rows of the first factor of mma.sync, so that one product takes 16 of them and 8 rows of M.
 */
#include "form.h"

#include <stdio.h>

#include "checked.h"
#include "error.h"
#include "parts/access.h"
#include "parts/reductions.h"
#include "parts/registers.h"
#include "parts/scales.h"
#include "parts/split.h"
#include "parts/tile.h"
#include "parts/widen.h"
#include "steps.h"

enum {
    WARP = 32,
    LANES_OF_UNIT = 4, /* that have runs of the same column, one after the other */
    LEAST_RUN = 8,     /* weights that two products take of a lane */
    WIDEST = 16,       /* bytes */
    MOST_THREADS = 1024,
    MAX_SHARED = 227 * 1024,
    STAGES = 2,     /* of M */
    MOST_ROWS = 32, /* with more of P, tiles in shared memory are faster */
    FULL_GPU = 1024 /* blocks that occupy any GPU */
};

static const int32_t rows_tried[] = {8, 16, 24, 32, 0}, cols_tried[] = {16, 32, 64, 0}, slices_tried[] = {2, 4, 8, 16, 0},
                     widths_tried[] = {8, 16, 0}, ahead_tried[] = {1, 2, 4, 0}, blocks_tried[] = {1, 2, 3, 4, 5, 6, 7, 8, 0};

enum { TM, TN, SLICES, WIDTH, AHEAD, SPLITS, BLOCKS, ROWS }; /* in this order: */

static const tj_param params[] = {
    {"tm", "rows of P of a block: a multiple of 8", 8, 32, 0, NULL, rows_tried},
    {"tn", "columns of P of a block: a multiple of 16", 16, 64, 0, NULL, cols_tried},
    {"slices", "warps of a block, which share the k of its columns: a power of 2", 1, 32, 8, NULL, slices_tried},
    {"width", "bytes of weights in one load of a lane: 4, 8 or 16", 4, 16, 0, NULL, widths_tried},
    {"ahead", "loads of each column that are under way while one is multiplied", 1, 8, 2, NULL, ahead_tried},
    TJ_SPLITS(1, tj_splits_tried),
    TJ_BLOCKS(8, 1, blocks_tried, TJ_PARAM_HINT),
    TJ_TILE_ROWS,
};

static const char *const constraints[] = {
    "M is f16 or bf16 along k, N holds weights of 8 or 4 bits along k; P is row-major",
    "TM is 8, 16, 24 or 32; TN is a multiple of 16",
    "SLICES is a power of 2",
    "lines of N begin at multiples of WIDTH bytes, those of M of 16",
    "four runs of WIDTH bytes of weights divide k and, unless scales are multiplied by weights, a part with scales",
    "e2m1 by bf16: scales of e8m0 and e4m3 along k are multiplied by the weights of a lane, which divide such a part",
    "two units of M of each warp fit the 227 KiB of shared memory that a block may have, and so do the sums of 8 rows",
    TJ_SPLITS_CONSTRAINT,
    NULL,
};

static int32_t run_of(const tj_problem *view, int32_t width)
{
    return width * tj_type_numbers(view->n.type);
}

tj_thin_shape tj_thin_shape_of(const tj_problem *view, const tj_config *config)
{
    const int32_t *const v = config->value;
    tj_thin_shape s = {v[TM], v[TN], v[SLICES], v[WIDTH], v[AHEAD], v[SPLITS], v[BLOCKS], 0, 0, 0, 0};

    s.run = run_of(view, s.width);
    s.unit = LANES_OF_UNIT * s.run;
    s.phase = s.slices * s.unit;
    s.threads = WARP * s.slices;
    return s;
}

static tj_tile tile(const tj_problem *problem, const tj_config *config)
{
    const tj_thin_shape s = tj_thin_shape_of(problem, config);

    return (tj_tile){s.tm, s.phase, s.tn, "TM", "PHASE", "BLOCK_COLS"};
}

bool tj_thin_has_powers(const tj_problem *view)
{
    return tj_thin_folds(view) && tj_is_repacked(view, TJ_MATRIX_N);
}

bool tj_thin_folds(const tj_problem *view)
{
    const tj_scale *const scale = tj_scale_of(view, TJ_MATRIX_N);

    return view->n.type == TJ_E2M1 && view->m.type == TJ_BF16 && scale->k > 0 &&
           (scale->type == TJ_E8M0 || (scale->type == TJ_E4M3 && !tj_is_repacked(view, TJ_MATRIX_N)));
}

static bool adds_parts(const tj_problem *view)
{
    return tj_scales_along_k(view, TJ_MATRIX_N) && !tj_thin_folds(view);
}

/* Scales of parts of weights, however they lie, and zero points that widening takes off. */
static bool takes_scales(const tj_problem *view)
{
    const tj_scale *const m = tj_scale_of(view, TJ_MATRIX_M), *const n = tj_scale_of(view, TJ_MATRIX_N);

    if (m->k > 0 || m->rows > 1 || m->zero != 0 || !tj_is_weights(view, TJ_MATRIX_N))
        return false;
    if (n->k == 0 && (n->rows > 1 || n->zero != 0))
        return false;
    return n->zero == 0 || (n->rows == 1 && tj_widening_takes_zero(view, n->zero));
}

/* ---- checks ------------------------------------------------------------------------------------------------------- */

static tj_status check_problem(const tj_problem *view, tj_error *err)
{
    const bool halves = view->m.type == TJ_F16 || view->m.type == TJ_BF16;

    if (!halves || !tj_is_weights(view, TJ_MATRIX_N))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "family thin multiplies f16 or bf16 by weights of 8 or 4 bits, which N of a row-major P holds, and M is "
                       "%s, N %s: use family mma",
                       tj_facts_of(view->m.type)->name, tj_facts_of(view->n.type)->name);
    if (view->m.layout != TJ_ROW_MAJOR || view->n.layout != TJ_COL_MAJOR)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s lies across k, and family thin reads both along k: use family mma",
                       view->m.layout != TJ_ROW_MAJOR ? "M" : "N");
    if (!tj_access_lines_begin_at(view, TJ_MATRIX_M, WIDEST / tj_facts_of(view->m.type)->bytes))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "family thin reads M by 16 bytes, and its lines do not begin at multiples of them: use a leading "
                       "dimension and a stride that are multiples of 8, or family mma");
    return TJ_OK;
}

static bool divides(int32_t unit, const tj_dim *dim)
{
    return (dim->mode == TJ_DIM_FIXED ? dim->extent : dim->multiple_of) % unit == 0 &&
           (dim->mode == TJ_DIM_FIXED || dim->multiple_of > 0);
}

/* Why loads of so many bytes do not suit the problem: TJ_ERR_INVALID_ARGUMENT. */
static tj_status check_width(const tj_problem *view, int32_t width, tj_error *err)
{
    const int32_t run = run_of(view, width), unit = LANES_OF_UNIT * run, part = tj_scale_k(view);
    const bool folds = tj_thin_folds(view);

    if (!tj_is_power_of_2(width) || run < LEAST_RUN)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "width is %d: it must be %s", width,
                       tj_type_is_pair(view->n.type) ? "4, 8 or 16" : "8 or 16");
    if (tj_is_repacked(view, TJ_MATRIX_N) && run != TJ_REPACKED_BLOCK)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "width is %d, and a lane loads whole blocks of repacked weights: use width=%d, or family mma", width,
                       WIDEST);
    if (!tj_access_lines_begin_at(view, TJ_MATRIX_N, width))
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "width is %d, and lines of N do not begin at multiples of so many bytes: use a smaller width, or family mma",
            width);
    if (!divides(unit, &view->k))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "width=%d takes %d elements of k at a time, which must divide k: use a smaller width, or family mma",
                       width, unit);
    if (part % (folds ? run : unit) != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "width=%d takes %d elements of k with one scale, and scale_k is %d: use a smaller width, or family mma",
                       width, folds ? run : unit, part);
    return TJ_OK;
}

/* The units of M of all slices or, after them, the sums of all slices. */
static int64_t shared_bytes(const tj_problem *view, const tj_thin_shape *s)
{
    const int64_t m = (int64_t)s->slices * STAGES * s->tm * s->unit * tj_facts_of(view->m.type)->bytes;
    const int64_t sums = (int64_t)s->slices * TJ_THIN_ROWS * s->tn * tj_sum_bytes(view);

    return m > sums ? m : sums;
}

/* The epilogue's values of the rows that are finished at once, if it reduces them. */
static int64_t kept_bytes(const tj_problem *view, const tj_thin_shape *s)
{
    return tj_reductions_of(view) * (int64_t)TJ_THIN_ROWS * s->tn * (int64_t)tj_type_bytes(tj_scalar_type(view));
}

static tj_reduction_slots slots_of(const tj_problem *view, const tj_thin_shape *s)
{
    return (tj_reduction_slots){
        .of_row = tj_ceil_div(view->l.extent, s->tn),
        .of_col = tj_ceil_div(view->j.extent, s->tm) * (s->tm / TJ_THIN_ROWS),
    };
}

int32_t tj_thin_registers(const tj_problem *view, const tj_thin_shape *s)
{
    const int32_t columns = s->tn / 8, rows = s->tm / TJ_THIN_ROWS;
    const int32_t of_columns = (tj_scales_along_k(view, TJ_MATRIX_N) ? s->ahead : 0) +
                               (tj_scale_of(view, TJ_MATRIX_N)->zero ? s->ahead + 1 : 0) + (tj_thin_folds(view) ? 2 : 0);
    const int32_t sums = s->tn / TJ_THIN_COLS * rows * 4;

    return s->ahead * columns * s->width / 4 + columns * of_columns + 8 * rows + sums * (adds_parts(view) ? 2 : 1);
}

static tj_status check_shape(const tj_problem *view, const tj_thin_shape *s, tj_error *err)
{
    const tj_reduction_slots slots = slots_of(view, s);
    const int32_t needed = tj_thin_registers(view, s) + TJ_THIN_OTHER_REGISTERS,
                  left = tj_registers_left(s->blocks, s->threads);
    const int64_t bytes = shared_bytes(view, s) + kept_bytes(view, s);
    tj_status status = check_width(view, s->width, err);

    if (status != TJ_OK)
        return status;
    if (s->tm % TJ_THIN_ROWS != 0 || s->tn % TJ_THIN_COLS != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "tm is %d and tn %d: they must be multiples of %d and of %d", s->tm, s->tn,
                       TJ_THIN_ROWS, TJ_THIN_COLS);
    if (!tj_is_power_of_2(s->slices))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "slices is %d: it must be a power of 2", s->slices);
    if (bytes > MAX_SHARED)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%d slices of %d rows and %d columns need %lld bytes of shared memory: 227 KiB is the most", s->slices,
                       s->tm, s->tn, (long long)bytes);
    if (needed > left)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%d blocks of %d threads leave each thread %d registers, and %d x %d of P with ahead=%d take %d: use "
                       "smaller ones, or fewer blocks",
                       s->blocks, s->threads, left, s->tm, s->tn, s->ahead, needed);
    status = tj_split_check(view, s->splits, err);
    return status == TJ_OK ? tj_reductions_check(view, &slots, err) : status;
}

static tj_status resolve(const tj_problem *view, bool is_swapped, tj_config *config, tj_error *err)
{
    int32_t *const v = config->value;
    tj_status status = check_problem(view, err);
    tj_thin_shape s;

    if (status != TJ_OK)
        return status;
    if (v[TM] == 0)
        v[TM] = view->j.mode == TJ_DIM_FIXED && view->j.extent <= TJ_THIN_ROWS ? TJ_THIN_ROWS : 2 * TJ_THIN_ROWS;
    if (v[TN] == 0)
        v[TN] = 2 * TJ_THIN_COLS;
    if (v[WIDTH] == 0)
        for (v[WIDTH] = WIDEST; run_of(view, v[WIDTH]) > LEAST_RUN && check_width(view, v[WIDTH], NULL) != TJ_OK;)
            v[WIDTH] /= 2;
    s = tj_thin_shape_of(view, config);
    status = check_shape(view, &s, err);
    return status == TJ_OK ? tj_tile_resolve(view, is_swapped, config, err) : status;
}

/* Halve the blocks or, if there is one, the loads under way and then the columns of a warp. */
static bool relax(tj_config *config)
{
    int32_t *const v = config->value;

    if (tj_relax_blocks(config))
        return true;
    if (v[AHEAD] == 1 && v[TN] == TJ_THIN_COLS)
        return false;
    v[v[AHEAD] > 1 ? AHEAD : TN] /= 2;
    v[TN] -= v[TN] % TJ_THIN_COLS;
    return true;
}

/* Lanes read by several bytes: it cannot do without. */
static bool for_any_operands(bool has_workspace, tj_config *config)
{
    (void)has_workspace;
    (void)config;
    return false;
}

/* ---- tuning ------------------------------------------------------------------------------------------------------- */

static bool is_hopeless(const tj_problem *view, const tj_config *config, size_t known)
{
    const tj_thin_shape s = tj_thin_shape_of(view, config);
    const int64_t tiles =
        tj_ceil_div(view->j.extent, s.tm > 0 ? s.tm : 1) * tj_ceil_div(view->l.extent, s.tn > 0 ? s.tn : 1) * view->batch;

    return check_problem(view, NULL) != TJ_OK || view->j.extent > MOST_ROWS ||
           (known > TM && s.tm > TJ_THIN_ROWS && s.tm - TJ_THIN_ROWS >= view->j.extent) ||
           (known > TN && s.tn > TJ_THIN_COLS && s.tn / 2 >= view->l.extent) ||
           (known > WIDTH && check_width(view, s.width, NULL) != TJ_OK) || (known > WIDTH && s.phase > view->k.extent) ||
           (known > SPLITS && s.splits > 1 && (tiles * s.splits > FULL_GPU || view->k.extent < (int64_t)s.splits * s.phase)) ||
           (known > BLOCKS && check_shape(view, &s, NULL) != TJ_OK);
}

static bool is_worth_trying(const tj_problem *view, const tj_config *config)
{
    const tj_thin_shape s = tj_thin_shape_of(view, config);

    return !is_hopeless(view, config, TJ_CONFIG_MAX_PARAMS) && s.threads >= 2 * WARP && s.threads <= MOST_THREADS / 2 &&
           s.blocks * s.threads <= MOST_THREADS && (s.blocks == 1 || tj_limits_registers(s.blocks, s.threads));
}

/* ---- source ------------------------------------------------------------------------------------------------------- */

/* Describe how weights become factors of tensor cores, with their scales or less their zero points. */
static void describe_weights(const tj_problem *view, const tj_thin_shape *s, tj_template_params *fill)
{
    const bool powers = tj_thin_has_powers(view), by_table = tj_thin_folds(view) && !powers,
               pairs = tj_type_is_pair(view->n.type), adds = tj_widening_adds(view) != 0,
               has_zeros = tj_scale_of(view, TJ_MATRIX_N)->zero != 0, repacked = tj_is_repacked(view, TJ_MATRIX_N);

    tj_widen_describe(view, (tj_widen_copies){false, false, false}, false, fill);
    tj_template_set(fill, "load_units", "");
    tj_template_set(fill, "widen_unit", repacked ? "" : "weights/pair_up.cuh");
    tj_template_set(fill, "weights_lie", repacked ? "weights/repacked.cuh" : "weights/run.cuh");
    tj_template_set(fill, "WEIGHTS_CHUNK", "");
    tj_template_set(fill, "NEIGHBOURS", pairs ? "4" : "2");
    tj_template_set(fill, "of_a_unit", "a word");
    tj_template_set(fill, "WORDS", pairs ? "1" : "2");
    tj_template_set(fill, "both", !has_zeros ? "" : view->m.type == TJ_F16 ? "weights/both_f16.cuh" : "weights/both_bf16.cuh");
    tj_template_set(fill, "widen_less", has_zeros && !adds ? "weights/widen_less.cuh" : "");
    tj_template_set(fill, "word_less",
                    repacked    ? has_zeros ? "eight, less[2 * c + half])" : "eight)"
                    : has_zeros ? "NEIGHBOURS, less[2 * c + half])"
                                : "NEIGHBOURS)");
    tj_template_set_int(fill, "without_zero", tj_widening_adds(view));
    tj_template_set(fill, "stored_weights",
                    powers     ? "weights/repacked_in_bf16.cuh"
                    : by_table ? "weights/scaled_by_table.cuh"
                               : "parts/weights.cuh");
    tj_template_set(fill, "m_pair", by_table || repacked ? "run.element[pair]" : "pair_up(run, pair)");
    tj_template_set(fill, "scale_twice",
                    tj_scale_of(view, TJ_MATRIX_N)->type == TJ_E8M0 ? "weights/twice_e8m0.cuh" : "weights/twice_e4m3.cuh");
    tj_template_set(fill, "widened",
                    by_table   ? "thin/widen_by_table.cuh"
                    : repacked ? "thin/widen_repacked.cuh"
                               : "thin/widen.cuh");
    tj_template_set(fill, "multiplied", powers ? "thin/multiply_by_powers.cuh" : "");
    tj_template_set(fill, "taken",
                    powers      ? "thin/take_powers.cuh"
                    : by_table  ? "thin/take_scales.cuh"
                    : has_zeros ? "thin/take_zeros.cuh"
                                : "");
    tj_template_set(fill, "sum_of_lane",
                    powers     ? "8 * sum[c][top / 8][i]"
                    : by_table ? "TABLE_SUM * sum[c][top / 8][i]"
                               : "sum[c][top / 8][i]");
    tj_template_set(fill, "n_k", pairs ? "kk / 2" : "kk");
    tj_template_set(fill, "n_phase", pairs ? "PHASE / 2" : "PHASE");
    tj_template_set_int(fill, "RUN", s->run);
    tj_template_set_int(fill, "RUN_WORDS", s->width / 4);
}

/* Describe how a lane reads the scales of its runs, and their zero points. */
static void describe_scales(const tj_problem *view, tj_template_params *fill)
{
    const tj_scale *const scale = tj_scale_of(view, TJ_MATRIX_N);
    char part[TJ_TEMPLATE_NAME_BYTES], read[TJ_TEMPLATE_VALUE_BYTES];
    const bool scales = tj_scales_along_k(view, TJ_MATRIX_N);

    tj_template_set_flag(fill, "adds_parts", adds_parts(view));
    tj_template_set(fill, "products", adds_parts(view) ? "part" : "sum");
    tj_template_set_flag(fill, "has_zeros", scale->zero != 0);
    if (!scales)
        return;
    (void)snprintf(part, sizeof part, tj_scales_are_plain(view) ? "kk / SCALE_K" : "kk / %d", scale->k);
    tj_scales_print_read(view, TJ_MATRIX_N, part, "col", read);
    tj_template_set(fill, "n_scale_at", read);
    tj_template_set(fill, "n_scale_t", tj_facts_of(scale->type)->cuda);
    if (scale->zero == 0)
        return;
    tj_scales_print_read(view, TJ_SCALED + TJ_MATRIX_N, part, "col", read);
    tj_template_set(fill, "n_zero_at", read);
}

/* Describe the product of the tensor cores, whose first factor are columns of N. */
static void describe_product(const tj_problem *view, tj_template_params *fill)
{
    const char *const type = tj_facts_of(view->m.type)->name;

    tj_template_set(fill, "multiply_add", "parts/multiply_add.cuh");
    tj_template_set(fill, "mma_shape", "m16n8k16");
    tj_template_set(fill, "mma_m", type);
    tj_template_set(fill, "mma_n", type);
    tj_template_set(fill, "load_matrices", "");
    tj_template_set(fill, "load_transposed", "");
    tj_template_set(fill, "load_bytes", "");
    tj_template_set(fill, "fragments", "");
    tj_template_set(fill, "chunk", "16 bytes");
    tj_template_set(fill, "chunk_part", "4 bytes numbered t");
    tj_template_set(fill, "fragment_t", "unsigned int");
}

static const char *describe(const tj_problem *view, const tj_config *config, tj_template_params *fill, tj_launch_form *form)
{
    const tj_thin_shape s = tj_thin_shape_of(view, config);
    const tj_reduction_slots slots = slots_of(view, &s);
    const bool rows_on_x = config->value[ROWS] == TJ_ROWS_ON_X;

    tj_split_describe_elements(view, s.splits, "thread", fill);
    tj_split_describe(view, s.splits, fill, form);
    tj_reductions_describe(view, &slots, fill, form);
    tj_step_describe_order(view, fill, form);
    tj_scales_describe(view, TJ_SCALES_IN_TURN, s.splits, fill);
    form->needs |= TJ_FEATURE_CP_ASYNC | (view->m.type == TJ_F16 ? TJ_FEATURE_MMA_F16 : TJ_FEATURE_MMA_BF16);
    form->align[form->is_swapped ? TJ_MATRIX_N : TJ_MATRIX_M] = WIDEST;
    form->align[form->is_swapped ? TJ_MATRIX_M : TJ_MATRIX_N] = s.width;
    tj_step_set_blocks(&form->step[0], s.threads, s.tm, s.tn);
    form->step[0].rows_on_x = rows_on_x;
    form->step[0].dynamic_shared_bytes = shared_bytes(view, &s);
    form->step[0].static_shared_bytes = kept_bytes(view, &s);
    if (!fill)
        return NULL;
    tj_template_set_int(fill, "TM", s.tm);
    tj_template_set_int(fill, "TN", s.tn);
    tj_template_set_int(fill, "SLICES", s.slices);
    tj_template_set_int(fill, "AHEAD", s.ahead);
    tj_template_set_int(fill, "BLOCKS", s.blocks);
    tj_template_set(fill, "first_unit", s.splits > 1 ? "k_begin / UNIT + slice" : "slice");
    tj_template_set(fill, "blocks_on_x", rows_on_x ? "ceil(j / TM)" : "ceil(l / BLOCK_COLS)");
    tj_template_set(fill, "blocks_on_y", rows_on_x ? "ceil(l / BLOCK_COLS)" : "ceil(j / TM)");
    describe_product(view, fill);
    describe_weights(view, &s, fill);
    describe_scales(view, fill);
    return "thin/thin.cu";
}

const tj_family tj_family_thin = {
    .name = "thin",
    .summary = "P has few rows, N weights of 8 or 4 bits: they stream into registers of lanes, and tensor cores multiply",
    .takes_weights = true,
    .takes_pairs = TJ_PAIRS_OF_WEIGHTS,
    .takes_repacked = true,
    .param = params,
    .param_count = sizeof params / sizeof params[0],
    .constraint = constraints,
    .start = &tj_thin_start,
    .sums_in_registers = true,
    .scales_along_k = true,
    .takes_scales = takes_scales,
    .model = &tj_model_thin,
    .reduces = TJ_REDUCES_BY_ROWS,
    .checks_k = false,
    .widest = 8192,
    .tile = tile,
    .resolve = resolve,
    .relax = relax,
    .for_tall = tj_tile_for_tall,
    .for_any_operands = for_any_operands,
    .describe = describe,
    .count = tj_thin_count,
    .is_worth_trying = is_worth_trying,
    .is_hopeless = is_hopeless,
};
