/* SPDX-License-Identifier: Apache-2.0 */
/*
 * space: the configs of a family, one after the other, as an odometer over the values that its form says are worth trying.
 *
 * A combination is in the space if the family's form admits it and considers it worth a trial, and the device can run it: this
 * file adds no rules of its own.
 */
#include "space.h"
#include "settle.h"
#include "part_of_device.h"
#include "targets.h"

#include <stdlib.h>
#include <string.h>

#include <tilejit/analysis.h>

#include "error.h"

void tj_axes_of(const tj_family *family, tj_axes *axes)
{
    axes->count = tj_family_param_count(family);
    for (size_t i = 0; i < axes->count; i++)
        axes->length[i] = tj_param_values(tj_family_param(family, i), axes->value[i]);
}

int tj_axes_at(const tj_axes *axes, size_t axis, int32_t value)
{
    for (size_t i = 0; i < axes->length[axis]; i++)
        if (axes->value[axis][i] == value)
            return (int)i;
    return -1;
}

bool tj_axes_step(const tj_axes *axes, tj_config *config, size_t axis, int step)
{
    const int at = tj_axes_at(axes, axis, config->value[axis]), to = at + step;

    if (at < 0 || to < 0 || to >= (int)axes->length[axis])
        return false;
    config->value[axis] = axes->value[axis][to];
    return true;
}

void tj_axes_leave_open(const tj_axes *axes, tj_config *config)
{
    config->check_j = config->check_k = config->check_l = TJ_CHECK_AUTO;
    for (size_t i = 0; i < axes->count; i++)
        if (axes->length[i] == 1 && axes->value[i][0] == 0)
            config->value[i] = 0;
}

struct tj_space {
    tj_request request;
    tj_device_facts device;
    bool has_device;
    const tj_family *only;   /* NULL: all */
    const tj_family *family; /* of the odometer; NULL: at the end */
    size_t family_index;
    tj_axes axes;
    size_t digit[TJ_CONFIG_MAX_PARAMS];
    size_t sound; /* the first `sound` digits are not hopeless together */
    int64_t seen;
    int64_t part, parts; /* the share of the walk; 0 parts: all of it */
};

/* Combinations that stay together in one share: with fewer, a part could get all combinations of a value that is refused. */
enum { TOGETHER = 16 };

static void enter_family(tj_space *space, const tj_family *family)
{
    space->family = family;
    space->sound = 0;
    memset(space->digit, 0, sizeof space->digit);
    if (family)
        tj_axes_of(family, &space->axes);
}

tj_space *tj_space_of(const tj_request *request, const tj_device_facts *device, const tj_family *family)
{
    tj_space *space = calloc(1, sizeof *space);

    if (!space)
        return NULL;
    space->request = *request;
    space->has_device = device != NULL;
    if (device)
        space->device = *device;
    space->only = family;
    enter_family(space, family ? family : tj_family_at(0));
    return space;
}

tj_status tj_space_create(const tj_problem *problem, const tj_device_facts *device, const tj_family *family, tj_space **space,
                          tj_error *err)
{
    if (space)
        *space = NULL;
    if (TJ_HAS_NULL(err, space, problem))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_request request;
    const tj_status status = tj_request_make(problem, &request, err);

    if (status != TJ_OK)
        return status;
    *space = tj_space_of(&request, device, family);
    return *space ? TJ_OK : tj_fail_memory(err, "a space of configs");
}

/*
 * Advance the odometer by the first `digits` digits, the last of which runs fastest; later digits begin anew. After the last
 * combination comes the next family.
 */
static void advance(tj_space *space, size_t digits)
{
    for (size_t axis = digits; axis < space->axes.count; axis++)
        space->digit[axis] = 0;
    for (size_t axis = digits; axis-- > 0;) {
        if (++space->digit[axis] < space->axes.length[axis]) {
            space->sound = space->sound < axis ? space->sound : axis;
            return;
        }
        space->digit[axis] = 0;
    }
    enter_family(space, space->only ? NULL : tj_family_at(++space->family_index));
}

void tj_space_share(tj_space *space, int part, int parts)
{
    space->part = part;
    space->parts = parts;
}

int64_t tj_space_place(const tj_space *space)
{
    return space->seen;
}

bool tj_device_can_run(const tj_device_facts *device, const tj_problem *problem, const tj_launch_form *form)
{
    if ((form->needs & ~tj_device_features(device)) || !tj_share_suffices(form, tj_share_of(device, problem).sm_count))
        return false;
    for (int i = 0; i < form->steps; i++) {
        const tj_launch_step *step = &form->step[i];

        if (step->static_shared_bytes > device->shared_per_block ||
            step->static_shared_bytes + step->dynamic_shared_bytes > device->shared_per_block_optin ||
            (int64_t)step->block_x * step->block_y > device->max_threads_per_block)
            return false;
    }
    return true;
}

/* Do form, problem and device (NULL: any) admit a combination of values to the space? */
static bool admits(const tj_request *request, const tj_device_facts *device, const tj_config *config)
{
    tj_config resolved = *config;
    tj_launch_form form;

    return tj_request_preview(request, &resolved, &form, NULL) == TJ_OK &&
           (!device || tj_device_can_run(device, &request->problem, &form)) && tj_request_worth_trying(request, &resolved);
}

/* Return how many of the first digits are hopeless, whatever follows them; 0: not known to be. */
static size_t hopeless_digits(tj_space *space, const tj_config *config)
{
    for (; space->sound + 1 < space->axes.count; space->sound++)
        if (tj_request_hopeless(&space->request, config, space->sound + 1))
            return space->sound + 1;
    return 0;
}

/* Return the combinations from here to the last one with the same first digits. */
static int64_t combinations_left(const tj_space *space, size_t digits)
{
    int64_t all = 1, passed = 0;

    for (size_t axis = digits; axis < space->axes.count; axis++) {
        all *= (int64_t)space->axes.length[axis];
        passed = passed * (int64_t)space->axes.length[axis] + (int64_t)space->digit[axis];
    }
    return all - passed;
}

int tj_space_next(tj_space *space, tj_config *config)
{
    if (!space || !config)
        return 0;
    while (space->family) {
        size_t hopeless;

        *config = (tj_config)TJ_CONFIG_INIT;
        config->family = space->family;
        for (size_t axis = 0; axis < space->axes.count; axis++)
            config->value[axis] = space->axes.value[axis][space->digit[axis]];
        hopeless = hopeless_digits(space, config);
        if (hopeless > 0) {
            space->seen += combinations_left(space, hopeless);
            advance(space, hopeless);
            continue;
        }
        advance(space, space->axes.count);
        space->seen++;
        if (space->parts > 1 && space->seen / TOGETHER % space->parts != space->part)
            continue;
        if (admits(&space->request, space->has_device ? &space->device : NULL, config))
            return 1;
    }
    return 0;
}

void tj_space_free(tj_space *space)
{
    free(space);
}

void tj_config_spell_out(tj_config *config)
{
    config->check_j = config->check_k = config->check_l = TJ_CHECK_AUTO;
    for (size_t i = 0; i < tj_family_param_count(config->family); i++)
        if (config->value[i] == 0)
            config->value[i] = tj_family_param(config->family, i)->standard;
}

bool tj_config_read(const char *text, tj_config *config)
{
    if (tj_config_parse(text, config, NULL) != TJ_OK)
        return false;
    tj_config_spell_out(config);
    return true;
}

bool tj_is_refused(const tj_config *resolved, const tj_config *refused, size_t refused_count)
{
    for (size_t i = 0; i < refused_count; i++)
        if (refused[i].family == resolved->family && memcmp(refused[i].value, resolved->value, sizeof resolved->value) == 0)
            return true;
    return false;
}

bool tj_space_rewrite(const tj_request *request, tj_config *config)
{
    tj_config resolved = *config, opened, again;
    tj_axes axes;

    if (tj_request_resolve(request, &resolved, NULL) != TJ_OK)
        return false;
    tj_axes_of(config->family, &axes);
    opened = resolved;
    tj_axes_leave_open(&axes, &opened);
    again = opened;
    if (tj_request_resolve(request, &again, NULL) == TJ_OK && memcmp(again.value, resolved.value, sizeof again.value) == 0)
        memcpy(config->value, opened.value, sizeof config->value);
    else
        memcpy(config->value, resolved.value, sizeof config->value); /* not the problem's choice, so outside the space */
    return true;
}
