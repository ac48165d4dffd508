/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* The CUDA context that a kernel belongs to, and the calls that find it. */
#include "kernel_test.h"
#include "scope.h"

TestSuite(kernel, .init = make_context, .fini = free_context);
TestSuite(scope, .init = make_context, .fini = free_context);
TestSuite(old_driver, .init = make_context_of_old_driver, .fini = free_context);

Test(scope, uses_the_current_context_and_else_the_primary_one_retained_once)
{
    CUcontext mine = fake.fake_context_create(0);
    tj_scope scope, inner;
    uint64_t id;
    int device = -1;

    cr_assert(eq(int, tj_scope_enter(&context->host.gpu, &scope, &err), TJ_OK), "%s", err.message);
    cr_expect(scope.is_pushed == false);
    cr_expect(eq(int, tj_scope_device(&scope, &device, &err), TJ_OK));
    cr_expect(eq(int, device, 0));
    tj_scope_leave(&scope);
    cr_expect(eq(int, fake.fake_live_primaries(), 0));

    fake.fake_context_set(NULL);
    for (int i = 0; i < 3; i++) {
        cr_assert(eq(int, tj_scope_enter(&context->host.gpu, &scope, &err), TJ_OK), "%s", err.message);
        cr_expect(scope.is_pushed);
        id = scope.context_id;
        cr_assert(eq(int, tj_scope_enter(&context->host.gpu, &inner, &err), TJ_OK), "nested");
        cr_expect(inner.is_pushed == false && inner.context_id == id);
        tj_scope_leave(&inner);
        tj_scope_leave(&scope);
        cr_expect(eq(int, fake.fake_context_depth(), 0));
    }
    cr_expect(eq(int, fake.fake_live_primaries(), 1));
    (void)mine;
}

Test(scope, costs_one_driver_call_where_a_context_is_current)
{
    unsigned long calls;
    tj_scope scope;

    fake.fake_context_create(0);
    cr_assert(eq(int, tj_scope_enter(&context->host.gpu, &scope, &err), TJ_OK), "%s", err.message);
    tj_scope_leave(&scope);
    calls = fake.fake_all_calls();
    cr_assert(eq(int, tj_scope_enter(&context->host.gpu, &scope, &err), TJ_OK));
    tj_scope_leave(&scope);
    cr_expect(eq(ulong, fake.fake_all_calls(), calls + 1));
}

Test(scope, makes_a_new_primary_context_after_a_reset)
{
    tj_operands x = some_operands();
    tj_kernel *before = load((tj_problem)TJ_PROBLEM_INIT(64, 48, 32, TJ_F32)), *after;

    fake.fake_device_reset(0);
    cr_expect(eq(int, tj_kernel_launch(before, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("another CUDA context") && says("destroyed"), "%s", err.message);
    after = load((tj_problem)TJ_PROBLEM_INIT(64, 48, 32, TJ_F32));
    cr_expect(before->context_id != after->context_id);
    cr_expect(eq(int, tj_kernel_launch(after, &x, NULL, &err), TJ_OK), "%s", err.message);
    tj_kernel_free(before);
    tj_kernel_free(after);
    cr_expect(eq(int, fake.fake_live_images(), 0));
}

Test(scope, names_a_device_that_does_not_exist)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *far = NULL;
    tj_scope scope;

    options.driver = FAKE_CUDA_PATH;
    options.cache_dir = "";
    options.device = 6;
    cr_assert(eq(int, tj_context_create(&options, &far, &err), TJ_OK));
    cr_expect(eq(int, tj_scope_enter(&far->host.gpu, &scope, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("no CUDA device 5") && says("has 1"), "%s", err.message);
    tj_context_free(far);
}

Test(scope, reports_a_destroyed_current_context)
{
    CUcontext mine = fake.fake_context_create(0);
    tj_scope scope;

    fake.fake_context_destroy(mine);
    fake.fake_context_set(mine);
    cr_expect(eq(int, tj_scope_enter(&context->host.gpu, &scope, &err), TJ_ERR_DRIVER));
    cr_expect(says("CONTEXT_IS_DESTROYED"), "%s", err.message);
    fake.fake_context_set(NULL);
    cr_expect(eq(int, tj_scope_enter(&context->host.gpu, &scope, &err), TJ_OK), "%s", err.message);
    tj_scope_leave(&scope);
}

Test(kernel, belongs_to_its_context_and_device)
{
    tj_operands x = some_operands();
    tj_kernel *first, *second;
    CUcontext a, b;

    fake.fake_set_devices(2);
    a = fake.fake_context_create(0);
    first = load((tj_problem)TJ_PROBLEM_INIT(64, 48, 32, TJ_F32));
    b = fake.fake_context_create(1);
    second = load((tj_problem)TJ_PROBLEM_INIT(64, 48, 32, TJ_F32));
    cr_expect(eq(int, first->device, 0));
    cr_expect(eq(int, second->device, 1));
    cr_expect(eq(int, tj_kernel_launch(second, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, last_launch().device, 1));
    cr_expect(eq(int, tj_kernel_launch(first, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("another CUDA context"), "%s", err.message);
    fake.fake_context_set(a);
    cr_expect(eq(int, tj_kernel_launch(first, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, last_launch().device, 0));
    fake.fake_context_destroy(b);
    tj_kernel_free(second);
    tj_kernel_free(first);
    cr_expect(eq(int, fake.fake_live_images(), 0));
}

Test(old_driver, loads_and_unloads_modules_while_another_thread_captures)
{
    tj_kernel *kernel;

    fake.fake_set_global_capture(true);
    kernel = load((tj_problem)TJ_PROBLEM_INIT(64, 48, 32, TJ_F32));
    tj_kernel_free(kernel);
    cr_expect(eq(int, fake.fake_live_images(), 0));
}

Test(old_driver, takes_modules_along_with_a_destroyed_context)
{
    CUcontext mine = fake.fake_context_create(0);
    tj_kernel *kernel = load((tj_problem)TJ_PROBLEM_INIT(64, 48, 32, TJ_F32));

    fake.fake_context_destroy(mine);
    cr_expect(eq(int, fake.fake_live_images(), 0));
    tj_kernel_free(kernel);
    cr_expect(eq(int, fake.fake_live_images(), 0));
    cr_expect(eq(int, fake.fake_context_depth(), 0));
}
