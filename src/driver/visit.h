/* SPDX-License-Identifier: Apache-2.0 */
/*
 * visit: in a CUDA context, and out of all captures that other threads run, from enter to leave: what the calls of buffer.h happen in.
 */
#ifndef TJ_SRC_VISIT_H
#define TJ_SRC_VISIT_H

#include "scope.h"

typedef struct tj_visit {
    tj_scope scope;
    int mode; /* of captures, before */
} tj_visit;

/** The current CUDA context, or the primary one. On success the caller leaves again. Errors: those of tj_synchronize. */
tj_status tj_visit_enter(tj_gpu *gpu, tj_visit *v, tj_error *err);

void tj_visit_leave(tj_visit *v);

#endif
