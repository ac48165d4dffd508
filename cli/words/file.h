/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file: what a command writes to a file that the user names, or to stdout.
 */
#ifndef TJ_CLI_FILE_H
#define TJ_CLI_FILE_H

#include "command.h"
#include "output.h"

/** -o: a const char *. */
extern const cli_group cli_output_group;

/** With --json stdout takes the object: refuse it as the file of an option, by its name. path may be NULL. */
tj_status cli_check_stdout(const cli_call *call, const char *option, const char *path, tj_error *err);

/**
 * tj_output_open, for what is to be written in the end. Where that goes to stdout, what is printed from here on goes to stderr.
 * path may be NULL: nothing is opened.
 */
tj_status cli_open_output(const char *path, tj_output *out, tj_error *err);

/** Between these two a signal waits for a file to be whole; not so for what is no file. */
void cli_begin_file(const tj_output *out);
void cli_end_file(const tj_output *out);

/** tj_output_write of one piece between them. */
tj_status cli_write_output(const tj_output *out, const void *bytes, size_t size, tj_error *err);

#endif
