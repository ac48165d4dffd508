/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose: what tj_tune shares with tj_choose.
 */
#ifndef TJ_TUNER_CHOOSE_H
#define TJ_TUNER_CHOOSE_H

#include <stdbool.h>

#include <tilejit/tuner.h>

/** The safe default, with every default value spelled out as tj_space_next does. */
tj_config tj_default_config(const tj_problem *problem);

/** The config of a record, spelled out. NULL: there is none. False: none, or one that this version does not know. */
bool tj_record_read_config(const tj_record *record, tj_config *config);

/** A config that was written down: if this version knows it, the problem admits it and the device can run it. Spelled out. */
bool tj_choose_written(const char *text, const tj_problem *problem, const tj_device_facts *device, tj_config *config);

/**
 * Configs of records that may be good here, nearest first: of this kind of device for similar problems, of other devices for
 * this problem and similar ones. The answer is how many, at most capacity.
 */
size_t tj_choose_seeds(const tj_records *records, const tj_problem *problem, const tj_device_facts *device, tj_config *seed,
                       size_t capacity);

/** Does this status say that a kernel was made, and may not be launched, so that another config should be taken? */
static inline bool tj_status_is_unfit(tj_status status)
{
    return status == TJ_ERR_SPILLS || status == TJ_ERR_CHECK_FAILED;
}

/** Makes what a config needs to be launched. */
typedef tj_status tj_fits_fn(void *payload, const tj_config *config, tj_error *err);

/** tj_choose, until a config is found that is not unfit. Errors: those of tj_choose_another and of fits. */
tj_status tj_choose_fitting(const tj_records *records, const tj_problem *problem, const tj_device_facts *device,
                            tj_fits_fn *fits, void *payload, tj_config *config, tj_error *err);

#endif
