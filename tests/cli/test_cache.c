/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/* tilejit compile and cache, and doctor: what they keep, and what a machine lacks. */
#include "command_test.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

Test(command, keeps_what_it_compiled_and_explains_hits_and_misses)
{
    json_t *answer, *entry;

    NEEDS_COMPILER();
    cr_assert(eq(int, shell("$T compile 33x300x700 --arch sm_90 -o k.ptx"), 0), "%s", errors);
    cr_expect(strstr(out, "origin     compiled") != NULL, "%s", out);
    cr_expect(eq(int, shell("grep -q '^.target sm_90' k.ptx"), 0));
    cr_assert(eq(int, shell("$T compile 33x300x700 --arch sm_90 -o k.cubin"), 0), "%s", errors);
    cr_expect(strstr(out, "origin     store") != NULL, "%s", out);
    cr_expect(eq(int, shell("head -c 4 k.cubin | grep -q ELF"), 0));
    cr_expect(eq(int, shell("$T compile 33x300x700 --arch sm_90 --emit ptx | cmp - k.ptx"), 0), "%s", errors);

    answer = answer_of("cache list");
    cr_assert(eq(sz, json_array_size(json_object_get(answer, "entries")), 1), "%s", out);
    entry = json_array_get(json_object_get(answer, "entries"), 0);
    cr_expect(eq(int, (int)json_integer_value(json_object_get(entry, "hits")), 2));
    cr_expect(eq(str, (char *)json_string_value(json_object_get(entry, "target")), "sm_90"));
    json_decref(answer);

    cr_expect(eq(int, shell("$T cache explain 33x300x700 --arch sm_90"), 0), "%s", errors);
    cr_expect(strstr(out, "this request would hit") != NULL, "%s", out);
    cr_expect(eq(int, shell("$T cache explain 34x300x700 --arch sm_90"), 0), "%s", errors);
    cr_expect(strstr(out, "source    different") != NULL && strstr(out, "would miss") != NULL, "%s", out);
    cr_expect(strstr(out, "found   // j33") != NULL, "the first differing line: %s", out);
    cr_expect(eq(int, shell("$T cache explain 33x300x700 --arch sm_80"), 0), "%s", errors);
    cr_expect(strstr(out, "target    different") != NULL, "%s", out);

    answer = answer_of("cache stats");
    cr_expect(eq(int, (int)json_integer_value(json_object_get(answer, "entries")), 1));
    cr_expect(gt(int, (int)json_integer_value(json_object_get(answer, "bytes")), 1000));
    json_decref(answer);
    cr_expect(eq(int, shell("test \"$($T cache path)\" = \"$TILEJIT_CACHE_DIR\""), 0));
}

Test(command, names_a_damaged_entry_and_recovers_from_it)
{
    NEEDS_COMPILER();
    cr_assert(eq(int, shell("$T compile 33x300x700 --arch sm_90 && $T compile 34x300x700 --arch sm_90 && $T cache verify"), 0),
              "%s", errors);
    cr_expect(strstr(out, "2 entries, all sound") != NULL, "%s", out);
    cr_assert(eq(int,
                 shell("f=$(grep -l 33x300x700 $(find store -name kernel.cu)); d=$(dirname $f); chmod u+w $d/*; "
                       "printf x | dd of=$d/kernel.cubin bs=1 seek=100 conv=notrunc; echo $d > damaged"),
                 0),
              "%s", errors);
    cr_expect(eq(int, shell("$T cache verify"), 1));
    cr_expect(strstr(out, "damaged") != NULL && strstr(errors, "1 of 2 entries is damaged") != NULL, "%s%s", out, errors);
    cr_expect(eq(int, shell("$T cache verify | grep -q \"$(cat damaged)\""), 0), "the entry is named: %s", out);
    cr_expect(eq(int, shell("$T cache clear --damaged"), 0), "%s", errors);
    cr_expect(strstr(out, "1 entry removed") != NULL, "%s", out);
    cr_expect(eq(int, shell("$T cache verify"), 0), "%s", errors);
    cr_expect(eq(int, shell("echo mine > store/mine.txt; $T cache clear && test -e store/mine.txt"), 0),
              "foreign files stay: %s", errors);
    cr_expect(eq(int, shell("$T cache list"), 0));
    cr_expect(eq(str, out, ""), "%s", out);
}

Test(command, works_whatever_the_cache_folder_is)
{
    static const char *const folders[] = {"/dev/null",    "/proc/self/mem", ":memory:",  "'file:x?mode=memory'", "no/such",
                                          "out",          "dangling-link",  "read-only", "with/../dots",         "''",
                                          "/proc/no/such"};

    NEEDS_COMPILER();
    cr_assert(eq(int, shell("ln -s /proc/no/x dangling-link; mkdir read-only; chmod 500 read-only; mkdir with"), 0));
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        cr_expect(eq(int, shell("$T compile 33x300x700 --cache-dir %s", folders[i]), 0), "%s: %s", folders[i], errors);
        cr_expect(ne(int, shell("$T cache stats --cache-dir %s", folders[i]), 99), "%s: %s", folders[i], errors);
        cr_expect(ne(int, shell("$T doctor --cache-dir %s", folders[i]), 99), "%s: %s", folders[i], errors);
    }
}

Test(command, keeps_nothing_where_the_environment_switches_the_disk_off)
{
    NEEDS_COMPILER();
    for (int i = 0; i < 2; i++) {
        cr_expect(eq(int, shell("TILEJIT_CACHE_DIR=off $T run 33x30x70 --device emulator"), 0), "%s", errors);
        cr_expect(strstr(out, "image from the compiler") != NULL, "%s", out);
    }
    cr_expect(eq(int, shell("ls; test ! -e store -a ! -e off -a ! -e .cache"), 0), "%s", out);
    cr_expect(eq(int, shell("TILEJIT_CACHE_DIR=off $T doctor --driver " FAKE_CUDA_PATH), 0), "%s", errors);
    cr_expect(strstr(out, "note     store     the disk is switched off: TILEJIT_CACHE_DIR is \"off\"") != NULL, "%s", out);
    cr_expect(eq(int, shell("$T doctor --no-cache --driver " FAKE_CUDA_PATH), 0), "%s", errors);
    cr_expect(strstr(out, "the disk is switched off: the option cache_dir is empty") != NULL, "%s", out);
    cr_expect(eq(int, shell("TILEJIT_CACHE_DIR=off $T cache stats --json"), 0), "%s", errors);
    cr_expect(strstr(out, "\"trouble\": \"the disk is switched off: TILEJIT_CACHE_DIR is") != NULL, "%s", out);
    cr_expect(eq(int, shell("TILEJIT_CACHE_DIR=off $T cache path"), 1));
    cr_expect(strstr(errors, "TILEJIT_CACHE_DIR is \"off\"") != NULL, "%s", errors);
    cr_expect(eq(int, shell("TILEJIT_CACHE_DIR=./off $T run 33x30x70 --device emulator; test -d off/v1"), 0), "%s", errors);
    cr_expect(eq(int, shell("TILEJIT_CACHE_DIR=off $T run 33x30x70 --device emulator --cache-dir named; test -d named/v1"), 0),
              "%s", errors);
}

Test(command, leaves_nothing_behind_when_it_is_stopped_while_compiling)
{
    static const char *const signals[] = {"INT", "TERM", "KILL"};
    static const int codes[] = {130, 143, 137};

    for (size_t i = 0; i < 3; i++) {
        cr_expect(eq(int,
                     shell("FAKE_NVRTC_SLEEP_MS=5000 timeout --preserve-status -s %s 0.4 $T compile 33x30x70 --arch sm_90 "
                           "--nvrtc " FAKE_NVRTC_PATH " -o k.ptx",
                           signals[i]),
                     codes[i]),
                  "%s: %s", signals[i], errors);
        cr_expect(not(exists("k.ptx")), "%s", signals[i]);
        cr_expect(eq(int, shell("ls -A | grep -i tmp; test -d store/v1/tmp && find store/v1/tmp -mindepth 1"), 0), "%s",
                  errors);
        cr_expect(eq(str, out, ""), "%s left behind: %s", signals[i], out);
    }
    cr_expect(eq(int, shell("timeout 2 $T compile 33x30x70 --arch sm_90 --nvrtc " FAKE_NVRTC_PATH " -o k.ptx"), 0),
              "no lock is left either: %s", errors);
    cr_expect(strstr(out, "origin     compiled") != NULL, "%s", out);
}

/* The store is what a set-uid program must not let its caller choose: a CUBIN is code. */
Test(command, ignores_the_environment_in_a_set_uid_program)
{
    cr_assert(eq(int, shell("$T cache path"), 0), "%s", errors);
    cr_expect(strncmp(out, folder, strlen(folder)) == 0, "the variable counts otherwise: %s", out);
    if (geteuid() != 0)
        SKIP_TEST("only root can make a program of another user's");
    if (shell("cp $T suid && chown 65534 suid && chmod 4755 suid && chmod 755 . && ./suid version && "
              "! awk '$2 ~ /^\\/(tmp)?$/ && $4 ~ /nosuid/ { exit 1 }' /proc/mounts") == 0)
        SKIP_TEST("set-uid is switched off in this file system");
    if (shell("./suid version") != 0)
        SKIP_TEST("no set-uid program starts here: %s", errors);
    cr_expect(eq(int, shell("TILEJIT_LOG=loud $T cache path"), 1), "%s", errors);
    cr_expect(strstr(errors, "TILEJIT_LOG is \"loud\"") != NULL, "%s", errors);
    cr_expect(eq(int, shell("TILEJIT_LOG=loud ./suid cache path --cache-dir /given"), 0), "%s", errors);
    cr_expect(eq(str, out, "/given\n"));
    cr_expect(eq(int, shell("./suid cache path"), 1), "%s", out);
    cr_expect(strstr(errors, "there is no store") != NULL, "%s", errors);
}

Test(command, names_a_target_that_does_not_exist)
{
    static const char *const targets[] = {"sm_12", "banana", "''", "sm_", "sm_9000", "compute_1"};

    NEEDS_COMPILER();
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        int code = shell("$T compile 5x3x2 --arch %s", targets[i]);

        cr_expect(code == 1 || code == 2, "%s: %d", targets[i], code);
        cr_expect(gt(sz, strlen(errors), 10), "%s", targets[i]);
    }
    cr_expect(eq(int, shell("$T compile 5x3x2 --arch compute_90 -o k.ptx"), 0), "%s", errors);
    cr_expect(eq(int, shell("$T compile 5x3x2 --arch compute_90 -o k.cubin"), 1));
    cr_expect(strstr(errors, "PTX alone") != NULL, "%s", errors);
}

Test(command, says_that_there_is_nothing_to_run_on)
{
    NEEDS_COMPILER();
    cr_expect(eq(int, shell("$T run 33x30x70 --driver /nonexistent/libcuda.so"), 1));
    cr_expect(strstr(errors, "nothing here to run it on") != NULL && strstr(errors, "stored in") != NULL, "%s", errors);
    cr_expect(eq(int, shell("$T run 33x30x70 --driver /nonexistent/libcuda.so --compile-only"), 0), "%s", errors);
    cr_expect(strstr(out, "origin     store") != NULL, "%s", out);
    cr_expect(eq(int, shell("$T devices --driver /nonexistent/libcuda.so"), 1));
    cr_expect(strstr(errors, "/nonexistent/libcuda.so") != NULL, "%s", errors);
}

/* Each build by what is known of its machine code; one without a number, and the next of a minor version, are not known. */
Test(command, doctor_knows_builds_that_make_wrong_code)
{
    static const struct {
        const char *environment, *state, *words;
        bool has_remedy;
    } rows[] = {
        {"FAKE_NVRTC_BUILD=13.0.88", "note", "NVRTC 13.0 V13.0.88 has made kernels that spill registers and store to wrong",
         false},
        {"FAKE_NVRTC_BUILD=12.3.107", "OK", "NVRTC 13.0 V12.3.107 was looked at: none of the kernels", false},
        {"FAKE_NVRTC_BUILD=13.0.8", "note", "NVRTC 13.0 V13.0.8 was not looked at", true},
        {"FAKE_NVRTC_NO_BUILD=1", "note", " was not looked at", true},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *const words = "doctor --driver " FAKE_CUDA_PATH " --nvrtc " FAKE_NVRTC_PATH;
        json_t *answer, *finding;
        size_t index, times = 0;

        cr_expect(eq(int, shell("%s $T %s", rows[i].environment, words), 0), "%s%s", out, errors);
        cr_expect(strstr(out, rows[i].words) != NULL, "row %zu: %s", i, out);
        cr_expect(eq(int, shell("%s $T %s --json", rows[i].environment, words), 0), "%s%s", out, errors);
        answer = json_loads(out, 0, NULL);
        json_array_foreach(json_object_get(answer, "findings"), index, finding)
        {
            if (strcmp(json_string_value(json_object_get(finding, "topic")), "spills") != 0)
                continue;
            times++;
            cr_expect(strstr(json_string_value(json_object_get(finding, "text")), rows[i].words) != NULL, "row %zu: %s", i,
                      out);
            cr_expect(eq(str, (char *)json_string_value(json_object_get(finding, "state")), (char *)rows[i].state), "row %zu",
                      i);
            cr_expect(eq(int, strstr(json_string_value(json_object_get(finding, "remedy")), "check_sass.py") != NULL,
                         rows[i].has_remedy),
                      "row %zu: %s", i, out);
        }
        cr_expect(eq(sz, times, 1), "row %zu", i);
        json_decref(answer);
    }
}

Test(command, names_the_missing_compiler_and_the_remedy)
{
    cr_expect(eq(int, shell("$T compile 33x30x70 --nvrtc /nonexistent/libnvrtc.so"), 1));
    cr_expect(strstr(errors, "/nonexistent/libnvrtc.so") != NULL, "%s", errors);
    cr_expect(eq(int, shell("FAKE_NVRTC_VERSION=10.2 $T compile 33x30x70 --arch sm_75 --nvrtc " FAKE_NVRTC_PATH), 1));
    cr_expect(strstr(errors, "10.2") != NULL && strstr(errors, "11.2") != NULL && strstr(errors, "pip install") != NULL, "%s",
              errors);
    cr_expect(eq(
        int,
        shell("FAKE_NVRTC_VERSION=12.3 FAKE_NVRTC_NEEDS_BUILTINS=1 $T compile 33x30x70 --arch sm_90 --nvrtc " FAKE_NVRTC_PATH),
        1));
    cr_expect(strstr(errors, "libnvrtc-builtins.so.12.3") != NULL, "%s", errors);
    cr_expect(eq(int, shell("$T doctor --nvrtc /nonexistent/libnvrtc.so --driver /nonexistent/libcuda.so"), 1));
    cr_expect(strstr(out, "missing  nvrtc") != NULL && strstr(out, "missing  driver") != NULL, "%s", out);
    cr_expect(strstr(out, "remedy: ") != NULL, "%s", out);
    cr_expect(eq(int, shell("$T generate 33x30x70"), 0), "generating needs neither: %s", errors);
}

/* Every variable that docs/environment.md lists is known, and no other. */
Test(command, doctor_names_a_variable_that_nothing_reads)
{
    cr_assert(
        eq(int,
           shell("sed -n 's/^| `\\(TILEJIT_[A-Z_]*\\)`.*/\\1/p' " TJ_SOURCE_DIR "/docs/environment.md >names && "
                 "unset $(env | sed -n 's/^\\(TILEJIT_[A-Z_]*\\)=.*/\\1/p'); "
                 "TILEJIT_PACK=a TILEJIT_CACHEDIR=/b TILEJIT_DEVICES= $T doctor; for name in $(cat names); do echo $name; "
                 "env $name=0 $T doctor | grep 'nothing reads'; done; wc -l <names"),
           0),
        "%s", errors);
    cr_expect(strstr(out, "note     variable  TILEJIT_PACK is set, and nothing reads a variable of that name") &&
                  strstr(out, "remedy: did you mean TILEJIT_PACKS?") && strstr(out, "did you mean TILEJIT_CACHE_DIR?"),
              "%s", out);
    cr_expect(strstr(out, "TILEJIT_DEVICES") == NULL, "an empty variable is none: %s", out);
    cr_expect(strstr(strstr(out, "TILEJIT_CACHE_DIR\n"), "nothing reads") == NULL, "%s", out);
    cr_expect(strstr(out, "\n14\n") != NULL, "%s", out);
}

Test(command, doctor_is_content_with_a_whole_machine)
{
    json_t *answer;

    NEEDS_COMPILER();
    cr_expect(eq(int, shell("$T doctor --driver " FAKE_CUDA_PATH), 0), "%s%s", out, errors);
    cr_expect(strstr(out, "Fake Device 0") != NULL && strstr(out, "compiles for sm_90") != NULL, "%s", out);
    answer = answer_of("doctor --driver " FAKE_CUDA_PATH);
    cr_expect(eq(int, (int)json_integer_value(json_object_get(answer, "missing")), 0), "%s", out);
    json_decref(answer);
    cr_expect(not(exists("store")), "the doctor changes nothing");
    cr_expect(eq(int, shell("$T devices --driver " FAKE_CUDA_PATH), 0), "%s", errors);
    cr_expect(strstr(out, "0: Fake Device 0, compute capability 9.0") != NULL, "%s", out);
    cr_expect(eq(int, shell("$T run 5x3x2 --device 7 --driver " FAKE_CUDA_PATH), 1));
    cr_expect(strstr(errors, "no CUDA device 7") != NULL, "%s", errors);
}

Test(command, does_not_believe_a_device_that_computes_nothing)
{
    NEEDS_COMPILER();
    cr_expect(eq(int, shell("$T run 33x30x70 --driver " FAKE_CUDA_PATH), 3), "%s%s", out, errors);
    cr_expect(strstr(out, "NOT PASSED") != NULL && strstr(errors, "did not pass its check") != NULL, "%s%s", out, errors);
    cr_expect(eq(int, shell("$T run 33x30x70 --no-check --driver " FAKE_CUDA_PATH), 0), "%s", errors);
    cr_expect(strstr(out, "median") != NULL, "%s", out);
}
