/* SPDX-License-Identifier: Apache-2.0 */
#include "element.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include <tilejit/problem.h>

#include "cublas.h"

int blas_element_type(int id)
{
    static const int type[] = {
        [BLAS_R_32F] = TJ_F32,      [BLAS_R_64F] = TJ_F64,     [BLAS_R_16F] = TJ_F16,  [BLAS_R_8I] = TJ_S8,
        [BLAS_R_32I] = TJ_S32,      [BLAS_C_32F] = TJ_C64,     [BLAS_C_64F] = TJ_C128, [BLAS_R_16BF] = TJ_BF16,
        [BLAS_R_8F_E4M3] = TJ_E4M3, [BLAS_R_8F_E5M2] = TJ_E5M2};

    return id >= 0 && id < (int)(sizeof type / sizeof type[0]) ? type[id] : 0;
}

static double half_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                        : exponent > 0 ? ldexp(1024 + fraction, exponent - 25)
                                       : ldexp(fraction, -24);

    return bits >> 15 ? -size : size;
}

bool blas_element_is_complex(int id)
{
    return id == BLAS_C_32F || id == BLAS_C_64F;
}

blas_number blas_element_read(int type, const void *scalar)
{
    union {
        double f64[2];
        float f32[2];
        int32_t s32;
        uint16_t f16;
    } value;

    switch (type) {
    case BLAS_C_64F:
        memcpy(value.f64, scalar, sizeof value.f64);
        return (blas_number){value.f64[0], value.f64[1]};
    case BLAS_C_32F:
        memcpy(value.f32, scalar, sizeof value.f32);
        return (blas_number){(double)value.f32[0], (double)value.f32[1]};
    case BLAS_R_64F:
        memcpy(value.f64, scalar, sizeof value.f64[0]);
        return (blas_number){value.f64[0], 0};
    case BLAS_R_32I:
        memcpy(&value.s32, scalar, sizeof value.s32);
        return (blas_number){value.s32, 0};
    case BLAS_R_16F:
        memcpy(&value.f16, scalar, sizeof value.f16);
        return (blas_number){half_value(value.f16), 0};
    default:
        memcpy(value.f32, scalar, sizeof value.f32[0]);
        return (blas_number){(double)value.f32[0], 0};
    }
}
