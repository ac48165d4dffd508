/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weights: M of weights of 8 and 4 bits, whose factors come from registers (templates/wgmma/factors_of_weights.cuh), and their
 * scales along k.
 *
 * Scales multiply the sums of parts of k, in f32. Where the type that weights are widened to has every weight times its scale,
 * the factors are multiplied instead, which is exact too, and takes no accumulators. A scale of e8m0 is then divided by 8, and
 * the sum multiplied by 8: a scale of 2^127 times a weight would be too large for bf16.
 *
 * Weights of 4 bits that meet e4m3 become e4m3, four to a register. Each part of k, a phase at most, has sums of its own then.
 *
 * f32 that meets bf16 takes the same way, as three planes of bf16, which hold all its bits: high, middle and low. Tensor cores add
 * up the products of a unit of k, the small ones first, and threads the units. docs/f32-split.md counts the roundings.
 */
#include "form.h"

#include <stdio.h>
#include <string.h>

#include "checked.h"
#include "error.h"
#include "operand_table.h"
#include "parts/scales.h"
#include "parts/widen.h"
#include "text.h"

enum { UNIT = 32, K_STEP = 16 };                  /* elements of k whose factors a lane makes at once; of a product */
enum { PLACE_REGISTERS = 8, FEW_REGISTERS = 12 }; /* for the place of a scale in a tile of cuBLAS; those that find room */

/* Does f16, or bf16 with 8 bits of fraction, have every weight less its zero point? Weights with zero points are integers. */
static bool has_differences(const tj_problem *view, tj_which which)
{
    const tj_scale *const scale = tj_scale_of(view, which);
    const int32_t type = tj_problem_matrix(view, which)->type;

    if (scale->zero == 0)
        return true;
    if (!tj_facts_of(scale->zero)->is_integer || tj_widens_to_fp8(view))
        return false;
    if (tj_leading_type(view->m.type, view->n.type) == TJ_F16)
        return true;
    return type == TJ_U4 || scale->zero == TJ_U4 || type == scale->zero || (type == TJ_S4 && scale->zero == TJ_S8);
}

/* Does the type that weights of M are widened to have every one of them, less its zero point, times its scale? */
static bool folds(const tj_problem *view)
{
    const tj_scale *const scale = tj_scale_of(view, TJ_MATRIX_M);
    const bool is_small = !tj_widens_to_fp8(view) && tj_type_is_pair(view->m.type) &&
                          (scale->zero == 0 || (view->m.type == TJ_U4 && scale->zero == TJ_U4));

    return is_small && (scale->type == TJ_E4M3 || (scale->type == TJ_E8M0 && view->n.type == TJ_BF16));
}

/* Are the scales of MXFP4 powers of 2, by which a weight of e2m1 in its place becomes a bfloat16? */
static bool has_powers(const tj_problem *view)
{
    return tj_scales_along_k(view, TJ_MATRIX_M) && folds(view) && view->m.type == TJ_E2M1 &&
           tj_scale_of(view, TJ_MATRIX_M)->type == TJ_E8M0;
}

int32_t tj_wgmma_type(const tj_problem *view, tj_which which)
{
    const bool has_bf16 = view->m.type == TJ_BF16 || view->n.type == TJ_BF16;

    return tj_meets_f32(view) && has_bf16 ? TJ_BF16 : tj_widened_type(view, which);
}

tj_status tj_wgmma_check_f32(const tj_problem *view, const tj_wgmma_shape *s, tj_error *err)
{
    if (!tj_meets_f32(view) || s->planes > 1) {
        if (s->planes > 1 && (view->batch != 1 || s->pack != TJ_WGMMA_NONE))
            return tj_fail(
                err, TJ_ERR_INVALID_ARGUMENT,
                "family wgmma multiplies f32 by bf16 in one product, of lines that begin at multiples of 16 bytes, and "
                "%s: use family tiled",
                view->batch != 1 ? "the problem has a batch" : "pack is for others");
        return TJ_OK;
    }
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "family wgmma takes f32 next to bf16 from registers as M of the source: use %s, or family skinny or tiled",
                   tj_wgmma_has_f32(view)
                       ? "transpose=registers, pack=none and a smaller tile, for an f32 whose lines begin at multiples of 16 "
                         "bytes"
                   : s->swapped ? "swap=no"
                                : "swap=yes");
}

bool tj_wgmma_takes_scales_of_weights(const tj_problem *view)
{
    const tj_which weights = tj_is_weights(view, TJ_MATRIX_M) ? TJ_MATRIX_M : TJ_MATRIX_N,
                   other = weights == TJ_MATRIX_M ? TJ_MATRIX_N : TJ_MATRIX_M;

    return tj_widens_weights(view->m.type, view->n.type) && !tj_meets_f32(view) && !tj_scales_along_k(view, other) &&
           tj_scale_of(view, other)->zero == 0 && has_differences(view, weights);
}

bool tj_wgmma_adds_parts(const tj_problem *view)
{
    return tj_widens_to_fp8(view) || tj_wgmma_has_f32(view) || (tj_scales_along_k(view, TJ_MATRIX_M) && !folds(view));
}

static tj_status check_order(const tj_problem *view, const tj_wgmma_shape *s, tj_error *err)
{
    if (!tj_has_repacked(view) || (s->weight_bits > 0 && !tj_widens_to_fp8(view)))
        return TJ_OK;
    return tj_widens_to_fp8(view)
               ? tj_fail(
                     err, TJ_ERR_INVALID_ARGUMENT,
                     "weights are repacked for activations of 16 bits, and these are e4m3: leave their order natural, or use "
                     "family tiled")
               : tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                         "family wgmma takes repacked weights from registers as M of the source: use %s, or family mma",
                         tj_is_repacked(view, TJ_MATRIX_M) ? "pack=none and transpose=registers"
                         : s->swapped                      ? "swap=no"
                                                           : "swap=yes");
}

/* Tensor cores would lose bits of sums of 8-bit floats: each phase is a part of those at most. */
bool tj_wgmma_has_long_parts(const tj_problem *view, const tj_wgmma_shape *s)
{
    return tj_scale_k(view) > s->bk && !tj_widens_to_fp8(view);
}

static bool has_scales(const tj_problem *view)
{
    return tj_scales_along_k(view, TJ_MATRIX_M) || tj_scale_of(view, TJ_MATRIX_M)->zero != 0;
}

int32_t tj_wgmma_scale_registers(const tj_problem *view, const tj_wgmma_shape *s)
{
    const tj_scale *const scale = tj_scale_of(view, TJ_MATRIX_M);
    const int32_t parts = scale->k == 0 ? 1 : (int32_t)tj_ceil_div(s->bk, scale->k);
    /* Scales of sums are kept as they were stored; those of factors, and zero points, as they are used, too. */
    const int32_t copies = (scale->k == 0 ? 0
                            : folds(view) ? 2
                                          : 1) +
                           (scale->zero != 0 ? 2 : 0),
                  all = copies * parts * s->wm / 32 + (scale->layout == TJ_SCALES_IN_TILES ? PLACE_REGISTERS : 0);

    return all > FEW_REGISTERS ? all - FEW_REGISTERS : 0;
}

tj_status tj_wgmma_check_parts(const tj_problem *view, const tj_wgmma_shape *s, tj_error *err)
{
    const int32_t k = tj_scale_k(view), least = folds(view) ? K_STEP : UNIT;

    if (check_order(view, s, err) != TJ_OK)
        return TJ_ERR_INVALID_ARGUMENT;
    if (!tj_widens_weights(view->m.type, view->n.type) ||
        (!has_scales(view) && !tj_scales_along_k(view, TJ_MATRIX_N) && tj_scale_of(view, TJ_MATRIX_N)->zero == 0))
        return TJ_OK;
    if (s->weight_bits == 0 && tj_widens_to_fp8(view)) /* they are packed as e4m3, whose parts have scales (scales.c) */
        return TJ_OK;
    if (s->weight_bits == 0)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "family wgmma takes scales along k and zero points where weights come from registers as M of the source, "
            "which %s: use %s, or family mma",
            tj_wgmma_has_weights(view) ? "transpose and pack decide" : "they are with the other swap",
            tj_wgmma_has_weights(view) ? "pack=none, transpose=registers and a smaller tile"
            : s->swapped               ? "swap=no"
                                       : "swap=yes");
    if (tj_scales_along_k(view, TJ_MATRIX_N))
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "family wgmma takes weights from registers with scales along k of their own, and what they are multiplied "
            "by has such scales too: use transpose=none and pack=m, or family mma");
    if (view->batch != 1)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "family wgmma takes scales along k and zero points in one product, and the problem has a batch: use family "
            "mma or tiled");
    if (k == 0 || (k % least == 0 && (k % s->bk == 0 || s->bk % k == 0)))
        return TJ_OK;
    return tj_fail(
        err, TJ_ERR_INVALID_ARGUMENT,
        "scales are for %d elements of k each, and family wgmma takes %s32, 64, or a multiple of 128: use family mma "
        "or tiled",
        k, least < UNIT ? "16, " : "");
}

/* ---- source ------------------------------------------------------------------------------------------------------- */

/* Lines that declare the scales of a thread's rows, as they are stored and as they are used, and that load and convert them. */
typedef struct scale_lines {
    tj_text stored, made, load, make;
} scale_lines;

static bool is_split(const tj_wgmma_shape *s)
{
    return s->splits > 1 || s->parts > 1;
}

/*
 * Is the number of a phase's first scale printed, and those of the others counted from it? One address for each row then serves all
 * of them, unless they lie in tiles. The compiler sees that by itself where k begins at 0.
 */
static bool counts_parts(const tj_problem *view, const tj_wgmma_shape *s)
{
    return is_split(s) && tj_scale_k(view) > 0 && tj_scale_k(view) < s->bk &&
           tj_scale_of(view, TJ_MATRIX_M)->layout != TJ_SCALES_IN_TILES;
}

/*
 * Print the line that loads a scale, such as "coming.less[p][r] = inside ? scale_m[...] : float{};". Returns what chooses one of two
 * zero points that share a byte, or nothing, in choice.
 */
static void print_load(const tj_problem *view, const tj_wgmma_shape *s, int index, const char *to, const char *inside,
                       tj_text *load, char choice[static TJ_TEMPLATE_VALUE_BYTES])
{
    const int32_t type = (int32_t)tj_operand_row_of(view, TJ_SCALES + index).type;
    char read[TJ_TEMPLATE_VALUE_BYTES];
    char *last;

    tj_scales_print_read(view, index, counts_parts(view, s) ? "((kk - p * SCALE_K) / SCALE_K + p)" : "kk / SCALE_K", "Row",
                         read);
    choice[0] = '\0';
    last = strrchr(read, '[');
    if (tj_type_is_pair(type) && last) {
        (void)snprintf(choice, TJ_TEMPLATE_VALUE_BYTES, "%s", last);
        *last = '\0';
    }
    if (*inside)
        tj_text_print(load, "%s[p][r] = %s ? %s : %s{};\n", to, inside, read, tj_facts_of(type)->cuda);
    else
        tj_text_print(load, "%s[p][r] = %s;\n", to, read);
}

/* Print the lines of one member of the scales of factors. before and after: around the number where it is converted. */
static void print_scale(const tj_problem *view, const tj_wgmma_shape *s, int index, const char *member, const char *before,
                        const char *after, const char *inside, scale_lines *out)
{
    char to[TJ_TEMPLATE_VALUE_BYTES], choice[TJ_TEMPLATE_VALUE_BYTES];

    (void)snprintf(to, sizeof to, "coming.%s", member);
    print_load(view, s, index, to, inside, &out->load, choice);
    tj_text_print(&out->stored, "%s %s[PARTS][TM];\n",
                  tj_facts_of((int32_t)tj_operand_row_of(view, TJ_SCALES + index).type)->cuda, member);
    tj_text_print(&out->made, "unsigned int %s[PARTS][TM];\n", member);
    tj_text_print(&out->make, "scales.%s[p][r] = %s%s[p][r]%s%s;\n", member, before, to, choice, after);
}

/*
 * Print how sums' scales are loaded, row by row: relative to those of the thread's first row, whose address ptxas would otherwise
 * compute for each of the others. In tiles of 256 x 128 the registers for that are not there, and it spills.
 */
static void print_load_in_rows(const tj_problem *view, const tj_wgmma_shape *s, const char *inside, tj_text *first,
                               tj_text *load)
{
    const char *const type = tj_facts_of(tj_scale_of(view, TJ_MATRIX_M)->type)->cuda,
                      *const part = counts_parts(view, s) ? "((kk - p * SCALE_K) / SCALE_K + p)" : "kk / SCALE_K";

    tj_text_print(first,
                  "const %s *const sum_scales = scale_m + (block_row + m_row) * ld_scale_m;  // of the thread's first row\n",
                  type);
    tj_text_print(load, *inside ? "scale[p][r] = %s ? " : "scale[p][r] = ", inside);
    tj_text_print(load, "sum_scales[(r / 2 * 64 + r %% 2 * 8) * ld_scale_m + %s]", part);
    if (*inside)
        tj_text_print(load, " : %s{}", type);
    tj_text_append(load, ";\n");
}

/* Describe the scales that multiply sums of parts. */
static void describe_scales_of_sums(const tj_problem *view, const tj_wgmma_shape *s, const char *inside,
                                    tj_template_params *fill)
{
    const bool scales = s->adds_parts && tj_scales_along_k(view, TJ_MATRIX_M);
    const bool in_rows =
        scales && tj_scale_of(view, TJ_MATRIX_M)->layout == TJ_SCALES_ROW_BY_ROW && tj_scale_of(view, TJ_MATRIX_M)->rows == 1;
    tj_text first = TJ_TEXT_INIT(256), load = TJ_TEXT_INIT(256);
    char choice[TJ_TEMPLATE_VALUE_BYTES];

    if (in_rows)
        print_load_in_rows(view, s, inside, &first, &load);
    else if (scales)
        print_load(view, s, TJ_MATRIX_M, "scale", inside, &load, choice);
    tj_template_set_flag(fill, "scale_row", scales && (!in_rows || strstr(inside, "Row")));
    tj_template_take_lines(fill, "scales_of_first_row", &first);
    tj_template_take_lines(fill, "load_scale_of_sum", &load);
    tj_template_set_lines(fill, "load_next_scale",
                          !scales ? NULL
                          : s->slices > 1
                              ? "if (phase + SLICES < phases)\n    load_scale(phase + SLICES, unit * UNIT / SCALE_K, row);\n"
                              : "if (phase + 1 < phases)\n    load_scale(phase + 1, unit * UNIT / SCALE_K, row);\n");
    tj_template_set(fill, "sum_scale_t", scales ? tj_facts_of(tj_scale_of(view, TJ_MATRIX_M)->type)->cuda : "");
    tj_template_set(fill, "scales_of_sums", scales ? "wgmma/scales_of_sums.cuh" : "");
    tj_template_set(fill, "times_scale", scales || s->planes > 1 ? "that times the scale" : "that");
    tj_template_set(fill, "part_of_sum",
                    scales          ? "static_cast<float>(scale[unit * UNIT / SCALE_K][r]) * part"
                    : s->planes > 1 ? "F32_SCALE * part"
                                    : "part");
}

/* Describe the scales and zero points of a phase, and what becomes of factors. clips_rows: rows may lie outside M. */
static void describe_scales(const tj_problem *view, const tj_wgmma_shape *s, bool clips_rows, tj_template_params *fill)
{
    const bool scales_factors = tj_scales_along_k(view, TJ_MATRIX_M) && !s->adds_parts,
               has_zeros = tj_scale_of(view, TJ_MATRIX_M)->zero != 0, is_e8m0 = tj_scale_of(view, TJ_MATRIX_M)->type == TJ_E8M0,
               makes = has_zeros || scales_factors,
               ends = !(view->k.mode == TJ_DIM_FIXED && view->k.extent % (s->bk * s->slices) == 0) && tj_scale_k(view) > 0;
    const char *const inside = clips_rows && ends ? "Row < j && kk < k" : clips_rows ? "Row < j" : ends ? "kk < k" : "";
    scale_lines lines = {TJ_TEXT_INIT(256), TJ_TEXT_INIT(256), TJ_TEXT_INIT(1024), TJ_TEXT_INIT(512)};
    tj_text uses = TJ_TEXT_INIT(256);

    if (has_zeros) {
        print_scale(view, s, TJ_ZEROS - TJ_SCALES + TJ_MATRIX_M, "less", "both(-static_cast<float>(", "))", inside, &lines);
        tj_text_append(&uses, "two = add_both(two, scales.less[p][r]);\n");
    }
    if (has_powers(view)) {
        char choice[TJ_TEMPLATE_VALUE_BYTES];

        print_load(view, s, TJ_MATRIX_M, "coming", inside, &lines.load, choice);
    } else if (scales_factors) {
        print_scale(view, s, TJ_MATRIX_M, "times", is_e8m0 ? "both(0.125f * " : "both(", ")", inside, &lines);
        tj_text_append(&uses, "two = multiply_both(two, scales.times[p][r]);\n");
    }
    tj_template_take_lines(fill, "stored_scales", &lines.stored);
    tj_template_take_lines(fill, "made_scales", &lines.made);
    tj_template_take_lines(fill, "load_scale", &lines.load);
    tj_template_take_lines(fill, "make_scale", &lines.make);
    tj_template_take_lines(fill, "scale_two", &uses);
    tj_template_set(fill, "both", makes && !has_powers(view) ? "wgmma/both.cuh" : "");
    tj_template_set(fill, "multiply_both",
                    scales_factors && tj_facts_of(view->m.type)->is_integer ? "weights/multiply_both.cuh" : "");
    tj_template_set(fill, "scale_factors",
                    has_powers(view) ? "wgmma/multiply_by_powers.cuh"
                    : makes          ? "wgmma/scale_factors.cuh"
                                     : "");
    tj_template_set(fill, "scales_of_weights",
                    has_powers(view) ? "wgmma/powers_of_weights.cuh"
                    : makes          ? "wgmma/scales_of_weights.cuh"
                                     : "");
    tj_template_set(fill, "widen_factor",
                    has_powers(view) ? "weights/e2m1_in_bf16.cuh" : tj_template_get(fill, "widen_neighbour"));
    describe_scales_of_sums(view, s, inside, fill);
}

/* Describe the parts of k that have one scale: several of a phase, or some phases. */
static void describe_parts(const tj_problem *view, const tj_wgmma_shape *s, tj_template_params *fill)
{
    const bool has_parts = tj_scale_k(view) > 0, fours = tj_widens_to_fp8(view),
               is_phase = fours && (tj_scale_k(view) == 0 || tj_scale_k(view) > s->bk), /* more would lose bits */
        is_long = tj_wgmma_has_long_parts(view, s), splits = is_split(s), slices = s->slices > 1;
    const char *const at = splits ? "(k_begin + phase * BK)" : "phase * BK", *const round = slices ? "ROUND" : "BK";
    char begun[TJ_TEMPLATE_VALUE_BYTES], ends[TJ_TEMPLATE_VALUE_BYTES];

    tj_template_set(fill, "PARTS", !has_scales(view) ? "" : has_parts ? "(BK + SCALE_K - 1) / SCALE_K" : "1");
    tj_template_set(fill, "part_k", has_parts ? "p * SCALE_K" : "0");
    tj_template_set(fill, "part_of_step", has_parts ? "(unit * UNIT + step * K_STEP) / SCALE_K" : "0");
    (void)snprintf(begun, sizeof begun, "unit > 0 || (%s%s %% SCALE_K >= %s)",
                   slices   ? "phase >= SLICES && "
                   : splits ? "phase > 0 && "
                            : "",
                   at, round);
    (void)snprintf(ends, sizeof ends, "unit + 1 == UNITS && (%s %% SCALE_K + %s >= SCALE_K || phase + %s >= phases)", at, round,
                   slices ? "SLICES" : "1");
    tj_template_set(fill, "has_begun",
                    s->planes > 1 ? "false"
                    : is_phase    ? "unit > 0"
                    : is_long     ? begun
                                  : "unit * UNIT % SCALE_K > 0");
    tj_template_set(fill, "ends_part",
                    s->planes > 1 ? "true"
                    : is_phase    ? "unit + 1 == UNITS"
                    : is_long     ? ends
                                  : "(unit + 1) * UNIT % SCALE_K == 0");
}

void tj_wgmma_describe_weights(const tj_problem *view, const tj_wgmma_shape *s, bool clips_rows, tj_template_params *fill)
{
    const bool pairs = s->weight_bits == 4, fours = tj_widens_to_fp8(view), repacked = tj_is_repacked(view, TJ_MATRIX_M),
               across = s->planes > 1 && view->m.layout != TJ_ROW_MAJOR;
    const int32_t line = s->bk * s->weight_bits / 8; /* bytes */
    char first[TJ_TEMPLATE_VALUE_BYTES];

    tj_template_set_flag(fill, "m_weights", s->weight_bits > 0);
    tj_template_set(fill, "compute_again", s->planes > 1 ? "wgmma/compute_again.cuh" : "");
    tj_template_set(fill, "about_m",
                    s->planes > 1                        ? "wgmma/about_f32.cuh"
                    : s->weight_bits > 0                 ? "wgmma/about_weights.cuh"
                    : s->transpose == TJ_WGMMA_REGISTERS ? "wgmma/about_registers.cuh"
                                                         : "");
    tj_template_set(fill, "line_t", tj_template_get(fill, s->weight_bits > 0 ? "n_t" : "m_t"));
    tj_template_set_flag(fill, "adds_parts", s->adds_parts);
    tj_template_set(fill, "unfold",
                    s->weight_bits > 0 && !s->adds_parts && tj_scales_along_k(view, TJ_MATRIX_M) &&
                            tj_scale_of(view, TJ_MATRIX_M)->type == TJ_E8M0
                        ? "wgmma/unfold.cuh"
                        : "");
    if (s->weight_bits == 0)
        return;
    describe_scales(view, s, clips_rows, fill);
    describe_parts(view, s, fill);
    tj_template_set(fill, "load_f32", across ? "wgmma/load_f32_across.cuh" : "wgmma/load_f32.cuh");
    tj_template_set(fill, "next_rows", across ? "2 * BK * M_LINE" : "64 * M_LINE");
    tj_template_set(fill, "exact_m", across ? "M[kk * ld_m + Row]" : "M[Row * ld_m + kk]");
    tj_template_set(fill, "take_factors",
                    s->planes > 1 ? "wgmma/take_f32.cuh"
                    : fours       ? "wgmma/take_fours.cuh"
                    : repacked    ? "wgmma/take_repacked.cuh"
                    : pairs       ? "wgmma/take_4.cuh"
                                  : "wgmma/take_8.cuh");
    tj_template_set(fill, "UNIT", fours ? "K_STEP" : "2 * K_STEP");
    tj_template_set(fill, "unit_steps", fours ? "1" : "2");
    tj_template_set(fill, "factors_of_unit",
                    s->planes > 1 ? "unsigned int[3][2][4]"
                    : fours       ? "unsigned int[1][4]"
                                  : "unsigned int[2][4]");
    tj_template_set(fill, "stored_m",
                    across          ? "float M[BM * 4 / M_LINE][BK][M_LINE / 4]"
                    : s->planes > 1 ? "float M[BK * 4 / M_LINE][BM][M_LINE / 4]"
                                    : "unsigned char M[BM][M_LINE]");
    tj_template_set(fill, "factors_lie",
                    across          ? "wgmma/lie_as_f32_across.cuh"
                    : s->planes > 1 ? "wgmma/lie_as_f32.cuh"
                    : fours         ? "wgmma/lie_in_fours.cuh"
                    : repacked      ? "wgmma/lie_repacked.cuh"
                                    : "wgmma/lie_in_twos.cuh");
    tj_template_set(fill, "PART_ROWS", tj_wgmma_has_long_parts(view, s) ? "TM" : "2");
    tj_template_set(fill, "m_line", s->planes > 1 ? "128" : pairs ? "BK / 2" : "BK");
    tj_template_set_int(fill, "m_bytes", line);
    tj_template_set(fill, "n_bytes", s->bk * s->element_bytes > TJ_WGMMA_LINE ? "twice 128" : "128");
    tj_template_set(fill, "UNIT_BYTES", across ? "UNIT * M_LINE" : s->planes > 1 ? "BM * M_LINE" : pairs ? "UNIT / 2" : "UNIT");
    tj_template_set(fill, "unit_place",
                    s->planes > 1 ? "m_first + piece % UNITS * UNIT_BYTES" : "(m_first ^ piece % UNITS * UNIT_BYTES)");
    tj_template_set(fill, "exact_n", view->n.layout == TJ_ROW_MAJOR ? "N[kk * ld_n + Col]" : "N[Col * ld_n + kk]");
    tj_template_set(fill, "first_row", across ? "M[m_row / 32][lane % 4 * 2]" : s->planes > 1 ? "M[0][m_row]" : "M[m_row]");
    tj_template_set(fill, "exact_begin", is_split(s) ? "k_begin" : "0");
    tj_template_set(fill, "stored_k", pairs ? "kk / 2" : "kk");
    (void)snprintf(first, sizeof first,
                   across          ? "(m_row %% 32 / 4 ^ lane %% 4 * 2) * 16 ^ m_row %% 4 * 4"
                   : s->planes > 1 ? "(%s ^ lane %% 4 / 2 ^ m_row %% 2 * 4) * 16 ^ lane %% 2 * 8"
                   : repacked      ? "(%s * 16 + lane %% 4 * 4)"
                                   : "%s * 16",
                   line >= TJ_WGMMA_LINE       ? "m_row % 8"
                   : line == TJ_WGMMA_LINE / 2 ? "m_row / 2 % 4"
                                               : "m_row / 4 % 2");
    tj_template_set(fill, "first_chunk", first);
    tj_template_set_flag(fill, "selects", !repacked && s->planes == 1);
    tj_template_set(fill, "made_of",
                    across          ? "words, false"
                    : s->planes > 1 ? "words, m_row % 2 != 0"
                    : repacked      ? "words"
                                    : "words, select");
    tj_template_set(fill, "multiply_unit", s->planes > 1 ? "wgmma/multiply_planes.cuh" : "wgmma/multiply_steps.cuh");
    tj_template_set(fill, "of_first",
                    across          ? "the lane's first element of the row"
                    : s->planes > 1 ? "the lane's first pair of the row, or, in an odd row, of its second step"
                    : repacked      ? "this lane's word of the first chunk of the row"
                                    : "the first chunk of the row");
    tj_template_set(fill, "select",
                    fours   ? "lane % 4 * 0x22 + 0x10"
                    : pairs ? "lane % 4 + 0x4440"
                            : "lane % 4 * 0x22 + (lane % 4 * 2 + 1) * 0x1100");
}
