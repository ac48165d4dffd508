/* SPDX-License-Identifier: Apache-2.0 */
/* starts: the configs from which a search begins. */
#ifndef TJ_GENERATOR_STARTS_H
#define TJ_GENERATOR_STARTS_H

#include <stdbool.h>

#include <tilejit/config.h>

/**
 * Get config number index to begin a search with: first the family's default, then others, each near the best of many problems.
 * False: past the end, *config is unchanged. A problem may refuse the config (tj_config_resolve).
 */
bool tj_family_start(const tj_family *family, size_t index, tj_config *config);

#endif
