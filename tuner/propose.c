/* SPDX-License-Identifier: Apache-2.0 */
/*
 * propose: which points look good.
 *
 * An axis is a list of values, a step goes to the next one: nothing here knows a family's parameters.
 */
#include "search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_RANKED = 20000, /* points that trials correct: those that the model likes best */
    MAX_NEIGHBOURS = 1024,
    SWEEPS = 10
};

static const double PRIOR = 1;        /* trials that would say the model is right about a value of an axis */
static const double PRIOR_FAMILY = 4; /* about a family */
static const double PRIOR_NEAR = 1;   /* the same about a config, in trials of that very config */
static const double FAR = 1.5;        /* a config that much slower than the best is no place to look around */

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

/*
 * What the trials say about the model: how wrong it is about a family, about each value of each axis, and what that leaves of each
 * trial. All are logarithms.
 */
typedef struct correction {
    double all[TJ_SEARCH_MAX_FAMILIES];
    double value[TJ_SEARCH_MAX_FAMILIES][TJ_CONFIG_MAX_PARAMS][TJ_PARAM_MAX_TRIED];
    double left[]; /* of each trial; NAN: without a time */
} correction;

/* The part of a correction that is a sum over the axes. */
static double sum_of(const search *s, const correction *c, const tj_point *p)
{
    const int family = tj_search_family(s, p->config.family);
    double sum = c->all[family];

    for (size_t axis = 0; axis < s->axes[family].count; axis++)
        if (p->at[axis] >= 0)
            sum += c->value[family][axis][p->at[axis]];
    return sum;
}

/* Share out what is left of the trials of one family to the values of an axis; few trials leave most of it where it is. */
static void share_out(const search *s, correction *c, int family, size_t axis)
{
    double sum[TJ_PARAM_MAX_TRIED] = {0}, count[TJ_PARAM_MAX_TRIED] = {0};
    double *const value = c->value[family][axis];

    for (size_t i = 0; i < s->trials; i++) {
        const tj_point *p = &s->point[s->trial_point[i]];

        if (isnan(c->left[i]) || p->config.family != s->family[family] || p->at[axis] < 0)
            continue;
        sum[p->at[axis]] += c->left[i] + value[p->at[axis]];
        count[p->at[axis]]++;
    }
    for (size_t v = 0; v < s->axes[family].length[axis]; v++)
        sum[v] = sum[v] / (count[v] + PRIOR) - value[v];
    for (size_t i = 0; i < s->trials; i++) {
        const tj_point *p = &s->point[s->trial_point[i]];

        if (!isnan(c->left[i]) && p->config.family == s->family[family] && p->at[axis] >= 0)
            c->left[i] -= sum[p->at[axis]];
    }
    for (size_t v = 0; v < s->axes[family].length[axis]; v++)
        value[v] += sum[v];
}

/* Ridge regression by coordinate descent, axis by axis. Owned: the caller; free(). NULL when memory ran out. */
static correction *learn(const search *s)
{
    correction *c = calloc(1, sizeof *c + s->trials * sizeof c->left[0]);

    if (!c)
        return NULL;
    for (size_t i = 0; i < s->trials; i++)
        c->left[i] = s->trial_log[i] - s->point[s->trial_point[i]].predicted;
    for (size_t family = 0; family < s->families; family++) {
        double count = 0;

        for (size_t i = 0; i < s->trials; i++)
            if (!isnan(c->left[i]) && s->point[s->trial_point[i]].config.family == s->family[family]) {
                c->all[family] += c->left[i];
                count++;
            }
        c->all[family] /= count + PRIOR_FAMILY; /* one bad trial does not condemn a family */
        for (size_t i = 0; i < s->trials; i++)
            if (s->point[s->trial_point[i]].config.family == s->family[family])
                c->left[i] -= c->all[family];
        for (int sweep = 0; sweep < SWEEPS && count > 0; sweep++)
            for (size_t axis = 0; axis < s->axes[family].count; axis++)
                share_out(s, c, (int)family, axis);
    }
    return c;
}

/* The model's time as the trials correct it, those nearby most. */
static double score(search *s, const correction *c, tj_point *p)
{
    const double predicted = tj_search_predicted(s, p);
    double sum = 0, weight = PRIOR_NEAR;

    for (size_t i = 0; i < s->trials; i++) {
        const tj_point *tried = &s->point[s->trial_point[i]];
        double w;

        if (isnan(c->left[i]) || tried->config.family != p->config.family)
            continue;
        w = exp(-1.0 * distance(s, p, tried));
        sum += w * c->left[i];
        weight += w;
    }
    return predicted + sum_of(s, c, p) + sum / weight;
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

/*
 * Points that are untried; of many the MAX_RANKED that the model alone likes best. Among those that it holds to be equal, all of them if
 * there is no model, a hash of the index decides, so that they come from everywhere.
 */
static size_t list_untried(search *s, tj_ranked *list)
{
    const double least = 1e-6 / UINT32_MAX;
    size_t listed = 0;

    for (size_t i = 0; i < s->count; i++) {
        tj_point *p = &s->point[i];

        if (p->trial == TJ_NO_TRIAL && !p->is_chosen)
            list[listed++] = (tj_ranked){tj_search_predicted(s, p) + least * ((uint32_t)i * 2654435769U), (int32_t)i};
    }
    if (listed <= MAX_RANKED)
        return listed;
    qsort(list, listed, sizeof *list, tj_by_score);
    return MAX_RANKED;
}

/* The best of the whole space that are untried, at least that many steps from one another; if there are too few, nearer ones. */
size_t tj_propose_global(search *s, int32_t *chosen, size_t count, size_t wanted, int steps)
{
    tj_ranked *list = malloc((s->count ? s->count : 1) * sizeof *list);
    correction *c = learn(s);
    size_t listed;

    if (!list || !c) {
        free(list);
        free(c);
        return count;
    }
    listed = list_untried(s, list);
    for (size_t i = 0; i < listed; i++)
        list[i].score = score(s, c, &s->point[list[i].point]);
    free(c);
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
    correction *c = learn(s);

    while (list && c && count < wanted) {
        const int32_t from = best_unexpanded(s);
        size_t listed;

        if (from < 0 || (s->best_us > 0 && s->trial[s->point[from].trial].us > FAR * s->best_us))
            break;
        listed = list_neighbours(s, from, list);
        for (size_t i = 0; i < listed; i++)
            list[i].score = score(s, c, &s->point[list[i].point]);
        qsort(list, listed, sizeof *list, tj_by_score);
        if (listed <= wanted - count)
            s->point[from].is_expanded = true;
        for (size_t i = 0; i < listed && count < wanted; i++) {
            s->point[list[i].point].is_chosen = true;
            chosen[count++] = list[i].point;
        }
    }
    free(c);
    free(list);
    return count;
}
