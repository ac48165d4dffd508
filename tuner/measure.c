/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure: place operands on the device, and time a kernel over them.
 *
 * Measures for reliable times:
 *   - the device's clock, by events; short kernels share one pair of events, in a CUDA graph: they follow one another as in a
 *     program that is ahead of the device, and the time includes neither events nor the host's launches;
 *   - operands rotate over more memory than three L2 caches, so a kernel finds what an application's would: nothing. A flush
 *     between launches would need a kernel of its own, whose tail leaks into the next time;
 *   - random operands: zeros draw less power, and a GPU at its power limit runs zeros faster;
 *   - medians, because a disturbance can only lengthen a time.
 */
#include "measure.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "canonical.h"
#include "clock.h"
#include "error.h"
#include "operands.h"
#include "timing.h"

static const double HOPELESS = 3.0;  /* times the best: no further launch */
static const double NO_HOPE = 10;    /* times the best, by the model: no launch at all */
static const double SLOWER = 1.15;   /* times the best: no second measurement */
static const double SHORT_US = 20;   /* of a launch: too short to give up */
static const double SAMPLE_US = 500; /* target between two events, which add 2 us */
static const double LOOK_US = 3000;  /* target of a first measurement, and of a second */
static const double CACHES = 3;      /* times the L2: least size of all sets */
/*
 * Operands repeat after so many elements, since drawing those of a large product would take longer than its tuning. Prime, so
 * that no two lines are alike.
 */
enum { PERIOD = 262139 };
enum { MAX_SETS = 4096, FIRST_LOOK = 5, SECOND_LOOK = 30, MAX_PER_EVENT = MAX_SETS, MAX_ROUND = 8 };

/* ---- operands ----------------------------------------------------------------------------------------------------- */

size_t tj_bench_sets(size_t set_bytes, const tj_device_facts *device, size_t free_bytes)
{
    const double wanted = ceil(CACHES * (double)device->l2_bytes / (double)set_bytes) + 1;
    const double room = floor((double)free_bytes / 4 / (double)set_bytes);
    double sets = wanted < room ? wanted : room;

    if ((double)set_bytes >= CACHES * (double)device->l2_bytes || sets < 1)
        sets = 1;
    return sets > MAX_SETS ? MAX_SETS : (size_t)sets;
}

tj_status tj_bench_place(tj_gpu *gpu, struct CUstream_st *stream, const tj_request *request, const tj_device_facts *device,
                         uint64_t seed, int is_warm, tj_bench *bench, tj_error *err)
{
    tj_workbench_options options = TJ_WORKBENCH_INIT;
    size_t free_bytes = 0, total_bytes = 0;
    tj_status status;

    memset(bench, 0, sizeof *bench);
    bench->gpu = gpu;
    bench->stream = options.stream = stream;
    bench->deadline = INFINITY;
    status = tj_gpu_memory(gpu, &free_bytes, &total_bytes, err);
    if (status != TJ_OK)
        return status;
    bench->is_emulated = tj_gpu_is_emulated(gpu);
    bench->alpha = options.alpha = tj_trial_alpha(&request->problem);
    options.beta = tj_trial_beta(&request->problem);
    options.seed = seed + 1;
    options.period = PERIOD;
    bench->sets = options.sets =
        is_warm || bench->is_emulated ? 1 : tj_bench_sets(tj_workbench_set_bytes(request), device, free_bytes);
    status = tj_gpu_place(gpu, request, &options, &bench->operands, err);
    if (status != TJ_OK)
        return status;
    bench->known = *tj_workbench_problem(bench->operands);
    bench->set = tj_workbench_operands(bench->operands);
    bench->p_bytes = tj_workbench_bytes(bench->operands, TJ_MATRIX_P);
    bench->host_p = malloc(bench->p_bytes ? bench->p_bytes : 1);
    return bench->host_p ? TJ_OK : tj_fail_memory(err, "the operands of a tuning");
}

void tj_bench_drop(tj_bench *bench)
{
    tj_workbench_free(bench->operands);
    free(bench->host_p);
    memset(bench, 0, sizeof *bench);
}

tj_status tj_bench_fit(tj_bench *bench, const tj_program *program, tj_error *err)
{
    return tj_workbench_fit(bench->operands, tj_program_workspace_bytes(program), err);
}

/* ---- times -------------------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double middle(const double *sorted, size_t count)
{
    return count > 0 ? (sorted[(count - 1) / 2] + sorted[count / 2]) / 2 : 0;
}

double tj_median(double *value, size_t count)
{
    qsort(value, count, sizeof *value, by_value);
    return middle(value, count);
}

double tj_spread(const double *sorted, size_t count)
{
    const double median = middle(sorted, count);

    return median > 0 ? (sorted[3 * (count - 1) / 4] - sorted[(count - 1) / 4]) / 2 / median : 0;
}

/* Return the launches of a sample, each of which covers all sets. */
static int per_event(double us, size_t sets)
{
    const double rounds = us > 0 ? ceil(SAMPLE_US / (us * (double)sets)) : 1;
    const double most = floor((double)MAX_PER_EVENT / (double)sets);

    return us >= SAMPLE_US ? 1 : (int)((double)sets * fmin(rounds, most));
}

/* Return the number of samples that fill a measurement, but at least low; one more for single launches. */
static int repeats(double us, int launches, int low, int high)
{
    const double fit = us > 0 ? LOOK_US / (us * launches) : high;
    const int least = launches > 1 ? low : low + 1;

    return fit < least ? least : fit > high ? high : (int)fit;
}

/* Return how many of the wanted samples end before the deadline, after one launch for warm-up. 0: none. */
static int in_time(const tj_timed *timed, double us, int launches, int wanted)
{
    const double left_us = 1e6 * (timed->deadline - tj_clock_s()) - us;

    if (left_us >= us * launches * wanted)
        return wanted;
    return left_us > 0 ? (int)(left_us / (us * launches)) : 0;
}

static tj_status queue(const tj_timed *timed, int warmup, int repeat, int launches, double *us, tj_error *err)
{
    tj_timing timing = TJ_TIMING_INIT;

    timing.warmup = warmup;
    timing.repeat = repeat;
    timing.per_event = launches;
    timing.sets = timed->sets;
    return tj_gpu_time(timed->gpu, timed->launch, timed->what, timed->stream, &timing, us, err);
}

/* A failure that concerns all configs ends the tuning; any other refuses this config only. */
static bool is_fatal(tj_status status)
{
    return status == TJ_ERR_DEVICE_LOST || status == TJ_ERR_OUT_OF_MEMORY || status == TJ_ERR_NO_DRIVER ||
           status == TJ_ERR_FORKED || status == TJ_ERR_INTERNAL;
}

tj_status tj_trial_refuse(tj_trial *trial, tj_status status, const tj_error *why, tj_error *err)
{
    if (is_fatal(status)) {
        if (err)
            *err = *why;
        return status;
    }
    trial->state = TJ_TRIAL_REFUSED;
    (void)strncpy(trial->why, why->message, sizeof trial->why - 1);
    return TJ_OK;
}

tj_status tj_timed_look(const tj_timed *timed, double best_us, tj_trial *trial, tj_error *err)
{
    double us[FIRST_LOOK + SECOND_LOOK];
    int launches, count;
    tj_error why;
    tj_status status;

    if (!timed->is_emulated && best_us > 0 && trial->predicted_us > NO_HOPE * best_us) {
        trial->state = TJ_TRIAL_SLOW; /* a textbook's kernel may take a second for what another does in a millisecond */
        trial->us = trial->predicted_us;
        return TJ_OK;
    }
    /* The first launch pays for lazy loading by the driver; the emulator has none. */
    status = queue(timed, timed->is_emulated ? 0 : 1, 1, 1, us, &why);
    trial->state = TJ_TRIAL_TIMED;
    if (status != TJ_OK)
        return tj_trial_refuse(trial, status, &why, err);
    trial->us = us[0];
    if (timed->is_emulated)
        return TJ_OK;
    if (best_us > 0 && us[0] > HOPELESS * best_us && us[0] > HOPELESS * SHORT_US) {
        trial->state = TJ_TRIAL_SLOW;
        return TJ_OK;
    }
    launches = per_event(us[0], timed->sets);
    count = in_time(timed, us[0], launches, repeats(us[0], launches, 1, FIRST_LOOK));
    if (count == 0)
        return TJ_OK; /* a disturbance can only lengthen a time, so one launch is an upper bound */
    status = queue(timed, 1, count, launches, us, &why);
    if (status == TJ_OK)
        trial->us = tj_median(us, (size_t)count);
    if (status == TJ_OK && (best_us == 0 || trial->us < SLOWER * best_us)) {
        const int more = in_time(timed, trial->us, launches, repeats(trial->us, launches, 2, SECOND_LOOK));

        if (more > 0)
            status = queue(timed, 0, more, launches, us + count, &why);
        count += more;
    }
    if (status != TJ_OK)
        return tj_trial_refuse(trial, status, &why, err);
    trial->us = tj_median(us, (size_t)count);
    trial->spread = tj_spread(us, (size_t)count);
    return TJ_OK;
}

tj_status tj_timed_round(const tj_timed *timed, double us, double *median, tj_error *err)
{
    const int launches = per_event(us, timed->sets), count = repeats(us, launches, 1, MAX_ROUND);
    double sample[MAX_ROUND];
    const tj_status status = queue(timed, 1, count, launches, sample, err);

    *median = status == TJ_OK ? tj_median(sample, (size_t)count) : 0;
    return status;
}

double tj_round_seconds(double us, size_t sets)
{
    const int launches = per_event(us, sets);

    return 1e-6 * us * (1 + launches * repeats(us, launches, 1, MAX_ROUND));
}

/* ---- times of a product ------------------------------------------------------------------------------------------- */

typedef struct timed_kernel {
    const tj_kernel *kernel;
    const tj_operands *set;
} timed_kernel;

static tj_status launch(const void *what, size_t set, struct CUstream_st *stream, tj_error *err)
{
    const timed_kernel *timed = what;

    return tj_kernel_launch(timed->kernel, &timed->set[set], stream, err);
}

static tj_timed timed_by(const tj_bench *bench, const timed_kernel *what, size_t sets)
{
    return (tj_timed){bench->gpu, bench->stream, sets, bench->is_emulated, bench->deadline, launch, what};
}

tj_status tj_bench_time(tj_bench *bench, const tj_program *program, double best_us, tj_trial *trial, tj_error *err)
{
    const timed_kernel what = {program->kernel, bench->set};
    const tj_timed timed = timed_by(bench, &what, bench->sets);
    tj_error why;
    const tj_status status = tj_bench_fit(bench, program, &why);

    trial->state = TJ_TRIAL_TIMED;
    return status == TJ_OK ? tj_timed_look(&timed, best_us, trial, err) : tj_trial_refuse(trial, status, &why, err);
}

tj_status tj_bench_round(tj_bench *bench, const tj_program *program, double us, int is_warm, double *median, tj_error *err)
{
    const timed_kernel what = {program->kernel, bench->set};
    const tj_timed timed = timed_by(bench, &what, is_warm ? 1 : bench->sets);
    const tj_status status = tj_bench_fit(bench, program, err);

    *median = 0;
    return status == TJ_OK ? tj_timed_round(&timed, us, median, err) : status;
}
