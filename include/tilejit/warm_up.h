/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warm_up.h: plans made ahead, many at once, when nobody waits for a product: at start, while a model is read, in an image
 * build.
 */
#ifndef TILEJIT_WARM_UP_H
#define TILEJIT_WARM_UP_H

#include <tilejit/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One problem of the list was dealt with. */
typedef struct tj_warm_up_step {
    size_t index;              /**< of the problem in the list */
    const tj_problem *problem; /**< that problem */
    size_t done, count;        /**< so many of so many are dealt with now */
    tj_status status;          /**< of tj_plan_prepare for it */
    const char *message;       /**< what went wrong; "" with TJ_OK. Valid during the call only */
} tj_warm_up_step;

/**
 * Told of each problem, by one thread at a time, which may be another one than the caller's. Return 0 to go on, else to stop.
 */
typedef int (*tj_warm_up_fn)(const tj_warm_up_step *step, void *payload);

/** Start from TJ_WARM_UP_OPTIONS_INIT; zero in any field means its default. */
typedef struct tj_warm_up_options {
    size_t struct_size;
    int32_t threads;  /**< that compile at once; default: as many as the process may use processors, at most 8. NVRTC takes some
                           100 MB for each */
    int32_t reserved; /**< must be 0 */
    tj_warm_up_fn on_step; /**< default: nobody is told */
    void *payload;
} tj_warm_up_options;

/* clang-format off */
#define TJ_WARM_UP_OPTIONS_INIT { sizeof(tj_warm_up_options), 0, 0, NULL, NULL }
/* clang-format on */

/**
 * Make the plan of each problem in the current CUDA context, as tj_plan_prepare does with the library's choice of a config,
 * on several threads, and return when all are made. Calls of other threads go on meanwhile, and wait only for a problem that
 * they want too. A problem that cannot be made is told, and the others are made. Plans are not handed out: they may leave
 * memory like those that tj_matmul makes (tj_context_options.max_plans), and their images are in the store then.
 *
 * NULL:    options (all defaults), made (how many there are now) and err may be NULL; problems only if count is 0.
 * Threads: any, several at once.
 * Errors:  TJ_ERR_CANCELLED: the callback said stop; what was begun was finished. Else that of the first problem in the list
 *          which could not be made: those of tj_plan_prepare. TJ_ERR_INVALID_ARGUMENT: an option cannot be.
 */
TJ_API TJ_MUST_CHECK tj_status tj_warm_up(tj_context *context, const tj_problem *problems, size_t count,
                                          const tj_warm_up_options *options, size_t *made, tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
