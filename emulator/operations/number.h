/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number: floating-point values by their bits, as devices treat them.
 *
 * NaN results are canonical: 0x7fffffff in f32, 0x7fff in f16 and bf16. .ftz makes subnormal inputs and results zero of their sign.
 */
#ifndef EMU_NUMBER_H
#define EMU_NUMBER_H

#include <fenv.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline float emu_f32(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, 4);
    return value;
}

static inline uint32_t emu_f32_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, 4);
    return bits;
}

static inline double emu_f64(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, 8);
    return value;
}

static inline uint64_t emu_f64_bits(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, 8);
    return bits;
}

static inline float emu_flush(float value)
{
    const uint32_t bits = emu_f32_bits(value);

    return (bits & 0x7f800000u) == 0 ? emu_f32(bits & 0x80000000u) : value;
}

static inline float emu_canonical(float value)
{
    return value == value ? value : emu_f32(0x7fffffffu);
}

/* Clamp to 0..1; NaN becomes 0. */
static inline float emu_saturate(float value)
{
    return value > 0 ? value < 1 ? value : 1 : 0;
}

typedef enum emu_round { ROUND_NEAREST, ROUND_ZERO, ROUND_DOWN, ROUND_UP, ROUND_AWAY } emu_round;

/** Return the mode of <fenv.h>. */
static inline int emu_fenv(emu_round round)
{
    return round == ROUND_ZERO   ? FE_TOWARDZERO
           : round == ROUND_DOWN ? FE_DOWNWARD
           : round == ROUND_UP   ? FE_UPWARD
                                 : FE_TONEAREST;
}

/** A narrow format: bits of exponent and of fraction; f16 is 5 and 10, bf16 8 and 7, e4m3 4 and 3, e5m2 5 and 2, tf32 8 and 10. */
typedef struct emu_format {
    int exponent, fraction;
    bool has_infinity; /* e4m3 has none, and only one NaN */
    bool is_finite;    /* 4-bit and 6-bit formats have neither: NaN becomes the largest number */
} emu_format;

extern const emu_format emu_half, emu_bfloat16, emu_e4m3, emu_e5m2, emu_tf32, emu_e2m1, emu_e2m3, emu_e3m2;

/** Return the value exactly. */
double emu_widen(uint32_t bits, const emu_format *format);

/**
 * Round to the nearest, or as `round` says. saturates: a value above the largest becomes the largest, not infinity. NaN becomes
 * the canonical one.
 */
uint32_t emu_narrow(double value, const emu_format *format, emu_round round, bool saturates);

#endif
