/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <math.h>

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tilejit/tilejit.h>

#include "context.h"
#include "fake/fake_cuda.h"
#include "kernel.h"
#include "scope.h"

static fake_cuda fake;
static tj_error err;
static tj_context *context;
static const tj_code sm_90 = {"sm_90", "13.0 V13.0.88", "PTX", "CUBIN"};

static void make_context_with(const char *driver)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;

    fake = fake_open(driver);
    options.driver = driver;
    options.cache_dir = "";
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
}

static void make_context(void)
{
    make_context_with(FAKE_CUDA_PATH);
}

static void make_context_of_old_driver(void)
{
    char path[PATH_MAX];

    make_context_with(fake_sibling(FAKE_CUDA_PATH, "libfake_cuda_old.so", path));
}

static void free_context(void)
{
    tj_context_free(context);
}

TestSuite(kernel, .init = make_context, .fini = free_context);
TestSuite(launch, .init = make_context, .fini = free_context);
TestSuite(steps, .init = make_context, .fini = free_context);
TestSuite(pointers, .init = make_context, .fini = free_context);
TestSuite(scope, .init = make_context, .fini = free_context);
TestSuite(old_driver, .init = make_context_of_old_driver, .fini = free_context);

static bool says(const char *words)
{
    return strstr(err.message, words) != NULL;
}

static size_t arg_bytes(const tj_argument *arg, bool is_f64)
{
    if (arg->kind == TJ_ARG_EXTENT || arg->kind == TJ_ARG_BATCH)
        return 4;
    if (arg->kind == TJ_ARG_ALPHA || arg->kind == TJ_ARG_BETA)
        return is_f64 ? 8 : 4;
    return arg->kind == TJ_ARG_TENSOR_MAP ? 128 : 8;
}

static void add(tj_launch_step *step, bool is_present, tj_argument_kind kind, int index)
{
    if (is_present)
        step->arg[step->arg_count++] = (tj_argument){(int32_t)kind, index};
}

/* The launch form that a tiled kernel of TILE_WIDTH 16 has for a problem, parameters in the generator's order. */
static tj_launch_form form_of(const tj_problem *problem)
{
    const tj_dim *const dim[] = {&problem->j, &problem->k, &problem->l};
    tj_launch_form form = {
        .step = {{.kernel = "tiled", .grid = TJ_GRID_TILES, .block_x = 16, .block_y = 16, .block_rows = 16, .block_cols = 16}},
        .steps = 1,
        .checks = 7,
        .is_swapped = problem->p.layout == TJ_COL_MAJOR,
    };
    tj_launch_step *step = &form.step[0];

    for (int i = 0; i < 3; i++)
        add(step, dim[i]->mode == TJ_DIM_ANY, TJ_ARG_EXTENT, i);
    for (int i = 0; i < TJ_MATRICES; i++)
        add(step, tj_problem_matrix(problem, (tj_which)i)->ld == TJ_ANY, TJ_ARG_LD, i);
    for (int i = 0; i < TJ_MATRICES; i++)
        add(step, tj_problem_matrix(problem, (tj_which)i)->stride == TJ_ANY, TJ_ARG_STRIDE, i);
    add(step, problem->batch == TJ_ANY, TJ_ARG_BATCH, 0);
    add(step, problem->epilogue.has_alpha, TJ_ARG_ALPHA, 0);
    add(step, problem->epilogue.has_beta, TJ_ARG_BETA, 0);
    add(step, true, TJ_ARG_POINTER, TJ_MATRIX_M);
    add(step, true, TJ_ARG_POINTER, TJ_MATRIX_N);
    add(step, problem->epilogue.has_beta, TJ_ARG_POINTER, TJ_MATRIX_C);
    add(step, true, TJ_ARG_POINTER, TJ_MATRIX_P);
    return form;
}

static void tell_parameters(const tj_launch_form *form, const tj_problem *problem)
{
    for (int s = 0; s < form->steps; s++) {
        const tj_launch_step *step = &form->step[s];
        size_t bytes[TJ_LAUNCH_MAX_ARGS];

        for (int i = 0; i < step->arg_count; i++)
            bytes[i] = arg_bytes(&step->arg[i], problem->m.type == TJ_F64);
        fake.fake_set_parameters_of(step->kernel, step->arg_count, bytes);
    }
}

static tj_kernel *load_form(const tj_launch_form *form, const tj_problem *problem)
{
    tj_kernel *kernel = NULL;

    tell_parameters(form, problem);
    cr_assert(eq(int, tj_kernel_load_code(&context->host, form, problem, &sm_90, &kernel, &err), TJ_OK), "%s", err.message);
    return kernel;
}

static tj_problem canonical(tj_problem problem)
{
    cr_assert(eq(int, tj_problem_check(&problem, &err), TJ_OK), "%s", err.message);
    return tj_problem_canonical(&problem);
}

static tj_kernel *load(tj_problem problem)
{
    tj_problem c = canonical(problem);
    tj_launch_form form = form_of(&c);

    return load_form(&form, &c);
}

static tj_operands some_operands(void)
{
    tj_operands x = TJ_OPERANDS_INIT;

    x.m.address = (const void *)(uintptr_t)0x100000000000;
    x.n.address = (const void *)(uintptr_t)0x200000000000;
    x.p.address = (void *)(uintptr_t)0x300000000000;
    return x;
}

static tj_problem all_any(tj_type dtype)
{
    tj_problem problem = TJ_PROBLEM_INIT(0, 0, 0, dtype);

    problem.j.mode = problem.k.mode = problem.l.mode = TJ_DIM_ANY;
    problem.epilogue.has_alpha = problem.epilogue.has_beta = 1;
    problem.m.ld = problem.n.ld = problem.p.ld = problem.c.ld = TJ_ANY;
    problem.batch = TJ_ANY;
    problem.m.stride = problem.n.stride = problem.p.stride = problem.c.stride = TJ_ANY;
    return problem;
}

static fake_launch last_launch(void)
{
    fake_launch launch = {0};

    cr_assert(fake.fake_get_launch(fake.fake_launches() - 1, &launch));
    return launch;
}

/* ---- loading ------------------------------------------------------------------------------------------------------ */

Test(kernel, loads_completely_and_unloads)
{
    tj_kernel *kernel = load((tj_problem)TJ_PROBLEM_INIT(64, 48, 32, TJ_F32));
    tj_kernel_facts facts;
    tj_context_stats stats;

    cr_expect(eq(int, fake.fake_live_images(), 1));
    cr_expect(eq(int, fake.fake_last_image_byte(), 'C'));
    cr_expect(eq(ulong, fake.fake_calls("cuLibraryLoadData"), 1));
    cr_expect(eq(ulong, fake.fake_calls("cuModuleLoadDataEx"), 0));
    cr_expect(eq(ulong, fake.fake_calls("cuFuncLoad"), 1));
    cr_expect(eq(int, fake.fake_context_depth(), 0), "the caller's context stack is as it was");
    cr_expect(eq(int, tj_kernel_get_facts(kernel, &facts, &err), TJ_OK));
    cr_expect(eq(int, facts.registers, 32));
    cr_expect(eq(int, facts.binary_version, 90));
    tj_context_get_stats(context, &stats);
    cr_expect(eq(u64, stats.loads, 1));
    tj_kernel_free(kernel);
    cr_expect(eq(int, fake.fake_live_images(), 0));
    tj_kernel_free(NULL);
}

Test(kernel, takes_the_cubin_of_the_device_or_ptx_that_it_can_run)
{
    static const struct {
        const char *target;
        bool has_cubin;
        int major, minor;
        int loaded; /* 'C', 'P', 0: refused */
    } rows[] = {
        {"sm_90", true, 9, 0, 'C'},       {"sm_90a", true, 9, 0, 'C'},      {"sm_80", true, 9, 0, 'P'},
        {"sm_80", true, 8, 6, 'P'},       {"sm_90a", true, 10, 0, 0},       {"sm_90", true, 8, 0, 0},
        {"compute_80", false, 9, 0, 'P'}, {"compute_90", false, 9, 0, 'P'}, {"compute_90", false, 8, 9, 0},
        {"sm_100", true, 10, 0, 'C'},     {"sm_100", true, 12, 0, 'P'},     {"sm_100f", true, 10, 3, 'P'},
        {"sm_100f", true, 12, 0, 0},      {"sm_121", true, 12, 1, 'C'},     {"sm_120a", true, 12, 1, 0},
        {"sm_75", true, 7, 5, 'C'},       {"sm_75", true, 12, 1, 'P'},
    };
    tj_problem problem = canonical((tj_problem)TJ_PROBLEM_INIT(64, 48, 32, TJ_F32));
    tj_launch_form form = form_of(&problem);

    tell_parameters(&form, &problem);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_code code = {rows[i].target, "13.0", "PTX", rows[i].has_cubin ? "CUBIN" : NULL};
        tj_kernel *kernel = NULL;
        tj_status status;

        fake.fake_set_device_attribute(0, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, rows[i].major);
        fake.fake_set_device_attribute(0, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, rows[i].minor);
        status = tj_kernel_load_code(&context->host, &form, &problem, &code, &kernel, &err);
        if (rows[i].loaded) {
            cr_expect(eq(int, status, TJ_OK), "row %zu: %s", i, err.message);
            cr_expect(eq(int, fake.fake_last_image_byte(), rows[i].loaded), "row %zu (%s)", i, rows[i].target);
        } else {
            cr_expect(eq(int, status, TJ_ERR_UNSUPPORTED), "row %zu", i);
            cr_expect(says(rows[i].target) && says("sm_") && kernel == NULL, "row %zu: %s", i, err.message);
        }
        tj_kernel_free(kernel);
    }
}

Test(kernel, gives_no_ptx_that_is_newer_than_the_driver_to_it)
{
    static const struct {
        const char *compiler, *target;
        bool works;
    } rows[] = {
        {"13.0 V13.0.88", "sm_80", true}, {"12.9 V12.9.1", "sm_80", true},       {"13.1 V13.1.2", "sm_80", false},
        {"14.0", "compute_90", false},    {"13.10 V13.10.1", "sm_80", false},    {"13.1 V13.1.2", "sm_90", true},
        {"14.0", "sm_90a", true},         {"11.2 size 1 time 2", "sm_80", true},
    };
    tj_problem problem = canonical((tj_problem)TJ_PROBLEM_INIT(64, 48, 32, TJ_F32));
    tj_launch_form form = form_of(&problem);

    tell_parameters(&form, &problem);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_code code = {rows[i].target, rows[i].compiler, "PTX", "CUBIN"};
        const unsigned long loads = fake.fake_calls("cuLibraryLoadData");
        tj_kernel *kernel = NULL;
        tj_status status = tj_kernel_load_code(&context->host, &form, &problem, &code, &kernel, &err);

        cr_expect(eq(int, status, rows[i].works ? TJ_OK : TJ_ERR_UNSUPPORTED), "row %zu: %s", i, err.message);
        cr_expect(eq(ulong, fake.fake_calls("cuLibraryLoadData") - loads, rows[i].works), "row %zu", i);
        cr_expect(rows[i].works ||
                      (says(rows[i].target) && says("driver, which serves CUDA 13.0") && says("update the driver")),
                  "row %zu: %s", i, err.message);
        tj_kernel_free(kernel);
    }
}

Test(kernel, refuses_a_target_that_is_none)
{
    static const char *const targets[] = {"", "sm_", "sm_9", "compute_", "sm_90x", "sm_90aa", "sm_12345", "gfx90a", "90"};
    tj_problem problem = canonical((tj_problem)TJ_PROBLEM_INIT(64, 48, 32, TJ_F32));
    tj_launch_form form = form_of(&problem);

    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        tj_code code = {targets[i], "13.0", "PTX", "CUBIN"};
        tj_kernel *kernel = NULL;
        cr_expect(eq(int, tj_kernel_load_code(&context->host, &form, &problem, &code, &kernel, &err), TJ_ERR_INVALID_ARGUMENT),
                  "\"%s\"", targets[i]);
    }
}

Test(kernel, that_the_driver_refuses_is_named_with_versions_and_log)
{
    tj_problem problem = canonical((tj_problem)TJ_PROBLEM_INIT(64, 48, 32, TJ_F32));
    tj_launch_form form = form_of(&problem);
    tj_code ptx_only = {"compute_90", "13.0 V13.0.88", "PTX", NULL};
    tj_kernel *kernel = NULL;

    fake.fake_set_jit_log("ptxas application ptx input, line 9; fatal: Unsupported .version 9.9\nmore");
    fake.fake_fail("cuLibraryLoadData", 1, 222);
    cr_expect(eq(int, tj_kernel_load_code(&context->host, &form, &problem, &ptx_only, &kernel, &err), TJ_ERR_UNSUPPORTED));
    cr_expect(says("compute_90") && says("NVRTC 13.0 V13.0.88") && says("CUDA 13.0") && says("Unsupported .version 9.9") &&
                  says("(222)") && !says("more"),
              "%s", err.message);
    fake.fake_set_missing_kernel(true);
    cr_expect(eq(int, tj_kernel_load_code(&context->host, &form, &problem, &sm_90, &kernel, &err), TJ_ERR_INTERNAL));
    cr_expect(says("no kernel tiled"), "%s", err.message);
    cr_expect(eq(int, fake.fake_live_images(), 0));
}

Test(kernel, with_other_parameters_than_its_form_is_an_internal_error)
{
    static const size_t rows[][4] = {{8, 8, 4}, {8, 8}, {8, 8, 8, 8}, {4, 8, 8}};
    static const int counts[] = {3, 2, 4, 3};
    tj_problem problem = canonical((tj_problem)TJ_PROBLEM_INIT(64, 48, 32, TJ_F32));
    tj_launch_form form = form_of(&problem);

    for (size_t i = 0; i < 4; i++) {
        tj_kernel *kernel = NULL;
        fake.fake_set_parameters_of("tiled", counts[i], rows[i]);
        cr_expect(eq(int, tj_kernel_load_code(&context->host, &form, &problem, &sm_90, &kernel, &err), TJ_ERR_INTERNAL), "%zu",
                  i);
        cr_expect(says("parameter"), "%s", err.message);
    }
    cr_expect(eq(int, fake.fake_live_images(), 0));
}

Test(kernel, asks_for_more_than_48_KiB_of_shared_memory_and_no_more_than_there_is)
{
    tj_problem problem = canonical((tj_problem)TJ_PROBLEM_INIT(64, 48, 32, TJ_F32));
    tj_launch_form form = form_of(&problem);
    tj_kernel *kernel = NULL;

    tell_parameters(&form, &problem);
    form.step[0].dynamic_shared_bytes = 49152;
    kernel = load_form(&form, &problem);
    cr_expect(eq(ulong, fake.fake_calls("cuFuncSetAttribute"), 0));
    tj_kernel_free(kernel);

    fake.fake_set_function_attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1024);
    kernel = load_form(&form, &problem);
    cr_expect(eq(int, fake.fake_function_attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 49152));
    tj_kernel_free(kernel);

    form.step[0].dynamic_shared_bytes = 232448 - 1024;
    kernel = load_form(&form, &problem);
    cr_expect(eq(int, fake.fake_function_attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 231424));
    tj_kernel_free(kernel);

    form.step[0].dynamic_shared_bytes++;
    cr_expect(eq(int, tj_kernel_load_code(&context->host, &form, &problem, &sm_90, &kernel, &err), TJ_ERR_UNSUPPORTED));
    cr_expect(says("232449") && says("232448") && says("1024 static"), "%s", err.message);
}

Test(kernel, with_more_threads_than_its_registers_allow_is_refused)
{
    tj_problem problem = canonical((tj_problem)TJ_PROBLEM_INIT(64, 48, 32, TJ_F32));
    tj_launch_form form = form_of(&problem);
    tj_kernel *kernel = NULL;

    tell_parameters(&form, &problem);
    form.step[0].block_x = form.step[0].block_y = 32;
    fake.fake_set_function_attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 768);
    cr_expect(eq(int, tj_kernel_load_code(&context->host, &form, &problem, &sm_90, &kernel, &err), TJ_ERR_UNSUPPORTED));
    cr_expect(says("1024") && says("768"), "%s", err.message);
}

Test(kernel, loads_and_unloads_while_another_thread_captures)
{
    tj_kernel *kernel;

    fake.fake_set_global_capture(true);
    kernel = load((tj_problem)TJ_PROBLEM_INIT(64, 48, 32, TJ_F32));
    cr_expect(eq(ulong, fake.fake_calls("cuThreadExchangeStreamCaptureMode"), 2), "and the mode is put back");
    tj_kernel_free(kernel);
    cr_expect(eq(int, fake.fake_live_images(), 0));
    cr_expect(eq(ulong, fake.fake_calls("cuThreadExchangeStreamCaptureMode"), 4));
}

Test(old_driver, loads_modules)
{
    tj_operands x = some_operands();
    tj_kernel *kernel = load((tj_problem)TJ_PROBLEM_INIT(64, 48, 32, TJ_F32));

    cr_expect(eq(ulong, fake.fake_calls("cuModuleLoadDataEx"), 1));
    cr_expect(eq(int, fake.fake_live_images(), 1));
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(ulong, fake.fake_launches(), 1));
    tj_kernel_free(kernel);
    cr_expect(eq(int, fake.fake_live_images(), 0));
    cr_expect(eq(int, fake.fake_context_depth(), 0));
}

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
    tj_device_facts facts;
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

/* ---- contexts ----------------------------------------------------------------------------------------------------- */

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

/* ---- launching ---------------------------------------------------------------------------------------------------- */

/* Compare the launched bytes with values written out by hand, in the order of a kernel's parameters. */
static void expect_arguments_of(const tj_launch_step *step, bool is_f64, const tj_operands *x, const fake_launch *launch)
{
    const tj_operand *const matrix[] = {&x->m, &x->n, &x->p, &x->c};
    const int64_t extent[] = {x->j, x->k, x->l};
    size_t at = 0;

    for (int i = 0; i < step->arg_count; i++) {
        const int kind = step->arg[i].kind, index = step->arg[i].index;
        const double scalar = kind == TJ_ARG_ALPHA ? x->alpha : x->beta;
        const int64_t stride = matrix[index]->stride == TJ_BROADCAST ? 0 : matrix[index]->stride;
        const int64_t wide = kind == TJ_ARG_LD ? matrix[index]->ld : stride;
        const int32_t narrow = (int32_t)(kind == TJ_ARG_EXTENT ? extent[index] : x->batch);
        const float single = (float)scalar;
        const size_t bytes = arg_bytes(&step->arg[i], is_f64);
        const void *want = kind == TJ_ARG_POINTER                          ? (const void *)&matrix[index]->address
                           : kind == TJ_ARG_WORKSPACE                      ? (const void *)&x->workspace
                           : kind == TJ_ARG_EXTENT || kind == TJ_ARG_BATCH ? (const void *)&narrow
                           : kind == TJ_ARG_LD || kind == TJ_ARG_STRIDE    ? (const void *)&wide
                           : is_f64                                        ? (const void *)&scalar
                                                                           : (const void *)&single;

        at = (at + bytes - 1) / bytes * bytes;
        cr_expect(memcmp(launch->args + at, want, bytes) == 0, "argument %d (kind %d, index %d)", i, kind, index);
        at += bytes;
    }
    cr_expect(eq(sz, launch->arg_bytes, at));
}

static void expect_arguments(const tj_launch_form *form, bool is_f64, const tj_operands *x, const fake_launch *launch)
{
    expect_arguments_of(&form->step[0], is_f64, x, launch);
}

Test(launch, passes_arguments_of_every_kind)
{
    static const tj_type dtypes[] = {TJ_F32, TJ_F64, TJ_F16, TJ_BF16};

    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
        tj_problem problem = canonical(all_any(dtypes[d]));
        tj_launch_form form = form_of(&problem);
        tj_kernel *kernel = load_form(&form, &problem);
        tj_operands x = some_operands();
        fake_launch launch;

        cr_assert(eq(int, form.step[0].arg_count, 18));
        x.c.address = (const void *)(uintptr_t)0x400000000000;
        x.alpha = -1.25;
        x.beta = 0.1;
        x.j = 33, x.k = 70000, x.l = 17;
        x.m.ld = 70001, x.n.ld = 18, x.p.ld = 19, x.c.ld = INT64_C(5000000000);
        x.batch = 3;
        x.m.stride = INT64_C(4000000000), x.n.stride = 1260000, x.p.stride = 33 * 19, x.c.stride = TJ_BROADCAST;
        cr_assert(eq(int, tj_kernel_launch(kernel, &x, (CUstream)(uintptr_t)48, &err), TJ_OK), "%s", err.message);
        launch = last_launch();
        expect_arguments(&form, dtypes[d] == TJ_F64, &x, &launch);
        cr_expect(launch.stream == (CUstream)(uintptr_t)48);
        cr_expect(launch.grid[0] == 2 && launch.grid[1] == 3 && launch.grid[2] == 3);
        cr_expect(launch.block[0] == 16 && launch.block[1] == 16 && launch.block[2] == 1);
        tj_kernel_free(kernel);
    }
}

Test(launch, fills_tight_numbers_in)
{
    tj_problem problem = canonical(all_any(TJ_F32));
    tj_launch_form form = form_of(&problem);
    tj_kernel *kernel = load_form(&form, &problem);
    tj_operands x = some_operands(), want;
    fake_launch launch;

    x.j = 5, x.k = 6, x.l = 7;
    x.batch = 2;
    x.beta = 1.0;
    want = x;
    want.c.address = x.p.address; /* NULL: P itself, stored as P is */
    want.m.ld = 6, want.n.ld = 7, want.p.ld = want.c.ld = 7;
    want.m.stride = 30, want.n.stride = 42, want.p.stride = want.c.stride = 35;
    cr_assert(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    launch = last_launch();
    expect_arguments(&form, false, &want, &launch);

    x.p.ld = want.p.ld = want.c.ld = 9;
    want.p.stride = want.c.stride = 45;
    cr_assert(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    launch = last_launch();
    expect_arguments(&form, false, &want, &launch);
    tj_kernel_free(kernel);
}

Test(launch, of_a_fixed_problem_needs_only_pointers)
{
    tj_problem problem = TJ_PROBLEM_INIT(100, 50, 70, TJ_F32);
    unsigned long calls;
    tj_launch_form form;
    tj_kernel *kernel;
    tj_operands x = some_operands();
    fake_launch launch;

    problem.epilogue.has_alpha = problem.epilogue.has_beta = 1;
    problem = canonical(problem);
    form = form_of(&problem);
    fake.fake_context_create(0);
    kernel = load_form(&form, &problem);
    cr_expect(kernel->is_ready && kernel->c_may_be_p);
    x.alpha = 2.0;
    x.j = -5, x.m.ld = 1, x.batch = 99; /* ignored: the problem fixes them */
    calls = fake.fake_all_calls();
    cr_assert(eq(int, tj_kernel_launch_ready(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(ulong, fake.fake_all_calls(), calls + 1), "cuLaunchKernel and nothing else");
    launch = last_launch();
    x.c.address = x.p.address;
    expect_arguments(&form, false, &x, &launch);
    cr_expect(launch.grid[0] == 5 && launch.grid[1] == 7 && launch.grid[2] == 1);
    tj_kernel_free(kernel);
}

Test(launch, computes_the_grid_of_each_form)
{
    static const struct {
        int j, l, batch, col_major, rows_on_x, block_rows, block_cols;
        unsigned int grid[3];
    } rows[] = {
        {100, 70, 1, 0, 0, 16, 16, {5, 7, 1}}, {100, 70, 1, 0, 1, 16, 16, {7, 5, 1}}, {100, 70, 1, 1, 0, 16, 16, {7, 5, 1}},
        {100, 70, 1, 1, 1, 16, 16, {5, 7, 1}}, {1, 1, 1, 0, 0, 16, 16, {1, 1, 1}},    {64, 64, 7, 0, 0, 16, 16, {4, 4, 7}},
        {100, 70, 1, 0, 0, 32, 8, {9, 4, 1}},  {100, 70, 1, 1, 0, 32, 8, {13, 3, 1}},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(rows[i].j, 8, rows[i].l, TJ_F32);
        tj_operands x = some_operands();
        tj_launch_form form;
        tj_kernel *kernel;
        fake_launch launch;

        problem.batch = rows[i].batch;
        problem.p.layout = rows[i].col_major;
        problem = canonical(problem);
        form = form_of(&problem);
        form.step[0].rows_on_x = rows[i].rows_on_x;
        form.step[0].block_rows = rows[i].block_rows;
        form.step[0].block_cols = rows[i].block_cols;
        kernel = load_form(&form, &problem);
        cr_assert(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "row %zu: %s", i, err.message);
        launch = last_launch();
        cr_expect(memcmp(launch.grid, rows[i].grid, sizeof launch.grid) == 0, "row %zu: (%u, %u, %u)", i, launch.grid[0],
                  launch.grid[1], launch.grid[2]);
        tj_kernel_free(kernel);
    }
}

Test(launch, of_a_large_batch_takes_several)
{
    tj_problem problem = TJ_PROBLEM_INIT(4, 5, 6, TJ_F32);
    tj_operands x = some_operands();
    unsigned long products = 0;
    tj_kernel *kernel;
    tj_launch_form form;

    problem.batch = 2 * 65535 + 1;
    problem.n.stride = TJ_BROADCAST;
    problem.epilogue.has_beta = 1;
    problem = canonical(problem);
    form = form_of(&problem);
    kernel = load_form(&form, &problem);
    x.beta = 1.0;
    cr_assert(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(ulong, fake.fake_launches(), 3));
    for (unsigned long i = 0; i < 3; i++) {
        tj_operands part = x;
        fake_launch launch;

        cr_assert(fake.fake_get_launch(i, &launch));
        part.m.address = (const char *)x.m.address + products * 20 * 4;
        part.p.address = (char *)x.p.address + products * 24 * 4;
        part.c = part.p;
        expect_arguments(&form, false, &part, &launch);
        products += launch.grid[2];
    }
    cr_expect(eq(ulong, products, 131071));
    fake.fake_fail("cuLaunchKernel", 2, 701);
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_DRIVER));
    tj_kernel_free(kernel);
}

Test(launch, refuses_more_blocks_than_a_grid_holds)
{
    tj_problem problem = TJ_PROBLEM_INIT(0, 8, 0, TJ_F32);
    tj_operands x = some_operands();
    tj_launch_form form;
    tj_kernel *kernel;

    problem.j.mode = problem.l.mode = TJ_DIM_ANY;
    problem = canonical(problem);
    form = form_of(&problem);
    form.step[0].block_x = form.step[0].block_y = form.step[0].block_rows = form.step[0].block_cols = 4;
    for (int rows_on_x = 0; rows_on_x <= 1; rows_on_x++) {
        int64_t *on_y = rows_on_x ? &x.l : &x.j, *on_x = rows_on_x ? &x.j : &x.l;

        form.step[0].rows_on_x = rows_on_x;
        kernel = load_form(&form, &problem);
        *on_x = 4 * 65536, *on_y = 4 * 65535;
        cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
        *on_y += 1;
        cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
        cr_expect(says("65536 blocks along grid.y") && says("along grid.x"), "%s", err.message);
        tj_kernel_free(kernel);
    }
}

Test(launch, names_the_operand_that_is_wrong)
{
    static const struct {
        const char *what;
        size_t offset;
        int64_t value;
        const char *words;
    } rows[] = {
        {"j unknown", offsetof(tj_operands, j), 0, "j is 0"},
        {"j negative", offsetof(tj_operands, j), -1, "j is -1"},
        {"j 2^31", offsetof(tj_operands, j), INT64_C(1) << 31, "j is 2147483648"},
        {"j 2^32", offsetof(tj_operands, j), (INT64_C(1) << 32) + 32, "j is 4294967328"},
        {"j 2^63 - 1", offsetof(tj_operands, j), INT64_MAX, "j is 9223372036854775807"},
        {"j promise", offsetof(tj_operands, j), 33, "multiples of 32"},
        {"k negative", offsetof(tj_operands, k), -1, "k is -1"},
        {"k 2^31", offsetof(tj_operands, k), INT64_C(1) << 31, "k is 2147483648"},
        {"l unknown", offsetof(tj_operands, l), 0, "l is 0"},
        {"l 2^32", offsetof(tj_operands, l), INT64_C(1) << 32, "l is 4294967296"},
        {"batch negative", offsetof(tj_operands, batch), -1, "batch is -1"},
        {"batch 2^31", offsetof(tj_operands, batch), INT64_C(1) << 31, "batch is 2147483648"},
        {"ld_m short", offsetof(tj_operands, m.ld), 47, "ld_m is 47"},
        {"ld_m negative", offsetof(tj_operands, m.ld), -48, "ld_m is -48"},
        {"ld_n short", offsetof(tj_operands, n.ld), 39, "ld_n is 39"},
        {"ld_p short", offsetof(tj_operands, p.ld), 1, "ld_p is 1"},
        {"ld_c short", offsetof(tj_operands, c.ld), 39, "ld_c is 39"},
        {"ld_m huge", offsetof(tj_operands, m.ld), INT64_MAX / 8, "M: more bytes than 63 bits count"},
        {"stride_m negative", offsetof(tj_operands, m.stride), -5, "stride_m is -5"},
        {"stride_m pointers", offsetof(tj_operands, m.stride), TJ_POINTERS, "generate with stride_m TJ_POINTERS"},
        {"stride_n pointers", offsetof(tj_operands, n.stride), TJ_POINTERS_16, "generated for a stride"},
        {"stride_m huge", offsetof(tj_operands, m.stride), INT64_MAX, "M: more bytes than 63 bits count"},
        {"stride_p broadcast", offsetof(tj_operands, p.stride), TJ_BROADCAST, "stride_p is -2"},
        {"stride_p overlap", offsetof(tj_operands, p.stride), 64 * 40 - 1, "overlap"},
        {"m NULL", offsetof(tj_operands, m.address), 0, "m is NULL"},
        {"n NULL", offsetof(tj_operands, n.address), 0, "n is NULL"},
        {"p NULL", offsetof(tj_operands, p.address), 0, "p is NULL"},
        {"m misaligned by 1", offsetof(tj_operands, m.address), 0x10001, "m is 0x10001"},
        {"n misaligned by 2", offsetof(tj_operands, n.address), 0x10002, "elements of 4 bytes"},
        {"p misaligned by 3", offsetof(tj_operands, p.address), 0x10003, "p is 0x10003"},
        {"c misaligned by 2", offsetof(tj_operands, c.address), 0x10002, "c is 0x10002"},
    };
    tj_problem problem = all_any(TJ_F32);
    tj_kernel *kernel;
    unsigned long launches;
    tj_operands good = some_operands();

    problem.j.multiple_of = 32;
    kernel = load(problem);
    good.c.address = (const void *)(uintptr_t)0x400000000000;
    good.beta = 1.0;
    good.j = 64, good.k = 48, good.l = 40, good.batch = 2;
    cr_assert(eq(int, tj_kernel_launch(kernel, &good, NULL, &err), TJ_OK), "%s", err.message);
    launches = fake.fake_launches();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_operands x = good;

        memcpy((char *)&x + rows[i].offset, &rows[i].value, sizeof rows[i].value);
        cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT), "%s", rows[i].what);
        cr_expect(says(rows[i].words), "%s: %s", rows[i].what, err.message);
    }
    cr_expect(eq(ulong, fake.fake_launches(), launches), "nothing was launched");
    cr_expect(eq(int, tj_kernel_launch(kernel, &good, NULL, &err), TJ_OK), "%s", err.message);
    tj_kernel_free(kernel);
}

Test(launch, of_ready_kernels_checks_pointers_too)
{
    static const struct {
        tj_type dtype;
        int bytes;
    } types[] = {{TJ_F32, 4}, {TJ_F64, 8}, {TJ_F16, 2}, {TJ_BF16, 2}};

    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        tj_kernel *kernel = load((tj_problem)TJ_PROBLEM_INIT(64, 48, 32, types[t].dtype));

        cr_expect(kernel->is_ready);
        for (int by = 0; by <= 8; by++) {
            bool is_aligned = by % types[t].bytes == 0;
            tj_operands x = some_operands(), y = some_operands(), z = some_operands();
            x.m.address = (const char *)x.m.address + by;
            y.n.address = (const char *)y.n.address + by;
            z.p.address = (const char *)z.p.address + by;
            cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), is_aligned ? TJ_OK : TJ_ERR_INVALID_ARGUMENT));
            cr_expect(eq(int, tj_kernel_launch(kernel, &y, NULL, &err), is_aligned ? TJ_OK : TJ_ERR_INVALID_ARGUMENT));
            cr_expect(eq(int, tj_kernel_launch(kernel, &z, NULL, &err), is_aligned ? TJ_OK : TJ_ERR_INVALID_ARGUMENT));
        }
        for (int which = 0; which < 3; which++) {
            tj_operands x = some_operands();
            *(which == 0   ? (const void **)&x.m.address
              : which == 1 ? (const void **)&x.n.address
                           : (const void **)&x.p.address) = NULL;
            cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT), "NULL %d", which);
            cr_expect(says("is NULL"), "%s", err.message);
        }
        tj_kernel_free(kernel);
    }
}

Test(launch, with_k_0_reads_neither_M_nor_N)
{
    tj_problem fixed = TJ_PROBLEM_INIT(64, 0, 32, TJ_F32), any = TJ_PROBLEM_INIT(64, 0, 32, TJ_F32);
    tj_operands x = some_operands();
    tj_kernel *kernel;

    any.k.mode = TJ_DIM_ANY;
    x.m.address = x.n.address = NULL;
    for (int i = 0; i < 2; i++) {
        kernel = load(i == 0 ? fixed : any);
        cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
        tj_kernel_free(kernel);
    }
    cr_expect(eq(ulong, fake.fake_launches(), 2));
}

Test(launch, ignores_C_where_beta_is_0)
{
    tj_problem problem = TJ_PROBLEM_INIT(64, 48, 32, TJ_F32);
    tj_operands x = some_operands();
    tj_kernel *kernel;

    problem.epilogue.has_beta = 1;
    kernel = load(problem);
    x.c.address = (const void *)(uintptr_t)3;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    x.beta = 1.0;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    tj_kernel_free(kernel);
}

Test(launch, takes_P_for_C_only_if_they_are_stored_alike)
{
    tj_problem problem = TJ_PROBLEM_INIT(64, 48, 32, TJ_F32);
    tj_operands x = some_operands();
    tj_kernel *kernel;

    problem.epilogue.has_beta = 1;
    problem.p.ld = 40;
    kernel = load(problem);
    cr_expect(kernel->is_ready && !kernel->c_may_be_p);
    x.beta = 1.0;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("ld_c 32") && says("P: 40"), "%s", err.message);
    x.c.address = (const void *)(uintptr_t)0x400000000000;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    tj_kernel_free(kernel);
}

/* ---- tile width at launch ----------------------------------------------------------------------------------------- */

static tj_launch_form dynamic_form(const tj_problem *problem)
{
    tj_launch_form form = form_of(problem);

    form.least_tile_width = 4, form.most_tile_width = 32;
    form.step[0].dynamic_shared_bytes = 2 * 16 * 16 * 4;
    return form;
}

Test(launch, takes_the_tile_width_of_a_dynamic_kernel)
{
    tj_problem problem = canonical((tj_problem)TJ_PROBLEM_INIT(100, 50, 70, TJ_F32));
    tj_launch_form form = dynamic_form(&problem);
    tj_kernel *kernel = load_form(&form, &problem);

    for (int width = 4; width <= 32; width++) {
        unsigned int w = (unsigned int)width;
        tj_operands x = some_operands();
        fake_launch launch;

        x.tile_width = width;
        cr_assert(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%d: %s", width, err.message);
        launch = last_launch();
        cr_expect(launch.block[0] == w && launch.block[1] == w, "%d", width);
        cr_expect(launch.grid[0] == (70 + w - 1) / w && launch.grid[1] == (100 + w - 1) / w, "%d", width);
        cr_expect(eq(uint, launch.shared_bytes, 8 * w * w), "%d", width);
    }
    tj_kernel_free(kernel);
}

Test(launch, refuses_tile_widths_that_do_not_work)
{
    static const int widths[] = {-1, 1, 3, 33, 64, 1 << 30, INT32_MAX, INT32_MIN};
    tj_problem problem = canonical((tj_problem)TJ_PROBLEM_INIT(96, 48, 64, TJ_F32));
    tj_launch_form form = dynamic_form(&problem);
    tj_operands x = some_operands();
    tj_kernel *kernel = load_form(&form, &problem);

    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        x.tile_width = widths[i];
        cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT), "%d", widths[i]);
        cr_expect(says("4 to 32"), "%s", err.message);
    }
    tj_kernel_free(kernel);

    /* Without boundary checks, the width must divide what it steps over. */
    form.checks = 0;
    kernel = load_form(&form, &problem);
    x.tile_width = 8;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    x.tile_width = 32;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("k is 48") && says("boundary_k"), "%s", err.message);
    x.tile_width = 12;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("l is 64"), "%s", err.message);
    tj_kernel_free(kernel);

    fake.fake_set_function_attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 768);
    kernel = load_form(&form, &problem);
    x.tile_width = 28;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("784 threads") && says("768"), "%s", err.message);
    tj_kernel_free(kernel);

    form.least_tile_width = form.most_tile_width = 0;
    kernel = load_form(&form, &problem);
    x.tile_width = 8;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("takes it from the launch"), "%s", err.message);
    x.tile_width = 16;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "its own: %s", err.message);
    tj_kernel_free(kernel);
}

Test(launch, of_a_large_tile_is_held_to_the_shared_memory_there_is)
{
    tj_problem problem = canonical((tj_problem)TJ_PROBLEM_INIT(96, 48, 64, TJ_F64));
    tj_launch_form form = dynamic_form(&problem);
    tj_operands x = some_operands();
    tj_kernel *kernel;

    fake.fake_set_device_attribute(0, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 8192);
    fake.fake_set_device_attribute(0, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 12288);
    form.step[0].dynamic_shared_bytes = 2 * 16 * 16 * 8;
    kernel = load_form(&form, &problem);
    cr_expect(eq(int, fake.fake_function_attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 12288));
    x.tile_width = 27;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    x.tile_width = 28;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("12544") && says("12288"), "%s", err.message);
    tj_kernel_free(kernel);
}

Test(launch, refuses_an_extent_without_a_check_that_is_not_whole_tiles)
{
    tj_problem problem = TJ_PROBLEM_INIT(0, 8, 0, TJ_F32);
    tj_operands x = some_operands();
    tj_launch_form form;
    tj_kernel *kernel;

    problem.j.mode = problem.l.mode = TJ_DIM_ANY;
    problem = canonical(problem);
    form = form_of(&problem);
    form.checks = 0;
    kernel = load_form(&form, &problem);
    x.j = 32, x.l = 48;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    x.l = 49;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("l is 49") && says("boundary_l"), "%s", err.message);
    tj_kernel_free(kernel);
}

/* ---- the struct, and the driver's word ---------------------------------------------------------------------------- */

Test(launch, accepts_operands_of_other_versions)
{
    struct {
        tj_operands known;
        uint64_t unknown;
    } newer = {some_operands(), 0};
    tj_operands x = some_operands();
    tj_kernel *kernel = load((tj_problem)TJ_PROBLEM_INIT(64, 48, 32, TJ_F32));

    x.struct_size = offsetof(tj_operands, workspace);
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "older: %s", err.message);
    newer.known.struct_size = sizeof newer;
    cr_expect(eq(int, tj_kernel_launch(kernel, &newer.known, NULL, &err), TJ_OK), "newer: %s", err.message);
    newer.unknown = 1;
    cr_expect(eq(int, tj_kernel_launch(kernel, &newer.known, NULL, &err), TJ_ERR_UNSUPPORTED));
    x.struct_size = 0;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("TJ_OPERANDS_INIT"), "%s", err.message);
    x = some_operands();
    x.reserved = 1;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    tj_kernel_free(kernel);
}

Test(launch, that_the_driver_refuses_is_told_with_its_numbers)
{
    tj_operands x = some_operands();
    tj_kernel *kernel = load((tj_problem)TJ_PROBLEM_INIT(100, 48, 70, TJ_F32));

    fake.fake_fail("cuLaunchKernel", 1, 701);
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_DRIVER));
    cr_expect(says("grid (5, 7, 1)") && says("block (16, 16)") && says("(701)"), "%s", err.message);
    fake.fake_fail("cuLaunchKernel", 1, 900);
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_CAPTURE));
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, NULL), TJ_OK));
    tj_kernel_free(kernel);
}

/* ---- arrays of pointers ------------------------------------------------------------------------------------------- */

/* Let all operands be arrays of pointers, or those named by bits (M, N, P, C). */
static tj_problem pointing(int which, int64_t batch)
{
    tj_problem problem = TJ_PROBLEM_INIT(32, 16, 48, TJ_F32);
    int64_t *const stride[] = {&problem.m.stride, &problem.n.stride, &problem.p.stride, &problem.c.stride};

    problem.epilogue.has_beta = 1;
    problem.batch = batch;
    for (int i = 0; i < 4; i++)
        if (which >> i & 1)
            *stride[i] = i % 2 ? TJ_POINTERS_16 : TJ_POINTERS;
    return problem;
}

/* Product i is 8 bytes further on in an array, and a stride further on in a matrix. */
Test(launch, of_arrays_of_pointers_passes_them_on_product_by_product)
{
    static const int64_t bytes[] = {32 * 16 * 4, 16 * 48 * 4, 32 * 48 * 4, 32 * 48 * 4};

    for (int which = 0; which < 16; which++) {
        tj_problem problem = canonical(pointing(which, 140000));
        tj_launch_form form = form_of(&problem);
        tj_kernel *kernel = load_form(&form, &problem);
        tj_operands x = some_operands(), want;
        const unsigned long before = fake.fake_launches();

        x.c.address = (const void *)(uintptr_t)0x400000000000;
        x.beta = 1.0;
        cr_assert(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
        cr_assert(eq(ulong, fake.fake_launches() - before, 3));
        for (int i = 0; i < 3; i++) {
            fake_launch launch = {0};
            const int64_t done = i * INT64_C(65535);

            cr_assert(fake.fake_get_launch(before + (unsigned long)i, &launch));
            want = x;
            want.m.address = (const char *)x.m.address + done * (which & 1 ? 8 : bytes[0]);
            want.n.address = (const char *)x.n.address + done * (which & 2 ? 8 : bytes[1]);
            want.p.address = (char *)x.p.address + done * (which & 4 ? 8 : bytes[2]);
            want.c.address = (const char *)x.c.address + done * (which & 8 ? 8 : bytes[3]);
            cr_expect(eq(uint, launch.grid[2], i < 2 ? 65535u : 140000u - 2 * 65535u));
            expect_arguments(&form, false, &want, &launch);
        }
        tj_kernel_free(kernel);
    }
}

/* An array is aligned to its pointers, whatever the kernel does with the matrices; and it must exist even if k is 0. */
Test(launch, of_arrays_of_pointers_checks_the_arrays)
{
    for (int is_ready = 0; is_ready < 2; is_ready++) {
        tj_problem problem = pointing(15, is_ready ? 3 : TJ_ANY);
        tj_launch_form form;
        tj_kernel *kernel;
        tj_operands good = some_operands(), x;

        problem.k = (tj_dim){16, is_ready ? TJ_DIM_FIXED : TJ_DIM_ANY, 0};
        problem = canonical(problem);
        form = form_of(&problem);
        form.align[TJ_MATRIX_M] = form.align[TJ_MATRIX_N] = form.align[TJ_MATRIX_P] = form.align[TJ_MATRIX_C] = 16;
        kernel = load_form(&form, &problem);
        cr_expect(kernel->is_ready == (is_ready == 1));
        good.c.address = (const void *)(uintptr_t)0x40008;
        good.m.address = (const void *)(uintptr_t)0x10008;
        good.n.address = (const void *)(uintptr_t)0x20008;
        good.p.address = (void *)(uintptr_t)0x30008;
        good.beta = 1.0;
        cr_expect(eq(int, tj_kernel_launch(kernel, &good, NULL, &err), TJ_OK), "%s", err.message);
        x = good, x.n.address = (const void *)(uintptr_t)0x20004;
        cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
        cr_expect(says("n is 0x20004") && says("8 bytes"), "%s", err.message);
        x = good, x.p.address = NULL;
        cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
        cr_expect(says("p is NULL: give the device address of the array of pointers to P"), "%s", err.message);
        x = good, x.c.address = NULL; /* P itself */
        cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
        x = good, x.c.address = NULL, x.beta = 0.0;
        cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
        x = good, x.m.address = NULL, x.batch = 2;
        if (!is_ready) {
            x.k = 0;
            problem.k.extent = 0;
        }
        cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
        cr_expect(says("the array of pointers to M"), "%s", err.message);
        tj_kernel_free(kernel);
    }
}

Test(launch, takes_P_for_C_only_if_both_are_arrays_or_neither_is)
{
    for (int which = 0; which < 16; which++)
        for (int64_t batch = 1; batch < 3; batch++) {
            const bool is_alike = (which >> 2 & 1) == (which >> 3 & 1);
            tj_kernel *kernel = load(pointing(which, batch));
            tj_operands x = some_operands();

            x.beta = 2.0;
            cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), is_alike ? TJ_OK : TJ_ERR_INVALID_ARGUMENT), "%d: %s",
                      which, err.message);
            cr_expect(is_alike || says("array of pointers"), "%s", err.message);
            x.beta = 0.0;
            cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%d: %s", which, err.message);
            tj_kernel_free(kernel);
        }
}

/* Blocks of whole products take any batch in one launch, on the axis that counts far enough. */
Test(launch, of_whole_products_counts_them_on_x)
{
    static const int64_t batches[] = {1, 7, 8, 9, 70000, INT32_MAX};

    for (int is_passed = 0; is_passed <= 1; is_passed++)
        for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++) {
            tj_problem problem = TJ_PROBLEM_INIT(4, 5, 6, TJ_F32);
            tj_operands x = some_operands();
            tj_launch_form form;
            tj_kernel *kernel;
            fake_launch launch;

            problem.batch = is_passed ? TJ_ANY : batches[i];
            problem = canonical(problem);
            form = form_of(&problem);
            form.step[0].block_rows = 4, form.step[0].block_cols = 6;
            form.step[0].grid = TJ_GRID_PRODUCTS, form.step[0].block_products = 8;
            kernel = load_form(&form, &problem);
            x.batch = batches[i];
            cr_assert(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
            launch = last_launch();
            cr_expect(eq(uint, launch.grid[0], (unsigned int)((batches[i] + 7) / 8)));
            cr_expect(launch.grid[1] == 1 && launch.grid[2] == 1);
            expect_arguments(&form, false, &x, &launch);
            tj_kernel_free(kernel);
        }
    cr_expect(eq(ulong, fake.fake_launches(), 12));
}

/* ---- split k ------------------------------------------------------------------------------------------------------ */

/* A source that splits k as the generator's do: the first kernel writes sums, the second reads them and writes P. */
static tj_launch_form split_form(const tj_problem *problem, int splits)
{
    tj_launch_form form = form_of(problem);
    tj_launch_step *product = &form.step[0], *reduce = &form.step[1];
    const int64_t most = 65535 / splits, products = problem->batch < most ? problem->batch : most;
    int kept = 0;

    for (int i = 0; i < product->arg_count; i++) {
        const tj_argument arg = product->arg[i];
        const bool has_matrix = arg.kind == TJ_ARG_POINTER || arg.kind == TJ_ARG_LD || arg.kind == TJ_ARG_STRIDE;
        const bool is_last = has_matrix ? arg.index >= TJ_MATRIX_P : arg.kind == TJ_ARG_ALPHA || arg.kind == TJ_ARG_BETA;

        add(reduce, arg.kind == TJ_ARG_POINTER && arg.index == TJ_MATRIX_P, TJ_ARG_WORKSPACE, 0);
        if (is_last)
            reduce->arg[reduce->arg_count++] = arg;
        else
            product->arg[kept++] = arg;
    }
    product->arg_count = kept;
    add(product, true, TJ_ARG_WORKSPACE, 0);
    product->splits = splits;
    strcpy(reduce->kernel, "reduce");
    reduce->grid = TJ_GRID_ELEMENTS;
    reduce->block_x = 256;
    reduce->block_y = reduce->block_rows = 1;
    reduce->block_cols = 64;
    reduce->overlaps = 1;
    form.steps = 2;
    form.workspace_bytes = problem->j.extent * problem->l.extent * splits * products * (problem->m.type == TJ_F64 ? 8 : 4);
    return form;
}

static tj_kernel *load_split(tj_problem problem, int splits, tj_launch_form *form)
{
    problem = canonical(problem);
    *form = split_form(&problem, splits);
    form->most_k = INT32_MAX - splits * 8192;
    return load_form(form, &problem);
}

static tj_operands operands_with_workspace(const tj_launch_form *form)
{
    tj_operands x = some_operands();

    x.workspace = (void *)(uintptr_t)0x50000;
    x.workspace_bytes = (size_t)form->workspace_bytes;
    return x;
}

/* Launch number index is that kernel with that grid, block and arguments. */
static void expect_launch(unsigned long index, const char *kernel, const unsigned int *grid, unsigned int threads,
                          const tj_launch_step *step, const tj_operands *x)
{
    fake_launch launch;

    cr_assert(fake.fake_get_launch(index, &launch));
    cr_expect(eq(str, launch.kernel, (char *)kernel));
    cr_expect(memcmp(launch.grid, grid, sizeof launch.grid) == 0, "%s: grid (%u, %u, %u), not (%u, %u, %u)", kernel,
              launch.grid[0], launch.grid[1], launch.grid[2], grid[0], grid[1], grid[2]);
    cr_expect(eq(uint, launch.block[0] * launch.block[1], threads));
    expect_arguments_of(step, false, x, &launch);
}

Test(launch, of_a_split_k_is_the_product_and_then_the_sums)
{
    tj_problem problem = TJ_PROBLEM_INIT(20, 500, 70, TJ_F32);
    tj_launch_form form;
    tj_operands x;
    tj_kernel *kernel;

    problem.epilogue.has_alpha = problem.epilogue.has_beta = 1;
    problem.p.ld = problem.c.ld = TJ_ANY;
    problem.batch = 3;
    problem.p.stride = TJ_ANY;
    kernel = load_split(problem, 7, &form);
    cr_expect(eq(ulong, fake.fake_calls("cuLibraryGetKernel"), 2));
    cr_expect(eq(ulong, fake.fake_calls("cuFuncLoad"), 2));
    x = operands_with_workspace(&form);
    x.alpha = 2.5, x.beta = -1.0;
    x.c.address = (const void *)(uintptr_t)0x400000000000;
    x.p.ld = 80, x.c.ld = 90, x.p.stride = 2000;
    cr_assert(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(ulong, fake.fake_launches(), 2));
    /* 20 x 70 in tiles of 16 x 16, 3 products of 7 splits; 1400 sums, 64 a block. */
    expect_launch(0, "tiled", (const unsigned int[]){5, 2, 21}, 256, &form.step[0], &x);
    expect_launch(1, "reduce", (const unsigned int[]){22, 1, 3}, 256, &form.step[1], &x);
    cr_expect(eq(ulong, fake.fake_calls("cuMemAllocAsync"), 0));
    tj_kernel_free(kernel);
}

/* A step for all products at once has one layer of blocks, in each launch that a batch takes. */
Test(launch, of_a_step_once_for_all_products)
{
    for (int is_large = 0; is_large <= 1; is_large++) {
        tj_problem problem = TJ_PROBLEM_INIT(20, 500, 70, TJ_F32);
        const unsigned long before = fake.fake_launches();
        tj_launch_form form;
        tj_kernel *kernel;
        tj_operands x;

        problem.batch = is_large ? 70000 : 3;
        problem = canonical(problem);
        form = split_form(&problem, 1);
        form.step[1].grid = TJ_GRID_ONCE;
        kernel = load_form(&form, &problem);
        x = operands_with_workspace(&form);
        cr_assert(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
        cr_assert(eq(ulong, fake.fake_launches() - before, is_large ? 4 : 2));
        for (unsigned long i = before; i < fake.fake_launches(); i++) {
            const unsigned int layers = is_large ? i - before < 2 ? 65535 : 70000 - 65535 : 3;
            fake_launch launch;

            cr_assert(fake.fake_get_launch(i, &launch));
            cr_expect(eq(uint, launch.grid[0], (i - before) % 2 ? 22 : 5));
            cr_expect(eq(uint, launch.grid[2], (i - before) % 2 ? 1 : layers), "batch %d, launch %lu", (int)problem.batch, i);
        }
        tj_kernel_free(kernel);
    }
}

/* The same, with everything known at the load. */
Test(launch, of_a_ready_split_k_needs_only_pointers)
{
    tj_launch_form form;
    tj_kernel *kernel = load_split((tj_problem)TJ_PROBLEM_INIT(16, 500, 16, TJ_F32), 4, &form);
    tj_operands x = operands_with_workspace(&form);

    cr_expect(kernel->is_ready);
    cr_assert(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    expect_launch(0, "tiled", (const unsigned int[]){1, 1, 4}, 256, &form.step[0], &x);
    expect_launch(1, "reduce", (const unsigned int[]){4, 1, 1}, 256, &form.step[1], &x);
    /* Without the sums of the first kernel the second would add up rubbish. */
    fake.fake_fail("cuLaunchKernel", 1, 701);
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_DRIVER));
    cr_expect(says("tiled"), "%s", err.message);
    cr_expect(eq(ulong, fake.fake_calls("cuLaunchKernel"), 2));
    cr_expect(eq(ulong, fake.fake_calls("cuLaunchKernelEx"), 1));
    fake.fake_fail("cuLaunchKernelEx", 1, 701);
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_DRIVER));
    cr_expect(says("cannot launch reduce with grid (4, 1, 1), block (256, 1)"), "%s", err.message);
    tj_kernel_free(kernel);
}

/* The source waits for the first kernel by itself only from sm_90 on: before, the stream has to. */
Test(launch, of_splits_overlaps_only_where_the_text_waits)
{
    const struct {
        const char *target;
        int major;
        bool overlaps;
    } rows[] = {{"compute_90", 9, true}, {"compute_80", 9, false}, {"sm_80", 8, false}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_code code = {.target = rows[i].target, .compiler = sm_90.compiler, .ptx = sm_90.ptx, .cubin = sm_90.cubin};
        tj_problem problem = canonical((tj_problem)TJ_PROBLEM_INIT(16, 500, 16, TJ_F32));
        tj_launch_form form = split_form(&problem, 4);
        tj_operands x = operands_with_workspace(&form);
        tj_kernel *kernel = NULL;
        fake_launch first, second;
        unsigned long before;

        free_context();
        make_context();
        fake.fake_set_device_attribute(0, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, rows[i].major);
        tell_parameters(&form, &problem);
        cr_assert(eq(int, tj_kernel_load_code(&context->host, &form, &problem, &code, &kernel, &err), TJ_OK), "%s",
                  err.message);
        before = fake.fake_launches();
        cr_assert(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
        cr_assert(fake.fake_get_launch(before, &first) && fake.fake_get_launch(before + 1, &second));
        cr_expect(not(first.overlaps), "row %zu", i);
        cr_expect(eq(int, second.overlaps != 0, rows[i].overlaps), "row %zu", i);
        tj_kernel_free(kernel);

        form.step[0].overlaps = 1; /* its source waits, too */
        cr_assert(eq(int, tj_kernel_load_code(&context->host, &form, &problem, &code, &kernel, &err), TJ_OK), "%s",
                  err.message);
        before = fake.fake_launches();
        cr_assert(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
        cr_assert(fake.fake_get_launch(before, &first));
        cr_expect(eq(int, first.overlaps != 0, rows[i].overlaps), "row %zu", i);
        tj_kernel_free(kernel);
    }
}

/* grid.z holds 65535: 21845 products of 3 splits. All parts use the one workspace, one after the other. */
Test(launch, of_a_large_batch_of_splits_takes_several)
{
    tj_problem problem = TJ_PROBLEM_INIT(4, 50, 6, TJ_F32);
    unsigned long products = 0;
    tj_launch_form form;
    tj_operands x;
    tj_kernel *kernel;

    problem.batch = 2 * 21845 + 5;
    kernel = load_split(problem, 3, &form);
    cr_expect(eq(i64, form.workspace_bytes, 4 * 6 * 4 * 3 * 21845));
    x = operands_with_workspace(&form);
    cr_assert(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(ulong, fake.fake_launches(), 6));
    for (unsigned long i = 0; i < 3; i++) {
        const unsigned int part = i < 2 ? 21845 : 5;
        tj_operands y = x;

        y.m.address = (const char *)x.m.address + products * 200 * 4;
        y.n.address = (const char *)x.n.address + products * 300 * 4;
        y.p.address = (char *)x.p.address + products * 24 * 4;
        expect_launch(2 * i, "tiled", (const unsigned int[]){1, 1, 3 * part}, 256, &form.step[0], &y);
        expect_launch(2 * i + 1, "reduce", (const unsigned int[]){1, 1, part}, 256, &form.step[1], &y);
        products += part;
    }
    tj_kernel_free(kernel);
}

/* Such a kernel rounds its int k up to whole phases of all splits. */
Test(launch, refuses_a_k_that_splits_cannot_be_rounded_up_from)
{
    tj_problem problem = TJ_PROBLEM_INIT(16, 500, 16, TJ_F32);
    tj_launch_form form;
    tj_operands x;
    tj_kernel *kernel;

    problem.k.mode = TJ_DIM_ANY;
    kernel = load_split(problem, 4, &form);
    x = operands_with_workspace(&form);
    x.k = INT32_MAX - 4 * 8192;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    x.k++;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("from 0 to 2147450879"), "%s", err.message);
    tj_kernel_free(kernel);
}

Test(launch, takes_a_workspace_from_the_stream_where_operands_bring_none)
{
    const CUstream stream = (CUstream)(uintptr_t)0x7777;
    tj_problem problem = TJ_PROBLEM_INIT(16, 500, 16, TJ_F32);
    tj_launch_form form;
    tj_operands x = some_operands(), seen = some_operands();
    tj_kernel *kernel;
    fake_ordered taken;

    for (int large = 0; large <= 1; large++) { /* a batch of several launches shares one */
        const unsigned long before = fake.fake_launches(), launches = large ? 4 : 2;

        problem.batch = large ? 65535 / 4 + 1 : 1;
        kernel = load_split(problem, 4, &form);
        x.workspace_bytes = large ? 77 : 0; /* of no workspace: means nothing */
        cr_assert(eq(int, tj_kernel_launch(kernel, &x, stream, &err), TJ_OK), "%s", err.message);
        taken = fake.fake_last_ordered();
        cr_expect(eq(sz, taken.bytes, (size_t)form.workspace_bytes));
        cr_expect(taken.stream == stream && taken.is_freed && taken.freed_in == stream);
        cr_expect(eq(ulong, taken.after, before), "before the first kernel");
        cr_expect(eq(ulong, taken.freed_after, before + launches), "behind the last");
        seen.workspace = (void *)(uintptr_t)taken.address;
        expect_launch(before, "tiled", (const unsigned int[]){1, 1, large ? 65532 : 4}, 256, &form.step[0], &seen);
        expect_launch(before + 1, "reduce", (const unsigned int[]){4, 1, large ? 16383 : 1}, 256, &form.step[1], &seen);
        tj_kernel_free(kernel);
    }
    cr_expect(eq(ulong, fake.fake_calls("cuMemAllocAsync"), 2));
    cr_expect(eq(ulong, fake.fake_calls("cuStreamSynchronize"), 0));
}

Test(launch, gives_the_workspace_back_whatever_fails)
{
    static const struct {
        const char *call;
        int nth;
        CUresult result;
        tj_status status;
        const char *words;
        bool is_freed;
    } rows[] = {
        {"cuMemAllocAsync", 1, 2, TJ_ERR_DEVICE_MEMORY, "the 4096 bytes of workspace of tiled", false},
        {"cuMemAllocAsync", 1, 801, TJ_ERR_UNSUPPORTED,
         "device 0 cannot allocate in a stream: give what tj_plan_workspace_bytes says, "
         "or use a config without",
         false},
        {"cuLaunchKernel", 1, 701, TJ_ERR_DRIVER, "cannot launch tiled", true},
        {"cuLaunchKernelEx", 1, 701, TJ_ERR_DRIVER, "cannot launch reduce", true},
        {"cuMemFreeAsync", 1, 1, TJ_ERR_DRIVER, "cannot give back the workspace of tiled", false},
    };
    tj_launch_form form;
    tj_kernel *kernel = load_split((tj_problem)TJ_PROBLEM_INIT(16, 500, 16, TJ_F32), 4, &form);
    tj_operands x = some_operands();

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const unsigned long taken = fake.fake_calls("cuMemAllocAsync"), freed = fake.fake_calls("cuMemFreeAsync");

        fake.fake_fail(rows[i].call, rows[i].nth, rows[i].result);
        cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), rows[i].status), "row %zu: %s", i, err.message);
        cr_expect(says(rows[i].words), "row %zu: %s", i, err.message);
        cr_expect(eq(ulong, fake.fake_calls("cuMemAllocAsync"), taken + 1), "row %zu", i);
        if (rows[i].is_freed)
            cr_expect(eq(ulong, fake.fake_calls("cuMemFreeAsync"), freed + 1), "row %zu", i);
        fake.fake_fail(NULL, 0, 0);
    }
    x.m.address = NULL;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(eq(ulong, fake.fake_calls("cuMemAllocAsync"), 5), "nothing is taken for operands that are wrong");
    x = some_operands();
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    fake.fake_fail("cuLaunchKernel", 1, 700);
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_DEVICE_LOST));
    cr_expect(eq(ulong, fake.fake_calls("cuMemAllocAsync"), 7));
    cr_expect(eq(ulong, fake.fake_calls("cuMemFreeAsync"), 4), "a lost device is left alone");
    tj_kernel_free(kernel);
}

/* Too small is as good as none: a plan may have been replaced by one that needs more. */
Test(launch, leaves_a_workspace_alone_that_is_too_small_and_names_one_that_is_misaligned)
{
    tj_launch_form form;
    tj_kernel *kernel = load_split((tj_problem)TJ_PROBLEM_INIT(16, 500, 16, TJ_F32), 4, &form);
    tj_operands x = operands_with_workspace(&form), seen = x;

    x.workspace_bytes--;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(ulong, fake.fake_calls("cuMemAllocAsync"), 1));
    seen.workspace = (void *)(uintptr_t)fake.fake_last_ordered().address;
    expect_launch(0, "tiled", (const unsigned int[]){1, 1, 4}, 256, &form.step[0], &seen);
    x.workspace_bytes++;
    x.workspace = (char *)x.workspace + 8;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("0x50008") && says("aligned to 16"), "%s", err.message);
    cr_expect(eq(ulong, fake.fake_launches(), 2));
    x.workspace = (char *)x.workspace + 8;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(ulong, fake.fake_calls("cuMemAllocAsync"), 1));
    tj_kernel_free(kernel);
}

Test(old_driver, needs_a_workspace_for_a_split_k)
{
    tj_launch_form form;
    tj_kernel *kernel = load_split((tj_problem)TJ_PROBLEM_INIT(16, 500, 16, TJ_F32), 4, &form);
    tj_operands x = some_operands();

    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("needs 4096 bytes") && says("bring 0") && says("CUDA 11.0") && says("tj_plan_workspace_bytes") &&
                  says("a config without"),
              "%s", err.message);
    cr_expect(eq(ulong, fake.fake_launches(), 0));
    x = operands_with_workspace(&form);
    x.workspace_bytes--;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("bring 4095"), "%s", err.message);
    x.workspace_bytes++;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    tj_kernel_free(kernel);
}

/* 11.2 and 11.3 could allocate in a stream, but not in one that is captured. */
Test(launch, takes_no_workspace_from_a_driver_that_cannot_in_a_capture)
{
    tj_launch_form form;
    tj_operands x = some_operands();
    tj_kernel *kernel;

    fake.fake_set_driver_version(11030);
    kernel = load_split((tj_problem)TJ_PROBLEM_INIT(16, 500, 16, TJ_F32), 4, &form);
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("CUDA 11.3"), "%s", err.message);
    cr_expect(eq(ulong, fake.fake_calls("cuMemAllocAsync"), 0));
    tj_kernel_free(kernel);
}

/* ---- steps -------------------------------------------------------------------------------------------------------- */

/*
 * Three steps: one writes a part of the workspace, the next multiplies in clusters, over tensor maps of M (one product at a time) and
 * of N (with its batch), and the last may overlap it.
 */
static tj_launch_form three_steps(const tj_problem *problem)
{
    tj_launch_form form = form_of(problem);

    form.steps = 3;
    form.step[1] = form.step[0];
    form.step[0].arg_count = form.step[1].arg_count = 0;
    form.step[0].dynamic_shared_bytes = 65536;
    strcpy(form.step[0].kernel, "repack");
    add(&form.step[0], true, TJ_ARG_POINTER, TJ_MATRIX_N);
    add(&form.step[0], true, TJ_ARG_WORKSPACE, 1);
    form.product = 1;
    form.step[1].block_rows = form.step[1].block_cols = 32;
    form.step[1].cluster[0] = 2;
    add(&form.step[1], true, TJ_ARG_LD, TJ_MATRIX_P);
    add(&form.step[1], true, TJ_ARG_TENSOR_MAP, 0);
    add(&form.step[1], problem->epilogue.has_alpha, TJ_ARG_ALPHA, 0);
    add(&form.step[1], true, TJ_ARG_TENSOR_MAP, 2);
    add(&form.step[1], true, TJ_ARG_WORKSPACE, 0);
    add(&form.step[1], true, TJ_ARG_WORKSPACE, 1);
    form.step[2] = form.step[0];
    form.step[2].dynamic_shared_bytes = 0;
    form.step[2].overlaps = form.step[2].sums_in_registers = 1;
    form.step[2].cluster[1] = 4;
    strcpy(form.step[2].kernel, "sum");
    form.tensor_map[0] = (tj_tensor_map){TJ_MATRIX_M, 0, 2, {32, 64, 0}, 128, 0};
    form.tensor_map[2] = (tj_tensor_map){TJ_MATRIX_N, TJ_F32, 3, {16, 8, 1}, 64, 0};
    form.workspace_bytes = 4096 + 512;
    form.slice[1] = 4096;
    return form;
}

static tj_operands aligned_operands(void)
{
    tj_operands x = some_operands();

    x.workspace = (void *)(uintptr_t)0x50000;
    x.workspace_bytes = 4096 + 512;
    x.alpha = 0.5;
    return x;
}

static tj_problem batched(int64_t batch)
{
    tj_problem problem = TJ_PROBLEM_INIT(100, 48, 70, TJ_F32);

    problem.n.ld = 72;
    problem.batch = batch;
    problem.epilogue.has_alpha = 1;
    return canonical(problem);
}

static uint64_t word_at(const fake_launch *launch, size_t at)
{
    uint64_t word;

    memcpy(&word, launch->args + at, sizeof word);
    return word;
}

/* Return the tensor map that a kernel got after that many bytes of parameters. */
static fake_tensor_map map_at(const fake_launch *launch, size_t at)
{
    fake_tensor_map map;

    memcpy(&map, launch->args + at, sizeof map);
    return map;
}

Test(steps, are_launched_one_behind_the_other_with_maps_clusters_and_slices)
{
    const tj_problem problem = batched(3);
    const tj_launch_form form = three_steps(&problem);
    tj_kernel *kernel = load_form(&form, &problem);
    const tj_operands x = aligned_operands();
    fake_launch launch;
    fake_tensor_map m, n;

    cr_expect(kernel->is_ready);
    cr_expect(eq(int, fake.fake_function_attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 65536));
    cr_assert(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(ulong, fake.fake_launches(), 3));

    fake.fake_get_launch(0, &launch);
    cr_expect(eq(str, launch.kernel, (char *)"repack"));
    cr_expect(launch.cluster[0] == 0 && launch.overlaps == 0 && launch.shared_bytes == 65536);
    cr_expect(word_at(&launch, 0) == (uintptr_t)x.n.address && word_at(&launch, 8) == 0x50000 + 4096);

    fake.fake_get_launch(1, &launch);
    cr_expect(eq(str, launch.kernel, (char *)"tiled"));
    cr_expect(launch.cluster[0] == 2 && launch.cluster[1] == 1 && launch.cluster[2] == 1 && launch.overlaps == 0);
    /* 100 x 70 in tiles of 32 x 32 are 4 x 3, and whole clusters of two are 4 x 4. */
    cr_expect(launch.grid[0] == 4 && launch.grid[1] == 4 && launch.grid[2] == 3);
    cr_expect(eq(u64, word_at(&launch, 0), 70));
    m = map_at(&launch, 128);
    cr_expect(m.address == (uintptr_t)x.m.address && m.rank == 2 && m.type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
    cr_expect(m.extent[0] == 48 && m.extent[1] == 100 && m.stride[0] == 48 * 4);
    cr_expect(m.box[0] == 32 && m.box[1] == 64 && m.swizzle == CU_TENSOR_MAP_SWIZZLE_128B);
    cr_expect(memcmp(launch.args + 256, &(float){0.5F}, 4) == 0);
    n = map_at(&launch, 384);
    cr_expect(n.address == (uintptr_t)x.n.address && n.rank == 3 && n.swizzle == CU_TENSOR_MAP_SWIZZLE_64B);
    cr_expect(n.extent[0] == 70 && n.extent[1] == 48 && n.extent[2] == 3);
    cr_expect(n.stride[0] == 72 * 4 && n.stride[1] == 48 * 72 * 4 && n.box[2] == 1);
    cr_expect(word_at(&launch, 512) == 0x50000 && word_at(&launch, 520) == 0x50000 + 4096);

    fake.fake_get_launch(2, &launch);
    cr_expect(eq(str, launch.kernel, (char *)"sum"));
    cr_expect(launch.overlaps == 1 && launch.cluster[0] == 1 && launch.cluster[1] == 4);
    cr_expect(launch.grid[0] == 5 && launch.grid[1] == 8);
    tj_kernel_free(kernel);
}

/* The workspace holds the output of an earlier launch: 96 rows of 40 halves, 48 apart, for each product. */
Test(steps, map_matrices_in_the_workspace)
{
    const tj_problem problem = batched(3);
    tj_launch_form form = three_steps(&problem);
    tj_operands x = aligned_operands();
    fake_tensor_map map;
    fake_launch launch;
    tj_kernel *kernel;

    form.workspace_bytes = 4096 + 3 * 96 * 48 * 2;
    form.tensor_map[0] = (tj_tensor_map){
        .matrix = 1, .type = TJ_F16, .rank = 3, .box = {8, 16, 1}, .swizzle = 32, .lines = 96, .width = 40, .ld = 48};
    x.workspace_bytes = (size_t)form.workspace_bytes;
    kernel = load_form(&form, &problem);
    cr_assert(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    fake.fake_get_launch(1, &launch);
    map = map_at(&launch, 128);
    cr_expect(map.address == 0x50000 + 4096 && map.rank == 3 && map.type == CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
    cr_expect(map.extent[0] == 40 && map.extent[1] == 96 && map.extent[2] == 3);
    cr_expect(map.stride[0] == 48 * 2 && map.stride[1] == 96 * 48 * 2);
    fake.fake_fail("cuTensorMapEncodeTiled", 1, CUDA_ERROR_INVALID_VALUE);
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_DRIVER));
    cr_expect(says("cannot make the tensor map of the workspace from byte 4096 on for tiled: 96 lines of 40 elements"), "%s",
              err.message);
    tj_kernel_free(kernel);
}

/* Four rows of N are a line of the map, which they can be where nothing lies between them. */
Test(steps, map_several_lines_as_one)
{
    tj_problem problem = TJ_PROBLEM_INIT(100, 48, 70, TJ_F32);
    tj_launch_form form;
    const tj_operands x = aligned_operands();
    fake_tensor_map map;
    fake_launch launch;
    tj_kernel *kernel;

    problem.batch = 3;
    problem.epilogue.has_alpha = 1;
    problem = canonical(problem);
    form = three_steps(&problem);
    form.tensor_map[2].joins = 4;
    kernel = load_form(&form, &problem);
    cr_assert(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    fake.fake_get_launch(1, &launch);
    map = map_at(&launch, 384);
    cr_expect(map.extent[0] == 4 * 70 && map.extent[1] == 12 && map.extent[2] == 3);
    cr_expect(map.stride[0] == 4 * 70 * 4 && map.stride[1] == 48 * 70 * 4);
    tj_kernel_free(kernel);

    problem.n.ld = 72;
    cr_expect(eq(int, tj_kernel_load_code(&context->host, &form, &problem, &sm_90, &kernel, &err), TJ_ERR_INTERNAL));
    cr_expect(says("launch form of"), "%s", err.message);
}

/* In a batch that takes several launches, the maps of each begin at its own first product and end with its last. */
Test(steps, of_a_large_batch_map_their_part_of_it)
{
    const tj_problem problem = batched(65535 + 4);
    const tj_launch_form form = three_steps(&problem);
    tj_kernel *kernel = load_form(&form, &problem);
    const tj_operands x = aligned_operands();
    fake_launch launch;

    cr_assert(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(ulong, fake.fake_launches(), 6));
    fake.fake_get_launch(4, &launch);
    cr_expect(eq(uint, launch.grid[2], 4));
    cr_expect(eq(u64, map_at(&launch, 128).address, (uintptr_t)x.m.address + UINT64_C(65535) * 100 * 48 * 4));
    cr_expect(eq(u64, map_at(&launch, 384).extent[2], 4));
    tj_kernel_free(kernel);
}

Test(steps, name_what_cannot_be_mapped)
{
    tj_problem problem = batched(3);
    tj_operands x = aligned_operands();
    tj_launch_form form;
    tj_kernel *kernel;

    problem.m.ld = TJ_ANY;
    form = three_steps(&problem);
    kernel = load_form(&form, &problem);
    x.m.ld = 49;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("tiled copies M by a tensor map") && says("196 bytes from one line"), "%s", err.message);
    x.m.ld = 52;
    x.m.address = (const char *)x.m.address + 4;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("copies M") && says("0x100000000004"), "%s", err.message);
    x.m.address = (const char *)x.m.address - 4;
    fake.fake_fail("cuTensorMapEncodeTiled", 2, 1);
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_DRIVER));
    cr_expect(says("tensor map of N for tiled: 48 lines of 70 elements"), "%s", err.message);
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    tj_kernel_free(kernel);
}

Test(steps, of_a_product_without_k_map_nothing)
{
    tj_problem problem = batched(1);
    tj_operands x = aligned_operands();
    tj_launch_form form;
    tj_kernel *kernel;

    problem.k = (tj_dim){0, TJ_DIM_ANY, 0};
    form = three_steps(&problem);
    kernel = load_form(&form, &problem);
    x.m.address = x.n.address = NULL;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(ulong, fake.fake_calls("cuTensorMapEncodeTiled"), 0));
    tj_kernel_free(kernel);
}

Test(steps, in_large_clusters_ask_for_them)
{
    const tj_problem problem = batched(1);
    tj_launch_form form = form_of(&problem);
    const tj_operands x = aligned_operands();
    tj_kernel *kernel;

    form.step[0].cluster[0] = 8, form.step[0].cluster[1] = 2;
    kernel = load_form(&form, &problem);
    cr_assert(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_expect(last_launch().grid[0] == 8 && last_launch().grid[1] == 8);
    tj_kernel_free(kernel);
    fake.fake_fail("cuFuncSetAttribute", 1, 1);
    cr_expect(eq(int, tj_kernel_load_code(&context->host, &form, &problem, &sm_90, &kernel, &err), TJ_ERR_DRIVER));
    cr_expect(says("cannot launch tiled in clusters of 8 x 2 x 1 blocks"), "%s", err.message);
}

/* Kernels that keep their sums in registers are judged one by one. */
Test(steps, that_spill_are_refused_by_name)
{
    const tj_problem problem = batched(1);
    tj_launch_form form = three_steps(&problem);
    tj_kernel *kernel = NULL;

    tell_parameters(&form, &problem);
    fake.fake_set_function_attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 24);
    cr_expect(eq(int, tj_kernel_load_code(&context->host, &form, &problem, &sm_90, &kernel, &err), TJ_ERR_SPILLS));
    cr_expect(says("sum is not launched") && says("24 bytes of local memory"), "%s", err.message);
    form.step[2].sums_in_registers = 0;
    cr_expect(eq(int, tj_kernel_load_code(&context->host, &form, &problem, &sm_90, &kernel, &err), TJ_OK), "%s", err.message);
    tj_kernel_free(kernel);
}

/* A missing function is known at the load, before any of the driver's functions is looked up. */
static void expect_too_old(int version, const char *hidden, const char *words)
{
    const tj_problem problem = batched(1);
    tj_launch_form form = three_steps(&problem);
    tj_kernel *kernel = NULL;

    fake.fake_set_driver_version(version);
    if (hidden)
        fake.fake_hide(hidden);
    if (version < 12000)
        form.step[1].arg_count = 0;
    tell_parameters(&form, &problem);
    cr_expect(eq(int, tj_kernel_load_code(&context->host, &form, &problem, &sm_90, &kernel, &err), TJ_ERR_UNSUPPORTED));
    cr_expect(says(words), "%s", err.message);
    cr_expect(eq(int, fake.fake_live_images(), 0));
}

Test(steps, in_clusters_need_a_driver_that_has_them)
{
    expect_too_old(11070, NULL,
                   "tiled is launched in clusters of 2 x 1 x 1 blocks, which a driver of CUDA 11.7 cannot (11.8 can)");
}

Test(steps, in_clusters_need_a_driver_that_takes_attributes)
{
    expect_too_old(13000, "cuLaunchKernelEx", "in clusters of 2 x 1 x 1 blocks, which a driver of CUDA 13.0 cannot");
}

Test(steps, with_tensor_maps_need_a_driver_that_makes_them)
{
    expect_too_old(13000, "cuTensorMapEncodeTiled",
                   "tiled takes tensor maps, which a driver of CUDA 13.0 cannot make (12.0 can)");
}

/* ---- alignment ---------------------------------------------------------------------------------------------------- */

Test(launch, holds_pointers_to_the_alignment_of_the_text)
{
    static const struct {
        size_t offset;
        const char *words;
    } rows[] = {
        {offsetof(tj_operands, m.address),
         "m is 0x100000000008, and tiled takes 16 bytes of it at once: align it to that, or generate with vector=1"},
        {offsetof(tj_operands, n.address), "n is 0x200000000004, and tiled takes 8 bytes of it at once"},
        {offsetof(tj_operands, p.address), "p is 0x300000000010, and tiled takes 32 bytes of it at once"},
        {offsetof(tj_operands, c.address), "c is 0x400000000008, and tiled takes 16 bytes of it at once"},
    };
    static const int off_by[] = {8, 4, 16, 8};

    for (int is_open = 0; is_open <= 1; is_open++) { /* the ready way, and the long one */
        tj_problem problem = TJ_PROBLEM_INIT(64, 48, 32, TJ_F32);
        tj_operands good = some_operands();
        tj_launch_form form;
        tj_kernel *kernel;

        problem.epilogue.has_beta = 1;
        if (is_open)
            problem.m.ld = TJ_ANY;
        problem = canonical(problem);
        form = form_of(&problem);
        form.align[TJ_MATRIX_M] = 16, form.align[TJ_MATRIX_N] = 8, form.align[TJ_MATRIX_P] = 32, form.align[TJ_MATRIX_C] = 16;
        kernel = load_form(&form, &problem);
        cr_expect(eq(int, kernel->is_ready, !is_open));
        good.c.address = (const void *)(uintptr_t)0x400000000000;
        good.beta = 1.0;
        cr_expect(eq(int, tj_kernel_launch(kernel, &good, NULL, &err), TJ_OK), "%s", err.message);
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            tj_operands x = good;
            uintptr_t address;

            memcpy(&address, (char *)&x + rows[i].offset, sizeof address);
            address += (uintptr_t)off_by[i];
            memcpy((char *)&x + rows[i].offset, &address, sizeof address);
            cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_INVALID_ARGUMENT), "row %zu", i);
            cr_expect(says(rows[i].words), "row %zu: %s", i, err.message);
        }
        good.c.address = (const void *)(uintptr_t)0x40008;
        good.beta = 0.0;
        cr_expect(eq(int, tj_kernel_launch(kernel, &good, NULL, &err), TJ_OK), "a C that is not read: %s", err.message);
        tj_kernel_free(kernel);
    }
}

Test(kernel, with_an_impossible_form_is_an_internal_error)
{
    const tj_problem problem = canonical((tj_problem)TJ_PROBLEM_INIT(16, 500, 16, TJ_F32));
    const tj_launch_form plain = form_of(&problem), split = split_form(&problem, 4);
    const tj_tensor_map map = {
        .type = TJ_F32, .rank = 2, .box = {8, 8}, .lines = split.workspace_bytes / 64, .width = 16, .ld = 16};
    tj_launch_form mapped = split, rows[40];
    tj_kernel *kernel = NULL;
    size_t count = 0;

    mapped.step[0].arg[0] = (tj_argument){TJ_ARG_TENSOR_MAP, 0};
    mapped.tensor_map[0] = map;

    rows[count] = plain, rows[count++].steps = 0;
    rows[count] = plain, rows[count++].steps = TJ_LAUNCH_MAX_STEPS + 1;
    rows[count] = plain, rows[count++].product = 1;
    rows[count] = plain, rows[count++].step[0].arg_count = TJ_LAUNCH_MAX_ARGS + 1;
    rows[count] = plain, rows[count++].step[0].block_x = 0;
    rows[count] = plain, rows[count++].step[0].block_rows = 0;
    rows[count] = plain, rows[count++].step[0].grid = 0;
    rows[count] = plain, rows[count++].step[0].grid = TJ_GRID_PRODUCTS; /* of no products */
    rows[count] = plain, rows[count++].step[0].cluster[1] = 17;
    rows[count] = plain, rows[count++].step[0].arg[0].kind = TJ_ARG_SCALE_STRIDE + 1;
    rows[count] = plain, rows[count++].step[0].arg[0].index = TJ_MATRICES;
    rows[count] = plain, rows[count++].step[0].arg[0] = (tj_argument){TJ_ARG_EXTENT, 3};
    rows[count] = plain, rows[count++].step[0].arg[0] = (tj_argument){TJ_ARG_TENSOR_MAP, 0}; /* a map of nothing */
    rows[count] = plain, rows[count++].step[0].arg[0] = (tj_argument){TJ_ARG_WORKSPACE, 0};  /* of no bytes */
    rows[count] = plain, rows[count++].align[TJ_MATRIX_M] = 12;
    rows[count] = plain, rows[count++].align[TJ_MATRIX_N] = -16;
    rows[count] = plain, rows[count++].align[TJ_MATRIX_P] = 3;
    rows[count] = plain, rows[count++].align[TJ_MATRIX_C] = 5;
    rows[count] = plain, rows[count++].least_tile_width = 4; /* and none at most */
    rows[count] = plain, rows[count++].most_k = -1;
    rows[count] = plain, rows[count++].step[0].splits = 4; /* and nowhere to put their sums */
    rows[count] = split, rows[count++].step[0].splits = UINT16_MAX + 1;
    rows[count] = split, rows[count++].step[1].splits = 2;
    rows[count] = split, rows[count++].step[1].kernel[0] = '\0';
    rows[count] = split, rows[count++].step[1].arg_count = TJ_LAUNCH_MAX_ARGS + 1;
    rows[count] = split, rows[count++].step[1].block_x = 0;
    rows[count] = split, rows[count++].step[1].block_cols = 0;
    rows[count] = split, rows[count++].workspace_bytes = 0;
    rows[count] = split, rows[count++].slice[0] = split.workspace_bytes;
    rows[count] = split, rows[count++].slice[0] = 8;
    rows[count] = mapped, rows[count++].tensor_map[0].lines++; /* beyond the workspace */
    rows[count] = mapped, rows[count++].tensor_map[0].type = 0;
    rows[count] = mapped, rows[count++].tensor_map[0].width = 17; /* beyond the next line */
    rows[count] = mapped, rows[count++].tensor_map[0].ld = 14;    /* which begins at no multiple of 16 bytes */
    rows[count] = mapped, rows[count++].tensor_map[0].matrix = TJ_LAUNCH_MAX_SLICES;
    for (size_t i = 0; i < count; i++) {
        cr_expect(eq(int, tj_kernel_load_code(&context->host, &rows[i], &problem, &sm_90, &kernel, &err), TJ_ERR_INTERNAL),
                  "row %zu", i);
        cr_expect(says("launch form of"), "row %zu: %s", i, err.message);
        cr_expect(kernel == NULL);
    }
    cr_expect(eq(ulong, fake.fake_calls("cuLibraryLoadData"), 0));
}

Test(kernel, whose_second_kernel_has_other_parameters_is_an_internal_error)
{
    static const size_t bytes[] = {8, 8, 8};
    const tj_problem problem = canonical((tj_problem)TJ_PROBLEM_INIT(16, 500, 16, TJ_F32));
    const tj_launch_form form = split_form(&problem, 4);
    tj_kernel *kernel = NULL;

    tell_parameters(&form, &problem);
    fake.fake_set_parameters_of("reduce", 3, bytes);
    cr_expect(eq(int, tj_kernel_load_code(&context->host, &form, &problem, &sm_90, &kernel, &err), TJ_ERR_INTERNAL));
    cr_expect(says("reduce has more than the 2 parameters"), "%s", err.message);
    cr_expect(eq(int, fake.fake_live_images(), 0));
}

Test(pointers, of_a_workspace_are_asked_too)
{
    tj_launch_form form;
    tj_kernel *kernel;
    tj_operands x = TJ_OPERANDS_INIT;
    uint64_t workspace;

    fake.fake_context_create(0);
    kernel = load_split((tj_problem)TJ_PROBLEM_INIT(16, 20, 16, TJ_F32), 4, &form);
    x.m.address = (const void *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 16 * 20 * 4);
    x.n.address = (const void *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 16 * 20 * 4);
    x.p.address = (void *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 16 * 16 * 4);
    cr_expect(eq(int, tj_kernel_check_pointers(kernel, &x, &err), TJ_OK), "none: %s", err.message);
    workspace = fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 4096);
    x.workspace = (void *)workspace;
    x.workspace_bytes = 4096;
    cr_expect(eq(int, tj_kernel_check_pointers(kernel, &x, &err), TJ_OK), "%s", err.message);
    x.workspace = (void *)(workspace + 16);
    cr_expect(eq(int, tj_kernel_check_pointers(kernel, &x, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("the workspace needs 4096 bytes") && says("has 4080 left"), "%s", err.message);
    fake.fake_free(workspace);
    x.workspace = (void *)workspace;
    cr_expect(eq(int, tj_kernel_check_pointers(kernel, &x, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("the workspace at 0x") && says("freed"), "%s", err.message);
    tj_kernel_free(kernel);
}

/* ---- pointers ----------------------------------------------------------------------------------------------------- */

Test(pointers, are_asked_of_the_driver)
{
    enum { J = 10, K = 20, L = 30 };
    tj_problem problem = TJ_PROBLEM_INIT(J, K, L, TJ_F32);
    uint64_t m, n, p, c, freed, far, managed, pinned;
    float host[J * K];
    tj_kernel *kernel;
    tj_operands good = TJ_OPERANDS_INIT;

    fake.fake_set_devices(2);
    fake.fake_context_create(0);
    problem.epilogue.has_beta = 1;
    problem.m.ld = 24;
    kernel = load(problem);
    m = fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, (9 * 24 + 20) * 4); /* the last line needs no padding */
    n = fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, K * L * 4);
    p = fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, J * L * 4);
    c = fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, J * L * 4);
    freed = fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 4096);
    fake.fake_free(freed);
    far = fake.fake_alloc(1, CU_MEMORYTYPE_DEVICE, 4096);
    managed = fake.fake_alloc_managed(4096);
    pinned = fake.fake_alloc(0, CU_MEMORYTYPE_HOST, 4096);
    good.m.address = (const void *)m, good.n.address = (const void *)n, good.p.address = (void *)p,
    good.c.address = (const void *)c;
    good.beta = 1.0;

    const struct {
        const char *what;
        size_t offset;
        uint64_t value;
        const char *words; /* NULL: accepted */
    } rows[] = {
        {"all good", offsetof(tj_operands, m.address), m, NULL},
        {"host M", offsetof(tj_operands, m.address), (uint64_t)(uintptr_t)host, "M at 0x"},
        {"host N", offsetof(tj_operands, n.address), (uint64_t)(uintptr_t)host, "copy it to the device"},
        {"freed P", offsetof(tj_operands, p.address), freed, "was freed"},
        {"freed C", offsetof(tj_operands, c.address), freed, "C at 0x"},
        {"other device", offsetof(tj_operands, n.address), far, "memory of device 1"},
        {"managed", offsetof(tj_operands, n.address), managed, NULL},
        {"pinned host", offsetof(tj_operands, n.address), pinned, NULL},
        {"M one element short", offsetof(tj_operands, m.address), m + 4, "M needs 944 bytes"},
        {"N one element short", offsetof(tj_operands, n.address), n + 4, "has 2396 left"},
        {"P one element short", offsetof(tj_operands, p.address), p + 4, "P needs 1200 bytes"},
        {"P is M", offsetof(tj_operands, p.address), m, "address of M"},
        {"P is C", offsetof(tj_operands, c.address), p, NULL},
        {"C NULL", offsetof(tj_operands, c.address), 0, NULL},
        {"N NULL", offsetof(tj_operands, n.address), 0, "n is NULL"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_operands x = good;
        tj_status status;

        memcpy((char *)&x + rows[i].offset, &rows[i].value, sizeof rows[i].value);
        status = tj_kernel_check_pointers(kernel, &x, &err);
        cr_expect(eq(int, status, rows[i].words ? TJ_ERR_INVALID_ARGUMENT : TJ_OK), "%s: %s", rows[i].what, err.message);
        cr_expect(rows[i].words == NULL || says(rows[i].words), "%s: %s", rows[i].what, err.message);
    }

    good.n.address = (const void *)far;
    fake.fake_set_peer_access(true);
    cr_expect(eq(int, tj_kernel_check_pointers(kernel, &good, &err), TJ_OK), "a reachable peer: %s", err.message);
    good.n.address = host;
    fake.fake_set_device_attribute(0, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 1);
    cr_expect(eq(int, tj_kernel_check_pointers(kernel, &good, &err), TJ_OK), "a device that reads host memory: %s",
              err.message);
    good.n.address = (const void *)n;
    good.c.address = (const void *)freed;
    good.beta = 0.0;
    cr_expect(eq(int, tj_kernel_check_pointers(kernel, &good, &err), TJ_OK), "an unread C: %s", err.message);
    fake.fake_fail("cuPointerGetAttributes", 2, 1);
    cr_expect(eq(int, tj_kernel_check_pointers(kernel, &good, &err), TJ_ERR_DRIVER));
    cr_expect(says("what N at"), "%s", err.message);
    tj_kernel_free(kernel);
}

/* M 10 x 20, N 20 x 30, P and C 10 x 30 in one allocation, at these elements of it. */
Test(pointers, of_dense_matrices_must_be_apart)
{
    static const struct {
        int64_t ld_m, m, n, p, c;
        const char *words; /* NULL: accepted */
    } rows[] = {
        {20, 0, 200, 800, 1100, NULL},       {20, 0, 200, 799, 1100, "N at 0x"},
        {20, 301, 1000, 2, 1900, "M at 0x"}, {20, 302, 1000, 2, 1900, NULL},
        {20, 0, 200, 800, 800, NULL},      /* C is P */
        {20, 0, 200, 800, 801, "C at 0x"}, /* half of it is */
        {20, 0, 200, 800, 1099, "C at 0x"},  {20, 800, 200, 800, 1100, "address of M"},
        {60, 0, 2000, 20, 3000, "M at 0x"}, /* P's 300 elements do not fit M's padding */
    };
    uint64_t start;

    fake.fake_context_create(0);
    start = fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 1 << 20);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(10, 20, 30, TJ_F32);
        tj_operands x = TJ_OPERANDS_INIT;
        tj_kernel *kernel;

        problem.epilogue.has_beta = 1;
        problem.m.ld = rows[i].ld_m;
        kernel = load(problem);
        x.beta = 1.0;
        x.m.address = (const void *)(start + 4 * (uint64_t)rows[i].m);
        x.n.address = (const void *)(start + 4 * (uint64_t)rows[i].n);
        x.p.address = (void *)(start + 4 * (uint64_t)rows[i].p);
        x.c.address = (const void *)(start + 4 * (uint64_t)rows[i].c);
        cr_expect(eq(int, tj_kernel_check_pointers(kernel, &x, &err), rows[i].words ? TJ_ERR_INVALID_ARGUMENT : TJ_OK),
                  "row %zu: %s", i, err.message);
        cr_expect(rows[i].words == NULL || says(rows[i].words), "row %zu: %s", i, err.message);
        tj_kernel_free(kernel);
    }
}

/* In f32, 1e39 would be infinite and 1e-46 nothing; infinities and NaN are what they are. */
Test(launch, refuses_scalars_that_their_type_cannot_hold)
{
    static const struct {
        double value;
        const char *words; /* NULL: accepted */
    } rows[] = {
        {1e39, "is 1.000e39"},
        {-1e39, "is -1.000e39"},
        {1e-46, "is 1.000e-46"},
        {3.5e38, "is 3.500e38"},
        {1e300, "is 1.000e300"},
        {3.4028235e38, NULL},
        {1e-45, NULL},
        {0.0, NULL},
        {-0.0, NULL},
        {0.1, NULL},
        {(double)INFINITY, NULL},
        {-(double)INFINITY, NULL},
        {(double)NAN, NULL},
    };

    fake.fake_context_create(0);
    for (int open = 0; open < 2; open++)
        for (int is_f64 = 0; is_f64 < 2; is_f64++) {
            tj_problem problem = TJ_PROBLEM_INIT(8, 8, 8, is_f64 ? TJ_F64 : TJ_F16);
            tj_kernel *kernel;

            problem.epilogue.has_alpha = problem.epilogue.has_beta = 1;
            problem.j.mode = open ? TJ_DIM_ANY : TJ_DIM_FIXED;
            kernel = load(problem);
            for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
                for (int which = 0; which < 2; which++) {
                    tj_operands x = some_operands();
                    const bool is_refused = rows[i].words && !is_f64;

                    *(which ? &x.beta : &x.alpha) = rows[i].value;
                    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), is_refused ? TJ_ERR_INVALID_ARGUMENT : TJ_OK),
                              "row %zu: %s", i, err.message);
                    cr_expect(is_refused == false || (says(which ? "beta" : "alpha") && says(rows[i].words)), "%s",
                              err.message);
                }
            tj_kernel_free(kernel);
        }
}

/* A matrix of the test below, in elements of one buffer: [at + b * stride + line * ld, ... + width). */
typedef struct laid {
    int64_t at, lines, width, ld, stride, batch;
} laid;

static bool share_an_element(const laid *a, const laid *b)
{
    static char is_of_a[4096];
    bool share = false;

    memset(is_of_a, 0, sizeof is_of_a);
    for (int64_t i = 0; i < a->batch * a->lines; i++)
        memset(is_of_a + a->at + i / a->lines * a->stride + i % a->lines * a->ld, 1, (size_t)a->width);
    for (int64_t i = 0; i < b->batch * b->lines; i++)
        share |= memchr(is_of_a + b->at + i / b->lines * b->stride + i % b->lines * b->ld, 1, (size_t)b->width) != NULL;
    return share;
}

static int64_t draw(unsigned *seed, int64_t least, int64_t most)
{
    return least + rand_r(seed) % (most - least + 1);
}

/* Every launch, not only the first: 8000 pairs of an M and a P in one buffer, against a look at each element. */
Test(launch, refuses_a_p_that_overlaps_what_it_reads_and_no_other)
{
    enum { FAR = 1 << 20, RUNS = 8000 };
    unsigned seed = 24;
    int refused = 0, accepted_inside = 0;

    fake.fake_context_create(0);
    for (int run = 0; run < RUNS; run++) {
        const int64_t j = draw(&seed, 1, 6), k = draw(&seed, 1, 6), l = draw(&seed, 1, 6), batch = draw(&seed, 1, 3);
        const bool has_one_ld = run % 2 == 0, is_read_as_c = run % 4 == 1;
        const int64_t ld = draw(&seed, 6, 18);
        tj_problem problem = TJ_PROBLEM_INIT(j, k, l, TJ_F32);
        tj_operands x = TJ_OPERANDS_INIT;
        tj_kernel *kernel;
        tj_status first, second;
        laid in = {0, j, is_read_as_c ? l : k, has_one_ld ? ld : draw(&seed, 6, 12), 0, batch}, p = {0, j, l, 0, 0, batch};
        bool share;

        p.ld = has_one_ld ? ld : draw(&seed, l, 12);
        in.stride = draw(&seed, 0, 2) ? in.lines * in.ld + draw(&seed, 0, 1) * 5 : 0;
        p.stride = draw(&seed, 0, 3) ? p.lines * p.ld : p.lines * p.ld + 7;
        in.at = draw(&seed, 0, 60);
        p.at = in.at + draw(&seed, -40, 60);
        p.at = p.at < 0 ? 0 : p.at;
        problem.batch = batch;
        problem.p.ld = p.ld;
        problem.p.stride = p.stride;
        problem.epilogue.has_beta = is_read_as_c;
        *(is_read_as_c ? &problem.c.ld : &problem.m.ld) = in.ld;
        *(is_read_as_c ? &problem.c.stride : &problem.m.stride) = in.stride ? in.stride : TJ_BROADCAST;
        kernel = load(problem);
        x.beta = 1.0;
        x.m.address = (const void *)(uintptr_t)(2 * FAR);
        x.n.address = (const void *)(uintptr_t)(3 * FAR);
        x.p.address = (void *)(uintptr_t)(FAR + 4 * p.at);
        *(is_read_as_c ? &x.c.address : &x.m.address) = (const void *)(uintptr_t)(FAR + 4 * in.at);
        first = tj_kernel_launch(kernel, &x, NULL, &err);
        second = tj_kernel_launch(kernel, &x, NULL, &err);
        cr_expect(eq(int, first, second));
        share = share_an_element(&in, &p);
        if (is_read_as_c && x.c.address == x.p.address) { /* in place, if it lies in P as P does */
            cr_expect(eq(int, first == TJ_OK, (in.ld == p.ld || j == 1) && (in.stride == p.stride || batch == 1)), "run %d",
                      run);
        } else if (first != TJ_OK) {
            cr_expect(share && (says("overlap") || says("at the address of")), "run %d is refused: %s", run, err.message);
            refused++;
        } else {
            accepted_inside += !share && in.at < p.at + p.lines * p.ld && p.at < in.at + in.lines * in.ld;
            /* The overlaps that the header promises to detect. */
            cr_expect(not(share && batch == 1 && (in.ld == p.ld || j == 1 || in.ld == in.width || p.ld == p.width)), "run %d",
                      run);
        }
        tj_kernel_free(kernel);
    }
    cr_expect(refused > 1000 && accepted_inside > 200, "%d refused, %d accepted side by side", refused, accepted_inside);
}

/* The driver is asked the same about an array as about a matrix; only the device knows the targets of its pointers. */
Test(pointers, in_arrays_are_not_looked_at_but_the_arrays_are)
{
    static void *on_the_host[5];
    tj_problem problem = TJ_PROBLEM_INIT(8, 8, 8, TJ_F64);
    tj_operands x = TJ_OPERANDS_INIT;
    tj_kernel *kernel;
    uint64_t m, p;

    problem.batch = 5;
    problem.m.stride = TJ_POINTERS;
    problem.p.stride = TJ_POINTERS_16;
    fake.fake_context_create(0);
    kernel = load(problem);
    m = fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 5 * 8);
    p = fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 5 * 8);
    x.m.address = (const void *)m;
    x.n.address = (const void *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 5 * 64 * 8);
    x.p.address = (void *)p;
    cr_expect(eq(int, tj_kernel_check_pointers(kernel, &x, &err), TJ_OK), "%s", err.message);
    x.m.address = on_the_host;
    cr_expect(eq(int, tj_kernel_check_pointers(kernel, &x, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("the array of pointers to M at 0x") && says("is a host address") && says("copy it to the device first"),
              "%s", err.message);
    x.m.address = (const void *)(m + 8);
    cr_expect(eq(int, tj_kernel_check_pointers(kernel, &x, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("the array of pointers to M needs 40 bytes") && says("32 left"), "%s", err.message);
    x.m.address = x.p.address;
    cr_expect(eq(int, tj_kernel_check_pointers(kernel, &x, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("P is at the address of M"), "%s", err.message);
    tj_kernel_free(kernel);
}

Test(pointers, of_a_batch_need_room_for_all_of_it)
{
    tj_problem problem = TJ_PROBLEM_INIT(8, 8, 8, TJ_F64);
    tj_operands x = TJ_OPERANDS_INIT;
    tj_kernel *kernel;

    problem.batch = 5;
    problem.n.stride = TJ_BROADCAST;
    fake.fake_context_create(0);
    kernel = load(problem);
    x.m.address = (const void *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 5 * 64 * 8);
    x.n.address = (const void *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 64 * 8);
    x.p.address = (void *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 5 * 64 * 8 - 1);
    cr_expect(eq(int, tj_kernel_check_pointers(kernel, &x, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("P needs 2560 bytes") && says("2559"), "%s", err.message);
    x.p.address = (void *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 5 * 64 * 8);
    cr_expect(eq(int, tj_kernel_check_pointers(kernel, &x, &err), TJ_OK), "%s", err.message);
    tj_kernel_free(kernel);
}
