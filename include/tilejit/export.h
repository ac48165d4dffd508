/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.h: visibility and attributes of the library's symbols, and the initializer of structures that begin with their size.
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

/**
 * TJ_SIZED(type): the initializer of a structure whose first member is struct_size: struct_size is set, everything else is 0.
 */
#ifdef __cplusplus
template <class type> inline type tj_sized()
{
    type made = type();
    made.struct_size = sizeof made;
    return made;
}
#define TJ_SIZED(type) tj_sized<type>()
#else
/* clang-format off */
#define TJ_SIZED(type) { .struct_size = sizeof(type) }
/* clang-format on */
#endif

#endif
