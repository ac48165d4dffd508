/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mma: the tensor cores of sm_75 and newer multiply, by mma.sync. A warp computes WM x WN elements of P in products of 16 x 8.
 * ldmatrix loads the fragments from shared memory; asynchronous copies fill shared memory some phases ahead.
 *
 * One source serves every type: all fragments consist of chunks of 16 bytes along k. Where neighbours in memory are neighbours
 * across k, elements of one or two bytes are transposed on the way from shared memory to registers, and wider ones are loaded
 * one by one. A kernel before the product may pack operands whose lines do not begin at multiples of 16 bytes, and may also
 * transpose lines across k.
 *
 * Weights of 8 or 4 bits with f16 or bf16 activations are converted to the type of the activations. Asynchronous copies leave
 * them as they are in shared memory, and warps widen what they load from there (templates/parts/weights.cuh). If lines do not
 * begin at multiples of 4 bytes, weights of 8 bits are widened on the way to shared memory, and those of 4 bits are packed. All
 * later code sees 16 bits.
 *
 * On sm_120a the instruction may multiply by block scales (scales=instruction): of 8-bit floats and, in no other way, of e2m1, whose
 * pairs lie in shared memory as they are stored.
 *
 * Copies that cp.async cannot make pass through registers: lines that do not begin at multiples of 4 bytes, element by element;
 * and, with copy=registers, all tiles, because sm_75 has no cp.async. On sm_75 such a source uses the smaller products that
 * sm_75 has.
 */
#include "form.h"

#include <stdio.h>

#include "checked.h"
#include "error.h"
#include "parts/access.h"
#include "parts/copy.h"
#include "parts/quantize.h"
#include "parts/reductions.h"
#include "parts/registers.h"
#include "parts/scales.h"
#include "parts/split.h"
#include "parts/tile.h"
#include "parts/widen.h"
#include "steps.h"

enum { WARP = 32, MOST_WARPS = 32, MOST_SUM_REGISTERS = 128, OTHER_REGISTERS = 28, MAX_SHARED = 227 * 1024 };
enum { ASKED_BYTES = 16 };
enum { ROUNDED_REGISTERS = 8, SPLIT_REGISTERS = 32 }; /* of elements of c64 on their way to tf32, and of sums of a step */
enum { SLICE_M = 1, SLICE_N = 2, WORTH_PACKING = 24 };
enum { MOST_TRUNCATED = 128 }; /* products of a sum that may keep 13 bits, as TJ_COMPUTE_F32_FP8 promises */
enum { ZERO_BYTES = 160 };     /* of the line that fetches a zero point */
enum { LEAST_COPY = 4, LEAST_WEIGHTS = 4, ADDRESS_REGISTERS = 2, MOST_COPIES = 20 };

static const char *const pack_choices[] = {"none", "m", "n", "both", NULL}, *const load_choices[] = {"ahead", "needed", NULL},
                         *const transpose_choices[] = {"no", "yes", NULL},
                         *const scales_choices[] = {"sums", "instruction", NULL};

/* The values that a tuner tries where powers of two would be too many or too few. */
static const int32_t steps_tried[] = {2, 4, 8, 0}, stages_tried[] = {2, 3, 4, 5, 6, 0}, blocks_tried[] = {1, 2, 3, 4, 0},
                     groups_tried[] = {1, 8, 0}, widths_tried[] = {16, 0}, vectors_tried[] = {4, 0},
                     edges_tried[] = {16, 32, 64, 128, 256, 0}, warps_tried[] = {16, 32, 64, 0},
                     slices_tried[] = {1, 2, 4, 8, 0},
                     scales_tried[] = {TJ_MMA_SCALES_OF_SUMS, TJ_MMA_SCALES_IN_INSTRUCTION, 0},
                     packs_tried[] = {TJ_MMA_PACK_NONE, TJ_MMA_PACK_M, TJ_MMA_PACK_N, TJ_MMA_PACK_BOTH, 0};

/* in this order: */
enum { BM, BN, STEPS, WM, WN, SPLITS, STAGES, BLOCKS, COPY, PACK, LOAD, SLICES, SCALES, WIDTH, VECTOR, GROUP, ROWS, TRANSPOSE };

static const tj_param params[] = {
    {"bm", "rows of the block tile of P", 16, 256, 0, NULL, edges_tried},
    {"bn", "columns of the block tile of P", 16, 256, 0, NULL, edges_tried},
    {"steps", "of a phase: BK is as many times the k of one product, which is 32 bytes of elements (f64: 64)", 2, 8, 2, NULL,
     steps_tried},
    {"wm", "rows of the tile of a warp", 16, 128, 0, NULL, warps_tried},
    {"wn", "columns of the tile of a warp", 16, 128, 0, NULL, warps_tried},
    TJ_SPLITS(1, tj_splits_tried),
    {"stages", "phases whose tiles shared memory holds", 2, 8, 3, NULL, stages_tried, TJ_PARAM_ORDER},
    TJ_BLOCKS(8, 1, blocks_tried, TJ_PARAM_HINT),
    TJ_COPY,
    {"pack",
     "operands that are first copied to a workspace, where tiles are whole, lines begin at multiples of 16 bytes, tf32 is "
     "rounded and weights are widened",
     1, 4, 0, pack_choices, packs_tried, TJ_PARAM_ORDER},
    {"load",
     "fragments: ahead, one step before they are multiplied, next to those that are; needed: in the step that multiplies them, "
     "in "
     "half as many registers",
     1, 2, 0, load_choices, NULL, TJ_PARAM_ORDER},
    {"slices", "warps that share a tile and multiply parts of each phase, of as many steps: BK grows with them", 1, 8, 1, NULL,
     slices_tried},
    {"scales",
     "scales along k multiply: sums, those of a part of k; instruction, the products, by the tensor cores of sm_120a, with "
     "ones for 8-bit floats without such scales",
     1, 2, 0, scales_choices, scales_tried},
    {"width", "most elements of M and N that one copy takes, as far as 16 bytes go; 1 asks for no alignment of them", 1, 16, 16,
     NULL, widths_tried, TJ_PARAM_ORDER},
    {"vector", "most elements of P that one store takes; 1 asks for no alignment of P", 1, 4, 4, NULL, vectors_tried,
     TJ_PARAM_HINT},
    TJ_TILE_GROUP(groups_tried),
    TJ_TILE_ROWS,
    {"transpose",
     "yes: a packed operand of tf32 or 8 bits whose lines lie across k is transposed, so that ldmatrix takes it as it is", 1, 2,
     TJ_MMA_TRANSPOSE_NO, transpose_choices, NULL, TJ_PARAM_ORDER},
};

static const char *const constraints[] = {
    "f16, bf16, f64, c128, types of 8 bits; f32 and c64 as tf32; weights of 8 and 4 bits with 16, of 4 bits with e4m3",
    "c64 also as f32_split: pack=none, and load=needed unless it is named",
    "e2m1 by e2m1 lies along k, and needs sm_120a",
    "BM, BN, WM and WN are powers of two; BM is a multiple of WM, BN of WN",
    "steps is even; slices is a power of two",
    "1 to 32 warps: one for each warp tile, and slice",
    "scales along k are for a multiple of the BK elements of a phase each, or BK is a multiple of those",
    "scales=instruction: 8-bit floats with scales of e8m0 for 32 elements of k or without; e2m1, also of e4m3 for 16",
    "scales=instruction: load=ahead; with 8-bit floats steps=4 or 8; with e2m1 pack=none",
    "a thread has registers for at most 128 sums (of parts of k twice), for fragments of two steps, and 28 more",
    "all threads copy alike: a line of a tile is shared by a part of them, or by all",
    "copies take 16, 8 or 4 bytes (weights: 8 or 4) if each line begins at a multiple of them, else elements one by one",
    "copy=registers: f16, s8 and u8 on sm_75 too; copies take no more than what divides a line",
    "pack: j, k, l, leading dimensions, strides and the batch are fixed, and no operand is an array of pointers",
    "the stages fit the 227 KiB of shared memory that a block may have",
    "width is 1, 2, 4, 8 or 16; vector is 1, 2 or 4",
    "group needs rows=y",
    TJ_SPLITS_CONSTRAINT,
    "each grid axis holds the blocks it counts: 65 535 on y, 2 147 483 647 on x",
    NULL,
};

tj_mma_shape tj_mma_shape_of(const tj_problem *view, const tj_config *config)
{
    const int32_t *v = config->value, bytes = tj_facts_of(tj_leading_type(view->m.type, view->n.type))->bytes;
    tj_mma_shape s = {v[BM],   v[BN],   v[STEPS],  v[WM],     v[WN],    v[SPLITS], v[STAGES], v[BLOCKS], v[COPY],
                      v[PACK], v[LOAD], v[SLICES], v[SCALES], v[WIDTH], v[VECTOR], v[GROUP],  v[ROWS],   v[TRANSPOSE]};

    s.element_bytes = bytes;
    s.k_step = bytes >= 8 ? 8 : 2 * TJ_MMA_CHUNK / bytes * (tj_is_fp4(view) ? 2 : 1);
    s.slices = s.slices > 0 ? s.slices : 1; /* not settled yet */
    s.slice_k = s.steps * s.k_step;
    s.bk = s.slices * s.slice_k;
    s.threads = s.wm > 0 && s.wn > 0 ? s.slices * (s.bm / s.wm * (s.bn / s.wn)) * WARP : 0;
    return s;
}

/* An open WN is not known to have whole blocks. */
static bool quantizes(const tj_problem *problem, const tj_config *config)
{
    const int32_t *const v = config->value;

    return v[SLICES] == 1 && tj_quantize_fits(problem, v[WN], v[SPLITS]);
}

static tj_tile tile(const tj_problem *problem, const tj_config *config)
{
    const tj_mma_shape s = tj_mma_shape_of(problem, config);

    return (tj_tile){s.bm, s.bk, s.bn, "BM", "BK", "BN"};
}

bool tj_mma_packs(const tj_mma_shape *s, bool is_m)
{
    return s->pack == TJ_MMA_PACK_BOTH || s->pack == (is_m ? TJ_MMA_PACK_M : TJ_MMA_PACK_N);
}

bool tj_mma_widens(const tj_problem *view, const tj_mma_shape *s, bool is_m)
{
    return tj_is_weights(view, is_m ? TJ_MATRIX_M : TJ_MATRIX_N) && !tj_mma_packs(s, is_m);
}

/* ---- tiles -------------------------------------------------------------------------------------------------------- */

/* Does no copy reach beyond the end of a line? */
static bool ends_whole(const tj_problem *view, tj_which which, int32_t width)
{
    const tj_dim dim = tj_problem_lines(view, which).width;

    return (dim.mode == TJ_DIM_FIXED ? dim.extent : dim.multiple_of > 1 ? dim.multiple_of : 1) % width == 0;
}

/* An asynchronous copy may copy fewer elements than its width; a load to registers always takes all of them. */
static bool may_be_copied(const tj_problem *view, tj_which which, int32_t width, bool is_async)
{
    return width == 1 || (tj_access_lines_begin_at(view, which, width) && (is_async || ends_whole(view, which, width)));
}

/*
 * Choose the widest copy that every line of a stored matrix allows: 16, 8 or 4 bytes of a tile, or 4 bytes that are loaded
 * element by element. Weights that are widened word by word on their way take 16 or 8.
 */
static void choose_copy(const tj_problem *view, const tj_mma_shape *s, bool is_m, tj_mma_tile *t)
{
    const tj_which which = is_m ? TJ_MATRIX_M : TJ_MATRIX_N;
    const bool widens = tj_mma_widens_copies(view, s, t, is_m), is_async = s->copy != TJ_COPY_REGISTERS && !widens;
    const int32_t least = widens ? LEAST_WEIGHTS : LEAST_COPY / t->bytes;

    t->pass = is_async ? TJ_MMA_PAST : TJ_MMA_THROUGH;
    for (t->width = tj_least(TJ_MMA_CHUNK / t->bytes, s->width); t->width > 0 && t->width >= least; t->width /= 2)
        if (may_be_copied(view, which, t->width, is_async))
            return;
    t->pass = TJ_MMA_GATHERED;
    t->width = least;
}

static tj_mma_load load_of(int32_t bytes, bool along_k)
{
    if (bytes >= 8)
        return TJ_MMA_ELEMENTS;
    if (along_k)
        return TJ_MMA_WHOLE;
    return bytes == 4 ? TJ_MMA_ELEMENTS : bytes == 2 ? TJ_MMA_HALVES : TJ_MMA_BYTES;
}

static bool lies_along_k(const tj_problem *view, bool is_m)
{
    return is_m ? view->m.layout == TJ_ROW_MAJOR : view->n.layout == TJ_COL_MAJOR;
}

static bool holds_pairs(const tj_problem *view, bool is_m)
{
    return tj_type_is_pair(is_m ? view->m.type : view->n.type);
}

/*
 * Is it transposed on its way to the workspace? Pairs are packed as they lie; ldmatrix transposes elements of two bytes;
 * elements of eight are never loaded with it.
 */
static bool transposes(const tj_problem *view, const tj_mma_shape *s, bool is_m)
{
    return s->transpose == TJ_MMA_TRANSPOSE_YES && tj_mma_packs(s, is_m) && !lies_along_k(view, is_m) &&
           !holds_pairs(view, is_m) && (s->element_bytes == 1 || s->element_bytes == 4);
}

/*
 * Does cp.async copy the weights unchanged? Their lines begin at multiples of 4 bytes; lines across k need units of 2 bytes
 * that fill a warp's tile, and are not for e4m3, of which a register has four along k.
 */
static bool keeps_weights(const tj_problem *view, const tj_mma_shape *s, bool is_m)
{
    const tj_which which = is_m ? TJ_MATRIX_M : TJ_MATRIX_N;
    const int32_t numbers = tj_type_numbers(tj_problem_matrix(view, which)->type);

    return tj_mma_widens(view, s, is_m) && s->copy != TJ_COPY_REGISTERS && s->width >= LEAST_COPY &&
           tj_access_lines_begin_at(view, which, LEAST_COPY) &&
           (lies_along_k(view, is_m) || (!tj_widens_to_fp8(view) && (is_m ? s->wm : s->wn) % (TJ_MMA_CHUNK * numbers) == 0));
}

/* Have both steps of a word the same scales? Each step has its own elements of a word that was repacked, and zero points serve both. */
static bool words_suit_parts(const tj_problem *view, const tj_mma_shape *s)
{
    const bool is_one = !tj_has_repacked(view) || tj_scale_of(view, TJ_MATRIX_M)->zero || tj_scale_of(view, TJ_MATRIX_N)->zero;

    return tj_scale_k(view) % ((is_one ? 2 : 1) * s->k_step) == 0;
}

/*
 * Do lanes load words of 8 weights along k, for two steps at once, and 8 neighbours of what they are multiplied by, unless the
 * weights were repacked? Steps take turns in four quarters of registers.
 */
static bool loads_words(const tj_problem *view, const tj_mma_shape *s)
{
    return !tj_widens_to_fp8(view) && !tj_is_invariant(view) && s->steps % 4 == 0 && words_suit_parts(view, s) &&
           s->load != TJ_MMA_NEEDED && lies_along_k(view, true) && lies_along_k(view, false) &&
           (keeps_weights(view, s, true) || keeps_weights(view, s, false));
}

tj_mma_tile tj_mma_tile_of(const tj_problem *view, const tj_mma_shape *s, bool is_m)
{
    const bool along_k = lies_along_k(view, is_m) || transposes(view, s, is_m);
    const int32_t across = is_m ? s->bm : s->bn;
    tj_mma_tile t = {.lines = along_k ? across : s->bk,
                     .line = along_k ? s->bk : across,
                     .bytes = s->element_bytes,
                     .load = load_of(s->element_bytes, along_k)};

    if (keeps_weights(view, s, is_m)) {
        const int32_t numbers = tj_type_numbers(tj_problem_matrix(view, is_m ? TJ_MATRIX_M : TJ_MATRIX_N)->type);

        t.load = !along_k ? TJ_MMA_WEIGHTS : loads_words(view, s) ? TJ_MMA_WORDS : TJ_MMA_UNITS;
        t.bytes = 1;
        t.line /= numbers;
        t.neighbours = along_k ? 1 : 2 * numbers;
    } else if (tj_is_fp4(view)) {
        t.line /= 2;
        t.neighbours = 1;
    } else {
        t.load = loads_words(view, s) && !tj_has_repacked(view) ? TJ_MMA_RUNS : t.load;
        t.neighbours = t.load == TJ_MMA_BYTES ? 2 : 1;
    }
    /* Lanes that load elements of 4 bytes stand 8 x 4 on lines; the padding moves neighbouring lines apart by 8 banks. */
    t.pitch = t.line + (t.load == TJ_MMA_ELEMENTS && s->element_bytes == 4 ? 8 : 0);
    choose_copy(view, s, is_m, &t);
    if (tj_mma_packs(s, is_m)) {
        t.pass = s->copy == TJ_COPY_REGISTERS ? TJ_MMA_THROUGH : TJ_MMA_PAST;
        t.width = TJ_MMA_CHUNK / s->element_bytes;
    }
    if (s->threads * t.width % t.line == 0)
        t.go = s->threads * t.width / t.line;
    if (t.go < t.lines && t.go > 0 && t.lines % t.go != 0)
        t.go = 0;
    t.goes = t.go == 0 || t.go > t.lines ? 1 : t.lines / t.go;
    return t;
}

/* Pack to whole tiles, so that the product's copies need no checks. */
tj_pack tj_mma_pack_of(const tj_problem *view, const tj_mma_shape *s)
{
    const tj_mma_tile m = tj_mma_tile_of(view, s, true), n = tj_mma_tile_of(view, s, false);
    const bool may_align = s->width * s->element_bytes >= TJ_MMA_CHUNK;

    return (tj_pack){{
        [TJ_MATRIX_M] = {tj_mma_packs(s, true), transposes(view, s, true), may_align, m.lines, m.line, SLICE_M},
        [TJ_MATRIX_N] = {tj_mma_packs(s, false), transposes(view, s, false), may_align, n.lines, n.line, SLICE_N},
    }};
}

static tj_problem moved(const tj_problem *view, const tj_config *config)
{
    const tj_mma_shape s = tj_mma_shape_of(view, config);
    const tj_pack pack = tj_mma_pack_of(view, &s);

    return tj_pack_moved(view, &pack);
}

int64_t tj_mma_shared_bytes(const tj_problem *view, const tj_mma_shape *s)
{
    const tj_mma_tile m = tj_mma_tile_of(view, s, true), n = tj_mma_tile_of(view, s, false);
    const int64_t phase = (int64_t)m.lines * m.pitch * m.bytes + (int64_t)n.lines * n.pitch * n.bytes;
    const int64_t stages = s->stages * ((phase + 127) / 128 * 128),
                  sums = (int64_t)(s->slices - 1) * s->bm * s->bn * tj_sum_bytes(view);

    return stages > sums ? stages : sums;
}

int32_t tj_mma_part_k(const tj_problem *view, const tj_mma_shape *s)
{
    const int32_t part = tj_scale_k(view);

    if (tj_mma_scales_products(s))
        return 0;
    return view->compute == TJ_COMPUTE_F32_FP8 ? tj_greatest_divisor(part, MOST_TRUNCATED) : part;
}

int32_t tj_mma_sums(const tj_problem *view, const tj_mma_shape *s)
{
    return s->wm * s->wn / WARP * (tj_mma_part_k(view, s) > 0 ? 2 : 1);
}

int32_t tj_mma_registers(const tj_problem *view, const tj_mma_shape *s)
{
    const int32_t sums = tj_mma_sums(view, s) * tj_sum_bytes(view) / 4;
    const int32_t fragments =
        (s->wm / TJ_MMA_ROWS * 4 + s->wn / TJ_MMA_COLS * 2) * (tj_mma_splits_c64(view) ? 4
                                                               : s->element_bytes >= 8 ? s->element_bytes / 4
                                                               : loads_words(view, s)  ? 2
                                                                                       : 1);

    const int32_t rounded = view->m.type != TJ_C64 ? 0 : tj_mma_splits_c64(view) ? SPLIT_REGISTERS : ROUNDED_REGISTERS;
    const int32_t scales = tj_mma_scales_products(s) ? 2 * tj_mma_scale_words(view, s) * (s->wm + s->wn + WARP) / WARP : 0;

    return sums + (s->load == TJ_MMA_NEEDED ? 1 : 2) * fragments + scales + rounded +
           (tj_mma_has_float_zeros(view, true) ? s->wn / 2 : 0) + (tj_mma_has_float_zeros(view, false) ? s->wm / 4 : 0);
}

/* Registers of a copy in flight: its elements, each in a register of its own if gathered, and its address. */
static int32_t copy_registers(const tj_mma_tile *t, int32_t bytes)
{
    return t->pass == TJ_MMA_PAST ? 0 : ADDRESS_REGISTERS + (t->pass == TJ_MMA_GATHERED ? t->width : t->width * bytes / 4);
}

int32_t tj_mma_copies_at_once(const tj_problem *view, const tj_mma_shape *s, bool is_m)
{
    const tj_mma_tile m = tj_mma_tile_of(view, s, true), n = tj_mma_tile_of(view, s, false);
    const int32_t left = tj_registers_left(s->blocks, s->threads) - tj_mma_registers(view, s) - OTHER_REGISTERS;
    const int32_t m_each = copy_registers(&m, s->element_bytes), n_each = copy_registers(&n, s->element_bytes),
                  each = is_m ? m_each : n_each, goes = is_m ? m.goes : n.goes;
    int32_t at_once = 1;

    if (each == 0 || m.goes * m_each + n.goes * n_each <= left)
        return goes;
    while (2 * at_once * each <= left &&
           2 * at_once < goes) /* a loop, because otherwise ptxas starts the other tile's copies too */
        at_once *= 2;
    return at_once;
}

int32_t tj_mma_p_vector(const tj_problem *view, const tj_mma_shape *s)
{
    /* Neighbouring columns of a thread: those of one product, or of two or four products whose columns alternate. */
    const int32_t run = 2 * tj_mma_tile_of(view, s, false).neighbours / tj_access_sums(view, s->splits);

    for (int32_t width = tj_type_is_pair(view->p.type) ? 1 : tj_least(run, s->vector); width > 1; width /= 2)
        if (s->splits > 1 ? tj_access_fits_workspace(view, width) : tj_access_fits_output(view, width))
            return width;
    return 1;
}

/* Bytes of an element in the caller's matrix. */
static int32_t stored_bytes(const tj_problem *view, bool is_m)
{
    return tj_facts_of(is_m ? view->m.type : view->n.type)->bytes;
}

/* ---- constraints -------------------------------------------------------------------------------------------------- */

static const char *mma_type(const tj_problem *view, int32_t type)
{
    return view->compute == TJ_COMPUTE_TF32 ? "tf32" : tj_facts_of(type)->name;
}

static tj_status check_type(const tj_problem *view, tj_error *err)
{
    const tj_status status = tj_widen_check(view, "mma", err);

    if (tj_type_is_pair(view->m.type) && tj_type_is_pair(view->n.type) && !tj_suits_block_scales(view))
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "family mma multiplies 4 bits by 4 bits for e2m1, both along k, with an even k and scales of e8m0 for 32 "
            "elements or e4m3 for 16, or none: use the family %s",
            TJ_SAFE_FAMILY->name);
    const bool is_f32 = tj_part_type(view->m.type) == TJ_F32;
    const bool splits = view->m.type == TJ_C64 && view->compute == TJ_COMPUTE_F32_SPLIT;

    if (status != TJ_OK || !is_f32 || view->compute == TJ_COMPUTE_TF32 || splits)
        return status;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "family mma has no tensor cores for %s as IEEE has it: ask for compute tf32, which rounds M and N, %sor use "
                   "another family",
                   tj_facts_of(view->m.type)->name, view->m.type == TJ_C64 ? "or f32_split, " : "");
}

/*
 * Registers of a thread's accumulators: twice as many where those of a part of k are added to those of all parts.
 */
static int32_t sum_registers(const tj_problem *view, const tj_mma_shape *s)
{
    return tj_mma_sums(view, s) * tj_sum_bytes(view) / 4;
}

bool tj_mma_has_one_scale(const tj_problem *view, const tj_mma_shape *s, bool is_m)
{
    const int32_t rows = tj_scale_of(view, is_m ? TJ_MATRIX_M : TJ_MATRIX_N)->rows;

    return rows == 0 || rows % (is_m ? s->wm : s->wn) == 0;
}

bool tj_mma_has_float_zeros(const tj_problem *view, bool is_m)
{
    const tj_scale *const scale = tj_scale_of(view, is_m ? TJ_MATRIX_M : TJ_MATRIX_N);

    return scale->zero != 0 && !tj_facts_of(scale->zero)->is_integer;
}

/*
 * Scales along k of 8-bit floats, or of weights, however they lie. A lane reads those of the rows that it multiplies. Each row of
 * weights may have zero points such that numbers of 16 bits have a weight less its zero point, or of floats.
 */
static bool takes_scales(const tj_problem *view)
{
    const bool are_fp8 =
        tj_type_is_fp8(tj_widened_type(view, TJ_MATRIX_M)) && tj_type_is_fp8(tj_widened_type(view, TJ_MATRIX_N));

    if (tj_is_fp4(view))
        return tj_suits_block_scales(view);
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_N; which++) {
        const tj_scale *const scale = tj_scale_of(view, which);

        if (scale->k > 0 ? !are_fp8 && !tj_is_weights(view, which) : scale->rows > 1 || scale->zero != 0)
            return false;
        if (scale->zero != 0 &&
            (scale->rows != 1 || tj_is_gathered(view) ||
             !(tj_mma_has_float_zeros(view, which == TJ_MATRIX_M) ? !tj_widens_to_fp8(view)
                                                                  : tj_widening_takes_zero(view, scale->zero))))
            return false;
    }
    return are_fp8 || tj_widens_weights(view->m.type, view->n.type);
}

int32_t tj_mma_parts(const tj_problem *view, const tj_mma_shape *s)
{
    const int32_t part = tj_mma_part_k(view, s);

    return part == 0 || part >= s->slice_k ? 1 : s->slice_k / part;
}

/* A slice of a phase must have whole parts of k, each of whole steps, or be part of one. */
static tj_status check_parts(const tj_problem *view, const tj_mma_shape *s, tj_error *err)
{
    const int32_t part = tj_mma_part_k(view, s), least = params[STEPS].minimum * s->k_step;

    if (part % s->k_step == 0 && (part % s->slice_k == 0 || (part > 0 && s->slice_k % part == 0)))
        return TJ_OK;
    if (part % least == 0)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "the products of each %d elements of k have a sum of their own, and steps=%d multiplies %d elements: one of these "
            "must be a multiple of the other, use steps=%d",
            part, s->steps, s->slice_k, params[STEPS].minimum);
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "scale_k is %d, and family mma takes scales along k for multiples of %d elements: use family tiled",
                   tj_scale_k(view), least);
}

static tj_status check_tiles(const tj_problem *view, const tj_mma_shape *s, tj_error *err)
{
    const struct {
        const char *name;
        int32_t value;
    } edge[] = {{"bm", s->bm}, {"bn", s->bn}, {"wm", s->wm}, {"wn", s->wn}};

    for (size_t i = 0; i < sizeof edge / sizeof edge[0]; i++)
        if (!tj_is_power_of_2(edge[i].value))
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is %d: it must be a power of two", edge[i].name, edge[i].value);
    if (s->wm > s->bm || s->wn > s->bn)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "a warp tile of %d x %d does not fit a block tile of %d x %d", s->wm,
                       s->wn, s->bm, s->bn);
    if (s->steps % 2 != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "steps is %d: it must be even, for steps take turns in two halves of registers", s->steps);
    if (!tj_is_power_of_2(s->slices))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "slices is %d: it must be 1, 2, 4 or 8", s->slices);
    if (s->threads > MOST_WARPS * WARP)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "a block of %d x %d with warp tiles of %d x %d has %d warps: %d are the most", s->bm, s->bn, s->wm,
                       s->wn, s->threads / WARP, MOST_WARPS);
    if (sum_registers(view, s) > MOST_SUM_REGISTERS)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "a warp tile of %d x %d sums does not fit the registers: %d are the most",
                       s->wm, s->wn, MOST_SUM_REGISTERS * WARP * 4 / tj_sum_bytes(view) / (tj_mma_part_k(view, s) > 0 ? 2 : 1));
    return check_parts(view, s, err);
}

static tj_status check_pack(const tj_problem *view, const tj_mma_shape *s, tj_error *err)
{
    const tj_pack pack = tj_mma_pack_of(view, s);
    char asked[ASKED_BYTES];

    (void)snprintf(asked, sizeof asked, "pack=%s", pack_choices[s->pack - 1]);
    if (tj_mma_splits_c64(view) && s->pack != TJ_MMA_PACK_NONE)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s is not for compute f32_split, whose kernel may have to read M and N again: use pack=none", asked);
    return tj_pack_check(view, &pack, s->splits, asked, "pack=none", err);
}

static tj_status check_copies(const tj_problem *view, const tj_mma_shape *s, bool is_m, tj_error *err)
{
    const tj_mma_tile t = tj_mma_tile_of(view, s, is_m);

    if (t.go > 0)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "%d threads cannot share the copies of %d lines of %d elements, %d at a time: change steps, or bm, bn, wm "
                   "and wn, which make that number",
                   s->threads, t.lines, t.line, t.width);
}

/* Threads that copy rows of M one by one do not widen them. */
static tj_status check_gathered(const tj_problem *view, const tj_mma_shape *s, tj_error *err)
{
    if (!tj_is_gathered(view) || !tj_mma_widens(view, s, true))
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "family mma gathers rows of M as they are, and those of %s would be widened: let N hold the weights, or use "
                   "family %s",
                   tj_facts_of(view->m.type)->name, TJ_SAFE_FAMILY->name);
}

static tj_status check_room(const tj_problem *view, const tj_mma_shape *s, tj_error *err)
{
    const int64_t bytes = tj_mma_shared_bytes(view, s);
    const int32_t needed = tj_mma_registers(view, s) + OTHER_REGISTERS, left = tj_registers_left(s->blocks, s->threads);

    if (bytes > MAX_SHARED)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%d stages of tiles of %d x %d and %d x %d need %lld bytes of shared memory: %d are the most", s->stages,
                       s->bm, s->bk, s->bk, s->bn, (long long)bytes, MAX_SHARED);
    if (needed <= left)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "%d blocks of %d threads leave each thread %d registers, and a warp tile of %d x %d takes %d: use a smaller "
                   "warp tile, or fewer blocks",
                   s->blocks, s->threads, left, s->wm, s->wn, needed);
}

/* Zero points are taken from weights that a warp widens, words or units across k. */
static tj_status check_zeros(const tj_problem *view, const tj_mma_shape *s, tj_error *err)
{
    for (int is_m = 0; is_m < 2; is_m++) {
        const tj_mma_tile t = tj_mma_tile_of(view, s, is_m);

        if (tj_scale_of(view, is_m ? TJ_MATRIX_M : TJ_MATRIX_N)->zero != 0 && t.load != TJ_MMA_WORDS &&
            t.load != TJ_MMA_WEIGHTS)
            return tj_fail(
                err, TJ_ERR_INVALID_ARGUMENT,
                "%c has zero points, and family mma takes them from weights that lie along k as the other operand does, "
                "with steps=4 or 8 and parts of a multiple of 32, or across k: use those, without pack=%c, or the family "
                "tiled",
                is_m ? 'M' : 'N', is_m ? 'm' : 'n');
    }
    return TJ_OK;
}

/* Return the widest tile of a warp that leaves a block at least four warps. */
static int32_t warp_edge(int32_t block_edge, int32_t most)
{
    const int32_t half = block_edge / 2 < TJ_MMA_ROWS ? TJ_MMA_ROWS : block_edge / 2;

    return tj_least(half, most);
}

static bool is_widened_on_its_way(const tj_problem *view, const tj_mma_shape *s, bool is_m)
{
    const tj_mma_tile t = tj_mma_tile_of(view, s, is_m);

    return holds_pairs(view, is_m) && tj_mma_widens_copies(view, s, &t, is_m);
}

static tj_status check_scales(const tj_problem *view, const tj_mma_shape *s, tj_error *err)
{
    if (!tj_mma_scales_products(s)) {
        if (!tj_is_fp4(view))
            return TJ_OK;
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "M and N are e2m1, which tensor cores multiply with scales=instruction alone: leave scales open");
    }
    if (!tj_suits_block_scales(view))
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "scales=instruction is for 8-bit floats and e2m1, with scales of e8m0 for 32 elements of k (e2m1: also of e4m3 "
            "for 16) or without scales along k, and not for this problem: use scales=sums");
    if (s->steps % 4 != 0 && !tj_is_fp4(view))
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "steps is %d, and scales=instruction reads the scales of 8-bit floats for four steps at once: use steps=4 or 8",
            s->steps);
    if (s->load == TJ_MMA_NEEDED)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "scales=instruction is for fragments that are loaded ahead: use load=ahead");
    if (s->pack != TJ_MMA_PACK_NONE && tj_is_fp4(view))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "pack=%s is not for e2m1 by e2m1, whose pairs are read as they lie: use pack=none",
                       pack_choices[s->pack - 1]);
    return TJ_OK;
}

/* Words alone are loaded as the lanes of repacked weights take them. */
static tj_status check_order(const tj_problem *view, const tj_mma_shape *s, tj_error *err)
{
    if (!tj_has_repacked(view) || loads_words(view, s))
        return TJ_OK;
    return tj_fail(
        err, TJ_ERR_INVALID_ARGUMENT,
        "family mma takes repacked weights by words, next to f16 or bf16 along k, with steps=4 or 8, load=ahead, "
        "copy=async, width=4 or more and pack=none for them, and scales for 16 elements of k (with zero points 32) or "
        "multiples: steps is %d; or use family wgmma or tiled",
        s->steps);
}

/* Refuse weights of 4 bits that copies would have to widen on the way to shared memory: TJ_ERR_INVALID_ARGUMENT. */
static tj_status check_pairs(const tj_problem *view, const tj_mma_shape *s, tj_error *err)
{
    for (int is_m = 0; is_m < 2; is_m++)
        if (is_widened_on_its_way(view, s, is_m))
            return tj_fail(
                err, TJ_ERR_INVALID_ARGUMENT,
                "%c is %s, and family mma takes lines of it that begin at multiples of 4 bytes, with copy=async and, "
                "across k, f16 or bf16 as the other operand and %s=32 and more: use pack=%c, which needs fixed dimensions and "
                "no groups, or the family skinny or tiled",
                is_m ? 'M' : 'N', tj_facts_of(is_m ? view->m.type : view->n.type)->name, is_m ? "wm" : "wn", is_m ? 'm' : 'n');
    return TJ_OK;
}

/*
 * Does packing pay? Narrow loads take more instructions each time that a tile is read; packing costs one more pass over the
 * operand, so it pays from a number of reads on. Measured on an H200 in f64.
 */
static bool is_worth_packing(const tj_problem *view, const tj_mma_shape *s, bool is_m)
{
    const tj_mma_tile t = tj_mma_tile_of(view, s, is_m);
    const int32_t bytes = (t.pass == TJ_MMA_GATHERED ? 1 : t.width) * stored_bytes(view, is_m); /* of one load */
    const int64_t times = is_m ? tj_ceil_div(view->l.extent, s->bn) : tj_ceil_div(view->j.extent, s->bm);

    if (tj_is_fp4(view))
        return false;
    if (holds_pairs(view, is_m) && !tj_mma_keeps_weights(&t)) /* copies to shared memory do not widen pairs */
        return true;
    return bytes < TJ_MMA_CHUNK && times * (TJ_MMA_CHUNK / bytes - 1) >= WORTH_PACKING;
}

static int32_t pack_default(const tj_problem *view, tj_mma_shape s)
{
    const bool m = is_worth_packing(view, &s, true), n = is_worth_packing(view, &s, false);

    s.pack = m && n ? TJ_MMA_PACK_BOTH : m ? TJ_MMA_PACK_M : n ? TJ_MMA_PACK_N : TJ_MMA_PACK_NONE;
    return check_pack(view, &s, NULL) == TJ_OK ? s.pack : TJ_MMA_PACK_NONE;
}

/*
 * On an H200 c128 took 1.2 times as long at 4096^3 with fragments that are loaded when needed, and c64 in tf32 1.2 times. Those of
 * f32_split are twice as large.
 */
static int32_t load_of_complex(const tj_problem *view)
{
    return tj_mma_splits_c64(view) ? TJ_MMA_NEEDED : TJ_MMA_AHEAD;
}

/*
 * Return the default of parameter load. If warps round to tf32 elements that were copied by less than 16 bytes, they issue more
 * instructions, and loading ahead costs more than it hides: 1.1 to 1.25 times on an H200. Otherwise loading ahead is faster.
 */
static int32_t load_default(const tj_problem *view, const tj_mma_shape *s)
{
    if (tj_is_complex(view))
        return load_of_complex(view);
    for (int is_m = 0; is_m < 2 && view->compute == TJ_COMPUTE_TF32; is_m++) {
        const tj_mma_tile t = tj_mma_tile_of(view, s, is_m);

        if (t.pass == TJ_MMA_GATHERED || t.width * s->element_bytes < TJ_MMA_CHUNK)
            return TJ_MMA_NEEDED;
    }
    return TJ_MMA_AHEAD;
}

static tj_reduction_slots slots_of(const tj_problem *view, const tj_mma_shape *s)
{
    return (tj_reduction_slots){
        .of_row = tj_ceil_div(view->l.extent, s->bn) * (s->bn / s->wn),
        .of_col = tj_ceil_div(view->j.extent, s->bm) * (s->bm / s->wm),
        .lane_cols = 4,
        .row_slot = "tile_x * (BN / WN) + warp % (BN / WN)",
        .col_slot = "tile_y * (BM / WM) + warp / (BN / WN)",
    };
}

static tj_status check_reductions(const tj_problem *view, const tj_mma_shape *s, tj_error *err)
{
    const tj_reduction_slots slots = slots_of(view, s);

    return tj_reductions_check(view, &slots, err);
}

static tj_status resolve(const tj_problem *view, bool is_swapped, tj_config *config, tj_error *err)
{
    int32_t *const v = config->value;
    tj_status status = check_type(view, err);
    tj_mma_shape s;

    if (status != TJ_OK)
        return status;
    if (v[SCALES] == 0)
        v[SCALES] = tj_is_fp4(view) ? TJ_MMA_SCALES_IN_INSTRUCTION : TJ_MMA_SCALES_OF_SUMS;
    s = tj_mma_shape_of(view, config);
    for (int edge = BM; edge <= BN; edge++)
        if (v[edge] == 0)
            v[edge] = tj_sum_bytes(view) >= 8 ? 64 : 128;
    if (v[WM] == 0)
        v[WM] = warp_edge(v[BM], tj_sum_bytes(view) >= 8 ? 32 : 64);
    if (v[WN] == 0)
        v[WN] = warp_edge(v[BN], tj_sum_bytes(view) == 16                                 ? 16
                                 : tj_sum_bytes(view) == 8 || tj_mma_part_k(view, &s) > 0 ? 32
                                                                                          : 64);
    if (v[COPY] == 0)
        v[COPY] = TJ_COPY_ASYNC;
    s = tj_mma_shape_of(view, config);
    if (!tj_is_power_of_2(s.vector))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "vector is %d: it must be 1, 2 or 4", s.vector);
    if (!tj_is_power_of_2(s.width))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "width is %d: it must be 1, 2, 4, 8 or 16", s.width);
    if (v[PACK] == 0)
        v[PACK] = s.pack = pack_default(view, s);
    if (v[LOAD] == 0)
        v[LOAD] = s.load = load_default(view, &s);
    status = check_scales(view, &s, err);
    if (status == TJ_OK)
        status = check_tiles(view, &s, err);
    if (status == TJ_OK)
        status = check_order(view, &s, err);
    if (status == TJ_OK)
        status = check_pairs(view, &s, err);
    if (status == TJ_OK)
        status = check_zeros(view, &s, err);
    if (status == TJ_OK)
        status = check_pack(view, &s, err);
    if (status == TJ_OK)
        status = check_copies(view, &s, true, err);
    if (status == TJ_OK)
        status = check_copies(view, &s, false, err);
    if (status == TJ_OK)
        status = check_gathered(view, &s, err);
    if (status == TJ_OK)
        status = check_room(view, &s, err);
    if (status == TJ_OK)
        status = tj_split_check(view, s.splits, err);
    if (status == TJ_OK)
        status = check_reductions(view, &s, err);
    if (status == TJ_OK)
        status = tj_tile_resolve(view, is_swapped, config, err);
    return status == TJ_OK ? tj_tile_settle_group(view, s.bm, s.splits, v[ROWS], &v[GROUP], err) : status;
}

/* Halve the number of blocks or, if it is one, the longer side of a warp's tile and the block's side. */
static bool relax(tj_config *config)
{
    int32_t *const v = config->value;
    const bool is_tall = v[WM] >= v[WN];

    if (tj_relax_blocks(config))
        return true;
    if (v[is_tall ? WM : WN] <= TJ_MMA_ROWS)
        return false;
    v[is_tall ? WM : WN] /= 2;
    v[is_tall ? BM : BN] /= 2;
    return true;
}

static bool for_any_operands(bool has_workspace, tj_config *config)
{
    config->value[WIDTH] = config->value[VECTOR] = 1;
    config->value[PACK] = has_workspace ? 0 : TJ_MMA_PACK_NONE;
    if (!has_workspace)
        config->value[SPLITS] = 1;
    return true;
}

/*
 * With an invariant, elements lie in fragments as they do in memory (loads_words), and 8-bit floats are multiplied as halves in
 * every warp tile (tj_mma_writes_halves). Tensor cores add f64 one by one.
 */
static tj_sum_order sum_order(const tj_problem *view, const tj_config *config)
{
    const tj_mma_shape s = tj_mma_shape_of(view, config);

    if (s.slices > 1 || s.splits > 1 || tj_mma_scales_products(&s) || tj_is_complex(view))
        return TJ_SUMS_OWN;
    return s.element_bytes == 8 ? TJ_SUMS_IN_CHAIN : TJ_SUMS_BY_TENSOR_CORES;
}

/* ---- tuning ------------------------------------------------------------------------------------------------------- */

enum { FULL_GPU = 1024 }; /* blocks that occupy any GPU */

/* Elements of a warp tile of f32_split: 16 x 16 took 1.3 times as long at 4096^3 on an H200, as more fragments are taken apart. */
enum { GOOD_SPLIT = 32 * 32 };

static bool has_async_copies(const tj_problem *view, const tj_mma_shape *s)
{
    return tj_mma_tile_of(view, s, true).pass == TJ_MMA_PAST || tj_mma_tile_of(view, s, false).pass == TJ_MMA_PAST;
}

/* Do tensor cores of sm_75, which has no asynchronous copies, multiply this type? */
static bool is_on_sm_75(int32_t type)
{
    return type == TJ_F16 || tj_type_is_int8(type);
}

static bool is_hopeless(const tj_problem *view, const tj_config *config, size_t known)
{
    tj_mma_shape s = tj_mma_shape_of(view, config);
    const int64_t tiles =
        tj_ceil_div(view->j.extent, s.bm) * tj_ceil_div(view->l.extent, s.bn) * (view->batch > 1 ? view->batch : 1);

    if (known <= SCALES && tj_suits_block_scales(view)) /* which has fewer sums, and no parts */
        s.scales = TJ_MMA_SCALES_IN_INSTRUCTION;
    return check_type(view, NULL) != TJ_OK || (known > BM && tj_tile_is_oversized(s.bm, TJ_MMA_ROWS, view->j.extent)) ||
           (known > BN && tj_tile_is_oversized(s.bn, TJ_MMA_ROWS, view->l.extent)) ||
           (known > WN && check_tiles(view, &s, NULL) != TJ_OK) || (known > SCALES && check_scales(view, &s, NULL) != TJ_OK) ||
           (known > SPLITS && s.splits > 1 && (tiles * s.splits > FULL_GPU || view->k.extent < (int64_t)s.splits * 2 * s.bk)) ||
           (known > BLOCKS && check_room(view, &s, NULL) != TJ_OK) ||
           (known > COPY && s.copy == TJ_COPY_REGISTERS && !is_on_sm_75(tj_widened_type(view, TJ_MATRIX_M)));
}

/*
 * Should a tuner try packing? If the operand would be gathered, transposed or widened otherwise, leave the decision to the
 * model. The same holds where narrow loads are many, because they may cost less than one more kernel. Where they are few,
 * packing does not pay.
 */
static bool is_pack_worth_trying(const tj_problem *view, const tj_mma_shape *s, bool is_m)
{
    tj_mma_shape settled = *s;

    if (transposes(view, s, is_m))
        return true;
    settled.pack = TJ_MMA_PACK_NONE;
    if (tj_mma_tile_of(view, &settled, is_m).pass == TJ_MMA_GATHERED || tj_mma_widens(view, &settled, is_m))
        return true;
    settled.pack = pack_default(view, settled);
    return !tj_mma_packs(s, is_m) || tj_mma_packs(&settled, is_m);
}

/* If all copies are gathered, parameter copy changes nothing; if no copy is asynchronous, a third stage is useless. */
static bool is_copy_worth_trying(const tj_problem *view, const tj_mma_shape *s)
{
    tj_mma_shape async = *s;

    async.copy = TJ_COPY_ASYNC;
    return (s->copy == TJ_COPY_ASYNC || has_async_copies(view, &async)) && (s->stages == 2 || has_async_copies(view, s));
}

/*
 * Is spilling likely? Two warps with the most accumulators that a thread may have, plus the addresses of a long phase's copies,
 * exceed the registers.
 */
static bool is_likely_to_spill(const tj_problem *view, const tj_mma_shape *s)
{
    const tj_mma_tile m = tj_mma_tile_of(view, s, true), n = tj_mma_tile_of(view, s, false);
    const int32_t copies = (m.pass == TJ_MMA_PAST ? m.goes : 0) + (n.pass == TJ_MMA_PAST ? n.goes : 0);

    return tj_mma_registers(view, s) > MOST_SUM_REGISTERS * 4 / 3 && copies > MOST_COPIES;
}

static bool is_worth_trying(const tj_problem *view, const tj_config *config)
{
    const tj_mma_shape s = tj_mma_shape_of(view, config);
    const int64_t rows = tj_ceil_div(view->j.extent, s.bm), cols = tj_ceil_div(view->l.extent, s.bn);

    return !is_hopeless(view, config, TJ_CONFIG_MAX_PARAMS) && tj_tile_group_matters(view, s.splits, s.group, rows, cols) &&
           (tj_is_complex(view) ? s.load == load_of_complex(view)
                                : s.load == TJ_MMA_AHEAD || view->compute == TJ_COMPUTE_TF32) &&
           !is_likely_to_spill(view, &s) && (s.slices == 1 || rows * cols <= FULL_GPU) &&
           (!tj_mma_splits_c64(view) ||
            (s.steps == 2 && (s.wm * s.wn >= GOOD_SPLIT || rows * cols * GOOD_SPLIT <= (int64_t)FULL_GPU * s.wm * s.wn))) &&
           (s.transpose == TJ_MMA_TRANSPOSE_NO || transposes(view, &s, true) || transposes(view, &s, false)) &&
           is_copy_worth_trying(view, &s) && is_pack_worth_trying(view, &s, true) && is_pack_worth_trying(view, &s, false);
}

/* ---- source ------------------------------------------------------------------------------------------------------- */

/* How the threads copy a tile, and what of it may lie outside. Packed operands are whole. */
typedef struct tile_copies {
    bool clips_lines, clips_ends;        /* lines may lie outside; so may elements at the end of a line */
    bool are_parts, are_zero, are_whole; /* some of an element's copy may be wanted; all or nothing; always all */
    bool widen, wait;                    /* weights become wider; they wait in registers until all are loaded */
    int32_t at_once;
} tile_copies;

static tile_copies copies_of(const tj_problem *view, const tj_mma_shape *s, const tj_checks *checks, const tj_mma_tile *t,
                             bool is_m)
{
    const bool clips = !tj_mma_packs(s, is_m), along_k = lies_along_k(view, is_m), across = is_m ? checks->j : checks->l;
    tile_copies c = {.clips_lines = (is_m && tj_is_gathered(view)) || (clips && (along_k ? across : checks->k)),
                     .clips_ends = clips && (along_k ? checks->k : across),
                     .widen = tj_mma_widens_copies(view, s, t, is_m),
                     .at_once = tj_mma_copies_at_once(view, s, is_m)};

    c.are_parts = t->pass == TJ_MMA_GATHERED ||
                  (t->pass == TJ_MMA_PAST && c.clips_ends && !ends_whole(view, is_m ? TJ_MATRIX_M : TJ_MATRIX_N, t->width));
    c.are_zero = !c.are_parts && (c.clips_lines || c.clips_ends);
    c.are_whole = !c.are_parts && !c.are_zero;
    c.wait = c.widen && c.at_once == t->goes;
    return c;
}

static const char *place_file(const tj_mma_tile *t)
{
    if (tj_mma_keeps_weights(t))
        return "mma/place_weights.cuh";
    if (t->load == TJ_MMA_ELEMENTS)
        return t->bytes >= 8 ? "mma/place_f64.cuh" : "mma/place_padded.cuh";
    return t->load == TJ_MMA_BYTES ? "mma/place_bytes.cuh" : "mma/place_swizzled.cuh";
}

static const char *copy_file(const tile_copies *c)
{
    if (c->widen)
        return c->wait ? "mma/copy_weights.cuh" : "mma/copy_widened.cuh";
    return c->are_parts ? "mma/copy_part.cuh" : c->are_zero ? "mma/copy_checked.cuh" : "mma/copy_whole.cuh";
}

/* f64: the part that loads fragments of M loads those of N too. */
static const char *load_file(const tj_mma_tile *t, bool is_m)
{
    static const char *const file[] = {
        [TJ_MMA_WHOLE] = "mma/load_m_whole.cuh", [TJ_MMA_HALVES] = "mma/load_m_halves.cuh",
        [TJ_MMA_BYTES] = "mma/load_m_bytes.cuh", [TJ_MMA_WEIGHTS] = "mma/load_m_weights.cuh",
        [TJ_MMA_UNITS] = "mma/load_m_units.cuh", [TJ_MMA_WORDS] = "mma/load_m_words.cuh",
        [TJ_MMA_RUNS] = "mma/load_m_runs.cuh",   [TJ_MMA_ELEMENTS] = "mma/load_m_elements.cuh",
    };

    return t->bytes < 8 ? file[t->load] : is_m ? "mma/load_f64.cuh" : "";
}

/* How many elements are left for a copy that may be wanted in part. */
static const char *wanted(const tile_copies *c, bool gathers)
{
    if (gathers)
        return c->clips_ends ? "m_at[line / M_GO] >= 0 ? m_left : 0" : "m_at[line / M_GO] >= 0 ? M_WIDTH : 0";
    if (c->clips_lines)
        return c->clips_ends ? "line < m_lines_left ? m_left : 0" : "line < m_lines_left ? M_WIDTH : 0";
    return c->clips_ends ? "m_left" : "M_WIDTH";
}

/* The arguments of the function that loads weights to registers. */
static const char *asked(const tile_copies *c)
{
    if (c->are_parts)
        return c->clips_lines  ? c->clips_ends ? "&m_from[line * ld_m], line < m_lines_left ? m_left : 0"
                                               : "&m_from[line * ld_m], line < m_lines_left ? M_WIDTH : 0"
               : c->clips_ends ? "&m_from[line * ld_m], m_left"
                               : "&m_from[line * ld_m], M_WIDTH";
    if (c->are_whole)
        return "&m_from[line * ld_m]";
    return c->clips_lines ? c->clips_ends ? "&m_from[line * ld_m], line < m_lines_left && m_left > 0"
                                          : "&m_from[line * ld_m], line < m_lines_left"
                          : "&m_from[line * ld_m], m_left > 0";
}

/* The name in the source of the type in shared memory. as_read: the operands after packing. */
static const char *stored_type(const tj_problem *view, const tj_problem *as_read, const tj_mma_tile *t, bool is_m)
{
    const int32_t type = is_m ? as_read->m.type : as_read->n.type;

    if (tj_mma_keeps_weights(t))
        return tj_facts_of(is_m ? view->m.type : view->n.type)->cuda;
    if (tj_widens_weights(as_read->m.type, as_read->n.type))
        return tj_facts_of(tj_leading_type(as_read->m.type, as_read->n.type))->cuda;
    return as_read->m.type == as_read->n.type ? "input_t" : tj_facts_of(type)->cuda;
}

/* Said of M, and holds for N (!is_m) with its letters (tj_template_set_of). */
static void describe_tile(const tj_problem *view, const tj_problem *as_read, const tj_mma_shape *s, const tj_mma_tile *t,
                          const tile_copies *c, bool is_m, tj_template_params *fill)
{
    const bool along_k = lies_along_k(view, is_m) || transposes(view, s, is_m);
    /* Weights of 4 bits that lie unchanged in shared memory, and e2m1: a stored element has two numbers. */
    const bool pairs = (tj_mma_keeps_weights(t) && tj_type_is_pair(is_m ? view->m.type : view->n.type)) || tj_is_fp4(view);
    const bool gathers = is_m && tj_is_gathered(view);
    const struct {
        const char *name;
        bool value;
    } flag[] = {
        {"m_along_k", along_k},
        {"m_spares", t->go > t->lines},
        {"m_clips_lines", c->clips_lines},
        {"m_clips_ends", c->clips_ends},
    };
    char text[TJ_TEMPLATE_VALUE_BYTES];

    for (size_t i = 0; i < sizeof flag / sizeof flag[0]; i++)
        tj_template_set_of(fill, is_m, flag[i].name, flag[i].value ? "1" : "");
    tj_template_set_int(fill, is_m ? "M_WIDTH" : "N_WIDTH", t->width);
    (void)snprintf(text, sizeof text, "M_LINE + %d", t->pitch - t->line);
    tj_template_set_of(fill, is_m, "M_PITCH", text);
    (void)snprintf(text, sizeof text, along_k ? "%s, M_LINE = BK%s" : "BK, M_LINE = %s%s", is_m ? "BM" : "BN",
                   pairs ? " / 2" : "");
    tj_template_set_of(fill, is_m, "M_LINES", text);
    tj_template_set_of(fill, is_m, "m_advance", !along_k ? "BK * ld_m" : pairs ? "BK / 2" : "BK");
    tj_template_set_of(fill, is_m, "m_places", place_file(t));
    tj_template_set_of(fill, is_m, "m_reader", tj_mma_loads_words(t) ? "reader_of(line)" : "line % 8");
    tj_template_set_of(fill, is_m, "m_share",
                       gathers   ? "mma/share_gathered.cuh"
                       : along_k ? "mma/share_along.cuh"
                                 : "mma/share_across.cuh");
    tj_template_set_of(fill, is_m, "m_line_at", gathers ? "max(m_at[line / M_GO], 0LL)" : "line * ld_m");
    tj_template_set_of(fill, is_m, "m_line_inside", gathers ? "m_at[line / M_GO] >= 0" : "line < m_lines_left");
    tj_template_set_of(fill, is_m, "m_copy", copy_file(c));
    tj_template_set_of(fill, is_m, "m_load",
                       tj_is_repacked(as_read, is_m ? TJ_MATRIX_M : TJ_MATRIX_N)
                           ? is_m ? "mma/load_m_repacked.cuh" : "mma/load_n_repacked.cuh"
                           : load_file(t, is_m));
    tj_template_set_of(fill, is_m, "m_stored_t", stored_type(view, as_read, t, is_m));
    tj_template_set_of(fill, is_m, "m_waiting", c->wait ? "mma/waiting.cuh" : "");
    tj_template_set_of(fill, is_m, "m_store_weights", c->wait ? "mma/store_weights.cuh" : "");
    tj_template_set_of(fill, is_m, "m_copy_part", t->pass == TJ_MMA_GATHERED ? "copy_elements" : "copy_async_part");
    tj_template_set_of(fill, is_m, "m_wanted", wanted(c, gathers));
    tj_template_set_of(fill, is_m, "m_load_weights",
                       c->are_parts  ? "load_weights_one_by_one<M_WIDTH>"
                       : c->are_zero ? "load_weights_or_zero<M_WIDTH>"
                                     : "load_weights<M_WIDTH>");
    tj_template_set_of(fill, is_m, "m_asked", asked(c));
    (void)snprintf(text, sizeof text, "unroll %d  // more at once would not fit the registers", c->at_once);
    tj_template_set_of(fill, is_m, "m_unroll", c->at_once < t->goes && !gathers ? text : "unroll"); /* m_at is in registers */
    tj_template_set_of(fill, is_m, "m_k_left", pairs ? "(k_left + 1) / 2" : "k_left");
    tj_template_set_of(fill, is_m, "m_halves_of", s->load != TJ_MMA_AHEAD ? "m" : tj_mma_loads_words(t) ? "m[4]" : "m[2]");
    tj_template_set_of(fill, is_m, "m_now",
                       s->load != TJ_MMA_AHEAD ? "m"
                       : tj_mma_loads_words(t) ? "m[step % 4]"
                                               : "m[step % 2]");
    tj_template_set(fill, is_m ? "m_block" : "n_block",
                    is_m    ? pairs ? "block_row / 2" : "block_row"
                    : pairs ? "block_col / 2"
                            : "block_col");
    tj_template_set(fill, is_m ? "m_inside" : "n_inside",
                    is_m    ? pairs ? "(j + 1) / 2 - block_row / 2" : "j - block_row"
                    : pairs ? "(l + 1) / 2 - block_col / 2"
                            : "l - block_col");
}

/* Describe the zero points of weights: what widen_neighbour adds last takes them in, or they are added after it. */
static void describe_zeros(const tj_problem *view, const tj_mma_tile *t, bool is_m, tj_template_params *fill)
{
    const bool has = tj_scale_of(view, is_m ? TJ_MATRIX_M : TJ_MATRIX_N)->zero != 0, adds = tj_widening_adds(view) != 0;
    const char *const first = !is_m ? "8 * c" : t->load == TJ_MMA_WORDS ? "16 * r + 8 * half" : "16 * r";
    const char letter = is_m ? 'm' : 'n';
    tj_text lines = TJ_TEXT_INIT(ZERO_BYTES);

    if (has)
        tj_text_print(&lines,
                      "const unsigned int less = __shfl_sync(0xffffffffu, %c_less[step / PART_STEPS][(%s) / 32], %s + "
                      "lane / 4%s);\n",
                      letter, first, first, t->load == TJ_MMA_WORDS ? "" : " * NEIGHBOURS + i");
    tj_template_take_lines(fill, is_m ? "m_zero" : "n_zero", &lines);
    tj_template_set(fill, "word_less", has ? "NEIGHBOURS, less)" : "NEIGHBOURS)");
    tj_template_set(fill, "unit_less", has ? "i, less)" : "i)");
    tj_template_set(fill, "widen_less", has && !adds ? "weights/widen_less.cuh" : "");
    tj_template_set(fill, "both",
                    !has                                                    ? ""
                    : tj_leading_type(view->m.type, view->n.type) == TJ_F16 ? "weights/both_f16.cuh"
                                                                            : "weights/both_bf16.cuh");
}

/* Describe weights that lie unchanged in shared memory. Only one of M and N is weights. */
static void describe_stored(const tj_problem *view, const tj_mma_tile *t, tj_template_params *fill)
{
    const bool pairs = tj_holds_pairs(view), units = t->load == TJ_MMA_UNITS, words = t->load == TJ_MMA_WORDS,
               fours = tj_widens_to_fp8(view), repacked = tj_has_repacked(view);

    tj_template_set(fill, "load_units", units || words ? "" : "weights/load_units.cuh");
    tj_template_set(fill, "widen_unit",
                    fours      ? ""
                    : units    ? "weights/unit.cuh"
                    : repacked ? "weights/reader.cuh"
                    : words    ? "weights/pair_up.cuh"
                               : "");
    tj_template_set(fill, "weights_lie",
                    fours      ? "weights/fours.cuh"
                    : units    ? "weights/along.cuh"
                    : repacked ? "weights/repacked.cuh"
                    : words    ? "weights/words.cuh"
                    : pairs    ? "weights/of_4.cuh"
                               : "weights/of_8.cuh");
    tj_template_set(fill, "NEIGHBOURS", units || repacked ? "" : pairs ? "4" : "2");
    tj_template_set(fill, "of_a_unit", words ? "a word" : "a unit");
    tj_template_set(fill, "WORDS", !words || repacked ? "" : pairs ? "1" : "2");
    tj_template_set(fill, "word_k", pairs ? "kk / 2" : "kk");
    tj_template_set(fill, "unit_k", pairs ? "kk / 2" : "kk");
    tj_template_set(fill, "unit_shift", pairs ? "12" : "8");
    tj_template_set(fill, "weights_unit", pairs && !fours ? "unsigned char" : "unsigned short");
    tj_template_set(fill, "widen_a_unit", fours ? "widen_four" : "widen_unit");
    tj_template_set(fill, "unit_first", fours ? "16 + lane % 4 * 4" : "8 + lane % 4 * 2");
}

static bool either_loads(const tj_mma_tile *m, const tj_mma_tile *n, tj_mma_load load)
{
    return m->load == load || n->load == load;
}

/* Describe which rows and columns of P a thread has, and whether fragments are rounded. */
static void describe_lanes(const tj_mma_tile *m, const tj_mma_tile *n, bool m_rounds, bool n_rounds, tj_template_params *fill)
{
    tj_template_set(fill, "lane_row",
                    m->load == TJ_MMA_BYTES     ? "lane / 4 * 2;  // in pairs, because of load_bytes"
                    : m->load == TJ_MMA_WEIGHTS ? "lane / 4 * NEIGHBOURS;  // neighbours, because of load_weights"
                                                : "lane / 4;");
    tj_template_set(fill, "lane_col",
                    n->load == TJ_MMA_BYTES     ? "lane % 4 * 4;  // in fours, because of load_bytes"
                    : n->load == TJ_MMA_WEIGHTS ? "lane % 4 * 2 * NEIGHBOURS;  // neighbours, because of load_weights"
                                                : "lane % 4 * 2;");
    tj_template_set(fill, "col_of_product",
                    n->load == TJ_MMA_BYTES     ? "c / 2 * 4 + c % 2"
                    : n->load == TJ_MMA_WEIGHTS ? "c / NEIGHBOURS * 2 * NEIGHBOURS + c % NEIGHBOURS"
                                                : "2 * c");
    tj_template_set(fill, "next_of_product",
                    n->load == TJ_MMA_BYTES     ? "col + 2;  // products 2 n and 2 n + 1 have every other column"
                    : n->load == TJ_MMA_WEIGHTS ? "col + NEIGHBOURS;  // NEIGHBOURS products take turns"
                                                : "col + 1;");
    tj_template_set(fill, "m_round", m_rounds ? "mma/round.cuh" : "");
    tj_template_set(fill, "n_rounded", n_rounds ? "round_to_tf32(fragment[i])" : "fragment[i]");
    tj_template_set(fill, "row_of",
                    m->neighbours == 4   ? "r / 4 * 32 + r % 4"
                    : m->neighbours == 2 ? "r / 2 * 16 + r % 2"
                                         : "r * 8");
    tj_template_set(fill, "col_of",
                    n->neighbours == 4   ? "c / 8 * 32 + c % 8"
                    : n->neighbours == 2 ? "c / 4 * 16 + c % 4"
                                         : "c / 2 * 8 + c % 2");
    tj_template_set(fill, "first_col", "thread_col");
    tj_template_set(fill, "first_sums", "block_col + warp_col");
}

/* Describe how tiles are copied, clipped and read. */
static void describe_tiles(const tj_problem *view, const tj_config *config, const tj_mma_shape *s, bool is_swapped,
                           tj_template_params *fill)
{
    const tj_checks checks = tj_checks_of(config, is_swapped);
    const tj_mma_tile m = tj_mma_tile_of(view, s, true), n = tj_mma_tile_of(view, s, false);
    const tile_copies of_m = copies_of(view, s, &checks, &m, true), of_n = copies_of(view, s, &checks, &n, false);
    const tj_pack pack = tj_mma_pack_of(view, s);
    const tj_problem as_read = tj_pack_moved(view, &pack);
    const bool is_async = has_async_copies(view, s), stores_weights = tj_mma_keeps_weights(&m) || tj_mma_keeps_weights(&n);
    const bool is_tf32 =
        view->compute == TJ_COMPUTE_TF32 && !tj_is_complex(view); /* elements of c64 are rounded when a fragment takes them */
    const bool m_gathers = m.pass == TJ_MMA_GATHERED, n_gathers = n.pass == TJ_MMA_GATHERED;
    const tj_widen_copies widened = {(of_m.widen && of_m.are_whole) || (of_n.widen && of_n.are_whole),
                                     (of_m.widen && of_m.are_zero) || (of_n.widen && of_n.are_zero),
                                     (of_m.widen && m_gathers) || (of_n.widen && n_gathers)};
    const struct {
        const char *name;
        bool value;
    } flag[] = {
        {"clips_copies", of_m.clips_lines || of_m.clips_ends || of_n.clips_lines || of_n.clips_ends},
        {"copies_part", (of_m.are_parts && !m_gathers) || (of_n.are_parts && !n_gathers)},
        {"copies_or_zero", (of_m.are_zero && !of_m.widen) || (of_n.are_zero && !of_n.widen)},
        {"copies_whole", (of_m.are_whole && !of_m.widen) || (of_n.are_whole && !of_n.widen)},
        {"copies_elements", (m_gathers && !of_m.widen) || (n_gathers && !of_n.widen)},
        {"copies_async", is_async},
        {"stores_weights", of_m.wait || of_n.wait},
        {"checks_phases", checks.k && (!tj_mma_packs(s, true) || !tj_mma_packs(s, false))},
        {"clips_rows", checks.j},
        {"clips_cols", checks.l},
    };

    for (size_t i = 0; i < sizeof flag / sizeof flag[0]; i++)
        tj_template_set_flag(fill, flag[i].name, flag[i].value);
    tj_widen_describe(view, widened,
                      tj_widens_weights(view->m.type, view->n.type) && !of_m.widen && !of_n.widen && !stores_weights, fill);
    if (stores_weights) {
        const bool is_m = tj_mma_keeps_weights(&m);

        describe_stored(view, is_m ? &m : &n, fill);
        describe_zeros(view, is_m ? &m : &n, is_m, fill);
    }
    describe_tile(view, &as_read, s, &m, &of_m, true, fill);
    describe_tile(view, &as_read, s, &n, &of_n, false, fill);
    describe_lanes(&m, &n, is_tf32 && !tj_mma_packs(s, true), is_tf32 && !tj_mma_packs(s, false), fill);
    tj_template_set(fill, "plain_copies",
                    (m.pass != TJ_MMA_PAST && !of_m.widen) || (n.pass != TJ_MMA_PAST && !of_n.widen) ? "parts/plain.cuh" : "");
    tj_template_set(fill, "swizzle", m.load != TJ_MMA_ELEMENTS || n.load != TJ_MMA_ELEMENTS ? "parts/swizzle.cuh" : "");
    tj_template_set(fill, "stored_weights", stores_weights ? "parts/weights.cuh" : "");
    tj_template_set(fill, "load_matrices", either_loads(&m, &n, TJ_MMA_WHOLE) ? "parts/load_matrices.cuh" : "");
    tj_template_set(fill, "load_transposed",
                    either_loads(&m, &n, TJ_MMA_HALVES) || either_loads(&m, &n, TJ_MMA_BYTES) ? "parts/load_transposed.cuh"
                                                                                              : "");
    tj_template_set(fill, "load_bytes", either_loads(&m, &n, TJ_MMA_BYTES) ? "parts/load_bytes.cuh" : "");
    tj_template_set(fill, "copy_next", is_async ? "parts/copy_next.cuh" : "mma/copy_next_plain.cuh");
    tj_template_set(fill, "past", is_async ? "past" : "through");
    tj_template_set(fill, "copy_whole", s->copy == TJ_COPY_ASYNC ? "copy_async" : "copy_plain");
    tj_template_set(fill, "copy_or_zero", s->copy == TJ_COPY_ASYNC ? "copy_async_or_zero" : "copy_plain_or_zero");
}

/* Which warp multiplies which steps of a phase. */
static void describe_slices(const tj_mma_shape *s, bool is_fp4, tj_template_params *fill)
{
    const bool slices = s->slices > 1;

    if (slices)
        tj_template_set_int(fill, "SLICES", s->slices);
    else
        tj_template_set(fill, "SLICES", "");
    tj_template_set(fill, "WARPS", slices ? "BM / WM * (BN / WN)" : "");
    tj_template_set(fill, "STEPS", slices ? "BK / K_STEP / SLICES" : "BK / K_STEP");
    tj_template_set(fill, "THREADS", slices ? "32 * WARPS * SLICES" : "32 * (BM / WM) * (BN / WN)");
    tj_template_set(fill, "warp_and_slice",
                    slices ? "threadIdx.x / 32 % WARPS, slice = threadIdx.x / 32 / WARPS" : "threadIdx.x / 32");
    tj_template_set(fill, "step_k",
                    is_fp4   ? slices ? "(slice * STEPS + step) * K_STEP / 2" : "step * K_STEP / 2"
                    : slices ? "(slice * STEPS + step) * K_STEP"
                             : "step * K_STEP");
    tj_template_set(fill, "two_steps", slices ? "(slice * STEPS + step) / 2" : "step / 2");
    tj_template_set(fill, "walk", slices ? "mma/walk_slices.cuh" : tj_template_get(fill, "walk_phases"));
}

/* Describe the products of the parts of complex numbers, and how a sum of f32_split is computed again. */
static void describe_complex(const tj_problem *view, tj_template_params *fill)
{
    const bool is_c64 = view->m.type == TJ_C64, splits = tj_mma_splits_c64(view), gathers = tj_is_gathered(view);
    const char *const row = gathers ? "gathered(m_index, Row, j, m_rows)" : "Row";

    tj_template_set(fill, "compute_again", splits ? "mma/compute_again.cuh" : "");
    if (!tj_is_complex(view))
        return;
    tj_template_set(fill, "multiply_parts", is_c64 ? "parts/multiply_tf32.cuh" : "parts/multiply_f64.cuh");
    tj_template_set(fill, "number_t", is_c64 ? "float" : "double");
    tj_template_set(fill, "factor_t", splits ? "c64" : is_c64 ? "tf32_c64" : "apart_c128");
    tj_template_set_flag(fill, "adds", splits);
    tj_template_set(fill, "multiply_split", splits ? "parts/multiply_split.cuh" : "");
    tj_template_set(fill, "row_of_m", row);
    tj_template_set(fill, "m_again", lies_along_k(view, true) ? "M[from * ld_m + kk]" : "M[kk * ld_m + from]");
    tj_template_set(fill, "n_again", lies_along_k(view, false) ? "N[Col * ld_n + kk]" : "N[kk * ld_n + Col]");
}

/* The part with the product of the tensor cores. On sm_75 a source without asynchronous copies multiplies a chunk at a time. */
static void describe_product(const tj_problem *view, const tj_mma_shape *s, tj_template_params *fill)
{
    static const char *const shape[] = {[1] = "m16n8k32", [2] = "m16n8k16", [4] = "m16n8k8"};
    const char *const sum = tj_type_get_facts(tj_sum_type(view))->name;
    const bool by_chunks = is_on_sm_75(tj_widened_type(view, TJ_MATRIX_M)) && !has_async_copies(view, s);
    const bool integers = sum[0] == 's', f64 = s->element_bytes >= 8;
    const bool is_fp8 = tj_type_is_fp8(tj_widened_type(view, TJ_MATRIX_M)), truncates = view->compute == TJ_COMPUTE_F32_FP8;
    char two[TJ_TEMPLATE_VALUE_BYTES];

    tj_template_set(fill, "multiply_add",
                    tj_mma_scales_products(s)                                 ? "parts/multiply_scaled.cuh"
                    : tj_is_complex(view)                                     ? "parts/multiply_complex.cuh"
                    : f64                                                     ? "parts/multiply_f64.cuh"
                    : by_chunks && integers                                   ? "parts/multiply_integers_75.cuh"
                    : by_chunks                                               ? "parts/multiply_f16_75.cuh"
                    : integers                                                ? "parts/multiply_integers.cuh"
                    : is_fp8 && (tj_mma_writes_halves(view, s) || !truncates) ? "parts/multiply_fp8.cuh"
                                                                              : "parts/multiply_add.cuh");
    tj_template_set(fill, "by_halves",
                    truncates                       ? "__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200"
                    : tj_mma_writes_halves(view, s) ? "__CUDA_ARCH__ < 1200"
                                                    : "__CUDA_ARCH__ < 900");
    for (int is_m = 0; is_m < 2 && is_fp8; is_m++) {
        (void)snprintf(two, sizeof two, "%sx2", tj_facts_of(tj_widened_type(view, is_m ? TJ_MATRIX_M : TJ_MATRIX_N))->name);
        tj_template_set_of(fill, is_m, "m_x2", two);
    }
    tj_template_set(fill, "mma_shape", tj_is_fp4(view) ? "m16n8k64" : f64 ? "m16n8k8" : shape[s->element_bytes]);
    tj_template_set(fill, "mma_m", mma_type(view, tj_widened_type(view, TJ_MATRIX_M)));
    tj_template_set(fill, "mma_n", mma_type(view, tj_widened_type(view, TJ_MATRIX_N)));
    tj_template_set(fill, "chunk", f64 ? "4 elements" : "16 bytes");
    tj_template_set(fill, "chunk_part", f64 ? "one numbered t" : "4 bytes numbered t");
    tj_template_set(fill, "place_note", f64 ? "mma/place_note_f64.cuh" : "mma/place_note.cuh");
    tj_template_set(fill, "fragment_t",
                    tj_mma_splits_c64(view)   ? "split_c64"
                    : view->m.type == TJ_C64  ? "tf32_c64"
                    : view->m.type == TJ_C128 ? "apart_c128"
                    : f64                     ? "double"
                                              : "unsigned int");
    tj_template_set_flag(fill, "loads_ahead", s->load == TJ_MMA_AHEAD);
    tj_template_set(fill, "next_stage", tj_mma_walks_evenly(s) ? "parts/next_stage_evenly.cuh" : "parts/next_stage.cuh");
    tj_template_set(fill, "which_step", s->load == TJ_MMA_AHEAD ? "int step" : "");
    tj_template_set(fill, "fragments",
                    tj_mma_splits_c64(view)            ? "parts/split_c64.cuh"
                    : view->m.type == TJ_C64           ? "parts/tf32_c64.cuh"
                    : view->m.type == TJ_C128          ? "parts/apart_c128.cuh"
                    : view->compute == TJ_COMPUTE_TF32 ? "parts/tf32.cuh"
                                                       : "");
    describe_complex(view, fill);
    tj_template_set_int(fill, "K_STEP", s->k_step);
    tj_split_describe_walk(&view->k, s->splits, s->bk, s->stages, false, fill);
    tj_template_set(fill, "walk_phases", s->load == TJ_MMA_AHEAD ? "parts/walk.cuh" : "mma/walk.cuh");
    describe_slices(s, tj_is_fp4(view), fill);
    tj_template_set(fill, "loads_next", tj_mma_walks_evenly(s) ? "else" : "else if (phase + 1 < phases)");
}

static void describe_alignment(const tj_problem *view, const tj_mma_shape *s, tj_launch_form *form)
{
    const int32_t p = s->splits > 1 ? 1 : tj_mma_p_vector(view, s), out = p > 1 ? p * tj_facts_of(view->p.type)->bytes : 0;

    for (int is_m = 0; is_m < 2; is_m++) {
        const tj_mma_tile t = tj_mma_tile_of(view, s, is_m);

        if (!tj_mma_packs(s, is_m) && t.pass != TJ_MMA_GATHERED && t.width > 1)
            form->align[is_m != form->is_swapped ? TJ_MATRIX_M : TJ_MATRIX_N] = t.width * stored_bytes(view, is_m);
    }
    form->align[TJ_MATRIX_P] = out;
    form->align[TJ_MATRIX_C] = view->epilogue.has_beta ? out : 0;
}

static uint32_t needs_of(const tj_problem *view, const tj_mma_shape *s)
{
    static const uint32_t by_type[] = {
        [TJ_F32] = TJ_FEATURE_MMA_TF32,  [TJ_F64] = TJ_FEATURE_MMA_F64,  [TJ_F16] = TJ_FEATURE_MMA_F16,
        [TJ_BF16] = TJ_FEATURE_MMA_BF16, [TJ_E4M3] = TJ_FEATURE_MMA_FP8, [TJ_E5M2] = TJ_FEATURE_MMA_FP8,
        [TJ_S8] = TJ_FEATURE_MMA_S8,     [TJ_U8] = TJ_FEATURE_MMA_S8,    [TJ_C128] = TJ_FEATURE_MMA_F64,
        [TJ_C64] = TJ_FEATURE_MMA_TF32,
    };

    return (has_async_copies(view, s) ? TJ_FEATURE_CP_ASYNC : 0) | TJ_FEATURE_LDMATRIX |
           (tj_mma_scales_products(s) ? TJ_FEATURE_MMA_SCALED : by_type[tj_widened_type(view, TJ_MATRIX_M)]);
}

/* Describe how zero points of floats are parted, and how the elements are added up by which their rests are multiplied. */
static void describe_float_zeros(const tj_problem *view, tj_template_params *fill)
{
    static const struct {
        const char *least, *largest;
    } of_weights[] = {[TJ_S8] = {"-128.0f", "127.0f"},
                      [TJ_U8] = {"0.0f", "255.0f"},
                      [TJ_S4] = {"-8.0f", "7.0f"},
                      [TJ_U4] = {"0.0f", "15.0f"}};
    const bool of_m = tj_mma_has_float_zeros(view, true), of_n = tj_mma_has_float_zeros(view, false);

    tj_template_set(fill, "hold_sums", of_m ? "mma/hold_n_sums.cuh" : of_n ? "mma/hold_m_sums.cuh" : "");
    tj_template_set(fill, "sum_others", of_m ? "mma/sum_n.cuh" : of_n ? "mma/sum_m.cuh" : "");
    tj_template_set(fill, "forget_sums", of_m ? "mma/forget_n_sums.cuh" : of_n ? "mma/forget_m_sums.cuh" : "");
    if (!of_m && !of_n)
        return;
    tj_template_set(fill, "least_weight", of_weights[of_m ? view->m.type : view->n.type].least);
    tj_template_set(fill, "largest_weight", of_weights[of_m ? view->m.type : view->n.type].largest);
}

/*
 * Describe how a warp reads the scales of M, or of N, for parts of k, and its zero points: a lane reads those of its rows, or all
 * lanes read the one of all rows.
 */
static void describe_scales(const tj_problem *view, const tj_mma_shape *s, bool is_m, tj_template_params *fill)
{
    const tj_which which = is_m ? TJ_MATRIX_M : TJ_MATRIX_N;
    const tj_scale *const scale = tj_scale_of(view, which);
    const bool is_along = tj_scales_along_k(view, which), is_one = tj_mma_has_one_scale(view, s, is_m),
               gathers = is_m && !is_one && tj_is_gathered(view); /* row: of M then, negative where there is none */
    const bool floats = tj_mma_has_float_zeros(view, is_m);
    char part[TJ_TEMPLATE_NAME_BYTES], read[TJ_TEMPLATE_VALUE_BYTES], number[TJ_TEMPLATE_VALUE_BYTES];

    tj_template_set_of(fill, is_m, "m_hold_scales", is_along ? "mma/hold_scales.cuh" : "");
    tj_template_set_of(fill, is_m, "m_read_scales", is_along ? "mma/read_scales.cuh" : "");
    tj_template_set_of(fill, is_m, "m_give_scales", is_along && !is_one ? "mma/give_scales.cuh" : "");
    tj_template_set_of(fill, is_m, "m_turn_zeros", scale->zero ? "mma/turn_zeros.cuh" : "");
    tj_template_set_of(fill, is_m, "m_give_rests", floats ? "mma/give_rests.cuh" : "");
    if (!is_along)
        return;
    (void)snprintf(part, sizeof part, tj_scales_are_plain(view) ? "kk / SCALE_K" : "kk / %d", scale->k);
    tj_scales_print_read(view, (int)which, part, is_m ? "row" : "col", read);
    (void)snprintf(number, sizeof number, scale->type == TJ_F32 ? "%s" : "static_cast<float>(%s)", read);
    tj_template_set_of(fill, is_m, "m_scale_at", number);
    tj_template_set_of(fill, is_m, "m_scales_of", is_one ? "1" : is_m ? "WM > 32 ? WM / 32 : 1" : "WN > 32 ? WN / 32 : 1");
    tj_template_set_of(fill, is_m, "m_scale_line",
                       gathers  ? "gathered(m_index, block_row + warp_row + (32 * i + lane) % WM, j, m_rows)"
                       : is_one ? is_m ? "block_row + warp_row" : "block_col + warp_col"
                       : is_m   ? "block_row + warp_row + (32 * i + lane) % WM"
                                : "block_col + warp_col + (32 * i + lane) % WN");
    tj_template_set_of(fill, is_m, "m_scale_inside", gathers ? "row >= 0" : is_m ? "row < j" : "col < l");
    tj_template_set_of(fill, is_m, "m_hold_zeros",
                       floats        ? "mma/hold_float_zeros.cuh"
                       : scale->zero ? "mma/hold_zeros.cuh"
                                     : "");
    tj_template_set_of(fill, is_m, "m_read_zeros",
                       floats        ? "mma/read_float_zeros.cuh"
                       : scale->zero ? "mma/read_zeros.cuh"
                                     : "");
    if (!scale->zero)
        return;
    tj_scales_print_read(view, TJ_SCALED + (int)which, part, is_m ? "row" : "col", read);
    tj_template_set(fill, is_m ? "m_zero_at" : "n_zero_at", read);
    tj_template_set_int(fill, "without_zero", tj_widening_adds(view));
}

/* Return the expression of the first element of k that a warp multiplies in a phase. */
static const char *phase_k(const tj_mma_shape *s)
{
    return s->splits > 1   ? s->slices > 1 ? "k_begin + phase * BK + slice * STEPS * K_STEP" : "k_begin + phase * BK"
           : s->slices > 1 ? "phase * BK + slice * STEPS * K_STEP"
                           : "phase * BK";
}

/* Describe the parts of k whose sums are added to those of all. */
static void describe_parts(const tj_problem *view, const tj_mma_shape *s, tj_template_params *fill)
{
    const bool of_m = tj_scales_along_k(view, TJ_MATRIX_M), of_n = tj_scales_along_k(view, TJ_MATRIX_N);
    const bool spans_phases = tj_mma_part_k(view, s) > s->bk;
    char scaled[TJ_TEMPLATE_VALUE_BYTES];

    tj_template_set_flag(fill, "adds_parts", true);
    for (int is_m = 0; is_m < 2; is_m++)
        describe_scales(view, s, is_m, fill);
    tj_template_set_int(fill, "PART_K", tj_mma_part_k(view, s));
    tj_template_set_int(fill, "PARTS", tj_mma_parts(view, s));
    tj_template_set_flag(fill, "scales_parts", of_m || of_n);
    tj_template_set(fill, "ends_part", spans_phases ? "mma/ends_part.cuh" : "");
    tj_template_set(fill, "part_is_complete",
                    spans_phases ? "step + 1 == STEPS && ends_part(phase)" : "(step + 1) % PART_STEPS == 0");
    /* A slice may have products of a part that does not reach its last phase, and needs the scale of that part there. */
    tj_template_set(fill, "part_inside", spans_phases && s->slices > 1 ? "kk / SCALE_K * SCALE_K < k" : "kk < k");
    (void)snprintf(scaled, sizeof scaled, "%s%s%s",
                   !of_m                                 ? ""
                   : tj_mma_has_one_scale(view, s, true) ? "m_scale[which][0] * "
                                                         : "row_scale[r] * ",
                   !of_n                                  ? ""
                   : tj_mma_has_one_scale(view, s, false) ? "n_scale[which][0] * "
                                                          : "col_scale[c] * ",
                   tj_mma_has_float_zeros(view, true)    ? "(part[r][c] - row_rest[r] * n_sum[0][c])"
                   : tj_mma_has_float_zeros(view, false) ? "(part[r][c] - col_rest[c] * m_sum[r][0])"
                                                         : "part[r][c]");
    tj_template_set(fill, "part_scaled", scaled);
    tj_template_set(fill, "phase_k", phase_k(s));
}

/* Describe how lanes read the scales of M, or of N, of e8m0 or e4m3, four of a row at once; without scales they are ones. */
static void describe_words(const tj_problem *view, const tj_mma_shape *s, bool is_m, tj_template_params *fill)
{
    const tj_which which = is_m ? TJ_MATRIX_M : TJ_MATRIX_N;
    const tj_scale *const scale = tj_scale_of(view, which);
    const bool is_along = scale->k > 0, gathers = is_m && tj_is_gathered(view) && is_along;

    tj_template_set_of(fill, is_m, "m_hold_words", is_along ? "mma/hold_words.cuh" : "");
    tj_template_set_of(fill, is_m, "m_read_words", is_along ? "mma/read_words.cuh" : "");
    if (!is_along)
        return;
    tj_block_scales_describe_read(view, is_m, fill);
    tj_template_set_of(fill, is_m, "m_scales_of", is_m ? "WM > 32 ? WM / 32 : 1" : "WN > 32 ? WN / 32 : 1");
    tj_template_set_of(fill, is_m, "m_line_of_lane",
                       tj_mma_tile_of(view, s, is_m).neighbours == 2 ? "lane / 4 * 2 + lane % 4 / 2 * 16 + lane % 2"
                                                                     : "lane % 4 * 8 + lane / 4");
    tj_template_set_of(fill, is_m, "m_scale_line",
                       gathers ? "gathered(m_index, block_row + warp_row + (32 * i + m_scale_lane) % WM, j, m_rows)"
                       : is_m  ? "block_row + warp_row + (32 * i + m_scale_lane) % WM"
                               : "block_col + warp_col + (32 * i + n_scale_lane) % WN");
    tj_template_set_of(fill, is_m, "m_scale_inside", gathers ? "row >= 0" : is_m ? "row < j" : "col < l");
}

static bool reads_block_scales(const tj_problem *view, const tj_mma_shape *s)
{
    return tj_mma_scales_products(s) && tj_scale_k(view) > 0;
}

/* Describe the scales that the instruction multiplies by. */
static void describe_block_scales(const tj_problem *view, const tj_mma_shape *s, bool checks_k, tj_template_params *fill)
{
    const bool of_m = tj_scales_along_k(view, TJ_MATRIX_M), of_n = tj_scales_along_k(view, TJ_MATRIX_N),
               is_fp4 = tj_is_fp4(view);
    const int32_t of_step = tj_block_scales_of_step(view);
    char text[TJ_TEMPLATE_VALUE_BYTES];

    for (int is_m = 0; is_m < 2; is_m++)
        describe_words(view, s, is_m, fill);
    tj_template_set(fill, "m_find_signs", of_m ? "mma/find_m_signs.cuh" : "");
    tj_template_set(fill, "n_find_signs", of_n ? "mma/find_m_signs.cuh" : "");
    tj_template_set(fill, "m_turn_signs", of_m ? "mma/turn_m_signs.cuh" : "");
    tj_template_set(fill, "n_turn_signs", of_n ? "mma/turn_n_signs.cuh" : "");
    tj_template_set(fill, "scales_left", checks_k ? "k - kk" : "4 * SCALE_K");
    tj_template_set_flag(fill, "scales_parts", of_m || of_n);
    tj_template_set(fill, "hold_signs", of_step == 4 ? "mma/hold_signs.cuh" : "");
    tj_template_set(fill, "find_signs", of_step == 4 ? "mma/find_signs.cuh" : "");
    tj_template_set(fill, "turn_signs", of_step == 4 ? "mma/turn_signs.cuh" : "");
    tj_template_set_int(fill, "SCALES_OF_STEP", of_step);
    tj_template_set_int(fill, "SCALE_WORDS", tj_mma_scale_words(view, s));
    tj_template_set(fill, "ONES", of_m && of_n ? "" : tj_block_scales_ones(view));
    (void)snprintf(text, sizeof text, "[c], %s, %s, %s", of_m ? "m_scale[word][r / 2], r % 2" : "ONES, 0",
                   of_n ? "n_scale[word][c / 4], c % 4" : "ONES, 0", of_m || of_n ? "byte" : "0");
    tj_template_set(fill, "by_scales", text);
    tj_template_set(fill, "mma_kind",
                    !is_fp4        ? "mxf8f6f4.block_scale.scale_vec::1X"
                    : of_step == 4 ? "mxf4nvf4.block_scale.scale_vec::4X"
                                   : "mxf4.block_scale.scale_vec::2X");
    tj_template_set(fill, "mma_scale", of_step == 4 ? "ue4m3" : "ue8m0");
    tj_template_set(fill, "phase_k", phase_k(s));
}

static const char *describe(const tj_problem *view, const tj_config *config, tj_template_params *fill, tj_launch_form *form)
{
    const tj_mma_shape s = tj_mma_shape_of(view, config);
    const tj_pack pack = tj_mma_pack_of(view, &s);
    const tj_reduction_slots slots = slots_of(view, &s);
    const int32_t p_vector = tj_mma_p_vector(view, &s);
    tj_launch_step *const product = tj_step_product(form);

    tj_step_set_blocks(product, s.threads, s.bm, s.bn);
    product->rows_on_x = s.rows == TJ_ROWS_ON_X;
    product->dynamic_shared_bytes = tj_mma_shared_bytes(view, &s);
    form->needs |= needs_of(view, &s);
    describe_alignment(view, &s, form);
    tj_tile_describe_grid(view, product->rows_on_x, fill);
    if (tj_type_is_pair(view->p.type))
        tj_template_set(fill, "store", "parts/store_halves.cuh");
    tj_split_describe(view, s.splits, fill, form);
    tj_reductions_describe(view, &slots, fill, form);
    tj_scales_describe(view, tj_is_scaled(view, TJ_MATRIX_P) ? TJ_SCALES_BY_ELEMENT : TJ_SCALES_AHEAD, s.splits, fill);
    describe_float_zeros(view, fill);
    tj_template_set(fill, "block_scales", reads_block_scales(view, &s) ? "mma/block_scales.cuh" : "");
    tj_template_set(fill, "which_scales", reads_block_scales(view, &s) ? "mma/which_scales.cuh" : "");
    if (tj_mma_scales_products(&s))
        describe_block_scales(view, &s, tj_checks_of(config, form->is_swapped).k, fill);
    else
        tj_template_set(fill, "by_scales", "[c]");
    if (tj_mma_part_k(view, &s) > 0)
        describe_parts(view, &s, fill);
    tj_template_set(fill, "products", tj_mma_part_k(view, &s) > 0 ? "part" : "sum");
    tj_template_set_flag(fill, "has_zeros", tj_scale_of(view, TJ_MATRIX_M)->zero || tj_scale_of(view, TJ_MATRIX_N)->zero);
    tj_pack_describe(view, &pack, fill, form);
    tj_step_describe_order(view, fill, form);
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
    tj_template_set(fill, "begin", tj_is_grouped(view) ? "parts/begin_in_group.cuh" : "parts/begin.cuh");
    tj_tile_describe_p_vector(p_vector, fill);
    describe_product(view, &s, fill);
    describe_tiles(view, config, &s, form->is_swapped, fill);
    return "mma/mma.cu";
}

static void for_target(uint32_t features, tj_config *config)
{
    tj_copy_for_target(features, config);
    if (config->value[SCALES] == 0 && features & TJ_FEATURE_MMA_SCALED)
        config->value[SCALES] = TJ_MMA_SCALES_IN_INSTRUCTION;
}

const tj_family tj_family_mma = {
    .name = "mma",
    .summary = "tensor cores multiply; a warp computes a tile of P, tiles of M and N pass through shared memory, phases ahead",
    .takes_pairs = TJ_PAIRS,
    .takes_complex = true,
    .takes_repacked = true,
    .param = params,
    .param_count = sizeof params / sizeof params[0],
    .constraint = constraints,
    .start = &tj_mma_start,
    .sums_in_registers = true,
    .scales_along_k = true,
    .takes_scales = takes_scales,
    .takes_groups = true,
    .takes_groups_along_k = true,
    .takes_scattered = true,
    .takes_symmetric = true,
    .takes_gathered = true,
    .model = &tj_model_mma,
    .reduces = TJ_REDUCES_BY_WARP,
    .checks_k = true,
    .widest = 256,
    .tile = tile,
    .resolve = resolve,
    .quantizes = quantizes,
    .sum_order = sum_order,
    .relax = relax,
    .for_tall = tj_tile_for_tall,
    .for_any_operands = for_any_operands,
    .for_target = for_target,
    .moved = moved,
    .describe = describe,
    .count = tj_mma_count,
    .is_worth_trying = is_worth_trying,
    .is_hopeless = is_hopeless,
};
