/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure: place operands on the device, and time a kernel over them.
 */
#ifndef TJ_TUNER_MEASURE_H
#define TJ_TUNER_MEASURE_H

#include <tilejit/reference.h>
#include <tilejit/tuner.h>

#include "buffer.h"
#include "program.h"
#include "timing.h"
#include "workbench.h"

/** The subject of a measurement: launches of a product's kernel, or of any other, over sets of operands in turn. */
typedef struct tj_timed {
    tj_gpu *gpu;
    struct CUstream_st *stream;
    size_t sets;
    int is_emulated; /* times are meaningless, so one launch stands for many */
    double deadline; /* as tj_bench.deadline */
    tj_launch_fn *launch;
    const void *what;
} tj_timed;

/** The operands of one problem: sets of M, N, C and P that together exceed the L2. */
typedef struct tj_bench {
    tj_gpu *gpu;                /* of the buffers */
    struct CUstream_st *stream; /* of all copies and launches */
    tj_workbench *operands;
    tj_problem known;       /* of the workbench: the layout of the matrices */
    const tj_operands *set; /* of the workbench */
    size_t sets;
    void *host_p; /* a product that was copied back */
    size_t p_bytes;
    double alpha;
    int is_emulated; /* times are meaningless, so one launch stands for many */
    double deadline; /* by tj_clock_s; INFINITY: none. Launches that would end after it do not begin, except a trial's first */
} tj_bench;

/**
 * Place random operands, by a stream that outlives them. is_warm: one set. Otherwise enough sets to exceed three times the L2,
 * within a quarter of the free memory. Release with tj_bench_drop, after a failure too.
 */
tj_status tj_bench_place(tj_gpu *gpu, struct CUstream_st *stream, const tj_request *request, const tj_device_facts *device,
                         uint64_t seed, int is_warm, tj_bench *bench, tj_error *err);
void tj_bench_drop(tj_bench *bench);

/** Return the number of sets of set_bytes that exceed three times the L2, within a quarter of the free memory. */
size_t tj_bench_sets(size_t set_bytes, const tj_device_facts *device, size_t free_bytes);

/** Make room for a program's workspace in every set. */
tj_status tj_bench_fit(tj_bench *bench, const tj_program *program, tj_error *err);

/**
 * Time a kernel: set state, us and spread of the trial. best_us > 0: a kernel that takes several times as long is given up
 * after two launches, as TJ_TRIAL_SLOW, or before any if trial->predicted_us is ten times that; a slower one gets fewer launches, and so does any before the deadline. A launch that
 * the driver refuses is TJ_TRIAL_REFUSED.
 * Errors: TJ_ERR_DEVICE_LOST, TJ_ERR_DEVICE_MEMORY, TJ_ERR_OUT_OF_MEMORY.
 */
tj_status tj_bench_time(tj_bench *bench, const tj_program *program, double best_us, tj_trial *trial, tj_error *err);

/** As tj_bench_time, for anything that can be launched. */
tj_status tj_timed_look(const tj_timed *timed, double best_us, tj_trial *trial, tj_error *err);
tj_status tj_timed_round(const tj_timed *timed, double us, double *median, tj_error *err);

/** Time one round of an interleaved comparison: the median of a few launches. us: approximate time of a launch. */
tj_status tj_bench_round(tj_bench *bench, const tj_program *program, double us, int is_warm, double *median, tj_error *err);

/** Return the seconds that such a round takes on the device, over a number of sets of operands. */
double tj_round_seconds(double us, size_t sets);

/** Set a trial to TJ_TRIAL_REFUSED, unless the failure concerns all configs: then return it, to end the tuning. */
tj_status tj_trial_refuse(tj_trial *trial, tj_status status, const tj_error *why, tj_error *err);

/** Return the median, and sort the values. The median of no values is 0. */
double tj_median(double *value, size_t count);

/** Return half the distance of the quartiles of sorted values, relative to the median; 0 if that is 0. */
double tj_spread(const double *sorted, size_t count);

#endif
