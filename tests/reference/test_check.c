/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* Products that the check accepts, and those that it must never accept. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/reference.h>

#include "number.h"

typedef struct sample {
    tj_problem problem;
    tj_host_operands operands;
    void *m, *n, *p;
    int64_t j, k, l;
    tj_type out;
} sample;

/* P as the naive kernel computes it: one chain of fma in k order, in f32 (f64: in f64), then rounded to P's type. */
static void multiply(const sample *s, void *p, int64_t first, int64_t end)
{
    const tj_type in = (tj_type)s->problem.m.type;

    for (int64_t r = 0; r < s->j; r++)
        for (int64_t c = 0; c < s->l; c++) {
            float single = 0;
            double sum = 0;

            for (int64_t i = first; i < end; i++) {
                const double a = tj_read_number(in, s->m, r * s->k + i), b = tj_read_number(in, s->n, i * s->l + c);

                single = fmaf((float)a, (float)b, single);
                sum = fma(a, b, sum);
            }
            tj_write_number(s->out, p, r * s->l + c, in == TJ_F64 ? (long double)sum : (long double)single);
        }
}

static sample make_sample(int64_t j, int64_t k, int64_t l, int dtype, int p_dtype)
{
    const tj_problem problem = TJ_PROBLEM_INIT(j, k, l, dtype);
    sample s = {.problem = problem, .j = j, .k = k, .l = l, .out = (tj_type)p_dtype};

    s.problem.p.type = p_dtype;
    s.m = calloc((size_t)(j * k) + 1, 8);
    s.n = calloc((size_t)(k * l) + 1, 8);
    s.p = calloc((size_t)(j * l), 8);
    tj_fill_random((tj_type)dtype, s.m, (size_t)(j * k), 1);
    tj_fill_random((tj_type)dtype, s.n, (size_t)(k * l), 2);
    s.operands = (tj_host_operands)TJ_HOST_OPERANDS(s.m, s.n);
    multiply(&s, s.p, 0, k);
    return s;
}

static void drop_sample(sample *s)
{
    free(s->m);
    free(s->n);
    free(s->p);
}

static tj_check_report check(const sample *s)
{
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    tj_error err = {0};

    cr_assert(eq(int, tj_reference_check(&s->problem, &s->operands, s->p, 0, 2, &report, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, report.passed, report.reason[0] == '\0'));
    return report;
}

/* Invariant rows leave one right value: a neighbour of it, which the bound admits, does not pass. */
Test(check, passes_the_one_value_of_an_invariant_row)
{
    static const int of[][2] = {{TJ_F32, TJ_F32}, {TJ_F64, TJ_F64}, {TJ_F32, TJ_F16}};

    for (size_t i = 0; i < 3; i++) {
        sample s = make_sample(9, 500, 11, of[i][0], of[i][1]);
        const double right = tj_read_number(s.out, s.p, 40);
        void *const stored = calloc(9 * 11, 8);
        tj_error err = {0};

        s.problem.invariant = TJ_INVARIANT_ROWS;
        cr_expect(eq(int, check(&s).passed, 1), "types %zu", i);
        cr_assert(eq(int, tj_reference_product(&s.problem, &s.operands, stored, 2, &err), TJ_OK), "%s", err.message);
        cr_expect(eq(int, memcmp(stored, s.p, 9 * 11 * tj_type_bytes(s.out)), 0), "types %zu: the product is another", i);
        tj_write_number(s.out, s.p, 40, (long double)right * (1.0L + 2.0L * tj_number_limits_of(s.out)->unit_roundoff));
        cr_assert(ne(dbl, tj_read_number(s.out, s.p, 40), right));
        cr_expect(eq(int, check(&s).passed, 0), "types %zu: a neighbour passes", i);
        s.problem.invariant = TJ_INVARIANT_NOTHING;
        cr_expect(eq(int, check(&s).passed, 1), "types %zu: the bound does not admit a neighbour", i);
        drop_sample(&s);
        free(stored);
    }
}

static const int dtypes[][2] = {{TJ_F32, TJ_F32}, {TJ_F64, TJ_F64},   {TJ_F16, TJ_F16},  {TJ_F16, TJ_F32},
                                {TJ_F32, TJ_F16}, {TJ_BF16, TJ_BF16}, {TJ_BF16, TJ_F32}, {TJ_F32, TJ_BF16}};

Test(check, passes_a_right_product_of_every_type_and_depth)
{
    static const int64_t depths[] = {0, 1, 2, 3, 16, 100, 1000, 5000};

    for (size_t d = 0; d < 8; d++)
        for (size_t i = 0; i < 8; i++) {
            sample s = make_sample(9, depths[i], 11, dtypes[d][0], dtypes[d][1]);
            const tj_check_report report = check(&s);

            cr_expect(eq(int, report.passed, 1), "types %zu k %lld: %s", d, (long long)depths[i], report.reason);
            cr_expect(le(dbl, report.max_ratio, 1.0));
            cr_expect(eq(i64, report.elements, 99));
            cr_expect(eq(int, report.norm > 0.0, depths[i] > 0));
            drop_sample(&s);
        }
}

/* ---- what must fail ----------------------------------------------------------------------------------------------- */

static double at(const sample *s, int64_t index)
{
    return tj_read_number(s->out, s->p, index);
}

static void put(sample *s, int64_t index, double value)
{
    tj_write_number(s->out, s->p, index, (long double)value);
}

static void break_zero(sample *s)
{
    for (int64_t i = 0; i < s->j * s->l; i++)
        put(s, i, 0.0);
}

static void break_mean(sample *s)
{
    double sum = 0;

    for (int64_t i = 0; i < s->j * s->l; i++)
        sum += at(s, i);
    for (int64_t i = 0; i < s->j * s->l; i++)
        put(s, i, sum / (double)(s->j * s->l));
}

static void break_rows(sample *s)
{
    for (int64_t c = 0; c < s->l; c++) {
        const double upper = at(s, c);

        put(s, c, at(s, s->l + c));
        put(s, s->l + c, upper);
    }
}

static void break_columns(sample *s)
{
    for (int64_t r = 0; r < s->j; r++) {
        const double last = at(s, r * s->l + s->l - 1);

        put(s, r * s->l + s->l - 1, at(s, r * s->l));
        put(s, r * s->l, last);
    }
}

static void break_transpose(sample *s)
{
    for (int64_t r = 0; r < s->j; r++)
        for (int64_t c = 0; c < r; c++) {
            const double lower = at(s, r * s->l + c);

            put(s, r * s->l + c, at(s, c * s->l + r));
            put(s, c * s->l + r, lower);
        }
}

static void break_last_k(sample *s)
{
    multiply(s, s->p, 0, s->k - 1);
}

static void break_first_k(sample *s)
{
    multiply(s, s->p, 1, s->k);
}

static void break_sign(sample *s)
{
    for (int64_t i = 0; i < s->j * s->l; i++)
        put(s, i, -at(s, i));
}

static void break_double(sample *s)
{
    for (int64_t i = 0; i < s->j * s->l; i++)
        put(s, i, 2 * at(s, i));
}

static void break_last_row(sample *s)
{
    for (int64_t c = 0; c < s->l; c++)
        put(s, (s->j - 1) * s->l + c, 0.0);
}

static void break_nan(sample *s)
{
    put(s, s->j * s->l / 2, NAN);
}

static void break_infinity(sample *s)
{
    put(s, s->j * s->l - 1, INFINITY);
}

static void break_poison(sample *s)
{
    memset(s->p, 0xff, (size_t)(s->j * s->l) * tj_type_bytes(s->out));
}

static const struct {
    const char *name;
    void (*damage)(sample *s);
} damages[] = {{"all zero", break_zero},
               {"constant", break_mean},
               {"two rows swapped", break_rows},
               {"columns swapped", break_columns},
               {"transposed", break_transpose},
               {"last k missing", break_last_k},
               {"first k missing", break_first_k},
               {"negated", break_sign},
               {"doubled", break_double},
               {"last row missing", break_last_row},
               {"one NaN", break_nan},
               {"one infinity", break_infinity},
               {"never written", break_poison}};

Test(check, refuses_every_kind_of_damage)
{
    static const int64_t depths[] = {2, 17, 100, 1000};
    int cases = 0;

    for (size_t d = 0; d < 8; d++)
        for (size_t i = 0; i < 4; i++)
            for (size_t w = 0; w < sizeof damages / sizeof damages[0]; w++) {
                sample s = make_sample(20, depths[i], 20, dtypes[d][0], dtypes[d][1]);
                tj_check_report report = TJ_CHECK_REPORT_INIT;

                damages[w].damage(&s);
                report = check(&s);
                cr_expect(eq(int, report.passed, 0), "%s, types %zu, k %lld", damages[w].name, d, (long long)depths[i]);
                cases++;
                drop_sample(&s);
            }
    cr_assert(eq(int, cases, 8 * 4 * 13));
}

Test(check, finds_one_wrong_element_wherever_it_is)
{
    sample s = make_sample(67, 40, 131, TJ_F32, TJ_F32);

    for (int64_t i = 0; i < s.j * s.l; i += i < 300 ? 1 : 97) {
        const double right = at(&s, i);
        tj_check_report report = TJ_CHECK_REPORT_INIT;

        put(&s, i, right + 0.001);
        report = check(&s);
        cr_assert(eq(int, report.passed, 0), "element %lld", (long long)i);
        cr_assert(eq(i64, report.worst_row, i / s.l));
        cr_assert(eq(i64, report.worst_col, i % s.l));
        cr_assert(eq(dbl, report.worst_value, at(&s, i)));
        put(&s, i, right);
    }
    cr_expect(eq(int, check(&s).passed, 1));
    drop_sample(&s);
}

Test(check, bound_is_higham_s)
{
    /* R = 4, k = 4, every product 1: gamma(6) * 4 + u * |R|, plus what second order and subnormal numbers add. */
    const float ones[] = {1, 1, 1, 1};
    const double bound = 6 * 0x1p-24 / (1 - 6 * 0x1p-24) * 4 + 0x1p-24 * 4;
    const tj_problem problem = TJ_PROBLEM_INIT(1, 4, 1, TJ_F32);
    const tj_host_operands operands = TJ_HOST_OPERANDS(ones, ones);

    for (int steps = 0; steps < 8; steps++) {
        const float p = 4.0f + (float)steps * 0x1p-21f;
        const double error = steps * 0x1p-21;
        tj_check_report report = TJ_CHECK_REPORT_INIT;

        cr_assert(eq(int, tj_reference_check(&problem, &operands, &p, 0, 1, &report, NULL), TJ_OK));
        cr_expect(eq(int, report.passed, error <= bound), "%d steps", steps);
        cr_expect(lt(dbl, fabs(report.max_ratio - error / bound), 1e-6), "%d steps", steps);
        cr_expect(eq(dbl, report.max_error, error));
        cr_expect(eq(dbl, report.max_relative, error / 4));
    }
}

Test(check, refuses_zero_and_constant_products_where_the_bound_has_grown_past_them)
{
    sample s = make_sample(4, 400000, 4, TJ_F32, TJ_F32);

    cr_expect(eq(int, check(&s).passed, 1));
    break_zero(&s);
    cr_expect(eq(int, check(&s).passed, 0));
    multiply(&s, s.p, 0, s.k);
    break_mean(&s);
    cr_expect(eq(int, check(&s).passed, 0));

    /* Positive operands: every element is near k / 4, and so is the mean. */
    for (int64_t i = 0; i < s.j * s.k; i++) {
        ((float *)s.m)[i] = fabsf(((float *)s.m)[i]);
        ((float *)s.n)[i] = fabsf(((float *)s.n)[i]);
    }
    multiply(&s, s.p, 0, s.k);
    cr_expect(eq(int, check(&s).passed, 1));
    break_mean(&s);
    cr_expect(eq(int, check(&s).passed, 0));
    drop_sample(&s);
}

Test(check, refuses_a_single_zero_where_the_bound_has_grown_past_it)
{
    sample s = make_sample(1, 1000000, 1, TJ_F32, TJ_F32);

    cr_expect(eq(int, check(&s).passed, 1));
    break_zero(&s);
    cr_expect(eq(int, check(&s).passed, 0));
    drop_sample(&s);
}

Test(check, passes_products_that_are_one_number_everywhere_for_good_reason)
{
    /* All ones, deep: P is constant, and so is the product, whatever rounding does to it. */
    sample s = make_sample(3, 300000, 3, TJ_F32, TJ_F32);

    for (int64_t i = 0; i < s.j * s.k; i++)
        ((float *)s.m)[i] = ((float *)s.n)[i] = 0.1f;
    multiply(&s, s.p, 0, s.k);
    cr_expect(eq(int, check(&s).passed, 1), "biased rounding");
    drop_sample(&s);

    /* A sum that cancels to what f32 cannot hold. */
    const float m[] = {1, 1e-10f, -1, 1, 2e-10f, -1}, n[] = {1, 1, 1}, p[] = {0, 0};
    const tj_problem cancelling = TJ_PROBLEM_INIT(2, 3, 1, TJ_F32);
    const tj_host_operands operands = TJ_HOST_OPERANDS(m, n);
    tj_check_report report = TJ_CHECK_REPORT_INIT;

    cr_assert(eq(int, tj_reference_check(&cancelling, &operands, p, 0, 1, &report, NULL), TJ_OK));
    cr_expect(eq(int, report.passed, 1), "%s", report.reason);

    /* Different products that bf16 cannot tell apart. */
    const float rows[] = {1, 1.001f};
    const uint16_t ones[] = {0x3f80, 0x3f80};
    tj_problem coarse = TJ_PROBLEM_INIT(2, 1, 1, TJ_F32);
    const tj_host_operands coarse_operands = TJ_HOST_OPERANDS(rows, n);

    coarse.p.type = TJ_BF16;
    cr_assert(eq(int, tj_reference_check(&coarse, &coarse_operands, ones, 0, 1, &report, NULL), TJ_OK));
    cr_expect(eq(int, report.passed, 1), "%s", report.reason);
}

Test(check, takes_only_zeros_where_the_operands_force_them)
{
    const float zeros[4] = {0}, ones[4] = {1, 1, 1, 1};
    float p[4] = {0, -0.0f, 0, 0};
    const struct {
        const char *name;
        int64_t k;
        const float *m;
        double alpha;
    } rows[] = {{"a zero factor", 2, zeros, 1}, {"k = 0", 0, NULL, 1}, {"alpha = 0", 2, ones, 0}};

    for (size_t i = 0; i < 3; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(2, rows[i].k, 2, TJ_F32);
        const tj_host_operands operands = {sizeof operands, rows[i].m, rows[i].m ? ones : NULL, NULL, rows[i].alpha, 0};
        tj_check_report report = TJ_CHECK_REPORT_INIT;

        problem.epilogue.has_alpha = 1;
        p[3] = 0;
        cr_assert(eq(int, tj_reference_check(&problem, &operands, p, 0, 1, &report, NULL), TJ_OK));
        cr_expect(eq(int, report.passed, 1), "%s: %s", rows[i].name, report.reason);
        cr_expect(eq(dbl, report.norm, 0.0));
        p[3] = 1e-45f;
        cr_assert(eq(int, tj_reference_check(&problem, &operands, p, 0, 1, &report, NULL), TJ_OK));
        cr_expect(eq(int, report.passed, 0), "%s", rows[i].name);
    }
}

Test(check, wants_the_same_class_of_number)
{
    const float inf = INFINITY, nan = NAN;
    const struct {
        const char *name;
        float m[2], n[2];
        int p_dtype;
        double p;
        int passed;
    } rows[] = {
        {"NaN in, NaN out", {nan, 1}, {1, 1}, TJ_F32, NAN, 1},
        {"NaN in, number out", {nan, 1}, {1, 1}, TJ_F32, 1, 0},
        {"NaN in, infinity out", {nan, 1}, {1, 1}, TJ_F32, INFINITY, 0},
        {"infinity stays", {inf, 1}, {1, 1}, TJ_F32, INFINITY, 1},
        {"infinity lost its sign", {inf, 1}, {1, 1}, TJ_F32, -INFINITY, 0},
        {"minus infinity", {inf, 1}, {-1, 1}, TJ_F32, -INFINITY, 1},
        {"infinity became a number", {inf, 1}, {1, 1}, TJ_F32, 3e38, 0},
        {"infinity minus infinity", {inf, -inf}, {1, 1}, TJ_F32, NAN, 1},
        {"infinity minus infinity is not a number", {inf, -inf}, {1, 1}, TJ_F32, 0, 0},
        {"zero times infinity", {inf, 0}, {0, 1}, TJ_F32, NAN, 1},
        {"a number became NaN", {1, 1}, {1, 1}, TJ_F32, NAN, 0},
        {"a number became infinite", {1, 1}, {1, 1}, TJ_F32, INFINITY, 0},
        {"f32 overflows", {3e38f, 3e38f}, {1, 1}, TJ_F32, INFINITY, 1},
        {"f32 overflows the other way", {3e38f, 3e38f}, {1, 1}, TJ_F32, -INFINITY, 0},
        {"f32 overflows, not to NaN", {3e38f, 3e38f}, {1, 1}, TJ_F32, NAN, 0},
        {"f32 overflows, not to its largest", {3e38f, 3e38f}, {1, 1}, TJ_F32, 3.4e38, 0},
        {"f32 may overflow on the way", {3e38f, -3e38f}, {2, 2}, TJ_F32, NAN, 1},
        {"or not", {3e38f, -3e38f}, {2, 2}, TJ_F32, 0, 1},
        {"but is no other number", {3e38f, -3e38f}, {2, 2}, TJ_F32, 3e38, 0},
        {"f16 overflows", {300, 0}, {300, 0}, TJ_F16, INFINITY, 1},
        {"f16 overflows, not to its largest", {300, 0}, {300, 0}, TJ_F16, 65504, 0},
        {"f16 up to half a unit above its largest", {65519, 0}, {1, 0}, TJ_F16, 65504, 1},
        {"f16, close enough to overflow", {65519.996f, 0}, {1, 0}, TJ_F16, INFINITY, 1},
        {"f16, its largest is not an overflow", {65504, 0}, {1, 0}, TJ_F16, 65504, 1},
        {"f16, far below is none", {60000, 0}, {1, 0}, TJ_F16, INFINITY, 0},
        {"bf16 keeps the range of f32", {300, 0}, {300, 0}, TJ_BF16, 90112, 1},
        {"bf16 overflows", {3.4e38f, 0}, {2, 0}, TJ_BF16, INFINITY, 1},
        {"underflow", {1e-30f, 1e-30f}, {1e-20f, 1e-20f}, TJ_F32, 0, 1},
        {"underflow is not negative by much", {1e-30f, 1e-30f}, {1e-20f, 1e-20f}, TJ_F32, -1e-40, 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(1, 2, 1, TJ_F32);
        const tj_host_operands operands = TJ_HOST_OPERANDS(rows[i].m, rows[i].n);
        tj_check_report report = TJ_CHECK_REPORT_INIT;
        double p;

        problem.p.type = rows[i].p_dtype;
        tj_write_number((tj_type)rows[i].p_dtype, &p, 0, (long double)rows[i].p);
        cr_assert(eq(int, tj_reference_check(&problem, &operands, &p, 0, 1, &report, NULL), TJ_OK));
        cr_expect(eq(int, report.passed, rows[i].passed), "%s: %s", rows[i].name, report.reason);
    }
}

Test(check, judges_f64_that_overflows)
{
    const double big[] = {1e308, 1e308, -1e308}, ones[] = {1, 1, 1};
    const struct {
        int64_t k;
        double p;
        int passed;
    } rows[] = {{2, INFINITY, 1}, {2, 1e308, 0}, {3, INFINITY, 1}, {1, 1e308, 1}, {1, INFINITY, 0}};

    for (size_t i = 0; i < 5; i++) {
        const tj_problem problem = TJ_PROBLEM_INIT(1, rows[i].k, 1, TJ_F64);
        const tj_host_operands operands = TJ_HOST_OPERANDS(big, ones);
        tj_check_report report = TJ_CHECK_REPORT_INIT;

        cr_assert(eq(int, tj_reference_check(&problem, &operands, &rows[i].p, 0, 1, &report, NULL), TJ_OK));
        cr_expect(eq(int, report.passed, rows[i].passed), "row %zu: %s", i, report.reason);
    }
}

Test(check, passes_a_deep_sum_of_subnormal_numbers)
{
    enum { K = 1000 };
    float m[K], n[K], p = 0;
    const tj_problem problem = TJ_PROBLEM_INIT(1, K, 1, TJ_F32);
    const tj_host_operands operands = TJ_HOST_OPERANDS(m, n);
    tj_check_report report = TJ_CHECK_REPORT_INIT;

    for (int i = 0; i < K; i++)
        m[i] = 1e-23f, n[i] = 5e-23f; /* each product, 0.36 of the smallest number, is rounded to nothing */
    for (int i = 0; i < K; i++)
        p = fmaf(m[i], n[i], p);
    cr_assert(eq(flt, p, 0.0f));
    cr_assert(eq(int, tj_reference_check(&problem, &operands, &p, 0, 1, &report, NULL), TJ_OK));
    cr_expect(eq(int, report.passed, 1), "%s", report.reason);
}

Test(check, takes_alpha_and_beta_as_a_launch_does)
{
    const float m = 3, n = 5, c = 7, p = 3 * 5 * 0.1f + 7 * 0.3f;
    tj_problem problem = TJ_PROBLEM_INIT(1, 1, 1, TJ_F32);
    const tj_host_operands operands = {sizeof operands, &m, &n, &c, 0.1, 0.3};
    tj_check_report report = TJ_CHECK_REPORT_INIT;

    problem.epilogue.has_alpha = problem.epilogue.has_beta = 1;
    cr_assert(eq(int, tj_reference_check(&problem, &operands, &p, 0, 1, &report, NULL), TJ_OK));
    cr_expect(eq(int, report.passed, 1), "%s", report.reason);
}

Test(check, samples_whole_rows_with_the_first_and_the_last)
{
    sample s = make_sample(100, 10, 7, TJ_F32, TJ_F32);
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    const double right_first = at(&s, 0), right_last = at(&s, 100 * 7 - 1);

    cr_assert(eq(int, tj_reference_check(&s.problem, &s.operands, s.p, 2.0 * 10 * 7 * 9, 1, &report, NULL), TJ_OK));
    cr_expect(eq(int, report.passed, 1));
    cr_expect(eq(i64, report.elements, 9 * 7));
    cr_expect(eq(i64, report.elements_total, 700));
    put(&s, 0, 99);
    cr_assert(eq(int, tj_reference_check(&s.problem, &s.operands, s.p, 1, 1, &report, NULL), TJ_OK));
    cr_expect(eq(int, report.passed, 0));
    cr_expect(eq(i64, report.elements, 2 * 7));
    put(&s, 0, right_first);
    put(&s, 100 * 7 - 1, 99);
    cr_assert(eq(int, tj_reference_check(&s.problem, &s.operands, s.p, 1, 1, &report, NULL), TJ_OK));
    cr_expect(eq(int, report.passed, 0));
    cr_expect(eq(i64, report.worst_row, 99));
    put(&s, 100 * 7 - 1, right_last);
    put(&s, 49 * 7, 99); /* (99 * 4) / 8 = 49: the fifth of nine rows */
    cr_assert(eq(int, tj_reference_check(&s.problem, &s.operands, s.p, 2.0 * 10 * 7 * 9, 1, &report, NULL), TJ_OK));
    cr_expect(eq(i64, report.worst_row, 49));
    cr_expect(eq(int, report.passed, 0));
    drop_sample(&s);
}

Test(check, reports_the_same_for_any_number_of_threads)
{
    sample s = make_sample(200, 30, 300, TJ_F32, TJ_F16);
    tj_check_report one = TJ_CHECK_REPORT_INIT, many = TJ_CHECK_REPORT_INIT;

    cr_assert(eq(int, tj_reference_check(&s.problem, &s.operands, s.p, 0, 1, &one, NULL), TJ_OK));
    for (int threads = 0; threads < 9; threads++) {
        cr_assert(eq(int, tj_reference_check(&s.problem, &s.operands, s.p, 0, threads, &many, NULL), TJ_OK));
        /* The order in which threads add up is theirs. */
        cr_expect(lt(dbl, fabs(many.norm - one.norm), 1e-12 * one.norm), "%d threads", threads);
        cr_expect(eq(dbl, many.max_ratio, one.max_ratio));
        cr_expect(eq(dbl, many.max_relative, one.max_relative));
        cr_expect(eq(i64, many.worst_row, one.worst_row));
        cr_expect(eq(i64, many.worst_col, one.worst_col));
        cr_expect(eq(i64, many.elements, 60000));
    }
    drop_sample(&s);
}

Test(check, names_what_it_cannot_work_with)
{
    const float x[4] = {1, 1, 1, 1};
    const tj_problem plain = TJ_PROBLEM_INIT(2, 2, 2, TJ_F32);
    tj_problem any_dim = plain, any_ld = plain, any_batch = plain, beta = plain, empty = plain;
    const tj_host_operands all = {sizeof all, x, x, x, 1, 1}, no_m = {sizeof no_m, NULL, x, x, 1, 1},
                           no_n = {sizeof no_n, x, NULL, x, 1, 1}, no_c = {sizeof no_c, x, x, NULL, 1, 1};
    tj_check_report report = TJ_CHECK_REPORT_INIT;

    any_dim.k.mode = TJ_DIM_ANY;
    any_ld.n.ld = TJ_ANY;
    any_batch.batch = TJ_ANY;
    beta.epilogue.has_beta = 1;
    empty.j.extent = 0;
    const struct {
        const tj_problem *problem;
        const tj_host_operands *operands;
        const void *p;
        double max_flop;
        int threads;
        const char *word;
    } rows[] = {
        {&any_dim, &all, x, 0, 1, "k is TJ_DIM_ANY"},   {&any_ld, &all, x, 0, 1, "ld_n is TJ_ANY"},
        {&any_batch, &all, x, 0, 1, "batch is TJ_ANY"}, {&empty, &all, x, 0, 1, "j is 0"},
        {&plain, &no_m, x, 0, 1, "M is NULL"},          {&plain, &no_n, x, 0, 1, "N is NULL"},
        {&beta, &no_c, x, 0, 1, "C is NULL"},           {&plain, &all, NULL, 0, 1, "p = NULL"},
        {&plain, &all, x, -1, 1, "max_flop"},           {&plain, &all, x, NAN, 1, "max_flop"},
        {&plain, &all, x, 0, -1, "threads is -1"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_error err = {0};

        cr_expect(eq(int,
                     tj_reference_check(rows[i].problem, rows[i].operands, rows[i].p, rows[i].max_flop, rows[i].threads,
                                        &report, &err),
                     TJ_ERR_INVALID_ARGUMENT),
                  "%s", rows[i].word);
        cr_expect(not(eq(ptr, strstr(err.message, rows[i].word), NULL)), "%s: %s", rows[i].word, err.message);
    }
}
