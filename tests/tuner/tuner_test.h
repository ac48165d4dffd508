/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tuner_test: devices and problems that the tuner's tests share. No device is needed: these are facts.
 */
#ifndef TJ_TUNER_TEST_H
#define TJ_TUNER_TEST_H

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/tools.h>

/** An H200's facts. */
static inline tj_device_facts h200(void)
{
    return (tj_device_facts){.name = "NVIDIA H200",
                             .cc_major = 9,
                             .sm_count = 132,
                             .max_threads_per_block = 1024,
                             .max_threads_per_sm = 2048,
                             .max_blocks_per_sm = 32,
                             .registers_per_block = 65536,
                             .registers_per_sm = 65536,
                             .shared_per_block = 49152,
                             .shared_per_block_optin = 232448,
                             .shared_per_sm = 233472,
                             .reserved_shared_per_block = 1024,
                             .l2_bytes = 62914560,
                             .clock_khz = 1980000,
                             .memory_clock_khz = 3201000,
                             .memory_bus_bits = 6016,
                             .driver_version = 13000};
}

/** A T4's: before cp.async, with 64 KiB of shared memory. */
static inline tj_device_facts t4(void)
{
    tj_device_facts d = h200();

    strcpy(d.name, "Tesla T4");
    d.cc_major = 7;
    d.cc_minor = 5;
    d.sm_count = 40;
    d.max_threads_per_sm = 1024;
    d.max_blocks_per_sm = 16;
    d.shared_per_block_optin = d.shared_per_sm = 65536;
    d.reserved_shared_per_block = 0;
    d.l2_bytes = 4194304;
    d.clock_khz = 1590000;
    d.memory_clock_khz = 5001000;
    d.memory_bus_bits = 256;
    return d;
}

static inline tj_problem f32(int64_t j, int64_t k, int64_t l)
{
    return (tj_problem)TJ_PROBLEM_INIT(j, k, l, TJ_F32);
}

/** The predicted seconds of a config; 0: no prediction. */
static inline double predicted(const tj_device_facts *device, const tj_problem *problem, const tj_config *config)
{
    double us;

    return tj_estimate(device, problem, config, &us, NULL) == TJ_OK ? us * 1e-6 : 0;
}

#endif
