/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* The reference against three plain loops that read the problem literally. Small whole numbers: every result is exact. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/reference.h>

#include "number.h"

typedef struct matrix {
    void *data;
    int64_t span;
    tj_type dtype;
} matrix;

/* Return the place of element (row, col) of op(X), straight from the fields of the problem. */
static int64_t place(int layout, int transpose, int64_t ld, int64_t rows, int64_t cols, int64_t row, int64_t col)
{
    const int64_t r = transpose ? col : row, c = transpose ? row : col;
    const int64_t stored_rows = transpose ? cols : rows, stored_cols = transpose ? rows : cols;

    if (layout == TJ_ROW_MAJOR)
        return r * (ld ? ld : stored_cols) + c;
    return c * (ld ? ld : stored_rows) + r;
}

static int64_t offset_of(int64_t stride, int64_t tight, int64_t batch)
{
    return batch * (stride == TJ_BROADCAST ? 0 : stride == TJ_TIGHT ? tight : stride);
}

static int64_t lines(int layout, int transpose, int64_t rows, int64_t cols)
{
    return (layout == TJ_ROW_MAJOR) != (transpose == 1) ? rows : cols;
}

static int64_t tight_of(int layout, int transpose, int64_t ld, int64_t rows, int64_t cols)
{
    const int64_t count = lines(layout, transpose, rows, cols), width = rows * cols / count;

    return (ld ? ld : width) * count;
}

/* Everything NaN, to be overwritten where elements stand: padding must never be read. */
static matrix make_matrix(tj_type dtype, int64_t span)
{
    matrix m = {calloc((size_t)span + 1, tj_type_bytes(dtype)), span, dtype};

    for (int64_t i = 0; i <= span; i++)
        tj_write_number(dtype, m.data, i, (long double)NAN);
    return m;
}

static int check_problem(const tj_problem *p, double alpha, double beta, uint64_t seed)
{
    const tj_type in = (tj_type)p->m.type, out = (tj_type)(p->p.type ? p->p.type : p->m.type);
    const int64_t j = p->j.extent, k = p->k.extent, l = p->l.extent, batch = p->batch ? p->batch : 1;
    matrix m = make_matrix(in, tj_problem_span(p, TJ_MATRIX_M)), n = make_matrix(in, tj_problem_span(p, TJ_MATRIX_N));
    matrix c = make_matrix(out, p->epilogue.has_beta ? tj_problem_span(p, TJ_MATRIX_C) : 1),
           got = make_matrix(out, tj_problem_span(p, TJ_MATRIX_P));
    matrix want = make_matrix(out, got.span);
    const tj_host_operands operands = {sizeof operands, m.data, n.data, c.data, alpha, beta};
    const int64_t m_tight = k ? tight_of(p->m.layout, p->m.transposed, p->m.ld, j, k) : 0;
    const int64_t n_tight = k ? tight_of(p->n.layout, p->n.transposed, p->n.ld, k, l) : 0;
    const int64_t p_tight = tight_of(p->p.layout, 0, p->p.ld, j, l), c_tight = tight_of(p->p.layout, 0, p->c.ld, j, l);
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    tj_error err = {0};
    int wrong = 0;

    srand((unsigned)seed);
    for (int64_t b = 0; b < batch; b++) {
        for (int64_t r = 0; r < j; r++)
            for (int64_t i = 0; i < k; i++)
                tj_write_number(in, m.data,
                                offset_of(p->m.stride, m_tight, b) + place(p->m.layout, p->m.transposed, p->m.ld, j, k, r, i),
                                (long double)(rand() % 3 - 1));
        for (int64_t i = 0; i < k; i++)
            for (int64_t col = 0; col < l; col++)
                tj_write_number(in, n.data,
                                offset_of(p->n.stride, n_tight, b) + place(p->n.layout, p->n.transposed, p->n.ld, k, l, i, col),
                                (long double)(rand() % 3 - 1));
        for (int64_t r = 0; r < j && p->epilogue.has_beta && beta != 0.0; r++)
            for (int64_t col = 0; col < l; col++)
                tj_write_number(out, c.data, offset_of(p->c.stride, c_tight, b) + place(p->p.layout, 0, p->c.ld, j, l, r, col),
                                (long double)(rand() % 9 - 4));
    }
    for (int64_t b = 0; b < batch; b++)
        for (int64_t r = 0; r < j; r++)
            for (int64_t col = 0; col < l; col++) {
                long double sum = 0;

                for (int64_t i = 0; i < k; i++)
                    sum += (long double)tj_read_number(in, m.data,
                                                       offset_of(p->m.stride, m_tight, b) +
                                                           place(p->m.layout, p->m.transposed, p->m.ld, j, k, r, i)) *
                           (long double)tj_read_number(in, n.data,
                                                       offset_of(p->n.stride, n_tight, b) +
                                                           place(p->n.layout, p->n.transposed, p->n.ld, k, l, i, col));
                sum *= p->epilogue.has_alpha ? (long double)alpha : 1.0L;
                if (p->epilogue.has_beta && beta != 0.0)
                    sum += (long double)beta *
                           (long double)tj_read_number(
                               out, c.data, offset_of(p->c.stride, c_tight, b) + place(p->p.layout, 0, p->c.ld, j, l, r, col));
                tj_write_number(out, want.data,
                                offset_of(p->p.stride, p_tight, b) + place(p->p.layout, 0, p->p.ld, j, l, r, col), sum);
            }

    if (tj_reference_product(p, &operands, got.data, 2, &err) != TJ_OK) {
        cr_log_error("%s", err.message);
        wrong++;
    }
    for (int64_t i = 0; i <= got.span; i++) {
        const double a = tj_read_number(out, got.data, i), e = tj_read_number(out, want.data, i);

        wrong += isnan(e) ? !isnan(a) : a != e;
    }
    /* And the check agrees with the loops. */
    if (tj_reference_check(p, &operands, want.data, 0, 2, &report, &err) != TJ_OK || !report.passed ||
        report.max_error != 0.0 || report.elements != j * l * batch || report.elements_total != j * l * batch)
        wrong++;
    free(m.data);
    free(n.data);
    free(c.data);
    free(got.data);
    free(want.data);
    return wrong;
}

static const int dtypes[][2] = {{TJ_F32, TJ_F32}, {TJ_F64, TJ_F64},   {TJ_F16, TJ_F16},  {TJ_F16, TJ_F32},
                                {TJ_F32, TJ_F16}, {TJ_BF16, TJ_BF16}, {TJ_BF16, TJ_F32}, {TJ_F32, TJ_BF16}};

Test(product, is_right_for_every_layout_type_padding_and_scalar)
{
    static const int64_t shapes[][3] = {{1, 1, 1}, {3, 5, 2}, {7, 0, 4}, {5, 9, 6}};
    int cases = 0;

    for (size_t s = 0; s < 4; s++)
        for (size_t d = 0; d < 8; d++)
            for (int flags = 0; flags < 32; flags++)
                for (int pad = 0; pad < 2; pad++)
                    for (int scalars = 0; scalars < 5; scalars++) {
                        static const double alphas[] = {1, 2, 0, -1, 0.5}, betas[] = {0, 0, 1, 2, -0.5};
                        tj_problem p = TJ_PROBLEM_INIT(shapes[s][0], shapes[s][1], shapes[s][2], dtypes[d][0]);

                        p.p.type = dtypes[d][1];
                        p.m.layout = flags & 1;
                        p.n.layout = flags >> 1 & 1;
                        p.p.layout = flags >> 2 & 1;
                        p.m.transposed = flags >> 3 & 1;
                        p.n.transposed = flags >> 4 & 1;
                        p.m.ld = pad ? 11 : 0;
                        p.n.ld = pad ? 13 : 0;
                        p.p.ld = pad ? 15 : 0;
                        p.c.ld = pad ? 17 : 0;
                        p.epilogue.has_alpha = scalars > 0;
                        p.epilogue.has_beta = scalars > 0;
                        cr_assert(eq(int, check_problem(&p, alphas[scalars], betas[scalars], (uint64_t)cases), 0),
                                  "shape %zu types %zu flags %d pad %d scalars %d", s, d, flags, pad, scalars);
                        cases++;
                    }
    cr_assert(eq(int, cases, 4 * 8 * 32 * 2 * 5));
}

Test(product, is_right_for_every_batch_stride)
{
    static const int64_t strides[] = {TJ_TIGHT, TJ_BROADCAST, 200};

    for (size_t d = 0; d < 8; d++)
        for (size_t s = 0; s < 27; s++)
            for (int flags = 0; flags < 8; flags++) {
                tj_problem p = TJ_PROBLEM_INIT(5, 9, 6, dtypes[d][0]);

                p.p.type = dtypes[d][1];
                p.m.layout = flags & 1;
                p.n.layout = flags >> 1 & 1;
                p.p.layout = flags >> 2 & 1;
                p.batch = 40; /* more rows than one tile takes: a tile meets several products */
                p.epilogue.has_beta = 1;
                p.p.ld = 8;
                p.m.stride = strides[s % 3];
                p.n.stride = strides[s / 3 % 3];
                p.c.stride = strides[s / 9];
                p.p.stride = s % 2 ? 200 : TJ_TIGHT;
                cr_assert(eq(int, check_problem(&p, 1.0, 2.0, s), 0), "types %zu strides %zu flags %d", d, s, flags);
            }
}

/* The same matrices, by a stride and by arrays of pointers, in the order in which they do not lie. */
Test(product, of_matrices_that_pointers_lead_to)
{
    enum { J = 5, K = 9, L = 6, BATCH = 40, STRIDE = 60 };
    static float m[BATCH * STRIDE], n[BATCH * STRIDE], c[BATCH * STRIDE], p[BATCH * STRIDE], want[BATCH * STRIDE];
    const void *to[4][BATCH];

    tj_fill_random(TJ_F32, m, BATCH * STRIDE, 1);
    tj_fill_random(TJ_F32, n, BATCH * STRIDE, 2);
    tj_fill_random(TJ_F32, c, BATCH * STRIDE, 3);
    for (int which = 0; which < 16; which++) {
        tj_problem strided = TJ_PROBLEM_INIT(J, K, L, TJ_F32), pointing;
        tj_host_operands operands = {sizeof operands, m, n, c, 1.0, 2.0};
        tj_check_report report = TJ_CHECK_REPORT_INIT;
        tj_error err;
        void *out = p;

        strided.batch = BATCH;
        strided.epilogue.has_beta = 1;
        strided.n.layout = TJ_COL_MAJOR;
        strided.m.stride = strided.n.stride = strided.p.stride = strided.c.stride = STRIDE;
        cr_assert(eq(int, tj_reference_product(&strided, &operands, want, 1, &err), TJ_OK));
        pointing = strided;
        for (int i = 0; i < BATCH; i++) { /* product i takes what the strided one numbers, by way of the array */
            to[0][i] = m + i * STRIDE;
            to[1][i] = n + i * STRIDE;
            to[2][i] = p + (BATCH - 1 - i) * STRIDE;
            to[3][i] = c + i * STRIDE;
        }
        if (which & 1)
            pointing.m.stride = TJ_POINTERS, operands.m = to[0];
        if (which & 2)
            pointing.n.stride = TJ_POINTERS_16, operands.n = to[1];
        if (which & 4)
            pointing.p.stride = TJ_POINTERS, out = to[2];
        if (which & 8)
            pointing.c.stride = TJ_POINTERS, operands.c = to[3];
        memset(p, 0, sizeof p);
        cr_assert(eq(int, tj_reference_product(&pointing, &operands, out, 2, &err), TJ_OK), "%s", err.message);
        for (int i = 0; i < BATCH; i++)
            cr_expect(zero(int, memcmp(p + (which & 4 ? BATCH - 1 - i : i) * STRIDE, want + i * STRIDE, J * L * sizeof *p)),
                      "arrays %d, product %d", which, i);
        cr_assert(eq(int, tj_reference_check(&pointing, &operands, out, 0, 1, &report, &err), TJ_OK));
        cr_expect(report.passed, "%s", report.reason);
        p[7 * STRIDE] += 1;
        cr_assert(eq(int, tj_reference_check(&pointing, &operands, out, 0, 1, &report, &err), TJ_OK));
        cr_expect(report.passed == 0 && report.worst_batch == (which & 4 ? BATCH - 1 - 7 : 7));
        cr_expect(eq(i64, tj_problem_span(&pointing, TJ_MATRIX_P), which & 4 ? J * L : (BATCH - 1) * STRIDE + J * L));
    }
}

Test(product, is_right_across_the_edges_of_its_tiles)
{
    static const int64_t shapes[][3] = {{63, 127, 127},  {64, 128, 128}, {65, 129, 129},
                                        {130, 257, 131}, {1, 300, 260},  {200, 3, 1}};

    for (size_t s = 0; s < 6; s++)
        for (size_t d = 0; d < 8; d++)
            for (int flags = 0; flags < 8; flags++) {
                tj_problem p = TJ_PROBLEM_INIT(shapes[s][0], shapes[s][1], shapes[s][2], dtypes[d][0]);

                if (!IS_NIGHTLY && shapes[s][0] * shapes[s][2] > 8000 && flags != (int)(d + s) % 8)
                    continue; /* each type in one layout, and each layout of one type: all of both above, of small products */
                p.p.type = dtypes[d][1];
                p.m.layout = flags & 1;
                p.n.layout = flags >> 1 & 1;
                p.p.layout = flags >> 2 & 1;
                cr_assert(eq(int, check_problem(&p, 1.0, 0.0, s), 0), "shape %zu types %zu flags %d", s, d, flags);
            }
}

Test(product, of_f64_is_compensated)
{
    const double x = 1.0 + 0x1p-30;
    const double m[] = {1e16, 1.0, -1e16, x, -1.0, -0x1p-29}, n[] = {1.0, 1.0, 1.0, x, 1.0, 1.0};
    const tj_problem p = TJ_PROBLEM_INIT(1, 6, 1, TJ_F64);
    const tj_host_operands operands = TJ_HOST_OPERANDS(m, n);
    double got = 0;

    cr_assert(eq(int, tj_reference_product(&p, &operands, &got, 1, NULL), TJ_OK));
    cr_expect(eq(dbl, got, 1.0 + 0x1p-60)); /* a plain sum gives 2 or 0; the last term is lost in the 1 */

    tj_problem tail = TJ_PROBLEM_INIT(1, 3, 1, TJ_F64);
    const tj_host_operands tail_operands = TJ_HOST_OPERANDS(m + 3, n + 3);

    cr_assert(eq(int, tj_reference_product(&tail, &tail_operands, &got, 1, NULL), TJ_OK));
    cr_expect(eq(dbl, got, 0x1p-60)); /* only the error of the product x * x holds it */
}

Test(product, does_not_read_c_where_beta_is_zero)
{
    const float m = 2, n = 3, c = NAN;
    float got = 0;
    tj_problem p = TJ_PROBLEM_INIT(1, 1, 1, TJ_F32);
    tj_host_operands operands = {sizeof operands, &m, &n, &c, 1.0, 0.0};

    p.epilogue.has_beta = 1;
    cr_assert(eq(int, tj_reference_product(&p, &operands, &got, 1, NULL), TJ_OK));
    cr_expect(eq(flt, got, 6));
    operands.c = NULL;
    cr_assert(eq(int, tj_reference_product(&p, &operands, &got, 1, NULL), TJ_OK));
    cr_expect(eq(flt, got, 6));
    operands.beta = NAN; /* not zero, so C is needed */
    cr_expect(eq(int, tj_reference_product(&p, &operands, &got, 1, NULL), TJ_ERR_INVALID_ARGUMENT));
}

Test(product, ignores_scalars_that_the_problem_lacks)
{
    const float m = 2, n = 3;
    float got = 0;
    const tj_problem p = TJ_PROBLEM_INIT(1, 1, 1, TJ_F32);
    const tj_host_operands operands = {sizeof operands, &m, &n, NULL, NAN, 17.0};

    cr_assert(eq(int, tj_reference_product(&p, &operands, &got, 1, NULL), TJ_OK));
    cr_expect(eq(flt, got, 6));
}

Test(product, is_the_same_for_any_number_of_threads)
{
    enum { J = 150, K = 77, L = 300 };
    static double m[J * K], n[K * L], one[J * L], many[J * L];
    const tj_problem p = TJ_PROBLEM_INIT(J, K, L, TJ_F64);
    const tj_host_operands operands = TJ_HOST_OPERANDS(m, n);

    tj_fill_random(TJ_F64, m, J * K, 1);
    tj_fill_random(TJ_F64, n, K * L, 2);
    cr_assert(eq(int, tj_reference_product(&p, &operands, one, 1, NULL), TJ_OK));
    for (int threads = 0; threads < 9; threads++) {
        memset(many, 0xff, sizeof many);
        cr_assert(eq(int, tj_reference_product(&p, &operands, many, threads, NULL), TJ_OK));
        cr_expect(zero(int, memcmp(one, many, sizeof one)), "%d threads", threads);
    }
}
