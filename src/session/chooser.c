/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chooser: the records of a context, and the choice that they and the model make.
 *
 * A choice is made when a plan is built, never in a launch, so a lock and a few files are cheap enough.
 */
#include "chooser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "canonical.h"
#include "choices.h"
#include "choose.h"
#include "error.h"
#include "expect.h"
#include "packed.h"
#include "record.h"
#include "tables.h"
#include "varying.h"

struct tj_chooser {
    pthread_mutex_t lock;
    tj_records *records;        /* under lock; NULL: not read yet */
    uint64_t read_at;           /* the change that they were read after */
    bool has_tables;            /* records may use the tables of trials */
    tj_records *shipped;        /* under lock, until it is there; NULL: nobody asked */
    struct tj_choices *choices; /* under lock */
    struct tj_tables *tables;   /* under lock, read at the first choice that no record decides */
    _Atomic uint64_t now;       /* changes of records by this process */
};

struct tj_chooser *tj_chooser_create(const char *tables)
{
    struct tj_chooser *chooser = calloc(1, sizeof *chooser);

    if (!chooser || !(chooser->tables = tj_tables_create(tables)) || !(chooser->choices = tj_choices_create(chooser->tables))) {
        tj_tables_free(chooser ? chooser->tables : NULL);
        free(chooser);
        return NULL;
    }
    pthread_mutex_init(&chooser->lock, NULL);
    return chooser;
}

void tj_chooser_free(struct tj_chooser *chooser)
{
    if (!chooser)
        return;
    tj_records_free(chooser->records);
    tj_records_free(chooser->shipped);
    tj_choices_free(chooser->choices);
    tj_tables_free(chooser->tables);
    pthread_mutex_destroy(&chooser->lock);
    free(chooser);
}

const struct tj_tables *tj_chooser_tables(const struct tj_chooser *chooser)
{
    return chooser->tables;
}

void tj_context_records_changed(tj_context *context)
{
    atomic_fetch_add_explicit(&context->chooser->now, 1, memory_order_release);
}

/* ---- the remote --------------------------------------------------------------------------------------------------- */

/*
 * All records of the generation that is pinned, and no others: so all processes of a job choose alike, whatever their machines' stores hold.
 * It is kept in the store, where the next process finds it when the server does not answer.
 */
static void read_generation(tj_context *context, const tj_device_facts *device, const char *name)
{
    struct tj_chooser *chooser = context->chooser;
    tj_tuning_class of = TJ_TUNING_CLASS_INIT;
    char note[128], *text = NULL;
    bool is_fetched = false;
    void *bytes;
    size_t size;
    tj_error why = {TJ_OK, "the server does not have it, or does not answer"};
    tj_status status = tj_tuning_class_of(context, device, &of, &why);

    if (status == TJ_OK) {
        (void)snprintf(note, sizeof note, "generation-%s-%.63s", of.id, name);
        text = tj_disk_store_read_note(context->host.store, note);
        if (!text && tj_remote_fetch(context->host.remote, FLEET_GENERATION, of.id, name, &bytes, &size)) {
            text = bytes;
            is_fetched = true;
        }
        status = text ? tj_records_parse(text, NULL, NULL, chooser->records, NULL, &why) : TJ_ERR_NOT_FOUND;
        if (status == TJ_OK && is_fetched)
            tj_disk_store_write_note(context->host.store, note, text);
        free(text);
    }
    if (status == TJ_OK)
        tj_log_line(&context->host.log, TJ_LOG_INFO, "generation %s: %zu records", name, tj_records_count(chooser->records));
    else
        tj_log_line(
            &context->host.log, TJ_LOG_ERROR,
            "generation %s is not to be had, so kernels are chosen without records, and other processes may choose others: %s",
            name, why.message);
}

/* The record of a problem, which then is one of the store too. */
static void fetch_record(tj_context *context, const tj_device_facts *device, const tj_request *request)
{
    const tj_device_kind kind = tj_device_kind_of(device);
    char id[TJ_PROBLEM_ID_BYTES], key[TJ_RECORD_KEY_BYTES];
    tj_record *record = NULL;
    tj_records *one;
    tj_tuning_class of = TJ_TUNING_CLASS_INIT;
    int64_t kept;
    void *text;
    size_t size;

    if (tj_tuning_class_of(context, device, &of, NULL) != TJ_OK)
        return;
    tj_problem_id(&request->problem, id);
    if (!tj_remote_fetch(context->host.remote, FLEET_RECORD, of.id, id, &text, &size))
        return;
    tj_record_key(&kind, &request->problem, key);
    one = tj_records_create();
    if (one && tj_record_parse(text, &record, NULL) == TJ_OK && strcmp(record->key, key) == 0 &&
        tj_records_add(one, tj_record_copy(record), NULL) == TJ_OK) {
        tj_log_line(&context->host.log, TJ_LOG_DEBUG, "the record of %s from the remote", record->problem_text);
        (void)tj_records_write(context->host.store, one, &kept, NULL);
        pthread_mutex_lock(&context->chooser->lock);
        if (context->chooser->records)
            (void)tj_records_move(one, context->chooser->records, NULL);
        pthread_mutex_unlock(&context->chooser->lock);
    }
    tj_records_free(one);
    tj_record_free(record);
    free(text);
}

/* Under the lock. */
static void read_records(tj_context *context, const tj_device_facts *device)
{
    const char *generation =
        context->host.remote && !tj_gpu_is_emulated(&context->host.gpu) ? tj_remote_generation(context->host.remote) : NULL;
    struct tj_chooser *chooser = context->chooser;
    const uint64_t now = atomic_load_explicit(&chooser->now, memory_order_acquire);
    int64_t passed_over;
    tj_status status;
    tj_error why;

    if (chooser->records && chooser->read_at == now)
        return;
    tj_records_free(chooser->records);
    chooser->records = tj_records_create();
    chooser->has_tables = false;
    chooser->read_at = now;
    if (!chooser->records)
        return;
    if (generation) {
        read_generation(context, device, generation);
        return;
    }
    status = tj_records_read(context->host.store, chooser->records, &passed_over, &why);
    if (status != TJ_OK && status != TJ_ERR_IO) /* a store that cannot be used has none */
        tj_log_line(&context->host.log, TJ_LOG_WARNING, "tuning records are not used: %s", why.message);
}

/* Under the lock: let the choice go by trials too, unless a record decides it. */
static void lend_tables(tj_context *context, const tj_device_facts *device, const tj_request *request)
{
    struct tj_chooser *chooser = context->chooser;

    if (!chooser->records || chooser->has_tables || tj_records_get(chooser->records, &request->problem, device))
        return;
    tj_tables_lend(chooser->tables, &context->host.log, chooser->records);
    chooser->has_tables = true;
}

const tj_records *tj_context_shipped(tj_context *context)
{
    struct tj_chooser *chooser = context->chooser;
    const tj_records *shipped;

    pthread_mutex_lock(&chooser->lock);
    if (!chooser->shipped && (chooser->shipped = tj_records_create()))
        tj_tables_lend(chooser->tables, &context->host.log, chooser->shipped);
    shipped = chooser->shipped;
    pthread_mutex_unlock(&chooser->lock);
    return shipped;
}

/* ---- packs -------------------------------------------------------------------------------------------------------- */

/* By a record of this very kind of device. */
static bool choose_by_packed_record(tj_context *context, const tj_device_facts *device, const tj_request *request,
                                    tj_choice *choice)
{
    const tj_device_kind kind = tj_device_kind_of(device);
    char key[TJ_RECORD_KEY_BYTES];
    tj_record *record = NULL;
    tj_pack_item item;
    const char *text;
    bool is_chosen;

    tj_record_key(&kind, &request->problem, key);
    if (!tj_packs_find(context->host.packs, TJ_PACKED_RECORD, tj_packed_record_request(key), NULL, NULL, &item, NULL))
        return false;
    text = tj_pack_item_text(&item, "record");
    is_chosen = text && tj_record_parse(text, &record, NULL) == TJ_OK && strcmp(record->key, key) == 0 &&
                tj_choose_written(record->config, request, device, choice);
    tj_record_free(record);
    tj_pack_item_drop(&item);
    return is_chosen;
}

static bool has_packed_record(tj_context *context, const tj_device_facts *device, const tj_request *request)
{
    tj_choice choice;

    return context->host.packs && choose_by_packed_record(context, device, request, &choice);
}

static bool choose_packed(tj_context *context, const tj_device_facts *device, const tj_request *request, tj_choice *choice)
{
    const tj_packed_reader reader = tj_packed_reader_of(&context->host, device);
    char text[TJ_PROBLEM_TEXT_BYTES];
    tj_pack_item item;
    const char *of, *written;
    bool is_chosen;

    if (!tj_packs_find(context->host.packs, TJ_PACKED_CHOICE, tj_packed_choice_request(&request->problem), tj_packed_serves,
                       &reader, &item, NULL))
        return false;
    tj_problem_print(&request->problem, text);
    of = tj_pack_item_text(&item, "problem");
    written = tj_pack_item_text(&item, "config");
    is_chosen = of && strcmp(of, text) == 0 && written && tj_choose_written(written, request, device, choice);
    tj_pack_item_drop(&item);
    return is_chosen;
}

bool tj_context_choose_packed(tj_context *context, const tj_device_facts *device, const tj_request *request, tj_choice *choice)
{
    const tj_packed_reader reader = tj_packed_reader_of(&context->host, device);

    if (!context->host.packs)
        return false;
    if (choose_packed(context, device, request, choice))
        return true;
    tj_packs_tell_foreign(context->host.packs, TJ_PACKED_IMAGE, tj_packed_serves, &reader, reader.number);
    return false;
}

tj_in_packs tj_context_look_into_packs(tj_context *context, const tj_device_facts *device, const tj_request *request,
                                       tj_request *general)
{
    tj_choice choice;

    if (!context->host.packs)
        return TJ_IN_NO_PACK;
    if (choose_packed(context, device, request, &choice) || choose_by_packed_record(context, device, request, &choice))
        return TJ_IN_PACK;
    for (int i = 0; i < TJ_OPENINGS; i++)
        if (tj_varying_open(request, i, general) && choose_packed(context, device, general, &choice))
            return TJ_IN_PACK_FOR_MORE;
    return TJ_IN_NO_PACK;
}

/* ---- earlier choices ---------------------------------------------------------------------------------------------- */

/* Records may say more than the model did, so they are asked anew as long as there are any. */
static bool trusts_choices(const tj_context *context)
{
    return !context->host.packs && tj_records_count(context->chooser->records) == 0;
}

/* Under the lock. */
static bool recall(tj_context *context, const tj_device_facts *device, const tj_request *request, tj_choice *choice)
{
    const char *text =
        tj_choices_recall(context->chooser->choices, context->host.store, &request->problem, device, &choice->by);

    return text && tj_choose_written(text, request, device, choice);
}

void tj_context_remember_choice(tj_context *context, const tj_device_facts *device, const tj_request *request,
                                const tj_choice *choice)
{
    if (!tj_choice_is_kept(choice->by))
        return;
    pthread_mutex_lock(&context->chooser->lock);
    if (trusts_choices(context))
        tj_choices_remember(context->chooser->choices, context->host.store, &request->problem, device, &choice->config,
                            choice->by);
    pthread_mutex_unlock(&context->chooser->lock);
}

/* ---- all of them -------------------------------------------------------------------------------------------------- */

/* Under the lock: the choice is in a pack, or was made before. choice->by: 0 if not. */
static bool choose_known(tj_context *context, const tj_device_facts *device, const tj_request *request, tj_choice *choice)
{
    if (context->host.packs && !tj_records_get(context->chooser->records, &request->problem, device)) {
        choice->by = TJ_BY_RECORD;
        if (choose_by_packed_record(context, device, request, choice))
            return true;
        choice->by = TJ_BY_PACK;
        if (tj_context_choose_packed(context, device, request, choice))
            return true;
    }
    return trusts_choices(context) && recall(context, device, request, choice);
}

/* Fetch the record of a problem from the remote if no record of it is here. Without the lock, so that nobody waits for a server. */
static void fetch_missing_record(tj_context *context, const tj_device_facts *device, const tj_request *request)
{
    struct tj_chooser *const chooser = context->chooser;
    bool is_here;

    if (!context->host.remote || tj_gpu_is_emulated(&context->host.gpu) || tj_remote_generation(context->host.remote))
        return;
    pthread_mutex_lock(&chooser->lock);
    read_records(context, device);
    is_here = tj_records_get(chooser->records, &request->problem, device) != NULL;
    pthread_mutex_unlock(&chooser->lock);
    if (!is_here && !has_packed_record(context, device, request))
        fetch_record(context, device, request);
}

void tj_context_visit_neighbours(tj_context *context, const tj_device_facts *device, const tj_request *request,
                                 tj_neighbour_visit visit, void *payload)
{
    const tj_neighbour *near;
    tj_expectation *e;

    pthread_mutex_lock(&context->chooser->lock);
    read_records(context, device);
    lend_tables(context, device, request);
    e = tj_expect_learn(context->chooser->records, request, device, TJ_LEAVE_NONE_OUT);
    for (size_t i = 0; (near = tj_expectation_neighbour(e, i)); i++)
        visit(near, payload);
    tj_expectation_free(e);
    pthread_mutex_unlock(&context->chooser->lock);
}

tj_status tj_context_choose(tj_context *context, tj_choosing how, const tj_device_facts *device, const tj_request *request,
                            tj_refusals refused, tj_choice *choice, tj_error *err)
{
    const tj_chosen_by before = choice->by;
    tj_device_facts whole = *device;
    tj_status status = TJ_OK;
    bool is_known;

    if (refused.count == 0 && how != TJ_CHOOSE_KNOWN)
        fetch_missing_record(context, device, request);
    pthread_mutex_lock(&context->chooser->lock);
    read_records(context, device);
    is_known = refused.count == 0 && choose_known(context, device, request, choice);
    if (!is_known)
        choice->by = before;
    if (!is_known && how == TJ_CHOOSE_KNOWN)
        status = tj_fail(err, TJ_ERR_NOT_FOUND, "no record or earlier choice of this problem is here");
    if (!is_known && how == TJ_CHOOSE_HERE)
        status = tj_gpu_device_facts(&context->host.gpu, device->ordinal, &whole, err);
    if (!is_known && status == TJ_OK)
        lend_tables(context, device, request);
    if (!is_known && status == TJ_OK)
        status = tj_choose_for(context->chooser->records, request, &whole, refused, choice, err);
    pthread_mutex_unlock(&context->chooser->lock);
    return status;
}
