/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcgen05: declarations that the form of the family (form.c) and its counts (counts.c) share.
 */
#ifndef TJ_GENERATOR_TCGEN05_H
#define TJ_GENERATOR_TCGEN05_H

#include "families/wgmma/form.h"

enum { TJ_TCGEN05_ALONE = 1, TJ_TCGEN05_PAIR = 2 };

/** The parameters by name, and numbers derived from them and from the types of M and N. */
typedef struct tj_tcgen05_shape {
    tj_wgmma_shape w; /* the tiles of the ring, and the warps that store P as a warpgroup of wgmma does */
    int32_t strip;    /* columns of sums that a warp reads from tensor memory at once */
    int32_t columns;  /* of tensor memory */
    int32_t
        words; /* of four scales along k, of a row of M or column of N in a phase, by which tensor cores multiply; 0: by none */
} tj_tcgen05_shape;

tj_tcgen05_shape tj_tcgen05_shape_of(const tj_problem *view, const tj_config *config);

/** How the tensor cores take a type: the kind of their products, and its number in the instruction descriptor. */
typedef struct tj_tcgen05_type {
    int32_t type; /* tj_type */
    const char *kind, *name;
    int32_t code, pipe; /* pipe: tj_pipe */
    uint32_t needs;     /* tj_feature bits next to TJ_FEATURE_TCGEN05 */
} tj_tcgen05_type;

/** Return that of M or N of the view, after widening; NULL: they do not take it. */
const tj_tcgen05_type *tj_tcgen05_type_of(const tj_problem *view, tj_which which);

/** Can the tensor cores multiply by the scales of this problem? */
bool tj_tcgen05_takes_scales(const tj_problem *view);

/** Do products have scales in the instruction? Those of 8-bit floats with scales along k do, and those of e2m1. */
bool tj_tcgen05_scales_products(const tj_problem *view);

/** Are elements to take the signs of their scales, which tensor cores ignore? e8m0 has none. */
bool tj_tcgen05_turns_signs(const tj_problem *view);

/** Return the columns of tensor memory, and the bytes of shared memory, that the scales of a phase need. */
int32_t tj_tcgen05_scale_columns(const tj_tcgen05_shape *s);
int64_t tj_tcgen05_scale_bytes(const tj_tcgen05_shape *s);

/** Describe how scales along k are brought, and products multiplied by them, whether or not there are any. */
void tj_tcgen05_describe_scales(const tj_problem *view, const tj_tcgen05_shape *s, bool checks_k, tj_template_params *fill);

/** Configs from which a search begins (tj_family). */
extern const tj_family_values tj_tcgen05_start;

/** The family's count (tj_family). */
void tj_tcgen05_count(const tj_problem *view, const tj_config *config, tj_counts *counts);

#endif
