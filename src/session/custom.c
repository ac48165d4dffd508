/* SPDX-License-Identifier: Apache-2.0 */
/*
 * custom: families of the application's own, on a context: from extents to a loaded kernel, and the result of a tuning, as a
 * record.
 *
 * A record is a text of the store, named by its key: family with the hash of its spec, extents, and kind of device. No trouble
 * with one fails a load: the defaults are taken then.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "context.h"
#include "custom.h"
#include "custom_kernel.h"
#include "custom_prove.h"
#include "custom_tune.h"
#include "error.h"
#include "events.h"
#include "record.h"
#include "search.h"
#include "sized.h"

#define RECORDS "custom"

enum { RECORD_SCHEMA = 1, NAME_BYTES = TJ_HASH_HEX_BYTES + 8 };

/* ---- records ------------------------------------------------------------------------------------------------------ */

/* Make the key of a record. */
static tj_json *describe(const tj_custom *custom, const int64_t *extent, const tj_device_facts *device)
{
    const tj_device_kind kind = tj_device_kind_of(device);
    tj_json *object = tj_json_new(), *extents = tj_json_add_object(object, "extents");

    tj_json_add_int(object, "schema", RECORD_SCHEMA);
    tj_json_add_text(object, "family", custom->spec.name);
    tj_json_add_text(object, "spec", custom->hash);
    tj_device_kind_to_json(&kind, object, "device");
    for (size_t i = 0; i < custom->spec.extent_count; i++)
        tj_json_add_int(extents, custom->name[i], extent[i]);
    return object;
}

/* Its text, and the name of the record's file, which is a hash of that. NULL: out of memory. */
static char *name_record(const tj_json *found_by, char name[NAME_BYTES])
{
    char *text = tj_json_print(found_by), hex[TJ_HASH_HEX_BYTES];

    if (text) {
        tj_hash_hex(tj_hash_bytes(text, strlen(text)), hex);
        (void)snprintf(name, NAME_BYTES, "%s.json", hex);
    }
    return text;
}

/* Set the parameters that a line like "convolution:tile_width=16,rows=4" names. */
static bool read_config(const tj_custom *custom, const char *line, tj_config *config)
{
    char copy[TJ_CONFIG_TEXT_BYTES], *rest, *word, *value;

    *config = (tj_config)TJ_CONFIG_INIT;
    config->family = &custom->family;
    if (!line || snprintf(copy, sizeof copy, "%s", line) >= (int)sizeof copy)
        return false;
    rest = strchr(copy, ':');
    for (rest = rest ? rest + 1 : NULL; rest && (word = strsep(&rest, ","));) {
        value = strchr(word, '=');
        if (!value)
            return false;
        *value++ = '\0';
        if (tj_config_set(config, word, value, NULL) != TJ_OK)
            return false;
    }
    return tj_custom_resolve(config, NULL) == TJ_OK;
}

typedef struct lookup {
    const tj_custom *custom;
    const int64_t *extent;
    char *found_by;
    char name[NAME_BYTES];
    tj_disk_store *store;
    tj_config *config;
    bool is_found;
} lookup;

static int is_wanted(const char *name, void *payload)
{
    const lookup *s = payload;

    return strcmp(name, s->name) == 0;
}

static int visit(const char *name, const char *text, void *payload)
{
    lookup *s = payload;
    tj_custom_request request;
    tj_json *record;
    char *of;

    (void)tj_json_read(text, strlen(text), &record, NULL);
    of = tj_json_print(tj_json_get(record, "of"));
    s->is_found = of && strcmp(of, s->found_by) == 0 &&
                  read_config(s->custom, tj_json_text(tj_json_get(record, "config")), s->config) &&
                  tj_custom_settle(s->custom, s->config, s->extent, &request, NULL) == TJ_OK;
    free(of);
    if (!s->is_found)
        tj_disk_store_warn_text(s->store, name, "it is not a record of what its name says");
    tj_json_free(record);
    return s->is_found;
}

/* The config of a record, resolved. */
static bool recall(tj_host *host, const tj_custom *custom, const int64_t *extent, const tj_device_facts *device,
                   tj_config *config)
{
    lookup s = {.custom = custom, .extent = extent, .store = host->store, .config = config};
    tj_json *found_by = describe(custom, extent, device);
    int64_t passed_over;

    s.found_by = name_record(found_by, s.name);
    if (s.found_by)
        (void)tj_disk_store_each_text(host->store, RECORDS, is_wanted, visit, &s, &passed_over, NULL);
    free(s.found_by);
    tj_json_free(found_by);
    return s.is_found;
}

static void keep(tj_host *host, const tj_custom *custom, const int64_t *extent, const tj_device_facts *device,
                 tj_tune_result *result)
{
    tj_json *found_by = describe(custom, extent, device), *record = tj_json_new();
    char config[TJ_CONFIG_TEXT_BYTES], name[NAME_BYTES], *key = name_record(found_by, name), *text;
    tj_error why = {TJ_OK, "out of memory"};

    tj_config_print(&result->config, config);
    (void)tj_json_add_copy(record, "of", found_by);
    tj_json_add_text(record, "config", config);
    tj_json_add_real(record, "us", result->us);
    tj_json_add_real(record, "default_us", result->default_us);
    tj_json_add_int(record, "evaluations", result->evaluations);
    tj_json_add_bool(record, "is_complete", result->is_complete);
    tj_json_add_int(record, "created", (int64_t)time(NULL));
    text = key ? tj_json_print_lines(record, TJ_RECORD_DIGITS) : NULL;
    result->has_record = text && tj_disk_store_put_text(host->store, RECORDS, name, text, &why) == TJ_OK;
    result->is_record_lost = !result->has_record;
    if (result->is_record_lost)
        tj_log_line(&host->log, TJ_LOG_WARNING, "the record of %s is lost: %s", config, why.message);
    free(text);
    free(key);
    tj_json_free(record);
    tj_json_free(found_by);
}

/* ---- kernels ------------------------------------------------------------------------------------------------------ */

/* The caller's config, resolved; else the recorded one; else the defaults. */
static tj_status choose(tj_host *host, const tj_custom *custom, const tj_config *given, const int64_t *extent,
                        const tj_device_facts *device, tj_config *config, tj_error *err)
{
    if (given && given->family != &custom->family)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the config is of family %s, and %s is asked for",
                       given->family ? tj_family_name(given->family) : "(none)", custom->spec.name);
    if (!given && recall(host, custom, extent, device, config))
        return TJ_OK;
    *config = (tj_config)TJ_CONFIG_INIT;
    config->family = &custom->family;
    if (given)
        *config = *given;
    return tj_custom_resolve(config, err);
}

/* As tj_plan_obtain's: a stored image that the driver refuses twice is thrown away and compiled once more. */
static tj_status load_image(tj_context *context, const int64_t *extent, const char *target, tj_source *source, tj_image **image,
                            tj_custom_kernel **kernel, tj_error *err)
{
    tj_status status = tj_custom_host_load(&context->host, extent, source, *image, kernel, err);
    tj_error refused;

    if (!tj_image_is_suspect(*image, status))
        return status;
    if (tj_custom_host_load(&context->host, extent, source, *image, kernel, &refused) == TJ_OK)
        return TJ_OK; /* a passing fault, not the image's */
    tj_image_reject(&context->host, *image, refused.message);
    tj_image_free(*image);
    status = tj_image_obtain(context, source, target, image, err);
    return status == TJ_OK ? tj_custom_host_load(&context->host, extent, source, *image, kernel, err) : status;
}

static tj_status load(tj_context *context, const tj_family *family, const tj_config *given, const int64_t *extent,
                      tj_custom_kernel **kernel, tj_device_facts *device, tj_error *err)
{
    const tj_custom *custom;
    tj_source *source = NULL;
    tj_image *image = NULL;
    tj_config config;
    char target[16];
    tj_status status = tj_custom_of(family, &custom, err);

    if (status == TJ_OK)
        status = tj_gpu_current_device(&context->host.gpu, device, err);
    if (status == TJ_OK)
        status = choose(&context->host, custom, given, extent, device, &config, err);
    if (status == TJ_OK)
        status = tj_custom_generate(&config, extent, &source, err);
    if (status == TJ_OK)
        status = tj_host_target(&context->host, device->cc_major, device->cc_minor, target, err);
    if (status == TJ_OK)
        status = tj_image_obtain(context, source, target, &image, err);
    if (status == TJ_OK)
        status = load_image(context, extent, target, source, &image, kernel, err);
    if (status == TJ_OK)
        return TJ_OK;
    tj_image_free(image); /* of a failed compile it holds the log */
    tj_source_free(source);
    return status;
}

tj_status tj_custom_load(tj_context *context, const tj_family *family, const tj_config *config, const int64_t *extent,
                         tj_custom_kernel **kernel, tj_error *err)
{
    if (kernel)
        *kernel = NULL;
    if (TJ_HAS_NULL(err, kernel, context, family, extent))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_device_facts device;
    tj_proof proof;
    tj_status status = load(context, family, config, extent, kernel, &device, err);

    if (status != TJ_OK || !tj_proof_recall(&context->host, (*kernel)->image, &device, &proof))
        return status;
    status = tj_custom_proof_check((*kernel)->source, &device, &proof, err);
    if (status != TJ_OK) {
        tj_custom_kernel_free(*kernel);
        *kernel = NULL;
    }
    return status;
}

static tj_status prove(tj_host *host, const tj_custom_kernel *kernel, tj_proof *proof, tj_error *err)
{
    const tj_status status = tj_custom_host_prove(host, kernel, proof, err);

    if (status == TJ_OK || status == TJ_ERR_CHECK_FAILED)
        tj_host_tell_proof(host, kernel->source, proof);
    return status;
}

tj_status tj_custom_prove(tj_context *context, const tj_family *family, const tj_config *config, const int64_t *extent,
                          int again, tj_proof *proof, tj_error *err)
{
    if (TJ_HAS_NULL(err, proof, context, family, extent))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_custom_kernel *kernel = NULL;
    tj_proof own = TJ_PROOF_INIT;
    tj_device_facts device;
    tj_status status = TJ_CLEAR(proof, TJ_PROOF_INIT, err);

    if (status == TJ_OK)
        status = load(context, family, config, extent, &kernel, &device, err);
    if (status != TJ_OK)
        return status;
    if (!again && tj_proof_recall(&context->host, kernel->image, &device, &own))
        status = tj_custom_proof_check(kernel->source, &device, &own, err);
    else
        status = prove(&context->host, kernel, &own, err);
    (void)TJ_FILL(proof, &own, TJ_PROOF_INIT, NULL);
    tj_custom_kernel_free(kernel);
    return status;
}

tj_status tj_custom_tune(tj_context *context, const tj_family *family, const int64_t *extent, const tj_tune_options *options,
                         tj_tune_result *result, tj_error *err)
{
    if (TJ_HAS_NULL(err, result, context, family, extent))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_tune_result best = TJ_TUNE_RESULT_INIT;
    const tj_custom *custom;
    tj_device_facts device;
    tj_tune_options own;
    tj_config recorded;
    bool has_record;
    tj_status status = TJ_CLEAR(result, TJ_TUNE_RESULT_INIT, err);

    if (status == TJ_OK)
        status = tj_tune_read_options(options, &own, err);
    if (status == TJ_OK)
        status = tj_custom_of(family, &custom, err);
    if (status == TJ_OK)
        status = tj_gpu_current_device(&context->host.gpu, &device, err);
    if (status != TJ_OK)
        return status;
    has_record = recall(&context->host, custom, extent, &device, &recorded);
    status = tj_custom_tune_on(&context->host, custom, extent, &own, has_record ? &recorded : NULL, &best, err);
    if (status == TJ_OK && !own.no_record && !best.is_emulated)
        keep(&context->host, custom, extent, &device, &best);
    (void)TJ_FILL(result, &best, TJ_TUNE_RESULT_INIT, NULL);
    return status;
}
