/* SPDX-License-Identifier: Apache-2.0 */
#include "invariant.h"

#include "canonical.h"
#include "error.h"
#include "symmetric.h"

/* Do tensor cores multiply the elements, as they are or widened? Next to f32 they are widened to f32, whatever the compute. */
static bool suits_tensor_cores(const tj_problem *problem)
{
    const int32_t type = tj_leading_type(problem->m.type, problem->n.type);

    return type == TJ_F16 || type == TJ_BF16 || tj_type_is_fp8(type) ||
           (problem->compute == TJ_COMPUTE_TF32 && !tj_widens_weights(problem->m.type, problem->n.type));
}

tj_sum_order tj_sum_order_of(const tj_problem *problem)
{
    return !tj_is_invariant(problem)                ? TJ_SUMS_OWN
           : problem->compute == TJ_COMPUTE_S32     ? TJ_SUMS_EXACT
           : problem->compute == TJ_COMPUTE_F32_FP8 ? TJ_SUMS_IN_PARTS
           : suits_tensor_cores(problem)            ? TJ_SUMS_BY_TENSOR_CORES
                                                    : TJ_SUMS_IN_CHAIN;
}

const char *tj_problem_sum_order(const tj_problem *problem)
{
    static const char *const name[] = {
        [TJ_SUMS_OWN] = "",
        [TJ_SUMS_EXACT] = "exact: every order gives the same integers",
        [TJ_SUMS_IN_CHAIN] = "one fused multiply-add after the other along k",
        [TJ_SUMS_IN_PARTS] = "tensor cores for 8-bit floats, part after part along k, each added in f32, without splits",
        [TJ_SUMS_BY_TENSOR_CORES] = "tensor cores, step after step along k, without splits",
    };
    const tj_problem canonical = tj_problem_canonical(problem);

    return name[tj_sum_order_of(&canonical)];
}

static bool has_float_zeros(const tj_problem *words)
{
    for (tj_which which = TJ_MATRIX_M; which < TJ_FACTORS; which++) {
        const tj_scale *const scale = tj_scale_of(words, which);

        if (scale->zero != 0 && !tj_facts_of(scale->zero)->is_integer)
            return true;
    }
    return false;
}

tj_status tj_invariant_check(const tj_problem *words, tj_error *err)
{
    const char *what = NULL;

    if (words->invariant < TJ_INVARIANT_NOTHING || words->invariant > TJ_INVARIANT_ROWS)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "invariant is %d: use TJ_INVARIANT_ROWS, or 0", words->invariant);
    if (!tj_is_invariant(words))
        return TJ_OK;
    if (words->compute == TJ_COMPUTE_F32_SPLIT)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "invariant is rows, and compute f32_split chooses its way by all elements of M and N: use compute f32");
    if (tj_is_complex(words) && words->compute == TJ_COMPUTE_TF32)
        what = "tensor cores multiply the parts of complex numbers, in an order of each warp tile";
    else if (tj_is_complex(words) && tj_is_symmetric(words))
        what = "P is symmetric, and the terms of an imaginary part are added in another order in the other triangle";
    else if (tj_divides_k(words))
        what = "groups along k have sums of different length, which begin anywhere in a step";
    else if (tj_epilogue_reduces(&words->epilogue))
        what = "the epilogue reduces rows or columns, tile by tile";
    else if (tj_has_repacked(words))
        what = "repacked weights are multiplied in another order of k";
    else if (tj_widens_weights(words->m.type, words->n.type) && tj_type_is_fp8(tj_leading_type(words->m.type, words->n.type)))
        what = "weights of 4 bits next to e4m3 are multiplied in another order of k";
    else if (words->compute == TJ_COMPUTE_S32 && tj_scale_k(words) > 0)
        what = "integers have scales along k, whose parts each family adds in its own way";
    else if (has_float_zeros(words))
        what = "zero points of floats are taken off sums, in each family's own way";
    return !what ? TJ_OK : tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "invariant is rows, and %s: leave one of the two out", what);
}
