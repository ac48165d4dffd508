/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool: compile configs on threads, before the tuner times them.
 *
 * Compiling is most of the cost of tuning, and only one kernel may be timed at once: so several threads compile and one times.
 * If no thread has taken a requested config, the caller compiles it, since it would only wait. Compiled configs stay, and so do
 * loaded kernels, until there are many.
 */
#include "pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/analysis.h>

#include "clock.h"
#include "error.h"
#include "estimate.h"
#include "image.h"
#include "parallel.h"
#include "proof.h"
#include "settle.h"

enum { WAITING, BUSY, DONE };

typedef struct job {
    struct job *next;
    tj_config config;
    int state;
    bool was_awaited;
    tj_candidate made;
} job;

struct tj_pool {
    tj_host *host;
    const tj_request *request; /* NULL: extent */
    const int64_t *extent;
    const tj_device_facts *device;
    char target[16];
    pthread_mutex_t lock;
    pthread_cond_t has_work, has_result;
    job *first, *last; /* all jobs, in the order of their announcement */
    bool is_ending;
    int threads;
    pthread_t thread[TJ_MOST_THREADS];
};

static tj_status build(const tj_pool *pool, const tj_config *given, tj_program *program, tj_error *err)
{
    tj_config config = *given, resolved = *given;
    tj_status status;

    if (pool->extent) {
        status = tj_custom_generate(&config, pool->extent, &program->source, err);
        return status == TJ_OK ? tj_image_build(pool->host, program->source, pool->target, false, &program->image, err)
                               : status;
    }
    status = pool->device ? tj_request_adapt(pool->device, pool->request, &config, &resolved, err)
                          : tj_request_resolve(pool->request, &resolved, err);
    return status == TJ_OK ? tj_program_build(pool->host, pool->request, &resolved, pool->target, program, err) : status;
}

static void compile(const tj_pool *pool, const tj_config *config, tj_candidate *made)
{
    const double start = tj_clock_s();

    made->status = build(pool, config, &made->program, &made->error);
    if (made->status == TJ_OK && tj_image_origin(made->program.image) == TJ_FROM_COMPILER)
        made->ms = 1e3 * (tj_clock_s() - start);
}

static void drop(tj_candidate *made)
{
    if (made->custom)
        tj_custom_kernel_free(made->custom);
    else
        tj_program_drop(&made->program);
}

/* Compile a job. Called with the lock held, which is released while compiling. */
static void run(tj_pool *pool, job *one)
{
    one->state = BUSY;
    pthread_mutex_unlock(&pool->lock);
    compile(pool, &one->config, &one->made);
    pthread_mutex_lock(&pool->lock);
    one->state = DONE;
    pthread_cond_broadcast(&pool->has_result);
}

static job *first_waiting(const tj_pool *pool)
{
    job *one = pool->first;

    while (one && one->state != WAITING)
        one = one->next;
    return one;
}

static void *work(void *payload)
{
    tj_pool *pool = payload;

    pthread_mutex_lock(&pool->lock);
    while (!pool->is_ending) {
        job *one = first_waiting(pool);

        if (one)
            run(pool, one);
        else
            pthread_cond_wait(&pool->has_work, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static tj_pool *create(const tj_pool *subject, const char *target, int threads)
{
    tj_pool *pool = calloc(1, sizeof *pool);

    if (!pool)
        return NULL;
    *pool = *subject;
    (void)strncpy(pool->target, target, sizeof pool->target - 1);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->has_work, NULL);
    pthread_cond_init(&pool->has_result, NULL);
    threads = tj_thread_count(threads);
    /* With fewer threads, or none, tuning is slower but works. */
    while (pool->threads < threads && pthread_create(&pool->thread[pool->threads], NULL, work, pool) == 0)
        pool->threads++;
    return pool;
}

tj_pool *tj_pool_create(tj_host *host, const tj_request *request, const tj_device_facts *device, const char *target,
                        int threads)
{
    return create(&(tj_pool){.host = host, .request = request, .device = device}, target, threads);
}

tj_pool *tj_pool_create_custom(tj_host *host, const int64_t *extent, const char *target, int threads)
{
    return create(&(tj_pool){.host = host, .extent = extent}, target, threads);
}

void tj_pool_stop(tj_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->is_ending = true;
    pthread_cond_broadcast(&pool->has_work);
    pthread_mutex_unlock(&pool->lock);
}

void tj_pool_free(tj_pool *pool)
{
    if (!pool)
        return;
    tj_pool_stop(pool);
    for (int i = 0; i < pool->threads; i++)
        pthread_join(pool->thread[i], NULL);
    for (job *one = pool->first, *next; one; one = next) {
        next = one->next;
        drop(&one->made);
        free(one);
    }
    pthread_cond_destroy(&pool->has_work);
    pthread_cond_destroy(&pool->has_result);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

/* Return the job of a config, added if there is none; NULL when memory ran out. Called with the lock held. */
static job *find_or_add(tj_pool *pool, const tj_config *config)
{
    job *one = pool->first;

    while (one && memcmp(&one->config, config, sizeof *config) != 0)
        one = one->next;
    if (one)
        return one;
    one = calloc(1, sizeof *one);
    if (!one)
        return NULL;
    one->config = *config;
    if (pool->last)
        pool->last->next = one;
    else
        pool->first = one;
    pool->last = one;
    pthread_cond_signal(&pool->has_work);
    return one;
}

void tj_pool_announce(tj_pool *pool, const tj_config *config)
{
    pthread_mutex_lock(&pool->lock);
    (void)find_or_add(pool, config);
    pthread_mutex_unlock(&pool->lock);
}

/* Return the job of a config when it is done; NULL when memory ran out. */
static job *finish(tj_pool *pool, const tj_config *config)
{
    job *one;

    pthread_mutex_lock(&pool->lock);
    one = find_or_add(pool, config);
    if (one)
        one->was_awaited = true;
    if (one && one->state == WAITING)
        run(pool, one);
    while (one && one->state != DONE)
        pthread_cond_wait(&pool->has_result, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    return one;
}

tj_candidate *tj_pool_await(tj_pool *pool, const tj_config *config)
{
    job *one = finish(pool, config);

    return one ? &one->made : NULL;
}

static tj_status load_custom(const tj_pool *pool, tj_candidate *made, tj_error *err)
{
    tj_program *program = &made->program;
    const tj_status status = tj_custom_host_load(pool->host, pool->extent, program->source, program->image, &made->custom, err);

    if (status == TJ_OK)
        program->kernel = made->custom->loaded;
    return status;
}

/* Load a program, unless its kernel has failed a proof on such a device. */
static tj_status load(const tj_pool *pool, tj_program *program, tj_error *err)
{
    tj_proof proof;
    tj_status status = tj_program_load(pool->host, program, err);

    if (status == TJ_OK && pool->device && tj_proof_recall(pool->host, program->image, pool->device, &proof))
        status = tj_proof_check(program->source, pool->device, &proof, err);
    if (status != TJ_OK) {
        tj_kernel_free(program->kernel);
        program->kernel = NULL;
    }
    return status;
}

tj_status tj_pool_load(tj_pool *pool, const tj_config *config, const tj_candidate **loaded, tj_error *err)
{
    job *one = finish(pool, config);
    tj_status status;

    *loaded = NULL;
    if (!one)
        return tj_fail_memory(err, "a candidate of a tuning");
    status = one->made.status;
    if (status != TJ_OK && err)
        *err = one->made.error;
    if (status == TJ_OK && !one->made.program.kernel)
        status = pool->extent ? load_custom(pool, &one->made, err) : load(pool, &one->made.program, err);
    if (status == TJ_OK)
        *loaded = &one->made;
    return status;
}

void tj_pool_forget(tj_pool *pool)
{
    job **link = &pool->first, *one;

    pthread_mutex_lock(&pool->lock);
    pool->last = NULL;
    while ((one = *link)) {
        if (one->state == DONE && one->was_awaited) {
            *link = one->next;
            drop(&one->made);
            free(one);
        } else {
            pool->last = one;
            link = &one->next;
        }
    }
    pthread_mutex_unlock(&pool->lock);
}
