/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template: a few directives, all inside //@ comments, so that a template is CUDA for editors and compilers alike.
 *
 *     //@ if NAME [and|or [not] NAME ...]      keep or drop whole lines; "and" binds tighter than "or"
 *     //@ elif ... / //@ else / //@ end
 *     //@| line                                a line that only a filled template has: its branch excludes the one in plain sight
 *     #include "parts/half.cuh"  //@ include   the part, filled with the same parameters
 *     ... = X;  //@ NAME                       the text between = and ; becomes the parameter's value
 *     ... word( //@ NAME for word              that word becomes the parameter's value
 *
 * Knows text. Does not know CUDA, problems or families.
 */
#include "template.h"

#include <string.h>

#include "error.h"

enum { MAX_DEPTH = 16, MAX_INCLUDES = 4, MAX_LINE = 512 };

/* One open //@ if. */
typedef struct block {
    int line;         /* where it was opened, */
    const char *text; /* and that line, for the message that it was never closed */
    size_t length;
    bool is_live;  /* lines of the current branch are kept */
    bool was_live; /* some branch was kept already */
    bool outer;    /* the surrounding lines are kept */
    bool has_else;
} block;

typedef struct fill {
    const char *name; /* of the file, for messages */
    const tj_template_params *params;
    tj_text *out;
    tj_error *err;
    int line_number;
    char line[MAX_LINE];
    const char *line_in_file;
    block open[MAX_DEPTH];
    int depth;
    int includes; /* how deep this file is included */
} fill;

void tj_template_set(tj_template_params *params, const char *name, const char *value)
{
    size_t length;

    if (!params)
        return;
    length = strlen(value);
    if (params->count == TJ_TEMPLATE_MAX_PARAMS || length >= TJ_TEMPLATE_VALUE_BYTES)
        return; /* the template then names the parameter that is missing */
    params->param[params->count].name = name;
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

static const char *find_param(const tj_template_params *params, const char *name, size_t length)
{
    for (size_t i = 0; i < params->count; i++)
        if (strlen(params->param[i].name) == length && memcmp(params->param[i].name, name, length) == 0)
            return params->param[i].value;
    return NULL;
}

static tj_status complain(const fill *f, const char *what)
{
    const char *start = f->line + strspn(f->line, " \t");

    return tj_fail(f->err, TJ_ERR_INTERNAL, "templates/%s:%d:%d: %s: \"%.120s\"", f->name, f->line_number,
                   (int)(start - f->line) + 1, what, start);
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

/* a and not b or c: a value of terms joined by "and", those joined by "or". */
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
        if (!value)
            return complain(f, "a condition names no parameter of this template");
        all = all && (*value != '\0') != is_negated;
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
            return complain(f, "expected \"and\" or \"or\" between conditions");
        }
    }
    *result = any || all;
    return TJ_OK;
}

static bool is_live(const fill *f)
{
    return f->depth == 0 || f->open[f->depth - 1].is_live;
}

static tj_status fill_file(const char *name, const char *bytes, size_t size, const tj_template_params *params, tj_text *out,
                           int includes, tj_error *err);

/* #include "parts/half.cuh"  //@ include */
static tj_status include(const fill *f, const char *marker)
{
    const char *text = strchr(f->line, '"');
    const char *end = text ? strchr(text + 1, '"') : NULL;

    if (!end || end > marker || strncmp(f->line, "#include ", 9) != 0)
        return complain(f, "expected #include and a file name in quotes");
    if (f->includes == MAX_INCLUDES)
        return complain(f, "files include each other too deeply");
    for (size_t i = 0; i < tj_template_file_count; i++) {
        const tj_template_file *file = &tj_template_files[i];
        if (strlen(file->name) == (size_t)(end - text - 1) && strncmp(file->name, text + 1, strlen(file->name)) == 0)
            return fill_file(file->name, (const char *)file->bytes, file->size, f->params, f->out, f->includes + 1, f->err);
    }
    return complain(f, "no such part");
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

    if (f->depth == 0)
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

/* A line that is nothing but a directive. */
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
    if (is_word(text, "end")) {
        if (f->depth == 0)
            return complain(f, "no //@ if is open");
        f->depth--;
        return TJ_OK;
    }
    return complain(f, "unknown directive");
}

/* Copy the line up to stop, with [from, to) replaced by value, without trailing blanks. */
static void emit(fill *f, const char *from, const char *to, const char *value, const char *stop)
{
    while (stop > to && (stop[-1] == ' ' || stop[-1] == '\t'))
        stop--;
    tj_text_append_bytes(f->out, f->line, (size_t)(from - f->line));
    tj_text_append(f->out, value);
    tj_text_append_bytes(f->out, to, (size_t)(stop - to));
    tj_text_append(f->out, "\n");
}

/* code //@ NAME            or            code //@ NAME for word */
static tj_status substitute(fill *f, const char *marker)
{
    const char *name = skip_blanks(marker + 3), *rest = skip_blanks(name + word_length(name)), *from, *to;
    const char *value;

    if (is_word(name, "include") && *rest == '\0')
        return include(f, marker);
    value = find_param(f->params, name, word_length(name));
    if (!value)
        return complain(f, "no such parameter");
    if (is_word(rest, "for")) {
        const char *word = skip_blanks(rest + 3);
        from = strstr(f->line, word);
        if (*word == '\0' || !from || from >= marker)
            return complain(f, "the word to replace is not on this line");
        to = from + strlen(word);
    } else {
        from = strchr(f->line, '=');
        to = from ? strchr(from, ';') : NULL;
        if (*rest != '\0' || !from || !to || to > marker)
            return complain(f, "expected \"= value;\" before the parameter");
        from = skip_blanks(from + 1);
    }
    emit(f, from, to, value, marker);
    return TJ_OK;
}

/* An empty line after an empty line is what a dropped block leaves behind. */
static bool is_second_blank(const fill *f)
{
    const tj_text *out = f->out;

    return f->line[0] == '\0' && out->length >= 2 && memcmp(out->data + out->length - 2, "\n\n", 2) == 0;
}

static tj_status take_line(fill *f)
{
    char *marker = strstr(f->line, "//@");

    if (marker && marker == skip_blanks(f->line) && marker[3] != '|')
        return obey(f, skip_blanks(marker + 3));
    if (!is_live(f))
        return TJ_OK;
    if (marker && marker == skip_blanks(f->line)) {
        const char *rest = marker + 4 + (marker[4] == ' ');
        memmove(marker, rest, strlen(rest) + 1);
        marker = strstr(f->line, "//@");
        if (marker && marker == skip_blanks(f->line))
            return complain(f, "a directive cannot be covered by another");
    }
    if (marker)
        return substitute(f, marker);
    if (!is_second_blank(f)) {
        tj_text_append(f->out, f->line);
        tj_text_append(f->out, "\n");
    }
    return TJ_OK;
}

static tj_status fill_file(const char *name, const char *bytes, size_t size, const tj_template_params *params, tj_text *out,
                           int includes, tj_error *err)
{
    fill f = {.name = name, .params = params, .out = out, .err = err, .includes = includes};
    const char *end = bytes + size;

    while (bytes < end) {
        const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
        size_t length = (size_t)((newline ? newline : end) - bytes);
        tj_status status;

        f.line_number++;
        f.line_in_file = bytes;
        if (length >= MAX_LINE) {
            f.line[0] = '\0';
            return complain(&f, "line too long");
        }
        memcpy(f.line, bytes, length);
        f.line[length] = '\0';
        status = take_line(&f);
        if (status != TJ_OK)
            return status;
        bytes += length + (newline != NULL);
    }
    if (f.depth > 0) {
        const block *b = &f.open[f.depth - 1];
        f.line_number = b->line;
        memcpy(f.line, b->text, b->length);
        f.line[b->length] = '\0';
        return complain(&f, "this //@ if has no //@ end");
    }
    return TJ_OK;
}

tj_status tj_template_fill_text(const char *name, const char *bytes, size_t size, const tj_template_params *params,
                                tj_text *out, tj_error *err)
{
    return fill_file(name, bytes, size, params, out, 0, err);
}

tj_status tj_template_fill(const char *name, const tj_template_params *params, tj_text *out, tj_error *err)
{
    for (size_t i = 0; i < tj_template_file_count; i++)
        if (strcmp(tj_template_files[i].name, name) == 0)
            return fill_file(name, (const char *)tj_template_files[i].bytes, tj_template_files[i].size, params, out, 0, err);
    return tj_fail(err, TJ_ERR_INTERNAL, "no template named %s is built in", name);
}
