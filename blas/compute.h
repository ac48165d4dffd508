/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compute: products by TileJIT, where that is faster.
 *
 * No call waits for a kernel. After WANTED_AFTER calls of a product its kernel is made on one of this file's own threads, the
 * largest product first; until then cuBLAS computes it. Then the two take turns, and each call is timed on the device. After
 * JUDGED_AFTER times of each, the faster one computes the product for the rest of the process.
 *
 * Calls on a stream that is being captured take no turns: before the decision they get the one that is expected to be faster,
 * by cuBLAS's times so far and by a time of the kernel that was measured elsewhere or predicted.
 */
#ifndef TJ_BLAS_COMPUTE_H
#define TJ_BLAS_COMPUTE_H

#include "serve.h"
#include "timing.h"

typedef enum blas_choice {
    BLAS_BY_TIME,     /* the faster one */
    BLAS_BY_RECORD,   /* TileJIT where a record of a tuning, a pack or a table of trials names the kernel; else cuBLAS */
    BLAS_BY_KNOWLEDGE /* TileJIT for all that it can compute */
} blas_choice;

/** Call it once, before the other function. */
void blas_compute_start(blas_choice choice);

/** Queue the product on the stream of the call. false: it is left to cuBLAS, and visit->pair may time that. */
bool blas_compute_begin(const tj_driver *driver, const blas_call *call, blas_product *product, blas_visit *visit);

#endif
