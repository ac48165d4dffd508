/* SPDX-License-Identifier: Apache-2.0 */
/*
 * custom_tune: find the fastest config of a family of the application for given extents.
 *
 * No model knows such a family, so the search goes by times only: the defaults, a random sample, then the neighbours of the
 * best. Configs are compiled in batches on threads, and timed after the batch, so that no compile disturbs a time. Each is
 * compared with the reference before it is timed. Kernels near the best stay loaded for the finals, in which all take turns.
 */
#include "custom_tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "custom_bench.h"
#include "custom_prove.h"
#include "custom_space.h"
#include "error.h"
#include "image.h"
#include "measure.h"
#include "parallel.h"
#include "search.h"
#include "winner.h"

enum { MOST_LISTED = 1 << 20, MOST_DRAWS = 1 << 16, TURNS = 20, SAMPLE_SHARE = 3 };

static const double FINAL_BAND = 1.08;                     /* times the best: kernels within it stay loaded for the finals */
static const double FINAL_SECONDS = 8, FINAL_SHARE = 0.25; /* at most, and of the budget */

/* A config on its way to a time. */
typedef struct candidate {
    int64_t point;
    tj_trial trial;
    tj_source *source;
    tj_image *image;          /* until it is loaded */
    tj_custom_kernel *kernel; /* NULL: not loaded, or too slow to keep */
    tj_status status;
    tj_error error;
} candidate;

typedef struct tuning {
    tj_host *host, scratch; /* scratch compiles the candidates, none of which is stored */
    const tj_custom *custom;
    const int64_t *extent;
    tj_tune_options options;
    tj_device_facts device;
    char target[16];
    CUstream stream;
    tj_custom_bench bench;
    tj_custom_space space;
    candidate *tried;
    size_t count, capacity;
    int64_t limit;
    double best_us, default_us;
    size_t best;                    /* index into tried, if best_us is not 0 */
    double start, budget, deadline; /* deadline: of the search's measurements */
    bool was_cancelled;
    uint64_t random;
    tj_incumbents incumbents;
} tuning;

/* splitmix64 */
static uint64_t draw(tuning *t)
{
    uint64_t z = (t->random += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double search_seconds(const tuning *t)
{
    return isfinite(t->budget) ? t->budget - fmin(FINAL_SECONDS, FINAL_SHARE * t->budget) : (double)INFINITY;
}

/* Is the search over? The first config is tried even if the budget is spent. */
static bool is_over(tuning *t)
{
    if (t->options.is_cancelled && t->options.is_cancelled(t->options.payload))
        t->was_cancelled = true;
    return t->was_cancelled || (int64_t)t->count >= t->limit || (t->count > 0 && tj_clock_s() - t->start >= search_seconds(t));
}

static void tell(const tuning *t, const tj_trial *trial)
{
    const tj_tune_progress progress = {.evaluations = (int64_t)t->count,
                                       .limit = t->limit,
                                       .seconds = tj_clock_s() - t->start,
                                       .budget = isfinite(t->budget) ? t->budget : 0,
                                       .best_us = t->best_us,
                                       .default_us = t->default_us,
                                       .best = t->best_us > 0 ? &t->tried[t->best].trial.config : NULL,
                                       .trial = trial};

    if (t->options.progress)
        t->options.progress(&progress, t->options.payload);
}

/* ---- compiling ---------------------------------------------------------------------------------------------------- */

typedef struct batch {
    tuning *of;
    candidate *job;
    size_t jobs;
    atomic_size_t next;
} batch;

static void build(tuning *t, candidate *c)
{
    const double start = tj_clock_s();

    c->status = tj_custom_generate(&c->trial.config, t->extent, &c->source, &c->error);
    if (c->status == TJ_OK)
        c->status = tj_image_build(&t->scratch, c->source, t->target, false, &c->image, &c->error);
    if (c->status == TJ_OK && tj_image_origin(c->image) == TJ_FROM_COMPILER)
        c->trial.compile_ms = 1e3 * (tj_clock_s() - start);
}

static void take_jobs(void *payload, int part)
{
    batch *b = payload;

    (void)part;
    for (size_t i; (i = atomic_fetch_add(&b->next, 1)) < b->jobs;)
        build(b->of, &b->job[i]);
}

static void build_all(tuning *t, candidate *job, size_t jobs)
{
    batch b = {.of = t, .job = job, .jobs = jobs};
    const size_t threads = (size_t)t->options.threads;

    tj_in_parallel((int)(jobs < threads ? jobs : threads), take_jobs, &b);
}

static void release(candidate *c)
{
    if (c->kernel) {
        tj_custom_kernel_free(c->kernel);
    } else {
        tj_image_free(c->image);
        tj_source_free(c->source);
    }
    c->kernel = NULL;
    c->image = NULL;
    c->source = NULL;
}

/* ---- trials ------------------------------------------------------------------------------------------------------- */

/* The kernel that a measurement launches. */
typedef struct timed_kernel {
    const tj_custom_bench *bench;
    const tj_custom_kernel *kernel;
} timed_kernel;

static tj_status launch(const void *what, size_t set, CUstream stream, tj_error *err)
{
    const timed_kernel *timed = what;

    (void)stream; /* the bench has its own */
    return tj_custom_bench_launch(timed->bench, timed->kernel, set, err);
}

static tj_timed timed_with(const tuning *t, const timed_kernel *what, size_t sets)
{
    return (tj_timed){t->bench.gpu, t->stream, sets, tj_gpu_is_emulated(t->bench.gpu), t->deadline, launch, what};
}

/* Does this failure concern all configs? */
static bool is_fatal(tj_status status)
{
    return status == TJ_ERR_NO_COMPILER || status == TJ_ERR_NO_DRIVER || status == TJ_ERR_DEVICE_LOST ||
           status == TJ_ERR_FORKED || status == TJ_ERR_CANCELLED || status == TJ_ERR_OUT_OF_MEMORY;
}

static tj_status load(tuning *t, candidate *c, tj_error *err)
{
    tj_source *source = c->source;
    tj_image *image = c->image;
    const tj_resources resources = tj_image_resources(image);
    const tj_status status = tj_custom_host_load(&t->scratch, t->extent, source, image, &c->kernel, err);

    if (status != TJ_OK)
        return status;
    c->source = NULL; /* owned by the kernel now */
    c->image = NULL;
    c->trial.registers = c->kernel->loaded->step[0].facts.registers;
    c->trial.registers = c->trial.registers > 0 ? c->trial.registers : resources.registers;
    c->trial.shared_bytes = c->kernel->loaded->step[0].facts.static_shared_bytes + c->kernel->request.shared_bytes;
    return TJ_OK;
}

static tj_status measure(tuning *t, candidate *c, tj_error *err)
{
    tj_error why = c->error;
    tj_status status = c->status == TJ_OK ? load(t, c, &why) : c->status;
    timed_kernel what;
    tj_timed timed;

    if (status == TJ_OK)
        status = tj_custom_bench_verify(&t->bench, c->kernel, c->trial.why, &why);
    if (status != TJ_OK) {
        c->trial.state = TJ_TRIAL_REFUSED;
        (void)snprintf(c->trial.why, sizeof c->trial.why, "%.*s", (int)sizeof c->trial.why - 1, why.message);
        if (!is_fatal(status))
            return TJ_OK;
        if (err)
            *err = why;
        return status;
    }
    if (c->trial.why[0]) {
        c->trial.state = TJ_TRIAL_WRONG;
        return TJ_OK;
    }
    c->trial.is_verified = 1;
    what = (timed_kernel){&t->bench, c->kernel};
    timed = timed_with(t, &what, t->bench.sets);
    return tj_timed_look(&timed, t->best_us, &c->trial, err);
}

/* Keep the incumbents and the kernels near the best loaded; unload the others. */
static void unload_slow(tuning *t)
{
    for (size_t i = 0; i < t->count; i++) {
        candidate *c = &t->tried[i];
        const bool is_incumbent = memcmp(&c->trial.config, &t->incumbents.standard, sizeof c->trial.config) == 0 ||
                                  memcmp(&c->trial.config, &t->incumbents.recorded, sizeof c->trial.config) == 0;

        if (c->trial.state != TJ_TRIAL_TIMED || (!is_incumbent && c->trial.us > FINAL_BAND * t->best_us))
            release(c);
    }
}

static void take_in(tuning *t, candidate *c)
{
    const bool is_timed = c->trial.state == TJ_TRIAL_TIMED;

    t->tried[t->count] = *c;
    if (is_timed && t->count == 0)
        t->default_us = c->trial.us;
    if (is_timed && (t->best_us == 0 || c->trial.us < t->best_us)) {
        t->best = t->count;
        t->best_us = c->trial.us;
    }
    t->count++;
    unload_slow(t);
    tell(t, &t->tried[t->count - 1].trial);
}

static bool is_tried(const tuning *t, int64_t point)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->tried[i].point == point)
            return true;
    return false;
}

static bool reserve(tuning *t, size_t more)
{
    const size_t wanted = t->count + more, capacity = wanted > 2 * t->capacity ? wanted : 2 * t->capacity;
    candidate *larger = wanted > t->capacity ? realloc(t->tried, capacity * sizeof *larger) : t->tried;

    if (!larger)
        return false;
    if (wanted > t->capacity)
        t->capacity = capacity;
    t->tried = larger;
    return true;
}

/* Compile and time points, all different and none tried before, until the time is over. */
static tj_status try_points(tuning *t, const int64_t *point, size_t points, tj_error *err)
{
    const size_t at_once = (size_t)t->options.threads;
    tj_status status = TJ_OK;

    for (size_t first = 0; first < points && status == TJ_OK && !is_over(t); first += at_once) {
        size_t jobs = points - first < at_once ? points - first : at_once;
        candidate *job;

        jobs = (int64_t)(t->count + jobs) > t->limit ? (size_t)(t->limit - (int64_t)t->count) : jobs;
        job = calloc(jobs, sizeof *job);
        if (!job || !reserve(t, jobs)) {
            free(job);
            return tj_fail_memory(err, "the configs of a tuning");
        }
        for (size_t i = 0; i < jobs; i++) {
            job[i].point = point[first + i];
            (void)tj_custom_space_config(&t->space, job[i].point, &job[i].trial.config);
        }
        build_all(t, job, jobs);
        for (size_t i = 0; i < jobs; i++) {
            if (status == TJ_OK && (i == 0 || !is_over(t)) && (status = measure(t, &job[i], err)) == TJ_OK)
                take_in(t, &job[i]);
            else
                release(&job[i]);
        }
        free(job);
    }
    return status;
}

/* ---- which points ------------------------------------------------------------------------------------------------- */

/* List the valid points that were not tried, in a random order: all of them or, for a very large space, many. */
static tj_status list_points(tuning *t, int64_t **out, size_t *count, bool *is_all, tj_error *err)
{
    const int64_t points = t->space.points;
    const size_t most = points <= MOST_LISTED ? (size_t)points : MOST_DRAWS;
    int64_t *list = malloc((most ? most : 1) * sizeof *list);
    tj_config config;

    *out = list;
    *count = 0;
    *is_all = points <= MOST_LISTED;
    if (!list)
        return tj_fail_memory(err, "the configs of a tuning");
    for (size_t i = 0; i < most; i++) {
        const int64_t point = *is_all ? (int64_t)i : (int64_t)(draw(t) % (uint64_t)points);

        if (!is_tried(t, point) && tj_custom_space_config(&t->space, point, &config))
            list[(*count)++] = point;
    }
    for (size_t i = *count; i > 1; i--) {
        const size_t with = (size_t)(draw(t) % i);
        const int64_t held = list[with];

        list[with] = list[i - 1];
        list[i - 1] = held;
    }
    return TJ_OK;
}

/* Try the untried neighbours of the best on each axis, then those of the new best, until none improves. */
static tj_status climb(tuning *t, tj_error *err)
{
    tj_status status = TJ_OK;
    tj_config config;

    while (status == TJ_OK && t->best_us > 0 && !is_over(t)) {
        int64_t near[2 * TJ_CONFIG_MAX_PARAMS];
        const int64_t from = t->tried[t->best].point;
        size_t count = 0;

        for (size_t axis = 0; axis < t->space.axes; axis++)
            for (int direction = -1; direction <= 1; direction += 2) {
                const int64_t point = tj_custom_space_step(&t->space, from, axis, direction);

                if (point >= 0 && !is_tried(t, point) && tj_custom_space_config(&t->space, point, &config))
                    near[count++] = point;
            }
        if (count == 0)
            return TJ_OK;
        status = try_points(t, near, count, err);
    }
    return status;
}

static tj_status run_search(tuning *t, bool *is_complete, tj_error *err)
{
    int64_t first[2], *list = NULL;
    size_t count = 0, some = 0, tried;
    bool is_all = false;
    tj_status status;

    first[0] = tj_custom_space_point(&t->space, &t->incumbents.standard);
    first[1] = tj_custom_space_point(&t->space, &t->incumbents.recorded);
    status = try_points(t, first, first[0] == first[1] ? 1 : 2, err);
    if (status == TJ_OK)
        status = list_points(t, &list, &count, &is_all, err);
    if (status == TJ_OK && t->options.strategy == TJ_EXHAUSTIVE && !is_all)
        status = tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                         "the parameters of family %s have %lld combinations, too many to try all: use TJ_SEARCH",
                         t->custom->spec.name, (long long)t->space.points);
    if (status == TJ_OK) {
        some = is_all && (int64_t)(t->count + count) <= t->limit ? count : (size_t)t->limit / SAMPLE_SHARE;
        some = some < count ? some : count;
        tried = t->count;
        status = try_points(t, list, some, err);
        *is_complete = is_all && t->count == tried + count;
    }
    if (status == TJ_OK && some < count)
        status = climb(t, err);
    free(list);
    return status;
}

/* ---- finals ------------------------------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    const bool x_counts = x->trial.state == TJ_TRIAL_TIMED, y_counts = y->trial.state == TJ_TRIAL_TIMED;

    if (x_counts != y_counts)
        return y_counts - x_counts;
    return (x->trial.us > y->trial.us) - (x->trial.us < y->trial.us);
}

static candidate *find(tuning *t, const tj_config *config)
{
    for (size_t i = 0; i < t->count; i++)
        if (memcmp(&t->tried[i].trial.config, config, sizeof *config) == 0)
            return &t->tried[i];
    return NULL;
}

static tj_status turn(tuning *t, const tj_config *config, double us, size_t sets, double *median, tj_error *err)
{
    const timed_kernel what = {&t->bench, find(t, config)->kernel};
    const tj_timed timed = timed_with(t, &what, sets);

    return tj_timed_turn(&timed, us, median, err);
}

static tj_status compare(tuning *t, tj_finalist *list, size_t count, tj_error *err)
{
    const double until = fmin(t->start + t->budget, tj_clock_s() + FINAL_SECONDS);
    size_t turns = 0;

    tj_judge_looks(list, count);
    if (tj_gpu_is_emulated(t->bench.gpu))
        return TJ_OK;
    for (; turns < TURNS && (turns == 0 || tj_clock_s() < until); turns++)
        for (size_t i = 0; i < count; i++) {
            tj_finalist *one = &list[(i + turns) % count];
            const tj_status status = turn(t, &one->trial.config, one->trial.us, t->bench.sets, &one->turn[turns], err);

            if (status != TJ_OK)
                return status;
        }
    tj_judge_turns(list, count, turns);
    return TJ_OK;
}

/* Choose the first winner that passes its proof. Only the winner is stored. */
static tj_status crown(tuning *t, tj_finalist *list, size_t count, tj_tune_result *result, tj_error *err)
{
    tj_error why = {TJ_OK, ""};

    while (count > 0) {
        const size_t winner = tj_choose_winner(list, count), second = tj_fastest_of(list, count, winner);
        const candidate *c = find(t, &list[winner].trial.config);
        tj_proof proof;
        tj_status status;

        tj_image_publish(t->host, c->kernel->source, c->kernel->image->body);
        status = tj_custom_host_prove(t->host, c->kernel, &proof, &why);
        if (status == TJ_ERR_CHECK_FAILED) {
            result->wrong++;
            list[winner] = list[--count];
            continue;
        }
        if (status != TJ_OK) {
            if (err)
                *err = why;
            return status;
        }
        result->config = list[winner].trial.config;
        result->us = list[winner].us;
        result->spread = list[winner].spread;
        result->second = list[second].trial.config;
        result->second_us = list[second].us;
        result->check_elements = proof.elements;
        if (tj_gpu_is_emulated(t->bench.gpu))
            return TJ_OK;
        return turn(t, &result->config, result->us, 1, &result->warm_us, err);
    }
    return tj_fail(err, TJ_ERR_CHECK_FAILED, "no config of family %s computed what its reference does; the last: %.200s",
                   t->custom->spec.name, why.message);
}

static tj_status hold_finals(tuning *t, tj_tune_result *result, tj_error *err)
{
    tj_finalist *list = calloc(TJ_FINALISTS, sizeof *list);
    tj_trial *trial = calloc(t->count ? t->count : 1, sizeof *trial);
    tj_status status = TJ_OK;
    size_t count;

    if (!list || !trial) {
        free(list);
        free(trial);
        return tj_fail_memory(err, "the finalists of a tuning");
    }
    tell(t, NULL);
    if (t->count > 0)
        qsort(t->tried, t->count, sizeof *t->tried, by_time);
    for (size_t i = 0; i < t->count; i++) {
        trial[i] = t->tried[i].trial;
        result->refused += trial[i].state == TJ_TRIAL_REFUSED;
        result->wrong += trial[i].state == TJ_TRIAL_WRONG;
        result->slow += trial[i].state == TJ_TRIAL_SLOW;
    }
    count = tj_list_finalists(trial, t->count, &t->incumbents, list);
    if (count == 0)
        status = t->was_cancelled ? tj_fail(err, TJ_ERR_CANCELLED, "cancelled before any config was timed: nothing to keep")
                                  : tj_fail(err, TJ_ERR_CHECK_FAILED,
                                            "no config of %zu of family %s that were tried is right; the first: %s", t->count,
                                            t->custom->spec.name, t->count > 0 ? trial[0].why : "none");
    if (status == TJ_OK)
        status = compare(t, list, count, err);
    if (status == TJ_OK) {
        result->default_us = tj_finalist_us(list, count, TJ_STANDARD, 0);
        result->before_us = tj_finalist_us(list, count, TJ_RECORDED, result->default_us);
        status = crown(t, list, count, result, err);
    }
    free(list);
    free(trial);
    return status;
}

/* ---- public ------------------------------------------------------------------------------------------------------- */

static tj_status check_options(const tj_custom *custom, const tj_tune_options *options, tj_error *err)
{
    const tj_status status = tj_tune_check_options(options, err);

    if (status == TJ_OK && options->strategy == TJ_MODEL)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "strategy is TJ_MODEL, and no model knows family %s: use TJ_SEARCH or TJ_EXHAUSTIVE", custom->spec.name);
    if (status == TJ_OK && options->family && options->family != &custom->family)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "options.family is %s, and %s is tuned: leave it NULL",
                       tj_family_name(options->family), custom->spec.name);
    return status;
}

static void settle_options(tuning *t)
{
    t->options.threads = tj_thread_count(t->options.threads);
    t->budget = tj_tune_budget(&t->options) > 0 ? tj_tune_budget(&t->options) : (double)INFINITY;
    t->limit = t->options.evaluations > 0             ? t->options.evaluations
               : t->options.strategy == TJ_EXHAUSTIVE ? INT64_MAX
                                                      : (int64_t)TJ_TUNE_MOST;
    t->random = (uint64_t)t->options.seed;
    t->deadline = t->start + search_seconds(t);
}

/* Open the driver, the device and the target, and place the arguments on the device. */
static tj_status open_bench(tuning *t, tj_error *err)
{
    size_t free_bytes = 0, total_bytes = 0, set_bytes = 0, sets;
    tj_status status = tj_host_begin_scratch(&t->scratch, t->host, err);

    if (status == TJ_OK)
        status = tj_gpu_current_device(&t->host->gpu, &t->device, err);
    if (status == TJ_OK)
        status = tj_host_target(t->host, t->device.cc_major, t->device.cc_minor, t->target, err);
    if (status == TJ_OK)
        status = tj_gpu_create_stream(&t->host->gpu, &t->stream, err);
    if (status == TJ_OK)
        status =
            tj_custom_bench_fill(&t->host->gpu, t->stream, t->custom, t->extent, (uint64_t)t->options.seed, &t->bench, err);
    if (status == TJ_OK)
        status = tj_custom_set_bytes(t->custom, t->extent, &set_bytes, err);
    if (status == TJ_OK)
        status = tj_gpu_memory(&t->host->gpu, &free_bytes, &total_bytes, err);
    if (status != TJ_OK)
        return status;
    sets = t->options.is_warm || tj_gpu_is_emulated(&t->host->gpu) ? 1 : tj_bench_sets(set_bytes, &t->device, free_bytes);
    return tj_custom_bench_place(&t->bench, sets, 0, err);
}

tj_status tj_custom_tune_on(tj_host *host, const tj_custom *custom, const int64_t *extent, const tj_tune_options *given,
                            const tj_config *recorded, tj_tune_result *result, tj_error *err)
{
    const tj_tune_options standard = TJ_TUNE_OPTIONS_INIT;
    tuning t = {.host = host, .custom = custom, .extent = extent, .options = standard, .start = tj_clock_s()};
    bool is_complete = false;
    tj_config config = TJ_CONFIG_INIT;
    tj_source *source = NULL;
    tj_status status = check_options(custom, given ? given : &standard, err);

    memset(result, 0, sizeof *result);
    if (status != TJ_OK)
        return status;
    t.options = given ? *given : standard;
    settle_options(&t);
    config.family = &custom->family;
    status = tj_custom_resolve(&config, err);
    if (status == TJ_OK) /* if the defaults fail, or the template is faulty, times have nothing to compare with */
        status = tj_custom_generate(&config, extent, &source, err);
    tj_source_free(source);
    if (status == TJ_OK)
        status = tj_custom_space_begin(custom, extent, &t.space, err);
    if (status != TJ_OK)
        return status;
    result->default_config = t.incumbents.standard = t.incumbents.recorded = config;
    if (recorded && tj_custom_space_point(&t.space, recorded) >= 0)
        t.incumbents.recorded = *recorded;
    status = open_bench(&t, err);
    if (status == TJ_OK)
        status = run_search(&t, &is_complete, err);
    if (status == TJ_OK)
        status = hold_finals(&t, result, err);
    result->evaluations = (int64_t)t.count;
    result->is_complete = is_complete;
    result->was_cancelled = t.was_cancelled;
    result->is_emulated = tj_gpu_is_emulated(&host->gpu);
    result->seconds = tj_clock_s() - t.start;
    for (size_t i = 0; i < t.count; i++)
        release(&t.tried[i]);
    free(t.tried);
    tj_custom_bench_drop(&t.bench);
    tj_gpu_destroy_stream(&host->gpu, t.stream);
    tj_host_end(&t.scratch);
    if (status != TJ_OK)
        memset(result, 0, sizeof *result);
    return status;
}
