/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar: alpha and beta are given as double. All products use them in f32 but those of f64, and those of integers that stay integers.
 */
#ifndef TJ_BASE_SCALAR_H
#define TJ_BASE_SCALAR_H

#include <stdbool.h>
#include <stdint.h>

#include <tilejit/status.h>

/** Does it stay what it is in f32, but for rounding? Not if it becomes infinite or 0; an infinity and a NaN do. */
static inline bool tj_scalar_fits(double value)
{
    const float rounded = (float)value;

    return (rounded != 0 || value == 0) && (rounded - rounded == 0 || value - value != 0);
}

/** Is it a whole number of 32 bits, and so is its negative? */
static inline bool tj_scalar_is_whole(double value)
{
    return value >= -2147483647.0 && value <= 2147483647.0 && value == (double)(int32_t)value;
}

/** If it is not, TJ_ERR_INVALID_ARGUMENT that names it and its value. */
tj_status tj_scalar_check_whole(const char *name, double value, tj_error *err);

/** If it does not fit, TJ_ERR_INVALID_ARGUMENT that names it and its value. name: "alpha". */
tj_status tj_scalar_check(const char *name, double value, tj_error *err);

#endif
