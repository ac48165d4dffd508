/* SPDX-License-Identifier: Apache-2.0 */
/*
 * climb: find the config that the model ranks first, without asking it about all configs.
 */
#ifndef TJ_TUNER_CLIMB_H
#define TJ_TUNER_CLIMB_H

#include <tilejit/tuner.h>

#include "request.h"

/** A config that a climb rated, as it may be tried, and its predicted seconds. */
typedef void tj_climb_visit_fn(void *payload, const tj_config *config, double seconds);

/** Limits of a climb, and who is told of it; zeros: none. */
typedef struct tj_climb_terms {
    const tj_family *family;  /* no other */
    const tj_config *refused; /* none of these, resolved */
    size_t refused_count;
    tj_climb_visit_fn *visit; /* it reports each config on the way that is worth trying; some come twice */
    void *payload;            /* of visit */
} tj_climb_terms;

/**
 * Find the best config of the space by the model, and return its predicted seconds. 0: no prediction for any config here, and
 * *best is unchanged. NULL: best may be NULL.
 */
double tj_climb(const tj_request *request, const tj_device_facts *device, const tj_climb_terms *terms, tj_config *best);

#endif
