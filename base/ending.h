/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ending: exit() on one thread while others are inside a foreign library.
 *
 * exit() runs the destructors of NVRTC's and the driver's static objects, and other threads run on meanwhile. So every thread
 * inside is counted, and exit() waits, LONGEST_WAIT_MS at most:
 *
 *     in an exit handler, which lets no further thread in. Handlers run in reverse order, so it is registered again after each
 *     first use, in which a library creates its static objects;
 *     before all handlers, as long as a first use lasts. Only destructors of thread-local objects run there: those of the
 *     thread that loaded this library, usually the main one, and of the threads that were inside. They cannot tell exit() from
 *     the end of their thread, so a first use that was abandoned for them starts again unless it was exit().
 *
 * _exit, quick_exit and fatal signals run no destructors, and a forked child has none of the threads: they do not wait.
 */
#ifndef TJ_BASE_ENDING_H
#define TJ_BASE_ENDING_H

#include <stdbool.h>

#include <tilejit/status.h>

/** Make exit() on the calling thread wait for first uses. */
void tj_ending_watch_thread(void);

/** Has exit() begun? */
bool tj_ending_has_begun(void);

/** Should threads inside a library leave soon? */
bool tj_ending_is_near(bool is_first_use);

/** A callback that runs when exit() is called, on the thread that calls it, before any wait. The caller owns its memory. */
typedef struct tj_ending_call {
    void (*call)(void *payload);
    void *payload;
    struct tj_ending_call *next; /* private to this file */
} tj_ending_call;

/**
 * Register a callback, and unregister it. No callback is running when the second function returns. Not from within a callback.
 */
void tj_ending_ask(tj_ending_call *wanted);
void tj_ending_forget(tj_ending_call *wanted);

/** Enter a foreign library on the calling thread. May be nested. Errors: TJ_ERR_CANCELLED: exit() has begun, stay out. */
tj_status tj_ending_enter(bool is_first_use, tj_error *err);
void tj_ending_leave(bool is_first_use);

#endif
