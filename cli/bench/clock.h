/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock: device time of launches of any library.
 *
 * A sample is a CUDA graph of many launches, timed by two events around its replay. A graph takes the host out of the time: the
 * device needs 4 us for a product of 128 x 128 x 128, cuBLAS's host code 20. Short samples replay the graph twice and time the
 * second replay, which was queued while the first ran.
 */
#ifndef TJ_CLI_CLOCK_H
#define TJ_CLI_CLOCK_H

#include <stdbool.h>

#include <tilejit/tools.h>

typedef struct bench_clock bench_clock;

/** Queue one launch over set number `set` on a stream. 0: it failed, and err says why. */
typedef int (*queue_fn)(void *what, size_t set, struct CUstream_st *stream, tj_error *err);

/** A captured run of launches. Start from all zero. */
typedef struct samples {
    queue_fn queue;
    void *what;
    size_t launches, sets;
    void *graph;
    double us; /* per launch, of the last sample */
} samples;

/**
 * Make the primary context of a device current in this thread, and create a stream. driver_path: the libcuda path given to the
 * context; NULL: $TILEJIT_DRIVER, then libcuda.so.1. Returns NULL on failure, and err says why. The context must outlive the
 * clock.
 */
bench_clock *clock_open(tj_context *context, const char *driver_path, const tj_device_facts *device, tj_error *err);
void clock_close(bench_clock *clock);

struct CUstream_st *clock_stream(const bench_clock *clock);
bool clock_is_emulated(const bench_clock *clock);

/** Launch once outside a graph and wait: loads what the driver loads lazily, and shows whether the launch works. */
int clock_try(bench_clock *clock, queue_fn queue, void *what, tj_error *err);

/** Capture enough launches, a multiple of sets, to fill a sample, and take the first sample. */
int clock_capture(bench_clock *clock, queue_fn queue, void *what, size_t sets, samples *out, tj_error *err);

/** Return the microseconds per launch, the mean of a sample; also stored in s->us. Below 0: err says why. */
double clock_sample(bench_clock *clock, samples *s, tj_error *err);

/** Return the approximate microseconds of taking a sample. */
double clock_cost(const samples *s);

void clock_drop(bench_clock *clock, samples *s);

#endif
