/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* Launches on arrays of pointers, and of several products in a block. */
#include "kernel_test.h"

TestSuite(launch, .init = make_context, .fini = free_context);

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
