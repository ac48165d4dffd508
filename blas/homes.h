/* SPDX-License-Identifier: Apache-2.0 */
/*
 * homes: the CUDA contexts in which a process multiplies. Products, kernels and events belong to one of them.
 *
 * A context is told from others by its number, since handles come again: after a device was reset, its primary context has the
 * same handle, and nothing of what was made before. Where a home's context is gone, its products are never called again.
 */
#ifndef TJ_BLAS_HOMES_H
#define TJ_BLAS_HOMES_H

#include <stdatomic.h>

#include <tilejit/tools.h>

#include "driver.h"

/** A CUDA context. It never moves, and lives as long as the process. */
typedef struct blas_home {
    uint64_t id;       /* no other context of the process has it, if the driver has cuCtxGetId (12.0) */
    CUcontext context; /* its handle */
    _Atomic(struct blas_home *) next;
    atomic_bool is_met;    /* whoever sets it has the home learnt */
    atomic_bool is_learnt; /* set last: device and memory are known */
    tj_device_facts device;
    _Atomic(struct blas_memory *) memory;  /* the products of the last runs on such a device; NULL: none */
    atomic_bool has_memory;                /* making.c: its kernels are asked for */
    struct blas_pair *idle, *first, *last; /* timing.c, under its lock: pairs of events; first: the oldest one under way */
    size_t pairs;                          /* likewise: made so far */
} blas_home;

/** Return the current CUDA context; NULL: there is none, or there were too many. Threads: any; without a lock if it is known. */
blas_home *blas_home_current(const tj_driver *driver);

/** Return the first home; home->next are the later ones. NULL: there is none. Threads: any. */
blas_home *blas_home_first(void);

/** Make a home's context current, until blas_home_leave. false: it is gone, and nothing is changed. */
bool blas_home_enter(const tj_driver *driver, const blas_home *home);
void blas_home_leave(const tj_driver *driver);

#endif
