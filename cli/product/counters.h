/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counters: what the emulator counted of a launch, in words and in JSON.
 */
#ifndef TJ_CLI_COUNTERS_H
#define TJ_CLI_COUNTERS_H

#include <tilejit/emulator.h>
#include <tilejit/plan.h>

#include "command.h"

/** Launch a plan and have its first kernel counted, or its last. */
tj_status cli_count_kernel(tj_context *context, const tj_emulator *emulator, const tj_plan *plan, const tj_operands *operands,
                           bool is_first, cuEmuLaunch *launch, tj_error *err);

/**
 * What --count asks for: have the launch that follows counted, then tell, with by_line line by line of the CUDA text. Of a split k
 * that counts the first kernel; the second one is counted by a launch of its own. In words each, in JSON their sum.
 * Errors: TJ_ERR_UNSUPPORTED: the device is no emulator.
 */
tj_status cli_count_begin(bool by_line, tj_context *context, const tj_plan *plan, tj_error *err);
tj_status cli_count_end(const cli_call *call, bool by_line, tj_context *context, const tj_plan *plan,
                        const tj_operands *operands, tj_error *err);

/** Add one to sum, counter by counter. */
void cli_counters_add(cuEmuCounters *sum, const cuEmuCounters *one);

/** Every counter by its name. Owned: the caller. */
json_t *cli_counters_json(const cuEmuCounters *counters);

#endif
