/* SPDX-License-Identifier: Apache-2.0 */
/* worth: the configs from which a search begins, and those that it may omit. */
#ifndef TJ_GENERATOR_WORTH_H
#define TJ_GENERATOR_WORTH_H

#include <stdbool.h>

#include <tilejit/config.h>

/**
 * Get config number index to begin a search with: first the family's default, then others, each near the best of many problems.
 * False: past the end, *config is unchanged. A problem may refuse the config (tj_config_resolve).
 */
bool tj_family_start(const tj_family *family, size_t index, tj_config *config);

/**
 * Could this config be the fastest for the problem? False if its family's form excludes it: a tile twice as wide as P, a
 * setting that changes nothing. config must be resolved (tj_config_resolve).
 */
bool tj_config_is_worth_trying(const tj_problem *problem, const tj_config *config);

#endif
