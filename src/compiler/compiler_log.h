/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiler_log: what NVRTC and ptxas wrote, read.
 */
#ifndef TJ_SRC_COMPILER_LOG_H
#define TJ_SRC_COMPILER_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include <tilejit/image.h>

/** Does any line report an error? */
bool tj_log_reports_error(const char *log);

/** The first line that reports an error, else the first line that is no report of ptxas, else "". Cut at size. */
void tj_log_first_error(const char *log, char *line, size_t size);

/** What `ptxas -v` reports of the entry functions: of each number the most. A number that is not there is -1. */
tj_resources tj_log_resources(const char *log);

#endif
