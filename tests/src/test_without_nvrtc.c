/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * A machine that has a store and no NVRTC: what is stored for a source and the device's target runs, whatever build made it.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tilejit/store.h>
#include <tilejit/tools.h>

#include "fake/fake_cuda.h"

static const char MISSING[] = "/nonexistent/libnvrtc.so";
static const tj_problem problem = TJ_PROBLEM_INIT(100, 90, 70, TJ_F32);

static fake_cuda fake;
static tj_error err;
static char store[] = "/tmp/tilejit-without-XXXXXX";

static tj_context *open_context(const char *nvrtc)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context = NULL;

    options.driver = FAKE_CUDA_PATH;
    options.nvrtc = nvrtc;
    options.cache_dir = store;
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
    return context;
}

/* Plan a problem; what came of it. */
static tj_status plan(tj_context *context, const tj_problem *wanted, const tj_plan **made)
{
    return tj_plan_prepare(context, wanted, NULL, made, &err);
}

static void start(void)
{
    tj_context *context;
    const tj_plan *made;

    fake = fake_open(FAKE_CUDA_PATH);
    fake.fake_hide("cuFuncGetParamInfo");
    cr_assert(mkdtemp(store) != NULL);
    context = open_context(FAKE_NVRTC_PATH);
    cr_assert(eq(int, plan(context, &problem, &made), TJ_OK), "%s", err.message);
    tj_context_free(context);
}

static void stop(void)
{
    char line[128];

    (void)snprintf(line, sizeof line, "rm -rf %s", store);
    cr_expect(eq(int, system(line), 0));
}

TestSuite(without_nvrtc, .init = start, .fini = stop);

Test(without_nvrtc, a_stored_kernel_is_found_by_the_rest_of_its_key)
{
    tj_context *context = open_context(MISSING);
    const tj_plan *made;

    cr_assert(eq(int, plan(context, &problem, &made), TJ_OK), "%s", err.message);
    cr_expect(eq(int, (int)tj_image_origin(tj_plan_image(made)), TJ_FROM_STORE));
    cr_expect(eq(str, (char *)tj_image_compiler(tj_plan_image(made)), "13.0 V13.0.1"));
    tj_context_free(context);
}

Test(without_nvrtc, what_is_not_stored_names_the_missing_compiler)
{
    tj_problem other = problem;
    tj_context *context = open_context(MISSING);
    const tj_plan *made;

    other.j.extent = 101;
    cr_expect(eq(int, plan(context, &other, &made), TJ_ERR_NO_COMPILER));
    cr_expect(strstr(err.message, MISSING) != NULL, "%s", err.message);
    cr_expect(eq(int, plan(context, &problem, &made), TJ_OK), "the context goes on working: %s", err.message);
    tj_context_free(context);
}

Test(without_nvrtc, what_another_process_stores_meanwhile_is_found)
{
    tj_problem other = problem;
    tj_context *context = open_context(MISSING), *another;
    const tj_plan *made;

    other.j.extent = 101;
    cr_expect(eq(int, plan(context, &other, &made), TJ_ERR_NO_COMPILER));
    another = open_context(FAKE_NVRTC_PATH);
    cr_assert(eq(int, plan(another, &other, &made), TJ_OK), "%s", err.message);
    tj_context_free(another);
    for (int i = 0; i < 300 && plan(context, &other, &made) != TJ_OK; i++) /* read again at most once a second */
        usleep(20000);
    cr_expect(eq(int, plan(context, &other, &made), TJ_OK), "%s", err.message);
    tj_context_free(context);
}

Test(without_nvrtc, an_image_for_another_device_is_not_taken)
{
    tj_context *context;
    const tj_plan *made;

    fake.fake_set_device_attribute(0, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 8);
    context = open_context(MISSING);
    cr_expect(eq(int, plan(context, &problem, &made), TJ_ERR_NO_COMPILER));
    tj_context_free(context);
}

Test(without_nvrtc, a_damaged_entry_is_a_miss)
{
    tj_context *context = open_context(MISSING);
    const tj_plan *made;
    char line[200];

    (void)snprintf(line, sizeof line, "for f in $(find %s -name kernel.cubin); do echo more >>$f; done", store);
    cr_assert(eq(int, system(line), 0));
    cr_expect(eq(int, plan(context, &problem, &made), TJ_ERR_NO_COMPILER));
    tj_context_free(context);
}

/* ---- that there is none is remembered ------------------------------------------------------------------------------ */

static int opens; /* of libraries whose name says NVRTC */

void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);

void *__wrap_dlopen(const char *name, int flags)
{
    opens += name && strstr(name, "nvrtc") != NULL;
    return __real_dlopen(name, flags);
}

Test(without_nvrtc, it_is_looked_for_again_only_when_something_has_changed)
{
    tj_problem other = problem;
    char path[64], line[256];
    tj_context *context;
    const tj_plan *made;
    int first;

    (void)snprintf(path, sizeof path, "%s/libnvrtc.so.13", store);
    context = open_context(path);
    other.j.extent = 101;
    cr_expect(eq(int, plan(context, &other, &made), TJ_ERR_NO_COMPILER));
    first = opens;
    cr_expect(first > 0);
    for (int i = 0; i < 100; i++) {
        other.j.extent = 101 + i % 3; /* one that was asked for, and new ones */
        cr_expect(eq(int, plan(context, &other, &made), TJ_ERR_NO_COMPILER));
        cr_expect(strstr(err.message, path) && strstr(err.message, "no kernel for j10"), "%s", err.message);
    }
    cr_expect(eq(int, opens, first), "what was not there is not there");
    (void)snprintf(line, sizeof line, "cp %s %s", "/etc/hostname", path);
    cr_assert(eq(int, system(line), 0));
    cr_expect(eq(int, plan(context, &other, &made), TJ_ERR_NO_COMPILER));
    cr_expect(opens > first, "a file has come");
    (void)snprintf(line, sizeof line, "cp %s %s", FAKE_NVRTC_PATH, path);
    cr_assert(eq(int, system(line), 0));
    cr_expect(eq(int, plan(context, &other, &made), TJ_OK), "it is installed while the program runs: %s", err.message);
    tj_context_free(context);
}

static void count_equal(const tj_store_field *field, void *payload)
{
    *(int *)payload += field->is_equal;
}

Test(without_nvrtc, an_explanation_says_that_it_would_hit)
{
    tj_context *context = open_context(MISSING);
    const tj_plan *made;
    char key[33];
    int hit = 0, equal = 0;

    cr_assert(eq(int, plan(context, &problem, &made), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_store_explain(context, tj_plan_source(made), "sm_90", key, &hit, count_equal, &equal, &err), TJ_OK),
              "%s", err.message);
    cr_expect(hit == 1 && equal == 6, "hit %d, %d fields", hit, equal);
    tj_context_free(context);
}
