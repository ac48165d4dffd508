/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operands: a request's matrices in device memory, as arrays of pointers where the problem asks for them.
 */
#ifndef TJ_CLI_OPERANDS_H
#define TJ_CLI_OPERANDS_H

#include <tilejit/buffer.h>
#include <tilejit/kernel.h>
#include <tilejit/plan.h>

#include "request.h"

#define CLI_LETTERS "MNPC" /* of the matrices, for messages */

/** The element type of a matrix, and its bytes as tj_problem_strided lays it out. */
tj_type cli_type_of(const tj_problem *problem, tj_which which);
size_t cli_matrix_bytes(const tj_problem *problem, tj_which which);

typedef struct cli_placed {
    tj_buffer *matrix[TJ_MATRICES], *array[TJ_MATRICES]; /* and the pointers to them where the problem has such */
    tj_buffer *workspace;
    tj_operands x;
} cli_placed;

/** Writes what a matrix begins as. */
typedef tj_status (*cli_fill)(tj_buffer *buffer, tj_which which, size_t bytes, const void *payload, tj_error *err);

/** All matrices of request->known. Release with cli_drop_placed, after a failure too. */
tj_status cli_place(tj_context *context, const cli_request *request, cli_fill fill, const void *payload, cli_placed *placed,
                    tj_error *err);

/** The workspace of a plan, in place of the last one's. */
tj_status cli_place_workspace(tj_context *context, const tj_plan *plan, cli_placed *placed, tj_error *err);

void cli_drop_placed(cli_placed *placed);

/** Does the problem take that matrix as an array of pointers? */
bool cli_is_scattered(const tj_problem *known, tj_which which);

/** Such an array, to matrices from base on as tj_problem_strided lays them out, but in another order. Owned: the caller; free(). */
tj_status cli_scatter(const tj_problem *known, tj_which which, const void *base, void ***array, tj_error *err);

#endif
