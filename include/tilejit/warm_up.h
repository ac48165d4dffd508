/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warm_up.h: build many plans in advance, when no call waits for a product: at startup, while a model is loaded, or when a
 * container image is built.
 */
#ifndef TILEJIT_WARM_UP_H
#define TILEJIT_WARM_UP_H

#include <tilejit/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The report about one problem of the list. */
typedef struct tj_warm_up_step {
    size_t struct_size;        /**< the library's: read no field beyond it */
    size_t index;              /**< index of the problem in the list */
    const tj_problem *problem; /**< that problem */
    size_t done, count;        /**< number of problems done so far, and in total */
    tj_status status;          /**< the status of tj_plan_prepare for this problem */
    const char *message;       /**< the error; "" with TJ_OK. Valid during the call only */
} tj_warm_up_step;

/**
 * Called for each problem, by one thread at a time, which may not be the caller's thread. Return 0 to go on, anything else to
 * stop.
 */
typedef int (*tj_warm_up_fn)(const tj_warm_up_step *step, void *payload);

/** Start from TJ_WARM_UP_OPTIONS_INIT; zero in any field means its default. */
typedef struct tj_warm_up_options {
    size_t struct_size;
    int32_t threads;       /**< number of threads that compile; default: one for each processor of the process, at most 8. NVRTC
                           needs about 100 MB for each */
    int32_t reserved;      /**< must be 0 */
    tj_warm_up_fn on_step; /**< default: none */
    void *payload;
} tj_warm_up_options;

#define TJ_WARM_UP_OPTIONS_INIT TJ_SIZED(tj_warm_up_options)

/**
 * Build the plan of each problem in the current CUDA context, as tj_plan_prepare does with the library's choice of a config, on
 * several threads, and return when all are built. Calls of other threads continue meanwhile, and wait only for a problem that
 * they request too. A problem that fails is reported, and the others continue. Plans are not returned: they may be evicted like
 * those of tj_matmul (tj_context_options.max_plans), and their images are then in the store.
 *
 * NULL:    options (all defaults), made (the number of plans built or found) and err may be NULL; problems only if count is 0.
 * Threads: any, several at once.
 * Errors:  TJ_ERR_CANCELLED: the callback stopped it; plans already begun were finished. Otherwise the error of the first
 *          problem in the list whose plan could not be built: those of tj_plan_prepare. TJ_ERR_INVALID_ARGUMENT: an option has
 *          an invalid value.
 */
TJ_API TJ_MUST_CHECK tj_status tj_warm_up(tj_context *context, const tj_problem *problems, size_t count,
                                          const tj_warm_up_options *options, size_t *made, tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
