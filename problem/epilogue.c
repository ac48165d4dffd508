/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epilogue: the operations that may follow a sum, one in each row.
 */
#include <stddef.h>

#include "canonical.h"
#include "error.h"
#include "tree.h"
#include "scalar.h"

enum { COARSE_GELU_FLOP = 9 }; /* with the device's tanh */

#define MEMBER(name) #name, offsetof(tj_problem, epilogue.name)

/* In the order of execution. */
const tj_operation tj_operations[] = {
    {MEMBER(scale_m), TJ_SCALE_ALONG_K, {" scale_m", " scale_m:each", " scale_m:along_k"}, "scale_m * ", "", 1},
    {MEMBER(scale_n), TJ_SCALE_ALONG_K, {" scale_n", " scale_n:each", " scale_n:along_k"}, "", " * scale_n", 1},
    {MEMBER(has_alpha), 1, {" alpha"}, "alpha * ", "", 1},
    {MEMBER(has_beta), 1, {" beta"}, "", " + beta * C", 2},
};

const size_t tj_operation_count = sizeof tj_operations / sizeof tj_operations[0];

/* Scales along k belong to weights, and come with scale_k, the elements of k for each scale. */
static tj_status check_along_k(const tj_problem *words, tj_error *err)
{
    bool is_any = false;

    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_N; which++) {
        const int32_t type = tj_problem_matrix(words, which)->type;

        if (!tj_scales_along_k(words, which))
            continue;
        is_any = true;
        if (!tj_widens_weights(words->m.type, words->n.type) || !tj_type_is_weights(type))
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                           "scale_%c is along-k, which is for weights of s8, u8 or s4 with f32, f16 or bf16, and M is %s, "
                           "N %s: use each, one for a row or column",
                           "mn"[which], tj_facts_of(words->m.type) -> name, tj_facts_of(words->n.type) -> name);
    }
    if (is_any && words->scale_k < 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "scale_k is %d: scales along k are for so many elements each, 1 or more, such as 32, 64 or 128",
                       words->scale_k);
    if (!is_any && words->scale_k != 0)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "scale_k is %d and there are no scales along k: make scale_m or scale_n, that of the weights, along-k, or leave "
            "scale_k out",
            words->scale_k);
    return TJ_OK;
}

tj_status tj_epilogue_check(const tj_problem *problem, tj_error *err)
{
    for (size_t i = 0; i < tj_operation_count; i++) {
        const int32_t value = tj_operation_value(problem, &tj_operations[i]), most = tj_operations[i].most;

        if (value < 0 || value > most)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is %d: use %s", tj_operations[i].name, value,
                           most == 1 ? "0 or 1" : "one of tj_scale: none, one, each or along-k");
        if (value && most > 1 && tj_problem_words(problem).compute == TJ_COMPUTE_F64)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                           "%s is %d, but scales are f32 and go with no f64: leave them out, and use alpha",
                           tj_operations[i].name, value);
    }
    const tj_problem words = tj_problem_words(problem);
    const tj_status status = check_along_k(&words, err);

    if (status != TJ_OK)
        return status;
    return tj_expression_check(&words, err);
}

tj_status tj_epilogue_check_scalars(const tj_problem *problem, double alpha, double beta, tj_error *err)
{
    const tj_type type = tj_scalar_type(problem);
    tj_status (*const check)(const char *, double, tj_error *) = type == TJ_S32 ? tj_scalar_check_whole : tj_scalar_check;
    tj_status status = TJ_OK;

    if (type != TJ_F64 && problem->epilogue.has_alpha)
        status = check("alpha", alpha, err);
    return status == TJ_OK && type != TJ_F64 && problem->epilogue.has_beta ? check("beta", beta, err) : status;
}

int32_t tj_epilogue_flop(const tj_problem *problem)
{
    const tj_expression *e = &problem->epilogue.expression;
    int32_t flop = 0;

    for (size_t i = 0; i < tj_operation_count; i++)
        flop += tj_operation_value(problem, &tj_operations[i]) ? tj_operations[i].flop : 0;
    for (int32_t i = 0; i < e->nodes; i++)
        flop += e->node[i].op == TJ_OP_GELU_TANH && tj_expression_is_coarse(problem) ? COARSE_GELU_FLOP
                                                                                     : tj_op_facts_of(e->node[i].op)->flop;
    for (int32_t i = 0; i < e->operands; i++)
        flop += e->operand[i].reduction != TJ_REDUCE_NOT;
    return flop;
}
