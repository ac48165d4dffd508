/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_facts: query facts of a CUDA device from the driver, without creating a context.
 */
#include "gpu.h"

#include <string.h>

#include "error.h"
#include "scope.h"

static tj_status usable_driver(tj_gpu *gpu, const tj_driver **driver, tj_error *err)
{
    tj_status status = tj_gpu_driver(gpu, driver, err);

    return status == TJ_OK ? tj_driver_check_alive(*driver, err) : status;
}

/* An attribute unknown to this driver is 0; any other failure is an error. */
static tj_status attribute(const tj_driver *driver, CUdevice device, int number, int *value, tj_error *err)
{
    CUresult result = driver->api.device_get_attribute(value, number, device);

    if (result == CUDA_SUCCESS)
        return TJ_OK;
    *value = 0;
    if (result == CUDA_ERROR_INVALID_VALUE)
        return TJ_OK;
    return tj_driver_fail(driver, result, err, "cannot ask device %d for attribute %d", device, number);
}

static void format_uuid(const CUuuid *uuid, char *out)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < sizeof uuid->bytes; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *out++ = '-';
        *out++ = digits[uuid->bytes[i] >> 4];
        *out++ = digits[uuid->bytes[i] & 15];
    }
    *out = '\0';
}

static tj_status read_limits(const tj_driver *driver, CUdevice device, tj_device_facts *facts, tj_error *err)
{
    int shared = 0, shared_optin = 0, shared_sm = 0, shared_reserved = 0, l2 = 0;
    const struct {
        int number;
        int *value;
    } wanted[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &facts->cc_major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &facts->cc_minor},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &facts->sm_count},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &facts->max_threads_per_block},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &facts->max_threads_per_sm},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, &facts->max_blocks_per_sm},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, &facts->max_grid_x},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, &facts->max_grid_y},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, &facts->max_grid_z},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, &facts->registers_per_block},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, &facts->registers_per_sm},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &shared},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &shared_optin},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, &shared_sm},
        {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, &shared_reserved},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &l2},
        {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, &facts->memory_bus_bits},
    };

    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        tj_status status = attribute(driver, device, wanted[i].number, wanted[i].value, err);
        if (status != TJ_OK)
            return status;
    }
    facts->shared_per_block = shared;
    facts->shared_per_block_optin = shared_optin;
    facts->shared_per_sm = shared_sm;
    facts->reserved_shared_per_block = shared_reserved;
    facts->l2_bytes = l2;
    return TJ_OK;
}

static tj_status read_clocks(const tj_driver *driver, CUdevice device, tj_device_facts *facts, tj_error *err)
{
    const tj_status status = attribute(driver, device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &facts->clock_khz, err);

    return status == TJ_OK ? attribute(driver, device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, &facts->memory_clock_khz, err)
                           : status;
}

tj_status tj_gpu_count_devices(tj_gpu *gpu, int *count, tj_error *err)
{
    const tj_driver *driver = NULL;
    CUresult result;
    tj_status status = usable_driver(gpu, &driver, err);

    *count = 0;
    if (status != TJ_OK)
        return status;
    result = driver->api.device_get_count(count);
    if (result != CUDA_SUCCESS)
        return tj_driver_fail(driver, result, err, "cannot count the devices");
    return TJ_OK;
}

static tj_status read_facts(tj_gpu *gpu, int ordinal, bool wants_clocks, tj_device_facts *facts, tj_error *err)
{
    const tj_driver *driver = NULL;
    CUdevice device = 0;
    CUuuid uuid;
    size_t memory = 0;
    CUresult result;
    int count = 0;
    tj_status status = tj_gpu_count_devices(gpu, &count, err);

    *facts = (tj_device_facts)TJ_DEVICE_FACTS_INIT;
    if (status == TJ_OK)
        status = usable_driver(gpu, &driver, err);
    if (status != TJ_OK)
        return status;
    if (ordinal < 0 || ordinal >= count)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "there is no CUDA device %d: this machine has %d, numbered from 0",
                       ordinal, count);
    result = driver->api.device_get(&device, ordinal);
    if (result == CUDA_SUCCESS)
        result = driver->api.device_get_name(facts->name, (int)sizeof facts->name, device);
    if (result == CUDA_SUCCESS)
        result = driver->api.device_total_mem(&memory, device);
    if (result == CUDA_SUCCESS && driver->api.device_get_uuid) {
        result = driver->api.device_get_uuid(&uuid, device);
        if (result == CUDA_SUCCESS)
            format_uuid(&uuid, facts->uuid);
    }
    if (result != CUDA_SUCCESS)
        status = tj_driver_fail(driver, result, err, "cannot ask for the facts of device %d", ordinal);
    else
        status = read_limits(driver, device, facts, err);
    if (status == TJ_OK && wants_clocks)
        status = read_clocks(driver, device, facts, err);
    facts->name[sizeof facts->name - 1] = '\0';
    facts->ordinal = ordinal;
    facts->memory_bytes = (int64_t)memory;
    facts->driver_version = driver->version;
    if (status != TJ_OK)
        *facts = (tj_device_facts)TJ_DEVICE_FACTS_INIT;
    return status;
}

tj_status tj_gpu_device_facts(tj_gpu *gpu, int ordinal, tj_device_facts *facts, tj_error *err)
{
    return read_facts(gpu, ordinal, true, facts, err);
}

tj_status tj_gpu_device_limits(tj_gpu *gpu, int ordinal, tj_device_facts *facts, tj_error *err)
{
    return read_facts(gpu, ordinal, false, facts, err);
}

tj_status tj_gpu_current_device(tj_gpu *gpu, tj_device_facts *facts, tj_error *err)
{
    int ordinal = 0;
    tj_scope scope;
    tj_status status = tj_gpu_check_process(gpu, err);

    if (status == TJ_OK)
        status = tj_scope_enter(gpu, &scope, err);
    if (status != TJ_OK)
        return status;
    status = tj_scope_device(&scope, &ordinal, err);
    tj_scope_leave(&scope);
    return status == TJ_OK ? tj_gpu_device_facts(gpu, ordinal, facts, err) : status;
}
