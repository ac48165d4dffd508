/* SPDX-License-Identifier: Apache-2.0 */
/*
 * climb: the config that the model ranks first, without asking it about all of them: a choice has to cost less than a load.
 *
 * From the default of each family and from its smallest tiles, each with each of its words (copy=async, copy=registers): always to
 * the best config that is a step on one axis or on each of two away, until none is better. Constraints tie axes together in
 * pairs, so pairs of steps get past them.
 */
#include "climb.h"

#include <stdbool.h>

#include "rank.h"
#include "space.h"

typedef struct climb {
    const tj_problem *problem;
    const tj_device_facts *device;
    tj_axes axes;
    tj_config here, best; /* best: of the neighbours of here */
    double least;         /* seconds of the best so far; 0: none */
} climb;

static bool look_at(climb *c, const tj_config *config)
{
    double seconds = tj_rank_predict(c->device, c->problem, config);

    /* What is not worth a trial may be passed through, but nothing should end there. */
    if (!tj_space_admits(c->problem, c->device, config))
        seconds *= 2;
    if (!(seconds > 0) || (c->least > 0 && seconds >= c->least))
        return false;
    c->least = seconds;
    c->best = *config;
    return true;
}

static bool look_around(climb *c)
{
    bool is_better = false;

    for (size_t axis = 0; axis < c->axes.count; axis++)
        for (int step = -1; step <= 1; step += 2) {
            tj_config one = c->here, two;

            if (!tj_axes_step(&c->axes, &one, axis, step))
                continue;
            is_better |= look_at(c, &one);
            for (size_t other = axis + 1; other < c->axes.count; other++)
                for (int other_step = -1; other_step <= 1; other_step += 2) {
                    two = one;
                    if (tj_axes_step(&c->axes, &two, other, other_step))
                        is_better |= look_at(c, &two);
                }
        }
    return is_better;
}

/* From start, until no neighbour is better. Nothing happens where that ends behind the best so far. */
static void climb_up(climb *c, const tj_config *start)
{
    const climb before = *c;

    c->least = 0;
    for (bool goes_on = look_at(c, start); goes_on; goes_on = look_around(c))
        c->here = c->best;
    if (c->least == 0 || (before.least > 0 && before.least <= c->least))
        *c = before;
}

static void climb_from(climb *c, const tj_config *given)
{
    tj_config start = *given;

    if (tj_config_resolve(c->problem, &start, NULL) != TJ_OK)
        return;
    tj_axes_leave_open(&c->axes, &start);
    climb_up(c, &start);
}

/* From a config, and from it with each word of each parameter that takes words. */
static void climb_from_words(climb *c, const tj_config *start)
{
    climb_from(c, start);
    for (size_t axis = 0; axis < c->axes.count; axis++)
        if (tj_family_param(start->family, axis)->choice)
            for (size_t i = 0; i < c->axes.length[axis]; i++) {
                tj_config word = *start;

                word.value[axis] = c->axes.value[axis][i];
                climb_from(c, &word);
            }
}

/* Where neither works: from a default with two other values, the first that can be launched. */
static void climb_from_pairs(climb *c, const tj_config *start)
{
    for (size_t a = 0; a < c->axes.count; a++)
        for (size_t b = a + 1; b < c->axes.count; b++)
            for (size_t i = 0; i < c->axes.length[a]; i++)
                for (size_t k = 0; k < c->axes.length[b] && c->least == 0; k++) {
                    tj_config pair = *start;

                    pair.value[a] = c->axes.value[a][i];
                    pair.value[b] = c->axes.value[b][k];
                    climb_from(c, &pair);
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
    climb_from_words(c, &standard);
    climb_from_words(c, &smallest);
    if (c->least == 0)
        climb_from_pairs(c, &standard);
}

double tj_climb(const tj_problem *problem, const tj_device_facts *device, tj_config *best)
{
    double least = 0;

    for (size_t i = 0; i < tj_family_count(); i++) {
        climb c = {.problem = problem, .device = device};

        climb_family(&c, tj_family_at(i));
        if (c.least > 0 && (least == 0 || c.least < least)) {
            least = c.least;
            *best = c.best;
        }
    }
    return least;
}
