/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scale_text: the forms of scales, and how scales are printed and read.
 */
#include "scale.h"

#include <stdio.h>
#include <string.h>

#include "canonical.h"
#include "text.h"

/* ---- forms -------------------------------------------------------------------------------------------------------- */

int tj_scale_form(const tj_problem *problem, tj_which which)
{
    const tj_scale *const s = tj_scale_of(problem, which);
    const tj_scale along_k = tj_scale_of_form(TJ_SCALE_ALONG_K, tj_scale_k(problem));

    for (int form = 0; form < TJ_SCALE_ALONG_K; form++) {
        const tj_scale known = tj_scale_of_form(form, 0);

        if (tj_same_bytes(s, &known, sizeof known))
            return form;
    }
    return tj_same_bytes(s, &along_k, sizeof along_k) ? TJ_SCALE_ALONG_K : TJ_SCALE_OF_ANY_FORM;
}

bool tj_scales_are_plain(const tj_problem *problem)
{
    bool are = true;

    for (tj_which which = TJ_MATRIX_M; which < TJ_FACTORS; which++) {
        const int form = tj_scale_form(problem, which);

        are &= form < TJ_SCALE_ALONG_K || (form == TJ_SCALE_ALONG_K && tj_is_weights(problem, which));
    }
    return are;
}

tj_scale tj_scale_of_form(int form, int32_t k)
{
    return (tj_scale){.type = form > 0 ? TJ_F32 : 0, .rows = form > 1, .k = form == TJ_SCALE_ALONG_K ? k : 0};
}

const char *tj_scale_word(int form)
{
    static const char *const word[TJ_SCALE_FORMS] = {"", "one", "each", "along-k"};

    return word[form];
}

/* ---- text --------------------------------------------------------------------------------------------------------- */

static const char *const layouts[] = {"", ":row-by-row", ":tiles"};

static void print_count(char *text, int32_t count)
{
    char number[16];

    number[tj_format_int(number, count)] = '\0';
    strcat(text, count > 0 ? number : "all");
}

void tj_scale_print(const tj_scale *scale, char text[TJ_SCALE_TEXT_BYTES])
{
    strcat(strcpy(text, tj_type_name((tj_type)scale->type)), ":");
    print_count(text, scale->rows);
    strcat(text, "x");
    print_count(text, scale->k);
    strcat(text, layouts[scale->layout]);
    if (scale->zero != 0)
        strcat(strcat(text, ":zero="), tj_type_name((tj_type)scale->zero));
    strcat(text, scale->whole ? ":whole" : "");
}

/* Take a number, or "all", which `end` follows. */
static bool take_count(const char **text, char end, int32_t *count)
{
    char number[16];
    const char *const last = strchr(*text, end);
    const size_t length = last ? (size_t)(last - *text) : strlen(*text);
    int64_t parsed = 0;

    if ((!last && end != ':') || length >= sizeof number)
        return false;
    (void)snprintf(number, sizeof number, "%.*s", (int)length, *text);
    if (strcmp(number, "all") != 0 && (!tj_parse_int(number, &parsed) || parsed < 1 || parsed > INT32_MAX))
        return false;
    *count = (int32_t)parsed;
    *text += length + (last && end != ':');
    return true;
}

/* Take a word off the text, if it is the next one. */
static bool take_word(const char **text, const char *word)
{
    const size_t length = strlen(word);

    if (length == 0 || strncmp(*text, word, length) != 0 || ((*text)[length] != ':' && (*text)[length] != '\0'))
        return false;
    *text += length;
    return true;
}

bool tj_scale_scan(const char *text, tj_scale *scale)
{
    tj_scale read = {0};
    char name[16];
    tj_type type, zero = TJ_TYPE_DEFAULT;
    size_t length = strcspn(text, ":");

    (void)snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : 0), text);
    if (text[length] != ':' || tj_type_parse(name, &type, NULL) != TJ_OK)
        return false;
    text += length + 1;
    if (!take_count(&text, 'x', &read.rows) || !take_count(&text, ':', &read.k))
        return false;
    for (int layout = TJ_SCALES_ROW_BY_ROW; layout <= TJ_SCALES_IN_TILES; layout++)
        read.layout = (int8_t)(take_word(&text, layouts[layout]) ? layout : read.layout);
    for (int32_t i = 1; i <= tj_type_count() && zero == TJ_TYPE_DEFAULT; i++) {
        char word[32];

        (void)snprintf(word, sizeof word, ":zero=%s", tj_type_name((tj_type)i));
        zero = take_word(&text, word) ? (tj_type)i : TJ_TYPE_DEFAULT;
    }
    read.type = (int8_t)type;
    read.zero = (int8_t)zero;
    read.whole = take_word(&text, ":whole");
    if (*text != '\0')
        return false;
    *scale = read;
    return true;
}

static const char *const marks[] = {"", "", ":each", ":along_k", "="};

void tj_scale_print_mark(const tj_problem *problem, tj_which which, char text[TJ_SCALE_MARK_BYTES])
{
    const int form = tj_scale_form(problem, which);

    strcpy(text, marks[form]);
    if (form == TJ_SCALE_OF_ANY_FORM)
        tj_scale_print(tj_scale_of(problem, which), text + strlen(text));
}

bool tj_scale_scan_mark(const char *mark, tj_scale *scale)
{
    if (mark[0] == '=')
        return tj_scale_scan(mark + 1, scale);
    for (int form = 1; form < TJ_SCALE_FORMS; form++)
        if (strcmp(mark, marks[form]) == 0) {
            *scale = tj_scale_of_form(form, TJ_ANY);
            return true;
        }
    return false;
}
