/* SPDX-License-Identifier: Apache-2.0 */
#include "threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ending.h"

enum { MOST_THREADS = 8, PROCESSORS_EACH = 4, NICENESS = 10, BURST_NS = 50000000 };

static struct {
    pthread_once_t once;
    pthread_mutex_t lock;
    pthread_cond_t has_work;   /* by the monotonic clock */
    blas_task *waiting;        /* in no order */
    struct timespec burst_end; /* of the tasks that wait for larger ones; of CLOCK_MONOTONIC */
    int tasks, threads, idle;
} self = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static void make_condition(void)
{
    pthread_condattr_t how;

    pthread_condattr_init(&how);
    pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
    pthread_cond_init(&self.has_work, &how);
    pthread_condattr_destroy(&how);
}

static struct timespec now(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    return at;
}

static bool is_in_burst(void)
{
    const struct timespec at = now();

    return at.tv_sec < self.burst_end.tv_sec || (at.tv_sec == self.burst_end.tv_sec && at.tv_nsec < self.burst_end.tv_nsec);
}

/* Under the lock. NULL: there is none, or all wait for the end of a burst. */
static blas_task *take_largest(void)
{
    const bool may_wait = is_in_burst();
    blas_task **largest = NULL, *taken;

    for (blas_task **at = &self.waiting; *at; at = &(*at)->next)
        if (!(may_wait && (*at)->waits) && (!largest || (*at)->size > (*largest)->size))
            largest = at;
    if (!largest)
        return NULL;
    taken = *largest;
    *largest = taken->next;
    self.tasks--;
    return taken;
}

/* Under the lock. A burst begins when no task waits for its end. */
static void put(blas_task *task)
{
    bool begins = task->waits;

    for (const blas_task *one = self.waiting; one && begins; one = one->next)
        begins = !one->waits;
    if (begins) {
        self.burst_end = now();
        self.burst_end.tv_nsec += BURST_NS;
        self.burst_end.tv_sec += self.burst_end.tv_nsec / 1000000000;
        self.burst_end.tv_nsec %= 1000000000;
    }
    task->next = self.waiting;
    self.waiting = task;
    self.tasks++;
}

static void *run_all(void *unused)
{
    blas_task *one;

    (void)unused;
    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICENESS); /* of this thread, and of those that it creates */
    for (;;) {
        pthread_mutex_lock(&self.lock);
        self.idle++;
        while (!(one = take_largest()))
            if (self.waiting)
                (void)pthread_cond_timedwait(&self.has_work, &self.lock, &self.burst_end);
            else
                pthread_cond_wait(&self.has_work, &self.lock);
        self.idle--;
        pthread_mutex_unlock(&self.lock);
        if (tj_ending_enter(false, NULL) != TJ_OK) { /* the process ends: nobody runs the task, which stays in the queue */
            pthread_mutex_lock(&self.lock);
            put(one);
            pthread_mutex_unlock(&self.lock);
            return NULL;
        }
        one->run(one);
        tj_ending_leave(false);
    }
}

/* Under the lock: have one more thread if all have a task and the processors suffice. false: there is none at all. */
static bool have_threads(void)
{
    cpu_set_t allowed;
    const int processors = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
    sigset_t all, before;
    pthread_t thread;

    if (self.idle > self.tasks || self.threads == MOST_THREADS ||
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

    pthread_once(&self.once, make_condition);
    pthread_mutex_lock(&self.lock);
    is_queued = have_threads();
    if (is_queued) {
        put(task);
        pthread_cond_broadcast(&self.has_work); /* one that waits for the end of a burst may take it, or not */
    }
    pthread_mutex_unlock(&self.lock);
    return is_queued;
}

void blas_threads_run_again(blas_task *task)
{
    pthread_mutex_lock(&self.lock);
    put(task);
    pthread_cond_broadcast(&self.has_work);
    pthread_mutex_unlock(&self.lock);
}
