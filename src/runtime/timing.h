/* SPDX-License-Identifier: Apache-2.0 */
/* timing: how long launches take, by the device's clock. */
#ifndef TJ_RUNTIME_TIMING_H
#define TJ_RUNTIME_TIMING_H

#include <tilejit/kernel.h>

#include "gpu.h"

/** Queues one launch of what is timed, a kernel or a plan. */
typedef tj_status tj_launch_fn(const void *what, const tj_operands *operands, CUstream stream, tj_error *err);

/** As tj_time_rotating. */
tj_status tj_gpu_time(tj_gpu *gpu, tj_launch_fn *launch, const void *what, const tj_operands *operands, size_t count,
                      CUstream stream, int warmup, int repeat, int per_event, double *microseconds, tj_error *err);

#endif
