/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operands.h: the matrices and numbers of one launch.
 */
#ifndef TILEJIT_OPERANDS_H
#define TILEJIT_OPERANDS_H

#include <tilejit/problem.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st; /* a CUstream, which is also a cudaStream_t; NULL is the legacy default stream */

/** One matrix of a launch, or of each product of its batch. */
typedef struct tj_operand {
    const void *address; /**< its device address. If the problem's stride is TJ_POINTERS or TJ_POINTERS_16, that of an array of
                              `batch` device addresses, which the device can reach and which must not change until the launch
                              has run */
    int64_t ld;          /**< used if the problem says TJ_ANY; 0: tight */
    int64_t stride;      /**< used if the problem says TJ_ANY; 0: tight; TJ_BROADCAST */
} tj_operand;

/**
 * The matrices and scalars of one launch. Start from TJ_OPERANDS or TJ_OPERANDS_INIT. Fields that the problem fixes are
 * ignored; an extent of 0 means the problem's.
 */
typedef struct tj_operands {
    size_t struct_size;
    tj_operand m, n;
    tj_operand p; /**< must not overlap M, N or C, but may be C itself if C is stored like P. A launch refuses a P that is
                       certain to share an address with an input: if one of the two has no gaps, or if both have the same
                       leading dimension (like two blocks of one matrix, which may lie side by side). For batches with gaps
                       between their matrices, the first matrices are compared. Matrices with different leading dimensions, and
                       matrices reached by arrays of pointers, are not compared */
    tj_operand c; /**< read if the problem adds beta * C and beta is not 0. If its address is NULL, C is P itself */
    /**
     * Scales, by the tj_which of their matrix, read if the problem has them: one value, a vector, or, with scales along k
     * (tj_scale.k), a matrix as tj_scale_layout says. ld of such a matrix: elements from the scales of one part of k to those
     * of the next; with TJ_SCALES_ROW_BY_ROW, from one block of rows to the next; with TJ_SCALES_IN_TILES, from one row of
     * tiles to the next; 0: tight. stride: from the scales of one product to those of the next; 0: tight; TJ_BROADCAST. Scales
     * must not overlap P. The kernel writes the scales of P, so they must not overlap anything, and products must not share
     * them.
     */
    tj_operand scale[TJ_SCALED];
    tj_operand zero[TJ_FACTORS];  /**< zero points (tj_scale.zero), laid out as the scales are, with an ld and a stride of their
                                       own, which count bytes for u4 */
    tj_operand whole[TJ_FACTORS]; /**< one number of f32 that multiplies the whole matrix (tj_scale.whole) */
    /**
     * The operands of the epilogue's expression: tj_operands_set finds one by name, tj_epilogue_find returns its number. ld:
     * for a matrix, elements from one stored row (column) to the next; 0: tight. stride: from one product of the batch to the
     * next; 0: tight; TJ_BROADCAST. They must not overlap P.
     */
    tj_operand with[TJ_EPILOGUE_OPERANDS];
    double number[TJ_EPILOGUE_OPERANDS]; /**< the expression's operands that are numbers; converted as alpha is */
    double alpha,
        beta;        /**< used if the problem's epilogue has them. f64 uses them unchanged. A product of integers without scales
                          whose P is an integer requires whole numbers from -(2^31 - 1) to 2^31 - 1; any other number is an
                          error. Other products convert them to f32; a number that this would make infinite or 0 is an error */
    int64_t j, k, l; /**< used for TJ_DIM_ANY; 0: the extent in the problem */
    int64_t batch;   /**< used for TJ_ANY; 0: 1 */
    int32_t tile_width; /**< used by kernels with shared=dynamic; 0: the config's */
    int32_t reserved;   /**< must be 0 */
    /**
     * Used if the problem has groups: the offset of each group, and the end of the last one, rows.groups + 1 signed integers of
     * rows.offset_bytes each. They count rows, from 0 to j, and must never decrease.
     *
     * Offsets in host memory (rows.on_host) are read before the call returns, and a launch refuses offsets that break this
     * rule. Offsets in device memory are not checked before the launch; the kernel enforces the rule: an offset below 0 counts
     * as 0, an offset above j as j, and an offset below an earlier one as the earlier one, so its group has no rows. Nothing
     * outside of M, N, P and C is read or written, whatever the offsets are. tj_groups_check describes defects of offsets.
     *
     * With TJ_ROWS_MASKED they are the counts of the groups: rows.groups integers from 0 to j / groups. The same applies to
     * them: a count below 0 counts as 0, and a count above j / groups as j / groups.
     */
    const void *offsets;
    /**
     * Used if the rows of M are gathered (tj_rows.gathered): the row of M for each of the j rows of the product, in device
     * memory, and the number of rows that M has; 0: j. Entries are not checked before the launch. For an entry below 0, or of
     * m_rows or more, the kernel reads nothing, and the row counts as zeros. Nothing outside of M is read, whatever the index
     * holds.
     */
    const int32_t *m_index;
    int64_t m_rows;
    /**
     * Used if rows are scattered to P (tj_rows.scattered): the row of P for each of the j rows of the product, in device memory,
     * and the number of rows that P has; 0: j. Entries are not checked before the launch. Nothing outside of P is written,
     * whatever the index holds.
     *
     * Used if rows are combined (tj_rows.combined): for each row of P, the `combined` rows of the product that it adds up:
     * p_rows times `combined` entries, in device memory; p_rows 0: j / combined, rounded up. Nothing outside of the product is
     * read.
     */
    const int32_t *p_index;
    int64_t p_rows;
    const float *p_factor; /**< used if rows are combined: the factor of each entry of p_index, in device memory */
    void *workspace; /**< device memory of tj_plan_workspace_bytes() bytes; launches that may run at the same time must not
                          share it. If it is NULL or too small, the launch allocates a workspace from the program's allocator
                          (option allocate of the context), else from the device's memory pool (cuMemAllocAsync), and frees it
                          in stream order; the pool costs a few microseconds */
    size_t workspace_bytes; /**< the size of workspace */
    double alpha_im,
        beta_im; /**< imaginary parts of alpha and beta of a complex product, converted as these are; 0 for others */
} tj_operands;

/* clang-format off */
/** TJ_OPERANDS(M, N, P): three addresses, alpha = 1, beta = 0, everything else as in the problem. */
#define TJ_OPERANDS(m, n, p)                                                                                           \
    { sizeof(tj_operands), { (m), 0, 0 }, { (n), 0, 0 }, { (p), 0, 0 }, { NULL, 0, 0 }, { { NULL, 0, 0 } },       \
      { { NULL, 0, 0 } }, { { NULL, 0, 0 } }, { { NULL, 0, 0 } }, { 0 }, 1.0, 0.0, 0, 0, 0, 0, 0, 0, NULL, NULL, 0, NULL, 0, NULL, NULL, 0, 0.0, 0.0 }
#define TJ_OPERANDS_INIT TJ_OPERANDS(NULL, NULL, NULL)
/* clang-format on */

/**
 * Set an operand or output of the epilogue's expression: the address of an indexed one, or the value of a number. Its leading
 * dimension and stride stay as they are.
 *
 *     tj_operands x = TJ_OPERANDS(M, N, P);
 *     status = tj_operands_set(&x, &problem, "bias", bias, &err);
 *
 * NULL:    address (a launch then reports that it is missing) and err may be NULL.
 * Threads: any; pure.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: the expression names no such operand (the message lists its operands); the operand is a
 *          number and the call sets an address, or the reverse; or the operands are not initialised. *operands is then
 *          unchanged.
 */
TJ_API TJ_MUST_CHECK tj_status tj_operands_set(tj_operands *operands, const tj_problem *problem, const char *name,
                                               const void *address, tj_error *err);
TJ_API TJ_MUST_CHECK tj_status tj_operands_set_number(tj_operands *operands, const tj_problem *problem, const char *name,
                                                      double number, tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
