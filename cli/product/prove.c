/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit prove: run the kernels of shapes between guards on the device and compare them with the textbook's. A kernel that
 * fails is replaced by the library's next choice, which is proven in turn.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "product.h"

typedef struct prove_options {
    cli_request_options request;
    cli_machine_options machine;
    const char *family, *shapes, *cases;
    int32_t resume;
} prove_options;

#define AT(field) offsetof(prove_options, field)

static const cli_option own[] = {
    {"config", CLI_TEXT, AT(request.config), "Prove this config, in one line, in place of the library's choice.", "text"},
    {"family", CLI_TEXT, AT(family), "Prove the default config of this family.", "name", .offered = cli_family_at},
    {"shapes", CLI_TEXT, AT(shapes), CLI_SHAPES_SUMMARY, "file.csv"},
    {"cases", CLI_TEXT, AT(cases),
     "The folder for files about a kernel that failed, for the compiler's developers; default: tilejit-cases in the current "
     "folder.",
     "folder"},
    {"resume", CLI_FLAG, AT(resume), "Skip kernels that were proven on such a device with its driver.", .low = 1},
    {NULL},
};

enum { MOST_KERNELS = TJ_MOST_REFUSED + 2 }; /* per shape: the choice and its replacements */

static tj_status read_words(const cli_call *call, tj_config *config, tj_error *err)
{
    const prove_options *options = call->options;
    const char *text = options->request.config ? options->request.config : options->family;

    *config = (tj_config)TJ_CONFIG_INIT;
    if (cli_refuse_arch(call, &options->machine, err) != TJ_OK)
        return err->status;
    if (options->request.config && options->family)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--config and --family both choose a family: give one of them");
    if (text && tj_config_parse(text, config, err) != TJ_OK)
        return err->status;
    return call->operand_count > 0 || options->shapes
               ? TJ_OK
               : tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                         "there is no shape to prove: write one such as 512x300x700, or --shapes with a file of them");
}

/* State that all shapes share. */
typedef struct proofs {
    cli_call *call;
    const prove_options *options;
    tj_config config; /* its family NULL: use the library's choice */
    int64_t proven, failed, known;
    tj_json *list;
} proofs;

/* Add a member of "proofs", and print a line. */
static void tell(proofs *all, const cli_shape *shape, const tj_plan *plan, const tj_proof *proof, const char *folder)
{
    char config[TJ_CONFIG_TEXT_BYTES];
    tj_json *one = cli_append_object(all->list);

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
    if (proof->passed && proof->was_known)
        cli_say(all->call, "known      %s  %s\n", shape->text, config);
    else if (proof->passed)
        cli_say(all->call, "proven     %s  %s: %" PRId64 " of %" PRId64 " elements compared, %.1f ms\n", shape->text, config,
                proof->elements, proof->elements_total, proof->ms);
    else
        cli_say(all->call, "FAILED     %s  %s: %s%s%s\n", shape->text, config, proof->reason, folder ? "; the case is in " : "",
                folder ? folder : "");
}

/* TJ_ERR_CHECK_FAILED: a kernel failed, and `all` records it. */
static tj_status prove_plan(proofs *all, const cli_shape *shape, const tj_plan *plan, tj_error *err)
{
    const char *folder = all->options->cases ? all->options->cases : "tilejit-cases";
    tj_proof proof = TJ_PROOF_INIT;
    tj_error why;
    const tj_status status = tj_plan_prove(all->call->context, plan, &shape->problem, !all->options->resume, &proof, err);

    if (proof.reason[0] == '\0' && !proof.passed)
        return status; /* nothing was proven */
    if (!proof.passed && tj_proof_write_case(all->call->context, plan, &proof, folder, &why) != TJ_OK) {
        cli_print(stderr, "tilejit: %s\n", why.message);
        folder = NULL;
    }
    tell(all, shape, plan, &proof, proof.passed ? NULL : folder);
    all->proven += proof.passed && !proof.was_known;
    all->known += proof.passed && proof.was_known;
    all->failed += !proof.passed;
    return status;
}

static tj_status prove_shape(proofs *all, const cli_shape *shape, tj_error *err)
{
    const bool is_named = all->config.family != NULL;
    tj_status status = TJ_OK;

    for (int kernels = 0; kernels < MOST_KERNELS; kernels++) {
        const tj_plan *plan;

        status = tj_plan_prepare(all->call->context, &shape->problem, is_named ? &all->config : NULL, &plan, err);
        if (status == TJ_OK)
            status = prove_plan(all, shape, plan, err);
        if (status != TJ_ERR_CHECK_FAILED || is_named)
            return status;
    }
    return status;
}

static tj_status prove_all(proofs *all, const cli_shapes *shapes, tj_error *err)
{
    tj_status status = cli_open(all->call, &all->options->machine, true, err);
    tj_status worst = TJ_OK;

    for (size_t i = 0; i < shapes->count && status == TJ_OK; i++) {
        status = prove_shape(all, &shapes->item[i], err);
        if (status == TJ_ERR_CHECK_FAILED) { /* of a named config: prove the others all the same */
            worst = status;
            status = TJ_OK;
        } else if (status != TJ_OK) {
            const tj_error why = *err;

            (void)tj_fail(err, status, "%s: %.420s", shapes->item[i].text, why.message);
        }
    }
    if (status != TJ_OK || all->failed == 0)
        return status == TJ_OK ? worst : status;
    return tj_fail(err, TJ_ERR_CHECK_FAILED,
                   "%" PRId64 " of %" PRId64 " kernels failed and are not launched on this device any more", all->failed,
                   all->failed + all->proven + all->known);
}

static cli_exit prove(cli_call *call, tj_error *err)
{
    const prove_options *options = call->options;
    proofs all = {.call = call, .options = options, .list = cli_add_list(call->answer, "proofs")};
    cli_shapes shapes = {NULL, 0};
    cli_exit code;

    if (read_words(call, &all.config, err) != TJ_OK)
        return CLI_WORDS;
    code = cli_read_shapes(call, &options->request, options->shapes, &shapes, err);
    if (code == CLI_DONE) {
        const tj_status status = prove_all(&all, &shapes, err);

        code = status == TJ_OK ? CLI_DONE : status == TJ_ERR_CHECK_FAILED ? CLI_CHECK_FAILED : CLI_FAILED;
        cli_set_int(call->answer, "proven", all.proven);
        cli_set_int(call->answer, "known", all.known);
        cli_set_int(call->answer, "failed", all.failed);
        cli_say(call, "%" PRId64 " proven, %" PRId64 " known, %" PRId64 " failed\n", all.proven, all.known, all.failed);
    }
    free(shapes.item);
    return code;
}

const cli_command cli_prove = {
    .name = "prove",
    .operands = "[jxkxl ...]",
    .operand_count = {0, CLI_MAX_OPERANDS},
    .summary = "run kernels between guards on the device and compare them",
    .text = "A compiler can have a bug. A proof runs the kernel of a shape once on random operands between guard bands, and "
            "compares P with the result of the textbook's kernel, naive, on the same device; of a large P it compares some "
            "rows. The result is kept next to the stored kernel, for this device and driver.\n\nA kernel that fails is named "
            "and never launched here again; the library's next choice is proven in its place. Its CUDA source, PTX, CUBIN, "
            "log and a description are written to the folder of --cases, for a report to the compiler's developers. Exits "
            "with 3 if a kernel failed.",
    .example = "tilejit prove 512x300x700\n"
               "tilejit prove --shapes shapes.csv --dtype f16\n"
               "tilejit prove 64x264x32 --dtype f64 --config simt:bm=64,bn=128,bk=8,tm=8,tn=4",
    .takes = {{&(const cli_group){"prove", own}},
              {cli_request_groups, offsetof(prove_options, request), CLI_SCALARS},
              {&cli_machine_group, offsetof(prove_options, machine)}},
    .option_bytes = sizeof(prove_options),
    .run = prove,
};
