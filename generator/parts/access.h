/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access: how many neighbouring elements of a matrix one instruction may access, by what is known when the source is generated.
 */
#ifndef TJ_GENERATOR_ACCESS_H
#define TJ_GENERATOR_ACCESS_H

#include "family.h"

/**
 * Return the widest access to a stored matrix in elements, a power of two up to limit. Each line's beginning and width are
 * multiples of it: the width, the leading dimension and, in a batch, the stride decide. The launch form asks for the pointer's
 * alignment.
 */
int32_t tj_access_widest(const tj_problem *view, tj_which which, int32_t limit);

/** Does every line of a stored matrix begin at a multiple of `elements`, whatever its width? */
bool tj_access_lines_are_multiples(const tj_problem *view, tj_which which, int32_t elements);

/** The same of what a product reads of each line: groups along k may begin anywhere on it. */
bool tj_access_lines_begin_at(const tj_problem *view, tj_which which, int32_t elements);

/** May P be written, and C read, `elements` at a time? elements: a power of two. */
bool tj_access_fits_output(const tj_problem *view, int32_t elements);

/** Accumulators per stored element: 2 for paired columns, otherwise 1. Split kernels store accumulators. */
int32_t tj_access_sums(const tj_problem *view, int32_t splits);

/** As tj_access_fits_output, for the workspace of split k, which is row-major and tight. */
bool tj_access_fits_workspace(const tj_problem *view, int32_t elements);

#endif
