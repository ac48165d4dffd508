/* SPDX-License-Identifier: Apache-2.0 */
/*
 * custom_space: the valid configs of a family of the application for given extents. A config is a point: the indexes of its
 * values, axis by axis, as a number in mixed radix.
 */
#ifndef TJ_TUNER_CUSTOM_SPACE_H
#define TJ_TUNER_CUSTOM_SPACE_H

#include "custom.h"

typedef struct tj_custom_space {
    const tj_custom *custom;
    const int64_t *extent;
    size_t axes;
    int32_t value[TJ_CONFIG_MAX_PARAMS][TJ_PARAM_MAX_TRIED];
    size_t values[TJ_CONFIG_MAX_PARAMS];
    int64_t stride[TJ_CONFIG_MAX_PARAMS]; /* distance of neighbouring values on an axis */
    int64_t points;                       /* valid or not */
} tj_custom_space;

/** Begin a space. Errors: TJ_ERR_INVALID_ARGUMENT: more points than 62 bits count. custom and extent are borrowed. */
tj_status tj_custom_space_begin(const tj_custom *custom, const int64_t *extent, tj_custom_space *space, tj_error *err);

/** Get the config of a point. False: it is not valid. */
bool tj_custom_space_config(const tj_custom_space *space, int64_t point, tj_config *config);

/** Return the point of a resolved config; -1: one of its values is not among those to try. */
int64_t tj_custom_space_point(const tj_custom_space *space, const tj_config *config);

/** Return the next point on an axis, direction 1 or -1; -1: there is none. */
int64_t tj_custom_space_step(const tj_custom_space *space, int64_t point, size_t axis, int direction);

#endif
