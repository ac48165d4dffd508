/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trials: tables of measured times, which ship with the library or are made with tilejit tune --pack-trials.
 *
 * A table is a text of one device:
 *
 *     tilejit trials 1 CHECKSUM                  XXH3-128 of all that follows this line, 32 hex digits
 *     {"cc_major":9, ... "name":"NVIDIA H200"}   the device
 *     j512 k4096 l4096 bf16 N:col                a problem, as tj_problem_print writes it; problems are sorted by this line
 *     12210 wgmma:bm=64,bn=128                   nanoseconds and config of one trial, parameters at their defaults left out; the
 *     12730 mma:bm=64,bn=64                      fastest first
 *
 *     trials.c     read, merge, select and print tables
 *     expect.c     expected times of configs, from the model and the trials of similar problems
 */
#ifndef TJ_TUNER_TRIALS_H
#define TJ_TUNER_TRIALS_H

#include <stdbool.h>

#include <tilejit/tuner.h>

enum {
    TJ_TRIALS_MOST_BYTES = 64 << 20,
    TJ_TRIALS_KEPT = 10 /* of each problem in a table: more cost bytes and bring nothing (docs/trials.md) */
};

typedef struct tj_measured {
    const char *config; /* as it was printed */
    int64_t ns;
} tj_measured;

/** A problem and its trials, the fastest first. */
typedef struct tj_measured_problem {
    tj_problem problem; /* canonical */
    const char *text;
    const tj_measured *trial;
    size_t trials;
} tj_measured_problem;

/** Return problem number index; NULL past the end. Owned: borrowed. */
const tj_measured_problem *tj_trials_at(const tj_trials *trials, size_t index);

/** The device on which they were measured. */
const tj_device_facts *tj_trials_device(const tj_trials *trials);

#endif
