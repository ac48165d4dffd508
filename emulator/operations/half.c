/* SPDX-License-Identifier: Apache-2.0 */
/*
 * half: f16, bf16 and pairs of them.
 *
 * Every operation is exact in double, or rounded to odd there, and then rounded once to the narrow type.
 */
#include <math.h>

#include "compare.h"
#include "number.h"

typedef enum operation { ADD, SUB, MUL, FMA, MIN, MAX, NEG, ABS, EX2, TANH } operation;

/* Compute a * b + c, rounded to odd if inexact, so that a second rounding is correct. */
static double fma_odd(double a, double b, double c)
{
    const double product = a * b, sum = product + c, part = sum - product;
    const double error = (product - (sum - part)) + (c - part);
    uint64_t bits = emu_f64_bits(sum);

    if (error != 0 && isfinite(sum) && (bits & 1) == 0)
        bits += (error > 0) == (sum > 0) ? 1 : UINT64_MAX;
    return emu_f64(bits);
}

static const emu_format *format_of(emu_type type)
{
    return type == T_F16 || type == T_F16X2 ? &emu_half : &emu_bfloat16;
}

static bool is_pair(emu_type type)
{
    return type == T_F16X2 || type == T_BF16X2;
}

/* Modifiers by name: forms order them differently. */
typedef struct modes {
    bool flushes, saturates, clips, nan, xorsign; /* ftz sat relu NaN xorsign.abs */
} modes;

static uint32_t flush(uint32_t bits, const emu_format *f)
{
    const uint32_t sign = bits & 0x8000u;

    return (bits >> f->fraction & ((1u << f->exponent) - 1)) == 0 ? sign : bits;
}

static bool is_nan(uint32_t bits, const emu_format *f)
{
    return (bits & 0x7fffu) > ((1u << f->exponent) - 1) << f->fraction;
}

static double smallest_normal(const emu_format *f)
{
    return ldexp(1, 2 - (1 << (f->exponent - 1)));
}

static uint32_t compute(operation what, uint32_t ra, uint32_t rb, uint32_t rc, const emu_format *f, modes m)
{
    double a, b, c, result;
    uint32_t sign = 0, bits;

    if (m.flushes) {
        ra = flush(ra, f);
        rb = flush(rb, f);
        rc = flush(rc, f);
    }
    if (m.xorsign) {
        sign = (ra ^ rb) & 0x8000u;
        ra &= 0x7fff;
        rb &= 0x7fff;
    }
    a = emu_widen(ra, f);
    b = emu_widen(rb, f);
    c = emu_widen(rc, f);
    switch (what) {
    case ADD:
        result = fma_odd(a, 1, b);
        break;
    case SUB:
        result = fma_odd(b, -1, a);
        break;
    case MUL:
        result = a * b;
        break;
    case FMA:
        result = fma_odd(a, b, c);
        break;
    case NEG:
        return is_nan(ra, f) ? 0x7fff : ra ^ 0x8000u;
    case ABS:
        return is_nan(ra, f) ? 0x7fff : ra & 0x7fffu;
    case EX2:
        result = exp2(a);
        break;
    case TANH:
        result = tanh(a);
        break;
    default:
        if (is_nan(ra, f) && is_nan(rb, f))
            return 0x7fff;
        if (m.nan && (is_nan(ra, f) || is_nan(rb, f)))
            return 0x7fff;
        if (is_nan(ra, f) || is_nan(rb, f))
            bits = is_nan(ra, f) ? rb : ra;
        else if (a == b)
            bits = (what == MIN) == (ra >> 15 != 0) ? ra : rb;
        else
            bits = (what == MIN) == (a < b) ? ra : rb;
        return bits | sign;
    }
    if (m.flushes && fabs(result) < smallest_normal(f)) /* before rounding, as devices do */
        result = copysign(0, result);
    bits = emu_narrow(result, f, ROUND_NEAREST, false);
    if (m.saturates)
        return is_nan(bits, f) || bits >> 15 ? 0 : emu_widen(bits, f) > 1 ? emu_narrow(1, f, ROUND_NEAREST, false) : bits;
    if (m.clips && bits >> 15 && !is_nan(bits, f))
        return 0;
    return bits;
}

static void run(emu_warp *warp, const emu_inst *inst, uint32_t mask, operation what, modes m)
{
    const emu_format *f = format_of(inst->type[0]);
    const unsigned last = inst->operands - 1u;

    EMU_EACH_LANE (i, mask) {
        const uint32_t a = (uint32_t)emu_unsigned(warp, &inst->operand[1], i);
        const uint32_t b = (uint32_t)emu_unsigned(warp, &inst->operand[last < 2 ? last : 2], i);
        const uint32_t c = (uint32_t)emu_unsigned(warp, &inst->operand[last], i);
        uint32_t result = compute(what, a & 0xffff, b & 0xffff, c & 0xffff, f, m);
        if (is_pair(inst->type[0]))
            result |= compute(what, a >> 16, b >> 16, c >> 16, f, m) << 16;
        emu_set_unsigned(warp, &inst->operand[0], i, result);
    }
}

static modes arithmetic_modes(const emu_inst *inst)
{
    return (modes){.flushes = inst->choice[1], .saturates = inst->choice[2], .clips = inst->choice[3]};
}

static modes min_max_modes(const emu_inst *inst)
{
    return (modes){.flushes = inst->choice[0], .nan = inst->choice[1], .xorsign = inst->choice[2]};
}

EMU_SETTLED(add, run, ADD, arithmetic_modes(inst))
EMU_SETTLED(sub, run, SUB, arithmetic_modes(inst))
EMU_SETTLED(mul, run, MUL, arithmetic_modes(inst))
EMU_SETTLED(fma_half, run, FMA, arithmetic_modes(inst))
EMU_SETTLED(min_half, run, MIN, min_max_modes(inst))
EMU_SETTLED(max_half, run, MAX, min_max_modes(inst))
EMU_SETTLED(neg, run, NEG, ((modes){.flushes = inst->choice[0]}))
EMU_SETTLED(abs_half, run, ABS, ((modes){.flushes = inst->choice[0]}))
EMU_SETTLED(ex2, run, EX2, ((modes){.flushes = inst->choice[0]}))
EMU_SETTLED(tanh_half, run, TANH, ((modes){0}))

/* Does the comparison hold for half n of a and b? */
static bool holds(const emu_inst *inst, const emu_format *f, uint32_t a, uint32_t b, unsigned n)
{
    uint32_t x = a >> 16 * n & 0xffff, y = b >> 16 * n & 0xffff;

    if (inst->choice[2]) {
        x = flush(x, f);
        y = flush(y, f);
    }
    return emu_holds(inst->choice[0], emu_widen(x, f), emu_widen(y, f));
}

/* setp.lt.f16 p|q: q is the opposite; of a pair, p is for the low half and q for the high one */
static void setp(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const emu_format *f = format_of(inst->type[0]);
    uint32_t low = 0, high = 0;

    EMU_EACH_LANE (i, mask) {
        const uint32_t a = (uint32_t)emu_unsigned(warp, &inst->operand[2], i),
                       b = (uint32_t)emu_unsigned(warp, &inst->operand[3], i);
        low |= (uint32_t)holds(inst, f, a, b, 0) << i;
        if (is_pair(inst->type[0]))
            high |= (uint32_t)holds(inst, f, a, b, 1) << i;
    }
    emu_setp(warp, inst, mask, low, is_pair(inst->type[0]) ? high : ~low);
}

/* set: a value instead of a predicate: 1.0 for float results, else all ones */
static void set(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const emu_type to = (emu_type)inst->type[0], type = (emu_type)inst->type[1];
    const emu_format *f = format_of(type);
    const uint32_t with = inst->choice[1] ? emu_predicate(warp, &inst->operand[3]) : 0;
    const uint32_t one = to == T_F32             ? 0x3f800000u
                         : emu_type_is_float(to) ? emu_narrow(1, f, ROUND_NEAREST, false)
                         : is_pair(type)         ? 0xffffu
                                                 : UINT32_MAX;

    EMU_EACH_LANE (i, mask) {
        const uint32_t a = (uint32_t)emu_unsigned(warp, &inst->operand[1], i),
                       b = (uint32_t)emu_unsigned(warp, &inst->operand[2], i);
        uint32_t result = 0;
        for (unsigned n = 0; n < (is_pair(type) ? 2u : 1u); n++)
            if (emu_combine(inst->choice[1], holds(inst, f, a, b, n), with >> i & 1) & 1)
                result |= one << 16 * n;
        emu_set_unsigned(warp, &inst->operand[0], i, result);
    }
}

#define HALVES "{*.f16,.f16x2,.bf16,.bf16x2}"

const emu_form emu_half_forms[] = {
    {"fma.rn{.rn}{.ftz}{.sat}{.relu}" HALVES, "=T T T T", fma_half, NULL, 0, 0, 2, 1},
    {"add{.rn}{.ftz}{.sat}{.-}" HALVES, "=T T T", add, NULL, 0, 0, 1, 0},
    {"sub{.rn}{.ftz}{.sat}{.-}" HALVES, "=T T T", sub, NULL, 0, 0, 1, 0},
    {"mul{.rn}{.ftz}{.sat}{.-}" HALVES, "=T T T", mul, NULL, 0, 0, 1, 0},
    {"neg{.ftz}" HALVES, "=T T", neg, NULL, 0, 0, 0, 0},
    {"abs{.ftz}" HALVES, "=T T", abs_half, NULL, 0, 0, 0, 0},
    {"min{.ftz}{.NaN}{.xorsign.abs}" HALVES, "=T T T", min_half, NULL, 0, 0, 0, 0},
    {"max{.ftz}{.NaN}{.xorsign.abs}" HALVES, "=T T T", max_half, NULL, 0, 0, 0, 0},
    {"ex2.approx{.ftz}" HALVES, "=T T", ex2, NULL, 0, 0, 0, 0},
    {"tanh.approx" HALVES, "=T T", tanh_half, NULL, 0, 0, 0, 0},
    {"setp" EMU_FLOAT_COMPARISONS HALVES, "=p|p T T p?", setp, NULL, 0, 0, 0, 0},
    {"set" EMU_FLOAT_COMPARISONS "{*.f16,.bf16,.f32,.u16,.s16,.u32,.s32}{*.f16,.bf16}", "=T U U p?", set, NULL, 0, 0, 0, 0},
    {"set" EMU_FLOAT_COMPARISONS "{*.f16x2,.bf16x2,.u32,.s32}{*.f16x2,.bf16x2}", "=T U U p?", set, NULL, 0, 0, 0, 0},
    {0},
};
