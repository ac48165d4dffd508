/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expression: print the CUDA source of an epilogue's expression from its tree.
 *
 * The source contains only names of this library and the names of operands, which consist of lower-case letters, digits and _.
 * An operand's name that is not known to be unused by the templates gets a trailing _, which no name of a template has.
 */
#ifndef TJ_GENERATOR_EXPRESSION_H
#define TJ_GENERATOR_EXPRESSION_H

#include "template.h"

#include <tilejit/problem.h>

/**
 * How the source names acc, or acc[2*col] and acc[2*col+1] of a pair. by_vector: columns are Col + i, and P is
 * value.element[i]. by_thread: a thread has rows r and columns c of P, and an array of partial reductions for each; otherwise
 * it has one element. may_be_outside: the element may lie outside P unless `inside` holds; it is computed nevertheless, and no
 * output stores it. value: the variable that takes the value, which is quantised before it is stored; NULL: an element of P.
 * place: where the value is stored as an element of P; NULL: in P.
 */
typedef struct tj_expression_sums {
    const char *first, *second;
    bool by_vector, by_thread, may_be_outside;
    const char *value, *place;
} tj_expression_sums;

/**
 * Print an expression as the lines `store_value` (`quantized_value`, if it is quantised afterwards), and set the other
 * parameters of templates/parts/epilogue.cuh and functions.cuh. Errors: TJ_ERR_OUT_OF_MEMORY.
 */
tj_status tj_expression_describe(const tj_problem *view, const tj_expression_sums *sums, tj_template_params *fill,
                                 tj_error *err);

/**
 * Write the name of an operand or output in the source: its own, with a trailing _ unless no template uses it. Returns text.
 */
const char *tj_expression_name(const char *name, char text[TJ_EPILOGUE_NAME_BYTES + 1]);

/** Print the statement that folds one value into a partial reduction: "peak_so_far[r] = larger(peak_so_far[r], value);\n". */
void tj_reduction_print_step(const tj_epilogue_operand *output, const char *index, const char *value, tj_text *out);

#endif
