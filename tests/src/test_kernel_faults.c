/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* Kernels whose driver calls fail in turn, whose device is lost, or whose process forked. */
#include <sys/wait.h>
#include <unistd.h>

#include "kernel_test.h"

TestSuite(kernel, .init = make_context, .fini = free_context);
TestSuite(old_driver, .init = make_context_of_old_driver, .fini = free_context);

/* Every driver function that a load or a launch calls, failing at its first, second and third call. */
static void fail_each_call(void)
{
    static const char *const names[] = {
        "cuCtxGetId",           "cuCtxGetCurrent",
        "cuDeviceGet",          "cuDevicePrimaryCtxRetain",
        "cuCtxPushCurrent",     "cuCtxGetDevice",
        "cuDeviceGetCount",     "cuDeviceGetName",
        "cuDeviceTotalMem",     "cuDeviceGetUuid",
        "cuDeviceGetAttribute", "cuLibraryLoadData",
        "cuLibraryGetKernel",   "cuKernelGetFunction",
        "cuModuleLoadDataEx",   "cuModuleGetFunction",
        "cuFuncLoad",           "cuFuncGetAttribute",
        "cuFuncGetParamInfo",   "cuFuncSetAttribute",
        "cuLaunchKernel",       "cuThreadExchangeStreamCaptureMode",
    };
    static const struct {
        CUresult result;
        tj_status status;
    } results[] = {{999, TJ_ERR_DRIVER}, {2, TJ_ERR_DEVICE_MEMORY}, {900, TJ_ERR_CAPTURE}};
    tj_problem problem = canonical((tj_problem)TJ_PROBLEM_INIT(64, 48, 32, TJ_F32));
    tj_launch_form form = form_of(&problem);
    tj_operands x = some_operands();
    int failures = 0;

    form.step[0].dynamic_shared_bytes = 65536;
    tell_parameters(&form, &problem);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (int nth = 1; nth <= 3; nth++)
            for (size_t r = 0; r < sizeof results / sizeof results[0]; r++) {
                unsigned long launches = fake.fake_launches();
                tj_kernel *kernel = NULL;
                tj_context *own = context;
                tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
                tj_status status;

                /* A fresh context, so that the primary context is retained anew. */
                options.driver = atomic_load(&own->host.gpu.driver)->path;
                options.cache_dir = "";
                cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK));
                fake.fake_fail(names[i], nth, results[r].result);
                status = tj_kernel_load_code(&context->host, &form, &problem, &sm_90, &kernel, &err);
                if (status == TJ_OK)
                    status = tj_kernel_launch(kernel, &x, NULL, &err);
                else
                    cr_expect(kernel == NULL);
                if (status != TJ_OK) {
                    failures++;
                    cr_expect(eq(int, status, results[r].status), "%s call %d: %s", names[i], nth, err.message);
                    cr_expect(eq(int, err.status, results[r].status), "%s call %d", names[i], nth);
                    cr_expect(err.message[0] != '\0' && strstr(err.message, ": CUDA_ERROR_") != NULL, "%s", err.message);
                    cr_expect(eq(ulong, fake.fake_launches(), launches), "%s call %d: nothing ran", names[i], nth);
                }
                fake.fake_fail(NULL, 0, 0);
                /* The same handles work afterwards. */
                if (!kernel)
                    cr_expect(eq(int, tj_kernel_load_code(&context->host, &form, &problem, &sm_90, &kernel, &err), TJ_OK),
                              "%s call %d: %s", names[i], nth, err.message);
                cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s call %d: %s", names[i], nth,
                          err.message);
                tj_kernel_free(kernel);
                tj_context_free(context);
                context = own;
                cr_expect(eq(int, fake.fake_live_images(), 0), "%s call %d", names[i], nth);
                cr_expect(eq(int, fake.fake_context_depth(), 0), "%s call %d", names[i], nth);
                cr_expect(eq(int, fake.fake_live_primaries(), 0), "%s call %d", names[i], nth);
            }
    cr_expect(failures >= 60, "only %d of the failures were seen", failures);
}

static void open_driver(void)
{
    int count;

    cr_assert(eq(int, tj_device_count(context, &count, &err), TJ_OK), "%s", err.message);
}

Test(kernel, survives_each_driver_call_failing_in_turn)
{
    open_driver();
    fail_each_call();
}

Test(old_driver, may_fail_each_call_in_turn)
{
    open_driver();
    fail_each_call();
}

Test(kernel, reports_a_lost_device_for_ever_and_leaves_it_alone)
{
    tj_operands x = some_operands();
    tj_kernel *kernel = load((tj_problem)TJ_PROBLEM_INIT(64, 48, 32, TJ_F32)), *other = NULL;
    tj_problem problem = canonical((tj_problem)TJ_PROBLEM_INIT(64, 48, 32, TJ_F32));
    tj_launch_form form = form_of(&problem);
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
    unsigned long calls;

    fake.fake_fail("cuLaunchKernel", 1, 700);
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_DEVICE_LOST));
    cr_expect(says("cannot launch tiled") && says("ILLEGAL_ADDRESS (700)"), "%s", err.message);
    cr_expect(eq(ulong, fake.fake_calls_after_death(), 1), "one: the pop that balances the push");
    calls = fake.fake_all_calls();
    for (int i = 0; i < 3; i++) {
        cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_DEVICE_LOST));
        cr_expect(says("the device was lost in an earlier call") && says("restart the process") && says("cannot launch tiled"),
                  "%s", err.message);
        cr_expect(eq(int, tj_kernel_load_code(&context->host, &form, &problem, &sm_90, &other, &err), TJ_ERR_DEVICE_LOST));
        cr_expect(eq(int, tj_device_get(context, 0, &facts, &err), TJ_ERR_DEVICE_LOST));
    }
    x.p.address = NULL;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("p is NULL"), "%s", err.message);
    tj_kernel_free(kernel);
    cr_expect(eq(ulong, fake.fake_all_calls(), calls), "a lost device is not called again");
}

Test(kernel, is_freed_without_a_call_in_a_forked_child)
{
    tj_operands x = some_operands();
    tj_kernel *kernel = load((tj_problem)TJ_PROBLEM_INIT(64, 48, 32, TJ_F32));
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        unsigned long calls = fake.fake_all_calls();
        bool is_right = tj_kernel_launch(kernel, &x, NULL, &err) == TJ_ERR_FORKED;
        tj_kernel_free(kernel);
        tj_context_free(context);
        _exit(is_right && fake.fake_all_calls() == calls ? 0 : 1);
    }
    cr_assert(eq(int, waitpid(child, &status, 0), child));
    cr_expect(eq(int, status, 0));
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    tj_kernel_free(kernel);
}
