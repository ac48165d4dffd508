/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer: report results: as members of the object that --json prints, or as lines for people.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "printable.h"
#include "words.h"

void cli_set_text(tj_json *object, const char *name, const char *text)
{
    tj_json_add_foreign(object, name, text);
}

void cli_set_int(tj_json *object, const char *name, int64_t value)
{
    tj_json_add_int(object, name, value);
}

void cli_set_real(tj_json *object, const char *name, double value)
{
    if (isfinite(value))
        tj_json_add_real(object, name, value);
    else
        tj_json_add_null(object, name);
}

void cli_set_bool(tj_json *object, const char *name, bool value)
{
    tj_json_add_bool(object, name, value);
}

tj_json *cli_add_object(tj_json *object, const char *name)
{
    return tj_json_add_object(object, name);
}

tj_json *cli_add_list(tj_json *object, const char *name)
{
    return tj_json_add_list(object, name);
}

tj_json *cli_append_object(tj_json *list)
{
    return tj_json_add_object(list, NULL);
}

void cli_set_error(tj_json *object, tj_status status, const char *message)
{
    tj_json *error = cli_add_object(object, "error");

    cli_set_text(error, "status", tj_status_name(status));
    cli_set_text(error, "message", message);
}

bool cli_print_answer(const tj_json *answer)
{
    char *text = tj_json_print_lines(answer, TJ_JSON_EXACT);
    const bool is_whole = text != NULL;

    if (is_whole)
        (void)puts(text);
    free(text);
    return is_whole;
}

/* Format text, and sanitise all of it: arguments may hold names from outside. */
static void print(FILE *out, const char *format, va_list values)
{
    char *text, *clean;

    if (vasprintf(&text, format, values) < 0)
        return;
    clean = tj_printable_copy(text, "\n\t");
    if (clean)
        (void)fputs(clean, out);
    free(clean);
    free(text);
}

void cli_print(FILE *out, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    print(out, format, values);
    va_end(values);
}

void cli_say(const cli_call *call, const char *format, ...)
{
    va_list values;

    if (call->is_json)
        return;
    va_start(values, format);
    print(stdout, format, values);
    va_end(values);
}
