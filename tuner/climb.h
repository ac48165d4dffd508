/* SPDX-License-Identifier: Apache-2.0 */
/*
 * climb: the config that the model ranks first, without asking it about all of them.
 */
#ifndef TJ_TUNER_CLIMB_H
#define TJ_TUNER_CLIMB_H

#include <tilejit/tuner.h>

/** Seconds that the model gives *best, a config of the space; 0: it has no opinion on any here, and *best is as it was. */
double tj_climb(const tj_problem *problem, const tj_device_facts *device, tj_config *best);

#endif
