/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* Plans that are asked for wrongly, on pointers that the device cannot use, in a child, after the device was lost, in any locale. */
#include "plan_test.h"

TestSuite(plan_troubles, .init = start, .fini = stop);
TestSuite(stored_plan_troubles, .init = start_with_folder, .fini = stop_with_folder);

/* ---- what is wrong ------------------------------------------------------------------------------------------------ */

Test(plan_troubles, refuses_structs_that_were_not_initialised)
{
    tj_problem problem = TJ_PROBLEM_INIT(33, 5, 48, TJ_F32), bare = {0};
    tj_operands x = some_operands(), empty = {0};
    tj_config config = {0};
    const tj_plan *plan = NULL;

    cr_expect(eq(int, tj_matmul(context, &bare, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("TJ_PROBLEM_INIT"), "%s", err.message);
    cr_expect(eq(int, tj_matmul(context, &problem, &empty, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("TJ_OPERANDS_INIT"), "%s", err.message);
    cr_expect(eq(int, tj_plan_prepare(context, &problem, &config, &plan, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("TJ_CONFIG_INIT") && plan == NULL, "%s", err.message);
    problem.scale[TJ_MATRIX_N].k = 1;
    cr_expect(eq(int, tj_matmul(context, &problem, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("scale_n.type is 0"), "%s", err.message);
    cr_expect(eq(ulong, fake.fake_launches(), 0));
    cr_expect(eq(int, tj_matmul(context, &problem, &x, NULL, NULL), TJ_ERR_INVALID_ARGUMENT), "err may be NULL");
}

Test(plan_troubles, checks_pointers_before_its_first_launch)
{
    tj_operands x = some_operands();
    float host[33 * 5];

    x.m.address = host;
    cr_expect(eq(int, matmul_of(context, 5, &x), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("M at 0x") && says("copy it to the device"), "%s", err.message);
    cr_expect(eq(ulong, fake.fake_launches(), 0));
    x = some_operands();
    cr_expect(eq(int, matmul_of(context, 5, &x), TJ_OK), "%s", err.message);
}

/* Not only where the call made the plan: it may have been prepared, warmed up, or made by a call that was refused. */
Test(plan_troubles, checks_pointers_before_the_first_launch_whoever_made_it)
{
    tj_problem problem = TJ_PROBLEM_INIT(33, 5, 48, TJ_F32);
    tj_operands good = some_operands(), on_host = good, is_short = good, is_null = good;
    float host[33 * 5];

    on_host.m.address = host;
    is_short.p.address = (void *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 64);
    is_null.n.address = NULL;
    for (int way = 0; way < 5; way++) {
        static const char *const name[] = {"prepared", "warmed up", "refused", "launched, then refused",
                                           "a plan of the caller's"};
        const tj_operands *const wrong[] = {&on_host, &is_short, &on_host};
        const tj_plan *plan = NULL;
        const unsigned long launches = fake.fake_launches() + (way == 3);

        problem.k.extent = 5 + way;
        if (way == 0 || way == 4)
            cr_assert(eq(int, tj_plan_prepare(context, &problem, NULL, &plan, &err), TJ_OK), "%s", err.message);
        if (way == 1)
            cr_assert(eq(int, tj_warm_up(context, &problem, 1, NULL, NULL, &err), TJ_OK), "%s", err.message);
        if (way == 3)
            cr_assert(eq(int, tj_matmul(context, &problem, &good, NULL, &err), TJ_OK), "%s", err.message);
        if (way == 2 || way == 3)
            cr_expect(eq(int, tj_matmul(context, &problem, &is_null, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
        for (int i = 0; i < 3; i++) {
            const tj_status status =
                way == 4 ? tj_plan_launch(plan, wrong[i], NULL, &err) : tj_matmul(context, &problem, wrong[i], NULL, &err);

            cr_expect(eq(int, status, TJ_ERR_INVALID_ARGUMENT), "%s, %d: %s", name[way], i, err.message);
        }
        cr_expect(eq(ulong, fake.fake_launches(), launches), "%s", name[way]);
        cr_expect(eq(int, tj_matmul(context, &problem, &good, NULL, &err), TJ_OK), "%s: %s", name[way], err.message);
    }
}

/* The memory of a graph may not be there yet, and nothing is launched: the first launch that is, is asked about. */
Test(plan_troubles, checks_no_pointers_in_a_capture)
{
    const CUstream stream = (CUstream)(uintptr_t)0x77;
    const tj_problem problem = TJ_PROBLEM_INIT(33, 5, 48, TJ_F32);
    tj_operands x = some_operands();
    const tj_plan *plan;

    cr_assert(eq(int, tj_plan_prepare(context, &problem, NULL, &plan, &err), TJ_OK), "%s", err.message);
    x.m.address = (const void *)(uintptr_t)0x1000;
    fake.fake_set_capture(stream, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    cr_expect(eq(int, tj_matmul(context, &problem, &x, stream, &err), TJ_OK), "%s", err.message);
    fake.fake_set_capture(NULL, CU_STREAM_CAPTURE_STATUS_NONE);
    cr_expect(eq(int, tj_matmul(context, &problem, &x, stream, &err), TJ_ERR_INVALID_ARGUMENT));
}

/* Check before each launch only if the context says so: it costs a driver call. */
Test(plan_troubles, checks_pointers_before_every_launch_if_it_is_told_to)
{
    for (int is_told = 0; is_told < 2; is_told++) {
        tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
        tj_operands x = some_operands();
        tj_context *checking;
        float host[33 * 5];

        options.driver = FAKE_CUDA_PATH;
        options.nvrtc = FAKE_NVRTC_PATH;
        options.cache_dir = "";
        options.check_pointers = is_told;
        cr_assert(eq(int, tj_context_create(&options, &checking, &err), TJ_OK), "%s", err.message);
        cr_expect(eq(int, matmul_of(checking, 5, &x), TJ_OK), "%s", err.message);
        x.m.address = host;
        cr_expect(eq(int, matmul_of(checking, 5, &x), is_told ? TJ_ERR_INVALID_ARGUMENT : TJ_OK), "%d", is_told);
        if (is_told)
            cr_expect(says("copy it to the device"), "%s", err.message);
        tj_context_free(checking);
    }
}

Test(plan_troubles, that_could_not_be_made_can_be_made_later)
{
    const tj_operands x = some_operands();

    setenv("FAKE_NVRTC_RESULT", "11", 1);
    cr_expect(ne(int, matmul_of(context, 5, &x), TJ_OK));
    cr_expect(says("NVRTC_ERROR_INTERNAL_ERROR"), "%s", err.message);
    cr_expect(eq(u64, stats_of(context).failures, 1));
    unsetenv("FAKE_NVRTC_RESULT");
    cr_expect(eq(int, matmul_of(context, 5, &x), TJ_OK), "%s", err.message);
    cr_expect(eq(u64, stats_of(context).plans, 1));
}

Test(plan_troubles, is_out_of_use_in_a_forked_child)
{
    const tj_operands x = some_operands();
    int status = -1;
    pid_t child;

    cr_assert(eq(int, matmul_of(context, 5, &x), TJ_OK), "%s", err.message);
    child = fork();
    if (child == 0) {
        unsigned long calls = fake.fake_all_calls();
        bool is_right = matmul_of(context, 5, &x) == TJ_ERR_FORKED && says("spawn") && says("exec") &&
                        matmul_of(context, 6, &x) == TJ_ERR_FORKED && says("spawn");
        tj_context_free(context);
        _exit(is_right && fake.fake_all_calls() == calls ? 0 : 1);
    }
    cr_assert(eq(int, waitpid(child, &status, 0), child));
    cr_expect(eq(int, status, 0));
    cr_expect(eq(int, matmul_of(context, 5, &x), TJ_OK), "%s", err.message);
}

Test(stored_plan_troubles, of_a_lost_device_is_refused_for_ever_and_nothing_is_compiled)
{
    const tj_problem bad = TJ_PROBLEM_INIT(-1, 5, 48, TJ_F32);
    const tj_operands x = some_operands();
    tj_operands wrong = x;
    tj_context *lost = open_context(folder, TJ_SPECIALIZE_SHAPES);
    const tj_plan *plan;

    cr_assert(eq(int, matmul_of(lost, 5, &x), TJ_OK), "%s", err.message);
    fake.fake_fail("cuLaunchKernel", 1, 700);
    cr_expect(eq(int, matmul_of(lost, 5, &x), TJ_ERR_DEVICE_LOST));
    cr_expect(says("CUDA_ERROR_ILLEGAL_ADDRESS (700)"), "%s", err.message);
    for (int64_t k = 5; k < 8; k++) {
        cr_expect(eq(int, matmul_of(lost, k, &x), TJ_ERR_DEVICE_LOST));
        cr_expect(says("the device was lost in an earlier call") && says("restart the process") && says("700"), "%s",
                  err.message);
    }
    wrong.m.address = NULL;
    cr_expect(eq(int, matmul_of(lost, 5, &wrong), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("m is NULL"), "%s", err.message);
    cr_expect(eq(int, matmul_of(lost, -5, &x), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("k is -5"), "%s", err.message);
    cr_expect(eq(int, tj_plan_prepare(lost, &bad, NULL, &plan, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("j is -1"), "%s", err.message);
    cr_expect(eq(u64, stats_of(lost).compiles, 1));
    tj_context_free(lost);
    cr_expect(eq(ulong, fake.fake_calls_after_death(), 1), "one: the pop that balances the push of the launch");
    is_lost = true;
}

/* ---- locales ------------------------------------------------------------------------------------------------------ */

/* A key, a manifest and a message are the same whatever the program's locale makes of numbers and letters. */
Test(stored_plan_troubles, is_found_from_every_locale)
{
    tj_problem problem = TJ_PROBLEM_INIT(1234567, 5, 48, TJ_F32), wrong = TJ_PROBLEM_INIT(1234567, -1234567, 48, TJ_F32);
    const tj_operands x = some_operands();
    int tried = 0;

    for (size_t i = 0; i < TEST_LOCALES; i++) {
        tj_context *reader;

        if (!enter_locale(folder, test_locales[i]))
            continue;
        reader = open_context(folder, TJ_SPECIALIZE_SHAPES);
        cr_expect(eq(int, tj_matmul(reader, &problem, &x, NULL, &err), TJ_OK), "%s: %s", test_locales[i], err.message);
        cr_expect(eq(u64, stats_of(reader).compiles, tried == 0), "%s", test_locales[i]);
        cr_expect(eq(u64, stats_of(reader).store_hits, tried != 0), "%s", test_locales[i]);
        cr_expect(eq(int, tj_matmul(reader, &wrong, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
        cr_expect(says("k is -1234567: it must be from 0 to 2147483647"), "%s: %s", test_locales[i], err.message);
        tj_context_free(reader);
        tried++;
    }
    setlocale(LC_ALL, "C");
    cr_expect(ge(int, tried, 1), "the C locale at least");
}
