/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split: divide k over several blocks. Each writes its accumulators to a workspace; a second kernel
 * (templates/parts/reduce.cuh) adds them in the order of the splits, so that results are reproducible. A family that includes
 * the part and uses blockIdx.z as the number of the split needs no more than these functions.
 */
#ifndef TJ_GENERATOR_SPLIT_H
#define TJ_GENERATOR_SPLIT_H

#include "family.h"

enum { TJ_MAX_SPLITS = 1024 };

extern const int32_t tj_splits_tried[]; /* the values that a tuner tries */

/* A parameter of every such form; the form gives the default. */
#define TJ_SPLITS(standard, tried)                                                                                        \
    {                                                                                                                     \
        "splits", "blocks that share the k of a tile of P; more than one need a workspace", 1, TJ_MAX_SPLITS, (standard), \
            NULL, (tried)                                                                                                 \
    }

/** The sentence for the form's list of constraints. */
#define TJ_SPLITS_CONSTRAINT "with splits, j, l and the batch are fixed: they make the size of the workspace"

/** Can this problem be split? The size of its workspace must be known when the source is generated. */
bool tj_split_is_possible(const tj_problem *view);

/** Refuse splits where they are not possible, or where 63 bits do not hold the size of the workspace. */
tj_status tj_split_check(const tj_problem *view, int32_t splits, tj_error *err);

/** Set the template's parameters, and describe the second kernel. */
void tj_split_describe(const tj_problem *view, int32_t splits, tj_template_params *fill, tj_launch_form *form);

/**
 * Set what skinny and strip name by splits and by the batch: what blockIdx.z counts, where k begins and ends for a block, and
 * where its sums and results lie in the workspace. thread: the source's name of a thread, which takes one element of P after the
 * other, or one pair of sums.
 */
void tj_split_describe_elements(const tj_problem *view, int32_t splits, const char *thread, tj_template_params *fill);

/**
 * Tell parts/walk.cuh and parts/blocks.cuh whether a block may have no phase, or fewer phases than it copies before the first
 * product.
 */
void tj_split_describe_walk(const tj_dim *k, int32_t splits, int32_t bk, int32_t stages, bool in_pieces,
                            tj_template_params *fill);

/** The most whole phases of a tile's `phases` that one split has, and the number of splits that have any. */
typedef struct tj_split_phases {
    int64_t most, splits;
} tj_split_phases;

tj_split_phases tj_split_share(int64_t phases, int32_t splits);

/** Count the second kernel, if there is more than one split. It reads the workspace and C, and writes P. */
void tj_split_count(const tj_problem *view, int32_t splits, tj_counts *counts);

#endif
