/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/* Every command: its output and its JSON; generated sources, and families. */
#include "command_test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "locales.h"
#include "matrix_file.h"

Test(command, says_when_stdout_cannot_be_written)
{
    static const char *const commands[] = {"generate 64x64x64",
                                           "families",
                                           "help",
                                           "families --json",
                                           "man",
                                           "version",
                                           "doctor --driver " FAKE_CUDA_PATH,
                                           "devices --driver " FAKE_CUDA_PATH,
                                           "compile 33x30x70 --arch sm_90",
                                           "run 33x30x70 --no-check --driver " FAKE_CUDA_PATH,
                                           "cache list",
                                           "cache stats --json",
                                           "cache verify",
                                           "cache path",
                                           "cache explain 33x30x70 --arch sm_90",
                                           "cache clear"};

    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        cr_expect(eq(int, shell("TILEJIT_NVRTC=" FAKE_NVRTC_PATH " $T %s >/dev/full", commands[i]), 1), "%s", commands[i]);
        cr_expect(strstr(errors, "cannot write") != NULL, "%s: %s", commands[i], errors);
        cr_expect(eq(int, shell("TILEJIT_NVRTC=" FAKE_NVRTC_PATH " $T %s >&-", commands[i]), 1), "%s", commands[i]);
        cr_expect(strstr(errors, "cannot write") != NULL, "%s: %s", commands[i], errors);
    }
    cr_expect(eq(int, shell("$T generate 64x64x64 -o kernel.cu >&- 2>&- <&-"), 0), "nothing to say, nothing lost");
    cr_expect(exists("kernel.cu"));
}

Test(command, dies_quietly_of_a_closed_pipe)
{
    cr_expect(eq(int, shell("{ sleep 0.2; $T man; echo $? >code; } | true; cat code"), 0));
    cr_expect(strstr(out, "141") != NULL, "%s", out);
    cr_expect(eq(str, errors, ""), "%s", errors);
}

Test(command, replaces_a_file_whole_or_not_at_all)
{
    cr_expect(eq(int,
                 shell("echo old >k.cu && $T generate 64x64x64 --family tiled -o k.cu && grep -c TILE_WIDTH k.cu >/dev/null"),
                 0),
              "%s", errors);
    cr_expect(
        eq(int, shell("ln -s k.cu link.cu && $T generate 32x32x32 -o link.cu && test -L link.cu && grep -q 32x32x32 k.cu"), 0),
        "%s", errors);
    cr_expect(eq(int, shell("$T generate 64x64x64 -o missing/k.cu"), 1));
    cr_expect(strstr(errors, "missing/k.cu: its folder does not exist") != NULL, "%s", errors);
    cr_expect(eq(int, shell("mkdir dir; $T generate 64x64x64 -o dir"), 1));
    cr_expect(strstr(errors, "it is a folder") != NULL, "%s", errors);
    cr_expect(eq(int, shell("$T generate 64x64x64 -o /dev/full"), 1));
    cr_expect(eq(int, shell("$T generate 64x64x64 -o - | grep -c 'extern \"C\"'"), 0));
    cr_expect(eq(int, shell("ls -A | grep -e tmp -e part"), 1), "left behind: %s", out);
}

Test(command, generates_the_same_text_in_every_locale)
{
    static const char *const words = "1234567x300x700 --alpha 0.5 --beta -1e-3";
    static char text[OUTPUT_BYTES], key[OUTPUT_BYTES];

    cr_assert(eq(int, shell("LC_ALL=C $T generate %s", words), 0), "%s", errors);
    strcpy(text, out);
    for (size_t i = 0; i < TEST_LOCALES; i++) {
        if (!make_locale(folder, test_locales[i]))
            continue;
        cr_expect(i == 0 || shell("test \"$(LC_ALL=%s locale decimal_point)\" = ,", test_locales[i]) == 0, "%s is not in use",
                  test_locales[i]);
        cr_expect(eq(int, shell("LC_ALL=%s $T generate %s", test_locales[i], words), 0), "%s", errors);
        cr_expect(eq(str, out, text), "%s", test_locales[i]);
    }
    for (size_t i = 0; i < TEST_LOCALES; i++) {
        json_t *answer;

        if (!make_locale(folder, test_locales[i]))
            continue;
        cr_expect(
            eq(int,
               shell("LC_ALL=%s TILEJIT_NVRTC=" FAKE_NVRTC_PATH " $T run 33x30x70 --no-check --json --driver " FAKE_CUDA_PATH,
                     test_locales[i]),
               0),
            "%s", errors);
        answer = json_loads(out, 0, NULL);
        cr_assert(answer != NULL, "%s: %s", test_locales[i], out);
        cr_expect(eq(int, json_is_number(json_object_get(json_object_get(answer, "time"), "median_us")), 1), "%s", out);
        cr_expect(eq(str, (char *)json_string_value(json_object_get(answer, "origin")), i == 0 ? "compiled" : "store"), "%s",
                  test_locales[i]);
        snprintf(out, sizeof out, "%s", json_string_value(json_object_get(answer, "key")));
        if (i == 0)
            strcpy(key, out);
        cr_expect(eq(str, out, key), "%s", test_locales[i]);
        json_decref(answer);
    }
}

Test(command, lists_families_that_it_can_generate)
{
    json_t *answer, *families, *family;
    size_t index;

    cr_assert(eq(int, shell("$T families --json"), 0), "%s", errors);
    answer = json_loads(out, 0, NULL);
    families = json_object_get(answer, "families");
    cr_assert(gt(sz, json_array_size(families), 1));
    json_array_foreach(families, index, family)
    {
        const char *name = json_string_value(json_object_get(family, "name"));

        const bool by_boxes = strcmp(name, "wgmma") == 0 || strcmp(name, "tcgen05") == 0;
        const char *request = strstr(name, "planes")      ? "37x20x13 --compute f32_split"
                              : by_boxes                  ? "37x24x16 --dtype f16"
                              : strcmp(name, "thin") == 0 ? "7x64x16 --dtype f16 --n-dtype s4 --layout-n col"
                                                          : "37x20x13 --dtype f64";

        /* with few columns and, where a family takes it, of f64; thin multiplies by weights */
        cr_expect(eq(int, shell("$T generate %s --family %s", request, name), 0), "%s: %s", name, errors);
        cr_expect(strstr(out, "__global__") != NULL, "%s", name);
    }
    json_decref(answer);
    cr_expect(eq(int, shell("$T families"), 0));
    cr_expect(strstr(out, "tile_width") != NULL, "%s", out);
}

/* docs/commands.md promises these members. */
Test(command, answers_json_for_every_command)
{
    static const struct {
        const char *words;
        int code;
        const char *members;
    } rows[] = {
        {"generate 33x30x70", 0, "kernel config checks problem launch source"},
        {"generate 33x30x70 -o k.cu", 0, "kernel config checks problem launch output"},
        {"families", 0, "families"},
        {"version", 0, ""},
        {"doctor --driver " FAKE_CUDA_PATH, 0, "findings missing"},
        {"doctor --driver /nonexistent/libcuda.so", 1, "findings missing error"},
        {"devices --driver " FAKE_CUDA_PATH, 0, "devices"},
        {"devices --driver /nonexistent/libcuda.so", 1, "error"},
        {"compile 33x30x70 --arch sm_90 -o k.ptx", 0,
         "kernel config checks problem target origin key compiler ptx_bytes cubin_bytes resources log output"},
        {"compile 33x30x70 --arch sm_9999", 1, "error"},
        {"run 33x30x70 --no-check --driver " FAKE_CUDA_PATH, 0,
         "kernel config target origin key was_run device device_ordinal time gflops seed"},
        {"run 33x30x70 --driver " FAKE_CUDA_PATH, 3, "kernel was_run check error"},
        {"bench 33x30x70 --driver /nonexistent/libcuda.so", 1, "error"},
        {"run 33x30x70 --driver /nonexistent/libcuda.so", 1, "kernel origin was_run error"},
        {"run 33x30x70 --count --driver " FAKE_CUDA_PATH, 1, "error"},
        {"devices --device emulator:sm_80,sm_90", 0, "devices"},
        {"run 33x30x70 --device emulator:sm_99", 1, "error"},
        {"run 33x30x70 --device -1", 2, "error"},
        {"run 33x30x70 --compile-only", 0, "kernel origin was_run"},
        {"run 0x30x70", 2, "error"},
        {"matmul M.npy N.npy -o P.npy --no-check --driver " FAKE_CUDA_PATH, 0, "kernel origin was_run time output"},
        {"matmul M.npy N.npy -o P.npy --driver " FAKE_CUDA_PATH, 3, "kernel check error"},
        {"matmul M.npy M.npy -o P.npy --driver " FAKE_CUDA_PATH, 1, "error"},
        {"cache list", 0, "entries records records_passed_over"},
        {"cache stats", 0, "path entries read_only_entries bytes max_bytes hits records records_passed_over"},
        {"cache stats --cache-dir /dev/null", 1, "error"},
        {"cache verify", 0, "entries damaged"},
        {"cache path", 0, "path"},
        {"cache explain 33x30x70 --arch sm_90", 0, "key hit fields"},
        {"cache explain 34x30x70 --arch sm_90", 0, "key hit fields"},
        {"cache clear", 0, "removed"},
        {"cache explain 34x30x70 --arch sm_90", 0, "key hit fields"},
        {"cache", 2, "error"},
        {"nonsense", 2, "error"},
    };

    write_matrix("M.npy", TJ_F32, 2, 5, 3, 0, 0);
    write_matrix("N.npy", TJ_F32, 2, 3, 2, 0, 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char members[256], *rest = members, *member;
        json_error_t where;
        json_t *answer;

        cr_expect(eq(int, shell("TILEJIT_NVRTC=" FAKE_NVRTC_PATH " $T %s --json", rows[i].words), rows[i].code), "%s: %s",
                  rows[i].words, errors);
        answer = json_loads(out, JSON_REJECT_DUPLICATES, &where);
        cr_assert(eq(int, json_is_object(answer), 1), "%s: %s: %s", rows[i].words, where.text, out);
        strcpy(members, rows[i].members);
        while ((member = strsep(&rest, " ")) && *member)
            cr_expect(json_object_get(answer, member) != NULL, "%s has no %s: %s", rows[i].words, member, out);
        cr_expect(eq(int, json_object_get(answer, "error") != NULL, rows[i].code != 0), "%s: %s", rows[i].words, out);
        json_decref(answer);
    }
}
