/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field: the list of a problem's fields: the name of each, how it is parsed, and how and when it is printed.
 */
#include <tilejit/field.h>

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "canonical.h"
#include "error.h"
#include "format.h"
#include "number_field.h"
#include "text.h"
#include "tree.h"

typedef enum kind {
    BATCH,
    TYPE,
    COMPUTE,
    LAYOUT,
    LD,
    STRIDE,
    OPEN,
    PROMISES,
    SCALE,
    ALPHA,
    BETA,
    EPILOGUE,
    GROUPS,
    OFFSETS,
    GROUPED,
    SCALE_K,
    FORMAT,
    NUMBER
} kind;

typedef struct field {
    const char *name;
    kind kind;
    tj_which which; /* its matrix */
    tj_number_field number;
} field;

#define WORDS(name, member, most, record, word)                                                                \
    {                                                                                                          \
        name, NUMBER, 0,                                                                                       \
        {                                                                                                      \
            name, record, offsetof(tj_problem, member), sizeof(((const tj_problem *)NULL)->member), most, word \
        }                                                                                                      \
    }
#define MEMBER(name, member, most, record) WORDS(name, member, most, record, NULL)

static const char *const triangles[] = {"both",      "lower",           "upper", /* tj_symmetric, from TJ_SYMMETRIC_BOTH on */
                                        "hermitian", "hermitian-lower", "hermitian-upper"};
static const char *const invariants[] = {"rows"}; /* tj_invariant, from TJ_INVARIANT_ROWS on */

/* Captured lists have these columns, in this order. */
static const field fields[] = {{"batch", BATCH, 0},
                               {"dtype", TYPE, TJ_MATRIX_M},
                               {"n-dtype", TYPE, TJ_MATRIX_N},
                               {"p-dtype", TYPE, TJ_MATRIX_P},
                               {"compute", COMPUTE, 0},
                               {"layout-m", LAYOUT, TJ_MATRIX_M},
                               {"layout-n", LAYOUT, TJ_MATRIX_N},
                               {"layout-p", LAYOUT, TJ_MATRIX_P},
                               {"ld-m", LD, TJ_MATRIX_M},
                               {"ld-n", LD, TJ_MATRIX_N},
                               {"ld-p", LD, TJ_MATRIX_P},
                               {"ld-c", LD, TJ_MATRIX_C},
                               {"stride-m", STRIDE, TJ_MATRIX_M},
                               {"stride-n", STRIDE, TJ_MATRIX_N},
                               {"stride-p", STRIDE, TJ_MATRIX_P},
                               {"stride-c", STRIDE, TJ_MATRIX_C},
                               {"any", OPEN, 0},
                               {"multiple-of", PROMISES, 0},
                               {"scale-m", SCALE, TJ_MATRIX_M},
                               {"scale-n", SCALE, TJ_MATRIX_N},
                               {"alpha", ALPHA, 0},
                               {"beta", BETA, 0},
                               {"epilogue", EPILOGUE, 0},
                               {"groups", GROUPS, 0},
                               {"offsets", OFFSETS, 0},
                               {"scale-k", SCALE_K, 0},
                               MEMBER("overlap", overlap, 1, NULL),
                               {"grouped", GROUPED, 0},
                               MEMBER("expected", rows.expected, INT16_MAX, "expected_rows"),
                               {"scale-p", SCALE, TJ_MATRIX_P},
                               MEMBER("gather", rows.gathered, 1, "gathered"),
                               MEMBER("scatter", rows.scattered, 1, "scattered"),
                               MEMBER("combine", rows.combined, TJ_COMBINED_MOST, "combined"),
                               MEMBER("repacked-m", m.order, TJ_ORDER_REPACKED, "m_order"),
                               MEMBER("repacked-n", n.order, TJ_ORDER_REPACKED, "n_order"),
                               WORDS("symmetric", symmetric, TJ_HERMITIAN_UPPER, "symmetric", triangles),
                               MEMBER("conj-m", m.conjugated, 1, "m_conjugated"),
                               MEMBER("conj-n", n.conjugated, 1, "n_conjugated"),
                               WORDS("invariant", invariant, TJ_INVARIANT_ROWS, "invariant", invariants),

                               MEMBER("multiprocessors", multiprocessors, TJ_MULTIPROCESSORS_MOST, "multiprocessors")};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
static const int64_t MOST_LD = INT64_C(1) << 48;

static const char *const layouts[] = {"row", "col"};
static const char *const strides[] = {"broadcast", "pointers", "pointers16"};
static const int64_t stride_of[] = {TJ_BROADCAST, TJ_POINTERS, TJ_POINTERS_16};
static const char *const offsets[] = {"device", "device64", "host", "host64"}; /* 2 * on_host + has 8 bytes */
static const char *const ways[] = {"packed", "masked", "along-k"};             /* tj_rows_kind, from TJ_ROWS_IN_GROUPS on */

static const char *const flags[] = {"0", "1"};

/* Sets several of the others, and has no column. */
static const field format_field = {"format", FORMAT, 0};

static const field *find_field(const char *name)
{
    for (size_t i = 0; i < COUNT(fields); i++)
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    return strcmp(format_field.name, name) == 0 ? &format_field : NULL;
}

static const char *choice_at(const field *f, size_t index)
{
    switch (f->kind) {
    case LAYOUT:
        return index < COUNT(layouts) ? layouts[index] : NULL;
    case STRIDE:
        return index < COUNT(strides) ? strides[index] : NULL;
    case OFFSETS:
        return index < COUNT(offsets) ? offsets[index] : NULL;
    case GROUPED:
        return index < COUNT(ways) ? ways[index] : NULL;
    case NUMBER:
        if (f->number.word)
            return index < (size_t)f->number.most ? f->number.word[index] : NULL;
        return f->number.most == 1 && index < COUNT(flags) ? flags[index] : NULL;
    case FORMAT:
        return tj_format_name(index);
    case SCALE:
        return index + 1 < TJ_SCALE_FORMS ? tj_scale_word((int)index + 1) : NULL;
    default:
        return NULL;
    }
}

const char *tj_problem_field(size_t index)
{
    return index < COUNT(fields) ? fields[index].name : NULL;
}

const char *tj_problem_choice(const char *name, size_t index)
{
    const field *const f = name ? find_field(name) : NULL;

    return f ? choice_at(f, index) : NULL;
}

/* ---- numbers ------------------------------------------------------------------------------------------------------ */

const tj_number_field *tj_number_field_at(size_t index)
{
    for (size_t i = 0; i < COUNT(fields); i++)
        if (fields[i].kind == NUMBER && index-- == 0)
            return &fields[i].number;
    return NULL;
}

int64_t tj_number_get(const tj_problem *problem, size_t offset, size_t bytes)
{
    const void *const at = (const char *)problem + offset;

    return bytes == sizeof(int8_t)    ? *(const int8_t *)at
           : bytes == sizeof(int16_t) ? *(const int16_t *)at
           : bytes == sizeof(int32_t) ? *(const int32_t *)at
                                      : *(const int64_t *)at;
}

void tj_number_set(tj_problem *problem, size_t offset, size_t bytes, int64_t number)
{
    void *const at = (char *)problem + offset;

    if (bytes == sizeof(int8_t))
        *(int8_t *)at = (int8_t)number;
    else if (bytes == sizeof(int16_t))
        *(int16_t *)at = (int16_t)number;
    else if (bytes == sizeof(int32_t))
        *(int32_t *)at = (int32_t)number;
    else
        *(int64_t *)at = number;
}

static void set_member(tj_problem *problem, const field *f, int64_t number)
{
    tj_number_set(problem, f->number.offset, f->number.bytes, number);
}

/* ---- set ---------------------------------------------------------------------------------------------------------- */

/* Return the number of a choice; -1: it is none. */
static int find_choice(const field *f, const char *value)
{
    const char *choice;

    for (size_t i = 0; (choice = choice_at(f, i)); i++)
        if (strcmp(choice, value) == 0)
            return (int)i;
    return -1;
}

static tj_status take_choice(const field *f, const char *value, int *choice, tj_error *err)
{
    char offered[128] = "";

    *choice = find_choice(f, value);
    if (*choice >= 0)
        return TJ_OK;
    for (size_t i = 0; choice_at(f, i); i++)
        strcat(strcat(offered, i ? ", " : ""), choice_at(f, i));
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is \"%.80s\": use one of %s%s", f->name, value, offered,
                   f->kind == SCALE ? ", or TYPE:ROWSxK, such as f32:128x128:row-by-row" : "");
}

static tj_status take_number(const char *name, const char *value, int64_t most, int64_t *number, tj_error *err)
{
    int64_t parsed;

    if (!tj_parse_int(value, &parsed) || parsed < 1 || parsed > most)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is \"%.80s\": write a whole number from 1 to %lld", name, value,
                       (long long)most);
    *number = parsed;
    return TJ_OK;
}

/* Take the next item of a list off it; false: there is none. */
static bool take_item(const char **list, char item[64])
{
    size_t length;

    *list += strspn(*list, ", ");
    length = strcspn(*list, ", ");
    (void)snprintf(item, 64, "%.*s", (int)(length < 63 ? length : 63), *list);
    *list += length;
    return length > 0;
}

static tj_dim *find_dim(tj_problem *problem, const char *name)
{
    tj_dim *const dim[] = {&problem->j, &problem->k, &problem->l};

    return name[0] >= 'j' && name[0] <= 'l' && !name[1] ? dim[name[0] - 'j'] : NULL;
}

/* Broadcasts and arrays of pointers fix parts of the storage that an argument cannot change; they stay. */
static tj_status leave_open(tj_problem *problem, const char *item, tj_error *err)
{
    const bool is_all = strcmp(item, "all") == 0, is_batch = strcmp(item, "batch") == 0, is_ld = strcmp(item, "ld") == 0,
               is_stride = strcmp(item, "stride") == 0;
    tj_dim *const dim = find_dim(problem, item);

    if (!dim && !is_all && !is_ld && !is_stride && !is_batch)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "any has \"%s\": use j, k, l, ld, batch, stride or all", item);
    if (dim)
        dim->mode = TJ_DIM_ANY;
    if (is_all)
        problem->j.mode = problem->k.mode = problem->l.mode = TJ_DIM_ANY;
    if (is_batch || (is_all && problem->rows.groups == 0))
        problem->batch = TJ_ANY;
    for (tj_which which = TJ_MATRIX_M; which <= (problem->epilogue.has_beta ? TJ_MATRIX_C : TJ_MATRIX_P); which++) {
        tj_matrix *const matrix = tj_matrix_of(problem, which);

        if (is_all || is_ld)
            matrix->ld = TJ_ANY;
        if ((is_all || is_stride) && matrix->stride != TJ_BROADCAST && !tj_stride_is_pointers(matrix->stride))
            matrix->stride = TJ_ANY;
    }
    return TJ_OK;
}

/* "j=16" */
static tj_status promise(tj_problem *problem, char *item, tj_error *err)
{
    char *const equals = strchr(item, '='), name[80];
    int64_t divisor = 0;

    if (equals)
        *equals = '\0';
    tj_dim *const dim = equals ? find_dim(problem, item) : NULL;

    if (!dim)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "multiple-of has \"%s\": write j=16,k=8 and so on", item);
    (void)snprintf(name, sizeof name, "multiple-of %s", item);
    if (take_number(name, equals + 1, INT32_MAX, &divisor, err) != TJ_OK)
        return TJ_ERR_INVALID_ARGUMENT;
    if (dim->mode != TJ_DIM_ANY)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s promises a multiple of an extent that is fixed: add %s to any", name,
                       item);
    if (dim->extent % divisor != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s=%d is a promise that %s = %lld breaks", name, (int)divisor, item,
                       (long long)dim->extent);
    dim->multiple_of = (int32_t)divisor;
    return TJ_OK;
}

static tj_status set_list(tj_problem *problem, const field *f, const char *list, tj_error *err)
{
    tj_status status = TJ_OK;
    char item[64];

    while (status == TJ_OK && take_item(&list, item))
        status = f->kind == OPEN ? leave_open(problem, item, err) : promise(problem, item, err);
    return status;
}

static tj_status refuse_groups(const field *f, tj_error *err)
{
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s needs groups, and the problem has none: add groups", f->name);
}

static tj_status set_choice(tj_problem *problem, const field *f, const char *value, tj_error *err)
{
    int choice;
    tj_status status;

    if (f->kind == SCALE && tj_scale_scan(value, tj_scale_in(problem, f->which)))
        return TJ_OK;
    status = take_choice(f, value, &choice, err);
    if (status != TJ_OK)
        return status;
    if (f->kind == FORMAT) {
        tj_format_apply((size_t)choice, problem);
    } else if (f->kind == LAYOUT) {
        tj_matrix_of(problem, f->which)->layout = (int8_t)choice;
    } else if (f->kind == SCALE) {
        *tj_scale_in(problem, f->which) = tj_scale_of_form(choice + 1, TJ_ANY);
    } else if (f->kind == NUMBER) {
        set_member(problem, f, choice + (f->number.word != NULL));
    } else if (problem->rows.groups == 0) {
        return refuse_groups(f, err);
    } else if (f->kind == GROUPED) {
        problem->rows.kind = (int8_t)(TJ_ROWS_IN_GROUPS + choice);
    } else {
        problem->rows.on_host = (int8_t)(choice / 2);
        problem->rows.offset_bytes = choice % 2 ? 8 : 4;
    }
    return TJ_OK;
}

static tj_status set_scale_k(tj_problem *problem, int64_t k, tj_error *err)
{
    bool is_taken = false;

    for (tj_which which = TJ_MATRIX_M; which < TJ_SCALED; which++)
        if (tj_scale_of(problem, which)->k == TJ_ANY) {
            tj_scale_in(problem, which)->k = (int32_t)k;
            is_taken = true;
        }
    return is_taken ? TJ_OK
                    : tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                              "scale-k is %lld and there are no scales along k: make those of the weights along-k, or leave it "
                              "out",
                              (long long)k);
}

static tj_status set_number(tj_problem *problem, const field *f, const char *value, tj_error *err)
{
    const int64_t most = f->kind == GROUPS                    ? TJ_GROUPS_MOST
                         : f->kind == NUMBER                  ? f->number.most
                         : f->kind == LD || f->kind == STRIDE ? MOST_LD
                                                              : INT32_MAX;
    int64_t number = 0;
    const tj_status status = take_number(f->name, value, most, &number, err);

    if (status != TJ_OK)
        return status;
    if (f->kind == SCALE_K)
        return set_scale_k(problem, number, err);
    if (f->number.offset == offsetof(tj_problem, rows.expected) && problem->rows.groups == 0)
        return refuse_groups(f, err);
    if (f->kind == GROUPS) {
        problem->rows.kind = TJ_ROWS_AS_THEY_LIE; /* forget other groups */
        problem->rows = tj_rows_canonical(&problem->rows);
        problem->rows.kind = TJ_ROWS_IN_GROUPS;
        problem->rows.groups = (int32_t)number;
        problem->rows.offset_bytes = 4;
    } else if (f->kind == NUMBER)
        set_member(problem, f, number);
    else
        *(f->kind == BATCH ? &problem->batch
          : f->kind == LD  ? &tj_matrix_of(problem, f->which)->ld
                           : &tj_matrix_of(problem, f->which)->stride) = number;
    return TJ_OK;
}

tj_status tj_problem_set(tj_problem *problem, const char *name, const char *value, tj_error *err)
{
    if (TJ_HAS_NULL(err, problem, name, value))
        return TJ_ERR_INVALID_ARGUMENT;
    const field *const f = find_field(name);
    tj_compute compute = TJ_COMPUTE_DEFAULT;
    tj_type type = TJ_TYPE_DEFAULT;
    tj_status status = TJ_OK;

    if (!f)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "a problem has no field \"%.60s\": tj_problem_field lists them", name);
    switch (f->kind) {
    case TYPE:
        status = tj_type_parse(value, &type, err);
        if (status == TJ_OK)
            tj_matrix_of(problem, f->which)->type = (int32_t)type;
        return status;
    case COMPUTE:
        status = tj_compute_parse(value, &compute, err);
        if (status == TJ_OK)
            problem->compute = (int8_t)compute;
        return status;
    case ALPHA:
        problem->epilogue.has_alpha = 1;
        return TJ_OK;
    case BETA:
        problem->epilogue.has_beta = 1;
        return TJ_OK;
    case EPILOGUE:
        return tj_epilogue_parse(value, &problem->epilogue, err);
    case OPEN:
    case PROMISES:
        return set_list(problem, f, value, err);
    case FORMAT:
    case LAYOUT:
    case SCALE:
    case OFFSETS:
    case GROUPED:
        return set_choice(problem, f, value, err);
    case NUMBER:
        return choice_at(f, 0) ? set_choice(problem, f, value, err) : set_number(problem, f, value, err);
    case STRIDE:
        if (find_choice(f, value) < 0)
            break;
        tj_matrix_of(problem, f->which)->stride = stride_of[find_choice(f, value)];
        return TJ_OK;
    default:
        break;
    }
    return set_number(problem, f, value, err);
}

/* ---- get ---------------------------------------------------------------------------------------------------------- */

static void print_number(char *value, int64_t number, bool is_said)
{
    value[is_said ? tj_format_int(value, number) : 0] = '\0';
}

static void print_stride(const tj_problem *problem, tj_which which, char *value)
{
    const tj_problem loose = tj_problem_loose(problem);
    const int64_t stride = tj_problem_matrix(&loose, which)->stride;

    for (size_t i = 0; i < COUNT(strides); i++)
        if (stride == stride_of[i]) {
            strcpy(value, strides[i]);
            return;
        }
    print_number(value, stride, stride > 0 && tj_matrix_count(problem, which) != 1);
}

static void print_scale(const tj_problem *problem, tj_which which, char *value)
{
    const int form = tj_scale_form(problem, which);

    if (form == TJ_SCALE_OF_ANY_FORM)
        tj_scale_print(tj_scale_of(problem, which), value);
    else
        strcpy(value, tj_scale_word(form));
}

/* Add an item, and the blank before it. */
static void add_item(char *value, const char *item)
{
    strcat(strcat(value, *value ? " " : ""), item);
}

static void print_open(const tj_problem *problem, char *value)
{
    bool is_ld = false, is_stride = false;

    for (tj_which which = TJ_MATRIX_M; which <= (problem->epilogue.has_beta ? TJ_MATRIX_C : TJ_MATRIX_P); which++) {
        is_ld |= tj_problem_matrix(problem, which)->ld == TJ_ANY;
        is_stride |= tj_problem_matrix(problem, which)->stride == TJ_ANY;
    }
    for (int i = 0; i < 3; i++)
        if ((const tj_dim *const[]){&problem->j, &problem->k, &problem->l}[i]->mode == TJ_DIM_ANY)
            add_item(value, (const char *const[]){"j", "k", "l"}[i]);
    if (is_ld)
        add_item(value, "ld");
    if (problem->batch == TJ_ANY)
        add_item(value, "batch");
    if (is_stride)
        add_item(value, "stride");
}

static void print_promises(const tj_problem *problem, char *value)
{
    for (int i = 0; i < 3; i++) {
        const tj_dim *const dim = (const tj_dim *const[]){&problem->j, &problem->k, &problem->l}[i];
        char item[32] = {"jkl"[i], '='};

        print_number(item + 2, dim->multiple_of, true);
        if (dim->mode == TJ_DIM_ANY && dim->multiple_of > 1)
            add_item(value, item);
    }
}

void tj_problem_get(const tj_problem *problem, const char *name, char *value)
{
    if (value)
        value[0] = '\0';
    if (!problem || !name || !value || !find_field(name))
        return;
    const field *const f = find_field(name);
    const tj_matrix *const matrix = tj_problem_matrix(problem, f->which);
    const tj_type_facts *const facts = tj_facts_of(problem->m.type);
    int64_t number;

    switch (f->kind) {
    case BATCH:
        print_number(value, problem->batch, problem->batch > 1);
        break;
    case TYPE:
        if (f->which == TJ_MATRIX_M || matrix->type != (f->which == TJ_MATRIX_N ? problem->m.type : facts->product))
            strcpy(value, tj_type_name((tj_type)matrix->type));
        break;
    case COMPUTE:
        if (problem->compute != facts->compute)
            strcpy(value, tj_compute_name((tj_compute)problem->compute));
        break;
    case LAYOUT:
        if (matrix->layout == TJ_COL_MAJOR)
            strcpy(value, layouts[TJ_COL_MAJOR]);
        break;
    case LD: {
        const tj_problem loose = tj_problem_loose(problem);
        const int64_t ld = tj_problem_matrix(&loose, f->which)->ld;

        print_number(value, ld, ld > 0);
        break;
    }
    case STRIDE:
        print_stride(problem, f->which, value);
        break;
    case OPEN:
        print_open(problem, value);
        break;
    case PROMISES:
        print_promises(problem, value);
        break;
    case SCALE:
        print_scale(problem, f->which, value);
        break;
    case ALPHA:
    case BETA:
        print_number(value, 1, f->kind == ALPHA ? problem->epilogue.has_alpha : problem->epilogue.has_beta);
        break;
    case EPILOGUE:
        if (problem->epilogue.expression.nodes > 0)
            tj_epilogue_print_as(&problem->epilogue, true, value);
        break;
    case GROUPS:
        print_number(value, problem->rows.groups, tj_has_offsets(problem));
        break;
    case OFFSETS:
        if (tj_has_offsets(problem))
            strcpy(value, offsets[2 * tj_offsets_on_host(problem) + (tj_offset_bytes(problem) == 8)]);
        break;
    case GROUPED:
        if (problem->rows.kind > TJ_ROWS_IN_GROUPS)
            strcpy(value, ways[problem->rows.kind - TJ_ROWS_IN_GROUPS]);
        break;
    case FORMAT:
        break;
    case SCALE_K:
        print_number(value, tj_scale_k(problem), tj_scales_name_k(problem));
        break;
    case NUMBER:
        number = tj_number_get(problem, f->number.offset, f->number.bytes);
        if (f->number.word && number > 0)
            strcpy(value, f->number.word[number - 1]);
        else
            print_number(value, number, number > 0);
        break;
    }
}
