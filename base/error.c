/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error: names and sentences of statuses, and the one way to report a failure.
 */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

/* Messages quote file names and compiler logs: whatever they hold must not reach a terminal raw. */
static void make_printable(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || (unsigned char)*text > 0x7e)
            *text = '?';
}

tj_status tj_fail(tj_error *err, tj_status status, const char *format, ...)
{
    va_list arguments;

    if (!err)
        return status;
    err->status = status;
    va_start(arguments, format);
    if (vsnprintf(err->message, sizeof err->message, format, arguments) < 0)
        snprintf(err->message, sizeof err->message, "%s", tj_status_text(status));
    va_end(arguments);
    make_printable(err->message);
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

tj_status tj_fail_with_caret(tj_error *err, tj_status status, const char *line, size_t at, const char *format, ...)
{
    const size_t start = at > SHOWN_BYTES / 2 ? at - SHOWN_BYTES / 2 : 0;
    char what[TJ_ERROR_MESSAGE_BYTES - 2 * (SHOWN_BYTES + 8)], shown[SHOWN_BYTES + 1];
    va_list arguments;

    if (!err)
        return status;
    va_start(arguments, format);
    if (vsnprintf(what, sizeof what, format, arguments) < 0)
        what[0] = '\0';
    va_end(arguments);
    (void)snprintf(shown, sizeof shown, "%s", line + start);
    make_printable(what);
    make_printable(shown);
    err->status = status;
    (void)snprintf(err->message, sizeof err->message, "%s\n    %s\n    %*s", what, shown, (int)(at - start) + 1, "^");
    return status;
}
