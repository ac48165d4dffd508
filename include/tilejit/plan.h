/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.h: everything a problem needs to run, made once, found again without a lock.
 */
#ifndef TILEJIT_PLAN_H
#define TILEJIT_PLAN_H

#include <tilejit/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Immutable; owned by its tj_context and alive as long as it. Launch it from any thread. */
typedef struct tj_plan tj_plan;

/** Why a config was chosen. */
typedef enum tj_chosen_by {
    TJ_BY_RECORD = 1,  /**< this problem was tuned on a device of this kind */
    TJ_BY_NEAREST = 2, /**< a similar problem was, and the model thinks well of its config here */
    TJ_BY_MODEL = 3,   /**< the model ranks it first */
    TJ_BY_DEFAULT = 4  /**< the safe default: nothing is known, or nothing is expected to be clearly faster */
} tj_chosen_by;

/**
 * The plan of a problem in the current CUDA context: generated, compiled or fetched, loaded, ready to launch.
 * Call it before a stream capture begins, or to pay for the first use at a time of your choosing.
 *
 * The library's choice (tuner.h) may want a workspace, as tj_plan_workspace_bytes says, and operands aligned to 16 bytes, as
 * the driver allocates them. It needs neither: without the one a launch takes its workspace from the stream's memory pool, for
 * operands that are not aligned tj_matmul and tj_plan_launch take another plan.
 *
 * Owned:   *plan is borrowed from context.
 * NULL:    config may be NULL (the library's choice), err too.
 * Threads: any. One thread builds, others that want the same plan wait.
 * Errors:  those of tj_generate, tj_compile and tj_kernel_load.
 */
TJ_API TJ_MUST_CHECK tj_status tj_plan_prepare(tj_context *context, const tj_problem *problem, const tj_config *config,
                                               const tj_plan **plan, tj_error *err);

/**
 * Launch a plan: as tj_kernel_launch. One plan serves every extent of a TJ_DIM_ANY dimension, so operands must hold those
 * extents: the ones in the problem it was prepared from are not kept. Operands that do not suit a config which the library
 * chose (pointers aligned to less than its text takes at once) are launched with another, made on their first launch.
 *
 * NULL:    plan and operands must not be NULL; stream may be.
 * Threads: any, several at once.
 * Errors:  those of tj_kernel_launch; where another config is needed, those of tj_plan_prepare, and TJ_ERR_CAPTURE: it is
 *          not ready, and the stream is being captured.
 */
TJ_API TJ_MUST_CHECK tj_status tj_plan_launch(const tj_plan *plan, const tj_operands *operands, struct CUstream_st *stream,
                                              tj_error *err);

/** Device memory that a launch works in, in bytes: what operands->workspace should hold. NULL: plan must not be NULL. */
TJ_API size_t tj_plan_workspace_bytes(const tj_plan *plan);

/** Its source and image, for a look inside. Owned: borrowed. NULL: plan must not be NULL. */
TJ_API const tj_source *tj_plan_source(const tj_plan *plan);
TJ_API const tj_image *tj_plan_image(const tj_plan *plan);
TJ_API const tj_kernel *tj_plan_kernel(const tj_plan *plan);

/** Who chose its config. 0: the caller named it. NULL: plan must not be NULL. */
TJ_API tj_chosen_by tj_plan_chosen_by(const tj_plan *plan);

/**
 * The simple tier: from pointers to a launched product, in one call. The first call for a problem makes its plan; later
 * ones find it without allocating, locking or formatting anything.
 *
 *     tj_problem problem = TJ_PROBLEM_INIT(512, 300, 700, TJ_F32);
 *     tj_operands x = TJ_OPERANDS(M, N, P);
 *     status = tj_matmul(context, &problem, &x, stream, &err);
 *
 * NULL:    context, problem and operands must not be NULL.
 * Threads: any.
 * Errors:  those of tj_plan_prepare and tj_plan_launch, and TJ_ERR_CAPTURE: the stream is being captured and the plan,
 *          or the one for pointers like these, is not ready; the capture stays valid.
 */
TJ_API TJ_MUST_CHECK tj_status tj_matmul(tj_context *context, const tj_problem *problem, const tj_operands *operands,
                                         struct CUstream_st *stream, tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
