/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emulator: how long the emulator takes for tiled f32 products, with its checks off, on, and counting. Wall-clock of the machine it
 * runs on: the median of some launches, after one that is not counted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <tilejit/tilejit.h>

enum { LAUNCHES = 5 };

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static int fail(const tj_error *err)
{
    fprintf(stderr, "emulator: %s\n", err->message);
    return 1;
}

/* One product of n x n matrices; seconds of the median launch, or below 0. */
static double time_product(tj_context *context, int64_t n, int launches, tj_error *err)
{
    const tj_problem problem = TJ_PROBLEM_INIT(n, n, n, TJ_F32);
    const size_t bytes = (size_t)(n * n) * 4;
    tj_operands x = TJ_OPERANDS_INIT;
    tj_buffer *m = NULL, *k = NULL, *p = NULL;
    tj_config config = TJ_CONFIG_INIT;
    const tj_plan *plan;
    double duration[LAUNCHES], result = -1;
    float *data = malloc(bytes);

    if (!data) {
        *err = (tj_error){TJ_ERR_OUT_OF_MEMORY, "no memory for the operands"};
        return -1;
    }
    tj_fill_random(TJ_F32, data, (size_t)(n * n), 1);
    if (tj_config_parse("tiled:tile_width=16", &config, err) != TJ_OK || tj_buffer_create(context, bytes, &m, err) != TJ_OK ||
        tj_buffer_create(context, bytes, &k, err) != TJ_OK || tj_buffer_create(context, bytes, &p, err) != TJ_OK ||
        tj_buffer_write(m, 0, data, bytes, err) != TJ_OK || tj_buffer_write(k, 0, data, bytes, err) != TJ_OK ||
        tj_plan_prepare(context, &problem, &config, &plan, err) != TJ_OK)
        goto done;
    x.m.address = tj_buffer_address(m);
    x.n.address = tj_buffer_address(k);
    x.p.address = tj_buffer_address(p);
    for (int i = -1; i < launches; i++) {
        const double start = now();
        if (tj_plan_launch(plan, &x, NULL, err) != TJ_OK || tj_synchronize(context, NULL, err) != TJ_OK)
            goto done;
        if (i >= 0)
            duration[i] = now() - start;
    }
    qsort(duration, (size_t)launches, sizeof duration[0], by_value);
    result = duration[launches / 2];
done:
    tj_buffer_free(m);
    tj_buffer_free(k);
    tj_buffer_free(p);
    free(data);
    return result;
}

int main(void)
{
    static const struct {
        const char *name;
        uint64_t checks, counts;
    } modes[] = {{"checks off", 0, 0}, {"counting", 0, 1}, {"all checks", CUEMU_CHECK_ALL, 0}};
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context = NULL;
    const tj_emulator *emulator;
    tj_error err;

    options.driver = "emulator";
    if (tj_context_create(&options, &context, &err) != TJ_OK || tj_emulator_get(context, &emulator, &err) != TJ_OK)
        return fail(&err);
    for (int64_t n = 128; n <= 512; n *= 2)
        for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
            double seconds;
            (void)emulator->set_option(CUEMU_CHECKS, modes[i].checks);
            (void)emulator->set_option(CUEMU_COUNT, modes[i].counts);
            seconds = time_product(context, n, n == 512 ? 1 : LAUNCHES, &err);
            if (seconds < 0)
                return fail(&err);
            printf("%4lld^3  %-12s %9.1f ms  %7.1f M FMA/s\n", (long long)n, modes[i].name, seconds * 1e3,
                   (double)n * (double)n * (double)n / seconds / 1e6);
        }
    tj_context_free(context);
    return 0;
}
