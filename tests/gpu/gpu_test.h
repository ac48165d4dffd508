/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_test: count checks, and skip with a message. The GPU machine may have no test library, so these are plain programs.
 */
#ifndef TJ_GPU_TEST_H
#define TJ_GPU_TEST_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/tools.h>

static int gpu_passed, gpu_failed;

/* Count one check; a failure prints what it was. */
__attribute__((format(printf, 2, 3), unused)) static int expect(int holds, const char *format, ...)
{
    va_list arguments;

    if (holds) {
        gpu_passed++;
        return 1;
    }
    gpu_failed++;
    printf("FAILED: ");
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    return 0;
}

/* The last line, and the exit code. */
__attribute__((unused)) static int finish(const char *name)
{
    printf("gpu/%s: %d passed, %d failed\n", name, gpu_passed, gpu_failed);
    return gpu_failed == 0 && gpu_passed > 0 ? 0 : 1;
}

/* Has the device what kernels of the config need? */
__attribute__((unused)) static int may_run(const tj_device_facts *device, const tj_problem *problem, const tj_config *config)
{
    double us;

    return tj_estimate(device, problem, config, &us, NULL) != TJ_ERR_UNSUPPORTED;
}

/* A context on a machine with a GPU; without one: a loud skip, or a failure if one is required. */
__attribute__((unused)) static tj_context *open_gpu(const char *name, const char *cache_dir)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context = NULL;
    tj_error err = {TJ_OK, ""};
    int count = 0;

    options.cache_dir = cache_dir;
    if (tj_context_create(&options, &context, &err) == TJ_OK && tj_device_count(context, &count, &err) == TJ_OK && count > 0)
        return context;
    printf("gpu/%s: SKIPPED, NOTHING WAS TESTED: no GPU (%s)\n", name, err.message);
    exit(getenv("TILEJIT_REQUIRE_GPU") ? 1 : 77);
}

#endif
