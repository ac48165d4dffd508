/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool: compile configs on threads, ahead of the one that is being timed, and hold what became of them.
 */
#ifndef TJ_TUNER_POOL_H
#define TJ_TUNER_POOL_H

#include <tilejit/device.h>

#include "host.h"
#include "program.h"

typedef struct tj_pool tj_pool;

/** What compiling a config gave. */
typedef struct tj_candidate {
    tj_status status;
    tj_error error;     /* of a failure */
    double ms;          /* 0: it was in a store */
    tj_program program; /* its kernel is NULL until tj_pool_load */
} tj_candidate;

/**
 * Threads that compile for a target. host, problem and device are borrowed and must outlive the pool. device NULL: configs are taken as
 * they are. threads 0: one per processor. NULL only when memory ran out.
 */
tj_pool *tj_pool_create(tj_host *host, const tj_problem *problem, const tj_device_facts *device, const char *target,
                        int threads);

/** Finish what is being compiled, and begin nothing else: whoever awaits a config from now on compiles it himself. */
void tj_pool_stop(tj_pool *pool);

/** The same, and release. NULL: accepted. */
void tj_pool_free(tj_pool *pool);

/** Put a config in the queue, unless it is there or done. Forgotten without harm when memory runs out. */
void tj_pool_announce(tj_pool *pool, const tj_config *config);

/**
 * The outcome of a config: the caller compiles it itself if no thread has begun, else waits for it. Owned: the pool's, until
 * tj_pool_forget. NULL only when memory ran out.
 */
tj_candidate *tj_pool_await(tj_pool *pool, const tj_config *config);

/**
 * The same, loaded. One thread. Owned: as tj_pool_await.
 * Errors: those of the compile and of tj_kernel_load; TJ_ERR_CHECK_FAILED: its kernel failed a proof on such a device.
 */
tj_status tj_pool_load(tj_pool *pool, const tj_config *config, const tj_program **program, tj_error *err);

/** Unload and release everything that was awaited. It is compiled again when it is asked for again. */
void tj_pool_forget(tj_pool *pool);

#endif
