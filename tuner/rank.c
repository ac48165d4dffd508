/* SPDX-License-Identifier: Apache-2.0 */
#include "rank.h"

#include <tilejit/analysis.h>
#include <tilejit/source.h>

#include "space.h"

double tj_rank_predict(const tj_device_facts *device, const tj_problem *problem, const tj_config *config)
{
    tj_config resolved = *config;
    tj_launch_form form;
    tj_analysis analysis;

    if (tj_preview_launch(problem, &resolved, &form, NULL) != TJ_OK || !tj_device_can_run(device, &form) ||
        tj_analyze(device, problem, &resolved, 0, 0, &analysis, NULL) != TJ_OK)
        return 0;
    return analysis.predicted.us * 1e-6;
}
