/* SPDX-License-Identifier: Apache-2.0 */
/*
 * products: the distinct products of a process, each described once, and found again without a lock.
 */
#ifndef TJ_BLAS_PRODUCTS_H
#define TJ_BLAS_PRODUCTS_H

#include <stdatomic.h>

#include <tilejit/tools.h>

#include "call.h"

/** Those whose calls are timed: cuBLAS and TileJIT, and cuBLAS in a program's first calls, when much else is slow. */
typedef enum blas_side { BLAS_THEIRS, BLAS_OURS, BLAS_EARLY, BLAS_SIDES } blas_side;

/** The last times of one side. Under the lock of timing.c. */
typedef struct blas_times {
    uint64_t count; /* of all times so far */
    float us[64];   /* the last ones, in a ring */
} blas_times;

/** The times of a product in this run or an earlier one. */
typedef struct blas_known {
    double us[2];                      /* of BLAS_THEIRS and BLAS_OURS; 0: not measured */
    char config[TJ_CONFIG_TEXT_BYTES]; /* of the kernel that the second one is of */
} blas_known;

/** The kernel of a product, and the decision for or against it. */
typedef struct blas_kernel {
    blas_known known;              /* under a lock of making.c */
    double expected_us;            /* set before the plan: the time that it should take; 0: not known */
    _Atomic(const tj_plan *) plan; /* NULL: none */
    atomic_int state;              /* a blas_state; set last */
} blas_kernel;

/** A product. It never moves, and lives as long as the process. */
typedef struct blas_product {
    blas_form form;
    const char *name; /* of the function that was called first */
    bool is_known;    /* problem says what is computed; else why says why not */
    tj_problem problem;
    char why[128];
    atomic_ullong calls, captured; /* captured: calls while the stream was being captured */
    atomic_ullong begun[BLAS_SIDES];
    blas_times times[BLAS_SIDES];
    struct blas_stack *stacks; /* stacks.c, under its lock */
    blas_kernel kernel;
    atomic_bool is_recalled;              /* making.c: memory is set */
    _Atomic(struct blas_memory *) memory; /* making.c: from an earlier run; NULL: none */
    atomic_int reviews;                   /* compute.c: the number of times that a decision for TileJIT was taken back */
    _Atomic(struct blas_product *) next;  /* in the order in which they came */
} blas_product;

/** Find the product of a call, or add it. NULL: memory ran out, or there are too many. Threads: any. */
blas_product *blas_product_find(const blas_call *call);

/** Return the first product; product->next are the later ones. NULL: there is none. Threads: any. */
blas_product *blas_product_first(void);

/** Return the number of calls that found no room. */
uint64_t blas_products_missed(void);

/** Return the median of the times of a side, in microseconds; 0: there is none. Under the lock of timing.c. */
double blas_times_median(const blas_times *times);

#endif
