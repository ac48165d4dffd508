/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tuning: search, measure, compare the finalists, confirm the winner; whatever the kernels compute.
 *
 *     tuning.c         open the device, search a space, measure what the pool compiled
 *     finals.c         compare the fastest in rounds, confirm the winner
 *     tune.c           of a product: its first configs, its checks, its records
 *     custom_tune.c    of a family of the application
 */
#ifndef TJ_TUNER_TUNING_H
#define TJ_TUNER_TUNING_H

#include <math.h>
#include <stdbool.h>

#include "clock.h"
#include "host.h"
#include "pool.h"
#include "search.h"
#include "winner.h"

typedef struct tj_tuning tj_tuning;

/** The kernels that are tuned. Functions get the tuning, which is the first member of the subject's own struct. */
typedef struct tj_subject {
    /** Time a loaded candidate, as tj_measurer.measure. */
    tj_status (*measure)(tj_tuning *t, const tj_candidate *candidate, double best_us, tj_trial *trial, tj_error *err);
    /** As tj_measurer.verify and predict, of the tuning. NULL: measure sets is_verified; there is no model. */
    tj_status (*verify)(void *tuning, tj_trial *trial, tj_error *err);
    double (*predict)(void *tuning, const tj_config *config);
    /** Time one round of a finalist, as tj_timed_round. */
    tj_status (*time_round)(tj_tuning *t, const tj_candidate *candidate, double us, int is_warm, double *median, tj_error *err);
    /** Check the winner once more and prove it, and fill in the check's fields of the result. TJ_ERR_CHECK_FAILED: it is wrong,
     * and the next one may win. */
    tj_status (*confirm)(tj_tuning *t, tj_trial *winner, tj_tune_result *result, tj_error *err);
    /** Fail because none of the configs tried is right, or, with 0, because none of the finalists passed confirm. */
    tj_status (*fail)(const tj_tuning *t, size_t tried, const char *why, tj_error *err);
} tj_subject;

struct tj_tuning {
    const tj_subject *subject;
    tj_host *host;
    tj_pool_rest *rest; /* of the context; NULL: none */
    tj_tune_options options;
    tj_device_facts device;
    char target[16];
    struct CUstream_st *stream; /* separate, so that neither it nor the program's own work and captures wait for each other */
    size_t sets;                /* of operands */
    bool is_emulated;
    tj_pool *pool;
    int announced;   /* since the last tj_pool_forget */
    bool was_short;  /* memory or threads were short for a candidate that may be a good one */
    double start;    /* by tj_clock_s */
    double budget;   /* seconds from the start; INFINITY: no limit */
    double deadline; /* of launches, as tj_timed.deadline */
    double confirm_seconds;
    tj_incumbents incumbents;
    tj_search_result found;
    tj_tune_options limits; /* of the search: the options without the share of the finals */
    tj_measurer measurer;
    search search;
    double lap; /* when the last share ended */
    tj_tune_shares spent;
};

/** Begin the clock. The options were checked. End with tj_tuning_end. */
void tj_tuning_begin(tj_tuning *t, const tj_subject *subject, tj_host *host, tj_pool_rest *rest,
                     const tj_tune_options *options);

/** Open the device of the current context, its target and a stream. The subject then takes a pool, and makes sets. */
tj_status tj_tuning_open(tj_tuning *t, tj_error *err);

/** Begin the search of a space, which is borrowed: what is likely to be good compiles while operands are placed. */
tj_status tj_tuning_begin_search(tj_tuning *t, const tj_search_space *space, tj_error *err);

/**
 * Search the space, hold the finals, and fill in the result, apart from default_config and the record. The standard of the
 * incumbents is first[0]. Errors: those of the subject; TJ_ERR_CANCELLED; TJ_ERR_OUT_OF_MEMORY.
 */
tj_status tj_tuning_run(tj_tuning *t, const tj_config *first, size_t first_count, tj_tune_result *result, tj_error *err);
void tj_tuning_end(tj_tuning *t);

/** The first half of tj_tuning_run: fill in t->found. */
tj_status tj_tuning_search(tj_tuning *t, const tj_config *first, size_t first_count, tj_error *err);

/** Add the seconds since the last call to a share of t->spent. */
void tj_tuning_spend(tj_tuning *t, double *share);

/** Report the time so far; what no other share has is spent on confirming. */
void tj_tuning_tell_time(tj_tuning *t, tj_tune_result *result);

/** Return the trial of a config; NULL: it was not tried. */
tj_trial *tj_find_trial(const tj_search_result *found, const tj_config *config);

/** Was it timed but not verified? It may be right and the fastest. trial may be NULL. */
static inline bool tj_is_unchecked(const tj_trial *trial)
{
    return trial && trial->state == TJ_TRIAL_TIMED && !trial->is_verified;
}

static inline double tj_seconds_left(const tj_tuning *t)
{
    return t->start + t->budget - tj_clock_s();
}

static inline bool tj_is_cancelled(const tj_tuning *t)
{
    return t->options.is_cancelled && t->options.is_cancelled(t->options.payload);
}

/** Report progress with the whole budget, because the search knows only its share. payload: the tuning. */
void tj_tuning_tell(const tj_tune_progress *progress, void *payload);

#endif
