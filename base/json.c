/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json: the arena and its trees, the reader, and the writer.
 *
 * Numbers pass through strtod and printf without a decimal point, the one part that depends on the locale.
 */
#include "json.h"

#include <errno.h>
#include <math.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "text.h"
#include "utf8.h"

/* ---- arena -------------------------------------------------------------------------------------------------------- */

enum { CHUNK_BYTES = 4096 };

typedef struct chunk {
    struct chunk *next;
    size_t size, used;
    alignas(max_align_t) char bytes[];
} chunk;

typedef struct document document;

struct tj_json {
    const char *name; /* if it is a member */
    tj_json *next;    /* in the enclosing list or object */
    tj_json_kind kind;
    union {
        bool truth;
        int64_t integer;
        double real;
        const char *text;
        struct {
            tj_json *first, *last;
            document *of;
        };
    };
};

struct document {
    tj_json root; /* must be first: its address is the handle of the document */
    chunk *chunks;
    bool has_failed;
};

static void *take(document *of, size_t size)
{
    const size_t wanted = (size + alignof(tj_json) - 1) / alignof(tj_json) * alignof(tj_json);
    chunk *at = of->chunks;

    if (!at || wanted > at->size - at->used) {
        const size_t bytes = wanted > CHUNK_BYTES ? wanted : CHUNK_BYTES;

        at = malloc(sizeof *at + bytes);
        if (!at) {
            of->has_failed = true;
            return NULL;
        }
        *at = (chunk){of->chunks, bytes, 0};
        of->chunks = at;
    }
    at->used += wanted;
    return at->bytes + at->used - wanted;
}

static tj_json *create(document *of, tj_json_kind kind)
{
    tj_json *value = take(of, sizeof *value);

    if (!value)
        return NULL;
    memset(value, 0, sizeof *value);
    value->kind = kind;
    if (kind == TJ_JSON_LIST || kind == TJ_JSON_OBJECT)
        value->of = of;
    return value;
}

static bool is_container(const tj_json *value)
{
    return value && (value->kind == TJ_JSON_LIST || value->kind == TJ_JSON_OBJECT);
}

tj_json *tj_json_new(void)
{
    document *of = calloc(1, sizeof *of);

    if (!of)
        return NULL;
    of->root.kind = TJ_JSON_OBJECT;
    of->root.of = of;
    return &of->root;
}

void tj_json_free(tj_json *root)
{
    if (!root)
        return;
    for (chunk *at = root->of->chunks, *next; at; at = next) {
        next = at->next;
        free(at);
    }
    free(root->of);
}

/* ---- values ------------------------------------------------------------------------------------------------------- */

tj_json_kind tj_json_kind_of(const tj_json *value)
{
    return value ? value->kind : TJ_JSON_NONE;
}

tj_json *tj_json_get(const tj_json *object, const char *name)
{
    if (tj_json_kind_of(object) != TJ_JSON_OBJECT)
        return NULL;
    for (tj_json *one = object->first; one; one = one->next)
        if (strcmp(one->name, name) == 0)
            return one;
    return NULL;
}

tj_json *tj_json_first(const tj_json *list_or_object)
{
    return is_container(list_or_object) ? list_or_object->first : NULL;
}

tj_json *tj_json_next(const tj_json *value)
{
    return value ? value->next : NULL;
}

size_t tj_json_count(const tj_json *list_or_object)
{
    size_t count = 0;

    for (const tj_json *one = tj_json_first(list_or_object); one; one = one->next)
        count++;
    return count;
}

const char *tj_json_name(const tj_json *member)
{
    return member ? member->name : NULL;
}

const char *tj_json_text(const tj_json *value)
{
    return tj_json_kind_of(value) == TJ_JSON_TEXT ? value->text : NULL;
}

int64_t tj_json_int(const tj_json *value)
{
    return tj_json_kind_of(value) == TJ_JSON_INT ? value->integer : 0;
}

double tj_json_number(const tj_json *value)
{
    return tj_json_kind_of(value) == TJ_JSON_REAL ? value->real : (double)tj_json_int(value);
}

bool tj_json_bool(const tj_json *value)
{
    return tj_json_kind_of(value) == TJ_JSON_BOOL && value->truth;
}

/* ---- building ----------------------------------------------------------------------------------------------------- */

bool tj_json_is_text(const char *text)
{
    uint32_t code_point;

    for (size_t bytes; *text; text += bytes)
        if ((bytes = tj_utf8_read(text, &code_point)) == 0)
            return false;
    return true;
}

static char *copy_text(document *of, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = take(of, bytes);

    return copy ? memcpy(copy, text, bytes) : NULL;
}

static void append(tj_json *to, tj_json *value)
{
    *(to->last ? &to->last->next : &to->first) = value;
    to->last = value;
}

/* Insert a member in order, or replace the member of the same name. */
static void insert(tj_json *object, tj_json *member)
{
    tj_json **at = &object->first;
    int order = 1;

    if (!object->last || strcmp(object->last->name, member->name) < 0) {
        append(object, member);
        return;
    }
    while ((order = strcmp((*at)->name, member->name)) < 0)
        at = &(*at)->next;
    member->next = order == 0 ? (*at)->next : *at;
    *at = member;
    if (!member->next)
        object->last = member;
}

static tj_json *add(tj_json *to, const char *name, tj_json_kind kind)
{
    tj_json *value;

    if (!is_container(to))
        return NULL;
    value = create(to->of, kind);
    if (!value || (to->kind == TJ_JSON_OBJECT) != (name && tj_json_is_text(name)) ||
        (name && !(value->name = copy_text(to->of, name)))) {
        to->of->has_failed = true;
        return NULL;
    }
    if (name)
        insert(to, value);
    else
        append(to, value);
    return value;
}

tj_json *tj_json_add_object(tj_json *to, const char *name)
{
    return add(to, name, TJ_JSON_OBJECT);
}

tj_json *tj_json_add_list(tj_json *to, const char *name)
{
    return add(to, name, TJ_JSON_LIST);
}

void tj_json_add_text(tj_json *to, const char *name, const char *text)
{
    tj_json *value = add(to, name, TJ_JSON_TEXT);

    if (value && (!text || !tj_json_is_text(text) || !(value->text = copy_text(to->of, text))))
        to->of->has_failed = true;
}

void tj_json_add_foreign(tj_json *to, const char *name, const char *text)
{
    tj_json *value = add(to, name, TJ_JSON_TEXT);
    char *copy = value ? copy_text(to->of, text) : NULL;

    if (!copy)
        return;
    if (!tj_json_is_text(copy))
        for (char *c = copy; *c; c++)
            *c = (char)((unsigned char)*c > 0x7e ? '?' : *c);
    value->text = copy;
}

void tj_json_add_int(tj_json *to, const char *name, int64_t number)
{
    tj_json *value = add(to, name, TJ_JSON_INT);

    if (value)
        value->integer = number;
}

void tj_json_add_real(tj_json *to, const char *name, double number)
{
    tj_json *value = add(to, name, TJ_JSON_REAL);

    if (!value)
        return;
    value->real = number;
    if (!isfinite(number))
        to->of->has_failed = true;
}

void tj_json_add_bool(tj_json *to, const char *name, bool truth)
{
    tj_json *value = add(to, name, TJ_JSON_BOOL);

    if (value)
        value->truth = truth;
}

void tj_json_add_null(tj_json *to, const char *name)
{
    (void)add(to, name, TJ_JSON_NULL);
}

tj_json *tj_json_add_copy(tj_json *to, const char *name, const tj_json *value)
{
    tj_json *copy = add(to, name, tj_json_kind_of(value));

    if (!copy)
        return NULL;
    if (!value || (is_container(value) && value->of->has_failed)) {
        to->of->has_failed = true;
    } else if (is_container(value)) {
        for (const tj_json *one = value->first; one; one = one->next)
            (void)tj_json_add_copy(copy, one->name, one);
    } else if (value->kind == TJ_JSON_TEXT) {
        copy->text = copy_text(to->of, value->text);
    } else if (value->kind == TJ_JSON_REAL) {
        copy->real = value->real;
    } else if (value->kind == TJ_JSON_INT) {
        copy->integer = value->integer;
    } else {
        copy->truth = value->truth;
    }
    return copy;
}

void tj_json_remove(tj_json *object, const char *name)
{
    const tj_json *gone = tj_json_get(object, name);
    tj_json *before = NULL;

    if (!gone)
        return;
    for (tj_json *one = object->first; one != gone; one = one->next)
        before = one;
    *(before ? &before->next : &object->first) = gone->next;
    if (object->last == gone)
        object->last = before;
}

/* ---- reading ------------------------------------------------------------------------------------------------------ */

typedef struct reader {
    const char *at, *end; /* a NUL stands at the end, and no sequence runs over it */
    document *of;
    const char *why; /* of the failure; NULL: memory ran out */
} reader;

static bool refuse(reader *r, const char *why)
{
    r->why = why;
    return false;
}

/* Return the next character after white space; NUL at the end. */
static char next(reader *r)
{
    r->at += strspn(r->at, " \t\r\n");
    return *r->at;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool read_word(reader *r, const char *word)
{
    const size_t length = strlen(word);

    if (strncmp(r->at, word, length) != 0)
        return refuse(r, "a value is missing here");
    r->at += length;
    return true;
}

/* Return the four hex digits after \u; -1: they are not hex digits. */
static int32_t read_unit(const char *at)
{
    int32_t unit = 0;

    for (int i = 0; i < 4; i++) {
        const char c = at[i], lower = (char)(c | 0x20);

        if (!is_digit(c) && !(lower >= 'a' && lower <= 'f'))
            return -1;
        unit = 16 * unit + (is_digit(c) ? c - '0' : lower - 'a' + 10);
    }
    return unit;
}

/* Read \u and its digits; two escapes make a surrogate pair. */
static bool read_unicode(reader *r, char **to)
{
    int32_t code = read_unit(r->at + 2), low;
    char *out = *to;

    if (code < 0)
        return refuse(r, "\\u is not followed by four hexadecimal digits");
    if (code == 0)
        return refuse(r, "\\u0000 in a text");
    r->at += 6;
    if (code >= 0xd800 && code < 0xe000) {
        low = code < 0xdc00 && r->at[0] == '\\' && r->at[1] == 'u' ? read_unit(r->at + 2) : -1;
        if (low < 0xdc00 || low >= 0xe000)
            return refuse(r, "half a surrogate pair");
        r->at += 6;
        code = 0x10000 + (code - 0xd800) * 0x400 + (low - 0xdc00);
    }
    if (code < 0x80) {
        *out++ = (char)code;
    } else {
        const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;

        *out++ = (char)((0xff00 >> (more + 1)) | (code >> (6 * more)));
        for (int i = more - 1; i >= 0; i--)
            *out++ = (char)(0x80 | ((code >> (6 * i)) & 0x3f));
    }
    *to = out;
    return true;
}

static bool read_escape(reader *r, char **to)
{
    static const char name[] = "\"\\/bfnrt", meaning[] = "\"\\/\b\f\n\r\t";
    const char *known = r->at[1] ? strchr(name, r->at[1]) : NULL;

    if (r->at[1] == 'u')
        return read_unicode(r, to);
    if (!known)
        return refuse(r, "an escape that JSON does not have");
    *(*to)++ = meaning[known - name];
    r->at += 2;
    return true;
}

/* Read from quote to quote. The decoded text is never longer than its source. */
static bool read_text(reader *r, const char **text)
{
    const char *end = r->at + 1;
    char *to;

    while (*end && *end != '"')
        end += 1 + (end[0] == '\\' && end[1]);
    if (!*end)
        return refuse(r, "a text does not end");
    *text = to = take(r->of, (size_t)(end - r->at));
    if (!to)
        return refuse(r, NULL);
    for (r->at++; *r->at != '"';) {
        uint32_t code_point;
        size_t bytes;

        if (*r->at == '\\') {
            if (!read_escape(r, &to))
                return false;
        } else if ((unsigned char)*r->at < 0x20) {
            return refuse(r, "a control character in a text");
        } else if ((bytes = tj_utf8_read(r->at, &code_point)) == 0) {
            return refuse(r, "a text is not UTF-8");
        } else {
            memcpy(to, r->at, bytes);
            to += bytes;
            r->at += bytes;
        }
    }
    *to = '\0';
    r->at++;
    return true;
}

/* Pass the digits to strtod as a whole number times a power of ten: without a point, every locale reads it alike. */
static bool read_real(reader *r, const char *begin, const char *digits_end, int64_t exponent, double *real)
{
    char plain[TJ_JSON_MAX_NUMBER + 32];
    size_t length = 0;

    for (const char *at = begin; at < digits_end; at++)
        if (*at != '.')
            plain[length++] = *at;
    plain[length++] = 'e';
    (void)tj_format_int(plain + length, exponent);
    *real = strtod(plain, NULL);
    return isfinite(*real) || refuse(r, "a number is larger than a double");
}

static bool read_number(reader *r, tj_json *value)
{
    const char *begin = r->at, *digits_end;
    int64_t exponent = 0, power = 0;
    size_t decimals = 0;
    char whole[TJ_JSON_MAX_NUMBER];

    r->at += *r->at == '-';
    if (!is_digit(*r->at))
        return refuse(r, "a value is missing here");
    r->at += *r->at == '0' ? 1 : strspn(r->at, "0123456789");
    if (is_digit(*r->at))
        return refuse(r, "a number begins with 0");
    if (*r->at == '.') {
        decimals = strspn(r->at + 1, "0123456789");
        if (decimals == 0)
            return refuse(r, "no digit follows the point");
        r->at += 1 + decimals;
    }
    digits_end = r->at;
    value->kind = decimals > 0 || (*r->at | 0x20) == 'e' ? TJ_JSON_REAL : TJ_JSON_INT;
    if ((*r->at | 0x20) == 'e') {
        const bool is_negative = r->at[1] == '-';

        r->at += 1 + (is_negative || r->at[1] == '+');
        if (!is_digit(*r->at))
            return refuse(r, "no digit follows the exponent's e");
        for (; is_digit(*r->at); r->at++)
            power = power < 100000 ? 10 * power + (*r->at - '0') : power; /* already beyond every double */
        exponent = is_negative ? -power : power;
    }
    if (r->at - begin >= TJ_JSON_MAX_NUMBER)
        return refuse(r, "a number has more than 1023 characters");
    if (value->kind == TJ_JSON_REAL)
        return read_real(r, begin, digits_end, exponent - (int64_t)decimals, &value->real);
    memcpy(whole, begin, (size_t)(r->at - begin));
    whole[r->at - begin] = '\0';
    return tj_parse_int(whole, &value->integer) || refuse(r, "a whole number does not fit 64 bits");
}

static tj_json *merge(tj_json *a, tj_json *b)
{
    tj_json *first = NULL, **to = &first;

    while (a && b) {
        tj_json **least = strcmp(b->name, a->name) < 0 ? &b : &a;

        *to = *least;
        to = &(*least)->next;
        *least = *to;
    }
    *to = a ? a : b;
    return first;
}

/* Merges lists of equal length, as a binary counter carries: n members take n log n comparisons, in any order. */
static bool sort_members(reader *r, tj_json *object)
{
    tj_json *sorted[48] = {NULL}, *all = NULL, *rest = object->first;

    while (rest) {
        tj_json *one = rest;
        int i = 0;

        rest = rest->next;
        one->next = NULL;
        for (; sorted[i]; sorted[i++] = NULL)
            one = merge(sorted[i], one);
        sorted[i] = one;
    }
    for (int i = 0; i < 48; i++)
        all = sorted[i] ? merge(sorted[i], all) : all;
    object->first = all;
    for (tj_json *one = all; one; one = one->next) {
        if (one->next && strcmp(one->name, one->next->name) == 0)
            return refuse(r, "two members of the object that ends here have one name");
        object->last = one;
    }
    return true;
}

static bool read_value(reader *r, tj_json *value, int depth);

static bool read_name(reader *r, tj_json *member)
{
    if (next(r) != '"')
        return refuse(r, "the name of a member is missing here");
    if (!read_text(r, &member->name))
        return false;
    if (next(r) != ':')
        return refuse(r, "no colon follows the name of a member");
    r->at++;
    return true;
}

static bool read_container(reader *r, tj_json *container, int depth)
{
    const bool is_object = *r->at == '{';
    const char close = is_object ? '}' : ']';

    container->kind = is_object ? TJ_JSON_OBJECT : TJ_JSON_LIST;
    container->of = r->of;
    if (depth == TJ_JSON_MAX_DEPTH)
        return refuse(r, "lists and objects within too many others");
    r->at++;
    if (next(r) == close) {
        r->at++;
        return true;
    }
    for (;;) {
        tj_json *value = create(r->of, TJ_JSON_NULL);

        if (!value)
            return refuse(r, NULL);
        if ((is_object && !read_name(r, value)) || !read_value(r, value, depth + 1))
            return false;
        append(container, value);
        if (next(r) == close)
            break;
        if (*r->at != ',')
            return refuse(r, is_object ? "neither , nor } follows a member" : "neither , nor ] follows an item");
        r->at++;
    }
    r->at++;
    return !is_object || sort_members(r, container);
}

/* Recurses through read_container, at most TJ_JSON_MAX_DEPTH deep. */
static bool read_value(reader *r, tj_json *value, int depth)
{
    switch (next(r)) {
    case '{':
    case '[':
        return read_container(r, value, depth);
    case '"':
        value->kind = TJ_JSON_TEXT;
        return read_text(r, &value->text);
    case 't':
    case 'f':
        value->kind = TJ_JSON_BOOL;
        value->truth = *r->at == 't';
        return read_word(r, value->truth ? "true" : "false");
    case 'n':
        return read_word(r, "null");
    default:
        return read_number(r, value);
    }
}

static bool read_root(reader *r)
{
    if (next(r) != '{' && *r->at != '[')
        return refuse(r, "it begins with neither { nor [");
    if (!read_container(r, &r->of->root, 0))
        return false;
    (void)next(r);
    return r->at == r->end || refuse(r, "something follows its end");
}

tj_status tj_json_read(const char *text, size_t size, tj_json **root, tj_error *err)
{
    tj_json *made;
    reader r;
    int line = 1, column = 1;

    *root = NULL;
    if (size > TJ_JSON_MAX_BYTES)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%zu bytes of JSON: at most %d are read", size, (int)TJ_JSON_MAX_BYTES);
    if (!(made = tj_json_new()))
        return tj_fail_memory(err, "a JSON document");
    r = (reader){.at = text, .end = text + size, .of = made->of};
    if (read_root(&r)) {
        *root = made;
        return TJ_OK;
    }
    tj_json_free(made);
    if (!r.why)
        return tj_fail_memory(err, "a JSON document");
    for (const char *at = text; at < r.at; at++) {
        column = *at == '\n' ? 1 : column + 1;
        line += *at == '\n';
    }
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "not JSON: line %d, column %d: %s", line, column, r.why);
}

/* ---- printing ----------------------------------------------------------------------------------------------------- */

typedef struct style {
    bool has_lines;
    int digits;
} style;

static void print_text(tj_text *out, const char *text)
{
    static const char named[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";

    tj_text_append(out, "\"");
    while (*text) {
        size_t plain = 0;

        while ((unsigned char)text[plain] >= 0x20 && text[plain] != '"' && text[plain] != '\\')
            plain++;
        tj_text_append_bytes(out, text, plain);
        text += plain;
        if (*text) {
            const char *known = strchr(named, *text);
            char escape[16];

            if (known)
                (void)snprintf(escape, sizeof escape, "\\%c", letter[known - named]);
            else
                (void)snprintf(escape, sizeof escape, "\\u%04X", (unsigned)*text);
            tj_text_append(out, escape);
            text++;
        }
    }
    tj_text_append(out, "\"");
}

/*
 * Print as %.*g, with a point in every locale, and in every number, to mark it as a real; an exponent has neither + nor leading
 * zeros.
 */
static void print_real(tj_text *out, double value, int digits)
{
    char printed[64], digit[32];
    int count = 0, exponent, whole;
    const char *at = printed;

    (void)snprintf(printed, sizeof printed, "%.*e", digits - 1, value);
    for (; *at != 'e'; at++)
        if (is_digit(*at))
            digit[count++] = *at;
    exponent = (int)strtol(at + 1, NULL, 10);
    while (count > 1 && digit[count - 1] == '0')
        count--;
    if (printed[0] == '-')
        tj_text_append(out, "-");
    if (exponent < -4 || exponent >= digits) {
        tj_text_append_bytes(out, digit, 1);
        tj_text_append(out, count > 1 ? "." : "");
        tj_text_append_bytes(out, digit + 1, (size_t)count - 1);
        tj_text_append(out, "e");
        tj_text_append_int(out, exponent);
        return;
    }
    whole = exponent + 1;
    if (whole <= 0)
        tj_text_append(out, "0");
    for (int i = 0; i < whole; i++)
        tj_text_append_bytes(out, i < count ? &digit[i] : "0", 1);
    tj_text_append(out, ".");
    for (int i = whole; i < 0; i++)
        tj_text_append(out, "0");
    whole = whole < 0 ? 0 : whole;
    if (count > whole)
        tj_text_append_bytes(out, digit + whole, (size_t)(count - whole));
    else
        tj_text_append(out, "0");
}

static void print_line_end(tj_text *out, const style *how, int depth)
{
    if (!how->has_lines)
        return;
    tj_text_append(out, "\n");
    for (int i = 0; i < depth; i++)
        tj_text_append(out, "  ");
}

/* Recurses as deep as the document that was read, and the values built around it. */
static void print_value(tj_text *out, const tj_json *value, const style *how, int depth)
{
    switch (value->kind) {
    case TJ_JSON_LIST:
    case TJ_JSON_OBJECT:
        tj_text_append(out, value->kind == TJ_JSON_OBJECT ? "{" : "[");
        for (const tj_json *one = value->first; one; one = one->next) {
            print_line_end(out, how, depth + 1);
            if (one->name) {
                print_text(out, one->name);
                tj_text_append(out, how->has_lines ? ": " : ":");
            }
            print_value(out, one, how, depth + 1);
            tj_text_append(out, one->next ? "," : "");
        }
        if (value->first)
            print_line_end(out, how, depth);
        tj_text_append(out, value->kind == TJ_JSON_OBJECT ? "}" : "]");
        break;
    case TJ_JSON_TEXT:
        print_text(out, value->text);
        break;
    case TJ_JSON_INT:
        tj_text_append_int(out, value->integer);
        break;
    case TJ_JSON_REAL:
        print_real(out, value->real, how->digits);
        break;
    case TJ_JSON_BOOL:
        tj_text_append(out, value->truth ? "true" : "false");
        break;
    default:
        tj_text_append(out, "null");
    }
}

static char *print(const tj_json *value, const style *how)
{
    tj_text out = TJ_TEXT_INIT(SIZE_MAX / 4);
    char *text;

    if (!value || (is_container(value) && value->of->has_failed))
        return NULL;
    print_value(&out, value, how, 0);
    return tj_text_take(&out, &text, NULL) == TJ_OK ? text : NULL;
}

char *tj_json_print(const tj_json *value)
{
    return print(value, &(style){false, TJ_JSON_EXACT});
}

char *tj_json_print_lines(const tj_json *value, int digits)
{
    return print(value, &(style){true, digits});
}
