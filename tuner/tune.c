/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tune: tune a product (tuning.h says how), and keep the record.
 *
 *     first     the library's choice without records, the safe default, configs of similar records
 *     search    verify.c checks configs that would take the lead
 *     finals    the winner is checked on more rows, and proven
 *     record    unless the caller wants none, or the times are the emulator's; later choices follow it
 *
 * The budget covers all four: the search leaves a share of it to the finals, and nothing begins that would not end in time.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tilejit/prove.h>
#include <tilejit/version.h>

#include "tune.h"

#include "choose.h"
#include "error.h"
#include "hash.h"
#include "image.h"
#include "measure.h"
#include "proof.h"
#include "rank.h"
#include "record.h"
#include "settle.h"
#include "shared.h"
#include "space.h"
#include "tuning.h"
#include "verify.h"

enum { OF_RECORDS = 6, OF_TABLES = 4, LAST_CHECK = 10 /* times the first one's work */ };

static const double CHECK_FLOP = 2e8;    /* of one check */
static const double CONFIRM_SHARE = 0.1; /* of the budget, for the check of the winner */

typedef struct product_tuning {
    tj_tuning base;
    const tj_request *request, *next; /* next: will be tuned after it; NULL: not known */
    tj_pool_basis basis;
    tj_search_space space;
    tj_config first[3 + OF_RECORDS + OF_TABLES];
    size_t first_count;
    tj_bench bench;
    tj_anchor anchor;
    tj_config anchor_config; /* whose product that is */
    tj_proof proof;          /* of the winner, if is_proven */
    bool is_proven;
    tj_check_report first_check; /* of the anchor */
    double first_check_s;
} product_tuning;

/* A request that will be tuned next, and who wants to know its first configs. */
typedef struct ahead {
    const tj_request *request;
    const tj_device_facts *device;
    void *sink;
    void (*announce)(void *sink, const tj_config *config);
} ahead;

static product_tuning *of(tj_tuning *t)
{
    return (product_tuning *)t;
}

/* ---- trials ------------------------------------------------------------------------------------------------------- */

static tj_status measure(tj_tuning *t, const tj_candidate *candidate, double best_us, tj_trial *trial, tj_error *err)
{
    of(t)->bench.deadline = t->deadline;
    return tj_bench_time(&of(t)->bench, &candidate->program, best_us, trial, err);
}

static tj_status time_round(tj_tuning *t, const tj_candidate *candidate, double us, int is_warm, double *median, tj_error *err)
{
    of(t)->bench.deadline = t->deadline;
    return tj_bench_round(&of(t)->bench, &candidate->program, us, is_warm, median, err);
}

static tj_status verify_with(product_tuning *t, double flop, bool is_whole, tj_trial *trial, tj_check_report *report,
                             tj_error *err)
{
    const tj_candidate *loaded = NULL;
    tj_status status = tj_pool_load(t->base.pool, &trial->config, &loaded, err);

    return status == TJ_OK ? tj_verify(&t->bench, &loaded->program, flop, is_whole, &t->anchor, trial, report, err) : status;
}

static tj_status verify(void *payload, tj_trial *trial, tj_error *err)
{
    product_tuning *t = payload;
    const double start = tj_clock_s();
    tj_status status;

    /* The reference costs more than a trial: it checks the first product, and the winner once more (confirm). */
    if (t->anchor.p)
        return verify_with(t, 0, false, trial, NULL, err);
    status = verify_with(t, t->base.options.check_flop, true, trial, &t->first_check, err);
    t->anchor_config = trial->config;
    t->first_check_s = tj_clock_s() - start;
    t->base.confirm_seconds = fmin(LAST_CHECK * t->first_check_s, CONFIRM_SHARE * t->base.budget);
    return status;
}

static double predict(void *payload, const tj_config *config)
{
    const product_tuning *t = payload;

    return 1e6 * tj_rank_predict(&t->base.device, t->request, config);
}

/* ---- first -------------------------------------------------------------------------------------------------------- */

static tj_status fits(void *payload, const tj_config *config, tj_error *err)
{
    product_tuning *t = payload;
    const tj_candidate *loaded;
    tj_config same = *config; /* under the name by which it is announced, lest it be compiled twice */

    (void)tj_space_rewrite(t->request, &same);
    return tj_pool_load(t->base.pool, &same, &loaded, err);
}

/*
 * List the first configs, and compile them. The library's choice without records comes first, because the winner is compared
 * with its time. Some may appear twice.
 */
static void list_first(product_tuning *t, const tj_records *records, const tj_record *before)
{
    const tj_request *request = t->request;
    tj_choice likely = {.config = tj_default_config(request)};

    (void)tj_choose_for(t->basis.shipped, request, &t->base.device, (tj_refusals){NULL, 0}, &likely, NULL);
    t->first[t->first_count++] = likely.config;
    t->first_count += tj_record_read_config(before, &t->first[t->first_count]);
    t->first_count += tj_choose_promising(records, request, &t->base.device, &t->first[t->first_count], OF_RECORDS);
    t->first_count += tj_choose_promising(t->basis.shipped, request, &t->base.device, &t->first[t->first_count], OF_TABLES);
    t->first[t->first_count++] = tj_default_config(request);
    for (size_t i = 0; i < t->first_count; i++) {
        (void)tj_space_rewrite(request, &t->first[i]);
        tj_pool_announce(t->base.pool, &t->first[i]);
    }
}

/* The first choice may be unfit: then another one takes its place. */
static void settle_first(product_tuning *t)
{
    tj_config fit;

    if (tj_choose_fitting(t->basis.shipped, t->request, &t->base.device, fits, t, &fit, NULL) != TJ_OK)
        return;
    (void)tj_space_rewrite(t->request, &fit);
    t->first[0] = fit;
    tj_tuning_spend(&t->base, &t->base.spent.waiting);
}

static double predict_ahead(void *payload, const tj_config *config)
{
    const ahead *a = payload;

    return 1e6 * tj_rank_predict(a->device, a->request, config);
}

static void announce_ahead(void *payload, const tj_config *config)
{
    const ahead *a = payload;

    a->announce(a->sink, config);
}

/* List what a tuning of a request would try first: the library's choice, and what its search announces. */
static void list_ahead(const tj_pool_basis *basis, const tj_request *request, const tj_device_facts *device, int threads,
                       void *sink, void (*announce)(void *sink, const tj_config *config))
{
    ahead a = {request, device, sink, announce};
    const tj_measurer measurer = {
        .payload = &a, .announce = announce_ahead, .predict = predict_ahead, .device = device, .at_once = threads};
    const tj_search_space space = tj_search_space_of(request, TJ_SEARCH);
    tj_tune_options options = TJ_TUNE_OPTIONS_INIT;
    tj_choice likely;
    search s;

    options.family = basis->family;
    if (tj_choose_for(basis->shipped, request, device, (tj_refusals){NULL, 0}, &likely, NULL) == TJ_OK) {
        (void)tj_space_rewrite(request, &likely.config);
        announce(sink, &likely.config);
    }
    (void)tj_search_begin(&s, &space, &options, &measurer, NULL);
    tj_search_end(&s);
}

/* ---- finals ------------------------------------------------------------------------------------------------------- */

/*
 * Prove the winner between guard zones, which the check against float64 does not have. A lack of device memory does not refuse
 * a winner. The emulator needs no proof, because no compiler of its own could be wrong.
 */
static tj_status prove(product_tuning *t, const tj_config *winner, tj_error *err)
{
    tj_tuning *const base = &t->base;
    const tj_candidate *loaded = NULL;
    tj_program simple = {0};
    tj_request any;
    tj_config config;
    tj_error why;
    tj_status status;

    if (base->is_emulated)
        return TJ_OK;
    status = tj_pool_load(base->pool, winner, &loaded, &why);
    if (status == TJ_OK)
        status = tj_proof_simple(t->request, &any, &config, &why);
    if (status == TJ_OK)
        status = tj_program_build(base->host, &any, &config, base->target, &simple, &why);
    if (status == TJ_OK)
        status = tj_program_load(base->host, &simple, &why);
    if (status == TJ_OK)
        status = tj_program_prove(tj_pool_host(base->pool), &loaded->program, simple.kernel, t->request, &t->proof, &why);
    tj_program_drop(&simple);
    t->is_proven = status == TJ_OK;
    if (status == TJ_OK || status == TJ_ERR_DEVICE_MEMORY || status == TJ_ERR_OUT_OF_MEMORY)
        return TJ_OK;
    if (loaded && t->proof.reason[0]) { /* spare other processes the discovery */
        tj_image_publish(base->host, loaded->program.source, loaded->program.image->body);
        tj_shared_offer(base->host, loaded->program.source, loaded->program.image->body, false);
        tj_proof_remember(base->host, loaded->program.image, &base->device, &t->proof);
    }
    if (err)
        *err = why;
    return status;
}

/* Return the work of the winner's check: what the rest of the budget allows, at the rate of the first check. 0: none. */
static double last_check_flop(const product_tuning *t)
{
    const double wanted = LAST_CHECK * t->base.options.check_flop, takes = LAST_CHECK * t->first_check_s;
    const double left = fmin(tj_seconds_left(&t->base), CONFIRM_SHARE * t->base.budget);

    return left <= 0 ? 0 : takes <= left ? wanted : wanted * left / takes;
}

/*
 * Check the winner on more rows. Without time for that, every element is still compared with that of the first product, and the
 * result reports the check of that one.
 */
static tj_status confirm(tj_tuning *tuning, tj_trial *winner, tj_tune_result *result, tj_error *err)
{
    product_tuning *t = of(tuning);
    const double flop = last_check_flop(t);
    tj_check_report report = t->first_check;
    const bool is_first = memcmp(&winner->config, &t->anchor_config, sizeof winner->config) == 0;
    const bool is_due = flop > 0 || (!is_first && !tj_verify_is_whole(&t->bench));
    tj_status status = is_due ? verify_with(t, flop, true, winner, flop > 0 ? &report : NULL, err) : TJ_OK;

    if (status == TJ_OK && !winner->is_verified)
        return tj_fail(err, TJ_ERR_CHECK_FAILED, "%s", winner->why);
    if (status == TJ_OK)
        status = prove(t, &winner->config, err);
    result->check_ratio = report.max_ratio;
    result->check_elements = report.elements;
    return status;
}

static tj_status fail(const tj_tuning *t, size_t tried, const char *why, tj_error *err)
{
    (void)t;
    if (tried == 0)
        return tj_fail(err, TJ_ERR_CHECK_FAILED,
                       "no config computed the product: tilejit tune --verbose gives the reason for each");
    return tj_fail(err, TJ_ERR_CHECK_FAILED, "no config of %zu that were tried computed the product; the first: %s", tried,
                   why);
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

/*
 * Describe the families that two searches covered together: all families if one of them searched all, several if they searched
 * different ones.
 */
static void describe_search(const product_tuning *t, const tj_tune_result *result, const tj_record *before, tj_record *r)
{
    const char *const family = t->base.options.family ? tj_family_name(t->base.options.family) : "";

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

static tj_record *make_record(const product_tuning *t, const tj_tune_result *result, const tj_record *before)
{
    static const char *const strategies[] = {"search", "model", "exhaustive"};
    const tj_candidate *loaded = NULL;
    tj_record r;

    memset(&r, 0, sizeof r);
    r.problem = t->request->problem;
    r.device = tj_device_kind_of(&t->base.device);
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
    (void)strcpy(r.strategy, strategies[t->base.options.strategy]);
    (void)strcpy(r.policy, t->base.options.is_warm ? "warm" : "cold");
    r.evaluations = result->evaluations + (before ? before->evaluations : 0);
    r.seed = t->base.options.seed;
    r.seconds = result->seconds;
    describe_search(t, result, before, &r);
    r.was_cancelled = result->was_cancelled;
    r.driver_version = t->base.device.driver_version;
    r.clock_khz = t->base.device.clock_khz;
    r.created_s = (int64_t)time(NULL);
    (void)strncpy(r.version, tj_version(), sizeof r.version - 1);
    hash_source(t->request, &result->config, r.source_hash);
    if (tj_pool_load(t->base.pool, &result->config, &loaded, NULL) == TJ_OK)
        (void)strncpy(r.compiler, tj_image_compiler(loaded->program.image), sizeof r.compiler - 1);
    return tj_record_create(&r);
}

/* Publish the winner's image only, so that the next process need not compile it. */
static void keep_image(const product_tuning *t, const tj_config *winner)
{
    const tj_candidate *loaded = NULL;

    if (tj_pool_load(t->base.pool, winner, &loaded, NULL) != TJ_OK)
        return;
    tj_image_publish(t->base.host, loaded->program.source, loaded->program.image->body);
    if (t->is_proven)
        tj_proof_remember(t->base.host, loaded->program.image, &t->base.device, &t->proof);
}

static void keep_record(const product_tuning *t, const tj_record *before, tj_tune_result *result)
{
    tj_records *one = tj_records_create();
    tj_record *record = one ? make_record(t, result, before) : NULL;
    tj_record *copy = record && t->base.options.records ? tj_record_copy(record) : NULL;
    tj_error why;
    tj_status status = record ? tj_records_add(one, record, &why) : tj_fail_memory(&why, "a record");
    int64_t kept = 0;

    if (status == TJ_OK && t->base.options.records)
        status = copy ? tj_records_add(t->base.options.records, copy, &why) : tj_fail_memory(&why, "a record");
    if (status == TJ_OK && t->base.options.no_record) {
        tj_records_free(one);
        return;
    }
    if (status == TJ_OK)
        status = tj_records_write(t->base.host->store, one, &kept, &why);
    result->has_record = kept > 0;
    result->is_record_lost = status != TJ_OK;
    if (status == TJ_OK && kept == 0)
        status = tj_fail(&why, TJ_ERR_NOT_FOUND, "the store has one of a larger search, which stays");
    if (status == TJ_OK)
        keep_image(t, &result->config);
    else
        tj_log_line(&t->base.host->log, TJ_LOG_WARNING, "the record of this tuning is not kept: %s", why.message);
    tj_records_free(one);
}

/* ---- public ------------------------------------------------------------------------------------------------------- */

static tj_status begin(product_tuning *t, const tj_records *records, const tj_record **before, tj_error *err)
{
    tj_tuning *const base = &t->base;
    tj_status status = tj_tuning_open(base, err);

    if (status == TJ_OK)
        status = tj_pool_take(base->rest, base->host, t->request, &base->device, base->target, base->options.threads,
                              &base->pool, err);
    if (status != TJ_OK)
        return status;
    *before = tj_records_get(records, &t->request->problem, &base->device);
    list_first(t, records, *before);
    t->space = tj_search_space_of(t->request, base->options.strategy);
    status = tj_tuning_begin_search(base, &t->space, err);
    if (t->next && base->options.strategy == TJ_SEARCH)
        tj_pool_look_ahead(base->pool, t->next, list_ahead, t->basis);
    if (status == TJ_OK)
        status = tj_bench_place(&base->host->gpu, base->stream, t->request, &base->device, (uint64_t)base->options.seed,
                                base->options.is_warm, &t->bench, err);
    base->sets = t->bench.sets;
    tj_tuning_spend(base, &base->spent.placing);
    return status;
}

/* Tune, and keep the record, with the store's records at hand. */
static tj_status run(product_tuning *t, const tj_record *before, tj_tune_result *result, tj_error *err)
{
    tj_tuning *const base = &t->base;
    tj_incumbents *in = &base->incumbents;
    const bool is_usable = tj_record_read_config(before, &in->recorded) && tj_space_rewrite(t->request, &in->recorded);
    const tj_trial *again;
    tj_status status;

    settle_first(t);
    result->default_config = in->standard = t->first[0];
    if (!is_usable)
        in->recorded = in->standard;
    status = tj_tuning_run(base, t->first, t->first_count, result, err);
    if (status != TJ_OK || (base->options.no_record && !base->options.records) || base->is_emulated)
        return status;
    /*
     * If the record's config was among the trials, the new result beats everything that the record's own search tried, or that
     * config fails here by now. A config that this version cannot read, or refuses, gives way, however many evaluations its
     * record has.
     */
    again = tj_find_trial(&base->found, &in->recorded);
    keep_record(t, is_usable && again && !tj_is_unchecked(again) ? before : NULL, result);
    return TJ_OK;
}

tj_status tj_tune_on(tj_host *host, tj_pool_rest *rest, const tj_records *shipped, const tj_request *request,
                     const tj_request *next, const tj_tune_options *options, tj_tune_result *result, tj_error *err)
{
    static const tj_subject product = {measure, verify, predict, time_round, confirm, fail};
    product_tuning t = {.request = request, .next = next, .basis = {options->family, shipped}};
    const tj_record *before = NULL;
    tj_records *records = tj_records_create();
    int64_t passed_over;
    tj_status status = records ? TJ_OK : tj_fail_memory(err, "a set of records");

    memset(result, 0, sizeof *result);
    tj_tuning_begin(&t.base, &product, host, rest, options);
    if (t.base.options.check_flop == 0)
        t.base.options.check_flop = CHECK_FLOP;
    if (status == TJ_OK)
        status = tj_records_read(host->store, records, &passed_over, err);
    if (status == TJ_OK || status == TJ_ERR_IO) /* an unusable store has no records */
        status = begin(&t, records, &before, err);
    if (status == TJ_OK)
        status = run(&t, before, result, err);
    if (status == TJ_OK)
        tj_tuning_tell_time(&t.base, result);
    tj_records_free(records);
    tj_anchor_drop(&t.anchor);
    tj_bench_drop(&t.bench);
    tj_tuning_end(&t.base);
    if (status != TJ_OK)
        memset(result, 0, sizeof *result);
    return status;
}
