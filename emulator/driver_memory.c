/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver_memory: allocating, copying, filling, and what is known of a pointer.
 *
 * Pinned host memory is ordinary host memory: kernels cannot reach it, copies can. Memory pools have no state beyond their release
 * threshold: stream-ordered memory is allocated and freed at once, which is in stream order here.
 */
#include "driver.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launch.h"
#include "memory.h"

/* Pinned or registered host memory. */
typedef struct host_range {
    uint8_t *begin;
    size_t bytes;
    unsigned flags;
    uint64_t owner, id;
    CUcontext context;
    int ordinal;
    bool is_registered; /* the program's own */
    struct host_range *next;
} host_range;

typedef struct emu_pool {
    emu_object object;
    int ordinal;
    uint64_t threshold;
    int reuse[4];
} emu_pool;

static host_range *ranges;
static emu_pool *pools[EMU_MAX_DEVICES];

enum {
    HOST_FLAGS = 7,
    REGISTER_FLAGS = 15,
    PITCH_ALIGNMENT = 512,
    COPY_LATENCY_NS = 1500,
    BUS_BYTES_PER_NS = 25 /* between host and device, each way */
};

/* ---- device memory ------------------------------------------------------------------------------------------------ */

/* Half of what the host has free: the shadow of initialised bytes and everybody else need the rest. */
static bool host_has(uint64_t bytes)
{
    const long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);

    return pages <= 0 || page <= 0 || bytes <= (uint64_t)pages * (uint64_t)page / 2;
}

/* Not locked. */
static CUresult allocate(const emu_device *device, int ordinal, uint64_t owner, uint64_t bytes, CUdeviceptr *address)
{
    const bool track = emu_option(CUEMU_CHECKS) & CUEMU_CHECK_UNINITIALISED;
    const uint64_t used = emu_memory_used(ordinal);
    emu_allocation *made;

    if (used >= device->memory_bytes || bytes > device->memory_bytes - used)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!host_has(track ? 2 * bytes : bytes)) {
        emu_driver_log("an allocation of %llu bytes is more than half of what this host has free",
                       (unsigned long long)(track ? 2 * bytes : bytes));
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made = emu_memory_new(bytes, M_DEVICE, ordinal, owner, track, false);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *address = made->base;
    return CUDA_SUCCESS;
}

/* Enter, and check that captures elsewhere allow a call that may wait for the device. */
static CUresult enter_unsafe(emu_context **context)
{
    CUresult result = emu_enter(context);

    if (result != CUDA_SUCCESS)
        return result;
    result = emu_allow_unsafe();
    return result == CUDA_SUCCESS ? result : emu_leave(result);
}

CUresult EMU_EXPORT cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    emu_context *context;
    CUresult result = emu_enter(&context);
    const emu_device *device;
    uint64_t used;
    int ordinal;

    if (result != CUDA_SUCCESS)
        return result;
    device = context->device;
    ordinal = context->ordinal;
    emu_unlock();
    if (!free_bytes || !total_bytes)
        return CUDA_ERROR_INVALID_VALUE;
    used = emu_memory_used(ordinal);
    *total_bytes = device->memory_bytes;
    *free_bytes = used < device->memory_bytes ? device->memory_bytes - used : 0;
    return CUDA_SUCCESS;
}

CUresult EMU_EXPORT cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    emu_context *context;
    CUresult result = enter_unsafe(&context);
    const emu_device *device;
    uint64_t owner;
    int ordinal;

    if (result != CUDA_SUCCESS)
        return result;
    device = context->device;
    owner = context->id;
    ordinal = context->ordinal;
    emu_unlock();
    if (!address || !bytes)
        return CUDA_ERROR_INVALID_VALUE;
    return allocate(device, ordinal, owner, bytes, address);
}

CUresult EMU_EXPORT cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned element)
{
    const size_t stride = (width + PITCH_ALIGNMENT - 1) / PITCH_ALIGNMENT * PITCH_ALIGNMENT;
    CUresult result;

    if (!address || !pitch || !width || !height || stride < width || height > SIZE_MAX / stride ||
        (element != 4 && element != 8 && element != 16))
        return CUDA_ERROR_INVALID_VALUE;
    result = cuMemAlloc_v2(address, stride * height);
    if (result == CUDA_SUCCESS)
        *pitch = stride;
    return result;
}

/* Is it the first byte of memory that a program allocated? */
static bool is_allocation(CUdeviceptr address)
{
    const emu_allocation *one;
    bool is_one;

    emu_memory_hold();
    one = emu_memory_find(address);
    is_one = one && one->base == address && one->kind == M_DEVICE;
    emu_memory_release();
    return is_one;
}

CUresult EMU_EXPORT cuMemFree_v2(CUdeviceptr address)
{
    emu_context *context;
    CUresult result = enter_unsafe(&context);

    if (result != CUDA_SUCCESS)
        return result;
    emu_unlock();
    if (!address)
        return CUDA_SUCCESS;
    return is_allocation(address) && emu_memory_free(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult EMU_EXPORT cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
    emu_context *context;
    CUresult result = emu_enter(&context);
    const emu_allocation *one;

    if (result != CUDA_SUCCESS)
        return result;
    emu_unlock();
    emu_memory_hold();
    one = emu_memory_find(address);
    if (one && base)
        *base = one->base;
    if (one && bytes)
        *bytes = one->size;
    emu_memory_release();
    return one ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* ---- pools -------------------------------------------------------------------------------------------------------- */

static CUresult get_pool(CUmemoryPool *pool, CUdevice device)
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

CUresult EMU_EXPORT cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device)
{
    return get_pool(pool, device);
}

CUresult EMU_EXPORT cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device)
{
    return get_pool(pool, device);
}

CUresult EMU_EXPORT cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
    CUmemoryPool known;
    const CUresult result = get_pool(&known, device);

    return result == CUDA_SUCCESS && known != pool ? CUDA_ERROR_INVALID_VALUE : result;
}

/* One attribute of a pool: read into value, or written from it. */
static CUresult pool_attribute(CUmemoryPool handle, int attribute, void *value, bool is_set)
{
    CUresult result = emu_enter_driver();
    emu_pool *pool;

    if (result != CUDA_SUCCESS)
        return result;
    pool = emu_handle_get(O_POOL, handle);
    if (!pool || !value)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    if (attribute >= 1 && attribute <= 3) { /* how memory is used again: of no effect */
        if (is_set)
            memcpy(&pool->reuse[attribute], value, sizeof(int));
        else
            memcpy(value, &pool->reuse[attribute], sizeof(int));
    } else if (attribute == 4) { /* RELEASE_THRESHOLD */
        if (is_set)
            memcpy(&pool->threshold, value, sizeof pool->threshold);
        else
            memcpy(value, &pool->threshold, sizeof pool->threshold);
    } else if (attribute >= 5 && attribute <= 8) { /* bytes reserved and used: nothing is kept back */
        if (!is_set)
            memset(value, 0, sizeof(uint64_t));
    } else {
        result = CUDA_ERROR_INVALID_VALUE;
    }
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
    uint64_t unused;

    (void)bytes;
    return pool_attribute(pool, 5, &unused, false);
}

/* A stream in which memory may be allocated or freed now. Locked on success. */
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

/* Record an allocation in a capture, or that it is freed. Not locked. */
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
        (void)emu_memory_free(address);
        return result;
    }
    *made = (emu_graph_memory){address, 1, false};
    result = record_memory(true, made, stream);
    emu_lock();
    emu_graph_memory_drop(made); /* the node has its own use of it */
    emu_unlock();
    return result;
}

CUresult EMU_EXPORT cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    emu_context *context;
    emu_stream *known;
    CUresult result = enter_ordered(stream, &context, &known);
    const emu_device *device;
    bool is_captured;
    uint64_t owner;
    int ordinal;

    if (result != CUDA_SUCCESS)
        return result;
    is_captured = known->capture;
    device = known->context->device;
    owner = known->context->id;
    ordinal = known->context->ordinal;
    emu_unlock();
    if (!address)
        return CUDA_ERROR_INVALID_VALUE;
    *address = 0;
    if (!bytes)
        return CUDA_SUCCESS;
    result = allocate(device, ordinal, owner, bytes, address);
    return result == CUDA_SUCCESS && is_captured ? allocate_in_graph(*address, stream) : result;
}

CUresult EMU_EXPORT cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool pool, CUstream stream)
{
    uint64_t unused;
    const CUresult result = pool_attribute(pool, 5, &unused, false);

    return result == CUDA_SUCCESS ? cuMemAllocAsync(address, bytes, stream) : result;
}

CUresult EMU_EXPORT cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    emu_context *context;
    emu_stream *known;
    CUresult result = enter_ordered(stream, &context, &known);
    emu_graph_memory *memory = NULL;

    if (result != CUDA_SUCCESS)
        return result;
    if (known->capture) { /* a capture frees what its own graph allocates */
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
    return is_allocation(address) && emu_memory_free(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- host memory -------------------------------------------------------------------------------------------------- */

static host_range *find_host(uint64_t address)
{
    for (host_range *one = ranges; one; one = one->next)
        if (address - (uint64_t)(uintptr_t)one->begin < one->bytes)
            return one;
    return NULL;
}

static CUresult add_host(emu_context *context, void *begin, size_t bytes, unsigned flags, bool is_registered)
{
    host_range *made = malloc(sizeof *made);

    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *made = (host_range){begin,         bytes, flags, context->id, emu_next_id(), context->object.handle, context->ordinal,
                         is_registered, ranges};
    ranges = made;
    return CUDA_SUCCESS;
}

/* Take the range that begins at host out of the list. */
static host_range *remove_host(const void *host, bool is_registered)
{
    for (host_range **at = &ranges; *at; at = &(*at)->next)
        if ((*at)->begin == host && (*at)->is_registered == is_registered) {
            host_range *one = *at;
            *at = one->next;
            return one;
        }
    return NULL;
}

void emu_host_close(uint64_t owner)
{
    emu_lock();
    for (host_range **at = &ranges; *at;) {
        host_range *one = *at;
        if (one->owner != owner) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        if (!one->is_registered)
            free(one->begin);
        free(one);
    }
    emu_unlock();
}

CUresult EMU_EXPORT cuMemHostAlloc(void **host, size_t bytes, unsigned flags)
{
    emu_context *context;
    CUresult result = enter_unsafe(&context);
    void *made = NULL;

    if (result != CUDA_SUCCESS)
        return result;
    if (!host || !bytes || (flags & ~(unsigned)HOST_FLAGS))
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    if (!host_has(bytes) || posix_memalign(&made, 4096, bytes) != 0)
        return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    result = add_host(context, made, bytes, flags, false);
    if (result == CUDA_SUCCESS)
        *host = made;
    else
        free(made);
    return emu_leave(result);
}

CUresult EMU_EXPORT cuMemAllocHost_v2(void **host, size_t bytes)
{
    return cuMemHostAlloc(host, bytes, 0);
}

/* Free, or forget what is registered. */
static CUresult drop_host(void *host, bool is_registered, CUresult unknown)
{
    emu_context *context;
    CUresult result = enter_unsafe(&context);
    host_range *one;

    if (result != CUDA_SUCCESS)
        return result;
    one = host ? remove_host(host, is_registered) : NULL;
    if (one && !is_registered)
        free(one->begin);
    free(one);
    return emu_leave(one ? CUDA_SUCCESS : unknown);
}

CUresult EMU_EXPORT cuMemFreeHost(void *host)
{
    return drop_host(host, false, CUDA_ERROR_INVALID_VALUE);
}

CUresult EMU_EXPORT cuMemHostGetFlags(unsigned *flags, void *host)
{
    emu_context *context;
    CUresult result = emu_enter(&context);
    const host_range *one;

    if (result != CUDA_SUCCESS)
        return result;
    one = find_host((uint64_t)(uintptr_t)host);
    if (!flags || !one)
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    *flags = one->flags;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuMemHostRegister_v2(void *host, size_t bytes, unsigned flags)
{
    emu_context *context;
    CUresult result = enter_unsafe(&context);

    if (result != CUDA_SUCCESS)
        return result;
    if (!host || !bytes || (flags & ~(unsigned)REGISTER_FLAGS))
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    for (const host_range *one = ranges; one; one = one->next)
        if ((uint8_t *)host < one->begin + one->bytes && one->begin < (uint8_t *)host + bytes)
            return emu_leave(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    return emu_leave(add_host(context, host, bytes, flags, true));
}

CUresult EMU_EXPORT cuMemHostUnregister(void *host)
{
    return drop_host(host, true, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

/* ---- pointers ----------------------------------------------------------------------------------------------------- */

/* What is known of an address. */
typedef struct pointer {
    bool is_known, is_host;
    uint64_t base, bytes, owner, id;
    CUcontext context;
    int ordinal;
} pointer;

static pointer describe(uint64_t address)
{
    pointer found = {.is_known = false};
    const host_range *host;
    const emu_allocation *one;
    size_t at = 0;

    emu_memory_hold();
    one = emu_memory_find(address);
    if (one)
        found = (pointer){true, false, one->base, one->size, one->owner, one->base, NULL, one->device};
    emu_memory_release();
    emu_lock();
    host = found.is_known ? NULL : find_host(address);
    if (host)
        found = (pointer){true,          true,         (uint64_t)(uintptr_t)host->begin, host->bytes, host->owner, host->id,
                          host->context, host->ordinal};
    for (emu_object *object; found.is_known && !found.context && (object = emu_handle_next(&at, O_CONTEXT));)
        if (((emu_context *)object)->id == found.owner)
            found.context = object->handle;
    emu_unlock();
    return found;
}

static void put(void *value, const void *from, size_t bytes)
{
    memcpy(value, from, bytes);
}

/* One attribute; unknown pointers have zeros in all. */
static CUresult pointer_attribute(const pointer *p, uint64_t address, int attribute, void *value)
{
    const uint64_t number = attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR ? p->base
                            : attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE     ? p->bytes
                            : attribute == CU_POINTER_ATTRIBUTE_BUFFER_ID      ? p->id
                            : attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER   ? (p->is_host ? address : 0)
                            : attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER ? (p->is_host ? 0 : address)
                                                                               : 0;
    const unsigned type = !p->is_known ? 0 : p->is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    const int ordinal = p->is_known ? p->ordinal : 0;
    const unsigned access = p->is_known && !p->is_host ? 3 : 0; /* read and write */
    const bool is_mapped = p->is_known && !p->is_host;

    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        put(value, &(CUcontext){attribute == CU_POINTER_ATTRIBUTE_CONTEXT ? p->context : NULL}, sizeof(CUcontext));
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        put(value, &type, sizeof type);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        put(value, &(uint64_t){p->is_known ? number : 0}, sizeof(uint64_t));
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        put(value, &ordinal, sizeof ordinal);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        put(value, &(bool){false}, sizeof(bool));
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        put(value, &is_mapped, sizeof is_mapped);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        put(value, &(uint64_t){0}, sizeof(uint64_t));
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        put(value, &access, sizeof access);
        return CUDA_SUCCESS;
    default:
        return attribute >= 1 && attribute <= CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE ? CUDA_ERROR_NOT_SUPPORTED
                                                                                            : CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult EMU_EXPORT cuPointerGetAttributes(unsigned count, int *attribute, void **value, CUdeviceptr address)
{
    emu_context *context;
    CUresult result = emu_enter(&context);
    pointer p;

    if (result != CUDA_SUCCESS)
        return result;
    emu_unlock();
    if (!attribute || !value || !count)
        return CUDA_ERROR_INVALID_VALUE;
    p = describe(address);
    for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = value[i] ? pointer_attribute(&p, address, attribute[i], value[i]) : CUDA_ERROR_INVALID_VALUE;
    return result;
}

CUresult EMU_EXPORT cuPointerGetAttribute(void *value, int attribute, CUdeviceptr address)
{
    emu_context *context;
    CUresult result = emu_enter(&context);
    pointer p;

    if (result != CUDA_SUCCESS)
        return result;
    emu_unlock();
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    p = describe(address);
    return p.is_known ? pointer_attribute(&p, address, attribute, value) : CUDA_ERROR_INVALID_VALUE;
}

CUresult EMU_EXPORT cuPointerSetAttribute(const void *value, int attribute, CUdeviceptr address)
{
    emu_context *context;
    CUresult result = emu_enter(&context);

    if (result != CUDA_SUCCESS)
        return result;
    emu_unlock();
    if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !describe(address).is_known)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS; /* copies are synchronous anyway */
}

/* ---- copying and filling ------------------------------------------------------------------------------------------ */

/* One side of a copy: rows of bytes in host memory, with what is known of their definedness. */
typedef struct side {
    uint8_t *at, *defined;
    bool is_device;
} side;

static bool resolve(uint64_t address, size_t pitch, size_t width, size_t height, side *one)
{
    emu_allocation *allocation;
    uint64_t span;

    if (height > 1 && (pitch < width || pitch > (UINT64_MAX - width) / (height - 1)))
        return false;
    span = pitch * (height - 1) + width;
    one->defined = NULL;
    one->is_device = address >= EMU_GLOBAL_BASE;
    if (!one->is_device) {
        one->at = (uint8_t *)(uintptr_t)address;
        return address != 0;
    }
    one->at = emu_memory_range(address, span, &allocation);
    if (one->at && allocation->defined)
        one->defined = allocation->defined + (address - allocation->base);
    return one->at;
}

static void copy_rows(const emu_work *work, const side *to, const side *from)
{
    for (size_t row = 0; row < work->height; row++) {
        const size_t into = row * work->to_pitch, out = row * work->from_pitch;
        memmove(to->at + into, from->at + out, work->width);
        if (!to->defined)
            continue;
        if (from->defined)
            memmove(to->defined + into, from->defined + out, work->width);
        else
            memset(to->defined + into, 1, work->width);
    }
}

static void fill_rows(const emu_work *work, const side *to)
{
    for (size_t row = 0; row < work->height; row++) {
        uint8_t *at = to->at + row * work->to_pitch;
        if (work->unit == 1)
            memset(at, (int)work->value, work->width);
        else
            for (size_t i = 0; i < work->width; i += work->unit)
                memcpy(at + i, &work->value, work->unit); /* little-endian: the low bytes */
        if (to->defined)
            memset(to->defined + row * work->to_pitch, 1, work->width);
    }
}

CUresult emu_move(int ordinal, const emu_device *device, const emu_work *work, bool is_trial)
{
    /* two transfers a clock */
    const double memory_speed = (double)device->memory_clock_khz * 2e3 * device->bus_bits / 8 / 1e9;
    const double bytes = (double)work->width * (double)work->height;
    side to = {0}, from = {0};
    bool is_found;

    if (!work->width || !work->height)
        return CUDA_SUCCESS;
    emu_memory_hold();
    is_found = resolve(work->to, work->to_pitch, work->width, work->height, &to) &&
               (work->kind == W_FILL || resolve(work->from, work->from_pitch, work->width, work->height, &from));
    if (is_found && work->kind == W_FILL)
        is_found = to.is_device && work->to % work->unit == 0;
    if (is_found && !is_trial) {
        if (work->kind == W_FILL)
            fill_rows(work, &to);
        else
            copy_rows(work, &to, &from);
    }
    emu_memory_release();
    if (!is_found)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_trial) {
        const double speed = work->kind == W_FILL             ? memory_speed
                             : to.is_device && from.is_device ? memory_speed / 2
                                                              : BUS_BYTES_PER_NS;
        emu_advance_clock(ordinal, COPY_LATENCY_NS + (uint64_t)(bytes / speed));
    }
    return CUDA_SUCCESS;
}

/* A copy in a stream. */
static CUresult submit(CUstream stream, const emu_work *work)
{
    emu_context *context;
    const CUresult result = emu_enter(&context);

    return result == CUDA_SUCCESS ? emu_submit(context, stream, work) : result;
}

/* A copy that waits: it is ordered with the legacy stream, and forbidden beside captures. */
static CUresult submit_now(const emu_work *work)
{
    emu_context *context;
    CUresult result = emu_enter(&context);

    if (result != CUDA_SUCCESS)
        return result;
    result = emu_allow_legacy(context);
    if (result == CUDA_SUCCESS)
        result = emu_allow_unsafe();
    return result == CUDA_SUCCESS ? emu_submit(context, CU_STREAM_LEGACY, work) : emu_leave(result);
}

static emu_work copy(uint64_t to, uint64_t from, size_t bytes)
{
    return (emu_work){.kind = W_COPY, .to = to, .from = from, .width = bytes, .height = 1};
}

static emu_work fill(uint64_t to, size_t pitch, uint32_t value, uint32_t unit, size_t width, size_t height)
{
    return (emu_work){.kind = W_FILL,
                      .to = to,
                      .to_pitch = pitch,
                      .value = value,
                      .unit = unit,
                      .width = width > SIZE_MAX / 4 ? SIZE_MAX / 2 : width * unit,
                      .height = height};
}

static uint64_t host(const void *pointer_in_host)
{
    return (uint64_t)(uintptr_t)pointer_in_host;
}

CUresult EMU_EXPORT cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return submit_now(&(emu_work){.kind = W_COPY, .to = to, .from = from, .width = bytes, .height = 1});
}

CUresult EMU_EXPORT cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    const emu_work work = copy(to, from, bytes);

    return submit(stream, &work);
}

/* A device pointer of a typed copy is device memory, or host memory that is pinned. */
static bool is_device_pointer(CUdeviceptr address)
{
    bool is_one = address >= EMU_GLOBAL_BASE;

    if (!is_one) {
        emu_lock();
        is_one = find_host(address) != NULL;
        emu_unlock();
    }
    return is_one;
}

CUresult EMU_EXPORT cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
    return bytes && !is_device_pointer(to) ? CUDA_ERROR_INVALID_VALUE : cuMemcpy(to, host(from), bytes);
}

CUresult EMU_EXPORT cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    return bytes && !is_device_pointer(to) ? CUDA_ERROR_INVALID_VALUE : cuMemcpyAsync(to, host(from), bytes, stream);
}

CUresult EMU_EXPORT cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
    return bytes && !is_device_pointer(from) ? CUDA_ERROR_INVALID_VALUE : cuMemcpy(host(to), from, bytes);
}

CUresult EMU_EXPORT cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return bytes && !is_device_pointer(from) ? CUDA_ERROR_INVALID_VALUE : cuMemcpyAsync(host(to), from, bytes, stream);
}

CUresult EMU_EXPORT cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return bytes && (!is_device_pointer(to) || !is_device_pointer(from)) ? CUDA_ERROR_INVALID_VALUE : cuMemcpy(to, from, bytes);
}

CUresult EMU_EXPORT cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return bytes && (!is_device_pointer(to) || !is_device_pointer(from)) ? CUDA_ERROR_INVALID_VALUE
                                                                         : cuMemcpyAsync(to, from, bytes, stream);
}

static bool are_contexts(CUcontext one, CUcontext other)
{
    bool are;

    emu_lock();
    are = emu_handle_get(O_CONTEXT, one) && emu_handle_get(O_CONTEXT, other);
    emu_unlock();
    return are;
}

CUresult EMU_EXPORT cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes)
{
    return are_contexts(to_context, from_context) ? cuMemcpyDtoD_v2(to, from, bytes) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult EMU_EXPORT cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                                      size_t bytes, CUstream stream)
{
    return are_contexts(to_context, from_context) ? cuMemcpyDtoDAsync_v2(to, from, bytes, stream) : CUDA_ERROR_INVALID_CONTEXT;
}

/* One side of a copy of a rectangle; false: not an address, such as an array. */
static bool place(int type, const void *in_host, CUdeviceptr in_device, size_t x, size_t y, size_t pitch, uint64_t *address)
{
    if (type != CU_MEMORYTYPE_HOST && type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED)
        return false;
    *address = (type == CU_MEMORYTYPE_HOST ? host(in_host) : in_device) + y * pitch + x;
    return true;
}

static CUresult make_rectangle(const CUDA_MEMCPY2D *asked, emu_work *work)
{
    const size_t from_pitch = asked && asked->from_pitch ? asked->from_pitch : asked ? asked->width + asked->from_x : 0;
    const size_t to_pitch = asked && asked->to_pitch ? asked->to_pitch : asked ? asked->width + asked->to_x : 0;

    if (!asked)
        return CUDA_ERROR_INVALID_VALUE;
    if (asked->from_type == CU_MEMORYTYPE_ARRAY || asked->to_type == CU_MEMORYTYPE_ARRAY)
        return CUDA_ERROR_NOT_SUPPORTED;
    *work = (emu_work){
        .kind = W_COPY, .to_pitch = to_pitch, .from_pitch = from_pitch, .width = asked->width, .height = asked->height};
    if (asked->width + asked->from_x > from_pitch || asked->width + asked->to_x > to_pitch ||
        !place(asked->from_type, asked->from_host, asked->from_device, asked->from_x, asked->from_y, from_pitch, &work->from) ||
        !place(asked->to_type, asked->to_host, asked->to_device, asked->to_x, asked->to_y, to_pitch, &work->to))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult EMU_EXPORT cuMemcpy2D_v2(const CUDA_MEMCPY2D *asked)
{
    emu_work work;
    const CUresult result = make_rectangle(asked, &work);

    return result == CUDA_SUCCESS ? submit_now(&work) : result;
}

CUresult EMU_EXPORT cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *asked)
{
    return cuMemcpy2D_v2(asked);
}

CUresult EMU_EXPORT cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *asked, CUstream stream)
{
    emu_work work;
    const CUresult result = make_rectangle(asked, &work);

    return result == CUDA_SUCCESS ? submit(stream, &work) : result;
}

CUresult EMU_EXPORT cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count)
{
    const emu_work work = fill(to, 0, value, 1, count, 1);

    return submit_now(&work);
}

CUresult EMU_EXPORT cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count)
{
    const emu_work work = fill(to, 0, value, 2, count, 1);

    return submit_now(&work);
}

CUresult EMU_EXPORT cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count)
{
    const emu_work work = fill(to, 0, value, 4, count, 1);

    return submit_now(&work);
}

CUresult EMU_EXPORT cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream)
{
    const emu_work work = fill(to, 0, value, 1, count, 1);

    return submit(stream, &work);
}

CUresult EMU_EXPORT cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream)
{
    const emu_work work = fill(to, 0, value, 2, count, 1);

    return submit(stream, &work);
}

CUresult EMU_EXPORT cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream)
{
    const emu_work work = fill(to, 0, value, 4, count, 1);

    return submit(stream, &work);
}

CUresult EMU_EXPORT cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height)
{
    const emu_work work = fill(to, pitch, value, 1, width, height);

    return submit_now(&work);
}

CUresult EMU_EXPORT cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height)
{
    const emu_work work = fill(to, pitch, value, 2, width, height);

    return submit_now(&work);
}

CUresult EMU_EXPORT cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height)
{
    const emu_work work = fill(to, pitch, value, 4, width, height);

    return submit_now(&work);
}

CUresult EMU_EXPORT cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
                                      CUstream stream)
{
    const emu_work work = fill(to, pitch, value, 1, width, height);

    return submit(stream, &work);
}

CUresult EMU_EXPORT cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
                                       CUstream stream)
{
    const emu_work work = fill(to, pitch, value, 2, width, height);

    return submit(stream, &work);
}

CUresult EMU_EXPORT cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height,
                                       CUstream stream)
{
    const emu_work work = fill(to, pitch, value, 4, width, height);

    return submit(stream, &work);
}
