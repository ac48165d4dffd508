/* SPDX-License-Identifier: Apache-2.0 */
/*
 * problem.h: what to compute.
 *
 *     P (j x l) = alpha * M (j x k) . N (k x l) + beta * C (j x l)
 *
 * A problem is plain data: no pointers to matrices, no device. Two equal problems generate equal text. All extents,
 * leading dimensions and strides count elements, never bytes.
 */
#ifndef TILEJIT_PROBLEM_H
#define TILEJIT_PROBLEM_H

#include <stddef.h>
#include <stdint.h>

#include <tilejit/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Element types. The 16-bit ones are accumulated in f32; f64 in f64. TJ_DTYPE_DEFAULT: f32 for M and N; for P, theirs. */
typedef enum tj_dtype { TJ_DTYPE_DEFAULT = 0, TJ_F32 = 1, TJ_F64 = 2, TJ_F16 = 3, TJ_BF16 = 4 } tj_dtype;

/** How a matrix lies in memory. Row-major: the elements of a row are neighbours. */
typedef enum tj_layout { TJ_ROW_MAJOR = 0, TJ_COL_MAJOR = 1 } tj_layout;

/** Is a dimension baked into the kernel, or an argument of every launch? */
typedef enum tj_dim_mode { TJ_DIM_FIXED = 0, TJ_DIM_ANY = 1 } tj_dim_mode;

/** One of j, k, l. */
typedef struct tj_dim {
    int64_t extent;      /**< elements, 1 to 2^31 - 1 (k may be 0). For TJ_DIM_ANY: ignored by the generator, and the
                              extent to launch with in calls that take no other */
    int32_t mode;        /**< tj_dim_mode */
    int32_t multiple_of; /**< for TJ_DIM_ANY: every extent launched is a multiple of this; 0 and 1 promise nothing */
} tj_dim;

/** Special values of leading dimensions, batch and strides. */
enum {
    TJ_TIGHT = 0,      /**< derived from the extents: no padding */
    TJ_ANY = -1,       /**< an argument of every launch */
    TJ_BROADCAST = -2, /**< strides of M, N and C only: every product of the batch reads the same matrix */
    /**
     * Strides only: the matrices lie anywhere, and the operand of a launch is the address of an array in device memory that holds
     * the address of each, one a product, for a batch of 1 too. Each address is aligned to its elements; those of P lead
     * to matrices that share none. Nobody looks at these addresses before the kernel does: a wrong one is what it is in any
     * CUDA program, at best an error of the launch that costs the process its CUDA context.
     */
    TJ_POINTERS = -3,
    /**
     * The same, and a promise: each address is a multiple of 16, as those of cudaMalloc are, so that several elements may be
     * read or written at once. An address that breaks it where the kernel relies on it ends the launch in the device's error
     * of a misaligned address (TJ_ERR_DEVICE_LOST); it never makes a product wrong.
     */
    TJ_POINTERS_16 = -4
};

/** Does that stride say that the operand is an array of pointers? Threads: any; pure. */
static inline int tj_stride_is_pointers(int64_t stride)
{
    return stride == TJ_POINTERS || stride == TJ_POINTERS_16;
}

/**
 * A problem. Start from TJ_PROBLEM_INIT or tj_problem_init(); zero in any field means its default.
 *
 * A transposed operand is the same storage read in the other layout: with transpose_m, M is stored k x j and op(M) is
 * j x k. The generator folds the flag into the layout, so both spellings give the same kernel.
 */
typedef struct tj_problem {
    size_t struct_size; /**< set by TJ_PROBLEM_INIT: lets old programs meet new libraries */
    tj_dim j, k, l;
    int32_t dtype;       /**< tj_dtype of M and N */
    int32_t p_dtype;     /**< tj_dtype of P and C; TJ_DTYPE_DEFAULT: the type of M and N. f32 P from 16-bit M and N, and
                              the other way round, are allowed; f64 goes with f64 only */
    int32_t m_layout;    /**< tj_layout of M as stored */
    int32_t n_layout;    /**< tj_layout of N as stored */
    int32_t p_layout;    /**< tj_layout of P and of C */
    int32_t transpose_m; /**< 1: M is stored k x j */
    int32_t transpose_n; /**< 1: N is stored l x k */
    int32_t has_alpha;   /**< 1: alpha is an argument; 0: alpha = 1 and absent from the text */
    int32_t has_beta;    /**< 1: beta and C are arguments (a beta of 0 never reads C); 0: absent from the text */
    int32_t reserved;    /**< must be 0 */
    int64_t ld_m, ld_n, ld_p, ld_c; /**< elements between rows (columns) of the stored matrix; TJ_TIGHT, TJ_ANY */
    int64_t batch;                  /**< products; 0 and 1: one, without a batch dimension; TJ_ANY */
    int64_t stride_m, stride_n, stride_p,
        stride_c; /**< elements between matrices of the batch; TJ_TIGHT, TJ_ANY, TJ_BROADCAST, TJ_POINTERS, TJ_POINTERS_16 */
} tj_problem;

/* clang-format off */
#define TJ_DIM_INIT(extent) { (extent), 0, 0 }
/** TJ_PROBLEM_INIT(j, k, l, dtype): everything fixed, row-major, tight, alpha = 1, beta = 0. */
#define TJ_PROBLEM_INIT(j, k, l, dtype)                                                                                \
    { sizeof(tj_problem), TJ_DIM_INIT(j), TJ_DIM_INIT(k), TJ_DIM_INIT(l), (dtype),                                     \
      0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/* clang-format on */

/**
 * Is this a problem that can be computed? The first thing wrong is named with its value and the remedy.
 *
 * NULL:    problem must not be NULL; err may be.
 * Threads: any; pure.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: an extent below 1 (k below 0) or above 2^31 - 1, an unknown type or layout, a
 *          leading dimension shorter than its row, sizes whose byte count does not fit 63 bits, a stride of P that makes
 *          products overlap, a promise that a fixed extent breaks, a struct that was not initialised.
 */
TJ_API TJ_MUST_CHECK tj_status tj_problem_check(const tj_problem *problem, tj_error *err);

/**
 * The same problem with every default spelled out: types, transposes folded into layouts, tight leading dimensions and
 * strides as numbers where all they derive from is fixed, batch at least 1. Idempotent. The input must have passed
 * tj_problem_check. NULL: problem must not be NULL. Threads: any; pure.
 */
TJ_API tj_problem tj_problem_canonical(const tj_problem *problem);

/**
 * The canonical problem with a number in place of every TJ_POINTERS and TJ_POINTERS_16: for who puts the matrices of such an
 * operand into one buffer, one behind the other, and then points to them. They begin at multiples of 256 bytes of it, as they
 * would had each come from cudaMalloc, with at least one element between them. Where an extent or a leading dimension is known
 * only at launch, the number is TJ_TIGHT. The input must have passed tj_problem_check.
 * NULL: problem must not be NULL. Threads: any; pure.
 */
TJ_API tj_problem tj_problem_strided(const tj_problem *problem);

/** Bytes of one element: 4, 8, 2, 2; 0 for a number that is no type. Threads: any; pure. */
TJ_API size_t tj_dtype_bytes(tj_dtype dtype);

/** "f32", "f64", "f16", "bf16"; "?" for a number that is no type. Owned: static text. Threads: any; pure. */
TJ_API const char *tj_dtype_name(tj_dtype dtype);

/**
 * The type of that name ("f32", "f64", "f16", "bf16").
 * NULL: name and dtype must not be NULL. Threads: any; pure.
 * Errors: TJ_ERR_INVALID_ARGUMENT: no such type; the message lists those there are.
 */
TJ_API TJ_MUST_CHECK tj_status tj_dtype_parse(const char *name, tj_dtype *dtype, tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
