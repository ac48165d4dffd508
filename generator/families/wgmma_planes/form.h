/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wgmma_planes: declarations that the form of the family (form.c) and its counts (counts.c) share.
 */
#ifndef TJ_GENERATOR_WGMMA_PLANES_H
#define TJ_GENERATOR_WGMMA_PLANES_H

#include "families/planes/form.h"

enum {
    TJ_WPLANES_ROWS = 64,
    TJ_WPLANES_BK = 64,
    TJ_WPLANES_K_STEP = 16
}; /* rows of a warpgroup; 64 elements are a line of 128 bytes */

/** The parameters by name, and numbers derived from them. */
typedef struct tj_wplanes_shape {
    int32_t multipliers, bn, stages, blocks, vector, group;
    int32_t bm, threads;
} tj_wplanes_shape;

tj_wplanes_shape tj_wplanes_shape_of(const tj_config *config);

/** Return the multiples to which lines are padded: whole tiles. */
tj_planes_units tj_wplanes_units_of(const tj_wplanes_shape *s);

/** Return the bytes of shared memory of `stages` stages of `planes` planes. */
int64_t tj_wplanes_shared_bytes(const tj_wplanes_shape *s, int32_t planes, int32_t stages);

/** Return the registers of a multiplying thread's accumulators, those of all of k and those of a phase. */
int32_t tj_wplanes_sum_registers(const tj_wplanes_shape *s);

/** Return the number of elements of P that one store writes. */
int32_t tj_wplanes_p_vector(const tj_problem *view, const tj_wplanes_shape *s);

/** Configs from which a search begins (tj_family). */
extern const tj_family_values tj_wplanes_start;

/** The family's count (tj_family). */
void tj_wplanes_count(const tj_problem *view, const tj_config *config, tj_counts *counts);

#endif
