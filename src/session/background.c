/* SPDX-License-Identifier: Apache-2.0 */
/*
 * background: what is asked for, and the thread that serves it. It is served once; nobody waits for it.
 */
#include "background.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "ending.h"

typedef struct request {
    struct request *next;
    bool is_proof;
    bool has_config; /* of a proof: the caller named one */
    tj_problem problem;
    tj_config config;
} request;

struct tj_background {
    tj_context *context;
    const tj_background_work *work;
    double seconds;
    pthread_mutex_t lock;
    pthread_cond_t has_work;
    request *first, *last; /* asked for, oldest first; those that were served stay, so that none is served twice */
    request *next;         /* to be served; NULL: none */
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

static void *serve(void *payload)
{
    struct tj_background *b = payload;

    pthread_mutex_lock(&b->lock);
    while (!is_ending(b)) {
        const request *one = b->next;

        if (!one) {
            pthread_cond_wait(&b->has_work, &b->lock);
            continue;
        }
        b->next = one->next;
        pthread_mutex_unlock(&b->lock);
        if (tj_ending_enter(false, NULL) == TJ_OK) {
            if (one->is_proof)
                b->work->prove(b->context, &one->problem, one->has_config ? &one->config : NULL);
            else
                b->work->tune(b->context, &one->problem, b->seconds, is_ending, b);
            tj_ending_leave(false);
        }
        pthread_mutex_lock(&b->lock);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
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
    while (b->first) {
        request *next = b->first->next;

        free(b->first);
        b->first = next;
    }
    pthread_cond_destroy(&b->has_work);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

static bool is_same(const request *a, const request *b)
{
    return a->is_proof == b->is_proof && a->has_config == b->has_config &&
           memcmp(&a->problem, &b->problem, sizeof a->problem) == 0 && memcmp(&a->config, &b->config, sizeof a->config) == 0;
}

/* Under the lock. */
static bool was_asked(const struct tj_background *b, const request *wanted)
{
    for (const request *one = b->first; one; one = one->next)
        if (is_same(one, wanted))
            return true;
    return false;
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
    request *one = calloc(1, sizeof *one);

    pthread_mutex_lock(&b->lock);
    if (!one || b->is_ending || was_asked(b, wanted)) {
        free(one);
    } else {
        *one = *wanted;
        if (b->last)
            b->last->next = one;
        else
            b->first = one;
        b->last = one;
        if (!b->next)
            b->next = one;
        if (!b->has_thread)
            b->has_thread = pthread_create(&b->thread, NULL, serve, b) == 0;
        pthread_cond_signal(&b->has_work);
    }
    pthread_mutex_unlock(&b->lock);
}

void tj_background_tune(struct tj_background *b, const tj_problem *problem)
{
    if (b && b->seconds > 0 && !declines(b))
        ask(b, &(request){.problem = *problem});
}

void tj_background_prove(struct tj_background *b, const tj_problem *problem, const tj_config *config)
{
    if (b)
        ask(b, &(request){.is_proof = true,
                          .has_config = config != NULL,
                          .problem = *problem,
                          .config = config ? *config : (tj_config){0}});
}
