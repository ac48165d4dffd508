/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* Sums and maxima of rows and columns: what the reference makes of them, and what the check lets through. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/tools.h>

enum { J = 70, K = 5, L = 150, BATCH = 2 }; /* of more than one tile of the reference */

static float m[BATCH * J * K], n[BATCH * K * L], p[BATCH * J * L], peak[BATCH * J], total[BATCH * L], most[BATCH * L];

/* peak is the first output, total the second, most the third. */
static tj_problem request(tj_host_operands *x)
{
    tj_problem problem = TJ_PROBLEM_INIT(J, K, L, TJ_F32);
    tj_error err;

    problem.batch = BATCH;
    cr_assert(eq(int,
                 tj_epilogue_parse("peak[row] = max(abs(acc)); total[col] = sum(acc); most[col] = max(acc); acc",
                                   &problem.epilogue, &err),
                 TJ_OK),
              "%s", err.message);
    *x = (tj_host_operands)TJ_HOST_OPERANDS(m, n);
    x->with[0].address = peak;
    x->with[1].address = total;
    x->with[2].address = most;
    return problem;
}

static void draw(void)
{
    tj_fill_random(TJ_F32, m, sizeof m / sizeof *m, 1);
    tj_fill_random(TJ_F32, n, sizeof n / sizeof *n, 2);
}

static tj_check_report check(const tj_problem *problem, const tj_host_operands *x, double max_flop)
{
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    tj_error err;

    cr_assert(eq(int, tj_reference_check(problem, x, p, max_flop, 3, &report, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, report.passed, report.reason[0] == '\0'));
    return report;
}

static void compute(const tj_problem *problem, const tj_host_operands *x)
{
    tj_error err;

    cr_assert(eq(int, tj_reference_product(problem, x, p, 3, &err), TJ_OK), "%s", err.message);
}

Test(reductions, are_what_a_plain_loop_finds)
{
    tj_host_operands x;
    const tj_problem problem = request(&x);

    draw();
    compute(&problem, &x);
    for (int b = 0; b < BATCH; b++) {
        for (int row = 0; row < J; row++) {
            float largest = 0;

            for (int col = 0; col < L; col++)
                largest = fmaxf(largest, fabsf(p[(b * J + row) * L + col]));
            cr_expect(eq(flt, peak[b * J + row], largest));
        }
        for (int col = 0; col < L; col++) {
            float largest = -INFINITY;
            double sum = 0;

            for (int row = 0; row < J; row++) {
                largest = fmaxf(largest, p[(b * J + row) * L + col]);
                sum += p[(b * J + row) * L + col];
            }
            cr_expect(eq(flt, most[b * L + col], largest));
            cr_expect(fabs(sum - total[b * L + col]) < 1e-5);
        }
    }
    cr_expect(eq(int, check(&problem, &x, 0).passed, 1));
}

/* One result that is off, or that nobody wrote, wherever it is. */
Test(reductions, one_wrong_result_is_found)
{
    static const struct {
        float *at;
        float wrong;
        const char *words;
    } rows[] = {
        {&peak[0], 0.0F, "the output peak is 0 for row 0 of product 0"},
        {&peak[BATCH * J - 1], NAN, "for row 69 of product 1"},
        {&total[3], INFINITY, "the output total is inf for column 3 of product 0"},
        {&total[L + 7], 1e3F, "the output total is 1000 for column 7 of product 1"},
        {&most[L - 1], -INFINITY, "the output most is -inf for column 149 of product 0"}, /* the largest of none */
    };
    tj_host_operands x;
    const tj_problem problem = request(&x);

    draw();
    compute(&problem, &x);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const float right = *rows[i].at;
        tj_check_report report = TJ_CHECK_REPORT_INIT;

        *rows[i].at = rows[i].wrong;
        report = check(&problem, &x, 0);
        cr_expect(eq(int, report.passed, 0), "%s", rows[i].words);
        cr_expect(strstr(report.reason, rows[i].words) != NULL, "%s: %s", rows[i].words, report.reason);
        cr_expect(gt(dbl, report.max_ratio, 1.0));
        *rows[i].at = right;
    }
    cr_expect(eq(int, check(&problem, &x, 0).passed, 1));
    x.with[1].address = NULL; /* nobody asks */
    cr_expect(eq(int, check(&problem, &x, 0).passed, 1));
}

/* One element of its row and of all columns is NaN, so each result is; and infinities add up as they do. */
Test(reductions, nan_stays_and_infinities_add_up)
{
    tj_host_operands x;
    const tj_problem problem = request(&x);

    draw();
    for (int i = 0; i < K; i++)
        m[2 * K + i] = NAN; /* row 2 of product 0 */
    for (int i = 0; i < K; i++)
        n[K * L + i * L + 9] = i == 0 ? INFINITY : 0.0F; /* column 9 of product 1 */
    compute(&problem, &x);
    cr_expect(isnan(peak[2]) && !isnan(peak[1]) && !isnan(peak[3]));
    for (int col = 0; col < L; col++)
        cr_expect(isnan(total[col]) && isnan(most[col]));
    cr_expect(isnan(total[L + 9]), "some rows bring infinity, and others its negative");
    cr_expect(eq(flt, most[L + 9], INFINITY));
    cr_expect(eq(flt, peak[J], INFINITY));
    cr_expect(isfinite(total[L + 8]) && isfinite(most[L + 8]));
    cr_expect(eq(int, check(&problem, &x, 0).passed, 1));
    peak[2] = 1; /* what a max that passes NaN over finds */
    cr_expect(eq(int, check(&problem, &x, 0).passed, 0));
}

/* With sampled rows, whole rows can be judged, and no column. */
Test(reductions, sampled_rows_are_judged)
{
    const double few = 2.0 * K * L * 10;
    tj_host_operands x;
    const tj_problem problem = request(&x);

    draw();
    compute(&problem, &x);
    total[5] = 99;
    cr_expect(eq(int, check(&problem, &x, few).passed, 1));
    peak[0] = 99; /* the first row is always looked at */
    cr_expect(eq(int, check(&problem, &x, few).passed, 0));
}

/* In a narrower type: rounded once, within its limits, as an element of P would be. */
Test(reductions, are_rounded_once)
{
    static int8_t whole[BATCH * J];
    tj_problem problem = TJ_PROBLEM_INIT(J, K, L, TJ_F32);
    tj_host_operands x = TJ_HOST_OPERANDS(m, n);
    tj_error err;

    draw();
    cr_assert(eq(int, tj_epilogue_parse("whole:s8[row] = sum(abs(acc)); acc", &problem.epilogue, &err), TJ_OK));
    x.with[0].address = whole;
    compute(&problem, &x);
    for (int row = 0; row < J; row++) {
        double sum = 0;

        for (int col = 0; col < L; col++)
            sum += fabsf(p[row * L + col]);
        cr_expect(eq(int, whole[row], sum > 127 ? 127 : (int)rint(sum)));
    }
    cr_expect(eq(int, check(&problem, &x, 0).passed, 1));
}
