/* SPDX-License-Identifier: Apache-2.0 */
/*
 * winner: which of the finalists wins.
 */
#ifndef TJ_TUNER_WINNER_H
#define TJ_TUNER_WINNER_H

#include <stdbool.h>

#include <tilejit/tuner.h>

enum { TJ_TURNS = 15 };

/** A config in the interleaved comparison. */
typedef struct tj_finalist {
    tj_trial trial;
    bool is_default;
    double turn[TJ_TURNS]; /* the median of each turn, in microseconds */
    double us, spread;     /* of the turns: median, and half the distance of the quartiles by the median */
} tj_finalist;

/** The fastest but one; but >= count: of all. 0 if there is no other. */
size_t tj_fastest_of(const tj_finalist *list, size_t count, size_t but);

/** The simplest of those that are as fast as the fastest but for the tie band. count must not be 0. */
size_t tj_choose_winner(const tj_finalist *list, size_t count);

#endif
