/* SPDX-License-Identifier: Apache-2.0 */
#include "access.h"

static int64_t multiple_of(tj_dim dim)
{
    return dim.mode == TJ_DIM_FIXED ? dim.extent : dim.multiple_of > 1 ? dim.multiple_of : 1;
}

/*
 * Is every value of this number a multiple of `of`? A tight number derives from a width, which may be an argument. An array of
 * pointers promises 16 bytes, the widest access.
 */
static bool number_is_multiple(int64_t value, int64_t width_multiple, int32_t of)
{
    if (value == TJ_ANY || value == TJ_POINTERS)
        return false;
    if (value == TJ_TIGHT)
        return width_multiple % of == 0;
    return value == TJ_BROADCAST || value == TJ_POINTERS_16 || value % of == 0;
}

/* Does a line lie along a k of which groups may begin at any element? */
static bool begins_anywhere(const tj_problem *view, tj_which which)
{
    return tj_divides_k(view) && ((which == TJ_MATRIX_M && view->m.layout == TJ_ROW_MAJOR) ||
                                  (which == TJ_MATRIX_N && view->n.layout == TJ_COL_MAJOR));
}

bool tj_access_lines_are_multiples(const tj_problem *view, tj_which which, int32_t elements)
{
    const tj_matrix *const x = tj_problem_matrix(view, which);
    const int64_t multiple = multiple_of(tj_problem_lines(view, which).width);
    const bool has_stride = tj_matrix_count(view, which) != 1 || tj_stride_is_pointers(x->stride);

    return number_is_multiple(x->ld, multiple, elements) && (!has_stride || number_is_multiple(x->stride, multiple, elements));
}

bool tj_access_lines_begin_at(const tj_problem *view, tj_which which, int32_t elements)
{
    return begins_anywhere(view, which) ? elements == 1 : tj_access_lines_are_multiples(view, which, elements);
}

int32_t tj_access_widest(const tj_problem *view, tj_which which, int32_t limit)
{
    const int64_t multiple = multiple_of(tj_problem_lines(view, which).width);
    int32_t elements = limit;

    while (elements > 1 && (multiple % elements != 0 || !tj_access_lines_begin_at(view, which, elements)))
        elements /= 2;
    return elements;
}

bool tj_access_fits_output(const tj_problem *view, int32_t elements)
{
    if (tj_is_symmetric(view))
        return elements == 1; /* neighbours of a row may lie on both sides of the diagonal */
    return tj_access_widest(view, TJ_MATRIX_P, elements) == elements &&
           (!view->epilogue.has_beta || tj_access_widest(view, TJ_MATRIX_C, elements) == elements);
}

bool tj_access_fits_workspace(const tj_problem *view, int32_t elements)
{
    return multiple_of(view->p.layout == TJ_ROW_MAJOR ? view->l : view->j) % elements == 0;
}

int32_t tj_access_sums(const tj_problem *view, int32_t splits)
{
    return splits <= 1 ? tj_sums_per_column(view) : 1;
}
