/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool: compile configs on threads, ahead of the one that is being timed.
 *
 * Compiling is most of what tuning costs, timing must not share the device: so many threads compile and one times. A config
 * that is asked for before a thread took it is compiled by the asker, who would have nothing else to do.
 */
#include "pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

enum { WAITING, BUSY, DONE };
enum { MAX_THREADS = 64 };

typedef struct job {
    struct job *next;
    tj_config config;
    int state;
    bool was_awaited;
    tj_compiled compiled;
} job;

struct tj_pool {
    tj_context *context;
    const tj_problem *problem;
    char target[16];
    pthread_mutex_t lock;
    pthread_cond_t has_work, has_result;
    job *first, *last; /* all jobs, in the order they were announced */
    bool is_ending;
    int threads;
    pthread_t thread[MAX_THREADS];
};

static void compile(const tj_pool *pool, const tj_config *config, tj_compiled *compiled)
{
    const double start = tj_clock_s();
    tj_source *source = NULL;
    tj_image *image = NULL;

    compiled->status = tj_generate(pool->problem, config, &source, &compiled->error);
    if (compiled->status == TJ_OK)
        compiled->status = tj_image_obtain(pool->context, source, pool->target, &image, &compiled->error);
    if (compiled->status == TJ_OK) {
        const tj_launch_step *product = tj_product_step(tj_source_launch(source));

        compiled->registers = tj_image_resources(image).registers;
        compiled->shared_bytes = product->static_shared_bytes + product->dynamic_shared_bytes;
        compiled->ms = tj_image_origin(image) == TJ_FROM_COMPILER ? 1e3 * (tj_clock_s() - start) : 0;
    }
    tj_image_free(image);
    tj_source_free(source);
}

/* Under the lock, which is let go while compiling. */
static void run(tj_pool *pool, job *one)
{
    one->state = BUSY;
    pthread_mutex_unlock(&pool->lock);
    compile(pool, &one->config, &one->compiled);
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

tj_pool *tj_pool_create(tj_context *context, const tj_problem *problem, const char *target, int threads)
{
    tj_pool *pool = calloc(1, sizeof *pool);
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);

    if (!pool)
        return NULL;
    pool->context = context;
    pool->problem = problem;
    (void)strncpy(pool->target, target, sizeof pool->target - 1);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->has_work, NULL);
    pthread_cond_init(&pool->has_result, NULL);
    if (threads <= 0)
        threads = processors > 1 ? (int)processors : 1;
    if (threads > MAX_THREADS)
        threads = MAX_THREADS;
    /* Fewer threads, down to none, are slower and nothing worse. */
    while (pool->threads < threads && pthread_create(&pool->thread[pool->threads], NULL, work, pool) == 0)
        pool->threads++;
    return pool;
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
    while (pool->first) {
        job *next = pool->first->next;

        free(pool->first);
        pool->first = next;
    }
    pthread_cond_destroy(&pool->has_work);
    pthread_cond_destroy(&pool->has_result);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

/* Under the lock. The job of a config, made if there is none; NULL when memory ran out. */
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

void tj_pool_pass_on(tj_pool *from, tj_pool *to)
{
    if (!from)
        return;
    pthread_mutex_lock(&from->lock); /* never taken by who holds the other's */
    for (const job *one = from->first; one; one = one->next)
        if (!one->was_awaited)
            tj_pool_announce(to, &one->config);
    pthread_mutex_unlock(&from->lock);
}

void tj_pool_await(tj_pool *pool, const tj_config *config, tj_compiled *compiled)
{
    job *one;

    memset(compiled, 0, sizeof *compiled);
    pthread_mutex_lock(&pool->lock);
    one = find_or_add(pool, config);
    if (one)
        one->was_awaited = true;
    if (one && one->state == WAITING)
        run(pool, one);
    while (one && one->state != DONE)
        pthread_cond_wait(&pool->has_result, &pool->lock);
    if (one)
        *compiled = one->compiled;
    pthread_mutex_unlock(&pool->lock);
    if (!one)
        compile(pool, config, compiled);
}
