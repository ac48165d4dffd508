/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scope: enters the current CUDA context, or the primary one of the gpu's device.
 */
#include "scope.h"

#include "error.h"

static tj_status no_such_device(const tj_driver *driver, int device, tj_error *err)
{
    int count = 0;

    (void)driver->api.device_get_count(&count);
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "there is no CUDA device %d: this machine has %d, numbered from 0", device,
                   count);
}

/* The primary context, retained at most once. A thread that loses the race gives its own count back. */
static tj_status primary_context(tj_gpu *gpu, const tj_driver *driver, CUcontext *primary, tj_error *err)
{
    CUcontext none = NULL;
    CUdevice device = 0;
    CUresult result;

    *primary = atomic_load(&gpu->primary);
    if (*primary)
        return TJ_OK;
    result = driver->api.device_get(&device, gpu->device);
    if (result == CUDA_ERROR_INVALID_DEVICE || result == CUDA_ERROR_INVALID_VALUE)
        return no_such_device(driver, gpu->device, err);
    if (result == CUDA_SUCCESS)
        result = driver->api.primary_retain(primary, device);
    if (result != CUDA_SUCCESS)
        return tj_driver_fail(driver, result, err, "cannot use the primary context of device %d", gpu->device);
    if (!atomic_compare_exchange_strong(&gpu->primary, &none, *primary)) {
        (void)driver->api.primary_release(device);
        *primary = none;
    }
    return TJ_OK;
}

/* false, and *result, if not even that works. */
static bool current_context(const tj_driver *driver, CUcontext *current, CUresult *result)
{
    CUresult asked = driver->api.ctx_get_current(current);

    if (asked != CUDA_SUCCESS)
        *result = asked;
    return asked == CUDA_SUCCESS;
}

/* cuCtxGetId(NULL) where there is one; the handle where not. 0: no context is current. */
static CUresult current_id(const tj_driver *driver, uint64_t *id)
{
    CUcontext current = NULL;
    CUresult result;

    *id = 0;
    if (driver->api.ctx_get_id) {
        unsigned long long number = 0;
        result = driver->api.ctx_get_id(NULL, &number);
        if (result == CUDA_SUCCESS) {
            *id = number;
            return result;
        }
        /* Which error means that none is current is not written down: ask. */
        if (current_context(driver, &current, &result) && !current)
            return CUDA_SUCCESS;
        return result;
    }
    result = driver->api.ctx_get_current(&current);
    *id = (uint64_t)(uintptr_t)current;
    return result;
}

/* Somebody may have reset the device since we retained its primary context: then the handle is dead, and a new retain
 * makes a living one. */
static tj_status push_primary(tj_gpu *gpu, tj_scope *scope, tj_error *err)
{
    const tj_driver *driver = scope->driver;

    for (int attempt = 0;; attempt++) {
        CUcontext primary = NULL;
        CUcontext popped = NULL;
        CUresult result;
        tj_status status = primary_context(gpu, driver, &primary, err);

        if (status != TJ_OK)
            return status;
        result = driver->api.ctx_push(primary);
        if (result == CUDA_SUCCESS) {
            result = current_id(driver, &scope->context_id);
            if (result == CUDA_SUCCESS && scope->context_id != 0) {
                scope->is_pushed = true;
                return TJ_OK;
            }
            (void)driver->api.ctx_pop(&popped);
        }
        if (attempt > 0 || (result != CUDA_ERROR_CONTEXT_IS_DESTROYED && result != CUDA_ERROR_INVALID_CONTEXT))
            return tj_driver_fail(driver, result, err, "cannot make the primary context of device %d current", gpu->device);
        (void)atomic_compare_exchange_strong(&gpu->primary, &primary, NULL);
    }
}

tj_status tj_scope_enter(tj_gpu *gpu, tj_scope *scope, tj_error *err)
{
    const tj_driver *driver = atomic_load_explicit(&gpu->driver, memory_order_acquire);
    CUresult result;
    tj_status status;

    if (!driver) {
        status = tj_gpu_driver(gpu, &driver, err);
        if (status != TJ_OK)
            return status;
    }
    status = tj_driver_check_alive(driver, err);
    if (status != TJ_OK)
        return status;
    scope->driver = driver;
    scope->is_pushed = false;
    result = current_id(driver, &scope->context_id);
    if (result != CUDA_SUCCESS)
        return tj_driver_fail(driver, result, err, "cannot use the current CUDA context");
    if (scope->context_id != 0)
        return TJ_OK;
    return push_primary(gpu, scope, err);
}

void tj_scope_leave(tj_scope *scope)
{
    CUcontext popped = NULL;

    if (scope->is_pushed)
        (void)scope->driver->api.ctx_pop(&popped);
    scope->is_pushed = false;
}

bool tj_scope_is_primary(tj_gpu *gpu, const tj_scope *scope)
{
    CUcontext primary = NULL, current = NULL;

    return scope->is_pushed || (primary_context(gpu, scope->driver, &primary, NULL) == TJ_OK &&
                                scope->driver->api.ctx_get_current(&current) == CUDA_SUCCESS && current == primary);
}

tj_status tj_scope_device(const tj_scope *scope, int *device, tj_error *err)
{
    CUdevice current = 0;
    CUresult result = scope->driver->api.ctx_get_device(&current);

    *device = current;
    if (result != CUDA_SUCCESS)
        return tj_driver_fail(scope->driver, result, err, "cannot ask for the current context's device");
    return TJ_OK;
}

tj_status tj_scope_handle(const tj_scope *scope, CUcontext *handle, tj_error *err)
{
    CUresult result = scope->driver->api.ctx_get_current(handle);

    if (result != CUDA_SUCCESS)
        return tj_driver_fail(scope->driver, result, err, "cannot ask for the current CUDA context");
    return TJ_OK;
}
