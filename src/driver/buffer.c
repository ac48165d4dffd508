/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffer: device memory, copies and streams for programs without a CUDA runtime.
 *
 * A buffer remembers its CUDA context and makes it current for each call. A product allocates no buffers; tuning and proofs do.
 */
#include "buffer.h"

#include <stdlib.h>

#include "error.h"
#include "memory.h"
#include "visit.h"

struct tj_buffer {
    tj_gpu *gpu;
    const tj_driver *driver;
    CUcontext home;
    CUdeviceptr address;
    size_t bytes;
    CUstream stream; /* for copies; each waits until the stream has finished it */
};

/* Enter as tj_visit_enter does, in the buffer's own context. */
static tj_status enter_home(const tj_buffer *buffer, tj_visit *v, tj_error *err)
{
    tj_status status = tj_gpu_check_process(buffer->gpu, err);
    CUresult result;

    *v = (tj_visit){.scope = {.driver = buffer->driver, .is_pushed = true}, .mode = -1};
    if (status == TJ_OK)
        status = tj_driver_check_alive(buffer->driver, err);
    if (status != TJ_OK)
        return status;
    result = buffer->driver->api.ctx_push(buffer->home);
    if (result != CUDA_SUCCESS)
        return tj_driver_fail(buffer->driver, result, err, "cannot enter the CUDA context of a buffer");
    (void)tj_driver_ignore_captures(buffer->driver, &v->mode);
    return TJ_OK;
}

static tj_status check_range(const tj_buffer *buffer, size_t offset, size_t bytes, tj_error *err)
{
    if (offset <= buffer->bytes && bytes <= buffer->bytes - offset)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%zu bytes at offset %zu do not fit a buffer of %zu bytes", bytes, offset,
                   buffer->bytes);
}

/* An address: size 0 has one too. */
static size_t taken_bytes(const tj_buffer *buffer)
{
    return buffer->bytes ? buffer->bytes : 1;
}

static tj_status take_from_driver(tj_buffer *buffer, tj_error *err)
{
    size_t free_bytes = 0, total_bytes = 0;
    const CUresult result = buffer->driver->api.mem_alloc(&buffer->address, taken_bytes(buffer));

    if (result == CUDA_SUCCESS)
        return TJ_OK;
    (void)buffer->driver->api.mem_get_info(&free_bytes, &total_bytes);
    return tj_driver_fail(buffer->driver, result, err, "cannot allocate %zu bytes on the device, which has %zu of %zu free",
                          buffer->bytes, free_bytes, total_bytes);
}

/* The program's allocator answers in the order of the stream, and a buffer may be used in any: wait. */
static tj_status take_from_program(tj_buffer *buffer, tj_error *err)
{
    const tj_allocator *own = &buffer->gpu->allocator;
    void *memory;
    CUresult result;
    tj_status status = tj_memory_ask(buffer->gpu, taken_bytes(buffer), buffer->stream, &memory, err);

    if (status != TJ_OK)
        return status;
    result = buffer->driver->api.stream_synchronize(buffer->stream);
    if (result != CUDA_SUCCESS) {
        status = tj_driver_fail(buffer->driver, result, err, "waiting for the program's allocator");
        own->release(memory, taken_bytes(buffer), buffer->stream, own->payload);
    }
    buffer->address = (CUdeviceptr)(uintptr_t)memory;
    return status;
}

tj_status tj_gpu_allocate(tj_gpu *gpu, CUstream stream, size_t bytes, tj_buffer **out, tj_error *err)
{
    tj_buffer *buffer = calloc(1, sizeof *buffer);
    tj_visit v;
    tj_status status;

    *out = NULL;
    if (!buffer)
        return tj_fail_memory(err, "a buffer");
    status = tj_visit_enter(gpu, &v, err);
    if (status != TJ_OK) {
        free(buffer);
        return status;
    }
    buffer->gpu = gpu;
    buffer->driver = v.scope.driver;
    buffer->bytes = bytes;
    buffer->stream = stream;
    status = tj_scope_handle(&v.scope, &buffer->home, err);
    if (status == TJ_OK)
        status = gpu->allocator.allocate ? take_from_program(buffer, err) : take_from_driver(buffer, err);
    tj_visit_leave(&v);
    if (status == TJ_OK)
        *out = buffer;
    else
        free(buffer);
    return status;
}

void *tj_buffer_address(const tj_buffer *buffer)
{
    return buffer ? (void *)(uintptr_t)buffer->address : NULL;
}

/* Wait for the queued work, and leave the buffer's context. what, bytes, where: "copy" 16 "to", for the message. */
static tj_status finish(const tj_buffer *buffer, tj_visit *v, CUresult result, const char *what, const char *where,
                        size_t bytes, tj_error *err)
{
    tj_status status = TJ_OK;

    if (result == CUDA_SUCCESS)
        result = buffer->driver->api.stream_synchronize(buffer->stream);
    if (result != CUDA_SUCCESS)
        status = tj_driver_fail(buffer->driver, result, err, "cannot %s %zu bytes %s the device", what, bytes, where);
    tj_visit_leave(v);
    return status;
}

tj_status tj_buffer_write(tj_buffer *buffer, size_t offset, const void *host, size_t bytes, tj_error *err)
{
    if (!buffer)
        return tj_fail_null(err, __func__, "buffer");
    if (!host && bytes > 0)
        return tj_fail_null(err, __func__, "host");
    tj_visit v;
    CUresult result;
    tj_status status = check_range(buffer, offset, bytes, err);

    if (status == TJ_OK && bytes > 0)
        status = enter_home(buffer, &v, err);
    if (status != TJ_OK || bytes == 0)
        return status;
    result = buffer->driver->api.memcpy_to_device(buffer->address + offset, host, bytes, buffer->stream);
    return finish(buffer, &v, result, "copy", "to", bytes, err);
}

tj_status tj_buffer_read(const tj_buffer *buffer, size_t offset, void *host, size_t bytes, tj_error *err)
{
    if (!buffer)
        return tj_fail_null(err, __func__, "buffer");
    if (!host && bytes > 0)
        return tj_fail_null(err, __func__, "host");
    tj_visit v;
    CUresult result;
    tj_status status = check_range(buffer, offset, bytes, err);

    if (status == TJ_OK && bytes > 0)
        status = enter_home(buffer, &v, err);
    if (status != TJ_OK || bytes == 0)
        return status;
    result = buffer->driver->api.memcpy_to_host(host, buffer->address + offset, bytes, buffer->stream);
    return finish(buffer, &v, result, "copy", "from", bytes, err);
}

/* Double the `written` bytes from offset on until they are `bytes` long. */
static tj_status double_up(const tj_buffer *buffer, size_t offset, size_t written, size_t bytes, tj_error *err)
{
    const CUdeviceptr start = buffer->address + offset;
    CUresult result = CUDA_SUCCESS;
    tj_visit v;
    tj_status status = enter_home(buffer, &v, err);

    if (status != TJ_OK)
        return status;
    for (size_t more; written < bytes && result == CUDA_SUCCESS; written += more) {
        more = bytes - written < written ? bytes - written : written;
        result = buffer->driver->api.memcpy_on_device(start + written, start, more, buffer->stream);
    }
    return finish(buffer, &v, result, "copy", "on", bytes, err);
}

tj_status tj_buffer_write_over_and_over(tj_buffer *buffer, size_t offset, const void *host, size_t period, size_t bytes,
                                        tj_error *err)
{
    const bool can_double = buffer->driver->api.memcpy_on_device != NULL;
    tj_status status = TJ_OK;
    size_t written = 0;

    for (; written < bytes && status == TJ_OK && (written == 0 || !can_double); written += period)
        status = tj_buffer_write(buffer, offset + written, host, bytes - written < period ? bytes - written : period, err);
    return status == TJ_OK && written < bytes ? double_up(buffer, offset, written, bytes, err) : status;
}

tj_status tj_buffer_fill(tj_buffer *buffer, int byte, tj_error *err)
{
    if (!buffer)
        return tj_fail_null(err, __func__, "buffer");
    tj_status status = TJ_OK;
    CUresult result;
    tj_visit v;

    if (buffer->bytes == 0)
        return TJ_OK;
    status = enter_home(buffer, &v, err);
    if (status != TJ_OK)
        return status;
    result = buffer->driver->api.memset_bytes(buffer->address, (unsigned char)byte, buffer->bytes, buffer->stream);
    return finish(buffer, &v, result, "set", "on", buffer->bytes, err);
}

void tj_buffer_free(tj_buffer *buffer)
{
    tj_visit v;

    if (!buffer)
        return;
    const tj_allocator *own = &buffer->gpu->allocator;
    const bool is_entered = enter_home(buffer, &v, NULL) == TJ_OK;

    if (!own->allocate && is_entered)
        (void)buffer->driver->api.mem_free(buffer->address);
    else if (own->allocate && tj_gpu_check_process(buffer->gpu, NULL) == TJ_OK)
        own->release((void *)(uintptr_t)buffer->address, taken_bytes(buffer), buffer->stream, own->payload);
    if (is_entered)
        tj_visit_leave(&v);
    free(buffer);
}

tj_status tj_gpu_create_stream(tj_gpu *gpu, CUstream *stream, tj_error *err)
{
    tj_visit v;
    tj_status status = tj_visit_enter(gpu, &v, err);
    CUresult result;

    *stream = NULL;
    if (status != TJ_OK)
        return status;
    result = v.scope.driver->api.stream_create(stream, CU_STREAM_NON_BLOCKING);
    if (result != CUDA_SUCCESS) {
        status = tj_driver_fail(v.scope.driver, result, err, "cannot make a stream");
        *stream = NULL;
    }
    tj_visit_leave(&v);
    return status;
}

void tj_gpu_destroy_stream(tj_gpu *gpu, CUstream stream)
{
    tj_visit v;

    if (!stream || tj_visit_enter(gpu, &v, NULL) != TJ_OK)
        return;
    (void)v.scope.driver->api.stream_destroy(stream);
    tj_visit_leave(&v);
}

tj_status tj_gpu_wait(tj_gpu *gpu, CUstream stream, tj_error *err)
{
    tj_visit v;
    tj_status status = tj_visit_enter(gpu, &v, err);
    CUresult result;

    if (status != TJ_OK)
        return status;
    result = v.scope.driver->api.stream_synchronize(stream);
    if (result != CUDA_SUCCESS)
        status = tj_driver_fail(v.scope.driver, result, err, "waiting for a stream");
    tj_visit_leave(&v);
    return status;
}

tj_status tj_gpu_memory(tj_gpu *gpu, size_t *free_bytes, size_t *total_bytes, tj_error *err)
{
    tj_visit v;
    tj_status status = tj_visit_enter(gpu, &v, err);
    CUresult result;

    *free_bytes = 0;
    *total_bytes = 0;
    if (status != TJ_OK)
        return status;
    result = v.scope.driver->api.mem_get_info(free_bytes, total_bytes);
    if (result != CUDA_SUCCESS)
        status = tj_driver_fail(v.scope.driver, result, err, "cannot ask for the device's memory");
    tj_visit_leave(&v);
    return status;
}
