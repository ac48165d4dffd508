/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* Launches of several kernels, with tensor maps, clusters and slices of the workspace. */
#include "kernel_test.h"

TestSuite(steps, .init = make_context, .fini = free_context);

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
