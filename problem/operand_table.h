/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operand_table: the operands of a product, their layout and their size: a row for each address of a launch.
 *
 * A stored row is a run of neighbouring elements: a row of a row-major matrix, a column of a column-major one.
 */
#ifndef TJ_PROBLEM_OPERAND_TABLE_H
#define TJ_PROBLEM_OPERAND_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include <tilejit/problem.h>

#include "canonical.h"

/** A number of rows or elements that derives from an extent of the product: ceil(extent / per) * times. */
typedef struct tj_extent_rule {
    char of;      /* 'j', 'k' or 'l'; 0: the extent is 1 */
    bool is_even; /* per divides the extent */
    int32_t per, times;
} tj_extent_rule;

/** j, k and l of one launch. */
typedef struct tj_extents {
    int64_t j, k, l;
} tj_extents;

enum { TJ_TITLE_BYTES = 24 };

/** One operand of the problem. */
typedef struct tj_operand_row {
    char name[TJ_EPILOGUE_NAME_BYTES]; /* "m", "scale_m", "bias": for messages about its numbers */
    char title[TJ_TITLE_BYTES];        /* "M", "the zero points of M", "bias" */
    bool is_taken;                     /* a launch gives its address, unless the launch reads none of it */
    bool is_written;                   /* P, and outputs of the epilogue */
    bool is_array;                     /* the address is that of an array of pointers, one for each matrix */
    bool is_each_group;                /* one for each group of rows, else one for each product of the batch */
    tj_type type;                      /* of an element */
    tj_extent_rule rows, width;
    int64_t ld, stride; /* in elements; TJ_ANY: given by the launch; TJ_TIGHT: derived from rows and width */
} tj_operand_row;

/** Fill in the table of a canonical problem. */
void tj_operand_table(const tj_problem *problem, tj_operand_row row[TJ_ADDRESSES]);

/** Return the row of one operand. The problem is canonical, or has passed tj_problem_words. */
tj_operand_row tj_operand_row_of(const tj_problem *problem, int which);

/** Return the operand of the transposed product that an operand is. */
static inline int tj_operand_across(int which)
{
    return which < TJ_MATRIX_P                     ? TJ_MATRIX_N - which
           : which >= TJ_SCALES && which < TJ_WITH ? TJ_SCALES + tj_scale_operand_across(which - TJ_SCALES)
                                                   : which;
}

/** Return the number that a rule gives. */
int64_t tj_extent_at(tj_extent_rule rule, const tj_extents *extents);

/** Return the number that a rule gives for a problem, whose extents may be open. */
tj_dim tj_extent_dim(tj_extent_rule rule, const tj_problem *problem);

/** Return the extents of a problem that leaves none open. */
static inline tj_extents tj_extents_of(const tj_problem *problem)
{
    return (tj_extents){problem->j.extent, problem->k.extent, problem->l.extent};
}

/** Return the number of matrices or vectors of an operand, for a launch with `batch` products. */
static inline int64_t tj_operand_copies(const tj_problem *problem, const tj_operand_row *row, int64_t batch)
{
    return row->is_each_group ? tj_group_count(problem) : batch;
}

/** Return the elements of one matrix or vector without padding; 0: none. The problem leaves no extent open. */
int64_t tj_operand_elements(const tj_problem *problem, int which);

/**
 * Return the elements from the first of the first matrix to the last of the last; of one matrix, if there is an array of
 * pointers or all products share it. 0: none; -1: a number is open, or 63 bits do not count the elements. The problem leaves no
 * extent and no batch open.
 */
int64_t tj_operand_span(const tj_problem *problem, const tj_operand_row *row);

/** Return the bytes of an element at its address: a number, or a pointer. */
static inline size_t tj_operand_element_bytes(const tj_operand_row *row)
{
    return row->is_array ? sizeof(void *) : tj_type_bytes(row->type);
}

#endif
