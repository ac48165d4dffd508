/* SPDX-License-Identifier: Apache-2.0 */
#include "custom_space.h"

#include "checked.h"
#include "error.h"

static const int64_t MOST_POINTS = INT64_C(1) << 62;

tj_status tj_custom_space_begin(const tj_custom *custom, const int64_t *extent, tj_custom_space *space, tj_error *err)
{
    space->custom = custom;
    space->extent = extent;
    space->axes = custom->family.param_count;
    space->points = 1;
    for (size_t axis = 0; axis < space->axes; axis++) {
        space->values[axis] = tj_param_values(&custom->family.param[axis], space->value[axis]);
        space->stride[axis] = space->points;
        if (!tj_mul(space->points, (int64_t)space->values[axis], &space->points) || space->points > MOST_POINTS)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                           "the parameters of family %s have more than 2^62 combinations: name fewer values (tried)",
                           custom->spec.name);
    }
    return TJ_OK;
}

bool tj_custom_space_config(const tj_custom_space *space, int64_t point, tj_config *config)
{
    tj_custom_request request;

    *config = (tj_config)TJ_CONFIG_INIT;
    config->family = &space->custom->family;
    for (size_t axis = 0; axis < space->axes; axis++)
        config->value[axis] = space->value[axis][point / space->stride[axis] % (int64_t)space->values[axis]];
    return tj_custom_settle(space->custom, config, space->extent, &request, NULL) == TJ_OK;
}

int64_t tj_custom_space_point(const tj_custom_space *space, const tj_config *config)
{
    int64_t point = 0;

    for (size_t axis = 0; axis < space->axes; axis++) {
        size_t at = 0;

        while (at < space->values[axis] && space->value[axis][at] != config->value[axis])
            at++;
        if (at == space->values[axis])
            return -1;
        point += (int64_t)at * space->stride[axis];
    }
    return point;
}

int64_t tj_custom_space_step(const tj_custom_space *space, int64_t point, size_t axis, int direction)
{
    const int64_t at = point / space->stride[axis] % (int64_t)space->values[axis] + direction;

    return at < 0 || at >= (int64_t)space->values[axis] ? -1 : point + direction * space->stride[axis];
}
