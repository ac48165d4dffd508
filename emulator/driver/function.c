/* SPDX-License-Identifier: Apache-2.0 */
/*
 * function: query functions and kernels. Register counts need an assembler, so occupancy assumes 32 registers per thread.
 */
#include "driver.h"

#include <string.h>

enum {
    REGISTERS = 32,
    REGISTER_UNIT = 256, /* unit in which a warp's registers are allocated */
    SHARED_UNIT = 128
};

static CUresult get_attribute(int *value, int attribute, const emu_module *ptx, const emu_function *function,
                              const emu_function_settings *settings, const emu_device *device)
{
    uint64_t constant_bytes = 0;

    if (attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < ptx->symbols; i++)
        constant_bytes += ptx->symbol[i].space == S_CONST ? ptx->symbol[i].bytes : 0;
    *value = (const int[CU_FUNC_ATTRIBUTE_MAX]){
        /* the others, cache modes, are 0 */
        [CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = emu_function_threads(function),
        [CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES] = (int)function->static_shared,
        [CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES] = (int)constant_bytes,
        [CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES] = (int)function->local_bytes,
        [CU_FUNC_ATTRIBUTE_NUM_REGS] = REGISTERS,
        [CU_FUNC_ATTRIBUTE_PTX_VERSION] = ptx->target,
        [CU_FUNC_ATTRIBUTE_BINARY_VERSION] = device->capability,
        [CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] = settings->max_dynamic,
        [CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT] = settings->carveout,
        [CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET] = function->has_clusters,
        [CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = (int)function->cluster[0],
        [CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT] = (int)function->cluster[1],
        [CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH] = (int)function->cluster[2],
        [CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED] = settings->allows_large_clusters,
    }[attribute];
    return CUDA_SUCCESS;
}

static CUresult set_attribute(int attribute, int value, const emu_function *function, emu_function_settings *settings,
                              const emu_device *device)
{
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value < 0 || value > device->shared_per_block_optin - (int)function->static_shared)
            return CUDA_ERROR_INVALID_VALUE;
        settings->max_dynamic = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        if (value < -1 || value > 100)
            return CUDA_ERROR_INVALID_VALUE;
        settings->carveout = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        settings->allows_large_clusters = value != 0;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* Find a function or kernel in the current context. Locked on success. */
static CUresult enter_function(CUfunction handle, emu_kernel_function **function)
{
    emu_context *context;
    CUresult result = emu_enter(&context);

    if (result != CUDA_SUCCESS)
        return result;
    result = emu_function_get(context, handle, function);
    return result == CUDA_SUCCESS ? result : emu_leave(result);
}

CUresult EMU_EXPORT cuFuncGetAttribute(int *value, int attribute, CUfunction function)
{
    emu_kernel_function *known;
    const CUresult result = enter_function(function, &known);

    if (result != CUDA_SUCCESS)
        return result;
    return emu_leave(value ? get_attribute(value, attribute, known->module->ptx, known->function, &known->settings,
                                           known->module->context->device)
                           : CUDA_ERROR_INVALID_VALUE);
}

CUresult EMU_EXPORT cuFuncSetAttribute(CUfunction function, int attribute, int value)
{
    emu_kernel_function *known;
    const CUresult result = enter_function(function, &known);

    if (result != CUDA_SUCCESS)
        return result;
    return emu_leave(set_attribute(attribute, value, known->function, &known->settings, known->module->context->device));
}

CUresult EMU_EXPORT cuKernelGetAttribute(int *value, int attribute, CUkernel kernel, CUdevice device)
{
    CUresult result;
    const emu_kernel *known = emu_enter_object(O_KERNEL, kernel, &result);

    if (!known)
        return result;
    if (!value || !emu_device_at(device))
        return emu_leave(value ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE);
    return emu_leave(
        get_attribute(value, attribute, known->library->ptx, known->function, &known->settings[device], emu_device_at(device)));
}

CUresult EMU_EXPORT cuKernelSetAttribute(int attribute, int value, CUkernel kernel, CUdevice device)
{
    CUresult result;
    emu_kernel *known = emu_enter_object(O_KERNEL, kernel, &result);
    size_t at = 0;

    if (!known)
        return result;
    if (!emu_device_at(device))
        return emu_leave(CUDA_ERROR_INVALID_DEVICE);
    result = set_attribute(attribute, value, known->function, &known->settings[device], emu_device_at(device));
    for (emu_object *one; result == CUDA_SUCCESS && (one = emu_handle_next(&at, O_MODULE));) {
        const emu_loaded *module = (const emu_loaded *)one;
        for (size_t i = 0; module->library == known->library && i < module->ptx->functions; i++)
            if (module->function[i] && module->context->ordinal == device &&
                strcmp(module->function[i]->name, known->name) == 0)
                module->function[i]->settings = known->settings[device];
    }
    return emu_leave(result);
}

CUresult EMU_EXPORT cuKernelSetCacheConfig(CUkernel kernel, int config, CUdevice device)
{
    CUresult result;

    (void)config;
    if (!emu_enter_object(O_KERNEL, kernel, &result))
        return result;
    return emu_leave(emu_device_at(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE);
}

static CUresult param_info(const emu_function *function, size_t index, size_t *offset, size_t *bytes)
{
    if (!offset || index >= function->params)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = function->param[index].offset;
    if (bytes)
        *bytes = function->param[index].bytes;
    return CUDA_SUCCESS;
}

CUresult EMU_EXPORT cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *bytes)
{
    CUresult result;
    const emu_kernel *known = emu_enter_object(O_KERNEL, kernel, &result);

    return known ? emu_leave(param_info(known->function, index, offset, bytes)) : result;
}

CUresult EMU_EXPORT cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *bytes)
{
    emu_kernel_function *known;
    const CUresult result = enter_function(function, &known);

    return result == CUDA_SUCCESS ? emu_leave(param_info(known->function, index, offset, bytes)) : result;
}

CUresult EMU_EXPORT cuFuncSetCacheConfig(CUfunction function, int config)
{
    emu_kernel_function *known;
    const CUresult result = enter_function(function, &known);

    return result == CUDA_SUCCESS ? emu_leave(config < 0 || config > 3 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS) : result;
}

CUresult EMU_EXPORT cuFuncSetSharedMemConfig(CUfunction function, int config)
{
    emu_kernel_function *known;
    const CUresult result = enter_function(function, &known);

    return result == CUDA_SUCCESS ? emu_leave(config < 0 || config > 2 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS) : result;
}

CUresult EMU_EXPORT cuFuncGetModule(CUmodule *module, CUfunction function)
{
    emu_kernel_function *known;
    const CUresult result = enter_function(function, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (!module)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *module = known->module->object.handle;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuFuncGetName(const char **name, CUfunction function)
{
    emu_kernel_function *known;
    const CUresult result = enter_function(function, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (!name)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *name = known->name;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuFuncIsLoaded(int *state, CUfunction function)
{
    emu_kernel_function *known;
    const CUresult result = enter_function(function, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (!state)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *state = 1;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuFuncLoad(CUfunction function)
{
    emu_kernel_function *known;
    const CUresult result = enter_function(function, &known);

    return result == CUDA_SUCCESS ? emu_leave(CUDA_SUCCESS) : result;
}

/* ---- occupancy ---------------------------------------------------------------------------------------------------- */

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

int emu_blocks_at_once(const emu_kernel_function *function, int block_size, size_t dynamic_bytes)
{
    const emu_device *device = function->module->context->device;
    const int warps = (block_size + 31) / 32;
    const int registers = warps * (int)round_up(REGISTERS * 32, REGISTER_UNIT);
    const size_t asked = function->function->static_shared + dynamic_bytes;
    const size_t shared = round_up(asked + (size_t)device->reserved_shared, SHARED_UNIT);
    int blocks = device->blocks_per_processor;

    if (block_size < 1 || block_size > emu_function_threads(function->function) ||
        asked > (size_t)device->shared_per_block_optin)
        return 0;
    if (blocks > device->threads_per_processor / (warps * 32))
        blocks = device->threads_per_processor / (warps * 32);
    if (blocks > device->registers_per_processor / registers)
        blocks = device->registers_per_processor / registers;
    if (shared && (size_t)blocks > (size_t)device->shared_per_processor / shared)
        blocks = (int)((size_t)device->shared_per_processor / shared);
    return blocks;
}

CUresult EMU_EXPORT cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function, int block_size,
                                                                         size_t dynamic_bytes, unsigned flags)
{
    emu_kernel_function *known;
    const CUresult result = enter_function(function, &known);

    if (result != CUDA_SUCCESS)
        return result;
    if (!blocks || block_size <= 0 || flags > 1)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *blocks = emu_blocks_at_once(known, block_size, dynamic_bytes);
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid_size, int *block_size, CUfunction function,
                                                              CUoccupancyB2DSize dynamic_of, size_t dynamic_bytes, int limit,
                                                              unsigned flags)
{
    size_t dynamic[33]; /* by warps per block: the callback may call the driver, so it is called before locking */
    int best = 0, best_size = 0;
    emu_kernel_function *known;
    CUresult result;

    if (!grid_size || !block_size || flags > 1)
        return CUDA_ERROR_INVALID_VALUE;
    for (int warps = 1; warps <= 32; warps++)
        dynamic[warps] = dynamic_of ? dynamic_of(warps * 32) : dynamic_bytes;
    result = enter_function(function, &known);
    if (result != CUDA_SUCCESS)
        return result;
    for (int warps = 32; warps >= 1; warps--) {
        const int size = warps * 32;
        if (limit > 0 && size > limit)
            continue;
        const int threads = emu_blocks_at_once(known, size, dynamic[warps]) * size;
        if (threads > best) {
            best = threads;
            best_size = size;
        }
    }
    *block_size = best_size;
    *grid_size = best_size ? best / best_size * known->module->context->device->processors : 0;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction function, int blocks, int block_size)
{
    emu_kernel_function *known;
    const CUresult result = enter_function(function, &known);
    const emu_device *device;
    size_t each, taken;

    if (result != CUDA_SUCCESS)
        return result;
    device = known->module->context->device;
    if (!bytes || blocks <= 0 || block_size <= 0 || blocks > device->blocks_per_processor)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    each = (size_t)device->shared_per_processor / (size_t)blocks / SHARED_UNIT * SHARED_UNIT;
    taken = known->function->static_shared + (size_t)device->reserved_shared;
    if (each > (size_t)device->shared_per_block_optin + (size_t)device->reserved_shared)
        each = (size_t)device->shared_per_block_optin + (size_t)device->reserved_shared;
    *bytes = each > taken ? each - taken : 0;
    return emu_leave(CUDA_SUCCESS);
}
