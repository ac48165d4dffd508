/* SPDX-License-Identifier: Apache-2.0 */
/*
 * winner: which trials meet in the finals, which go on after the first rounds, and which of them wins.
 *
 * Two configs whose times differ by less than their variation are equal to the user. Among equals the default wins, so that a
 * record exists only where it matters; then the choice of an earlier tuning, so that tuning again changes something only for a
 * gain; then the simplest.
 */
#include "winner.h"

#include <stdbool.h>
#include <string.h>

#include "measure.h"

static const double FINAL_BAND = 1.08; /* of the best time, for finalists */
static const double TIE_BAND = 0.005;  /* of the best time, at least: a config in two tunings differs by 0.2 %, at most 0.8 % */
static const double MOST_TIE = 0.01;   /* for any noise of the device */

static tj_standing standing_of(const tj_incumbents *in, const tj_config *config)
{
    if (memcmp(config, &in->standard, sizeof *config) == 0)
        return TJ_STANDARD;
    return memcmp(config, &in->recorded, sizeof *config) == 0 ? TJ_RECORDED : TJ_FOUND;
}

size_t tj_list_finalists(const tj_trial *trial, size_t count, const tj_incumbents *in, tj_finalist *list)
{
    const bool has_record = memcmp(&in->standard, &in->recorded, sizeof in->standard) != 0;
    size_t others = TJ_FINALISTS - 1 - has_record, listed = 0;

    for (size_t i = 0; i < count; i++) {
        const tj_standing standing = standing_of(in, &trial[i].config);

        if (trial[i].state != TJ_TRIAL_TIMED || !trial[i].is_verified)
            continue;
        if (standing == TJ_FOUND && (others == 0 || trial[i].us > FINAL_BAND * trial[0].us))
            continue;
        others -= standing == TJ_FOUND;
        list[listed++] = (tj_finalist){.trial = trial[i], .standing = standing};
    }
    return listed;
}

void tj_judge_rounds(tj_finalist *list, size_t count, size_t rounds)
{
    double length[TJ_ROUNDS] = {0}, sorted[TJ_ROUNDS], share[TJ_ROUNDS], usual;

    for (size_t round = 0; round < rounds; round++)
        for (size_t i = 0; i < count; i++)
            length[round] += count > 1 ? list[i].round[round] : 1; /* a single finalist has no share, only its time */
    memcpy(sorted, length, sizeof sorted);
    usual = tj_median(sorted, rounds);
    for (size_t i = 0; i < count; i++) {
        for (size_t round = 0; round < rounds; round++)
            share[round] = length[round] > 0 ? list[i].round[round] / length[round] : 0;
        list[i].us = usual * tj_median(share, rounds);
        list[i].spread = tj_spread(share, rounds);
    }
}

double tj_round_noise(const tj_finalist *list, size_t count, size_t rounds)
{
    double length[TJ_ROUNDS] = {0};

    for (size_t round = 0; round < rounds; round++)
        for (size_t i = 0; i < count; i++)
            length[round] += list[i].round[round];
    (void)tj_median(length, rounds); /* sorts them */
    return rounds < 3 ? 0 : tj_spread(length, rounds);
}

void tj_judge_looks(tj_finalist *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        list[i].us = list[i].trial.us;
        list[i].spread = list[i].trial.spread;
    }
}

size_t tj_keep_contenders(tj_finalist *list, size_t count, size_t most)
{
    while (count > most) {
        size_t slowest = 0;

        for (size_t i = 1; i < count; i++)
            if (list[i].standing == TJ_FOUND && (list[slowest].standing != TJ_FOUND || list[i].us >= list[slowest].us))
                slowest = i;
        count--;
        memmove(&list[slowest], &list[slowest + 1], (count - slowest) * sizeof *list);
    }
    return count;
}

/*
 * Prefer, within the tie band, the higher standing, then less shared memory, then fewer registers, then the lesser text.
 */
static bool is_preferred(const tj_finalist *a, const tj_finalist *b)
{
    char a_text[TJ_CONFIG_TEXT_BYTES], b_text[TJ_CONFIG_TEXT_BYTES];

    if (a->standing != b->standing)
        return a->standing > b->standing;
    if (a->trial.shared_bytes != b->trial.shared_bytes)
        return a->trial.shared_bytes < b->trial.shared_bytes;
    if (a->trial.registers != b->trial.registers)
        return a->trial.registers < b->trial.registers;
    tj_config_print(&a->trial.config, a_text);
    tj_config_print(&b->trial.config, b_text);
    return strcmp(a_text, b_text) < 0;
}

size_t tj_fastest_of(const tj_finalist *list, size_t count, size_t but)
{
    size_t best = but == 0 && count > 1 ? 1 : 0;

    for (size_t i = 0; i < count; i++)
        if (i != but && list[i].us < list[best].us)
            best = i;
    return best;
}

size_t tj_choose_winner(const tj_finalist *list, size_t count)
{
    const size_t fastest = tj_fastest_of(list, count, count);
    double band = list[fastest].spread;
    size_t winner = fastest;

    band = band < TIE_BAND ? TIE_BAND : band > MOST_TIE ? MOST_TIE : band;
    for (size_t i = 0; i < count; i++)
        if (list[i].us <= (1 + band) * list[fastest].us && is_preferred(&list[i], &list[winner]))
            winner = i;
    return winner;
}

double tj_finalist_us(const tj_finalist *list, size_t count, tj_standing standing, double otherwise)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].standing == standing)
            return list[i].us;
    return otherwise;
}
