/* SPDX-License-Identifier: Apache-2.0 */
/* launch: launch kernels, and collect their arguments. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PARAMETER_BYTES = 32764 };

/* Read a kernel's parameters from a buffer that "extra" describes. */
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

/* Launch; `work` holds the shape and attributes. */
static CUresult launch(emu_work work, CUstream stream, void **parameters, void **extra)
{
    uint8_t small[4096] = {0}, *large = NULL;
    emu_kernel_function *known;
    emu_context *context;
    CUresult result = emu_enter(&context);

    if (result != CUDA_SUCCESS)
        return result;
    result = emu_find_kernel(context, &work, &known);
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
    return launch((emu_work){.kind = W_KERNEL,
                             .function = function,
                             .grid = {grid_x, grid_y, grid_z},
                             .block = {block_x, block_y, block_z},
                             .shared_bytes = shared_bytes},
                  stream, parameters, extra);
}

/* Clusters need compute capability 9.0. Earlier devices accept clusters of one block, which have no effect. */
static CUresult take_attribute(const CUlaunchAttribute *attribute, emu_work *work)
{
    switch (attribute->id) {
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: /* no overlap, but a missing wait is a finding */
        work->starts_early = attribute->value.number != 0;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        work->is_cooperative = attribute->value.number != 0;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        for (int i = 0; i < 3; i++) {
            work->cluster[i] = attribute->value.dimension[i];
            if (!work->cluster[i])
                return CUDA_ERROR_INVALID_CLUSTER_SIZE;
        }
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION: /* ignored: the required size is used */
        return CUDA_SUCCESS;
    default:
        return attribute->id > 0 && attribute->id <= CU_LAUNCH_ATTRIBUTE_LAST ? CUDA_ERROR_NOT_SUPPORTED
                                                                              : CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult EMU_EXPORT cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra)
{
    emu_work work = {.kind = W_KERNEL, .function = function};
    CUresult result = CUDA_SUCCESS;

    if (!config || (config->attributes && !config->attribute))
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(work.grid, config->grid, sizeof work.grid);
    memcpy(work.block, config->block, sizeof work.block);
    work.shared_bytes = config->shared_bytes;
    for (unsigned i = 0; i < config->attributes && result == CUDA_SUCCESS; i++) {
        result = take_attribute(&config->attribute[i], &work);
        if (result == CUDA_ERROR_NOT_SUPPORTED)
            emu_driver_log("launch attribute %d is not supported", config->attribute[i].id);
    }
    return result == CUDA_SUCCESS ? launch(work, config->stream, parameters, extra) : result;
}

CUresult EMU_EXPORT cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                              unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                              CUstream stream, void **parameters)
{
    return launch((emu_work){.kind = W_KERNEL,
                             .function = function,
                             .grid = {grid_x, grid_y, grid_z},
                             .block = {block_x, block_y, block_z},
                             .shared_bytes = shared_bytes,
                             .is_cooperative = true},
                  stream, parameters, NULL);
}
