/* SPDX-License-Identifier: Apache-2.0 */
/*
 * number_field: the members of a problem that are numbers or flags of their own: fields by name (field.h), words of its line
 * (tj_problem_print) and members of records. A new one is a row of the list of fields.
 */
#ifndef TJ_PROBLEM_NUMBER_FIELD_H
#define TJ_PROBLEM_NUMBER_FIELD_H

#include <stddef.h>
#include <stdint.h>

#include <tilejit/problem.h>

/** One of them. */
typedef struct tj_number_field {
    const char *name;   /* "combine" */
    const char *record; /* in records: "combined"; NULL: kernels do not depend on it, and neither records nor lines have it */
    size_t offset, bytes;
    int32_t most;            /* 1: a flag, unless it has words */
    const char *const *word; /* of the numbers from 1 to most; NULL: they are written as numbers */
} tj_number_field;

/** Return number index of them; NULL past the last. */
const tj_number_field *tj_number_field_at(size_t index);

/** Get the member of a problem. */
int64_t tj_number_get(const tj_problem *problem, size_t offset, size_t bytes);

/** Set the member of a problem, of 1, 2, 4 or 8 bytes. */
void tj_number_set(tj_problem *problem, size_t offset, size_t bytes, int64_t number);

#endif
