/* SPDX-License-Identifier: Apache-2.0 */
#include "number.h"

#include <math.h>

const emu_format emu_half = {5, 10, true, false}, emu_bfloat16 = {8, 7, true, false}, emu_e4m3 = {4, 3, false, false},
                 emu_e5m2 = {5, 2, true, false}, emu_tf32 = {8, 10, true, false}, emu_e2m1 = {2, 1, false, true},
                 emu_e2m3 = {2, 3, false, true}, emu_e3m2 = {3, 2, false, true};

double emu_widen(uint32_t bits, const emu_format *f)
{
    const int bias = (1 << (f->exponent - 1)) - 1, top = (1 << f->exponent) - 1;
    const int exponent = (int)(bits >> f->fraction) & top;
    const uint32_t fraction = bits & ((1u << f->fraction) - 1);
    const double sign = bits >> (f->exponent + f->fraction) & 1 ? -1 : 1;

    if (exponent == top && f->has_infinity)
        return fraction ? (double)NAN : sign * (double)INFINITY;
    if (exponent == top && fraction == (1u << f->fraction) - 1 && !f->is_finite)
        return (double)NAN;
    if (exponent == 0)
        return sign * ldexp((double)fraction, 1 - bias - f->fraction);
    return sign * ldexp((double)(fraction | 1u << f->fraction), exponent - bias - f->fraction);
}

uint32_t emu_narrow(double value, const emu_format *f, emu_round round, bool saturates)
{
    const int bias = (1 << (f->exponent - 1)) - 1, top = (1 << f->exponent) - 1;
    const uint32_t sign_bit = 1u << (f->exponent + f->fraction), fraction_mask = (1u << f->fraction) - 1;
    const uint32_t infinity = (uint32_t)top << f->fraction;
    const uint32_t largest = f->has_infinity ? infinity - 1 : f->is_finite ? sign_bit - 1 : infinity | (fraction_mask - 1);
    const uint32_t sign = signbit(value) ? sign_bit : 0;
    const double size = fabs(value);
    uint32_t bits;
    double scaled, whole, rest;
    int exponent;

    if (isnan(value))
        return (sign_bit - 1);
    if (isinf(value))
        return sign | (saturates || !f->has_infinity ? (f->has_infinity || saturates ? largest : sign_bit - 1) : infinity);
    if (size == 0)
        return sign;
    exponent = ilogb(size);
    if (exponent < 1 - bias)
        exponent = 1 - bias;
    scaled = ldexp(size, f->fraction - exponent); /* exact: a power of two */
    whole = floor(scaled);
    rest = scaled - whole;
    switch (round) {
    case ROUND_NEAREST:
        whole += rest > 0.5 || (rest == 0.5 && fmod(whole, 2) == 1);
        break;
    case ROUND_AWAY:
        whole += rest >= 0.5;
        break;
    case ROUND_DOWN:
        whole += sign && rest > 0;
        break;
    case ROUND_UP:
        whole += !sign && rest > 0;
        break;
    default:
        break;
    }
    if (whole >= ldexp(1, f->fraction + 1)) {
        whole /= 2;
        exponent++;
    }
    if (exponent > top) /* out of range: the shift below would overflow */
        bits = UINT32_MAX;
    else if (whole < ldexp(1, f->fraction)) /* subnormal */
        bits = (uint32_t)whole;
    else
        bits = ((uint32_t)(exponent + bias) << f->fraction) + ((uint32_t)whole & fraction_mask);
    if (bits > largest) {
        const bool stays = round == ROUND_ZERO || (round == ROUND_DOWN && !sign) || (round == ROUND_UP && sign);
        if (saturates || stays)
            bits = largest;
        else
            bits = f->has_infinity ? infinity : sign_bit - 1;
    }
    return sign | bits;
}
