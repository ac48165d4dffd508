/* SPDX-License-Identifier: Apache-2.0 */
#include "tuning.h"

#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "error.h"
#include "image.h"
#include "kernel.h"

enum { POOL_JOBS = 512 };

static const double FINAL_SECONDS = 8, FINAL_SHARE = 0.25; /* at most, and of the budget */

/* ---- the measurer ------------------------------------------------------------------------------------------------- */

static void announce(void *payload, const tj_config *config)
{
    tj_tuning *t = payload;

    tj_pool_announce(t->pool, config);
    t->announced++;
}

/* Does this failure concern all configs? If memory fails for the first config, there is nothing to compare with. */
static bool is_fatal(tj_status status, double best_us)
{
    return status == TJ_ERR_NO_COMPILER || status == TJ_ERR_NO_DRIVER || status == TJ_ERR_DEVICE_LOST ||
           status == TJ_ERR_FORKED || status == TJ_ERR_CANCELLED || (status == TJ_ERR_OUT_OF_MEMORY && best_us == 0);
}

static tj_status measure(void *payload, double best_us, tj_trial *trial, tj_error *err)
{
    tj_tuning *t = payload;
    const tj_candidate *made, *loaded = NULL;
    tj_kernel_facts facts = TJ_KERNEL_FACTS_INIT;
    tj_error why;
    tj_status status;

    if (t->announced > POOL_JOBS) { /* limit the images and loaded kernels; announced configs stay */
        tj_pool_forget(t->pool);
        t->announced = 0;
    }
    tj_tuning_spend(t, &t->spent.choosing);
    made = tj_pool_await(t->pool, &trial->config);
    tj_tuning_spend(t, &t->spent.waiting);
    status = tj_pool_load(t->pool, &trial->config, &loaded, &why);
    if (made && made->status == TJ_OK) {
        const tj_launch_step *product = tj_product_step(tj_source_launch(made->program.source));
        const int32_t registers = tj_image_resources(made->program.image).registers;

        trial->compile_ms = made->ms;
        trial->registers = registers > 0 ? registers : 0;
        trial->shared_bytes = product->static_shared_bytes + product->dynamic_shared_bytes;
    }
    t->was_short |= status == TJ_ERR_OUT_OF_MEMORY;
    if (is_fatal(status, best_us)) {
        if (err)
            *err = why;
        return status;
    }
    if (status != TJ_OK) {
        trial->state = TJ_TRIAL_REFUSED;
        (void)strncpy(trial->why, why.message, sizeof trial->why - 1);
        return TJ_OK;
    }
    /* An image from a store has no log with registers, but the driver knows them. */
    if (tj_kernel_get_facts(loaded->program.kernel, &facts, NULL) == TJ_OK && facts.registers > 0)
        trial->registers = facts.registers;
    status = t->subject->measure(t, loaded, best_us, trial, err);
    tj_tuning_spend(t, &t->spent.measuring);
    return status;
}

static tj_status verify(void *payload, tj_trial *trial, tj_error *err)
{
    tj_tuning *t = payload;
    const tj_status status = t->subject->verify(t, trial, err);

    tj_tuning_spend(t, &t->spent.verifying);
    return status;
}

/* The first config is waited for, however short the time. */
static int any_ready(void *payload, tj_config *ready)
{
    tj_tuning *t = payload;
    bool is_ready;

    tj_tuning_spend(t, &t->spent.choosing);
    is_ready = tj_pool_await_any(t->pool, t->deadline, ready);
    tj_tuning_spend(t, &t->spent.waiting);
    return is_ready;
}

static int is_idle(void *payload)
{
    const tj_tuning *t = payload;

    return tj_pool_is_idle(t->pool);
}

static double seconds_gone(void *payload)
{
    const tj_tuning *t = payload;

    return tj_clock_s() - t->start;
}

static int is_cancelled(void *payload)
{
    return tj_is_cancelled(payload);
}

void tj_tuning_tell(const tj_tune_progress *progress, void *payload)
{
    const tj_tuning *t = payload;
    tj_tune_progress whole = *progress;

    whole.budget = isfinite(t->budget) ? t->budget : 0;
    whole.spent = t->spent;
    if (t->options.progress)
        t->options.progress(&whole, t->options.payload);
}

void tj_tuning_spend(tj_tuning *t, double *share)
{
    const double now = tj_clock_s();

    *share += now - t->lap;
    t->lap = now;
}

void tj_tuning_tell_time(tj_tuning *t, tj_tune_result *result)
{
    tj_tuning_spend(t, &t->spent.confirming);
    result->seconds = t->lap - t->start;
    result->spent = t->spent;
}

/* ---- begin and end ------------------------------------------------------------------------------------------------ */

void tj_tuning_begin(tj_tuning *t, const tj_subject *subject, tj_host *host, tj_pool_rest *rest, const tj_tune_options *options)
{
    t->subject = subject;
    t->host = host;
    t->rest = rest;
    t->options = *options;
    t->start = t->lap = tj_clock_s();
    t->budget = tj_tune_budget(options) > 0 ? tj_tune_budget(options) : (double)INFINITY;
}

tj_status tj_tuning_open(tj_tuning *t, tj_error *err)
{
    tj_gpu *const gpu = &t->host->gpu;
    tj_status status = tj_gpu_check_process(gpu, err);

    if (status == TJ_OK)
        status = tj_gpu_current_device(gpu, &t->device, err);
    if (status == TJ_OK)
        status = tj_host_target(t->host, t->device.cc_major, t->device.cc_minor, t->target, err);
    if (status == TJ_OK)
        status = tj_gpu_create_stream(gpu, &t->stream, err);
    t->is_emulated = tj_gpu_is_emulated(gpu);
    return status;
}

void tj_tuning_end(tj_tuning *t)
{
    free(t->found.trial);
    tj_search_end(&t->search);
    tj_gpu_destroy_stream(&t->host->gpu, t->stream);
    tj_pool_leave(t->pool, t->rest);
}

/* ---- search ------------------------------------------------------------------------------------------------------- */

tj_trial *tj_find_trial(const tj_search_result *found, const tj_config *config)
{
    for (size_t i = 0; i < found->count; i++)
        if (memcmp(&found->trial[i].config, config, sizeof *config) == 0)
            return &found->trial[i];
    return NULL;
}

/* Return the tuning's options without the share of the budget for the finals. */
static tj_tune_options options_of_search(tj_tuning *t)
{
    tj_tune_options options = t->options;

    options.seconds = isfinite(t->budget) ? t->budget - fmin(FINAL_SECONDS, FINAL_SHARE * t->budget) : -1;
    options.is_cancelled = is_cancelled;
    options.progress = tj_tuning_tell;
    options.payload = t;
    t->deadline = isfinite(t->budget) ? t->start + options.seconds : (double)INFINITY;
    return options;
}

tj_status tj_tuning_begin_search(tj_tuning *t, const tj_search_space *space, tj_error *err)
{
    const tj_subject *subject = t->subject;
    tj_status status;

    t->measurer = (tj_measurer){sizeof t->measurer,
                                t,
                                announce,
                                measure,
                                subject->verify ? verify : NULL,
                                subject->predict,
                                seconds_gone,
                                &t->device,
                                space->propose ? any_ready : NULL,
                                tj_pool_threads(t->pool),
                                is_idle};
    t->limits = options_of_search(t);
    tj_pool_end_at(t->pool, t->deadline);
    tj_tuning_spend(t, &t->spent.placing);
    status = tj_search_begin(&t->search, space, &t->limits, &t->measurer, err);
    tj_tuning_spend(t, &t->spent.choosing);
    return status;
}

tj_status tj_tuning_search(tj_tuning *t, const tj_config *first, size_t first_count, tj_error *err)
{
    tj_status status = tj_search_run(&t->search, first, first_count, &t->found, err);

    tj_tuning_spend(t, &t->spent.choosing);
    tj_pool_stop(t->pool); /* the configs announced ahead are no longer needed */
    t->found.is_complete &= !t->was_short;
    if (status == TJ_OK && t->found.was_cancelled && (t->found.count == 0 || !t->found.trial[0].is_verified))
        status = tj_fail(err, TJ_ERR_CANCELLED, "cancelled before any config was timed and verified: nothing to keep");
    return status;
}
