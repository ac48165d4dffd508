/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiler_log: parse the output of NVRTC and ptxas.
 */
#ifndef TJ_SRC_COMPILER_LOG_H
#define TJ_SRC_COMPILER_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include <tilejit/image.h>

/** Does any line report an error? */
bool tj_log_reports_error(const char *log);

/** Copy the first line that reports an error, else the first line that is not a report of ptxas, else "". Cut at size. */
void tj_log_first_error(const char *log, char *line, size_t size);

/** Return the `ptxas -v` report on the entry functions: the maximum of each number. A missing number is -1. */
tj_resources tj_log_resources(const char *log);

#endif
