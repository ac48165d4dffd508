/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_diff: a variant of a text, written as its difference from a base.
 *
 * The format is a unified diff without line numbers. "@@" opens a hunk. Its lines begin with '-' (the base has it), '+' (the
 * variant has it) or ' ' (both have it); an empty line stands for an empty line that both have. A hunk applies at the first place
 * after the previous hunk where its ' ' and '-' lines follow each other in the base. All other lines of the base are kept. A removed
 * comment is not quoted: "-//..." stands for all lines of one, up to the next line of code.
 *
 * A ' ' line is written only where the hunk would not be found without it, and then rather code than a comment. So the diff stays
 * as it is when base and variant change, gain or lose any other line that they share.
 */
#ifndef TESTS_TEXT_DIFF_H
#define TESTS_TEXT_DIFF_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

enum { TEXT_MAX_BYTES = 1 << 20 };

/* ---- lines -------------------------------------------------------------------------------------------------------- */

typedef struct text_line {
    const char *start;
    size_t length; /* without the newline */
} text_line;

typedef struct text_lines {
    text_line *line;
    size_t count;
} text_lines;

/** Split a text whose last line ends with a newline. The lines point into it; free(lines.line). */
static inline text_lines text_lines_of(const char *text)
{
    text_lines lines = {calloc(strlen(text) + 1, sizeof *lines.line), 0};

    if (!lines.line)
        abort();
    for (const char *end; (end = strchr(text, '\n')); text = end + 1)
        lines.line[lines.count++] = (text_line){text, (size_t)(end - text)};
    return lines;
}

static inline bool text_line_equal(text_line a, text_line b)
{
    return a.length == b.length && memcmp(a.start, b.start, a.length) == 0;
}

static inline bool text_line_is_comment(text_line line)
{
    while (line.length && *line.start == ' ')
        line.start++, line.length--;
    return line.length >= 2 && memcmp(line.start, "//", 2) == 0;
}

static inline void text_line_append(tj_text *out, const char *sign, text_line line)
{
    if (line.length || *sign != ' ')
        tj_text_append(out, sign);
    tj_text_append_bytes(out, line.start, line.length);
    tj_text_append(out, "\n");
}

static const text_line text_any_comment = {"//...", 5};

/** The end of the comment that begins at this line; `at` itself if none does. */
static inline size_t text_comment_end(text_lines base, size_t at)
{
    if (at == 0 || !text_line_is_comment(base.line[at - 1]))
        while (at < base.count && text_line_is_comment(base.line[at]))
            at++;
    return at;
}

/** The end of these quoted lines, if the base has them at `at`; otherwise 0. */
static inline size_t text_lines_match(text_lines base, size_t at, const text_line *line, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t end = text_line_equal(line[i], text_any_comment)                   ? text_comment_end(base, at)
                           : at < base.count && text_line_equal(base.line[at], line[i]) ? at + 1
                                                                                        : at;
        if (end == at)
            return 0;
        at = end;
    }
    return at;
}

/** The first place from `from` on where the base has these quoted lines, or base.count + 1. *end: where they end there. */
static inline size_t text_lines_find(text_lines base, size_t from, const text_line *line, size_t count, size_t *end)
{
    for (*end = from; count && from <= base.count; from++)
        if ((*end = text_lines_match(base, from, line, count)))
            break;
    return from;
}

static inline char *text_taken(tj_text *text)
{
    char *taken = NULL;

    if (tj_text_take(text, &taken, NULL) != TJ_OK)
        abort();
    return taken ? taken : calloc(1, 1);
}

/* ---- apply -------------------------------------------------------------------------------------------------------- */

/** A line of a hunk without its sign. */
static inline text_line text_line_quoted(text_line line)
{
    return line.length ? (text_line){line.start + 1, line.length - 1} : line;
}

/** The variant's text; free() it. NULL if a line is malformed or a hunk is nowhere in the base: `fault` names the line. */
static inline char *text_diff_apply(const char *base_text, const char *diff_text, char fault[128])
{
    text_lines base = text_lines_of(base_text), diff = text_lines_of(diff_text);
    text_line *old = calloc(diff.count + 1, sizeof *old);
    tj_text out = TJ_TEXT_INIT(TEXT_MAX_BYTES);
    size_t copied = 0, next = 0; /* lines of the base, and of the diff */

    if (!old)
        abort();
    fault[0] = '\0';
    while (next < diff.count) {
        const size_t head = next++;
        size_t olds = 0, place, place_end, end = next;

        for (; end < diff.count && (!diff.line[end].length || strchr(" -+", *diff.line[end].start)); end++)
            if (!diff.line[end].length || *diff.line[end].start != '+')
                old[olds++] = text_line_quoted(diff.line[end]);
        place = text_lines_find(base, copied, old, olds, &place_end);
        if (!text_line_equal(diff.line[head], (text_line){"@@", 2}))
            (void)snprintf(fault, 128, "line %zu begins with none of \"@@\", ' ', '-' and '+'", head + 1);
        else if (place > base.count)
            (void)snprintf(fault, 128, "the base has no place for the hunk at line %zu", head + 1);
        if (fault[0])
            break;
        for (; copied < place; copied++)
            text_line_append(&out, "", base.line[copied]);
        for (; next < end; next++)
            if (!diff.line[next].length || *diff.line[next].start != '-')
                text_line_append(&out, "", text_line_quoted(diff.line[next]));
        copied = place_end;
    }
    for (; copied < base.count; copied++)
        text_line_append(&out, "", base.line[copied]);
    free(old);
    free(base.line);
    free(diff.line);
    if (fault[0]) {
        tj_text_drop(&out);
        return NULL;
    }
    return text_taken(&out);
}

/* ---- make --------------------------------------------------------------------------------------------------------- */

/* Lines [base, base_end) of the base make way for lines [text, text_end) of the text. */
typedef struct text_hunk {
    size_t base, base_end, text, text_end;
} text_hunk;

enum { TEXT_HUNK_BYTES = 40, TEXT_MAX_ANCHORS = 12, TEXT_COMMENT_ANCHORS = 100 };

/**
 * Find the hunks of the diff that quotes the fewest bytes, removed comments not counted; returns their number, at most
 * base.count + 1. Each hunk is charged TEXT_HUNK_BYTES, so a lone brace or empty line that both texts have does not split one.
 */
static inline size_t text_hunks(text_lines base, text_lines text, text_hunk *hunk)
{
    /* The cheapest diff of base.line[i...] and text.line[j...], right after a kept line [0] or within a hunk [1]. */
    struct rest {
        int bytes[2];
        char step[2]; /* its first step: '=' keeps a line, '-' removes one of the base, '+' adds one of the text */
    } *const rest = calloc((base.count + 1) * (text.count + 1), sizeof *rest);
    const size_t down = text.count + 1;
    size_t hunks = 0;

    if (!rest)
        abort();
    for (size_t i = base.count + 1; i-- > 0;)
        for (size_t j = text.count + 1; j-- > 0;) {
            struct rest *const here = &rest[i * down + j];
            const bool has_base = i < base.count, has_text = j < text.count;

            for (int is_open = 0; is_open < 2 && (has_base || has_text); is_open++) {
                const int hunk_bytes = is_open ? 0 : TEXT_HUNK_BYTES;
                const int less =
                    has_base && !text_line_is_comment(base.line[i]) ? hunk_bytes + (int)base.line[i].length + 2 : hunk_bytes;
                const int more = has_text ? hunk_bytes + (int)text.line[j].length + 2 : hunk_bytes;

                here->bytes[is_open] = INT_MAX;
                if (has_base && has_text && text_line_equal(base.line[i], text.line[j])) {
                    here->bytes[is_open] = here[down + 1].bytes[0];
                    here->step[is_open] = '=';
                }
                if (has_base && here[down].bytes[1] + less < here->bytes[is_open]) {
                    here->bytes[is_open] = here[down].bytes[1] + less;
                    here->step[is_open] = '-';
                }
                if (has_text && here[1].bytes[1] + more < here->bytes[is_open]) {
                    here->bytes[is_open] = here[1].bytes[1] + more;
                    here->step[is_open] = '+';
                }
            }
        }
    for (size_t i = 0, j = 0, is_open = 0; i < base.count || j < text.count;) {
        const char step = rest[i * down + j].step[is_open];

        if (step != '=' && !is_open)
            hunk[hunks++] = (text_hunk){i, i, j, j};
        is_open = step != '=';
        i += step != '+';
        j += step != '-';
        if (is_open)
            hunk[hunks - 1].base_end = i, hunk[hunks - 1].text_end = j;
    }
    free(rest);
    return hunks;
}

/** Quote lines [first, end) of the base, of which the hunk removes [hunk.base, hunk.base_end). Returns how many `to` then has. */
static inline size_t text_hunk_quote(text_lines base, text_hunk hunk, size_t first, size_t end, text_line *to)
{
    size_t count = 0;

    for (size_t i = first; i < end;) {
        const size_t comment_end = text_comment_end(base, i);
        const bool is_removed_comment = i >= hunk.base && i < comment_end && comment_end <= hunk.base_end;

        to[count++] = is_removed_comment ? text_any_comment : base.line[i];
        i = is_removed_comment ? comment_end : i + 1;
    }
    return count;
}

/**
 * Widen a hunk by the fewest kept lines of [from, to) without which text_diff_apply would not find it from line `from` on; a
 * comment counts as TEXT_COMMENT_ANCHORS lines. Widened up to `from`, every hunk is found.
 */
static inline text_hunk text_hunk_anchored(text_lines base, text_hunk hunk, size_t from, size_t to)
{
    text_hunk best = {from, hunk.base_end, hunk.text - (hunk.base - from), hunk.text_end};
    text_line *old = calloc(base.count + 1, sizeof *old);
    size_t least = SIZE_MAX;

    if (!old)
        abort();
    for (size_t above = 0, cost_above = 0; above <= hunk.base - from && above <= TEXT_MAX_ANCHORS; above++) {
        const size_t first = hunk.base - above;

        if (above)
            cost_above += text_line_is_comment(base.line[first]) ? TEXT_COMMENT_ANCHORS : 1;
        for (size_t below = 0, cost = cost_above; below <= to - hunk.base_end && below <= TEXT_MAX_ANCHORS; below++) {
            const size_t end = hunk.base_end + below;
            size_t found_end;

            if (below)
                cost += text_line_is_comment(base.line[end - 1]) ? TEXT_COMMENT_ANCHORS : 1;
            if (cost < least &&
                text_lines_find(base, from, old, text_hunk_quote(base, hunk, first, end, old), &found_end) == first) {
                best = (text_hunk){first, end, hunk.text - above, hunk.text_end + below};
                least = cost;
            }
        }
    }
    free(old);
    return best;
}

/** The diff that text_diff_apply turns into the text; free() it. */
static inline char *text_diff_make(const char *base_text, const char *text_text)
{
    text_lines base = text_lines_of(base_text), text = text_lines_of(text_text);
    text_hunk *hunk = calloc(base.count + 2, sizeof *hunk);
    text_line *old = calloc(base.count + 1, sizeof *old);
    tj_text out = TJ_TEXT_INIT(TEXT_MAX_BYTES);
    size_t hunks, from = 0;

    if (!hunk || !old)
        abort();
    hunks = text_hunks(base, text, hunk);
    for (size_t h = 0; h < hunks; h++) {
        const text_hunk bare = hunk[h];
        const text_hunk wide = text_hunk_anchored(base, bare, from, h + 1 < hunks ? hunk[h + 1].base : base.count);
        const size_t olds = text_hunk_quote(base, bare, bare.base, bare.base_end, old);

        tj_text_append(&out, "@@\n");
        for (size_t i = wide.base; i < bare.base; i++)
            text_line_append(&out, " ", base.line[i]);
        for (size_t i = 0; i < olds; i++)
            text_line_append(&out, "-", old[i]);
        for (size_t j = bare.text; j < bare.text_end; j++)
            text_line_append(&out, "+", text.line[j]);
        for (size_t i = bare.base_end; i < wide.base_end; i++)
            text_line_append(&out, " ", base.line[i]);
        from = wide.base_end;
    }
    free(hunk);
    free(old);
    free(base.line);
    free(text.line);
    return text_taken(&out);
}

#endif
