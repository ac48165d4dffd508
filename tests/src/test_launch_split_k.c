/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* Launches that split k, and the workspace that holds the parts. */
#include "kernel_test.h"

TestSuite(launch, .init = make_context, .fini = free_context);
TestSuite(old_driver, .init = make_context_of_old_driver, .fini = free_context);

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
         "the device cannot allocate in a stream: pass a workspace of tj_plan_workspace_bytes, or use a config that needs none",
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
                  says("a config that needs none"),
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
