/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar: alpha and beta are given as double. Products use them in f32, except products of f64 and of integers with an integer
 * result.
 */
#ifndef TJ_BASE_SCALAR_H
#define TJ_BASE_SCALAR_H

#include <stdbool.h>
#include <stdint.h>

#include <tilejit/status.h>

/** Does it survive conversion to f32, up to rounding? Not if it becomes infinite or 0; an infinity and a NaN do. */
static inline bool tj_scalar_fits(double value)
{
    const float rounded = (float)value;

    return (rounded != 0 || value == 0) && (rounded - rounded == 0 || value - value != 0);
}

/** Are it and its negative whole numbers of 32 bits? */
static inline bool tj_scalar_is_whole(double value)
{
    return value >= -2147483647.0 && value <= 2147483647.0 && value == (double)(int32_t)value;
}

/** Fail with TJ_ERR_INVALID_ARGUMENT, naming the scalar and its value, if it is not whole. */
tj_status tj_scalar_check_whole(const char *name, double value, tj_error *err);

/** Fail with TJ_ERR_INVALID_ARGUMENT, naming the scalar and its value, if it does not fit. name: "alpha". */
tj_status tj_scalar_check(const char *name, double value, tj_error *err);

#endif
