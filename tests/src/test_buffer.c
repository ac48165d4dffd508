/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <string.h>

#include <tilejit/tilejit.h>

#include "buffer.h"
#include "fake/fake_cuda.h"

static fake_cuda fake;
static tj_error err;
static tj_context *context;

static void make_context(void)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;

    fake = fake_open(FAKE_CUDA_PATH);
    options.driver = FAKE_CUDA_PATH;
    options.cache_dir = "";
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
}

static void free_context(void)
{
    tj_context_free(context);
    cr_expect(eq(int, fake.fake_context_depth(), 0), "the context that was current is current again");
    cr_expect(eq(int, fake.fake_live_primaries(), 0));
}

TestSuite(buffer, .init = make_context, .fini = free_context);

Test(buffer, gives_back_what_was_written)
{
    static const char text[] = "a tile of M and a tile of N";
    char back[sizeof text] = "";
    tj_buffer *buffer = NULL;

    cr_assert(eq(int, tj_buffer_create(context, sizeof text, &buffer, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(u64, (uint64_t)(uintptr_t)tj_buffer_address(buffer) % 256, 0));
    cr_expect(eq(int, tj_buffer_fill(buffer, 0xff, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, tj_buffer_write(buffer, 2, text, 5, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, tj_buffer_read(buffer, 0, back, sizeof back, &err), TJ_OK), "%s", err.message);
    cr_expect(memcmp(back,
                     "\xff\xff"
                     "a til\xff",
                     8) == 0);
    tj_buffer_free(buffer);
    tj_buffer_free(NULL);
    cr_expect(eq(int, (int)fake.fake_calls("cuMemFree"), 1));
}

/* The host sends it once, and the device doubles it; a driver that cannot gets it all from the host. */
static void expect_repeated(unsigned long from_host)
{
    static const char wanted[] = "..abcabcabcabcabcab";
    const unsigned long before = fake.fake_calls("cuMemcpyHtoDAsync");
    char back[sizeof wanted - 1];
    tj_buffer *buffer = NULL;

    cr_assert(eq(int, tj_buffer_create(context, sizeof back, &buffer, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_buffer_fill(buffer, '.', &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_buffer_write_over_and_over(buffer, 2, "abc", 3, 17, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_buffer_read(buffer, 0, back, sizeof back, &err), TJ_OK), "%s", err.message);
    cr_expect(memcmp(back, wanted, sizeof back) == 0, "%.19s", back);
    cr_expect(eq(ulong, fake.fake_calls("cuMemcpyHtoDAsync") - before, from_host));
    cr_expect(eq(int, tj_buffer_write_over_and_over(buffer, 2, "abc", 3, 0, &err), TJ_OK));
    cr_expect(eq(int, tj_buffer_write_over_and_over(buffer, 17, "abc", 3, 3, &err), TJ_ERR_INVALID_ARGUMENT), "past its end");
    tj_buffer_free(buffer);
}

Test(buffer, writes_a_period_over_and_over)
{
    expect_repeated(1);
}

Test(buffer_of_an_older_driver, writes_a_period_over_and_over)
{
    fake = fake_open(FAKE_CUDA_PATH);
    fake.fake_hide("cuMemcpyDtoDAsync");
    make_context();
    expect_repeated(6);
    free_context();
}

Test(buffer, refuses_to_copy_outside_itself)
{
    static const struct {
        size_t offset, bytes;
    } rows[] = {{0, 11}, {10, 1}, {11, 0}, {5, SIZE_MAX}, {SIZE_MAX, 1}};
    char host[16] = "";
    tj_buffer *buffer = NULL;

    cr_assert(eq(int, tj_buffer_create(context, 10, &buffer, &err), TJ_OK), "%s", err.message);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect(eq(int, tj_buffer_write(buffer, rows[i].offset, host, rows[i].bytes, &err), TJ_ERR_INVALID_ARGUMENT),
                  "row %zu", i);
        cr_expect(eq(int, tj_buffer_read(buffer, rows[i].offset, host, rows[i].bytes, &err), TJ_ERR_INVALID_ARGUMENT),
                  "row %zu", i);
    }
    cr_expect(eq(int, tj_buffer_write(buffer, 10, NULL, 0, &err), TJ_OK));
    tj_buffer_free(buffer);
    cr_assert(eq(int, tj_buffer_create(context, 0, &buffer, &err), TJ_OK), "%s", err.message);
    cr_expect(tj_buffer_address(buffer) != NULL);
    tj_buffer_free(buffer);
}

Test(buffer, says_how_much_memory_there_was)
{
    tj_buffer *buffer = NULL;

    cr_expect(eq(int, tj_buffer_create(context, (size_t)1 << 50, &buffer, &err), TJ_ERR_DEVICE_MEMORY));
    cr_expect(buffer == NULL);
    cr_expect(strstr(err.message, "1125899906842624 bytes") != NULL, "%s", err.message);
}

Test(buffer, stays_in_its_own_context_whatever_is_current)
{
    tj_buffer *buffer = NULL;
    CUcontext other;
    char byte = 1;

    cr_assert(eq(int, tj_buffer_create(context, 16, &buffer, &err), TJ_OK), "%s", err.message);
    other = fake.fake_context_create(0);
    cr_expect(eq(int, tj_buffer_write(buffer, 0, &byte, 1, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, fake.fake_context_depth(), 1));
    fake.fake_context_destroy(other);
    fake.fake_context_set(NULL);
    tj_buffer_free(buffer);
}

/* Every driver call fails in turn; every failure is reported, nothing is left pushed or allocated. */
Test(buffer, reports_each_driver_call_that_fails)
{
    static const char *const calls[] = {"cuMemAlloc",          "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemsetD8Async",
                                        "cuStreamSynchronize", "cuMemGetInfo",      "cuStreamCreate"};
    size_t free_bytes, total_bytes;
    char host[16] = "";

    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        struct CUstream_st *stream = NULL;
        tj_buffer *buffer = NULL;
        tj_status status;

        fake.fake_fail(calls[i], 1, 999);
        status = tj_stream_create(context, &stream, &err);
        cr_expect(eq(int, status == TJ_OK, stream != NULL));
        if (status == TJ_OK)
            status = tj_buffer_create_in(context, stream, sizeof host, &buffer, &err);
        if (status == TJ_OK)
            status = tj_buffer_write(buffer, 0, host, sizeof host, &err);
        if (status == TJ_OK)
            status = tj_buffer_fill(buffer, 0, &err);
        if (status == TJ_OK)
            status = tj_buffer_read(buffer, 0, host, sizeof host, &err);
        if (status == TJ_OK)
            status = tj_synchronize(context, NULL, &err);
        if (status == TJ_OK)
            status = tj_device_memory(context, &free_bytes, &total_bytes, &err);
        cr_expect(eq(int, status, TJ_ERR_DRIVER), "%s: %s", calls[i], err.message);
        cr_expect(strstr(err.message, "CUDA_ERROR_UNKNOWN") != NULL, "%s: %s", calls[i], err.message);
        tj_buffer_free(buffer);
        tj_stream_destroy(context, stream);
        cr_expect(eq(int, (int)fake.fake_calls("cuStreamDestroy"), (int)i + 1 - (stream == NULL)));
        fake.fake_fail(NULL, 0, 0);
        cr_expect(eq(int, fake.fake_context_depth(), 0), "%s", calls[i]);
    }
}

/* A suite of its own: a lost device cannot release anything. */
Test(buffer_on_a_lost_device, is_freed_without_a_call, .init = make_context)
{
    tj_buffer *buffer = NULL;
    char byte = 0;

    cr_assert(eq(int, tj_buffer_create(context, 16, &buffer, &err), TJ_OK), "%s", err.message);
    fake.fake_fail("cuStreamSynchronize", 1, CUDA_ERROR_ILLEGAL_ADDRESS);
    cr_expect(eq(int, tj_synchronize(context, NULL, &err), TJ_ERR_DEVICE_LOST));
    cr_expect(eq(int, tj_buffer_read(buffer, 0, &byte, 1, &err), TJ_ERR_DEVICE_LOST));
    tj_buffer_free(buffer);
    cr_expect(eq(int, (int)fake.fake_calls("cuMemFree"), 0));
    tj_context_free(context);
    cr_expect(eq(int, fake.fake_context_depth(), 0));
}
