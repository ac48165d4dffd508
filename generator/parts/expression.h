/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expression: the CUDA text of an epilogue's expression, printed from its tree.
 *
 * Every word of it is one of ours, but for the names of operands, which are of lower-case letters, digits and _. A name that is not
 * among those the templates are known to leave free ends in _, as nothing in a template does.
 */
#ifndef TJ_GENERATOR_EXPRESSION_H
#define TJ_GENERATOR_EXPRESSION_H

#include "template.h"

#include <tilejit/problem.h>

/** The lines that templates take from an expression; free each. */
typedef struct tj_expression_lines {
    char *parameters; /* of the kernel, in the order of tj_step_list_args */
    char *of_product; /* pointers advance to the product of the batch */
    char *store;      /* P receives the value */
} tj_expression_lines;

/**
 * How the text names acc, or of a pair acc[2*col] and acc[2*col+1]. by_vector: columns are Col + i, and P is value.element[i].
 * by_thread: a thread has rows r and columns c of P, and what it knows of each in an array; else it has one element.
 * may_be_outside: the element may lie outside P, unless `inside` holds; it is computed all the same, and no output receives it.
 */
typedef struct tj_expression_sums {
    const char *first, *second;
    bool by_vector, by_thread, may_be_outside;
} tj_expression_sums;

/**
 * Print an expression, and set what templates/parts/epilogue.cuh and functions.cuh take. product: what counts the products
 * of the batch.
 * Errors: TJ_ERR_OUT_OF_MEMORY.
 */
tj_status tj_expression_describe(const tj_problem *view, const tj_expression_sums *sums, const char *product,
                                 tj_template_params *fill, tj_expression_lines *lines, tj_error *err);

/** What the text calls an operand or output: its name, with _ behind it unless no template has such a word. Returns text. */
const char *tj_expression_name(const char *name, char text[TJ_EPILOGUE_NAME_BYTES + 1]);

/** What is found so far of a reduction takes one more value in: "peak_so_far[r] = larger(peak_so_far[r], value);\n". */
void tj_reduction_print_step(const tj_epilogue_operand *output, const char *index, const char *value, tj_text *out);

void tj_expression_drop(tj_expression_lines *lines);

#endif
