/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * launch_threads: many threads load, launch and free kernels on one TileJIT context, over a fake driver of two devices.
 * A plain program: Criterion does not start under ThreadSanitizer. Exit 0: every launch arrived on its device.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <tilejit/tools.h>

#include "fake/fake_cuda.h"
#include "context.h"
#include "kernel.h"

enum { THREADS = 8, ROUNDS = 200, LAUNCHES_PER_ROUND = 10 };

static fake_cuda fake;
static tj_context *context;
static tj_kernel *shared_kernel;
static atomic_int failures;

static void fail(const char *what, const tj_error *err)
{
    fprintf(stderr, "%s: %s\n", what, err->message);
    atomic_fetch_add(&failures, 1);
}

static tj_status load(tj_kernel **kernel, tj_error *err)
{
    static const tj_code code = {"sm_90", "13.0", "PTX", "CUBIN"};
    tj_problem problem = TJ_PROBLEM_INIT(64, 48, 32, TJ_F32);
    const tj_launch_form form = {
        .step = {{.kernel = "tiled",
                  .arg = {{TJ_ARG_POINTER, TJ_MATRIX_M}, {TJ_ARG_POINTER, TJ_MATRIX_N}, {TJ_ARG_POINTER, TJ_MATRIX_P}},
                  .arg_count = 3,
                  .grid = TJ_GRID_TILES,
                  .block_x = 16,
                  .block_y = 16,
                  .block_rows = 16,
                  .block_cols = 16}},
        .steps = 1,
        .checks = 7,
    };

    problem = tj_problem_canonical(&problem);
    return tj_kernel_load_code(&context->host, &form, &problem, &code, kernel, err);
}

/* Even threads share one kernel in the primary context; odd ones have a CUDA context and kernels of their own. */
static void *work(void *argument)
{
    size_t number = (size_t)(uintptr_t)argument;
    CUcontext mine = number % 2 ? fake.fake_context_create((int)(number / 2 % 2)) : NULL;
    tj_operands x = TJ_OPERANDS_INIT;
    tj_error err;

    x.m.address = x.n.address = (const void *)(uintptr_t)0x100000000000;
    x.p.address = (void *)(uintptr_t)0x200000000000;
    for (int round = 0; round < ROUNDS; round++) {
        tj_kernel *kernel = NULL;

        if (mine && load(&kernel, &err) != TJ_OK) {
            fail("load", &err);
            continue;
        }
        for (int i = 0; i < LAUNCHES_PER_ROUND; i++)
            if (tj_kernel_launch(mine ? kernel : shared_kernel, &x, NULL, &err) != TJ_OK)
                fail("launch", &err);
        tj_kernel_free(kernel);
    }
    if (mine)
        fake.fake_context_destroy(mine);
    return NULL;
}

/* The driver dies under all of them: every call must fail, and no message may be torn. */
static void *work_on_a_lost_device(void *argument)
{
    tj_operands x = TJ_OPERANDS_INIT;
    bool is_lost = false;

    (void)argument;
    x.m.address = x.n.address = (const void *)(uintptr_t)0x100000000000;
    x.p.address = (void *)(uintptr_t)0x200000000000;
    for (int i = 0; i < ROUNDS; i++) {
        tj_error err = {0};
        tj_status status = tj_kernel_launch(shared_kernel, &x, NULL, &err);

        if (status != TJ_OK && (status != TJ_ERR_DEVICE_LOST || !strstr(err.message, "CUDA_ERROR_LAUNCH_FAILED (719)")))
            fail("a lost device", &err);
        if (status == TJ_OK && is_lost)
            fail("a lost device", &(tj_error){.message = "came back to life"});
        is_lost = status != TJ_OK;
    }
    if (!is_lost)
        fail("a lost device", &(tj_error){.message = "was never lost"});
    return NULL;
}

static void run(void *(*body)(void *))
{
    pthread_t thread[THREADS];

    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, body, (void *)(uintptr_t)i) != 0)
            abort();
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

int main(void)
{
    static const size_t parameters[] = {8, 8, 8};
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    unsigned long launches;
    tj_error err;

    fake = fake_open(FAKE_CUDA_PATH);
    fake.fake_set_devices(2);
    fake.fake_set_parameters(3, parameters);
    options.driver = FAKE_CUDA_PATH;
    options.cache_dir = "";
    if (tj_context_create(&options, &context, &err) != TJ_OK || load(&shared_kernel, &err) != TJ_OK) {
        fail("start", &err);
        return 1;
    }
    run(work);
    launches = fake.fake_launches();
    if (launches != (unsigned long)THREADS * ROUNDS * LAUNCHES_PER_ROUND || fake.fake_live_images() != 1) {
        fprintf(stderr, "%lu launches, %d images alive\n", launches, fake.fake_live_images());
        return 1;
    }
    fake.fake_fail("cuLaunchKernel", 50, 719);
    run(work_on_a_lost_device);
    tj_kernel_free(shared_kernel);
    tj_context_free(context);
    printf("%lu launches from %d threads\n", launches, THREADS);
    return atomic_load(&failures) == 0 ? 0 : 1;
}
