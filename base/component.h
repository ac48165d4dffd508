/* SPDX-License-Identifier: Apache-2.0 */
/*
 * component: optional libraries and files of TileJIT's own, found when they are first needed.
 */
#ifndef TJ_BASE_COMPONENT_H
#define TJ_BASE_COMPONENT_H

#include <limits.h>
#include <stdbool.h>

#include <tilejit/status.h>

/** The first file of that name that can be read there: beside the library of near, in tilejit/, .., ../lib or ../lib/tilejit. */
bool tj_component_find(const void *near, const char *name, char path[PATH_MAX]);

/**
 * Open the library name that lies beside the one that the address near belongs to, in tilejit/ there, in ../lib or ../lib/tilejit; else
 * where the loader looks. It stays open. Errors: TJ_ERR_NOT_FOUND: what was tried.
 */
tj_status tj_component_open(const void *near, const char *name, void **library, tj_error *err);

#endif
