/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads: work that no call waits for, on a few threads of low priority: the program's own threads go first.
 */
#ifndef TJ_BLAS_THREADS_H
#define TJ_BLAS_THREADS_H

#include <stdbool.h>

/** A piece of work, embedded in the things it is about. */
typedef struct blas_task {
    void (*run)(struct blas_task *task); /* owns the task from then on */
    double size;                         /* the largest one runs first */
    bool waits;                          /* a moment, as larger ones may come in the same burst */
    struct blas_task *next;              /* private to this file */
} blas_task;

/** Run a task soon, on a thread with all signals blocked. false: no thread could be made, and the caller keeps the task. Threads: any. */
bool blas_threads_run(blas_task *task);

/** The same for a task that runs, on its own thread or another. */
void blas_threads_run_again(blas_task *task);

#endif
