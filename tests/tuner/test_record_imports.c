/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* Records in Kernel Tuner's T4: our own come back, those of other tools become records, and texts that are neither are refused. */
#include "record_test.h"

TestSuite(imports, .init = make_folder, .fini = remove_folder);

Test(imports, survive_t4)
{
    const tj_problem problems[] = {f32(512, 300, 700), strange_problem()};
    tj_records *records = tj_records_create(), *again = tj_records_create();
    char *plain, *t4_text, *same;
    json_t *root, *first;
    int64_t added = 0;

    for (size_t i = 0; i < 2; i++)
        cr_assert(eq(int, tj_records_add(records, record_of(&problems[i], 7, 80), &err), TJ_OK));
    plain = tj_records_print(records, 0);
    t4_text = tj_records_print(records, 1);
    root = json_loads(t4_text, JSON_REJECT_DUPLICATES, NULL);
    cr_assert(root != NULL);
    cr_expect(eq(str, (char *)json_string_value(json_object_get(root, "schema_version")), (char *)"1.0.0"));
    first = json_array_get(json_object_get(root, "results"), 0);
    for (size_t i = 0; i < 6; i++) { /* what the schema requires of a result */
        static const char *const required[] = {"timestamp",  "configuration", "times",
                                               "invalidity", "correctness",   "measurements"};
        cr_expect(json_object_get(first, required[i]) != NULL, "no %s", required[i]);
    }
    cr_expect(eq(str, (char *)json_string_value(json_object_get(first, "timestamp")), (char *)"2025-06-15T15:06:40+00:00"));
    cr_expect(eq(i64, json_integer_value(json_object_get(json_object_get(first, "configuration"), "tile_width")), 32));
    cr_expect(eq(dbl, json_real_value(json_array_get(json_object_get(json_object_get(first, "times"), "runtimes"), 0)), 0.007));
    cr_assert(eq(int, tj_records_parse(t4_text, NULL, NULL, again, &added, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(i64, added, 2));
    same = tj_records_print(again, 0);
    cr_expect(eq(str, plain, same));
    free(plain);
    free(t4_text);
    free(same);
    json_decref(root);
    tj_records_free(records);
    tj_records_free(again);
}

static const char foreign[] =
    "{\"schema_version\": \"1.0.0\", \"results\": ["
    " {\"timestamp\": \"2025-01-01T00:00:00\", \"configuration\": {\"family\": \"tiled\", \"tile_width\": 8},"
    "  \"invalidity\": \"correct\", \"correctness\": 1, \"measurements\": [{\"name\": \"time\", \"value\": 0.5, \"unit\": "
    "\"ms\"}]},"
    " {\"configuration\": {\"family\": \"tiled\", \"tile_width\": 32.0, \"shared\": \"dynamic\"}, \"invalidity\": \"correct\","
    "  \"measurements\": [{\"name\": \"power\", \"value\": 0.001}, {\"name\": \"time\", \"value\": 250, \"unit\": \"us\"}]},"
    " {\"configuration\": {\"family\": \"tiled\", \"tile_width\": 4}, \"invalidity\": \"runtime\","
    "  \"measurements\": [{\"name\": \"time\", \"value\": 0.01, \"unit\": \"ms\"}]},"
    " {\"configuration\": {\"family\": \"tiled\", \"tile_width\": 4}, \"correctness\": 0,"
    "  \"measurements\": [{\"name\": \"time\", \"value\": 0.01, \"unit\": \"ms\"}]}]}";

Test(imports, come_from_the_t4_of_other_tools)
{
    const tj_problem problem = f32(512, 300, 700);
    const tj_device_facts device = h200();
    tj_records *records = tj_records_create();
    tj_record_facts facts = TJ_RECORD_FACTS_INIT;
    const tj_record *record;
    int64_t added;

    cr_expect(eq(int, tj_records_parse(foreign, NULL, NULL, records, &added, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "name neither problem nor device") != NULL, "%s", err.message);
    cr_expect(eq(sz, tj_records_count(records), 0));
    cr_assert(eq(int, tj_records_parse(foreign, &problem, &device, records, &added, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(i64, added, 1), "the fastest correct one");
    record = tj_records_find(records, &problem, &device);
    cr_assert(record != NULL);
    cr_assert(eq(int, tj_record_get_facts(record, &facts, &err), TJ_OK));
    cr_expect(eq(dbl, facts.us, 250));
    cr_expect(strstr(facts.config, "tile_width=32") && strstr(facts.config, "shared=dynamic"), "%s", facts.config);
    cr_expect(eq(str, (char *)facts.strategy, (char *)"imported"));
    tj_records_free(records);
}

/* One result of another tool. */
static char *foreign_result(const char *configuration, const char *value, const char *unit)
{
    char *text = NULL;

    cr_assert(asprintf(&text,
                       "{\"configuration\": {%s}, \"measurements\": [{\"name\": \"time\", \"value\": %s, \"unit\": \"%s\"}]}",
                       configuration, value, unit) > 0);
    return text;
}

/* The record of several; NULL: none. one and two: NULL is none, and they are freed. */
static const tj_record *import(const tj_problem *problem, char *one, char *two, tj_records *records)
{
    const tj_device_facts device = h200();
    char *text = NULL;

    cr_assert(asprintf(&text, "{\"schema_version\": \"1.0.0\", \"results\": [%s%s%s]}", one, two ? ", " : "", two ? two : "") >
              0);
    cr_assert(eq(int, tj_records_parse(text, problem, &device, records, NULL, &err), TJ_OK), "%s", err.message);
    free(text);
    free(one);
    free(two);
    return tj_records_find(records, problem, &device);
}

Test(imports, of_other_tools_are_passed_over_if_they_take_no_time_or_for_ever)
{
    static const struct {
        const char *value, *unit;
    } rows[] = {{"1e6", "s"}, {"1e300", "s"}, {"1e-9", "us"}, {"0", "us"}, {"-1", "us"}};
    const tj_problem problem = f32(512, 300, 700);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_records *records = tj_records_create();
        const tj_record *record;

        record = import(&problem, foreign_result("\"family\": \"naive\"", rows[i].value, rows[i].unit), NULL, records);
        cr_expect(record == NULL, "row %zu", i);
        record = import(&problem, foreign_result("\"family\": \"naive\"", rows[i].value, rows[i].unit),
                        foreign_result("\"family\": \"tiled\"", "250", "us"), records);
        cr_assert(record != NULL, "row %zu", i);
        cr_expect(eq(dbl, record->us, 250), "row %zu", i);
        cr_expect(strncmp(record->config, "tiled:", 6) == 0, "row %zu: %s", i, record->config);
        tj_records_free(records);
    }
}

Test(imports, of_other_tools_need_a_config_that_the_problem_admits)
{
    static const char text[] = "{\"schema_version\": \"1.0.0\", \"results\": [{\"configuration\": {\"family\": \"tiled\","
                               " \"boundary\": \"none\"}, \"measurements\": [{\"name\": \"time\", \"value\": 1}]}]}";
    const tj_problem ragged = f32(33, 5, 48), even = f32(64, 64, 64);
    const tj_device_facts device = h200();
    tj_records *records = tj_records_create();

    cr_expect(eq(int, tj_records_parse(text, &ragged, &device, records, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "boundary") != NULL, "%s", err.message);
    cr_expect(eq(int, tj_records_parse(text, &even, NULL, records, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "name neither problem nor device") != NULL, "%s", err.message);
    cr_expect(eq(sz, tj_records_count(records), 0));
    cr_expect(eq(int, tj_records_parse(text, &even, &device, records, NULL, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(sz, tj_records_count(records), 1));
    tj_records_free(records);
}

/* A later reader must be able to tell it from a tuning; and it counts elsewhere, as an emulator's would not. */
Test(imports, of_other_tools_say_when_and_how_they_came)
{
    const tj_problem problem = f32(512, 300, 700);
    tj_records *records = tj_records_create();
    const int64_t begin = (int64_t)time(NULL);
    const tj_record *record = import(&problem, foreign_result("\"family\": \"tiled\"", "250", "us"), NULL, records);

    cr_assert(record != NULL);
    cr_expect(eq(str, (char *)record->policy, (char *)"cold"));
    cr_expect(eq(str, (char *)record->strategy, (char *)"imported"));
    cr_expect(record->created_s >= begin && record->created_s <= (int64_t)time(NULL), "%lld", (long long)record->created_s);
    cr_expect(eq(i32, record->driver_version, h200().driver_version));
    cr_expect(eq(i64, record->evaluations, 0));
    expect_same_again(record);
    tj_records_free(records);
}

Test(imports, of_other_tools_name_their_unit)
{
    static const struct {
        const char *unit;
        double us; /* of 500 of them; 0: not a time, so there is no record */
    } rows[] = {{"\"s\"", 5e8}, {"\"ms\"", 5e5}, {"\"us\"", 500}, {"\"ns\"", 0.5}, {"\"\"", 5e5}, {"\"cycles\"", 0}};
    const tj_problem problem = f32(512, 300, 700);
    const tj_device_facts device = h200();

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_records *records = tj_records_create();
        tj_record_facts facts = TJ_RECORD_FACTS_INIT;
        const tj_record *record;
        char text[400];
        int64_t added;

        snprintf(text, sizeof text,
                 "{\"schema_version\": \"1.0.0\", \"results\": [{\"configuration\": {\"family\": \"tiled\"},"
                 " \"measurements\": [{\"name\": \"time\", \"value\": 500, \"unit\": %s}]}]}",
                 rows[i].unit);
        cr_assert(eq(int, tj_records_parse(text, &problem, &device, records, &added, &err), TJ_OK), "%s", err.message);
        record = tj_records_find(records, &problem, &device);
        if (record)
            cr_assert(eq(int, tj_record_get_facts(record, &facts, &err), TJ_OK));
        cr_expect(eq(dbl, facts.us, rows[i].us), "%s", rows[i].unit);
        tj_records_free(records);
    }
}

Test(imports, refuse_texts_that_are_none)
{
    static const char *const rows[] = {
        "",
        "{",
        "[]",
        "17",
        "{}",
        "{\"tilejit_records\": [17]}",
        "{\"tilejit_records\": 3}",
        "{\"schema_version\": \"2.0.0\", \"results\": []}",
        "{\"schema_version\": 1, \"results\": []}",
        "{\"schema_version\": \"1.0.0\", \"results\": [{\"tilejit\": {}}]}",
        "{\"schema_version\": \"1.0.0\", \"results\": [{\"configuration\": {\"family\": \"no\"}, \"measurements\": [{\"name\": "
        "\"time\", \"value\": 1}]}]}",
        "{\"schema_version\": \"1.0.0\", \"results\": [{\"configuration\": {\"family\": \"tiled\", \"tile_width\": 99}, "
        "\"measurements\": [{\"name\": \"time\", \"value\": 1}]}]}",
        "{\"schema_version\": \"1.0.0\", \"results\": [{\"configuration\": {\"family\": \"tiled\", \"tile_width\": 8.5}, "
        "\"measurements\": [{\"name\": \"time\", \"value\": 1}]}]}",
        "{\"schema_version\": \"1.0.0\", \"results\": [{\"configuration\": {\"family\": \"tiled\", \"tile_width\": true}, "
        "\"measurements\": [{\"name\": \"time\", \"value\": 1}]}]}",
    };
    const tj_problem problem = f32(64, 64, 64);
    const tj_device_facts device = h200();

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_records *records = tj_records_create();
        err = (tj_error){TJ_OK, ""};
        cr_expect(tj_records_parse(rows[i], &problem, &device, records, NULL, &err) != TJ_OK, "row %zu: %s", i, rows[i]);
        cr_expect(strlen(err.message) > 10, "row %zu: %s", i, err.message);
        cr_expect(eq(sz, tj_records_count(records), 0), "row %zu", i);
        tj_records_free(records);
    }
}
