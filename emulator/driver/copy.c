/* SPDX-License-Identifier: Apache-2.0 */
/* copy: copy and fill functions, in a stream or synchronous. */
#include "driver.h"

/* A copy in a stream. */
static CUresult submit(CUstream stream, emu_work work)
{
    emu_context *context;
    const CUresult result = emu_enter(&context);

    return result == CUDA_SUCCESS ? emu_submit(context, stream, &work) : result;
}

/* Submit a copy that waits: it is ordered with the legacy stream, and not allowed during captures. */
static CUresult submit_now(emu_work work)
{
    emu_context *context;
    CUresult result = emu_enter(&context);

    if (result != CUDA_SUCCESS)
        return result;
    result = emu_allow_legacy(context);
    if (result == CUDA_SUCCESS)
        result = emu_allow_unsafe();
    return result == CUDA_SUCCESS ? emu_submit(context, CU_STREAM_LEGACY, &work) : emu_leave(result);
}

/* to_device, from_device: an address outside the memory that the device reaches is an error. */
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
    return submit_now(copy(to, false, from, false, bytes));
}

CUresult EMU_EXPORT cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return submit(stream, copy(to, false, from, false, bytes));
}

CUresult EMU_EXPORT cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
    return submit_now(copy(to, true, host(from), false, bytes));
}

CUresult EMU_EXPORT cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    return submit(stream, copy(to, true, host(from), false, bytes));
}

CUresult EMU_EXPORT cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
    return submit_now(copy(host(to), false, from, true, bytes));
}

CUresult EMU_EXPORT cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return submit(stream, copy(host(to), false, from, true, bytes));
}

CUresult EMU_EXPORT cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return submit_now(copy(to, true, from, true, bytes));
}

CUresult EMU_EXPORT cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    return submit(stream, copy(to, true, from, true, bytes));
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

/* Resolve one side of a rectangular copy; false: not an address (such as an array), or an impossible one. */
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

    return result == CUDA_SUCCESS ? submit_now(work) : result;
}

CUresult EMU_EXPORT cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *asked)
{
    return cuMemcpy2D_v2(asked);
}

CUresult EMU_EXPORT cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *asked, CUstream stream)
{
    emu_work work;
    const CUresult result = make_rectangle(asked, &work);

    return result == CUDA_SUCCESS ? submit(stream, work) : result;
}

/* The fills of elements of `bits` bits: a row or a rectangle, synchronous or in a stream. */
#define EMU_FILLS(bits, type)                                                                                           \
    CUresult EMU_EXPORT cuMemsetD##bits##_v2(CUdeviceptr to, type value, size_t count)                                  \
    {                                                                                                                   \
        return submit_now(fill(to, 0, value, bits / 8, count, 1));                                                      \
    }                                                                                                                   \
    CUresult EMU_EXPORT cuMemsetD##bits##Async(CUdeviceptr to, type value, size_t count, CUstream stream)               \
    {                                                                                                                   \
        return submit(stream, fill(to, 0, value, bits / 8, count, 1));                                                  \
    }                                                                                                                   \
    CUresult EMU_EXPORT cuMemsetD2D##bits##_v2(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height)   \
    {                                                                                                                   \
        return submit_now(fill(to, pitch, value, bits / 8, width, height));                                             \
    }                                                                                                                   \
    CUresult EMU_EXPORT cuMemsetD2D##bits##Async(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height, \
                                                 CUstream stream)                                                       \
    {                                                                                                                   \
        return submit(stream, fill(to, pitch, value, bits / 8, width, height));                                         \
    }

EMU_FILLS(8, unsigned char)
EMU_FILLS(16, unsigned short)
EMU_FILLS(32, unsigned)
