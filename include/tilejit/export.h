/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.h: visibility and attributes of the library's symbols.
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
