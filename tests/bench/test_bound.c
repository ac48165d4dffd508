/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Errors that tilejit bench takes for rounding: correct products, summed here as each kind of unit sums them, are within the
 * bound, and not far within it; a product that lacks a term is outside, as far as the errors of such a unit reveal it.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bound.h"

enum { ELEMENTS = 200 };

/* A unit that adds some products and the sum so far at once: what is below a last bit of the largest is dropped. */
typedef struct unit {
    int products; /* in a step */
    int bits;     /* below the largest term's first */
    int promoted; /* products that one such sum has before it is added to another in f32; 0: all */
} unit;

static double drop_below(double value, int exponent)
{
    return ldexp(trunc(ldexp(value, -exponent)), exponent);
}

static double cut_to_tf32(float value)
{
    int e;

    (void)frexp((double)value, &e);
    return drop_below((double)value, e - 11);
}

/* The largest term of a step is in [2^(e-1), 2^e). */
static double add_step(const unit *u, double sum, const double *product, int count)
{
    double largest = fabs(sum), exact;
    int e;

    for (int i = 0; i < count; i++)
        largest = fmax(largest, fabs(product[i]));
    if (largest == 0)
        return 0;
    (void)frexp(largest, &e);
    exact = drop_below(sum, e - 1 - u->bits);
    for (int i = 0; i < count; i++)
        exact += drop_below(product[i], e - 1 - u->bits);
    (void)frexp(exact, &e);
    return drop_below(exact, e - 24); /* f32, by truncation */
}

static double sum_by(const unit *u, const double *product, int k)
{
    const int part = u->promoted ? u->promoted : k;
    float promoted = 0;

    for (int first = 0; first < k; first += part) {
        const int end = first + part < k ? first + part : k;
        double sum = 0;

        for (int i = first; i < end; i += u->products)
            sum = add_step(u, sum, product + i, end - i < u->products ? end - i : u->products);
        promoted += (float)sum;
    }
    return (double)promoted;
}

/* One product after the other, each addition rounded. */
static double sum_in_f32(const double *product, int k)
{
    float sum = 0;

    for (int i = 0; i < k; i++)
        sum = (float)((double)sum + product[i]);
    return (double)sum;
}

/* A report of a P of some elements, of random M and N of a type. u NULL: sum_in_f32. lacks_one: without the last term. */
static tj_check_report compute(tj_type type, int k, const unit *u, int cuts, int lacks_one)
{
    tj_check_report report = {.passed = 1, .elements = ELEMENTS};
    float *m = malloc((size_t)k * sizeof *m), *n = malloc((size_t)k * sizeof *n);
    double *product = malloc((size_t)k * sizeof *product), squares = 0;
    void *drawn = malloc((size_t)k * tj_type_bytes(type));

    cr_assert(m && n && product && drawn);
    for (int e = 0; e < ELEMENTS; e++) {
        double exact = 0, sum;

        tj_fill_random(type, drawn, (size_t)k, 2 * (uint64_t)e);
        tj_convert(TJ_F32, m, type, drawn, (size_t)k);
        tj_fill_random(type, drawn, (size_t)k, 2 * (uint64_t)e + 1);
        tj_convert(TJ_F32, n, type, drawn, (size_t)k);
        for (int i = 0; i < k; i++) {
            exact += (double)m[i] * (double)n[i];
            product[i] = cuts ? cut_to_tf32(m[i]) * cut_to_tf32(n[i]) : (double)m[i] * (double)n[i];
        }
        sum = u ? sum_by(u, product, k - lacks_one) : sum_in_f32(product, k - lacks_one);
        squares += exact * exact;
        report.max_error = fmax(report.max_error, fabs(sum - exact));
    }
    report.norm = sqrt(squares);
    free(m);
    free(n);
    free(product);
    free(drawn);
    return report;
}

static double rms_error(const tj_check_report *report)
{
    return report->max_error / (report->norm / sqrt(ELEMENTS));
}

static bound limit_of(tj_type type, tj_compute how, int k, adder who)
{
    tj_problem problem = TJ_PROBLEM_INIT(16, k, 16, type);

    problem.p.type = TJ_F32;
    problem.compute = how;
    problem = tj_problem_canonical(&problem);
    return bound_of(&problem, who);
}

static const unit turing = {8, 24, 0}, hopper = {16, 25, 0}, tf32 = {4, 24, 0}, fp8_hopper = {32, 13, 128},
                  fp8_ada = {16, 13, 128}, fp8_fast = {32, 13, 0};

static const struct {
    const char *name;
    tj_type type;
    tj_compute how;
    adder who;
    const unit *unit;
} rows[] = {
    {"f32", TJ_F32, TJ_COMPUTE_F32, ADDER_FMA, NULL},
    {"f16 on Turing", TJ_F16, TJ_COMPUTE_F32, ADDER_TENSOR, &turing},
    {"bf16 on Turing", TJ_BF16, TJ_COMPUTE_F32, ADDER_TENSOR, &turing},
    {"bf16 on Hopper", TJ_BF16, TJ_COMPUTE_F32, ADDER_PEER, &hopper},
    {"tf32 on Ampere", TJ_F32, TJ_COMPUTE_TF32, ADDER_PEER, &tf32},
    {"e4m3 on Hopper", TJ_E4M3, TJ_COMPUTE_F32, ADDER_PEER, &fp8_hopper},
    {"e5m2 on Ada", TJ_E5M2, TJ_COMPUTE_F32, ADDER_TENSOR, &fp8_ada},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

Test(bound, takes_what_each_unit_computes, .timeout = 120)
{
    static const int lengths[] = {16, 256, 4096, 20000};

    for (int i = 0; i < ROWS; i++)
        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
            const int k = lengths[l];
            const bound limit = limit_of(rows[i].type, rows[i].how, k, rows[i].who);
            const tj_check_report report = compute(rows[i].type, k, rows[i].unit, rows[i].how == TJ_COMPUTE_TF32, 0);
            const double share = rms_error(&report) / limit.rms;
            char why[TJ_ERROR_MESSAGE_BYTES];

            cr_expect(share > 0.02 && share < 0.6, "%s, k = %d: %g of the bound", rows[i].name, k, share);
            cr_expect(bound_is_kept(&limit, &report, rms_error(&report), why));
        }
}

Test(bound, shows_that_a_term_was_left_out, .timeout = 120)
{
    for (int i = 0; i < ROWS; i++) {
        const bound limit = limit_of(rows[i].type, rows[i].how, 20000, rows[i].who);
        const tj_check_report report = compute(rows[i].type, 20000, rows[i].unit, rows[i].how == TJ_COMPUTE_TF32, 1);
        char why[TJ_ERROR_MESSAGE_BYTES] = "";

        cr_expect(eq(int, bound_is_kept(&limit, &report, rms_error(&report), why), 0), "%s", rows[i].name);
        cr_expect(strstr(why, "root mean square") != NULL, "%s: %s", rows[i].name, why);
    }
}

/*
 * A sum with fewer bits than the problem asks for is not such a product: multiply-adds do not truncate, and sums of 13 bits are
 * not f32.
 */
Test(bound, tells_units_apart, .timeout = 120)
{
    const tj_check_report truncated = compute(TJ_BF16, 20000, &turing, 0, 0), fast = compute(TJ_E4M3, 20000, &fp8_fast, 0, 0),
                          cut = compute(TJ_F32, 16, &tf32, 1, 0);
    const bound fma = limit_of(TJ_BF16, TJ_COMPUTE_F32, 20000, ADDER_FMA);
    const bound fp8 = limit_of(TJ_E4M3, TJ_COMPUTE_F32, 20000, ADDER_PEER);
    const bound f32 = limit_of(TJ_F32, TJ_COMPUTE_F32, 16, ADDER_FMA);

    cr_expect(rms_error(&truncated) > fma.rms);
    cr_expect(rms_error(&fast) > fp8.rms);
    cr_expect(rms_error(&cut) > f32.rms);
}

/* Integers are exact, and a P of f32 is rounded from them. */
Test(bound, takes_nothing_but_the_sum_of_integers)
{
    tj_problem problem = TJ_PROBLEM_INIT(16, 4096, 16, TJ_S8);
    bound limit;

    problem = tj_problem_canonical(&problem);
    limit = bound_of(&problem, ADDER_PEER);
    cr_expect(eq(dbl, limit.rms, 0));
    cr_expect(eq(dbl, limit.elements, 1));
    problem.p.type = TJ_F32;
    limit = bound_of(&problem, ADDER_TENSOR);
    cr_expect(limit.rms > 0 && limit.rms < 1e-5);
}

/* An element outside its bound is wrong, but where a unit sums with fewer bits than that bound counts; the other verdicts stand. */
Test(bound, judges_elements)
{
    static const struct {
        double ratio, most;
        int passed, is_kept;
    } cases[] = {{0.5, 1, 1, 1},     {1.5, 1, 0, 0},         {1.5, 2, 0, 1},   {1000, 2048, 0, 1},
                 {3000, 2048, 0, 0}, {INFINITY, 2048, 0, 0}, {0.5, 2048, 0, 0} /* the same number everywhere */};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const tj_check_report report = {.passed = cases[i].passed, .max_ratio = cases[i].ratio, .reason = "a reason"};
        const bound limit = {.elements = cases[i].most, .rms = 1};
        char why[TJ_ERROR_MESSAGE_BYTES] = "";

        cr_expect(eq(int, bound_is_kept(&limit, &report, 0, why), cases[i].is_kept), "case %zu", i);
        cr_expect(eq(str, why, cases[i].is_kept ? "" : "a reason"), "case %zu", i);
        cr_expect(eq(int, bound_is_kept(&limit, &report, NAN, why), 0), "case %zu", i);
    }
    cr_expect(eq(dbl, limit_of(TJ_BF16, TJ_COMPUTE_F32, 64, ADDER_PEER).elements, 1));
    cr_expect(eq(dbl, limit_of(TJ_F32, TJ_COMPUTE_TF32, 64, ADDER_TENSOR).elements, 1));
    cr_expect(eq(dbl, limit_of(TJ_F32, TJ_COMPUTE_TF32, 64, ADDER_PEER).elements, 2));
    cr_expect(eq(dbl, limit_of(TJ_E4M3, TJ_COMPUTE_F32, 64, ADDER_FMA).elements, 1));
}
