/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access: how many neighbouring elements of a matrix one instruction may take, by what is known of it when the text is made.
 */
#ifndef TJ_GENERATOR_ACCESS_H
#define TJ_GENERATOR_ACCESS_H

#include "family.h"

/**
 * The most elements, a power of two up to limit, that every line of a stored matrix begins at a multiple of and is a multiple of: its
 * width, leading dimension and, in a batch, stride. The pointer's alignment is for the launch form to ask for.
 */
int32_t tj_access_widest(const tj_problem *view, tj_which which, int32_t limit);

/** Does every line of a stored matrix begin at a multiple of so many elements, however long it is? */
bool tj_access_lines_begin_at(const tj_problem *view, tj_which which, int32_t elements);

/** May P be written, and C read, so many elements at a time? A power of two. */
bool tj_access_fits_output(const tj_problem *view, int32_t elements);

/** Sums that an element of P takes where the kernel that multiplies stores it: 2 of a pair of columns. With splits it stores sums. */
int32_t tj_access_sums(const tj_problem *view, int32_t splits);

/** The same of the workspace that splits of k write to, which is row-major and tight. */
bool tj_access_fits_workspace(const tj_problem *view, int32_t elements);

#endif
