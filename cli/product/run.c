/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit run: multiply random matrices, verify the product, time it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "product.h"

typedef struct run_options {
    cli_request_options request;
    cli_machine_options machine;
    cli_check_options check;
    cli_timing timing;
    int64_t seed;
    const char *group_rows;
    int32_t counts, compile_only;
} run_options;

#define AT(field) offsetof(run_options, field)

static const cli_option own[] = {
    {"seed", CLI_INT, AT(seed), "Seed of the random matrices; default 1.", "number", 0, INT64_MAX - 2, .initial = 1},
    {"group-rows", CLI_TEXT, AT(group_rows),
     "Rows of each group, such as 5,0,17: j at most in all, or j / groups in each masked group. Default: rows fall to groups "
     "at "
     "random. Without --groups the list has as many groups as numbers.",
     "list"},
    {"count", CLI_FLAG, AT(counts), "Count the kernel's loads, sectors, bank conflicts and FMAs. On the emulator only.",
     .low = CLI_COUNT},
    {"count-lines", CLI_FLAG, AT(counts), "The same, and also for each line of the CUDA source.", .low = CLI_COUNT_LINES},
    {"compile-only", CLI_FLAG, AT(compile_only), "Generate, compile and store the kernel; run nothing.", .low = 1},
    {"no-run", CLI_FLAG, AT(compile_only), "The same.", .low = 1},
    {NULL},
};

static double matrix_bytes(const tj_problem *storage, tj_which which)
{
    const size_t size = tj_type_bytes((tj_type)tj_problem_matrix(storage, which)->type);

    return (double)tj_problem_span(storage, which) * (double)size;
}

/* malloc promises memory that does not exist; the process would be killed while filling it. */
static tj_status check_host_memory(const tj_problem *problem, tj_error *err)
{
    double wanted = 0;
    const double present = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGE_SIZE);

    for (tj_which i = TJ_MATRIX_M; i <= TJ_MATRIX_C; i++)
        wanted += matrix_bytes(problem, i);
    if (wanted > present)
        return tj_fail(err, TJ_ERR_OUT_OF_MEMORY,
                       "the matrices need %.0f MiB of host memory, and this machine has %.0f: "
                       "use a smaller shape or batch",
                       wanted / 0x1p20, present / 0x1p20);
    return TJ_OK;
}

/* Read the list as offsets, one more than it has numbers. Owned: the caller. */
static tj_status read_rows(const char *list, int64_t **offsets, int64_t *groups, tj_error *err)
{
    const char *rest = list;
    size_t items = 1;
    tj_status status = TJ_OK;

    for (const char *at = list; *at; at++)
        items += *at == ',';
    *groups = (int64_t)items;
    *offsets = calloc(items + 1, sizeof **offsets);
    if (!*offsets)
        return tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for the offsets of %zu groups", items);
    for (size_t i = 0; i < items && status == TJ_OK; i++) {
        char what[48], number[24];
        const size_t length = strcspn(rest, ",");
        int64_t rows = 0;

        (void)snprintf(what, sizeof what, "--group-rows of group %zu", i);
        (void)snprintf(number, sizeof number, "%.*s", (int)(length < sizeof number ? length : sizeof number - 1), rest);
        status = cli_parse_int(what, number, 0, INT32_MAX, &rows, err);
        (*offsets)[i + 1] = (*offsets)[i] + rows;
        rest += length + (rest[length] == ',');
    }
    return status;
}

/* Convert the offsets of --group-rows to the problem's offsets, or counts, in place: elements only become shorter. */
static tj_status fit_offsets(const cli_request *request, int64_t groups, int64_t *offsets, tj_error *err)
{
    const tj_problem known = tj_problem_canonical(&request->known);

    if (known.rows.groups != groups)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "--group-rows has %lld numbers, and there are %lld groups: give one for each", (long long)groups,
                       (long long)known.rows.groups);
    if (known.rows.kind == TJ_ROWS_MASKED)
        for (int64_t i = 0; i < groups; i++)
            offsets[i] = offsets[i + 1] - offsets[i];
    else if (known.rows.kind == TJ_ROWS_IN_GROUPS && offsets[groups] > known.j.extent)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--group-rows has %lld rows, and j is %lld: raise j, or shorten groups",
                       (long long)offsets[groups], (long long)known.j.extent);
    for (int64_t i = 0; i <= groups && known.rows.offset_bytes == (int32_t)sizeof(int32_t); i++)
        ((int32_t *)(void *)offsets)[i] = (int32_t)offsets[i];
    return tj_groups_check(&known, 0, offsets, err);
}

static cli_exit multiply(const cli_call *call, const cli_request *request, const void *offsets, tj_error *err)
{
    const run_options *options = call->options;
    const tj_problem storage = tj_problem_strided(&request->known);
    cli_exit code = CLI_FAILED;
    tj_status status = tj_problem_check(&storage, err); /* pointers may reach more than one buffer can hold */
    void *p = NULL;

    if (status == TJ_OK)
        status = check_host_memory(&storage, err);
    if (status == TJ_OK && !(p = malloc((size_t)matrix_bytes(&storage, TJ_MATRIX_P))))
        status = tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for P");
    if (status == TJ_OK) {
        const cli_product product = {.request = request,
                                     .offsets = offsets,
                                     .seed = (uint64_t)options->seed,
                                     .p = p,
                                     .timing = cli_timing_or(options->timing, 2, 10),
                                     .check = &options->check,
                                     .counts = options->counts};

        code = cli_multiply(call, &options->machine, &product, err);
    }
    free(p);
    return code;
}

/* Matrices and vectors are random here. */
static tj_status refuse_files(const cli_request *request, tj_error *err)
{
    for (int i = 0; i < TJ_EPILOGUE_OPERANDS; i++)
        if (request->file[i][0])
            return tj_fail(
                err, TJ_ERR_INVALID_ARGUMENT,
                "--with gives %s a file, and run fills vectors and matrices with random numbers: leave it out, or use "
                "tilejit matmul",
                request->known.epilogue.expression.operand[i].name);
    return TJ_OK;
}

/* Warn about a bias without [col]: it gives a correct product, but with one number. */
static void tell_numbers(const cli_call *call, const cli_request *request)
{
    const tj_expression *e = &request->known.epilogue.expression;

    for (int i = 0; i < e->operands; i++)
        if (e->operand[i].indexed == TJ_BY_NOTHING && !e->operand[i].is_output && !(request->numbers_given >> i & 1))
            cli_say(call, "note       %s is one random number: give it by --with %s=0.5, or index it, as %s[col]\n",
                    e->operand[i].name, e->operand[i].name, e->operand[i].name);
}

static cli_exit run(cli_call *call, tj_error *err)
{
    const run_options *options = call->options;
    cli_request_options asked = options->request;
    cli_request request;
    int64_t *offsets = NULL, groups = 0;
    char as_many[24];
    cli_exit code = CLI_WORDS;

    if ((!options->compile_only && cli_refuse_arch(call, &options->machine, err) != TJ_OK) ||
        (options->group_rows && read_rows(options->group_rows, &offsets, &groups, err) != TJ_OK))
        goto done;
    (void)snprintf(as_many, sizeof as_many, "%" PRId64, groups);
    if (offsets && !asked.groups)
        asked.groups = as_many;
    if (cli_read_request(&asked, call->operand[0], &request, err) != TJ_OK || refuse_files(&request, err) != TJ_OK ||
        (offsets && fit_offsets(&request, groups, offsets, err) != TJ_OK))
        goto done;
    cli_set_int(call->answer, "seed", options->seed);
    code = CLI_FAILED;
    if (cli_open(call, &options->machine, !options->compile_only, err) == TJ_OK) {
        if (!options->compile_only)
            tell_numbers(call, &request);
        code = options->compile_only ? cli_compile_only(call, &options->machine, &request, err)
                                     : multiply(call, &request, offsets, err);
    }
done:
    free(offsets);
    return code;
}

const cli_command cli_run = {
    .name = "run",
    .operands = "<jxkxl>",
    .operand_count = {1, 1},
    .summary = "multiply random matrices, verify and time the product",
    .text = "Fills M, N and C with random numbers from a seed (floats in [-1, 1], integers of all sizes), computes P on the "
            "device, compares it with the product in "
            "float64, and times the launches by CUDA events.",
    .example = "tilejit run 512x300x700\n"
               "tilejit run 1024x1024x1024 --dtype f16 --p-dtype f32 --repeat 50",
    .takes = {{&(const cli_group){"run", own}},
              {cli_request_groups, offsetof(run_options, request), CLI_CONFIG},
              {&cli_check_group, offsetof(run_options, check)},
              {&cli_timing_group, offsetof(run_options, timing)},
              {&cli_machine_group, offsetof(run_options, machine)}},
    .option_bytes = sizeof(run_options),
    .run = run,
};
