/* SPDX-License-Identifier: Apache-2.0 */
#include "custom_space.h"

#include <stdlib.h>

#include "checked.h"
#include "error.h"

static const int64_t MOST_POINTS = INT64_C(1) << 62;
/* The largest space that is listed; of a larger one, points are drawn. */
enum { MOST_LISTED = 1 << 20, MOST_DRAWS = 1 << 16, SAMPLE_SHARE = 3 };

tj_status tj_custom_space_begin(const tj_custom *custom, const int64_t *extent, int64_t seed, tj_custom_space *space,
                                tj_error *err)
{
    *space = (tj_custom_space){.custom = custom, .extent = extent, .points = 1, .random = (uint64_t)seed};
    tj_axes_of(&custom->family, &space->axes);
    for (size_t axis = 0; axis < space->axes.count; axis++)
        if (!tj_mul(space->points, (int64_t)space->axes.length[axis], &space->points) || space->points > MOST_POINTS)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                           "the parameters of family %s have more than 2^62 combinations: name fewer values (tried)",
                           custom->spec.name);
    return TJ_OK;
}

void tj_custom_space_end(tj_custom_space *space)
{
    free(space->list);
    space->list = NULL;
}

bool tj_custom_space_has(const tj_custom_space *space, const tj_config *config)
{
    for (size_t axis = 0; axis < space->axes.count; axis++)
        if (tj_axes_at(&space->axes, axis, config->value[axis]) < 0)
            return false;
    return true;
}

static bool is_valid(const tj_custom_space *space, const tj_config *config)
{
    tj_custom_request request;

    return tj_custom_settle(space->custom, config, space->extent, &request, NULL) == TJ_OK;
}

/* Return the config of a point, whose digits in mixed radix are the indexes of its values. */
static tj_config config_of(const tj_custom_space *space, int64_t point)
{
    tj_config config = TJ_CONFIG_INIT;

    config.family = &space->custom->family;
    for (size_t axis = 0; axis < space->axes.count; axis++) {
        config.value[axis] = space->axes.value[axis][point % (int64_t)space->axes.length[axis]];
        point /= (int64_t)space->axes.length[axis];
    }
    return config;
}

/* splitmix64 */
static uint64_t draw(tj_custom_space *space)
{
    uint64_t z = (space->random += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* List the valid points in a random order: all of them or, of a very large space, many. */
static tj_status list_points(search *s, tj_error *err)
{
    tj_custom_space *space = s->space->payload;
    const size_t most = space->points <= MOST_LISTED ? (size_t)space->points : MOST_DRAWS;
    int64_t *list = space->list = malloc((most ? most : 1) * sizeof *list);

    space->is_all = space->points <= MOST_LISTED;
    if (!list)
        return tj_fail_memory(err, "the configs of a tuning");
    if (s->options->strategy == TJ_EXHAUSTIVE && !space->is_all)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "the parameters of family %s have %lld combinations, too many to try all: use TJ_SEARCH",
                       space->custom->spec.name, (long long)space->points);
    for (size_t i = 0; i < most; i++) {
        const int64_t point = space->is_all ? (int64_t)i : (int64_t)(draw(space) % (uint64_t)space->points);
        const tj_config config = config_of(space, point);

        if (is_valid(space, &config))
            list[space->count++] = point;
    }
    for (size_t i = space->count; i > 1; i--) {
        const size_t with = (size_t)(draw(space) % i);
        const int64_t held = list[with];

        list[with] = list[i - 1];
        list[i - 1] = held;
    }
    space->sample = space->count;
    if (s->limit > 0 && (!space->is_all || (int64_t)space->count > s->limit) && s->limit / SAMPLE_SHARE < (int64_t)space->count)
        space->sample = (size_t)s->limit / SAMPLE_SHARE;
    s->is_sampled = true; /* until all are proposed */
    return TJ_OK;
}

static bool admits(const search *s, const tj_config *config)
{
    return is_valid(s->space->payload, config);
}

/* Choose a config, unless it was tried or chosen before. False when memory ran out. */
static bool choose(search *s, const tj_config *config, int32_t *chosen, size_t *count)
{
    const int32_t point = tj_points_intern(s, config);

    if (point >= 0 && s->point[point].trial == TJ_NO_TRIAL && !s->point[point].is_chosen) {
        s->point[point].is_chosen = true;
        chosen[(*count)++] = point;
    }
    return point >= 0;
}

static size_t propose(search *s, int32_t *chosen, size_t wanted)
{
    tj_custom_space *space = s->space->payload;
    size_t count = 0;

    while (count < wanted && space->next < space->sample) {
        const tj_config config = config_of(space, space->list[space->next]);

        if (!choose(s, &config, chosen, &count))
            return count;
        space->next++;
    }
    s->is_sampled = !space->is_all || space->next < space->count;
    if (count > 0 || s->best_trial < 0)
        return count;
    for (size_t side = 0; side < 2 * space->axes.count && count < wanted; side++) {
        tj_config near = s->trial[s->best_trial].config;

        if (tj_axes_step(&space->axes, &near, side / 2, side % 2 ? 1 : -1) && is_valid(space, &near) &&
            !choose(s, &near, chosen, &count))
            return count;
    }
    return count;
}

tj_search_space tj_custom_space_searched(tj_custom_space *space)
{
    return (tj_search_space){
        .family = &space->custom->family, .payload = space, .take_up = list_points, .admits = admits, .propose = propose};
}
