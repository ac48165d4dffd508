/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checked: arithmetic on sizes that reports overflow.
 */
#ifndef TJ_BASE_CHECKED_H
#define TJ_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

/** *product = a * b; false if it does not fit. */
static inline bool tj_mul(int64_t a, int64_t b, int64_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

/** *sum = a + b; false if it does not fit. */
static inline bool tj_add(int64_t a, int64_t b, int64_t *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}

/** ceil(a / b) for a >= 0, b > 0. */
static inline int64_t tj_ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

static inline bool tj_is_power_of_2(int32_t number)
{
    return number > 0 && (number & (number - 1)) == 0;
}

/** Return the greatest number that divides both; if one is 0, the other. a, b >= 0. */
static inline int32_t tj_greatest_divisor(int32_t a, int32_t b)
{
    while (b > 0) {
        const int32_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

static inline int32_t tj_least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

#endif
