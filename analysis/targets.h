/* SPDX-License-Identifier: Apache-2.0 */
/*
 * targets: the features, among those that sources may need, of the targets of a compile.
 */
#ifndef TJ_ANALYSIS_TARGETS_H
#define TJ_ANALYSIS_TARGETS_H

#include <tilejit/analysis.h>
#include <tilejit/source.h>

enum { TJ_HOMES_BYTES = 128 };

/** Return the features (tj_feature bits) of a device that sources may need. */
uint32_t tj_device_features(const tj_device_facts *facts);

/**
 * Return the features (tj_feature bits) that code for a target may use: "sm_90", "compute_90"; "sm_90a", which runs on that
 * capability only and may use features that only it has; or "sm_120f", which runs on its family and may use what all of it has.
 * 0: a target before sm_75, or not a target.
 */
uint32_t tj_target_features(const char *target);

/**
 * Return the first NVRTC whose ptxas supports all of these features for a target that has them: 1204 for 12.4; 0: every NVRTC
 * from 12.0 on. A "compute_90" does not pass through ptxas.
 */
int tj_features_since(uint32_t features, const char *target);

/** Return the name of the first of some features, "cp_async"; "" for none. Owned: static text. */
const char *tj_feature_name(uint32_t features);

/** Return the targets that have the first of some features, for a message: "sm_80 and newer", "sm_90a". Owned: homes. */
const char *tj_feature_homes(uint32_t features, char homes[TJ_HOMES_BYTES]);

#endif
