/* SPDX-License-Identifier: Apache-2.0 */
/*
 * class: all that the times of a record depend on besides its problem, as an identity that machines compare.
 */
#include <stdio.h>
#include <string.h>

#include <tilejit/tuner.h>
#include <tilejit/version.h>

#include "context.h"
#include "error.h"
#include "hash.h"
#include "nvrtc.h"
#include "record.h"
#include "sized.h"
#include "template.h"

/* Hash the templates of this library, in the order of their names, as embedded. */
static bool hash_templates(char hex[TJ_HASH_HEX_BYTES])
{
    tj_text all = TJ_TEXT_INIT(1 << 20);
    bool is_whole;

    for (size_t i = 0; i < tj_template_file_count; i++) {
        char each[TJ_HASH_HEX_BYTES];

        tj_hash_hex(tj_hash_bytes(tj_template_files[i].bytes, tj_template_files[i].size), each);
        tj_text_append(&all, tj_template_files[i].name);
        tj_text_append(&all, each);
    }
    is_whole = all.failure == TJ_OK && all.data;
    if (is_whole)
        tj_hash_hex(tj_hash_bytes(all.data, all.length), hex);
    tj_text_drop(&all);
    return is_whole;
}

tj_status tj_tuning_class_of(tj_context *context, const tj_device_facts *device, tj_tuning_class *of, tj_error *err)
{
    if (TJ_HAS_NULL(err, context, device, of))
        return TJ_ERR_INVALID_ARGUMENT;
    const tj_device_kind kind = tj_device_kind_of(device);
    char templates[TJ_HASH_HEX_BYTES], hex[TJ_HASH_HEX_BYTES], whole[512];
    const char *identity;
    tj_tuning_class own = TJ_TUNING_CLASS_INIT;
    const tj_nvrtc *nvrtc;
    tj_status status = TJ_CLEAR(of, TJ_TUNING_CLASS_INIT, err);

    if (status == TJ_OK)
        status = tj_host_nvrtc(&context->host, &nvrtc, err);
    if (status == TJ_OK)
        status = tj_nvrtc_identity(nvrtc, &identity, err);
    if (status != TJ_OK)
        return status;
    if (!hash_templates(templates))
        return tj_fail_memory(err, "the texts of all kernels");
    (void)snprintf(own.text, sizeof own.text, "%.100s, sm_%d%d, %d SMs, NVRTC %.100s, tilejit %.20s templates %.8s", kind.name,
                   (int)kind.cc_major, (int)kind.cc_minor, (int)kind.sm_count, identity, tj_version(), templates);
    (void)snprintf(whole, sizeof whole, "%s\n%d.%d\n%d\n%lld\n%.120s\n%.40s\n%s\n%s", kind.name, (int)kind.cc_major,
                   (int)kind.cc_minor, (int)kind.sm_count, (long long)kind.l2_bytes, identity, tj_version(), templates,
                   tj_gpu_is_emulated(&context->host.gpu) ? "emulator" : "cuda");
    tj_hash_hex(tj_hash_bytes(whole, strlen(whole)), hex);
    memcpy(own.id, hex, sizeof own.id - 1);
    return TJ_FILL(of, &own, TJ_TUNING_CLASS_INIT, err);
}
