/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template: a few directives, all inside //@ comments, so that a template is CUDA for editors and compilers alike.
 *
 *     //@ if NAME [and|or [not] NAME ...]      keep or drop whole lines; "and" binds tighter than "or"
 *     //@ elif ... / //@ else / //@ end
 *     statement  //@ only NAME [and|or ...]    keep or drop one statement, a line or more
 *     // comment  //@ once                     the line, unless the text has it already
 *     //@ lines NAME                           the lines of the parameter with that name, with the indentation of this line
 *     //@ instead NAME / //@ end               these lines in place of those between; if nobody printed them, the latter
 *     //@ repeat NAME / //@ end                repeat the lines between, NAME times; numbers after % or [ count on
 *     //@| line                                a line of the filled template only; its branch excludes the visible alternative
 *     constexpr int NAME = X;                  X becomes the value of the parameter NAME, if there is one; using NAME = X; too
 *     extern "C" __global__ ... NAME(          a kernel's name becomes the value of the parameter NAME, if there is one
 *     #include "parts/half.cuh"                the part, filled with the same parameters, with the indentation of this line
 *     #include "parts/half.cuh"  //@ NAME      the part that the parameter names, if any
 *     #include "m.cuh"  //@ with n for m, ...  the part with other words
 *     ... = X;  //@ NAME                       the text between = and ; becomes the parameter's value
 *     ... word( //@ NAME for word              that word becomes the parameter's value
 *     ... a && b ...  //@ NAME && NAME         keep the terms whose condition holds; the same for || and ,
 *
 * Knows text, and how CUDA's lines, words and brackets look. Does not know problems or families.
 */
#include "template.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

enum {
    MAX_LINES_BYTES = 4096,
    MAX_DEPTH = 16,
    MAX_INCLUDES = 4,
    MAX_LINE = 512,
    MAX_TERMS = 10,
    MAX_RENAMED = 8,
    WORD_BYTES = 16
};

/* The signs before numbers that count on from one turn of a //@ repeat to the next: operands of assembly, and array indexes. */
static const char counted[] = "%[";

enum { COUNTED = sizeof counted - 1 };

/* One open //@ if, or //@ repeat. */
typedef struct block {
    int line;         /* number of the line that opened it */
    const char *text; /* that line, for the message that it was never closed */
    size_t length;
    bool is_live;  /* lines of the current branch are kept */
    bool was_live; /* an earlier branch was kept */
    bool outer;    /* the surrounding lines are kept */
    bool has_else;
    int turns, turn;   /* of a //@ repeat; turns is 0 in an //@ if */
    const char *start; /* the first of its lines */
    int step[COUNTED]; /* increment per turn of the numbers after each of these signs */
} block;

/* The parts of the library or of the application, and the state that files share when they include each other. */
typedef struct library {
    const tj_template_file *file;
    size_t count;
    bool is_own;  /* of the application: a fault is the caller's, and is shown with a caret */
    size_t lines; /* limit of further input lines: the bytes of the output's limit, whether or not a line leaves output */
} library;

/* The words that a part is included with, in place of its own: //@ with TO for FROM, ... */
typedef struct renaming {
    const struct renaming *outer; /* of the file that includes it */
    int count;
    struct {
        char to[WORD_BYTES], from[WORD_BYTES];
    } word[MAX_RENAMED];
} renaming;

typedef struct fill {
    const char *name; /* of the file, for messages */
    library *from;
    const tj_template_params *params;
    tj_text *out;
    tj_error *err;
    int line_number;
    char line[MAX_LINE];
    const char *line_in_file;
    const char *next, *end; /* of the file */
    block open[MAX_DEPTH];
    int depth;
    int includes;            /* depth of includes */
    size_t indent;           /* and indentation of this file */
    const renaming *renamed; /* NULL: its own words */
    bool expects_name;       /* an earlier line begins the declaration of a kernel, and a later one has its name */
} fill;

void tj_template_set(tj_template_params *params, const char *name, const char *value)
{
    size_t length;

    if (!params)
        return;
    length = strlen(value);
    if (params->count == TJ_TEMPLATE_MAX_PARAMS || length >= TJ_TEMPLATE_VALUE_BYTES ||
        strlen(name) >= TJ_TEMPLATE_NAME_BYTES) {
        params->failure = TJ_ERR_INTERNAL; /* a condition without it would be false */
        return;
    }
    memcpy(params->param[params->count].name, name, strlen(name) + 1);
    memcpy(params->param[params->count].value, value, length + 1);
    params->count++;
}

void tj_template_set_int(tj_template_params *params, const char *name, int64_t value)
{
    char digits[24];

    if (!params)
        return;
    tj_format_int(digits, value);
    tj_template_set(params, name, digits);
}

void tj_template_set_flag(tj_template_params *params, const char *name, bool value)
{
    tj_template_set(params, name, value ? "1" : "");
}

/* Copy text, with n and N for m and M. */
static void copy_of_n(char *to, size_t bytes, const char *text)
{
    for (size_t i = 0; i + 1 < bytes && text[i] != '\0'; i++) {
        const bool is_piece = (i == 0 || !isalnum((unsigned char)text[i - 1])) && !isalnum((unsigned char)text[i + 1]);

        to[i] = (char)(text[i] + (is_piece && (text[i] == 'm' || text[i] == 'M')));
        to[i + 1] = '\0';
    }
}

void tj_template_set_of(tj_template_params *params, bool is_m, const char *name, const char *value)
{
    char of_name[TJ_TEMPLATE_NAME_BYTES] = "", of_value[TJ_TEMPLATE_VALUE_BYTES] = "";

    if (!is_m) {
        copy_of_n(of_name, sizeof of_name, name);
        copy_of_n(of_value, sizeof of_value, value);
    }
    tj_template_set(params, is_m ? name : of_name, is_m ? value : of_value);
}

static const char *find_param(const tj_template_params *params, const char *name, size_t length)
{
    for (size_t i = 0; i < params->count; i++)
        if (strlen(params->param[i].name) == length && memcmp(params->param[i].name, name, length) == 0)
            return params->param[i].value;
    return NULL;
}

const char *tj_template_get(const tj_template_params *params, const char *name)
{
    const char *const value = find_param(params, name, strlen(name));

    return value ? value : "";
}

void tj_template_take_lines(tj_template_params *params, const char *name, tj_text *text)
{
    char *taken;
    tj_status status;

    if (!params) {
        tj_text_drop(text);
        return;
    }
    status = tj_text_take(text, &taken, NULL);
    if (status == TJ_OK && params->lines_count == TJ_TEMPLATE_MAX_LINES) {
        free(taken);
        status = TJ_ERR_INTERNAL;
    }
    if (status != TJ_OK) {
        params->failure = status;
        return;
    }
    params->lines[params->lines_count].name = name;
    params->lines[params->lines_count++].text = taken;
}

void tj_template_set_lines(tj_template_params *params, const char *name, const char *text)
{
    tj_text copy = TJ_TEXT_INIT(MAX_LINES_BYTES);

    tj_text_append(&copy, text ? text : "");
    tj_template_take_lines(params, name, &copy);
}

static const char *find_lines(const tj_template_params *params, const char *name, size_t length)
{
    for (size_t i = 0; i < params->lines_count; i++)
        if (strlen(params->lines[i].name) == length && memcmp(params->lines[i].name, name, length) == 0)
            return params->lines[i].text;
    return NULL;
}

const char *tj_template_get_lines(const tj_template_params *params, const char *name)
{
    const char *const lines = find_lines(params, name, strlen(name));

    return lines ? lines : "";
}

bool tj_template_has_lines(const tj_template_params *params, const char *name)
{
    return find_lines(params, name, strlen(name)) != NULL;
}

void tj_template_drop(tj_template_params *params)
{
    while (params->lines_count > 0)
        free(params->lines[--params->lines_count].text);
}

/* at: the faulty place in f->line. */
static tj_status complain_at(const fill *f, const char *at, const char *what)
{
    const char *start = f->line + strspn(f->line, " \t");

    if (f->from->is_own)
        return tj_fail_with_caret(f->err, TJ_ERR_INVALID_ARGUMENT, f->line, (size_t)(at - f->line), "%.80s:%d:%d: %s", f->name,
                                  f->line_number, (int)(at - f->line) + 1, what);
    return tj_fail(f->err, TJ_ERR_INTERNAL, "templates/%s:%d:%d: %s: \"%.120s\"", f->name, f->line_number,
                   (int)(start - f->line) + 1, what, start);
}

static tj_status complain(const fill *f, const char *what)
{
    return complain_at(f, f->line + strspn(f->line, " \t"), what);
}

static size_t word_length(const char *text)
{
    return strcspn(text, " \t");
}

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

static bool is_word(const char *text, const char *word)
{
    return word_length(text) == strlen(word) && strncmp(text, word, strlen(word)) == 0;
}

/*
 * Evaluate "a and not b or c": terms joined by "and", and these joined by "or". A parameter that nobody set is false, but not
 * where it may be a slip of the application.
 */
static tj_status evaluate(const fill *f, const char *text, bool *result)
{
    bool any = false, all = true;

    for (;;) {
        bool is_negated = false;
        const char *value;

        text = skip_blanks(text);
        if (is_word(text, "not")) {
            is_negated = true;
            text = skip_blanks(text + 3);
        }
        value = find_param(f->params, text, word_length(text));
        if (*text == '\0')
            return complain_at(f, text, "expected a condition");
        if (!value && f->from->is_own)
            return complain_at(f, text, "a condition names no parameter of this template");
        all = all && (value && *value != '\0') != is_negated;
        text = skip_blanks(text + word_length(text));
        if (*text == '\0')
            break;
        if (is_word(text, "or")) {
            any = any || all;
            all = true;
            text += 2;
        } else if (is_word(text, "and")) {
            text += 3;
        } else {
            return complain_at(f, text, "expected \"and\" or \"or\" between conditions");
        }
    }
    *result = any || all;
    return TJ_OK;
}

static bool is_live(const fill *f)
{
    return f->depth == 0 || f->open[f->depth - 1].is_live;
}

static tj_status fill_file(const fill *outer, const tj_template_file *file, const renaming *renamed, size_t indent);

static bool is_include(const char *line)
{
    return strncmp(skip_blanks(line), "#include \"", 10) == 0;
}

/* Include the file that the line names in quotes. renamed: the words of its own that it is included with. */
static tj_status include(const fill *f, const renaming *renamed)
{
    const char *start = skip_blanks(f->line), *text = strchr(start, '"') + 1;
    const size_t length = strcspn(text, "\"");

    if (f->includes == MAX_INCLUDES)
        return complain(f, "files include each other too deeply");
    for (size_t i = 0; i < f->from->count; i++) {
        const tj_template_file *file = &f->from->file[i];
        if (strlen(file->name) == length && strncmp(file->name, text, length) == 0)
            return fill_file(f, file, renamed, f->indent + (size_t)(start - f->line));
    }
    return complain_at(f, text - 1, "no such part");
}

static tj_status open_block(fill *f, const char *condition)
{
    tj_status status;
    block *b;

    if (f->depth == MAX_DEPTH)
        return complain(f, "blocks nested too deeply");
    b = &f->open[f->depth];
    *b = (block){.line = f->line_number, .text = f->line_in_file, .length = strlen(f->line), .outer = is_live(f)};
    status = evaluate(f, condition, &b->is_live);
    b->was_live = b->is_live;
    b->is_live = b->is_live && b->outer;
    f->depth++;
    return status;
}

static tj_status next_branch(fill *f, const char *condition)
{
    bool holds = true;
    tj_status status = TJ_OK;
    block *b;

    if (f->depth == 0 || f->open[f->depth - 1].start)
        return complain(f, "no //@ if is open");
    b = &f->open[f->depth - 1];
    if (b->has_else)
        return complain(f, "the block already has its //@ else");
    if (condition)
        status = evaluate(f, condition, &holds);
    else
        b->has_else = true;
    b->is_live = b->outer && !b->was_live && holds;
    b->was_live = b->was_live || holds;
    return status;
}

/* ---- repeated lines ----------------------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Read the number at *text, and advance past it; -1: it has more than 9 digits. */
static int read_number(const char **text)
{
    int number = 0, digits = 0;

    for (; is_digit(**text); digits++, (*text)++)
        number = digits < 9 ? number * 10 + (**text - '0') : number;
    return digits > 9 ? -1 : number;
}

/* Return the span of the numbers after the sign, from here to the next //@ end. */
static int span_of_numbers(const char *text, const char *end, char sign)
{
    int least = INT32_MAX, most = -1;

    while (text < end && strncmp(text, "//@ end", 7) != 0) {
        if (*text++ != sign || text == end || !is_digit(*text))
            continue;
        const int number = read_number(&text);
        if (number < 0) /* count_on reports it */
            continue;
        least = number < least ? number : least;
        most = number > most ? number : most;
    }
    return most < 0 ? 0 : most - least + 1;
}

static tj_status complain_of_turns(const fill *f, const char *turns)
{
    char what[96];

    (void)snprintf(what, sizeof what, "%.24s turns are more than a text has room for", turns);
    return complain(f, what);
}

/* Open a //@ repeat NAME. */
static tj_status open_repeat(fill *f, const char *name)
{
    const char *value = find_param(f->params, name, word_length(name));
    int64_t turns;
    block *b;

    if (f->depth == MAX_DEPTH)
        return complain(f, "blocks nested too deeply");
    if (!value || !tj_parse_int(value, &turns) || turns < 0)
        return complain(f, "expected a parameter that is a number");
    if (is_live(f) && (uint64_t)turns > f->out->max_bytes)
        return complain_of_turns(f, value);
    b = &f->open[f->depth];
    *b = (block){
        .line = f->line_number, .text = f->line_in_file, .length = strlen(f->line), .outer = is_live(f), .start = f->next};
    f->depth++;
    b->turns = (int)turns;
    b->is_live = b->outer && b->turns > 0;
    for (int i = 0; i < COUNTED; i++)
        b->step[i] = span_of_numbers(f->next, f->end, counted[i]);
    return TJ_OK;
}

/* Advance the numbers of a line to this turn. */
static tj_status count_on(fill *f, const block *b)
{
    char line[MAX_LINE];
    size_t length = 0;

    for (const char *text = f->line; *text != '\0';) {
        const char *const sign = strchr(counted, *text);
        char digits[24];

        if (length + sizeof digits >= MAX_LINE)
            return complain(f, "line too long");
        line[length++] = *text++;
        if (!sign || !is_digit(*text))
            continue;
        const int number = read_number(&text);
        if (number < 0)
            return complain(f, "a number that counts on has at most 9 digits");
        tj_format_int(digits, number + (int64_t)b->turn * b->step[sign - counted]);
        for (const char *digit = digits; *digit != '\0'; digit++)
            line[length++] = *digit;
    }
    memcpy(f->line, line, length);
    f->line[length] = '\0';
    return TJ_OK;
}

static tj_status close_block(fill *f)
{
    block *b;

    if (f->depth == 0)
        return complain(f, "no //@ if is open");
    b = &f->open[f->depth - 1];
    if (b->start && b->is_live && ++b->turn < b->turns) {
        f->next = b->start;
        f->line_number = b->line;
        return TJ_OK;
    }
    f->depth--;
    return TJ_OK;
}

static bool ends_in_blank_line(const tj_text *out)
{
    return out->length >= 2 && memcmp(out->data + out->length - 2, "\n\n", 2) == 0;
}

/* Emit the lines that C has printed, with the indentation of the directive. */
static void insert(const fill *f, const char *lines)
{
    const size_t indent = f->indent + (size_t)(skip_blanks(f->line) - f->line);

    while (*lines != '\0') {
        const size_t length = strcspn(lines, "\n") + 1;

        for (size_t blank = 0; blank < indent && *lines != '#' && *lines != '\n'; blank++)
            tj_text_append(f->out, " ");
        if (*lines != '\n' || !ends_in_blank_line(f->out))
            tj_text_append_bytes(f->out, lines, length);
        lines += length;
    }
}

/* Insert //@ lines NAME. */
static tj_status insert_lines(const fill *f, const char *name)
{
    const char *const lines = find_lines(f->params, name, word_length(name));

    if (!is_live(f))
        return TJ_OK;
    if (lines)
        insert(f, lines);
    return lines || !f->from->is_own ? TJ_OK : complain(f, "no such lines");
}

/* Open //@ instead NAME: the lines of that name, or the ones up to //@ end. */
static tj_status open_instead(fill *f, const char *name)
{
    const char *const lines = find_lines(f->params, name, word_length(name));
    block *b;

    if (f->depth == MAX_DEPTH)
        return complain(f, "blocks nested too deeply");
    if (lines && is_live(f))
        insert(f, lines);
    b = &f->open[f->depth];
    *b = (block){.line = f->line_number, .text = f->line_in_file, .length = strlen(f->line), .outer = is_live(f)};
    b->is_live = b->outer && !lines;
    b->was_live = b->has_else = true;
    f->depth++;
    return TJ_OK;
}

/* Execute a line that consists of a directive. */
static tj_status obey(fill *f, const char *text)
{
    const char *rest = skip_blanks(text + word_length(text));

    if (is_word(text, "if"))
        return open_block(f, rest);
    if (is_word(text, "elif"))
        return next_branch(f, rest);
    if (*rest != '\0' && (is_word(text, "else") || is_word(text, "end")))
        return complain(f, "nothing may follow this directive");
    if (is_word(text, "else"))
        return next_branch(f, NULL);
    if (is_word(text, "end"))
        return close_block(f);
    if (is_word(text, "repeat"))
        return open_repeat(f, rest);
    if (is_word(text, "lines"))
        return insert_lines(f, rest);
    if (is_word(text, "instead"))
        return open_instead(f, rest);
    return complain_at(f, text, "unknown directive");
}

/* Part of a line. */
typedef struct span {
    const char *start, *end;
} span;

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c);
}

static span trimmed(const char *start, const char *end)
{
    start = skip_blanks(start);
    while (end > start && is_one_of(end[-1], " \t"))
        end--;
    return (span){start, end};
}

/* Replace [from, to) by the value, and remove the directive from the line. */
static tj_status rewrite(fill *f, const char *from, const char *to, const char *value, const char *marker)
{
    const size_t before = (size_t)(from - f->line), length = strlen(value);
    const size_t after = (size_t)(trimmed(f->line, marker).end - to);

    if (before + length + after >= MAX_LINE)
        return complain(f, "line too long");
    memmove(f->line + before + length, to, after);
    memcpy(f->line + before, value, length);
    f->line[before + length + after] = '\0';
    return TJ_OK;
}

/* Remove a directive from the line, with the blanks ahead of it. */
static void cut(fill *f, char *marker)
{
    f->line[trimmed(f->line, marker).end - f->line] = '\0';
}

/* ---- terms -------------------------------------------------------------------------------------------------------- */

static const char *const joints[] = {"&&", "||", ","};

/* Return the bracket that closes the one at text, or the end. */
static const char *closing(const char *text)
{
    for (int depth = 0; *text != '\0'; text++) {
        depth += is_one_of(*text, "([{") - is_one_of(*text, ")]}");
        if (depth == 0)
            break;
    }
    return text;
}

/* Skip one character, a comparison sign, or a whole bracket. */
static const char *step(const char *text)
{
    if (is_one_of(*text, "([{"))
        text = closing(text);
    else if (is_one_of(*text, "=!<>") && text[1] == '=')
        text++;
    return text + (*text != '\0');
}

/* Return the length of the sign here that separates two terms, or terms from the rest; 0: none. */
static size_t parting(const char *text)
{
    if (is_one_of(*text, "&|") && text[1] == *text)
        return 2;
    return is_one_of(*text, ",;?:") || (*text == '=' && text[1] != '=');
}

static const char *term_end(const char *text)
{
    while (*text != '\0' && parting(text) == 0 && !is_one_of(*text, ")]}"))
        text = step(text);
    return text;
}

/* Return the beginning of the first term; joint: the first sign that joins terms. */
static const char *terms_start(const char *line, const char *joint)
{
    const char *start = line;

    while (line < joint) {
        const size_t parts = is_one_of(*line, "([{") && closing(line) > joint ? 1 : parting(line);
        line = parts > 0 ? line + parts : step(line);
        start = parts > 0 ? line : start;
    }
    return skip_blanks(start);
}

/* Return the bracket that ends the parameters of a "template <...>"; NULL: the line is not one. */
static const char *template_end(const char *line, const char *marker)
{
    if (strncmp(skip_blanks(line), "template <", 10) != 0)
        return NULL;
    while (marker > line && *marker != '>')
        marker--;
    return marker;
}

static bool is_bracketed(span term)
{
    return *term.start == '(' && closing(term.start) == term.end - 1;
}

/*
 * Keep terms of "code a && b //@ COND && COND"; a term without a condition stays. If no term of c is left, leave a of
 * "c ? a : b", and of "if (c) {" the brace.
 */
static tj_status keep_terms(fill *f, const char *marker, const char *op)
{
    const char *condition = marker + 3, *text = strstr(f->line, op), *from, *to;
    const char *const end_of_template = template_end(f->line, marker);
    char joined[2 * MAX_LINE] = "";
    span kept[MAX_TERMS];
    size_t count = 0;

    if (text >= marker)
        return complain(f, "no terms on this line are joined in this way");
    from = to = end_of_template ? strchr(f->line, '<') + 1 : terms_start(f->line, text);
    for (bool is_last = false; !is_last;) {
        const char *end = term_end(condition);
        char *const cut = f->line + (end - f->line), behind = *end;
        bool is_kept = true, is_known;

        text = to;
        to = term_end(text);
        to = end_of_template && to > end_of_template ? end_of_template : to;
        is_last = strncmp(to, op, strlen(op)) != 0;
        if (is_last != (strncmp(end, op, strlen(op)) != 0))
            return complain(f, "expected a condition for each term");
        if (count == MAX_TERMS)
            return complain(f, "too many terms");
        *cut = '\0'; /* cut in place, so that a fault has its position on the line */
        is_known = *skip_blanks(condition) == '\0' || evaluate(f, condition, &is_kept) == TJ_OK;
        *cut = behind;
        if (!is_known)
            return TJ_ERR_INTERNAL;
        if (is_kept)
            kept[count++] = trimmed(text, to);
        if (!is_last) {
            to += strlen(op);
            condition = end + strlen(op);
        }
    }
    if (count == 0 && *to == '?' && *term_end(to + 1) == ':') {
        kept[count++] = trimmed(to + 1, term_end(to + 1));
        to = term_end(term_end(to + 1) + 1);
    } else if (count == 0 && from - f->line >= 4 && strncmp(from - 4, "if (", 4) == 0 && strncmp(to, ") {", 3) == 0) {
        return rewrite(f, from - 4, to + 2, "", marker);
    } else if (count == 0) {
        return complain(f, "no term is left of these");
    }
    if (count == 1 && is_bracketed(kept[0]))
        kept[0] = (span){kept[0].start + 1, kept[0].end - 1};
    if (to > marker)
        return complain(f, "the terms do not end on this line");
    to = trimmed(from, to).end;
    for (size_t i = 0; i < count; i++) {
        strcat(joined, i == 0 ? "" : *op == ',' ? ", " : *op == '&' ? " && " : " || ");
        strncat(joined, kept[i].start, (size_t)(kept[i].end - kept[i].start));
    }
    return rewrite(f, from, to, joined, marker);
}

static bool is_in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static const char *find_word(const char *line, const char *word)
{
    const size_t length = strlen(word);

    for (const char *at = line; *at != '\0'; at++)
        if (strncmp(at, word, length) == 0 && !is_in_word(at[length]) && (at == line || !is_in_word(at[-1])))
            return at;
    return NULL;
}

/* Substitute a parameter: "code //@ NAME" or "code //@ NAME for word". */
static tj_status substitute(fill *f, const char *marker)
{
    const char *name = skip_blanks(marker + 3), *rest = skip_blanks(name + word_length(name)), *from, *to;
    const char *value;

    for (size_t i = 0; i < sizeof joints / sizeof joints[0]; i++)
        if (strstr(marker, joints[i]))
            return keep_terms(f, marker, joints[i]);
    value = find_param(f->params, name, word_length(name));
    if (!value)
        return complain_at(f, name, "no such parameter");
    if (is_word(rest, "for")) {
        const char *word = skip_blanks(rest + 3);
        from = find_word(f->line, word);
        if (*word == '\0' || !from || from >= marker)
            return complain(f, "the word to replace is not on this line");
        to = from + strlen(word);
    } else {
        from = strchr(f->line, is_include(f->line) ? '"' : '=');
        to = from ? strchr(from + 1, is_include(f->line) ? '"' : ';') : NULL;
        if (*rest != '\0' || !from || !to || to > marker)
            return complain(f, "expected \"= value;\" before the parameter");
        from = is_include(f->line) ? from + 1 : skip_blanks(from + 1);
    }
    return rewrite(f, from, to, value, marker);
}

/* ---- names that are parameters -------------------------------------------------------------------------------------- */

/* Does the line declare more than one constant? */
static bool names_another(const char *value, const char *end)
{
    const char *const equals = strstr(value, " = ");

    return equals && equals < end;
}

/* Give "constexpr int NAME = X;" and "using NAME = X;" the value of the parameter NAME, if it has one. */
static tj_status set_constant(fill *f)
{
    const char *const start = skip_blanks(f->line), *const equals = strstr(start, " = "), *name = equals, *end, *value;

    if (!equals || (strncmp(start, "constexpr ", 10) != 0 && strncmp(start, "using ", 6) != 0))
        return TJ_OK;
    while (name > start && is_in_word(name[-1]))
        name--;
    value = find_param(f->params, name, (size_t)(equals - name));
    end = strchr(equals, ';');
    if (!value || !end || (strstr(value, " = ") == NULL && names_another(equals + 3, end)))
        return TJ_OK;
    if (*value == '\0')
        f->line[0] = '\0';
    return *value == '\0' ? TJ_OK : rewrite(f, equals + 3, end, value, f->line + strlen(f->line));
}

/* Give a kernel the name that is the value of the parameter with the name in sight, if there is one. */
static tj_status name_kernel(fill *f)
{
    static const char declaration[] = "extern \"C\" __global__ ";
    const char *name = f->line, *value;

    if (strncmp(f->line, declaration, sizeof declaration - 1) == 0)
        f->expects_name = true;
    for (; f->expects_name && *name != '\0'; name += *name != '\0') {
        const char *const start = name;

        while (is_in_word(*name))
            name++;
        if (name == start || *name != '(' || strncmp(start, "__", 2) == 0)
            continue;
        f->expects_name = false;
        value = find_param(f->params, start, (size_t)(name - start));
        return value ? rewrite(f, start, name, value, f->line + strlen(f->line)) : TJ_OK;
    }
    return TJ_OK;
}

/* ---- parts with other words ------------------------------------------------------------------------------------------ */

/* Read //@ with TO for FROM, TO for FROM, and remove it from the line. */
static tj_status read_renaming(fill *f, char *marker, renaming *renamed)
{
    const char *text = skip_blanks(marker + 3) + 4;

    if (!is_include(f->line))
        return complain(f, "other words are for an #include");
    for (*renamed = (renaming){.outer = f->renamed};; text++) {
        char joint[WORD_BYTES];
        int length = 0;

        if (renamed->count == MAX_RENAMED)
            return complain_at(f, text, "too many words");
        if (sscanf(text, " %15[A-Za-z0-9] %15s %15[A-Za-z0-9] %n", renamed->word[renamed->count].to, joint,
                   renamed->word[renamed->count].from, &length) != 3 ||
            strcmp(joint, "for") != 0)
            return complain_at(f, text, "expected \"WORD for WORD\"");
        renamed->count++;
        text += length;
        if (*text != ',')
            break;
    }
    if (*text != '\0')
        return complain_at(f, text, "expected \",\" between words");
    cut(f, marker);
    return TJ_OK;
}

static bool is_in_piece(char c)
{
    return c != '_' && is_in_word(c);
}

/* Replace each word of the line, and each piece of one between underscores, that is renamed. */
static tj_status rename_words(fill *f, const renaming *renamed)
{
    char line[MAX_LINE];
    size_t length = 0;

    for (const char *text = f->line; *text != '\0';) {
        const char *start = text, *put = text;
        size_t bytes;

        while (is_in_piece(*text))
            text++;
        text += text == start;
        bytes = (size_t)(text - start);
        for (int i = 0; i < renamed->count; i++)
            if (strlen(renamed->word[i].from) == bytes && memcmp(renamed->word[i].from, start, bytes) == 0)
                put = renamed->word[i].to;
        bytes = put == start ? bytes : strlen(put);
        if (length + bytes >= MAX_LINE)
            return complain(f, "line too long");
        memcpy(line + length, put, bytes);
        length += bytes;
    }
    memcpy(f->line, line, length);
    f->line[length] = '\0';
    return renamed->outer ? rename_words(f, renamed->outer) : TJ_OK;
}

/* Take the next line of the file. */
static tj_status read_line(fill *f)
{
    const char *newline = memchr(f->next, '\n', (size_t)(f->end - f->next));
    const size_t length = (size_t)((newline ? newline : f->end) - f->next);

    f->line_number++;
    f->line_in_file = f->next;
    if (length >= MAX_LINE) {
        f->line[0] = '\0';
        return complain(f, "line too long");
    }
    memcpy(f->line, f->next, length);
    f->line[length] = '\0';
    f->next += length + (newline != NULL);
    if (f->from->lines == 0)
        return complain(f, "more lines are taken than a text has room for: is what //@ repeat repeats empty?");
    f->from->lines--;
    return f->renamed ? rename_words(f, f->renamed) : TJ_OK;
}

/* ---- statements ------------------------------------------------------------------------------------------------------ */

/* Return the quote that ends the literal which begins here, or the end. */
static const char *literal_end(const char *text)
{
    const char quote = *text++;

    while (*text != '\0' && *text != quote)
        text += *text == '\\' && text[1] != '\0' ? 2 : 1;
    return text;
}

/* Return the brackets that a line of code opens less those that it closes; *last: its last character. */
static int brackets(const char *line, char *last)
{
    int depth = 0;

    for (*last = '\0'; *line != '\0' && strncmp(line, "//", 2) != 0; line++) {
        if (is_one_of(*line, "\"'"))
            line = literal_end(line);
        if (*line == '\0')
            break;
        depth += is_one_of(*line, "([{") - is_one_of(*line, ")]}");
        *last = is_one_of(*line, " \t") ? *last : *line;
    }
    return depth;
}

/* Skip the rest of the statement that begins on this line: up to where its brackets are closed, and a ; } or , follows. */
static tj_status skip_statement(fill *f, bool is_hidden)
{
    const int first = f->line_number;
    int blocks = 0, depth;
    char last;

    depth = brackets(f->line, &last);
    if (last == '\0' || *skip_blanks(f->line) == '#')
        return TJ_OK;
    while (depth > 0 || blocks > 0 || (depth == 0 && !is_one_of(last, ";},"))) {
        const char *text;

        if (f->next == f->end) {
            f->line_number = first;
            return complain(f, "the statement that begins here does not end");
        }
        const tj_status status = read_line(f);
        if (status != TJ_OK)
            return status;
        text = skip_blanks(f->line);
        if (strncmp(text, "//@|", 4) == 0 && is_hidden) {
            text += 4;
        } else if (strncmp(text, "//@", 3) == 0) {
            text = skip_blanks(text + 3);
            blocks += (is_word(text, "if") || is_word(text, "repeat") || is_word(text, "instead")) - is_word(text, "end");
            continue;
        }
        if (*skip_blanks(text) != '#') {
            char end;

            depth += brackets(text, &end);
            last = end != '\0' ? end : last;
        }
    }
    return TJ_OK;
}

/* Emit a line with the indentation of the file's #include; preprocessor lines stay in the first column. */
static void emit(const fill *f)
{
    for (size_t i = 0; i < f->indent && *f->line != '#' && *f->line != '\0'; i++)
        tj_text_append(f->out, " ");
    tj_text_append(f->out, f->line);
    tj_text_append(f->out, "\n");
}

static char *last_directive(char *line)
{
    char *last = NULL;

    for (line = strstr(line, "//@"); line; line = strstr(line + 3, "//@"))
        last = line;
    return last;
}

/* Does the text have this line already, with any indentation? */
static bool has_line(const tj_text *out, const char *line)
{
    const size_t length = strlen(line);

    for (const char *at = out->data; at && (at = strstr(at, line)); at++) {
        const char *start = at;

        while (start > out->data && is_one_of(start[-1], " \t"))
            start--;
        if ((start == out->data || start[-1] == '\n') && at[length] == '\n')
            return true;
    }
    return false;
}

/* Execute the directives that the line ends in, from the last to the first. is_dropped: nothing is left of the line. */
static tj_status obey_all(fill *f, bool is_hidden, renaming *renamed, bool *is_dropped)
{
    char *marker;
    tj_status status = TJ_OK;

    while (status == TJ_OK && (marker = last_directive(f->line))) {
        const char *const text = skip_blanks(marker + 3);
        bool is_kept = true;

        if (is_word(text, "only")) {
            status = evaluate(f, text + 4, &is_kept);
            if (status == TJ_OK)
                cut(f, marker);
            if (status == TJ_OK && !is_kept)
                status = skip_statement(f, is_hidden);
        } else if (is_word(text, "once")) {
            cut(f, marker);
            is_kept = !has_line(f->out, skip_blanks(f->line));
        } else if (is_word(text, "with")) {
            status = read_renaming(f, marker, renamed);
        } else {
            status = substitute(f, marker);
            is_kept = status != TJ_OK || !is_include(f->line) || !strstr(f->line, "\"\"");
        }
        *is_dropped = !is_kept;
        if (!is_kept)
            return status;
    }
    return status;
}

static tj_status take_line(fill *f)
{
    char *marker = strstr(f->line, "//@");
    const bool is_directive = marker && marker == skip_blanks(f->line), is_hidden = is_directive && marker[3] == '|';
    renaming renamed = {.outer = f->renamed};
    bool is_dropped = false, is_blank;
    tj_status status = TJ_OK;

    if (is_directive && !is_hidden)
        return obey(f, skip_blanks(marker + 3));
    if (!is_live(f))
        return TJ_OK;
    if (is_hidden) {
        const char *rest = marker + 4 + (marker[4] == ' ');
        memmove(marker, rest, strlen(rest) + 1);
        marker = strstr(f->line, "//@");
        if (marker && marker == skip_blanks(f->line))
            return complain(f, "a directive cannot be covered by another");
    }
    if (f->depth > 0 && f->open[f->depth - 1].start)
        status = count_on(f, &f->open[f->depth - 1]);
    if (status == TJ_OK)
        status = obey_all(f, is_hidden, &renamed, &is_dropped);
    if (status != TJ_OK || is_dropped)
        return status;
    if (is_include(f->line))
        return include(f, &renamed);
    is_blank = f->line[0] == '\0';
    status = set_constant(f);
    if (status == TJ_OK)
        status = name_kernel(f);
    if (status == TJ_OK && (f->line[0] != '\0' || (is_blank && !ends_in_blank_line(f->out))))
        emit(f);
    return status;
}

static tj_status fill_lines(fill *f)
{
    while (f->next < f->end && f->out->failure == TJ_OK) { /* stop repeating once the output is too long */
        tj_status status = read_line(f);

        if (status == TJ_OK)
            status = take_line(f);
        if (status != TJ_OK)
            return status;
    }
    if (f->depth > 0 && f->out->failure == TJ_OK) {
        const block *b = &f->open[f->depth - 1];
        f->line_number = b->line;
        memcpy(f->line, b->text, b->length);
        f->line[b->length] = '\0';
        return complain(f, "this block has no //@ end");
    }
    return TJ_OK;
}

/* outer: the file that includes this one, or a beginning without a file of its own. */
static tj_status fill_file(const fill *outer, const tj_template_file *file, const renaming *renamed, size_t indent)
{
    const char *const bytes = (const char *)file->bytes;
    fill f = {.name = file->name,
              .from = outer->from,
              .params = outer->params,
              .out = outer->out,
              .err = outer->err,
              .next = bytes,
              .end = bytes + file->size,
              .includes = outer->includes + 1,
              .indent = indent,
              .renamed = renamed && (renamed->count > 0 || renamed->outer) ? renamed : NULL};

    return fill_lines(&f);
}

static tj_status fill_first(library *from, const tj_template_file *file, const tj_template_params *params, tj_text *out,
                            tj_error *err)
{
    if (params->failure == TJ_ERR_OUT_OF_MEMORY)
        return tj_fail_memory(err, "the lines of a template");
    if (params->failure != TJ_OK)
        return tj_fail(err, params->failure,
                       "%s: its parameters, or the lines that are printed for it, are too many, or too long", file->name);
    return fill_file(&(fill){.from = from, .params = params, .out = out, .err = err, .includes = -1}, file, NULL, 0);
}

tj_status tj_template_fill_text(const char *name, const char *bytes, size_t size, const tj_template_params *params,
                                tj_text *out, tj_error *err)
{
    const tj_template_file file = {name, (const unsigned char *)bytes, size};

    return fill_first(&(library){tj_template_files, tj_template_file_count, false, out->max_bytes}, &file, params, out, err);
}

tj_status tj_template_fill_own(const tj_template_file *file, size_t count, const tj_template_params *params, tj_text *out,
                               tj_error *err)
{
    return fill_first(&(library){file, count, true, out->max_bytes}, file, params, out, err);
}

tj_status tj_template_fill(const char *name, const tj_template_params *params, tj_text *out, tj_error *err)
{
    for (size_t i = 0; i < tj_template_file_count; i++)
        if (strcmp(tj_template_files[i].name, name) == 0)
            return tj_template_fill_text(name, (const char *)tj_template_files[i].bytes, tj_template_files[i].size, params, out,
                                         err);
    return tj_fail(err, TJ_ERR_INTERNAL, "no template named %s is built in", name);
}
