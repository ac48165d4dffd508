/* SPDX-License-Identifier: Apache-2.0 */
/*
 * winner: which of the finalists wins.
 *
 * Two configs whose times differ by less than they vary are the same to the user. Among such the default wins, so that a
 * record says something only where there is something to say, and then the simplest, so that tuning twice gives one answer.
 */
#include "winner.h"

#include <string.h>

static const double TIE_BAND = 0.005; /* of the best time, at least: medians of interleaved turns vary half that much */
static const double MOST_TIE = 0.03;  /* however noisy the device is */

/* Of two within the tie band: the default, then the one that takes less of a multiprocessor, then the lesser text. */
static bool is_simpler(const tj_finalist *a, const tj_finalist *b)
{
    char a_text[TJ_CONFIG_TEXT_BYTES], b_text[TJ_CONFIG_TEXT_BYTES];

    if (a->is_default != b->is_default)
        return a->is_default;
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
        if (list[i].us <= (1 + band) * list[fastest].us && is_simpler(&list[i], &list[winner]))
            winner = i;
    return winner;
}
