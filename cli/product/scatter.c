/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scatter: operands as arrays of pointers, where the problem asks for them.
 *
 * The matrices lie in one piece, as tj_problem_strided has them; the pointers lead to them in another order than they lie, so that
 * a kernel which took the wrong one, or stepped from one to the next by itself, would compute another product.
 */
#include <stdlib.h>

#include "cli.h"

/* A permutation of the batch: the factor is a prime beyond any batch. */
static int64_t place_of(int64_t product, int64_t batch)
{
    return (product + batch / 2) % batch * INT64_C(2147483629) % batch;
}

static int64_t stride_of(const tj_problem *problem, tj_which which)
{
    return which != TJ_MATRIX_C || problem->epilogue.has_beta ? tj_problem_matrix(problem, which)->stride : TJ_TIGHT;
}

bool cli_is_scattered(const tj_problem *known, tj_which which)
{
    return tj_stride_is_pointers(stride_of(known, which));
}

tj_status cli_scatter(const tj_problem *known, tj_which which, const void *base, void ***array, tj_error *err)
{
    const tj_problem strided = tj_problem_strided(known);
    const int32_t dtype = tj_problem_matrix(&strided, which)->type;
    const uintptr_t step = (uintptr_t)stride_of(&strided, which) * tj_type_bytes((tj_type)dtype);

    *array = malloc((size_t)strided.batch * sizeof **array);
    if (!*array)
        return cli_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for the pointers to %c", "MNPC"[which]);
    for (int64_t i = 0; i < strided.batch; i++)
        (*array)[i] = (void *)((uintptr_t)base + (uintptr_t)place_of(i, strided.batch) * step);
    return TJ_OK;
}

static tj_status place_array(tj_context *context, const tj_problem *known, tj_which which, const void *base, tj_buffer **buffer,
                             tj_error *err)
{
    const int64_t batch = tj_problem_canonical(known).batch;
    const size_t bytes = (size_t)batch * sizeof(void *);
    void **array = NULL;
    tj_status status = cli_scatter(known, which, base, &array, err);

    if (status == TJ_OK)
        status = tj_buffer_create(context, bytes, buffer, err);
    if (status == TJ_OK)
        status = tj_buffer_write(*buffer, 0, array, bytes, err);
    free(array);
    return status;
}

tj_status cli_scatter_operands(tj_context *context, const tj_problem *known, tj_operands *x, tj_buffer *array[4], tj_error *err)
{
    static const tj_which which[4] = {TJ_MATRIX_M, TJ_MATRIX_N, TJ_MATRIX_P, TJ_MATRIX_C};
    tj_operand *const operand[4] = {&x->m, &x->n, &x->p, &x->c};
    tj_status status = TJ_OK;

    for (int i = 0; i < 4; i++)
        array[i] = NULL;
    for (int i = 0; i < 4 && status == TJ_OK; i++)
        if (operand[i]->address && cli_is_scattered(known, which[i]))
            status = place_array(context, known, which[i], operand[i]->address, &array[i], err);
    for (int i = 0; i < 4 && status == TJ_OK; i++)
        if (array[i])
            operand[i]->address = tj_buffer_address(array[i]);
    return status;
}

void cli_drop_arrays(tj_buffer *array[4])
{
    for (int i = 0; i < 4; i++)
        tj_buffer_free(array[i]);
}
