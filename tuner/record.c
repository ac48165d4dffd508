/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record: one tuning result as JSON.
 *
 * The same record gives the same bytes everywhere: members are sorted, and numbers are printed by json.c. A checksum over all
 * other members distinguishes a damaged or edited file from a sound one.
 */
#include "record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/analysis.h>
#include <tilejit/source.h>

#include "canonical.h"
#include "error.h"
#include "hash.h"
#include "number_field.h"
#include "settle.h"
#include "sized.h"
#include "space.h"

static const int64_t MOST_ELEMENTS = INT64_C(1) << 50, MOST_CREATED_S = INT64_C(253402300799); /* the year 9999 */

/* ---- problem <-> JSON --------------------------------------------------------------------------------------------- */

/* A member of a problem that has no field of its own. Those that the first records do not have state the largest value. */
#define LATER(name, member, most)                                                                  \
    {                                                                                              \
        NULL, name, offsetof(tj_problem, member), sizeof(((const tj_problem *)NULL)->member), most \
    }

/* most 0: 1 if it is shorter than 8 bytes, else any number. */
#define FIELD(name, member) LATER(name, member, 0)

static const tj_number_field numbers[] = {FIELD("m_layout", m.layout),
                                          FIELD("n_layout", n.layout),
                                          FIELD("p_layout", p.layout),
                                          FIELD("transpose_m", m.transposed),
                                          FIELD("transpose_n", n.transposed),

                                          FIELD("ld_m", m.ld),
                                          FIELD("ld_n", n.ld),
                                          FIELD("ld_p", p.ld),
                                          FIELD("ld_c", c.ld),
                                          FIELD("batch", batch),
                                          FIELD("stride_m", m.stride),
                                          FIELD("stride_n", n.stride),
                                          FIELD("stride_p", p.stride),
                                          FIELD("stride_c", c.stride),
                                          LATER("groups", rows.groups, TJ_GROUPS_MOST),
                                          LATER("offset_bytes", rows.offset_bytes, sizeof(int64_t)),
                                          LATER("offsets_on_host", rows.on_host, 1),
                                          LATER("rows_kind", rows.kind, TJ_ROWS_ALONG_K),
                                          FIELD("has_alpha", epilogue.has_alpha),
                                          FIELD("has_beta", epilogue.has_beta)};

static const tj_number_field dims[] = {FIELD("j", j), FIELD("k", k), FIELD("l", l)};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Return the largest value of a member that is a flag or a choice; 0: it is a number. */
static int64_t most_of(const tj_number_field *field)
{
    return field->most ? field->most : field->bytes < sizeof(int64_t);
}

static void *member(void *base, const tj_number_field *field)
{
    return (char *)base + field->offset;
}

static const void *const_member(const void *base, const tj_number_field *field)
{
    return (const char *)base + field->offset;
}

/* Return number i of the members that are numbers: those above, then those that are fields; NULL: none. */
static const tj_number_field *number_at(size_t i)
{
    return i < COUNT(numbers) ? &numbers[i] : tj_number_field_at(i - COUNT(numbers));
}

static void add_dim(tj_json *object, const char *name, const tj_dim *dim, bool with_extent)
{
    tj_json *any;

    if (dim->mode == TJ_DIM_FIXED) {
        tj_json_add_int(object, name, dim->extent);
        return;
    }
    any = tj_json_add_object(object, name);
    if (with_extent)
        tj_json_add_int(any, "any", dim->extent);
    tj_json_add_int(any, "multiple_of", dim->multiple_of);
}

/* Members of a problem's text beyond those that the kernel depends on. */
enum { ZEROS = 1, EXTENTS = 2 };

/*
 * Without extents that the kernel does not know, the text is the key: exactly what the kernel depends on. Members that the
 * first records did not have are omitted if they say nothing (the type of N, another compute, a choice that is 0), so that
 * those records keep their keys.
 */
static void problem_to_json(const tj_problem *p, unsigned with, tj_json *object)
{
    char epilogue[TJ_EPILOGUE_TEXT_BYTES], scale[TJ_SCALE_TEXT_BYTES];
    const tj_number_field *field;

    for (size_t i = 0; i < COUNT(dims); i++)
        add_dim(object, dims[i].record, const_member(p, &dims[i]), with & EXTENTS);
    tj_json_add_text(object, "dtype", tj_type_name((tj_type)p->m.type));
    tj_json_add_text(object, "p_dtype", tj_type_name((tj_type)p->p.type));
    if (p->n.type != p->m.type)
        tj_json_add_text(object, "n_dtype", tj_type_name((tj_type)p->n.type));
    if (p->compute != tj_facts_of(p->m.type)->compute)
        tj_json_add_text(object, "compute", tj_compute_name((tj_compute)p->compute));
    for (size_t i = 0; (field = number_at(i)); i++) {
        const int64_t number = tj_number_get(p, field->offset, field->bytes);

        if (field->record && (number || (field->most == 0 && with & ZEROS)))
            tj_json_add_int(object, field->record, number);
    }
    for (tj_which which = TJ_MATRIX_M; which < TJ_SCALED; which++) {
        const int form = tj_scale_form(p, which);

        if (form == TJ_SCALE_OF_ANY_FORM) {
            tj_scale_print(tj_scale_of(p, which), scale);
            tj_json_add_text(object, tj_scale_name(which), scale);
        } else if (form > 0) {
            tj_json_add_int(object, tj_scale_name(which), form);
        }
    }
    if (tj_scales_name_k(p))
        tj_json_add_int(object, "scale_k", tj_scale_k(p));
    if (p->epilogue.expression.nodes > 0) {
        tj_epilogue_print(&p->epilogue, epilogue);
        tj_json_add_text(object, "epilogue", epilogue);
    }
}

char *tj_problem_to_json(const tj_problem *problem)
{
    if (!problem)
        return NULL;
    const tj_problem canonical = tj_problem_canonical(problem);
    tj_json *object = tj_json_new();
    char *text;

    problem_to_json(&canonical, EXTENTS, object);
    text = tj_json_print(object);
    tj_json_free(object);
    return text;
}

static bool dim_from_json(const tj_json *value, tj_dim *dim)
{
    if (tj_json_kind_of(value) == TJ_JSON_INT) {
        *dim = (tj_dim){tj_json_int(value), TJ_DIM_FIXED, 0};
        return true;
    }
    if (tj_json_kind_of(value) != TJ_JSON_OBJECT)
        return false;
    *dim =
        (tj_dim){tj_json_int(tj_json_get(value, "any")), TJ_DIM_ANY, (int32_t)tj_json_int(tj_json_get(value, "multiple_of"))};
    return true;
}

/* Read the name of a type, if the member exists. */
static tj_status read_type(const tj_json *object, const char *name, int32_t *number, tj_error *err)
{
    const char *const word = tj_json_text(tj_json_get(object, name));
    tj_type type = TJ_TYPE_DEFAULT;
    const tj_status status = word ? tj_type_parse(word, &type, err) : TJ_OK;

    *number = (int32_t)type;
    return status;
}

/* Read the way to compute, if it is named. */
static tj_status read_compute(const tj_json *object, int8_t *number, tj_error *err)
{
    const char *const word = tj_json_text(tj_json_get(object, "compute"));
    tj_compute compute = TJ_COMPUTE_DEFAULT;
    const tj_status status = word ? tj_compute_parse(word, &compute, err) : TJ_OK;

    *number = (int8_t)compute;
    return status;
}

/* Read a number, 0 if the member does not exist. most: its largest value; 0: any number. */
static tj_status read_member(const tj_json *object, const char *name, int64_t most, int64_t *value, tj_error *err)
{
    *value = tj_json_int(tj_json_get(object, name));
    if (most == 0 || (*value >= 0 && *value <= most))
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s of a record's problem is %lld: it must be 0 %s %lld", name,
                   (long long)*value, most == 1 ? "or" : "to", (long long)most);
}

/* Read the scales of a matrix: the number of a form, or the text of any scales. */
static tj_status read_scale(const tj_json *object, tj_which which, int32_t scale_k, tj_scale *scale, tj_error *err)
{
    const char *const name = tj_scale_name(which), *const text = tj_json_text(tj_json_get(object, name));
    int64_t form;

    if (text && tj_scale_scan(text, scale))
        return TJ_OK;
    if (text)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s of a record's problem is \"%.60s\": write a form such as f32:128x128:row-by-row", name, text);
    if (read_member(object, name, TJ_SCALE_FORMS - 1, &form, err) != TJ_OK)
        return TJ_ERR_INVALID_ARGUMENT;
    if (form == TJ_SCALE_ALONG_K && scale_k == 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s of a record's problem is 3, along k, and its scale_k is 0: it must be 1 or more", name);
    *scale = tj_scale_of_form((int)form, scale_k);
    return TJ_OK;
}

static tj_status read_scales(const tj_json *object, tj_problem *p, tj_error *err)
{
    int64_t scale_k;

    if (read_member(object, "scale_k", INT32_MAX, &scale_k, err) != TJ_OK)
        return TJ_ERR_INVALID_ARGUMENT;
    for (tj_which which = TJ_MATRIX_M; which < TJ_SCALED; which++)
        if (read_scale(object, which, (int32_t)scale_k, tj_scale_in(p, which), err) != TJ_OK)
            return TJ_ERR_INVALID_ARGUMENT;
    if (scale_k == 0 || tj_scales_name_k(p))
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "scale_k of a record's problem is %lld, and no scales are along k: it must be 0", (long long)scale_k);
}

static tj_status problem_from_json(const tj_json *object, tj_problem *p, tj_error *err)
{
    const char *const epilogue = tj_json_text(tj_json_get(object, "epilogue"));
    tj_request request;
    const tj_number_field *field;
    tj_status status;
    int64_t value;

    *p = (tj_problem)TJ_PROBLEM_INIT(0, 0, 0, TJ_TYPE_DEFAULT);
    for (size_t i = 0; i < COUNT(dims); i++)
        if (!dim_from_json(tj_json_get(object, dims[i].record), member(p, &dims[i])))
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the problem of a record has no extent %s", dims[i].record);
    if ((status = read_type(object, "dtype", &p->m.type, err)) != TJ_OK ||
        (status = read_type(object, "p_dtype", &p->p.type, err)) != TJ_OK ||
        (status = read_type(object, "n_dtype", &p->n.type, err)) != TJ_OK ||
        (status = read_compute(object, &p->compute, err)) != TJ_OK)
        return status;
    if (!p->m.type || !p->p.type)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the problem of a record has no dtype or p_dtype");
    for (size_t i = 0; (field = number_at(i)) && status == TJ_OK; i++) {
        if (!field->record)
            continue;
        status = read_member(object, field->record, most_of(field), &value, err);
        tj_number_set(p, field->offset, field->bytes, value);
    }
    if (p->rows.kind == TJ_ROWS_AS_THEY_LIE && p->rows.groups != 0)
        p->rows.kind = TJ_ROWS_IN_GROUPS; /* a record of groups says no more than their number */
    if (status != TJ_OK || (status = read_scales(object, p, err)) != TJ_OK)
        return status;
    if (epilogue && (status = tj_epilogue_parse(epilogue, &p->epilogue, err)) != TJ_OK)
        return status;
    status = tj_request_make(p, &request, err);
    if (status == TJ_OK)
        *p = request.problem;
    return status;
}

tj_status tj_problem_from_json(const char *json, tj_problem *problem, tj_error *err)
{
    if (TJ_HAS_NULL(err, json, problem))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_json *object;
    tj_status status = tj_json_read(json, strlen(json), &object, err);

    if (status == TJ_OK)
        status = problem_from_json(object, problem, err);
    tj_json_free(object);
    return status;
}

static void line_dim(char *out, size_t bytes, const tj_dim *dim)
{
    if (dim->mode == TJ_DIM_ANY)
        (void)snprintf(out, bytes, "any(%lld)", (long long)dim->extent);
    else
        (void)snprintf(out, bytes, "%lld", (long long)dim->extent);
}

/* Print "512x300x700 f32 batch 8", for people. Canonical. */
static void print_line(const tj_problem *p, char *out, size_t bytes)
{
    char j[32], k[32], l[32], batch[64] = "", type[64] = "", marks[TJ_PROBLEM_TEXT_BYTES];

    line_dim(j, sizeof j, &p->j);
    line_dim(k, sizeof k, &p->k);
    line_dim(l, sizeof l, &p->l);
    if (p->batch > 1)
        (void)snprintf(batch, sizeof batch, " batch %lld", (long long)p->batch);
    if (tj_is_grouped(p))
        (void)snprintf(batch, sizeof batch, " in %lld %sgroups", (long long)tj_group_count(p),
                       tj_is_masked(p) ? "masked " : "");
    (void)snprintf(type, sizeof type, "%s%s%s%s%s%s", p->n.type != p->m.type ? "," : "",
                   p->n.type != p->m.type ? tj_type_name((tj_type)p->n.type) : "", p->p.type != p->m.type ? "->" : "",
                   p->p.type != p->m.type ? tj_type_name((tj_type)p->p.type) : "",
                   p->compute != tj_facts_of(p->m.type)->compute ? " " : "",
                   p->compute != tj_facts_of(p->m.type)->compute ? tj_compute_name((tj_compute)p->compute) : "");
    tj_problem_print_marks(p, marks);
    (void)snprintf(out, bytes, "%sx%sx%s %s%s%s%s", j, k, l, tj_type_name((tj_type)p->m.type), type, batch, marks);
}

/* ---- device ------------------------------------------------------------------------------------------------------- */

tj_device_kind tj_device_kind_of(const tj_device_facts *facts)
{
    tj_device_kind kind;

    memset(&kind, 0, sizeof kind);
    (void)snprintf(kind.name, sizeof kind.name, "%s", facts->name);
    kind.cc_major = facts->cc_major;
    kind.cc_minor = facts->cc_minor;
    kind.sm_count = facts->sm_count;
    kind.l2_bytes = facts->l2_bytes;
    return kind;
}

bool tj_device_kind_is_equal(const tj_device_kind *a, const tj_device_kind *b)
{
    return strcmp(a->name, b->name) == 0 && a->cc_major == b->cc_major && a->cc_minor == b->cc_minor &&
           a->sm_count == b->sm_count && a->l2_bytes == b->l2_bytes;
}

void tj_device_kind_to_json(const tj_device_kind *kind, tj_json *to, const char *name)
{
    tj_json *object = tj_json_add_object(to, name);

    tj_json_add_text(object, "name", kind->name);
    tj_json_add_int(object, "cc_major", kind->cc_major);
    tj_json_add_int(object, "cc_minor", kind->cc_minor);
    tj_json_add_int(object, "sm_count", kind->sm_count);
    tj_json_add_int(object, "l2_bytes", kind->l2_bytes);
}

/* ---- key ---------------------------------------------------------------------------------------------------------- */

/* Hash a JSON value's compact text to 32 hex digits; "", and false: out of memory. */
static bool hash_json(const tj_json *value, char hex[TJ_RECORD_KEY_BYTES])
{
    char *text = tj_json_print(value);
    const bool is_hashed = text != NULL;

    hex[0] = '\0';
    if (is_hashed)
        tj_hash_hex(tj_hash_bytes(text, strlen(text)), hex);
    free(text);
    return is_hashed;
}

void tj_record_key(const tj_device_kind *device, const tj_problem *problem, char key[TJ_RECORD_KEY_BYTES])
{
    tj_json *object = tj_json_new();

    tj_device_kind_to_json(device, object, "device");
    problem_to_json(problem, ZEROS, tj_json_add_object(object, "problem"));
    (void)hash_json(object, key);
    tj_json_free(object);
}

void tj_problem_id(const tj_problem *problem, char id[TJ_PROBLEM_ID_BYTES])
{
    if (!problem || !id)
        return;
    const tj_problem canonical = tj_problem_canonical(problem);
    tj_json *object = tj_json_new();

    problem_to_json(&canonical, ZEROS, object);
    (void)hash_json(object, id);
    tj_json_free(object);
}

/* ---- record <-> JSON ---------------------------------------------------------------------------------------------- */

static void content_to_json(const tj_record *r, tj_json *object)
{
    tj_json *const time = tj_json_add_object(object, "time"), *const standard = tj_json_add_object(object, "default"),
                   *const second = tj_json_add_object(object, "second"), *const check = tj_json_add_object(object, "check"),
                   *const found = tj_json_add_object(object, "search"), *const made = tj_json_add_object(object, "made_with");

    tj_json_add_int(object, "schema", TJ_RECORD_SCHEMA);
    problem_to_json(&r->problem, EXTENTS | ZEROS, tj_json_add_object(object, "problem"));
    tj_device_kind_to_json(&r->device, object, "device");
    tj_json_add_text(object, "config", r->config);
    tj_json_add_real(time, "median_us", r->us);
    tj_json_add_real(time, "spread", r->spread);
    tj_json_add_real(time, "warm_us", r->warm_us);
    tj_json_add_text(time, "policy", r->policy);
    tj_json_add_text(standard, "config", r->default_config);
    tj_json_add_real(standard, "median_us", r->default_us);
    tj_json_add_text(second, "config", r->second_config);
    tj_json_add_real(second, "median_us", r->second_us);
    tj_json_add_real(check, "largest_ratio", r->check_ratio);
    tj_json_add_int(check, "elements", r->check_elements);
    tj_json_add_text(found, "strategy", r->strategy);
    tj_json_add_int(found, "evaluations", r->evaluations);
    tj_json_add_bool(found, "is_complete", r->is_complete);
    tj_json_add_bool(found, "was_cancelled", r->was_cancelled);
    tj_json_add_real(found, "seconds", r->seconds);
    tj_json_add_int(found, "seed", r->seed);
    if (r->family[0])
        tj_json_add_text(found, "family", r->family);
    tj_json_add_text(made, "tilejit", r->version);
    tj_json_add_text(made, "nvrtc", r->compiler);
    tj_json_add_int(made, "driver", r->driver_version);
    tj_json_add_int(made, "clock_khz", r->clock_khz);
    tj_json_add_text(made, "source", r->source_hash);
    tj_json_add_int(object, "created_s", r->created_s);
}

void tj_record_to_json(const tj_record *record, tj_json *object)
{
    char checksum[TJ_RECORD_KEY_BYTES];

    content_to_json(record, object);
    tj_json_add_text(object, "checksum", hash_json(object, checksum) ? checksum : NULL);
}

/* Copy a text, or "" if it does not fit: a truncated one would be a different text, perhaps with half a character. */
static void copy_text(char *out, size_t bytes, const tj_json *object, const char *name)
{
    const char *text = tj_json_text(tj_json_get(object, name));

    (void)snprintf(out, bytes, "%s", text && strlen(text) < bytes ? text : "");
}

/* Check a count by which records are ranked: an impossible one would displace sound records. A missing member counts as 0. */
static tj_status check_count(const tj_json *object, const char *name, int64_t most, tj_error *err)
{
    const tj_json *member = tj_json_get(object, name);
    const int64_t value = tj_json_int(member);

    if ((!member || tj_json_kind_of(member) == TJ_JSON_INT) && value >= 0 && value <= most)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s of the record is %s%lld: it must be a whole number from 0 to %lld", name,
                   tj_json_kind_of(member) == TJ_JSON_INT ? "" : "no integer, ", (long long)value, (long long)most);
}

static tj_status check_counts(const tj_json *object, tj_error *err)
{
    const tj_json *found = tj_json_get(object, "search");
    tj_status status = check_count(found, "evaluations", TJ_RECORD_MOST_EVALUATIONS, err);

    if (status == TJ_OK)
        status = check_count(tj_json_get(object, "check"), "elements", MOST_ELEMENTS, err);
    if (status == TJ_OK)
        status = check_count(object, "created_s", MOST_CREATED_S, err);
    if (status == TJ_OK && tj_json_number(tj_json_get(found, "seconds")) < 0)
        status = tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "seconds of the record is negative");
    return status;
}

static double read_number(const tj_json *object, const char *name)
{
    const double value = tj_json_number(tj_json_get(object, name));

    return isfinite(value) ? value : 0;
}

static void read_content(const tj_json *object, tj_record *r)
{
    const tj_json *device = tj_json_get(object, "device"), *time = tj_json_get(object, "time"),
                  *standard = tj_json_get(object, "default"), *second = tj_json_get(object, "second"),
                  *check = tj_json_get(object, "check"), *found = tj_json_get(object, "search"),
                  *made = tj_json_get(object, "made_with");

    copy_text(r->device.name, sizeof r->device.name, device, "name");
    r->device.cc_major = (int32_t)tj_json_int(tj_json_get(device, "cc_major"));
    r->device.cc_minor = (int32_t)tj_json_int(tj_json_get(device, "cc_minor"));
    r->device.sm_count = (int32_t)tj_json_int(tj_json_get(device, "sm_count"));
    r->device.l2_bytes = tj_json_int(tj_json_get(device, "l2_bytes"));
    copy_text(r->config, sizeof r->config, object, "config");
    r->us = read_number(time, "median_us");
    r->spread = read_number(time, "spread");
    r->warm_us = read_number(time, "warm_us");
    copy_text(r->policy, sizeof r->policy, time, "policy");
    copy_text(r->default_config, sizeof r->default_config, standard, "config");
    r->default_us = read_number(standard, "median_us");
    copy_text(r->second_config, sizeof r->second_config, second, "config");
    r->second_us = read_number(second, "median_us");
    r->check_ratio = read_number(check, "largest_ratio");
    r->check_elements = tj_json_int(tj_json_get(check, "elements"));
    copy_text(r->strategy, sizeof r->strategy, found, "strategy");
    r->evaluations = tj_json_int(tj_json_get(found, "evaluations"));
    r->is_complete = tj_json_bool(tj_json_get(found, "is_complete"));
    copy_text(r->family, sizeof r->family, found, "family");
    r->was_cancelled = tj_json_bool(tj_json_get(found, "was_cancelled"));
    r->seconds = read_number(found, "seconds");
    r->seed = tj_json_int(tj_json_get(found, "seed"));
    copy_text(r->version, sizeof r->version, made, "tilejit");
    copy_text(r->compiler, sizeof r->compiler, made, "nvrtc");
    r->driver_version = (int32_t)tj_json_int(tj_json_get(made, "driver"));
    r->clock_khz = (int32_t)tj_json_int(tj_json_get(made, "clock_khz"));
    copy_text(r->source_hash, sizeof r->source_hash, made, "source");
    r->created_s = tj_json_int(tj_json_get(object, "created_s"));
}

/* Check the checksum over the object as it was read, so that members of later versions count too. */
static tj_status check_checksum(tj_json *object, tj_error *err)
{
    const char *stated = tj_json_text(tj_json_get(object, "checksum"));
    char actual[TJ_RECORD_KEY_BYTES];

    tj_json_remove(object, "checksum");
    if (!hash_json(object, actual))
        return tj_fail_memory(err, "a record");
    return stated && strcmp(stated, actual) == 0
               ? TJ_OK
               : tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                         "the record's checksum does not fit its content: it is damaged or edited");
}

tj_status tj_record_from_json(tj_json *object, tj_record **out, tj_error *err)
{
    tj_record fields;
    int64_t schema;
    tj_status status;

    *out = NULL;
    if (tj_json_kind_of(object) != TJ_JSON_OBJECT)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "a record is a JSON object, and this is not one");
    schema = tj_json_int(tj_json_get(object, "schema"));
    if (schema != TJ_RECORD_SCHEMA)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the record has schema %lld, this version knows %d: %s", (long long)schema,
                       TJ_RECORD_SCHEMA, schema > TJ_RECORD_SCHEMA ? "use a newer TileJIT" : "tune again");
    status = check_checksum(object, err);
    if (status != TJ_OK)
        return status;
    memset(&fields, 0, sizeof fields);
    status = problem_from_json(tj_json_get(object, "problem"), &fields.problem, err);
    if (status == TJ_OK)
        status = check_counts(object, err);
    if (status != TJ_OK)
        return status;
    read_content(object, &fields);
    if (!fields.config[0] || !fields.device.name[0] || !tj_record_is_time(fields.us))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "the record lacks a config or a device, or its time, %g us, is not from 1e-6 to 1e9", fields.us);
    *out = tj_record_create(&fields);
    return *out ? TJ_OK : tj_fail_memory(err, "a record");
}

bool tj_record_is_emulated(const tj_record *record)
{
    return strcmp(record->policy, "emulated") == 0;
}

bool tj_record_is_time(double us)
{
    return us >= 1e-6 && us <= 1e9;
}

/* Round times: nobody needs more digits, and people read these files. */
static void round_times(tj_record *r)
{
    double *const value[] = {&r->us, &r->spread, &r->warm_us, &r->default_us, &r->second_us, &r->check_ratio, &r->seconds};

    for (size_t i = 0; i < COUNT(value); i++)
        *value[i] = fabs(*value[i]) <= 1e9 ? round(*value[i] * 1e6) / 1e6 : 0; /* otherwise it is neither a time nor a ratio */
}

/* ---- one record --------------------------------------------------------------------------------------------------- */

tj_record *tj_record_create(const tj_record *fields)
{
    tj_record *record = malloc(sizeof *record);
    tj_json *object;

    if (!record)
        return NULL;
    *record = *fields;
    round_times(record);
    if (record->evaluations > TJ_RECORD_MOST_EVALUATIONS) /* a sum of several tunings; a written record must be readable */
        record->evaluations = TJ_RECORD_MOST_EVALUATIONS;
    tj_record_key(&record->device, &record->problem, record->key);
    print_line(&record->problem, record->problem_text, sizeof record->problem_text);
    object = tj_json_new();
    tj_record_to_json(record, object);
    record->json = tj_json_print_lines(object, TJ_RECORD_DIGITS);
    tj_json_free(object);
    if (!record->json || !record->key[0]) {
        tj_record_free(record);
        return NULL;
    }
    return record;
}

tj_record *tj_record_copy(const tj_record *record)
{
    return tj_record_create(record);
}

tj_status tj_record_parse(const char *json, tj_record **record, tj_error *err)
{
    if (!record)
        return tj_fail_null(err, __func__, "record");
    *record = NULL;
    if (!json)
        return tj_fail_null(err, __func__, "json");
    tj_json *object;
    tj_status status = tj_json_read(json, strlen(json), &object, err);

    if (status == TJ_OK)
        status = tj_record_from_json(object, record, err);
    tj_json_free(object);
    return status;
}

char *tj_record_print(const tj_record *record)
{
    if (!record)
        return NULL;
    return strdup(record->json);
}

tj_status tj_record_get_facts(const tj_record *record, tj_record_facts *facts, tj_error *err)
{
    if (TJ_HAS_NULL(err, record, facts))
        return TJ_ERR_INVALID_ARGUMENT;
    const tj_record_facts own = {.problem = record->problem_text,
                                 .device = record->device.name,
                                 .config = record->config,
                                 .compiler = record->compiler,
                                 .strategy = record->strategy,
                                 .us = record->us,
                                 .default_us = record->default_us,
                                 .evaluations = record->evaluations,
                                 .created_s = record->created_s,
                                 .is_complete = record->is_complete,
                                 .was_cancelled = record->was_cancelled,
                                 .driver_version = record->driver_version,
                                 .family = record->family};

    return TJ_FILL(facts, &own, TJ_RECORD_FACTS_INIT, err);
}

const tj_problem *tj_record_problem(const tj_record *record)
{
    return record ? &record->problem : NULL;
}

void tj_record_free(tj_record *record)
{
    if (!record)
        return;
    free(record->json);
    free(record);
}

static bool covers_the_space(const tj_record *record)
{
    return record->is_complete && !record->family[0];
}

/*
 * Is the record of use here? This version knows the config, the problem admits it, and a device of that compute capability can
 * run it, as far as one is known.
 */
static bool is_usable(const tj_record *record)
{
    tj_device_facts device = TJ_DEVICE_FACTS_INIT;
    tj_launch_form form;
    tj_request request;
    tj_config config;
    char product[16];

    tj_request_derive(&record->problem, &request);
    if (tj_config_parse(record->config, &config, NULL) != TJ_OK || tj_request_preview(&request, &config, &form, NULL) != TJ_OK)
        return false;
    (void)snprintf(product, sizeof product, "sm_%d%d", (int)record->device.cc_major, (int)record->device.cc_minor);
    return tj_device_named(product, &device, NULL) != TJ_OK || tj_device_can_run(&device, &request.problem, &form);
}

/* A total order, so that the best of a set does not depend on the order of merges. */
int tj_record_compare(const tj_record *a, const tj_record *b)
{
    bool a_is_usable;

    if (strcmp(a->json, b->json) == 0)
        return 0;
    a_is_usable = is_usable(a);
    if (a_is_usable != is_usable(b))
        return a_is_usable ? -1 : 1;
    if (covers_the_space(a) != covers_the_space(b))
        return covers_the_space(a) ? -1 : 1;
    if (a->evaluations != b->evaluations)
        return a->evaluations > b->evaluations ? -1 : 1;
    if (a->us < b->us || a->us > b->us)
        return a->us < b->us ? -1 : 1;
    if (a->created_s != b->created_s)
        return a->created_s > b->created_s ? -1 : 1;
    return -strcmp(a->json, b->json);
}

void tj_record_name(const tj_record *record, char name[TJ_RECORD_NAME_BYTES])
{
    char hex[TJ_HASH_HEX_BYTES];

    tj_hash_hex(tj_hash_bytes(record->json, strlen(record->json)), hex);
    (void)snprintf(name, TJ_RECORD_NAME_BYTES, "%s-%.16s.json", record->key, hex);
}
