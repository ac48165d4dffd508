/* SPDX-License-Identifier: Apache-2.0 */
#include "rank.h"

#include "estimate.h"
#include "settle.h"

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
    double us;

    return tj_estimate_resolved(device, counted, resolved, &us, NULL) == TJ_OK ? us * 1e-6 : 0;
}
