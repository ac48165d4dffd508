/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: nightly (it asks the model for minutes) */
/*
 * The search, over times that are a function: a known optimum, a valley around it, and bumps that no model knows of.
 */
#include <math.h>

#include "search.h"
#include "tuner_test.h"

/* Times of a made-up device. */
typedef struct valley {
    tj_problem problem;
    tj_device_facts device;
    double bump;      /* share by which a config's own time differs from the model's */
    double optimum;   /* of the whole space */
    int64_t measured; /* calls */
    int64_t cancel_after, fail_after, wrong;
    int64_t surprise; /* this measurement, counted from 1, is of half the time; 0: none */
    double clock;     /* seconds, 0.5 more a measurement, and tick more a look */
    double tick;
    _Atomic int64_t predicted; /* calls, from several threads */
    bool lies;                 /* the model says the opposite */
    tj_config seen[4096];
} valley;

/* Between 0 and 1, drawn from the config alone. */
static double noise(const tj_config *config)
{
    char text[TJ_CONFIG_TEXT_BYTES];
    uint64_t h = UINT64_C(1469598103934665603);

    tj_config_print(config, text);
    for (const char *c = text; *c; c++)
        h = (h ^ (unsigned char)*c) * UINT64_C(1099511628211);
    h ^= h >> 29;
    h *= UINT64_C(0xbf58476d1ce4e5b9);
    return (double)(h >> 40) * 0x1p-24;
}

static double time_of(const valley *v, const tj_config *config)
{
    return 1e6 * predicted(&v->device, &v->problem, config) * (1 + v->bump * noise(config));
}

static tj_status measure(void *payload, double best_us, tj_trial *trial, tj_error *err)
{
    valley *v = payload;

    (void)best_us;
    if (v->fail_after > 0 && v->measured >= v->fail_after) {
        *err = (tj_error){TJ_ERR_DEVICE_LOST, "the device is gone"};
        return TJ_ERR_DEVICE_LOST;
    }
    v->seen[v->measured % 4096] = trial->config;
    v->measured++;
    v->clock += 0.5;
    trial->us = time_of(v, &trial->config) / (v->measured == v->surprise ? 2 : 1);
    trial->state = trial->us > 0 ? TJ_TRIAL_TIMED : TJ_TRIAL_REFUSED;
    return TJ_OK;
}

/* Three of ten configs compute nonsense, and those are the fast ones. */
static bool is_right(const tj_config *config)
{
    return noise(config) >= 0.3;
}

static tj_status verify(void *payload, tj_trial *trial, tj_error *err)
{
    valley *v = payload;

    (void)err;
    trial->is_verified = is_right(&trial->config);
    if (!trial->is_verified) {
        trial->state = TJ_TRIAL_WRONG;
        v->wrong++;
    }
    return TJ_OK;
}

static double predict(void *payload, const tj_config *config)
{
    valley *v = payload;
    const double us = 1e6 * predicted(&v->device, &v->problem, config);

    v->predicted++;
    return v->lies ? 1e6 / us : us;
}

static double seconds(void *payload)
{
    valley *v = payload;

    return v->clock += v->tick;
}

static int is_cancelled(void *payload)
{
    const valley *v = payload;

    return v->cancel_after > 0 && v->measured >= v->cancel_after;
}

static valley *make_valley_of(tj_problem problem, double bump)
{
    valley *v = calloc(1, sizeof *v);
    tj_space *space;
    tj_config config;

    cr_assert(v != NULL);
    v->problem = problem;
    v->device = h200();
    v->bump = bump;
    cr_assert(eq(int, tj_space_create(&v->problem, &v->device, NULL, &space, NULL), TJ_OK));
    while (tj_space_next(space, &config)) {
        const double us = time_of(v, &config);

        if (us > 0 && (v->optimum == 0 || us < v->optimum))
            v->optimum = us;
    }
    tj_space_free(space);
    return v;
}

static valley *make_valley(int64_t edge, double bump)
{
    return make_valley_of(f32(edge, edge, edge), bump);
}

static tj_search_result search_with(valley *v, const tj_tune_options *options, bool verifies, bool predicts)
{
    const tj_measurer measurer = {sizeof measurer,           v,       NULL,      measure, verifies ? verify : NULL,
                                  predicts ? predict : NULL, seconds, &v->device};
    tj_search_result result = TJ_SEARCH_RESULT_INIT;
    tj_config first = TJ_CONFIG_INIT;
    tj_error err;

    first.family = tj_family_find("tiled");
    first.value[0] = 16;
    first.value[1] = 1;
    cr_assert(eq(int, tj_search(&v->problem, options, &first, 1, &measurer, &result, &err), TJ_OK), "%s", err.message);
    return result;
}

Test(search, exhaustive_tries_each_config_once_and_finds_the_optimum)
{
    valley *v = make_valley(64, 0.3);
    tj_tune_options options = TJ_TUNE_OPTIONS_INIT;
    tj_search_result found = TJ_SEARCH_RESULT_INIT;
    tj_space *space;
    tj_config config;
    int64_t all = 0;

    options.strategy = TJ_EXHAUSTIVE;
    found = search_with(v, &options, false, true);
    cr_assert(eq(int, tj_space_create(&v->problem, &v->device, NULL, &space, NULL), TJ_OK));
    while (tj_space_next(space, &config))
        all++;
    tj_space_free(space);
    cr_expect(eq(i64, (int64_t)found.count, all), "the default is in the space and counts once");
    cr_expect(eq(i64, v->measured, all));
    cr_expect(eq(int, found.is_complete, 1));
    cr_expect(eq(dbl, found.trial[0].us, v->optimum));
    free(found.trial);
    free(v);
}

/* A space of 59 736 configs. */
Test(search, by_the_model_needs_two_evaluations_where_the_model_is_right)
{
    valley *v = make_valley_of(f32(128, 7168, 576), 0);
    tj_tune_options options = TJ_TUNE_OPTIONS_INIT;
    tj_search_result found = TJ_SEARCH_RESULT_INIT;

    options.strategy = TJ_MODEL;
    options.evaluations = 2; /* the first is the default */
    found = search_with(v, &options, false, true);
    cr_expect(eq(sz, found.count, 2));
    cr_expect(eq(dbl, found.trial[0].us, v->optimum));
    cr_expect(eq(int, found.is_complete, 0));
    free(found.trial);
    free(v);
}

/* The aim on a device: 98 % of the optimum within 80 evaluations. Here the model is off by up to 30 %, or silent. */
Test(search, comes_near_the_optimum_within_eighty_evaluations)
{
    static const int64_t edges[] = {128, 1024};

    for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
        for (int seed = 1; seed <= 2; seed++) {
            valley *v = make_valley(edges[i], 0.3);
            tj_tune_options options = TJ_TUNE_OPTIONS_INIT;
            tj_search_result found = TJ_SEARCH_RESULT_INIT;

            options.seed = seed;
            options.evaluations = 80;
            options.seconds = -1;
            found = search_with(v, &options, false, true);
            cr_expect(eq(sz, found.count, 80));
            cr_expect(v->optimum / found.trial[0].us >= 0.95, "%d^3, seed %d: %.3f of the optimum", (int)edges[i], seed,
                      v->optimum / found.trial[0].us);
            free(found.trial);
            if (seed == 1 && (IS_NIGHTLY || i == 0)) {
                options.evaluations = 400;
                found = search_with(v, &options, false, false);
                cr_expect(v->optimum / found.trial[0].us >= 0.8, "%d^3, no model: %.3f of the optimum", (int)edges[i],
                          v->optimum / found.trial[0].us);
                free(found.trial);
            }
            free(v);
        }
}

/* A search that begins at the textbook's kernel ends at the tensor cores, and near the best that they can do. */
Test(search, finds_the_tensor_cores)
{
    static const int types[] = {TJ_BF16, TJ_F64};

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        tj_tune_options options = TJ_TUNE_OPTIONS_INIT;
        tj_problem problem = f32(1024, 1024, 1024);
        tj_search_result found = TJ_SEARCH_RESULT_INIT;
        valley *v;

        problem.m.type = types[i];
        v = make_valley_of(problem, 0.3);
        options.evaluations = 80;
        options.seconds = -1;
        found = search_with(v, &options, false, true);
        cr_expect(eq(str, (char *)tj_family_name(found.trial[0].config.family), types[i] == TJ_F64 ? "mma" : "wgmma"));
        cr_expect(v->optimum / found.trial[0].us >= 0.9, "type %d: %.3f of the optimum", types[i],
                  v->optimum / found.trial[0].us);
        free(found.trial);
        free(v);
    }
}

/* If the model is right, it ends soon; if each config has its own time, later, and no trial near the end was a new best. */
Test(search, without_a_number_ends_when_nothing_promises_more)
{
    static const double bumps[] = {0, 0.2};
    size_t tried[2];

    for (size_t i = 0; i < sizeof bumps / sizeof bumps[0]; i++) {
        valley *v = make_valley(1024, bumps[i]);
        tj_tune_options options = TJ_TUNE_OPTIONS_INIT;
        tj_search_result found = TJ_SEARCH_RESULT_INIT;
        double best = INFINITY;
        int64_t last_best = 0;

        options.seconds = -1;
        found = search_with(v, &options, false, true);
        tried[i] = found.count;
        for (int64_t n = 0; n < v->measured; n++)
            if (time_of(v, &v->seen[n]) < best) {
                best = time_of(v, &v->seen[n]);
                last_best = n;
            }
        cr_expect(found.count >= TJ_TUNE_LEAST && found.count < TJ_TUNE_MOST, "%zu", found.count);
        cr_expect(v->measured - last_best > 40, "%d of %d", (int)last_best, (int)v->measured);
        cr_expect(v->optimum / best >= 0.97, "%.3f of the optimum", v->optimum / best);
        cr_expect(eq(int, found.is_complete, 0));
        free(found.trial);
        free(v);
    }
    cr_expect(tried[0] < tried[1], "%zu and %zu", tried[0], tried[1]);
}

/* A given number of evaluations is used, however little the last trials promised. */
Test(search, tries_as_many_as_it_is_told_to)
{
    valley *v = make_valley(64, 0);
    tj_tune_options options = TJ_TUNE_OPTIONS_INIT;
    tj_search_result found = TJ_SEARCH_RESULT_INIT;

    options.evaluations = 300;
    options.seconds = -1;
    found = search_with(v, &options, false, true);
    cr_expect(eq(sz, found.count, 300));
    cr_expect(eq(i64, v->measured, 300));
    cr_expect(eq(int, found.is_complete, 0));
    free(found.trial);
    free(v);
}

/* The round after the last one is asked for while that is under way. If it finds a new best, there is more to try after all. */
Test(search, goes_on_where_its_last_round_is_a_surprise)
{
    valley *v = make_valley(64, 0);
    tj_tune_options options = TJ_TUNE_OPTIONS_INIT;
    tj_search_result found = TJ_SEARCH_RESULT_INIT;
    int64_t end;

    options.seconds = -1;
    found = search_with(v, &options, false, true);
    end = (int64_t)found.count;
    free(found.trial);
    cr_assert(end >= TJ_TUNE_LEAST && end + 40 < TJ_TUNE_MOST, "%d", (int)end);
    v->measured = 0;
    v->surprise = end;
    found = search_with(v, &options, false, true);
    cr_expect(found.count > (size_t)end + 40, "%zu after %d", found.count, (int)end);
    free(found.trial);
    free(v);
}

Test(search, without_a_number_or_an_end_in_sight_ends_at_a_bound)
{
    valley *v = make_valley(512, 0.1);
    tj_tune_options options = TJ_TUNE_OPTIONS_INIT;
    tj_search_result found = TJ_SEARCH_RESULT_INIT;

    v->lies = true;
    options.seconds = -1;
    found = search_with(v, &options, false, true);
    cr_expect(eq(sz, found.count, TJ_TUNE_MOST));
    free(found.trial);
    options.strategy = TJ_MODEL;
    found = search_with(v, &options, false, true);
    cr_expect(eq(sz, found.count, 80));
    free(found.trial);
    free(v);
}

Test(search, gets_over_a_model_that_is_upside_down)
{
    valley *v = make_valley(512, 0.1);
    tj_tune_options options = TJ_TUNE_OPTIONS_INIT;
    tj_search_result found = TJ_SEARCH_RESULT_INIT;

    v->lies = true;
    options.evaluations = 400;
    options.seconds = -1;
    found = search_with(v, &options, false, true);
    cr_expect(v->optimum / found.trial[0].us >= 0.75, "%.3f of the optimum", v->optimum / found.trial[0].us);
    free(found.trial);
    free(v);
}

Test(search, is_the_same_for_the_same_seed)
{
    valley *a = make_valley(512, 0.2), *b = make_valley(512, 0.2);
    tj_tune_options options = TJ_TUNE_OPTIONS_INIT;
    tj_search_result x = TJ_SEARCH_RESULT_INIT, y = TJ_SEARCH_RESULT_INIT;

    options.seed = 7;
    x = search_with(a, &options, true, true);
    y = search_with(b, &options, true, true);
    cr_assert(eq(sz, x.count, y.count));
    cr_expect(memcmp(a->seen, b->seen, x.count * sizeof a->seen[0]) == 0);
    cr_expect(memcmp(x.trial, y.trial, x.count * sizeof x.trial[0]) == 0);
    free(x.trial);
    free(y.trial);
    free(a);
    free(b);
}

Test(search, tries_nothing_twice_and_lets_nothing_wrong_lead)
{
    valley *v = make_valley(256, 0.3);
    tj_tune_options options = TJ_TUNE_OPTIONS_INIT;
    tj_search_result found = TJ_SEARCH_RESULT_INIT;

    options.evaluations = 300;
    options.seconds = -1;
    found = search_with(v, &options, true, true);
    cr_assert(eq(i64, (int64_t)found.count, v->measured));
    for (size_t i = 0; i < found.count; i++)
        for (size_t k = 0; k < i; k++)
            cr_assert(memcmp(&v->seen[i], &v->seen[k], sizeof v->seen[i]) != 0, "%zu and %zu", i, k);
    cr_expect(v->wrong > 0, "no config was wrong: the test does not test");
    cr_expect(eq(int, found.trial[0].is_verified, 1));
    cr_expect(is_right(&found.trial[0].config));
    for (size_t i = 1; i < found.count && found.trial[i].is_verified; i++)
        cr_expect(found.trial[i - 1].us <= found.trial[i].us);
    free(found.trial);
    free(v);
}

Test(search, ends_at_its_budget_and_when_it_is_told_to)
{
    valley *v = make_valley(512, 0.2);
    tj_tune_options options = TJ_TUNE_OPTIONS_INIT;
    tj_search_result found = TJ_SEARCH_RESULT_INIT;

    options.evaluations = 1000;
    options.seconds = 10; /* at half a second each */
    found = search_with(v, &options, false, true);
    cr_expect(eq(sz, found.count, 20));
    cr_expect(eq(int, found.was_cancelled, 0));
    free(found.trial);
    v->measured = 0;
    v->cancel_after = 13;
    options.seconds = -1;
    options.is_cancelled = is_cancelled;
    options.payload = v;
    found = search_with(v, &options, false, true);
    cr_expect(eq(sz, found.count, 13));
    cr_expect(eq(int, found.was_cancelled, 1));
    cr_expect(eq(int, found.is_complete, 0));
    free(found.trial);
    free(v);
}

Test(search, tries_the_default_however_short_the_budget)
{
    valley *v = make_valley(64, 0);
    tj_tune_options options = TJ_TUNE_OPTIONS_INIT;
    tj_search_result found = TJ_SEARCH_RESULT_INIT;

    v->clock = 100; /* gone before it began */
    options.seconds = 1;
    found = search_with(v, &options, true, true);
    cr_expect(eq(sz, found.count, 1));
    free(found.trial);
    free(v);
}

/* Nor is all of a large space walked first: of these 8 000 configs only those before the third look at the clock. */
Test(search, ends_its_walk_of_the_space_when_the_time_is_over)
{
    valley *v = make_valley(2048, 0);
    tj_tune_options options = TJ_TUNE_OPTIONS_INIT;
    tj_search_result found = TJ_SEARCH_RESULT_INIT;

    v->tick = 1; /* at each look */
    options.seconds = 3;
    options.strategy = TJ_EXHAUSTIVE; /* asks the model about all that it knows */
    found = search_with(v, &options, true, true);
    cr_expect(eq(sz, found.count, 1));
    cr_expect(eq(int, found.is_complete, 0));
    cr_expect(v->predicted > 1000 && v->predicted < 4000, "%d", (int)v->predicted);
    free(found.trial);
    free(v);
}

/* ---- the pipeline ------------------------------------------------------------------------------------------------- */

enum { COMPILERS = 16, MOST_JOBS = 512 };

/* Compilers that work side by side in a made-up time, and one device. */
typedef struct works {
    valley *v;
    double now, end, compile_s, measure_s;
    double first_s;         /* to compile what is announced first */
    double free[COMPILERS]; /* when each has done what it has */
    double busy_s;          /* of all compilers, until the end */
    struct {
        tj_config config;
        double done;
        bool was_named;
    } job[MOST_JOBS];
    size_t jobs;
} works;

static void compile_later(void *payload, const tj_config *config)
{
    works *w = payload;
    size_t next = 0;
    double start;

    for (size_t i = 1; i < COMPILERS; i++)
        if (w->free[i] < w->free[next])
            next = i;
    start = fmax(w->now, w->free[next]);
    w->free[next] = start + (w->jobs == 0 ? w->first_s : w->compile_s);
    w->busy_s += fmax(0, fmin(w->end, w->free[next]) - start);
    cr_assert(w->jobs < MOST_JOBS);
    w->job[w->jobs].config = *config;
    w->job[w->jobs++].done = w->free[next];
}

static int any_ready(void *payload, tj_config *ready)
{
    works *w = payload;
    size_t first = MOST_JOBS;

    for (size_t i = 0; i < w->jobs; i++)
        if (!w->job[i].was_named && (first == MOST_JOBS || w->job[i].done < w->job[first].done))
            first = i;
    if (first == MOST_JOBS || w->job[first].done > w->end)
        return 0;
    w->now = fmax(w->now, w->job[first].done);
    w->job[first].was_named = true;
    *ready = w->job[first].config;
    return 1;
}

static tj_status measure_at_work(void *payload, double best_us, tj_trial *trial, tj_error *err)
{
    works *w = payload;

    w->now += w->measure_s;
    return measure(w->v, best_us, trial, err);
}

static double predict_at_work(void *payload, const tj_config *config)
{
    return predict(((works *)payload)->v, config);
}

static double time_at_work(void *payload)
{
    return ((works *)payload)->now;
}

/* In one and a half seconds, with half a second for a compile, all compilers finish twice, and nearly a third time. */
Test(search, keeps_all_compilers_busy_and_waits_for_no_one_of_them)
{
    static const double first_s[] = {0.5, 1.25};

    for (size_t row = 0; row < 2; row++) {
        works w = {.v = make_valley(512, 0.1), .end = 1.5, .compile_s = 0.5, .measure_s = 0.01, .first_s = first_s[row]};
        const tj_measurer measurer = {.struct_size = sizeof measurer,
                                      .payload = &w,
                                      .announce = compile_later,
                                      .measure = measure_at_work,
                                      .predict = predict_at_work,
                                      .clock = time_at_work,
                                      .device = &w.v->device,
                                      .any_ready = any_ready,
                                      .at_once = COMPILERS};
        tj_tune_options options = TJ_TUNE_OPTIONS_INIT;
        tj_search_result found = TJ_SEARCH_RESULT_INIT;
        tj_error err;

        options.seconds = w.end;
        cr_assert(eq(int, tj_search(&w.v->problem, &options, NULL, 0, &measurer, &found, &err), TJ_OK), "%s", err.message);
        cr_expect(found.count >= 2 * COMPILERS - 2, "%zu", found.count);
        cr_expect(w.busy_s >= 0.9 * COMPILERS * w.end, "%.1f of %.1f s", w.busy_s, COMPILERS * w.end);
        cr_expect(le(dbl, w.now, w.end + w.measure_s));
        free(found.trial);
        free(w.v);
    }
}

Test(search, passes_on_what_no_other_config_would_mend)
{
    valley *v = make_valley(64, 0);
    const tj_measurer measurer = {sizeof measurer, v, NULL, measure, NULL, predict, seconds, &v->device};
    tj_search_result found = TJ_SEARCH_RESULT_INIT;
    tj_error err;

    v->fail_after = 5;
    cr_expect(eq(int, tj_search(&v->problem, NULL, NULL, 0, &measurer, &found, &err), TJ_ERR_DEVICE_LOST));
    cr_expect(found.trial == NULL && found.count == 0);
    cr_expect(eq(i64, v->measured, 5));
    free(v);
}

Test(search, refuses_options_that_are_none)
{
    const tj_problem problem = f32(64, 64, 64);
    const tj_measurer measurer = {sizeof measurer, NULL, NULL, measure, NULL, NULL, NULL, NULL};
    tj_tune_options wrong[5] = {TJ_TUNE_OPTIONS_INIT, TJ_TUNE_OPTIONS_INIT, TJ_TUNE_OPTIONS_INIT, TJ_TUNE_OPTIONS_INIT,
                                TJ_TUNE_OPTIONS_INIT};
    tj_search_result found = TJ_SEARCH_RESULT_INIT;

    wrong[0].struct_size = 3;
    wrong[1].strategy = 9;
    wrong[2].evaluations = -1;
    wrong[3].threads = -1;
    wrong[4].seconds = NAN;
    for (int i = 0; i < 5; i++) {
        tj_error err = {TJ_OK, ""};

        cr_expect(eq(int, tj_search(&problem, &wrong[i], NULL, 0, &measurer, &found, &err), TJ_ERR_INVALID_ARGUMENT), "%d", i);
        cr_expect(strlen(err.message) > 20, "%d: %s", i, err.message);
    }
}
