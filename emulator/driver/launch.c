/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch: kernel launches, from their arguments to what the context reports afterwards.
 *
 * The modelled clock goes on by a launch's share of the device's bandwidth or arithmetic, whichever is more, if launches are
 * counted; else by the same for every launch. Multiply-adds of MMA instructions count as eight times as fast as others.
 */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

#include "launch.h"
#include "option.h"

enum { LAUNCH_NS = 2000, UNCOUNTED_NS = 5000, LANES = 128, MMA_SPEED = 8, SECTOR = 32, MAX_PARAMETER_BYTES = 32764 };

/* What a finding is to a program. */
static CUresult result_of(cuEmuKind kind)
{
    switch (kind) {
    case CUEMU_NONE:
        return CUDA_SUCCESS;
    case CUEMU_OUT_OF_BOUNDS:
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    case CUEMU_MISALIGNED:
        return CUDA_ERROR_MISALIGNED_ADDRESS;
    case CUEMU_ILLEGAL:
    case CUEMU_DIVERGENT:
        return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case CUEMU_ENDLESS:
    case CUEMU_DEADLOCK:
        return CUDA_ERROR_LAUNCH_TIMEOUT;
    case CUEMU_ASSERT:
        return CUDA_ERROR_ASSERT;
    default:
        return CUDA_ERROR_LAUNCH_FAILED;
    }
}

static uint64_t duration(const emu_device *device)
{
    const double memory = (double)device->memory_clock_khz * 2e3 * device->bus_bits / 8;
    const double arithmetic = (double)device->processors * LANES * 2 * device->clock_khz * 1e3;
    cuEmuLaunch launch;
    double by_memory, by_arithmetic;

    if (!emu_option(CUEMU_COUNT) || !emu_counted_launch(&launch))
        return UNCOUNTED_NS;
    by_memory = (double)(launch.total.global_load_sectors + launch.total.global_store_sectors) * SECTOR / memory;
    by_arithmetic = ((double)launch.total.flops + (double)launch.total.mma_flops / MMA_SPEED) / arithmetic;
    return LAUNCH_NS + (uint64_t)(1e9 * (by_memory > by_arithmetic ? by_memory : by_arithmetic));
}

/* The limits of the device and the function. */
static CUresult check_limits(const emu_kernel_function *f, const emu_work *work)
{
    const emu_device *device = f->module->context->device;
    const uint32_t *grid = work->grid, *block = work->block;
    const uint64_t threads = (uint64_t)block[0] * block[1] * block[2];

    if (emu_function_allowed(f->function) != CUDA_SUCCESS)
        return CUDA_ERROR_NOT_SUPPORTED;
    for (int i = 0; i < 3; i++)
        if (!grid[i] || !block[i])
            return CUDA_ERROR_INVALID_VALUE;
    if (grid[0] > 2147483647u || grid[1] > 65535 || grid[2] > 65535)
        return CUDA_ERROR_INVALID_VALUE;
    if (block[0] > 1024 || block[1] > 1024 || block[2] > 64 || threads > (uint64_t)emu_function_threads(f->function))
        return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < 3; i++)
        if (f->function->reqntid[0] && block[i] != (f->function->reqntid[i] ? f->function->reqntid[i] : 1))
            return CUDA_ERROR_INVALID_VALUE;
    if (work->shared_bytes > (uint32_t)f->settings.max_dynamic)
        return CUDA_ERROR_INVALID_VALUE;
    if ((uint64_t)work->shared_bytes + f->function->static_shared > (uint64_t)device->shared_per_block_optin)
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    return CUDA_SUCCESS;
}

/* The function that a launch names, in its context. */
static CUresult find_kernel(emu_context *context, const emu_work *work, emu_kernel_function **function)
{
    CUresult result = emu_function_get(context, work->function, function);

    if (result == CUDA_SUCCESS && (*function)->module->context != context)
        result = CUDA_ERROR_INVALID_HANDLE;
    return result == CUDA_SUCCESS ? check_limits(*function, work) : result;
}

/* Run a kernel in a context. */
static CUresult run_kernel(CUcontext handle, const emu_work *work)
{
    emu_context *context;
    emu_kernel_function *function;
    const emu_function *code;
    const emu_device *device;
    emu_loaded *module;
    CUresult result;
    uint64_t owner;
    cuEmuKind kind;
    int ordinal;

    emu_lock();
    context = emu_handle_get(O_CONTEXT, handle);
    result = context ? context->sticky : CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (result == CUDA_SUCCESS)
        result = find_kernel(context, work, &function);
    if (result == CUDA_SUCCESS && work->parameter_bytes < function->function->param_bytes)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return emu_leave(result);
    module = function->module;
    module->users++;
    code = function->function;
    device = context->device;
    owner = context->id;
    ordinal = context->ordinal;
    emu_unlock();

    kind = emu_launch_kernel(device, module->ptx, code, work->grid, work->block, work->shared_bytes, work->parameters, owner);
    result = result_of(kind);
    emu_advance_clock(ordinal, duration(device));

    emu_lock();
    emu_module_release(module);
    context = emu_handle_get(O_CONTEXT, handle);
    if (result != CUDA_SUCCESS && context && context->id == owner)
        context->sticky = result;
    return emu_leave(result);
}

CUresult emu_work_do(CUcontext handle, const emu_work *work, bool is_trial)
{
    const emu_device *device;
    emu_context *context;
    CUresult result;
    int ordinal;

    if (work->kind == W_ALLOCATE || work->kind == W_FREE)
        return CUDA_SUCCESS; /* the graph's memory is there already, and as long as the graph */
    if (work->kind == W_HOST) {
        if (!is_trial)
            work->call(work->data);
        return CUDA_SUCCESS;
    }
    if (work->kind == W_KERNEL && !is_trial)
        return run_kernel(handle, work);
    emu_lock();
    context = emu_handle_get(O_CONTEXT, handle);
    if (!context || context->sticky)
        return emu_leave(context ? context->sticky : CUDA_ERROR_CONTEXT_IS_DESTROYED);
    if (work->kind == W_KERNEL) {
        emu_kernel_function *function;
        result = find_kernel(context, work, &function);
        return emu_leave(result);
    }
    device = context->device;
    ordinal = context->ordinal;
    emu_unlock();
    return emu_move(ordinal, device, work, is_trial);
}

/* ---- arguments ---------------------------------------------------------------------------------------------------- */

/* A kernel's parameters from a buffer that "extra" describes. */
static CUresult take_buffer(void **extra, uint8_t *buffer, size_t bytes)
{
    const void *from = NULL;
    size_t size = 0;

    for (; *extra; extra += 2) {
        const uintptr_t what = (uintptr_t)extra[0];
        if (!extra[1] || (what != CU_LAUNCH_PARAM_BUFFER_POINTER && what != CU_LAUNCH_PARAM_BUFFER_SIZE))
            return CUDA_ERROR_INVALID_VALUE;
        if (what == CU_LAUNCH_PARAM_BUFFER_POINTER)
            from = extra[1];
        else
            memcpy(&size, extra[1], sizeof size);
    }
    if (size < bytes || (bytes && !from))
        return CUDA_ERROR_INVALID_VALUE;
    if (bytes)
        memcpy(buffer, from, bytes);
    return CUDA_SUCCESS;
}

static CUresult take_parameters(const emu_function *function, void **parameters, void **extra, uint8_t *buffer)
{
    if (parameters && extra)
        return CUDA_ERROR_INVALID_VALUE;
    if (extra)
        return take_buffer(extra, buffer, function->param_bytes);
    for (size_t i = 0; i < function->params; i++) {
        if (!parameters || !parameters[i])
            return CUDA_ERROR_INVALID_VALUE;
        memcpy(buffer + function->param[i].offset, parameters[i], function->param[i].bytes);
    }
    return CUDA_SUCCESS;
}

static CUresult launch(CUfunction function, const uint32_t grid[3], const uint32_t block[3], uint32_t shared_bytes,
                       CUstream stream, void **parameters, void **extra)
{
    emu_work work = {.kind = W_KERNEL,
                     .function = function,
                     .grid = {grid[0], grid[1], grid[2]},
                     .block = {block[0], block[1], block[2]},
                     .shared_bytes = shared_bytes};
    uint8_t small[4096] = {0}, *large = NULL;
    emu_kernel_function *known;
    emu_context *context;
    CUresult result = emu_enter(&context);

    if (result != CUDA_SUCCESS)
        return result;
    result = find_kernel(context, &work, &known);
    if (result != CUDA_SUCCESS)
        return emu_leave(result);
    work.parameter_bytes = known->function->param_bytes;
    if (work.parameter_bytes > MAX_PARAMETER_BYTES)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    if (work.parameter_bytes > sizeof small && !(large = calloc(1, work.parameter_bytes)))
        return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    work.parameters = large ? large : small;
    result = take_parameters(known->function, parameters, extra, work.parameters);
    result = result == CUDA_SUCCESS ? emu_submit(context, stream, &work) : emu_leave(result);
    free(large);
    return result;
}

CUresult EMU_EXPORT cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                   unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream,
                                   void **parameters, void **extra)
{
    const uint32_t grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};

    return launch(function, grid, block, shared_bytes, stream, parameters, extra);
}

static CUresult check_attribute(const CUlaunchAttribute *attribute)
{
    switch (attribute->id) {
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: /* may overlap, and does not */
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        return attribute->value.number ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
        for (int i = 0; i < 3; i++)
            if (attribute->value.dimension[i] != 1)
                return attribute->value.dimension[i] ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_CLUSTER_SIZE;
        return CUDA_SUCCESS;
    default:
        return attribute->id > 0 && attribute->id <= CU_LAUNCH_ATTRIBUTE_LAST ? CUDA_ERROR_NOT_SUPPORTED
                                                                              : CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult EMU_EXPORT cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra)
{
    CUresult result = CUDA_SUCCESS;

    if (!config || (config->attributes && !config->attribute))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < config->attributes && result == CUDA_SUCCESS; i++) {
        result = check_attribute(&config->attribute[i]);
        if (result == CUDA_ERROR_NOT_SUPPORTED)
            emu_driver_log("launch attribute %d is not supported with this value", config->attribute[i].id);
    }
    if (result != CUDA_SUCCESS)
        return result;
    return launch(function, config->grid, config->block, config->shared_bytes, config->stream, parameters, extra);
}

CUresult EMU_EXPORT cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra)
{
    CUlaunchConfig own;

    if (!config)
        return CUDA_ERROR_INVALID_VALUE;
    own = *config;
    own.stream = emu_own_stream(config->stream);
    return cuLaunchKernelEx(&own, function, parameters, extra);
}

CUresult EMU_EXPORT cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                              unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                              CUstream stream, void **parameters)
{
    emu_context *context;
    const CUresult result = emu_enter(&context);

    (void)function, (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z;
    (void)shared_bytes, (void)stream, (void)parameters;
    if (result != CUDA_SUCCESS)
        return result;
    emu_driver_log("cuLaunchCooperativeKernel is not supported");
    return emu_leave(CUDA_ERROR_NOT_SUPPORTED);
}
