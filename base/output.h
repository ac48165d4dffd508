/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output: what a user names to be written.
 *
 * A file is written under another name beside its own, tilejit-<pid>-<random>.part, and renamed: it is there whole or as it
 * was. One that exists keeps its mode and, where the process may give it, its owner; a read-only one is refused. Links stay,
 * and what they lead to is written, be it there or not. What is no regular file (a device, a pipe), standard output, and what
 * /dev/fd names are written as they are.
 */
#ifndef TJ_BASE_OUTPUT_H
#define TJ_BASE_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <tilejit/status.h>

typedef struct tj_output {
    const char *path; /* as named: borrowed */
    int folder;       /* where the file is, links followed; -1: written as it is */
    char name[NAME_MAX + 1];
    bool is_stdout, is_new;
    int stream; /* of standard output; else -1 */
    mode_t mode;
    uid_t uid;
    gid_t gid;
} tj_output;

/** Is it standard output: "-", or another name of where that leads? Not so /dev/null, where nothing meets anything. */
bool tj_output_is_stdout(const char *path);

/**
 * Can path be written? Nothing is created yet, so that this may come long
 * before the bytes; parts that processes which are dead by now left in the file's folder are removed. Close with
 * tj_output_close, also after a failure. Errors: TJ_ERR_IO.
 */
tj_status tj_output_open(const char *path, tj_output *out, tj_error *err);

/** Write the pieces one behind the other, once. SIGXFSZ does not reach the process. Errors: TJ_ERR_IO. */
tj_status tj_output_write(const tj_output *out, const struct iovec *piece, size_t count, tj_error *err);

/** Instead of tj_output_write: a descriptor to write to little by little, of the file itself, emptied. The caller closes it. */
tj_status tj_output_stream(const tj_output *out, int *fd, tj_error *err);

void tj_output_close(tj_output *out);

#endif
