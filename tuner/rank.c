/* SPDX-License-Identifier: Apache-2.0 */
#include "rank.h"

#include "estimate.h"
#include "settle.h"

/* The advantage in time that a config must have that takes more of the device than the problem's share. */
static const double ASTRAY = 1.25;

double tj_rank_predict(const tj_device_facts *device, const tj_request *request, const tj_config *config)
{
    tj_config resolved = *config;
    tj_request counted;

    if (tj_request_resolve(request, &resolved, NULL) != TJ_OK)
        return 0;
    tj_request_counted(request, &counted);
    return tj_rank_resolved(device, &counted, &resolved);
}

double tj_rank_resolved(const tj_device_facts *device, const tj_request *counted, const tj_config *resolved)
{
    tj_estimate_basis basis;

    if (tj_estimate_count(device, counted, resolved, &basis, NULL) != TJ_OK)
        return 0;
    return tj_estimate_us(&basis) * 1e-6 * (basis.keeps_share ? 1 : ASTRAY);
}
