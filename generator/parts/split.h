/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split: k shared out over several blocks. Each writes its sums into a workspace; a second kernel (templates/parts/reduce.cuh) adds
 * them up in the order of the splits, so that a result is the same every time. A family that includes the part and counts
 * splits on blockIdx.z needs no more than these.
 */
#ifndef TJ_GENERATOR_SPLIT_H
#define TJ_GENERATOR_SPLIT_H

#include "family.h"

enum { TJ_MAX_SPLITS = 1024 };

extern const int32_t tj_splits_tried[]; /* by a tuner */

/* A parameter of every such form; the default is the form's. */
#define TJ_SPLITS(standard, tried)                                                                                        \
    {                                                                                                                     \
        "splits", "blocks that share the k of a tile of P; more than one need a workspace", 1, TJ_MAX_SPLITS, (standard), \
            NULL, (tried)                                                                                                 \
    }

/** The sentence for the form. */
#define TJ_SPLITS_CONSTRAINT "with splits, j, l and the batch are fixed: they make the size of the workspace"

/** Can this problem be split? Its workspace must be known when the text is made. */
bool tj_split_is_possible(const tj_problem *view);

/** Refuses splits where they are not possible, or where the workspace would be larger than any. */
tj_status tj_split_check(const tj_problem *view, int32_t splits, tj_error *err);

/** The template's parameters and the form of the second kernel. */
void tj_split_describe(const tj_problem *view, int32_t splits, tj_template_params *fill, tj_launch_form *form);

/** What parts/walk.cuh and parts/blocks.cuh need: may a block have no phase at all, or fewer than are copied before the first is multiplied? */
void tj_split_describe_walk(const tj_dim *k, int32_t splits, int32_t bk, int32_t stages, tj_template_params *fill);

/** How many whole phases of a tile's `phases` one split has at most, and how many splits have any. */
typedef struct tj_split_phases {
    int64_t most, splits;
} tj_split_phases;

tj_split_phases tj_split_share(int64_t phases, int32_t splits);

/** Count the second kernel, which reads the workspace and C and writes P, if there is more than one split. */
void tj_split_count(const tj_problem *view, int32_t splits, tj_counts *counts);

#endif
