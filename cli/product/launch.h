/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch: a plan launched once, with progress on a terminal where the emulator takes more than a moment, or for its time.
 */
#ifndef TJ_CLI_LAUNCH_H
#define TJ_CLI_LAUNCH_H

#include <tilejit/emulator.h>
#include <tilejit/plan.h>

#include "command.h"

/** Launch and wait. emulator NULL: it is a GPU, and no progress is shown. */
tj_status cli_launch(tj_context *context, const tj_emulator *emulator, const tj_plan *plan, const tj_operands *operands,
                     tj_error *err);

/** How many launches. As options: warmup below 0, repeat 0: not given. */
typedef struct cli_timing {
    int64_t warmup, repeat;
} cli_timing;

extern const cli_group cli_timing_group;

/** What was given, and the command's own numbers where it was not. */
cli_timing cli_timing_or(cli_timing given, int64_t warmup, int64_t repeat);

/** Median and minimum of the timed launches. */
tj_status cli_time(tj_context *context, const tj_plan *plan, const tj_operands *operands, cli_timing timing, double *median_us,
                   double *least_us, tj_error *err);

#endif
