/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operands: what an expression names, found by its name, as a program that indexed the arrays itself would write past them at a
 * typo; and the numbers that a launch must bring because the kernel's problem does not say them.
 */
#include <string.h>

#include "error.h"
#include "kernel.h"

/* "bias, gain": all that the expression names. */
static void list_names(const tj_expression *e, char list[TJ_EPILOGUE_OPERANDS * (TJ_EPILOGUE_NAME_BYTES + 2)])
{
    list[0] = '\0';
    for (int32_t i = 0; i < e->operands; i++)
        strncat(strcat(list, i > 0 ? ", " : ""), e->operand[i].name, TJ_EPILOGUE_NAME_BYTES);
}

/* *index: of the operand of that name, which is a number or is in memory, as wanted. */
static tj_status find(const tj_operands *operands, const tj_problem *problem, const char *name, bool is_number, int *index,
                      tj_error *err)
{
    const tj_expression *const e = &problem->epilogue.expression;
    char names[TJ_EPILOGUE_OPERANDS * (TJ_EPILOGUE_NAME_BYTES + 2)];

    if (operands->struct_size != sizeof *operands)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "operands.struct_size is %lld, not %d: start from TJ_OPERANDS_INIT",
                       (long long)operands->struct_size, (int)sizeof *operands);
    *index = tj_epilogue_find(&problem->epilogue, name);
    if (*index < 0 && e->operands <= 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the epilogue names no operand, so there is none called %.40s", name);
    if (*index < 0) {
        list_names(e, names);
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the epilogue has no operand %.40s: it names %s", name, names);
    }
    if (is_number != (e->operand[*index].indexed == TJ_BY_NOTHING))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       is_number ? "%s is indexed in the epilogue, so it has an address: use tj_operands_set"
                                 : "%s is a number, which the epilogue does not index: use tj_operands_set_number",
                       e->operand[*index].name);
    return TJ_OK;
}

tj_status tj_operands_set(tj_operands *operands, const tj_problem *problem, const char *name, const void *address,
                          tj_error *err)
{
    if (TJ_HAS_NULL(err, operands, problem, name))
        return TJ_ERR_INVALID_ARGUMENT;
    int index;
    const tj_status status = find(operands, problem, name, false, &index, err);

    if (status == TJ_OK)
        operands->with[index].address = address;
    return status;
}

tj_status tj_operands_set_number(tj_operands *operands, const tj_problem *problem, const char *name, double number,
                                 tj_error *err)
{
    if (TJ_HAS_NULL(err, operands, problem, name))
        return TJ_ERR_INVALID_ARGUMENT;
    int index;
    const tj_status status = find(operands, problem, name, true, &index, err);

    if (status == TJ_OK)
        operands->number[index] = number;
    return status;
}

static void take_number(int64_t of_problem, int64_t of_general, int64_t *x)
{
    if (of_general == TJ_ANY && of_problem != TJ_ANY)
        *x = of_problem;
}

static void take_extent(const tj_dim *of_problem, int64_t *x)
{
    if (of_problem->mode == TJ_DIM_FIXED)
        *x = of_problem->extent;
}

void tj_operands_take(tj_operands *operands, const tj_problem *problem, const tj_problem *general)
{
    tj_operand *const operand[] = {&operands->m, &operands->n, &operands->p, &operands->c};

    take_extent(&problem->j, &operands->j);
    take_extent(&problem->k, &operands->k);
    take_extent(&problem->l, &operands->l);
    take_number(problem->batch, general->batch, &operands->batch);
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_C; which++) {
        const tj_matrix *const own = tj_problem_matrix(problem, which), *const open = tj_problem_matrix(general, which);

        take_number(own->ld, open->ld, &operand[which]->ld);
        take_number(own->stride, open->stride, &operand[which]->stride);
    }
}
