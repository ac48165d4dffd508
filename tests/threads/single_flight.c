/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * single_flight: many threads, few keys, one context. Every key is compiled once, however the threads meet; every thread
 * gets the right image. A plain program, for ThreadSanitizer above all. NVRTC is the one that only pretends.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tilejit/tools.h>

enum { THREADS = 24, KEYS = 6, ROUNDS = 40, CONTEXTS = 5 };

typedef struct worker {
    tj_context *context;
    tj_source *const *source;
    char (*key)[33]; /* of the first image of each source; under lock */
    pthread_mutex_t *lock;
    pthread_barrier_t *start;
    unsigned seed;
    int mistakes;
} worker;

static void *work(void *payload)
{
    worker *mine = payload;

    pthread_barrier_wait(mine->start);
    for (int round = 0; round < ROUNDS; round++) {
        size_t which = (size_t)rand_r(&mine->seed) % KEYS;
        tj_image *image = NULL;
        tj_error err = {0};
        if (tj_image_obtain(mine->context, mine->source[which], "sm_90", &image, &err) != TJ_OK) {
            fprintf(stderr, "obtain: %s\n", err.message);
            mine->mistakes++;
            continue;
        }
        if (!strstr(tj_image_ptx(image, NULL), tj_source_kernel(mine->source[which])))
            mine->mistakes++;
        pthread_mutex_lock(mine->lock);
        if (!mine->key[which][0])
            memcpy(mine->key[which], tj_image_key(image), 33);
        else if (strcmp(mine->key[which], tj_image_key(image)) != 0)
            mine->mistakes++;
        pthread_mutex_unlock(mine->lock);
        tj_image_free(image);
    }
    return NULL;
}

/* One context from the cold; the number of mistakes. */
static int fly(tj_source *const *source, const char *store, int expected_compiles)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    char key[KEYS][33] = {{0}};
    pthread_t thread[THREADS];
    pthread_barrier_t start;
    worker mine[THREADS];
    tj_context *context;
    tj_context_stats stats = TJ_CONTEXT_STATS_INIT;
    tj_error err = {0};
    int mistakes = 0;

    options.nvrtc = FAKE_NVRTC_PATH;
    options.driver = "/no/such/libcuda.so.1";
    options.cache_dir = store;
    if (tj_context_create(&options, &context, &err) != TJ_OK) {
        fprintf(stderr, "context: %s\n", err.message);
        return 1;
    }
    pthread_barrier_init(&start, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++) {
        mine[i] = (worker){context, source, key, &lock, &start, (unsigned)i, 0};
        if (pthread_create(&thread[i], NULL, work, &mine[i]) != 0)
            abort();
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        mistakes += mine[i].mistakes;
    }
    pthread_barrier_destroy(&start);
    tj_context_get_stats(context, &stats);
    printf("compiles %d, store hits %d, memory hits %d, failures %d\n", (int)stats.compiles, (int)stats.store_hits,
           (int)stats.memory_hits, (int)stats.failures);
    if ((int)stats.compiles != expected_compiles || (int)stats.store_hits != KEYS - expected_compiles ||
        (int)stats.memory_hits != THREADS * ROUNDS - KEYS || stats.failures != 0) {
        fprintf(stderr, "expected %d compiles, %d store hits, %d memory hits, no failure\n", expected_compiles,
                KEYS - expected_compiles, THREADS * ROUNDS - KEYS);
        mistakes++;
    }
    tj_context_free(context);
    return mistakes;
}

int main(void)
{
    char store[] = "/tmp/tilejit-flight-XXXXXX", command[64];
    tj_source *source[KEYS];
    int mistakes = 0;

    setenv("FAKE_NVRTC_SLEEP_MS", "20", 1);
    if (!mkdtemp(store))
        return 1;
    for (int i = 0; i < KEYS; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(64, 100 + i, 64, TJ_F32);
        if (tj_generate(&problem, NULL, &source[i], NULL) != TJ_OK)
            return 1;
    }
    for (int i = 0; i < CONTEXTS; i++)
        mistakes += fly(source, "", KEYS); /* no disk: every context compiles */
    mistakes += fly(source, store, KEYS);
    mistakes += fly(source, store, 0);
    for (int i = 0; i < KEYS; i++)
        tj_source_free(source[i]);
    snprintf(command, sizeof command, "rm -rf '%s'", store);
    if (system(command) != 0)
        mistakes++;
    printf("%s\n", mistakes ? "FAILED" : "ok");
    return mistakes ? 1 : 0;
}
