/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * The program's own allocator (tj_context_options.allocate): what it is asked for, that all goes back, and its faults. For a
 * tuning, see tuner/test_tune.c.
 */
#include "kernel_test.h"

/* A program's pool that counts. */
typedef struct pool {
    size_t bytes;               /* of the last piece */
    struct CUstream_st *stream; /* of the last piece */
    int taken, given, wrong;    /* wrong: another address, size or stream came back than went out */
    int misalignment;           /* of what it gives */
    bool is_empty;
} pool;

static pool own;
static const uintptr_t PIECE = 0x700000000000;

static void *take(size_t bytes, struct CUstream_st *stream, void *payload)
{
    pool *p = payload;

    if (p->is_empty)
        return NULL;
    p->taken++, p->bytes = bytes, p->stream = stream;
    return (void *)(PIECE + (uintptr_t)p->misalignment);
}

static void give(void *memory, size_t bytes, struct CUstream_st *stream, void *payload)
{
    pool *p = payload;

    p->given++;
    p->wrong += (uintptr_t)memory != PIECE + (uintptr_t)p->misalignment || bytes != p->bytes || stream != p->stream;
}

static void make_pooled_context_of(const char *driver)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;

    fake = fake_open(driver);
    own = (pool){0};
    options.driver = driver;
    options.cache_dir = "";
    options.allocate = take;
    options.release = give;
    options.allocator_payload = &own;
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
}

static void make_pooled_context(void)
{
    make_pooled_context_of(FAKE_CUDA_PATH);
}

static void make_pooled_context_of_old_driver(void)
{
    char path[PATH_MAX];

    make_pooled_context_of(fake_sibling(FAKE_CUDA_PATH, "libfake_cuda_old.so", path));
}

/* Whatever happened, all went back as it came, and the driver was asked for nothing. */
static void free_pooled_context(void)
{
    tj_context_free(context);
    cr_expect(eq(int, own.taken, own.given));
    cr_expect(eq(int, own.wrong, 0));
    cr_expect(eq(ulong,
                 fake.fake_calls("cuMemAllocAsync") + fake.fake_calls("cuMemAlloc") + fake.fake_calls("cuMemFree") +
                     fake.fake_calls("cuMemFreeAsync"),
                 0));
}

TestSuite(allocator, .init = make_pooled_context, .fini = free_pooled_context);
TestSuite(allocator_on_old_driver, .init = make_pooled_context_of_old_driver, .fini = free_pooled_context);

Test(allocator, gives_the_workspace_of_a_launch_and_has_it_back_when_the_call_returns)
{
    const CUstream stream = (CUstream)(uintptr_t)0x7777;
    tj_launch_form form;
    tj_kernel *kernel = load_split((tj_problem)TJ_PROBLEM_INIT(16, 500, 16, TJ_F32), 4, &form);
    tj_operands x = some_operands();
    fake_launch launch;

    cr_assert(eq(int, tj_kernel_launch(kernel, &x, stream, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(ulong, fake.fake_launches(), 2));
    cr_expect(eq(sz, own.bytes, (size_t)form.workspace_bytes));
    cr_expect(own.stream == stream && own.taken == 1 && own.given == 1);
    cr_assert(fake.fake_get_launch(1, &launch));
    x.workspace = (void *)PIECE;
    expect_arguments_of(&form.step[1], false, &x, &launch);
    x = operands_with_workspace(&form);
    cr_assert(eq(int, tj_kernel_launch(kernel, &x, stream, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, own.taken, 1), "operands that bring a workspace need no other");
    tj_kernel_free(kernel);
}

Test(allocator, that_is_empty_or_misaligned_fails_the_call_alone)
{
    tj_launch_form form;
    tj_kernel *kernel = load_split((tj_problem)TJ_PROBLEM_INIT(16, 500, 16, TJ_F32), 4, &form);
    tj_operands x = some_operands();
    tj_buffer *buffer = (tj_buffer *)&own;

    own.is_empty = true;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_DEVICE_MEMORY));
    cr_expect(says("option allocate") && says("4096 bytes"), "%s", err.message);
    cr_expect(eq(int, tj_buffer_create(context, 10, &buffer, &err), TJ_ERR_DEVICE_MEMORY));
    cr_expect(buffer == NULL && says("10 bytes"), "%s", err.message);
    own.is_empty = false, own.misalignment = 16;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_DEVICE_MEMORY));
    cr_expect(says("0x700000000010") && says("aligned to 256"), "%s", err.message);
    cr_expect(eq(int, own.given, 1));
    cr_expect(eq(ulong, fake.fake_launches(), 0));
    own.misalignment = 0;
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    tj_kernel_free(kernel);
}

Test(allocator, has_all_back_when_a_launch_fails_and_when_the_device_is_lost)
{
    tj_kernel *kernel = load_split((tj_problem)TJ_PROBLEM_INIT(16, 500, 16, TJ_F32), 4, &(tj_launch_form){0});
    tj_operands x = some_operands();
    tj_buffer *buffer;

    fake.fake_fail("cuLaunchKernel", 1, 701);
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_DRIVER));
    cr_expect(says("cannot launch tiled") && own.given == 1, "%s", err.message);
    fake.fake_fail("cuStreamSynchronize", 1, 1);
    cr_expect(eq(int, tj_buffer_create(context, 10, &buffer, &err), TJ_ERR_DRIVER));
    cr_expect(says("allocator") && own.given == 2, "%s", err.message);
    fake.fake_fail(NULL, 0, 0);
    cr_assert(eq(int, tj_buffer_create(context, 0, &buffer, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(sz, own.bytes, 1), "a buffer of size 0 has an address too");
    cr_expect(eq(ptr, tj_buffer_address(buffer), (void *)PIECE));
    fake.fake_fail("cuLaunchKernel", 1, 700);
    own.bytes = 4096; /* of the workspace, which goes back first */
    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_ERR_DEVICE_LOST));
    own.bytes = 1;
    tj_buffer_free(buffer);
    tj_kernel_free(kernel);
}

Test(allocator_on_old_driver, gives_what_the_driver_cannot)
{
    tj_kernel *kernel = load_split((tj_problem)TJ_PROBLEM_INIT(16, 500, 16, TJ_F32), 4, &(tj_launch_form){0});
    tj_operands x = some_operands();

    cr_expect(eq(int, tj_kernel_launch(kernel, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, own.taken, 1));
    tj_kernel_free(kernel);
}

Test(allocator_options, are_both_functions_or_neither)
{
    for (int i = 0; i < 2; i++) {
        tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;

        options.allocate = i == 0 ? take : NULL;
        options.release = i == 1 ? give : NULL;
        cr_expect(eq(int, tj_context_create(&options, &context, &err), TJ_ERR_INVALID_ARGUMENT));
        cr_expect(says(i == 0 ? "allocate is set without release" : "release is set without allocate"), "%s", err.message);
    }
}
