/* SPDX-License-Identifier: Apache-2.0 */
#include "reductions.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "error.h"
#include "operand_table.h"
#include "tree.h"

enum { LOCKS = 64 };

/* The partial result of one reduction. */
typedef struct gathered {
    long double sum, rest;   /* of finite values; rest is the rounding error of sum, which makes the order irrelevant */
    long double size, error; /* of all values: sums of magnitudes and of errors */
    long double largest, least, most; /* the largest value, and the bounds of the maximum */
    int64_t count;
    bool has_nan, has_above, has_below, is_unknown,
        has_largest; /* infinities above and below; some value whose error bound is unknown */
} gathered;

struct tj_reductions {
    const tj_evaluation *evaluation;
    int64_t first, products;
    gathered *of[TJ_EPILOGUE_OPERANDS]; /* NULL: no reduction */
    pthread_mutex_t lock[LOCKS];
};

static const tj_epilogue_operand *output_at(const tj_reductions *r, int i)
{
    return &r->evaluation->problem->epilogue.expression.operand[i];
}

static int64_t count_of(const tj_reductions *r, int i)
{
    return tj_operand_elements(r->evaluation->problem, TJ_WITH + i);
}

/* Return the number of elements in a result. */
static int64_t length_of(const tj_reductions *r, int i)
{
    const tj_problem *problem = r->evaluation->problem;

    return output_at(r, i)->indexed == TJ_BY_ROW ? tj_problem_p_cols(problem) : problem->j.extent;
}

tj_status tj_reductions_create(const tj_evaluation *evaluation, int64_t first, int64_t products, tj_reductions **out,
                               tj_error *err)
{
    tj_reductions *r;

    *out = NULL;
    if (!tj_epilogue_reduces(&evaluation->problem->epilogue))
        return TJ_OK;
    r = calloc(1, sizeof *r);
    if (!r)
        return tj_fail_memory(err, "the reductions of the reference");
    r->evaluation = evaluation;
    r->first = first;
    r->products = products;
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&r->lock[i], NULL);
    for (int i = 0; i < evaluation->problem->epilogue.expression.operands; i++) {
        if (output_at(r, i)->reduction == TJ_REDUCE_NOT)
            continue;
        r->of[i] = calloc((size_t)(count_of(r, i) * products), sizeof **r->of);
        if (!r->of[i]) {
            tj_reductions_free(r);
            return tj_fail_memory(err, "the reductions of the reference");
        }
    }
    *out = r;
    return TJ_OK;
}

void tj_reductions_free(tj_reductions *r)
{
    if (!r)
        return;
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_destroy(&r->lock[i]);
    for (int i = 0; i < TJ_EPILOGUE_OPERANDS; i++)
        free(r->of[i]);
    free(r);
}

/* Add a finite value, and keep its rounding error (Knuth). */
static void add(gathered *g, long double value)
{
    const long double sum = g->sum + value, back = sum - g->sum;

    g->rest += (g->sum - (sum - back)) + (value - back);
    g->sum = sum;
}

static void gather(gathered *g, tj_bounded x)
{
    g->count++;
    if (isinf(x.error)) {
        g->is_unknown = true;
        return;
    }
    if (isnan(x.value)) {
        g->has_nan = true;
        return;
    }
    g->has_above |= isinf(x.value) && x.value > 0;
    g->has_below |= isinf(x.value) && x.value < 0;
    if (isfinite(x.value)) {
        add(g, x.value);
        g->size += fabsl(x.value);
        g->error += x.error;
    }
    if (!g->has_largest)
        g->largest = g->least = g->most = -INFINITY;
    g->has_largest = true;
    g->largest = fmaxl(g->largest, x.value);
    g->least = fmaxl(g->least, x.value - x.error);
    g->most = fmaxl(g->most, x.value + x.error);
}

void tj_reductions_take(tj_reductions *r, int64_t batch, int64_t row, int64_t col, const tj_bounded value[TJ_VALUES])
{
    if (!r)
        return;
    for (int i = 0; i < TJ_EPILOGUE_OPERANDS; i++) {
        const int64_t at =
            r->of[i] ? (batch - r->first) * count_of(r, i) + (output_at(r, i)->indexed == TJ_BY_ROW ? row : col) : 0;

        if (!r->of[i])
            continue;
        pthread_mutex_lock(&r->lock[at % LOCKS]);
        gather(&r->of[i][at], value[output_at(r, i)->value]);
        pthread_mutex_unlock(&r->lock[at % LOCKS]);
    }
}

static tj_bounded sum_of(const tj_evaluation *v, const gathered *g)
{
    const long double nu = (long double)g->count * v->unit_roundoff, gamma = nu < 0.5L ? nu / (1.0L - nu) : 2.0L * nu;
    const long double error = g->error + gamma * (g->size + g->error);
    const bool may_overflow = !(g->size + error < v->overflow);

    if (g->has_nan || (g->has_above && g->has_below))
        return (tj_bounded){NAN, 0};
    if (g->has_above || g->has_below)
        return (tj_bounded){g->has_above ? INFINITY : -INFINITY, may_overflow ? INFINITY : 0};
    return (tj_bounded){g->sum + g->rest, may_overflow ? (long double)INFINITY : error};
}

static tj_bounded largest_of(const gathered *g)
{
    if (g->has_nan)
        return (tj_bounded){NAN, 0};
    if (isinf(g->largest))
        return (tj_bounded){g->largest, 0};
    return (tj_bounded){g->largest, fmaxl(g->most - g->largest, g->largest - g->least)};
}

static tj_bounded result_of(const tj_reductions *r, int i, int64_t at)
{
    const gathered *g = &r->of[i][at];
    tj_bounded x = output_at(r, i)->reduction == TJ_REDUCE_SUM ? sum_of(r->evaluation, g) : largest_of(g);

    if (g->is_unknown)
        x.error = INFINITY;
    return x;
}

double tj_reductions_judge(const tj_reductions *r, int again, char why[TJ_REDUCTION_WHY_BYTES])
{
    double worst = 0;

    for (int i = 0; r && i < TJ_EPILOGUE_OPERANDS; i++) {
        const bool by_rows = output_at(r, i)->indexed == TJ_BY_ROW;
        const int64_t count = r->of[i] ? count_of(r, i) : 0;

        if (count == 0 || !r->evaluation->operand[i].address)
            continue;
        for (int64_t at = 0; at < count * r->products; at++) {
            const int64_t batch = r->first + at / count, place = at % count;
            const tj_bounded x = result_of(r, i, at);
            const double stored = tj_read_stored(r->evaluation, i, batch, by_rows ? place : 0, by_rows ? 0 : place);
            const double ratio =
                r->of[i][at].count == length_of(r, i) ? tj_judge_stored(x, r->evaluation->operand[i].type, again, stored) : 0;

            if (ratio > 1 && worst <= 1)
                (void)snprintf(why, TJ_REDUCTION_WHY_BYTES,
                               "the output %s is %.9g for %s %lld of product %lld, where it should be %.9g",
                               output_at(r, i)->name, stored, by_rows ? "row" : "column", (long long)place, (long long)batch,
                               (double)x.value);
            worst = ratio > worst ? ratio : worst;
        }
    }
    return worst;
}

void tj_reductions_store(const tj_reductions *r)
{
    for (int i = 0; r && i < TJ_EPILOGUE_OPERANDS; i++) {
        const bool by_rows = output_at(r, i)->indexed == TJ_BY_ROW;
        const int64_t count = r->of[i] ? count_of(r, i) : 0;

        if (count == 0 || !r->evaluation->operand[i].address)
            continue;
        for (int64_t at = 0; at < count * r->products; at++)
            tj_store(r->evaluation, i, r->first + at / count, by_rows ? at % count : 0, by_rows ? 0 : at % count,
                     result_of(r, i, at).value);
    }
}
