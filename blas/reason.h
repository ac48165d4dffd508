/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reason: why no product of a process was seen.
 */
#ifndef TJ_BLAS_REASON_H
#define TJ_BLAS_REASON_H

#include <stddef.h>

enum { BLAS_REASON_BYTES = 1024 };

/** Write a sentence without a stop. Reads the tables of symbols of libraries, so call it once, at the end. */
void blas_reason(char text[BLAS_REASON_BYTES]);

#endif
