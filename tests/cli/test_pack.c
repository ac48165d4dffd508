/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * tilejit pack, as a user types it: made for several targets without a GPU, run on the emulator where NVRTC is hidden.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "pack.h"
#include "packed.h"
#include "shell.h"

static void assign_variables(char *assignments, size_t bytes)
{
    snprintf(assignments, bytes, "TILEJIT_EMULATOR=%s HIDDEN='--nvrtc /nonexistent/libnvrtc.so --no-cache'", EMULATOR_PATH);
}

TestSuite(pack_command, .init = make_folder, .fini = remove_folder, .timeout = 280);

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

    return json_is_true(value);
}

static const char *word(const json_t *root, const char *name)
{
    return json_string_value(json_object_get(root, name));
}

Test(pack_command, makes_what_runs_where_nvrtc_is_hidden)
{
    json_t *root;

    NEEDS_COMPILER();
    cr_assert(eq(int,
                 shell("printf 'count,j,k,l,batch,dtype,layout-n,any,beta\\n5,24,16,32,,f16,col,,\\n1,20,10,30,2,,,,1\\n' "
                       ">shapes.csv; $T pack 16x16x16 --shapes shapes.csv --arch sm_80,sm_90 -o app.tjpack --json"),
                 0),
              "%s", errors);
    root = answer();
    cr_expect(number(root, "shapes") == 3 && number(root, "choices") == 6 && number(root, "images") >= 6, "%s", out);
    json_decref(root);
    cr_expect(eq(int, shell("TILEJIT_PACKS=app.tjpack $T run 16x16x16 --device emulator:sm_90 $HIDDEN --json"), 0), "%s%s", out,
              errors);
    root = answer();
    cr_expect(eq(str, (char *)word(root, "origin"), "pack"));
    cr_expect(eq(str, (char *)word(root, "chosen_by"), "pack"));
    cr_expect(eq(str, (char *)word(root, "pack"), "app.tjpack"));
    json_decref(root);
    cr_expect(
        eq(int,
           shell(
               "export TILEJIT_PACKS=app.tjpack; $T run 24x16x32 --dtype f16 --layout-n col --device emulator:sm_80 $HIDDEN && "
               "$T run 20x10x30 --batch 2 --beta 1 --device emulator:sm_80 $HIDDEN"),
           0),
        "%s%s", out, errors);
    cr_expect(eq(int, shell("TILEJIT_PACKS=app.tjpack $T run 17x16x16 --device emulator:sm_90 $HIDDEN"), 1));
    cr_expect(strstr(errors, "/nonexistent/libnvrtc.so") != NULL, "%s", errors);
    /* A kernel that is not inside is a miss, compared with the nearest one. */
    cr_expect(
        eq(int, shell("TILEJIT_PACKS=app.tjpack:typo.tjpack $T cache explain 17x16x16 --device emulator:sm_90 $HIDDEN"), 0),
        "%s", errors);
    cr_expect(strstr(out, "key       not known: this request would miss") != NULL, "%s", out);
    cr_expect(strstr(out, "app.tjpack does not hold it, typo.tjpack cannot be used: No such file") != NULL, "%s", out);
    cr_expect(strstr(out, "source    different") != NULL && strstr(out, "target    different") != NULL, "%s", out);
    /* explain says so. */
    cr_expect(eq(int, shell("TILEJIT_PACKS=app.tjpack $T cache explain 16x16x16 --device emulator:sm_90 $HIDDEN --json"), 0),
              "%s", errors);
    root = answer();
    cr_expect(word(root, "key") && is_set(root, "hit") && is_set(root, "from_pack"), "%s", out);
    cr_expect(eq(str, (char *)word(root, "pack"), "app.tjpack"));
    json_decref(root);
    (void)shell("TILEJIT_PACKS=app.tjpack $T doctor --device emulator:sm_90 $HIDDEN");
    cr_expect(strstr(out, "app.tjpack: ") && strstr(out, " kernels for sm_80 sm_90, which need no NVRTC"), "%s", out);
    (void)shell("printf x >text; TILEJIT_PACKS=text $T doctor --device emulator:sm_90 $HIDDEN");
    cr_expect(strstr(out, "text: it is not a pack") != NULL, "%s", out);
}

/* The pack of quick first calls is next to the library. */
Test(pack_command, the_doctor_looks_at_the_textbook)
{
    NEEDS_COMPILER();
    (void)shell(
        "mkdir lib && cp $(dirname $T)/libtilejit.so* lib && LD_LIBRARY_PATH=lib $T doctor --device emulator:sm_90 $HIDDEN");
    cr_expect(strstr(out, "no textbook.tjpack lies next to the library") && strstr(out, "TILEJIT_BUILD_TEXTBOOK=ON"), "%s",
              out);
    cr_assert(eq(int, shell("$T pack 8x8x8 --family tiled --arch sm_80,sm_90 -o lib/textbook.tjpack"), 0), "%s", errors);
    (void)shell("LD_LIBRARY_PATH=lib $T doctor --device emulator:sm_90 $HIDDEN");
    cr_expect(strstr(out, "lib/textbook.tjpack: 2 kernels for sm_80 sm_90, which need no NVRTC\n") != NULL, "%s", out);
    (void)shell("printf x >lib/textbook.tjpack; LD_LIBRARY_PATH=lib $T doctor --device emulator:sm_90 $HIDDEN");
    cr_expect(strstr(out, "note     textbook  ") && strstr(out, "lib/textbook.tjpack: it is not a pack"), "%s", out);
}

Test(pack_command, gives_the_same_bytes_for_the_same_input)
{
    NEEDS_COMPILER();
    cr_assert(eq(int,
                 shell("$T pack 16x16x16 20x10x30 --arch sm_80 -o a.tjpack && cp -r store other && "
                       "$T pack 20x10x30 16x16x16 --arch sm_80 --no-cache -o b.tjpack && cmp a.tjpack b.tjpack"),
                 0),
              "%s%s", out, errors);
    cr_expect(eq(int, shell("$T pack diff a.tjpack b.tjpack"), 0), "%s", errors);
    cr_expect(eq(int, shell("$T pack 16x16x16 --target sm_80 -o c.tjpack && $T pack diff a.tjpack c.tjpack"), 1));
    cr_expect(strstr(out, "- choice sm_80") && !strstr(out, "+ "), "%s", out);
    cr_expect(strstr(errors, "differ in") != NULL, "%s", errors);
}

Test(pack_command, lists_verifies_and_unpacks)
{
    json_t *root;

    NEEDS_COMPILER();
    cr_assert(eq(int, shell("$T pack 16x16x16 --arch sm_90 -o app.tjpack"), 0), "%s", errors);
    cr_expect(eq(int, shell("$T pack list app.tjpack"), 0), "%s", errors);
    cr_expect(strstr(out, "image ") && strstr(out, "choice ") && strstr(out, "sm_90"), "%s", out);
    cr_expect(eq(int, shell("$T pack list app.tjpack --json"), 0), "%s", errors);
    root = answer();
    cr_expect(json_array_size(json_object_get(root, "items")) >= 2, "%s", out);
    json_decref(root);
    cr_expect(eq(int, shell("$T pack verify app.tjpack"), 0), "%s", errors);
    cr_expect(strstr(out, "all sound") != NULL, "%s", out);
    cr_expect(eq(int, shell("rm -rf store; $T pack unpack app.tjpack && $T cache verify && $T cache list"), 0), "%s%s", out,
              errors);
    cr_expect(strstr(out, "sm_90") != NULL, "%s", out);
    cr_expect(eq(int,
                 shell("printf '\\377' | dd of=app.tjpack bs=1 seek=$(($(wc -c <app.tjpack) - 3)) conv=notrunc 2>/dev/null; "
                       "$T pack verify app.tjpack"),
                 1));
    cr_expect(strstr(errors, "app.tjpack are damaged") != NULL, "%s", errors);
    cr_expect(eq(int, shell("head -c 100 app.tjpack >cut; $T pack list cut"), 1));
    cr_expect(strstr(errors, "cut: these 100 bytes cannot be used as a pack: it is cut") != NULL, "%s", errors);
    cr_expect(eq(int, shell("$T pack list missing"), 1));
}

Test(pack_command, leaves_out_what_it_is_told_to)
{
    NEEDS_COMPILER();
    cr_assert(eq(int, shell("$T pack 16x16x16 --target sm_90 -o app.tjpack && $T pack list app.tjpack"), 0), "%s", errors);
    cr_expect(strstr(out, "_16x16x16 (any alignment)") && strstr(out, "_16x16x16 (aligned to 16 bytes)"), "%s", out);
    cr_assert(
        eq(int, shell("$T pack 16x16x16 --target sm_90 --aligned --strip -o least.tjpack && $T pack list least.tjpack"), 0),
        "%s", errors);
    cr_expect(strstr(out, "(aligned to 16 bytes, stripped)") && !strstr(out, "any alignment"), "%s", out);
    cr_expect(eq(int, shell("$T pack verify least.tjpack && test $(wc -c <least.tjpack) -lt $(($(wc -c <app.tjpack) / 4))"), 0),
              "%s", errors);
    cr_expect(eq(int, shell("$T pack unpack least.tjpack"), 1));
    cr_expect(strstr(errors, "1 of the pack's kernels are machine code alone") != NULL, "%s", errors);
    cr_expect(eq(int, shell("$T pack 16x16x16 --target sm_90,compute_90 --strip -o a"), 1));
    cr_expect(strstr(errors, "16x16x16 for compute_90: an image for compute_90 is PTX") != NULL, "%s", errors);
    cr_expect(eq(int, shell("test ! -e a"), 0));
}

/* zlib is opened on demand; the message says so if it is missing. */
Test(pack_command, compresses_by_the_zlib_of_the_machine)
{
    NEEDS_COMPILER();
    cr_assert(eq(int, shell("$T pack 16x16x16 --target sm_90 -o app.tjpack"), 0), "%s", errors);
    if (shell("$T pack 16x16x16 --target sm_90 --compress -o small.tjpack") != 0) {
        cr_expect(strstr(errors, "zlib (libz.so.1)") != NULL, "%s", errors);
        cr_skip_test("no zlib here");
    }
    cr_expect(eq(int, shell("$T pack verify small.tjpack && test $(wc -c <small.tjpack) -lt $(($(wc -c <app.tjpack) / 3))"), 0),
              "%s%s", out, errors);
    cr_expect(eq(int, shell("$T pack unpack small.tjpack"), 0), "%s", errors);
    cr_expect(eq(int, shell("mkdir none && echo none >none/libz.so.1 && LD_LIBRARY_PATH=none $T pack list small.tjpack"), 1));
    cr_expect(strstr(errors, "it is compressed, and zlib (libz.so.1) is not on this machine: install it (zlib1g)") != NULL,
              "%s", errors);
    cr_expect(eq(int, shell("LD_LIBRARY_PATH=none $T pack list app.tjpack"), 0), "%s", errors);
    cr_expect(eq(int, shell("LD_LIBRARY_PATH=none $T pack 16x16x16 --target sm_90 --compress -o a"), 1));
    cr_expect(strstr(errors, "zlib (libz.so.1), which compresses packs, is not on this machine") != NULL, "%s", errors);
    cr_expect(eq(int, shell("test ! -e a"), 0));
}

Test(pack_command, travels_inside_a_program)
{
    NEEDS_COMPILER();
    cr_assert(eq(int,
                 shell("$T pack 16x16x16 --arch sm_90 -o app.tjpack && "
                       "$T pack 16x16x16 --arch sm_90 --c-array app_pack -o app_pack.c"),
                 0),
              "%s", errors);
    cr_assert(eq(int,
                 shell("printf '#include <stddef.h>\\n#include <stdio.h>\\nextern const unsigned char app_pack[];\\n"
                       "extern const size_t app_pack_size;\\n"
                       "int main(void) { return fwrite(app_pack, 1, app_pack_size, stdout) != app_pack_size; }\\n' >main.c && "
                       "cc -std=c17 -pedantic -Wall -Werror main.c app_pack.c -o program && ./program | cmp - app.tjpack"),
                 0),
              "%s%s", out, errors);
}

Test(pack_command, takes_records_of_files)
{
    json_t *root;

    NEEDS_COMPILER();
    cr_assert(eq(int,
                 shell("export TILEJIT_DRIVER=" FAKE_GPU_PATH "; $T tune 16x16x16 --family tiled --evaluations 3 && "
                       "$T tune --export records.json"),
                 0),
              "%s", errors);
    cr_assert(
        eq(int, shell("$T pack 16x16x16 --arch sm_80,compute_90 --records records.json --no-cache -o app.tjpack --json"), 0),
        "%s", errors);
    root = answer();
    cr_expect(eq(int, (int)number(root, "records"), 1), "%s", out);
    json_decref(root);
    cr_assert(eq(int, shell("TILEJIT_DRIVER=" FAKE_GPU_PATH " TILEJIT_PACKS=app.tjpack $T run 16x16x16 $HIDDEN --json"), 0),
              "%s%s", out, errors);
    root = answer();
    cr_expect(eq(str, (char *)word(root, "chosen_by"), "record"), "%s", out);
    cr_expect(eq(str, (char *)word(root, "origin"), "pack"), "%s", out);
    json_decref(root);
}

Test(pack_command, packs_what_a_program_was_seen_to_use)
{
    NEEDS_COMPILER();
    cr_assert(
        eq(int,
           shell("export TILEJIT_CAPTURE=shapes.csv; $T run 16x16x16 --device emulator:sm_90 --dtype f16 --layout-n col && "
                 "$T run 16x16x16 --device emulator:sm_90 --dtype f16 --layout-n col && "
                 "$T run 20x10x30 --device emulator:sm_90 --batch 3 --any j --beta 1"),
           0),
        "%s%s", out, errors);
    cr_assert(eq(int, shell("$T pack --shapes shapes.csv --arch sm_90 -o app.tjpack && cat shapes.csv"), 0), "%s", errors);
    cr_expect(strstr(out, "\n2,16,16,16,,f16,") != NULL, "%s", out);
    cr_expect(
        eq(int,
           shell("export TILEJIT_PACKS=app.tjpack; $T run 16x16x16 --device emulator:sm_90 --dtype f16 --layout-n col $HIDDEN "
                 "&& $T run 20x10x30 --device emulator:sm_90 --batch 3 --any j --beta 1 $HIDDEN"),
           0),
        "%s%s", out, errors);
}

/*
 * Lines that differ in what the launch brings are one plan, and so one shape to pack, to tune and to warm up: the most frequent
 * one.
 */
Test(pack_command, folds_lines_that_one_kernel_serves)
{
    json_t *root;

    NEEDS_COMPILER();
    cr_assert(
        eq(int,
           shell(
               "printf 'count,j,k,l,any\\n3,10,16,24,j\\n1,9,16,24,\\n7,12,16,24,j\\n,11,16,24,j\\n1,9,16,24,\\n' >shapes.csv; "
               "$T pack --shapes shapes.csv --target sm_90 -o app.tjpack --json"),
           0),
        "%s", errors);
    root = answer();
    cr_expect(number(root, "shapes") == 2 && number(root, "choices") == 2 && number(root, "images") == 4, "%s", out);
    json_decref(root);
    cr_expect(eq(int, shell("$T warm-up --shapes shapes.csv --device emulator:sm_90 --json"), 0), "%s", errors);
    root = answer();
    cr_expect(number(root, "shapes") == 2 && number(root, "ready") == 2, "%s", out);
    json_decref(root);
    cr_assert(eq(int, shell("$T tune --shapes shapes.csv --device emulator:sm_90 --family naive --evaluations 1 --json"), 0),
              "%s", errors);
    root = answer();
    cr_expect(eq(sz, json_array_size(json_object_get(root, "shapes")), 2), "%s", out);
    cr_expect(eq(str, (char *)word(json_array_get(json_object_get(root, "shapes"), 0), "shape"), "12x16x24"));
    cr_expect(eq(str, (char *)word(json_array_get(json_object_get(root, "shapes"), 1), "shape"), "9x16x24"));
    json_decref(root);
    cr_expect(eq(int, shell("printf 'count,j,k,l\\nmany,10,16,24\\n' >bad.csv; $T pack --shapes bad.csv -o a"), 1));
    cr_expect(strstr(errors, "bad.csv, line 2: count is \"many\"") != NULL, "%s", errors);
}

Test(pack_command, takes_one_config_for_all_shapes)
{
    NEEDS_COMPILER();
    cr_assert(
        eq(int, shell("$T pack 16x16x16 --any all --family tiled --arch sm_90 -o app.tjpack && $T pack list app.tjpack"), 0),
        "%s", errors);
    cr_expect(strstr(out, "tiled_f32_jxkxl") && strstr(out, "image ") && !strstr(out, "choice "), "%s", out);
    cr_expect(eq(int, shell("$T pack 16x16x16 --family tiled --config naive --arch sm_90 -o app.tjpack"), 2));
    cr_expect(strstr(errors, "--config and --family both choose a family") != NULL, "%s", errors);
}

/*
 * A pack of unknown origin is examined before it is trusted: its strings do not move the cursor. Nor do a path and a variable.
 */
Test(pack_command, obeys_no_words_of_a_pack)
{
    tj_pack_draft *draft = tj_pack_draft_create();
    const tj_pack_part part[] = {{"problem", "ten\x1b[31m red", 12}, {"config", "na\xe2\x80\xaeive\x07", 9}};
    char path[sizeof folder + 16];
    void *bytes;
    size_t size;
    FILE *file;
    tj_error err;

    cr_assert(tj_pack_draft_add(draft, TJ_PACKED_CHOICE, (tj_hash128){1, 2}, "sm_\x1b[2J", part, 2, &err) == TJ_OK, "%s",
              err.message);
    cr_assert(tj_pack_draft_print(draft, &bytes, &size, &err) == TJ_OK, "%s", err.message);
    snprintf(path, sizeof path, "%s/a.tjpack", folder);
    file = fopen(path, "wb");
    cr_assert(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
    cr_expect(eq(int, shell("$T pack list a.tjpack"), 0), "%s", errors);
    cr_expect(strstr(out, "sm_\\x1b[2J") && strstr(out, "ten\\x1b[31m red") && strstr(out, "na\\xe2\\x80\\xaeive\\x07"), "%s",
              out);
    cr_expect(eq(int, shell("$T pack list a.tjpack --json"), 0), "%s", errors);
    cr_expect(strstr(out, "ten\\u001B[31m red") != NULL, "%s", out);
    cr_expect(eq(int,
                 shell("TILEJIT_PACKS=$(printf '\\033]0;owned\\007') $T generate 8x8x8 --log warning >text; "
                       "TILEJIT_PACKS=$(printf '\\033]0;owned\\007') $T run 8x8x8 --device emulator --log warning >text"),
                 0),
              "%s", errors);
    cr_expect(strstr(errors, "\\x1b]0;owned\\x07") && !strchr(errors, 0x1b) && !strchr(errors, 0x07), "%s", errors);
    free(bytes);
    tj_pack_draft_free(draft);
}

Test(pack_command, refuses_words_that_are_wrong)
{
    static const struct {
        const char *line, *words;
        int code;
    } rows[] = {
        {"pack 16x16x16", "add -o app.tjpack", 2},
        {"pack -o a", "there is no shape to pack", 2},
        {"pack 16x16x16 --arch , -o a", "--arch is", 2},
        {"pack 16x16x16 --arch sm_80, -o a", "--arch is", 2},
        {"pack 16x16x16 --c-array 4x -o a", "a name that C and C++ take", 2},
        {"pack 16x16x16 --c-array int -o a", "--c-array is \"int\": use a name that C and C++ take", 2},
        {"pack 16x16x16 --c-array xor_eq -o a", "a name that C and C++ take", 2},
        {"pack 16x16x16 --c-array auto -o a", "a name that C and C++ take", 2},
        {"pack 16x16x16 --c-array NULL -o a", "a name that C and C++ take", 2},
        {"pack 16x16x16 --c-array size_t -o a", "a name that C and C++ take", 2},
        {"pack 16x16x16 --c-array main -o a", "a name that C and C++ take", 2},
        {"pack 16x16x16 --c-array __LINE__ -o a", "a name that C and C++ take", 2},
        {"pack 16x16x16 --arch sm_1 -o a", "sm_1", 1},
        {"pack --shapes bad.csv -o a", "no column is named \"dtpe\"", 1},
        {"pack --shapes short.csv -o a", "short.csv, line 2: there are 3 fields, and 4 columns", 1},
        {"pack --shapes type.csv -o a", "type.csv, line 2", 1},
        {"pack list", "pack list needs <file>", 2},
    };

    NEEDS_COMPILER();
    cr_assert(eq(int,
                 shell("printf 'j,k,l,dtpe\\n1,2,3,f16\\n' >bad.csv; printf 'j,k,l,dtype\\n1,2,3\\n' >short.csv; "
                       "printf 'j,k,l,dtype\\n1,2,3,f17\\n' >type.csv"),
                 0));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect(eq(int, shell("$T %s", rows[i].line), rows[i].code), "%s: %s", rows[i].line, errors);
        cr_expect(strstr(errors, rows[i].words) != NULL, "%s: %s", rows[i].line, errors);
        cr_expect(eq(int, shell("test ! -e a"), 0), "%s", rows[i].line);
    }
}
