/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check: can this request be computed? The message names the first error with its value and the remedy.
 */
#include <stdio.h>
#include <string.h>

#include "checked.h"
#include "error.h"
#include "invariant.h"
#include "canonical.h"
#include "operand_table.h"
#include "symmetric.h"

static tj_status check_dim(char name, const tj_dim *dim, int64_t minimum, tj_error *err)
{
    if (dim->mode != TJ_DIM_FIXED && dim->mode != TJ_DIM_ANY)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%c has mode %d: use TJ_DIM_FIXED or TJ_DIM_ANY", name, dim->mode);
    if (dim->multiple_of < 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%c is promised to be a multiple of %d: use a positive number, or 0", name,
                       dim->multiple_of);
    if (dim->mode == TJ_DIM_ANY)
        return TJ_OK;
    if (dim->extent < minimum || dim->extent > INT32_MAX)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%c is %lld: it must be from %lld to 2147483647 elements", name,
                       (long long)dim->extent, (long long)minimum);
    if (dim->multiple_of > 1 && dim->extent % dim->multiple_of != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%c is %lld, which breaks its promise to be a multiple of %d", name,
                       (long long)dim->extent, dim->multiple_of);
    return TJ_OK;
}

/*
 * May M and N have these types? One type; two of 8 bits with the same accumulator; weights and their activations; or floats of
 * 16 bits and f32. Pairs of integers are weights only.
 */
static bool go_together(int32_t m, int32_t n)
{
    if (tj_widens_weights(m, n))
        return true;
    if (tj_type_is_pair(m) || tj_type_is_pair(n))
        return m == TJ_E2M1 && n == TJ_E2M1;
    return m == n ||
           (tj_facts_of(m)->bytes == 1 && tj_facts_of(n)->bytes == 1 && tj_facts_of(m)->compute == tj_facts_of(n)->compute);
}

enum { INPUTS_BYTES = 48 };

/* Print "M and N are f16", or "M is e4m3 and N is e5m2". */
static const char *name_inputs(int32_t m, int32_t n, char text[INPUTS_BYTES])
{
    if (m == n)
        (void)snprintf(text, INPUTS_BYTES, "M and N are %s", tj_type_name((tj_type)m));
    else
        (void)snprintf(text, INPUTS_BYTES, "M is %s and N is %s", tj_type_name((tj_type)m), tj_type_name((tj_type)n));
    return text;
}

static bool can_compute(int32_t m, int32_t n, int32_t compute)
{
    const int32_t leading = tj_leading_type(m, n);

    if (tj_widens_weights(m, n) && !tj_type_is_fp8(leading))
        return compute == TJ_COMPUTE_DEFAULT || compute == TJ_COMPUTE_F32;
    switch (compute) {
    case TJ_COMPUTE_TF32:
    case TJ_COMPUTE_F32_SPLIT:
        return tj_part_type(m) == TJ_F32 && m == n;
    case TJ_COMPUTE_F32_FP8:
        return tj_type_is_fp8(leading);
    default:
        return compute == TJ_COMPUTE_DEFAULT || compute == tj_facts_of(leading)->compute;
    }
}

/* finds_scales: of P, which may then be of 8 bits whatever M and N are. */
static tj_status check_compute(int32_t compute, const int32_t type[TJ_MATRICES], bool finds_scales, tj_error *err)
{
    const int32_t m = type[TJ_MATRIX_M], n = type[TJ_MATRIX_N], p = type[TJ_MATRIX_P];
    const int32_t standard = tj_facts_of(tj_leading_type(m, n))->compute;
    const tj_compute_facts *facts = tj_compute_facts_of(standard);
    const uint32_t products = tj_type_is_complex(m) ? 1U << m : facts->products | (finds_scales ? TJ_QUANTIZED_TYPES : 0);
    char list[TJ_NAME_LIST_BYTES], inputs[INPUTS_BYTES];

    (void)name_inputs(m, n, inputs);
    if (compute != TJ_COMPUTE_DEFAULT && !tj_compute_facts_of(compute))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "compute is %d: use TJ_COMPUTE_DEFAULT, %s", compute,
                       tj_compute_list(true, list));
    if (!can_compute(m, n, compute))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "compute is %s but %s: use %s%s", tj_compute_name((tj_compute)compute),
                       inputs, facts->name,
                       tj_type_is_fp8(tj_leading_type(m, n)) ? " or f32_fp8"
                       : tj_widens_weights(m, n)             ? ""
                       : tj_part_type(m) == TJ_F32           ? ", tf32 or f32_split"
                                                             : "");
    if (!(products >> p & 1))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s but P is %s: such a P may be %s", inputs, tj_type_name((tj_type)p),
                       tj_type_list(products, false, list));
    return TJ_OK;
}

static tj_status check_types(const tj_problem *problem, tj_error *err)
{
    int32_t type[TJ_MATRICES] = {0};
    char list[TJ_NAME_LIST_BYTES];

    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_C; which++) {
        const bool is_input = which <= TJ_MATRIX_N;
        const int32_t asked = tj_problem_matrix(problem, which)->type;
        const int32_t leading = which == TJ_MATRIX_P ? tj_leading_type(type[TJ_MATRIX_M], type[TJ_MATRIX_N]) : TJ_F32;
        const int32_t like[] = {TJ_F32, type[TJ_MATRIX_M], tj_facts_of(leading)->product, type[TJ_MATRIX_P]};

        type[which] = asked ? asked : like[which];
        if (!tj_facts_of(type[which]))
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the type of %c is %d: use %s", tj_which_letter(which), asked,
                           tj_type_list(tj_types_where(is_input), true, list));
        if (!tj_facts_of(type[which])->product)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%c is %s, which only scales may be: use %s", tj_which_letter(which),
                           tj_type_name((tj_type)type[which]), tj_type_list(tj_types_where(is_input), false, list));
        if (is_input && !tj_facts_of(type[which])->compute)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%c is %s, which only P and C may be: use %s", tj_which_letter(which),
                           tj_type_name((tj_type)type[which]), tj_type_list(tj_types_where(true), false, list));
    }
    if (!go_together(type[TJ_MATRIX_M], type[TJ_MATRIX_N]))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "M is %s but N is %s: give both one type, e4m3 and e5m2, s8 and u8, f32 and f16 or bf16, or one of them "
                       "weights of %s, "
                       "and the other f32, f16 or bf16, or e4m3 next to weights of 4 bits",
                       tj_type_name((tj_type)type[TJ_MATRIX_M]), tj_type_name((tj_type)type[TJ_MATRIX_N]),
                       tj_type_list(TJ_TYPES_OF_WEIGHTS, false, list));
    if (type[TJ_MATRIX_C] != type[TJ_MATRIX_P])
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "P is %s but C is %s: give C the type of P, or leave its type 0",
                       tj_type_name((tj_type)type[TJ_MATRIX_P]), tj_type_name((tj_type)type[TJ_MATRIX_C]));
    return check_compute(problem->compute, type, tj_is_scaled(problem, TJ_MATRIX_P), err);
}

/* May a matrix have blocks of k that were repacked? problem: with types and layouts spelled out. */
static tj_status check_order(const tj_problem *problem, tj_which which, tj_error *err)
{
    const tj_matrix *const m = tj_problem_matrix(problem, which);
    const char letter = tj_which_letter(which);
    const tj_dim *const k = &problem->k;

    if (m->order == TJ_ORDER_NATURAL)
        return TJ_OK;
    if (m->order != TJ_ORDER_REPACKED)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the order of %c is %d: use TJ_ORDER_NATURAL or TJ_ORDER_REPACKED", letter,
                       m->order);
    if (which >= TJ_FACTORS || !tj_type_is_pair(m->type) || !tj_is_weights(problem, which))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "the order of %c is repacked, which is for weights of 4 bits, and %c holds %s: leave its order natural",
                       letter, letter, tj_type_name((tj_type)m->type));
    if ((m->layout == TJ_ROW_MAJOR) != (which == TJ_MATRIX_M))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "the order of %c is repacked, along k, and %c lies across k: store it %s before repacking", letter,
                       letter, which == TJ_MATRIX_M ? "row-major" : "column-major, as l x k");
    if (tj_divides_k(problem))
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "the order of %c is repacked in blocks of %d elements of k, and groups along k may begin within one: leave "
            "its order natural",
            letter, TJ_REPACKED_BLOCK);
    if (k->mode == TJ_DIM_FIXED && k->extent % TJ_REPACKED_BLOCK != 0)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "the order of %c is repacked in blocks of %d elements of k, and k is %lld: fill up M and N with zeros to a "
            "multiple of %d before repacking, or leave its order natural",
            letter, TJ_REPACKED_BLOCK, (long long)k->extent, TJ_REPACKED_BLOCK);
    if (k->mode == TJ_DIM_ANY && (k->multiple_of == 0 || k->multiple_of % TJ_REPACKED_BLOCK != 0))
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "the order of %c is repacked in blocks of %d elements of k, which each launch brings: promise that k is a "
            "multiple of %d",
            letter, TJ_REPACKED_BLOCK, TJ_REPACKED_BLOCK);
    return TJ_OK;
}

/* May a matrix be conjugated? problem: with types spelled out. */
static tj_status check_conjugated(const tj_problem *problem, tj_which which, tj_error *err)
{
    const tj_matrix *const m = tj_problem_matrix(problem, which);

    if (m->conjugated == 0 || (m->conjugated == 1 && which < TJ_FACTORS && tj_type_is_complex(m->type)))
        return TJ_OK;
    if (m->conjugated != 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the flag conjugated of %c is %d: use 0 or 1", tj_which_letter(which),
                       m->conjugated);
    return which < TJ_FACTORS
               ? tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                         "%c is conjugated and holds %s, which are real: leave conjugated 0, or use c64 or c128",
                         tj_which_letter(which), tj_type_name((tj_type)m->type))
               : tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                         "%c is conjugated, and only M and N can be: conjugate both of them, and alpha and beta, for a "
                         "P that is the conjugate",
                         tj_which_letter(which));
}

static tj_status check_flag(char letter, const char *name, int32_t value, tj_error *err)
{
    if (value == 0 || value == 1)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the %s of %c is %d: use 0 or 1", name, letter, value);
}

/* Check types, layouts and flags, before sizes. */
static tj_status check_words(const tj_problem *problem, tj_error *err)
{
    const tj_matrix *const p = &problem->p, *const c = &problem->c;
    tj_status status = check_types(problem, err);

    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_C && status == TJ_OK; which++) {
        const tj_matrix *m = tj_problem_matrix(problem, which);
        const char letter = tj_which_letter(which);

        if ((status = check_flag(letter, "layout", m->layout, err)) != TJ_OK ||
            (status = check_flag(letter, "flag transposed", m->transposed, err)) != TJ_OK)
            return status;
    }
    if (status != TJ_OK || (status = tj_epilogue_check(problem, err)) != TJ_OK)
        return status;
    if ((c->layout | c->transposed) != 0 && (c->layout ^ c->transposed) != (p->layout ^ p->transposed))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "C has another layout than P: store C as P, and leave its layout and its flag transposed 0");
    return TJ_OK;
}

/* ---- sizes -------------------------------------------------------------------------------------------------------- */

/* The numbers of a stored matrix that are known before a launch; -1: an unknown extent. */
typedef struct stored {
    int64_t rows, width, ld;
} stored;

static int64_t extent_or_unknown(tj_extent_rule rule, const tj_problem *problem)
{
    const tj_dim dim = tj_extent_dim(rule, problem);

    return dim.mode == TJ_DIM_FIXED ? dim.extent : -1;
}

/* Do the products of a batch share no element? They follow each other, or lie next to each other within their rows. */
static bool are_apart(const stored *s, int64_t stride, int64_t span, int64_t batch)
{
    int64_t side_by_side;

    if (s->rows == 0 || stride >= span - (s->ld - s->width))
        return true;
    return stride >= s->width && tj_mul(stride, batch - 1, &side_by_side) && tj_add(side_by_side, s->width, &side_by_side) &&
           side_by_side <= s->ld;
}

static tj_status check_matrix(const tj_problem *problem, const tj_operand_row *row, tj_error *err)
{
    const int64_t copies = tj_operand_copies(problem, row, problem->batch);
    stored s = {extent_or_unknown(row->rows, problem), extent_or_unknown(row->width, problem), row->ld};
    const int64_t least = s.width > 1 ? s.width : 1;
    int64_t span, step, total, bytes;

    if (row->ld < TJ_ANY || (row->ld > 0 && s.width >= 0 && row->ld < least))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "ld_%s is %lld: it must be at least the %lld elements of a stored row of %s", row->name,
                       (long long)row->ld, (long long)least, row->title);
    if (row->stride < TJ_POINTERS_16)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "stride_%s is %lld: use a count of elements, TJ_TIGHT, TJ_ANY, TJ_BROADCAST, TJ_POINTERS or TJ_POINTERS_16",
            row->name, (long long)row->stride);
    if (row->is_written && row->stride == TJ_BROADCAST)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "stride_%s is broadcast: every product of a batch needs a %s of its own",
                       row->name, row->title);
    if (s.rows < 0 || row->ld == TJ_ANY || (s.width < 0 && row->ld == TJ_TIGHT))
        return TJ_OK; /* the launch checks the rest */

    /* Compute the span from the first element to the last, in elements and in bytes. */
    s.ld = row->ld ? row->ld : least;
    if (!tj_mul(s.ld, s.rows, &span))
        goto too_large;
    if (row->is_written && s.width >= 0 && copies > 1 && row->stride > 0 && !are_apart(&s, row->stride, span, copies))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "stride_%s is %lld: products of the batch would overlap, each %s spans %lld elements", row->name,
                       (long long)row->stride, row->title, (long long)(span - (s.ld - s.width)));
    step = row->stride < 0 || copies < 2 ? 0 : row->stride == TJ_TIGHT ? span : row->stride;
    if (!tj_mul(step, copies, &total) || !tj_add(total, span, &total) ||
        !tj_mul(total, (int64_t)tj_type_bytes(row->type), &bytes))
        goto too_large;
    return TJ_OK;

too_large:
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "%s is too large: with ld_%s %lld, stride_%s %lld and batch %lld its size in bytes does not fit 63 bits",
                   row->title, row->name, (long long)s.ld, row->name, (long long)row->stride, (long long)copies);
}

tj_status tj_problem_check(const tj_problem *problem, tj_error *err)
{
    if (!problem)
        return tj_fail_null(err, __func__, "problem");
    const tj_problem *p = problem;
    tj_status status;

    if (p->struct_size != sizeof *p)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "problem.struct_size is %lld, not %d: start from TJ_PROBLEM_INIT",
                       (long long)p->struct_size, (int)sizeof *p);
    if ((status = check_dim('j', &p->j, 1, err)) != TJ_OK || (status = check_dim('k', &p->k, 0, err)) != TJ_OK ||
        (status = check_dim('l', &p->l, 1, err)) != TJ_OK || (status = check_words(p, err)) != TJ_OK)
        return status;
    if (p->batch < TJ_ANY || p->batch > INT32_MAX)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "batch is %lld: use 1 to 2147483647, or TJ_ANY", (long long)p->batch);

    if (p->overlap != 0 && p->overlap != 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "overlap is %d: use 1, or 0 for the library's choice", p->overlap);
    if (p->multiprocessors < 0 || p->multiprocessors > TJ_MULTIPROCESSORS_MOST)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "multiprocessors is %d: use 1 to the device's number, or 0 for all of them", p->multiprocessors);

    const tj_problem words = tj_problem_words(p);
    status = tj_rows_check(&words, err);
    if (status == TJ_OK)
        status = tj_symmetric_check(&words, err);
    if (status == TJ_OK)
        status = tj_invariant_check(&words, err);
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_C && status == TJ_OK; which++) {
        const tj_operand_row row = tj_operand_row_of(&words, (int)which);

        if ((status = check_order(&words, which, err)) == TJ_OK && (status = check_conjugated(&words, which, err)) == TJ_OK)
            status = check_matrix(&words, &row, err);
    }
    return status;
}
