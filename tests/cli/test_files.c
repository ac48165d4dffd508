/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/*
 * The files that the command reads and writes, by a user who means it no good; and signals while it works.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "shell.h"

static void assign_variables(char *assignments, size_t bytes)
{
    snprintf(assignments, bytes, "EMULATOR='%s' FAKE_NVRTC='%s' FAKE_GPU='%s'", EMULATOR_PATH, FAKE_NVRTC_PATH, FAKE_GPU_PATH);
}

TestSuite(files, .init = make_folder, .fini = remove_folder, .timeout = 250);

static json_t *answer(void)
{
    json_t *root = json_loads(out, JSON_REJECT_DUPLICATES, NULL);

    cr_assert(root != NULL, "no JSON: %s", out);
    return root;
}

static const char *failure(const json_t *root)
{
    const char *text = json_string_value(json_object_get(json_object_get(root, "error"), "message"));

    return text ? text : "";
}

/* P = M . N of ones: shell lines that write M.npy (rows x 1) and N.npy (1 x columns) in f32, the header without blanks. */
#define WRITE_MATRICES                                                                                                     \
    "npy() { printf '\\223NUMPY\\001\\000\\166\\000' >$1; printf '%%-117s\\n' \"{'descr': '<f4', 'fortran_order': False, " \
    "'shape': ($2, $3), }\" >>$1; head -c $((4 * $2 * $3)) /dev/zero >>$1; }; "

/* ---- input -------------------------------------------------------------------------------------------------------- */

Test(files, none_is_waited_for_or_read_without_end)
{
    static const struct {
        const char *words, *said;
    } rows[] = {
        {"tune --import %s", "cannot read "},
        {"tune --merge %s -o merged.json", "cannot read "},
        {"tune --shapes %s", "cannot read "},
        {"tune 8x8x8 --import %s --device emulator", "cannot read "},
        {"report 8x8x8 --trials %s -o page.html", "cannot read "},
        {"matmul %s N.npy -o P.npy", "cannot read "},
        {"matmul M.npy %s -o P.npy", "cannot read "},
        {"matmul M.npy N.npy --c %s -o P.npy", "cannot read "},
        {"devices --driver $PWD/%s", "it is not a regular file"},
        {"compile 8x8x8 --nvrtc $PWD/%s", "it is not a regular file"},
    };

    cr_assert(eq(int, shell(WRITE_MATRICES "npy M.npy 2 2; npy N.npy 2 2; mkfifo fifo; ln -s /dev/zero zero; mkdir sub"), 0));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int f = 0; f < 3; f++) {
            char words[200];
            const char *const name = f == 0 ? "fifo" : f == 1 ? "zero" : "sub";

            snprintf(words, sizeof words, rows[i].words, name);
            cr_expect(eq(int, shell("ulimit -t 60; timeout 20 $T %s", words), 1), "%s: %s", words, errors);
            /* A folder of records is allowed, and this one has none. */
            cr_expect(strstr(errors, rows[i].said) != NULL || (f == 2 && strstr(errors, "no *.json lies in sub")), "%s: %s",
                      words, errors);
        }
    cr_expect(eq(int, shell("TILEJIT_EMULATOR=$PWD/fifo timeout 20 $T devices --device emulator"), 1), "%s", errors);
    cr_expect(strstr(errors, "fifo: it is not a regular file") != NULL, "%s", errors);
    cr_expect(eq(int, shell("$T tune --import $(printf '%%05000d' 0)"), 1));
    cr_expect(strstr(errors, "is longer than a path can be") != NULL, "%s", errors);
    cr_expect(eq(int, shell("ls P.npy page.html merged.json"), 2), "%s", out);
}

Test(files, of_the_store_may_be_anything)
{
    static const char *const commands[] = {"devices --device emulator", "explain 8x8x8 --device emulator",
                                           "report 8x8x8 --device emulator -o page.html", "cache list", "cache stats"};

    cr_assert(eq(int, shell("mkdir -m 700 store; mkfifo store/bandwidth.json store/v1"), 0));
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        const int code = shell("timeout 20 $T %s", commands[i]);

        cr_expect(eq(int, code, i == 3 || i == 4), "%s: %s", commands[i], errors);
    }
    cr_expect(eq(int,
                 shell("rm store/v1; mkdir -m 700 store/v1 store/v1/records; "
                       "mkfifo store/v1/records/0123456789abcdef0123456789abcdef-0123456789abcdef.json; "
                       "timeout 20 $T tune --export - --log warning"),
                 0),
              "%s", errors);
    cr_expect(strstr(errors, "it is not a regular file") != NULL, "%s", errors);
    cr_expect(eq(int,
                 shell("rm store/bandwidth.json; head -c 2000000 /dev/zero >store/bandwidth.json; "
                       "timeout 20 $T devices --device emulator"),
                 0),
              "%s", errors);
}

Test(files, that_end_nowhere_are_given_up)
{
    cr_expect(eq(int, shell("yes '# more' | timeout 60 $T tune --shapes /dev/stdin"), 1));
    cr_expect(strstr(errors, "/dev/stdin holds more than the 67108864 bytes") != NULL, "%s", errors);
    cr_expect(eq(int, shell("yes | timeout 60 $T tune --import -"), 1));
    cr_expect(strstr(errors, "standard input holds more than the 67108864 bytes") != NULL, "%s", errors);
    cr_expect(eq(int, shell("yes | timeout 60 $T tune --merge /dev/stdin -o merged.json"), 1));
    cr_expect(eq(int, shell("yes | timeout 100 $T report 8x8x8 --arch sm_90 --trials /dev/stdin -o page.html"), 1));
    cr_expect(strstr(errors, "/dev/stdin holds more than the 268435456 bytes") != NULL, "%s", errors);
    cr_expect(eq(int,
                 shell(WRITE_MATRICES "npy N.npy 2 2; npy huge.npy 0 1073741824; sed -i 's/(0,/(1073741824,/' huge.npy; "
                                      "{ cat huge.npy; yes; } | timeout 60 $T matmul - N.npy -o P.npy"),
                 1));
    cr_expect(strstr(errors, "standard input: no memory for its 4611686018427387904 bytes") != NULL, "%s", errors);
}

Test(files, may_be_pipes_that_somebody_writes)
{
    NEEDS_COMPILER();
    cr_expect(eq(int,
                 shell("mkfifo p; { sleep 0.3; echo 8,8,8; sleep 0.3; echo 9,9,9; } >p & "
                       "$T tune --shapes p --device emulator --family naive --evaluations 1 --no-record"),
                 0),
              "%s", errors);
    cr_expect(strstr(out, "8x8x8: ") && strstr(out, "9x9x9: "), "%s", out);
    cr_expect(
        eq(int,
           shell("echo 8x8x8 | $T tune --shapes /dev/stdin --driver $FAKE_GPU --family naive --evaluations 4 --trials t.tsv"),
           0),
        "%s", errors);
    cr_expect(
        eq(int,
           shell("echo 8x8x8 >list; $T tune --shapes - --device emulator --family naive --evaluations 1 --no-record <list"), 0),
        "%s", errors);
    cr_expect(eq(int,
                 shell("$T tune --export - | $T tune --import /dev/stdin && $T tune --export - | $T tune --merge - -o m.json"),
                 0),
              "%s", errors);
    cr_expect(strstr(out, "1 records read, 0 of them") != NULL, "%s", out);
    cr_expect(eq(int,
                 shell("cat t.tsv | $T report 8x8x8 --family naive --device emulator --trials /dev/stdin -o page.html && "
                       "grep -q 'as measured' page.html"),
                 0),
              "%s", errors);
    cr_expect(eq(int,
                 shell(WRITE_MATRICES "npy M.npy 4 3; npy N.npy 3 5; cat M.npy | $T matmul /dev/stdin N.npy -o P.npy && "
                                      "test $(wc -c <P.npy) = $((128 + 4 * 4 * 5))"),
                 0),
              "%s", errors);
}

/* ---- output ------------------------------------------------------------------------------------------------------- */

/* Commands that write a file: the part before -o. With the fake compiler, which accepts any source. */
static const char *const writers[] = {"generate 8x8x8", "compile 8x8x8 --emit ptx --arch sm_90 --nvrtc $FAKE_NVRTC",
                                      "report 8x8x8 --arch sm_90", "tune --merge empty.json"};

enum { WRITERS = sizeof writers / sizeof writers[0] };

Test(files, are_written_as_their_owner_has_them)
{
    cr_assert(eq(int, shell("echo '{\"tilejit_records\": []}' >empty.json"), 0));
    for (size_t i = 0; i < WRITERS; i++) {
        cr_expect(
            eq(int, shell("rm -f f; install -m 600 /dev/null f && $T %s -o f && test -s f && stat -c %%a f", writers[i]), 0),
            "%s: %s", writers[i], errors);
        cr_expect(strstr(out, "600\n") != NULL, "%s: %s", writers[i], out);
        cr_expect(
            eq(int, shell("rm -f f; echo kept >f; chmod 444 f; $T %s -o f; test $? = 1 && grep -qx kept f", writers[i]), 0),
            "%s", writers[i]);
        cr_expect(strstr(errors, "cannot write f: it is read-only") != NULL, "%s", errors);
        cr_expect(eq(int,
                     shell("rm -f f; mkdir -p sub; ln -sf sub/f link; $T %s -o link && test -L link && test -s sub/f && "
                           "rm sub/f",
                           writers[i]),
                     0),
                  "%s: %s", writers[i], errors);
        cr_expect(eq(int, shell("$T %s -o $(printf '%%0255d' 0) && rm 0*", writers[i]), 0), "%s: %s", writers[i], errors);
        cr_expect(eq(int,
                     shell("$T %s -o /dev/null && $T %s -o f && mkfifo p && { cat p >copy & $T %s -o p && wait; } && "
                           "cmp copy f; code=$?; rm -f p copy; exit $code",
                           writers[i], writers[i], writers[i]),
                     0),
                  "%s: %s", writers[i], errors);
        cr_expect(eq(int, shell("ls -A | grep -e part -e tmp"), 1), "%s left behind: %s", writers[i], out);
    }
}

Test(files, that_cannot_be_written_are_named_before_the_work)
{
    cr_assert(eq(int, shell("echo '{}' >empty.json; mkdir sub"), 0));
    for (size_t i = 0; i < WRITERS; i++)
        for (int f = 0; f < 2; f++) {
            const char *const path = f == 0 ? "missing/f" : "sub";

            cr_expect(eq(int, shell("TILEJIT_DUMP=$PWD/dump timeout 20 $T %s -o %s", writers[i], path), 1), "%s", writers[i]);
            cr_expect(strncmp(errors, "tilejit: cannot write ", 22) == 0 && strstr(errors, path), "first of all: %s", errors);
        }
    cr_expect(eq(int, shell("$T matmul M.npy N.npy -o missing/P.npy"), 1));
    cr_expect(strstr(errors, "cannot write missing/P.npy: its folder") != NULL, "nothing was read: %s", errors);
    cr_expect(eq(int, shell("$T tune 8x8x8 --device emulator --trials missing/t.tsv"), 1));
    cr_expect(strstr(errors, "cannot write missing/t.tsv: its folder") != NULL, "%s", errors);
    cr_expect(eq(int, shell("$T tune --export missing/all.json"), 1));
    cr_expect(strstr(errors, "cannot write missing/all.json: its folder") != NULL, "%s", errors);
    cr_expect(eq(int, shell("ls -d store dump"), 2), "nothing was compiled: %s", out);
}

/* Whichever way it is named: what is for people goes to stderr then, and stdout holds the bytes of the file. */
Test(files, on_stdout_meet_no_report)
{
    static const char *const names[] = {"-o - >copy", "-o /dev/stdout >copy", "-o /dev/stdout | cat >copy",
                                        "-o /dev/fd/1 >copy", "-o copy >copy"};

    cr_assert(eq(int, shell("echo '{\"tilejit_records\": []}' >empty.json"), 0));
    for (size_t i = 0; i < WRITERS; i++)
        for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
            cr_expect(eq(int, shell("$T %s -o f >/dev/null && $T %s %s && cmp f copy", writers[i], writers[i], names[n]), 0),
                      "%s %s: %s", writers[i], names[n], out);
    cr_expect(eq(int,
                 shell("$T compile 8x8x8 --arch sm_90 --nvrtc $FAKE_NVRTC --emit ptx -o f && $T compile 8x8x8 --arch sm_90 "
                       "--nvrtc $FAKE_NVRTC --emit ptx -o - 2>&- >copy && cmp copy f"),
                 0),
              "nobody sees the report: %s", errors);
    cr_expect(eq(int, shell("$T compile 8x8x8 --arch sm_90 --nvrtc $FAKE_NVRTC --emit ptx -o /dev/null"), 0));
    cr_expect(strstr(out, "kernel ") != NULL, "what nobody sees meets nothing: %s", out);
}

Test(files, of_a_product_go_to_stdout)
{
    NEEDS_COMPILER();
    cr_assert(eq(int, shell(WRITE_MATRICES "npy M.npy 4 3; npy N.npy 3 5; $T matmul M.npy N.npy -o P.npy"), 0), "%s", errors);
    cr_expect(eq(int, shell("$T matmul M.npy N.npy -o - >copy && cmp copy P.npy"), 0), "%s", out);
    cr_expect(strstr(errors, "check      passed") != NULL, "%s", errors);
    cr_expect(eq(int, shell("$T matmul M.npy N.npy -o /dev/stdout | cmp - P.npy"), 0), "%s", out);
    cr_expect(eq(int, shell("$T matmul M.npy N.npy -o /dev/stdout --json"), 2));
    cr_expect(eq(int,
                 shell("$T tune 8x8x8 --device emulator --family naive --evaluations 1 --no-record --trials /dev/stdout | grep "
                       "-vc '^8x8x8'"),
                 0),
              "%s", errors);
    cr_expect(strcmp(out, "2\n") == 0, "the device, and a line of names: %s", out);
    cr_expect(strstr(errors, "8x8x8: ") != NULL, "%s", errors);
}

Test(files, of_trials_on_the_emulator_hold_no_times)
{
    NEEDS_COMPILER();
    cr_expect(eq(int, shell("$T tune 8x8x8 --device emulator --family naive --evaluations 1 --trials t.tsv --verbose"), 0));
    cr_expect(strstr(errors, "8x8x8 tried ") && strstr(errors, "5.00 us") == NULL, "%s", errors);
    cr_expect(eq(int, shell("grep -v '^# device' t.tsv | cut -f 1,3-5"), 0));
    cr_expect(strcmp(out, "# shape\tstate\tus\tspread\n8x8x8\ttried\t-\t-\n") == 0, "%s", out);
    cr_expect(eq(int, shell("$T report 8x8x8 naive --device emulator --trials t.tsv -o page.html"), 1));
    cr_expect(strstr(errors, "t.tsv has no timed trial of 8x8x8") != NULL, "%s", errors);
}

Test(files, of_a_dump_need_a_folder)
{
    static const struct {
        const char *dir, *says;
    } bad[] = {
        {"missing/dump", "cannot create missing/dump, the folder of --dump-dir: No such file"},
        {"file", "--dump-dir is file, which is not a folder"},
        {"/dev/null", "--dump-dir is /dev/null, which is not a folder"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_expect(eq(
            int,
            shell("touch file; $T compile 8x8x8 --arch sm_90 --nvrtc $FAKE_NVRTC --cache-dir store --dump-dir %s", bad[i].dir),
            1));
        cr_expect(strstr(errors, bad[i].says) != NULL, "%s", errors);
        cr_expect(eq(int, shell("ls -d store missing"), 2), "nothing was compiled: %s", out);
    }
}

/* A process that was killed while it wrote, and the next one. */
Test(files, that_a_killed_process_began_are_swept)
{
    cr_expect(eq(int,
                 shell("touch tilejit-4194305-0123456789abcdef.part tilejit-notes.part; $T generate 8x8x8 -o k.cu; ls -A "
                       "| grep part"),
                 0));
    cr_expect(strcmp(out, "tilejit-notes.part\n") == 0, "%s", out);
    cr_expect(eq(int,
                 shell("mkdir dump; touch dump/tilejit-4194305-0123456789abcdef.part; $T compile 8x8x8 --arch sm_90 "
                       "--nvrtc $FAKE_NVRTC --dump-dir dump && ls -A dump | grep part"),
                 1),
              "%s", out);
}

/* ---- the store ---------------------------------------------------------------------------------------------------- */

Test(files, that_cannot_be_removed_are_counted_and_named)
{
    json_t *root;

    cr_assert(eq(int,
                 shell("for s in 8 9; do $T compile ${s}x8x8 --arch sm_90 --nvrtc $FAKE_NVRTC; done; "
                       "rm -rf store/v1/tmp && echo 'no folder' >store/v1/tmp"),
                 0),
              "%s", errors);
    cr_expect(eq(int, shell("$T cache clear"), 1));
    cr_expect(strstr(out, "0 entries removed") != NULL, "%s", out);
    cr_expect(strstr(errors, "2 entries could not be removed; the first is /") && strstr(errors, "store/v1/") &&
                  strstr(errors, "Not a directory"),
              "%s", errors);
    cr_expect(eq(int, shell("$T cache clear --json"), 1));
    root = answer();
    cr_expect(eq(i64, json_integer_value(json_object_get(root, "removed")), 0));
    cr_expect(json_object_get(root, "removed") && strstr(failure(root), "could not be removed"), "%s", out);
    json_decref(root);
    cr_expect(eq(int, shell("rm store/v1/tmp; $T cache clear"), 0), "%s", errors);
    cr_expect(strstr(out, "2 entries removed") != NULL, "%s", out);
}

Test(files, of_a_record_that_is_lost_make_the_tuning_fail)
{
    json_t *root;

    NEEDS_COMPILER();
#define TUNE "$T tune 8x8x8 9x9x9 --driver $FAKE_GPU --family naive --evaluations 1 "
    cr_expect(eq(int, shell("echo file >taken; " TUNE "--cache-dir taken/store --json"), 1));
    root = answer();
    cr_expect(strstr(failure(root), "records that could not be kept: 2; that of 8x8x8: ") &&
                  strstr(failure(root), "taken/store"),
              "%s", out);
    cr_expect(json_object_get(json_array_get(json_object_get(root, "shapes"), 1), "config") != NULL, "it was found: %s", out);
    json_decref(root);
    cr_expect(eq(int, shell("mkdir -m 700 -p part part/v1; echo file >part/v1/records; " TUNE "--cache-dir part"), 1), "%s",
              out);
    cr_expect(strstr(errors, "could not be kept: 2; that of 8x8x8: --log warning says why") != NULL, "%s", errors);
    cr_expect(eq(int, shell(TUNE "--cache-dir taken/store --no-record"), 0), "%s", errors);
    cr_expect(eq(int, shell(TUNE "--no-cache"), 0), "%s", errors);
    cr_expect(eq(int, shell(TUNE "--cache-dir ''"), 0), "%s", errors);
    cr_expect(eq(int, shell(TUNE "&& " TUNE), 0), "the one that is there stays: %s", errors);
}

Test(files, relative_to_a_folder_that_is_gone_are_a_trouble_of_the_store)
{
    cr_expect(eq(int,
                 shell("mkdir gone && cd gone && rmdir ../gone && $T compile 8x8x8 --arch sm_90 --nvrtc $FAKE_NVRTC "
                       "--cache-dir here --log warning && $T cache stats --cache-dir here"),
                 0),
              "%s", errors);
    cr_expect(strstr(errors, "the store here is not used: it is relative to a working folder that is gone") != NULL, "%s",
              errors);
    cr_expect(strstr(out, "trouble    it is relative to a working folder that is gone: set TILEJIT_CACHE_DIR") != NULL, "%s",
              out);
    cr_expect(eq(int, shell("mkdir gone && cd gone && rmdir ../gone && $T generate 8x8x8 --family tiled -o k.cu"), 1));
    cr_expect(strstr(errors, "cannot write k.cu: its folder does not exist") != NULL, "%s", errors);
}

/* ---- signals ------------------------------------------------------------------------------------------------------ */

/* NVRTC has handlers of its own in place during its first compile: they call exit(4). */
Test(files, are_whole_or_not_there_when_a_signal_ends_the_command)
{
    static const char *const commands[] = {"run 32x32x32", "compile 32x32x32 -o k.ptx", "explain 32x32x32",
                                           "report 32x32x32 -o r.html"};

    NEEDS_COMPILER();
    for (size_t i = 0; i < 4; i++)
        for (int ms = 30; ms < 100; ms += 12) {
            const bool is_int = ms % 24 == 6;

            cr_expect(eq(int,
                         shell("$T %s --no-cache --device emulator & pid=$!; sleep 0.0%d; kill -%s $pid 2>no; wait $pid",
                               commands[i], ms, is_int ? "INT" : "TERM") %
                             (is_int ? 130 : 143),
                         0),
                      "%s after %d ms: %s", commands[i], ms, errors);
            cr_expect(eq(int, shell("ls -A | grep -e part -e tmp"), 1), "%s left behind: %s", commands[i], out);
        }
}

Test(files, wait_for_nothing_that_a_signal_could_not_end)
{
    static const struct {
        const char *signal;
        int code;
    } rows[] = {{"INT", 130}, {"TERM", 143}, {"HUP", 129}};
    json_t *root;

    cr_assert(eq(int, shell("mkfifo p"), 0));
    for (size_t i = 0; i < 3; i++) {
        cr_expect(eq(int,
                     shell("FAKE_NVRTC_SLEEP_MS=20000 $T compile 8x8x8 --arch sm_90 --nvrtc $FAKE_NVRTC -o k.ptx & pid=$!; "
                           "sleep 0.4; kill -%s $pid; wait $pid",
                           rows[i].signal),
                     rows[i].code));
        cr_expect(strncmp(errors, "tilejit: ended by SIG", 21) == 0 && strstr(errors, rows[i].signal) &&
                      strchr(errors, '\n') == errors + strlen(errors) - 1,
                  "one line: %s", errors);
    }
    cr_expect(eq(int,
                 shell("FAKE_NVRTC_SLEEP_MS=20000 $T compile 8x8x8 --arch sm_90 --nvrtc $FAKE_NVRTC --json & pid=$!; "
                       "sleep 0.4; kill $pid; wait $pid"),
                 143));
    root = answer();
    cr_expect(strcmp(failure(root), "ended by SIGTERM") == 0, "%s", out);
    json_decref(root);
    cr_expect(eq(int, shell("{ sleep 5; } | $T tune --shapes - & pid=$!; sleep 0.3; kill -INT $pid; wait $pid"), 130), "%s",
              out);
    cr_expect(eq(int, shell("$T generate 8x8x8 -o p & pid=$!; sleep 0.3; kill -INT $pid; wait $pid"), 130), "no reader: %s",
              out);
    cr_expect(eq(int,
                 shell("FAKE_NVRTC_SLEEP_MS=1500 nohup $T compile 8x8x8 --arch sm_90 --nvrtc $FAKE_NVRTC --no-cache & "
                       "pid=$!; sleep 0.4; kill -HUP $pid; wait $pid"),
                 0),
              "nohup: %s", errors);
}

/* A large P: a signal finds it before it is begun, while it is written, or after it is there. */
Test(files, of_a_product_are_whole_or_not_there)
{
    NEEDS_COMPILER();
    cr_assert(eq(int,
                 shell(WRITE_MATRICES
                       "npy M.npy 1500 1; npy N.npy 1 1500; $T matmul M.npy N.npy -o P.npy --no-check --device emulator"),
                 0),
              "%s", errors);
    for (int i = 0; i < (IS_NIGHTLY ? 12 : 6); i++) {
        cr_expect(eq(int,
                     shell("rm -f P.npy; $T matmul M.npy N.npy -o P.npy --no-check --device emulator & pid=$!; "
                           "for i in $(seq 3000); do ls | grep -q -e part -e P.npy && break; sleep 0.00%d; done; "
                           "kill -INT $pid 2>no; wait $pid",
                           i % 4 + 1) %
                         130,
                     0),
                  "%s", errors);
        cr_expect(eq(int, shell("ls | grep part"), 1), "%s", out);
        cr_expect(eq(int, shell("! test -e P.npy || test $(wc -c <P.npy) = $((128 + 4 * 1500 * 1500))"), 0));
    }
}
