/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timing.h: the durations of launches, by the device's own clock.
 */
#ifndef TILEJIT_TIMING_H
#define TILEJIT_TIMING_H

#include <tilejit/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The launches to time. Start from TJ_TIMING_INIT. */
typedef struct tj_timing {
    size_t struct_size;
    int32_t warmup;    /**< launches that are not timed, before the others; 0 or more */
    int32_t repeat;    /**< durations to measure, 1 to 100 000; 0: 1 */
    int32_t per_event; /**< launches between two events, 1 to 10 000; 0: 1. Each duration is divided by this number: use it for
                            kernels so short that an event would distort the time */
    int32_t reserved;  /**< must be 0 */
    size_t sets;       /**< elements of the array of operands; 0: 1 */
} tj_timing;

#define TJ_TIMING_INIT TJ_SIZED(tj_timing)

/**
 * Launch a plan `warmup` times, then repeat * per_event times with events in between, and wait for all. All launches are queued
 * without a pause. microseconds receives `repeat` durations, in their order, by the device's own clock: host time is not
 * included.
 *
 * Launch number i, warm-up included, uses set number i modulo sets of the operands. If all sets together exceed the L2, every
 * launch finds a cold L2; with one set, the operands may be in the L2 from the second launch on.
 *
 * With a per_event above 1 the launches become a CUDA graph, which is replayed once before it is timed, if per_event is a
 * multiple of sets, the stream is not the legacy one, and the driver has graphs (CUDA 11.4). Then the time does not include the
 * host's part either, about 3 us to queue a launch. The call captures the stream, so nothing else may use it meanwhile. If
 * operands need another kernel, which must be built first, launches are queued one by one.
 *
 * NULL:    stream (the legacy default stream), timing (one launch of one set) and err may be NULL.
 * Threads: any; other work on the stream is included in the times.
 * Errors:  TJ_ERR_INVALID_ARGUMENT (a member of timing is out of its range), those of tj_plan_launch and of tj_synchronize.
 */
TJ_API TJ_MUST_CHECK tj_status tj_time_launches(tj_context *context, const tj_plan *plan, const tj_operands *operands,
                                                struct CUstream_st *stream, const tj_timing *timing, double *microseconds,
                                                tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
