/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.h: what happens inside a context, as it happens, for a program's own logs, counters and traces.
 *
 * Launches of ready plans are no events: they cost less than telling of them would. tj_context_stats counts the same things.
 */
#ifndef TILEJIT_EVENT_H
#define TILEJIT_EVENT_H

#include <stdint.h>

#include <tilejit/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tj_event_kind {
    TJ_EVENT_MISS = 1,     /**< a problem that a call came with has no plan yet, and one is made for it */
    TJ_EVENT_HIT = 2,      /**< its image was found: in memory, in a pack, in a store or on a server */
    TJ_EVENT_COMPILED = 3, /**< its image was compiled by NVRTC, or could not be */
    TJ_EVENT_PROVEN = 4,   /**< a kernel was proven on the device (prove.h), or proven wrong */
    TJ_EVENT_REPLACED = 5, /**< another kernel serves a problem from now on */
    TJ_EVENT_EVICTED = 6   /**< a plan left memory, to make room or by tj_context_trim */
} tj_event_kind;

/** One event. Its text is valid during the call only; "" where there is none. */
typedef struct tj_event {
    tj_event_kind kind;
    const char *problem; /**< in one line, as tj_problem_print writes it; "" of a kernel of the application's own (custom.h) */
    const char *config;  /**< in one line; "" of TJ_EVENT_MISS */
    const char *kernel;  /**< the name of the kernel that multiplies, as profilers show it; "" of TJ_EVENT_MISS */
    const char *detail;  /**< of a hit: memory, pack, store or remote; of a failure: why */
    double milliseconds; /**< what it took: a compile, a proof; 0: not measured */
    int32_t failed;      /**< 1: the compile or the proof failed */
} tj_event;

/**
 * Receives an event. It may be called from any thread, and from several at once. It must not call back into the same context,
 * and it must return, as a log callback must (context.h).
 */
typedef void (*tj_event_fn)(const tj_event *event, void *payload);

/** "miss", "compiled" and the like; "?" for a number that is no event. Owned: static text. Threads: any; pure. */
TJ_API const char *tj_event_name(tj_event_kind kind);

#ifdef __cplusplus
}
#endif
#endif
