/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wgmma: the tensor cores of Hopper multiply tiles of shared memory for a whole warpgroup (wgmma.mma_async), and the copy
 * engine (TMA) copies the tiles there. One warpgroup of a block starts the copies, the others multiply, and mbarriers
 * synchronise them. Blocks are persistent and walk the tiles of P.
 *
 * A line of a tile has 128 bytes, which the engine swizzles so that tensor cores read it without bank conflicts. Only elements
 * of two bytes may lie across k. Others are copied in squares, which idle warps of the first warpgroup transpose in shared
 * memory, or are packed first, by a kernel of their own. Operands with lines that do not begin at multiples of 16 bytes are
 * packed as well, and so are weights of 8 bits, which are widened to the 16-bit type that they are multiplied by.
 * M of tf32 may lie across k as it is: its factors of a product then come from registers, to which lanes load them. So do weights
 * of 8 and 4 bits as M, which lanes widen (weights.c).
 *
 * An instruction takes 64 rows of M, and columns of N in steps of 8. With swap=yes the source computes P^T = N^T . M^T, so that a
 * P of 72 rows takes 72 columns of an instruction and not 128 rows; it stores its P, which lies column by column, in boxes or
 * lines of columns.
 *
 * The blocks of a cluster share tiles of one operand: in turns, each brings those to the shared memory of all, by multicast, and a
 * place of the ring is free when the warps of all blocks have multiplied what is there. Or they share the k of a tile, and the
 * first of them adds up the sums that the others send to its shared memory: a split of k without a workspace and a second kernel.
 *
 * Groups along k give each tile a k of its own, which may begin and end within what the copy engine brings: warps that transpose
 * otherwise replace what belongs to other groups by zeros.
 *
 * For 8-bit floats the tensor cores keep only 13 bits of a sum. So they sum a part of k for 64 rows, and threads add its
 * accumulators, times the part's scales, to theirs in f32. The first part of a tile is multiplied while the tile before it is
 * stored.
 */
#include "form.h"

#include <stdio.h>

#include "checked.h"
#include "error.h"
#include "parts/access.h"
#include "parts/maps.h"
#include "parts/quantize.h"
#include "parts/reductions.h"
#include "parts/registers.h"
#include "parts/scales.h"
#include "parts/split.h"
#include "parts/tile.h"
#include "parts/widen.h"
#include "steps.h"

enum { WARPGROUP = 128, MOST_MULTIPLIERS = 3, MAX_SHARED = 227 * 1024, CHUNK = 16, MAP_P = 2 };
enum { SLICE_M = 1, SLICE_N = 2, ASKED_BYTES = 16 };
enum {
    OTHER_REGISTERS = 32,
    INSTRUCTION_REGISTERS = 26,
    MOST_STAGES = 16,
    USUAL_GROUP = 8,
    USUAL_COLS = 128,
    MOST_PART_COLS = 224, /* whose sums of a part of k leave registers for those of all */
    USUAL_STAGES = 8,     /* of tiles that are not swapped: more of them gain nothing */
    MOST_BOXES = 4,
    SUM_BYTES = 4,
    WEIGHT_REGISTERS = 16,   /* two units of k of 64 rows */
    PLANES = 3,              /* of bf16, which hold each number of f32 */
    PLANE_REGISTERS = 64,    /* two units of each plane, and the elements of one */
    WEIGHTS_BK = 128,        /* elements of k of a phase of weights */
    RING_BYTES = 192 * 1024, /* of shared memory, next to what is stored */
    BARRIER_BYTES = 8,
    BARRIERS_BYTES = 2 * BARRIER_BYTES, /* of a stage */
    CLUSTER_REGISTERS = 56,             /* of a thread that starts copies, in a cluster: 40 spill */
    TRANSPOSER_REGISTERS = 56,
    LEAST_BRINGER_REGISTERS = 24,
    GATHERER_REGISTERS = 56, /* or of one that finds a group: 40 spill next to wide tiles */
    CLEARER_REGISTERS = 56,
    GATHERERS = 3,                   /* warps */
    BYTE_TRANSPOSER_REGISTERS = 104, /* because it holds 16 chunks instead of 4 */
    SPAN_REGISTERS = 16              /* more of those, where groups divide k */
};

enum { F32_BYTES = 4 };

static const char *const release_choices[] = {"now", "late", NULL}, *const operand_choices[] = {"none", "m", "n", "both", NULL};
static const char *const swap_choices[] = {"no", "yes", NULL}, *const pingpong_choices[] = {"no", "yes", NULL};
static const char *const transpose_choices[] = {"none", "m", "n", "both", "registers", NULL};
static const char *const cluster_choices[] = {"none", "m2", "n2", "m4", "n4", "k2", "k4", NULL};
static const char *const store_choices[] = {"boxes", "lines", "elements", NULL};

/* The values that a tuner tries. */
static const int32_t swaps_tried[] = {TJ_WGMMA_AS_P, TJ_WGMMA_SWAPPED, 0}, clusters_tried[] = {1, 2, 3, 4, 5, 6, 7, 0},
                     rows_tried[] = {64, 128, 192, 256, 0},
                     cols_tried[] = {8, 16, 24, 32, 40, 48, 64, 72, 80, 96, 104, 112, 128, 144, 160, 192, 224, 256, 0},
                     multipliers_tried[] = {1, 2, 3, 0}, pingpongs_tried[] = {TJ_WGMMA_TOGETHER, TJ_WGMMA_PINGPONG, 0},
                     splits_tried[] = {1, 2, 3, 4, 6, 8, 12, 16, 0}, stages_tried[] = {3, 4, 6, 8, 12, 16, 0},
                     blocks_tried[] = {1, 2, 0}, groups_tried[] = {4, 8, 16, 0},
                     stores_tried[] = {TJ_WGMMA_BOXES, TJ_WGMMA_LINES, 0},
                     operands_tried[] = {TJ_WGMMA_NONE, TJ_WGMMA_M, TJ_WGMMA_N, TJ_WGMMA_BOTH, 0},
                     transposes_tried[] = {TJ_WGMMA_NONE, TJ_WGMMA_M, TJ_WGMMA_N, TJ_WGMMA_BOTH, TJ_WGMMA_REGISTERS, 0};

enum {
    SWAP,
    CLUSTER,
    BM,
    BN,
    MULTIPLIERS,
    PINGPONG,
    SPLITS,
    STAGES,
    BLOCKS,
    RELEASE,
    STORE,
    GROUP,
    PACK,
    TRANSPOSE
}; /* in this order: */

static const tj_param params[] = {
    {"swap",
     "yes: the tensor cores multiply P^T = N^T . M^T, so that bm counts columns of P, and bn its rows, in steps of 8: for a P "
     "of few rows",
     1, 2, TJ_WGMMA_AS_P, swap_choices, swaps_tried},
    {"cluster",
     "two or four blocks that share tiles of M or of N: in turns, each brings those to the shared memory of all; or that share "
     "the "
     "k of a tile, and add their sums up through shared memory",
     1, 7, TJ_WGMMA_ALONE, cluster_choices, clusters_tried},
    {"bm", "rows of the block tile of P", 64, 256, 0, NULL, rows_tried},
    {"bn", "columns of the block tile of P", 8, 256, 0, NULL, cols_tried},
    {"multipliers",
     "warpgroups of a block that multiply; one more brings the tiles. More than bm / 64 of them share the k of a tile of "
     "weights",
     1, MOST_MULTIPLIERS, 0, NULL, multipliers_tried},
    {"pingpong", "yes: multipliers have tiles of their own and take turns: one stores its tile while another multiplies", 1, 2,
     TJ_WGMMA_TOGETHER, pingpong_choices, pingpongs_tried},
    TJ_SPLITS(1, splits_tried),
    {"stages", "phases whose tiles shared memory holds; by default as many as it has room for", 2, MOST_STAGES, 0, NULL,
     stages_tried, TJ_PARAM_ORDER},
    TJ_BLOCKS(2, 1, blocks_tried, TJ_PARAM_ORDER),
    {"release",
     "when the tiles of a phase may be replaced: now, as soon as they are multiplied; late, while those of the next are", 1, 2,
     0, release_choices, NULL, TJ_PARAM_ORDER},
    {"store",
     "what writes P: the copy engine, boxes of it, whose lines begin at multiples of 16 bytes; or lanes, lines of up to 16 "
     "bytes "
     "each, or elements, which ask for no alignment of P; by default the first that is possible",
     1, 3, 0, store_choices, stores_tried, TJ_PARAM_ORDER},
    {"group", "rows of tiles that are walked together, column by column, to meet in the L2", 1, 16, USUAL_GROUP, NULL,
     groups_tried, TJ_PARAM_HINT},
    {"pack",
     "operands that are first copied to a workspace, where lines begin at multiples of 16 bytes, types of 8 bits and tf32 lie "
     "along k, and weights are widened",
     1, 4, 0, operand_choices, operands_tried, TJ_PARAM_ORDER},
    {"transpose",
     "operands of tf32 and 8 bits that lie across k, and are transposed in shared memory: by default those that can be and are "
     "not packed; or registers: M of tf32 lies across k, or M holds weights, and those who multiply load it to registers, the "
     "default where it is possible",
     1, 5, 0, transpose_choices, transposes_tried, TJ_PARAM_ORDER},
};

static const char *const constraints[] = {
    "f16, bf16, s8, u8; f32 with compute tf32; e4m3 and e5m2 with compute f32_fp8",
    "M and N of 16 bits have the same type, or one is weights of 8 or 4 bits, packed or from registers; e4m3: or of 4 bits",
    "bf16 by f32: the f32 comes from registers, as M of the source, along k; no batch, no groups, no pack",
    "sm_90a; what is not packed begins each line, and each product of a batch, at a multiple of 16 bytes",
    "types of 8 bits and tf32 lie along k, or are packed, or transposed: the tile's side is a multiple of BK then",
    "transpose=registers is for M of tf32 that lies across k, with release=late; N lies along k or is packed",
    "transpose=registers is also for M of weights or f32 that lies along k; scales of 32, 64 or a multiple of 128",
    "no operand is an array of pointers; pack: j, k, l, leading dimensions, strides and the batch are fixed",
    "release=late is not for e4m3 and e5m2, whose sums of a part of k are waited for",
    "scales along k are for compute f32_fp8, for 32, 64 or a multiple of 128 elements; no transpose",
    "store=boxes: so it is with P, whose columns are whole 16 bytes; no beta, no splits, no groups",
    "BM is a multiple of 64 times multipliers, with pingpong=yes of 64; BN of 16, with swap=yes of 8",
    "multipliers that share the k of a tile of weights: a multiple of BM / 64, and more stages than share it",
    "swap=yes with integers: BN is 8, 24 or a multiple of 16",
    "cluster: no pingpong, no groups, no transpose; k2 and k4: no splits",
    "one triangle: BM is BN; or twice BN, with two multipliers, pingpong=no, cluster=none, splits=1",
    "swap=yes: no groups, no pairs of columns in the epilogue",
    "a thread that multiplies has registers for its sums and 32 more: block tiles of at most 128 x 256, 256 x 192 or 192 x 192",
    "a thread that transposes has 56 registers in tf32, 104 in types of 8 bits",
    "pingpong=yes: block tiles of at most 64 x 256, 128 x 192 or 192 x 128",
    "the stages fit the 227 KiB of shared memory that a multiprocessor has for its blocks",
    TJ_SPLITS_CONSTRAINT,
    NULL,
};

/* Blocks of a cluster that share each. */
static const struct {
    int32_t share_m, share_n, share_k;
} sharing[] = {{1, 1, 1}, /* not resolved */
               [TJ_WGMMA_ALONE] = {1, 1, 1},
               [TJ_WGMMA_M2] = {2, 1, 1},
               [TJ_WGMMA_N2] = {1, 2, 1},
               [TJ_WGMMA_M4] = {4, 1, 1},
               [TJ_WGMMA_N4] = {1, 4, 1},
               [TJ_WGMMA_K2] = {1, 1, 2},
               [TJ_WGMMA_K4] = {1, 1, 4}};

/* Return the bytes for the sums that other blocks of a cluster, and slices, send, and for two barriers of each warp. */
static int64_t parts_bytes(const tj_wgmma_shape *s)
{
    const int32_t sharers = s->parts * s->slices;

    return sharers > 1 ? (int64_t)(sharers - 1) * s->bm * s->bn * SUM_BYTES + 4 * s->multipliers * BARRIERS_BYTES : 0;
}

/*
 * Return the elements of k of a phase of weights. With half of them, a line of weights is short and there are twice as many barriers;
 * but a ring waits for its copies if it has fewer than three phases next to those that are multiplied.
 */
static int32_t weights_bk(const tj_wgmma_shape *s)
{
    const int64_t bytes = (int64_t)WEIGHTS_BK * (s->bn * s->element_bytes + s->bm * s->weight_bits / 8),
                  room = RING_BYTES / (s->blocks > 0 ? s->blocks : 1) - parts_bytes(s);

    return s->planes > 1 || (s->element_bytes > 1 && (s->slices + 3) * bytes > room) ? WEIGHTS_BK / 2 : WEIGHTS_BK;
}

/* Settle what depends on where the factors of M come from. */
static void settle_weights(const tj_problem *view, tj_wgmma_shape *s)
{
    const bool loads_weights = s->transpose == TJ_WGMMA_REGISTERS && tj_wgmma_has_weights(view),
               in_turn = s->pingpong == TJ_WGMMA_PINGPONG;
    const int32_t all_rows = TJ_WGMMA_ROWS * s->multipliers;

    s->weight_bits = !loads_weights ? 0 : tj_type_is_pair(view->m.type) ? 4 : 8 * tj_facts_of(view->m.type)->bytes;
    s->planes = loads_weights && tj_wgmma_has_f32(view) ? PLANES : 1;
    s->slices = loads_weights && s->planes == 1 && !in_turn && s->bm > 0 && s->bm < all_rows ? all_rows / s->bm : 1;
    s->wm = in_turn ? s->bm : s->bm * s->slices / (s->multipliers > 0 ? s->multipliers : 1);
    s->adds_parts = loads_weights && tj_wgmma_adds_parts(view);
    s->promotes = view->compute == TJ_COMPUTE_F32_FP8 && !loads_weights; /* the loop of weights adds parts itself */
    s->scales_parts = s->promotes && tj_scale_k(view) > 0;
    s->scales_cols = s->promotes && tj_wgmma_scales_cols(view);
    s->halves = s->promotes && s->bn > MOST_PART_COLS && !s->swapped;
    s->bk = loads_weights ? weights_bk(s) : TJ_WGMMA_LINE / s->element_bytes;
    s->part_rows = !s->adds_parts ? 0 : tj_wgmma_has_long_parts(view, s) ? s->wm : TJ_WGMMA_ROWS;
    s->scale_registers = loads_weights ? tj_wgmma_scale_registers(view, s) : 0;
}

tj_wgmma_shape tj_wgmma_shape_of(const tj_problem *view, const tj_config *config)
{
    const int32_t *v = config->value, bytes = tj_facts_of(tj_wgmma_type(view, TJ_MATRIX_M))->bytes;
    tj_wgmma_shape s = {v[BM],
                        v[BN],
                        v[MULTIPLIERS],
                        v[PINGPONG],
                        v[SPLITS],
                        v[STAGES],
                        v[BLOCKS],
                        v[RELEASE],
                        v[STORE],
                        v[GROUP],
                        v[PACK],
                        v[TRANSPOSE],
                        .element_bytes = bytes,
                        .numbers = 1,
                        .family = "wgmma"};

    s.finds_groups = tj_is_grouped(view);
    s.gathers = tj_is_gathered(view);
    s.divides_k = tj_divides_k(view);
    s.swapped = v[SWAP] == TJ_WGMMA_SWAPPED;
    s.cluster_cols = sharing[v[CLUSTER]].share_m;
    s.cluster_rows = sharing[v[CLUSTER]].share_n;
    s.parts = sharing[v[CLUSTER]].share_k;
    s.k_step = 32 / bytes;
    s.threads = WARPGROUP * (1 + s.multipliers);
    settle_weights(view, &s);
    return s;
}

/*
 * Tensor cores take 64 rows of the source's M at once, and columns of N in steps of 8. For a P of few rows its columns are
 * better counted by 64, so the source then computes the transpose of what it would compute otherwise.
 */
static bool is_swapped(const tj_problem *problem, const tj_config *config)
{
    return (problem->p.layout != TJ_ROW_MAJOR) != (config->value[SWAP] == TJ_WGMMA_SWAPPED);
}

/* A warpgroup has all columns of a tile. An open BN becomes 128. */
static bool quantizes(const tj_problem *problem, const tj_config *config)
{
    const int32_t *const v = config->value;

    return v[SWAP] != TJ_WGMMA_SWAPPED && tj_quantize_fits(problem, v[BN] > 0 ? v[BN] : USUAL_COLS, v[SPLITS]);
}

static int32_t cluster_of(const tj_wgmma_shape *s)
{
    return s->cluster_rows * s->cluster_cols * s->parts;
}

static tj_tile tile(const tj_problem *problem, const tj_config *config)
{
    const tj_wgmma_shape s = tj_wgmma_shape_of(problem, config);

    return (tj_tile){s.bm * s.cluster_rows, s.bk, s.bn * s.cluster_cols, "BM", "BK", "BN"};
}

static bool names(int32_t operands, bool is_m)
{
    return operands == TJ_WGMMA_BOTH || operands == (is_m ? TJ_WGMMA_M : TJ_WGMMA_N);
}

static int32_t name(bool m, bool n)
{
    return m && n ? TJ_WGMMA_BOTH : m ? TJ_WGMMA_M : n ? TJ_WGMMA_N : TJ_WGMMA_NONE;
}

static bool packs(const tj_wgmma_shape *s, bool is_m)
{
    return names(s->pack, is_m);
}

/* Is it transposed in shared memory? */
static bool transposes(const tj_wgmma_shape *s, bool is_m)
{
    return names(s->transpose, is_m);
}

/* Does M come from registers? */
static bool loads_m(const tj_wgmma_shape *s)
{
    return s->transpose == TJ_WGMMA_REGISTERS;
}

static bool transposes_any(const tj_wgmma_shape *s)
{
    return transposes(s, true) || transposes(s, false);
}

/* Do warps prepare what the copy engine has brought, before others multiply it? */
static bool prepares(const tj_wgmma_shape *s)
{
    return transposes_any(s) || s->divides_k;
}

static bool lies_along_k(const tj_problem *view, bool is_m)
{
    return is_m ? view->m.layout == TJ_ROW_MAJOR : view->n.layout == TJ_COL_MAJOR;
}

/* Does it lie across k, with elements of a size that tensor cores take along k only? */
static bool lies_wrong(const tj_problem *view, const tj_wgmma_shape *s, bool is_m)
{
    return s->element_bytes != 2 && !s->takes_across && !lies_along_k(view, is_m);
}

/* Is it transposed on its way to the workspace? */
static bool packs_transposed(const tj_problem *view, const tj_wgmma_shape *s, bool is_m)
{
    return packs(s, is_m) && lies_wrong(view, s, is_m);
}

tj_wgmma_tile tj_wgmma_tile_of(const tj_problem *view, const tj_wgmma_shape *s, bool is_m)
{
    const int32_t across = is_m        ? s->bm
                           : s->paired ? s->bn / 2
                                       : s->bn,
                  line = TJ_WGMMA_LINE / s->element_bytes, bytes = s->bk * s->weight_bits / 8;
    const bool along_k = lies_along_k(view, is_m) || packs_transposed(view, s, is_m) || transposes(s, is_m);

    if (is_m && s->planes > 1 && !along_k)
        return (tj_wgmma_tile){
            across / (TJ_WGMMA_LINE / F32_BYTES), s->bk, TJ_WGMMA_LINE / F32_BYTES, TJ_WGMMA_LINE, false, false};
    if (is_m && s->planes > 1)
        return (tj_wgmma_tile){bytes / TJ_WGMMA_LINE, across, TJ_WGMMA_LINE / F32_BYTES, TJ_WGMMA_LINE, true, false};
    if (is_m && s->weight_bits > 0)
        return (tj_wgmma_tile){1, across, bytes, bytes, true, false};
    return along_k ? (tj_wgmma_tile){s->bk / s->numbers / line, across, line, TJ_WGMMA_LINE, true, transposes(s, is_m)}
                   : (tj_wgmma_tile){(int32_t)tj_ceil_div(across, line), s->bk, line, TJ_WGMMA_LINE, false, false};
}

/* Can a tensor map describe the caller's matrix? */
static bool has_map(const tj_problem *view, const tj_wgmma_shape *s, bool is_m)
{
    const tj_which which = is_m ? TJ_MATRIX_M : TJ_MATRIX_N;

    const int32_t type = tj_problem_matrix(view, which)->type;

    return (tj_wgmma_type(view, which) == type || (is_m && s->weight_bits > 0)) &&
           !tj_stride_is_pointers(tj_problem_matrix(view, which)->stride) &&
           tj_access_lines_are_multiples(view, which, CHUNK / tj_facts_of(type)->bytes);
}

/* Can the tensor cores read it through that map, after a transpose if needed? */
static bool is_mapped(const tj_problem *view, const tj_wgmma_shape *s, bool is_m)
{
    return has_map(view, s, is_m) && (transposes(s, is_m) || (is_m && loads_m(s)) || !lies_wrong(view, s, is_m));
}

/*
 * Packed lines begin at whole lines of the L2; tensor maps provide the padding after the last one. If a tensor map could
 * describe the caller's matrix, it is packed only because its pointer may begin at any element, so no alignment is asked for.
 */
tj_pack tj_wgmma_pack_of(const tj_problem *view, const tj_wgmma_shape *s)
{
    const int32_t line = TJ_WGMMA_LINE / s->element_bytes;

    return (tj_pack){{
        [TJ_MATRIX_M] = {packs(s, true), packs_transposed(view, s, true), !is_mapped(view, s, true), 1, line, SLICE_M},
        [TJ_MATRIX_N] = {packs(s, false), packs_transposed(view, s, false), !is_mapped(view, s, false), 1, line, SLICE_N},
    }};
}

static tj_problem moved(const tj_problem *view, const tj_config *config)
{
    const tj_wgmma_shape s = tj_wgmma_shape_of(view, config);
    const tj_pack pack = tj_wgmma_pack_of(view, &s);

    return tj_pack_moved(view, &pack);
}

static int64_t tile_bytes(const tj_problem *view, const tj_wgmma_shape *s, bool is_m)
{
    const tj_wgmma_tile t = tj_wgmma_tile_of(view, s, is_m);

    return (int64_t)t.blocks * t.lines * t.bytes;
}

int64_t tj_wgmma_phase_bytes(const tj_problem *view, const tj_wgmma_shape *s)
{
    return tile_bytes(view, s, true) + tile_bytes(view, s, false);
}

/* Stages and barriers. */
static int64_t ring_bytes(const tj_problem *view, const tj_wgmma_shape *s)
{
    const int32_t barriers = BARRIERS_BYTES + prepares(s) * BARRIER_BYTES;

    return s->stages * (tj_wgmma_phase_bytes(view, s) + barriers + s->stage_bytes) + tj_wgmma_scale_bytes(view, s) +
           s->multipliers * BARRIER_BYTES + parts_bytes(s) + s->other_bytes;
}

static int32_t transposer_registers(const tj_wgmma_shape *s)
{
    return (s->element_bytes == 1 ? BYTE_TRANSPOSER_REGISTERS : TRANSPOSER_REGISTERS) + (s->divides_k ? SPAN_REGISTERS : 0);
}

/* The sums of the largest tiles of weights leave it so few: 24, which its copies of two maps fit. */
static int32_t bringer_registers(const tj_wgmma_shape *s)
{
    const int32_t needed = tj_wgmma_sum_registers(s) + tj_wgmma_factor_registers(s) + OTHER_REGISTERS;

    return transposes_any(s)                      ? transposer_registers(s)
           : s->gathers || s->finds_groups        ? GATHERER_REGISTERS
           : s->divides_k                         ? CLEARER_REGISTERS
           : cluster_of(s) > 1 || s->scales_parts ? CLUSTER_REGISTERS
           : s->weight_bits > 0 && needed > tj_multiplier_registers(s->blocks, s->multipliers, TJ_BRINGER_REGISTERS)
               ? LEAST_BRINGER_REGISTERS
               : TJ_BRINGER_REGISTERS;
}

static int64_t all_shared(int64_t bytes)
{
    return (bytes + 1023) / 1024 * 1024;
}

int64_t tj_wgmma_shared_bytes(const tj_problem *view, const tj_wgmma_shape *s)
{
    return all_shared(ring_bytes(view, s) + tj_wgmma_output_of(view, s).bytes);
}

int32_t tj_wgmma_sum_registers(const tj_wgmma_shape *s)
{
    const int32_t part = s->halves ? TJ_WGMMA_ROWS / 2 : s->promotes ? TJ_WGMMA_ROWS : s->part_rows;

    return (s->wm + part) * s->bn / WARPGROUP;
}

int32_t tj_wgmma_factor_registers(const tj_wgmma_shape *s)
{
    return s->planes > 1        ? PLANE_REGISTERS
           : s->weight_bits > 0 ? WEIGHT_REGISTERS + s->scale_registers
           : loads_m(s)         ? s->wm * s->bk / WARPGROUP
           : s->scales_cols     ? s->bn / 4
                                : 0;
}

/*
 * Do tiles of one triangle consist of squares that a warpgroup turns around (stmatrix), so that each is stored twice? Elements beyond the
 * diagonal, and outside P, are finished like others, and dropped. Threads of three multipliers have no registers for it.
 */
static bool has_squares_of_p(const tj_problem *view, const tj_wgmma_shape *s)
{
    return tj_stores_twice(view) && tj_facts_of(view->p.type)->bytes == 2 && s->bn % TJ_WGMMA_ROWS == 0 && s->multipliers < 3 &&
           !s->in_strips && (!view->epilogue.has_beta || tj_access_widest(view, TJ_MATRIX_C, 2) == 2) &&
           !tj_scales_sum_by_each(view, TJ_MATRIX_M) && !tj_scales_sum_by_each(view, TJ_MATRIX_N);
}

/* A line of a box has 16 bytes, and the last 16 bytes of a line of P are stored whole. */
bool tj_wgmma_has_boxes(const tj_problem *view, const tj_wgmma_shape *s)
{
    const int32_t bytes = tj_facts_of(view->p.type)->bytes;

    if (tj_is_symmetric(view) && !has_squares_of_p(view, s))
        return false;
    return s->splits <= 1 && !tj_is_grouped(view) && !tj_is_scattered(view) &&
           (!view->epilogue.has_beta || tj_is_symmetric(view)) && !tj_stride_is_pointers(view->p.stride) &&
           tj_access_widest(view, TJ_MATRIX_P, CHUNK / bytes) == CHUNK / bytes && !tj_type_is_pair(view->p.type) &&
           (tj_access_sums(view, s->splits) == 1 || bytes > 1);
}

/* Return the columns of a slice: a power of two where P lies by rows, to which a chunk's place in its line is fitted. */
static int32_t slice_of(const tj_wgmma_shape *s, int32_t most)
{
    int32_t slice = s->swapped ? most / 8 * 8 : 16;

    if (s->swapped)
        while (s->bn % slice != 0)
            slice -= 8;
    else
        while (slice * 2 <= most && s->bn % (slice * 2) == 0)
            slice *= 2;
    return slice;
}

/*
 * Do quantised values of pairs, or values of which two share a byte, go to P in 16 bytes each, which four lanes exchange in
 * registers? A lane has every fourth byte of a row.
 */
static bool has_quads(const tj_problem *view, const tj_wgmma_shape *s)
{
    return tj_is_scaled(view, TJ_MATRIX_P) && (tj_epilogue_pairs(&view->epilogue) || tj_type_is_pair(view->p.type)) &&
           s->store != TJ_WGMMA_ELEMENTS && s->bn % TJ_WGMMA_QUAD_SUMS == 0 && tj_access_fits_output(view, CHUNK);
}

/*
 * Do tiles of one triangle consist of two squares, one for each warpgroup? Such tiles read less than square ones of half their size. Blocks
 * walk them in an order of their own (templates/wgmma/place_in_tall_triangle.cuh), which clusters and prepared tiles do not have.
 */
static bool is_tall(const tj_problem *view, const tj_wgmma_shape *s)
{
    return tj_is_symmetric(view) && s->bm == 2 * s->bn && s->multipliers == 2 && s->pingpong != TJ_WGMMA_PINGPONG &&
           s->splits == 1 && cluster_of(s) == 1 && !s->promotes && s->weight_bits == 0 && !loads_m(s) && !prepares(s);
}

/* Is one triangle of P finished in shared memory, from where lanes store both sides of the diagonal? */
static bool has_triangle(const tj_problem *view, const tj_wgmma_shape *s)
{
    return tj_is_symmetric(view) && s->splits <= 1;
}

tj_wgmma_output tj_wgmma_output_of(const tj_problem *view, const tj_wgmma_shape *s)
{
    const int32_t p_bytes = tj_facts_of(view->p.type)->bytes, warps = 4 * s->multipliers / s->slices,
                  sum_bytes = tj_facts_of((int32_t)tj_sum_type(view))->bytes, sums = tj_access_sums(view, s->splits);
    tj_wgmma_output out = {.vector = 1};
    int32_t most = 64;

    if (s->store == TJ_WGMMA_BOXES || (s->store == 0 && tj_wgmma_has_boxes(view, s))) {
        most = s->swapped ? 2 * TJ_WGMMA_LINE / p_bytes : TJ_WGMMA_LINE / p_bytes * sums;
        out.boxes = 1;
    }
    if (has_triangle(view, s))
        most = TJ_WGMMA_LINE / p_bytes;
    out.slice = slice_of(s, most);
    out.quads = out.boxes == 0 && has_quads(view, s);
    out.halves = !out.quads && tj_type_is_pair(view->p.type);
    if (out.quads || out.halves) {
        out.vector = out.quads ? CHUNK : 1;
        return out;
    }
    if (has_triangle(view, s) && out.boxes == 0) {
        out.vector =
            s->store == TJ_WGMMA_ELEMENTS ? 1 : tj_access_widest(view, TJ_MATRIX_P, tj_least(out.slice / 4, CHUNK / p_bytes));
        out.bytes = (int64_t)warps * TJ_WGMMA_SLICE_ROWS * out.slice * p_bytes;
        return out;
    }
    if (out.boxes > 0)
        out.vector = s->swapped ? 1 : 2 / sums;
    else if (s->store != TJ_WGMMA_ELEMENTS && !(s->swapped && s->splits <= 1)) /* an epilogue takes neighbours of a row */
        for (int32_t next = 2; next * sums <= (tj_epilogue_reduces(&view->epilogue) ? 2 : tj_least(out.slice / 4, 8)) &&
                               out.slice / 4 % next == 0 && next * (s->splits > 1 ? sum_bytes : p_bytes) <= CHUNK &&
                               (s->splits > 1 ? tj_access_fits_workspace(view, next) : tj_access_fits_output(view, next));
             next *= 2)
            out.vector = next;
    out.bytes = (int64_t)warps * TJ_WGMMA_SLICE_ROWS * (out.boxes > 0 ? out.slice / sums * p_bytes : out.slice * sum_bytes);
    while (out.boxes > 0 && out.boxes < MOST_BOXES &&
           all_shared(ring_bytes(view, s) + 2 * out.bytes) <= MAX_SHARED / s->blocks) {
        out.boxes *= 2; /* use the room that the stages leave */
        out.bytes *= 2;
    }
    return out;
}

/* ---- constraints -------------------------------------------------------------------------------------------------- */

static tj_status check_types(const tj_problem *view, tj_error *err)
{
    const int32_t m = tj_wgmma_type(view, TJ_MATRIX_M), n = tj_wgmma_type(view, TJ_MATRIX_N);

    if (tj_meets_f32(view) && m != TJ_BF16)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "family wgmma multiplies f32 by bf16, which has its exponents, and M is %s, N %s: use the family skinny or "
            "tiled",
            tj_type_name((tj_type)view->m.type), tj_type_name((tj_type)view->n.type));
    if (!tj_meets_f32(view) && tj_widen_check(view, "wgmma", err) != TJ_OK)
        return TJ_ERR_INVALID_ARGUMENT;
    if (tj_type_is_fp8(m) && view->compute != TJ_COMPUTE_F32_FP8)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "family wgmma has no tensor cores that add products of %s with all bits of f32: ask for compute f32_fp8, "
            "which adds up to 128 of them with 13 bits, or use another family",
            tj_facts_of(m)->name);
    if (m == TJ_F32 && view->compute != TJ_COMPUTE_TF32)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "family wgmma has no tensor cores for f32 as IEEE has it: ask for compute tf32, which rounds M and N, or "
            "use another family");
    if ((m == TJ_F32 || m == TJ_F16 || m == TJ_BF16)
            ? m == n
            : (tj_type_is_int8(m) && tj_type_is_int8(n)) || (tj_type_is_fp8(m) && tj_type_is_fp8(n)))
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "family wgmma multiplies f16, bf16, e4m3, e5m2, s8, u8 and tf32, and M is of %s, N of %s: use family mma",
                   tj_facts_of(m)->name, tj_facts_of(n)->name);
}

static bool can_swap(const tj_problem *view)
{
    return !tj_is_grouped(view) && !tj_is_gathered(view) && !tj_is_scattered(view) && !tj_epilogue_pairs(&view->epilogue) &&
           !tj_is_symmetric(view);
}

tj_status tj_wgmma_check_swap(const tj_problem *view, const tj_wgmma_shape *s, tj_error *err)
{
    if (!s->swapped || can_swap(view))
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "swap=yes computes the transpose of P, and %s: use swap=no",
                   tj_is_grouped(view)     ? "rows in groups are rows of P"
                   : tj_is_gathered(view)  ? "the rows that are gathered are those of M"
                   : tj_is_scattered(view) ? "the rows that are scattered are those of P"
                   : tj_is_symmetric(view) ? "that of a symmetric P is P"
                                           : "the epilogue takes pairs of columns of P");
}

static tj_status check_cluster(const tj_problem *view, const tj_wgmma_shape *s, tj_error *err)
{
    const char *const has = s->pingpong == TJ_WGMMA_PINGPONG                       ? "pingpong=yes"
                            : tj_is_grouped(view)                                  ? "groups of rows"
                            : s->gathers                                           ? "gathered rows"
                            : s->divides_k                                         ? "groups along k"
                            : tj_is_symmetric(view) && s->parts == 1               ? "one triangle of P"
                            : s->transpose != TJ_WGMMA_NONE && s->weight_bits == 0 ? "transpose"
                            : s->parts > 1 && s->splits > 1                        ? "a second way to share k, splits,"
                                                                                   : NULL;

    if (cluster_of(s) == 1 || !has)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "the blocks of a cluster walk their tiles together, and %s is not for them: use cluster=none", has);
}

static bool has_squares(const tj_wgmma_shape *s, bool is_m)
{
    return (is_m ? s->bm : s->bn) % s->bk == 0;
}

static tj_status check_transpose(const tj_problem *view, const tj_wgmma_shape *s, bool is_m, tj_error *err)
{
    const char letter = tj_which_letter(is_m ? TJ_MATRIX_M : TJ_MATRIX_N);

    if (!transposes(s, is_m) && !(is_m && loads_m(s)))
        return TJ_OK;
    if (loads_m(s) && s->element_bytes != 4 && s->weight_bits == 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "transpose=registers is for M of tf32 or of weights, and M of this source is of %s: leave it out",
                       tj_facts_of(view->m.type)->name);
    if (s->weight_bits > 0 && s->planes == 1 && !lies_along_k(view, true))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "transpose=registers takes weights that lie along k, and those of M of this source lie across it: use "
                       "pack=m, which needs fixed dimensions, or family mma");
    if (s->weight_bits > 0 && s->divides_k)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "transpose=registers takes weights of whole phases, and groups along k may end within one: use family mma");
    if (s->weight_bits == 0 && !lies_wrong(view, s, is_m))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "transpose=%s is for operands of tf32 or 8 bits that lie across k, and %c does not: leave it out",
                       transpose_choices[s->transpose - 1], letter);
    if (loads_m(s) && s->release == TJ_WGMMA_NOW)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "transpose=registers loads half a phase of M while the other is multiplied: use release=late");
    if (s->scales_parts)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "transpose=%s leaves no warp that brings the scales along k: leave it out, so that %c is packed",
                       transpose_choices[s->transpose - 1], letter);
    if (packs(s, is_m))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "pack=%s and transpose=%s both name %c: what is packed lies along k already, so name it once",
                       operand_choices[s->pack - 1], transpose_choices[s->transpose - 1], letter);
    if (transposes(s, is_m) && !has_squares(s, is_m))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s is %d, and tiles of %c are transposed in squares of %d x %d: use a multiple of %d, or pack=%s",
                       is_m ? "bm" : "bn", is_m ? s->bm : s->bn, letter, s->bk, s->bk, s->bk, is_m ? "m" : "n");
    return TJ_OK;
}

/* Do a multiplying thread's sums and factors fit the registers? */
static bool fits_registers(const tj_wgmma_shape *s, int32_t bringer)
{
    return tj_wgmma_sum_registers(s) + tj_wgmma_factor_registers(s) + OTHER_REGISTERS <=
           tj_multiplier_registers(s->blocks, s->multipliers, bringer);
}

static bool can_transpose(const tj_problem *view, const tj_wgmma_shape *s, bool is_m)
{
    return !s->gathers && !s->scales_parts && lies_wrong(view, s, is_m) && has_map(view, s, is_m) && has_squares(s, is_m) &&
           !packs(s, is_m) && transposer_registers(s) <= tj_registers_left(s->blocks, s->threads) &&
           fits_registers(s, transposer_registers(s));
}

static bool can_load_m(const tj_problem *view, tj_wgmma_shape s)
{
    s.transpose = TJ_WGMMA_REGISTERS;
    settle_weights(view, &s);
    return !tj_scales_along_k(view, TJ_MATRIX_N) && check_transpose(view, &s, true, NULL) == TJ_OK && has_map(view, &s, true) &&
           (packs(&s, false) || !lies_wrong(view, &s, false)) && fits_registers(&s, bringer_registers(&s));
}

static int32_t transpose_default(const tj_problem *view, const tj_wgmma_shape *s)
{
    if (can_load_m(view, *s))
        return TJ_WGMMA_REGISTERS;
    return name(can_transpose(view, s, true), can_transpose(view, s, false));
}

/* The warps that gather rows of M are those that would transpose, and they copy elements as they are. */
static tj_status check_gathered(const tj_problem *view, const tj_wgmma_shape *s, tj_error *err)
{
    if (s->gathers && view->compute == TJ_COMPUTE_TF32)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "family wgmma gathers rows of M as they are, and does not round them to tf32: use family mma");
    if (s->gathers && s->weight_bits > 0)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "transpose=registers loads weights that a tensor map copies, and rows of M are gathered: use family mma");
    if (s->gathers && transposes_any(s))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "transpose=%s takes the warps that gather rows of M: store N column-major, or use family mma",
                       transpose_choices[s->transpose - 1]);
    return TJ_OK;
}

/* A tensor map needs lines, and products of a batch, that begin at multiples of 16 bytes. */
tj_status tj_wgmma_check_operand(const tj_problem *view, const tj_wgmma_shape *s, bool is_m, tj_error *err)
{
    const tj_which which = is_m ? TJ_MATRIX_M : TJ_MATRIX_N;
    const char letter = tj_which_letter(which);

    if (packs(s, is_m) || is_mapped(view, s, is_m))
        return TJ_OK;
    if (tj_stride_is_pointers(tj_problem_matrix(view, which)->stride))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "family %s copies %c by a tensor map, which arrays of pointers do not have: use family mma", s->family,
                       letter);
    if (tj_wgmma_type(view, which) != tj_problem_matrix(view, which)->type)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "family %s multiplies %s, and %c holds weights of %s: pack it (pack=%c, which widens them and needs fixed "
            "dimensions), load it to registers as M of the source (by swap and transpose=registers, if it lies along k in "
            "rows that begin at multiples of 16 bytes), or use family mma",
            s->family, tj_facts_of(tj_wgmma_type(view, which))->name, letter,
            tj_facts_of(tj_problem_matrix(view, which)->type)->name, is_m ? 'm' : 'n');
    if (lies_wrong(view, s, is_m) && !transposes(s, is_m))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "family %s takes %s along k alone, and neighbours of %c in memory lie across it: give it %s, pack it "
                       "(pack=%c, which needs fixed dimensions), transpose it (transpose=%c), or use family mma",
                       s->family, s->element_bytes == 4 ? "tf32" : "elements of 8 bits", letter,
                       is_m ? "row-major" : "column-major", is_m ? 'm' : 'n', is_m ? 'm' : 'n');
    return tj_fail(
        err, TJ_ERR_INVALID_ARGUMENT,
        "family %s copies %c by a tensor map, so its lines and the products of a batch must begin at multiples of "
        "16 bytes: pad its leading dimension and stride to multiples of %d, pack it (pack=%c, which needs fixed dimensions), "
        "or "
        "use family mma",
        s->family, letter, CHUNK / s->element_bytes, is_m ? 'm' : 'n');
}

tj_status tj_wgmma_check_pack(const tj_problem *view, const tj_wgmma_shape *s, tj_error *err)
{
    const tj_pack pack = tj_wgmma_pack_of(view, s);
    char asked[ASKED_BYTES];

    (void)snprintf(asked, sizeof asked, "pack=%s", operand_choices[s->pack - 1]);
    return tj_pack_check(view, &pack, s->splits, asked, "pack=none", err);
}

/* Pack the operands that need it, if that is possible. */
int32_t tj_wgmma_pack_default(const tj_problem *view, tj_wgmma_shape s)
{
    s.pack = name(!transposes(&s, true) && !is_mapped(view, &s, true), !transposes(&s, false) && !is_mapped(view, &s, false));
    return tj_wgmma_check_pack(view, &s, NULL) == TJ_OK ? s.pack : TJ_WGMMA_NONE;
}

static tj_status check_tiles(const tj_problem *view, const tj_wgmma_shape *s, tj_error *err)
{
    const bool is_integer = tj_sum_type(view) == TJ_S32;
    const int32_t left = tj_multiplier_registers(s->blocks, s->multipliers, bringer_registers(s)),
                  needed = tj_wgmma_sum_registers(s) + tj_wgmma_factor_registers(s) + OTHER_REGISTERS,
                  each = tj_registers_left(s->blocks, s->threads);

    if (s->pingpong == TJ_WGMMA_PINGPONG && s->multipliers < 2)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "pingpong=yes takes two multipliers or more, and there is one");
    if (s->pingpong == TJ_WGMMA_PINGPONG && s->bm % TJ_WGMMA_ROWS != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "bm is %d: it must be a multiple of 64", s->bm);
    if (s->wm % TJ_WGMMA_ROWS != 0 || s->bm % s->wm != 0 || (s->slices > 1 && s->wm * s->multipliers != s->bm * s->slices))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "bm is %d: it must be a multiple of 64 times multipliers, which is %d",
                       s->bm, s->multipliers);
    if (s->bn % (s->swapped ? 8 : 16) != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "bn is %d: it must be a multiple of %d", s->bn, s->swapped ? 8 : 16);
    if (is_integer && s->bn > 32 && s->bn % 16 != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "bn is %d, and tensor cores take 8, 16, 24, 32 columns of integers, or a multiple of 16", s->bn);
    if (s->bn / 2 + INSTRUCTION_REGISTERS > each)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "bn is %d, and the %d sums of one product do not fit the %d registers with which the threads of %d blocks "
            "begin: use at most %d",
            s->bn, s->bn / 2, each, s->blocks, (each - INSTRUCTION_REGISTERS) * 2 / 16 * 16);
    if (bringer_registers(s) > each) /* it can only release registers */
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%d blocks with %d multipliers leave a thread %d registers, and one that transposes takes %d: use fewer "
                       "blocks, fewer multipliers, or pack",
                       s->blocks, s->multipliers, each, bringer_registers(s));
    if (needed <= left)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "%d blocks with %d multipliers leave a thread %d registers, and block tiles of %d x %d take %d%s: use a "
                   "smaller tile, more multipliers, or fewer blocks",
                   s->blocks, s->multipliers, left, s->bm, s->bn, needed,
                   s->promotes ? ", with the sums of a phase next to those of all" : "");
}

static tj_status check_room(const tj_problem *view, const tj_wgmma_shape *s, tj_error *err)
{
    const int64_t bytes = tj_wgmma_shared_bytes(view, s);

    if (s->stages <= s->slices)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "stages is %d, and each of %d multipliers that share the k of a tile holds a phase while it waits for "
                       "its next: use %d or more",
                       s->stages, s->slices, s->slices + 1);
    if (bytes <= MAX_SHARED / s->blocks)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "%d stages of tiles of %d x %d and %d x %d need %lld bytes of shared memory, and each of %d blocks may have "
                   "%d: use fewer stages",
                   s->stages, s->bm, s->bk, s->bk, s->bn, (long long)bytes, s->blocks, MAX_SHARED / s->blocks);
}

tj_status tj_wgmma_check_store(const tj_problem *view, const tj_wgmma_shape *s, tj_error *err)
{
    if (s->store != TJ_WGMMA_BOXES || tj_wgmma_has_boxes(view, s))
        return TJ_OK;
    return tj_fail(
        err, TJ_ERR_INVALID_ARGUMENT,
        "store=boxes writes P by a tensor map: without beta and without splits or groups, where its lines and the "
        "products of a batch begin at multiples of 16 bytes and a line's columns are whole 16 bytes: use store=lines");
}

static int32_t stages_that_fit(const tj_problem *view, tj_wgmma_shape s)
{
    for (s.stages = s.swapped ? MOST_STAGES : USUAL_STAGES; s.stages > 2; s.stages--)
        if (check_room(view, &s, NULL) == TJ_OK)
            break;
    return s.stages;
}

/* Return the columns of a tile, in such steps, so that as few as possible of at most 128 each share them. */
static int32_t even_columns(const tj_dim *l, int32_t step)
{
    const int64_t all = l->mode == TJ_DIM_FIXED && l->extent > 0 ? l->extent : 128, tiles = tj_ceil_div(all, 128);

    return (int32_t)tj_ceil_div(tj_ceil_div(all, tiles), step) * step;
}

static void settle_tile(const tj_problem *view, bool promotes, int32_t *v)
{
    const bool is_low = view->j.mode == TJ_DIM_FIXED && view->j.extent <= TJ_WGMMA_ROWS;

    if (v[BM] == 0)
        v[BM] = is_low || v[SWAP] == TJ_WGMMA_SWAPPED ? 64 : v[MULTIPLIERS] == 3 ? 192 : v[MULTIPLIERS] == 1 ? 64 : 128;
    if (v[MULTIPLIERS] == 0)
        v[MULTIPLIERS] = v[PINGPONG] == TJ_WGMMA_PINGPONG ? 2 : v[BM] == 192 ? 3 : v[BM] == 64 ? 1 : 2;
    if (v[BN] == 0)
        v[BN] = tj_is_symmetric(view)         ? v[BM]
                : v[SWAP] == TJ_WGMMA_SWAPPED ? even_columns(&view->l, promotes ? 8 : 16)
                                              : USUAL_COLS;
}

static tj_reduction_slots slots_of(const tj_problem *view, const tj_wgmma_shape *s)
{
    const bool in_turn = s->pingpong == TJ_WGMMA_PINGPONG;

    return (tj_reduction_slots){
        .of_row = tj_ceil_div(view->l.extent, s->bn * s->cluster_cols) * s->cluster_cols,
        .of_col = tj_ceil_div(view->j.extent, s->bm * s->cluster_rows) * s->cluster_rows * 4 *
                  (in_turn ? 1 : s->multipliers), /* one for each warp */
        .lane_cols = 4,
        .row_slot = "block_col / BN",
        .col_slot = in_turn ? "block_row / BM * 4 + warp % 4" : "block_row / BM * (4 * MULTIPLIERS) + warp",
    };
}

static tj_status check_reductions(const tj_problem *view, const tj_wgmma_shape *s, tj_error *err)
{
    const tj_reduction_slots slots = slots_of(view, s);

    return tj_reductions_check(view, &slots, err);
}

static tj_status resolve(const tj_problem *view, bool is_swapped, tj_config *config, tj_error *err)
{
    int32_t *const v = config->value;
    tj_status status = check_types(view, err);
    tj_wgmma_shape s;

    if (status != TJ_OK)
        return status;
    settle_tile(view, view->compute == TJ_COMPUTE_F32_FP8, v);
    s = tj_wgmma_shape_of(view, config);
    status = tj_wgmma_check_swap(view, &s, err);
    if (status != TJ_OK)
        return status;
    if (v[TRANSPOSE] == 0)
        v[TRANSPOSE] = s.transpose = transpose_default(view, &s);
    settle_weights(view, &s);
    if (v[RELEASE] == 0)
        v[RELEASE] = s.release = s.promotes ? TJ_WGMMA_NOW : TJ_WGMMA_LATE;
    if (v[PACK] == 0)
        v[PACK] = s.pack = tj_wgmma_pack_default(view, s);
    status = check_cluster(view, &s, err);
    if (status == TJ_OK)
        status = check_tiles(view, &s, err);
    if (status == TJ_OK && s.promotes && s.release == TJ_WGMMA_LATE)
        status =
            tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                    "release is late, and the sums of a phase of %s are waited for, so that they can be added up in f32: use "
                    "release=now",
                    tj_facts_of(view->m.type)->name);
    if (status == TJ_OK)
        status = tj_wgmma_check_store(view, &s, err);
    if (status == TJ_OK && v[STORE] == 0)
        v[STORE] = s.store = tj_wgmma_has_boxes(view, &s) ? TJ_WGMMA_BOXES : TJ_WGMMA_LINES;
    if (status == TJ_OK && v[STAGES] == 0)
        v[STAGES] = s.stages = stages_that_fit(view, s);
    if (status == TJ_OK)
        status = check_gathered(view, &s, err);
    if (status == TJ_OK)
        status = check_transpose(view, &s, true, err);
    if (status == TJ_OK)
        status = check_transpose(view, &s, false, err);
    if (status == TJ_OK)
        status = tj_wgmma_check_f32(view, &s, err);
    if (status == TJ_OK)
        status = tj_wgmma_check_parts(view, &s, err);
    if (status == TJ_OK)
        status = tj_wgmma_check_operand(view, &s, true, err);
    if (status == TJ_OK)
        status = tj_wgmma_check_operand(view, &s, false, err);
    if (status == TJ_OK)
        status = tj_wgmma_check_pack(view, &s, err);
    if (status == TJ_OK)
        status = check_room(view, &s, err);
    if (status == TJ_OK)
        status = tj_split_check(view, s.splits, err);
    if (status == TJ_OK)
        status = check_reductions(view, &s, err);
    return status == TJ_OK ? tj_tile_settle_checks(view, is_swapped, config, err) : status;
}

/*
 * Halve the number of blocks or, if it is one, the columns of the tile: the rows have a minimum of one product for each
 * multiplier.
 */
static bool relax(tj_config *config)
{
    int32_t *const v = config->value;

    if (tj_relax_blocks(config))
        return true;
    if (v[BN] >= 32) {
        v[BN] = (v[BN] / 2 + 15) / 16 * 16;
        if (names(v[TRANSPOSE], false))
            v[PACK] = v[TRANSPOSE] = 0; /* it may not have whole squares now */
        return true;
    }
    return false;
}

static bool for_any_operands(bool has_workspace, tj_config *config)
{
    config->value[STORE] = TJ_WGMMA_ELEMENTS;
    config->value[PACK] = TJ_WGMMA_BOTH;
    config->value[TRANSPOSE] = TJ_WGMMA_NONE;
    return has_workspace; /* a tensor map needs multiples of 16 bytes: without a workspace to pack to, nothing helps */
}

/*
 * Tensor cores add up what a step of wgmma multiplies as they do for mma (emulator/operations/product.h), whichever operand comes
 * first. Those of tf32 cut off bits to which mma rounds, unless a kernel before the product has rounded both operands. 8-bit floats
 * have parts of one length in every config.
 */
static tj_sum_order sum_order(const tj_problem *view, const tj_config *config)
{
    const tj_wgmma_shape s = tj_wgmma_shape_of(view, config);
    const bool divides_k = s.splits > 1 || s.parts > 1 || s.slices > 1, is_permuted = s.weight_bits > 0,
               rounds = view->compute == TJ_COMPUTE_TF32 && s.pack != TJ_WGMMA_BOTH;

    if (divides_k || is_permuted)
        return TJ_SUMS_OWN;
    return s.promotes ? TJ_SUMS_IN_PARTS : tj_scale_k(view) > 0 || rounds ? TJ_SUMS_OWN : TJ_SUMS_BY_TENSOR_CORES;
}

/* ---- tuning ------------------------------------------------------------------------------------------------------- */

enum {
    FULL_GPU = 264,          /* blocks that occupy any GPU */
    MOST_SWAPPED_ROWS = 256, /* of P: with more, its rows fill the 64 of a product as well */
    MOST_SHARING = 4,        /* tiles of the rows of P, if swapped */
    FEW_ROWS = 16            /* of P, in which mma multiplies weights faster */
};

/* Do whole lines copy over a quarter more than the columns of a wide tile? */
static bool brings_too_much(const tj_problem *view, const tj_wgmma_shape *s)
{
    const tj_wgmma_tile n = tj_wgmma_tile_of(view, s, false);

    return s->bn > 128 && !n.along_k && n.blocks * n.line * 4 > s->bn * 5;
}

/* Are there fewer tiles than multiprocessors, if each has all that a warpgroup can multiply? */
static bool is_small(const tj_problem *view)
{
    return tj_ceil_div(view->j.extent, 128) * tj_ceil_div(view->l.extent, 128) * (view->batch > 1 ? view->batch : 1) <
           FULL_GPU / 2;
}

/* May pairs of blocks that share tiles gain? Large products of 8-bit floats with scales are up to 2 % faster or slower with them. */
static bool may_gain_by_pairs(const tj_problem *view, const tj_wgmma_shape *s)
{
    return s->scales_parts && s->parts == 1 && !is_small(view);
}

/*
 * Tiles that are not swapped gain nothing from these, but for few rows of P: 128x5120x5120 has a tile of 64x80 for each of 128
 * multiprocessors, which are kept waiting by what each of them has to bring. Lines of N across k hold 64 columns or more.
 * Where columns have scales in blocks, each 16 or 32 columns of some tiles take a product of scales, which costs more than it
 * gains.
 */
static bool is_too_fine(const tj_problem *view, const tj_wgmma_shape *s, size_t known)
{
    const bool takes_steps = view->j.extent <= MOST_SWAPPED_ROWS && tj_wgmma_tile_of(view, s, false).along_k;

    return (known > CLUSTER && cluster_of(s) > (may_gain_by_pairs(view, s) ? 2 : 1)) ||
           (known > BN && s->bn > 16 && s->bn < 112 && s->bn % 32 != 0 && !takes_steps) ||
           (known > STAGES && s->stages > USUAL_STAGES) ||
           (known > BN && s->scales_parts && !s->scales_cols && s->bn > 128 && s->bn % 64 != 0);
}

/*
 * Lanes load half a phase of M while the other half is multiplied. In large products this takes long enough in wide tiles, if
 * another warpgroup multiplies as well.
 */
static bool loads_in_vain(const tj_problem *view, const tj_wgmma_shape *s, size_t known)
{
    return is_too_fine(view, s, known) || (!is_small(view) && ((known > BN && (s->bn < 128 || s->bn % 64 != 0)) ||
                                                               (known > MULTIPLIERS && s->multipliers < 2) ||
                                                               (known > PINGPONG && s->pingpong == TJ_WGMMA_PINGPONG)));
}

/*
 * Weights that come from registers keep lanes busy next to the tensor cores: two warpgroups that multiply, or more, and tiles of
 * many columns hide that. f32 keeps them busy in small products too; and its tiles have so many bytes that pairs of blocks share
 * them or their k, lest they wait for the L2, with a ring of three phases or more.
 */
static bool widens_in_vain(const tj_problem *view, const tj_wgmma_shape *s, size_t known)
{
    const bool is_f32 = s->planes > 1, is_paired = s->cluster_cols == 2 || s->parts > 1;

    return (known > CLUSTER && (cluster_of(s) > 2 || (s->parts > 1 && !is_small(view)) || (is_f32 && !is_paired))) ||
           (known > BLOCKS && is_f32 && stages_that_fit(view, *s) < 3) || (known > BN && (s->bn < 64 || s->bn % 32 != 0)) ||
           (known > MULTIPLIERS && s->multipliers < 2 && (is_f32 || !is_small(view))) ||
           (known > PINGPONG && s->pingpong == TJ_WGMMA_PINGPONG) || (known > STAGES && s->stages > USUAL_STAGES);
}

/*
 * Does it pack N, or transpose tiles of it, that comes from registers if it is swapped? That costs a tenth to a third of a large
 * product.
 */
static bool turns_in_vain(const tj_problem *view, const tj_wgmma_shape *s)
{
    return !s->swapped && s->element_bytes == 4 && lies_wrong(view, s, false) && !lies_wrong(view, s, true) &&
           has_map(view, s, true) && has_map(view, s, false) && can_swap(view) && view->j.extent > MOST_SWAPPED_ROWS &&
           !is_small(view);
}

/* Does it pack weights of N that come from registers if it is swapped? They do not where M has scales of parts. */
static bool packs_in_vain(const tj_problem *view, const tj_wgmma_shape *s)
{
    return !s->swapped && tj_is_weights(view, TJ_MATRIX_N) && !tj_scales_along_k(view, TJ_MATRIX_M) &&
           lies_along_k(view, false) && can_swap(view) && !tj_stride_is_pointers(view->n.stride) &&
           tj_access_lines_begin_at(view, TJ_MATRIX_N, CHUNK / tj_facts_of(view->n.type)->bytes);
}

/*
 * Swapped tiles are for few rows of P, which few tiles share, each with less than a step of rows too many. One warpgroup
 * multiplies 64 columns of P, or two share the k of their weights (of 3 or 4, one won by 2 % on an H200), and the ring is as deep as it can be. Clusters are pairs that share columns of P, or k: of 164
 * products on an H200 those that share rows won 4, by 4 % at most, and fours that share columns or k none. With scales of parts,
 * those that share k lost all of 24.
 * With more rows they are for an N by rows of tf32, which comes from registers as the view's M.
 */
static bool swaps_in_vain(const tj_problem *view, const tj_wgmma_shape *s, size_t known)
{
    const int64_t rows = view->l.extent, tiles = tj_ceil_div(rows, s->bn), more = tiles * s->bn - rows,
                  blocks = tiles * tj_ceil_div(view->j.extent, s->bm) * (view->batch > 1 ? view->batch : 1);

    if (rows > MOST_SWAPPED_ROWS && loads_m(s))
        return s->weight_bits > 0 ? widens_in_vain(view, s, known) : loads_in_vain(view, s, known);
    return rows < 1 || rows > MOST_SWAPPED_ROWS || (known > BN && (more >= 8 * tiles || tiles > MOST_SHARING)) ||
           (known > BN && s->bn < 16 && (rows > 8 || !s->promotes)) || /* few rows of other types have faster families */
           (rows <= FEW_ROWS && tj_is_weights(view, TJ_MATRIX_M)) ||
           (known > CLUSTER && loads_m(s) && s->weight_bits == 0 && cluster_of(s) > 1) ||
           (known > MULTIPLIERS && s->bm != TJ_WGMMA_ROWS * s->multipliers && s->slices != 2) ||
           (known > CLUSTER && (cluster_of(s) > 2 || s->cluster_rows > 1 || (s->parts > 1 && s->scales_parts))) ||
           (known > BN && tiles % s->cluster_cols > 0) ||
           (known > SPLITS && s->parts > 1 &&
            (s->splits > 1 || blocks * s->parts > FULL_GPU || view->k.extent < (int64_t)s->parts * 4 * s->bk)) ||
           (known > PINGPONG && s->pingpong == TJ_WGMMA_PINGPONG) || (known > GROUP && s->group != USUAL_GROUP);
}

static bool is_hopeless(const tj_problem *view, const tj_config *config, size_t known)
{
    tj_wgmma_shape s = tj_wgmma_shape_of(view, config);
    const int64_t tiles =
        tj_ceil_div(view->j.extent, s.bm) * tj_ceil_div(view->l.extent, s.bn) * (view->batch > 1 ? view->batch : 1);

    if (known <= PACK)
        s.pack = 0;
    if (known <= TRANSPOSE || s.transpose == 0)
        s.transpose = transpose_default(view, &s);
    settle_weights(view, &s);
    if (s.pack == 0)
        s.pack = tj_wgmma_pack_default(view, s);
    return check_types(view, NULL) != TJ_OK || tj_wgmma_check_swap(view, &s, NULL) != TJ_OK ||
           check_gathered(view, &s, NULL) != TJ_OK ||
           (s.swapped ? swaps_in_vain(view, &s, known) : is_too_fine(view, &s, known)) || turns_in_vain(view, &s) ||
           packs_in_vain(view, &s) || check_transpose(view, &s, true, NULL) != TJ_OK ||
           check_transpose(view, &s, false, NULL) != TJ_OK || tj_wgmma_check_f32(view, &s, NULL) != TJ_OK ||
           tj_wgmma_check_parts(view, &s, NULL) != TJ_OK || tj_wgmma_check_operand(view, &s, true, NULL) != TJ_OK ||
           tj_wgmma_check_operand(view, &s, false, NULL) != TJ_OK || (known > BM && s.bm > 64 && s.bm - 64 >= view->j.extent) ||
           (known > BN && s.bn > 16 && s.bn / 2 >= view->l.extent) || (known > BN && brings_too_much(view, &s)) ||
           (known > BN && s.halves && !tj_is_scaled(view, TJ_MATRIX_P)) || /* wide tiles of 8-bit floats are for its blocks */
           (known > BLOCKS && s.pingpong == TJ_WGMMA_PINGPONG && (s.multipliers != 2 || s.blocks > 1)) ||
           (known > SPLITS && tj_is_symmetric(view) && s.bm != s.bn && !is_tall(view, &s)) ||
           (known > SPLITS && s.splits > 1 && (tiles * s.splits > FULL_GPU || view->k.extent < (int64_t)s.splits * 4 * s.bk)) ||
           (known > BLOCKS && (check_tiles(view, &s, NULL) != TJ_OK || (s.stages > 0 && check_room(view, &s, NULL) != TJ_OK)));
}

/* Is a ring of swapped tiles as deep as the values that are tried allow? */
static bool is_deep(const tj_problem *view, tj_wgmma_shape s)
{
    const int32_t stages = s.stages, fit = stages_that_fit(view, s);

    for (size_t i = 0; s.swapped && stages_tried[i] > 0; i++)
        if (stages_tried[i] > stages && stages_tried[i] <= fit)
            return false;
    return true;
}

static bool is_worth_trying(const tj_problem *view, const tj_config *config)
{
    const tj_wgmma_shape s = tj_wgmma_shape_of(view, config);

    return !is_hopeless(view, config, TJ_CONFIG_MAX_PARAMS) && s.pack == tj_wgmma_pack_default(view, s) && is_deep(view, s) &&
           !(s.swapped && s.store == TJ_WGMMA_LINES && tj_wgmma_has_boxes(view, &s)) &&
           !(s.promotes && s.release == TJ_WGMMA_LATE);
}

/* ---- source ------------------------------------------------------------------------------------------------------- */

static const char *wgmma_type(const tj_problem *view, int32_t type)
{
    return view->compute == TJ_COMPUTE_TF32 ? "tf32" : tj_facts_of(type)->name;
}

/*
 * Is the first part of a phase begun where the loop over phases ends, so that it is made while a tile is stored? Not by warpgroups of
 * 128 rows, which are 4 % faster if a phase begins where the loop begins (256x128 on an H200).
 */
static bool begins_ahead(const tj_wgmma_shape *s)
{
    return s->promotes && s->pingpong != TJ_WGMMA_PINGPONG && s->wm == TJ_WGMMA_ROWS;
}

/* Describe the instruction; the operands after the accumulators are the descriptors. */
static void describe_product(const tj_problem *view, const tj_wgmma_shape *s, tj_template_params *fill)
{
    const char *const sum = tj_type_get_facts(tj_sum_type(view))->name;
    const int32_t cols = s->halves ? s->bn / 2 : s->bn, sums = cols / 2;
    const tj_wgmma_tile m = tj_wgmma_tile_of(view, s, true), n = tj_wgmma_tile_of(view, s, false);
    char text[TJ_TEMPLATE_VALUE_BYTES];

    (void)snprintf(text, sizeof text, "wgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s", cols, s->k_step, sum,
                   wgmma_type(view, tj_wgmma_type(view, TJ_MATRIX_M)), wgmma_type(view, tj_wgmma_type(view, TJ_MATRIX_N)));
    tj_template_set(fill, "wgmma_name", text);
    tj_template_set(fill, "multiply_registers",
                    s->weight_bits > 0 ? "wgmma/multiply_weights.cuh"
                    : loads_m(s)       ? "wgmma/multiply_registers.cuh"
                                       : "");
    tj_template_set(fill, "factors",
                    s->weight_bits > 0 ? "wgmma/factors_of_weights.cuh"
                    : loads_m(s)       ? "wgmma/factors.cuh"
                                       : "");
    tj_template_set(fill, "first_factors",
                    s->weight_bits > 0 ? "wgmma/first_weights.cuh"
                    : loads_m(s)       ? "wgmma/first_factors.cuh"
                                       : "");
    tj_template_set_int(fill, "m_operand", sums);
    tj_template_set_int(fill, "m_second", sums + 1);
    tj_template_set_int(fill, "m_third", sums + 2);
    tj_template_set_int(fill, "m_fourth", sums + 3);
    tj_template_set_int(fill, "n_operand", sums + (loads_m(s) ? 4 : 1));
    tj_template_set_flag(fill, "m_registers", loads_m(s));
    tj_template_set_flag(fill, "mma_halves", s->element_bytes == 2);
    tj_template_set(fill, "m_across", m.along_k ? "0" : "1");
    tj_template_set(fill, "n_across", n.along_k ? "0" : "1");
    tj_template_set_int(fill, "more_sums", sums / 4 - 1);
    tj_template_set(fill, "multiply_add",
                    s->promotes          ? "wgmma/multiply_phase.cuh"
                    : sum[0] == 's'      ? "wgmma/multiply_integers.cuh"
                    : s->weight_bits > 0 ? "wgmma/multiply_widened.cuh"
                    : loads_m(s)         ? "wgmma/multiply_factors.cuh"
                                         : "wgmma/multiply_add.cuh");
    tj_template_set_flag(fill, "promotes", s->promotes);
    tj_template_set_flag(fill, "ahead", begins_ahead(s));
    tj_template_set_int(fill, "upper_operand", sums + 6);
    tj_template_set_flag(fill, "halves", s->halves);
    tj_template_set(fill, "part_cols", s->halves ? "TN / 2" : "TN");
    tj_template_set(fill, "n_of_part", s->halves ? "n_offset(first) + half * (BN / 2) * 128" : "n_offset(first)");
    tj_template_set(fill, "promoted", s->halves ? "wgmma/promote_halves.cuh" : "wgmma/promote_rows.cuh");
    tj_template_set_int(fill, "adds_operand", sums + (loads_m(s) ? 5 : 2));
    tj_template_set(fill, "sum_constraint", sum[0] == 's' ? "\"+r\"" : "\"+f\"");
}

/* Describe the tensor map of one operand. */
void tj_wgmma_describe_map(const tj_problem *view, const tj_wgmma_shape *s, const tj_pack *pack, bool is_m,
                           tj_template_params *fill, tj_launch_form *form)
{
    const tj_which which = is_m ? TJ_MATRIX_M : TJ_MATRIX_N;
    const tj_wgmma_tile t = tj_wgmma_tile_of(view, s, is_m);
    const bool weights = is_m && s->weight_bits > 0, pairs = s->numbers > 1, in_blocks = t.along_k && t.blocks > 1;
    const char *const bring = is_m && s->gathers      ? ""
                              : is_m && s->planes > 1 ? (t.along_k ? "wgmma/bring_f32.cuh" : "wgmma/bring_f32_across.cuh")
                              : weights || pairs      ? "wgmma/bring_weights.cuh"
                              : t.squares             ? "wgmma/bring_squares.cuh"
                              : in_blocks             ? "wgmma/bring_blocks_along.cuh"
                              : t.along_k             ? "wgmma/bring_line.cuh"
                                                      : "wgmma/bring_blocks.cuh";
    tj_tensor_map *const map = &form->tensor_map[is_m ? TJ_MAP_M : TJ_MAP_N];

    *map = (tj_tensor_map){
        .matrix = is_m != form->is_swapped ? TJ_MATRIX_M : TJ_MATRIX_N,
        .rank = tj_map_has_products(view, which) ? 3 : 2,
        .box = {t.line, t.squares ? t.line : t.lines, 1},
        .swizzle = t.bytes,
        .rounds = view->compute == TJ_COMPUTE_TF32,
    };
    if (packs(s, is_m))
        tj_pack_map(view, pack, which, map);
    if (is_m && s->gathers)
        *map = (tj_tensor_map){0};
    tj_template_set_flag(fill, is_m ? "m_along_k" : "n_along_k", t.along_k);
    tj_template_set(fill, is_m ? "m_blocks" : "n_blocks", in_blocks ? "BK / LINE" : "1");
    tj_template_set(fill, is_m ? "m_each_block" : "n_each_block", in_blocks ? "blocks of LINE elements of k" : "one block");
    tj_template_set(fill, is_m ? "m_place" : "n_place",
                    in_blocks && !is_m ? "(kk / LINE * N_LINES * LINE + kk % LINE)"
                    : pairs            ? "kk / 2"
                                       : "kk");
    tj_template_set(fill, is_m ? "bring_m" : "bring_n", bring);
}

/* Is every possible value of the extent a multiple? */
static bool is_multiple(const tj_dim *dim, int32_t of)
{
    return (dim->mode == TJ_DIM_FIXED ? dim->extent : dim->multiple_of > 1 ? dim->multiple_of : 1) % of == 0;
}

/*
 * Describe how boxes that cross the edge of P read epilogue operands. If boxes lie wholly inside or outside, the offset of
 * their first row and column is fixed; a place for each pair of columns would take registers that large tiles do not have.
 */
void tj_wgmma_describe_edges(const tj_problem *view, tj_checks checks, int32_t slice, tj_template_params *fill)
{
    const bool whole_rows = checks.j && is_multiple(&view->j, TJ_WGMMA_SLICE_ROWS),
               whole_cols = checks.l && is_multiple(&view->l, slice);

    tj_template_set_flag(fill, "clips_rows", checks.j);
    tj_template_set_flag(fill, "clips_cols", checks.l);
    tj_template_set_flag(fill, "clips_boxes_of_rows", whole_rows);
    tj_template_set_flag(fill, "clips_boxes_of_cols", whole_cols);
    tj_template_set_flag(fill, "clips_each_row", checks.j && !whole_rows);
    tj_template_set_flag(fill, "clips_pairs", checks.l && !whole_cols);
    tj_template_set(fill, "read_row", whole_rows ? "read_row" : "box_row");
    tj_template_set(fill, "read_col", whole_cols ? "read_col" : "box_col");
    tj_template_set(fill, "inside_row", whole_rows ? "box_row" : "box_row + row");
    tj_template_set(fill, "inside_col", whole_cols ? "box_col" : "box_col + col");
    tj_template_set(fill, "row_of_square",
                    checks.j ? "min(box_row + own + r % 2 * 8 + lane / 4, static_cast<index_t>(j) - 1)"
                             : "box_row + own + r % 2 * 8 + lane / 4");
    tj_template_set(fill, "col_of_square",
                    checks.l ? "min(box_col + (c - first) * 4 + lane % 4 * 2, static_cast<index_t>(l) - 2)"
                             : "box_col + (c - first) * 4 + lane % 4 * 2");
    tj_template_set(fill, "row_end", view->j.mode == TJ_DIM_FIXED ? "j" : "static_cast<index_t>(j)");
    tj_template_set(fill, "col_end", view->l.mode == TJ_DIM_FIXED ? "l" : "static_cast<index_t>(l)");
}

void tj_wgmma_describe_output(const tj_problem *view, const tj_wgmma_shape *s, tj_template_params *fill, tj_launch_form *form)
{
    const tj_wgmma_output out = tj_wgmma_output_of(view, s);
    const bool triangle = has_triangle(view, s) && out.boxes == 0, squares = has_triangle(view, s) && out.boxes > 0;
    const int32_t bytes = out.vector * tj_facts_of(view->p.type)->bytes, box = out.slice / tj_access_sums(view, s->splits),
                  line = s->swapped ? TJ_WGMMA_SLICE_ROWS : box;
    const bool has_bytes_transposed = s->element_bytes == 1 && (transposes_any(s) || packs_transposed(view, s, true) ||
                                                                packs_transposed(view, s, false)); /* for M or N */

    if (out.boxes > 0) {
        form->align[TJ_MATRIX_P] = CHUNK;
        form->align[TJ_MATRIX_C] = view->epilogue.has_beta ? bytes : 0; /* of one triangle: a lane reads two neighbours */
        form->tensor_map[MAP_P] = (tj_tensor_map){
            .matrix = TJ_MATRIX_P,
            .rank = view->batch == 1 ? 2 : 3,
            .box = {line, squares ? line : box * TJ_WGMMA_SLICE_ROWS / line, 1},
            .swizzle = line * tj_facts_of(view->p.type)->bytes,
        };
        if (form->tensor_map[MAP_P].swizzle < 32)
            form->tensor_map[MAP_P].swizzle = 0;
    } else if (s->splits <= 1 && out.vector > 1) {
        form->align[TJ_MATRIX_P] = bytes;
        form->align[TJ_MATRIX_C] = view->epilogue.has_beta && !triangle ? bytes : 0;
    }
    tj_template_set_int(fill, "SLICE", out.slice);
    tj_template_set(fill, "box_cols", box < out.slice ? "(SLICE / 2)" : "SLICE");
    tj_template_set(fill, "box_first", s->swapped ? "box_row" : box < out.slice ? "box_col / 2" : "box_col");
    tj_template_set(fill, "box_second", s->swapped ? "box_col" : "box_row");
    tj_template_set(fill, "box_sums", s->swapped ? "1" : "2");
    tj_template_set(fill, "col_in_box",
                    s->swapped ? "(c - first) / 2 * 8 + c % 2 + lane % 4 * 2" : "(c - first) * 4 + lane % 4 * 2");
    tj_template_set(fill, "in_box",
                    squares          ? "wgmma/in_square.cuh"
                    : triangle       ? "wgmma/in_box_of_triangle.cuh"
                    : out.boxes == 0 ? ""
                    : s->swapped     ? "wgmma/in_box_of_cols.cuh"
                                     : "wgmma/in_box.cuh");
    tj_template_set(fill, "bytes_of_quads", has_bytes_transposed ? "" : "parts/transpose_bytes.cuh");
    tj_template_set(fill, "first_sums", "block_col"); /* a warp has all columns of the tile */
    tj_template_set(fill, "four_bytes", tj_type_is_pair(view->p.type) ? "wgmma/four_halves.cuh" : "wgmma/four_values.cuh");
    tj_template_set(fill, "quads", out.quads ? "wgmma/quads.cuh" : "");
    tj_template_set(fill, "first_of_thread",
                    tj_epilogue_reduces(&view->epilogue) || tj_is_scaled(view, TJ_MATRIX_P) || s->scales_parts
                        ? "wgmma/first_of_thread.cuh"
                        : "");
    tj_template_set(fill, "in_lines",
                    out.boxes > 0 || out.quads || out.halves || triangle ? ""
                    : s->swapped                                         ? "wgmma/in_lines_of_cols.cuh"
                                                                         : "wgmma/in_lines.cuh");
    tj_template_set(fill, "slice_lines", s->swapped ? "[SLICE][16]" : "[16][SLICE]");
    tj_template_set_flag(fill, "by_cols", s->swapped);
    tj_template_set_int(fill, "P_VECTOR", out.vector);
    if (out.boxes > 0)
        tj_template_set_int(fill, "BOXES", out.boxes);
    else
        tj_template_set(fill, "BOXES", "");
    tj_template_set_flag(fill, "vector_p", out.vector > 1);
    tj_template_set(fill, "boxes",
                    squares         ? "wgmma/boxes_of_squares.cuh"
                    : triangle      ? "wgmma/boxes_of_triangle.cuh"
                    : out.boxes > 0 ? "wgmma/boxes.cuh"
                                    : "");
    tj_template_set(fill, "own_boxes",
                    squares         ? "wgmma/boxes_of_warpgroup.cuh"
                    : triangle      ? "wgmma/box_of_warp.cuh"
                    : out.boxes > 0 ? "wgmma/boxes_of_warp.cuh"
                                    : "");
    tj_template_set(fill, "finished", squares ? "pairs[r - top][(c - first) / 2]" : triangle ? "in_box(box, row, col)" : "");
    tj_template_set(fill, "slice_beyond_diagonal",
                    squares                   ? (tj_computes_upper(view) ? "box_row > box_col" : "box_col > box_row")
                    : tj_computes_upper(view) ? "box_row > box_col + SLICE - 1"
                                              : "box_col > box_row + 15");
    tj_template_set(fill, "before_diagonal", tj_computes_upper(view) ? "pair * 8 > own" : "pair * 8 < own");
    tj_template_set(fill, "in_triangle", tj_computes_upper(view) ? "row <= col" : "col <= row");
    tj_template_set(fill, "begin_in_row", tj_computes_upper(view) ? "Row - Col" : "0");
    tj_template_set(fill, "end_in_row", tj_computes_upper(view) ? "P_VECTOR" : "Row - Col + 1");
    tj_template_set(fill, "begin_in_col", tj_computes_upper(view) ? "0" : "Col - Row");
    tj_template_set(fill, "end_in_col", tj_computes_upper(view) ? "Col - Row + 1" : "P_VECTOR");
    tj_template_set(fill, "store",
                    squares                                ? "wgmma/store_squares.cuh"
                    : triangle                             ? "wgmma/store_triangle.cuh"
                    : out.boxes > 0                        ? "wgmma/store_boxes.cuh"
                    : out.quads                            ? "wgmma/store_quads.cuh"
                    : out.halves                           ? "parts/store_halves.cuh"
                    : tj_epilogue_reduces(&view->epilogue) ? "wgmma/store_elements.cuh"
                    : s->swapped                           ? "wgmma/store_cols.cuh"
                                                           : "wgmma/store_lines.cuh");
}

/* Do blocks walk the tiles of all products of a batch? */
static bool walks_products(const tj_problem *view, const tj_wgmma_shape *s)
{
    return view->batch != 1 && s->splits <= 1;
}

/* Describe which tiles a warpgroup walks, and how the phases of a tile are brought, transposed, multiplied and released. */
static void describe_walk(const tj_problem *view, const tj_wgmma_shape *s, tj_template_params *fill)
{
    const bool has_groups = tj_is_grouped(view), in_turn = s->pingpong == TJ_WGMMA_PINGPONG, tall = is_tall(view, s),
               is_alone = s->cluster_rows * s->cluster_cols == 1;
    const char *const first = tall       ? "tile_of(blockIdx.x)"
                              : is_alone ? "blockIdx.x"
                                         : "blockIdx.x / CLUSTER",
                      *const next = tall       ? "step_from(tile)"
                                    : is_alone ? "gridDim.x"
                                               : "gridDim.x / CLUSTER";

    tj_template_set(fill, "begin_tile", tall ? "wgmma/skip_square.cuh" : walks_products(view, s) ? "wgmma/of_product.cuh" : "");
    tj_template_set(fill, "row_of_tall", tj_computes_upper(view) ? "side - 1 - tile_y" : "tile_y");
    tj_template_set(fill, "col_of_tall", tj_computes_upper(view) ? "2 * side - 1 - tile_x" : "tile_x");
    tj_template_set(fill, "square_beyond_diagonal",
                    tj_computes_upper(view) ? "block_row + group_row >= block_col + BN"
                                            : "block_col >= block_row + group_row + WM");

    tj_template_set(fill, "place",
                    has_groups              ? "wgmma/place_in_group.cuh"
                    : tall                  ? "wgmma/place_in_tall_triangle.cuh"
                    : tj_is_symmetric(view) ? "wgmma/place_in_triangle.cuh"
                    : !is_alone             ? "wgmma/place_in_cluster.cuh"
                                            : "wgmma/place.cuh");
    tj_template_set(fill, "tile", has_groups ? "wgmma/tile_of_group.cuh" : "wgmma/tile.cuh");
    tj_template_set(fill, "scale",
                    walks_products(view, s) ? "" /* that of each product, later */
                    : !has_groups           ? "parts/scale.cuh"
                                            : "wgmma/all_scales.cuh");
    tj_template_set_flag(fill, "walks_products", walks_products(view, s));
    tj_template_set(fill, "tiles", walks_products(view, s) ? "batch * rows * cols" : "rows * cols");
    tj_template_set(fill, "bring", has_groups ? "wgmma/bring_in_groups.cuh" : "wgmma/bring.cuh");
    tj_template_set(fill, "first_brought", first);
    tj_template_set(fill, "next_brought", next);
    tj_template_set(fill, "first_k",
                    s->divides_k                    ? "span.first + phase"
                    : s->splits > 1 || s->parts > 1 ? "k_begin + phase"
                                                    : "phase");
    tj_template_set_flag(fill, "pingpong", in_turn);
    tj_template_set(fill, "WM", in_turn ? "BM" : s->slices > 1 ? "BM * SLICES / MULTIPLIERS" : "BM / MULTIPLIERS");
    tj_template_set(fill, "group_row", in_turn ? "0" : s->slices > 1 ? "(warpgroup - 1) * WM % BM" : "(warpgroup - 1) * WM");
    tj_template_set(fill, "first_tile", in_turn ? "blockIdx.x + (warpgroup - 1) * gridDim.x" : first);
    tj_template_set(fill, "first_phases", s->divides_k ? "span_of(blockIdx.x).phases" : "phases");
    tj_template_set(fill, "next_phases", s->divides_k ? "span_of(tile + gridDim.x).phases" : "phases");
    tj_template_set(fill, "next_tile", in_turn ? "MULTIPLIERS * gridDim.x" : next);
    tj_template_set(fill, "places_t", in_turn ? "long long" : "int");
    tj_template_set(fill, "advance", in_turn ? "static_cast<int>(places % STAGES)" : "places");
    tj_template_set(fill, "releases",
                    in_turn         ? "4"
                    : s->slices > 1 ? (is_alone ? "STORERS" : "STORERS * CLUSTER")
                    : is_alone      ? "4 * MULTIPLIERS"
                                    : "4 * MULTIPLIERS * CLUSTER");
    tj_template_set(fill, "release", s->release == TJ_WGMMA_LATE ? "wgmma/release_late.cuh" : "wgmma/release_now.cuh");
    tj_template_set(fill, "last_release", s->release == TJ_WGMMA_LATE ? "wgmma/last.cuh" : "");
}

/* Describe the warps that copy rows of M, which an index gathers, and who arrives when a place of the ring is full. */
static void describe_gatherers(const tj_problem *view, const tj_wgmma_shape *s, tj_template_params *fill)
{
    const int32_t chunk = CHUNK / s->element_bytes;
    const bool copies_whole = tj_access_widest(view, TJ_MATRIX_M, chunk) == chunk;

    if (s->gathers)
        tj_template_set_int(fill, "GATHERERS", s->scales_parts ? GATHERERS - 1 : GATHERERS); /* one brings scales */
    else
        tj_template_set(fill, "GATHERERS", "");
    tj_template_set(fill, "arrivals",
                    s->gathers && s->scales_parts ? "1 + SCALERS + 32 * GATHERERS"
                    : s->gathers                  ? "1 + 32 * GATHERERS"
                    : s->scales_parts             ? "1 + SCALERS"
                                                  : "1");
    tj_template_set(fill, "brought", s->gathers ? "sizeof(tiles[stage].N)" : "sizeof(phase_t)");
    tj_template_set_flag(fill, "copies_or_zero", s->gathers && copies_whole);
    tj_template_set_flag(fill, "copies_part", s->gathers && !copies_whole);
    tj_template_set(fill, "end_of_rows", tj_is_grouped(view) ? "group.end" : "j");
}

/* Describe how warps prepare what the copy engine has brought of an operand. */
static const char *preparation_of(const tj_wgmma_shape *s, const tj_wgmma_tile *t)
{
    return t->squares      ? "wgmma/transpose.cuh"
           : !s->divides_k ? ""
           : t->along_k    ? "wgmma/clear_ends.cuh"
                           : "wgmma/clear_lines.cuh";
}

static void describe_preparation(const tj_problem *view, const tj_wgmma_shape *s, tj_template_params *fill)
{
    const tj_wgmma_tile m = tj_wgmma_tile_of(view, s, true), n = tj_wgmma_tile_of(view, s, false);
    const bool squares = m.squares || n.squares;

    tj_template_set_flag(fill, "prepares", prepares(s));
    tj_template_set_flag(fill, "squares", squares);
    tj_template_set_flag(fill, "square_bytes", squares && s->element_bytes == 1);
    tj_template_set(fill, "PREPARERS", prepares(s) ? "3" : "");
    tj_template_set(fill, "came", prepares(s) ? "came" : "full");
    tj_template_set(fill, "when_full", prepares(s) ? "and can be multiplied" : "its tiles have come");
    tj_template_set_of(fill, true, "prepare_m", preparation_of(s, &m));
    tj_template_set_of(fill, false, "prepare_m", preparation_of(s, &n));
    tj_template_set(fill, "kept",
                    s->divides_k && ((m.along_k && !m.squares) || (n.along_k && !n.squares)) ? "wgmma/kept.cuh" : "");
}

/* Does one block alone read each tile of an operand of the caller's, because P has one row, or column, of tiles? */
static bool is_read_once(const tj_problem *view, const tj_wgmma_shape *s, bool is_m)
{
    const tj_dim *const other = is_m ? &view->l : &view->j;

    return other->mode == TJ_DIM_FIXED && other->extent <= (is_m ? s->bn : s->bm) && !packs(s, is_m) && !tj_is_grouped(view) &&
           (view->batch == 1 || tj_map_has_products(view, is_m ? TJ_MATRIX_M : TJ_MATRIX_N)) &&
           s->cluster_rows * s->cluster_cols == 1;
}

/* Describe how the blocks of a cluster divide their tiles, bring what they share and free places of the ring. */
static void describe_shared(const tj_problem *view, const tj_wgmma_shape *s, tj_template_params *fill)
{
    const bool shares_m = s->cluster_cols > 1, shares_n = s->cluster_rows > 1, shares = shares_m || shares_n;
    /* The other operand is then the one to keep. If both are read once, nothing is gained: 8 000 of 49x32x49 lose 13 %. */
    const bool m_once = is_read_once(view, s, true) && !is_read_once(view, s, false),
               n_once = is_read_once(view, s, false) && !is_read_once(view, s, true);

    tj_template_set(fill, "copy_once", m_once || n_once ? "wgmma/copy_once.cuh" : "");
    tj_template_set_flag(fill, "shares_tiles", shares);
    tj_template_set_flag(fill, "m_in_turns", shares_m);
    tj_template_set_flag(fill, "n_in_turns", shares_n);
    tj_template_set_flag(fill, "shared_3d", tj_map_has_products(view, shares_m ? TJ_MATRIX_M : TJ_MATRIX_N));
    tj_template_set(fill, "m_copy", shares_m ? "copy_box_to_all" : m_once ? "copy_box_once" : "copy_box");
    tj_template_set(fill, "n_copy", shares_n ? "copy_box_to_all" : n_once ? "copy_box_once" : "copy_box");
    tj_template_set(fill, "frees", shares ? "lane < CLUSTER" : "lane == 0");
    tj_template_set(fill, "free_place", shares ? "arrive_everywhere" : "arrive");
    tj_template_set(fill, "cluster_rows", shares_m ? "BM" : "CLUSTER * BM");
    tj_template_set(fill, "cluster_cols", shares_m ? "CLUSTER * BN" : "BN");
    tj_template_set(fill, "own_row", shares_m ? "ROWS" : "ROWS + rank * BM");
    tj_template_set(fill, "own_col", shares_m ? "COLS + rank * BN" : "COLS");
}

/* Describe how warpgroups share the k of a tile, each with every SLICES-th phase. */
static void describe_slices(const tj_wgmma_shape *s, tj_template_params *fill)
{
    const bool slices = s->slices > 1, shares_k = s->parts > 1;

    if (slices)
        tj_template_set_int(fill, "SLICES", s->slices);
    else
        tj_template_set(fill, "SLICES", "");
    tj_template_set(fill, "ROUND", slices ? "SLICES * BK" : "");
    tj_template_set(fill, "STORERS", slices ? "4 * MULTIPLIERS / SLICES" : "");
    tj_template_set(fill, "slice_of_warpgroup", slices ? "wgmma/slice.cuh" : "");
    tj_template_set_lines(fill, "rank_of_block", shares_k ? "const int rank = blockIdx.y;\n" : NULL);
    tj_template_set_lines(fill, "share_of_k", slices && shares_k ? "const int share = rank * SLICES + slice;\n" : NULL);
    tj_template_set(fill, "storers", slices ? "STORERS" : "4 * MULTIPLIERS");
    tj_template_set(fill, "round_k", slices ? "ROUND" : "BK");
    tj_template_set(fill, "phases_of", slices ? "ROUND * SLICES" : "BK");
    tj_template_set(fill, "first_phase", slices ? "slice" : "0");
    tj_template_set(fill, "next_phase", slices ? "phase += SLICES" : "++phase");
    tj_template_set(fill, "slices_step", slices ? "SLICES" : "1");
    tj_template_set(fill, "is_later", slices ? "phase >= SLICES" : "phase > 0");
    tj_template_set(fill, "last_place",
                    slices ? "stage >= SLICES ? stage - SLICES : stage + STAGES - SLICES"
                           : "stage > 0 ? stage - 1 : STAGES - 1");
    tj_template_set(fill, "share", slices ? "share" : "rank");
    tj_template_set(fill, "add_parts", shares_k ? "wgmma/add_parts.cuh" : slices ? "wgmma/add_slices.cuh" : "");
    tj_template_set(fill, "send", shares_k ? "parts/send.cuh" : "");
    tj_template_set(fill, "senders", shares_k ? "1" : "SLICES - 1");
    tj_template_set(fill, "sharer", slices ? "lane / SLICES" : "lane");
    tj_template_set(fill, "sender", slices ? "warp + lane % SLICES * STORERS" : "warp");
    tj_template_set(fill, "storer", slices ? "storer" : "warp");
    tj_template_set(fill, "sharers", !slices ? "CLUSTER" : shares_k ? "CLUSTER * SLICES" : "SLICES");
}

/* Describe clusters, whose blocks share tiles or, along grid.y, the k of a tile. */
static void describe_cluster(const tj_problem *view, const tj_wgmma_shape *s, tj_template_params *fill, tj_launch_form *form)
{
    const bool clusters = cluster_of(s) > 1, shares_k = s->parts > 1;

    if (clusters) {
        tj_step_product(form)->cluster[shares_k] = cluster_of(s);
        form->needs |= TJ_FEATURE_CLUSTER;
    }
    if (clusters)
        tj_template_set_int(fill, "CLUSTER", cluster_of(s));
    else
        tj_template_set(fill, "CLUSTER", "");
    tj_template_set_flag(fill, "clusters", clusters);
    tj_template_set_flag(fill, "gathers", shares_k || s->slices > 1);
    tj_template_set_flag(fill, "has_parts", shares_k || s->splits > 1);
    tj_template_set(fill, "k_parts", shares_k ? "CLUSTER" : "SPLITS");
    tj_template_set(fill, "part_of_k", shares_k ? "rank" : "blockIdx.z % SPLITS");
    tj_template_set(fill, "send_constraint", tj_sum_type(view) == TJ_S32 ? "\"r\"" : "\"f\"");
    tj_template_set(fill, "meet", clusters ? "meet_in_cluster" : "__syncthreads");
    describe_slices(s, fill);
    describe_shared(view, s, fill);
}

/* Describe how the warpgroup that brings tiles hands registers to those that multiply. */
static void describe_registers(const tj_wgmma_shape *s, tj_template_params *fill)
{
    tj_template_set_flag(fill, "moves_registers", tj_moves_registers(s->blocks, s->multipliers));
    tj_template_set_int(fill, "bringer_registers", bringer_registers(s));
    tj_template_set_int(fill, "multiplier_registers", tj_multiplier_registers(s->blocks, s->multipliers, bringer_registers(s)));
}

static const char *describe(const tj_problem *view, const tj_config *config, tj_template_params *fill, tj_launch_form *form)
{
    const tj_wgmma_shape s = tj_wgmma_shape_of(view, config);
    const tj_pack pack = tj_wgmma_pack_of(view, &s);
    const tj_checks checks = tj_checks_of(config, form->is_swapped);
    const tj_reduction_slots slots = slots_of(view, &s);
    tj_launch_step *const product = tj_step_product(form); /* until tj_pack_describe adds one ahead of it */

    product->grid = walks_products(view, &s) ? TJ_GRID_WALK_ALL : TJ_GRID_WALK;
    product->resident = s.blocks;
    tj_step_set_blocks(product, s.threads, s.bm, s.bn);
    product->dynamic_shared_bytes = tj_wgmma_shared_bytes(view, &s);
    form->needs |= TJ_FEATURE_TMA | TJ_FEATURE_SETMAXNREG | TJ_FEATURE_WGMMA;
    for (int is_m = 0; is_m < 2; is_m++)
        if (!packs(&s, is_m))
            form->align[is_m != form->is_swapped ? TJ_MATRIX_M : TJ_MATRIX_N] = CHUNK;
    tj_scales_describe(view, TJ_SCALES_IN_TURN, s.splits, fill); /* all of them at once would not fit the registers */
    tj_wgmma_describe_output(view, &s, fill, form);
    tj_split_describe(view, s.splits, fill, form);
    tj_reductions_describe(view, &slots, fill, form);
    tj_pack_describe(view, &pack, fill, form);
    tj_step_describe_order(view, fill, form);
    tj_widen_describe(view, (tj_widen_copies){0},
                      tj_widens_weights(view->m.type, view->n.type) && !tj_meets_f32(view) && s.weight_bits == 0, fill);
    tj_wgmma_describe_map(view, &s, &pack, true, fill, form);
    tj_wgmma_describe_map(view, &s, &pack, false, fill, form);
    describe_cluster(view, &s, fill, form);
    if (!fill)
        return NULL;
    tj_maps_describe(view, tj_step_product(form), prepares(&s) ? "came" : "full", fill);
    tj_maps_list_args(view, form->is_swapped, s.planes > 1, s.splits <= 1, form->tensor_map[MAP_P].rank > 0 ? MAP_P : -1,
                      tj_step_product(form));
    tj_template_set_int(fill, "BM", s.bm);
    tj_template_set_int(fill, "BN", s.bn);
    tj_template_set_int(fill, "BK", s.bk);
    tj_template_set_int(fill, "K_STEP", s.k_step);
    tj_template_set_int(fill, "MULTIPLIERS", s.multipliers);
    tj_template_set_int(fill, "STAGES", s.stages);
    tj_template_set_int(fill, "BLOCKS", s.blocks);
    tj_template_set_int(fill, "GROUP", s.group);
    tj_template_set(fill, "rows_above", "top * 32");
    tj_template_set(fill, "sum_barriers", "");
    tj_template_set(fill, "m_edge", "BM");
    tj_template_set(fill, "n_edge", "BN");
    tj_template_set(fill, "half_of_n", "");
    tj_template_set(fill, "expect", "arrive_and_expect");
    tj_template_set(fill, "row_of", "r / 2 * 64 + r % 2 * 8");
    tj_template_set(fill, "col_of", "c / 2 * 8 + c % 2");
    tj_template_set(fill, "first_col", "thread_col");
    describe_walk(view, &s, fill);
    describe_gatherers(view, &s, fill);
    describe_preparation(view, &s, fill);
    describe_registers(&s, fill);
    tj_wgmma_describe_edges(view, checks, tj_wgmma_output_of(view, &s).slice, fill);
    tj_wgmma_describe_weights(view, &s, checks.j, fill);
    describe_product(view, &s, fill);
    tj_wgmma_describe_scales(view, &s, checks, tj_step_product_name(tj_step_product(form)), fill);
    return "wgmma/wgmma.cu";
}

static bool takes_tall(const tj_problem *view, const tj_config *config)
{
    const tj_wgmma_shape s = tj_wgmma_shape_of(view, config);

    return is_tall(view, &s);
}

static bool takes_scales(const tj_problem *view)
{
    return tj_wgmma_takes_scales(view) || tj_wgmma_takes_scales_of_weights(view);
}

const tj_family tj_family_wgmma = {
    .name = "wgmma",
    .summary =
        "Hopper's tensor cores multiply tiles of shared memory, which the copy engine brings; blocks walk the tiles of P",
    .takes_pairs = TJ_PAIRS_OF_WEIGHTS,
    .takes_repacked = true,
    .param = params,
    .param_count = sizeof params / sizeof params[0],
    .constraint = constraints,
    .start = &tj_wgmma_start,
    .scales_along_k = true,
    .sums_in_registers = true,
    .takes_groups = true,
    .takes_groups_along_k = true,
    .takes_scattered = true,
    .takes_symmetric = true,
    .takes_tall = takes_tall,
    .takes_gathered = true,
    .model = &tj_model_wgmma,
    .reduces = TJ_REDUCES_BY_WARP,
    .checks_k = true,
    .widest = 256,
    .is_swapped = is_swapped,
    .tile = tile,
    .takes_scales = takes_scales,
    .resolve = resolve,
    .quantizes = quantizes,
    .relax = relax,
    .sum_order = sum_order,
    .for_any_operands = for_any_operands,
    .moved = moved,
    .describe = describe,
    .count = tj_wgmma_count,
    .is_worth_trying = is_worth_trying,
    .is_hopeless = is_hopeless,
};
