/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scales: the forms of scales that tests give M and N.
 */
#ifndef TJ_TESTS_SCALES_H
#define TJ_TESTS_SCALES_H

#include <tilejit/problem.h>

/* Initialisers: in an assignment, write (tj_scale)SCALE_EACH. */
#define NO_SCALE TJ_SCALE_INIT(0, 0, 0)
#define ONE_SCALE TJ_SCALE_INIT(TJ_F32, 0, 0)
#define SCALE_EACH TJ_SCALE_INIT(TJ_F32, 1, 0)
#define SCALE_ALONG_K(k) TJ_SCALE_INIT(TJ_F32, 1, (k))
#define SCALES_OF(type_, layout_, rows_, k_)                             \
    {                                                                    \
        .type = (type_), .layout = (layout_), .rows = (rows_), .k = (k_) \
    }
#define BY_ROW(rows_, k_) SCALES_OF(TJ_F32, TJ_SCALES_ROW_BY_ROW, rows_, k_)
#define BY_PART(rows_, k_) SCALES_OF(TJ_F32, TJ_SCALES_PART_BY_PART, rows_, k_)

/** Return one form after the other: none, one, each. */
static inline tj_scale nth_scale(int64_t n)
{
    static const tj_scale form[] = {NO_SCALE, ONE_SCALE, SCALE_EACH};

    return form[n % 3];
}

/** Return the number of a form: 0: none; 1: one; 2: each; 3: along k. */
static inline int scale_form(const tj_scale *scale)
{
    return scale->type == 0 ? 0 : scale->k > 0 ? 3 : scale->rows > 0 ? 2 : 1;
}

#endif
