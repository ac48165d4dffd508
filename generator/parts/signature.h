/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signature: print the parameters of kernels, and the lines at their beginning that follow from them: numbers that a kernel
 * derives, and pointers to the product of the batch that a block works on.
 */
#ifndef TJ_GENERATOR_SIGNATURE_H
#define TJ_GENERATOR_SIGNATURE_H

#include "template.h"

#include <tilejit/source.h>

/**
 * Print the parameters that take the arguments of a step, from the argument `first` on, in their order, as //@ lines NAME.
 * view: as the step reads it (the packed operands, if it follows a pack kernel). factors: how many of M and N the step takes as
 * pointers, to the caller's or into the workspace: both, M alone, or neither. workspace: the parameter for any other part of the
 * workspace, "const sum_t *W,". fill has the names of the types; NULL: nothing is printed.
 */
void tj_signature_print(const tj_problem *view, const tj_launch_form *form, const tj_launch_step *step, int first, int factors,
                        const char *workspace, tj_template_params *fill, const char *name);

/** Print the parameter for the scales of P, which the kernel finds. */
void tj_signature_print_scales_of_p(const tj_problem *view, tj_text *out);

/** Print the parameter of a list. pointer: the `*` of a pointer to it, unless it comes by value. */
void tj_signature_print_list(const tj_problem *view, tj_argument argument, const char *pointer, tj_text *out);

/** Print the arguments with which a kernel passes on those parameters, `arguments`: "alpha, C, P);". fill has `parameters`. */
void tj_signature_print_arguments(tj_template_params *fill);

/** Does the product take M, or N, of the source as a pointer: because it has no tensor map of it, or next to one? */
bool tj_signature_reads(const tj_launch_form *form, tj_which which);

/**
 * Print the beginning of the product's kernel, as //@ lines: `derived`, its leading dimensions and strides that are not
 * arguments; `output_of_product`, its scales, operands, C and P; `product_of_block`, those after M, N and scales along k.
 */
void tj_signature_print_body(const tj_problem *view, const tj_launch_form *form, tj_template_params *fill);

/** Print the parameters and the derived numbers of the kernel that adds up splits: `reduce_parameters`, `reduce_derived`. */
void tj_signature_print_reduce(const tj_problem *view, const tj_launch_form *form, const tj_launch_step *reduce,
                               tj_template_params *fill);

#endif
