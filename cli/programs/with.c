/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit with: run a program whose matrix products TileJIT computes where it is faster than cuBLAS.
 */
#include <unistd.h>

#include "programs.h"

typedef struct with_options {
    int32_t is_always, is_recorded;
} with_options;

static const cli_option own[] = {
    {"always", CLI_FLAG, offsetof(with_options, is_always),
     "Compute every product that TileJIT can compute, whichever is faster.", .low = 1},
    {"only-recorded", CLI_FLAG, offsetof(with_options, is_recorded),
     "Compute the products whose kernel a record of a tuning, a pack or a table of trials names, and measure nothing.",
     .low = 1},
    {NULL},
};

static tj_status check(const void *options, tj_error *err)
{
    const with_options *o = options;

    return o->is_always && o->is_recorded
               ? tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--always and --only-recorded exclude each other: give one")
               : TJ_OK;
}

static const cli_group group = {"Programs", own, check};

static cli_exit with(cli_call *call, tj_error *err)
{
    const with_options *o = call->options;
    char task[48];

    (void)snprintf(task, sizeof task, "%s@%ld",
                   o->is_always     ? "with:always"
                   : o->is_recorded ? "with:recorded"
                                    : "with",
                   (long)getpid());
    if (programs_prepare(call, task, err) != TJ_OK)
        return CLI_FAILED;
    return programs_become(call->program, err);
}

const cli_command cli_with = {
    .name = "with",
    .operands = "-- <program> [arguments]",
    .runs_program = true,
    .summary = "run a program; TileJIT computes its cuBLAS products where that is faster",
    .text =
        "Preloads libtilejit_blas.so, which intercepts the calls of cuBLAS and cuBLASLt. tilejit then becomes the program: "
        "exit code and signals are the program's.\n\nNo call waits for a kernel. When cuBLAS has spent a millisecond on a "
        "product, or a CUDA graph captures it, threads of the library compile a kernel for it, while cuBLAS continues to "
        "compute it. Then the two take turns, each call is timed on the device, and after seven calls of each the faster one "
        "computes the product from then on. The times are kept in the store: the program's next run loads the faster kernels "
        "before its first call. The precision is at least the one that the call requests; calls that TileJIT cannot compute, "
        "or does not know, go to cuBLAS unchanged. --verbose prints the decisions; the variables of docs/environment.md "
        "apply to the library in the program. docs/programs.md lists the calls that are reached, and those that are not.",
    .example = "tilejit with -- python train.py\ntilejit with --only-recorded -- ./app args\n",
    .takes = {{&group}},
    .option_bytes = sizeof(with_options),
    .run = with,
};
