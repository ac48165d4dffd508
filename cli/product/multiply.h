/* SPDX-License-Identifier: Apache-2.0 */
/*
 * multiply: one product on the device: computed, timed, checked, and told about. What matmul and run share.
 */
#ifndef TJ_CLI_MULTIPLY_H
#define TJ_CLI_MULTIPLY_H

#include <tilejit/reference.h>

#include "launch.h"
#include "machine.h"
#include "request.h"

typedef struct cli_check_options {
    int32_t no_check;
    cli_real budget;
} cli_check_options;

extern const cli_group cli_check_group;

/** What is counted of the launch, on the emulator: nothing, in all, by line. */
enum { CLI_COUNT = 1, CLI_COUNT_LINES = 2 };

typedef struct cli_product {
    const cli_request *request;
    const void *host[TJ_MATRICES]; /* M, N and C as tj_problem_strided(request->known) lays them out; NULL: random, of a seed */
    uint64_t seed;
    void *p; /* receives P, laid out so */
    cli_timing timing;
    const cli_check_options *check;
    int32_t counts;
} cli_product;

/**
 * Prepare, copy, launch, read back, time, check, and tell. With no driver the kernel is generated, compiled and stored all the
 * same, and the failure says so. CLI_CHECK_FAILED: P is there, and wrong.
 */
cli_exit cli_multiply(const cli_call *call, const cli_machine_options *machine, tj_context *context, const cli_product *product,
                      tj_error *err);

#endif
