/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log: formats a line and hands it to the listener.
 */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>

#include "printable.h"

void tj_log_line(const tj_log *log, tj_log_level level, const char *format, ...)
{
    char text[1024], line[sizeof text];
    va_list arguments;

    if (!log || !log->write || level > log->level)
        return;
    va_start(arguments, format);
    if (vsnprintf(text, sizeof text, format, arguments) < 0)
        text[0] = '\0';
    va_end(arguments);
    (void)tj_printable(line, sizeof line, text, "");
    log->write(level, line, log->payload);
}

void tj_log_to_stderr(tj_log_level level, const char *line, void *payload)
{
    static const char *const names[] = {"off", "error", "warning", "info", "debug"};

    (void)payload;
    fprintf(stderr, "tilejit %s: %s\n", level <= TJ_LOG_DEBUG ? names[level] : "?", line);
}
