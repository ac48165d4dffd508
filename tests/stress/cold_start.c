/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: nightly (processes that are killed) */
/*
 * cold_start [ROUNDS [KILLS]]: 16 processes of 16 threads each start together on one cold key. In each process at most one compile; the same
 * bytes everywhere; afterwards one sound entry. Then the whole pipeline is killed (kill -9) at random points, KILLS times, and the store must
 * verify and serve. Needs NVRTC; launches too where there is a GPU. Exit 77, said loudly, without NVRTC.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <tilejit/tools.h>

#include "hash.h"

enum { PROCESSES = 16, THREADS = 16 };

/* State that all processes see. */
typedef struct shared {
    atomic_int ready, go;
    atomic_int compiles, store_hits, failures, wrong;
    _Atomic uint64_t cubin; /* hash of the first one seen */
} shared;

static shared *all;
static char root[64];
static int64_t extent;
static tj_context *context;

static tj_context *open_context(void)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *made = NULL;
    tj_error err;

    options.cache_dir = root;
    if (tj_context_create(&options, &made, &err) != TJ_OK)
        fprintf(stderr, "cold_start: %s\n", err.message);
    return made;
}

static tj_status obtain(tj_context *from, uint64_t *hash, tj_error *err)
{
    const tj_problem problem = TJ_PROBLEM_INIT(extent, 20, 30, TJ_F32);
    tj_source *source = NULL;
    tj_image *image = NULL;
    tj_status status = tj_generate(&problem, NULL, &source, err);
    size_t size;

    if (status == TJ_OK)
        status = tj_image_obtain(from, source, "sm_90", &image, err);
    if (status == TJ_OK) {
        const void *cubin = tj_image_cubin(image, &size);
        *hash = tj_hash_bytes64(cubin, size);
    }
    tj_image_free(image);
    tj_source_free(source);
    return status;
}

static void *thread_main(void *unused)
{
    uint64_t hash = 0, expected = 0;
    tj_error err;

    (void)unused;
    if (obtain(context, &hash, &err) != TJ_OK) {
        atomic_fetch_add(&all->failures, 1);
        fprintf(stderr, "cold_start: %s\n", err.message);
        return NULL;
    }
    if (!atomic_compare_exchange_strong(&all->cubin, &expected, hash) && expected != hash)
        atomic_fetch_add(&all->wrong, 1);
    return NULL;
}

static int process_main(void)
{
    pthread_t thread[THREADS];
    tj_context_stats stats = TJ_CONTEXT_STATS_INIT;

    context = open_context();
    atomic_fetch_add(&all->ready, 1);
    while (!atomic_load(&all->go))
        ;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, thread_main, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    tj_context_get_stats(context, &stats);
    atomic_fetch_add(&all->compiles, (int)stats.compiles);
    atomic_fetch_add(&all->store_hits, (int)stats.store_hits);
    tj_context_free(context);
    return stats.compiles > 1;
}

static int count_entry(const tj_store_entry *entry, void *payload)
{
    int *counts = payload; /* all, damaged */

    counts[0]++;
    counts[1] += entry->damage != NULL;
    if (entry->damage)
        fprintf(stderr, "cold_start: %s: %s\n", entry->path, entry->damage);
    return 0;
}

static void verify(int counts[2])
{
    tj_context *looking = open_context();
    tj_error err;

    counts[0] = counts[1] = 0;
    if (tj_store_list(looking, 1, count_entry, counts, &err) != TJ_OK)
        counts[1]++;
    tj_context_free(looking);
}

static int run_round(int round)
{
    pid_t process[PROCESSES];
    int counts[2], faults = 0, status;

    memset(all, 0, sizeof *all);
    extent = 100 + round;
    for (int i = 0; i < PROCESSES; i++)
        if ((process[i] = fork()) == 0)
            _exit(process_main());
    while (atomic_load(&all->ready) < PROCESSES)
        usleep(1000);
    atomic_store(&all->go, 1);
    for (int i = 0; i < PROCESSES; i++)
        faults += waitpid(process[i], &status, 0) != process[i] || status != 0;
    verify(counts);
    printf("round %d: %d processes x %d threads: %d compiles, %d store hits, %d failures, %d wrong images, %d entries, %d "
           "damaged\n",
           round, PROCESSES, THREADS, atomic_load(&all->compiles), atomic_load(&all->store_hits), atomic_load(&all->failures),
           atomic_load(&all->wrong), counts[0], counts[1]);
    faults += atomic_load(&all->compiles) < 1 || atomic_load(&all->compiles) > PROCESSES || atomic_load(&all->failures) != 0 ||
              atomic_load(&all->wrong) != 0 || counts[0] != round + 1 || counts[1] != 0;
    return faults;
}

static int64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* In a child: the whole pipeline, from nothing. */
static pid_t start_pipeline(void)
{
    const pid_t child = fork();
    uint64_t hash;
    tj_error err;

    if (child == 0)
        _exit(obtain(open_context(), &hash, &err) != TJ_OK);
    return child;
}

/* One process after another, killed somewhere between its start and a little after its end. */
static int run_kills(int kills)
{
    unsigned seed = 7;
    int counts[2], killed = 0;
    uint64_t hash;
    tj_error err;
    int64_t whole_us;

    extent = 2000;
    whole_us = now_us();
    waitpid(start_pipeline(), NULL, 0);
    whole_us = now_us() - whole_us;

    for (int i = 0; i < kills; i++) {
        pid_t child;
        extent = 1000 + i % 40;
        child = start_pipeline();
        usleep((useconds_t)(whole_us * (rand_r(&seed) % 1000) / 900));
        killed += kill(child, SIGKILL) == 0;
        waitpid(child, NULL, 0);
    }
    verify(counts);
    context = open_context();
    extent = 1000;
    if (obtain(context, &hash, &err) != TJ_OK)
        counts[1]++;
    tj_context_free(context);
    printf("%d processes killed in the pipeline: %d entries, %d damaged\n", killed, counts[0], counts[1]);
    return counts[1];
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 2, kills = argc > 2 ? atoi(argv[2]) : 40;
    int faults = 0, status = 0;
    char command[100];
    pid_t probe;

    strcpy(root, "/tmp/tilejit-cold-XXXXXX");
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || !mkdtemp(root))
        return perror("cold_start"), 1;

    /* NVRTC is looked for in a child: this process must fork, and never compiles before it is done with that. */
    probe = fork();
    if (probe == 0) {
        const char *const *targets;
        tj_error err;
        context = open_context();
        _exit(tj_targets(context, &targets, &err) == TJ_OK ? 0 : 77);
    }
    waitpid(probe, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) == 77) {
        printf("cold_start: SKIPPED, NOTHING WAS TESTED: no NVRTC\n");
        faults = getenv("TILEJIT_REQUIRE_NVRTC") ? 1 : 77;
    } else {
        for (int round = 0; round < rounds; round++)
            faults += run_round(round);
        faults += run_kills(kills);
        printf("cold_start: %d faults\n", faults);
        faults = faults != 0;
    }
    snprintf(command, sizeof command, "rm -rf %s", root);
    if (system(command) != 0)
        faults = 1;
    return faults;
}
