/* SPDX-License-Identifier: Apache-2.0 */
#include "making.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "error.h"
#include "threads.h"
#include "timing.h"

enum { WRITTEN_EACH_S = 5 };

/* Predicted times are further from the truth than measured ones (docs/analysis.md): to believe one, it must be better by this. */
static const double DOUBT = 1.25;

/* A kernel that is predicted to take this many times cuBLAS's time is not worth a compile; one that was measured, BLAS_CLEARLY. */
static const double HOPELESS = 2.5;

static struct {
    blas_choice choice;
    tj_log log;
    pthread_mutex_t lock; /* guards every blas_known */
    atomic_bool is_write_queued;
    atomic_llong next_write_s;
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- what is known ----------------------------------------------------------------------------------------------------- */

blas_known blas_known_get(const blas_known *from)
{
    blas_known known;

    pthread_mutex_lock(&self.lock);
    known = *from;
    pthread_mutex_unlock(&self.lock);
    return known;
}

void blas_known_set(blas_known *to, blas_known known)
{
    pthread_mutex_lock(&self.lock);
    *to = known;
    pthread_mutex_unlock(&self.lock);
}

void blas_kernel_set(blas_kernel *to, blas_known known, double expected_us, const tj_plan *plan, blas_state state)
{
    blas_known_set(&to->known, known);
    to->expected_us = expected_us;
    atomic_store_explicit(&to->plan, plan, memory_order_release);
    atomic_store_explicit(&to->state, (int)state, memory_order_release);
}

/* Where the product was not decided, cuBLAS's first times say which kernels a later run may want at once. */
static bool know(blas_product *product, blas_known *known)
{
    uint64_t count;

    *known = blas_known_get(&product->kernel.known);
    if (known->us[BLAS_THEIRS] <= 0)
        known->us[BLAS_THEIRS] = blas_timing_median(product, BLAS_EARLY, &count);
    return atomic_load(&product->kernel.state) != BLAS_IS_NEW && known->us[BLAS_THEIRS] > 0;
}

static int64_t seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static void run_write(blas_task *task)
{
    blas_memory_write(know);
    atomic_store(&self.next_write_s, seconds() + WRITTEN_EACH_S);
    atomic_store(&self.is_write_queued, false);
    free(task);
}

/* A decision was made: have it written now and then, because many a process does not end by exit(). */
void blas_making_keep(void)
{
    blas_task *task;

    if (seconds() < atomic_load(&self.next_write_s) || atomic_exchange(&self.is_write_queued, true))
        return;
    task = calloc(1, sizeof *task);
    if (task)
        task->run = run_write;
    if (!task || !blas_threads_run(task)) {
        free(task);
        atomic_store(&self.is_write_queued, false);
    }
}

void blas_making_end(void)
{
    blas_memory_write(know);
}

void blas_making_start(blas_choice choice, const tj_log *log)
{
    self.choice = choice;
    self.log = *log;
}

/* ---- kernels, made on threads of threads.c ------------------------------------------------------------------------------ */

/* A CUDA context that is made after another one, as after a reset of the device, begins with what was decided there. */
static tj_context *learn(blas_home *home)
{
    if (!atomic_load(&home->is_learnt))
        blas_memory_write(know);
    return blas_memory_learn(home);
}

static void take_nearest(const tj_neighbour *neighbour, void *payload)
{
    double *us = payload;

    if (neighbour->distance == 0 && (*us == 0 || neighbour->us < *us))
        *us = neighbour->us;
}

/* A kernel that is wanted: of a product, or of an earlier run. */
typedef struct wanted {
    blas_home *home; /* its CUDA context, which is current */
    const tj_problem *problem;
    const char *name;   /* for people */
    double theirs_us;   /* cuBLAS's time so far; 0: not known */
    blas_known known;   /* before, and after */
    double calls;       /* so far */
    double expected_us; /* after: to be compared with cuBLAS's by a capture; 0: not known */
    const tj_plan *plan;
    blas_state next;
} wanted;

/* The time that the library's choice should take: measured on such a device, else predicted. 0: neither is known. */
static double expect(tj_context *context, const wanted *one, const tj_config *config, bool *is_measured)
{
    const tj_device_facts *facts = &one->home->device;
    double us = 0;

    *is_measured = tj_context_neighbours(context, one->problem, facts, take_nearest, &us, NULL) == TJ_OK && us > 0;
    return *is_measured || tj_estimate(facts, one->problem, config, &us, NULL) == TJ_OK ? us : 0;
}

/*
 * Is the kernel worth making, before anybody has timed it? If it was timed, then by the faster one. Otherwise unless it is
 * expected to be far slower.
 */
static blas_state foresee(tj_context *context, wanted *one, const tj_config *config)
{
    char text[TJ_CONFIG_TEXT_BYTES];
    bool is_measured;
    double us;

    tj_config_print(config, text);
    if (strcmp(text, one->known.config) != 0) { /* another kernel than the one that was timed, as after a tuning */
        one->known.us[BLAS_OURS] = 0;
        memcpy(one->known.config, text, sizeof text);
    }
    if (one->known.us[BLAS_OURS] > 0 && one->known.us[BLAS_THEIRS] > 0)
        return one->known.us[BLAS_OURS] < BLAS_MARGIN * one->known.us[BLAS_THEIRS] ? BLAS_IS_OURS : BLAS_IS_CHECKED;
    us = expect(context, one, config, &is_measured);
    one->expected_us = is_measured ? us : DOUBT * us;
    if (one->theirs_us > 0 && us > (is_measured ? BLAS_CLEARLY : HOPELESS) * one->theirs_us) {
        tj_log_line(&self.log, TJ_LOG_INFO, "%s stays with cuBLAS, which takes %lld ns: TileJIT is expected to take %lld ns",
                    one->name, (long long)(1000 * one->theirs_us), (long long)(1000 * us));
        return BLAS_IS_THEIRS;
    }
    return BLAS_IS_COMPARED;
}

/* A number of multiprocessors is for the sake of other kernels, and no time of this one tells what they lose. */
static bool keeps_share(const wanted *one, const tj_config *config, tj_error *err)
{
    tj_analysis found = TJ_ANALYSIS_INIT;

    if (one->problem->multiprocessors == 0)
        return true;
    if (tj_analyze(&one->home->device, one->problem, config, 0, 0, &found, err) == TJ_OK && !found.keeps_share)
        (void)snprintf(err->message, sizeof err->message, "its kernel does not keep to %d multiprocessors",
                       (int)one->problem->multiprocessors);
    return found.keeps_share;
}

/* Is its kernel to be made? Then the state is OURS or COMPARED. */
static blas_state choose(wanted *one)
{
    tj_context *context = learn(one->home);
    tj_config config = TJ_CONFIG_INIT;
    tj_chosen_by by = TJ_BY_DEFAULT;
    tj_error err = {TJ_OK, "TileJIT has no context"};
    blas_state next = BLAS_IS_OURS;

    if (!context || tj_context_choose_config(context, one->problem, &one->home->device, &config, &by, &err) != TJ_OK ||
        !keeps_share(one, &config, &err)) {
        next = BLAS_IS_THEIRS;
    } else if (self.choice == BLAS_BY_RECORD && by != TJ_BY_RECORD && by != TJ_BY_PACK && by != TJ_BY_TRIALS) {
        (void)snprintf(err.message, sizeof err.message, "it has no record");
        next = BLAS_IS_THEIRS;
    } else if (self.choice == BLAS_BY_TIME) {
        return foresee(context, one, &config);
    }
    if (next == BLAS_IS_THEIRS)
        tj_log_line(&self.log, TJ_LOG_INFO, "%s stays with cuBLAS: %s", one->name, err.message);
    return next;
}

static blas_state make(wanted *one)
{
    tj_error err;

    if (tj_plan_prepare(blas_memory_learn(one->home), one->problem, NULL, &one->plan, &err) == TJ_OK)
        return one->next;
    tj_log_line(&self.log, TJ_LOG_INFO, "%s stays with cuBLAS: %s", one->name, err.message);
    return BLAS_IS_THEIRS;
}

static double work_of(const tj_problem *problem)
{
    return (double)problem->j.extent * (double)problem->k.extent * (double)problem->l.extent *
           (double)(problem->batch > 0 ? problem->batch : 1);
}

/* The time that the kernel should save in as many calls as there were, or all of it if only one side's is known. */
static double gain_of(const wanted *one)
{
    const double theirs = one->theirs_us, ours = one->known.us[BLAS_OURS] > 0 ? one->known.us[BLAS_OURS] : one->expected_us;

    if (self.choice != BLAS_BY_TIME)
        return work_of(one->problem);
    return one->calls * (theirs > 0 && ours > 0 ? theirs - ours : theirs + ours);
}

/* A kernel is chosen as soon as it is wanted, and made when no other one promises more. */
typedef struct request {
    blas_task task;
    const tj_driver *driver;
    blas_home *home;
    blas_product *product;
    blas_memory *memory;
    wanted one;
} request;

static void run_at_home(request *asked, blas_state (*run)(wanted *one))
{
    blas_state next = BLAS_IS_THEIRS;

    asked->one.home = asked->home;
    if (blas_home_enter(asked->driver, asked->home)) {
        next = run(&asked->one);
        blas_home_leave(asked->driver);
    }
    asked->one.next = next;
}

static void finish(request *asked)
{
    const wanted *one = &asked->one;

    blas_kernel_set(asked->product ? &asked->product->kernel : &asked->memory->kernel, one->known, one->expected_us, one->plan,
                    one->next);
    free(asked);
}

static void run_make(blas_task *task)
{
    request *asked = (request *)task;

    run_at_home(asked, make);
    finish(asked);
}

/* Those of an earlier run have come all at once. */
static void run_choose(request *asked)
{
    run_at_home(asked, choose);
    if (asked->one.next != BLAS_IS_OURS && asked->one.next != BLAS_IS_COMPARED) {
        finish(asked);
        return;
    }
    asked->task = (blas_task){.run = run_make, .size = gain_of(&asked->one), .waits = asked->product != NULL};
    blas_threads_run_again(&asked->task);
}

blas_memory *blas_making_recall(blas_product *product)
{
    const blas_home *home = product->form.home;

    if (!atomic_load(&home->has_memory))
        return NULL;
    if (!atomic_load(&product->is_recalled)) {
        atomic_store(&product->memory, blas_memory_find(atomic_load(&home->memory), &product->problem));
        atomic_store(&product->is_recalled, true);
    }
    return atomic_load(&product->memory);
}

static void choose_for_product(blas_task *task)
{
    request *asked = (request *)task;
    blas_product *product = asked->product;
    const blas_memory *memory = blas_making_recall(product); /* it was perhaps being read when the kernel was asked for */
    wanted *one = &asked->one;
    uint64_t count;

    *one = (wanted){.problem = &product->problem,
                    .name = product->name,
                    .known = blas_known_get(&product->kernel.known),
                    .calls = (double)atomic_load(&product->calls)};
    if (memory && one->known.us[BLAS_THEIRS] <= 0)
        one->known = blas_known_get(&memory->kernel.known);
    one->theirs_us = blas_timing_median(product, BLAS_EARLY, &count);
    if (count == 0)
        one->theirs_us = one->known.us[BLAS_THEIRS];
    run_choose(asked);
}

static void choose_for_memory(blas_task *task)
{
    request *asked = (request *)task;
    blas_memory *memory = asked->memory;

    asked->one = (wanted){.problem = &memory->problem,
                          .name = "a product of the last run",
                          .known = blas_known_get(&memory->kernel.known),
                          .calls = 1};
    asked->one.theirs_us = asked->one.known.us[BLAS_THEIRS];
    run_choose(asked);
}

/* At once: what runs is short, or is to be early. */
static bool ask(void (*run)(blas_task *task), request asked)
{
    request *copy = malloc(sizeof *copy);

    if (!copy)
        return false;
    *copy = asked;
    copy->task = (blas_task){.run = run, .size = HUGE_VAL};
    if (blas_threads_run(&copy->task))
        return true;
    free(copy);
    return false;
}

void blas_making_want(const tj_driver *driver, blas_product *product)
{
    if (!ask(choose_for_product, (request){.driver = driver, .product = product, .home = product->form.home}))
        atomic_store(&product->kernel.state, BLAS_IS_THEIRS);
}

/* Read what is remembered, and ask for its kernels. */
static void warm_up(blas_task *task)
{
    request *asked = (request *)task;
    blas_home *home = asked->home;

    if (blas_home_enter(asked->driver, home)) {
        (void)learn(home);
        blas_home_leave(asked->driver);
        atomic_store(&home->has_memory, true);
        for (blas_memory *one = atomic_load(&home->memory); one; one = one->next)
            if (!ask(choose_for_memory, (request){.driver = asked->driver, .memory = one, .home = home}))
                atomic_store(&one->kernel.state, BLAS_IS_THEIRS);
    }
    free(asked);
}

void blas_making_warm(const tj_driver *driver, blas_home *home)
{
    if (!atomic_load_explicit(&home->is_met, memory_order_relaxed) && !atomic_exchange(&home->is_met, true))
        (void)ask(warm_up, (request){.driver = driver, .home = home});
}
