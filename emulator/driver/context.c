/* SPDX-License-Identifier: Apache-2.0 */
/* context: contexts, including the primary contexts of devices. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { ALL_CONTEXT_FLAGS = 0xff };

static struct {
    emu_context *context; /* NULL: nobody retains it */
    unsigned references, flags;
} primary[EMU_MAX_DEVICES];

static emu_context *make_context(int ordinal, unsigned flags)
{
    static const size_t limits[8] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0, 0};
    emu_context *context = calloc(1, sizeof *context);
    emu_stream *legacy = calloc(1, sizeof *legacy);

    if (!context || !legacy || !emu_handle_new(&context->object, O_CONTEXT)) {
        free(context);
        free(legacy);
        return NULL;
    }
    context->id = emu_next_id();
    context->ordinal = ordinal;
    context->device = emu_device_at(ordinal);
    context->flags = flags;
    context->legacy = legacy;
    memcpy(context->limit, limits, sizeof limits);
    legacy->context = context;
    legacy->id = 1;
    legacy->is_legacy = true;
    return context;
}

/* Release everything in a context. The caller frees the memory that the context owned, after unlocking. */
static void empty_context(emu_context *context)
{
    emu_streams_close(context);
    emu_events_close(context);
    emu_unload_all(context);
}

static void free_memory(uint64_t owner, int ordinal, const char *how)
{
    const size_t left = emu_memory_free_owner(owner);

    if (left)
        emu_driver_log("a context of device %d was %s with %zu allocation%s of device memory not freed", ordinal, how, left,
                       left == 1 ? "" : "s");
}

/* Call locked; returns unlocked. */
static void destroy_context(emu_context *context)
{
    const uint64_t owner = context->id;
    const int ordinal = context->ordinal;

    empty_context(context);
    emu_handle_drop(&context->object);
    free(context->legacy);
    free(context);
    emu_unlock();
    free_memory(owner, ordinal, "destroyed");
}

/* Lock if the device exists. */
static CUresult enter_device(CUdevice device)
{
    const CUresult result = emu_enter_driver();

    return result != CUDA_SUCCESS || emu_device_at(device) ? result : emu_leave(CUDA_ERROR_INVALID_DEVICE);
}

CUresult EMU_EXPORT cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    CUresult result = emu_enter_driver();

    if (result != CUDA_SUCCESS)
        return result;
    if (!context || !emu_device_at(device))
        return emu_leave(context ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE);
    if (!primary[device].context) {
        primary[device].context = make_context(device, primary[device].flags);
        if (!primary[device].context)
            return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
        primary[device].context->is_primary = true;
    }
    primary[device].references++;
    *context = primary[device].context->object.handle;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    const CUresult result = enter_device(device);

    if (result != CUDA_SUCCESS)
        return result;
    if (!primary[device].references)
        return emu_leave(CUDA_ERROR_INVALID_CONTEXT);
    if (--primary[device].references == 0) {
        emu_context *context = primary[device].context;
        primary[device].context = NULL;
        destroy_context(context);
        return CUDA_SUCCESS;
    }
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    const CUresult result = enter_device(device);
    emu_context *context;
    uint64_t owner;

    if (result != CUDA_SUCCESS)
        return result;
    context = primary[device].context;
    if (!context)
        return emu_leave(CUDA_SUCCESS);
    /* Its retainers keep the handle; the context is empty now and has a new identity. */
    owner = context->id;
    empty_context(context);
    context->id = emu_next_id();
    context->sticky = CUDA_SUCCESS;
    emu_unlock();
    free_memory(owner, device, "reset");
    return CUDA_SUCCESS;
}

CUresult EMU_EXPORT cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags)
{
    const CUresult result = enter_device(device);

    if (result != CUDA_SUCCESS)
        return result;
    if (flags & ~(unsigned)ALL_CONTEXT_FLAGS)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    primary[device].flags = flags;
    if (primary[device].context)
        primary[device].context->flags = flags;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *is_active)
{
    const CUresult result = enter_device(device);

    if (result != CUDA_SUCCESS)
        return result;
    if (!flags || !is_active)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *flags = primary[device].flags;
    *is_active = primary[device].context != NULL;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device)
{
    CUresult result = emu_enter_driver();
    emu_context *made;

    if (result != CUDA_SUCCESS)
        return result;
    if (!context || (flags & ~(unsigned)ALL_CONTEXT_FLAGS))
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    if (!emu_device_at(device))
        return emu_leave(CUDA_ERROR_INVALID_DEVICE);
    made = make_context(device, flags);
    if (!made)
        return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    made->uses = 1;
    if (!emu_push_context(made->object.handle)) {
        destroy_context(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *context = made->object.handle;
    return emu_leave(CUDA_SUCCESS);
}

/* A context on a part of the processors needs MPS, which the emulator does not have, like most drivers. */
CUresult EMU_EXPORT cuCtxCreate_v3(CUcontext *context, void *affinity, int affinities, unsigned flags, CUdevice device)
{
    if (affinities < 0 || (affinities && !affinity))
        return CUDA_ERROR_INVALID_VALUE;
    if (affinities) {
        emu_driver_log("a context with an execution affinity is not supported");
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    }
    return cuCtxCreate_v2(context, flags, device);
}

CUresult EMU_EXPORT cuCtxCreate_v4(CUcontext *context, const CUctxCreateParams *parameters, unsigned flags, CUdevice device)
{
    if (parameters && parameters->graphics) {
        emu_driver_log("a context shared with graphics is not supported");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    return cuCtxCreate_v3(context, parameters ? parameters->affinity : NULL, parameters ? parameters->affinities : 0, flags,
                          device);
}

CUresult EMU_EXPORT cuCtxAttach(CUcontext *context, unsigned flags)
{
    emu_context *known;
    const CUresult result = emu_enter(&known);

    if (result != CUDA_SUCCESS)
        return result;
    if (!context || flags)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    known->uses++;
    *context = known->object.handle;
    return emu_leave(CUDA_SUCCESS);
}

/* Drop one use; the last one destroys the context. */
CUresult EMU_EXPORT cuCtxDetach(CUcontext context)
{
    CUresult result;
    emu_context *known = emu_enter_object(O_CONTEXT, context, &result);

    if (!known)
        return result;
    if (known->uses == 0)
        return emu_leave(CUDA_ERROR_INVALID_CONTEXT);
    if (--known->uses > 0 || known->is_primary)
        return emu_leave(CUDA_SUCCESS);
    emu_unlock();
    return cuCtxDestroy_v2(context);
}

CUresult EMU_EXPORT cuCtxDestroy_v2(CUcontext context)
{
    CUresult result = emu_enter_driver();
    emu_context *known;

    if (result != CUDA_SUCCESS)
        return result;
    known = emu_handle_get(O_CONTEXT, context);
    if (!context || !known || known->is_primary)
        return emu_leave(context ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE);
    if (emu_top_context() == context)
        emu_pop_context();
    destroy_context(known);
    return CUDA_SUCCESS;
}

CUresult EMU_EXPORT cuCtxPushCurrent_v2(CUcontext context)
{
    CUresult result;

    if (!emu_enter_object(O_CONTEXT, context, &result))
        return result;
    return emu_leave(emu_push_context(context) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult EMU_EXPORT cuCtxPopCurrent_v2(CUcontext *context)
{
    CUresult result = emu_enter_driver();
    CUcontext popped;

    if (result != CUDA_SUCCESS)
        return result;
    popped = emu_pop_context();
    if (context)
        *context = popped;
    return emu_leave(popped ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT);
}

CUresult EMU_EXPORT cuCtxSetCurrent(CUcontext context)
{
    CUresult result = emu_enter_driver();

    if (result != CUDA_SUCCESS)
        return result;
    if (context && !emu_handle_get(O_CONTEXT, context))
        return emu_leave(CUDA_ERROR_INVALID_CONTEXT);
    emu_replace_context(context);
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuCtxGetCurrent(CUcontext *context)
{
    CUresult result = emu_enter_driver();

    if (result != CUDA_SUCCESS)
        return result;
    if (!context)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *context = emu_top_context();
    return emu_leave(CUDA_SUCCESS);
}

/* Find a context to query by its handle; NULL is the current one. Locked on success. */
static CUresult ask(CUcontext handle, const void *answer, emu_context **context)
{
    CUresult result;

    if (handle)
        *context = emu_enter_object(O_CONTEXT, handle, &result);
    else
        result = emu_enter_failed(context);
    return result == CUDA_SUCCESS && !answer ? emu_leave(CUDA_ERROR_INVALID_VALUE) : result;
}

/*
 * Before CUDA 13 this function had one argument, and programs that look up names with _v2 still call it so. `context` is then
 * garbage: unless it is a context, use the current one.
 */
CUresult EMU_EXPORT cuCtxGetDevice_v2(CUdevice *device, CUcontext context)
{
    emu_context *known;
    CUresult result = ask(context, device, &known);

    if (result == CUDA_ERROR_INVALID_CONTEXT && context)
        result = ask(NULL, device, &known);
    if (result != CUDA_SUCCESS)
        return result;
    *device = known->ordinal;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuCtxGetId(CUcontext context, unsigned long long *id)
{
    emu_context *known;
    const CUresult result = ask(context, id, &known);

    if (result != CUDA_SUCCESS)
        return result;
    *id = known->id;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuCtxGetFlags(unsigned *flags)
{
    emu_context *context;
    const CUresult result = ask(NULL, flags, &context);

    if (result != CUDA_SUCCESS)
        return result;
    *flags = context->flags;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuCtxSetFlags(unsigned flags)
{
    emu_context *context;
    CUresult result = emu_enter(&context);

    if (result != CUDA_SUCCESS)
        return result;
    if (flags & ~(unsigned)ALL_CONTEXT_FLAGS)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    context->flags = flags;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuCtxGetApiVersion(CUcontext context, unsigned *version)
{
    emu_context *known;
    const CUresult result = ask(context, version, &known);

    if (result != CUDA_SUCCESS)
        return result;
    *version = 3020;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuCtxGetLimit(size_t *value, int limit)
{
    emu_context *context;
    CUresult result = emu_enter(&context);

    if (result != CUDA_SUCCESS)
        return result;
    if (!value || limit < 0)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    if (limit >= 7)
        return emu_leave(CUDA_ERROR_UNSUPPORTED_LIMIT);
    *value = context->limit[limit];
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuCtxSetLimit(int limit, size_t value)
{
    emu_context *context;
    CUresult result = emu_enter(&context);

    if (result != CUDA_SUCCESS)
        return result;
    if (limit < 0)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    if (limit >= 7)
        return emu_leave(CUDA_ERROR_UNSUPPORTED_LIMIT);
    context->limit[limit] = value;
    return emu_leave(CUDA_SUCCESS);
}

/* Accept preferences that change no result, but do not keep them. */

CUresult EMU_EXPORT cuCtxGetCacheConfig(int *config)
{
    const CUresult result = config ? emu_check_context() : CUDA_ERROR_INVALID_VALUE;

    if (result == CUDA_SUCCESS)
        *config = 0;
    return result;
}

CUresult EMU_EXPORT cuCtxSetCacheConfig(int config)
{
    (void)config;
    return emu_check_context();
}

CUresult EMU_EXPORT cuCtxGetSharedMemConfig(int *config)
{
    const CUresult result = config ? emu_check_context() : CUDA_ERROR_INVALID_VALUE;

    if (result == CUDA_SUCCESS)
        *config = 1; /* banks of four bytes */
    return result;
}

CUresult EMU_EXPORT cuCtxSetSharedMemConfig(int config)
{
    (void)config;
    return emu_check_context();
}

CUresult EMU_EXPORT cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    const CUresult result = emu_check_context();

    if (result != CUDA_SUCCESS)
        return result;
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return CUDA_SUCCESS;
}

CUresult EMU_EXPORT cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    emu_context *context;
    CUresult result = emu_enter(&context);

    if (result != CUDA_SUCCESS)
        return result;
    if (flags)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    return emu_leave(emu_handle_get(O_CONTEXT, peer) ? CUDA_ERROR_PEER_ACCESS_UNSUPPORTED : CUDA_ERROR_INVALID_CONTEXT);
}

CUresult EMU_EXPORT cuCtxDisablePeerAccess(CUcontext peer)
{
    emu_context *context;
    CUresult result = emu_enter(&context);

    if (result != CUDA_SUCCESS)
        return result;
    return emu_leave(emu_handle_get(O_CONTEXT, peer) ? CUDA_ERROR_PEER_ACCESS_NOT_ENABLED : CUDA_ERROR_INVALID_CONTEXT);
}
