/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warm_up: a list of problems, and threads that take one after the other from it.
 */
#include <tilejit/warm_up.h>

#include <sched.h>
#include <stdlib.h>

#include "error.h"
#include "plan.h"
#include "sized.h"

enum { MOST_THREADS = 64, USUAL_THREADS = 8 };

typedef struct warming {
    tj_context *context;
    const tj_problem *problem;
    size_t count;
    const tj_warm_up_options *options;
    const tj_driver *driver;
    CUcontext current; /* of the caller, in which each thread works */
    atomic_size_t next;
    atomic_bool is_stopped;
    pthread_mutex_t lock;
    /* Under the lock: */
    size_t done, made, first_failed;
    tj_status status; /* of that one */
    tj_error error;
} warming;

static int usual_threads(void)
{
    cpu_set_t allowed;
    const int processors = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;

    return processors < USUAL_THREADS ? processors : USUAL_THREADS;
}

static tj_status make(const warming *w, size_t index, tj_error *err)
{
    const tj_plan *plan;
    const tj_status status = tj_plan_prepare(w->context, &w->problem[index], NULL, &plan, err);

    if (status == TJ_OK)
        tj_plan_release(plan);
    return status;
}

static void report(warming *w, size_t index, tj_status status, const tj_error *why)
{
    pthread_mutex_lock(&w->lock);
    w->done++;
    w->made += status == TJ_OK;
    if (status != TJ_OK && (w->status == TJ_OK || index < w->first_failed)) {
        w->first_failed = index;
        w->status = status;
        w->error = *why;
    }
    if (w->options->on_step &&
        w->options->on_step(&(tj_warm_up_step){sizeof(tj_warm_up_step), index, &w->problem[index], w->done, w->count, status,
                                               status == TJ_OK ? "" : why->message},
                            w->options->payload))
        atomic_store(&w->is_stopped, true);
    pthread_mutex_unlock(&w->lock);
}

static void take_problems(warming *w)
{
    size_t index;
    tj_error why;

    while (!atomic_load(&w->is_stopped) && (index = atomic_fetch_add(&w->next, 1)) < w->count) {
        const tj_status status = make(w, index, &why);

        report(w, index, status, &why);
    }
}

static void *work(void *payload)
{
    warming *w = payload;
    CUcontext popped = NULL;

    if (w->driver->api.ctx_push(w->current) != CUDA_SUCCESS)
        return NULL; /* the caller's thread does all of it, or says why not */
    take_problems(w);
    (void)w->driver->api.ctx_pop(&popped);
    return NULL;
}

/* Inside a scope. The calling thread works too, so that all is done however few threads there can be. */
static void run(warming *w, int threads)
{
    pthread_t thread[MOST_THREADS];
    int started = 0;

    while (started < threads - 1 && (size_t)started + 1 < w->count && pthread_create(&thread[started], NULL, work, w) == 0)
        started++;
    take_problems(w);
    while (started > 0)
        pthread_join(thread[--started], NULL);
}

static tj_status read_options(const tj_warm_up_options *options, tj_warm_up_options *own, tj_error *err)
{
    const tj_status status = TJ_READ(options, own, TJ_WARM_UP_OPTIONS_INIT, err);

    if (status != TJ_OK)
        return status;
    if (own->reserved != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "options.reserved is %d: it must be 0", own->reserved);
    if (own->threads < 0 || own->threads > MOST_THREADS)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "threads is %d: use 0 (default) to %d", own->threads, MOST_THREADS);
    return TJ_OK;
}

tj_status tj_warm_up(tj_context *context, const tj_problem *problems, size_t count, const tj_warm_up_options *options,
                     size_t *made, tj_error *err)
{
    if (made)
        *made = 0;
    if (TJ_HAS_NULL(err, context))
        return TJ_ERR_INVALID_ARGUMENT;
    if (count > 0 && !problems)
        return tj_fail_null(err, __func__, "problems");
    tj_warm_up_options own = TJ_WARM_UP_OPTIONS_INIT;
    warming w = {.context = context, .problem = problems, .count = count, .options = &own};
    tj_scope scope;
    tj_status status = options ? read_options(options, &own, err) : TJ_OK;

    if (status == TJ_OK)
        status = tj_scope_enter(&context->host.gpu, &scope, err);
    if (status != TJ_OK)
        return status;
    status = tj_scope_handle(&scope, &w.current, err);
    if (status == TJ_OK) {
        w.driver = scope.driver;
        pthread_mutex_init(&w.lock, NULL);
        run(&w, w.options->threads ? w.options->threads : usual_threads());
        pthread_mutex_destroy(&w.lock);
        if (made)
            *made = w.made;
        status = w.status;
        if (status != TJ_OK && err)
            *err = w.error;
        if (atomic_load(&w.is_stopped))
            status =
                tj_fail(err, TJ_ERR_CANCELLED, "stopped after %zu of %zu problems: call again for the others", w.done, count);
    }
    tj_scope_leave(&scope);
    return status;
}
