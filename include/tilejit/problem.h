/* SPDX-License-Identifier: Apache-2.0 */
/*
 * problem.h: the product to compute.
 *
 *     P (j x l) = alpha * scale_m * scale_n * M (j x k) . N (k x l) + beta * C (j x l)
 *
 * Other libraries call these dimensions m x k x n; here M and N are matrices. Scales are absent unless requested, and an
 * expression may replace the formula of alpha and beta (epilogue.h). If it takes pairs of columns (tj_epilogue_pairs), P and C
 * have l / 2 columns.
 *
 * A problem is plain data, without pointers to matrices and without a device. Equal problems generate equal source. Extents,
 * leading dimensions and strides count elements, never bytes; for 4-bit types the last two count pairs of elements (TJ_S4).
 */
#ifndef TILEJIT_PROBLEM_H
#define TILEJIT_PROBLEM_H

#include <stddef.h>
#include <stdint.h>

#include <tilejit/epilogue.h>
#include <tilejit/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Element types. tj_type_facts describes each. */
typedef enum tj_type {
    TJ_TYPE_DEFAULT = 0, /**< of M: f32; of N: that of M; of P: tj_type_facts.product; of C: that of P */
    TJ_F32 = 1,
    TJ_F64 = 2,
    TJ_F16 = 3,
    TJ_BF16 = 4,
    TJ_E4M3 = 5, /**< 8 bits: 4 of exponent, 3 of fraction. It has NaN and no infinity; 448 is its largest number */
    TJ_E5M2 = 6, /**< 8 bits: 5 of exponent, 2 of fraction. It has NaN and infinity; 57 344 is its largest number */
    TJ_S8 = 7,
    TJ_U8 = 8,
    TJ_S32 = 9, /**< for P and C only */
    /**
     * Weights of 4 bits, -8 to 7, two in a byte: for M or N only; the other matrix is f32, f16, bf16 or e4m3. Two neighbours in
     * a stored row (a column of a column-major matrix) share a byte; the element with the even index is the lower half. A
     * stored row begins at a byte, and if its length is odd, the upper half of its last byte is unused. Counts of stored
     * elements count these bytes: leading dimensions, strides, tj_problem_span, tj_type_bytes.
     */
    TJ_S4 = 10,
    /**
     * Floats of 4 bits, two in a byte as TJ_S4: 2 of exponent, 1 of fraction. The values are 0, 0.5, 1, 1.5, 2, 3, 4 and 6 and
     * their negatives; there is neither NaN nor infinity. P may have this type if the kernel computes its scales
     * (tj_problem.scale).
     */
    TJ_E2M1 = 11,
    TJ_U4 = 12,   /**< Weights of 4 bits, 0 to 15, two in a byte as TJ_S4 */
    TJ_E8M0 = 13, /**< 8 bits of exponent: byte b is 2^(b - 127), and 255 is NaN. For scales only, never for a matrix */
    /**
     * A complex number of two f32, the real part first, as cuComplex and NumPy's complex64. M, N and P have the same complex type;
     * an epilogue has alpha and beta alone, and there are no scales (docs/complex.md).
     */
    TJ_C64 = 14,
    TJ_C128 = 15 /**< the same of two f64 */
} tj_type;

/**
 * The accumulation of products. The library never accumulates in a type other than the one that the caller chose. Complex numbers
 * are accumulated in two sums, of real and of imaginary parts, each as below.
 */
typedef enum tj_compute {
    TJ_COMPUTE_DEFAULT = 0, /**< tj_type_facts.compute of M's type */
    /**
     * f32. For M and N of f32 this is IEEE f32, with fused multiply-add. Products of narrower types are exact in f32; they may
     * be added by tensor cores, which truncate to f32 instead of rounding.
     */
    TJ_COMPUTE_F32 = 1,
    TJ_COMPUTE_F64 = 2, /**< IEEE f64, with fused multiply-add */
    /**
     * For M and N of f32 or c64, and only at the caller's request: both may be rounded to tf32, which has the exponent of f32 and 10
     * bits of fraction, before they are multiplied. Accumulators are f32. Products that tensor cores do not compute are
     * computed as with TJ_COMPUTE_F32.
     */
    TJ_COMPUTE_TF32 = 3,
    /**
     * Integers, exactly. An accumulator wraps modulo 2^32, which is impossible if k is at most 131 071, or 33 025 if M and N
     * are u8. Unless P is an integer too and there are no scales, the sum is converted to f32, and the rest is computed in f32.
     */
    TJ_COMPUTE_S32 = 4,
    /**
     * As accurate as f32, at the caller's request: tensor cores may multiply M and N of f32 or c64 as sums of narrower numbers, with a
     * bound like that of f32 (reference.h). Products that they cannot compute this accurately are computed as with
     * TJ_COMPUTE_F32, as the device decides (tj_kernel_copy_paths; docs/f32-split.md). Bits differ from those of
     * TJ_COMPUTE_F32.
     */
    TJ_COMPUTE_F32_SPLIT = 5,
    /**
     * For M and N of e4m3 and e5m2, or e4m3 and weights of 4 bits, and only at the caller's request: tensor cores may add up to
     * 128 products with the 13 bits that the tensor cores of Ada and Hopper have for 8-bit floats, which is several times as
     * fast. These partial sums are added in f32. This is how cuBLAS sums without CUBLASLT_MATMUL_DESC_FAST_ACCUM. Other
     * products are computed as with TJ_COMPUTE_F32.
     */
    TJ_COMPUTE_F32_FP8 = 6
} tj_compute;

/** The order of a matrix in memory. Row-major: the elements of a row are neighbours. */
typedef enum tj_layout { TJ_ROW_MAJOR = 0, TJ_COL_MAJOR = 1 } tj_layout;

/**
 * The bits of P that must not depend on the size of the call.
 *
 * TJ_INVARIANT_ROWS: the bits of a row of P depend on that row of M, on N, on k, l and the types, on what the epilogue reads for
 * this row, and on nothing else: not on j, the batch, the groups and the place of the row, nor on the config. All kernels that
 * may then serve the problem add the products of an element in one order, which tj_problem_sum_order names; other configs are
 * refused. Sums of tensor cores have the same bits on devices of one class (docs/invariant.md).
 *
 * Not with compute f32_split or f32_fp8, complex numbers, groups along k, epilogues that reduce rows or columns, repacked
 * weights, weights of 4 bits next to e4m3, scales along k of integers, and zero points of floats.
 */
typedef enum tj_invariant { TJ_INVARIANT_NOTHING = 0, TJ_INVARIANT_ROWS = 1 } tj_invariant;

/** Is a dimension a constant of the kernel, or an argument of every launch? */
typedef enum tj_dim_mode { TJ_DIM_FIXED = 0, TJ_DIM_ANY = 1 } tj_dim_mode;

/** One of j, k, l. */
typedef struct tj_dim {
    int64_t extent;      /**< elements, 1 to 2^31 - 1 (k may be 0). For TJ_DIM_ANY the generator ignores it; a call that is
                              given no other extent launches with it */
    int32_t mode;        /**< tj_dim_mode */
    int32_t multiple_of; /**< for TJ_DIM_ANY: every extent of a launch is a multiple of this; 0 and 1 promise nothing */
} tj_dim;

/** Special values of leading dimensions, batch and strides. */
enum {
    TJ_TIGHT = 0,      /**< derived from the extents: no padding */
    TJ_ANY = -1,       /**< an argument of every launch */
    TJ_BROADCAST = -2, /**< strides of M, N and C only: every product of the batch reads the same matrix */
    /**
     * Strides only: the matrices lie anywhere. The operand of a launch is the address of an array in device memory that holds
     * the address of each matrix, one for each product, even for a batch of 1. Each address is aligned to its elements, and the
     * matrices of P share no element. Nothing checks these addresses before the kernel uses them: a wrong one has the same
     * effect as in any CUDA program, at best a launch error that costs the process its CUDA context.
     */
    TJ_POINTERS = -3,
    /**
     * The same, with the promise that each address is a multiple of 16, as those of cudaMalloc are. Then several elements may
     * be read or written at once. If an address breaks the promise where the kernel relies on it, the launch ends with the
     * device's error of a misaligned address (TJ_ERR_DEVICE_LOST); the product is never wrong.
     */
    TJ_POINTERS_16 = -4
};

/** Return 1 if this stride means that the operand is an array of pointers, else 0. Threads: any; pure. */
static inline int tj_stride_is_pointers(int64_t stride)
{
    return stride == TJ_POINTERS || stride == TJ_POINTERS_16;
}

/** Numbers for the matrices of a problem. */
typedef enum tj_which { TJ_MATRIX_M = 0, TJ_MATRIX_N = 1, TJ_MATRIX_P = 2, TJ_MATRIX_C = 3 } tj_which;

enum { TJ_MATRICES = 4 };

/** The matrices before this number, M and N, are multiplied. A macro, because compilers warn where two enums are compared. */
#define TJ_FACTORS (TJ_MATRIX_N + 1)

/** The matrices before this number may have scales. */
#define TJ_SCALED (TJ_MATRIX_P + 1)

/** The order of the numbers within a stored row. */
typedef enum tj_order {
    TJ_ORDER_NATURAL = 0, /**< neighbours along k are neighbours in memory */
    /**
     * Weights of 4 bits whose blocks of TJ_REPACKED_BLOCK neighbours along k were transposed once, as 4 rows of 8: number i of
     * a block is stored at index i % 8 * 4 + i / 8, where even indexes are lower halves of bytes, as in TJ_S4. So word t of a
     * block's four holds numbers 2 t and 2 t + 1 of each row of 8, half a word apart, which are the numbers that lane t of four
     * passes to tensor cores. tj_repack writes this order. It is the same for all types of 4 bits, and changes neither the
     * shape of the array nor its scales.
     *
     * The matrix is stored along k (M row-major, N column-major), and k is a multiple of TJ_REPACKED_BLOCK; if k is an argument
     * of the launch, tj_dim.multiple_of must promise this. Not with groups along k. The families naive, tiled, thin, mma and
     * wgmma read it.
     */
    TJ_ORDER_REPACKED = 1
} tj_order;

enum { TJ_REPACKED_BLOCK = 32 };

/** The storage of one matrix of a problem. All zero: row-major, tight, of the default type. */
typedef struct tj_matrix {
    int32_t type;      /**< tj_type */
    int8_t layout;     /**< tj_layout of the matrix as stored */
    int8_t transposed; /**< 1: the transpose is stored: M as k x j, N as l x k, P as l x j. That is the same storage as in the
                            other layout, so both give the same kernel */
    int8_t order;      /**< tj_order of M or N */
    int8_t conjugated; /**< 1: the conjugate of M or N, of a complex type, is multiplied. With transposed it is stored as the
                            conjugate transpose. It costs nothing: the kernel changes signs of multiply-adds */
    int64_t ld;        /**< elements from one stored row (column) to the next; TJ_TIGHT, TJ_ANY */
    int64_t stride;    /**< elements from one matrix of the batch to the next; TJ_TIGHT, TJ_ANY, TJ_BROADCAST, TJ_POINTERS,
                             TJ_POINTERS_16 */
} tj_matrix;

/**
 * The layout of scales. A block is `rows` rows of M, or columns of N, by `k` elements of k, and has one scale; the last block
 * may be short in both directions. A row below is a row of M or a column of N.
 */
typedef enum tj_scale_layout {
    /**
     * A row-major matrix with a row for each part of k and a column for each block of rows: the scales of one part of k follow
     * each other. Most quantisers store the scales of k x l weights of 4 bits this way.
     */
    TJ_SCALES_PART_BY_PART = 0,
    /**
     * The transpose, with a row for each block of rows and a column for each part of k. Activations, whose rows are quantised
     * one by one, and weights that are stored as l x k usually have this layout.
     */
    TJ_SCALES_ROW_BY_ROW = 1,
    /**
     * The layout that cuBLAS and the tensor cores of Blackwell take, for scales of 8 bits with rows 1 and k 16 or 32. A tile has
     * 128 rows by 4 parts of k and takes 512 bytes; the tiles of the same rows follow each other along k. The scale of row r and
     * part p of a tile is byte (r % 32) * 16 + r / 32 * 4 + p. The last tiles are stored whole.
     */
    TJ_SCALES_IN_TILES = 2
} tj_scale_layout;

/**
 * The scales of a matrix: numbers that multiply the elements of M or N, one for a block of them. They are an operand of every
 * launch. All zero: there are none. Not with f64.
 *
 *     problem.scale[TJ_MATRIX_N] = (tj_scale)TJ_SCALE_INIT(TJ_F32, 0, 0);      one for the matrix
 *     problem.scale[TJ_MATRIX_N] = (tj_scale)TJ_SCALE_INIT(TJ_F32, 1, 0);      one for each column
 *     problem.scale[TJ_MATRIX_N] = (tj_scale)TJ_SCALE_INIT(TJ_F32, 1, 64);     one for each column and 64 elements of k
 *     problem.scale[TJ_MATRIX_N] = (tj_scale)TJ_SCALE_INIT(TJ_F32, 128, 128);  one for a block of 128 x 128
 *
 * Scales for all of k (k is 0) multiply the sum. Scales for parts of k multiply the partial sums, which are then added in f32:
 *
 *     P = epilogue( sum over the parts of k of  scale_m[row][part] * scale_n[part][column] * (sum of the products of a part) )
 *
 * If M and N have scales for parts of different length, the longer is a multiple of the shorter.
 *
 * A scale may be any number of its type: 0, negative, infinite or NaN. It multiplies as in IEEE arithmetic.
 *
 * The kernel computes and stores the scales of P: it quantises P (docs/epilogues.md). P is then e4m3, e5m2 or s8 and row-major,
 * and the value that the epilogue computes in f32 is
 *
 *     value = P * scale_p, up to the last rounding
 *
 *     problem.p.type = TJ_E4M3;
 *     problem.scale[TJ_MATRIX_P] = (tj_scale){TJ_F32, TJ_SCALES_ROW_BY_ROW, .rows = 1, .k = 128};
 *
 * type is TJ_F32 or TJ_E8M0, and rows is 1. k counts columns of P: 32, 64 or 128 neighbours of a row, or 0 for the whole row.
 * The layouts are those of M's scales, with columns of P in place of k. Padding is never written. In f32:
 *
 *     largest = the largest magnitude of the block, before any other rounding; NaN if a value is NaN
 *     scale   = TJ_F32: largest / the largest number of P's type (448, 57 344, 127, 6), and at least 2^-126
 *               TJ_E8M0: the least power of two, from 2^-126 on, by which largest / scale is at most that number
 *               1 where largest is 0
 *     P       = value * (1 / scale), rounded to nearest even
 *
 * P of TJ_E2M1 has an even number of columns. If a value of the block is infinite or NaN, so is the scale (TJ_E8M0: NaN), and
 * the whole block reads as NaN. The OCP microscaling formats take the exponent of `largest` alone for e8m0, so that the largest
 * values saturate; here no value saturates. The divisions and products are those of IEEE f32, so that equal values give equal
 * bits in every config. Such a problem has no C (beta), and j, l and the batch are fixed.
 */
typedef struct tj_scale {
    int8_t type;   /**< tj_type: TJ_F32, TJ_F16, TJ_BF16, TJ_E8M0, TJ_E4M3; 0: there are none */
    int8_t layout; /**< tj_scale_layout */
    /**
     * The tj_type of zero points (tj_operands.zero): TJ_U4, TJ_U8, TJ_S8, or the type of the scales; 0: there are none. They
     * are for integer weights that are multiplied by floats (tj_problem): a weight q means scale * (q - zero). They have the
     * layout of the scales; zero points of u4 are stored two in a byte, neighbours of a stored row together.
     */
    int8_t zero;
    int8_t whole; /**< 1: one more f32 number multiplies the whole matrix (tj_operands.whole); 0: there is none */
    int32_t rows; /**< rows of M, or columns of N, for each scale, such as 1 or 128; 0: all of them */
    int32_t k;    /**< elements of k for each scale, 1 or more; 0: all of them. Each launch states the leading dimension
                       (tj_operands.scale) */
} tj_scale;

/** The assignment of the rows of M and P to products. */
typedef enum tj_rows_kind {
    TJ_ROWS_AS_THEY_LIE = 0, /**< the rows of one matrix, or of one matrix for each product of the batch */
    /**
     * Groups of rows: in place of one product, `groups` products of different j in one call, as a mixture of experts needs them
     * (docs/grouped.md).
     *
     *     P_g (j_g x l) = M_g (j_g x k) . N_g (k x l)        for g = 0 ... groups - 1
     *
     * M (j x k), P and C (j x l) hold the rows of all groups, one group after the other and without padding; N is an array of
     * `groups` matrices, stored like those of a batch. An array of groups + 1 offsets, an operand of every launch, holds the
     * first row of each group: group g has the rows offset[g] to offset[g + 1] - 1, and may have none. Rows before the first
     * offset, and rows from the last offset on, belong to no group; these rows of P are not written. So j is the capacity of
     * the buffers, and the upper bound of every offset.
     *
     * M and P are row-major, and batch is 1. If M has a scale for each row, the scales are in the order of the rows. The N of
     * each group has scales of its own.
     */
    TJ_ROWS_IN_GROUPS = 1,
    /**
     * Masked groups: every group has space for j / groups rows, so j is a multiple of groups. Other libraries describe the
     * shape of such an M as [groups, maximum rows, k]. An array of `groups` counts is an operand of every launch, in place of
     * the offsets: group g has the first count[g] rows of its space, which begins at row g * (j / groups). The kernel neither
     * reads the other rows of M nor writes those of P. Everything else is as with TJ_ROWS_IN_GROUPS.
     */
    TJ_ROWS_MASKED = 2,
    /**
     * Groups along k, as the gradient of each expert's weights needs them: `groups` products of different k.
     *
     *     P_g (j x l) = M_g (j x k_g) . N_g (k_g x l)        for g = 0 ... groups - 1
     *
     * M (j x k) and N (k x l) hold the elements of all groups, one group after the other along k. Group g has the elements
     * offset[g] to offset[g + 1] - 1; the rules for offsets above apply, with k in place of j. For a group without elements the
     * epilogue is applied to a sum of 0. The products form a batch of `groups` products, and P, C, epilogue operands and scales
     * are stored as for a batch; M and N are shared (TJ_BROADCAST), in any layout. Vector accesses require that stored rows do
     * not run along k: M column-major, N row-major.
     */
    TJ_ROWS_ALONG_K = 3
} tj_rows_kind;

/** The rows of M and P. All zero: TJ_ROWS_AS_THEY_LIE. */
typedef struct tj_rows {
    int8_t kind; /**< tj_rows_kind */
    /**
     * 1: the rows of M are gathered by an index, an operand of every launch (tj_operands.m_index): row r of the product, of any
     * kind above, is computed from row m_index[r] of M, with its scales. M then has not j but m_rows rows, which each launch
     * states. For an entry below 0, or of m_rows or more, nothing is read, and the row counts as zeros. M is row-major, and
     * there is no batch.
     */
    int8_t gathered;
    /**
     * 1: row r of the product is stored to row p_index[r] of P (tj_operands.p_index), which then has p_rows rows, as each
     * launch states. A row whose entry is below 0, or p_rows or more, is not stored. The entries of rows that are stored must
     * differ: if two are equal, that row of P holds either row, or parts of both. P is row-major; there is neither a batch nor
     * a beta. An epilogue indexes its operands by the rows of the product.
     */
    int8_t scattered;
    /**
     * 1 to TJ_COMBINED_MOST: each row of P is the weighted sum of this number of rows of the product, such as the outputs of
     * the experts to which a token was sent; 0: P has the rows of the product.
     *
     *     P[t] = p_factor[t][0] * R[p_index[t][0]] + ... + p_factor[t][combined - 1] * R[p_index[t][combined - 1]] + beta * C[t]
     *
     * R are the j rows of the product after the epilogue, rounded to P's type. The indexes and factors of each row of P are
     * operands of every launch (tj_operands.p_index, p_factor), as is p_rows, the number of rows that P and C have. The sum is
     * computed in f32, or in f64 if the product is, from left to right, so that its bits are the same every time, and is
     * rounded once. An index that is below 0, that is j or more, or whose row belongs to no group adds nothing. A row of P to
     * which nothing is added is 0, plus beta * C; all p_rows rows are written. A row of the product may be named any number of
     * times, or never.
     *
     * P is f32, f16, bf16 or f64, and row-major; j and l are fixed, because R lies in the workspace; there is no batch. In an
     * epilogue, `row`, the operands and the outputs besides P refer to the rows of the product. An expression does not read c.
     */
    int8_t combined;
    int32_t groups;      /**< 1 to TJ_GROUPS_MOST; without groups 0, and the members below are ignored */
    int8_t offset_bytes; /**< bytes of one offset or count, a signed integer: 4 or 8; 0: 4 */
    int8_t on_host;      /**< 1: the offsets or counts of a launch lie in host memory. They are copied with the launch, at most
                               TJ_GROUPS_MOST_HOST_BYTES of them, and a CUDA graph keeps those that it was captured with. 0:
                               they lie in device memory, where an earlier kernel of the stream may have written them */
    int16_t expected;    /**< with TJ_ROWS_MASKED: the rows that most groups have, if fewer than j / groups; 0: not known. The
                               choice of a config depends on it, the product does not */
} tj_rows;

enum { TJ_MULTIPROCESSORS_MOST = 65535 };
enum { TJ_GROUPS_MOST = 65535, TJ_GROUPS_MOST_HOST_BYTES = 3072, TJ_COMBINED_MOST = 32 };

/**
 * Symmetric products: P = M . N is square and known to be symmetric, as X . X^T is, so only one of its triangles, with the
 * diagonal, is computed: half the work.
 *
 *     tj_problem problem = TJ_PROBLEM_INIT(j, k, j, TJ_BF16);      P = alpha * X . X^T + beta * C
 *     problem.n.transposed = 1;                                    N is X, stored as l x k
 *     problem.symmetric = TJ_SYMMETRIC_BOTH;
 *     tj_operands x = TJ_OPERANDS(X, X, P);
 *
 * M and N are operands like those of any product; for X^T . X, M is transposed instead of N. Whether C and the product are
 * symmetric is not checked. Only one triangle is read of C, and of matrices in the epilogue, and only its elements are
 * computed, with `row` and `col` of that triangle: the lower one (col <= row), except with TJ_SYMMETRIC_UPPER. C may be P.
 *
 * j and l are equal, in the problem and in every launch; either both are fixed or neither is. Rows are as they lie. The epilogue
 * takes no pairs of columns and has no outputs besides P, and P has no scales.
 *
 * A product of complex numbers with the conjugate of one operand, such as X . X^H, is Hermitian: P[c][r] is the conjugate of
 * P[r][c], and the diagonal is real. The last three values say so. The imaginary parts of the diagonal are then written as 0,
 * those of C's diagonal do not matter, and alpha and beta are real. M and N may both be conjugated, or neither: X . X is
 * Hermitian if X is.
 */
typedef enum tj_symmetric {
    TJ_SYMMETRIC_NOT = 0,
    TJ_SYMMETRIC_BOTH = 1,  /**< the lower triangle is computed, and each element of it is stored twice: P[c][r] is P[r][c],
                                 to the last bit */
    TJ_SYMMETRIC_LOWER = 2, /**< the lower triangle of P is written, and the elements above the diagonal are left alone */
    TJ_SYMMETRIC_UPPER = 3, /**< the upper triangle of P is written, and the elements below the diagonal are left alone */
    TJ_HERMITIAN_BOTH = 4, /**< TJ_SYMMETRIC_BOTH, and P[c][r] is the conjugate of P[r][c]; of complex types, as the next two */
    TJ_HERMITIAN_LOWER = 5, /**< TJ_SYMMETRIC_LOWER with a real diagonal, as zherk of BLAS */
    TJ_HERMITIAN_UPPER = 6  /**< TJ_SYMMETRIC_UPPER with a real diagonal */
} tj_symmetric;

/**
 * A problem. Start from TJ_PROBLEM_INIT; zero in any field means its default.
 *
 * M and N have the same type (not s4 or u4), or are e4m3 and e5m2, or s8 and u8. Or one of them holds weights of s8, u8, e4m3,
 * e5m2, s4, u4 or e2m1, and the other holds f32, f16 or bf16, or e4m3 if the weights have 4 bits. Or one holds f16 or bf16 and
 * the other f32. Weights are widened when they are loaded, which is exact, and their products are accumulated in f32. Each part
 * of k may have scales of its own (tj_scale).
 *
 * P may have another type (tj_compute_facts.products); with weights, the type of the other matrix decides. C has the type and
 * the layout of P; its own may repeat them or be 0.
 *
 * multiprocessors: launches occupy at most this number of the device's multiprocessors, so that they run next to another kernel
 * or within a share of the device (docs/share.md). A family whose blocks walk the tiles (TJ_GRID_WALK) launches no more blocks
 * than these multiprocessors hold, and so keeps to the share; another one keeps to it only if it has that few blocks. The model
 * counts with this number, and the library prefers configs that keep to it. A config that does not is not refused: it takes
 * multiprocessors as they become free. Kernels before and after the product (packing, adding splits) are not limited. The bits
 * of P may differ from those of another number only if another config is chosen.
 *
 * A stream of a green context has a share without asking: tj_matmul then computes the problem with the number of
 * multiprocessors of the stream, if that is smaller, and every launch has a grid that fits them. In an MIG instance, and under
 * MPS with a limit, the driver already names the smaller number as that of the device.
 *
 * `overlap` lets a launch overlap the kernel before it in the stream. The product stays the same to the last bit; only the time
 * between kernels changes (docs/overlap.md).
 *
 * overlap: the first kernel of a launch may start while the kernel before it in the stream, from whichever library, still runs
 * (programmatic stream serialization). It prepares itself, and then waits on the device for the end of that kernel, and so of
 * all earlier work, before it reads or writes an operand or the workspace. It lets the next kernel start early in the same way.
 * The next kernel does so only if it is launched with the same attribute; tj_plan_launch states what it must wait for. A
 * capture keeps this as a programmatic edge of the graph. On a device before compute capability 9.0, with a driver before CUDA
 * 12.3, and in the families `naive` and `tiled`, overlap has no effect.
 */
typedef struct tj_problem {
    size_t struct_size; /**< set by TJ_PROBLEM_INIT, so that old programs work with new libraries */
    tj_dim j, k, l;
    int64_t batch; /**< number of products; 0 and 1: one, without a batch dimension; TJ_ANY */
    tj_matrix m, n, p, c;
    tj_scale scale[TJ_SCALED]; /**< of M, N and P, by their tj_which */
    tj_rows rows;
    int8_t compute;   /**< tj_compute */
    int8_t overlap;   /**< 1: a launch may overlap the kernel before it; 0: the library lets those of short products do so */
    int8_t symmetric; /**< tj_symmetric */
    int8_t invariant; /**< tj_invariant */
    int32_t multiprocessors; /**< at most this number: 1 to that of the device; 0: all */
    tj_epilogue epilogue;
} tj_problem;

/* clang-format off */
#define TJ_DIM_INIT(extent) { (extent), 0, 0 }
#define TJ_MATRIX_INIT(type) { (type), 0, 0, 0, 0, 0, 0 }
#define TJ_SCALE_INIT(type, rows, k) { (type), 0, 0, 0, (rows), (k) }
/** TJ_PROBLEM_INIT(j, k, l, type): everything fixed, row-major, tight, alpha = 1, beta = 0. type is that of M and N. */
#define TJ_PROBLEM_INIT(j, k, l, type)                                                                                 \
    { sizeof(tj_problem), TJ_DIM_INIT(j), TJ_DIM_INIT(k), TJ_DIM_INIT(l), 0, TJ_MATRIX_INIT(type),                     \
      TJ_MATRIX_INIT(0), TJ_MATRIX_INIT(0), TJ_MATRIX_INIT(0), { TJ_SCALE_INIT(0, 0, 0) },                             \
      { 0, 0, 0, 0, 0, 0, 0, 0 }, 0, 0, 0, 0, 0, { 0, 0, { 0, 0, 0, 0, { { 0, 0, 0, 0 } }, { 0 }, { { { 0 }, 0, 0, 0, 0, 0, { 0 } } } } } }
/* clang-format on */

/** One matrix of a problem. NULL: problem must not be NULL. Threads: any; pure. */
static inline const tj_matrix *tj_problem_matrix(const tj_problem *problem, tj_which which)
{
    return which == TJ_MATRIX_M   ? &problem->m
           : which == TJ_MATRIX_N ? &problem->n
           : which == TJ_MATRIX_P ? &problem->p
                                  : &problem->c;
}

/**
 * Check that a problem can be computed. If it cannot, the message names the first defect, its value and the remedy.
 *
 * NULL:    only err may be NULL.
 * Threads: any; pure.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: an extent below 1 (k below 0) or above 2^31 - 1, an unknown type or layout, types that do
 *          not match, a compute or a scale that these types do not allow, a leading dimension shorter than its row, a size in
 *          bytes that does not fit 63 bits, a stride of P that makes products overlap, a promise that a fixed extent breaks,
 *          groups with a batch or with an M or P that is not row-major, an order that the matrix cannot have (tj_order), a
 *          symmetric product with what it does not take (tj_symmetric), or a struct that was not initialised.
 */
TJ_API TJ_MUST_CHECK tj_status tj_problem_check(const tj_problem *problem, tj_error *err);

/**
 * Check the offsets for a launch of a problem with groups: they must lie between 0 and j, and never decrease. If they do not,
 * the message names the first wrong group. A launch checks offsets in host memory this way. Use it to check offsets in device
 * memory, after copying them to the host.
 *
 * offsets: rows.groups + 1 signed integers of rows.offset_bytes each; with TJ_ROWS_MASKED, rows.groups counts, which lie between
 * 0 and j / groups. j: the rows to launch with, or k with TJ_ROWS_ALONG_K; 0: the extent in the problem. The problem must have
 * passed tj_problem_check.
 *
 * NULL:    only err may be NULL.
 * Threads: any; pure.
 * Errors:  TJ_ERR_INVALID_ARGUMENT, also for a problem without groups.
 */
TJ_API TJ_MUST_CHECK tj_status tj_groups_check(const tj_problem *problem, int64_t j, const void *offsets, tj_error *err);

/**
 * Return the same problem with every default filled in: types are named, transposes become layouts, tight leading dimensions
 * and strides become numbers if everything that they depend on is fixed, and batch is at least 1. A canonical problem stays as
 * it is. The problem must have passed tj_problem_check. NULL: problem must not be NULL. Threads: any; pure.
 */
TJ_API tj_problem tj_problem_canonical(const tj_problem *problem);

enum { TJ_PROBLEM_TEXT_BYTES = 768 + TJ_EPILOGUE_TEXT_BYTES };

/**
 * Write "j512 k300 l700 f32", then only what differs from the default ("N:col ld_m=304 alpha beta batch=8"), into text (at
 * least TJ_PROBLEM_TEXT_BYTES bytes). The problem must have passed tj_problem_check. NULL: neither may be NULL. Threads: any;
 * pure.
 */
TJ_API void tj_problem_print(const tj_problem *problem, char *text);

/**
 * Return the order in which all kernels of a problem with an invariant add the products of an element, in words; "" for a
 * problem without (tj_invariant). The problem must have passed tj_problem_check. Owned: static text. NULL: problem must not be
 * NULL. Threads: any; pure.
 */
TJ_API const char *tj_problem_sum_order(const tj_problem *problem);

/**
 * Return the canonical problem with a number in place of every TJ_POINTERS and TJ_POINTERS_16. Use it to lay out the matrices
 * of such an operand in one buffer and then point to them. Each begins at a multiple of 256 bytes, as if it had come from
 * cudaMalloc, with at least one element between them. If an extent or a leading dimension is known only at launch, the number
 * is TJ_TIGHT. The problem must have passed tj_problem_check.
 * NULL: problem must not be NULL. Threads: any; pure.
 */
TJ_API tj_problem tj_problem_strided(const tj_problem *problem);

/**
 * Return the number of elements that a buffer for a matrix must hold, from the first to the last, batch (for N: groups)
 * included. (With arrays of pointers: for one matrix. See tj_problem_strided.) 0 for C if the problem adds none. For a
 * dimension that is an argument, the problem holds the extent to launch with. The problem must have passed tj_problem_check.
 *
 * Returns -1 if the span depends on a leading dimension, a stride or a batch that is TJ_ANY, if it does not fit 63 bits, or if
 * which is not a matrix. NULL: returns -1. Threads: any; pure.
 */
TJ_API int64_t tj_problem_span(const tj_problem *problem, tj_which which);

/** The facts of an element type. All text is static. */
typedef struct tj_type_facts {
    const char *name;     /**< "f32" */
    const char *cuda;     /**< its name in generated text: "float" */
    const char *numpy;    /**< its code in a .npy file, little-endian: "<f4" */
    int32_t bytes;        /**< of one element */
    int32_t compute;      /**< the tj_compute that TJ_COMPUTE_DEFAULT means for M and N of this type; 0: M and N cannot have
                               this type */
    int32_t product;      /**< the tj_type that TJ_TYPE_DEFAULT means for their P; 0: no matrix has this type */
    int32_t is_integer;   /**< 1: all its numbers are whole */
    double unit_roundoff; /**< half the distance from 1 to the next number; 0 for integers, which round by at most 1/2 */
    int32_t numbers;      /**< in one element: 2 for types of 4 bits (TJ_S4), otherwise 1 */
    int32_t part;         /**< the tj_type of the real and the imaginary part of a complex number; 0: not complex */
} tj_type_facts;

/** The number of element types. They are numbered from 1 on. Threads: any; pure. */
TJ_API int tj_type_count(void);

/** The facts of a type; NULL for a number that is not a type. Owned: the library, for ever. Threads: any; pure. */
TJ_API const tj_type_facts *tj_type_get_facts(tj_type type);

/** The bytes of one element; 0 for a number that is not a type. Threads: any; pure. */
TJ_API size_t tj_type_bytes(tj_type type);

/** "f32" and the like; "?" for a number that is not a type. Owned: static text. Threads: any; pure. */
TJ_API const char *tj_type_name(tj_type type);

/**
 * Find the type with this name.
 * NULL: only err may be NULL. Threads: any; pure.
 * Errors: TJ_ERR_INVALID_ARGUMENT: no such type; the message lists those that exist.
 */
TJ_API TJ_MUST_CHECK tj_status tj_type_parse(const char *name, tj_type *type, tj_error *err);

/** The facts of a way to compute. All text is static. */
typedef struct tj_compute_facts {
    const char *name;      /**< "tf32" */
    int32_t sum;           /**< the tj_type of sums; of the parts of complex sums */
    uint32_t products;     /**< the types that P may have: a bit 1 << tj_type for each. A complex P has the type of M */
    double input_roundoff; /**< M and N are rounded with this unit roundoff before they are multiplied; 0: they never are */
} tj_compute_facts;

/**
 * Return the facts of a way to compute; they are numbered from 1 on. NULL: there is no such number.
 * Owned: the library, for ever. Threads: any; pure.
 */
TJ_API const tj_compute_facts *tj_compute_get_facts(tj_compute compute);

/** "tf32" and the like; "?" for a number that is not a way to compute. Owned: static text. Threads: any; pure. */
TJ_API const char *tj_compute_name(tj_compute compute);

/**
 * Find the way to compute with this name.
 * NULL: only err may be NULL. Threads: any; pure.
 * Errors: TJ_ERR_INVALID_ARGUMENT: no such way; the message lists those that exist.
 */
TJ_API TJ_MUST_CHECK tj_status tj_compute_parse(const char *name, tj_compute *compute, tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
