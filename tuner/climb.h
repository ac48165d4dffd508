/* SPDX-License-Identifier: Apache-2.0 */
/*
 * climb: find the config that the model ranks first, without asking it about all configs.
 */
#ifndef TJ_TUNER_CLIMB_H
#define TJ_TUNER_CLIMB_H

#include <tilejit/tuner.h>

#include "request.h"

/**
 * Find the best config of the space by the model, apart from the refused ones (resolved), and return its predicted seconds. 0:
 * no prediction for any config here, and *best is unchanged.
 */
double tj_climb(const tj_request *request, const tj_device_facts *device, const tj_config *refused, size_t refused_count,
                tj_config *best);

/** A config that a climb rated, as it may be tried, and its predicted seconds. */
typedef void tj_climb_visit_fn(void *payload, const tj_config *config, double seconds);

/** As tj_climb, in one family (NULL: in all), and report each config on the way that is worth trying; some come twice. */
double tj_climb_past(const tj_request *request, const tj_device_facts *device, const tj_family *family,
                     tj_climb_visit_fn *visit, void *payload);

#endif
