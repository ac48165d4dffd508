/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of plans: a context on a driver and a compiler that only pretend, and a product. */
#ifndef TJ_TESTS_PLAN_H
#define TJ_TESTS_PLAN_H

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tilejit/tools.h>

#include "chooser.h"
#include "context.h"
#include "fake/fake_cuda.h"
#include "kernel.h"
#include "locales.h"

static fake_cuda fake;
static tj_error err;
static tj_context *context;
static char folder[] = "/tmp/tilejit-plan-XXXXXX";
static bool is_lost; /* the device: then nothing is unloaded */

static inline tj_context *open_context(const char *cache_dir, tj_specialize specialize)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *made = NULL;

    options.driver = FAKE_CUDA_PATH;
    options.nvrtc = FAKE_NVRTC_PATH;
    options.cache_dir = cache_dir;
    options.specialize = (int32_t)specialize;
    cr_assert(eq(int, tj_context_create(&options, &made, &err), TJ_OK), "%s", err.message);
    return made;
}

static inline void start(void)
{
    fake = fake_open(FAKE_CUDA_PATH);
    fake.fake_hide("cuFuncGetParamInfo"); /* whose answers would have to change with every problem */
    /* The model cannot judge a device without a clock: plans get the default, whose grids are easy to tell. */
    for (int device = 0; device < FAKE_MAX_DEVICES; device++)
        fake.fake_set_device_attribute(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 0);
    context = open_context("", TJ_SPECIALIZE_SHAPES);
}

static inline void stop(void)
{
    tj_context_free(context);
    cr_expect(is_lost || fake.fake_live_images() == 0, "%d images are still loaded", fake.fake_live_images());
}

static inline void start_with_folder(void)
{
    start();
    cr_assert(mkdtemp(folder) != NULL);
}

static inline void stop_with_folder(void)
{
    char command[PATH_MAX];

    stop();
    sprintf(command, "rm -rf '%s'", folder);
    cr_expect(eq(int, system(command), 0));
}

/* Addresses that the driver knows, large enough for every shape here. */
static inline tj_operands some_operands(void)
{
    tj_operands x = TJ_OPERANDS_INIT;

    x.m.address = (const void *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 1 << 28);
    x.n.address = (const void *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 1 << 28);
    x.p.address = (void *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 1 << 28);
    return x;
}

static inline tj_status matmul_of(tj_context *in, int64_t k, const tj_operands *x)
{
    tj_problem problem = TJ_PROBLEM_INIT(33, k, 48, TJ_F32);

    return tj_matmul(in, &problem, x, NULL, &err);
}

static inline tj_context_stats stats_of(tj_context *of)
{
    tj_context_stats stats = TJ_CONTEXT_STATS_INIT;

    tj_context_get_stats(of, &stats);
    return stats;
}

static inline bool says(const char *words)
{
    return strstr(err.message, words) != NULL;
}

static inline fake_launch last_launch(void)
{
    fake_launch launch = {0};

    cr_assert(fake.fake_get_launch(fake.fake_launches() - 1, &launch));
    return launch;
}

#endif
