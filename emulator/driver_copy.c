/* SPDX-License-Identifier: Apache-2.0 */
/* driver_copy: copying and filling, in a stream or at once. */
#include "driver.h"

#include <string.h>

#include "memory.h"

enum {
    COPY_LATENCY_NS = 1500,
    BUS_BYTES_PER_NS = 25 /* between host and device, each way */
};

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
        is_one = emu_is_host(address);
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
