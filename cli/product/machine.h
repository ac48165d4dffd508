/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine: the options that say with what and where to compute, and the context that they ask for.
 */
#ifndef TJ_CLI_MACHINE_H
#define TJ_CLI_MACHINE_H

#include <tilejit/context.h>

#include "command.h"

typedef struct cli_machine_options {
    const char *arch, *device, *cache_dir, *nvrtc, *driver, *dump_dir;
    int32_t no_cache;
} cli_machine_options;

extern const cli_group cli_machine_group;

/** A context as the words want it. */
tj_status cli_context_create(const cli_call *call, const cli_machine_options *machine, tj_context **context, tj_error *err);

/** Do the words leave open what computes: --device auto, and no driver named? */
bool cli_may_emulate(const cli_machine_options *machine);

/** The same to run on: where the words leave that open, the emulator if there is no GPU, which stderr is told in a line. */
tj_status cli_context_create_to_run(const cli_call *call, const cli_machine_options *machine, tj_context **context,
                                    tj_error *err);

/**
 * That of tilejit run, or with --arch, for a device that need not be here, that of tilejit compile: what explain and cache explain look
 * with. Its target is cli_target's.
 */
tj_status cli_context_create_to_look(const cli_call *call, const cli_machine_options *machine, tj_context **context,
                                     tj_error *err);

/** The device that such a context uses when none is current: --device, $TILEJIT_DEVICE, 0. */
int cli_device_ordinal(const cli_machine_options *machine);

/** --arch; else the target of the device; else, with no driver, sm_90. */
tj_status cli_target(tj_context *context, const cli_machine_options *machine, char target[16], tj_error *err);

/** The facts of the product that a target stands for: sm_90a and compute_90 are an sm_90 here. */
tj_status cli_device_of_target(const char *target, tj_device_facts *facts, tj_error *err);

/** --arch is for what is not run: a device decides for itself what is compiled for it. */
tj_status cli_refuse_arch(const cli_call *call, const cli_machine_options *machine, tj_error *err);

#endif
