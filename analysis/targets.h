/* SPDX-License-Identifier: Apache-2.0 */
/*
 * targets: what the targets of a compile have of the features that texts may need.
 */
#ifndef TJ_ANALYSIS_TARGETS_H
#define TJ_ANALYSIS_TARGETS_H

#include <tilejit/analysis.h>
#include <tilejit/source.h>

enum { TJ_HOMES_BYTES = 128 };

/**
 * The features (tj_feature bits) that code for a target may use: "sm_90", "compute_90", or "sm_90a", which runs on that one
 * capability alone and may use what only it has. 0: a target before sm_75, or no target at all.
 */
uint32_t tj_target_features(const char *target);

/**
 * The first NVRTC whose ptxas knows all of these features for a target that has them: 1204 for 12.4; 0: every NVRTC from 12.0 on
 * does. A "compute_90" passes no ptxas.
 */
int tj_features_since(uint32_t features, const char *target);

/** "cp_async": the first of some features; "" for none. Owned: static text. */
const char *tj_feature_name(uint32_t features);

/** Who has the first of some features, for a message: "sm_80 and newer", "sm_90a". Owned: homes. */
const char *tj_feature_homes(uint32_t features, char homes[TJ_HOMES_BYTES]);

#endif
