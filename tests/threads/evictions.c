/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * evictions: 32 threads multiply, prepare, launch and release more shapes than a context may keep, while plans leave, others take
 * their place, and some threads trim. Every launch must find its code loaded: the fake driver refuses a function whose library is
 * gone, and ThreadSanitizer sees memory that is. In the end nothing is left. A plain program: Criterion does not start there.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <tilejit/tilejit.h>

#include "fake/fake_cuda.h"

enum { THREADS = 32, ROUNDS = 12, CALLS = 12, SHAPES = 20, MOST_PLANS = 6 };

static fake_cuda fake;
static tj_context *context;
static tj_operands x = TJ_OPERANDS_INIT;
static atomic_int failures;

static void expect(bool holds, const char *what, const tj_error *err)
{
    if (holds)
        return;
    fprintf(stderr, "%s: %s\n", what, err ? err->message : "");
    atomic_fetch_add(&failures, 1);
}

static void launch_prepared(const tj_problem *problem)
{
    const tj_plan *plan;
    tj_error err;

    if (tj_plan_prepare(context, problem, NULL, &plan, &err) != TJ_OK) {
        expect(false, "prepare", &err);
        return;
    }
    for (int i = 0; i < CALLS; i++)
        expect(tj_plan_launch(plan, &x, NULL, &err) == TJ_OK, "launch", &err);
    tj_plan_release(plan);
}

static void *work(void *payload)
{
    unsigned seed = (unsigned)(uintptr_t)payload;
    const unsigned number = seed;
    tj_error err;

    for (int round = 0; round < ROUNDS; round++) {
        const int shape = rand_r(&seed) % SHAPES;
        const tj_problem problem = TJ_PROBLEM_INIT(16 + shape % 5, 20, 24 + shape / 5, TJ_F32);

        if (number % 4 == 1)
            launch_prepared(&problem);
        else
            for (int i = 0; i < CALLS; i++)
                expect(tj_matmul(context, &problem, &x, NULL, &err) == TJ_OK, "matmul", &err);
        if (number % 8 == 3)
            tj_context_trim(context, number % 16 == 3 ? 0 : 2, INT64_MAX);
    }
    return NULL;
}

static void run(tj_first_call first_call)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    pthread_t thread[THREADS];
    tj_context_stats stats = TJ_CONTEXT_STATS_INIT;
    tj_error err;

    options.driver = FAKE_CUDA_PATH;
    options.nvrtc = FAKE_NVRTC_PATH;
    options.cache_dir = "";
    options.max_plans = MOST_PLANS;
    options.first_call = first_call;
    if (tj_context_create(&options, &context, &err) != TJ_OK) {
        expect(false, "context", &err);
        return;
    }
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)i) != 0)
            abort();
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    tj_context_get_stats(context, &stats);
    printf("%d misses, %d evicted, %d replaced, %d plans left\n", (int)stats.misses, (int)stats.evictions, (int)stats.replaced,
           (int)stats.plans);
    expect(stats.evictions > 0 && stats.misses > 0, "plans leave", NULL);
    if (first_call == TJ_FIRST_CALL_WAIT) { /* otherwise the background thread is still at work */
        tj_context_trim(context, 0, 0);
        tj_context_get_stats(context, &stats);
        expect(stats.plans == 0 && stats.plan_bytes == 0, "no plan is left", NULL);
        expect(fake.fake_live_images() == 0, "no code is left", NULL);
    }
    tj_context_free(context);
    expect(fake.fake_live_images() == 0, "no code outlives its context", NULL);
}

int main(void)
{
    fake = fake_open(FAKE_CUDA_PATH);
    fake.fake_hide("cuFuncGetParamInfo"); /* whose answers would have to change with every problem */
    for (int device = 0; device < FAKE_MAX_DEVICES; device++)
        fake.fake_set_device_attribute(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 0);
    x.m.address = (const void *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 1 << 20);
    x.n.address = (const void *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 1 << 20);
    x.p.address = (void *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 1 << 20);
    run(TJ_FIRST_CALL_WAIT);
    run(TJ_FIRST_CALL_QUICK);
    return atomic_load(&failures) == 0 ? 0 : 1;
}
