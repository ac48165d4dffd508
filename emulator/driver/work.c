/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work: run the work of a stream or graph; for kernels, up to the error that the context reports later.
 *
 * A launch advances the modelled clock by its share of the device's bandwidth or arithmetic, the larger one, if launches are
 * counted; otherwise by a constant. Multiply-adds of MMA instructions count as eight times as fast as others.
 */
#include "driver.h"

#include <string.h>

#include "launch.h"
#include "option.h"

enum { LAUNCH_NS = 2000, UNCOUNTED_NS = 5000, LANES = 128, MMA_SPEED = 8, SECTOR = 32 };

/* Map a finding to a driver error. */
static CUresult result_of(cuEmuKind kind)
{
    static const CUresult results[CUEMU_KINDS] = {
        [CUEMU_OUT_OF_BOUNDS] = CUDA_ERROR_ILLEGAL_ADDRESS, [CUEMU_MISALIGNED] = CUDA_ERROR_MISALIGNED_ADDRESS,
        [CUEMU_ILLEGAL] = CUDA_ERROR_ILLEGAL_INSTRUCTION,   [CUEMU_TENSOR_MEMORY] = CUDA_ERROR_ILLEGAL_INSTRUCTION,
        [CUEMU_DIVERGENT] = CUDA_ERROR_ILLEGAL_INSTRUCTION, [CUEMU_ENDLESS] = CUDA_ERROR_LAUNCH_TIMEOUT,
        [CUEMU_DEADLOCK] = CUDA_ERROR_LAUNCH_TIMEOUT,       [CUEMU_ASSERT] = CUDA_ERROR_ASSERT};

    return kind == CUEMU_NONE ? CUDA_SUCCESS : results[kind] ? results[kind] : CUDA_ERROR_LAUNCH_FAILED;
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

/* Check the limits of the device and the function. */
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
    return emu_check_cluster(f, work);
}

CUresult emu_find_kernel(emu_context *context, const emu_work *work, emu_kernel_function **function)
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
    emu_shape shape = {
        .dynamic_shared = work->shared_bytes, .is_cooperative = work->is_cooperative, .starts_early = work->starts_early};
    emu_loaded *module;
    CUresult result;
    uint64_t owner;
    cuEmuKind kind;
    int ordinal;

    emu_lock();
    context = emu_handle_get(O_CONTEXT, handle);
    result = context ? context->sticky : CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (result == CUDA_SUCCESS)
        result = emu_find_kernel(context, work, &function);
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

    memcpy(shape.grid, work->grid, sizeof shape.grid);
    memcpy(shape.block, work->block, sizeof shape.block);
    memcpy(shape.cluster, work->cluster, sizeof shape.cluster);
    kind = emu_launch_kernel(device, module->ptx, code, &shape, work->parameters, owner);
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
    emu_context *context;
    CUresult result;
    int ordinal;

    if (work->kind == W_ALLOCATE || work->kind == W_FREE)
        return CUDA_SUCCESS; /* the graph's memory exists already, and lives as long as the graph */
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
        result = emu_find_kernel(context, work, &function);
        return emu_leave(result);
    }
    ordinal = context->ordinal;
    emu_unlock();
    return emu_move(ordinal, work, is_trial);
}
