/* SPDX-License-Identifier: Apache-2.0 */
/*
 * product_test: a context on the emulator, and a product of random operands that is launched there and checked.
 */
#ifndef TJ_TESTS_PRODUCT_H
#define TJ_TESTS_PRODUCT_H

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/tools.h>
#include <tilejit/workbench.h>

static tj_error err;
static tj_context *context;

static inline void open_context(const char *device, tj_prove prove)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;

    setenv("TILEJIT_EMULATOR", EMULATOR_PATH, 1);
    setenv("CUDA_EMULATOR_DEVICES", device, 1);
    setenv("CUDA_EMULATOR_LOG", "0", 1);
    options.driver = "emulator";
    options.cache_dir = "";
    options.prove = prove;
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
}

static inline void stop(void)
{
    tj_context_free(context);
}

static inline bool has_nvrtc(void)
{
    const char *const *targets;
    const bool has = tj_targets(context, &targets, &err) == TJ_OK;

    if (!has && getenv("TILEJIT_REQUIRE_NVRTC"))
        cr_assert(has, "%s", err.message);
    return has;
}

static inline bool says(const char *words)
{
    return strstr(err.message, words) != NULL;
}

/** Are these words in the last message? NULL: nothing need be. */
static inline void expect_said(const char *words)
{
    const bool is_said = !words || says(words);

    cr_expect(is_said, "\"%s\" is not in: %s", words, err.message);
}

/** Return rows in that many groups; 0: as they lie. */
static inline tj_rows rows_in_groups(int32_t groups)
{
    return (tj_rows){.kind = groups > 0 ? TJ_ROWS_IN_GROUPS : TJ_ROWS_AS_THEY_LIE, .groups = groups};
}

/** Prepare a plan. config_text NULL: the library chooses. */
static inline const tj_plan *prepare(const tj_problem *problem, const char *config_text, const char *label)
{
    tj_config config = TJ_CONFIG_INIT;
    const tj_plan *plan = NULL;

    cr_assert(eq(int, config_text ? tj_config_parse(config_text, &config, &err) : TJ_OK, TJ_OK), "%s: %s", label, err.message);
    cr_assert(eq(int, tj_plan_prepare(context, problem, config_text ? &config : NULL, &plan, &err), TJ_OK), "%s: %s", label,
              err.message);
    return plan;
}

/** Launch once with the operands of a workbench, check the product, and that nothing else was written. */
static inline void expect_right_product(const tj_problem *problem, const char *config_text, const tj_workbench_options *options,
                                        const char *label)
{
    const tj_plan *const plan = prepare(problem, config_text, label);
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    tj_workbench *bench;
    char damage[160];
    void *p;

    cr_assert(eq(int, tj_workbench_create(context, problem, options, &bench, &err), TJ_OK), "%s: %s", label, err.message);
    p = malloc(tj_workbench_bytes(bench, TJ_MATRIX_P));
    cr_assert(eq(int, tj_workbench_fit(bench, tj_plan_workspace_bytes(plan), &err), TJ_OK), "%s: %s", label, err.message);
    cr_assert(eq(int, tj_plan_launch(plan, tj_workbench_operands(bench), NULL, &err), TJ_OK), "%s: %s", label, err.message);
    cr_assert(eq(int, tj_synchronize(context, NULL, &err), TJ_OK), "%s: %s", label, err.message);
    cr_assert(eq(int, tj_workbench_read(bench, 0, p, &err), TJ_OK), "%s: %s", label, err.message);
    cr_assert(eq(int, tj_workbench_check(bench, p, 0, 1, &report, &err), TJ_OK), "%s: %s", label, err.message);
    cr_expect(report.passed, "%s: %s; %g is %g", label, report.reason, report.worst_value, report.worst_reference);
    cr_assert(eq(int, tj_workbench_find_damage(bench, 0, p, damage, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(str, damage, ""), "%s", label);
    free(p);
    tj_workbench_free(bench);
}

#endif
