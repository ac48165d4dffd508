/* SPDX-License-Identifier: Apache-2.0 */
/*
 * problem_text: a problem transposed, and as one line for people.
 */
#ifndef TJ_GENERATOR_PROBLEM_TEXT_H
#define TJ_GENERATOR_PROBLEM_TEXT_H

#include <stdbool.h>

#include <tilejit/problem.h>

enum { TJ_PROBLEM_TEXT_BYTES = 512 };

/** "j512 k300 l700 f32", then only what is not the default: "M:col ld_m=304 alpha beta batch=8 ...". Canonical first. */
void tj_problem_print(const tj_problem *problem, char text[TJ_PROBLEM_TEXT_BYTES]);

/**
 * A column-major P is the row-major P^T = N^T . M^T over the same memory: j and l, M and N have changed places, and so has every
 * layout. Canonical.
 */
tj_problem tj_problem_transpose(const tj_problem *problem);

/** Is an operand an array of pointers? Of a canonical problem. */
bool tj_problem_points(const tj_problem *problem);

#endif
