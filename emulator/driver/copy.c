/* SPDX-License-Identifier: Apache-2.0 */
/* copy: copying and filling, in a stream or at once. */
#include "driver.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory.h"

enum {
    COPY_LATENCY_NS = 1500,
    BUS_BYTES_PER_NS = 25 /* between host and device, each way */
};

/* One side of a copy: rows of bytes in host memory, with what is known of their definedness. */
typedef struct side {
    uint8_t *at, *defined;
    bool is_device, is_reachable; /* reachable: by kernels and fills */
} side;

/* Is host memory there to be read or written? A program's wild address should be its error, not a crash in here. */
static bool is_mapped(uint64_t address, uint64_t bytes)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), start = address / page * page;
    uint64_t span;

    if (__builtin_add_overflow(address - start, bytes, &span) || start + span < start)
        return false;
    /* It synchronises nothing, and fails for what no mapping has. */
    return msync((void *)(uintptr_t)start, span, MS_ASYNC) == 0 || errno != ENOMEM;
}

static bool resolve(uint64_t address, bool is_typed, size_t pitch, size_t width, size_t height, side *one)
{
    emu_allocation *allocation;
    uint64_t span;

    if (height > 1 && (pitch < width || pitch > (UINT64_MAX - width) / (height - 1)))
        return false;
    span = pitch * (height - 1) + width;
    one->at = emu_memory_range(address, span, &allocation);
    one->defined = one->at && allocation->defined ? allocation->defined + (address - allocation->base) : NULL;
    one->is_device = allocation && !emu_is_pinned(allocation);
    one->is_reachable = allocation;
    if (allocation || is_typed || address >= EMU_GLOBAL_BASE)
        return one->at;
    for (size_t row = 0; row < height; row++) { /* what lies between the lines is none of ours */
        if (row == 0 && is_mapped(address, span))
            break;
        if (!is_mapped(address + row * pitch, width))
            return false;
    }
    one->at = (uint8_t *)(uintptr_t)address;
    return true;
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
    is_found =
        resolve(work->to, work->to_is_device, work->to_pitch, work->width, work->height, &to) &&
        (work->kind == W_FILL || resolve(work->from, work->from_is_device, work->from_pitch, work->width, work->height, &from));
    if (is_found && work->kind == W_FILL)
        is_found = to.is_reachable && work->to % work->unit == 0 && (work->height == 1 || work->to_pitch % work->unit == 0);
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

/* to_device, from_device: what is no address of memory that the device reaches is an error. */
static emu_work copy(uint64_t to, bool to_device, uint64_t from, bool from_device, size_t bytes)
{
    return (emu_work){.kind = W_COPY,
                      .to = to,
                      .to_is_device = to_device,
                      .from = from,
                      .from_is_device = from_device,
                      .width = bytes,
                      .height = 1};
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
    const emu_work work = copy(to, false, from, false, bytes);

    return submit_now(&work);
}

CUresult EMU_EXPORT cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    const emu_work work = copy(to, false, from, false, bytes);

    return submit(stream, &work);
}

CUresult EMU_EXPORT cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
    const emu_work work = copy(to, true, host(from), false, bytes);

    return submit_now(&work);
}

CUresult EMU_EXPORT cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    const emu_work work = copy(to, true, host(from), false, bytes);

    return submit(stream, &work);
}

CUresult EMU_EXPORT cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
    const emu_work work = copy(host(to), false, from, true, bytes);

    return submit_now(&work);
}

CUresult EMU_EXPORT cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    const emu_work work = copy(host(to), false, from, true, bytes);

    return submit(stream, &work);
}

CUresult EMU_EXPORT cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    const emu_work work = copy(to, true, from, true, bytes);

    return submit_now(&work);
}

CUresult EMU_EXPORT cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    const emu_work work = copy(to, true, from, true, bytes);

    return submit(stream, &work);
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

/* One side of a copy of a rectangle; false: not an address, such as an array, or none that can be. */
static bool place(int type, const void *in_host, CUdeviceptr in_device, size_t x, size_t y, size_t width, size_t *pitch,
                  uint64_t *address, bool *is_device)
{
    size_t line, at;

    if (type != CU_MEMORYTYPE_HOST && type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED)
        return false;
    if (__builtin_add_overflow(x, width, &line))
        return false;
    *pitch = *pitch ? *pitch : line;
    *is_device = type == CU_MEMORYTYPE_DEVICE;
    return line <= *pitch && !__builtin_mul_overflow(y, *pitch, &at) && !__builtin_add_overflow(at, x, &at) &&
           !__builtin_add_overflow(type == CU_MEMORYTYPE_HOST ? host(in_host) : in_device, at, address);
}

static CUresult make_rectangle(const CUDA_MEMCPY2D *asked, emu_work *work)
{
    if (!asked)
        return CUDA_ERROR_INVALID_VALUE;
    if (asked->from_type == CU_MEMORYTYPE_ARRAY || asked->to_type == CU_MEMORYTYPE_ARRAY)
        return CUDA_ERROR_NOT_SUPPORTED;
    *work = (emu_work){.kind = W_COPY,
                       .to_pitch = asked->to_pitch,
                       .from_pitch = asked->from_pitch,
                       .width = asked->width,
                       .height = asked->height};
    if (!place(asked->from_type, asked->from_host, asked->from_device, asked->from_x, asked->from_y, asked->width,
               &work->from_pitch, &work->from, &work->from_is_device) ||
        !place(asked->to_type, asked->to_host, asked->to_device, asked->to_x, asked->to_y, asked->width, &work->to_pitch,
               &work->to, &work->to_is_device))
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
