/* SPDX-License-Identifier: Apache-2.0 */
/*
 * formula: whole-number expressions over names, such as "ceil_div(width, tile_width)": text -> steps -> a number.
 *
 * Operators are those of C, with its precedence: || && == != < <= > >= + - * / % and the signs - and !; functions are min, max and
 * ceil_div. What compares answers 0 or 1. Numbers have 64 bits, and what does not fit is an error, as is a division by 0.
 */
#ifndef TJ_GENERATOR_FORMULA_H
#define TJ_GENERATOR_FORMULA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tilejit/status.h>

enum { TJ_FORMULA_STEPS = 64 };

/** A formula that was read, in postfix order. It never changes, and needs no memory of its own. */
typedef struct tj_formula {
    struct {
        uint8_t what;
        int64_t number; /* of a constant; of a name, where its value stands */
    } step[TJ_FORMULA_STEPS];
    int32_t steps;
    bool is_condition; /* its last operator compares, or joins what does */
} tj_formula;

/**
 * Read a formula. name: what it may use, in the order of the values of tj_formula_value.
 * Errors: TJ_ERR_INVALID_ARGUMENT: what is wrong, behind the words of `whose`, and a caret under the place.
 */
tj_status tj_formula_read(const char *text, const char *whose, const char *const *name, size_t names, tj_formula *formula,
                          tj_error *err);

/** Its value; false: a division by 0, or a number that 64 bits do not hold. Allocates nothing. */
bool tj_formula_value(const tj_formula *formula, const int64_t *value, int64_t *result);

/** Which name its step of that number takes; -1: none. */
int tj_formula_name_at(const tj_formula *formula, int step);

#endif
