/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch: launch a plan once, with progress on a terminal if the emulator takes long, or repeatedly for its time.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "product.h"

/* ---- once --------------------------------------------------------------------------------------------------------- */

typedef struct progress {
    const tj_emulator *emulator;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the following */
    pthread_cond_t has_ended;
    bool is_over, is_running;
} progress;

enum { FIRST_MS = 700, NEXT_MS = 250 };

/* Wait, with the lock held. False: the launch is over. */
static bool wait_ms(progress *p, int64_t ms)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += ms * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (!p->is_over)
        (void)pthread_cond_timedwait(&p->has_ended, &p->lock, &until);
    return !p->is_over;
}

static void *show(void *payload)
{
    progress *p = payload;
    bool is_drawn = false;
    uint64_t done, blocks;

    pthread_mutex_lock(&p->lock);
    for (int64_t ms = FIRST_MS; wait_ms(p, ms); ms = NEXT_MS)
        if (p->emulator->get_progress(&done, &blocks)) {
            fputs("\r\033[K", stderr);
            cli_print(stderr, "emulator: %d %%, %" PRIu64 " of %" PRIu64 " blocks",
                      (int)(100.0 * (double)done / (double)blocks), done, blocks);
            is_drawn = true;
        }
    if (is_drawn)
        fputs("\r\033[K", stderr);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static void begin(progress *p, const tj_emulator *emulator)
{
    *p = (progress){.emulator = emulator};
    if (!emulator || !isatty(STDERR_FILENO))
        return;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->has_ended, NULL);
    p->is_running = pthread_create(&p->thread, NULL, show, p) == 0;
}

static void end(progress *p)
{
    if (!p->is_running)
        return;
    pthread_mutex_lock(&p->lock);
    p->is_over = true;
    pthread_cond_signal(&p->has_ended);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->has_ended);
    pthread_mutex_destroy(&p->lock);
}

tj_status cli_launch(tj_context *context, const tj_emulator *emulator, const tj_plan *plan, const tj_operands *operands,
                     tj_error *err)
{
    progress shown;
    tj_status status;

    begin(&shown, emulator);
    status = tj_plan_launch(plan, operands, NULL, err);
    if (status == TJ_OK)
        status = tj_synchronize(context, NULL, err);
    end(&shown);
    return status;
}

/* ---- for its time ------------------------------------------------------------------------------------------------- */

static const cli_option timing_options[] = {
    {"warmup", CLI_INT, offsetof(cli_timing, warmup), "Launches before the timed ones; default 2.", "count", 0, 100000,
     .initial = -1},
    {"repeat", CLI_INT, offsetof(cli_timing, repeat), "Timed launches; default 10.", "count", 1, 100000},
    {NULL},
};

const cli_group cli_timing_group = {"Timing", timing_options};

cli_timing cli_timing_or(cli_timing given, int64_t warmup, int64_t repeat)
{
    return (cli_timing){given.warmup >= 0 ? given.warmup : warmup, given.repeat > 0 ? given.repeat : repeat};
}

static int by_value(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

tj_status cli_time(tj_context *context, const tj_plan *plan, const tj_operands *operands, cli_timing timing, double *median_us,
                   double *least_us, tj_error *err)
{
    const size_t count = (size_t)timing.repeat;
    double *us = calloc(count, sizeof *us);
    tj_timing launches = TJ_TIMING_INIT;
    tj_status status;

    if (!us)
        return tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for %zu durations", count);
    launches.warmup = (int32_t)timing.warmup;
    launches.repeat = (int32_t)timing.repeat;
    status = tj_time_launches(context, plan, operands, NULL, &launches, us, err);
    if (status == TJ_OK) {
        qsort(us, count, sizeof *us, by_value);
        *least_us = us[0];
        *median_us = (us[(count - 1) / 2] + us[count / 2]) / 2;
    }
    free(us);
    return status;
}
