/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit matmul: the product of two matrices in .npy files.
 *
 * Files keep their layout: C and Fortran order become layouts of the problem, and rank 3 becomes a batch.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "product.h"

enum { ORDER_C = 1, ORDER_F, SHAPE_BYTES = 80, HOW_BYTES = 64 };

typedef struct matmul_options {
    cli_request_options request;
    cli_machine_options machine;
    cli_check_options check;
    cli_timing timing;
    const char *output, *c, *scale[TJ_SCALED], *form[TJ_SCALED]; /* files of scales and how they lie, by the tj_which */
    const char *zero_n, *whole_n;
    int64_t scale_k;
    int32_t order, keep, compile_only;
} matmul_options;

#define AT(field) offsetof(matmul_options, field)

static const cli_name orders[] = {{"C", ORDER_C}, {"F", ORDER_F}, {NULL}};

static const cli_option own[] = {
    {"c", CLI_TEXT, AT(c), "The matrix that beta multiplies; without --beta, beta is 1.", "C.npy"},
    {"scale-m", CLI_TEXT, AT(scale[TJ_MATRIX_M]),
     "Numbers that multiply the rows of M . N: an array of j x 1, or one of 1 x 1 for all.", "S.npy"},
    {"scale-n", CLI_TEXT, AT(scale[TJ_MATRIX_N]),
     "The same for its columns: 1 x l, or 1 x 1. For weights the scales of either option may lie along k: one row for each "
     "part of k, of j or l numbers.",
     "S.npy"},
    {"scale-p", CLI_TEXT, AT(scale[TJ_MATRIX_P]),
     "Quantise P, and write the scales that the kernel computes to this file. P is of --p-dtype e4m3, e5m2, s8 or e2m1.",
     "S.npy"},
    {"form-m", CLI_TEXT, AT(form[TJ_MATRIX_M]),
     "The type, the block and the layout of --scale-m, such as f32:1x128:row-by-row (docs/scales.md).", "form"},
    {"form-n", CLI_TEXT, AT(form[TJ_MATRIX_N]), "The same for --scale-n, such as f16:1x32:zero=u4.", "form"},
    {"form-p", CLI_TEXT, AT(form[TJ_MATRIX_P]), "The same for --scale-p; default: f32:1x128:row-by-row.", "form"},
    {"scale-k", CLI_INT, AT(scale_k), "Elements of k for each scale along k; default: k divided by the number of parts.",
     "elements", 1, INT32_MAX},
    {"zero-n", CLI_TEXT, AT(zero_n),
     "Zero points of N, for a --format or --form-n that has them, in the layout of the "
     "scales.",
     "Z.npy"},
    {"whole-n", CLI_TEXT, AT(whole_n), "A number that multiplies all of N, for a --format or --form-n that has one.", "W.npy"},
    {"order", CLI_CHOICE, AT(order), "The order of P in the file: C (row by row, the default unless C.npy is F) or F.", "order",
     .names = orders},
    {"keep", CLI_FLAG, AT(keep), "Write P even if it did not pass its check.", .low = 1},
    {"compile-only", CLI_FLAG, AT(compile_only), "Generate, compile and store the kernel; run nothing, write no P.", .low = 1},
    {"no-run", CLI_FLAG, AT(compile_only), "The same.", .low = 1},
    {NULL},
};

/* M, N, C and P of one call, and scales. An all-zero array was not given. */
typedef struct matrices {
    tj_npy m, n, c, p, scale[TJ_SCALED], zero_n, whole_n, with[TJ_EPILOGUE_OPERANDS];
    tj_output scale_p; /* the file of the scales of P */
} matrices;

static const char *const form_names[TJ_SCALED] = {"form-m", "form-n", "form-p"};

/* "512 x 300", "8 x 512 x 300" for a batch, or "300" for a vector. */
static void format_shape(char out[SHAPE_BYTES], const tj_npy *array)
{
    if (array->rank == 3)
        (void)snprintf(out, SHAPE_BYTES, "%" PRId64 " x %" PRId64 " x %" PRId64, array->shape[0], array->shape[1],
                       array->shape[2]);
    else if (array->rank == 2)
        (void)snprintf(out, SHAPE_BYTES, "%" PRId64 " x %" PRId64, array->shape[0], array->shape[1]);
    else
        (void)snprintf(out, SHAPE_BYTES, "%" PRId64, array->shape[0]);
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

static int is_stdin(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

/* Return the extent of the contiguous axis. */
static int64_t *pairs_of(tj_npy *array)
{
    return &array->shape[array->rank - (array->is_fortran_order ? 2 : 1)];
}

/* Check the options as far as possible without the files. */
static tj_status check_words(const cli_call *call, tj_error *err)
{
    matmul_options *const options = call->options;
    int from_stdin = is_stdin(call->operand[0]) + is_stdin(call->operand[1]) + is_stdin(options->c);

    for (int i = 0; i < TJ_FACTORS; i++)
        from_stdin += is_stdin(options->scale[i]);
    if (!options->output && !options->compile_only)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "P has no file: add -o P.npy");
    if (cli_check_stdout(call, "-o", options->output, err) != TJ_OK)
        return err->status;
    if (from_stdin > 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "stdin can be one of the matrices only");
    if (options->request.beta.is_given && !options->c)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--beta multiplies C, and there is no C: add --c C.npy");
    if ((options->zero_n || options->whole_n) && !options->request.format && !options->form[TJ_MATRIX_N])
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--%s needs a --format or --form-n that has it: add one",
                       options->zero_n ? "zero-n" : "whole-n");
    for (int i = 0; i < TJ_SCALED; i++) {
        if (options->form[i] && !options->scale[i])
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--%s describes a file that is missing: add --%s S.npy", form_names[i],
                           cli_scale_names[i]);
        if (options->form[i] && i < TJ_FACTORS && options->request.format)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--%s and --format %s both say how scales lie: leave one out",
                           form_names[i], options->request.format);
    }
    if (cli_check_stdout(call, "--scale-p", options->scale[TJ_MATRIX_P], err) != TJ_OK)
        return err->status;
    if (is_stdin(options->scale[TJ_MATRIX_P]))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--scale-p - would mix the scales with the report: name a file");
    if (options->request.format) /* its N is l x k */
        options->request.n.transposed = 1;
    if (!options->compile_only && cli_refuse_arch(call, &options->machine, err) != TJ_OK)
        return err->status;
    return cli_check_request(&options->request, err);
}

static bool holds_pairs(tj_type dtype)
{
    return tj_type_get_facts(dtype)->numbers == 2;
}

/*
 * Convert an array to a type, if it has another. Bytes are reinterpreted as pairs of 4 bits, which doubles the contiguous
 * extent.
 */
static tj_status convert(const char *path, tj_npy *array, tj_type dtype, tj_error *err)
{
    size_t count = array->bytes / tj_type_bytes(array->dtype);
    void *data;

    if (array->dtype == dtype)
        return TJ_OK;
    if (tj_type_get_facts(array->dtype)->part && !tj_type_get_facts(dtype)->part)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%.200s holds %s, and %s has no imaginary parts: save its real part, or multiply complex matrices", path,
                       tj_type_name(array->dtype), tj_type_name(dtype));
    if (holds_pairs(dtype) && array->dtype != TJ_U8)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "%.200s holds %s: a file of %s holds u8, of which each has two neighbours of a line, the first in its lower "
            "half",
            path, tj_type_name(array->dtype), tj_type_name(dtype));
    if (holds_pairs(dtype)) {
        array->dtype = dtype;
        *pairs_of(array) *= 2;
        return TJ_OK;
    }
    data = malloc(count ? count * tj_type_bytes(dtype) : 1);
    if (!data)
        return tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for a matrix of %zu elements", count);
    tj_convert(dtype, data, array->dtype, array->data, count);
    free(array->data);
    array->data = data;
    array->dtype = dtype;
    array->bytes = count * tj_type_bytes(dtype);
    return TJ_OK;
}

/* Can these types be multiplied at all? */
static bool go_together(tj_type m, tj_type n)
{
    tj_problem problem = TJ_PROBLEM_INIT(1, 1, 1, (int32_t)m);

    problem.n.type = (int32_t)n;
    return tj_problem_check(&problem, NULL) == TJ_OK;
}

/* In lines along k, the other matrix says whether the last half byte counts. */
static void drop_half(int64_t *inner, int64_t other)
{
    *inner -= *inner == other + 1;
}

/* Convert an array to a type of --format. Bytes that NumPy calls u8 become 8-bit floats, powers of 2 or pairs as they are. */
static tj_status read_as(const char *path, tj_npy *array, tj_type type, tj_error *err)
{
    if (array->dtype == TJ_U8 && tj_type_bytes(type) == 1 && !holds_pairs(type))
        array->dtype = type;
    return convert(path, array, type, err);
}

/* The types of M and N as --format has them. */
static tj_status load_format(const cli_call *call, matrices *all, tj_error *err)
{
    const matmul_options *const options = call->options;
    tj_problem probe = TJ_PROBLEM_INIT(1, 1, 1, (int32_t)all->m.dtype);

    if (cli_take_format(&options->request, &probe, err) != TJ_OK || cli_take_types(&options->request, &probe, err) != TJ_OK ||
        read_as(call->operand[0], &all->m, (tj_type)probe.m.type, err) != TJ_OK)
        return err->status;
    return read_as(call->operand[1], &all->n, (tj_type)probe.n.type, err);
}

static tj_status load(const cli_call *call, matrices *all, tj_error *err)
{
    const matmul_options *options = call->options;
    int32_t m = TJ_TYPE_DEFAULT, n;

    if (tj_npy_read(call->operand[0], &all->m, err) != TJ_OK || tj_npy_read(call->operand[1], &all->n, err) != TJ_OK ||
        (options->c && tj_npy_read(options->c, &all->c, err) != TJ_OK) ||
        cli_read_dtype(options->request.dtype, &m, err) != TJ_OK)
        return err->status;
    for (int i = 0; i < TJ_FACTORS; i++)
        if (options->scale[i] && tj_npy_read(options->scale[i], &all->scale[i], err) != TJ_OK)
            return err->status;
    if ((options->zero_n && tj_npy_read(options->zero_n, &all->zero_n, err) != TJ_OK) ||
        (options->whole_n && tj_npy_read_operand(options->whole_n, &all->whole_n, err) != TJ_OK) ||
        (options->request.format && load_format(call, all, err) != TJ_OK))
        return err->status;
    if (options->request.format)
        m = (int32_t)all->m.dtype;
    n = options->request.format ? (int32_t)all->n.dtype : m;
    if (cli_read_dtype(options->request.n_dtype, &n, err) != TJ_OK ||
        convert(call->operand[0], &all->m, m ? (tj_type)m : all->m.dtype, err) != TJ_OK ||
        convert(call->operand[1], &all->n, n ? (tj_type)n : all->n.dtype, err) != TJ_OK)
        return err->status;
    if (holds_pairs(all->m.dtype) && all->m.is_fortran_order == options->request.m.transposed)
        drop_half(pairs_of(&all->m), options->request.n.transposed ? columns(&all->n) : rows(&all->n));
    if (holds_pairs(all->n.dtype) && all->n.is_fortran_order != options->request.n.transposed)
        drop_half(pairs_of(&all->n), options->request.m.transposed ? rows(&all->m) : columns(&all->m));
    if (!m && all->m.dtype != all->n.dtype && !go_together(all->m.dtype, all->n.dtype))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s holds %s and %s holds %s: add --dtype and a type, to which both are converted", call->operand[0],
                       tj_type_name(all->m.dtype), call->operand[1], tj_type_name(all->n.dtype));
    return TJ_OK;
}

/* Check that inner extents and batches match; the message names both shapes. */
static tj_status check_shapes(const cli_call *call, const matrices *all, tj_error *err)
{
    const matmul_options *options = call->options;
    int64_t inner_m = options->request.m.transposed ? rows(&all->m) : columns(&all->m);
    int64_t inner_n = options->request.n.transposed ? columns(&all->n) : rows(&all->n);
    char m[SHAPE_BYTES], n[SHAPE_BYTES];

    format_shape(m, &all->m);
    format_shape(n, &all->n);
    if (inner_m != inner_n)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%.100s is %s%s and %.100s is %s%s: %" PRId64 " columns do not meet %" PRId64 " rows", call->operand[0],
                       m, options->request.m.transposed ? ", transposed," : "", call->operand[1], n,
                       options->request.n.transposed ? ", transposed," : "", inner_m, inner_n);
    if (all->m.rank == 3 && all->n.rank == 3 && batch(&all->m) != batch(&all->n))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%.100s is %s and %.100s is %s: batches of %" PRId64 " and %" PRId64 " do not meet", call->operand[0], m,
                       call->operand[1], n, batch(&all->m), batch(&all->n));
    if (batch(&all->m) == 0 || batch(&all->n) == 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%.100s is %s and %.100s is %s: there is nothing to multiply",
                       call->operand[0], m, call->operand[1], n);
    return TJ_OK;
}

/* Check that C has the shape, batch and order of P. */
static tj_status check_c(const cli_call *call, const matrices *all, const tj_problem *known, tj_error *err)
{
    const matmul_options *options = call->options;
    tj_operand_shape p = TJ_OPERAND_SHAPE_INIT;
    char c[SHAPE_BYTES];

    if (tj_operand_get_shape(known, TJ_MATRIX_P, &p, err) != TJ_OK)
        return err->status;
    format_shape(c, &all->c);
    if (rows(&all->c) != p.rows || columns(&all->c) != p.cols || (all->c.rank == 3 && batch(&all->c) != p.count))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%.100s is %s, but P is %" PRId64 " x %" PRId64 "%s", options->c, c,
                       p.rows, p.cols, p.count > 1 ? " for each product of the batch" : "");
    if (options->order && (options->order == ORDER_F) != (all->c.is_fortran_order != 0))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%.100s is in %s order and --order asks for %s: leave --order out",
                       options->c, all->c.is_fortran_order ? "F" : "C", options->order == ORDER_F ? "F" : "C");
    return TJ_OK;
}

/* Is a matrix of fewer bits than the other? */
static bool is_weights(const tj_problem *known, tj_which which)
{
    const tj_type_facts *const its = tj_type_get_facts((tj_type)tj_problem_matrix(known, which)->type),
                               *const others =
                                   tj_type_get_facts((tj_type)tj_problem_matrix(known, (tj_which)(1 - which))->type);

    return its->bytes < others->bytes || its->numbers > others->numbers;
}

/* Are the scales a matrix with a row for each k block, for weights next to floats? */
static bool are_along_k(tj_which which, const tj_npy *scales, const tj_problem *known, int64_t scale_k)
{
    return is_weights(known, which) && columns(scales) == (which == TJ_MATRIX_N ? known->l.extent : known->j.extent) &&
           (rows(scales) > 1 || scale_k > 0);
}

static tj_status take_along_k(const char *path, tj_which which, const tj_npy *scales, tj_problem *known, int64_t scale_k,
                              tj_error *err)
{
    const int64_t parts = rows(scales), k = known->k.extent, each = scale_k > 0 ? scale_k : parts > 0 ? k / parts : 0;
    char shape[SHAPE_BYTES];

    format_shape(shape, scales);
    if (each < 1 || (scale_k > 0 ? (k + each - 1) / each != parts : k % parts != 0))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%.100s is %s, and k is %" PRId64
                       ": scales along k have a row for every --scale-k elements of k, of which the "
                       "last part may have fewer",
                       path, shape, k);
    known->scale[which] = (tj_scale)TJ_SCALE_INIT(TJ_F32, 1, (int32_t)each);
    return TJ_OK;
}

/* Repeat an array that is not a batch for each product of the batch. */
static tj_status repeat(tj_npy *array, int64_t products, tj_error *err)
{
    char *repeated;

    if (products <= 1 || array->rank == 3)
        return TJ_OK;
    repeated = malloc(array->bytes * (size_t)products);
    if (!repeated)
        return tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for %" PRId64 " copies of an operand", products);
    for (int64_t i = 0; i < products; i++)
        memcpy(repeated + (size_t)i * array->bytes, array->data, array->bytes);
    free(array->data);
    array->data = repeated;
    array->bytes *= (size_t)products;
    return TJ_OK;
}

/* Take scales of rows or columns: convert them to f32, and repeat a single set for each product of the batch. */
static tj_status take_scales(const char *path, tj_which which, tj_npy *scales, tj_problem *known, int64_t scale_k,
                             tj_error *err)
{
    const bool along_k = are_along_k(which, scales, known, scale_k), by_row = which != TJ_MATRIX_N;
    const int64_t wanted = by_row ? known->j.extent : known->l.extent, products = known->batch > 1 ? known->batch : 1;
    const int64_t count = along_k  ? rows(scales) * columns(scales)
                          : by_row ? rows(scales)
                                   : columns(scales),
                  other = by_row ? columns(scales) : rows(scales);
    char shape[SHAPE_BYTES];

    format_shape(shape, scales);
    if (along_k && scales->is_fortran_order)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%.100s is in Fortran order: scales along k lie row after row", path);
    if (along_k && (scales->rank != 3 || batch(scales) == products)) {
        if (take_along_k(path, which, scales, known, scale_k, err) != TJ_OK)
            return err->status;
    } else if (other != 1 || (count != 1 && count != wanted) || (scales->rank == 3 && batch(scales) != products))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%.100s is %s: scales of %c are %s%" PRId64 "%s, or 1 x 1%s", path, shape,
                       "MNP"[which], by_row ? "" : "1 x ", wanted, by_row ? " x 1" : "",
                       products > 1 ? ", for all products or for each" : "");
    else
        known->scale[which] = (tj_scale)TJ_SCALE_INIT(TJ_F32, count != 1, 0);
    return convert(path, scales, TJ_F32, err) == TJ_OK ? repeat(scales, products, err) : err->status;
}

/*
 * Take an array that --format or --form-n names: scales, zero points or the number of a whole matrix. how: that option and its
 * value; path NULL: it was not given.
 */
static tj_status take_of_format(const char *how, const char *option, int operand, const char *path, tj_npy *array,
                                const tj_problem *known, tj_error *err)
{
    tj_operand_shape wanted = TJ_OPERAND_SHAPE_INIT;
    char shape[SHAPE_BYTES];
    int64_t cols;

    if (tj_operand_get_shape(known, operand, &wanted, err) != TJ_OK)
        return err->status;
    if (!wanted.is_taken && !path)
        return TJ_OK;
    if (!wanted.is_taken)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s takes no --%s: leave it out", how, option);
    const tj_type type = (tj_type)wanted.type;

    cols = wanted.cols * tj_type_get_facts(type)->numbers;
    if (!path)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s needs --%s: add a file with %" PRId64 " x %" PRId64 " numbers of %s",
                       how, option, wanted.rows, cols, tj_type_name(type));
    if (read_as(path, array, type, err) != TJ_OK)
        return err->status;
    format_shape(shape, array);
    if ((array->rank == 1 ? array->shape[0] != 1 || wanted.rows * wanted.cols != 1
                          : rows(array) != wanted.rows || columns(array) != cols) ||
        (array->rank == 3 && batch(array) != wanted.count))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%.100s is %s: %s takes %" PRId64 " x %" PRId64 " numbers of %s there%s",
                       path, shape, how, wanted.rows, cols, tj_type_name(type),
                       wanted.count > 1 ? ", for all products or for each" : "");
    if (array->is_fortran_order && wanted.rows > 1 && wanted.cols > 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%.100s is in Fortran order: scales lie row after row", path);
    return repeat(array, wanted.count, err);
}

/* Take the zero points of N and its one number. */
static tj_status take_rest_of_n(const char *how, const matmul_options *options, matrices *all, const tj_problem *known,
                                tj_error *err)
{
    const tj_status status =
        take_of_format(how, "zero-n", TJ_OPERAND_ZERO + TJ_MATRIX_N, options->zero_n, &all->zero_n, known, err);

    return status == TJ_OK
               ? take_of_format(how, "whole-n", TJ_OPERAND_WHOLE + TJ_MATRIX_N, options->whole_n, &all->whole_n, known, err)
               : status;
}

/* Take the arrays of a --format. Scales of weights along k have the type of their file, if that is a float of 16 or 32 bits. */
static tj_status take_format(const matmul_options *options, matrices *all, tj_problem *known, tj_error *err)
{
    tj_scale *const n = &known->scale[TJ_MATRIX_N];
    char how[HOW_BYTES];
    tj_status status = TJ_OK;

    if (options->scale_k)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--scale-k is %" PRId64 ", and --format %s says it: leave it out",
                       options->scale_k, options->request.format);
    if (options->scale[TJ_MATRIX_N] && (n->type == TJ_F16 || n->type == TJ_BF16) &&
        (all->scale[TJ_MATRIX_N].dtype == TJ_F32 || all->scale[TJ_MATRIX_N].dtype == TJ_F16 ||
         all->scale[TJ_MATRIX_N].dtype == TJ_BF16))
        n->type = (int8_t)all->scale[TJ_MATRIX_N].dtype;
    (void)snprintf(how, sizeof how, "--format %s", options->request.format);
    for (int i = 0; i < TJ_FACTORS && status == TJ_OK; i++)
        status = take_of_format(how, cli_scale_names[i], TJ_OPERAND_SCALE + i, options->scale[i], &all->scale[i], known, err);
    return status == TJ_OK ? take_rest_of_n(how, options, all, known, err) : status;
}

/* Take the scales of M or N, as --form-m or --form-n says that they lie, or as their shape does. */
static tj_status take_own_scales(const matmul_options *options, tj_which which, matrices *all, tj_problem *known, tj_error *err)
{
    const char *const form = options->form[which], *const path = options->scale[which];
    char how[HOW_BYTES];
    tj_status status;

    if (!form)
        return path ? take_scales(path, which, &all->scale[which], known, options->scale_k, err) : TJ_OK;
    (void)snprintf(how, sizeof how, "--%s %.40s", form_names[which], form);
    status = tj_problem_set(known, cli_scale_names[which], form, err);
    if (status == TJ_OK)
        status =
            take_of_format(how, cli_scale_names[which], TJ_OPERAND_SCALE + (int)which, path, &all->scale[which], known, err);
    return status == TJ_OK && which == TJ_MATRIX_N ? take_rest_of_n(how, options, all, known, err) : status;
}

/*
 * Take an operand of the expression: a vector, or a matrix in the order of P. Without an option it has the type of the file, if
 * the expression can read that.
 */
static tj_status take_operand(int operand, const char *path, tj_npy *array, tj_problem *known, tj_error *err)
{
    tj_epilogue_operand *declared = &known->epilogue.expression.operand[operand];
    const bool is_vector = array->rank == 1 && declared->indexed != TJ_BY_BOTH, is_f64 = known->m.type == TJ_F64;
    tj_operand_shape wanted = TJ_OPERAND_SHAPE_INIT;
    tj_status status = tj_operand_get_shape(known, TJ_OPERAND_WITH + operand, &wanted, err);
    char shape[SHAPE_BYTES];

    if (status != TJ_OK)
        return status;
    format_shape(shape, array);
    if (!(is_vector && array->shape[0] == wanted.rows * wanted.cols) &&
        (array->rank == 1 || rows(array) != wanted.rows || columns(array) != wanted.cols ||
         (array->rank == 3 && batch(array) != wanted.count)))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%.100s is %s: operand %s is %" PRId64 " x %" PRId64 "%s", path, shape,
                       declared->name, wanted.rows, wanted.cols, wanted.count > 1 ? ", for all products or for each" : "");
    if (declared->indexed == TJ_BY_BOTH && wanted.rows * wanted.cols > 1 &&
        array->is_fortran_order != (wanted.layout == TJ_COL_MAJOR))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%.100s is in %s order, and operand %s lies as P does: save it in %s order", path,
                       array->is_fortran_order ? "F" : "C", declared->name, array->is_fortran_order ? "C" : "F");
    if (declared->type == TJ_TYPE_DEFAULT)
        declared->type = is_f64                   ? (array->dtype == TJ_F32 ? TJ_F32 : TJ_F64)
                         : array->dtype == TJ_F64 ? TJ_F32
                                                  : (uint8_t)array->dtype;
    status = convert(path, array, (tj_type)declared->type, err);
    return status == TJ_OK ? repeat(array, wanted.count, err) : status;
}

static tj_status take_operands(matrices *all, cli_request *request, tj_error *err)
{
    const tj_expression *e = &request->known.epilogue.expression;
    tj_status status = TJ_OK;

    for (int i = 0; i < e->operands && status == TJ_OK; i++) {
        const bool is_number = e->operand[i].indexed == TJ_BY_NOTHING;

        if (e->operand[i].is_output)
            return tj_fail(err, TJ_ERR_UNSUPPORTED,
                           "--epilogue stores %s too, and matmul writes P alone: leave that output out", e->operand[i].name);

        if (is_number ? !(request->numbers_given >> i & 1) : !request->file[i][0])
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--epilogue names %s: add --with %s=%s", e->operand[i].name,
                           e->operand[i].name, is_number ? "NUMBER" : "FILE.npy");
        if (!is_number)
            status = tj_npy_read_operand(request->file[i], &all->with[i], err);
        if (!is_number && status == TJ_OK)
            status = take_operand(i, request->file[i], &all->with[i], &request->known, err);
    }
    return status;
}

/* Build the request; convert C to the type of P. */
static tj_status make_request(const cli_call *call, matrices *all, cli_request *request, tj_error *err)
{
    const matmul_options *options = call->options;
    tj_problem *known = &request->known;
    int64_t j = options->request.m.transposed ? columns(&all->m) : rows(&all->m);
    int64_t k = options->request.m.transposed ? rows(&all->m) : columns(&all->m);
    int64_t l = options->request.n.transposed ? rows(&all->n) : columns(&all->n);
    tj_status status;

    *known = (tj_problem)TJ_PROBLEM_INIT(j, k, l, (int32_t)all->m.dtype);
    known->n.type = (int32_t)all->n.dtype;
    if (cli_take_format(&options->request, known, err) != TJ_OK)
        return err->status;
    known->m.layout = all->m.is_fortran_order ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
    known->n.layout = all->n.is_fortran_order ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
    known->p.layout = options->order == ORDER_F || (options->c && all->c.is_fortran_order) ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
    known->m.transposed = (int8_t)options->request.m.transposed;
    known->n.transposed = (int8_t)options->request.n.transposed;
    known->m.order = (int8_t)options->request.m.repacked;
    known->n.order = (int8_t)options->request.n.repacked;
    known->m.conjugated = (int8_t)options->request.m.conjugated;
    known->n.conjugated = (int8_t)options->request.n.conjugated;
    if (cli_take_epilogue(&options->request, request, err) != TJ_OK)
        return err->status;
    if (options->request.epilogue && known->epilogue.has_beta != (options->c != NULL))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       options->c ? "--c is given, and --epilogue does not name c: leave --c out"
                                  : "--epilogue names c: add --c C.npy");
    if (options->c && !known->epilogue.has_beta)
        known->epilogue.has_beta = 1, request->beta = 1.0;
    known->batch = batch(&all->m) > batch(&all->n) ? batch(&all->m) : batch(&all->n);
    if (known->batch > 1) {
        known->m.stride = all->m.rank == 3 && batch(&all->m) > 1 ? TJ_TIGHT : TJ_BROADCAST;
        known->n.stride = all->n.rank == 3 && batch(&all->n) > 1 ? TJ_TIGHT : TJ_BROADCAST;
        if (known->epilogue.has_beta)
            known->c.stride = all->c.rank == 3 ? TJ_TIGHT : TJ_BROADCAST;
    }
    status = cli_take_types(&options->request, known, err); /* those of M and N are already as asked */
    if (status == TJ_OK && options->request.format)
        status = take_format(options, all, known, err);
    if (status == TJ_OK && options->scale[TJ_MATRIX_P])
        status = tj_problem_set(known, cli_scale_names[TJ_MATRIX_P],
                                options->form[TJ_MATRIX_P] ? options->form[TJ_MATRIX_P] : "f32:1x128:row-by-row", err);
    for (tj_which i = TJ_MATRIX_M; i < TJ_FACTORS && status == TJ_OK && !options->request.format; i++)
        status = take_own_scales(options, i, all, known, err);
    if (status == TJ_OK)
        status = take_operands(all, request, err);
    if (status == TJ_OK)
        status = tj_problem_check(known, err);
    if (status == TJ_OK && known->epilogue.has_beta)
        status = check_c(call, all, known, err);
    if (status == TJ_OK)
        status = cli_settle_request(&options->request, request, err);
    return status == TJ_OK && options->c ? convert(options->c, &all->c, (tj_type)tj_problem_canonical(known).p.type, err)
                                         : status;
}

/* Allocate P as it will be written. */
static tj_status make_p(const cli_request *request, matrices *all, tj_error *err)
{
    tj_operand_shape shape = TJ_OPERAND_SHAPE_INIT;
    tj_npy *p = &all->p;

    if (tj_operand_get_shape(&request->known, TJ_MATRIX_P, &shape, err) != TJ_OK)
        return err->status;
    p->dtype = (tj_type)shape.type;
    p->rank = all->m.rank == 3 || all->n.rank == 3 ? 3 : 2;
    p->shape[0] = shape.count;
    p->shape[p->rank - 2] = shape.rows;
    p->shape[p->rank - 1] = shape.cols;
    p->is_fortran_order = shape.layout == TJ_COL_MAJOR;
    p->bytes = (size_t)shape.span * tj_type_bytes(p->dtype);
    p->data = calloc(1, p->bytes); /* what no launch writes of a symmetric P is 0 */
    if (!p->data)
        return tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for P, %zu bytes", p->bytes);
    if (p->rank == 3 && p->is_fortran_order)
        return tj_fail(err, TJ_ERR_UNSUPPORTED, "a batch in F order has its first axis innermost: leave --order F out");
    return TJ_OK;
}

/* Allocate the scales of P, if there are any, as they will be written. */
static tj_status make_scale_p(const cli_request *request, matrices *all, tj_error *err)
{
    tj_operand_shape shape = TJ_OPERAND_SHAPE_INIT;
    tj_npy *const scales = &all->scale[TJ_MATRIX_P];

    if (tj_operand_get_shape(&request->known, TJ_OPERAND_SCALE + TJ_MATRIX_P, &shape, err) != TJ_OK)
        return err->status;
    if (!shape.is_taken)
        return TJ_OK;
    *scales = (tj_npy){.dtype = (tj_type)shape.type,
                       .rank = all->p.rank,
                       .bytes = (size_t)(shape.count * shape.rows * shape.cols) * tj_type_bytes((tj_type)shape.type)};
    scales->shape[0] = shape.count;
    scales->shape[scales->rank - 2] = shape.rows;
    scales->shape[scales->rank - 1] = shape.cols;
    scales->data = malloc(scales->bytes);
    return scales->data ? TJ_OK
                        : tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for the scales of P, %zu bytes", scales->bytes);
}

static cli_exit multiply(const cli_call *call, const cli_request *request, matrices *all, tj_error *err)
{
    const matmul_options *options = call->options;
    cli_product product = {.request = request,
                           .host = {all->m.data, all->n.data, request->known.symmetric ? all->p.data : NULL, all->c.data},
                           .p = all->p.data,
                           .scale_p = all->scale[TJ_MATRIX_P].data,
                           .timing = cli_timing_or(options->timing, 1, 5),
                           .check = &options->check};
    cli_exit code;
    char shape[SHAPE_BYTES];
    tj_error unwritten;
    tj_status status;

    for (int i = 0; i < TJ_FACTORS; i++)
        product.host[TJ_OPERAND_SCALE + i] = all->scale[i].data;
    product.host[TJ_OPERAND_ZERO + TJ_MATRIX_N] = all->zero_n.data;
    product.host[TJ_OPERAND_WHOLE + TJ_MATRIX_N] = all->whole_n.data;
    for (int i = 0; i < TJ_EPILOGUE_OPERANDS; i++)
        product.host[TJ_OPERAND_WITH + i] = all->with[i].data;
    code = cli_multiply(call, &options->machine, &product, err);
    if (code != CLI_DONE && !(code == CLI_CHECK_FAILED && options->keep))
        return code;
    status = cli_write_array(&call->file, &all->p, &unwritten);
    if (status == TJ_OK && all->scale[TJ_MATRIX_P].data)
        status = cli_write_array(&all->scale_p, &all->scale[TJ_MATRIX_P], &unwritten);
    if (status != TJ_OK) {
        *err = unwritten;
        return CLI_FAILED;
    }
    cli_set_text(call->answer, "output", options->output);
    format_shape(shape, &all->p);
    cli_say(call, "P          %s: %s %s\n", options->output, shape, tj_type_name(all->p.dtype));
    if (all->scale[TJ_MATRIX_P].data) {
        cli_set_text(call->answer, "scales_of_p", options->scale[TJ_MATRIX_P]);
        format_shape(shape, &all->scale[TJ_MATRIX_P]);
        cli_say(call, "           %s: %s scales of it, %s\n", options->scale[TJ_MATRIX_P], shape,
                tj_type_name(all->scale[TJ_MATRIX_P].dtype));
    }
    return code;
}

static cli_exit matmul(cli_call *call, tj_error *err)
{
    const matmul_options *options = call->options;
    cli_request request = {.problem = {0}};
    matrices all = {.p = {0}};
    const char *const scale_p = options->compile_only ? NULL : options->scale[TJ_MATRIX_P];
    cli_exit code = CLI_FAILED;

    if (check_words(call, err) != TJ_OK)
        return CLI_WORDS;
    if (cli_open_output(call, options->compile_only ? NULL : options->output, err) == TJ_OK &&
        (!scale_p || tj_output_open(scale_p, &all.scale_p, err) == TJ_OK) && load(call, &all, err) == TJ_OK &&
        check_shapes(call, &all, err) == TJ_OK && make_request(call, &all, &request, err) == TJ_OK &&
        make_p(&request, &all, err) == TJ_OK && make_scale_p(&request, &all, err) == TJ_OK &&
        cli_open(call, &options->machine, !options->compile_only, err) == TJ_OK)
        code = options->compile_only ? cli_compile_only(call, &options->machine, &request, err)
                                     : multiply(call, &request, &all, err);
    tj_npy_drop(&all.m);
    tj_npy_drop(&all.n);
    tj_npy_drop(&all.c);
    tj_npy_drop(&all.p);
    for (int i = 0; i < TJ_SCALED; i++)
        tj_npy_drop(&all.scale[i]);
    if (all.scale_p.path)
        tj_output_close(&all.scale_p);
    tj_npy_drop(&all.zero_n);
    tj_npy_drop(&all.whole_n);
    for (int i = 0; i < TJ_EPILOGUE_OPERANDS; i++)
        tj_npy_drop(&all.with[i]);
    return code;
}

const cli_command cli_matmul = {
    .name = "matmul",
    .operands = "<M.npy> <N.npy>",
    .operand_count = {2, 2},
    .summary = "multiply two matrices in NumPy files",
    .text = "Writes P = M . N to the file of -o. M and N are arrays of rank 2, or of rank 3: then the first axis counts "
            "products. Their order may be C or F; nothing is transposed in memory.\n\nP is compared with the product in "
            "float64 before it is written, and is not written if it differs by more than rounding can explain.",
    .example = "tilejit matmul M.npy N.npy -o P.npy\n"
               "tilejit matmul M.npy N.npy -o P.npy --alpha 0.5 --beta 1 --c C.npy\n"
               "tilejit matmul M.npy N.npy -o P.npy --epilogue 'gelu(acc + bias[col])' --with bias=bias.npy\n"
               "tilejit matmul M.npy N.npy -o P.npy --format fp8_block --scale-m SM.npy --scale-n SN.npy\n"
               "tilejit matmul M.npy N.npy -o P.npy --p-dtype e4m3 --scale-p SP.npy\n"
               "tilejit matmul M.npy N.npy -o P.npy --config tiled:tile_width=32",
    .takes = {{&cli_output_group, offsetof(matmul_options, output)},
              {&(const cli_group){"matmul", own}},
              {cli_request_groups, offsetof(matmul_options, request)},
              {&cli_request_groups[CLI_SCALARS], offsetof(matmul_options, request), 1},
              {&cli_check_group, offsetof(matmul_options, check)},
              {&cli_timing_group, offsetof(matmul_options, timing)},
              {&cli_machine_group, offsetof(matmul_options, machine)}},
    .option_bytes = sizeof(matmul_options),
    .run = matmul,
};
