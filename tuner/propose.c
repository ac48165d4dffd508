/* SPDX-License-Identifier: Apache-2.0 */
/*
 * propose: which points look good.
 *
 * An axis is a list of values, a step goes to the next one: nothing here knows a family's parameters.
 */
#include "search.h"

#include <math.h>
#include <stdlib.h>

enum {
    MAX_RANKED = 20000, /* points of a space that are ranked, evenly spread over it */
    MAX_NEIGHBOURS = 1024
};

static const double FAR = 1.5; /* a config that much slower than the best is no place to look around */

static uint64_t draw(search *s)
{
    uint64_t z = s->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* ---- what looks good ---------------------------------------------------------------------------------------------- */

/* Steps between two points of one family, all axes added up. */
static int distance(const search *s, const tj_point *a, const tj_point *b)
{
    const size_t axes = s->axes[tj_search_family(s, a->config.family)].count;
    int steps = 0;

    for (size_t i = 0; i < axes; i++)
        steps += abs(a->at[i] - b->at[i]);
    return steps;
}

/* The model's time, times how wrong it was nearby: logarithms. Without a trial near, its mean error counts a little. */
static double score(search *s, tj_point *p)
{
    double sum = 0, weight = 1e-3;

    for (size_t i = 0; i < s->trials; i++) {
        const tj_point *tried = &s->point[s->trial_point[i]];
        double w;

        if (isnan(s->trial_log[i]) || tried->config.family != p->config.family)
            continue;
        w = exp(-1.0 * distance(s, p, tried));
        sum += w * (s->trial_log[i] - tried->predicted);
        weight += w;
    }
    return tj_search_predicted(s, p) + sum / weight;
}

int tj_by_score(const void *a, const void *b)
{
    const tj_ranked *x = a, *y = b;

    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    return x->point < y->point ? -1 : 1;
}

static bool is_near_chosen(const search *s, const tj_point *p, const int32_t *chosen, size_t count, int steps)
{
    for (size_t i = 0; i < count; i++) {
        const tj_point *other = &s->point[chosen[i]];

        if (other->config.family == p->config.family && distance(s, p, other) < steps)
            return true;
    }
    return false;
}

/* The best of the whole space that are untried, at least that many steps from one another; if there are too few, nearer ones. */
size_t tj_propose_global(search *s, int32_t *chosen, size_t count, size_t wanted, int steps)
{
    const size_t candidates = s->count < MAX_RANKED ? s->count : MAX_RANKED;
    tj_ranked *list = malloc((candidates ? candidates : 1) * sizeof *list);
    size_t listed = 0;

    if (!list)
        return count;
    for (size_t i = 0; i < candidates; i++) {
        const size_t index = s->count <= MAX_RANKED ? i : i * s->count / candidates;
        tj_point *p = &s->point[index];

        if (p->trial == TJ_NO_TRIAL && !p->is_chosen)
            list[listed++] = (tj_ranked){score(s, p), (int32_t)index};
    }
    qsort(list, listed, sizeof *list, tj_by_score);
    for (; steps >= 0 && count < wanted; steps--)
        for (size_t i = 0; i < listed && count < wanted; i++) {
            tj_point *p = &s->point[list[i].point];

            if (p->is_chosen || is_near_chosen(s, p, chosen, count, steps))
                continue;
            p->is_chosen = true;
            chosen[count++] = list[i].point;
        }
    free(list);
    return count;
}

/* Of a space of which the ranked part is used up: any that are untried. */
size_t tj_propose_any(search *s, int32_t *chosen, size_t count, size_t wanted)
{
    for (int tries = 0; s->count > MAX_RANKED && tries < 1000 && count < wanted; tries++) {
        const int32_t index = (int32_t)(draw(s) % s->count);

        if (s->point[index].trial == TJ_NO_TRIAL && !s->point[index].is_chosen) {
            s->point[index].is_chosen = true;
            chosen[count++] = index;
        }
    }
    return count;
}

/* ---- neighbours --------------------------------------------------------------------------------------------------- */

/* One config away from p by steps on two axes (the second may be none); -1: there is none. */
static int32_t neighbour(search *s, int32_t from, size_t axis, int step, size_t other, int other_step)
{
    const tj_axes *axes = &s->axes[tj_search_family(s, s->point[from].config.family)];
    tj_config config = s->point[from].config;
    const int at = s->point[from].at[axis] + step, other_at = s->point[from].at[other] + other_step;

    if (s->point[from].at[axis] < 0 || at < 0 || at >= (int)axes->length[axis])
        return -1;
    config.value[axis] = axes->value[axis][at];
    if (other_step != 0) {
        if (s->point[from].at[other] < 0 || other_at < 0 || other_at >= (int)axes->length[other])
            return -1;
        config.value[other] = axes->value[other][other_at];
    }
    return tj_space_admits(s->problem, s->measurer->device, &config) ? tj_points_intern(s, &config) : -1;
}

static bool list_add(tj_ranked *list, size_t *listed, size_t capacity, int32_t index)
{
    for (size_t i = 0; i < *listed; i++)
        if (list[i].point == index)
            return true;
    if (*listed == capacity)
        return false;
    list[(*listed)++] = (tj_ranked){0, index};
    return true;
}

/* The untried neighbours of a point. */
static size_t list_neighbours(search *s, int32_t from, tj_ranked *list)
{
    const size_t axes = s->axes[tj_search_family(s, s->point[from].config.family)].count;
    size_t listed = 0;

    for (size_t axis = 0; axis < axes; axis++)
        for (int step = -1; step <= 1; step += 2) {
            int32_t one = neighbour(s, from, axis, step, axis, 0);

            if (one >= 0)
                (void)list_add(list, &listed, MAX_NEIGHBOURS, one);
            for (size_t other = axis + 1; other < axes; other++)
                for (int other_step = -1; other_step <= 1; other_step += 2) {
                    one = neighbour(s, from, axis, step, other, other_step);
                    if (one >= 0)
                        (void)list_add(list, &listed, MAX_NEIGHBOURS, one);
                }
        }
    for (size_t i = 0; i < listed;) {
        if (s->point[list[i].point].trial != TJ_NO_TRIAL || s->point[list[i].point].is_chosen)
            list[i] = list[--listed];
        else
            i++;
    }
    return listed;
}

/* The fastest point whose neighbours are not used up; -1: none. */
static int32_t best_unexpanded(const search *s)
{
    int32_t best = -1;
    double least = INFINITY;

    for (size_t i = 0; i < s->trials; i++)
        if (s->trial[i].state == TJ_TRIAL_TIMED && s->trial[i].us < least && !s->point[s->trial_point[i]].is_expanded) {
            least = s->trial[i].us;
            best = s->trial_point[i];
        }
    return best;
}

size_t tj_propose_around(search *s, int32_t *chosen, size_t count, size_t wanted)
{
    tj_ranked *list = malloc(MAX_NEIGHBOURS * sizeof *list);

    while (list && count < wanted) {
        const int32_t from = best_unexpanded(s);
        size_t listed;

        if (from < 0 || (s->best_us > 0 && s->trial[s->point[from].trial].us > FAR * s->best_us))
            break;
        listed = list_neighbours(s, from, list);
        for (size_t i = 0; i < listed; i++)
            list[i].score = score(s, &s->point[list[i].point]);
        qsort(list, listed, sizeof *list, tj_by_score);
        if (listed <= wanted - count)
            s->point[from].is_expanded = true;
        for (size_t i = 0; i < listed && count < wanted; i++) {
            s->point[list[i].point].is_chosen = true;
            chosen[count++] = list[i].point;
        }
    }
    free(list);
    return count;
}
