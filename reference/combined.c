/* SPDX-License-Identifier: Apache-2.0 */
#include "combined.h"

#include <math.h>
#include <stdlib.h>

#include "canonical.h"
#include "checked.h"
#include "error.h"
#include "number.h"
#include "tree.h"

/* ---- one sum ------------------------------------------------------------------------------------------------------ */

/* A number that is infinite or NaN makes the sum so, for certain if it is so for certain. */
static void add(tj_row_sum *sum, long double factor, tj_bounded x)
{
    const long double term = factor * x.value;
    const bool is_certain = x.error == 0.0L || (isfinite(x.error) && (isnan(factor) || fabsl(x.value) > x.error));

    sum->value += term;
    if (isfinite(term)) {
        sum->magnitude += fabsl(term) + fabsl(factor) * x.error;
        sum->error += x.error > 0.0L ? fabsl(factor) * x.error : 0.0L;
    } else if (!is_certain) {
        sum->error = INFINITY;
    }
    if (isnan(sum->error) || isnan(sum->magnitude)) /* 0 times an unknown number */
        sum->error = sum->magnitude = INFINITY;
}

void tj_row_sum_add(tj_row_sum *sum, const tj_problem *problem, double factor, tj_bounded x)
{
    const tj_number_limits *const limits = tj_number_limits_of((tj_type)problem->p.type);

    if (isfinite(x.value)) {
        x.error += limits->unit_roundoff * (fabsl(x.value) + x.error) + limits->smallest_subnormal;
        if (fabsl(x.value) + x.error >= limits->overflow) /* the row may hold an infinity */
            x.error = INFINITY;
    }
    add(sum, (long double)factor, x);
}

void tj_row_sum_add_exact(tj_row_sum *sum, double factor, double number)
{
    add(sum, (long double)factor, (tj_bounded){(long double)number, 0.0L});
}

/* Each term is rounded once, and so is each addition: of all rows, and of C. */
tj_bounded tj_row_sum_bounded(const tj_row_sum *sum, const tj_problem *problem)
{
    const tj_number_limits *const limits = tj_number_limits_of(tj_scalar_type(problem) == TJ_F64 ? TJ_F64 : TJ_F32);
    const long double roundings = (long double)problem->rows.combined + 3.0L;
    tj_bounded x = {sum->value, sum->error};

    if (!isfinite(sum->value))
        return x;
    x.error += roundings * (limits->unit_roundoff * sum->magnitude + limits->smallest_subnormal) * (1.0L + 0x1p-10L);
    if (!(sum->magnitude + x.error < limits->overflow)) /* some orders overflow */
        x.error = INFINITY;
    return x;
}

/* ---- the rows of some sums ---------------------------------------------------------------------------------------- */

/* Half the size of a tj_bounded. error below 0: nobody took the element. */
typedef struct element {
    double value, error;
} element;

struct tj_combined {
    const tj_problem *problem;
    const tj_host_operands *operands;
    int64_t rows_of_p, sums, cols;
    int64_t *needs, *place; /* rows of the product, ascending; the place among them of each row of the product, -1: none */
    int64_t count;
    element *element; /* of the rows that are needed */
};

int64_t tj_combined_rows_of_p(const tj_problem *problem, const tj_host_operands *operands)
{
    return operands->p_rows > 0 ? operands->p_rows : tj_ceil_div(problem->j.extent, tj_rows_of_sum(problem));
}

int64_t tj_combined_row(const tj_combined *c, int64_t i)
{
    __extension__ typedef unsigned __int128 wide;

    return c->sums < 2 ? 0 : (int64_t)((wide)i * (wide)(c->rows_of_p - 1) / (wide)(c->sums - 1));
}

/* Return the row of the product that an entry leads to; -1: none. */
static int64_t row_at(const tj_combined *c, int64_t row_of_p, int32_t i)
{
    const int64_t row = c->operands->p_index[row_of_p * c->problem->rows.combined + i];

    return row < c->problem->j.extent ? row : -1;
}

/* List the rows that the sums need. */
static tj_status find_needs(tj_combined *c, tj_error *err)
{
    const int64_t j = c->problem->j.extent;

    c->needs = malloc((size_t)j * sizeof *c->needs);
    c->place = malloc((size_t)j * sizeof *c->place);
    if (!c->needs || !c->place)
        return tj_fail_memory(err, "the rows of sums");
    for (int64_t row = 0; row < j; row++)
        c->place[row] = -1;
    for (int64_t i = 0; i < c->sums; i++)
        for (int32_t at = 0; at < c->problem->rows.combined; at++)
            if (row_at(c, tj_combined_row(c, i), at) >= 0)
                c->place[row_at(c, tj_combined_row(c, i), at)] = 0;
    for (int64_t row = 0; row < j; row++)
        if (c->place[row] == 0) {
            c->place[row] = c->count;
            c->needs[c->count++] = row;
        }
    c->element = malloc((size_t)(c->count * c->cols + 1) * sizeof *c->element);
    if (!c->element)
        return tj_fail_memory(err, "the rows of sums");
    for (int64_t i = 0; i < c->count * c->cols; i++)
        c->element[i].error = -1;
    return TJ_OK;
}

tj_status tj_combined_create(const tj_problem *problem, const tj_host_operands *operands, int64_t sums, tj_combined **out,
                             tj_error *err)
{
    tj_status status;

    *out = NULL;
    if (!tj_is_combined(problem))
        return TJ_OK;
    *out = calloc(1, sizeof **out);
    if (!*out)
        return tj_fail_memory(err, "the rows of sums");
    **out = (tj_combined){.problem = problem,
                          .operands = operands,
                          .rows_of_p = tj_combined_rows_of_p(problem, operands),
                          .sums = sums,
                          .cols = tj_problem_p_cols(problem)};
    status = find_needs(*out, err);
    if (status != TJ_OK) {
        tj_combined_free(*out);
        *out = NULL;
    }
    return status;
}

void tj_combined_free(tj_combined *c)
{
    if (!c)
        return;
    free(c->needs);
    free(c->place);
    free(c->element);
    free(c);
}

const int64_t *tj_combined_needs(const tj_combined *c, int64_t begin, int64_t end, int64_t *count)
{
    int64_t first = 0, last;

    while (first < c->count && c->needs[first] < begin)
        first++;
    for (last = first; last < c->count && c->needs[last] < end;)
        last++;
    *count = last - first;
    return c->needs + first;
}

void tj_combined_take(tj_combined *c, int64_t row, int64_t col, tj_bounded x)
{
    if (c && c->place[row] >= 0)
        c->element[c->place[row] * c->cols + col] =
            (element){(double)x.value, isfinite(x.value) ? (double)x.error + fabs((double)x.value) * 0x1p-53 : (double)x.error};
}

tj_row_sum tj_combined_sum(const tj_combined *c, int64_t row_of_p, int64_t col)
{
    tj_row_sum sum = {0};

    for (int32_t i = 0; i < c->problem->rows.combined; i++) {
        const int64_t row = row_at(c, row_of_p, i);
        const element *const x = row >= 0 ? &c->element[c->place[row] * c->cols + col] : NULL;

        if (x && !(x->error < 0))
            tj_row_sum_add(&sum, c->problem, (double)c->operands->p_factor[row_of_p * c->problem->rows.combined + i],
                           (tj_bounded){(long double)x->value, (long double)x->error});
    }
    return sum;
}
