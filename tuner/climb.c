/* SPDX-License-Identifier: Apache-2.0 */
/*
 * climb: the config that the model ranks first, without asking it about all of them: a choice has to cost less than a load.
 *
 * From the default of each family, from its smallest tiles and from some configs drawn by chance: always to the best config that is
 * a step on one axis away, until none is better. From the best of all, on each of two axes as well: constraints tie axes together
 * in pairs, so pairs of steps get past them.
 */
#include "climb.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "rank.h"
#include "space.h"

/* What the model said before. Neighbourhoods overlap, so most configs are met several times; a later one takes the place of an
 * earlier one that falls on it. */
enum { KNOWN = 8192 };

enum { STARTS = 12, MOST_DRAWN = 600 };

typedef struct known_config {
    int32_t value[TJ_CONFIG_MAX_PARAMS];
    bool is_set;
    double seconds;
} known_config;

typedef struct climb {
    const tj_problem *problem;
    const tj_device_facts *device;
    tj_axes axes;
    tj_config here, best; /* best: of the neighbours of here */
    double least;         /* seconds of the best so far; 0: none */
    known_config *known;  /* of this family; NULL: memory ran out, and all are asked about anew */
} climb;

static double ask(const climb *c, const tj_config *config)
{
    const double seconds = tj_rank_predict(c->device, c->problem, config);

    /* What is not worth a trial may be passed through, but nothing should end there. */
    return seconds > 0 && !tj_space_admits(c->problem, c->device, config) ? 2 * seconds : seconds;
}

static double seconds_of(const climb *c, const tj_config *config)
{
    known_config *known;

    if (!c->known)
        return ask(c, config);
    known = &c->known[tj_hash_bytes64(config->value, sizeof config->value) % KNOWN];
    if (!known->is_set || memcmp(known->value, config->value, sizeof known->value) != 0) {
        memcpy(known->value, config->value, sizeof known->value);
        known->is_set = true;
        known->seconds = ask(c, config);
    }
    return known->seconds;
}

static bool look_at(climb *c, const tj_config *config)
{
    const double seconds = seconds_of(c, config);

    if (!(seconds > 0) || (c->least > 0 && seconds >= c->least))
        return false;
    c->least = seconds;
    c->best = *config;
    return true;
}

/* Steps on one axis, and on each of two where that is asked for. */
static bool look_around(climb *c, bool in_pairs)
{
    bool is_better = false;

    for (size_t axis = 0; axis < c->axes.count; axis++)
        for (int step = -1; step <= 1; step += 2) {
            tj_config one = c->here, two;

            if (!tj_axes_step(&c->axes, &one, axis, step))
                continue;
            is_better |= look_at(c, &one);
            for (size_t other = axis + 1; in_pairs && other < c->axes.count; other++)
                for (int other_step = -1; other_step <= 1; other_step += 2) {
                    two = one;
                    if (tj_axes_step(&c->axes, &two, other, other_step))
                        is_better |= look_at(c, &two);
                }
        }
    return is_better;
}

/* From start, until no neighbour is better. Nothing happens where that ends behind the best so far. */
static void climb_up(climb *c, const tj_config *start, bool in_pairs)
{
    const climb before = *c;

    c->least = 0;
    for (bool goes_on = look_at(c, start); goes_on; goes_on = look_around(c, in_pairs))
        c->here = c->best;
    if (c->least == 0 || (before.least > 0 && before.least <= c->least))
        *c = before;
}

static void climb_from(climb *c, const tj_config *given, bool in_pairs)
{
    tj_config start = *given;

    if (tj_config_resolve(c->problem, &start, NULL) != TJ_OK)
        return;
    tj_axes_leave_open(&c->axes, &start);
    climb_up(c, &start, in_pairs);
}

/* A config of the family by chance; the same ones for every problem. */
static tj_config draw(const climb *c, const tj_family *family, uint64_t *random)
{
    tj_config config = TJ_CONFIG_INIT;

    config.family = family;
    for (size_t axis = 0; axis < c->axes.count; axis++) {
        *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        config.value[axis] = c->axes.value[axis][(*random >> 33) % c->axes.length[axis]];
    }
    return config;
}

/* One after the other until so many could be launched, or so many could not. */
static void climb_from_chance(climb *c, const tj_family *family)
{
    uint64_t random = 1;

    for (int tries = 0, starts = 0; tries < MOST_DRAWN && starts < STARTS; tries++) {
        tj_config config = draw(c, family, &random);

        if (tj_config_resolve(c->problem, &config, NULL) != TJ_OK)
            continue;
        climb_from(c, &config, false);
        starts++;
    }
}

static void climb_family(climb *c, const tj_family *family)
{
    tj_config standard = TJ_CONFIG_INIT, smallest = TJ_CONFIG_INIT;

    c->least = 0;
    tj_axes_of(family, &c->axes);
    standard.family = smallest.family = family;
    for (size_t axis = 0; axis < c->axes.count; axis++)
        smallest.value[axis] = c->axes.value[axis][0];
    climb_from(c, &standard, false);
    climb_from(c, &smallest, false);
    climb_from_chance(c, family);
    if (c->least > 0) {
        const tj_config start = c->best;

        climb_from(c, &start, true);
    }
}

double tj_climb(const tj_problem *problem, const tj_device_facts *device, tj_config *best)
{
    double least = 0;

    for (size_t i = 0; i < tj_family_count(); i++) {
        climb c = {.problem = problem, .device = device, .known = calloc(KNOWN, sizeof *c.known)};

        climb_family(&c, tj_family_at(i));
        if (c.least > 0 && (least == 0 || c.least < least)) {
            least = c.least;
            *best = c.best;
        }
        free(c.known);
    }
    return least;
}
