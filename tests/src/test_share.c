/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* A share of the device: the grids of launches that may occupy some of its 132 multiprocessors. */
#include "kernel_test.h"

TestSuite(share, .init = make_context, .fini = free_context);
TestSuite(share_of_old_driver, .init = make_context_of_old_driver, .fini = free_context);

static const CUstream green = (CUstream)(uintptr_t)0x77, other = (CUstream)(uintptr_t)0x88;

/* 100 x 100 tiles of 16 x 16, which blocks walk. */
static tj_launch_form walking(tj_problem *problem, int multiprocessors, int resident, int cluster)
{
    tj_launch_form form;

    *problem = (tj_problem)TJ_PROBLEM_INIT(1600, 48, 1600, TJ_F32);
    problem->multiprocessors = multiprocessors;
    *problem = canonical(*problem);
    form = form_of(problem);
    form.step[0].grid = TJ_GRID_WALK;
    form.step[0].resident = resident;
    form.step[0].cluster[0] = cluster;
    return form;
}

static unsigned int blocks_of(const tj_kernel *kernel, CUstream stream)
{
    const tj_operands x = some_operands();

    cr_assert(eq(int, tj_kernel_launch(kernel, &x, stream, &err), TJ_OK), "%s", err.message);
    return last_launch().grid[0];
}

Test(share, holds_so_many_blocks)
{
    static const struct {
        int multiprocessors, resident, cluster;
        unsigned int blocks;
    } rows[] = {{0, 1, 1, 132},   {108, 1, 1, 108}, {108, 2, 1, 216}, {107, 1, 2, 106},
                {108, 1, 4, 108}, {131, 1, 4, 116}, {1, 2, 2, 2},     {132, 1, 1, 132}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_problem problem;
        const tj_launch_form form = walking(&problem, rows[i].multiprocessors, rows[i].resident, rows[i].cluster);
        tj_kernel *kernel = load_form(&form, &problem);

        cr_expect(eq(uint, blocks_of(kernel, NULL), rows[i].blocks), "row %zu", i);
        tj_kernel_free(kernel);
    }
}

Test(share, of_a_green_context_limits_launches_in_its_streams)
{
    tj_problem problem;
    const tj_launch_form form = walking(&problem, 0, 2, 1), smaller = walking(&problem, 16, 2, 1);
    tj_kernel *whole, *part;

    part = load_form(&smaller, &problem);
    problem.multiprocessors = 0;
    whole = load_form(&form, &problem);
    fake.fake_set_green(green, 24);
    cr_expect(eq(uint, blocks_of(whole, green), 48));
    cr_expect(eq(uint, blocks_of(whole, other), 264));
    cr_expect(eq(uint, blocks_of(part, green), 32), "what the problem asks for is less");
    fake.fake_set_capture(green, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    cr_expect(eq(uint, blocks_of(whole, green), 48), "in a capture too");
    cr_expect(eq(int, fake.fake_capture(), CU_STREAM_CAPTURE_STATUS_ACTIVE));
    fake.fake_set_capture(NULL, CU_STREAM_CAPTURE_STATUS_NONE);
    fake.fake_fail("cuGreenCtxGetDevResource", 0, CUDA_ERROR_NOT_SUPPORTED);
    cr_expect(eq(uint, blocks_of(whole, green), 264));
    fake.fake_fail(NULL, 0, CUDA_SUCCESS);
    fake.fake_set_green(NULL, 24);
    cr_expect(eq(uint, blocks_of(whole, green), 264), "a handle is used again");
    tj_kernel_free(whole);
    tj_kernel_free(part);
}

/* The current context is a green one: all its life. */
Test(share, of_the_default_stream_is_asked_for_once_and_not_while_a_capture_would_break)
{
    tj_problem problem;
    const tj_launch_form form = walking(&problem, 0, 2, 1);
    tj_kernel *kernel = load_form(&form, &problem);

    fake.fake_set_green(NULL, 24);
    fake.fake_set_capture(other, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    cr_expect(eq(uint, blocks_of(kernel, NULL), 264));
    cr_expect(eq(int, fake.fake_capture(), CU_STREAM_CAPTURE_STATUS_ACTIVE));
    fake.fake_set_capture(NULL, CU_STREAM_CAPTURE_STATUS_NONE);
    for (int i = 0; i < 3; i++)
        cr_expect(eq(uint, blocks_of(kernel, NULL), 48));
    cr_expect(eq(ulong, fake.fake_calls("cuStreamGetGreenCtx"), 1));
    cr_expect(eq(ulong, fake.fake_calls("cuGreenCtxGetDevResource"), 1));
    tj_kernel_free(kernel);
}

Test(share, of_a_stream_is_not_asked_for_where_no_block_walks)
{
    tj_problem problem = canonical((tj_problem)TJ_PROBLEM_INIT(100, 48, 70, TJ_F32));
    const tj_launch_form form = form_of(&problem);
    tj_kernel *kernel = load_form(&form, &problem);

    fake.fake_set_green(green, 24);
    cr_expect(eq(uint, blocks_of(kernel, green), 5));
    cr_expect(eq(ulong, fake.fake_calls("cuStreamGetGreenCtx"), 0));
    tj_kernel_free(kernel);
}

Test(share, larger_than_the_device_or_smaller_than_a_cluster_is_refused)
{
    static const struct {
        int multiprocessors, resident, cluster;
        const char *words;
    } rows[] = {{133, 1, 1, "multiprocessors is 133, and "},
                {3, 1, 4, "multiprocessors is 3, and the config has clusters of 4 blocks"}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_problem problem;
        const tj_launch_form form = walking(&problem, rows[i].multiprocessors, rows[i].resident, rows[i].cluster);
        tj_kernel *kernel = NULL;

        tell_parameters(&form, &problem);
        cr_expect(
            eq(int, tj_kernel_load_code(&context->host, &form, &problem, &sm_90, &kernel, &err), TJ_ERR_INVALID_ARGUMENT));
        cr_expect(says(rows[i].words), "row %zu: %s", i, err.message);
    }
    cr_expect(eq(int, fake.fake_live_images(), 0));
}

Test(share_of_old_driver, is_what_the_problem_says)
{
    tj_problem problem;
    const tj_launch_form form = walking(&problem, 108, 1, 1);
    tj_kernel *kernel = load_form(&form, &problem);

    cr_expect(eq(uint, blocks_of(kernel, green), 108));
    tj_kernel_free(kernel);
}
