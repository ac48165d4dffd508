/* SPDX-License-Identifier: Apache-2.0 */
#include "parallel.h"

#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

typedef struct share {
    void (*work)(void *payload, int part);
    void *payload;
    int part;
} share;

static void *run(void *payload)
{
    const share *s = payload;

    s->work(s->payload, s->part);
    return NULL;
}

int tj_thread_count(int asked)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const int wanted = asked > 0 ? asked : processors > 1 ? (int)processors : 1;

    return wanted < TJ_MOST_THREADS ? wanted : TJ_MOST_THREADS;
}

void tj_in_parallel(int parts, void (*work)(void *payload, int part), void *payload)
{
    pthread_t thread[TJ_MOST_THREADS];
    share all[TJ_MOST_THREADS];
    int started = 1; /* this thread does the first part */

    for (int i = 0; i < parts; i++)
        all[i] = (share){work, payload, i};
    while (started < parts && pthread_create(&thread[started], NULL, run, &all[started]) == 0)
        started++;
    if (parts > 0)
        work(payload, 0);
    for (int i = started; i < parts; i++)
        work(payload, i);
    for (int i = 1; i < started; i++)
        (void)pthread_join(thread[i], NULL);
}
