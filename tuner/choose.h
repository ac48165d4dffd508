/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose: declarations that tj_tune and tj_choose share.
 */
#ifndef TJ_TUNER_CHOOSE_H
#define TJ_TUNER_CHOOSE_H

#include <stdbool.h>

#include <tilejit/tuner.h>

/** Return the safe default, with every default value spelled out as tj_space_next does. */
tj_config tj_default_config(const tj_problem *problem);

/** Read the config of a record, spelled out. NULL: accepted. False: no record, or a config that this version does not know. */
bool tj_record_read_config(const tj_record *record, tj_config *config);

/** Read a printed config, if this version knows it, the problem admits it and the device can run it. Spelled out. */
bool tj_choose_written(const char *text, const tj_problem *problem, const tj_device_facts *device, tj_config *config);

/**
 * List configs of records that may be good here, nearest first: of this kind of device for similar problems, then of other
 * devices for this problem and similar ones. Returns their number, at most capacity.
 */
size_t tj_choose_seeds(const tj_records *records, const tj_problem *problem, const tj_device_facts *device, tj_config *seed,
                       size_t capacity);

/** Does this status mean that the kernel exists but may not be launched, so that another config should be chosen? */
static inline bool tj_status_is_unfit(tj_status status)
{
    return status == TJ_ERR_SPILLS || status == TJ_ERR_CHECK_FAILED;
}

/** Prepare a config for launch. */
typedef tj_status tj_fits_fn(void *payload, const tj_config *config, tj_error *err);

/**
 * Choose again, because earlier choices were unfit (TJ_ERR_SPILLS, or a proof that failed). refused lists these in their order,
 * as tj_source_config gives them. There are two candidates: the last refused config with looser launch bounds or a smaller
 * tile, and the best config not refused. The model picks the faster; after some refusals the first one is taken, if it exists;
 * and after TJ_MOST_REFUSED, since each may cost a compile, the safe default, which is never unfit. If the last one was
 * loosened, *chosen_by is unchanged.
 * refused may be NULL if refused_count is 0. Otherwise as tj_choose.
 */
tj_status tj_choose_another(const tj_records *records, const tj_problem *problem, const tj_device_facts *device,
                            const tj_config *refused, size_t refused_count, tj_config *config, tj_chosen_by *chosen_by,
                            tj_error *err);

/** tj_choose, repeated until a config is not unfit. Errors: those of tj_choose_another and of fits. */
tj_status tj_choose_fitting(const tj_records *records, const tj_problem *problem, const tj_device_facts *device,
                            tj_fits_fn *fits, void *payload, tj_config *config, tj_error *err);

#endif
