/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure: operands on the device, and the time of a kernel over them.
 */
#ifndef TJ_TUNER_MEASURE_H
#define TJ_TUNER_MEASURE_H

#include <tilejit/reference.h>
#include <tilejit/tuner.h>

#include "buffer.h"
#include "program.h"
#include "timing.h"
#include "workbench.h"

/** What is timed: launches of one thing, a product's kernel or any other, over sets of operands in turn. */
typedef struct tj_timed {
    tj_gpu *gpu;
    struct CUstream_st *stream;
    size_t sets;
    int is_emulated; /* times mean nothing there: one launch does for many */
    double deadline; /* as tj_bench.deadline */
    tj_launch_fn *launch;
    const void *what;
} tj_timed;

/** The operands of one problem: sets of M, N, C and P that together exceed the L2. */
typedef struct tj_bench {
    tj_gpu *gpu;                /* of the buffers */
    struct CUstream_st *stream; /* of all copies and launches */
    tj_workbench *operands;
    tj_problem known;       /* of the workbench: how the matrices lie */
    const tj_operands *set; /* of the workbench */
    size_t sets;
    void *host_p; /* a product that was read back */
    size_t p_bytes;
    double alpha;
    int is_emulated; /* times mean nothing there: one launch does for many */
    double deadline; /* by tj_clock_s; INFINITY: none. No launch begins that would end behind it, but for a trial's first */
} tj_bench;

/**
 * Place random operands, by a stream that outlives them. is_warm: one set. Otherwise as many sets as exceed three times the L2,
 * as far as a quarter of the free memory goes. Release with tj_bench_drop, after a failure too.
 */
tj_status tj_bench_place(tj_gpu *gpu, struct CUstream_st *stream, const tj_problem *problem, const tj_device_facts *device,
                         uint64_t seed, int is_warm, tj_bench *bench, tj_error *err);
void tj_bench_drop(tj_bench *bench);

/** How many sets of so many bytes exceed three times the L2, as far as a quarter of the free memory goes. */
size_t tj_bench_sets(size_t set_bytes, const tj_device_facts *device, size_t free_bytes);

/** Room for a program's workspace in every set. */
tj_status tj_bench_fit(tj_bench *bench, const tj_program *program, tj_error *err);

/**
 * Time a kernel: state, us, spread of the trial. best_us > 0: one that takes several times as long is given up after two launches, as
 * TJ_TRIAL_SLOW, and one that is merely slower gets fewer launches; so does any before the deadline. A launch that the driver refuses
 * is TJ_TRIAL_REFUSED.
 * Errors: TJ_ERR_DEVICE_LOST, TJ_ERR_DEVICE_MEMORY, TJ_ERR_OUT_OF_MEMORY.
 */
tj_status tj_bench_time(tj_bench *bench, const tj_program *program, double best_us, tj_trial *trial, tj_error *err);

/** The same for anything that can be launched. */
tj_status tj_timed_look(const tj_timed *timed, double best_us, tj_trial *trial, tj_error *err);
tj_status tj_timed_turn(const tj_timed *timed, double us, double *median, tj_error *err);

/** One turn of an interleaved comparison: the median of a few launches. us: what a launch takes, about. */
tj_status tj_bench_turn(tj_bench *bench, const tj_program *program, double us, int is_warm, double *median, tj_error *err);

/** Seconds that such a turn takes on the device. */
double tj_bench_turn_seconds(const tj_bench *bench, double us);

/** Sorts. The median of no values is 0. */
double tj_median(double *value, size_t count);

/** Of sorted values: half the distance of the quartiles, by the median; 0 if that is 0. */
double tj_spread(const double *sorted, size_t count);

#endif
