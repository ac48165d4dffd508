/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nearest: guess which of the known words a wrong word was meant to be.
 */
#ifndef TJ_BASE_NEAREST_H
#define TJ_BASE_NEAREST_H

#include <stddef.h>

/** Return the nearest of the known words, or NULL if none is near. next(i, payload) answers word i, NULL past the end. */
const char *tj_nearest(const char *word, const char *(*next)(size_t index, const void *payload), const void *payload);

#endif
