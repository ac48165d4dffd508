/* SPDX-License-Identifier: Apache-2.0 */
/*
 * varying: detect the dimensions that change from one problem of a context to the next.
 *
 * For each problem that comes for the first time, a count goes up for each of its dimensions: of the problems that are like it
 * but for that dimension; and one for all that are like it but for all dimensions. A dimension whose count has come to a few
 * varies.
 */
#ifndef TJ_SESSION_VARYING_H
#define TJ_SESSION_VARYING_H

#include <stdbool.h>

#include "request.h"

struct tj_varying;

/** NULL: out of memory. */
struct tj_varying *tj_varying_create(void);
void tj_varying_free(struct tj_varying *varying);

/** A problem came for the first time. Forgotten when memory runs out. Any thread. */
void tj_varying_note(struct tj_varying *varying, const tj_request *request);

/**
 * Does one of its dimensions vary? Then *general is the problem with that dimension, or all of them, left to the launch. Any
 * thread.
 */
bool tj_varying_find(struct tj_varying *varying, const tj_request *request, tj_request *general);

/**
 * The problem with some of its dimensions, and in the end all, left to the launch, those with fewest first: what a list of
 * shapes names by --any. False: nothing new comes of that index.
 */
enum { TJ_OPENINGS = 32 };
bool tj_varying_open(const tj_request *request, int index, tj_request *general);

#endif
