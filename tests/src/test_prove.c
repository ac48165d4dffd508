/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/*
 * Proofs, on the emulator: kernels of every family and storage pass; one whose stored code was broken fails, with a message
 * that names the error, stays known, and is never launched again.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tilejit/tools.h>

#include "architectures.h"
#include "compare.h"
#include "context.h"
#include "image.h"
#include "proof.h"

static tj_error err;
static char store[] = "/tmp/tilejit-prove-XXXXXX";
static char logged[4096];

static void keep_line(tj_log_level level, const char *line, void *payload)
{
    (void)payload;
    if (level <= TJ_LOG_WARNING)
        (void)snprintf(logged + strlen(logged), sizeof logged - strlen(logged), "%s\n", line);
}

static tj_context *open_context(const char *cache_dir, tj_prove prove)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context = NULL;

    setenv("TILEJIT_EMULATOR", EMULATOR_PATH, 1);
    setenv("CUDA_EMULATOR_DEVICES", "sm_90", 0);
    setenv("CUDA_EMULATOR_LOG", "0", 1);
    options.driver = "emulator";
    options.cache_dir = cache_dir;
    options.prove = prove;
    options.log = keep_line;
    options.log_level = TJ_LOG_WARNING;
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
    return context;
}

static bool has_nvrtc(void)
{
    tj_context *context = open_context("", TJ_PROVE_NEVER);
    const char *const *targets;
    const bool has = tj_targets(context, &targets, &err) == TJ_OK;

    tj_context_free(context);
    if (!has && getenv("TILEJIT_REQUIRE_NVRTC"))
        cr_assert(has, "%s", err.message);
    return has;
}

static void start(void)
{
    if (!has_nvrtc())
        cr_skip_test("no NVRTC: %s", err.message);
    cr_assert(mkdtemp(store) != NULL);
}

static void start_on_121(void)
{
    setenv("CUDA_EMULATOR_DEVICES", "sm_121", 1);
    start();
}

static void stop(void)
{
    char line[128];

    (void)snprintf(line, sizeof line, "rm -rf %s", store);
    cr_expect(eq(int, system(line), 0));
}

TestSuite(prove, .init = start, .fini = stop, .timeout = 120);

static tj_config parsed(const char *text)
{
    tj_config config = TJ_CONFIG_INIT;

    if (text)
        cr_assert(eq(int, tj_config_parse(text, &config, &err), TJ_OK), "%s", err.message);
    return config;
}

static tj_status prove(tj_context *context, const tj_problem *problem, const char *config, int again, tj_proof *proof)
{
    const tj_config named = parsed(config);
    const tj_plan *plan;
    tj_status status = tj_plan_prepare(context, problem, config ? &named : NULL, &plan, &err);

    return status == TJ_OK ? tj_plan_prove(context, plan, problem, again, proof, &err) : status;
}

Test(prove, right_kernels_pass_however_their_matrices_lie)
{
    static const char *const configs[] = {"tiled", "naive", "simt:bm=32,bn=32,bk=8,tm=4,tn=4,copy=registers", "simt:splits=2",
                                          "skinny:splits=3"};
    tj_context *context = open_context("", TJ_PROVE_NEVER);

    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++)
        for (int storage = 0; storage < 6; storage++) {
            tj_problem problem = TJ_PROBLEM_INIT(19, 23, 37, TJ_F32);
            tj_proof proof = TJ_PROOF_INIT;

            if (storage == 1)
                problem.m.layout = problem.p.layout = TJ_COL_MAJOR, problem.p.ld = 25,
                problem.epilogue.has_beta = problem.epilogue.has_alpha = 1;
            if (storage == 2)
                problem.batch = 3, problem.m.stride = TJ_BROADCAST, problem.p.stride = 19 * 37 + 11;
            if (storage == 3)
                problem.batch = 2, problem.m.stride = problem.p.stride = TJ_POINTERS, problem.n.stride = TJ_POINTERS_16;
            if (storage == 4)
                problem.m.type = TJ_F64, problem.n.layout = TJ_COL_MAJOR, problem.n.ld = 30;
            if (storage == 5) {
                problem.j.mode = problem.k.mode = TJ_DIM_ANY;
                problem.batch = TJ_ANY;
            }
            if (storage == 4 && strstr(configs[i], "registers"))
                continue;
            if (prove(context, &problem, configs[i], 0, &proof) == TJ_ERR_INVALID_ARGUMENT)
                continue; /* not of this family */
            cr_assert(proof.passed == 1 && proof.reason[0] == '\0', "%s, storage %d: %s", configs[i], storage, err.message);
            cr_expect(proof.elements == proof.elements_total && proof.elements >= 19 * 37, "%s, storage %d", configs[i],
                      storage);
        }
    tj_context_free(context);
}

/* f32_fp8: tensor cores keep 13 bits of a sum, the simple kernel all of them. The proof allows for far less than one term. */
Test(prove, sums_of_thirteen_bits_pass)
{
    tj_context *context = open_context("", TJ_PROVE_NEVER);
    tj_problem problem = TJ_PROBLEM_INIT(64, 2048, 64, TJ_E4M3);
    tj_proof proof = TJ_PROOF_INIT;

    problem.n.layout = TJ_COL_MAJOR;
    problem.compute = TJ_COMPUTE_F32_FP8;
    cr_expect(eq(int, prove(context, &problem, "wgmma", 0, &proof), TJ_OK), "%s", err.message);
    cr_expect(proof.passed == 1 && proof.elements >= 512, "%lld elements", (long long)proof.elements);
    cr_expect(tj_allowed_error(&problem, 1) < 0.1, "%g", tj_allowed_error(&problem, 1));
    tj_context_free(context);
}

/* strip: each place of its lanes, either side short, either layout of P, edges of j and k, batches, splits, no k at all. */
Test(prove, strips_pass_wherever_lanes_stand)
{
    static const char *const places[] = {"col_lanes=1",
                                         "row_lanes=1,tm=3",
                                         "row_lanes=2,tm=4,warps=2",
                                         "row_lanes=4,tm=2,stages=2",
                                         "row_lanes=8,tm=1,warps=1,stages=5",
                                         "row_lanes=16,tm=3,steps=8,warps=3",
                                         "copies=boxes",
                                         "copies=boxes,row_lanes=1,tm=3,warps=2,stages=2"};
    static const int64_t columns[] = {1, 4, 13, 16}, depths[] = {0, 4, 128, 300};
    tj_context *context = open_context("", TJ_PROVE_NEVER);
    int proven = 0;

    for (int variant = 0; variant < 8 * 4 * 4; variant++) {
        /* By day half of them: any six of the seven bits are mixed as in the whole. */
        if (!IS_NIGHTLY && __builtin_parity((unsigned)variant))
            continue;
        tj_problem problem = TJ_PROBLEM_INIT(37, depths[variant / 32 % 4], columns[variant / 8 % 4], TJ_F32);
        char config[100];
        tj_proof proof = TJ_PROOF_INIT;

        problem.l.extent += variant % 8 > 5 && problem.l.extent % 2 != 0; /* boxes take even ones */
        if (variant % 5 == 0)
            problem.m.type = TJ_F64;
        if (variant % 3 == 0) {
            problem.j.extent = problem.l.extent, problem.l.extent = 37;
            problem.m.layout = problem.n.layout = TJ_COL_MAJOR;
        }
        problem.p.layout = variant / 2 % 2;
        problem.epilogue.has_alpha = problem.epilogue.has_beta = variant / 4 % 2;
        if (variant % 7 == 0)
            problem.batch = 2, problem.p.stride = 37 * 16 + 5;
        snprintf(config, sizeof config, "strip:%s,splits=%d", places[variant % 8], (variant / 8 + variant / 32) % 2 ? 3 : 1);
        cr_assert(eq(int, prove(context, &problem, config, 0, &proof), TJ_OK), "%s, variant %d: %s", config, variant,
                  err.message);
        cr_expect(proof.passed == 1 && proof.elements == proof.elements_total, "%s, variant %d", config, variant);
        proven++;
    }
    cr_expect(eq(int, proven, IS_NIGHTLY ? 128 : 64));
    tj_context_free(context);
}

Test(prove, of_a_large_product_it_compares_some_lines)
{
    tj_context *context = open_context("", TJ_PROVE_NEVER);
    const tj_problem problem = TJ_PROBLEM_INIT(96, 300, 160, TJ_F32);
    tj_proof proof = TJ_PROOF_INIT;

    cr_assert(eq(int, prove(context, &problem, NULL, 0, &proof), TJ_OK), "%s", err.message);
    cr_expect(proof.elements > 0 && proof.elements < proof.elements_total, "%lld", (long long)proof.elements);
    tj_context_free(context);
}

/* ---- kernels that are wrong --------------------------------------------------------------------------------------- */

static const tj_problem wrong_problem = TJ_PROBLEM_INIT(40, 24, 32, TJ_F32);
#define WRONG "simt:bm=32,bn=32,bk=8,tm=4,tn=4,copy=registers,vector=1"

/* Faults in the stores of P: each line "	st.global.f32 	[%rd1+8], %f2;" may get another before, after or in its place. */
typedef enum fault { NEGATED, MISSING, BEHIND } fault;

static void append_fault(FILE *out, const char *line, size_t length, fault which)
{
    char address[64], value[64];
    const char *at = strstr(line, "st.global.f32");

    cr_assert(at && sscanf(at, "st.global.f32 [%63[^]]], %63[^;];", address, value) == 2, "%.*s", (int)length, line);
    if (which == NEGATED)
        fprintf(out, "neg.f32 %s, %s;\n", value, value);
    if (which != MISSING)
        fprintf(out, "%.*s\n", (int)length, line);
    if (which == BEHIND)
        fprintf(out, "add.s64 %.*s, %.*s, 2048;\nst.global.f32 [%s], %s;\n", (int)strcspn(address, "+"), address,
                (int)strcspn(address, "+"), address, address, value);
}

/* Store, under the key of the request, a kernel whose last store is faulty, as a compiler that is wrong would. Frees the context. */
static void plant_in(tj_context *context, const char *target, fault which)
{
    const tj_config config = parsed(WRONG);
    char *text = NULL, *last = NULL, *end;
    size_t size = 0;
    tj_source *source;
    tj_image *image;
    FILE *out;

    cr_assert(eq(int, tj_generate(&wrong_problem, &config, &source, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_compile(context, source, target, &image, &err), TJ_OK), "%s", err.message);
    for (char *at = image->body->ptx; (at = strstr(at, "st.global.f32")) != NULL; at++)
        last = at;
    cr_assert(last != NULL, "no store in:\n%s", image->body->ptx);
    while (last[-1] != '\n')
        last--;
    end = strchr(last, '\n');
    out = open_memstream(&text, &size);
    fprintf(out, "%.*s", (int)(last - image->body->ptx), image->body->ptx);
    append_fault(out, last, (size_t)(end - last), which);
    fprintf(out, "%s", end + 1);
    cr_assert(fclose(out) == 0);
    free(image->body->ptx);
    image->body->ptx = text;
    image->body->ptx_bytes = size;
    tj_image_publish(&context->host, source, image->body);
    tj_image_free(image);
    tj_source_free(source);
    tj_context_free(context);
}

static void plant(fault which)
{
    plant_in(open_context(store, TJ_PROVE_NEVER), "compute_90", which);
}

static void expect_failure(const char *words)
{
    tj_context *context = open_context(store, TJ_PROVE_NEVER);
    const tj_config named = parsed(WRONG);
    const tj_plan *plan;
    tj_proof proof = TJ_PROOF_INIT;

    cr_expect(eq(int, prove(context, &wrong_problem, WRONG, 0, &proof), TJ_ERR_CHECK_FAILED), "%s", err.message);
    cr_expect(proof.passed == 0 && strstr(proof.reason, words) != NULL, "%s", proof.reason);
    cr_expect(strstr(err.message, "failed its proof on") && strstr(err.message, "tilejit prove"), "%s", err.message);
    tj_context_free(context);

    context = open_context(store, TJ_PROVE_NEVER); /* the next process */
    cr_expect(eq(int, tj_plan_prepare(context, &wrong_problem, &named, &plan, &err), TJ_ERR_CHECK_FAILED),
              "it is not launched");
    cr_expect(plan == NULL && strstr(err.message, words) != NULL, "%s", err.message);
    tj_context_free(context);
}

Test(prove, a_wrong_sum_is_found)
{
    plant(NEGATED);
    expect_failure("is not what the family naive computes");
}

Test(prove, an_element_that_is_not_written_is_found)
{
    plant(MISSING);
    expect_failure("it does not write element");
}

Test(prove, a_store_behind_the_matrix_is_found)
{
    setenv("CUDA_EMULATOR_CHECKS", "none", 1); /* a GPU has none */
    plant(BEHIND);
    expect_failure("it writes after P");
}

Test(prove, a_kernel_that_ends_the_device_is_known_to_the_next_process)
{
    tj_context *context = open_context(store, TJ_PROVE_NEVER);
    tj_proof proof = TJ_PROOF_INIT;

    plant(BEHIND); /* which the emulator's own checks end */
    cr_expect(eq(int, prove(context, &wrong_problem, WRONG, 0, &proof), TJ_ERR_DEVICE_LOST), "%s", err.message);
    cr_expect(proof.passed == 0 && strstr(proof.reason, "CUDA_ERROR_LAUNCH_FAILED") != NULL, "%s", proof.reason);
    tj_context_free(context);
    /* The driver of this process is lost; a record of the failure is there for the next one. */
    {
        char line[128];

        (void)snprintf(line, sizeof line, "grep -rq CUDA_ERROR_LAUNCH_FAILED %s/v1", store);
        cr_expect(eq(int, system(line), 0));
    }
}

Test(prove, a_choice_that_failed_gives_way)
{
    tj_context *context = open_context(store, TJ_PROVE_NEVER);
    const tj_problem problem = TJ_PROBLEM_INIT(64, 64, 64, TJ_F32);
    const tj_plan *first, *second;
    tj_proof proof = {.struct_size = sizeof proof, .passed = 0, .created_s = 1, .reason = "wrong"};
    tj_device_facts device = TJ_DEVICE_FACTS_INIT;

    cr_assert(eq(int, tj_plan_prepare(context, &problem, NULL, &first, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_device_current(context, &device, &err), TJ_OK), "%s", err.message);
    tj_proof_remember(&context->host, tj_plan_image(first), &device, &proof);
    cr_assert(eq(int, tj_plan_prove(context, first, &problem, 0, &proof, &err), TJ_ERR_CHECK_FAILED), "%s", err.message);
    cr_assert(eq(int, tj_plan_prepare(context, &problem, NULL, &second, &err), TJ_OK), "%s", err.message);
    cr_expect(memcmp(tj_source_config(tj_plan_source(first)), tj_source_config(tj_plan_source(second)), sizeof(tj_config)) !=
              0);
    tj_context_free(context);
}

Test(prove, the_option_before_keeps_a_wrong_kernel_from_its_first_launch)
{
    tj_context *context;
    const tj_config named = parsed(WRONG);
    const tj_plan *plan;

    plant(NEGATED);
    logged[0] = '\0';
    context = open_context(store, TJ_PROVE_BEFORE);
    cr_expect(eq(int, tj_plan_prepare(context, &wrong_problem, &named, &plan, &err), TJ_ERR_CHECK_FAILED));
    cr_expect(plan == NULL && strstr(logged, "failed its proof") != NULL, "%s", logged);
    tj_context_free(context);
}

/* A GPU of 12.9 that computes by the emulator: newer than all that were measured, and it gets PTX. */
static tj_context *open_unknown(tj_prove prove)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context = NULL;

    setenv("FAKE_GPU_MINOR", "9", 1);
    options.driver = FAKE_GPU_PATH;
    options.cache_dir = store;
    options.prove = prove;
    options.log = keep_line;
    options.log_level = TJ_LOG_WARNING;
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
    return context;
}

/* Is the chosen kernel proven when its plan is there? */
static bool is_proven_at_first(tj_context *context)
{
    const tj_problem problem = TJ_PROBLEM_INIT(64, 64, 64, TJ_F32);
    tj_device_facts device = TJ_DEVICE_FACTS_INIT;
    const tj_plan *plan;
    tj_proof known;

    cr_assert(eq(int, tj_plan_prepare(context, &problem, NULL, &plan, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_device_current(context, &device, &err), TJ_OK));
    return tj_proof_recall(&context->host, tj_plan_image(plan), &device, &known) && known.passed;
}

TestSuite(prove_unknown, .init = start_on_121, .fini = stop, .timeout = 120);

Test(prove_unknown, kernels_for_a_gpu_that_was_never_measured_are_proven_first)
{
    tj_context *context = open_unknown(TJ_PROVE_NEVER);

    cr_expect(eq(int, is_proven_at_first(context), false), "the program trusts them");
    tj_context_free(context);
    context = open_unknown(TJ_PROVE_UNKNOWN);
    cr_expect(eq(int, is_proven_at_first(context), true));
    tj_context_free(context);
}

Test(prove_unknown, a_wrong_kernel_leaves_a_case)
{
    const tj_config named = parsed(WRONG);
    const tj_plan *plan;
    tj_context *context;
    char line[128];

    plant_in(open_unknown(TJ_PROVE_NEVER), "compute_121", NEGATED);
    logged[0] = '\0';
    context = open_unknown(TJ_PROVE_UNKNOWN);
    cr_expect(eq(int, tj_plan_prepare(context, &wrong_problem, &named, &plan, &err), TJ_ERR_CHECK_FAILED), "%s", err.message);
    cr_expect(strstr(logged, "no such GPU was ever measured: please report it with the files in ") != NULL, "%s", logged);
    (void)snprintf(line, sizeof line, "ls %s/cases/*.json %s/cases/*.cu >/dev/null", store, store);
    cr_expect(eq(int, system(line), 0));
    tj_context_free(context);
}

Test(prove, gpus_of_measured_architectures_are_known)
{
    static const struct {
        int major, minor;
        bool is_unknown;
    } cases[] = {{7, 5, false}, {8, 0, false}, {9, 0, false}, {9, 1, false}, {10, 0, true}, {12, 1, true}, {13, 0, true}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const tj_device_facts facts = {.cc_major = cases[i].major, .cc_minor = cases[i].minor};

        cr_expect(eq(int, tj_device_is_unknown(&facts), cases[i].is_unknown), "%d.%d", cases[i].major, cases[i].minor);
    }
}

Test(prove, the_option_behind_says_that_products_may_be_wrong)
{
    tj_context *context;
    const tj_config named = parsed(WRONG);
    const tj_plan *plan;

    plant(NEGATED);
    logged[0] = '\0';
    context = open_context(store, TJ_PROVE_BEHIND);
    cr_assert(eq(int, tj_plan_prepare(context, &wrong_problem, &named, &plan, &err), TJ_OK), "%s", err.message);
    for (int i = 0; i < 3000 && !strstr(logged, "may be wrong"); i++)
        usleep(10000);
    cr_expect(strstr(logged, "earlier products of this kernel may be wrong: ") != NULL, "%s", logged);
    tj_context_free(context);
}

Test(prove, the_option_before_passes_what_is_right_and_proves_it_once)
{
    tj_context *context = open_context(store, TJ_PROVE_BEFORE);
    const tj_problem problem = TJ_PROBLEM_INIT(64, 64, 64, TJ_F32);
    tj_device_facts device = TJ_DEVICE_FACTS_INIT;
    const tj_plan *plan;
    tj_proof proof = TJ_PROOF_INIT, known;

    cr_assert(eq(int, tj_plan_prepare(context, &problem, NULL, &plan, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_device_current(context, &device, &err), TJ_OK));
    cr_expect(tj_proof_recall(&context->host, tj_plan_image(plan), &device, &known) && known.passed);
    tj_context_free(context);
    context = open_context(store, TJ_PROVE_NEVER);
    cr_assert(eq(int, tj_plan_prepare(context, &problem, NULL, &plan, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_plan_prove(context, plan, &problem, 0, &proof, &err), TJ_OK), "%s", err.message);
    cr_expect(proof.was_known == 1, "it lies next to the image");
    cr_assert(eq(int, tj_plan_prove(context, plan, &problem, 1, &proof, &err), TJ_OK), "%s", err.message);
    cr_expect(proof.was_known == 0);
    tj_context_free(context);
}

Test(prove, the_option_behind_replaces_what_failed)
{
    tj_context *context = open_context(store, TJ_PROVE_BEHIND);
    const tj_problem problem = TJ_PROBLEM_INIT(64, 64, 64, TJ_F32);
    tj_device_facts device = TJ_DEVICE_FACTS_INIT;
    const tj_plan *plan;
    tj_proof proof = TJ_PROOF_INIT;

    cr_assert(eq(int, tj_plan_prepare(context, &problem, NULL, &plan, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_device_current(context, &device, &err), TJ_OK));
    for (int i = 0; i < 3000 && !tj_proof_recall(&context->host, tj_plan_image(plan), &device, &proof); i++)
        usleep(10000);
    cr_expect(tj_proof_recall(&context->host, tj_plan_image(plan), &device, &proof) && proof.passed, "a thread has proven it");
    tj_context_free(context);
}

Test(prove, a_damaged_or_foreign_proof_counts_as_none)
{
    tj_context *context = open_context(store, TJ_PROVE_NEVER);
    const tj_problem problem = TJ_PROBLEM_INIT(64, 64, 64, TJ_F32);
    tj_device_facts device = TJ_DEVICE_FACTS_INIT, another = TJ_DEVICE_FACTS_INIT;
    const tj_plan *plan;
    tj_proof proof = TJ_PROOF_INIT, found = TJ_PROOF_INIT;
    char line[256];

    cr_assert(eq(int, tj_plan_prepare(context, &problem, NULL, &plan, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_device_current(context, &device, &err), TJ_OK));
    cr_assert(eq(int, tj_plan_prove(context, plan, &problem, 1, &proof, &err), TJ_OK), "%s", err.message);
    another = device;
    another.driver_version += 10;
    cr_expect(eq(int, tj_proof_recall(&context->host, tj_plan_image(plan), &another, &found), 0),
              "another driver compiles anew");
    tj_context_free(context);
    (void)snprintf(line, sizeof line, "for f in $(find %s -name 'proof-*'); do head -c 40 $f >$f.cut; mv $f.cut $f; done",
                   store);
    cr_assert(eq(int, system(line), 0));
    context = open_context(store, TJ_PROVE_NEVER);
    cr_assert(eq(int, tj_plan_prepare(context, &problem, NULL, &plan, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, tj_proof_recall(&context->host, tj_plan_image(plan), &device, &found), 0));
    tj_context_free(context);
}

Test(prove, a_case_holds_what_a_report_needs)
{
    tj_context *context = open_context("", TJ_PROVE_NEVER);
    const tj_problem problem = TJ_PROBLEM_INIT(64, 64, 64, TJ_F32);
    tj_proof proof = {.struct_size = sizeof proof, .passed = 0, .reason = "wrong"};
    char folder[160], line[300];
    const tj_plan *plan;

    cr_assert(eq(int, tj_plan_prepare(context, &problem, NULL, &plan, &err), TJ_OK), "%s", err.message);
    (void)snprintf(folder, sizeof folder, "%s/case", store);
    cr_assert(eq(int, tj_proof_write_case(context, plan, &proof, folder, &err), TJ_OK), "%s", err.message);
    (void)snprintf(line, sizeof line,
                   "cd %s && ls *.cu *.ptx *.log *.json >/dev/null && grep -q '\"reason\": \"wrong\"' *.json "
                   "&& grep -q '\"compiler\": \"1' *.json && grep -q config *.json",
                   folder);
    cr_expect(eq(int, system(line), 0));
    cr_expect(eq(int, tj_proof_write_case(context, plan, &proof, "/proc/nowhere", &err), TJ_ERR_IO));
    tj_context_free(context);
}

Test(prove, the_option_has_four_values)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context;

    options.prove = 4;
    cr_expect(eq(int, tj_context_create(&options, &context, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "prove is 4") != NULL, "%s", err.message);
}
