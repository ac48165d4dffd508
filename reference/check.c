/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check: is this P the product of these operands? Also computes the product itself, for callers without a GPU.
 *
 * An element passes if it is within the bound that holds for every order of summation (Higham, sections 3.1 and 3.5), so that
 * it serves every kernel. That bound grows with k, and for very large k it would accept nonsense. Two further rules, which a
 * right product keeps for any k, refuse a P that is one number everywhere although the product is not.
 *
 * NaN and infinity: if M, N, C, alpha or beta hold one, P must be of the same class as the reference. If they do not, but the
 * magnitudes add up to more than the accumulator holds, some orders of summation overflow and others do not: then an infinite P
 * passes too.
 */
#include <tilejit/reference.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "canonical.h"
#include "checked.h"
#include "error.h"
#include "invariant.h"
#include "check.h"
#include "combined.h"
#include "expression.h"
#include "number.h"
#include "operand_table.h"
#include "scalar.h"
#include "product.h"
#include "quantized.h"
#include "reductions.h"
#include "symmetric.h"
#include "tree.h"

static const double default_max_flop = 2e11;
static const int most_threads = 256;

/* ---- the request -------------------------------------------------------------------------------------------------- */

/* A problem with its operands, and every default spelled out. */
typedef struct resolved {
    tj_problem problem; /* canonical */
    tj_matrix_view m, n, c, p;
    double alpha[2], beta[2]; /* real and imaginary parts, rounded as a launch rounds them */
    bool reads_c;
    tj_factor factor[TJ_FACTORS];   /* scales and zero points */
    const int64_t *k_offsets;       /* of groups along k; NULL: none */
    const void *offsets;            /* of groups, which are computed one by one; n and its scales are then of one group */
    tj_type chain;                  /* invariant rows: of the one sum that is right, whose epilogue is a formula; 0: none is */
    bool is_whole;                  /* integers up to P: exact */
    long double roundings;          /* number of roundings from products to P's type */
    long double least_along_k;      /* the least scale of M along k times that of N, but at most 1 */
    long double most_along_k;       /* the same with the largest, at least 1 */
    bool has_infinite_scale;        /* along k: infinity times a sum of a part, which may be 0 */
    long double input_error;        /* relative error of a product, if M and N are rounded first, or bits are cut off */
    bool has_expression, has_pairs; /* has_pairs: an element of P takes two columns of M . N */
    bool writes;                    /* other outputs are stored, not judged */
    tj_evaluation evaluation;       /* valid if there is an expression */
    tj_reductions *reductions;      /* outputs for rows and columns; NULL: none, or not wanted */
    tj_blocks *blocks;              /* of a P with scales; NULL: it has none */
    tj_combined *combined;          /* of a P whose rows add up rows of the product; NULL: it has those rows */
    const tj_number_limits *sum_limits, *p_limits; /* of the computation, and of P */
    int threads;
} resolved;

static tj_matrix_view view_of(const tj_matrix *matrix, const void *base)
{
    const int64_t numbers = tj_type_numbers(matrix->type);

    return (tj_matrix_view){
        .base = base,
        .type = tj_part_type(matrix->type),
        .parts = tj_type_parts(matrix->type),
        .sign_of_odd = matrix->conjugated ? -1.0 : 1.0,
        .row_step = matrix->layout == TJ_ROW_MAJOR ? numbers * matrix->ld : 1,
        .col_step = matrix->layout == TJ_ROW_MAJOR ? 1 : numbers * matrix->ld,
        .stride = matrix->stride < 0 ? 0 : numbers * matrix->stride, /* 0 for TJ_BROADCAST and pointers */
        .is_array = tj_stride_is_pointers(matrix->stride),
    };
}

static int default_threads(void)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);

    return online < 1 ? 1 : online > 64 ? 64 : (int)online;
}

/* Find the scales, and how large and small those along k are. */
static tj_status take_scales(const tj_host_operands *operands, resolved *request, tj_error *err)
{
    tj_status status = TJ_OK;

    for (tj_which which = TJ_MATRIX_M; which < TJ_FACTORS && status == TJ_OK; which++) {
        tj_factor_range range;

        status = tj_factor_find(&request->problem, operands, which, &request->factor[which], err);
        if (status != TJ_OK)
            return status;
        range = tj_factor_range_along_k(&request->factor[which], &request->problem, which);
        request->least_along_k *= range.least;
        request->most_along_k *= range.most;
        request->has_infinite_scale |= range.has_infinite;
    }
    return status;
}

/*
 * For TJ_COMPUTE_F32_FP8: a step of the tensor cores adds 32 products to the partial sum (16 on sm_89), and truncates each of
 * these 33 (17) at 2^-13 of the largest, which is at most the sum of all products of the part. A part has four steps (eight).
 */
static const long double fp8_sum_error = 8 * 17 * 0x1p-13L;

/*
 * Set the errors of a right element: k roundings in the sum, or the equivalent of 2 k, or none for integers; one for each
 * scale, one for alpha, two for beta. A part of a complex sum has 2 k terms, and alpha and beta then are products of two terms.
 */
static void set_errors(resolved *request)
{
    const tj_problem *c = &request->problem;
    const tj_compute_facts *compute = tj_compute_facts_of(c->compute);
    const long double v = compute->input_roundoff;
    const bool is_s32 = compute->sum == TJ_S32;
    const bool is_mixed = tj_meets_f32(c);
    /* Tensor cores truncate to f32, with up to twice the error of rounding. */
    const bool may_cut_off =
        compute->sum == TJ_F32 && !is_mixed && (c->compute == TJ_COMPUTE_TF32 || tj_facts_of(c->m.type)->bytes < 4);
    const int32_t parts_of_element = tj_type_parts(c->m.type);
    /*
     * Splitting elements costs some bits of each product, and tensor cores truncate within a few of these. Planes that hold all
     * bits of f32, next to elements of 16 bits, leave only the truncation.
     */
    const long double sums =
        (long double)c->k.extent * parts_of_element * (may_cut_off ? 2.0L : 1.0L) + (c->compute == TJ_COMPUTE_F32_SPLIT ? 126.0L
                                                                                     : is_mixed                         ? 2.0L
                                                                                                                        : 0.0L);
    const long double parts = tj_scale_k(c) > 0 ? 1.0L + (long double)tj_ceil_div(c->k.extent, tj_scale_k(c)) : 0.0L;

    request->is_whole = tj_scalar_type(c) == TJ_S32;
    request->roundings = (is_s32 ? 4.0L + parts : sums + parts) + 2.0L * parts_of_element;
    for (tj_which which = TJ_MATRIX_M; which < TJ_FACTORS; which++)
        request->roundings +=
            !is_s32 * (tj_is_scaled(c, which) + (tj_scale_of(c, which)->zero != 0)) + tj_scale_of(c, which)->whole;
    request->input_error = c->compute == TJ_COMPUTE_F32_FP8 ? fp8_sum_error : 2.0L * v + v * v;
    request->sum_limits = tj_number_limits_of(is_s32 ? TJ_F32 : (tj_type)compute->sum);
    request->p_limits = tj_number_limits_of((tj_type)c->p.type);
}

/*
 * Return the type in which a right sum is rounded, if an invariant leaves one right value for each element: products are added in a
 * chain, and the formula's operations are pinned. An expression is judged by its bound, as its functions have one.
 */
static tj_type chain_of(const tj_problem *c)
{
    const bool has_whole = tj_scale_of(c, TJ_MATRIX_M)->whole || tj_scale_of(c, TJ_MATRIX_N)->whole;
    const bool is_pinned = tj_sum_order_of(c) == TJ_SUMS_IN_CHAIN && c->epilogue.expression.nodes == 0 && tj_scale_k(c) == 0 &&
                           !has_whole && !tj_is_finished(c);

    return is_pinned ? (tj_type)tj_compute_facts_of(c->compute)->sum : TJ_TYPE_DEFAULT;
}

static tj_status resolve(const tj_request *asked, const tj_host_operands *operands, const void *p, int threads,
                         resolved *request, tj_error *err)
{
    const tj_problem c = asked->problem;
    tj_status status;

    memset(request, 0, sizeof *request);
    if (threads < 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "threads is %d: use a positive number, or 0 for one per processor",
                       threads);
    request->problem = c;
    request->threads = threads == 0 ? default_threads() : threads < most_threads ? threads : most_threads;
    request->alpha[0] = c.epilogue.has_alpha ? operands->alpha : 1.0;
    request->alpha[1] = c.epilogue.has_alpha ? operands->alpha_im : 0.0;
    request->beta[0] = c.epilogue.has_beta ? operands->beta : 0.0;
    request->beta[1] = c.epilogue.has_beta ? operands->beta_im : 0.0;
    status = tj_epilogue_check_scalars(&c, request->alpha, request->beta, err);
    if (status != TJ_OK)
        return status;
    for (int part = 0; part < 2 && tj_part_type((int32_t)tj_scalar_type(&c)) == TJ_F32; part++) { /* the kernel takes f32 */
        request->alpha[part] = (double)(float)request->alpha[part];
        request->beta[part] = (double)(float)request->beta[part];
    }
    request->has_expression = c.epilogue.expression.nodes > 0;
    request->has_pairs = tj_epilogue_pairs(&c.epilogue);
    request->reads_c =
        c.epilogue.has_beta && (request->beta[0] != 0.0 || request->beta[1] != 0.0 || !tj_epilogue_weighs_c(&c.epilogue));
    request->offsets = operands->offsets;
    if (tj_has_offsets(&c) && tj_groups_check(&c, 0, operands->offsets, err) != TJ_OK)
        return TJ_ERR_INVALID_ARGUMENT;
    request->chain = chain_of(&c);
    set_errors(request);
    request->least_along_k = request->most_along_k = 1.0L; /* until the scales are known to exist */
    if (!p || (c.k.extent > 0 && (!operands->m || !operands->n)) || (request->reads_c && !operands->c))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is NULL: the reference needs the matrix in host memory",
                       !p                               ? "P"
                       : c.k.extent > 0 && !operands->m ? "M"
                       : c.k.extent > 0 && !operands->n ? "N"
                                                        : "C");
    status = take_scales(operands, request, err);
    if (status != TJ_OK)
        return status;
    if (request->has_expression) {
        status = tj_evaluation_prepare(&request->problem, operands, &request->evaluation, err);
        request->evaluation.alpha = request->alpha[0];
        request->evaluation.beta = request->beta[0];
        if (status != TJ_OK)
            return status;
    }
    request->m = view_of(&c.m, operands->m);
    request->n = view_of(&c.n, operands->n);
    request->c = view_of(&c.c, operands->c);
    request->p = view_of(&c.p, p);
    return TJ_OK;
}

/* Some rows of a batch, or the rows of one group. */
typedef struct row_range {
    int64_t first, count;
} row_range;

static tj_product product_of(const resolved *request, row_range of, int64_t row_count, bool with_magnitude, tj_tile_fn visit,
                             void *payload)
{
    return (tj_product){
        .m = request->m,
        .n = request->n,
        .factor = {&request->factor[TJ_MATRIX_M], &request->factor[TJ_MATRIX_N]},
        .first_row = of.first,
        .j = of.count,
        .k = request->problem.k.extent * request->m.parts,
        .k_offsets = request->k_offsets,
        .l = request->problem.l.extent * request->n.parts,
        .batch = request->problem.batch,
        .row_count = row_count,
        .with_magnitude = with_magnitude,
        .chain = request->chain,
        .workers = request->threads,
        .visit = visit,
        .payload = payload,
    };
}

/* Number of columns of M . N for a column of P. */
static int columns_of(const resolved *request)
{
    return tj_sums_per_column(&request->problem);
}

/* The column of P that takes column c of a tile; of complex numbers, the part. */
static int64_t p_col(const resolved *request, const tj_tile *tile, int c)
{
    return (tile->first_col + c) / columns_of(request);
}

/* One element of the reference, and the magnitudes to which its rounding errors are proportional. */
typedef struct element {
    long double value;     /* alpha * scales * M . N + beta * C, within the limits of P's type */
    long double magnitude; /* |alpha| * |scales| * |M| . |N| + |beta| * |C| */
    long double inputs;    /* possible error from rounding M and N first */
    long double
        partial; /* |M| . |N|: the largest magnitude that the accumulator may reach before alpha, and between two scales */
    long double
        underflow;   /* the possible loss of subnormal numbers: half of one in each rounding, multiplied by the later factors */
    bool is_special; /* an input is NaN or infinite */
    tj_bounded bounded; /* of an expression: its value, and the error bound of a kernel's */
    double outputs;     /* and the largest error of its other outputs / bound */
} element;

/* An element of P, or a part of a complex one. */
typedef struct place {
    int64_t row, col;
} place;

/* Is it the imaginary part of an element on the diagonal of a Hermitian P? */
static bool is_real(const resolved *request, int64_t row, int64_t col)
{
    return tj_is_hermitian(&request->problem) && col == 2 * row + 1;
}

/* Return the sign with which an element, or a part, is repeated in the mirror image. */
static int sign_of_image(const resolved *request, int64_t col)
{
    return tj_is_hermitian(&request->problem) && col % 2 == 1 ? -1 : 1;
}

/* Return where a symmetric P has the element once more. */
static place image_of(const resolved *request, int64_t row, int64_t col)
{
    const int64_t parts = request->p.parts;

    return (place){col / parts, row * parts + col % parts};
}

static double read_c(const resolved *request, const tj_tile *tile, int r, int c)
{
    return tj_read_number(request->c.type, tj_view_base(&request->c, tile->batch),
                          tj_view_index(&request->c, tile->batch, tile->rows[r], p_col(request, tile, c)));
}

/* n * u bounds the error of n roundings; if it is no longer small, up to second order (Jeannerod, Rump, 2013). */
static long double sum_error_of(const resolved *request, const element *e)
{
    const long double nu = request->roundings * request->sum_limits->unit_roundoff;
    const long double gamma = nu < 0.5L ? nu / (1.0L - nu) : 2.0L * nu;

    return gamma * (e->magnitude + e->inputs) + e->inputs + e->underflow;
}

/* May a sum overflow, depending on its order? With a margin for the rounding errors of the magnitudes themselves. */
static bool may_overflow(const resolved *request, const element *e)
{
    return !(e->partial * (1.0L + 0x1p-20L) < request->sum_limits->largest) ||
           !(e->magnitude * (1.0L + 0x1p-20L) < request->sum_limits->largest);
}

/* Judge or store one of the other outputs. */
static void take_output(const resolved *request, const tj_tile *tile, int r, int c, int output, tj_bounded value, element *e)
{
    const int64_t row = tile->rows[r], col = p_col(request, tile, c);
    double ratio;

    if (request->writes) {
        tj_store(&request->evaluation, output, tile->batch, row, col, value.value);
        return;
    }
    ratio = tj_judge_stored(value, request->evaluation.operand[output].type, 1,
                            tj_read_stored(&request->evaluation, output, tile->batch, row, col));
    e->outputs = ratio > e->outputs ? ratio : e->outputs;
}

/* An infinite scale makes NaN of a part whose sum is 0, and infinity of another: the order of the sum decides. */
static bool is_special_by_a_scale(const resolved *request, const element *e)
{
    return request->has_infinite_scale && !isfinite(e->value);
}

/* Return the sum with the error bound of a kernel's. */
static tj_bounded bounded_sum(const resolved *request, const element *e)
{
    const bool is_lost = !e->is_special && may_overflow(request, e);

    return (tj_bounded){e->value, is_special_by_a_scale(request, e) ? (long double)INFINITY
                                  : e->is_special                   ? 0.0L
                                  : is_lost                         ? (long double)INFINITY
                                                                    : sum_error_of(request, e)};
}

/*
 * Replace the sum by the value of the expression, and the magnitudes by those of the value and its error. odd: the second sum
 * of a pair.
 */
static void evaluate_expression(const resolved *request, const tj_tile *tile, int r, int c, element *e, const element *odd)
{
    const tj_bounded acc[2] = {bounded_sum(request, e), bounded_sum(request, odd)};
    const tj_expression *expression = &request->problem.epilogue.expression;
    tj_bounded x[TJ_VALUES];

    tj_evaluate(&request->evaluation, tile->batch, tile->rows[r], p_col(request, tile, c), acc,
                request->reads_c ? read_c(request, tile, r, c) : 0.0, x);
    for (int i = 0; i < expression->operands; i++)
        if (expression->operand[i].is_output && expression->operand[i].reduction == TJ_REDUCE_NOT &&
            request->evaluation.operand[i].address)
            take_output(request, tile, r, c, i, x[expression->operand[i].value], e);
    tj_reductions_take(request->reductions, tile->batch, tile->rows[r], p_col(request, tile, c), x);
    e->bounded = x[TJ_VALUE_OF_P];
    e->value = e->bounded.value;
    e->magnitude = fabsl(e->value);
    e->inputs = 0.0L;
    e->underflow = 2.0L * e->bounded.error;
    e->is_special |= odd->is_special;
}

/* Is the sum an integer? With scales along k only the sums of its parts are. */
static bool is_sum_of_integers(const resolved *request)
{
    return request->problem.compute == TJ_COMPUTE_S32 && tj_scale_k(&request->problem) == 0;
}

/* Return a sum with its scales, and the magnitude to which its rounding errors are proportional. */
static element sum_at(const resolved *request, const tj_tile *tile, int r, int c)
{
    const int at = r * TJ_TILE_COLS + c;
    const bool is_s32 = is_sum_of_integers(request); /* exact in float64, then modulo 2^32 */
    const double sum = is_s32 ? (double)(int32_t)(uint32_t)(int64_t)tile->sum[at] : tile->sum[at];
    const long double scale_m = tj_factor_of_sum(&request->factor[TJ_MATRIX_M], tile->batch, tile->rows[r]);
    const long double scale_n = tj_factor_of_sum(&request->factor[TJ_MATRIX_N], tile->batch, tile->first_col + c);
    const bool multiplies_later = request->has_expression || request->p.parts == 2;
    const long double alpha = multiplies_later ? 1.0L : (long double)request->alpha[0], scale = scale_m * scale_n * alpha;
    element e = {
        /* An infinite sum has a meaningless rest. */
        .value = tile->rest && isfinite(sum) ? (long double)sum + (long double)tile->rest[at] : (long double)sum,
        .partial = is_s32            ? fabsl((long double)sum)
                   : tile->magnitude ? (long double)tile->magnitude[at]
                                     : 0.0L,
        .is_special = tile->row_special[r] || tile->col_special[c],
    };

    e.value *= scale;
    e.magnitude = fabsl(scale) * e.partial;
    e.inputs = request->input_error * e.magnitude;
    e.underflow = request->roundings * request->sum_limits->smallest_subnormal * (1.0L + fabsl(alpha)) *
                  (tj_is_scaled(&request->problem, TJ_MATRIX_M) ? 1.0L + fabsl(scale_m) : 1.0L) *
                  (tj_is_scaled(&request->problem, TJ_MATRIX_N) ? 1.0L + fabsl(scale_n) : 1.0L);
    e.partial *= fmaxl(1.0L, fabsl(scale_m) * fmaxl(1.0L, fabsl(scale_n))) / request->least_along_k;
    if (tj_scale_k(&request->problem) > 0) { /* two scales may be multiplied first */
        e.underflow += request->roundings * request->sum_limits->smallest_subnormal * (e.partial + request->most_along_k);
        e.partial = fmaxl(e.partial, request->most_along_k);
    }
    e.is_special |= !isfinite(scale);
    return e;
}

/* Add to a part of a complex element one of the two terms that a factor times a number has there. */
static void add_term(double factor, const element *number, long double sign, element *e)
{
    const long double size = fabsl((long double)factor);

    e->value += sign * (long double)factor * number->value;
    e->magnitude += size * number->magnitude;
    e->inputs += size * number->inputs;
    e->underflow += size * number->underflow;
    e->partial = fmaxl(e->partial, number->partial);
    e->is_special |= number->is_special || !isfinite(factor);
}

/* product = a * b of complex numbers, with the operations of a kernel (parts/c64.cuh). */
static void multiply_parts(const double *a, const double *b, bool is_f64, double product[2])
{
    if (is_f64) {
        product[0] = fma(a[0], b[0], -a[1] * b[1]);
        product[1] = fma(a[0], b[1], a[1] * b[0]);
    } else {
        const float re = (float)a[0], im = (float)a[1], b_re = (float)b[0], b_im = (float)b[1];

        product[0] = fmaf(re, b_re, -im * b_im);
        product[1] = fmaf(re, b_im, im * b_re);
    }
}

/* Return one part of alpha * sum + beta * C with the operations of a kernel whose sums are a chain. real: the column of the real part. */
static double part_of_chain(const resolved *request, const tj_tile *tile, int r, int real, int part)
{
    const double *const chain = &tile->chain[r * TJ_TILE_COLS + real];
    const double sum[] = {chain[0] + 0.0, chain[1] + 0.0}; /* never -0 */
    const bool is_f64 = request->chain == TJ_F64;
    double value[] = {sum[0], sum[1]}, added[2];

    if (request->problem.epilogue.has_alpha)
        multiply_parts(sum, request->alpha, is_f64, value);
    if (!request->reads_c)
        return value[part];
    const double old[] = {read_c(request, tile, r, real), read_c(request, tile, r, real + 1)};

    multiply_parts(request->beta, old, is_f64, added);
    return is_f64 ? value[part] + added[part] : (double)((float)value[part] + (float)added[part]);
}

/* Return the real or the imaginary part of an element of P: of alpha * sum + beta * C. c is odd for the imaginary part. */
static element part_at(const resolved *request, const tj_tile *tile, int r, int c)
{
    const int real = c - c % 2, part = c % 2;

    if (is_real(request, tile->rows[r], p_col(request, tile, c)))
        return (element){0};

    const element sum[] = {sum_at(request, tile, r, real), sum_at(request, tile, r, real + 1)};
    element e = sum[part];

    /* Part p takes part p of the number times the real part of the factor, and the other part times the imaginary one. */
    if (request->problem.epilogue.has_alpha) {
        e = (element){.underflow = 2.0L * request->sum_limits->smallest_subnormal};
        add_term(request->alpha[0], &sum[part], 1.0L, &e);
        add_term(request->alpha[1], &sum[1 - part], part == 0 ? -1.0L : 1.0L, &e);
    }
    for (int i = 0; i < 2 && request->reads_c; i++) {
        const double old = read_c(request, tile, r, real + (part + i) % 2);
        const element number = {.value = old, .magnitude = fabsl((long double)old), .is_special = !isfinite(old)};

        add_term(request->beta[i], &number, i == 1 && part == 0 ? -1.0L : 1.0L, &e);
    }
    if (tile->chain && isfinite(e.value))
        e.value = (long double)part_of_chain(request, tile, r, real, part);
    return e;
}

/* Return the value of alpha * scale_m * scale_n * sum + beta * C with the operations of a kernel whose sums are a chain. */
static double value_of_chain(const resolved *request, const tj_tile *tile, int r, int c)
{
    const bool is_f64 = request->chain == TJ_F64;
    const double factor[] = {(double)tj_factor_of_sum(&request->factor[TJ_MATRIX_M], tile->batch, tile->rows[r]),
                             (double)tj_factor_of_sum(&request->factor[TJ_MATRIX_N], tile->batch, tile->first_col + c),
                             request->alpha[0]};
    double value = tile->chain[r * TJ_TILE_COLS + c] + 0.0; /* never -0 */

    for (size_t i = 0; i < sizeof factor / sizeof factor[0]; i++)
        value = is_f64 ? value * factor[i] : (double)((float)value * (float)factor[i]);
    if (!request->reads_c)
        return value;
    const double old = read_c(request, tile, r, c), beta = request->beta[0];

    return is_f64 ? fma(beta, old, value) : (double)fmaf((float)beta, (float)old, (float)value);
}

/* Return the element of P that begins at column c of the tile, or one of the parts of a complex one. */
static element element_at(const resolved *request, const tj_tile *tile, int r, int c)
{
    if (request->p.parts == 2)
        return part_at(request, tile, r, c);

    element e = sum_at(request, tile, r, c);

    if (request->has_expression) {
        const element odd = request->has_pairs ? sum_at(request, tile, r, c + 1) : e;

        evaluate_expression(request, tile, r, c, &e, &odd);
    } else if (request->reads_c && !request->combined) {
        const double old = read_c(request, tile, r, c);

        e.value += (long double)request->beta[0] * (long double)old;
        e.magnitude += fabsl((long double)request->beta[0] * (long double)old);
        e.is_special |= !isfinite(old) || !isfinite(request->beta[0]);
    }
    if (tile->chain && isfinite(e.value))
        e.value = (long double)value_of_chain(request, tile, r, c);
    if (!request->blocks && !request->combined) {
        e.value = tj_saturate((tj_type)request->problem.p.type, e.value);
        return e;
    }
    e.bounded = request->has_expression ? e.bounded : bounded_sum(request, &e);
    tj_blocks_take(request->blocks, tile->batch, tile->rows[r], p_col(request, tile, c), e.bounded);
    tj_combined_take(request->combined, tile->rows[r], p_col(request, tile, c), e.bounded);
    return e;
}

/* ---- judging one element ------------------------------------------------------------------------------------------ */

/* Return the largest distance of a right P from the value. */
static long double bound_of(const resolved *request, const element *e)
{
    const long double sum_error = sum_error_of(request, e);
    const bool is_integer = tj_facts_of(request->problem.p.type)->is_integer;

    return sum_error + request->p_limits->unit_roundoff * (fabsl(e->value) + sum_error) +
           (is_integer ? 0.5L : request->p_limits->smallest_subnormal);
}

/* Return error over bound: up to 1 passes, INFINITY is a P of the wrong class. */
static double judge(const resolved *request, const element *e, double p)
{
    const long double bound = bound_of(request, e), size = fabsl(e->value), error = fabsl((long double)p - e->value);
    const long double overflow = request->p_limits->overflow;
    const bool same_infinity = isinf(p) && !signbit(p) == !signbit(e->value);

    if (request->has_expression)
        return fmax(tj_judge_stored(e->bounded, (tj_type)request->problem.p.type, 1, p), e->outputs);
    if (request->is_whole)
        return (long double)p == e->value ? 0.0 : INFINITY;
    if (request->chain && isfinite(e->value)) {
        const tj_type type = tj_part_type(request->problem.p.type);
        double right;

        tj_write_number(type, &right, 0, e->value);
        return p == tj_read_number(type, &right, 0) ? 0.0 : INFINITY;
    }
    if (is_special_by_a_scale(request, e))
        return !isfinite(p) || !isfinite(overflow) || tj_facts_of(request->problem.p.type)->is_integer ? 0.0 : INFINITY;
    if (e->is_special) { /* a NaN or an infinity stays one of the two, or becomes the limit of a type without infinity */
        if (isnan(e->value))
            return isnan(p) || (p == 0.0 && tj_facts_of(request->problem.p.type)->is_integer) ? 0.0 : INFINITY;
        return (long double)p == e->value ? 0.0 : INFINITY;
    }
    if (may_overflow(request, e)) {
        const bool one_sign = isfinite(e->magnitude) && size >= e->magnitude * (1.0L - 0x1p-20L);

        if (one_sign && size - bound >= overflow && size - bound >= request->sum_limits->overflow)
            return same_infinity ? 0.0 : INFINITY;
        if (!isfinite(p) || (!isfinite(overflow) && (p == request->p_limits->largest || p == request->p_limits->least)))
            return 0.0;
        return isfinite(e->value) ? (double)(error / bound) : INFINITY;
    }
    if (size - bound >= overflow)
        return same_infinity ? 0.0 : INFINITY;
    if (size + bound >= overflow && same_infinity)
        return 0.0;
    if (!isfinite(p))
        return INFINITY;
    if (e->magnitude == 0.0L) /* a zero factor or k = 0: nothing was rounded */
        return p == 0.0 ? 0.0 : INFINITY;
    return (double)(error / bound);
}

/* ---- the check ---------------------------------------------------------------------------------------------------- */

/* The findings of one thread. */
typedef struct findings {
    tj_check_report report; /* except norm */
    int64_t failures;
    bool has_worst;
    long double squares; /* of the reference */
    /* For the two rules about a P that is one number everywhere. */
    bool has_value, is_constant, is_plain; /* is_plain: no element is NaN or infinite */
    double value;
    long double least, greatest, largest_magnitude, largest_size, largest_underflow;
    bool must_not_be_zero; /* some element is too large to be a zero from cancellation */
    double outputs;        /* of rows that are added up: the largest error of further outputs / bound */
    int64_t unequal;       /* elements that differ from their mirror images */
} findings;

typedef struct checking {
    const resolved *request;
    findings *findings; /* one for each worker */
} checking;

static bool is_before(const tj_check_report *a, int64_t batch, int64_t row, int64_t col)
{
    if (a->worst_batch != batch)
        return a->worst_batch < batch;
    return a->worst_row != row ? a->worst_row < row : a->worst_col < col;
}

static void note_shape(const resolved *request, findings *f, const element *e, double p)
{
    const tj_number_limits *sum = request->sum_limits, *out = request->p_limits;
    const long double size = fabsl(e->value);

    if (!f->has_value) {
        f->has_value = f->is_constant = f->is_plain = true;
        f->value = p;
        f->least = f->greatest = e->value;
    }
    f->is_constant &= p == f->value;
    f->is_plain &= isfinite(p) && isfinite(e->value) && isfinite(e->magnitude);
    f->least = e->value < f->least ? e->value : f->least;
    f->greatest = e->value > f->greatest ? e->value : f->greatest;
    f->largest_size = size > f->largest_size ? size : f->largest_size;
    f->largest_magnitude = e->magnitude > f->largest_magnitude ? e->magnitude : f->largest_magnitude;
    f->must_not_be_zero |=
        size > 4.0L * sum->unit_roundoff * e->magnitude + 2.0L * e->inputs + e->underflow + out->smallest_subnormal;
    f->largest_underflow = e->underflow > f->largest_underflow ? e->underflow : f->largest_underflow;
}

/* Note an element p of P, and its error / bound. */
static void note_element(const resolved *request, findings *f, int64_t batch, int64_t row, int64_t col, const element *e,
                         double p, double ratio)
{
    tj_check_report *report = &f->report;

    report->elements++;
    f->failures += ratio > 1.0;
    if (isfinite(e->value))
        f->squares += e->value * e->value;
    note_shape(request, f, e, p);
    if (isfinite(e->value) && (isfinite(p) || ratio > 1.0)) {
        const double error = isfinite(p) ? (double)fabsl((long double)p - e->value) : INFINITY;
        const double relative = e->value != 0.0L ? (double)((long double)error / fabsl(e->value)) : 0.0;

        report->max_error = error > report->max_error ? error : report->max_error;
        report->max_relative = relative > report->max_relative ? relative : report->max_relative;
    }
    if (!f->has_worst || ratio > report->max_ratio || (ratio == report->max_ratio && !is_before(report, batch, row, col))) {
        f->has_worst = true;
        report->max_ratio = ratio;
        report->worst_batch = batch;
        report->worst_row = row;
        report->worst_col = col / request->p.parts;
        report->worst_value = p;
        report->worst_reference = (double)e->value;
    }
}

static const char *stored_element(const resolved *request, int64_t batch, int64_t row, int64_t col)
{
    return (const char *)tj_view_base(&request->p, batch) +
           (size_t)tj_view_index(&request->p, batch, row, col) * tj_type_bytes(request->p.type);
}

/* Judge the mirror image of an element, which must have its bits, or those of its conjugate; the sign of a NaN is not defined. */
static void check_image(const resolved *request, findings *f, int64_t batch, int64_t row, int64_t col, const element *e)
{
    const place at = image_of(request, row, col);
    const char *const image = stored_element(request, batch, at.row, at.col), *const original =
                                                                                  stored_element(request, batch, row, col);
    const double p = tj_read_number(request->p.type, image, 0);
    const int sign = sign_of_image(request, col);
    element mirrored = *e;

    if (row == at.row)
        return;
    mirrored.value *= sign;
    f->unequal += !tj_is_image(original, image, tj_type_bytes(request->p.type), sign < 0) &&
                  !(sign < 0 && isnan(p) && isnan(tj_read_number(request->p.type, original, 0)));
    note_element(request, f, batch, at.row, at.col, &mirrored, p, judge(request, &mirrored, p));
}

static void check_tile(const tj_tile *tile, int worker, void *payload)
{
    const checking *check = payload;
    const resolved *request = check->request;

    for (int r = 0; r < tile->row_count; r++)
        for (int c = 0; c < tile->col_count; c += columns_of(request)) {
            const int64_t row = tile->rows[r], col = p_col(request, tile, c);

            if (!tj_computes(&request->problem, row, col / request->p.parts))
                continue;
            const element e = element_at(request, tile, r, c);
            const double p = tj_read_number(request->p.type, tj_view_base(&request->p, tile->batch),
                                            tj_view_index(&request->p, tile->batch, row, col)) *
                             tj_blocks_scale(request->blocks, tile->batch, row, col);
            const double ratio =
                request->blocks ? fmax(tj_blocks_judge_element(request->blocks, tile->batch, row, col, e.bounded, p), e.outputs)
                                : judge(request, &e, p);

            note_element(request, &check->findings[worker], tile->batch, row, col, &e, p, ratio);
            if (tj_stores_twice(&request->problem))
                check_image(request, &check->findings[worker], tile->batch, row, col, &e);
        }
}

/* Take the rows that are added up. */
static void take_rows(const tj_tile *tile, int worker, void *payload)
{
    const checking *check = payload;
    findings *f = &check->findings[worker];

    for (int r = 0; r < tile->row_count; r++)
        for (int c = 0; c < tile->col_count; c += columns_of(check->request)) {
            const element e = element_at(check->request, tile, r, c);

            f->outputs = e.outputs > f->outputs ? e.outputs : f->outputs;
        }
}

/* Return the element of P that adds up elements of the rows taken. */
static element sum_of_rows(const resolved *request, int64_t row, int64_t col)
{
    tj_row_sum sum = tj_combined_sum(request->combined, row, col);
    element e = {0};

    if (request->reads_c)
        tj_row_sum_add_exact(&sum, request->beta[0],
                             tj_read_number(request->c.type, request->c.base, tj_view_index(&request->c, 0, row, col)));
    e.bounded = tj_row_sum_bounded(&sum, &request->problem);
    e.value = e.bounded.value;
    e.magnitude = fabsl(e.value);
    e.underflow = 2.0L * e.bounded.error;
    return e;
}

/* Judge the sums, now that the rows are there. */
static void check_sums(const resolved *request, int64_t sums, findings *f)
{
    for (int64_t i = 0; i < sums; i++)
        for (int64_t col = 0; col < tj_problem_p_cols(&request->problem); col++) {
            const int64_t row = tj_combined_row(request->combined, i);
            const element e = sum_of_rows(request, row, col);
            const double p = tj_read_number(request->p.type, request->p.base, tj_view_index(&request->p, 0, row, col));

            note_element(request, f, 0, row, col, &e, p, tj_judge_stored(e.bounded, (tj_type)request->problem.p.type, 1, p));
        }
}

/* Ties go to the first element, so that the report does not depend on the distribution of tiles to threads. */
static void merge(findings *into, const findings *from)
{
    tj_check_report *a = &into->report;
    const tj_check_report *b = &from->report;

    into->outputs = from->outputs > into->outputs ? from->outputs : into->outputs;
    if (!from->has_worst)
        return;
    if (!into->has_worst) {
        *into = *from;
        return;
    }
    into->failures += from->failures;
    into->unequal += from->unequal;
    into->squares += from->squares;
    into->is_constant = into->is_constant && from->is_constant && into->value == from->value;
    into->is_plain &= from->is_plain;
    into->least = from->least < into->least ? from->least : into->least;
    into->greatest = from->greatest > into->greatest ? from->greatest : into->greatest;
    into->largest_size = from->largest_size > into->largest_size ? from->largest_size : into->largest_size;
    into->largest_magnitude =
        from->largest_magnitude > into->largest_magnitude ? from->largest_magnitude : into->largest_magnitude;
    into->largest_underflow =
        from->largest_underflow > into->largest_underflow ? from->largest_underflow : into->largest_underflow;
    into->must_not_be_zero |= from->must_not_be_zero;
    a->elements += b->elements;
    a->max_error = b->max_error > a->max_error ? b->max_error : a->max_error;
    a->max_relative = b->max_relative > a->max_relative ? b->max_relative : a->max_relative;
    if (b->max_ratio > a->max_ratio ||
        (b->max_ratio == a->max_ratio && !is_before(a, b->worst_batch, b->worst_row, b->worst_col))) {
        a->max_ratio = b->max_ratio;
        a->worst_batch = b->worst_batch;
        a->worst_row = b->worst_row;
        a->worst_col = b->worst_col;
        a->worst_value = b->worst_value;
        a->worst_reference = b->worst_reference;
    }
}

static const char *class_of(double value)
{
    return isnan(value) ? "NaN" : isinf(value) ? (value < 0 ? "-infinity" : "+infinity") : "finite";
}

/* Conclude: first from the elements, then from the rules about all of them. */
static void conclude(const resolved *request, const findings *f, tj_check_report *report)
{
    const tj_number_limits *sum = request->sum_limits, *out = request->p_limits;
    const long double noise = (8.0L * sum->unit_roundoff + 2.0L * request->input_error) * f->largest_magnitude +
                              4.0L * out->unit_roundoff * f->largest_size + 4.0L * out->smallest_subnormal +
                              f->largest_underflow;
    const char *p_class = class_of(report->worst_value), *reference_class = class_of(report->worst_reference);
    const char *const checked = request->p.parts == 2 ? "real and imaginary parts" : "elements";

    report->norm = (double)sqrtl(f->squares);
    if (f->failures > 0 && strcmp(p_class, reference_class) != 0)
        snprintf(report->reason, sizeof report->reason,
                 "%lld of %lld %s are wrong; row %lld, column %lld of product %lld is %s where the product is %s",
                 (long long)f->failures, (long long)report->elements, checked, (long long)report->worst_row,
                 (long long)report->worst_col, (long long)report->worst_batch, p_class, reference_class);
    else if (f->failures > 0)
        snprintf(report->reason, sizeof report->reason,
                 "%lld of %lld %s are outside their error bound, the worst at row %lld, column %lld of product %lld",
                 (long long)f->failures, (long long)report->elements, checked, (long long)report->worst_row,
                 (long long)report->worst_col, (long long)report->worst_batch);
    else if (f->unequal > 0)
        snprintf(report->reason, sizeof report->reason, "P is not %s: %lld elements differ from their mirror images",
                 tj_is_hermitian(&request->problem) ? "Hermitian" : "symmetric", (long long)f->unequal);
    else if (f->is_plain && f->is_constant && f->value == 0.0 && f->must_not_be_zero)
        snprintf(report->reason, sizeof report->reason, "P is zero everywhere and the product is not");
    else if (f->is_plain && f->is_constant && f->greatest - f->least > noise)
        snprintf(report->reason, sizeof report->reason, "P is the same number everywhere and the product is not");
    report->passed = report->reason[0] == '\0';
    report->elements /= request->p.parts;
}

/* Return how many whole rows of the products max_flop pays for: all, or at least the first and the last. */
static int64_t rows_to_check(const tj_problem *p, int64_t rows, double max_flop)
{
    const int64_t total = rows * p->batch;
    const double flop_per_row =
        2.0 * (double)(p->k.extent > 0 ? p->k.extent : 1) * (double)p->l.extent * tj_products_of_element(p);
    const double affordable = max_flop / flop_per_row;

    if (affordable >= (double)total || total <= 2)
        return total;
    return affordable < 2.0 ? 2 : (int64_t)affordable;
}

static row_range rows_of_group(const resolved *request, int64_t group)
{
    const tj_group_rows rows = tj_rows_of_group(&request->problem, request->problem.j.extent, request->offsets, group);

    return (row_range){rows.begin, rows.end - rows.begin};
}

/* Return the number of rows of all products. */
static int64_t count_rows(const resolved *request)
{
    const tj_problem *p = &request->problem;
    int64_t rows = tj_is_grouped(p) ? 0 : p->j.extent * p->batch;

    for (int64_t group = 0; group < tj_group_count(p); group++)
        rows += rows_of_group(request, group).count;
    return rows;
}

/* Replace the N of all groups by that of one group. */
static void take_group(const resolved *all, int64_t group, resolved *one)
{
    const size_t step = all->n.is_array ? sizeof(void *)
                                        : (size_t)(all->n.stride / tj_type_numbers(all->problem.n.type)) *
                                              tj_type_bytes((tj_type)all->problem.n.type);

    one->n.base = all->n.base ? (const char *)all->n.base + (size_t)group * step : NULL;
    one->factor[TJ_MATRIX_N] = all->factor[TJ_MATRIX_N];
    tj_factor_move(&one->factor[TJ_MATRIX_N], group);
}

/* Return where the groups that divide k begin, and where the last one ends. */
static int64_t *copy_k_offsets(const resolved *request)
{
    const tj_problem *const p = &request->problem;
    int64_t *const offsets = calloc((size_t)p->rows.groups + 1, sizeof *offsets);

    for (int64_t group = 0; group < p->rows.groups && offsets; group++) {
        const tj_group_rows of = tj_rows_of_group(p, 0, request->offsets, group);

        offsets[group] = of.begin * request->m.parts;
        offsets[group + 1] = of.end * request->m.parts;
    }
    return offsets;
}

/* Run all products: those of a batch together, those of groups one after the other. max_flop: INFINITY for all rows. */
static tj_status run_products(resolved *request, double max_flop, bool with_magnitude, tj_tile_fn visit, void *payload,
                              tj_error *err)
{
    const resolved all = *request;
    const int64_t groups = tj_group_count(&all.problem), total = count_rows(request);
    int64_t *const k_offsets = tj_divides_k(&all.problem) ? copy_k_offsets(request) : NULL;
    tj_status status = TJ_OK;

    if (tj_divides_k(&all.problem) && !k_offsets)
        return tj_fail_memory(err, "the offsets of groups");
    request->k_offsets = k_offsets;

    for (int64_t i = 0; i < (groups > 0 ? groups : 1) && status == TJ_OK; i++) {
        const row_range of = groups > 0 ? rows_of_group(&all, i) : (row_range){0, all.problem.j.extent};
        const double share = groups > 0 && total > 0 ? max_flop * (double)of.count / (double)total : max_flop;
        tj_product product;

        if (of.count == 0)
            continue;
        if (groups > 0)
            take_group(&all, i, request);
        product = product_of(request, of, rows_to_check(&all.problem, of.count, share), with_magnitude, visit, payload);
        if (all.combined)
            product.rows = tj_combined_needs(all.combined, of.first, of.first + of.count, &product.row_count);
        if (product.row_count == 0)
            continue;
        status = tj_product_run(&product, err);
    }
    free(k_offsets);
    *request = all;
    return status;
}

static tj_status gather_reductions(resolved *request, tj_error *err)
{
    return request->has_expression
               ? tj_reductions_create(&request->evaluation, 0, request->problem.batch, &request->reductions, err)
               : TJ_OK;
}

static tj_status gather_blocks(resolved *request, const tj_host_operands *operands, tj_error *err)
{
    return tj_blocks_create(&request->problem, &operands->scale[TJ_MATRIX_P], 0, request->problem.batch, &request->blocks, err);
}

/* Report a wrong result of many elements, unless another was wrong before. */
static void conclude_result(double ratio, const char *why, tj_check_report *report)
{
    report->max_ratio = ratio > report->max_ratio ? ratio : report->max_ratio;
    if (ratio > 1.0 && report->passed)
        (void)snprintf(report->reason, sizeof report->reason, "%s", why);
    report->passed = report->passed && !(ratio > 1.0);
}

static void conclude_results(const resolved *request, tj_check_report *report)
{
    char of_reduction[TJ_REDUCTION_WHY_BYTES], of_scale[TJ_BLOCKS_WHY_BYTES];

    conclude_result(tj_reductions_judge(request->reductions, 1, of_reduction), of_reduction, report);
    conclude_result(tj_blocks_judge(request->blocks, of_scale), of_scale, report);
}

/* Find the rows of the product that are added up, of as many rows of P as max_flop pays for. */
static tj_status gather_combined(resolved *request, const tj_host_operands *operands, double max_flop, int64_t *sums,
                                 tj_error *err)
{
    *sums = rows_to_check(&request->problem, tj_combined_rows_of_p(&request->problem, operands),
                          max_flop / tj_rows_of_sum(&request->problem));
    return tj_combined_create(&request->problem, operands, *sums, &request->combined, err);
}

tj_status tj_compare_in_order(const tj_request *asked, const tj_host_operands *operands, const void *p, double max_flop,
                              int threads, tj_check_report *report, tj_error *err)
{
    tj_check_report found = {0};
    resolved request;
    checking check = {.request = &request};
    int64_t sums = 0;
    tj_status status = resolve(asked, operands, p, threads, &request, err);

    if (status != TJ_OK)
        return status;
    if (!(max_flop >= 0.0))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "max_flop is negative or NaN: use a positive number, or 0 for the default");
    if (max_flop == 0.0)
        max_flop = default_max_flop;
    check.findings = calloc((size_t)request.threads, sizeof *check.findings);
    if (!check.findings)
        return tj_fail_memory(err, "the findings of the check");
    status = gather_reductions(&request, err);
    if (status == TJ_OK)
        status = gather_blocks(&request, operands, err);
    if (status == TJ_OK)
        status = gather_combined(&request, operands, max_flop, &sums, err);
    if (status == TJ_OK)
        status = run_products(&request, max_flop, true, request.combined ? take_rows : check_tile, &check, err);
    if (status == TJ_OK && request.combined)
        check_sums(&request, sums, &check.findings[0]);
    if (status == TJ_OK) {
        for (int i = 1; i < request.threads; i++)
            merge(&check.findings[0], &check.findings[i]);
        found = check.findings[0].report;
        found.elements_total =
            tj_is_symmetric(&request.problem) && !tj_stores_twice(&request.problem)
                ? count_rows(&request) * (request.problem.l.extent + 1) / 2
                : (request.combined ? tj_combined_rows_of_p(&request.problem, operands) : count_rows(&request)) *
                      tj_problem_p_cols(&request.problem);
        conclude(&request, &check.findings[0], &found);
        conclude_result(check.findings[0].outputs, "a further output is outside its error bound", &found);
        conclude_results(&request, &found);
        *report = found;
    }
    tj_reductions_free(request.reductions);
    tj_blocks_free(request.blocks);
    tj_combined_free(request.combined);
    free(check.findings);
    return status;
}

/* ---- the product -------------------------------------------------------------------------------------------------- */

typedef struct writing {
    const resolved *request;
    void *p;
} writing;

/* The number that P stores. */
static long double stored_at(const resolved *request, const tj_tile *tile, int r, int c)
{
    const element e = element_at(request, tile, r, c);

    return request->blocks ? tj_blocks_quantize(request->blocks, tile->batch, tile->rows[r], p_col(request, tile, c), e.value)
                           : e.value;
}

static void write_tile(const tj_tile *tile, int worker, void *payload)
{
    const writing *output = payload;
    const resolved *request = output->request;

    void *const p = request->p.is_array ? ((void *const *)output->p)[tile->batch] : output->p;

    (void)worker;
    for (int r = 0; r < tile->row_count; r++)
        for (int c = 0; c < tile->col_count; c += columns_of(request)) {
            const int64_t row = tile->rows[r], col = p_col(request, tile, c);

            if (!tj_computes(&request->problem, row, col / request->p.parts))
                continue;
            const place image = image_of(request, row, col);
            const long double value = stored_at(request, tile, r, c);

            tj_write_number(request->p.type, p, tj_view_index(&request->p, tile->batch, row, col), value);
            if (tj_stores_twice(&request->problem) && image.row != row)
                tj_write_number(request->p.type, p, tj_view_index(&request->p, tile->batch, image.row, image.col),
                                sign_of_image(request, col) * value);
        }
}

/* Take the values of P, of which something must be known before any is stored: its scales, or the other rows of a sum. */
static void take_tile(const tj_tile *tile, int worker, void *payload)
{
    const writing *output = payload;

    (void)worker;
    for (int r = 0; r < tile->row_count; r++)
        for (int c = 0; c < tile->col_count; c += columns_of(output->request))
            (void)element_at(output->request, tile, r, c);
}

/* Store the sums of the rows taken. */
static void write_sums(const writing *output, int64_t sums)
{
    const resolved *const request = output->request;

    for (int64_t i = 0; i < sums; i++)
        for (int64_t col = 0; col < tj_problem_p_cols(&request->problem); col++) {
            const int64_t row = tj_combined_row(request->combined, i);

            tj_write_number(request->p.type, output->p, tj_view_index(&request->p, 0, row, col),
                            sum_of_rows(request, row, col).value);
        }
}

static tj_status find_scales(resolved *request, const tj_host_operands *operands, tj_error *err)
{
    writing output = {.request = request};
    tj_status status = gather_blocks(request, operands, err);

    if (status == TJ_OK && request->blocks)
        status = run_products(request, INFINITY, false, take_tile, &output, err);
    if (status == TJ_OK)
        tj_blocks_store(request->blocks);
    return status;
}

tj_status tj_write_in_order(const tj_request *asked, const tj_host_operands *operands, void *p, int threads, tj_error *err)
{
    resolved request;
    writing output = {.request = &request, .p = p};
    int64_t sums = 0;
    tj_status status = resolve(asked, operands, p, threads, &request, err);

    if (status != TJ_OK)
        return status;
    request.writes = true;
    status = find_scales(&request, operands, err);
    if (status == TJ_OK)
        status = gather_reductions(&request, err);
    if (status == TJ_OK)
        status = gather_combined(&request, operands, INFINITY, &sums, err);
    if (status == TJ_OK)
        status = run_products(&request, INFINITY, false, request.combined ? take_tile : write_tile, &output, err);
    if (status == TJ_OK && request.combined)
        write_sums(&output, sums);
    if (status == TJ_OK)
        tj_reductions_store(request.reductions);
    tj_combined_free(request.combined);
    tj_reductions_free(request.reductions);
    tj_blocks_free(request.blocks);
    return status;
}
