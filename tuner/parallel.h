/* SPDX-License-Identifier: Apache-2.0 */
/* parallel: one piece of work on several threads. */
#ifndef TJ_TUNER_PARALLEL_H
#define TJ_TUNER_PARALLEL_H

enum { TJ_MOST_THREADS = 64 };

/** So many threads were asked for, 0: one for each processor; no more than TJ_MOST_THREADS. */
int tj_thread_count(int asked);

/** Call work for each of the parts, at most TJ_MOST_THREADS, at once: where threads are short, one after the other. */
void tj_in_parallel(int parts, void (*work)(void *payload, int part), void *payload);

#endif
