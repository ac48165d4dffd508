/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cublas: the peers, opened at run time: a machine without them has none to compare with, and that is all.
 *
 * They compute as the problem says. f32 is full FP32: no TF32, no emulation; tf32 only where the problem asks for it. Types
 * of 16 and 8 bits are summed in f32 to the end, splits of k included, and s8 in s32. What they do not offer is told in their
 * own words.
 */
#ifndef TJ_CLI_CUBLAS_H
#define TJ_CLI_CUBLAS_H

#include <stdbool.h>

#include <tilejit/tilejit.h>

typedef struct cublas cublas;

/** A problem as cuBLAS sees it, and cuBLASLt's ideas for it. */
typedef struct cublas_problem cublas_problem;

enum { CUBLAS_IDEAS = 32 };

/**
 * Open both libraries: on the loader's path, in /usr/local/cuda, in $CUDA_HOME. Calls go to stream and may use workspace,
 * device memory that outlives the answer. NULL: there is none, and err says what was tried.
 */
cublas *cublas_open(struct CUstream_st *stream, void *workspace, size_t workspace_bytes, tj_error *err);
void cublas_close(cublas *library);

/** "13.1.0" */
const char *cublas_version(const cublas *library);

/** Is it M . N and no more: no epilogue, no groups, no arrays of pointers? If not, err says why, with TJ_ERR_UNSUPPORTED. */
bool cublas_is_asked(const tj_problem *problem, tj_error *err);

/** Describe such a problem, canonical. NULL: err says why. */
cublas_problem *cublas_describe(cublas *library, const tj_problem *problem, tj_error *err);
/** The same of a row-major P, with gelu (by tanh) of the sum and a bias for each column, in device memory, of P's type. */
cublas_problem *cublas_describe_gelu_bias(cublas *library, const tj_problem *problem, const void *bias, tj_error *err);
void cublas_forget(cublas_problem *problem);

/** How many ways cuBLASLt's heuristic offers, best guess first, at most CUBLAS_IDEAS. */
int cublas_idea_count(const cublas_problem *problem);

/** Why there are none. Owned: the problem. */
const char *cublas_no_idea(const cublas_problem *problem);

/**
 * A 0 from these has TJ_ERR_UNSUPPORTED in err->status where cuBLAS does not do such a product, and TJ_ERR_DRIVER for other
 * trouble.
 */

/** Queue the call that a user would make: cublasSgemm, cublasSgemmStridedBatched, cublasGemmEx, cublasGemmStridedBatchedEx. */
int cublas_queue_default(const cublas_problem *problem, const tj_operands *x, tj_error *err);

/** Queue cublasLtMatmul the way of idea number index. */
int cublas_queue_idea(const cublas_problem *problem, int index, const tj_operands *x, tj_error *err);

#endif
