/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Records: that they survive every way in and out, that merging does not depend on the order, and that nothing damaged is
 * believed.
 */
#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "hash.h"
#include "input.h"
#include "record.h"
#include "tuner_test.h"
#include "scales.h"

static char folder[] = "/tmp/tilejit-records-XXXXXX";
static tj_error err;

static void make_folder(void)
{
    cr_assert(mkdtemp(folder) != NULL, "%s", strerror(errno));
}

static void remove_folder(void)
{
    char command[64];

    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_expect(system(command) == 0);
}

TestSuite(records, .init = make_folder, .fini = remove_folder);

static tj_context *open_context(const char *cache_dir, const char *const *roots)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context;

    options.cache_dir = cache_dir;
    options.read_only_roots = roots;
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
    return context;
}

/* A record as a tuning would make it. */
static tj_record fields_of(const tj_problem *problem, double us, int64_t evaluations)
{
    const tj_device_facts device = h200();
    tj_record r;

    memset(&r, 0, sizeof r);
    r.problem = tj_problem_canonical(problem);
    r.device = tj_device_kind_of(&device);
    strcpy(r.config, "tiled:tile_width=32,shared=dynamic,boundary=auto");
    strcpy(r.default_config, "tiled:tile_width=16,shared=static,boundary=auto");
    strcpy(r.second_config, "naive:tile_width=8,boundary=auto");
    r.us = us;
    r.spread = 0.0123;
    r.warm_us = us / 2;
    r.default_us = 2 * us;
    r.second_us = 1.1 * us;
    r.check_ratio = 0.25;
    r.check_elements = 4096;
    strcpy(r.strategy, "search");
    strcpy(r.policy, "cold");
    r.evaluations = evaluations;
    r.seed = 42;
    r.seconds = 12.5;
    r.driver_version = 13000;
    r.clock_khz = 1980000;
    r.created_s = 1750000000;
    strcpy(r.compiler, "13.0 V13.0.88");
    strcpy(r.version, "0.1.0");
    return r;
}

static tj_record *record_of(const tj_problem *problem, double us, int64_t evaluations)
{
    const tj_record fields = fields_of(problem, us, evaluations);
    tj_record *record = tj_record_create(&fields);

    cr_assert(record != NULL);
    return record;
}

static tj_problem strange_problem(void)
{
    tj_problem p = f32(33, 5, 48);

    p.m.type = TJ_F16;
    p.p.type = TJ_F32;
    p.j.mode = TJ_DIM_ANY;
    p.j.multiple_of = 3;
    p.m.layout = TJ_COL_MAJOR;
    p.n.ld = 50;
    p.batch = 7;
    p.m.stride = TJ_BROADCAST;
    p.epilogue.has_alpha = p.epilogue.has_beta = 1;
    return p;
}

static tj_problem pointing_problem(void)
{
    tj_problem p = f32(33, 5, 48);

    p.batch = 7;
    p.m.stride = TJ_POINTERS;
    p.p.stride = TJ_POINTERS_16;
    return p;
}

/* A problem with properties that the first records did not have: two types, another compute, scales. */
static tj_problem mixed_problem(void)
{
    tj_problem p = f32(33, 5, 48);

    p.m.type = TJ_S8;
    p.n.type = TJ_U8;
    p.p.type = TJ_BF16;
    p.scale[TJ_MATRIX_M] = (tj_scale)SCALE_EACH;
    p.scale[TJ_MATRIX_N] = (tj_scale)ONE_SCALE;
    return p;
}

static tj_problem tf32_problem(void)
{
    tj_problem p = f32(33, 5, 48);

    p.compute = TJ_COMPUTE_TF32;
    return p;
}

static tj_problem grouped_problem(void)
{
    tj_problem p = f32(33, 5, 48);

    p.rows = (tj_rows){TJ_ROWS_IN_GROUPS, 12, 8, 1};
    return p;
}

Test(records, survive_json_byte_for_byte)
{
    const tj_problem problems[] = {f32(512, 300, 700), strange_problem(), pointing_problem(),
                                   mixed_problem(),    tf32_problem(),    grouped_problem()};

    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
        tj_record *record = record_of(&problems[i], 12.345678, 80), *again;
        const tj_problem canonical = tj_problem_canonical(&problems[i]);
        char *text = tj_record_print(record), *same;
        tj_record_facts facts = TJ_RECORD_FACTS_INIT;

        cr_assert(eq(int, tj_record_parse(text, &again, &err), TJ_OK), "%s", err.message);
        same = tj_record_print(again);
        cr_expect(eq(str, text, same));
        cr_expect(memcmp(tj_record_problem(again), &canonical, sizeof canonical) == 0);
        cr_assert(eq(int, tj_record_get_facts(again, &facts, &err), TJ_OK));
        cr_expect(eq(dbl, facts.us, 12.345678));
        cr_expect(eq(i64, facts.evaluations, 80));
        cr_expect(eq(str, (char *)facts.device, (char *)"NVIDIA H200"));
        cr_expect(eq(str, (char *)facts.compiler, (char *)"13.0 V13.0.88"));
        free(text);
        free(same);
        tj_record_free(record);
        tj_record_free(again);
    }
}

/* The files are of builds that left JSON to jansson. */
Test(records, of_earlier_builds_are_read_and_printed_byte_for_byte)
{
    static const char *const name[] = {"records_of_earlier_builds.json", "records_of_earlier_builds.t4.json"};

    for (int is_t4 = 0; is_t4 < 2; is_t4++) {
        tj_records *records = tj_records_create();
        char path[512], *text, *printed;
        int64_t added = 0;
        size_t size;

        snprintf(path, sizeof path, TJ_SOURCE_DIR "/tests/tuner/%s", name[is_t4]);
        cr_assert(eq(int, tj_input_read_whole(path, 1 << 20, &text, &size, &err), TJ_OK), "%s", err.message);
        cr_assert(eq(int, tj_records_parse(text, NULL, NULL, records, &added, &err), TJ_OK), "%s", err.message);
        cr_expect(eq(i64, added, 3));
        printed = tj_records_print(records, is_t4);
        cr_expect(eq(str, printed, text));
        free(printed);
        free(text);
        tj_records_free(records);
    }
}

/* They keep their names: later properties are not in their text. Problems that differ only in them are told apart. */
Test(records, of_what_was_there_before_do_not_change)
{
    static const char *const members[] = {"n_dtype", "compute",      "scale_m",        "scale_n",
                                          "groups",  "offset_bytes", "offsets_on_host"};
    const tj_problem old = f32(33, 5, 48),
                     problems[] = {old, mixed_problem(), tf32_problem(), strange_problem(), grouped_problem()};
    tj_problem plain = mixed_problem();
    tj_record *record = record_of(&old, 5, 80), *scaled = record_of(&problems[1], 5, 80), *other;
    char *text = tj_record_print(record);

    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        cr_expect(strstr(text, members[i]) == NULL, "%s", members[i]);
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
        other = record_of(&problems[i], 5, 80);
        cr_expect(eq(int, strcmp(record->key, other->key) == 0, i == 0), "problem %zu", i);
        tj_record_free(other);
    }
    plain.scale[TJ_MATRIX_N] = (tj_scale)SCALE_EACH;
    other = record_of(&plain, 5, 80);
    cr_expect(ne(int, strcmp(scaled->key, other->key), 0));
    tj_record_free(other);
    tj_record_free(scaled);
    tj_record_free(record);
    free(text);
}

/* A record counts the forms of scales: 1 one, 2 each, 3 along k for scale_k elements. */
Test(records, keep_the_numbers_of_scales)
{
    static const struct {
        const char *old, *new, *words;
    } wrong[] = {{"\"scale_k\":32", "\"scale_k\":0 ", "scale_n of a record's problem is 3, along k, and its scale_k is 0"},
                 {"\"scale_n\":3", "\"scale_n\":2", "scale_k of a record's problem is 32, and no scales are along k"},
                 {"\"scale_n\":3", "\"scale_n\":4", "scale_n of a record's problem is 4: it is 0 to 3"}};
    tj_problem p = f32(8, 64, 8), parsed;
    tj_error err = {TJ_OK, ""};

    p.n.type = TJ_S8;
    p.scale[TJ_MATRIX_M] = (tj_scale)SCALE_EACH;
    p.scale[TJ_MATRIX_N] = (tj_scale)SCALE_ALONG_K(32);
    char *text = tj_problem_to_json(&p), *again;

    cr_expect(strstr(text, "\"scale_k\":32") && strstr(text, "\"scale_m\":2") && strstr(text, "\"scale_n\":3"), "%s", text);
    cr_assert(eq(int, tj_problem_from_json(text, &parsed, &err), TJ_OK), "%s", err.message);
    again = tj_problem_to_json(&parsed);
    cr_expect(eq(str, text, again));
    free(again);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char *const at = strstr(text, wrong[i].old);

        memcpy(at, wrong[i].new, strlen(wrong[i].new));
        cr_expect(eq(int, tj_problem_from_json(text, &parsed, &err), TJ_ERR_INVALID_ARGUMENT), "%s", text);
        cr_expect(strstr(err.message, wrong[i].words) != NULL, "%s", err.message);
        memcpy(at, wrong[i].old, strlen(wrong[i].old));
    }
    free(text);
}

/* For a change of any byte: refused with a message, or the content is the same (white space). */
Test(records, that_are_damaged_are_refused)
{
    const tj_problem problem = f32(64, 64, 64);
    tj_record *record = record_of(&problem, 5, 80), *parsed;
    char *text = tj_record_print(record);
    const size_t size = strlen(text);
    int refused = 0;

    for (size_t i = 0; i < size; i++) {
        const char kept = text[i];

        text[i] = kept == '7' ? '8' : '7';
        if (tj_record_parse(text, &parsed, &err) == TJ_OK) {
            char *again = tj_record_print(parsed);

            text[i] = kept;
            cr_expect(strcmp(again, text) == 0, "byte %zu (%c) was changed, and believed", i, kept);
            free(again);
            tj_record_free(parsed);
        } else {
            refused++;
            cr_expect(eq(int, err.status, TJ_ERR_INVALID_ARGUMENT));
            cr_expect(strlen(err.message) > 10);
        }
        text[i] = kept;
    }
    cr_expect(refused > (int)size / 2);
    for (size_t i = 0; i < size; i++) { /* half-written */
        const char kept = text[i];

        text[i] = '\0';
        cr_expect(tj_record_parse(text, &parsed, &err) != TJ_OK, "believed after %zu of %zu bytes", i, size);
        text[i] = kept;
    }
    free(text);
    tj_record_free(record);
}

/* With a checksum that fits: what another version may have written. */
static char *edited(const tj_record *record, const char *member, json_t *value)
{
    json_t *object = json_loads(record->json, JSON_REJECT_DUPLICATES, NULL);
    char hex[TJ_HASH_HEX_BYTES], *text;

    json_object_del(object, "checksum");
    if (value)
        json_object_set_new(object, member, value);
    else
        json_object_del(object, member);
    text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    tj_hash_hex(tj_hash_bytes(text, strlen(text)), hex);
    free(text);
    json_object_set_new(object, "checksum", json_string(hex));
    text = json_dumps(object, 0);
    json_decref(object);
    return text;
}

/* 130 bytes: a field of 128 would end within the last character. */
#define LONGER_THAN_A_NAME                                                                                 \
    "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789" \
    "01234567890123456789012345\\u00e9\\u00e9"

/* Whatever is read prints as what reads as itself. */
static void expect_same_again(const tj_record *record)
{
    char *text = tj_record_print(record), *same;
    tj_record *again = NULL;

    cr_assert(eq(int, tj_record_parse(text, &again, &err), TJ_OK), "%s\n%s", err.message, text);
    same = tj_record_print(again);
    cr_expect(eq(str, same, text));
    free(same);
    free(text);
    tj_record_free(again);
}

Test(records, of_other_versions_are_read_as_far_as_they_can_be)
{
    static const struct {
        const char *member, *value; /* NULL: taken away */
        const char *complaint;      /* NULL: none */
    } rows[] = {
        {"weather", "\"fine\"", NULL},
        {"schema", "2", "newer TileJIT"},
        {"schema", "0", "tune again"},
        {"schema", NULL, "schema"},
        {"config", "\"warp_specialised:warps=4\"", NULL}, /* of a family to come */
        {"config", NULL, "config"},
        {"config", "17", "config"},
        {"time", "{\"median_us\": -3}", "time"},
        {"time", "{\"median_us\": 1e304}", "time"}, /* no double once it is rounded */
        {"time", "{\"median_us\": 1e-9}", "time"},  /* 0 once it is rounded */
        {"time", "{\"median_us\": 5, \"spread\": 1e304}", NULL},
        {"search", "{\"evaluations\": 16777216}", NULL},
        {"search", "{\"evaluations\": 16777217}", "evaluations"},
        {"search", "{\"evaluations\": 9223372036854775807}", "evaluations"},
        {"search", "{\"evaluations\": -1}", "evaluations"},
        {"search", "{\"evaluations\": 1e18}", "evaluations"},
        {"search", "{\"evaluations\": \"many\"}", "evaluations"},
        {"search", "{\"seconds\": -1}", "seconds"},
        {"check", "{\"elements\": -1}", "elements"},
        {"check", "{\"elements\": 1125899906842625}", "elements"},
        {"created_s", "-1", "created_s"},
        {"created_s", "253402300800", "created_s"}, /* the year 10000 */
        {"device", NULL, "device"},
        {"device", "{\"name\": \"" LONGER_THAN_A_NAME "\"}", "device"},
        {"made_with", "{\"nvrtc\": \"" LONGER_THAN_A_NAME "\"}", NULL},
        {"problem", "{}", "extent"},
        {"problem", "[]", "extent"},
        {"second", NULL, NULL},
    };
    const tj_problem problem = f32(64, 64, 64);
    const tj_device_facts device = h200();
    tj_record *record = record_of(&problem, 5, 80);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *text = edited(record, rows[i].member, rows[i].value ? json_loads(rows[i].value, JSON_DECODE_ANY, NULL) : NULL);
        tj_record *parsed = NULL;
        const tj_status status = tj_record_parse(text, &parsed, &err);

        if (rows[i].complaint) {
            cr_expect(eq(int, status, TJ_ERR_INVALID_ARGUMENT), "row %zu", i);
            cr_expect(parsed == NULL && strstr(err.message, rows[i].complaint) != NULL, "row %zu: %s", i, err.message);
        } else {
            cr_expect(eq(int, status, TJ_OK), "row %zu: %s", i, err.message);
            expect_same_again(parsed);
        }
        if (status == TJ_OK && strcmp(rows[i].member, "config") == 0) { /* a family that is not known chooses nothing */
            tj_records *records = tj_records_create();
            tj_chosen_by by;
            tj_config chosen;

            cr_assert(eq(int, tj_records_add(records, parsed, &err), TJ_OK));
            cr_assert(eq(int, tj_choose(records, &problem, &device, &chosen, &by, &err), TJ_OK));
            cr_expect(by != TJ_BY_RECORD);
            tj_records_free(records);
            parsed = NULL;
        }
        tj_record_free(parsed);
        free(text);
    }
    tj_record_free(record);
}

/* A kernel serves every extent that it does not know, and so does its record, which still says what it was tuned for. */
Test(records, of_open_dimensions_are_found_at_every_extent)
{
    static const char *const names[] = {"j", "k", "l"};
    const tj_device_facts device = h200();

    for (int i = 0; i < 3; i++) {
        tj_problem problem = f32(512, 300, 700), other = f32(512, 300, 700);
        tj_dim *const dim[] = {&problem.j, &problem.k, &problem.l}, *const there[] = {&other.j, &other.k, &other.l};
        tj_records *records = tj_records_create();
        const tj_record *record;

        dim[i]->mode = there[i]->mode = TJ_DIM_ANY;
        there[i]->extent = 17;
        cr_assert(eq(int, tj_records_add(records, record_of(&problem, 5, 80), &err), TJ_OK));
        record = tj_records_find(records, &other, &device);
        cr_assert(record != NULL, "%s", names[i]);
        cr_expect(memcmp(tj_record_problem(record), &record->problem, sizeof problem) == 0);
        expect_same_again(record);
        there[i]->multiple_of = 17;
        cr_expect(tj_records_find(records, &other, &device) == NULL, "%s: another kernel", names[i]);
        *there[i] = (tj_dim){17, TJ_DIM_FIXED, 0};
        cr_expect(tj_records_find(records, &other, &device) == NULL, "%s: another kernel", names[i]);
        tj_records_free(records);
    }
}

Test(records, are_of_one_kind_of_device)
{
    const tj_problem problem = f32(512, 300, 700);
    tj_records *records = tj_records_create();
    tj_device_facts device = h200();

    cr_assert(eq(int, tj_records_add(records, record_of(&problem, 5, 80), &err), TJ_OK));
    device.clock_khz--;
    cr_expect(tj_records_find(records, &problem, &device) != NULL);
    for (int i = 0; i < 5; i++) {
        device = h200();
        device.name[0] = i == 0 ? 'n' : 'N';
        device.cc_major += i == 1;
        device.cc_minor += i == 2;
        device.sm_count -= i == 3;
        device.l2_bytes /= i == 4 ? 2 : 1; /* a slice of it */
        cr_expect(tj_records_find(records, &problem, &device) == NULL, "%d", i);
    }
    tj_records_free(records);
}

/* Whatever their checksums, which come first in the JSON, have to say on it. */
Test(records, of_which_nothing_else_is_better_give_way_to_newer_ones)
{
    const tj_problem problem = f32(64, 64, 64);

    for (int i = 0; i < 16; i++) {
        tj_record fields = fields_of(&problem, 5, 80);
        tj_record *older, *newer;

        fields.created_s += i;
        older = tj_record_create(&fields);
        fields.created_s++;
        newer = tj_record_create(&fields);
        cr_expect(lt(int, tj_record_compare(newer, older), 0));
        cr_expect(gt(int, tj_record_compare(older, newer), 0));
        tj_record_free(older);
        tj_record_free(newer);
    }
}

/* Sets of the same records, built in any order and grouping, are the same text. */
Test(records, merge_to_the_same_in_any_order)
{
    enum { RECORDS = 12 };
    tj_record *all[RECORDS];
    char *expected = NULL;
    uint64_t state = 5;

    for (int i = 0; i < RECORDS; i++) {
        const tj_problem problem = f32(64 * (1 + i % 3), 64, 64);
        tj_record fields = fields_of(&problem, 10 + i % 4, 80 + 10 * (i % 2));

        fields.is_complete = i == 7;
        all[i] = tj_record_create(&fields);
    }
    for (int trial = 0; trial < 50; trial++) {
        tj_records *left = tj_records_create(), *right = tj_records_create();
        char *text;

        for (int i = 0; i < 3 * RECORDS; i++) { /* some of them several times */
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407U;
            cr_assert(
                eq(int, tj_records_add(state >> 63 ? left : right, tj_record_copy(all[(state >> 33) % RECORDS]), &err), TJ_OK));
        }
        for (int i = 0; i < RECORDS; i++)
            cr_assert(eq(int, tj_records_add(i % 2 ? left : right, tj_record_copy(all[i]), &err), TJ_OK));
        text = tj_records_print(right, 0);
        cr_assert(eq(int, tj_records_parse(text, NULL, NULL, left, NULL, &err), TJ_OK), "%s", err.message);
        free(text);
        text = tj_records_print(left, 0);
        if (!expected)
            expected = strdup(text);
        cr_expect(eq(str, text, expected), "trial %d", trial);
        cr_expect(eq(sz, tj_records_count(left), 3));
        free(text);
        tj_records_free(left);
        tj_records_free(right);
    }
    for (int i = 0; i < RECORDS; i++)
        tj_record_free(all[i]);
    free(expected);
}

/* ---- T4 ----------------------------------------------------------------------------------------------------------- */

Test(records, survive_t4)
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

Test(records, come_from_the_t4_of_other_tools)
{
    const tj_problem problem = f32(512, 300, 700);
    const tj_device_facts device = h200();
    tj_records *records = tj_records_create();
    tj_record_facts facts = TJ_RECORD_FACTS_INIT;
    const tj_record *record;
    int64_t added;

    cr_expect(eq(int, tj_records_parse(foreign, NULL, NULL, records, &added, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "which problem") != NULL, "%s", err.message);
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

Test(records, of_other_tools_are_passed_over_if_they_take_no_time_or_for_ever)
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

Test(records, of_other_tools_need_a_config_that_the_problem_admits)
{
    static const char text[] = "{\"schema_version\": \"1.0.0\", \"results\": [{\"configuration\": {\"family\": \"tiled\","
                               " \"boundary\": \"none\"}, \"measurements\": [{\"name\": \"time\", \"value\": 1}]}]}";
    const tj_problem ragged = f32(33, 5, 48), even = f32(64, 64, 64);
    const tj_device_facts device = h200();
    tj_records *records = tj_records_create();

    cr_expect(eq(int, tj_records_parse(text, &ragged, &device, records, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "boundary") != NULL, "%s", err.message);
    cr_expect(eq(int, tj_records_parse(text, &even, NULL, records, NULL, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "which problem and device") != NULL, "%s", err.message);
    cr_expect(eq(sz, tj_records_count(records), 0));
    cr_expect(eq(int, tj_records_parse(text, &even, &device, records, NULL, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(sz, tj_records_count(records), 1));
    tj_records_free(records);
}

/* A later reader must be able to tell it from a tuning; and it counts elsewhere, as an emulator's would not. */
Test(records, of_other_tools_say_when_and_how_they_came)
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

Test(records, of_other_tools_name_their_unit)
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

Test(records, refuse_texts_that_are_none)
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

/* ---- the store ---------------------------------------------------------------------------------------------------- */

static void keep(tj_context *context, tj_record *record, int64_t expected)
{
    tj_records *one = tj_records_create();
    int64_t kept = -1;

    cr_assert(eq(int, tj_records_add(one, record, &err), TJ_OK));
    cr_assert(eq(int, tj_records_keep(context, one, &kept, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(i64, kept, expected));
    tj_records_free(one);
}

static double stored_us(tj_context *context, const tj_problem *problem)
{
    const tj_device_facts device = h200();
    tj_records *all = tj_records_create();
    const tj_record *record;
    tj_record_facts facts = TJ_RECORD_FACTS_INIT;

    cr_assert(eq(int, tj_records_load(context, all, &err), TJ_OK));
    record = tj_records_find(all, problem, &device);
    if (record)
        cr_assert(eq(int, tj_record_get_facts(record, &facts, &err), TJ_OK));
    tj_records_free(all);
    return record ? facts.us : -1;
}

static int count_files(void)
{
    char command[128];
    FILE *pipe;
    int count = -1;

    snprintf(command, sizeof command, "ls %s/v1/records | wc -l", folder);
    pipe = popen(command, "r");
    cr_assert(pipe && fscanf(pipe, "%d", &count) == 1);
    pclose(pipe);
    return count;
}

Test(records, in_the_store_give_way_to_better_ones_only)
{
    const tj_problem problem = f32(512, 512, 512), other = f32(512, 512, 256);
    tj_context *context = open_context(folder, NULL);

    keep(context, record_of(&problem, 10, 80), 1);
    keep(context, record_of(&other, 3, 80), 1);
    keep(context, record_of(&problem, 9, 40), 0); /* faster, and less well founded */
    cr_expect(eq(dbl, stored_us(context, &problem), 10));
    keep(context, record_of(&problem, 8, 80), 1);
    keep(context, record_of(&problem, 8, 80), 0);
    cr_expect(eq(dbl, stored_us(context, &problem), 8));
    cr_expect(eq(dbl, stored_us(context, &other), 3));
    cr_expect(eq(int, count_files(), 2), "the beaten ones are gone");
    tj_context_free(context);
}

static tj_record *record_with(const tj_problem *problem, const char *config, double us, int64_t evaluations, int is_complete)
{
    tj_record fields = fields_of(problem, us, evaluations);

    snprintf(fields.config, sizeof fields.config, "%s", config);
    fields.is_complete = is_complete;
    return tj_record_create(&fields);
}

/* However much it claims to be founded on, be it there first or later, in the store, in a file or in a merge. */
Test(records, that_choose_nothing_displace_none_that_does)
{
    static const char *const useless[] = {"tiled:tile_width=999999999", "warp_specialised:warps=4",
                                          "simt:bm=256,bn=256,bk=16,tm=4,tn=8" /* 2048 threads */,
                                          "tiled:tile_width=16,nonsense=1"};
    const tj_problem problem = f32(512, 512, 512);
    const tj_device_facts device = h200();

    for (size_t i = 0; i < sizeof useless / sizeof useless[0]; i++)
        for (int is_first = 0; is_first < 2; is_first++) {
            tj_record *good = record_of(&problem, 10, 80), *bad = record_with(&problem, useless[i], 1, 1 << 20, 1);
            tj_records *records = tj_records_create(), *read = tj_records_create();
            char own[64], *text;
            tj_context *context;

            cr_expect(lt(int, tj_record_compare(good, bad), 0), "%s", useless[i]);
            cr_expect(gt(int, tj_record_compare(bad, good), 0), "%s", useless[i]);
            cr_assert(eq(int, tj_records_add(records, tj_record_copy(is_first ? bad : good), &err), TJ_OK));
            cr_assert(eq(int, tj_records_add(records, tj_record_copy(is_first ? good : bad), &err), TJ_OK));
            cr_expect(eq(dbl, tj_records_find(records, &problem, &device)->us, 10), "%s", useless[i]);
            tj_records_free(records);

            records = tj_records_create();
            cr_assert(eq(int, tj_records_add(records, tj_record_copy(bad), &err), TJ_OK));
            text = tj_records_print(records, 0);
            cr_assert(eq(int, tj_records_parse(text, NULL, NULL, read, NULL, &err), TJ_OK), "it may be of a later version");
            free(text);
            snprintf(own, sizeof own, "%s/%zu-%d", folder, i, is_first);
            context = open_context(own, NULL);
            if (is_first)
                cr_assert(eq(int, tj_records_keep(context, read, NULL, &err), TJ_OK), "%s", err.message);
            keep(context, tj_record_copy(good), 1);
            cr_assert(eq(int, tj_records_keep(context, read, NULL, &err), TJ_OK), "%s", err.message);
            cr_expect(eq(dbl, stored_us(context, &problem), 10), "%s", useless[i]);
            tj_context_free(context);
            tj_records_free(records);
            tj_records_free(read);
            tj_record_free(good);
            tj_record_free(bad);
        }
}

/* 128 KB of shared memory: an sm_90 has them, an sm_75 has not, whatever its record says. */
Test(records, that_no_device_of_their_kind_can_run_displace_none)
{
    const char *const config = "simt:bm=128,bn=128,bk=32,tm=8,tn=8,stages=4,copy=async";
    const tj_problem problem = f32(512, 512, 512);
    tj_record fields = fields_of(&problem, 10, 80), *good, *bad;

    for (int major = 7; major <= 9; major += 2) {
        fields.device.cc_major = major;
        fields.device.cc_minor = major == 7 ? 5 : 0;
        good = tj_record_create(&fields);
        fields.evaluations = 1000;
        strcpy(fields.config, config);
        bad = tj_record_create(&fields);
        cr_expect(eq(int, tj_record_compare(good, bad) < 0, major == 7), "%d", major);
        tj_record_free(good);
        tj_record_free(bad);
        fields = fields_of(&problem, 10, 80);
    }
}

/* commands: of a shell, for each file $f among the store's records. */
static void do_to_each_file(const char *commands)
{
    char command[256];

    snprintf(command, sizeof command, "cd %s/v1/records && for f in *.json; do %s; done", folder, commands);
    cr_assert(system(command) == 0);
}

Test(records, that_are_damaged_in_the_store_are_passed_over)
{
    const tj_problem problem = f32(512, 512, 512);
    tj_context *context = open_context(folder, NULL);

    keep(context, record_of(&problem, 10, 80), 1);
    do_to_each_file("head -c 300 $f > 00000000000000000000000000000000-0000000000000000.json; sed s/10.0/11.0/ $f > 1$f");
    cr_expect(eq(dbl, stored_us(context, &problem), 10));
    keep(context, record_of(&problem, 7, 90), 1);
    cr_expect(eq(dbl, stored_us(context, &problem), 7));
    tj_context_free(context);
}

/* Two files that changed places, say: their content is sound, and of another key. */
Test(records, under_another_s_name_are_not_believed)
{
    const tj_problem problem = f32(512, 512, 512);
    tj_context *context = open_context(folder, NULL);

    keep(context, record_of(&problem, 10, 80), 1);
    do_to_each_file("mv $f \"$(echo $f | tr 0123456789abcdef 123456789abcdef0)\"");
    cr_expect(eq(int, count_files(), 1));
    cr_expect(eq(dbl, stored_us(context, &problem), -1));
    keep(context, record_of(&problem, 11, 80), 1);
    cr_expect(eq(dbl, stored_us(context, &problem), 11));
    tj_context_free(context);
}

/* Nor is any written that could not be read again: evaluations are added up, and end where they are believed. */
Test(records, that_were_just_kept_are_not_beaten_by_themselves)
{
    const tj_problem problem = f32(512, 512, 512);
    tj_context *context = open_context(folder, NULL);

    keep(context, record_of(&problem, 9, 80), 1);
    keep(context, record_of(&problem, 10, INT64_MAX), 1);
    cr_expect(eq(dbl, stored_us(context, &problem), 10));
    keep(context, record_of(&problem, 10, INT64_MAX), 0);
    cr_expect(eq(int, count_files(), 1), "the beaten one is gone");
    tj_context_free(context);
}

Test(records, of_read_only_roots_are_used_and_left_alone)
{
    const tj_problem problem = f32(512, 512, 512);
    char own[64];
    const char *const roots[] = {folder, NULL};
    tj_context *writer = open_context(folder, NULL), *reader;

    keep(writer, record_of(&problem, 10, 80), 1);
    tj_context_free(writer);
    snprintf(own, sizeof own, "%s/own", folder);
    reader = open_context(own, roots);
    cr_expect(eq(dbl, stored_us(reader, &problem), 10));
    keep(reader, record_of(&problem, 12, 400), 1);
    cr_expect(eq(dbl, stored_us(reader, &problem), 12));
    tj_context_free(reader);
    writer = open_context(folder, NULL);
    cr_expect(eq(dbl, stored_us(writer, &problem), 10));
    tj_context_free(writer);
}

Test(records, cannot_be_kept_without_a_store_and_the_caller_is_told)
{
    const tj_problem problem = f32(512, 512, 512);
    tj_context *context = open_context("", NULL);
    tj_records *one = tj_records_create();

    cr_assert(eq(int, tj_records_add(one, record_of(&problem, 10, 80), &err), TJ_OK));
    cr_expect(eq(int, tj_records_keep(context, one, NULL, &err), TJ_ERR_IO));
    cr_expect(strstr(err.message, "TILEJIT_CACHE_DIR") != NULL, "%s", err.message);
    tj_records_free(one);
    tj_context_free(context);
}

/* Many processes at once, each with its own idea: the best founded one is there in the end. */
Test(records, of_many_processes_leave_the_best)
{
    enum { PROCESSES = 8, ROUNDS = 20 };
    const tj_problem problem = f32(512, 512, 512);
    tj_context *context;

    for (int p = 0; p < PROCESSES; p++)
        if (fork() == 0) {
            context = open_context(folder, NULL);
            for (int i = 0; i < ROUNDS; i++) {
                tj_records *one = tj_records_create();

                if (tj_records_add(one, record_of(&problem, 10, 80 + (i * PROCESSES + p * 7) % (ROUNDS * PROCESSES)), &err) ||
                    tj_records_keep(context, one, NULL, &err))
                    _exit(1);
                tj_records_free(one);
            }
            tj_context_free(context);
            fflush(NULL);
            _exit(0);
        }
    for (int p = 0; p < PROCESSES; p++) {
        int status;

        cr_assert(wait(&status) > 0);
        cr_expect(eq(int, status, 0));
    }
    context = open_context(folder, NULL);
    {
        const tj_device_facts device = h200();
        tj_records *all = tj_records_create();
        tj_record_facts facts = TJ_RECORD_FACTS_INIT;
        int64_t most = 0;

        for (int p = 0; p < PROCESSES; p++)
            for (int i = 0; i < ROUNDS; i++)
                if (80 + (i * PROCESSES + p * 7) % (ROUNDS * PROCESSES) > most)
                    most = 80 + (i * PROCESSES + p * 7) % (ROUNDS * PROCESSES);
        cr_assert(eq(int, tj_records_load(context, all, &err), TJ_OK));
        cr_assert(tj_records_find(all, &problem, &device) != NULL);
        cr_assert(eq(int, tj_record_get_facts(tj_records_find(all, &problem, &device), &facts, &err), TJ_OK));
        cr_expect(eq(i64, facts.evaluations, most));
        tj_records_free(all);
    }
    tj_context_free(context);
}

/* ---- choosing from them ------------------------------------------------------------------------------------------- */

Test(choice, takes_the_record_then_a_near_one_and_never_one_of_an_emulator)
{
    const tj_device_facts device = h200(), older = t4();
    const tj_problem tuned = f32(1000, 1000, 1000), near = f32(1000, 1040, 1000), far = f32(100, 8000, 100);
    tj_records *records = tj_records_create();
    tj_record fields = fields_of(&tuned, 50, 80);
    tj_config chosen, wanted;
    tj_chosen_by by;

    cr_assert(eq(int, tj_choose(NULL, &tuned, &device, &wanted, NULL, &err), TJ_OK));
    cr_assert(eq(int, tj_config_set(&wanted, "group", "8", &err), TJ_OK), "%s", err.message); /* the model would not */
    tj_config_print(&wanted, fields.config);
    cr_assert(eq(int, tj_records_add(records, tj_record_create(&fields), &err), TJ_OK));
    cr_assert(eq(int, tj_choose(records, &tuned, &device, &chosen, &by, &err), TJ_OK));
    cr_expect(eq(int, by, TJ_BY_RECORD));
    cr_expect(memcmp(chosen.value, wanted.value, sizeof wanted.value) == 0);
    cr_assert(eq(int, tj_choose(records, &near, &device, &chosen, &by, &err), TJ_OK));
    cr_expect(eq(int, by, TJ_BY_NEAREST));
    cr_expect(memcmp(chosen.value, wanted.value, sizeof wanted.value) == 0);
    cr_assert(eq(int, tj_choose(records, &far, &device, &chosen, &by, &err), TJ_OK));
    cr_expect(eq(int, by, TJ_BY_MODEL));
    cr_assert(eq(int, tj_choose(records, &tuned, &older, &chosen, &by, &err), TJ_OK));
    cr_expect(by != TJ_BY_RECORD && by != TJ_BY_NEAREST, "cp.async on a T4");
    tj_records_free(records);

    records = tj_records_create();
    strcpy(fields.policy, "emulated");
    cr_assert(eq(int, tj_records_add(records, tj_record_create(&fields), &err), TJ_OK));
    cr_expect(eq(sz, tj_records_count(records), 0));
    cr_assert(eq(int, tj_choose(records, &tuned, &device, &chosen, &by, &err), TJ_OK));
    cr_expect(eq(int, by, TJ_BY_MODEL));
    tj_records_free(records);
}

/* Choose for `asked` with the record of another problem, whose config is the model's own for asked. */
static tj_chosen_by chosen_beside(const tj_problem *asked, const tj_problem *tuned, const tj_device_facts *where)
{
    const tj_device_facts device = h200();
    tj_record fields = fields_of(tuned, 50, 80);
    tj_records *records = tj_records_create();
    tj_chosen_by by;
    tj_config config;

    fields.device = tj_device_kind_of(where);
    cr_assert(eq(int, tj_choose(NULL, asked, &device, &config, NULL, &err), TJ_OK), "%s", err.message);
    tj_config_print(&config, fields.config);
    cr_assert(eq(int, tj_records_add(records, tj_record_create(&fields), &err), TJ_OK));
    cr_assert(eq(int, tj_choose(records, asked, &device, &config, &by, &err), TJ_OK), "%s", err.message);
    tj_records_free(records);
    return by;
}

Test(choice, takes_no_record_of_another_kind_of_problem_for_a_near_one)
{
    enum { NEAR, P_DTYPE, DTYPE, COMPUTE, M_LAYOUT, N_LAYOUT, P_LAYOUT, J_OPEN, K_OPEN, L_OPEN, BATCH, OPEN_BATCH, BETA, ROWS };
    const tj_device_facts device = h200();

    for (int row = NEAR; row < ROWS; row++) {
        tj_problem asked = f32(1000, 1000, 1000), tuned = f32(1000, 1040, 1000);

        asked.m.type = tuned.m.type = TJ_F16;
        tuned.p.type = row == P_DTYPE ? TJ_F32 : TJ_F16;
        if (row == DTYPE)
            tuned.m.type = TJ_BF16;
        asked.p.type = TJ_F16;
        if (row == COMPUTE)
            asked.m.type = tuned.m.type = TJ_F32, tuned.compute = TJ_COMPUTE_TF32;
        tuned.m.layout = row == M_LAYOUT ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
        tuned.n.layout = row == N_LAYOUT ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
        tuned.p.layout = row == P_LAYOUT ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
        tuned.j.mode = row == J_OPEN ? TJ_DIM_ANY : TJ_DIM_FIXED;
        tuned.k.mode = row == K_OPEN ? TJ_DIM_ANY : TJ_DIM_FIXED;
        tuned.l.mode = row == L_OPEN ? TJ_DIM_ANY : TJ_DIM_FIXED;
        tuned.batch = row == BATCH ? 2 : row == OPEN_BATCH ? TJ_ANY : 1;
        tuned.epilogue.has_beta = row == BETA;
        for (int turn = 0; turn < 2; turn++) {
            const tj_chosen_by by = turn ? chosen_beside(&tuned, &asked, &device) : chosen_beside(&asked, &tuned, &device);

            cr_expect(eq(int, by == TJ_BY_NEAREST, row == NEAR || row == BETA), "row %d, turn %d: %d", row, turn, (int)by);
        }
    }
}

Test(choice, takes_a_near_one_for_batches_that_are_open_in_both)
{
    const tj_device_facts device = h200();
    tj_problem asked = f32(1000, 1000, 1000), tuned = f32(1000, 1040, 1000);

    asked.batch = tuned.batch = TJ_ANY;
    cr_expect(eq(int, chosen_beside(&asked, &tuned, &device), TJ_BY_NEAREST));
    asked.batch = 4;
    cr_expect(ne(int, chosen_beside(&asked, &tuned, &device), TJ_BY_NEAREST));
    tuned.batch = 5;
    cr_expect(eq(int, chosen_beside(&asked, &tuned, &device), TJ_BY_NEAREST));
}

/* One that differs in its L2 alone is another, and a record of it must be of a problem that is nearer. */
Test(choice, trusts_a_record_of_another_device_less)
{
    const tj_device_facts device = h200();
    const tj_problem asked = f32(1000, 1000, 1000), near = f32(1000, 1200, 1000);

    cr_expect(eq(int, chosen_beside(&asked, &near, &device), TJ_BY_NEAREST));
    for (int i = 0; i < 3; i++) {
        tj_device_facts other = h200();

        other.name[0] = i == 0 ? 'n' : 'N';
        other.sm_count -= i == 1;
        other.l2_bytes /= i == 2 ? 2 : 1;
        cr_expect(eq(int, chosen_beside(&asked, &asked, &other), TJ_BY_NEAREST), "%d", i);
        cr_expect(ne(int, chosen_beside(&asked, &near, &other), TJ_BY_NEAREST), "%d", i);
    }
}

/* Near is not good: a neighbour's config must be about as fast as the model's own, by the model. */
Test(choice, takes_no_near_record_that_the_model_thinks_little_of)
{
    static const struct {
        double least, most; /* times the model's own */
        tj_chosen_by by;
    } rows[] = {{1, 1.09, TJ_BY_NEAREST}, {1.11, 1.5, TJ_BY_MODEL}, {2, 1e9, TJ_BY_MODEL}};
    const tj_device_facts device = h200();
    const tj_problem asked = f32(1000, 1000, 1000), tuned = f32(1000, 1040, 1000);
    tj_config best;
    double own;

    cr_assert(eq(int, tj_choose(NULL, &asked, &device, &best, NULL, &err), TJ_OK), "%s", err.message);
    own = predicted(&device, &asked, &best);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_record fields = fields_of(&tuned, 50, 80);
        tj_records *records = tj_records_create();
        tj_config other, chosen;
        tj_space *space;
        tj_chosen_by by;
        double share;

        cr_assert(eq(int, tj_space_create(&asked, &device, best.family, &space, &err), TJ_OK), "%s", err.message);
        do {
            cr_assert(tj_space_next(space, &other), "row %zu: no such config", i);
            share = predicted(&device, &asked, &other) / own;
        } while (share < rows[i].least || share > rows[i].most || memcmp(&other, &best, sizeof best) == 0);
        tj_space_free(space);
        tj_config_print(&other, fields.config);
        cr_assert(eq(int, tj_records_add(records, tj_record_create(&fields), &err), TJ_OK));
        cr_assert(eq(int, tj_choose(records, &asked, &device, &chosen, &by, &err), TJ_OK), "%s", err.message);
        cr_expect(eq(int, by, rows[i].by), "row %zu: %.2f times the model's own", i, share);
        cr_expect(memcmp(&chosen, by == TJ_BY_NEAREST ? &other : &best, sizeof chosen) == 0, "row %zu", i);
        tj_records_free(records);
    }
}

/* The first caller's extent must not decide for all the others, nor what near records there are. */
Test(choice, of_an_open_dimension_is_the_same_whoever_comes_first)
{
    static const int64_t extents[] = {1, 37, 4096, 1000000};
    const tj_device_facts device = h200();

    for (int i = 0; i < 3; i++) {
        tj_config first, config;

        for (size_t e = 0; e < sizeof extents / sizeof extents[0]; e++) {
            tj_problem problem = f32(512, 512, 512);
            tj_dim *const dim[] = {&problem.j, &problem.k, &problem.l};

            *dim[i] = (tj_dim){extents[e], TJ_DIM_ANY, 0};
            cr_assert(eq(int, tj_choose(NULL, &problem, &device, &config, NULL, &err), TJ_OK), "%s", err.message);
            if (e == 0)
                first = config;
            cr_expect(memcmp(&config, &first, sizeof config) == 0, "%c of %lld", "jkl"[i], (long long)extents[e]);
        }
    }
}
