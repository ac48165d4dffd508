/* SPDX-License-Identifier: Apache-2.0 */
#include "compute.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <tilejit/tools.h>

#include "ending.h"
#include "error.h"
#include "log.h"

enum { WANTED_AFTER = 3, JUDGED_AFTER = 7, MOST_THREADS = 4, PROCESSORS_EACH = 4, NICENESS = 10 };

/* TileJIT must be faster by this much, since times of single calls scatter, and nobody gains by an exchange of equals. */
static const double MARGIN = 0.97;

/* Predicted times are further from the truth than measured ones (docs/analysis.md). */
static const double DOUBT = 1.25;

typedef enum state { NEW, WANTED, COMPARED, OURS, THEIRS } state;

typedef struct request {
    blas_product *product;
    const tj_driver *driver;
    struct request *next;
} request;

static struct {
    blas_choice choice;
    tj_log log;
    pthread_mutex_t lock;
    pthread_cond_t has_work;
    request *waiting; /* in no order */
    int threads, idle;
    pthread_once_t once;
    tj_context *context; /* of the threads */
} self = {.lock = PTHREAD_MUTEX_INITIALIZER, .has_work = PTHREAD_COND_INITIALIZER, .once = PTHREAD_ONCE_INIT};

void blas_compute_start(blas_choice choice)
{
    const char *level = secure_getenv("TILEJIT_LOG");

    self.choice = choice;
    self.log = (tj_log){level && (level[0] == 'i' || level[0] == 'd') ? TJ_LOG_INFO : TJ_LOG_OFF, tj_log_to_stderr, NULL};
}

/* ---- threads that make kernels ---------------------------------------------------------------------------------------- */

static void make_context(void)
{
    if (tj_context_create(NULL, &self.context, NULL) != TJ_OK)
        self.context = NULL;
}

static bool is_recorded(const tj_problem *problem, tj_error *err)
{
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
    tj_chosen_by by = TJ_BY_DEFAULT;
    tj_config config = TJ_CONFIG_INIT;

    return tj_device_current(self.context, &facts, err) == TJ_OK &&
           tj_context_choose_config(self.context, problem, &facts, &config, &by, err) == TJ_OK &&
           (by == TJ_BY_RECORD || by == TJ_BY_PACK || by == TJ_BY_TRIALS);
}

static void take_nearest(const tj_neighbour *neighbour, void *payload)
{
    double *us = payload;

    if (neighbour->distance == 0 && (*us == 0 || neighbour->us < *us))
        *us = neighbour->us;
}

/* The time that the library's choice should take: measured on such a device, else predicted. 0: neither is known. */
static double expect(const tj_problem *problem)
{
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
    tj_config config = TJ_CONFIG_INIT;
    double us = 0;

    if (tj_device_current(self.context, &facts, NULL) != TJ_OK ||
        tj_context_neighbours(self.context, problem, &facts, take_nearest, &us, NULL) != TJ_OK || us > 0)
        return us;
    return tj_context_choose_config(self.context, problem, &facts, &config, NULL, NULL) == TJ_OK &&
                   tj_estimate(&facts, problem, &config, &us, NULL) == TJ_OK
               ? DOUBT * us
               : 0;
}

/* In the product's CUDA context. */
static state prepare(blas_product *product)
{
    const tj_plan *plan;
    tj_error err = {TJ_OK, ""};

    (void)pthread_once(&self.once, make_context);
    if (self.context && (self.choice != BLAS_BY_RECORD || is_recorded(&product->problem, &err)) &&
        tj_plan_prepare(self.context, &product->problem, NULL, &plan, &err) == TJ_OK) {
        product->expected_us = self.choice == BLAS_BY_TIME ? expect(&product->problem) : 0;
        atomic_store_explicit(&product->plan, plan, memory_order_release);
        return self.choice == BLAS_BY_TIME ? COMPARED : OURS;
    }
    tj_log_line(&self.log, TJ_LOG_INFO, "%s stays with cuBLAS: %s", product->name,
                err.status == TJ_OK ? "it has no record" : err.message);
    return THEIRS;
}

static void serve(const request *one)
{
    blas_product *product = one->product;
    state next = THEIRS;
    CUcontext popped;

    if (tj_ending_enter(false, NULL) != TJ_OK)
        return;
    if (one->driver->api.ctx_push((CUcontext)(uintptr_t)product->form.context) == CUDA_SUCCESS) {
        next = prepare(product);
        (void)one->driver->api.ctx_pop(&popped);
    }
    atomic_store_explicit(&product->state, next, memory_order_release);
    tj_ending_leave(false);
}

static double work_of(const blas_product *product)
{
    const blas_form *form = &product->form;

    return (double)form->m * (double)form->n * (double)form->k * (double)form->batch;
}

/* Under the lock. */
static request *take_largest(void)
{
    request **largest = &self.waiting, *taken;

    for (request **at = largest; *at; at = &(*at)->next)
        if (work_of((*at)->product) > work_of((*largest)->product))
            largest = at;
    taken = *largest;
    *largest = taken->next;
    return taken;
}

/* The program's own threads go first, where processors are few. */
static void *serve_all(void *unused)
{
    request *one;

    (void)unused;
    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICENESS);
    for (;;) {
        pthread_mutex_lock(&self.lock);
        self.idle++;
        while (!self.waiting)
            pthread_cond_wait(&self.has_work, &self.lock);
        self.idle--;
        one = take_largest();
        pthread_mutex_unlock(&self.lock);
        serve(one);
        free(one);
    }
    return NULL;
}

/* Under the lock: have one more thread if all are at work and the processors suffice. false: there is none at all. */
static bool have_threads(void)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    sigset_t all, before;
    pthread_t thread;

    if (self.idle > 0 || self.threads == MOST_THREADS ||
        (self.threads > 0 && processors < PROCESSORS_EACH * (self.threads + 1)))
        return true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the program's signals are for its own threads */
    if (pthread_create(&thread, NULL, serve_all, NULL) == 0) {
        (void)pthread_detach(thread);
        self.threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return self.threads > 0;
}

static void want(const tj_driver *driver, blas_product *product)
{
    request *one = calloc(1, sizeof *one);
    bool is_queued = false;

    if (one) {
        *one = (request){.product = product, .driver = driver};
        pthread_mutex_lock(&self.lock);
        is_queued = have_threads();
        if (is_queued) {
            one->next = self.waiting;
            self.waiting = one;
            pthread_cond_signal(&self.has_work);
        }
        pthread_mutex_unlock(&self.lock);
    }
    if (!is_queued) {
        free(one);
        atomic_store(&product->state, THEIRS);
    }
}

/* ---- calls ----------------------------------------------------------------------------------------------------------- */

static bool has_addresses(const blas_call *call)
{
    return call->address[BLAS_A] && call->address[BLAS_B] && call->address[BLAS_D] &&
           (!call->form.has_beta || call->address[BLAS_C]) && (!(call->form.epilogue & BLAS_EPILOGUE_BIAS) || call->bias);
}

/* false: nothing is queued, and cuBLAS is to compute this call. A launch that fails is the last one of its product. */
static bool launch(const blas_call *call, blas_product *product, bool is_captured)
{
    const tj_plan *plan = atomic_load_explicit(&product->plan, memory_order_acquire);
    tj_operands operands;
    tj_error err;

    /* In a graph the stream's own memory would become nodes, which not every graph may have. */
    if (!has_addresses(call) || (is_captured && tj_plan_workspace_bytes(plan) > call->workspace_bytes))
        return false;
    blas_call_operands(call, &product->problem, &operands);
    if (tj_plan_launch(plan, &operands, call->stream, &err) == TJ_OK)
        return true;
    atomic_store(&product->state, THEIRS);
    tj_log_line(&self.log, TJ_LOG_INFO, "%s goes back to cuBLAS: %s", product->name, err.message);
    return false;
}

static void judge(blas_product *product)
{
    uint64_t count[BLAS_SIDES];
    const double theirs = blas_timing_median(product, BLAS_THEIRS, &count[BLAS_THEIRS]),
                 ours = blas_timing_median(product, BLAS_OURS, &count[BLAS_OURS]);
    char text[TJ_PROBLEM_TEXT_BYTES];
    int compared = COMPARED;
    state next;

    if (count[BLAS_THEIRS] < JUDGED_AFTER || count[BLAS_OURS] < JUDGED_AFTER)
        return;
    next = ours < MARGIN * theirs ? OURS : THEIRS;
    if (atomic_compare_exchange_strong(&product->state, &compared, (int)next) && self.log.level != TJ_LOG_OFF) {
        tj_problem_print(&product->problem, text);
        tj_log_line(&self.log, TJ_LOG_INFO, "%s %s: cuBLAS %lld ns, TileJIT %lld ns: %s", product->name, text,
                    (long long)(1000 * theirs), (long long)(1000 * ours), next == OURS ? "TileJIT" : "cuBLAS");
    }
}

/* Time a call of a side. The first one, which may load code, is not timed. */
static blas_pair *time_call(const tj_driver *driver, const blas_call *call, blas_product *product, blas_side side)
{
    const uint64_t before = atomic_fetch_add(&product->begun[side], 1);

    return before > 0 ? blas_timing_begin(driver, product, side, call->stream) : NULL;
}

/* A call before the decision. */
static bool take_turn(const tj_driver *driver, const blas_call *call, blas_product *product, bool has_kernel, blas_visit *visit)
{
    const bool is_ours = has_kernel && atomic_load(&product->begun[BLAS_OURS]) <= atomic_load(&product->begun[BLAS_THEIRS]);
    blas_pair *pair;
    bool is_done;

    blas_timing_read(driver, false);
    if (has_kernel)
        judge(product);
    if (!is_ours) {
        if (has_kernel || atomic_load(&product->begun[BLAS_EARLY]) < JUDGED_AFTER)
            visit->pair = time_call(driver, call, product, has_kernel ? BLAS_THEIRS : BLAS_EARLY);
        return false;
    }
    pair = time_call(driver, call, product, BLAS_OURS);
    is_done = launch(call, product, false);
    blas_timing_end(driver, pair, call->stream, is_done);
    return is_done;
}

/* Is TileJIT expected to be faster, before both were timed? */
static bool is_promising(const tj_driver *driver, const blas_product *product)
{
    uint64_t count;
    double theirs;

    blas_timing_read(driver, false);
    theirs = blas_timing_median(product, BLAS_EARLY, &count);
    return product->expected_us > 0 && count > 0 && product->expected_us < MARGIN * theirs;
}

bool blas_compute_begin(const tj_driver *driver, const blas_call *call, blas_product *product, blas_visit *visit)
{
    state now = (state)atomic_load_explicit(&product->state, memory_order_acquire);
    int captured = 0;
    bool is_captured;

    if (now == THEIRS)
        return false;
    if (!product->is_known) {
        atomic_store(&product->state, THEIRS);
        return false;
    }
    if (now == NEW && atomic_fetch_add(&product->calls, 1) + 1 == WANTED_AFTER) {
        atomic_store(&product->state, WANTED);
        want(driver, product);
    }
    is_captured = !driver->api.stream_is_capturing ||
                  driver->api.stream_is_capturing((CUstream)call->stream, &captured) != CUDA_SUCCESS || captured != 0;
    if (now == OURS || (now == COMPARED && is_captured && is_promising(driver, product)))
        return launch(call, product, is_captured);
    return !is_captured && (now == COMPARED || self.choice == BLAS_BY_TIME) &&
           take_turn(driver, call, product, now == COMPARED, visit);
}
