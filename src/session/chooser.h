/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chooser: the config of a problem for which the caller names none.
 *
 *     chooser.c      the context's records, read when they are first needed and again when they changed; tj_choose
 *     background.c   tuning of problems without a record, and proofs, on a thread, where the context's options ask for it
 */
#ifndef TJ_SESSION_CHOOSER_H
#define TJ_SESSION_CHOOSER_H

#include <tilejit/tuner.h>

#include "context.h"

struct tj_chooser *tj_chooser_create(void);
void tj_chooser_free(struct tj_chooser *chooser);

/**
 * tj_choose_another with the records of the context's store. Makes no CUDA call; reads files only if records may have changed in
 * this process since the last time. Trouble with records is none of the caller's: the choice is then made without them.
 */
tj_status tj_context_choose(tj_context *context, const tj_device_facts *device, const tj_problem *problem,
                            const tj_config *refused, size_t refused_count, tj_config *config, tj_chosen_by *chosen_by,
                            tj_error *err);

/** Records were written or removed. */
void tj_context_records_changed(tj_context *context);

/** seconds: to tune each problem; 0: none is tuned. NULL only when memory ran out. Starts no thread yet. */
struct tj_background *tj_background_create(tj_context *context, double seconds);

/** Stop what is going on, keep what was found, wait for the thread. NULL: accepted. */
void tj_background_free(struct tj_background *background);

/**
 * Tune a problem, or prove the kernel of its plan, some time, unless it was asked before. Never waits; forgotten when memory runs out. NULL
 * background: nothing. config NULL: the library's choice, which is made again if the proof fails.
 */
void tj_background_tune(struct tj_background *background, const tj_problem *problem);
void tj_background_prove(struct tj_background *background, const tj_problem *problem, const tj_config *config);

#endif
