/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scope: the CUDA context of a call.
 *
 * It is the current one; if none is current, the primary context of the gpu's device, pushed for the duration of the call. It
 * is retained once per gpu, never reset, and released with it.
 */
#ifndef TJ_SRC_SCOPE_H
#define TJ_SRC_SCOPE_H

#include "gpu.h"

typedef struct tj_scope {
    const tj_driver *driver;
    uint64_t context_id; /* unique within the process if the driver has cuCtxGetId (12.0); else the handle */
    bool is_pushed;
} tj_scope;

/**
 * Begin. With a context current and the driver open this is one driver call, without a lock or a system call. On failure
 * nothing is pushed, and tj_scope_leave must not be called. Errors: those of tj_gpu_driver, TJ_ERR_DEVICE_LOST,
 * TJ_ERR_INVALID_ARGUMENT (no such device), TJ_ERR_DRIVER.
 */
tj_status tj_scope_enter(tj_gpu *gpu, tj_scope *scope, tj_error *err);

/** End: the context that was current before is current again. */
static inline void tj_scope_leave(tj_scope *scope)
{
    CUcontext popped = NULL;

    if (scope->is_pushed)
        (void)scope->driver->api.ctx_pop(&popped);
    scope->is_pushed = false;
}

/**
 * Get the number of the current CUDA context, which no other context of the process has, or its handle if the driver lacks
 * cuCtxGetId. 0: none is current, which is not an error.
 */
CUresult tj_scope_id(const tj_driver *driver, uint64_t *id);

/** Is it the primary context of the gpu's device? For the slow paths. */
bool tj_scope_is_primary(tj_gpu *gpu, const tj_scope *scope);

/** Return the ordinal of the device of the scope's CUDA context; for the slow paths. */
tj_status tj_scope_device(const tj_scope *scope, int *device, tj_error *err);

/** Return the handle of the CUDA context; for the slow paths. */
tj_status tj_scope_handle(const tj_scope *scope, CUcontext *handle, tj_error *err);

#endif
