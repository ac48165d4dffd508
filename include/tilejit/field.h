/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field.h: the fields of a problem by name: options of the command, columns of a list of shapes, arguments in Python.
 *
 *     status = tj_problem_set(&problem, "scale-n", "along-k", &err);
 *     status = tj_problem_set(&problem, "scale-k", "64", &err);
 */
#ifndef TILEJIT_FIELD_H
#define TILEJIT_FIELD_H

#include <tilejit/problem.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Return the name of field number index, such as "scale-n"; NULL past the last. Owned: the library. Threads: any; pure. */
TJ_API const char *tj_problem_field(size_t index);

/**
 * Return choice number index of a field, such as "each"; NULL past the last, for a field without a fixed list of choices, and
 * if no field has this name. Owned: the library. NULL: a name of NULL returns NULL. Threads: any; pure.
 */
TJ_API const char *tj_problem_choice(const char *name, size_t index);

/**
 * Set a field of a problem from text. A field that refers to others is set after them: scale-k after the scales, offsets after
 * groups, any and multiple-of last. Items of any and multiple-of are separated by commas or blanks. Scales that have no name of
 * their own are written like f32:128x128:row-by-row: the type, rows by elements of k (either may be "all"), and then, as
 * needed, the layout (row-by-row or tiles), zero=TYPE and whole.
 *
 * "format" names types and scales (tj_problem_choice lists the names; docs/scales.md). It sets several fields and has no column.
 * Set it before all other fields, but after the type of M: a format of weights keeps f16.
 *
 * NULL:    only err may be NULL.
 * Threads: any; pure.
 * Errors:  TJ_ERR_INVALID_ARGUMENT: no such field, or a value that it cannot have; a message about the value begins with the
 *          name of the field. The problem is unchanged, except that a part of a list may have been set.
 */
TJ_API TJ_MUST_CHECK tj_status tj_problem_set(tj_problem *problem, const char *name, const char *value, tj_error *err);

enum { TJ_PROBLEM_FIELD_BYTES = TJ_EPILOGUE_TEXT_BYTES };

/**
 * Print the value of a field of a canonical problem, in the form of a cell of a list of shapes: items are separated by blanks,
 * and an expression has no commas. "": the default, or no such field.
 *
 * value:   at least TJ_PROBLEM_FIELD_BYTES bytes.
 * NULL:    each may be NULL; then nothing is printed.
 * Threads: any; pure.
 */
TJ_API void tj_problem_get(const tj_problem *problem, const char *name, char *value);

#ifdef __cplusplus
}
#endif
#endif
