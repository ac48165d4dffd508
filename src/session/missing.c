/* SPDX-License-Identifier: Apache-2.0 */
#include "missing.h"

#include <stdlib.h>
#include <time.h>

enum { MOST = 64 }; /* then the oldest are forgotten */

typedef struct failure {
    tj_plan_key key; /* points at the two below */
    tj_problem problem;
    tj_config config;
    tj_effort effort;
    tj_error why;
    int64_t noted_s;
    bool is_set;
} failure;

struct tj_missing {
    pthread_mutex_t lock;
    /* Under the lock: */
    failure *list; /* MOST of them, NULL until the first */
    size_t next;
};

struct tj_missing *tj_missing_create(void)
{
    struct tj_missing *missing = calloc(1, sizeof *missing);

    if (missing)
        pthread_mutex_init(&missing->lock, NULL);
    return missing;
}

void tj_missing_free(struct tj_missing *missing)
{
    if (!missing)
        return;
    pthread_mutex_destroy(&missing->lock);
    free(missing->list);
    free(missing);
}

static int64_t now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Under the lock. NULL: it is not known. */
static failure *find(struct tj_missing *missing, const tj_plan_key *key, tj_effort effort)
{
    for (size_t i = 0; missing->list && i < MOST; i++)
        if (missing->list[i].is_set && missing->list[i].effort == effort && tj_plan_key_is_equal(&missing->list[i].key, key))
            return &missing->list[i];
    return NULL;
}

void tj_missing_note(struct tj_missing *missing, const tj_plan_key *key, tj_effort effort, const tj_error *why)
{
    failure *one;

    pthread_mutex_lock(&missing->lock);
    if (!missing->list)
        missing->list = calloc(MOST, sizeof *missing->list);
    one = find(missing, key, effort);
    if (!one && missing->list) {
        one = &missing->list[missing->next];
        missing->next = (missing->next + 1) % MOST;
    }
    if (one) {
        *one =
            (failure){.key = *key, .problem = *key->problem, .effort = effort, .why = *why, .noted_s = now_s(), .is_set = true};
        one->key.problem = &one->problem;
        one->key.request = NULL;
        if (key->config) {
            one->config = *key->config;
            one->key.config = &one->config;
        }
    }
    pthread_mutex_unlock(&missing->lock);
}

bool tj_missing_recall(struct tj_missing *missing, tj_host *host, const tj_plan_key *key, tj_effort effort, tj_error *err)
{
    const failure *one;
    tj_error why;

    pthread_mutex_lock(&missing->lock);
    one = find(missing, key, effort);
    if (one && one->noted_s == now_s())
        why = one->why;
    else
        one = NULL;
    pthread_mutex_unlock(&missing->lock);
    if (!one || !tj_host_lacks_nvrtc(host))
        return false;
    if (err)
        *err = why;
    return true;
}
