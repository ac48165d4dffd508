/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve: the work done around a call of cuBLAS: none, tracing it, or computing its product in its place.
 */
#ifndef TJ_BLAS_SERVE_H
#define TJ_BLAS_SERVE_H

#include "call.h"
#include "functions.h"

/** The state of one call between blas_begin and blas_end. */
typedef struct blas_visit {
    struct blas_product *product; /* NULL: nothing is done about this call */
    struct blas_pair *pair;       /* events around the call; NULL: it is not timed */
    struct CUstream_st *stream;
} blas_visit;

/** Is anything to be done about calls of this thread? Otherwise a call goes straight to cuBLAS. */
bool blas_is_asked(void);

/**
 * Make a handle by the library that the caller's cublasCreate or cublasLtCreate belongs to, and meanwhile have the kernels of the
 * last run made: the library prepares itself for some 100 ms. Return its status.
 */
int blas_create(blas_function function, const void *caller, void **handle);

/** Before cuBLAS is called. true: the product is queued, and cuBLAS need not be called. */
bool blas_begin(blas_call *call, blas_visit *visit);

/** After cuBLAS was called, with its status. */
void blas_end(const blas_visit *visit, int status);

#endif
