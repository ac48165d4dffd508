/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank: predict how long a config takes. The only file of this layer that asks a model.
 */
#ifndef TJ_TUNER_RANK_H
#define TJ_TUNER_RANK_H

#include <tilejit/tuner.h>

#include "request.h"

/**
 * Predict the seconds of a config; 0: no prediction, because numbers of the problem or the device are missing, or the device
 * cannot run it. For ranking only: the number itself is not reliable, and it is larger for a config that takes more of the
 * device than the problem's share.
 */
double tj_rank_predict(const tj_device_facts *device, const tj_request *request, const tj_config *config);

/** As tj_rank_predict for a resolved config, for callers that ask about many. counted: by tj_request_counted. */
double tj_rank_resolved(const tj_device_facts *device, const tj_request *counted, const tj_config *resolved);

#endif
