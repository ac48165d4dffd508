/* SPDX-License-Identifier: Apache-2.0 */
#include "place.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "fs.h"
#include "text.h"

static const char FORM[] =
    "redis://[user:password@]host[:port][/database][?trust=FILE&sign=FILE&...], or redis+unix:///path[?...]";

enum { USUAL_PORT = 6379, USUAL_DEADLINE_MS = 100, USUAL_WAIT_MS = 10000, USUAL_IMAGE_DAYS = 30, MOST_URL_BYTES = 8192 };

static int hex_digit(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : -1;
}

/* Decode: "%41" is "A". False: it does not fit, or is malformed. */
static bool decode(const char *text, size_t length, char *out, size_t bytes)
{
    size_t at = 0;

    for (size_t i = 0; i < length; i++) {
        char c = text[i];

        if (c == '%') {
            if (length - i < 3)
                return false;
            if (hex_digit(text[i + 1]) < 0 || hex_digit(text[i + 2]) < 0)
                return false;
            c = (char)(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
            i += 2;
        }
        if (at + 1 >= bytes || c == '\0')
            return false;
        out[at++] = c;
    }
    out[at] = '\0';
    return true;
}

static bool read_number(const char *text, size_t length, int low, int high, int *value)
{
    char digits[16];
    int64_t number;

    if (length == 0 || length >= sizeof digits)
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    if (!tj_parse_int(digits, &number) || number < low || number > high)
        return false;
    *value = (int)number;
    return true;
}

/* ---- parameters --------------------------------------------------------------------------------------------------- */

typedef struct parameter {
    const char *name;
    size_t offset, bytes; /* bytes 0: an int */
    int low, high;
} parameter;

/* clang-format off */
#define TEXT(name, field) {name, offsetof(fleet_place, field), sizeof ((fleet_place *)NULL)->field, 0, 0}
#define NUMBER(name, field, low, high) {name, offsetof(fleet_place, field), 0, low, high}
static const parameter parameters[] = {
    TEXT("trust", trust),
    TEXT("sign", sign),
    TEXT("generation", generation),
    NUMBER("deadline", deadline_ms, 1, 60000),
    NUMBER("wait", wait_ms, 0, 600000),
    NUMBER("db", database, 0, 1 << 20),
    NUMBER("days", image_days, 1, 3650),
};
/* clang-format on */

static tj_status read_password_file(const char *path, fleet_place *place, tj_error *err)
{
    const char *why;
    char *text;
    size_t size;

    if (!tj_fs_read_believed(path, false, sizeof place->password, &text, &size, &why))
        return tj_fail(err, TJ_ERR_IO, "cannot read the password of the server from %.200s: %s", path, why);
    text[strcspn(text, "\r\n")] = '\0';
    (void)snprintf(place->password, sizeof place->password, "%s", text);
    free(text);
    return TJ_OK;
}

static tj_status read_parameter(const char *name, size_t name_length, const char *value, size_t length, fleet_place *place,
                                tj_error *err)
{
    char path[PATH_MAX];

    if (name_length == 13 && memcmp(name, "password-file", 13) == 0)
        return decode(value, length, path, sizeof path)
                   ? read_password_file(path, place, err)
                   : tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "password-file= of the server's address is not a path");
    for (size_t i = 0; i < sizeof parameters / sizeof parameters[0]; i++) {
        const parameter *p = &parameters[i];
        void *field = (char *)place + p->offset;

        if (strlen(p->name) != name_length || memcmp(p->name, name, name_length) != 0)
            continue;
        if (p->bytes > 0 ? decode(value, length, field, p->bytes) : read_number(value, length, p->low, p->high, field))
            return TJ_OK;
        if (p->bytes > 0)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s= of the server's address is too long, or has a wrong %%", p->name);
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s=%.*s of the server's address: use a number from %d to %d", p->name,
                       length < 40 ? (int)length : 40, value, p->low, p->high);
    }
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "the server's address has no parameter %.*s: use trust, sign, generation, deadline, wait, days, db or "
                   "password-file",
                   name_length < 40 ? (int)name_length : 40, name);
}

static tj_status read_parameters(const char *text, fleet_place *place, tj_error *err)
{
    tj_status status = TJ_OK;

    while (status == TJ_OK && *text) {
        const size_t length = strcspn(text, "&"), name = strcspn(text, "=&");

        if (name >= length)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                           "\"%.*s\" in the server's address has no =", length < 40 ? (int)length : 40, text);
        status = read_parameter(text, name, text + name + 1, length - name - 1, place, err);
        text += length + (text[length] != '\0');
    }
    for (const char *c = place->generation; status == TJ_OK && *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "generation=%s: use letters, digits, '.', '_' and '-'",
                           place->generation);
    return status;
}

/* ---- address ------------------------------------------------------------------------------------------------------ */

static tj_status wrong(tj_error *err, const char *what)
{
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the server's address has %s: write %s", what, FORM);
}

static tj_status read_address(const char *text, size_t length, fleet_place *place, tj_error *err)
{
    const char *end = text + length, *at = memrchr(text, '@', length), *colon, *slash, *host = at ? at + 1 : text;

    if (at) {
        colon = memchr(text, ':', (size_t)(at - text));
        if (!decode(text, (size_t)((colon ? colon : at) - text), place->user, sizeof place->user) ||
            (colon && !decode(colon + 1, (size_t)(at - colon - 1), place->password, sizeof place->password)))
            return wrong(err, "a user or password that is too long, or has a wrong %");
    }
    slash = memchr(host, '/', (size_t)(end - host));
    if (slash && slash + 1 < end && !read_number(slash + 1, (size_t)(end - slash - 1), 0, 1 << 20, &place->database))
        return wrong(err, "a database that is not a number");
    end = slash ? slash : end;
    if (host < end && *host == '[') { /* IPv6 */
        const char *close = memchr(host, ']', (size_t)(end - host));

        if (!close || !decode(host + 1, (size_t)(close - host - 1), place->host, sizeof place->host))
            return wrong(err, "no ] after its IPv6 address");
        colon = close + 1 < end ? close + 1 : NULL;
    } else {
        colon = memchr(host, ':', (size_t)(end - host));
        if (!decode(host, (size_t)((colon ? colon : end) - host), place->host, sizeof place->host))
            return wrong(err, "a host that is too long");
    }
    if (colon && (*colon != ':' || !read_number(colon + 1, (size_t)(end - colon - 1), 1, 65535, &place->port)))
        return wrong(err, "a port that is not a number from 1 to 65535");
    return place->host[0] ? TJ_OK : wrong(err, "no host");
}

/* Return the part after a scheme; NULL: the url has another scheme. */
static const char *behind(const char *url, const char *scheme)
{
    const size_t length = strlen(scheme);

    return strncmp(url, scheme, length) == 0 ? url + length : NULL;
}

tj_status fleet_place_parse(const char *url, fleet_place *place, tj_error *err)
{
    const char *rest, *query;
    size_t length;
    tj_status status;

    *place = (fleet_place){
        .port = USUAL_PORT, .deadline_ms = USUAL_DEADLINE_MS, .wait_ms = USUAL_WAIT_MS, .image_days = USUAL_IMAGE_DAYS};
    if (strlen(url) > MOST_URL_BYTES)
        return wrong(err, "more than 8192 bytes");
    if (behind(url, "rediss://") || behind(url, "valkeys://"))
        return tj_fail(
            err, TJ_ERR_UNSUPPORTED,
            "the server's address begins with \"%.*s\" and so asks for TLS, which this build does not speak: run stunnel "
            "or ssh -L next to the program, and name its end here: redis://127.0.0.1:PORT",
            (int)strcspn(url, ":"), url);
    if ((rest = behind(url, "redis+unix://")) || (rest = behind(url, "unix://"))) {
        query = rest + strcspn(rest, "?");
        if (*rest != '/' || !decode(rest, (size_t)(query - rest), place->socket, sizeof place->socket))
            return wrong(err, "no absolute path of a socket, or one of more than 107 bytes");
        status = TJ_OK;
    } else if ((rest = behind(url, "redis://")) || (rest = behind(url, "valkey://"))) {
        query = rest + strcspn(rest, "?");
        status = read_address(rest, (size_t)(query - rest), place, err);
    } else {
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the server's address begins with \"%.12s\": write %s", url, FORM);
    }
    if (status == TJ_OK && *query)
        status = read_parameters(query + 1, place, err);
    length = place->socket[0] ? strlen(place->socket) : strlen(place->host);
    if (place->socket[0])
        (void)snprintf(place->shown, sizeof place->shown, "redis+unix://%.*s", (int)length, place->socket);
    else
        (void)snprintf(place->shown, sizeof place->shown,
                       strchr(place->host, ':') ? "redis://[%.*s]:%d/%d" : "redis://%.*s:%d/%d", (int)length, place->host,
                       place->port, place->database);
    return status;
}
