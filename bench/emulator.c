/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emulator: time the emulator on tiled f32 products, with its checks off, on, and counting: wall-clock time of the machine, and
 * CPU time of the process; medians of several launches, after one warm-up.
 */
#include <time.h>

#include "program.h"

const char program[] = "emulator";

enum { LAUNCHES = 5 };

/* Microseconds. */
typedef struct cost {
    double wall, cpu;
} cost;

static double cpu_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Return the median launch of one product of n x n matrices. */
static cost time_product(tj_context *context, int64_t n, int launches)
{
    const tj_problem problem = TJ_PROBLEM_INIT(n, n, n, TJ_F32);
    double wall[LAUNCHES], cpu[LAUNCHES];
    tj_workbench *bench;
    tj_config config;
    const tj_plan *plan;
    tj_error err;

    must(tj_config_parse("tiled:tile_width=16", &config, &err), &err);
    must(tj_plan_prepare(context, &problem, &config, &plan, &err), &err);
    must(tj_workbench_create(context, &problem, NULL, &bench, &err), &err);
    for (int i = -1; i < launches; i++) {
        const double start = now_us(), cpu_start = cpu_us();

        must(tj_plan_launch(plan, tj_workbench_operands(bench), NULL, &err), &err);
        must(tj_synchronize(context, NULL, &err), &err);
        if (i >= 0) {
            wall[i] = now_us() - start;
            cpu[i] = cpu_us() - cpu_start;
        }
    }
    tj_workbench_free(bench);
    return (cost){median(wall, (size_t)launches), median(cpu, (size_t)launches)};
}

int main(void)
{
    static const struct {
        const char *name;
        uint64_t checks, counts, threads; /* 0: all */
    } modes[] = {{"checks off", 0, 0, 0},
                 {"one thread", 0, 0, 1},
                 {"counting", 0, 1, 0},
                 {"uninitialised", CUEMU_CHECK_UNINITIALISED, 0, 0},
                 {"races", CUEMU_CHECK_RACES, 0, 0},
                 {"async", CUEMU_CHECK_ASYNC, 0, 0},
                 {"all checks", CUEMU_CHECK_ALL, 0, 0}};
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context;
    const tj_emulator *emulator;
    tj_error err;

    options.driver = "emulator";
    must(tj_context_create(&options, &context, &err), &err);
    must(tj_emulator_get(context, &emulator, &err), &err);
    for (int64_t n = 128; n <= 512; n *= 2)
        for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
            cost us;

            (void)emulator->set_option(CUEMU_CHECKS, modes[i].checks);
            (void)emulator->set_option(CUEMU_COUNT, modes[i].counts);
            (void)emulator->set_option(CUEMU_THREADS, modes[i].threads);
            us = time_product(context, n, n == 512 ? 1 : LAUNCHES);
            printf("%4lld^3  %-13s %9.1f ms  CPU %9.1f ms  %7.1f M FMA/s\n", (long long)n, modes[i].name, us.wall / 1e3,
                   us.cpu / 1e3, (double)n * (double)n * (double)n / us.wall);
        }
    tj_context_free(context);
    return 0;
}
