/* SPDX-License-Identifier: Apache-2.0 */
/* custom_tune: search the configs of a family of the application. */
#ifndef TJ_TUNER_CUSTOM_TUNE_H
#define TJ_TUNER_CUSTOM_TUNE_H

#include "custom.h"
#include "host.h"

/** tj_custom_tune on a host, without the record. recorded: a resolved config that an earlier tuning chose; NULL: none. */
tj_status tj_custom_tune_on(tj_host *host, const tj_custom *custom, const int64_t *extent, const tj_tune_options *options,
                            const tj_config *recorded, tj_tune_result *result, tj_error *err);

#endif
