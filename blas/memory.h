/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory: the products of a program's last runs on such a device, with the times of both sides, as a note in the store
 * (docs/store.md). It is as disposable as the rest of the store: a lost or false one costs a comparison.
 */
#ifndef TJ_BLAS_MEMORY_H
#define TJ_BLAS_MEMORY_H

#include <tilejit/tools.h>

#include "products.h"

/** A product of an earlier run. It lives as long as the process. */
typedef struct blas_memory {
    tj_problem problem;
    char id[TJ_PROBLEM_ID_BYTES];
    int64_t seen_s; /* seconds since 1970, of the last run that had it */
    struct blas_memory *next;
    /* compute.c: */
    const void *context; /* the CUDA context of the kernel */
    blas_kernel kernel;
} blas_memory;

/** Read the note of this program for such a device. NULL: there is none. Errors of any kind: there is none. */
blas_memory *blas_memory_read(const tj_context *context, const tj_device_facts *device);

/** Return the one of a problem, or NULL. */
blas_memory *blas_memory_find(blas_memory *first, const tj_problem *problem);

/** Copy the times of a product so far. false: it has none that is worth keeping. */
typedef bool blas_memory_fn(blas_product *product, blas_known *known);

/** The part of the process that a note is about: a CUDA context, and its device. */
typedef struct blas_home {
    const void *cuda;
    tj_device_facts device;
} blas_home;

/**
 * Write the products of this process in one CUDA context, with those of the note that it did not call, unless none has for
 * months. Processes take turns by a lock of the store. Trouble is forgotten. Threads: one at a time.
 */
void blas_memory_write(const tj_context *context, const blas_home *home, blas_memory_fn *know);

#endif
