/* SPDX-License-Identifier: Apache-2.0 */
/*
 * climb: find the config that the model ranks first without asking it about all configs: a choice must cost less than a load.
 *
 * Each family names start configs (tj_family_start), one of which is near the best for most problems. From the best few of
 * them, climb to the best value of one axis after the other, until no value improves. From the best of all, also try a step on
 * each of two axes, and another choice on one axis with any value on another: constraints tie axes together in pairs, and pairs
 * get past them.
 *
 * It goes no further. The model is more certain near configs that were measured to be fast: on an H200, choices for f32 became
 * slower with more climbs.
 */
#include "climb.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "rank.h"
#include "space.h"
#include "estimate.h"
#include "settle.h"
#include "starts.h"

enum { MOST_STARTS = 96, CLIMBS = 4 };

/* Predictions so far, because climbs meet. A config replaces an earlier one with the same hash. */
enum { KNOWN = 512 };

static const double BEHIND = 3; /* times the best so far: a family that begins slower does not catch up, */
static const double NEAR = 1.1; /* and one that ends slower is not helped by another choice value */

typedef struct known_config {
    int32_t value[TJ_CONFIG_MAX_PARAMS];
    bool is_set;
    double seconds;
} known_config;

typedef struct scored_config {
    tj_config config;
    double seconds; /* 0: none */
    int order;      /* number of the start */
} scored_config;

/* The climb in one family: too large for a caller's small stack. */
typedef struct climb {
    const tj_request *request;
    tj_request counted; /* as it is counted */
    const tj_device_facts *device;
    tj_climb_terms terms;
    tj_axes axes;
    known_config known[KNOWN];
    scored_config start[MOST_STARTS];
} climb;

/*
 * Return the predicted seconds; 0: none. A climb may pass through configs that are not worth a trial, but should not end at
 * one.
 */
static double ask(const climb *c, const tj_config *config)
{
    tj_config resolved = *config;
    double seconds;

    if (tj_request_resolve(c->request, &resolved, NULL) != TJ_OK ||
        tj_is_refused(&resolved, c->terms.refused, c->terms.refused_count))
        return 0;
    seconds = tj_rank_resolved(c->device, &c->counted, &resolved);
    if (!tj_request_worth_trying(c->request, &resolved))
        return 2 * seconds;
    if (c->terms.visit && seconds > 0)
        c->terms.visit(c->terms.payload, config, seconds);
    return seconds;
}

static double seconds_of(climb *c, const tj_config *config)
{
    known_config *known = &c->known[tj_hash_bytes64(config->value, sizeof config->value) % KNOWN];

    if (!known->is_set || memcmp(known->value, config->value, sizeof known->value) != 0) {
        memcpy(known->value, config->value, sizeof known->value);
        known->is_set = true;
        known->seconds = ask(c, config);
    }
    return known->seconds;
}

static bool improve(climb *c, const tj_config *config, scored_config *best)
{
    const double seconds = seconds_of(c, config);

    if (!(seconds > 0) || (best->seconds > 0 && seconds >= best->seconds))
        return false;
    *best = (scored_config){*config, seconds, best->order};
    return true;
}

/* Try each value of one axis. */
static bool improve_along(climb *c, tj_config config, size_t axis, scored_config *best)
{
    bool is_better = false;

    for (size_t i = 0; i < c->axes.length[axis]; i++) {
        config.value[axis] = c->axes.value[axis][i];
        is_better |= improve(c, &config, best);
    }
    return is_better;
}

/* Climb along one axis after the other, until a round brings no improvement. */
static void climb_up(climb *c, scored_config *best)
{
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (size_t axis = 0; axis < c->axes.count; axis++)
            goes_on |= improve_along(c, best->config, axis, best);
    }
}

/* Try a step on each of two axes, for all pairs. */
static bool step_in_pairs(climb *c, scored_config *best)
{
    const tj_config here = best->config;
    bool is_better = false;

    for (size_t axis = 0; axis < c->axes.count; axis++)
        for (int step = -1; step <= 1; step += 2) {
            tj_config one = here;

            if (!tj_axes_step(&c->axes, &one, axis, step))
                continue;
            for (size_t other = axis + 1; other < c->axes.count; other++)
                for (int other_step = -1; other_step <= 1; other_step += 2) {
                    tj_config two = one;

                    if (tj_axes_step(&c->axes, &two, other, other_step))
                        is_better |= improve(c, &two, best);
                }
        }
    return is_better;
}

/*
 * Try another choice value on one axis, with any value of another axis: choices have no order for steps, and may need distant
 * values on other axes. Parameters that were open keep the values that the form settles now; otherwise they would change as
 * well.
 */
static bool change_words(climb *c, const tj_family *family, scored_config *best)
{
    tj_config here = best->config;
    bool is_better = false;

    if (tj_request_resolve(c->request, &here, NULL) != TJ_OK)
        return false;
    tj_axes_leave_open(&c->axes, &here);
    for (size_t axis = 0; axis < c->axes.count; axis++)
        for (size_t w = 0; tj_family_param(family, axis)->choice && w < c->axes.length[axis]; w++) {
            tj_config one = here;

            one.value[axis] = c->axes.value[axis][w];
            for (size_t other = 0; one.value[axis] != here.value[axis] && other < c->axes.count; other++)
                if (other != axis)
                    is_better |= improve_along(c, one, other, best);
        }
    return is_better;
}

static int by_seconds(const void *a, const void *b)
{
    const scored_config *x = a, *y = b;

    if (x->seconds != y->seconds)
        return x->seconds < y->seconds ? -1 : 1;
    return x->order - y->order;
}

/*
 * Rank the starts that can be launched, best first. The default is spelled out; parameters that others leave open are settled
 * anew at every step.
 */
static int rank_starts(climb *c, const tj_family *family)
{
    tj_config config;
    int count = 0;

    for (size_t i = 0; count < MOST_STARTS && tj_family_start(family, i, &config); i++) {
        double seconds;

        if (i == 0 && tj_request_resolve(c->request, &config, NULL) == TJ_OK)
            tj_axes_leave_open(&c->axes, &config);
        tj_config_spell_out(&config);
        seconds = seconds_of(c, &config);
        if (seconds > 0) {
            c->start[count] = (scored_config){config, seconds, count};
            count++;
        }
    }
    qsort(c->start, (size_t)count, sizeof c->start[0], by_seconds);
    return count;
}

/* Leave a parameter open if the model rates the form's own choice no worse: the form knows what the model does not. */
static void leave_to_form(climb *c, scored_config *best)
{
    for (size_t axis = 0; axis < c->axes.count; axis++) {
        tj_config open = best->config;
        double seconds;

        if (tj_family_param(open.family, axis)->standard != 0)
            continue;
        open.value[axis] = 0;
        seconds = seconds_of(c, &open);
        if (seconds > 0 && seconds <= best->seconds)
            *best = (scored_config){open, seconds, best->order};
    }
}

static void climb_family(climb *c, const tj_family *family, scored_config *best)
{
    scored_config top;
    int count;

    tj_axes_of(family, &c->axes);
    memset(c->known, 0, sizeof c->known);
    count = rank_starts(c, family);
    if (count == 0 || (best->seconds > 0 && c->start[0].seconds > BEHIND * best->seconds))
        return;
    for (int i = 0; i < count && i < CLIMBS; i++) {
        climb_up(c, &c->start[i]);
        if (i == 0 || c->start[i].seconds < top.seconds)
            top = c->start[i];
    }
    while (step_in_pairs(c, &top) || (top.seconds < NEAR * best->seconds && change_words(c, family, &top)))
        climb_up(c, &top);
    leave_to_form(c, &top);
    if (best->seconds == 0 || top.seconds < best->seconds)
        *best = top;
}

double tj_climb(const tj_request *request, const tj_device_facts *device, const tj_climb_terms *terms, tj_config *best)
{
    climb *c = calloc(1, sizeof *c);
    scored_config found = {.seconds = 0};

    if (!c)
        return 0;
    c->request = request;
    tj_request_counted(request, &c->counted);
    c->device = device;
    c->terms = *terms;
    for (size_t i = 0; i < tj_family_count(); i++)
        if (!terms->family || terms->family == tj_family_at(i))
            climb_family(c, tj_family_at(i), &found);
    free(c);
    if (found.seconds > 0 && best)
        *best = found.config;
    return found.seconds;
}
