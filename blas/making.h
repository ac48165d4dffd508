/* SPDX-License-Identifier: Apache-2.0 */
/*
 * making: kernels, made on threads of threads.c, for products of this run and of the program's last one; and the way of this
 * run's times into the memory.
 */
#ifndef TJ_BLAS_MAKING_H
#define TJ_BLAS_MAKING_H

#include "homes.h"
#include "log.h"
#include "memory.h"

typedef enum blas_choice {
    BLAS_BY_TIME,     /* the faster one */
    BLAS_BY_RECORD,   /* TileJIT where a record of a tuning, a pack or a table of trials names the kernel; else cuBLAS */
    BLAS_BY_KNOWLEDGE /* TileJIT for all that it can compute */
} blas_choice;

/** The state of a product, or of a remembered one. */
typedef enum blas_state {
    BLAS_IS_NEW,
    BLAS_IS_WANTED,   /* its kernel is being made */
    BLAS_IS_COMPARED, /* both take turns */
    BLAS_IS_OURS,
    BLAS_IS_CHECKED, /* cuBLAS was faster in an earlier run, which holds if it is not slower now than TileJIT was */
    BLAS_IS_THEIRS   /* cuBLAS's for the rest of the process */
} blas_state;

/** A kernel this much slower than cuBLAS is known to be slower after a few calls. */
#define BLAS_CLEARLY 1.25

/** TileJIT must be faster by this much, since times of single calls scatter, and nobody gains by an exchange of equals. */
#define BLAS_MARGIN 0.97

/** Call it once, before the other functions, which may be called from any thread. */
void blas_making_start(blas_choice choice, const tj_log *log);

/** Read the memory of a CUDA context, and make its kernels there. Does nothing but the first time. */
void blas_making_warm(const tj_driver *driver, blas_home *home);

/** Have a kernel made, which sets the product's plan and state. */
void blas_making_want(const tj_driver *driver, blas_product *product);

/** Return the memory of a product in its CUDA context; NULL: there is none, or it has not been read yet. */
blas_memory *blas_making_recall(blas_product *product);

/** A decision was made: have the times written soon, because many a process does not end by exit(). */
void blas_making_keep(void);

/** Write the times at the end of the process. */
void blas_making_end(void);

/** Read and set the times of a product or a memory, which threads share. */
blas_known blas_known_get(const blas_known *from);
void blas_known_set(blas_known *to, blas_known known);

/** Set a kernel, its state last: a thread that sees the state sees the rest. */
void blas_kernel_set(blas_kernel *to, blas_known known, double expected_us, const tj_plan *plan, blas_state state);

#endif
