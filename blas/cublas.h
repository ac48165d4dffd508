/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cublas: the facts of cuBLAS's and cuBLASLt's binary interface that this folder uses, versions 11 to 13, as their
 * documentation states them (docs.nvidia.com/cuda/cublas: "cuBLAS Datatypes Reference", "cuBLASLt Datatypes Reference").
 * Matrices are column-major. No header of CUDA is included.
 */
#ifndef TJ_BLAS_CUBLAS_H
#define TJ_BLAS_CUBLAS_H

#include <stddef.h>
#include <stdint.h>

/** cublasStatus_t. */
enum { BLAS_SUCCESS = 0, BLAS_NOT_INITIALIZED = 1 };

/** cublasOperation_t; of real numbers, the conjugate transpose is the transpose. */
enum { BLAS_OP_N = 0, BLAS_OP_T = 1, BLAS_OP_C = 2 };

/** cublasFillMode_t. */
enum { BLAS_FILL_LOWER = 0, BLAS_FILL_UPPER = 1, BLAS_FILL_FULL = 2 };

/**
 * cublasPointerMode_t, and the further modes of cublasLtPointerMode_t: where alpha and beta lie. A vector has a number for each
 * row of D.
 */
enum {
    BLAS_SCALARS_ON_HOST = 0,
    BLAS_SCALARS_ON_DEVICE = 1,
    BLAS_VECTORS_ON_DEVICE = 2,
    BLAS_ALPHA_VECTOR_NO_BETA = 3,
    BLAS_ALPHA_VECTOR_BETA_ON_HOST = 4
};

/** cublasMath_t: a mode, and a flag that may be added. */
enum {
    BLAS_MATH_DEFAULT = 0,
    BLAS_MATH_TENSOR_OP = 1, /* deprecated; the same as the default since CUDA 11 */
    BLAS_MATH_PEDANTIC = 2,
    BLAS_MATH_TF32 = 3,
    BLAS_MATH_NO_NARROW_REDUCTION = 16 /* CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION */
};

/** cudaDataType_t. */
enum {
    BLAS_R_32F = 0,
    BLAS_R_64F = 1,
    BLAS_R_16F = 2,
    BLAS_R_8I = 3,
    BLAS_R_32I = 10,
    BLAS_R_16BF = 14,
    BLAS_C_32F = 4, /* complex: two numbers, the real part first */
    BLAS_C_64F = 5,
    BLAS_R_8F_E4M3 = 28,
    BLAS_R_8F_E5M2 = 29
};

/** cublasComputeType_t. */
enum {
    BLAS_COMPUTE_16F = 64,
    BLAS_COMPUTE_32F = 68,
    BLAS_COMPUTE_32F_PEDANTIC = 69,
    BLAS_COMPUTE_64F = 70,
    BLAS_COMPUTE_64F_PEDANTIC = 71,
    BLAS_COMPUTE_32I = 72,
    BLAS_COMPUTE_32I_PEDANTIC = 73,
    BLAS_COMPUTE_32F_FAST_16F = 74,
    BLAS_COMPUTE_32F_FAST_16BF = 75,
    BLAS_COMPUTE_32F_FAST_TF32 = 77
};

/** cublasLtMatrixLayoutAttribute_t. */
enum {
    BLAS_LAYOUT_TYPE = 0,
    BLAS_LAYOUT_ORDER = 1, /* BLAS_ORDER_COL and so on */
    BLAS_LAYOUT_ROWS = 2,
    BLAS_LAYOUT_COLS = 3,
    BLAS_LAYOUT_LD = 4,
    BLAS_LAYOUT_BATCH_COUNT = 5,
    BLAS_LAYOUT_BATCH_STRIDE = 6,
    BLAS_LAYOUT_PLANE_OFFSET = 7, /* not 0: a complex matrix in two planes */
    BLAS_LAYOUT_BATCH_MODE = 8    /* from 12.9 on; 1: an array of pointers, 2: groups of other sizes */
};

/** cublasLtOrder_t; the others are interleaved. */
enum { BLAS_ORDER_COL = 0, BLAS_ORDER_ROW = 1 };

/** cublasLtMatmulDescAttributes_t. */
enum {
    BLAS_DESC_COMPUTE_TYPE = 0,
    BLAS_DESC_SCALE_TYPE = 1,
    BLAS_DESC_POINTER_MODE = 2,
    BLAS_DESC_TRANSA = 3,
    BLAS_DESC_TRANSB = 4,
    BLAS_DESC_TRANSC = 5,
    BLAS_DESC_FILL_MODE = 6, /* cublasFillMode_t */
    BLAS_DESC_EPILOGUE = 7,
    BLAS_DESC_BIAS_POINTER = 8,
    BLAS_DESC_BIAS_BATCH_STRIDE = 10,
    BLAS_DESC_AUX_POINTER = 11,
    BLAS_DESC_AUX_LD = 12,
    BLAS_DESC_AUX_BATCH_STRIDE = 13,
    BLAS_DESC_ALPHA_VECTOR_BATCH_STRIDE = 14,
    BLAS_DESC_SM_COUNT_TARGET = 15,
    BLAS_DESC_A_SCALE_POINTER = 17,
    BLAS_DESC_B_SCALE_POINTER = 18,
    BLAS_DESC_C_SCALE_POINTER = 19,
    BLAS_DESC_D_SCALE_POINTER = 20,
    BLAS_DESC_AMAX_D_POINTER = 21,
    BLAS_DESC_AUX_TYPE = 22, /* -1: that of D, mostly */
    BLAS_DESC_AUX_SCALE_POINTER = 23,
    BLAS_DESC_AUX_AMAX_POINTER = 24,
    BLAS_DESC_FAST_ACCUM = 25,
    BLAS_DESC_BIAS_TYPE = 26,           /* -1: that of D, mostly */
    BLAS_DESC_SYNC_CHUNKS_OF_ROWS = 27, /* 12.2 to 12.9, as the next three: the product waits for counters in device memory */
    BLAS_DESC_SYNC_CHUNKS_OF_COLS = 28,
    BLAS_DESC_SYNC_IN_COUNTERS = 29,
    BLAS_DESC_SYNC_OUT_COUNTERS = 30,
    BLAS_DESC_A_SCALE_MODE = 31, /* cublasLtMatmulMatrixScale_t, from 12.8 on, as the next four */
    BLAS_DESC_B_SCALE_MODE = 32,
    BLAS_DESC_C_SCALE_MODE = 33,
    BLAS_DESC_D_SCALE_MODE = 34,
    BLAS_DESC_AUX_SCALE_MODE = 35,
    BLAS_DESC_D_OUT_SCALE_POINTER = 36,
    BLAS_DESC_EMULATION = 38,          /* from 13.0 on */
    BLAS_DESC_ALPHA_BATCH_STRIDE = 39, /* from 13.2 on, as the next */
    BLAS_DESC_BETA_BATCH_STRIDE = 40
};

/** cublasLtMatmulMatrixScale_t: what a scale of A or B multiplies. "Along k" needs matrices whose neighbours lie along k. */
enum {
    BLAS_SCALE_OF_MATRIX = 0,
    BLAS_SCALE_16_ALONG_K = 1, /* e4m3, in cuBLAS's tiles */
    BLAS_SCALE_32_ALONG_K = 2, /* e8m0, likewise */
    BLAS_SCALE_OF_ROW = 3,     /* f32, for each row of op(A), or column of op(B) */
    BLAS_SCALE_128_ALONG_K = 4,
    BLAS_SCALE_128_BY_128 = 5
};

/**
 * cublasLtEpilogue_t: bits. 32 | 4 is gelu of the sum with its bias. AUX stores the argument of gelu (of relu: a bit for each
 * element), which DGELU reads; the gradient of the bias is the sum of each row of D.
 */
enum {
    BLAS_EPILOGUE_NONE = 1,
    BLAS_EPILOGUE_RELU = 2,
    BLAS_EPILOGUE_BIAS = 4,
    BLAS_EPILOGUE_BIAS_GRADIENT = 16,
    BLAS_EPILOGUE_GELU = 32,
    BLAS_EPILOGUE_DGELU = 64,
    BLAS_EPILOGUE_AUX = 128
};

/** The bytes of a cublasLtMatrixLayoutOpaque_t: plain data without pointers to other memory. */
enum { BLAS_LAYOUT_BYTES = 64 };

#endif
