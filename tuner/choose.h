/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose: declarations that tj_tune and tj_choose share.
 */
#ifndef TJ_TUNER_CHOOSE_H
#define TJ_TUNER_CHOOSE_H

#include <stdbool.h>

#include <tilejit/tuner.h>

#include "request.h"

/** A config that was chosen for a request. */
typedef struct tj_choice {
    tj_config config;   /* as a search writes it */
    tj_config resolved; /* for the request */
    tj_chosen_by by;    /* 0: not known here */
} tj_choice;

/** The configs that must not be chosen, resolved. */
typedef struct tj_refusals {
    const tj_config *config;
    size_t count;
} tj_refusals;

/** Return the safe default, with every default value spelled out as tj_space_next does. */
tj_config tj_default_config(const tj_request *request);

/** Read the config of a record, spelled out. NULL: accepted. False: no record, or a config that this version does not know. */
bool tj_record_read_config(const tj_record *record, tj_config *config);

/** Read a printed config, if this version knows it, the problem admits it and the device can run it. choice->by stays. */
bool tj_choose_written(const char *text, const tj_request *request, const tj_device_facts *device, tj_choice *choice);

/**
 * List the configs of similar problems, of tables of trials and records, that are expected to be the fastest here, best first.
 * Returns their number, at most capacity, which is TJ_MOST_PROMISING at most.
 */
size_t tj_choose_promising(const tj_records *records, const tj_request *request, const tj_device_facts *device,
                           tj_config *promising, size_t capacity);

enum { TJ_MOST_PROMISING = 8 };

/** Does this status mean that the kernel exists but may not be launched, so that another config should be chosen? */
static inline bool tj_status_is_unfit(tj_status status)
{
    return status == TJ_ERR_SPILLS || status == TJ_ERR_CHECK_FAILED;
}

/** Prepare a config for launch. */
typedef tj_status tj_fits_fn(void *payload, const tj_config *config, tj_error *err);

/**
 * Choose for a request. refused lists earlier choices that were unfit (TJ_ERR_SPILLS, or a proof that failed), in their order.
 * There are two candidates: the last refused config with looser launch bounds or a smaller tile, and the best config not
 * refused. The model picks the faster; after some refusals the first one is taken, if it exists; and after TJ_MOST_REFUSED,
 * since each may cost a compile, the safe default, which is never unfit. If the last one was loosened, choice->by is unchanged.
 * records may be NULL. Errors: those of tj_choose.
 */
tj_status tj_choose_for(const tj_records *records, const tj_request *request, const tj_device_facts *device,
                        tj_refusals refused, tj_choice *choice, tj_error *err);

/** tj_choose_for, repeated until a config is not unfit. Errors: its own and those of fits. */
tj_status tj_choose_fitting(const tj_records *records, const tj_request *request, const tj_device_facts *device,
                            tj_fits_fn *fits, void *payload, tj_config *config, tj_error *err);

#endif
