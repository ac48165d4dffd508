/* SPDX-License-Identifier: Apache-2.0 */
/* integer: integers, bits, predicates, selection and moves. */
#include <string.h>

#include "compare.h"
#include "reduce.h"

__extension__ typedef __int128 wide_signed;
__extension__ typedef unsigned __int128 wide_unsigned;

/* ---- frequent operations, by type ------------------------------------------------------------------------------------ */

#define SHIFT(name, T, expression)                                                   \
    EMU_CLONED static void name(emu_warp *warp, const emu_inst *inst, uint32_t mask) \
    {                                                                                \
        T *d = emu_lanes(warp, &inst->operand[0]);                                   \
        const T *a = emu_lanes(warp, &inst->operand[1]);                             \
        const uint32_t *b = emu_lanes(warp, &inst->operand[2]);                      \
        EMU_LANEWISE(mask, d[i] = (T)(expression));                                  \
    }

#define ARITHMETIC(bits, U, S, W, SW)                                \
    EMU_BINARY(add_##bits, U, U, a[i] + b[i])                        \
    EMU_BINARY(sub_##bits, U, U, a[i] - b[i])                        \
    EMU_BINARY(mul_lo_##bits, U, U, (W)a[i] * b[i])                  \
    EMU_TERNARY(mad_lo_##bits, U, U, (W)a[i] * b[i] + c[i])          \
    EMU_BINARY(and_##bits, U, U, a[i] & b[i])                        \
    EMU_BINARY(or_##bits, U, U, a[i] | b[i])                         \
    EMU_BINARY(xor_##bits, U, U, a[i] ^ b[i])                        \
    EMU_UNARY(mov_##bits, U, U, a[i])                                \
    EMU_UNARY(not_##bits, U, U, ~a[i])                               \
    EMU_UNARY(cnot_##bits, U, U, a[i] == 0)                          \
    EMU_UNARY(neg_##bits, U, U, 0 - a[i])                            \
    EMU_UNARY(abs_##bits, U, S, a[i] < 0 ? 0 - (U)a[i] : (U)a[i])    \
    EMU_BINARY(min_u_##bits, U, U, a[i] < b[i] ? a[i] : b[i])        \
    EMU_BINARY(max_u_##bits, U, U, a[i] > b[i] ? a[i] : b[i])        \
    EMU_BINARY(min_s_##bits, S, S, a[i] < b[i] ? a[i] : b[i])        \
    EMU_BINARY(max_s_##bits, S, S, a[i] > b[i] ? a[i] : b[i])        \
    SHIFT(shl_##bits, U, b[i] < bits ? (W)a[i] << (b[i] & 63) : 0)   \
    SHIFT(shr_u_##bits, U, b[i] < bits ? (W)a[i] >> (b[i] & 63) : 0) \
    SHIFT(shr_s_##bits, S, (SW)a[i] >> (b[i] < bits ? b[i] : bits - 1))

ARITHMETIC(16, uint16_t, int16_t, uint32_t, int32_t)
ARITHMETIC(32, uint32_t, int32_t, uint64_t, int64_t)
ARITHMETIC(64, uint64_t, int64_t, uint64_t, int64_t)

EMU_BINARY(mul_wide_u16, uint32_t, uint16_t, (uint32_t)a[i] * b[i])
EMU_BINARY(mul_wide_s16, int32_t, int16_t, (int32_t)a[i] * b[i])
EMU_BINARY(mul_wide_u32, uint64_t, uint32_t, (uint64_t)a[i] * b[i])
EMU_BINARY(mul_wide_s32, int64_t, int32_t, (int64_t)a[i] * b[i])
EMU_TERNARY(mad_wide_u16, uint32_t, uint16_t, (uint32_t)a[i] * b[i] + c[i])
EMU_TERNARY(mad_wide_s16, uint32_t, int16_t, (uint32_t)((int32_t)a[i] * b[i]) + c[i])
EMU_TERNARY(mad_wide_u32, uint64_t, uint32_t, (uint64_t)a[i] * b[i] + c[i])
EMU_TERNARY(mad_wide_s32, uint64_t, int32_t, (uint64_t)((int64_t)a[i] * b[i]) + c[i])
EMU_UNARY(mov_8, uint8_t, uint8_t, a[i])
EMU_UNARY(popc_32, uint32_t, uint32_t, __builtin_popcount(a[i]))
EMU_UNARY(popc_64, uint32_t, uint64_t, __builtin_popcountll(a[i]))
EMU_UNARY(clz_32, uint32_t, uint32_t, a[i] ? __builtin_clz(a[i]) : 32)
EMU_UNARY(clz_64, uint32_t, uint64_t, a[i] ? __builtin_clzll(a[i]) : 64)

static uint64_t saturate(int64_t value)
{
    return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? (uint64_t)INT32_MIN : (uint64_t)value;
}

EMU_BINARY(add_sat, uint32_t, int32_t, saturate((int64_t)a[i] + b[i]))
EMU_BINARY(sub_sat, uint32_t, int32_t, saturate((int64_t)a[i] - b[i]))
EMU_BINARY(min_relu, int32_t, int32_t, a[i] < 0 || b[i] < 0 ? 0 : a[i] < b[i] ? a[i] : b[i])
EMU_BINARY(max_relu, int32_t, int32_t, a[i] < 0 && b[i] < 0 ? 0 : a[i] > b[i] ? a[i] : b[i])

/* ---- predicates ------------------------------------------------------------------------------------------------------ */

#define PREDICATE(name, expression)                                                         \
    static void name##_pred(emu_warp *warp, const emu_inst *inst, uint32_t mask)            \
    {                                                                                       \
        const uint32_t a = emu_predicate(warp, &inst->operand[1]);                          \
        const uint32_t b = inst->operands > 2 ? emu_predicate(warp, &inst->operand[2]) : 0; \
        emu_set_predicate(warp, &inst->operand[0], expression, mask);                       \
    }

PREDICATE(and, a &b)
PREDICATE(or, a | b)
PREDICATE(xor, a ^ b)
PREDICATE(not, ~(a | b))
PREDICATE(mov, a | b)

static void mov_128(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    uint8_t *d = emu_lanes(warp, &inst->operand[0]);
    const uint8_t *a = emu_lanes(warp, &inst->operand[1]);

    EMU_EACH_LANE (i, mask)
        memmove(d + (size_t)i * 16, a + (size_t)i * 16, 16);
}

void emu_read_clock(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const uint64_t now = warp->executed * 4;

    EMU_EACH_LANE (i, mask)
        emu_set_unsigned(warp, &inst->operand[0], i, inst->choice[0] == SR_CLOCK_HI ? now >> 32 : now);
}

/* mov.b64 %rd, {%r1, %r2} and back; the first element is the lowest. */
static void pack(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const emu_operand *d = &inst->operand[0];
    const unsigned parts = inst->operands - 1u, bytes = d->bytes / parts;
    uint8_t *to = emu_lanes(warp, d);

    EMU_EACH_LANE (i, mask) {
        uint8_t value[16];
        for (unsigned n = 0; n < parts; n++)
            memcpy(value + n * bytes, (uint8_t *)emu_lanes(warp, &inst->operand[1 + n]) + (size_t)i * bytes, bytes);
        memcpy(to + (size_t)i * d->bytes, value, d->bytes);
    }
}

static void unpack(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const emu_operand *a = &inst->operand[inst->operands - 1];
    const unsigned parts = inst->operands - 1u, bytes = a->bytes / parts;
    const uint8_t *from = emu_lanes(warp, a);

    EMU_EACH_LANE (i, mask) {
        uint8_t value[16];
        memcpy(value, from + (size_t)i * a->bytes, a->bytes);
        for (unsigned n = 0; n < parts; n++)
            memcpy((uint8_t *)emu_lanes(warp, &inst->operand[n]) + (size_t)i * bytes, value + n * bytes, bytes);
    }
}

/* ---- comparison and selection ---------------------------------------------------------------------------------------- */

enum { LO = EMU_GE + 1, LS, HI, HS };

#define CASE(how, operator)                                \
    case how:                                              \
        for (int i = 0; i < EMU_LANES; i++)                \
            result |= (uint32_t)(a[i] operator b[i]) << i; \
        break;
#define COMPARE(bits, T)                                                       \
    EMU_CLONED static uint32_t compare_##bits(int how, const T *a, const T *b) \
    {                                                                          \
        uint32_t result = 0;                                                   \
        switch (how) {                                                         \
            CASE(EMU_EQ, ==)                                                   \
            CASE(EMU_NE, !=)                                                   \
            CASE(EMU_LT, <)                                                    \
            CASE(EMU_LE, <=)                                                   \
            CASE(EMU_GT, >)                                                    \
            CASE(EMU_GE, >=)                                                   \
        default:                                                               \
            break;                                                             \
        }                                                                      \
        return result;                                                         \
    }

COMPARE(u16, uint16_t)
COMPARE(s16, int16_t)
COMPARE(u32, uint32_t)
COMPARE(s32, int32_t)
COMPARE(u64, uint64_t)
COMPARE(s64, int64_t)

static uint32_t compare(const emu_inst *inst, emu_type type, const void *a, const void *b)
{
    static const uint8_t unsigned_as[] = {[LO] = EMU_LT, [LS] = EMU_LE, [HI] = EMU_GT, [HS] = EMU_GE};
    int how = inst->choice[0];
    bool is_signed = emu_type_is_signed(type);

    if (how >= LO) {
        how = unsigned_as[how];
        is_signed = false;
    }
    switch (emu_type_bytes(type)) {
    case 2:
        return is_signed ? compare_s16(how, a, b) : compare_u16(how, a, b);
    case 4:
        return is_signed ? compare_s32(how, a, b) : compare_u32(how, a, b);
    default:
        return is_signed ? compare_s64(how, a, b) : compare_u64(how, a, b);
    }
}

static void setp(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const uint32_t bits = compare(inst, inst->type[0], emu_lanes(warp, &inst->operand[2]), emu_lanes(warp, &inst->operand[3]));

    emu_setp(warp, inst, mask, bits, ~bits);
}

EMU_SETTLED(set, emu_set, compare(inst, inst->type[1], emu_lanes(warp, &inst->operand[1]), emu_lanes(warp, &inst->operand[2])))

#define SELECT(bits, T)                                                                           \
    static void selp_##bits(emu_warp *warp, const emu_inst *inst, uint32_t mask)                  \
    {                                                                                             \
        T *d = emu_lanes(warp, &inst->operand[0]);                                                \
        const T *a = emu_lanes(warp, &inst->operand[1]), *b = emu_lanes(warp, &inst->operand[2]); \
        const uint32_t p = emu_predicate(warp, &inst->operand[3]);                                \
        EMU_LANEWISE(mask, d[i] = p >> i & 1 ? a[i] : b[i]);                                      \
    }

SELECT(16, uint16_t)
SELECT(32, uint32_t)
SELECT(64, uint64_t)

static void slct(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    EMU_EACH_LANE (i, mask) {
        const uint32_t c = (uint32_t)emu_unsigned(warp, &inst->operand[3], i);
        float f;
        memcpy(&f, &c, 4);
        if (inst->choice[0] && (c & 0x7f800000u) == 0) /* ftz: subnormals are zero */
            f = 0;
        emu_set_unsigned(warp, &inst->operand[0], i,
                         emu_unsigned(warp, &inst->operand[(inst->type[1] == T_F32 ? f >= 0 : (int32_t)c >= 0) ? 1 : 2], i));
    }
}

/* ---- other operations: one lane at a time, on 64 bits ---------------------------------------------------------------- */

/* Return operand n of a lane, extended according to the first type. */
static uint64_t input(const emu_warp *warp, const emu_inst *inst, unsigned n, int lane)
{
    if (n >= inst->operands)
        return 0;
    return emu_type_is_signed(inst->type[0]) ? (uint64_t)emu_signed(warp, &inst->operand[n], lane)
                                             : emu_unsigned(warp, &inst->operand[n], lane);
}

static unsigned width(const emu_inst *inst)
{
    return 8 * emu_type_bytes(inst->type[0]);
}

/* Head of a function of inst, a, b and c that computes one lane. */
#define UNUSED __attribute__((unused))
#define SCALAR(name)                                                                                                      \
    static uint64_t name##_of(const emu_inst *inst, uint64_t a, uint64_t b, uint64_t c);                                  \
    static void name(emu_warp *warp, const emu_inst *inst, uint32_t mask)                                                 \
    {                                                                                                                     \
        EMU_EACH_LANE (i, mask)                                                                                           \
            emu_set_unsigned(warp, &inst->operand[0], i,                                                                  \
                             name##_of(inst, input(warp, inst, 1, i), input(warp, inst, 2, i), input(warp, inst, 3, i))); \
    }                                                                                                                     \
    static uint64_t name##_of(UNUSED const emu_inst *inst, uint64_t a, UNUSED uint64_t b, UNUSED uint64_t c)

SCALAR(mul_hi)
{
    if (emu_type_is_signed(inst->type[0]))
        return (uint64_t)((wide_signed)(int64_t)a * (int64_t)b >> width(inst));
    return (uint64_t)((wide_unsigned)a * b >> width(inst));
}

SCALAR(mad_hi)
{
    const uint64_t sum = mul_hi_of(inst, a, b, 0) + c;

    return inst->choice[0] && inst->type[0] == T_S32 ? saturate((int64_t)sum) : sum; /* only mad.hi.s32 has .sat */
}

static int64_t low_24(const emu_inst *inst, uint64_t a)
{
    return emu_type_is_signed(inst->type[0]) ? (int64_t)(a << 40) >> 40 : (int64_t)(a & 0xffffff);
}

SCALAR(mul24)
{
    const int64_t product = low_24(inst, a) * low_24(inst, b);

    return (uint64_t)(inst->choice[0] == 1 ? product >> 16 : product);
}

SCALAR(mad24)
{
    const int64_t product = low_24(inst, a) * low_24(inst, b);
    const int64_t sum = (inst->choice[0] == 1 ? (int64_t)(int32_t)(product >> 16) : product) + (int64_t)c;

    return inst->choice[1] ? saturate(sum) : (uint64_t)sum;
}

SCALAR(sad)
{
    const bool is_less = emu_type_is_signed(inst->type[0]) ? (int64_t)a < (int64_t)b : a < b;

    return c + (is_less ? b - a : a - b);
}

/* Division by zero gives all ones, as on devices; PTX leaves it open. */
SCALAR(div)
{
    if (b == 0)
        return UINT64_MAX;
    if (emu_type_is_signed(inst->type[0]))
        return (int64_t)b == -1 ? 0 - a : (uint64_t)((int64_t)a / (int64_t)b);
    return a / b;
}

SCALAR(rem)
{
    if (b == 0)
        return a;
    if (emu_type_is_signed(inst->type[0]))
        return (int64_t)b == -1 ? 0 : (uint64_t)((int64_t)a % (int64_t)b);
    return a % b;
}

SCALAR(brev)
{
    uint64_t result = 0;

    for (unsigned i = 0; i < width(inst); i++)
        result |= (a >> i & 1) << (width(inst) - 1 - i);
    return result;
}

/* Return the position of the highest bit that differs from the sign, or all ones. */
SCALAR(bfind)
{
    const unsigned bits = width(inst);
    uint64_t x = emu_type_is_signed(inst->type[0]) && (int64_t)a < 0 ? ~a : a, position;

    if (bits == 32)
        x &= UINT32_MAX;
    if (x == 0)
        return UINT32_MAX;
    position = 63 - (uint64_t)__builtin_clzll(x);
    return inst->choice[0] ? bits - 1 - position : position; /* .shiftamt */
}

/* PTX takes positions and lengths modulo 256; for 64-bit fields, devices use the whole register. */
static uint64_t field_mask(unsigned bits)
{
    return bits == 64 ? UINT32_MAX : 0xff;
}

SCALAR(bfe)
{
    const unsigned bits = width(inst), msb = bits - 1;
    const uint64_t position = b & field_mask(bits), length = c & field_mask(bits), last = position + length - 1;
    const bool is_signed = emu_type_is_signed(inst->type[0]);
    uint64_t result = 0, sign;

    if (bits == 32)
        a &= UINT32_MAX;
    sign = !is_signed || length == 0 ? 0 : a >> (last < msb ? last : msb) & 1;
    for (unsigned i = 0; i <= msb; i++)
        result |= (i < length && position + i <= msb ? a >> (position + i) & 1 : sign) << i;
    return result;
}

static void bfi(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const unsigned bits = width(inst);

    EMU_EACH_LANE (i, mask) {
        const uint64_t a = emu_unsigned(warp, &inst->operand[1], i);
        uint64_t result = emu_unsigned(warp, &inst->operand[2], i);
        const uint64_t position = emu_unsigned(warp, &inst->operand[3], i) & field_mask(bits);
        const uint64_t length = emu_unsigned(warp, &inst->operand[4], i) & field_mask(bits);
        for (uint64_t n = 0; n < length && position + n < bits; n++)
            result = (result & ~(UINT64_C(1) << (position + n))) | (a >> n & 1) << (position + n);
        emu_set_unsigned(warp, &inst->operand[0], i, result);
    }
}

/* Return the position of the offset-th set bit from `base`, upwards or downwards. */
SCALAR(fns)
{
    int left = (int32_t)c;
    const int step = left < 0 ? -1 : 1;

    if (left == 0)
        return a >> (b & 31) & 1 ? b : UINT32_MAX;
    for (int64_t at = (int64_t)(b & 31); at >= 0 && at < 32; at += step) {
        if (a >> at & 1)
            left -= step;
        if (left == 0)
            return (uint64_t)at;
    }
    return UINT32_MAX;
}

SCALAR(bmsk)
{
    const bool wraps = inst->choice[0] == 2;
    const uint64_t position = wraps ? a & 31 : a, length = wraps ? b & 31 : b;

    if (position > 31)
        return 0;
    return (length > 31 ? UINT32_MAX : (UINT64_C(1) << length) - 1) << position & UINT32_MAX;
}

SCALAR(szext)
{
    const uint64_t n = inst->choice[0] == 2 ? b & 31 : b & UINT32_MAX;

    if (n >= 32)
        return a;
    if (n == 0)
        return 0;
    if (emu_type_is_signed(inst->type[0]))
        return (uint64_t)((int64_t)(a << (64 - n)) >> (64 - n));
    return a & ((UINT64_C(1) << n) - 1);
}

/* Return one of the eight bytes of b:a; bit 3 of the selector replicates its sign. */
static uint64_t pick_byte(uint64_t both, unsigned selector)
{
    const uint64_t byte = both >> (selector & 7) * 8 & 0xff;

    return selector & 8 ? (byte & 0x80 ? 0xff : 0) : byte;
}

SCALAR(prmt)
{
    static const uint8_t table[7][4][4] = {
        {{0}},
        {{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}}, /* f4e */
        {{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}}, /* b4e */
        {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}, /* rc8 */
        {{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}}, /* ecl */
        {{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}}, /* ecr */
        {{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}}, /* rc16 */
    };
    const uint64_t both = (b & UINT32_MAX) << 32 | (a & UINT32_MAX);
    uint64_t result = 0;

    for (unsigned n = 0; n < 4; n++) {
        const unsigned selector = inst->choice[0] ? table[inst->choice[0]][c & 3][n] : (unsigned)(c >> 4 * n & 15);
        result |= pick_byte(both, selector) << 8 * n;
    }
    return result;
}

static void shf(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const uint32_t *a = emu_lanes(warp, &inst->operand[1]), *b = emu_lanes(warp, &inst->operand[2]);
    const uint32_t *c = emu_lanes(warp, &inst->operand[3]);
    uint32_t *d = emu_lanes(warp, &inst->operand[0]);

    EMU_EACH_LANE (i, mask) {
        const uint64_t both = (uint64_t)b[i] << 32 | a[i];
        const unsigned n = inst->choice[1] == 1 ? (c[i] < 32 ? c[i] : 32) : c[i] & 31;
        d[i] = inst->choice[0] == 1 ? (uint32_t)((both << n) >> 32) : (uint32_t)(both >> n);
    }
}

/* lop3: bit number abc of the table is the result for bits a, b, c. */
static uint32_t look_up(uint32_t a, uint32_t b, uint32_t c, uint32_t table)
{
    uint32_t result = 0;

    for (unsigned row = 0; row < 8; row++)
        if (table >> row & 1)
            result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
    return result;
}

/* lop3.b32 d, a, b, c, table; lop3.and.b32 d|p, a, b, c, table, q: p = (d != 0) and q */
static void lop3(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const emu_operand *in = &inst->operand[inst->outputs];
    const uint32_t *a = emu_lanes(warp, &in[0]), *b = emu_lanes(warp, &in[1]);
    const uint32_t *c = emu_lanes(warp, &in[2]), *t = emu_lanes(warp, &in[3]);
    uint32_t *d = emu_lanes(warp, &inst->operand[0]), bits = 0;

    EMU_EACH_LANE (i, mask) {
        d[i] = look_up(a[i], b[i], c[i], t[i]);
        bits |= (uint32_t)(d[i] != 0) << i;
    }
    if (inst->outputs == 2)
        emu_set_predicate(warp, &inst->operand[1], emu_combine(inst->choice[0], bits, emu_predicate(warp, &in[4])), mask);
}

/* ---- carries --------------------------------------------------------------------------------------------------------- */

/* The condition code is also the carry of a + ~b + 1: set if a subtraction does not borrow. takes: use it; keeps: set it. */
static void add_carry(emu_warp *warp, const emu_inst *inst, uint32_t mask, bool is_sub, bool takes, bool keeps)
{
    const unsigned bits = width(inst);
    uint32_t carry = warp->carry;

    EMU_EACH_LANE (i, mask) {
        const uint64_t limit = bits == 64 ? UINT64_MAX : UINT32_MAX;
        const uint64_t a = emu_unsigned(warp, &inst->operand[1], i), b = emu_unsigned(warp, &inst->operand[2], i);
        const unsigned in = takes ? (is_sub ? ~carry : carry) >> i & 1 : 0;
        wide_unsigned wide;
        bool out;
        if (is_sub) {
            wide = (wide_unsigned)a - b - in;
            out = (wide_unsigned)a >= (wide_unsigned)b + in;
        } else {
            wide = (wide_unsigned)a + b + in;
            out = wide > limit;
        }
        emu_set_unsigned(warp, &inst->operand[0], i, (uint64_t)wide);
        if (keeps)
            carry = (carry & ~(1u << i)) | (uint32_t)out << i;
    }
    warp->carry = carry;
}

EMU_SETTLED(add_cc, add_carry, false, false, true)
EMU_SETTLED(addc, add_carry, false, true, inst->choice[0])
EMU_SETTLED(sub_cc, add_carry, true, false, true)
EMU_SETTLED(subc, add_carry, true, true, inst->choice[0])

/* mad{c}.{lo,hi}{.cc}: choice[0] lo or hi, choice[1] cc; takes: add the carry. */
static void mad_carry(emu_warp *warp, const emu_inst *inst, uint32_t mask, bool takes)
{
    const unsigned bits = width(inst);

    EMU_EACH_LANE (i, mask) {
        const uint64_t a = input(warp, inst, 1, i), b = input(warp, inst, 2, i);
        const uint64_t limit = bits == 64 ? UINT64_MAX : UINT32_MAX;
        uint64_t part = inst->choice[0] == 2 ? mul_hi_of(inst, a, b, 0) : a * b;
        wide_unsigned sum;
        part &= limit;
        sum = (wide_unsigned)part + emu_unsigned(warp, &inst->operand[3], i) + (takes ? warp->carry >> i & 1 : 0);
        emu_set_unsigned(warp, &inst->operand[0], i, (uint64_t)sum);
        if (inst->choice[1])
            warp->carry = (warp->carry & ~(1u << i)) | (uint32_t)(sum > limit) << i;
    }
}

EMU_SETTLED(mad_cc, mad_carry, false)
EMU_SETTLED(madc, mad_carry, true)

/* ---- dot products of bytes ------------------------------------------------------------------------------------------- */

static int32_t part_of(uint32_t word, unsigned bits, unsigned n, bool is_signed)
{
    const uint32_t part = word >> n * bits;

    if (bits == 8)
        return is_signed ? (int8_t)part : (int32_t)(part & 0xff);
    return is_signed ? (int16_t)part : (int32_t)(part & 0xffff);
}

/* Dot product of four bytes, or of two halves and the low or high two bytes (choice[0]). */
static void dot(emu_warp *warp, const emu_inst *inst, uint32_t mask, unsigned parts)
{
    const uint32_t *a = emu_lanes(warp, &inst->operand[1]), *b = emu_lanes(warp, &inst->operand[2]);
    const uint32_t *c = emu_lanes(warp, &inst->operand[3]);
    const unsigned first = parts == 2 && inst->choice[0] == 2 ? 2 : 0;
    uint32_t *d = emu_lanes(warp, &inst->operand[0]);

    EMU_EACH_LANE (i, mask) {
        uint32_t sum = c[i];
        for (unsigned n = 0; n < parts; n++)
            sum += (uint32_t)part_of(a[i], 32 / parts, n, emu_type_is_signed(inst->type[0])) *
                   (uint32_t)part_of(b[i], 8, n + first, emu_type_is_signed(inst->type[1]));
        d[i] = sum;
    }
}

EMU_SETTLED(dp4a, dot, 4)
EMU_SETTLED(dp2a, dot, 2)

/* ---- pairs of 16 bits ------------------------------------------------------------------------------------------------ */

/* choice[0]: relu */
static void pair(emu_warp *warp, const emu_inst *inst, uint32_t mask, int how)
{
    const bool is_signed = emu_type_is_signed(inst->type[0]);
    const uint32_t *a = emu_lanes(warp, &inst->operand[1]), *b = emu_lanes(warp, &inst->operand[2]);
    uint32_t *d = emu_lanes(warp, &inst->operand[0]);

    EMU_EACH_LANE (i, mask) {
        uint32_t result = 0;
        for (unsigned n = 0; n < 2; n++) {
            const uint32_t x = (uint32_t)part_of(a[i], 16, n, is_signed), y = (uint32_t)part_of(b[i], 16, n, is_signed);
            const int32_t one = (int32_t)emu_reduce(how, T_S32, x, y);
            result |= (inst->choice[0] && one < 0 ? 0 : (uint32_t)one & 0xffff) << 16 * n;
        }
        d[i] = result;
    }
}

EMU_SETTLED(add_pair, pair, EMU_ADD)
EMU_SETTLED(min_pair, pair, EMU_MIN)
EMU_SETTLED(max_pair, pair, EMU_MAX)

/* vshr.d.a.u32{.sat}.mode{.add}: a scalar video shift of 32-bit words. choice: d, a, b, sat, mode, add. */
static void vshr(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    EMU_EACH_LANE (i, mask) {
        const uint64_t n = emu_unsigned(warp, &inst->operand[2], i);
        const unsigned by = inst->choice[4] == 1 ? (n < 32 ? (unsigned)n : 32) : (unsigned)n & 31;
        const bool is_signed = emu_type_is_signed(inst->type[1]);
        const uint32_t a = (uint32_t)emu_unsigned(warp, &inst->operand[1], i);
        const uint32_t c = inst->operands > 3 ? (uint32_t)emu_unsigned(warp, &inst->operand[3], i) : 0;
        const int64_t shifted = (is_signed ? (int64_t)(int32_t)a : (int64_t)a) >> by;
        const int64_t low = emu_type_is_signed(inst->type[0]) ? INT32_MIN : 0;
        const int64_t high = emu_type_is_signed(inst->type[0]) ? INT32_MAX : UINT32_MAX;
        const int64_t result = !inst->choice[3] ? shifted : shifted < low ? low : shifted > high ? high : shifted;
        emu_set_unsigned(warp, &inst->operand[0], i, (uint64_t)result + c);
    }
}

/*
 * vadd4.d.a.b{.sat} and similar work on four bytes. PTX allows selectors after the operands that choose bytes and merge the
 * results into some bytes of c; the emulator supports neither, so c matters only with .add, which adds the results to it.
 * Groups: sat, add.
 */
enum { V_SUBTRACT = EMU_MAX + 1, V_AVERAGE, V_DIFFERENCE };

static int of_bytes(int how, int a, int b)
{
    switch (how) {
    case V_SUBTRACT:
        return a - b;
    case V_AVERAGE:
        return (a + b + (a + b >= 0)) >> 1;
    case V_DIFFERENCE:
        return a > b ? a - b : b - a;
    default:
        return (int)emu_reduce(how, T_S32, (uint32_t)a, (uint32_t)b);
    }
}

static void video(emu_warp *warp, const emu_inst *inst, uint32_t mask, int how)
{
    const bool is_signed = inst->type[0] == T_S32, saturates = inst->choice[0], adds = inst->choice[1];
    const int low = is_signed ? INT8_MIN : 0, high = is_signed ? INT8_MAX : UINT8_MAX;

    EMU_EACH_LANE (i, mask) {
        const uint32_t a = (uint32_t)emu_unsigned(warp, &inst->operand[1], i);
        const uint32_t b = (uint32_t)emu_unsigned(warp, &inst->operand[2], i);
        uint32_t result = adds ? (uint32_t)emu_unsigned(warp, &inst->operand[3], i) : 0;
        for (unsigned n = 0; n < 32; n += 8) {
            const int x = inst->type[1] == T_S32 ? (int8_t)(a >> n) : (uint8_t)(a >> n);
            const int y = inst->type[2] == T_S32 ? (int8_t)(b >> n) : (uint8_t)(b >> n);
            int one = of_bytes(how, x, y);
            if (saturates)
                one = one < low ? low : one > high ? high : one;
            result = adds ? result + (uint32_t)one : result | (uint32_t)(uint8_t)one << n;
        }
        emu_set_unsigned(warp, &inst->operand[0], i, result);
    }
}

EMU_SETTLED(vadd4, video, EMU_ADD)
EMU_SETTLED(vsub4, video, V_SUBTRACT)
EMU_SETTLED(vavrg4, video, V_AVERAGE)
EMU_SETTLED(vabsdiff4, video, V_DIFFERENCE)
EMU_SETTLED(vmin4, video, EMU_MIN)
EMU_SETTLED(vmax4, video, EMU_MAX)

/* A form for each width of a type: b, u or s. */
/* clang-format off */
#define EACH_WIDTH(opcode, letter, operands, name)                  \
    {opcode "." letter "16", operands, name##16, NULL, 0, 0, 0, 0}, \
    {opcode "." letter "32", operands, name##32, NULL, 0, 0, 0, 0}, \
    {opcode "." letter "64", operands, name##64, NULL, 0, 0, 0, 0}
/* clang-format on */
#define INTS "{*.u16,.s16,.u32,.s32,.u64,.s64}"
#define WORDS "{*.u32,.s32,.u64,.s64}"
#define VIDEO_TYPES "{*.u32,.s32}{*.u32,.s32}{*.u32,.s32}"
#define COMPARISONS "{*.eq,.ne,.lt,.le,.gt,.ge,.lo,.ls,.hi,.hs}{.and,.or,.xor}"

const emu_form emu_integer_forms[] = {
    EACH_WIDTH("add", "u", "=T T T", add_),
    EACH_WIDTH("add", "s", "=T T T", add_),
    {"mov.b8", "=T T", mov_8, NULL, 0, 0, 0, 0},
    {"mov{*.b16,.u16,.s16}", "=T T", mov_16, NULL, 0, 0, 0, 0},
    {"mov{*.b32,.u32,.s32,.f32}", "=T T", mov_32, NULL, 0, 0, 0, 0},
    {"mov{*.b64,.u64,.s64,.f64}", "=T T", mov_64, NULL, 0, 0, 0, 0},
    {"mov.b128", "=T T", mov_128, NULL, 0, 0, 0, 0},
    {"mov.pred", "=T T", mov_pred, NULL, 0, 0, 0, 0},
    {"mov{*.b16,.b32,.b64,.b128}", "=T *T", pack, NULL, 0, 0, 0, 0},
    {"mov{*.b16,.b32,.b64,.b128}", "=*T T", unpack, NULL, 0, 0, 0, 0},
    EACH_WIDTH("mul.lo", "u", "=T T T", mul_lo_),
    EACH_WIDTH("mul.lo", "s", "=T T T", mul_lo_),
    EACH_WIDTH("mad.lo", "u", "=T T T T", mad_lo_),
    EACH_WIDTH("mad.lo", "s", "=T T T T", mad_lo_),
    {"mul.wide.u16", "=X T T", mul_wide_u16, NULL, 0, 0, 0, 0},
    {"mul.wide.s16", "=X T T", mul_wide_s16, NULL, 0, 0, 0, 0},
    {"mul.wide.u32", "=X T T", mul_wide_u32, NULL, 0, 0, 0, 0},
    {"mul.wide.s32", "=X T T", mul_wide_s32, NULL, 0, 0, 0, 0},
    {"mad.wide.u16", "=X T T X", mad_wide_u16, NULL, 0, 0, 0, 0},
    {"mad.wide.s16", "=X T T X", mad_wide_s16, NULL, 0, 0, 0, 0},
    {"mad.wide.u32", "=X T T X", mad_wide_u32, NULL, 0, 0, 0, 0},
    {"mad.wide.s32", "=X T T X", mad_wide_s32, NULL, 0, 0, 0, 0},
    {"setp" COMPARISONS "{*.u16,.s16,.u32,.s32,.u64,.s64,.b16,.b32,.b64}", "=p|p T T p?", setp, NULL, 0, 0, 0, 0},
    EACH_WIDTH("and", "b", "=T T T", and_),
    {"and.pred", "=T T T", and_pred, NULL, 0, 0, 0, 0},
    EACH_WIDTH("or", "b", "=T T T", or_),
    {"or.pred", "=T T T", or_pred, NULL, 0, 0, 0, 0},
    EACH_WIDTH("xor", "b", "=T T T", xor_),
    {"xor.pred", "=T T T", xor_pred, NULL, 0, 0, 0, 0},
    EACH_WIDTH("not", "b", "=T T", not_),
    {"not.pred", "=T T", not_pred, NULL, 0, 0, 0, 0},
    EACH_WIDTH("cnot", "b", "=T T", cnot_),
    EACH_WIDTH("shl", "b", "=T T w", shl_),
    EACH_WIDTH("shr", "b", "=T T w", shr_u_),
    EACH_WIDTH("shr", "u", "=T T w", shr_u_),
    EACH_WIDTH("shr", "s", "=T T w", shr_s_),
    {"selp{*.b16,.u16,.s16}", "=T T T p", selp_16, NULL, 0, D_SELECT, 0, 0},
    {"selp{*.b32,.u32,.s32,.f32}", "=T T T p", selp_32, NULL, 0, D_SELECT, 0, 0},
    {"selp{*.b64,.u64,.s64,.f64}", "=T T T p", selp_64, NULL, 0, D_SELECT, 0, 0},
    EACH_WIDTH("sub", "u", "=T T T", sub_),
    EACH_WIDTH("sub", "s", "=T T T", sub_),
    {"add.sat.s32", "=T T T", add_sat, NULL, 0, 0, 0, 0},
    {"sub.sat.s32", "=T T T", sub_sat, NULL, 0, 0, 0, 0},
    {"mul.hi" INTS, "=T T T", mul_hi, NULL, 0, 0, 0, 0},
    {"mad.hi{.sat}" INTS, "=T T T T", mad_hi, NULL, 0, 0, 0, 0},
    {"mul24{*.hi,.lo}{*.u32,.s32}", "=T T T", mul24, NULL, 0, 0, 0, 0},
    {"mad24{*.hi,.lo}{.sat}{*.u32,.s32}", "=T T T T", mad24, NULL, 0, 0, 0, 0},
    {"sad" INTS, "=T T T T", sad, NULL, 0, 0, 0, 0},
    {"div" INTS, "=T T T", div, NULL, 0, 0, 0, 0},
    {"rem" INTS, "=T T T", rem, NULL, 0, 0, 0, 0},
    EACH_WIDTH("abs", "s", "=T T", abs_),
    EACH_WIDTH("neg", "s", "=T T", neg_),
    EACH_WIDTH("min", "u", "=T T T", min_u_),
    EACH_WIDTH("min", "s", "=T T T", min_s_),
    EACH_WIDTH("max", "u", "=T T T", max_u_),
    EACH_WIDTH("max", "s", "=T T T", max_s_),
    {"popc.b32", "=w T", popc_32, NULL, 0, 0, 0, 0},
    {"popc.b64", "=w T", popc_64, NULL, 0, 0, 0, 0},
    {"clz.b32", "=w T", clz_32, NULL, 0, 0, 0, 0},
    {"clz.b64", "=w T", clz_64, NULL, 0, 0, 0, 0},
    {"brev{*.b32,.b64}", "=T T", brev, NULL, 0, 0, 0, 0},
    {"bfind{.shiftamt}" WORDS, "=w T", bfind, NULL, 0, 0, 0, 0},
    {"bfe" WORDS, "=T T w w", bfe, NULL, 0, 0, 0, 0},
    {"bfi{*.b32,.b64}", "=T T T w w", bfi, NULL, 0, 0, 0, 0},
    {"fns.b32", "=w w w w", fns, NULL, 0, 0, 0, 0},
    {"bmsk{*.clamp,.wrap}.b32", "=w w w", bmsk, NULL, 0, 0, 0, 0},
    {"szext{*.clamp,.wrap}{*.u32,.s32}", "=T T w", szext, NULL, 0, 0, 0, 0},
    {"prmt.b32{.f4e,.b4e,.rc8,.ecl,.ecr,.rc16}", "=w w w w", prmt, NULL, 0, 0, 0, 0},
    {"shf{*.l,.r}{*.clamp,.wrap}.b32", "=w w w w", shf, NULL, 0, 0, 0, 0},
    {"lop3.b32", "=w w w w N", lop3, NULL, 0, 0, 0, 0},
    {"lop3{*.and,.or}.b32", "=w|p w w w N p", lop3, NULL, 0, 0, 0, 0},
    {"add{.-}{*.u16x2,.s16x2}", "=w w w", add_pair, NULL, 0, 0, 0, 0},
    {"min{.relu}{*.u16x2,.s16x2}", "=w w w", min_pair, NULL, 0, 0, 0, 0},
    {"max{.relu}{*.u16x2,.s16x2}", "=w w w", max_pair, NULL, 0, 0, 0, 0},
    {"min.relu.s32", "=w w w", min_relu, NULL, 0, 0, 0, 0},
    {"max.relu.s32", "=w w w", max_relu, NULL, 0, 0, 0, 0},
    {"add.cc" WORDS, "=T T T", add_cc, NULL, 0, 0, 0, 0},
    {"addc{.cc}" WORDS, "=T T T", addc, NULL, 0, 0, 0, 0},
    {"sub.cc" WORDS, "=T T T", sub_cc, NULL, 0, 0, 0, 0},
    {"subc{.cc}" WORDS, "=T T T", subc, NULL, 0, 0, 0, 0},
    {"mad{*.lo,.hi}{*.cc}" WORDS, "=T T T T", mad_cc, NULL, 0, 0, 0, 0},
    {"madc{*.lo,.hi}{.cc}" WORDS, "=T T T T", madc, NULL, 0, 0, 0, 0},
    {"set" COMPARISONS "{*.u32,.s32,.f32}{*.u16,.s16,.u32,.s32,.u64,.s64,.b16,.b32,.b64}", "=T U U p?", set, NULL, 0, 0, 0, 0},
    {"slct{.ftz}{*.b16,.b32,.b64,.u16,.s16,.u32,.s32,.u64,.s64,.f32,.f64}{*.s32,.f32}", "=T T T U", slct, NULL, 0, 0, 0, 0},
    {"dp4a{*.u32,.s32}{*.u32,.s32}", "=w w w w", dp4a, NULL, 0, 0, 0, 0},
    {"dp2a{*.lo,.hi}{*.u32,.s32}{*.u32,.s32}", "=w w w w", dp2a, NULL, 0, 0, 0, 0},
    {"vshr{*.u32,.s32}{*.u32,.s32}{*.u32}{.sat}{*.clamp,.wrap}", "=w w w", vshr, NULL, 0, 0, 0, 0},
    {"vshr{*.u32,.s32}{*.u32,.s32}{*.u32}{.sat}{*.clamp,.wrap}{*.add}", "=w w w w", vshr, NULL, 0, 0, 0, 0},
    {"vadd4{.sat}{.-}" VIDEO_TYPES, "=w w w w", vadd4, NULL, 0, 0, 0, 0},
    {"vsub4{.sat}{.-}" VIDEO_TYPES, "=w w w w", vsub4, NULL, 0, 0, 0, 0},
    {"vavrg4{.sat}{.-}" VIDEO_TYPES, "=w w w w", vavrg4, NULL, 0, 0, 0, 0},
    {"vabsdiff4{.sat}{.-}" VIDEO_TYPES, "=w w w w", vabsdiff4, NULL, 0, 0, 0, 0},
    {"vmin4{.sat}{.-}" VIDEO_TYPES, "=w w w w", vmin4, NULL, 0, 0, 0, 0},
    {"vmax4{.sat}{.-}" VIDEO_TYPES, "=w w w w", vmax4, NULL, 0, 0, 0, 0},
    {"vabsdiff4{.-}{*.add}" VIDEO_TYPES, "=w w w w", vabsdiff4, NULL, 0, 0, 0, 0},
    {0},
};
