/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workbench.h: the operands of a problem in device memory, for programs that try a kernel: run it, time it, verify it.
 *
 * A workbench draws random operands, or takes the caller's, places as many sets of them as are wanted, with guards around each
 * matrix and arrays of pointers where the problem takes these, and says whether a product is right. A program that has operands of
 * its own on the device needs none.
 *
 *     tj_workbench_create(context, &problem, NULL, &bench, &err);
 *     tj_workbench_fit(bench, tj_plan_workspace_bytes(plan), &err);
 *     tj_plan_launch(plan, tj_workbench_operands(bench), NULL, &err);
 *     tj_workbench_check(bench, 0, &report, &err);
 */
#ifndef TILEJIT_WORKBENCH_H
#define TILEJIT_WORKBENCH_H

#include <tilejit/buffer.h>
#include <tilejit/reference.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One thread at a time may use it; launches with its operands may come from any. */
typedef struct tj_workbench tj_workbench;

/** Start from TJ_WORKBENCH_INIT; zero in any field means its default. */
typedef struct tj_workbench_options {
    size_t struct_size;
    struct CUstream_st *stream;    /**< that copies go through. It outlives the workbench; NULL: the legacy default stream */
    const void *host[TJ_MATRICES]; /**< what M, N, P and C hold, as tj_workbench_problem lays them out; borrowed
                                        until the workbench is freed. NULL: random numbers from [-1, 1], and for
                                        P all bits 1, which is NaN in every floating-point type */
    uint64_t seed;                 /**< of the random numbers of M; the next ones are those of N and C */
    double alpha, beta;            /**< used if the problem's epilogue has them */
    size_t sets;                   /**< of operands, alike, for launches that find no set in a cache. Default: 1 */
    size_t guard_bytes; /**< before and behind each matrix and the workspace, all bits 1; a multiple of 256. Default: none */
    int64_t period;     /**< random operands repeat after so many elements, and the host keeps no more of them: for
                                         matrices that it has no room for. Default: they do not repeat */
    const tj_problem *lies; /**< how the matrices lie, every number known. Default: tj_problem_strided of what is known */
} tj_workbench_options;

/* clang-format off */
#define TJ_WORKBENCH_INIT { sizeof(tj_workbench_options), NULL, { NULL, NULL, NULL, NULL }, 0, 1.0, 0.0, 0, 0, 0, NULL }
/* clang-format on */

/**
 * Place operands. What the problem leaves to the launch is settled here: extents as given, tight leading dimensions, one product.
 * Where it takes arrays of pointers, they lead to the matrices of a batch in an order in which these do not lie.
 *
 * Owned:   *bench belongs to the caller; tj_workbench_free(), before the context is freed.
 * NULL:    options (all defaults) and err may be NULL.
 * Threads: any.
 * Errors:  TJ_ERR_INVALID_ARGUMENT (no problem that can be computed, or too large for one buffer; an option has a value that it
 *          cannot have), TJ_ERR_OUT_OF_MEMORY, and those of tj_buffer_create. On failure *bench is NULL.
 */
TJ_API TJ_MUST_CHECK tj_status tj_workbench_create(tj_context *context, const tj_problem *problem,
                                                   const tj_workbench_options *options, tj_workbench **bench, tj_error *err);

/** Release. Launches with its operands must have completed. NULL: accepted. */
TJ_API void tj_workbench_free(tj_workbench *bench);

/** How the matrices lie: canonical, every number known, a stride for each matrix. Owned: borrowed. NULL: bench must not be NULL. */
TJ_API const tj_problem *tj_workbench_problem(const tj_workbench *bench);

/** The operands, one behind the other, options.sets of them. Owned: borrowed. NULL: bench must not be NULL. */
TJ_API const tj_operands *tj_workbench_operands(const tj_workbench *bench);

/** Bytes of one matrix, guards not included. 0: there is none. NULL: bench must not be NULL. */
TJ_API size_t tj_workbench_bytes(const tj_workbench *bench, tj_which which);

/** Device address of the first matrix of a batch as it lies, in a set. NULL: bench must not be NULL; a matrix that there is not. */
TJ_API void *tj_workbench_address(const tj_workbench *bench, size_t set, tj_which which);

/** What M, N, C or P held before any launch, or one period of it. Owned: borrowed. NULL: bench must not be NULL; as above, and P if
 * options.host gave none. */
TJ_API const void *tj_workbench_host(const tj_workbench *bench, tj_which which);

/**
 * Give the operands of every set a workspace of so many bytes, if it has fewer; all bits are 1. The sets share it: launches of one
 * stream come one after the other. Launches must have completed.
 * NULL: only err may be NULL. Errors: those of tj_buffer_create.
 */
TJ_API TJ_MUST_CHECK tj_status tj_workbench_fit(tj_workbench *bench, size_t workspace_bytes, tj_error *err);

/** Set all bits of P and of the workspace, so that nothing of an earlier launch can pass for a result. NULL, Errors: as above. */
TJ_API TJ_MUST_CHECK tj_status tj_workbench_reset(tj_workbench *bench, tj_error *err);

/**
 * Copy P of a set to the host: tj_workbench_bytes bytes, as it lies. Wait for its launch first.
 * NULL: only err may be NULL. Errors: TJ_ERR_INVALID_ARGUMENT (no such set), those of tj_buffer_read.
 */
TJ_API TJ_MUST_CHECK tj_status tj_workbench_read(const tj_workbench *bench, size_t set, void *p, tj_error *err);

/**
 * tj_reference_check of a P that tj_workbench_read copied. Errors: as there, and TJ_ERR_INVALID_ARGUMENT for operands that repeat.
 * NULL: only err may be NULL.
 */
TJ_API TJ_MUST_CHECK tj_status tj_workbench_check(const tj_workbench *bench, const void *p, double max_flop, int threads,
                                                  tj_check_report *report, tj_error *err);

/**
 * Has a launch written where it must not? Compares guards, M, N and C (of those that repeat, the first period) of a set with what
 * they were, and what lies between the lines of P as tj_workbench_read copied it (p, or NULL: that is left out). reason receives ""
 * or one sentence ("it writes behind P").
 * NULL: p and err may be NULL. Errors: as tj_workbench_read, TJ_ERR_OUT_OF_MEMORY.
 */
TJ_API TJ_MUST_CHECK tj_status tj_workbench_find_damage(const tj_workbench *bench, size_t set, const void *p, char reason[160],
                                                        tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
