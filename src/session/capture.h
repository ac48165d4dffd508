/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture: which problems a context launches, and how often, for tilejit tune and tilejit pack to read.
 */
#ifndef TJ_SESSION_CAPTURE_H
#define TJ_SESSION_CAPTURE_H

#include <tilejit/kernel.h>

#include "log.h"

struct tj_capture;

/** For a file, which is not opened yet. log: outlives it, and hears of trouble while it is written. NULL: out of memory. */
struct tj_capture *tj_capture_create(const char *path, int write_s, const tj_log *log);

/** Count a launch; operands NULL: a plan was prepared, which is noted and not counted. Any thread. */
void tj_capture_note(struct tj_capture *capture, const tj_problem *problem, const tj_operands *operands);

/**
 * Add what was noted since the last time to the file, as a whole and under a lock. Trouble is one warning, and what was noted waits for
 * the next time. Done by itself every write_s seconds while there is something, and when exit() is called. Any thread.
 */
void tj_capture_write(struct tj_capture *capture, const tj_log *log);

void tj_capture_free(struct tj_capture *capture);

#endif
