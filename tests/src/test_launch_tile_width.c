/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* Launches of kernels whose tile width is chosen at the launch. */
#include "kernel_test.h"

TestSuite(launch, .init = make_context, .fini = free_context);

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
