/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error: names and sentences of statuses, and the one function that reports a failure.
 */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "printable.h"

const char *tj_status_name(tj_status status)
{
    switch (status) {
#define TJ_STATUS_NAME(name, number, sentence) \
    case TJ_##name:                            \
        return "TJ_" #name;
        TJ_STATUS_LIST(TJ_STATUS_NAME)
#undef TJ_STATUS_NAME
    }
    return "TJ_ERR_UNKNOWN";
}

const char *tj_status_text(tj_status status)
{
    switch (status) {
#define TJ_STATUS_TEXT(name, number, sentence) \
    case TJ_##name:                            \
        return sentence;
        TJ_STATUS_LIST(TJ_STATUS_TEXT)
#undef TJ_STATUS_TEXT
    }
    return "no such status";
}

tj_status tj_fail(tj_error *err, tj_status status, const char *format, ...)
{
    char message[TJ_ERROR_MESSAGE_BYTES];
    va_list arguments;

    if (!err)
        return status;
    err->status = status;
    va_start(arguments, format);
    if (vsnprintf(message, sizeof message, format, arguments) < 0)
        (void)snprintf(message, sizeof message, "%s", tj_status_text(status));
    va_end(arguments);
    (void)tj_printable(err->message, sizeof err->message, message, "");
    return status;
}

tj_status tj_fail_memory(tj_error *err, const char *what)
{
    return tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for %s", what);
}

tj_status tj_fail_null(tj_error *err, const char *function, const char *argument)
{
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s was called with %s = NULL: it must not be NULL", function, argument);
}

bool tj_name_null(tj_error *err, const char *function, const char *names, const void *const *argument)
{
    char name[32];

    for (; *names; argument++) {
        const size_t length = strcspn(names, ",");

        if (!*argument) {
            (void)snprintf(name, sizeof name, "%.*s", (int)length, names);
            (void)tj_fail_null(err, function, name);
            return true;
        }
        names += length + strspn(names + length, ", ");
    }
    return true;
}

enum { SHOWN_BYTES = 72 };

/* Count terminal columns: a UTF-8 character takes one, whatever its bytes. */
static size_t count_columns(const char *text)
{
    size_t columns = 0;

    for (; *text; text++)
        columns += (*text & 0xc0) != 0x80;
    return columns;
}

tj_status tj_fail_with_caret(tj_error *err, tj_status status, const char *line, size_t at, const char *format, ...)
{
    size_t start = at > SHOWN_BYTES / 2 ? at - SHOWN_BYTES / 2 : 0;
    char message[TJ_ERROR_MESSAGE_BYTES - 2 * (SHOWN_BYTES + 8)], what[sizeof message], before[SHOWN_BYTES / 2 + 1],
        left[SHOWN_BYTES + 1], right[SHOWN_BYTES + 1];
    va_list arguments;

    if (!err)
        return status;
    while (start < at && (line[start] & 0xc0) == 0x80) /* not within a character */
        start++;
    va_start(arguments, format);
    if (vsnprintf(message, sizeof message, format, arguments) < 0)
        message[0] = '\0';
    va_end(arguments);
    (void)snprintf(before, sizeof before, "%.*s", (int)(at - start), line + start);
    (void)tj_printable(what, sizeof what, message, "");
    (void)tj_printable(left, sizeof left, before, "");
    (void)tj_printable(right, sizeof right - strlen(left), line + at, "");
    err->status = status;
    (void)snprintf(err->message, sizeof err->message, "%s\n    %s%s\n    %*s", what, left, right, (int)count_columns(left) + 1,
                   "^");
    return status;
}
