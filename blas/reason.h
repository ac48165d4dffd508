/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reason: why no product of a process was seen.
 */
#ifndef TJ_BLAS_REASON_H
#define TJ_BLAS_REASON_H

#include <stdbool.h>

enum { BLAS_REASON_BYTES = 1024 };

/**
 * Write a sentence without a stop. true: the process has a cuBLAS, or one inside of something. Reads the tables of symbols of
 * libraries, so call it once, at the end.
 */
bool blas_reason(char text[BLAS_REASON_BYTES]);

#endif
