/* SPDX-License-Identifier: Apache-2.0 */
#include "access.h"

/*
 * Is every value this number can take a multiple? A tight one derives from a width that is an argument. Of pointers it is the
 * promise of 16 bytes, the widest access there is.
 */
static bool number_is_multiple(int64_t value, int64_t width_multiple, int32_t of)
{
    if (value == TJ_ANY || value == TJ_POINTERS)
        return false;
    if (value == TJ_TIGHT)
        return width_multiple % of == 0;
    return value == TJ_BROADCAST || value == TJ_POINTERS_16 || value % of == 0;
}

int32_t tj_access_widest(const tj_problem *view, const tj_dim *width, int64_t ld, int64_t stride, int32_t limit)
{
    const int64_t multiple = width->mode == TJ_DIM_FIXED ? width->extent : width->multiple_of > 1 ? width->multiple_of : 1;
    int32_t elements = limit;

    while (elements > 1 &&
           (multiple % elements != 0 || !number_is_multiple(ld, multiple, elements) ||
            ((view->batch != 1 || tj_stride_is_pointers(stride)) && !number_is_multiple(stride, multiple, elements))))
        elements /= 2;
    return elements;
}
