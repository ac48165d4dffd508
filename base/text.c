/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text: the growing buffer, and numbers without a locale.
 */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

static bool reserve(tj_text *text, size_t more)
{
    size_t capacity = text->capacity ? text->capacity : 256;
    char *larger;

    if (text->failure != TJ_OK)
        return false;
    if (more > text->max_bytes - text->length) {
        text->failure = TJ_ERR_INVALID_ARGUMENT;
        return false;
    }
    while (capacity <= text->length + more)
        capacity *= 2;
    if (capacity == text->capacity)
        return true;
    larger = realloc(text->data, capacity);
    if (!larger) {
        text->failure = TJ_ERR_OUT_OF_MEMORY;
        return false;
    }
    text->data = larger;
    text->capacity = capacity;
    return true;
}

void tj_text_append_bytes(tj_text *text, const void *bytes, size_t count)
{
    if (!reserve(text, count))
        return;
    if (count > 0)
        memcpy(text->data + text->length, bytes, count);
    text->length += count;
    text->data[text->length] = '\0';
}

void tj_text_append(tj_text *text, const char *string)
{
    tj_text_append_bytes(text, string, strlen(string));
}

void tj_text_append_int(tj_text *text, int64_t value)
{
    char digits[24];

    tj_text_append_bytes(text, digits, tj_format_int(digits, value));
}

void tj_text_print(tj_text *text, const char *format, ...)
{
    va_list values, counted;
    int length;

    va_start(values, format);
    va_copy(counted, values);
    length = vsnprintf(NULL, 0, format, counted);
    va_end(counted);
    if (length >= 0 && reserve(text, (size_t)length)) { /* and the NUL */
        (void)vsnprintf(text->data + text->length, (size_t)length + 1, format, values);
        text->length += (size_t)length;
    }
    va_end(values);
}

tj_status tj_text_take(tj_text *text, char **out, tj_error *err)
{
    tj_status failure;

    tj_text_append_bytes(text, "", 0); /* an empty text is "", not NULL */
    failure = text->failure;
    *out = NULL;
    if (failure == TJ_OK) {
        *out = text->data;
        text->data = NULL;
    }
    tj_text_drop(text);
    if (failure == TJ_ERR_INVALID_ARGUMENT)
        return tj_fail(err, failure, "a text is longer than its limit of %lld bytes", (long long)text->max_bytes);
    return failure == TJ_OK ? TJ_OK : tj_fail_memory(err, "a text");
}

void tj_text_drop(tj_text *text)
{
    free(text->data);
    text->data = NULL;
    text->length = text->capacity = 0;
    text->failure = TJ_OK;
}

size_t tj_format_int(char *out, int64_t value)
{
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    char reversed[24];
    size_t digits = 0, length = 0;

    do {
        reversed[digits++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0)
        out[length++] = '-';
    while (digits > 0)
        out[length++] = reversed[--digits];
    out[length] = '\0';
    return length;
}

bool tj_parse_int(const char *string, int64_t *value)
{
    bool is_negative = *string == '-';
    int64_t result = 0;

    string += is_negative;
    if (*string == '\0')
        return false;
    for (; *string; string++) {
        if (*string < '0' || *string > '9')
            return false;
        /* Accumulate as a negative number: that range is one larger. */
        if (__builtin_mul_overflow(result, 10, &result) || __builtin_sub_overflow(result, *string - '0', &result))
            return false;
    }
    if (!is_negative && result == INT64_MIN)
        return false;
    *value = is_negative ? result : -result;
    return true;
}
