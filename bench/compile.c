/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compile: the compile time of one candidate of a tuning.
 *
 *     bench_compile [COUNT [SEED [TARGET]]]
 *
 * For each family on tensor cores, draw COUNT configs (60) from the spaces of eight problems, the same on every machine, and compile
 * them one after the other in one thread: NVRTC's time for PTX and CUBIN, without a store. Needs no GPU.
 */
#include <string.h>

#include "program.h"

const char program[] = "compile";

enum { MOST = 1000 };

static const tj_problem problems[] = {
    TJ_PROBLEM_INIT(4096, 4096, 4096, TJ_BF16), TJ_PROBLEM_INIT(16, 4096, 6144, TJ_BF16),
    TJ_PROBLEM_INIT(64, 8192, 1280, TJ_F16),    TJ_PROBLEM_INIT(1023, 1023, 1023, TJ_F16),
    TJ_PROBLEM_INIT(2048, 2048, 2048, TJ_S8),   TJ_PROBLEM_INIT(256, 60000, 256, TJ_BF16),
    TJ_PROBLEM_INIT(3456, 32, 3456, TJ_F16),    TJ_PROBLEM_INIT(1000, 5120, 5120, TJ_S8),
};

enum { PROBLEMS = sizeof problems / sizeof problems[0] };

static uint64_t state;

static uint64_t next(void)
{
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Draw a config of the space with equal probability; 0: it is empty. */
static int draw_config(const tj_problem *problem, const tj_device_facts *device, const tj_family *family, tj_config *drawn)
{
    tj_space *space;
    tj_config config;
    tj_error err;
    uint64_t seen = 0;

    must(tj_space_create(problem, device, family, &space, &err), &err);
    while (tj_space_next(space, &config))
        if (next() % ++seen == 0)
            *drawn = config;
    tj_space_free(space);
    return seen > 0;
}

static double compile_ms(tj_context *context, const tj_problem *problem, const tj_config *config, const char *target)
{
    tj_source *source = NULL;
    tj_image *image = NULL;
    tj_error err;
    double begin;

    must(tj_generate(problem, config, &source, &err), &err);
    begin = now_us();
    must(tj_compile(context, source, target, &image, &err), &err);
    begin = (now_us() - begin) / 1e3;
    tj_image_free(image);
    tj_source_free(source);
    return begin;
}

int main(int argc, char **argv)
{
    static const char *const families[] = {"mma", "wgmma"};
    static double ms[MOST];
    const int count = argc > 1 ? atoi(argv[1]) : 60;
    const char *const target = argc > 3 ? argv[3] : "sm_90";
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context = NULL;
    tj_device_facts device = TJ_DEVICE_FACTS_INIT;
    tj_error err;

    if (count < 1 || count > MOST)
        die(2, "COUNT is %s: it must be 1 to %d", argv[1], MOST);
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    must(tj_context_create(&options, &context, &err), &err);
    must(tj_device_named(target, &device, &err), &err);
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
        const tj_family *const family = tj_family_find(families[f]);
        size_t done = 0;

        for (int i = 0; i < count; i++) {
            const tj_problem *const problem = &problems[i % PROBLEMS];
            tj_config config;

            if (!draw_config(problem, &device, family, &config))
                continue;
            if (done == 0 && f == 0) /* the first compilation opens NVRTC */
                (void)compile_ms(context, problem, &config, target);
            ms[done++] = compile_ms(context, problem, &config, target);
        }
        if (done == 0)
            die(1, "%s serves none of the problems on %s", families[f], target);
        const double middle = median(ms, done);

        printf("%-6s %zu configs: median %.0f ms, 9 of 10 within %.0f, slowest %.0f\n", families[f], done, middle,
               ms[(done - 1) * 9 / 10], ms[done - 1]);
        (void)fflush(stdout);
    }
    tj_context_free(context);
    return 0;
}
