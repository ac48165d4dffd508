/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choices: choices by the model and by tables of trials, kept in the store, so that the next process need not make them again.
 *
 * To rank a few hundred configs takes milliseconds; to read a line of this file does not. It holds choices of this very build
 * of the library and these tables alone, since others may choose otherwise, and is as disposable as the rest of a store: a lost
 * choice is made again.
 */
#ifndef TJ_SESSION_CHOICES_H
#define TJ_SESSION_CHOICES_H

#include <stdbool.h>

#include <tilejit/tuner.h>

#include "disk_store.h"

struct tj_choices;
struct tj_tables;

/** Is a choice kept that was made so? A record or a pack is as quick to read. */
static inline bool tj_choice_is_kept(tj_chosen_by by)
{
    return by == TJ_BY_MODEL || by == TJ_BY_DEFAULT || by == TJ_BY_NEAREST || by == TJ_BY_TRIALS;
}

/** tables: those that choices go by; borrowed. NULL: out of memory. Reads nothing yet. */
struct tj_choices *tj_choices_create(const struct tj_tables *tables);
void tj_choices_free(struct tj_choices *choices);

/** The config that was chosen, as text, until the next call; NULL: none was. One thread at a time. */
const char *tj_choices_recall(struct tj_choices *choices, tj_disk_store *store, const tj_problem *problem,
                              const tj_device_facts *device, tj_chosen_by *chosen_by);

/** Write down a choice that was made and can be launched. Trouble is forgotten. One thread at a time. */
void tj_choices_remember(struct tj_choices *choices, tj_disk_store *store, const tj_problem *problem,
                         const tj_device_facts *device, const tj_config *config, tj_chosen_by chosen_by);

#endif
