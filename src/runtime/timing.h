/* SPDX-License-Identifier: Apache-2.0 */
/* timing: measure launches by the device's clock. */
#ifndef TJ_RUNTIME_TIMING_H
#define TJ_RUNTIME_TIMING_H

#include <tilejit/timing.h>

#include "gpu.h"

/** Queues one launch of what is timed over the set of operands of that number. */
typedef tj_status tj_launch_fn(const void *what, size_t set, CUstream stream, tj_error *err);

/** As tj_time_launches, of what the function launches. timing: not NULL. */
tj_status tj_gpu_time(tj_gpu *gpu, tj_launch_fn *launch, const void *what, CUstream stream, const tj_timing *timing,
                      double *microseconds, tj_error *err);

#endif
