/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request: turn options into problem and config. Every error of the options is found here, before a file or a library is
 * opened.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "product.h"

/* ---- options ------------------------------------------------------------------------------------------------------ */

#define AT(field) offsetof(cli_request_options, field)
#define MAX_LD (INT64_C(1) << 48)

static const cli_name orders[] = {{"row", TJ_ROW_MAJOR}, {"col", TJ_COL_MAJOR}, {NULL}};
static const cli_name strides[] = {
    {"broadcast", TJ_BROADCAST}, {"pointers", TJ_POINTERS}, {"pointers16", TJ_POINTERS_16}, {NULL}};

static const char *stride_of_p_at(size_t index)
{
    return strides[1 + index].word;
}

/* The types of P. */
static const char *type_at(size_t index)
{
    const tj_compute_facts *facts;
    uint32_t products = 0;

    for (tj_compute compute = TJ_COMPUTE_F32; (facts = tj_compute_get_facts(compute)); compute++)
        products |= facts->products;
    for (tj_type type = TJ_F32; tj_type_get_facts(type); type++)
        if ((products >> type & 1 || tj_type_get_facts(type)->part) && index-- == 0)
            return tj_type_name(type);
    return NULL;
}

/* The types of M and N. */
static const char *input_type_at(size_t index)
{
    const tj_type_facts *facts;

    for (tj_type type = TJ_F32; (facts = tj_type_get_facts(type)); type++)
        if (facts->compute && index-- == 0)
            return facts->name;
    return NULL;
}

static const char *compute_at(size_t index)
{
    const tj_compute_facts *facts = tj_compute_get_facts((tj_compute)(TJ_COMPUTE_F32 + index));

    return facts ? facts->name : NULL;
}

const char *cli_family_at(size_t index)
{
    return index < tj_family_count() ? tj_family_name(tj_family_at(index)) : NULL;
}

static const char *format_at(size_t index)
{
    return tj_problem_choice("format", index);
}

static const char *triangle_at(size_t index)
{
    return tj_problem_choice("symmetric", index);
}

static const char *invariant_at(size_t index)
{
    return tj_problem_choice("invariant", index);
}

static const cli_option of_problem[] = {
    {"format", CLI_TEXT, AT(format),
     "Types and scales of a quantiser's format, with an N that is stored as l x k (docs/scales.md):", "name",
     .offered = format_at},
    {"dtype", CLI_TEXT, AT(dtype), "Element type of M and N:", "type", .offered = input_type_at},
    {"n-dtype", CLI_TEXT, AT(n_dtype),
     "Element type of N, if it differs: e4m3 goes with e5m2, s8 with u8, f32 with f16 and bf16, weights of 8 or 4 bits with "
     "these three, and those of 4 bits with e4m3.",
     "type", .offered = input_type_at},
    {"p-dtype", CLI_TEXT, AT(p_dtype),
     "Element type of P and C; default: that of M and N, f32 for e4m3 and e5m2, s32 for s8 and u8.", "type",
     .offered = type_at},
    {"compute", CLI_TEXT, AT(compute),
     "The arithmetic of the sums; default: f64 for f64 and c128, s32 for integers, f32 for the other types. tf32 lets tensor "
     "cores round M and N of f32 or c64; f32_split is as accurate as f32, with tensor cores; f32_fp8 lets tensor cores for "
     "8-bit floats "
     "add 128 products with 13 bits.",
     "type", .offered = compute_at},
    {"transpose-m", CLI_FLAG, AT(m.transposed), "M is stored k x j.", .low = 1},
    {"transpose-n", CLI_FLAG, AT(n.transposed), "N is stored l x k.", .low = 1},
    {"conj-m", CLI_FLAG, AT(m.conjugated), "The conjugate of M is multiplied; with --transpose-m its conjugate transpose.",
     .low = 1},
    {"conj-n", CLI_FLAG, AT(n.conjugated), "The same for N.", .low = 1},
    {"repacked-m", CLI_FLAG, AT(m.repacked), "M holds weights of 4 bits in the order of tilejit repack.", .low = 1},
    {"repacked-n", CLI_FLAG, AT(n.repacked), "The same for N.", .low = 1},
    {"symmetric", CLI_TEXT, AT(symmetric),
     "P is square and symmetric, as X . X^T is, and only one triangle is computed: both (each element is stored twice), or "
     "lower or upper alone. C is read in that triangle (lower for both). hermitian, hermitian-lower, hermitian-upper: the "
     "same for complex types, and P is Hermitian, as X . X^H is.",
     "which", .offered = triangle_at},
    {"any", CLI_TEXT, AT(any),
     "Numbers that are arguments of the kernel instead of constants: j, k, l, ld, batch, stride, separated by commas, or all.",
     "list"},
    {"multiple-of", CLI_TEXT, AT(multiple_of), "Promises for dimensions in --any, such as j=16,k=8.", "list"},
    {"overlap", CLI_FLAG, AT(overlap),
     "A launch may start while the kernel before it in the stream still runs; it waits before it touches an operand.",
     .low = 1},
    {"invariant", CLI_TEXT, AT(invariant),
     "rows: the bits of a row of P do not depend on the number of rows, the batch, or the kernel that is chosen; sums have one "
     "order, which tilejit explain names (docs/invariant.md).",
     "what", .offered = invariant_at},
    {"multiprocessors", CLI_TEXT, AT(multiprocessors),
     "Launches occupy at most this number of the device's multiprocessors (docs/share.md).", "n"},
    {NULL},
};

static const char *offsets_at(size_t index)
{
    return tj_problem_choice("offsets", index);
}

static const char *grouped_at(size_t index)
{
    return tj_problem_choice("grouped", index);
}

static const cli_option of_layout[] = {
    {"layout-m", CLI_CHOICE, AT(m.layout), "The layout of M in memory: row (default) or col.", "order", .names = orders},
    {"layout-n", CLI_CHOICE, AT(n.layout), "The same for N.", "order", .names = orders},
    {"layout-p", CLI_CHOICE, AT(p.layout), "The same for P and C.", "order", .names = orders},
    {"ld-m", CLI_INT, AT(m.ld), "Elements from one stored row (column) of M to the next; default: no padding.", "elements", 1,
     MAX_LD},
    {"ld-n", CLI_INT, AT(n.ld), "The same for N.", "elements", 1, MAX_LD},
    {"ld-p", CLI_INT, AT(p.ld), "The same for P.", "elements", 1, MAX_LD},
    {"ld-c", CLI_INT, AT(c.ld), "The same for C.", "elements", 1, MAX_LD},
    {"batch", CLI_INT, AT(batch), "Number of products of this shape; default 1.", "count", 1, INT32_MAX},
    {"groups", CLI_TEXT, AT(groups),
     "Number of products that follow each other in the rows of M and P, each with an N of its own; j is the sum of their "
     "rows.",
     "count"},
    {"offsets", CLI_TEXT, AT(offsets),
     "The memory of the offsets of groups, and their type: device (default) and host have 4 bytes each, device64 and host64 "
     "8.",
     "where", .offered = offsets_at},
    {"grouped", CLI_TEXT, AT(grouped),
     "The storage of groups: packed (default), one group after the other; masked, each with space for j / groups rows and a "
     "count of the rows in use; or along-k, which divides k.",
     "how", .offered = grouped_at},
    {"gather", CLI_FLAG, AT(gather),
     "Gather the rows of M: an index of each launch names the row of M for each row of the "
     "product.",
     .low = 1},
    {"scatter", CLI_FLAG, AT(scatter),
     "Scatter the rows of P: an index of each launch names the row of P for each row of "
     "the product.",
     .low = 1},
    {"combine", CLI_TEXT, AT(combine),
     "Number of rows of the product that each row of P adds up, each times a factor; an index of each launch names the rows.",
     "count"},
    {"expected", CLI_TEXT, AT(expected), "Number of rows that most masked groups have; the config is chosen for it.", "count"},
    {"stride-m", CLI_INT, AT(m.stride),
     "Elements from one M of the batch to the next; broadcast: all use the same one; pointers: they lie anywhere, and the "
     "kernel takes an array of pointers to them; pointers16: the same, each aligned to 16 bytes.",
     "elements", 1, MAX_LD, .names = strides},
    {"stride-n", CLI_INT, AT(n.stride), "The same for N.", "elements", 1, MAX_LD, .names = strides},
    {"stride-p", CLI_INT, AT(p.stride), "The same for P, without broadcast.", "elements", 1, MAX_LD, .names = strides,
     .offered = stride_of_p_at},
    {"stride-c", CLI_INT, AT(c.stride), "The same for C.", "elements", 1, MAX_LD, .names = strides},
    {NULL},
};

const char *const cli_scale_names[TJ_SCALED] = {"scale-m", "scale-n", "scale-p"};

static const char *scale_at(size_t index)
{
    return tj_problem_choice(cli_scale_names[0], index);
}

static const cli_option of_scales[] = {
    {"scale-m", CLI_TEXT, AT(scale[TJ_MATRIX_M]),
     "Multiply the product by scales of M: one number, or one for each of its rows; for weights also along-k, one for each "
     "row and every --scale-k elements of it.",
     "how", .offered = scale_at},
    {"scale-n", CLI_TEXT, AT(scale[TJ_MATRIX_N]),
     "The same by scales of N: one number, one for each of its columns, or "
     "along-k.",
     "how", .offered = scale_at},
    {"scale-p", CLI_TEXT, AT(scale[TJ_MATRIX_P]),
     "Quantise P, of e4m3, e5m2, s8 or e2m1, with scales that the kernel computes and stores: each, for one scale per row, "
     "or such as f32:1x128:row-by-row or e8m0:1x32, for one scale per 128 or 32 columns of a row.",
     "how"},
    {"scale-k", CLI_TEXT, AT(scale_k), "Elements of k for each scale along k, such as 32, 64 or 128.", "elements"},
    {NULL},
};

static const cli_option of_scalars[] = {
    {"alpha", CLI_COMPLEX, AT(alpha),
     "P = alpha * M . N. If it is given, alpha is an argument of the kernel; of complex products it may be complex: 0.5-2i.",
     "number"},
    {"beta", CLI_COMPLEX, AT(beta), "Add beta * C. If it is given, beta is an argument of the kernel. With 0, C is not read.",
     "number"},
    {"epilogue", CLI_TEXT, AT(epilogue),
     "The operation on each accumulator before it is stored, such as 'gelu(acc + bias[col])': an expression over acc, row, "
     "col, alpha, beta, c, and operands of any other name, which are indexed by [row], [col], [row, col], [0] or not at all.",
     "expression"},
    {"with", CLI_TEXT, AT(with),
     "Values of the operands of --epilogue: slope=0.1, and for matmul bias=bias.npy, separated by commas.", "list"},
    {NULL},
};

static const cli_option of_config[] = {
    {"config", CLI_TEXT, AT(config),
     "The family and its parameters, in one line: "
     "tiled:tile_width=16,shared=static,boundary=jl.",
     "text"},
    {"family", CLI_TEXT, AT(family),
     "The family, without parameters; see tilejit families. Options below change single parameters of it, or of tiled if "
     "none is named.",
     "name", .offered = cli_family_at},
    {"tile-width", CLI_TEXT, AT(tile_width), "TILE_WIDTH: 4 to 32.", "w"},
    {"shared", CLI_TEXT, AT(shared), "Shared memory: static or dynamic.", "kind"},
    {"rows", CLI_TEXT, AT(rows), "Which block index counts rows of P: y (the textbook's) or x.", "axis"},
    {"boundary", CLI_TEXT, AT(boundary),
     "Boundary checks: auto (default: those the shape needs), all, none, or the letters of the checked dimensions: jl.",
     "checks"},
    {NULL},
};

const cli_group cli_request_groups[] = {[CLI_PROBLEM] = {"What to compute", of_problem},
                                        [CLI_LAYOUT] = {"How the matrices lie in memory", of_layout},
                                        [CLI_SCALES] = {"Scales", of_scales},
                                        [CLI_SCALARS] = {"What becomes of a sum", of_scalars},
                                        [CLI_CONFIG] = {"How to compute it", of_config}};

/* ---- problem and config ------------------------------------------------------------------------------------------- */

tj_status cli_read_dtype(const char *text, int32_t *dtype, tj_error *err)
{
    tj_type type = TJ_TYPE_DEFAULT;
    tj_status status;

    if (!text)
        return TJ_OK;
    status = tj_type_parse(text, &type, err);
    if (status == TJ_OK)
        *dtype = (int32_t)type;
    return status;
}

/* Set a field of the problem from its option; value NULL: not given. A message about the value names the option. */
static tj_status set_field(tj_problem *problem, const char *name, const char *value, tj_error *err)
{
    tj_error why;
    const tj_status status = value ? tj_problem_set(problem, name, value, &why) : TJ_OK;

    if (status != TJ_OK)
        (void)tj_fail(err, status, "%s%s", strncmp(why.message, name, strlen(name)) == 0 ? "--" : "", why.message);
    return status;
}

/* Set fields of the problem, each given by its name and its value, up to a name of NULL. */
static tj_status set_fields(tj_problem *problem, const char *const (*given)[2], tj_error *err)
{
    tj_status status = TJ_OK;

    for (; (*given)[0] && status == TJ_OK; given++)
        status = set_field(problem, (*given)[0], (*given)[1], err);
    return status;
}

tj_status cli_take_types(const cli_request_options *options, tj_problem *problem, tj_error *err)
{
    const char *const given[][2] = {{"dtype", options->dtype},         {"n-dtype", options->n_dtype},
                                    {"p-dtype", options->p_dtype},     {"compute", options->compute},
                                    {"symmetric", options->symmetric}, {NULL}};

    return set_fields(problem, given, err);
}

tj_status cli_take_format(const cli_request_options *options, tj_problem *problem, tj_error *err)
{
    const tj_status status = options->format ? set_field(problem, "dtype", options->dtype, err) : TJ_OK;

    return status == TJ_OK ? set_field(problem, "format", options->format, err) : status;
}

static tj_status read_any(const cli_request_options *options, tj_problem *problem, tj_error *err)
{
    const tj_status status = set_field(problem, "any", options->any, err);

    return status == TJ_OK ? set_field(problem, "multiple-of", options->multiple_of, err) : status;
}

static tj_status read_config(const cli_request_options *options, cli_request *request, tj_error *err)
{
    tj_config *config = &request->config;
    const struct {
        const char *name, *value;
    } parameters[] = {{"tile_width", options->tile_width},
                      {"shared", options->shared},
                      {"rows", options->rows},
                      {"boundary", options->boundary}};
    tj_status status = TJ_OK;

    *config = (tj_config)TJ_CONFIG_INIT;
    request->has_config =
        options->config || options->family || options->tile_width || options->shared || options->rows || options->boundary;
    if (options->config && options->family)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--config names a family already: leave --family out");
    if (options->config)
        status = tj_config_parse(options->config, config, err);
    else if (request->has_config)
        status = tj_config_parse(options->family ? options->family : "tiled", config, err);
    for (size_t i = 0; i < sizeof parameters / sizeof parameters[0] && status == TJ_OK; i++)
        if (parameters[i].value)
            status = tj_config_set(config, parameters[i].name, parameters[i].value, err);
    return status;
}

static void take_matrix(const cli_matrix_options *options, tj_matrix *matrix)
{
    matrix->layout = (int8_t)options->layout;
    matrix->transposed = (int8_t)options->transposed;
    matrix->order = (int8_t)options->repacked;
    matrix->conjugated = (int8_t)options->conjugated;
    matrix->ld = options->ld;
    matrix->stride = options->stride;
}

/* name=number, or name=file. */
static tj_status take_operand(const char *item, size_t length, cli_request *request, tj_error *err)
{
    const char *equals = memchr(item, '=', length);
    const size_t name_length = equals ? (size_t)(equals - item) : length,
                 value_length = length - name_length - (equals != NULL);
    const tj_expression *e = &request->known.epilogue.expression;
    char name[TJ_EPILOGUE_NAME_BYTES], value[CLI_PATH_BYTES], what[64];
    int number;

    if (!equals || name_length >= sizeof name || value_length == 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--with has \"%.*s\": write slope=0.1 or bias=bias.npy",
                       (int)(length < 60 ? length : 60), item);
    if (value_length >= sizeof value)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--with has a path of %zu bytes: more than %d are not taken", value_length,
                       CLI_PATH_BYTES - 1);
    (void)snprintf(name, sizeof name, "%.*s", (int)name_length, item);
    (void)snprintf(value, sizeof value, "%.*s", (int)value_length, equals + 1);
    number = tj_epilogue_find(&request->known.epilogue, name);
    if (number < 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--with names %s, which is not an operand of --epilogue", name);
    if (request->file[number][0] || (request->numbers_given & UINT64_C(1) << number))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--with gives %s two values: give it one", name);
    (void)snprintf(what, sizeof what, "--with %s", name);
    if (e->operand[number].indexed != TJ_BY_NOTHING) {
        strcpy(request->file[number], value);
        return TJ_OK;
    }
    request->numbers_given |= UINT64_C(1) << number;
    return cli_parse_real(what, value, &request->number[number], err);
}

static tj_status take_operands(const char *list, cli_request *request, tj_error *err)
{
    tj_status status = TJ_OK;
    const char *item;
    size_t length;

    while (status == TJ_OK && (item = cli_next_item(&list, &length)))
        status = take_operand(item, length, request, err);
    return status;
}

/* --alpha and --beta are values of the expression's operands. */
static tj_status take_expression(const cli_request_options *options, cli_request *request, tj_error *err)
{
    tj_epilogue *epilogue = &request->known.epilogue;

    if (!options->epilogue)
        return options->with ? tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                                       "--with gives values to operands, and there is no --epilogue: add one")
                             : TJ_OK;
    if (tj_epilogue_parse(options->epilogue, epilogue, err) != TJ_OK)
        return err->status;
    if ((options->alpha.is_given && !epilogue->has_alpha) || (options->beta.is_given && !epilogue->has_beta))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--%s is given, and --epilogue does not name %s",
                       options->alpha.is_given && !epilogue->has_alpha ? "alpha" : "beta",
                       options->alpha.is_given && !epilogue->has_alpha ? "alpha" : "c and beta");
    request->beta = epilogue->has_beta && !options->beta.is_given ? 1.0 : request->beta;
    return take_operands(options->with, request, err);
}

static tj_status take_scales(const cli_request_options *options, tj_problem *problem, tj_error *err)
{
    tj_status status = TJ_OK;

    for (int i = 0; i < TJ_SCALED && status == TJ_OK; i++)
        status = set_field(problem, cli_scale_names[i], options->scale[i], err);
    return status == TJ_OK ? set_field(problem, "scale-k", options->scale_k, err) : status;
}

tj_status cli_take_epilogue(const cli_request_options *options, cli_request *request, tj_error *err)
{
    if (take_scales(options, &request->known, err) != TJ_OK)
        return err->status;
    request->known.epilogue.has_alpha = options->alpha.is_given;
    request->known.epilogue.has_beta = options->beta.is_given;
    request->alpha = options->alpha.is_given ? options->alpha.value : 1.0;
    request->beta = options->beta.is_given ? options->beta.value : 0.0;
    request->alpha_im = options->alpha.imaginary;
    request->beta_im = options->beta.imaginary;
    return take_expression(options, request, err);
}

void cli_print_shape(const tj_problem *problem, char text[CLI_SHAPE_BYTES])
{
    const int length = snprintf(text, CLI_SHAPE_BYTES, "%" PRId64 "x%" PRId64 "x%" PRId64, problem->j.extent, problem->k.extent,
                                problem->l.extent);

    if (problem->batch > 1)
        (void)snprintf(text + length, CLI_SHAPE_BYTES - (size_t)length, " b%" PRId64, problem->batch);
    if (problem->rows.groups > 0)
        (void)snprintf(text + length, CLI_SHAPE_BYTES - (size_t)length, " g%" PRId32, problem->rows.groups);
}

tj_status cli_check_request(const cli_request_options *options, tj_error *err)
{
    cli_request none = {.problem = {0}};

    if (cli_take_format(options, &none.problem, err) != TJ_OK || cli_take_types(options, &none.problem, err) != TJ_OK ||
        read_config(options, &none, err) != TJ_OK)
        return err->status;
    return read_any(options, &none.problem, err);
}

static tj_status check_scalars(const cli_request *request, tj_error *err)
{
    const tj_type type = (tj_type)request->known.m.type;

    if ((request->alpha_im == 0 && request->beta_im == 0) || tj_type_get_facts(type)->part)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "--%s has an imaginary part, and the product of %s is real: leave it out, or multiply c64 or c128",
                   request->alpha_im != 0 ? "alpha" : "beta", tj_type_name(type));
}

tj_status cli_settle_request(const cli_request_options *options, cli_request *request, tj_error *err)
{
    tj_config settled;

    request->problem = request->known;
    if (read_any(options, &request->problem, err) != TJ_OK || tj_problem_check(&request->problem, err) != TJ_OK ||
        check_scalars(request, err) != TJ_OK || read_config(options, request, err) != TJ_OK)
        return err->status;
    settled = request->config;
    return tj_config_resolve(&request->problem, &settled, err);
}

/* Is an option about the layout one of those about rows, which are fields of the problem by the same name and value? */
static bool is_of_rows(const cli_option *option)
{
    return option->kind == CLI_TEXT || option->kind == CLI_FLAG;
}

static tj_status take_rows(const cli_request_options *options, tj_problem *problem, tj_error *err)
{
    tj_status status = TJ_OK;

    for (const cli_option *option = of_layout; option->name && status == TJ_OK; option++) {
        const void *const at = (const char *)options + option->offset;

        if (is_of_rows(option))
            status = set_field(problem, option->name,
                               option->kind == CLI_TEXT ? *(const char *const *)at
                               : *(const int32_t *)at   ? "1"
                                                        : NULL,
                               err);
    }
    return status;
}

tj_status cli_read_request(const cli_request_options *options, const char *shape, cli_request *request, tj_error *err)
{
    int64_t extent[3] = {0, 0, 0};

    memset(request, 0, sizeof *request);
    if (cli_parse_shape(shape, extent, err) != TJ_OK)
        return err->status;
    request->known = (tj_problem)TJ_PROBLEM_INIT(extent[0], extent[1], extent[2], TJ_F32);
    take_matrix(&options->m, &request->known.m);
    take_matrix(&options->n, &request->known.n);
    take_matrix(&options->p, &request->known.p);
    take_matrix(&options->c, &request->known.c);
    request->known.batch = options->batch;
    if (cli_take_format(options, &request->known, err) != TJ_OK || take_rows(options, &request->known, err) != TJ_OK ||
        set_field(&request->known, "overlap", options->overlap ? "1" : NULL, err) != TJ_OK ||
        set_field(&request->known, "invariant", options->invariant, err) != TJ_OK ||
        set_field(&request->known, "multiprocessors", options->multiprocessors, err) != TJ_OK ||
        cli_take_epilogue(options, request, err) != TJ_OK)
        return err->status;
    if ((options->c.ld || options->c.stride) && !request->known.epilogue.has_beta)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "--ld-c and --stride-c describe C, and there is no C: add --beta");
    if (cli_take_types(options, &request->known, err) != TJ_OK || tj_problem_check(&request->known, err) != TJ_OK)
        return err->status;
    return cli_settle_request(options, request, err);
}

static void set_dim(tj_json *object, const char *name, const tj_dim *dim)
{
    if (dim->mode == TJ_DIM_ANY)
        cli_set_text(object, name, "any");
    else
        cli_set_int(object, name, dim->extent);
    if (dim->mode == TJ_DIM_ANY && dim->multiple_of > 1) {
        char member[32];

        (void)snprintf(member, sizeof member, "%s_multiple_of", name);
        cli_set_int(object, member, dim->multiple_of);
    }
}

/* Set a leading dimension, a stride or a batch. */
static void set_number(tj_json *object, const char *name, int64_t value)
{
    const cli_name *special = strides;

    while (special->word && special->value != value)
        special++;
    if (value == TJ_ANY || special->word)
        cli_set_text(object, name, value == TJ_ANY ? "any" : special->word);
    else
        cli_set_int(object, name, value);
}

/* A flag is true, a choice a word, and anything else a number. Packed groups say so. */
static void set_rows(tj_json *object, const tj_problem *known)
{
    char value[TJ_PROBLEM_FIELD_BYTES];

    for (const cli_option *option = of_layout; option->name; option++) {
        if (!is_of_rows(option))
            continue;
        tj_problem_get(known, option->name, value);
        if (known->rows.groups > 0 && !*value && option->offered == grouped_at)
            strcpy(value, grouped_at(0));
        if (*value && option->kind == CLI_FLAG)
            cli_set_bool(object, option->name, true);
        else if (*value && option->offered)
            cli_set_text(object, option->name, value);
        else if (*value)
            set_number(object, option->name, strtoll(value, NULL, 10));
    }
}

void cli_set_problem(tj_json *answer, const tj_problem *problem)
{
    const tj_problem known = tj_problem_canonical(problem);
    tj_json *object = cli_add_object(answer, "problem");
    char value[TJ_PROBLEM_FIELD_BYTES];

    set_dim(object, "j", &known.j);
    set_dim(object, "k", &known.k);
    set_dim(object, "l", &known.l);
    cli_set_text(object, "dtype", tj_type_name((tj_type)known.m.type));
    cli_set_text(object, "n_dtype", tj_type_name((tj_type)known.n.type));
    cli_set_text(object, "p_dtype", tj_type_name((tj_type)known.p.type));
    for (tj_which i = TJ_MATRIX_M; i <= TJ_MATRIX_P; i++) {
        const tj_matrix *matrix = tj_problem_matrix(&known, i);
        char layout[] = "m_layout", ld[] = "ld_m", stride[] = "stride_m";

        layout[0] = ld[3] = stride[7] = "mnp"[i];
        cli_set_text(object, layout, orders[matrix->layout == TJ_COL_MAJOR].word);
        set_number(object, ld, matrix->ld);
        set_number(object, stride, matrix->stride);
        if (matrix->order == TJ_ORDER_REPACKED)
            cli_set_bool(object, i == TJ_MATRIX_M ? "m_repacked" : "n_repacked", 1);
        if (matrix->conjugated)
            cli_set_bool(object, i == TJ_MATRIX_M ? "m_conjugated" : "n_conjugated", 1);
    }
    set_number(object, "batch", known.batch);
    if (known.multiprocessors > 0)
        set_number(object, "multiprocessors", known.multiprocessors);
    set_rows(object, &known);
    tj_problem_get(&known, "symmetric", value);
    if (*value)
        cli_set_text(object, "symmetric", value);
    cli_set_text(object, "compute", tj_compute_name((tj_compute)known.compute));
    for (int i = 0; i < TJ_SCALED; i++) {
        char name[] = "scale_m";

        name[6] = "mnp"[i];
        tj_problem_get(&known, cli_scale_names[i], value);
        if (*value || i < TJ_FACTORS)
            cli_set_text(object, name, *value ? value : "none");
    }
    tj_problem_get(&known, "scale-k", value);
    if (*value)
        set_number(object, "scale_k", strtoll(value, NULL, 10));
    cli_set_bool(object, "has_alpha", known.epilogue.has_alpha);
    cli_set_bool(object, "has_beta", known.epilogue.has_beta);
    tj_epilogue_print(&known.epilogue, value);
    cli_set_text(object, "epilogue", value);
}
