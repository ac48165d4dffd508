/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chooser: the config of a problem for which the caller names none.
 */
#ifndef TJ_SESSION_CHOOSER_H
#define TJ_SESSION_CHOOSER_H

#include <tilejit/tuner.h>

#include "context.h"

struct tj_chooser *tj_chooser_create(void);
void tj_chooser_free(struct tj_chooser *chooser);

/** What a choice may take. */
typedef enum tj_choosing {
    TJ_CHOOSE_FOR,  /**< for a device of which everything is given; it need not be here */
    TJ_CHOOSE_HERE, /**< for a device that is here: its clocks are asked for where the model needs them */
    TJ_CHOOSE_KNOWN /**< for such a device, by what is written down here alone: neither the remote nor the model is asked */
} tj_choosing;

/**
 * The record of the context's store; else that of a pack, or of the remote; else what was chosen when a pack was made; else
 * tj_choose_another. Where a generation of records is pinned, that instead of store and remote. Reads files only if
 * records may have changed in this process since the last time. Trouble with records is none of the caller's: the choice is then made
 * without them. Errors: those of tj_choose; TJ_ERR_NOT_FOUND: nothing is written down, and nothing else may be asked.
 */
tj_status tj_context_choose(tj_context *context, tj_choosing how, const tj_device_facts *device, const tj_problem *problem,
                            const tj_config *refused, size_t refused_count, tj_config *config, tj_chosen_by *chosen_by,
                            tj_error *err);

/** What was chosen for a problem when a pack of the context was made, if the device can run it. False: no pack says. */
bool tj_context_choose_packed(tj_context *context, const tj_device_facts *device, const tj_problem *problem, tj_config *config);

/**
 * Was a kernel chosen for a problem when a pack of the context was made, or for one that leaves dimensions of it to the launch? Only the
 * packs are asked. *general: that one.
 */
typedef enum tj_in_packs { TJ_IN_NO_PACK, TJ_IN_PACK, TJ_IN_PACK_FOR_MORE } tj_in_packs;
tj_in_packs tj_context_look_into_packs(tj_context *context, const tj_device_facts *device, const tj_problem *problem,
                                       tj_problem *general);

/**
 * What tj_context_choose chose can be launched, and is written down in the store: the next process need not choose. Only what the model
 * chose, without a record or a pack.
 */
void tj_context_remember_choice(tj_context *context, const tj_device_facts *device, const tj_problem *problem,
                                const tj_config *config, tj_chosen_by by);

/** Records were written or removed. */
void tj_context_records_changed(tj_context *context);

#endif
