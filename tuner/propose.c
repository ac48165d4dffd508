/* SPDX-License-Identifier: Apache-2.0 */
/*
 * propose: choose the points to try next.
 *
 * Choose those with the largest expected improvement of the best time (Jones, Schonlau and Welch, Efficient Global Optimization
 * of Expensive Black-Box Functions, 1998): a point that is likely to be a little faster, or an unknown one that may be much
 * faster. A chosen point counts as tried, with its expected time, when the others of its round are chosen; so a round does not
 * take neighbours that would show the same.
 *
 * An axis is a list of values, and a step goes to the next one: nothing here knows a family's parameters.
 */
#include "search.h"

#include <math.h>
#include <stdlib.h>

#include "surrogate.h"

enum {
    MOST_RANKED = 20000, /* points with the best predictions, which the trials correct */
    MOST_WEIGHED = 1024  /* the best of these, whose improvement is computed */
};

static const double PI = 3.14159265358979323846;
/* Factor of the deviation: it was fitted to configs that looked good, whose deviations are smaller than those of the rest. */
static const double BOLDNESS = 1.5;

/*
 * List the untried points with the model's prediction. A hash of the index orders points with equal predictions, or all points
 * if there is no model, so that they come from the whole space.
 */
static size_t list_untried(search *s, tj_ranked *list)
{
    const double least = 1e-6 / UINT32_MAX;
    size_t listed = 0;

    for (size_t i = 0; i < s->count; i++) {
        tj_point *p = &s->point[i];
        const uint32_t hash = ((uint32_t)i + (uint32_t)s->options->seed * 40503U) * 2654435769U;

        if (p->trial == TJ_NO_TRIAL && !p->is_chosen)
            list[listed++] = (tj_ranked){tj_search_predicted(s, p) + least * hash, (int32_t)i};
    }
    return listed;
}

static void choose(search *s, int32_t point, int32_t *chosen, size_t *count)
{
    s->point[point].is_chosen = true;
    chosen[(*count)++] = point;
}

size_t tj_propose_ranked(search *s, int32_t *chosen, size_t wanted)
{
    tj_ranked *list = malloc((s->count + 1) * sizeof *list);
    size_t count = 0, listed;

    if (!list)
        return 0;
    listed = list_untried(s, list);
    qsort(list, listed, sizeof *list, tj_by_score);
    for (size_t i = 0; i < listed && count < wanted; i++)
        choose(s, list[i].point, chosen, &count);
    free(list);
    return count;
}

/* Return the logarithm of the expected decrease of the best time; all arguments are logarithms. */
static double improvement(tj_posterior posterior, double best)
{
    const double deviation = fmax(BOLDNESS * posterior.deviation, 1e-6), z = (best - posterior.mean) / deviation;
    const double density = -z * z / 2 - log(2 * PI) / 2;

    if (z < -5) /* the difference below would be all rounding error: use the first term of its expansion */
        return log(deviation) + density - 2 * log(-z);
    return log(deviation * (z * erfc(-z / sqrt(2)) / 2 + exp(density)));
}

/* Correct predictions by the trials, and sort the best points to the front; returns their number. */
static size_t shortlist(search *s, const tj_surrogate *g, tj_ranked *list)
{
    size_t listed = list_untried(s, list);

    if (listed > MOST_RANKED) {
        qsort(list, listed, sizeof *list, tj_by_score);
        listed = MOST_RANKED;
    }
    for (size_t i = 0; i < listed; i++)
        list[i].score = tj_surrogate_mean(g, s, list[i].point);
    qsort(list, listed, sizeof *list, tj_by_score);
    return listed < MOST_WEIGHED ? listed : MOST_WEIGHED;
}

/*
 * Choose points by improvement, largest first. Points under way only reduce improvements: if the first of the list is still
 * first after its update, the others need none.
 */
static size_t choose_improving(search *s, tj_surrogate *g, tj_ranked *list, size_t listed, double best, int32_t *chosen,
                               size_t wanted)
{
    size_t count = 0;

    for (size_t i = 0; i < listed; i++)
        list[i].score = -improvement(tj_surrogate_posterior(g, s, list[i].point), best);
    while (count < wanted && listed > 0) {
        size_t first = 0;
        double score;

        for (size_t i = 1; i < listed; i++)
            if (tj_by_score(&list[i], &list[first]) < 0)
                first = i;
        score = -improvement(tj_surrogate_posterior(g, s, list[first].point), best);
        if (score > list[first].score) {
            list[first].score = score;
            continue;
        }
        if (count == 0 && score > -log(s->least_gain))
            break;
        choose(s, list[first].point, chosen, &count);
        tj_surrogate_assume(g, s, list[first].point);
        list[first] = list[--listed];
    }
    return count;
}

size_t tj_propose_improving(search *s, int32_t *chosen, size_t wanted)
{
    tj_ranked *list = malloc((s->count + 1) * sizeof *list);
    tj_surrogate *g = tj_surrogate_learn(s);
    size_t count = 0;

    if (list && g) {
        const size_t listed = shortlist(s, g, list);
        const double best = s->best_us > 0 ? log(s->best_us) : listed > 0 ? list[0].score : 0;

        for (size_t i = 0; i < s->count; i++)
            if (s->point[i].is_chosen && s->point[i].trial == TJ_NO_TRIAL)
                tj_surrogate_assume(g, s, (int32_t)i);
        count = choose_improving(s, g, list, listed, best, chosen, wanted);
    }
    free(list);
    tj_surrogate_free(g);
    return count;
}
