/* SPDX-License-Identifier: Apache-2.0 */
/*
 * missing: plans that could not be made because there is no compiler.
 *
 * To find that out again takes a choice by the model, a source and a search of the store: a server that gets such a shape again
 * and again would spend its time on it. So the failure is remembered, while a search for NVRTC would find none, and for a
 * second at most: another process may have stored the kernel since (disk_find.c looks as often).
 */
#ifndef TJ_SESSION_MISSING_H
#define TJ_SESSION_MISSING_H

#include "plan.h"

struct tj_missing;

/** NULL: out of memory. */
struct tj_missing *tj_missing_create(void);
void tj_missing_free(struct tj_missing *missing);

/** A plan could not be made, for want of a compiler. Forgotten when memory runs out. Any thread. */
void tj_missing_note(struct tj_missing *missing, const tj_plan_key *key, tj_effort effort, const tj_error *why);

/** Is it known that it cannot be made, with that effort? Then *err says why. err may be NULL. Any thread. */
bool tj_missing_recall(struct tj_missing *missing, tj_host *host, const tj_plan_key *key, tj_effort effort, tj_error *err);

#endif
