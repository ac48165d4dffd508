/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events: report events to the callback of the context and to a profiler that shows ranges.
 */
#ifndef TJ_RUNTIME_EVENTS_H
#define TJ_RUNTIME_EVENTS_H

#include <tilejit/prove.h>
#include <tilejit/source.h>

#include "host.h"

/** The facts of an event that are not in the source. */
typedef struct tj_outcome {
    const char *detail; /* NULL: none */
    double milliseconds;
    bool failed;
} tj_outcome;

/** Report an event of a kernel; without a callback nothing is formatted. */
void tj_host_tell(const tj_host *host, tj_event_kind kind, const tj_source *source, tj_outcome outcome);

/** Count a proof, and report it. */
void tj_host_tell_proof(tj_host *host, const tj_source *source, const tj_proof *proof);

/** Report an event of a problem that has no kernel yet. */
void tj_host_tell_problem(const tj_host *host, tj_event_kind kind, const tj_problem *problem);

/** A range of a profiler's time line, from open to close on one thread: "tilejit WHAT KERNEL". Without a profiler: one load. */
void tj_range_open(const tj_host *host, const char *what, const char *kernel);
void tj_range_close(const tj_host *host);

#endif
