/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* The types of 8 bits and the integers: every value both ways, and products that are rounded, saturated, scaled, and wrap. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tilejit/reference.h>

#include "number.h"
#include "scales.h"

/* ---- floats of 8 bits --------------------------------------------------------------------------------------------- */

typedef struct format {
    tj_type type;
    int bias, fraction_bits;
    unsigned largest; /* the pattern of the largest number; those above are infinity and NaN */
    double value;     /* of that pattern */
} format;

static const format formats[] = {{TJ_E4M3, 7, 3, 0x7e, 448.0}, {TJ_E5M2, 15, 2, 0x7b, 57344.0}};

/* Return the value of a pattern by the definition of the format, with scalbn alone. */
static double defined_value(const format *f, unsigned pattern)
{
    const unsigned magnitude = pattern & 0x7f, one = 1u << f->fraction_bits;
    const int exponent = (int)(magnitude / one);
    const double fraction = (double)(magnitude % one), sign = pattern & 0x80 ? -1.0 : 1.0;

    if (magnitude > f->largest)
        return f->type == TJ_E5M2 && magnitude == f->largest + 1 ? sign * INFINITY : NAN;
    return sign * scalbn(exponent ? one + fraction : fraction, (exponent ? exponent : 1) - f->bias - f->fraction_bits);
}

static unsigned narrowed(tj_type type, long double value)
{
    uint8_t pattern = 0x55;

    tj_write_number(type, &pattern, 0, value);
    return pattern;
}

Test(fp8, reads_and_writes_every_pattern_as_defined)
{
    for (size_t i = 0; i < 2; i++)
        for (unsigned pattern = 0; pattern < 256; pattern++) {
            const format *f = &formats[i];
            const uint8_t narrow = (uint8_t)pattern;
            const double want = defined_value(f, pattern), got = tj_read_number(f->type, &narrow, 0);
            const unsigned back = narrowed(f->type, (long double)got);

            cr_expect(isnan(want) ? isnan(got) : memcmp(&want, &got, sizeof want) == 0, "type %d 0x%02x", f->type, pattern);
            cr_expect(eq(uint, back, isnan(want) ? 0x7f : isinf(want) ? (pattern & 0x80) | f->largest : pattern));
        }
    cr_expect(eq(dbl, defined_value(&formats[0], 0x7e), 448.0));
    cr_expect(eq(dbl, defined_value(&formats[1], 0x7b), 57344.0));
    cr_expect(eq(dbl, defined_value(&formats[0], 0x01), 0x1p-9));
    cr_expect(eq(dbl, defined_value(&formats[1], 0x01), 0x1p-16));
}

Test(fp8, rounds_to_nearest_even_and_saturates)
{
    for (size_t i = 0; i < 2; i++) {
        const format *f = &formats[i];

        for (unsigned low = 0; low < f->largest; low++) {
            const double tie = (defined_value(f, low) + defined_value(f, low + 1)) / 2;

            cr_expect(eq(uint, narrowed(f->type, (long double)tie), low + (low & 1)), "type %d 0x%02x", f->type, low);
            cr_expect(eq(uint, narrowed(f->type, -(long double)tie), 0x80 | (low + (low & 1))));
            cr_expect(eq(uint, narrowed(f->type, nextafterl((long double)tie, 0.0L)), low));
            cr_expect(eq(uint, narrowed(f->type, nextafterl((long double)tie, INFINITY)), low + 1));
        }
        cr_expect(eq(uint, narrowed(f->type, 1.01L * (long double)f->value), f->largest));
        cr_expect(eq(uint, narrowed(f->type, 1e300L), f->largest));
        cr_expect(eq(uint, narrowed(f->type, -INFINITY), 0x80 | f->largest));
        cr_expect(eq(uint, narrowed(f->type, -0.0L), 0x80));
        cr_expect(eq(uint, narrowed(f->type, NAN), 0x7f));
        cr_expect(eq(dbl, (double)tj_number_limits_of(f->type)->largest, f->value));
        cr_expect(eq(dbl, (double)tj_number_limits_of(f->type)->smallest_subnormal, defined_value(f, 1)));
        cr_expect(eq(dbl, (double)tj_number_limits_of(f->type)->unit_roundoff, tj_type_get_facts(f->type)->unit_roundoff));
    }
}

/* ---- pairs of 4 bits ---------------------------------------------------------------------------------------------- */

/* The first of two is in the lower half of a byte; the other half stays when one is written. */
Test(pairs, are_read_and_written_by_halves)
{
    static const double numbers[5] = {-8, 7, -1, 100, -2.5};
    uint8_t byte[3] = {0x55, 0x55, 0x55}, copy[3] = {0xee, 0xee, 0xee};
    double back[5];

    tj_convert(TJ_S4, byte, TJ_F64, numbers, 5);
    cr_expect(byte[0] == 0x78 && byte[1] == 0x7f && byte[2] == 0x5e, "%02x %02x %02x", byte[0], byte[1], byte[2]);
    tj_convert(TJ_F64, back, TJ_S4, byte, 5);
    cr_expect(back[0] == -8 && back[1] == 7 && back[2] == -1 && back[3] == 7 && back[4] == -2);
    tj_convert(TJ_S4, copy, TJ_S4, byte, 5);
    cr_expect(copy[0] == 0x78 && copy[1] == 0x7f && copy[2] == 0xee, "%02x %02x %02x", copy[0], copy[1], copy[2]);
    for (int pattern = 0; pattern < 16; pattern++) {
        const uint8_t pair = (uint8_t)(pattern << 4 | (15 - pattern));

        cr_expect(eq(dbl, tj_read_number(TJ_S4, &pair, 1), pattern < 8 ? pattern : pattern - 16));
        cr_expect(eq(dbl, tj_read_number(TJ_S4, &pair, 0), 15 - pattern < 8 ? 15 - pattern : -1 - pattern));
    }
}

Test(pairs, of_e2m1_and_u4_hold_every_value)
{
    static const double of_e2m1[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

    for (int pattern = 0; pattern < 16; pattern++) {
        const uint8_t pair = (uint8_t)(pattern << 4 | (15 - pattern));
        const double value = tj_read_number(TJ_E2M1, &pair, 1);
        uint8_t back = 0;

        cr_expect(eq(dbl, value, copysign(of_e2m1[pattern % 8], pattern < 8 ? 1 : -1)));
        cr_expect(eq(int, signbit(value) != 0, pattern >= 8));
        tj_write_number(TJ_E2M1, &back, 1, (long double)value);
        cr_expect(eq(int, back, pattern << 4));
        cr_expect(eq(dbl, tj_read_number(TJ_U4, &pair, 1), pattern));
        cr_expect(eq(dbl, tj_read_number(TJ_U4, &pair, 0), 15 - pattern));
        tj_write_number(TJ_U4, &back, 0, (long double)(pattern + 0.25));
        cr_expect(eq(int, back, pattern << 4 | pattern));
    }
}

Test(pairs, of_e2m1_and_u4_round_to_nearest_even_and_saturate)
{
    static const struct {
        double value, e2m1, u4;
    } rows[] = {{0.25, 0, 0},   {0.26, 0.5, 0}, {0.75, 1, 1},      {1.25, 1, 1},      {1.75, 2, 2}, {2.5, 2, 2},
                {2.51, 3, 3},   {3.5, 4, 4},    {5, 4, 5},         {5.01, 6, 5},      {7, 6, 7},    {14.5, 6, 14},
                {15.5, 6, 15},  {1e300, 6, 15}, {-0.25, 0, 0},     {-0.75, -1, 0},    {-5, -4, 0},  {-1e300, -6, 0},
                {1e-300, 0, 0}, {NAN, 6, 0},    {INFINITY, 6, 15}, {-INFINITY, -6, 0}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t e2m1 = 0x55, u4 = 0x55;

        tj_write_number(TJ_E2M1, &e2m1, 0, (long double)rows[i].value);
        tj_write_number(TJ_U4, &u4, 1, (long double)rows[i].value);
        cr_expect(eq(dbl, tj_read_number(TJ_E2M1, &e2m1, 0), rows[i].e2m1), "%g", rows[i].value);
        cr_expect(eq(dbl, tj_read_number(TJ_U4, &u4, 1), rows[i].u4), "%g", rows[i].value);
        cr_expect(e2m1 >> 4 == 5 && (u4 & 0xf) == 5);
    }
}

/* ---- exponents alone ---------------------------------------------------------------------------------------------- */

Test(e8m0, holds_powers_of_2_and_one_NaN)
{
    for (unsigned pattern = 0; pattern < 256; pattern++) {
        const uint8_t bits = (uint8_t)pattern;
        const double value = tj_read_number(TJ_E8M0, &bits, 0);

        cr_expect(pattern == 255 ? isnan(value) : value == scalbn(1.0, (int)pattern - 127), "%u", pattern);
        cr_expect(eq(uint, narrowed(TJ_E8M0, (long double)value), pattern));
        if (pattern >= 254)
            continue;
        const long double tie = 1.5L * (long double)value;

        cr_expect(eq(uint, narrowed(TJ_E8M0, tie), pattern + (pattern & 1)));
        cr_expect(eq(uint, narrowed(TJ_E8M0, nextafterl(tie, 0.0L)), pattern));
        cr_expect(eq(uint, narrowed(TJ_E8M0, nextafterl(tie, INFINITY)), pattern + 1));
    }
    cr_expect(eq(uint, narrowed(TJ_E8M0, 0), 0));
    cr_expect(eq(uint, narrowed(TJ_E8M0, 1e-300L), 0));
    cr_expect(eq(uint, narrowed(TJ_E8M0, INFINITY), 254));
    cr_expect(eq(uint, narrowed(TJ_E8M0, 1e300L), 254));
    cr_expect(eq(uint, narrowed(TJ_E8M0, -1), 255));
}

/* ---- integers ----------------------------------------------------------------------------------------------------- */

Test(integers, are_rounded_to_nearest_even_and_saturate)
{
    static const struct {
        double value, s8, u8, s32;
    } rows[] = {{0.5, 0, 0, 0},
                {1.5, 2, 2, 2},
                {-2.5, -2, 0, -2},
                {127.5, 127, 128, 128},
                {126.5, 126, 126, 126},
                {-128.5, -128, 0, -128},
                {255.5, 127, 255, 256},
                {1e10, 127, 255, INT32_MAX},
                {-1e300, -128, 0, INT32_MIN},
                {INFINITY, 127, 255, INT32_MAX},
                {NAN, 0, 0, 0},
                {-0.0, 0, 0, 0}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int8_t s8;
        uint8_t u8;
        int32_t s32;

        tj_convert(TJ_S8, &s8, TJ_F64, &rows[i].value, 1);
        tj_convert(TJ_U8, &u8, TJ_F64, &rows[i].value, 1);
        tj_convert(TJ_S32, &s32, TJ_F64, &rows[i].value, 1);
        cr_expect(eq(dbl, (double)s8, rows[i].s8), "row %zu", i);
        cr_expect(eq(dbl, (double)u8, rows[i].u8), "row %zu", i);
        cr_expect(eq(dbl, (double)s32, rows[i].s32), "row %zu", i);
        cr_expect(eq(dbl, tj_read_number(TJ_S8, &s8, 0), (double)s8));
        cr_expect(eq(dbl, tj_read_number(TJ_U8, &u8, 0), (double)u8));
        cr_expect(eq(dbl, tj_read_number(TJ_S32, &s32, 0), (double)s32));
    }
}

/* ---- products ----------------------------------------------------------------------------------------------------- */

enum { J = 3, K = 5, L = 4 };

typedef struct sample {
    tj_problem problem;
    tj_host_operands operands;
    int8_t m[J * K], n[K * L];
} sample;

static int32_t sum_at(const sample *s, int r, int c)
{
    int32_t sum = 0;

    for (int i = 0; i < K; i++)
        sum += s->m[r * K + i] * (s->problem.n.type == TJ_U8 ? (uint8_t)s->n[i * L + c] : s->n[i * L + c]);
    return sum;
}

static void fill(sample *s, tj_type n, tj_type p)
{
    const tj_problem problem = TJ_PROBLEM_INIT(J, K, L, TJ_S8);

    *s = (sample){.problem = problem};
    s->problem.n.type = n;
    s->problem.p.type = p;
    tj_fill_random(TJ_S8, s->m, J * K, 1);
    tj_fill_random(TJ_S8, s->n, K * L, 2);
    s->operands = (tj_host_operands)TJ_HOST_OPERANDS(s->m, s->n);
}

static int passes(const sample *s, const void *p)
{
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    tj_error err = {0};

    cr_assert(eq(int, tj_reference_check(&s->problem, &s->operands, p, 0, 1, &report, &err), TJ_OK), "%s", err.message);
    return report.passed;
}

static void compute(const sample *s, void *p)
{
    tj_error err = {0};

    cr_assert(eq(int, tj_reference_product(&s->problem, &s->operands, p, 1, &err), TJ_OK), "%s", err.message);
}

Test(s32, is_exact_and_one_off_fails)
{
    static const tj_type second[] = {TJ_S8, TJ_U8};

    for (size_t t = 0; t < 2; t++) {
        int32_t p[J * L];
        sample s;

        fill(&s, second[t], TJ_S32);
        compute(&s, p);
        for (int i = 0; i < J * L; i++)
            cr_expect(eq(int, p[i], sum_at(&s, i / L, i % L)));
        cr_expect(passes(&s, p));
        p[7]++;
        cr_expect(not(passes(&s, p)));
    }
}

Test(s32, wraps_where_the_sum_does_not_fit)
{
    enum { DEEP = 131072 };
    static int8_t m[DEEP], n[DEEP];
    const tj_problem problem = TJ_PROBLEM_INIT(1, DEEP, 1, TJ_S8);
    const tj_host_operands operands = TJ_HOST_OPERANDS(m, n);
    sample s = {.problem = problem, .operands = operands};
    int32_t p = 0;

    memset(m, -128, sizeof m);
    memset(n, -128, sizeof n);
    compute(&s, &p);
    cr_expect(eq(int, p, INT32_MIN), "2^31 is one too much");
    cr_expect(passes(&s, &p));
}

Test(s32, saturates_in_narrower_types_and_where_alpha_and_beta_go_beyond)
{
    static const double alpha[] = {1, -3, 2147483647.0};
    static const tj_type types[] = {TJ_S8, TJ_U8, TJ_S32};

    for (size_t a = 0; a < 3; a++)
        for (size_t t = 0; t < 3; t++) {
            int32_t p[J * L], c[J * L];
            sample s;

            fill(&s, TJ_S8, types[t]);
            s.problem.epilogue.has_alpha = s.problem.epilogue.has_beta = 1;
            tj_fill_random(types[t], c, J * L, 3);
            s.operands.c = c, s.operands.alpha = alpha[a], s.operands.beta = -5;
            compute(&s, p);
            for (int i = 0; i < J * L; i++) {
                const int64_t exact =
                    (int64_t)alpha[a] * sum_at(&s, i / L, i % L) - 5 * (int64_t)tj_read_number(types[t], c, i);
                const int64_t least = t == 0 ? -128 : t == 1 ? 0 : INT32_MIN, most = t == 0 ? 127 : t == 1 ? 255 : INT32_MAX;
                const int64_t want = exact < least ? least : exact > most ? most : exact;

                cr_expect(eq(i64, (int64_t)tj_read_number(types[t], p, i), want));
            }
            cr_expect(passes(&s, p));
        }
}

Test(s32, goes_on_as_f32_where_it_is_scaled)
{
    static const float rows[J] = {0.001f, -0.25f, 0.01f}, one = 0.5f;
    int8_t p[J * L];
    float real[J * L];
    sample s;

    fill(&s, TJ_S8, TJ_S8);
    s.problem.scale[TJ_MATRIX_M] = (tj_scale)SCALE_EACH, s.problem.scale[TJ_MATRIX_N] = (tj_scale)ONE_SCALE;
    s.operands.scale[TJ_MATRIX_M] = (tj_host_operand){rows, 0, 0},
    s.operands.scale[TJ_MATRIX_N] = (tj_host_operand){&one, 0, 0};
    compute(&s, p);
    for (int i = 0; i < J * L; i++) {
        const double value = nearbyint((double)sum_at(&s, i / L, i % L) * (double)rows[i / L] * 0.5);

        cr_expect(eq(dbl, (double)p[i], fmin(fmax(value, -128), 127)));
    }
    cr_expect(passes(&s, p));
    p[0] = (int8_t)(p[0] + 2);
    cr_expect(not(passes(&s, p)));
    s.problem.p.type = TJ_F32;
    compute(&s, real);
    cr_expect(passes(&s, real));
    real[1] *= 1.00001f;
    cr_expect(not(passes(&s, real)));
}

Test(s32, refuses_scalars_that_are_not_whole)
{
    static const double wrong[] = {0.5, 2147483648.0, -2147483648.0, NAN, INFINITY};
    int32_t p[J * L];
    sample s;

    fill(&s, TJ_S8, TJ_S32);
    s.problem.epilogue.has_alpha = 1;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        tj_error err = {0};

        s.operands.alpha = wrong[i];
        cr_expect(eq(int, tj_reference_product(&s.problem, &s.operands, p, 1, &err), TJ_ERR_INVALID_ARGUMENT));
        cr_expect(ne(ptr, strstr(err.message, "alpha is "), NULL), "%s", err.message);
        cr_expect(ne(ptr, strstr(err.message, "use a P of f32, or a scale"), NULL), "%s", err.message);
        s.problem.p.type = TJ_F32;
        cr_expect(eq(int, tj_reference_product(&s.problem, &s.operands, p, 1, &err), TJ_OK), "P of f32 takes it");
        s.problem.p.type = TJ_S32;
    }
}

/* M rounded to tf32 is inside the bound of tf32, and far outside that of f32. */
Test(tf32, has_a_bound_of_its_own)
{
    enum { N = 8, DEPTH = 64 };
    static float m[N * DEPTH], n[DEPTH * N], rounded[N * DEPTH], p[N * N];
    tj_problem problem = TJ_PROBLEM_INIT(N, DEPTH, N, TJ_F32);
    sample s = {.problem = problem, .operands = TJ_HOST_OPERANDS(m, n)};

    tj_fill_random(TJ_F32, m, N * DEPTH, 1);
    tj_fill_random(TJ_F32, n, DEPTH * N, 2);
    for (int i = 0; i < N * DEPTH; i++) {
        uint32_t bits;

        memcpy(&bits, &m[i], sizeof bits);
        bits = (bits + 0x1000) & ~0x1fffu;
        memcpy(&rounded[i], &bits, sizeof bits);
    }
    s.operands.m = rounded;
    compute(&s, p);
    s.operands.m = m;
    cr_expect(not(passes(&s, p)));
    s.problem.compute = TJ_COMPUTE_TF32;
    cr_expect(passes(&s, p));
    p[3] += 0.1f;
    cr_expect(not(passes(&s, p)));
}

/* Some bits of a product may be missing, whatever k is; fewer than tf32 loses. */
Test(f32_split, has_a_bound_of_its_own)
{
    static const struct {
        float p;
        bool of_f32, of_split;
    } rows[] = {{1, true, true}, {1 + 0x1p-23F, true, true}, {1 + 0x1p-18F, false, true}, {1 + 0x1p-16F, false, false}};
    static const float m[2] = {1, 1}, n[2] = {0.5F, 0.5F};
    const tj_problem problem = TJ_PROBLEM_INIT(1, 2, 1, TJ_F32);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        sample s = {.problem = problem, .operands = TJ_HOST_OPERANDS(m, n)};

        cr_expect(eq(int, passes(&s, &rows[i].p), rows[i].of_f32), "row %zu", i);
        s.problem.compute = TJ_COMPUTE_F32_SPLIT;
        cr_expect(eq(int, passes(&s, &rows[i].p), rows[i].of_split), "row %zu", i);
    }
}

Test(scales, have_strides_of_a_batch_and_are_needed)
{
    static const float scale[] = {1, 2, 3, 4, 5, 6};
    static const int64_t strides[] = {0, TJ_BROADCAST, 4};
    tj_problem problem = TJ_PROBLEM_INIT(2, 1, 1, TJ_F32);
    const float ones[4] = {1, 1, 1, 1};

    problem.batch = 2;
    problem.scale[TJ_MATRIX_M] = (tj_scale)SCALE_EACH;
    for (size_t i = 0; i < 3; i++) {
        const tj_host_operands operands = {sizeof operands, ones, ones, NULL, 1.0, 0.0, {{scale, 0, strides[i]}}};
        const float second = i == 0 ? 3 : i == 1 ? 1 : 5;
        float p[4];

        cr_assert(eq(int, tj_reference_product(&problem, &operands, p, 1, NULL), TJ_OK));
        cr_expect(eq(flt, p[0], 1));
        cr_expect(eq(flt, p[1], 2));
        cr_expect(eq(flt, p[2], second));
        cr_expect(eq(flt, p[3], second + 1));
    }
    tj_host_operands without = TJ_HOST_OPERANDS(ones, ones);
    tj_error err = {0};
    float p[4];

    cr_expect(eq(int, tj_reference_product(&problem, &without, p, 1, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(ne(ptr, strstr(err.message, "scale_m is NULL"), NULL), "%s", err.message);
}

/* NaN in, NaN out; what is too large is the largest number, of either sign. */
Test(fp8, holds_what_its_p_cannot)
{
    const float m[3] = {1e6f, -1e6f, NAN}, one = 1;
    tj_problem problem = TJ_PROBLEM_INIT(3, 1, 1, TJ_F32);
    sample s = {.problem = problem, .operands = TJ_HOST_OPERANDS(m, &one)};

    for (size_t i = 0; i < 2; i++) {
        const format *f = &formats[i];
        uint8_t p[3];

        s.problem.p.type = f->type;
        compute(&s, p);
        cr_expect(eq(uint, p[0], f->largest));
        cr_expect(eq(uint, p[1], 0x80 | f->largest));
        cr_expect(eq(uint, p[2], 0x7f));
        cr_expect(passes(&s, p));
        p[0]--;
        cr_expect(not(passes(&s, p)));
        p[0] = (uint8_t)(f->largest + 1); /* infinity, or NaN */
        cr_expect(not(passes(&s, p)));
    }
}
