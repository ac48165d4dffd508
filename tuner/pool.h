/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool: compile configs on threads, ahead of the one that is being timed.
 */
#ifndef TJ_TUNER_POOL_H
#define TJ_TUNER_POOL_H

#include <tilejit/tuner.h>

typedef struct tj_pool tj_pool;

/** What compiling a config gave. */
typedef struct tj_compiled {
    tj_status status;
    tj_error error;       /* of a failure */
    double ms;            /* 0: it was in a store */
    int32_t registers;    /* per thread; -1: not known */
    int64_t shared_bytes; /* per block, static and dynamic */
} tj_compiled;

/**
 * Threads that compile for a target into a context's memory. context and problem are borrowed and must outlive the pool.
 * threads 0: one per processor. NULL only when memory ran out.
 */
tj_pool *tj_pool_create(tj_context *context, const tj_problem *problem, const char *target, int threads);

/** Finish what is being compiled, and begin nothing else: whoever awaits a config from now on compiles it himself. */
void tj_pool_stop(tj_pool *pool);

/** The same, and release. NULL: accepted. */
void tj_pool_free(tj_pool *pool);

/** Announce to another pool, in their order, the configs that nobody has awaited. from may be NULL. */
void tj_pool_pass_on(tj_pool *from, tj_pool *to);

/** Put a config in the queue, unless it is there or done. Forgotten without harm when memory runs out. */
void tj_pool_announce(tj_pool *pool, const tj_config *config);

/** The outcome of a config: the caller compiles it itself if no thread has begun, else waits for it. */
void tj_pool_await(tj_pool *pool, const tj_config *config, tj_compiled *compiled);

#endif
