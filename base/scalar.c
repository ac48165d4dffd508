/* SPDX-License-Identifier: Apache-2.0 */
#include "scalar.h"

#include <math.h>

#include "error.h"

tj_status tj_scalar_check(const char *name, double value, tj_error *err)
{
    int exponent, thousandths;

    if (tj_scalar_fits(value))
        return TJ_OK;
    /* By digits: what printf makes of a double depends on the locale. */
    exponent = (int)floor(log10(fabs(value)));
    thousandths = (int)lround(1000 * (fabs(value) / pow(10, exponent)));
    if (thousandths >= 10000) {
        thousandths /= 10;
        exponent++;
    }
    return tj_fail(
        err, TJ_ERR_INVALID_ARGUMENT,
        "%s is %s%d.%03de%d: this product takes it in f32, which holds 1.4e-45 to 3.4e38; scale M, N or C instead, or "
        "compute in f64",
        name, value < 0 ? "-" : "", thousandths / 1000, thousandths % 1000, exponent);
}
