/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan: read a problem from the line that tj_problem_print writes.
 */
#include <string.h>

#include <tilejit/field.h>

#include "canonical.h"
#include "scale.h"
#include "text.h"

enum { WORD_BYTES = 96 };

_Static_assert((int)WORD_BYTES >= TJ_SCALE_MARK_BYTES + 7, "the longest words are those of scales");

/* Copy the next word. False: there is none, or it is too long for any that is read here. */
static bool next_word(const char **rest, char word[WORD_BYTES])
{
    const size_t length = strcspn(*rest += strspn(*rest, " "), " ");

    if (length == 0 || length >= WORD_BYTES)
        return false;
    memcpy(word, *rest, length);
    word[length] = '\0';
    *rest += length;
    return true;
}

static bool read_extent(const char **rest, char name, tj_dim *dim)
{
    char word[WORD_BYTES];

    dim->mode = TJ_DIM_FIXED;
    return next_word(rest, word) && word[0] == name && tj_parse_int(word + 1, &dim->extent);
}

static bool read_type(const char *word, int32_t *number)
{
    tj_type type;

    if (tj_type_parse(word, &type, NULL) != TJ_OK)
        return false;
    *number = (int32_t)type;
    return true;
}

static bool read_word(const char *word, tj_problem *p)
{
    static const char names[] = "MNP";
    const char *const name = strchr(names, word[0]);
    tj_compute compute;

    if (strncmp(word, "batch=", 6) == 0)
        return tj_parse_int(word + 6, &p->batch);
    if (strncmp(word, "compute:", 8) == 0) {
        p->compute = tj_compute_parse(word + 8, &compute, NULL) == TJ_OK ? (int8_t)compute : TJ_COMPUTE_DEFAULT;
        return p->compute != TJ_COMPUTE_DEFAULT;
    }
    if (strcmp(word, "alpha") == 0)
        return (p->epilogue.has_alpha = 1) != 0;
    if (strcmp(word, "beta") == 0)
        return (p->epilogue.has_beta = 1) != 0;
    if (strncmp(word, "scale_k=", 8) == 0)
        return tj_problem_set(p, "scale-k", word + 8, NULL) == TJ_OK;
    if (strncmp(word, "symmetric=", 10) == 0)
        return tj_problem_set(p, "symmetric", word + 10, NULL) == TJ_OK;
    for (tj_which which = TJ_MATRIX_M; which < TJ_SCALED; which++) {
        const size_t length = strlen(tj_scale_name(which));

        if (strncmp(word, tj_scale_name(which), length) == 0)
            return tj_scale_scan_mark(word + length, tj_scale_in(p, which));
    }
    if (!word[0] || !name || word[1] != ':')
        return false;
    tj_matrix *const matrix = tj_matrix_of(p, (tj_which)(TJ_MATRIX_M + (name - names)));

    if (strcmp(word + 2, "repacked") == 0)
        return (matrix->order = TJ_ORDER_REPACKED) != 0;
    if (strcmp(word + 2, "col") != 0)
        return read_type(word + 2, &matrix->type);
    matrix->layout = TJ_COL_MAJOR;
    return true;
}

bool tj_problem_scan(const char *text, tj_problem *problem)
{
    char word[WORD_BYTES];

    *problem = (tj_problem)TJ_PROBLEM_INIT(0, 0, 0, TJ_TYPE_DEFAULT);
    if (!read_extent(&text, 'j', &problem->j) || !read_extent(&text, 'k', &problem->k) ||
        !read_extent(&text, 'l', &problem->l) || !next_word(&text, word) || !read_type(word, &problem->m.type))
        return false;
    problem->n.type = problem->p.type = problem->m.type; /* printed where they differ */
    while (*text)
        if (!next_word(&text, word) || !read_word(word, problem))
            return false;
    return true;
}
