/* SPDX-License-Identifier: Apache-2.0 */
/* convert: cvt in all its combinations, and the conversions between address spaces. */
#include <math.h>
#include <pthread.h>

#include "lanes.h"
#include "number.h"

/* ---- frequent conversions -------------------------------------------------------------------------------------------- */

static float of_half[65536];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_table(void)
{
    for (uint32_t i = 0; i < 65536; i++)
        of_half[i] = emu_canonical((float)emu_widen(i, &emu_half));
}

EMU_UNARY(u64_u32, uint64_t, uint32_t, a[i])
EMU_UNARY(s64_s32, int64_t, int32_t, a[i])
EMU_UNARY(u32_u64, uint32_t, uint64_t, a[i])
EMU_UNARY(u32_u16, uint32_t, uint16_t, a[i])
EMU_UNARY(u16_u32, uint16_t, uint32_t, a[i])
EMU_UNARY(f64_f32, double, float,
          a[i] == a[i] ? (double)a[i]
                       : emu_f64((uint64_t)(emu_f32_bits(a[i]) & 0x80000000u) << 32 | UINT64_C(0x7ff8000000000000) |
                                 (uint64_t)(emu_f32_bits(a[i]) & 0x3fffff) << 29))
EMU_UNARY(f32_f16, float, uint16_t, of_half[a[i]])
EMU_UNARY(f32_bf16, uint32_t, uint16_t, (uint32_t)a[i] << 16)

/* ---- all conversions ------------------------------------------------------------------------------------------------- */

typedef struct number {
    bool is_float, is_negative;
    double real;
    uint64_t size; /* of an integer */
} number;

static const emu_format *format_of(emu_type type)
{
    switch (type) {
    case T_F16:
    case T_F16X2:
        return &emu_half;
    case T_BF16:
    case T_BF16X2:
        return &emu_bfloat16;
    case T_TF32:
        return &emu_tf32;
    case T_E4M3:
    case T_E4M3X2:
        return &emu_e4m3;
    case T_E5M2:
    case T_E5M2X2:
        return &emu_e5m2;
    case T_E2M1X2:
        return &emu_e2m1;
    case T_E2M3X2:
        return &emu_e2m3;
    case T_E3M2X2:
        return &emu_e3m2;
    default:
        return NULL;
    }
}

static number read_number(emu_type type, uint64_t bits)
{
    const unsigned width = 8 * emu_type_bytes(type);
    number n = {.is_float = emu_type_is_float(type)};

    if (type == T_F64) {
        n.real = emu_f64(bits);
    } else if (type == T_F32) {
        n.real = (double)emu_f32((uint32_t)bits);
    } else if (n.is_float) {
        n.real = emu_widen((uint32_t)bits & 0xffff, format_of(type));
    } else {
        if (width < 64)
            bits &= (UINT64_C(1) << width) - 1;
        n.is_negative = emu_type_is_signed(type) && bits >> (width - 1) & 1;
        n.size = n.is_negative ? (width < 64 ? (UINT64_C(1) << width) - bits : 0 - bits) : bits;
    }
    return n;
}

static double to_integral(double value, emu_round round)
{
    switch (round) {
    case ROUND_ZERO:
        return trunc(value);
    case ROUND_DOWN:
        return floor(value);
    case ROUND_UP:
        return ceil(value);
    default:
        return rint(value);
    }
}

/* Convert to an integer, saturating; NaN becomes 0, or only the highest bit for 64 bits and from f64. */
static uint64_t to_whole(double value, emu_type type, emu_round round, bool is_f64)
{
    const unsigned width = 8 * emu_type_bytes(type);
    const bool is_signed = emu_type_is_signed(type);
    const double top = ldexp(1, (int)width - is_signed), low = is_signed ? -ldexp(1, (int)width - 1) : 0;

    if (value != value)
        return width == 64 || is_f64 ? UINT64_C(1) << (width - 1) : 0;
    value = to_integral(value, round);
    if (value >= top)
        return is_signed ? (UINT64_C(1) << (width - 1)) - 1 : width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
    if (value <= low)
        return is_signed ? 0 - (UINT64_C(1) << (width - 1)) : 0;
    return is_signed ? (uint64_t)(int64_t)value : (uint64_t)value;
}

/* Convert an integer to double, rounded to odd if it has more than 53 bits. */
static double odd_double(number n)
{
    double value = (double)(n.size >> 11 << 11);

    if (n.size >> 53 == 0)
        value = (double)n.size;
    else if (n.size & 2047)
        value = emu_f64(emu_f64_bits((double)(n.size >> 11 << 11)) | 1);
    return n.is_negative ? -value : value;
}

static float narrow_f32(double value, emu_round round)
{
    volatile double x = value;
    volatile float result;

    fesetround(emu_fenv(round));
    result = (float)x;
    fesetround(FE_TONEAREST);
    return result;
}

static double whole_to_f64(number n, emu_round round)
{
    volatile uint64_t size = n.size;
    volatile double result;

    if (n.size == 0) /* compilers may convert by a subtraction, which rounds to -0 downwards */
        return 0;
    fesetround(emu_fenv(n.is_negative && round >= ROUND_DOWN ? (round == ROUND_DOWN ? ROUND_UP : ROUND_DOWN) : round));
    result = (double)size;
    fesetround(FE_TONEAREST);
    return n.is_negative ? -result : result;
}

static uint64_t convert_whole(number n, emu_type to, bool saturates)
{
    const unsigned width = 8 * emu_type_bytes(to);
    const uint64_t largest = emu_type_is_signed(to) ? (UINT64_C(1) << (width - 1)) - 1
                             : width == 64          ? UINT64_MAX
                                                    : (UINT64_C(1) << width) - 1;

    if (saturates && n.is_negative) {
        if (!emu_type_is_signed(to))
            return 0;
        return n.size > largest + 1 ? 0 - (largest + 1) : 0 - n.size;
    }
    if (saturates && n.size > largest)
        return largest;
    return n.is_negative ? 0 - n.size : n.size;
}

/* Convert a NaN of f64 to a quiet one of `to`, with as much of its payload as fits. */
static uint64_t narrow_nan(uint64_t bits, emu_type to)
{
    const emu_format single = {8, 23, true, false}, *f = to == T_F32 ? &single : format_of(to);
    const uint64_t sign = bits >> 63 << (f->exponent + f->fraction);
    const uint64_t fraction = (bits | UINT64_C(1) << 51) << 12 >> (64 - f->fraction);

    return sign | ((UINT64_C(1) << f->exponent) - 1) << f->fraction | fraction;
}

typedef struct modes {
    emu_round round;
    bool is_integral, flushes, saturates, is_finite, clips; /* rni..., ftz, sat, satfinite, relu */
} modes;

static uint64_t convert(uint64_t bits, emu_type from, emu_type to, modes m)
{
    number n = read_number(from, bits);
    double value = n.real;
    uint64_t result;

    if (!n.is_float && !emu_type_is_float(to))
        return convert_whole(n, to, m.saturates);
    if (n.is_float && m.flushes && from == T_F32 && to != T_F16)
        value = (double)emu_flush((float)value);
    if (n.is_float && !emu_type_is_float(to))
        return to_whole(value, to, m.round, from == T_F64);
    if (m.is_integral)
        value = to_integral(value, m.round);
    if (m.saturates)
        value = n.is_float ? (value > 0 ? value < 1 ? value : 1 : 0) : (n.is_negative || n.size == 0 ? 0 : 1);
    if (to == T_F64) {
        return n.is_float || m.saturates ? emu_f64_bits(value) : emu_f64_bits(whole_to_f64(n, m.round));
    }
    if (!n.is_float && !m.saturates)
        value = odd_double(n);
    if (from == T_F64 && value != value)
        return narrow_nan(bits, to);
    if (to == T_F32) {
        float narrow = emu_canonical(narrow_f32(value, m.is_integral ? ROUND_NEAREST : m.round));
        if (m.flushes)
            narrow = emu_flush(narrow);
        return emu_f32_bits(narrow);
    }
    if (m.clips && signbit(value) && value == value)
        value = 0;
    if (to == T_TF32 && m.round == ROUND_AWAY && value != value) /* the result of adding half a unit to an f32 */
        return (bits & 0xffffe000) - (m.is_finite ? 0x2000 : 0);
    result = emu_narrow(value, format_of(to), m.is_integral ? ROUND_NEAREST : m.round, m.is_finite);
    return to == T_TF32 ? result << 13 : result; /* tf32 is f32 with the lower 13 bits clear */
}

/* cvt{round}{.ftz}{.sat}: group 0 names rn rz rm rp rni rzi rmi rpi rna */
static modes modes_of(const emu_inst *inst)
{
    static const emu_round rounds[] = {ROUND_NEAREST, ROUND_NEAREST, ROUND_ZERO, ROUND_DOWN, ROUND_UP,
                                       ROUND_NEAREST, ROUND_ZERO,    ROUND_DOWN, ROUND_UP,   ROUND_AWAY};
    const int how = inst->choice[0];

    return (modes){
        .round = rounds[how], .is_integral = how >= 5 && how <= 8, .flushes = inst->choice[1], .saturates = inst->choice[2]};
}

static void set_converted(const emu_warp *warp, const emu_inst *inst, int lane, emu_type to, uint64_t result)
{
    const unsigned bytes = emu_type_bytes(to);

    if (bytes < 8) {
        const unsigned spare = 64 - 8 * bytes;
        result = emu_type_is_signed(to) && !emu_type_is_float(to) ? (uint64_t)((int64_t)(result << spare) >> spare)
                                                                  : result << spare >> spare;
    }
    emu_set_unsigned(warp, &inst->operand[0], lane, result);
}

static void cvt(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const modes m = modes_of(inst);

    EMU_EACH_LANE (i, mask)
        set_converted(warp, inst, i, inst->type[0],
                      convert(emu_unsigned(warp, &inst->operand[1], i), inst->type[1], inst->type[0], m));
}

/* PTX requires a rounding where one may be needed, and forbids modifiers without effect. */
static bool is_allowed(const emu_inst *inst, emu_type to, emu_type from)
{
    const bool to_float = emu_type_is_float(to), from_float = emu_type_is_float(from);
    const bool rounds = inst->choice[0] >= 1 && inst->choice[0] <= 4, is_integral = inst->choice[0] >= 5;
    const unsigned to_bytes = emu_type_bytes(to), from_bytes = emu_type_bytes(from);
    const bool is_narrower = to_float && from_float && (to_bytes < from_bytes || (to_bytes == from_bytes && to != from));

    if (rounds != ((to_float && !from_float) || is_narrower))
        return false;
    if (is_integral ? !from_float || (to_float && to_bytes != from_bytes) : from_float && !to_float)
        return false;
    if (inst->choice[1] && to != T_F32 && from != T_F32)
        return false;
    if (!inst->choice[2] || to_float || from_float)
        return true;
    if (emu_type_is_signed(to) == emu_type_is_signed(from))
        return to_bytes < from_bytes;
    return emu_type_is_signed(from) || to_bytes <= from_bytes;
}

static emu_exec choose_cvt(const emu_inst *inst)
{
    const emu_type to = inst->type[0], from = inst->type[1];
    const bool is_exact = inst->operand[0].bytes == emu_type_bytes(to) && inst->operand[1].bytes == emu_type_bytes(from);
    const bool to_float = emu_type_is_float(to);

    pthread_once(&once, fill_table);
    if (inst->type_count != 2)
        return NULL;
    if (!is_allowed(inst, to, from))
        return NULL;
    if (!is_exact || inst->choice[0] || inst->choice[1] || inst->choice[2])
        return cvt;
    if (emu_type_bytes(to) == 8 && from == T_U32 && !to_float)
        return u64_u32;
    if (emu_type_bytes(to) == 8 && from == T_S32 && !to_float)
        return s64_s32;
    if (emu_type_bytes(to) == 4 && emu_type_bytes(from) == 8 && !to_float)
        return u32_u64;
    if (emu_type_bytes(to) == 4 && from == T_U16 && !to_float)
        return u32_u16;
    if (emu_type_bytes(to) == 2 && emu_type_bytes(from) == 4 && !to_float)
        return u16_u32;
    if (to == T_F64 && from == T_F32)
        return f64_f32;
    if (to == T_F32 && from == T_BF16)
        return f32_bf16;
    return to == T_F32 && from == T_F16 ? f32_f16 : cvt;
}

/* cvt.rn{.relu}{.satfinite}.f16.f32 and the like: groups round, relu, satfinite */
static void cvt_narrow(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    static const emu_round rounds[] = {ROUND_NEAREST, ROUND_NEAREST, ROUND_ZERO, ROUND_AWAY};
    const modes m = {.round = rounds[inst->choice[0]], .clips = inst->choice[1], .is_finite = inst->choice[2]};

    EMU_EACH_LANE (i, mask)
        set_converted(warp, inst, i, inst->type[0],
                      convert(emu_unsigned(warp, &inst->operand[1], i), inst->type[1], inst->type[0], m));
}

/* Distance of a pair's elements in bits: a 6-bit element takes a byte, a 4-bit one half of one. */
static unsigned pair_bits(emu_type type)
{
    return 4 * emu_type_bytes(type);
}

/* Convert two f32 to a pair: the first is the upper half. */
static void cvt_pair(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    static const emu_round rounds[] = {ROUND_NEAREST, ROUND_NEAREST, ROUND_ZERO};
    const modes m = {.round = rounds[inst->choice[0]], .clips = inst->choice[1], .is_finite = inst->choice[2]};

    EMU_EACH_LANE (i, mask) {
        const uint64_t high = convert(emu_unsigned(warp, &inst->operand[1], i), inst->type[1], inst->type[0], m);
        const uint64_t low = convert(emu_unsigned(warp, &inst->operand[2], i), inst->type[1], inst->type[0], m);
        emu_set_unsigned(warp, &inst->operand[0], i, high << pair_bits(inst->type[0]) | low);
    }
}

/* Convert pairs of less than 16 bits to f16x2 and back. */
static void cvt_bytes(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const bool widens = inst->type[0] == T_F16X2;
    const emu_format *from = format_of(inst->type[1]), *to = format_of(inst->type[0]);
    const unsigned in = pair_bits(inst->type[1]), out = pair_bits(inst->type[0]);

    EMU_EACH_LANE (i, mask) {
        const uint32_t a = (uint32_t)emu_unsigned(warp, &inst->operand[1], i);
        uint32_t result = 0;
        for (unsigned n = 0; n < 2; n++) {
            double value = emu_widen(a >> n * in & ((1u << in) - 1), from);
            if (inst->choice[1] && signbit(value) && value == value)
                value = 0;
            result |= emu_narrow(value, to, ROUND_NEAREST, !widens) << n * out;
        }
        emu_set_unsigned(warp, &inst->operand[0], i, result);
    }
}

/* cvt.pack.sat.u8.s32.b32 d, a, b, c: a and b clipped to the narrow type, packed below the upper part of c */
static void cvt_pack(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    static const struct {
        int bits;
        bool is_signed;
    } kinds[] = {{0, 0}, {16, true}, {16, false}, {8, true}, {8, false}, {4, true}, {4, false}, {2, true}, {2, false}};
    const int bits = kinds[inst->choice[0]].bits;
    const bool is_signed = kinds[inst->choice[0]].is_signed;
    const int64_t top = (INT64_C(1) << (bits - is_signed)) - 1, low = is_signed ? -top - 1 : 0;

    EMU_EACH_LANE (i, mask) {
        const int64_t a = emu_signed(warp, &inst->operand[1], i), b = emu_signed(warp, &inst->operand[2], i);
        const uint64_t c = inst->operands > 3 ? emu_unsigned(warp, &inst->operand[3], i) : 0;
        const uint64_t one = (uint64_t)(a > top ? top : a < low ? low : a) & ((UINT64_C(1) << bits) - 1);
        const uint64_t two = (uint64_t)(b > top ? top : b < low ? low : b) & ((UINT64_C(1) << bits) - 1);
        emu_set_unsigned(warp, &inst->operand[0], i, c << 2 * bits | one << bits | two);
    }
}

/* ---- addresses ------------------------------------------------------------------------------------------------------- */

static uint64_t window_of(emu_space space)
{
    return space == S_SHARED || space == S_CLUSTER ? EMU_SHARED_WINDOW
           : space == S_LOCAL                      ? EMU_LOCAL_WINDOW
           : space == S_PARAM                      ? EMU_PARAM_WINDOW
                                                   : 0;
}

static void cvta(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const uint64_t window = inst->choice[0] ? 0 - window_of(inst->space) : window_of(inst->space);

    EMU_EACH_LANE (i, mask)
        emu_set_unsigned(warp, &inst->operand[0], i, emu_unsigned(warp, &inst->operand[1], i) + window);
}

static void isspacep(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    uint32_t bits = 0;

    EMU_EACH_LANE (i, mask) {
        const uint64_t address = emu_unsigned(warp, &inst->operand[1], i);
        const uint64_t offset = address - EMU_SHARED_WINDOW;
        const bool in_cluster = offset < EMU_CLUSTER_BYTES,
                   in_shared = in_cluster && (offset < EMU_WINDOW_BYTES || offset / EMU_WINDOW_BYTES == warp->block->rank + 1),
                   in_local = address - EMU_LOCAL_WINDOW < EMU_WINDOW_BYTES;
        bits |= (uint32_t)(inst->space == S_SHARED    ? in_shared
                           : inst->space == S_LOCAL   ? in_local
                           : inst->space == S_CLUSTER ? in_cluster
                           : inst->space == S_GLOBAL  ? !in_cluster && !in_local
                           : inst->space == S_PARAM   ? address - EMU_PARAM_WINDOW < EMU_WINDOW_BYTES
                                                      : false)
                << i;
    }
    emu_set_predicate(warp, &inst->operand[0], bits, mask);
}

#define NUMBERS "{*.u8,.s8,.u16,.s16,.u32,.s32,.u64,.s64,.f16,.bf16,.f32,.f64}"

const emu_form emu_convert_forms[] = {
    {"cvt{.rn,.rz,.rm,.rp,.rni,.rzi,.rmi,.rpi}{.ftz}{.sat}" NUMBERS NUMBERS, "=~T ~U", NULL, choose_cvt, 0, 0, 0, 0},
    {"cvt{*.rn,.rz}{.relu}{.satfinite}{*.f16,.bf16}.f32", "=~T U", cvt_narrow, NULL, 0, 0, 0, 0, 80},
    {"cvt{*.-,.-,.rna}{.relu}{.satfinite}.tf32.f32", "=w w", cvt_narrow, NULL, 0, 0, 0, 0},
    {"cvt{*.rn,.rz}{.relu}{.satfinite}.tf32.f32", "=w w", cvt_narrow, NULL, 0, 0, 0, 0, 90},
    {"cvt{*.rn,.rz}{.relu}{.satfinite}{*.f16x2,.bf16x2}.f32", "=w U U", cvt_pair, NULL, 0, 0, 0, 0, 80},
    {"cvt.rn{.-}{.relu}{*.satfinite}{*.e4m3x2,.e5m2x2,.e2m3x2,.e3m2x2,.e2m1x2}.f32", "=T U U", cvt_pair, NULL, 0, 0, 0, 0},
    {"cvt.rn{*.satfinite}{.relu}{*.e4m3x2,.e5m2x2}.f16x2", "=h w", cvt_bytes, NULL, 0, 0, 0, 0},
    {"cvt{*.rn}{.relu}.f16x2{*.e4m3x2,.e5m2x2,.e2m3x2,.e3m2x2,.e2m1x2}", "=w U", cvt_bytes, NULL, 0, 0, 0, 0},
    {"cvt.pack.sat{*.s16,.u16,.s8,.u8,.s4,.u4,.s2,.u2}.s32{.b32}", "=w w w w?", cvt_pack, NULL, 0, 0, 0, 0},
    {"cvta{.to}{*.global,.shared,.local,.const,.shared::cta,.shared::cluster,.param,.param::entry}.u64", "=d d", cvta, NULL, 0,
     0, 0, 0},
    {"isspacep{*.global,.shared,.local,.const,.param,.param::entry,.shared::cta,.shared::cluster}", "=p d", isspacep, NULL, 0,
     0, 0, 0},
    {0},
};
