/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * The surrogate and the choice of what to try next, over trials that are made up: what they have to say is known then.
 */
#include <math.h>

#include "search.h"
#include "surrogate.h"
#include "tuner_test.h"
#include "starts.h"

enum { MOST_TRIALS = 64 };

/* A search over 512^3, whose trials the test writes itself. */
typedef struct made_up {
    tj_problem problem;
    tj_request request;
    tj_device_facts device;
    tj_tune_options options;
    tj_measurer measurer;
    search s;
    tj_axes axes[TJ_SEARCH_MAX_FAMILIES];
    tj_trial trial[MOST_TRIALS];
    double trial_log[MOST_TRIALS];
    int32_t trial_point[MOST_TRIALS];
} made_up;

static double predict(void *payload, const tj_config *config)
{
    const made_up *m = payload;

    return 1e6 * predicted(&m->device, &m->problem, config);
}

static made_up *make(void)
{
    made_up *m = calloc(1, sizeof *m);

    cr_assert(m != NULL);
    m->problem = f32(512, 512, 512);
    cr_assert(eq(int, tj_request_make(&m->problem, &m->request, NULL), TJ_OK));
    m->device = h200();
    m->options = (tj_tune_options)TJ_TUNE_OPTIONS_INIT;
    m->measurer = (tj_measurer){.payload = m, .predict = predict, .device = &m->device};
    m->s = (search){.request = &m->request,
                    .options = &m->options,
                    .measurer = &m->measurer,
                    .families = tj_family_count(),
                    .axes = m->axes,
                    .trial = m->trial,
                    .trial_log = m->trial_log,
                    .trial_point = m->trial_point,
                    .best_trial = -1};
    for (size_t i = 0; i < m->s.families; i++) {
        m->s.family[i] = tj_family_at(i);
        tj_axes_of(m->s.family[i], &m->axes[i]);
    }
    cr_assert(eq(int, tj_points_take_up(&m->s, NULL), TJ_OK));
    return m;
}

static void release(made_up *m)
{
    free(m->s.point);
    free(m->s.slot);
    free(m);
}

static int32_t point_of(made_up *m, const char *text)
{
    tj_config config;
    tj_error err;
    int32_t point;

    cr_assert(eq(int, tj_config_parse(text, &config, &err), TJ_OK), "%s", err.message);
    point = tj_points_intern(&m->s, &config);
    cr_assert(point >= 0);
    return point;
}

static double expected(made_up *m, int32_t point)
{
    return tj_search_predicted(&m->s, &m->s.point[point]);
}

static void try_it(made_up *m, int32_t point, double log_us)
{
    search *s = &m->s;

    cr_assert(s->trials < MOST_TRIALS);
    s->trial[s->trials] = (tj_trial){.config = s->point[point].config, .state = TJ_TRIAL_TIMED, .us = exp(log_us)};
    s->trial_log[s->trials] = log_us;
    s->trial_point[s->trials] = point;
    s->point[point].trial = (int32_t)s->trials++;
    if (s->best_us == 0 || exp(log_us) < s->best_us)
        s->best_us = exp(log_us);
}

/* Try every stride-th point of simt: it takes slope times the model's time, and `more` e-folds more. */
static void try_some(made_up *m, size_t stride, double slope, double more)
{
    for (size_t i = 0; i < m->s.count && m->s.trials < 48; i += stride)
        if (m->s.point[i].config.family == tj_family_find("simt"))
            try_it(m, (int32_t)i, slope * expected(m, (int32_t)i) + more);
}

#define TILE "simt:bm=64,bn=64,bk=16,tm=8,tn=8,slices=1,splits=1,stages=3,copy=async,group=1,vector=4,start=together"

Test(surrogate, believes_the_model_before_there_is_a_trial)
{
    made_up *m = make();
    const int32_t point = point_of(m, TILE ",blocks=1");
    tj_surrogate *g = tj_surrogate_learn(&m->s);

    cr_assert(g != NULL);
    cr_expect(epsilon_eq(dbl, tj_surrogate_mean(g, &m->s, point), expected(m, point), 1e-9));
    cr_expect(tj_surrogate_posterior(g, &m->s, point).deviation > 0.25, "it may be wrong by a third");
    tj_surrogate_free(g);
    release(m);
}

Test(surrogate, learns_that_the_model_is_wrong_about_all_by_a_factor)
{
    made_up *m = make();
    const int32_t point = point_of(m, TILE ",blocks=1");
    tj_surrogate *g;

    try_some(m, 301, 1, 0.4);
    g = tj_surrogate_learn(&m->s);
    cr_assert(g != NULL);
    cr_expect(m->s.trials > 20, "%zu trials", m->s.trials);
    cr_expect(epsilon_eq(dbl, tj_surrogate_mean(g, &m->s, point), expected(m, point) + 0.4, 0.02));
    cr_expect(tj_surrogate_posterior(g, &m->s, point).deviation < 0.1);
    tj_surrogate_free(g);
    release(m);
}

Test(surrogate, learns_that_the_model_sees_differences_too_large)
{
    made_up *m = make();
    const int32_t fast = point_of(m, TILE ",blocks=1"),
                  slow = point_of(m, "simt:bm=128,bn=256,bk=8,tm=8,tn=16,slices=1,splits=1,"
                                     "stages=2,copy=async,blocks=1,group=1,vector=4,start=together");
    tj_surrogate *g;

    cr_assert(expected(m, slow) - expected(m, fast) > 0.3, "the model sees too little between them for this test");
    try_some(m, 301, 0.6, 1);
    g = tj_surrogate_learn(&m->s);
    cr_assert(g != NULL);
    cr_expect(epsilon_eq(dbl, tj_surrogate_mean(g, &m->s, slow) - tj_surrogate_mean(g, &m->s, fast),
                         0.6 * (expected(m, slow) - expected(m, fast)), 0.15 * (expected(m, slow) - expected(m, fast))));
    tj_surrogate_free(g);
    release(m);
}

/* One config is slow: so is the same text with another hint, less so one with more stages, and other tiles hardly. */
Test(surrogate, holds_a_step_for_what_its_parameter_says)
{
    made_up *m = make();
    const int32_t tried = point_of(m, TILE ",blocks=1"), hint = point_of(m, TILE ",blocks=8"),
                  order = point_of(
                      m, "simt:bm=64,bn=64,bk=16,tm=8,tn=8,slices=1,splits=1,stages=4,copy=async,blocks=1,group=1,vector=4,"
                         "start=spread"),
                  shape = point_of(
                      m, "simt:bm=128,bn=128,bk=8,tm=8,tn=8,slices=1,splits=1,stages=3,copy=async,blocks=1,group=1,vector=4,"
                         "start=together");
    double more[3], deviation[3];
    const int32_t point[] = {hint, order, shape};
    tj_surrogate *g;

    try_some(m, 301, 1, 0);
    try_it(m, tried, expected(m, tried) + 0.3);
    g = tj_surrogate_learn(&m->s);
    cr_assert(g != NULL);
    for (int i = 0; i < 3; i++) {
        const tj_posterior belief = tj_surrogate_posterior(g, &m->s, point[i]);

        more[i] = belief.mean - expected(m, point[i]);
        deviation[i] = belief.deviation;
        cr_expect(epsilon_eq(dbl, belief.mean, tj_surrogate_mean(g, &m->s, point[i]), 1e-12));
    }
    cr_expect(more[0] > 0.2, "the hint's: %.3f", more[0]);
    cr_expect(more[0] > more[1] && more[1] > more[2], "%.3f, %.3f, %.3f", more[0], more[1], more[2]);
    cr_expect(deviation[0] < deviation[1] && deviation[1] < deviation[2], "%.3f, %.3f, %.3f", deviation[0], deviation[1],
              deviation[2]);
    tj_surrogate_free(g);
    release(m);
}

Test(surrogate, is_surer_beside_what_is_under_way_and_expects_the_same)
{
    made_up *m = make();
    const int32_t one = point_of(m, TILE ",blocks=1"), other = point_of(m, TILE ",blocks=8");
    tj_surrogate *g;
    tj_posterior before, after;

    try_some(m, 301, 1, 0.1);
    g = tj_surrogate_learn(&m->s);
    cr_assert(g != NULL);
    before = tj_surrogate_posterior(g, &m->s, other);
    tj_surrogate_assume(g, &m->s, one);
    after = tj_surrogate_posterior(g, &m->s, other);
    cr_expect(eq(dbl, before.mean, after.mean));
    cr_expect(after.deviation < 0.7 * before.deviation, "%.4f and then %.4f", before.deviation, after.deviation);
    for (int i = 0; i < 2 * TJ_SURROGATE_UNDER_WAY; i++) /* more than it has room for */
        tj_surrogate_assume(g, &m->s, i);
    cr_expect(tj_surrogate_posterior(g, &m->s, other).deviation <= after.deviation);
    tj_surrogate_free(g);
    tj_surrogate_free(NULL);
    release(m);
}

/* A config that takes ten times as long says no more than that it is slow: the others keep their order. */
Test(surrogate, is_not_upset_by_a_hopeless_trial)
{
    made_up *m = make();
    const int32_t far = point_of(
                      m, "simt:bm=128,bn=256,bk=8,tm=8,tn=8,slices=1,splits=1,stages=2,copy=async,blocks=1,group=1,vector=4,"
                         "start=together"),
                  point = point_of(m, TILE ",blocks=1");
    tj_surrogate *g;

    cr_assert(expected(m, far) > 0, "the model has an opinion of it");
    try_some(m, 301, 1, 0);
    try_it(m, far, expected(m, far) + log(1000));
    g = tj_surrogate_learn(&m->s);
    cr_assert(g != NULL);
    cr_expect(epsilon_eq(dbl, tj_surrogate_mean(g, &m->s, point), expected(m, point), 0.1));
    tj_surrogate_free(g);
    release(m);
}

/* Steps along hints; -1: they differ in something else. */
static int hint_steps(const search *s, int32_t a, int32_t b)
{
    const tj_point *p = &s->point[a], *q = &s->point[b];
    int steps = 0;

    if (p->config.family != q->config.family)
        return -1;
    for (size_t i = 0; i < tj_family_param_count(p->config.family); i++) {
        if (p->at[i] != q->at[i] && tj_family_param(p->config.family, i)->role != TJ_PARAM_HINT)
            return -1;
        steps += abs(p->at[i] - q->at[i]);
    }
    return steps;
}

/* The first rounds, of which nothing is known yet when the second is chosen: sixteen kernels, not one under sixteen names. */
Test(propose, takes_no_two_of_a_round_that_would_show_the_same)
{
    made_up *m = make();
    int32_t chosen[16];

    cr_assert(eq(sz, tj_propose_ranked(&m->s, chosen, 1), 1));
    try_it(m, chosen[0], expected(m, chosen[0])); /* what a problem without a record gets */
    cr_assert(eq(sz, tj_propose_improving(&m->s, chosen, 8), 8));
    cr_assert(eq(sz, tj_propose_improving(&m->s, chosen + 8, 8), 8));
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < i; k++) {
            const int steps = hint_steps(&m->s, chosen[i], chosen[k]);

            cr_expect(steps < 0 || steps > 1, "%d and %d: %d steps", i, k, steps);
        }
    release(m);
}

/* By how much of the best time the first of a round promises to lower it, so a search can end. */
Test(propose, takes_nothing_where_little_is_promised)
{
    made_up *m = make();
    int32_t chosen[8], first;
    double promised;

    cr_assert(eq(sz, tj_propose_ranked(&m->s, chosen, 1), 1));
    first = chosen[0];
    try_it(m, first, expected(m, first));
    m->s.least_gain = 1;
    cr_expect(eq(sz, tj_propose_improving(&m->s, chosen, 8), 0));
    for (promised = 1; tj_propose_improving(&m->s, chosen, 1) == 0 && promised > 1e-9; promised /= 2)
        m->s.least_gain = promised / 2;
    cr_expect(promised < 0.5 && promised > 1e-3, "%g", promised);
    release(m);
}

/* With every other point tried there is nothing left to propose but these. */
Test(propose, takes_what_is_left_and_then_nothing)
{
    made_up *m = make();
    int32_t chosen[8];

    try_it(m, point_of(m, "tiled:tile_width=16"), 5);
    for (size_t i = 3; i < m->s.count; i++)
        m->s.point[i].trial = 0;
    cr_expect(eq(sz, tj_propose_improving(&m->s, chosen, 8), 3));
    cr_expect(eq(sz, tj_propose_improving(&m->s, chosen, 8), 0));
    cr_expect(eq(sz, tj_propose_ranked(&m->s, chosen, 8), 0));
    release(m);
}
