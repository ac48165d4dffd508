/* SPDX-License-Identifier: Apache-2.0 */
#include "product.h"

#include <math.h>

#include "lanes.h"

/* ---- floating point -------------------------------------------------------------------------------------------------- */

typedef struct model {
    int bits;     /* bits kept below the largest exponent */
    int lowest;   /* lower bound of the largest exponent */
    int step;     /* products added at once */
    int fraction; /* bits that the sum of a step keeps, if it is f32 */
    bool widens;  /* convert 8-bit types to f16, add in two steps, and add C last */
} model;

static bool is_fp8(emu_type type)
{
    return type == T_E4M3 || type == T_E5M2;
}

static model model_of(int capability, emu_type type, int k, bool is_group)
{
    if (is_fp8(type) && is_group)
        return (model){13, -133, k, 13, false};
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

/* Below the exponent of any other number; doubling it does not overflow. */
enum { NO_EXPONENT = -10000 };

enum { GROUP = 8 }; /* columns computed at once */

static const emu_format single = {8, 23, true, false};

static const emu_format *format_of(emu_type type)
{
    return type == T_F16    ? &emu_half
           : type == T_BF16 ? &emu_bfloat16
           : type == T_TF32 ? &emu_tf32
           : type == T_E4M3 ? &emu_e4m3
           : type == T_E5M2 ? &emu_e5m2
           : type == T_E2M1 ? &emu_e2m1
           : type == T_E2M3 ? &emu_e2m3
           : type == T_E3M2 ? &emu_e3m2
                            : &single;
}

/* significand * 2^(exponent - bits of fraction), exact, if it is finite. */
typedef struct term {
    int32_t significand, exponent;
    bool is_finite;
} term;

static inline term read_term(uint32_t bits, const emu_format *f)
{
    const int bias = (1 << (f->exponent - 1)) - 1, top = (1 << f->exponent) - 1;
    const int exponent = (int)(bits >> f->fraction) & top;
    const int32_t fraction = (int32_t)(bits & ((1u << f->fraction) - 1));
    const int32_t size = exponent ? fraction | 1 << f->fraction : fraction;

    return (term){.significand = bits >> (f->exponent + f->fraction) & 1 ? -size : size,
                  .exponent = size ? (exponent ? exponent : 1) - bias : NO_EXPONENT,
                  .is_finite = f->is_finite || exponent != top || (!f->has_infinity && fraction != (1 << f->fraction) - 1)};
}

/* Subnormals of e4m3 are normal in f16; e5m2 has the exponents of f16. */
static inline void normalise(term *t)
{
    const int32_t size = t->significand < 0 ? -t->significand : t->significand;

    if (size != 0 && size < 8) {
        const int up = __builtin_clz((unsigned)size) - 28;
        t->significand *= 1 << up;
        t->exponent -= up;
    }
}

/* A row of A or column of B in the order of addition. stride: from one term to the next. */
typedef struct line {
    int32_t *significand, *exponent;
    int stride;
} line;

/* order: index of the k-th element to add. Returns whether all are finite. */
static bool read_line(const uint64_t *from, int count, emu_type type, bool widens, const uint8_t *order, line to)
{
    const emu_format format = *format_of(type);
    const int drop = type == T_TF32 ? 13 : 0; /* devices ignore the lower 13 bits */
    bool is_finite = true;

    for (int k = 0; k < count; k++) {
        term t = read_term((uint32_t)from[order[k]] >> drop, &format);
        if (widens && type == T_E4M3)
            normalise(&t);
        to.significand[k * to.stride] = t.significand;
        to.exponent[k * to.stride] = t.exponent;
        is_finite &= t.is_finite;
    }
    return is_finite;
}

/* Return the value of an element. */
static double real_of(uint64_t bits, emu_type type)
{
    return emu_widen((uint32_t)bits >> (type == T_TF32 ? 13 : 0), format_of(type));
}

/* Add a step of a sum that may have a non-finite element: NaN or an infinity, or 0: it is in another step. */
static double add_infinite(const emu_product *p, int row, int column, const uint8_t *order, int count, double sum)
{
    sum = isfinite(sum) ? 0 : sum;
    for (int i = 0; i < count; i++) {
        const int k = order[i];
        const double a = real_of(p->a[row][k], p->a_type), b = real_of(p->b[column][k], p->b_type);
        if (!isfinite(a) || !isfinite(b))
            sum += a * b;
    }
    return sum;
}

/* Sums of a group of columns, in units of 2^(highest - model.bits). */
typedef struct sums {
    int64_t sum[GROUP];
    int32_t highest[GROUP];
} sums;

/* Bits to shift significands left for a sum; those of c right if negative. */
typedef struct shifts {
    int product, c;
} shifts;

/* Return the sums of count products of a row and of columns, and c. At most 27 bits are kept. */
static inline sums add_terms(line a, line b, int count, const term c[GROUP], int lowest, shifts by)
{
    const int c_cut = by.c < 0 ? -by.c : 0, c_scale = by.c > 0 ? by.c : 0;
    sums s;

    for (int j = 0; j < GROUP; j++)
        s.highest[j] = c[j].exponent > lowest ? c[j].exponent : lowest;
    for (int k = 0; k < count; k++)
        for (int j = 0; j < GROUP; j++) {
            const int32_t exponent = a.exponent[k] + b.exponent[k * GROUP + j];
            s.highest[j] = exponent > s.highest[j] ? exponent : s.highest[j];
        }
    for (int j = 0; j < GROUP; j++) {
        const int32_t whole = c[j].significand * (1 << c_scale), distance = s.highest[j] - c[j].exponent + c_cut;
        const int32_t drop = distance < 31 ? distance : 31;
        s.sum[j] = (whole + (whole >> 31 & (int32_t)((1u << drop) - 1))) >> drop; /* toward zero */
    }
    for (int k = 0; k < count; k++)
        for (int j = 0; j < GROUP; j++) {
            const int32_t whole = a.significand[k] * b.significand[k * GROUP + j] * (1 << by.product),
                          distance = s.highest[j] - a.exponent[k] - b.exponent[k * GROUP + j];
            const int32_t drop = distance < 31 ? distance : 31;
            s.sum[j] += (whole + (whole >> 31 & (int32_t)((1u << drop) - 1))) >> drop;
        }
    return s;
}

/*
 * Convert sum * 2^exponent to a format, keeping `fraction` bits of fraction: truncated, or rounded to nearest. Zero has no
 * sign.
 */
static inline uint32_t pack(int64_t sum, int exponent, const emu_format *f, int fraction, bool to_nearest)
{
    const int bias = (1 << (f->exponent - 1)) - 1;
    const uint32_t infinity = ((1u << f->exponent) - 1) << f->fraction;
    const uint64_t size = (uint64_t)(sum < 0 ? -sum : sum);
    const int top = 63 - __builtin_clzll(size | 1) + exponent, leading = top < 1 - bias ? 1 - bias : top;
    const int drop = leading - fraction - exponent;
    uint64_t kept = drop > 63 ? 0 : drop > 0 ? size >> drop : size << -drop;
    uint32_t bits;

    if (to_nearest && drop > 0 && drop < 63) {
        const uint64_t rest = size & ((UINT64_C(1) << drop) - 1), half = UINT64_C(1) << (drop - 1);
        kept += rest > half || (rest == half && kept & 1);
    }
    if (kept == 0)
        return 0;
    if (leading > bias)
        bits = infinity;
    else
        bits = ((uint32_t)(leading + bias - 1) << f->fraction) + (uint32_t)(kept << (f->fraction - fraction));
    return (bits < infinity ? bits : infinity) | (sum < 0 ? 1u << (f->exponent + f->fraction) : 0);
}

/* Return the bits of a + c, one of them f16 or f32 like the other. */
static uint32_t add_rounded(uint32_t a, uint32_t c, bool is_half)
{
    if (is_half)
        return emu_narrow(emu_widen(a, &emu_half) + emu_widen(c, &emu_half), &emu_half, ROUND_NEAREST, false);
    return emu_f32_bits(emu_canonical(emu_f32(a) + emu_f32(c)));
}

uint32_t emu_f16_to_f32(uint32_t bits)
{
    return emu_f32_bits(emu_canonical((float)emu_widen(bits, &emu_half)));
}

uint32_t emu_f32_to_f16(uint32_t bits)
{
    return emu_narrow((double)emu_f32(bits), &emu_half, ROUND_NEAREST, false);
}

EMU_CLONED void emu_multiply_float(emu_product *p, int capability, int most, bool is_group)
{
    const bool is_half = p->sum_type == T_F16;
    const emu_format *const format = is_half ? &emu_half : &single;
    const model m = model_of(capability, p->a_type, most < p->k ? most : p->k, is_group);
    const shifts by = {m.bits - format_of(p->a_type)->fraction - format_of(p->b_type)->fraction, m.bits - format->fraction};
    const int fraction = is_half ? format->fraction : m.fraction;
    int32_t a[EMU_LINES][EMU_DEPTH / 2], a_exponent[EMU_LINES][EMU_DEPTH / 2];
    int32_t b[EMU_DEPTH / 2][GROUP], b_exponent[EMU_DEPTH / 2][GROUP];
    bool is_finite_row[EMU_LINES], is_finite_column[GROUP];
    uint8_t order[EMU_DEPTH / 2];

    for (int k = 0; k < p->k; k++) /* if 8-bit types are widened, the lower halves of registers come first */
        order[k] = (uint8_t)(m.widens ? k % m.step / 2 * 4 + k / m.step * 2 + k % 2 : k);
    for (int r = 0; r < p->m; r++)
        is_finite_row[r] = read_line(p->a[r], p->k, p->a_type, m.widens, order, (line){a[r], a_exponent[r], 1});
    for (int first = 0; first < p->n; first += GROUP) {
        for (int j = 0; j < GROUP; j++)
            is_finite_column[j] =
                read_line(p->b[first + j], p->k, p->b_type, m.widens, order, (line){&b[0][j], &b_exponent[0][j], GROUP});
        for (int r = 0; r < p->m; r++) {
            uint32_t result[GROUP];
            for (int j = 0; j < GROUP; j++)
                result[j] = m.widens ? 0 : (uint32_t)p->c[r][first + j];
            for (int k = 0; k < p->k; k += m.step) {
                const int count = p->k - k < m.step ? p->k - k : m.step;
                term c[GROUP];
                sums s;
                for (int j = 0; j < GROUP; j++)
                    c[j] = read_term(result[j], format);
                s = add_terms((line){a[r] + k, a_exponent[r] + k, 1}, (line){b[k], b_exponent[k], GROUP}, count, c, m.lowest,
                              by);
                for (int j = 0; j < GROUP; j++) {
                    double infinite = 0;
                    if (!is_finite_row[r] || !is_finite_column[j] || !c[j].is_finite)
                        infinite = add_infinite(p, r, first + j, order + k, count, emu_widen(result[j], format));
                    result[j] = infinite != 0 ? emu_narrow(infinite, format, ROUND_NEAREST, false)
                                              : pack(s.sum[j], s.highest[j] - m.bits, format, fraction, is_half);
                }
            }
            for (int j = 0; j < GROUP; j++)
                p->d[r][first + j] = m.widens ? add_rounded(result[j], (uint32_t)p->c[r][first + j], is_half) : result[j];
        }
    }
}

/* Return the product of two terms. */
static inline term times(term a, term b)
{
    const int32_t significand = a.significand * b.significand;

    return (term){significand, significand ? a.exponent + b.exponent : NO_EXPONENT, a.is_finite && b.is_finite};
}

static term read_scale(uint8_t bits, emu_type type)
{
    if (type == T_UE8M0)
        return (term){1, bits - 127, bits != 255};
    return read_term(bits & 0x7f, &emu_e4m3);
}

static double real_of_scale(uint8_t bits, emu_type type)
{
    if (type == T_UE8M0)
        return bits == 255 ? (double)NAN : ldexp(1, bits - 127);
    return emu_widen(bits & 0x7f, &emu_e4m3);
}

/* Return an element of D that has a factor, a scale or a C that is not finite. */
static uint32_t scaled_infinite(const emu_product *p, const emu_scales *s, int row, int column)
{
    double sum = (double)emu_f32((uint32_t)p->c[row][column]);

    for (int k = 0; k < p->k; k++) {
        const int n = k * s->count / p->k;
        const double scale = real_of_scale(s->a[row][n], s->type) * real_of_scale(s->b[column][n], s->type);
        sum += real_of(p->a[row][k], p->a_type) * real_of(p->b[column][k], p->b_type) * scale;
    }
    return emu_narrow(sum, &single, ROUND_NEAREST, false);
}

/* Return the exact sum of products of e2m1, with exponent 0 and their bits of fraction: their exponents are not negative. */
static inline term add_exactly(const term *a, const term *b, int count)
{
    term sum = {0, 0, true};

    for (int k = 0; k < count; k++) {
        const term product = times(a[k], b[k]);
        if (product.significand)
            sum.significand += product.significand * (1 << product.exponent);
    }
    return sum;
}

/* Return a term in units of 2^(highest - bits), truncated toward zero. fraction: its bits of fraction. */
static inline int64_t cut(term t, int fraction, int highest, int bits)
{
    const int up = bits - fraction - (highest - t.exponent);
    const int64_t size = t.significand < 0 ? -(int64_t)t.significand : t.significand;
    const int64_t kept = up >= 0 ? size << up : up > -63 ? size >> -up : 0;

    return t.significand < 0 ? -kept : kept;
}

static uint32_t add_scaled(const term *a, const term *b, const term *scale_a, const term *scale_b, term c, int k, int count,
                           int fraction, int lowest)
{
    const int together = k == 64 ? 16 : 1, bits = k == 64 ? 35 : 25, terms = k / together;
    int highest = c.exponent > lowest ? c.exponent : lowest;
    term each[EMU_DEPTH / 2];
    int64_t sum;

    for (int i = 0; i < terms; i++) {
        const int n = i * count / terms, at = i * together;
        const term products = together == 1 ? times(a[at], b[at]) : add_exactly(a + at, b + at, together);
        each[i] = times(products, times(scale_a[n], scale_b[n]));
        highest = each[i].exponent > highest ? each[i].exponent : highest;
    }
    sum = cut(c, single.fraction, highest, bits);
    for (int i = 0; i < terms; i++)
        sum += cut(each[i], fraction, highest, bits);
    return pack(sum, highest - bits, &single, single.fraction, false);
}

/* Read a row of A or a column of B and its scales. Returns whether all are finite. */
static bool read_scaled(const uint64_t *from, int count, emu_type type, const uint8_t *scales, const emu_scales *s, term *to,
                        term *scale)
{
    bool is_finite = true;

    for (int k = 0; k < count; k++) {
        to[k] = read_term((uint32_t)from[k], format_of(type));
        is_finite &= to[k].is_finite;
    }
    for (int n = 0; n < s->count; n++) {
        scale[n] = read_scale(scales[n], s->type);
        is_finite &= scale[n].is_finite;
    }
    return is_finite;
}

EMU_CLONED void emu_multiply_scaled(emu_product *p, const emu_scales *s)
{
    const int fraction =
        format_of(p->a_type)->fraction + format_of(p->b_type)->fraction + (s->type == T_UE4M3 ? 2 * emu_e4m3.fraction : 0);
    const int lowest = model_of(120, p->a_type, p->k, false).lowest;
    term a[EMU_DEPTH], b[EMU_LINES][EMU_DEPTH], scale_a[4], scale_b[EMU_LINES][4];
    bool is_finite_column[EMU_LINES];

    for (int c = 0; c < p->n; c++)
        is_finite_column[c] = read_scaled(p->b[c], p->k, p->b_type, s->b[c], s, b[c], scale_b[c]);
    for (int r = 0; r < p->m; r++) {
        const bool is_finite_row = read_scaled(p->a[r], p->k, p->a_type, s->a[r], s, a, scale_a);
        for (int c = 0; c < p->n; c++) {
            const term sum = read_term((uint32_t)p->c[r][c], &single);
            if (is_finite_row && is_finite_column[c] && sum.is_finite)
                p->d[r][c] = add_scaled(a, b[c], scale_a, scale_b[c], sum, p->k, s->count, fraction, lowest);
            else
                p->d[r][c] = scaled_infinite(p, s, r, c);
        }
    }
}

EMU_CLONED void emu_multiply_single(emu_product *p)
{
    for (int r = 0; r < p->m; r++)
        for (int c = 0; c < p->n; c++) {
            float a[4], b[4], sum;
            for (int k = 0; k < 4; k++) {
                a[k] = (float)emu_widen((uint32_t)p->a[r][k], &emu_half);
                b[k] = (float)emu_widen((uint32_t)p->b[c][k], &emu_half);
            }
            if (p->sum_type == T_F16) {
                sum = (float)emu_widen((uint32_t)p->c[r][c], &emu_half) + fmaf(a[1], b[1], a[0] * b[0]);
                p->d[r][c] = emu_narrow((double)(sum + fmaf(a[3], b[3], a[2] * b[2])), &emu_half, ROUND_NEAREST, false);
            } else {
                sum = fmaf(a[3], b[3], fmaf(a[2], b[2], fmaf(a[1], b[1], fmaf(a[0], b[0], 0))));
                p->d[r][c] = emu_f32_bits(emu_canonical(emu_f32((uint32_t)p->c[r][c]) + sum));
            }
        }
}

/* ---- f64, integers, bits ---------------------------------------------------------------------------------------------- */

/* The NaN of b takes precedence, then the sum's; it is made quiet. An invalid operation gives 0xfff8000000000000. */
static inline double multiply_add(double a, double b, double sum)
{
    const double result = fma(a, b, sum);
    const double origin = b != b ? b : sum != sum ? sum : a;

    if (result == result)
        return result;
    return emu_f64(origin != origin ? emu_f64_bits(origin) | UINT64_C(0x0008000000000000) : UINT64_C(0xfff8000000000000));
}

EMU_CLONED void emu_multiply_f64(emu_product *p, emu_round round)
{
    if (round != ROUND_NEAREST)
        fesetround(emu_fenv(round));
    for (int r = 0; r < p->m; r++)
        for (int c = 0; c < p->n; c++) {
            double sum = emu_f64(p->c[r][c]);
            for (int k = 0; k < p->k; k++)
                sum = multiply_add(emu_f64(p->a[r][k]), emu_f64(p->b[c][k]), sum);
            p->d[r][c] = emu_f64_bits(sum);
        }
    if (round != ROUND_NEAREST)
        fesetround(FE_TONEAREST);
}

static void read_wholes(const uint64_t *from, int count, emu_type type, int32_t *to)
{
    const int spare = type == T_S4 || type == T_U4 ? 28 : 24;

    for (int k = 0; k < count; k++)
        to[k] = emu_type_is_signed(type) ? (int32_t)((uint32_t)from[k] << spare) >> spare : (int32_t)from[k];
}

EMU_CLONED void emu_multiply_whole(emu_product *p, bool saturates)
{
    int32_t a[EMU_DEPTH], b[EMU_LINES][EMU_DEPTH];

    for (int c = 0; c < p->n; c++)
        read_wholes(p->b[c], p->k, p->b_type, b[c]);
    for (int r = 0; r < p->m; r++) {
        read_wholes(p->a[r], p->k, p->a_type, a);
        for (int c = 0; c < p->n; c++) {
            int32_t products = 0; /* cannot overflow */
            int64_t sum;
            for (int k = 0; k < p->k; k++)
                products += a[k] * b[c][k];
            sum = (int64_t)(int32_t)p->c[r][c] + products;
            if (saturates)
                sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            p->d[r][c] = (uint32_t)sum;
        }
    }
}

EMU_CLONED void emu_multiply_bits(emu_product *p, bool is_xor)
{
    for (int r = 0; r < p->m; r++)
        for (int c = 0; c < p->n; c++) {
            uint32_t sum = (uint32_t)p->c[r][c];
            for (int k = 0; k < p->k; k++)
                sum += (uint32_t)__builtin_popcountll(is_xor ? p->a[r][k] ^ p->b[c][k] : p->a[r][k] & p->b[c][k]);
            p->d[r][c] = sum;
        }
}
