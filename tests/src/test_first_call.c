/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * First calls that do not wait, dimensions that vary, and plans that leave memory: on a driver and a compiler that only pretend.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tilejit/tools.h>

#include "fake/fake_cuda.h"

enum { LONGEST_WAIT_MS = 20000 };

static fake_cuda fake;
static tj_error err;
static tj_operands x;
static char folder[] = "/tmp/tilejit-first-XXXXXX";
static atomic_int told[TJ_EVENT_EVICTED + 1];

static void count_event(const tj_event *event, void *payload)
{
    (void)payload;
    atomic_fetch_add(&told[event->kind], 1);
    if (!event->problem[0] || (event->kind != TJ_EVENT_MISS && (!event->kernel[0] || !event->config[0])))
        abort();
}

static tj_context *open_context(tj_first_call first_call, const char *cache_dir, int64_t max_plans)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context;

    options.driver = FAKE_CUDA_PATH;
    options.nvrtc = FAKE_NVRTC_PATH;
    options.cache_dir = cache_dir;
    options.first_call = first_call;
    options.max_plans = max_plans;
    options.on_event = count_event;
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
    return context;
}

static void start(void)
{
    fake = fake_open(FAKE_CUDA_PATH);
    fake.fake_hide("cuFuncGetParamInfo");
    for (int device = 0; device < FAKE_MAX_DEVICES; device++)
        fake.fake_set_device_attribute(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 0);
    x = (tj_operands)TJ_OPERANDS_INIT;
    x.m.address = (const void *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 1 << 24);
    x.n.address = (const void *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 1 << 24);
    x.p.address = (void *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 1 << 24);
    cr_assert(mkdtemp(folder) != NULL);
}

static void stop(void)
{
    char command[PATH_MAX];

    cr_expect(eq(int, fake.fake_live_images(), 0));
    sprintf(command, "rm -rf '%s'", folder);
    cr_expect(eq(int, system(command), 0));
}

TestSuite(first_call, .init = start, .fini = stop);
TestSuite(plans, .init = start, .fini = stop);

static tj_context_stats stats_of(tj_context *context)
{
    tj_context_stats stats = TJ_CONTEXT_STATS_INIT;

    tj_context_get_stats(context, &stats);
    return stats;
}

static void multiply(tj_context *context, int64_t j, int64_t k, int64_t l)
{
    const tj_problem problem = TJ_PROBLEM_INIT(j, k, l, TJ_F32);

    cr_assert(eq(int, tj_matmul(context, &problem, &x, NULL, &err), TJ_OK), "%s", err.message);
}

static const char *last_kernel(void)
{
    static fake_launch launch;

    cr_assert(fake.fake_get_launch(fake.fake_launches() - 1, &launch));
    return launch.kernel;
}

/* Wait until the calls of a problem are served by that kernel. The background thread takes its time. */
static bool comes_to(tj_context *context, int64_t j, int64_t k, int64_t l, const char *kernel)
{
    const struct timespec moment = {0, 2000000};

    for (int ms = 0; ms < LONGEST_WAIT_MS; ms += 2) {
        multiply(context, j, k, l);
        if (strcmp(last_kernel(), kernel) == 0)
            return true;
        nanosleep(&moment, NULL);
    }
    return false;
}

/* The background thread reports it when they are served already. */
static int replacements_told(int awaited)
{
    const struct timespec moment = {0, 2000000};

    for (int ms = 0; ms < LONGEST_WAIT_MS && atomic_load(&told[TJ_EVENT_REPLACED]) < awaited; ms += 2)
        nanosleep(&moment, NULL);
    return atomic_load(&told[TJ_EVENT_REPLACED]);
}

Test(first_call, is_served_by_a_kernel_for_all_shapes_until_its_own_is_there)
{
    tj_context *context = open_context(TJ_FIRST_CALL_QUICK, "", 0);
    fake_launch launch;

    multiply(context, 33, 20, 48);
    cr_assert(fake.fake_get_launch(0, &launch));
    cr_expect(eq(str, launch.kernel, "tiled_f32_jxkxl"));
    cr_expect(launch.grid[0] == 3 && launch.grid[1] == 3, "%u x %u blocks", launch.grid[0], launch.grid[1]);
    cr_expect(comes_to(context, 33, 20, 48, "tiled_f32_33x20x48"));
    cr_expect(eq(u64, stats_of(context).compiles, 2));
    cr_expect(eq(u64, stats_of(context).replaced, 1));
    cr_expect(eq(int, replacements_told(1), 1));
    tj_context_free(context);
}

Test(first_call, takes_what_is_stored_at_once)
{
    tj_context *context = open_context(TJ_FIRST_CALL_WAIT, folder, 0);

    multiply(context, 33, 20, 48);
    tj_context_free(context);
    context = open_context(TJ_FIRST_CALL_QUICK, folder, 0);
    multiply(context, 33, 20, 48);
    cr_expect(eq(str, (char *)last_kernel(), "tiled_f32_33x20x48"));
    cr_expect(eq(u64, stats_of(context).compiles, 0));
    cr_expect(eq(int, atomic_load(&told[TJ_EVENT_HIT]), 1));
    tj_context_free(context);
}

Test(first_call, is_waited_for_where_the_caller_prepares)
{
    tj_context *context = open_context(TJ_FIRST_CALL_QUICK, "", 0);
    const tj_problem problem = TJ_PROBLEM_INIT(33, 20, 48, TJ_F32);
    const tj_plan *plan;

    multiply(context, 33, 20, 48);
    cr_expect(eq(u64, stats_of(context).misses, 1), "the textbook's plan is not one that a call came with");
    cr_assert(eq(int, tj_plan_prepare(context, &problem, NULL, &plan, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(str, (char *)tj_source_kernel(tj_plan_source(plan)), "tiled_f32_33x20x48"));
    cr_expect(eq(u64, stats_of(context).misses, 1));
    multiply(context, 33, 20, 48);
    cr_expect(eq(str, (char *)last_kernel(), "tiled_f32_33x20x48"));
    tj_context_free(context);
}

/* A server of three layers: 144 calls of batches of 1 to 32, of which each layer sees some 25 sizes. */
Test(first_call, of_batches_that_vary_costs_a_few_compiles)
{
    static const int width[] = {64, 128, 128, 10};
    tj_context *context = open_context(TJ_FIRST_CALL_QUICK, "", 0);
    unsigned seed = 1;

    for (int request = 0; request < 48; request++) {
        const int batch = 1 + rand_r(&seed) % 32;

        for (int layer = 0; layer < 3; layer++)
            multiply(context, batch, width[layer], width[layer + 1]);
    }
    for (int layer = 0; layer < 3; layer++) { /* and every size is served by one kernel for each layer */
        char kernel[64];

        sprintf(kernel, "tiled_f32_jx%dx%d", width[layer], width[layer + 1]);
        cr_expect(comes_to(context, 32 - layer, width[layer], width[layer + 1], kernel), "%s", kernel);
    }
    cr_expect(stats_of(context).misses <= 96, "%d problems of 32 sizes and three layers, whatever was made for them",
              (int)stats_of(context).misses);
    /* One for all shapes, and one for each layer. With at most two sizes it was not known yet that there would be more. */
    cr_expect(stats_of(context).compiles >= 4 && stats_of(context).compiles <= 4 + 3 * 2, "%d compiles",
              (int)stats_of(context).compiles);
    tj_context_free(context);
}

Test(first_call, of_a_size_that_recurs_leads_to_its_own_kernel)
{
    tj_context *context = open_context(TJ_FIRST_CALL_QUICK, "", 0);

    for (int batch = 1; batch <= 8; batch++)
        multiply(context, batch, 64, 128);
    cr_expect(comes_to(context, 8, 64, 128, "tiled_f32_jx64x128"));
    cr_expect(comes_to(context, 8, 64, 128, "tiled_f32_8x64x128"));
    multiply(context, 7, 64, 128); /* notices that there is a better kernel */
    multiply(context, 7, 64, 128);
    cr_expect(eq(str, (char *)last_kernel(), "tiled_f32_jx64x128"));
    tj_context_free(context);
}

/* However long a server runs: a size of 32 that come alike often is served as well by the kernel for all of them. */
Test(first_call, of_sizes_that_come_alike_often_leads_to_no_more_kernels)
{
    tj_context *context;
    uint64_t compiles;

    setenv("FAKE_NVRTC_SLEEP_MS", "50", 1); /* all are launched often before that kernel comes, and after */
    context = open_context(TJ_FIRST_CALL_QUICK, "", 0);
    for (int round = 0; round < 80; round++)
        for (int batch = 1; batch <= 32; batch++)
            multiply(context, batch, 64, 128);
    cr_assert(comes_to(context, 1, 64, 128, "tiled_f32_jx64x128"));
    compiles = stats_of(context).compiles;
    for (int round = 0; round < 300; round++)
        for (int batch = 1; batch <= 32; batch++)
            multiply(context, batch, 64, 128);
    /* One that comes far more often gets its own, and what had been asked for before it would have been made before. */
    for (int i = 0; i < 2000; i++)
        multiply(context, 24, 64, 128);
    cr_expect(comes_to(context, 24, 64, 128, "tiled_f32_24x64x128"));
    cr_expect(eq(u64, stats_of(context).compiles, compiles + 1));
    tj_context_free(context);
}

Test(first_call, of_a_problem_that_comes_once_costs_no_compile_of_its_own)
{
    tj_context *context = open_context(TJ_FIRST_CALL_QUICK, "", 0);

    multiply(context, 33, 20, 48);
    multiply(context, 70, 90, 80);
    multiply(context, 70, 90, 80);
    cr_expect(comes_to(context, 70, 90, 80, "tiled_f32_70x90x80"));
    cr_expect(eq(u64, stats_of(context).compiles, 2));
    tj_context_free(context);
}

/* Like the one that a build leaves next to the library: the kernel for all shapes, and nothing else. */
Test(first_call, of_shapes_whose_textbook_kernel_is_packed_needs_no_nvrtc)
{
    const tj_problem any = {.struct_size = sizeof any,
                            .j = {0, TJ_DIM_ANY, 0},
                            .k = {0, TJ_DIM_ANY, 0},
                            .l = {0, TJ_DIM_ANY, 0},
                            .m = {.type = TJ_F32, .ld = TJ_ANY},
                            .n = {.ld = TJ_ANY},
                            .p = {.ld = TJ_ANY},
                            .c = {.ld = TJ_ANY}};
    tj_context *maker = open_context(TJ_FIRST_CALL_WAIT, "", 0), *context;
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_pack_bytes bytes[2] = {{NULL, 0}, {NULL, 0}};
    tj_config config;
    tj_pack *pack;
    void *made;

    cr_assert(eq(int, tj_config_parse("tiled", &config, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_pack_create(maker, NULL, &pack, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_pack_add(pack, &any, &config, "sm_90", &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_pack_print(pack, &made, &bytes[0].size, &err), TJ_OK), "%s", err.message);
    bytes[0].bytes = made;
    options.driver = FAKE_CUDA_PATH;
    options.nvrtc = "/nowhere/libnvrtc.so.13";
    options.cache_dir = "";
    options.first_call = TJ_FIRST_CALL_QUICK;
    options.pack_bytes = bytes;
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
    multiply(context, 33, 20, 48);
    cr_expect(eq(str, (char *)last_kernel(), "tiled_f32_jxkxl"));
    multiply(context, 70, 90, 80); /* and so do all others, as long as there is no compiler */
    multiply(context, 70, 90, 80);
    cr_expect(eq(str, (char *)last_kernel(), "tiled_f32_jxkxl"));
    cr_expect(eq(u64, stats_of(context).compiles, 0));
    tj_context_free(context);
    tj_pack_free(pack);
    tj_context_free(maker);
    free(made);
}

/* Column-major P: its leading dimension goes with the extent that varies. */
Test(first_call, notices_what_varies_where_leading_dimensions_go_with_it)
{
    tj_context *context = open_context(TJ_FIRST_CALL_QUICK, "", 0);
    const struct timespec moment = {0, 2000000};
    fake_launch launch = {0};

    for (int i = 0; i < 5000 && strcmp(launch.kernel, "tiled_f32_64x32xl") != 0; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(17 + i % 8, 32, 64, TJ_F32);

        problem.p.layout = TJ_COL_MAJOR;
        problem.p.ld = problem.j.extent;
        cr_assert(eq(int, tj_matmul(context, &problem, &x, NULL, &err), TJ_OK), "%s", err.message);
        cr_assert(fake.fake_get_launch(fake.fake_launches() - 1, &launch));
        nanosleep(&moment, NULL);
        if (strstr(launch.kernel, "x32x") && strchr(launch.kernel, 'j'))
            break;
    }
    cr_expect(strchr(launch.kernel, 'j') != NULL && strstr(launch.kernel, "32") != NULL, "%s", launch.kernel);
    tj_context_free(context);
}

/* Count the lines of a capture whose cell of a column is `wanted`; *others: the rest. */
static int count_lines(const char *path, int column, const char *wanted, int *others)
{
    FILE *file = fopen(path, "r");
    char line[1024];
    int count = 0;

    cr_assert(file != NULL);
    *others = -1; /* the header */
    while (fgets(line, sizeof line, file)) {
        char *rest = line, *cell = NULL;

        for (int i = 0; i <= column; i++)
            cell = strsep(&rest, ",");
        if (cell && strcmp(cell, wanted) == 0)
            count++;
        else
            ++*others;
    }
    fclose(file);
    return count;
}

/*
 * A capture lists the problems that the library made kernels for: packed, a list of 32 sizes is a kernel or two for each layer.
 */
Test(first_call, of_batches_that_vary_is_captured_as_problems_that_leave_j_open)
{
    enum { ANY = 20 };
    char path[96];
    tj_context *context;
    int lines, others;

    snprintf(path, sizeof path, "%s/shapes.csv", folder);
    setenv("TILEJIT_CAPTURE", path, 1);
    context = open_context(TJ_FIRST_CALL_QUICK, "", 0);
    for (int batch = 1; batch <= 32; batch++) {
        multiply(context, batch, 64, 128);
        multiply(context, batch, 128, 10);
    }
    tj_context_free(context);
    lines = count_lines(path, ANY, "j", &others);
    cr_expect(lines == 2 * 32 && others == 0, "%d of %d", lines, others); /* also the first two, which only came to vary */

    cr_assert(eq(int, unlink(path), 0));
    context = open_context(TJ_FIRST_CALL_QUICK, "", 0);
    for (int batch = 1; batch <= 8; batch++)
        multiply(context, batch, 64, 128);
    cr_expect(comes_to(context, 8, 64, 128, "tiled_f32_8x64x128")); /* it recurs, and has its own */
    tj_context_free(context);
    lines = count_lines(path, ANY, "j", &others);
    cr_expect(lines == 8 && others == 1, "%d of %d", lines, others);

    cr_assert(eq(int, unlink(path), 0));
    context = open_context(TJ_FIRST_CALL_WAIT, "", 0); /* whose shapes are kernels of their own */
    for (int batch = 1; batch <= 32; batch++)
        multiply(context, batch, 64, 128);
    tj_context_free(context);
    lines = count_lines(path, ANY, "", &others);
    cr_expect(lines == 32 && others == 0, "%d of %d", lines, others);
    unsetenv("TILEJIT_CAPTURE");
}

/* With TJ_SPECIALIZE_TYPES all calls of a type share a kernel, and the capture says which. */
Test(first_call, that_leaves_everything_to_the_launch_is_captured_so)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    char path[96];
    tj_context *context;
    int lines, others;

    snprintf(path, sizeof path, "%s/shapes.csv", folder);
    options.driver = FAKE_CUDA_PATH;
    options.nvrtc = FAKE_NVRTC_PATH;
    options.cache_dir = "";
    options.specialize = TJ_SPECIALIZE_TYPES;
    options.capture = path;
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
    for (int batch = 1; batch <= 4; batch++)
        multiply(context, batch, 64, 128);
    tj_context_free(context);
    lines = count_lines(path, 20, "j k l ld", &others);
    cr_expect(lines == 4 && others == 0, "%d of %d", lines, others);
}

Test(first_call, that_cannot_be_is_an_error)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context;

    options.first_call = 2;
    cr_expect(eq(int, tj_context_create(&options, &context, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "first_call is 2") != NULL, "%s", err.message);
    options.first_call = 0;
    options.max_plans = -1;
    cr_expect(eq(int, tj_context_create(&options, &context, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "max_plans is -1") != NULL, "%s", err.message);
}

/* ---- plans that leave --------------------------------------------------------------------------------------------- */

Test(plans, leave_when_there_are_too_many_the_oldest_first)
{
    tj_context *context = open_context(TJ_FIRST_CALL_WAIT, "", 8);

    for (int i = 0; i < 20; i++) {
        multiply(context, 16 + i, 20, 24);
        multiply(context, 16, 20, 24); /* always used */
    }
    cr_expect(le(u64, stats_of(context).plans, 8));
    cr_expect(eq(u64, stats_of(context).evictions + stats_of(context).plans, 20));
    cr_expect(eq(int, fake.fake_live_images(), (int)stats_of(context).plans));
    cr_expect(eq(u64, stats_of(context).compiles, 20), "the first shape was never made again");
    cr_expect(eq(int, atomic_load(&told[TJ_EVENT_EVICTED]), (int)stats_of(context).evictions));
    multiply(context, 17, 20, 24); /* left long ago */
    cr_expect(eq(u64, stats_of(context).compiles, 21), "its image left too");
    tj_context_free(context);
}

Test(plans, leave_when_they_take_too_many_bytes)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context = open_context(TJ_FIRST_CALL_WAIT, "", 0);
    int64_t bytes;

    multiply(context, 16, 20, 24);
    bytes = (int64_t)stats_of(context).plan_bytes;
    tj_context_free(context);
    cr_assert(bytes > 1000);
    options.driver = FAKE_CUDA_PATH;
    options.nvrtc = FAKE_NVRTC_PATH;
    options.cache_dir = "";
    options.max_plan_bytes = 5 * bytes;
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
    for (int i = 0; i < 12; i++)
        multiply(context, 16 + i, 20, 24);
    cr_expect(le(u64, stats_of(context).plan_bytes, (uint64_t)options.max_plan_bytes));
    cr_expect(stats_of(context).plans >= 3 && stats_of(context).plans < 12, "%d", (int)stats_of(context).plans);
    tj_context_free(context);
}

Test(plans, come_back_from_the_store)
{
    tj_context *context = open_context(TJ_FIRST_CALL_WAIT, folder, 4);

    for (int i = 0; i < 8; i++)
        multiply(context, 16 + i, 20, 24);
    multiply(context, 16, 20, 24);
    cr_expect(eq(u64, stats_of(context).compiles, 8));
    cr_expect(eq(u64, stats_of(context).store_hits, 1));
    tj_context_free(context);
}

Test(plans, that_are_held_stay_until_they_are_released)
{
    tj_context *context = open_context(TJ_FIRST_CALL_WAIT, "", 0);
    const tj_problem problem = TJ_PROBLEM_INIT(33, 20, 48, TJ_F32);
    const tj_plan *plan, *again;

    cr_assert(eq(int, tj_plan_prepare(context, &problem, NULL, &plan, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_plan_prepare(context, &problem, NULL, &again, &err), TJ_OK), "%s", err.message);
    cr_expect(again == plan);
    multiply(context, 16, 20, 24);
    tj_context_trim(context, 0, 0);
    cr_expect(eq(u64, stats_of(context).plans, 1));
    cr_expect(eq(int, fake.fake_live_images(), 1));
    cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_OK), "%s", err.message);
    tj_plan_release(again);
    tj_context_trim(context, 0, 0);
    cr_expect(eq(u64, stats_of(context).plans, 1));
    tj_plan_release(plan);
    tj_context_trim(context, 0, 0);
    cr_expect(eq(u64, stats_of(context).plans, 0));
    cr_expect(eq(int, fake.fake_live_images(), 0));
    tj_context_free(context);
}

Test(plans, that_a_graph_may_launch_stay)
{
    CUstream stream = (CUstream)(uintptr_t)0x77;
    tj_context *context = open_context(TJ_FIRST_CALL_WAIT, "", 0);
    const tj_problem problem = TJ_PROBLEM_INIT(33, 20, 48, TJ_F32);

    multiply(context, 33, 20, 48);
    multiply(context, 16, 20, 24);
    fake.fake_set_capture(stream, 1);
    cr_assert(eq(int, tj_matmul(context, &problem, &x, stream, &err), TJ_OK), "%s", err.message);
    fake.fake_set_capture(NULL, 0);
    tj_context_trim(context, 0, 0);
    cr_expect(eq(u64, stats_of(context).plans, 1));
    cr_expect(eq(int, fake.fake_live_images(), 1));
    tj_context_free(context);
}

/* The model's choice is written down for the next process, and other files in its place do no harm. */
Test(plans, are_chosen_again_from_the_store_whatever_is_there)
{
    static const char *const broken[] = {"", "tilejit choices 1 0 0.0\nzz", "\n\n\n", NULL};
    tj_context *context;
    char command[256];

    for (int device = 0; device < FAKE_MAX_DEVICES; device++)
        fake.fake_set_device_attribute(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1980000);
    for (int i = -1; i < 0 || broken[i]; i++) {
        if (i >= 0) {
            sprintf(command, "for f in '%s'/v1/choices-*; do printf '%s' > \"$f\"; done", folder, broken[i]);
            cr_assert(eq(int, system(command), 0));
        }
        context = open_context(TJ_FIRST_CALL_WAIT, folder, 0);
        multiply(context, 65, 65, 65);
        cr_expect(eq(u64, stats_of(context).compiles, i < 0 ? 1 : 0));
        tj_context_free(context);
        sprintf(command, "test \"$(grep -c simt '%s'/v1/choices-*)\" = 1", folder);
        cr_expect(eq(int, system(command), 0), "round %d", i);
    }
}
