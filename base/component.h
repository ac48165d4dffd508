/* SPDX-License-Identifier: Apache-2.0 */
/*
 * component: optional libraries and files of TileJIT's own, found when they are first needed.
 */
#ifndef TJ_BASE_COMPONENT_H
#define TJ_BASE_COMPONENT_H

#include <limits.h>
#include <stdbool.h>

#include <tilejit/status.h>

/** Find the first readable file of that name next to the library of near, in tilejit/, .., ../lib or ../lib/tilejit. */
bool tj_component_find(const void *near, const char *name, char path[PATH_MAX]);

/**
 * Open the library name next to the library that contains the address near, in tilejit/ there, in ../lib or ../lib/tilejit;
 * else where the loader searches. It stays open. Errors: TJ_ERR_NOT_FOUND, naming the places tried.
 */
tj_status tj_component_open(const void *near, const char *name, void **library, tj_error *err);

#endif
