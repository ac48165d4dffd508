/* SPDX-License-Identifier: Apache-2.0 */
#include "threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ending.h"

enum { MOST_THREADS = 4, PROCESSORS_EACH = 4, NICENESS = 10 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t has_work;
    blas_task *waiting; /* in no order */
    int threads, idle;
} self = {.lock = PTHREAD_MUTEX_INITIALIZER, .has_work = PTHREAD_COND_INITIALIZER};

/* Under the lock. */
static blas_task *take_largest(void)
{
    blas_task **largest = &self.waiting, *taken;

    for (blas_task **at = largest; *at; at = &(*at)->next)
        if ((*at)->size > (*largest)->size)
            largest = at;
    taken = *largest;
    *largest = taken->next;
    return taken;
}

static void put(blas_task *task)
{
    pthread_mutex_lock(&self.lock);
    task->next = self.waiting;
    self.waiting = task;
    pthread_mutex_unlock(&self.lock);
}

static void *run_all(void *unused)
{
    blas_task *one;

    (void)unused;
    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICENESS); /* of this thread, and of those that it creates */
    for (;;) {
        pthread_mutex_lock(&self.lock);
        self.idle++;
        while (!self.waiting)
            pthread_cond_wait(&self.has_work, &self.lock);
        self.idle--;
        one = take_largest();
        pthread_mutex_unlock(&self.lock);
        if (tj_ending_enter(false, NULL) != TJ_OK) { /* the process ends: nobody runs the task, which stays in the queue */
            put(one);
            return NULL;
        }
        one->run(one);
        tj_ending_leave(false);
    }
}

/* Under the lock: have one more thread if all are at work and the processors suffice. false: there is none at all. */
static bool have_threads(void)
{
    cpu_set_t allowed;
    const int processors = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
    sigset_t all, before;
    pthread_t thread;

    if (self.idle > 0 || self.threads == MOST_THREADS ||
        (self.threads > 0 && processors < PROCESSORS_EACH * (self.threads + 1)))
        return true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the program's signals are for its own threads */
    if (pthread_create(&thread, NULL, run_all, NULL) == 0) {
        (void)pthread_detach(thread);
        self.threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return self.threads > 0;
}

bool blas_threads_run(blas_task *task)
{
    bool is_queued;

    pthread_mutex_lock(&self.lock);
    is_queued = have_threads();
    if (is_queued) {
        task->next = self.waiting;
        self.waiting = task;
        pthread_cond_signal(&self.has_work);
    }
    pthread_mutex_unlock(&self.lock);
    return is_queued;
}
