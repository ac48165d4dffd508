/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call: one product, as a program asks cuBLAS for it, whichever function it called:
 *
 *     D (m x n) = epilogue(alpha * op(A) (m x k) . op(B) (k x n) + beta * C)      column-major
 *
 * A row-major matrix is its transpose read by columns. So this is the row-major product
 *
 *     P (n x m) = D^T = op(B)^T . op(A)^T                                         M = op(B)^T, N = op(A)^T
 *
 * over the same memory, and most often the very one that the program's author had in mind.
 */
#ifndef TJ_BLAS_CALL_H
#define TJ_BLAS_CALL_H

#include <stdbool.h>

#include <tilejit/tilejit.h>

#include "cublas.h"

/** The matrices of a call, by their place. */
enum { BLAS_A, BLAS_B, BLAS_C, BLAS_D, BLAS_MATRICES };

/**
 * The properties by which calls are told apart: two calls with the same are one product. They are compared as bytes, so that
 * there is no padding, and unused ones are 0.
 */
typedef struct blas_form {
    const void *context; /* the CUDA context */
    int64_t m, n, k, batch;
    int64_t ld[BLAS_MATRICES], stride[BLAS_MATRICES]; /* stride: 0 for one product */
    int32_t type[BLAS_MATRICES];                      /* cudaDataType_t */
    int32_t op_a, op_b;                               /* cublasOperation_t */
    int32_t compute, scalar_type;                     /* cublasComputeType_t, and the type of alpha and beta */
    int32_t math;                                     /* cublasMath_t of the handle */
    int32_t epilogue, bias_type;                      /* cublasLtEpilogue_t */
    int32_t has_alpha, has_beta;                      /* alpha is not 1, beta is not 0; 1 where that is not known */
    int32_t is_zero;                                  /* alpha is 0: A and B are not read */
    int32_t is_on_device;                             /* alpha and beta are, or cannot be read for want of an address */
    int32_t is_pointers;                              /* addresses are those of arrays of pointers */
    int32_t is_in_place;                              /* C is D */
    int32_t is_aligned;                               /* all addresses are multiples of 16 */
    int32_t has_scale[2];                             /* A and B have a scale in device memory */
    int32_t is_special; /* something that no member says: the number of the attribute plus 1; -1: matrices of another kind */
    int32_t reserved;
} blas_form;

typedef struct blas_call {
    blas_form form;
    const char *name; /* of the function */
    const void *address[BLAS_MATRICES];
    const void *bias, *scale[2];
    const void *alpha, *beta; /* where they lie */
    void *workspace;          /* NULL: the caller names none */
    size_t workspace_bytes;
    struct CUstream_st *stream;
} blas_call;

/** Fill in the members of the form that follow from addresses and scalars. */
void blas_call_settle(blas_call *call);

/** Read a scalar of the host, of a call whose scalars are there. */
double blas_call_scalar(const blas_call *call, const void *scalar);

/**
 * Describe the product for TileJIT. false: it cannot be said, and why, of 128 bytes, is the reason. Nothing is said of
 * precision that was not asked for: a product that cuBLAS may compute less precisely gets at least the precision asked for.
 */
bool blas_call_problem(const blas_form *form, tj_problem *problem, char why[128]);

/** Fill in the addresses and scalars of a launch of that problem. */
void blas_call_operands(const blas_call *call, const tj_problem *problem, tj_operands *operands);

#endif
