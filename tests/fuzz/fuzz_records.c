/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/*
 * libFuzzer: any text as a file of records. An accepted one must print, in both formats, as a text that gives the same records
 * back, and must not mislead the chooser. Checksums are corrected first, or no damaged text would pass them.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/tools.h>

#include "hash.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

static void seal(json_t *record)
{
    char hex[TJ_HASH_HEX_BYTES];
    char *text;

    if (!json_is_object(record))
        return;
    (void)json_object_del(record, "checksum");
    text = json_dumps(record, JSON_COMPACT | JSON_SORT_KEYS);
    if (!text)
        abort();
    tj_hash_hex(tj_hash_bytes(text, strlen(text)), hex);
    (void)json_object_set_new(record, "checksum", json_string(hex));
    free(text);
}

/* The text with sound checksums; NULL: it is not JSON. */
static char *sealed(const char *text)
{
    json_t *root = json_loads(text, 0, NULL);
    char *result;

    for (size_t i = 0; i < json_array_size(json_object_get(root, "tilejit_records")); i++)
        seal(json_array_get(json_object_get(root, "tilejit_records"), i));
    for (size_t i = 0; i < json_array_size(json_object_get(root, "results")); i++)
        seal(json_object_get(json_array_get(json_object_get(root, "results"), i), "tilejit"));
    result = root ? json_dumps(root, 0) : NULL;
    json_decref(root);
    return result;
}

static tj_records *read_records(const char *text, const tj_problem *problem, const tj_device_facts *device)
{
    tj_records *records = tj_records_create();
    tj_error err;

    if (tj_records_parse(text, problem, device, records, NULL, &err) == TJ_OK)
        return records;
    if (!err.message[0])
        abort();
    tj_records_free(records);
    return NULL;
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    const tj_problem problem = TJ_PROBLEM_INIT(33, 20, 47, TJ_F32);
    tj_config config = TJ_CONFIG_INIT;
    char *text = malloc(size + 1), *sound;
    tj_device_facts device = TJ_DEVICE_FACTS_INIT;
    tj_records *records;

    memcpy(text, bytes, size);
    text[size] = '\0';
    if (tj_device_named("sm_90", &device, NULL) != TJ_OK)
        abort();
    sound = sealed(text);
    records = read_records(sound ? sound : text, &problem, &device);
    for (int is_t4 = 0; records && is_t4 < 2; is_t4++) {
        char *printed = tj_records_print(records, is_t4);
        tj_records *again = printed ? read_records(printed, &problem, &device) : NULL;

        if (!again || tj_records_count(again) != tj_records_count(records))
            abort();
        for (size_t i = 0; i < tj_records_count(records); i++) {
            char *one = tj_record_print(tj_records_at(records, i)), *other = tj_record_print(tj_records_at(again, i));

            if (strcmp(one, other) != 0)
                abort();
            free(one);
            free(other);
        }
        tj_records_free(again);
        free(printed);
    }
    if (records && tj_records_count(records) > 0 && tj_choose(records, &problem, &device, &config, NULL, NULL) != TJ_OK)
        abort();
    tj_records_free(records);
    free(sound);
    free(text);
    return 0;
}
