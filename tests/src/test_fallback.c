/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Fallbacks on fake drivers and compilers: when one is made, how often, and the message if it cannot be. tests/gpu/fallback.c
 * looks at the products.
 *
 * This program is linked with --wrap=tj_context_choose: it makes the choice if no config is named.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdbool.h>
#include <string.h>

#include <tilejit/tools.h>

#include "chooser.h"
#include "fake/fake_cuda.h"
#include "family.h"
#include "plan.h"
#include "settle.h"

static fake_cuda fake;
static tj_error err;
static tj_context *context;
static tj_config choice;

tj_status __wrap_tj_context_choose(tj_context *in, tj_choosing how, const tj_device_facts *device, const tj_request *request,
                                   tj_refusals refused, tj_choice *made, tj_error *error);

tj_status __wrap_tj_context_choose(tj_context *in, tj_choosing how, const tj_device_facts *device, const tj_request *request,
                                   tj_refusals refused, tj_choice *made, tj_error *error)
{
    (void)in, (void)how, (void)device, (void)refused;
    *made = (tj_choice){choice, choice, TJ_BY_MODEL};
    return tj_request_resolve(request, &made->resolved, error);
}

static void start(void)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;

    fake = fake_open(FAKE_CUDA_PATH);
    fake.fake_hide("cuFuncGetParamInfo");
    /* Every kernel here has three pointers, and the second one of a split k two. */
    fake.fake_set_parameters(3, (const size_t[]){8, 8, 8});
    fake.fake_set_parameters_of("reduce", 2, (const size_t[]){8, 8});
    choice = (tj_config)TJ_CONFIG_INIT;
    cr_assert(eq(int, tj_config_parse("skinny:splits=4", &choice, &err), TJ_OK), "%s", err.message);
    options.driver = FAKE_CUDA_PATH;
    options.nvrtc = FAKE_NVRTC_PATH;
    options.cache_dir = "";
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
}

static void stop(void)
{
    tj_context_free(context);
    cr_expect(eq(int, fake.fake_live_images(), 0));
}

TestSuite(fallback, .init = start, .fini = stop);

static const tj_problem problem = TJ_PROBLEM_INIT(4, 1000, 64, TJ_F32);

static tj_operands some_operands(void)
{
    tj_operands x = TJ_OPERANDS_INIT;

    x.m.address = (const void *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 1 << 20);
    x.n.address = (const void *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 1 << 20);
    x.p.address = (void *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 1 << 20);
    return x;
}

static uint64_t plans(void)
{
    tj_context_stats stats = TJ_CONTEXT_STATS_INIT;

    tj_context_get_stats(context, &stats);
    return stats.plans;
}

static bool says(const char *words)
{
    return strstr(err.message, words) != NULL;
}

Test(fallback, is_made_for_pointers_that_are_not_aligned)
{
    tj_operands x = some_operands();
    unsigned long calls;

    cr_assert(eq(int, tj_matmul(context, &problem, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(u64, plans(), 1));
    x.n.address = (const char *)x.n.address + 4;
    for (int i = 0; i < 3; i++)
        cr_assert(eq(int, tj_matmul(context, &problem, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(u64, plans(), 2));
    calls = fake.fake_calls("cuMemAllocAsync");
    cr_expect(eq(ulong, calls, 4), "the fallback splits k as well: %lu", calls);
    x.n.address = (const char *)x.n.address + 1;
    cr_expect(eq(int, tj_matmul(context, &problem, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("its elements of 4 bytes"), "%s", err.message);
}

Test(fallback, does_not_split_where_no_workspace_can_be_had)
{
    tj_operands x = some_operands();
    const tj_plan *plan;

    fake.fake_set_driver_version(11030);
    for (int i = 0; i < 3; i++)
        cr_assert(eq(int, tj_matmul(context, &problem, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(ulong, fake.fake_launches(), 3), "one kernel each");
    cr_expect(eq(u64, plans(), 2));

    /* A call with a workspace gets the chosen kernel itself. */
    cr_assert(eq(int, tj_plan_prepare(context, &problem, NULL, &plan, &err), TJ_OK), "%s", err.message);
    x.workspace_bytes = tj_plan_workspace_bytes(plan);
    cr_expect(eq(sz, x.workspace_bytes, 4 * 4 * 64 * 4));
    x.workspace = (void *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, x.workspace_bytes);
    cr_assert(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(ulong, fake.fake_launches(), 5), "two kernels");
    x.workspace = NULL;
    cr_assert(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(ulong, fake.fake_launches(), 6));
    cr_expect(eq(u64, plans(), 2));
}

Test(fallback, is_not_made_for_a_config_that_was_named)
{
    tj_operands x = some_operands();
    const tj_plan *plan;

    cr_assert(eq(int, tj_plan_prepare(context, &problem, &choice, &plan, &err), TJ_OK), "%s", err.message);
    x.n.address = (const char *)x.n.address + 4;
    cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("takes 16 bytes of it at once") && says("vector=1"), "%s", err.message);
    cr_expect(eq(u64, plans(), 1));
}

/* Timing captures several launches, but not the first ones that have something to make. */
Test(fallback, is_made_by_launches_that_are_timed_together)
{
    enum { REPEAT = 3, TOGETHER = 2 };
    const tj_timing timing = {.struct_size = sizeof timing, .repeat = REPEAT, .per_event = TOGETHER};
    tj_operands x = some_operands();
    struct CUstream_st *stream;
    const tj_plan *plan;
    double us[REPEAT];

    cr_assert(eq(int, tj_stream_create(context, &stream, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_plan_prepare(context, &problem, NULL, &plan, &err), TJ_OK), "%s", err.message);
    x.n.address = (const char *)x.n.address + 4;
    cr_assert(eq(int, tj_time_launches(context, plan, &x, stream, &timing, us, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(ulong, fake.fake_calls("cuGraphLaunch"), 0));
    cr_expect(eq(ulong, fake.fake_launches(), REPEAT * TOGETHER * 2), "two kernels each");
    cr_assert(eq(int, tj_time_launches(context, plan, &x, stream, &timing, us, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(ulong, fake.fake_calls("cuGraphLaunch"), 1 + REPEAT), "it is made now");
    cr_expect(eq(u64, plans(), 2));
    tj_stream_destroy(context, stream);
}

Test(fallback, is_not_made_in_a_capture_and_works_there_once_it_is_made)
{
    const CUstream stream = (CUstream)(void *)&problem;
    tj_operands x = some_operands();
    unsigned long launches;

    cr_assert(eq(int, tj_matmul(context, &problem, &x, stream, &err), TJ_OK), "%s", err.message);
    x.n.address = (const char *)x.n.address + 4;
    launches = fake.fake_launches();
    fake.fake_set_capture(stream, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    cr_expect(eq(int, tj_matmul(context, &problem, &x, stream, &err), TJ_ERR_CAPTURE));
    cr_expect(says("launch once with such operands before the capture"), "%s", err.message);
    cr_expect(eq(ulong, fake.fake_launches(), launches));
    fake.fake_set_capture(stream, CU_STREAM_CAPTURE_STATUS_NONE);
    cr_expect(eq(int, tj_matmul(context, &problem, &x, stream, &err), TJ_OK), "%s", err.message);
    fake.fake_set_capture(stream, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    cr_expect(eq(int, tj_matmul(context, &problem, &x, stream, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(u64, plans(), 2));
}

Test(fallback, that_cannot_be_made_is_tried_again)
{
    tj_operands x = some_operands();

    cr_assert(eq(int, tj_matmul(context, &problem, &x, NULL, &err), TJ_OK), "%s", err.message);
    x.m.address = (const char *)x.m.address + 4; /* M is read element by element: this suits */
    cr_expect(eq(int, tj_matmul(context, &problem, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(u64, plans(), 1));
    x.n.address = (const char *)x.n.address + 4;
    fake.fake_fail("cuLibraryLoadData", 1, 2);
    cr_expect(eq(int, tj_matmul(context, &problem, &x, NULL, &err), TJ_ERR_DEVICE_MEMORY));
    cr_expect(eq(int, tj_matmul(context, &problem, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(u64, plans(), 2));
}

/* Each context has plans of its own, and a plan's fallback is of the plan's context. */
Test(fallback, belongs_to_the_context_of_its_plan)
{
    CUcontext one = fake.fake_context_create(0), other;
    tj_operands x = some_operands();
    const tj_plan *plan;

    cr_assert(eq(int, tj_plan_prepare(context, &problem, NULL, &plan, &err), TJ_OK), "%s", err.message);
    x.n.address = (const char *)x.n.address + 4;
    other = fake.fake_context_create(0);
    cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("another CUDA context"), "%s", err.message);
    cr_expect(eq(int, tj_matmul(context, &problem, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(u64, plans(), 3));
    fake.fake_context_set(one);
    cr_expect(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(u64, plans(), 4));
    fake.fake_context_set(NULL);
    (void)other;
}

/* The types and layouts that a family takes, with rows that can be read 16 bytes at once and with others. */
Test(fallback, of_every_family_takes_pointers_that_begin_at_any_element)
{
    static const tj_type types[] = {TJ_F32, TJ_F64, TJ_F16, TJ_BF16, TJ_S8, TJ_E4M3};
    static const int64_t extents[][3] = {{256, 512, 384}, {64, 1024, 4096}, {100, 60, 36}};
    int looked_at = 0;

    for (size_t i = 0; i < 2 * 3 * 8 * sizeof types / sizeof types[0]; i++)
        for (size_t number = 0; number < (size_t)tj_family_count(); number++) {
            const int64_t *const extent = extents[i / 16 % 3];
            tj_problem problem = TJ_PROBLEM_INIT(extent[0], extent[1], extent[2], types[i / 48]);
            tj_config config = TJ_CONFIG_INIT;
            tj_source *chosen, *other;

            problem.m.layout = i & 1;
            problem.n.layout = i >> 1 & 1;
            problem.p.layout = i >> 2 & 1;
            problem.compute = types[i / 48] == TJ_F32 && (i >> 3 & 1) ? TJ_COMPUTE_TF32 : 0;
            config.family = tj_family_at(number);
            if (tj_generate(&problem, &config, &chosen, NULL) != TJ_OK)
                continue;
            config = tj_undemanding_config(chosen, true);
            cr_assert(eq(int, tj_generate(&problem, &config, &other, &err), TJ_OK), "%s", err.message);
            for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_C; which++)
                cr_expect(tj_asked_alignment(tj_source_problem(other), tj_source_launch(other), which) == 0, "%s of %s asks",
                          tj_source_kernel(other), tj_source_kernel(chosen));
            looked_at++;
            tj_source_free(chosen);
            tj_source_free(other);
        }
    cr_expect(looked_at > 500, "%d", looked_at);
}
