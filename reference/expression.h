/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expression: the value of an epilogue's expression for one element, and how far a kernel's may be from it.
 */
#ifndef TJ_REFERENCE_EXPRESSION_H
#define TJ_REFERENCE_EXPRESSION_H

#include <stdbool.h>

#include <tilejit/reference.h>

/** A number of the expression, and how far what a kernel computes in its place may be from it. */
typedef struct tj_bounded {
    long double value;
    long double error; /* INFINITY: nothing can be said. 0 for NaN and infinity, which a kernel has too */
} tj_bounded;

/** What an expression takes besides the sum. Made once for all elements. */
typedef struct tj_evaluation {
    const tj_problem *problem; /* canonical, with every number known */
    double alpha, beta;        /* as a launch rounds them */
    struct {
        const void *address;                /* of an output what a kernel stored there; NULL: a number, or nobody asks */
        int64_t row_step, col_step, stride; /* 0 where that index changes nothing */
        tj_type type;
        long double number; /* as a launch rounds it */
    } operand[TJ_EPILOGUE_OPERANDS];
    double allowed; /* of sums of random operands in different orders, as tj_compare_random_products allows it */
    bool is_coarse; /* tj_expression_is_coarse */
    long double unit_roundoff, smallest, overflow; /* of the type that the expression computes in */
} tj_evaluation;

/** operands: the problem's. Errors: TJ_ERR_INVALID_ARGUMENT: an operand is missing, or a number does not fit. */
tj_status tj_evaluation_prepare(const tj_problem *problem, const tj_host_operands *operands, tj_evaluation *evaluation,
                                tj_error *err);

/**
 * The value of each node for an element, not yet rounded to the type of P. acc: the sum with its scales, or those of a pair of columns;
 * c: the element of C, exact.
 */
void tj_evaluate(const tj_evaluation *evaluation, int64_t batch, int64_t row, int64_t col, const tj_bounded acc[2], double c,
                 tj_bounded value[TJ_EPILOGUE_NODES]);

/** What a kernel stored in an output of the expression. */
double tj_read_stored(const tj_evaluation *evaluation, int output, int64_t batch, int64_t row, int64_t col);

/** Store a value there, as the reference does. */
void tj_store(const tj_evaluation *evaluation, int output, int64_t batch, int64_t row, int64_t col, long double value);

/**
 * Is p what a kernel may have stored of a value in an element of that type? Error over bound: up to 1 passes, INFINITY is a number of
 * the wrong class. again: 1, or 2 where another kernel's roundings are compared with.
 */
double tj_judge_stored(tj_bounded value, tj_type type, int again, double p);

/**
 * tj_evaluate of a product that tj_compare_random_products compares, from what another kernel summed: one number, or a pair. c: the
 * element of C.
 */
void tj_evaluate_again(const tj_evaluation *evaluation, int64_t product, int64_t row, int64_t col, const double sum[2],
                       double c, tj_bounded value[TJ_EPILOGUE_NODES]);

#endif
