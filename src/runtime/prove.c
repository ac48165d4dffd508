/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prove: run a kernel once, between guards, and compare its product with that of a simple kernel on the same device.
 *
 * Operands are random, a short stretch of numbers over and over, so that filling them costs a copy; its length is prime, so
 * that no two lines are alike. P starts as NaN, as do the guards around every matrix and the workspace: an element that nobody
 * writes, a sum that is read too early and a write outside P all show. The simple kernel is the textbook's, naive, for any
 * extents: one compile for all shapes of a type and layout. It computes whole lines of P, as stored: all of them where that is
 * cheap, else some, the first and the last ones among them.
 */
#include "proof.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tilejit/reference.h>

#include "buffer.h"
#include "canonical.h"
#include "combined.h"
#include "compare.h"
#include "error.h"
#include "expression.h"
#include "family.h"
#include "kernel.h"
#include "number.h"
#include "operands.h"
#include "quantized.h"
#include "reductions.h"
#include "settle.h"
#include "symmetric.h"
#include "workbench.h"

enum { GUARD_BYTES = 4096, PERIOD = 262139, MOST_RUNS = 64, SAMPLED_RUNS = 8, LONG_K = 100000 };
static const size_t MOST_BYTES = (size_t)16 << 20;   /* of one matrix that are read back */
static const double FLOP = 4e9, EMULATED_FLOP = 2e6; /* of the simple kernel */

/* Rows of P, one after the other, of one product. */
typedef struct run {
    int64_t product, line, lines;
} run;

typedef struct proving {
    tj_gpu *gpu;
    const tj_program *program;
    const tj_kernel *simple; /* the reference kernel */
    tj_request asked;        /* every number known */
    tj_request lies;         /* the same with a stride for each matrix */
    struct CUstream_st *stream;
    tj_workbench *bench;
    tj_buffer *simple_p;
    double alpha, beta;
    tj_evaluation evaluation;  /* of an expression */
    tj_reductions *reductions; /* of the run that is compared; NULL: none */
    tj_host_operand scales;    /* of P, as they were read back */
    tj_blocks *blocks;         /* of a P with scales, of the run that is compared; NULL: it has none */
    int64_t lines, width;      /* of one product, as P is stored: combined rows are still apart */
    int32_t combined;          /* of its lines, which are one line of P */
    int64_t sums;              /* in such a line: more than its elements where each takes a pair */
    run run[MOST_RUNS];
    int runs;
    int64_t longest; /* of the runs */
    char *p, *line;  /* read back: P, or as much of it as a run holds; and the simple kernel's lines */
    bool has_all_of_p;
    tj_proof *proof;
} proving;

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

__attribute__((format(printf, 2, 3))) static void fail(proving *v, const char *format, ...)
{
    va_list values;

    if (!v->proof->passed)
        return; /* what was found first is told */
    v->proof->passed = 0;
    va_start(values, format);
    (void)vsnprintf(v->proof->reason, sizeof v->proof->reason, format, values);
    va_end(values);
}

/* ---- operands ----------------------------------------------------------------------------------------------------- */

/* Bytes of an element. */
static size_t size_of(const proving *v, int which)
{
    return tj_type_bytes(v->lies.operand[which].type);
}

/* Elements from the first of an operand, whose lines are ld apart, to number i of a dimension; 0: the operand does not have it. */
static int64_t offset_with(const proving *v, int which, int64_t ld, char dimension, int64_t i)
{
    const tj_operand_row *const row = &v->lies.operand[which];

    if (tj_is_gathered(&v->lies.problem) && (which == TJ_MATRIX_M || which == TJ_SCALES + TJ_MATRIX_M))
        return 0; /* the index leads to rows of M */
    return row->rows.of == dimension    ? i / row->rows.per * ld
           : row->width.of == dimension ? i / row->width.per * row->width.times
                                        : 0;
}

/* The same of a matrix, which says how far its lines are apart. */
static int64_t offset_of(const proving *v, int which, char dimension, int64_t i)
{
    return offset_with(v, which, v->lies.operand[which].ld, dimension, i);
}

/* Return the address of a product's matrix. */
static const char *address(const proving *v, tj_which which, int64_t product)
{
    const char *first = tj_workbench_address(v->bench, 0, which);

    return first ? first + tj_workbench_offset(v->bench, which, product) : NULL;
}

/* ---- expressions -------------------------------------------------------------------------------------------------- */

/*
 * An expression changes the error of a sum in its own way. So the simple kernel computes sums alone, and the host computes the
 * value of each, with a bound.
 */
static bool has_expression(const proving *v)
{
    return v->lies.problem.epilogue.expression.nodes > 0;
}

/* Does the host judge each element by its value and a bound? So it does for a P that is finished after the sums of products. */
static bool is_judged(const proving *v)
{
    return has_expression(v) || tj_is_finished(&v->lies.problem);
}

/* The type of the simple kernel's P. */
static tj_type simple_type(const proving *v)
{
    return (tj_type)tj_problem_of_sums(&v->lies.problem).p.type;
}

static size_t simple_size_of(const proving *v)
{
    return tj_type_bytes(simple_type(v));
}

/* The element of C that this element of P has; operands repeat. */
static double element_of_c(const proving *v, int64_t product, int64_t line, int64_t i)
{
    const tj_matrix *c = &v->lies.problem.c;
    const void *host = tj_workbench_host(v->bench, TJ_MATRIX_C);
    const size_t at =
        tj_workbench_offset(v->bench, TJ_MATRIX_C, product) / tj_type_bytes((tj_type)c->type) + (size_t)(line * c->ld + i);
    double element = 0;

    if (host && v->lies.problem.epilogue.has_beta)
        tj_convert(TJ_F64, &element, (tj_type)c->type, (const char *)host + at % PERIOD * tj_type_bytes((tj_type)c->type), 1);
    return element;
}

/* Further outputs, as they were read back. */
static bool outputs_agree(const proving *v, int64_t product, int64_t row, int64_t col, const tj_bounded *x)
{
    const tj_expression *e = &v->lies.problem.epilogue.expression;

    for (int i = 0; i < e->operands; i++)
        if (e->operand[i].is_output && e->operand[i].reduction == TJ_REDUCE_NOT &&
            tj_judge_stored(x[e->operand[i].value], v->evaluation.operand[i].type, 2,
                            tj_read_stored(&v->evaluation, i, product, row, col)) > 1)
            return false;
    return true;
}

/* Return the error of an element p over its bound. */
static double judge(const proving *v, int64_t product, int64_t row, int64_t col, tj_bounded x, double p)
{
    if (!v->blocks)
        return tj_judge_stored(x, (tj_type)v->lies.problem.p.type, 2, p);
    tj_blocks_take(v->blocks, product, row, col, x);
    return tj_blocks_judge_element(v->blocks, product, row, col, x, p * tj_blocks_scale(v->blocks, product, row, col));
}

/* Compute the values of an element from the simple kernel's sums. */
static void evaluate(const proving *v, int64_t product, int64_t row, int64_t col, const double sum[2], double c,
                     tj_bounded x[TJ_VALUES])
{
    if (has_expression(v))
        tj_evaluate_again(&v->evaluation, product, row, col, sum, c, x);
    else
        x[TJ_VALUE_OF_P] = (tj_bounded){sum[0], tj_allowed_error(&v->lies.problem, v->alpha) + 0x1p-22 * fabs(sum[0])};
}

/* The first element of a line that no order of summation explains, -1: none. p: as it lies; sums: the simple kernel's. */
static int64_t compare_values(const proving *v, int64_t product, int64_t line, const char *p, const char *sums)
{
    const bool by_rows = v->lies.problem.p.layout == TJ_ROW_MAJOR, pairs = v->sums > v->width;
    const tj_type type = (tj_type)v->lies.problem.p.type, sum_of = simple_type(v);
    tj_bounded x[TJ_VALUES];

    const tj_row_part computed = tj_computed_part(&v->lies.problem, line, v->width);

    for (int64_t i = computed.begin; i < computed.end; i++) {
        const int64_t row = by_rows ? line : i, col = by_rows ? i : line;
        double sum[2] = {0, 0}, value;

        tj_convert(TJ_F64, sum, sum_of, sums + (size_t)(pairs ? 2 * i : i) * simple_size_of(v), pairs ? 2 : 1);
        value = tj_read_number(type, p, i);
        evaluate(v, product, row, col, sum, element_of_c(v, product, line, i), x);
        tj_reductions_take(v->reductions, product, row, col, x);
        if (judge(v, product, row, col, x[TJ_VALUE_OF_P], value) > 1 || !outputs_agree(v, product, row, col, x))
            return i;
    }
    return -1;
}

/*
 * The first element that no order of summation explains of a line of P that adds up `rows` lines of the product from `line` on, -1:
 * none. p: as it lies; sums: the simple kernel's, of those lines.
 */
static int64_t compare_sums(const proving *v, int64_t product, int64_t line, int64_t rows, int64_t of_p, const char *p,
                            const char *sums)
{
    const tj_problem *const k = &v->lies.problem;
    const size_t simple_width = (size_t)v->sums * simple_size_of(v);
    const float *const factor = tj_workbench_list(v->bench, TJ_LIST_P_FACTOR);
    tj_bounded x[TJ_VALUES];

    for (int64_t i = 0; i < v->width; i++) {
        const int64_t first = i * tj_sums_per_column(k);
        tj_row_sum total = {0};
        double value;

        for (int64_t row = line; row < line + rows; row++) {
            double sum[2] = {0, 0};

            if (!tj_row_has_group(k, k->j.extent, tj_workbench_list(v->bench, TJ_LIST_OFFSETS), row))
                continue;
            tj_convert(TJ_F64, sum, simple_type(v),
                       sums + (size_t)(row - line) * simple_width + (size_t)first * simple_size_of(v),
                       (size_t)tj_sums_per_column(k));
            evaluate(v, product, row, i, sum, 0, x);
            tj_reductions_take(v->reductions, product, row, i, x);
            if (!outputs_agree(v, product, row, i, x))
                return i;
            tj_row_sum_add(&total, k, (double)factor[tj_drawn_place_in_sum(k, row)], x[TJ_VALUE_OF_P]);
        }
        if (k->epilogue.has_beta)
            tj_row_sum_add_exact(&total, v->beta, element_of_c(v, product, of_p, i));
        tj_convert(TJ_F64, &value, (tj_type)k->p.type, p + (size_t)i * size_of(v, TJ_MATRIX_P), 1);
        if (tj_judge_stored(tj_row_sum_bounded(&total, k), (tj_type)k->p.type, 2, value) > 1)
            return i;
    }
    return -1;
}

/* ---- the simple kernel -------------------------------------------------------------------------------------------- */

/* A product of any extents and leading dimensions, its types and layouts those of the problem. */
static tj_problem any_product(const tj_problem *lies)
{
    tj_problem simple = tj_problem_of_sums(lies);

    simple.invariant = TJ_INVARIANT_NOTHING; /* the simple kernel's sums need not have the order of the proven one's */
    simple.j = simple.l = (tj_dim){0, TJ_DIM_ANY, 0};
    simple.k = tj_open_k(&simple);
    simple.m.ld = simple.n.ld = simple.p.ld = TJ_ANY;
    simple.c.ld = simple.epilogue.has_beta ? TJ_ANY : TJ_TIGHT;
    simple.batch = 1;
    simple.rows.kind = TJ_ROWS_AS_THEY_LIE;
    simple.symmetric = TJ_SYMMETRIC_NOT;
    simple.rows.scattered = simple.rows.combined = 0;
    simple.rows = tj_rows_canonical(&simple.rows);
    simple.m.stride = simple.n.stride = simple.p.stride = simple.c.stride = TJ_TIGHT;
    return simple;
}

static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t x = a, y = b;

    while (y != 0) {
        const int64_t rest = x % y;

        x = y;
        y = rest;
    }
    return a / x * b;
}

/*
 * A run begins where each operand has an address for its line: two numbers of 4 bits share one, and so do the lines of a block
 * that has one scale. Groups begin at any row, and have no such operands.
 */
static int64_t line_step(const proving *v)
{
    const char dimension = v->lies.problem.p.layout == TJ_ROW_MAJOR ? 'j' : 'l';
    int64_t step = v->combined;

    for (int which = 0; which < TJ_WITH && !tj_is_grouped(&v->lies.problem); which++) {
        const tj_operand_row *const row = &v->lies.operand[which];

        if (row->is_taken && which != TJ_MATRIX_P && which != TJ_MATRIX_C)
            step = common_multiple(step, row->rows.of == dimension    ? row->rows.per
                                         : row->width.of == dimension ? row->width.per
                                                                      : 1);
    }
    return step;
}

/* Scales for the simple kernel, from number i of a dimension on, of the product or the group with that number. */
static tj_operand scales(const proving *v, int which, int64_t product, char dimension, int64_t i)
{
    const tj_operand *const scale = tj_operand_at(tj_workbench_operands(v->bench), which);
    const tj_operand_row *const row = &v->lies.operand[which];
    const tj_extents extents = tj_extents_of(&v->lies.problem);
    const int64_t ld = tj_extent_at(row->width, &extents);

    if (!scale->address)
        return (tj_operand){NULL, 0, 0};
    return (tj_operand){(const char *)scale->address +
                            (size_t)(product * scale->stride + offset_with(v, which, ld, dimension, i)) * size_of(v, which),
                        row->rows.of ? ld : 0, 0};
}

/* Lists for the simple kernel, from a row of the product on. */
static void give_lists(const proving *v, int64_t first, tj_operands *x)
{
    for (int list = 0; list < TJ_LISTS; list++) {
        const tj_list_row *const row = &v->simple->list[list];

        if (row->read)
            tj_list_set(x, row,
                        (const char *)tj_list_at(tj_workbench_operands(v->bench), row) + first * row->each * row->bytes);
    }
    x->m_rows = v->lies.problem.j.extent;
}

/* Compute the lines of a run with matrix n of N and its scales; `at`: the first of them in the simple kernel's P. */
static tj_status compute_lines(const proving *v, const run *r, int64_t n, int64_t at, tj_error *err)
{
    const tj_problem *k = &v->lies.problem;
    const bool by_rows = k->p.layout == TJ_ROW_MAJOR, has_c = v->simple->problem.epilogue.has_beta;
    const int64_t row = by_rows ? r->line : 0, col = by_rows ? 0 : r->line;
    const tj_group_rows of_k = tj_divides_k(k)
                                   ? tj_rows_of_group(k, 0, tj_workbench_list(v->bench, TJ_LIST_OFFSETS), r->product)
                                   : (tj_group_rows){0, k->k.extent};
    const int64_t of_m = offset_of(v, TJ_MATRIX_M, 'j', row) + offset_of(v, TJ_MATRIX_M, 'k', of_k.begin),
                  of_n = offset_of(v, TJ_MATRIX_N, 'l', col) + offset_of(v, TJ_MATRIX_N, 'k', of_k.begin);
    tj_operands x = TJ_OPERANDS_INIT;

    x.m.address = address(v, TJ_MATRIX_M, r->product) + (size_t)of_m * size_of(v, TJ_MATRIX_M);
    x.n.address = address(v, TJ_MATRIX_N, n) + (size_t)of_n * size_of(v, TJ_MATRIX_N);
    x.p.address = (char *)tj_buffer_address(v->simple_p) + (size_t)(at * v->width) * simple_size_of(v);
    for (int which = TJ_SCALES; which < TJ_WITH; which++)
        *tj_operand_in(&x, which) =
            scales(v, which, v->lies.operand[which].is_each_group ? n : r->product, by_rows ? 'j' : 'l', r->line);
    if (has_c)
        x.c.address = address(v, TJ_MATRIX_C, r->product) + (size_t)(r->line * k->c.ld) * size_of(v, TJ_MATRIX_C);
    give_lists(v, row, &x);
    x.alpha = v->alpha;
    x.beta = v->beta;
    x.j = by_rows ? r->lines : k->j.extent;
    x.k = of_k.end - of_k.begin;
    x.l = by_rows ? k->l.extent : r->lines;
    x.m.ld = k->m.ld;
    x.n.ld = k->n.ld;
    x.p.ld = v->sums;
    x.c.ld = has_c ? k->c.ld : 0;
    return tj_kernel_launch(v->simple, &x, v->stream, err);
}

/* With groups, each line has the N of its group; lines of no group are left alone. */
static tj_status compute_simply(const proving *v, const run *r, tj_error *err)
{
    const void *const offsets = tj_workbench_list(v->bench, TJ_LIST_OFFSETS);
    const int64_t end = r->line + r->lines;
    tj_status status = TJ_OK;

    if (!tj_is_grouped(&v->lies.problem))
        return compute_lines(v, r, r->product, 0, err);
    for (int64_t group = 0; group < tj_group_count(&v->lies.problem) && status == TJ_OK; group++) {
        const tj_group_rows of = tj_rows_of_group(&v->lies.problem, v->lies.problem.j.extent, offsets, group);
        const int64_t from = of.begin > r->line ? of.begin : r->line, to = of.end < end ? of.end : end;
        const run part = {r->product, from, to - from};

        if (from < to)
            status = compute_lines(v, &part, group, from - r->line, err);
    }
    return status;
}

/* ---- which lines -------------------------------------------------------------------------------------------------- */

/*
 * All of them, or a run in each eighth of the lines of all products: the first lines, the last ones, and at random between. A
 * thread of the simple kernel walks all of k, however many run in parallel: for a very long k, two runs are enough.
 */
static void draw_runs(proving *v, bool is_emulated)
{
    const tj_problem *k = &v->lies.problem;
    const int64_t total = v->lines * k->batch;
    const double cost = 2.0 * (double)(k->k.extent + 1) * (double)v->sums, line_bytes = (double)v->sums * 8;
    const double paid = (is_emulated ? EMULATED_FLOP : FLOP) / cost, held = (double)MOST_BYTES / line_bytes;
    const double judged = is_judged(v) ? (is_emulated ? 2e5 : 2e6) / (double)v->width : held; /* on the host */
    const double least = paid < held ? paid : held;
    const int64_t most = (int64_t)(least < judged ? least : judged) + 1;
    const int64_t wanted = k->k.extent > LONG_K ? 2 : SAMPLED_RUNS, whole = total < v->combined ? 1 : total / v->combined,
                  runs = wanted < whole ? wanted : whole;
    const int64_t share = total / runs, length = (most + runs - 1) / runs, step = line_step(v);
    uint64_t random = UINT64_C(0x9e3779b97f4a7c15);

    if (most >= total && k->batch <= MOST_RUNS) {
        v->longest = v->lines;
        for (v->runs = 0; v->runs < k->batch; v->runs++)
            v->run[v->runs] = (run){v->runs, 0, v->lines};
        return;
    }
    v->longest = length < share ? length : share;
    v->longest = v->longest > v->combined ? v->longest : v->combined;
    v->longest = v->longest < v->lines ? v->longest : v->lines;
    for (v->runs = 0; v->runs < runs; v->runs++) {
        const int64_t spare = share - v->longest;
        int64_t at = share * v->runs, first, lines;

        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        if (v->runs == runs - 1)
            at = total - v->longest;
        else if (v->runs > 0 && spare > 0)
            at += (int64_t)((random >> 20) % (uint64_t)spare);
        first = at % v->lines / step * step;
        lines = at % v->lines - first + v->longest;
        v->run[v->runs] = (run){at / v->lines, first, lines < v->lines - first ? lines : v->lines - first};
        if (tj_is_masked(k)) /* the lines that are there come first */
            v->run[v->runs].line = v->run[v->runs].line / tj_room_of_group(k) * tj_room_of_group(k) / step * step;
    }
    v->longest = v->longest + step - 1 < v->lines ? v->longest + step - 1 : v->lines;
}

/* Return the bytes of a line of P, without what pads it. */
static size_t bytes_of_line(const proving *v)
{
    return (size_t)(v->width / tj_type_numbers(v->lies.problem.p.type)) * size_of(v, TJ_MATRIX_P);
}

/* ---- checks ------------------------------------------------------------------------------------------------------- */

/* Check that every element of P, as read back, was written. Integers and pairs cannot be checked: unwritten bits are numbers too. */
static void check_all_of_p(proving *v)
{
    const size_t size = size_of(v, TJ_MATRIX_P);

    if (tj_facts_of(v->lies.problem.p.type)->is_integer || tj_type_is_pair(v->lies.problem.p.type))
        return;
    for (int64_t b = 0; b < v->lies.problem.batch; b++)
        for (int64_t line = 0; line < tj_ceil_div(v->lines, v->combined); line++) {
            if (!tj_workbench_has_line(v->bench, line))
                continue;
            const char *at =
                v->p + tj_workbench_offset(v->bench, TJ_MATRIX_P, b) + (size_t)(line * v->lies.problem.p.ld) * size;

            const tj_row_part written = tj_written_part(&v->lies.problem, line, v->width);

            for (int64_t i = written.begin; i < written.end; i++)
                if (tj_workbench_is_untouched(at + (size_t)i * size, size))
                    fail(v, "it does not write element %lld of line %lld of P, product %lld", (long long)i, (long long)line,
                         (long long)b);
        }
}

/* Check that each element that was stored twice has the bits of its mirror image, or of the conjugate. */
static void check_images(proving *v)
{
    const size_t size = size_of(v, TJ_MATRIX_P), ld = (size_t)v->lies.problem.p.ld * size;

    for (int64_t b = 0; b < v->lies.problem.batch; b++) {
        const char *const p = v->p + tj_workbench_offset(v->bench, TJ_MATRIX_P, b);

        for (int64_t line = 0; line < v->lines; line++)
            for (int64_t i = 0; i < line; i++)
                if (!tj_is_image(p + (size_t)line * ld + (size_t)i * size, p + (size_t)i * ld + (size_t)line * size, size,
                                 tj_is_hermitian(&v->lies.problem))) {
                    fail(v, "P[%lld][%lld] of product %lld differs from its mirror image", (long long)line, (long long)i,
                         (long long)b);
                    return;
                }
    }
}

/* The simple kernel computes all of P by the sums, and the diagonal of a Hermitian one is real: clear its imaginary part. */
static void make_diagonal_real(const proving *v, int64_t line, char *simple)
{
    const size_t size = simple_size_of(v);

    if (tj_is_hermitian(&v->lies.problem))
        memset(simple + (size_t)line * size + size / 2, 0, size / 2);
}

/* Compare what is computed of a line of P with the simple kernel's. Return the first element that is wrong; -1: none. */
static int64_t compare_line(const proving *v, int64_t line, const char *p, const char *simple)
{
    const tj_row_part part = tj_computed_part(&v->lies.problem, line, v->width);
    const int64_t wrong =
        tj_compare_random_products(&v->lies.problem, v->alpha, p + (size_t)part.begin * size_of(v, TJ_MATRIX_P),
                                   simple + (size_t)part.begin * simple_size_of(v), part.end - part.begin);

    return wrong < 0 ? -1 : part.begin + wrong;
}

static tj_status compare_run(proving *v, const run *r, tj_error *err)
{
    const size_t ld = (size_t)v->lies.problem.p.ld * size_of(v, TJ_MATRIX_P);
    const size_t simple_width = (size_t)v->sums * simple_size_of(v);
    const int64_t end = r->line + r->lines, /* a run begins with a line of P, of which the last may be short */
        lines = end == v->lines ? tj_ceil_div(r->lines, v->combined) : r->lines / v->combined;
    const int64_t ends[2] = {tj_drawn_row_of_p(&v->lies.problem, r->line),
                             tj_drawn_row_of_p(&v->lies.problem, r->line + (lines - 1) * v->combined)},
                  first = ends[0] < ends[1] ? ends[0] : ends[1]; /* of the run's rows in P */
    const size_t at = tj_workbench_offset(v->bench, TJ_MATRIX_P, r->product) + (size_t)first * ld;
    const char *p = v->has_all_of_p ? v->p + at : v->p;
    char why[TJ_REDUCTION_WHY_BYTES], of_scale[TJ_BLOCKS_WHY_BYTES];
    tj_status status = compute_simply(v, r, err);

    if (status == TJ_OK && has_expression(v))
        status = tj_reductions_create(&v->evaluation, r->product, 1, &v->reductions, err);
    if (status == TJ_OK)
        status = tj_blocks_create(&v->lies.problem, &v->scales, r->product, 1, &v->blocks, err);
    if (status == TJ_OK && !v->has_all_of_p)
        status = tj_workbench_read_part(v->bench, 0, at, (size_t)(lines - 1) * ld + bytes_of_line(v), v->p, err);
    if (status == TJ_OK)
        status = tj_buffer_read(v->simple_p, 0, v->line, (size_t)r->lines * simple_width, err);
    for (int64_t line = r->line; line < r->line + lines * v->combined && status == TJ_OK; line += v->combined) {
        const int64_t of_p = tj_drawn_row_of_p(&v->lies.problem, line),
                      rows = end - line < v->combined ? end - line : v->combined;

        if (!tj_workbench_has_line(v->bench, of_p))
            continue;
        const char *const line_of_p = p + (size_t)(of_p - first) * ld;
        char *const simple = v->line + (size_t)(line - r->line) * simple_width;

        make_diagonal_real(v, line, simple);
        const int64_t wrong = tj_is_combined(&v->lies.problem)
                                  ? compare_sums(v, r->product, line, rows, of_p, line_of_p, simple)
                              : is_judged(v) ? compare_values(v, r->product, line, line_of_p, simple)
                                             : compare_line(v, line, line_of_p, simple);
        const bool by_rows = v->lies.problem.p.layout == TJ_ROW_MAJOR;

        if (wrong >= 0)
            fail(v, "P[%lld][%lld] of product %lld is not what the family %s computes", (long long)(by_rows ? of_p : wrong),
                 (long long)(by_rows ? wrong : of_p), (long long)r->product, TJ_SIMPLE_FAMILY->name);
    }
    if (status == TJ_OK && tj_reductions_judge(v->reductions, 2, why) > 1)
        fail(v, "%s", why);
    if (status == TJ_OK && tj_blocks_judge(v->blocks, of_scale) > 1)
        fail(v, "%s", of_scale);
    tj_reductions_free(v->reductions);
    tj_blocks_free(v->blocks);
    v->reductions = NULL;
    v->blocks = NULL;
    v->proof->elements += lines * v->width;
    return status;
}

/* ---- the proof ---------------------------------------------------------------------------------------------------- */

static tj_status make_room(proving *v, tj_error *err)
{
    const size_t size = size_of(v, TJ_MATRIX_P);
    const size_t line = (size_t)v->longest * (size_t)v->sums * simple_size_of(v);
    const size_t lines_apart = (size_t)(v->longest - 1) * (size_t)v->lies.problem.p.ld * size + bytes_of_line(v);
    tj_status status = TJ_OK;

    v->has_all_of_p = tj_workbench_bytes(v->bench, TJ_MATRIX_P) <= MOST_BYTES;
    v->p = malloc(v->has_all_of_p ? tj_workbench_bytes(v->bench, TJ_MATRIX_P) + 1 : lines_apart);
    v->line = malloc(line);
    if (!v->p || !v->line)
        return tj_fail_memory(err, "the operands of a proof");
    status = tj_gpu_allocate(v->gpu, v->stream, line, &v->simple_p, err);
    return status == TJ_OK ? tj_workbench_fit(v->bench, tj_program_workspace_bytes(v->program), err) : status;
}

/* The kernel under proof, alone: if the device is lost here, it is the kernel that lost it. */
static tj_status launch(proving *v, tj_error *err)
{
    tj_status status = tj_gpu_wait(v->gpu, v->stream, err);
    tj_error lost;

    if (status != TJ_OK)
        return status;
    status = tj_kernel_launch(v->program->kernel, tj_workbench_operands(v->bench), v->stream, &lost);
    if (status == TJ_OK)
        status = tj_gpu_wait(v->gpu, v->stream, &lost);
    if (status == TJ_ERR_DEVICE_LOST)
        fail(v, "%.190s", lost.message);
    if (status != TJ_OK && err)
        *err = lost;
    return status;
}

static tj_status check(proving *v, tj_error *err)
{
    char damage[160];
    tj_status status = v->has_all_of_p ? tj_workbench_read(v->bench, 0, v->p, err) : TJ_OK;

    if (status == TJ_OK)
        status = tj_workbench_find_damage(v->bench, 0, v->has_all_of_p ? v->p : NULL, damage, err);
    if (status == TJ_OK && *damage)
        fail(v, "%s", damage);
    if (status == TJ_OK && v->has_all_of_p)
        check_all_of_p(v);
    if (status == TJ_OK && v->has_all_of_p && tj_stores_twice(&v->lies.problem))
        check_images(v);
    for (int i = 0; i < v->runs && status == TJ_OK; i++)
        status = compare_run(v, &v->run[i], err);
    return status;
}

/* Prepare the drawn operands, the stored further outputs and the scales of P for the host. */
static tj_status prepare_values(proving *v, tj_error *err)
{
    tj_host_operands host = {.alpha = v->alpha, .beta = v->beta};
    const tj_status status = tj_workbench_fill_operands(v->bench, &host, err);

    v->scales = host.scale[TJ_MATRIX_P];
    return status == TJ_OK && has_expression(v) ? tj_evaluation_prepare(&v->lies.problem, &host, &v->evaluation, err) : status;
}

static tj_status run_proof(proving *v, tj_error *err)
{
    const double start = now_ms();
    tj_workbench_options options = TJ_WORKBENCH_INIT;
    tj_status status = tj_gpu_create_stream(v->gpu, &v->stream, err);

    options.stream = v->stream;
    options.seed = 1;
    options.alpha = v->alpha;
    options.beta = v->beta;
    options.guard_bytes = GUARD_BYTES;
    options.period = PERIOD;
    if (status == TJ_OK)
        status = tj_gpu_place(v->gpu, &v->asked, &options, &v->bench, err);
    draw_runs(v, tj_gpu_is_emulated(v->gpu));
    if (status == TJ_OK)
        status = make_room(v, err);
    if (status == TJ_OK)
        status = launch(v, err);
    if (status == TJ_OK && is_judged(v))
        status = prepare_values(v, err);
    if (status == TJ_OK)
        status = check(v, err);
    v->proof->ms = now_ms() - start;
    return status;
}

static void drop(proving *v)
{
    tj_workbench_free(v->bench);
    tj_buffer_free(v->simple_p);
    tj_gpu_destroy_stream(v->gpu, v->stream);
    free(v->p);
    free(v->line);
}

/* A plan forgets the extents that it leaves to the launch: about a hundred will do. */
static void settle_extent(tj_dim *dim)
{
    const int32_t unit = dim->multiple_of > 0 ? dim->multiple_of : 1;

    if (dim->mode == TJ_DIM_ANY && dim->extent == 0)
        dim->extent = (100 + unit - 1) / unit * unit;
    dim->mode = TJ_DIM_FIXED;
    dim->multiple_of = 0;
}

static void settle(const tj_request *request, tj_request *known)
{
    tj_problem p = request->problem;

    settle_extent(&p.j);
    settle_extent(&p.k);
    settle_extent(&p.l);
    tj_request_derive(&p, known);
    tj_request_known(known, known);
}

/* For any number of rows, unless they are long themselves. */
tj_status tj_proof_simple(const tj_request *request, tj_request *simple, tj_config *config, tj_error *err)
{
    tj_request known;
    tj_problem any;
    tj_status status;

    settle(request, &known);
    any = any_product(&known.problem);
    tj_request_derive(&any, simple);
    *config = (tj_config)TJ_CONFIG_INIT;
    config->family = TJ_SIMPLE_FAMILY;
    status = tj_request_resolve(simple, config, err);
    const tj_extents extents = tj_extents_of(&known.problem);

    if (status == TJ_OK && tj_extent_at(known.operand[TJ_MATRIX_P].width, &extents) <= UINT16_MAX)
        (void)config->family->for_tall(&request->problem, INT64_MAX, config);
    return status;
}

tj_status tj_program_prove(tj_host *host, const tj_program *program, const tj_kernel *simple, const tj_request *request,
                           tj_proof *proof, tj_error *err)
{
    proving v = {.gpu = &host->gpu, .program = program, .simple = simple, .proof = proof};
    tj_device_facts device;
    tj_status status = tj_gpu_device_facts(v.gpu, program->kernel->device, &device, err);

    settle(request, &v.asked);
    if (status == TJ_OK)
        status = tj_request_strided(&v.asked, &v.lies, err);
    if (status != TJ_OK)
        return status;
    const tj_operand_row *const p = &v.lies.operand[TJ_MATRIX_P];
    const tj_extents extents = tj_extents_of(&v.lies.problem);

    v.alpha = tj_trial_alpha(&v.lies.problem);
    v.beta = tj_trial_beta(&v.lies.problem);
    v.combined = tj_rows_of_sum(&v.lies.problem);
    v.lines = tj_is_combined(&v.lies.problem) ? extents.j : tj_extent_at(p->rows, &extents);
    v.width = tj_extent_at(p->width, &extents) * tj_type_numbers((int32_t)p->type);
    v.sums = v.width * tj_sums_per_column(&v.lies.problem);
    *proof = (tj_proof){.passed = 1, .created_s = (int64_t)time(NULL)};
    proof->elements_total = tj_ceil_div(v.lines, v.combined) * v.width * v.lies.problem.batch;
    status = run_proof(&v, err);
    drop(&v);
    if (status != TJ_OK && proof->passed) { /* nothing was proven */
        memset(proof, 0, sizeof *proof);
        return status;
    }
    tj_proof_remember(host, program->image, &device, proof);
    return status == TJ_OK ? tj_proof_check(program->source, &device, proof, err) : status;
}
