/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shapes: lists of shapes: words such as 512x300x700, and the lines of files.
 */
#ifndef TJ_CLI_SHAPES_H
#define TJ_CLI_SHAPES_H

#include "request.h"

typedef struct cli_shape {
    char text[CLI_SHAPE_BYTES];
    tj_problem problem;
} cli_shape;

typedef struct cli_shapes {
    cli_shape *item;
    size_t count;
} cli_shapes;

/** Add the shapes of the operands, and those of a file. all->item belongs to the caller; free(), after a failure too. */
tj_status cli_read_shapes(const cli_call *call, const cli_request_options *options, cli_shapes *all, tj_error *err);
tj_status cli_read_shape_file(const char *path, const cli_request_options *options, cli_shapes *all, tj_error *err);

/** A file's text, which ends at its end: one with a NUL, or of more than max_bytes, is refused. Owned: the caller; free(). */
tj_status cli_read_text(const char *path, size_t max_bytes, char **text, tj_error *err);

#endif
