/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reference: the calls of <tilejit/reference.h> for a product. Rows that an index names are put in the order of the product, and
 * those of P back where they belong.
 */
#include <tilejit/reference.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "error.h"
#include "gather.h"
#include "sized.h"
#include "tree.h"

static tj_status require_known(const tj_problem *p, tj_error *err)
{
    const bool is_k_open = p->k.mode != TJ_DIM_FIXED && !tj_divides_k(p); /* that of all groups has an extent */

    if (p->j.mode != TJ_DIM_FIXED || is_k_open || p->l.mode != TJ_DIM_FIXED)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%c is TJ_DIM_ANY: the reference needs every extent, with mode TJ_DIM_FIXED",
                       p->j.mode != TJ_DIM_FIXED ? 'j'
                       : is_k_open               ? 'k'
                                                 : 'l');
    if (p->batch == TJ_ANY)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "batch is TJ_ANY: the reference needs a number");
    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_C; which++) {
        const tj_matrix *m = tj_problem_matrix(p, which);

        if (m->ld == TJ_ANY || m->stride == TJ_ANY)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s_%c is TJ_ANY: the reference needs a number",
                           m->ld == TJ_ANY ? "ld" : "stride", "mnpc"[which]);
    }
    return TJ_OK;
}

/* ---- scattered rows ----------------------------------------------------------------------------------------------- */

/* Return the bytes from one row of P to the next. P is row-major if its rows are scattered. */
static size_t row_bytes(const tj_request *asked)
{
    return (size_t)asked->operand[TJ_MATRIX_P].ld * tj_type_bytes((tj_type)asked->problem.p.type);
}

static void *make_rows(const tj_request *asked, tj_error *err)
{
    void *const rows = calloc((size_t)asked->problem.j.extent, row_bytes(asked));

    if (!rows)
        (void)tj_fail_memory(err, "the rows of P");
    return rows;
}

/* Copy rows between a P of the caller's and one in the order of the product. back: to the caller's. */
static void move_rows(const tj_request *asked, const tj_host_operands *operands, void *scattered, void *in_order, bool back)
{
    const size_t bytes = row_bytes(asked),
                 width = (size_t)tj_problem_p_cols(&asked->problem) * tj_type_bytes((tj_type)asked->problem.p.type);

    for (int64_t row = 0; row < asked->problem.j.extent; row++) {
        const int64_t of_p = tj_row_of_p(asked, operands, row);

        if (of_p < 0)
            continue;
        char *const there = (char *)scattered + (size_t)of_p * bytes, *const here = (char *)in_order + (size_t)row * bytes;

        memcpy(back ? there : here, back ? here : there, width);
    }
}

/* Rows that are not stored cannot be compared: they count as right. Further outputs are the caller's, and stay as they are. */
static tj_status fill_in_rows(const tj_request *asked, const tj_host_operands *operands, const tj_gathered *gathered,
                              void *in_order, int threads, tj_error *err)
{
    const tj_expression *const e = &asked->problem.epilogue.expression;
    tj_host_operands x = gathered->operands;
    bool are_stored = true;

    for (int64_t row = 0; row < asked->problem.j.extent && are_stored; row++)
        are_stored = tj_row_of_p(asked, operands, row) >= 0;
    for (int i = 0; i < e->operands; i++)
        if (e->operand[i].is_output)
            x.with[i].address = NULL;
    return are_stored ? TJ_OK : tj_write_in_order(&gathered->request, &x, in_order, threads, err);
}

static tj_status compare_scattered(const tj_request *asked, const tj_host_operands *operands, const tj_gathered *gathered,
                                   const void *p, double max_flop, int threads, tj_check_report *report, tj_error *err)
{
    void *const in_order = make_rows(asked, err);
    tj_status status;

    if (!in_order)
        return TJ_ERR_OUT_OF_MEMORY;
    status = fill_in_rows(asked, operands, gathered, in_order, threads, err);
    if (status == TJ_OK) {
        move_rows(asked, operands, (void *)(uintptr_t)p, in_order, false);
        status = tj_compare_in_order(&gathered->request, &gathered->operands, in_order, max_flop, threads, report, err);
    }
    free(in_order);
    return status;
}

static tj_status write_scattered(const tj_request *asked, const tj_host_operands *operands, const tj_gathered *gathered,
                                 void *p, int threads, tj_error *err)
{
    void *const in_order = make_rows(asked, err);
    tj_status status;

    if (!in_order)
        return TJ_ERR_OUT_OF_MEMORY;
    move_rows(asked, operands, p, in_order, false); /* rows of no group stay as they are */
    status = tj_write_in_order(&gathered->request, &gathered->operands, in_order, threads, err);
    if (status == TJ_OK)
        move_rows(asked, operands, p, in_order, true);
    free(in_order);
    return status;
}

/* ---- public ------------------------------------------------------------------------------------------------------- */

tj_status tj_request_compare(const tj_request *asked, const tj_host_operands *operands, const void *p, double max_flop,
                             int threads, tj_check_report *report, tj_error *err)
{
    tj_gathered gathered;
    tj_status status = require_known(&asked->given, err);

    if (status != TJ_OK)
        return status;
    status = tj_gather(asked, operands, &gathered, err);
    if (status == TJ_OK && tj_is_scattered(&asked->problem))
        status = compare_scattered(asked, operands, &gathered, p, max_flop, threads, report, err);
    else if (status == TJ_OK)
        status = tj_compare_in_order(&gathered.request, &gathered.operands, p, max_flop, threads, report, err);
    tj_gathered_drop(&gathered);
    return status;
}

tj_status tj_reference_check(const tj_problem *problem, const tj_host_operands *operands, const void *p, double max_flop,
                             int threads, tj_check_report *report, tj_error *err)
{
    if (TJ_HAS_NULL(err, problem, operands, p, report))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_check_report own = TJ_CHECK_REPORT_INIT;
    tj_host_operands known;
    tj_request asked;
    tj_status status = TJ_CLEAR(report, TJ_CHECK_REPORT_INIT, err);

    if (status == TJ_OK)
        status = TJ_READ(operands, &known, TJ_HOST_OPERANDS, err);
    if (status == TJ_OK)
        status = tj_request_make(problem, &asked, err);
    if (status == TJ_OK)
        status = tj_request_compare(&asked, &known, p, max_flop, threads, &own, err);
    (void)TJ_FILL(report, &own, TJ_CHECK_REPORT_INIT, NULL);
    return status;
}

tj_status tj_reference_product(const tj_problem *problem, const tj_host_operands *operands, void *p, int threads, tj_error *err)
{
    if (TJ_HAS_NULL(err, problem, operands, p))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_gathered gathered;
    tj_host_operands known;
    tj_request asked;
    tj_status status = TJ_READ(operands, &known, TJ_HOST_OPERANDS, err);

    if (status == TJ_OK)
        status = tj_request_make(problem, &asked, err);
    if (status == TJ_OK)
        status = require_known(&asked.given, err);
    if (status != TJ_OK)
        return status;
    status = tj_gather(&asked, &known, &gathered, err);
    if (status == TJ_OK && tj_is_scattered(&asked.problem))
        status = write_scattered(&asked, &known, &gathered, p, threads, err);
    else if (status == TJ_OK)
        status = tj_write_in_order(&gathered.request, &gathered.operands, p, threads, err);
    tj_gathered_drop(&gathered);
    return status;
}
