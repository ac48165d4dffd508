/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log: lines for a listener. A library does not pick its host's logger: it calls one function.
 */
#ifndef TJ_BASE_LOG_H
#define TJ_BASE_LOG_H

#include <tilejit/context.h>

typedef struct tj_log {
    tj_log_level level;
    tj_log_fn write; /* NULL: silent */
    void *payload;
} tj_log;

/** NULL log: silent. Nothing is formatted for a level that is off. */
__attribute__((format(printf, 3, 4))) void tj_log_line(const tj_log *log, tj_log_level level, const char *format, ...);

/** The sink used when only TILEJIT_LOG asks for lines: stderr. */
void tj_log_to_stderr(tj_log_level level, const char *line, void *payload);

#endif
