/* SPDX-License-Identifier: Apache-2.0 */
/*
 * part_of_device: how many multiprocessors of a device the launches of a problem occupy.
 */
#ifndef TJ_ANALYSIS_PART_OF_DEVICE_H
#define TJ_ANALYSIS_PART_OF_DEVICE_H

#include <stdbool.h>

#include <tilejit/device.h>
#include <tilejit/problem.h>
#include <tilejit/source.h>

#include "counts.h"

/** Return the device as the launches of a problem see it: with no more multiprocessors than the problem's share. */
tj_device_facts tj_share_of(const tj_device_facts *device, const tj_problem *problem);

/**
 * Check the share. form: NULL: not known yet. Errors: TJ_ERR_INVALID_ARGUMENT: the device has fewer multiprocessors, or a cluster
 * of the form needs more.
 */
tj_status tj_share_check(const tj_device_facts *device, const tj_problem *problem, const tj_launch_form *form, tj_error *err);

/** Does each block of the step walk tiles, as long as there are any? */
static inline bool tj_step_walks(const tj_launch_step *step)
{
    return step->grid == TJ_GRID_WALK || step->grid == TJ_GRID_WALK_ALL;
}

/** Return the blocks of a step that walks, in whole clusters, that multiprocessors hold; 0: not even one cluster. */
int64_t tj_share_blocks(const tj_launch_step *step, int32_t multiprocessors);

/** Do multiprocessors hold at least one cluster of every step that walks? */
bool tj_share_suffices(const tj_launch_form *form, int32_t multiprocessors);

/** Does the product, as counted, occupy at most these multiprocessors wherever there are more? */
bool tj_share_is_kept(const tj_launch_form *form, const tj_counts *counts, int32_t multiprocessors);

#endif
