/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool: stream-ordered allocation, and memory pools. Pools have no state but their release threshold: memory is allocated and
 * freed at once, which is in stream order here.
 */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

typedef struct emu_pool {
    emu_object object;
    int ordinal;
    uint64_t threshold;
    int reuse[4];
} emu_pool;

static emu_pool *pools[EMU_MAX_DEVICES];

CUresult EMU_EXPORT cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device)
{
    CUresult result = emu_enter_driver();

    if (result != CUDA_SUCCESS)
        return result;
    if (!pool || !emu_device_at(device))
        return emu_leave(pool ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE);
    if (!pools[device]) {
        emu_pool *made = calloc(1, sizeof *made);
        if (!made || !emu_handle_new(&made->object, O_POOL)) {
            free(made);
            return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
        }
        made->ordinal = device;
        for (int i = 1; i <= 3; i++)
            made->reuse[i] = 1;
        pools[device] = made;
    }
    *pool = pools[device]->object.handle;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
    CUmemoryPool known;
    const CUresult result = cuDeviceGetMemPool(&known, device);

    return result == CUDA_SUCCESS && known != pool ? CUDA_ERROR_INVALID_VALUE : result;
}

/* Read or write one attribute of a pool. */
static CUresult pool_attribute(CUmemoryPool handle, int attribute, void *value, bool is_set)
{
    CUresult result;
    emu_pool *pool = emu_ask_object(O_POOL, handle, value, &result);
    size_t bytes = sizeof(uint64_t);
    uint64_t nothing = 0;
    void *place;

    if (!pool)
        return result;
    if (attribute >= 1 && attribute <= 3) { /* reuse policies: no effect */
        place = &pool->reuse[attribute];
        bytes = sizeof(int);
    } else if (attribute == 4) { /* RELEASE_THRESHOLD */
        place = &pool->threshold;
    } else if (attribute >= 5 && attribute <= 8) { /* bytes reserved and used: nothing is kept back */
        place = &nothing;
    } else {
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    }
    memcpy(is_set ? place : value, is_set ? value : place, bytes);
    return emu_leave(result);
}

CUresult EMU_EXPORT cuMemPoolGetAttribute(CUmemoryPool pool, int attribute, void *value)
{
    return pool_attribute(pool, attribute, value, false);
}

CUresult EMU_EXPORT cuMemPoolSetAttribute(CUmemoryPool pool, int attribute, void *value)
{
    return pool_attribute(pool, attribute, value, true);
}

CUresult EMU_EXPORT cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes)
{
    CUresult result;

    (void)bytes;
    return emu_enter_object(O_POOL, pool, &result) ? emu_leave(CUDA_SUCCESS) : result;
}

/* Enter a stream that may allocate or free memory now. Locked on success. */
static CUresult enter_ordered(CUstream handle, emu_context **context, emu_stream **stream)
{
    CUresult result = emu_enter(context);

    if (result != CUDA_SUCCESS)
        return result;
    result = emu_stream_get(*context, handle, stream);
    if (result == CUDA_SUCCESS && (*stream)->is_legacy)
        result = emu_allow_legacy(*context);
    if (result == CUDA_SUCCESS && (*stream)->capture && (*stream)->capture->is_invalid)
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    return result == CUDA_SUCCESS ? result : emu_leave(result);
}

/* Record an allocation or a free in a capture. Not locked. */
static CUresult record_memory(bool is_allocation, emu_graph_memory *memory, CUstream stream)
{
    emu_work work = {.memory = memory};
    emu_context *context;
    const CUresult result = emu_enter(&context);

    work.kind = is_allocation ? W_ALLOCATE : W_FREE;
    return result == CUDA_SUCCESS ? emu_submit(context, stream, &work) : result;
}

static CUresult allocate_in_graph(CUdeviceptr address, CUstream stream)
{
    emu_graph_memory *made = calloc(1, sizeof *made);
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;

    if (!made) {
        (void)emu_memory_free(address, M_DEVICE);
        return result;
    }
    *made = (emu_graph_memory){address, 1, false};
    result = record_memory(true, made, stream);
    emu_lock();
    emu_graph_memory_drop(made); /* the node holds its own use */
    emu_unlock();
    return result;
}

CUresult EMU_EXPORT cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    emu_context *context;
    emu_stream *known;
    CUresult result = enter_ordered(stream, &context, &known);
    bool is_captured;
    uint64_t owner;
    int ordinal;

    if (result != CUDA_SUCCESS)
        return result;
    is_captured = known->capture;
    owner = known->context->id;
    ordinal = known->context->ordinal;
    emu_unlock();
    if (!address)
        return CUDA_ERROR_INVALID_VALUE;
    *address = 0;
    if (!bytes)
        return CUDA_SUCCESS;
    result = emu_device_allocate(ordinal, owner, bytes, address);
    return result == CUDA_SUCCESS && is_captured ? allocate_in_graph(*address, stream) : result;
}

CUresult EMU_EXPORT cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool pool, CUstream stream)
{
    CUresult result;

    if (!emu_enter_object(O_POOL, pool, &result))
        return result;
    emu_unlock();
    return cuMemAllocAsync(address, bytes, stream);
}

CUresult EMU_EXPORT cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    emu_context *context;
    emu_stream *known;
    CUresult result = enter_ordered(stream, &context, &known);
    emu_graph_memory *memory = NULL;

    if (result != CUDA_SUCCESS)
        return result;
    if (known->capture) { /* a capture may free memory that its own graph allocates */
        memory = emu_capture_memory(known->capture, address);
        if (!memory)
            return emu_leave(CUDA_ERROR_INVALID_VALUE);
        memory->is_freed = true;
        emu_unlock();
        return record_memory(false, memory, stream);
    }
    emu_unlock();
    if (!address)
        return CUDA_SUCCESS;
    return emu_memory_free(address, M_DEVICE) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
