/* SPDX-License-Identifier: Apache-2.0 */
/* worth: where a search begins, and which configs it need not look at. */
#ifndef TJ_GENERATOR_WORTH_H
#define TJ_GENERATOR_WORTH_H

#include <stdbool.h>

#include <tilejit/config.h>

/**
 * Config number index to begin a search with: the family's default first, then others, each near the best of many problems. False
 * past the end, when *config is as it was. A problem need not admit it (tj_config_resolve).
 */
bool tj_family_start(const tj_family *family, size_t index, tj_config *config);

/**
 * Could this config be the fastest for the problem? False for those that its family's form knows not to be: a tile twice as wide as P,
 * a setting that changes nothing. config must be resolved (tj_config_resolve).
 */
bool tj_config_is_worth_trying(const tj_problem *problem, const tj_config *config);

#endif
