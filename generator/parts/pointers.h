/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pointers: the traffic of reading the arrays of pointers to the matrices of a batch.
 */
#ifndef TJ_GENERATOR_POINTERS_H
#define TJ_GENERATOR_POINTERS_H

#include "traffic.h"

/**
 * Count the pointers of a product. Every thread reads them itself; all threads of a block read the same ones. first: the
 * threads and instances of the first kernel, if not all of its threads read pointers; NULL: all do. counts must have the blocks
 * of the first kernel, and those of the second.
 */
void tj_pointers_count(const tj_problem *view, const tj_access *first, tj_counts *counts);

#endif
