/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number: the element types as the reference sees them: their limits, and how they become float64 and come back.
 */
#ifndef TJ_REFERENCE_NUMBER_H
#define TJ_REFERENCE_NUMBER_H

#include <tilejit/problem.h>

/** What is fixed by a type. long double: float64's own limits must be representable with something to spare. */
typedef struct tj_number_limits {
    long double unit_roundoff;      /* half the distance from 1 to the next number; 0 for integers */
    long double smallest_subnormal; /* the smallest number above 0 */
    long double largest;            /* the largest finite number */
    long double overflow; /* largest + half a unit in its last place: from here on a result is infinite; INFINITY: none is */
    long double least;    /* a type without an infinite result ends here and at largest, whatever the result is */
} tj_number_limits;

/** dtype must be a type. */
const tj_number_limits *tj_number_limits_of(tj_type dtype);

/** What a result becomes in a type without infinity: within its limits. In others, and of a NaN, nothing changes. */
long double tj_saturate(tj_type dtype, long double value);

/** out[i * out_step] = base[first + i * step], exactly. */
void tj_read_numbers(tj_type dtype, const void *base, int64_t first, int64_t step, int64_t count, double *out,
                     int64_t out_step);

/** base[index], exactly. */
double tj_read_number(tj_type dtype, const void *base, int64_t index);

/** base[index] = value, rounded once, ties to even. A NaN becomes the integer 0. */
void tj_write_number(tj_type dtype, void *base, int64_t index, long double value);

#endif
