/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json: JSON (RFC 8259), read strictly and written one way, so that the same values are the same bytes, in every locale.
 *
 * A document is a tree whose values all live in one arena and are freed together:
 *
 *     tj_json *root = tj_json_new(), *list = tj_json_add_list(root, "times");
 *
 *     tj_json_add_text(root, "unit", "us");
 *     tj_json_add_real(list, NULL, 1.5);
 *     text = tj_json_print(root);            NULL: something above failed, or this did
 *     tj_json_free(root);
 *
 * The first failure to add stays with the document, which then never prints, so that only the print has to be checked. NULL
 * may be given for any value: nothing is added to it, and nothing is found in it.
 *
 * Members of an object are sorted by name, byte by byte, and no two have one name. Texts are UTF-8 without NUL.
 */
#ifndef TJ_BASE_JSON_H
#define TJ_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tilejit/status.h>

typedef struct tj_json tj_json;

typedef enum tj_json_kind {
    TJ_JSON_NONE, /* the kind of NULL: there is no value */
    TJ_JSON_NULL,
    TJ_JSON_BOOL,
    TJ_JSON_INT,
    TJ_JSON_REAL, /* written with a point or an exponent, even if whole, as 1.0 */
    TJ_JSON_TEXT,
    TJ_JSON_LIST,
    TJ_JSON_OBJECT
} tj_json_kind;

enum { TJ_JSON_MAX_DEPTH = 100, TJ_JSON_MAX_BYTES = 1 << 30, TJ_JSON_MAX_NUMBER = 1024, TJ_JSON_EXACT = 17 /* digits */ };

/* ---- documents ---------------------------------------------------------------------------------------------------- */

/** A document whose root is an empty object. NULL only when memory ran out. */
tj_json *tj_json_new(void);

/**
 * Read a document whose root is an object or a list: size bytes, and a NUL after them. Refuses lists and objects nested deeper
 * than TJ_JSON_MAX_DEPTH, two members of one name, the escape of NUL, half a surrogate pair, bytes that are not UTF-8, whole
 * numbers beyond 64 bits, numbers beyond a double or of more than TJ_JSON_MAX_NUMBER characters, and texts of more than
 * TJ_JSON_MAX_BYTES. Errors: TJ_ERR_INVALID_ARGUMENT, with the defect, its line and column; TJ_ERR_OUT_OF_MEMORY.
 */
tj_status tj_json_read(const char *text, size_t size, tj_json **root, tj_error *err);

/** Free a whole document, given its root. */
void tj_json_free(tj_json *root);

/* ---- values ------------------------------------------------------------------------------------------------------- */

/* The document owns all that these return, and frees it. */

tj_json_kind tj_json_kind_of(const tj_json *value);

/** Return the member of that name; NULL: the object has none, or the value is not an object. */
tj_json *tj_json_get(const tj_json *object, const char *name);

/**
 * Iterate over the items of a list or the members of an object: for (one = tj_json_first(list); one; one = tj_json_next(one))
 */
tj_json *tj_json_first(const tj_json *list_or_object);
tj_json *tj_json_next(const tj_json *value);
size_t tj_json_count(const tj_json *list_or_object);

/** Return the name of a member; NULL for any other value. */
const char *tj_json_name(const tj_json *member);

/** Return the value, or the 0 of the type if the value has another kind. number also accepts an int. */
const char *tj_json_text(const tj_json *value);
int64_t tj_json_int(const tj_json *value);
double tj_json_number(const tj_json *value);
bool tj_json_bool(const tj_json *value);

/* ---- building ----------------------------------------------------------------------------------------------------- */

/*
 * Each adds one value: to an object, a member of that name, replacing one of the same name; to a list, an item at the end (name
 * NULL). Names and texts are copied. A text that is NULL or that tj_json_is_text refuses, and a number that is not finite,
 * count as failures.
 */
tj_json *tj_json_add_object(tj_json *to, const char *name);
tj_json *tj_json_add_list(tj_json *to, const char *name);
void tj_json_add_text(tj_json *to, const char *name, const char *text);
void tj_json_add_int(tj_json *to, const char *name, int64_t value);
void tj_json_add_real(tj_json *to, const char *name, double value);
void tj_json_add_bool(tj_json *to, const char *name, bool value);
void tj_json_add_null(tj_json *to, const char *name);

/** Add a text from outside: if it is not UTF-8, '?' replaces every byte that is not ASCII. */
void tj_json_add_foreign(tj_json *to, const char *name, const char *text);

/** Add a copy of a value and its descendants, perhaps from another document. */
tj_json *tj_json_add_copy(tj_json *to, const char *name, const tj_json *value);

/** Remove the member of that name, if there is one. */
void tj_json_remove(tj_json *object, const char *name);

/** Is it UTF-8? */
bool tj_json_is_text(const char *text);

/* ---- printing ----------------------------------------------------------------------------------------------------- */

/*
 * malloc'ed; NULL: memory ran out, now or while the document was built. print: without spaces, with all 17 digits of a real:
 * the form that is hashed. print_lines: for people, one value per line, two spaces per level, and `digits` digits of a real.
 */
char *tj_json_print(const tj_json *value);
char *tj_json_print_lines(const tj_json *value, int digits);

#endif
