/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank: how long would a config take? The only file of this layer that asks a model.
 */
#ifndef TJ_TUNER_RANK_H
#define TJ_TUNER_RANK_H

#include <tilejit/tuner.h>

#include "views.h"

/**
 * Seconds that a config should take; 0: no opinion, for the problem or the device lacks the numbers, or the device cannot run
 * it. For ranking: nobody should believe the number itself.
 */
double tj_rank_predict(const tj_device_facts *device, const tj_problem *problem, const tj_config *config);

/** The same of a resolved config, for whoever asks of many: counted are the views of tj_problem_counted. */
double tj_rank_resolved(const tj_device_facts *device, const tj_views *counted, const tj_config *resolved);

#endif
