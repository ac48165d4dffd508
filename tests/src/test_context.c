/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Options and environment: which takes precedence, values that are refused and the messages, and the default place of the
 * store.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/tools.h>

#include "context.h"
#include "disk_root.h"
#include "fake/fake_cuda.h"

static tj_error err;

static void clear_environment(void)
{
    static const char *const names[] = {"TILEJIT_CACHE_DIR", "TILEJIT_NVRTC", "TILEJIT_DRIVER", "TILEJIT_DEVICE",
                                        "TILEJIT_LOG",       "TILEJIT_DUMP",  "XDG_CACHE_HOME"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unsetenv(names[i]);
    setenv("HOME", "/nonexistent/home", 1);
}

TestSuite(context, .init = clear_environment);

static bool says(const char *words)
{
    return strstr(err.message, words) != NULL;
}

static tj_context *open_context(const tj_context_options *options)
{
    tj_context *context = NULL;

    cr_assert(eq(int, tj_context_create(options, &context, &err), TJ_OK), "%s", err.message);
    return context;
}

/* ---- scratch ------------------------------------------------------------------------------------------------------ */

/* Tunings make one at any time, on background threads. */
Test(context, a_scratch_host_is_made_of_the_other_one_and_not_of_the_environment)
{
    static const char *const further[] = {"/nonexistent/second", "/nonexistent/third", NULL};
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context;
    tj_host scratch;

    options.cache_dir = "/nonexistent/first";
    options.read_only_roots = further;
    options.device = 3;
    context = open_context(&options);
    setenv("TILEJIT_LOG", "loud", 1);
    setenv("TILEJIT_DEVICE", "none", 1);
    setenv("TILEJIT_DUMP", "/nonexistent/dump", 1);
    setenv("TILEJIT_NVRTC", "/nonexistent/nvrtc", 1);
    cr_assert(eq(int, tj_host_begin_scratch(&scratch, &context->host, &err), TJ_OK), "%s", err.message);
    tj_context_free(context);
    cr_expect(eq(int, scratch.gpu.device, 2));
    cr_expect(eq(ptr, scratch.nvrtc_path, NULL));
    cr_expect(eq(ptr, scratch.dump_dir, NULL));
    cr_assert(eq(sz, scratch.store->root_count, 4));
    cr_expect(eq(ptr, scratch.store->root[0], NULL));
    cr_expect(eq(str, scratch.store->root[1], "/nonexistent/first"));
    cr_expect(eq(str, scratch.store->root[3], "/nonexistent/third"));
    tj_host_end(&scratch);
}

/* ---- options ------------------------------------------------------------------------------------------------------ */

Test(context, names_the_option_that_is_wrong)
{
    static const struct {
        size_t offset;
        int64_t value;
        size_t bytes;
        const char *words;
    } rows[] = {
        {offsetof(tj_context_options, struct_size), 0, 8, "TJ_CONTEXT_OPTIONS_INIT"},
        {offsetof(tj_context_options, struct_size), 7, 8, "TJ_CONTEXT_OPTIONS_INIT"},
        {offsetof(tj_context_options, store_max_bytes), -1, 8, "store_max_bytes is -1"},
        {offsetof(tj_context_options, device), -1, 4, "device is -1"},
        {offsetof(tj_context_options, specialize), 7, 4, "specialize is 7"},
        {offsetof(tj_context_options, log_level), 5, 4, "log_level is 5"},
        {offsetof(tj_context_options, log_level), -1, 4, "log_level is -1"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
        tj_context *context = (tj_context *)&options;

        memcpy((char *)&options + rows[i].offset, &rows[i].value, rows[i].bytes); /* little-endian */
        cr_expect(eq(int, tj_context_create(&options, &context, &err), TJ_ERR_INVALID_ARGUMENT), "%s", rows[i].words);
        cr_expect(says(rows[i].words), "%s: %s", rows[i].words, err.message);
        cr_expect(eq(ptr, (void *)context, NULL), "%s", rows[i].words);
        cr_expect(eq(int, tj_context_create(&options, &context, NULL), TJ_ERR_INVALID_ARGUMENT), "err may be NULL");
    }
}

Test(context, takes_options_of_older_and_newer_programs)
{
    struct {
        tj_context_options known;
        int64_t later;
    } newer = {TJ_CONTEXT_OPTIONS_INIT, 0};
    tj_context_options older = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context = NULL;

    older.cache_dir = "";
    older.struct_size = offsetof(tj_context_options, read_only_roots);
    older.store_max_bytes = -1; /* beyond what the program said there is: not looked at */
    context = open_context(&older);
    cr_expect(eq(str, (char *)tj_store_path(context), ""));
    tj_context_free(context);

    newer.known.cache_dir = "";
    newer.known.struct_size = sizeof newer;
    tj_context_free(open_context(&newer.known));
    newer.later = 1;
    cr_expect(eq(int, tj_context_create(&newer.known, &context, &err), TJ_ERR_UNSUPPORTED));
    cr_expect(says("a field that this library"), "%s", err.message);
}

/* ---- environment -------------------------------------------------------------------------------------------------- */

Test(context, names_the_variable_that_is_wrong)
{
    static const struct {
        const char *name, *value, *words;
    } rows[] = {
        {"TILEJIT_LOG", "loud", "TILEJIT_LOG is \"loud\""},    {"TILEJIT_LOG", "INFO", "TILEJIT_LOG is \"INFO\""},
        {"TILEJIT_DEVICE", "gpu0", "TILEJIT_DEVICE is"},       {"TILEJIT_DEVICE", "-1", "TILEJIT_DEVICE is \"-1\""},
        {"TILEJIT_DEVICE", "1.0", "TILEJIT_DEVICE is"},        {"TILEJIT_DEVICE", "2147483648", "TILEJIT_DEVICE is"},
        {"TILEJIT_DEVICE", "9223372036854775808", "a device"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_context *context = NULL;

        clear_environment();
        setenv(rows[i].name, rows[i].value, 1);
        cr_expect(eq(int, tj_context_create(NULL, &context, &err), TJ_ERR_INVALID_ARGUMENT), "%s", rows[i].value);
        cr_expect(says(rows[i].words), "%s: %s", rows[i].value, err.message);
        setenv(rows[i].name, "", 1);
        tj_context_free(open_context(NULL)); /* empty counts as unset */
    }
}

Test(context, finds_the_store_s_folder)
{
    static const struct {
        const char *option, *variable, *cache_home, *home, *path;
    } rows[] = {
        {"/a", "/b", "/c", "/d", "/a"},
        {"", "/b", "/c", "/d", ""}, /* switched off */
        {NULL, "/b", "/c", "/d", "/b"},
        {NULL, NULL, "/c", "/d", "/c/tilejit"},
        {NULL, "", "/c", "/d", "/c/tilejit"},
        {NULL, "off", "/c", "/d", ""},
        {NULL, "/x/off", "/c", "/d", "/x/off"},
        {"/a", "off", "/c", "/d", "/a"},
        {NULL, NULL, NULL, "/d", "/d/.cache/tilejit"},
        {NULL, NULL, "", "/d", "/d/.cache/tilejit"},
        {NULL, NULL, "relative", "/d", "/d/.cache/tilejit"},
        {NULL, NULL, NULL, NULL, ""},
        {NULL, NULL, NULL, "", ""},
        {NULL, NULL, NULL, "/", ""},
        {NULL, NULL, NULL, "relative", ""},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
        tj_context *context;

        clear_environment();
        unsetenv("HOME");
        if (rows[i].variable)
            setenv("TILEJIT_CACHE_DIR", rows[i].variable, 1);
        if (rows[i].cache_home)
            setenv("XDG_CACHE_HOME", rows[i].cache_home, 1);
        if (rows[i].home)
            setenv("HOME", rows[i].home, 1);
        options.cache_dir = rows[i].option;
        context = open_context(&options);
        cr_expect(eq(str, (char *)tj_store_path(context), (char *)rows[i].path), "row %zu", i);
        tj_context_free(context);
    }
}

static int warnings;
static char warning[512];

static void keep_warning(tj_log_level level, const char *line, void *payload)
{
    (void)payload;
    if (level != TJ_LOG_WARNING)
        return;
    warnings++;
    snprintf(warning, sizeof warning, "%s", line);
}

static void keep_error(tj_log_level level, const char *line, void *payload)
{
    (void)payload;
    if (level == TJ_LOG_ERROR)
        snprintf(warning, sizeof warning, "%s", line);
}

/* There is no other way to say so. */
Test(context, logs_that_statistics_were_not_initialised)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context_stats stats = {.struct_size = 0, .compiles = 7};
    tj_context *context;

    options.log_level = TJ_LOG_ERROR;
    options.log = keep_error;
    context = open_context(&options);
    tj_context_get_stats(context, &stats);
    cr_expect(strstr(warning, "stats.struct_size is 0") && strstr(warning, "TJ_CONTEXT_STATS_INIT"), "%s", warning);
    cr_expect(stats.compiles == 7);
    tj_context_free(context);
}

Test(context, warns_once_where_there_is_no_home)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context;

    setenv("HOME", "/", 1);
    options.log_level = TJ_LOG_WARNING;
    options.log = keep_warning;
    context = open_context(&options);
    cr_expect(eq(int, warnings, 1));
    cr_expect(strstr(warning, "TILEJIT_CACHE_DIR") != NULL, "%s", warning);
    tj_context_free(context);
}

/* It was meant: no warning, and doctor names the option that switched it off. */
Test(context, says_what_switched_the_disk_off)
{
    static const struct {
        const char *option, *variable, *why;
    } rows[] = {{"", NULL, "the disk is switched off: the option cache_dir is empty, as --no-cache makes it"},
                {"", "off", "the disk is switched off: the option cache_dir is empty, as --no-cache makes it"},
                {NULL, "off", "the disk is switched off: TILEJIT_CACHE_DIR is \"off\""}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
        tj_context *context;

        clear_environment();
        if (rows[i].variable)
            setenv("TILEJIT_CACHE_DIR", rows[i].variable, 1);
        options.cache_dir = rows[i].option;
        options.log_level = TJ_LOG_WARNING;
        options.log = keep_warning;
        context = open_context(&options);
        cr_expect(eq(str, (char *)tj_store_trouble(context), (char *)rows[i].why));
        tj_context_free(context);
    }
    cr_expect(eq(int, warnings, 0), "%s", warning);
}

static tj_status count_devices(tj_context *context, int *count)
{
    *count = -1;
    return tj_device_count(context, count, &err);
}

Test(context, reads_the_environment_once_and_options_win)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context;
    int count;

    options.cache_dir = "";
    setenv("TILEJIT_DRIVER", FAKE_CUDA_PATH, 1);
    context = open_context(&options);
    setenv("TILEJIT_DRIVER", "/nonexistent/libcuda.so", 1); /* too late: the context has been made */
    cr_expect(eq(int, count_devices(context, &count), TJ_OK), "%s", err.message);
    cr_expect(eq(int, count, 1));
    tj_context_free(context);

    context = open_context(&options);
    cr_expect(eq(int, count_devices(context, &count), TJ_ERR_NO_DRIVER));
    cr_expect(says("/nonexistent/libcuda.so"), "%s", err.message);
    tj_context_free(context);

    options.driver = FAKE_CUDA_PATH;
    context = open_context(&options);
    cr_expect(eq(int, count_devices(context, &count), TJ_OK), "%s", err.message);
    tj_context_free(context);
}

static int variables_read;
char *__real_secure_getenv(const char *name);
char *__wrap_secure_getenv(const char *name);
char *__wrap_secure_getenv(const char *name)
{
    variables_read++;
    return __real_secure_getenv(name);
}

static void count_finding(const tj_finding *finding, void *payload)
{
    (void)payload;
    cr_expect(strcmp(finding->topic, "variable") != 0 || strstr(finding->text, "ignore_environment"), "%s", finding->text);
}

/* Not even to look: a search for NVRTC, a compile, a load, the emulator's place and the doctor included. */
Test(context, reads_no_variable_if_the_program_says_so)
{
    static const char *const wrong[] = {"TILEJIT_LOG",     "TILEJIT_DEVICE", "TILEJIT_LINE_INFO",
                                        "TILEJIT_NVRTC",   "TILEJIT_DRIVER", "TILEJIT_EMULATOR",
                                        "TILEJIT_CAPTURE", "TILEJIT_TRIALS", "NVTX_INJECTION64_PATH"};
    const tj_problem problem = TJ_PROBLEM_INIT(512, 300, 700, TJ_F32);
    const char *const *targets;
    const tj_plan *plan;
    tj_context *context = NULL;

    fake_open(FAKE_CUDA_PATH).fake_hide("cuFuncGetParamInfo"); /* whose answers would be those of another kernel */
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        setenv(wrong[i], "/nonexistent", 1);
    for (int is_emulated = 0; is_emulated < 2; is_emulated++) {
        tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
        int count = 0;

        options.driver = is_emulated ? "emulator:sm_90" : FAKE_CUDA_PATH;
        options.nvrtc = is_emulated ? NULL : FAKE_NVRTC_PATH;
        options.ignore_environment = 1;
        context = open_context(&options);
        variables_read = 0;
        cr_expect(eq(int, tj_device_count(context, &count, &err), TJ_OK), "%s", err.message);
        variables_read += tj_targets(context, &targets, &err) == TJ_ERR_INTERNAL; /* without NVRTC it fails */
        cr_expect(is_emulated || tj_plan_prepare(context, &problem, NULL, &plan, &err) == TJ_OK, "%s", err.message);
        cr_expect(eq(int, tj_doctor(context, count_finding, NULL, &err), TJ_OK), "%s", err.message);
        tj_context_free(context);
        cr_expect(eq(int, variables_read, 0));
    }
    {
        tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;

        options.ignore_environment = 2;
        cr_expect(eq(int, tj_context_create(&options, &context, &err), TJ_ERR_INVALID_ARGUMENT));
        cr_expect(says("ignore_environment is 2"), "%s", err.message);
    }
}

/* A context needs nothing that a machine without CUDA lacks, and copies all strings that it is given. */
Test(context, opens_nothing_and_keeps_no_pointer_of_the_caller)
{
    char driver[300] = "/nonexistent/libcuda.so", nvrtc[300] = "/nonexistent/libnvrtc.so";
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    const char *const *targets;
    tj_context *context;
    int count;

    options.driver = driver;
    options.nvrtc = nvrtc;
    options.cache_dir = "";
    context = open_context(&options);
    memset(driver, 'x', sizeof driver - 1);
    memset(nvrtc, 'x', sizeof nvrtc - 1);
    cr_expect(eq(int, count_devices(context, &count), TJ_ERR_NO_DRIVER));
    cr_expect(says("/nonexistent/libcuda.so"), "%s", err.message);
    cr_expect(eq(int, tj_targets(context, &targets, &err), TJ_ERR_NO_COMPILER));
    cr_expect(says("/nonexistent/libnvrtc.so"), "%s", err.message);
    tj_context_free(context);
    tj_context_free(NULL);
}
