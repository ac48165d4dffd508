/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which finalist wins: the fastest, unless a simpler one is as fast but for what times vary.
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

Test(winner, is_the_simplest_within_the_tie_band)
{
    static const struct {
        double us[3], spread; /* the first is the default; the second the smaller kernel */
        size_t winner;
    } rows[] = {
        {{100, 100, 90}, 0, 2},      /* clearly faster */
        {{100, 99.8, 99.6}, 0, 0},   /* within 0.5 %: the default stays */
        {{100, 99.6, 99.2}, 0, 1},   /* not within 0.5 %: of the others the smaller one */
        {{110, 100.4, 100}, 0, 1},   /* within 0.5 %: the smaller one */
        {{110, 100.6, 100}, 0, 2},   /* not within 0.5 % */
        {{110, 102, 100}, 0.025, 1}, /* but within what it varies */
        {{105, 110, 100}, 0.5, 2},   /* and never more than 3 % */
        {{102.9, 110, 100}, 0.5, 0}, /* up to there it is */
        {{100, 120, 130}, 0.001, 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_finalist list[] = {finalist(rows[i].us[0], rows[i].spread, 3000, 64, 16),
                              finalist(rows[i].us[1], rows[i].spread, 1000, 64, 16),
                              finalist(rows[i].us[2], rows[i].spread, 2000, 64, 16)};

        list[0].is_default = true;
        cr_expect(eq(sz, tj_choose_winner(list, 3), rows[i].winner), "row %zu", i);
        for (size_t k = 0; k < 3; k++) { /* whatever the order */
            const tj_finalist turned[] = {list[k], list[(k + 1) % 3], list[(k + 2) % 3]};

            cr_expect(eq(sz, (tj_choose_winner(turned, 3) + k) % 3, rows[i].winner), "row %zu turned by %zu", i, k);
        }
    }
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
