/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit tune, as a user types it, on the emulator.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <jansson.h>

#include "shell.h"

static void assign_variables(char *assignments, size_t bytes)
{
    snprintf(assignments, bytes, "TILEJIT_DRIVER=emulator");
}

TestSuite(tune_command, .init = make_folder, .fini = remove_folder, .timeout = 280);

static json_t *answer(void)
{
    json_t *root = json_loads(out, JSON_REJECT_DUPLICATES, NULL);

    cr_assert(root != NULL, "no JSON: %s", out);
    return root;
}

static json_int_t number(const json_t *root, const char *name)
{
    return json_integer_value(json_object_get(root, name));
}

static bool is_set(const json_t *root, const char *name)
{
    const json_t *value = json_object_get(root, name);

    cr_assert(value != NULL, "no %s", name);
    return json_boolean_value(value);
}

Test(tune_command, finds_keeps_uses_and_passes_over)
{
    json_t *root;
    const json_t *shapes, *first;
    char config[512];

    NEEDS_COMPILER();
    cr_assert(eq(int,
                 shell("printf '# two\\ncube,16,16,16,1\\n\\n24,8,40\\n' >shapes.csv; $T tune 20x10x30 --shapes shapes.csv "
                       "--family tiled --evaluations 4 --threads 2 --json --trials trials.tsv"),
                 0),
              "%s", errors);
    root = answer();
    shapes = json_object_get(root, "shapes");
    cr_assert(eq(sz, json_array_size(shapes), 3));
    first = json_array_get(shapes, 0);
    cr_expect(eq(i64, number(first, "evaluations"), 4));
    cr_expect(eq(i64, number(first, "wrong"), 0));
    cr_expect(is_set(first, "recorded") && !is_set(first, "cancelled"));
    snprintf(config, sizeof config, "%s", json_string_value(json_object_get(first, "config")));
    json_decref(root);
    cr_expect(eq(int, shell("test $(grep -c '^[^#]' trials.tsv) = 12 && cut -f3 trials.tsv | grep -c timed"), 0), "%s", out);
    cr_expect(eq(int,
                 shell("$T tune 8x8x8 --batch 5 --family tiled --evaluations 1 --no-record --trials batch.tsv && "
                       "test \"$(grep '^[^#]' batch.tsv | cut -f1)\" = '8x8x8 b5'"),
                 0),
              "%s%s", out, errors);
    cr_expect(eq(int, shell("$T run 20x10x30 --json"), 0), "%s", errors);
    root = answer();
    config[strcspn(config, ",")] = '\0'; /* family and first parameter; the rest is spelled out there */
    cr_expect(strncmp(json_string_value(json_object_get(root, "config")), config, strlen(config)) == 0, "%s, not %s", out,
              config);
    json_decref(root);
    cr_expect(eq(int, shell("$T tune 20x10x30 20x10x31 --family tiled --evaluations 4 --resume --json"), 0), "%s", errors);
    root = answer();
    shapes = json_object_get(root, "shapes");
    cr_expect(is_set(json_array_get(shapes, 0), "skipped"));
    cr_expect(is_set(json_array_get(shapes, 1), "skipped") == false);
    json_decref(root);
    /* Four are few where no number is named; the next time all of the family have been tried. */
    for (int before = 0; before < 2; before++) {
        cr_expect(eq(int, shell("$T tune 20x10x31 --family tiled --resume --json"), 0), "%s", errors);
        root = answer();
        first = json_array_get(json_object_get(root, "shapes"), 0);
        cr_expect(is_set(first, "skipped") == (before == 1), "%s", out);
        cr_expect(before == 1 || json_number_value(json_object_get(first, "before_us")) > 0, "%s", out);
        json_decref(root);
    }
}

Test(tune_command, shares_shapes_between_devices)
{
    json_t *root;
    const json_t *shapes;
    int on[2] = {0, 0};

    NEEDS_COMPILER();
    cr_assert(
        eq(int,
           shell("CUDA_EMULATOR_DEVICES=sm_90,sm_90 $T tune 20x10x30 20x10x31 20x10x32 20x10x33 20x10x34 20x10x35 --devices "
                 "0,1 --family tiled --evaluations 3 --threads 1 --json"),
           0),
        "%s", errors);
    root = answer();
    shapes = json_object_get(root, "shapes");
    cr_assert(eq(sz, json_array_size(shapes), 6));
    for (size_t i = 0; i < 6; i++) {
        const json_t *shape = json_array_get(shapes, i);
        const int64_t device = number(shape, "device_ordinal");

        cr_assert(device == 0 || device == 1);
        on[device]++;
        cr_expect(is_set(shape, "recorded"));
    }
    cr_expect(on[0] > 0 && on[1] > 0, "%d and %d", on[0], on[1]);
    json_decref(root);
    /* One that is not there leaves its shapes to the others, and is told of. */
    cr_expect(eq(
        int, shell("CUDA_EMULATOR_DEVICES=sm_90,sm_90 $T tune 21x10x30 21x10x31 --devices 0,7 --family tiled --evaluations 2"),
        1));
    cr_expect(strstr(errors, "7") != NULL, "%s", errors);
    cr_expect(strstr(out, "21x10x30: ") && strstr(out, "21x10x31: "), "%s", out);
}

Test(tune_command, moves_records_between_stores)
{
    json_t *root;

    NEEDS_COMPILER();
    cr_assert(eq(int,
                 shell("$T tune 20x10x30 24x8x40 --family tiled --evaluations 3 && $T tune --export all.json && "
                       "$T tune --export t4.json --t4 && $T tune --export - >same.json && cmp all.json same.json"),
                 0),
              "%s", errors);
    cr_expect(eq(int, shell("export TILEJIT_CACHE_DIR=$PWD/other; $T tune --import t4.json --json"), 0), "%s", errors);
    root = answer();
    cr_expect(eq(i64, number(root, "read"), 2));
    cr_expect(eq(i64, number(root, "kept"), 2));
    json_decref(root);
    cr_expect(eq(int, shell("export TILEJIT_CACHE_DIR=$PWD/other; $T tune --import all.json --json"), 0), "%s", errors);
    root = answer();
    cr_expect(eq(i64, number(root, "kept"), 0), "they are there");
    json_decref(root);
    cr_expect(eq(int, shell("export TILEJIT_CACHE_DIR=$PWD/other; $T tune --export other.json && cmp all.json other.json"), 0),
              "%s", errors);
    cr_expect(eq(int, shell("$T tune --merge all.json,t4.json,all.json -o merged.json && cmp all.json merged.json"), 0), "%s",
              errors);
    cr_expect(eq(int, shell("head -c 700 all.json >half.json; $T tune --import half.json"), 1));
    cr_expect(strstr(errors, "half.json") != NULL, "%s", errors);
    cr_expect(eq(int, shell("sed 's/20,/21,/' all.json >edited.json; $T tune --import edited.json"), 1));
    cr_expect(strstr(errors, "checksum") != NULL, "%s", errors);
}

Test(tune_command, keeps_what_it_found_when_it_is_interrupted)
{
    json_t *root;
    const json_t *shape;

    NEEDS_COMPILER();
    cr_assert(eq(int,
                 shell("$T tune 32x32x32 16x16x16 --budget 1h --evaluations 100000 --json --trials trials.tsv & pid=$!; "
                       "for i in $(seq 200); do test -s trials.tsv && test $(wc -l <trials.tsv) -gt 6 && break; sleep 0.1; "
                       "done; kill -INT $pid; wait $pid"),
                 130),
              "%s %s", out, errors);
    cr_expect(strstr(errors, "interrupted: what was found for 1 of 2 shapes is kept") != NULL, "%s", errors);
    root = answer();
    shape = json_array_get(json_object_get(root, "shapes"), 0);
    cr_expect(is_set(shape, "done") && is_set(shape, "cancelled") && is_set(shape, "recorded"), "%s", out);
    shape = json_array_get(json_object_get(root, "shapes"), 1);
    cr_expect(is_set(shape, "done") == false && json_object_get(shape, "config") == NULL,
              "nothing is said of what was not tuned: %s", out);
    json_decref(root);
    cr_expect(eq(int, shell("$T tune --export - --json | grep -c checksum"), 0), "%s", errors);
    cr_expect(eq(int, shell("$T run 32x32x32"), 0), "%s", errors);
}

/* The first waits for the trial to end and keeps what was found; whoever cannot wait for that asks again. */
Test(tune_command, ends_at_once_when_it_is_interrupted_twice)
{
    NEEDS_COMPILER();
    cr_expect(
        ge(int,
           shell("$T tune 300x300x300 --family tiled --verbose 2>log & pid=$!; for i in $(seq 600); do grep -q timed log && "
                 "break; sleep 0.1; done; kill -INT $pid; kill -TERM $pid; wait $pid"),
           130),
        "%s %s", out, errors);
    cr_expect(eq(int, shell("grep -q timed log && ! grep -q interrupted log"), 0), "it went on to sum up");
}

Test(tune_command, says_when_it_cannot_write_the_trials)
{
    NEEDS_COMPILER();
    cr_expect(eq(int, shell("$T tune 16x16x16 --family naive --evaluations 2 --no-record --trials /dev/full"), 1), "%s", out);
    cr_expect(strstr(errors, "cannot write /dev/full") != NULL, "%s", errors);
}

Test(tune_command, says_when_it_cannot_keep_a_record)
{
    NEEDS_COMPILER();
    cr_expect(eq(int, shell("$T tune 16x16x16 --family naive --evaluations 2 --no-cache"), 0), "%s", errors);
    cr_expect(strstr(out, "no record kept") != NULL, "%s", out);
}

Test(tune_command, refuses_wrong_words)
{
    static const struct {
        const char *words, *complaint;
        int code;
    } rows[] = {
        {"tune", "tune what?", 2},
        {"tune 16x16", "16x16", 2},
        {"tune 0x16x16", "j", 2},
        {"tune 16x16x16 --budget fast", "--budget is \"fast\"", 2},
        {"tune 16x16x16 --budget 0s", "--budget", 2},
        {"tune 16x16x16 --budget -3m", "--budget", 2},
        {"tune 16x16x16 --evaluations 0", "--evaluations", 2},
        {"tune 16x16x16 --strategy luck", "--strategy", 2},
        {"tune 16x16x16 --family fast", "no family is named \"fast\"", 2},
        {"tune 16x16x16 --devices 0,0", "different", 2},
        {"tune 16x16x16 --devices one", "--devices", 2},
        {"tune 16x16x16 --devices 0 --device 1", "give one", 2},
        {"tune 16x16x16 --threads 100", "--threads", 2},
        {"tune --export a --merge b -o c", "give one", 2},
        {"tune --merge b", "-o", 2},
        {"tune --shapes missing.csv", "missing.csv", 2},
        {"tune --shapes bad.csv", "bad.csv, line 2", 2},
        {"tune --shapes more.csv", "\"f16\" after the batch", 2},
        {"tune --shapes .", "cannot read .", 2},
        {"tune 16x16x16 -o out.json", "--merge", 2},
        {"tune 16x16x16 --t4", "--export", 2},
        {"tune --import missing.json", "missing.json", 1},
        {"tune --import bad.csv", "not JSON", 1},
        {"tune 16x16x16 --trials /nonexistent/trials", "/nonexistent/trials", 1},
        {"tune 16x16x16 --device 7", "7", 1},
    };

    cr_assert(
        eq(int, shell("printf '16,16,16\\n16,16\\n' >bad.csv; printf '# %%700s\\nx,16,16,16,1,f16\\n' long >more.csv"), 0));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect(eq(int, shell("$T %s", rows[i].words), rows[i].code), "%s: %s", rows[i].words, errors);
        cr_expect(strstr(errors, rows[i].complaint) != NULL, "%s: %s", rows[i].words, errors);
    }
}
