/* SPDX-License-Identifier: Apache-2.0 */
/*
 * background: problems without a record are tuned on a thread, one after the other, while their calls are served by what the
 * chooser chose. tj_tune keeps the record and has the plan replaced; nobody waits for it.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "choose.h"

typedef struct request {
    struct request *next;
    tj_problem problem;
} request;

struct tj_background {
    tj_context *context;
    double seconds;
    pthread_mutex_t lock;
    pthread_cond_t has_work;
    request *first, *last; /* asked for, oldest first; those that were served stay, so that none is served twice */
    request *next;         /* to be served; NULL: none */
    atomic_bool is_ending;
    bool has_thread;
    pthread_t thread;
};

struct tj_background *tj_background_create(tj_context *context, double seconds)
{
    struct tj_background *b = calloc(1, sizeof *b);

    if (!b)
        return NULL;
    b->context = context;
    b->seconds = seconds;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->has_work, NULL);
    return b;
}

static int is_ending(void *payload)
{
    return atomic_load(&((struct tj_background *)payload)->is_ending);
}

static void *work(void *payload)
{
    struct tj_background *b = payload;

    pthread_mutex_lock(&b->lock);
    while (!b->is_ending) {
        tj_tune_options options = TJ_TUNE_OPTIONS_INIT;
        const request *one = b->next;
        tj_tune_result result;
        tj_error why;

        if (!one) {
            pthread_cond_wait(&b->has_work, &b->lock);
            continue;
        }
        b->next = one->next;
        pthread_mutex_unlock(&b->lock);
        options.seconds = b->seconds;
        options.is_cancelled = is_ending;
        options.payload = b;
        options.threads = 1; /* the processors are the application's */
        if (tj_tune(b->context, &one->problem, &options, &result, &why) != TJ_OK && !b->is_ending)
            tj_log_line(&b->context->log, TJ_LOG_WARNING, "tuning in the background: %s", why.message);
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

/* Under the lock. */
static bool was_asked(const struct tj_background *b, const tj_problem *problem)
{
    for (const request *one = b->first; one; one = one->next)
        if (memcmp(&one->problem, problem, sizeof *problem) == 0)
            return true;
    return false;
}

void tj_background_ask(struct tj_background *b, const tj_problem *problem)
{
    request *one;

    if (!b)
        return;
    one = calloc(1, sizeof *one);
    pthread_mutex_lock(&b->lock);
    if (!one || b->is_ending || was_asked(b, problem)) {
        free(one);
    } else {
        one->problem = *problem;
        if (b->last)
            b->last->next = one;
        else
            b->first = one;
        b->last = one;
        if (!b->next)
            b->next = one;
        if (!b->has_thread)
            b->has_thread = pthread_create(&b->thread, NULL, work, b) == 0;
        pthread_cond_signal(&b->has_work);
    }
    pthread_mutex_unlock(&b->lock);
}
