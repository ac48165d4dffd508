/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expression: the value of an epilogue's expression for one element, and the error bound of a kernel's.
 */
#ifndef TJ_REFERENCE_EXPRESSION_H
#define TJ_REFERENCE_EXPRESSION_H

#include <stdbool.h>

#include <tilejit/reference.h>

/** The values of an element: one for each node, and the one that P stores. */
enum { TJ_VALUE_OF_P = TJ_EPILOGUE_NODES, TJ_VALUES };

/** A number of the expression, and the error bound of a kernel's number. */
typedef struct tj_bounded {
    long double value;
    long double error; /* INFINITY: unknown. 0 for NaN and infinity, which a kernel has too */
} tj_bounded;

/** The inputs of an expression besides the sum. Prepared once for all elements. */
typedef struct tj_evaluation {
    const tj_problem *problem; /* canonical, with every number known */
    double alpha, beta;        /* rounded as a launch rounds them */
    struct {
        const void *address;                /* of an output: the values that a kernel stored; NULL: a number, or not wanted */
        int64_t row_step, col_step, stride; /* 0 if that index changes nothing */
        tj_type type;
        long double number; /* rounded as a launch rounds it */
    } operand[TJ_EPILOGUE_OPERANDS];
    double allowed; /* difference of sums of random operands in different orders, as tj_compare_random_products allows it */
    bool is_coarse; /* tj_expression_is_coarse */
    long double unit_roundoff, smallest, overflow; /* of the type in which the expression computes */
} tj_evaluation;

/**
 * Prepare an evaluation. operands: the problem's. Errors: TJ_ERR_INVALID_ARGUMENT: an operand is missing, or a number does not
 * fit.
 */
tj_status tj_evaluation_prepare(const tj_problem *problem, const tj_host_operands *operands, tj_evaluation *evaluation,
                                tj_error *err);

/**
 * Compute the values of an element, not yet rounded to the type of P. acc: the sum with its scales, or those of a
 * pair of columns; c: the element of C, exact.
 */
void tj_evaluate(const tj_evaluation *evaluation, int64_t batch, int64_t row, int64_t col, const tj_bounded acc[2], double c,
                 tj_bounded value[TJ_VALUES]);

/** Read the value that a kernel stored in an output of the expression. */
double tj_read_stored(const tj_evaluation *evaluation, int output, int64_t batch, int64_t row, int64_t col);

/** Store a value in an output, as the reference does. */
void tj_store(const tj_evaluation *evaluation, int output, int64_t batch, int64_t row, int64_t col, long double value);

/**
 * Return the error of a stored p over its bound, for a value in an element of that type: up to 1 passes, INFINITY is a number
 * of the wrong class. again: 1, or 2 to compare with another kernel's roundings.
 */
double tj_judge_stored(tj_bounded value, tj_type type, int again, double p);

/**
 * tj_evaluate of a product that tj_compare_random_products compares, from the sums of another kernel: one number, or a pair. c: the
 * element of C.
 */
void tj_evaluate_again(const tj_evaluation *evaluation, int64_t product, int64_t row, int64_t col, const double sum[2],
                       double c, tj_bounded value[TJ_VALUES]);

#endif
