/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack_make: fill packs with the choices of a context, list them, and unpack them into a store.
 */
#include <tilejit/pack.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "canonical.h"
#include "choose.h"
#include "chooser.h"
#include "compress.h"
#include "context.h"
#include "error.h"
#include "estimate.h"
#include "packed.h"
#include "plan.h"
#include "record.h"
#include "settle.h"
#include "spills.h"

struct tj_pack {
    tj_context *context;
    tj_records *records; /* not changed once they are there */
    int32_t form;        /* of TJ_PACK_STRIP and so on */
    pthread_mutex_t lock;
    tj_pack_draft *draft; /* under the lock */
};

/* ---- made --------------------------------------------------------------------------------------------------------- */

static tj_status copy_records(const tj_records *from, tj_records *to, tj_error *err)
{
    tj_status status = TJ_OK;

    for (size_t i = 0; status == TJ_OK && i < tj_records_count(from); i++) {
        tj_record *copy = tj_record_copy(tj_records_at(from, i));

        status = copy ? tj_records_add(to, copy, err) : tj_fail_memory(err, "the records of a pack");
    }
    return status;
}

tj_status tj_pack_create(tj_context *context, const tj_records *records, tj_pack **out, tj_error *err)
{
    if (out)
        *out = NULL;
    if (TJ_HAS_NULL(err, context))
        return TJ_ERR_INVALID_ARGUMENT;
    if (!out)
        return tj_fail_null(err, __func__, "pack");
    tj_pack *pack = calloc(1, sizeof *pack);
    tj_status status;

    if (!pack)
        return tj_fail_memory(err, "a pack");
    pack->context = context;
    pthread_mutex_init(&pack->lock, NULL);
    pack->records = tj_records_create();
    pack->draft = tj_pack_draft_create();
    if (!pack->records || !pack->draft)
        status = tj_fail_memory(err, "a pack");
    else
        status = records ? copy_records(records, pack->records, err) : tj_records_load(context, pack->records, err);
    for (size_t i = 0; status == TJ_OK && tj_records_table(tj_context_shipped(context), i); i++)
        status = tj_records_add_trials(pack->records, tj_records_table(tj_context_shipped(context), i), err);
    if (status == TJ_OK)
        *out = pack;
    else
        tj_pack_free(pack);
    return status;
}

tj_status tj_pack_set_form(tj_pack *pack, int32_t form, tj_error *err)
{
    static const int32_t known = TJ_PACK_STRIP | TJ_PACK_ALIGNED | TJ_PACK_COMPRESS;

    if (TJ_HAS_NULL(err, pack))
        return TJ_ERR_INVALID_ARGUMENT;
    if (form & ~known)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "form is %d: use 0, or a sum of TJ_PACK_STRIP, TJ_PACK_ALIGNED and "
                       "TJ_PACK_COMPRESS",
                       form);
    if ((form & TJ_PACK_COMPRESS) && !tj_compress_is_there())
        return tj_fail(err, TJ_ERR_UNSUPPORTED,
                       "zlib (libz.so.1), which compresses packs, is not on this machine: install it (zlib1g), or do not "
                       "compress");
    pack->form = form;
    tj_pack_draft_compress(pack->draft, form & TJ_PACK_COMPRESS);
    return TJ_OK;
}

void tj_pack_free(tj_pack *pack)
{
    if (!pack)
        return;
    tj_records_free(pack->records);
    tj_pack_draft_free(pack->draft);
    pthread_mutex_destroy(&pack->lock);
    free(pack);
}

/* One kernel on its way into a pack. */
typedef struct packing {
    tj_pack *pack;
    const tj_request *request;
    const char *target;
    tj_source *source; /* of the kernel that was added last */
} packing;

/* Add the kernel of a resolved config. One that spills is not added. */
static tj_status add_resolved(packing *to, const tj_config *resolved, tj_error *err)
{
    tj_image *image = NULL;
    tj_status status;

    tj_source_free(to->source);
    status = tj_request_generate(to->request, resolved, &to->source, err);
    if (status == TJ_OK)
        status = tj_image_obtain(to->pack->context, to->source, to->target, &image, err);
    if (status == TJ_OK)
        status = tj_spills_check_image(to->source, image, err);
    if (status == TJ_OK) {
        pthread_mutex_lock(&to->pack->lock);
        status = tj_packed_add_image(to->pack->draft, to->source, image, to->pack->form & TJ_PACK_STRIP, err);
        pthread_mutex_unlock(&to->pack->lock);
    }
    tj_image_free(image);
    return status;
}

/* A tj_fits_fn. */
static tj_status add_kernel(void *payload, const tj_config *config, tj_error *err)
{
    packing *to = payload;
    tj_config resolved = *config;
    const tj_status status = tj_request_resolve(to->request, &resolved, err);

    return status == TJ_OK ? add_resolved(to, &resolved, err) : status;
}

/* For operands that the kernel which was added last cannot take. */
static tj_status add_fallback(packing *to, tj_error *err)
{
    tj_config config = tj_undemanding_config(to->source, true);
    tj_status status;

    if (to->pack->form & TJ_PACK_ALIGNED)
        return TJ_OK;
    status = add_kernel(to, &config, err);

    while (tj_status_is_unfit(status) && tj_undemanding_next(to->request, &config))
        status = add_kernel(to, &config, err);
    return status;
}

static tj_status add_item(tj_pack *pack, uint32_t kind, tj_hash128 request, const char *target, const tj_pack_part *part,
                          size_t count, tj_error *err)
{
    tj_status status;

    pthread_mutex_lock(&pack->lock);
    status = tj_pack_draft_add(pack->draft, kind, request, target, part, count, err);
    pthread_mutex_unlock(&pack->lock);
    return status;
}

static tj_status add_choice(const packing *to, const tj_config *config, tj_error *err)
{
    char problem[TJ_PROBLEM_TEXT_BYTES], text[TJ_CONFIG_TEXT_BYTES];
    tj_pack_part part[2];

    tj_problem_print(&to->request->problem, problem);
    tj_config_print(config, text);
    part[0] = (tj_pack_part){"problem", problem, strlen(problem)};
    part[1] = (tj_pack_part){"config", text, strlen(text)};
    return add_item(to->pack, TJ_PACKED_CHOICE, tj_packed_choice_request(&to->request->problem), to->target, part, 2, err);
}

/* Is a record of this problem, and of a device that the target serves? PTX serves newer ones too. */
static bool is_of(const tj_record *record, const tj_problem *problem, const char *target, int number)
{
    const int device = 10 * record->device.cc_major + record->device.cc_minor;
    const bool is_of_family = target[strlen(target) - 1] == 'f' && device / 10 == number / 10;
    char key[TJ_RECORD_KEY_BYTES];

    tj_record_key(&record->device, problem, key);

    return (device == number || (device > number && (is_of_family || strncmp(target, "compute_", 8) == 0))) &&
           strcmp(key, record->key) == 0;
}

/* The config of a record can be unfit here, with another compiler: then the library's choice serves such a device too. */
static tj_status add_record(packing *to, const tj_record *record, tj_error *err)
{
    const tj_pack_part part = {"record", record->json, strlen(record->json)};
    tj_config config;
    tj_error why;
    tj_status status;

    if (!tj_record_read_config(record, &config))
        return TJ_OK;
    status = add_kernel(to, &config, &why);
    if (tj_status_is_unfit(status) || status == TJ_ERR_INVALID_ARGUMENT)
        return TJ_OK;
    if (status != TJ_OK && err)
        *err = why;
    if (status == TJ_OK)
        status = add_fallback(to, err);
    return status == TJ_OK ? add_item(to->pack, TJ_PACKED_RECORD, tj_packed_record_request(record->key), "", &part, 1, err)
                           : status;
}

/* The record of the product itself decides, else the first of a device of its compute capability. */
static tj_status add_chosen(packing *to, const tj_device_facts *device, int number, tj_error *err)
{
    const tj_records *records = to->pack->records;
    const tj_record *record = tj_records_get(records, &to->request->problem, device);
    tj_choice choice;
    tj_status status = TJ_ERR_SPILLS;

    for (size_t i = 0; !record && i < tj_records_count(records); i++)
        if (is_of(tj_records_at(records, i), &to->request->problem, to->target, number))
            record = tj_records_at(records, i);
    if (record && tj_choose_written(record->config, to->request, device, &choice))
        status = add_resolved(to, &choice.resolved, err);
    if (tj_status_is_unfit(status))
        status = tj_choose_fitting(records, to->request, device, add_kernel, to, &choice.config, err);
    if (status == TJ_OK)
        status = add_choice(to, tj_source_config(to->source), err);
    return status == TJ_OK ? add_fallback(to, err) : status;
}

/* "sm_90a" and "compute_90" stand for an sm_90 here. */
static tj_status read_target(const char *target, tj_device_facts *device, int *number, tj_error *err)
{
    const char *digits = strchr(target, '_');
    char product[24];

    (void)snprintf(product, sizeof product, "sm_%.*s", digits ? (int)strspn(digits + 1, "0123456789") : 0,
                   digits ? digits + 1 : "");
    *number = atoi(product + strlen("sm_"));
    return tj_device_named(product, device, err);
}

tj_status tj_pack_add(tj_pack *pack, const tj_problem *problem, const tj_config *config, const char *target, tj_error *err)
{
    if (TJ_HAS_NULL(err, pack, problem, target))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_request request;
    packing to = {pack, &request, target, NULL};
    tj_device_facts device = TJ_DEVICE_FACTS_INIT;
    int number;
    tj_status status = read_target(target, &device, &number, err);

    if (status == TJ_OK)
        status = tj_request_make(problem, &request, err);
    if (status == TJ_OK && config) {
        tj_config adapted = *config, resolved;

        status = tj_request_adapt(&device, &request, &adapted, &resolved, err);
        if (status == TJ_OK)
            status = add_resolved(&to, &resolved, err);
    } else if (status == TJ_OK) {
        status = add_chosen(&to, &device, number, err);
        for (size_t i = 0; status == TJ_OK && i < tj_records_count(pack->records); i++)
            if (is_of(tj_records_at(pack->records, i), &request.problem, target, number))
                status = add_record(&to, tj_records_at(pack->records, i), err);
    }
    tj_source_free(to.source);
    return status;
}

tj_status tj_pack_print(tj_pack *pack, void **bytes, size_t *size, tj_error *err)
{
    if (TJ_HAS_NULL(err, pack, bytes, size))
        return TJ_ERR_INVALID_ARGUMENT;
    pthread_mutex_lock(&pack->lock);
    const tj_status status = tj_pack_draft_print(pack->draft, bytes, size, err);
    pthread_mutex_unlock(&pack->lock);
    return status;
}

/* ---- looked through ----------------------------------------------------------------------------------------------- */

static const char *text_or(const char *text)
{
    return text ? text : "";
}

static const char *fact(const tj_json *facts, const char *name)
{
    return text_or(tj_json_text(tj_json_get(facts, name)));
}

/* An item that is sound, in words. */
static int show(tj_pack_entry *entry, const tj_pack_item *item, tj_pack_visit visit, void *payload)
{
    const char *facts_text = tj_pack_item_text(item, "facts"), *record_text = tj_pack_item_text(item, "record");
    tj_json *facts = NULL;
    tj_record *record = NULL;
    tj_record_facts about = TJ_RECORD_FACTS_INIT;
    int answer;

    if (entry->kind == TJ_PACK_IMAGE) {
        if (facts_text)
            (void)tj_json_read(facts_text, strlen(facts_text), &facts, NULL);
        entry->kernel = fact(facts, "kernel");
        entry->problem = fact(facts, "problem");
        entry->config = fact(facts, "config");
        entry->compiler = fact(facts, "compiler");
        entry->align = tj_packed_alignment(item);
        entry->is_stripped = tj_packed_is_stripped(item);
    } else if (entry->kind == TJ_PACK_CHOICE) {
        entry->problem = text_or(tj_pack_item_text(item, "problem"));
        entry->config = text_or(tj_pack_item_text(item, "config"));
    } else if (record_text && tj_record_parse(record_text, &record, NULL) == TJ_OK &&
               tj_record_get_facts(record, &about, NULL) == TJ_OK) {
        entry->problem = about.problem;
        entry->config = about.config;
        entry->device = about.device;
    } else {
        entry->damage = "a record that this version does not know";
    }
    answer = visit(entry, payload);
    tj_record_free(record);
    tj_json_free(facts);
    return answer;
}

static tj_status open_bytes(const void *bytes, size_t size, tj_pack_file *pack, tj_error *err)
{
    const char *why;

    return tj_pack_open_bytes(pack, bytes, size, &why)
               ? TJ_OK
               : tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "these %zu bytes cannot be used as a pack: %s", size, why);
}

tj_status tj_pack_list(const void *bytes, size_t size, tj_pack_visit visit, void *payload, tj_error *err)
{
    if (TJ_HAS_NULL(err, bytes))
        return TJ_ERR_INVALID_ARGUMENT;
    if (!visit)
        return tj_fail_null(err, __func__, "visit");
    tj_pack_file pack;
    tj_status status = open_bytes(bytes, size, &pack, err);

    for (size_t i = 0; status == TJ_OK && i < pack.count; i++) {
        const tj_pack_row *row = &pack.row[i];
        char request[TJ_HASH_HEX_BYTES], checksum[TJ_HASH_HEX_BYTES];
        tj_pack_entry entry = {.struct_size = sizeof entry,
                               .kind = (tj_pack_kind)row->kind,
                               .target = row->target,
                               .kernel = "",
                               .problem = "",
                               .config = "",
                               .compiler = "",
                               .device = "",
                               .bytes = (int64_t)row->size,
                               .request = request,
                               .checksum = checksum,
                               .align = -1};
        tj_pack_item item;
        int answer;

        tj_hash_hex(row->request, request);
        tj_hash_hex(row->checksum, checksum);
        entry.damage = tj_pack_read(&pack, row, &item);
        answer = entry.damage ? visit(&entry, payload) : show(&entry, &item, visit, payload);
        tj_pack_item_drop(&item);
        if (answer)
            break;
    }
    if (status == TJ_OK)
        tj_pack_close(&pack);
    return status;
}

/* ---- unpacked ----------------------------------------------------------------------------------------------------- */

static bool unpack(tj_context *context, const tj_pack_row *row, const tj_pack_item *item, tj_records *records)
{
    const char *text = tj_pack_item_text(item, "record");
    tj_record *record = NULL;

    if (row->kind == TJ_PACKED_IMAGE)
        return tj_packed_unpack(&context->host, item);
    return text && tj_record_parse(text, &record, NULL) == TJ_OK && tj_records_add(records, record, NULL) == TJ_OK;
}

tj_status tj_pack_unpack(tj_context *context, const void *bytes, size_t size, int64_t *unpacked, tj_error *err)
{
    if (unpacked)
        *unpacked = 0;
    if (TJ_HAS_NULL(err, context, bytes))
        return TJ_ERR_INVALID_ARGUMENT;
    int64_t count = 0, refused = 0, stripped = 0, kept = 0;
    tj_records *records = tj_records_create();
    tj_pack_file pack;
    tj_status status = records ? open_bytes(bytes, size, &pack, err) : tj_fail_memory(err, "a set of records");

    if (status != TJ_OK) {
        tj_records_free(records);
        return status;
    }
    for (size_t i = 0; i < pack.count; i++) {
        const tj_pack_row *row = &pack.row[i];
        tj_pack_item item;
        const char *damage = row->kind == TJ_PACKED_CHOICE ? NULL : tj_pack_read(&pack, row, &item);

        if (damage)
            tj_log_line(&context->host.log, TJ_LOG_WARNING, "item %zu of the pack is left out: %s", i + 1, damage);
        if (damage || row->kind == TJ_PACKED_CHOICE)
            continue;
        if (row->kind == TJ_PACKED_IMAGE && tj_packed_is_stripped(&item))
            stripped++;
        else if (unpack(context, row, &item, records))
            count += row->kind == TJ_PACKED_IMAGE;
        else
            refused++;
        tj_pack_item_drop(&item);
    }
    tj_pack_close(&pack);
    if (tj_records_count(records) > 0)
        status = tj_records_keep(context, records, &kept, err);
    tj_records_free(records);
    if (unpacked)
        *unpacked = count + kept;
    if (status == TJ_OK && stripped > 0)
        status = tj_fail(err, TJ_ERR_UNSUPPORTED,
                         "%lld of the pack's kernels are machine code alone, and a store keeps their text and PTX too: use the "
                         "pack as it is (TILEJIT_PACKS), or make it without --strip",
                         (long long)stripped);
    if (status == TJ_OK && refused > 0)
        status = tj_fail(err, TJ_ERR_IO, "%lld of the pack's items could not be put into the store %s", (long long)refused,
                         tj_store_path(context));
    return status;
}
