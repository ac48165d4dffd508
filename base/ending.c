/* SPDX-License-Identifier: Apache-2.0 */
#include "ending.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "error.h"

enum { LONGEST_WAIT_MS = 10000 };

static atomic_bool has_begun;
static atomic_int inside, first_uses, ending_threads;
static _Thread_local int own_inside, own_first_uses; /* a thread that calls exit() inside a library does not wait for itself */
static _Thread_local bool is_watched;
static pthread_mutex_t calls_lock = PTHREAD_MUTEX_INITIALIZER;
static tj_ending_call *calls; /* under the lock */

/*
 * The function of glibc that registers destructors of C++'s thread_local. NULL elsewhere: exit() then does not wait for first
 * uses.
 */
extern int __cxa_thread_atexit_impl(void (*destroy)(void *), void *object, void *library) __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

static void wait_for_others(const atomic_int *count, int own)
{
    const struct timespec moment = {0, 1000000};

    for (int i = 0; i < LONGEST_WAIT_MS && atomic_load(count) > own; i++)
        nanosleep(&moment, NULL);
}

static void call_all(void)
{
    pthread_mutex_lock(&calls_lock);
    for (const tj_ending_call *one = calls; one; one = one->next)
        one->call(one->payload);
    pthread_mutex_unlock(&calls_lock);
}

static void at_exit(void)
{
    if (!atomic_exchange(&has_begun, true))
        call_all();
    wait_for_others(&inside, own_inside);
}

static void at_thread_exit(void *unused)
{
    (void)unused;
    atomic_fetch_add(&ending_threads, 1);
    wait_for_others(&first_uses, own_first_uses);
    atomic_fetch_sub(&ending_threads, 1);
}

static void in_child(void)
{
    atomic_store(&inside, own_inside);
    atomic_store(&first_uses, own_first_uses);
    atomic_store(&ending_threads, 0);
    pthread_mutex_init(&calls_lock, NULL); /* another thread of the parent may have held the lock */
    calls = NULL;
}

/* Both registrations fail only when memory runs out: then exit() does not wait. */
void tj_ending_watch_thread(void)
{
    if (!is_watched && __cxa_thread_atexit_impl)
        (void)__cxa_thread_atexit_impl(at_thread_exit, NULL, &__dso_handle);
    is_watched = true;
}

__attribute__((constructor)) static void watch_loading_thread(void)
{
    (void)atexit(at_exit);
    pthread_atfork(NULL, NULL, in_child);
    tj_ending_watch_thread();
}

bool tj_ending_has_begun(void)
{
    return atomic_load(&has_begun);
}

bool tj_ending_is_near(bool is_first_use)
{
    return tj_ending_has_begun() || (is_first_use && atomic_load(&ending_threads) > 0);
}

static void count(int one, bool is_first_use)
{
    own_inside += one;
    atomic_fetch_add(&inside, one);
    if (is_first_use) {
        own_first_uses += one;
        atomic_fetch_add(&first_uses, one);
    }
}

tj_status tj_ending_enter(bool is_first_use, tj_error *err)
{
    if (is_first_use)
        wait_for_others(&ending_threads, 0);
    /* Count before the look: the handler announces that it has begun before it reads the count. */
    count(1, is_first_use);
    if (!tj_ending_has_begun())
        return TJ_OK;
    count(-1, is_first_use);
    return tj_fail(err, TJ_ERR_CANCELLED, "the process is exiting: nothing is compiled, loaded or tuned any more");
}

void tj_ending_leave(bool is_first_use)
{
    if (is_first_use)
        (void)atexit(at_exit);
    count(-1, is_first_use);
}

void tj_ending_ask(tj_ending_call *wanted)
{
    pthread_mutex_lock(&calls_lock);
    wanted->next = calls;
    calls = wanted;
    pthread_mutex_unlock(&calls_lock);
}

void tj_ending_forget(tj_ending_call *wanted)
{
    pthread_mutex_lock(&calls_lock);
    for (tj_ending_call **link = &calls; *link; link = &(*link)->next)
        if (*link == wanted) {
            *link = wanted->next;
            break;
        }
    pthread_mutex_unlock(&calls_lock);
}
