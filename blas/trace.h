/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace: the products of a process, counted and timed, and written for tilejit trace.
 */
#ifndef TJ_BLAS_TRACE_H
#define TJ_BLAS_TRACE_H

#include "serve.h"
#include "timing.h"

/** Write the products into a file of this folder, named by the process, with the stacks that call them or not. Call it once. */
void blas_trace_start(const char *folder, bool has_stacks);

/** Count a call, and time it if its product has few times yet. */
void blas_trace_begin(const tj_driver *driver, blas_product *product, bool is_captured, blas_visit *visit);

/** Write what has come in so far, if the last time is some seconds ago; is_last: in any case, after waiting for all times. driver: NULL only then, of a process without a call. */
void blas_trace_write(const tj_driver *driver, bool is_last);

#endif
