/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* Operands of an expression are set by name; numbers of a problem that its general form leaves to the launch are taken from it. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdbool.h>
#include <string.h>

#include <tilejit/tilejit.h>

#include "kernel.h"

static tj_error err;

static bool says(const char *words)
{
    return strstr(err.message, words) != NULL;
}

static tj_problem problem_of(const char *expression)
{
    tj_problem problem = TJ_PROBLEM_INIT(4, 5, 6, TJ_F32);

    if (expression)
        cr_assert(eq(int, tj_epilogue_parse(expression, &problem.epilogue, &err), TJ_OK), "%s", err.message);
    return problem;
}

Test(operands, are_set_by_name)
{
    const tj_problem problem = problem_of("out[row, col] = acc * gain; max(acc * gain + bias[col], low)");
    tj_operands x = TJ_OPERANDS_INIT;
    float bias[6], out[24];

    cr_expect(eq(int, tj_operands_set(&x, &problem, "bias", bias, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, tj_operands_set(&x, &problem, "out", out, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, tj_operands_set_number(&x, &problem, "low", -2.5, &err), TJ_OK), "%s", err.message);
    cr_expect(x.with[tj_epilogue_find(&problem.epilogue, "bias")].address == bias);
    cr_expect(x.with[tj_epilogue_find(&problem.epilogue, "out")].address == out);
    cr_expect(x.number[tj_epilogue_find(&problem.epilogue, "low")] == -2.5);
    cr_expect(eq(int, tj_operands_set(&x, &problem, "bias", NULL, NULL), TJ_OK));
    cr_expect(x.with[tj_epilogue_find(&problem.epilogue, "bias")].address == NULL);
}

Test(operands, that_are_not_there_write_nothing_and_are_named)
{
    const tj_problem problem = problem_of("max(acc + bias[col], low)"), plain = problem_of(NULL);
    const tj_operands untouched = TJ_OPERANDS_INIT;
    tj_operands x = untouched, bare = {0};
    float bias[6];

    cr_expect(eq(int, tj_operands_set(&x, &problem, "bais", bias, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("no operand bais") && says("bias") && says("low"), "%s", err.message);
    cr_expect(eq(int, tj_operands_set_number(&x, &problem, "high", 1, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(eq(int, tj_operands_set(&x, &problem, "low", bias, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("low is a number"), "%s", err.message);
    cr_expect(eq(int, tj_operands_set_number(&x, &problem, "bias", 1, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("bias is indexed"), "%s", err.message);
    cr_expect(eq(int, tj_operands_set(&x, &plain, "bias", bias, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("names no operand"), "%s", err.message);
    cr_expect(eq(int, tj_operands_set(&bare, &problem, "bias", bias, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("TJ_OPERANDS_INIT"), "%s", err.message);
    cr_expect(memcmp(&x, &untouched, sizeof x) == 0);
}

Test(operands, take_what_the_general_form_leaves_to_the_launch)
{
    tj_problem problem = TJ_PROBLEM_INIT(4, 5, 6, TJ_F32), known, general;
    tj_operands x = TJ_OPERANDS_INIT;

    problem.batch = 3;
    problem.k.mode = TJ_DIM_ANY;
    problem.m.ld = 8;
    problem.n.stride = TJ_POINTERS;
    problem.p.ld = TJ_ANY;
    x.k = 7;
    x.p.ld = 9;
    known = tj_problem_canonical(&problem);
    general = tj_problem_general(&known);
    tj_operands_take(&x, &known, &general);
    cr_expect(general.j.mode == TJ_DIM_ANY && general.k.mode == TJ_DIM_ANY && general.l.mode == TJ_DIM_ANY);
    cr_expect(x.j == 4 && x.l == 6 && x.batch == 3 && x.m.ld == 8);
    cr_expect(general.m.ld == TJ_ANY && general.m.stride == TJ_ANY && general.batch == TJ_ANY);
    cr_expect(eq(i64, x.m.stride, known.m.stride));
    cr_expect(eq(i64, general.n.stride, TJ_POINTERS), "an array of pointers is not a number");
    cr_expect(x.k == 7 && x.p.ld == 9, "what the problem leaves open is the caller's");
    problem.batch = 1;
    known = tj_problem_canonical(&problem);
    cr_expect(eq(i64, tj_problem_general(&known).batch, 1), "a single product has no stride to bring");
}
