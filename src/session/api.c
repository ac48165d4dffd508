/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api: public calls implemented by a lower layer, which receives only the parts of a context that it needs.
 */
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "choose.h"
#include "chooser.h"
#include "context.h"
#include "error.h"
#include "image.h"
#include "nvrtc.h"
#include "packed.h"
#include "plan.h"
#include "proof.h"
#include "record.h"
#include "search.h"
#include "sized.h"
#include "timing.h"
#include "tune.h"
#include "workbench.h"

/* ---- device ------------------------------------------------------------------------------------------------------- */

tj_status tj_device_count(tj_context *context, int *count, tj_error *err)
{
    if (TJ_HAS_NULL(err, context, count))
        return TJ_ERR_INVALID_ARGUMENT;
    return tj_gpu_count_devices(&context->host.gpu, count, err);
}

/* After a failure nothing is half-filled, and its error stays. */
static tj_status fill_facts(tj_device_facts *facts, const tj_device_facts *own, tj_status status, tj_error *err)
{
    const tj_status filled = TJ_FILL(facts, own, TJ_DEVICE_FACTS_INIT, status == TJ_OK ? err : NULL);

    return status == TJ_OK ? filled : status;
}

tj_status tj_device_get(tj_context *context, int ordinal, tj_device_facts *facts, tj_error *err)
{
    if (TJ_HAS_NULL(err, context, facts))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_device_facts own = TJ_DEVICE_FACTS_INIT;

    return fill_facts(facts, &own, tj_gpu_device_facts(&context->host.gpu, ordinal, &own, err), err);
}

tj_status tj_device_current(tj_context *context, tj_device_facts *facts, tj_error *err)
{
    if (TJ_HAS_NULL(err, context, facts))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_device_facts own = TJ_DEVICE_FACTS_INIT;

    return fill_facts(facts, &own, tj_gpu_current_device(&context->host.gpu, &own, err), err);
}

tj_status tj_emulator_get(tj_context *context, const tj_emulator **emulator, tj_error *err)
{
    if (emulator)
        *emulator = NULL;
    if (TJ_HAS_NULL(err, emulator, context))
        return TJ_ERR_INVALID_ARGUMENT;
    const tj_driver *driver = NULL;
    const tj_status status = tj_gpu_driver(&context->host.gpu, &driver, err);

    *emulator = status == TJ_OK && driver->is_emulator ? &driver->emulator : NULL;
    return status;
}

tj_status tj_buffer_create_in(tj_context *context, CUstream stream, size_t bytes, tj_buffer **buffer, tj_error *err)
{
    if (buffer)
        *buffer = NULL;
    if (TJ_HAS_NULL(err, buffer, context))
        return TJ_ERR_INVALID_ARGUMENT;
    return tj_gpu_allocate(&context->host.gpu, stream, bytes, buffer, err);
}

tj_status tj_buffer_create(tj_context *context, size_t bytes, tj_buffer **buffer, tj_error *err)
{
    if (buffer)
        *buffer = NULL;
    if (TJ_HAS_NULL(err, buffer, context))
        return TJ_ERR_INVALID_ARGUMENT;
    return tj_gpu_allocate(&context->host.gpu, NULL, bytes, buffer, err);
}

tj_status tj_stream_create(tj_context *context, CUstream *stream, tj_error *err)
{
    if (stream)
        *stream = NULL;
    if (TJ_HAS_NULL(err, stream, context))
        return TJ_ERR_INVALID_ARGUMENT;
    return tj_gpu_create_stream(&context->host.gpu, stream, err);
}

void tj_stream_destroy(tj_context *context, CUstream stream)
{
    if (context)
        tj_gpu_destroy_stream(&context->host.gpu, stream);
}

tj_status tj_synchronize(tj_context *context, CUstream stream, tj_error *err)
{
    if (!context)
        return tj_fail_null(err, __func__, "context");
    return tj_gpu_wait(&context->host.gpu, stream, err);
}

tj_status tj_device_memory(tj_context *context, size_t *free_bytes, size_t *total_bytes, tj_error *err)
{
    if (TJ_HAS_NULL(err, context, free_bytes, total_bytes))
        return TJ_ERR_INVALID_ARGUMENT;
    return tj_gpu_memory(&context->host.gpu, free_bytes, total_bytes, err);
}

tj_status tj_workbench_create(tj_context *context, const tj_problem *problem, const tj_workbench_options *options,
                              tj_workbench **bench, tj_error *err)
{
    if (bench)
        *bench = NULL;
    if (TJ_HAS_NULL(err, bench, context, problem))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_workbench_options own = TJ_WORKBENCH_INIT;
    tj_request request;
    tj_status status = options ? TJ_READ(options, &own, TJ_WORKBENCH_INIT, err) : TJ_OK;

    if (status == TJ_OK)
        status = tj_request_make(problem, &request, err);
    return status == TJ_OK ? tj_gpu_place(&context->host.gpu, &request, &own, bench, err) : status;
}

void tj_context_trim(tj_context *context, int64_t plans, int64_t bytes)
{
    if (context)
        tj_plan_table_trim(context->plans, plans, bytes);
}

/* ---- image, kernel, time ------------------------------------------------------------------------------------------ */

tj_status tj_compile(tj_context *context, const tj_source *source, const char *target, tj_image **image, tj_error *err)
{
    if (image)
        *image = NULL;
    if (TJ_HAS_NULL(err, image, context, source, target))
        return TJ_ERR_INVALID_ARGUMENT;
    return tj_image_build(&context->host, source, target, true, image, err);
}

tj_status tj_target_for(tj_context *context, int cc_major, int cc_minor, char *target, tj_error *err)
{
    if (TJ_HAS_NULL(err, context, target))
        return TJ_ERR_INVALID_ARGUMENT;
    return tj_host_target(&context->host, cc_major, cc_minor, target, err);
}

tj_status tj_targets(tj_context *context, const char *const **targets, tj_error *err)
{
    if (targets)
        *targets = NULL;
    if (TJ_HAS_NULL(err, targets, context))
        return TJ_ERR_INVALID_ARGUMENT;
    const tj_nvrtc *nvrtc;
    tj_status status = tj_host_nvrtc(&context->host, &nvrtc, err);

    *targets = status == TJ_OK ? tj_nvrtc_targets(nvrtc) : NULL;
    return status;
}

tj_status tj_kernel_load(tj_context *context, const tj_source *source, const tj_image *image, tj_kernel **kernel, tj_error *err)
{
    if (kernel)
        *kernel = NULL;
    if (TJ_HAS_NULL(err, kernel, context, source, image))
        return TJ_ERR_INVALID_ARGUMENT;
    if (!tj_source_problem(source))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is of the application's own family %s: tj_custom_load loads it",
                       tj_source_kernel(source), tj_family_name(tj_source_config(source)->family));
    return tj_host_load(&context->host, source, image, kernel, err);
}

typedef struct timed_plan {
    const tj_plan *plan;
    const tj_operands *set;
} timed_plan;

static tj_status launch_plan(const void *what, size_t set, CUstream stream, tj_error *err)
{
    const timed_plan *timed = what;

    return tj_plan_launch(timed->plan, &timed->set[set], stream, err);
}

tj_status tj_time_launches(tj_context *context, const tj_plan *plan, const tj_operands *operands, CUstream stream,
                           const tj_timing *timing, double *microseconds, tj_error *err)
{
    if (TJ_HAS_NULL(err, context, plan, operands, microseconds))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_timing own = TJ_TIMING_INIT;
    const tj_status status = timing ? TJ_READ(timing, &own, TJ_TIMING_INIT, err) : TJ_OK;

    if (status != TJ_OK)
        return status;
    return tj_gpu_time(&context->host.gpu, launch_plan, &(timed_plan){plan, operands}, stream, &own, microseconds, err);
}

/* ---- proof -------------------------------------------------------------------------------------------------------- */

tj_status tj_plan_prove(tj_context *context, const tj_plan *plan, const tj_problem *problem, int again, tj_proof *proof,
                        tj_error *err)
{
    if (TJ_HAS_NULL(err, proof, context, plan, problem))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_proof own = TJ_PROOF_INIT;
    tj_request request;
    tj_error why;
    tj_status status = TJ_CLEAR(proof, TJ_PROOF_INIT, err);

    if (status == TJ_OK)
        status = tj_request_make(problem, &request, err);
    if (status == TJ_OK)
        status = tj_plan_try(context, plan, &request, again != 0, &own, err);
    (void)TJ_FILL(proof, &own, TJ_PROOF_INIT, NULL);

    if (status == TJ_ERR_CHECK_FAILED && !plan->key.config && tj_plan_refresh(context, plan->key.problem, &why) != TJ_OK)
        tj_log_line(&context->host.log, TJ_LOG_ERROR, "a kernel that failed its proof stays in use: %s", why.message);
    return status;
}

tj_status tj_proof_write_case(tj_context *context, const tj_plan *plan, const tj_proof *proof, const char *folder,
                              tj_error *err)
{
    if (TJ_HAS_NULL(err, context, plan, proof, folder))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_device_facts device;
    tj_proof own;
    tj_status status = TJ_READ(proof, &own, TJ_PROOF_INIT, err);

    if (status == TJ_OK)
        status = tj_gpu_device_facts(&context->host.gpu, plan->program.kernel->device, &device, err);
    return status == TJ_OK ? tj_proof_write(&plan->program, &device, &own, folder, err) : status;
}

/* ---- store -------------------------------------------------------------------------------------------------------- */

tj_status tj_store_list(tj_context *context, int verify, tj_store_visit visit, void *payload, tj_error *err)
{
    if (!context)
        return tj_fail_null(err, __func__, "context");
    if (!visit)
        return tj_fail_null(err, __func__, "visit");
    return tj_disk_store_list(context->host.store, verify != 0, visit, payload, err);
}

tj_status tj_store_clear(tj_context *context, int only_damaged, int64_t *removed, tj_error *err)
{
    if (!context)
        return tj_fail_null(err, __func__, "context");
    return tj_disk_store_clear(context->host.store, only_damaged != 0, removed, err);
}

const char *tj_store_path(const tj_context *context)
{
    return context ? tj_disk_store_path(context->host.store) : NULL;
}

const char *tj_store_trouble(tj_context *context)
{
    if (!context)
        return NULL;
    return context->why_no_store ? context->why_no_store : tj_disk_store_trouble(context->host.store);
}

int64_t tj_store_max_bytes(const tj_context *context)
{
    return context ? tj_disk_store_max_bytes(context->host.store) : 0;
}

/* Neither a pack nor the store has the source for this target, whatever compiler made it. */
static tj_status explain_without_compiler(tj_context *context, const tj_source *source, const char *target, char *key_hex,
                                          int *hit, tj_store_explain_visit visit, void *payload, tj_error *err)
{
    const char *number = strchr(target, '_');
    const tj_packed_reader reader = {number ? atoi(number + 1) : 0, tj_gpu_is_emulated(&context->host.gpu)};
    tj_image_key_text text;
    tj_status status;
    char packs[1024];
    tj_key key;

    tj_image_make_key_without_compiler(&context->host, source, target, &text, &key);
    status = tj_disk_store_explain(context->host.store, &key, hit, visit, payload, err);
    key_hex[0] = '\0';
    tj_packs_say_why_not(context->host.packs, TJ_PACKED_IMAGE, tj_packed_serves, &reader, reader.number, packs, sizeof packs);
    if (status == TJ_OK && packs[0])
        visit(&(tj_store_field){sizeof(tj_store_field), "packs", "a kernel of this source", packs, 0}, payload);
    return status;
}

tj_status tj_store_explain(tj_context *context, const tj_source *source, const char *target, char *key_hex, int *hit,
                           tj_store_explain_visit visit, void *payload, tj_error *err)
{
    if (TJ_HAS_NULL(err, context, source, target))
        return TJ_ERR_INVALID_ARGUMENT;
    if (!key_hex)
        return tj_fail_null(err, __func__, "key");
    if (!hit)
        return tj_fail_null(err, __func__, "hit");
    if (!visit)
        return tj_fail_null(err, __func__, "visit");
    tj_image_key_text text;
    tj_key key;
    tj_status status = tj_image_make_key(&context->host, source, target, &text, &key, err);

    if (status == TJ_ERR_NO_COMPILER)
        return explain_without_compiler(context, source, target, key_hex, hit, visit, payload, err);
    if (status != TJ_OK)
        return status;
    memcpy(key_hex, key.hex, sizeof key.hex);
    if (tj_packed_has(&context->host, source, &key)) {
        *hit = TJ_HIT_PACK;
        for (size_t i = 0; i < key.count; i++)
            visit(&(tj_store_field){sizeof(tj_store_field), key.field[i].name, key.field[i].value, key.field[i].value, 1},
                  payload);
        return TJ_OK;
    }
    return tj_disk_store_explain(context->host.store, &key, hit, visit, payload, err);
}

/* ---- tuning ------------------------------------------------------------------------------------------------------- */

tj_status tj_records_load_all(tj_context *context, tj_records *records, int64_t *passed_over, tj_error *err)
{
    if (TJ_HAS_NULL(err, context, records, passed_over))
        return TJ_ERR_INVALID_ARGUMENT;
    return tj_records_read(context->host.store, records, passed_over, err);
}

/* A store that cannot be used has no records: no trouble with it fails a request. */
tj_status tj_records_load(tj_context *context, tj_records *records, tj_error *err)
{
    if (TJ_HAS_NULL(err, context, records))
        return TJ_ERR_INVALID_ARGUMENT;
    int64_t passed_over;
    const tj_status status = tj_records_read(context->host.store, records, &passed_over, err);

    return status == TJ_ERR_IO ? TJ_OK : status;
}

tj_status tj_records_keep(tj_context *context, const tj_records *records, int64_t *kept, tj_error *err)
{
    if (TJ_HAS_NULL(err, context, records))
        return TJ_ERR_INVALID_ARGUMENT;
    int64_t count;
    const tj_status status = tj_records_write(context->host.store, records, &count, err);

    tj_context_records_changed(context);
    if (kept)
        *kept = count;
    return status;
}

typedef struct choice {
    tj_context *context;
    const tj_problem *problem;
    const tj_plan **plan;
} choice;

static tj_status prepare(void *payload, const tj_config *config, tj_error *err)
{
    const choice *c = payload;

    return tj_plan_prepare(c->context, c->problem, config, c->plan, err);
}

tj_status tj_choose_plan(tj_context *context, const tj_records *records, const tj_problem *problem,
                         const tj_device_facts *device, tj_config *config, const tj_plan **plan, tj_error *err)
{
    if (plan)
        *plan = NULL;
    if (TJ_HAS_NULL(err, plan, context, problem, device, config))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_request request;
    const tj_status status = tj_request_make(problem, &request, err);

    return status == TJ_OK ? tj_choose_fitting(records ? records : tj_context_shipped(context), &request, device, prepare,
                                               &(choice){context, problem, plan}, config, err)
                           : status;
}

tj_status tj_context_choose_config(tj_context *context, const tj_problem *problem, const tj_device_facts *device,
                                   tj_config *config, tj_chosen_by *chosen_by, tj_error *err)
{
    if (TJ_HAS_NULL(err, context, problem, device, config))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_choice chosen = {.by = 0};
    tj_request request;
    tj_status status = tj_request_make(problem, &request, err);

    if (status == TJ_OK)
        status = tj_context_choose(context, TJ_CHOOSE_FOR, device, &request, (tj_refusals){NULL, 0}, &chosen, err);
    if (status != TJ_OK)
        return status;
    *config = chosen.config;
    if (chosen_by)
        *chosen_by = chosen.by;
    return TJ_OK;
}

tj_status tj_context_neighbours(tj_context *context, const tj_problem *problem, const tj_device_facts *device,
                                tj_neighbour_visit visit, void *payload, tj_error *err)
{
    if (TJ_HAS_NULL(err, context, problem, device))
        return TJ_ERR_INVALID_ARGUMENT;
    if (!visit)
        return tj_fail_null(err, __func__, "visit");
    tj_request request;
    const tj_status status = tj_request_make(problem, &request, err);

    if (status == TJ_OK)
        tj_context_visit_neighbours(context, device, &request, visit, payload);
    return status;
}

/* Other machines may use what was found here. */
static void offer_record(tj_context *context, const tj_records *found)
{
    const tj_record *record = tj_records_at(found, 0);
    char id[TJ_PROBLEM_ID_BYTES];
    tj_tuning_class of = TJ_TUNING_CLASS_INIT;
    tj_device_facts device;

    if (!record || tj_gpu_current_device(&context->host.gpu, &device, NULL) != TJ_OK ||
        tj_tuning_class_of(context, &device, &of, NULL) != TJ_OK)
        return;
    tj_problem_id(&record->problem, id);
    tj_remote_offer(context->host.remote, FLEET_RECORD, of.id, id, record->json, strlen(record->json), false);
}

tj_status tj_tune(tj_context *context, const tj_problem *problem, const tj_tune_options *options, tj_tune_result *result,
                  tj_error *err)
{
    if (TJ_HAS_NULL(err, result, context, problem))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_tune_result best = TJ_TUNE_RESULT_INIT;
    tj_tune_options own;
    tj_records *found = NULL;
    tj_request request, next;
    bool has_next;
    tj_error why;
    tj_status status = TJ_CLEAR(result, TJ_TUNE_RESULT_INIT, err);

    if (status == TJ_OK)
        status = tj_tune_read_options(options, &own, err);
    if (status == TJ_OK)
        status = tj_request_make(problem, &request, err);
    if (status != TJ_OK)
        return status;
    has_next = own.next && tj_request_make(own.next, &next, NULL) == TJ_OK;
    if (context->host.remote && !own.records && !own.no_record && tj_remote_writes(context->host.remote))
        own.records = found = tj_records_create();
    status = tj_tune_on(&context->host, &context->pools, tj_context_shipped(context), &request, has_next ? &next : NULL, &own,
                        &best, err);
    (void)TJ_FILL(result, &best, TJ_TUNE_RESULT_INIT, NULL);
    if (found)
        offer_record(context, found);
    tj_records_free(found);
    if (!best.has_record)
        return status;
    tj_context_records_changed(context);
    if (tj_plan_refresh(context, problem, &why) != TJ_OK)
        tj_log_line(&context->host.log, TJ_LOG_WARNING, "the record of this tuning is not used yet: %s", why.message);
    return status;
}
