/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text: one growing buffer with a stated maximum. The first failure is sticky; tj_text_take reports it.
 *
 * Numbers with a fraction never pass through printf: their decimal point depends on the host program's locale.
 */
#ifndef TJ_BASE_TEXT_H
#define TJ_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tilejit/status.h>

typedef struct tj_text {
    char *data; /* NUL-terminated once anything was appended */
    size_t length, capacity, max_bytes;
    tj_status failure; /* TJ_OK, TJ_ERR_OUT_OF_MEMORY, or TJ_ERR_INVALID_ARGUMENT: longer than max_bytes */
} tj_text;

/* clang-format off */
#define TJ_TEXT_INIT(max_bytes) { NULL, 0, 0, (max_bytes), TJ_OK }
/* clang-format on */

void tj_text_append(tj_text *text, const char *string);
void tj_text_append_bytes(tj_text *text, const void *bytes, size_t count);
void tj_text_append_int(tj_text *text, int64_t value);

/** Append as printf writes. Numbers of the format are integers. */
__attribute__((format(printf, 2, 3))) void tj_text_print(tj_text *text, const char *format, ...);

/** Hand the buffer over (free() it); on a sticky failure *out is NULL and the failure is reported. text is empty afterwards. */
tj_status tj_text_take(tj_text *text, char **out, tj_error *err);

/** Release without taking. */
void tj_text_drop(tj_text *text);

/** Write value in decimal, NUL-terminated, into at least 24 bytes; returns the length. */
size_t tj_format_int(char *out, int64_t value);

/** Strict decimal: optional '-', digits, nothing else, no overflow. Locale-free. */
bool tj_parse_int(const char *string, int64_t *value);

#endif
