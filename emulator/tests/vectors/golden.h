/* SPDX-License-Identifier: Apache-2.0 */
/*
 * golden: the file of recorded outputs, text that gzip compresses. A pipe to gzip needs no library.
 */
#ifndef GOLDEN_H
#define GOLDEN_H

#include <stdbool.h>
#include <stdio.h>

/** Open it to "r" or "w". NULL: no process can be started, or the path is too long. A missing file shows in golden_close. */
static inline FILE *golden_open(const char *path, const char *mode)
{
    char command[4096];
    const int length = snprintf(command, sizeof command, *mode == 'r' ? "gzip -dc '%s'" : "gzip -9n >'%s'", path);

    return length < (int)sizeof command ? popen(command, mode) : NULL;
}

/** Close it: false if it could not be read or written to its end. */
static inline bool golden_close(FILE *file)
{
    return pclose(file) == 0;
}

#endif
