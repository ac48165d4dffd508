/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chooser: the config of a problem for which the caller names none.
 */
#ifndef TJ_SESSION_CHOOSER_H
#define TJ_SESSION_CHOOSER_H

#include <tilejit/tuner.h>

#include "choose.h"
#include "context.h"

/** tables: as for tj_tables_create. */
struct tj_chooser *tj_chooser_create(const char *tables);
void tj_chooser_free(struct tj_chooser *chooser);

/** The tables of trials, for tj_tables_each alone. */
struct tj_tables;
const struct tj_tables *tj_chooser_tables(const struct tj_chooser *chooser);

/** Visit the trials by which a problem without a record is chosen for (tj_context_neighbours). */
void tj_context_visit_neighbours(tj_context *context, const tj_device_facts *device, const tj_request *request,
                                 tj_neighbour_visit visit, void *payload);

/** Return an empty set of records with the tables of trials, which lasts as long as the context. NULL when memory ran out. */
const tj_records *tj_context_shipped(tj_context *context);

/** The sources that a choice may use. */
typedef enum tj_choosing {
    TJ_CHOOSE_FOR,  /**< for a device whose facts are all given; it may be absent */
    TJ_CHOOSE_HERE, /**< for a present device: its clocks are queried if the model needs them */
    TJ_CHOOSE_KNOWN /**< for such a device, from stored choices alone: neither the remote nor the model is asked */
} tj_choosing;

/**
 * Choose by the record of the context's store; else that of a pack, or of the remote; else the choice stored in a pack; else
 * tj_choose_for. If a generation of records is pinned, it replaces store and remote. Reads files only if records may have
 * changed in this process since the last time. Failures with records are not reported: the choice is then made without them.
 * Errors: those of tj_choose; TJ_ERR_NOT_FOUND: no choice is stored, and no other source may be asked.
 */
tj_status tj_context_choose(tj_context *context, tj_choosing how, const tj_device_facts *device, const tj_request *request,
                            tj_refusals refused, tj_choice *choice, tj_error *err);

/**
 * Return the choice for a problem that is stored in a pack of the context, if the device can run it. False: no pack has one.
 */
bool tj_context_choose_packed(tj_context *context, const tj_device_facts *device, const tj_request *request, tj_choice *choice);

/**
 * Was a kernel chosen for a problem when a pack of the context was made, or for one that leaves dimensions of it to the launch?
 * Only the packs are asked. *general: that one.
 */
typedef enum tj_in_packs { TJ_IN_NO_PACK, TJ_IN_PACK, TJ_IN_PACK_FOR_MORE } tj_in_packs;
tj_in_packs tj_context_look_into_packs(tj_context *context, const tj_device_facts *device, const tj_request *request,
                                       tj_request *general);

/**
 * Report that a choice of tj_context_choose can be launched: it is kept in the store, so that the next process need not choose.
 * Only choices of the model, without a record or a pack.
 */
void tj_context_remember_choice(tj_context *context, const tj_device_facts *device, const tj_request *request,
                                const tj_choice *choice);

/** Records were written or removed. */
void tj_context_records_changed(tj_context *context);

#endif
