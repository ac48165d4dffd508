/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.h: what a symbol of the library looks like from outside.
 */
#ifndef TILEJIT_EXPORT_H
#define TILEJIT_EXPORT_H

#if defined(__GNUC__) || defined(__clang__)
#define TJ_API __attribute__((visibility("default")))
#define TJ_MUST_CHECK __attribute__((warn_unused_result))
#else
#define TJ_API
#define TJ_MUST_CHECK
#endif

#endif
