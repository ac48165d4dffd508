/* SPDX-License-Identifier: Apache-2.0 */
#include "serve.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "compute.h"
#include "ending.h"
#include "homes.h"
#include "reason.h"
#include "timing.h"
#include "trace.h"

typedef enum mode { UNREAD, OFF, TRACE, WITH } mode;

/* Read by tilejit doctor, which does not open the library. */
__attribute__((used)) static const char build[] = "TILEJIT_BLAS " TJ_VERSION;

static struct {
    atomic_int mode;
    pthread_mutex_t starting;
    _Atomic(const tj_driver *) driver; /* NULL until a first call; then the process has used CUDA */
    tj_ending_call at_exit;
    pid_t asked; /* the process in which that was asked for */
    long first;  /* the process that tilejit with became; 0: not known */
} self = {.starting = PTHREAD_MUTEX_INITIALIZER};

/* The program that a person started, and not each of those that it starts, says that nothing was intercepted. */
static void tell_nothing(void)
{
    char reason[BLAS_REASON_BYTES];
    struct rusage children;

    if (self.first != getpid() || blas_product_first())
        return;
    if (!blas_reason(reason) && getrusage(RUSAGE_CHILDREN, &children) == 0 && children.ru_maxrss > 0)
        return; /* a shell, whose programs may have multiplied */
    (void)dprintf(STDERR_FILENO, "tilejit: no product of this program was intercepted: %s\n", reason);
}

static void end(void *unused)
{
    (void)unused;
    if (atomic_load(&self.mode) == TRACE)
        blas_trace_write(atomic_load(&self.driver), true);
    if (atomic_load(&self.mode) == WITH) {
        blas_making_end();
        tell_nothing();
    }
}

/* A forked child has no calls of its parent's. */
static void ask_for_end(void)
{
    if (self.asked == getpid())
        return;
    self.asked = getpid();
    self.at_exit = (tj_ending_call){.call = end};
    tj_ending_ask(&self.at_exit);
}

static void before_fork(void)
{
    pthread_mutex_lock(&self.starting);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&self.starting);
}

/* CUDA does not survive a fork: such a child has no calls to serve. One that was forked before the first call begins anew. */
static void in_child(void)
{
    if (atomic_load(&self.driver))
        atomic_store(&self.mode, OFF);
    pthread_mutex_unlock(&self.starting);
}

/*
 * TILEJIT_BLAS: "trace:FOLDER", "trace+stacks:FOLDER", "with", "with:always", "with:recorded", and after the latter three perhaps "@" and the number of
 * the process that tilejit became; all else, and in a set-uid program everything: off.
 */
static mode read_mode(void)
{
    static const char trace[] = "trace:", stacks[] = "trace+stacks:";
    const char *text = secure_getenv("TILEJIT_BLAS");
    char word[16];

    if (!text)
        return OFF;
    if (strncmp(text, trace, sizeof trace - 1) == 0) {
        blas_trace_start(text + sizeof trace - 1, false);
        return TRACE;
    }
    if (strncmp(text, stacks, sizeof stacks - 1) == 0) {
        blas_trace_start(text + sizeof stacks - 1, true);
        return TRACE;
    }
    (void)snprintf(word, sizeof word, "%.*s", (int)strcspn(text, "@"), text);
    if (strcmp(word, "with") == 0)
        blas_compute_start(BLAS_BY_TIME);
    else if (strcmp(word, "with:always") == 0)
        blas_compute_start(BLAS_BY_KNOWLEDGE);
    else if (strcmp(word, "with:recorded") == 0)
        blas_compute_start(BLAS_BY_RECORD);
    else
        return OFF;
    text = strchr(text, '@');
    self.first = text ? strtol(text + 1, NULL, 10) : 0;
    return WITH;
}

__attribute__((noinline, cold)) static mode settle_mode(void)
{
    pthread_mutex_lock(&self.starting);
    if (atomic_load(&self.mode) == UNREAD) {
        (void)pthread_atfork(before_fork, after_fork, in_child);
        atomic_store(&self.mode, read_mode());
        if (atomic_load(&self.mode) != OFF)
            ask_for_end();
    }
    pthread_mutex_unlock(&self.starting);
    return (mode)atomic_load(&self.mode);
}

/* A process that calls no product is reported too. */
__attribute__((constructor)) static void begin_process(void)
{
    (void)settle_mode();
}

bool blas_is_asked(void)
{
    mode now = (mode)atomic_load_explicit(&self.mode, memory_order_relaxed);

    return (now == UNREAD ? settle_mode() : now) != OFF;
}

/* The driver that the program uses. NULL: it cannot be opened, and from then on calls are left alone. */
__attribute__((noinline, cold)) static const tj_driver *open_driver(void)
{
    const char *path = secure_getenv("TILEJIT_DRIVER");
    const tj_driver *driver;

    pthread_mutex_lock(&self.starting);
    driver = atomic_load(&self.driver);
    if (!driver && atomic_load(&self.mode) != OFF) {
        if (tj_driver_open(path && *path ? path : NULL, true, NULL, &driver, NULL) != TJ_OK) {
            driver = NULL;
            atomic_store(&self.mode, OFF);
        } else {
            ask_for_end();
        }
        atomic_store(&self.driver, driver);
    }
    pthread_mutex_unlock(&self.starting);
    return driver;
}

/* Have the kernels of the last run made, once there is a CUDA context. */
static void warm(void)
{
    const tj_driver *driver;
    blas_home *home;

    if (blas_depth > 0 || !blas_is_asked() || atomic_load(&self.mode) != WITH || !(driver = open_driver()))
        return;
    if ((home = blas_home_current(driver)))
        blas_making_warm(driver, home);
}

int blas_create(blas_function function, const void *caller, void **handle)
{
    int (*real)(void **handle);
    int status;

    if (!blas_find_real(function, caller, &real))
        return BLAS_NOT_INITIALIZED;
    warm();
    blas_depth++;
    status = real(handle);
    blas_depth--;
    warm();
    return status;
}

bool blas_begin(blas_call *call, blas_visit *visit)
{
    const tj_driver *driver = atomic_load_explicit(&self.driver, memory_order_acquire);
    const bool is_trace = atomic_load_explicit(&self.mode, memory_order_relaxed) == TRACE;
    blas_product *product;
    blas_home *home;
    int captured = 0;

    if (!driver && !(driver = open_driver()))
        return false;
    if (!(home = blas_home_current(driver)))
        return false;
    call->form.home = home;
    product = blas_product_find(call);
    if (!product)
        return false;
    visit->product = product;
    visit->stream = call->stream;
    if (!is_trace) {
        blas_making_warm(driver, home);
        return blas_compute_begin(driver, call, product, visit);
    }
    if (driver->api.stream_is_capturing && driver->api.stream_is_capturing((CUstream)call->stream, &captured) != CUDA_SUCCESS)
        captured = 1; /* the legacy stream while another one is captured */
    blas_timing_read(driver, home);
    blas_trace_begin(driver, product, captured != 0, visit);
    return false;
}

void blas_end(const blas_visit *visit, int status)
{
    const tj_driver *driver;

    if (!visit->product)
        return;
    driver = atomic_load_explicit(&self.driver, memory_order_acquire);
    if (status != BLAS_SUCCESS && atomic_load_explicit(&self.mode, memory_order_relaxed) == WITH)
        blas_compute_refuse(visit->product);
    if (visit->pair)
        blas_timing_end(driver, visit->pair, (CUstream)visit->stream, status == BLAS_SUCCESS);
    if (atomic_load_explicit(&self.mode, memory_order_relaxed) == TRACE)
        blas_trace_write(driver, false);
}
