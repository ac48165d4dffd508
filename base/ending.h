/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ending: exit() on one thread while others are inside a foreign library.
 *
 * exit() runs the destructors of NVRTC's and the driver's static objects, and other threads run on meanwhile. So whoever is inside
 * says so, and exit() waits, LONGEST_WAIT_MS at most:
 *
 *     in an exit handler, which lets nobody in any more. Handlers run last one first, so it is registered anew behind each first use,
 *     in which a library makes its static objects;
 *     before all handlers, for as long as a first use lasts. Only destructors of thread-local objects run there: of the thread that
 *     loaded this library, as a rule the main one, and of those that were in here. They cannot tell exit() from the end of their
 *     thread, so a first use that is given up for them is begun again unless exit() it was.
 *
 * _exit, quick_exit and fatal signals run no destructors, and a forked child has none of the threads: nothing is waited for there.
 */
#ifndef TJ_BASE_ENDING_H
#define TJ_BASE_ENDING_H

#include <stdbool.h>

#include <tilejit/status.h>

/** Should the calling thread be the one that calls exit(), let it wait for first uses. */
void tj_ending_watch_thread(void);

/** Is exit() under way? */
bool tj_ending_has_begun(void);

/** Should who is inside come out soon? */
bool tj_ending_is_near(bool is_first_use);

/** What is called when exit() is, on the thread that calls it, before anything is waited for. Of whom it is, so is its memory. */
typedef struct tj_ending_call {
    void (*call)(void *payload);
    void *payload;
    struct tj_ending_call *next; /* of this file */
} tj_ending_call;

/** Ask for the call, and no longer. It is not under way any more when the second one returns. Not from within a call. */
void tj_ending_ask(tj_ending_call *wanted);
void tj_ending_forget(tj_ending_call *wanted);

/** The calling thread goes into a foreign library. May be nested. Errors: TJ_ERR_CANCELLED: exit() is under way, stay out. */
tj_status tj_ending_enter(bool is_first_use, tj_error *err);
void tj_ending_leave(bool is_first_use);

#endif
