/* SPDX-License-Identifier: Apache-2.0 */
/*
 * of_problem: functions of a request (settle.h), for tests that have a problem.
 */
#ifndef TJ_OF_PROBLEM_H
#define TJ_OF_PROBLEM_H

#include "estimate.h"
#include "settle.h"

/** Resolve the config, and fill in the launch form. On failure *form is all zero. */
static inline tj_status tj_preview_launch(const tj_problem *problem, tj_config *config, tj_launch_form *form, tj_error *err)
{
    tj_request request;
    const tj_status status = tj_request_make(problem, &request, err);

    *form = (tj_launch_form){0};
    return status == TJ_OK ? tj_request_preview(&request, config, form, err) : status;
}

/** As tj_request_relax. */
static inline bool tj_config_relax(const tj_problem *problem, tj_config *config)
{
    tj_request request;

    return tj_request_make(problem, &request, NULL) == TJ_OK && tj_request_relax(&request, config);
}

/** Resolve a config, and count what it does. On failure *counts is all zero. */
static inline tj_status tj_count(const tj_problem *problem, const tj_config *config, tj_counts *counts, tj_error *err)
{
    tj_config resolved = *config;
    tj_launch_form form;
    tj_request request;
    tj_status status = tj_request_make(problem, &request, err);

    *counts = (tj_counts){0};
    if (status == TJ_OK)
        status = tj_request_resolve(&request, &resolved, err);
    if (status != TJ_OK)
        return status;
    tj_request_counted(&request, &request);
    return tj_count_resolved(&request, &resolved, false, &form, counts, err);
}

#endif
