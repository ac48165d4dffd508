/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search: declarations that the files of the search share.
 *
 *     search.c      the strategies: trials until the end of the space or of the budget
 *     points.c      the configs that the search knows, each once
 *     surrogate.c   predict an untried config and its uncertainty, from the model and the trials
 *     propose.c     choose the points to try next
 */
#ifndef TJ_TUNER_SEARCH_H
#define TJ_TUNER_SEARCH_H

#include <stdbool.h>
#include <string.h>

#include <tilejit/tuner.h>

#include "space.h"

enum { TJ_SEARCH_MAX_FAMILIES = 32, TJ_NO_TRIAL = -1, TJ_MOST_TOGETHER = 16 };

typedef struct tj_point {
    tj_config config;
    int16_t at[TJ_CONFIG_MAX_PARAMS]; /* index on each axis; -1: a value that is not on it */
    double predicted;                 /* logarithm of microseconds; NAN: not asked; 0 if the model has no prediction */
    int32_t trial;                    /* TJ_NO_TRIAL: untried */
    bool is_chosen;                   /* under way, or about to be */
} tj_point;

typedef struct search search;

/** The configs that a search chooses among. */
typedef struct tj_search_space {
    const tj_request *request; /* NULL: the kernels of family compute something else */
    const tj_family *family;   /* the only one; NULL: all of the library's */
    void *payload;
    tj_status (*take_up_likely)(search *s, tj_error *err); /* a few good ones, soon; NULL: all at once */
    tj_status (*take_up)(search *s, tj_error *err);
    tj_status (*take_up_near)(search *s, const tj_config *centre, tj_error *err); /* if not all were taken up; may be NULL */
    bool (*admits)(const search *s, const tj_config *config);
    /* As tj_propose_improving. NULL: try all that were taken up, in the order of predictions. */
    size_t (*propose)(search *s, int32_t *chosen, size_t wanted);
} tj_search_space;

struct search {
    const tj_search_space *space;
    const tj_request *request; /* of the space */
    const tj_tune_options *options;
    const tj_measurer *measurer;
    const tj_family *family[TJ_SEARCH_MAX_FAMILIES];
    tj_axes *axes; /* of each family */
    size_t families;

    tj_point *point;
    size_t count, capacity;
    int32_t *slot; /* hash table of points; -1: free */
    size_t slots;

    tj_trial *trial;
    double *trial_log; /* logarithm of the time; NAN: none */
    int32_t *trial_point;
    size_t trials, trial_capacity;
    int32_t *under_way; /* points that compile, or are compiled, and wait for their trial */
    size_t under_way_count, under_way_capacity;
    size_t chosen_at; /* trials when the last of them were chosen */
    int32_t standard; /* the point of the default; -1: none */
    double best_us;   /* verified; 0: none */
    double default_us;
    int32_t best_trial;

    int64_t limit;
    double least_gain; /* tj_propose_improving proposes no round that promises less */
    double seconds;
    bool is_walked;  /* the points were taken from the whole space, or there is no walk */
    bool is_dry;     /* the last proposal was empty */
    bool is_sampled; /* the points are not the whole space */
    bool was_cancelled;
};

/** A point and its score: less is better. */
typedef struct tj_ranked {
    double score;
    int32_t point;
} tj_ranked;

/** Compare for qsort; of equals, the point that was taken up first. */
int tj_by_score(const void *a, const void *b);

/** Read a caller's options; NULL: all defaults. This version must know them, and values must be in range. */
tj_status tj_tune_read_options(const tj_tune_options *options, tj_tune_options *own, tj_error *err);

/** Return the seconds of a tuning with these options; 0: no limit. */
double tj_tune_budget(const tj_tune_options *options);

/** Return the space of a request, with the proposals of a strategy. */
tj_search_space tj_search_space_of(const tj_request *request, int32_t strategy);

/**
 * tj_search in two steps, over any space; the options were checked, no pointer is NULL, and all are borrowed until the end.
 * begin announces what is likely to be good; run walks the space meanwhile, and searches. End it after a failure too.
 */
tj_status tj_search_begin(search *s, const tj_search_space *space, const tj_tune_options *options, const tj_measurer *measurer,
                          tj_error *err);
tj_status tj_search_run(search *s, const tj_config *first, size_t first_count, tj_search_result *result, tj_error *err);
void tj_search_end(search *s);

static inline bool tj_search_is_same(const tj_config *a, const tj_config *b)
{
    return a->family == b->family && memcmp(a->value, b->value, sizeof a->value) == 0;
}

/** Is the time over? */
static inline bool tj_search_is_late(const search *s)
{
    return s->seconds > 0 && s->measurer->clock && s->measurer->clock(s->measurer->payload) >= s->seconds;
}

/** Take up the configs a step or two away from one. Errors: TJ_ERR_OUT_OF_MEMORY. */
tj_status tj_points_take_up_near(search *s, const tj_config *centre, tj_error *err);

/**
 * Take up the space of a request: all of it, or every n-th config of a large one, within the time; and ask the model about it.
 * Leave it to take_up_near if the time is short.
 */
tj_status tj_points_take_up(search *s, tj_error *err);

/**
 * Take up the configs that the model likes best, and nothing else: as they are met on the way to the best, in milliseconds. None
 * without a model.
 */
tj_status tj_points_take_up_likely(search *s, tj_error *err);

/** Return the point of a config that is known to be valid, taken up if it is new; -1 when memory ran out. */
int32_t tj_points_intern(search *s, const tj_config *config);

/** Return a family's number in the search; -1: not in it. */
int tj_search_family(const search *s, const tj_family *family);

/** Return the model's time of a point, as a logarithm; asked once. 0: no prediction. */
double tj_search_predicted(search *s, tj_point *p);

/**
 * Choose untried points, up to `wanted`, and mark them is_chosen; return their number. ranked: those with the best predictions.
 * improving: those with the largest expected improvement of the best time, by the model and the trials; points marked before
 * count as under way. None if the first of them promises less than least_gain, a share of the best time.
 */
size_t tj_propose_ranked(search *s, int32_t *chosen, size_t wanted);
size_t tj_propose_improving(search *s, int32_t *chosen, size_t wanted);

#endif
