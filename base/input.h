/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input: an input that a user names: a regular file, a pipe or socket with a writer, or a terminal. The caller states how much
 * may be read, and no call waits for a writer that does not exist.
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
    int64_t size; /* of a regular file; -1: unknown before the end */
    bool is_pipe, has_begun;
} tj_input;

/**
 * Open path; "-" is standard input. Folders, and devices other than terminals, are refused. Close with tj_input_close, also
 * after a failure. Errors: TJ_ERR_NOT_FOUND, TJ_ERR_IO.
 */
tj_status tj_input_open(const char *path, tj_input *in, tj_error *err);
void tj_input_close(tj_input *in);

/**
 * Read until wanted bytes are there or the input ends. A read waits for a pipe as long as a process has it open for writing; a
 * pipe that no process opens within a second fails. Errors: TJ_ERR_IO.
 */
tj_status tj_input_read(tj_input *in, void *out, size_t wanted, size_t *got, tj_error *err);

/**
 * Read the rest of an input, at most max_bytes; *bytes is malloc'ed with a NUL after its end. Errors: also
 * TJ_ERR_OUT_OF_MEMORY.
 */
tj_status tj_input_read_rest(tj_input *in, size_t max_bytes, char **bytes, size_t *size, tj_error *err);

/** Open, read all, close. */
tj_status tj_input_read_whole(const char *path, size_t max_bytes, char **bytes, size_t *size, tj_error *err);

#endif
