/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool: compile configs of a problem, or of a family of the application, on threads, before the tuner times them, and keep the
 * results.
 *
 * A pool serves one tuning at a time, and begins with the next one's candidates when the search of the first is about to end.
 * Between tunings it waits in its context.
 */
#ifndef TJ_TUNER_POOL_H
#define TJ_TUNER_POOL_H

#include <pthread.h>
#include <stdbool.h>

#include <tilejit/device.h>
#include <tilejit/tuner.h>

#include "custom_kernel.h"
#include "host.h"
#include "program.h"

typedef struct tj_pool tj_pool;

/** The place in a context where a pool waits between two tunings. */
typedef struct tj_pool_rest {
    pthread_mutex_t lock;
    tj_pool *pool; /* NULL: none waits, or a tuning has it */
} tj_pool_rest;

/** The result of compiling a config. */
typedef struct tj_candidate {
    tj_status status;
    tj_error error;           /* of a failure */
    double ms;                /* 0: it came from a store */
    tj_program program;       /* its kernel is NULL until tj_pool_load */
    tj_custom_kernel *custom; /* of a family of the application: its loaded kernel, which owns the program */
} tj_candidate;

void tj_pool_rest_begin(tj_pool_rest *rest);

/** Free the pool that waits, after its running compiles. In a forked child, which has none of its threads, it stays. */
void tj_pool_rest_end(tj_pool_rest *rest);

/**
 * Take the pool that waits in rest, or create one with threads that compile for a target; a pool for other threads or another
 * target is freed. What it compiled ahead for this request on this device stays, all else is dropped. host is borrowed and must
 * outlive rest; request and device are copied. rest NULL: there is none. device NULL: configs are not adapted. threads 0: one
 * per processor. Errors: TJ_ERR_OUT_OF_MEMORY.
 */
tj_status tj_pool_take(tj_pool_rest *rest, const tj_host *host, const tj_request *request, const tj_device_facts *device,
                       const char *target, int threads, tj_pool **pool, tj_error *err);

/** As tj_pool_take, for configs of a family of the application for these extents, which are borrowed, as the family is. */
tj_status tj_pool_take_custom(const tj_host *host, const int64_t *extent, const char *target, int threads, tj_pool **pool,
                              tj_error *err);

/**
 * End a tuning: its compiled configs are released, and no caller waits for those that are being compiled. Without a rest, or if
 * a pool is there already, this one is freed. pool NULL: accepted.
 */
void tj_pool_leave(tj_pool *pool, tj_pool_rest *rest);

/** Return the host that the pool compiles by: a scratch host of its own, which stores nothing. */
tj_host *tj_pool_host(tj_pool *pool);

/** Return the number of threads; 0 if none could be started: then tj_pool_await compiles. */
int tj_pool_threads(const tj_pool *pool);

/** Begin no compile for this tuning that would not end before this time of tj_clock_s. INFINITY, from the start: no limit. */
void tj_pool_end_at(tj_pool *pool, double end);

/** Begin no further compile for this tuning: a caller of tj_pool_await then compiles its config itself. */
void tj_pool_stop(tj_pool *pool);

/** The basis of a choice: a family (NULL: all), and records or trials that outlive the pool (NULL: none). */
typedef struct tj_pool_basis {
    const tj_family *family;
    const tj_records *shipped;
} tj_pool_basis;

/** Announce configs that a tuning of the request would try first, for so many threads, by announce. */
typedef void tj_pool_list_fn(const tj_pool_basis *basis, const tj_request *request, const tj_device_facts *device, int threads,
                             void *sink, void (*announce)(void *sink, const tj_config *config));

/**
 * Once this tuning begins no more compiles, compile for another request: what list announces, on one of the threads, and once. Call
 * it once. Has no effect when memory runs out.
 */
void tj_pool_look_ahead(tj_pool *pool, const tj_request *next, tj_pool_list_fn *list, tj_pool_basis basis);

/** Queue a config, unless it is queued or done. Has no effect when memory runs out. */
void tj_pool_announce(tj_pool *pool, const tj_config *config);

/**
 * Wait for the result of a config. If no thread has begun it, the caller compiles it. Owned: the pool, until tj_pool_forget.
 * NULL only when memory ran out.
 */
tj_candidate *tj_pool_await(tj_pool *pool, const tj_config *config);

/**
 * Wait until one of the announced configs is done, and copy the first of them in the order of announcement; each once. False:
 * none is under way, or none is done at `end` by tj_clock_s; INFINITY: no limit.
 */
bool tj_pool_await_any(tj_pool *pool, double end, tj_config *config);

/** Has a thread nothing to compile, though there is time for it? */
bool tj_pool_is_idle(tj_pool *pool);

/**
 * Wait for the result of a config, and load it. For one thread only. Owned: as tj_pool_await.
 * Errors: those of the compile and of tj_kernel_load; TJ_ERR_CHECK_FAILED: its kernel failed a proof on such a device.
 */
tj_status tj_pool_load(tj_pool *pool, const tj_config *config, const tj_candidate **loaded, tj_error *err);

/** Unload and release the results that were awaited. A config that is requested again is compiled again. */
void tj_pool_forget(tj_pool *pool);

#endif
