/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer: what a command tells: members of the object that --json prints, or lines for people.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "printable.h"
#include "words.h"

/* A member that cannot be made for want of memory is left out: the exit code does not depend on it. */
static void set(json_t *object, const char *name, json_t *value)
{
    (void)json_object_set_new(object, name, value);
}

void cli_set_text(json_t *object, const char *name, const char *text)
{
    json_t *value = json_string(text);
    char *copy = value ? NULL : strdup(text);

    for (char *c = copy; c && *c; c++)
        if ((unsigned char)*c > 0x7e)
            *c = '?';
    set(object, name, value ? value : json_string(copy ? copy : "?"));
    free(copy);
}

void cli_set_int(json_t *object, const char *name, int64_t value)
{
    set(object, name, json_integer(value));
}

void cli_set_real(json_t *object, const char *name, double value)
{
    set(object, name, isfinite(value) ? json_real(value) : json_null());
}

void cli_set_bool(json_t *object, const char *name, bool value)
{
    set(object, name, json_boolean(value));
}

json_t *cli_add_object(json_t *object, const char *name)
{
    json_t *added = json_object();

    return json_object_set_new(object, name, added) == 0 ? added : NULL;
}

json_t *cli_add_list(json_t *object, const char *name)
{
    json_t *added = json_array();

    return json_object_set_new(object, name, added) == 0 ? added : NULL;
}

json_t *cli_append_object(json_t *list)
{
    json_t *added = json_object();

    return json_array_append_new(list, added) == 0 ? added : NULL;
}

void cli_set_error(json_t *object, tj_status status, const char *message)
{
    json_t *error = cli_add_object(object, "error");

    cli_set_text(error, "status", tj_status_name(status));
    cli_set_text(error, "message", message);
}

/* Format text, and clean all of it: names that were not written here are among the arguments. */
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
