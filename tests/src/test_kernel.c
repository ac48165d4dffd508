/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* Loading a kernel: the code that a device takes, what a kernel is checked for, and its limits. */
#include "kernel_test.h"

TestSuite(kernel, .init = make_context, .fini = free_context);
TestSuite(old_driver, .init = make_context_of_old_driver, .fini = free_context);

Test(kernel, loads_completely_and_unloads)
{
    tj_kernel *kernel = load((tj_problem)TJ_PROBLEM_INIT(64, 48, 32, TJ_F32));
    tj_kernel_facts facts = TJ_KERNEL_FACTS_INIT;
    tj_context_stats stats = TJ_CONTEXT_STATS_INIT;

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

/* A stripped image has no PTX. */
Test(kernel, takes_the_cubin_of_its_family_where_there_is_no_ptx)
{
    static const struct {
        const char *target;
        int minor;
        bool is_loaded;
    } rows[] = {{"sm_120f", 0, true}, {"sm_120f", 1, true}, {"sm_121f", 0, false}, {"sm_120", 1, false}, {"sm_120a", 1, false}};
    tj_problem problem = canonical((tj_problem)TJ_PROBLEM_INIT(64, 48, 32, TJ_F32));
    tj_launch_form form = form_of(&problem);

    tell_parameters(&form, &problem);
    fake.fake_set_device_attribute(0, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 12);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_code code = {rows[i].target, "13.0", "", "CUBIN"};
        tj_kernel *kernel = NULL;

        fake.fake_set_device_attribute(0, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, rows[i].minor);
        cr_expect(
            eq(int, tj_kernel_load_code(&context->host, &form, &problem, &code, &kernel, &err) == TJ_OK, rows[i].is_loaded),
            "%s on 12.%d: %s", rows[i].target, rows[i].minor, err.message);
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
    rows[count] = plain, rows[count++].step[0].arg[0].kind = TJ_ARG_CUSTOM + 1;
    rows[count] = plain, rows[count++].step[0].arg[0].index = TJ_MATRICES; /* scales */
    rows[count] = plain, rows[count++].step[0].arg[0] = (tj_argument){TJ_ARG_EXTENT, TJ_EXTENT_P_ROWS + 1};
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
