/* SPDX-License-Identifier: Apache-2.0 */
/*
 * background: the requests, and the thread that serves them. No caller waits for it.
 */
#include "background.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "canonical.h"
#include "ending.h"

typedef enum work_kind { TO_IMPROVE, TO_PROVE, TO_TUNE, KINDS } work_kind; /* in the order in which they are served */

typedef struct request {
    struct request *next;
    work_kind kind;
    bool has_config; /* the caller named one */
    tj_problem problem;
    tj_config config;
} request;

/* Oldest first. */
typedef struct queue {
    request *first, *last;
} queue;

struct tj_background {
    tj_context *context;
    const tj_background_work *work;
    double seconds;
    pthread_mutex_t lock;
    pthread_cond_t has_work;
    queue waiting[KINDS];
    request *served; /* proofs and tunings, and what failed: none is served twice */
    const request *present;
    atomic_bool is_ending;
    bool has_thread, has_declined;
    pthread_t thread;
};

struct tj_background *tj_background_create(tj_context *context, const tj_background_work *work, double seconds)
{
    struct tj_background *b = calloc(1, sizeof *b);

    if (!b)
        return NULL;
    b->context = context;
    b->work = work;
    b->seconds = seconds;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->has_work, NULL);
    return b;
}

static int is_ending(void *payload)
{
    return atomic_load(&((struct tj_background *)payload)->is_ending) || tj_ending_has_begun();
}

/* Under the lock: out of its queue with the next one; NULL: nothing is to be done. */
static request *take_next(struct tj_background *b)
{
    for (int k = 0; k < KINDS; k++) {
        request *one = b->waiting[k].first;

        if (!one)
            continue;
        b->waiting[k].first = one->next;
        if (!one->next)
            b->waiting[k].last = NULL;
        return one;
    }
    return NULL;
}

/* Should it be remembered, so that it is not served again? */
static bool do_it(struct tj_background *b, const request *one)
{
    const tj_config *config = one->has_config ? &one->config : NULL;

    switch (one->kind) {
    case TO_IMPROVE:
        return !b->work->improve(b->context, &one->problem, config);
    case TO_PROVE:
        b->work->prove(b->context, &one->problem, config);
        return true;
    default:
        b->work->tune(b->context, &one->problem, b->seconds, is_ending, b);
        return true;
    }
}

static void *serve(void *payload)
{
    struct tj_background *b = payload;

    pthread_mutex_lock(&b->lock);
    while (!is_ending(b)) {
        request *one = take_next(b);
        bool stays = true;

        if (!one) {
            pthread_cond_wait(&b->has_work, &b->lock);
            continue;
        }
        b->present = one;
        pthread_mutex_unlock(&b->lock);
        if (tj_ending_enter(false, NULL) == TJ_OK) {
            stays = do_it(b, one);
            tj_ending_leave(false);
        }
        pthread_mutex_lock(&b->lock);
        b->present = NULL;
        if (stays) {
            one->next = b->served;
            b->served = one;
        } else {
            free(one);
        }
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

static void free_requests(request *one)
{
    while (one) {
        request *next = one->next;

        free(one);
        one = next;
    }
}

void tj_background_free(struct tj_background *b)
{
    if (!b)
        return;
    pthread_mutex_lock(&b->lock);
    atomic_store(&b->is_ending, true);
    pthread_cond_signal(&b->has_work);
    pthread_mutex_unlock(&b->lock);
    if (b->has_thread)
        pthread_join(b->thread, NULL);
    for (int k = 0; k < KINDS; k++)
        free_requests(b->waiting[k].first);
    free_requests(b->served);
    pthread_cond_destroy(&b->has_work);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

static bool is_same(const request *a, const request *b)
{
    return a->kind == b->kind && a->has_config == b->has_config && tj_problem_is_same(&a->problem, &b->problem) &&
           memcmp(&a->config, &b->config, sizeof a->config) == 0;
}

static bool is_among(const request *one, const request *wanted)
{
    while (one && !is_same(one, wanted))
        one = one->next;
    return one != NULL;
}

/* Under the lock. */
static bool was_asked(const struct tj_background *b, const request *wanted)
{
    return (b->present && is_same(b->present, wanted)) || is_among(b->waiting[wanted->kind].first, wanted) ||
           is_among(b->served, wanted);
}

/* The emulator's times mean nothing, and tj_tune would keep none: said once. */
static bool declines(struct tj_background *b)
{
    if (!tj_gpu_is_emulated(&b->context->host.gpu))
        return false;
    pthread_mutex_lock(&b->lock);
    if (!b->has_declined)
        tj_log_line(&b->context->host.log, TJ_LOG_WARNING,
                    "nothing is tuned in the background: the emulator's times mean nothing");
    b->has_declined = true;
    pthread_mutex_unlock(&b->lock);
    return true;
}

static void ask(struct tj_background *b, const request *wanted)
{
    queue *waiting = &b->waiting[wanted->kind];
    request *one = calloc(1, sizeof *one);

    pthread_mutex_lock(&b->lock);
    if (!one || b->is_ending || was_asked(b, wanted)) {
        free(one);
    } else {
        *one = *wanted;
        if (waiting->last)
            waiting->last->next = one;
        else
            waiting->first = one;
        waiting->last = one;
        if (!b->has_thread)
            b->has_thread = pthread_create(&b->thread, NULL, serve, b) == 0;
        pthread_cond_signal(&b->has_work);
    }
    pthread_mutex_unlock(&b->lock);
}

static request request_of(work_kind kind, const tj_problem *problem, const tj_config *config)
{
    return (request){
        .kind = kind, .has_config = config != NULL, .problem = *problem, .config = config ? *config : (tj_config){0}};
}

void tj_background_tune(struct tj_background *b, const tj_problem *problem)
{
    const request wanted = request_of(TO_TUNE, problem, NULL);

    if (b && b->seconds > 0 && !declines(b))
        ask(b, &wanted);
}

void tj_background_prove(struct tj_background *b, const tj_problem *problem, const tj_config *config)
{
    const request wanted = request_of(TO_PROVE, problem, config);

    if (b)
        ask(b, &wanted);
}

void tj_background_improve(struct tj_background *b, const tj_problem *problem, const tj_config *config)
{
    const request wanted = request_of(TO_IMPROVE, problem, config);

    if (b)
        ask(b, &wanted);
}
