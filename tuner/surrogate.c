/* SPDX-License-Identifier: Apache-2.0 */
#include "surrogate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LEARNED = 256 };

/* Standard deviations of the model's errors, fitted to 198 recorded tunings of 64 shapes (bench/results/optimisation-log.md). */
static const double SHARED = 0.3;  /* for all configs */
static const double FAMILY = 0.1;  /* for the configs of a family, in addition */
static const double SLOPE = 0.4;   /* for each e-fold of the predicted time */
static const double PLACE = 0.09;  /* for a config and its neighbours */
static const double NOISE = 0.015; /* of a measured time */

/* Knowledge about a config counts half for another one after 3 steps of these roles, 7 and 23. */
static const double STEP[] = {[TJ_PARAM_SHAPE] = 0.25, [TJ_PARAM_ORDER] = 0.1, [TJ_PARAM_HINT] = 0.03};

static const double AS_EXPECTED = 8; /* trials that would confirm these deviations for the problem at hand */

/* A trial longer than the fastest one, and than its prediction: the excess beyond this gives no information. */
static const double HOPELESS = 0.4;

/* The coordinates of a point. */
typedef struct place {
    const tj_family *family;
    size_t axes;
    double expected; /* predicted time, above the least prediction of any point */
    double at[TJ_CONFIG_MAX_PARAMS];
} place;

struct tj_surrogate {
    size_t learned; /* trials */
    size_t count;   /* trials and points under way */
    size_t room;
    double least; /* least prediction of any point */
    place *place;
    double *factor; /* L of the covariance L . L^T, row by row; rows are `room` apart */
    double *weight; /* of each trial in a mean */
    double scale;   /* factor of all deviations, for this problem */
};

static place place_of(const tj_surrogate *g, search *s, int32_t point)
{
    tj_point *p = &s->point[point];
    const tj_axes *axes = &s->axes[tj_search_family(s, p->config.family)];
    place where = {p->config.family, axes->count, tj_search_predicted(s, p) - g->least, {0}};

    for (size_t axis = 0; axis < axes->count; axis++)
        if (p->at[axis] >= 0)
            where.at[axis] = STEP[tj_family_param(p->config.family, axis)->role] * p->at[axis];
    return where;
}

static double covariance(const place *a, const place *b)
{
    double steps = 0;

    if (a->family != b->family)
        return SHARED * SHARED;
    for (size_t axis = 0; axis < a->axes; axis++)
        steps += fabs(a->at[axis] - b->at[axis]);
    return SHARED * SHARED + FAMILY * FAMILY + SLOPE * SLOPE * a->expected * b->expected + PLACE * PLACE * exp(-steps);
}

/* Replace x by L^-1 . x, for the first `count` rows of L. */
static void solve(const tj_surrogate *g, size_t count, double *x)
{
    for (size_t i = 0; i < count; i++) {
        const double *const row = g->factor + i * g->room;
        double sum = x[i];

        for (size_t k = 0; k < i; k++)
            sum -= row[k] * x[k];
        x[i] = sum / row[i];
    }
}

/* Compute the factor's row for a place, without the last element; return the remaining variance. */
static double row_of(const tj_surrogate *g, const place *where, double *row)
{
    double left = covariance(where, where);

    for (size_t i = 0; i < g->count; i++)
        row[i] = covariance(where, &g->place[i]);
    solve(g, g->count, row);
    for (size_t i = 0; i < g->count; i++)
        left -= row[i] * row[i];
    return left > 0 ? left : 0;
}

static void add(tj_surrogate *g, const place *where)
{
    double *const row = g->factor + g->count * g->room;

    row[g->count] = sqrt(row_of(g, where, row) + NOISE * NOISE);
    g->place[g->count++] = *where;
}

/*
 * Compute the weights of the trials from the model's errors: first L^-1, after which deviations are 1 if they are as expected,
 * then the transpose of L^-1.
 */
static void weigh(tj_surrogate *g, const double *wrong)
{
    double squares = 0;

    memcpy(g->weight, wrong, g->learned * sizeof *wrong);
    solve(g, g->learned, g->weight);
    for (size_t i = 0; i < g->learned; i++)
        squares += g->weight[i] * g->weight[i];
    g->scale = sqrt((squares + AS_EXPECTED) / ((double)g->learned + AS_EXPECTED));
    for (size_t i = g->learned; i-- > 0;) {
        double sum = g->weight[i];

        for (size_t k = i + 1; k < g->learned; k++)
            sum -= g->factor[k * g->room + i] * g->weight[k];
        g->weight[i] = sum / g->factor[i * g->room + i];
    }
}

/* List the trials that have a time, sorted by it; return their number. */
static size_t list_timed(const search *s, tj_ranked *timed)
{
    size_t count = 0;

    for (size_t i = 0; i < s->trials; i++)
        if (!isnan(s->trial_log[i]))
            timed[count++] = (tj_ranked){s->trial_log[i], s->trial_point[i]};
    qsort(timed, count, sizeof *timed, tj_by_score);
    return count < MOST_LEARNED ? count : MOST_LEARNED;
}

static double least_expected(search *s)
{
    double least = INFINITY;

    for (size_t i = 0; i < s->count; i++)
        least = fmin(least, tj_search_predicted(s, &s->point[i]));
    return least;
}

static bool learn(tj_surrogate *g, search *s, tj_ranked *timed)
{
    double wrong[MOST_LEARNED];

    g->learned = list_timed(s, timed);
    g->room = g->learned + TJ_SURROGATE_UNDER_WAY;
    g->least = least_expected(s);
    g->place = calloc(g->room, sizeof *g->place);
    g->factor = calloc(g->room * g->room, sizeof *g->factor);
    g->weight = calloc(g->room, sizeof *g->weight);
    if (!g->place || !g->factor || !g->weight)
        return false;
    for (size_t i = 0; i < g->learned; i++) {
        const place where = place_of(g, s, timed[i].point);
        const double expected = g->least + where.expected;
        const double usual = i > 0 ? fmax(timed[0].score, expected + wrong[0]) : timed[0].score;

        wrong[i] = fmin(timed[i].score, usual + HOPELESS) - expected;
        add(g, &where);
    }
    weigh(g, wrong);
    return true;
}

tj_surrogate *tj_surrogate_learn(search *s)
{
    tj_surrogate *g = calloc(1, sizeof *g);
    tj_ranked *timed = malloc((s->trials + 1) * sizeof *timed);

    if (!g || !timed || !learn(g, s, timed)) {
        tj_surrogate_free(g);
        g = NULL;
    }
    free(timed);
    return g;
}

void tj_surrogate_free(tj_surrogate *g)
{
    if (!g)
        return;
    free(g->place);
    free(g->factor);
    free(g->weight);
    free(g);
}

static double mean_of(const tj_surrogate *g, const place *where)
{
    double mean = g->least + where->expected;

    for (size_t i = 0; i < g->learned; i++)
        mean += g->weight[i] * covariance(where, &g->place[i]);
    return mean;
}

double tj_surrogate_mean(const tj_surrogate *g, search *s, int32_t point)
{
    const place where = place_of(g, s, point);

    return mean_of(g, &where);
}

tj_posterior tj_surrogate_posterior(const tj_surrogate *g, search *s, int32_t point)
{
    const place where = place_of(g, s, point);
    double row[MOST_LEARNED + TJ_SURROGATE_UNDER_WAY];

    return (tj_posterior){mean_of(g, &where), g->scale * sqrt(row_of(g, &where, row))};
}

void tj_surrogate_assume(tj_surrogate *g, search *s, int32_t point)
{
    if (g->count < g->room) {
        const place where = place_of(g, s, point);

        add(g, &where);
    }
}
