/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar: alpha and beta are given as double and used in f32 by all products but those of f64.
 */
#ifndef TJ_BASE_SCALAR_H
#define TJ_BASE_SCALAR_H

#include <stdbool.h>

#include <tilejit/status.h>

/** Does it stay what it is in f32, but for rounding? Not if it becomes infinite or 0; an infinity and a NaN do. */
static inline bool tj_scalar_fits(double value)
{
    const float rounded = (float)value;

    return (rounded != 0 || value == 0) && (rounded - rounded == 0 || value - value != 0);
}

/** If it does not, TJ_ERR_INVALID_ARGUMENT that names it and its value. name: "alpha". */
tj_status tj_scalar_check(const char *name, double value, tj_error *err);

#endif
