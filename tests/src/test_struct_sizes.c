/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Every structure of tools.h that a call fills or reads and that begins with its size: one that was not initialised is refused
 * before anything is done, and a smaller or a larger one gets what it has room for. tests/base/test_sized.c tests the rules.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/tools.h>

static tj_error err;

/* In place of what a call does not look at before it has seen the size. */
static max_align_t junk[8192];
#define ANY ((void *)junk)

static const tj_problem problem = TJ_PROBLEM_INIT(2, 3, 4, TJ_F32);
static const float numbers[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static const tj_host_operands operands = TJ_HOST_OPERANDS(numbers, numbers);

static const tj_device_facts *h200(void)
{
    static tj_device_facts facts = TJ_DEVICE_FACTS_INIT;

    cr_assert(eq(int, tj_device_named("sm_90", &facts, &err), TJ_OK));
    return &facts;
}

static tj_status time_one(void *payload, double best_us, tj_trial *trial, tj_error *error)
{
    (void)payload, (void)best_us, (void)error;
    trial->state = TJ_TRIAL_TIMED;
    trial->us = 1;
    return TJ_OK;
}

/* ---- filled ------------------------------------------------------------------------------------------------------- */

#define CALL(name, expression)                \
    static tj_status call_##name(void *given) \
    {                                         \
        return name expression;               \
    }

/* clang-format off */
CALL(tj_analyze, (h200(), &problem, NULL, 0, 0, given, &err))
CALL(tj_device_named, ("sm_90", given, &err))
CALL(tj_find_peaks, (h200(), 0, given, &err))
CALL(tj_widest_tile, (h200(), 4, 32, given, &err))
CALL(tj_operand_get_shape, (&problem, TJ_MATRIX_P, given, &err))
CALL(tj_reference_check, (&problem, &operands, numbers, 0, 1, given, &err))
CALL(tj_record_get_facts, (ANY, given, &err))
CALL(tj_kernel_get_facts, (ANY, given, &err))
CALL(tj_workbench_check, (ANY, ANY, 0, 1, given, &err))
CALL(tj_tuning_class_of, (ANY, ANY, given, &err))
CALL(tj_plan_prove, (ANY, ANY, ANY, 0, given, &err))
CALL(tj_custom_prove, (ANY, ANY, NULL, ANY, 0, given, &err))
CALL(tj_tune, (ANY, ANY, NULL, given, &err))
CALL(tj_custom_tune, (ANY, ANY, ANY, NULL, given, &err))
/* clang-format on */

/* The first configs of one family, which are enough for a result. */
static tj_status call_tj_search(void *given)
{
    const tj_measurer measurer = {.struct_size = sizeof measurer, .measure = time_one};
    tj_tune_options options = TJ_TUNE_OPTIONS_INIT;
    tj_search_result *const result = given;

    options.family = tj_family_find("naive");
    options.strategy = TJ_EXHAUSTIVE;
    options.evaluations = 1;
    options.threads = 1;
    const tj_status status = tj_search(&problem, &options, NULL, 0, &measurer, given, &err);

    if (status == TJ_OK) { /* an address differs from call to call */
        free(result->trial);
        result->trial = NULL;
    }
    return status;
}

#define FILLED(name, type, init, is_run)               \
    {                                                  \
#name, call_##name, sizeof(type), init, is_run \
    }

static const struct filled {
    const char *name;
    tj_status (*call)(void *given);
    size_t bytes;
    const char *init;
    bool is_run; /* it needs neither a device nor a compiler, so that it can be called here */
} filled[] = {
    FILLED(tj_analyze, tj_analysis, "TJ_ANALYSIS_INIT", true),
    FILLED(tj_device_named, tj_device_facts, "TJ_DEVICE_FACTS_INIT", true),
    FILLED(tj_find_peaks, tj_peaks, "TJ_PEAKS_INIT", true),
    FILLED(tj_widest_tile, tj_tile_limits, "TJ_TILE_LIMITS_INIT", true),
    FILLED(tj_operand_get_shape, tj_operand_shape, "TJ_OPERAND_SHAPE_INIT", true),
    FILLED(tj_reference_check, tj_check_report, "TJ_CHECK_REPORT_INIT", true),
    FILLED(tj_search, tj_search_result, "TJ_SEARCH_RESULT_INIT", true),
    FILLED(tj_record_get_facts, tj_record_facts, "TJ_RECORD_FACTS_INIT", true),
    FILLED(tj_kernel_get_facts, tj_kernel_facts, "TJ_KERNEL_FACTS_INIT", true),
    FILLED(tj_workbench_check, tj_check_report, "TJ_CHECK_REPORT_INIT", false),
    FILLED(tj_tuning_class_of, tj_tuning_class, "TJ_TUNING_CLASS_INIT", false),
    FILLED(tj_plan_prove, tj_proof, "TJ_PROOF_INIT", false),
    FILLED(tj_custom_prove, tj_proof, "TJ_PROOF_INIT", false),
    FILLED(tj_tune, tj_tune_result, "TJ_TUNE_RESULT_INIT", false),
    FILLED(tj_custom_tune, tj_tune_result, "TJ_TUNE_RESULT_INIT", false),
};

enum { COUNT = sizeof filled / sizeof filled[0], MOST = 8192, NOT_WRITTEN = 0xa5 };

/* A structure of a program: its size, then bytes that show what is written. */
typedef union given {
    size_t struct_size;
    unsigned char bytes[MOST];
} given;

static void begin(given *g, size_t size)
{
    memset(g, NOT_WRITTEN, sizeof *g);
    g->struct_size = size;
}

Test(struct_sizes, an_uninitialised_structure_is_refused_before_anything_is_done)
{
    static const size_t sizes[] = {0, 7, SIZE_MAX};
    static given g;

    for (size_t i = 0; i < COUNT; i++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            begin(&g, sizes[s]);
            cr_expect(eq(int, filled[i].call(&g), TJ_ERR_INVALID_ARGUMENT), "%s", filled[i].name);
            cr_expect(strstr(err.message, "it was not initialised") && strstr(err.message, filled[i].init), "%s: %s",
                      filled[i].name, err.message);
            for (size_t b = sizeof(size_t); b < MOST; b++)
                cr_assert(eq(int, g.bytes[b], NOT_WRITTEN), "%s: byte %zu", filled[i].name, b);
        }
}

Test(struct_sizes, a_structure_gets_what_it_has_room_for)
{
    static given whole, smaller, larger;

    for (size_t i = 0; i < COUNT; i++) {
        const size_t bytes = filled[i].bytes, less = bytes - sizeof(int64_t), more = bytes + 16;

        if (!filled[i].is_run)
            continue;
        begin(&whole, bytes);
        begin(&smaller, less);
        begin(&larger, more);
        cr_assert(eq(int, filled[i].call(&whole), TJ_OK), "%s: %s", filled[i].name, err.message);
        cr_assert(eq(int, filled[i].call(&smaller), TJ_OK), "%s: %s", filled[i].name, err.message);
        cr_assert(eq(int, filled[i].call(&larger), TJ_OK), "%s: %s", filled[i].name, err.message);
        cr_expect(whole.struct_size == bytes && smaller.struct_size == less && larger.struct_size == more, "%s",
                  filled[i].name);
        cr_expect(memcmp(whole.bytes + 8, smaller.bytes + 8, less - 8) == 0, "%s", filled[i].name);
        cr_expect(memcmp(whole.bytes + 8, larger.bytes + 8, bytes - 8) == 0, "%s", filled[i].name);
        for (size_t b = less; b < MOST; b++)
            cr_assert(eq(int, smaller.bytes[b], NOT_WRITTEN), "%s: byte %zu", filled[i].name, b);
        for (size_t b = bytes; b < MOST; b++)
            cr_assert(eq(int, larger.bytes[b], b < more ? 0 : NOT_WRITTEN), "%s: byte %zu", filled[i].name, b);
    }
}

/* ---- read --------------------------------------------------------------------------------------------------------- */

static void *filled_by_a_call(void)
{
    static given g;

    memset(&g, 0, sizeof g);
    g.struct_size = sizeof(size_t); /* the smallest: a call writes nothing beyond it */
    return &g;
}

/* clang-format off */
CALL(tj_time_launches, (ANY, ANY, ANY, NULL, given, ANY, &err))
CALL(tj_workbench_create, (ANY, &problem, given, &(tj_workbench *){NULL}, &err))
CALL(tj_family_create, (given, &(tj_family *){NULL}, &err))
CALL(tj_proof_write_case, (ANY, ANY, given, ANY, &err))
CALL(tj_reference_product, (&problem, given, ANY, 1, &err))
/* clang-format on */

static tj_status tune_by(void *given)
{
    return tj_tune(ANY, ANY, given, filled_by_a_call(), &err);
}

static tj_status tune_own_by(void *given)
{
    return tj_custom_tune(ANY, ANY, ANY, given, filled_by_a_call(), &err);
}

static tj_status search_by(void *given)
{
    const tj_measurer measurer = TJ_MEASURER_INIT;

    return tj_search(&problem, given, NULL, 0, &measurer, filled_by_a_call(), &err);
}

static tj_status search_with(void *given)
{
    return tj_search(&problem, NULL, NULL, 0, given, filled_by_a_call(), &err);
}

static tj_status check_with(void *given)
{
    return tj_reference_check(&problem, given, numbers, 0, 1, filled_by_a_call(), &err);
}

Test(struct_sizes, a_structure_that_is_read_must_be_initialised_and_ask_for_nothing_unknown)
{
    static const struct {
        tj_status (*call)(void *given);
        size_t bytes;
        const char *init;
    } rows[] = {
        {call_tj_time_launches, sizeof(tj_timing), "TJ_TIMING_INIT"},
        {call_tj_workbench_create, sizeof(tj_workbench_options), "TJ_WORKBENCH_INIT"},
        {call_tj_family_create, sizeof(tj_custom_spec), "TJ_CUSTOM_SPEC_INIT"},
        {call_tj_proof_write_case, sizeof(tj_proof), "TJ_PROOF_INIT"},
        {call_tj_reference_product, sizeof(tj_host_operands), "TJ_HOST_OPERANDS"},
        {check_with, sizeof(tj_host_operands), "TJ_HOST_OPERANDS"},
        {tune_by, sizeof(tj_tune_options), "TJ_TUNE_OPTIONS_INIT"},
        {tune_own_by, sizeof(tj_tune_options), "TJ_TUNE_OPTIONS_INIT"},
        {search_by, sizeof(tj_tune_options), "TJ_TUNE_OPTIONS_INIT"},
        {search_with, sizeof(tj_measurer), "TJ_MEASURER_INIT"},
    };
    static given g;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin(&g, 7);
        cr_expect(eq(int, rows[i].call(&g), TJ_ERR_INVALID_ARGUMENT), "%s", rows[i].init);
        cr_expect(strstr(err.message, "it was not initialised") && strstr(err.message, rows[i].init), "%s: %s", rows[i].init,
                  err.message);
        memset(&g, 0, sizeof g);
        g.struct_size = rows[i].bytes + 8;
        g.bytes[rows[i].bytes] = 1; /* a field of a later version */
        cr_expect(eq(int, rows[i].call(&g), TJ_ERR_UNSUPPORTED), "%s", rows[i].init);
        cr_expect(strstr(err.message, "a field that this library") != NULL, "%s: %s", rows[i].init, err.message);
    }
}

/* No peaks give no point, and never those of another structure. */
Test(struct_sizes, a_roof_without_peaks_is_all_zero)
{
    tj_peaks peaks = TJ_PEAKS_INIT;

    cr_assert(eq(int, tj_find_peaks(h200(), 0, &peaks, &err), TJ_OK));
    cr_expect(tj_roofline(&peaks, TJ_PIPE_F32, 1).peak > 0);
    peaks.struct_size = 0;
    cr_expect(eq(dbl, tj_roofline(&peaks, TJ_PIPE_F32, 1).peak, 0));
}
