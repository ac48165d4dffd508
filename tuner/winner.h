/* SPDX-License-Identifier: Apache-2.0 */
/*
 * winner: which trials meet in the finals, which go on after the first rounds, and which of them wins.
 */
#ifndef TJ_TUNER_WINNER_H
#define TJ_TUNER_WINNER_H

#include <tilejit/tuner.h>

enum { TJ_ROUNDS = 40, TJ_FINALISTS = 16, TJ_CONTENDERS = 6 };

/** The role of a finalist before this tuning: of two that are equally fast, the higher standing wins. */
typedef enum tj_standing {
    TJ_FOUND,    /* none: the search found it */
    TJ_RECORDED, /* the choice of an earlier tuning of this problem */
    TJ_STANDARD  /* the library's choice without a record */
} tj_standing;

/** A config in the interleaved comparison. */
typedef struct tj_finalist {
    tj_trial trial;
    tj_standing standing;
    double round[TJ_ROUNDS]; /* its time in each round, in microseconds */
    double us, spread;       /* by tj_judge_rounds */
} tj_finalist;

/**
 * The configs that are compared whatever their times, so that the winner is not slower than either, apart from the tie band.
 */
typedef struct tj_incumbents {
    tj_config standard, recorded; /* recorded: the standard if there is no record */
} tj_incumbents;

/**
 * List finalists from trials in the order of their times: the incumbents among them, and the fastest others; at most
 * TJ_FINALISTS.
 */
size_t tj_list_finalists(const tj_trial *trial, size_t count, const tj_incumbents *in, tj_finalist *list);

/**
 * Fill in us and spread of all finalists from the first `rounds` rounds, at least one. A time counts as its share of the whole
 * round, so that the slowdown of a whole round, as by a falling clock, affects no config. us: the median share of a round of
 * median length. spread: half the distance of the shares' quartiles, relative to their median. A single finalist is judged by
 * its times.
 */
void tj_judge_rounds(tj_finalist *list, size_t count, size_t rounds);

/** Return the spread of the lengths of rounds, as tj_spread; 0 of fewer than three. */
double tj_round_noise(const tj_finalist *list, size_t count, size_t rounds);

/** Return us of the finalist with this standing; otherwise if there is none. */
double tj_finalist_us(const tj_finalist *list, size_t count, tj_standing standing, double otherwise);

/** Fill in us and spread from the search's measurements, which decide if there is no time for a round. */
void tj_judge_looks(tj_finalist *list, size_t count);

/**
 * Keep the incumbents and the fastest others, by us, in their order; at most `most`, which is 3 or more. Returns their number.
 */
size_t tj_keep_contenders(tj_finalist *list, size_t count, size_t most);

/** Return the fastest except index `but`; but >= count: the fastest of all. 0 if there is no other. */
size_t tj_fastest_of(const tj_finalist *list, size_t count, size_t but);

/** Return the simplest of those that are as fast as the fastest within the tie band. count must not be 0. */
size_t tj_choose_winner(const tj_finalist *list, size_t count);

#endif
