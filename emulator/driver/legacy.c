/* SPDX-License-Identifier: Apache-2.0 */
/*
 * legacy: launches as before CUDA 4.0: block shape, shared memory and parameters are set one by one and kept with the function.
 */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PARAMETER_BYTES = 4096 };

/* Return the settings of a function in the current context. Locked on success. */
static CUresult enter(CUfunction handle, emu_legacy **legacy)
{
    emu_context *context;
    emu_kernel_function *function = NULL;
    CUresult result = emu_enter(&context);

    *legacy = NULL;
    if (result != CUDA_SUCCESS)
        return result;
    result = emu_function_get(context, handle, &function);
    if (result == CUDA_SUCCESS && !function->legacy) {
        function->legacy = calloc(1, sizeof *function->legacy + MOST_PARAMETER_BYTES);
        result = function->legacy ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (result != CUDA_SUCCESS)
        return emu_leave(result);
    *legacy = function->legacy;
    return CUDA_SUCCESS;
}

CUresult EMU_EXPORT cuFuncSetBlockShape(CUfunction function, int x, int y, int z)
{
    emu_legacy *legacy;
    const CUresult result = enter(function, &legacy);

    if (result != CUDA_SUCCESS)
        return result;
    if (x < 1 || y < 1 || z < 1 || x > 1024 || y > 1024 || z > 64 || (int64_t)x * y * z > 1024)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    memcpy(legacy->block, (const uint32_t[]){(uint32_t)x, (uint32_t)y, (uint32_t)z}, sizeof legacy->block);
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuFuncSetSharedSize(CUfunction function, unsigned bytes)
{
    emu_legacy *legacy;
    const CUresult result = enter(function, &legacy);

    if (result != CUDA_SUCCESS)
        return result;
    legacy->shared_bytes = bytes;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuParamSetSize(CUfunction function, unsigned bytes)
{
    emu_legacy *legacy;
    const CUresult result = enter(function, &legacy);

    if (result != CUDA_SUCCESS)
        return result;
    if (bytes > MOST_PARAMETER_BYTES)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    legacy->parameter_bytes = bytes;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuParamSetv(CUfunction function, int offset, void *value, unsigned bytes)
{
    emu_legacy *legacy;
    const CUresult result = enter(function, &legacy);

    if (result != CUDA_SUCCESS)
        return result;
    if (!value || offset < 0 || offset > MOST_PARAMETER_BYTES || bytes > MOST_PARAMETER_BYTES - (unsigned)offset)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    memcpy(legacy->parameters + offset, value, bytes);
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream)
{
    emu_legacy *legacy, set;
    uint8_t parameters[MOST_PARAMETER_BYTES];
    const CUresult result = enter(function, &legacy);
    size_t bytes;

    if (result != CUDA_SUCCESS)
        return result;
    set = *legacy;
    bytes = set.parameter_bytes;
    memcpy(parameters, legacy->parameters, bytes);
    emu_unlock();
    if (width < 1 || height < 1)
        return CUDA_ERROR_INVALID_VALUE;
    return cuLaunchKernel(function, (unsigned)width, (unsigned)height, 1, set.block[0], set.block[1], set.block[2],
                          set.shared_bytes, stream, NULL,
                          (void *[]){(void *)(uintptr_t)CU_LAUNCH_PARAM_BUFFER_POINTER, parameters,
                                     (void *)(uintptr_t)CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, NULL});
}
