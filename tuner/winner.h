/* SPDX-License-Identifier: Apache-2.0 */
/*
 * winner: which trials meet in the finals, which go on after the heat, and which of them wins.
 */
#ifndef TJ_TUNER_WINNER_H
#define TJ_TUNER_WINNER_H

#include <tilejit/tuner.h>

enum { TJ_TURNS = 40, TJ_FINALISTS = 16, TJ_CONTENDERS = 6 };

/** What a finalist was before this tuning: of two that are as fast, the one with more standing wins. */
typedef enum tj_standing {
    TJ_FOUND,    /* nothing: the search came upon it */
    TJ_RECORDED, /* what an earlier tuning of this problem chose */
    TJ_STANDARD  /* the library's choice without a record */
} tj_standing;

/** A config in the interleaved comparison. */
typedef struct tj_finalist {
    tj_trial trial;
    tj_standing standing;
    double turn[TJ_TURNS]; /* what it took in each turn, in microseconds */
    double us, spread;     /* by tj_judge_turns */
} tj_finalist;

/** The configs that are compared whatever their times, so that the winner is no slower than either, but for the tie band. */
typedef struct tj_incumbents {
    tj_config standard, recorded; /* recorded: the standard again if there is no record */
} tj_incumbents;

/** From trials in the order of their times: the incumbents among them, and the fastest others; at most TJ_FINALISTS. */
size_t tj_list_finalists(const tj_trial *trial, size_t count, const tj_incumbents *in, tj_finalist *list);

/**
 * Fill us and spread of all from the first so many turns, at least one. A time counts as its share of what its turn took in all: what
 * slows a whole turn, as a clock does that falls under load, says nothing of one config. us: the median share, of a turn of median length.
 * spread: half the distance of the shares' quartiles, by their median. One alone is judged by its times.
 */
void tj_judge_turns(tj_finalist *list, size_t count, size_t turns);

/** us of the one that stands so; otherwise if none does. */
double tj_finalist_us(const tj_finalist *list, size_t count, tj_standing standing, double otherwise);

/** Fill us and spread of all from the looks of the search: what counts where there is time for no turn. */
void tj_judge_looks(tj_finalist *list, size_t count);

/** Let the incumbents and the fastest others, by us, stay in the list, in their order; at most so many, which are 3 or more. Returns how many. */
size_t tj_keep_contenders(tj_finalist *list, size_t count, size_t most);

/** The fastest but one; but >= count: of all. 0 if there is no other. */
size_t tj_fastest_of(const tj_finalist *list, size_t count, size_t but);

/** The simplest of those that are as fast as the fastest but for the tie band. count must not be 0. */
size_t tj_choose_winner(const tj_finalist *list, size_t count);

#endif
