/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* The 16-bit types against their definition, all 65 536 values and every tie; conversion, random numbers, spans. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include <tilejit/reference.h>

#include "number.h"

typedef struct format {
    const char *name;
    tj_type dtype;
    int exponent_bits, fraction_bits;
} format;

static const format formats[] = {{"f16", TJ_F16, 5, 10}, {"bf16", TJ_BF16, 8, 7}};

/* Return the meaning of a pattern by IEEE 754. */
static double defined_value(const format *f, unsigned pattern)
{
    const int bias = (1 << (f->exponent_bits - 1)) - 1, exponent = (int)(pattern & 0x7fff) >> f->fraction_bits;
    const double fraction = ldexp((double)(pattern & ((1u << f->fraction_bits) - 1)), -f->fraction_bits);
    const double sign = pattern & 0x8000 ? -1.0 : 1.0;

    if (exponent == (1 << f->exponent_bits) - 1)
        return fraction == 0.0 ? sign * INFINITY : NAN;
    return exponent == 0 ? sign * ldexp(fraction, 1 - bias) : sign * ldexp(1.0 + fraction, exponent - bias);
}

static unsigned narrowed(const format *f, long double value)
{
    uint16_t pattern = 0x5555;

    tj_write_number(f->dtype, &pattern, 0, value);
    return pattern;
}

Test(number, widens_every_16_bit_pattern_as_defined)
{
    for (size_t i = 0; i < 2; i++) {
        int wrong = 0;

        for (unsigned pattern = 0; pattern < 65536; pattern++) {
            const uint16_t narrow = (uint16_t)pattern;
            const double want = defined_value(&formats[i], pattern), got = tj_read_number(formats[i].dtype, &narrow, 0);

            wrong += isnan(want) ? !isnan(got) : memcmp(&want, &got, sizeof want) != 0;
        }
        cr_expect(eq(int, wrong, 0), "%s", formats[i].name);
    }
}

Test(number, narrowing_gives_every_pattern_back)
{
    for (size_t i = 0; i < 2; i++)
        for (unsigned pattern = 0; pattern < 65536; pattern++) {
            const uint16_t narrow = (uint16_t)pattern;
            const double value = tj_read_number(formats[i].dtype, &narrow, 0);
            const unsigned quiet = isnan(value) ? 1u << (formats[i].fraction_bits - 1) : 0;

            cr_assert(eq(uint, narrowed(&formats[i], (long double)value), pattern | quiet), "%s %04x", formats[i].name,
                      pattern);
        }
}

Test(number, rounds_every_tie_to_even_and_its_neighbours_to_the_nearest)
{
    for (size_t i = 0; i < 2; i++) {
        const format *f = &formats[i];
        const unsigned infinity = ((1u << f->exponent_bits) - 1) << f->fraction_bits;
        int checked = 0;

        for (unsigned low = 0; low < infinity; low++) {
            const double below = defined_value(f, low);
            /* Above the largest number stands what would come next if the exponent went on. */
            const double above = low + 1 < infinity ? defined_value(f, low + 1) : 2 * below - defined_value(f, low - 1);
            const double tie = (below + above) / 2;
            const unsigned even = low & 1 ? low + 1 : low;

            cr_assert(eq(uint, narrowed(f, (long double)tie), even), "%s %04x", f->name, low);
            cr_assert(eq(uint, narrowed(f, -(long double)tie), even | 0x8000), "%s -%04x", f->name, low);
            cr_assert(eq(uint, narrowed(f, (long double)nextafter(tie, 0.0)), low), "%s %04x", f->name, low);
            cr_assert(eq(uint, narrowed(f, (long double)nextafter(tie, INFINITY)), low + 1), "%s %04x", f->name, low);
            /* Nearer to the tie than float64 can say: rounding twice would go wrong here. */
            cr_assert(eq(uint, narrowed(f, nextafterl((long double)tie, 0.0L)), low), "%s %04x", f->name, low);
            cr_assert(eq(uint, narrowed(f, nextafterl((long double)tie, INFINITY)), low + 1), "%s %04x", f->name, low);
            checked++;
        }
        cr_assert(eq(int, checked, (int)infinity));
        cr_expect(eq(uint, narrowed(f, 1e300L), infinity));
        cr_expect(eq(uint, narrowed(f, -INFINITY), infinity | 0x8000));
        cr_expect(eq(uint, narrowed(f, -0.0L), 0x8000));
        cr_expect(eq(uint, narrowed(f, 1e-300L), 0));
        cr_expect(eq(uint, narrowed(f, -5e-324L), 0x8000));
    }
}

Test(number, limits_agree_with_the_formats)
{
    cr_expect(eq(dbl, (double)tj_number_limits_of(TJ_F32)->largest, FLT_MAX));
    cr_expect(eq(dbl, (double)tj_number_limits_of(TJ_F64)->largest, DBL_MAX));
    cr_expect(eq(dbl, (double)tj_number_limits_of(TJ_F16)->largest, defined_value(&formats[0], 0x7bff)));
    cr_expect(eq(dbl, (double)tj_number_limits_of(TJ_BF16)->largest, defined_value(&formats[1], 0x7f7f)));
    cr_expect(eq(dbl, (double)tj_number_limits_of(TJ_F32)->smallest_subnormal, (double)FLT_TRUE_MIN));
    cr_expect(eq(dbl, (double)tj_number_limits_of(TJ_F64)->smallest_subnormal, DBL_TRUE_MIN));
    for (size_t i = 0; i < 2; i++) {
        const tj_number_limits *limits = tj_number_limits_of(formats[i].dtype);

        cr_expect(eq(dbl, (double)limits->smallest_subnormal, defined_value(&formats[i], 1)));
        cr_expect(eq(dbl, (double)limits->unit_roundoff, ldexp(1.0, -formats[i].fraction_bits - 1)));
        cr_expect(isinf(defined_value(&formats[i], narrowed(&formats[i], limits->overflow))));
        cr_expect(not(isinf(defined_value(&formats[i], narrowed(&formats[i], nextafterl(limits->overflow, 0.0L))))));
    }
}

Test(convert, goes_between_all_types)
{
    const double values[] = {0.0, -0.0, 1.0, -2.5, 0.1, 65504.0, 65520.0, 1e-7, 3.4e38, 1e300, INFINITY, -INFINITY};
    enum { COUNT = sizeof values / sizeof values[0] };

    for (int from = TJ_F32; from <= tj_type_count(); from++)
        for (int to = TJ_F32; to <= tj_type_count(); to++) {
            double source[2 * COUNT], target[2 * COUNT]; /* an element may have two parts */

            tj_convert((tj_type)from, source, TJ_F64, values, COUNT);
            tj_convert((tj_type)to, target, (tj_type)from, source, COUNT);
            for (int i = 0; i < COUNT; i++) {
                double once[2], want[2];

                tj_write_number((tj_type)from, once, 0, (long double)values[i]);
                tj_write_number((tj_type)to, want, 0, (long double)tj_read_number((tj_type)from, once, 0));
                const double got = tj_read_number((tj_type)to, target, i), read = tj_read_number((tj_type)to, want, 0);

                cr_expect(isnan(read) ? isnan(got) : got == read, "%d to %d, value %d", from, to, i);
            }
        }
}

Test(convert, copies_bits_where_the_type_stays)
{
    const uint16_t signalling = 0x7c01;
    const uint32_t payload = 0xff812345;
    uint16_t half = 0;
    uint32_t single = 0;

    tj_convert(TJ_F16, &half, TJ_F16, &signalling, 1);
    tj_convert(TJ_F32, &single, TJ_F32, &payload, 1);
    cr_expect(eq(u16, half, signalling));
    cr_expect(eq(u32, single, payload));
    tj_convert(TJ_F32, NULL, TJ_F64, NULL, 0);
    tj_convert(TJ_F32, NULL, TJ_F32, NULL, 0);
}

Test(fill_random, follows_splitmix64)
{
    double first;

    tj_fill_random(TJ_F64, &first, 1, 0);
    /* splitmix64's first output from seed 0 is e220a8397b1dcdaf */
    cr_expect(eq(dbl, first, ldexp((double)(int64_t)((0xe220a8397b1dcdafull >> 11) * 2 + 1 - (1ull << 53)), -53)));
}

Test(fill_random, is_uniform_in_every_type)
{
    static const struct {
        double least, most;
    } integers[] = {
        [TJ_S8] = {-128, 127}, [TJ_U8] = {0, 255}, [TJ_S32] = {-65536, 65535}, [TJ_S4] = {-8, 7}, [TJ_U4] = {0, 15}};
    enum { COUNT = 100000 };
    static double buffer[2 * COUNT], again[2 * COUNT]; /* an element may have two parts */

    for (int dtype = TJ_F32; dtype <= tj_type_count(); dtype++) {
        if (dtype == TJ_E2M1 || dtype == TJ_E8M0) /* all patterns alike; powers of 2 */
            continue;
        const size_t bytes = COUNT * tj_type_bytes((tj_type)dtype);
        const bool is_integer = tj_type_get_facts((tj_type)dtype)->is_integer;
        const double least = is_integer ? integers[dtype].least : -1, most = is_integer ? integers[dtype].most : 1;
        const double levels = most - least + 1, spread = is_integer ? (levels + 1) / (levels - 1) / 3 : 1.0 / 3.0;
        double sum = 0, squares = 0;
        int outside = 0;

        tj_fill_random((tj_type)dtype, buffer, COUNT, 7);
        tj_fill_random((tj_type)dtype, again, COUNT, 7);
        cr_expect(zero(int, memcmp(buffer, again, bytes)), "the same seed, type %d", dtype);
        tj_fill_random((tj_type)dtype, again, COUNT, 8);
        cr_expect(ne(int, memcmp(buffer, again, bytes), 0), "another seed, type %d", dtype);
        for (int i = 0; i < COUNT; i++) {
            const double value = tj_read_number((tj_type)dtype, buffer, i);

            const double centred = (value - (least + most) / 2) / ((most - least) / 2);

            outside += !(value >= least && value <= most);
            sum += centred;
            squares += centred * centred;
        }
        cr_expect(eq(int, outside, 0));
        cr_expect(lt(dbl, fabs(sum / COUNT), 0.01), "type %d", dtype);
        cr_expect(lt(dbl, fabs(squares / COUNT - spread), 0.01), "type %d", dtype);
    }
}

Test(span, counts_from_the_first_element_to_the_last)
{
    tj_problem p = TJ_PROBLEM_INIT(3, 5, 7, TJ_F32);

    cr_expect(eq(i64, tj_problem_span(&p, TJ_MATRIX_M), 15));
    cr_expect(eq(i64, tj_problem_span(&p, TJ_MATRIX_N), 35));
    cr_expect(eq(i64, tj_problem_span(&p, TJ_MATRIX_P), 21));
    cr_expect(eq(i64, tj_problem_span(&p, TJ_MATRIX_C), 0));
    cr_expect(eq(i64, tj_problem_span(&p, (tj_which)TJ_MATRICES), -1));
    p.epilogue.has_beta = 1;
    cr_expect(eq(i64, tj_problem_span(&p, TJ_MATRIX_C), 21));
    p.m.ld = 9;
    cr_expect(eq(i64, tj_problem_span(&p, TJ_MATRIX_M), 2 * 9 + 5));
    p.m.transposed = 1;
    cr_expect(eq(i64, tj_problem_span(&p, TJ_MATRIX_M), 4 * 9 + 3));
    p.n.layout = TJ_COL_MAJOR;
    p.n.ld = 6;
    cr_expect(eq(i64, tj_problem_span(&p, TJ_MATRIX_N), 6 * 6 + 5));
    p.batch = 4;
    p.n.stride = TJ_BROADCAST;
    p.m.stride = 100;
    cr_expect(eq(i64, tj_problem_span(&p, TJ_MATRIX_N), 6 * 6 + 5));
    cr_expect(eq(i64, tj_problem_span(&p, TJ_MATRIX_M), 3 * 100 + 4 * 9 + 3));
    cr_expect(eq(i64, tj_problem_span(&p, TJ_MATRIX_P), 84));
    p.p.stride = TJ_ANY;
    cr_expect(eq(i64, tj_problem_span(&p, TJ_MATRIX_P), -1));
    p.k.extent = 0;
    cr_expect(eq(i64, tj_problem_span(&p, TJ_MATRIX_M), 0));
    p.j.mode = TJ_DIM_ANY;
    p.p.stride = TJ_TIGHT;
    cr_expect(eq(i64, tj_problem_span(&p, TJ_MATRIX_P), 84), "an extent that is an argument is one this launch knows");
}
