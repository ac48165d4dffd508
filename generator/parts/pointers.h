/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pointers: what reading the arrays of pointers moves, where the matrices of a batch lie anywhere.
 */
#ifndef TJ_GENERATOR_POINTERS_H
#define TJ_GENERATOR_POINTERS_H

#include "traffic.h"

/**
 * Count the pointers of a product, which every thread reads for itself, the same ones in a block. first: the threads and the instances
 * of the first kernel, if not all of its threads get that far; NULL: all do. counts has its blocks, and the second kernel's.
 */
void tj_pointers_count(const tj_problem *view, const tj_access *first, tj_counts *counts);

#endif
