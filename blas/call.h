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
 * The properties by which calls are told apart: two calls with the same are one product. They are compared as bytes: the
 * structure has no padding, and unused members are 0.
 */
typedef struct blas_form {
    struct blas_home *home; /* the CUDA context */
    int64_t m, n, k, batch;
    int64_t ld[BLAS_MATRICES], stride[BLAS_MATRICES]; /* stride: 0 for one product */
    int32_t type[BLAS_MATRICES];                      /* cudaDataType_t */
    int32_t op_a, op_b;                               /* cublasOperation_t */
    int32_t compute, scalar_type;                     /* cublasComputeType_t, and the type of alpha and beta */
    int32_t math;                                     /* cublasMath_t of the handle */
    int32_t epilogue, bias_type;                      /* cublasLtEpilogue_t */
    int32_t aux_type;                                 /* cudaDataType_t; -1: that of D */
    int32_t scalars;                   /* where alpha and beta lie: BLAS_SCALARS_ON_HOST and so on; -1: unknown */
    int32_t has_alpha, has_beta;       /* alpha is not 1, beta is not 0; 1 where that is not known */
    int32_t is_zero;                   /* alpha is 0: A and B are not read */
    int32_t is_by_rows[BLAS_MATRICES]; /* the matrix is row-major */
    int32_t is_pointers;               /* addresses are those of arrays of pointers */
    int32_t is_in_place;               /* C is D */
    int32_t is_aligned;                /* all addresses are multiples of 16 */
    int32_t scale[BLAS_MATRICES];      /* 0: none; else in device memory, and its cublasLtMatmulMatrixScale_t plus 1 */
    int32_t triangle;        /* the only one of D that is read and written, its cublasFillMode_t plus 1; 0: all of D */
    int32_t is_hermitian;    /* D is Hermitian: the imaginary parts of its diagonal are 0, whatever C's are */
    int32_t special;         /* 0, or a blas_special, or the number of an attribute of a description plus 1 */
    int64_t multiprocessors; /* on which to compute, as the program says; 0: all */
} blas_form;

/** Calls that no member of blas_form describes. */
typedef enum blas_special {
    BLAS_OTHER_MATRICES = -1, /* of another layout, or of sizes that do not fit */
    BLAS_OTHER_SIZES = -2,    /* the products of one call differ in size */
    BLAS_EQUAL_GROUPS = -3    /* groups of batches that are one batch; alpha and beta lie on the host in every pointer mode */
} blas_special;

/** The vectors, matrices and numbers that an epilogue reads from device memory, or writes there. */
typedef enum blas_extra {
    BLAS_ALPHA,
    BLAS_BETA,
    BLAS_ADDEND, /* C, where it is not of D's type */
    BLAS_BIAS,   /* or its gradient */
    BLAS_AUX,
    BLAS_C_SCALE,
    BLAS_D_SCALE,
    BLAS_EXTRAS
} blas_extra;

/** Its place; the matrices of a batch are `stride` elements apart, and share it if that is 0. */
typedef struct blas_place {
    const void *address;
    int64_t ld, stride;
} blas_place;

typedef struct blas_call {
    blas_form form;
    const char *name; /* of the function */
    const void *address[BLAS_MATRICES];
    const void *scale[BLAS_MATRICES];
    const void *alpha, *beta;          /* where they lie */
    int64_t alpha_stride, beta_stride; /* on the device; of a batch */
    blas_place bias, aux;
    void *workspace; /* NULL: the caller names none */
    size_t workspace_bytes;
    struct CUstream_st *stream;
} blas_call;

/** Fill in the members of the form that follow from addresses and scalars. */
void blas_call_settle(blas_call *call);

/** Has it the address of all that it reads and writes? */
bool blas_call_is_whole(const blas_call *call);

/**
 * Describe the product for TileJIT. false: it cannot be said, and why, of 128 bytes, is the reason. Nothing is said of
 * precision that was not asked for: a product that cuBLAS may compute less precisely gets at least the precision asked for.
 */
bool blas_call_problem(const blas_form *form, tj_problem *problem, char why[128]);

/** Fill in the addresses and scalars of a launch of that problem. */
void blas_call_operands(const blas_call *call, const tj_problem *problem, tj_operands *operands);

#endif
