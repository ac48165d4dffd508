/* SPDX-License-Identifier: Apache-2.0 */
/*
 * surrogate: what an untried config will take and how sure that is, by the model and the trials so far.
 *
 * A Gaussian process (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, algorithm 2.1) over what the model is wrong by,
 * in logarithms. It expects the model to be wrong by about as much
 *   - for all configs, and for all of one family;
 *   - where it expects a config to take about as long, so that differences which it sees too large or too small are put right;
 *   - for configs of which one is a few steps from the other. A step counts as much as its parameter's role says (tj_param_role).
 */
#ifndef TJ_TUNER_SURROGATE_H
#define TJ_TUNER_SURROGATE_H

#include "search.h"

typedef struct tj_surrogate tj_surrogate;

/** Logarithms of microseconds. */
typedef struct tj_belief {
    double mean, deviation;
} tj_belief;

/** From all trials that have a time; of very many, the fastest. Owned: the caller, tj_surrogate_free. NULL when memory ran out. */
tj_surrogate *tj_surrogate_learn(search *s);

/** NULL: nothing happens. */
void tj_surrogate_free(tj_surrogate *g);

/** The mean alone, which is the smaller work. */
double tj_surrogate_mean(const tj_surrogate *g, search *s, int32_t point);

tj_belief tj_surrogate_believe(const tj_surrogate *g, search *s, int32_t point);

/**
 * The point is under way: as if it were tried and had taken what it is expected to. No mean changes, but there is less to learn near it.
 * Beyond TJ_SURROGATE_UNDER_WAY of them nothing happens.
 */
void tj_surrogate_assume(tj_surrogate *g, search *s, int32_t point);

enum { TJ_SURROGATE_UNDER_WAY = 64 };

#endif
