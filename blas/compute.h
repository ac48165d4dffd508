/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compute: products by TileJIT, where that is faster.
 *
 * No call waits for a kernel. Once cuBLAS has spent a millisecond on a product, or a graph has captured it, its kernel is made
 * on a thread of threads.c, the one that should save most first; until then cuBLAS computes it. Then the two take turns, and
 * each call is timed on the device. After JUDGED_AFTER times of each, the faster one computes the product. If that is TileJIT,
 * some calls are timed from then on, and the two are compared again if it has become slower than cuBLAS was.
 *
 * Both times are kept (memory.c). The next run of the program makes the kernels that were faster as soon as there is a handle,
 * and computes from the first call on.
 *
 * Calls on a stream that is being captured take no turns: before the decision they get the one that is expected to be faster,
 * by cuBLAS's times so far and by a time of the kernel that was measured elsewhere or predicted.
 */
#ifndef TJ_BLAS_COMPUTE_H
#define TJ_BLAS_COMPUTE_H

#include "making.h"
#include "serve.h"
#include "timing.h"

/** Call it once, before the other function. */
void blas_compute_start(blas_choice choice);

/** Queue the product on the stream of the call. false: it is left to cuBLAS, and visit->pair may time that. */
bool blas_compute_begin(const tj_driver *driver, const blas_call *call, blas_product *product, blas_visit *visit);

/** Leave the product to cuBLAS, because cuBLAS refused a call of it: an error stays an error. */
void blas_compute_refuse(blas_product *product);

#endif
