/* SPDX-License-Identifier: Apache-2.0 */
/*
 * version.h: the library's version, at compile time and at run time.
 */
#ifndef TILEJIT_VERSION_H
#define TILEJIT_VERSION_H

#include <tilejit/export.h>

#define TJ_VERSION_MAJOR 0
#define TJ_VERSION_MINOR 1
#define TJ_VERSION_PATCH 0
#define TJ_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/** The version of the library that is loaded, "0.1.0". Owned: static text. Threads: any. */
TJ_API const char *tj_version(void);

#ifdef __cplusplus
}
#endif
#endif
