/* SPDX-License-Identifier: Apache-2.0 */
/*
 * space: the axes of a family's space, for who walks along them.
 */
#ifndef TJ_TUNER_SPACE_H
#define TJ_TUNER_SPACE_H

#include <stdbool.h>

#include <tilejit/tuner.h>

/** For each parameter of a family the values to try, ascending. */
typedef struct tj_axes {
    size_t count; /* parameters */
    size_t length[TJ_CONFIG_MAX_PARAMS];
    int32_t value[TJ_CONFIG_MAX_PARAMS][TJ_PARAM_MAX_TRIED];
} tj_axes;

void tj_axes_of(const tj_family *family, tj_axes *axes);

/** One step up (1) or down (-1) on an axis; 0: the value is not on it, or at its end. */
bool tj_axes_step(const tj_axes *axes, tj_config *config, size_t axis, int step);

/** Open again what tj_space_next leaves open: the checks, and parameters of which only the problem's choice is tried. */
void tj_axes_leave_open(const tj_axes *axes, tj_config *config);

/** Does the device have what a launch asks for? */
bool tj_device_can_run(const tj_device_facts *device, const tj_launch_form *form);

/** Where a value stands on an axis; -1: it is not tried there. */
int tj_axes_at(const tj_axes *axes, size_t axis, int32_t value);

/** Walk one share of the space only: each of so many parts has configs that no other has, about as many. Before the first tj_space_next. */
void tj_space_share(tj_space *space, int part, int parts);

/** The place, in the whole walk, of the config that tj_space_next gave last. */
int64_t tj_space_place(const tj_space *space);

/** Spell out the defaults that do not depend on the problem, and leave the checks open. */
void tj_config_spell_out(tj_config *config);

/** Is a resolved config one of those that were refused? */
bool tj_is_refused(const tj_config *resolved, const tj_config *refused, size_t refused_count);

#endif
