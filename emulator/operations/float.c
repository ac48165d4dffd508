/* SPDX-License-Identifier: Apache-2.0 */
/*
 * float: f32 and f64.
 *
 * Rounding to nearest is the host's own; the directed modes set the host's mode and restore it. Approximations are computed in
 * double and rounded: they lie within the documented bounds but need not have a device's bits.
 */
#include <float.h>
#include <math.h>

#include "compare.h"
#include "number.h"

/* Modifiers of one instruction, independent of its form. */
typedef struct modes {
    emu_round round;
    bool flushes, saturates;
} modes;

/* The forms below have their groups in this order: rounding (rn rz rm rp), ftz, sat. */
static modes modes_of(const emu_inst *inst)
{
    static const emu_round rounds[] = {ROUND_NEAREST, ROUND_NEAREST, ROUND_ZERO, ROUND_DOWN, ROUND_UP};

    return (modes){rounds[inst->choice[0]], inst->choice[1] != 0, inst->choice[2] != 0};
}

/* ---- f32: without modes ---------------------------------------------------------------------------------------------- */

EMU_BINARY(add_f32, float, float, emu_canonical(a[i] + b[i]))
EMU_BINARY(sub_f32, float, float, emu_canonical(a[i] - b[i]))
EMU_BINARY(mul_f32, float, float, emu_canonical(a[i] * b[i]))
EMU_TERNARY(fma_f32, float, float, emu_canonical(fmaf(a[i], b[i], c[i])))

/* ---- f32: with modes ------------------------------------------------------------------------------------------------- */

typedef enum operation { ADD, SUB, MUL, FMA, DIV, RCP, SQRT } operation;

/* Compute in a rounding mode of the host; volatile prevents the compiler from moving the operation out of the mode. */
#define OPERATE(name, T, fma_of, sqrt_of)                         \
    static T name(operation what, T a, T b, T c, emu_round round) \
    {                                                             \
        volatile T x = a, y = b, z = c, result = 0;               \
        if (round != ROUND_NEAREST)                               \
            fesetround(emu_fenv(round));                          \
        switch (what) {                                           \
        case ADD:                                                 \
            result = x + y;                                       \
            break;                                                \
        case SUB:                                                 \
            result = x - y;                                       \
            break;                                                \
        case MUL:                                                 \
            result = x * y;                                       \
            break;                                                \
        case FMA:                                                 \
            result = fma_of(x, y, z);                             \
            break;                                                \
        case DIV:                                                 \
            result = x / y;                                       \
            break;                                                \
        case RCP:                                                 \
            result = 1 / x;                                       \
            break;                                                \
        case SQRT:                                                \
            result = sqrt_of(x);                                  \
            break;                                                \
        }                                                         \
        if (round != ROUND_NEAREST)                               \
            fesetround(FE_TONEAREST);                             \
        return result;                                            \
    }

OPERATE(operate_f32, float, fmaf, sqrtf)
OPERATE(operate_f64, double, fma, sqrt)

static float compute_f32(operation what, float a, float b, float c, modes m)
{
    float result;

    if (m.flushes) {
        a = emu_flush(a);
        b = emu_flush(b);
        c = emu_flush(c);
    }
    result = emu_canonical(operate_f32(what, a, b, c, m.round));
    /* Devices flush results that were too small before rounding. */
    if (m.flushes && fabsf(result) == FLT_MIN)
        result = emu_canonical(operate_f32(what, a, b, c, ROUND_ZERO));
    if (m.flushes)
        result = emu_flush(result);
    return m.saturates ? emu_saturate(result) : result;
}

/* Return input n of an instruction, or its last input if it has fewer, which the operation ignores. */
static const void *input(const emu_warp *warp, const emu_inst *inst, unsigned n)
{
    return emu_lanes(warp, &inst->operand[n < inst->operands ? n : inst->operands - 1u]);
}

/* Compute one value per lane, or two independent ones. */
static void compute_f32_lanes(emu_warp *warp, const emu_inst *inst, uint32_t mask, operation what)
{
    const int values = inst->type[0] == T_F32X2 ? 2 : 1;
    const modes m = modes_of(inst);
    float *d = emu_lanes(warp, &inst->operand[0]);
    const float *a = input(warp, inst, 1), *b = input(warp, inst, 2), *c = input(warp, inst, 3);

    EMU_EACH_LANE (i, mask)
        for (int n = values * i; n < values * (i + 1); n++)
            d[n] = compute_f32(what, a[n], b[n], c[n], m);
}

EMU_SETTLED(slow_add_f32, compute_f32_lanes, ADD)
EMU_SETTLED(slow_sub_f32, compute_f32_lanes, SUB)
EMU_SETTLED(slow_mul_f32, compute_f32_lanes, MUL)
EMU_SETTLED(slow_fma_f32, compute_f32_lanes, FMA)
EMU_SETTLED(div_f32, compute_f32_lanes, DIV)
EMU_SETTLED(rcp_f32, compute_f32_lanes, RCP)
EMU_SETTLED(sqrt_f32, compute_f32_lanes, SQRT)

/* ---- f64 ------------------------------------------------------------------------------------------------------------- */

/* Return a NaN input, made quiet; an invalid operation gives 0xfff8000000000000. */
static double nan_of(double a, double b, double c)
{
    const uint64_t quiet = UINT64_C(0x0008000000000000);

    if (a != a)
        return emu_f64(emu_f64_bits(a) | quiet);
    if (b != b)
        return emu_f64(emu_f64_bits(b) | quiet);
    if (c != c)
        return emu_f64(emu_f64_bits(c) | quiet);
    return emu_f64(UINT64_C(0xfff8000000000000));
}

static double or_nan(double result, double a, double b, double c)
{
    return result == result ? result : nan_of(a, b, c);
}

static void compute_f64_lanes(emu_warp *warp, const emu_inst *inst, uint32_t mask, operation what)
{
    const emu_round round = modes_of(inst).round;
    double *d = emu_lanes(warp, &inst->operand[0]);
    const double *a = input(warp, inst, 1), *b = input(warp, inst, 2), *c = input(warp, inst, 3);

    EMU_EACH_LANE (i, mask)
        d[i] = or_nan(operate_f64(what, a[i], b[i], c[i], round), a[i], b[i], c[i]);
}

EMU_SETTLED(add_f64, compute_f64_lanes, ADD)
EMU_SETTLED(sub_f64, compute_f64_lanes, SUB)
EMU_SETTLED(mul_f64, compute_f64_lanes, MUL)
EMU_SETTLED(slow_fma_f64, compute_f64_lanes, FMA)
EMU_SETTLED(div_f64, compute_f64_lanes, DIV)
EMU_SETTLED(rcp_f64, compute_f64_lanes, RCP)
EMU_SETTLED(sqrt_f64, compute_f64_lanes, SQRT)

EMU_TERNARY(fma_f64, double, double, or_nan(fma(a[i], b[i], c[i]), a[i], b[i], c[i]))

/* ---- sign, minimum, maximum ------------------------------------------------------------------------------------------ */

static uint32_t bits_of(float value, bool flushes)
{
    return emu_f32_bits(flushes ? emu_flush(value) : value);
}

EMU_UNARY(abs_f32, float, float, emu_canonical(emu_f32(bits_of(a[i], inst->choice[0]) & 0x7fffffffu)))
EMU_UNARY(neg_f32, float, float, emu_canonical(emu_f32(bits_of(a[i], inst->choice[0]) ^ 0x80000000u)))
EMU_UNARY(abs_f64, uint64_t, uint64_t, a[i] & (UINT64_MAX >> 1))
EMU_UNARY(neg_f64, uint64_t, uint64_t, a[i] ^ ~(UINT64_MAX >> 1))

/* Return the number if the other is NaN; -0 is below +0. */
static double lesser(double a, double b)
{
    if (a != a)
        return b;
    if (b != b)
        return a;
    return a < b || (a == b && signbit(a)) ? a : b;
}

static double greater(double a, double b)
{
    if (a != a)
        return b;
    if (b != b)
        return a;
    return a > b || (a == b && !signbit(a)) ? a : b;
}

/* Minimum or maximum of two or three. choice: ftz, NaN, xorsign.abs; for three, only abs. */
static void min_max_f32(emu_warp *warp, const emu_inst *inst, uint32_t mask, bool is_max)
{
    float *d = emu_lanes(warp, &inst->operand[0]);
    const bool has_sign = inst->choice[2] && inst->operands == 3;

    EMU_EACH_LANE (i, mask) {
        double result = (double)NAN;
        uint32_t sign = 0;
        bool is_nan = false;
        for (unsigned n = 1; n < inst->operands; n++) {
            float one = ((const float *)emu_lanes(warp, &inst->operand[n]))[i];
            one = inst->choice[0] ? emu_flush(one) : one;
            sign ^= has_sign ? emu_f32_bits(one) & 0x80000000u : 0;
            one = inst->choice[2] ? fabsf(one) : one;
            is_nan |= one != one;
            result = is_max ? greater(result, (double)one) : lesser(result, (double)one);
        }
        is_nan = result != result || (inst->choice[1] && is_nan);
        d[i] = emu_f32(is_nan ? 0x7fffffffu : emu_f32_bits((float)result) | sign);
    }
}

EMU_SETTLED(min_f32, min_max_f32, false)
EMU_SETTLED(max_f32, min_max_f32, true)

EMU_BINARY(min_f64, double, double, a[i] != a[i] && b[i] != b[i] ? nan_of(a[i], b[i], 0) : lesser(a[i], b[i]))
EMU_BINARY(max_f64, double, double, a[i] != a[i] && b[i] != b[i] ? nan_of(a[i], b[i], 0) : greater(a[i], b[i]))
EMU_BINARY(copysign_f32, uint32_t, uint32_t, (a[i] & 0x80000000u) | (b[i] & 0x7fffffffu))
EMU_BINARY(copysign_f64, uint64_t, uint64_t, (a[i] & ~(UINT64_MAX >> 1)) | (b[i] & (UINT64_MAX >> 1)))

/* ---- comparison ------------------------------------------------------------------------------------------------------ */

static double float_operand(const emu_warp *warp, const emu_operand *operand, int lane, bool flushes)
{
    float value;

    if (operand->bytes == 8)
        return emu_f64(emu_unsigned(warp, operand, lane));
    value = emu_f32((uint32_t)emu_unsigned(warp, operand, lane));
    return (double)(flushes ? emu_flush(value) : value);
}

static uint32_t compare(const emu_warp *warp, const emu_inst *inst, unsigned first)
{
    uint32_t bits = 0;

    for (int i = 0; i < EMU_LANES; i++)
        bits |= (uint32_t)emu_holds(inst->choice[0], float_operand(warp, &inst->operand[first], i, inst->choice[2]),
                                    float_operand(warp, &inst->operand[first + 1], i, inst->choice[2]))
                << i;
    return bits;
}

static void setp(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const uint32_t bits = compare(warp, inst, 2);

    emu_setp(warp, inst, mask, bits, ~bits);
}

EMU_SETTLED(set, emu_set, compare(warp, inst, 1))

static void testp(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    enum {
        NOT = 1 << FP_NAN,
        INFINITE = 1 << FP_INFINITE,
        NORMAL = 1 << FP_NORMAL,
        ZERO = 1 << FP_ZERO,
        SMALL = 1 << FP_SUBNORMAL
    };
    static const int classes[] = {0,   NORMAL | ZERO | SMALL, INFINITE, NORMAL | ZERO | SMALL | INFINITE,
                                  NOT, NORMAL | ZERO,         SMALL};
    uint32_t bits = 0;

    for (int i = 0; i < EMU_LANES; i++) {
        const uint64_t raw = emu_unsigned(warp, &inst->operand[1], i);
        const int kind = inst->operand[1].bytes == 8 ? fpclassify(emu_f64(raw)) : fpclassify(emu_f32((uint32_t)raw));
        bits |= (uint32_t)(classes[inst->choice[0]] >> kind & 1) << i;
    }
    emu_set_predicate(warp, &inst->operand[0], bits, mask);
}

/* ---- approximations -------------------------------------------------------------------------------------------------- */

/* choice[0]: ftz */
#define APPROXIMATE(name, expression)                                         \
    static void name(emu_warp *warp, const emu_inst *inst, uint32_t mask)     \
    {                                                                         \
        float *d = emu_lanes(warp, &inst->operand[0]);                        \
        const float *a = emu_lanes(warp, &inst->operand[1]);                  \
        EMU_EACH_LANE (i, mask) {                                             \
            const double x = (double)emu_f32(bits_of(a[i], inst->choice[0])); \
            const float result = emu_canonical((float)(expression));          \
            d[i] = inst->choice[0] ? emu_flush(result) : result;              \
        }                                                                     \
    }

APPROXIMATE(rcp_approx, 1 / x)
APPROXIMATE(sqrt_approx, sqrt(x))
APPROXIMATE(rsqrt_approx, 1 / sqrt(x))
APPROXIMATE(sin_approx, sin(x))
APPROXIMATE(cos_approx, cos(x))
APPROXIMATE(lg2_approx, x < 0 ? (double)NAN : log2(x))
APPROXIMATE(ex2_approx, exp2(x))
APPROXIMATE(tanh_approx, tanh(x))

/* div.approx: a * (1 / b), which loses quotients of very large divisors; div.full: within 2 ulp everywhere. */
static void div_approx(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    float *d = emu_lanes(warp, &inst->operand[0]);
    const float *in_a = emu_lanes(warp, &inst->operand[1]), *in_b = emu_lanes(warp, &inst->operand[2]);
    const bool flushes = inst->choice[1];

    EMU_EACH_LANE (i, mask) {
        const float a = flushes ? emu_flush(in_a[i]) : in_a[i], b = flushes ? emu_flush(in_b[i]) : in_b[i];
        float result = emu_canonical((float)((double)a / (double)b));
        if (inst->choice[0] == 1 && fabsf(b) > 0x1p126f && !isinf(b) && !isnan(b))
            result = isinf(a) ? emu_f32(0x7fffffffu) : emu_canonical(a * copysignf(0, b));
        d[i] = flushes ? emu_flush(result) : result;
    }
}

/*
 * f64 approximations fill only the upper word of a result: https://docs.nvidia.com/cuda/parallel-thread-execution,
 * rcp.approx.ftz.f64
 */
static double upper_word(double value)
{
    return emu_f64(emu_f64_bits(value) & UINT64_C(0xffffffff00000000));
}

static double flush_f64(double value)
{
    const uint64_t bits = emu_f64_bits(value);

    return (bits & UINT64_C(0x7ff0000000000000)) == 0 ? emu_f64(bits & ~(UINT64_MAX >> 1)) : value;
}

static void rcp_approx_f64(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    double *d = emu_lanes(warp, &inst->operand[0]);
    const double *a = emu_lanes(warp, &inst->operand[1]);

    EMU_EACH_LANE (i, mask) {
        const double x = flush_f64(upper_word(a[i]));
        d[i] = x != x ? emu_f64(UINT64_C(0x7fffffff00000000)) : flush_f64(upper_word(1 / x));
    }
}

static void rsqrt_approx_f64(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    double *d = emu_lanes(warp, &inst->operand[0]);
    const double *a = emu_lanes(warp, &inst->operand[1]);

    EMU_EACH_LANE (i, mask) {
        const double x = inst->choice[0] ? flush_f64(upper_word(a[i])) : a[i];
        const double result = 1 / sqrt(x);
        d[i] = result != result ? emu_f64(UINT64_C(0x7fffffff00000000)) : inst->choice[0] ? upper_word(result) : result;
    }
}

#define ROUNDS "{.rn,.rz,.rm,.rp}"
#define NEEDED_ROUNDS "{*.rn,.rz,.rm,.rp}"

/* The first matching form is used: forms without modes before forms with modes. */
const emu_form emu_float_forms[] = {
    {"fma.rn.f32", "=T T T T", fma_f32, NULL, 0, 0, 2, 1},
    {"fma" NEEDED_ROUNDS "{.ftz}{.sat}.f32", "=T T T T", slow_fma_f32, NULL, 0, 0, 2, 1},
    {"add{.rn}.f32", "=T T T", add_f32, NULL, 0, 0, 1, 0},
    {"add" ROUNDS "{.ftz}{.sat}.f32", "=T T T", slow_add_f32, NULL, 0, 0, 1, 0},
    {"sub{.rn}.f32", "=T T T", sub_f32, NULL, 0, 0, 1, 0},
    {"sub" ROUNDS "{.ftz}{.sat}.f32", "=T T T", slow_sub_f32, NULL, 0, 0, 1, 0},
    {"mul{.rn}.f32", "=T T T", mul_f32, NULL, 0, 0, 1, 0},
    {"mul" ROUNDS "{.ftz}{.sat}.f32", "=T T T", slow_mul_f32, NULL, 0, 0, 1, 0},
    {"mad.rn.f32", "=T T T T", fma_f32, NULL, 0, 0, 2, 1},
    {"mad" NEEDED_ROUNDS "{.ftz}{.sat}.f32", "=T T T T", slow_fma_f32, NULL, 0, 0, 2, 1},
    {"fma" NEEDED_ROUNDS "{.ftz}.f32x2", "=T T T T", slow_fma_f32, NULL, 0, 0, 2, 1},
    {"add" ROUNDS "{.ftz}.f32x2", "=T T T", slow_add_f32, NULL, 0, 0, 1, 0},
    {"sub" ROUNDS "{.ftz}.f32x2", "=T T T", slow_sub_f32, NULL, 0, 0, 1, 0},
    {"mul" ROUNDS "{.ftz}.f32x2", "=T T T", slow_mul_f32, NULL, 0, 0, 1, 0},
    {"fma.rn.f64", "=T T T T", fma_f64, NULL, 0, 0, 2, 1},
    {"fma" NEEDED_ROUNDS ".f64", "=T T T T", slow_fma_f64, NULL, 0, 0, 2, 1},
    {"mad.rn.f64", "=T T T T", fma_f64, NULL, 0, 0, 2, 1},
    {"mad" NEEDED_ROUNDS ".f64", "=T T T T", slow_fma_f64, NULL, 0, 0, 2, 1},
    {"add" ROUNDS ".f64", "=T T T", add_f64, NULL, 0, 0, 1, 0},
    {"sub" ROUNDS ".f64", "=T T T", sub_f64, NULL, 0, 0, 1, 0},
    {"mul" ROUNDS ".f64", "=T T T", mul_f64, NULL, 0, 0, 1, 0},
    {"div" NEEDED_ROUNDS "{.ftz}.f32", "=T T T", div_f32, NULL, 0, 0, 0, 0},
    {"div{*.approx,.full}{.ftz}.f32", "=T T T", div_approx, NULL, 0, 0, 0, 0},
    {"div" NEEDED_ROUNDS ".f64", "=T T T", div_f64, NULL, 0, 0, 0, 0},
    {"rcp" NEEDED_ROUNDS "{.ftz}.f32", "=T T", rcp_f32, NULL, 0, 0, 0, 0},
    {"rcp" NEEDED_ROUNDS ".f64", "=T T", rcp_f64, NULL, 0, 0, 0, 0},
    {"sqrt" NEEDED_ROUNDS "{.ftz}.f32", "=T T", sqrt_f32, NULL, 0, 0, 0, 0},
    {"sqrt" NEEDED_ROUNDS ".f64", "=T T", sqrt_f64, NULL, 0, 0, 0, 0},
    {"rcp.approx{.ftz}.f32", "=T T", rcp_approx, NULL, 0, 0, 0, 0},
    {"sqrt.approx{.ftz}.f32", "=T T", sqrt_approx, NULL, 0, 0, 0, 0},
    {"rsqrt.approx{.ftz}.f32", "=T T", rsqrt_approx, NULL, 0, 0, 0, 0},
    {"sin.approx{.ftz}.f32", "=T T", sin_approx, NULL, 0, 0, 0, 0},
    {"cos.approx{.ftz}.f32", "=T T", cos_approx, NULL, 0, 0, 0, 0},
    {"lg2.approx{.ftz}.f32", "=T T", lg2_approx, NULL, 0, 0, 0, 0},
    {"ex2.approx{.ftz}.f32", "=T T", ex2_approx, NULL, 0, 0, 0, 0},
    {"tanh.approx.f32", "=T T", tanh_approx, NULL, 0, 0, 0, 0},
    {"rcp.approx.ftz.f64", "=T T", rcp_approx_f64, NULL, 0, 0, 0, 0},
    {"rsqrt.approx{.ftz}.f64", "=T T", rsqrt_approx_f64, NULL, 0, 0, 0, 0},
    {"abs{.ftz}.f32", "=T T", abs_f32, NULL, 0, 0, 0, 0},
    {"neg{.ftz}.f32", "=T T", neg_f32, NULL, 0, 0, 0, 0},
    {"abs.f64", "=T T", abs_f64, NULL, 0, 0, 0, 0},
    {"neg.f64", "=T T", neg_f64, NULL, 0, 0, 0, 0},
    {"min{.ftz}{.NaN}{.xorsign.abs}.f32", "=T T T", min_f32, NULL, 0, 0, 0, 0},
    {"max{.ftz}{.NaN}{.xorsign.abs}.f32", "=T T T", max_f32, NULL, 0, 0, 0, 0},
    {"min{.ftz}{.NaN}{.abs}.f32", "=T T T T", min_f32, NULL, 0, 0, 0, 0},
    {"max{.ftz}{.NaN}{.abs}.f32", "=T T T T", max_f32, NULL, 0, 0, 0, 0},
    {"min.f64", "=T T T", min_f64, NULL, 0, 0, 0, 0},
    {"max.f64", "=T T T", max_f64, NULL, 0, 0, 0, 0},
    {"copysign.f32", "=T T T", copysign_f32, NULL, 0, 0, 0, 0},
    {"copysign.f64", "=T T T", copysign_f64, NULL, 0, 0, 0, 0},
    {"setp" EMU_FLOAT_COMPARISONS "{*.f32,.f64}", "=p|p T T p?", setp, NULL, 0, 0, 0, 0},
    {"set" EMU_FLOAT_COMPARISONS "{*.u32,.s32,.f32}{*.f32,.f64}", "=T U U p?", set, NULL, 0, 0, 0, 0},
    {"testp{*.finite,.infinite,.number,.notanumber,.normal,.subnormal}{*.f32,.f64}", "=p T", testp, NULL, 0, 0, 0, 0},
    {0},
};
