/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cublas: the peers, opened at run time; a machine without them simply has no comparison.
 *
 * They compute as the problem says. f32 is full FP32: no TF32, no emulation; tf32 only if the problem asks for it. 16-bit and
 * 8-bit types are summed in f32 to the end, splits of k included, and s8 in s32. Unsupported products are reported in cuBLAS's
 * own words.
 */
#ifndef TJ_CLI_CUBLAS_H
#define TJ_CLI_CUBLAS_H

#include <stdbool.h>

#include <tilejit/tilejit.h>

typedef struct cublas cublas;

/** A problem in cuBLAS's terms, and the algorithms that cuBLASLt's heuristic offers for it. */
typedef struct cublas_problem cublas_problem;

enum { CUBLAS_IDEAS = 32 };

/**
 * Open both libraries: on the loader's path, in /usr/local/cuda, in $CUDA_HOME. Calls go to `stream` and may use `workspace`,
 * device memory that outlives the result. NULL: not found, and err says what was tried.
 */
cublas *cublas_open(struct CUstream_st *stream, void *workspace, size_t workspace_bytes, tj_error *err);
void cublas_close(cublas *library);

/** "13.1.0" */
const char *cublas_version(const cublas *library);

/**
 * Is it M . N only: no epilogue, no groups, no arrays of pointers? If not, err says why, with TJ_ERR_UNSUPPORTED. A problem with
 * scales passes: cuBLAS multiplies without them, which is another product. The problem is canonical.
 */
bool cublas_is_asked(const tj_problem *problem, tj_error *err);

/** Describe such a canonical problem. NULL: err says why. */
cublas_problem *cublas_describe(cublas *library, const tj_problem *problem, tj_error *err);
/**
 * Like cublas_describe, for a row-major P, with gelu (by tanh) of the sum and a bias for each column, in device memory, of P's
 * type.
 */
cublas_problem *cublas_describe_gelu_bias(cublas *library, const tj_problem *problem, const void *bias, tj_error *err);
void cublas_forget(cublas_problem *problem);

/** Return the number of algorithms that cuBLASLt's heuristic offers, best guess first, at most CUBLAS_IDEAS. */
int cublas_idea_count(const cublas_problem *problem);

/** Say why there are none. Owned: the problem. */
const char *cublas_no_idea(const cublas_problem *problem);

/**
 * If these return 0, err->status is TJ_ERR_UNSUPPORTED for a product that cuBLAS does not do, and TJ_ERR_DRIVER for other
 * failures.
 */

/** Queue the call that a user would make: cublasSgemm, cublasSgemmStridedBatched, cublasGemmEx, cublasGemmStridedBatchedEx. */
int cublas_queue_default(const cublas_problem *problem, const tj_operands *x, tj_error *err);

/** Queue cublasLtMatmul with algorithm number index. */
int cublas_queue_idea(const cublas_problem *problem, int index, const tj_operands *x, tj_error *err);

#endif
