/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template: CUDA source with comment directives -> CUDA source. docs/templates.md is the manual.
 */
#ifndef TJ_GENERATOR_TEMPLATE_H
#define TJ_GENERATOR_TEMPLATE_H

#include "text.h"

/** One embedded file of templates/. cmake/embed_templates.cmake creates it. */
typedef struct tj_template_file {
    const char *name; /* "tiled/tiled.cu", "parts/half.cuh" */
    const unsigned char *bytes;
    size_t size;
} tj_template_file;

extern const tj_template_file tj_template_files[];
extern const size_t tj_template_file_count;

enum { TJ_TEMPLATE_MAX_PARAMS = 448, TJ_TEMPLATE_NAME_BYTES = 32, TJ_TEMPLATE_VALUE_BYTES = 128, TJ_TEMPLATE_MAX_LINES = 32 };

/** The parameters of a template. A condition is a parameter too: "" is false, anything else true. */
typedef struct tj_template_params {
    size_t count;
    struct {
        char name[TJ_TEMPLATE_NAME_BYTES];
        char value[TJ_TEMPLATE_VALUE_BYTES];
    } param[TJ_TEMPLATE_MAX_PARAMS];
    /* Lines that C prints, for //@ lines and //@ instead: whole lines, each with its newline. */
    size_t lines_count;
    struct {
        const char *name;
        char *text;
    } lines[TJ_TEMPLATE_MAX_LINES];
    tj_status failure; /* of some parameter or lines; filling a template reports it */
} tj_template_params;

/** Set a parameter. params may be NULL if the source is not wanted: nothing is set. */
void tj_template_set(tj_template_params *params, const char *name, const char *value);
void tj_template_set_int(tj_template_params *params, const char *name, int64_t value);
void tj_template_set_flag(tj_template_params *params, const char *name, bool value);

/**
 * Set a parameter of M ("m_from"), or if !is_m that of N: in name and value, m and M that are words, or pieces of words between
 * underscores, become n and N, as //@ with n for m, N for M does in a part.
 */
void tj_template_set_of(tj_template_params *params, bool is_m, const char *name, const char *value);

/** Return the value of a parameter that was set; "" if it was not. Owned: borrowed from params. */
const char *tj_template_get(const tj_template_params *params, const char *name);

/**
 * Set the lines of that name, whole ones. text is empty afterwards; a failure of it is reported when the template is filled.
 * name is static. params may be NULL as above.
 */
void tj_template_take_lines(tj_template_params *params, const char *name, tj_text *text);

/** As tj_template_take_lines, with a copy of text; NULL: no lines. */
void tj_template_set_lines(tj_template_params *params, const char *name, const char *text);

/** Have lines of that name been set? */
bool tj_template_has_lines(const tj_template_params *params, const char *name);

/** Return the lines of that name; "" if there are none. Owned: borrowed from params. */
const char *tj_template_get_lines(const tj_template_params *params, const char *name);

/** Free the lines. */
void tj_template_drop(tj_template_params *params);

/**
 * Fill the template of that name, and append the result to out. Pure.
 * Errors: TJ_ERR_INTERNAL: no such template, an unknown directive or parameter, an unclosed block; the message gives file,
 * line, column and the line itself.
 */
tj_status tj_template_fill(const char *name, const tj_template_params *params, tj_text *out, tj_error *err);

/** As tj_template_fill, for a template that is not embedded: for tests. size excludes any NUL. */
tj_status tj_template_fill_text(const char *name, const char *bytes, size_t size, const tj_template_params *params,
                                tj_text *out, tj_error *err);

/**
 * As tj_template_fill, for files of the application: fill the first; each may include the others.
 * Errors: TJ_ERR_INVALID_ARGUMENT: file, line, column and fault, then the line and a caret under the column.
 */
tj_status tj_template_fill_own(const tj_template_file *file, size_t count, const tj_template_params *params, tj_text *out,
                               tj_error *err);

#endif
