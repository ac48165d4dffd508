/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Records: that they survive JSON, that merging does not depend on the order, and that nothing damaged is believed.
 */
#include "record_test.h"

TestSuite(records, .init = make_folder, .fini = remove_folder);

Test(records, survive_json_byte_for_byte)
{
    const tj_problem problems[] = {f32(512, 300, 700), strange_problem(), pointing_problem(), mixed_problem(),
                                   tf32_problem(),     grouped_problem(), masked_problem()};

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
    static const char *const members[] = {"n_dtype",      "compute",         "scale_m",   "scale_n",       "groups",
                                          "offset_bytes", "offsets_on_host", "rows_kind", "expected_rows", "gathered",
                                          "scattered",    "combined",        "symmetric"};
    const tj_problem old = f32(33, 5, 48),
                     problems[] = {
                         old, mixed_problem(), tf32_problem(), strange_problem(), grouped_problem(), masked_problem()};
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

/* One triangle is another problem than all of P, and is read again as it was written. */
Test(records, tell_one_triangle_from_all_of_p)
{
    tj_problem p = f32(40, 8, 40), parsed;
    tj_record *const all = record_of(&p, 5, 80), *triangle;
    tj_error err = {TJ_OK, ""};
    char *text;

    p.symmetric = TJ_SYMMETRIC_UPPER;
    triangle = record_of(&p, 5, 80);
    cr_expect(ne(int, strcmp(all->key, triangle->key), 0));
    text = tj_problem_to_json(&p);
    cr_assert(eq(int, tj_problem_from_json(text, &parsed, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, parsed.symmetric, TJ_SYMMETRIC_UPPER));
    free(text);
    tj_record_free(triangle);
    tj_record_free(all);
}

/* A record counts the forms of scales: 1 one, 2 each, 3 along k for scale_k elements. */
Test(records, keep_the_numbers_of_scales)
{
    static const struct {
        const char *old, *new, *words;
    } wrong[] = {{"\"scale_k\":32", "\"scale_k\":0 ", "scale_n of a record's problem is 3, along k, and its scale_k is 0"},
                 {"\"scale_n\":3", "\"scale_n\":2", "scale_k of a record's problem is 32, and no scales are along k"},
                 {"\"scale_n\":3", "\"scale_n\":4", "scale_n of a record's problem is 4: it must be 0 to 3"}};
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

/* Scales without such a form are text, which older versions refuse as a number of a form. */
Test(records, keep_scales_of_any_form)
{
    tj_problem p = f32(8, 64, 8), parsed;
    tj_error err = {TJ_OK, ""};

    p.n.type = TJ_S8;
    p.scale[TJ_MATRIX_M] = (tj_scale){TJ_F32, TJ_SCALES_ROW_BY_ROW, .rows = 1, .k = 128};
    p.scale[TJ_MATRIX_N] = (tj_scale){TJ_BF16, .zero = TJ_U4, .whole = 1, .rows = 1, .k = 32};
    char *text = tj_problem_to_json(&p), *again, *form;

    cr_expect(strstr(text, "\"scale_n\":\"bf16:1x32:zero=u4:whole\"") && !strstr(text, "scale_k"), "%s", text);
    cr_assert(eq(int, tj_problem_from_json(text, &parsed, &err), TJ_OK), "%s", err.message);
    again = tj_problem_to_json(&parsed);
    cr_expect(eq(str, text, again));
    form = strstr(text, "bf16:1x32");
    memcpy(form, "bf16:1y32", 9);
    cr_expect(eq(int, tj_problem_from_json(text, &parsed, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "scale_n of a record's problem is \"bf16:1y32") != NULL, "%s", err.message);
    free(again);
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
