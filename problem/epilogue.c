/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epilogue: the operations that may follow a sum, one in each row.
 */
#include "canonical.h"
#include "error.h"
#include "symmetric.h"
#include "tree.h"
#include "scalar.h"

enum { COARSE_GELU_FLOP = 9 }; /* with the device's tanh */

static bool scales_m(const tj_problem *problem)
{
    return tj_is_scaled(problem, TJ_MATRIX_M);
}

static bool scales_n(const tj_problem *problem)
{
    return tj_is_scaled(problem, TJ_MATRIX_N);
}

static bool has_whole_m(const tj_problem *problem)
{
    return tj_scale_of(problem, TJ_MATRIX_M)->whole != 0;
}

static bool has_whole_n(const tj_problem *problem)
{
    return tj_scale_of(problem, TJ_MATRIX_N)->whole != 0;
}

static bool has_alpha(const tj_problem *problem)
{
    return problem->epilogue.has_alpha != 0;
}

static bool has_beta(const tj_problem *problem)
{
    return problem->epilogue.has_beta != 0;
}

/* In the order of execution. */
const tj_operation tj_operations[] = {
    {scales_m, true, "scale_m * ", "", 1},    {scales_n, true, "", " * scale_n", 1}, {has_whole_m, true, "whole_m * ", "", 1},
    {has_whole_n, true, "", " * whole_n", 1}, {has_alpha, false, "alpha * ", "", 1}, {has_beta, false, "", " + beta * C", 2},
};

const size_t tj_operation_count = sizeof tj_operations / sizeof tj_operations[0];

static tj_status check_flag(const char *name, int32_t value, tj_error *err)
{
    if (value == 0 || value == 1)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is %d: use 0 or 1", name, value);
}

/* The epilogue of a product of complex numbers is the formula of alpha and beta. problem: with types spelled out. */
static tj_status check_complex(const tj_problem *problem, tj_error *err)
{
    const char *const type = tj_type_name((tj_type)problem->m.type);

    if (!tj_is_complex(problem))
        return TJ_OK;
    for (tj_which which = TJ_MATRIX_M; which < TJ_SCALED; which++)
        if (tj_is_scaled(problem, which) || tj_scale_of(problem, which)->whole)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is of a %s matrix, and scales are for real types: use alpha",
                           tj_scale_name(which), type);
    if (tj_epilogue_pairs(&problem->epilogue))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "the epilogue takes pairs of columns, and P is %s: pairs are for real types", type);
    if (problem->epilogue.expression.nodes > 0)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "the epilogue is an expression, and P is %s: expressions compute in real types; use alpha and beta, which may "
            "be complex",
            type);
    return TJ_OK;
}

tj_status tj_epilogue_check(const tj_problem *problem, tj_error *err)
{
    const tj_problem words = tj_problem_words(problem);
    tj_status status = check_flag("has_alpha", problem->epilogue.has_alpha, err);

    if (status == TJ_OK)
        status = check_flag("has_beta", problem->epilogue.has_beta, err);
    if (status == TJ_OK)
        status = check_complex(&words, err);
    if (status == TJ_OK)
        status = tj_scales_check(&words, err);
    return status == TJ_OK ? tj_expression_check(&words, err) : status;
}

/* May the two parts be alpha or beta? */
static tj_status check_scalar(const tj_problem *problem, const char *name, const double part[2], tj_error *err)
{
    const tj_type type = tj_scalar_type(problem);
    const int parts = tj_type_parts((int32_t)type);
    tj_status status = TJ_OK;

    if (parts == 1 && part[1] != 0.0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s has an imaginary part, and the product of %s is real: leave it 0, or multiply c64 or c128", name,
                       tj_type_name((tj_type)problem->m.type));
    if (tj_is_hermitian(problem) && part[1] != 0.0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s has an imaginary part, and P is Hermitian, which only a real factor keeps: leave it 0", name);
    for (int i = 0; i < parts && status == TJ_OK && tj_part_type((int32_t)type) != TJ_F64; i++)
        status = type == TJ_S32 ? tj_scalar_check_whole(name, part[i], err) : tj_scalar_check(name, part[i], err);
    return status;
}

tj_status tj_epilogue_check_scalars(const tj_problem *problem, const double alpha[2], const double beta[2], tj_error *err)
{
    const tj_status status = problem->epilogue.has_alpha ? check_scalar(problem, "alpha", alpha, err) : TJ_OK;

    return status == TJ_OK && problem->epilogue.has_beta ? check_scalar(problem, "beta", beta, err) : status;
}

int32_t tj_epilogue_flop(const tj_problem *problem)
{
    const tj_expression *e = &problem->epilogue.expression;
    int32_t flop = 0;

    for (size_t i = 0; i < tj_operation_count; i++)
        flop += tj_operations[i].is_taken(problem) ? tj_operations[i].flop * tj_products_of_element(problem) : 0;
    for (int32_t i = 0; i < e->nodes; i++)
        flop += e->node[i].op == TJ_OP_GELU_TANH && tj_expression_is_coarse(problem) ? COARSE_GELU_FLOP
                                                                                     : tj_op_facts_of(e->node[i].op)->flop;
    for (int32_t i = 0; i < e->operands; i++)
        flop += e->operand[i].reduction != TJ_REDUCE_NOT;
    return flop;
}
