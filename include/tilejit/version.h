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

/** One number that grows with every version, for #if and comparisons: 100 for 0.1.0, 10203 for 1.2.3. */
#define TJ_VERSION_NUMBER (TJ_VERSION_MAJOR * 10000 + TJ_VERSION_MINOR * 100 + TJ_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

/** The version of the library that is loaded, "0.1.0". Owned: static text. Threads: any. */
TJ_API const char *tj_version(void);

/** Its TJ_VERSION_NUMBER, which may differ from that of the headers. Threads: any; pure. */
TJ_API int tj_version_number(void);

#ifdef __cplusplus
}
#endif
#endif
