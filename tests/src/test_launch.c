/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* Launches: arguments, grids, operands that are refused. */
#include <math.h>

#include "kernel_test.h"

TestSuite(launch, .init = make_context, .fini = free_context);

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

/* Clusters of four leave two of 18 neighbouring multiprocessors free. A cluster that begins late would walk as many tiles as the others. */
Test(launch, of_clusters_that_walk_takes_as_many_as_run_at_once)
{
    const struct {
        int cluster[2];
        unsigned int blocks;
    } rows[] = {{{1, 1}, 132}, {{2, 1}, 132}, {{4, 1}, 116}, {{8, 1}, 112}, {{1, 4}, 29}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_problem problem = canonical((tj_problem)TJ_PROBLEM_INIT(1600, 48, 1600, TJ_F32));
        const tj_operands x = some_operands();
        tj_launch_form form = form_of(&problem);
        fake_launch launch;
        tj_kernel *kernel;

        form.step[0].grid = TJ_GRID_WALK;
        form.step[0].resident = 1;
        for (int axis = 0; axis < 2; axis++)
            form.step[0].cluster[axis] = rows[i].cluster[axis];
        kernel = load_form(&form, &problem);
        cr_assert(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
        cr_assert(fake.fake_get_launch(i, &launch));
        cr_expect(launch.grid[0] == rows[i].blocks && launch.grid[1] == (unsigned int)rows[i].cluster[1], "row %zu: %u, %u", i,
                  launch.grid[0], launch.grid[1]);
        tj_kernel_free(kernel);
    }
}

/* 132 multiprocessors hold two blocks each, and each product has 7 x 5 tiles. */
Test(launch, of_blocks_that_walk_fills_the_device)
{
    const struct {
        int grid;
        int64_t batch;
        unsigned int blocks, on_z;
    } rows[] = {
        {TJ_GRID_WALK, 1, 35, 1},     {TJ_GRID_WALK, 8, 33, 8},      {TJ_GRID_WALK, 300, 1, 300},
        {TJ_GRID_WALK_ALL, 1, 35, 1}, {TJ_GRID_WALK_ALL, 8, 264, 1}, {TJ_GRID_WALK_ALL, 100000, 264, 1},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(100, 48, 70, TJ_F32);
        const tj_operands x = some_operands();
        tj_launch_form form;
        fake_launch launch;
        tj_kernel *kernel;

        problem.batch = rows[i].batch;
        problem = canonical(problem);
        form = form_of(&problem);
        form.step[0].grid = rows[i].grid;
        form.step[0].resident = 2;
        kernel = load_form(&form, &problem);
        cr_assert(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
        cr_assert(eq(ulong, fake.fake_launches(), i + 1));
        cr_assert(fake.fake_get_launch(i, &launch));
        cr_expect(launch.grid[0] == rows[i].blocks && launch.grid[1] == 1 && launch.grid[2] == rows[i].on_z, "row %zu: %u, %u",
                  i, launch.grid[0], launch.grid[2]);
        tj_kernel_free(kernel);
    }
}

/* A block counts tiles in an int, and goes on from the last one by the number of blocks. */
Test(launch, of_more_tiles_than_an_int_counts_takes_several)
{
    tj_problem problem = TJ_PROBLEM_INIT(20, 5, 6, TJ_F32);
    const tj_operands x = some_operands();
    int64_t products = 0;
    tj_launch_form form;
    tj_kernel *kernel;

    problem.batch = (1 << 30) + 1;
    problem = canonical(problem);
    form = form_of(&problem);
    form.step[0].grid = TJ_GRID_WALK_ALL;
    form.step[0].resident = 1;
    form.step[0].arg_count = 0;
    add(&form.step[0], true, TJ_ARG_BATCH, 0);
    kernel = load_form(&form, &problem);
    cr_assert(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(ulong, fake.fake_launches(), 3));
    for (unsigned long i = 0; i < 3; i++) {
        fake_launch launch;
        int32_t batch;

        cr_assert(fake.fake_get_launch(i, &launch));
        memcpy(&batch, launch.args, sizeof batch);
        cr_expect(2 * (int64_t)batch <= INT32_MAX / 2, "%d products of 2 tiles", batch);
        products += batch;
    }
    cr_expect(eq(i64, products, (1 << 30) + 1));
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
