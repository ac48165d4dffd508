/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symmetric: products of which one triangle is computed (tj_symmetric), as the problem and as its transpose.
 */
#ifndef TJ_PROBLEM_SYMMETRIC_H
#define TJ_PROBLEM_SYMMETRIC_H

#include <stdbool.h>
#include <string.h>

#include <tilejit/problem.h>

/** Transposed, a product of both triangles computes the upper one. A caller cannot ask for it: tj_problem_check refuses it. */
enum { TJ_SYMMETRIC_BOTH_BY_UPPER = TJ_HERMITIAN_UPPER + 1, TJ_HERMITIAN_BOTH_BY_UPPER };

/** Is only one triangle of P computed? */
static inline bool tj_is_symmetric(const tj_problem *problem)
{
    return problem->symmetric != TJ_SYMMETRIC_NOT;
}

/** Is it the upper one? */
static inline bool tj_computes_upper(const tj_problem *problem)
{
    return problem->symmetric == TJ_SYMMETRIC_UPPER || problem->symmetric == TJ_HERMITIAN_UPPER ||
           problem->symmetric >= TJ_SYMMETRIC_BOTH_BY_UPPER;
}

/** Is an element the conjugate of its mirror image, so that the diagonal is real? */
static inline bool tj_is_hermitian(const tj_problem *problem)
{
    return problem->symmetric >= TJ_HERMITIAN_BOTH && problem->symmetric != TJ_SYMMETRIC_BOTH_BY_UPPER;
}

/** Is each element stored twice, so that all of P is written? */
static inline bool tj_stores_twice(const tj_problem *problem)
{
    return problem->symmetric == TJ_SYMMETRIC_BOTH || problem->symmetric == TJ_HERMITIAN_BOTH ||
           problem->symmetric >= TJ_SYMMETRIC_BOTH_BY_UPPER;
}

/** Is an element of the product computed? */
static inline bool tj_computes(const tj_problem *problem, int64_t row, int64_t col)
{
    return !tj_is_symmetric(problem) || (tj_computes_upper(problem) ? row <= col : col <= row);
}

/** Elements of a stored row of P: from `begin` on and before `end`. */
typedef struct tj_row_part {
    int64_t begin, end;
} tj_row_part;

/** Return the elements of a stored row (column) of P that are computed. Canonical; width: of all of the row. */
static inline tj_row_part tj_computed_part(const tj_problem *problem, int64_t row, int64_t width)
{
    if (!tj_is_symmetric(problem))
        return (tj_row_part){0, width};
    return tj_computes_upper(problem) == (problem->p.layout == TJ_ROW_MAJOR) ? (tj_row_part){row, width}
                                                                             : (tj_row_part){0, row + 1};
}

/** Return the elements of it that are written. */
static inline tj_row_part tj_written_part(const tj_problem *problem, int64_t row, int64_t width)
{
    return tj_stores_twice(problem) ? (tj_row_part){0, width} : tj_computed_part(problem, row, width);
}

/**
 * Has a stored element the bits of its mirror image? is_conjugate: but for the sign of the last float, which is that of the imaginary
 * part. size: of each, in bytes, the lowest of a float first.
 */
static inline bool tj_is_image(const void *element, const void *image, size_t size, bool is_conjugate)
{
    const unsigned char *const a = (const unsigned char *)element, *const b = (const unsigned char *)image;

    return memcmp(a, b, size - 1) == 0 && (a[size - 1] ^ b[size - 1]) == (is_conjugate ? 0x80 : 0);
}

/** Return the member of the transposed problem. */
int8_t tj_symmetric_across(int8_t symmetric);

/** Can the problem be symmetric, if it says so? Types and layouts are spelled out. The message names the first defect. */
tj_status tj_symmetric_check(const tj_problem *words, tj_error *err);

/** Check the extents of a launch: TJ_ERR_INVALID_ARGUMENT unless P is square. */
tj_status tj_symmetric_check_extents(const tj_problem *problem, int64_t j, int64_t l, tj_error *err);

#endif
