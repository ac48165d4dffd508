/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory: the products of a program's last runs on such a device, with the times of both sides, as a note in the store
 * (docs/store.md). It is as disposable as the rest of the store: a lost or false one costs a comparison.
 */
#ifndef TJ_BLAS_MEMORY_H
#define TJ_BLAS_MEMORY_H

#include <tilejit/tools.h>

#include "homes.h"
#include "products.h"

/** A product of an earlier run. It lives as long as the process. */
typedef struct blas_memory {
    tj_problem problem;
    char id[TJ_PROBLEM_ID_BYTES];
    int64_t seen_s; /* seconds since 1970, of the last run that had it */
    struct blas_memory *next;
    blas_kernel kernel; /* in one CUDA context */
} blas_memory;

/**
 * Learn the device of a home, whose context is current, and read the note of this program for such a device. Return the TileJIT
 * context, which serves all homes; NULL: there is none, or the device has no facts. Trouble with the note is as if there were
 * none. Threads: any; without a lock once it is learnt.
 */
tj_context *blas_memory_learn(blas_home *home);

/** Return the one of a problem, or NULL. */
blas_memory *blas_memory_find(blas_memory *first, const tj_problem *problem);

/** Copy the times of a product so far. false: it has none that is worth keeping. */
typedef bool blas_memory_fn(blas_product *product, blas_known *known);

/**
 * Write the products of this process, with those of the notes that it did not call, unless none has for months. Processes take
 * turns by a lock of the store. Trouble is forgotten. Threads: any.
 */
void blas_memory_write(blas_memory_fn *know);

#endif
