/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit matmul: the product of two matrices in .npy files.
 *
 * Files are taken as they lie: C and Fortran order become layouts of the problem, a rank of 3 becomes a batch.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "npy.h"

enum { DEFAULT_WARMUP = 1, DEFAULT_REPEAT = 5, SHAPE_BYTES = 80 };

/* M, N, C and P of one call. An all-zero array was not given. */
typedef struct matrices {
    tj_npy m, n, c, p;
} matrices;

/* "512 x 300", or "8 x 512 x 300" for a batch. */
static void format_shape(char out[SHAPE_BYTES], const tj_npy *array)
{
    if (array->rank == 3)
        (void)snprintf(out, SHAPE_BYTES, "%" PRId64 " x %" PRId64 " x %" PRId64, array->shape[0], array->shape[1],
                       array->shape[2]);
    else
        (void)snprintf(out, SHAPE_BYTES, "%" PRId64 " x %" PRId64, array->shape[0], array->shape[1]);
}

static int64_t rows(const tj_npy *array)
{
    return array->shape[array->rank - 2];
}

static int64_t columns(const tj_npy *array)
{
    return array->shape[array->rank - 1];
}

static int64_t batch(const tj_npy *array)
{
    return array->rank == 3 ? array->shape[0] : 1;
}

/* What the words alone can get wrong. */
static tj_status check_words(const cli_words *words, cli_request *request, tj_error *err)
{
    int32_t ignored = 0;
    tj_status status;

    memset(request, 0, sizeof *request);
    if (!words->output && !words->compile_only)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "where should P go? add -o P.npy");
    if (cli_check_stdout(words, "-o", words->output, err) != TJ_OK)
        return err->status;
    if ((strcmp(words->operand[0], "-") == 0) + (strcmp(words->operand[1], "-") == 0) +
            (words->c && strcmp(words->c, "-") == 0) >
        1)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "stdin can be one of the matrices only");
    if (words->beta.is_given && !words->c)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "--beta multiplies a matrix that is not there: add --c C.npy");
    status = cli_check_arch(words, err);
    if (status == TJ_OK)
        status = cli_read_dtype(words->dtype, &ignored, err);
    if (status == TJ_OK)
        status = cli_read_dtype(words->p_dtype, &ignored, err);
    if (status == TJ_OK)
        status = cli_read_config(words, request, err);
    return status == TJ_OK ? cli_read_any(words, request, err) : status;
}

/* Bring an array to a type; nothing happens if it has it. */
static tj_status convert(tj_npy *array, tj_type dtype, tj_error *err)
{
    size_t count = array->bytes / tj_type_bytes(array->dtype);
    void *data;

    if (array->dtype == dtype)
        return TJ_OK;
    data = malloc(count ? count * tj_type_bytes(dtype) : 1);
    if (!data)
        return cli_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for a matrix of %zu elements", count);
    tj_convert(dtype, data, array->dtype, array->data, count);
    free(array->data);
    array->data = data;
    array->dtype = dtype;
    array->bytes = count * tj_type_bytes(dtype);
    return TJ_OK;
}

static tj_status load(const cli_words *words, matrices *all, tj_error *err)
{
    int32_t dtype = TJ_TYPE_DEFAULT;
    tj_status status = tj_npy_read(words->operand[0], &all->m, err);

    if (status == TJ_OK)
        status = tj_npy_read(words->operand[1], &all->n, err);
    if (status == TJ_OK && words->c)
        status = tj_npy_read(words->c, &all->c, err);
    if (status != TJ_OK)
        return status;
    status = cli_read_dtype(words->dtype, &dtype, err);
    if (status == TJ_OK && dtype == TJ_TYPE_DEFAULT && all->m.dtype != all->n.dtype)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT,
                        "%s holds %s and %s holds %s: add --dtype and a type, to which both are converted", words->operand[0],
                        tj_type_name(all->m.dtype), words->operand[1], tj_type_name(all->n.dtype));
    if (status == TJ_OK && dtype != TJ_TYPE_DEFAULT)
        status = convert(&all->m, (tj_type)dtype, err);
    if (status == TJ_OK && dtype != TJ_TYPE_DEFAULT)
        status = convert(&all->n, (tj_type)dtype, err);
    return status;
}

/* The inner extents and the batches must meet; both shapes are named where they do not. */
static tj_status check_shapes(const cli_words *words, const matrices *all, tj_error *err)
{
    int64_t inner_m = words->transpose_m ? rows(&all->m) : columns(&all->m);
    int64_t inner_n = words->transpose_n ? columns(&all->n) : rows(&all->n);
    char m[SHAPE_BYTES], n[SHAPE_BYTES];

    format_shape(m, &all->m);
    format_shape(n, &all->n);
    if (inner_m != inner_n)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT,
                        "%.100s is %s%s and %.100s is %s%s: %" PRId64 " columns do not meet %" PRId64 " rows",
                        words->operand[0], m, words->transpose_m ? ", transposed," : "", words->operand[1], n,
                        words->transpose_n ? ", transposed," : "", inner_m, inner_n);
    if (all->m.rank == 3 && all->n.rank == 3 && batch(&all->m) != batch(&all->n))
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT,
                        "%.100s is %s and %.100s is %s: batches of %" PRId64 " and %" PRId64 " do not meet", words->operand[0],
                        m, words->operand[1], n, batch(&all->m), batch(&all->n));
    if (batch(&all->m) == 0 || batch(&all->n) == 0)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "%.100s is %s and %.100s is %s: there is nothing to multiply",
                        words->operand[0], m, words->operand[1], n);
    return TJ_OK;
}

/* C must be as P will be: shape, batch and order. */
static tj_status check_c(const cli_words *words, const matrices *all, const tj_problem *known, tj_error *err)
{
    int64_t wanted = known->batch > 1 ? known->batch : 1;
    char c[SHAPE_BYTES];

    format_shape(c, &all->c);
    if (rows(&all->c) != known->j.extent || columns(&all->c) != known->l.extent ||
        (all->c.rank == 3 && batch(&all->c) != wanted))
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "%.100s is %s, but P is %" PRId64 " x %" PRId64 "%s", words->c, c,
                        known->j.extent, known->l.extent, wanted > 1 ? " for each product of the batch" : "");
    if (words->order && (words->order == 2) != (all->c.is_fortran_order != 0))
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "%.100s is in %s order and --order asks for %s: leave --order out",
                        words->c, all->c.is_fortran_order ? "F" : "C", words->order == 2 ? "F" : "C");
    return TJ_OK;
}

static tj_status make_request(const cli_words *words, const matrices *all, cli_request *request, tj_error *err)
{
    tj_problem *known = &request->known;
    int64_t j = words->transpose_m ? columns(&all->m) : rows(&all->m);
    int64_t k = words->transpose_m ? rows(&all->m) : columns(&all->m);
    int64_t l = words->transpose_n ? rows(&all->n) : columns(&all->n);
    tj_config settled;
    tj_status status;

    *known = (tj_problem)TJ_PROBLEM_INIT(j, k, l, (int32_t)all->m.dtype);
    known->m.layout = all->m.is_fortran_order ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
    known->n.layout = all->n.is_fortran_order ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
    known->p.layout = words->order == 2 || (words->c && all->c.is_fortran_order) ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
    known->m.transposed = (int16_t)words->transpose_m;
    known->n.transposed = (int16_t)words->transpose_n;
    known->epilogue.has_alpha = words->alpha.is_given;
    known->epilogue.has_beta = words->c != NULL;
    request->alpha = words->alpha.is_given ? words->alpha.value : 1.0;
    request->beta = !words->c ? 0.0 : words->beta.is_given ? words->beta.value : 1.0;
    known->batch = batch(&all->m) > batch(&all->n) ? batch(&all->m) : batch(&all->n);
    if (known->batch > 1) {
        known->m.stride = all->m.rank == 3 && batch(&all->m) > 1 ? TJ_TIGHT : TJ_BROADCAST;
        known->n.stride = all->n.rank == 3 && batch(&all->n) > 1 ? TJ_TIGHT : TJ_BROADCAST;
        if (known->epilogue.has_beta)
            known->c.stride = all->c.rank == 3 ? TJ_TIGHT : TJ_BROADCAST;
    }
    status = cli_read_dtype(words->p_dtype, &known->p.type, err);
    if (status == TJ_OK)
        status = tj_problem_check(known, err);
    if (status == TJ_OK && known->epilogue.has_beta)
        status = check_c(words, all, known, err);
    request->problem = *known;
    if (status == TJ_OK)
        status = cli_read_any(words, request, err);
    if (status == TJ_OK)
        status = tj_problem_check(&request->problem, err);
    settled = request->config;
    return status == TJ_OK ? tj_config_resolve(&request->problem, &settled, err) : status;
}

/* An array for P, as it will be written. */
static tj_status make_p(const cli_request *request, matrices *all, tj_error *err)
{
    tj_problem known = tj_problem_canonical(&request->known);
    tj_npy *p = &all->p;

    p->dtype = (tj_type)known.p.type;
    p->rank = all->m.rank == 3 || all->n.rank == 3 ? 3 : 2;
    p->shape[0] = known.batch;
    p->shape[p->rank - 2] = known.j.extent;
    p->shape[p->rank - 1] = known.l.extent;
    p->is_fortran_order = known.p.layout == TJ_COL_MAJOR;
    p->bytes = (size_t)tj_problem_span(&known, TJ_MATRIX_P) * tj_type_bytes(p->dtype);
    p->data = malloc(p->bytes);
    if (!p->data)
        return cli_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for P, %zu bytes", p->bytes);
    if (p->rank == 3 && p->is_fortran_order)
        return cli_fail(err, TJ_ERR_UNSUPPORTED, "a batch in F order has its first axis innermost: leave --order F out");
    return TJ_OK;
}

/* A signal waits for a file to be whole. */
static tj_status write_p(const tj_output *file, const tj_npy *p, tj_error *err)
{
    const bool is_file = file->folder >= 0;
    tj_status status;

    if (is_file)
        cli_hold_signals();
    status = tj_npy_write(file, p, err);
    if (is_file)
        cli_release_signals();
    return status;
}

static cli_exit multiply(const cli_words *words, tj_context *context, const cli_request *request, const tj_output *file,
                         matrices *all, json_t *answer, tj_error *err)
{
    cli_product product;
    char shape[SHAPE_BYTES];
    cli_exit code;
    tj_error write_err;

    memset(&product, 0, sizeof product);
    product.request = request;
    product.host = (tj_host_operands){all->m.data, all->n.data, all->c.data, request->alpha, request->beta};
    product.p = all->p.data;
    product.warmup = words->warmup >= 0 ? (int)words->warmup : DEFAULT_WARMUP;
    product.repeat = words->repeat > 0 ? (int)words->repeat : DEFAULT_REPEAT;
    product.with_check = !words->no_check;
    code = cli_multiply(words, context, &product, answer, err);
    if (code != CLI_DONE && !(code == CLI_CHECK_FAILED && words->keep))
        return code;
    if (write_p(file, &all->p, &write_err) != TJ_OK) {
        *err = write_err;
        return CLI_FAILED;
    }
    cli_set_text(answer, "output", words->output);
    format_shape(shape, &all->p);
    if (!words->is_json)
        printf("P          %s: %s %s\n", words->output, shape, tj_type_name(all->p.dtype));
    return code;
}

cli_exit cmd_matmul(const cli_words *words, json_t *answer, tj_error *err)
{
    cli_request request;
    matrices all;
    tj_context *context = NULL;
    tj_output file;
    cli_exit code = CLI_FAILED;
    tj_status status;

    memset(&all, 0, sizeof all);
    if (check_words(words, &request, err) != TJ_OK)
        return CLI_WORDS;
    status = cli_open_output(words->compile_only ? NULL : words->output, &file, err);
    if (status == TJ_OK)
        status = load(words, &all, err);
    if (status == TJ_OK)
        status = check_shapes(words, &all, err);
    if (status == TJ_OK)
        status = make_request(words, &all, &request, err);
    if (status == TJ_OK && words->c)
        status = convert(&all.c, (tj_type)tj_problem_canonical(&request.known).p.type, err);
    if (status == TJ_OK)
        status = make_p(&request, &all, err);
    if (status == TJ_OK)
        status =
            words->compile_only ? cli_context_create(words, &context, err) : cli_context_create_to_run(words, &context, err);
    if (status == TJ_OK && words->compile_only)
        code = cli_compile_only(words, context, &request, answer, err);
    else if (status == TJ_OK)
        code = multiply(words, context, &request, &file, &all, answer, err);
    tj_output_close(&file);
    tj_npy_drop(&all.m);
    tj_npy_drop(&all.n);
    tj_npy_drop(&all.c);
    tj_npy_drop(&all.p);
    tj_context_free(context);
    return code;
}
