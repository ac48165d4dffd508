/* SPDX-License-Identifier: Apache-2.0 */
/*
 * planes: FP32-accurate products by tensor cores, for compute f32_split (docs/f32-split.md). A first kernel splits each element
 * into narrower numbers. Three products of f16 or six of bf16 multiply these or, if neither is accurate enough, M and N are
 * multiplied as they are. All of these kernels are launched; a word in device memory selects the one that works.
 *
 * The planes lie along k, in whole tiles, whatever the layout of M and N: one source of the product serves all layouts.
 */
#include "form.h"

#include "checked.h"
#include "error.h"
#include "parts/access.h"
#include "parts/registers.h"
#include "parts/scales.h"
#include "parts/split.h"
#include "parts/tile.h"
#include "steps.h"

enum { WARP = 32, MOST_WARPS = 32, OTHER_REGISTERS = 30, MAX_SHARED = 227 * 1024 };
enum { WIDE_EDGE = 64, WIDE_BK = 32, WIDE_STAGES = 3, WIDE_THREADS = 128 }; /* its tiles divide those of the product */

static const int32_t edges_tried[] = {64, 128, 256, 0}, warps_tried[] = {32, 64, 0}, steps_tried[] = {2, 4, 0},
                     stages_tried[] = {2, 3, 4, 5, 0}, blocks_tried[] = {1, 2, 3, 0}, groups_tried[] = {1, 8, 0},
                     vectors_tried[] = {2, 0};

enum { BM, BN, STEPS, WM, WN, STAGES, BLOCKS, GROUP, VECTOR, ROWS }; /* in this order: */

static const tj_param params[] = {
    {"bm", "rows of the block tile of P", 64, 256, 128, NULL, edges_tried},
    {"bn", "columns of the block tile of P", 64, 256, 128, NULL, edges_tried},
    {"steps", "of a phase: BK is 16 times as many elements", 2, 4, 2, NULL, steps_tried},
    {"wm", "rows of the tile of a warp", 32, 64, 0, NULL, warps_tried},
    {"wn", "columns of the tile of a warp", 32, 64, 32, NULL, warps_tried},
    {"stages", "phases whose tiles shared memory holds", 2, 6, 3, NULL, stages_tried, TJ_PARAM_ORDER},
    TJ_BLOCKS(4, 1, blocks_tried, TJ_PARAM_HINT),
    {"group", "rows of blocks that are walked together, column by column, to meet in the L2", 1, 16, 1, NULL, groups_tried,
     TJ_PARAM_HINT},
    {"vector", "most elements of P that one store takes; 1 asks for no alignment of the operands", 1, 2, 2, NULL, vectors_tried,
     TJ_PARAM_HINT},
    TJ_TILE_ROWS,
};

static const char *const constraints[] = {
    "f32 with compute f32_split",
    "j, k, l, leading dimensions, strides and the batch are fixed: they make the size of the workspace",
    "no operand is an array of pointers",
    "BM, BN, WM and WN are powers of two; steps is even",
    "all threads copy alike: BM * BK / 8 and BN * BK / 8 are multiples of their number",
    "a thread has registers for its sums, those of one step, the fragments of one step, and 30 more",
    "the stages fit the 227 KiB of shared memory that a block may have",
    "group needs rows=y",
    "each grid axis holds the blocks it counts: 65 535 on y, 2 147 483 647 on x",
    NULL,
};

tj_planes_shape tj_planes_shape_of(const tj_config *config)
{
    const int32_t *v = config->value;
    tj_planes_shape s = {v[BM], v[BN], v[STEPS], v[WM], v[WN], v[STAGES], v[BLOCKS], v[GROUP], v[VECTOR], v[ROWS], .bk = 0};

    s.bk = s.steps * TJ_PLANES_K_STEP;
    s.threads = s.wm > 0 && s.wn > 0 ? s.bm / s.wm * (s.bn / s.wn) * WARP : 0;
    return s;
}

static tj_tile tile(const tj_problem *problem, const tj_config *config)
{
    const tj_planes_shape s = tj_planes_shape_of(config);

    (void)problem;
    return (tj_tile){s.bm, s.bk, s.bn, "BM", "BK", "BN"};
}

/* ---- constraints -------------------------------------------------------------------------------------------------- */

tj_planes_units tj_planes_units_of(const tj_planes_shape *s)
{
    return (tj_planes_units){s->bm, s->bn};
}

int32_t tj_planes_p_vector(const tj_problem *view, const tj_planes_shape *s)
{
    return s->vector > 1 && tj_access_sums(view, 1) == 1 && tj_access_fits_output(view, 2) ? 2 : 1;
}

int32_t tj_planes_registers(const tj_planes_shape *s)
{
    const int32_t fragments = (s->wm / 16 * 4 + s->wn / 8 * 2) * TJ_PLANES_OF_F16;

    return s->wm * s->wn / WARP + s->wn / 8 * 4 + fragments;
}

/* Kernels wide and plain have the same tiles and warps. */
static tj_reduction_slots slots_of(const tj_problem *view, const tj_planes_shape *s)
{
    const tj_planes_tile other = {WIDE_EDGE, WIDE_EDGE, TJ_PLANES_PLAIN_WARP_EDGE, TJ_PLANES_PLAIN_WARP_EDGE};

    return tj_planes_slots(view, (tj_planes_tile[]){{s->bm, s->bn, s->wm, s->wn}, other, other});
}

static int64_t shared_bytes(int32_t bm, int32_t bn, int32_t bk, int32_t planes, int32_t stages)
{
    return (int64_t)(bm + bn) * bk * planes * stages * TJ_PLANES_BYTES;
}

static int64_t shared_bytes_of(const tj_planes_shape *s)
{
    return shared_bytes(s->bm, s->bn, s->bk, TJ_PLANES_OF_F16, s->stages);
}

static tj_status check_tiles(const tj_planes_shape *s, tj_error *err)
{
    const struct {
        const char *name;
        int32_t value;
    } edge[] = {{"bm", s->bm}, {"bn", s->bn}, {"wm", s->wm}, {"wn", s->wn}, {"steps", s->steps}};

    for (size_t i = 0; i < sizeof edge / sizeof edge[0]; i++)
        if (!tj_is_power_of_2(edge[i].value))
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is %d: it must be a power of two", edge[i].name, edge[i].value);
    if (s->threads > MOST_WARPS * WARP || s->bm * s->bk / 8 % s->threads != 0 || s->bn * s->bk / 8 % s->threads != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%d threads cannot share the copies of %d and %d lines of %d elements, 8 at a time: use a larger warp "
                       "tile, or more steps",
                       s->threads, s->bm, s->bn, s->bk);
    return TJ_OK;
}

static tj_status check_room(const tj_planes_shape *s, tj_error *err)
{
    const int64_t bytes = shared_bytes_of(s);
    const int32_t needed = tj_planes_registers(s) + OTHER_REGISTERS, left = tj_registers_left(s->blocks, s->threads);

    if (bytes > MAX_SHARED)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%d stages of two planes of %d x %d and %d x %d need %lld bytes of shared memory: %d are the most",
                       s->stages, s->bm, s->bk, s->bk, s->bn, (long long)bytes, MAX_SHARED);
    if (needed <= left)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "%d blocks of %d threads leave each thread %d registers, and a warp tile of %d x %d takes %d: use a smaller "
                   "warp tile, or fewer blocks",
                   s->blocks, s->threads, left, s->wm, s->wn, needed);
}

static tj_status check_reductions(const tj_problem *view, const tj_planes_shape *s, tj_error *err)
{
    const tj_reduction_slots slots = slots_of(view, s);

    return tj_reductions_check(view, &slots, err);
}

static tj_status resolve(const tj_problem *view, bool is_swapped, tj_config *config, tj_error *err)
{
    int32_t *const v = config->value;
    tj_planes_shape s = tj_planes_shape_of(config);
    tj_status status = tj_planes_check(view, tj_planes_units_of(&s), "planes", err);

    if (v[WM] == 0)
        v[WM] = v[WN] == 64 ? 32 : v[BM] > 64 ? 64 : 32;
    s = tj_planes_shape_of(config);
    if (status == TJ_OK)
        status = check_tiles(&s, err);
    if (status == TJ_OK)
        status = check_room(&s, err);
    if (status == TJ_OK)
        status = check_reductions(view, &s, err);
    if (status == TJ_OK)
        status = tj_tile_resolve(view, is_swapped, config, err);
    if (status == TJ_OK && s.group > 1 && v[ROWS] == TJ_ROWS_ON_X)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "group is %d, which walks rows of blocks on y: use group=1 with rows=x",
                       s.group);
    return status;
}

/* Halve the number of blocks or, if it is one, the longer side of a warp's tile and the block's side. */
static bool relax(tj_config *config)
{
    int32_t *const v = config->value;
    const int32_t warp = v[WM] >= v[WN] ? WM : WN, block = warp == WM ? BM : BN;

    if (tj_relax_blocks(config))
        return true;
    if (v[warp] <= 32 || v[block] <= 64)
        return false;
    v[warp] /= 2;
    v[block] /= 2;
    return true;
}

static bool for_any_operands(bool has_workspace, tj_config *config)
{
    config->value[VECTOR] = 1;
    return has_workspace;
}

/* ---- tuning ------------------------------------------------------------------------------------------------------- */

static bool is_hopeless(const tj_problem *view, const tj_config *config, size_t known)
{
    const tj_planes_shape s = tj_planes_shape_of(config);

    return tj_planes_check(view, tj_planes_units_of(&s), "planes", NULL) != TJ_OK ||
           (known > BM && tj_tile_is_oversized(s.bm, 64, view->j.extent)) ||
           (known > BN && tj_tile_is_oversized(s.bn, 64, view->l.extent)) || (known > WN && check_tiles(&s, NULL) != TJ_OK) ||
           (known > BLOCKS && check_room(&s, NULL) != TJ_OK);
}

static bool is_worth_trying(const tj_problem *view, const tj_config *config)
{
    const tj_planes_shape s = tj_planes_shape_of(config);
    const int64_t rows = tj_ceil_div(view->j.extent, s.bm), cols = tj_ceil_div(view->l.extent, s.bn);

    return !is_hopeless(view, config, TJ_CONFIG_MAX_PARAMS) && (s.group == 1 || (rows > s.group && cols > s.group));
}

/* ---- source ------------------------------------------------------------------------------------------------------- */

/* Describe a kernel over tiles of P, one of the three that may multiply. */
static void describe_product(const tj_problem *view, const tj_launch_form *form, bool wants_text, tj_launch_step *step)
{
    step->grid = TJ_GRID_TILES;
    step->sums_in_registers = 1;
    step->overlaps = 1;
    if (!wants_text)
        return;
    tj_step_add_arg(step, true, TJ_ARG_WORKSPACE, TJ_PLANES_WORDS);
    tj_step_add_arg(step, true, TJ_ARG_WORKSPACE, TJ_PLANES_LINES);
    tj_step_add_arg(step, true, TJ_ARG_WORKSPACE, TJ_PLANES_OF_M);
    tj_step_add_arg(step, true, TJ_ARG_WORKSPACE, TJ_PLANES_OF_N);
    tj_planes_add_parameters(view, form->is_swapped, step);
}

/* Set the flags of the parts that the template includes. */
static void describe_parts(const tj_problem *view, const tj_planes_shape *s, tj_template_params *fill)
{
    static const char *const none[] = {"load_transposed", "load_bytes", "fragments"};
    static const char *const on[] = {"copies_whole", "copies_async"};

    for (size_t i = 0; i < sizeof on / sizeof on[0]; i++)
        tj_template_set_flag(fill, on[i], true);
    tj_template_set(fill, "multiply_add", "parts/multiply_planes.cuh");
    tj_template_set(fill, "load_matrices", "parts/load_matrices.cuh");
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        tj_template_set(fill, none[i], "");
    tj_template_set(fill, "chunk", "16 bytes");
    tj_template_set(fill, "chunk_part", "4 bytes numbered t");
    tj_template_set(fill, "multiply_planes", "multiply_add<PLANES == 3>");
    /* The deeper pipeline of the two kernels that walk planes decides. */
    tj_split_describe_walk(&view->k, 1, s->bk, s->stages > WIDE_STAGES ? s->stages : WIDE_STAGES, false, fill);
}

static const char *describe(const tj_problem *view, const tj_config *config, tj_template_params *fill, tj_launch_form *form)
{
    const tj_planes_shape s = tj_planes_shape_of(config);
    const int32_t p_vector = tj_planes_p_vector(view, &s), p_bytes = tj_facts_of(view->p.type)->bytes;
    const tj_reduction_slots slots = slots_of(view, &s);
    tj_launch_step *const product = tj_step_product(form), *wide;

    describe_product(view, form, fill != NULL, product);
    product->rows_on_x = s.rows == TJ_ROWS_ON_X;
    tj_step_set_blocks(product, s.threads, s.bm, s.bn);
    product->dynamic_shared_bytes = shared_bytes_of(&s);
    form->needs |= TJ_FEATURE_CP_ASYNC | TJ_FEATURE_LDMATRIX | TJ_FEATURE_MMA_F16 | TJ_FEATURE_MMA_BF16;
    form->align[TJ_MATRIX_P] = p_vector > 1 ? p_vector * p_bytes : 0;
    form->align[TJ_MATRIX_C] = view->epilogue.has_beta ? form->align[TJ_MATRIX_P] : 0;
    tj_scales_describe(view, TJ_SCALES_AHEAD, 1, fill);
    wide = tj_planes_describe(view, config, tj_planes_units_of(&s), &slots, s.vector, fill, form);
    describe_product(view, form, fill != NULL, wide);
    wide->rows_on_x = s.rows == TJ_ROWS_ON_X;
    tj_step_set_blocks(wide, WIDE_THREADS, WIDE_EDGE, WIDE_EDGE);
    wide->dynamic_shared_bytes = shared_bytes(WIDE_EDGE, WIDE_EDGE, WIDE_BK, TJ_PLANES_MOST, WIDE_STAGES);
    if (!fill)
        return NULL;
    tj_template_set_int(fill, "BM", s.bm);
    tj_template_set_int(fill, "BN", s.bn);
    tj_template_set_int(fill, "BK", s.bk);
    tj_template_set_int(fill, "WM", s.wm);
    tj_template_set_int(fill, "WN", s.wn);
    tj_template_set_int(fill, "STAGES", s.stages);
    tj_template_set_int(fill, "BLOCKS", s.blocks);
    tj_tile_describe_group(s.group, fill);
    tj_tile_describe_p_vector(p_vector, fill);
    describe_parts(view, &s, fill);
    return "planes/planes.cu";
}

const tj_family tj_family_planes = {
    .name = "planes",
    .summary = "FP32-accurate: elements of f32 are taken apart into f16 or bf16, whose products tensor cores make",
    .param = params,
    .param_count = sizeof params / sizeof params[0],
    .constraint = constraints,
    .start = &tj_planes_start,
    .sums_in_registers = true,
    .model = &tj_model_mma, /* not fitted to trials of its own */
    .reduces = TJ_REDUCES_BY_PATH,
    .checks_k = true,
    .widest = 256,
    .tile = tile,
    .resolve = resolve,
    .relax = relax,
    .for_tall = tj_tile_for_tall,
    .for_any_operands = for_any_operands,
    .describe = describe,
    .count = tj_planes_count,
    .is_worth_trying = is_worth_trying,
    .is_hopeless = is_hopeless,
};
