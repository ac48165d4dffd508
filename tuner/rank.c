/* SPDX-License-Identifier: Apache-2.0 */
#include "rank.h"

#include <tilejit/analysis.h>

double tj_rank_predict(const tj_device_facts *device, const tj_problem *problem, const tj_config *config)
{
    double us;

    return tj_estimate(device, problem, config, &us, NULL) == TJ_OK ? us * 1e-6 : 0;
}
