/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timing: the device's time of single calls, by a pair of events around each. Nobody waits for an event: pairs that are over
 * are read when a later call comes by.
 */
#ifndef TJ_BLAS_TIMING_H
#define TJ_BLAS_TIMING_H

#include "homes.h"
#include "products.h"

typedef struct blas_pair blas_pair;

/** Record the first event of a call. NULL: it is not timed, because too many pairs are under way, or the driver refuses. */
blas_pair *blas_timing_begin(const tj_driver *driver, blas_product *product, blas_side side, CUstream stream);

/** Record the second one. is_done false: the call failed, and its time is dropped. pair NULL: does nothing. */
void blas_timing_end(const tj_driver *driver, blas_pair *pair, CUstream stream, bool is_done);

/** Read the pairs of the current CUDA context that are over, a few at once. */
void blas_timing_read(const tj_driver *driver, blas_home *home);

/** Read the pairs of all CUDA contexts that there still are, and wait for them. */
void blas_timing_finish(const tj_driver *driver);

/** Forget the times of cuBLAS and TileJIT so far, but not those of the first calls. */
void blas_timing_forget(blas_product *product);

/** Return the median of a side's times, and their number; 0: there is none. */
double blas_timing_median(const blas_product *product, blas_side side, uint64_t *count);

#endif
