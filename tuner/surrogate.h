/* SPDX-License-Identifier: Apache-2.0 */
/*
 * surrogate: predict an untried config and its uncertainty, from the model and the trials so far.
 *
 * A Gaussian process (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, algorithm 2.1) over the model's
 * errors, in logarithms. Errors are correlated
 *   - between all configs, and more within a family;
 *   - between configs of similar predicted times, which corrects differences that the model sees too large or too small;
 *   - between configs that are a few steps apart. The length of a step depends on its parameter's role (tj_param_role).
 */
#ifndef TJ_TUNER_SURROGATE_H
#define TJ_TUNER_SURROGATE_H

#include "search.h"

typedef struct tj_surrogate tj_surrogate;

/** Logarithms of microseconds. */
typedef struct tj_posterior {
    double mean, deviation;
} tj_posterior;

/**
 * Learn from all trials that have a time; of very many, from the fastest. Owned: the caller, tj_surrogate_free. NULL when
 * memory ran out.
 */
tj_surrogate *tj_surrogate_learn(search *s);

/** Free a surrogate. NULL: accepted. */
void tj_surrogate_free(tj_surrogate *g);

/** Return the mean only, which costs less. */
double tj_surrogate_mean(const tj_surrogate *g, search *s, int32_t point);

tj_posterior tj_surrogate_posterior(const tj_surrogate *g, search *s, int32_t point);

/**
 * Assume that the point takes the time that is expected of it, as if it were tried. Means stay, but uncertainty near it falls.
 * Beyond TJ_SURROGATE_UNDER_WAY points nothing happens.
 */
void tj_surrogate_assume(tj_surrogate *g, search *s, int32_t point);

enum { TJ_SURROGATE_UNDER_WAY = 64 };

#endif
