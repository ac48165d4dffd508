/* SPDX-License-Identifier: Apache-2.0 */
/*
 * custom: check a spec and copy it. Messages name the field: "spec.param[2].maximum".
 */
#include "custom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "sized.h"

enum { WHERE_BYTES = 64, MAX_SPEC_TEXT = 256 * 1024 };

/* ---- copies ------------------------------------------------------------------------------------------------------- */

/* A block of memory that belongs to the family. */
typedef struct tj_custom_copy {
    struct tj_custom_copy *next;
    max_align_t bytes[];
} tj_custom_copy;

/* A family under construction; it keeps the first failure. */
typedef struct making {
    tj_custom *custom;
    tj_text hashed;
    tj_status status;
    tj_error *err;
} making;

/* Copy bytes, with a NUL after them. NULL: out of memory, or an earlier failure. */
static void *copy(making *m, const void *bytes, size_t size)
{
    tj_custom_copy *block = m->status == TJ_OK ? malloc(sizeof *block + size + 1) : NULL;

    if (!block) {
        if (m->status == TJ_OK)
            m->status = tj_fail_memory(m->err, "a family");
        return NULL;
    }
    block->next = m->custom->copies;
    m->custom->copies = block;
    if (size > 0)
        memcpy(block->bytes, bytes, size);
    ((char *)block->bytes)[size] = '\0';
    return block->bytes;
}

static const char *copy_text(making *m, const char *text)
{
    return text ? copy(m, text, strlen(text)) : NULL;
}

/* ---- complaints --------------------------------------------------------------------------------------------------- */

static bool is_good(const making *m)
{
    return m->status == TJ_OK;
}

/* Print spec.<field>[index].<member>; omit the index if it is below 0, and the member if it is "". */
static void where(char out[WHERE_BYTES], const char *field, int index, const char *member)
{
    if (index < 0)
        (void)snprintf(out, WHERE_BYTES, "spec.%s", field);
    else
        (void)snprintf(out, WHERE_BYTES, "spec.%s[%d]%s%s", field, index, *member ? "." : "", member);
}

static void complain(making *m, const char *field, int index, const char *member, const char *what)
{
    char place[WHERE_BYTES];

    where(place, field, index, member);
    if (is_good(m))
        m->status = tj_fail(m->err, TJ_ERR_INVALID_ARGUMENT, "%s %s", place, what);
}

static void check_range(making *m, const char *field, int index, const char *member, int64_t value, int64_t least, int64_t most)
{
    char what[96];

    if (value >= least && value <= most)
        return;
    (void)snprintf(what, sizeof what, "is %lld: use %lld to %lld", (long long)value, (long long)least, (long long)most);
    complain(m, field, index, member, what);
}

/* ---- names -------------------------------------------------------------------------------------------------------- */

static bool is_name(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

    return text && *text && strspn(text, letters) == strlen(text) && !(*text >= '0' && *text <= '9') &&
           strlen(text) < TJ_CUSTOM_NAME_BYTES;
}

/* Names that templates, formulas and configs reserve. */
static bool is_reserved(const char *name)
{
    static const char *const words[] = {"only", "and",  "or",       "not",      "for",        "with",       "once",
                                        "min",  "max",  "ceil_div", "boundary", "boundary_j", "boundary_k", "if",
                                        "elif", "else", "end",      "repeat",   "lines",      "boundary_l"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(name, words[i]) == 0)
            return true;
    return false;
}

static void check_name(making *m, const char *field, int index, const char *member, const char *name)
{
    char what[128];

    if (!name) {
        complain(m, field, index, member, "is NULL: give it a name");
        return;
    }
    if (!is_name(name))
        (void)snprintf(what, sizeof what, "is \"%.40s\": use 1 to %d letters, digits and _, no digit first", name,
                       TJ_CUSTOM_NAME_BYTES - 1);
    else if (is_reserved(name))
        (void)snprintf(what, sizeof what, "is \"%s\", a word of templates and formulas: use another name", name);
    else
        return;
    complain(m, field, index, member, what);
}

static int find_name(const tj_custom *c, const char *name)
{
    for (size_t i = 0; i < c->names; i++)
        if (strcmp(c->name[i], name) == 0)
            return (int)i;
    return -1;
}

/* Add a name for formulas and the template, which must be new. */
static const char *add_name(making *m, const char *field, int index, const char *member, const char *name)
{
    const char *kept;
    char what[96];

    check_name(m, field, index, member, name);
    if (is_good(m) && find_name(m->custom, name) >= 0) {
        (void)snprintf(what, sizeof what, "is \"%s\", which something else is called too", name);
        complain(m, field, index, member, what);
    }
    kept = is_good(m) ? copy_text(m, name) : NULL;
    if (kept)
        m->custom->name[m->custom->names++] = kept;
    return kept;
}

/* ---- members ------------------------------------------------------------------------------------------------------ */

static void hash_text(making *m, const char *text)
{
    tj_text_append(&m->hashed, text ? text : "");
    tj_text_append_bytes(&m->hashed, "", 1);
}

static void hash_int(making *m, int64_t value)
{
    tj_text_append_int(&m->hashed, value);
    tj_text_append_bytes(&m->hashed, "", 1);
}

/* names: the formula may use the first `names` names. */
static const char *read_formula(making *m, const char *field, int index, const char *member, const char *text, size_t names,
                                tj_formula *out)
{
    char place[WHERE_BYTES];

    if (!is_good(m))
        return NULL;
    where(place, field, index, member);
    if (!text) {
        complain(m, field, index, member, "is NULL: give it a formula");
        return NULL;
    }
    m->status = tj_formula_read(text, place, m->custom->name, names, out, m->err);
    hash_text(m, text);
    return copy_text(m, text);
}

static void take_parts(making *m, const tj_custom_spec *spec)
{
    tj_custom *c = m->custom;

    check_range(m, "part_count", -1, "", (int64_t)spec->part_count, 1, TJ_CUSTOM_MAX_PARTS);
    for (size_t i = 0; is_good(m) && i < spec->part_count; i++) {
        const char *const name = spec->part[i].name, *const text = spec->part[i].text;

        if (!name || !name[0]) {
            complain(m, "part", (int)i, "name", "is empty: messages about the template need a name for it");
            return;
        }
        if (!text) {
            complain(m, "part", (int)i, "text", "is NULL: it must be the text of the template");
            return;
        }
        if (strlen(text) > MAX_SPEC_TEXT)
            complain(m, "part", (int)i, "text", "is longer than 256 KiB");
        for (size_t k = 0; is_good(m) && k < i; k++)
            if (strcmp(c->file[k].name, name) == 0)
                complain(m, "part", (int)i, "name", "is that of an earlier part");
        if (!is_good(m))
            return;
        c->file[i].name = copy_text(m, name);
        c->file[i].bytes = (const unsigned char *)copy_text(m, text);
        c->file[i].size = strlen(text);
        hash_text(m, name);
        hash_text(m, text);
    }
}

static void take_extents(making *m, const tj_custom_spec *spec)
{
    check_range(m, "extent_count", -1, "", (int64_t)spec->extent_count, 1, TJ_CUSTOM_MAX_EXTENTS);
    for (size_t i = 0; is_good(m) && i < spec->extent_count; i++)
        hash_text(m, add_name(m, "extent", (int)i, "", spec->extent[i]));
}

/* Take the values of a choice: each is also the name of a condition, <parameter>_<value>. */
static void take_words(making *m, const tj_param *from, int index, tj_param *to)
{
    const char **words;
    size_t count = 0;

    while (from->choice[count] && count < TJ_PARAM_MAX_TRIED)
        count++;
    if (from->minimum != 1 || from->maximum != (int32_t)count) {
        complain(m, "param", index, "choice", "does not have a word for each number from minimum, which must be 1, to maximum");
        return;
    }
    words = copy(m, from->choice, (count + 1) * sizeof *words);
    for (size_t i = 0; is_good(m) && i < count; i++) {
        if (!is_name(words[i]))
            complain(m, "param", index, "choice", "has a word that is not a name: use letters, digits and _, no digit first");
        else if (strlen(from->name) + strlen(words[i]) + 2 > TJ_TEMPLATE_NAME_BYTES)
            complain(m, "param", index, "choice",
                     "has a word that is too long: with the parameter's name, at most 30 characters");
        else
            words[i] = copy_text(m, words[i]);
    }
    to->choice = words;
}

static void take_tried(making *m, const tj_param *from, int index, tj_param *to)
{
    size_t count = 0;

    for (; from->tried[count] && is_good(m); count++)
        if (count == TJ_PARAM_MAX_TRIED)
            complain(m, "param", index, "tried", "has more than 64 values, or no 0 after them");
        else if (from->tried[count] < from->minimum || from->tried[count] > from->maximum ||
                 (count > 0 && from->tried[count] <= from->tried[count - 1]))
            complain(m, "param", index, "tried", "is not ascending from minimum to maximum");
    to->tried = copy(m, from->tried, (count + 1) * sizeof *to->tried);
}

static void take_params(making *m, const tj_custom_spec *spec)
{
    tj_param *param;

    check_range(m, "param_count", -1, "", (int64_t)spec->param_count, 0, TJ_CONFIG_MAX_PARAMS);
    param = is_good(m) ? copy(m, spec->param, spec->param_count * sizeof *param) : NULL;
    for (size_t i = 0; is_good(m) && i < spec->param_count; i++) {
        const tj_param *from = &spec->param[i];

        param[i].name = add_name(m, "param", (int)i, "name", from->name);
        param[i].summary = copy_text(m, from->summary ? from->summary : "");
        check_range(m, "param", (int)i, "minimum", from->minimum, 1, INT32_MAX);
        check_range(m, "param", (int)i, "maximum", from->maximum, from->minimum, INT32_MAX);
        check_range(m, "param", (int)i, "standard", from->standard, from->minimum, from->maximum);
        check_range(m, "param", (int)i, "role", from->role, TJ_PARAM_SHAPE, TJ_PARAM_HINT);
        if (is_good(m) && from->choice)
            take_words(m, from, (int)i, &param[i]);
        if (is_good(m) && from->tried)
            take_tried(m, from, (int)i, &param[i]);
        hash_text(m, from->name);
        hash_int(m, from->minimum);
        hash_int(m, from->maximum);
    }
    m->custom->family.param = param;
    m->custom->family.param_count = spec->param_count;
}

static void take_derived(making *m, const tj_custom_spec *spec)
{
    check_range(m, "derived_count", -1, "", (int64_t)spec->derived_count, 0, TJ_CUSTOM_MAX_DERIVED);
    for (size_t i = 0; is_good(m) && i < spec->derived_count; i++) {
        (void)read_formula(m, "derived", (int)i, "formula", spec->derived[i].formula, m->custom->names, &m->custom->derived[i]);
        hash_text(m, add_name(m, "derived", (int)i, "name", spec->derived[i].name));
    }
}

static void take_constraints(making *m, const tj_custom_spec *spec)
{
    static const char *const none[] = {NULL};
    tj_custom *c = m->custom;
    const char **list;
    size_t count = 0;

    for (; is_good(m) && spec->constraint && spec->constraint[count]; count++)
        if (count == TJ_CUSTOM_MAX_CONSTRAINTS)
            complain(m, "constraint", -1, "", "has more than 16 formulas, or no NULL after them");
    list = is_good(m) ? copy(m, count ? spec->constraint : none, (count + 1) * sizeof *list) : NULL;
    for (size_t i = 0; is_good(m) && i < count; i++) {
        list[i] = read_formula(m, "constraint", (int)i, "", spec->constraint[i], c->names, &c->constraint[i]);
        if (is_good(m) && !c->constraint[i].is_condition)
            complain(m, "constraint", (int)i, "", "compares nothing: it must be a condition, such as \"width >= 32\"");
    }
    c->constraints = count;
    c->family.constraint = list;
}

static void take_geometry(making *m, const tj_custom_spec *spec)
{
    for (int i = 0; i < 3 && is_good(m); i++) {
        (void)read_formula(m, "grid", i, "", spec->grid[i] ? spec->grid[i] : "1", m->custom->names, &m->custom->grid[i]);
        (void)read_formula(m, "block", i, "", spec->block[i] ? spec->block[i] : "1", m->custom->names, &m->custom->block[i]);
    }
    (void)read_formula(m, "shared_bytes", -1, "", spec->shared_bytes ? spec->shared_bytes : "0", m->custom->names,
                       &m->custom->shared);
}

static void take_scalar(making *m, const tj_custom_argument *a, int index)
{
    if (a->type != TJ_F32 && a->type != TJ_F64 && a->type != TJ_S32)
        complain(m, "argument", index, "type", "is not that of a scalar: use f32, f64 or s32");
    else if (a->type == TJ_S32 && !(a->trial >= INT32_MIN && a->trial <= INT32_MAX && a->trial == (int32_t)a->trial))
        complain(m, "argument", index, "trial", "is not a whole number of 32 bits");
}

static void take_argument(making *m, tj_custom_argument *a, int index)
{
    tj_custom *c = m->custom;

    check_name(m, "argument", index, "name", a->name);
    check_range(m, "argument", index, "kind", a->kind, TJ_CUSTOM_IN, TJ_CUSTOM_SCALAR);
    check_range(m, "argument", index, "reserved", a->reserved, 0, 0);
    if (!is_good(m))
        return;
    a->name = copy_text(m, a->name);
    if (tj_custom_has_elements(a)) {
        check_range(m, "argument", index, "type", a->type, 1, TJ_S32); /* the last type that is not a pair */
        if (a->align < 0 || (a->align & (a->align - 1)) != 0)
            complain(m, "argument", index, "align", "is not a power of two");
        a->count = read_formula(m, "argument", index, "count", a->count, c->spec.extent_count, &c->count[index]);
    } else if (a->kind == TJ_CUSTOM_SCALAR) {
        take_scalar(m, a, index);
    } else {
        const int extent = find_name(c, a->name);

        if (extent < 0 || extent >= (int)c->spec.extent_count)
            complain(m, "argument", index, "name", "is that of no extent, and its kind is extent");
        else
            c->is_passed[extent] = true;
    }
    hash_text(m, a->name);
    hash_int(m, a->kind);
    hash_int(m, a->type);
    hash_int(m, a->align);
}

static void take_arguments(making *m, const tj_custom_spec *spec)
{
    tj_custom_argument *argument;
    bool has_output = false;

    check_range(m, "argument_count", -1, "", (int64_t)spec->argument_count, 1, TJ_CUSTOM_MAX_ARGUMENTS);
    argument = is_good(m) ? copy(m, spec->argument, spec->argument_count * sizeof *argument) : NULL;
    for (size_t i = 0; is_good(m) && i < spec->argument_count; i++) {
        take_argument(m, &argument[i], (int)i);
        for (size_t k = 0; is_good(m) && k < i; k++)
            if (strcmp(argument[k].name, argument[i].name) == 0)
                complain(m, "argument", (int)i, "name", "is that of an earlier argument");
        has_output = has_output || argument[i].kind == TJ_CUSTOM_OUT || argument[i].kind == TJ_CUSTOM_INOUT;
    }
    if (is_good(m) && !has_output)
        complain(m, "argument", -1, "", "has none of the kinds out and inout: a kernel that writes nothing does nothing");
    m->custom->spec.argument = argument;
}

/* Check the number of names that the template may use. */
static void check_parameters(making *m)
{
    const tj_custom *c = m->custom;
    size_t count = c->names + 1;

    for (size_t i = 0; is_good(m) && i < c->spec.param_count; i++)
        count += c->family.param[i].choice ? (size_t)c->family.param[i].maximum : 0;
    if (count > TJ_TEMPLATE_MAX_PARAMS)
        complain(m, "param", -1, "", "has more words, with extents and derived values, than the 256 that a template may have");
}

/* ---- public ------------------------------------------------------------------------------------------------------- */

static tj_status refuse_problem(const tj_problem *view, bool is_swapped, tj_config *config, tj_error *err)
{
    (void)view;
    (void)is_swapped;
    return tj_fail(
        err, TJ_ERR_INVALID_ARGUMENT,
        "family %s is the application's own and computes no matrix product: use tj_custom_load, tj_custom_generate or "
        "tj_custom_tune",
        config->family->name);
}

static void take_all(making *m, const tj_custom_spec *spec)
{
    tj_custom *c = m->custom;

    check_name(m, "name", -1, "", spec->name);
    if (is_good(m) && tj_family_find(spec->name))
        complain(m, "name", -1, "", "is that of a family of the library: use another name");
    check_range(m, "reserved", -1, "", spec->reserved, 0, 0);
    if (is_good(m) && !(spec->absolute >= 0 && spec->relative >= 0))
        complain(m, spec->absolute >= 0 ? "relative" : "absolute", -1, "", "is below 0, or no number");
    c->spec.name = c->family.name = copy_text(m, spec->name);
    c->spec.summary = c->family.summary = copy_text(m, spec->summary ? spec->summary : spec->name);
    hash_text(m, spec->name);
    take_parts(m, spec);
    take_extents(m, spec);
    take_params(m, spec);
    take_derived(m, spec);
    take_constraints(m, spec);
    take_geometry(m, spec);
    take_arguments(m, spec);
    if (is_good(m))
        check_parameters(m);
    c->spec.part = NULL; /* replaced by c->file */
    c->spec.param = c->family.param;
    c->spec.extent = c->name;
    c->spec.derived = NULL; /* replaced by c->name and c->derived */
    c->spec.constraint = c->family.constraint;
}

static tj_status check_pointers(const tj_custom_spec *spec, tj_error *err)
{
    const struct {
        const char *field;
        const void *pointer;
        size_t count;
    } arrays[] = {{"part", spec->part, spec->part_count},
                  {"extent", spec->extent, spec->extent_count},
                  {"param", spec->param, spec->param_count},
                  {"derived", spec->derived, spec->derived_count},
                  {"argument", spec->argument, spec->argument_count}};

    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        if (!arrays[i].pointer && arrays[i].count > 0)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "spec.%s is NULL, and spec.%s_count is %zu", arrays[i].field,
                           arrays[i].field, arrays[i].count);
    return TJ_OK;
}

static tj_status make_family(const tj_custom_spec *spec, tj_family **family, tj_error *err)
{
    making m = {NULL, TJ_TEXT_INIT((size_t)TJ_CUSTOM_MAX_PARTS * (MAX_SPEC_TEXT + 1024)), TJ_OK, err};
    tj_custom *custom;

    m.status = check_pointers(spec, err);
    if (m.status != TJ_OK)
        return m.status;
    m.custom = custom = calloc(1, sizeof *custom);
    if (!custom)
        return tj_fail_memory(err, "a family");
    custom->spec = *spec;
    custom->family.custom = custom;
    custom->family.resolve = refuse_problem;
    take_all(&m, spec);
    if (is_good(&m) && m.hashed.failure != TJ_OK)
        m.status = tj_fail_memory(err, "a family");
    if (is_good(&m)) {
        tj_hash_hex(tj_hash_bytes(m.hashed.data, m.hashed.length), custom->hash);
        *family = &custom->family;
    }
    tj_text_drop(&m.hashed);
    if (!is_good(&m))
        tj_family_free(&custom->family);
    return m.status;
}

tj_status tj_family_create(const tj_custom_spec *spec, tj_family **family, tj_error *err)
{
    if (family)
        *family = NULL;
    if (TJ_HAS_NULL(err, family, spec))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_custom_spec own;
    const tj_status status = TJ_READ(spec, &own, TJ_CUSTOM_SPEC_INIT, err);

    return status == TJ_OK ? make_family(&own, family, err) : status;
}

void tj_family_free(tj_family *family)
{
    tj_custom *custom;

    if (!family || !family->custom)
        return;
    custom = (tj_custom *)(void *)((char *)family - offsetof(tj_custom, family));
    for (tj_custom_copy *block = custom->copies, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(custom);
}

tj_status tj_custom_of(const tj_family *family, const tj_custom **custom, tj_error *err)
{
    *custom = family ? family->custom : NULL;
    if (*custom)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "family %s is not one of the application's own: make one with tj_family_create",
                   family ? family->name : "(none)");
}
