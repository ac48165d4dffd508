/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit prove: run the kernels of shapes between guards on the device and compare them with the textbook's. One that fails gives way to
 * the library's next choice, which is proven in its turn.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/prove.h>

#include "tune.h"

enum { MOST_KERNELS = TJ_MOST_REFUSED + 2 }; /* of one shape: the choice, those that take its place */

typedef struct counts {
    int64_t proven, failed, known;
} counts;

static tj_status read_config(const cli_words *words, tj_config *config, tj_error *err)
{
    *config = (tj_config)TJ_CONFIG_INIT;
    if (words->config && words->family)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "--config and --family both say how to compute: give one");
    return words->config || words->family ? tj_config_parse(words->config ? words->config : words->family, config, err) : TJ_OK;
}

/* A member of "proofs", and a line. */
static void tell(const cli_words *words, const tune_shape *shape, const tj_plan *plan, const tj_proof *proof,
                 const char *folder, json_t *list)
{
    char config[TJ_CONFIG_TEXT_BYTES];
    json_t *one = json_object();

    tj_config_print(tj_source_config(tj_plan_source(plan)), config);
    cli_set_text(one, "shape", shape->text);
    cli_answer_kernel(one, tj_plan_source(plan), tj_plan_image(plan));
    cli_set_bool(one, "passed", proof->passed);
    cli_set_bool(one, "was_known", proof->was_known);
    cli_set_int(one, "elements", proof->elements);
    cli_set_int(one, "elements_total", proof->elements_total);
    cli_set_real(one, "ms", proof->ms);
    cli_set_text(one, "reason", proof->reason);
    if (folder)
        cli_set_text(one, "case", folder);
    (void)json_array_append_new(list, one);
    if (words->is_json)
        return;
    if (proof->passed && proof->was_known)
        printf("known      %s  %s\n", shape->text, config);
    else if (proof->passed)
        printf("proven     %s  %s: %" PRId64 " of %" PRId64 " elements compared, %.1f ms\n", shape->text, config,
               proof->elements, proof->elements_total, proof->ms);
    else
        printf("FAILED     %s  %s: %s%s%s\n", shape->text, config, proof->reason, folder ? "; the case is in " : "",
               folder ? folder : "");
}

/* TJ_ERR_CHECK_FAILED: a kernel failed, and *list and *total know of it. */
static tj_status prove_plan(const cli_words *words, tj_context *context, const tune_shape *shape, const tj_plan *plan,
                            counts *total, json_t *list, tj_error *err)
{
    const char *folder = words->cases ? words->cases : "tilejit-cases";
    tj_proof proof;
    tj_error why;
    tj_status status = tj_plan_prove(context, plan, &shape->problem, !words->resume, &proof, err);

    if (proof.reason[0] == '\0' && !proof.passed)
        return status; /* nothing was proven */
    if (!proof.passed && tj_proof_write_case(context, plan, &proof, folder, &why) != TJ_OK) {
        fprintf(stderr, "tilejit: %s\n", why.message);
        folder = NULL;
    }
    tell(words, shape, plan, &proof, proof.passed ? NULL : folder, list);
    total->proven += proof.passed && !proof.was_known;
    total->known += proof.passed && proof.was_known;
    total->failed += !proof.passed;
    return status;
}

static tj_status prove_shape(const cli_words *words, tj_context *context, const tune_shape *shape, const tj_config *config,
                             counts *total, json_t *list, tj_error *err)
{
    const bool is_named = config->family != NULL;
    tj_status status = TJ_OK;

    for (int kernels = 0; kernels < MOST_KERNELS; kernels++) {
        const tj_plan *plan;

        status = tj_plan_prepare(context, &shape->problem, is_named ? config : NULL, &plan, err);
        if (status == TJ_OK)
            status = prove_plan(words, context, shape, plan, total, list, err);
        if (status != TJ_ERR_CHECK_FAILED || is_named)
            return status;
        status = tj_plan_refresh(context, &shape->problem, err); /* the next choice takes its place */
        if (status != TJ_OK)
            return status;
    }
    return status;
}

static tj_status prove_all(const cli_words *words, const tune_shapes *all, const tj_config *config, counts *total, json_t *list,
                           tj_error *err)
{
    tj_context *context = NULL;
    tj_status status = cli_context_create_to_run(words, &context, err);
    tj_status worst = TJ_OK;

    for (size_t i = 0; i < all->count && status == TJ_OK; i++) {
        status = prove_shape(words, context, &all->item[i], config, total, list, err);
        if (status == TJ_ERR_CHECK_FAILED) { /* of a config that was named: the others are proven all the same */
            worst = status;
            status = TJ_OK;
        } else if (status != TJ_OK) {
            tj_error why = *err;

            (void)cli_fail(err, status, "%s: %.420s", all->item[i].text, why.message);
        }
    }
    tj_context_free(context);
    return status == TJ_OK ? worst : status;
}

cli_exit cmd_prove(const cli_words *words, json_t *answer, tj_error *err)
{
    tune_shapes all = {NULL, 0};
    counts total = {0, 0, 0};
    json_t *list = json_array();
    tj_config config;
    cli_exit code = CLI_WORDS;
    tj_status status = cli_check_arch(words, err);

    if (status == TJ_OK)
        status = read_config(words, &config, err);
    if (status == TJ_OK && words->operand_count == 0 && !words->shapes)
        status = cli_fail(err, TJ_ERR_INVALID_ARGUMENT,
                          "prove what? write a shape such as 512x300x700, or --shapes with a file of them");
    if (status == TJ_OK)
        status = tune_read_words(words, &all, err);
    if (status == TJ_OK && words->shapes && (status = tune_read_file(words, &all, err)) != TJ_OK)
        code = CLI_FAILED;
    if (status == TJ_OK) {
        status = prove_all(words, &all, &config, &total, list, err);
        code = status == TJ_OK ? CLI_DONE : status == TJ_ERR_CHECK_FAILED ? CLI_CHECK_FAILED : CLI_FAILED;
        if (total.failed > 0 && (status == TJ_OK || status == TJ_ERR_CHECK_FAILED)) {
            (void)cli_fail(err, TJ_ERR_CHECK_FAILED,
                           "%" PRId64 " of %" PRId64 " kernels failed and are not launched on this device any more",
                           total.failed, total.failed + total.proven + total.known);
            code = CLI_CHECK_FAILED;
        }
        cli_set_int(answer, "proven", total.proven);
        cli_set_int(answer, "known", total.known);
        cli_set_int(answer, "failed", total.failed);
        if (!words->is_json)
            printf("%" PRId64 " proven, %" PRId64 " known, %" PRId64 " failed\n", total.proven, total.known, total.failed);
    }
    (void)json_object_set_new(answer, "proofs", list);
    free(all.item);
    return code;
}
