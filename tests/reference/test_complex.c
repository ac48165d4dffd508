/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* Complex numbers: the reference's product next to one of C's own complex arithmetic, its judgement, and conversions. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tilejit/reference.h>

enum { J = 7, K = 150, L = 5, BATCH = 2, MOST = 8192 };

typedef double complex number;

/* The number at a place, conjugated if the matrix says so. */
static number at(const tj_matrix *matrix, const void *base, int64_t rows, int64_t cols, int64_t batch, int64_t row, int64_t col)
{
    const int64_t index = batch * rows * cols + (matrix->layout == TJ_ROW_MAJOR ? row * cols + col : col * rows + row);
    const number value = matrix->type == TJ_C64 ? (number)((const float complex *)base)[index] : ((const number *)base)[index];

    return matrix->conjugated ? conj(value) : value;
}

static void expect_own_product(const tj_problem *problem, const char *label)
{
    static number m[MOST], n[MOST], c[MOST], p[MOST];
    tj_host_operands x = TJ_HOST_OPERANDS(m, n);
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    const tj_problem known = tj_problem_canonical(problem);
    const double unit = known.m.type == TJ_C64 ? 0x1p-24 : 0x1p-53;
    double worst = 0;
    tj_error err;

    tj_fill_random((tj_type)known.m.type, m, BATCH * J * K, 1);
    tj_fill_random((tj_type)known.m.type, n, BATCH * K * L, 2);
    tj_fill_random((tj_type)known.m.type, c, BATCH * J * L, 3);
    x.c = c;
    x.alpha = 0.75, x.alpha_im = -2;
    x.beta = -0.5, x.beta_im = 1.25;
    cr_assert(eq(int, tj_reference_product(problem, &x, p, 1, &err), TJ_OK), "%s: %s", label, err.message);
    for (int64_t b = 0; b < BATCH; b++)
        for (int64_t row = 0; row < J; row++)
            for (int64_t col = 0; col < L; col++) {
                number sum = 0;

                for (int64_t i = 0; i < K; i++)
                    sum += at(&known.m, m, J, K, b, row, i) * at(&known.n, n, K, L, b, i, col);
                if (known.epilogue.has_alpha)
                    sum *= x.alpha + x.alpha_im * I;
                if (known.epilogue.has_beta)
                    sum += (x.beta + x.beta_im * I) * at(&known.c, c, J, L, b, row, col);
                worst = fmax(worst, cabs(sum - at(&known.p, p, J, L, b, row, col)) / cabs(sum));
            }
    cr_expect(worst <= 200 * unit, "%s: %g of %g", label, worst, unit);
    cr_assert(eq(int, tj_reference_check(problem, &x, p, 0, 1, &report, &err), TJ_OK), "%s: %s", label, err.message);
    cr_expect(report.passed && report.elements == BATCH * J * L && report.elements_total == report.elements, "%s: %s", label,
              report.reason);
}

Test(complex_numbers, products_are_those_of_complex_arithmetic)
{
    for (unsigned i = 0; i < 64; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(J, K, L, i % 2 ? TJ_C128 : TJ_C64);
        char label[32];

        problem.batch = BATCH;
        problem.m.conjugated = i / 2 % 2;
        problem.n.conjugated = i / 4 % 2;
        problem.m.layout = i / 8 % 2;
        problem.n.layout = i / 16 % 2;
        problem.p.layout = i / 32 % 2;
        problem.epilogue.has_alpha = i % 3 != 0;
        problem.epilogue.has_beta = i % 5 < 3;
        snprintf(label, sizeof label, "variant %u", i);
        expect_own_product(&problem, label);
    }
}

/* Each of these is the product of something else. */
Test(complex_numbers, wrong_products_do_not_pass)
{
    static float complex m[J * K], n[K * L], p[J * L];
    const struct {
        const char *what;
        int conjugated;
        float complex factor, addend;
        bool passes;
    } row[] = {
        {"right", 0, 1, 0, true},
        {"conjugate M", 1, 1, 0, false},
        {"exchanged parts", 0, I, 0, false},
        {"no imaginary part", 0, 0, 0, false},
        {"a wrong imaginary part", 0, 1, 0.1f * I, false},
        {"a NaN", 0, 1, NAN * I, false},
    };

    tj_fill_random(TJ_C64, m, J * K, 1);
    tj_fill_random(TJ_C64, n, K * L, 2);
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(J, K, L, TJ_C64);
        const tj_host_operands x = TJ_HOST_OPERANDS(m, n);
        tj_check_report report = TJ_CHECK_REPORT_INIT;
        tj_error err;

        problem.m.conjugated = (int8_t)row[i].conjugated;
        cr_assert(eq(int, tj_reference_product(&problem, &x, p, 1, &err), TJ_OK), "%s", err.message);
        problem.m.conjugated = 0;
        for (int e = 0; e < J * L; e++)
            p[e] = row[i].factor == 0 ? crealf(p[e]) : row[i].factor * p[e];
        ((float *)p)[2 * (J * L - 1) + 1] += cimagf(row[i].addend);
        cr_assert(eq(int, tj_reference_check(&problem, &x, p, 0, 1, &report, &err), TJ_OK), "%s", err.message);
        cr_expect(report.passed == row[i].passes, "%s: %s", row[i].what, report.reason);
        cr_expect(row[i].passes || strstr(report.reason, "of 70 real and imaginary parts are"), "%s: %s", row[i].what,
                  report.reason);
        if (cimagf(row[i].addend) > 0)
            cr_expect(report.worst_row == J - 1 && report.worst_col == L - 1, "%s", row[i].what);
    }
}

/* An infinity makes what multiplication of the parts makes of it. */
Test(complex_numbers, infinities_stay)
{
    float complex m[1] = {0}, n[1] = {2 + 1 * I}, p[1];
    const tj_problem problem = TJ_PROBLEM_INIT(1, 1, 1, TJ_C64);
    const tj_host_operands x = TJ_HOST_OPERANDS(m, n);
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    tj_error err;

    ((float *)m)[0] = INFINITY;
    cr_assert(eq(int, tj_reference_product(&problem, &x, p, 1, &err), TJ_OK));
    cr_expect(isinf(crealf(p[0])) && isinf(cimagf(p[0])));
    cr_assert(eq(int, tj_reference_check(&problem, &x, p, 0, 1, &report, &err), TJ_OK));
    cr_expect(report.passed, "%s", report.reason);
    ((float *)p)[1] = -INFINITY;
    cr_assert(eq(int, tj_reference_check(&problem, &x, p, 0, 1, &report, &err), TJ_OK));
    cr_expect(not(report.passed));
}

Test(complex_numbers, numbers_are_converted)
{
    const float complex narrow[2] = {1.5f - 2.25f * I, 3};
    const double real[2] = {7, -8};
    number wide[2], back[2];
    float complex drawn[2];
    float parts[4];

    tj_convert(TJ_C128, wide, TJ_C64, narrow, 2);
    cr_expect(wide[0] == 1.5 - 2.25 * I && wide[1] == 3);
    tj_convert(TJ_C64, drawn, TJ_C128, wide, 2);
    cr_expect(drawn[0] == narrow[0] && drawn[1] == narrow[1]);
    tj_convert(TJ_C128, wide, TJ_F64, real, 2);
    cr_expect(wide[0] == 7 && wide[1] == -8);
    tj_convert(TJ_C128, back, TJ_C128, wide, 2);
    cr_expect(back[0] == wide[0] && back[1] == wide[1]);
    tj_fill_random(TJ_C64, drawn, 2, 9);
    tj_fill_random(TJ_F32, parts, 4, 9);
    cr_expect(crealf(drawn[0]) == parts[0] && cimagf(drawn[0]) == parts[1] && crealf(drawn[1]) == parts[2] &&
              cimagf(drawn[1]) == parts[3]);
}

/* A real product takes no complex scalar. */
Test(complex_numbers, scalars_of_real_products_are_real)
{
    float m[1] = {1}, n[1] = {1}, p[1];
    tj_problem problem = TJ_PROBLEM_INIT(1, 1, 1, TJ_F32);
    tj_host_operands x = TJ_HOST_OPERANDS(m, n);
    tj_error err;

    problem.epilogue.has_alpha = 1;
    x.alpha_im = 1;
    cr_assert(eq(int, tj_reference_product(&problem, &x, p, 1, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "alpha has an imaginary part, and the product of f32 is real") != NULL, "%s", err.message);
}

/* The reference finds a half that is not the conjugate of the other, and a diagonal that is not real. */
Test(complex_numbers, reference_knows_hermitian_products)
{
    enum { SIDE = 6, DEPTH = 4 };
    float x[SIDE][DEPTH][2], p[SIDE][SIDE][2];
    tj_problem problem = TJ_PROBLEM_INIT(SIDE, DEPTH, SIDE, TJ_C64);
    const tj_host_operands operands = TJ_HOST_OPERANDS(x, x);
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    tj_error err;

    problem.n.transposed = problem.n.conjugated = 1;
    problem.symmetric = TJ_HERMITIAN_BOTH;
    for (int i = 0; i < SIDE * DEPTH * 2; i++)
        (&x[0][0][0])[i] = (float)((i * 7 + 3) % 11) / 8 - 0.5f;
    cr_assert(eq(int, tj_reference_product(&problem, &operands, p, 1, &err), TJ_OK), "%s", err.message);
    for (int r = 0; r < SIDE; r++)
        for (int c = 0; c < SIDE; c++) {
            cr_expect(p[r][c][0] == p[c][r][0] && p[r][c][1] == -p[c][r][1]);
            cr_expect(r != c || (p[r][c][1] == 0 && !signbit(p[r][c][1])));
        }
    cr_assert(eq(int, tj_reference_check(&problem, &operands, p, 0, 1, &report, &err), TJ_OK), "%s", err.message);
    cr_expect(report.passed, "%s", report.reason);

    p[2][2][1] = 1e-30f;
    cr_assert(eq(int, tj_reference_check(&problem, &operands, p, 0, 1, &report, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, report.passed, 0));
    p[2][2][1] = 0;
    p[1][3][0] = nextafterf(p[1][3][0], 9);
    cr_assert(eq(int, tj_reference_check(&problem, &operands, p, 0, 1, &report, &err), TJ_OK), "%s", err.message);
    cr_expect(strstr(report.reason, "P is not Hermitian: 1 elements differ from their mirror images") != NULL, "%s",
              report.reason);
}
