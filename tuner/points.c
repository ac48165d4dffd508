/* SPDX-License-Identifier: Apache-2.0 */
/*
 * points: the configs that a search knows, each once.
 */
#include "search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "hash.h"

enum { MAX_POINTS = 200000 /* of a larger space every n-th is taken up */, LOOKS_AT_CLOCK = 1024 /* configs between two */ };

static uint64_t hash_config(const tj_config *config)
{
    return tj_hash_bytes64(config->value, sizeof config->value) ^ (uint64_t)(uintptr_t)config->family;
}

static bool is_same(const tj_config *a, const tj_config *b)
{
    return a->family == b->family && memcmp(a->value, b->value, sizeof a->value) == 0;
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

/* Larger tables for more points. */
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
        if (is_same(&s->point[s->slot[at]].config, config))
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

/* Intern every stride-th config of the space, at most `most` of them; *total: how many configs it has, as far as the time goes. */
static tj_status walk(search *s, int64_t stride, int64_t most, int64_t *total, tj_error *err)
{
    tj_space *space = NULL;
    tj_config config;
    tj_status status = tj_space_create(s->problem, s->measurer->device, s->options->family, &space, err);

    for (*total = 0; status == TJ_OK && tj_space_next(space, &config); ++*total)
        if (*total % LOOKS_AT_CLOCK == 0 && tj_search_is_late(s)) {
            s->is_sampled = true;
            break;
        } else if (*total % stride == 0 && *total / stride < most && tj_points_intern(s, &config) < 0)
            status = tj_fail_memory(err, "the configs of a search");
    tj_space_free(space);
    return status;
}

static void forget(search *s)
{
    s->count = 0;
    memset(s->slot, 0xff, s->slots * sizeof *s->slot);
}

tj_status tj_points_take_up(search *s, tj_error *err)
{
    const int64_t most = s->options->strategy == TJ_EXHAUSTIVE ? INT64_MAX : MAX_POINTS;
    int64_t total;
    tj_status status = walk(s, 1, most, &total, err);

    if (status != TJ_OK || total <= most)
        return status;
    s->is_sampled = true;
    forget(s);
    return walk(s, total / most + 1, most, &total, err);
}
