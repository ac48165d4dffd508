/* SPDX-License-Identifier: Apache-2.0 */
/*
 * problem_text: a problem seen as the generated text sees it, and as one line for people.
 */
#ifndef TJ_GENERATOR_PROBLEM_TEXT_H
#define TJ_GENERATOR_PROBLEM_TEXT_H

#include <stdbool.h>

#include <tilejit/problem.h>

enum { TJ_PROBLEM_TEXT_BYTES = 512 };

/** "j512 k300 l700 f32", then only what is not the default: "M:col ld_m=304 alpha beta batch=8 ...". Canonical first. */
void tj_problem_print(const tj_problem *problem, char text[TJ_PROBLEM_TEXT_BYTES]);

/** P^T = N^T . M^T over the same memory: j and l, M and N have changed places, and so has every layout. Canonical. */
tj_problem tj_problem_transpose(const tj_problem *problem);

/**
 * The canonical problem with P row-major. A column-major P = M . N is the row-major P^T = N^T . M^T over the same memory:
 * *is_swapped is set, and j and l, M and N have changed places.
 */
tj_problem tj_problem_as_text(const tj_problem *problem, bool *is_swapped);

/** Is an operand an array of pointers? Of a canonical problem. */
bool tj_problem_points(const tj_problem *problem);

#endif
