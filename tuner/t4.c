/* SPDX-License-Identifier: Apache-2.0 */
/*
 * t4: Kernel Tuner's format for auto-tuning results, version 1.0.0, so that tools can exchange results.
 *
 * A T4 result says which values were tried and how long they took (milliseconds), but not on what: ours also carry the whole
 * record, in a member that other tools ignore.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "error.h"
#include "record.h"
#include "settle.h"

static const char VERSION[] = "1.0.0";

/* ---- writing ------------------------------------------------------------------------------------------------------ */

/* Add "tiled:tile_width=16,shared=static" as an object, with numbers as numbers. */
static void add_configuration(tj_json *object, const char *config)
{
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
            tj_json_add_text(object, "family", word);
            continue;
        }
        *value++ = '\0';
        number = strtol(value, &end, 10);
        if (*value && !*end)
            tj_json_add_int(object, word, number);
        else
            tj_json_add_text(object, word, value);
    }
}

static void add_result(tj_json *object, const tj_record *r)
{
    tj_json *times = tj_json_add_object(object, "times"),
            *measurement = tj_json_add_object(tj_json_add_list(object, "measurements"), NULL);
    char stamp[40] = "";
    const time_t created = (time_t)r->created_s;
    struct tm utc;

    if (gmtime_r(&created, &utc))
        (void)strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S+00:00", &utc);
    tj_json_add_text(object, "timestamp", stamp);
    add_configuration(tj_json_add_object(object, "configuration"), r->config);
    tj_json_add_real(times, "compilation", 0);
    tj_json_add_real(times, "benchmark", 0);
    tj_json_add_real(times, "framework", 0);
    tj_json_add_real(times, "search_algorithm", r->seconds * 1e3);
    tj_json_add_real(times, "validation", 0);
    tj_json_add_real(tj_json_add_list(times, "runtimes"), NULL, r->us / 1e3);
    tj_json_add_text(object, "invalidity", "correct");
    tj_json_add_int(object, "correctness", 1);
    tj_json_add_text(measurement, "name", "time");
    tj_json_add_real(measurement, "value", r->us / 1e3);
    tj_json_add_text(measurement, "unit", "ms");
    tj_json_add_text(tj_json_add_list(object, "objectives"), NULL, "time");
    tj_record_to_json(r, tj_json_add_object(object, "tilejit"));
}

void tj_t4_from_records(const tj_records *records, tj_json *root)
{
    tj_json *results = tj_json_add_list(root, "results");

    tj_json_add_text(root, "schema_version", VERSION);
    for (size_t i = 0; i < tj_records_count(records); i++)
        add_result(tj_json_add_object(results, NULL), tj_records_at(records, i));
}

/* ---- reading ------------------------------------------------------------------------------------------------------ */

/* Return the microseconds of a unit; T4's default is milliseconds. 0: not a unit of time. */
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

/* Return the objective of a result in microseconds; 0 if it has none or is not correct. */
static double time_of(const tj_json *result)
{
    const char *invalidity = tj_json_text(tj_json_get(result, "invalidity"));
    const tj_json *measurements = tj_json_get(result, "measurements");
    const tj_json *correctness = tj_json_get(result, "correctness");

    if ((invalidity && strcmp(invalidity, "correct") != 0) || (correctness && tj_json_number(correctness) <= 0))
        return 0;
    for (const tj_json *one = tj_json_first(measurements); one; one = tj_json_next(one)) {
        const char *name = tj_json_text(tj_json_get(one, "name"));
        const char *unit = tj_json_text(tj_json_get(one, "unit"));
        const double value = tj_json_number(tj_json_get(one, "value"));

        if (name && strcmp(name, "time") == 0 && isfinite(value) && value > 0)
            return unit_us(unit) * value;
    }
    return 0;
}

/* Read a value of a configuration: a text, or an integer, which some programs write as 16.0. False: neither. */
static bool read_value(const tj_json *value, char *text, size_t bytes)
{
    const double number = tj_json_number(value);

    if (tj_json_text(value))
        return snprintf(text, bytes, "%s", tj_json_text(value)) < (int)bytes;
    return (tj_json_kind_of(value) == TJ_JSON_INT || tj_json_kind_of(value) == TJ_JSON_REAL) && number == nearbyint(number) &&
           snprintf(text, bytes, "%.0f", number) < (int)bytes;
}

/* Read a T4 configuration as a config. */
static tj_status read_configuration(const tj_json *object, tj_config *config, tj_error *err)
{
    const char *family = tj_json_text(tj_json_get(object, "family"));
    tj_status status = TJ_OK;

    *config = (tj_config)TJ_CONFIG_INIT;
    config->family = tj_family_find(family);
    if (!config->family)
        return tj_fail(err, TJ_ERR_NOT_FOUND,
                       "a T4 configuration names the family \"%.40s\": use one that tilejit families lists",
                       family ? family : "(none)");
    for (const tj_json *value = tj_json_first(object); value; value = tj_json_next(value)) {
        const char *name = tj_json_name(value);
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

/* Add the fastest correct result of another program, for the problem and device that the caller names. */
static tj_status add_fastest(const tj_json *results, const tj_problem *problem, const tj_device_facts *device,
                             tj_records *records, tj_error *err)
{
    const tj_json *fastest = NULL;
    tj_config config, resolved;
    tj_request request;
    tj_record fields;
    tj_record *record;
    double least = INFINITY;
    tj_status status;

    for (const tj_json *one = tj_json_first(results); one; one = tj_json_next(one)) {
        const double us = tj_json_get(one, "tilejit") ? 0 : time_of(one);

        if (tj_record_is_time(us) && us < least) {
            least = us;
            fastest = one;
        }
    }
    if (!fastest)
        return TJ_OK;
    if (!problem || !device)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "these T4 results name neither problem nor device: name the shape as well");
    status = read_configuration(tj_json_get(fastest, "configuration"), &config, err);
    resolved = config;
    if (status == TJ_OK)
        status = tj_request_make(problem, &request, err);
    if (status == TJ_OK)
        status = tj_request_resolve(&request, &resolved, err);
    if (status != TJ_OK)
        return status;
    memset(&fields, 0, sizeof fields);
    fields.problem = request.problem;
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

tj_status tj_t4_to_records(const tj_json *root, const tj_problem *problem, const tj_device_facts *device, tj_records *records,
                           tj_error *err)
{
    const char *version = tj_json_text(tj_json_get(root, "schema_version"));
    const tj_json *results = tj_json_get(root, "results");
    tj_status status = TJ_OK;

    if (!version || version[0] != '1' || version[1] != '.' || tj_json_kind_of(results) != TJ_JSON_LIST)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "T4 of schema_version %.20s: this version reads 1.x",
                       version ? version : "(none)");
    for (const tj_json *one = tj_json_first(results); one && status == TJ_OK; one = tj_json_next(one)) {
        tj_json *own = tj_json_get(one, "tilejit");
        tj_record *record = NULL;

        if (!own)
            continue;
        status = tj_record_from_json(own, &record, err);
        if (status == TJ_OK)
            status = tj_records_add(records, record, err);
    }
    return status == TJ_OK ? add_fastest(results, problem, device, records, err) : status;
}
