/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* The search over a family of the application: a random sample, then the neighbours of the best; or all configs, each once. */
#include <math.h>

#include "custom_space.h"
#include "tuner_test.h"
#include "../custom_spec.h"

enum { VALUES = 16 };

static custom_spec made;
static tj_family *family;
static tj_custom_space space;
static tj_error err;
static const int64_t length[] = {1000};
static int32_t tried[TJ_PARAM_MAX_TRIED + 1];
static tj_param params[4] = {{"threads", "of a block", 1, 1024, 1, NULL, tried, TJ_PARAM_SHAPE},
                             {"order", "along x", 1, 1024, 1, NULL, tried, TJ_PARAM_SHAPE},
                             {"rows", "of a block", 1, 1024, 1, NULL, tried, TJ_PARAM_SHAPE},
                             {"stages", "of a pipeline", 1, 1024, 1, NULL, tried, TJ_PARAM_SHAPE}};

/* A family of this many parameters, each with the values 1, 2, ... */
static void begin(size_t param_count, int32_t values)
{
    static const char *const none[] = {NULL};
    const tj_custom *custom;

    for (int32_t i = 0; i < TJ_PARAM_MAX_TRIED; i++)
        tried[i] = i < values ? i + 1 : 0;
    custom_spec_make(&made);
    made.part[0].text = "extern \"C\" __global__ void scale(const float *x, float *y, float factor) {}\n";
    made.spec.part_count = 1;
    made.spec.param = params;
    made.spec.param_count = param_count;
    made.spec.derived_count = 0;
    made.spec.constraint = none;
    made.spec.grid[0] = "length";
    cr_assert(tj_family_create(&made.spec, &family, &err) == TJ_OK, "%s", err.message);
    cr_assert(tj_custom_of(family, &custom, &err) == TJ_OK, "%s", err.message);
    cr_assert(tj_custom_space_begin(custom, length, 7, &space, &err) == TJ_OK, "%s", err.message);
}

static void end(void)
{
    tj_custom_space_end(&space);
    tj_family_free(family);
}

/* The fastest has 11 and 5. */
static tj_status measure(void *payload, double best_us, tj_trial *trial, tj_error *e)
{
    int64_t *const calls = payload;

    (void)best_us, (void)e;
    ++*calls;
    trial->state = TJ_TRIAL_TIMED;
    trial->us = 10 + fabs(trial->config.value[0] - 11.0) + fabs(trial->config.value[1] - 5.0);
    return TJ_OK;
}

static tj_status search_with(tj_strategy strategy, int64_t evaluations, tj_search_result *found)
{
    int64_t calls = 0;
    const tj_measurer measurer = {.struct_size = sizeof measurer, .payload = &calls, .measure = measure};
    const tj_search_space searched = tj_custom_space_searched(&space);
    tj_tune_options options = TJ_TUNE_OPTIONS_INIT;
    tj_config first[2] = {TJ_CONFIG_INIT, TJ_CONFIG_INIT};
    tj_status status;
    search s;

    options.strategy = strategy;
    options.evaluations = evaluations;
    first[0].family = first[1].family = family;
    cr_assert(tj_custom_resolve(&first[0], &err) == TJ_OK && tj_custom_resolve(&first[1], &err) == TJ_OK, "%s", err.message);
    status = tj_search_begin(&s, &searched, &options, &measurer, &err);
    if (status == TJ_OK)
        status = tj_search_run(&s, first, 2, found, &err);
    tj_search_end(&s);
    cr_expect(status != TJ_OK || calls == (int64_t)found->count, "%d of %zu", (int)calls, found->count);
    return status;
}

Test(custom_space, is_sampled_and_the_best_is_followed_to_its_neighbours)
{
    tj_search_result found = TJ_SEARCH_RESULT_INIT;

    begin(2, VALUES);
    cr_assert(eq(int, search_with(TJ_SEARCH, 75, &found), TJ_OK), "%s", err.message);
    cr_expect(le(sz, found.count, 75));
    cr_expect(found.trial[0].config.value[0] == 11 && found.trial[0].config.value[1] == 5, "%g us", found.trial[0].us);
    cr_expect(eq(int, found.is_complete, 0));
    free(found.trial);
    end();
}

Test(custom_space, is_tried_as_a_whole_if_that_is_wanted_or_fits)
{
    tj_search_result found = TJ_SEARCH_RESULT_INIT;

    for (int row = 0; row < 2; row++) {
        begin(2, VALUES);
        cr_assert(eq(int, search_with(row == 0 ? TJ_EXHAUSTIVE : TJ_SEARCH, row == 0 ? 0 : 300, &found), TJ_OK), "%s",
                  err.message);
        cr_expect(eq(sz, found.count, VALUES * VALUES));
        cr_expect(eq(int, found.is_complete, 1));
        free(found.trial);
        end();
    }
}

Test(custom_space, of_millions_is_drawn_from_and_not_tried_as_a_whole)
{
    tj_search_result found = TJ_SEARCH_RESULT_INIT;

    begin(4, TJ_PARAM_MAX_TRIED);
    cr_expect(eq(int, search_with(TJ_EXHAUSTIVE, 0, &found), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "16777216 combinations, too many to try all: use TJ_SEARCH") != NULL, "%s", err.message);
    end();
    begin(4, TJ_PARAM_MAX_TRIED);
    cr_assert(eq(int, search_with(TJ_SEARCH, 90, &found), TJ_OK), "%s", err.message);
    cr_expect(gt(sz, found.count, 90 / 3)); /* the sample, then neighbours until none is faster */
    cr_expect(le(sz, found.count, 90));
    cr_expect(found.trial[0].config.value[0] == 11 && found.trial[0].config.value[1] == 5, "%g us", found.trial[0].us);
    cr_expect(eq(int, found.is_complete, 0));
    free(found.trial);
    end();
}
