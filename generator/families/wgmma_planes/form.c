/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wgmma_planes: FP32-accurate products by the tensor cores of Hopper, for compute f32_split (docs/f32-split.md). As family
 * planes, but wgmma multiplies instead of mma, and the copy engine copies tiles from the workspace. The rest is shared with
 * that family.
 */
#include "form.h"

#include <stdio.h>

#include "checked.h"
#include "error.h"
#include "parts/access.h"
#include "parts/registers.h"
#include "parts/scales.h"
#include "parts/tile.h"
#include "steps.h"

enum { WARPGROUP = 128, WARP_ROWS = 16, MOST_MULTIPLIERS = 3, MAX_SHARED = 227 * 1024, MAP_M = 0, MAP_N = 1 };
enum {
    OTHER_REGISTERS = 40,
    INSTRUCTION_REGISTERS = 26,
    MOST_STAGES = 6,
    WIDE_STAGES = 2, /* at least */
    BARRIERS_BYTES = 16,
    LINE = 128
};

static const int32_t cols_tried[] = {32, 64, 96, 112, 128, 160, 0}, multipliers_tried[] = {1, 2, 3, 0},
                     stages_tried[] = {2, 3, 4, 0}, blocks_tried[] = {1, 2, 0}, groups_tried[] = {4, 8, 16, 0},
                     vectors_tried[] = {2, 0};

enum { MULTIPLIERS, BN, STAGES, BLOCKS, VECTOR, GROUP }; /* in this order: */

static const tj_param params[] = {
    {"multipliers", "warpgroups of a block that multiply, 64 rows of the block tile of P each; one more brings the tiles", 1,
     MOST_MULTIPLIERS, 2, NULL, multipliers_tried},
    {"bn", "columns of the block tile of P", 16, 208, 128, NULL, cols_tried},
    {"stages", "phases whose tiles shared memory holds; by default as many as it has room for", 2, MOST_STAGES, 0, NULL,
     stages_tried, TJ_PARAM_ORDER},
    TJ_BLOCKS(2, 1, blocks_tried, TJ_PARAM_ORDER),
    {"vector", "most elements of P that one store takes; 1 asks for no alignment of the operands", 1, 2, 2, NULL, vectors_tried,
     TJ_PARAM_HINT},
    {"group", "rows of tiles that are walked together, column by column, to meet in the L2", 1, 16, 8, NULL, groups_tried,
     TJ_PARAM_HINT},
};

static const char *const constraints[] = {
    "f32 with compute f32_split; sm_90a",
    "j, k, l, leading dimensions, strides and the batch are fixed: they make the size of the workspace",
    "no operand is an array of pointers",
    "BM is 64 times multipliers, and BN a multiple of 16",
    "a thread that multiplies has registers for two sets of its sums, and 40 more",
    "two stages of three planes, and all stages of two, fit the 227 KiB of shared memory of a multiprocessor",
    "the lines of all planes are counted by an int",
    NULL,
};

tj_wplanes_shape tj_wplanes_shape_of(const tj_config *config)
{
    const int32_t *v = config->value;
    tj_wplanes_shape s = {v[MULTIPLIERS], v[BN], v[STAGES], v[BLOCKS], v[VECTOR], v[GROUP], .bm = 0};

    s.bm = s.multipliers * TJ_WPLANES_ROWS;
    s.threads = WARPGROUP * (1 + s.multipliers);
    return s;
}

static tj_tile tile(const tj_problem *problem, const tj_config *config)
{
    const tj_wplanes_shape s = tj_wplanes_shape_of(config);

    (void)problem;
    return (tj_tile){s.bm, TJ_WPLANES_BK, s.bn, "BM", "BK", "BN"};
}

tj_planes_units tj_wplanes_units_of(const tj_wplanes_shape *s)
{
    return (tj_planes_units){s->bm, s->bn};
}

int64_t tj_wplanes_shared_bytes(const tj_wplanes_shape *s, int32_t planes, int32_t stages)
{
    const int64_t bytes = stages * ((int64_t)(s->bm + s->bn) * planes * LINE + BARRIERS_BYTES);

    return (bytes + 1023) / 1024 * 1024;
}

int32_t tj_wplanes_sum_registers(const tj_wplanes_shape *s)
{
    return s->bn; /* 64 x BN for 128 threads, twice */
}

int32_t tj_wplanes_p_vector(const tj_problem *view, const tj_wplanes_shape *s)
{
    return s->vector > 1 && tj_access_sums(view, 1) == 1 && tj_access_fits_output(view, 2) ? 2 : 1;
}

/* ---- constraints -------------------------------------------------------------------------------------------------- */

static tj_status check_tiles(const tj_wplanes_shape *s, tj_error *err)
{
    const int32_t left = tj_multiplier_registers(s->blocks, s->multipliers, TJ_BRINGER_REGISTERS),
                  needed = tj_wplanes_sum_registers(s) + OTHER_REGISTERS, each = tj_registers_left(s->blocks, s->threads);

    if (s->bn % 16 != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "bn is %d: it must be a multiple of 16", s->bn);
    if (needed <= left && s->bn / 2 + INSTRUCTION_REGISTERS <= each)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "%d blocks with %d multipliers leave a thread %d registers, and block tiles of %d x %d take %d: use a "
                   "smaller bn, or fewer blocks",
                   s->blocks, s->multipliers, left, s->bm, s->bn, needed);
}

static tj_status check_room(const tj_wplanes_shape *s, int32_t planes, int32_t stages, tj_error *err)
{
    const int64_t bytes = tj_wplanes_shared_bytes(s, planes, stages);

    if (bytes <= MAX_SHARED / s->blocks)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "%d stages of %d planes of %d x %d and %d x %d need %lld bytes of shared memory, and each of %d blocks may "
                   "have %d: use a smaller tile, or fewer stages",
                   stages, planes, s->bm, TJ_WPLANES_BK, TJ_WPLANES_BK, s->bn, (long long)bytes, s->blocks,
                   MAX_SHARED / s->blocks);
}

/* A warp has 16 rows of its tile, and all columns. */
static tj_reduction_slots slots_of(const tj_problem *view, const tj_wplanes_shape *s)
{
    const tj_planes_tile tile = {s->bm, s->bn, WARP_ROWS, s->bn};

    return tj_planes_slots(
        view,
        (tj_planes_tile[]){
            tile, tile, {TJ_PLANES_PLAIN_EDGE, TJ_PLANES_PLAIN_EDGE, TJ_PLANES_PLAIN_WARP_EDGE, TJ_PLANES_PLAIN_WARP_EDGE}});
}

static tj_status check_reductions(const tj_problem *view, const tj_wplanes_shape *s, tj_error *err)
{
    const tj_reduction_slots slots = slots_of(view, s);

    return tj_reductions_check(view, &slots, err);
}

static int32_t stages_that_fit(const tj_wplanes_shape *s, int32_t planes)
{
    int32_t stages = MOST_STAGES;

    while (stages > 2 && check_room(s, planes, stages, NULL) != TJ_OK)
        stages--;
    return stages;
}

/* Return the lines of the planes of all matrices of one operand. */
static int64_t lines_of(const tj_problem *view, const tj_wplanes_shape *s, bool is_m)
{
    return TJ_PLANES_MOST * tj_planes_matrices(view, is_m, tj_planes_products(view)) *
           tj_planes_lines(view, tj_wplanes_units_of(s), is_m);
}

static tj_status check_lines(const tj_problem *view, const tj_wplanes_shape *s, tj_error *err)
{
    for (int is_m = 1; is_m >= 0; is_m--) {
        const int64_t lines = lines_of(view, s, is_m), width = tj_planes_k_line(view);

        if (lines > INT32_MAX || width > INT32_MAX)
            return tj_fail(
                err, TJ_ERR_INVALID_ARGUMENT,
                "the planes of %c have %lld lines of %lld elements, and a tensor map counts %d of either: use family "
                "planes",
                is_m ? 'M' : 'N', (long long)lines, (long long)width, INT32_MAX);
    }
    return TJ_OK;
}

static tj_status resolve(const tj_problem *view, bool is_swapped, tj_config *config, tj_error *err)
{
    int32_t *const v = config->value;
    tj_wplanes_shape s = tj_wplanes_shape_of(config);
    tj_status status = tj_planes_check(view, tj_wplanes_units_of(&s), "wgmma_planes", err);

    if (status == TJ_OK)
        status = check_tiles(&s, err);
    if (status == TJ_OK && v[STAGES] == 0)
        v[STAGES] = s.stages = stages_that_fit(&s, TJ_PLANES_OF_F16);
    if (status == TJ_OK)
        status = check_room(&s, TJ_PLANES_MOST, WIDE_STAGES, err);
    if (status == TJ_OK)
        status = check_room(&s, TJ_PLANES_OF_F16, s.stages, err);
    if (status == TJ_OK)
        status = check_lines(view, &s, err);
    if (status == TJ_OK)
        status = check_reductions(view, &s, err);
    return status == TJ_OK ? tj_tile_settle_checks(view, is_swapped, config, err) : status;
}

static bool relax(tj_config *config)
{
    int32_t *const v = config->value;

    if (tj_relax_blocks(config))
        return true;
    if (v[BN] < 32)
        return false;
    v[BN] = (v[BN] / 2 + 15) / 16 * 16;
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
    const tj_wplanes_shape s = tj_wplanes_shape_of(config);

    return tj_planes_check(view, tj_wplanes_units_of(&s), "wgmma_planes", NULL) != TJ_OK ||
           (known > MULTIPLIERS && s.multipliers > 1 && s.bm - TJ_WPLANES_ROWS >= view->j.extent) ||
           (known > BN && tj_tile_is_oversized(s.bn, 16, view->l.extent)) ||
           (known > BLOCKS && (check_tiles(&s, NULL) != TJ_OK || check_room(&s, TJ_PLANES_MOST, WIDE_STAGES, NULL) != TJ_OK ||
                               (s.stages > 0 && check_room(&s, TJ_PLANES_OF_F16, s.stages, NULL) != TJ_OK)));
}

static bool is_worth_trying(const tj_problem *view, const tj_config *config)
{
    return !is_hopeless(view, config, TJ_CONFIG_MAX_PARAMS);
}

/* ---- source ------------------------------------------------------------------------------------------------------- */

/* Describe the kernel of two planes, or of three. */
static void describe_product(const tj_problem *view, const tj_wplanes_shape *s, const tj_launch_form *form, int32_t planes,
                             int32_t stages, bool wants_text, tj_launch_step *step)
{
    step->grid = TJ_GRID_WALK;
    step->resident = s->blocks;
    tj_step_set_blocks(step, s->threads, s->bm, s->bn);
    step->overlaps = 1;
    step->sums_in_registers = 1;
    step->dynamic_shared_bytes = tj_wplanes_shared_bytes(s, planes, stages);
    if (!wants_text)
        return;
    tj_step_add_arg(step, true, TJ_ARG_TENSOR_MAP, MAP_M);
    tj_step_add_arg(step, true, TJ_ARG_TENSOR_MAP, MAP_N);
    tj_step_add_arg(step, true, TJ_ARG_WORKSPACE, TJ_PLANES_WORDS);
    tj_step_add_arg(step, true, TJ_ARG_WORKSPACE, TJ_PLANES_LINES);
    tj_planes_add_parameters(view, form->is_swapped, step);
}

static tj_tensor_map map_of(const tj_problem *view, const tj_wplanes_shape *s, bool is_m)
{
    return (tj_tensor_map){
        .matrix = is_m ? TJ_PLANES_OF_M : TJ_PLANES_OF_N,
        .type = TJ_F16, /* or bf16, as the device decides: the copy does not interpret the bits */
        .rank = 2,
        .box = {TJ_WPLANES_BK, is_m ? s->bm : s->bn, 1},
        .swizzle = LINE,
        .lines = lines_of(view, s, is_m),
        .width = tj_planes_k_line(view),
        .ld = tj_planes_k_line(view),
    };
}

static void describe_instruction(const tj_wplanes_shape *s, const char *param, const char *type, tj_template_params *fill)
{
    char text[TJ_TEMPLATE_VALUE_BYTES];

    (void)snprintf(text, sizeof text, "wgmma.mma_async.sync.aligned.m64n%dk%d.f32.%s.%s", s->bn, TJ_WPLANES_K_STEP, type, type);
    tj_template_set(fill, param, text);
}

/* Set the parameters of templates/parts/wgmma.cuh and tensor.cuh. */
static void describe_parts(const tj_wplanes_shape *s, tj_template_params *fill)
{
    const int32_t sums = s->bn / 2;

    describe_instruction(s, "wgmma_name", "f16", fill);
    describe_instruction(s, "wide_wgmma", "bf16", fill);
    tj_template_set_int(fill, "m_operand", sums);
    tj_template_set_int(fill, "n_operand", sums + 1);
    tj_template_set_int(fill, "adds_operand", sums + 2);
    tj_template_set(fill, "lower_sums", "part[1], adds");
    tj_template_set_int(fill, "more_sums", sums / 4 - 1);
    tj_template_set(fill, "m_across", "0");
    tj_template_set(fill, "n_across", "0");
    tj_template_set(fill, "sum_constraint", "\"+f\"");
    tj_template_set(fill, "multiply_add", "wgmma/multiply_phase.cuh");
    tj_template_set_flag(fill, "mma_halves", true);
    tj_template_set_flag(fill, "tensor_2d", true);
}

static const char *describe(const tj_problem *view, const tj_config *config, tj_template_params *fill, tj_launch_form *form)
{
    const tj_wplanes_shape s = tj_wplanes_shape_of(config);
    const int32_t p_vector = tj_wplanes_p_vector(view, &s), p_bytes = tj_facts_of(view->p.type)->bytes;
    const int32_t wide_stages = stages_that_fit(&s, TJ_PLANES_MOST);
    const tj_reduction_slots slots = slots_of(view, &s);
    tj_launch_step *const product = tj_step_product(form), *wide;

    describe_product(view, &s, form, TJ_PLANES_OF_F16, s.stages, fill != NULL, product);
    product->rows_on_x = tj_ceil_div(view->j.extent, TJ_PLANES_PLAIN_EDGE) > TJ_GRID_LIMIT; /* of plain */
    form->needs |= TJ_FEATURE_TMA | TJ_FEATURE_SETMAXNREG | TJ_FEATURE_WGMMA;
    form->align[TJ_MATRIX_P] = p_vector > 1 ? p_vector * p_bytes : 0;
    form->align[TJ_MATRIX_C] = view->epilogue.has_beta ? form->align[TJ_MATRIX_P] : 0;
    form->tensor_map[MAP_M] = map_of(view, &s, true);
    form->tensor_map[MAP_N] = map_of(view, &s, false);
    tj_scales_describe(view, TJ_SCALES_AHEAD, 1, fill);
    wide = tj_planes_describe(view, config, tj_wplanes_units_of(&s), &slots, s.vector, fill, form);
    describe_product(view, &s, form, TJ_PLANES_MOST, wide_stages, fill != NULL, wide);
    if (!fill)
        return NULL;
    tj_template_set_int(fill, "MULTIPLIERS", s.multipliers);
    tj_template_set_int(fill, "BN", s.bn);
    tj_template_set_int(fill, "stages", s.stages);
    tj_template_set_int(fill, "wide_stages", wide_stages);
    tj_template_set_int(fill, "BLOCKS", s.blocks);
    tj_template_set_int(fill, "GROUP", s.group);
    tj_tile_describe_p_vector(p_vector, fill);
    tj_template_set_flag(fill, "moves_registers", tj_moves_registers(s.blocks, s.multipliers));
    tj_template_set_int(fill, "multiplier_registers", tj_multiplier_registers(s.blocks, s.multipliers, TJ_BRINGER_REGISTERS));
    describe_parts(&s, fill);
    return "wgmma_planes/wgmma_planes.cu";
}

const tj_family tj_family_wgmma_planes = {
    .name = "wgmma_planes",
    .summary = "FP32-accurate: f32 is taken apart into f16 or bf16, whose products the tensor cores of Hopper make",
    .param = params,
    .param_count = sizeof params / sizeof params[0],
    .constraint = constraints,
    .start = &tj_wplanes_start,
    .sums_in_registers = true,
    .model = &tj_model_wgmma_planes,
    .reduces = TJ_REDUCES_BY_PATH,
    .checks_k = true,
    .widest = 256,
    .tile = tile,
    .resolve = resolve,
    .relax = relax,
    .for_any_operands = for_any_operands,
    .describe = describe,
    .count = tj_wplanes_count,
    .is_worth_trying = is_worth_trying,
    .is_hopeless = is_hopeless,
};
