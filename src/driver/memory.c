/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include "error.h"

enum { ALIGNMENT = 256 }; /* as the driver aligns; kernels read a workspace in vectors */

tj_status tj_memory_ask(const tj_gpu *gpu, size_t bytes, CUstream stream, void **memory, tj_error *err)
{
    const tj_allocator *own = &gpu->allocator;

    *memory = own->allocate(bytes, stream, own->payload);
    if (!*memory)
        return tj_fail(err, TJ_ERR_DEVICE_MEMORY, "the program's allocator (option allocate) returned no memory for %zu bytes",
                       bytes);
    if ((uintptr_t)*memory % ALIGNMENT == 0)
        return TJ_OK;
    own->release(*memory, bytes, stream, own->payload);
    return tj_fail(err, TJ_ERR_DEVICE_MEMORY,
                   "the program's allocator (option allocate) gave 0x%llx: it must be aligned to %d bytes",
                   (unsigned long long)(uintptr_t)*memory, ALIGNMENT);
}

tj_status tj_memory_take(const tj_gpu *gpu, const tj_driver *driver, size_t bytes, CUstream stream, const char *kernel,
                         void **memory, tj_error *err)
{
    CUdeviceptr address = 0;
    CUresult result;

    if (gpu->allocator.allocate)
        return tj_memory_ask(gpu, bytes, stream, memory, err);
    result = driver->api.mem_alloc_async(&address, bytes, stream);
    *memory = (void *)(uintptr_t)address;
    if (result == CUDA_ERROR_NOT_SUPPORTED)
        return tj_fail(err, TJ_ERR_UNSUPPORTED,
                       "%s needs %zu bytes of workspace, the operands bring none, and the device cannot allocate in a stream: "
                       "pass a workspace of tj_plan_workspace_bytes, or use a config that needs none",
                       kernel, bytes);
    if (result != CUDA_SUCCESS)
        return tj_driver_fail(driver, result, err,
                              "cannot allocate the %zu bytes of workspace of %s, which the operands do not bring", bytes,
                              kernel);
    return TJ_OK;
}

tj_status tj_memory_give(const tj_gpu *gpu, const tj_driver *driver, void *memory, size_t bytes, CUstream stream,
                         const char *kernel, tj_error *err)
{
    const tj_allocator *own = &gpu->allocator;
    CUresult result;

    if (own->allocate) {
        own->release(memory, bytes, stream, own->payload);
        return TJ_OK;
    }
    if (tj_driver_check_alive(driver, NULL) != TJ_OK)
        return TJ_OK;
    result = driver->api.mem_free_async((CUdeviceptr)(uintptr_t)memory, stream);
    return result == CUDA_SUCCESS ? TJ_OK : tj_driver_fail(driver, result, err, "cannot give back the workspace of %s", kernel);
}
