/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <string.h>

#include <tilejit/tilejit.h>

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
}

TestSuite(device, .init = make_context, .fini = free_context);

Test(device, facts_come_from_the_driver)
{
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
    int count = 0;

    fake.fake_set_devices(2);
    fake.fake_set_device_attribute(1, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 12);
    fake.fake_set_device_attribute(1, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 1);
    cr_assert(eq(int, tj_device_count(context, &count, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, count, 2));
    cr_assert(eq(int, tj_device_get(context, 1, &facts, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, facts.ordinal, 1));
    cr_expect(strcmp(facts.name, "Fake Device 1") == 0, "%s", facts.name);
    cr_expect(strcmp(facts.uuid, "01122334-4556-6778-899a-abbccddeef00") == 0, "%s", facts.uuid);
    cr_expect(eq(int, facts.cc_major, 12));
    cr_expect(eq(int, facts.cc_minor, 1));
    cr_expect(eq(int, facts.sm_count, 132));
    cr_expect(eq(int, facts.max_grid_y, 65535));
    cr_expect(eq(i64, facts.shared_per_block_optin, 232448));
    cr_expect(eq(i64, facts.l2_bytes, 50 * 1024 * 1024));
    cr_expect(eq(i64, facts.memory_bytes, (int64_t)80 << 30));
    cr_expect(eq(int, facts.clock_khz, 1980000));
    cr_expect(eq(int, facts.driver_version, 13000));
    cr_expect(eq(int, fake.fake_live_primaries(), 0), "asking makes no CUDA context");
}

Test(device, that_does_not_exist_is_named)
{
    static const int ordinals[] = {-1, 1, 7, INT32_MAX, INT32_MIN};
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;

    for (size_t i = 0; i < sizeof ordinals / sizeof ordinals[0]; i++) {
        cr_expect(eq(int, tj_device_get(context, ordinals[i], &facts, &err), TJ_ERR_INVALID_ARGUMENT), "%d", ordinals[i]);
        cr_expect(strstr(err.message, "has 1") != NULL, "%s", err.message);
    }
}

Test(device, fact_that_the_driver_does_not_know_is_zero)
{
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;

    fake.fake_fail("cuDeviceGetAttribute", 15, CUDA_ERROR_INVALID_VALUE);
    cr_assert(eq(int, tj_device_get(context, 0, &facts, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(i64, facts.reserved_shared_per_block, 0));
    cr_expect(eq(int, facts.memory_bus_bits, 6144));
}

Test(device, that_is_hidden_is_no_driver)
{
    int count = 7;

    fake.fake_set_devices(0);
    cr_expect(eq(int, tj_device_count(context, &count, &err), TJ_ERR_NO_DRIVER));
    cr_expect(strstr(err.message, "CUDA_VISIBLE_DEVICES") != NULL, "%s", err.message);
    cr_expect(eq(int, count, 0));
    fake.fake_set_devices(1);
    cr_expect(eq(int, tj_device_count(context, &count, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, count, 1));
}

Test(device, every_failing_call_is_reported_and_the_next_request_works)
{
    static const char *const names[] = {"cuDeviceGetCount", "cuDeviceGet",      "cuDeviceGetName",
                                        "cuDeviceGetUuid",  "cuDeviceTotalMem", "cuDeviceGetAttribute"};
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;

    cr_assert(eq(int, tj_device_get(context, 0, &facts, &err), TJ_OK), "%s", err.message);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        fake.fake_fail(names[i], 1, 999);
        cr_expect(eq(int, tj_device_get(context, 0, &facts, &err), TJ_ERR_DRIVER), "%s", names[i]);
        cr_expect(strstr(err.message, "CUDA_ERROR_UNKNOWN (999)") != NULL, "%s: %s", names[i], err.message);
        cr_expect(eq(int, facts.cc_major, 0), "%s: nothing half-filled", names[i]);
        fake.fake_fail(NULL, 0, 0);
        cr_expect(eq(int, tj_device_get(context, 0, &facts, &err), TJ_OK), "%s: %s", names[i], err.message);
    }
}
