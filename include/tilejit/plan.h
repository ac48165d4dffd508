/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.h: plans, which hold a problem's kernel ready to launch. A plan is built once, and later found without a lock.
 */
#ifndef TILEJIT_PLAN_H
#define TILEJIT_PLAN_H

#include <tilejit/config.h>
#include <tilejit/context.h>
#include <tilejit/operands.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A kernel that is ready for a problem. It never changes, and any thread may launch it. A plan returned by tj_plan_prepare
 * stays until it has been released as often as it was returned, at most until its tj_context is freed, even if another plan
 * replaces it for tj_matmul.
 */
typedef struct tj_plan tj_plan;

/** The reason for choosing a config. */
typedef enum tj_chosen_by {
    TJ_BY_RECORD = 1,  /**< this problem was tuned on a device of this kind */
    TJ_BY_NEAREST = 2, /**< similar problems were measured, and their times make this config the expected fastest */
    TJ_BY_MODEL = 3,   /**< the model ranks it first */
    TJ_BY_DEFAULT = 4, /**< it is the safe default: nothing is known, or no config is expected to be clearly faster */
    TJ_BY_PACK = 5,    /**< a pack holds the kernel that was chosen when the pack was made */
    TJ_BY_TRIALS = 6   /**< a table of trials has this problem, measured on such a device, and this config was fast */
} tj_chosen_by;

/**
 * Find the plan of a problem in the current CUDA context, or build it: generate the source, compile it or fetch its image, and
 * load the kernel. Call this before a stream capture begins, or to choose when the cost of the first use arises.
 *
 * The kernel that the library chooses (tuner.h) may use a workspace (tj_plan_workspace_bytes) and operands that are aligned to
 * 16 bytes, as the driver allocates them. It works without either: a launch then allocates its workspace from the context's
 * allocator or the stream's memory pool, and for other operands tj_matmul and tj_plan_launch use another plan.
 *
 * Owned:   *plan belongs to context, which keeps it for the caller until tj_plan_release, or until the context is freed.
 * NULL:    config (the library chooses) and err may be NULL.
 * Threads: any. One thread builds a plan, and others that want the same one wait.
 * Errors:  TJ_ERR_INVALID_ARGUMENT (tj_problem_check, a config that does not fit the problem, more multiprocessors than the
 *          device has, or fewer than a cluster of the config needs), TJ_ERR_NO_COMPILER (the
 *          places tried, and the remedy), TJ_ERR_COMPILE (the first error of NVRTC's log), TJ_ERR_NO_DRIVER, TJ_ERR_UNSUPPORTED
 *          (the device lacks what the kernel needs), TJ_ERR_SPILLS (a config that the caller named: the compiler spilled
 *          accumulators; the message names a looser one), TJ_ERR_CHECK_FAILED (it failed a proof), TJ_ERR_OUT_OF_MEMORY,
 *          TJ_ERR_DEVICE_MEMORY, TJ_ERR_DRIVER, TJ_ERR_DEVICE_LOST, TJ_ERR_FORKED, TJ_ERR_CANCELLED (the process is exiting).
 */
TJ_API TJ_MUST_CHECK tj_status tj_plan_prepare(tj_context *context, const tj_problem *problem, const tj_config *config,
                                               const tj_plan **plan, tj_error *err);

/**
 * Queue the launches of a plan on a stream, and return before they have run. The call takes no lock, and allocates nothing
 * except a workspace, if the operands have none (tj_operands.workspace). k = 0 gives beta * C, and then m and n need no address
 * unless they are arrays of pointers; j and l are at least 1. The stream must exist: the driver itself does not survive a
 * destroyed stream.
 *
 * Later work in the stream begins when P is complete. CUDA has one exception: a kernel that is launched with programmatic
 * stream serialization may begin earlier, and must wait (cudaGridDependencySynchronize) before it reads P or writes memory that
 * this launch reads. tj_problem.overlap requests such launches from the library.
 *
 * One plan serves every extent of a TJ_DIM_ANY dimension, so the operands must state these extents; the plan does not keep
 * those of the problem that it was prepared from. If the library chose the config, and pointers have a smaller alignment than
 * its source requires, the launch uses another config, whose plan is built on the first such launch.
 *
 * NULL:    stream (the legacy default stream) and err may be NULL.
 * Threads: any, several at once.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: a NULL or misaligned pointer, an alpha or beta that the product cannot use, an extent that
 *          breaks a promise or for which the kernel lacks a check, more blocks than a grid holds (the message has the remedy),
 *          another current context, a stream of another context (the message names both devices), or, with a driver before CUDA
 *          11.4, a missing workspace; where pointers are checked (check_pointers of the context), a pointer that the device
 *          cannot use, or a buffer that is too short. TJ_ERR_DEVICE_MEMORY, TJ_ERR_UNSUPPORTED: no workspace can be allocated
 *          in the stream. TJ_ERR_DRIVER. TJ_ERR_DEVICE_LOST, which every later call returns again, except for calls with
 *          invalid operands. If another config is needed, also those of tj_plan_prepare, and TJ_ERR_CAPTURE: its plan is not
 *          ready, and the stream is being captured.
 */
TJ_API TJ_MUST_CHECK tj_status tj_plan_launch(const tj_plan *plan, const tj_operands *operands, struct CUstream_st *stream,
                                              tj_error *err);

/**
 * Release a plan that tj_plan_prepare returned. A plan that is never released stays in memory: this suits a program with a few
 * plans, but not one with thousands of shapes. A released plan is treated like those of tj_matmul: it may be evicted to make
 * room (max_plans). Its launches may still be running. A graph that captured one of them by tj_plan_launch must not be launched
 * any more.
 *
 * NULL:    plan: does nothing.
 * Threads: any.
 */
TJ_API void tj_plan_release(const tj_plan *plan);

/** Return the number of bytes of device memory that operands->workspace should have. NULL: plan must not be NULL. */
TJ_API size_t tj_plan_workspace_bytes(const tj_plan *plan);

/** Return the reason for choosing the plan's config; 0: the caller named the config. NULL: plan must not be NULL. */
TJ_API tj_chosen_by tj_plan_chosen_by(const tj_plan *plan);

/**
 * Multiply: queue the product of these operands on a stream. The first call for a problem builds its plan; later calls find it
 * without allocating, locking or formatting anything.
 *
 *     tj_problem problem = TJ_PROBLEM_INIT(512, 300, 700, TJ_F32);
 *     tj_operands x = TJ_OPERANDS(M, N, P);
 *     status = tj_matmul(context, &problem, &x, stream, &err);
 *
 * If no kernel of the problem can be compiled, the call uses a kernel of a pack that takes dimensions as arguments of the
 * launch, if there is one. A first call with TJ_FIRST_CALL_QUICK does the same.
 *
 * NULL:    stream (the legacy default stream) and err may be NULL.
 * Threads: any.
 * Errors:  those of tj_plan_prepare and tj_plan_launch, and TJ_ERR_CAPTURE: the stream is being captured, and the plan, or the
 *          plan for pointers of this alignment, is not ready; the capture stays valid.
 */
TJ_API TJ_MUST_CHECK tj_status tj_matmul(tj_context *context, const tj_problem *problem, const tj_operands *operands,
                                         struct CUstream_st *stream, tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
