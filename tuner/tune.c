/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tune: the search over a device, the comparison of its finalists, and the record.
 *
 *     first     the library's choice without records, the safe default, configs of similar records
 *     search    tj_search; pool.c compiles ahead, measure.c times, verify.c checks configs that would take the lead
 *     finals    the fastest few and the default, in turns, so that a drifting clock affects all of them alike
 *     record    unless the caller wants none, or the times are the emulator's; later choices follow it
 *
 * The budget covers all four: the search leaves a share of it to the finals, and nothing begins that would not end in time.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tilejit/prove.h>
#include <tilejit/version.h>

#include "tune.h"

#include "choose.h"
#include "clock.h"
#include "error.h"
#include "hash.h"
#include "image.h"
#include "measure.h"
#include "pool.h"
#include "proof.h"
#include "rank.h"
#include "record.h"
#include "search.h"
#include "settle.h"
#include "shared.h"
#include "space.h"
#include "verify.h"
#include "winner.h"

enum { SEEDS = 6, POOL_JOBS = 512, LEAST_TURNS = 3, HEAT_TURNS = 4 };
enum { LEAST_FINALISTS = 3 /* the incumbents and the fastest other */, LAST_CHECK = 10 /* times the first one's work */ };

static const double CHECK_FLOP = 2e8;                      /* of one check */
static const double FINAL_SECONDS = 8, FINAL_SHARE = 0.25; /* at most, and of the budget */
static const double HEAT_SECONDS = 0.5;                    /* as some configs slow down after a quarter of a second of load */

typedef struct tuning {
    tj_host *host, scratch; /* scratch compiles the candidates, none of which is stored */
    const tj_request *request;
    tj_tune_options options;
    tj_device_facts device;
    char target[16];
    tj_pool *pool;
    int announced;  /* since the last tj_pool_forget */
    bool was_short; /* memory or threads were short for a candidate that may be a good one */
    tj_bench bench;
    struct CUstream_st *stream; /* separate, so that neither it nor the program's own work and captures wait for each other */
    tj_anchor anchor;
    tj_proof proof; /* of the winner, if is_proven */
    bool is_proven;
    tj_check_report first_check; /* of the anchor */
    double first_check_s;
    double start, budget; /* budget: seconds from the start; INFINITY: no limit */
} tuning;

static double seconds_left(const tuning *t)
{
    return t->start + t->budget - tj_clock_s();
}

/* ---- the measurer ------------------------------------------------------------------------------------------------- */

static void announce(void *payload, const tj_config *config)
{
    tuning *t = payload;

    tj_pool_announce(t->pool, config);
    t->announced++;
}

static tj_status measure(void *payload, double best_us, tj_trial *trial, tj_error *err)
{
    tuning *t = payload;
    const tj_candidate *candidate;
    const tj_program *program = NULL;
    tj_kernel_facts facts;
    tj_error why;
    tj_status status;

    if (t->announced > POOL_JOBS) { /* limit the images and loaded kernels; announced configs stay */
        tj_pool_forget(t->pool);
        t->announced = 0;
    }
    candidate = tj_pool_await(t->pool, &trial->config);
    status = tj_pool_load(t->pool, &trial->config, &program, &why);
    if (candidate && candidate->status == TJ_OK) {
        const tj_launch_step *product = tj_product_step(tj_source_launch(candidate->program.source));
        const int32_t registers = tj_image_resources(candidate->program.image).registers;

        trial->compile_ms = candidate->ms;
        trial->registers = registers > 0 ? registers : 0;
        trial->shared_bytes = product->static_shared_bytes + product->dynamic_shared_bytes;
    }
    t->was_short |= status == TJ_ERR_OUT_OF_MEMORY;
    /* If memory fails for the first config, there is nothing to compare with. */
    if (status == TJ_ERR_NO_COMPILER || status == TJ_ERR_NO_DRIVER || status == TJ_ERR_DEVICE_LOST || status == TJ_ERR_FORKED ||
        status == TJ_ERR_CANCELLED || (status == TJ_ERR_OUT_OF_MEMORY && best_us == 0)) {
        if (err)
            *err = why;
        return status;
    }
    if (status != TJ_OK) {
        trial->state = TJ_TRIAL_REFUSED;
        (void)strncpy(trial->why, why.message, sizeof trial->why - 1);
        return TJ_OK;
    }
    /* An image from a store has no log with registers, but the driver knows them. */
    if (tj_kernel_get_facts(program->kernel, &facts, NULL) == TJ_OK && facts.registers > 0)
        trial->registers = facts.registers;
    return tj_bench_time(&t->bench, program, best_us, trial, err);
}

static tj_status verify_with(tuning *t, double flop, tj_trial *trial, tj_check_report *report, tj_error *err)
{
    const tj_program *program = NULL;
    tj_status status = tj_pool_load(t->pool, &trial->config, &program, err);

    return status == TJ_OK ? tj_verify(&t->bench, program, flop, &t->anchor, trial, report, err) : status;
}

static tj_status verify(void *payload, tj_trial *trial, tj_error *err)
{
    tuning *t = payload;
    const double start = tj_clock_s();
    tj_status status;

    /* The reference costs more than a trial: it checks the first product, and the winner once more (crown). */
    if (t->anchor.p)
        return verify_with(t, 0, trial, NULL, err);
    status = verify_with(t, t->options.check_flop, trial, &t->first_check, err);
    t->first_check_s = tj_clock_s() - start;
    return status;
}

static double predict(void *payload, const tj_config *config)
{
    const tuning *t = payload;

    return 1e6 * tj_rank_predict(&t->device, t->request, config);
}

static double seconds_gone(void *payload)
{
    const tuning *t = payload;

    return tj_clock_s() - t->start;
}

static int is_cancelled(void *payload)
{
    const tuning *t = payload;

    return t->options.is_cancelled && t->options.is_cancelled(t->options.payload);
}

/* Report the whole budget, because the search knows only its share. */
static void tell(const tj_tune_progress *progress, void *payload)
{
    const tuning *t = payload;
    tj_tune_progress whole = *progress;

    whole.budget = isfinite(t->budget) ? t->budget : 0;
    if (t->options.progress)
        t->options.progress(&whole, t->options.payload);
}

/* ---- first -------------------------------------------------------------------------------------------------------- */

/*
 * Write a config as the space writes it: parameters that a family settles are spelled out or, if no other value is tried, left
 * open, so that a search does not meet one kernel under two names. False: the problem refuses the config, which stays as it
 * was.
 */
static bool settle(const tj_request *request, tj_config *config)
{
    tj_config resolved = *config, opened, again;
    tj_axes axes;

    if (tj_request_resolve(request, &resolved, NULL) != TJ_OK)
        return false;
    tj_axes_of(config->family, &axes);
    opened = resolved;
    tj_axes_leave_open(&axes, &opened);
    again = opened;
    if (tj_request_resolve(request, &again, NULL) == TJ_OK && memcmp(again.value, resolved.value, sizeof again.value) == 0)
        memcpy(config->value, opened.value, sizeof config->value);
    else
        memcpy(config->value, resolved.value, sizeof config->value); /* not the problem's choice, so outside the space */
    return true;
}

static tj_status fits(void *payload, const tj_config *config, tj_error *err)
{
    const tuning *t = payload;
    const tj_program *program;

    return tj_pool_load(t->pool, config, &program, err);
}

/*
 * List the first configs. The library's choice without records comes first, because the winner is compared with its time. Some
 * may appear twice.
 */
static size_t list_first(tuning *t, const tj_records *records, const tj_record *before, tj_config *first)
{
    size_t count = 0;

    count += tj_choose_fitting(NULL, t->request, &t->device, fits, t, &first[0], NULL) == TJ_OK;
    first[count++] = tj_default_config(t->request);
    count += tj_record_read_config(before, &first[count]);
    count += tj_choose_seeds(records, t->request, &t->device, &first[count], SEEDS);
    for (size_t i = 0; i < count; i++)
        (void)settle(t->request, &first[i]);
    return count;
}

/* ---- finals ------------------------------------------------------------------------------------------------------- */

/* Draw an order for one turn. */
static void shuffle(size_t *order, size_t count, uint64_t *random)
{
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = count; i > 1; i--) {
        size_t with, held;

        *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        with = (size_t)((*random >> 33) % i);
        held = order[i - 1];
        order[i - 1] = order[with];
        order[with] = held;
    }
}

/* Return the seconds of a turn of all finalists. */
static double turn_seconds(const tuning *t, const tj_finalist *list, size_t count)
{
    double seconds = 0;

    for (size_t i = 0; i < count; i++)
        seconds += tj_bench_turn_seconds(&t->bench, list[i].trial.us);
    return seconds;
}

/* *is_whole: every finalist had its turn in time; if not, the turn is discarded. */
static tj_status take_turn(tuning *t, tj_finalist *list, size_t count, size_t turn, uint64_t *random, bool *is_whole,
                           tj_error *err)
{
    size_t order[TJ_FINALISTS];
    tj_status status = TJ_OK;

    *is_whole = true;
    shuffle(order, count, random);
    for (size_t i = 0; i < count && status == TJ_OK; i++) {
        tj_finalist *one = &list[order[i]];
        const tj_program *program = NULL;

        if (tj_clock_s() + tj_bench_turn_seconds(&t->bench, one->trial.us) > t->bench.deadline) {
            *is_whole = false;
            return TJ_OK;
        }
        status = tj_pool_load(t->pool, &one->trial.config, &program, err);
        if (status == TJ_OK)
            status = tj_bench_turn(&t->bench, program, one->trial.us, 0, &one->turn[turn], err);
    }
    return status;
}

/*
 * Compare finalists in turns. After some turns of all, only the fastest go on: the median of many turns separates configs whose
 * difference is smaller than the variation between turns. Without time for a turn, and on the emulator, whose turns mean
 * nothing, the search's measurements decide.
 */
static tj_status compare_finalists(tuning *t, tj_finalist *list, size_t *count, tj_error *err)
{
    uint64_t random = (uint64_t)t->options.seed;
    tj_status status = TJ_OK;
    size_t turns = 0;
    bool is_whole = true;
    double start;

    tj_judge_looks(list, *count);
    if (t->bench.is_emulated)
        return TJ_OK;
    while (*count > LEAST_FINALISTS && tj_clock_s() + LEAST_TURNS * turn_seconds(t, list, *count) > t->bench.deadline)
        *count = tj_keep_contenders(list, *count, *count - 1);
    /* Compile forgotten finalists again before the turns, not during them. */
    for (size_t i = 0; i < *count && status == TJ_OK; i++) {
        const tj_program *program = NULL;

        if (tj_clock_s() >= t->bench.deadline)
            return TJ_OK;
        status = tj_pool_load(t->pool, &list[i].trial.config, &program, err);
    }
    for (start = tj_clock_s(); turns < TJ_TURNS && status == TJ_OK; turns += is_whole) {
        if (turns >= LEAST_TURNS && (tj_clock_s() > start + FINAL_SECONDS || is_cancelled(t)))
            break;
        if (*count > TJ_CONTENDERS && turns >= HEAT_TURNS && tj_clock_s() > start + HEAT_SECONDS) {
            tj_judge_turns(list, *count, turns);
            *count = tj_keep_contenders(list, *count, TJ_CONTENDERS);
        }
        status = take_turn(t, list, *count, turns, &random, &is_whole, err);
        if (!is_whole)
            break;
    }
    if (status == TJ_OK && turns > 0)
        tj_judge_turns(list, *count, turns);
    return status;
}

/*
 * Prove the winner between guard zones, which the check against float64 does not have. A lack of device memory does not refuse
 * a winner. The emulator needs no proof, because no compiler of its own could be wrong.
 */
static tj_status prove(tuning *t, const tj_config *winner, tj_error *err)
{
    const tj_program *program = NULL;
    tj_program simple = {0};
    tj_request any;
    tj_config config;
    tj_error why;
    tj_status status;

    if (t->bench.is_emulated)
        return TJ_OK;
    status = tj_pool_load(t->pool, winner, &program, &why);
    if (status == TJ_OK)
        status = tj_proof_simple(t->request, &any, &config, &why);
    if (status == TJ_OK)
        status = tj_program_build(&t->scratch, &any, &config, t->target, &simple, &why);
    if (status == TJ_OK)
        status = tj_program_load(&t->scratch, &simple, &why);
    if (status == TJ_OK)
        status = tj_program_prove(&t->scratch, program, simple.kernel, t->request, &t->proof, &why);
    tj_program_drop(&simple);
    t->is_proven = status == TJ_OK;
    if (status == TJ_OK || status == TJ_ERR_DEVICE_MEMORY || status == TJ_ERR_OUT_OF_MEMORY)
        return TJ_OK;
    if (program && t->proof.reason[0]) { /* spare other processes the discovery */
        tj_image_publish(t->host, program->source, program->image->body);
        tj_shared_offer(t->host, program->source, program->image->body, false);
        tj_proof_remember(t->host, program->image, &t->device, &t->proof);
    }
    if (err)
        *err = why;
    return status;
}

/* Return the work of the winner's check: what the rest of the budget allows, at the rate of the first check. 0: none. */
static double last_check_flop(const tuning *t)
{
    const double wanted = LAST_CHECK * t->options.check_flop, takes = LAST_CHECK * t->first_check_s;
    const double left = seconds_left(t);

    return left <= 0 ? 0 : takes <= left ? wanted : wanted * left / takes;
}

/*
 * Check the winner once more, on more rows, prove it, and fill in its fields of the result. Without time for the check, every
 * element still equals that of the first product, and the result reports the check of that one.
 */
static tj_status crown(tuning *t, tj_finalist *list, size_t *count, tj_tune_result *result, tj_error *err)
{
    while (*count > 0) {
        const size_t winner = tj_choose_winner(list, *count), second = tj_fastest_of(list, *count, winner);
        const double flop = last_check_flop(t);
        tj_check_report report = t->first_check;
        const tj_program *program = NULL;
        tj_status status = flop > 0 ? verify_with(t, flop, &list[winner].trial, &report, err) : TJ_OK;

        if (status != TJ_OK)
            return status;
        if (list[winner].trial.is_verified)
            status = prove(t, &list[winner].trial.config, err);
        if (!list[winner].trial.is_verified || status == TJ_ERR_CHECK_FAILED) {
            result->wrong++;
            list[winner] = list[--*count];
            continue;
        }
        if (status != TJ_OK)
            return status;
        result->config = list[winner].trial.config;
        result->us = list[winner].us;
        result->spread = list[winner].spread;
        result->second = list[second].trial.config;
        result->second_us = list[second].us;
        result->check_ratio = report.max_ratio;
        result->check_elements = report.elements;
        if (t->bench.is_emulated || tj_bench_turn_seconds(&t->bench, result->us) > seconds_left(t))
            return TJ_OK;
        status = tj_pool_load(t->pool, &result->config, &program, err);
        return status == TJ_OK ? tj_bench_turn(&t->bench, program, result->us, 1, &result->warm_us, err) : status;
    }
    return tj_fail(err, TJ_ERR_CHECK_FAILED,
                   "not one config computed the product: tilejit tune --verbose says what became of each");
}

/* ---- record ------------------------------------------------------------------------------------------------------- */

static void hash_source(const tj_request *request, const tj_config *config, char hex[TJ_HASH_HEX_BYTES])
{
    tj_config resolved = *config;
    tj_source *source = NULL;

    hex[0] = '\0';
    if (tj_request_resolve(request, &resolved, NULL) == TJ_OK &&
        tj_request_generate(request, &resolved, &source, NULL) == TJ_OK)
        tj_hash_hex(tj_hash_bytes(tj_source_text(source), strlen(tj_source_text(source))), hex);
    tj_source_free(source);
}

static tj_trial *find_trial(const tj_search_result *found, const tj_config *config)
{
    for (size_t i = 0; i < found->count; i++)
        if (memcmp(&found->trial[i].config, config, sizeof *config) == 0)
            return &found->trial[i];
    return NULL;
}

/*
 * Describe the families that two searches covered together: all families if one of them searched all, several if they searched
 * different ones.
 */
static void describe_search(const tuning *t, const tj_tune_result *result, const tj_record *before, tj_record *r)
{
    const char *const family = t->options.family ? tj_family_name(t->options.family) : "";

    r->is_complete = result->is_complete;
    (void)strncpy(r->family, family, sizeof r->family - 1);
    if (before && strcmp(before->family, family) == 0) {
        r->is_complete |= before->is_complete;
    } else if (before && family[0] && before->family[0]) {
        r->is_complete = false;
        (void)strcpy(r->family, "several");
    } else if (before) {
        r->is_complete = family[0] ? before->is_complete : result->is_complete;
        r->family[0] = '\0';
    }
}

static tj_record *make_record(const tuning *t, const tj_tune_result *result, const tj_record *before)
{
    static const char *const strategies[] = {"search", "model", "exhaustive"};
    const tj_program *program = NULL;
    tj_record r;

    memset(&r, 0, sizeof r);
    r.problem = t->request->problem;
    r.device = tj_device_kind_of(&t->device);
    tj_config_print(&result->config, r.config);
    tj_config_print(&result->default_config, r.default_config);
    tj_config_print(&result->second, r.second_config);
    r.us = result->us;
    r.spread = result->spread;
    r.warm_us = result->warm_us;
    r.default_us = result->default_us;
    r.second_us = result->second_us;
    r.check_ratio = result->check_ratio;
    r.check_elements = result->check_elements;
    (void)strcpy(r.strategy, strategies[t->options.strategy]);
    (void)strcpy(r.policy, t->options.is_warm ? "warm" : "cold");
    r.evaluations = result->evaluations + (before ? before->evaluations : 0);
    r.seed = t->options.seed;
    r.seconds = result->seconds;
    describe_search(t, result, before, &r);
    r.was_cancelled = result->was_cancelled;
    r.driver_version = t->device.driver_version;
    r.clock_khz = t->device.clock_khz;
    r.created_s = (int64_t)time(NULL);
    (void)strncpy(r.version, tj_version(), sizeof r.version - 1);
    hash_source(t->request, &result->config, r.source_hash);
    if (tj_pool_load(t->pool, &result->config, &program, NULL) == TJ_OK)
        (void)strncpy(r.compiler, tj_image_compiler(program->image), sizeof r.compiler - 1);
    return tj_record_create(&r);
}

/* Publish the winner's image only, so that the next process need not compile it. */
static void keep_image(const tuning *t, const tj_config *winner)
{
    const tj_program *program = NULL;

    if (tj_pool_load(t->pool, winner, &program, NULL) != TJ_OK)
        return;
    tj_image_publish(t->host, program->source, program->image->body);
    if (t->is_proven)
        tj_proof_remember(t->host, program->image, &t->device, &t->proof);
}

static void keep_record(const tuning *t, const tj_record *before, tj_tune_result *result)
{
    tj_records *one = tj_records_create();
    tj_record *record = one ? make_record(t, result, before) : NULL;
    tj_record *copy = record && t->options.records ? tj_record_copy(record) : NULL;
    tj_error why;
    tj_status status = record ? tj_records_add(one, record, &why) : tj_fail_memory(&why, "a record");
    int64_t kept = 0;

    if (status == TJ_OK && t->options.records)
        status = copy ? tj_records_add(t->options.records, copy, &why) : tj_fail_memory(&why, "a record");
    if (status == TJ_OK && t->options.no_record) {
        tj_records_free(one);
        return;
    }
    if (status == TJ_OK)
        status = tj_records_write(t->host->store, one, &kept, &why);
    result->has_record = kept > 0;
    result->is_record_lost = status != TJ_OK;
    if (status == TJ_OK && kept == 0)
        status = tj_fail(&why, TJ_ERR_NOT_FOUND, "the store has one of a larger search, which stays");
    if (status == TJ_OK)
        keep_image(t, &result->config);
    else
        tj_log_line(&t->host->log, TJ_LOG_WARNING, "the record of this tuning is not kept: %s", why.message);
    tj_records_free(one);
}

/* ---- public ------------------------------------------------------------------------------------------------------- */

static tj_status open(tuning *t, tj_error *err)
{
    tj_gpu *const gpu = &t->host->gpu;
    tj_choice likely;
    tj_status status = tj_gpu_check_process(gpu, err);

    if (status == TJ_OK)
        status = tj_gpu_current_device(gpu, &t->device, err);
    if (status == TJ_OK)
        status = tj_host_target(t->host, t->device.cc_major, t->device.cc_minor, t->target, err);
    if (status == TJ_OK)
        status = tj_host_begin_scratch(&t->scratch, t->host, err);
    if (status != TJ_OK)
        return status;
    t->pool = tj_pool_create(&t->scratch, t->request, &t->device, t->target, t->options.threads);
    if (!t->pool)
        return tj_fail_memory(err, "the threads of a tuning");
    /* Compile the first config while operands are placed, which takes about as long if they are large. */
    if (tj_choose_for(NULL, t->request, &t->device, (tj_refusals){NULL, 0}, &likely, NULL) == TJ_OK)
        tj_pool_announce(t->pool, &likely.config);
    status = tj_gpu_create_stream(gpu, &t->stream, err);
    if (status == TJ_OK)
        status = tj_bench_place(gpu, t->stream, t->request, &t->device, (uint64_t)t->options.seed, t->options.is_warm,
                                &t->bench, err);
    return status;
}

/* Was it timed but not verified? It may be right and the fastest. trial may be NULL. */
static bool is_unchecked(const tj_trial *trial)
{
    return trial && trial->state == TJ_TRIAL_TIMED && !trial->is_verified;
}

static tj_status hold_finals(tuning *t, const tj_search_result *found, const tj_incumbents *in, tj_tune_result *result,
                             tj_error *err)
{
    tj_finalist *list = calloc(TJ_FINALISTS, sizeof *list);
    const tj_trial *standard = find_trial(found, &in->standard);
    const tj_tune_progress progress = {
        .evaluations = result->evaluations,
        .limit = result->evaluations,
        .seconds = tj_clock_s() - t->start,
        .best_us = found->count > 0 ? found->trial[0].us : 0,
        .default_us = standard ? standard->us : 0,
        .best = found->count > 0 ? &found->trial[0].config : NULL,
    };
    tj_trial *before = find_trial(found, &in->recorded);
    tj_status status = TJ_OK;
    size_t count;

    if (!list)
        return tj_fail_memory(err, "the finalists of a tuning");
    const double last_check_s = LAST_CHECK * t->first_check_s;

    tell(&progress, t);
    /* The turns leave time for the last check, but at most half of the rest. */
    t->bench.deadline = t->start + t->budget - fmin(last_check_s, fmax(seconds_left(t), 0) / 2);
    /* A search verifies trials near its best; verify the recorded config too, which may look slower in a single measurement. */
    if (is_unchecked(before) && seconds_left(t) > 0) {
        status = verify_with(t, 0, before, NULL, err);
        result->wrong += before->state == TJ_TRIAL_WRONG;
    }
    count = tj_list_finalists(found->trial, found->count, in, list);
    if (status == TJ_OK && count == 0)
        status = tj_fail(err, TJ_ERR_CHECK_FAILED, "no config of %zu that were tried computed the product; the first: %s",
                         found->count, found->count > 0 ? found->trial[0].why : "none");
    if (status == TJ_OK)
        status = compare_finalists(t, list, &count, err);
    result->was_cancelled |= is_cancelled(t);
    result->default_us = tj_finalist_us(list, count, TJ_STANDARD, 0);
    result->before_us = tj_finalist_us(list, count, TJ_RECORDED, result->default_us);
    if (status == TJ_OK)
        status = crown(t, list, &count, result, err);
    free(list);
    return status;
}

static void count_trials(const tj_search_result *found, tj_tune_result *result)
{
    result->evaluations = (int64_t)found->count;
    result->is_complete = found->is_complete;
    result->was_cancelled = found->was_cancelled;
    for (size_t i = 0; i < found->count; i++) {
        result->refused += found->trial[i].state == TJ_TRIAL_REFUSED;
        result->wrong += found->trial[i].state == TJ_TRIAL_WRONG;
        result->slow += found->trial[i].state == TJ_TRIAL_SLOW;
    }
}

/* Return the tuning's options without the share of the budget for the finals. */
static tj_tune_options options_of_search(tuning *t)
{
    tj_tune_options options = t->options;

    options.seconds = isfinite(t->budget) ? t->budget - fmin(FINAL_SECONDS, FINAL_SHARE * t->budget) : -1;
    options.is_cancelled = is_cancelled;
    options.progress = tell;
    options.payload = t;
    t->bench.deadline = isfinite(t->budget) ? t->start + options.seconds : (double)INFINITY;
    return options;
}

tj_status tj_tune_on(tj_host *host, const tj_request *request, const tj_tune_options *options, tj_tune_result *result,
                     tj_error *err)
{
    tuning t = {.host = host, .request = request, .options = *options, .start = tj_clock_s()};
    tj_tune_options of_search;
    const tj_measurer measurer = {&t, announce, measure, verify, predict, seconds_gone, &t.device};
    tj_config first[3 + SEEDS];
    tj_incumbents in;
    tj_search_result found = {NULL, 0, 0, 0};
    tj_records *records = tj_records_create();
    const tj_record *before = NULL;
    bool is_usable = false; /* of the config of before */
    int64_t passed_over;
    size_t first_count;
    tj_status status = records ? TJ_OK : tj_fail_memory(err, "a set of records");

    memset(result, 0, sizeof *result);
    if (t.options.check_flop == 0)
        t.options.check_flop = CHECK_FLOP;
    t.budget = tj_tune_budget(&t.options) > 0 ? tj_tune_budget(&t.options) : (double)INFINITY;
    if (status == TJ_OK)
        status = tj_records_read(host->store, records, &passed_over, err);
    if (status == TJ_OK || status == TJ_ERR_IO) /* an unusable store has no records */
        status = open(&t, err);
    if (status == TJ_OK) {
        before = tj_records_get(records, &request->problem, &t.device);
        first_count = list_first(&t, records, before, first);
        result->default_config = in.standard = first[0];
        is_usable = tj_record_read_config(before, &in.recorded) && settle(request, &in.recorded);
        if (!is_usable)
            in.recorded = in.standard;
        of_search = options_of_search(&t);
        status = tj_search_request(request, &of_search, first, first_count, &measurer, &found, err);
        tj_pool_stop(t.pool); /* the configs announced ahead are no longer needed */
        found.is_complete &= !t.was_short;
    }
    if (status == TJ_OK && found.was_cancelled && (found.count == 0 || !found.trial[0].is_verified))
        status = tj_fail(err, TJ_ERR_CANCELLED, "cancelled before any config was timed and verified: nothing to keep");
    if (status == TJ_OK) {
        count_trials(&found, result);
        status = hold_finals(&t, &found, &in, result, err);
        result->is_emulated = t.bench.is_emulated;
        result->seconds = tj_clock_s() - t.start;
    }
    /*
     * If the record's config was among the trials, the new result beats everything that the record's own search tried, or that
     * config fails here by now. A config that this version cannot read, or refuses, gives way, however many evaluations its
     * record has.
     */
    if (status == TJ_OK && (!t.options.no_record || t.options.records) && !t.bench.is_emulated) {
        const tj_trial *again = find_trial(&found, &in.recorded);

        keep_record(&t, is_usable && again && !is_unchecked(again) ? before : NULL, result);
    }
    free(found.trial);
    tj_records_free(records);
    tj_anchor_drop(&t.anchor);
    tj_bench_drop(&t.bench);
    tj_gpu_destroy_stream(&host->gpu, t.stream);
    tj_pool_free(t.pool);
    tj_host_end(&t.scratch);
    if (status != TJ_OK)
        memset(result, 0, sizeof *result);
    return status;
}
