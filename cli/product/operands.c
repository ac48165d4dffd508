/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operands: a request's matrices in device memory, as arrays of pointers where the problem asks for them.
 *
 * The matrices lie in one piece, as tj_problem_strided has them; the pointers lead to them in another order than they lie, so that
 * a kernel which took the wrong one, or stepped from one to the next by itself, would compute another product.
 */
#include "operands.h"

#include <stdlib.h>

#include <tilejit/tilejit.h>

#include "error.h"

tj_type cli_type_of(const tj_problem *problem, tj_which which)
{
    const tj_problem known = tj_problem_canonical(problem);

    return (tj_type)tj_problem_matrix(&known, which)->type;
}

size_t cli_matrix_bytes(const tj_problem *problem, tj_which which)
{
    const tj_problem strided = tj_problem_strided(problem);

    return (size_t)tj_problem_span(&strided, which) * tj_type_bytes(cli_type_of(problem, which));
}

/* ---- arrays of pointers ------------------------------------------------------------------------------------------- */

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
    const uintptr_t step = (uintptr_t)stride_of(&strided, which) * tj_type_bytes(cli_type_of(known, which));

    *array = malloc((size_t)strided.batch * sizeof **array);
    if (!*array)
        return tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for the pointers to %c", CLI_LETTERS[which]);
    for (int64_t i = 0; i < strided.batch; i++)
        (*array)[i] = (void *)((uintptr_t)base + (uintptr_t)place_of(i, strided.batch) * step);
    return TJ_OK;
}

static tj_status place_array(tj_context *context, const tj_problem *known, tj_which which, const void *base, tj_buffer **buffer,
                             tj_error *err)
{
    const size_t bytes = (size_t)tj_problem_canonical(known).batch * sizeof(void *);
    void **array = NULL;
    tj_status status = cli_scatter(known, which, base, &array, err);

    if (status == TJ_OK)
        status = tj_buffer_create(context, bytes, buffer, err);
    if (status == TJ_OK)
        status = tj_buffer_write(*buffer, 0, array, bytes, err);
    free(array);
    return status;
}

/* ---- on the device ------------------------------------------------------------------------------------------------ */

static tj_operand operand_of(const tj_problem *known, tj_which which, const tj_buffer *buffer)
{
    const tj_matrix *matrix = tj_problem_matrix(known, which);

    return (tj_operand){tj_buffer_address(buffer), matrix->ld, matrix->stride};
}

tj_status cli_place(tj_context *context, const cli_request *request, cli_fill fill, const void *payload, cli_placed *placed,
                    tj_error *err)
{
    const tj_problem known = tj_problem_canonical(&request->known);
    tj_operands *x = &placed->x;
    tj_operand *const operand[TJ_MATRICES] = {&x->m, &x->n, &x->p, &x->c};
    tj_status status = TJ_OK;

    *placed = (cli_placed){.x = TJ_OPERANDS_INIT};
    x->alpha = request->alpha;
    x->beta = request->beta;
    x->j = known.j.extent;
    x->k = known.k.extent;
    x->l = known.l.extent;
    x->batch = known.batch;
    for (tj_which i = TJ_MATRIX_M; i <= TJ_MATRIX_C && status == TJ_OK; i++) {
        const size_t bytes = cli_matrix_bytes(&known, i);

        if (i == TJ_MATRIX_C && !known.epilogue.has_beta)
            break;
        status = tj_buffer_create(context, bytes, &placed->matrix[i], err);
        if (status == TJ_OK)
            status = fill(placed->matrix[i], i, bytes, payload, err);
        if (status == TJ_OK && cli_is_scattered(&known, i))
            status = place_array(context, &known, i, tj_buffer_address(placed->matrix[i]), &placed->array[i], err);
        if (status == TJ_OK)
            *operand[i] = operand_of(&known, i, placed->array[i] ? placed->array[i] : placed->matrix[i]);
    }
    return status;
}

tj_status cli_place_workspace(tj_context *context, const tj_plan *plan, cli_placed *placed, tj_error *err)
{
    const size_t bytes = tj_plan_workspace_bytes(plan);
    tj_status status = TJ_OK;

    tj_buffer_free(placed->workspace);
    placed->workspace = NULL;
    if (bytes > 0)
        status = tj_buffer_create(context, bytes, &placed->workspace, err);
    placed->x.workspace = placed->workspace ? tj_buffer_address(placed->workspace) : NULL;
    placed->x.workspace_bytes = bytes;
    return status;
}

void cli_drop_placed(cli_placed *placed)
{
    for (int i = 0; i < TJ_MATRICES; i++) {
        tj_buffer_free(placed->matrix[i]);
        tj_buffer_free(placed->array[i]);
    }
    tj_buffer_free(placed->workspace);
}
