/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tune_interrupt: Ctrl-C and SIGTERM while shapes are tuned.
 *
 * No handler: NVRTC's compiler puts one of its own in place of any, for some milliseconds, and that one ends the process. All
 * threads block both signals instead (they inherit the mask, NVRTC's and the driver's too), and one thread waits for them.
 */
#include "tune.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

static atomic_bool is_interrupted, is_over;
static pthread_t listener;
static sigset_t awaited, mask_before;

/* As if it had never been caught: whoever waits for the process learns of the signal. */
static void end_by(int number)
{
    sigset_t one;

    sigemptyset(&one);
    sigaddset(&one, number);
    (void)raise(number); /* still blocked: it waits for the mask, so that NVRTC has no time for a handler in between */
    (void)signal(number, SIG_DFL);
    (void)pthread_sigmask(SIG_UNBLOCK, &one, NULL);
}

static void *listen(void *payload)
{
    int number;

    while (sigwait(&awaited, &number) == 0 && !atomic_load(&is_over))
        if (atomic_exchange(&is_interrupted, true))
            end_by(number);
    return payload;
}

tj_status tune_listen_for_interrupt(tj_error *err)
{
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGINT);
    sigaddset(&awaited, SIGTERM);
    /* A shell has SIGINT ignored for a command in its background. When NVRTC puts that back, a signal on its way would be lost. */
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    (void)pthread_sigmask(SIG_BLOCK, &awaited, &mask_before);
    if (pthread_create(&listener, NULL, listen, NULL) == 0)
        return TJ_OK;
    (void)pthread_sigmask(SIG_SETMASK, &mask_before, NULL);
    return cli_fail(err, TJ_ERR_OUT_OF_MEMORY, "no thread could be started");
}

void tune_stop_listening(void)
{
    atomic_store(&is_over, true);
    (void)pthread_kill(listener, SIGINT); /* either wakes it */
    (void)pthread_join(listener, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &mask_before, NULL);
}

bool tune_is_interrupted(void)
{
    return atomic_load_explicit(&is_interrupted, memory_order_relaxed);
}
