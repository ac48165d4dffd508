/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* Pointers: what the driver says of them, room for matrices, and overlap. */
#include "kernel_test.h"

TestSuite(launch, .init = make_context, .fini = free_context);
TestSuite(pointers, .init = make_context, .fini = free_context);

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

Test(pointers, of_lists_are_asked_too)
{
    tj_problem problem = TJ_PROBLEM_INIT(10, 20, 30, TJ_F32);
    tj_kernel *kernel;
    tj_operands x = TJ_OPERANDS_INIT;

    fake.fake_context_create(0);
    problem.rows.gathered = 1;
    kernel = load(problem);
    x.m.address = (const void *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 10 * 20 * 4);
    x.n.address = (const void *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 20 * 30 * 4);
    x.p.address = (const void *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 10 * 30 * 4);
    x.m_index = (const int32_t *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 10 * 4);
    cr_expect(eq(int, tj_kernel_check_pointers(kernel, &x, &err), TJ_OK), "%s", err.message);
    x.m_index = (const int32_t *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 9 * 4);
    cr_expect(eq(int, tj_kernel_check_pointers(kernel, &x, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "m_index needs 40 bytes") != NULL, "%s", err.message);
    tj_kernel_free(kernel);
}

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
