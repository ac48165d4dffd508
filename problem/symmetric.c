/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symmetric: can a problem be symmetric, and what is its transpose?
 */
#include "symmetric.h"

#include "canonical.h"
#include "error.h"
#include "tree.h"

int8_t tj_symmetric_across(int8_t symmetric)
{
    static const int8_t across[] = {
        [TJ_SYMMETRIC_NOT] = TJ_SYMMETRIC_NOT,
        [TJ_SYMMETRIC_BOTH] = TJ_SYMMETRIC_BOTH_BY_UPPER,
        [TJ_SYMMETRIC_LOWER] = TJ_SYMMETRIC_UPPER,
        [TJ_SYMMETRIC_UPPER] = TJ_SYMMETRIC_LOWER,
        [TJ_SYMMETRIC_BOTH_BY_UPPER] = TJ_SYMMETRIC_BOTH,
        [TJ_HERMITIAN_BOTH] = TJ_HERMITIAN_BOTH_BY_UPPER,
        [TJ_HERMITIAN_LOWER] = TJ_HERMITIAN_UPPER,
        [TJ_HERMITIAN_UPPER] = TJ_HERMITIAN_LOWER,
        [TJ_HERMITIAN_BOTH_BY_UPPER] = TJ_HERMITIAN_BOTH,
    };

    return across[symmetric];
}

tj_status tj_symmetric_check_extents(const tj_problem *problem, int64_t j, int64_t l, tj_error *err)
{
    if (!tj_is_symmetric(problem) || j == l)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "P is %lld x %lld, and a symmetric P is square: make j and l equal, or leave symmetric 0", (long long)j,
                   (long long)l);
}

static bool has_outputs(const tj_expression *e)
{
    for (int32_t i = 0; i < e->operands; i++)
        if (e->operand[i].is_output)
            return true;
    return false;
}

tj_status tj_symmetric_check(const tj_problem *words, tj_error *err)
{
    const char *const has = words->rows.kind != TJ_ROWS_AS_THEY_LIE    ? "groups"
                            : tj_has_index(&words->rows)               ? "an index of rows"
                            : tj_is_scaled(words, TJ_MATRIX_P)         ? "scales of P"
                            : tj_epilogue_pairs(&words->epilogue)      ? "an epilogue of pairs of columns"
                            : has_outputs(&words->epilogue.expression) ? "an epilogue with outputs besides P"
                                                                       : NULL;

    if (words->symmetric < TJ_SYMMETRIC_NOT || words->symmetric > TJ_HERMITIAN_UPPER)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "symmetric is %d: use TJ_SYMMETRIC_NOT, TJ_SYMMETRIC_BOTH, TJ_SYMMETRIC_LOWER or TJ_SYMMETRIC_UPPER, or "
                       "TJ_HERMITIAN_BOTH and its neighbours for complex types",
                       words->symmetric);
    if (!tj_is_symmetric(words))
        return TJ_OK;
    if (tj_is_hermitian(words) && !tj_is_complex(words))
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "P is Hermitian, and the product of %s is real: ask for the same triangles of a symmetric P (both, lower, "
            "upper)",
            tj_type_name((tj_type)words->m.type));
    if (!tj_is_hermitian(words) && tj_is_complex(words) && words->m.conjugated != words->n.conjugated)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "one of M and N is conjugated, which makes P Hermitian, and symmetric is %d: use hermitian (TJ_HERMITIAN_BOTH, "
            "%d), hermitian-lower or hermitian-upper",
            words->symmetric, TJ_HERMITIAN_BOTH);
    if (words->j.mode != words->l.mode)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%c is known only at launch and %c is fixed, and a symmetric P is square: fix both, or neither",
                       words->j.mode == TJ_DIM_ANY ? 'j' : 'l', words->j.mode == TJ_DIM_ANY ? 'l' : 'j');
    if (words->j.mode == TJ_DIM_FIXED && tj_symmetric_check_extents(words, words->j.extent, words->l.extent, err) != TJ_OK)
        return TJ_ERR_INVALID_ARGUMENT;
    if (has)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "symmetric is %d, and the problem has %s: leave symmetric 0",
                       words->symmetric, has);
    return TJ_OK;
}
