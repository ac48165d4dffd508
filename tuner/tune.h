/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tune: the search over a device, the comparison of its finalists, and the record.
 */
#ifndef TJ_TUNER_TUNE_H
#define TJ_TUNER_TUNE_H

#include <tilejit/tuner.h>

#include "host.h"
#include "pool.h"
#include "request.h"

/**
 * tj_tune on a host; the options were checked. rest: where the pool waits between tunings. shipped: trials that
 * choices may go by, as long as rest lasts; NULL: none. next: that of the options, or NULL. Earlier choices of the host stay in
 * effect; *result says whether a record was kept.
 */
tj_status tj_tune_on(tj_host *host, tj_pool_rest *rest, const tj_records *shipped, const tj_request *request,
                     const tj_request *next, const tj_tune_options *options, tj_tune_result *result, tj_error *err);

#endif
