/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: nightly (tuner/tune and cli/command run its code) */
/*
 * tilejit tune, as a user types it, on a GPU that is the emulator in disguise (fake_gpu); and on the emulator, which keeps nothing.
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

#include "record.h"
#include "shell.h"

static void assign_variables(char *assignments, size_t bytes)
{
    snprintf(assignments, bytes, "TILEJIT_DRIVER=%s", FAKE_GPU_PATH);
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
                       "test \"$(grep '^[^#]' batch.tsv | cut -f1)\" = '8x8x8 b5' && "
                       "test \"$(grep '^[^#]' batch.tsv | cut -f11)\" = 'j8 k8 l8 f32 batch=5'"),
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
    cr_expect(eq(int, shell("$T tune 20x10x30 --family tiled --evaluations 4 --seed 5"), 0), "%s", errors);
    cr_expect(strstr(out, "has a record already") == NULL, "nobody asked to resume: %s", out);
    cr_expect(eq(int, shell("$T tune --export - >kept.json && grep -q '\"seed\": 5' kept.json"), 0), "%s", errors);
    cr_expect(eq(int, shell("test $(grep -c checksum kept.json) = 4"), 0), "of 8x8x8 none was wanted");
}

/* A space of some thousand configs. */
Test(tune_command, ends_with_its_budget)
{
    json_t *root;
    const json_t *shape;

    NEEDS_COMPILER();
    cr_assert(eq(int, shell("$T tune 64x64x64 --budget 1s --evaluations 100000 --no-record --json"), 0), "%s", errors);
    root = answer();
    shape = json_array_get(json_object_get(root, "shapes"), 0);
    cr_expect(number(shape, "evaluations") > 0 && number(shape, "evaluations") < 1000, "%s", out);
    cr_expect(is_set(shape, "complete") == false && is_set(shape, "cancelled") == false);
    json_decref(root);
}

/* All records of the store as a version with other families would have written them. */
static void write_records_of_another_version(const char *from, const char *to)
{
    tj_records *read = tj_records_create(), *written = tj_records_create();
    char path[PATH_MAX], *text;
    tj_error err;
    FILE *file;

    read_text(from, out);
    cr_assert(eq(int, tj_records_parse(out, NULL, NULL, read, NULL, &err), TJ_OK), "%s", err.message);
    for (size_t i = 0; i < tj_records_count(read); i++) {
        tj_record fields = *tj_records_at(read, i);

        snprintf(fields.config, sizeof fields.config, "warped:speed=9");
        fields.evaluations += 1000;
        cr_assert(eq(int, tj_records_add(written, tj_record_create(&fields), &err), TJ_OK));
    }
    text = tj_records_print(written, 0);
    snprintf(path, sizeof path, "%s/%s", folder, to);
    file = fopen(path, "w");
    cr_assert(file != NULL);
    fputs(text, file);
    fclose(file);
    free(text);
    tj_records_free(read);
    tj_records_free(written);
}

/* All records of a file, as a build that kept the emulator's times would have, in a store. */
static void write_emulated_records(const char *from, const char *records)
{
    tj_records *read = tj_records_create();
    tj_error err;

    read_text(from, out);
    cr_assert(eq(int, tj_records_parse(out, NULL, NULL, read, NULL, &err), TJ_OK), "%s", err.message);
    for (size_t i = 0; i < tj_records_count(read); i++) {
        tj_record fields = *tj_records_at(read, i);
        char name[TJ_RECORD_NAME_BYTES], path[PATH_MAX];
        tj_record *record;
        FILE *file;

        strcpy(fields.policy, "emulated");
        record = tj_record_create(&fields);
        tj_record_name(record, name);
        snprintf(path, sizeof path, "%s/%s/%s", folder, records, name);
        file = fopen(path, "w");
        cr_assert(file != NULL, "%s", path);
        fputs(record->json, file);
        fclose(file);
        tj_record_free(record);
    }
    tj_records_free(read);
}

Test(tune_command, passes_over_what_would_not_be_better_founded)
{
    static const struct {
        const char *options;
        bool is_skipped;
    } rows[] = {
        {"", true}, /* two were tried, and nothing cut that short */
        {"--evaluations 2", true},
        {"--evaluations 3 --no-record", false},
        {"--strategy model", true},
        {"--strategy exhaustive --budget 1s --evaluations 2 --no-record", false},
    };

    NEEDS_COMPILER();
    cr_assert(eq(int, shell("$T tune 8x8x8 --family naive --evaluations 2"), 0), "%s", errors);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_assert(eq(int, shell("$T tune 8x8x8 --family naive --resume %s", rows[i].options), 0), "%s", errors);
        cr_expect(rows[i].is_skipped == (strstr(out, "has a record already") != NULL), "%s: %s", rows[i].options, out);
    }
    cr_assert(eq(int, shell("$T tune --export ours.json"), 0), "%s", errors);
    write_records_of_another_version("ours.json", "theirs.json");
    cr_assert(eq(int, shell("$T tune --import theirs.json && $T tune 8x8x8 --family naive --evaluations 1 --resume"), 0), "%s",
              errors);
    cr_expect(strstr(out, "0 of them new") && strstr(out, "has a record already"), "it displaces none that chooses: %s", out);
    cr_assert(eq(int,
                 shell("export TILEJIT_CACHE_DIR=$PWD/other; $T tune --import theirs.json && $T tune 8x8x8 --family naive "
                       "--evaluations 1 --resume"),
                 0),
              "%s", errors);
    cr_expect(strstr(out, "1 of them new") && strstr(out, "(1 tried"), "its record chooses nothing: %s", out);
}

Test(tune_command, leaves_records_that_the_cache_verbs_show)
{
    json_t *root;
    const json_t *one;

    NEEDS_COMPILER();
    cr_assert(eq(int, shell("$T tune 8x8x8 9x9x9 --family naive --evaluations 1 && $T cache list"), 0), "%s", errors);
    cr_expect(strstr(out, "KERNEL") && strstr(out, "8x8x8 f32") && strstr(out, "9x9x9 f32") && strstr(out, "Fake GPU"), "%s",
              out);
    cr_assert(eq(int, shell("$T cache list --json"), 0), "%s", errors);
    root = answer();
    cr_assert(eq(sz, json_array_size(json_object_get(root, "records")), 2), "%s", out);
    one = json_array_get(json_object_get(root, "records"), 0);
    cr_expect(eq(i64, number(one, "evaluations"), 1));
    cr_expect(eq(str, (char *)json_string_value(json_object_get(one, "family")), "naive"));
    cr_expect(eq(str, (char *)json_string_value(json_object_get(one, "device")), "Fake GPU"));
    cr_expect(json_real_value(json_object_get(one, "median_us")) > 0 && is_set(one, "complete") == false);
    json_decref(root);
    cr_assert(eq(int, shell("chmod 664 store/v1/records/$(ls store/v1/records | head -1); $T cache stats"), 0), "%s", errors);
    cr_expect(strstr(out, "records    1, not used 1") != NULL, "%s", out);
    cr_assert(eq(int, shell("$T cache stats --json"), 0), "%s", errors);
    root = answer();
    cr_expect(number(root, "records") == 1 && number(root, "records_passed_over") == 1);
    json_decref(root);
    cr_assert(eq(int, shell("$T cache list"), 0));
    cr_expect(strstr(errors, "records that are not used: 1") != NULL, "%s", errors);
    cr_assert(eq(int, shell("$T cache clear && $T cache list"), 0), "records stay: %s", errors);
    cr_expect(strstr(out, "KERNEL") == NULL && strstr(out, "TUNED") != NULL, "%s", out);
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
}

Test(tune_command, tunes_nothing_unless_all_devices_are_there)
{
    NEEDS_COMPILER();
    cr_expect(
        eq(int,
           shell("echo old >trials.tsv; CUDA_EMULATOR_DEVICES=sm_90,sm_90 $T tune 21x10x30 21x10x31 --devices 0,7 --trials "
                 "trials.tsv; code=$?; grep old trials.tsv; exit $code"),
           1));
    cr_expect(strstr(errors, "device 7 cannot be used") && strstr(errors, "numbered from 0"), "%s", errors);
    cr_expect(strcmp(out, "old\n") == 0, "%s", out);
}

/* A block with more instructions than the budget counts as endless, which loses the emulated device. */
Test(tune_command, gives_the_shape_of_a_lost_device_to_another_one_once)
{
    NEEDS_COMPILER();
    cr_expect(eq(int,
                 shell("CUDA_EMULATOR_BUDGET=200 CUDA_EMULATOR_DEVICES=sm_90,sm_90 $T tune 64x64x200 --devices 0,1 --family "
                       "naive --evaluations 1"),
                 1));
    cr_expect(strstr(errors, "is lost, another one takes 64x64x200") != NULL, "%s", errors);
    cr_expect(strstr(out, "64x64x200: FAILED") != NULL, "%s", out);
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
    cr_expect(eq(int, shell("$T tune --merge all.json,t4.json -o t4again.json --t4 && grep -q schema_version t4again.json"), 0),
              "%s", errors);
    cr_expect(eq(int,
                 shell("{ cat all.json; head -c 100000 /dev/zero | tr '\\0' ' '; } >padded.json; $T tune --import padded.json "
                       "--json"),
                 0),
              "%s", errors);
    root = answer();
    cr_expect(eq(i64, number(root, "read"), 2), "of a file of more than one buffer");
    json_decref(root);
    cr_expect(eq(int, shell("head -c 700 all.json >half.json; $T tune --import half.json"), 1));
    cr_expect(strstr(errors, "half.json") != NULL, "%s", errors);
    cr_expect(eq(int, shell("sed 's/20,/21,/' all.json >edited.json; $T tune --import edited.json"), 1));
    cr_expect(strstr(errors, "checksum") != NULL, "%s", errors);
}

Test(tune_command, leaves_an_old_backup_where_the_store_cannot_be_used)
{
    json_t *root;

    NEEDS_COMPILER();
    cr_assert(eq(int, shell("$T tune 8x8x8 9x9x9 --family naive --evaluations 1 && $T tune --export all.json"), 0), "%s",
              errors);
    cr_expect(eq(int, shell("chmod 777 store; $T tune --export all.json"), 1));
    cr_expect(strstr(errors, "store is not used: others can write to it") != NULL, "%s", errors);
    cr_expect(eq(int, shell("chmod 700 store; $T tune --export all.json --no-cache"), 1));
    cr_expect(strstr(errors, "the disk is switched off") != NULL, "%s", errors);
    cr_expect(eq(int,
                 shell("chmod 644 store/v1/records/*; test $(grep -c checksum all.json) = 2 && $T tune --export same.json && "
                       "cmp all.json same.json"),
                 0),
              "%s", errors);
    cr_expect(strstr(out, "passed over") == NULL, "%s", out);
    cr_expect(
        eq(int, shell("cd store/v1/records; set -- *; chmod 664 $1; $T tune --export ../../../some.json --log warning"), 0));
    cr_expect(strstr(out, "1 records written") && strstr(out, "passed over: 1"), "%s", out);
    cr_expect(strstr(errors, "its mode is 664") && strstr(errors, "chmod go-w") && strstr(errors, "store/v1/records/"), "%s",
              errors);
    cr_expect(
        eq(int, shell("echo '{}' >store/v1/records/$(ls store/v1/records | tail -1); $T tune --export some.json --json"), 0));
    root = answer();
    cr_expect(eq(i64, number(root, "written"), 0));
    cr_expect(eq(i64, number(root, "passed_over"), 2));
    json_decref(root);
}

/* Begin a tuning without an end, as $pid, and wait until it notes signals instead of ending by them: then it opens the file of trials. */
#define BEGIN(shapes)                                                                                               \
    "rm -f seen.tsv; $T tune " shapes " --budget 1h --evaluations 100000 --trials seen.tsv --json >json & pid=$!; " \
    "for i in $(seq 2000); do test -e seen.tsv && break; sleep 0.005; done; "

/* NVRTC ignores SIGINT for a moment as its first compile begins: the kernel drops one that waits then, and the user sends another. */
#define INTERRUPT \
    "kill -INT $pid; for i in $(seq 200); do test -s json && break; sleep 0.1; done; test -s json || kill -INT $pid; "

/* Also while NVRTC has handlers of its own in place, which is during the first compile. */
Test(tune_command, is_interrupted_in_order_at_any_time)
{
    json_t *root;
    int ended;

    NEEDS_COMPILER();
    for (int ms = 40; ms < 100; ms += 12) {
        cr_expect(eq(int,
                     shell("rm -rf store json; " BEGIN("32x32x32") "sleep 0.0%d; %s wait $pid", ms,
                           ms % 24 == 16 ? INTERRUPT : "kill -TERM $pid;"),
                     ms % 24 == 16 ? 130 : 143),
                  "after %d ms: %s", ms, errors);
        read_text("json", out);
        root = answer();
        cr_expect(json_object_get(root, "shapes") != NULL);
        json_decref(root);
    }
    /* Two of one kind might become one on a busy machine; and of two that wait, the lower number is taken first. */
    ended = shell(BEGIN("32x32x32") "sleep 0.04; kill -TERM $pid; for i in 1 2 3; do kill -INT $pid 2>no; sleep 0.02; done; "
                                    "wait $pid");
    cr_expect(ended == 128 + 2 || ended == 128 + 15, "%d: %s", ended, errors);
    read_text("json", out);
    root = answer();
    cr_expect(json_object_get(root, "error") && !json_object_get(root, "shapes"), "a second one ends it at once: %s", out);
    json_decref(root);
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
    cr_expect(strstr(errors, "interrupted: shapes tuned: 1 of 2, passed over: 0, records kept: 1") != NULL, "%s", errors);
    root = answer();
    shape = json_array_get(json_object_get(root, "shapes"), 0);
    cr_expect(is_set(shape, "done") && is_set(shape, "cancelled") && is_set(shape, "recorded"), "%s", out);
    shape = json_array_get(json_object_get(root, "shapes"), 1);
    cr_expect(is_set(shape, "done") == false && json_object_get(shape, "config") == NULL,
              "nothing is said of what was not tuned: %s", out);
    json_decref(root);
    cr_expect(eq(int, shell("$T tune --export - | grep -c checksum"), 0), "%s", errors);
    cr_expect(eq(int, shell("$T run 32x32x32"), 0), "%s", errors);
    cr_expect(eq(int, shell("$T tune 32x32x32 --resume --budget 1s"), 0), "%s", errors);
    cr_expect(strstr(out, "has a record already") == NULL, "it was cut short: %s", out);
    cr_expect(eq(int,
                 shell(BEGIN("16x16x16 --no-record") "for i in $(seq 200); do test $(wc -l <seen.tsv) -gt 3 && break; "
                                                     "sleep 0.05; done; kill -INT $pid; wait $pid"),
                 130));
    cr_expect(strstr(errors, "tuned: 1 of 1, passed over: 0, records kept: 0") != NULL, "%s", errors);
}

/* The first waits for the trial to end and keeps what was found; whoever cannot wait for that asks again. */
Test(tune_command, ends_at_once_when_it_is_interrupted_twice)
{
    NEEDS_COMPILER();
    cr_expect(
        eq(int,
           shell("$T tune 300x300x300 --family tiled --verbose 2>log & pid=$!; for i in $(seq 600); do grep -q timed log && "
                 "break; sleep 0.1; done; kill -INT $pid; kill -TERM $pid; wait $pid"),
           128 + 15),
        "%s %s", out, errors);
    cr_expect(eq(int, shell("grep -q timed log && ! grep -q 'shapes tuned' log && grep -q 'ended by SIGTERM' log"), 0),
              "it went on to sum up");
}

Test(tune_command, writes_the_trials_to_stdout)
{
    NEEDS_COMPILER();
    cr_expect(eq(int, shell("$T tune 16x16x16 --family naive --evaluations 2 --no-record --trials -"), 0), "%s", errors);
    cr_expect(strncmp(out, "# device {", 10) == 0 && strstr(out, "\n# shape\t") && strstr(out, "tried") == NULL, "%s", out);
    cr_expect(strstr(errors, "16x16x16: ") != NULL, "%s", errors);
}

/* A table of a device, and a choice by it. */
Test(tune_command, packs_trials_into_a_table_that_choices_go_by)
{
    NEEDS_COMPILER();
    cr_assert(eq(int,
                 shell("$T tune 16x16x16 --evaluations 3 --no-record --trials a.tsv && $T tune 17x16x16 --evaluations 2 "
                       "--no-record --trials b.tsv && $T tune --pack-trials a.tsv,b.tsv -o folder.tjtrials"),
                 0),
              "%s", errors);
    cr_expect(strstr(out, "Fake GPU: trials of 2 problems, ") && strstr(out, "bytes written to folder.tjtrials\n"), "%s", out);
    cr_expect(eq(int,
                 shell("mkdir -p tables && cp folder.tjtrials tables/a.tjtrials && head -c 700 folder.tjtrials "
                       ">tables/cut.tjtrials && TILEJIT_TRIALS=tables $T explain 16x16x16 --log warning"),
                 0),
              "%s", errors);
    cr_expect(
        strstr(out, "chosen by  measured: a table of trials has this problem\n           j16 k16 l16 f32 on Fake GPU: 5") !=
            NULL,
        "%s", out);
    cr_expect(strstr(errors, "tables/cut.tjtrials is not used to choose configs: it is cut or damaged") != NULL, "%s", errors);
    cr_expect(eq(int, shell("TILEJIT_TRIALS=tables $T explain 20x16x16 --json | grep -q '\"chosen_by\": *\"nearest\"'"), 0),
              "%s", out);
    (void)shell("TILEJIT_TRIALS=tables $T doctor");
    cr_expect(strstr(out, "tables/a.tjtrials: 2 problems measured on Fake GPU\n") != NULL, "%s", out);
    cr_expect(strstr(out, "note     trials    tables/cut.tjtrials: it is cut or damaged") != NULL, "%s", out);
    cr_expect(eq(int, shell("TILEJIT_TRIALS=off $T explain 16x16x16"), 0), "%s", errors);
    cr_expect(strstr(out, "measured: ") == NULL, "%s", out);
    cr_expect(eq(int, shell("$T tune --pack-trials a.tsv"), 2));
    cr_expect(strstr(errors, "--pack-trials needs -o: where to write the table") != NULL, "%s", errors);
    cr_expect(
        eq(int,
           shell("$T tune --pack-trials a.tsv -o one.tjtrials && $T tune --pack-trials one.tjtrials,b.tsv -o both.tjtrials && "
                 "cmp both.tjtrials folder.tjtrials"),
           0),
        "a table is extended: %s", errors);
    cr_expect(ne(int, shell("$T tune --pack-trials tables/cut.tjtrials -o again.tjtrials"), 0));
    cr_expect(strstr(errors, "tables/cut.tjtrials: it is cut or damaged") != NULL, "%s", errors);
}

Test(tune_command, reads_shapes_as_programs_write_them)
{
    NEEDS_COMPILER();
    cr_expect(
        eq(int,
           shell(
               "printf '\\357\\273\\277# by hand\\r\\n category , j,k,l,batch\\r\\ncube, 4 ,\\t5,6 ,2 \\r\\n\\r7,8,9\\r 4x4x4 "
               "\\n3,3,3' >shapes.csv; $T tune --shapes shapes.csv --family naive --evaluations 1 --no-record"),
           0),
        "%s", errors);
    cr_expect(strstr(out, "4x5x6 b2: ") && strstr(out, "\n7x8x9: ") && strstr(out, "\n4x4x4: ") && strstr(out, "\n3x3x3: "),
              "%s", out);
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
    cr_expect(strstr(out, " s, no record kept)") != NULL, "what was asked for needs no reason: %s", out);
}

/* Each part with a store of its own, as on machines that share nothing: put together they are what one machine finds. */
Test(tune_command, shards_merge_to_the_whole)
{
    static const char how[] = "tune --shapes l.csv --family naive --evaluations 1 --threads 1";

    NEEDS_COMPILER();
    cr_assert(eq(int,
                 shell("mkdir parts; printf '16x16x16\\n8,24,40\\n20,10,30\\n' >l.csv; "
                       "TILEJIT_CACHE_DIR=$PWD/a $T %s --shard 0/2 -o parts/0.json && "
                       "TILEJIT_CACHE_DIR=$PWD/b $T %s --shard 1/2 -o parts/1.json && "
                       "TILEJIT_CACHE_DIR=$PWD/a $T %s --shard 0/2 --resume -o again.json && cmp again.json parts/0.json && "
                       "$T tune --merge parts -o all.json && $T tune --merge parts/1.json,parts,all.json -o again.json && "
                       "cmp all.json again.json && $T tune --import all.json",
                       how, how, how),
                 0),
              "%s", errors);
    cr_expect(strstr(out, "3 records read, 3 of them new") != NULL, "%s", out);
    cr_expect(eq(int, shell("$T %s --shard 9/10 -o none.json && $T %s --resume", how, how), 0), "%s", errors);
    cr_expect(strstr(out, "16x16x16: has a record") && strstr(out, "20x10x30: has a record"), "%s", out);
}

Test(tune_command, refuses_wrong_words)
{
    static const struct {
        const char *words, *complaint;
        int code;
    } rows[] = {
        {"tune", "there is no shape to tune", 2},
        {"tune 16x16", "16x16", 2},
        {"tune 0x16x16", "j", 2},
        {"tune 16x16x16 --budget fast", "--budget is \"fast\"", 2},
        {"tune 16x16x16 --budget 0s", "--budget", 2},
        {"tune 16x16x16 --budget -3m", "--budget", 2},
        {"tune 16x16x16 --budget 200000m", "--budget", 2}, /* more than 1e7 seconds */
        {"tune 16x16x16 --budget 2800h", "--budget", 2},
        {"tune --import .", "no *.json lies in .", 1},
        {"tune 16x16x16 --evaluations 0", "--evaluations", 2},
        {"tune 16x16x16 --strategy luck", "--strategy", 2},
        {"tune 16x16x16 --family fast", "no family is named \"fast\"", 2},
        {"tune 16x16x16 --devices 0,0", "different", 2},
        {"tune 16x16x16 --devices one", "--devices", 2},
        {"tune 16x16x16 --devices 0 --device 1", "give one", 2},
        {"tune 16x16x16 --threads 100", "--threads", 2},
        {"tune --export a --merge b -o c", "give one", 2},
        {"tune --merge b", "-o", 2},
        {"tune --shapes missing.csv", "missing.csv", 1},
        {"tune --shapes bad.csv", "bad.csv, line 2", 1},
        {"tune --shapes more.csv", "\"f16\" after the batch", 1},
        {"tune --shapes .", "cannot read .: it is a folder", 1},
        {"tune --shapes nul.csv", "nul.csv is not a text file: it has a NUL byte at offset 4", 1},
        {"tune --shapes none.csv", "none.csv names no shape", 1},
        {"tune --shapes long.csv", "line 3: shape \"8x1234567890123456789012345678901234567890x8\"", 1},
        {"tune --shapes long.csv", "k is 1234567890123456789012345678901234567890:", 1},
        {"tune 16x16x16 --trials - --json", "--json and --trials -", 2},
        {"tune --export - --json", "--json and --export -", 2},
        {"tune --merge a -o - --json", "--json and -o -", 2},
        {"generate 16x16x16 -o - --json", "--json and -o -", 2},
        {"tune --import a 16x16x16 8x8x8 4x4x4", "--import takes one shape at most; given: 3", 2},
        {"tune --export a 16x16x16", "--export takes no shape; given: 1", 2},
        {"tune --import a --shapes bad.csv", "--shapes", 2},
        {"tune --import a --devices 0", "--devices", 2},
        {"tune --export a --devices 0,1", "--devices", 2},
        {"tune --import bad.csv 16x16x16 --device 9", "no CUDA device 9", 1},
        {"tune 16x16x16 -o -", "name a file for -o", 2},
        {"tune 16x16x16 --shard 2/2", "--shard is \"2/2\": write i/n", 2},
        {"tune 16x16x16 --shard half", "--shard", 2},
        {"tune --merge a -o b --shard 0/2", "--shard", 2},
        {"tune 16x16x16 --t4", "--export", 2},
        {"tune --import missing.json", "missing.json", 1},
        {"tune --import bad.csv", "not JSON", 1},
        {"tune 16x16x16 --trials /nonexistent/trials", "/nonexistent/trials", 1},
        {"tune 16x16x16 --device 7", "7", 1},
    };

    cr_assert(eq(int,
                 shell("printf '16,16,16\\n16,16\\n' >bad.csv; printf '# %%700s\\nx,16,16,16,1,f16\\n' long >more.csv; "
                       "printf '1,2\\n\\0' >nul.csv; echo '# x' >none.csv; "
                       "printf '8,8,8\\r8,8,8\\n8,1234567890123456789012345678901234567890,8' >long.csv"),
                 0));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect(eq(int, shell("$T %s", rows[i].words), rows[i].code), "%s: %s", rows[i].words, errors);
        cr_expect(strstr(errors, rows[i].complaint) != NULL, "%s: %s", rows[i].words, errors);
    }
}

/* ---- without a GPU ------------------------------------------------------------------------------------------------ */

/* Nobody asked for the emulator: at once, without a trial, and with what to do. */
Test(tune_command, refuses_where_there_is_no_gpu)
{
    if (shell("unset TILEJIT_DRIVER; $T devices --device 0") == 0)
        SKIP_TEST("there is a GPU here");
    cr_expect(eq(int, shell("unset TILEJIT_DRIVER; $T tune 512x300x700 --trials trials.tsv; code=$?; ls; exit $code"), 1));
    cr_expect(strstr(errors, "there is no GPU to tune on") && strstr(errors, "--device emulator"), "%s", errors);
    cr_expect(strstr(out, "store") == NULL && strstr(out, "trials.tsv") == NULL, "nothing was begun: %s", out);
    cr_expect(eq(int, shell("unset TILEJIT_DRIVER; $T tune 512x300x700 --devices 0,1"), 1));
    cr_expect(strstr(errors, "there is no GPU to tune on") != NULL, "%s", errors);
    cr_expect(eq(int, shell("TILEJIT_DRIVER=/nonexistent/libcuda.so $T tune 512x300x700"), 1));
    cr_expect(strstr(errors, "/nonexistent/libcuda.so") != NULL, "a driver that was named is named: %s", errors);
}

Test(tune_command, keeps_and_exports_nothing_of_the_emulator_s_times)
{
    json_t *root;
    const json_t *shape;

    NEEDS_COMPILER();
    cr_assert(eq(int, shell("unset TILEJIT_DRIVER; $T tune 20x10x30 --device emulator --family tiled --evaluations 3"), 0),
              "%s", errors);
    cr_expect(strstr(errors, "no time is measured and no record is kept") && strchr(errors, '\n') == strrchr(errors, '\n'),
              "one line: %s", errors);
    cr_expect(strstr(out, "3 tried on the emulator, 0 refused, 0 wrong") && strstr(out, " us") == NULL, "%s", out);
    cr_assert(eq(int, shell("TILEJIT_DRIVER=emulator $T tune 20x10x30 --family tiled --evaluations 3 --json"), 0), "%s",
              errors);
    root = answer();
    shape = json_array_get(json_object_get(root, "shapes"), 0);
    cr_expect(is_set(shape, "emulated") && !is_set(shape, "recorded"));
    cr_expect(strstr(out, "\"median_us\": null") && strstr(out, "\"default_us\": null"), "%s", out);
    json_decref(root);
    cr_expect(eq(int, shell("$T tune --export - | grep -c checksum; ls store/v1/records"), 2), "%s", out);
    cr_expect(strncmp(out, "0\n", 2) == 0, "%s", out);
}

/* As earlier builds kept them: they are in nobody's way, and in no backup. */
Test(tune_command, passes_over_records_of_emulated_times)
{
    json_t *root;

    NEEDS_COMPILER();
    cr_assert(eq(int, shell("$T tune 8x8x8 9x9x9 --family naive --evaluations 1 && $T tune --export ours.json"), 0), "%s",
              errors);
    write_emulated_records("ours.json", "store/v1/records");
    cr_expect(eq(int, shell("ls store/v1/records | wc -l; $T tune --export - --log warning | grep -c checksum"), 0));
    cr_expect(strcmp(out, "4\n2\n") == 0, "%s", out);
    cr_expect(strstr(errors, "its times are the emulator's") && strstr(errors, "passed over: 2"), "%s", errors);
    cr_expect(eq(int,
                 shell("{ printf '{\"tilejit_records\": ['; cat $(grep -l emulated store/v1/records/* | head -1); echo ']}'; } "
                       ">old.json; $T tune --import old.json --json"),
                 0),
              "%s", errors);
    root = answer();
    cr_expect(eq(i64, number(root, "read"), 0), "nor are they imported: %s", out);
    json_decref(root);
}
