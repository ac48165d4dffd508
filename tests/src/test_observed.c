/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Views of a context by a program and its tools: ranges of a profiler, lines of the stored source; and plans made ahead. On a
 * fake driver and a fake compiler.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tilejit/tools.h>

#include "custom_spec.h"
#include "fake/fake_cuda.h"

static fake_cuda fake;
static tj_error err;
static char folder[] = "/tmp/tilejit-observed-XXXXXX";

static tj_context *open_context(const char *cache_dir, int32_t line_info)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context;

    options.driver = FAKE_CUDA_PATH;
    options.nvrtc = FAKE_NVRTC_PATH;
    options.cache_dir = cache_dir;
    options.line_info = line_info;
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
    return context;
}

static void start(void)
{
    fake = fake_open(FAKE_CUDA_PATH);
    fake.fake_hide("cuFuncGetParamInfo");
    for (int device = 0; device < FAKE_MAX_DEVICES; device++)
        fake.fake_set_device_attribute(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 0);
    cr_assert(mkdtemp(folder) != NULL);
}

static void stop(void)
{
    char command[PATH_MAX];

    cr_expect(eq(int, fake.fake_live_images(), 0));
    sprintf(command, "rm -rf '%s'", folder);
    cr_expect(eq(int, system(command), 0));
}

TestSuite(observed, .init = start, .fini = stop);
TestSuite(warm_up, .init = start, .fini = stop);

Test(observed, work_is_a_range_of_a_profiler)
{
    const tj_problem problem = TJ_PROBLEM_INIT(33, 20, 48, TJ_F32);
    char path[PATH_MAX];
    void *profiler = dlopen(fake_sibling(FAKE_CUDA_PATH, "libfake_nvtx.so", path), RTLD_NOW);
    int (*ranges)(void), (*open)(void);
    const char *(*seen)(void);
    tj_context *context;
    const tj_plan *plan;

    cr_assert(profiler != NULL, "%s", dlerror());
    *(void **)&ranges = dlsym(profiler, "fake_nvtx_ranges");
    *(void **)&open = dlsym(profiler, "fake_nvtx_open");
    *(void **)&seen = dlsym(profiler, "fake_nvtx_seen");
    setenv("NVTX_INJECTION64_PATH", path, 1);
    context = open_context("", 0);
    cr_assert(eq(int, tj_plan_prepare(context, &problem, NULL, &plan, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(str, (char *)seen(), "tilejit compile tiled_f32_33x20x48\ntilejit load tiled_f32_33x20x48\n"));
    cr_expect(ranges() == 2 && open() == 0, "%d begun, %d not ended", ranges(), open());
    tj_context_free(context);
}

Test(observed, without_a_profiler_there_is_none)
{
    const tj_problem problem = TJ_PROBLEM_INIT(33, 20, 48, TJ_F32);
    tj_context *context;
    const tj_plan *plan;

    setenv("NVTX_INJECTION64_PATH", FAKE_NVRTC_PATH, 1); /* a library, and no profiler's */
    context = open_context("", 0);
    cr_expect(eq(int, tj_plan_prepare(context, &problem, NULL, &plan, &err), TJ_OK), "%s", err.message);
    tj_context_free(context);
}

static void write_event(const tj_event *event, void *payload)
{
    char *seen = payload;

    sprintf(seen + strlen(seen), "%s [%s] [%s] %s %s\n", tj_event_name(event->kind), event->problem, event->config,
            event->kernel, event->detail);
}

/* They have a config and a kernel, and no problem. */
Test(observed, families_of_the_application_are_told_of_too)
{
    static const size_t parameters[] = {8, 8, 4};
    const int64_t length[] = {100};
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_custom_kernel *kernel[2];
    char seen[2000] = "";
    tj_context *context;
    tj_family *family;
    custom_spec made;

    fake.fake_set_parameters(3, parameters);
    options.driver = FAKE_CUDA_PATH;
    options.nvrtc = FAKE_NVRTC_PATH;
    options.cache_dir = "";
    options.on_event = write_event;
    options.event_payload = seen;
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_family_create(custom_spec_make(&made), &family, &err), TJ_OK), "%s", err.message);
    for (int i = 0; i < 2; i++)
        cr_assert(eq(int, tj_custom_load(context, family, NULL, length, &kernel[i], &err), TJ_OK), "%s", err.message);
    cr_expect(eq(str, seen,
                 "compiled [] [scale:threads=64,order=forward] scale_100 \n"
                 "hit [] [scale:threads=64,order=forward] scale_100 memory\n"));
    tj_custom_kernel_free(kernel[0]);
    tj_custom_kernel_free(kernel[1]);
    tj_family_free(family);
    tj_context_free(context);
}

/* Return the file that the code of an image names, if it is compiled in such a context; and its key. */
static void compile(const char *cache_dir, int32_t line_info, char file[PATH_MAX], char key[40])
{
    const tj_problem problem = TJ_PROBLEM_INIT(33, 20, 48, TJ_F32);
    tj_context *context = open_context(cache_dir, line_info);
    tj_source *source;
    tj_image *image;
    const char *line;

    cr_assert(eq(int, tj_generate(&problem, NULL, &source, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_image_obtain(context, source, "sm_90", &image, &err), TJ_OK), "%s", err.message);
    line = strstr(tj_image_ptx(image, NULL), ".file\t1 \"");
    snprintf(file, PATH_MAX, "%.*s", line ? (int)strcspn(line + 9, "\"") : 0, line ? line + 9 : "");
    snprintf(key, 40, "%s", tj_image_key(image));
    tj_image_free(image);
    tj_source_free(source);
    tj_context_free(context);
}

Test(observed, lines_lead_to_the_text_in_the_store)
{
    char file[PATH_MAX], plain_file[PATH_MAX], key[40], plain_key[40], other_key[40], other[PATH_MAX];
    FILE *text;
    char beginning[64] = "";

    compile(folder, 0, plain_file, plain_key);
    cr_expect(eq(str, plain_file, ""));
    compile(folder, 1, file, key);
    cr_expect(strcmp(key, plain_key) != 0, "they are different images");
    text = fopen(file, "r");
    cr_assert(text != NULL, "%s is not there", file);
    cr_expect(fgets(beginning, sizeof beginning, text) && strncmp(beginning, "// j33 k20 l48 f32", 18) == 0, "%s", beginning);
    fclose(text);
    snprintf(other, sizeof other, "%s/other", folder);
    compile(other, 1, file, other_key);
    cr_expect(strncmp(file, other, strlen(other)) == 0 && strcmp(key, other_key) != 0,
              "where the text lies is part of the key");
    compile("", 1, file, other_key);
    cr_expect(eq(str, file, "kernel.cu"));
    setenv("TILEJIT_LINE_INFO", "1", 1);
    compile(folder, 0, file, other_key);
    cr_expect(eq(str, other_key, key));
}

Test(observed, lines_that_cannot_be_are_an_error)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context;

    options.line_info = 3;
    cr_expect(eq(int, tj_context_create(&options, &context, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "line_info is 3") != NULL, "%s", err.message);
    options.line_info = 0;
    setenv("TILEJIT_LINE_INFO", "yes", 1);
    cr_expect(eq(int, tj_context_create(&options, &context, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "TILEJIT_LINE_INFO is \"yes\"") != NULL, "%s", err.message);
}

/* ---- plans made ahead --------------------------------------------------------------------------------------------- */

enum { PROBLEMS = 12 };

typedef struct steps {
    bool was_told[PROBLEMS];
    size_t count, failed, stop_at; /* stop_at: 0: never */
} steps;

static int take_step(const tj_warm_up_step *step, void *payload)
{
    steps *all = payload;

    cr_expect(step->index < PROBLEMS && !all->was_told[step->index], "each is told once");
    all->was_told[step->index] = true;
    all->count++;
    cr_expect(step->done == all->count && step->count == PROBLEMS, "%zu of %zu", step->done, step->count);
    cr_expect(step->status == TJ_OK ? step->message[0] == '\0' : step->message[0] != '\0');
    all->failed += step->status != TJ_OK;
    return all->count == all->stop_at;
}

static void make_problems(tj_problem problem[PROBLEMS])
{
    for (int i = 0; i < PROBLEMS; i++)
        problem[i] = (tj_problem)TJ_PROBLEM_INIT(16 + i, 20, 24, TJ_F32);
}

Test(warm_up, makes_what_can_be_made_and_tells_each)
{
    tj_context *context = open_context(folder, 0);
    tj_warm_up_options options = TJ_WARM_UP_OPTIONS_INIT;
    tj_problem problem[PROBLEMS];
    tj_context_stats stats = TJ_CONTEXT_STATS_INIT;
    steps all = {.stop_at = 0};
    size_t made;

    make_problems(problem);
    problem[4].k.extent = -7;
    options.threads = 4;
    options.on_step = take_step;
    options.payload = &all;
    cr_expect(eq(int, tj_warm_up(context, problem, PROBLEMS, &options, &made, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "-7") != NULL, "%s", err.message);
    cr_expect(made == PROBLEMS - 1 && all.count == PROBLEMS && all.failed == 1, "%zu made, %zu told", made, all.count);
    tj_context_get_stats(context, &stats);
    cr_expect(eq(u64, stats.compiles, PROBLEMS - 1));
    cr_expect(eq(u64, stats.plans, PROBLEMS - 1));
    tj_context_trim(context, 0, 0);
    tj_context_get_stats(context, &stats);
    cr_expect(eq(u64, stats.plans, 0), "they are not held");
    tj_context_free(context);
}

Test(warm_up, stops_where_it_is_told_to)
{
    tj_context *context = open_context("", 0);
    tj_warm_up_options options = TJ_WARM_UP_OPTIONS_INIT;
    tj_problem problem[PROBLEMS];
    steps all = {.stop_at = 3};
    size_t made;

    make_problems(problem);
    options.threads = 2;
    options.on_step = take_step;
    options.payload = &all;
    cr_expect(eq(int, tj_warm_up(context, problem, PROBLEMS, &options, &made, &err), TJ_ERR_CANCELLED));
    cr_expect(made >= 3 && made <= 4, "%zu made", made); /* the other thread ends what it began */
    cr_expect(eq(int, tj_warm_up(context, problem, PROBLEMS, NULL, &made, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(sz, made, PROBLEMS));
    tj_context_free(context);
}

Test(warm_up, works_in_the_caller_s_cuda_context)
{
    CUcontext own = fake.fake_context_create(0);
    tj_context *context = open_context("", 0);
    tj_warm_up_options options = TJ_WARM_UP_OPTIONS_INIT;
    tj_problem problem[PROBLEMS];
    const tj_plan *plan;
    tj_context_stats stats = TJ_CONTEXT_STATS_INIT;
    size_t made;

    make_problems(problem);
    options.threads = 3;
    cr_assert(eq(int, tj_warm_up(context, problem, PROBLEMS, &options, &made, &err), TJ_OK), "%s", err.message);
    for (int i = 0; i < PROBLEMS; i++)
        cr_expect(eq(int, tj_plan_prepare(context, &problem[i], NULL, &plan, &err), TJ_OK), "%s", err.message);
    tj_context_get_stats(context, &stats);
    cr_expect(eq(u64, stats.plans, PROBLEMS), "those that were made are those that are found");
    cr_expect(eq(int, fake.fake_live_primaries(), 0));
    tj_context_free(context);
    fake.fake_context_destroy(own);
}

Test(warm_up, that_cannot_be_is_an_error)
{
    tj_context *context = open_context("", 0);
    tj_warm_up_options options = TJ_WARM_UP_OPTIONS_INIT;

    options.threads = -1;
    cr_expect(eq(int, tj_warm_up(context, NULL, 0, &options, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "threads is -1") != NULL, "%s", err.message);
    options = (tj_warm_up_options){0};
    cr_expect(eq(int, tj_warm_up(context, NULL, 0, &options, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(eq(int, tj_warm_up(context, NULL, 0, NULL, NULL, &err), TJ_OK), "nothing to do");
    tj_context_free(context);
}
