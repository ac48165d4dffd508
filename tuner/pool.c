/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool: compile configs on threads, before the tuner times them.
 *
 * Compiling is most of the cost of tuning, and only one kernel may be timed at once: so several threads compile and one times.
 * If no thread has taken a requested config, the caller compiles it, since it would only wait. Compiled configs stay, and so do
 * loaded kernels, until there are many.
 *
 * A compile cannot be cut short, and takes half a second where every processor has one. So the end of a tuning does not wait
 * for those that are under way: their threads drop them, and go on with the candidates of the tuning that follows.
 */
#include "pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tilejit/analysis.h>

#include "clock.h"
#include "error.h"
#include "estimate.h"
#include "image.h"
#include "parallel.h"
#include "proof.h"
#include "settle.h"

/* Whose configs are compiled. Jobs refer to it, so that it lasts until the last of them is done. */
typedef struct subject {
    int references;
    tj_request request;
    const int64_t *extent; /* of a family of the application; NULL: request */
    tj_device_facts device;
    bool adapts;           /* configs to device */
    tj_pool_list_fn *list; /* to be called before its configs are compiled; NULL: it was, or there is none */
    tj_pool_basis basis;
} subject;

static const double NEW_COMPILE = 0.125; /* share of the last compile in the usual time */

enum { WAITING, BUSY, DONE };

typedef struct job {
    struct job *next;
    subject *of;
    tj_config config;
    int state;
    bool was_awaited;
    bool was_named; /* by tj_pool_await_any */
    bool is_orphan; /* nobody wants the result any more */
    tj_candidate made;
} job;

struct tj_pool {
    tj_host host;
    char target[16];
    int asked; /* threads, as the tuning says */
    pthread_mutex_t lock;
    pthread_cond_t has_work, has_result;
    subject *now, *ahead; /* NULL: none */
    job *first, *last;    /* all jobs, in the order of their announcement */
    bool is_stopped;      /* for the subject of now */
    double end;           /* of that tuning's search, by tj_clock_s */
    double usual_s;       /* a compile; 0: not known yet */
    bool is_ending;
    int threads;
    pthread_t thread[TJ_MOST_THREADS];
};

/* ---- subjects ----------------------------------------------------------------------------------------------------- */

static subject *make_subject(const tj_request *request, const int64_t *extent, const tj_device_facts *device)
{
    subject *of = calloc(1, sizeof *of);

    if (!of)
        return NULL;
    of->references = 1;
    of->extent = extent;
    if (request)
        of->request = *request;
    of->adapts = device != NULL;
    if (device)
        of->device = *device;
    return of;
}

static void release(subject *of)
{
    if (of && --of->references == 0)
        free(of);
}

/* Would both compile the same? Those of the application are not told apart. */
static bool is_same(const subject *a, const subject *b)
{
    char a_id[TJ_PROBLEM_ID_BYTES], b_id[TJ_PROBLEM_ID_BYTES];

    if (!a || !b || a->extent || b->extent || a->adapts != b->adapts || memcmp(&a->device, &b->device, sizeof a->device) != 0)
        return false;
    tj_problem_id(&a->request.problem, a_id);
    tj_problem_id(&b->request.problem, b_id);
    return strcmp(a_id, b_id) == 0;
}

/* ---- compiling ---------------------------------------------------------------------------------------------------- */

static tj_status build(tj_pool *pool, const subject *of, const tj_config *given, tj_program *program, tj_error *err)
{
    tj_config config = *given, resolved = *given;
    tj_status status;

    if (of->extent) {
        status = tj_custom_generate(&config, of->extent, &program->source, err);
        return status == TJ_OK ? tj_image_build(&pool->host, program->source, pool->target, false, &program->image, err)
                               : status;
    }
    status = of->adapts ? tj_request_adapt(&of->device, &of->request, &config, &resolved, err)
                        : tj_request_resolve(&of->request, &resolved, err);
    return status == TJ_OK ? tj_program_build(&pool->host, &of->request, &resolved, pool->target, program, err) : status;
}

static void drop(tj_candidate *made)
{
    if (made->custom)
        tj_custom_kernel_free(made->custom);
    else
        tj_program_drop(&made->program);
}

/* Take a job out of the list, and release it. Called with the lock held. */
static void drop_job(tj_pool *pool, job *one)
{
    job **link = &pool->first;

    pool->last = NULL;
    while (*link) {
        if (*link == one) {
            *link = one->next;
        } else {
            pool->last = *link;
            link = &(*link)->next;
        }
    }
    drop(&one->made);
    release(one->of);
    free(one);
}

/* Compile a job. Called with the lock held, which is released while compiling; it may be dropped then. */
static void run(tj_pool *pool, job *one)
{
    double start;

    one->state = BUSY;
    pthread_mutex_unlock(&pool->lock);
    start = tj_clock_s();
    one->made.status = build(pool, one->of, &one->config, &one->made.program, &one->made.error);
    if (one->made.status == TJ_OK && tj_image_origin(one->made.program.image) == TJ_FROM_COMPILER)
        one->made.ms = 1e3 * (tj_clock_s() - start);
    pthread_mutex_lock(&pool->lock);
    if (one->made.ms > 0)
        pool->usual_s += (1e-3 * one->made.ms - pool->usual_s) * (pool->usual_s > 0 ? NEW_COMPILE : 1);
    one->state = DONE;
    if (one->is_orphan)
        drop_job(pool, one);
    pthread_cond_broadcast(&pool->has_result);
}

/* Return the job of a config, added if there is none; NULL when memory ran out. Called with the lock held. */
static job *find_or_add(tj_pool *pool, subject *of, const tj_config *config)
{
    job *one = pool->first;

    while (one && (one->of != of || one->is_orphan || memcmp(&one->config, config, sizeof *config) != 0))
        one = one->next;
    if (one)
        return one;
    one = calloc(1, sizeof *one);
    if (!one)
        return NULL;
    one->config = *config;
    one->of = of;
    of->references++;
    if (pool->last)
        pool->last->next = one;
    else
        pool->first = one;
    pool->last = one;
    pthread_cond_signal(&pool->has_work);
    return one;
}

/* ---- threads ------------------------------------------------------------------------------------------------------ */

/* Configs that a list announces on one of the pool's threads. */
typedef struct listing {
    tj_pool *pool;
    subject *of;
} listing;

static void announce_listed(void *sink, const tj_config *config)
{
    const listing *l = sink;

    pthread_mutex_lock(&l->pool->lock);
    (void)find_or_add(l->pool, l->of, config);
    pthread_mutex_unlock(&l->pool->lock);
}

/* Called with the lock held, which is released while listing. */
static void list(tj_pool *pool, subject *of)
{
    tj_pool_list_fn *const call = of->list;
    listing l = {pool, of};

    of->list = NULL;
    of->references++;
    pthread_mutex_unlock(&pool->lock);
    call(&of->basis, &of->request, of->adapts ? &of->device : NULL, pool->threads, &l, announce_listed);
    pthread_mutex_lock(&pool->lock);
    release(of);
}

static job *first_waiting(const tj_pool *pool, const subject *of)
{
    job *one = pool->first;

    while (one && (one->of != of || one->state != WAITING || one->is_orphan))
        one = one->next;
    return one;
}

/* Would a compile that begins now end after the search? Called with the lock held. */
static bool is_closed(const tj_pool *pool)
{
    return pool->is_stopped || tj_clock_s() + pool->usual_s > pool->end;
}

/*
 * Do one piece of work. While the search goes on a thread may be idle: a compile for the next tuning would keep it from what the
 * trials suggest. False: there is nothing to do.
 */
static bool do_next(tj_pool *pool)
{
    const bool is_ahead = is_closed(pool);
    job *one = NULL;

    if (is_ahead && pool->ahead && pool->ahead->list) {
        list(pool, pool->ahead);
        return true;
    }
    if (!is_ahead || pool->ahead)
        one = first_waiting(pool, is_ahead ? pool->ahead : pool->now);
    if (one)
        run(pool, one);
    return one;
}

static void *work(void *payload)
{
    tj_pool *pool = payload;

    pthread_mutex_lock(&pool->lock);
    while (!pool->is_ending)
        if (!do_next(pool))
            pthread_cond_wait(&pool->has_work, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* Drop the jobs of a subject. Those that are being compiled are dropped by their threads. Called with the lock held. */
static void abandon(tj_pool *pool, const subject *of)
{
    for (job *one = pool->first, *next; one; one = next) {
        next = one->next;
        if (one->of != of)
            continue;
        one->is_orphan = true;
        if (one->state != BUSY)
            drop_job(pool, one);
    }
}

/* ---- taking and leaving ------------------------------------------------------------------------------------------- */

static void free_pool(tj_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->is_ending = true;
    pthread_cond_broadcast(&pool->has_work);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->threads; i++)
        pthread_join(pool->thread[i], NULL);
    while (pool->first)
        drop_job(pool, pool->first);
    release(pool->now);
    release(pool->ahead);
    pthread_cond_destroy(&pool->has_work);
    pthread_cond_destroy(&pool->has_result);
    pthread_mutex_destroy(&pool->lock);
    tj_host_end(&pool->host);
    free(pool);
}

static tj_status create(const tj_host *host, const char *target, int threads, tj_pool **out, tj_error *err)
{
    tj_pool *pool = calloc(1, sizeof *pool);
    pthread_condattr_t monotonic;
    tj_status status;

    if (!pool)
        return tj_fail_memory(err, "the threads of a tuning");
    (void)strncpy(pool->target, target, sizeof pool->target - 1);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->has_work, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&pool->has_result, &monotonic);
    pthread_condattr_destroy(&monotonic);
    status = tj_host_begin_scratch(&pool->host, host, err);
    pool->asked = threads;
    /* With fewer threads, or none, tuning is slower but works. */
    for (const int wanted = tj_thread_count(threads); status == TJ_OK && pool->threads < wanted; pool->threads++)
        if (pthread_create(&pool->thread[pool->threads], NULL, work, pool) != 0)
            break;
    *out = pool;
    return status;
}

void tj_pool_rest_begin(tj_pool_rest *rest)
{
    pthread_mutex_init(&rest->lock, NULL);
    rest->pool = NULL;
}

void tj_pool_rest_end(tj_pool_rest *rest)
{
    if (rest->pool && rest->pool->host.gpu.pid == getpid())
        free_pool(rest->pool);
    pthread_mutex_destroy(&rest->lock);
}

static tj_pool *take_from(tj_pool_rest *rest)
{
    tj_pool *pool;

    if (!rest)
        return NULL;
    pthread_mutex_lock(&rest->lock);
    pool = rest->pool;
    rest->pool = NULL;
    pthread_mutex_unlock(&rest->lock);
    return pool;
}

/* Let the subject follow the pool's own, which is over. Takes of. */
static void follow(tj_pool *pool, subject *of)
{
    pthread_mutex_lock(&pool->lock);
    if (is_same(pool->ahead, of)) {
        release(of);
        of = pool->ahead;
        of->list = NULL; /* the tuning lists its own */
    } else if (pool->ahead) {
        abandon(pool, pool->ahead);
        release(pool->ahead);
    }
    pool->ahead = NULL;
    pool->now = of;
    pool->is_stopped = false;
    pool->end = INFINITY;
    pthread_mutex_unlock(&pool->lock);
}

static tj_status take(tj_pool_rest *rest, const tj_host *host, subject *of, const char *target, int threads, tj_pool **out,
                      tj_error *err)
{
    tj_pool *pool = of ? take_from(rest) : NULL;
    tj_status status = of ? TJ_OK : tj_fail_memory(err, "the threads of a tuning");

    *out = NULL;
    if (pool && (pool->asked != threads || strcmp(pool->target, target) != 0)) {
        free_pool(pool);
        pool = NULL;
    }
    if (status == TJ_OK && !pool)
        status = create(host, target, threads, &pool, err);
    if (status == TJ_OK) {
        follow(pool, of);
        *out = pool;
        return TJ_OK;
    }
    if (pool)
        free_pool(pool);
    release(of);
    return status;
}

tj_status tj_pool_take(tj_pool_rest *rest, const tj_host *host, const tj_request *request, const tj_device_facts *device,
                       const char *target, int threads, tj_pool **pool, tj_error *err)
{
    return take(rest, host, make_subject(request, NULL, device), target, threads, pool, err);
}

tj_status tj_pool_take_custom(const tj_host *host, const int64_t *extent, const char *target, int threads, tj_pool **pool,
                              tj_error *err)
{
    return take(NULL, host, make_subject(NULL, extent, NULL), target, threads, pool, err);
}

void tj_pool_leave(tj_pool *pool, tj_pool_rest *rest)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    abandon(pool, pool->now);
    release(pool->now);
    pool->now = NULL;
    pthread_mutex_unlock(&pool->lock);
    if (rest) {
        pthread_mutex_lock(&rest->lock);
        if (!rest->pool) {
            rest->pool = pool;
            pool = NULL;
        }
        pthread_mutex_unlock(&rest->lock);
    }
    if (pool)
        free_pool(pool);
}

/* ---- a tuning ----------------------------------------------------------------------------------------------------- */

tj_host *tj_pool_host(tj_pool *pool)
{
    return &pool->host;
}

int tj_pool_threads(const tj_pool *pool)
{
    return pool->threads;
}

void tj_pool_stop(tj_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->is_stopped = true;
    pthread_cond_broadcast(&pool->has_work); /* for what is wanted ahead */
    pthread_mutex_unlock(&pool->lock);
}

void tj_pool_end_at(tj_pool *pool, double end)
{
    pthread_mutex_lock(&pool->lock);
    pool->end = end;
    pthread_mutex_unlock(&pool->lock);
}

void tj_pool_look_ahead(tj_pool *pool, const tj_request *next, tj_pool_list_fn *list_next, tj_pool_basis basis)
{
    subject *of = make_subject(next, NULL, pool->now->adapts ? &pool->now->device : NULL);

    if (!of)
        return;
    of->list = list_next;
    of->basis = basis;
    pthread_mutex_lock(&pool->lock);
    pool->ahead = of;
    pthread_cond_signal(&pool->has_work);
    pthread_mutex_unlock(&pool->lock);
}

void tj_pool_announce(tj_pool *pool, const tj_config *config)
{
    pthread_mutex_lock(&pool->lock);
    (void)find_or_add(pool, pool->now, config);
    pthread_mutex_unlock(&pool->lock);
}

/* Return the job of a config when it is done; NULL when memory ran out. */
static job *finish(tj_pool *pool, const tj_config *config)
{
    job *one;

    pthread_mutex_lock(&pool->lock);
    one = find_or_add(pool, pool->now, config);
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

/* Return the first job that nobody was told of, and that is done; *is_any: there are others. Called with the lock held. */
static job *first_result(const tj_pool *pool, bool *is_any)
{
    *is_any = false;
    for (job *one = pool->first; one; one = one->next)
        if (one->of == pool->now && !one->was_named && !one->is_orphan) {
            if (one->state == DONE)
                return one;
            *is_any |= one->state == BUSY || !is_closed(pool);
        }
    return NULL;
}

/* Wait for a result, until a time of tj_clock_s at most. Called with the lock held. */
static void wait_until(tj_pool *pool, double end)
{
    const double seconds = end - tj_clock_s();
    struct timespec at;

    if (!isfinite(seconds)) {
        pthread_cond_wait(&pool->has_result, &pool->lock);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += (time_t)floor(seconds);
    at.tv_nsec += (long)(1e9 * (seconds - floor(seconds)));
    if (at.tv_nsec >= 1000000000) {
        at.tv_nsec -= 1000000000;
        at.tv_sec++;
    }
    (void)pthread_cond_timedwait(&pool->has_result, &pool->lock, &at);
}

bool tj_pool_await_any(tj_pool *pool, double end, tj_config *config)
{
    bool is_any;
    job *one;

    pthread_mutex_lock(&pool->lock);
    if (pool->ahead && is_closed(pool))
        pthread_cond_broadcast(&pool->has_work); /* idle threads cannot know that it is closed by now */
    while (!(one = first_result(pool, &is_any)) && is_any && tj_clock_s() < end) {
        if (pool->threads == 0) /* then all of them wait */
            run(pool, first_waiting(pool, pool->now));
        else
            wait_until(pool, end);
    }
    if (one) {
        one->was_named = true;
        *config = one->config;
    }
    pthread_mutex_unlock(&pool->lock);
    return one;
}

bool tj_pool_is_idle(tj_pool *pool)
{
    int under_way = 0;
    bool is_open;

    pthread_mutex_lock(&pool->lock);
    is_open = !is_closed(pool);
    for (job *one = pool->first; one; one = one->next)
        under_way += one->state != DONE;
    pthread_mutex_unlock(&pool->lock);
    return is_open && under_way < pool->threads;
}

static tj_status load_custom(tj_pool *pool, tj_candidate *made, tj_error *err)
{
    tj_program *program = &made->program;
    const tj_status status =
        tj_custom_host_load(&pool->host, pool->now->extent, program->source, program->image, &made->custom, err);

    if (status == TJ_OK)
        program->kernel = made->custom->loaded;
    return status;
}

/* Load a program, unless its kernel has failed a proof on such a device. */
static tj_status load(tj_pool *pool, tj_program *program, tj_error *err)
{
    const tj_device_facts *device = &pool->now->device;
    tj_proof proof;
    tj_status status = tj_program_load(&pool->host, program, err);

    if (status == TJ_OK && pool->now->adapts && tj_proof_recall(&pool->host, program->image, device, &proof))
        status = tj_proof_check(program->source, device, &proof, err);
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
        status = pool->now->extent ? load_custom(pool, &one->made, err) : load(pool, &one->made.program, err);
    if (status == TJ_OK)
        *loaded = &one->made;
    return status;
}

void tj_pool_forget(tj_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    for (job *one = pool->first, *next; one; one = next) {
        next = one->next;
        if (one->state == DONE && one->was_awaited)
            drop_job(pool, one);
    }
    pthread_mutex_unlock(&pool->lock);
}
