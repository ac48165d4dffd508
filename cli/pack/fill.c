/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fill: a work list, and threads that take its items. The pack is the same in whatever order they finish.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "pack.h"

enum { MOST_THREADS = 64, USUAL_THREADS = 8 };

typedef struct filling {
    const cli_call *call;
    tj_pack *pack;
    const cli_shapes *shapes;
    const pack_targets *targets;
    const tj_config *config; /* NULL: the library's choice */
    atomic_size_t next;      /* all shapes for the first target, then for the second */
    atomic_bool has_failed;
    pthread_mutex_t lock;
    /* Guarded by the lock: */
    size_t failed; /* the first in the list, so that the message is always the same */
    tj_status status;
    tj_error error;
} filling;

static int usual_threads(void)
{
    cpu_set_t allowed;
    const int processors = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;

    return processors < USUAL_THREADS ? processors : USUAL_THREADS;
}

static void note_failure(filling *f, size_t index, tj_status status, const tj_error *why)
{
    pthread_mutex_lock(&f->lock);
    if (f->status == TJ_OK || index < f->failed) {
        f->failed = index;
        f->status = status;
        f->error = *why;
    }
    pthread_mutex_unlock(&f->lock);
    atomic_store(&f->has_failed, true);
}

static void *work(void *payload)
{
    filling *f = payload;
    const size_t count = f->shapes->count * f->targets->count;
    size_t index;

    while (!atomic_load(&f->has_failed) && (index = atomic_fetch_add(&f->next, 1)) < count) {
        const cli_shape *shape = &f->shapes->item[index % f->shapes->count];
        const char *target = f->targets->item[index / f->shapes->count];
        tj_error why;
        const tj_status status = tj_pack_add(f->pack, &shape->problem, f->config, target, &why);

        if (status != TJ_OK)
            note_failure(f, index, status, &why);
        else if (f->call->log_level >= TJ_LOG_INFO)
            cli_print(stderr, "tilejit: %s for %s is packed\n", shape->text, target);
    }
    return NULL;
}

tj_status pack_fill(const cli_call *call, tj_pack *pack, const cli_shapes *shapes, const pack_targets *targets,
                    const tj_config *config, int threads, tj_error *err)
{
    filling f = {
        .call = call, .pack = pack, .shapes = shapes, .targets = targets, .config = config, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t thread[MOST_THREADS];
    int started = 0;

    if (threads == 0)
        threads = usual_threads();
    while (started < threads - 1 && pthread_create(&thread[started], NULL, work, &f) == 0)
        started++;
    (void)work(&f);
    while (started > 0)
        pthread_join(thread[--started], NULL);
    if (f.status == TJ_OK)
        return TJ_OK;
    return tj_fail(err, f.status, "%s for %s: %.380s", shapes->item[f.failed % shapes->count].text,
                   targets->item[f.failed / shapes->count], f.error.message);
}
