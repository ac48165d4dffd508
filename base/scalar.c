/* SPDX-License-Identifier: Apache-2.0 */
#include "scalar.h"

#include <math.h>
#include <stdio.h>

#include "error.h"

enum { SCALAR_BYTES = 24 };

/* Print digit by digit: printf of a double depends on the locale. */
static const char *print(double value, char text[SCALAR_BYTES])
{
    const char *sign = value < 0 ? "-" : "";
    int exponent, thousandths;

    if (value == 0 || !isfinite(value)) {
        (void)snprintf(text, SCALAR_BYTES, "%s%s", sign, value == 0 ? "0" : isnan(value) ? "NaN" : "infinity");
        return text;
    }
    exponent = (int)floor(log10(fabs(value)));
    thousandths = (int)lround(1000 * (fabs(value) / pow(10, exponent)));
    if (thousandths >= 10000) {
        thousandths /= 10;
        exponent++;
    }
    (void)snprintf(text, SCALAR_BYTES, "%s%d.%03de%d", sign, thousandths / 1000, thousandths % 1000, exponent);
    return text;
}

tj_status tj_scalar_check(const char *name, double value, tj_error *err)
{
    char text[SCALAR_BYTES];

    if (tj_scalar_fits(value))
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "%s is %s: this product takes it in f32, which holds 1.4e-45 to 3.4e38; scale M, N or C instead, or "
                   "compute in f64",
                   name, print(value, text));
}

tj_status tj_scalar_check_whole(const char *name, double value, tj_error *err)
{
    char text[SCALAR_BYTES];

    if (tj_scalar_is_whole(value))
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "%s is %s: this product is one of integers, which takes a whole number from -2147483647 to 2147483647; use "
                   "a P of f32, or a scale",
                   name, print(value, text));
}
