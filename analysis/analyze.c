/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyze: the whole analysis of a problem and a config on a device, and the parameters that a config leaves to the device.
 */
#include <string.h>

#include "error.h"
#include "estimate.h"
#include "family.h"
#include "settle.h"
#include "part_of_device.h"
#include "sized.h"
#include "targets.h"

enum { REGISTER_LIMIT = 255 };

static void summarize(const tj_counts *counts, tj_work *work)
{
    *work = (tj_work){.flop = counts->flop,
                      .traffic = {[TJ_LOAD_M] = counts->load_m,
                                  [TJ_LOAD_N] = counts->load_n,
                                  [TJ_LOAD_C] = counts->load_c,
                                  [TJ_STORE_P] = counts->store_p,
                                  [TJ_STORE_W] = counts->store_w,
                                  [TJ_LOAD_W] = counts->load_w,
                                  [TJ_LOAD_POINTERS] = counts->load_pointers,
                                  [TJ_LOAD_SCALES] = counts->load_scales,
                                  [TJ_PACK_LOAD] = counts->pack.load,
                                  [TJ_PACK_STORE] = counts->pack.store,
                                  [TJ_PACK_SHARED_LOAD] = counts->pack.shared_load,
                                  [TJ_PACK_SHARED_STORE] = counts->pack.shared_store,
                                  [TJ_SHARED_LOAD] = counts->shared_load,
                                  [TJ_SHARED_STORE] = counts->shared_store,
                                  [TJ_REDUCE_LOAD_POINTERS] = counts->reduce.load_pointers,
                                  [TJ_REDUCE_LOAD_SCALES] = counts->reduce.load_scales,
                                  [TJ_REDUCE_SHARED_LOAD] = counts->reduce.shared_load,
                                  [TJ_REDUCE_SHARED_STORE] = counts->reduce.shared_store},
                      .global_bytes = counts->global_bytes,
                      .intensity = counts->intensity,
                      .blocks = counts->blocks,
                      .splits = counts->splits,
                      .phases = counts->phases,
                      .barriers = counts->barriers,
                      .sums = counts->sums,
                      .async_bytes = counts->async_bytes,
                      .shared_bytes = counts->shared_bytes,
                      .other_barriers = counts->pack.barriers + counts->reduce.barriers,
                      .reduce_fma = counts->reduce.fma,
                      .pipe = counts->pipe,
                      .threads_per_block = counts->threads_per_block,
                      .block_rows = counts->block_rows,
                      .block_cols = counts->block_cols,
                      .element_bytes = counts->element_bytes,
                      .sum_bytes = counts->sum_bytes,
                      .phases_ahead = counts->ahead,
                      .spilled = counts->spilled,
                      .phase = counts->phase};
    memcpy(work->pipe_work, counts->work, sizeof work->pipe_work);
}

/* The numbers that decide between configs: few, for callers with a small stack. */
typedef struct verdict {
    tj_block_needs needs;
    tj_occupancy occupancy;
    tj_peaks peaks;
    tj_prediction predicted;
    int32_t multiprocessors;
    bool keeps_share;
} verdict;

static tj_status judge(const tj_device_facts *facts, const tj_request *counted, const tj_config *resolved, int32_t registers,
                       double measured_bytes_per_s, tj_counts *counts, verdict *v, tj_error *err)
{
    const tj_device_facts share = tj_share_of(facts, &counted->problem);
    tj_launch_form form;
    tj_status status = tj_count_resolved(counted, resolved, false, &form, counts, err);

    if (status == TJ_OK)
        status = tj_share_check(facts, &counted->problem, &form, err);
    if (status != TJ_OK)
        return status;
    v->multiprocessors = share.sm_count;
    v->keeps_share = share.sm_count == facts->sm_count || tj_share_is_kept(&form, counts, share.sm_count);
    v->needs = (tj_block_needs){.threads = counts->threads_per_block,
                                .registers = registers > 0 ? registers : counts->registers,
                                .shared_bytes = counts->shared_bytes};
    status = tj_occupy(&share, &v->needs, counts->blocks, &v->occupancy, err);
    if (status == TJ_OK)
        status = tj_peaks_of(&share, measured_bytes_per_s, &v->peaks, err);
    if (status == TJ_OK)
        v->predicted = tj_predict(&share, counts, &v->occupancy, &v->peaks);
    return status;
}

tj_status tj_request_analyze(const tj_device_facts *facts, const tj_request *request, const tj_config *config,
                             int32_t registers, double measured_bytes_per_s, tj_counts *counts, tj_analysis *a, tj_error *err)
{
    tj_config chosen = TJ_CONFIG_INIT;
    tj_request counted;
    tj_status status;
    verdict v;

    *a = (tj_analysis)TJ_ANALYSIS_INIT;
    if (config) {
        a->config = *config;
        status = tj_request_resolve(request, &a->config, err);
    } else {
        status = tj_request_adapt(facts, request, &chosen, &a->config, err);
    }
    if (status != TJ_OK)
        return status;
    tj_request_counted(request, &counted);
    status = judge(facts, &counted, &a->config, registers, measured_bytes_per_s, counts, &v, err);
    if (status != TJ_OK)
        return status;
    a->needs = v.needs;
    a->occupancy = v.occupancy;
    a->peaks = v.peaks;
    a->roof = tj_roofline(&a->peaks, (tj_pipe)counts->pipe, counts->intensity);
    a->predicted = v.predicted;
    a->multiprocessors = v.multiprocessors;
    a->keeps_share = v.keeps_share;
    summarize(counts, &a->work);
    return TJ_OK;
}

tj_status tj_analyze(const tj_device_facts *facts, const tj_problem *problem, const tj_config *config, int32_t registers,
                     double measured_bytes_per_s, tj_analysis *analysis, tj_error *err)
{
    if (TJ_HAS_NULL(err, facts, problem, analysis))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_request request;
    tj_counts counts;
    tj_analysis own;
    tj_status status = tj_request_make(problem, &request, err);

    if (status == TJ_OK)
        status = tj_request_analyze(facts, &request, config, registers, measured_bytes_per_s, &counts, &own, err);
    return status == TJ_OK ? TJ_FILL(analysis, &own, TJ_ANALYSIS_INIT, err) : status;
}

/* ---- tile width --------------------------------------------------------------------------------------------------- */

/* Return the largest integer whose square is at most value. */
static int32_t square_root(int64_t value)
{
    int64_t root = 0;

    for (int64_t bit = INT64_C(1) << 30; bit > 0; bit /= 2)
        if ((root + bit) * (root + bit) <= value)
            root += bit;
    return (int32_t)root;
}

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

tj_status tj_widest_tile(const tj_device_facts *facts, int32_t element_bytes, int32_t registers, tj_tile_limits *limits,
                         tj_error *err)
{
    if (TJ_HAS_NULL(err, facts, limits))
        return TJ_ERR_INVALID_ARGUMENT;
    const int64_t shared =
        facts->shared_per_block_optin > facts->shared_per_block ? facts->shared_per_block_optin : facts->shared_per_block;
    tj_tile_limits own = TJ_TILE_LIMITS_INIT;
    int32_t width;

    if (element_bytes < 1 || element_bytes > 16)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "elements of %d bytes: use 1 to 16", element_bytes);
    if (registers < 0 || registers > REGISTER_LIMIT)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%d registers per thread: use 0 (not known) to 255", registers);
    if (shared < 1 || facts->max_threads_per_block < 1 || facts->registers_per_block < 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the device facts lack the limits of a block");
    own.by_shared = square_root(shared / (2 * element_bytes));
    own.by_threads = square_root(facts->max_threads_per_block);
    /* Whole warps get registers, in units of 256; because of the unit, the bound is not a square root. */
    width = registers > 0 ? square_root(facts->registers_per_block / registers) : own.by_threads;
    while (width > 0 && registers > 0 &&
           (((int64_t)width * width + 127) / 128 * 4) * (((int64_t)registers * 32 + 255) / 256 * 256) >
               facts->registers_per_block)
        width--;
    own.by_registers = width;
    own.widest = least(least(own.by_shared, own.by_threads), own.by_registers);
    return TJ_FILL(limits, &own, TJ_TILE_LIMITS_INIT, err);
}

static bool is_known(const tj_problem *problem)
{
    return problem->j.mode == TJ_DIM_FIXED && problem->k.mode == TJ_DIM_FIXED && problem->l.mode == TJ_DIM_FIXED &&
           problem->batch != TJ_ANY;
}

/* Adapt the config to a device that lacks features which some sources of this family need. */
static void adapt_to_target(const tj_device_facts *facts, const tj_request *request, tj_config *config, tj_config *resolved)
{
    const tj_family *const family = resolved->family;
    tj_config candidate = *config, settled;

    if (!family->for_target)
        return;
    family->for_target(tj_device_features(facts), &candidate);
    settled = candidate;
    if (tj_request_resolve(request, &settled, NULL) != TJ_OK)
        return; /* the config itself asks for the feature */
    *config = candidate;
    *resolved = settled;
}

/* Fill in a row of values. False: the config sets one of them itself. */
static bool fill_in(const int32_t *values, tj_config *config)
{
    for (size_t i = 0; i < TJ_FAMILY_START_PARAMS; i++) {
        if (values[i] == 0)
            continue;
        if (config->value[i] != 0)
            return false;
        config->value[i] = values[i];
    }
    return true;
}

tj_status tj_request_adapt(const tj_device_facts *facts, const tj_request *request, tj_config *config, tj_config *resolved,
                           tj_error *err)
{
    const double tie = 0.98; /* a later candidate must win by 2 % */
    tj_config open, candidate, settled;
    tj_request counted;
    tj_status status;
    double best_us = 0;
    tj_counts counts;
    verdict v;

    *resolved = *config;
    status = tj_request_resolve(request, resolved, err);
    if (status != TJ_OK)
        return status;
    adapt_to_target(facts, request, config, resolved);
    const tj_family_values *const weighed = is_known(&request->problem) ? resolved->family->weighed : NULL;

    open = *config;
    open.family = resolved->family;
    if (weighed)
        tj_request_counted(request, &counted);
    for (size_t i = 0; weighed && i < weighed->count; i++) {
        candidate = open;
        if (!fill_in(weighed->row[i], &candidate))
            continue;
        settled = candidate;
        if (tj_request_resolve(request, &settled, NULL) != TJ_OK ||
            judge(facts, &counted, &settled, 0, 0, &counts, &v, NULL) != TJ_OK || v.occupancy.blocks_per_sm == 0)
            continue;
        if (best_us == 0 || v.predicted.us < best_us * tie) {
            *config = candidate;
            *resolved = settled;
            best_us = v.predicted.us;
        }
    }
    return TJ_OK;
}

tj_status tj_config_adapt(const tj_device_facts *facts, const tj_problem *problem, tj_config *config, tj_error *err)
{
    if (TJ_HAS_NULL(err, facts, problem, config))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_config resolved;
    tj_request request;
    const tj_status status = tj_request_make(problem, &request, err);

    return status == TJ_OK ? tj_request_adapt(facts, &request, config, &resolved, err) : status;
}
