/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scale: the scales that a problem can have, and the place of each.
 */
#include "scale.h"

#include "canonical.h"
#include "error.h"
#include "tree.h"

static const uint32_t SCALE_TYPES = 1U << TJ_F32 | 1U << TJ_F16 | 1U << TJ_BF16 | 1U << TJ_E8M0 | 1U << TJ_E4M3;

/* In messages: what M's scales call a row is a column of N. */
static const char *row_of(tj_which which)
{
    return which == TJ_MATRIX_N ? "column" : "row";
}

static tj_status check_numbers(const tj_problem *words, tj_which which, tj_error *err)
{
    const tj_scale *const s = tj_scale_of(words, which);
    const char *const name = tj_scale_name(which), *const row = row_of(which);
    char list[TJ_NAME_LIST_BYTES];

    if (s->type < 0 || s->type > 31 || !(SCALE_TYPES >> s->type & 1))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s.type is %d (%s): scales are %s", name, s->type,
                       tj_type_name((tj_type)s->type), tj_type_list(SCALE_TYPES, true, list));
    if (s->rows < 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s.rows is %d: use 1 for a scale of each %s, a number such as 128 for one of a block of them, or 0 for "
                       "one of them all",
                       name, s->rows, row);
    if (s->k == TJ_ANY)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s is along-k and there is no scale_k: give it the elements of k for each scale, such as 32, 64 or 128",
                       name);
    if (s->k < 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s.k is %d: scales along k are for 1 or more elements each, such as 32, 64 or 128; 0 is for all of k",
                       name, s->k);
    return TJ_OK;
}

/* Groups begin at any row of M, and each is a product of its own: a block of rows must not reach from one into the next. */
static tj_status check_groups(const tj_problem *words, tj_which which, tj_error *err)
{
    const tj_scale *const s = tj_scale_of(words, which);
    const char *const name = tj_scale_name(which);

    if (which != TJ_MATRIX_M || words->rows.kind == TJ_ROWS_AS_THEY_LIE)
        return TJ_OK;
    if (s->rows > 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s.rows is %d, and groups of rows begin at any row: use 1, a scale of each row, or 0", name, s->rows);
    if (s->layout == TJ_SCALES_IN_TILES)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s.layout is TJ_SCALES_IN_TILES, and groups of rows begin at any row of a tile: use "
                       "TJ_SCALES_ROW_BY_ROW or TJ_SCALES_PART_BY_PART",
                       name);
    if (s->zero != 0 && tj_type_is_pair(s->zero) && s->rows == 1 && (s->k == 0 || s->layout == TJ_SCALES_PART_BY_PART))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s.zero is %s, of which two rows share a byte, and groups of rows begin at any row: use TJ_U8 or "
                       "TJ_SCALES_ROW_BY_ROW",
                       name, tj_type_name((tj_type)s->zero));
    return TJ_OK;
}

static tj_status check_layout(const tj_problem *words, tj_which which, tj_error *err)
{
    const tj_scale *const s = tj_scale_of(words, which);
    const char *const name = tj_scale_name(which);

    if (s->layout < TJ_SCALES_PART_BY_PART || s->layout > TJ_SCALES_IN_TILES)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s.layout is %d: use TJ_SCALES_PART_BY_PART, TJ_SCALES_ROW_BY_ROW or TJ_SCALES_IN_TILES", name,
                       s->layout);
    if (s->layout != TJ_SCALES_PART_BY_PART && s->k == 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s.layout is %d and k 0: use TJ_SCALES_PART_BY_PART for scales of all of k, which are a vector", name,
                       s->layout);
    if (s->layout != TJ_SCALES_IN_TILES)
        return TJ_OK;
    if ((s->type != TJ_E8M0 && s->type != TJ_E4M3) || s->rows != 1 || (s->k != 16 && s->k != 32) || s->zero != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s.layout is TJ_SCALES_IN_TILES, and its type is %s, rows %d, k %d, zero %d: tiles hold scales of "
                       "8 bits (TJ_E8M0, TJ_E4M3) with rows 1, k 16 or 32 and no zero points; use another layout",
                       name, tj_type_name((tj_type)s->type), s->rows, s->k, s->zero);
    return TJ_OK;
}

/* Is it weights of integers, next to floats? */
static bool is_whole_weights(const tj_problem *words, tj_which which)
{
    return tj_is_weights(words, which) && tj_facts_of(tj_problem_matrix(words, which)->type)->is_integer;
}

static tj_status check_zero(const tj_problem *words, tj_which which, tj_error *err)
{
    const tj_scale *const s = tj_scale_of(words, which);
    const bool is_float = s->zero == s->type && s->type != TJ_E8M0;

    if (s->zero == 0)
        return TJ_OK;
    if (!is_float && s->zero != TJ_U4 && s->zero != TJ_U8 && s->zero != TJ_S8)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "%s.zero is %d (%s): zero points are TJ_U4, TJ_U8, TJ_S8 or of the type of the scales%s; 0: there are none",
            tj_scale_name(which), s->zero, tj_type_name((tj_type)s->zero), s->type == TJ_E8M0 ? ", which e8m0 cannot be" : "");
    if (!is_whole_weights(words, which))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s.zero is %s, and M is %s, N %s: zero points are those of weights of s8, u8, s4 or u4 that meet "
                       "floats; leave it 0",
                       tj_scale_name(which), tj_type_name((tj_type)s->zero), tj_type_name((tj_type)words->m.type),
                       tj_type_name((tj_type)words->n.type));
    return TJ_OK;
}

/* The scales of P, which the kernel finds. */
static tj_status check_scales_of_p(const tj_scale *s, tj_error *err)
{
    if (s->type != TJ_F32 && s->type != TJ_E8M0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "scale_p.type is %s: the kernel computes scales of f32 or e8m0: use TJ_F32 or TJ_E8M0",
                       tj_type_name((tj_type)s->type));
    if (s->rows != 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "scale_p.rows is %d: use 1, since each row of P has scales of its own, and k for the columns of each",
                       s->rows);
    if (s->k != 0 && s->k != 32 && s->k != 64 && s->k != 128)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "scale_p.k is %d: use 32, 64 or 128 columns of P for each scale, or 0 for a whole row", s->k);
    if (s->whole != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "scale_p.whole is 1: use 0, since P has no number for the whole matrix");
    return TJ_OK;
}

/* A P that the kernel quantises: rows of it that one kernel finds, in a workspace whose size is known before the launch. */
static tj_status check_quantized(const tj_problem *words, tj_error *err)
{
    const char *const open_size = tj_problem_open_size(words);
    char list[TJ_NAME_LIST_BYTES];

    if (!tj_type_is_quantized(words->p.type))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "scale_p is set, and P is %s: the kernel finds scales for a P of %s; give it one of these types, or "
                       "leave scale[TJ_MATRIX_P] 0",
                       tj_type_name((tj_type)words->p.type), tj_type_list(TJ_QUANTIZED_TYPES, false, list));
    if (words->p.layout != TJ_ROW_MAJOR)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "scale_p is set, and P is column-major: blocks with one scale lie along rows, so use a row-major P");
    if (words->epilogue.has_beta)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "scale_p is set, and the epilogue reads C, which has the type of P and no scales: leave beta out, and "
                       "add an operand of the expression, such as residual:bf16[row, col]");
    if (tj_stride_is_pointers(words->p.stride))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "scale_p is set, and P is an array of pointers: give its matrices one stride");
    if (tj_is_scattered(words))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "scale_p is set, and an index scatters the rows of P, to some of which several may be added: leave one "
                       "of the two out");
    if (open_size)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "scale_p is set, and %s is known only at launch: fix j, l and the batch, which make the size of the "
                       "workspace",
                       open_size);
    if (tj_type_is_pair(words->p.type) && tj_problem_p_cols(words) % 2 != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "P is %s, of which two columns share a byte, and has %lld columns: give it an even number",
                       tj_type_name((tj_type)words->p.type), (long long)tj_problem_p_cols(words));
    return check_scales_of_p(tj_scale_of(words, TJ_MATRIX_P), err);
}

static tj_status check_one(const tj_problem *words, tj_which which, tj_error *err)
{
    const tj_scale *const s = tj_scale_of(words, which);
    const char *const name = tj_scale_name(which);
    tj_status status;

    if (s->type == 0 && (s->rows | s->k | s->layout | s->zero | s->whole))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s.type is 0, which means no scales, and other members are set: use TJ_F32", name);
    if (s->type == 0)
        return TJ_OK;
    if (words->compute == TJ_COMPUTE_F64)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s is set, and products of f64 take no scales: leave it out, and use alpha", name);
    if (s->whole != 0 && s->whole != 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s.whole is %d: use 0 or 1", name, s->whole);
    status = check_numbers(words, which, err);
    if (status == TJ_OK)
        status = check_layout(words, which, err);
    if (status == TJ_OK)
        status = check_zero(words, which, err);
    if (status == TJ_OK)
        status = check_groups(words, which, err);
    return status == TJ_OK && which == TJ_MATRIX_P ? check_quantized(words, err) : status;
}

tj_status tj_scales_check(const tj_problem *words, tj_error *err)
{
    const int32_t m = tj_scale_of(words, TJ_MATRIX_M)->k, n = tj_scale_of(words, TJ_MATRIX_N)->k;
    tj_status status = TJ_OK;

    for (tj_which which = TJ_MATRIX_M; which < TJ_SCALED && status == TJ_OK; which++)
        status = check_one(words, which, err);
    if (status == TJ_OK && m > 0 && n > 0 && m % n != 0 && n % m != 0)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "scale_m.k is %d and scale_n.k %d: one must be a multiple of the other, so that parts of k have one scale "
            "of each",
            m, n);
    return status;
}

int64_t tj_scale_place(const tj_scale *scale, int64_t ld, int64_t row, int64_t part)
{
    const int64_t block = scale->rows > 0 ? row / scale->rows : 0;

    return scale->layout == TJ_SCALES_IN_TILES ? row / 128 * ld + part / 4 * 512 + row % 32 * 16 + row % 128 / 32 * 4 + part % 4
           : scale->layout == TJ_SCALES_ROW_BY_ROW ? block * ld + part
                                                   : part * ld + block;
}
