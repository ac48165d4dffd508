/* SPDX-License-Identifier: Apache-2.0 */
/*
 * formula: integer expressions over names, such as "ceil_div(width, tile_width)": text -> steps -> a number.
 *
 * Operators are those of C, with its precedence: || && == != < <= > >= + - * / % and the signs - and !; functions are min, max
 * and ceil_div. Comparisons return 0 or 1. Numbers have 64 bits; overflow and division by 0 are errors.
 */
#ifndef TJ_GENERATOR_FORMULA_H
#define TJ_GENERATOR_FORMULA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tilejit/status.h>

enum { TJ_FORMULA_STEPS = 64 };

/** A parsed formula, in postfix order. It never changes, and needs no memory of its own. */
typedef struct tj_formula {
    struct {
        uint8_t what;
        int64_t number; /* the value of a constant, or the index of a name's value */
    } step[TJ_FORMULA_STEPS];
    int32_t steps;
    bool is_condition; /* its last operator is a comparison, or joins conditions */
} tj_formula;

/**
 * Parse a formula. name: the names that it may use, in the order of the values of tj_formula_value.
 * Errors: TJ_ERR_INVALID_ARGUMENT: the message begins with `whose`, says what is wrong, and has a caret under the place.
 */
tj_status tj_formula_read(const char *text, const char *whose, const char *const *name, size_t names, tj_formula *formula,
                          tj_error *err);

/** Compute the value. False: a division by 0, or a number that 64 bits do not hold. Allocates nothing. */
bool tj_formula_value(const tj_formula *formula, const int64_t *value, int64_t *result);

/** Return the index of the name that a step uses; -1: none. */
int tj_formula_name_at(const tj_formula *formula, int step);

#endif
