/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool: compile configs of a problem, or of a family of the application, on threads, before the tuner times them, and keep the
 * results.
 */
#ifndef TJ_TUNER_POOL_H
#define TJ_TUNER_POOL_H

#include <tilejit/device.h>

#include "custom_kernel.h"
#include "host.h"
#include "program.h"

typedef struct tj_pool tj_pool;

/** The result of compiling a config. */
typedef struct tj_candidate {
    tj_status status;
    tj_error error;           /* of a failure */
    double ms;                /* 0: it came from a store */
    tj_program program;       /* its kernel is NULL until tj_pool_load */
    tj_custom_kernel *custom; /* of a family of the application: its loaded kernel, which owns the program */
} tj_candidate;

/**
 * Create threads that compile for a target. host, request and device are borrowed and must outlive the pool. device NULL:
 * configs are not adapted. threads 0: one per processor. NULL only when memory ran out.
 */
tj_pool *tj_pool_create(tj_host *host, const tj_request *request, const tj_device_facts *device, const char *target,
                        int threads);

/** As tj_pool_create, for configs of a family of the application for these extents, which are borrowed too. */
tj_pool *tj_pool_create_custom(tj_host *host, const int64_t *extent, const char *target, int threads);

/** Finish the running compiles, and begin no others: a caller of tj_pool_await then compiles its config itself. */
void tj_pool_stop(tj_pool *pool);

/** Stop the pool, and release it. NULL: accepted. */
void tj_pool_free(tj_pool *pool);

/** Queue a config, unless it is queued or done. Has no effect when memory runs out. */
void tj_pool_announce(tj_pool *pool, const tj_config *config);

/**
 * Wait for the result of a config. If no thread has begun it, the caller compiles it. Owned: the pool, until tj_pool_forget.
 * NULL only when memory ran out.
 */
tj_candidate *tj_pool_await(tj_pool *pool, const tj_config *config);

/**
 * Wait for the result of a config, and load it. For one thread only. Owned: as tj_pool_await.
 * Errors: those of the compile and of tj_kernel_load; TJ_ERR_CHECK_FAILED: its kernel failed a proof on such a device.
 */
tj_status tj_pool_load(tj_pool *pool, const tj_config *config, const tj_candidate **loaded, tj_error *err);

/** Unload and release all results. A config that is requested again is compiled again. */
void tj_pool_forget(tj_pool *pool);

#endif
