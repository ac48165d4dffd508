/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scope: enter the current CUDA context, or the primary one of the gpu's device.
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

/* The primary context, retained at most once. A thread that loses the race releases its own reference. */
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

/* For drivers without cuCtxGetId. */
__attribute__((noinline)) static CUresult handle_as_id(const tj_driver *driver, uint64_t *id)
{
    CUcontext current = NULL;
    const CUresult result = driver->api.ctx_get_current(&current);

    *id = (uint64_t)(uintptr_t)current;
    return result;
}

/* The error of cuCtxGetId for "no context is current" is undocumented: ask the driver. */
__attribute__((noinline)) static CUresult why_no_id(const tj_driver *driver, CUresult failed)
{
    CUcontext current = NULL;
    const CUresult result = driver->api.ctx_get_current(&current);

    return result != CUDA_SUCCESS || !current ? result : failed;
}

/*
 * The handle is cheaper to get, but does not identify a context: a context created after another was destroyed may have the
 * same handle, as the primary context of a device after cudaDeviceReset does. The kernels loaded into the old one are gone
 * then, and launching one may do anything. No driver call reports that a context has been destroyed, so each launch has to ask.
 */
CUresult tj_scope_id(const tj_driver *driver, uint64_t *id)
{
    unsigned long long number = 0;
    CUresult result;

    if (__builtin_expect(!driver->api.ctx_get_id, 0))
        return handle_as_id(driver, id);
    result = driver->api.ctx_get_id(NULL, &number);
    if (__builtin_expect(result != CUDA_SUCCESS, 0)) {
        number = 0;
        result = why_no_id(driver, result);
    }
    *id = number;
    return result;
}

/*
 * The program may have reset the device since we retained its primary context: then the handle is dead, and a new retain
 * creates a live one.
 */
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
            result = tj_scope_id(driver, &scope->context_id);
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

/* No context is current, or it cannot be used. */
__attribute__((noinline)) static tj_status enter_primary(tj_gpu *gpu, tj_scope *scope, CUresult asked, tj_error *err)
{
    if (asked != CUDA_SUCCESS)
        return tj_driver_fail(scope->driver, asked, err, "cannot use the current CUDA context");
    return push_primary(gpu, scope, err);
}

tj_status tj_scope_enter(tj_gpu *gpu, tj_scope *scope, tj_error *err)
{
    CUresult result;
    tj_status status = TJ_OK;

    scope->driver = atomic_load_explicit(&gpu->driver, memory_order_acquire);
    scope->is_pushed = false;
    if (__builtin_expect(!scope->driver, 0))
        status = tj_gpu_driver(gpu, &scope->driver, err);
    if (status == TJ_OK)
        status = tj_driver_check_alive(scope->driver, err);
    if (status != TJ_OK)
        return status;
    result = tj_scope_id(scope->driver, &scope->context_id);
    if (__builtin_expect(result == CUDA_SUCCESS && scope->context_id != 0, 1))
        return TJ_OK;
    return enter_primary(gpu, scope, result, err);
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
