/* SPDX-License-Identifier: Apache-2.0 */
/*
 * points: the configs that a search knows, each once.
 */
#include "search.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "climb.h"
#include "error.h"
#include "hash.h"
#include "parallel.h"
#include "rank.h"
#include "settle.h"
#include "estimate.h"

/*
 * Seconds of a search: a shorter one leaves the processors to the compiler, and looks around the best that it has found. For
 * some 40 trials that is as good.
 */
static const double WORTH_A_WALK = 3;

enum {
    MAX_POINTS = 200000,  /* of a larger space, take every n-th config */
    MOST_LIKELY = 512,    /* those taken up before the walk */
    LOOKS_AT_CLOCK = 1024 /* configs between two */
};

static uint64_t hash_config(const tj_config *config)
{
    return tj_hash_bytes64(config->value, sizeof config->value) ^ (uint64_t)(uintptr_t)config->family;
}

int tj_by_score(const void *a, const void *b)
{
    const tj_ranked *x = a, *y = b;

    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    return x->point < y->point ? -1 : 1;
}

int tj_search_family(const search *s, const tj_family *family)
{
    for (size_t i = 0; i < s->families; i++)
        if (s->family[i] == family)
            return (int)i;
    return -1;
}

static void locate(const search *s, tj_point *p)
{
    const int family = tj_search_family(s, p->config.family);
    const tj_axes *axes = &s->axes[family];

    for (size_t axis = 0; axis < axes->count; axis++)
        p->at[axis] = (int16_t)tj_axes_at(axes, axis, p->config.value[axis]);
}

/* Enlarge the tables for more points. */
static bool grow(search *s)
{
    const size_t capacity = s->capacity ? 2 * s->capacity : 1024;
    tj_point *points = realloc(s->point, capacity * sizeof *points);
    int32_t *slot;

    if (!points)
        return false;
    s->point = points;
    slot = malloc(2 * capacity * sizeof *slot);
    if (!slot)
        return false;
    free(s->slot);
    s->slot = slot;
    s->slots = 2 * capacity;
    s->capacity = capacity;
    memset(slot, 0xff, s->slots * sizeof *slot);
    for (size_t i = 0; i < s->count; i++) {
        size_t at = hash_config(&s->point[i].config) & (s->slots - 1);

        while (slot[at] >= 0)
            at = (at + 1) & (s->slots - 1);
        slot[at] = (int32_t)i;
    }
    return true;
}

int32_t tj_points_intern(search *s, const tj_config *config)
{
    tj_point p = {.config = *config, .predicted = NAN, .trial = TJ_NO_TRIAL};
    size_t at;

    if (s->count == s->capacity && !grow(s))
        return -1;
    at = hash_config(config) & (s->slots - 1);
    for (; s->slot[at] >= 0; at = (at + 1) & (s->slots - 1))
        if (tj_search_is_same(&s->point[s->slot[at]].config, config))
            return s->slot[at];
    locate(s, &p);
    s->point[s->count] = p;
    s->slot[at] = (int32_t)s->count;
    return (int32_t)s->count++;
}

double tj_search_predicted(search *s, tj_point *p)
{
    double us;

    if (!isnan(p->predicted))
        return p->predicted;
    us = s->measurer->predict ? s->measurer->predict(s->measurer->payload, &p->config) : 0;
    p->predicted = us > 0 ? log(us) : 0;
    return p->predicted;
}

/* ---- likely ones -------------------------------------------------------------------------------------------------- */

typedef struct likely_config {
    double seconds;
    size_t order; /* in which it was met */
    tj_config config;
} likely_config;

typedef struct likely_list {
    likely_config *item;
    size_t count, capacity;
    bool is_short; /* memory ran out */
} likely_list;

static void note_likely(void *payload, const tj_config *config, double seconds)
{
    likely_list *list = payload;

    if (list->count == list->capacity) {
        const size_t capacity = list->capacity ? 2 * list->capacity : 1024;
        likely_config *larger = realloc(list->item, capacity * sizeof *larger);

        if (!larger) {
            list->is_short = true;
            return;
        }
        list->item = larger;
        list->capacity = capacity;
    }
    list->item[list->count] = (likely_config){seconds, list->count, *config};
    list->count++;
}

static int by_seconds(const void *a, const void *b)
{
    const likely_config *x = a, *y = b;

    if (x->seconds != y->seconds)
        return x->seconds < y->seconds ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

tj_status tj_points_take_up_likely(search *s, tj_error *err)
{
    likely_list list = {NULL, 0, 0, false};
    const tj_climb_terms terms = {.family = s->options->family, .visit = note_likely, .payload = &list};
    tj_status status = TJ_OK;

    if (!s->measurer->device || !s->measurer->predict)
        return TJ_OK;
    (void)tj_climb(s->request, s->measurer->device, &terms, NULL);
    if (list.count > 0)
        qsort(list.item, list.count, sizeof *list.item, by_seconds);
    for (size_t i = 0; i < list.count && s->count < MOST_LIKELY && status == TJ_OK; i++)
        if (tj_space_rewrite(s->request, &list.item[i].config) && tj_points_intern(s, &list.item[i].config) < 0)
            list.is_short = true;
    free(list.item);
    if (list.is_short)
        status = tj_fail_memory(err, "the configs of a search");
    s->is_sampled = true;
    return status;
}

/* Take up a config that can be tried. False when memory ran out. */
static bool take_up(search *s, tj_config config)
{
    tj_config resolved = config;

    if (tj_request_resolve(s->request, &resolved, NULL) != TJ_OK || !tj_request_worth_trying(s->request, &resolved) ||
        !(tj_rank_predict(s->measurer->device, s->request, &resolved) > 0))
        return true;
    return !tj_space_rewrite(s->request, &config) || tj_points_intern(s, &config) >= 0;
}

/* Take up each other choice on one axis: choices have no order for steps. Parameters that were open are settled anew. */
static bool take_up_words(search *s, tj_config config, size_t axis)
{
    const tj_axes *axes = &s->axes[tj_search_family(s, config.family)];
    bool has_memory = true;

    tj_axes_leave_open(axes, &config);
    for (size_t i = 0; i < axes->length[axis] && has_memory && tj_family_param(config.family, axis)->choice; i++) {
        config.value[axis] = axes->value[axis][i];
        has_memory = take_up(s, config);
    }
    return has_memory;
}

/* Take up the config a step away on an axis, and those another step away on the axes after it. */
static bool take_up_steps(search *s, tj_config config, size_t axis, int step)
{
    const tj_axes *axes = &s->axes[tj_search_family(s, config.family)];
    bool has_memory;

    if (!tj_axes_step(axes, &config, axis, step))
        return true;
    has_memory = take_up(s, config);
    for (size_t side = 2 * (axis + 1); side < 2 * axes->count && has_memory; side++) {
        tj_config two = config;

        if (tj_axes_step(axes, &two, side / 2, side % 2 ? 1 : -1))
            has_memory = take_up(s, two);
    }
    return has_memory;
}

tj_status tj_points_take_up_near(search *s, const tj_config *centre, tj_error *err)
{
    const tj_config here = *centre; /* which may move with the points */
    bool has_memory = true;

    for (size_t axis = 0; axis < s->axes[tj_search_family(s, here.family)].count && has_memory; axis++)
        has_memory = take_up_words(s, here, axis) && take_up_steps(s, here, axis, -1) && take_up_steps(s, here, axis, 1);
    return has_memory ? TJ_OK : tj_fail_memory(err, "the configs of a search");
}

/* ---- the walk ----------------------------------------------------------------------------------------------------- */

typedef struct placed_config {
    int64_t place;
    tj_config config;
} placed_config;

/* The configs that one thread found. */
typedef struct found_share {
    placed_config *item;
    size_t count, capacity;
    tj_status status;
    tj_error err;
} found_share;

/* Walking the space takes 10 us for each config found, and so does the model: so all processors share the space. */
typedef struct shared_walk {
    search *s;
    int parts;
    _Atomic bool is_over; /* out of time, or of memory, as the first part finds */
    found_share share[TJ_MOST_THREADS];
} shared_walk;

static bool keep(found_share *share, const tj_space *space, const tj_config *config)
{
    if (share->count == share->capacity) {
        const size_t capacity = share->capacity ? 2 * share->capacity : 1024;
        placed_config *larger = realloc(share->item, capacity * sizeof *larger);

        if (!larger)
            return false;
        share->item = larger;
        share->capacity = capacity;
    }
    share->item[share->count++] = (placed_config){tj_space_place(space), *config};
    return true;
}

static void walk_share(void *payload, int part)
{
    shared_walk *walk = payload;
    const search *s = walk->s;
    found_share *share = &walk->share[part];
    const size_t between = LOOKS_AT_CLOCK / (size_t)walk->parts;
    tj_space *space = tj_space_of(s->request, s->measurer->device, s->options->family);
    tj_config config;

    share->status = space ? TJ_OK : tj_fail_memory(&share->err, "a space of configs");
    if (space)
        tj_space_share(space, part, walk->parts);
    while (share->status == TJ_OK && !walk->is_over && tj_space_next(space, &config)) {
        if (part == 0 && share->count % between == 0 && tj_search_is_late(s))
            walk->is_over = true;
        else if (!keep(share, space, &config))
            share->status = tj_fail_memory(&share->err, "the configs of a search");
    }
    tj_space_free(space);
}

static int by_place(const void *a, const void *b)
{
    const int64_t x = ((const placed_config *)a)->place, y = ((const placed_config *)b)->place;

    return (x > y) - (x < y);
}

/* Return all configs found, in the order of a single walk; *count: their number. NULL when memory ran out. */
static placed_config *gather(const shared_walk *walk, size_t *count)
{
    placed_config *all;

    *count = 0;
    for (int i = 0; i < walk->parts; i++)
        *count += walk->share[i].count;
    all = malloc((*count + 1) * sizeof *all);
    for (size_t i = 0, at = 0; all && i < (size_t)walk->parts; at += walk->share[i++].count)
        if (walk->share[i].count > 0)
            memcpy(all + at, walk->share[i].item, walk->share[i].count * sizeof *all);
    if (all)
        qsort(all, *count, sizeof *all, by_place);
    return all;
}

/* ---- predictions -------------------------------------------------------------------------------------------------- */

static void predict_share(void *payload, int part)
{
    shared_walk *walk = payload;
    search *s = walk->s;

    for (size_t i = (size_t)part; i < s->count; i += (size_t)walk->parts)
        (void)tj_search_predicted(s, &s->point[i]);
}

tj_status tj_points_take_up(search *s, tj_error *err)
{
    const size_t most = s->options->strategy == TJ_EXHAUSTIVE ? SIZE_MAX : MAX_POINTS;
    shared_walk *walk;
    placed_config *all = NULL;
    tj_status status = TJ_OK;
    size_t count = 0;

    s->is_walked = s->count == 0 || s->seconds == 0 || s->seconds >= WORTH_A_WALK;
    if (!s->is_walked)
        return TJ_OK;
    walk = calloc(1, sizeof *walk);
    if (!walk)
        return tj_fail_memory(err, "the configs of a search");
    walk->s = s;
    walk->parts = tj_thread_count(s->options->threads);
    tj_in_parallel(walk->parts, walk_share, walk);
    for (int i = 0; i < walk->parts && status == TJ_OK; i++) {
        status = walk->share[i].status;
        if (status != TJ_OK && err)
            *err = walk->share[i].err;
    }
    if (status == TJ_OK && !(all = gather(walk, &count)))
        status = tj_fail_memory(err, "the configs of a search");
    s->is_sampled = walk->is_over || count > most;
    for (size_t i = 0, stride = count > most ? count / most + 1 : 1; i < count && status == TJ_OK; i += stride)
        if (tj_points_intern(s, &all[i].config) < 0)
            status = tj_fail_memory(err, "the configs of a search");
    if (status == TJ_OK && !walk->is_over)
        tj_in_parallel(walk->parts, predict_share, walk);
    for (int i = 0; i < walk->parts; i++)
        free(walk->share[i].item);
    free(all);
    free(walk);
    return status;
}
