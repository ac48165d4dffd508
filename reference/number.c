/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number: floats of 16, 8 and 4 bits in plain integer arithmetic, so that the reference needs neither a compiler's half type nor
 * special instructions, and rounds the same everywhere.
 *
 * All are narrow float64: one sign bit, a biased exponent, a fraction.
 *
 *              exponent bits   bias   fraction bits
 *     f16            5           15        10
 *     bf16           8          127         7
 *     e4m3           4            7         3     no infinity: its exponent holds numbers, but for one NaN
 *     e5m2           5           15         2
 *     e2m1           2            1         1     neither infinity nor NaN
 *     float64       11         1023        52
 *
 * A NaN stays a NaN of the same sign with the upper bits of its payload, and becomes quiet when it is rounded; in 8 bits it
 * becomes 0x7f, and in 4 bits 6. Types of 8 and 4 bits never round to infinity: a value that is too large, even infinity,
 * becomes the largest number.
 *
 * e8m0 has an exponent alone: neither sign, zero nor fraction. Halfway between two powers of 2 the even exponent is taken, zero
 * becomes the least power, and a negative number a NaN.
 */
#include "number.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include <tilejit/reference.h>

#include "canonical.h"

enum { E8M0_BIAS = 127, E8M0_NAN = 255 };

typedef struct narrow_format {
    int bias, fraction_bits;
    int most_exponent; /* of a number */
} narrow_format;

static const narrow_format formats[] = {
    [TJ_F16] = {15, 10, 15}, [TJ_BF16] = {127, 7, 127}, [TJ_E4M3] = {7, 3, 8}, [TJ_E5M2] = {15, 2, 15}, [TJ_E2M1] = {1, 1, 2}};

static const tj_number_limits limits[] = {
    [TJ_F32] = {0x1p-24L, 0x1p-149L, 0x1p128L - 0x1p104L, 0x1p128L - 0x1p103L, -INFINITY},
    [TJ_F64] = {0x1p-53L, 0x1p-1074L, 0x1p1024L - 0x1p971L, 0x1p1024L - 0x1p970L, -INFINITY},
    [TJ_F16] = {0x1p-11L, 0x1p-24L, 65504.0L, 65520.0L, -INFINITY},
    [TJ_BF16] = {0x1p-8L, 0x1p-133L, 0x1p128L - 0x1p120L, 0x1p128L - 0x1p119L, -INFINITY},
    [TJ_E4M3] = {0x1p-4L, 0x1p-9L, 448.0L, INFINITY, -448.0L},
    [TJ_E5M2] = {0x1p-3L, 0x1p-16L, 57344.0L, INFINITY, -57344.0L},
    [TJ_S8] = {0.0L, 1.0L, INT8_MAX, INFINITY, INT8_MIN},
    [TJ_U8] = {0.0L, 1.0L, UINT8_MAX, INFINITY, 0.0L},
    [TJ_S32] = {0.0L, 1.0L, INT32_MAX, INFINITY, INT32_MIN},
    [TJ_S4] = {0.0L, 1.0L, 7.0L, INFINITY, -8.0L},
    [TJ_E2M1] = {0x1p-2L, 0x1p-1L, 6.0L, INFINITY, -6.0L},
    [TJ_U4] = {0.0L, 1.0L, 15.0L, INFINITY, 0.0L},
    [TJ_E8M0] = {0x1p-1L, 0x1p-127L, 0x1p127L, INFINITY, 0x1p-127L},
    /* For each part. */
    [TJ_C64] = {0x1p-24L, 0x1p-149L, 0x1p128L - 0x1p104L, 0x1p128L - 0x1p103L, -INFINITY},
    [TJ_C128] = {0x1p-53L, 0x1p-1074L, 0x1p1024L - 0x1p971L, 0x1p1024L - 0x1p970L, -INFINITY},
};

const tj_number_limits *tj_number_limits_of(tj_type dtype)
{
    return &limits[dtype];
}

static double double_from_bits(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline double widen(uint16_t narrow, narrow_format format)
{
    const int bits = format.fraction_bits;
    const uint64_t sign = (uint64_t)(narrow >> 15) << 63;
    const uint64_t fraction = narrow & ((1u << bits) - 1);
    const int exponent = (narrow & 0x7fff) >> bits;

    if (exponent == 0) {
        const double magnitude = (double)fraction * double_from_bits((uint64_t)(1024 - format.bias - bits) << 52);

        return sign ? -magnitude : magnitude;
    }
    if (exponent - format.bias > format.most_exponent ||
        (format.most_exponent > format.bias && (narrow & 0x7fff) == 0x7f)) /* the one NaN of e4m3 */
        return double_from_bits(sign | 0x7ffull << 52 | fraction << (52 - bits));
    return double_from_bits(sign | (uint64_t)(exponent - format.bias + 1023) << 52 | fraction << (52 - bits));
}

static inline uint16_t narrow_from_double(double value, narrow_format format)
{
    const int bits = format.fraction_bits;
    const uint16_t infinity = (uint16_t)((2 * format.bias + 1) << bits);
    uint64_t wide, significand, quotient, rest, half;
    uint16_t sign;
    int exponent, shift;

    memcpy(&wide, &value, sizeof wide);
    sign = (uint16_t)(wide >> 63 << 15);
    exponent = (int)(wide >> 52 & 0x7ff) - 1023;
    significand = wide & ((1ull << 52) - 1);
    if (exponent == 1024 && significand != 0)
        return (uint16_t)(sign | infinity | 1u << (bits - 1) | significand >> (52 - bits));
    if (exponent > format.most_exponent)
        return sign | infinity;

    /* Below the smallest normal number the last place stays fixed: shift out more bits. */
    significand |= 1ull << 52;
    shift = 52 - bits;
    if (exponent < 1 - format.bias)
        shift += 1 - format.bias - exponent;
    if (shift > 53)
        return sign; /* less than half the smallest subnormal number */
    quotient = significand >> shift;
    rest = significand & ((1ull << shift) - 1);
    half = 1ull << (shift - 1);
    quotient += (rest > half) | ((rest == half) & quotient & 1); /* no branch: random numbers defeat prediction */

    /* A carry out of the fraction into the exponent is rounding up to the next binade, or to infinity. */
    if (exponent >= 1 - format.bias)
        quotient += (uint64_t)(exponent + format.bias - 1) << bits;
    return (uint16_t)(sign | quotient);
}

/* Return the bits of one of the numbers that lie two in a byte: the even index has the lower half. */
static inline unsigned read_half(const void *base, int64_t index)
{
    return (unsigned)((const uint8_t *)base)[index / 2] >> (index % 2 * 4) & 0xf;
}

static inline void write_half(void *base, int64_t index, unsigned bits)
{
    uint8_t *const pair = (uint8_t *)base + index / 2;

    *pair = (uint8_t)(index % 2 ? (*pair & 0x0f) | bits << 4 : (*pair & 0xf0) | bits);
}

void tj_read_numbers(tj_type dtype, const void *base, int64_t first, int64_t step, int64_t count, double *out, int64_t out_step)
{
    switch (dtype) {
    case TJ_F32: {
        const float *in = (const float *)base + first;

        for (int64_t i = 0; i < count; i++)
            out[i * out_step] = (double)in[i * step];
        break;
    }
    case TJ_F64: {
        const double *in = (const double *)base + first;

        for (int64_t i = 0; i < count; i++)
            out[i * out_step] = in[i * step];
        break;
    }
    case TJ_F16:
    case TJ_BF16: {
        const uint16_t *in = (const uint16_t *)base + first;
        const narrow_format format = formats[dtype];

        for (int64_t i = 0; i < count; i++)
            out[i * out_step] = widen(in[i * step], format);
        break;
    }
    case TJ_E4M3:
    case TJ_E5M2: {
        const uint8_t *in = (const uint8_t *)base + first;
        const narrow_format format = formats[dtype];

        for (int64_t i = 0; i < count; i++) /* move the sign to the top of 16 bits */
            out[i * out_step] = widen((uint16_t)((in[i * step] & 0x80) << 8 | (in[i * step] & 0x7f)), format);
        break;
    }
    case TJ_S8: {
        const int8_t *in = (const int8_t *)base + first;

        for (int64_t i = 0; i < count; i++)
            out[i * out_step] = in[i * step];
        break;
    }
    case TJ_U8: {
        const uint8_t *in = (const uint8_t *)base + first;

        for (int64_t i = 0; i < count; i++)
            out[i * out_step] = in[i * step];
        break;
    }
    case TJ_S4:
        for (int64_t i = 0; i < count; i++)
            out[i * out_step] = (int)(read_half(base, first + i * step) ^ 8) - 8;
        break;
    case TJ_U4:
        for (int64_t i = 0; i < count; i++)
            out[i * out_step] = read_half(base, first + i * step);
        break;
    case TJ_E2M1:
        for (int64_t i = 0; i < count; i++) { /* move the sign to the top of 16 bits */
            const unsigned bits = read_half(base, first + i * step);

            out[i * out_step] = widen((uint16_t)((bits & 8) << 12 | (bits & 7)), formats[dtype]);
        }
        break;
    case TJ_E8M0: {
        const uint8_t *in = (const uint8_t *)base + first;

        for (int64_t i = 0; i < count; i++)
            out[i * out_step] = in[i * step] == E8M0_NAN ? (double)NAN : ldexp(1.0, in[i * step] - E8M0_BIAS);
        break;
    }
    case TJ_S32: {
        const int32_t *in = (const int32_t *)base + first;

        for (int64_t i = 0; i < count; i++)
            out[i * out_step] = in[i * step];
        break;
    }
    case TJ_C64:
    case TJ_C128: /* the real parts */
        tj_read_numbers(tj_part_type((int32_t)dtype), base, 2 * first, 2 * step, count, out, out_step);
        break;
    case TJ_TYPE_DEFAULT:
        break;
    }
}

double tj_read_number(tj_type dtype, const void *base, int64_t index)
{
    double value = NAN;

    tj_read_numbers(dtype, base, index, 1, 1, &value, 1);
    return value;
}

/*
 * Convert long double to double so that a second rounding, to a narrower type, gives the same as one rounding would: round to
 * odd. An inexact result takes the neighbour whose last bit is set, and so is never mistaken for a tie.
 */
static double round_to_odd(long double value)
{
    const double nearest = (double)value;
    uint64_t bits;

    if (!isfinite(nearest) || (long double)nearest == value)
        return nearest;
    memcpy(&bits, &nearest, sizeof bits);
    if (bits & 1)
        return nearest;
    return nextafter(nearest, (long double)nearest < value ? INFINITY : -INFINITY);
}

long double tj_saturate(tj_type dtype, long double value)
{
    const tj_number_limits *l = &limits[dtype];

    return isfinite(l->overflow) || isnan(value) ? value
           : value > l->largest                  ? l->largest
           : value < l->least                    ? l->least
                                                 : value;
}

/* Return the exponent to which a number is rounded. Of 1 + fraction, the fraction decides: up from 1/2 on, or after it if even. */
static uint8_t exponent_from_double(double value)
{
    const double least = ldexp(1.0, -E8M0_BIAS);
    int exponent;

    if (isnan(value) || value < 0)
        return E8M0_NAN;
    const double fraction = frexp((double)tj_saturate(TJ_E8M0, fmax(value, least)), &exponent); /* from 1/2 on, below 1 */
    const int floor = exponent - 1 + E8M0_BIAS;

    return (uint8_t)(floor + (fraction > 0.75 || (fraction == 0.75 && floor % 2 == 1)));
}

/* Write a float narrower than f32. */
static inline void write_narrow(tj_type dtype, void *base, int64_t index, double value)
{
    if (dtype == TJ_F16 || dtype == TJ_BF16) {
        ((uint16_t *)base)[index] = narrow_from_double(value, formats[dtype]);
    } else if (dtype == TJ_E8M0) {
        ((uint8_t *)base)[index] = exponent_from_double(value);
    } else if (dtype == TJ_E2M1) {
        const double finite = isnan(value) ? 6.0 : (double)tj_saturate(dtype, value); /* as the instruction of sm_100 */
        const uint16_t narrow = narrow_from_double(finite, formats[dtype]);

        write_half(base, index, (unsigned)(narrow >> 12 | narrow) & 0xf);
    } else {
        const uint16_t narrow = narrow_from_double((double)tj_saturate(dtype, value), formats[dtype]);

        ((uint8_t *)base)[index] = isnan(value) ? 0x7f : (uint8_t)(narrow >> 8 | narrow);
    }
}

static inline void write_integer(tj_type dtype, void *base, int64_t index, long double value)
{
    const int64_t whole = isnan(value) ? 0 : (int64_t)tj_saturate(dtype, nearbyintl(value));

    if (dtype == TJ_S32)
        ((int32_t *)base)[index] = (int32_t)whole;
    else if (tj_type_is_pair((int32_t)dtype))
        write_half(base, index, (unsigned)whole & 0xf);
    else
        ((uint8_t *)base)[index] = (uint8_t)whole; /* signed and unsigned */
}

void tj_write_number(tj_type dtype, void *base, int64_t index, long double value)
{
    if (dtype == TJ_F32)
        ((float *)base)[index] = (float)value;
    else if (dtype == TJ_F64)
        ((double *)base)[index] = (double)value;
    else if (tj_type_is_complex((int32_t)dtype))
        for (int part = 0; part < 2; part++)
            tj_write_number(tj_part_type((int32_t)dtype), base, 2 * index + part, part == 0 ? value : 0.0L);
    else if (tj_type_get_facts(dtype)->is_integer)
        write_integer(dtype, base, index, value);
    else
        write_narrow(dtype, base, index, round_to_odd(value));
}

/* ---- public ------------------------------------------------------------------------------------------------------- */

void tj_convert(tj_type to, void *destination, tj_type from, const void *source, size_t count)
{
    if (count == 0 || !destination || !source || !tj_type_get_facts(to) || !tj_type_get_facts(from))
        return;
    if (to == from && tj_type_is_pair((int32_t)to))
        for (size_t i = 0; i < count; i++)
            write_half(destination, (int64_t)i, read_half(source, (int64_t)i));
    else if (to == from)
        memcpy(destination, source, count * tj_type_bytes(to));
    else if (tj_type_is_complex((int32_t)to) && tj_type_is_complex((int32_t)from))
        tj_convert(tj_part_type((int32_t)to), destination, tj_part_type((int32_t)from), source, 2 * count);
    else if (to == TJ_F64) /* exact, and by far the most frequent */
        tj_read_numbers(from, source, 0, 1, (int64_t)count, destination, 1);
    else
        for (size_t i = 0; i < count; i++)
            tj_write_number(to, destination, (int64_t)i, (long double)tj_read_number(from, source, (int64_t)i));
}

/* splitmix64: Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators, 2014. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/*
 * 53 random bits, centred: odd multiples of 2^-53 in (-1, 1), each exactly a double, and never 0 before rounding to the type.
 */
static inline double next_uniform(uint64_t *state)
{
    const int64_t odd = (int64_t)(next_random(state) >> 11) * 2 + 1 - (1ll << 53);

    return (double)odd * 0x1p-53;
}

void tj_fill_random(tj_type dtype, void *destination, size_t count, uint64_t seed)
{
    if (!tj_type_get_facts(dtype) || (!destination && count > 0))
        return;
    uint64_t state = seed;

    if (tj_type_is_complex((int32_t)dtype))
        tj_fill_random(tj_part_type((int32_t)dtype), destination, 2 * count, seed);
    else if (dtype == TJ_F32)
        for (size_t i = 0; i < count; i++)
            ((float *)destination)[i] = (float)next_uniform(&state);
    else if (dtype == TJ_F64)
        for (size_t i = 0; i < count; i++)
            ((double *)destination)[i] = next_uniform(&state);
    else if (dtype == TJ_S32)
        for (size_t i = 0; i < count; i++)
            ((int32_t *)destination)[i] = (int32_t)(next_random(&state) >> 47) - (1 << 16);
    else if (dtype == TJ_E8M0)
        for (size_t i = 0; i < count; i++)
            ((uint8_t *)destination)[i] = (uint8_t)(E8M0_BIAS - 4 + (next_random(&state) >> 61));
    else if (tj_type_is_int8((int32_t)dtype) || tj_type_is_pair((int32_t)dtype))
        for (size_t i = 0; i < count; i++)
            ((uint8_t *)destination)[i] = (uint8_t)(next_random(&state) >> 56);
    else
        for (size_t i = 0; i < count; i++)
            write_narrow(dtype, destination, (int64_t)i, next_uniform(&state));
}
