/* SPDX-License-Identifier: Apache-2.0 */
/*
 * visit: inside a CUDA context, and outside all captures of other threads, from enter to leave. The calls of buffer.h run in
 * one.
 */
#ifndef TJ_SRC_VISIT_H
#define TJ_SRC_VISIT_H

#include "scope.h"

typedef struct tj_visit {
    tj_scope scope;
    int mode; /* the capture mode before */
} tj_visit;

/** Enter the current CUDA context, or the primary one. On success the caller must leave. Errors: those of tj_synchronize. */
tj_status tj_visit_enter(tj_gpu *gpu, tj_visit *v, tj_error *err);

void tj_visit_leave(tj_visit *v);

#endif
