/* SPDX-License-Identifier: Apache-2.0 */
/*
 * executable: the facts of a program's or library's file that decide whether a library can be preloaded into it.
 */
#ifndef TJ_BASE_EXECUTABLE_H
#define TJ_BASE_EXECUTABLE_H

#include <stdbool.h>

typedef struct tj_executable {
    bool is_foreign;       /* for another kind of processor than this process is */
    bool is_static;        /* it names no loader. A static-pie has a dynamic section too, so that only the loader tells */
    char interpreter[256]; /* the loader; "": none, or its name is longer */
} tj_executable;

/** false: the file cannot be read, or is not ELF. */
bool tj_executable_read(const char *path, tj_executable *facts);

/** Does the file define one of these functions? names ends with NULL. A file without tables of symbols defines none. */
bool tj_executable_defines(const char *path, const char *const *names);

#endif
