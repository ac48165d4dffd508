/* SPDX-License-Identifier: Apache-2.0 */
/* finals: after the search, compare the fastest configs in rounds, in which each is timed once, and confirm the winner. */
#include "tuning.h"

#include <stdlib.h>

#include "error.h"
#include "measure.h"

enum { LEAST_ROUNDS = 3, ROUNDS_OF_ALL = 4, LEAST_FINALISTS = 3 /* the incumbents and the fastest other */ };

static const double FINAL_SECONDS = 8;
static const double SECONDS_OF_ALL = 0.5; /* as some configs slow down after a quarter of a second of load */
static const double SHARE_OF_ALL = 0.4;   /* of a short time for the rounds */

/* Draw an order for one round. */
static void shuffle(size_t *order, size_t count, uint64_t *random)
{
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = count; i > 1; i--) {
        size_t with, held;

        *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        with = (size_t)((*random >> 33) % i);
        held = order[i - 1];
        order[i - 1] = order[with];
        order[with] = held;
    }
}

/* Return the seconds of a round of all finalists. */
static double round_seconds(const tj_tuning *t, const tj_finalist *list, size_t count)
{
    double seconds = 0;

    for (size_t i = 0; i < count; i++)
        seconds += tj_round_seconds(list[i].trial.us, t->sets);
    return seconds;
}

static tj_status time_round(tj_tuning *t, const tj_config *config, double us, int is_warm, double *median, tj_error *err)
{
    const tj_candidate *loaded = NULL;
    const tj_status status = tj_pool_load(t->pool, config, &loaded, err);

    return status == TJ_OK ? t->subject->time_round(t, loaded, us, is_warm, median, err) : status;
}

/* *is_whole: every finalist was timed; if there was no time for one, the round is discarded. */
static tj_status run_round(tj_tuning *t, tj_finalist *list, size_t count, size_t round, uint64_t *random, bool *is_whole,
                           tj_error *err)
{
    size_t order[TJ_FINALISTS];
    tj_status status = TJ_OK;

    *is_whole = true;
    shuffle(order, count, random);
    for (size_t i = 0; i < count && status == TJ_OK; i++) {
        tj_finalist *one = &list[order[i]];

        if (tj_clock_s() + tj_round_seconds(one->trial.us, t->sets) > t->deadline) {
            *is_whole = false;
            return TJ_OK;
        }
        status = time_round(t, &one->trial.config, one->trial.us, 0, &one->round[round], err);
    }
    return status;
}

/*
 * Compare finalists in rounds. After some rounds of all, only the fastest go on: the median of many rounds separates configs
 * whose difference is smaller than the variation between rounds. Without time for a round, and on the emulator, whose times
 * mean nothing, the search's measurements decide.
 */
static tj_status compare_finalists(tj_tuning *t, tj_finalist *list, size_t *count, double *noise, tj_error *err)
{
    uint64_t random = (uint64_t)t->options.seed;
    tj_status status = TJ_OK;
    size_t rounds = 0;
    bool is_whole = true;
    double start, seconds_of_all;

    tj_judge_looks(list, *count);
    if (t->is_emulated)
        return TJ_OK;
    while (*count > LEAST_FINALISTS && tj_clock_s() + LEAST_ROUNDS * round_seconds(t, list, *count) > t->deadline)
        *count = tj_keep_contenders(list, *count, *count - 1);
    /* Compile forgotten finalists again before the rounds, not during them. */
    for (size_t i = 0; i < *count && status == TJ_OK; i++) {
        const tj_candidate *loaded = NULL;

        if (tj_clock_s() >= t->deadline)
            return TJ_OK;
        status = tj_pool_load(t->pool, &list[i].trial.config, &loaded, err);
    }
    start = tj_clock_s();
    seconds_of_all = fmin(SECONDS_OF_ALL, SHARE_OF_ALL * (t->deadline - start));
    for (; rounds < TJ_ROUNDS && status == TJ_OK; rounds += is_whole) {
        if (rounds >= LEAST_ROUNDS && (tj_clock_s() > start + FINAL_SECONDS || tj_is_cancelled(t)))
            break;
        if (*count > TJ_CONTENDERS && rounds >= ROUNDS_OF_ALL && tj_clock_s() > start + seconds_of_all) {
            tj_judge_rounds(list, *count, rounds);
            *count = tj_keep_contenders(list, *count, TJ_CONTENDERS);
        }
        status = run_round(t, list, *count, rounds, &random, &is_whole, err);
        if (!is_whole)
            break;
    }
    if (status == TJ_OK && rounds > 0)
        tj_judge_rounds(list, *count, rounds);
    *noise = tj_round_noise(list, *count, rounds);
    return status;
}

/* Fill in the result with the first winner that the subject confirms. */
static tj_status confirm_winner(tj_tuning *t, tj_finalist *list, size_t count, tj_tune_result *result, tj_error *err)
{
    tj_error why = {TJ_OK, ""};

    while (count > 0) {
        const size_t winner = tj_choose_winner(list, count), second = tj_fastest_of(list, count, winner);
        const tj_status status = t->subject->confirm(t, &list[winner].trial, result, &why);

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
        if (t->is_emulated || tj_round_seconds(result->us, t->sets) > tj_seconds_left(t))
            return TJ_OK;
        return time_round(t, &result->config, result->us, 1, &result->warm_us, err);
    }
    return t->subject->fail(t, 0, why.message, err);
}

static tj_status list_finalists(tj_tuning *t, tj_finalist *list, size_t *count, tj_tune_result *result, tj_error *err)
{
    const tj_search_result *found = &t->found;
    tj_trial *before = tj_find_trial(found, &t->incumbents.recorded);
    tj_status status = TJ_OK;

    /* A search verifies trials near its best; verify the recorded config too, which may look slower in a single measurement. */
    if (t->subject->verify && tj_is_unchecked(before) && tj_seconds_left(t) > 0) {
        status = t->subject->verify(t, before, err);
        result->wrong += before->state == TJ_TRIAL_WRONG;
    }
    *count = tj_list_finalists(found->trial, found->count, &t->incumbents, list);
    if (status == TJ_OK && *count == 0)
        return t->subject->fail(t, found->count, found->count > 0 ? found->trial[0].why : "none", err);
    return status;
}

static void count_trials(const tj_search_result *found, tj_tune_result *result)
{
    result->evaluations = (int64_t)found->count;
    result->is_complete = found->is_complete;
    result->was_cancelled = found->was_cancelled;
    for (size_t i = 0; i < found->count; i++) {
        result->refused += found->trial[i].state == TJ_TRIAL_REFUSED;
        result->wrong += found->trial[i].state == TJ_TRIAL_WRONG;
        result->slow += found->trial[i].state == TJ_TRIAL_SLOW;
    }
}

static tj_status hold_finals(tj_tuning *t, tj_tune_result *result, tj_error *err)
{
    tj_finalist *list = calloc(TJ_FINALISTS, sizeof *list);
    const tj_search_result *found = &t->found;
    const tj_trial *standard = tj_find_trial(found, &t->incumbents.standard);
    const tj_tune_progress progress = {
        .evaluations = result->evaluations,
        .limit = result->evaluations,
        .seconds = tj_clock_s() - t->start,
        .best_us = found->count > 0 ? found->trial[0].us : 0,
        .default_us = standard ? standard->us : 0,
        .best = found->count > 0 ? &found->trial[0].config : NULL,
    };
    size_t count = 0;
    tj_status status;

    if (!list)
        return tj_fail_memory(err, "the finalists of a tuning");
    tj_tuning_tell(&progress, t);
    /* The rounds leave time to confirm the winner, but at most half of the rest. */
    t->deadline = t->start + t->budget - fmin(t->confirm_seconds, fmax(tj_seconds_left(t), 0) / 2);
    status = list_finalists(t, list, &count, result, err);
    if (status == TJ_OK)
        status = compare_finalists(t, list, &count, &result->noise, err);
    if (result->noise > TJ_TUNE_NOISE)
        tj_log_line(&t->host->log, TJ_LOG_WARNING,
                    "rounds of the finals differ by %.0f %%: does another process use the device? Tune again when it is idle",
                    100 * result->noise);
    tj_tuning_spend(t, &t->spent.finals);
    result->was_cancelled |= tj_is_cancelled(t);
    result->default_us = tj_finalist_us(list, count, TJ_STANDARD, 0);
    result->before_us = tj_finalist_us(list, count, TJ_RECORDED, result->default_us);
    if (status == TJ_OK)
        status = confirm_winner(t, list, count, result, err);
    free(list);
    return status;
}

tj_status tj_tuning_run(tj_tuning *t, const tj_config *first, size_t first_count, tj_tune_result *result, tj_error *err)
{
    tj_status status = tj_tuning_search(t, first, first_count, err);

    if (status != TJ_OK)
        return status;
    count_trials(&t->found, result);
    status = hold_finals(t, result, err);
    result->is_emulated = t->is_emulated;
    tj_tuning_tell_time(t, result);
    return status;
}
