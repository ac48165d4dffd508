/* SPDX-License-Identifier: Apache-2.0 */
/*
 * estimate: the parts of an analysis, for those who have a request.
 */
#ifndef TJ_ANALYSIS_ESTIMATE_H
#define TJ_ANALYSIS_ESTIMATE_H

#include <stdbool.h>

#include <tilejit/analysis.h>
#include <tilejit/source.h>

#include "counts.h"
#include "request.h"

/**
 * Compute the occupancy of a launch of that number of blocks; 0 leaves waves and tail 0. Errors: TJ_ERR_INVALID_ARGUMENT: no
 * threads, negative numbers, facts without multiprocessors or limits; TJ_ERR_UNSUPPORTED: a compute capability below 7.5.
 */
tj_status tj_occupy(const tj_device_facts *facts, const tj_block_needs *needs, int64_t blocks, tj_occupancy *occupancy,
                    tj_error *err);

/** tj_find_peaks into one of this library. */
tj_status tj_peaks_of(const tj_device_facts *facts, double measured_bytes_per_s, tj_peaks *peaks, tj_error *err);

/** Predict the time of a launch from its counts, occupancy and device. It is infinite where counts->pipe has no peak. */
tj_prediction tj_predict(const tj_device_facts *facts, const tj_counts *counts, const tj_occupancy *occupancy,
                         const tj_peaks *peaks);

/** tj_analyze of a request, with all counts; analysis->struct_size is not looked at. */
tj_status tj_request_analyze(const tj_device_facts *facts, const tj_request *request, const tj_config *config,
                             int32_t registers, double measured_bytes_per_s, tj_counts *counts, tj_analysis *analysis,
                             tj_error *err);

/**
 * Derive the request whose launch is counted, in which everything is known. TJ_DIM_ANY dimensions have the extent to launch with,
 * leading dimensions and strides of TJ_ANY are tight, a batch of TJ_ANY is one, matrices reached by pointers are aligned to 128
 * bytes, and groups are products of the mean size. beta is assumed not to be 0.
 */
void tj_request_counted(const tj_request *request, tj_request *counted);

/**
 * Count what a resolved config does. is_estimate: one warp of each loop stands for all. form: the launch, for its limits.
 * Errors: TJ_ERR_UNSUPPORTED: the family states no counts, or they do not fit 63 bits.
 */
tj_status tj_count_resolved(const tj_request *counted, const tj_config *resolved, bool is_estimate, tj_launch_form *form,
                            tj_counts *counts, tj_error *err);

/** Everything that an estimate predicts a time from. The fit of the model predicts it again with other constants. */
typedef struct tj_estimate_basis {
    tj_device_facts cold; /* the L2 does not hold any operands yet */
    tj_counts counts;
    tj_occupancy occupancy;
    tj_peaks peaks;
    bool keeps_share; /* it occupies no more multiprocessors than the problem's */
} tj_estimate_basis;

/** Count a resolved config, and find the device's limits. Errors: those of tj_estimate. */
tj_status tj_estimate_count(const tj_device_facts *facts, const tj_request *counted, const tj_config *resolved,
                            tj_estimate_basis *basis, tj_error *err);

/** Predict the time in microseconds: a mean over the likely numbers of registers. */
double tj_estimate_us(const tj_estimate_basis *basis);

/** tj_estimate of a resolved config. */
tj_status tj_estimate_resolved(const tj_device_facts *facts, const tj_request *counted, const tj_config *resolved, double *us,
                               tj_error *err);

/** As tj_config_adapt; *resolved becomes the resolved config. */
tj_status tj_request_adapt(const tj_device_facts *facts, const tj_request *request, tj_config *config, tj_config *resolved,
                           tj_error *err);

/** tj_occupy without the sentence. */
tj_status tj_occupy_silently(const tj_device_facts *facts, const tj_block_needs *needs, int64_t blocks, tj_occupancy *occupancy,
                             tj_error *err);

#endif
