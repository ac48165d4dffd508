/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_api: the public look into a context's store.
 */
#include <tilejit/store.h>

#include <string.h>

#include "choose.h"
#include "context.h"
#include "error.h"
#include "image.h"

tj_status tj_store_list(tj_context *context, int verify, tj_store_visit visit, void *payload, tj_error *err)
{
    if (!context)
        return tj_fail_null(err, __func__, "context");
    if (!visit)
        return tj_fail_null(err, __func__, "visit");
    return tj_disk_store_list(context->store, verify != 0, visit, payload, err);
}

tj_status tj_store_clear(tj_context *context, int only_damaged, int64_t *removed, tj_error *err)
{
    if (!context)
        return tj_fail_null(err, __func__, "context");
    return tj_disk_store_clear(context->store, only_damaged != 0, removed, err);
}

const char *tj_store_path(const tj_context *context)
{
    if (!context)
        return NULL;
    return tj_disk_store_path(context->store);
}

const char *tj_store_trouble(tj_context *context)
{
    if (!context)
        return NULL;
    return context->why_no_store ? context->why_no_store : tj_disk_store_trouble(context->store);
}

int64_t tj_store_max_bytes(const tj_context *context)
{
    if (!context)
        return 0;
    return tj_disk_store_max_bytes(context->store);
}

void tj_store_put_image(tj_context *context, const tj_source *source, const tj_image *image)
{
    if (!context || !source || !image)
        return;
    tj_image_publish(context, source, image->body);
}

static const char RECORDS[] = "records";

tj_status tj_store_put_record(tj_context *context, const char *name, const char *text, tj_error *err)
{
    if (!context)
        return tj_fail_null(err, __func__, "context");
    if (!name)
        return tj_fail_null(err, __func__, "name");
    if (!text)
        return tj_fail_null(err, __func__, "text");
    tj_status status = tj_disk_store_put_text(context->store, RECORDS, name, text, err);

    if (status == TJ_OK)
        tj_context_records_changed(context);
    return status;
}

tj_status tj_store_visit_records(tj_context *context, tj_store_name_filter filter, tj_store_text_visit visit, void *payload,
                                 int64_t *passed_over, tj_error *err)
{
    if (!context)
        return tj_fail_null(err, __func__, "context");
    if (!visit)
        return tj_fail_null(err, __func__, "visit");
    int64_t uncounted;

    return tj_disk_store_each_text(context->store, RECORDS, filter, visit, payload, passed_over ? passed_over : &uncounted,
                                   err);
}

void tj_store_remove_record(tj_context *context, const char *name)
{
    if (!context || !name)
        return;
    tj_disk_store_remove_text(context->store, RECORDS, name);
    tj_context_records_changed(context);
}

void tj_store_warn_lost_record(tj_context *context, const char *reason)
{
    if (!context || !reason)
        return;
    tj_log_line(&context->log, TJ_LOG_WARNING, "the record of this tuning is not kept: %s", reason);
}

void tj_store_warn_record(tj_context *context, const char *name, const char *reason)
{
    if (!context || !name || !reason)
        return;
    tj_disk_store_warn_text(context->store, name, reason);
}

tj_status tj_store_explain(tj_context *context, const tj_source *source, const char *target, char *key_hex, int *hit,
                           tj_store_explain_visit visit, void *payload, tj_error *err)
{
    if (!context)
        return tj_fail_null(err, __func__, "context");
    if (!source)
        return tj_fail_null(err, __func__, "source");
    if (!target)
        return tj_fail_null(err, __func__, "target");
    if (!key_hex)
        return tj_fail_null(err, __func__, "key");
    if (!hit)
        return tj_fail_null(err, __func__, "hit");
    if (!visit)
        return tj_fail_null(err, __func__, "visit");
    tj_image_key_text text;
    tj_key key;
    tj_status status = tj_image_make_key(context, source, target, &text, &key, err);

    if (status != TJ_OK)
        return status;
    memcpy(key_hex, key.hex, sizeof key.hex);
    return tj_disk_store_explain(context->store, &key, hit, visit, payload, err);
}
