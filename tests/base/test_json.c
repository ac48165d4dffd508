/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * JSON: what is read, what is refused, and the bytes that are written, judged by jansson; and documents without memory.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "locales.h"

/* ---- a judge ------------------------------------------------------------------------------------------------------ */

enum { COMPACT = JSON_COMPACT | JSON_SORT_KEYS, LINES = JSON_INDENT(2) | JSON_SORT_KEYS };

/* Later versions of jansson print the shortest digits that give a real back. Ours are all 17, as they were in records from the first. */
static const bool judges_reals = JANSSON_VERSION_HEX < 0x020e01;

static unsigned random_state = 1;

static unsigned any(unsigned below)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (unsigned)(((unsigned long long)random_state * below) >> 32);
}

static void expect_same(char *ours, char *theirs, const char *text)
{
    if (judges_reals)
        cr_expect(ours && theirs && strcmp(ours, theirs) == 0, "%s\nis written\n%s\nnot\n%s", text, ours, theirs);
    free(ours);
    free(theirs);
}

/* Both take it, and write it alike, or neither does. True: it was taken. */
static bool judge(const char *text, size_t size)
{
    json_error_t why;
    json_t *theirs = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
    tj_json *ours;
    tj_error err;
    const tj_status status = tj_json_read(text, size, &ours, &err);

    cr_expect(eq(int, status == TJ_OK, theirs != NULL), "%.*s\nours: %s\ntheirs: %s", (int)size, text,
              status == TJ_OK ? "read" : err.message, theirs ? "read" : why.text);
    cr_expect(eq(int, status, ours ? TJ_OK : TJ_ERR_INVALID_ARGUMENT));
    if (ours && theirs) {
        expect_same(tj_json_print(ours), json_dumps(theirs, COMPACT), text);
        expect_same(tj_json_print_lines(ours, 17), json_dumps(theirs, LINES), text);
        expect_same(tj_json_print_lines(ours, 15), json_dumps(theirs, LINES | JSON_REAL_PRECISION(15)), text);
    }
    tj_json_free(ours);
    json_decref(theirs);
    return status == TJ_OK;
}

static bool judge_text(const char *text)
{
    return judge(text, strlen(text));
}

Test(json, reads_what_is_json_and_refuses_what_is_not)
{
    static const char *const sound[] = {
        "{}",
        "[]",
        " \t\r\n[ ] ",
        "[[],{}]",
        "{\"a\":{\"b\":[1,2,{}]},\"\":null}",
        "[true,false,null]",
        "{\"b\":1,\"a\":2,\"ab\":3,\"B\":4,\"\xc3\xa9\":5,\"a\\nb\":6}",
        "[0,-0,1,-1,9223372036854775807,-9223372036854775808]",
        "[0.0,-0.0,1e5,1E+5,1e-5,0.1,1.5e300,1e-320,4.9e-324,1e-400,1.7976931348623157e308,123456789012345678901234567890.0]",
        "[0e999999999999,1e-999999999999]",
        "[100000.0,1e15,1e16,1e17,1e18,0.0001,0.00001,12345678.0,1e22,1e23]",
        "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\",\"\\u0001\\u001f\\u007f\\u0080\\u07ff\\u0800\\uffff\\ud800\\udc00\\uDBFF\\uDFFF\"]",
        "[\"\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"]"};
    static const char *const broken[] = {"",
                                         " ",
                                         "1",
                                         "\"a\"",
                                         "null",
                                         "{",
                                         "[",
                                         "{]",
                                         "[}",
                                         "[1",
                                         "[1,",
                                         "[1,]",
                                         "[,1]",
                                         "[1 2]",
                                         "{\"a\"}",
                                         "{\"a\":}",
                                         "{\"a\":1,}",
                                         "{a:1}",
                                         "{'a':1}",
                                         "{1:1}",
                                         "{\"a\":1 \"b\":2}",
                                         "{\"a\":1,\"a\":1}",
                                         "{\"a\":1,\"b\":2,\"\\u0061\":3}",
                                         "[1]x",
                                         "[1][2]",
                                         "[] []",
                                         "[tru]",
                                         "[truex]",
                                         "[True]",
                                         "[nul]",
                                         "[NaN]",
                                         "[Infinity]",
                                         "[-]",
                                         "[+1]",
                                         "[01]",
                                         "[-01]",
                                         "[1.]",
                                         "[.5]",
                                         "[1.e5]",
                                         "[1e]",
                                         "[1e+]",
                                         "[0x10]",
                                         "[1e400]",
                                         "[-1e400]",
                                         "[1e999999999999]",
                                         "[9223372036854775808]",
                                         "[-9223372036854775809]",
                                         "[1_0]",
                                         "[\"",
                                         "[\"a",
                                         "[\"\\",
                                         "[\"\\\"",
                                         "[\"\\x\"]",
                                         "[\"\\u\"]",
                                         "[\"\\u12\"]",
                                         "[\"\\u12g4\"]",
                                         "[\"\\u0000\"]",
                                         "[\"\\ud800\"]",
                                         "[\"\\ud800x\"]",
                                         "[\"\\ud800\\n\"]",
                                         "[\"\\ud800\\ud800\"]",
                                         "[\"\\udc00\"]",
                                         "[\"\n\"]",
                                         "[\"\x1f\"]",
                                         "[\"\x80\"]",
                                         "[\"\xc3\"]",
                                         "[\"\xc0\x80\"]",
                                         "[\"\xc1\xbf\"]",
                                         "[\"\xe0\x9f\xbf\"]",
                                         "[\"\xed\xa0\x80\"]",
                                         "[\"\xf0\x8f\xbf\xbf\"]",
                                         "[\"\xf4\x90\x80\x80\"]",
                                         "[\"\xf5\x80\x80\x80\"]",
                                         "[\"\xff\"]",
                                         "\xef\xbb\xbf[]",
                                         "[1] // so",
                                         "[/* so */]"};

    for (size_t i = 0; i < sizeof sound / sizeof sound[0]; i++)
        cr_expect(judge_text(sound[i]), "%s", sound[i]);
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
        cr_expect(eq(int, judge_text(broken[i]), false), "%s", broken[i]);
    cr_expect(eq(int, judge("[1]\0", 4) || judge("[\"a\0b\"]", 7) || judge("[1,\0 2]", 7), false), "a NUL");
}

/* ---- made up ------------------------------------------------------------------------------------------------------ */

typedef struct page {
    char text[16384];
    size_t length;
} page;

static void put(page *to, const char *piece)
{
    const size_t length = strlen(piece);

    if (to->length + length < sizeof to->text)
        memcpy(to->text + to->length, piece, length + 1), to->length += length;
}

static void put_space(page *to)
{
    static const char *const space[] = {"", "", "", " ", "\n", "\t ", "\r\n"};

    put(to, space[any(7)]);
}

static void put_text(page *to)
{
    static const char *const piece[] = {
        "a", "b", "name", "\\n", "\\u0041", "\\u20ac", "\\ud83d\\ude00", "\xc3\xa9", "\xf0\x9f\x98\x80", "/", "\\\\", "\\\""};

    put(to, "\"");
    for (unsigned i = any(5); i > 0; i--)
        put(to, piece[any(12)]);
    put(to, "\"");
}

static void put_number(page *to)
{
    char number[64];
    double real;
    unsigned long long bits = ((unsigned long long)any(0xffffffff) << 32) ^ any(0xffffffff);

    if (any(2) == 0) {
        snprintf(number, sizeof number, "%lld", (long long)bits >> any(64));
    } else {
        memcpy(&real, &bits, sizeof real);
        if (any(2) == 0)
            real = (double)((long long)bits >> any(64)) / 1e6;
        snprintf(number, sizeof number, "%.*e", (int)any(18), isfinite(real) ? real : 0.5);
    }
    put(to, number);
}

static void put_value(page *to, int depth)
{
    static const char *const word[] = {"true", "false", "null"};
    const unsigned kind = any(depth > 6 ? 4 : 8);

    put_space(to);
    if (kind == 0) {
        put(to, word[any(3)]);
    } else if (kind == 1) {
        put_text(to);
    } else if (kind < 4) {
        put_number(to);
    } else {
        const bool is_object = kind < 6;

        put(to, is_object ? "{" : "[");
        for (unsigned i = any(6); i > 0; i--) {
            if (is_object) {
                put_space(to);
                put_text(to);
                put_space(to);
                put(to, ":");
            }
            put_value(to, depth + 1);
            put(to, i > 1 ? "," : "");
        }
        put(to, is_object ? "}" : "]");
    }
    put_space(to);
}

static void damage(page *text)
{
    static const char byte[] =
        "{}[]\",:0123456789.eE+-\\ubntrf\x01\x80\xc3\xf0 "; /* no NUL: jansson overlooks one after a number */
    const size_t at = any((unsigned)text->length);

    if (any(3) > 0) {
        text->text[at] = byte[any(sizeof byte - 1)];
    } else {
        memmove(text->text + at, text->text + at + 1, text->length - at);
        text->length--;
    }
}

Test(json, agrees_with_jansson_about_thousands_of_documents)
{
    int read = 0, refused = 0;

    for (int i = 0; i < 6000; i++) {
        page text = {"", 0};

        put(&text, "[");
        put_value(&text, 0);
        put(&text, "]");
        for (int mutation = 0; mutation < 4; mutation++) {
            *(judge(text.text, text.length) ? &read : &refused) += 1;
            damage(&text);
        }
    }
    cr_expect(read > 4000 && refused > 4000, "%d read, %d refused", read, refused);
}

Test(json, reads_and_writes_numbers_alike_in_every_locale)
{
    static const char text[] = "[0.1,-1234567.25,1e300,2.5e-8]";
    char folder[] = "/tmp/tilejit-json-XXXXXX", remove[64];
    tj_json *root;

    cr_assert(mkdtemp(folder) != NULL);
    for (int i = 0; i < TEST_LOCALES; i++) {
        char *printed;

        if (!enter_locale(folder, test_locales[i]))
            continue;
        cr_assert(eq(int, tj_json_read(text, strlen(text), &root, NULL), TJ_OK));
        cr_expect(eq(dbl, tj_json_number(tj_json_first(root)), 1.0 / 10));
        printed = tj_json_print_lines(root, 15);
        cr_expect(eq(str, printed, "[\n  0.1,\n  -1234567.25,\n  1e300,\n  2.5e-8\n]"), "%s", test_locales[i]);
        free(printed);
        tj_json_free(root);
    }
    snprintf(remove, sizeof remove, "rm -rf %s", folder);
    cr_expect(eq(int, system(remove), 0));
}

/* ---- bounds ------------------------------------------------------------------------------------------------------- */

static bool is_read(const char *text)
{
    tj_json *root = NULL;
    const bool is_read = tj_json_read(text, strlen(text), &root, NULL) == TJ_OK;

    tj_json_free(root);
    return is_read;
}

Test(json, bounds_the_depth_and_the_length_of_a_number)
{
    enum { DEEP = 1000000 };
    char *text = calloc(1, DEEP + 1);

    for (int depth = TJ_JSON_MAX_DEPTH; depth <= TJ_JSON_MAX_DEPTH + 1; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        cr_expect(eq(int, is_read(text), depth == TJ_JSON_MAX_DEPTH));
    }
    memset(text, '[', DEEP);
    cr_expect(eq(int, is_read(text), false));
    for (int digits = TJ_JSON_MAX_NUMBER - 1; digits <= TJ_JSON_MAX_NUMBER; digits++) {
        memset(text, '0', (size_t)digits + 1);
        text[0] = '[';
        text[2] = '.';
        text[1 + digits] = ']';
        text[2 + digits] = '\0';
        cr_expect(eq(int, is_read(text), digits < TJ_JSON_MAX_NUMBER));
    }
    free(text);
}

Test(json, says_where_and_what)
{
    tj_error err;
    tj_json *root = NULL;
    static const char text[] = "{\n  \"a\": 1,\n  \"b\" 2\n}";

    cr_assert(eq(int, tj_json_read(text, strlen(text), &root, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(eq(str, err.message, "not JSON: line 3, column 7: no colon follows the name of a member"));
    cr_expect(eq(ptr, root, NULL));
}

/* Names in any order, also the worst, are sorted in n log n: a quadratic sort of these takes minutes. */
Test(json, sorts_the_members_of_a_large_object, .timeout = 60)
{
    enum { MEMBERS = 300000 };
    char *text = malloc(24 * MEMBERS + 3);
    size_t length = 0;
    const char *before = "";
    tj_json *root = NULL;

    for (int i = 0; i < MEMBERS; i++)
        length += (size_t)sprintf(text + length, "%c\"%06d\":%d", i ? ',' : '{', (MEMBERS - i) * 7 % MEMBERS, i);
    strcpy(text + length, "}");
    cr_assert(eq(int, tj_json_read(text, length + 1, &root, NULL), TJ_OK));
    cr_expect(eq(sz, tj_json_count(root), (size_t)MEMBERS));
    for (const tj_json *one = tj_json_first(root); one; one = tj_json_next(one)) {
        cr_assert(lt(int, strcmp(before, tj_json_name(one)), 0));
        before = tj_json_name(one);
    }
    tj_json_free(root);
    text[7] = '7'; /* "000000" has the name of another, far away */
    cr_expect(eq(int, is_read(text), false));
    free(text);
}

/* ---- building ----------------------------------------------------------------------------------------------------- */

static void expect_text(const tj_json *root, const char *wanted)
{
    char *text = tj_json_print(root);

    cr_expect(eq(str, text ? text : "(nothing)", (char *)wanted));
    free(text);
}

Test(json, builds_what_it_reads)
{
    tj_json *root = tj_json_new(), *list = tj_json_add_list(root, "list"), *other = NULL, *object;

    tj_json_add_int(root, "int", INT64_MIN);
    tj_json_add_real(root, "real", 1);
    tj_json_add_bool(root, "bool", true);
    tj_json_add_null(root, "null");
    tj_json_add_text(root, "text", "one\n");
    tj_json_add_text(root, "text", "two");
    tj_json_add_int(list, NULL, 1);
    object = tj_json_add_object(list, NULL);
    tj_json_add_int(object, "b", 2);
    tj_json_add_int(object, "c", 3);
    tj_json_add_int(object, "a", 1);
    tj_json_add_int(object, "c", 4);
    expect_text(root, "{\"bool\":true,\"int\":-9223372036854775808,\"list\":[1,{\"a\":1,\"b\":2,\"c\":4}],\"null\":null,"
                      "\"real\":1.0,\"text\":\"two\"}");
    cr_expect(tj_json_int(tj_json_get(root, "int")) == INT64_MIN && tj_json_number(tj_json_get(root, "real")) == 1 &&
              tj_json_bool(tj_json_get(root, "bool")) && strcmp(tj_json_text(tj_json_get(root, "text")), "two") == 0);
    cr_expect(tj_json_kind_of(tj_json_get(root, "null")) == TJ_JSON_NULL &&
              tj_json_kind_of(tj_json_get(root, "none")) == TJ_JSON_NONE);

    other = tj_json_new();
    (void)tj_json_add_copy(other, "copy", root);
    tj_json_remove(tj_json_get(other, "copy"), "bool"); /* the first */
    tj_json_remove(tj_json_get(other, "copy"), "text"); /* the last */
    tj_json_remove(tj_json_get(other, "copy"), "list");
    tj_json_remove(tj_json_get(other, "copy"), "none");
    tj_json_add_int(tj_json_get(other, "copy"), "z", 0);
    tj_json_free(root);
    expect_text(other, "{\"copy\":{\"int\":-9223372036854775808,\"null\":null,\"real\":1.0,\"z\":0}}");
    tj_json_free(other);
}

Test(json, takes_any_text_of_others)
{
    tj_json *root = tj_json_new();

    tj_json_add_foreign(root, "a", "caf\xc3\xa9");
    tj_json_add_foreign(root, "b", "caf\xe9 \x7f\n");
    expect_text(root, "{\"a\":\"caf\xc3\xa9\",\"b\":\"caf? ?\\n\"}");
    tj_json_free(root);
}

Test(json, prints_nothing_of_a_document_that_is_not_whole)
{
    for (int what = 0; what < 8; what++) {
        tj_json *root = tj_json_new(), *list = tj_json_add_list(root, "list");

        switch (what) {
        case 0:
            tj_json_add_text(root, "text", NULL);
            break;
        case 1:
            tj_json_add_text(root, "text", "\xff");
            break;
        case 2:
            tj_json_add_int(root, "\xff", 1);
            break;
        case 3:
            tj_json_add_real(list, NULL, (double)INFINITY);
            break;
        case 4:
            tj_json_add_real(list, NULL, (double)NAN);
            break;
        case 5:
            tj_json_add_int(list, "an item has no name", 1);
            break;
        case 6:
            tj_json_add_int(root, NULL, 1);
            break;
        default:
            (void)tj_json_add_copy(root, "copy", tj_json_get(root, "nothing"));
        }
        cr_expect(eq(ptr, tj_json_print(root), NULL), "%d", what);
        cr_expect(eq(ptr, tj_json_print_lines(list, 17), NULL), "%d", what);
        tj_json_free(root);
    }
    tj_json_add_int(NULL, "a", 1);
    (void)tj_json_add_copy(NULL, "a", NULL);
    tj_json_remove(NULL, "a");
    tj_json_free(NULL);
    cr_expect(eq(ptr, tj_json_add_list(NULL, "a"), NULL));
    cr_expect(eq(ptr, tj_json_get(NULL, "a"), NULL));
    cr_expect(eq(ptr, tj_json_print(NULL), NULL));
    cr_expect(eq(ptr, tj_json_first(NULL), NULL));
    cr_expect(eq(ptr, tj_json_next(NULL), NULL));
    cr_expect(eq(ptr, (void *)tj_json_text(NULL), NULL));
}

/* ---- without memory ----------------------------------------------------------------------------------------------- */

static long refuse_at, refused;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);

static bool is_refused(void)
{
    const bool is_it = refuse_at > 0 && --refuse_at == 0;

    refused += is_it;
    return is_it;
}

void *__wrap_malloc(size_t size)
{
    return is_refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_refused() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    return is_refused() ? NULL : __real_realloc(block, size);
}

Test(json, survives_each_allocation_failing_in_turn)
{
    enum { ITEMS = 400 };
    int failed = 0;

    for (long n = 1;; n++) {
        tj_json *root, *again = NULL, *list;
        tj_status status = TJ_ERR_OUT_OF_MEMORY;
        tj_error err;
        char *text;

        refused = 0;
        refuse_at = n;
        root = tj_json_new();
        list = tj_json_add_list(root, "list");
        for (int i = 0; i < ITEMS; i++)
            tj_json_add_text(tj_json_add_object(list, NULL), "name", "some text");
        (void)tj_json_add_copy(root, "copy", list);
        text = tj_json_print(root);
        if (text)
            status = tj_json_read(text, strlen(text), &again, &err);
        refuse_at = 0;
        cr_expect(eq(int, status == TJ_OK, again != NULL), "allocation %ld", n);
        cr_expect(status == TJ_OK || status == TJ_ERR_OUT_OF_MEMORY, "allocation %ld", n);
        cr_expect(eq(int, status == TJ_OK, refused == 0), "allocation %ld", n);
        cr_expect(eq(sz, tj_json_count(tj_json_get(again, "copy")), again ? (size_t)ITEMS : 0));
        failed += status != TJ_OK;
        free(text);
        tj_json_free(again);
        tj_json_free(root);
        if (refused == 0)
            break;
    }
    cr_expect(gt(int, failed, 30));
}
