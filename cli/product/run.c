/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit run: multiply random matrices, verify the product, time it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

enum { DEFAULT_WARMUP = 2, DEFAULT_REPEAT = 10 };

static int64_t matrix_bytes(const tj_problem *problem, tj_which which)
{
    tj_problem known = tj_problem_canonical(problem);
    const int32_t dtype = tj_problem_matrix(&known, which)->type;

    return tj_problem_span(problem, which) * (int64_t)tj_type_bytes((tj_type)dtype);
}

/* malloc promises memory that is not there; the process would be killed while it fills it. */
static tj_status check_host_memory(const tj_problem *problem, tj_error *err)
{
    double wanted = (double)matrix_bytes(problem, TJ_MATRIX_M) + (double)matrix_bytes(problem, TJ_MATRIX_N) +
                    (double)matrix_bytes(problem, TJ_MATRIX_P) +
                    (problem->epilogue.has_beta ? (double)matrix_bytes(problem, TJ_MATRIX_C) : 0.0);
    double present = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGE_SIZE);

    if (wanted > present)
        return cli_fail(err, TJ_ERR_OUT_OF_MEMORY,
                        "the matrices need %.0f MiB of host memory, and this machine has %.0f: "
                        "use a smaller shape or batch",
                        wanted / 0x1p20, present / 0x1p20);
    return TJ_OK;
}

static tj_status random_matrix(const tj_problem *problem, tj_which which, int64_t seed, void **matrix, tj_error *err)
{
    tj_problem known = tj_problem_canonical(problem);
    const int32_t dtype = tj_problem_matrix(&known, which)->type;
    size_t count = (size_t)tj_problem_span(problem, which);

    *matrix = malloc(count ? count * tj_type_bytes((tj_type)dtype) : 1);
    if (!*matrix)
        return cli_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for %c", "MNPC"[which]);
    if (which != TJ_MATRIX_P)
        tj_fill_random((tj_type)dtype, *matrix, count, (uint64_t)seed);
    return TJ_OK;
}

cli_exit cmd_run(const cli_words *words, json_t *answer, tj_error *err)
{
    cli_request request;
    cli_product product;
    tj_problem storage;
    tj_context *context = NULL;
    void *m = NULL, *n = NULL, *c = NULL, *p = NULL;
    cli_exit code = CLI_FAILED;
    tj_status status;

    if (cli_check_arch(words, err) != TJ_OK || cli_read_request(words, words->operand[0], &request, err) != TJ_OK)
        return CLI_WORDS;
    cli_set_int(answer, "seed", words->seed);
    status = words->compile_only ? cli_context_create(words, &context, err) : cli_context_create_to_run(words, &context, err);
    if (status == TJ_OK && words->compile_only) {
        code = cli_compile_only(words, context, &request, answer, err);
        goto done;
    }
    storage = tj_problem_strided(&request.known);
    if (status == TJ_OK)
        status = tj_problem_check(&storage, err); /* pointers may lead to more than one buffer can hold */
    if (status == TJ_OK)
        status = check_host_memory(&storage, err);
    if (status == TJ_OK)
        status = random_matrix(&storage, TJ_MATRIX_M, words->seed, &m, err);
    if (status == TJ_OK)
        status = random_matrix(&storage, TJ_MATRIX_N, words->seed + 1, &n, err);
    if (status == TJ_OK && storage.epilogue.has_beta)
        status = random_matrix(&storage, TJ_MATRIX_C, words->seed + 2, &c, err);
    if (status == TJ_OK)
        status = random_matrix(&storage, TJ_MATRIX_P, 0, &p, err);
    if (status != TJ_OK)
        goto done;
    memset(&product, 0, sizeof product);
    product.request = &request;
    product.host = (tj_host_operands){m, n, c, request.alpha, request.beta};
    product.p = p;
    product.warmup = words->warmup >= 0 ? (int)words->warmup : DEFAULT_WARMUP;
    product.repeat = words->repeat > 0 ? (int)words->repeat : DEFAULT_REPEAT;
    product.with_check = !words->no_check;
    code = cli_multiply(words, context, &product, answer, err);
done:
    free(m);
    free(n);
    free(c);
    free(p);
    tj_context_free(context);
    return code;
}
