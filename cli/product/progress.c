/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress: how far a launch on the emulator is, on a terminal, where it takes more than a moment.
 */
#include "progress.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_MS = 700, NEXT_MS = 250 };

/* Under the lock. False: it is over. */
static bool wait_ms(cli_progress *p, int64_t ms)
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
    cli_progress *p = payload;
    bool is_drawn = false;
    uint64_t done, blocks;

    pthread_mutex_lock(&p->lock);
    for (int64_t ms = FIRST_MS; wait_ms(p, ms); ms = NEXT_MS)
        if (p->emulator->get_progress(&done, &blocks)) {
            fprintf(stderr, "\r\033[Kemulator: %d %%, %" PRIu64 " of %" PRIu64 " blocks",
                    (int)(100.0 * (double)done / (double)blocks), done, blocks);
            is_drawn = true;
        }
    if (is_drawn)
        fputs("\r\033[K", stderr);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

void cli_progress_begin(cli_progress *p, const tj_emulator *emulator)
{
    *p = (cli_progress){.emulator = emulator};
    if (!emulator || !isatty(STDERR_FILENO))
        return;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->has_ended, NULL);
    p->is_running = pthread_create(&p->thread, NULL, show, p) == 0;
}

void cli_progress_end(cli_progress *p)
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
