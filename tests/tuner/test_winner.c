/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * The trials that meet in the finals, those that go on after the first round, and the winner: the fastest, unless a simpler one is as
 * fast within the variation of times.
 */
#include "tuner_test.h"
#include "winner.h"

static tj_finalist finalist(double us, double spread, int64_t shared_bytes, int32_t registers, int32_t tile_width)
{
    tj_finalist f = {.us = us, .spread = spread};

    f.trial.config = (tj_config)TJ_CONFIG_INIT;
    f.trial.config.family = tj_family_find("tiled");
    f.trial.config.value[0] = tile_width;
    f.trial.shared_bytes = shared_bytes;
    f.trial.registers = registers;
    return f;
}

/* Twenty trials of config n, each 0.1 % slower than the one before, all verified. */
static void make_trials(tj_trial trial[20])
{
    memset(trial, 0, 20 * sizeof *trial);
    for (int32_t i = 0; i < 20; i++) {
        trial[i].config = (tj_config)TJ_CONFIG_INIT;
        trial[i].config.value[0] = i;
        trial[i].state = TJ_TRIAL_TIMED;
        trial[i].is_verified = 1;
        trial[i].us = 100 + 0.1 * i;
    }
}

static int32_t number_of(const tj_finalist *f)
{
    return f->trial.config.value[0];
}

Test(finalists, are_the_fastest_and_what_was_there_before)
{
    tj_trial trial[20];
    tj_finalist list[TJ_FINALISTS];
    tj_incumbents in;

    make_trials(trial);
    in = (tj_incumbents){trial[18].config, trial[15].config};
    trial[15].us = trial[18].us = 500; /* however slow */
    cr_assert(eq(sz, tj_list_finalists(trial, 20, &in, list), 16));
    for (int32_t i = 0; i < 14; i++)
        cr_expect(number_of(&list[i]) == i && list[i].standing == TJ_FOUND, "%d", i);
    cr_expect(number_of(&list[14]) == 15 && list[14].standing == TJ_RECORDED);
    cr_expect(number_of(&list[15]) == 18 && list[15].standing == TJ_STANDARD);

    in.recorded = in.standard; /* there is no record, or it has the same config */
    cr_assert(eq(sz, tj_list_finalists(trial, 20, &in, list), 16));
    cr_expect(number_of(&list[14]) == 14 && list[14].standing == TJ_FOUND);
    cr_expect(number_of(&list[15]) == 18 && list[15].standing == TJ_STANDARD);
}

Test(finalists, are_near_the_best_timed_and_verified)
{
    tj_trial trial[20];
    tj_finalist list[TJ_FINALISTS];
    tj_incumbents in;

    make_trials(trial);
    in = (tj_incumbents){trial[1].config, trial[2].config};
    trial[1].is_verified = 0; /* no standing helps what was not verified or timed */
    trial[2].state = TJ_TRIAL_SLOW;
    trial[4].is_verified = 0;
    for (int32_t i = 6; i < 20; i++)
        trial[i].us = 108.1 + i;
    cr_assert(eq(sz, tj_list_finalists(trial, 20, &in, list), 3));
    cr_expect(number_of(&list[0]) == 0 && number_of(&list[1]) == 3 && number_of(&list[2]) == 5);
    cr_expect(eq(sz, tj_list_finalists(trial, 0, &in, list), 0));
}

Test(winner, is_the_simplest_within_the_tie_band)
{
    static const struct {
        double us[3], spread; /* the first is the default; the second the smaller kernel */
        size_t winner;
    } rows[] = {
        {{100, 100, 90}, 0, 2},        /* clearly faster */
        {{100, 99.8, 99.6}, 0, 0},     /* within 0.5 %: the default stays */
        {{100, 99.6, 99.2}, 0, 1},     /* not within 0.5 %: of the others the smaller one */
        {{110, 100.4, 100}, 0, 1},     /* within 0.5 %: the smaller one */
        {{110, 100.6, 100}, 0, 2},     /* not within 0.5 % */
        {{110, 100.8, 100}, 0.009, 1}, /* but within what it varies */
        {{101.1, 110, 100}, 0.5, 2},   /* and never more than 1 % */
        {{100.9, 110, 100}, 0.5, 0},   /* up to there it is */
        {{100, 120, 130}, 0.001, 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_finalist list[] = {finalist(rows[i].us[0], rows[i].spread, 3000, 64, 16),
                              finalist(rows[i].us[1], rows[i].spread, 1000, 64, 16),
                              finalist(rows[i].us[2], rows[i].spread, 2000, 64, 16)};

        list[0].standing = TJ_STANDARD;
        cr_expect(eq(sz, tj_choose_winner(list, 3), rows[i].winner), "row %zu", i);
        for (size_t k = 0; k < 3; k++) { /* whatever the order */
            const tj_finalist turned[] = {list[k], list[(k + 1) % 3], list[(k + 2) % 3]};

            cr_expect(eq(sz, (tj_choose_winner(turned, 3) + k) % 3, rows[i].winner), "row %zu turned by %zu", i, k);
        }
    }
}

/* Two configs, the first the default, 0.8 % apart, on a device whose clock falls by a tenth, and rises again, while they are compared. */
Test(rounds, a_clock_that_drifts_hides_nothing)
{
    static const double clock[] = {1, 1.02, 1.06, 1.1, 1.1, 1.05, 1};
    tj_finalist list[2] = {finalist(0, 0, 1000, 32, 16), finalist(0, 0, 2000, 32, 32)};

    list[0].standing = TJ_STANDARD;
    for (size_t round = 0; round < 7; round++) {
        list[0].round[round] = 100.8 * clock[round];
        list[1].round[round] = 100 * clock[round];
    }
    list[0].round[3] = 250; /* and one sample that something else disturbed */
    tj_judge_rounds(list, 2, 7);
    cr_expect(ieee_ulp_eq(dbl, list[0].us / list[1].us, 1.008, 8));
    cr_expect(fabs(list[1].us - 105) < 0.5, "%g: as in the median round", list[1].us);
    cr_expect(list[0].spread < 1e-12 && list[1].spread < 1e-12, "%g %g", list[0].spread, list[1].spread);
    cr_expect(eq(sz, tj_choose_winner(list, 2), 1));
}

Test(rounds, spread_is_what_one_varies_by_beside_the_others)
{
    tj_finalist list[2] = {finalist(0, 0, 0, 0, 16), finalist(0, 0, 0, 0, 32)};

    for (size_t round = 0; round < 5; round++) {
        list[0].round[round] = 100;
        list[1].round[round] = 90 + 5 * (double)round; /* 90 to 110: half of them between 95 and 105 */
    }
    tj_judge_rounds(list, 2, 5);
    cr_expect(fabs(list[0].us - 100) < 1e-9 && fabs(list[1].us - 100) < 1e-9);
    cr_expect(fabs(list[1].spread - 0.025) < 1e-3, "%g: of their sum, which varies half as much", list[1].spread);
    tj_judge_rounds(list, 2, 1);
    cr_expect(eq(dbl, list[0].us, 100), "one round is itself");
    cr_expect(eq(dbl, list[1].us, 90));
    cr_expect(eq(dbl, list[0].spread, 0));
    cr_expect(eq(dbl, list[1].spread, 0));
}

Test(rounds, of_one_alone_are_its_times)
{
    tj_finalist one = finalist(0, 0, 0, 0, 16);

    for (size_t round = 0; round < 5; round++)
        one.round[round] = 90 + 5 * (double)round;
    tj_judge_rounds(&one, 1, 5);
    cr_expect(eq(dbl, one.us, 100));
    cr_expect(eq(dbl, one.spread, 0.05));
}

Test(rounds, of_no_length_are_no_times)
{
    tj_finalist list[2] = {finalist(1, 1, 0, 0, 16), finalist(1, 1, 0, 0, 32)};

    tj_judge_rounds(list, 2, 3);
    cr_expect(eq(dbl, list[0].us, 0));
    cr_expect(eq(dbl, list[1].spread, 0));
}

Test(contenders, are_the_fastest_and_what_was_there_before)
{
    static const double us[] = {107, 101, 105, 103, 100, 104, 102, 120, 130, 104};
    static const int32_t stay[] = {1, 3, 4,
                                   6, 7, 8}; /* in their order: the fastest four, and two slow ones for their standing */
    tj_finalist list[10];

    for (int32_t i = 0; i < 10; i++)
        list[i] = finalist(us[i], 0, 0, 0, i);
    list[7].standing = TJ_STANDARD;
    list[8].standing = TJ_RECORDED;
    list[4].round[39] = 99; /* what they took stays with them */
    cr_assert(eq(sz, tj_keep_contenders(list, 10, 6), 6));
    for (size_t i = 0; i < 6; i++)
        cr_expect(eq(i32, number_of(&list[i]), stay[i]), "%zu", i);
    cr_expect(list[4].standing == TJ_STANDARD && list[5].standing == TJ_RECORDED);
    cr_expect(eq(dbl, list[2].round[39], 99));
    cr_expect(eq(sz, tj_keep_contenders(list, 6, 6), 6), "all stay where there are no more");
    cr_expect(eq(sz, tj_keep_contenders(list, 1, 6), 1));
}

/* If a round of six would take too long: the earlier config, and the fastest other. */
Test(contenders, may_be_no_more_than_three)
{
    static const double us[] = {107, 101, 120, 99, 130};
    tj_finalist list[5];

    for (int32_t i = 0; i < 5; i++)
        list[i] = finalist(us[i], 0, 0, 0, i);
    list[2].standing = TJ_STANDARD;
    list[4].standing = TJ_RECORDED;
    cr_assert(eq(sz, tj_keep_contenders(list, 5, 3), 3));
    cr_expect(list[0].standing == TJ_STANDARD && number_of(&list[1]) == 3 && list[2].standing == TJ_RECORDED);
}

/* Until there were rounds, one look is what is known. */
Test(looks, are_times_too)
{
    tj_finalist list[2] = {finalist(1, 0.1, 0, 0, 16), finalist(2, 0.1, 0, 0, 32)};

    list[0].trial.us = 30;
    list[0].trial.spread = 0.004;
    list[1].trial.us = 40;
    tj_judge_looks(list, 2);
    cr_expect(eq(dbl, list[0].us, 30));
    cr_expect(eq(dbl, list[0].spread, 0.004));
    cr_expect(eq(dbl, list[1].us, 40));
    cr_expect(eq(dbl, list[1].spread, 0));
}

Test(contenders, of_equals_are_those_listed_first)
{
    tj_finalist list[9];

    for (int32_t i = 0; i < 9; i++)
        list[i] = finalist(100, 0, 0, 0, i);
    cr_assert(eq(sz, tj_keep_contenders(list, 9, 6), 6));
    for (int32_t i = 0; i < 6; i++)
        cr_expect(eq(i32, number_of(&list[i]), i));
}

Test(winner, of_equals_is_what_was_there_before)
{
    tj_finalist list[] = {
        finalist(100, 0, 1000, 32, 16),
        finalist(100.4, 0, 9000, 64, 16),
        finalist(100.2, 0, 9000, 64, 32),
    };

    list[1].standing = TJ_RECORDED;
    cr_expect(eq(sz, tj_choose_winner(list, 3), 1), "not even for a smaller kernel");
    list[2].standing = TJ_STANDARD;
    cr_expect(eq(sz, tj_choose_winner(list, 3), 2), "but for the default");
    list[1].us = list[2].us = 100.6;
    cr_expect(eq(sz, tj_choose_winner(list, 3), 0), "and for what is faster");
}

Test(winner, of_equals_takes_least_of_a_multiprocessor)
{
    const tj_finalist list[] = {
        finalist(100, 0, 9000, 32, 32),
        finalist(100.4, 0, 1000, 64, 32),
        finalist(100.2, 0, 1000, 48, 32),
        finalist(100.3, 0, 1000, 48, 16),
    };

    cr_expect(eq(sz, tj_choose_winner(list, 2), 1), "less shared memory, whatever the registers");
    cr_expect(eq(sz, tj_choose_winner(list, 3), 2), "the same shared memory: fewer registers");
    cr_expect(eq(sz, tj_choose_winner(list, 4), 3), "the same registers, too: the lesser text");
}

Test(winner, the_second_is_the_fastest_but_the_winner)
{
    const tj_finalist list[] = {finalist(100, 0, 0, 0, 16), finalist(99, 0, 0, 0, 16), finalist(98, 0, 0, 0, 16)};

    cr_expect(eq(sz, tj_fastest_of(list, 3, 3), 2));
    cr_expect(eq(sz, tj_fastest_of(list, 3, 2), 1));
    cr_expect(eq(sz, tj_fastest_of(list, 2, 0), 1));
    cr_expect(eq(sz, tj_fastest_of(list, 1, 0), 0), "there is no other");
}
