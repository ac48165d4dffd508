/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scale: the scales that a problem can have, and their words.
 */
#include "scale.h"

#include "canonical.h"
#include "error.h"

static tj_status check_one(const tj_problem *words, tj_which which, tj_error *err)
{
    const tj_scale *const s = tj_scale_of(words, which);
    const char *const name = tj_scale_name(which), *const row = which == TJ_MATRIX_N ? "column" : "row";
    const int32_t type = tj_problem_matrix(words, which)->type;

    if (s->type == 0 && (s->rows | s->k | s->layout | s->ld))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s.type is 0, which means no scales, and other members are set: use TJ_F32", name);
    if (s->type == 0)
        return TJ_OK;
    if (words->compute == TJ_COMPUTE_F64)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s is asked for, but scales are f32 and go with no f64: leave them out, and use alpha", name);
    if (s->type != TJ_F32)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s.type is %d (%s): scales are f32, use TJ_F32", name, s->type,
                       tj_type_name((tj_type)s->type));
    if (s->rows != 0 && s->rows != 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s.rows is %d: use 1 for a scale of each %s, or 0 for one of them all",
                       name, s->rows, row);
    if (s->k == TJ_ANY)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s is along-k and there is no scale_k: give it the elements of k for each scale, such as 32, 64 or 128",
                       name);
    if (s->k < 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s.k is %d: scales along k are for 1 or more elements each, such as 32, 64 or 128; 0 is for all of k",
                       name, s->k);
    if (s->k > 0 && s->rows == 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s.k is %d and rows 0: scales along k are for one %s each, use rows 1, or k 0", name, s->k, row);
    if (s->k > 0 && (!tj_widens_weights(words->m.type, words->n.type) || !tj_type_is_weights(type)))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s is along-k, which is for weights of s8, u8 or s4 with f32, f16 or bf16, and its k is %d, M is %s, "
                       "N %s: use each, one for a row or column (k 0)",
                       name, s->k, tj_type_name((tj_type)words->m.type), tj_type_name((tj_type)words->n.type));
    if (s->layout != TJ_SCALES_PART_BY_PART)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s.layout is %d: use TJ_SCALES_PART_BY_PART", name, s->layout);
    if (s->ld != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s.ld is %d: each launch states the leading dimension of scales (tj_operands.scale), leave it 0", name,
                       s->ld);
    return TJ_OK;
}

tj_status tj_scales_check(const tj_problem *words, tj_error *err)
{
    tj_status status = TJ_OK;

    for (tj_which which = TJ_MATRIX_M; which < TJ_SCALED && status == TJ_OK; which++)
        status = check_one(words, which, err);
    return status;
}

int tj_scale_form(const tj_scale *scale)
{
    return scale->type == 0 ? 0 : scale->k > 0 ? 3 : scale->rows == 1 ? 2 : 1;
}

tj_scale tj_scale_of_form(int form, int32_t k)
{
    return (tj_scale){.type = form > 0 ? TJ_F32 : 0, .rows = form > 1, .k = form == 3 ? k : 0};
}

const char *tj_scale_word(int form)
{
    static const char *const word[TJ_SCALE_FORMS] = {"", "one", "each", "along-k"};

    return word[form];
}
