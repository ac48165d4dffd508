/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thin: declarations that the form of the family (form.c) and its counts (counts.c) share.
 */
#ifndef TJ_GENERATOR_THIN_H
#define TJ_GENERATOR_THIN_H

#include "family.h"

enum { TJ_THIN_ROWS = 8, TJ_THIN_COLS = 16 }; /* of P, of one product of the tensor cores */

/** The parameters by name, and numbers derived from them and from the type of N. */
typedef struct tj_thin_shape {
    int32_t tm, tn, slices, width, ahead, splits, blocks;
    int32_t run, unit, phase, threads; /* run: weights of a load of a lane; unit: of four */
} tj_thin_shape;

tj_thin_shape tj_thin_shape_of(const tj_problem *view, const tj_config *config);

/** Are scales multiplied by the weights, exactly, before tensor cores multiply those? If not, they are multiplied by sums. */
bool tj_thin_folds(const tj_problem *view);

/** Do they multiply weights of e2m1 as powers of 2, of which repacked ones are in their places, and not by tables? */
bool tj_thin_has_powers(const tj_problem *view);

enum { TJ_THIN_OTHER_REGISTERS = 18 }; /* with fewer than these and the next, it would spill */

/** Return a lane's registers of loads in flight, sums and fragments. */
int32_t tj_thin_registers(const tj_problem *view, const tj_thin_shape *s);

/** Configs from which a search begins (tj_family). */
extern const tj_family_values tj_thin_start;

/** The family's count (tj_family). */
void tj_thin_count(const tj_problem *view, const tj_config *config, tj_counts *counts);

#endif
