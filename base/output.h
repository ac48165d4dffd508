/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output: an output that a user names.
 *
 * A file is written under another name in the same folder, tilejit-<pid>-<random>.part, and renamed: readers see the old file
 * or the whole new one. An existing file keeps its mode and, if the process may set it, its owner; a read-only one is refused.
 * Links stay, and their target is written, whether it exists or not. A file that is not regular (a device, a pipe), standard
 * output, and descriptors named by /dev/fd are written in place.
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
    int folder;       /* of the file, links followed; -1: written in place */
    char name[NAME_MAX + 1];
    bool is_stdout, is_new;
    int stream; /* the descriptor of standard output; else -1 */
    mode_t mode;
    uid_t uid;
    gid_t gid;
} tj_output;

/** Is path standard output: "-", or another name of the same file? /dev/null is not: outputs to it cannot collide. */
bool tj_output_is_stdout(const char *path);

/**
 * Can path be written? Nothing is created yet, so this may be called long before the bytes exist; parts that dead processes
 * left in the file's folder are removed. Close with tj_output_close, also after a failure. Errors: TJ_ERR_IO.
 */
tj_status tj_output_open(const char *path, tj_output *out, tj_error *err);

/** Write the pieces one after the other, once. SIGXFSZ does not reach the process. Errors: TJ_ERR_IO. */
tj_status tj_output_write(const tj_output *out, const struct iovec *piece, size_t count, tj_error *err);

/**
 * Use instead of tj_output_write: get a descriptor of the file itself, truncated, for writing little by little. The caller
 * closes it.
 */
tj_status tj_output_stream(const tj_output *out, int *fd, tj_error *err);

void tj_output_close(tj_output *out);

#endif
