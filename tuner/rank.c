/* SPDX-License-Identifier: Apache-2.0 */
#include "rank.h"

#include "estimate.h"

double tj_rank_predict(const tj_device_facts *device, const tj_problem *problem, const tj_config *config)
{
    double us;

    return tj_estimate(device, problem, config, &us, NULL) == TJ_OK ? us * 1e-6 : 0;
}

double tj_rank_resolved(const tj_device_facts *device, const tj_views *counted, const tj_config *resolved)
{
    bool is_swapped;
    const tj_problem *view = tj_views_at(counted, resolved, &is_swapped);
    double us;

    return tj_estimate_resolved(device, view, is_swapped, resolved, &us, NULL) == TJ_OK ? us * 1e-6 : 0;
}
