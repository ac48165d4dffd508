/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory: allocating, and what is known of a pointer. Pinned host memory has one address for the host and for kernels.
 */
#include "driver.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "option.h"

enum { HOST_FLAGS = 7, REGISTER_FLAGS = 15, PITCH_ALIGNMENT = 512 };

/* ---- device memory ------------------------------------------------------------------------------------------------ */

/* Half of the host's free memory: shadow memory and other processes need the rest. */
static bool host_has(uint64_t bytes)
{
    const long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);

    return pages <= 0 || page <= 0 || bytes <= (uint64_t)pages * (uint64_t)page / 2;
}

CUresult emu_device_allocate(int ordinal, uint64_t owner, uint64_t bytes, CUdeviceptr *address)
{
    const uint64_t memory_bytes = emu_device_at(ordinal)->memory_bytes;
    const bool track = emu_option(CUEMU_CHECKS) & CUEMU_CHECK_UNINITIALISED;
    const uint64_t used = emu_memory_used(ordinal);
    emu_allocation *made;

    if (used >= memory_bytes || bytes > memory_bytes - used)
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
    uint64_t owner;
    int ordinal;

    if (result != CUDA_SUCCESS)
        return result;
    owner = context->id;
    ordinal = context->ordinal;
    emu_unlock();
    if (!address || !bytes)
        return CUDA_ERROR_INVALID_VALUE;
    return emu_device_allocate(ordinal, owner, bytes, address);
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

/* Free an allocation, or unregister memory. */
static CUresult release(uint64_t address, emu_memory_kind kind, CUresult unknown)
{
    emu_context *context;
    const CUresult result = enter_unsafe(&context);

    if (result != CUDA_SUCCESS)
        return result;
    emu_unlock();
    return address && emu_memory_free(address, kind) ? CUDA_SUCCESS : unknown;
}

CUresult EMU_EXPORT cuMemFree_v2(CUdeviceptr address)
{
    return release(address, M_DEVICE, address ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
    CUresult result = emu_check_context();
    const emu_allocation *one;

    if (result != CUDA_SUCCESS)
        return result;
    emu_memory_hold();
    one = emu_memory_find(address);
    if (one && base)
        *base = one->base;
    if (one && bytes)
        *bytes = one->size;
    emu_memory_release();
    return one ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* ---- host memory -------------------------------------------------------------------------------------------------- */

/* Register host memory as pinned in the current context. *begin NULL: allocate it. */
static CUresult pin(void **begin, size_t bytes, unsigned flags, emu_memory_kind kind)
{
    emu_context *context;
    emu_allocation one = {.size = bytes, .kind = kind, .flags = flags, .id = emu_next_id()};
    CUresult result = enter_unsafe(&context);
    void *made = *begin;
    int entered;

    if (result != CUDA_SUCCESS)
        return result;
    one.device = context->ordinal;
    one.owner = context->id;
    emu_unlock();
    if (!made && (!host_has(bytes) || posix_memalign(&made, 4096, bytes) != 0))
        return CUDA_ERROR_OUT_OF_MEMORY;
    one.base = (uint64_t)(uintptr_t)made;
    one.host = made;
    entered = one.base + bytes < one.base ? 0 : emu_memory_pin(&one);
    if (entered == 1)
        *begin = made;
    else if (kind == M_PINNED)
        free(made);
    return entered == 1 ? CUDA_SUCCESS : entered == 0 ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult EMU_EXPORT cuMemHostAlloc(void **host, size_t bytes, unsigned flags)
{
    void *made = NULL;
    CUresult result;

    if (!host || !bytes || (flags & ~(unsigned)HOST_FLAGS))
        return CUDA_ERROR_INVALID_VALUE;
    result = pin(&made, bytes, flags, M_PINNED);
    if (result == CUDA_SUCCESS)
        *host = made;
    return result;
}

CUresult EMU_EXPORT cuMemHostRegister_v2(void *host, size_t bytes, unsigned flags)
{
    if (!host || !bytes || (flags & ~(unsigned)REGISTER_FLAGS) || (uint64_t)(uintptr_t)host >= EMU_GLOBAL_BASE)
        return CUDA_ERROR_INVALID_VALUE;
    return pin(&host, bytes, flags, M_REGISTERED);
}

CUresult EMU_EXPORT cuMemFreeHost(void *host)
{
    return release((uint64_t)(uintptr_t)host, M_PINNED, CUDA_ERROR_INVALID_VALUE);
}

CUresult EMU_EXPORT cuMemHostUnregister(void *host)
{
    return release((uint64_t)(uintptr_t)host, M_REGISTERED, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

/* Find the flags of pinned host memory at an address; false: not pinned. */
static bool find_pinned(const void *host, unsigned *flags)
{
    const emu_allocation *one;

    emu_memory_hold();
    one = emu_memory_find((uint64_t)(uintptr_t)host);
    if (one && emu_is_pinned(one))
        *flags = one->flags;
    else
        one = NULL;
    emu_memory_release();
    return one;
}

CUresult EMU_EXPORT cuMemHostGetFlags(unsigned *flags, void *host)
{
    const CUresult result = emu_check_context();

    if (result != CUDA_SUCCESS)
        return result;
    return flags && find_pinned(host, flags) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult EMU_EXPORT cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *host, unsigned flags)
{
    const CUresult result = emu_check_context();
    unsigned unused;

    if (result != CUDA_SUCCESS)
        return result;
    if (!address || flags || !find_pinned(host, &unused))
        return CUDA_ERROR_INVALID_VALUE;
    *address = (CUdeviceptr)(uintptr_t)host;
    return CUDA_SUCCESS;
}

/* ---- pointers ----------------------------------------------------------------------------------------------------- */

/* Facts about an address. */
typedef struct pointer {
    bool is_known, is_host;
    uint64_t base, bytes, owner, id;
    CUcontext context;
    int ordinal;
} pointer;

static pointer describe(uint64_t address)
{
    pointer found = {.is_known = false};
    const emu_allocation *one;
    size_t at = 0;

    emu_memory_hold();
    one = emu_memory_find(address);
    if (one)
        found = (pointer){true, emu_is_pinned(one), one->base, one->size, one->owner, one->id ? one->id : one->base,
                          NULL, one->device};
    emu_memory_release();
    emu_lock();
    for (emu_object *object; found.is_known && !found.context && (object = emu_handle_next(&at, O_CONTEXT));)
        if (((emu_context *)object)->id == found.owner)
            found.context = object->handle;
    emu_unlock();
    return found;
}

/* Return one attribute; all are 0 for an unknown pointer. */
static CUresult pointer_attribute(const pointer *p, uint64_t address, int attribute, void *value)
{
    const uint64_t number = attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR ? p->base
                            : attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE     ? p->bytes
                            : attribute == CU_POINTER_ATTRIBUTE_BUFFER_ID      ? p->id
                            : attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER   ? (p->is_host ? address : 0)
                            : attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER ? address
                                                                               : 0;
    const unsigned type = !p->is_known ? 0 : p->is_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    const int ordinal = p->is_known ? p->ordinal : 0;
    const unsigned access = p->is_known ? 3 : 0; /* read and write */

    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        memcpy(value, &p->context, sizeof p->context);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        memcpy(value, &type, sizeof type);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        memcpy(value, &(uint64_t){p->is_known ? number : 0}, sizeof(uint64_t));
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        memcpy(value, &ordinal, sizeof ordinal);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        memcpy(value, &(bool){false}, sizeof(bool));
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        memcpy(value, &p->is_known, sizeof p->is_known);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        memcpy(value, &access, sizeof access);
        return CUDA_SUCCESS;
    default:
        return attribute >= 1 && attribute <= CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE ? CUDA_ERROR_NOT_SUPPORTED
                                                                                            : CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult EMU_EXPORT cuPointerGetAttributes(unsigned count, int *attribute, void **value, CUdeviceptr address)
{
    CUresult result = emu_check_context();
    pointer p;

    if (result != CUDA_SUCCESS)
        return result;
    if (!attribute || !value || !count)
        return CUDA_ERROR_INVALID_VALUE;
    p = describe(address);
    for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = value[i] ? pointer_attribute(&p, address, attribute[i], value[i]) : CUDA_ERROR_INVALID_VALUE;
    return result;
}

CUresult EMU_EXPORT cuPointerGetAttribute(void *value, int attribute, CUdeviceptr address)
{
    CUresult result = emu_check_context();
    pointer p;

    if (result != CUDA_SUCCESS)
        return result;
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    p = describe(address);
    return p.is_known ? pointer_attribute(&p, address, attribute, value) : CUDA_ERROR_INVALID_VALUE;
}

CUresult EMU_EXPORT cuPointerSetAttribute(const void *value, int attribute, CUdeviceptr address)
{
    CUresult result = emu_check_context();

    if (result != CUDA_SUCCESS)
        return result;
    if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !describe(address).is_known)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS; /* copies are synchronous anyway */
}
