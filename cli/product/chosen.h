/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chosen: the config where the words name none, as a plan would choose it, and who chose it.
 */
#ifndef TJ_CLI_CHOSEN_H
#define TJ_CLI_CHOSEN_H

#include "machine.h"
#include "request.h"

/** The library's choice for a problem on a device, with the records of the context's store. */
tj_status cli_choose(tj_context *context, const tj_device_facts *facts, const tj_problem *problem, tj_config *config,
                     tj_chosen_by *by, tj_error *err);

/**
 * The config, where the words name none, as the library would choose it (by record, else by model); else the tile width that they
 * leave open. For the device of context, or with --arch, or without a driver, for the product that target stands for. A target that
 * stands for none changes nothing.
 */
tj_status cli_adapt(tj_context *context, const cli_machine_options *machine, const char *target, cli_request *request,
                    tj_error *err);

/** Who chose, in words: behind "chosen by"; for JSON; and as a member and a line on out, if someone did. */
const char *cli_chosen_by(tj_chosen_by by);
const char *cli_chosen_word(tj_chosen_by by);
void cli_tell_chosen(const cli_call *call, FILE *out, tj_chosen_by by);

#endif
