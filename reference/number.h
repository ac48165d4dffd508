/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number: the element types in the reference: their limits, and conversions to and from float64.
 */
#ifndef TJ_REFERENCE_NUMBER_H
#define TJ_REFERENCE_NUMBER_H

#include <tilejit/problem.h>

/** Constants of a type, in long double so that float64's own limits have some margin. */
typedef struct tj_number_limits {
    long double unit_roundoff;      /* half the distance from 1 to the next number; 0 for integers */
    long double smallest_subnormal; /* the smallest number above 0 */
    long double largest;            /* the largest finite number */
    long double overflow; /* largest + half a unit in its last place, where infinity begins; INFINITY: there is none */
    long double least;    /* lower limit of a type without infinity, as largest is its upper */
} tj_number_limits;

/** Return the constants of a type. dtype must be valid. */
const tj_number_limits *tj_number_limits_of(tj_type dtype);

/** Clamp a result to the limits of a type without infinity. Other types, and NaN, are unchanged. */
long double tj_saturate(tj_type dtype, long double value);

/** Read out[i * out_step] = base[first + i * step], exactly. */
void tj_read_numbers(tj_type dtype, const void *base, int64_t first, int64_t step, int64_t count, double *out,
                     int64_t out_step);

/** Return base[index], exactly. */
double tj_read_number(tj_type dtype, const void *base, int64_t index);

/** Set base[index] = value, rounded once, ties to even. A NaN becomes the integer 0. */
void tj_write_number(tj_type dtype, void *base, int64_t index, long double value);

#endif
