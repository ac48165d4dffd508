/* SPDX-License-Identifier: Apache-2.0 */
/*
 * space: the axes of a family's space, for callers that walk along them.
 */
#ifndef TJ_TUNER_SPACE_H
#define TJ_TUNER_SPACE_H

#include <stdbool.h>

#include <tilejit/source.h>
#include <tilejit/tuner.h>

#include "request.h"

/** The values to try for each parameter of a family, ascending. */
typedef struct tj_axes {
    size_t count; /* parameters */
    size_t length[TJ_CONFIG_MAX_PARAMS];
    int32_t value[TJ_CONFIG_MAX_PARAMS][TJ_PARAM_MAX_TRIED];
} tj_axes;

void tj_axes_of(const tj_family *family, tj_axes *axes);

/** As tj_space_create. NULL only when memory ran out. */
tj_space *tj_space_of(const tj_request *request, const tj_device_facts *device, const tj_family *family);

/** Step up (1) or down (-1) on an axis. False: the value is not on it, or at its end. */
bool tj_axes_step(const tj_axes *axes, tj_config *config, size_t axis, int step);

/** Open again what tj_space_next leaves open: the checks, and parameters for which only the problem's choice is tried. */
void tj_axes_leave_open(const tj_axes *axes, tj_config *config);

/** Does the device, or the problem's share of it, have the resources that a launch needs? */
bool tj_device_can_run(const tj_device_facts *device, const tj_problem *problem, const tj_launch_form *form);

/** Return the index of a value on an axis; -1: it is not on it. */
int tj_axes_at(const tj_axes *axes, size_t axis, int32_t value);

/** Walk one share of the space only: the parts are disjoint, and about equal. Call before the first tj_space_next. */
void tj_space_share(tj_space *space, int part, int parts);

/** Return the place, in the whole walk, of the last config of tj_space_next. */
int64_t tj_space_place(const tj_space *space);

/** Spell out the defaults that do not depend on the problem, and leave the checks open. */
void tj_config_spell_out(tj_config *config);

/**
 * Write a config as the space writes it: parameters that a family settles are spelled out or, if no other value is tried, left
 * open, so that a search does not meet one kernel under two names. False: the problem refuses the config, which stays as it
 * was.
 */
bool tj_space_rewrite(const tj_request *request, tj_config *config);

/** Read a printed config and spell it out. False: this version does not know it. */
bool tj_config_read(const char *text, tj_config *config);

/** Is a resolved config among the refused ones? */
bool tj_is_refused(const tj_config *resolved, const tj_config *refused, size_t refused_count);

#endif
