/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skinny: declarations that the form of the family (form.c) and its counts (counts.c) share.
 */
#ifndef TJ_GENERATOR_SKINNY_H
#define TJ_GENERATOR_SKINNY_H

#include "family.h"

enum { TJ_SKINNY_PADDING = 4 }; /* elements, at the end of each row of the tile of M */

/** The parameters by name. */
typedef struct tj_skinny_shape {
    int32_t tm, tn, lanes, slices, vector, k_thread, splits; /* vector: in numbers; a stored element may hold two */
} tj_skinny_shape;

tj_skinny_shape tj_skinny_shape_of(const tj_problem *view, const tj_config *config);

/** Return the rows of the tile whose accumulators lie in shared memory at once, for all slices. bytes: of an accumulator. */
int32_t tj_skinny_rows_at_once(const tj_skinny_shape *s, int32_t bytes);

/** Return the number of neighbouring elements along k of a slice. */
int32_t tj_skinny_run(const tj_problem *view, const tj_skinny_shape *s);

/** Configs from which a search begins (tj_family). */
extern const tj_family_values tj_skinny_start;

/** The family's count (tj_family). */
void tj_skinny_count(const tj_problem *view, const tj_config *config, tj_counts *counts);

#endif
