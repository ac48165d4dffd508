/* SPDX-License-Identifier: Apache-2.0 */
#include "visit.h"

#include "error.h"

/* Every driver since CUDA 4 has these, so only an imitation can lack one. */
static tj_status check_calls(const tj_driver *driver, tj_error *err)
{
    const tj_driver_api *api = &driver->api;

    if (api->mem_alloc && api->mem_free && api->mem_get_info && api->memcpy_to_device && api->memcpy_to_host &&
        api->memset_bytes && api->stream_create && api->stream_destroy && api->stream_synchronize && api->event_create &&
        api->event_record && api->event_synchronize && api->event_elapsed && api->event_destroy)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_UNSUPPORTED, "the driver %s lacks the memory or event calls of CUDA 4.0", driver->path);
}

void tj_visit_leave(tj_visit *v)
{
    (void)tj_driver_obey_captures(v->scope.driver, v->mode);
    tj_scope_leave(&v->scope);
}

tj_status tj_visit_enter(tj_gpu *gpu, tj_visit *v, tj_error *err)
{
    tj_status status = tj_gpu_check_process(gpu, err);

    if (status == TJ_OK)
        status = tj_scope_enter(gpu, &v->scope, err);
    if (status != TJ_OK)
        return status;
    (void)tj_driver_ignore_captures(v->scope.driver, &v->mode);
    status = check_calls(v->scope.driver, err);
    if (status != TJ_OK)
        tj_visit_leave(v);
    return status;
}
