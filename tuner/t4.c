/* SPDX-License-Identifier: Apache-2.0 */
/*
 * t4: Kernel Tuner's format for auto-tuning results, version 1.0.0, so that other tools can read ours and we theirs.
 *
 * A T4 result says which values were tried and how long they took (milliseconds), not on what: ours carry the whole record
 * beside it, in a member that other tools ignore.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "error.h"
#include "record.h"

static const char VERSION[] = "1.0.0";

/* ---- out ---------------------------------------------------------------------------------------------------------- */

/* "tiled:tile_width=16,shared=static" as an object: numbers where they are numbers. */
static json_t *configuration(const char *config)
{
    json_t *object = json_object();
    char word[TJ_CONFIG_TEXT_BYTES];
    const char *rest = config;

    for (bool is_family = true; *rest; is_family = false) {
        const size_t length = strcspn(rest, is_family ? ":" : ",");
        char *value, *end;
        long number;

        memcpy(word, rest, length);
        word[length] = '\0';
        rest += length + (rest[length] != '\0');
        value = strchr(word, '=');
        if (is_family || !value) {
            (void)json_object_set_new(object, "family", json_string(word));
            continue;
        }
        *value++ = '\0';
        number = strtol(value, &end, 10);
        (void)json_object_set_new(object, word, *value && !*end ? json_integer(number) : json_string(value));
    }
    return object;
}

static json_t *result_of(const tj_record *r)
{
    char stamp[40] = "";
    const time_t created = (time_t)r->created_s;
    struct tm utc;

    if (gmtime_r(&created, &utc))
        (void)strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S+00:00", &utc);
    return json_pack("{s:s, s:o, s:{s:f, s:f, s:f, s:f, s:f, s:[f]}, s:s, s:i, s:[{s:s, s:f, s:s}], s:[s], s:o}", "timestamp",
                     stamp, "configuration", configuration(r->config), "times", "compilation", 0.0, "benchmark", 0.0,
                     "framework", 0.0, "search_algorithm", r->seconds * 1e3, "validation", 0.0, "runtimes", r->us / 1e3,
                     "invalidity", "correct", "correctness", 1, "measurements", "name", "time", "value", r->us / 1e3, "unit",
                     "ms", "objectives", "time", "tilejit", tj_record_to_json(r));
}

json_t *tj_t4_from_records(const tj_records *records)
{
    json_t *list = json_array();

    for (size_t i = 0; i < tj_records_count(records); i++)
        (void)json_array_append_new(list, result_of(tj_records_at(records, i)));
    return json_pack("{s:s, s:o}", "schema_version", VERSION, "results", list);
}

/* ---- in ----------------------------------------------------------------------------------------------------------- */

/* Microseconds of a unit; milliseconds are T4's when it names none. 0: not a unit of time. */
static double unit_us(const char *unit)
{
    static const struct {
        const char *name;
        double us;
    } units[] = {{"", 1e3}, {"s", 1e6}, {"ms", 1e3}, {"us", 1}, {"ns", 1e-3}};

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(unit ? unit : "", units[i].name) == 0)
            return units[i].us;
    return 0;
}

/* The objective of a result in microseconds; 0 if it has none or is not correct. */
static double time_of(const json_t *result)
{
    const char *invalidity = json_string_value(json_object_get(result, "invalidity"));
    const json_t *measurements = json_object_get(result, "measurements");
    const json_t *correctness = json_object_get(result, "correctness");

    if ((invalidity && strcmp(invalidity, "correct") != 0) || (correctness && json_number_value(correctness) <= 0))
        return 0;
    for (size_t i = 0; i < json_array_size(measurements); i++) {
        const json_t *one = json_array_get(measurements, i);
        const char *name = json_string_value(json_object_get(one, "name"));
        const char *unit = json_string_value(json_object_get(one, "unit"));
        const double value = json_number_value(json_object_get(one, "value"));

        if (name && strcmp(name, "time") == 0 && isfinite(value) && value > 0)
            return unit_us(unit) * value;
    }
    return 0;
}

/* Of a value of a configuration: text, or a whole number, which some programs write as 16.0. False: neither. */
static bool read_value(const json_t *value, char *text, size_t bytes)
{
    const double number = json_number_value(value);

    if (json_is_string(value))
        return snprintf(text, bytes, "%s", json_string_value(value)) < (int)bytes;
    return json_is_number(value) && number == nearbyint(number) && snprintf(text, bytes, "%.0f", number) < (int)bytes;
}

/* A configuration as a config of ours. */
static tj_status read_configuration(const json_t *object, tj_config *config, tj_error *err)
{
    const char *family = json_string_value(json_object_get(object, "family")), *name;
    tj_status status = TJ_OK;
    json_t *value;

    *config = (tj_config)TJ_CONFIG_INIT;
    config->family = tj_family_find(family);
    if (!config->family)
        return tj_fail(err, TJ_ERR_NOT_FOUND,
                       "a T4 configuration names the family \"%.40s\": tilejit families lists those there are",
                       family ? family : "(none)");
    json_object_foreach((json_t *)object, name, value)
    {
        char text[32];

        if (status != TJ_OK || strcmp(name, "family") == 0)
            continue;
        status = read_value(value, text, sizeof text)
                     ? tj_config_set(config, name, text, err)
                     : tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                               "\"%.40s\" of a T4 configuration is neither a whole number nor a word", name);
    }
    return status;
}

/* Results of another program: the fastest correct one, for the problem and device that the caller names. */
static tj_status add_fastest(const json_t *results, const tj_problem *problem, const tj_device_facts *device,
                             tj_records *records, tj_error *err)
{
    const json_t *fastest = NULL;
    tj_config config, resolved;
    tj_record fields;
    tj_record *record;
    double least = INFINITY;
    tj_status status;

    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *one = json_array_get(results, i);
        const double us = json_object_get(one, "tilejit") ? 0 : time_of(one);

        if (tj_record_is_time(us) && us < least) {
            least = us;
            fastest = one;
        }
    }
    if (!fastest)
        return TJ_OK;
    if (!problem || !device)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "these T4 results do not say for which problem and device they are: name the shape as well");
    status = read_configuration(json_object_get(fastest, "configuration"), &config, err);
    resolved = config;
    if (status == TJ_OK)
        status = tj_config_resolve(problem, &resolved, err);
    if (status != TJ_OK)
        return status;
    memset(&fields, 0, sizeof fields);
    fields.problem = tj_problem_canonical(problem);
    fields.device = tj_device_kind_of(device);
    tj_config_print(&config, fields.config);
    fields.us = least;
    fields.driver_version = device->driver_version;
    (void)strcpy(fields.strategy, "imported");
    (void)strcpy(fields.policy, "cold");
    fields.created_s = (int64_t)time(NULL);
    record = tj_record_create(&fields);
    if (!record)
        return tj_fail_memory(err, "a record");
    return tj_records_add(records, record, err);
}

tj_status tj_t4_to_records(const json_t *root, const tj_problem *problem, const tj_device_facts *device, tj_records *records,
                           tj_error *err)
{
    const char *version = json_string_value(json_object_get(root, "schema_version"));
    const json_t *results = json_object_get(root, "results");
    tj_status status = TJ_OK;

    if (!version || version[0] != '1' || version[1] != '.' || !json_is_array(results))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "T4 of schema_version %.20s: this version reads 1.x",
                       version ? version : "(none)");
    for (size_t i = 0; i < json_array_size(results) && status == TJ_OK; i++) {
        const json_t *own = json_object_get(json_array_get(results, i), "tilejit");
        tj_record *record = NULL;

        if (!own)
            continue;
        status = tj_record_from_json(own, &record, err);
        if (status == TJ_OK)
            status = tj_records_add(records, record, err);
    }
    return status == TJ_OK ? add_fastest(results, problem, device, records, err) : status;
}
