/* SPDX-License-Identifier: Apache-2.0 */
/*
 * estimate: the parts of an analysis that tj_estimate needs, without text for readers.
 */
#ifndef TJ_ANALYSIS_ESTIMATE_H
#define TJ_ANALYSIS_ESTIMATE_H

#include <stdbool.h>

#include <tilejit/analysis.h>
#include <tilejit/source.h>

/** Return the problem whose launch is counted: everything is known, and groups are products of the mean size. */
tj_problem tj_problem_counted(const tj_problem *problem);

/**
 * tj_count of a resolved config. is_estimate: one warp of each loop stands for all. view, is_swapped: those of tj_family_view
 * for tj_problem_counted. form: the launch, for its limits.
 */
tj_status tj_count_resolved(const tj_problem *view, bool is_swapped, const tj_config *resolved, bool is_estimate,
                            tj_launch_form *form, tj_counts *counts, tj_error *err);

/** Everything that an estimate predicts a time from. The fit of the model predicts it again with other constants. */
typedef struct tj_estimate_basis {
    tj_device_facts cold; /* the L2 does not hold any operands yet */
    tj_counts counts;
    tj_occupancy occupancy;
    tj_peaks peaks;
} tj_estimate_basis;

/** Count a resolved config, by a view as above, and find the device's limits. Errors: those of tj_estimate. */
tj_status tj_estimate_count(const tj_device_facts *facts, const tj_problem *view, bool is_swapped, const tj_config *resolved,
                            tj_estimate_basis *basis, tj_error *err);

/** Predict the time in microseconds: a mean over the likely numbers of registers. */
double tj_estimate_us(const tj_estimate_basis *basis);

/** tj_estimate of a resolved config, by such a view. */
tj_status tj_estimate_resolved(const tj_device_facts *facts, const tj_problem *view, bool is_swapped, const tj_config *resolved,
                               double *us, tj_error *err);

/** tj_occupy without the sentence. */
tj_status tj_occupy_silently(const tj_device_facts *facts, const tj_block_needs *needs, int64_t blocks, tj_occupancy *occupancy,
                             tj_error *err);

#endif
