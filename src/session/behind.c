/* SPDX-License-Identifier: Apache-2.0 */
/*
 * behind.c: compile and prove kernels, and tune problems without a record, while other kernels serve their calls. tj_tune keeps
 * the record and replaces the plan, and so does a failed proof.
 */
#include "background.h"
#include "family.h"
#include "plan.h"

static void tune(tj_context *context, const tj_problem *problem, double seconds, int (*is_ending)(void *payload), void *payload)
{
    tj_tune_options options = TJ_TUNE_OPTIONS_INIT;
    tj_tune_result result = TJ_TUNE_RESULT_INIT;
    tj_error why;

    options.seconds = seconds;
    options.is_cancelled = is_ending;
    options.payload = payload;
    options.threads = 1; /* the processors are the application's */
    if (tj_tune(context, problem, &options, &result, &why) != TJ_OK && !is_ending(payload))
        tj_log_line(&context->host.log, TJ_LOG_WARNING, "tuning in the background: %s", why.message);
}

static void prove(tj_context *context, const tj_problem *problem, const tj_config *config)
{
    const tj_plan *plan = NULL;
    tj_proof proof = TJ_PROOF_INIT;
    tj_error why;
    tj_status status = tj_plan_prepare(context, problem, config, &plan, &why);

    if (status == TJ_OK && tj_source_config(tj_plan_source(plan))->family != TJ_SIMPLE_FAMILY)
        status = tj_plan_prove(context, plan, problem, 0, &proof, &why);
    if (status == TJ_ERR_CHECK_FAILED || status == TJ_ERR_DEVICE_LOST)
        tj_log_line(&context->host.log, TJ_LOG_ERROR, "earlier products of this kernel may be wrong: %s", why.message);
    else if (status != TJ_OK)
        tj_log_line(&context->host.log, TJ_LOG_WARNING, "a kernel is not proven: %s", why.message);
    tj_plan_release(plan);
}

static bool improve(tj_context *context, const tj_problem *problem, const tj_config *config)
{
    tj_error why;
    const tj_status status = tj_plan_improve(context, problem, config, &why);

    if (status != TJ_OK && status != TJ_ERR_CANCELLED)
        tj_log_line(&context->host.log, TJ_LOG_WARNING, "the textbook kernel stays in use: %s", why.message);
    return status == TJ_OK;
}

const tj_background_work tj_behind = {tune, prove, improve};
