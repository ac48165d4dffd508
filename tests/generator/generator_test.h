/* SPDX-License-Identifier: Apache-2.0 */
/*
 * generator_test: requests, and what the tests of every family expect of them.
 */
#ifndef TJ_GENERATOR_TEST_H
#define TJ_GENERATOR_TEST_H

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <string.h>

#include <tilejit/source.h>

#define FIXED(n) .extent = (n)
#define PROBLEM(...)                                   \
    {                                                  \
        .struct_size = sizeof(tj_problem), __VA_ARGS__ \
    }
#define CUBES(n, ...) PROBLEM(.j = {FIXED(n)}, .k = {FIXED(n)}, .l = {FIXED(n)}, __VA_ARGS__)

typedef struct request {
    tj_problem problem;
    const char *config;
    const char *words; /* of the refusal; NULL: accepted */
} request;

static inline tj_config parse(const char *text)
{
    tj_config config = TJ_CONFIG_INIT;
    tj_error err = {0};

    cr_assert(eq(int, tj_config_parse(text, &config, &err), TJ_OK), "%s: %s", text, err.message);
    return config;
}

/** Expect a refusal with this message, or acceptance: then the settled config resolves to itself. */
static inline void expect_answers(const request *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tj_config config = parse(rows[i].config), again;
        tj_error err = {0};
        const tj_status status = tj_config_resolve(&rows[i].problem, &config, &err);

        cr_expect(eq(int, status, rows[i].words ? TJ_ERR_INVALID_ARGUMENT : TJ_OK), "row %zu, %s: %s", i, rows[i].config,
                  err.message);
        cr_expect(rows[i].words == NULL || strstr(err.message, rows[i].words) != NULL, "row %zu, %s: %s", i, rows[i].config,
                  err.message);
        again = config;
        cr_expect(rows[i].words || (tj_config_resolve(&rows[i].problem, &again, NULL) == TJ_OK &&
                                    memcmp(&again, &config, sizeof again) == 0),
                  "row %zu, %s", i, rows[i].config);
    }
}

/** The bytes that pointers must be aligned to: those of one access; 0: of one element. */
typedef struct alignment {
    tj_problem problem;
    const char *config;
    int m, n, p;
} alignment;

static inline void expect_alignments(const alignment *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const tj_config config = parse(rows[i].config);
        const tj_launch_form *form;
        tj_source *source = NULL;
        tj_error err = {0};

        cr_assert(eq(int, tj_generate(&rows[i].problem, &config, &source, &err), TJ_OK), "row %zu: %s", i, err.message);
        form = tj_source_launch(source);
        cr_expect(eq(int, form->align[TJ_MATRIX_M], rows[i].m), "row %zu", i);
        cr_expect(eq(int, form->align[TJ_MATRIX_N], rows[i].n), "row %zu", i);
        cr_expect(eq(int, form->align[TJ_MATRIX_P], rows[i].p), "row %zu", i);
        tj_source_free(source);
    }
}

#endif
