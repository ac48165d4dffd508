/* SPDX-License-Identifier: Apache-2.0 */
/* parallel: run one piece of work on several threads. */
#ifndef TJ_TUNER_PARALLEL_H
#define TJ_TUNER_PARALLEL_H

enum { TJ_MOST_THREADS = 64 };

/** Return the number of threads for a request: 0 means one per processor; at most TJ_MOST_THREADS. */
int tj_thread_count(int asked);

/** Call work for each of the parts, at most TJ_MOST_THREADS, concurrently; parts without a thread run one after the other. */
void tj_in_parallel(int parts, void (*work)(void *payload, int part), void *payload);

#endif
