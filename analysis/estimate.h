/* SPDX-License-Identifier: Apache-2.0 */
/*
 * estimate: the parts of an analysis that tj_estimate takes, which leave out what only a reader wants.
 */
#ifndef TJ_ANALYSIS_ESTIMATE_H
#define TJ_ANALYSIS_ESTIMATE_H

#include <stdbool.h>

#include <tilejit/analysis.h>
#include <tilejit/source.h>

/** tj_count of a config that is resolved; is_estimate: one warp of each loop stands for all. form: the launch, for its limits. */
tj_status tj_count_resolved(const tj_problem *problem, const tj_config *resolved, bool is_estimate, tj_launch_form *form,
                            tj_counts *counts, tj_error *err);

/** tj_occupy without the sentence. */
tj_status tj_occupy_silently(const tj_device_facts *facts, const tj_block_needs *needs, int64_t blocks, tj_occupancy *occupancy,
                             tj_error *err);

#endif
