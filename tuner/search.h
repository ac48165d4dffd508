/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search: what the files of the search share.
 *
 *     search.c      the strategies: rounds of trials until the end of the space or of the budget
 *     points.c      the configs that the search knows, each once
 *     surrogate.c   what an untried one will take, by the model and the trials, and how sure that is
 *     propose.c     which of them to try next
 */
#ifndef TJ_TUNER_SEARCH_H
#define TJ_TUNER_SEARCH_H

#include <stdbool.h>

#include <tilejit/tuner.h>

#include "space.h"

enum { TJ_SEARCH_MAX_FAMILIES = 32, TJ_NO_TRIAL = -1 };

typedef struct tj_point {
    tj_config config;
    int16_t at[TJ_CONFIG_MAX_PARAMS]; /* position on each axis; -1: a value that is not on it */
    double predicted;                 /* logarithm of microseconds; NAN: not asked; 0 if the model has no opinion */
    int32_t trial;                    /* TJ_NO_TRIAL: untried */
    bool is_chosen;                   /* in this round already */
} tj_point;

typedef struct search {
    const tj_problem *problem;
    const tj_tune_options *options;
    const tj_measurer *measurer;
    const tj_family *family[TJ_SEARCH_MAX_FAMILIES];
    tj_axes *axes; /* of each */
    size_t families;

    tj_point *point;
    size_t count, capacity;
    int32_t *slot; /* hash table of points; -1: free */
    size_t slots;

    tj_trial *trial;
    double *trial_log; /* logarithm of the time; NAN without */
    int32_t *trial_point;
    size_t trials, trial_capacity;
    double best_us; /* verified; 0: none */
    double default_us;
    int32_t best_trial;

    int64_t limit;
    double least_gain; /* a round is not worth trying if it promises less: tj_propose_improving */
    double seconds;
    bool is_sampled; /* the points at hand are not the whole space */
    bool was_cancelled;
} search;

/** A point and what it is worth: less is better. */
typedef struct tj_ranked {
    double score;
    int32_t point;
} tj_ranked;

/** For qsort; of equals the one that was taken up first. */
int tj_by_score(const void *a, const void *b);

/** Options that this version knows, with values they can have. */
tj_status tj_tune_check_options(const tj_tune_options *options, tj_error *err);

/** Seconds of a tuning with these options; 0: no limit. */
double tj_tune_budget(const tj_tune_options *options);

/** Is the time over? */
static inline bool tj_search_is_late(const search *s)
{
    return s->seconds > 0 && s->measurer->clock && s->measurer->clock(s->measurer->payload) >= s->seconds;
}

/** Take up the space: all of it, or of a large one every n-th config, as far as the time goes; and ask the model about it. */
tj_status tj_points_take_up(search *s, tj_error *err);

/** The point of a config that is known to be valid, taken up if it is new; -1 when memory ran out. */
int32_t tj_points_intern(search *s, const tj_config *config);

/** A family's number in the search; -1: none of its. */
int tj_search_family(const search *s, const tj_family *family);

/** The model's time of a point, as a logarithm; asked once. 0: no opinion. */
double tj_search_predicted(search *s, tj_point *p);

/**
 * Choose points that are untried, as many as wanted if there are: they are marked is_chosen; returns how many. ranked: those that the
 * model likes best. improving: those by which the best time is expected to fall most, by the model and the trials; what is marked
 * already counts as under way. None if the first of them promises less than least_gain, a share of the best time.
 */
size_t tj_propose_ranked(search *s, int32_t *chosen, size_t wanted);
size_t tj_propose_improving(search *s, int32_t *chosen, size_t wanted);

#endif
