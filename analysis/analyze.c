/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analyze: everything for one problem and config on one device, and what a config leaves open that follows from it.
 */
#include <tilejit/analysis.h>

#include <string.h>

#include "error.h"
#include "family.h"

enum { REGISTER_LIMIT = 255 };

static tj_status analyze(const tj_device_facts *facts, const tj_problem *problem, const tj_config *config, int32_t registers,
                         double measured_bytes_per_s, tj_analysis *a, tj_error *err)
{
    tj_status status;

    memset(a, 0, sizeof *a);
    a->config = *config;
    status = tj_config_resolve(problem, &a->config, err);
    if (status == TJ_OK)
        status = tj_count(problem, &a->config, &a->counts, err);
    if (status != TJ_OK)
        return status;
    a->needs.threads = a->counts.threads_per_block;
    a->needs.registers = registers > 0 ? registers : a->counts.registers;
    a->needs.shared_bytes = a->counts.shared_bytes;
    status = tj_occupy(facts, &a->needs, a->counts.blocks, &a->occupancy, err);
    if (status == TJ_OK)
        status = tj_find_peaks(facts, a->counts.sum_bytes == 8 ? TJ_F64 : TJ_F32, measured_bytes_per_s, &a->peaks, err);
    if (status != TJ_OK)
        return status;
    a->roof = tj_roofline(&a->peaks, a->counts.intensity);
    a->predicted = tj_predict(facts, &a->counts, &a->occupancy, &a->peaks);
    return TJ_OK;
}

tj_status tj_analyze(const tj_device_facts *facts, const tj_problem *problem, const tj_config *config, int32_t registers,
                     double measured_bytes_per_s, tj_analysis *analysis, tj_error *err)
{
    if (!facts)
        return tj_fail_null(err, __func__, "facts");
    if (!problem)
        return tj_fail_null(err, __func__, "problem");
    if (!analysis)
        return tj_fail_null(err, __func__, "analysis");
    tj_config chosen = TJ_CONFIG_INIT;
    tj_status status = TJ_OK;

    if (config)
        chosen = *config;
    else
        status = tj_config_adapt(facts, problem, &chosen, err);
    if (status == TJ_OK)
        status = analyze(facts, problem, &chosen, registers, measured_bytes_per_s, analysis, err);
    return status;
}

/* ---- tile width --------------------------------------------------------------------------------------------------- */

/* The largest whole number whose square is at most value. */
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
    if (!facts)
        return tj_fail_null(err, __func__, "facts");
    if (!limits)
        return tj_fail_null(err, __func__, "limits");
    const int64_t shared =
        facts->shared_per_block_optin > facts->shared_per_block ? facts->shared_per_block_optin : facts->shared_per_block;
    int32_t width;

    memset(limits, 0, sizeof *limits);
    if (element_bytes < 1 || element_bytes > 16)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "elements of %d bytes: use 1 to 16", element_bytes);
    if (registers < 0 || registers > REGISTER_LIMIT)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%d registers per thread: use 0 (not known) to 255", registers);
    if (shared < 1 || facts->max_threads_per_block < 1 || facts->registers_per_block < 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the device facts lack the limits of a block");
    limits->by_shared = square_root(shared / (2 * element_bytes));
    limits->by_threads = square_root(facts->max_threads_per_block);
    /* Whole warps get registers, 256 at a time; the granularity makes the bound other than a root. */
    width = registers > 0 ? square_root(facts->registers_per_block / registers) : limits->by_threads;
    while (width > 0 && registers > 0 &&
           (((int64_t)width * width + 127) / 128 * 4) * (((int64_t)registers * 32 + 255) / 256 * 256) >
               facts->registers_per_block)
        width--;
    limits->by_registers = width;
    limits->widest = least(least(limits->by_shared, limits->by_threads), limits->by_registers);
    return TJ_OK;
}

static bool is_known(const tj_problem *problem)
{
    return problem->j.mode == TJ_DIM_FIXED && problem->k.mode == TJ_DIM_FIXED && problem->l.mode == TJ_DIM_FIXED &&
           problem->batch != TJ_ANY;
}

/* Asynchronous copies are the default of families that have them, and a device before sm_80 has none. */
static void adapt_copies(const tj_device_facts *facts, const tj_problem *problem, tj_config *config)
{
    const int index = config->family ? tj_family_param_index(config->family, "copy") : -1;
    tj_config resolved = *config, candidate = *config;
    tj_launch_form form;

    if (index < 0 || config->value[index] != 0 || tj_preview_launch(problem, &resolved, &form, NULL) != TJ_OK ||
        form.least_target <= 10 * facts->cc_major + facts->cc_minor ||
        tj_config_set(&candidate, "copy", "registers", NULL) != TJ_OK)
        return;
    resolved = candidate;
    if (tj_config_resolve(problem, &resolved, NULL) == TJ_OK) /* else what else was named asks for them */
        *config = candidate;
}

tj_status tj_config_adapt(const tj_device_facts *facts, const tj_problem *problem, tj_config *config, tj_error *err)
{
    if (!facts)
        return tj_fail_null(err, __func__, "facts");
    if (!problem)
        return tj_fail_null(err, __func__, "problem");
    if (!config)
        return tj_fail_null(err, __func__, "config");
    static const int32_t widths[] = {32, 16, 8};
    const double tie = 0.98; /* a narrower tile must win by 2 % */
    tj_config standard = *config;
    tj_status status = tj_config_resolve(problem, &standard, err);
    tj_tile_limits limits;
    tj_error ignored;
    double best_us = 0;
    int32_t best = 0;
    int index;

    if (status != TJ_OK)
        return status;
    adapt_copies(facts, problem, config);
    index = tj_family_param_index(standard.family, "tile_width");
    if (index < 0 || config->value[index] != 0 || !is_known(problem) ||
        tj_widest_tile(facts, standard.family->count && problem->dtype == TJ_F64 ? 8 : 4, 0, &limits, &ignored) != TJ_OK)
        return TJ_OK;
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        tj_config candidate = *config;
        tj_analysis a;

        candidate.family = standard.family;
        candidate.value[index] = widths[i];
        if (widths[i] > limits.widest || widths[i] > standard.family->param[index].maximum ||
            widths[i] < standard.family->param[index].minimum ||
            analyze(facts, problem, &candidate, 0, 0, &a, &ignored) != TJ_OK || a.occupancy.blocks_per_sm == 0)
            continue;
        if (best == 0 || a.predicted.us < best_us * tie) {
            best = widths[i];
            best_us = a.predicted.us;
        }
    }
    if (best != 0) {
        config->family = standard.family;
        config->value[index] = best;
    }
    return TJ_OK;
}
