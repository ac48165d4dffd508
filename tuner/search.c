/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search: choose the config to try next.
 *
 * Compiling takes far longer than timing. So enough configs are under way to keep all compiling threads busy, one is timed as
 * soon as any of them is ready, and a few more are chosen, by what is known then, whenever as many have been timed.
 */
#include "search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "settle.h"
#include "sized.h"

/* Configs that are chosen together, and configs that an exhaustive search announces ahead. */
enum { TOGETHER = 4, AHEAD = 64, USUAL_SECONDS = 30 };

/* Configs under way, however few compile at once: so a search over known times can be repeated anywhere. */
enum { LEAST_UNDER_WAY = 8 };

/*
 * A search without a limit of trials ends after IN_VAIN trials without improvement, if no config promises to be faster by this
 * share.
 */
static const double WORTH_A_ROUND = 0.0003;
enum { IN_VAIN = 40, TRIALS_BY_MODEL = 80 };

static const double WORTH_A_LOOK = 1.1; /* times the best: look around it, if the space was not walked */
static const double VERIFY_BAND = 1.03; /* of the best time: trials below it may become finalists */

/* ---- trying ------------------------------------------------------------------------------------------------------- */

tj_status tj_tune_read_options(const tj_tune_options *options, tj_tune_options *own, tj_error *err)
{
    *own = (tj_tune_options)TJ_TUNE_OPTIONS_INIT;
    const tj_status status = options ? TJ_READ(options, own, TJ_TUNE_OPTIONS_INIT, err) : TJ_OK;

    if (status != TJ_OK)
        return status;
    if (own->strategy < TJ_SEARCH || own->strategy > TJ_EXHAUSTIVE)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "strategy is %d: use TJ_SEARCH, TJ_MODEL or TJ_EXHAUSTIVE", own->strategy);
    if (own->evaluations < 0 || own->threads < 0 || !(own->check_flop >= 0) || isnan(own->seconds))
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "evaluations is %lld, threads %d, seconds %g, check_flop %g: use 0 for a default; only seconds may be below",
            (long long)own->evaluations, own->threads, own->seconds, own->check_flop);
    return TJ_OK;
}

double tj_tune_budget(const tj_tune_options *options)
{
    if (options->seconds != 0)
        return options->seconds > 0 ? options->seconds : 0;
    return options->strategy == TJ_EXHAUSTIVE ? 0 : USUAL_SECONDS;
}

/* The default is tried, however short the budget. */
static bool is_needed(const search *s)
{
    return s->standard >= 0 ? s->point[s->standard].trial == TJ_NO_TRIAL : s->trials == 0;
}

static bool is_over(search *s)
{
    if (s->options->is_cancelled && s->options->is_cancelled(s->options->payload)) {
        s->was_cancelled = true;
        return true;
    }
    if (is_needed(s))
        return false;
    if (s->limit > 0 && (int64_t)s->trials >= s->limit)
        return true;
    return tj_search_is_late(s);
}

static bool trials_grow(search *s)
{
    const size_t capacity = s->trial_capacity ? 2 * s->trial_capacity : 128;
    tj_trial *trial = realloc(s->trial, capacity * sizeof *trial);
    double *logs;
    int32_t *points;

    if (!trial)
        return false;
    s->trial = trial;
    logs = realloc(s->trial_log, capacity * sizeof *logs);
    if (!logs)
        return false;
    s->trial_log = logs;
    points = realloc(s->trial_point, capacity * sizeof *points);
    if (!points)
        return false;
    s->trial_point = points;
    s->trial_capacity = capacity;
    return true;
}

static void tell(search *s, const tj_trial *trial)
{
    tj_tune_progress progress = {
        .struct_size = sizeof progress,
        .evaluations = (int64_t)s->trials,
        .limit = s->limit,
        .seconds = s->measurer->clock ? s->measurer->clock(s->measurer->payload) : 0,
        .budget = s->seconds,
        .best_us = s->best_us,
        .default_us = s->default_us,
        .best = s->best_trial >= 0 ? &s->trial[s->best_trial].config : NULL,
        .trial = trial,
    };

    if (s->options->progress)
        s->options->progress(&progress, s->options->payload);
}

static tj_status try_point(search *s, int32_t index, tj_error *err)
{
    tj_point *p = &s->point[index];
    const double model = tj_search_predicted(s, p);
    tj_trial *trial;
    tj_status status;

    if (s->trials == s->trial_capacity && !trials_grow(s))
        return tj_fail_memory(err, "the trials of a search");
    trial = &s->trial[s->trials];
    memset(trial, 0, sizeof *trial);
    trial->config = p->config;
    trial->predicted_us = model != 0 ? exp(model) : 0;
    status = s->measurer->measure(s->measurer->payload, s->best_us, trial, err);
    if (status != TJ_OK)
        return status;
    /* A check costs about as much as the trial: none begins when the time is over, unless nothing else could win. */
    if (trial->state == TJ_TRIAL_TIMED &&
        (s->best_us == 0 || (trial->us < VERIFY_BAND * s->best_us && !tj_search_is_late(s)))) {
        if (s->measurer->verify)
            status = s->measurer->verify(s->measurer->payload, trial, err);
        else
            trial->is_verified = 1;
        if (status != TJ_OK)
            return status;
    }
    s->trial_log[s->trials] = trial->state == TJ_TRIAL_TIMED || trial->state == TJ_TRIAL_SLOW ? log(trial->us) : NAN;
    s->trial_point[s->trials] = index;
    p->trial = (int32_t)s->trials;
    if (index == s->standard)
        s->default_us = trial->us;
    if (trial->is_verified && trial->state == TJ_TRIAL_TIMED && (s->best_us == 0 || trial->us < s->best_us)) {
        s->best_us = trial->us;
        s->best_trial = (int32_t)s->trials;
    }
    s->trials++;
    if (!s->is_walked && s->space->take_up_near && trial->us > 0 && trial->us <= WORTH_A_LOOK * s->best_us)
        status = s->space->take_up_near(s, &p->config, err);
    tell(s, trial);
    return status;
}

static void announce(const search *s, const tj_config *config)
{
    if (s->measurer->announce)
        s->measurer->announce(s->measurer->payload, config);
}

/* ---- strategies --------------------------------------------------------------------------------------------------- */

static bool may_settle(const search *s, int64_t known)
{
    return s->options->evaluations == 0 && known >= TJ_TUNE_LEAST && (int64_t)s->trials - s->best_trial > IN_VAIN;
}

/* ---- configs under way --------------------------------------------------------------------------------------------- */

/* Put a point in this place among those that are under way, and compile it. False when memory ran out. */
static bool start(search *s, int32_t point, size_t at)
{
    if (s->under_way_count == s->under_way_capacity) {
        const size_t capacity = s->under_way_capacity ? 2 * s->under_way_capacity : 64;
        int32_t *larger = realloc(s->under_way, capacity * sizeof *larger);

        if (!larger)
            return false;
        s->under_way = larger;
        s->under_way_capacity = capacity;
    }
    memmove(s->under_way + at + 1, s->under_way + at, (s->under_way_count - at) * sizeof *s->under_way);
    s->under_way[at] = point;
    s->under_way_count++;
    s->point[point].is_chosen = true;
    announce(s, &s->point[point].config);
    return true;
}

static void take_out(search *s, size_t at)
{
    s->point[s->under_way[at]].is_chosen = false;
    s->under_way_count--;
    memmove(s->under_way + at, s->under_way + at + 1, (s->under_way_count - at) * sizeof *s->under_way);
}

static size_t place_under_way(const search *s, int32_t point)
{
    size_t at = 0;

    while (at < s->under_way_count && s->under_way[at] != point)
        at++;
    return at;
}

/* Return how many are chosen at a time: with many threads several are ready before the next ones are chosen. */
static size_t together(const search *s)
{
    const size_t share = (size_t)s->measurer->at_once / 4;

    return share < TOGETHER ? TOGETHER : share > TJ_MOST_TOGETHER ? TJ_MOST_TOGETHER : share;
}

/* Many may be under way and all of them ready: then idle compilers get what the last trials suggest. */
static bool wants_more(const search *s)
{
    const size_t least = s->measurer->at_once > LEAST_UNDER_WAY ? (size_t)s->measurer->at_once : LEAST_UNDER_WAY;

    if (s->is_dry && s->under_way_count > 0)
        return false;
    return s->under_way_count <= least ||
           (s->measurer->is_idle && s->trials >= s->chosen_at + together(s) && s->measurer->is_idle(s->measurer->payload));
}

/*
 * Choose configs until enough are under way, within the limit of trials. An empty proposal is repeated once all that are under
 * way are known.
 */
static void keep_busy(search *s)
{
    while (wants_more(s)) {
        const int64_t known = (int64_t)(s->trials + s->under_way_count), left = s->limit > 0 ? s->limit - known : INT64_MAX;
        const size_t wanted = left < (int64_t)together(s) ? (size_t)(left > 0 ? left : 0) : together(s);
        int32_t chosen[TJ_MOST_TOGETHER];
        size_t count;

        s->least_gain = may_settle(s, known) ? WORTH_A_ROUND : 0;
        count = wanted > 0 ? s->space->propose(s, chosen, wanted) : 0;
        s->is_dry = count == 0;
        s->chosen_at = s->trials;
        for (size_t i = 0; i < count; i++)
            if (!start(s, chosen[i], s->under_way_count))
                s->point[chosen[i]].is_chosen = false;
        if (count == 0)
            break;
    }
}

/* Return the next point to time: the first one that is ready, or the first of all. -1: none is ready in time. */
static int32_t take_ready(search *s)
{
    const int32_t needed = s->standard >= 0 ? s->standard : s->under_way[0];
    tj_config ready;
    size_t at = 0;

    if (!s->measurer->any_ready || (is_needed(s) && tj_search_is_late(s)))
        return s->measurer->any_ready ? needed : s->under_way[0];
    do {
        if (!s->measurer->any_ready(s->measurer->payload, &ready))
            return is_needed(s) ? needed : -1;
        for (at = 0; at < s->under_way_count; at++)
            if (tj_search_is_same(&s->point[s->under_way[at]].config, &ready))
                break;
    } while (at == s->under_way_count); /* announced by somebody else */
    return s->under_way[at];
}

static tj_status run_pipeline(search *s, tj_error *err)
{
    tj_status status = TJ_OK;

    while (status == TJ_OK && !is_over(s)) {
        int32_t point;

        if (!tj_search_is_late(s))
            keep_busy(s);
        point = s->under_way_count > 0 ? take_ready(s) : -1;
        if (point < 0)
            break;
        take_out(s, place_under_way(s, point));
        status = try_point(s, point, err);
    }
    while (s->under_way_count > 0)
        take_out(s, s->under_way_count - 1);
    return status;
}

/* Try every config, in the order of predictions: early ones set the time at which slow ones are given up. */
static tj_status run_exhaustive(search *s, tj_error *err)
{
    tj_ranked *list = malloc((s->count ? s->count : 1) * sizeof *list);
    tj_status status = TJ_OK;

    if (!list)
        return tj_fail_memory(err, "the order of a search");
    for (size_t i = 0; i < s->count; i++)
        list[i] = (tj_ranked){tj_search_predicted(s, &s->point[i]), (int32_t)i};
    qsort(list, s->count, sizeof *list, tj_by_score);
    for (size_t i = 0, announced = 0; status == TJ_OK && i < s->count && !is_over(s); i++) {
        for (; announced < s->count && announced < i + AHEAD; announced++)
            if (s->point[list[announced].point].trial == TJ_NO_TRIAL)
                announce(s, &s->point[list[announced].point].config);
        if (s->point[list[i].point].trial == TJ_NO_TRIAL)
            status = try_point(s, list[i].point, err);
    }
    free(list);
    return status;
}

/* *index: the point of a config that is tried before all others; -1: the problem or the search does not admit it. */
static tj_status find_first(search *s, const tj_config *first, int32_t *index, tj_error *err)
{
    *index = -1;
    if (tj_search_family(s, first->family) < 0 || !s->space->admits(s, first))
        return TJ_OK;
    *index = tj_points_intern(s, first);
    return *index < 0 ? tj_fail_memory(err, "the configs of a search") : TJ_OK;
}

/* Let the first configs be under way before all others; the first of these is the standard. */
static tj_status start_first(search *s, const tj_config *first, size_t count, tj_error *err)
{
    tj_status status = TJ_OK;
    size_t started = 0;
    int32_t index;

    for (size_t i = 0; i < count && status == TJ_OK; i++) {
        status = find_first(s, &first[i], &index, err);
        if (index < 0 || place_under_way(s, index) < started)
            continue;
        if (s->point[index].is_chosen)
            take_out(s, place_under_way(s, index));
        if (!start(s, index, started))
            status = tj_fail_memory(err, "the configs of a search");
        else if (started++ == 0)
            s->standard = index;
    }
    return status;
}

/* Try the default and the configs of records before all others. */
static tj_status run_first(search *s, tj_error *err)
{
    tj_status status = TJ_OK;

    while (s->under_way_count > 0 && status == TJ_OK && !is_over(s)) {
        const int32_t point = s->under_way[0];

        take_out(s, 0);
        status = try_point(s, point, err);
    }
    return status;
}

static bool tried_all(const search *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->point[i].trial == TJ_NO_TRIAL)
            return false;
    return !s->is_sampled;
}

static bool counts(const tj_trial *trial)
{
    return trial->is_verified && trial->state == TJ_TRIAL_TIMED;
}

static bool comes_before(const tj_trial *a, const tj_trial *b)
{
    return counts(a) && (!counts(b) || a->us < b->us);
}

/*
 * Sort trials that may win to the front, by time; the rest stays in the order of trials. Insertion keeps the order of equals.
 */
static void sort_trials(search *s)
{
    for (size_t i = 1; i < s->trials; i++) {
        const tj_trial one = s->trial[i];
        size_t at = i;

        for (; at > 0 && comes_before(&one, &s->trial[at - 1]); at--)
            s->trial[at] = s->trial[at - 1];
        s->trial[at] = one;
    }
}

/* ---- public ------------------------------------------------------------------------------------------------------- */

static bool admits(const search *s, const tj_config *config)
{
    tj_config resolved = *config;

    return tj_request_resolve(s->request, &resolved, NULL) == TJ_OK;
}

tj_search_space tj_search_space_of(const tj_request *request, int32_t strategy)
{
    tj_search_space space = {.request = request, .take_up = tj_points_take_up, .admits = admits};

    if (strategy == TJ_SEARCH)
        space.take_up_likely = tj_points_take_up_likely, space.take_up_near = tj_points_take_up_near;
    if (strategy != TJ_EXHAUSTIVE)
        space.propose = strategy == TJ_MODEL ? tj_propose_ranked : tj_propose_improving;
    return space;
}

static bool take_families(search *s)
{
    s->families = s->space->family ? 1 : tj_family_count();
    if (s->families > TJ_SEARCH_MAX_FAMILIES)
        s->families = TJ_SEARCH_MAX_FAMILIES;
    s->axes = calloc(s->families, sizeof *s->axes);
    for (size_t i = 0; s->axes && i < s->families; i++) {
        s->family[i] = s->space->family ? s->space->family : tj_family_at(i);
        tj_axes_of(s->family[i], &s->axes[i]);
    }
    return s->axes != NULL;
}

tj_status tj_search_begin(search *s, const tj_search_space *space, const tj_tune_options *options, const tj_measurer *measurer,
                          tj_error *err)
{
    static const int64_t usual_limit[] = {[TJ_SEARCH] = TJ_TUNE_MOST, [TJ_MODEL] = TRIALS_BY_MODEL, [TJ_EXHAUSTIVE] = 0};
    tj_status status;

    *s = (search){
        .space = space, .request = space->request, .options = options, .measurer = measurer, .best_trial = -1, .standard = -1};
    s->limit = options->evaluations > 0 ? options->evaluations : usual_limit[options->strategy];
    s->seconds = tj_tune_budget(options);
    if (!take_families(s))
        return tj_fail_memory(err, "the axes of a search");
    status = space->take_up_likely ? space->take_up_likely(s, err) : TJ_OK;
    if (status == TJ_OK && s->count > 0)
        keep_busy(s);
    return status;
}

tj_status tj_search_run(search *s, const tj_config *first, size_t first_count, tj_search_result *result, tj_error *err)
{
    tj_status status = s->space->take_up(s, err);

    if (status == TJ_OK)
        status = start_first(s, first, first_count, err);
    if (status == TJ_OK && !s->space->propose)
        status = run_first(s, err);
    if (status == TJ_OK)
        status = s->space->propose ? run_pipeline(s, err) : run_exhaustive(s, err);
    if (status == TJ_OK) {
        result->is_complete = tried_all(s);
        result->was_cancelled = s->was_cancelled;
        sort_trials(s);
        result->trial = s->trial;
        result->count = s->trials;
        s->trial = NULL;
    }
    return status;
}

void tj_search_end(search *s)
{
    free(s->axes);
    free(s->point);
    free(s->slot);
    free(s->under_way);
    free(s->trial);
    free(s->trial_log);
    free(s->trial_point);
}

tj_status tj_search(const tj_problem *problem, const tj_tune_options *options, const tj_config *first, size_t first_count,
                    const tj_measurer *measurer, tj_search_result *result, tj_error *err)
{
    if (!problem)
        return tj_fail_null(err, __func__, "problem");
    if (!first && first_count > 0)
        return tj_fail_null(err, __func__, "first");
    if (TJ_HAS_NULL(err, measurer, result))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_search_result found = TJ_SEARCH_RESULT_INIT;
    tj_search_space space;
    tj_tune_options how;
    tj_measurer source;
    tj_request request;
    tj_status status = TJ_CLEAR(result, TJ_SEARCH_RESULT_INIT, err);
    search s;

    if (status == TJ_OK)
        status = tj_tune_read_options(options, &how, err);
    if (status == TJ_OK)
        status = TJ_READ(measurer, &source, TJ_MEASURER_INIT, err);
    if (status == TJ_OK)
        status = tj_request_make(problem, &request, err);
    if (status != TJ_OK)
        return status;
    space = tj_search_space_of(&request, how.strategy);
    status = tj_search_begin(&s, &space, &how, &source, err);
    if (status == TJ_OK)
        status = tj_search_run(&s, first, first_count, &found, err);
    tj_search_end(&s);
    (void)TJ_FILL(result, &found, TJ_SEARCH_RESULT_INIT, NULL);
    return status;
}
