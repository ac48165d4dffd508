/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.h: events inside a context, reported as they happen, for a program's own logs, counters and traces.
 *
 * Launches of ready plans are not events: reporting one would cost more than the launch. tj_context_stats counts the same
 * things.
 */
#ifndef TILEJIT_EVENT_H
#define TILEJIT_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include <tilejit/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tj_event_kind {
    TJ_EVENT_MISS = 1,     /**< the problem of a call has no plan yet, and one is built for it */
    TJ_EVENT_HIT = 2,      /**< its image was found: in memory, in a pack, in a store or on a server */
    TJ_EVENT_COMPILED = 3, /**< its image was compiled by NVRTC, or could not be */
    TJ_EVENT_PROVEN = 4,   /**< a kernel passed or failed a proof on the device (prove.h) */
    TJ_EVENT_REPLACED = 5, /**< another kernel serves a problem from now on */
    TJ_EVENT_EVICTED = 6   /**< a plan was evicted, to make room or by tj_context_trim */
} tj_event_kind;

/** One event. Its text is valid during the call only; "" if there is none. */
typedef struct tj_event {
    size_t struct_size; /**< the library's: read no field beyond it */
    tj_event_kind kind;
    const char *problem; /**< in one line, as tj_problem_print writes it; "" for a kernel of the application's own (custom.h) */
    const char *config;  /**< in one line; "" for TJ_EVENT_MISS */
    const char *kernel;  /**< the name of the kernel that multiplies, as profilers show it; "" for TJ_EVENT_MISS */
    const char *detail;  /**< of a hit: memory, pack, store or remote; of a failure: the reason */
    double milliseconds; /**< duration of a compile or a proof; 0: not measured */
    int32_t failed;      /**< 1: the compile or the proof failed */
} tj_event;

/**
 * Receives an event. The library may call it from any thread, and from several at once. Like a log callback (context.h), it
 * must not call back into the same context, and it must return.
 */
typedef void (*tj_event_fn)(const tj_event *event, void *payload);

/** "miss", "compiled" and the like; "?" for a number that is not an event. Owned: static text. Threads: any; pure. */
TJ_API const char *tj_event_name(tj_event_kind kind);

#ifdef __cplusplus
}
#endif
#endif
