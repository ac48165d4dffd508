/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* The functions of an expression have the values of their definitions, by the numbers of another program. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tilejit/tools.h>

#include "tree.h"

/* Computed by the functions of Python's math, and by their formulas from these. */
static const struct {
    const char *name;
    double x, y;
} points[] = {
    {"abs", -2.5, 2.5},
    {"exp", 1, 2.718281828459045},
    {"exp", -2, 0.1353352832366127},
    {"log", 10, 2.302585092994046},
    {"sqrt", 2, 1.4142135623730951},
    {"rsqrt", 4, 0.5},
    {"tanh", 0.5, 0.46211715726000976},
    {"erf", 0.5, 0.5204998778130465},
    {"erf", -1, -0.8427007929497149},
    {"sigmoid", 0, 0.5},
    {"sigmoid", 2, 0.8807970779778824},
    {"relu", -3, 0},
    {"relu", 3, 3},
    {"gelu", 1, 0.8413447460685429},
    {"gelu", -1, -0.15865525393145707},
    {"gelu_tanh", 1, 0.8411919906082768},
    {"silu", 1, 0.7310585786300049},
    {"silu", -2, -0.2384058440442351},
};

/* The value of name(x) in f64. */
static double value_of(const char *name, double x)
{
    tj_problem problem = TJ_PROBLEM_INIT(1, 1, 1, TJ_F64);
    double m = x, n = 1, p = NAN;
    tj_error err;
    char text[32];

    snprintf(text, sizeof text, "%s(acc)", name);
    cr_assert(eq(int, tj_epilogue_parse(text, &problem.epilogue, &err), TJ_OK), "%s: %s", text, err.message);
    cr_assert(eq(int, tj_reference_product(&problem, &(tj_host_operands)TJ_HOST_OPERANDS(&m, &n), &p, 1, &err), TJ_OK),
              "%s: %s", text, err.message);
    return p;
}

Test(expression, functions_have_the_values_of_their_definitions)
{
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        const double y = value_of(points[i].name, points[i].x);

        cr_expect(le(dbl, fabs(y - points[i].y), 1e-15 * fabs(points[i].y)), "%s(%g) is %.17g, not %.17g", points[i].name,
                  points[i].x, y, points[i].y);
    }
}

Test(expression, every_function_of_one_argument_has_a_point)
{
    for (int op = 0; op < TJ_OPS; op++) {
        const tj_op_facts *facts = tj_op_facts_of(op);
        size_t i = 0;

        if (facts->arguments != 1 || !isalpha((unsigned char)facts->name[0]))
            continue;
        while (i < sizeof points / sizeof points[0] && strcmp(points[i].name, facts->name) != 0)
            i++;
        cr_expect(lt(sz, i, sizeof points / sizeof points[0]), "%s has no point here", facts->name);
    }
}
