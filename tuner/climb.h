/* SPDX-License-Identifier: Apache-2.0 */
/*
 * climb: the config that the model ranks first, without asking it about all of them.
 */
#ifndef TJ_TUNER_CLIMB_H
#define TJ_TUNER_CLIMB_H

#include <tilejit/tuner.h>

/**
 * Seconds that the model gives *best, a config of the space that is none of the refused ones (resolved); 0: it has no opinion on any
 * here, and *best is as it was.
 */
double tj_climb(const tj_problem *problem, const tj_device_facts *device, const tj_config *refused, size_t refused_count,
                tj_config *best);

#endif
