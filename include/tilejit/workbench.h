/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workbench.h: the operands of a problem in device memory, for programs that run, time or verify a kernel.
 *
 * A workbench places one or more sets of operands on the device, random ones or the caller's, with guards around each matrix,
 * and arrays of pointers if the problem takes them, and checks products. A program that has its own operands on the device does
 * not need it.
 *
 *     tj_workbench_create(context, &problem, NULL, &bench, &err);
 *     tj_workbench_fit(bench, tj_plan_workspace_bytes(plan), &err);
 *     tj_plan_launch(plan, tj_workbench_operands(bench), NULL, &err);
 *     tj_workbench_read(bench, 0, p, &err);
 *     tj_workbench_check(bench, p, 0, 1, &report, &err);
 */
#ifndef TILEJIT_WORKBENCH_H
#define TILEJIT_WORKBENCH_H

#include <tilejit/buffer.h>
#include <tilejit/operands.h>
#include <tilejit/reference.h>
#include <tilejit/shape.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The operands of a problem. For one thread at a time; launches with the operands may come from any thread. */
typedef struct tj_workbench tj_workbench;

/** Start from TJ_WORKBENCH_INIT; zero in any field means its default. */
typedef struct tj_workbench_options {
    size_t struct_size;
    struct CUstream_st *stream; /**< for copies; it must outlive the workbench. NULL: the legacy default stream */
    /**
     * The content of each operand by its number (shape.h): matrices are stored as tj_workbench_problem states, all others
     * tight. Borrowed until the workbench is freed. NULL: values of tj_fill_random, and for P all bits 1, which is NaN in every
     * floating-point type. If P might not hold the product of random integers, these are -1, 0 and 1.
     */
    const void *host[TJ_OPERANDS_MOST];
    uint64_t seed;      /**< of the random numbers of M; the following seeds are those of the other operands */
    double alpha, beta; /**< used if the problem's epilogue has them */
    size_t sets;        /**< number of equal sets of operands; with several, launches do not find their operands in a cache.
                             Default: 1 */
    size_t guard_bytes; /**< bytes before and after each matrix and the workspace, all bits 1; a multiple of 256. Default: 0 */
    int64_t period;     /**< random matrices repeat after this number of elements, and the host keeps only these, so drawing
                             large matrices costs little. A check expands the whole matrices while it runs. Default: they do not
                             repeat */
    double number[TJ_EPILOGUE_OPERANDS]; /**< operands of the expression that are numbers */
    uint64_t numbers_given;              /**< bits 1 << i of the numbers that are given; the others get a value that changes the
                                              result */
    const void *offsets;      /**< the offsets or counts of groups, as a launch would take them; borrowed for the call.
                              Default: drawn from the seed, so that each row belongs to some group and some may be empty */
    const tj_problem *lies;   /**< the storage of the matrices, with every number known. Default: that of tj_problem_strided */
    double alpha_im, beta_im; /**< imaginary parts of alpha and beta, of complex products */
} tj_workbench_options;

/* clang-format off */
#define TJ_WORKBENCH_INIT { sizeof(tj_workbench_options), NULL, { NULL }, 0, 1.0, 0.0, 0, 0, 0, { 0 }, 0, NULL, NULL, 0.0, 0.0 }
/* clang-format on */

/**
 * Place the operands of a problem in device memory. Numbers that are arguments of the launch are fixed here: the extents in the
 * problem, tight leading dimensions, one product. Arrays of pointers address the matrices of a batch in an order other than
 * that of their storage.
 *
 * Owned:   *bench belongs to the caller; tj_workbench_free(), before the context is freed.
 * NULL:    options (all defaults) and err may be NULL.
 * Threads: any.
 * Errors:  TJ_ERR_INVALID_ARGUMENT (the problem is not valid or too large for one buffer, or an option has an invalid value),
 *          TJ_ERR_OUT_OF_MEMORY, and those of tj_buffer_create. On failure *bench is NULL.
 */
TJ_API TJ_MUST_CHECK tj_status tj_workbench_create(tj_context *context, const tj_problem *problem,
                                                   const tj_workbench_options *options, tj_workbench **bench, tj_error *err);

/** Free a workbench. Launches with its operands must have completed. NULL: accepted. */
TJ_API void tj_workbench_free(tj_workbench *bench);

/** Return the storage of the matrices: canonical, with every number known. Owned: borrowed. NULL: bench must not be NULL. */
TJ_API const tj_problem *tj_workbench_problem(const tj_workbench *bench);

/** Return the sets of operands: an array of options.sets elements. Owned: borrowed. NULL: bench must not be NULL. */
TJ_API const tj_operands *tj_workbench_operands(const tj_workbench *bench);

/**
 * Return the number of bytes of a matrix with its whole batch, without guards; 0 if the problem does not have it. NULL: bench
 * must not be NULL.
 */
TJ_API size_t tj_workbench_bytes(const tj_workbench *bench, tj_which which);

/**
 * Give the operands of all sets a workspace of at least that size, all bits 1. The sets share it, so their launches must be in
 * one stream. Earlier launches must have completed.
 * NULL: only err may be NULL. Errors: those of tj_buffer_create.
 */
TJ_API TJ_MUST_CHECK tj_status tj_workbench_fit(tj_workbench *bench, size_t workspace_bytes, tj_error *err);

/** Set all bits of P and the workspace, so that no earlier result passes for a new one. NULL, Errors: as tj_workbench_fit. */
TJ_API TJ_MUST_CHECK tj_status tj_workbench_reset(tj_workbench *bench, tj_error *err);

/**
 * Copy P of a set to the host as stored, tj_workbench_bytes bytes. Wait for its launch first.
 * NULL: only err may be NULL. Errors: TJ_ERR_INVALID_ARGUMENT (no such set), those of tj_buffer_read.
 */
TJ_API TJ_MUST_CHECK tj_status tj_workbench_read(const tj_workbench *bench, size_t set, void *p, tj_error *err);

/**
 * Copy another operand of a set, by its number (shape.h), such as the scales of P that a launch has stored. It is stored as
 * tj_operand_get_shape states for tj_workbench_problem(), tight if a launch would state the leading dimension. Wait for the
 * launch first.
 * NULL: only err may be NULL. Errors: TJ_ERR_INVALID_ARGUMENT (no such set, or the problem has no such operand), those of
 * tj_buffer_read.
 */
TJ_API TJ_MUST_CHECK tj_status tj_workbench_read_operand(const tj_workbench *bench, size_t set, int operand, void *to,
                                                         tj_error *err);

/**
 * Check a P that tj_workbench_read copied, as tj_reference_check does.
 * NULL: only err may be NULL. Errors: those of tj_reference_check.
 */
TJ_API TJ_MUST_CHECK tj_status tj_workbench_check(const tj_workbench *bench, const void *p, double max_flop, int threads,
                                                  tj_check_report *report, tj_error *err);

/**
 * Find out whether a launch wrote outside its outputs. Compares the guards, M, N and C of a set with their former content (for
 * operands that repeat, the first period), and, unless p is NULL, the gaps between the rows of the P that tj_workbench_read
 * copied. reason receives "" or one sentence ("it writes after P").
 * NULL: p and err may be NULL. Errors: those of tj_workbench_read, and TJ_ERR_OUT_OF_MEMORY.
 */
TJ_API TJ_MUST_CHECK tj_status tj_workbench_find_damage(const tj_workbench *bench, size_t set, const void *p, char reason[160],
                                                        tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
