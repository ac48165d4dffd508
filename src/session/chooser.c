/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chooser: the records of a context, and the choice that they and the model make.
 *
 * A choice is made when a plan is built, never in a launch, so a lock and a few files are cheap enough.
 */
#include "chooser.h"

#include <stdlib.h>

#include "record.h"

struct tj_chooser {
    pthread_mutex_t lock;
    tj_records *records;  /* under lock; NULL: not read yet */
    uint64_t read_at;     /* the change that they were read after */
    _Atomic uint64_t now; /* changes of records by this process */
};

struct tj_chooser *tj_chooser_create(void)
{
    struct tj_chooser *chooser = calloc(1, sizeof *chooser);

    if (chooser)
        pthread_mutex_init(&chooser->lock, NULL);
    return chooser;
}

void tj_chooser_free(struct tj_chooser *chooser)
{
    if (!chooser)
        return;
    tj_records_free(chooser->records);
    pthread_mutex_destroy(&chooser->lock);
    free(chooser);
}

void tj_context_records_changed(tj_context *context)
{
    atomic_fetch_add_explicit(&context->chooser->now, 1, memory_order_release);
}

/* Under the lock. */
static void read_records(tj_context *context)
{
    struct tj_chooser *chooser = context->chooser;
    const uint64_t now = atomic_load_explicit(&chooser->now, memory_order_acquire);
    int64_t passed_over;
    tj_status status;
    tj_error why;

    if (chooser->records && chooser->read_at == now)
        return;
    tj_records_free(chooser->records);
    chooser->records = tj_records_create();
    chooser->read_at = now;
    if (!chooser->records)
        return;
    status = tj_records_read(context->host.store, chooser->records, &passed_over, &why);
    if (status != TJ_OK && status != TJ_ERR_IO) /* a store that cannot be used has none */
        tj_log_line(&context->host.log, TJ_LOG_WARNING, "tuning records are not used: %s", why.message);
}

tj_status tj_context_choose(tj_context *context, const tj_device_facts *device, const tj_problem *problem,
                            const tj_config *refused, size_t refused_count, tj_config *config, tj_chosen_by *chosen_by,
                            tj_error *err)
{
    tj_status status;

    pthread_mutex_lock(&context->chooser->lock);
    read_records(context);
    status = tj_choose_another(context->chooser->records, problem, device, refused, refused_count, config, chosen_by, err);
    pthread_mutex_unlock(&context->chooser->lock);
    return status;
}
