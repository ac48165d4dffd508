/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock: device time of launches, whoever makes them.
 *
 * A sample is a CUDA graph of many launches, timed by two events around its replay. In a graph the host is out of the way: a
 * product of 128 x 128 x 128 takes the device 4 us and cuBLAS's host code 20. Short samples replay the graph twice and time
 * the second, which was queued while the first ran.
 */
#ifndef TJ_CLI_CLOCK_H
#define TJ_CLI_CLOCK_H

#include <stdbool.h>

#include <tilejit/tilejit.h>

typedef struct bench_clock bench_clock;

/** Queue one launch over set number set on a stream. 0: it failed, and err says why. */
typedef int (*queue_fn)(void *what, size_t set, struct CUstream_st *stream, tj_error *err);

/** A captured run of launches. Start from all zero. */
typedef struct samples {
    queue_fn queue;
    void *what;
    size_t launches, sets;
    void *graph;
    double us; /* of one launch, at the last look */
} samples;

/**
 * Make the primary context of a device current in this thread, and a stream. driver_path: of libcuda, as the context was
 * told; NULL: $TILEJIT_DRIVER, then libcuda.so.1. The answer NULL: err says why. The context must outlive the clock.
 */
bench_clock *clock_open(tj_context *context, const char *driver_path, const tj_device_facts *device, tj_error *err);
void clock_close(bench_clock *clock);

struct CUstream_st *clock_stream(const bench_clock *clock);
bool clock_is_emulated(const bench_clock *clock);

/** One launch outside a graph, waited for: loads what the driver left for later, and shows whether it works at all. */
int clock_try(bench_clock *clock, queue_fn queue, void *what, tj_error *err);

/** Capture as many launches, a multiple of sets, as take a while, and take the first sample. */
int clock_capture(bench_clock *clock, queue_fn queue, void *what, size_t sets, samples *out, tj_error *err);

/** Microseconds of one launch: the mean of a sample, into s->us too. Below 0: err says why. */
double clock_sample(bench_clock *clock, samples *s, tj_error *err);

/** Microseconds that taking a sample takes, about. */
double clock_cost(const samples *s);

void clock_drop(bench_clock *clock, samples *s);

#endif
