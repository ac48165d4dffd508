/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strip: P has at most 16 columns (or rows), so the time is that of reading M (or N) once. Each warp copies and multiplies its
 * own part of that matrix, or one warp has the copy engine (TMA) copy boxes of it for the others.
 *
 * The source always has few columns: if P has few rows, it computes the transpose. Its M is the long matrix.
 */
#include "form.h"

#include "checked.h"
#include "error.h"
#include "parts/access.h"
#include "parts/maps.h"
#include "parts/reductions.h"
#include "parts/registers.h"
#include "parts/scales.h"
#include "parts/split.h"
#include "parts/tile.h"
#include "steps.h"

enum {
    MOST_COLS = 16,
    MOST_SUM_BYTES = 512,  /* of a thread: they stay in registers */
    BOXES_SUM_BYTES = 384, /* limit of the default */
    MAX_SHARED = 227 * 1024,
    MULTIPROCESSOR_SHARED = 228 * 1024,
    RESERVED_SHARED = 1024, /* reserved by CUDA in each block */
    MOST_AHEAD = 8192,      /* elements along k that the pipeline of a block's warps covers */
    SMS = 132,              /* of a large GPU, whose resident blocks the default fills */
    SM_WARPS = 16,          /* that a multiprocessor holds, with 128 registers a thread */
    BOX_SIDE = 256,         /* the largest side of a box, in elements */
    MOST_STAGES = 8,
    BOXES_LANES = TJ_STRIP_WARP / TJ_STRIP_LINE_CHUNKS, /* besides those along k, which read 128 bytes of a row at once */
    BOX_ALIGNMENT = 1024,                               /* of swizzled tiles */
    BARRIER_BYTES = 8
};

static const int32_t rows_tried[] = {4, 5, 7, 8, 10, 0}, row_lanes_tried[] = {1, 2, 4, 8, 0}, col_lanes_tried[] = {1, 2, 4, 0},
                     steps_tried[] = {1, 2, 4, 0}, warps_tried[] = {1, 2, 4, 8, 0}, stages_tried[] = {2, 3, 4, 5, 6, 8, 0},
                     blocks_tried[] = {1, 2, 4, 0};

static const char *const copies_choices[] = {"lanes", "boxes", NULL};

enum { TM, TN, ROW_LANES, COL_LANES, STEPS, WARPS, STAGES, SPLITS, BLOCKS, COPIES, ROWS }; /* in this order: */

static const tj_param params[] = {
    {"tm", "rows of P that a thread computes (columns, where P has few rows)", 1, 32, 0, NULL, rows_tried},
    {"tn", "columns of P that a thread computes (rows, where P has few)", 1, 16, 0, NULL},
    {"row_lanes", "lanes of a warp along the rows that TM counts: a power of 2", 1, 32, 0, NULL, row_lanes_tried},
    {"col_lanes", "lanes of a warp along the columns that TN counts: a power of 2", 1, 8, 0, NULL, col_lanes_tried},
    {"steps", "loads of 16 bytes along k of a lane in a phase: a power of 2", 1, 16, 0, NULL, steps_tried},
    {"warps", "warps of a block that multiply", 1, 16, 4, NULL, warps_tried},
    {"stages", "phases whose tiles shared memory holds: by default 3, of boxes as many as fit half of a multiprocessor's", 2,
     MOST_STAGES, 0, NULL, stages_tried, TJ_PARAM_ORDER},
    TJ_SPLITS(0, NULL),
    TJ_BLOCKS(8, 1, blocks_tried, TJ_PARAM_ORDER),
    {"copies",
     "what brings M and N: lanes, those of each warp for phases of its own; or the copy engine, boxes for all warps of a "
     "block, "
     "of which there is one more then",
     1, 2, TJ_STRIP_LANES, copies_choices},
    TJ_TILE_ROWS,
};

static const char *const constraints[] = {
    "M, N and P are f32, f64, f16, bf16, c64 or c128",
    "P has at most 16 columns, M is row-major, and the rows of N follow each other without a gap",
    "or P has at most 16 rows, N is column-major, and the columns of M follow each other without a gap",
    "k is a multiple of 16 bytes, and so are the leading dimensions and strides that are not those of N (or M) alone",
    "TN * COL_LANES is that number of columns; with several COL_LANES, TN is a multiple of 16 bytes",
    "ROW_LANES, COL_LANES and STEPS are powers of 2, ROW_LANES * COL_LANES divides 32 lanes, the others stand along k",
    "a phase has at least 128 bytes of a row: STEPS * 32 / (ROW_LANES * COL_LANES) >= 8",
    "TM * TN <= 128 sums of 4 bytes, 64 of 8 or 32 of 16: they stay in registers",
    "the stages of all warps fit 227 KiB of shared memory, and are at most 8 192 elements along k",
    "copies=boxes: sm_90; M and N are neither c128 nor arrays of pointers, and the number of columns is even",
    "copies=boxes: a phase has at most 256 elements, and a block 256 rows",
    "copies=boxes: ROW_LANES * COL_LANES <= 4: lanes along k read 128 bytes of a row",
    TJ_SPLITS_CONSTRAINT,
    NULL,
};

static int32_t vector_of(const tj_problem *view)
{
    return TJ_STRIP_CHUNK / tj_facts_of(view->m.type)->bytes;
}

/* ---- which problems ----------------------------------------------------------------------------------------------- */

static bool has_few_columns(const tj_problem *view)
{
    return view->l.mode == TJ_DIM_FIXED && view->l.extent <= MOST_COLS;
}

static bool is_without_gaps(const tj_problem *view)
{
    return view->n.layout == TJ_ROW_MAJOR && tj_matrix_has_no_gaps(view, TJ_MATRIX_N);
}

static bool fits(const tj_problem *view)
{
    return has_few_columns(view) && view->m.layout == TJ_ROW_MAJOR && is_without_gaps(view);
}

static bool is_swapped(const tj_problem *problem, const tj_config *config)
{
    const tj_problem other = tj_problem_transpose(problem);

    (void)config;
    return !fits(problem) && (fits(&other) || (!has_few_columns(problem) && has_few_columns(&other)));
}

/* Does the N of every product begin at a multiple of 16 bytes? Its rows need not. */
static bool begins_at_chunks(const tj_problem *view)
{
    const int64_t stride = view->n.stride;

    if (view->batch == 1 && !tj_stride_is_pointers(stride))
        return true;
    return stride == TJ_TIGHT || stride == TJ_BROADCAST || stride == TJ_POINTERS_16 ||
           (stride > 0 && stride % vector_of(view) == 0);
}

static tj_status check_problem(const tj_problem *view, bool is_swapped, tj_error *err)
{
    const char m = is_swapped ? 'N' : 'M', n = is_swapped ? 'M' : 'N', l = is_swapped ? 'j' : 'l';
    const int32_t vector = vector_of(view);

    if (view->l.mode != TJ_DIM_FIXED)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "neither j nor l is fixed at 16 or less, and family strip is for such: fix it, or use another family");
    if (view->l.extent > MOST_COLS)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%c is %lld, and family strip is for a j or l of %d at most: use another family", l,
                       (long long)view->l.extent, MOST_COLS);
    if (view->m.layout != TJ_ROW_MAJOR)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%c is %s-major, and family strip reads its lines along k: use a %s-major %c, or another family", m,
                       is_swapped ? "row" : "column", is_swapped ? "column" : "row", m);
    if (!is_without_gaps(view))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "the %s of %c do not follow each other without a gap: family strip needs a %s-major %c with the leading "
                       "dimension %lld; or use another family",
                       is_swapped ? "columns" : "rows", n, is_swapped ? "column" : "row", n, (long long)view->l.extent);
    if (view->k.mode == TJ_DIM_FIXED && view->k.extent == 0)
        return TJ_OK; /* nothing is copied */
    if (tj_access_widest(view, TJ_MATRIX_M, vector) != vector)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "the lines of %c are aligned to %d elements only, and family strip copies %d: make k, its leading "
                       "dimension and its stride multiples of %d, or use another family",
                       m, tj_access_widest(view, TJ_MATRIX_M, vector), vector, vector);
    if (!begins_at_chunks(view))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "the products of %c may begin anywhere, and family strip copies %d elements: give it a stride that is a "
                       "multiple of %d, or use another family",
                       n, vector, vector);
    return TJ_OK;
}

/* ---- geometry ----------------------------------------------------------------------------------------------------- */

tj_strip_shape tj_strip_shape_of(const tj_problem *view, const tj_config *config)
{
    const int32_t *const v = config->value;
    const bool boxes = v[COPIES] == TJ_STRIP_BOXES;
    tj_strip_shape s = {v[TM],    v[TN],     v[ROW_LANES], v[COL_LANES],    v[STEPS],
                        v[WARPS], v[STAGES], v[SPLITS],    vector_of(view), TJ_STRIP_WARP / (v[ROW_LANES] * v[COL_LANES])};

    s.rows = s.row_lanes * s.tm;
    s.cols = s.col_lanes * s.tn;
    s.chunks = s.steps * s.k_lanes * (boxes ? s.warps : 1);
    s.turn = s.steps * s.k_lanes * s.warps * s.vector;
    s.pitch = s.cols | 1;
    s.boxes = boxes ? (int32_t)tj_ceil_div(s.cols, TJ_STRIP_LINE_CHUNKS) : 0;
    s.threads = (s.warps + boxes) * TJ_STRIP_WARP;
    s.share = s.k_lanes > 0 ? (s.tm * s.tn + s.k_lanes - 1) / s.k_lanes : 0;
    s.sum_bytes = tj_sum_bytes(view);
    return s;
}

static int64_t round_up(int64_t bytes, int64_t to)
{
    return tj_ceil_div(bytes, to) * to;
}

/* As shared_t of boxes.cu. */
static int64_t shared_of_boxes(const tj_strip_shape *s, int64_t sums)
{
    const int64_t lines = s->rows + s->boxes * TJ_STRIP_LINE_CHUNKS, phase = lines * s->chunks * TJ_STRIP_CHUNK;

    return round_up(s->stages * (round_up(phase, BOX_ALIGNMENT) + 2 * BARRIER_BYTES) + s->warps * sums, BOX_ALIGNMENT);
}

int64_t tj_strip_rings_bytes(const tj_strip_shape *s)
{
    const int64_t tiles = (int64_t)s->stages * s->chunks * (s->rows + s->pitch) * TJ_STRIP_CHUNK;
    const int64_t sums = (int64_t)s->share * (TJ_STRIP_WARP + 1) * s->sum_bytes;

    if (s->boxes > 0)
        return shared_of_boxes(s, sums);
    return s->warps * (tiles > sums ? tiles : round_up(sums, TJ_STRIP_CHUNK));
}

int32_t tj_strip_place_of(const tj_strip_shape *s, int32_t row, int32_t chunk)
{
    const int32_t together = s->k_lanes < TJ_STRIP_LINE_CHUNKS ? TJ_STRIP_LINE_CHUNKS / s->k_lanes : 1;

    return chunk ^ row % s->row_lanes % together * s->k_lanes;
}

int64_t tj_strip_n_place(const tj_strip_shape *s, int32_t line, int32_t chunk)
{
    const int32_t box = chunk / TJ_STRIP_LINE_CHUNKS, place = chunk % TJ_STRIP_LINE_CHUNKS ^ line % TJ_STRIP_LINE_CHUNKS;

    return s->boxes > 0 ? (int64_t)(box * s->chunks + line) * TJ_STRIP_LINE_CHUNKS + place : (int64_t)line * s->pitch + chunk;
}

static tj_tile tile(const tj_problem *problem, const tj_config *config)
{
    const tj_strip_shape s = tj_strip_shape_of(problem, config);

    return (tj_tile){s.rows, s.chunks * s.vector, s.cols, "BLOCK_ROWS", "PHASE", "COLS"};
}

/* If the epilogue reduces P, its values of a block's elements follow the pipeline's stages. */
static int64_t shared_bytes(const tj_problem *view, const tj_strip_shape *s)
{
    return tj_strip_rings_bytes(s) +
           (int64_t)tj_reductions_of(view) * s->rows * s->cols * (int64_t)tj_type_bytes(tj_scalar_type(view));
}

static tj_reduction_slots slots_of(const tj_problem *view, const tj_strip_shape *s)
{
    return (tj_reduction_slots){.of_row = 1, .of_col = tj_ceil_div(view->j.extent, s->rows)};
}

/* ---- parameters settled by the problem ---------------------------------------------------------------------------- */

static void settle(int32_t *value, int32_t choice)
{
    if (*value == 0)
        *value = choice;
}

/* Fill a large GPU with resident blocks, as long as every warp of a split has a phase. */
static int32_t default_splits(const tj_problem *view, const tj_strip_shape *s, int32_t blocks)
{
    const int64_t k = view->k.mode == TJ_DIM_FIXED ? view->k.extent : 4096;
    const int64_t turns = tj_ceil_div(k, s->turn);
    int64_t splits;

    if (!tj_split_is_possible(view))
        return 1;
    splits = (int64_t)SMS * blocks / (tj_ceil_div(view->j.extent, s->rows) * view->batch);
    splits = splits < turns ? splits : turns;
    return splits < 1 ? 1 : splits < TJ_MAX_SPLITS ? (int32_t)splits : TJ_MAX_SPLITS;
}

static bool has_few_rows(const tj_problem *view)
{
    return view->j.mode == TJ_DIM_FIXED && view->j.extent <= MOST_COLS;
}

static int32_t default_col_lanes(const tj_problem *view, const int32_t *v)
{
    const int32_t l = (int32_t)view->l.extent;

    return v[TN] > 0 && l % v[TN] == 0 ? l / v[TN] : v[TN] == 0 && l % (2 * vector_of(view)) == 0 ? 2 : 1;
}

/*
 * Settle the arrangement of lanes. A config that leaves everything open gets the fastest one for long strips of 16 columns, and
 * for a tiny P.
 */
static void settle_lanes(const tj_problem *view, int32_t *v)
{
    const int32_t l = (int32_t)view->l.extent;

    settle(&v[COL_LANES], default_col_lanes(view, v));
    settle(&v[TN], l / v[COL_LANES] > 0 ? l / v[COL_LANES] : 1);
    settle(&v[ROW_LANES], has_few_rows(view) ? 2 : v[COL_LANES] > 2 ? 4 : 8);
    settle(&v[TM], has_few_rows(view) ? (int32_t)tj_ceil_div(view->j.extent, v[ROW_LANES])
                                      : 20 / tj_sum_bytes(view) + (v[TN] < 8 ? 2 : 0));
}

/* With boxes a block is alone on its multiprocessor: choose rows that make whole waves of blocks. */
static void settle_boxes(const tj_problem *view, int32_t *v)
{
    const int32_t l = (int32_t)view->l.extent;
    int32_t most;

    settle(&v[COL_LANES], default_col_lanes(view, v));
    settle(&v[TN], l / v[COL_LANES] > 0 ? l / v[COL_LANES] : 1);
    settle(&v[ROW_LANES], v[COL_LANES] < BOXES_LANES ? BOXES_LANES / v[COL_LANES] : 1);
    most = BOXES_SUM_BYTES / tj_sum_bytes(view) / v[TN];
    if (v[TM] == 0 && view->j.mode == TJ_DIM_FIXED && view->j.extent > 0) {
        const int64_t sets = tj_ceil_div(view->j.extent, v[ROW_LANES]), /* of rows of all row_lanes */
            waves = tj_ceil_div(sets, (int64_t)SMS * (most > 0 ? most : 1));

        v[TM] = (int32_t)(has_few_rows(view) ? tj_least((int32_t)sets, most) : tj_ceil_div(sets, SMS * waves));
    }
    settle(&v[TM], most > 0 ? most : 1);
}

static tj_status check_lanes(const tj_problem *view, const int32_t *v, tj_error *err)
{
    if (!tj_is_power_of_2(v[ROW_LANES]) || !tj_is_power_of_2(v[COL_LANES]) || v[ROW_LANES] * v[COL_LANES] > TJ_STRIP_WARP)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "row_lanes is %d and col_lanes %d: both must be powers of 2, and their product 32 at most", v[ROW_LANES],
                       v[COL_LANES]);
    if (v[TN] * v[COL_LANES] != view->l.extent)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "tn %d x col_lanes %d makes %d columns, and P has %lld: use tn=%lld,col_lanes=1", v[TN], v[COL_LANES],
                       v[TN] * v[COL_LANES], (long long)view->l.extent, (long long)view->l.extent);
    if (v[COL_LANES] > 1 && v[TN] % vector_of(view) != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "tn is %d, and with several col_lanes it must be a multiple of %d: use tn=%lld,col_lanes=1", v[TN],
                       vector_of(view), (long long)view->l.extent);
    return TJ_OK;
}

/* Check the limits of tensor maps and their boxes. */
static tj_status check_boxes(const tj_problem *view, bool is_swapped, const tj_strip_shape *s, tj_error *err)
{
    if (view->m.type == TJ_C128)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "copies=boxes takes M and N by tensor maps, whose elements have 8 bytes at most, and they are c128: use "
                       "copies=lanes");
    for (int i = 0; i < 2; i++) {
        const tj_matrix *const x = i == 0 ? &view->m : &view->n;
        const char letter = (i == 0) != is_swapped ? 'M' : 'N';

        if (tj_stride_is_pointers(x->stride))
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                           "copies=boxes takes %c by a tensor map, which arrays of pointers do not have: use copies=lanes",
                           letter);
        if (x->ld == TJ_ANY || (view->batch != 1 && x->stride == TJ_ANY)) /* only where k is 0: lines would begin anywhere */
            return tj_fail(
                err, TJ_ERR_INVALID_ARGUMENT,
                "copies=boxes takes %c by a tensor map, and its leading dimension or stride is left to the launch: fix "
                "it, or use copies=lanes",
                letter);
    }
    if (s->cols % 2 != 0)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "%c is %d, and copies=boxes takes an even one: else every other line of a box of %c begins within a sector "
            "of memory, which is slow; use copies=lanes",
            is_swapped ? 'j' : 'l', s->cols, is_swapped ? 'M' : 'N');
    if (s->row_lanes * s->col_lanes > BOXES_LANES)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "row_lanes is %d and col_lanes %d, and with copies=boxes their product is %d at most: the lanes along k "
                       "read %d bytes of a row at once",
                       s->row_lanes, s->col_lanes, TJ_STRIP_WARP / TJ_STRIP_LINE_CHUNKS, TJ_STRIP_LINE_CHUNKS * TJ_STRIP_CHUNK);
    if (s->turn > BOX_SIDE)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "%d warps of %d steps multiply %d elements along k in a phase, and a box has at most %d: use fewer warps "
            "or steps",
            s->warps, s->steps, s->turn, BOX_SIDE);
    if (s->rows > BOX_SIDE)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "tm %d x row_lanes %d makes %d rows, and a box has at most %d: use a lower tm", s->tm, s->row_lanes,
                       s->rows, BOX_SIDE);
    return TJ_OK;
}

static tj_status check_shape(const tj_problem *view, const tj_strip_shape *s, tj_error *err)
{
    const int32_t most_sums = MOST_SUM_BYTES / s->sum_bytes;
    const tj_reduction_slots slots = slots_of(view, s);
    const int64_t bytes = shared_bytes(view, s), ahead = (int64_t)s->stages * s->turn;
    tj_status status;

    if (!tj_is_power_of_2(s->steps) || s->chunks < TJ_STRIP_LINE_CHUNKS)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "steps is %d: it must be a power of 2, and with %d lanes along k at least %d", s->steps, s->k_lanes,
                       s->k_lanes < TJ_STRIP_LINE_CHUNKS ? TJ_STRIP_LINE_CHUNKS / s->k_lanes : 1);
    if (s->tm * s->tn > most_sums)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "tm %d x tn %d makes %d sums a thread: %d of %d bytes are the most", s->tm,
                       s->tn, s->tm * s->tn, most_sums, s->sum_bytes);
    if (bytes > MAX_SHARED)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%d warps with %d stages%s need %lld bytes of shared memory: %d are the most", s->warps, s->stages,
                       s->boxes > 0 ? "" : " each", (long long)bytes, MAX_SHARED);
    if (ahead > MOST_AHEAD)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "stages cover %lld elements of k (%d warps x %d stages x %d); the limit is %d", (long long)ahead,
                       s->warps, s->stages, s->turn / s->warps, MOST_AHEAD);
    status = tj_reductions_check(view, &slots, err);
    return status == TJ_OK ? tj_split_check(view, s->splits, err) : status;
}

/* Choose the most stages that leave room for another block, which may belong to the next kernel. */
static int32_t stages_of_boxes(const tj_problem *view, const tj_config *config)
{
    const int32_t blocks = config->value[BLOCKS] > 1 ? config->value[BLOCKS] : 2;
    tj_strip_shape s = tj_strip_shape_of(view, config);

    for (s.stages = MOST_STAGES; s.stages > 2; s.stages--)
        if (shared_bytes(view, &s) + RESERVED_SHARED <= MULTIPROCESSOR_SHARED / blocks)
            break;
    return s.stages;
}

static tj_status resolve(const tj_problem *view, bool is_swapped, tj_config *config, tj_error *err)
{
    int32_t *const v = config->value;
    tj_status status = check_problem(view, is_swapped, err);
    tj_strip_shape s;

    if (status != TJ_OK)
        return status;
    if (v[COPIES] == TJ_STRIP_BOXES)
        settle_boxes(view, v);
    else
        settle_lanes(view, v);
    status = check_lanes(view, v, err);
    if (status != TJ_OK)
        return status;
    settle(&v[STEPS], tj_least(TJ_STRIP_LINE_CHUNKS, v[ROW_LANES] * v[COL_LANES] / (TJ_STRIP_WARP / TJ_STRIP_LINE_CHUNKS)));
    settle(&v[STEPS], 1);
    settle(&v[STAGES], v[COPIES] == TJ_STRIP_BOXES ? stages_of_boxes(view, config) : 3);
    s = tj_strip_shape_of(view, config);
    settle(&v[SPLITS], default_splits(view, &s, v[BLOCKS]));
    s.splits = v[SPLITS];
    status = s.boxes > 0 ? check_boxes(view, is_swapped, &s, err) : TJ_OK;
    if (status == TJ_OK)
        status = check_shape(view, &s, err);
    if (status != TJ_OK)
        return status;
    settle(&v[ROWS], TJ_ROWS_ON_X); /* there is one block along the columns */
    return tj_tile_resolve(view, is_swapped, config, err);
}

/* For sm_120 ptxas uses the stack in kernels that copy boxes, so none of them is launched there; use copies by lanes. */
static bool relax(tj_config *config)
{
    int32_t *const v = config->value;

    if (tj_relax_blocks(config))
        return true;
    if (v[COPIES] != TJ_STRIP_BOXES)
        return false;
    for (int i = TM; i < BLOCKS; i++)
        v[i] = 0;
    v[COPIES] = TJ_STRIP_LANES;
    return true;
}

/* Copies always take 16 bytes, so the family cannot do without alignment. */
static bool for_any_operands(bool has_workspace, tj_config *config)
{
    (void)has_workspace;
    (void)config;
    return false;
}

/* Describe copies of M and N by lanes. */
static void describe_lanes(const tj_strip_shape *s, tj_checks checks, tj_template_params *fill, tj_launch_form *form)
{
    tj_template_set_flag(fill, "ragged_m", s->rows * s->chunks % TJ_STRIP_WARP != 0);
    tj_template_set_flag(fill, "ragged_n", s->chunks * s->cols % TJ_STRIP_WARP != 0);
    tj_template_set_flag(fill, "copies_whole", !checks.j && !checks.k);
    tj_template_set_flag(fill, "copies_or_zero", checks.j || checks.k);
    tj_template_set(fill, "k_step", "step");
    tj_template_set(fill, "behind", "rings[WARPS]");
    form->needs |= TJ_FEATURE_CP_ASYNC;
}

/*
 * Describe copies by the copy engine: all rows of a phase of M; for N, boxes 128 bytes wide, whose lines have as many rows of N
 * as a chunk has elements.
 */
static void describe_boxes(const tj_problem *view, const tj_strip_shape *s, tj_template_params *fill, tj_launch_form *form)
{
    form->tensor_map[TJ_MAP_M] = (tj_tensor_map){
        .matrix = form->is_swapped ? TJ_MATRIX_N : TJ_MATRIX_M,
        .rank = tj_map_has_products(view, TJ_MATRIX_M) ? 3 : 2,
        .box = {s->turn, s->rows, 1},
    };
    form->tensor_map[TJ_MAP_N] = (tj_tensor_map){
        .matrix = form->is_swapped ? TJ_MATRIX_M : TJ_MATRIX_N,
        .rank = tj_map_has_products(view, TJ_MATRIX_N) ? 3 : 2,
        .box = {TJ_STRIP_LINE_CHUNKS * s->vector, s->chunks, 1},
        .swizzle = TJ_STRIP_LINE_CHUNKS * TJ_STRIP_CHUNK,
        .joins = s->vector,
    };
    tj_template_set(fill, "k_step", "(step * WARPS + warp)");
    tj_template_set(fill, "behind", "shared[1]");
    tj_template_set(fill, "first_k", s->splits > 1 ? "k_begin + phase" : "phase");
    tj_maps_describe(view, tj_step_product(form), "full", fill);
    if (fill)
        tj_maps_list_args(view, form->is_swapped, false, s->splits <= 1, -1, tj_step_product(form));
    form->needs |= TJ_FEATURE_TMA;
}

static const char *describe(const tj_problem *view, const tj_config *config, tj_template_params *fill, tj_launch_form *form)
{
    const tj_strip_shape s = tj_strip_shape_of(view, config);
    const tj_reduction_slots slots = slots_of(view, &s);
    const bool rows_on_x = config->value[ROWS] == TJ_ROWS_ON_X;
    tj_launch_step *product;

    tj_template_set_flag(fill, "adds", true);
    tj_template_set_int(fill, "TM", s.tm);
    tj_template_set_int(fill, "TN", s.tn);
    tj_template_set_int(fill, "ROW_LANES", s.row_lanes);
    tj_template_set_int(fill, "COL_LANES", s.col_lanes);
    tj_template_set_int(fill, "STEPS", s.steps);
    tj_template_set_int(fill, "WARPS", s.warps);
    tj_template_set_int(fill, "STAGES", s.stages);
    tj_template_set_int(fill, "BLOCKS", config->value[BLOCKS]);
    tj_template_set(fill, "THREADS", s.boxes > 0 ? "(WARPS + 1) * WARP" : "WARPS * WARP");
    tj_template_set(fill, "CHUNKS", s.boxes > 0 ? "WARPS * STEPS * K_LANES" : "STEPS * K_LANES");
    tj_template_set(fill, "first_phase", s.splits > 1 ? "k_begin + warp * PHASE" : "warp * PHASE");
    tj_template_set(fill, "last_part", tj_epilogue_reduces(&view->epilogue) ? "strip/finish_reduced.cuh" : "strip/finish.cuh");
    tj_template_set(fill, "WIDE", s.col_lanes == 1 ? "" : "TN / VECTOR");
    tj_template_set(fill, "chunk_place", s.col_lanes == 1 ? "q" : "q / WIDE * (COLS / VECTOR) + col_lane * WIDE + q % WIDE");
    tj_template_set(fill, "blocks_on_x", rows_on_x ? "ceil(j / BLOCK_ROWS)" : "1");
    tj_template_set(fill, "blocks_on_y", rows_on_x ? "1" : "ceil(j / BLOCK_ROWS)");
    tj_split_describe_elements(view, s.splits, "threadIdx.x", fill);
    tj_split_describe(view, s.splits, fill, form);
    tj_scales_describe(view, TJ_SCALES_IN_TURN, s.splits, fill);
    product = tj_step_product(form);
    tj_step_set_blocks(product, s.threads, s.rows, s.cols);
    product->rows_on_x = rows_on_x;
    product->dynamic_shared_bytes = shared_bytes(view, &s);
    tj_reductions_describe(view, &slots, fill, form);
    tj_step_describe_order(view, fill, form);
    form->align[TJ_MATRIX_M] = form->align[TJ_MATRIX_N] = TJ_STRIP_CHUNK;
    if (s.boxes > 0)
        describe_boxes(view, &s, fill, form);
    else
        describe_lanes(&s, tj_checks_of(config, form->is_swapped), fill, form);
    return s.boxes > 0 ? "strip/boxes.cu" : "strip/strip.cu";
}

/* Accept blocks no taller than P whose warps all have phases, and several of which fit a multiprocessor. */
static bool is_worth_trying(const tj_problem *view, const tj_config *config)
{
    const tj_strip_shape s = tj_strip_shape_of(view, config);
    const int32_t blocks = config->value[BLOCKS];

    return blocks * s.warps >= 4 && blocks * s.warps <= SM_WARPS && (blocks == 1 || tj_limits_registers(blocks, s.threads)) &&
           (s.rows <= MOST_COLS || s.rows / 2 < view->j.extent) && s.turn <= view->k.extent &&
           blocks * tj_strip_rings_bytes(&s) <= MAX_SHARED;
}

const tj_family tj_family_strip = {
    .name = "strip",
    .summary = "P has at most 16 columns or rows: each warp copies and multiplies its own part of the long operand",
    .types = TJ_FLOAT_TYPES,
    .takes_complex = true,
    .param = params,
    .param_count = sizeof params / sizeof params[0],
    .constraint = constraints,
    .start = &tj_strip_start,
    .sums_in_registers = true,
    .model = &tj_model_strip,
    .reduces = TJ_REDUCES_BY_ROWS,
    .checks_k = true,
    .widest = MOST_AHEAD,
    .is_swapped = is_swapped,
    .tile = tile,
    .resolve = resolve,
    .relax = relax,
    .for_tall = tj_tile_for_tall,
    .for_any_operands = for_any_operands,
    .describe = describe,
    .count = tj_strip_count,
    .is_worth_trying = is_worth_trying,
};
