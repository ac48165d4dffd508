/* SPDX-License-Identifier: Apache-2.0 */
#include "queue.h"
#include "share.h"

static const fleet_table table = {
    .version = FLEET_TABLE_VERSION,
    .share_create = fleet_share_create,
    .share_free = fleet_share_free,
    .fetch = fleet_share_fetch,
    .offer = fleet_share_offer,
    .lead = fleet_share_lead,
    .yield = fleet_share_yield,
    .generation = fleet_share_generation,
    .writes = fleet_share_writes,
    .ping = fleet_share_ping,
    .share_count = fleet_share_count,
    .open = fleet_open,
    .close = fleet_close,
    .submit = fleet_submit,
    .status = fleet_status,
    .cancel = fleet_cancel,
    .each_record = fleet_each_record,
    .keep_generation = fleet_keep_generation,
    .work = fleet_work_on,
    .make_key = fleet_make_key,
};

fleet_entry tilejit_fleet_table;

__attribute__((visibility("default"))) const fleet_table *tilejit_fleet_table(void)
{
    return &table;
}
