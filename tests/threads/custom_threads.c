/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * custom_threads: many threads make, load, launch and free kernels of one family of the application's own on one context, over a fake
 * driver and an NVRTC that pretends. A plain program, for ThreadSanitizer. Exit 0: each text was compiled once, every launch arrived.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <tilejit/tools.h>

#include "custom_spec.h"
#include "fake/fake_cuda.h"

enum { THREADS = 8, ROUNDS = 60, LAUNCHES_PER_ROUND = 10, TEXTS = 5 };

static tj_context *context;
static tj_family *family;
static tj_custom_kernel *shared_kernel;
static atomic_int failures;

static void fail(const char *what, const tj_error *err)
{
    fprintf(stderr, "%s: %s\n", what, err->message);
    atomic_fetch_add(&failures, 1);
}

static void *work(void *argument)
{
    const size_t number = (size_t)(uintptr_t)argument;
    tj_custom_value value[3] = {
        {(const void *)(uintptr_t)0x100000000000}, {(const void *)(uintptr_t)0x200000000000}, {.f32 = 1}};
    tj_error err;

    for (size_t round = 0; round < ROUNDS; round++) {
        const int64_t length[] = {(int64_t)(100 + (number + round) % TEXTS)};
        tj_custom_kernel *kernel = NULL;

        if (tj_custom_load(context, family, NULL, length, &kernel, &err) != TJ_OK) {
            fail("load", &err);
            continue;
        }
        for (int i = 0; i < LAUNCHES_PER_ROUND; i++)
            if (tj_custom_launch(i % 2 ? kernel : shared_kernel, NULL, value, NULL, &err) != TJ_OK)
                fail("launch", &err);
        tj_custom_kernel_free(kernel);
    }
    return NULL;
}

int main(void)
{
    static const size_t parameters[] = {8, 8, 4};
    const int64_t length[] = {100};
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    pthread_t thread[THREADS];
    unsigned long launches;
    tj_context_stats stats = TJ_CONTEXT_STATS_INIT;
    custom_spec made;
    fake_cuda fake = fake_open(FAKE_CUDA_PATH);
    tj_error err;

    fake.fake_set_parameters(3, parameters);
    options.driver = FAKE_CUDA_PATH;
    options.nvrtc = FAKE_NVRTC_PATH;
    options.cache_dir = "";
    if (tj_context_create(&options, &context, &err) != TJ_OK ||
        tj_family_create(custom_spec_make(&made), &family, &err) != TJ_OK ||
        tj_custom_load(context, family, NULL, length, &shared_kernel, &err) != TJ_OK) {
        fail("start", &err);
        return 1;
    }
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)i) != 0)
            abort();
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    launches = fake.fake_launches();
    tj_context_get_stats(context, &stats);
    if (launches != (unsigned long)THREADS * ROUNDS * LAUNCHES_PER_ROUND || stats.compiles != TEXTS ||
        fake.fake_live_images() != 1) {
        fprintf(stderr, "%lu launches, %lld compiles, %d images alive\n", launches, (long long)stats.compiles,
                fake.fake_live_images());
        return 1;
    }
    tj_custom_kernel_free(shared_kernel);
    tj_family_free(family);
    tj_context_free(context);
    printf("%lu launches from %d threads, %d texts\n", launches, THREADS, TEXTS);
    return atomic_load(&failures) == 0 ? 0 : 1;
}
