/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shape.h: the operands of a problem: the shape, the type and the place of each.
 *
 * One table states which operands a product has and how each is stored; the library uses it to check, launch and verify. A tool
 * that reads, writes or allocates operands uses it too, and need not know the effects of an epilogue of pairs or of weights of
 * 4 bits.
 *
 *     tj_operand_shape p = TJ_OPERAND_SHAPE_INIT;
 *     tj_operand_get_shape(&problem, TJ_MATRIX_P, &p, &err);
 *     room = malloc((size_t)p.span * tj_type_bytes((tj_type)p.type));
 */
#ifndef TILEJIT_SHAPE_H
#define TILEJIT_SHAPE_H

#include <tilejit/problem.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Numbers of the operands after those of tj_which. */
enum {
    TJ_OPERAND_SCALE = TJ_MATRICES,                  /**< the scales of a matrix have number TJ_OPERAND_SCALE + its tj_which */
    TJ_OPERAND_ZERO = TJ_OPERAND_SCALE + TJ_SCALED,  /**< its zero points: TJ_OPERAND_ZERO + its tj_which */
    TJ_OPERAND_WHOLE = TJ_OPERAND_ZERO + TJ_FACTORS, /**< the one number for the whole matrix: TJ_OPERAND_WHOLE + its
                                                          tj_which */
    TJ_OPERAND_WITH = TJ_OPERAND_WHOLE + TJ_FACTORS, /**< operand i of the epilogue's expression: TJ_OPERAND_WITH + i */
    TJ_OPERANDS_MOST = TJ_OPERAND_WITH + TJ_EPILOGUE_OPERANDS
};

/** Numbers of the lists that a launch brings besides its operands: members of tj_operands, read if the problem has them. */
typedef enum tj_list {
    TJ_LIST_OFFSETS,  /**< offsets: the offsets of groups, or their counts */
    TJ_LIST_M_INDEX,  /**< m_index: the index by which rows of M are gathered */
    TJ_LIST_P_INDEX,  /**< p_index: the index by which rows are scattered to P, or combined */
    TJ_LIST_P_FACTOR, /**< p_factor: the factors of rows that are combined */
    TJ_LISTS
} tj_list;

/** One operand of a problem. Start from TJ_OPERAND_SHAPE_INIT. */
typedef struct tj_operand_shape {
    size_t struct_size;
    int32_t is_taken;   /**< 1: the problem has this operand. 0: it has no such scales or operand, or adds no C; all members
                             below are then 0 */
    int32_t is_written; /**< 1: P, and further outputs of the epilogue */
    int32_t is_array;   /**< 1: its address is that of an array of pointers, one for each matrix */
    int32_t type;       /**< tj_type of an element */
    int32_t layout;     /**< tj_layout as stored; for a vector along j TJ_COL_MAJOR, for any other TJ_ROW_MAJOR */
    int32_t reserved;   /**< 0 */
    int64_t rows, cols; /**< elements of one matrix or vector as stored: of s4, an element holds two numbers; of scales along k,
                              as tj_scale_layout says; of tiles of scales, a row for each 128 rows */
    int64_t ld, stride; /**< elements, as in a canonical problem: TJ_ANY if the launch states it, TJ_TIGHT if it follows from
                             the extents of the launch */
    int64_t count;      /**< number of matrices or vectors: one for each product, or for each group (N and its scales);
                             TJ_ANY */
    int64_t span;       /**< elements from the first to the last of all matrices; with an array of pointers, of one matrix. -1:
                             it depends on a number that a launch states, or does not fit 63 bits */
} tj_operand_shape;

#define TJ_OPERAND_SHAPE_INIT TJ_SIZED(tj_operand_shape)

/**
 * Get the shape of an operand: a matrix by its tj_which, or one of the numbers above. For a dimension that is an argument, the
 * extent in the problem is used.
 *
 * NULL:    only err may be NULL.
 * Threads: any; pure.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: those of tj_problem_check, an operand that does not exist, or a struct that was not
 *          initialised. *shape is then unchanged.
 */
TJ_API TJ_MUST_CHECK tj_status tj_operand_get_shape(const tj_problem *problem, int which, tj_operand_shape *shape,
                                                    tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
