/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffer: device memory, copies and event timing for programs without a CUDA runtime.
 *
 * A buffer remembers the CUDA context it was made in and makes it current for each call. Nothing else in the library uses
 * this file: the product itself allocates no device memory.
 */
#include <tilejit/buffer.h>

#include <stdlib.h>

#include "context.h"
#include "driver.h"
#include "error.h"
#include "scope.h"

enum { MAX_REPEAT = 100000, MAX_PER_EVENT = 10000 };

struct tj_buffer {
    tj_context *context;
    const tj_driver *driver;
    CUcontext home;
    CUdeviceptr address;
    size_t bytes;
    CUstream stream; /* that copies go through; all of them wait until it is done with them */
};

/* Every driver since CUDA 4 has these, so only a stand-in can lack one. */
static tj_status check_calls(const tj_driver *driver, tj_error *err)
{
    const tj_driver_api *api = &driver->api;

    if (api->mem_alloc && api->mem_free && api->mem_get_info && api->memcpy_to_device && api->memcpy_to_host &&
        api->memset_bytes && api->stream_create && api->stream_destroy && api->stream_synchronize && api->event_create &&
        api->event_record && api->event_synchronize && api->event_elapsed && api->event_destroy)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_UNSUPPORTED, "the driver %s lacks the memory or event calls of CUDA 4.0",
                   tj_driver_path(driver));
}

/* In a CUDA context, and out of all captures, until leave(). */
typedef struct visit {
    tj_scope scope;
    int mode;
} visit;

static void leave(visit *v)
{
    (void)tj_driver_obey_captures(v->scope.driver, v->mode);
    tj_scope_leave(&v->scope);
}

static tj_status enter(tj_context *context, visit *v, tj_error *err)
{
    tj_status status = tj_context_check_process(context, err);

    if (status == TJ_OK)
        status = tj_scope_enter(context, &v->scope, err);
    if (status != TJ_OK)
        return status;
    (void)tj_driver_ignore_captures(v->scope.driver, &v->mode);
    status = check_calls(v->scope.driver, err);
    if (status != TJ_OK)
        leave(v);
    return status;
}

/* The same in the buffer's own context. */
static tj_status enter_home(const tj_buffer *buffer, visit *v, tj_error *err)
{
    tj_status status = tj_context_check_process(buffer->context, err);
    CUresult result;

    *v = (visit){.scope = {.driver = buffer->driver, .is_pushed = true}, .mode = -1};
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

static void destroy_events(const tj_driver *driver, CUevent *event, int count)
{
    for (int i = 0; i < count; i++)
        if (event[i])
            (void)driver->api.event_destroy(event[i]);
    free(event);
}

/* What is timed: a plan over sets of operands in turn. */
typedef struct timing {
    const tj_plan *plan;
    const tj_operands *set;
    size_t sets, next; /* next: which set the next launch takes */
    int warmup, repeat, per_event;
} timing;

static tj_status launch_some(timing *t, int launches, CUstream stream, tj_error *err)
{
    tj_status status = TJ_OK;

    for (int i = 0; i < launches && status == TJ_OK; i++) {
        status = tj_plan_launch(t->plan, &t->set[t->next], stream, err);
        t->next = t->next + 1 < t->sets ? t->next + 1 : 0;
    }
    return status;
}

/* Queue everything, then wait once: the device never waits for the host between two timed launches. */
static tj_status queue_and_measure(const tj_driver *driver, timing *t, CUstream stream, CUevent *event, double *microseconds,
                                   tj_error *err)
{
    const int repeat = t->repeat;
    CUresult result = CUDA_SUCCESS;
    tj_status status = TJ_OK;
    float milliseconds = 0;

    for (int i = 0; i < 2 * repeat && result == CUDA_SUCCESS; i++)
        result = driver->api.event_create(&event[i], 0);
    if (result != CUDA_SUCCESS)
        return tj_driver_fail(driver, result, err, "cannot make the events that time %d launches", repeat);
    status = launch_some(t, t->warmup, stream, err);
    for (int i = 0; i < repeat && status == TJ_OK && result == CUDA_SUCCESS; i++) {
        result = driver->api.event_record(event[2 * i], stream);
        if (result == CUDA_SUCCESS)
            status = launch_some(t, t->per_event, stream, err);
        if (result == CUDA_SUCCESS && status == TJ_OK)
            result = driver->api.event_record(event[2 * i + 1], stream);
    }
    if (status != TJ_OK)
        return status;
    if (result == CUDA_SUCCESS)
        result = driver->api.event_synchronize(event[2 * repeat - 1]);
    for (int i = 0; i < repeat && result == CUDA_SUCCESS; i++) {
        result = driver->api.event_elapsed(&milliseconds, event[2 * i], event[2 * i + 1]);
        microseconds[i] = 1000.0 * (double)milliseconds / t->per_event;
    }
    if (result != CUDA_SUCCESS)
        return tj_driver_fail(driver, result, err, "cannot time %d launches", repeat);
    return TJ_OK;
}

tj_status tj_buffer_create(tj_context *context, size_t bytes, tj_buffer **out, tj_error *err)
{
    return tj_buffer_create_in(context, NULL, bytes, out, err);
}

tj_status tj_buffer_create_in(tj_context *context, CUstream stream, size_t bytes, tj_buffer **out, tj_error *err)
{
    tj_buffer *buffer = calloc(1, sizeof *buffer);
    size_t free_bytes = 0, total_bytes = 0;
    CUresult result;
    visit v;
    tj_status status;

    *out = NULL;
    if (!buffer)
        return tj_fail_memory(err, "a buffer");
    status = enter(context, &v, err);
    if (status != TJ_OK) {
        free(buffer);
        return status;
    }
    status = tj_scope_handle(&v.scope, &buffer->home, err);
    if (status != TJ_OK)
        goto done;
    result = v.scope.driver->api.mem_alloc(&buffer->address, bytes ? bytes : 1);
    if (result != CUDA_SUCCESS) {
        (void)v.scope.driver->api.mem_get_info(&free_bytes, &total_bytes);
        status =
            tj_driver_fail(v.scope.driver, result, err, "cannot allocate %zu bytes on the device, which has %zu of %zu free",
                           bytes, free_bytes, total_bytes);
        goto done;
    }
    buffer->context = context;
    buffer->driver = v.scope.driver;
    buffer->bytes = bytes;
    buffer->stream = stream;
    *out = buffer;
done:
    leave(&v);
    if (status != TJ_OK)
        free(buffer);
    return status;
}

void *tj_buffer_address(const tj_buffer *buffer)
{
    return (void *)(uintptr_t)buffer->address;
}

size_t tj_buffer_bytes(const tj_buffer *buffer)
{
    return buffer->bytes;
}

tj_status tj_buffer_write(tj_buffer *buffer, size_t offset, const void *host, size_t bytes, tj_error *err)
{
    tj_status status = check_range(buffer, offset, bytes, err);
    CUresult result;
    visit v;

    if (status != TJ_OK || bytes == 0)
        return status;
    status = enter_home(buffer, &v, err);
    if (status != TJ_OK)
        return status;
    result = buffer->driver->api.memcpy_to_device(buffer->address + offset, host, bytes, buffer->stream);
    if (result == CUDA_SUCCESS)
        result = buffer->driver->api.stream_synchronize(buffer->stream);
    if (result != CUDA_SUCCESS)
        status = tj_driver_fail(buffer->driver, result, err, "cannot copy %zu bytes to the device", bytes);
    leave(&v);
    return status;
}

tj_status tj_buffer_read(const tj_buffer *buffer, size_t offset, void *host, size_t bytes, tj_error *err)
{
    tj_status status = check_range(buffer, offset, bytes, err);
    CUresult result;
    visit v;

    if (status != TJ_OK || bytes == 0)
        return status;
    status = enter_home(buffer, &v, err);
    if (status != TJ_OK)
        return status;
    result = buffer->driver->api.memcpy_to_host(host, buffer->address + offset, bytes, buffer->stream);
    if (result == CUDA_SUCCESS)
        result = buffer->driver->api.stream_synchronize(buffer->stream);
    if (result != CUDA_SUCCESS)
        status = tj_driver_fail(buffer->driver, result, err, "cannot copy %zu bytes from the device", bytes);
    leave(&v);
    return status;
}

tj_status tj_buffer_fill(tj_buffer *buffer, int byte, tj_error *err)
{
    tj_status status = TJ_OK;
    CUresult result;
    visit v;

    if (buffer->bytes == 0)
        return TJ_OK;
    status = enter_home(buffer, &v, err);
    if (status != TJ_OK)
        return status;
    result = buffer->driver->api.memset_bytes(buffer->address, (unsigned char)byte, buffer->bytes, buffer->stream);
    if (result == CUDA_SUCCESS)
        result = buffer->driver->api.stream_synchronize(buffer->stream);
    if (result != CUDA_SUCCESS)
        status = tj_driver_fail(buffer->driver, result, err, "cannot set %zu bytes on the device", buffer->bytes);
    leave(&v);
    return status;
}

void tj_buffer_free(tj_buffer *buffer)
{
    visit v;

    if (!buffer)
        return;
    if (enter_home(buffer, &v, NULL) == TJ_OK) {
        (void)buffer->driver->api.mem_free(buffer->address);
        leave(&v);
    }
    free(buffer);
}

tj_status tj_stream_create(tj_context *context, CUstream *stream, tj_error *err)
{
    visit v;
    tj_status status;
    CUresult result;

    *stream = NULL;
    status = enter(context, &v, err);
    if (status != TJ_OK)
        return status;
    result = v.scope.driver->api.stream_create(stream, CU_STREAM_NON_BLOCKING);
    if (result != CUDA_SUCCESS) {
        status = tj_driver_fail(v.scope.driver, result, err, "cannot make a stream");
        *stream = NULL;
    }
    leave(&v);
    return status;
}

void tj_stream_destroy(tj_context *context, CUstream stream)
{
    visit v;

    if (!stream || enter(context, &v, NULL) != TJ_OK)
        return;
    (void)v.scope.driver->api.stream_destroy(stream);
    leave(&v);
}

tj_status tj_synchronize(tj_context *context, struct CUstream_st *stream, tj_error *err)
{
    visit v;
    tj_status status = enter(context, &v, err);
    CUresult result;

    if (status != TJ_OK)
        return status;
    result = v.scope.driver->api.stream_synchronize(stream);
    if (result != CUDA_SUCCESS)
        status = tj_driver_fail(v.scope.driver, result, err, "waiting for a stream");
    leave(&v);
    return status;
}

tj_status tj_device_memory(tj_context *context, size_t *free_bytes, size_t *total_bytes, tj_error *err)
{
    visit v;
    tj_status status = enter(context, &v, err);
    CUresult result;

    *free_bytes = 0;
    *total_bytes = 0;
    if (status != TJ_OK)
        return status;
    result = v.scope.driver->api.mem_get_info(free_bytes, total_bytes);
    if (result != CUDA_SUCCESS)
        status = tj_driver_fail(v.scope.driver, result, err, "cannot ask for the device's memory");
    leave(&v);
    return status;
}

tj_status tj_time_rotating(tj_context *context, const tj_plan *plan, const tj_operands *operands, size_t count,
                           struct CUstream_st *stream, int warmup, int repeat, int per_event, double *microseconds,
                           tj_error *err)
{
    timing t = {plan, operands, count, 0, warmup, repeat, per_event};
    CUevent *event = NULL;
    visit v;
    tj_status status;

    if (warmup < 0 || repeat < 1 || repeat > MAX_REPEAT)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "cannot time %d launches after %d: repeat is 1 to %d, warmup 0 or more",
                       repeat, warmup, MAX_REPEAT);
    if (count == 0 || per_event < 1 || per_event > MAX_PER_EVENT)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "cannot time %d launches between two events over %zu sets of operands: 1 to %d, and at least one set",
                       per_event, count, MAX_PER_EVENT);
    status = enter(context, &v, err);
    if (status != TJ_OK)
        return status;
    event = calloc(2 * (size_t)repeat, sizeof(CUevent));
    if (event) {
        status = queue_and_measure(v.scope.driver, &t, stream, event, microseconds, err);
        /* The operands are the caller's: nothing may still be running with them after a failure. */
        if (status != TJ_OK && tj_driver_check_alive(v.scope.driver, NULL) == TJ_OK)
            (void)v.scope.driver->api.stream_synchronize(stream);
        destroy_events(v.scope.driver, event, 2 * repeat);
    } else {
        status = tj_fail_memory(err, "the events of a timing");
    }
    leave(&v);
    return status;
}

tj_status tj_time_launches(tj_context *context, const tj_plan *plan, const tj_operands *operands, struct CUstream_st *stream,
                           int warmup, int repeat, double *microseconds, tj_error *err)
{
    return tj_time_rotating(context, plan, operands, 1, stream, warmup, repeat, 1, microseconds, err);
}
