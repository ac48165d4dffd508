/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Timing, on a driver that only pretends: what is launched, on which operands, and what becomes of it when a call fails. Every two events
 * of this driver are one millisecond apart.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <limits.h>
#include <string.h>

#include <tilejit/tools.h>

#include "fake/fake_cuda.h"

enum { SETS = 3, WARMUP = 2, REPEAT = 4 };

static fake_cuda fake;
static tj_error err;
static tj_context *context;
static struct CUstream_st *stream;
static const tj_plan *plan;
static tj_operands set[SETS];
static double us[REPEAT];

static void start_with(const char *driver, int version)
{
    const tj_problem problem = TJ_PROBLEM_INIT(32, 32, 32, TJ_F32);
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_config config = TJ_CONFIG_INIT;

    fake = fake_open(driver);
    fake.fake_hide("cuFuncGetParamInfo");
    fake.fake_set_parameters(3, (const size_t[]){8, 8, 8});
    if (version > 0)
        fake.fake_set_driver_version(version);
    options.driver = driver;
    options.nvrtc = FAKE_NVRTC_PATH;
    options.cache_dir = "";
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_config_parse("tiled", &config, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_plan_prepare(context, &problem, &config, &plan, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_stream_create(context, &stream, &err), TJ_OK), "%s", err.message);
    for (int i = 0; i < SETS; i++) {
        set[i] = (tj_operands)TJ_OPERANDS_INIT;
        set[i].m.address = (const void *)(uintptr_t)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 4096);
        set[i].n.address = (const void *)(uintptr_t)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 4096);
        set[i].p.address = (void *)(uintptr_t)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 4096);
    }
}

static void start(void)
{
    start_with(FAKE_CUDA_PATH, 0);
}

static void stop(void)
{
    tj_stream_destroy(context, stream);
    tj_context_free(context);
    cr_expect(eq(int, fake.fake_context_depth(), 0));
    cr_expect(eq(ulong, fake.fake_calls("cuEventDestroy"), fake.fake_calls("cuEventCreate")));
}

TestSuite(timing, .init = start, .fini = stop);

static tj_status take(size_t sets, struct CUstream_st *on, int per_event)
{
    const tj_timing timing = {
        .struct_size = sizeof timing, .warmup = WARMUP, .repeat = REPEAT, .per_event = per_event, .sets = sets};

    return tj_time_launches(context, plan, set, on, &timing, us, &err);
}

/* Launch number i took set number i modulo sets. */
static void expect_rotation(unsigned long launches, size_t sets)
{
    cr_assert(eq(ulong, fake.fake_launches(), launches));
    for (unsigned long i = 0; i < launches; i++) {
        fake_launch launch;
        void *m;

        cr_assert(fake.fake_get_launch(i, &launch));
        memcpy(&m, launch.args, sizeof m);
        cr_expect(eq(ptr, m, (void *)(uintptr_t)set[i % sets].m.address), "launch %lu", i);
    }
}

static void expect_times(double wanted)
{
    for (int i = 0; i < REPEAT; i++)
        cr_expect(ieee_ulp_eq(dbl, us[i], wanted, 4));
}

Test(timing, puts_one_launch_between_two_events)
{
    cr_assert(eq(int, take(SETS, stream, 1), TJ_OK), "%s", err.message);
    expect_rotation(WARMUP + REPEAT, SETS);
    expect_times(1000);
    cr_expect(eq(ulong, fake.fake_calls("cuStreamBeginCapture"), 0));
    us[1] = -1;
    cr_assert(eq(int, tj_time_launches(context, plan, set, NULL, NULL, us, &err), TJ_OK), "%s", err.message);
    cr_expect(ieee_ulp_eq(dbl, us[0], 1000, 4));
    cr_expect(us[1] == -1, "one launch of one set");
    cr_expect(eq(ulong, fake.fake_launches(), WARMUP + REPEAT + 1));
}

/* The graph goes through all sets, and is replayed once before it is timed. */
Test(timing, replays_several_launches_as_a_graph)
{
    cr_assert(eq(int, take(SETS, stream, 2 * SETS), TJ_OK), "%s", err.message);
    expect_rotation(WARMUP + 2 * SETS, SETS);
    expect_times(1000.0 / (2 * SETS));
    cr_expect(eq(ulong, fake.fake_calls("cuGraphLaunch"), 1 + REPEAT));
    cr_expect(eq(ulong, fake.fake_calls("cuGraphDestroy"), 1));
    cr_expect(eq(ulong, fake.fake_calls("cuGraphExecDestroy"), 1));
}

static void expect_no_graph(size_t sets, struct CUstream_st *on, int per_event)
{
    const unsigned long before = fake.fake_launches();

    cr_assert(eq(int, take(sets, on, per_event), TJ_OK), "%s", err.message);
    cr_expect(eq(ulong, fake.fake_launches() - before, WARMUP + REPEAT * (unsigned long)per_event));
    expect_times(1000.0 / per_event);
    cr_expect(eq(ulong, fake.fake_calls("cuStreamBeginCapture"), 0));
}

Test(timing, queues_launches_one_by_one_where_a_graph_would_not_rotate)
{
    expect_no_graph(SETS, stream, SETS + 1);
    expect_rotation(WARMUP + REPEAT * (SETS + 1), SETS);
    expect_no_graph(SETS, NULL, SETS); /* the legacy default stream */
}

Test(timing_of_older_drivers, queues_launches_one_by_one)
{
    start_with(FAKE_CUDA_PATH, 11030);
    expect_no_graph(SETS, stream, SETS);
    stop();
}

Test(timing_of_older_drivers, that_look_nothing_up_as_well)
{
    char path[PATH_MAX];

    start_with(fake_sibling(FAKE_CUDA_PATH, "libfake_cuda_old.so", path), 0);
    expect_no_graph(SETS, stream, SETS);
    stop();
}

/* Every failure is reported, ends the capture, and leaves nothing (stop). */
Test(timing, reports_each_driver_call_that_fails)
{
    static const char *const calls[] = {
        "cuEventCreate",      "cuLaunchKernel",     "cuStreamBeginCapture",        "cuStreamEndCapture", "cuEventRecord",
        "cuEventSynchronize", "cuEventElapsedTime", "cuGraphInstantiateWithFlags", "cuGraphLaunch"};

    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        for (int nth = 1; nth <= (strcmp(calls[i], "cuLaunchKernel") == 0 ? WARMUP + SETS : 1); nth++) {
            const unsigned long made = fake.fake_calls("cuGraphInstantiateWithFlags"),
                                gone = fake.fake_calls("cuGraphExecDestroy");

            fake.fake_fail(calls[i], nth, 999);
            cr_expect(eq(int, take(SETS, stream, SETS), TJ_ERR_DRIVER), "%s", calls[i]);
            cr_expect(strstr(err.message, "CUDA_ERROR_UNKNOWN") != NULL, "%s: %s", calls[i], err.message);
            fake.fake_fail(NULL, 0, 0);
            cr_expect(eq(ulong, fake.fake_calls("cuStreamEndCapture"),
                         fake.fake_calls("cuStreamBeginCapture") - (i >= 2)), /* but for the one that did not begin */
                      "%s", calls[i]);
            if (strcmp(calls[i], "cuGraphInstantiateWithFlags") != 0)
                cr_expect(eq(ulong, fake.fake_calls("cuGraphInstantiateWithFlags") - made,
                             fake.fake_calls("cuGraphExecDestroy") - gone),
                          "%s", calls[i]);
            cr_expect(eq(int, fake.fake_context_depth(), 0), "%s", calls[i]);
        }
    cr_expect(eq(int, take(SETS, stream, SETS), TJ_OK), "%s", err.message);
}

Test(timing, refuses_numbers_that_make_no_sense)
{
    enum { SIZE = sizeof(tj_timing) };
    static const struct {
        tj_timing timing;
        const char *words;
    } wrong[] = {{{SIZE, -1, 1, 1, 0, 1}, "warmup 0 or more"},
                 {{SIZE, 1, -1, 1, 0, 1}, "repeat is 1 to"},
                 {{SIZE, 1, 100001, 1, 0, 1}, "repeat is 1 to"},
                 {{SIZE, 1, 1, -1, 0, 1}, "per_event is 1 to"},
                 {{SIZE, 1, 1, 10001, 0, 1}, "per_event is 1 to"},
                 {{SIZE, 1, 1, 1, 7, 1}, "reserved is 7"},
                 {{7, 1, 1, 1, 0, 1}, "TJ_TIMING_INIT"}};

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cr_expect(eq(int, tj_time_launches(context, plan, set, stream, &wrong[i].timing, us, &err), TJ_ERR_INVALID_ARGUMENT));
        cr_expect(strstr(err.message, wrong[i].words) != NULL, "%s", err.message);
    }
    cr_expect(eq(ulong, fake.fake_launches(), 0));
}
