/* SPDX-License-Identifier: Apache-2.0 */
/*
 * custom_tune: find the fastest config of a family of the application for given extents (tuning.h says how).
 *
 * Each config is compared with the reference before it is timed, and the winner is proven.
 */
#include "custom_tune.h"

#include <stdio.h>
#include <string.h>

#include "custom_bench.h"
#include "custom_prove.h"
#include "custom_space.h"
#include "error.h"
#include "image.h"
#include "measure.h"
#include "tuning.h"

typedef struct custom_tuning {
    tj_tuning base;
    const tj_custom *custom;
    const int64_t *extent;
    tj_custom_bench bench;
    tj_custom_space space;
} custom_tuning;

static custom_tuning *of(tj_tuning *t)
{
    return (custom_tuning *)t;
}

/* ---- trials ------------------------------------------------------------------------------------------------------- */

/* The kernel that a measurement launches. */
typedef struct timed_kernel {
    const tj_custom_bench *bench;
    const tj_custom_kernel *kernel;
} timed_kernel;

static tj_status launch(const void *what, size_t set, CUstream stream, tj_error *err)
{
    const timed_kernel *timed = what;

    (void)stream; /* the bench has its own */
    return tj_custom_bench_launch(timed->bench, timed->kernel, set, err);
}

static tj_timed timed_with(const tj_tuning *t, const timed_kernel *what, size_t sets)
{
    return (tj_timed){&t->host->gpu, t->stream, sets, t->is_emulated, t->deadline, launch, what};
}

static tj_status measure(tj_tuning *t, const tj_candidate *candidate, double best_us, tj_trial *trial, tj_error *err)
{
    const tj_custom_kernel *kernel = candidate->custom;
    const timed_kernel what = {&of(t)->bench, kernel};
    const tj_timed timed = timed_with(t, &what, t->sets);
    tj_error why;
    const tj_status status = tj_custom_bench_verify(&of(t)->bench, kernel, trial->why, &why);

    trial->shared_bytes = kernel->loaded->step[0].facts.static_shared_bytes + kernel->request.shared_bytes;
    if (status != TJ_OK)
        return tj_trial_refuse(trial, status, &why, err);
    trial->is_verified = trial->why[0] == '\0';
    trial->state = TJ_TRIAL_WRONG;
    return trial->is_verified ? tj_timed_look(&timed, best_us, trial, err) : TJ_OK;
}

static tj_status time_round(tj_tuning *t, const tj_candidate *candidate, double us, int is_warm, double *median, tj_error *err)
{
    const timed_kernel what = {&of(t)->bench, candidate->custom};
    const tj_timed timed = timed_with(t, &what, is_warm ? 1 : t->sets);

    return tj_timed_round(&timed, us, median, err);
}

/* Only the winner is stored. */
static tj_status confirm(tj_tuning *t, tj_trial *winner, tj_tune_result *result, tj_error *err)
{
    const tj_candidate *loaded = NULL;
    tj_proof proof;
    tj_status status = tj_pool_load(t->pool, &winner->config, &loaded, err);

    if (status != TJ_OK)
        return status;
    tj_image_publish(t->host, loaded->program.source, loaded->program.image->body);
    status = tj_custom_host_prove(t->host, loaded->custom, &proof, err);
    if (status == TJ_OK)
        result->check_elements = proof.elements;
    return status;
}

static tj_status fail(const tj_tuning *t, size_t tried, const char *why, tj_error *err)
{
    const char *const name = ((const custom_tuning *)t)->custom->spec.name;

    if (tried == 0)
        return tj_fail(err, TJ_ERR_CHECK_FAILED, "no config of family %s computed what its reference does; the last: %.200s",
                       name, why);
    return tj_fail(err, TJ_ERR_CHECK_FAILED, "no config of %zu of family %s that were tried is right; the first: %s", tried,
                   name, why);
}

/* ---- public ------------------------------------------------------------------------------------------------------- */

static tj_status check_options(const tj_custom *custom, const tj_tune_options *options, tj_error *err)
{
    if (options->strategy == TJ_MODEL)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "strategy is TJ_MODEL, and no model knows family %s: use TJ_SEARCH or TJ_EXHAUSTIVE", custom->spec.name);
    if (options->family && options->family != &custom->family)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "options.family is %s, and %s is tuned: leave it NULL",
                       tj_family_name(options->family), custom->spec.name);
    return TJ_OK;
}

/* Open the device, and place the arguments on it. */
static tj_status open(custom_tuning *t, tj_error *err)
{
    tj_tuning *const base = &t->base;
    tj_gpu *const gpu = &base->host->gpu;
    size_t free_bytes = 0, total_bytes = 0, set_bytes = 0;
    tj_status status = tj_tuning_open(base, err);

    if (status != TJ_OK)
        return status;
    status = tj_pool_take_custom(base->host, t->extent, base->target, base->options.threads, &base->pool, err);
    if (status == TJ_OK)
        status = tj_custom_bench_fill(gpu, base->stream, t->custom, t->extent, (uint64_t)base->options.seed, &t->bench, err);
    if (status == TJ_OK)
        status = tj_custom_set_bytes(t->custom, t->extent, &set_bytes, err);
    if (status == TJ_OK)
        status = tj_gpu_memory(gpu, &free_bytes, &total_bytes, err);
    if (status != TJ_OK)
        return status;
    base->sets = base->options.is_warm || base->is_emulated ? 1 : tj_bench_sets(set_bytes, &base->device, free_bytes);
    return tj_custom_bench_place(&t->bench, base->sets, 0, err);
}

tj_status tj_custom_tune_on(tj_host *host, const tj_custom *custom, const int64_t *extent, const tj_tune_options *options,
                            const tj_config *recorded, tj_tune_result *result, tj_error *err)
{
    static const tj_subject subject = {measure, NULL, NULL, time_round, confirm, fail};
    custom_tuning t = {.custom = custom, .extent = extent};
    tj_config config = TJ_CONFIG_INIT;
    tj_source *source = NULL;
    tj_status status = check_options(custom, options, err);

    memset(result, 0, sizeof *result);
    if (status != TJ_OK)
        return status;
    tj_tuning_begin(&t.base, &subject, host, NULL, options);
    config.family = &custom->family;
    status = tj_custom_resolve(&config, err);
    if (status == TJ_OK) /* if the defaults fail, or the template is faulty, times have nothing to compare with */
        status = tj_custom_generate(&config, extent, &source, err);
    tj_source_free(source);
    if (status == TJ_OK)
        status = tj_custom_space_begin(custom, extent, t.base.options.seed, &t.space, err);
    if (status == TJ_OK)
        status = open(&t, err);
    if (status == TJ_OK) {
        const tj_search_space space = tj_custom_space_searched(&t.space);
        const tj_config first[] = {config, recorded && tj_custom_space_has(&t.space, recorded) ? *recorded : config};

        result->default_config = config;
        t.base.incumbents = (tj_incumbents){first[0], first[1]};
        status = tj_tuning_begin_search(&t.base, &space, err);
        if (status == TJ_OK)
            status = tj_tuning_run(&t.base, first, 2, result, err); /* a config that is there twice is tried once */
    }
    tj_custom_space_end(&t.space);
    tj_custom_bench_drop(&t.bench);
    tj_tuning_end(&t.base);
    if (status != TJ_OK)
        memset(result, 0, sizeof *result);
    return status;
}
