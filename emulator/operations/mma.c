/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mma: mma.sync, D = A . B + C of one warp.
 *
 * Sums of f16, bf16 and tf32 products follow the model that Xie et al. measured (MMA-Sim, arXiv 2511.10909): all products of a step
 * and C are cut to a number of bits below the largest exponent among them, added exactly, and cut to f32, or rounded to the nearest
 * f16. The number of bits and the length of a step depend on the architecture. Only sm_89 and sm_120 add e4m3 and e5m2 so, the first
 * with 13 bits. Between them ptxas makes two products of f16 of one, of the lower and the upper elements of each register: they start
 * at 0, the second at the first's sum, and C is added last, rounded to nearest. f64 is a chain of fused multiply-adds; whole numbers
 * of 8 and 4 bits and the counts of single ones are exact.
 */
#include <math.h>

#include "finding.h"
#include "counters.h"
#include "lanes.h"
#include "number.h"
#include "shadow.h"

/* A shape in this file's terms. Lanes are counted as PTX does: group = lane / 4 is a row, lane % 4 a place in it. */
typedef struct shape {
    int m, n, k;
} shape;

static shape shape_of(const emu_inst *inst)
{
    return (shape){inst->shape[0], inst->shape[1], inst->shape[2]};
}

/* Bits of one element of A: row r, column c; elements of `bits` bits, as many in a register as fit (f64: one). */
static uint64_t element_a(const emu_warp *warp, const emu_operand *a, shape s, int bits, int r, int c)
{
    const int in_register = bits == 64 ? 1 : 32 / bits, rows = s.m / 8;
    const int place = c / in_register, lane = r % 8 * 4 + place % 4, number = r / 8 + place / 4 * rows;
    const uint64_t word = emu_unsigned(warp, &a[number], lane);

    return bits == 64 ? word : word >> c % in_register * bits & (bits == 32 ? UINT32_MAX : (UINT64_C(1) << bits) - 1);
}

static uint64_t element_b(const emu_warp *warp, const emu_operand *b, int bits, int r, int c)
{
    const int in_register = bits == 64 ? 1 : 32 / bits;
    const int place = r / in_register, lane = c * 4 + place % 4, number = place / 4;
    const uint64_t word = emu_unsigned(warp, &b[number], lane);

    return bits == 64 ? word : word >> r % in_register * bits & (bits == 32 ? UINT32_MAX : (UINT64_C(1) << bits) - 1);
}

/* C and D have two neighbours of a row in a lane; f16 packs them into one register. */
static uint64_t element_c(const emu_warp *warp, const emu_operand *c, bool is_half, int row, int column)
{
    const int lane = row % 8 * 4 + column / 2;

    if (is_half)
        return emu_unsigned(warp, &c[row / 8], lane) >> 16 * (column % 2) & 0xffff;
    return emu_unsigned(warp, &c[row / 8 * 2 + column % 2], lane);
}

static void set_element_d(emu_warp *warp, const emu_operand *d, bool is_half, int row, int column, uint64_t value)
{
    const int lane = row % 8 * 4 + column / 2;

    if (is_half) {
        const uint64_t before = emu_unsigned(warp, &d[row / 8], lane);
        const int shift = 16 * (column % 2);
        emu_set_unsigned(warp, &d[row / 8], lane, (before & ~(UINT64_C(0xffff) << shift)) | value << shift);
    } else {
        emu_set_unsigned(warp, &d[row / 8 * 2 + column % 2], lane, value);
    }
}

/* ---- one sum --------------------------------------------------------------------------------------------------------- */

/* significand * 2^(exponent - bits of fraction), exact; big: not finite, or 0. */
typedef struct term {
    int64_t significand;
    int exponent;
    double big;
} term;

typedef struct model {
    int bits;     /* kept below the largest exponent, */
    int lowest;   /* which is at least this */
    int step;     /* products added at once */
    int fraction; /* bits of it that a step's sum keeps, if it is f32 */
    bool
        widens; /* 8 bits to f16: the lower half of each register's elements are a step, the upper half another, then C is added */
} model;

static bool is_fp8(emu_type type)
{
    return type == T_E4M3 || type == T_E5M2;
}

static model model_of(int capability, emu_type type, int k)
{
    if (is_fp8(type) && capability < 90)
        return (model){13, -133, 16, 13, false};
    if (is_fp8(type) && capability < 120)
        return (model){25, -133, k / 2, 23, true};
    if (capability >= 90)
        return (model){25, -133, k, 23, false};
    if (capability >= 80)
        return (model){24, -133, type == T_TF32 ? 4 : 8, 23, false};
    return (model){24, -133, 8, 23, false};
}

enum { NO_EXPONENT = -10000 }; /* of zero: below that of any other product */

static const emu_format single = {8, 23, true, false};

static const emu_format *format_of(emu_type type)
{
    return type == T_F16    ? &emu_half
           : type == T_BF16 ? &emu_bfloat16
           : type == T_TF32 ? &emu_tf32
           : type == T_E4M3 ? &emu_e4m3
           : type == T_E5M2 ? &emu_e5m2
                            : &single;
}

static inline term read_term(uint32_t bits, const emu_format *f)
{
    const int bias = (1 << (f->exponent - 1)) - 1, top = (1 << f->exponent) - 1;
    const int exponent = (int)(bits >> f->fraction) & top;
    const int64_t fraction = bits & ((1u << f->fraction) - 1);
    const bool is_negative = bits >> (f->exponent + f->fraction) & 1;
    term t = {.exponent = (exponent ? exponent : 1) - bias};

    if (exponent == top && (f->has_infinity || fraction == (1 << f->fraction) - 1))
        t.big = fraction ? (double)NAN : is_negative ? -(double)INFINITY : (double)INFINITY;
    t.significand = exponent ? fraction | INT64_C(1) << f->fraction : fraction;
    if (t.significand == 0)
        t.exponent = NO_EXPONENT;
    if (is_negative)
        t.significand = -t.significand;
    return t;
}

/* What is subnormal in e4m3 is normal in f16; e5m2 has the exponents of f16. */
static term read_widened(uint32_t bits, emu_type type)
{
    term t = read_term(bits, format_of(type));

    while (type == T_E4M3 && t.significand != 0 && t.significand < 8 && t.significand > -8) {
        t.significand *= 2;
        t.exponent--;
    }
    return t;
}

/* A term as a double where only its sign, and whether it is zero, NaN or infinite, matter. */
static double kind_of(term t)
{
    return t.big != 0 ? t.big : (double)t.significand;
}

/* A sum in which something is not finite: NaN or an infinity. */
static double add_big(const term *a, const term *b, int count, term c)
{
    double sum = c.big;

    for (int i = 0; i < count; i++)
        if (a[i].big != 0 || b[i].big != 0)
            sum += kind_of(a[i]) * kind_of(b[i]);
    return sum;
}

/*
 * The sum of count products and c. Significands of products lack product_shift bits of what is kept, that of c c_shift, or has as many
 * too much: all is at most 41 bits.
 */
static double add_terms(const term *a, const term *b, int count, term c, model m, int product_shift, int c_shift)
{
    const int64_t product_scale = INT64_C(1) << product_shift, c_scale = INT64_C(1) << (c_shift > 0 ? c_shift : 0);
    const int c_cut = c_shift < 0 ? -c_shift : 0;
    int64_t sum = 0;
    int highest = c.exponent > m.lowest ? c.exponent : m.lowest;

    for (int i = 0; i < count; i++) {
        const int exponent = a[i].exponent + b[i].exponent;
        highest = exponent > highest ? exponent : highest;
    }
    for (int i = 0; i <= count; i++) {
        const int64_t whole = i < count ? a[i].significand * b[i].significand * product_scale : c.significand * c_scale;
        const int drop = highest - (i < count ? a[i].exponent + b[i].exponent : c.exponent - c_cut);
        if (drop < 63) /* toward zero */
            sum += (whole + (whole >> 63 & ((INT64_C(1) << drop) - 1))) >> drop;
    }
    return ldexp((double)sum, highest - m.bits);
}

/* Cut to f32 of so many bits of fraction, toward zero; what becomes zero has no sign. */
static uint32_t cut_f32(double sum, int fraction)
{
    double size = fabs(sum);
    int drop;

    if (sum != sum)
        return 0x7fffffffu;
    if (sum == 0 || isinf(sum))
        return emu_f32_bits((float)sum);
    drop = (ilogb(size) < -126 ? -126 : ilogb(size)) - fraction;
    size = ldexp(floor(ldexp(size, -drop)), drop);
    return emu_f32_bits((float)(sum < 0 && size > 0 ? -size : size));
}

/* To the nearest f16; what rounds to zero has no sign. */
static uint32_t round_f16(double sum)
{
    const uint32_t bits = emu_narrow(sum, &emu_half, ROUND_NEAREST, false);

    return bits == 0x8000 ? 0 : bits;
}

/* ---- kinds ----------------------------------------------------------------------------------------------------------- */

typedef struct parts {
    const emu_operand *d, *a, *b, *c;
    int d_count, a_count, b_count, c_count;
} parts;

static parts parts_of(const emu_inst *inst, shape s, int bits, bool half_d, bool half_c)
{
    parts p = {.d = inst->operand};
    const int in_register = bits == 64 ? 1 : 32 / bits;

    p.d_count = s.m / 8 * (half_d ? 1 : 2);
    p.a_count = s.m / 8 * s.k / in_register / 4;
    p.b_count = s.k / in_register / 4;
    p.c_count = s.m / 8 * (half_c ? 1 : 2);
    p.a = p.d + p.d_count;
    p.b = p.a + p.a_count;
    p.c = p.b + p.b_count;
    return p;
}

/* Inputs must be defined; the results are. False: the operands are not those of the shape. */
static bool begin(emu_warp *warp, const emu_inst *inst, const parts *p, shape s)
{
    cuEmuCounters *line = emu_line(warp, inst);

    if (p->d_count + p->a_count + p->b_count + p->c_count != inst->operands || p->d_count != inst->outputs) {
        emu_find(warp, inst, CUEMU_ILLEGAL, 0, 0, "%u operands; this shape and these types have %d", inst->operands,
                 p->d_count + p->a_count + p->b_count + p->c_count);
        return false;
    }
    if (warp->alive != UINT32_MAX) {
        emu_find(warp, inst, CUEMU_ILLEGAL, 0, 0, "only a whole warp can execute it");
        return false;
    }
    if (line)
        line->mma_flops += (uint64_t)(2 * s.m * s.n * s.k);
    if (warp->block->launch->checks & CUEMU_CHECK_UNINITIALISED)
        for (unsigned i = inst->outputs; i < inst->operands; i++)
            emu_check_defined(warp, inst, &inst->operand[i], UINT32_MAX, "in a matrix product");
    for (unsigned i = 0; i < inst->outputs; i++)
        emu_set_defined(warp, &inst->operand[i], UINT32_MAX, UINT32_MAX);
    return true;
}

/* A by rows and B by columns. */
typedef struct factors {
    uint64_t a[16][64], b[8][64];
} factors;

static void fetch(const emu_warp *warp, const parts *p, shape s, int bits, factors *f)
{
    for (int k = 0; k < s.k; k++) {
        for (int r = 0; r < s.m; r++)
            f->a[r][k] = element_a(warp, p->a, s, bits, r, k);
        for (int c = 0; c < s.n; c++)
            f->b[c][k] = element_b(warp, p->b, bits, k, c);
    }
}

/* count elements, in the order in which they are added; true: one is not finite. */
static bool read_elements(const uint64_t *from, int count, emu_type type, bool widens, term *to)
{
    const emu_format *const format = format_of(type);
    const int drop = type == T_TF32 ? 13 : 0; /* the lower 13 bits are not looked at */
    bool is_big = false;

    for (int i = 0; i < count; i++) {
        const term t = widens ? read_widened((uint32_t)from[i], type) : read_term((uint32_t)from[i] >> drop, format);
        to[widens ? i % 4 / 2 * (count / 2) + i / 4 * 2 + i % 2 : i] = t;
        is_big |= t.big != 0;
    }
    return is_big;
}

/* The bits of a + c, one an f16 or an f32 as the other. */
static uint32_t add_rounded(uint32_t a, uint32_t c, bool is_half)
{
    if (is_half)
        return round_f16(emu_widen(a, &emu_half) + emu_widen(c, &emu_half));
    return emu_f32_bits(emu_canonical(emu_f32(a) + emu_f32(c)));
}

/* d.a.b.c types: f32 or f16 sums of f16, bf16, tf32, e4m3, e5m2 */
static void mma_float(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const shape s = shape_of(inst);
    const emu_type type_a = (emu_type)inst->type[1], type_b = (emu_type)inst->type[2];
    const bool is_half = inst->type[0] == T_F16; /* C and D */
    const emu_format *const format_c = is_half ? &emu_half : &single;
    const int bits = type_a == T_TF32 ? 32 : is_fp8(type_a) ? 8 : 16;
    const parts p = parts_of(inst, s, bits, is_half, is_half);
    const model m = model_of(warp->block->launch->device->capability, type_a, s.k);
    const int product_shift = m.bits - format_of(type_a)->fraction - format_of(type_b)->fraction;
    bool is_big_column[8];
    term a[32], b[8][32];
    uint32_t result[16][8];
    factors f;

    (void)mask;
    if (!begin(warp, inst, &p, s))
        return;
    fetch(warp, &p, s, bits, &f);
    for (int c = 0; c < s.n; c++)
        is_big_column[c] = read_elements(f.b[c], s.k, type_b, m.widens, b[c]);
    for (int r = 0; r < s.m; r++) {
        const bool is_big_row = read_elements(f.a[r], s.k, type_a, m.widens, a);
        for (int c = 0; c < s.n; c++) {
            const uint32_t start = (uint32_t)element_c(warp, p.c, is_half, r, c);
            uint32_t sum = m.widens ? 0 : start;
            for (int k = 0; k < s.k; k += m.step) {
                const int n = s.k - k < m.step ? s.k - k : m.step;
                const term before = read_term(sum, format_c);
                double total = is_big_row || is_big_column[c] || before.big != 0 ? add_big(a + k, b[c] + k, n, before) : 0;
                if (total == 0)
                    total = add_terms(a + k, b[c] + k, n, before, m, product_shift, m.bits - format_c->fraction);
                sum = is_half ? round_f16(total) : cut_f32(total, m.fraction);
            }
            result[r][c] = m.widens ? add_rounded(sum, start, is_half) : sum;
        }
    }
    for (int r = 0; r < s.m; r++)
        for (int c = 0; c < s.n; c++)
            set_element_d(warp, p.d, is_half, r, c, result[r][c]);
}

/* Of several NaN that of b goes on, then the sum's; it is made quiet, and one that is made is 0xfff8000000000000. */
static double multiply_add(double a, double b, double sum)
{
    const double result = fma(a, b, sum);
    const double origin = b != b ? b : sum != sum ? sum : a;

    if (result == result)
        return result;
    return emu_f64(origin != origin ? emu_f64_bits(origin) | UINT64_C(0x0008000000000000) : UINT64_C(0xfff8000000000000));
}

static void mma_f64(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const shape s = shape_of(inst);
    const parts p = parts_of(inst, s, 64, false, false);
    double result[16][8];
    factors f;

    (void)mask;
    if (!begin(warp, inst, &p, s))
        return;
    fetch(warp, &p, s, 64, &f);
    for (int r = 0; r < s.m; r++)
        for (int c = 0; c < s.n; c++) {
            double sum = emu_f64(element_c(warp, p.c, false, r, c));
            for (int k = 0; k < s.k; k++)
                sum = multiply_add(emu_f64(f.a[r][k]), emu_f64(f.b[c][k]), sum);
            result[r][c] = sum;
        }
    for (int r = 0; r < s.m; r++)
        for (int c = 0; c < s.n; c++)
            set_element_d(warp, p.d, false, r, c, emu_f64_bits(result[r][c]));
}

static int64_t whole(uint64_t bits, emu_type type)
{
    switch (type) {
    case T_S8:
        return (int8_t)bits;
    case T_S4:
        return (int64_t)(bits ^ 8) - 8;
    default:
        return (int64_t)bits;
    }
}

/* Of 8 or 4 bits. choice[0]: satfinite */
static void mma_whole(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const shape s = shape_of(inst);
    const int bits = inst->type[1] == T_S4 || inst->type[1] == T_U4 ? 4 : 8;
    const parts p = parts_of(inst, s, bits, false, false);
    int64_t result[16][8];
    factors f;

    (void)mask;
    if (!begin(warp, inst, &p, s))
        return;
    fetch(warp, &p, s, bits, &f);
    for (int r = 0; r < s.m; r++)
        for (int c = 0; c < s.n; c++) {
            int64_t sum = (int32_t)element_c(warp, p.c, false, r, c);
            for (int k = 0; k < s.k; k++)
                sum += whole(f.a[r][k], inst->type[1]) * whole(f.b[c][k], inst->type[2]);
            if (inst->choice[0])
                sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            result[r][c] = sum;
        }
    for (int r = 0; r < s.m; r++)
        for (int c = 0; c < s.n; c++)
            set_element_d(warp, p.d, false, r, c, (uint64_t)(uint32_t)result[r][c]);
}

/* Of single bits, 32 in a word: how many are set in a xor b, or a and b. choice[0]: xor, and */
static void mma_bits(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const shape s = shape_of(inst), words = {s.m, s.n, s.k / 32};
    const parts p = parts_of(inst, words, 32, false, false);
    uint32_t result[16][8];
    factors f;

    (void)mask;
    if (!begin(warp, inst, &p, s))
        return;
    fetch(warp, &p, words, 32, &f);
    for (int r = 0; r < s.m; r++)
        for (int c = 0; c < s.n; c++) {
            result[r][c] = (uint32_t)element_c(warp, p.c, false, r, c);
            for (int k = 0; k < words.k; k++)
                result[r][c] += emu_popcount((uint32_t)(inst->choice[0] == 1 ? f.a[r][k] ^ f.b[c][k] : f.a[r][k] & f.b[c][k]));
        }
    for (int r = 0; r < s.m; r++)
        for (int c = 0; c < s.n; c++)
            set_element_d(warp, p.d, false, r, c, result[r][c]);
}

/* movmatrix.sync.aligned.m8n8.trans.b16: the transpose of an 8 x 8 matrix held by the warp */
static void movmatrix(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    const uint32_t *a = emu_lanes(warp, &inst->operand[1]);
    uint32_t *d = emu_lanes(warp, &inst->operand[0]), result[EMU_LANES];

    (void)mask;
    for (int i = 0; i < EMU_LANES; i++) {
        uint32_t half[2];
        for (int n = 0; n < 2; n++) {
            const int row = 2 * (i % 4) + n, column = i / 4;
            half[n] = a[row * 4 + column / 2] >> 16 * (column % 2) & 0xffff;
        }
        result[i] = half[0] | half[1] << 16;
    }
    for (int i = 0; i < EMU_LANES; i++)
        d[i] = result[i];
    emu_set_defined(warp, &inst->operand[0], emu_defined(warp, &inst->operand[1]) == UINT32_MAX ? UINT32_MAX : 0, UINT32_MAX);
}

#define MMA "mma.sync.aligned"
#define ROWCOL "{*.row.col}"
#define OF_BYTES "{.satfinite}.s32{*.s8,.u8}{*.s8,.u8}.s32" ROWCOL
#define FP8 "{*.e4m3,.e5m2}{*.e4m3,.e5m2}"
#define OF_HALF_BYTES "{.satfinite}.s32{*.s4,.u4}{*.s4,.u4}.s32" ROWCOL
#define OF_BITS "{*.xor,.and}.popc.s32.b1.b1.s32" ROWCOL

const emu_form emu_mma_forms[] = {
    {MMA ".m16n8k16{*.f32.f16.f16.f32,.f32.bf16.bf16.f32}" ROWCOL, "=4w 4w 2w 4w", mma_float, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m16n8k16.f16.f16.f16.f16" ROWCOL, "=2w 4w 2w 2w", mma_float, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m16n8k8{*.f32.f16.f16.f32,.f32.bf16.bf16.f32}" ROWCOL, "=4w 2w 1w 4w", mma_float, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m16n8k8.f16.f16.f16.f16" ROWCOL, "=2w 2w 1w 2w", mma_float, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m16n8k8.f32.tf32.tf32.f32" ROWCOL, "=4w 4w 2w 4w", mma_float, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m16n8k4.f32.tf32.tf32.f32" ROWCOL, "=4w 2w 1w 4w", mma_float, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m16n8k32.f32" FP8 ".f32" ROWCOL, "=4w 4w 2w 4w", mma_float, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m16n8k32.f16" FP8 ".f16" ROWCOL, "=2w 4w 2w 2w", mma_float, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m16n8k16.f32" FP8 ".f32" ROWCOL, "=4w 2w 1w 4w", mma_float, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m16n8k16.f16" FP8 ".f16" ROWCOL, "=2w 2w 1w 2w", mma_float, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m8n8k4.f64.f64.f64.f64" ROWCOL, "=2d 1d 1d 2d", mma_f64, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m16n8k4.f64.f64.f64.f64" ROWCOL, "=4d 2d 1d 4d", mma_f64, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m16n8k8.f64.f64.f64.f64" ROWCOL, "=4d 4d 2d 4d", mma_f64, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m16n8k16.f64.f64.f64.f64" ROWCOL, "=4d 8d 4d 4d", mma_f64, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m16n8k32" OF_BYTES, "=4w 4w 2w 4w", mma_whole, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m16n8k16" OF_BYTES, "=4w 2w 1w 4w", mma_whole, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m8n8k16" OF_BYTES, "=2w 1w 1w 2w", mma_whole, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m16n8k64" OF_HALF_BYTES, "=4w 4w 2w 4w", mma_whole, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m16n8k32" OF_HALF_BYTES, "=4w 2w 1w 4w", mma_whole, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m8n8k32" OF_HALF_BYTES, "=2w 1w 1w 2w", mma_whole, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m16n8k256" OF_BITS, "=4w 4w 2w 4w", mma_bits, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m16n8k128" OF_BITS, "=4w 2w 1w 4w", mma_bits, NULL, F_WARP, D_OWN, 0, 0},
    {MMA ".m8n8k128" OF_BITS, "=2w 1w 1w 2w", mma_bits, NULL, F_WARP, D_OWN, 0, 0},
    {"movmatrix.sync.aligned.m8n8.trans.b16", "=w w", movmatrix, NULL, F_WARP, D_OWN, 0, 0},
    {0},
};
