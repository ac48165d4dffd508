/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input: what a user names to be read: a regular file, a pipe or socket that somebody writes, or a terminal. The caller states
 * how much may be read, and nothing waits for a writer that is not there.
 */
#ifndef TJ_BASE_INPUT_H
#define TJ_BASE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tilejit/status.h>

typedef struct tj_input {
    const char *name; /* for messages: the path, borrowed, or "standard input" */
    int fd;
    int64_t size; /* of a regular file; -1: not known before its end */
    bool is_pipe, has_begun;
} tj_input;

/**
 * Open path; "-" is standard input. Folders and devices are refused, terminals apart. Close with tj_input_close, also after a
 * failure. Errors: TJ_ERR_NOT_FOUND, TJ_ERR_IO.
 */
tj_status tj_input_open(const char *path, tj_input *in, tj_error *err);
void tj_input_close(tj_input *in);

/**
 * Read until wanted bytes are there or the input ends. A pipe is waited for as long as somebody has it open for writing; one
 * that nobody opens within a second fails. Errors: TJ_ERR_IO.
 */
tj_status tj_input_read(tj_input *in, void *out, size_t wanted, size_t *got, tj_error *err);

/** The rest of an input, at most max_bytes; *bytes is malloc'ed with a NUL behind its end. Errors: also TJ_ERR_OUT_OF_MEMORY. */
tj_status tj_input_read_rest(tj_input *in, size_t max_bytes, char **bytes, size_t *size, tj_error *err);

/** Open, read all, close. */
tj_status tj_input_read_whole(const char *path, size_t max_bytes, char **bytes, size_t *size, tj_error *err);

#endif
