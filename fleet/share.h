/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TJ_FLEET_SHARE_H
#define TJ_FLEET_SHARE_H

#include "fleet.h"

/* As in fleet_table. */
tj_status fleet_share_create(const char *url, fleet_merge *merge, const tj_log *log, fleet_share **share, tj_error *err);
void fleet_share_free(fleet_share *share);
bool fleet_share_fetch(fleet_share *share, fleet_kind kind, const char *of, const char *name, void **bytes, size_t *size);
void fleet_share_offer(fleet_share *share, fleet_kind kind, const char *of, const char *name, const void *bytes, size_t size,
                       bool is_led);
bool fleet_share_lead(fleet_share *share, const char *name, void **bytes, size_t *size);
void fleet_share_yield(fleet_share *share, const char *name);
const char *fleet_share_generation(const fleet_share *share);
bool fleet_share_writes(const fleet_share *share);
tj_status fleet_share_ping(fleet_share *share, const char **shown, tj_error *err);
void fleet_share_count(fleet_share *share, fleet_share_counts *counts);

#endif
