/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Families of the application's own, on the emulator: launched, tuned, proven, stored and found again; and what is wrong with one is
 * found before it does harm.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tilejit/tools.h>

#include "buffer.h"
#include "custom_kernel.h"
#include "custom_spec.h"

enum { LENGTH = 100 };

static const int64_t length[] = {LENGTH};
static tj_error err;
static char store[] = "/tmp/tilejit-custom-XXXXXX";
static custom_spec made;
static tj_custom_spec *spec;
static tj_context *context;
static tj_family *family;

static tj_context *open_with(const char *driver, const char *cache_dir)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *opened = NULL;

    setenv("TILEJIT_EMULATOR", EMULATOR_PATH, 1);
    setenv("CUDA_EMULATOR_DEVICES", "sm_90", 1);
    setenv("CUDA_EMULATOR_LOG", "0", 1);
    options.driver = driver;
    options.cache_dir = cache_dir;
    cr_assert(eq(int, tj_context_create(&options, &opened, &err), TJ_OK), "%s", err.message);
    return opened;
}

static tj_context *open_context(const char *cache_dir)
{
    return open_with("emulator", cache_dir);
}

static void start(void)
{
    const char *const *targets;
    bool has_nvrtc;

    cr_assert(mkdtemp(store) != NULL);
    context = open_context(store);
    has_nvrtc = tj_targets(context, &targets, &err) == TJ_OK;
    if (!has_nvrtc) {
        cr_assert(getenv("TILEJIT_REQUIRE_NVRTC") == NULL, "%s", err.message);
        cr_skip_test("no NVRTC: %s", err.message);
    }
    spec = custom_spec_make(&made);
}

static void stop(void)
{
    char line[128];

    tj_context_free(context);
    tj_family_free(family);
    (void)snprintf(line, sizeof line, "rm -rf %s", store);
    (void)system(line);
}

TestSuite(custom, .init = start, .fini = stop);

static void create(void)
{
    cr_assert(eq(int, tj_family_create(spec, &family, &err), TJ_OK), "%s", err.message);
}

static bool says(const char *words)
{
    return strstr(err.message, words) != NULL;
}

static tj_custom_kernel *load(tj_context *in, const tj_config *config, const int64_t *extent)
{
    tj_custom_kernel *kernel = NULL;
    const tj_status status = tj_custom_load(in, family, config, extent, &kernel, &err);

    cr_assert(eq(int, status, TJ_OK), "%s", err.message);
    return kernel;
}

/* x in a buffer of its own, y in another. */
static void place(tj_buffer **x, tj_buffer **y, float *host, size_t count)
{
    for (size_t i = 0; i < count; i++)
        host[i] = (float)i;
    cr_assert(tj_buffer_create(context, count * sizeof *host, x, &err) == TJ_OK &&
                  tj_buffer_create(context, count * sizeof *host, y, &err) == TJ_OK &&
                  tj_buffer_write(*x, 0, host, count * sizeof *host, &err) == TJ_OK && tj_buffer_fill(*y, 0, &err) == TJ_OK,
              "%s", err.message);
}

/* How many of the first `count` elements of y are factor * i, from the first on. */
static size_t count_right(tj_buffer *y, float factor, size_t count)
{
    float host[256];
    size_t right = 0;

    cr_assert(eq(int, tj_buffer_read(y, 0, host, count * sizeof *host, &err), TJ_OK), "%s", err.message);
    while (right < count && host[right] == factor * (float)right)
        right++;
    return right;
}

Test(custom, launches_and_refuses_what_it_cannot_take)
{
    tj_custom_value value[3] = {{NULL}, {NULL}, {.f32 = 3}};
    const int64_t other[] = {LENGTH + 1};
    tj_custom_kernel *kernel;
    tj_buffer *x, *y;
    float host[LENGTH];

    create();
    place(&x, &y, host, LENGTH);
    kernel = load(context, NULL, length);
    value[0].address = tj_buffer_address(x);
    value[1].address = tj_buffer_address(y);
    cr_assert(eq(int, tj_custom_launch(kernel, NULL, value, NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_custom_launch(kernel, length, value, NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_synchronize(context, NULL, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(sz, count_right(y, 3, LENGTH), LENGTH));
    cr_expect(eq(str, (char *)tj_source_kernel(tj_custom_source(kernel)), "scale_100"));
    cr_expect(eq(int, tj_image_origin(kernel->image), TJ_FROM_COMPILER));

    cr_expect(eq(int, tj_custom_launch(kernel, other, value, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("scale_100 was made for length 100, and not for 101"), "%s", err.message);
    value[1].address = (char *)tj_buffer_address(y) + 2;
    cr_expect(eq(int, tj_custom_launch(kernel, NULL, value, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("argument y of scale_100 is at") && says("multiple of 4 bytes"), "%s", err.message);
    value[1].address = NULL;
    cr_expect(eq(int, tj_custom_launch(kernel, NULL, value, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("argument y of scale_100 is NULL"), "%s", err.message);
    cr_expect(eq(int, tj_custom_set_constant(kernel, "x", host, 0, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("family scale has no constant \"x\""), "%s", err.message);
    tj_custom_kernel_free(kernel);
    tj_buffer_free(x);
    tj_buffer_free(y);
}

Test(custom, one_kernel_serves_all_extents_that_are_passed)
{
    static const char text[] = "extern \"C\" __global__ void scale(const float *x, float *y, int length, float factor)\n"
                               "{\n"
                               "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                               "    if (i < length)\n"
                               "        y[i] = factor * x[i];\n"
                               "}\n";
    static const tj_custom_argument argument[] = {{"x", TJ_CUSTOM_IN, TJ_F32, "length"},
                                                  {"y", TJ_CUSTOM_OUT, TJ_F32, "length"},
                                                  {"length", TJ_CUSTOM_EXTENT},
                                                  {"factor", TJ_CUSTOM_SCALAR, TJ_F32}};
    const int64_t longer[] = {200}, none[] = {0};
    tj_custom_value value[4] = {{NULL}, {NULL}, {NULL}, {.f32 = 2}};
    tj_custom_kernel *kernel, *again;
    tj_buffer *x, *y;
    float host[250];

    made.part[0].text = text;
    spec->argument = argument;
    spec->argument_count = 4;
    create();
    place(&x, &y, host, 250);
    kernel = load(context, NULL, length);
    value[0].address = tj_buffer_address(x);
    value[1].address = tj_buffer_address(y);
    cr_assert(eq(int, tj_custom_launch(kernel, longer, value, NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_synchronize(context, NULL, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(sz, count_right(y, 2, 250), 200));
    cr_expect(eq(int, tj_custom_launch(kernel, none, value, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("extent length is 0"), "%s", err.message);
    again = load(context, NULL, longer);
    cr_expect(eq(int, tj_image_origin(again->image), TJ_FROM_MEMORY));
    tj_custom_kernel_free(again);
    tj_custom_kernel_free(kernel);
    tj_buffer_free(x);
    tj_buffer_free(y);
}

Test(custom, constants_are_found_set_and_missed)
{
    static const char text[] = "__constant__ float table[4];\n"
                               "extern \"C\" __global__ void scale(const float *x, float *y, float factor)\n"
                               "{\n"
                               "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                               "    if (i < 100)\n"
                               "        y[i] = factor * x[i] * table[i % 4];\n"
                               "}\n";
    static const float ones[] = {5, 5, 5, 5};
    static tj_custom_argument argument[4];
    tj_custom_value value[4] = {{NULL}, {NULL}, {.f32 = 1}, {NULL}};
    tj_custom_kernel *kernel = NULL;
    tj_buffer *x, *y, *table;
    float host[LENGTH];

    memcpy(argument, made.argument, sizeof made.argument);
    argument[3] = (tj_custom_argument){"table", TJ_CUSTOM_CONSTANT, TJ_F32, "4"};
    made.part[0].text = text;
    spec->argument = argument;
    spec->argument_count = 4;
    create();
    place(&x, &y, host, LENGTH);
    kernel = load(context, NULL, length);
    value[0].address = tj_buffer_address(x);
    value[1].address = tj_buffer_address(y);
    cr_assert(tj_custom_set_constant(kernel, "table", ones, 0, NULL, &err) == TJ_OK &&
                  tj_custom_launch(kernel, NULL, value, NULL, &err) == TJ_OK && tj_synchronize(context, NULL, &err) == TJ_OK,
              "%s", err.message);
    cr_expect(eq(sz, count_right(y, 5, LENGTH), LENGTH));
    cr_assert(tj_buffer_create(context, sizeof ones, &table, &err) == TJ_OK &&
                  tj_buffer_write(table, 0, (const float[]){7, 7, 7, 7}, sizeof ones, &err) == TJ_OK &&
                  tj_custom_set_constant(kernel, "table", tj_buffer_address(table), 1, NULL, &err) == TJ_OK &&
                  tj_custom_launch(kernel, NULL, value, NULL, &err) == TJ_OK && tj_synchronize(context, NULL, &err) == TJ_OK,
              "%s", err.message);
    cr_expect(eq(sz, count_right(y, 7, LENGTH), LENGTH));
    tj_custom_kernel_free(kernel);
    tj_buffer_free(table);
    tj_buffer_free(x);
    tj_buffer_free(y);

    for (int i = 0; i < 2; i++) {
        static const char *const what[] = {"the constant table of scale_100 has 16 bytes, and its count, length, needs 400",
                                           "scale_100 has no constant tible"};
        argument[3] = (tj_custom_argument){i == 0 ? "table" : "tible", TJ_CUSTOM_CONSTANT, TJ_F32, i == 0 ? "length" : "4"};
        tj_family_free(family);
        create();
        cr_expect(eq(int, tj_custom_load(context, family, NULL, length, &kernel, &err), TJ_ERR_INVALID_ARGUMENT));
        cr_expect(says(what[i]), "%s", err.message);
        cr_expect(eq(ptr, kernel, NULL));
    }
}

Test(custom, what_the_compiler_or_the_loader_refuses_is_told)
{
    tj_custom_kernel *kernel = NULL;
    tj_image *image = NULL;
    tj_source *source = NULL;
    tj_kernel *product = NULL;
    tj_config config = TJ_CONFIG_INIT;

    made.part[1].text = "y[i] = x[i] * fuctor;\n";
    create();
    cr_expect(eq(int, tj_custom_load(context, family, NULL, length, &kernel, &err), TJ_ERR_COMPILE));
    cr_expect(says("fuctor"), "%s", err.message);
    tj_family_free(family);

    spec = custom_spec_make(&made);
    made.argument[2].type = TJ_F64; /* the text has a float */
    create();
    cr_expect(eq(int, tj_custom_load(context, family, NULL, length, &kernel, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("parameter 2 of scale_100 has 4 bytes") && says("spec.argument of family scale"), "%s", err.message);

    config.family = family;
    cr_assert(eq(int, tj_custom_generate(&config, length, &source, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(ptr, (void *)tj_source_problem(source), NULL));
    cr_assert(eq(int, tj_image_obtain(context, source, "compute_90", &image, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, tj_kernel_load(context, source, image, &product, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("tj_custom_load loads it"), "%s", err.message);
    tj_image_free(image);
    tj_source_free(source);

    config.family = tj_family_find("tiled");
    cr_expect(eq(int, tj_custom_load(context, family, &config, length, &kernel, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("the config is of family tiled, and scale is asked for"), "%s", err.message);
    cr_expect(eq(int, tj_custom_load(context, config.family, NULL, length, &kernel, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("not one of the application's own"), "%s", err.message);
}

Test(custom, a_second_context_finds_the_image_in_the_store)
{
    tj_custom_kernel *kernel;
    tj_context *second;

    create();
    tj_custom_kernel_free(load(context, NULL, length));
    second = open_context(store);
    kernel = load(second, NULL, length);
    cr_expect(eq(int, tj_image_origin(kernel->image), TJ_FROM_STORE));
    tj_custom_kernel_free(kernel);
    tj_context_free(second);
}

Test(custom, proofs_pass_and_are_known)
{
    tj_context *second;
    tj_proof proof = TJ_PROOF_INIT;

    create();
    cr_assert(eq(int, tj_custom_prove(context, family, NULL, length, 0, &proof, &err), TJ_OK), "%s", err.message);
    cr_expect(proof.passed == 1 && proof.was_known == 0 && proof.elements == LENGTH);
    second = open_context(store);
    cr_assert(eq(int, tj_custom_prove(second, family, NULL, length, 0, &proof, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, proof.was_known, 1));
    cr_assert(eq(int, tj_custom_prove(second, family, NULL, length, 1, &proof, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, proof.was_known, 0));
    tj_context_free(second);
}

Test(custom, wrong_kernels_fail_their_proof_and_are_not_loaded)
{
    static const struct {
        const char *store, *says;
    } rows[] = {
        {"y[i] = x[i] * factor + (i == 70 ? 1.0f : 0.0f);\n", "element 70 of y is"},
        {"if (i != 99) y[i] = x[i] * factor;\n", "element 99 of y is"},
        {"{ y[i] = x[i] * factor; if (i == 99) y[100] = 0; }\n", "it writes after y"},
        {"{ y[i] = x[i] * factor; if (i == 0) y[-1] = 0; }\n", "it writes before y"},
        {"{ y[i] = x[i] * factor; if (i == 7) ((float *)x)[i] = 9; }\n", "it writes to x, which it only reads"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_custom_kernel *kernel = NULL;
        tj_proof proof = TJ_PROOF_INIT;

        spec = custom_spec_make(&made);
        made.part[1].text = rows[i].store;
        create();
        cr_expect(eq(int, tj_custom_prove(context, family, NULL, length, 0, &proof, &err), TJ_ERR_CHECK_FAILED), "row %zu", i);
        cr_expect(says(rows[i].says), "row %zu: %s", i, err.message);
        cr_expect(eq(int, tj_custom_load(context, family, NULL, length, &kernel, &err), TJ_ERR_CHECK_FAILED), "row %zu", i);
        cr_expect(eq(ptr, kernel, NULL));
        tj_family_free(family);
        family = NULL;
    }
}

/* ---- tuning ------------------------------------------------------------------------------------------------------- */

static void count_trials(const tj_tune_progress *progress, void *payload)
{
    *(int *)payload += progress->trial != NULL;
}

static int always(void *payload)
{
    (void)payload;
    return 1;
}

Test(custom, tuning_tries_the_space_and_drops_what_is_wrong)
{
    tj_tune_options options = TJ_TUNE_OPTIONS_INIT;
    tj_tune_result result = TJ_TUNE_RESULT_INIT;
    int trials = 0;

    /* Backward with 64 threads: what the reference does not say. */
    made.part[1].text = "//@ if order_backward and wrong\n//@| y[i] = 0;\n//@ else\ny[i] = x[i] * factor;\n//@ end\n";
    made.derived[1] = (tj_custom_derived){"wrong", "threads == 64"};
    spec->grid[0] = "ceil_div(length, threads)";
    create();
    options.strategy = TJ_EXHAUSTIVE;
    options.progress = count_trials;
    options.payload = &trials;
    cr_assert(eq(int, tj_custom_tune(context, family, length, &options, &result, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(i64, result.evaluations, 8));
    cr_expect(eq(int, trials, 8));
    cr_expect(eq(i64, result.wrong, 1)); /* 2 orders, of 32, 64, 128 and 256 threads */
    cr_expect(result.is_complete && result.is_emulated && !result.has_record);
    cr_expect(eq(i64, result.check_elements, LENGTH));
    cr_expect(eq(ptr, (void *)result.config.family, (void *)family));
    options.evaluations = 3;
    options.strategy = TJ_SEARCH;
    cr_assert(eq(int, tj_custom_tune(context, family, length, &options, &result, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(i64, result.evaluations, 3));
    cr_expect(eq(int, result.is_complete, 0));
    options.is_cancelled = always;
    cr_expect(eq(int, tj_custom_tune(context, family, length, &options, &result, &err), TJ_ERR_CANCELLED), "%s", err.message);
}

Test(custom, tuning_refuses_what_it_cannot_do)
{
    tj_tune_options options = TJ_TUNE_OPTIONS_INIT;
    const int64_t none[] = {0};
    tj_tune_result result = TJ_TUNE_RESULT_INIT;

    create();
    options.strategy = TJ_MODEL;
    cr_expect(eq(int, tj_custom_tune(context, family, length, &options, &result, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("no model knows family scale"), "%s", err.message);
    options.strategy = TJ_SEARCH;
    options.family = tj_family_find("tiled");
    cr_expect(eq(int, tj_custom_tune(context, family, length, &options, &result, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("options.family is tiled, and scale is tuned"), "%s", err.message);
    cr_expect(eq(int, tj_custom_tune(context, family, none, NULL, &result, &err), TJ_ERR_INVALID_ARGUMENT));
    tj_family_free(family);
    spec->reference = NULL;
    create();
    cr_expect(eq(int, tj_custom_tune(context, family, length, NULL, &result, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("family scale has no reference"), "%s", err.message);
    tj_family_free(family);
    spec = custom_spec_make(&made);
    made.part[1].text = "y[i] = 1;\n";
    create();
    cr_expect(eq(int, tj_custom_tune(context, family, length, NULL, &result, &err), TJ_ERR_CHECK_FAILED));
    cr_expect(says("no config of 8 of family scale that were tried is right"), "%s", err.message);
    tj_family_free(family);
    spec = custom_spec_make(&made);
    made.part[1].text = "y[i] = 1;\n//@ what\n";
    create();
    cr_expect(eq(int, tj_custom_tune(context, family, length, NULL, &result, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(says("store.cuh:2:") && says("^"), "%s", err.message);
}

static int gives_up(const int64_t *extent, void *const *argument, void *payload)
{
    (void)extent;
    (void)argument;
    (void)payload;
    return 1;
}

static int fills_nothing(const int64_t *extent, size_t argument, void *element, void *payload)
{
    (void)extent;
    (void)argument;
    (void)element;
    (void)payload;
    return 1;
}

/* Nothing is kept of what was not proven: the kernel is launched as before. */
Test(custom, a_reference_that_gives_up_ends_what_asked_for_it)
{
    tj_custom_kernel *kernel = NULL;
    tj_tune_result result = TJ_TUNE_RESULT_INIT;
    tj_proof proof = TJ_PROOF_INIT;

    for (int turn = 0; turn < 2; turn++) {
        if (turn == 0)
            spec->reference = gives_up;
        else
            spec->fill = fills_nothing;
        create();
        cr_expect(eq(int, tj_custom_prove(context, family, NULL, length, 0, &proof, &err), TJ_ERR_CANCELLED));
        cr_expect(says(turn == 0 ? "the reference of family scale failed" : "spec.fill of family scale failed at argument x"),
                  "%s", err.message);
        cr_expect(eq(int, tj_custom_tune(context, family, length, NULL, &result, &err), TJ_ERR_CANCELLED));
        cr_expect(eq(int, tj_custom_load(context, family, NULL, length, &kernel, &err), TJ_OK), "%s", err.message);
        tj_custom_kernel_free(kernel);
        tj_family_free(family);
        spec = custom_spec_make(&made);
    }
    create();
}

static void spoil_records(void)
{
    char line[256];

    (void)snprintf(line, sizeof line, "for f in %s/v1/custom/*; do sed -i s/threads=/treads=/ \"$f\"; done", store);
    cr_assert(eq(int, system(line), 0));
}

/* On a GPU that is the emulator in disguise, so that the result is kept. */
Test(custom, what_tuning_found_is_recorded_and_used)
{
    tj_tune_options options = TJ_TUNE_OPTIONS_INIT;
    const int64_t other[] = {LENGTH + 1};
    tj_context *gpu = open_with(FAKE_GPU_PATH, store), *second;
    tj_custom_kernel *kernel;
    tj_tune_result result = TJ_TUNE_RESULT_INIT;

    /* Its launches all take as long, so the defaults would win. They compute something else. */
    made.part[1].text = "//@ if standard\ny[i] = 0;\n//@ else\n//@| y[i] = x[i] * factor;\n//@ end\n";
    made.derived[1] = (tj_custom_derived){"standard", "threads == 64"};
    spec->grid[0] = "ceil_div(length, threads)";
    create();
    options.seconds = 4;
    cr_assert(eq(int, tj_custom_tune(gpu, family, length, &options, &result, &err), TJ_OK), "%s", err.message);
    cr_expect(result.has_record && !result.is_emulated && result.us > 0 && result.wrong == 2);
    cr_expect(ne(int, result.config.value[0], 64));
    second = open_with(FAKE_GPU_PATH, store);
    kernel = load(second, NULL, length);
    cr_expect(eq(int, memcmp(tj_source_config(tj_custom_source(kernel)), &result.config, sizeof result.config), 0));
    cr_expect(eq(int, tj_image_origin(kernel->image), TJ_FROM_STORE)); /* the winner's alone was kept */
    tj_custom_kernel_free(kernel);
    kernel = load(second, &result.default_config, length);
    cr_expect(eq(int, tj_image_origin(kernel->image), TJ_FROM_COMPILER));
    tj_custom_kernel_free(kernel);
    kernel = load(second, NULL, other); /* nothing is recorded for it */
    cr_expect(eq(int, tj_source_config(tj_custom_source(kernel))->value[0], 64));
    tj_custom_kernel_free(kernel);
    spoil_records();
    kernel = load(second, NULL, length); /* a record that cannot be read fails nothing */
    cr_expect(eq(int, tj_source_config(tj_custom_source(kernel))->value[0], 64));
    tj_custom_kernel_free(kernel);
    tj_context_free(second);
    tj_context_free(gpu);
}
