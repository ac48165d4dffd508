/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture: record the problems that a context launches, with counts, for tilejit tune and tilejit pack to read.
 */
#ifndef TJ_SESSION_CAPTURE_H
#define TJ_SESSION_CAPTURE_H

#include <stdbool.h>

#include <tilejit/kernel.h>

#include "log.h"

struct tj_capture;
struct tj_varying; /* varying.h */

/**
 * For a file, which is not opened yet. varying, which may be NULL, and log outlive it: which dimensions vary, and who hears of
 * trouble while it is written. NULL: out of memory.
 */
struct tj_capture *tj_capture_create(const char *path, int write_s, struct tj_varying *varying, const tj_log *log);

/** A launch. */
typedef struct tj_captured {
    const tj_problem *asked;     /* by the call */
    const tj_problem *served;    /* by the kernel that was launched; it may leave more to the launch */
    const tj_operands *operands; /* NULL: a plan was prepared, which is noted and not counted */
    bool is_makeshift;           /* until it has a kernel of its own, or one for all extents of a dimension that varies */
} tj_captured;

/** Count a launch. Any thread. */
void tj_capture_note(struct tj_capture *capture, const tj_captured *launch);

/**
 * Add the notes since the last time to the file, as a whole and under a lock. A failure is one warning, and the notes wait for
 * the next time. Done by itself every write_s seconds while there is something, and when exit() is called. Any thread.
 */
void tj_capture_write(struct tj_capture *capture, const tj_log *log);

void tj_capture_free(struct tj_capture *capture);

#endif
